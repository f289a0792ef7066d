//! The contract of an egress port's queue discipline.

use crate::Packet;
use units::Time;

/// One egress port's queue.
///
/// A discipline is a pure function of its state and the `now` it is given: called late with an
/// old `now`, it does what it would have done on time. Token buckets advance in calls alone, in
/// exact integers.
pub trait QueueDisc: Send {
    /// A packet has arrived for this port. May mark `packet` before it keeps a copy.
    fn enqueue(&mut self, now: Time, packet: &mut Packet) -> Verdict;

    /// The line is idle and nothing waits: may `packet` leave at once? Has the effect of
    /// [`QueueDisc::enqueue`] followed by [`QueueDisc::dequeue`]; false has no effect at all.
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        let _ = (now, packet);
        false
    }

    /// The line is idle at `now`: writes what leaves into `out`.
    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue;

    /// What waits now.
    fn backlog(&self) -> Backlog;

    /// The most that ever waited, of each.
    fn peak(&self) -> Backlog;

    /// Packets that wait now, by class: the conservation check counts them.
    fn waiting(&self) -> [u64; 5];

    /// Packets marked so far.
    fn marked(&self) -> u64 {
        0
    }

    /// Panics where an invariant of our own state is broken.
    fn check(&self);
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waits.
    Queued,
    /// It was dropped.
    Dropped(DropReason),
    /// It waits, and another packet that waited was dropped for it.
    Evicted(Packet, DropReason),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer was full.
    Full = 0,
    /// The class is dropped first and the queue was above its threshold. [aeolus s3.2]
    Selective = 1,
    /// Random early detection. [RFC 2309]
    Early = 2,
    /// The credit queue was full: the receiver learns its rate from this. [xpass s3.1]
    CreditFull = 3,
    /// No hop was left.
    Ttl = 4,
    /// No route led to the destination.
    Unreachable = 5,
}

impl DropReason {
    /// Every reason, in the order of its number.
    pub const ALL: [Self; 6] = [
        Self::Full,
        Self::Selective,
        Self::Early,
        Self::CreditFull,
        Self::Ttl,
        Self::Unreachable,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "buffer full",
            Self::Selective => "selective",
            Self::Early => "early",
            Self::CreditFull => "credit queue full",
            Self::Ttl => "no hops left",
            Self::Unreachable => "no route",
        }
    }
}

/// What [`QueueDisc::dequeue`] did.
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
    /// Nothing waits.
    Empty,
}

/// What waits in a port, the frame on the line not counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// Bytes of everything but credits.
    pub data_bytes: u64,
    /// Number of credits.
    pub credits: u32,
}
