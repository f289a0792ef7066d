//! A first-in first-out queue that keeps its packets: alone a port, or part of one.

use crate::admission::{Admission, Level};
use crate::discipline::{Backlog, Dequeue, Discipline, OnLine, Verdict};
use crate::packets::Packets;
use model::intent::{MarkAt, QueueSpec};
use model::{ByClass, DropReason, Packet, Rng};
use units::{Span, Time};

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
    /// The most that was noted in bytes.
    bytes: u64,
    /// The most that was noted in time, on a line that takes `per_byte` for a byte.
    time: Span,
    per_byte: u64,
}

impl Peak {
    /// `waiting` bytes wait, that of a packet that has just come among them. `line` says what else is on the line.
    #[inline(always)] // once per queued packet
    pub(crate) fn note(&mut self, waiting: u64, now: Time, line: OnLine) {
        let left = line.until.since(now);
        // What is left of a frame is rounded up to bytes: in time that can wait until somebody asks.
        if let Some(per_byte) = line.line.per_byte() {
            let time = Span(waiting * per_byte) + left;
            if time > self.time {
                (self.time, self.per_byte) = (time, per_byte);
            }
        } else {
            self.bytes = self.bytes.max(waiting + line.line.bytes(left));
        }
    }

    /// A packet of `size` has passed an empty queue.
    #[inline]
    pub(crate) fn passed(&mut self, size: u16) {
        // A branch, because it is rarely the largest.
        if u64::from(size) > self.bytes {
            self.bytes = size.into();
        }
    }

    /// From now on the most is that of these bytes and of what comes later. A frame of the link itself on the line never
    /// was in the queue: no more waits than ever did.
    pub(crate) fn forget(&mut self, bytes: u64) {
        *self = Self {
            bytes: bytes.min(self.bytes()),
            ..Self::default()
        };
    }

    /// The most bytes that were noted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.max(self.time.0.div_ceil(self.per_byte.max(1)))
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

    /// Below this many bytes of its own every packet is taken unmarked.
    pub(crate) fn quiet_below(&self) -> u64 {
        self.admission.quiet_below()
    }

    /// Whether every packet may pass where nothing waits.
    pub(crate) fn lets_all_pass(&self) -> bool {
        !self.mark_leaving && self.admission.quiet_below() > 0
    }

    /// Says whether `packet` may join, or why not, and marks it where it must be. `level` is what the queue holds.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub(crate) fn judge(
        &mut self,
        level: impl FnOnce(Level) -> Level,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let level = level(Level {
            queue: self.bytes,
            victims: self.victims,
            elsewhere: 0,
        });
        self.admission.judge_closely(level, packet)
    }

    /// Takes in a packet that may join.
    #[inline(always)] // once per queued packet
    pub(crate) fn put(&mut self, packet: &Packet) {
        let size = u64::from(packet.size);
        self.bytes += size;
        if self.admission.is_victim(packet) {
            self.victims += size;
        }
        self.packets.push_back(packet);
    }

    /// Takes in a packet where the queue is alone, or all that counts, or says why not; notes the most that waited.
    /// `line` is what is left of a frame of this queue on the line.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline(always)] // once per queued packet
    pub(crate) fn push(
        &mut self,
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if !line.keeps_below(now, self.bytes, self.admission.quiet_below()) {
            let level = |waiting: Level| Level {
                queue: waiting.queue + line.bytes(now),
                ..waiting
            };
            self.judge(level, packet)?;
        }
        self.put(packet);
        self.peak.note(self.bytes, now, line);
        Ok(())
    }

    /// What [`DataQueue::push`] and [`DataQueue::pop`] do to a packet that finds the port idle.
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
        self.peak.bytes()
    }

    /// The packet that is next.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.packets().next()
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

    #[inline(always)] // once per arrival
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
        Backlog::data(self.bytes)
    }

    fn peak(&self) -> Backlog {
        Backlog::data(self.peak.bytes())
    }

    fn forget_peak(&mut self, on_line: u64) {
        self.peak.forget(self.bytes + on_line);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::IDLE;
    use model::intent::{DropBy, DropMeasure, DropSpec, MarkSpec};
    use model::{Class, ConnId, Ecn, HostId};
    use units::Bytes;

    fn queue(spec: QueueSpec, limit: u64) -> DataQueue {
        DataQueue::new(&spec, limit, Rng::stream(1, 2, 3))
    }

    fn packet(class: Class, size: u16) -> Packet {
        let mut packet = Packet::new(HostId(1), ConnId(1), class, 0, size);
        packet.set_ecn(Ecn::Capable0);
        packet
    }

    /// So many bytes are left of the frame on the line at zero; 800 ps each.
    fn busy(bytes: u64) -> OnLine {
        OnLine {
            until: Time(800 * bytes),
            ..IDLE
        }
    }

    const NOW: Time = Time::ZERO;

    fn join(queue: &mut DataQueue, line: OnLine, size: u16) -> Verdict {
        let verdict = queue.enqueue(NOW, line, &mut packet(Class::Plain, size));
        Discipline::check(queue);
        verdict
    }

    #[test]
    fn bytes_and_packets_are_counted_in_and_out() {
        let mut queue = queue(QueueSpec::DATA, 3_000);
        let mut out = Packet::EMPTY;
        assert!(queue.is_empty() && queue.dequeue(NOW, &mut out) == Dequeue::Empty);
        for size in [1_000, 500, 700] {
            assert_eq!(join(&mut queue, IDLE, size), Verdict::Queued(0));
        }
        let full = Verdict::Dropped(DropReason::Full);
        assert_eq!(join(&mut queue, IDLE, 801), full);
        assert_eq!(
            join(&mut queue, busy(1), 800),
            full,
            "the frame on the line counts"
        );
        assert_eq!(join(&mut queue, IDLE, 800), Verdict::Queued(0));
        assert_eq!(
            (queue.bytes(), queue.held(), queue.is_empty()),
            (3_000, 3_000, false)
        );
        let backlog = Backlog::data(3_000);
        assert_eq!((queue.backlog(), queue.counts_line()), (backlog, true));
        assert_eq!(queue.waiting()[Class::Plain], 4);
        assert_eq!(
            queue.packets().map(|p| p.size).collect::<Vec<_>>(),
            [1_000, 500, 700, 800]
        );
        let left = [0; 5].map(|_| (queue.dequeue(NOW, &mut out), queue.bytes()));
        let (more, last) = (Dequeue::Packet, Dequeue::Last);
        let expected = [
            (more, 2_000),
            (more, 1_500),
            (more, 800),
            (last, 0),
            (Dequeue::Empty, 0),
        ];
        assert_eq!(left, expected);
    }

    #[test]
    fn the_peak_is_the_most_that_waited_with_the_frame_on_the_line() {
        let mut queue = queue(QueueSpec::DATA, 90_000);
        join(&mut queue, busy(300), 1_000);
        assert_eq!(queue.peak_bytes(), 1_300);
        join(&mut queue, IDLE, 200);
        assert_eq!(queue.peak_bytes(), 1_300, "1200 B are less");
        join(&mut queue, busy(101), 0);
        assert_eq!(queue.peak_bytes(), 1_301, "one byte more");
        let mut out = Packet::EMPTY;
        while queue.pop(&mut out) {}
        assert_eq!(queue.peak().data_bytes, 1_301, "it stays");
        queue.forget_peak(7);
        assert_eq!(queue.peak().data_bytes, 7);
        // A packet that passes an idle port was the whole queue for a moment.
        assert!(Discipline::pass(
            &mut queue,
            NOW,
            &mut packet(Class::Plain, 900)
        ));
        assert_eq!((queue.peak_bytes(), queue.bytes()), (900, 0));
        join(&mut queue, busy(900), 100);
        assert_eq!(queue.peak_bytes(), 1_000);
        queue.forget_peak(50);
        assert_eq!(queue.peak_bytes(), 150);
        queue.forget_peak(84);
        assert_eq!(queue.peak_bytes(), 150, "84 B on the line are of no packet");
    }

    #[test]
    fn the_peak_is_exact_on_lines_of_any_rate() {
        // 800 ps a byte, and 2666.67.
        for rate in [units::Rate::gbps(10), units::Rate::gbps(3)] {
            let line = units::LineTime::new(rate);
            let (mut queue, mut most, mut out) =
                (queue(QueueSpec::DATA, 900_000), 0, Packet::EMPTY);
            for round in 0..200u64 {
                let until = Time(round * 7_919 % 4_099);
                let size = 64 + u16::try_from(round * 97 % 1_400).expect("a frame");
                join(&mut queue, OnLine { until, line }, size);
                most = most.max(queue.bytes() + line.bytes(until.since(NOW)));
                assert_eq!(queue.peak_bytes(), most, "{rate:?} in round {round}");
                while queue.bytes() > round * 31 % 3_000 && queue.pop(&mut out) {}
            }
            assert!(most > 3_000);
        }
    }

    #[test]
    fn victims_are_counted_in_and_out() {
        let drop = Some(DropSpec {
            victim: Class::Unscheduled,
            threshold: Bytes(1_000),
            measure: DropMeasure::VictimOnly,
            by: DropBy::Class,
        });
        let mut queue = queue(
            QueueSpec {
                drop,
                ..QueueSpec::DATA
            },
            90_000,
        );
        let offer = |queue: &mut DataQueue, class, size| {
            queue.enqueue(NOW, IDLE, &mut packet(class, size)) == Verdict::Queued(0)
        };
        assert!(
            offer(&mut queue, Class::Plain, 1_500) && offer(&mut queue, Class::Unscheduled, 999)
        );
        assert!(
            offer(&mut queue, Class::Unscheduled, 500),
            "999 B are below the threshold"
        );
        assert!(!offer(&mut queue, Class::Unscheduled, 84) && offer(&mut queue, Class::Plain, 84));
        let mut out = Packet::EMPTY;
        assert!(queue.pop(&mut out) && !offer(&mut queue, Class::Unscheduled, 84));
        assert!(queue.pop(&mut out) && offer(&mut queue, Class::Unscheduled, 84));
        assert_eq!(queue.victims, 584);
        let waiting = queue.waiting();
        assert_eq!((waiting[Class::Unscheduled], waiting[Class::Plain]), (2, 1));
    }

    #[test]
    fn what_is_marked_late_sees_the_queue_that_it_leaves_with_itself() {
        let mark = |at| MarkSpec {
            min: Bytes(2_000),
            max: Bytes(2_000),
            chance: 1.0,
            at,
            drop_others: false,
        };
        for (at, marks) in [
            (MarkAt::Enqueue, [false, false, true]),
            (MarkAt::Dequeue, [true, true, false]),
        ] {
            let spec = QueueSpec {
                mark: Some(mark(at)),
                ..QueueSpec::DATA
            };
            let mut queue = queue(spec, 90_000);
            // Neither form of marking lets a packet pass where it could have to be marked.
            let passes = Discipline::pass(&mut queue, NOW, &mut packet(Class::Plain, 84));
            assert_eq!(passes, at == MarkAt::Enqueue);
            for _ in 0..3 {
                join(&mut queue, IDLE, 1_000);
            }
            let mut out = Packet::EMPTY;
            let marked = [0; 3].map(|_| queue.pop(&mut out) && out.ecn() == Ecn::Marked);
            assert_eq!(marked, marks, "{at:?}");
            let count = marks.iter().filter(|&&mark| mark).count() as u64;
            assert_eq!(Discipline::marked(&queue), count);
        }
    }

    #[test]
    fn what_an_empty_queue_would_drop_or_mark_does_not_pass_unseen() {
        let mut small = queue(QueueSpec::DATA, 1_000);
        let pass = |queue: &mut DataQueue, size| {
            Discipline::pass(queue, NOW, &mut packet(Class::Plain, size))
        };
        assert!(pass(&mut small, 1_000) && !pass(&mut small, 1_001));
        assert_eq!(small.peak_bytes(), 1_000, "what does not pass is no queue");
        let mark = Some(MarkSpec {
            min: Bytes(0),
            max: Bytes(0),
            chance: 1.0,
            at: MarkAt::Enqueue,
            drop_others: true,
        });
        let mut marking = queue(
            QueueSpec {
                mark,
                ..QueueSpec::DATA
            },
            90_000,
        );
        let mut capable = packet(Class::Plain, 84);
        assert!(Discipline::pass(&mut marking, NOW, &mut capable));
        assert_eq!((capable.ecn(), marking.marked()), (Ecn::Marked, 1));
        let mut other = packet(Class::Plain, 84);
        other.set_ecn(Ecn::NotCapable);
        assert!(!Discipline::pass(&mut marking, NOW, &mut other));
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut DataQueue); 2] = [
            |queue| queue.bytes += 1,
            |queue| queue.admission = Admission::new(&QueueSpec::DATA, 999, Rng::stream(1, 2, 3)),
        ];
        for spoil in breaks {
            let mut queue = queue(QueueSpec::DATA, 5_000);
            join(&mut queue, IDLE, 1_000);
            spoil(&mut queue);
            assert!(std::panic::catch_unwind(|| Discipline::check(&queue)).is_err());
        }
    }
}
