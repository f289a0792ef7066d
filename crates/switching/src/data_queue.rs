//! A first-in first-out queue that keeps its packets: alone a port, or part of one.

use crate::admission::{Admission, Level};
use crate::discipline::{Backlog, Dequeue, Discipline, OnLine, Verdict};
use model::intent::{MarkAt, QueueSpec};
use model::{ByClass, DropReason, Packet, Rng};
use std::collections::VecDeque;
use units::Time;

/// First in, first out, with the admission rules of its port.
#[derive(Debug)]
pub struct DataQueue {
    packets: VecDeque<Packet>,
    bytes: u64,
    /// Bytes of the class that is dropped first.
    victims: u64,
    /// Most bytes, with what was left of the frame on the line.
    peak: u64,
    /// The largest frame that it has taken: no more of one is ever on the line.
    largest: u16,
    admission: Admission,
    mark_leaving: bool,
}

impl DataQueue {
    /// The queue of `spec` where `limit` bytes have room.
    pub fn new(spec: &QueueSpec, limit: u64, rng: Rng) -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            victims: 0,
            peak: 0,
            largest: 0,
            admission: Admission::new(spec, limit, rng),
            mark_leaving: spec.mark.is_some_and(|mark| mark.at == MarkAt::Dequeue),
        }
    }

    /// Bytes that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes `packet` in, or says why not. `on_line` is what is left of a frame of this queue on the
    /// line; `elsewhere` bytes wait in other queues of the port.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn push(
        &mut self,
        on_line: impl Fn() -> u64,
        elsewhere: u64,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let (bytes, victims) = (self.bytes, self.victims);
        let level = || Level {
            queue: bytes + on_line(),
            victims,
            elsewhere,
        };
        self.admission.judge(bytes, level, packet)?;
        let size = u64::from(packet.size);
        self.bytes += size;
        if self.admission.is_victim(packet) {
            self.victims += size;
        }
        self.largest = self.largest.max(packet.size);
        if self.bytes + u64::from(self.largest) > self.peak {
            self.peak = self.peak.max(self.bytes + on_line());
        }
        self.packets.push_back(*packet);
        Ok(())
    }

    /// What [`DataQueue::push`] and [`DataQueue::pop`] do to a packet that finds the port idle.
    #[inline]
    pub fn pass(&mut self, packet: &mut Packet) -> bool {
        debug_assert!(self.packets.is_empty());
        if self.mark_leaving {
            return false;
        }
        if self.admission.quiet_below() == 0 {
            let mut passed = *packet;
            if self
                .admission
                .judge_closely(Level::default(), &mut passed)
                .is_err()
            {
                return false;
            }
            *packet = passed;
        }
        self.largest = self.largest.max(packet.size);
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
        let size = u64::from(packet.size);
        self.bytes -= size;
        if self.admission.is_victim(&packet) {
            self.victims -= size;
        }
        if self.mark_leaving {
            // The queue that it leaves behind and itself: what stood there when it was served.
            self.admission.mark_leaving(self.bytes + size, out);
        }
        true
    }

    /// Adds the packets that wait to `count`, by class.
    pub fn count_into(&self, count: &mut ByClass<u64>) {
        for packet in &self.packets {
            count[packet.class()] += 1;
        }
    }

    /// Most bytes that ever waited, with what was left of the frame on the line.
    pub fn peak_bytes(&self) -> u64 {
        self.peak
    }

    /// Packets marked so far.
    pub fn marked(&self) -> u64 {
        self.admission.marked()
    }

    /// Panics where an invariant of our own state is broken.
    pub fn check(&self) {
        let sizes = self.packets.iter().map(|packet| u64::from(packet.size));
        assert_eq!(sizes.sum::<u64>(), self.bytes, "bytes counted and waiting");
        let limit = self.admission.limit();
        assert!(self.bytes <= limit, "{} B in {limit}", self.bytes);
    }
}

impl Discipline for DataQueue {
    #[inline(always)] // once per queued packet
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        match self.push(|| line.bytes(now), 0, packet) {
            Ok(()) => Verdict::Queued(0),
            Err(reason) => Verdict::Dropped(reason),
        }
    }

    #[inline]
    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        Self::pass(self, packet)
    }

    #[inline(always)] // once per queued packet
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

    fn forget_peak(&mut self, on_line: u64) {
        self.peak = self.bytes + on_line;
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
        self.count_into(&mut count);
        count
    }

    fn marked(&self) -> u64 {
        Self::marked(self)
    }

    fn check(&self) {
        Self::check(self);
    }
}
