//! What a receiver has of a stream beyond its first gap.

use super::range_set::RangeSet;

/// Gaps that a receiver keeps open at once; a packet that would open another is not kept, and is
/// sent again later. [ours]
const GAPS_MAX: usize = 4096;

/// Positions that arrived out of order, and where messages end among them.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    ahead: RangeSet<GAPS_MAX>,
    /// Ends of messages beyond the first gap, ascending.
    ends: Vec<End>,
}

/// Where a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The position after its last frame.
    pub at: u64,
    /// Whether that frame was empty.
    pub blank: bool,
}

impl Reassembly {
    /// Whether nothing lies beyond the first gap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Keeps `[start, end)`, which ends a message if `last` says how. False, and no change, where
    /// part of it is here already, or there are too many gaps.
    pub fn keep(&mut self, start: u64, end: u64, last: Option<End>) -> bool {
        let free = self.ahead.first_gap(start, end) == Some((start, end));
        if !free || self.ahead.insert(start, end).is_none() {
            return false;
        }
        if let Some(last) = last {
            let place = self.ends.partition_point(|other| other.at < last.at);
            self.ends.insert(place, last);
        }
        true
    }

    /// The stream is complete up to `next`: takes what follows on it without a gap. Returns the new
    /// end of the complete part and the ends of messages in it.
    pub fn take(&mut self, next: u64) -> (u64, Vec<End>) {
        // A liar's pieces may overlap what has come in order; they add nothing then.
        self.ahead.drop_below(next);
        let stale = self.ends.partition_point(|end| end.at <= next);
        self.ends.drain(..stale);
        let Some((_, end)) = self.ahead.first().filter(|&(start, _)| start == next) else {
            return (next, Vec::new());
        };
        self.ahead.drop_below(end);
        let done = self.ends.partition_point(|other| other.at <= end);
        (end, self.ends.drain(..done).collect())
    }

    /// The gaps from `next` on, below what has arrived, and the one below `end`, where the stream is
    /// known to reach that far.
    pub fn gaps(&self, next: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let starts = std::iter::once(next).chain(self.ahead.iter().map(|(_, end)| end));
        let ends = self.ahead.iter().map(|(start, _)| start).chain([end]);
        starts.zip(ends).filter(|(from, until)| from < until)
    }

    /// Positions beyond the first gap.
    pub fn total(&self) -> u64 {
        self.ahead.total()
    }

    /// The first gap after `next`, where anything lies beyond it.
    pub fn first_gap(&self, next: u64) -> Option<(u64, u64)> {
        self.ahead.first().map(|(start, _)| (next, start))
    }

    /// The end of the last piece; `next` where there is none.
    pub fn highest(&self, next: u64) -> u64 {
        self.ahead.last().map_or(next, |(_, end)| end)
    }

    /// Whether `position` lies in a piece beyond the first gap.
    pub fn holds(&self, position: u64) -> bool {
        self.ahead.holding(position).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_when_the_gap_before_them_closes() {
        let mut pieces = Reassembly::default();
        let end = |at| Some(End { at, blank: false });
        assert!(pieces.keep(20, 30, end(30)) && pieces.keep(10, 20, None));
        assert!(pieces.keep(40, 50, end(50)));
        assert!(!pieces.keep(20, 30, end(30)), "it is here already");
        assert!(!pieces.keep(25, 35, None), "half of it is here already");
        assert!(!pieces.holds(30), "what is refused leaves no trace");
        assert_eq!(
            (pieces.first_gap(0), pieces.highest(0)),
            (Some((0, 10)), 50)
        );
        assert_eq!(pieces.take(5), (5, Vec::new()));
        assert_eq!(
            pieces.take(10),
            (
                30,
                vec![End {
                    at: 30,
                    blank: false
                }]
            )
        );
        assert_eq!(pieces.first_gap(30), Some((30, 40)));
    }

    #[test]
    fn nothing_is_there_before_anything_was_kept() {
        let mut pieces = Reassembly::default();
        assert!(pieces.is_empty() && pieces.total() == 0 && !pieces.holds(0));
        assert_eq!((pieces.first_gap(7), pieces.highest(7)), (None, 7));
        assert_eq!(pieces.take(7), (7, Vec::new()));
        assert!(pieces.gaps(7, 7).eq([]), "no gap is empty");
        assert!(pieces.gaps(7, 9).eq([(7, 9)]));
        assert!(pieces.keep(10, 20, None) && !pieces.is_empty());
        assert!(pieces.holds(10) && pieces.holds(19) && !pieces.holds(20));
        assert_eq!((pieces.total(), pieces.highest(7)), (10, 20));
        assert!(pieces.keep(30, 35, None) && pieces.total() == 15);
        assert!(pieces.gaps(5, 40).eq([(5, 10), (20, 30), (35, 40)]));
        assert!(pieces.gaps(10, 35).eq([(20, 30)]));
    }

    #[test]
    fn ends_come_out_in_order_and_each_once() {
        let mut pieces = Reassembly::default();
        let end = |at| End {
            at,
            blank: at == 20,
        };
        for at in [40, 20, 30] {
            assert!(pieces.keep(at - 10, at, Some(end(at))));
        }
        // What came in order meanwhile reaches into the first piece, up to its end.
        assert_eq!(pieces.take(20), (40, vec![end(30), end(40)]));
        assert!(pieces.is_empty() && pieces.ends.is_empty());
    }

    #[test]
    fn an_end_behind_the_next_gap_waits() {
        let mut pieces = Reassembly::default();
        let end = |at| End { at, blank: false };
        assert!(pieces.keep(10, 20, Some(end(20))) && pieces.keep(30, 40, Some(end(40))));
        assert_eq!(pieces.take(10), (20, vec![end(20)]));
        assert_eq!((pieces.total(), pieces.first_gap(20)), (10, Some((20, 30))));
        assert_eq!(pieces.take(30), (40, vec![end(40)]));
    }

    #[test]
    fn more_gaps_than_a_receiver_keeps_open_are_refused() {
        let mut pieces = Reassembly::default();
        let most = GAPS_MAX as u64;
        assert!((1..=most).all(|n| pieces.keep(10 * n, 10 * n + 5, None)));
        let last = Some(End {
            at: 7,
            blank: false,
        });
        assert!(!pieces.keep(5, 7, last), "one gap more");
        assert!(pieces.ends.is_empty() && pieces.total() == 5 * most);
        assert!(
            pieces.keep(15, 17, None),
            "what touches a piece opens no gap"
        );
    }
}
