//! Who is level with the best in one figure: one rule for headlines, prices, tables and advice.

use super::{Better, Group};
use crate::stats::Interval;

/// A figure over the seeds, and whether it is a lower bound.
pub(super) type Bounded = (Interval, bool);

/// However sure it is, a smaller lead matters to nobody. [ours]
const MATTERS: f64 = 1.01;
/// One seed tells no smaller difference from chance. [ours]
const CHANCE: f64 = 1.05;

/// Whether `slow` is behind `fast`, where less is better, by more than chance explains, and by so much that it matters.
/// `seeds` are those that tell something: with one the other may still have an interval.
pub(super) fn behind(fast: Interval, slow: Interval, seeds: usize) -> bool {
    let least = if seeds > 1 { MATTERS } else { CHANCE };
    fast.high < slow.low && slow.mean / fast.mean >= least
}

/// How rivals stand in one figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Level {
    /// The best mean, and behind it those that cannot be told from it; empty where nobody can be called best.
    pub ahead: Vec<usize>,
    /// Who left messages unfinished and might be level, or ahead: nobody can be called best.
    pub unsure: Option<usize>,
}

impl Level {
    /// In the order of the means. It ends with the first that is behind, so that a wide scatter lifts nobody over a
    /// better mean.
    pub(super) fn of(cells: &[Option<Bounded>], seeds: &[usize], better: Better) -> Self {
        let known = cells.iter().enumerate();
        let mut known: Vec<(usize, Bounded)> =
            known.filter_map(|(i, cell)| Some((i, (*cell)?))).collect();
        match better {
            Better::Lower => known.sort_by(|a, b| a.1.0.mean.total_cmp(&b.1.0.mean)),
            Better::Higher => known.sort_by(|a, b| b.1.0.mean.total_cmp(&a.1.0.mean)),
            Better::Neither => known.clear(),
        }
        let mut found = Self::default();
        let Some((&(best, (least, bound)), others)) = known.split_first() else {
            return found;
        };
        if bound {
            found.unsure = Some(best);
            return found;
        }
        found.ahead.push(best);
        for &(other, (own, bound)) in others {
            // Who may take any longer is not level; who shares a part of the best's interval may be.
            if bound {
                if own.low <= least.high && found.unsure.is_none() {
                    found.unsure = Some(other);
                }
                continue;
            }
            let both = seeds[best].min(seeds[other]);
            if match better {
                Better::Higher => behind(own, least, both),
                Better::Lower | Better::Neither => behind(least, own, both),
            } {
                break;
            }
            found.ahead.push(other);
        }
        if found.unsure.is_some() {
            found.ahead.clear();
        }
        found
    }

    /// Whether somebody is ahead, and it is not `rival`, which has a number.
    pub(super) fn loses(&self, rival: usize) -> bool {
        !self.ahead.is_empty() && !self.ahead.contains(&rival)
    }
}

/// Seeds that tell something, by rival.
pub(super) fn seeds_of(rivals: &[&Group]) -> Vec<usize> {
    rivals.iter().map(|group| group.measured()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(of: &[(f64, f64, bool)]) -> Vec<Option<Bounded>> {
        let cell = |&(low, high, bound): &(f64, f64, bool)| {
            let mean = f64::midpoint(low, high);
            let bootstrap = false;
            Some((
                Interval {
                    mean,
                    low,
                    high,
                    bootstrap,
                },
                bound,
            ))
        };
        of.iter().map(cell).collect()
    }

    fn ahead(of: &[(f64, f64, bool)], better: Better) -> Vec<usize> {
        Level::of(&cells(of), &vec![2; of.len()], better).ahead
    }

    #[test]
    fn a_wide_scatter_is_not_level_where_a_better_mean_is_behind() {
        // The last one's interval alone reaches that of the best.
        let three = [(3.7, 3.8, false), (4.0, 4.1, false), (3.7, 4.9, false)];
        assert_eq!(ahead(&three, Better::Lower), [0]);
        assert_eq!(ahead(&[three[0], three[2]], Better::Lower), [0, 1]);
    }

    #[test]
    fn more_is_better_where_that_is_said() {
        let rates = [
            (40.0, 41.0, false),
            (90.0, 91.0, false),
            (90.5, 92.0, false),
        ];
        assert_eq!(ahead(&rates, Better::Higher), [2, 1]);
        assert!(ahead(&rates, Better::Neither).is_empty());
    }

    #[test]
    fn who_left_messages_unfinished_is_passed_over_where_they_are_behind_for_sure() {
        let cut = cells(&[(2.0, 2.0, false), (2.03, 2.03, true), (2.04, 2.04, false)]);
        let once = Level::of(&cut, &[1; 3], Better::Lower);
        assert_eq!((once.ahead, once.unsure), (vec![0, 2], None));
        let near = cells(&[(2.0, 2.2, false), (2.1, 2.3, true)]);
        let near = Level::of(&near, &[3; 2], Better::Lower);
        assert_eq!((near.ahead, near.unsure), (vec![], Some(1)));
    }
}
