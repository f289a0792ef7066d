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

/// The place of a rival in one figure, 1 for the best. Who is level shares one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first that it may have.
    pub from: usize,
    /// The last: a later one where others left messages unfinished and might be ahead; `None` where it left some itself.
    pub to: Option<usize>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to {
            Some(to) if to == self.from => write!(f, "{}", self.from),
            Some(to) => write!(f, "{}-{to}", self.from),
            None => write!(f, "{}+", self.from),
        }
    }
}

/// The place of each rival. Who is level with the best has the first; who is level with the best of the others has the
/// next; and so on.
pub(super) fn places(
    cells: &[Option<Bounded>],
    seeds: &[usize],
    better: Better,
) -> Vec<Option<Place>> {
    let ended = |cell: &Option<Bounded>| cell.filter(|(_, bound)| !bound);
    let mut left: Vec<Option<Bounded>> = cells.iter().map(ended).collect();
    let mut places: Vec<Option<Place>> = vec![None; cells.len()];
    let mut before = 0;
    loop {
        let ahead = Level::of(&left, seeds, better).ahead;
        if ahead.is_empty() {
            break;
        }
        let from = before + 1;
        before += ahead.len();
        for rival in ahead {
            // Who left messages unfinished may be ahead as long as its bound lies within what this one has.
            let most = left[rival].map_or(0.0, |(own, _)| own.high);
            let may = |cell: &&Bounded| cell.1 && cell.0.low <= most;
            let to = from + cells.iter().flatten().filter(may).count();
            places[rival] = Some(Place { from, to: Some(to) });
            left[rival] = None;
        }
    }
    let open = (0..cells.len()).filter_map(|i| Some((i, cells[i].filter(|(_, bound)| *bound)?)));
    for (rival, (own, _)) in open.filter(|_| better == Better::Lower) {
        let ahead = cells.iter().filter_map(ended);
        let ahead = ahead.filter(|(other, _)| other.high < own.low).count();
        places[rival] = Some(Place {
            from: ahead + 1,
            to: None,
        });
    }
    places
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
    fn intervals_that_touch_are_level() {
        let best = (2.0, 2.2, false);
        assert_eq!(ahead(&[best, (2.2, 2.4, false)], Better::Lower), [0, 1]);
        assert_eq!(ahead(&[best, (2.21, 2.4, false)], Better::Lower), [0]);
    }

    fn told(of: &[(f64, f64, bool)]) -> Vec<String> {
        let places = places(&cells(of), &vec![1; of.len()], Better::Lower);
        let told = places.into_iter().flatten();
        told.map(|place| place.to_string()).collect()
    }

    #[test]
    fn who_is_level_shares_a_place_and_the_next_is_behind_all_of_them() {
        let once = |value: f64| (value, value, false);
        // 1.04 is within 5 % of 1.00, 1.07 is not; it is level with 1.10, and 1.13 is not.
        let all = [1.10, 1.04, 3.0, 1.00, 1.07, 1.13].map(once);
        assert_eq!(told(&all), ["3", "1", "6", "1", "3", "5"]);
    }

    #[test]
    fn a_place_is_as_unsure_as_what_others_left_unfinished() {
        let of = |value: f64, bound: bool| (value, value, bound);
        // What is at least 2.5 may be anywhere behind 2.0, and ahead of nobody for sure.
        let all = [
            of(2.0, false),
            of(2.5, true),
            of(3.0, false),
            of(4.0, false),
        ];
        assert_eq!(told(&all), ["1", "2+", "2-3", "3-4"]);
        // Who may be ahead of everybody takes the first place from nobody for sure.
        assert_eq!(told(&[of(2.0, false), of(1.0, true)]), ["1-2", "1+"]);
        // At least as long as the best may be as long.
        assert_eq!(told(&[of(2.0, false), of(2.0, true)]), ["1-2", "1+"]);
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
