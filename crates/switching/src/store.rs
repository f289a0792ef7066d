//! What a queue keeps its packets in, by the order in which they leave: the oldest, the first of a rank, connections in turn, or
//! numbered queues in turn, of which a gate keeps some. General ports keep every kind in a [`Store`]; the port of numbered queues
//! has [`Numbered`] by itself.

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

/// What is paused of a packet that a gate holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paused {
    /// All that waits with it.
    All,
    /// Its connection.
    Flow,
    /// The numbered queue that it is in, by its place among those of the port.
    Queue(u8),
}

/// Numbered queues, of which the next one after the last that may send goes first.
#[derive(Debug)]
pub(crate) struct Numbered {
    queues: Box<[Packets]>,
    /// Those that hold packets, and those that a gate keeps, as bits.
    filled: Places,
    closed: Places,
    /// The one of the packet that left last.
    last: u8,
    /// Where turns are of bytes, each with those that it may still send in its own, below zero where it sent more, and those
    /// of a whole one.
    shares: Option<Box<[(i64, i64)]>>,
}

/// Bytes of a turn, of queues whose turns are of bytes: a full frame on the line. [ours]
const TURN: i64 = 1538;

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
            Order::Numbered(queues) => Self::Numbered(Numbered::new(queues)),
            Order::NumberedByBytes(queues) => Self::Numbered(Numbered::by_bytes(queues, 0, 1)),
            Order::NumberedByWeight {
                queues,
                last,
                weight,
            } => Self::Numbered(Numbered::by_bytes(queues, last, weight)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => packets.len(),
            Self::PerFlow(flows) => flows.len,
            Self::Numbered(queues) => queues.queues.iter().map(Packets::len).sum(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Numbered(queues) => queues.filled == Places::default(),
            Self::Fifo(_) | Self::Rank(_) | Self::PerFlow(_) => self.len() == 0,
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
            Self::Numbered(queues) => queues.front(),
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
        queues.close(within, closed);
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
            Self::Numbered(queues) => queues.is_paused(),
            Self::Fifo(_) | Self::Rank(_) => false,
        }
    }

    /// Packets of paused connections, or of paused queues, with what is paused.
    pub(crate) fn paused(&self) -> Vec<(&Packet, Paused)> {
        match self {
            Self::PerFlow(flows) => {
                let paused = flows.paused.iter();
                let waiting = paused.filter_map(|conn| flows.waiting.get(conn));
                waiting.flatten().map(|p| (p, Paused::Flow)).collect()
            }
            Self::Numbered(queues) => {
                let paused = queues.paused();
                paused.map(|(p, place)| (p, Paused::Queue(place))).collect()
            }
            Self::Fifo(_) | Self::Rank(_) => Vec::new(),
        }
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Self::Fifo(packets) | Self::Rank(packets) => Box::new(packets.iter()),
            Self::PerFlow(flows) => Box::new(flows.waiting.values().flatten()),
            Self::Numbered(queues) => Box::new(queues.iter()),
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
    pub(crate) fn new(queues: u8) -> Self {
        Self {
            queues: vec![Packets::default(); usize::from(queues)].into(),
            filled: Places::default(),
            closed: Places::default(),
            last: 0,
            shares: None,
        }
    }

    /// The same whose turns are of bytes, those of the `last` ones `weight` times as many.
    fn by_bytes(queues: u8, last: u8, weight: u8) -> Self {
        let turn = |place: u8| match place + last >= queues {
            true => TURN * i64::from(weight.max(1)),
            false => TURN,
        };
        Self {
            shares: Some((0..queues).map(|place| (0, turn(place))).collect()),
            ..Self::new(queues)
        }
    }

    /// The number of the queue by which the last packet left.
    #[inline]
    pub(crate) fn last(&self) -> u8 {
        self.last
    }

    pub(crate) fn is_closed(&self, place: u8) -> bool {
        self.closed.has(place)
    }

    /// Whether a queue is closed.
    pub(crate) fn is_paused(&self) -> bool {
        self.closed != Places::default()
    }

    /// Opens or closes a queue, where there is one of that number.
    pub(crate) fn close(&mut self, place: u8, closed: bool) {
        if usize::from(place) < self.queues.len() {
            if closed {
                self.closed.set(place);
            } else {
                self.closed.clear(place);
            }
        }
    }

    /// All packets, queue by queue.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.queues.iter().flat_map(Packets::iter)
    }

    /// Packets of closed queues, with the number of that.
    pub(crate) fn paused(&self) -> impl Iterator<Item = (&Packet, u8)> {
        let closed = (0..)
            .zip(&self.queues)
            .filter(|&(place, _)| self.is_closed(place));
        closed.flat_map(|(place, queue)| queue.iter().map(move |packet| (packet, place)))
    }

    /// A packet has passed through a queue while nothing waited.
    #[inline]
    pub(crate) fn pass(&mut self, place: u8) {
        self.last = place;
    }

    /// The packet that leaves next; none where nothing may.
    pub(crate) fn front(&self) -> Option<&Packet> {
        let place = match &self.shares {
            None => self.next()?,
            Some(shares) => self.turn(shares)?.0,
        };
        self.queues[place].front()
    }

    pub(crate) fn check(&self) {
        for (place, queue) in (0..).zip(&self.queues) {
            assert_eq!(self.filled.has(place), !queue.is_empty(), "queue {place}");
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet, within: u8) {
        let queue = &mut self.queues[usize::from(within)];
        if queue.is_empty() {
            self.filled.set(within);
        }
        queue.push_back(packet);
    }

    /// The first that may send after the one that sent last.
    #[inline]
    fn next(&self) -> Option<usize> {
        let [low, high] = [0, 1].map(|word| self.filled.0[word] & !self.closed.0[word]);
        if self.queues.len() <= 64 {
            let later = low & (u64::MAX << 1 << self.last);
            let chosen = if later == 0 { low } else { later };
            return (chosen != 0).then(|| chosen.trailing_zeros() as usize);
        }
        let ready = u128::from(high) << 64 | u128::from(low);
        let later = ready & (u128::MAX << 1 << self.last);
        let chosen = if later == 0 { ready } else { later };
        (chosen != 0).then(|| chosen.trailing_zeros() as usize)
    }

    /// Those that may send, in the order of their turns after the last one.
    fn ready(&self) -> impl Iterator<Item = usize> {
        let (filled, closed) = (self.filled, self.closed);
        let (last, all) = (
            self.last,
            0..self.queues.len().try_into().expect("at most 128"),
        );
        let after = all.end.min(last + 1)..all.end;
        let numbers = after.chain(0..=last);
        let ready = numbers.filter(move |&place| filled.has(place) && !closed.has(place));
        ready.map(usize::from)
    }

    /// Which sends next where turns are of bytes, and how many turns of its own begin until then: none while the last one
    /// has something left of its own.
    fn turn(&self, shares: &[(i64, i64)]) -> Option<(usize, i64)> {
        let last = usize::from(self.last);
        if shares[last].0 > 0 && self.ready().any(|place| place == last) {
            return Some((last, 0));
        }
        let turns = |place: usize| {
            let (left, turn) = shares[place];
            (place, (turn - left).max(turn) / turn)
        };
        self.ready().map(turns).min_by_key(|&(_, turns)| turns) // of several the first
    }

    /// The same, and books the turns that begin and what it sends.
    fn begin_turn(&mut self) -> Option<usize> {
        let mut shares = self.shares.take()?;
        let chosen = self.turn(&shares);
        if let Some((chosen, turns)) = chosen {
            let mut begun = turns;
            for place in self.ready().filter(|_| turns > 0) {
                shares[place].0 += shares[place].1 * begun;
                begun -= i64::from(place == chosen);
            }
            let queue = &self.queues[chosen];
            let size = queue.front().map_or(0, |packet| packet.size);
            shares[chosen].0 -= i64::from(size);
            if queue.len() == 1 {
                shares[chosen].0 = 0;
            }
        }
        self.shares = Some(shares);
        chosen.map(|(place, _)| place)
    }

    pub(crate) fn pop(&mut self, out: &mut Packet) -> bool {
        let place = if self.shares.is_some() {
            self.begin_turn()
        } else {
            self.next()
        };
        let Some((_, first)) = place.and_then(|place| self.take_from(place)) else {
            return false;
        };
        *out = *first;
        true
    }

    /// Takes out what leaves next, where it lies, with its place among the queues; none where nothing may.
    #[inline(always)] // once per packet of a port with numbered queues
    pub(crate) fn take(&mut self) -> Option<(u8, &mut Packet)> {
        let place = self.next()?;
        self.take_from(place)
    }

    #[inline(always)] // twice
    fn take_from(&mut self, place: usize) -> Option<(u8, &mut Packet)> {
        let (packet, left) = self.queues[place].take_front()?;
        let last = u8::try_from(place).expect("at most 128");
        self.last = last;
        if left == 0 {
            self.filled.clear(last);
        }
        Some((last, packet))
    }
}

/// Some of at most 128 places, as bits of two words: a shift of all at once takes more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places([u64; 2]);

impl Places {
    #[inline]
    fn has(self, place: u8) -> bool {
        self.0[usize::from(place >> 6 & 1)] >> (place & 63) & 1 == 1
    }

    #[inline]
    fn set(&mut self, place: u8) {
        self.0[usize::from(place >> 6 & 1)] |= 1 << (place & 63);
    }

    #[inline]
    fn clear(&mut self, place: u8) {
        self.0[usize::from(place >> 6 & 1)] &= !(1 << (place & 63));
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Class, HostId};

    fn packet(conn: u32, rank: u32) -> Packet {
        let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 84);
        packet.set_shared(rank);
        packet
    }

    /// A store of these, as (connection, rank), each in the queue of its connection's number where there are some.
    fn store(order: Order, packets: &[(u32, u32)]) -> Store {
        let mut store = Store::new(order);
        for &(conn, rank) in packets {
            let within = u8::try_from(conn).unwrap();
            store.push(&packet(conn, rank), within);
        }
        assert_eq!(
            (store.len(), store.iter().count()),
            (packets.len(), packets.len())
        );
        store
    }

    fn id(packet: &Packet) -> (u32, u32) {
        (packet.conn.0, packet.shared())
    }

    fn pop(store: &mut Store) -> Option<(u32, u32)> {
        let mut out = Packet::EMPTY;
        store.pop(&mut out).then(|| id(&out))
    }

    /// What leaves as long as something may; the head is always what leaves next.
    fn left(store: &mut Store) -> Vec<(u32, u32)> {
        let next = |store: &mut Store| {
            let (before, head) = (store.len(), store.head().map(id));
            let popped = pop(store);
            assert_eq!(
                (popped, store.len()),
                (head, before - usize::from(head.is_some()))
            );
            popped
        };
        std::iter::from_fn(|| next(store)).collect()
    }

    const MIXED: [(u32, u32); 6] = [(1, 5), (2, 9), (1, 3), (3, 4), (2, 1), (1, 7)];

    #[test]
    fn each_order_has_its_own_first() {
        let left = |order| left(&mut store(order, &MIXED));
        assert_eq!(left(Order::Fifo), MIXED);
        // The oldest of the connection that has the lowest rank.
        let ranks = [(2, 9), (2, 1), (1, 5), (1, 3), (3, 4), (1, 7)];
        assert_eq!(left(Order::Rank), ranks);
        let turns = [(1, 5), (2, 9), (3, 4), (1, 3), (2, 1), (1, 7)];
        assert_eq!(
            (left(Order::PerFlow), left(Order::Numbered(4))),
            (turns.into(), turns.into())
        );
        for order in [Order::Fifo, Order::Rank, Order::PerFlow, Order::Numbered(4)] {
            let mut empty = store(order, &[]);
            assert!(
                empty.head().is_none() && pop(&mut empty).is_none() && empty.pop_back().is_none()
            );
        }
    }

    #[test]
    fn the_last_that_came_can_be_taken_back_where_one_row_waits() {
        for order in [Order::Fifo, Order::Rank] {
            let mut store = store(order, &MIXED);
            assert_eq!(store.pop_back().as_ref().map(id), Some((1, 7)));
            assert_eq!(store.len(), 5);
        }
        for order in [Order::PerFlow, Order::Numbered(4)] {
            assert!(store(order, &MIXED).pop_back().is_none());
            assert!(store(order, &MIXED).take_above(0).is_none());
        }
    }

    #[test]
    fn the_highest_rank_is_pushed_out_and_of_several_the_last() {
        let mut store = store(Order::Rank, &[(1, 5), (2, 9), (3, 9), (4, 2)]);
        let mut take = |rank| store.take_above(rank).as_ref().map(id);
        assert_eq!(
            (take(9), take(8), take(8)),
            (None, Some((3, 9)), Some((2, 9)))
        );
        assert_eq!((take(5), take(4), take(2)), (None, Some((1, 5)), None));
    }

    /// What is held back, all of it for this reason.
    fn held(store: &Store, why: Paused) -> Vec<(u32, u32)> {
        let held = store.paused();
        assert!(held.iter().all(|&(_, paused)| paused == why), "{held:?}");
        held.into_iter().map(|(packet, _)| id(packet)).collect()
    }

    #[test]
    fn a_paused_connection_keeps_its_packets_and_takes_its_turn_again_at_the_end() {
        let mut flows = store(Order::PerFlow, &MIXED);
        assert!(!flows.is_paused() && flows.paused().is_empty());
        flows.pause(ConnId(1), true);
        flows.pause(ConnId(9), true);
        flows.pause(ConnId(3), false);
        assert!(flows.is_paused());
        assert_eq!(held(&flows, Paused::Flow), [(1, 5), (1, 3), (1, 7)]);
        // What comes while it is paused waits, too; a new one that is paused takes no turn.
        flows.push(&packet(1, 8), 0);
        flows.push(&packet(9, 1), 0);
        assert_eq!(left(&mut flows), [(2, 9), (3, 4), (2, 1)]);
        assert_eq!((flows.len(), flows.iter().count()), (5, 5));
        flows.pause(ConnId(1), false);
        flows.pause(ConnId(1), false);
        assert_eq!(left(&mut flows), [(1, 5), (1, 3), (1, 7), (1, 8)]);
        flows.pause(ConnId(9), false);
        assert_eq!((left(&mut flows), flows.is_paused()), (vec![(9, 1)], false));
        // One of which nothing waits takes no turn when it goes on.
        flows.pause(ConnId(5), true);
        flows.pause(ConnId(5), false);
        assert!(flows.head().is_none() && pop(&mut flows).is_none());
    }

    /// Queue 0 has frames of 500 B, queue 1 of 1538 and queue 2 of 9000: with turns of bytes each sends a third of all.
    #[test]
    fn turns_may_be_of_bytes() {
        let sizes = [500, 1538, 9000];
        let sent = |order| {
            let mut queues = Store::new(order);
            let (mut sent, mut all) = ([0; 3], 0);
            for (queue, size) in (0..).zip(sizes) {
                for rank in 0..1000 {
                    let mut packet = packet(queue, rank);
                    packet.size = size;
                    queues.push(&packet, u8::try_from(queue).unwrap());
                }
            }
            let mut ranks = [0; 3];
            let mut out = Packet::EMPTY;
            while all < 900_000 {
                let head = queues.head().copied();
                assert!(queues.pop(&mut out) && Some(out) == head);
                let queue = usize::from(queues.last());
                assert_eq!((id(&out).0 as usize, out.shared()), (queue, ranks[queue]));
                ranks[queue] += 1;
                sent[queue] += u32::from(out.size);
                all += u32::from(out.size);
            }
            sent
        };
        let most = 9000 + u32::try_from(TURN).unwrap();
        let even = sent(Order::NumberedByBytes(3));
        assert!(
            even.iter().all(|sent| sent.abs_diff(300_000) <= most),
            "{even:?}"
        );
        // The last one has twice as long turns: half of all.
        let heavy = sent(Order::NumberedByWeight {
            queues: 3,
            last: 1,
            weight: 2,
        });
        let parts = [225_000, 225_000, 450_000];
        let apart = heavy
            .iter()
            .zip(parts)
            .map(|(sent, part)| sent.abs_diff(part));
        assert!(
            apart.max().is_some_and(|most_apart| most_apart <= 2 * most),
            "{heavy:?}"
        );
        let by_packets = sent(Order::Numbered(3));
        assert!(by_packets[0] < by_packets[1] && by_packets[1] < by_packets[2]);
        assert!(by_packets[2] > 600_000, "{by_packets:?}");
        // Of equal frames turns are the same, also around a closed one and the last number of all.
        for order in [Order::Numbered(128), Order::NumberedByBytes(128)] {
            let mut queues = Store::new(order);
            for (conn, rank) in [(0, 1), (0, 2), (3, 1), (3, 2), (127, 1), (127, 2)] {
                let mut full = packet(conn, rank);
                full.size = 1538;
                queues.push(&full, u8::try_from(conn).unwrap());
            }
            assert!(queues.close(3, true) && !queues.is_empty());
            assert_eq!(left(&mut queues), [(127, 1), (0, 1), (127, 2), (0, 2)]);
            assert!(queues.close(3, false));
            assert_eq!(left(&mut queues), [(3, 1), (3, 2)]);
            assert!(queues.is_empty());
        }
    }

    #[test]
    fn a_closed_number_keeps_its_packets_and_the_turn_goes_on_after_the_last() {
        let packets = [(0, 1), (0, 2), (3, 1), (3, 2), (127, 1), (127, 2)];
        let mut queues = store(Order::Numbered(128), &packets);
        assert!(!queues.is_paused());
        assert_eq!(queues.last(), 0);
        // After the last one of all, the turn begins anew.
        let one = |queues: &mut Store| (pop(queues), queues.last());
        assert_eq!(
            one(&mut queues),
            (Some((3, 1)), 3),
            "the one after number 0"
        );
        assert_eq!(one(&mut queues), (Some((127, 1)), 127));
        assert_eq!(one(&mut queues), (Some((0, 1)), 0));
        assert!(queues.close(3, true) && queues.is_paused());
        assert_eq!(held(&queues, Paused::Queue(3)), [(3, 2)]);
        assert_eq!(left(&mut queues), [(127, 2), (0, 2)]);
        assert_eq!(queues.len(), 1);
        assert!(queues.close(3, false) && !queues.is_paused());
        assert_eq!(left(&mut queues), [(3, 2)]);
    }

    #[test]
    fn where_one_row_waits_nothing_in_it_can_be_paused() {
        for order in [Order::Fifo, Order::Rank] {
            let mut store = store(order, &MIXED);
            store.pause(ConnId(1), true);
            assert!(!store.close(0, true) && !store.is_paused());
            assert!(store.paused().is_empty() && store.last() == 0);
            assert_eq!(left(&mut store).len(), MIXED.len());
        }
        assert!(!store(Order::PerFlow, &MIXED).close(0, true));
    }
}
