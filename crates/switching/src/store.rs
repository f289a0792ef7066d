//! What a queue keeps its packets in, by the order in which they leave.

use model::intent::Order;
use model::{ConnId, Packet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Packets that wait in one queue.
#[derive(Debug)]
pub(crate) enum Store {
    /// The oldest first.
    Fifo(VecDeque<Packet>),
    /// The oldest of the connection with the lowest rank first. Short: a linear search is its bound.
    Rank(VecDeque<Packet>),
    /// Connections in turn.
    PerFlow(Flows),
}

/// Connections that wait, each with its packets; those that may send are in a ring.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    waiting: BTreeMap<ConnId, VecDeque<Packet>>,
    /// Those that have packets and are not paused, in the order of their turns.
    ring: VecDeque<ConnId>,
    paused: BTreeSet<ConnId>,
    len: usize,
}

impl Store {
    pub(crate) fn new(order: Order) -> Self {
        match order {
            Order::Fifo => Self::Fifo(VecDeque::new()),
            Order::Rank => Self::Rank(VecDeque::new()),
            Order::PerFlow => Self::PerFlow(Flows::default()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.len(),
            Self::PerFlow(flows) => flows.len,
        }
    }

    pub(crate) fn push(&mut self, packet: Packet) {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.push_back(packet),
            Self::PerFlow(flows) => flows.push(packet),
        }
    }

    /// The packet that leaves next; none where nothing waits or all that waits is paused.
    pub(crate) fn head(&self) -> Option<&Packet> {
        match self {
            Self::Fifo(packets) => packets.front(),
            Self::Rank(packets) => packets.get(first_of_rank(packets)?),
            Self::PerFlow(flows) => flows.waiting.get(flows.ring.front()?)?.front(),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Packet> {
        match self {
            Self::Fifo(packets) => packets.pop_front(),
            Self::Rank(packets) => {
                let place = first_of_rank(packets)?;
                packets.remove(place)
            }
            Self::PerFlow(flows) => flows.pop(),
        }
    }

    /// Takes out the packet that came last.
    pub(crate) fn pop_back(&mut self) -> Option<Packet> {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.pop_back(),
            Self::PerFlow(_) => None,
        }
    }

    /// Takes out the packet of the highest rank, of several the last, if that is above `rank`.
    pub(crate) fn take_above(&mut self, rank: u32) -> Option<Packet> {
        let (Self::Fifo(packets) | Self::Rank(packets)) = self else {
            return None;
        };
        let (place, highest) = (0..).zip(packets.iter()).max_by_key(|(_, p)| p.shared())?;
        let above = highest.shared() > rank;
        above.then(|| packets.remove(place)).flatten()
    }

    /// Pauses a connection, or lets it go on. Means something only where connections take turns.
    pub(crate) fn pause(&mut self, conn: ConnId, paused: bool) {
        if let Self::PerFlow(flows) = self {
            flows.pause(conn, paused);
        }
    }

    /// Whether a connection is paused.
    pub(crate) fn is_paused(&self) -> bool {
        matches!(self, Self::PerFlow(flows) if !flows.paused.is_empty())
    }

    /// Packets of paused connections.
    pub(crate) fn paused(&self) -> Vec<&Packet> {
        let Self::PerFlow(flows) = self else {
            return Vec::new();
        };
        let waiting = flows
            .paused
            .iter()
            .filter_map(|conn| flows.waiting.get(conn));
        waiting.flatten().collect()
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => Box::new(packets.iter()),
            Self::PerFlow(flows) => Box::new(flows.waiting.values().flatten()),
        }
    }
}

/// The place of the oldest packet of the connection that has the packet of the lowest rank, of several
/// the oldest.
fn first_of_rank(packets: &VecDeque<Packet>) -> Option<usize> {
    let best = packets.iter().min_by_key(|packet| packet.shared())?;
    packets.iter().position(|packet| packet.conn == best.conn)
}

impl Flows {
    fn push(&mut self, packet: Packet) {
        let packets = self.waiting.entry(packet.conn).or_default();
        if packets.is_empty() && !self.paused.contains(&packet.conn) {
            self.ring.push_back(packet.conn);
        }
        packets.push_back(packet);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<Packet> {
        let conn = self.ring.pop_front()?;
        let packets = self
            .waiting
            .get_mut(&conn)
            .expect("in the ring, so it waits");
        let packet = packets.pop_front();
        self.len -= 1;
        if packets.is_empty() {
            self.waiting.remove(&conn);
        } else {
            self.ring.push_back(conn);
        }
        packet
    }

    fn pause(&mut self, conn: ConnId, paused: bool) {
        if paused {
            self.paused.insert(conn);
            self.ring.retain(|&other| other != conn);
        } else if self.paused.remove(&conn) && self.waiting.contains_key(&conn) {
            self.ring.push_back(conn);
        }
    }
}
