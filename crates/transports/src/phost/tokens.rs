//! The tokens of a host: who gets the next one, and when. [phost s3.3; phost artefact]

use std::collections::BTreeSet;
use units::{Span, Time};

/// Tokens that a late driver makes good at once: one on a wire may look at its clock seldom. [ours]
const CATCH_UP: u64 = 64;

/// A message that wants a token: bytes to come, or its turn; then its age and place.
pub(super) type Rank = (u64, u32, u32);

/// Messages that want tokens, and the moment of the next.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    wanting: BTreeSet<Rank>,
    at: Time,
    /// Time of the line that nobody had a token for, and since when nobody wants one.
    spare: Span,
    idle_since: Option<Time>,
    /// The most of it that counts.
    spare_max: Span,
    /// Turns so far.
    turn: u64,
}

impl Tokens {
    /// Those of a host whose line has been idle; so much of that counts.
    pub(super) fn new(spare_max: Span) -> Self {
        Self {
            spare: spare_max,
            idle_since: Some(Time::ZERO),
            spare_max,
            ..Self::default()
        }
    }

    /// A number for who stands behind all others.
    #[inline]
    pub(super) fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// A message changes its rank.
    #[inline]
    pub(super) fn change(&mut self, now: Time, old: Option<Rank>, new: Option<Rank>) {
        if let Some(old) = old {
            self.wanting.remove(&old);
        }
        if let Some(new) = new {
            if let Some(since) = self.idle_since.take() {
                let idle = now.since(since.max(self.at).min(now));
                self.spare = Span(self.spare.0.saturating_add(idle.0)).min(self.spare_max);
                self.at = self.at.max(now);
            }
            self.wanting.insert(new);
        } else if self.wanting.is_empty() {
            self.idle_since = self.idle_since.or(Some(now));
        }
    }

    /// The place of whose turn it is at `now`.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<u32> {
        let first = self.wanting.first().filter(|_| self.at <= now);
        first.map(|&(.., slot)| slot)
    }

    /// A token leaves; the next one a gap later.
    #[inline]
    pub(super) fn given(&mut self, now: Time, gap: Span) {
        let earliest = Time(now.0.saturating_sub(gap.times(CATCH_UP).0));
        self.at = self.at.after(gap).max(earliest);
    }

    /// The line is taken for `span` without a token, which what was spared pays for first.
    pub(super) fn hold(&mut self, now: Time, span: Span) {
        let paid = self.spare.min(span);
        self.spare = Span(self.spare.0 - paid.0);
        if paid < span {
            self.at = self.at.max(now).after(Span(span.0 - paid.0));
        }
    }

    /// When somebody's turn comes.
    #[inline]
    pub(super) fn next(&self) -> Time {
        if self.wanting.is_empty() {
            Time::NEVER
        } else {
            self.at
        }
    }
}
