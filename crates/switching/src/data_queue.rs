//! A first-in first-out queue that keeps its packets: alone a port, or part of one.

use crate::admission::{Admission, Level};
use crate::discipline::{Backlog, Dequeue, Discipline, OnLine, Verdict};
use crate::packets::Packets;
use model::intent::{MarkAt, QueueSpec};
use model::{ByClass, DropReason, Packet, Rng};
use units::Time;

/// First in, first out, with the admission rules of its port.
#[derive(Debug)]
pub struct DataQueue {
    packets: Packets,
    bytes: u64,
    /// Bytes of the class that is dropped first.
    victims: u64,
    peak: Peak,
    admission: Admission,
    mark_leaving: bool,
}

/// The most bytes that waited, with what was left of the frame on the line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    pub(crate) bytes: u64,
    /// The largest frame so far: no more of one is ever on the line.
    pub(crate) largest: u16,
}

impl Peak {
    /// A packet of `size` has come, and `waiting` bytes wait with it. `line` says what else is on the line.
    #[inline]
    pub(crate) fn note(&mut self, waiting: u64, size: u16, line: impl Fn() -> (Time, OnLine)) {
        self.largest = self.largest.max(size);
        if waiting + u64::from(self.largest) > self.bytes {
            let (now, line) = line();
            if self.bytes < waiting || line.exceeds(now, self.bytes - waiting) {
                self.bytes = waiting + line.bytes(now);
            }
        }
    }

    /// A packet of `size` has passed an empty queue.
    #[inline]
    pub(crate) fn passed(&mut self, size: u16) {
        self.largest = self.largest.max(size);
        self.bytes = self.bytes.max(u64::from(size));
    }
}

impl DataQueue {
    /// The queue of `spec` where `limit` bytes have room.
    pub fn new(spec: &QueueSpec, limit: u64, rng: Rng) -> Self {
        Self {
            packets: Packets::default(),
            bytes: 0,
            victims: 0,
            peak: Peak::default(),
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

    /// Takes `packet` in, or says why not. `level` is what the queue holds, asked for where that is not far
    /// below every threshold.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub(crate) fn join(
        &mut self,
        level: impl Fn(Level) -> Level,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let waiting = Level {
            queue: self.bytes,
            victims: self.victims,
            elsewhere: 0,
        };
        self.admission
            .judge(self.bytes, || level(waiting), packet)?;
        let size = u64::from(packet.size);
        self.bytes += size;
        if self.admission.is_victim(packet) {
            self.victims += size;
        }
        self.packets.push_back(packet);
        Ok(())
    }

    /// The same where the queue is alone, or all that counts: notes the most that waited. `line` is what is
    /// left of a frame of this queue on the line.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub(crate) fn push(
        &mut self,
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let level = |waiting: Level| Level {
            queue: waiting.queue + line.bytes(now),
            ..waiting
        };
        self.join(level, packet)?;
        self.peak.note(self.bytes, packet.size, || (now, line));
        Ok(())
    }

    /// What [`DataQueue::join`] and [`DataQueue::pop`] do to a packet that finds the port idle.
    #[inline]
    pub(crate) fn pass(&mut self, packet: &mut Packet) -> bool {
        debug_assert!(self.packets.is_empty());
        if self.mark_leaving {
            return false;
        }
        self.admission.judge_alone(packet)
    }

    /// Notes that a packet has passed a queue that is alone, or all that counts.
    #[inline]
    pub(crate) fn passed(&mut self, packet: &Packet) {
        self.peak.passed(packet.size);
    }

    /// The oldest packet leaves into `out`; false where none waits.
    #[inline]
    pub fn pop(&mut self, out: &mut Packet) -> bool {
        if !self.packets.pop_front(out) {
            return false;
        }
        let size = u64::from(out.size);
        self.bytes -= size;
        if self.admission.is_victim(out) {
            self.victims -= size;
        }
        if self.mark_leaving {
            // The queue that it leaves behind and itself: what stood there when it was served.
            self.admission.mark_leaving(self.bytes + size, out);
        }
        true
    }

    /// The packets that wait, the oldest first.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    /// Adds the packets that wait to `count`, by class.
    pub fn count_into(&self, count: &mut ByClass<u64>) {
        for packet in self.packets.iter() {
            count[packet.class()] += 1;
        }
    }

    /// Most bytes that ever waited, with what was left of the frame on the line.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.bytes
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
        match self.push(now, line, packet) {
            Ok(()) => Verdict::Queued(0),
            Err(reason) => Verdict::Dropped(reason),
        }
    }

    #[inline]
    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        let passes = Self::pass(self, packet);
        if passes {
            self.passed(packet);
        }
        passes
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
            data_bytes: self.peak.bytes,
            credits: 0,
        }
    }

    fn forget_peak(&mut self, on_line: u64) {
        self.peak.bytes = self.bytes + on_line;
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
