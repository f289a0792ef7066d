//! What ports count at a moment. A plain FIFO promises its line to a packet when that comes, and counts it then: what has
//! not begun to leave is taken off again, once per look. It is on the link with its arrival, which says when it leaves.

use crate::ring::Ring;
use crate::setup::PortCounters;
use model::{ByClass, Packet};
use switching::Port;
use topology::LinkId;
use units::Time;

/// What is on links.
pub(crate) trait OnLinks {
    /// Shows `see` every packet that has been handed to `link` and has not been taken from it, in order.
    fn each(&self, link: LinkId, see: &mut dyn FnMut(&Packet));
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
    fn each(&self, link: LinkId, see: &mut dyn FnMut(&Packet)) {
        // SAFETY: by the contract of `new`.
        unsafe { self.0[link.0 as usize].each(see) };
    }
}

/// What a port counts and has not begun to put on its line.
#[derive(Default)]
pub(crate) struct Promised {
    pub(crate) packets: ByClass<u64>,
    pub(crate) bytes: ByClass<u64>,
    /// When the first of it leaves.
    from: Option<Time>,
}

impl Promised {
    /// Of `port`: what does not begin to leave before `end`.
    pub(crate) fn of(port: &Port, end: Time, links: &dyn OnLinks) -> Self {
        let mut promised = Self::default();
        if !port.promises() || port.busy_until() <= end {
            return promised;
        }
        links.each(LinkId(port.link()), &mut |packet| {
            let leaves = port.left_at(packet);
            if leaves >= end {
                promised.packets[packet.class()] += 1;
                promised.bytes[packet.class()] += u64::from(packet.size);
                promised.from = promised.from.or(Some(leaves));
            }
        });
        promised
    }

    /// Takes it off what `port` has counted.
    pub(crate) fn leave_out(&self, port: &Port, counters: &mut PortCounters) {
        counters.busy_until = self.from.unwrap_or_else(|| port.busy_until());
        counters.packets = less(&counters.packets, &self.packets);
        counters.bytes = less(&counters.bytes, &self.bytes);
    }
}

/// `all` without `some` of it.
pub(crate) fn less(all: &ByClass<u64>, some: &ByClass<u64>) -> ByClass<u64> {
    ByClass::from_fn(|class| all[class] - some[class])
}
