//! A comparison as one page: what its sections are, in which order, and the tables among them.
//!
//! The first words and facts come first, then curves over a number that varies, parts of the messages, and all numbers. Module
//! `over` draws runs over each other, `standings` who is how far from the best, and `ground` says what all that rests on:
//! lists of messages, room in ports, and what was lost there.

mod ground;
mod over;
mod standings;

use crate::chart::{Axis, COLOURS, Line, LineChart, Range, ranges};
use crate::page::{
    About, Block, Check, Chip, FOLDED_FROM, Page, Section, Table, markup, text as plain,
};
use crate::run::{bind, pair_up};
use minijinja::Value;
use results::compare::{
    ACROSS_MAX, Better, By, Comparison, Group, LEVEL_TOLD, METRICS, Part, PartRow, TAGS_SHOWN,
    UnderEach, headline, interrupted, part_rows, show, telling_first, under_each, warnings,
    what_the_spread_is,
};
use results::human;
use results::stats::Interval;
use results::table::{common_title, last_part};
use results::{Curves, Summary, Unit, Verdict};
use std::fmt::Write as _;
use units::{Bytes, Rate, Span};

/// What a page of several runs has of one of them besides its numbers.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Where its report is, from the page.
    pub link: String,
    /// How its messages and queues are distributed, where that is known.
    pub curves: Option<Curves>,
    /// What its thresholds came to.
    pub verdicts: Vec<Verdict>,
}

/// The comparison as one HTML file. `command` repeats it; `unfinished` says how many of its runs are
/// missing, because they were interrupted or did not begin.
///
/// `details` goes with the runs, in their order; it may be empty.
pub fn of_runs(runs: &[&Summary], details: &[Details], command: &str, unfinished: usize) -> String {
    let comparison = Comparison::of(runs);
    let over = over::Over::new(&comparison, runs, details);
    let mut sections = Vec::new();
    sections.extend(over.distributions());
    sections.extend(over.queues());
    sections.extend(over.quantiles());
    let judged = comparison.judged();
    sections.extend(
        judged
            .iter()
            .filter_map(|place| by_size(runs, &comparison, place)),
    );
    let numeric = numeric_key(&comparison);
    for metric in (0..METRICS.len()).filter(|&metric| METRICS[metric].drawn) {
        sections.extend(match &numeric {
            Some(x) => curves(&comparison, metric, x),
            None => standings::section(&comparison, metric, over.optimum(METRICS[metric].by)),
        });
    }
    pair_up(&mut sections);
    sections.extend(judged.iter().filter_map(|place| parts(&comparison, place)));
    sections.push(ground::lists(&comparison, &judged));
    sections.extend(ground::ports(&comparison, &judged));
    sections.push(numbers(&comparison, runs, details));
    sections.push(fingerprints(&comparison, runs, details));
    let (headline, lede) = first_words(&comparison);
    let transports = transports(&comparison);
    let chip = |text: String| Chip { text, kind: "" };
    Page {
        title: format!("{} - comparison - tidegate", comparison.scenario),
        scenario: comparison.scenario.clone(),
        subtitle: common_title(runs),
        chips: [
            chip(format!("{} transports", transports.len())),
            chip(format!("{} runs", runs.len())),
        ]
        .into_iter()
        .chain(thresholds(details))
        .collect(),
        headline: bind(&headline),
        lede: bind(&lede),
        more: None,
        tiles: over.tiles(),
        checks: missed(runs, details),
        warnings: interrupted(runs.len(), unfinished)
            .into_iter()
            .chain(warnings(runs))
            .collect(),
        sections,
        about: About {
            title: "What was run",
            facts: facts(&comparison, runs),
            blocks: vec![Block {
                name: "To run it again:",
                text: command.into(),
                fold: false,
            }],
        },
        footer: "Made by tidegate. The same scenario and seeds give this page again, byte for \
                 byte, on any machine and any number of threads."
            .into(),
        moving: None,
    }
    .render(&results::files::to_json(&comparison))
}

/// How many thresholds hold, where there are some.
fn thresholds(details: &[Details]) -> Option<Chip> {
    let all = || details.iter().flat_map(|run| &run.verdicts);
    let (held, of) = (
        all().filter(|verdict| verdict.passed).count(),
        all().count(),
    );
    let (mark, kind) = if held == of {
        ("✓", "good")
    } else {
        ("✗", "bad")
    };
    let text = format!("{mark} {held} of {of} thresholds hold");
    (of > 0).then_some(Chip { text, kind })
}

/// Thresholds that do not hold and are named; the number on top counts all. [ours]
const MISSED_MAX: usize = 24;

/// Thresholds that do not hold, each with its run.
fn missed(runs: &[&Summary], details: &[Details]) -> Vec<Check> {
    let of = |(run, details): (&&Summary, &Details)| {
        let mut settings = String::new();
        for (key, value) in &run.settings {
            if key != "transport.kind" {
                let _ = write!(settings, " {}={value}", last_part(key));
            }
        }
        let failed = details.verdicts.iter().filter(|verdict| !verdict.passed);
        let check = |verdict: &Verdict| Check {
            passed: false,
            what: bind(&format!(
                "{}{settings} seed {}: {} {}",
                run.transport, run.seed, verdict.key, verdict.condition
            )),
            measured: bind(&verdict.measured),
        };
        failed.map(check).collect::<Vec<_>>()
    };
    runs.iter()
        .zip(details)
        .flat_map(of)
        .take(MISSED_MAX)
        .collect()
}

/// What differs between the runs, and what they share.
fn facts(comparison: &Comparison, runs: &[&Summary]) -> Vec<(String, String)> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let each = |mut values: Vec<String>| {
        let mut seen = Vec::new();
        values.retain(|value| {
            let new = !seen.contains(value);
            seen.push(value.clone());
            new
        });
        values.join(", ")
    };
    let mut facts = vec![
        ("scenario".into(), comparison.scenario.clone()),
        ("transports".into(), transports(comparison).join(", ")),
        (
            "seeds".into(),
            each(runs.iter().map(|run| run.seed.to_string()).collect()),
        ),
    ];
    for (i, key) in comparison.varied.iter().enumerate() {
        let values = comparison.groups.iter().map(|g| g.settings[i].1.clone());
        facts.push((key.clone(), each(values.collect())));
    }
    let derived = &first.derived;
    if runs.iter().all(|run| run.derived == *derived) {
        facts.push((
            "hosts, switches".into(),
            format!("{}, {}", derived.hosts, derived.switches),
        ));
        facts.push(("host link".into(), human::rate(Rate(derived.host_rate_bps))));
        facts.push((
            "base round trip".into(),
            human::time(Span(derived.base_rtt_ps)),
        ));
    }
    facts
}

fn transports(comparison: &Comparison) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for group in &comparison.groups {
        if !names.contains(&group.transport.as_str()) {
            names.push(&group.transport);
        }
    }
    names
}

/// Who wins where it is hardest, and the sentence after it.
fn first_words(comparison: &Comparison) -> (String, String) {
    if comparison.groups.is_empty() {
        return ("Nothing to compare.".into(), String::new());
    }
    let spread = what_the_spread_is(comparison);
    match headline(comparison) {
        Some(says) => (
            says.claim,
            format!("{} {spread}", says.more).trim().to_owned(),
        ),
        None => (
            format!(
                "{} runs of {}.",
                comparison.groups.len(),
                comparison.scenario
            ),
            "No message has a completion time to compare by.".into(),
        ),
    }
}

/// The one setting whose values are numbers, to be the axis of curves.
struct Numeric {
    key: usize,
    unit: Unit,
}

/// A setting's value as a number with its unit.
fn number(value: &str) -> Option<(Unit, f64)> {
    if let Ok(value) = value.parse::<f64>() {
        return value.is_finite().then_some((Unit::Ratio, value));
    }
    if let Ok(Span(ps)) = value.parse() {
        return Some((Unit::Time, ps as f64));
    }
    if let Ok(Bytes(bytes)) = value.parse() {
        return Some((Unit::Size, bytes as f64));
    }
    value.parse().ok().map(|Rate(bps)| (Unit::Rate, bps as f64))
}

fn numeric_key(comparison: &Comparison) -> Option<Numeric> {
    (0..comparison.varied.len()).find_map(|key| {
        let values: Option<Vec<_>> = comparison
            .groups
            .iter()
            .map(|group| number(&group.settings[key].1))
            .collect();
        let values = values?;
        let unit = values.first()?.0;
        values
            .iter()
            .all(|value| value.0 == unit)
            .then_some(Numeric { key, unit })
    })
}

/// The transport, and whatever else differs but the axis.
fn curve_name(group: &Group, x: Option<usize>) -> String {
    let rest = group
        .settings
        .iter()
        .enumerate()
        .filter(|(i, _)| Some(*i) != x);
    let rest = rest.map(|(_, (key, value))| format!(", {} {value}", last_part(key)));
    format!("{}{}", group.transport, rest.collect::<String>())
}

fn curves(comparison: &Comparison, metric: usize, x: &Numeric) -> Option<Section> {
    // Every curve keeps its place and so its colour, also where it has nothing to show.
    let mut lines: Vec<Line> = Vec::new();
    for group in &comparison.groups {
        let name = curve_name(group, Some(x.key));
        let i = lines
            .iter()
            .position(|line| line.name == name)
            .unwrap_or_else(|| {
                lines.push(Line::new(name, Vec::new()));
                lines.len() - 1
            });
        let at = number(&group.settings[x.key].1)?.1;
        if let Some(interval) = group.figures[metric].over_seeds {
            lines[i].points.push((at, interval.mean));
            lines[i].band.push((at, interval.low, interval.high));
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        line.band.sort_by(|a, b| a.0.total_cmp(&b.0));
        if comparison.seeds_max() < 2 {
            line.band.clear();
        }
    }
    lines.truncate(COLOURS);
    let points = || lines.iter().flat_map(|line| &line.points);
    let bands = || lines.iter().flat_map(|line| &line.band);
    let (left, right) = ends(points().map(|point| point.0))?;
    let (low, high) = ends(
        points()
            .map(|point| point.1)
            .chain(bands().flat_map(|&(_, low, high)| [low, high])),
    )?;
    if high <= 0.0 {
        return None;
    }
    let shown = &METRICS[metric];
    let x_title = &comparison.varied[x.key];
    let y_title = match comparison.seeds_max() {
        1 => shown.title.to_owned(),
        _ => format!("{}, mean of {}", shown.title, comparison.seeds_told()),
    };
    let chart = LineChart {
        label: format!("{} by {x_title}", shown.title),
        x: if wide(left, right) {
            Axis::log(x_title, x.unit, left, right)
        } else {
            Axis::linear(x_title, x.unit, left, right)
        },
        y: if wide(low, high) {
            Axis::log(&y_title, shown.unit, low, high)
        } else {
            Axis::linear(&y_title, shown.unit, 0.0, high).rounded()
        },
        lines,
        marks: Vec::new(),
    };
    Some(section(metric, String::new(), chart.html(), chart.points()))
}

/// Least and greatest.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Whether an axis between these ends has to be logarithmic. [ours: from 1 to 8 on]
fn wide(low: f64, high: f64) -> bool {
    low > 0.0 && high / low >= 8.0
}

fn section(metric: usize, says: String, body: String, points: usize) -> Section {
    let says = match (says.is_empty(), METRICS[metric].better) {
        (false, _) => says,
        (true, Better::Lower) => "Lower is better.".into(),
        (true, Better::Higher) => "Higher is better.".into(),
        (true, Better::Neither) => "They enter other figures with the time taken so far.".into(),
    };
    Section {
        id: METRICS[metric].id.into(),
        title: METRICS[metric].heading.into(),
        says,
        body: markup(body),
        points,
        table: None,
        fold: "",
        wide: false,
    }
}

/// As many groups as a chart has colours, those with the lowest tails, in their order; and what says so where there
/// are more.
fn drawn(groups: Vec<&Group>) -> (Vec<&Group>, String) {
    if groups.len() <= COLOURS {
        return (groups, String::new());
    }
    let tail = |group: &Group| {
        let figure = group.figures[By::SlowdownP99 as usize].over_seeds;
        figure.map_or(f64::INFINITY, |interval| interval.mean)
    };
    let mut tails: Vec<f64> = groups.iter().map(|group| tail(group)).collect();
    tails.sort_by(f64::total_cmp);
    let all = groups.len();
    let mut kept: Vec<&Group> = groups
        .into_iter()
        .filter(|group| tail(group) <= tails[COLOURS - 1])
        .collect();
    kept.truncate(COLOURS);
    (
        kept,
        format!("The {COLOURS} of {all} with the lowest p99 slowdown. "),
    )
}

/// The name of a section that there is once at each place.
fn id(what: &str, place: &Group) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let of = place
        .settings
        .iter()
        .map(|(_, value)| value.chars().map(plain));
    of.fold(what.to_owned(), |mut id, value| {
        id.push('-');
        id.extend(value);
        id
    })
}

/// A title, and at which settings it holds.
fn titled(what: &str, place: &Group) -> String {
    match place.place() {
        settings if settings.is_empty() => what.into(),
        settings => format!("{what}, at {settings}"),
    }
}

/// The tail of the slowdown by message size, transport by transport, at one place.
fn by_size(runs: &[&Summary], comparison: &Comparison, last: &Group) -> Option<Section> {
    let (shown, mut left_out) = drawn(comparison.rivals(last).collect());
    let bins = runs.first()?.sizes.get(1..)?;
    let tail = |group: &Group, bin: usize| {
        let values: Vec<f64> = runs
            .iter()
            .filter(|run| group.fingerprints.contains(&run.fingerprint))
            .filter(|run| run.transport == group.transport)
            .filter_map(|run| Some(run.sizes.get(bin)?.slowdown?.p99.value))
            .collect();
        Interval::of(&values).map(|interval| interval.mean)
    };
    let mut rows = Vec::new();
    for (i, bin) in (1..).zip(bins) {
        let values: Vec<Option<f64>> = shown.iter().map(|group| tail(group, i)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        rows.push(Range {
            name: bin.label(),
            values,
        });
    }
    let (tags, of) = tags(&shown);
    if tags.len() < of {
        let _ = write!(
            left_out,
            "Of {of} tags the {TAGS_SHOWN} in which they are furthest apart. "
        );
    }
    let tagged = of > 0;
    for (name, values) in tags {
        rows.push(Range { name, values });
    }
    // One range says what all messages say.
    if rows.len() < 2 {
        return None;
    }
    let all = || rows.iter().flat_map(|row| &row.values).flatten().copied();
    let (low, high) = (all().fold(1.0, f64::min), all().reduce(f64::max)?);
    let title = match comparison.seeds_max() {
        1 => "p99 slowdown".to_owned(),
        _ => format!("p99 slowdown, mean of {}", comparison.seeds_told()),
    };
    let axis = Axis::log(&title, Unit::Ratio, low, high.max(2.0));
    let names: Vec<&str> = shown.iter().map(|group| group.transport.as_str()).collect();
    let what = if tagged {
        "Slowdown by size and tag, p99"
    } else {
        "Slowdown by size, p99"
    };
    Some(Section {
        id: id("sizes", last).into(),
        title: titled(what, last).into(),
        says: format!("{left_out}Lower is better."),
        points: all().count(),
        body: markup(ranges(
            "p99 slowdown by message size and tag",
            &axis,
            &names,
            &rows,
        )),
        table: None,
        fold: "",
        wide: false,
    })
}

/// Who is ahead in which part of the messages at one place, and by how much.
fn parts(comparison: &Comparison, last: &Group) -> Option<Section> {
    let rivals: Vec<&Group> = comparison.rivals(last).collect();
    let mut rows = part_rows(&rivals);
    if rivals.len() < 2 || rows.len() < 2 {
        return None;
    }
    let many = rows.len() > FOLDED_FROM;
    if many {
        rows = telling_first(rows);
    }
    let names = || rivals.iter().map(|group| group.transport.as_str());
    let all: Vec<Vec<Value>> = rows.iter().map(part_cells).collect();
    let table = if rivals.len() > ACROSS_MAX && !many {
        let short = |row: &PartRow| {
            let name = row.name.trim_start_matches("p99 slowdown, ");
            name.to_owned()
        };
        let titles: Vec<String> = rows.iter().map(short).collect();
        let titles = titles.iter().map(String::as_str);
        let mut table = Table::new(
            &std::iter::once("p99 slowdown")
                .chain(titles)
                .collect::<Vec<_>>(),
        );
        for (i, name) in names().enumerate() {
            let cells = all.iter().map(|row| row[i].clone());
            table.push(std::iter::once(plain(name)).chain(cells).collect());
        }
        let counts = rows.iter().map(|row| plain(human::count(row.messages)));
        table.push(std::iter::once(plain("messages")).chain(counts).collect());
        table
    } else {
        let head = std::iter::once("part").chain(names());
        let mut table = Table::new(&head.chain(["messages"]).collect::<Vec<_>>());
        for (row, cells) in rows.iter().zip(all) {
            let cells = std::iter::once(plain(&row.name)).chain(cells);
            let count = plain(human::count(row.messages));
            table.push(cells.chain([count]).collect());
        }
        table
    };
    Some(Section {
        id: id("parts", last).into(),
        title: titled("Who is ahead where", last).into(),
        says: format!(
            "Ranked by p99 slowdown within each size and tag; the best is bold, and who is level with it. Who is level shares a \
             place, and small numbers are ratios to the best. Where messages did not finish, no. 2+ is a place from 2 on, and no. 2-3 \
             is 3 should who left them be ahead. Stragglers, where a tag has \
             some, are messages with more than twice the median slowdown of their own tag.{}",
            if many {
                " Tags in which they are furthest apart come first."
            } else {
                ""
            }
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    })
}

/// What each rival has of a part: the best is bold, and every number has its place and its ratio to the best.
fn part_cells(row: &PartRow) -> Vec<Value> {
    let places = row.places();
    let best = row.best();
    let cell = |i: usize| {
        let told = results::escape(&row.show(i).replace(">=", "≥"));
        let own = row.cells[i].map(|(interval, _)| interval.mean);
        let told = if row.is_best(i) {
            format!("<b class=\"best\">{told}</b>")
        } else {
            told
        };
        let times = best.zip(own).and_then(|(best, own)| times(own, best));
        let place = places[i].map(|place| format!("no. {place}"));
        let small: Vec<String> = place.into_iter().chain(times).collect();
        match small.join(", ") {
            small if small.is_empty() => markup(told),
            small => markup(format!("{told}<small>{small}</small>")),
        }
    };
    (0..row.cells.len()).map(cell).collect()
}

/// How many times the best a number is, where that can be told from 1.
fn times(own: f64, best: f64) -> Option<String> {
    let ratio = own / best;
    let text = human::ratio(ratio);
    (ratio.is_finite() && ratio > 1.0 && text != human::ratio(1.0)).then(|| format!("{text} times"))
}

/// The tails of messages with a tag, and the name of that.
type OfTag = (String, Vec<Option<f64>>);

/// The tails of messages that share a tag, group by group: of many tags those furthest apart, and how many there are.
fn tags(groups: &[&Group]) -> (Vec<OfTag>, usize) {
    let row = |(_, found): UnderEach<'_>| {
        let tag = found.iter().flatten().find_map(|part| part.tag())?;
        let of = |part: &Part| Some(part.p99?.mean);
        let tails = found.iter().map(|part| part.and_then(of)).collect();
        Some((human::tag(tag), tails))
    };
    let mut rows: Vec<OfTag> = under_each(groups).into_iter().filter_map(row).collect();
    let all = rows.len();
    if all > TAGS_SHOWN {
        let apart = |(_, values): &OfTag| {
            let ends = ends(values.iter().flatten().copied());
            ends.map_or(1.0, |(low, high)| high / low)
        };
        rows.sort_by(|a, b| apart(b).total_cmp(&apart(a)));
        rows.truncate(TAGS_SHOWN);
    }
    (rows, all)
}

/// Every figure; how far its seeds lie apart stands below it, so that all columns fit.
fn numbers(comparison: &Comparison, runs: &[&Summary], details: &[Details]) -> Section {
    let shown = || {
        METRICS
            .iter()
            .enumerate()
            .filter(|(_, m)| comparison.shows(m))
    };
    let mut head: Vec<&str> = vec!["transport"];
    head.extend(comparison.varied.iter().map(|key| last_part(key)));
    head.push("seeds");
    head.extend(shown().map(|(_, metric)| metric.title));
    let mut table = Table::new(&head);
    for group in &comparison.groups {
        let mut row: Vec<Value> = vec![plain(&group.transport)];
        row.extend(group.settings.iter().map(|(_, value)| plain(value)));
        row.push(seeds(group, runs, details));
        for (i, metric) in shown() {
            let told = show(metric, &group.figures[i]).replace(">=", "≥");
            let escape = results::escape;
            let own = group.figures[i].over_seeds.map(|interval| interval.mean);
            let best = comparison.best(group, i);
            let ratio = match metric.better {
                Better::Lower => own.zip(best).and_then(|(own, best)| times(own, best)),
                Better::Higher | Better::Neither => None,
            };
            let ratio = ratio.map_or(String::new(), |times| format!("<small>{times}</small>"));
            let (mean, spread) = match told.split_once(" ±") {
                Some((mean, half)) => (escape(mean), format!("<small>±{}</small>", escape(half))),
                None => (escape(&told), String::new()),
            };
            row.push(markup(if comparison.is_best(group, i) {
                format!("<b class=\"best\">{mean}</b>{spread}")
            } else {
                format!("{mean}{spread}{ratio}")
            }));
        }
        table.push(row);
    }
    Section {
        id: "numbers".into(),
        title: "All of it as numbers".into(),
        says: format!(
            "The best of its rivals is bold, and who is level with it. {LEVEL_TOLD} {}",
            what_the_spread_is(comparison)
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}

/// Seeds that a table names; of more it has the number. [ours]
const SEEDS_NAMED: usize = 5;

/// The seeds of a group, each a link to its run where there are few, and how many where there are many.
fn seeds(group: &Group, runs: &[&Summary], details: &[Details]) -> Value {
    if group.seeds.len() > SEEDS_NAMED || details.is_empty() {
        return plain(group.seeds.len().to_string());
    }
    let each = group.seeds.iter().zip(&group.fingerprints);
    let each: Vec<String> = each
        .map(|(&seed, fingerprint)| {
            let text = seed.to_string();
            link(group, seed, fingerprint, &text, runs, details).unwrap_or(text)
        })
        .collect();
    markup(each.join(" "))
}

/// A link to the report of a run, where that is known.
fn link(
    group: &Group,
    seed: u64,
    fingerprint: &str,
    text: &str,
    runs: &[&Summary],
    details: &[Details],
) -> Option<String> {
    let own = |run: &Summary| {
        run.fingerprint == fingerprint && run.seed == seed && run.transport == group.transport
    };
    let (_, details) = runs.iter().zip(details).find(|(run, _)| own(run))?;
    let (href, text) = (results::escape(&details.link), results::escape(text));
    Some(format!("<a href=\"{href}\">{text}</a>"))
}

/// Every run with its fingerprint, which leads to its report where that is known.
fn fingerprints(comparison: &Comparison, runs: &[&Summary], details: &[Details]) -> Section {
    let link = |group: &Group, seed: u64, print: &str| {
        link(group, seed, print, print, runs, details).map(markup)
    };
    let mut table = Table::new(&["transport", "settings", "seed", "fingerprint"]);
    table.text = vec!["settings"];
    for group in &comparison.groups {
        let settings: Vec<String> = group
            .settings
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        for (seed, fingerprint) in group.seeds.iter().zip(&group.fingerprints) {
            table.push(vec![
                plain(&group.transport),
                plain(settings.join(", ")),
                plain(seed.to_string()),
                link(group, *seed, fingerprint).unwrap_or_else(|| plain(fingerprint)),
            ]);
        }
    }
    Section {
        id: "fingerprints".into(),
        title: "Every run".into(),
        says: "The same version gives the same fingerprints on any machine.".into(),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: if details.is_empty() {
            "Seeds and fingerprints"
        } else {
            "Seeds, fingerprints and reports"
        },
        wide: true,
    }
}
