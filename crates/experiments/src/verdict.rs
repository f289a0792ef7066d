//! A number beside what was expected of it, and the tables of such numbers.
//!
//! A row holds one value per seed. It may be compared with a published number, with an earlier case as a ratio, or with
//! another row as a direction; the best word that holds is its verdict. A bound that unfinished messages leave open
//! can fail and cannot hold. The same verdicts are printed, written as Markdown with the run's command, and as CSV.

use crate::catalogue::{Expected, Experiment, Row};
use crate::each::Each;
use crate::figure::HEAD;
use crate::metric::Measured;
use crate::sentence::of_memory;
use report::Mark;
use results::stats::Interval;
use results::{Style, beside, wrap};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What came of one row.
pub struct Verdict {
    /// The experiment's name.
    pub experiment: String,
    /// The case.
    pub case: String,
    /// What was expected.
    pub spec: Row,
    /// One per seed.
    pub values: Vec<Measured>,
    /// One per seed, where messages are compared one by one.
    pub each: Vec<Each>,
}

/// In words, from agreement to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// A number is within its tolerance.
    Number,
    /// A ratio is.
    Ratio,
    /// Of two numbers the right one is larger.
    Direction,
    /// The interval over seeds keeps its bounds.
    Bound,
    /// Nothing was expected.
    NoNumber,
    /// Messages that did not finish leave it open.
    Open,
    /// It is off, and only reported.
    DiffersReported,
    /// It is off.
    Differs,
}

impl Word {
    pub(crate) const ALL: [Self; 8] = [
        Self::Number,
        Self::Ratio,
        Self::Direction,
        Self::Bound,
        Self::NoNumber,
        Self::Open,
        Self::DiffersReported,
        Self::Differs,
    ];

    pub(crate) const fn mark(self) -> Mark {
        match self {
            Self::Number | Self::Ratio | Self::Direction | Self::Bound => Mark::Holds,
            Self::NoNumber => Mark::Told,
            Self::Open => Mark::Open,
            Self::DiffersReported | Self::Differs => Mark::Differs,
        }
    }

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Number => "number matches",
            Self::Ratio => "ratio matches",
            Self::Direction => "direction matches",
            Self::Bound => "bound holds",
            Self::NoNumber => "no public number",
            Self::Open => "open: messages did not finish",
            Self::DiffersReported => "differs (reported)",
            Self::Differs => "DIFFERS",
        }
    }
}

impl Row {
    /// Whether `interval` respects the bounds; `None` where there are none.
    fn holds(&self, interval: &Interval) -> Option<bool> {
        if self.at_least.is_none() && self.at_most.is_none() {
            return None;
        }
        // A mean that is not a number leaves ends that would hold any bound.
        Some(
            !interval.mean.is_nan()
                && self.at_least.is_none_or(|least| interval.low >= least)
                && self.at_most.is_none_or(|most| interval.high <= most),
        )
    }

    /// The bound of a quick run, which has too few messages for more than a direction.
    #[must_use]
    pub fn loosened(mut self) -> Self {
        if self.is_ratio() {
            self.at_least = self.at_least.map(|least| least.min(1.0));
            self.at_most = self.at_most.map(|most| most.max(1.0));
        }
        self
    }

    /// Whether an earlier row has what this one is compared with.
    pub fn compares_with(&self, other: &Verdict) -> bool {
        other.spec.against.is_none() && self.rests_on(&other.case, &other.spec)
    }

    /// Whether an earlier row has the ratio that this one's is compared with.
    pub fn exceeds(&self, other: &Verdict) -> bool {
        other.spec.against.is_some() && self.rests_on(&other.case, &other.spec)
    }

    /// Whether it is compared with the row `other` of `case`.
    pub fn rests_on(&self, case: &str, other: &Self) -> bool {
        let of_case = match other.against {
            None => &self.against,
            Some(_) => &self.than,
        };
        other.than.is_none()
            && of_case.as_deref() == Some(case)
            && self.metric.base() == other.metric
            && self.window == other.window
    }

    /// Whether its value is one number over another.
    fn is_ratio(&self) -> bool {
        self.against.is_some() && self.metric.base() == self.metric
    }

    /// Whether the expected number is known from memory alone.
    pub(crate) fn is_recalled(&self) -> bool {
        self.expected.is_some() && self.evidence.starts_with("recalled")
    }

    /// Whether it asks for no more than which of two is larger.
    pub(crate) fn of_direction(&self) -> bool {
        let one = |bound: Option<f64>| bound.is_none_or(|bound| (bound - 1.0).abs() < 1e-9);
        self.is_ratio() && one(self.at_least) && one(self.at_most)
    }
}

impl Verdict {
    /// What is compared: the mean over seeds, or the median.
    pub(crate) fn measured(&self) -> f64 {
        let mut values = self.numbers();
        if self.spec.median {
            values.sort_by(f64::total_cmp);
            return values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
        }
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|measured| measured.value).collect()
    }

    /// Whether the true number may be smaller, or greater, because messages did not finish.
    fn open(&self) -> (bool, bool) {
        let any = |of: fn(&Measured) -> bool| self.values.iter().any(of);
        (any(|m| m.at_most), any(|m| m.at_least))
    }

    /// What was measured, with the side to which it is open.
    fn told(&self) -> String {
        let sign = match self.open() {
            (false, false) => "",
            (false, true) => ">= ",
            (true, false) => "<= ",
            (true, true) => "about ",
        };
        format!("{sign}{}", short(self.measured()))
    }

    /// Whether no true number that fits what was measured could match: the bounds and the slack are
    /// missed on the side to which it is open no further.
    fn beyond(&self) -> bool {
        let (down, up) = self.open();
        let value = self.measured();
        let slack = self.spec.expected.zip(self.slack());
        let most = self.spec.at_most.or(slack.map(|(n, slack)| n + slack));
        let least = self.spec.at_least.or(slack.map(|(n, slack)| n - slack));
        !down && most.is_some_and(|most| value > most)
            || !up && least.is_some_and(|least| value < least)
    }

    /// Sets it in relation to `base`, seed by seed: each message to the same one, or the value to that.
    pub fn compare(&mut self, base: &Self) {
        let own = self.values.iter_mut().zip(&base.values).enumerate();
        for (seed, (value, other)) in own {
            let each = self.each.get(seed).zip(base.each.get(seed));
            match each.and_then(|(own, base)| self.spec.metric.of_each(own, base)) {
                Some(measured) => *value = measured,
                None => *value /= *other,
            }
        }
    }

    /// How far off it may be, if a number is expected.
    pub fn slack(&self) -> Option<f64> {
        let expected = self.spec.expected?;
        match self.spec.tolerance.as_ref()? {
            toml::Value::Float(absolute) => Some(*absolute),
            toml::Value::Integer(absolute) => i32::try_from(*absolute).ok().map(f64::from),
            toml::Value::String(text) => {
                let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
                Some(expected.abs() * percent / 100.0)
            }
            _ => None,
        }
    }

    /// Over the seeds; the ends are the least and the greatest where there are few.
    pub(crate) fn interval(&self) -> Option<Interval> {
        Interval::of(&self.numbers())
    }

    /// The verdict.
    pub fn word(&self) -> Word {
        let bounded = self.interval().and_then(|i| self.spec.holds(&i));
        let near = self
            .spec
            .expected
            .zip(self.slack())
            .map(|(expected, slack)| (self.measured() - expected).abs() <= slack);
        let Some(holds) = bounded.or(near) else {
            return Word::NoNumber;
        };
        // What messages that did not finish leave open may miss, and never holds.
        if self.open() != (false, false) {
            return if self.beyond() {
                self.differs()
            } else {
                Word::Open
            };
        }
        match (holds, bounded.is_some()) {
            (true, true) if self.spec.of_direction() => Word::Direction,
            (true, true) => Word::Bound,
            (true, false) if self.spec.is_ratio() => Word::Ratio,
            (true, false) => Word::Number,
            (false, _) => self.differs(),
        }
    }

    fn differs(&self) -> Word {
        if self.spec.report_only {
            Word::DiffersReported
        } else {
            Word::Differs
        }
    }

    /// Whether it is ground for failure.
    pub fn failed(&self) -> bool {
        self.word() == Word::Differs
    }

    /// The verdict, and why where it is against.
    fn words(&self) -> String {
        let word = self.word();
        match &self.spec.cause {
            Some(cause) if word >= Word::DiffersReported => format!("{}: {cause}", word.text()),
            _ => word.text().to_owned(),
        }
    }

    pub(crate) fn case_name(&self) -> String {
        match (&self.spec.against, &self.spec.than) {
            (Some(other), Some(than)) => format!("{} / {other}, over that of {than}", self.case),
            (Some(other), None) => format!("{} / {other}", self.case),
            (None, _) => self.case.clone(),
        }
    }

    pub(crate) fn metric_name(&self) -> String {
        let name = self.spec.metric.name();
        match self.spec.window {
            Some(window) => format!("{name}, {window}"),
            None => name,
        }
    }

    /// As a result page shows it, a cell per column.
    pub(crate) fn cells(&self) -> [String; 7] {
        let spread = self.spread().map(|spread| format!(" ({spread})"));
        [
            self.case_name(),
            self.metric_name(),
            self.expected(),
            format!("{}{}", self.told(), spread.unwrap_or_default()),
            self.allowed(),
            self.spec.evidence.clone(),
            self.words(),
        ]
    }

    /// A row before anything was measured.
    pub(crate) fn empty(case: &str, spec: &Row) -> Self {
        Self {
            experiment: String::new(),
            case: case.to_owned(),
            spec: spec.clone(),
            values: Vec::new(),
            each: Vec::new(),
        }
    }

    fn allowed(&self) -> String {
        let bounds = [(self.spec.at_least, ">="), (self.spec.at_most, "<=")];
        let bounds =
            bounds.map(|(bound, sign)| bound.map(|bound| format!("{sign}{}", short(bound))));
        let slack = self.slack().map(|slack| format!("±{}", short(slack)));
        let allowed: Vec<_> = slack
            .into_iter()
            .chain(bounds.into_iter().flatten())
            .collect();
        if allowed.is_empty() {
            "-".to_owned()
        } else {
            allowed.join(" ")
        }
    }

    fn expected(&self) -> String {
        self.spec.expected.map_or("-".to_owned(), short)
    }

    /// The 95 % interval, where there are seeds enough and no number is expected; of fewer seeds the least and the greatest,
    /// where only these miss a bound.
    fn spread(&self) -> Option<String> {
        let interval = self.interval()?;
        let mean = Interval {
            low: interval.mean,
            high: interval.mean,
            ..interval
        };
        let ends_miss = || self.spec.holds(&interval) < self.spec.holds(&mean);
        let of = match interval.bootstrap {
            true if self.spec.expected.is_none() => "95 % in",
            false if ends_miss() => "seeds from",
            true | false => return None,
        };
        let (low, high) = (short(interval.low), short(interval.high));
        Some(format!("{of} {low} to {high}"))
    }
}

/// The table of one experiment, for the terminal: a line per number, or where that is too narrow a
/// paragraph per case. `quick` says what a quick run left out.
pub fn table(
    experiment: &Experiment,
    expected: &Expected,
    verdicts: &[Verdict],
    quick: &str,
    style: Style,
) -> String {
    let head = format!(
        "{}  {}  {}",
        experiment.name, expected.title, expected.source
    );
    let mut text = format!("\n{}\n", wrap(&head, style.width, 0));
    if !quick.is_empty() {
        let _ = writeln!(text, "{}", beside("  ", quick, style.width));
    }
    let lines = lines(verdicts);
    if lines.iter().all(|line| line.chars().count() <= style.width) {
        text.extend(lines.iter().flat_map(|line| [line.as_str(), "\n"]));
        return text;
    }
    let mut case = String::new();
    for verdict in verdicts {
        if verdict.case_name() != case {
            case = verdict.case_name();
            let _ = writeln!(text, "{}", beside("  ", &case, style.width));
        }
        let mut told = format!("{} {}", verdict.metric_name(), short(verdict.measured()));
        let allowed = verdict.allowed();
        match (&verdict.spec.expected, allowed.as_str()) {
            (None, "-") => {}
            (None, allowed) => _ = write!(told, " ({allowed})"),
            (Some(expected), "-") => _ = write!(told, " (expected {})", short(*expected)),
            (Some(expected), allowed) => {
                let _ = write!(told, " (expected {} {allowed})", short(*expected));
            }
        }
        let _ = write!(told, ": {}", verdict.words());
        if let Some(spread) = verdict.spread() {
            let _ = write!(told, ", {spread}");
        }
        let _ = writeln!(text, "{}", beside("    ", &told, style.width));
    }
    text
}

/// A line per number, below each other.
fn lines(verdicts: &[Verdict]) -> Vec<String> {
    let head = ["case", "metric", "expected", "measured", "allowed"].map(str::to_owned);
    let cells = |verdict: &Verdict| {
        [
            verdict.case_name(),
            verdict.metric_name(),
            verdict.expected(),
            verdict.told(),
            verdict.allowed(),
        ]
    };
    let rows: Vec<_> = verdicts.iter().map(cells).collect();
    let widths: [usize; 5] = std::array::from_fn(|i| {
        let cells = rows.iter().chain([&head]).map(|row| row[i].chars().count());
        cells.max().unwrap_or(0)
    });
    let line = |[case, metric, numbers @ ..]: &[String; 5]| {
        let mut line = format!("  {case:<0$} {metric:<1$}", widths[0], widths[1]);
        for (number, width) in numbers.iter().zip(&widths[2..]) {
            let _ = write!(line, " {number:>width$}");
        }
        line
    };
    let mut lines = vec![format!("{}  verdict", line(&head))];
    for (verdict, row) in verdicts.iter().zip(&rows) {
        let mut text = format!("{}  {}", line(row), verdict.words());
        if let Some(spread) = verdict.spread() {
            let _ = write!(text, ", {spread}");
        }
        lines.push(text);
    }
    lines
}

/// The verdict on all of them in a line, and `cost` after it; whether a `quick` run left anything out.
pub fn totals(verdicts: &[Verdict], cost: &str, quick: bool, style: Style) -> String {
    let from_memory = |v: &&Verdict| v.spec.is_recalled() && v.word() != Word::NoNumber;
    let (recalled, sure): (Vec<&Verdict>, Vec<&Verdict>) = verdicts.iter().partition(from_memory);
    let count = |test: &dyn Fn(Word) -> bool| sure.iter().filter(|v| test(v.word())).count();
    let holds = count(&|word| word < Word::NoNumber);
    let alone = count(&|word| word == Word::NoNumber);
    let reported = count(&|word| word == Word::DiffersReported);
    let differs = count(&|word| word == Word::Differs);
    let mark = if differs > 0 { "✗" } else { "✓" };
    let judged = holds + reported + differs;
    let of = if quick { "in a quick run " } else { "" };
    let mut parts = vec![match judged {
        0 => format!("{of}nothing to hold it against"),
        _ => format!("{of}{holds} of {judged} expected numbers, ratios and directions hold"),
    }];
    if reported > 0 {
        parts.push(format!("{reported} differ and are only reported"));
    }
    if differs > 0 {
        parts.push(format!("{differs} DIFFER"));
    }
    let kept = recalled.iter().filter(|v| v.word() < Word::NoNumber);
    parts.extend(of_memory(recalled.len(), kept.count()));
    if alone > 0 {
        parts.push(format!("{alone} have no public number"));
    }
    let text = format!("{}; {cost}", parts.join(", "));
    format!("{}\n", beside(&format!(" {mark} "), &text, style.width))
}

/// Every measured number, a line per seed.
pub fn csv(verdicts: &[Verdict]) -> String {
    let mut text = String::from(
        "experiment,case,metric,against,than,seed,value,expected,at_least,at_most,allowed,evidence,verdict\n",
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let quoted = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    for verdict in verdicts {
        let spec = &verdict.spec;
        for (seed, value) in (1u64..).zip(verdict.numbers()) {
            let cells = [
                quoted(&verdict.experiment),
                quoted(&verdict.case),
                quoted(&verdict.metric_name()),
                quoted(spec.against.as_deref().unwrap_or_default()),
                quoted(spec.than.as_deref().unwrap_or_default()),
                seed.to_string(),
                number(Some(value).filter(|value| !value.is_nan())),
                number(spec.expected),
                number(spec.at_least),
                number(spec.at_most),
                number(verdict.slack()),
                quoted(&spec.evidence),
                quoted(verdict.word().text()),
            ];
            text += &cells.join(",");
            text.push('\n');
        }
    }
    text
}

/// What comes before the summary in a result page.
const RAN: &str = "Ran: ";

/// The page of one experiment's result; `command` made it, and `quick` says what a quick run left out.
pub fn page(experiment: &Experiment, command: &str, verdicts: &[Verdict], quick: &str) -> String {
    let mut words: Vec<Word> = verdicts.iter().map(Verdict::word).collect();
    words.sort_unstable();
    let counts = words.chunk_by(|a, b| a == b);
    let counts: Vec<String> = counts
        .map(|same| format!("{}: {}", same[0].text(), same.len()))
        .collect();
    let head = HEAD.join(" | ");
    let quick = match quick {
        "" => String::new(),
        quick => format!("{quick}\n\n"),
    };
    let mut text = format!(
        "# {} when it last ran\n\n{RAN}`{command}`: {}.\n\n{quick}| {head} |\n|{}\n",
        experiment.name,
        counts.join(", "),
        " --- |".repeat(HEAD.len()),
    );
    for verdict in verdicts {
        let _ = writeln!(text, "| {} |", verdict.cells().join(" | "));
    }
    text
}

/// How many of each verdict a result page tells of, all parts of a run in several parts together.
pub fn summary(page: &str) -> Option<String> {
    let mut counts: Vec<(Word, usize)> = Vec::new();
    for line in page.lines().filter_map(|line| line.strip_prefix(RAN)) {
        let (_, told) = line.strip_suffix('.')?.rsplit_once("`: ")?;
        for count in told.split(", ") {
            let (text, n) = count.split_once(": ")?;
            let word = Word::ALL.into_iter().find(|word| word.text() == text)?;
            counts.push((word, n.parse().ok()?));
        }
    }
    counts.sort_unstable();
    let same = counts.chunk_by(|a, b| a.0 == b.0);
    let told: Vec<String> = same
        .map(|same| {
            let n: usize = same.iter().map(|(_, n)| n).sum();
            format!("{}: {n}", same[0].0.text())
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Four significant digits; "none" where there was nothing to measure.
pub(crate) fn short(value: f64) -> String {
    if value.is_nan() {
        return "none".to_owned();
    }
    let digits = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// Everything as JSON.
pub fn document(verdicts: &[Verdict]) -> String {
    let rows: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            json!({
                "experiment": verdict.experiment,
                "case": verdict.case,
                "metric": verdict.metric_name(),
                "against": verdict.spec.against,
                "than": verdict.spec.than,
                "expected": verdict.spec.expected,
                "at_least": verdict.spec.at_least,
                "at_most": verdict.spec.at_most,
                "evidence": verdict.spec.evidence,
                "allowed": verdict.slack(),
                "values": verdict.numbers(),
                "may_be_smaller": verdict.open().0,
                "may_be_greater": verdict.open().1,
                "interval": verdict.interval(),
                "verdict": verdict.word().text(),
                "cause": verdict.spec.cause,
            })
        })
        .collect();
    format!("{}\n", json!({ "schema": 1, "rows": rows }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::EXPERIMENTS;

    fn row(text: &str) -> Row {
        Row::parse(&format!("metric = 'goodput'\nevidence = 'ours'\n{text}"))
    }

    fn verdict(text: &str, values: &[f64]) -> Verdict {
        Verdict {
            experiment: String::new(),
            case: "few".to_owned(),
            spec: row(text),
            values: values.iter().map(|&value| value.into()).collect(),
            each: Vec::new(),
        }
    }

    #[test]
    fn a_bound_holds_where_the_whole_interval_does() {
        let word = |text: &str, values: &[f64]| verdict(text, values).word();
        let wide = [0.5, 0.6, 0.7, 0.8, 0.9];
        assert_eq!(word("at_most = 0.85", &wide), Word::Bound);
        assert_eq!(
            word("at_most = 0.72", &wide),
            Word::Differs,
            "the mean is 0.7, but the interval reaches above 0.72"
        );
        assert_eq!(
            word("at_least = 0.68\nreport_only = true", &wide),
            Word::DiffersReported
        );
        assert_eq!(word("", &wide), Word::NoNumber);
        assert_eq!(word("at_most = 1.0", &[f64::NAN]), Word::Differs);
    }

    #[test]
    fn a_mean_that_holds_a_bound_beside_seeds_that_miss_it_says_so() {
        let spread = |text: &str, values: &[f64]| verdict(text, values).spread();
        let three = [0.5, 0.7, 0.9];
        let said = Some("seeds from 0.5000 to 0.9000".to_owned());
        assert_eq!(spread("at_most = 0.8", &three), said);
        assert_eq!(spread("at_least = 0.6", &three), said);
        for told in ["at_most = 0.95", "at_most = 0.6", ""] {
            assert_eq!(spread(told, &three), None, "{told}");
        }
    }

    #[test]
    fn what_unfinished_messages_leave_open_only_fails_or_says_so() {
        let word = |text: &str, at_most: bool, at_least: bool| {
            let mut verdict = verdict(text, &[0.5]);
            verdict.values[0] = Measured {
                at_most,
                at_least,
                ..verdict.values[0]
            };
            verdict.word()
        };
        // At least 0.5.
        for text in [
            "at_most = 0.6",
            "at_least = 0.4",
            "at_least = 0.6",
            "expected = 0.5\ntolerance = 0.1",
            "expected = 0.7\ntolerance = 0.1",
        ] {
            assert_eq!(word(text, false, true), Word::Open, "{text}");
            assert_eq!(word(text, true, true), Word::Open, "{text}");
        }
        for text in ["at_most = 0.4", "expected = 0.3\ntolerance = 0.1"] {
            assert_eq!(word(text, false, true), Word::Differs, "{text}");
            let reported = format!("{text}\nreport_only = true");
            assert_eq!(word(&reported, false, true), Word::DiffersReported);
            assert_eq!(word(text, true, false), Word::Open, "{text}");
            assert_eq!(word(text, false, false), Word::Differs, "{text}");
        }
        // At most 0.5.
        assert_eq!(word("at_least = 0.6", true, false), Word::Differs);
        assert_eq!(word("at_most = 0.6", true, false), Word::Open);
        assert_eq!(word("", false, true), Word::NoNumber);
        let mut row = verdict("", &[0.5]);
        row.values[0].at_least = true;
        assert_eq!(row.told(), ">= 0.5000");
        assert!(document(&[row]).contains("\"may_be_greater\":true"));
    }

    #[test]
    fn a_match_says_whether_of_a_number_a_ratio_or_a_direction() {
        let word = |text: &str| verdict(text, &[0.5]).word();
        let near = "expected = 0.51\ntolerance = 0.1";
        assert_eq!(word(near), Word::Number);
        assert_eq!(word(&format!("against = 'many'\n{near}")), Word::Ratio);
        assert_eq!(word("against = 'many'\nat_most = 1.0"), Word::Direction);
        assert_eq!(word("against = 'many'\nat_most = 0.8"), Word::Bound);
    }

    #[test]
    fn a_ratio_may_be_one_to_another_ratio() {
        let of = |case: &str, text: &str, values: &[f64]| Verdict {
            case: case.to_owned(),
            ..verdict(text, values)
        };
        let base = of("b, slow", "", &[4.0, 5.0]);
        let slow = of("a, slow", "against = 'b, slow'", &[0.5, 0.5]);
        let mut fast = of(
            "a, fast",
            "against = 'b, fast'\nthan = 'a, slow'\nat_most = 1.0",
            &[3.0, 9.0],
        );
        assert!(slow.spec.compares_with(&base) && !slow.spec.exceeds(&base));
        assert!(fast.spec.exceeds(&slow) && !fast.spec.compares_with(&slow));
        assert!(
            !slow.spec.exceeds(&fast),
            "one in relation to it is no ratio"
        );
        fast.compare(&of("b, fast", "", &[2.0, 6.0]));
        fast.compare(&slow);
        assert_eq!(fast.numbers(), [3.0, 3.0]);
        assert_eq!(fast.word(), Word::Differs);
        assert_eq!(fast.case_name(), "a, fast / b, fast, over that of a, slow");
    }

    #[test]
    fn a_cause_is_told_where_a_number_differs_and_only_there() {
        let words = |most: f64| {
            let text = format!("at_most = {most}\nreport_only = true\ncause = 'other hosts'");
            verdict(&text, &[0.5]).words()
        };
        assert_eq!(words(0.4), "differs (reported): other hosts");
        assert_eq!(words(0.6), "bound holds");
    }

    #[test]
    fn a_quick_run_judges_ratios_by_their_direction_alone() {
        let ratio = row("against = 'a'\nat_most = 0.8").loosened();
        assert_eq!(ratio.at_most, Some(1.0));
        assert_eq!(row("at_most = 0.8").loosened().at_most, Some(0.8));
    }

    #[test]
    fn a_page_tells_its_counts_and_parts_are_added_up() {
        let verdicts = [
            verdict("", &[1.0]),
            verdict("expected = 1.0\ntolerance = 0.1", &[1.0]),
            verdict("", &[1.0]),
        ];
        let page = page(&EXPERIMENTS[0], "tidegate reproduce few", &verdicts, "");
        let told = summary(&page);
        assert_eq!(
            told.as_deref(),
            Some("number matches: 1, no public number: 2")
        );
        let told = summary(&format!("{page}\n{page}"));
        assert_eq!(
            told.as_deref(),
            Some("number matches: 2, no public number: 4")
        );
        assert_eq!(summary("# Nothing"), None);
        assert!(
            page.ends_with("| few | goodput Gb/s | - | 1.000 | - | ours | no public number |\n")
        );
    }
}
