//! The role that has data: it sends a packet each time that its rate allows one.

use super::share::{Code, rate};
use units::{Bytes, Rate, Span, Time};

/// When the packets of one direction of a connection leave.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// What the receiver's line offers, in bits per second. While nobody has said, one packet is on the way
    /// at a time.
    offer: Option<u64>,
    /// What both lines offer, in bits per second.
    rate: u64,
    /// When the last packet should have left, and its bytes on the wire.
    left: Option<(Time, u16)>,
    /// Since when its rate alone holds it back.
    since: Time,
}

impl Pace {
    /// From now on its rate alone holds it back.
    pub(super) fn begin(&mut self, now: Time) {
        self.since = now;
    }

    /// The receiver's line has so much for it. Less than one part in so many is no offer that a receiver of ours
    /// makes: `least` is taken then.
    pub(super) fn hear(&mut self, now: Time, offer: Code, least: u64) {
        if let Some(offer) = rate(offer) {
            if self.offer.is_none() {
                self.since = now;
            }
            self.offer = Some(offer.max(least));
        }
    }

    /// Nobody counts with it any more.
    pub(super) fn rest(&mut self) {
        self.offer = None;
    }

    /// Its own line has so much for it.
    pub(super) fn pace(&mut self, own: u64) {
        self.rate = self.offer.map_or(own, |offer| offer.min(own));
    }

    /// From the last packet to the next one.
    pub(super) fn gap(&self) -> Span {
        let size = self.left.map_or(0, |(_, size)| size);
        Rate::bps(self.rate.max(1)).serialize(Bytes(size.into()))
    }

    /// When a packet could leave; [`Time::NEVER`] where it waits for something else than its rate. A change of the rate
    /// counts from the last packet. [xpass s2: a timer per packet]
    pub(super) fn due(&self, on_the_way: bool) -> Time {
        if self.offer.is_none() && on_the_way {
            return Time::NEVER;
        }
        self.due_after_last()
    }

    fn due_after_last(&self) -> Time {
        self.left.map_or(Time::ZERO, |(at, _)| at.after(self.gap()))
    }

    /// A packet leaves, with `size` bytes on the wire.
    pub(super) fn leave(&mut self, now: Time, size: u16) {
        // What waited for the line keeps its place in time, by one packet at most.
        let due = self.due_after_last();
        let latest = now.since(Time::ZERO).0.saturating_sub(self.gap().0);
        let at = due.max(self.since).max(Time(latest)).min(now);
        self.left = Some((at, size));
    }
}
