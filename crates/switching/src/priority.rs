//! Strict priority: the most urgent non-empty queue is served, always.

use crate::admission::Level;
use crate::data_queue::{DataQueue, Peak};
use crate::discipline::{Backlog, Dequeue, Discipline, Gate, GateOf, GateState, OnLine, Verdict};
use model::intent::QueueSpec;
use model::{ByClass, DropReason, Packet, Rng};
use units::Time;

/// Up to eight queues, 0 the most urgent, in one buffer. Marking and selective dropping look at
/// the queue that the packet joins; the buffer limit at all of them together. With `GATES`, whole queues can be
/// closed; without, nothing is paid for it.
#[derive(Debug)]
pub struct StrictPriority<const GATES: bool = false> {
    queues: Vec<DataQueue>,
    /// Bit i: queue i has packets.
    filled: u8,
    /// Bit i: a gate keeps queue i.
    closed: u8,
    limit: u64,
    bytes: u64,
    peak: Peak,
    /// The queue of the frame on the line.
    last: usize,
}

impl<const GATES: bool> StrictPriority<GATES> {
    /// One queue per specification, the last for every priority beyond, where `limit` bytes have room.
    pub fn new(specs: &[QueueSpec], limit: u64, rng: &Rng) -> Self {
        let queue = |(place, spec)| DataQueue::new(spec, limit, rng.part(place));
        Self {
            queues: (0..).zip(specs).map(queue).collect(),
            filled: 0,
            closed: 0,
            limit,
            bytes: 0,
            peak: Peak::default(),
            last: 0,
        }
    }

    #[inline]
    fn index(&self, packet: &Packet) -> usize {
        usize::from(packet.priority()).min(self.queues.len() - 1)
    }

    /// Queues that hold packets and may send, as bits.
    #[inline]
    fn ready(&self) -> u8 {
        if GATES {
            self.filled & !self.closed
        } else {
            self.filled
        }
    }
}

impl StrictPriority<true> {
    /// Opens or closes a gate of a queue or a priority.
    ///
    /// # Panics
    /// If it lets some bytes pass: who does that needs the general port.
    pub(crate) fn gate(&mut self, gate: Gate) {
        let last = self.queues.len() - 1;
        let index = match gate.of {
            GateOf::Queue(number) => usize::from(number),
            GateOf::Priority(priority) => usize::from(priority).min(last),
            GateOf::Flow(_) => return, // of flows it knows nothing
        };
        if index > last {
            return;
        }
        match gate.state {
            GateState::Open => self.closed &= !(1 << index),
            GateState::Closed => self.closed |= 1 << index,
            GateState::Bytes(_) => unreachable!("a flow control of gates alone counts no bytes"),
        }
    }

    /// Whether a gate is closed.
    pub(crate) fn is_gated(&self) -> bool {
        self.closed != 0
    }

    /// The queue of the packet that left last.
    #[inline]
    pub(crate) fn last_queue(&self) -> u8 {
        u8::try_from(self.last).expect("at most eight queues")
    }

    /// Packets that gates hold back.
    pub(crate) fn held_packets(&self) -> impl Iterator<Item = &Packet> {
        let closed = |&(index, _): &(usize, _)| self.closed >> index & 1 == 1;
        let queues = self.queues.iter().enumerate().filter(closed);
        queues.flat_map(|(_, queue)| queue.packets())
    }
}

impl<const GATES: bool> Discipline for StrictPriority<GATES> {
    #[inline(always)] // once per queued packet
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        let size = u64::from(packet.size);
        // Far from full the rest of the frame on the line does not matter.
        if self.bytes + size + u64::from(self.peak.largest) > self.limit
            && self.bytes + size + line.bytes(now) > self.limit
        {
            return Verdict::Dropped(DropReason::Full);
        }
        let index = self.index(packet);
        let (all, own) = (self.bytes, line.only(self.last == index));
        let level = |waiting: Level| Level {
            queue: waiting.queue + own.bytes(now),
            elsewhere: all - waiting.queue,
            ..waiting
        };
        if let Err(reason) = self.queues[index].join(level, packet) {
            return Verdict::Dropped(reason);
        }
        self.filled |= 1 << index;
        self.bytes += size;
        self.peak.note(self.bytes, packet.size, || (now, line));
        #[allow(clippy::cast_possible_truncation, reason = "at most eight queues")]
        Verdict::Queued(index as u8)
    }

    #[inline]
    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        let index = self.index(packet);
        // What a gate keeps still counts as what waits.
        if GATES && (self.filled != 0 || self.closed >> index & 1 == 1) {
            return false;
        }
        let passed = self.queues[index].pass(packet);
        if passed {
            self.last = index;
            self.peak.passed(packet.size);
        }
        passed
    }

    #[inline(always)] // once per queued packet
    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        let ready = self.ready();
        if ready == 0 {
            return if GATES && self.filled != 0 {
                Dequeue::Held
            } else {
                Dequeue::Empty
            };
        }
        let index = ready.trailing_zeros() as usize;
        let popped = self.queues[index].pop(out);
        debug_assert!(popped, "queue {index} was marked as filled");
        self.last = index;
        self.bytes -= u64::from(out.size);
        if self.queues[index].is_empty() {
            self.filled &= !(1 << index);
        }
        if self.filled == 0 {
            Dequeue::Last
        } else {
            Dequeue::Packet
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            data_bytes: self.bytes,
            credits: 0,
        }
    }

    fn forget_peak(&mut self, on_line: u64) {
        self.peak.bytes = self.bytes + on_line;
    }

    fn peak(&self) -> Backlog {
        Backlog {
            data_bytes: self.peak.bytes,
            credits: 0,
        }
    }

    #[inline]
    fn held(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn counts_line(&self) -> bool {
        true
    }

    fn waiting(&self) -> ByClass<u64> {
        let mut count = ByClass::default();
        self.queues
            .iter()
            .for_each(|queue| queue.count_into(&mut count));
        count
    }

    fn marked(&self) -> u64 {
        self.queues.iter().map(DataQueue::marked).sum()
    }

    fn check(&self) {
        for (index, queue) in self.queues.iter().enumerate() {
            queue.check();
            assert_eq!(
                queue.is_empty(),
                self.filled & (1 << index) == 0,
                "queue {index}"
            );
        }
        assert_eq!(
            self.bytes,
            self.queues.iter().map(DataQueue::bytes).sum::<u64>()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::IDLE;
    use model::{Class, ConnId, HostId};

    #[test]
    fn the_most_urgent_packet_leaves_first_and_ties_keep_their_order() {
        let specs = [QueueSpec::DATA; 8];
        let mut port: StrictPriority = StrictPriority::new(&specs, 5_000, &Rng::stream(1, 2, 3));
        for (conn, priority) in [(0, 7), (1, 3), (2, 7), (3, 0), (4, 3)] {
            let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 1000);
            packet.set_priority(priority);
            let verdict = port.enqueue(Time::ZERO, IDLE, &mut packet);
            assert_eq!(verdict, Verdict::Queued(priority));
            port.check();
        }
        let mut sixth = Packet::new(HostId(0), ConnId(5), Class::Plain, 0, 1000);
        assert_eq!(
            port.enqueue(Time::ZERO, IDLE, &mut sixth),
            Verdict::Dropped(DropReason::Full)
        );
        let mut out = Packet::EMPTY;
        let order: Vec<_> = (0..5)
            .map(|_| {
                port.dequeue(Time::ZERO, &mut out);
                port.check();
                out.conn.0
            })
            .collect();
        assert_eq!(order, [3, 1, 4, 0, 2]);
    }
}
