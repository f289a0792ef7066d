//! What ports count at a moment. A plain FIFO promises its line to a packet when that comes, and counts it then: what has
//! not begun to leave is taken off again, once per look. It is on the link with its arrival, which says when it leaves.

use crate::ring::Ring;
use crate::setup::PortCounters;
use model::{ByClass, Packet};
use switching::{Port, Sent};
use units::Time;

/// What is on links.
pub(crate) trait OnLinks {
    /// What `port` counts and does not begin to put on its line before `end`, if anything.
    fn promised(&self, port: &Port, end: Time) -> Option<Promised>;
}

/// Rings of all links, of which no thread uses any meanwhile.
pub(crate) struct Still<'a>(&'a [Ring]);

impl<'a> Still<'a> {
    /// # Safety
    /// No thread uses the rings while this is there.
    pub(crate) unsafe fn new(rings: &'a [Ring]) -> Self {
        Self(rings)
    }

    /// Packets on the links, by class.
    pub(crate) fn in_flight(&self) -> ByClass<u64> {
        let mut sum = ByClass::default();
        for ring in self.0 {
            // SAFETY: by the contract of `new`.
            unsafe { ring.each(|packet| sum[packet.class()] += 1) };
        }
        sum
    }
}

impl OnLinks for Still<'_> {
    fn promised(&self, port: &Port, end: Time) -> Option<Promised> {
        let ring = &self.0[port.link() as usize];
        // Most ports are busy with a packet of which the first bit is on the line.
        // SAFETY: by the contract of `new`.
        let mut promised = Promised::by(port, &unsafe { ring.last() }?, end)?;
        // SAFETY: the same.
        unsafe { ring.each(|packet| promised.add(port, packet, end)) };
        Some(promised)
    }
}

/// What a port counts and has not begun to put on its line.
pub(crate) struct Promised {
    pub(crate) sent: Sent,
    /// When the first of it leaves.
    from: Time,
}

impl Promised {
    /// Of `port`: what does not begin to leave before `end`, if anything.
    #[inline] // once per sample
    pub(crate) fn of(port: &Port, end: Time, links: &dyn OnLinks) -> Option<Self> {
        let may = port.promises() && port.busy_until() > end;
        may.then(|| links.promised(port, end)).flatten()
    }

    /// Room for what leaves before `last`, the last packet that `port` gave to its link, and for that, where it does not
    /// begin to leave before `end`.
    #[inline]
    pub(crate) fn by(port: &Port, last: &Packet, end: Time) -> Option<Self> {
        let (sent, from) = (Sent::default(), port.left_at(last));
        (from >= end).then_some(Self { sent, from })
    }

    /// Adds `packet`, which is on the link of `port`, where it does not begin to leave before `end`.
    #[inline]
    pub(crate) fn add(&mut self, port: &Port, packet: &Packet, end: Time) {
        let leaves = port.left_at(packet);
        if leaves >= end {
            self.sent.add(packet);
            self.from = self.from.min(leaves);
        }
    }

    /// Takes it off what its port has counted.
    pub(crate) fn leave_out(&self, counters: &mut PortCounters) {
        counters.busy_until = self.from;
        counters.packets = less(&counters.packets, &self.sent.packets());
        counters.bytes = less(&counters.bytes, &self.sent.bytes());
    }
}

/// `all` without `some` of it.
pub(crate) fn less(all: &ByClass<u64>, some: &ByClass<u64>) -> ByClass<u64> {
    ByClass::from_fn(|class| all[class] - some[class])
}
