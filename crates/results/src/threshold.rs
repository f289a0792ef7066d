//! Conditions that a run has to meet: the `[thresholds]` of a scenario.
//!
//! A key is read once, as one of the figures. Its dimension says how the limit is written. What is only
//! known from below proves no upper limit. Last the verdicts as `JUnit` XML.

use crate::figures::{Dimension, Named, metrics};
use crate::human;
use crate::stats::Figure;
use crate::summary::Summary;
use std::fmt;
use std::fmt::Write as _;
use units::text::edits;
use units::{Bytes, Rate, Span};

/// One condition, as `fct.p99 = "< 2ms"`. Several, separated by commas, must all hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    key: String,
    text: String,
    metric: Named,
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
        let metric = Named::parse(key).ok_or_else(|| {
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
                        let meant = match part.strip_prefix('=') {
                            Some(limit) => format!("== {}", limit.trim()),
                            None => format!("< {part}"),
                        };
                        format!("\"{part}\" needs a comparison: write it like \"{meant}\"")
                    })?;
                let text = part[symbol.len()..].trim();
                let limit = metric.dimension().parse(text)?;
                if limit < 0.0 {
                    return Err(format!("\"{text}\" is below 0, and no figure is"));
                }
                Ok((operator, limit))
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
            Named::Counter(name) => Some(name),
            _ => None,
        }
    }

    /// The tag that it is about, if it is: only the caller knows which there are.
    pub fn tag(&self) -> Option<&str> {
        match &self.metric {
            Named::Tag(name, _) => Some(name),
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
