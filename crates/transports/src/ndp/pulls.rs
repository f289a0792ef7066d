//! The pull queue of a host: which connection is pulled next, and when. [ndp s3.2]

use std::collections::VecDeque;
use units::{Span, Time};

/// Pulls that a late driver makes good at once: one on a wire may look at its clock seldom. [ours]
const CATCH_UP: u64 = 64;

/// Connections that wait for pulls, by their place and age.
#[derive(Debug, Default)]
pub(super) struct PullQueue {
    /// Those of a preferred host, and the others; each takes turns.
    preferred: VecDeque<(u32, u32)>,
    others: VecDeque<(u32, u32)>,
    /// When the next pull may leave.
    at: Time,
}

impl PullQueue {
    /// Whether a pull may leave at once, for nobody waits.
    #[inline]
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.at <= now && self.others.is_empty() && self.preferred.is_empty()
    }

    /// A pull leaves that did not wait.
    #[inline]
    pub(super) fn pulled(&mut self, now: Time, gap: Span) {
        self.at = now.after(gap);
    }

    /// A pull leaves that waited for its moment.
    #[inline]
    pub(super) fn pulled_in_turn(&mut self, now: Time, gap: Span) {
        let earliest = Time(now.0.saturating_sub(gap.times(CATCH_UP).0));
        self.at = self.at.after(gap).max(earliest);
    }

    /// A connection waits for a pull from now on.
    #[inline]
    pub(super) fn push(&mut self, entry: (u32, u32), preferred: bool) {
        if preferred {
            self.preferred.push_back(entry);
        } else {
            self.others.push_back(entry);
        }
    }

    /// The connection whose turn it is at `now`.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<(u32, u32)> {
        if self.at > now {
            return None;
        }
        self.preferred
            .pop_front()
            .or_else(|| self.others.pop_front())
    }

    /// When somebody's turn comes.
    #[inline]
    pub(super) fn due(&self) -> Time {
        if self.others.is_empty() && self.preferred.is_empty() {
            Time::NEVER
        } else {
            self.at
        }
    }

    /// Nobody is left.
    pub(super) fn clear(&mut self) {
        (self.preferred, self.others) = (VecDeque::new(), VecDeque::new());
    }
}
