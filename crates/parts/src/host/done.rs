//! Connections that are done, for late copies of their data.

use super::Token;
use model::ConnId;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// Connections that are remembered; the oldest is forgotten before its time. [ours]
pub(super) const DONE_MAX: usize = 1 << 16;

/// Connections that have received what they were for, each of a life.
#[derive(Debug, Default)]
pub(super) struct Done {
    of: BTreeMap<u32, Token>,
    /// Until when each is remembered, by age.
    until: VecDeque<(Time, u32, Token)>,
}

impl Done {
    /// Remembers one more until then.
    pub(super) fn add(&mut self, id: ConnId, token: Token, until: Time) {
        if self.until.len() >= DONE_MAX {
            self.forget_first();
        }
        self.of.insert(id.0, token);
        self.until.push_back((until, id.0, token));
    }

    fn forget_first(&mut self) {
        if let Some((_, id, token)) = self.until.pop_front()
            && self.has(ConnId(id), token)
        {
            self.of.remove(&id);
        }
    }

    /// When the next one is forgotten.
    pub(super) fn next(&self) -> Time {
        self.until.front().map_or(Time::NEVER, |&(until, ..)| until)
    }

    /// Forgets those whose time is over.
    pub(super) fn forget(&mut self, now: Time) {
        while self.next() <= now {
            self.forget_first();
        }
        if self.until.is_empty() {
            *self = Self::default();
        }
    }

    /// Whether that life of it is known to have received everything.
    pub(super) fn has(&self, id: ConnId, token: Token) -> bool {
        self.of.get(&id.0) == Some(&token)
    }

    pub(super) fn check(&self) {
        assert!(self.of.len() <= self.until.len() && self.until.len() <= DONE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_books_are_noticed() {
        let mut done = Done::default();
        done.add(ConnId(1), 3, Time(10));
        done.check();
        done.of.insert(2, 3);
        assert!(std::panic::catch_unwind(|| done.check()).is_err());
    }
}
