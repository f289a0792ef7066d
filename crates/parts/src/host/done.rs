//! Connections that are done, for late copies of their data.

use super::Token;
use model::ConnId;
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// Connections that are remembered; the oldest is forgotten before its time. [ours]
const DONE_MAX: usize = 1 << 16;

/// Connections that have received what they were for, each of a life.
#[derive(Debug, Default)]
pub(super) struct Done {
    of: BTreeMap<u32, Token>,
    /// Until when each is remembered, by age.
    until: VecDeque<(Time, u32, Token)>,
}

impl Done {
    /// Remembers one more for that long, the same for all.
    pub(super) fn add(&mut self, now: Time, id: ConnId, token: Token, span: Span) {
        self.forget(now);
        if self.until.len() >= DONE_MAX {
            self.forget_first();
        }
        self.of.insert(id.0, token);
        self.until.push_back((now.after(span), id.0, token));
    }

    fn forget_first(&mut self) {
        if let Some((_, id, token)) = self.until.pop_front()
            && self.has(ConnId(id), token)
        {
            self.of.remove(&id);
        }
    }

    /// Forgets those whose time is over. Nothing happens at that moment: it is enough to ask before a look.
    pub(super) fn forget(&mut self, now: Time) {
        while self.until.front().is_some_and(|&(until, ..)| until <= now) {
            self.forget_first();
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
