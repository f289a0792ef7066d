//! The queues of a port: what each holds, which of them may send, and how much is too much.

use super::params::{First, Mapping, Params, Scale, Scope, Size};
use super::table::Entry;
use crate::ports::{Bits, hop_bytes, part};
use model::Rng;
use parts::{Neighbour, Place};
use std::collections::VecDeque;

/// One of them.
#[derive(Debug, Default)]
struct Queue {
    bytes: u64,
    /// Entries that have bytes in it.
    flows: u32,
    /// Nothing may leave: of reserved ones.
    blocked: bool,
    /// Entries that wait to be resumed, in the order in which they are.
    list: VecDeque<u32>,
}

#[derive(Debug)]
pub(super) struct Queues {
    /// Normal queues, then the reserved ones.
    all: Vec<Queue>,
    /// How many are normal, and these as bits.
    normal: usize,
    normals: Bits,
    /// Queues with packets, as bits.
    filled: Bits,
    /// How many have packets and may send; and by how many thresholds are divided, which is that or one.
    active: u64,
    sharers: u64,
    low: u64,
    high: u64,
    /// How a queue is chosen for a flow that has nothing here.
    mapping: Mapping,
    scale: Scale,
    scope: Scope,
    /// What a flow holds that is compared with its share, and who is resumed first.
    size: Size,
    first: First,
    /// The part of its share that a paused flow may hold and go on.
    resume: f64,
}

impl Queues {
    pub(super) fn new(params: &Params, place: &Place<'_>, line: &Neighbour<'_>) -> Self {
        let hop = hop_bytes(place, line);
        Self {
            all: (0..params.queues).map(|_| Queue::default()).collect(),
            normal: (params.queues - params.reserved).into(),
            normals: Bits::MAX >> (Bits::BITS - u32::from(params.queues - params.reserved)),
            filled: 0,
            active: 0,
            sharers: 1,
            low: part(params.low, hop),
            high: part(params.high, hop),
            mapping: params.mapping,
            scale: params.thresholds,
            scope: params.scope,
            size: params.size,
            first: params.first,
            resume: params.resume,
        }
    }

    /// Thresholds of a queue that sends alone.
    pub(super) fn alone(&self) -> (u64, u64) {
        (self.low, self.high)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of the first reserved one.
    #[inline]
    pub(super) fn normal(&self) -> usize {
        self.normal
    }

    #[inline]
    pub(super) fn mapping(&self) -> Mapping {
        self.mapping
    }

    /// Whether nothing waits.
    #[inline]
    pub(super) fn are_empty(&self) -> bool {
        self.filled == 0
    }

    /// Queues among which thresholds are divided.
    #[cfg(test)]
    pub(super) fn sharers(&self) -> u64 {
        self.sharers
    }

    /// So many have packets and may send.
    #[inline]
    fn share(&mut self, active: u64) {
        self.active = active;
        if self.scale == Scale::Active && self.scope == Scope::Queue {
            self.sharers = active.max(1);
        }
    }

    /// A packet of `size` bytes of a flow joins `queue`, of which the flow now holds `held`.
    #[inline]
    pub(super) fn add(&mut self, queue: usize, size: u64, held: u64) {
        let own = &mut self.all[queue];
        let first = own.bytes == 0;
        own.bytes += size;
        own.flows += u32::from(held == size);
        if first {
            let active = self.active + u64::from(!own.blocked);
            self.filled |= 1 << queue;
            self.share(active);
        }
    }

    /// It leaves, and the flow holds `held` then.
    #[inline]
    pub(super) fn take(&mut self, queue: usize, size: u64, held: u64) {
        let own = &mut self.all[queue];
        own.bytes -= size;
        own.flows -= u32::from(held == 0);
        if own.bytes == 0 {
            let active = self.active - u64::from(!own.blocked);
            self.filled &= !(1 << queue);
            self.share(active);
        }
    }

    #[inline]
    pub(super) fn is_closed(&self, queue: usize) -> bool {
        self.all[queue].blocked
    }

    /// Blocks reserved queue `queue`, or lets it send again.
    pub(super) fn close(&mut self, queue: usize, closed: bool) {
        debug_assert!(self.is_closed(queue) != closed, "it is so");
        self.all[queue].blocked = closed;
        if self.filled >> queue & 1 == 1 {
            self.share(self.active + u64::from(!closed) - u64::from(closed));
        }
    }

    /// The bytes that are held against the thresholds for a packet of `queue`, and the flows that share them.
    #[inline]
    fn load(&self, queue: usize) -> (u64, u64) {
        match self.scope {
            Scope::Queue => (self.all[queue].bytes, self.all[queue].flows.into()),
            Scope::Port => {
                let add =
                    |(bytes, flows), own: &Queue| (bytes + own.bytes, flows + u64::from(own.flows));
                self.all.iter().fold((0, 0), add)
            }
        }
    }

    /// What counts as held by flows of `entry`, which have `held` bytes in one queue.
    #[inline]
    fn size(&self, held: u64, entry: &Entry) -> u64 {
        match self.size {
            Size::Queue => held,
            Size::Port => entry.normal + entry.reserved,
        }
    }

    /// Whether `queue`, of which `entry` holds `held` bytes, has so much that a flow of that is to be paused.
    #[inline]
    pub(super) fn has_too_much(&self, queue: usize, held: u64, entry: &Entry) -> bool {
        let (bytes, flows) = self.load(queue);
        // More than a threshold divided by them, without the division.
        let all = bytes * self.sharers;
        all > self.low && (all > self.high || self.size(held, entry) > fair(bytes, flows))
    }

    /// Whether flows of `entry`, which holds `held` bytes of `queue`, need not be paused any more. [ours]
    #[inline]
    pub(super) fn has_little(&self, queue: usize, held: u64, entry: &Entry) -> bool {
        let (bytes, flows) = self.load(queue);
        let share = || self.resume * float(fair(bytes, flows));
        // As in `has_too_much`.
        let all = bytes * self.sharers;
        all <= self.low || all <= self.high && float(self.size(held, entry)) <= share()
    }

    /// Any of the normal queues.
    #[inline]
    pub(super) fn any(&self, rng: &mut Rng) -> usize {
        let count = self.normal as u64;
        let which = if count > 1 { rng.below(count) } else { 0 };
        usize::try_from(which).expect("below 128")
    }

    /// A normal queue for a flow of entry `slot` that has nothing here.
    #[inline(always)] // most packets of short messages
    pub(super) fn pick(&self, slot: u32, rng: &mut Rng) -> usize {
        if self.mapping == Mapping::Hash {
            return slot as usize % self.normal;
        }
        if self.are_empty() {
            return self.any(rng);
        }
        // Most others find a queue without flows, and then no queue is looked at.
        let free = !self.filled & self.normals;
        let fewest = if free == 0 {
            let flows = self.all[..self.normal].iter().map(|queue| queue.flows);
            let fewest = flows.clone().min();
            let has = (0..).zip(flows).filter(|&(_, flows)| Some(flows) == fewest);
            has.fold(0, |bits, (place, _): (u32, _)| bits | 1 << place)
        } else {
            free
        };
        let mut draw = |ties: u32| if ties > 1 { rng.below(ties.into()) } else { 0 };
        match u64::try_from(fewest) {
            Ok(few) => {
                // Half the words.
                let rest = (0..draw(few.count_ones())).fold(few, |rest, _| rest & (rest - 1));
                rest.trailing_zeros() as usize
            }
            Err(_) => set_bit(fewest, draw(fewest.count_ones())),
        }
    }

    /// Entries that wait for room in `queue` to be resumed, in the order in which they are.
    #[inline]
    pub(super) fn list(&self, queue: usize) -> &VecDeque<u32> {
        &self.all[queue].list
    }

    /// Entry `slot` waits for room in `queue`, too.
    pub(super) fn enlist(&mut self, queue: usize, slot: u32) {
        let list = &mut self.all[queue].list;
        match self.first {
            First::Longest => list.push_back(slot),
            First::Latest => list.push_front(slot),
        }
    }

    /// The first of those that wait there does not any more.
    pub(super) fn delist(&mut self, queue: usize) {
        self.all[queue].list.pop_front();
    }

    /// Panics where an invariant is broken: each holds so many bytes of so many flows.
    pub(super) fn check(&self, held: &[(u64, u64)]) {
        let own: Vec<(u64, u64)> = self.all.iter().map(|q| (q.bytes, q.flows.into())).collect();
        assert_eq!(own, held, "bytes and flows of queues");
        let sends = self.all.iter().filter(|q| q.bytes > 0 && !q.blocked);
        let active = sends.count() as u64;
        assert_eq!(self.active, active, "queues that may send");
        let divided = self.scale == Scale::Active && self.scope == Scope::Queue;
        let sharers = if divided { active.max(1) } else { 1 };
        assert_eq!(self.sharers, sharers, "what thresholds are divided by");
        for (place, queue) in self.all.iter().enumerate() {
            let filled = self.filled >> place & 1 == 1;
            assert_eq!(filled, queue.bytes > 0, "queue {place} has packets");
            assert!(
                place >= self.normal || !queue.blocked,
                "nothing blocks queue {place}"
            );
        }
    }
}

/// Bytes as a float: far below 2^63, so by one instruction.
#[inline]
fn float(bytes: u64) -> f64 {
    bytes.cast_signed() as f64
}

/// The part of a queue of `bytes` that each of its `flows` may hold: a power of two below the fair one, by a shift in
/// place of a division. [aquarius]
pub(super) fn fair(bytes: u64, flows: u64) -> u64 {
    bytes >> flows.max(1).next_power_of_two().trailing_zeros()
}

/// The place of set bit number `which`, from 0, of `bits`.
fn set_bit(bits: Bits, which: u64) -> usize {
    let rest = (0..which).fold(bits, |rest, _| rest & (rest - 1));
    rest.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_flow_is_a_shift_and_never_above_the_fair_one() {
        let shares = [1, 2, 3, 4, 5, 8, 9, 16, 17].map(|flows| fair(12_000, flows));
        assert_eq!(
            shares,
            [12_000, 6000, 3000, 3000, 1500, 1500, 750, 750, 375]
        );
    }

    #[test]
    fn a_set_bit_is_found_by_its_number() {
        for bits in [1, 0b1011, Bits::MAX, 1 << 127 | 1 << 64 | 1 << 63 | 2] {
            let places = (0..128).filter(|place| bits >> place & 1 == 1);
            for (which, place) in (0..).zip(places) {
                assert_eq!(set_bit(bits, which), place, "{which} of {bits:b}");
            }
        }
    }
}
