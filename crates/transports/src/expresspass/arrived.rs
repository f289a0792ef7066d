//! How much of a stream has arrived without a gap, and where a frame lies in it.
//!
//! A position counts bytes and empty frames: the latter are sent modulo [`BLANKS_MODULUS`].

use super::header::{BLANKS_MODULUS, Data};
use std::cmp::Ordering;

/// What has arrived without a gap.
#[derive(Default)]
pub(super) struct Arrived {
    /// Bytes, and empty frames.
    bytes: u64,
    blanks: u64,
    /// Bytes of the message that is arriving.
    message_bytes: u64,
    /// Number of that message.
    ordinal: u32,
}

impl Arrived {
    /// The first position that has not arrived.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.bytes + self.blanks
    }

    /// Number of the message that is arriving, and so many have.
    #[inline]
    pub(super) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Whether no message is arriving.
    pub(super) fn is_between(&self) -> bool {
        self.message_bytes == 0
    }

    /// How far ahead of what is known here a frame's count of empty frames is, modulo their number: half is behind.
    #[inline]
    fn ahead(&self, data: Data) -> u64 {
        data.blanks.wrapping_sub(self.blanks) & (BLANKS_MODULUS - 1)
    }

    /// Whether a frame is the next one, an earlier or a later one.
    #[inline]
    pub(super) fn place(&self, data: Data) -> Ordering {
        data.offset.cmp(&self.bytes).then(match self.ahead(data) {
            0 => Ordering::Equal,
            ahead if ahead < BLANKS_MODULUS / 2 => Ordering::Greater,
            _ => Ordering::Less,
        })
    }

    /// The position of a frame: its empty frames are counted from what is known here. `None` where
    /// its bytes lie beyond what has arrived and its empty frames before it, or the other way round:
    /// no stream does that.
    pub(super) fn position_of(&self, data: Data) -> Option<u64> {
        let ahead = self.ahead(data);
        let blanks = if ahead < BLANKS_MODULUS / 2 {
            self.blanks + ahead
        } else {
            (self.blanks + ahead).saturating_sub(BLANKS_MODULUS)
        };
        let bytes = data.offset.cmp(&self.bytes);
        let agree = bytes.is_eq() || blanks == self.blanks || bytes == blanks.cmp(&self.blanks);
        agree.then_some(data.offset + blanks)
    }

    /// More of the message has arrived.
    #[inline]
    pub(super) fn add(&mut self, bytes: u64, blank: bool) {
        self.bytes += bytes;
        self.message_bytes += bytes;
        self.blanks += u64::from(blank);
    }

    /// That was all of the message: returns its number and length.
    pub(super) fn end_message(&mut self) -> (u32, u64) {
        let ended = (self.ordinal, self.message_bytes);
        self.ordinal = self.ordinal.wrapping_add(1);
        self.message_bytes = 0;
        ended
    }

    pub(super) fn check(&self) {
        let (message, all) = (self.message_bytes, self.bytes);
        assert!(message <= all, "{message} B of {all}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Packet;

    #[test]
    fn a_frame_lies_where_both_its_counts_say_or_nowhere() {
        let mut arrived = Arrived::default();
        arrived.add(5_000, true);
        let of = |offset, blanks| {
            let data = Data {
                offset,
                blanks,
                ..Data::read(&Packet::EMPTY)
            };
            (arrived.place(data), arrived.position_of(data))
        };
        assert_eq!(of(5_000, 1), (Ordering::Equal, Some(5_001)));
        assert_eq!(of(6_500, 1), (Ordering::Greater, Some(6_501)));
        assert_eq!(of(5_000, 3), (Ordering::Greater, Some(5_003)));
        assert_eq!(of(3_500, 1), (Ordering::Less, Some(3_501)));
        assert_eq!(of(5_000, 0), (Ordering::Less, Some(5_000)));
        // Later bytes behind fewer empty frames.
        assert_eq!(of(6_500, 0), (Ordering::Greater, None));
        assert_eq!(of(3_500, 2), (Ordering::Less, None));
    }
}
