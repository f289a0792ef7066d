//! An egress port: its queues, its table of flows, whom it has paused and who has paused it.
//!
//! A packet that comes is assigned a queue and counted (`comes`, or `assign` and `arrived`), and may pause its flow; one that
//! leaves may have flows resumed (`left`). What the next switch says stops flows and lets them go (`stop`, `go`), and blocks
//! reserved queues (`block`).

use super::params::{Mapping, Params, Scale, Scope};
use super::table::{Entry, Table};
use crate::ports::{Bits, hop_bytes, part};
use model::{ConnId, PAUSED_MAX, Rng};
use parts::{Neighbour, Place};
use std::collections::VecDeque;
use units::Time;

#[derive(Debug, Default)]
struct Queue {
    bytes: u64,
    /// Entries that have bytes in it.
    flows: u64,
    /// Entries that wait to be resumed, the longest first.
    list: VecDeque<u32>,
}

#[derive(Debug)]
pub(super) struct Port {
    /// The number of the first normal queue among those of the port.
    first: u8,
    /// Normal queues, then the reserved ones.
    queues: Vec<Queue>,
    /// How many are normal.
    normal: usize,
    entries: Table,
    size: u32,
    /// Normal queues without flows, queues with packets, and reserved queues that are blocked, as bits.
    free: Bits,
    filled: Bits,
    closed: Bits,
    /// How many have packets and may send.
    active: u64,
    low: u64,
    high: u64,
    scale: Scale,
    scope: Scope,
    /// The part of its share that a paused flow may hold and go on.
    resume: f64,
    /// Reserved queues wait for older packets.
    keeps_order: bool,
    /// Flows leave their reserved queue for good when nothing of them waits.
    returns_empty: bool,
    /// By reserved queue.
    waits: Vec<Waits>,
    /// What they wait for has changed, and perhaps which of them are to be blocked.
    stirred: bool,
    /// Flows that the next switch has paused, and flows that we have.
    known: usize,
    told: usize,
    /// Queues to be looked at for whom to resume: empty but for a moment.
    looks: Vec<usize>,
}

/// What a reserved queue waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waits {
    /// Entries with paused flows, and entries that have older packets in a normal queue.
    stopped: u64,
    older: u64,
}

impl Port {
    pub(super) fn new(params: &Params, place: &Place<'_>, line: &Neighbour<'_>) -> Self {
        let hop = hop_bytes(place, line);
        let first = line.port.queues.len().saturating_sub(1);
        let normal = params.queues - params.reserved;
        Self {
            first: u8::try_from(first).expect("a port has at most 64 queues"),
            queues: (0..params.queues).map(|_| Queue::default()).collect(),
            normal: normal.into(),
            free: Bits::MAX >> (Bits::BITS - u32::from(normal)),
            filled: 0,
            closed: 0,
            active: 0,
            entries: Table::new(),
            size: params.table,
            low: part(params.low, hop),
            high: part(params.high, hop),
            scale: params.thresholds,
            scope: params.scope,
            resume: params.resume,
            keeps_order: params.order_marks,
            returns_empty: params.return_empty,
            waits: vec![Waits::default(); params.reserved.into()],
            stirred: false,
            known: 0,
            told: 0,
            looks: Vec::new(),
        }
    }

    /// Thresholds of a queue that sends alone.
    pub(super) fn alone(&self) -> (u64, u64) {
        (self.low, self.high)
    }

    /// The number among the queues of the port of one of ours.
    fn number(&self, queue: usize) -> u8 {
        self.first + u8::try_from(queue).expect("at most 128")
    }

    /// What says in a pause why it is asked for, beside the number of the port: nothing but that, or which of its reserved
    /// queues has too much.
    pub(super) fn point(&self, port: u16, slot: u32) -> u32 {
        let held = self.entries.get(slot).filter(|entry| entry.reserved > 0);
        let queue = held.map_or(0, |entry| usize::from(entry.home) + 1 - self.normal);
        let small = |count: usize| u32::try_from(count).expect("at most 128");
        u32::from(port) * small(1 + self.waits.len()) + small(queue)
    }

    /// The entry of a flow: by the high half of a product, which depends on all bits. [Knuth, TAOCP 3, s6.4]
    fn slot(&self, conn: ConnId) -> u32 {
        let mixed = u64::from(conn.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let slot = (mixed * u64::from(self.size)) >> 32;
        u32::try_from(slot).expect("below the size")
    }

    /// Queues among which thresholds are divided.
    #[inline]
    fn sharers(&self) -> u64 {
        match (self.scope, self.scale) {
            (Scope::Port, _) | (_, Scale::Fixed) => 1,
            (Scope::Queue, Scale::Active) => self.active.max(1),
        }
    }

    /// Whether `queue`, of which a flow holds `held` bytes, has so much that the flow is to be paused.
    #[inline]
    fn has_too_much(&self, queue: usize, held: u64) -> bool {
        let (bytes, flows) = self.load(queue);
        // More than a threshold divided by them, without the division.
        let all = bytes * self.sharers();
        all > self.low && (all > self.high || held > fair(bytes, flows))
    }

    /// The bytes that are held against the thresholds for a packet of `queue`, and the flows that share them.
    #[inline]
    fn load(&self, queue: usize) -> (u64, u64) {
        match self.scope {
            Scope::Queue => (self.queues[queue].bytes, self.queues[queue].flows),
            Scope::Port => {
                let add = |(bytes, flows), own: &Queue| (bytes + own.bytes, flows + own.flows);
                self.queues.iter().fold((0, 0), add)
            }
        }
    }

    /// Changes an entry, and keeps the counts of entries true.
    #[inline(never)]
    fn change<T>(&mut self, slot: u32, change: impl FnOnce(&mut Entry) -> T) -> T {
        let entry = self.entries.at(slot);
        let look = |entry: &Entry| {
            let stopped = u64::from(!entry.stopped.is_empty());
            (stopped, u64::from(entry.has_older()))
        };
        let sizes = |entry: &Entry| (entry.stopped.len(), entry.paused.len());
        let (before, known) = (look(entry), sizes(entry));
        let result = change(entry);
        let waits = self.returns_empty && entry.normal + entry.reserved > 0;
        if entry.isolated && entry.stopped.is_empty() && !waits {
            entry.isolated = false;
        }
        // Its reserved queue is another one only where it was in none.
        let (after, knows) = (look(entry), sizes(entry));
        if before != after {
            let waits = &mut self.waits[usize::from(entry.home) - self.normal];
            waits.stopped = waits.stopped + after.0 - before.0;
            waits.older = waits.older + after.1 - before.1;
            self.stirred = true;
        }
        self.known = self.known + knows.0 - known.0;
        self.told = self.told + knows.1 - known.1;
        result
    }

    /// Changes the bytes of an entry in `queue`. Returns what it holds there then, and whether it has paused flows.
    #[inline(always)] // twice
    fn change_bytes(
        &mut self,
        slot: u32,
        queue: usize,
        change: impl FnOnce(&mut u64),
    ) -> (u64, bool) {
        let reserved = queue >= self.normal;
        let change = |entry: &mut Entry| {
            let bytes = if reserved {
                &mut entry.reserved
            } else {
                #[allow(clippy::cast_possible_truncation, reason = "at most 128")]
                {
                    entry.queue = queue as u8;
                }
                &mut entry.normal
            };
            change(bytes);
            (*bytes, !entry.paused.is_empty())
        };
        let entry = self.entries.at(slot);
        if entry.isolated {
            return self.change(slot, change);
        }
        change(entry) // nothing waits for it
    }

    /// Whether [`Port::block`] may have something to say.
    #[inline]
    pub(super) fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// A reserved queue that is to be blocked from now on, or not any more, by its number among those of the port.
    pub(super) fn block(&mut self) -> Option<(u8, bool)> {
        if !self.stirred {
            return None;
        }
        let keeps_order = self.keeps_order;
        let blocked = |own: &Waits| own.stopped > 0 || keeps_order && own.older > 0;
        let mut changed = (self.normal..).zip(self.waits.iter().map(blocked));
        let is_closed = |queue: usize| self.closed >> queue & 1 == 1;
        let Some((queue, blocked)) = changed.find(|&(queue, blocked)| is_closed(queue) != blocked)
        else {
            self.stirred = false;
            return None;
        };
        self.closed ^= 1 << queue;
        if self.filled >> queue & 1 == 1 {
            self.active = self.active + u64::from(!blocked) - u64::from(blocked);
        }
        Some((self.number(queue), blocked))
    }

    /// The queue that a packet of `conn` joins.
    pub(super) fn assign(&mut self, conn: ConnId, mapping: Mapping, rng: &mut Rng) -> u8 {
        let slot = self.slot(conn);
        let queue = match self.entries.get(slot) {
            Some(entry) if entry.isolated => entry.home.into(),
            Some(entry) if entry.normal > 0 => entry.queue.into(),
            _ => self.pick(slot, mapping, rng),
        };
        self.number(queue)
    }

    /// The same where nothing waits and nobody is paused.
    #[inline]
    pub(super) fn assign_alone(&self, conn: ConnId, mapping: Mapping, rng: &mut Rng) -> u8 {
        self.number(match mapping {
            Mapping::Hash => self.slot(conn) as usize % self.normal,
            Mapping::Least => self.any(rng),
        })
    }

    /// Any of the normal queues.
    #[inline]
    fn any(&self, rng: &mut Rng) -> usize {
        let count = self.normal as u64;
        let which = if count > 1 { rng.below(count) } else { 0 };
        usize::try_from(which).expect("below 128")
    }

    /// A normal queue for a flow that has nothing here.
    fn pick(&self, slot: u32, mapping: Mapping, rng: &mut Rng) -> usize {
        let normal = &self.queues[..self.normal];
        if mapping == Mapping::Hash {
            return slot as usize % normal.len();
        }
        if self.filled == 0 {
            return self.any(rng);
        }
        // Most others find a queue without flows, and then no queue is looked at.
        let fewest = if self.free == 0 {
            let flows = normal.iter().map(|queue| queue.flows);
            let fewest = flows.clone().min();
            let has = (0..).zip(flows).filter(|&(_, flows)| Some(flows) == fewest);
            has.fold(0, |bits, (place, _): (u32, _)| bits | 1 << place)
        } else {
            self.free
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

    /// A packet joins the queue that [`Port::assign`] names, which this returns. Says also what [`Port::arrived`] does.
    #[inline] // once per packet that waits, from one place
    pub(super) fn comes(
        &mut self,
        conn: ConnId,
        ingress: u16,
        size: u64,
        mapping: Mapping,
        rng: &mut Rng,
    ) -> (u8, Option<(u32, bool)>) {
        let slot = self.slot(conn);
        let entry = self.entries.at(slot);
        let (queue, held) = if !entry.isolated && entry.normal > 0 {
            entry.normal += size;
            (entry.queue.into(), entry.normal)
        } else {
            let queue = if entry.isolated {
                entry.home.into()
            } else {
                self.pick(slot, mapping, rng)
            };
            let (held, _) = self.change_bytes(slot, queue, |bytes| *bytes += size);
            (queue, held)
        };
        let told = self.joined((slot, conn), ingress, queue, size, held);
        (self.number(queue), told)
    }

    /// A packet has joined `queue`. Says which entry's flow is to be paused for it, if it is, and whether that is to be
    /// repeated from now on.
    pub(super) fn arrived(
        &mut self,
        conn: ConnId,
        ingress: u16,
        queue: u8,
        size: u64,
    ) -> Option<(u32, bool)> {
        let slot = self.slot(conn);
        let queue = usize::from(queue - self.first);
        let (held, _) = self.change_bytes(slot, queue, |bytes| *bytes += size);
        self.joined((slot, conn), ingress, queue, size, held)
    }

    /// The same for one of our queues, of which the entry of its flow now holds `held` bytes.
    #[inline(always)] // twice
    fn joined(
        &mut self,
        (slot, conn): (u32, ConnId),
        ingress: u16,
        queue: usize,
        size: u64,
        held: u64,
    ) -> Option<(u32, bool)> {
        let own = &mut self.queues[queue];
        if own.bytes == 0 {
            self.filled |= 1 << queue;
            self.free &= !(1 << queue);
            self.active += u64::from(self.closed >> queue & 1 == 0);
        }
        own.bytes += size;
        own.flows += u64::from(held == size);
        if !self.has_too_much(queue, held) || self.told >= PAUSED_MAX {
            return None;
        }
        self.tell((slot, conn), ingress, queue)
    }

    /// A flow is to be paused, if it is not.
    #[inline(never)] // seldom
    fn tell(
        &mut self,
        (slot, conn): (u32, ConnId),
        ingress: u16,
        queue: usize,
    ) -> Option<(u32, bool)> {
        let entry = self.entries.at(slot);
        if entry.paused.contains(&(conn, ingress)) {
            return None;
        }
        entry.paused.push((conn, ingress));
        let listed = !std::mem::replace(&mut entry.listed, true);
        let first = !std::mem::replace(&mut entry.repeats, true);
        self.told += 1;
        if listed {
            self.queues[queue].list.push_back(slot);
        }
        Some((slot, first))
    }

    /// Whether it has paused somebody.
    pub(super) fn has_paused(&self) -> bool {
        self.told > 0
    }

    /// Whether a packet of `size` bytes that passes while nothing waits changes nothing: no flow is isolated, and alone it
    /// is not too much.
    #[inline]
    pub(super) fn overlooks(&self, size: u64) -> bool {
        self.filled == 0 && self.known == 0 && self.told == 0 && size <= self.high
    }

    /// A packet leaves `queue`. Says which flows are to be `resumed` at which ports.
    pub(super) fn left(
        &mut self,
        conn: ConnId,
        queue: u8,
        size: u64,
        resumed: &mut Vec<(ConnId, u16)>,
    ) {
        let slot = self.slot(conn);
        let queue = usize::from(queue - self.first);
        let entry = self.entries.known(slot);
        let (held, has_paused) = if entry.isolated {
            self.change_bytes(slot, queue, |bytes| *bytes -= size)
        } else if queue < self.normal {
            entry.normal -= size;
            (entry.normal, !entry.paused.is_empty())
        } else {
            // It went back before its packets had left.
            entry.reserved -= size;
            (entry.reserved, !entry.paused.is_empty())
        };
        let own = &mut self.queues[queue];
        own.bytes -= size;
        own.flows -= u64::from(held == 0);
        if own.bytes == 0 {
            self.filled &= !(1 << queue);
            self.free |= Bits::from(queue < self.normal) << queue;
            self.active -= u64::from(self.closed >> queue & 1 == 0);
        }
        if self.told > 0 {
            if has_paused && self.has_little(queue, held) {
                self.resume(slot, resumed);
            }
            match self.scope {
                Scope::Queue => self.resume_listed(queue, resumed),
                // What is counted over all of them goes down for all of them.
                Scope::Port => {
                    (0..self.queues.len()).for_each(|each| self.resume_listed(each, resumed));
                }
            }
        }
    }

    /// Whether a flow that holds `held` bytes of `queue` need not be paused any more. [ours]
    fn has_little(&self, queue: usize, held: u64) -> bool {
        let (bytes, flows) = self.load(queue);
        let share = || self.resume * fair(bytes, flows) as f64;
        // As in `has_too_much`.
        let all = bytes * self.sharers();
        all <= self.low || all <= self.high && held as f64 <= share()
    }

    fn resume(&mut self, slot: u32, resumed: &mut Vec<(ConnId, u16)>) {
        self.change(slot, |entry| resumed.append(&mut entry.paused));
    }

    /// Resumes those in the list of `queue` for which there is room, the longest there first. An entry whose packets
    /// are in another queue by now goes to the list of that one.
    fn resume_listed(&mut self, queue: usize, resumed: &mut Vec<(ConnId, u16)>) {
        let Some(&slot) = self.queues[queue].list.front() else {
            return;
        };
        let entry = self.entries.known(slot);
        if !entry.paused.is_empty() {
            let (home, held) = entry.place(queue);
            if home == queue && !self.has_little(queue, held) {
                return; // most often
            }
        }
        // Who is handed on is looked at there, too: nothing may leave from there for long.
        let mut looks = std::mem::take(&mut self.looks);
        looks.push(queue);
        while let Some(queue) = looks.pop() {
            for _ in 0..self.queues[queue].list.len() {
                let Some(&slot) = self.queues[queue].list.front() else {
                    break;
                };
                let entry = self.entries.get(slot).expect("what is listed is kept");
                let (home, held) = entry.place(queue);
                if home != queue && !entry.paused.is_empty() {
                    self.queues[queue].list.pop_front();
                    self.queues[home].list.push_back(slot);
                    if !looks.contains(&home) && home > queue {
                        looks.push(home);
                    }
                    continue;
                }
                if !entry.paused.is_empty() && !self.has_little(queue, held) {
                    break;
                }
                self.queues[queue].list.pop_front();
                self.change(slot, |entry| entry.listed = false);
                self.resume(slot, resumed);
            }
        }
        self.looks = looks; // its room is used again
    }

    /// The next switch does not want `conn` before `until`, because of `point`. Says which entry that is, whether its packets are isolated
    /// from now on, and whether somebody must look at it at `until`.
    pub(super) fn stop(&mut self, conn: ConnId, point: u32, until: Time) -> (u32, bool, bool) {
        let slot = self.slot(conn);
        let home = self.normal + point as usize % self.waits.len();
        let home = u8::try_from(home).expect("at most 128");
        let room = self.known < PAUSED_MAX;
        let (isolated, watch) = self.change(slot, |entry| {
            match entry.stopped.iter_mut().find(|(known, _)| *known == conn) {
                Some((_, end)) => *end = until,
                None if room => entry.stopped.push((conn, until)),
                None => return (false, false),
            }
            let watch = until < Time::NEVER && !std::mem::replace(&mut entry.expires, true);
            if !entry.isolated && entry.reserved == 0 {
                entry.home = home;
            }
            (!std::mem::replace(&mut entry.isolated, true), watch)
        });
        (slot, isolated, watch && until < Time::NEVER)
    }

    /// It wants `conn` again.
    pub(super) fn go(&mut self, conn: ConnId) {
        let slot = self.slot(conn);
        self.change(slot, |entry| {
            entry.stopped.retain(|&(known, _)| known != conn);
        });
    }

    /// Pauses of an entry that are to be asked for again; none where it need not be looked at any more.
    pub(super) fn repeated(&mut self, slot: u32) -> &[(ConnId, u16)] {
        self.change(slot, |entry| entry.repeats = !entry.paused.is_empty());
        &self.entries.at(slot).paused
    }

    /// Ends what nobody asked for again. Says when to look next.
    pub(super) fn expire(&mut self, slot: u32, now: Time) -> Time {
        self.change(slot, |entry| {
            entry.stopped.retain(|&(_, until)| until > now);
            let ends = entry.stopped.iter().map(|&(_, until)| until);
            let next = ends.min().unwrap_or(Time::NEVER);
            entry.expires = next < Time::NEVER;
            next
        })
    }

    /// Pauses that it has asked for.
    pub(super) fn paused(&self) -> usize {
        self.told
    }

    pub(super) fn check(&self) {
        let (mut bytes, mut flows) = (vec![0; self.queues.len()], vec![0; self.queues.len()]);
        let (mut known, mut told) = (0, 0);
        let mut waits = vec![(0, 0); self.waits.len()];
        for (slot, entry) in self.entries.iter() {
            for (queue, held) in [(entry.queue, entry.normal), (entry.home, entry.reserved)] {
                let queue = usize::from(queue);
                bytes[queue] += held;
                flows[queue] += u64::from(held > 0);
            }
            if entry.isolated {
                let own = &mut waits[usize::from(entry.home) - self.normal];
                own.0 += u64::from(!entry.stopped.is_empty());
                own.1 += u64::from(entry.has_older());
            }
            known += entry.stopped.len();
            told += entry.paused.len();
            assert!(
                entry.isolated || entry.reserved == 0 || !self.returns_empty,
                "{slot} has packets in the reserved queue and joins another: {entry:?}"
            );
            assert!(
                entry.listed || entry.paused.is_empty(),
                "{slot} waits for nobody"
            );
        }
        let held: Vec<(u64, u64)> = self.queues.iter().map(|q| (q.bytes, q.flows)).collect();
        let found: Vec<(u64, u64)> = bytes.into_iter().zip(flows).collect();
        assert_eq!(found, held, "bytes and flows of queues");
        let counted = self.waits.iter().map(|own| (own.stopped, own.older));
        assert_eq!(waits, counted.collect::<Vec<_>>(), "what queues wait for");
        let active = (self.filled & !self.closed).count_ones();
        assert_eq!(self.active, active.into(), "queues that may send");
        assert_eq!((known, told), (self.known, self.told), "pauses");
        for (place, queue) in self.queues.iter().enumerate() {
            let bit = |bits: Bits| bits >> place & 1 == 1;
            let empty = queue.flows == 0;
            let normal = place < self.normal;
            assert_eq!(bit(self.filled), !empty, "queue {place} has packets");
            assert_eq!(bit(self.free), empty && normal, "queue {place} is free");
            assert!(!normal || !bit(self.closed), "nothing blocks queue {place}");
        }
        let listed: usize = self.queues.iter().map(|queue| queue.list.len()).sum();
        let lists = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.listed)
            .count();
        assert_eq!(lists, listed, "entries that wait to be resumed");
        if held.iter().all(|&(bytes, _)| bytes == 0) {
            assert_eq!(told, 0, "nothing waits, and somebody is paused for it");
        }
    }
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
    use crate::bench::{line, place};
    use model::intent::PortSpec;
    use units::Bytes;

    #[test]
    fn a_blocked_queue_has_no_part_in_the_thresholds() {
        let (spec, table) = (PortSpec::fifo(Bytes(1)), "queues = 3\nlow = 1\nhigh = 2");
        let params = Params::read(&table.parse().expect("TOML")).expect("parameters");
        let lines = [line(&spec); 2];
        let mut port = Port::new(&params, &place(&lines, 60_000), &lines[1]);
        let among = |port: &Port, queues| {
            port.check();
            port.sharers() == queues
        };
        let (conn, other) = (ConnId(7), ConnId(8));
        assert_eq!(port.arrived(conn, 0, 0, 1000), None);
        port.stop(other, 0, Time::NEVER);
        let reserved = port.number(port.normal);
        assert_eq!(port.arrived(other, 0, reserved, 1000), None);
        assert!(among(&port, 2), "both have packets");
        assert_eq!(port.block(), Some((reserved, true)));
        assert_eq!(port.block(), None);
        assert!(among(&port, 1), "of one of them nothing may leave");
        port.go(other);
        assert_eq!(port.block(), Some((reserved, false)));
        assert_eq!(port.block(), None);
        assert!(among(&port, 2), "it may leave again");
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
