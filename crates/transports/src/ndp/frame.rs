//! A frame that has left and is not acknowledged: when, on which way, and what tells its copies from each other.

use super::header::PULLS_TOLD;
use units::{Span, Time};

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is on its way, for all that is known.
    Sent,
    /// It leaves again.
    Again,
    /// So it does, and none that left can arrive.
    Lost,
    /// It has arrived.
    Arrived,
}

/// A frame that has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) sent_at: Time,
    pub(super) way: u16,
    pub(super) fate: Fate,
    /// What tells its copies from each other.
    pub(super) copies: Copies,
    /// Nanoseconds from when it first left to then; 0 where it left once and was not asked about.
    pub(super) behind: u32,
}

/// The numbers of pulls that the first and the last copy of a frame say, three bits each, whether these tell
/// too little, and whether the first left in the place of one that was known to be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies(u8);

/// A copy that has arrived.
pub(super) enum Which {
    First,
    Last,
    /// Another one, or it is not known.
    Any,
}

/// DATA has so many for the number of a pull.
const THREE_BITS: u8 = 7;
const _: () = assert!(PULLS_TOLD == 1 + THREE_BITS as u16);

impl Copies {
    const ALIKE: u8 = 1 << 7;
    const INSTEAD: u8 = 1 << 6;

    /// Of a frame that leaves for the first time.
    #[inline]
    pub(super) const fn of(pull: u8) -> Self {
        Self(pull << 3 | pull)
    }

    /// Of a frame that leaves in the place of a lost one.
    pub(super) const fn instead(pull: u8) -> Self {
        Self(Self::of(pull).0 | Self::INSTEAD)
    }

    /// Whether the copy that said so took the place of a lost one.
    #[inline]
    pub(super) fn is_instead(self, pull: u8) -> bool {
        self.0 & Self::INSTEAD != 0 && matches!(self.which(pull), Which::First)
    }

    const fn first(self) -> u8 {
        self.0 >> 3 & THREE_BITS
    }

    const fn last(self) -> u8 {
        self.0 & THREE_BITS
    }

    /// Another copy leaves.
    pub(super) const fn and(self, pull: u8) -> Self {
        let alike = pull == self.first() || pull == self.last();
        let known = self.0 & (Self::ALIKE | Self::INSTEAD) | self.first() << 3 | pull;
        Self(if alike { known | Self::ALIKE } else { known })
    }

    /// What the next copy says if no pull releases it.
    pub(super) fn another(self) -> u8 {
        let others = (1..=2).map(|more| (self.last() + more) & THREE_BITS);
        let mut others = others.filter(|&pull| pull != self.first());
        others.next().expect("one of two is not the first")
    }

    /// Which copy said so.
    #[inline]
    pub(super) fn which(self, pull: u8) -> Which {
        if self.0 & Self::ALIKE != 0 {
            Which::Any
        } else if pull == self.first() {
            Which::First
        } else if pull == self.last() {
            Which::Last
        } else {
            Which::Any
        }
    }
}

impl Fate {
    /// Whether it leaves again.
    pub(super) fn repeats(self) -> bool {
        matches!(self, Self::Again | Self::Lost)
    }
}

impl Frame {
    /// How long ago it left for the first time.
    pub(super) fn age(&self, now: Time) -> Span {
        Span(now.since(self.sent_at).0 + Span::ns(self.behind.into()).0)
    }

    /// The same in the unit of `behind`, and never 0.
    #[cold]
    pub(super) fn behind(&self, now: Time) -> u32 {
        let ns = self.age(now).0 / Span::ns(1).0;
        u32::try_from(ns).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_which_copy_it_is_to_unless_two_say_the_same() {
        let told = |copies: Copies| -> String {
            let which = |pull| match copies.which(pull) {
                Which::First => 'f',
                Which::Last => 'l',
                Which::Any => '?',
            };
            (0..8).map(which).collect()
        };
        let once = Copies::of(3);
        assert_eq!(told(once), "???f????");
        assert_eq!(told(once.and(6)), "???f??l?");
        assert_eq!(told(once.and(3)), "????????");
        assert_eq!(told(once.and(6).and(0)), "l??f????");
        assert_eq!(told(once.and(6).and(6)), "????????");
        let instead = Copies::instead(3);
        assert_eq!(told(instead.and(6)), "???f??l?");
        let told = |copies: Copies| [3, 6].map(|pull| copies.is_instead(pull));
        assert_eq!(told(instead.and(6)), [true, false]);
        assert_eq!(told(instead.and(3)), [false, false], "it may be the last");
        assert_eq!(told(once.and(6)), [false, false]);
        let mut copies = Copies::of(7);
        for _ in 0..20 {
            let next = copies.another();
            copies = copies.and(next);
            assert!(matches!(copies.which(next), Which::Last));
            assert!(matches!(copies.which(7), Which::First));
        }
    }
}
