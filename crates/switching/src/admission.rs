//! Admission to a queue, and marking.

use crate::selective::{Decision, Selective};
use model::intent::{DropMeasure, MarkAt, MarkSpec, QueueSpec};
use model::{DropReason, Ecn, Packet, Rng};

/// A frame is never larger: a queue may look that many bytes fuller with the frame on the line.
const FRAME_MOST: u64 = u16::MAX as u64;

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

    /// Judges `packet` before a queue of `waiting` bytes. `level` is asked where that is not far below
    /// every threshold. Marks the packet where it must be.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn judge(
        &mut self,
        waiting: u64,
        level: impl FnOnce() -> Level,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if waiting + FRAME_MOST < self.quiet_below {
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
