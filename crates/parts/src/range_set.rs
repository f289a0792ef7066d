//! Which parts of a stream are there: sorted, disjoint, bounded in number.
//!
//! A receiver keeps what came out of order in one, a sender what was selectively acknowledged.
//! Both normally hold nothing at all, so an empty set owns no memory.

/// At most `MAX` ranges `[start, end)` that neither overlap nor touch, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet<const MAX: usize> {
    ranges: Vec<(u64, u64)>,
    /// Sum of the lengths, kept so that no packet adds them up.
    total: u64,
}

impl<const MAX: usize> RangeSet<MAX> {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            ranges: Vec::new(),
            total: 0,
        }
    }
    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// Bytes in all ranges.
    #[inline]
    pub const fn total(&self) -> u64 {
        self.total
    }
    /// The ranges, from the lowest up.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }
    /// Range number `n`, from the lowest up.
    pub fn get(&self, n: usize) -> Option<(u64, u64)> {
        self.ranges.get(n).copied()
    }
    /// The lowest range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.first().copied()
    }
    /// The highest range.
    pub fn last(&self) -> Option<(u64, u64)> {
        self.ranges.last().copied()
    }

    /// The ranges, as indices, that overlap or touch `[start, end)`.
    fn touching(&self, start: u64, end: u64) -> (usize, usize) {
        let low = self.ranges.partition_point(|&(_, stop)| stop < start);
        let high = low + self.ranges[low..].partition_point(|&(begin, _)| begin <= end);
        (low, high)
    }

    /// Whether `[start, end)` can be added without exceeding the bound.
    pub fn fits(&self, start: u64, end: u64) -> bool {
        let (low, high) = self.touching(start, end);
        low < high || self.ranges.len() < MAX
    }

    /// Adds `[start, end)` and returns how many bytes of it are new; `None`, and no change, where
    /// the set is full.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn insert(&mut self, start: u64, end: u64) -> Option<u64> {
        assert!(start < end, "{start}..{end} is no range");
        let (low, high) = self.touching(start, end);
        if low == high {
            if self.ranges.len() >= MAX {
                return None;
            }
            self.ranges.insert(low, (start, end));
            self.total += end - start;
            return Some(end - start);
        }
        let merged = (
            start.min(self.ranges[low].0),
            end.max(self.ranges[high - 1].1),
        );
        let old: u64 = self.ranges[low..high]
            .iter()
            .map(|&(begin, stop)| stop - begin)
            .sum();
        self.ranges[low] = merged;
        self.ranges.drain(low + 1..high);
        let new = merged.1 - merged.0 - old;
        self.total += new;
        Some(new)
    }

    /// Forgets everything below `edge` and returns how many bytes that were.
    pub fn drop_below(&mut self, edge: u64) -> u64 {
        let whole = self.ranges.partition_point(|&(_, stop)| stop <= edge);
        let mut dropped: u64 = self
            .ranges
            .drain(..whole)
            .map(|(begin, stop)| stop - begin)
            .sum();
        if let Some(first) = self.ranges.first_mut()
            && first.0 < edge
        {
            dropped += edge - first.0;
            first.0 = edge;
        }
        self.total -= dropped;
        dropped
    }

    /// Bytes at or above `edge`. Costs as many steps as there are ranges above it.
    pub fn bytes_above(&self, edge: u64) -> u64 {
        self.ranges
            .iter()
            .rev()
            .take_while(|&&(_, stop)| stop > edge)
            .map(|&(begin, stop)| stop - begin.max(edge))
            .sum()
    }

    /// Bytes below `edge`.
    pub fn bytes_below(&self, edge: u64) -> u64 {
        self.total - self.bytes_above(edge)
    }

    /// The range that holds `at`.
    pub fn holding(&self, at: u64) -> Option<(u64, u64)> {
        let next = self.ranges.partition_point(|&(_, stop)| stop <= at);
        self.get(next).filter(|&(begin, _)| begin <= at)
    }

    /// The first piece of `[from, until)` that is not in the set.
    pub fn first_gap(&self, from: u64, until: u64) -> Option<(u64, u64)> {
        let mut from = from;
        let next = self.ranges.partition_point(|&(_, stop)| stop <= from);
        let mut above = self.ranges[next..].iter();
        let mut upper = above.next();
        if let Some(&(begin, stop)) = upper
            && begin <= from
        {
            // Ranges never touch: behind this one there is a gap.
            from = stop;
            upper = above.next();
        }
        let stop = upper.map_or(until, |&(begin, _)| begin.min(until));
        (from < stop).then_some((from, stop))
    }

    /// Every piece of `[from, until)` that is not in the set, in order.
    pub fn gaps(&self, from: u64, until: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = from;
        // Each step passes one range, so this ends after MAX + 1.
        std::iter::from_fn(move || {
            let gap = self.first_gap(at, until)?;
            at = gap.1;
            Some(gap)
        })
    }

    /// Panics where the set is not what it says it is.
    pub fn check(&self) {
        assert!(
            self.ranges.len() <= MAX,
            "{} ranges, at most {MAX}",
            self.ranges.len()
        );
        assert!(
            self.ranges.iter().all(|&(begin, stop)| begin < stop),
            "an empty range"
        );
        assert!(
            self.ranges.is_sorted_by(|a, b| a.1 < b.0),
            "ranges touch: {:?}",
            self.ranges
        );
        let total: u64 = self.ranges.iter().map(|&(begin, stop)| stop - begin).sum();
        assert_eq!(total, self.total, "the sum of the ranges");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};
    use std::collections::BTreeSet;

    const SPACE: u64 = 200;

    #[test]
    fn it_agrees_with_a_set_of_bytes() {
        let mut rng = Rng::stream(1, stream::TEST, 0);
        let (mut set, mut bytes) = (RangeSet::<1000>::new(), BTreeSet::new());
        for step in 0..20_000 {
            let start = rng.below(SPACE - 1);
            let end = rng.between(start + 1, (start + 12).min(SPACE));
            let before = bytes.len();
            if step % 40 == 39 {
                bytes = bytes.split_off(&start);
                assert_eq!(set.drop_below(start), (before - bytes.len()) as u64);
            } else {
                bytes.extend(start..end);
                assert_eq!(set.insert(start, end), Some((bytes.len() - before) as u64));
            }
            set.check();
            let edge = rng.below(SPACE);
            let there: BTreeSet<u64> = (0..SPACE).filter(|&at| set.holding(at).is_some()).collect();
            assert_eq!(there, bytes);
            assert_eq!(set.bytes_above(edge), bytes.range(edge..).count() as u64);
            assert_eq!(set.bytes_below(edge), bytes.range(..edge).count() as u64);
            let gaps = set.gaps(edge, SPACE).flat_map(|(from, to)| from..to);
            assert!(gaps.eq((edge..SPACE).filter(|at| !bytes.contains(at))));
        }
    }

    #[test]
    fn a_full_set_still_grows_what_it_has() {
        let mut set = RangeSet::<2>::new();
        assert_eq!(
            (set.insert(10, 20), set.insert(30, 40)),
            (Some(10), Some(10))
        );
        assert_eq!((set.insert(50, 60), set.fits(50, 60)), (None, false));
        assert_eq!((set.insert(20, 25), set.insert(22, 30)), (Some(5), Some(5)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 40)]);
        assert_eq!(set.insert(50, 60), Some(10));
        set.check();
    }

    #[test]
    fn ranges_are_counted_from_the_lowest_up() {
        let mut set = RangeSet::<3>::new();
        assert!(set.is_empty());
        assert_eq!((set.len(), set.total()), (0, 0));
        assert_eq!((set.first(), set.last(), set.get(0)), (None, None, None));
        for start in [50, 10, 30] {
            assert!(set.fits(start, start + 5));
            assert_eq!(set.insert(start, start + 5), Some(5));
        }
        assert!(!set.is_empty() && set.len() == 3 && set.total() == 15);
        assert_eq!((set.first(), set.last()), (Some((10, 15)), Some((50, 55))));
        assert_eq!((set.get(1), set.get(3)), (Some((30, 35)), None));
        assert!(set.iter().rev().eq([(50, 55), (30, 35), (10, 15)]));
        // A full set takes what touches a range on either side, and nothing else.
        assert!(set.fits(15, 16) && set.fits(9, 10) && set.fits(0, 99));
        assert!(!set.fits(16, 29) && !set.fits(56, 57) && !set.fits(0, 9));
    }

    #[test]
    fn a_gap_has_no_byte_of_a_range_in_it() {
        let mut set = RangeSet::<3>::new();
        assert_eq!(
            (set.insert(10, 20), set.insert(30, 40)),
            (Some(10), Some(10))
        );
        for (from, until, gap) in [
            (0, 10, Some((0, 10))),
            (0, 11, Some((0, 10))),
            (0, 5, Some((0, 5))),
            (10, 20, None),
            (10, 21, Some((20, 21))),
            (15, 50, Some((20, 30))),
            (20, 30, Some((20, 30))),
            (39, 40, None),
            (40, 40, None),
            (40, 41, Some((40, 41))),
        ] {
            assert_eq!(set.first_gap(from, until), gap, "{from}..{until}");
        }
        assert_eq!((set.holding(9), set.holding(10)), (None, Some((10, 20))));
        assert_eq!((set.holding(19), set.holding(20)), (Some((10, 20)), None));
    }

    #[test]
    #[should_panic(expected = "5..5 is no range")]
    fn an_empty_range_is_refused() {
        RangeSet::<3>::new().insert(5, 5);
    }

    #[test]
    fn a_broken_set_is_noticed() {
        for (ranges, total) in [
            (vec![(0, 1), (2, 3), (4, 5)], 3),
            (vec![(0, 0)], 0),
            (vec![(0, 2), (2, 3)], 3),
            (vec![(5, 6), (2, 3)], 2),
            (vec![(2, 3)], 2),
        ] {
            let set = RangeSet::<2> { ranges, total };
            assert!(std::panic::catch_unwind(|| set.check()).is_err(), "{set:?}");
        }
    }
}
