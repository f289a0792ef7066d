//! What a queue keeps its packets in, by the order in which they leave.

use crate::packets::Packets;
use model::intent::Order;
use model::{ConnId, Packet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Packets that wait in one queue.
#[derive(Debug)]
pub(crate) enum Store {
    /// The oldest first.
    Fifo(Packets),
    /// The oldest of the connection with the lowest rank first. Short: a linear search is its bound.
    Rank(Packets),
    /// Connections in turn.
    PerFlow(Flows),
    /// Numbered queues in turn.
    Numbered(Numbered),
}

/// Numbered queues, of which the next one after the last that may send goes first.
#[derive(Debug)]
pub(crate) struct Numbered {
    queues: Box<[Packets]>,
    /// Those that hold packets, and those that a gate keeps, as bits.
    filled: u128,
    closed: u128,
    /// The one of the packet that left last.
    last: u8,
    len: usize,
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
            Order::Fifo => Self::Fifo(Packets::default()),
            Order::Rank => Self::Rank(Packets::default()),
            Order::PerFlow => Self::PerFlow(Flows::default()),
            Order::Numbered(queues) => Self::Numbered(Numbered {
                queues: vec![Packets::default(); usize::from(queues)].into(),
                filled: 0,
                closed: 0,
                last: 0,
                len: 0,
            }),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.len(),
            Self::PerFlow(flows) => flows.len,
            Self::Numbered(queues) => queues.len,
        }
    }

    /// Takes a packet in, into the queue of number `within` where there are several.
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet, within: u8) {
        match self {
            Self::Fifo(packets) => packets.push_back(packet),
            other => other.push_other(packet, within),
        }
    }

    #[inline(never)] // the common order needs the registers, here and below
    fn push_other(&mut self, packet: &Packet, within: u8) {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.push_back(packet),
            Self::Numbered(queues) => queues.push(packet, within),
            Self::PerFlow(flows) => flows.push(*packet),
        }
    }

    /// The packet that leaves next; none where nothing waits or all that waits is paused.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Packet> {
        match self {
            Self::Fifo(packets) => packets.front(),
            other => other.other_head(),
        }
    }

    #[inline(never)]
    fn other_head(&self) -> Option<&Packet> {
        match self {
            Self::Fifo(packets) => packets.front(),
            Self::Rank(packets) => packets.iter().nth(first_of_rank(packets)?),
            Self::PerFlow(flows) => flows.waiting.get(flows.ring.front()?)?.front(),
            Self::Numbered(queues) => queues.queues[queues.next()?].front(),
        }
    }

    /// Moves that packet to `out`; false where there is none.
    #[inline]
    pub(crate) fn pop(&mut self, out: &mut Packet) -> bool {
        match self {
            Self::Fifo(packets) => packets.pop_front(out),
            other => other.pop_other(out),
        }
    }

    #[inline(never)]
    fn pop_other(&mut self, out: &mut Packet) -> bool {
        let popped = match self {
            Self::Fifo(packets) => return packets.pop_front(out),
            Self::Rank(packets) => first_of_rank(packets).and_then(|place| packets.remove(place)),
            Self::PerFlow(flows) => flows.pop(),
            Self::Numbered(queues) => return queues.pop(out),
        };
        *out = popped.unwrap_or(*out);
        popped.is_some()
    }

    /// Takes out the packet that came last.
    pub(crate) fn pop_back(&mut self) -> Option<Packet> {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.pop_back(),
            Self::PerFlow(_) | Self::Numbered(_) => None,
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

    /// Opens or closes a numbered queue; false where there are none.
    pub(crate) fn close(&mut self, within: u8, closed: bool) -> bool {
        let Self::Numbered(queues) = self else {
            return false;
        };
        if closed {
            queues.closed |= 1 << within;
        } else {
            queues.closed &= !(1 << within);
        }
        true
    }

    /// The number of the queue inside it by which the last packet left.
    pub(crate) fn last(&self) -> u8 {
        match self {
            Self::Numbered(queues) => queues.last,
            Self::Fifo(_) | Self::Rank(_) | Self::PerFlow(_) => 0,
        }
    }

    /// Whether a connection or a numbered queue is paused.
    pub(crate) fn is_paused(&self) -> bool {
        match self {
            Self::PerFlow(flows) => !flows.paused.is_empty(),
            Self::Numbered(queues) => queues.closed != 0,
            Self::Fifo(_) | Self::Rank(_) => false,
        }
    }

    /// Packets of paused connections, or of paused queues.
    pub(crate) fn paused(&self) -> Vec<&Packet> {
        match self {
            Self::PerFlow(flows) => {
                let paused = flows.paused.iter();
                let waiting = paused.filter_map(|conn| flows.waiting.get(conn));
                waiting.flatten().collect()
            }
            Self::Numbered(queues) => {
                let closed = |&place: &usize| queues.closed >> place & 1 == 1;
                let places = (0..queues.queues.len()).filter(closed);
                places
                    .flat_map(|place| queues.queues[place].iter())
                    .collect()
            }
            Self::Fifo(_) | Self::Rank(_) => Vec::new(),
        }
    }

    /// Whether what is paused is so by its connection.
    pub(crate) fn pauses_flows(&self) -> bool {
        matches!(self, Self::PerFlow(_))
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => Box::new(packets.iter()),
            Self::PerFlow(flows) => Box::new(flows.waiting.values().flatten()),
            Self::Numbered(queues) => Box::new(queues.queues.iter().flat_map(Packets::iter)),
        }
    }
}

/// The place of the oldest packet of the connection that has the packet of the lowest rank, of several
/// the oldest.
fn first_of_rank(packets: &Packets) -> Option<usize> {
    let best = packets.iter().min_by_key(|packet| packet.shared())?;
    packets.iter().position(|packet| packet.conn == best.conn)
}

impl Numbered {
    fn push(&mut self, packet: &Packet, within: u8) {
        self.queues[usize::from(within)].push_back(packet);
        self.filled |= 1 << within;
        self.len += 1;
    }

    /// The first that may send after the one that sent last.
    fn next(&self) -> Option<usize> {
        let ready = self.filled & !self.closed;
        let later = ready & (u128::MAX << 1 << self.last);
        let chosen = if later == 0 { ready } else { later };
        (chosen != 0).then(|| chosen.trailing_zeros() as usize)
    }

    fn pop(&mut self, out: &mut Packet) -> bool {
        let Some(place) = self.next() else {
            return false;
        };
        self.queues[place].pop_front(out);
        self.last = u8::try_from(place).expect("at most 128");
        self.len -= 1;
        if self.queues[place].is_empty() {
            self.filled &= !(1 << place);
        }
        true
    }
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
