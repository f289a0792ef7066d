//! Conditions that a run has to meet: the `[thresholds]` of a scenario.
//!
//! A key is read once, as a `Metric`: a statistic of messages by size or tag, drops of a class, a transport's counter, or one
//! of the figures that stand alone. Its dimension says how the limit is written. What is only known from below proves no
//! upper limit. Last the verdicts as `JUnit` XML.

use crate::apart::OfTag;
use crate::human;
use crate::sizes::SizeBin;
use crate::stats::{Dist, Figure};
use crate::summary::Summary;
use model::Class;
use std::fmt;
use std::fmt::Write as _;
use units::text::edits;
use units::{Bytes, Rate, Span};

/// One condition, as `fct.p99 = "< 2ms"`. Several, separated by commas, must all hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    key: String,
    text: String,
    metric: Metric,
    conditions: Vec<(Operator, f64)>,
}

/// What became of one [`Threshold`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The metric: `fct.p99`.
    pub key: String,
    /// The condition: `< 2ms`.
    pub condition: String,
    /// What was measured, for people: `1.83 ms`, or `nothing`.
    pub measured: String,
    /// Whether it holds for certain; a figure known from below only never proves `<`.
    pub passed: bool,
}

/// Why a threshold cannot be evaluated, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdError(String);

impl fmt::Display for ThresholdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ThresholdError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Longest first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Operator {
    #[allow(
        clippy::float_cmp,
        reason = "counts are whole; for others the user asked for it"
    )]
    fn holds(self, measured: Figure<f64>, limit: f64) -> bool {
        let Figure { value, at_least } = measured;
        match self {
            Self::Greater => value > limit,
            Self::GreaterOrEqual => value >= limit,
            // The true value may be anything above.
            Self::NotEqual if at_least => value > limit,
            Self::Less | Self::LessOrEqual | Self::Equal if at_least => false,
            Self::Less => value < limit,
            Self::LessOrEqual => value <= limit,
            Self::Equal => value == limit,
            Self::NotEqual => value != limit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Time,
    Size,
    Rate,
    Count,
    Ratio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    Mean,
    Min,
    P50,
    P90,
    P95,
    P99,
    P999,
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

#[derive(Clone, Debug, PartialEq, Eq)]
enum Metric {
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
enum OfGroup {
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
        let time = |Figure { value, at_least }: Figure<u64>| Figure {
            value: value as f64,
            at_least,
        };
        let count = |n: u64, at_least: bool| Figure {
            value: n as f64,
            at_least,
        };
        Some(match self {
            Self::Took => time(tag.took_ps),
            // One that is under way may become one.
            Self::Stragglers => count(tag.stragglers, tag.unfinished > 0),
            Self::Unfinished => count(tag.unfinished, false),
            Self::Fct(statistic) => time(statistic.of(tag.fct_ps.as_ref()?)),
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

const SINGLE: [(&str, Dimension, Get); 18] = [
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

impl Metric {
    fn parse(key: &str) -> Option<Self> {
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

    fn dimension(&self) -> Dimension {
        match self {
            Self::Fct(..) => Dimension::Time,
            Self::Slowdown(..) => Dimension::Ratio,
            Self::Drops(_) | Self::Counter(_) => Dimension::Count,
            Self::Tag(_, what) => what.dimension(),
            Self::Single(i) => SINGLE[*i].1,
        }
    }

    fn measure(&self, summary: &Summary) -> Option<Figure<f64>> {
        let certain = |value: f64| Figure {
            value,
            at_least: false,
        };
        let bin = |i: usize| -> &SizeBin { &summary.sizes[i] };
        match self {
            Self::Fct(i, statistic) => {
                let Figure { value, at_least } = statistic.of(bin(*i).fct_ps.as_ref()?);
                Some(Figure {
                    value: value as f64,
                    at_least,
                })
            }
            Self::Slowdown(i, statistic) => Some(statistic.of(bin(*i).slowdown.as_ref()?)),
            Self::Drops(class) => Some(certain(
                summary
                    .drops
                    .by_class
                    .get(class.name())
                    .copied()
                    .unwrap_or(0) as f64,
            )),
            Self::Single(i) => SINGLE[*i].2(summary).map(certain),
            Self::Tag(name, what) => {
                let mut tags = summary.tags.iter();
                what.measure(tags.find(|tag| tag.name == *name)?)
            }
            Self::Counter(name) => {
                let of = summary.counters.iter().filter(|own| own.name == *name);
                let sum = of.map(|own| own.value as f64).reduce(|a, b| a + b);
                sum.map(certain)
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

impl Dimension {
    fn parse(self, text: &str) -> Result<f64, String> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
        match self {
            Self::Time => text
                .parse()
                .map(|Span(ps)| ps as f64)
                .map_err(|error| error.to_string()),
            Self::Size => text
                .parse()
                .map(|Bytes(n)| n as f64)
                .map_err(|error| error.to_string()),
            Self::Rate => text
                .parse()
                .map(|Rate(bps)| bps as f64)
                .map_err(|error| error.to_string()),
            Self::Count => match number(text) {
                Some(n) if n.fract().abs() < f64::EPSILON => Ok(n),
                _ => Err(format!("\"{text}\" is not a whole number")),
            },
            Self::Ratio => match text.strip_suffix('%') {
                Some(percent) => number(percent.trim()).map(|x| x / 100.0),
                None => number(text),
            }
            .ok_or_else(|| format!("\"{text}\" is not a number; write it like \"0.05\" or \"5%\"")),
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "measured values are not negative"
    )]
    fn show(self, Figure { value, at_least }: Figure<f64>) -> String {
        let text = match self {
            Self::Time => human::time(Span(value as u64)),
            Self::Size => human::bytes(Bytes(value as u64)),
            Self::Rate => human::rate(Rate(value as u64)),
            Self::Count => human::count(value as u64),
            // Three digits, and as many zeros as it takes.
            Self::Ratio if value > 0.0 && value < 0.1 => format!("{value:.5}"),
            Self::Ratio => human::ratio(value),
        };
        if at_least { format!(">= {text}") } else { text }
    }
}

impl Threshold {
    /// Reads one line of `[thresholds]`.
    ///
    /// # Errors
    /// A sentence that names what is wrong and what to write instead.
    pub fn parse(key: &str, text: &str) -> Result<Self, ThresholdError> {
        let metric = Metric::parse(key).ok_or_else(|| {
            ThresholdError(format!("there is no metric \"{key}\"{}", nearest(key)))
        })?;
        let conditions: Result<Vec<_>, _> = text
            .split(',')
            .map(|part| {
                let part = part.trim();
                let &(symbol, operator) = OPERATORS
                    .iter()
                    .find(|(symbol, _)| part.starts_with(symbol))
                    .ok_or_else(|| {
                        format!("\"{part}\" needs a comparison: write it like \"< {part}\"")
                    })?;
                let limit = part[symbol.len()..].trim();
                metric
                    .dimension()
                    .parse(limit)
                    .map(|limit| (operator, limit))
            })
            .collect();
        let conditions =
            conditions.map_err(|what: String| ThresholdError(format!("{key}: {what}")))?;
        Ok(Self {
            key: key.into(),
            text: text.trim().into(),
            metric,
            conditions,
        })
    }

    /// The counter of a transport that it is about, if it is: only the caller knows which there are.
    pub fn counter(&self) -> Option<&str> {
        match &self.metric {
            Metric::Counter(name) => Some(name),
            _ => None,
        }
    }

    /// The tag that it is about, if it is: only the caller knows which there are.
    pub fn tag(&self) -> Option<&str> {
        match &self.metric {
            Metric::Tag(name, _) => Some(name),
            _ => None,
        }
    }

    /// Whether `summary` meets it. What was not measured (no message of that size, no credits)
    /// does not.
    pub fn judge(&self, summary: &Summary) -> Verdict {
        let measured = self.metric.measure(summary);
        Verdict {
            key: self.key.clone(),
            condition: self.text.clone(),
            measured: measured.map_or("nothing".into(), |figure| {
                self.metric.dimension().show(figure)
            }),
            passed: measured.is_some_and(|figure| {
                self.conditions
                    .iter()
                    .all(|&(operator, limit)| operator.holds(figure, limit))
            }),
        }
    }
}

/// The metric most like `key`, as a question; or how to find them all.
fn nearest(key: &str) -> String {
    let close = |name: &String| edits(key, name);
    match metrics().into_iter().min_by_key(close) {
        Some(name) if edits(key, &name) <= 3 => format!("; did you mean \"{name}\"?"),
        _ => "; there are fct.p99, slowdown.p99, fct.s.p99 (s, m, l, xl), drops.scheduled, \
              drops.data, queue.max, goodput, fairness, utilisation.max, credits.waste, \
              messages.unfinished, packets.retransmitted, tags.NAME.took, tags.NAME.slowdown.p99 (fct, stragglers, \
              unfinished) where messages have several tags, counters.NAME of the transport and their like"
            .into(),
    }
}

/// The verdicts of several runs as `JUnit` XML, one suite per run, for continuous integration.
pub fn junit(runs: &[(&Summary, &[Verdict])]) -> String {
    let suites: String = runs
        .iter()
        .map(|&(summary, verdicts)| suite(summary, verdicts))
        .collect();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n")
}

fn suite(summary: &Summary, verdicts: &[Verdict]) -> String {
    let stuck = summary.leaves_messages();
    let unfinished = summary.messages.unfinished_total;
    let mut cases: Vec<(String, Option<String>)> = vec![
        (
            "every packet is accounted for".into(),
            summary.conservation.clone(),
        ),
        (
            "no message is stuck".into(),
            stuck.then(|| format!("{unfinished} messages")),
        ),
    ];
    cases.extend(verdicts.iter().map(|verdict| {
        let name = format!("{} {}", verdict.key, verdict.condition);
        (
            name,
            (!verdict.passed).then(|| format!("measured {}", verdict.measured)),
        )
    }));
    let name = format!(
        "{}/{}/seed {}",
        summary.scenario, summary.transport, summary.seed
    );
    let name = escape(&name);
    let failures = cases
        .iter()
        .filter(|(_, failure)| failure.is_some())
        .count();
    let mut xml = format!(
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\">\n",
        cases.len()
    );
    for (case, failure) in cases {
        let body = match failure {
            None => "/>".into(),
            Some(why) => format!("><failure message=\"{}\"/></testcase>", escape(&why)),
        };
        let case = escape(&case);
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"{case}\"{body}"
        );
    }
    xml.push_str("  </testsuite>\n");
    xml
}

/// Text as it may stand between tags and in attributes of XML. Control characters, which XML
/// cannot hold at all, become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
