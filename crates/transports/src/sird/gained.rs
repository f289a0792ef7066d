//! How much of the credit that a sender holds says that it has too much.

/// Beside other messages all of it does. What one message holds alone may be left from when there were others, and goes
/// by itself; what comes on top of that comes from a line faster than the sender's. [ours]
#[derive(Debug, Default)]
pub(super) struct Gained {
    /// Wire bytes that came on top while one message was alone.
    alone: u64,
    /// What could leave after the last packet.
    before: u64,
}

impl Gained {
    /// A packet leaves for credit, if `scheduled`, or unasked, of the only message if `alone`; so much more may leave after
    /// it. What of that counts: what one message lets leave unasked takes credit from nobody.
    // DEVIATES(sird artefact): there one message alone never has too much, and a slow sender keeps a `pair` of a fast receiver.
    #[inline]
    pub(super) fn counts(&mut self, unspent: u64, alone: bool, scheduled: bool) -> u64 {
        if alone && scheduled {
            self.alone = (self.alone + unspent).saturating_sub(self.before);
        }
        self.alone = self.alone.min(unspent);
        self.before = unspent;
        match (alone, scheduled) {
            (false, _) => unspent,
            (true, true) => self.alone,
            (true, false) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_what_was_left_by_others_does_not_count() {
        let mut gained = Gained::default();
        assert_eq!(gained.counts(1_000, true, true), 1_000, "a fast receiver");
        assert_eq!(
            gained.counts(5_000, false, true),
            5_000,
            "of several all counts"
        );
        assert_eq!(
            gained.counts(5_000, true, true),
            1_000,
            "4,000 are of before"
        );
        assert_eq!(gained.counts(5_500, true, true), 1_500);
        assert_eq!(gained.counts(5_000, true, true), 1_000);
        // However often there are others, nothing of what came on top is forgotten.
        for _ in 0..10 {
            gained.counts(5_000, false, true);
            assert_eq!(gained.counts(5_000, true, true), 1_000);
        }
        assert_eq!(gained.counts(3_000, true, true), 0, "used up");
        assert_eq!(gained.counts(3_200, true, true), 200);
        assert_eq!(gained.counts(100, false, true), 100);
        assert_eq!(gained.counts(100, true, true), 100, "no more than there is");
        assert_eq!(gained.counts(9_000, true, false), 0, "it leaves unasked");
        assert_eq!(gained.counts(9_000, true, true), 100);
    }
}
