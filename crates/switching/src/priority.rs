//! Strict priority: the most urgent non-empty queue is served, always.

use crate::data_queue::DataQueue;
use model::intent::PortSpec;
use model::{Backlog, Dequeue, Packet, QueueDisc, Rng, Verdict};
use units::Time;

/// Up to eight queues, 0 the most urgent, in one buffer. Marking and selective dropping look at
/// the queue that the packet joins; the buffer limit at all of them together.
pub struct StrictPriority {
    queues: Vec<DataQueue>,
    /// Bit i: queue i has packets.
    filled: u8,
    limit: u64,
    bytes: u64,
    peak: u64,
}

impl StrictPriority {
    /// The queues of `spec`.
    ///
    /// # Panics
    /// If there are more than eight priorities.
    pub fn new(spec: &PortSpec, rng: &Rng) -> Self {
        assert!(
            (1..=8).contains(&spec.priorities),
            "{} priorities",
            spec.priorities
        );
        let queues = (0..spec.priorities)
            .map(|queue| DataQueue::new(spec, rng.part(queue.into())))
            .collect();
        Self {
            queues,
            filled: 0,
            limit: spec.buffer.get(),
            bytes: 0,
            peak: 0,
        }
    }

    fn index(&self, packet: &Packet) -> usize {
        usize::from(packet.priority()).min(self.queues.len() - 1)
    }
}

impl QueueDisc for StrictPriority {
    fn enqueue(&mut self, _now: Time, packet: &mut Packet) -> Verdict {
        if self.bytes + u64::from(packet.size) > self.limit {
            return Verdict::Dropped(model::DropReason::Full);
        }
        let index = self.index(packet);
        let elsewhere = self.bytes - self.queues[index].bytes();
        let verdict = self.queues[index].push(elsewhere, packet);
        if verdict == Verdict::Queued {
            self.filled |= 1 << index;
            self.bytes += u64::from(packet.size);
            self.peak = self.peak.max(self.bytes);
        }
        verdict
    }

    #[inline]
    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        let index = self.index(packet);
        let passed = QueueDisc::pass(&mut self.queues[index], Time::ZERO, packet);
        self.peak = if passed {
            self.peak.max(u64::from(packet.size))
        } else {
            self.peak
        };
        passed
    }

    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        if self.filled == 0 {
            return Dequeue::Empty;
        }
        let index = self.filled.trailing_zeros() as usize;
        let popped = self.queues[index].pop(out);
        debug_assert!(popped, "queue {index} was marked as filled");
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

    fn peak(&self) -> Backlog {
        Backlog {
            data_bytes: self.peak,
            credits: 0,
        }
    }

    fn waiting(&self) -> [u64; 5] {
        let mut count = [0; 5];
        self.queues
            .iter()
            .for_each(|queue| queue.count_into(&mut count));
        count
    }

    fn marked(&self) -> u64 {
        self.queues.iter().map(QueueDisc::marked).sum()
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
    use model::{Class, ConnId, HostId};
    use units::Bytes;

    #[test]
    fn the_most_urgent_packet_leaves_first_and_ties_keep_their_order() {
        let spec = PortSpec {
            priorities: 8,
            ..PortSpec::fifo(Bytes(5_000))
        };
        let mut port = StrictPriority::new(&spec, &Rng::stream(1, 2, 3));
        for (conn, priority) in [(0, 7), (1, 3), (2, 7), (3, 0), (4, 3)] {
            let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 1000);
            packet.set_priority(priority);
            assert_eq!(port.enqueue(Time::ZERO, &mut packet), Verdict::Queued);
            port.check();
        }
        let mut sixth = Packet::new(HostId(0), ConnId(5), Class::Plain, 0, 1000);
        assert_eq!(
            port.enqueue(Time::ZERO, &mut sixth),
            Verdict::Dropped(model::DropReason::Full)
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
