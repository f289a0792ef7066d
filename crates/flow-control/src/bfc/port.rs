//! A port's two sides: the queues by which data leaves, and what the neighbour that data comes from has been told.

use super::params::Params;
use crate::ports::{Bits, part};
use model::{ConnId, PAUSED_MAX, Rng};
use parts::{Neighbour, Place};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// Entries that are not looked through for what is over. [ours]
const FEW: usize = 64;

/// What a port knows of the flows that share an entry of its table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    queue: u8,
    packets: u32,
    /// When one of them last came or left.
    last: Time,
}

/// One queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    bytes: u64,
    /// By packet that waits: whether it has paused where it came from.
    marks: VecDeque<bool>,
}

/// The side by which data leaves.
#[derive(Debug)]
pub(super) struct Egress {
    queues: Vec<Queue>,
    /// Queues with packets, and queues that the next switch has paused.
    filled: Bits,
    closed: Bits,
    entries: BTreeMap<u32, Entry>,
    /// Entries from which on those that are over are thrown out.
    sweep: usize,
    table: u32,
    sticky: Span,
    /// Bytes from which on a queue that sends alone pauses where packets come from.
    threshold: u64,
}

impl Egress {
    pub(super) fn new(params: &Params, place: &Place<'_>, line: &Neighbour<'_>) -> Self {
        let longest = place.lines.iter().map(|line| line.round).max();
        let round = params.round.or(longest).unwrap_or_default();
        let takes = line.rate.bytes_in(Span(round.0 + params.period.0)).get();
        Self {
            queues: vec![Queue::default(); usize::from(params.queues)],
            filled: 0,
            closed: 0,
            entries: BTreeMap::new(),
            sweep: FEW,
            table: params.table * u32::from(params.queues),
            sticky: params.sticky,
            threshold: part(params.scale, takes),
        }
    }

    /// The threshold of a queue that sends alone.
    pub(super) fn alone(&self) -> u64 {
        self.threshold
    }

    /// The entry of a flow: by the high half of a product, which depends on all bits. [Knuth, TAOCP 3, s6.4]
    fn slot(&self, conn: ConnId) -> u32 {
        let mixed = u64::from(conn.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let slot = (mixed * u64::from(self.table)) >> 32;
        u32::try_from(slot).expect("below the size")
    }

    /// The queue that a packet of `conn` joins, and whether it shares that with others although the flow was free to
    /// choose.
    pub(super) fn assign(&mut self, now: Time, conn: ConnId, rng: &mut Rng) -> (u8, bool) {
        let slot = self.slot(conn);
        if let Some(entry) = self.entries.get(&slot)
            && (entry.packets > 0 || now.since(entry.last) <= self.sticky)
        {
            return (entry.queue, false);
        }
        let (queue, shares) = self.pick(rng);
        if self.entries.len() >= self.sweep {
            let sticky = self.sticky;
            self.entries
                .retain(|_, entry| entry.packets > 0 || now.since(entry.last) <= sticky);
            self.sweep = FEW.max(2 * self.entries.len());
        }
        let fresh = Entry {
            queue,
            packets: 0,
            last: now,
        };
        self.entries.insert(slot, fresh);
        (queue, shares)
    }

    /// The first queue from a random one on that is empty and may send, else any. [bfc artefact]
    fn pick(&self, rng: &mut Rng) -> (u8, bool) {
        let count = self.queues.len() as u64;
        let start = u32::try_from(rng.below(count)).expect("at most 128");
        let all = Bits::MAX >> (Bits::BITS - u32::try_from(count).expect("at most 128"));
        let free = !(self.filled | self.closed) & all;
        let later = free & (Bits::MAX << start);
        let chosen = if later != 0 { later } else { free };
        let (queue, shares) = match chosen {
            0 => (rng.below(count), true),
            some => (some.trailing_zeros().into(), false),
        };
        (u8::try_from(queue).expect("at most 128"), shares)
    }

    /// A packet has joined `queue`. Says whether it pauses where it came from.
    pub(super) fn arrived(&mut self, now: Time, conn: ConnId, queue: u8, size: u64) -> bool {
        let slot = self.slot(conn);
        let entry = self.entries.get_mut(&slot).expect("it was assigned");
        (entry.packets, entry.last) = (entry.packets + 1, now);
        let several = entry.packets > 1;
        let own = &mut self.queues[usize::from(queue)];
        own.bytes += size;
        self.filled |= 1 << queue;
        let active = (self.filled & !self.closed).count_ones().max(1);
        several && own.bytes > self.threshold / u64::from(active)
    }

    /// Notes whether the packet that joined `queue` last has paused where it came from.
    pub(super) fn mark(&mut self, queue: u8, marked: bool) {
        self.queues[usize::from(queue)].marks.push_back(marked);
    }

    /// A packet leaves `queue`. Says whether it had paused where it came from.
    pub(super) fn left(&mut self, now: Time, conn: ConnId, queue: u8, size: u64) -> bool {
        let slot = self.slot(conn);
        let entry = self.entries.get_mut(&slot).expect("it has packets");
        (entry.packets, entry.last) = (entry.packets - 1, now);
        let own = &mut self.queues[usize::from(queue)];
        own.bytes -= size;
        let marked = own.marks.pop_front();
        if own.marks.is_empty() {
            self.filled &= !(1 << queue);
        }
        marked.expect("one for each packet")
    }

    /// The next switch has paused these queues, and no others. Says which of them that changes.
    pub(super) fn close(&mut self, queues: Bits) -> Bits {
        let all = Bits::MAX >> (Bits::BITS as usize - self.queues.len());
        let queues = queues & all;
        std::mem::replace(&mut self.closed, queues) ^ queues
    }

    pub(super) fn closed(&self) -> Bits {
        self.closed
    }

    /// Packets that have paused where they came from.
    pub(super) fn marked(&self) -> usize {
        let marks = self.queues.iter().flat_map(|queue| &queue.marks);
        marks.filter(|&&marked| marked).count()
    }

    pub(super) fn check(&self) {
        let waiting: usize = self.queues.iter().map(|queue| queue.marks.len()).sum();
        let known: u32 = self.entries.values().map(|entry| entry.packets).sum();
        assert_eq!(waiting, known as usize, "packets of queues and of flows");
        for (number, queue) in self.queues.iter().enumerate() {
            let filled = self.filled >> number & 1 == 1;
            assert_eq!(filled, !queue.marks.is_empty(), "queue {number}");
            assert_eq!(filled, queue.bytes > 0, "bytes of queue {number}");
        }
    }
}

/// What of the neighbour is paused: one of its queues, or a flow of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Queue(u8),
    Flow(ConnId),
}

/// The side by which data comes.
#[derive(Debug, Default)]
pub(super) struct Ingress {
    /// Packets here that have paused something, by what that is, and whether the neighbour has been told.
    paused: BTreeMap<Source, (u32, bool)>,
    /// A moment to tell it is on the agenda.
    pub(super) due: bool,
    /// What it has been told is not said again before this moment.
    pub(super) again_at: Time,
}

impl Ingress {
    /// A packet from `source` pauses it. Says whether the neighbour knows; none where too much is paused already to
    /// remember that.
    pub(super) fn pause(&mut self, source: Source) -> Option<bool> {
        if self.paused.len() >= PAUSED_MAX && !self.paused.contains_key(&source) {
            return None;
        }
        let (count, told) = self.paused.entry(source).or_insert((0, false));
        *count += 1;
        Some(*told)
    }

    /// A packet from `source` that has paused it leaves. Says whether the neighbour must be told that the pause is
    /// over.
    pub(super) fn resume(&mut self, source: Source) -> bool {
        let Some((count, told)) = self.paused.get_mut(&source) else {
            unreachable!("{source:?} was paused by what leaves")
        };
        *count -= 1;
        if *count > 0 {
            return false;
        }
        let told = *told;
        self.paused.remove(&source);
        told
    }

    /// Whether the neighbour does not know of a pause yet.
    pub(super) fn has_news(&self) -> bool {
        self.paused.values().any(|&(_, told)| !told)
    }

    /// Sources that are paused.
    pub(super) fn len(&self) -> usize {
        self.paused.len()
    }

    /// Everything that is paused counts as told from now on.
    pub(super) fn tell(&mut self) {
        for (_, told) in self.paused.values_mut() {
            *told = true;
        }
    }

    /// Queues that are paused, as far as the neighbour has been told.
    pub(super) fn queues(&self) -> Bits {
        let mut bits = 0;
        for (source, &(_, told)) in &self.paused {
            if let Source::Queue(queue) = source {
                bits |= Bits::from(told) << *queue;
            }
        }
        bits
    }

    /// Flows that are paused, each with whether the neighbour hears of it for the first time now.
    pub(super) fn flows(&mut self) -> Vec<(ConnId, bool)> {
        let mut flows = Vec::new();
        for (source, (_, told)) in &mut self.paused {
            if let Source::Flow(conn) = source {
                flows.push((*conn, !std::mem::replace(told, true)));
            }
        }
        flows
    }

    /// Packets that have paused something.
    pub(super) fn marked(&self) -> usize {
        self.paused.values().map(|&(count, _)| count as usize).sum()
    }

    pub(super) fn check(&self) {
        let news = self.has_news();
        assert!(!news || self.due, "nobody will tell of {:?}", self.paused);
        assert!(self.paused.values().all(|&(count, _)| count > 0));
    }
}
