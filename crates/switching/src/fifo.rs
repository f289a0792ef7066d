//! Admission to a queue, and the first-in first-out port that keeps no packets.

use crate::selective::{Decision, Selective};
use model::intent::{DropMeasure, MarkAt, MarkSpec, PortSpec};
use model::{DropReason, Ecn, Packet, Rng};

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

impl Admission {
    /// The rules of `spec`.
    pub fn new(spec: &PortSpec, rng: Rng) -> Self {
        let limit = spec.buffer.get();
        let mut quiet_below = limit.saturating_sub(u64::from(u16::MAX));
        if let Some(mark) = spec.mark {
            quiet_below = quiet_below.min(mark.min.get());
        }
        if let Some(drop) = spec.drop {
            // `QueueAndPacket` looks one packet ahead.
            let ahead =
                u64::from(u16::MAX) * u64::from(drop.measure == DropMeasure::QueueAndPacket);
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

    /// Judges `packet` against `waiting` bytes, of which `victims` are of what is dropped first. Marks
    /// it where it must be.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn judge(
        &mut self,
        waiting: u64,
        victims: u64,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        self.judge_beside(waiting, victims, 0, packet)
    }

    /// The same in a port where `elsewhere` bytes wait in other queues.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn judge_beside(
        &mut self,
        waiting: u64,
        victims: u64,
        elsewhere: u64,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if waiting < self.quiet_below {
            Ok(())
        } else {
            self.judge_closely(waiting, victims, elsewhere, packet)
        }
    }

    fn judge_closely(
        &mut self,
        waiting: u64,
        victims: u64,
        elsewhere: u64,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let size = u64::from(packet.size);
        if waiting + size > self.limit {
            return Err(DropReason::Full);
        }
        if let Some((measure, selective)) = self.drop {
            let measured = match measure {
                DropMeasure::Queue => waiting,
                // Above the threshold, not at it: the packet that fills it exactly still fits.
                DropMeasure::QueueAndPacket => (waiting + size).saturating_sub(1),
                DropMeasure::VictimOnly => victims,
                DropMeasure::Port => waiting + elsewhere,
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

    /// Marks `packet` on its way out, if marking is set to look then.
    pub fn mark_leaving(&mut self, waiting: u64, packet: &mut Packet) {
        // What leaves is not dropped any more: a switch that marks late cannot.
        let _ = self.mark_by(waiting, packet);
    }

    /// Below this many waiting bytes [`Admission::judge`] admits everything unmarked.
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

/// A first-in first-out port: when a packet arrives, its departure is known, so nothing is kept.
///
/// Its queue is time: what waits is what the line still needs, the frame on it included.
#[derive(Clone, Debug)]
pub struct Fifo {
    /// Who may join.
    pub admission: Admission,
}

impl Fifo {
    /// The port that `spec` asks for.
    pub fn new(spec: &PortSpec, rng: Rng) -> Self {
        Self {
            admission: Admission::new(spec, rng),
        }
    }
}
