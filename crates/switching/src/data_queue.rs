//! A queue that keeps its packets: alone a port, or the data part of one.

use crate::fifo::Admission;
use model::intent::{MarkAt, PortSpec};
use model::{Backlog, Dequeue, Packet, QueueDisc, Rng, Verdict};
use std::collections::VecDeque;
use units::Time;

/// First in, first out, with the admission rules of its port.
#[derive(Debug)]
pub struct DataQueue {
    packets: VecDeque<Packet>,
    bytes: u64,
    /// Bytes of the class that is dropped first.
    victims: u64,
    peak: u64,
    admission: Admission,
    mark_leaving: bool,
}

impl DataQueue {
    /// The data queue of `spec`.
    pub fn new(spec: &PortSpec, rng: Rng) -> Self {
        let mark_leaving = spec.mark.is_some_and(|mark| mark.at == MarkAt::Dequeue);
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            victims: 0,
            peak: 0,
            admission: Admission::new(spec, rng),
            mark_leaving,
        }
    }

    fn is_victim(&self, packet: &Packet) -> bool {
        self.admission.is_victim(packet)
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Wire bytes of the packet that leaves next.
    #[inline]
    pub fn head_size(&self) -> Option<u64> {
        self.packets.front().map(|packet| u64::from(packet.size))
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes `packet` in, or says why not. `elsewhere` bytes wait in other queues of the port.
    pub fn push(&mut self, elsewhere: u64, packet: &mut Packet) -> Verdict {
        if let Err(reason) =
            self.admission
                .judge_beside(self.bytes, self.victims, elsewhere, packet)
        {
            return Verdict::Dropped(reason);
        }
        self.bytes += u64::from(packet.size);
        self.victims += if self.is_victim(packet) {
            u64::from(packet.size)
        } else {
            0
        };
        self.peak = self.peak.max(self.bytes);
        self.packets.push_back(*packet);
        Verdict::Queued
    }

    /// What [`DataQueue::push`] and [`DataQueue::pop`] do to a packet that finds the port idle.
    #[inline]
    pub fn pass(&mut self, packet: &mut Packet) -> bool {
        debug_assert!(self.packets.is_empty());
        if self.admission.quiet_below() == 0 {
            let mut passed = *packet;
            if self.admission.judge(0, 0, &mut passed).is_err() {
                return false;
            }
            *packet = passed;
        }
        self.peak = self.peak.max(u64::from(packet.size));
        true
    }

    /// The oldest packet leaves into `out`; false where none waits.
    #[inline]
    pub fn pop(&mut self, out: &mut Packet) -> bool {
        let Some(packet) = self.packets.pop_front() else {
            return false;
        };
        *out = packet;
        self.bytes -= u64::from(packet.size);
        self.victims -= if self.is_victim(&packet) {
            u64::from(packet.size)
        } else {
            0
        };
        if self.mark_leaving {
            // The queue that it leaves behind and itself: what stood there when it was served.
            self.admission
                .mark_leaving(self.bytes + u64::from(packet.size), out);
        }
        true
    }

    /// Adds the packets that wait to `count`, by class.
    pub fn count_into(&self, count: &mut [u64; 5]) {
        for packet in &self.packets {
            count[packet.class() as usize] += 1;
        }
    }

    /// Most bytes that ever waited.
    pub fn peak_bytes(&self) -> u64 {
        self.peak
    }
}

impl QueueDisc for DataQueue {
    fn enqueue(&mut self, _now: Time, packet: &mut Packet) -> Verdict {
        self.push(0, packet)
    }

    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        !self.mark_leaving && Self::pass(self, packet)
    }

    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        if !self.pop(out) {
            Dequeue::Empty
        } else if self.packets.is_empty() {
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
        self.count_into(&mut count);
        count
    }

    fn marked(&self) -> u64 {
        self.admission.marked()
    }

    fn check(&self) {
        let bytes: u64 = self
            .packets
            .iter()
            .map(|packet| u64::from(packet.size))
            .sum();
        assert_eq!(bytes, self.bytes, "bytes counted and bytes waiting");
        assert!(
            self.bytes <= self.admission.limit(),
            "{} B in a buffer of {}",
            self.bytes,
            self.admission.limit()
        );
    }
}
