//! Lines of several rates: what the channels of one end are worth at the other.
//!
//! A channel is a part of its host's own line. A receiver asks, in channels of the sender, for what its own can take;
//! the sender knows nothing of its line.

use units::{Rate, Span};

/// RTS tells the rate of its line in so many bits per second. [ours]
const UNIT: u64 = 100_000_000;

/// The lines of a receiver and of one of its senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lines {
    own: u16,
    theirs: u16,
}

/// A rate as RTS tells it; slower lines than one unit are told as one.
pub(super) fn told(rate: Rate) -> u16 {
    u16::try_from(rate.0.div_ceil(UNIT).max(1)).unwrap_or(u16::MAX)
}

impl Lines {
    /// Two lines, as RTS tells them: one like the other where it has not.
    pub(super) const fn new(own: u16, theirs: u16) -> Self {
        let theirs = if theirs == 0 { own } else { theirs };
        Self { own, theirs }
    }

    /// Whether a channel is the same at both ends.
    #[inline]
    pub(super) const fn are_equal(self) -> bool {
        self.own == self.theirs
    }

    /// So many channels here, as channels of the sender, of which it has `most`.
    #[inline]
    pub(super) fn to_theirs(self, channels: u32, most: u32) -> u32 {
        scaled(channels, self.own, self.theirs).min(most)
    }

    /// Channels of the sender that carry so many frames in an epoch, where one here carries `channel_frames`.
    #[inline]
    pub(super) fn wanted_of_theirs(self, frames: u32, channel_frames: u64) -> u32 {
        let at_theirs = u64::from(frames) * u64::from(self.own);
        let wanted = at_theirs.div_ceil(channel_frames * u64::from(self.theirs));
        u32::try_from(wanted).unwrap_or(u32::MAX)
    }

    /// So many channels of the sender, as channels here, of which there are `most`.
    #[inline]
    pub(super) fn to_own(self, channels: u32, most: u32) -> u32 {
        scaled(channels, self.theirs, self.own).min(most)
    }

    /// What takes so long on the line here, on that of the sender.
    #[inline]
    pub(super) fn time_of_theirs(self, own: Span) -> Span {
        if self.are_equal() {
            return own;
        }
        Span((own.0 * u64::from(self.own)).div_ceil(u64::from(self.theirs)))
    }
}

/// Times `by` over `over`, rounded up.
fn scaled(channels: u32, by: u16, over: u16) -> u32 {
    let exact = (u64::from(channels) * u64::from(by)).div_ceil(u64::from(over));
    u32::try_from(exact).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_worth_at_the_other_end_what_its_line_is() {
        let (slow, fast) = (told(Rate::gbps(25)), told(Rate::gbps(100)));
        let from_slow = Lines::new(fast, slow);
        let there = [1, 2, 4].map(|own| from_slow.to_theirs(own, 4));
        assert_eq!(there, [4, 4, 4], "a channel here is the whole line there");
        let here = [0, 1, 4].map(|theirs| from_slow.to_own(theirs, 4));
        assert_eq!(here, [0, 1, 1]);
        let from_fast = Lines::new(slow, fast);
        assert_eq!([1, 4].map(|own| from_fast.to_theirs(own, 4)), [1, 1]);
        assert_eq!([1, 4].map(|theirs| from_fast.to_own(theirs, 4)), [4, 4]);
        let wanted = [1, 2, 3].map(|frames| from_slow.wanted_of_theirs(frames, 8));
        assert_eq!(wanted, [1, 1, 2], "8 frames here are 2 there");
        assert_eq!(from_fast.wanted_of_theirs(33, 8), 2);
        let frame = Span::ns(123);
        assert_eq!(from_slow.time_of_theirs(frame), Span::ns(492));
        let equal = Lines::new(fast, fast);
        assert!(equal.are_equal() && !from_fast.are_equal());
        assert_eq!((equal.to_own(3, 4), equal.to_theirs(3, 4)), (3, 3));
        assert_eq!(equal.time_of_theirs(frame), frame);
    }

    #[test]
    fn lines_too_slow_or_too_fast_to_tell_are_told_as_the_last_that_are() {
        assert_eq!(told(Rate::mbps(1)), 1);
        assert_eq!(told(Rate::gbps(10_000)), u16::MAX);
        let unknown = Lines::new(7, 0);
        let both = (unknown.to_theirs(3, 4), unknown.to_own(3, 4));
        assert_eq!(both, (3, 3), "nobody has said");
    }
}
