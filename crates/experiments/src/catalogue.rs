//! The folders of `experiments/`: what each of them expects, with its variants multiplied out.
//! The list of them all, the files as they are written, the cases and rows that follow from them, what a claim keeps of
//! those, and what a case sets in full and quickly.

use crate::figure::{Panel, Told};
use crate::metric::{Metric, Span2};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One experiment: a folder of `experiments/`, or one of the user's.
#[derive(Clone)]
pub struct Experiment {
    /// The folder's name; of a user's, its path.
    pub name: Cow<'static, str>,
    /// The text of its scenario.
    pub scenario: Cow<'static, str>,
    expected: Cow<'static, str>,
}

macro_rules! experiment {
    ($name:literal) => {
        Experiment {
            name: Cow::Borrowed($name),
            scenario: Cow::Borrowed(include_str!(concat!(
                "../../../experiments/",
                $name,
                "/scenario.toml"
            ))),
            expected: Cow::Borrowed(include_str!(concat!(
                "../../../experiments/",
                $name,
                "/expected.toml"
            ))),
        }
    };
}

/// Every experiment, in the order of the table.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment!("xpass-fig1"),
    experiment!("xpass-fig2"),
    experiment!("xpass-fig5"),
    experiment!("xpass-fig6"),
    experiment!("xpass-fig8"),
    experiment!("xpass-fig10"),
    experiment!("xpass-fig11"),
    experiment!("xpass-fig13"),
    experiment!("xpass-fig15"),
    experiment!("xpass-fig16"),
    experiment!("xpass-fig17"),
    experiment!("xpass-fig18"),
    experiment!("xpass-fig19"),
    experiment!("xpass-fig20"),
    experiment!("xpass-fig21"),
    experiment!("xpass-table3"),
    experiment!("xpass-incast"),
    experiment!("xpass-leaf-spine"),
    experiment!("xpass-one-flow"),
    experiment!("xpass-ns2-messages"),
    experiment!("xpass-zero-loss"),
    experiment!("aeolus-fig1"),
    experiment!("aeolus-fig2"),
    experiment!("aeolus-fig3"),
    experiment!("aeolus-fig4"),
    experiment!("aeolus-fig8"),
    experiment!("aeolus-fig9"),
    experiment!("aeolus-fig10"),
    experiment!("aeolus-fig11"),
    experiment!("aeolus-fig12"),
    experiment!("aeolus-fig13"),
    experiment!("aeolus-eager"),
    experiment!("aeolus-one-loss"),
    experiment!("aeolus-threshold"),
    experiment!("ssp-workloads"),
    experiment!("ssp-threshold"),
    experiment!("no-timers"),
    experiment!("lossy-transfer"),
    experiment!("legacy-beside"),
    experiment!("homa-slowdown"),
    experiment!("homa-ns2-messages"),
    experiment!("homa-omnet-messages"),
    experiment!("ndp-htsim-messages"),
    experiment!("ndp-htsim-small"),
    experiment!("ndp-incast"),
    experiment!("ndp-permutation"),
    experiment!("ndp-degraded"),
    experiment!("ndp-sender"),
    experiment!("ndp-slowdown"),
    experiment!("fastpass-arbiter"),
    experiment!("fastpass-load"),
    experiment!("fastpass-permutation"),
    experiment!("fastpass-yaps"),
    experiment!("phost-incast"),
    experiment!("phost-permutation"),
    experiment!("phost-slowdown"),
    experiment!("phost-yaps"),
    experiment!("dcpim-load"),
    experiment!("dcpim-data-mining"),
    experiment!("dcpim-fat-tree"),
    experiment!("dcpim-artefact"),
    experiment!("dcpim-worst-case"),
    experiment!("sird-incasts"),
    experiment!("sird-outcast"),
    experiment!("sird-queues"),
    experiment!("sird-core"),
    experiment!("sird-requests"),
    experiment!("sird-ns2-messages"),
    experiment!("dctcp-two-flows"),
    experiment!("dctcp-ns2-long"),
    experiment!("dctcp-ns2-incast"),
    experiment!("dctcp-ns3-incast"),
    experiment!("dctcp-ns3-permutation"),
    experiment!("dctcp-ns3-web-search"),
    experiment!("dctcp-ns3-web-server"),
    experiment!("dctcp-ns3-mixed"),
    experiment!("aquarius-micro"),
    experiment!("aquarius-one-rtt"),
    experiment!("aquarius-coupling"),
    experiment!("aquarius-fct"),
    experiment!("aquarius-queues"),
    experiment!("aquarius-sensitivity"),
    experiment!("bfc-tail"),
    experiment!("bfc-sweeps"),
    experiment!("flow-worlds"),
];

/// What an experiment expects: its `expected.toml`, with every case for itself.
pub struct Expected {
    /// What it is about.
    pub title: String,
    /// The figure or section, like `[xpass Fig. 16]`.
    pub source: String,
    /// Seeds of a full run.
    pub seeds: u64,
    /// Seeds of a quick one.
    pub quick_seeds: u64,
    /// What every case sets.
    pub set: Vec<String>,
    /// What a quick run sets besides: it does less, so its ratios need only be on the right side of 1.
    pub quick_set: Vec<String>,
    /// Its cases, in order.
    pub cases: Vec<Case>,
    /// The panels of its figure, one for every pair of axes.
    pub panels: Vec<Panel>,
    /// What its verdict says of a claim.
    pub told: Option<Told>,
}

/// One variant of the scenario.
#[derive(Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What it sets.
    pub set: Vec<String>,
    /// Whether a quick run has it.
    pub quick: bool,
    /// What is expected of it.
    pub rows: Vec<Row>,
}

/// One expected number.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured.
    pub metric: Metric,
    /// The stretch of time it is measured in; the whole run where none is given.
    pub window: Option<Span2>,
    /// The number, where one is known.
    pub expected: Option<f64>,
    /// Absolute, where it is a number; relative, where it is a string like "15%".
    pub tolerance: Option<toml::Value>,
    /// The value is a ratio, seed by seed, to what an earlier case has for the same metric.
    pub against: Option<String>,
    /// That ratio is again one, seed by seed, to the ratio that an earlier case has for the same metric.
    pub than: Option<String>,
    /// Instead of `expected`: the interval over seeds must lie at or above this, at 95 %.
    pub at_least: Option<f64>,
    /// The same from above.
    pub at_most: Option<f64>,
    /// How the expected number is known.
    pub evidence: String,
    /// Reported, but no ground for failure.
    pub report_only: bool,
    /// The median over seeds is compared instead of the mean: where a run has one of two outcomes.
    pub median: bool,
    /// Why it differs, where it does, and what closes the gap.
    pub cause: Option<String>,
    /// A published claim that it bears on: `tidegate reproduce CLAIM` runs what it needs.
    pub claim: Option<String>,
}

/// The file `expected.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    source: String,
    seeds: u64,
    #[serde(default = "one")]
    quick_seeds: u64,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    quick_set: Vec<String>,
    case: Vec<CaseSpec>,
    #[serde(default)]
    panel: Vec<Panel>,
    told: Option<Told>,
}

const fn one() -> u64 {
    1
}

/// A case as written: one for every combination of what it goes over. Its name has every axis in
/// braces, which are filled in there, in `set` and in `against`; the first axis turns slowest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseSpec {
    name: String,
    #[serde(default)]
    over: BTreeMap<String, Vec<Choice>>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    quick: Quick,
    row: Vec<RowSpec>,
}

/// A value of an axis, by itself or followed by what it sets besides.
#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Text(String),
    With(Vec<String>),
}

/// Whether a quick run has it: all combinations, none, or those of the values listed by axis.
#[derive(Deserialize)]
#[serde(untagged)]
enum Quick {
    Whole(bool),
    Of(BTreeMap<String, Vec<String>>),
}

impl Default for Quick {
    fn default() -> Self {
        Self::Whole(false)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowSpec {
    metric: Metric,
    #[serde(default)]
    window: Option<Span2>,
    expected: Option<Number>,
    tolerance: Option<toml::Value>,
    against: Option<String>,
    than: Option<String>,
    at_least: Option<Number>,
    at_most: Option<Number>,
    evidence: String,
    #[serde(default)]
    report_only: bool,
    #[serde(default)]
    median: bool,
    cause: Option<String>,
    claim: Option<String>,
}

/// One number for every combination, or one per value of an axis: nan where the row is left out.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Same(f64),
    By(BTreeMap<String, Vec<f64>>),
}

/// The place that one combination has on each axis, and the text there.
type Point<'a> = Vec<(&'a str, usize, &'a Choice)>;

impl Experiment {
    /// The one called `name`, or in the folder `name`, where that has a slash.
    ///
    /// # Errors
    /// Where there is none.
    pub fn find(name: &str) -> Result<Self, String> {
        if name.contains(['/', '\\']) {
            let text = |file: &str| {
                let path = Path::new(name).join(file);
                let read = std::fs::read_to_string(&path);
                read.map_err(|e| format!("{}: {e}", path.display()))
            };
            return Ok(Self {
                name: Cow::Owned(name.trim_end_matches('/').to_owned()),
                scenario: Cow::Owned(text("scenario.toml")?),
                expected: Cow::Owned(text("expected.toml")?),
            });
        }
        let found = EXPERIMENTS
            .iter()
            .find(|experiment| experiment.name == name);
        found.cloned().ok_or_else(|| {
            format!("no experiment or claim \"{name}\" (of a folder write ./{name})")
        })
    }

    /// Reads its `expected.toml`.
    ///
    /// # Errors
    /// Where the file is wrong.
    pub fn expected(&self) -> Result<Expected, String> {
        read(&self.expected).map_err(|e| format!("{}, expected.toml: {e}", self.name))
    }
}

impl Expected {
    /// Keeps the rows that bear on `claim`, the ones that they are compared with, their cases, and what panels show of those.
    pub fn narrow(&mut self, claim: &str) {
        let rows = self.cases.iter().flat_map(|case| &case.rows);
        let bears = |row: &Row| row.claim.as_deref() == Some(claim);
        let mut bearing: Vec<Row> = rows.filter(|row| bears(row)).cloned().collect();
        // What a row is compared with stands before it, and may be compared in turn.
        for case in self.cases.iter_mut().rev() {
            let name = &case.name;
            let needed =
                |row: &Row| bears(row) || bearing.iter().any(|other| other.rests_on(name, row));
            if !case.rows.iter().any(needed) {
                case.rows.clear();
            }
            let drawn = |row: &Row| self.panels.iter().any(|panel| panel.shows(name, row));
            case.rows.retain(|row| needed(row) || drawn(row));
            bearing.extend(
                case.rows
                    .iter()
                    .filter(|row| needed(row))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
        }
        self.cases.retain(|case| !case.rows.is_empty());
    }

    /// The claims that rows bear on, by name.
    pub fn claims(&self) -> BTreeSet<String> {
        let rows = self.cases.iter().flat_map(|case| &case.rows);
        rows.filter_map(|row| row.claim.clone()).collect()
    }

    /// What `case` sets, from the least important on.
    pub fn settings(&self, case: &Case, quick: bool) -> Vec<String> {
        let less: &[String] = if quick { &self.quick_set } else { &[] };
        [self.set.as_slice(), &case.set, less].concat()
    }
}

fn read(text: &str) -> Result<Expected, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
    let mut cases = Vec::new();
    for spec in &file.case {
        cases.extend(spec.expand()?);
    }
    Ok(Expected {
        title: file.title,
        source: file.source,
        seeds: file.seeds,
        quick_seeds: file.quick_seeds,
        set: file.set,
        quick_set: file.quick_set,
        cases,
        panels: file.panel.iter().flat_map(Panel::expand).collect(),
        told: file.told,
    })
}

impl CaseSpec {
    fn expand(&self) -> Result<Vec<Case>, String> {
        let mut axes: Vec<(&str, &[Choice])> = Vec::new();
        for (axis, choices) in &self.over {
            if choices.iter().any(|choice| choice.text().is_none()) {
                return Err(format!("\"{}\": a value of {axis} is empty", self.name));
            }
            axes.push((axis, choices));
        }
        let place = |axis: &str| self.name.find(&format!("{{{axis}}}"));
        if let Some((axis, _)) = axes.iter().find(|(axis, _)| place(axis).is_none()) {
            return Err(format!("\"{}\": write {{{axis}}} into the name", self.name));
        }
        axes.sort_by_key(|(axis, _)| place(axis));
        let mut points: Vec<Point<'_>> = vec![Vec::new()];
        for (axis, choices) in axes {
            let longer = |point| {
                let at = |(i, choice)| extended(point, (axis, i, choice));
                choices.iter().enumerate().map(at).collect::<Vec<_>>()
            };
            points = points.iter().flat_map(longer).collect();
        }
        points.iter().map(|point| self.at(point)).collect()
    }

    /// The case at one combination.
    fn at(&self, point: &Point<'_>) -> Result<Case, String> {
        let own = point.iter().flat_map(|(.., choice)| choice.set());
        let set = own.chain(&self.set).map(|text| fill(text, point)).collect();
        let row = |spec: &RowSpec| {
            spec.at(point)
                .map_err(|why| format!("\"{}\": {why}", self.name))
        };
        Ok(Case {
            name: fill(&self.name, point),
            set,
            quick: self.quick.holds(point),
            rows: self
                .row
                .iter()
                .filter_map(|spec| row(spec).transpose())
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Choice {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::With(texts) => texts.first().map(String::as_str),
        }
    }

    fn set(&self) -> &[String] {
        match self {
            Self::Text(_) => &[],
            Self::With(texts) => texts.get(1..).unwrap_or_default(),
        }
    }
}

impl Quick {
    fn holds(&self, point: &Point<'_>) -> bool {
        match self {
            Self::Whole(all) => *all,
            Self::Of(axes) => point.iter().all(|(axis, _, choice)| {
                axes.get(*axis).is_none_or(|texts| {
                    texts
                        .iter()
                        .any(|text| Some(text.as_str()) == choice.text())
                })
            }),
        }
    }
}

impl RowSpec {
    /// The row at one combination; `None` where it has no number there.
    fn at(&self, point: &Point<'_>) -> Result<Option<Row>, String> {
        let number = |number: &Option<Number>| number.as_ref().map(|n| n.at(point)).transpose();
        let numbers = [&self.expected, &self.at_least, &self.at_most].map(number);
        let [expected, at_least, at_most] = numbers;
        let (expected, at_least, at_most) = (expected?, at_least?, at_most?);
        if [expected, at_least, at_most]
            .iter()
            .flatten()
            .any(|number| number.is_nan())
        {
            return Ok(None);
        }
        Ok(Some(Row {
            metric: self.metric.clone(),
            window: self.window,
            expected,
            tolerance: self.tolerance.clone(),
            against: self.against.as_ref().map(|text| fill(text, point)),
            than: self.than.as_ref().map(|text| fill(text, point)),
            at_least,
            at_most,
            evidence: self.evidence.clone(),
            report_only: self.report_only,
            median: self.median,
            cause: self.cause.clone(),
            claim: self.claim.clone(),
        }))
    }
}

impl Number {
    fn at(&self, point: &Point<'_>) -> Result<f64, String> {
        let by = match self {
            Self::Same(number) => return Ok(*number),
            Self::By(by) => by,
        };
        let (axis, numbers) = by.first_key_value().ok_or("a number without an axis")?;
        let found = point.iter().find(|(name, ..)| name == axis);
        let (.., i, _) = found.ok_or_else(|| format!("it does not go over {axis}"))?;
        let number = numbers.get(*i).copied();
        number.ok_or_else(|| format!("there are more values of {axis} than numbers"))
    }
}

#[cfg(test)]
impl Row {
    /// A row as a file writes it.
    pub(crate) fn parse(text: &str) -> Self {
        let spec: RowSpec = toml::from_str(text).expect("a row");
        spec.at(&Vec::new()).expect("no axis").expect("a number")
    }
}

/// `point` and its place on one axis more.
fn extended<'a>(point: &Point<'a>, more: (&'a str, usize, &'a Choice)) -> Point<'a> {
    let mut longer = point.clone();
    longer.push(more);
    longer
}

/// `text` with the value of every axis in place of its name in braces.
fn fill(text: &str, point: &Point<'_>) -> String {
    let one = |text: String, (axis, _, choice): &(&str, usize, &Choice)| {
        text.replace(&format!("{{{axis}}}"), choice.text().unwrap_or_default())
    };
    point.iter().fold(text.to_owned(), one)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "title = 't'\nsource = 's'\nseeds = 1\n[[case]]\n";

    fn cases(text: &str) -> Result<Vec<Case>, String> {
        read(&format!("{HEAD}{text}")).map(|expected| expected.cases)
    }

    #[test]
    fn a_case_goes_over_every_combination_the_first_axis_in_its_name_slowest() {
        let cases = cases(
            "name = '{who}, N = {n}'
            over.n = ['1', '2']
            over.who = [['credit', 'a=1'], 'dctcp']
            set = ['topology.pairs={n}', 'kind={who}']
            quick = { n = ['2'] }
            row = [{ metric = 'jain', evidence = 'ours', expected = { n = [0.5, 0.6] }, against = 'idle, {n}' }]",
        )
        .unwrap();
        let seen: Vec<_> = cases
            .iter()
            .map(|case| (case.name.as_str(), case.set.join(" "), case.quick))
            .collect();
        assert_eq!(
            seen,
            [
                (
                    "credit, N = 1",
                    "a=1 topology.pairs=1 kind=credit".to_owned(),
                    false
                ),
                (
                    "credit, N = 2",
                    "a=1 topology.pairs=2 kind=credit".to_owned(),
                    true
                ),
                (
                    "dctcp, N = 1",
                    "topology.pairs=1 kind=dctcp".to_owned(),
                    false
                ),
                (
                    "dctcp, N = 2",
                    "topology.pairs=2 kind=dctcp".to_owned(),
                    true
                ),
            ]
        );
        let last = &cases[3].rows[0];
        assert_eq!(last.expected, Some(0.6));
        assert_eq!(last.against.as_deref(), Some("idle, 2"));
    }

    #[test]
    fn a_row_is_left_out_where_an_axis_has_no_number_for_it() {
        let row = "metric = 'jain', evidence = 'ours', expected = { n = [nan, 1.0] }";
        let cases = cases(&format!(
            "name = '{{n}}'\nover.n = ['1', '2']\nrow = [{{ {row} }}]"
        ));
        let rows: Vec<_> = cases.unwrap().iter().map(|case| case.rows.len()).collect();
        assert_eq!(rows, [0, 1]);
    }

    #[test]
    fn a_claim_keeps_its_rows_and_what_they_are_compared_with() {
        let mut expected = read(
            "title = ''\nsource = ''\nseeds = 1
            [[case]]
            name = 'base'
            row = [{ metric = 'goodput', evidence = '' }, { metric = 'jain', evidence = '' }]
            [[case]]
            name = 'other'
            row = [{ metric = 'goodput', evidence = '' }]
            [[case]]
            name = 'new'
            row = [{ metric = 'goodput', against = 'base', claim = 'faster', evidence = '' }]
            [[case]]
            name = 'newer'
            row = [
              { metric = 'goodput', against = 'other', than = 'new', claim = 'growing', evidence = '' },
              { metric = 'jain', evidence = '' },
            ]
            [[case]]
            name = 'newest'
            row = [{ metric = 'jain', evidence = '' }]
            [[panel]]
            x = { title = '' }
            y = { title = '' }
            metric = 'jain'
            series = [{ name = '', case = 'new{x}' }]",
        )
        .unwrap();
        let claims = ["faster", "growing"].map(str::to_owned);
        assert_eq!(expected.claims(), BTreeSet::from(claims));
        let left = |expected: &Expected| -> Vec<_> {
            let cases = expected.cases.iter();
            cases
                .map(|case| (case.name.clone(), case.rows.len()))
                .collect()
        };
        expected.narrow("growing");
        let all = [("base", 1), ("other", 1), ("new", 1), ("newer", 2)];
        let all = all.map(|(name, rows)| (name.to_owned(), rows));
        assert_eq!(
            left(&expected),
            all,
            "the base of a base and what is drawn, too"
        );
        expected.narrow("faster");
        assert_eq!(
            left(&expected),
            [("base".to_owned(), 1), ("new".to_owned(), 1)]
        );
        assert_eq!(expected.cases[0].rows[0].metric, Metric::Goodput);
    }

    #[test]
    fn an_axis_that_no_name_tells_apart_is_refused() {
        let why = cases("name = 'a'\nover.n = ['1']\nrow = []").unwrap_err();
        assert_eq!(why, "\"a\": write {n} into the name");
    }

    #[test]
    fn numbers_must_suffice_for_the_values_of_their_axis() {
        let row = |expected: &str| {
            let row = format!("{{ metric = 'jain', evidence = 'ours', expected = {expected} }}");
            cases(&format!(
                "name = '{{n}}'\nover.n = ['1', '2']\nrow = [{row}]"
            ))
            .unwrap_err()
        };
        assert_eq!(
            row("{ n = [1.0] }"),
            "\"{n}\": there are more values of n than numbers"
        );
        assert_eq!(row("{ k = [1.0] }"), "\"{n}\": it does not go over k");
    }
}
