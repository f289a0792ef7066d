//! What a receiver expects of the burst behind a request, and for which of it it gives credits.
//! [ours: aeolus leaves open what becomes of credits for packets that arrive unasked]
//!
//! The request says how many packets follow unasked. On one path none overtakes another, so a packet
//! that a later one, or the probe, has overtaken is lost and needs a credit; one that neither has
//! overtaken may still come and gets none. What does not fit the burst needs a credit from the start.

use units::{Span, Time};

/// The burst that follows a request, until its fate is known.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Until then it may come; from then on credits are given as if it had been lost.
    until: Time,
    /// Packets that were asked for and do not follow unasked.
    beyond: u64,
    /// Packets of it that are known to be lost.
    lost: u64,
    /// Credits that the own line dropped: they will bring no answer.
    dropped: u64,
    /// A credit is held back.
    held: bool,
}

impl Expected {
    /// `unasked` of `packets` that a request speaks of follow it, at a line that takes `frame_time` for
    /// each; the request came at `now`, and a packet may be late by two round trips, `rtt` each: its line
    /// has others to serve, too.
    pub(super) fn new(now: Time, packets: u32, unasked: u16, frame_time: Span, rtt: Span) -> Self {
        Self {
            until: now + frame_time.times(unasked.into()) + rtt.times(2),
            beyond: u64::from(packets.saturating_sub(unasked.into())),
            lost: 0,
            dropped: 0,
            held: false,
        }
    }

    /// A credit was lost in the own host.
    pub(super) fn on_drop(&mut self) {
        self.dropped += 1;
    }

    /// Packets of it have come, and `lost` others are known to be lost. Returns whether the credit that
    /// was held back is wanted now; `given` credits have been given for it.
    pub(super) fn on_news(&mut self, lost: u64, given: u64) -> bool {
        self.lost = self.lost.max(lost);
        !self.is_served(given) && std::mem::take(&mut self.held)
    }

    /// It came whole: nothing is owed, and a STOP will say so within two round trips, `rtt` each.
    pub(super) fn on_whole(&mut self, now: Time, rtt: Span) -> bool {
        let whole = self.beyond == 0;
        if whole {
            self.until = self.until.max(now + rtt.times(2));
        }
        whole
    }

    /// Whether a credit is held back.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Whether as many credits have been given as packets need one.
    fn is_served(&self, given: u64) -> bool {
        given >= self.beyond + self.lost + self.dropped
    }

    /// Whether the credit that is due at `now` would bring nothing. Returns until when it is held
    /// back; `given` credits have been given for it.
    pub(super) fn holds_back(&mut self, now: Time, given: u64) -> Option<Time> {
        self.held = now < self.until && self.is_served(given);
        self.held.then_some(self.until)
    }

    /// Whether it is too late for any of it.
    pub(super) fn is_over(&self, now: Time) -> bool {
        now >= self.until
    }
}
