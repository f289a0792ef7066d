//! The figures of a run that have a name: what thresholds test and comparisons rank.
//!
//! A name is read once, as a [`Named`]: a statistic of messages by size or tag, drops of a class, a transport's counter, or one
//! of the figures that stand alone.

use crate::apart::OfTag;
use crate::sizes::SizeBin;
use crate::stats::{Dist, Figure};
use crate::summary::Summary;
use model::Class;

/// What the number of a figure is, which says how a limit is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// Picoseconds.
    Time,
    /// Bytes.
    Size,
    /// Bits per second.
    Rate,
    /// A whole number.
    Count,
    /// A plain number.
    Ratio,
}

/// Which number of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Least.
    Min,
    /// Median.
    P50,
    /// 90 in 100 are at most this.
    P90,
    /// 95 in 100.
    P95,
    /// 99 in 100.
    P99,
    /// 999 in 1000.
    P999,
    /// Greatest.
    Max,
}

const STATISTICS: [(&str, Statistic); 8] = [
    ("mean", Statistic::Mean),
    ("min", Statistic::Min),
    ("p50", Statistic::P50),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p999", Statistic::P999),
    ("max", Statistic::Max),
];

impl Statistic {
    fn of<T: Copy>(self, dist: &Dist<T>) -> Figure<T> {
        match self {
            Self::Mean => dist.mean,
            Self::Min => dist.min,
            Self::P50 => dist.p50,
            Self::P90 => dist.p90,
            Self::P95 => dist.p95,
            Self::P99 => dist.p99,
            Self::P999 => dist.p999,
            Self::Max => dist.max,
        }
    }
}

/// The size bins by name, as in [`SizeBin::name`].
const SIZES: [&str; 5] = ["all", "s", "m", "l", "xl"];

/// Metrics with a name of the user's or a transport's in them, besides [`metrics`]; every statistic stands for `p99`.
pub const NAMED_METRICS: [&str; 6] = [
    "tags.NAME.took",
    "tags.NAME.stragglers",
    "tags.NAME.unfinished",
    "tags.NAME.fct.p99",
    "tags.NAME.slowdown.p99",
    "counters.NAME",
];

/// A figure that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Completion time of a size bin.
    Fct(usize, Statistic),
    /// Slowdown of a size bin.
    Slowdown(usize, Statistic),
    /// Drops of a class.
    Drops(Class),
    /// A figure that stands alone, by its place in [`SINGLE`].
    Single(usize),
    /// What transports count under this name, all of them together.
    Counter(String),
    /// Something of the messages with this tag.
    Tag(String, OfGroup),
}

/// What a threshold may ask of the messages with a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfGroup {
    /// When the last byte of all was there, from the first start on.
    Took,
    /// Messages more than twice as slow as the median of them.
    Stragglers,
    /// Messages that did not finish.
    Unfinished,
    /// Completion times.
    Fct(Statistic),
    /// Slowdowns.
    Slowdown(Statistic),
}

impl OfGroup {
    /// The tag of `tags.NAME.WHAT` without the family, and what is asked of it; a tag may have dots.
    fn parse(rest: &str) -> Option<(String, Self)> {
        let (tag, last) = rest.rsplit_once('.')?;
        let alone = match last {
            "took" => Some(Self::Took),
            "stragglers" => Some(Self::Stragglers),
            "unfinished" => Some(Self::Unfinished),
            _ => None,
        };
        if let Some(what) = alone {
            return Some((tag.to_owned(), what));
        }
        let named = |(name, _): &(&str, Statistic)| *name == last;
        let (_, statistic) = STATISTICS.into_iter().find(named)?;
        match tag.rsplit_once('.')? {
            (tag, "fct") => Some((tag.to_owned(), Self::Fct(statistic))),
            (tag, "slowdown") => Some((tag.to_owned(), Self::Slowdown(statistic))),
            _ => None,
        }
    }

    fn dimension(self) -> Dimension {
        match self {
            Self::Took | Self::Fct(_) => Dimension::Time,
            Self::Stragglers | Self::Unfinished => Dimension::Count,
            Self::Slowdown(_) => Dimension::Ratio,
        }
    }

    fn measure(self, tag: &OfTag) -> Option<Figure<f64>> {
        Some(match self {
            Self::Took => tag.took_ps.real(),
            Self::Stragglers => Figure {
                value: tag.stragglers as f64,
                // One that is under way may become one.
                at_least: tag.unfinished > 0,
            },
            Self::Unfinished => Figure::exact(tag.unfinished as f64),
            Self::Fct(statistic) => statistic.of(tag.fct_ps.as_ref()?).real(),
            Self::Slowdown(statistic) => statistic.of(tag.slowdown.as_ref()?),
        })
    }
}

/// The family of figures of a tag.
const TAGS: &str = "tags";

/// The family of counters that transports declare.
const COUNTERS: &str = "counters";

/// Looks one figure up.
type Get = fn(&Summary) -> Option<f64>;

const SINGLE: [(&str, Dimension, Get); 19] = [
    ("drops.total", Dimension::Count, |s| {
        Some(s.drops.total as f64)
    }),
    ("drops.data", Dimension::Count, |s| {
        Some(s.drops.data as f64)
    }),
    ("drops.faults", Dimension::Count, |s| {
        Some(s.drops.faults.values().sum::<u64>() as f64)
    }),
    ("queue.max", Dimension::Size, |s| {
        s.queue_max.as_ref().map(|queue| queue.bytes as f64)
    }),
    ("queue.data-max", Dimension::Size, |s| {
        s.data_queue_max.as_ref().map(|queue| queue.bytes as f64)
    }),
    ("goodput", Dimension::Rate, |s| {
        s.goodput.map(|goodput| goodput.bps as f64)
    }),
    ("fairness", Dimension::Ratio, |s| s.fairness),
    ("utilisation.max", Dimension::Ratio, |s| {
        s.links
            .iter()
            .map(|group| group.utilisation_max)
            .reduce(f64::max)
    }),
    ("credits.waste", Dimension::Ratio, |s| s.credits.waste),
    ("credits.sent", Dimension::Count, |s| {
        Some(s.credits.sent as f64)
    }),
    ("messages.counted", Dimension::Count, |s| {
        Some(s.messages.counted as f64)
    }),
    ("messages.finished", Dimension::Count, |s| {
        Some(s.messages.finished as f64)
    }),
    ("messages.unfinished", Dimension::Count, |s| {
        Some(s.messages.unfinished as f64)
    }),
    ("messages.unfinished-total", Dimension::Count, |s| {
        Some(s.messages.unfinished_total as f64)
    }),
    ("packets.retransmitted", Dimension::Count, |s| {
        Some(s.packets.retransmitted as f64)
    }),
    ("packets.timeouts", Dimension::Count, |s| {
        Some(s.packets.timeouts as f64)
    }),
    ("packets.marked", Dimension::Count, |s| {
        Some(s.packets.marked as f64)
    }),
    ("pauses", Dimension::Count, |s| {
        Some(s.flow_control.as_ref().map_or(0.0, |all| all.pauses as f64))
    }),
    ("packets.nonsense", Dimension::Count, |s| {
        Some(s.packets.nonsense as f64)
    }),
];

impl Named {
    /// The figure with this name: `fct.s.p99`, `drops.data`.
    pub(crate) fn parse(key: &str) -> Option<Self> {
        if let Some(i) = SINGLE.iter().position(|&(name, ..)| name == key) {
            return Some(Self::Single(i));
        }
        let (family, rest) = key.split_once('.')?;
        if family == "drops" {
            return Class::ALL
                .into_iter()
                .find(|class| class.name() == rest)
                .map(Self::Drops);
        }
        if family == TAGS {
            return OfGroup::parse(rest).map(|(tag, what)| Self::Tag(tag, what));
        }
        if family == COUNTERS {
            return Some(Self::Counter(rest.to_owned()));
        }
        let (size, statistic) = rest.split_once('.').unwrap_or((SIZES[0], rest));
        let size = SIZES.iter().position(|&name| name == size)?;
        let (_, statistic) = STATISTICS
            .into_iter()
            .find(|&(name, _)| name == statistic)?;
        match family {
            "fct" => Some(Self::Fct(size, statistic)),
            "slowdown" => Some(Self::Slowdown(size, statistic)),
            _ => None,
        }
    }

    /// What its number is.
    pub(crate) fn dimension(&self) -> Dimension {
        match self {
            Self::Fct(..) => Dimension::Time,
            Self::Slowdown(..) => Dimension::Ratio,
            Self::Drops(_) | Self::Counter(_) => Dimension::Count,
            Self::Tag(_, what) => what.dimension(),
            Self::Single(i) => SINGLE[*i].1,
        }
    }

    /// Its number; `None` where the run has none (no message of that size, no credits).
    pub(crate) fn measure(&self, summary: &Summary) -> Option<Figure<f64>> {
        let bin = |i: usize| -> &SizeBin { &summary.sizes[i] };
        match self {
            Self::Fct(i, statistic) => Some(statistic.of(bin(*i).fct_ps.as_ref()?).real()),
            Self::Slowdown(i, statistic) => Some(statistic.of(bin(*i).slowdown.as_ref()?)),
            Self::Drops(class) => Some(Figure::exact(
                summary
                    .drops
                    .by_class
                    .get(class.name())
                    .copied()
                    .unwrap_or(0) as f64,
            )),
            Self::Single(i) => SINGLE[*i].2(summary).map(Figure::exact),
            Self::Tag(name, what) => {
                let mut tags = summary.tags.iter();
                what.measure(tags.find(|tag| tag.name == *name)?)
            }
            Self::Counter(name) => {
                let of = summary.counters.iter().filter(|own| own.name == *name);
                let sum = of.map(|own| own.value as f64).reduce(|a, b| a + b);
                sum.map(Figure::exact)
            }
        }
    }
}

/// Every metric that a threshold may name, for help and completion.
pub fn metrics() -> Vec<String> {
    let mut names = Vec::new();
    for family in ["fct", "slowdown"] {
        for size in SIZES {
            let size = if size == SIZES[0] {
                String::new()
            } else {
                format!("{size}.")
            };
            names.extend(
                STATISTICS
                    .iter()
                    .map(|(name, _)| format!("{family}.{size}{name}")),
            );
        }
    }
    names.extend(
        Class::ALL
            .iter()
            .map(|class| format!("drops.{}", class.name())),
    );
    names.extend(SINGLE.iter().map(|(name, ..)| (*name).to_owned()));
    names
}
