//! `tidegate reproduce`: published experiments, run again, with a verdict for every number.

use crate::args::{Global, ReproduceArgs};
use crate::exit;
use crate::metric::{Metric, Span2};
use crate::progress::{Viewer, catch_interrupts};
use crate::screen::Screen;
use results::stats::Interval;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One experiment: a folder of `experiments/`.
struct Experiment {
    name: &'static str,
    scenario: &'static str,
    expected: &'static str,
}

macro_rules! experiment {
    ($name:literal) => {
        Experiment {
            name: $name,
            scenario: include_str!(concat!("../../../experiments/", $name, "/scenario.toml")),
            expected: include_str!(concat!("../../../experiments/", $name, "/expected.toml")),
        }
    };
}

/// Every experiment, in the order of the table.
const EXPERIMENTS: [Experiment; 18] = [
    experiment!("xpass-parking-lot"),
    experiment!("xpass-multi-bottleneck"),
    experiment!("xpass-incast"),
    experiment!("xpass-leaf-spine"),
    experiment!("xpass-one-flow"),
    experiment!("xpass-zero-loss"),
    experiment!("claims-convergence"),
    experiment!("claims-buffer"),
    experiment!("aeolus-fig8"),
    experiment!("aeolus-small-flows"),
    experiment!("aeolus-threshold"),
    experiment!("ssp-workloads"),
    experiment!("dctcp-two-flows"),
    experiment!("dctcp-ns3-incast"),
    experiment!("dctcp-ns3-permutation"),
    experiment!("dctcp-ns3-web-search"),
    experiment!("dctcp-ns3-web-server"),
    experiment!("dctcp-ns3-mixed"),
];

/// What an experiment expects: its `expected.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    title: String,
    source: String,
    /// Seeds of a full run and of a quick one.
    seeds: u64,
    #[serde(default = "one")]
    quick_seeds: u64,
    #[serde(default)]
    set: Vec<String>,
    /// What a quick run sets besides: it does less, so its ratios need only be on the right side of 1.
    #[serde(default)]
    quick_set: Vec<String>,
    case: Vec<Case>,
}

/// One variant of the scenario.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    quick: bool,
    row: Vec<RowSpec>,
}

/// One expected number.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowSpec {
    metric: Metric,
    #[serde(default)]
    window: Option<Span2>,
    expected: Option<f64>,
    /// Absolute, where it is a number; relative, where it is a string like "15%".
    tolerance: Option<toml::Value>,
    /// The value is a ratio, seed by seed, to what an earlier case has for the same metric.
    against: Option<String>,
    /// Instead of `expected`: the interval over seeds must lie at or above this, at 95 %.
    at_least: Option<f64>,
    /// The same from above.
    at_most: Option<f64>,
    /// How the expected number is known.
    evidence: String,
    /// Reported, but no ground for failure.
    #[serde(default)]
    report_only: bool,
    /// The median over seeds is compared instead of the mean: where a run has one of two outcomes.
    #[serde(default)]
    median: bool,
}

const fn one() -> u64 {
    1
}

/// What came of one row.
struct Verdict {
    experiment: &'static str,
    case: String,
    spec: RowSpec,
    values: Vec<f64>,
}

impl RowSpec {
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
    fn loosened(mut self) -> Self {
        if self.against.is_some() {
            self.at_least = self.at_least.map(|least| least.min(1.0));
            self.at_most = self.at_most.map(|most| most.max(1.0));
        }
        self
    }

    /// Whether an earlier row has what this one is compared with.
    fn compares_with(&self, other: &Verdict) -> bool {
        other.spec.against.is_none()
            && self.against.as_ref() == Some(&other.case)
            && self.metric == other.spec.metric
            && self.window == other.spec.window
    }
}

impl Verdict {
    /// What is compared: the mean over seeds, or the median.
    fn measured(&self) -> f64 {
        if self.spec.median {
            let mut sorted = self.values.clone();
            sorted.sort_by(f64::total_cmp);
            return sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
        }
        self.values.iter().sum::<f64>() / self.values.len().max(1) as f64
    }

    /// How far off it may be, if a number is expected.
    fn slack(&self) -> Option<f64> {
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
    fn interval(&self) -> Option<Interval> {
        Interval::of(&self.values)
    }

    fn words(&self) -> &'static str {
        let bounded = self.interval().and_then(|i| self.spec.holds(&i));
        let near = self
            .spec
            .expected
            .zip(self.slack())
            .map(|(expected, slack)| (self.measured() - expected).abs() <= slack);
        match (bounded.or(near), self.spec.report_only) {
            (None, _) => "no public number",
            (Some(true), _) if bounded.is_some() => "holds",
            (Some(true), _) => "number matches",
            (Some(false), true) => "differs (reported)",
            (Some(false), false) => "DIFFERS",
        }
    }

    fn failed(&self) -> bool {
        self.words() == "DIFFERS"
    }
}

/// Runs the command.
pub(crate) fn run(args: &ReproduceArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    let known: Vec<&str> = EXPERIMENTS
        .iter()
        .map(|experiment| experiment.name)
        .collect();
    if args.list {
        return list(screen);
    }
    let mut chosen = Vec::new();
    for name in &args.names {
        match EXPERIMENTS
            .iter()
            .find(|experiment| experiment.name == name)
        {
            Some(experiment) => chosen.push(experiment),
            None => {
                let text = format!("no experiment \"{name}\"; there are {}", known.join(", "));
                return screen.fail(exit::USAGE, &text);
            }
        }
    }
    if chosen.is_empty() {
        chosen = EXPERIMENTS.iter().collect();
    }
    let mut verdicts = Vec::new();
    for experiment in chosen {
        match reproduce(experiment, args.quick, global, screen) {
            Ok(mut found) => {
                if !global.json {
                    screen.say(&table(experiment, &found));
                }
                verdicts.append(&mut found);
            }
            Err(code) => return code,
        }
    }
    if global.json {
        screen.print(&document(&verdicts));
    }
    let failed = verdicts.iter().filter(|verdict| verdict.failed()).count();
    if failed == 0 {
        exit::OK
    } else {
        screen.fail(
            exit::THRESHOLD,
            &format!("{failed} of {} numbers differ", verdicts.len()),
        )
    }
}

fn read(experiment: &Experiment) -> Result<Expected, String> {
    toml::from_str(experiment.expected)
        .map_err(|e| format!("experiments/{}/expected.toml: {e}", experiment.name))
}

fn list(screen: &Screen) -> i32 {
    let mut text = String::new();
    for experiment in &EXPERIMENTS {
        match read(experiment) {
            Ok(expected) => {
                let _ = writeln!(
                    text,
                    "{:<24} {}  {}",
                    experiment.name, expected.title, expected.source
                );
            }
            Err(why) => return screen.fail(exit::BROKEN, &why),
        }
    }
    screen.print(&text);
    exit::OK
}

fn reproduce(
    experiment: &Experiment,
    quick: bool,
    global: &Global,
    screen: &Screen,
) -> Result<Vec<Verdict>, i32> {
    let expected = read(experiment).map_err(|why| screen.fail(exit::BROKEN, &why))?;
    let seeds = if quick {
        expected.quick_seeds
    } else {
        expected.seeds
    };
    let mut verdicts = Vec::new();
    for case in expected.case.iter().filter(|case| !quick || case.quick) {
        let mut rows: Vec<Verdict> = case
            .row
            .iter()
            .map(|spec| Verdict {
                experiment: experiment.name,
                case: case.name.clone(),
                spec: if quick && !expected.quick_set.is_empty() {
                    spec.clone().loosened()
                } else {
                    spec.clone()
                },
                values: Vec::new(),
            })
            .collect();
        for seed in 1..=seeds {
            let mut sets = expected.set.clone();
            sets.extend(case.set.iter().cloned());
            if quick {
                sets.extend(expected.quick_set.iter().cloned());
            }
            sets.extend(global.sets.iter().cloned());
            sets.push(format!("run.seed={seed}"));
            let assembled = scenario::load_text(experiment.name, experiment.scenario, &sets)
                .and_then(scenario::Scenario::assemble)
                .map_err(|errors| screen.wrong(&errors))?;
            let name = format!("{} {} {seed}/{seeds}", experiment.name, case.name);
            let mut viewer = Viewer::new(screen, &name, None);
            let record = assembled.run(global.jobs.unwrap_or(1), "", &mut viewer);
            viewer.finish();
            let record = record.map_err(|errors| screen.wrong(&errors))?;
            if let Err(why) = &record.conservation {
                return Err(screen.fail(exit::BROKEN, &format!("{name}: {why}")));
            }
            for row in &mut rows {
                row.values
                    .push(row.spec.metric.of(&record, row.spec.window));
            }
        }
        for row in rows.iter_mut().filter(|row| row.spec.against.is_some()) {
            let Some(other) = verdicts.iter().find(|other| row.spec.compares_with(other)) else {
                let why = format!(
                    "experiments/{}/expected.toml: \"{}\" is compared with a case that has no earlier row of {}",
                    experiment.name,
                    case.name,
                    row.spec.metric.name()
                );
                return Err(screen.fail(exit::BROKEN, &why));
            };
            for (value, base) in row.values.iter_mut().zip(&other.values) {
                *value /= base;
            }
        }
        verdicts.append(&mut rows);
    }
    Ok(verdicts)
}

fn table(experiment: &Experiment, verdicts: &[Verdict]) -> String {
    let mut text = match read(experiment) {
        Ok(expected) => format!(
            "\n{}  {}  {}\n",
            experiment.name, expected.title, expected.source
        ),
        Err(why) => why,
    };
    let _ = writeln!(
        text,
        "  {:<34} {:<26} {:>10} {:>10} {:>10}  verdict",
        "case", "metric", "expected", "measured", "allowed"
    );
    for verdict in verdicts {
        let spec = &verdict.spec;
        let bounds = [(spec.at_least, ">="), (spec.at_most, "<=")];
        let bounds =
            bounds.map(|(bound, sign)| bound.map(|bound| format!("{sign}{}", short(bound))));
        let allowed = verdict.slack().map(|slack| format!("±{}", short(slack)));
        let allowed = allowed.into_iter().chain(bounds.into_iter().flatten());
        let allowed = allowed.collect::<Vec<_>>().join(" ");
        let case = match &spec.against {
            Some(other) => format!("{} / {other}", verdict.case),
            None => verdict.case.clone(),
        };
        let _ = write!(
            text,
            "  {case:<34} {:<26} {:>10} {:>10} {:>10}  {}",
            spec.metric.name(),
            spec.expected.map_or("-".into(), short),
            short(verdict.measured()),
            if allowed.is_empty() { "-" } else { &allowed },
            verdict.words(),
        );
        if let Some(interval) = verdict
            .interval()
            .filter(|i| i.bootstrap && spec.expected.is_none())
        {
            let _ = write!(
                text,
                ", 95 % in {} to {}",
                short(interval.low),
                short(interval.high)
            );
        }
        text.push('\n');
    }
    text
}

/// Four significant digits.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

fn document(verdicts: &[Verdict]) -> String {
    let rows: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            json!({
                "experiment": verdict.experiment,
                "case": verdict.case,
                "metric": verdict.spec.metric.name(),
                "against": verdict.spec.against,
                "expected": verdict.spec.expected,
                "at_least": verdict.spec.at_least,
                "at_most": verdict.spec.at_most,
                "evidence": verdict.spec.evidence,
                "allowed": verdict.slack(),
                "values": verdict.values,
                "interval": verdict.interval(),
                "verdict": verdict.words(),
            })
        })
        .collect();
    format!("{}\n", json!({ "schema": 1, "rows": rows }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_can_be_read_and_assembled_and_has_a_quick_case() {
        for experiment in &EXPERIMENTS {
            let expected = read(experiment).unwrap();
            assert!(
                expected.case.iter().any(|case| case.quick),
                "{}",
                experiment.name
            );
            let mut seen: Vec<(bool, Verdict)> = Vec::new();
            for case in &expected.case {
                let mut sets = expected.set.clone();
                sets.extend(case.set.iter().cloned());
                let loaded = scenario::load_text(experiment.name, experiment.scenario, &sets);
                let assembled = loaded.and_then(scenario::Scenario::assemble);
                if let Err(errors) = assembled {
                    panic!(
                        "{}, {}: {}",
                        experiment.name,
                        case.name,
                        errors.render(false)
                    );
                }
                for row in &case.row {
                    let verdict = Verdict {
                        experiment: "",
                        case: case.name.clone(),
                        spec: row.clone(),
                        values: vec![0.0],
                    };
                    assert_eq!(
                        row.expected.is_some(),
                        verdict.slack().is_some(),
                        "{}",
                        case.name
                    );
                    let found = seen.iter().find(|(_, other)| row.compares_with(other));
                    assert!(
                        row.against.is_none()
                            || found.is_some_and(|(quick, _)| *quick || !case.quick),
                        "{}: {} has nothing to be compared with",
                        experiment.name,
                        case.name
                    );
                    seen.push((case.quick, verdict));
                }
            }
        }
    }

    fn row(text: &str) -> RowSpec {
        toml::from_str(&format!("metric = 'goodput'\nevidence = 'ours'\n{text}")).unwrap()
    }

    #[test]
    fn a_bound_holds_where_the_whole_interval_does() {
        let words = |text: &str, values: &[f64]| {
            let (experiment, case) = ("", String::new());
            let (spec, values) = (row(text), values.to_vec());
            Verdict {
                experiment,
                case,
                spec,
                values,
            }
            .words()
        };
        let wide = [0.5, 0.6, 0.7, 0.8, 0.9];
        assert_eq!(words("at_most = 0.85", &wide), "holds");
        assert_eq!(
            words("at_most = 0.72", &wide),
            "DIFFERS",
            "the mean is 0.7, but the interval reaches above 0.72"
        );
        assert_eq!(
            words("at_least = 0.68\nreport_only = true", &wide),
            "differs (reported)"
        );
        assert_eq!(words("", &wide), "no public number");
        assert_eq!(words("at_most = 1.0", &[f64::NAN]), "DIFFERS");
    }

    #[test]
    fn a_quick_run_judges_ratios_by_their_direction_alone() {
        let ratio = row("against = 'a'\nat_most = 0.8").loosened();
        assert_eq!(ratio.at_most, Some(1.0));
        assert_eq!(row("at_most = 0.8").loosened().at_most, Some(0.8));
    }
}
