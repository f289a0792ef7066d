//! Exact statistics: nearest-rank quantiles with censored values, fairness, seeded intervals.

use model::Rng;
use serde::{Deserialize, Serialize};

/// A figure that may be known from below only, because it rests on unfinished messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure<T> {
    /// The value.
    pub value: T,
    /// The true value is this or more.
    pub at_least: bool,
}

impl<T> Figure<T> {
    /// A value that is known.
    pub const fn exact(value: T) -> Self {
        Self {
            value,
            at_least: false,
        }
    }
}

impl Figure<u64> {
    /// The same as a real number.
    pub const fn real(self) -> Figure<f64> {
        Figure {
            value: self.value as f64,
            at_least: self.at_least,
        }
    }
}

/// How a set of values is distributed. Quantiles are by nearest rank: the smallest value that at
/// least the given share of all values does not exceed, so each is a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dist<T> {
    /// Arithmetic mean.
    pub mean: Figure<T>,
    /// Least.
    pub min: Figure<T>,
    /// Median.
    pub p50: Figure<T>,
    /// 90 in 100 are at most this.
    pub p90: Figure<T>,
    /// 95 in 100 are at most this.
    pub p95: Figure<T>,
    /// 99 in 100 are at most this.
    pub p99: Figure<T>,
    /// 999 in 1000 are at most this.
    pub p999: Figure<T>,
    /// Greatest.
    pub max: Figure<T>,
}

/// What can be ordered and averaged.
pub trait Value: Copy {
    /// A number that orders as the value does, and only the value has.
    fn key(self) -> u64;
    /// The value of a [`Value::key`].
    fn of_key(key: u64) -> Self;
    /// Mean of `values`, in the order given; not called with none.
    fn mean(values: impl Iterator<Item = Self>) -> Self;
}

impl Value for u64 {
    fn key(self) -> u64 {
        self
    }
    fn of_key(key: u64) -> Self {
        key
    }
    /// Rounded to the nearest whole.
    fn mean(values: impl Iterator<Item = Self>) -> Self {
        let (mut sum, mut n) = (0u128, 0u128);
        for value in values {
            sum += u128::from(value);
            n += 1;
        }
        Self::try_from((sum + n / 2) / n).expect("a mean does not exceed the greatest value")
    }
}

impl Value for f64 {
    /// The order of [`f64::total_cmp`].
    fn key(self) -> u64 {
        let bits = self.to_bits();
        if bits >> 63 == 0 {
            bits | 1 << 63
        } else {
            !bits
        }
    }
    fn of_key(key: u64) -> Self {
        Self::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key })
    }
    fn mean(values: impl Iterator<Item = Self>) -> Self {
        let (mut sum, mut n) = (0.0, 0.0);
        for value in values {
            sum += value;
            n += 1.0;
        }
        sum / n
    }
}

impl<T: Value> Dist<T> {
    /// The distribution of `values`; `None` where there are none. A value `at_least` is a lower
    /// bound: what rests on it is marked as a lower bound too.
    pub fn of(values: &[Figure<T>]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = Figure {
            value: T::mean(values.iter().map(|figure| figure.value)),
            at_least: values.iter().any(|figure| figure.at_least),
        };
        let sorted = Sorted::new(values.to_vec());
        Some(Self {
            mean,
            min: sorted.quantile(0),
            p50: sorted.quantile(5_000),
            p90: sorted.quantile(9_000),
            p95: sorted.quantile(9_500),
            p99: sorted.quantile(9_900),
            p999: sorted.quantile(9_990),
            max: sorted.quantile(10_000),
        })
    }
}

/// Values in order, ready to be asked for quantiles.
pub struct Sorted<T> {
    values: Vec<Figure<T>>,
    /// Values before the first lower bound: quantiles of that rank or less are exact.
    exact: usize,
}

impl<T: Value> Sorted<T> {
    /// Puts `values` into order.
    pub fn new(mut values: Vec<Figure<T>>) -> Self {
        if values.iter().any(|figure| figure.at_least) {
            values.sort_unstable_by_key(|figure| (figure.value.key(), figure.at_least));
        } else {
            // Plain numbers are in order in half the time.
            let mut keys: Vec<u64> = values.iter().map(|figure| figure.value.key()).collect();
            keys.sort_unstable();
            for (figure, key) in values.iter_mut().zip(keys) {
                figure.value = T::of_key(key);
            }
        }
        let exact = values
            .iter()
            .position(|figure| figure.at_least)
            .unwrap_or(values.len());
        Self { values, exact }
    }

    /// All of them, ascending.
    pub fn values(&self) -> &[Figure<T>] {
        &self.values
    }

    /// The quantile of `share` in ten-thousandths, by nearest rank; 0 gives the least.
    ///
    /// Replacing unfinished values by lower bounds can only lower a quantile, and does not change
    /// it while all values up to its rank are exact.
    ///
    /// # Panics
    /// If there are no values, or if `share` is above 10,000.
    pub fn quantile(&self, share: u32) -> Figure<T> {
        assert!(
            !self.values.is_empty() && share <= 10_000,
            "no quantile {share} of nothing"
        );
        let n = self.values.len() as u128;
        let rank = (u128::from(share) * n).div_ceil(10_000).max(1);
        let rank = usize::try_from(rank).expect("a rank is at most the number of values");
        Figure {
            value: self.values[rank - 1].value,
            at_least: rank > self.exact,
        }
    }
}

/// The middle of some figures, of an even number the greater one; none of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Jain's fairness index: 1 where all have the same, 1/n where one has all. [Jain 1984]
/// `None` where all have nothing.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares
        .iter()
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The mean over seeds and how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Mean over the seeds.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the ends bound the mean at 95 %; otherwise they are the least and greatest seed.
    pub bootstrap: bool,
}

/// From this many seeds on an interval is bootstrapped; fewer say too little. [ours]
pub const BOOTSTRAP_SEEDS: usize = 5;
/// Resamples: the ends then rest on the 50 outermost of each side. [ours]
const RESAMPLES: usize = 2_000;
/// Any fixed number: the same values give the same interval on every machine.
const BOOTSTRAP_SEED: u64 = 0x7469_6465;

impl Interval {
    /// The interval of one value per seed; `None` of none. The ends are those of the percentile
    /// bootstrap of the mean. [Efron 1979]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = f64::mean(values.iter().copied());
        if values.len() < BOOTSTRAP_SEEDS {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            return Some(Self {
                mean,
                low,
                high,
                bootstrap: false,
            });
        }
        let mut rng = Rng::stream(BOOTSTRAP_SEED, model::stream::BOOTSTRAP, 0);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                f64::mean((0..values.len()).map(|_| {
                    let pick = rng.below(values.len() as u64);
                    values[usize::try_from(pick).expect("below the length")]
                }))
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let outer = RESAMPLES / 40;
        Some(Self {
            mean,
            low: means[outer],
            high: means[RESAMPLES - 1 - outer],
            bootstrap: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: &[u64]) -> Vec<Figure<u64>> {
        values.iter().copied().map(Figure::exact).collect()
    }

    #[test]
    fn the_middle_of_an_even_number_of_figures_is_the_greater_one() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn keys_order_as_their_values_do_and_give_them_back() {
        let values = [
            f64::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            1.0,
            1e300,
        ];
        let ordered = |(a, b): (&f64, &f64)| a.total_cmp(b) == a.key().cmp(&b.key());
        assert!(
            values
                .iter()
                .all(|a| values.iter().all(|b| ordered((a, b))))
        );
        assert!(
            values
                .iter()
                .all(|a| f64::of_key(a.key()).to_bits() == a.to_bits())
        );
    }

    #[test]
    fn bounds_come_behind_exact_values_that_are_equal() {
        let figure = |value, at_least| Figure { value, at_least };
        let mixed = vec![
            figure(3u64, true),
            figure(3, false),
            figure(1, true),
            figure(2, false),
        ];
        let sorted = Sorted::new(mixed);
        let all: Vec<_> = sorted
            .values()
            .iter()
            .map(|f| (f.value, f.at_least))
            .collect();
        assert_eq!(all, [(1, true), (2, false), (3, false), (3, true)]);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let dist = Dist::of(&exact(&[40, 10, 30, 20])).unwrap();
        assert_eq!(
            (
                dist.min.value,
                dist.p50.value,
                dist.p90.value,
                dist.max.value
            ),
            (10, 20, 40, 40)
        );
        assert_eq!(dist.mean.value, 25);
        let hundred: Vec<u64> = (1..=100).collect();
        let dist = Dist::of(&exact(&hundred)).unwrap();
        assert_eq!(
            (
                dist.p50.value,
                dist.p95.value,
                dist.p99.value,
                dist.p999.value
            ),
            (50, 95, 99, 100)
        );
        assert_eq!(Dist::<u64>::of(&[]), None);
    }

    #[test]
    fn an_unfinished_message_marks_what_rests_on_it() {
        let mut values = exact(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        values.push(Figure {
            value: 5,
            at_least: true,
        });
        let dist = Dist::of(&values).unwrap();
        // Sorted: 1 2 3 4 5 5+ 6 7 8 9; the first five ranks are exact.
        assert_eq!(dist.p50, Figure::exact(5));
        assert_eq!(
            dist.p90,
            Figure {
                value: 8,
                at_least: true
            }
        );
        assert!(dist.mean.at_least && dist.max.at_least && !dist.min.at_least);
    }

    #[test]
    fn a_lower_bound_never_overstates_a_quantile() {
        // Whatever the unfinished value turns out to be, the quantile is at least what we said.
        let bounded = |late| {
            let mut values = exact(&[10, 20, 30]);
            values.push(Figure {
                value: late,
                at_least: late == 15,
            });
            Sorted::new(values)
        };
        let said = bounded(15);
        for truth in [15, 25, 1_000] {
            for share in [1, 2_500, 5_000, 7_500, 10_000] {
                let (said, truth) = (said.quantile(share), bounded(truth).quantile(share));
                assert!(said.value <= truth.value);
                assert!(said.at_least || said.value == truth.value);
            }
        }
    }

    #[test]
    fn fairness_is_one_when_equal_and_one_nth_when_one_has_all() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }

    /// Intervals on record were drawn from the same stream: with another number these move.
    #[test]
    fn the_same_values_give_the_interval_that_they_always_gave() {
        let powers = [1.0, 3.0, 9.0, 27.0, 81.0, 243.0, 729.0, 2187.0];
        let interval = Interval::of(&powers).unwrap();
        assert_eq!((interval.low, interval.high), (43.75, 972.75));
    }

    #[test]
    fn few_seeds_give_a_range_and_five_an_interval_inside_it() {
        let few = Interval::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(
            few,
            Interval {
                mean: 3.0,
                low: 1.0,
                high: 6.0,
                bootstrap: false
            }
        );
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        let interval = Interval::of(&five).unwrap();
        assert!(interval.bootstrap && 1.0 < interval.low && interval.high < 5.0);
        assert!(interval.low < 3.0 && 3.0 < interval.high);
        assert_eq!(
            Interval::of(&five),
            Some(interval),
            "the same values give the same interval"
        );
        // Half the width is near 1.96 * sd / sqrt(n) = 1.96 * 1.414 / 2.236 = 1.24.
        assert!(
            (interval.high - interval.low - 2.48).abs() < 0.3,
            "{interval:?}"
        );
    }

    #[test]
    fn a_mean_of_whole_numbers_is_rounded_to_the_nearest() {
        for (values, mean) in [
            (&[7][..], 7),
            (&[0, 1], 1),
            (&[0, 0, 1], 0),
            (&[0, 1, 1], 1),
            (&[1, 2, 3, 4], 3),
            (&[u64::MAX, u64::MAX], u64::MAX),
        ] {
            assert_eq!(
                Dist::of(&exact(values)).unwrap().mean.value,
                mean,
                "{values:?}"
            );
        }
        assert_eq!(Some(f64::mean([1.0, 2.0, 4.5].into_iter())), Some(2.5));
    }

    #[test]
    fn the_rank_of_a_quantile_is_rounded_up() {
        let sorted = Sorted::new(exact(&[30, 10, 20]));
        let ascending: Vec<u64> = sorted.values().iter().map(|figure| figure.value).collect();
        assert_eq!(ascending, [10, 20, 30]);
        for (share, value) in [
            (0, 10),
            (1, 10),
            (3_333, 10),
            (3_334, 20),
            (6_666, 20),
            (6_667, 30),
            (10_000, 30),
        ] {
            assert_eq!(sorted.quantile(share).value, value, "{share}");
        }
        let one = Sorted::new(exact(&[5]));
        assert_eq!((one.quantile(0).value, one.quantile(10_000).value), (5, 5));
    }

    #[test]
    fn each_quantile_is_that_of_its_share() {
        let values: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let figures: Vec<_> = values
            .iter()
            .map(|&value| Figure {
                value,
                at_least: value > 9_950.0,
            })
            .collect();
        let dist = Dist::of(&figures).unwrap();
        let known = [
            dist.min, dist.p50, dist.p90, dist.p95, dist.p99, dist.p999, dist.max,
        ];
        assert_eq!(
            known.map(|f| f.value).to_vec(),
            [1.0, 5_000.0, 9_000.0, 9_500.0, 9_900.0, 9_990.0, 10_000.0]
        );
        assert_eq!(
            known.map(|f| f.at_least),
            [false, false, false, false, false, true, true]
        );
        assert_eq!((dist.mean.value, dist.mean.at_least), (5_000.5, true));
    }

    #[test]
    #[should_panic(expected = "no quantile 10001 of nothing")]
    fn there_is_no_quantile_beyond_the_greatest() {
        Sorted::new(exact(&[1])).quantile(10_001);
    }

    #[test]
    #[should_panic(expected = "no quantile 0 of nothing")]
    fn nothing_has_no_quantile() {
        Sorted::<u64>::new(Vec::new()).quantile(0);
    }

    #[test]
    fn fairness_does_not_depend_on_scale_and_takes_more_than_ones() {
        assert_eq!(jain(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(jain(&[10.0, 20.0, 30.0]), jain(&[1.0, 2.0, 3.0]));
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn four_seeds_give_a_range_and_none_gives_nothing() {
        assert_eq!(Interval::of(&[]), None);
        let four = Interval::of(&[4.0, -1.0, 3.0, 2.0]).unwrap();
        let range = Interval {
            mean: 2.0,
            low: -1.0,
            high: 4.0,
            bootstrap: false,
        };
        assert_eq!(four, range);
        assert!(Interval::of(&[1.0; 5]).unwrap().bootstrap);
    }

    #[test]
    fn an_interval_is_that_of_every_machine() {
        // Frozen: the fifty outermost of 2000 means lie beyond each end.
        let seeds = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let interval = Interval::of(&seeds).unwrap();
        assert_eq!(Some(interval.mean), Some(127.0 / 7.0));
        let ends = (interval.low * 7.0, interval.high * 7.0);
        assert_eq!((ends.0.round(), ends.1.round()), (33.0, 244.0));
    }
}
