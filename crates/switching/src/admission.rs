//! Admission to a queue, and marking.

use crate::selective::{Decision, Selective};
use model::intent::{DropMeasure, MarkAt, MarkSpec, QueueSpec};
use model::{DropReason, Ecn, Packet, Rng};

/// A frame is never larger: a queue may look that many bytes fuller with the frame on the line.
pub(crate) const FRAME_MOST: u64 = u16::MAX as u64;

/// Whether a packet may join a queue, and whether it is marked for it.
#[derive(Clone, Debug)]
pub struct Admission {
    limit: u64,
    /// Below this many waiting bytes every packet is admitted unmarked: the common case.
    quiet_below: u64,
    mark: Option<MarkSpec>,
    drop: Option<(DropMeasure, Selective)>,
    marks_entering: bool,
    rng: Rng,
    marked: u64,
}

/// What a queue holds when a packet comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    /// Bytes in it, with what is left of a frame of its own on the line.
    pub queue: u64,
    /// Of those that wait, bytes of what is dropped first.
    pub victims: u64,
    /// Bytes in other queues of the port.
    pub elsewhere: u64,
}

impl Admission {
    /// The rules of `spec` where `limit` bytes have room.
    pub fn new(spec: &QueueSpec, limit: u64, rng: Rng) -> Self {
        let mut quiet_below = limit.saturating_sub(FRAME_MOST);
        if let Some(mark) = spec.mark {
            quiet_below = quiet_below.min(mark.min.get());
        }
        if let Some(drop) = spec.drop {
            // `QueueAndPacket` looks one packet ahead.
            let ahead = FRAME_MOST * u64::from(drop.measure == DropMeasure::QueueAndPacket);
            quiet_below = quiet_below.min(drop.threshold.get().saturating_sub(ahead));
            if drop.measure == DropMeasure::Port {
                quiet_below = 0; // other queues may be full while this one is empty
            }
        }
        Self {
            limit,
            quiet_below,
            mark: spec.mark,
            drop: spec
                .drop
                .map(|drop| (drop.measure, Selective::new(&drop, limit))),
            marks_entering: spec.mark.is_some_and(|mark| mark.at == MarkAt::Enqueue),
            rng,
            marked: 0,
        }
    }

    /// Judges `packet` before a queue of `waiting` bytes, and at most `line_most` on the line. `level` is asked where
    /// that is not below every threshold. Marks the packet where it must be.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn judge(
        &mut self,
        waiting: u64,
        line_most: u64,
        level: impl FnOnce() -> Level,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if waiting + line_most < self.quiet_below {
            Ok(())
        } else {
            self.judge_closely(level(), packet)
        }
    }

    /// The same where `level` is known.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn judge_closely(&mut self, level: Level, packet: &mut Packet) -> Result<(), DropReason> {
        let (waiting, size) = (level.queue, u64::from(packet.size));
        if waiting + size > self.limit {
            return Err(DropReason::Full);
        }
        if let Some((measure, selective)) = self.drop {
            let measured = match measure {
                DropMeasure::Queue => waiting,
                // Above the threshold, not at it: the packet that fills it exactly still fits.
                DropMeasure::QueueAndPacket => (waiting + size).saturating_sub(1),
                DropMeasure::VictimOnly => level.victims,
                DropMeasure::Port => waiting + level.elsewhere,
            };
            match selective.decide(measured, packet) {
                Decision::Admit => {}
                Decision::Mark => {
                    packet.set_ecn(Ecn::Marked);
                    self.marked += 1;
                    return Ok(()); // marked and counted once
                }
                Decision::Drop => return Err(DropReason::Selective),
            }
        }
        if self.marks_entering {
            self.mark_by(waiting, packet)
        } else {
            Ok(())
        }
    }

    /// Whether `packet` may join where nothing waits and the line is idle; marks it where it must be. False has no
    /// effect.
    #[inline]
    pub(crate) fn judge_alone(&mut self, packet: &mut Packet) -> bool {
        if self.quiet_below > 0 {
            return true;
        }
        if self.mark.is_none() && self.drop.is_none() {
            return u64::from(packet.size) <= self.limit;
        }
        self.judge_alone_closely(packet)
    }

    #[cold]
    #[inline(never)]
    fn judge_alone_closely(&mut self, packet: &mut Packet) -> bool {
        let mut judged = *packet;
        let admitted = self.judge_closely(Level::default(), &mut judged).is_ok();
        if admitted {
            *packet = judged;
        }
        admitted
    }

    /// Whether `packet` is of what is dropped first, as far as the port can tell.
    #[inline]
    pub fn is_victim(&self, packet: &Packet) -> bool {
        self.drop
            .is_some_and(|(_, selective)| selective.is_victim(packet))
    }

    /// Marks `packet`, or drops it where only ECN-capable packets are marked, by queue length.
    fn mark_by(&mut self, waiting: u64, packet: &mut Packet) -> Result<(), DropReason> {
        let Some(mark) = self.mark else { return Ok(()) };
        let (min, max) = (mark.min.get(), mark.max.get());
        if waiting < min {
            return Ok(());
        }
        let certain = waiting >= max;
        if !certain {
            let chance = mark.chance * (waiting - min) as f64 / (max - min) as f64;
            if self.rng.unit() >= chance {
                return Ok(());
            }
        }
        if packet.ecn() != Ecn::NotCapable {
            packet.set_ecn(Ecn::Marked);
            self.marked += 1;
        } else if mark.drop_others {
            return Err(DropReason::Early);
        }
        Ok(())
    }

    /// Marks `packet` on its way out of a queue of `waiting` bytes, if marking is set to look then.
    pub fn mark_leaving(&mut self, waiting: u64, packet: &mut Packet) {
        // What leaves is not dropped any more: a switch that marks late cannot.
        let _ = self.mark_by(waiting, packet);
    }

    /// Below this many bytes, the frame on the line included, every packet is admitted unmarked.
    pub fn quiet_below(&self) -> u64 {
        self.quiet_below
    }

    /// Packets marked so far.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Most bytes that may wait.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::intent::{DropBy, DropSpec};
    use model::{Class, ConnId, HostId, stream};
    use units::Bytes;

    const LIMIT: u64 = 200_000;

    fn mark(min: u64, max: u64, chance: f64, drop_others: bool) -> MarkSpec {
        MarkSpec {
            min: Bytes(min),
            max: Bytes(max),
            chance,
            at: MarkAt::Enqueue,
            drop_others,
        }
    }

    fn admission(change: impl FnOnce(&mut QueueSpec)) -> Admission {
        let mut spec = QueueSpec::DATA;
        change(&mut spec);
        Admission::new(&spec, LIMIT, Rng::stream(1, stream::TEST, 1))
    }

    fn packet(size: u16, ecn: Ecn) -> Packet {
        let mut packet = Packet::new(HostId(0), ConnId(0), Class::Unscheduled, 0, size);
        packet.set_ecn(ecn);
        packet
    }

    fn dropping(measure: DropMeasure, threshold: u64) -> DropSpec {
        DropSpec {
            victim: Class::Unscheduled,
            threshold: Bytes(threshold),
            measure,
            by: DropBy::Class,
        }
    }

    #[test]
    fn a_queue_is_quiet_below_the_lowest_of_its_thresholds() {
        let quiet = |change: fn(&mut QueueSpec)| admission(change).quiet_below();
        assert_eq!(quiet(|_| {}), LIMIT - 65_535);
        assert_eq!(
            quiet(|q| q.mark = Some(mark(5_000, 9_000, 1.0, true))),
            5_000
        );
        assert_eq!(
            quiet(|q| q.drop = Some(dropping(DropMeasure::Queue, 6_000))),
            6_000
        );
        assert_eq!(
            quiet(|q| q.drop = Some(dropping(DropMeasure::VictimOnly, 6_000))),
            6_000
        );
        assert_eq!(
            quiet(|q| q.drop = Some(dropping(DropMeasure::QueueAndPacket, 6_000))),
            0
        );
        assert_eq!(
            quiet(|q| q.drop = Some(dropping(DropMeasure::QueueAndPacket, 65_545))),
            10
        );
        assert_eq!(
            quiet(|q| q.drop = Some(dropping(DropMeasure::Port, 99_000))),
            0
        );
        let small = Admission::new(&QueueSpec::DATA, 9_000, Rng::stream(1, stream::TEST, 1));
        assert_eq!((small.quiet_below(), small.limit()), (0, 9_000));
    }

    #[test]
    fn the_queue_is_looked_at_closely_as_soon_as_a_frame_might_reach_a_threshold() {
        let mut admission = admission(|_| {});
        let quiet = admission.quiet_below();
        let mut packet = packet(1_000, Ecn::Capable0);
        for (waiting, asked) in [
            (0, false),
            (quiet - 65_536, false),
            (quiet - 65_535, true),
            (quiet, true),
        ] {
            let mut looked = false;
            let level = || {
                looked = true;
                Level::default()
            };
            assert_eq!(
                admission.judge(waiting, FRAME_MOST, level, &mut packet),
                Ok(())
            );
            assert_eq!(looked, asked, "{waiting} B");
        }
    }

    #[test]
    fn the_limit_is_reached_and_not_exceeded() {
        let mut admission = admission(|_| {});
        let mut judge = |queue| {
            let level = Level {
                queue,
                ..Level::default()
            };
            admission.judge_closely(level, &mut packet(1_000, Ecn::Capable0))
        };
        assert_eq!(judge(LIMIT - 1_000), Ok(()));
        assert_eq!(judge(LIMIT - 999), Err(DropReason::Full));
        // Bytes of other queues are the port's to judge.
        let level = Level {
            elsewhere: LIMIT,
            victims: LIMIT,
            queue: 0,
        };
        assert_eq!(
            admission.judge_closely(level, &mut packet(1_000, Ecn::Capable0)),
            Ok(())
        );
        assert_eq!(admission.marked(), 0);
    }

    /// Of 10,000 packets that find `waiting` bytes: how many are marked, and how many dropped.
    fn fates(spec: MarkSpec, waiting: u64, ecn: Ecn) -> (u64, u64) {
        let mut admission = admission(|queue| queue.mark = Some(spec));
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..10_000 {
            let mut packet = packet(1_000, ecn);
            let level = Level {
                queue: waiting,
                ..Level::default()
            };
            match admission.judge_closely(level, &mut packet) {
                Ok(()) => marked += u64::from(packet.ecn() == Ecn::Marked && ecn != Ecn::Marked),
                Err(reason) => {
                    assert_eq!(reason, DropReason::Early);
                    dropped += 1;
                }
            }
        }
        assert_eq!(admission.marked(), marked);
        (marked, dropped)
    }

    #[test]
    fn between_two_thresholds_the_chance_of_a_mark_grows_with_the_queue() {
        let red = mark(10_000, 30_000, 0.5, false);
        let capable = |waiting| fates(red, waiting, Ecn::Capable0).0;
        assert_eq!([0, 9_999, 10_000].map(capable), [0; 3]);
        for (waiting, expected) in [(15_000, 1_250), (20_000, 2_500), (29_999, 5_000)] {
            let marked = capable(waiting);
            assert!(
                marked.abs_diff(expected) < 200,
                "{waiting} B: {marked} of 10,000"
            );
        }
        assert_eq!((capable(30_000), capable(90_000)), (10_000, 10_000));
        // One threshold for both: all or nothing.
        let step = mark(20_000, 20_000, 1.0, false);
        let marked = |waiting| fates(step, waiting, Ecn::Capable1).0;
        assert_eq!((marked(19_999), marked(20_000)), (0, 10_000));
    }

    #[test]
    fn what_cannot_be_marked_is_dropped_where_that_is_asked_for() {
        for (drop_others, dropped) in [(false, 0), (true, 10_000)] {
            let step = mark(20_000, 20_000, 1.0, drop_others);
            assert_eq!(fates(step, 20_000, Ecn::NotCapable), (0, dropped));
            assert_eq!(fates(step, 19_999, Ecn::NotCapable), (0, 0));
        }
    }

    #[test]
    fn what_leaves_is_marked_and_never_dropped() {
        let late = MarkSpec {
            at: MarkAt::Dequeue,
            ..mark(5_000, 5_000, 1.0, true)
        };
        let mut admission = admission(|queue| queue.mark = Some(late));
        let level = Level {
            queue: 9_000,
            ..Level::default()
        };
        let mut entering = packet(1_000, Ecn::Capable0);
        assert_eq!(admission.judge_closely(level, &mut entering), Ok(()));
        assert_eq!(
            entering.ecn(),
            Ecn::Capable0,
            "it is not marked when it comes"
        );
        for (waiting, ecn, left) in [
            (4_999, Ecn::Capable0, Ecn::Capable0),
            (5_000, Ecn::Capable0, Ecn::Marked),
            (5_000, Ecn::NotCapable, Ecn::NotCapable),
        ] {
            let mut leaving = packet(1_000, ecn);
            admission.mark_leaving(waiting, &mut leaving);
            assert_eq!(leaving.ecn(), left, "{waiting} B");
        }
        assert_eq!(admission.marked(), 1);
        admission.mark = None;
        admission.mark_leaving(9_000, &mut entering);
        assert_eq!((entering.ecn(), admission.marked()), (Ecn::Capable0, 1));
    }

    #[test]
    fn each_measure_counts_what_it_says() {
        let level = Level {
            queue: 3_000,
            victims: 2_000,
            elsewhere: 4_000,
        };
        let measured = |measure, threshold| {
            let mut admission = admission(|queue| queue.drop = Some(dropping(measure, threshold)));
            admission.judge_closely(level, &mut packet(500, Ecn::NotCapable))
        };
        for (measure, bytes) in [
            (DropMeasure::Queue, 3_000),
            (DropMeasure::QueueAndPacket, 3_499),
            (DropMeasure::VictimOnly, 2_000),
            (DropMeasure::Port, 7_000),
        ] {
            let selective = Err(DropReason::Selective);
            assert_eq!(measured(measure, bytes), selective, "{measure:?}");
            assert_eq!(measured(measure, bytes + 1), Ok(()), "{measure:?}");
        }
        let admission = admission(|queue| queue.drop = Some(dropping(DropMeasure::Queue, 1)));
        assert!(admission.is_victim(&packet(84, Ecn::Capable0)));
        let plain = Packet::new(HostId(0), ConnId(0), Class::Plain, 0, 84);
        assert!(!admission.is_victim(&plain));
    }
}
