//! Several runs side by side: transports, settings and seeds in one table and one page.
//!
//! The figures come first, then groups of runs that differ in their seeds alone, then the table. Module `parts` ranks
//! sizes and tags, `level` says who cannot be told apart, and `ground` what all that rests on.

mod advice;
mod ground;
mod headline;
mod level;
mod parts;
mod places;
mod warnings;

pub use advice::{Advice, PartVerdict, changed};
pub use ground::{Shared, ports_told};
pub use headline::{Headline, of as headline};
pub use level::Place;
pub use parts::{
    ACROSS_MAX, Part, PartRow, TAGS_SHOWN, UnderEach, most_telling, part_rows, telling_first,
    under_each,
};
pub use warnings::{interrupted, warnings};

use self::level::{Bounded, Level, seeds_of};
use crate::Unit;
use crate::figures::Named;
use crate::grid::{Cell, Column, Paint, Style, render, wrap};
use crate::ground::{Asked, Ground};
use crate::human;
use crate::stats::{BOOTSTRAP_SEEDS, Figure, Interval};
use crate::summary::Summary;
use crate::table::{header, last_part, varied, waste_title};
use crate::threshold::Verdict;
use serde::Serialize;
use std::fmt::Write as _;

/// What a figure says; as a number, its place among [`METRICS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The 99th percentile of the slowdown.
    SlowdownP99,
    /// Its 99.9th.
    SlowdownP999,
    /// The greatest.
    SlowdownMax,
    /// The median completion time.
    FctP50,
    /// Its 99th percentile.
    FctP99,
    /// The longest.
    FctMax,
    /// Its mean.
    FctMean,
    /// Bytes of messages over time.
    Goodput,
    /// The fullest queue.
    QueueMax,
    /// Packets that were dropped, credits left out.
    Drops,
    /// Credits and their like for nothing.
    Waste,
    /// Messages that did not finish.
    Unfinished,
}

impl By {
    /// The figure that says this.
    pub fn metric(self) -> &'static Metric {
        &METRICS[self as usize]
    }
}

/// One figure that runs are compared by.
pub struct Metric {
    /// What it says.
    pub by: By,
    /// Its name among the figures, by which it is read.
    pub key: &'static str,
    /// Over a column.
    pub title: &'static str,
    /// Over a chart.
    pub heading: &'static str,
    /// Name of the chart in the page.
    pub id: &'static str,
    /// How soon a narrow terminal gives the column up; 0 never.
    pub rank: u8,
    /// What its numbers are.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// With no more messages than this it repeats another figure, and is left out.
    pub above: u64,
    /// Whether the page draws it; all stand in its table.
    pub drawn: bool,
}

impl Metric {
    /// Its number in a run; `None` where a run has no such number.
    pub fn of(&self, run: &Summary) -> Option<Figure<f64>> {
        Named::parse(self.key)?.measure(run)
    }
}

/// Which of two numbers is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// It says nothing good or bad.
    Neither,
}

/// Every figure, in the order of the table.
pub const METRICS: [Metric; 12] = [
    Metric {
        by: By::SlowdownP99,
        key: "slowdown.p99",
        title: "slowdown p99",
        heading: "Slowdown, p99",
        id: "slowdown",
        rank: 1,
        unit: Unit::Ratio,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::SlowdownP999,
        key: "slowdown.p999",
        title: "slowdown p99.9",
        heading: "Slowdown, p99.9",
        id: "slowdown-p999",
        rank: 4,
        unit: Unit::Ratio,
        better: Better::Lower,
        above: 1000,
        drawn: false,
    },
    Metric {
        by: By::SlowdownMax,
        key: "slowdown.max",
        title: "slowdown max",
        heading: "Slowdown, greatest",
        id: "slowdown-max",
        rank: 2,
        unit: Unit::Ratio,
        better: Better::Lower,
        above: 100,
        drawn: false,
    },
    Metric {
        by: By::FctP50,
        key: "fct.p50",
        title: "p50",
        heading: "Completion time, median",
        id: "p50",
        rank: 2,
        unit: Unit::Time,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::FctP99,
        key: "fct.p99",
        title: "p99",
        heading: "Completion time, p99",
        id: "p99",
        rank: 1,
        unit: Unit::Time,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::FctMax,
        key: "fct.max",
        title: "max",
        heading: "Completion time, greatest",
        id: "max",
        rank: 4,
        unit: Unit::Time,
        better: Better::Lower,
        above: 100,
        drawn: false,
    },
    Metric {
        by: By::FctMean,
        key: "fct.mean",
        title: "mean",
        heading: "Completion time, mean",
        id: "mean",
        rank: 5,
        unit: Unit::Time,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::Goodput,
        key: "goodput",
        title: "goodput",
        heading: "Goodput",
        id: "goodput",
        rank: 4,
        unit: Unit::Rate,
        better: Better::Higher,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::QueueMax,
        key: "queue.max",
        title: "max queue",
        heading: "Fullest queue",
        id: "queue",
        rank: 3,
        unit: Unit::Size,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::Drops,
        key: "drops.data",
        title: "drops",
        heading: "Packets dropped, credits left out",
        id: "drops",
        rank: 3,
        unit: Unit::Count,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::Waste,
        key: "credits.waste",
        title: "waste",
        heading: "Waste: credits, grants, pulls or tokens that found nothing to send, of those that arrived",
        id: "credits",
        rank: 6,
        unit: Unit::Share,
        better: Better::Lower,
        above: 0,
        drawn: true,
    },
    Metric {
        by: By::Unfinished,
        key: "messages.unfinished",
        title: "unfinished",
        heading: "Messages that did not finish",
        id: "unfinished",
        rank: 2,
        unit: Unit::Count,
        better: Better::Neither,
        above: 0,
        drawn: true,
    },
];

// Each is in the place that its name says.
const _: () = {
    let mut place = 0;
    while place < METRICS.len() {
        assert!(METRICS[place].by as usize == place);
        place += 1;
    }
};

/// Runs that differ in their seeds alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The transport's composed name.
    pub transport: String,
    /// The settings that differ between groups, as `(key, value)`.
    pub settings: Vec<(String, String)>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Their fingerprints, in the same order.
    pub fingerprints: Vec<String>,
    /// The hashes of the lists of messages that they served, in the same order.
    pub lists: Vec<String>,
    /// Messages of one run, those of the run with most.
    pub messages: u64,
    /// The figures over the seeds.
    pub figures: Vec<GroupFigure>,
    /// The tail of the slowdown of each part of the messages, where there are several.
    pub parts: Vec<Part>,
    /// What ports have room for, and what was cut off the traffic.
    pub ground: Ground,
    /// Data that receivers had asked for, over all seeds, and what ports dropped of it.
    pub asked: Option<Asked>,
}

/// One figure of a [`Group`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupFigure {
    /// The metric, as thresholds name it: `fct.p99`. Times in picoseconds.
    pub key: &'static str,
    /// Mean over the seeds, and how far it can be trusted.
    pub over_seeds: Option<Interval>,
    /// It rests on unfinished messages, and the true value is this or more.
    pub at_least: bool,
}

impl Group {
    /// Whether several seeds gave one and the same run: nothing was drawn at random.
    pub fn is_equal(&self) -> bool {
        let prints = &self.fingerprints;
        prints.len() > 1 && prints.iter().all(|print| *print == prints[0])
    }

    /// Measurements that tell something: equal runs are one.
    fn measured(&self) -> usize {
        if self.is_equal() { 1 } else { self.seeds.len() }
    }
}

/// Measurements that both groups have at least.
fn measured(one: &Group, other: &Group) -> usize {
    one.measured().min(other.measured())
}

/// What is said where all seeds of `groups` gave one run each, of all transports or of those that are named.
fn equal_told(groups: &[&Group]) -> Option<String> {
    let equal = || groups.iter().filter(|group| group.is_equal());
    let most = equal().map(|group| group.seeds.len()).max()?;
    if groups.iter().all(|group| group.is_equal()) {
        return Some(format!(
            "Seeds change nothing here (a trace or fixed starts, no random draws): {most} equal runs count as one."
        ));
    }
    // A transport of which all settings give equal runs is named alone, others with the settings that do.
    let whole = |transport: &str| {
        let mut own = groups.iter().filter(|group| group.transport == transport);
        own.all(|group| group.is_equal())
    };
    let mut names: Vec<String> = Vec::new();
    for group in equal() {
        let settings = group
            .settings
            .iter()
            .map(|(key, value)| format!("{key} {value}"));
        let settings: Vec<String> = settings.collect();
        let name = match whole(&group.transport) {
            true => group.transport.clone(),
            false => format!("{} with {}", group.transport, settings.join(", ")),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        names.truncate(NAMED_MAX);
        names.push(format!("{more} more"));
    }
    Some(format!(
        "Seeds change nothing under {} (no random draws): {most} equal runs count as one.",
        listed(&names)
    ))
}

/// Groups that a sentence names. [ours]
const NAMED_MAX: usize = 4;

/// `a, b and c`.
fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Several runs of one scenario, ready to be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this layout.
    pub schema: u32,
    /// Short name of the scenario.
    pub scenario: String,
    /// Keys that differ, besides transport and seed, in the order given.
    pub varied: Vec<String>,
    /// Groups in the order in which they first appear.
    pub groups: Vec<Group>,
}

impl Comparison {
    /// Groups `runs` by everything but their seeds.
    pub fn of(runs: &[&Summary]) -> Self {
        let varied: Vec<String> = varied(runs)
            .into_iter()
            .filter(|key| key != "run.seed")
            .collect();
        let settings = |run: &Summary| -> Vec<(String, String)> {
            varied
                .iter()
                .map(|key| {
                    let found = run.settings.iter().find(|(name, _)| name == key);
                    (
                        key.clone(),
                        found.map_or("-".into(), |(_, value)| value.clone()),
                    )
                })
                .collect()
        };
        let mut grouped: Vec<Vec<&Summary>> = Vec::new();
        for &run in runs {
            let same = |members: &&mut Vec<&Summary>| {
                members[0].transport == run.transport && settings(members[0]) == settings(run)
            };
            match grouped.iter_mut().find(same) {
                Some(members) => members.push(run),
                None => grouped.push(vec![run]),
            }
        }
        let group = |members: Vec<&Summary>| Group {
            transport: members[0].transport.clone(),
            settings: settings(members[0]),
            seeds: members.iter().map(|run| run.seed).collect(),
            fingerprints: members.iter().map(|run| run.fingerprint.clone()).collect(),
            lists: members
                .iter()
                .map(|run| run.messages_hash.clone())
                .collect(),
            messages: members
                .iter()
                .map(|run| run.all().messages)
                .max()
                .unwrap_or(0),
            figures: METRICS
                .iter()
                .map(|metric| over_seeds(metric, &members))
                .collect(),
            parts: parts::of(&members),
            ground: members[0].ground.clone(),
            asked: Asked::all(&members),
        };
        Self {
            schema: crate::SCHEMA,
            scenario: runs
                .first()
                .map_or(String::new(), |run| run.scenario.clone()),
            varied: varied.clone(),
            groups: grouped.into_iter().map(group).collect(),
        }
    }

    /// What makes means meaningless: runs of one group that share a seed and still differ.
    fn mixed(&self) -> Option<&'static str> {
        let mixed = self.groups.iter().any(|group| {
            let runs = || group.seeds.iter().zip(&group.fingerprints);
            runs().any(|(seed, print)| runs().any(|(s, p)| s == seed && p != print))
        });
        mixed.then_some(
            "some runs have one transport and seed but different fingerprints: they differ in a \
             setting that is not named here, and means mix them",
        )
    }

    /// Seeds that tell something, by group: where all gave one run they are one, and beside others that is left out.
    fn seeds(&self) -> impl Iterator<Item = usize> {
        let all = self.groups.iter().all(Group::is_equal);
        let told = self
            .groups
            .iter()
            .filter(move |group| all || !group.is_equal());
        told.map(Group::measured)
    }

    /// Seeds of the group that has most.
    pub fn seeds_max(&self) -> usize {
        self.seeds().max().unwrap_or(0)
    }

    fn seeds_min(&self) -> usize {
        self.seeds().min().unwrap_or(0)
    }

    /// `3 seeds`, `1 to 3 seeds`.
    pub fn seeds_told(&self) -> String {
        match (self.seeds_min(), self.seeds_max()) {
            (least, most) if least < most => format!("{least} to {most} seeds"),
            (_, 1) => "1 seed".into(),
            (_, most) => format!("{most} seeds"),
        }
    }

    /// Whether a figure says something that no other says.
    pub fn shows(&self, metric: &Metric) -> bool {
        let enough = |group: &Group| group.messages > metric.above;
        metric.above == 0 || self.groups.iter().any(enough)
    }

    /// Groups that differ from `group` in the transport alone, itself among them.
    pub fn rivals<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Group> {
        self.groups
            .iter()
            .filter(|other| other.settings == group.settings)
    }

    /// Whether nobody is ahead of `group` by more than chance explains; false where all show the same.
    pub fn is_best(&self, group: &Group, metric: usize) -> bool {
        let rivals: Vec<&Group> = self.rivals(group).collect();
        let shown = &METRICS[metric];
        let cells = cells(&rivals, metric);
        let texts = || {
            cells
                .iter()
                .flatten()
                .map(|(interval, _)| shown.unit.show_figure(interval.mean))
        };
        let same = texts().all(|text| texts().next().is_some_and(|first| first == text));
        let level = Level::of(&cells, &seeds_of(&rivals), shown.better);
        !same && level.ahead.iter().any(|&i| std::ptr::eq(rivals[i], group))
    }

    /// The best mean among the rivals of `group`; nothing where nobody can be called best.
    pub fn best(&self, group: &Group, metric: usize) -> Option<f64> {
        let rivals: Vec<&Group> = self.rivals(group).collect();
        let cells = cells(&rivals, metric);
        let level = Level::of(&cells, &seeds_of(&rivals), METRICS[metric].better);
        let (interval, _) = cells[*level.ahead.first()?]?;
        Some(interval.mean)
    }
}

/// One figure of every rival.
fn cells(rivals: &[&Group], metric: usize) -> Vec<Option<Bounded>> {
    let of = |group: &&Group| {
        let figure = &group.figures[metric];
        Some((figure.over_seeds?, figure.at_least))
    };
    rivals.iter().map(of).collect()
}

/// What is called level, in words for readers of a page.
pub const LEVEL_TOLD: &str = "Level is who is behind by no more than the seeds explain, or by less than 1%; where one seed or \
                              equal runs stand for a transport, by less than 5%. It ends with the first that is behind.";

fn over_seeds(metric: &Metric, members: &[&Summary]) -> GroupFigure {
    let figures: Vec<Figure<f64>> = members.iter().filter_map(|run| metric.of(run)).collect();
    let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    GroupFigure {
        key: metric.key,
        over_seeds: Interval::of(&values),
        at_least: figures.iter().any(|figure| figure.at_least),
    }
}

/// `341 us ±3.1%`: half of the interval's width beside the mean.
pub fn show(metric: &Metric, figure: &GroupFigure) -> String {
    let Some(interval) = figure.over_seeds else {
        return "-".into();
    };
    let bound = if figure.at_least { ">= " } else { "" };
    let mean = metric.unit.show_figure(interval.mean);
    let half = (interval.high - interval.low) / 2.0;
    if half > 0.0 && interval.mean > 0.0 {
        format!("{bound}{mean} ±{}", spread(half / interval.mean))
    } else {
        format!("{bound}{mean}")
    }
}

/// A spread with no more digits than it deserves: `±2.5%`, `±31%`.
fn spread(share: f64) -> String {
    if share < 0.000_5 {
        "<0.1%".into()
    } else if share < 0.099_5 {
        format!("{:.1}%", share * 100.0)
    } else {
        format!(
            "{}%",
            human::ratio(libm::round(share * 100.0)).trim_end_matches(".0")
        )
    }
}

/// What ± in a table of this comparison is, and whose seeds tell nothing; empty with one seed each.
pub fn what_the_spread_is(comparison: &Comparison) -> String {
    let equal = equal_told(&comparison.groups.iter().collect::<Vec<_>>());
    let told = [spread_told(comparison), equal.unwrap_or_default()];
    told.join(" ").trim().to_owned()
}

fn spread_told(comparison: &Comparison) -> String {
    let seeds = comparison.seeds_told();
    if comparison.seeds_max() < 2 {
        String::new()
    } else if comparison.seeds_min() >= BOOTSTRAP_SEEDS {
        format!("Means over {seeds}; ± is half of the 95% bootstrap interval of the mean.")
    } else {
        format!(
            "Means over {seeds}; ± is half of the range from least to greatest. From {BOOTSTRAP_SEEDS} \
             seeds on it becomes a 95% interval."
        )
    }
}

/// What several runs say together: warnings, each once, and who does best at what price.
pub(crate) fn conclusion(runs: &[&Summary], style: Style) -> String {
    let (mut out, width) = (String::new(), style.width.min(100));
    for warning in warnings(runs) {
        let text = wrap(&format!("warning: {warning}"), width, 1);
        out.push_str(&style.paint(Paint::Warn, &text));
        out.push('\n');
    }
    let comparison = Comparison::of(runs);
    let one_scenario = runs.iter().all(|run| run.scenario == comparison.scenario);
    if one_scenario && let Some(says) = headline(&comparison) {
        let text = wrap(&format!("{} {}", says.claim, says.more), width, 1);
        out.push_str(&style.paint(Paint::Bold, &text));
        out.push('\n');
    }
    out
}

/// Who stands where by size and tag at each combination of settings that is judged, and what that rests on.
fn standing(comparison: &Comparison, style: Style) -> String {
    parts::text(comparison, style) + &ground::text(comparison, style)
}

/// The same of runs that are told one by one; nothing where they are of several scenarios, or differ in what is not
/// named.
pub(crate) fn standing_of(runs: &[&Summary], style: Style) -> String {
    let comparison = Comparison::of(runs);
    let one = runs.iter().all(|run| run.scenario == comparison.scenario);
    if one && comparison.mixed().is_none() {
        standing(&comparison, style)
    } else {
        String::new()
    }
}

/// One row per group, the best of its rivals in colour.
pub fn text(runs: &[&Summary], style: Style) -> String {
    let comparison = Comparison::of(runs);
    let groups = &comparison.groups;
    let column = |title: &str, rank: u8, cell: &dyn Fn(&Group) -> Cell| Column {
        title: title.into(),
        rank,
        cells: groups.iter().map(cell).collect(),
    };
    let mut columns = Vec::new();
    for (i, key) in comparison.varied.iter().enumerate() {
        columns.push(column(last_part(key), 0, &|group| {
            Cell::new(group.settings[i].1.clone())
        }));
    }
    columns.push(column("transport", 0, &|group| {
        Cell::new(group.transport.clone())
    }));
    if groups.iter().any(|group| group.seeds.len() > 1) {
        columns.push(column("seeds", 7, &|group| {
            Cell::new(group.seeds.len().to_string())
        }));
    }
    for (i, metric) in METRICS.iter().enumerate() {
        let nothing = |group: &Group| {
            group.figures[i]
                .over_seeds
                .is_none_or(|interval| interval.high <= 0.0)
        };
        // A column of nothing but zeros that is no good news either way only takes room.
        let zeros = matches!(metric.by, By::Waste | By::Unfinished);
        if !comparison.shows(metric) || (zeros && groups.iter().all(nothing)) {
            continue;
        }
        let title = match metric.by {
            By::Waste => waste_title(runs),
            _ => metric.title.to_owned(),
        };
        columns.push(column(&title, metric.rank, &|group| {
            let figure = &group.figures[i];
            let paint = match figure {
                figure if figure.at_least => Paint::Warn,
                _ if comparison.is_best(group, i) => Paint::Good,
                _ => Paint::Plain,
            };
            Cell::painted(show(metric, figure), paint)
        }));
    }
    let mut out = header(runs, style);
    out.push_str(&render(&columns, style));
    out.push_str(&standing(&comparison, style));
    out.push_str(&conclusion(runs, style));
    let spread = what_the_spread_is(&comparison);
    if !spread.is_empty() {
        out.push_str(&style.paint(Paint::Dim, &wrap(&spread, style.width.min(100), 1)));
        out.push('\n');
    }
    out
}

/// Thresholds of several runs: how many of `all` held, and those that did not, one line each.
pub fn thresholds(all: usize, failed: &[(&Summary, &Verdict)]) -> String {
    if all == 0 {
        return String::new();
    }
    let mark = if failed.is_empty() { "✓" } else { "✗" };
    let mut out = format!(" {mark} {} of {all} thresholds hold\n", all - failed.len());
    for (run, verdict) in failed {
        let _ = write!(out, " ✗ {}", run.transport);
        for (key, value) in &run.settings {
            if key != "transport.kind" {
                let _ = write!(out, " {}={value}", last_part(key));
            }
        }
        let _ = writeln!(
            out,
            " seed {}: {} {}   measured {}",
            run.seed, verdict.key, verdict.condition, verdict.measured
        );
    }
    out
}
