//! A run on the terminal: one header, one row per transport, and what the reader must know.

use crate::apart::{OfTag, OfTransport, telling};
use crate::grid::{Cell, Column, Paint, Style, render, wrap};
use crate::human;
use crate::stats::{Dist, Figure};
use crate::summary::{Slow, Summary};
use crate::threshold::Verdict;
use model::Class;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::{Bytes, Rate, Span};

/// Header, table, warnings and thresholds of runs of one scenario, one row each.
pub fn text(runs: &[(&Summary, &[Verdict])], style: Style) -> String {
    let summaries: Vec<&Summary> = runs.iter().map(|&(summary, _)| summary).collect();
    let mut out = header(&summaries, style);
    out.push_str(&rows(&summaries, style));
    if runs.len() > 1 {
        out.push_str(&crate::compare::standing_of(&summaries, style));
    }
    out.push_str(&notes(runs, style));
    out
}

/// The scenario in one line, with seed and fingerprint where they are the same for all runs.
pub fn header(runs: &[&Summary], style: Style) -> String {
    let Some(first) = runs.first() else {
        return String::new();
    };
    let mut right = Vec::new();
    if runs.iter().all(|run| run.seed == first.seed) {
        right.push(format!("seed {}", first.seed));
    }
    if runs.len() == 1 {
        right.push(format!("fingerprint {}", first.fingerprint));
    }
    let right = right.join("   ");
    let gap = if right.is_empty() { "" } else { "     " };
    let title = common_title(runs);
    let one_line = first.scenario.chars().count() + title.chars().count() + right.len() + 8;
    let name = style.paint(Paint::Bold, &first.scenario);
    if one_line <= style.width {
        format!(" {name}  {title}{gap}{}\n", style.paint(Paint::Dim, &right))
    } else {
        let title = wrap(&title, style.width, 1);
        format!(" {name}\n{title}\n {}\n", style.paint(Paint::Dim, &right))
    }
}

/// The parts of the runs' titles, between commas, that they all share.
pub fn common_title(runs: &[&Summary]) -> String {
    let Some(first) = runs.first() else {
        return String::new();
    };
    let shared = |part: &&str| {
        runs.iter()
            .all(|run| run.title.split(", ").any(|p| p == *part))
    };
    first
        .title
        .split(", ")
        .filter(shared)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A row: a run, or one of its transports where it has several.
struct Line<'a> {
    run: &'a Summary,
    of: Option<&'a OfTransport>,
    /// The first of its run: what is not of one transport stands here.
    first: bool,
}

impl Line<'_> {
    /// The rows of a run.
    fn of(run: &Summary) -> Vec<Line<'_>> {
        let apart = (0..).zip(&run.transports).map(|(number, of)| Line {
            run,
            of: Some(of),
            first: number == 0,
        });
        let lines: Vec<_> = apart.collect();
        if lines.is_empty() {
            vec![Line {
                run,
                of: None,
                first: true,
            }]
        } else {
            lines
        }
    }

    fn fct(&self) -> Option<&Dist<u64>> {
        match self.of {
            Some(of) => of.fct_ps.as_ref(),
            None => self.run.all().fct_ps.as_ref(),
        }
    }

    fn slowdown(&self) -> Option<&Dist<f64>> {
        match self.of {
            Some(of) => of.slowdown.as_ref(),
            None => self.run.all().slowdown.as_ref(),
        }
    }

    fn goodput(&self) -> Option<u64> {
        match self.of {
            Some(of) => of.goodput_bps,
            None => self.run.goodput.map(|goodput| goodput.bps),
        }
    }
}

/// One row per run, or per transport of a run that has several.
pub fn rows(runs: &[&Summary], style: Style) -> String {
    let lines: Vec<Line<'_>> = runs.iter().flat_map(|run| Line::of(run)).collect();
    let column = |title: &str, rank: u8, cell: &dyn Fn(&Line<'_>) -> Cell| Column {
        title: title.into(),
        rank,
        cells: lines.iter().map(cell).collect(),
    };
    // What is of the whole run, in its first row.
    let whole = |title: &str, rank: u8, cell: &dyn Fn(&Summary) -> Cell| {
        column(title, rank, &|line| {
            if line.first {
                cell(line.run)
            } else {
                Cell::new("")
            }
        })
    };
    let fct = |pick: fn(&Dist<u64>) -> Figure<u64>| {
        move |line: &Line<'_>| bounded(line.fct().map(pick), |ps| human::time(Span(ps)))
    };
    let mut columns = vec![
        column("transport", 0, &|line| {
            Cell::new(line.of.map_or(&line.run.transport, |of| &of.name).clone())
        }),
        column("messages", 5, &messages),
        column("p50", 3, &fct(|dist| dist.p50)),
        column("p99", 1, &fct(|dist| dist.p99)),
        column("slowdown p99", 1, &|line| {
            bounded(line.slowdown().map(|dist| dist.p99), human::ratio)
        }),
        whole("max queue", 4, &|run| match &run.queue_max {
            Some(queue) => Cell::new(human::bytes(Bytes(queue.bytes))),
            None => Cell::painted("-", Paint::Dim),
        }),
        whole("drops by class", 2, &drops),
        column("goodput", 6, &|line| match line.goodput() {
            Some(bps) => Cell::new(human::rate(Rate(bps))),
            None => Cell::painted("-", Paint::Dim),
        }),
    ];
    if runs.iter().any(|run| run.credits.waste.is_some()) {
        columns.push(whole(
            &waste_title(runs),
            7,
            &|run| match run.credits.waste {
                Some(share) => Cell::new(human::percent(share)),
                None => Cell::painted("-", Paint::Dim),
            },
        ));
    }
    far_tail(&mut columns, &lines);
    for key in varied(runs).into_iter().rev() {
        let value = |run: &Summary| {
            let setting = run.settings.iter().find(|(name, _)| *name == key);
            Cell::new(setting.map_or("-", |(_, value)| value))
        };
        columns.insert(1, whole(last_part(&key), 0, &value));
    }
    if runs.iter().any(|run| run.seed != runs[0].seed) {
        columns.insert(1, whole("seed", 0, &|run| Cell::new(run.seed.to_string())));
    }
    if runs.len() > 1 {
        columns.push(whole("fingerprint", 8, &|run| {
            Cell::painted(run.fingerprint.clone(), Paint::Dim)
        }));
    }
    render(&columns, style)
}

/// What heads the share of credits that found nothing to send: `grant waste`, `credit/grant waste`.
pub(crate) fn waste_title(runs: &[&Summary]) -> String {
    let given = runs.iter().filter(|run| run.credits.waste.is_some());
    let mut words: Vec<&str> = Vec::new();
    for word in given.flat_map(|run| run.credit.split('/')) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    format!("{} waste", words.join("/"))
}

/// Puts what lies behind the p99 beside it. Of few messages that is the slowest one, which stands
/// there already.
fn far_tail(columns: &mut Vec<Column>, lines: &[Line<'_>]) {
    let most = lines.iter().map(|line| line.run.all().messages).max();
    let most = most.unwrap_or(0);
    let mut after = |before: &str, title: &str, cell: &dyn Fn(&Line<'_>) -> Cell| {
        let place = columns.iter().position(|column| column.title == before);
        let column = Column {
            title: title.into(),
            rank: 2,
            cells: lines.iter().map(cell).collect(),
        };
        columns.insert(place.map_or(columns.len(), |place| place + 1), column);
    };
    let fct = |pick: fn(&Dist<u64>) -> Figure<u64>| {
        move |line: &Line<'_>| bounded(line.fct().map(pick), |ps| human::time(Span(ps)))
    };
    if most > 100 {
        after("p99", "max", &fct(|dist| dist.max));
        after("slowdown p99", "slowdown max", &|line| {
            bounded(line.slowdown().map(|dist| dist.max), human::ratio)
        });
    }
    if most > 1_000 {
        after("p99", "p99.9", &fct(|dist| dist.p999));
    }
}

/// Keys whose values differ between runs, the transport's own left out: it has a column.
pub(crate) fn varied(runs: &[&Summary]) -> Vec<String> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (key, value) in runs.iter().flat_map(|run| &run.settings) {
        if !order.contains(&key.as_str()) {
            order.push(key);
        }
        values.entry(key).or_default().push(value);
    }
    let differs = |key: &&str| {
        let values = &values[*key];
        values.len() < runs.len() || values.iter().any(|value| *value != values[0])
    };
    order
        .into_iter()
        .filter(|key| *key != "transport.kind" && differs(key))
        .map(str::to_owned)
        .collect()
}

/// `load` of `workload.load`.
pub fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn bounded<T>(figure: Option<Figure<T>>, show: impl Fn(T) -> String) -> Cell {
    match figure {
        None => Cell::painted("-", Paint::Dim),
        Some(Figure {
            value,
            at_least: true,
        }) => Cell::painted(format!(">= {}", show(value)), Paint::Warn),
        Some(Figure {
            value,
            at_least: false,
        }) => Cell::new(show(value)),
    }
}

fn messages(line: &Line<'_>) -> Cell {
    let (run, all) = (line.run.messages, line.run.all());
    let (counted, finished, open) = match line.of {
        Some(of) => {
            let waiting = of.fct_ps.as_ref().is_some_and(|dist| dist.mean.at_least);
            (of.messages, of.finished, waiting)
        }
        None => (run.counted, run.finished, all.unfinished > 0),
    };
    if open {
        let text = format!("{} of {}", human::count(finished), human::count(counted));
        Cell::painted(text, Paint::Warn)
    } else {
        Cell::new(human::count(counted))
    }
}

/// Drops of every class that has any; what faults took is added with a plus.
pub fn drops_text(run: &Summary) -> String {
    let mut parts: Vec<String> = Class::ALL
        .iter()
        .filter_map(|class| {
            let n = *run.drops.by_class.get(class.name())?;
            (n > 0).then(|| format!("{} {}", class.name(), human::count(n)))
        })
        .collect();
    let faults: u64 = run.drops.faults.values().sum();
    if run.credits.dropped_at_host > 0 {
        parts.push(format!(
            "credit at hosts {}",
            human::count(run.credits.dropped_at_host)
        ));
    }
    if faults > 0 {
        parts.push(format!("+ faults {}", human::count(faults)));
    }
    if parts.is_empty() {
        "none".into()
    } else {
        parts.join(", ")
    }
}

fn drops(run: &Summary) -> Cell {
    let paint = match (run.drops.total, run.drops.data) {
        (0, _) => Paint::Dim,
        (_, 0) => Paint::Plain,
        _ => Paint::Warn,
    };
    Cell::painted(drops_text(run), paint)
}

/// Flows that did not finish whose state is shown. [ours]
const STUCK_SHOWN: usize = 5;

/// What several runs say together, the slowest message of one, warnings, and thresholds with a tick
/// or a cross.
pub fn notes(runs: &[(&Summary, &[Verdict])], style: Style) -> String {
    let mut out = String::new();
    let width = style.width.min(100);
    let several = runs.len() > 1;
    let summaries: Vec<&Summary> = runs.iter().map(|&(summary, _)| summary).collect();
    if several {
        out.push_str(&crate::compare::conclusion(&summaries, style));
    } else {
        for warning in summaries.iter().flat_map(|run| &run.warnings) {
            let text = wrap(&format!("warning: {warning}"), width, 1);
            let _ = writeln!(out, "{}", style.paint(Paint::Warn, &text));
        }
    }
    let varied = varied(&summaries);
    let seeds = summaries.iter().any(|run| run.seed != summaries[0].seed);
    for (run, verdicts) in runs {
        let whose = if several {
            format!("{}: ", called(run, &varied, seeds))
        } else {
            String::new()
        };
        for flow in run.stuck.iter().take(STUCK_SHOWN) {
            let text = format!(
                "{whose}h{}, connection {}: {}, waits for {}",
                flow.host, flow.conn, flow.state, flow.waits_for
            );
            let _ = writeln!(out, "{}", wrap(&text, width, 3));
        }
        let more = run.stuck.len().saturating_sub(STUCK_SHOWN);
        if more > 0 {
            let text = format!("{whose}{more} more are in summary.json and, with --json, here");
            let _ = writeln!(out, "{}", wrap(&text, width, 3));
        }
        for text in [by_size(run), by_tag(run)].into_iter().flatten() {
            let _ = writeln!(out, "{}", wrap(&format!("{whose}{text}"), width, 1));
        }
        if let (Some(slow), false) = (run.slowest.first(), several) {
            let _ = writeln!(out, "{}", wrap(&slowest(run, slow), width, 1));
        }
        for verdict in *verdicts {
            let (mark, paint) = if verdict.passed {
                ("✓", Paint::Good)
            } else {
                ("✗", Paint::Bad)
            };
            let _ = writeln!(
                out,
                " {} {whose}{} {}   measured {}",
                style.paint(paint, mark),
                verdict.key,
                verdict.condition,
                verdict.measured
            );
        }
    }
    out
}

/// Tags of a run that a terminal shows. [ours]
const TAGS_SHOWN: usize = 10;

/// A run among others: `homa, load 0.2, seed 3`.
fn called(run: &Summary, varied: &[String], seeds: bool) -> String {
    let mut name = run.transport.clone();
    for (key, value) in run.settings.iter().filter(|(key, _)| varied.contains(key)) {
        let _ = write!(name, ", {} {value}", last_part(key));
    }
    if seeds {
        let _ = write!(name, ", seed {}", run.seed);
    }
    name
}

/// `>= 12.3`.
fn at_least(figure: Figure<f64>) -> String {
    let bound = if figure.at_least { ">= " } else { "" };
    format!("{bound}{}", human::ratio(figure.value))
}

/// Slowdowns by tag, and when the last byte of each was there. Of one tag alone only the last byte: its slowdowns are
/// those of all messages, in the table.
fn by_tag(run: &Summary) -> Option<String> {
    let all_in = |of: &OfTag| {
        let bound = if of.took_ps.at_least { ">= " } else { "" };
        let took = human::time(Span(of.took_ps.value));
        let late = match of.stragglers {
            0 => String::new(),
            1 => ", 1 straggler".to_owned(),
            n => format!(", {} stragglers", human::count(n)),
        };
        format!("all in {bound}{took}{late}")
    };
    let name = |of: &OfTag| format!("{} ({})", of.name, human::count(of.messages));
    if let [only] = run.tags.as_slice() {
        let group = only.name != model::UNTAGGED && only.messages > 1;
        return group.then(|| format!("tag {}: {}", name(only), all_in(only)));
    }
    let one = |of: &OfTag| {
        let slow = of.slowdown.as_ref()?;
        let tail = [slow.p50, slow.p99, slow.max].map(at_least).join(" / ");
        Some(format!("{} {tail}, {}", name(of), all_in(of)))
    };
    let some = |of: &&OfTag| of.slowdown.is_some();
    let all = run.tags.iter().filter(some).count();
    // A screen holds so many; the report has the others.
    let (parts, which): (Vec<String>, _) = if all > TAGS_SHOWN {
        let order = telling(&run.tags).into_iter();
        let which = format!(", the {TAGS_SHOWN} slowest of {all}");
        (order.filter_map(one).take(TAGS_SHOWN).collect(), which)
    } else {
        (run.tags.iter().filter_map(one).collect(), String::new())
    };
    (all > 0).then(|| {
        format!(
            "slowdown p50 / p99 / max by tag{which}: {}",
            parts.join("; ")
        )
    })
}

/// Median and 99th percentile of the slowdown by size of message, where sizes differ.
fn by_size(run: &Summary) -> Option<String> {
    let bins = run
        .sizes
        .iter()
        .filter(|bin| !bin.is_all() && bin.messages > 0);
    let parts: Vec<_> = bins
        .filter_map(|bin| {
            let slowdown = bin.slowdown.as_ref()?;
            let size = match bin.up_to {
                Some(size) => format!("to {}", human::bytes(Bytes(size))),
                None => format!("above {}", human::bytes(Bytes(bin.above))),
            };
            let tail = [slowdown.p50, slowdown.p99].map(at_least).join(" / ");
            Some(format!("{size} {tail}"))
        })
        .collect();
    (parts.len() > 1).then(|| format!("slowdown p50 / p99 by size: {}", parts.join(", ")))
}

/// What is said of the message with the greatest slowdown, and of the one that took longest where that
/// is another. A bound below one says nothing and is left out.
pub(crate) fn slowest(run: &Summary, slow: &Slow) -> String {
    let bound = |at_least: bool| if at_least { "at least " } else { "" };
    let ratio = |figure: Figure<f64>| {
        let says = !figure.at_least || figure.value > 1.0;
        says.then(|| format!("{}{}", bound(figure.at_least), human::ratio(figure.value)))
    };
    let all = run.all();
    let median = all.slowdown.as_ref().and_then(|dist| ratio(dist.p50));
    let longest = match all.fct_ps.map(|dist| dist.max) {
        Some(max) if max.value > slow.fct_ps.value => format!(
            "; the longest took {}{}",
            bound(max.at_least),
            human::time(Span(max.value))
        ),
        _ => String::new(),
    };
    let times = ratio(slow.slowdown).map_or(String::new(), |times| {
        format!(", {times} times what an idle network takes")
    });
    let median = median.map_or(String::new(), |median| format!("; the median is {median}"));
    format!(
        "slowest {}by slowdown: message {} ({} -> {}, {}) took {}{}{times}{median}{longest}",
        if all.unfinished > 0 { "so far " } else { "" },
        slow.message,
        slow.from,
        slow.to,
        human::bytes(Bytes(slow.size)),
        bound(slow.fct_ps.at_least),
        human::time(Span(slow.fct_ps.value)),
    )
}
