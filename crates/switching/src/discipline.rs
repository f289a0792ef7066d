//! What every form of a port has in common.

use crate::queues::Spilled;
use model::intent::CreditSpec;
use model::{ByClass, ConnId, DropReason, Packet};
use units::{LineTime, Time};

/// What keeps packets of one egress port, and says which leaves.
///
/// A discipline is a pure function of its state and the `now` it is given: called late with an
/// old `now`, it does what it would have done on time. Token buckets advance in calls alone, in
/// exact integers.
pub trait Discipline {
    /// A packet has arrived for this port. May mark or trim `packet` before it keeps a copy.
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict;

    /// The line is idle and nothing waits: may `packet` leave at once? Has the effect of
    /// [`Discipline::enqueue`] followed by [`Discipline::dequeue`]; false has no effect at all.
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool;

    /// The line is idle at `now`: writes what leaves into `out`.
    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue;

    /// What waits, the frame on the line left out.
    fn backlog(&self) -> Backlog;

    /// The most that ever waited, as [`Port::backlog`](crate::Port::backlog) counts it.
    fn peak(&self) -> Backlog;

    /// From now on the most that waited is what waits now and what comes later. `on_line` bytes of the
    /// queue are on the line.
    fn forget_peak(&mut self, on_line: u64);

    /// Bytes that take room in a switch's memory, the frame on the line left out.
    fn held(&self) -> u64;

    /// Whether the frame that left last counts as part of the port's queue while it is on the line.
    fn counts_line(&self) -> bool;

    /// Whether packets had to make room for one that came.
    #[inline]
    fn has_spilled(&self) -> bool {
        false
    }

    /// A packet that had to make room since the last call, with what becomes of it.
    fn spilled(&mut self) -> Option<(Packet, Spilled)> {
        None
    }

    /// Packets that wait, by class: the conservation check counts them.
    fn waiting(&self) -> ByClass<u64>;

    /// Packets marked so far.
    fn marked(&self) -> u64;

    /// Panics where an invariant of our own state is broken.
    fn check(&self);
}

/// What is left of the frame on the line, worked out where somebody must know.
#[derive(Clone, Copy, Debug)]
pub struct OnLine {
    /// When the line is idle again.
    pub until: Time,
    /// How long it takes for a byte.
    pub line: LineTime,
}

impl OnLine {
    /// Bytes of it at `now`, rounded up.
    #[inline]
    pub fn bytes(&self, now: Time) -> u64 {
        self.line.bytes(self.until.since(now))
    }

    /// Whether that is more than `bytes`, without a division.
    #[inline]
    pub fn exceeds(&self, now: Time, bytes: u64) -> bool {
        self.line.exceeds(self.until.since(now), bytes)
    }

    /// Whether fewer than `most` bytes are of it and of `waiting` that wait.
    #[inline(always)] // once per queued packet
    pub(crate) fn keeps_below(&self, now: Time, waiting: u64, most: u64) -> bool {
        waiting < most && !self.exceeds(now, most - 1 - waiting)
    }

    /// The same line, with nothing on it unless `counts`.
    #[inline]
    pub(crate) fn only(self, counts: bool) -> Self {
        Self {
            until: if counts { self.until } else { Time::ZERO },
            ..self
        }
    }
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waits, in the queue of this number.
    Queued(u8),
    /// It was dropped.
    Dropped(DropReason),
    /// It goes back to its sender.
    Bounced,
}

/// What [`Discipline::dequeue`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dequeue {
    /// A packet leaves and others wait.
    Packet,
    /// A packet leaves and others wait, none of which may leave before this moment. An earlier
    /// arrival asks again.
    Then(Time),
    /// A packet leaves and nothing else waits.
    Last,
    /// Something waits that may not leave before this moment. An earlier arrival asks again.
    Wait(Time),
    /// Something waits, and gates alone keep it: an arrival or a gate that opens asks again.
    Held,
    /// Nothing waits.
    Empty,
}

/// What waits in a port.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// Bytes of everything but credits.
    pub data_bytes: u64,
    /// Number of credits.
    pub credits: u32,
}

impl Backlog {
    /// So many bytes, and no credits.
    #[inline]
    pub const fn data(bytes: u64) -> Self {
        Self {
            data_bytes: bytes,
            credits: 0,
        }
    }
}

/// What a flow control opens and closes at an egress port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gate {
    /// What it is before.
    pub of: GateOf,
    /// Whether packets may leave through it.
    pub state: GateState,
}

/// What a gate is before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GateOf {
    /// The queue of this number.
    Queue(u8),
    /// Every queue that packets of this priority come to. In one that takes several priorities it keeps what is first and has
    /// this one.
    Priority(u8),
    /// One connection, where connections have queues of their own.
    Flow(ConnId),
}

/// Whether packets may leave through a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateState {
    /// Any number.
    Open,
    /// None.
    Closed,
    /// This many bytes, and no frame that needs more.
    Bytes(u64),
}

impl GateState {
    /// Whether a packet of `size` bytes may leave.
    #[inline]
    pub(crate) fn lets(self, size: u16) -> bool {
        match self {
            Self::Open => true,
            Self::Closed => false,
            Self::Bytes(left) => u64::from(size) <= left,
        }
    }

    /// A packet of `size` bytes leaves, which it lets.
    #[inline]
    pub(crate) fn pay(&mut self, size: u16) {
        if let Self::Bytes(left) = self {
            *left -= u64::from(size);
        }
    }
}

/// A line on which nothing is.
#[cfg(test)]
pub(crate) const IDLE: OnLine = OnLine {
    until: Time::ZERO,
    line: LineTime::new(units::Rate::gbps(10)),
};

/// The length limit of a credit queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CreditRoom(pub(crate) CreditSpec);

impl CreditRoom {
    /// Whether another credit of `size` bytes fits beside `credits` of `bytes` in all.
    #[inline]
    pub(crate) fn has_room(&self, credits: usize, bytes: u64, size: u16) -> bool {
        let limit = u64::from(self.0.queue_limit);
        match self.0.count {
            model::intent::CreditCount::Credits => (credits as u64) < limit,
            model::intent::CreditCount::Bytes => {
                bytes + u64::from(size) <= limit * u64::from(self.0.size_mean)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::intent::CreditCount;

    #[test]
    fn what_is_left_on_the_line_is_rounded_up() {
        // 800 ps a byte.
        let line = OnLine {
            until: Time(10_000),
            ..IDLE
        };
        for (now, bytes) in [
            (0, 13),
            (400, 12),
            (401, 12),
            (9_999, 1),
            (10_000, 0),
            (20_000, 0),
        ] {
            assert_eq!(line.bytes(Time(now)), bytes, "at {now} ps");
            assert!(!line.exceeds(Time(now), bytes), "at {now} ps");
            assert!(
                bytes == 0 || line.exceeds(Time(now), bytes - 1),
                "at {now} ps"
            );
        }
        assert_eq!(line.only(true).bytes(Time(400)), 12);
        assert_eq!(line.only(false).bytes(Time(400)), 0);
    }

    #[test]
    fn what_waits_and_is_on_the_line_keeps_below_a_bound_to_the_byte() {
        for rate in [units::Rate::gbps(10), units::Rate::gbps(3)] {
            let line = LineTime::new(rate);
            for until in [0, 1, 799, 800, 801, 2_666, 2_667, 10_000, 80_000].map(Time) {
                let line = OnLine { until, line };
                for (waiting, most) in [(0, 0), (0, 1), (0, 4), (5, 5), (5, 6), (5, 18), (90, 130)]
                {
                    let below = waiting + line.bytes(Time::ZERO) < most;
                    assert_eq!(line.keeps_below(Time::ZERO, waiting, most), below);
                }
            }
        }
    }

    #[test]
    fn a_queue_of_credits_is_limited_in_credits_or_in_their_bytes() {
        let room = |count| {
            CreditRoom(CreditSpec {
                queue_limit: 8,
                bucket: 2,
                count,
                size_mean: 84,
                frame_max: 1538,
                share: CreditSpec::WHOLE,
            })
        };
        let counted = room(CreditCount::Credits);
        assert!(counted.has_room(7, 9_999, 99) && !counted.has_room(8, 0, 1));
        let weighed = room(CreditCount::Bytes);
        assert!(weighed.has_room(99, 672 - 84, 84) && !weighed.has_room(0, 672 - 84, 85));
    }
}
