//! The tokens of one message that wait for the line of its sender, each for a while.

use std::collections::VecDeque;
use units::Time;

/// Tokens that are kept: an honest receiver gives a window of them, and each lives for a few frame times. [ours]
const HELD_MAX: usize = 1024;

/// A token that waits for the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where its frame begins in the stream.
    pub offset: u64,
    /// Which token of the connection, modulo 2^16.
    pub number: u16,
    /// Whom its sender serves first: lower ones.
    pub rank: u8,
    /// The last moment at which it may be used.
    pub until: Time,
}

/// Tokens, in the order in which they came.
#[derive(Debug, Default)]
pub struct HeldTokens {
    held: VecDeque<Held>,
}

impl HeldTokens {
    /// Whether there is none, also of those that have run out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How many there are, with those that have run out.
    #[inline]
    pub fn len(&self) -> u64 {
        self.held.len() as u64
    }

    /// The oldest.
    #[inline]
    pub fn first(&self) -> Option<&Held> {
        self.held.front()
    }

    /// The newest.
    #[inline]
    pub fn last(&self) -> Option<&Held> {
        self.held.back()
    }

    /// Whether one may be used at `now`.
    pub fn any_at(&self, now: Time) -> bool {
        self.held.iter().any(|held| held.until >= now)
    }

    /// Another one; false where there are too many.
    #[inline]
    pub fn push(&mut self, held: Held) -> bool {
        let fits = self.held.len() < HELD_MAX;
        if fits {
            self.held.push_back(held);
        }
        fits
    }

    /// In place of an older one for the same frame; false where there is none.
    pub fn renew(&mut self, held: Held) -> bool {
        let mut all = self.held.iter_mut();
        let same = all.find(|known| known.offset == held.offset);
        same.map(|known| *known = held).is_some()
    }

    /// The oldest is used.
    #[inline]
    pub fn pop(&mut self) -> Option<Held> {
        self.held.pop_front()
    }

    /// Drops the oldest ones that have run out: how many.
    #[inline]
    pub fn drop_old(&mut self, now: Time) -> u64 {
        let mut old = 0;
        while self.held.front().is_some_and(|held| held.until < now) {
            self.held.pop_front();
            old += 1;
        }
        old
    }

    /// Those for what the message does not have any more are of no use: it ends at `end`.
    pub fn cut(&mut self, end: u64) {
        self.held.retain(|held| held.offset < end);
    }

    /// Panics where there are too many.
    pub fn check(&self) {
        assert!(self.held.len() <= HELD_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(offset: u64, until: u64) -> Held {
        Held {
            offset,
            number: 7,
            rank: 0,
            until: Time(until),
        }
    }

    fn tokens(of: &[(u64, u64)]) -> HeldTokens {
        let mut tokens = HeldTokens::default();
        for &(offset, until) in of {
            assert!(tokens.push(token(offset, until)));
        }
        tokens.check();
        tokens
    }

    #[test]
    fn they_are_used_in_the_order_in_which_they_came_until_they_run_out() {
        let mut tokens = tokens(&[(0, 10), (1000, 20), (500, 30)]);
        assert_eq!(tokens.drop_old(Time(10)), 0, "the last moment counts");
        assert_eq!(tokens.drop_old(Time(11)), 1);
        assert_eq!(tokens.first(), Some(&token(1000, 20)));
        assert!(!tokens.is_empty());
        assert_eq!(tokens.last(), Some(&token(500, 30)));
        assert!(tokens.any_at(Time(30)) && !tokens.any_at(Time(31)));
        assert_eq!(tokens.pop(), Some(token(1000, 20)));
        assert_eq!(tokens.drop_old(Time(99)), 1);
        assert!(tokens.is_empty() && tokens.pop().is_none());
    }

    #[test]
    fn one_for_the_same_frame_takes_the_place_of_the_older_one() {
        let mut tokens = tokens(&[(0, 10), (1000, 20)]);
        assert!(tokens.renew(token(0, 50)) && !tokens.renew(token(2000, 50)));
        assert_eq!(tokens.first(), Some(&token(0, 50)));
        assert_eq!(tokens.len(), 2);
        tokens.cut(1000);
        assert_eq!(tokens.len(), 1);
        assert_eq!((tokens.pop(), tokens.pop()), (Some(token(0, 50)), None));
    }

    #[test]
    fn a_liar_fills_no_memory() {
        let mut tokens = HeldTokens::default();
        let taken = (0..2000).filter(|&n| tokens.push(token(n, 10))).count();
        assert_eq!(taken, HELD_MAX);
        tokens.check();
        tokens.held.push_back(token(0, 10));
        assert!(std::panic::catch_unwind(|| tokens.check()).is_err());
    }
}
