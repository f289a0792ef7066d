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
    ends: Vec<u64>,
}

impl Reassembly {
    /// Whether nothing lies beyond the first gap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Keeps `[start, end)`, which ends a message if `last`. False where it is here already, or
    /// there are too many gaps.
    pub fn keep(&mut self, start: u64, end: u64, last: bool) -> bool {
        let new = self
            .ahead
            .insert(start, end)
            .is_some_and(|new| new == end - start);
        if new && last {
            let place = self.ends.partition_point(|&other| other < end);
            self.ends.insert(place, end);
        }
        new
    }

    /// The stream is complete up to `next`: takes what follows on it without a gap. Returns the
    /// new end of the complete part; `ended` hears the end of each message in between.
    pub fn take(&mut self, next: u64, mut ended: impl FnMut(u64)) -> u64 {
        let Some((start, end)) = self.ahead.first().filter(|&(start, _)| start <= next) else {
            return next;
        };
        debug_assert!(start == next, "the complete part overlaps what lies ahead");
        self.ahead.drop_below(end);
        let done = self.ends.partition_point(|&other| other <= end);
        self.ends.drain(..done).for_each(&mut ended);
        end
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
        assert!(
            pieces.keep(20, 30, true) && pieces.keep(10, 20, false) && pieces.keep(40, 50, true)
        );
        assert!(!pieces.keep(20, 30, true), "it is here already");
        assert_eq!(
            (pieces.first_gap(0), pieces.highest(0)),
            (Some((0, 10)), 50)
        );
        let mut ends = Vec::new();
        assert_eq!(pieces.take(5, |end| ends.push(end)), 5);
        assert_eq!(pieces.take(10, |end| ends.push(end)), 30);
        assert_eq!((ends, pieces.first_gap(30)), (vec![30], Some((30, 40))));
    }
}
