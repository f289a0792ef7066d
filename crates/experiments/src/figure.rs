//! What an experiment's file says of its figure, and the figure that follows from what was measured.
//! Axes and series as `expected.toml` declares them, the points that rows of a result give them, who measured a number
//! beside ours, and the numbers of a result page read back. What it says in words is in [`crate::sentence`].

use crate::catalogue::{Case, Expected, Experiment, Row};
use crate::curve::{Curve, Curves};
use crate::metric::{Metric, Span2};
use crate::sentence::{alone, quick_sentence, sentence};
use crate::verdict::{Verdict, Word};
use report::{Cut, Dot, Figure, Mark, Scale, Series};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Stands for the place of a point in the name of its case.
const X: &str = "{x}";

/// One pair of axes, as declared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Over it; what its values are where there is none.
    #[serde(default)]
    title: String,
    /// One panel for each value; `{axis}` is filled in everywhere.
    #[serde(default)]
    over: BTreeMap<String, Vec<String>>,
    x: AxisSpec,
    y: AxisSpec,
    /// What its points measure.
    metric: Option<Metric>,
    window: Option<Span2>,
    /// Its points are ratios to other cases.
    #[serde(default)]
    ratio: bool,
    /// Points side by side, each of its own metric.
    #[serde(default)]
    at: Vec<At>,
    /// What its curves show.
    curve: Option<Curve>,
    series: Vec<SeriesSpec>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisSpec {
    title: String,
    #[serde(default)]
    log: bool,
    from: Option<f64>,
    to: Option<f64>,
    /// Numbers are divided by this: 1000 makes KB of bytes.
    per: Option<f64>,
    /// Numbers are names, side by side.
    #[serde(default)]
    named: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    x: String,
    metric: Metric,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesSpec {
    name: String,
    /// The case, with `{x}` where its name has the place of a point.
    case: String,
    metric: Option<Metric>,
    curve: Option<Curve>,
}

/// A sentence on a claim, with what it came to here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The rows with this claim and an expected number.
    pub(crate) claim: String,
    /// With `{less}` (the share that is missing to 1, in per cent), `{times}` (one over it) or `{value}`.
    pub(crate) says: String,
    /// Of several the greatest counts, and not the least.
    #[serde(default)]
    pub(crate) greatest: bool,
}

/// What came of one row: of a run, or of a result on record.
#[derive(Clone, Debug)]
pub struct Found {
    /// The case.
    pub case: String,
    /// What was expected.
    pub spec: Row,
    /// Over the seeds.
    pub value: f64,
    /// Its interval.
    pub ends: (f64, f64),
    /// Seeds behind it, where a run told them.
    pub seeds: Option<usize>,
    /// The verdict.
    pub word: Word,
    /// As the table of a result shows it.
    pub cells: Vec<String>,
}

impl Panel {
    /// A panel for every value that it goes over.
    pub(crate) fn expand(&self) -> Vec<Self> {
        let mut panels = vec![self.clone()];
        for (axis, values) in &self.over {
            let filled = |panel: &Self, value: &String| panel.filled(&format!("{{{axis}}}"), value);
            panels = panels
                .iter()
                .flat_map(|panel| values.iter().map(move |value| filled(panel, value)))
                .collect();
        }
        panels
    }

    fn filled(&self, name: &str, value: &str) -> Self {
        let mut panel = self.clone();
        let texts = [&mut panel.title, &mut panel.x.title, &mut panel.y.title];
        let series = panel.series.iter_mut();
        for text in texts
            .into_iter()
            .chain(series.flat_map(|s| [&mut s.name, &mut s.case]))
        {
            *text = text.replace(name, value);
        }
        panel
    }

    /// The points of one series.
    fn points<'a>(&self, series: &SeriesSpec, found: &'a [Found]) -> Vec<Point<'a>> {
        let metrics: Vec<(Option<&str>, &Metric)> = if self.at.is_empty() {
            let metric = series.metric.as_ref().or(self.metric.as_ref());
            metric.into_iter().map(|metric| (None, metric)).collect()
        } else {
            let at = self.at.iter();
            at.map(|at| (Some(at.x.as_str()), &at.metric)).collect()
        };
        let mut points: Vec<Point<'a>> = Vec::new();
        for (name, metric) in metrics {
            for row in found.iter().filter(|row| self.draws(&row.spec, metric)) {
                let Some(place) = place(&series.case, &row.case) else {
                    continue;
                };
                let place = name.unwrap_or(place).to_owned();
                let given = row.spec.expected.zip(by(&row.spec.evidence));
                match points.iter_mut().find(|point| point.place == place) {
                    // Of several rows on one number any may say what is published of it.
                    Some(point) => point.given = point.given.or(given),
                    None => points.push(Point { place, row, given }),
                }
            }
        }
        points
    }

    /// Whether it shows the number of a row of `case`.
    pub(crate) fn shows(&self, case: &str, row: &Row) -> bool {
        let at = self.at.iter().map(|at| &at.metric);
        self.series.iter().any(|series| {
            let own = series.metric.as_ref().or(self.metric.as_ref());
            let mut metrics = own
                .filter(|_| self.at.is_empty())
                .into_iter()
                .chain(at.clone());
            place(&series.case, case).is_some() && metrics.any(|metric| self.draws(row, metric))
        })
    }

    fn draws(&self, row: &Row, metric: &Metric) -> bool {
        row.metric == *metric
            && row.window == self.window
            && row.than.is_none()
            && row.against.is_some() == self.ratio
    }

    /// The panel with what was measured.
    fn drawn(&self, number: usize, found: &[Found], curves: &Curves) -> report::Panel {
        let specs = self.series.iter();
        let all: Vec<Vec<Point<'_>>> = specs.map(|spec| self.points(spec, found)).collect();
        let mut names: Vec<String> = Vec::new();
        for point in all.iter().flatten() {
            if !names.contains(&point.place) {
                names.push(point.place.clone());
            }
        }
        // Places of one number are told apart by their names.
        let numbers: Vec<Option<f64>> = names.iter().map(|name| number_in(name)).collect();
        let numbered = |i: usize| numbers[i].is_some() && !numbers[..i].contains(&numbers[i]);
        let named = self.x.named || !(0..names.len()).all(numbered);
        let across = self.x.per.unwrap_or(1.0);
        let x = |name: &String| match number_in(name) {
            Some(number) if !named => number / across,
            _ => names.iter().position(|other| other == name).unwrap_or(0) as f64 + 0.5,
        };
        let title = if self.title.is_empty() {
            &self.y.title
        } else {
            &self.title
        };
        let series = self.series.iter().zip(&all).enumerate();
        let series =
            series.map(|(i, (spec, points))| self.series(spec, points, (curves, (number, i)), &x));
        let series: Vec<Series> = series.collect();
        let is_share = |series: &SeriesSpec| {
            let curve = series.curve.as_ref().or(self.curve.as_ref());
            curve.is_some_and(Curve::is_distribution)
        };
        let cut = !self.x.log && self.x.to.is_none() && self.series.iter().any(is_share);
        report::Panel {
            cut: cut.then(|| cut_at(&series)).flatten(),
            title: title.clone(),
            x: Scale {
                names: if named { names.clone() } else { Vec::new() },
                labels: if named { Vec::new() } else { labels(&names) },
                ..self.x.scale()
            },
            y: self.y.scale(),
            series,
        }
    }

    /// One series of it, `x` being where places lie.
    fn series(
        &self,
        spec: &SeriesSpec,
        points: &[Point<'_>],
        (curves, place): (&Curves, (usize, usize)),
        x: &dyn Fn(&String) -> f64,
    ) -> Series {
        let (across, up) = (self.x.per.unwrap_or(1.0), self.y.per.unwrap_or(1.0));
        let known = points.iter().filter(|point| point.row.value.is_finite());
        let mut dots: Vec<Dot> = known
            .map(|point| Dot {
                x: x(&point.place),
                y: point.row.value / up,
                low: point.row.ends.0 / up,
                high: point.row.ends.1 / up,
            })
            .collect();
        let curve = curves.of(place);
        let ends = curves.ends(place).iter().zip(curve);
        let band = ends.map(|(&(low, high), &(_, y))| (y / up, low / across, high / across));
        dots.extend(curve.iter().map(|&(x, y)| Dot::exact(x / across, y / up)));
        dots.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        let given = points
            .iter()
            .filter_map(|point| Some((point, point.given?)));
        let mut given: Vec<(Dot, &str)> = given
            .map(|(point, (value, by))| (Dot::exact(x(&point.place), value / up), by))
            .collect();
        given.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
        Series {
            name: spec.name.clone(),
            dots,
            band: band.collect(),
            by: given.first().map_or("", |(_, by)| by).to_owned(),
            given: given.into_iter().map(|(dot, _)| dot).collect(),
        }
    }
}

/// Where an axis ends whose widest curve would stretch it by a few messages alone: at the last share that the curve has
/// before all of them.
fn cut_at(series: &[Series]) -> Option<Cut> {
    let widest = |of: fn(&Series) -> Option<&Dot>| {
        let dots = series.iter().filter_map(of);
        dots.reduce(|a, b| if b.x > a.x { b } else { a })
    };
    let last = widest(|series| series.dots.last())?;
    let cut = widest(|series| series.dots.iter().rfind(|dot| dot.y < 1.0))?;
    (last.x > STRETCHED * cut.x).then_some(Cut {
        x: cut.x,
        share: cut.y,
    })
}

/// A last message so many times behind leaves the others no room. [ours]
const STRETCHED: f64 = 1.5;

/// A point before its axes are known.
struct Point<'a> {
    /// Where, as its case says it.
    place: String,
    row: &'a Found,
    /// What somebody else published of it, and who.
    given: Option<(f64, &'static str)>,
}

impl AxisSpec {
    fn scale(&self) -> Scale {
        Scale {
            title: self.title.clone(),
            log: self.log,
            from: self.from,
            to: self.to,
            ..Scale::default()
        }
    }
}

/// The place of a point in the name of its case; `None` where the case is another.
fn place<'a>(pattern: &str, case: &'a str) -> Option<&'a str> {
    match pattern.split_once(X) {
        None => (pattern == case).then_some(""),
        Some((before, after)) => case.strip_prefix(before)?.strip_suffix(after),
    }
}

/// How the places are written, by their numbers, where one of them is a fraction.
fn labels(names: &[String]) -> Vec<String> {
    let mut names: Vec<String> = names.to_vec();
    names.sort_by(|a, b| {
        number_in(a)
            .unwrap_or(0.0)
            .total_cmp(&number_in(b).unwrap_or(0.0))
    });
    if names.iter().any(|name| name.contains('/')) {
        names
    } else {
        Vec::new()
    }
}

/// The number that a text begins with: `64`, `0.2`, `1/16`, `10 Gb/s`.
fn number_in(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '/');
    let text = &text[..end.unwrap_or(text.len())];
    match text.split_once('/') {
        Some((over, under)) => Some(over.parse::<f64>().ok()? / under.parse::<f64>().ok()?),
        None => text.parse().ok(),
    }
}

/// Who measured an expected number, where that may be drawn: not from memory, and not ours.
fn by(evidence: &str) -> Option<&'static str> {
    const SOURCES: [(&str, &str); 12] = [
        ("published", "published"),
        (
            "measured with the authors' simulator",
            "the authors' simulator",
        ),
        ("measured by us with ns-3.44", "ns-3.44"),
        ("measured by us with ns-2.35", "ns-2.35"),
        ("measured by us with ns-2", "the authors' ns-2"),
        ("measured by us with the authors' ns-2", "the authors' ns-2"),
        ("measured by us with the port to ns-2", "the port to ns-2"),
        ("measured by us with YAPS", "YAPS"),
        ("measured by us with csg-htsim", "htsim"),
        ("measured by us with dcPIM", "the authors' simulator"),
        ("measured by us with qizhe/NDP", "the authors' NDP"),
        (
            "measured by us with the published simulator",
            "the authors' simulator",
        ),
    ];
    let found = SOURCES
        .iter()
        .find(|(start, _)| evidence.starts_with(start));
    found.map(|(_, name)| *name)
}

impl Expected {
    /// The curves of the figure that runs of `case` draw, and the panel and series of each.
    pub fn drawn_by<'a>(
        &'a self,
        case: &'a str,
    ) -> impl Iterator<Item = ((usize, usize), &'a Curve)> {
        let of_panel = move |(number, panel): (usize, &'a Panel)| {
            let series = panel.series.iter().enumerate();
            let own = series.filter(move |(_, series)| series.case == case);
            own.filter_map(move |(i, series)| {
                let curve = series.curve.as_ref().or(panel.curve.as_ref())?;
                Some(((number, i), curve))
            })
        };
        self.panels.iter().enumerate().flat_map(of_panel)
    }

    /// The figure with what was found; `command` repeats it, and `quick` says what a quick run left out.
    pub fn figure(
        &self,
        experiment: &Experiment,
        found: &[Found],
        curves: &Curves,
        command: &str,
        quick: &str,
    ) -> Figure {
        let panels = self.panels.iter().enumerate();
        let panels: Vec<report::Panel> = panels
            .map(|(number, panel)| panel.drawn(number, found, curves))
            .filter(|panel| panel.points() > 0)
            .collect();
        let given = panels
            .iter()
            .flat_map(|panel| &panel.series)
            .any(|s| !s.given.is_empty());
        let mut notes = Vec::new();
        let ran = |case: &&Case| found.iter().any(|row| row.case == case.name);
        let (ran, all) = (self.cases.iter().filter(ran).count(), self.cases.len());
        if ran < all && quick.is_empty() {
            notes.push(format!("This is a part of it: {ran} of {all} cases."));
        }
        notes.extend(self.seeds_told(found, &panels));
        if let Some(cut) = panels.iter().find_map(|panel| panel.cut) {
            notes.push(format!(
                "Completion times are drawn up to the {} percentile of the widest curve; the CSV has all of them.",
                ordinal(cut.share * 100.0)
            ));
        }
        if panels.is_empty() {
            notes.push("No axes are declared for it; the table has every number.".to_owned());
        } else if !given {
            notes.push(alone(&self.source).to_owned());
        }
        Figure {
            name: experiment.name.to_string(),
            source: self.source.trim_matches(['[', ']']).to_owned(),
            title: self.title.clone(),
            verdict: if quick.is_empty() {
                sentence(found, self.told.as_ref())
            } else {
                quick_sentence(found)
            },
            quick: quick.to_owned(),
            notes,
            command: command.to_owned(),
            panels,
            head: HEAD.map(str::to_owned).to_vec(),
            rows: found.iter().map(|row| row.cells.clone()).collect(),
            // What is expected from memory is no claim.
            marks: found
                .iter()
                .map(|row| {
                    if row.spec.is_recalled() {
                        Mark::Told
                    } else {
                        row.word.mark()
                    }
                })
                .collect(),
        }
    }

    /// How many seeds stand behind what is drawn, and what a band is.
    fn seeds_told(&self, found: &[Found], panels: &[report::Panel]) -> Option<String> {
        let runs = found.iter().filter(|row| row.spec.metric.needs_a_run());
        let seeds = runs.filter(|row| row.value.is_finite()).map(|row| {
            let on_record = usize::try_from(self.seeds).unwrap_or(usize::MAX);
            row.seeds.unwrap_or(on_record)
        });
        let band = panels.iter().flat_map(|panel| &panel.series);
        let band = if band.clone().any(|series| !series.band.is_empty()) {
            "; a curve is their mean, and its band goes from the least to the greatest of them"
        } else {
            ""
        };
        Some(match seeds.max().filter(|_| !panels.is_empty())? {
            1 => "One seed stands behind what is drawn.".into(),
            seeds => format!("{seeds} seeds stand behind what is drawn{band}."),
        })
    }
}

/// `99.9th`.
fn ordinal(percentile: f64) -> String {
    let text = format!("{percentile:.1}");
    format!("{}th", text.trim_end_matches(".0"))
}

/// Columns of the table of a result.
pub(crate) const HEAD: [&str; 7] = [
    "case", "metric", "expected", "measured", "allowed", "evidence", "verdict",
];

impl Verdict {
    /// The row for a figure.
    pub fn found(&self) -> Found {
        let value = self.measured();
        Found {
            case: self.case.clone(),
            spec: self.spec.clone(),
            value,
            ends: self.interval().map_or((value, value), |i| (i.low, i.high)),
            seeds: Some(self.values.len()),
            word: self.word(),
            cells: self.cells().to_vec(),
        }
    }
}

/// The rows of the result page `page`, for those that `expected` has.
pub fn recorded(expected: &Expected, page: &str) -> Vec<Found> {
    let specs: Vec<(&str, &Row, Verdict)> = expected
        .cases
        .iter()
        .flat_map(|case| case.rows.iter().map(|row| (case.name.as_str(), row)))
        .map(|(case, row)| (case, row, Verdict::empty(case, row)))
        .collect();
    let mut found: Vec<Found> = Vec::new();
    let mut next = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = line.trim_end_matches(" |").split(" | ").collect();
        let [case, metric, _, measured, _, evidence, verdict] = cells.as_slice() else {
            continue;
        };
        let (value, ends) = parsed(measured);
        let word = Word::ALL
            .into_iter()
            .find(|word| verdict.starts_with(word.text()));
        let is = |(_, row, told): &(&str, &Row, Verdict)| {
            told.case_name() == *case && told.metric_name() == *metric && row.evidence == *evidence
        };
        // Rows stand in the order of the file, and some are told apart by that alone.
        let place = specs[next..].iter().position(is).map(|i| i + next);
        let place = place.or_else(|| specs.iter().position(is));
        let (Some(i), Some(word)) = (place, word) else {
            continue;
        };
        next = i + 1;
        found.push(Found {
            case: specs[i].0.to_owned(),
            spec: specs[i].1.clone(),
            value,
            ends,
            seeds: None,
            word,
            cells: cells.iter().map(|&cell| cell.to_owned()).collect(),
        });
    }
    found
}

/// `>= 12.3 (95 % in 12.0 to 12.6)`, or `(seeds from 12.0 to 12.6)`.
fn parsed(measured: &str) -> (f64, (f64, f64)) {
    let number = |text: &str| {
        let text = text.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '-');
        text.trim_end_matches(')').parse().unwrap_or(f64::NAN)
    };
    let (value, ends) = measured.split_once(" (").unwrap_or((measured, ""));
    let ends = ends.trim_start_matches("95 % in ");
    let value: f64 = number(value);
    let ends = ends
        .split_once(" to ")
        .map(|(low, high)| (number(low), number(high)));
    (value, ends.unwrap_or((value, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXPERIMENTS;

    #[test]
    fn every_declared_series_has_cases_and_numbers_of_its_own() {
        for experiment in EXPERIMENTS {
            let expected = experiment.expected().unwrap();
            let rows = expected.cases.iter().flat_map(|case| {
                case.rows.iter().map(|row| Verdict {
                    values: vec![1.0.into()],
                    ..Verdict::empty(&case.name, row)
                })
            });
            let found: Vec<Found> = rows.map(|row| row.found()).collect();
            for panel in &expected.panels {
                let drawn = panel.drawn(0, &found, &Curves::default());
                for series in &drawn.series {
                    let mut places: Vec<f64> = series.dots.iter().map(|dot| dot.x).collect();
                    places.dedup();
                    let (name, title) = (&experiment.name, &drawn.title);
                    assert_eq!(
                        places.len(),
                        series.dots.len(),
                        "{name}: {title}: one place, two points"
                    );
                }
                for series in &panel.series {
                    let name = format!("{}: {} in {}", experiment.name, series.case, panel.title);
                    let is = |case: &Case| place(&series.case, &case.name).is_some();
                    assert!(expected.cases.iter().any(is), "{name}: no such case");
                    if series.curve.is_none() && panel.curve.is_none() {
                        assert!(
                            !panel.points(series, &found).is_empty(),
                            "{name}: no such row"
                        );
                    }
                }
            }
            if let Some(told) = &expected.told {
                assert!(
                    told.text(&found).is_some(),
                    "{}: nobody claims it",
                    experiment.name
                );
            }
        }
    }

    #[test]
    fn a_result_page_gives_back_what_was_written_into_it() {
        let experiment = Experiment::find("aeolus-fig9").unwrap();
        let expected = experiment.expected().unwrap();
        let rows = expected
            .cases
            .iter()
            .flat_map(|case| case.rows.iter().map(move |row| (case, row)));
        let verdicts: Vec<Verdict> = rows
            .enumerate()
            .map(|(i, (case, row))| Verdict {
                values: vec![(i as f64).into(), (i as f64 + 1.0).into()],
                ..Verdict::empty(&case.name, row)
            })
            .collect();
        let page = crate::page(&experiment, "tidegate reproduce aeolus-fig9", &verdicts, "");
        let found = recorded(&expected, &page);
        assert_eq!(found.len(), verdicts.len());
        for (found, verdict) in found.iter().zip(&verdicts) {
            let live = verdict.found();
            assert_eq!(
                (&found.case, found.word, &found.cells),
                (&live.case, live.word, &live.cells)
            );
            assert!(
                (found.value - live.value).abs() < 1e-3 * live.value,
                "{}",
                live.value
            );
            assert_eq!(
                (&found.spec.against, found.spec.expected),
                (&live.spec.against, live.spec.expected)
            );
        }
        assert_eq!(
            parsed(">= 12.3 (95 % in 12.0 to 12.6)"),
            (12.3, (12.0, 12.6))
        );
        assert_eq!(
            parsed("12.3 (seeds from 12.0 to 12.6)"),
            (12.3, (12.0, 12.6))
        );
        assert!(parsed("none").0.is_nan());
    }

    #[test]
    fn places_are_read_out_of_the_names_of_cases() {
        assert_eq!(
            place("{x}, Aeolus", "Web Server, Aeolus"),
            Some("Web Server")
        );
        assert_eq!(place("{x}, Aeolus", "Web Server, Aeolus, K = 4"), None);
        assert_eq!(place("dctcp", "dctcp"), Some(""));
        let numbers = ["1/16", "64", "10 Gb/s", "Web"].map(number_in);
        assert_eq!(numbers, [Some(0.0625), Some(64.0), Some(10.0), None]);
        let names = ["1", "1/2", "1/16"].map(str::to_owned);
        assert_eq!(labels(&names), ["1/16", "1/2", "1"]);
    }

    #[test]
    fn whatever_was_measured_elsewhere_says_by_what() {
        for experiment in EXPERIMENTS {
            let cases = experiment.expected().unwrap().cases;
            for row in cases.iter().flat_map(|case| &case.rows) {
                let measured = row.evidence.starts_with("measured");
                assert!(
                    !measured || by(&row.evidence).is_some(),
                    "{}: {}",
                    experiment.name,
                    row.evidence
                );
            }
        }
    }

    /// Each row of `reproduce flow-control` has its claim and a mark; so has each of any other claim.
    #[test]
    fn a_claim_says_what_must_be() {
        for experiment in EXPERIMENTS {
            let cases = experiment.expected().unwrap().cases;
            for row in cases.iter().flat_map(|case| &case.rows) {
                let marked =
                    row.expected.is_some() || row.at_least.is_some() || row.at_most.is_some();
                let named = format!("{}: {:?} of {:?}", experiment.name, row.claim, row.metric);
                assert!(marked || row.claim.is_none(), "{named}");
            }
        }
    }

    #[test]
    fn nothing_is_drawn_from_memory() {
        assert_eq!(by("recalled: 2 and 14 round trips"), None);
        assert_eq!(by("derived: by hand"), None);
        assert_eq!(by("ours"), None);
        assert_eq!(by("published, on a testbed"), Some("published"));
    }
}
