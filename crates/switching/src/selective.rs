//! Dropping one class first, with what switches have: WRED by colour, or RED with ECN. [aeolus s4.1]
//!
//! Both compare the queue of the moment, not its average (weight 1), with equal lower and upper
//! thresholds, and so decide alike: they drop a packet that is not protected when `threshold` bytes or
//! more are waiting.

use model::intent::{DropBy, DropSpec};
use model::{ByClass, Class, Ecn, Packet};

/// What WRED tells packets apart by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Colour {
    /// Limited by the buffer alone.
    Green = 0,
    /// Dropped from the threshold on.
    Yellow = 1,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It may wait.
    Admit,
    /// It may wait, marked as having met congestion.
    Mark,
    /// It is dropped.
    Drop,
}

/// One of the two profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selective {
    /// `wred`: an access list gives every DSCP, hence every class, a colour; each colour has its
    /// threshold, lower and upper alike.
    Wred {
        /// The colour of each class, in the order of its number.
        colours: ByClass<Colour>,
        /// The threshold of each colour, in bytes; green has that of the buffer.
        thresholds: [u64; 2],
    },
    /// `red-ecn`: one queue with RED and ECN. Hosts make ECN-capable what is to be protected.
    RedEcn {
        /// Lower and upper threshold, in bytes.
        threshold: u64,
    },
}

impl Selective {
    /// The profile of `spec` in a buffer of `limit` bytes.
    pub fn new(spec: &DropSpec, limit: u64) -> Self {
        let threshold = spec.threshold.get();
        match spec.by {
            DropBy::Class => Self::Wred {
                colours: ByClass::from_fn(|class| {
                    if class == spec.victim {
                        Colour::Yellow
                    } else {
                        Colour::Green
                    }
                }),
                thresholds: [limit, threshold],
            },
            DropBy::Ecn => Self::RedEcn { threshold },
        }
    }

    /// Whether it would drop `packet` from the threshold on: all that it can see.
    #[inline]
    pub fn is_victim(&self, packet: &Packet) -> bool {
        match self {
            Self::Wred { colours, .. } => colours[packet.class()] == Colour::Yellow,
            // The switch sees the two bits, not who set them. Credits have their own queue.
            Self::RedEcn { .. } => {
                packet.ecn() == Ecn::NotCapable && packet.class() != Class::Credit
            }
        }
    }

    /// What becomes of `packet` where `measured` bytes wait.
    #[inline]
    pub fn decide(&self, measured: u64, packet: &Packet) -> Decision {
        match self {
            Self::Wred {
                colours,
                thresholds,
            } => {
                let colour = colours[packet.class()];
                if colour == Colour::Yellow && measured >= thresholds[colour as usize] {
                    Decision::Drop
                } else {
                    // Green is dropped by the full buffer, which is not this rule's to find.
                    Decision::Admit
                }
            }
            Self::RedEcn { threshold } if measured < *threshold => Decision::Admit,
            Self::RedEcn { .. } if self.is_victim(packet) => Decision::Drop,
            Self::RedEcn { .. } if packet.class() == Class::Credit => Decision::Admit,
            Self::RedEcn { .. } => Decision::Mark,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::{Discipline, IDLE};
    use crate::{DataQueue, StrictPriority, Verdict};
    use model::intent::{DropMeasure, QueueSpec};
    use model::{ConnId, DropReason, HostId, Rng, stream};
    use units::{Bytes, Time};

    /// Four full frames: the papers' 6 KB.
    const K: u64 = 4 * 1538;
    const BUFFER: u64 = 40_000;

    fn spec(by: DropBy, measure: DropMeasure) -> QueueSpec {
        QueueSpec {
            drop: Some(DropSpec {
                victim: Class::Unscheduled,
                threshold: Bytes(K),
                measure,
                by,
            }),
            ..QueueSpec::DATA
        }
    }

    /// As hosts send it: what is to be protected is ECN-capable.
    fn packet(class: Class, size: u16) -> Packet {
        let mut packet = Packet::new(HostId(1), ConnId(1), class, 0, size);
        if class != Class::Unscheduled {
            packet.set_ecn(Ecn::Capable0);
        }
        packet
    }

    fn queue(by: DropBy, measure: DropMeasure) -> DataQueue {
        DataQueue::new(&spec(by, measure), BUFFER, Rng::stream(1, stream::TEST, 3))
    }

    const SELECTIVE: Result<(), DropReason> = Err(DropReason::Selective);

    fn push(queue: &mut DataQueue, mut packet: Packet) -> Result<(), DropReason> {
        queue.push(Time::ZERO, IDLE, &mut packet)
    }

    #[test]
    fn both_profiles_decide_as_the_rule_does_whatever_comes() {
        for by in [DropBy::Class, DropBy::Ecn] {
            let mut queue = queue(by, DropMeasure::Queue);
            let mut rng = Rng::stream(1, stream::TEST, 11);
            let (mut out, mut seen) = (Packet::EMPTY, [0; 3]);
            for _ in 0..100_000 {
                if rng.below(5) < 2 {
                    queue.pop(&mut out);
                    continue;
                }
                let classes = [Class::Control, Class::Scheduled, Class::Unscheduled];
                let class = classes[usize::try_from(rng.below(3)).unwrap()];
                let size = u16::try_from(rng.between(84, 1538)).unwrap();
                let waiting = queue.bytes();
                let expected = if waiting + u64::from(size) > BUFFER {
                    Err(DropReason::Full)
                } else if class == Class::Unscheduled && waiting >= K {
                    SELECTIVE
                } else {
                    Ok(())
                };
                let verdict = push(&mut queue, packet(class, size));
                assert_eq!(verdict, expected, "{by:?}, {class:?} behind {waiting} B");
                seen[match verdict {
                    Ok(()) => 0,
                    SELECTIVE => 1,
                    _ => 2,
                }] += 1;
            }
            assert!(seen.iter().all(|&n| n > 1_000), "{by:?}: {seen:?}");
        }
    }

    /// How many of so many full frames wait, with nothing of the victim class before and then so many
    /// bytes of protected packets.
    fn admitted(by: DropBy, measure: DropMeasure, protected: u64) -> usize {
        let mut queue = queue(by, measure);
        for _ in 0..protected {
            assert_eq!(push(&mut queue, packet(Class::Scheduled, 1538)), Ok(()));
        }
        let verdicts = (0..9).map(|_| push(&mut queue, packet(Class::Unscheduled, 1538)));
        verdicts.filter(|verdict| *verdict == Ok(())).count()
    }

    #[test]
    fn six_kilobytes_are_four_full_frames_under_both_profiles() {
        for by in [DropBy::Class, DropBy::Ecn] {
            assert_eq!(admitted(by, DropMeasure::Queue, 0), 4, "{by:?}");
            assert_eq!(admitted(by, DropMeasure::Queue, 3), 1, "{by:?}");
        }
    }

    #[test]
    fn measured_with_the_packet_what_fills_the_threshold_exactly_still_fits() {
        for by in [DropBy::Class, DropBy::Ecn] {
            assert_eq!(admitted(by, DropMeasure::QueueAndPacket, 0), 4, "{by:?}");
            let mut queue = queue(by, DropMeasure::QueueAndPacket);
            for _ in 0..3 {
                assert!(push(&mut queue, packet(Class::Unscheduled, 1538)).is_ok());
            }
            assert!(push(&mut queue, packet(Class::Scheduled, 84)).is_ok());
            assert_eq!(
                push(&mut queue, packet(Class::Unscheduled, 1538)),
                SELECTIVE
            );
            assert_eq!(push(&mut queue, packet(Class::Unscheduled, 1454)), Ok(()));
        }
    }

    #[test]
    fn measured_by_the_victims_alone_others_leave_them_their_room() {
        for by in [DropBy::Class, DropBy::Ecn] {
            assert_eq!(admitted(by, DropMeasure::VictimOnly, 10), 4, "{by:?}");
        }
    }

    #[test]
    fn measured_by_the_port_every_queue_counts_and_by_the_queue_its_own_alone() {
        for (measure, expected) in [
            (DropMeasure::Queue, Verdict::Queued(1)),
            (DropMeasure::Port, Verdict::Dropped(DropReason::Selective)),
        ] {
            let specs = [spec(DropBy::Class, measure); 2];
            let mut port: StrictPriority =
                StrictPriority::new(&specs, BUFFER, &Rng::stream(1, stream::TEST, 3));
            for _ in 0..4 {
                let verdict = port.enqueue(Time::ZERO, IDLE, &mut packet(Class::Scheduled, 1538));
                assert_eq!(verdict, Verdict::Queued(0));
            }
            let mut late = packet(Class::Unscheduled, 84);
            late.set_priority(1);
            let verdict = port.enqueue(Time::ZERO, IDLE, &mut late);
            assert_eq!(verdict, expected, "{measure:?}");
        }
    }

    #[test]
    fn red_marks_what_it_protects_and_wred_does_not() {
        for (by, expected) in [(DropBy::Class, 0), (DropBy::Ecn, 2)] {
            let mut queue = queue(by, DropMeasure::Queue);
            for _ in 0..6 {
                assert!(push(&mut queue, packet(Class::Scheduled, 1538)).is_ok());
            }
            assert_eq!(queue.marked(), expected, "{by:?}");
        }
    }

    #[test]
    fn what_clears_the_ecn_bits_has_red_drop_the_wrong_packets() {
        let mut queue = queue(DropBy::Ecn, DropMeasure::Queue);
        for _ in 0..4 {
            assert!(push(&mut queue, packet(Class::Scheduled, 1538)).is_ok());
        }
        let mut bleached = packet(Class::Scheduled, 84);
        bleached.set_ecn(Ecn::NotCapable);
        assert_eq!(push(&mut queue, bleached), SELECTIVE);
    }

    #[test]
    fn credits_are_no_victims_and_are_not_marked() {
        for by in [DropBy::Class, DropBy::Ecn] {
            let spec = spec(by, DropMeasure::Queue).drop.unwrap();
            let selective = Selective::new(&spec, BUFFER);
            let mut credit = packet(Class::Credit, 84);
            credit.set_ecn(Ecn::NotCapable);
            assert!(!selective.is_victim(&credit), "{by:?}");
            assert_eq!(selective.decide(K, &credit), Decision::Admit, "{by:?}");
            let victim = packet(Class::Unscheduled, 84);
            assert!(
                selective.is_victim(&victim) && !selective.is_victim(&packet(Class::Scheduled, 84))
            );
            assert_eq!(selective.decide(K - 1, &victim), Decision::Admit, "{by:?}");
            assert_eq!(selective.decide(K, &victim), Decision::Drop, "{by:?}");
        }
    }
}
