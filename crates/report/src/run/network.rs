//! What happened in the network.

use super::{TIME_POINTS, bucket};
use crate::chart::{Axis, Bar, HeatMap, Line, LineChart, bars};
use crate::page::{Section, Table, markup, text};
use minijinja::Value;
use model::{ByReason, Class};
use results::Unit;
use results::human;
use results::table::drops_text;
use results::{LinkSamples, PortRow, PortSeriesRow, RunRecord};
use results::{Summary, active, active_span, link_group_name, ports_span, utilisation};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Bytes, PS_PER_SEC, Time};

/// Buckets of a share over time; fewer, because a share needs time to mean anything.
const SHARE_POINTS: usize = 120;

/// Ports in a chart of curves: as many as there are colours that can be told apart.
const CURVES_MAX: usize = 5;

/// Ports in the map and in tables.
const PORTS_MAX: usize = 24;

/// Columns of the map.
const MAP_COLUMNS: usize = 160;

/// The time that charts show, and the moments in it at which ports were sampled.
struct Shown<'a> {
    window: (Time, Time),
    times: &'a [Time],
}

impl Shown<'_> {
    /// For each of `buckets` of the time, the last moment in it, by number; none where no moment lies.
    fn ends(&self, buckets: usize) -> Vec<Option<usize>> {
        let mut ends = vec![None; buckets];
        for (number, &at) in self.times.iter().enumerate() {
            ends[bucket(at, self.window, buckets)] = Some(number);
        }
        ends
    }
}

/// Samples of one port at the moments that charts show: for how many of them it showed what.
struct Sampled<'a> {
    port: &'a PortRow,
    stretches: Vec<(Range<usize>, &'a PortSeriesRow)>,
}

fn sampled<'a>(
    run: &'a RunRecord,
    links: &[LinkSamples<'a>],
    moments: &Range<usize>,
) -> Vec<Sampled<'a>> {
    let inside = |(during, row): &(Range<usize>, &'a PortSeriesRow)| {
        let from = during.start.saturating_sub(moments.start);
        let until = during.end.min(moments.end).saturating_sub(moments.start);
        (from < until).then_some((from..until, *row))
    };
    let of_link = |of: &LinkSamples<'a>| {
        let mut stretches = Vec::with_capacity(of.stretches.len());
        stretches.extend(of.stretches.iter().filter_map(inside));
        Sampled {
            port: &run.ports[of.link as usize],
            stretches,
        }
    };
    links.iter().map(of_link).collect()
}

/// Charts over time, of the samples by link.
pub(super) fn over_time(run: &RunRecord, links: &[LinkSamples<'_>]) -> Vec<Section> {
    let Some(window) = active(run) else {
        return Vec::new();
    };
    let all = run.port_series.moments();
    let moments =
        all.partition_point(|&at| at < window.0)..all.partition_point(|&at| at <= window.1);
    if moments.is_empty() {
        return Vec::new();
    }
    let mut ports = sampled(run, links, &moments);
    let shown = Shown {
        window,
        times: &all[moments],
    };
    let span = ports_span(run);
    let load: Vec<f64> = ports
        .iter()
        .map(|sampled| utilisation(sampled.port, span))
        .collect();
    let mut busiest: Vec<usize> = (0..ports.len()).collect();
    busiest.sort_by(|&a, &b| load[b].total_cmp(&load[a]).then(a.cmp(&b)));
    let busy = utilisation_section(&shown, &ports, &busiest);
    ports.retain(|sampled| !sampled.port.of_host());
    ports.sort_by_key(|sampled| (std::cmp::Reverse(sampled.port.queue_max), sampled.port.link));
    let mut sections = Vec::new();
    if !ports.is_empty() {
        sections.push(queue_section(&shown, &ports));
    }
    sections.push(busy);
    sections.extend(queue_map(&shown, &ports));
    sections
}

fn queue_section(shown: &Shown<'_>, ports: &[Sampled<'_>]) -> Section {
    let window = shown.window;
    let mut table = Table::new(&["port", "sampled max", "mean of samples", "true max"]);
    let mut lines = Vec::new();
    let used = |sampled: &&Sampled<'_>| sampled.stretches.iter().any(|(_, row)| row.queue > 0);
    for sampled in ports.iter().filter(used).take(CURVES_MAX) {
        let mut points: Vec<Option<(f64, f64)>> = vec![None; TIME_POINTS];
        let (mut sum, mut most) = (0u128, 0);
        for (during, row) in &sampled.stretches {
            for at in &shown.times[during.clone()] {
                let slot = &mut points[bucket(*at, window, TIME_POINTS)];
                // The peak of a bucket, where it was: peaks are what queues are looked at for.
                if slot.is_none_or(|(_, queue)| row.queue as f64 > queue) {
                    *slot = Some((at.0 as f64, row.queue as f64));
                }
            }
            sum += u128::from(row.queue) * during.len() as u128;
            most = most.max(row.queue);
        }
        let mean = u64::try_from(sum / shown.times.len() as u128).unwrap_or(u64::MAX);
        table.push(vec![
            text(sampled.port.name()),
            text(human::bytes(Bytes(most))),
            text(human::bytes(Bytes(mean))),
            text(human::bytes(Bytes(sampled.port.queue_max))),
        ]);
        let points = points.into_iter().flatten().collect();
        lines.push(Line::new(sampled.port.name(), points));
    }
    let top = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|p| p.1)
        .fold(0.0, f64::max);
    let chart = LineChart {
        label: "Bytes waiting in the fullest ports over time".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        y: Axis::linear("bytes waiting", Unit::Size, 0.0, top.max(1_000.0)).rounded(),
        lines,
        marks: Vec::new(),
    };
    let fullest = &ports[0];
    Section {
        id: "queues".into(),
        title: "Queues over time".into(),
        says: format!(
            "The fullest of {} sampled ports is {}; {}.",
            ports.len(),
            fullest.port.name(),
            human::bytes(Bytes(fullest.port.queue_max)) + " waited there at once"
        ),
        body: markup(chart.html()),
        points: chart.points(),
        table: Some(table),
        fold: "Queues as numbers",
        wide: false,
    }
}

/// Share of the line in use in each bucket, of which `ends` are the last moments; `None` where no moment lies.
fn shares(sampled: &Sampled<'_>, shown: &Shown<'_>, ends: &[Option<usize>]) -> Vec<Option<f64>> {
    let mut before = (shown.window.0, 0);
    let mut stretches = sampled.stretches.iter().peekable();
    let mut share = |end: usize| {
        while stretches.next_if(|(during, _)| during.end <= end).is_some() {}
        let (_, row) = stretches.peek()?;
        let (at, sent) = (shown.times[end], row.sent.sum());
        let could = u128::from(sampled.port.rate.0) * u128::from(at.since(before.0).0);
        let did = u128::from(sent.saturating_sub(before.1)) * 8 * u128::from(PS_PER_SEC);
        before = (at, sent);
        // A frame counts when its transmission is decided, which may be a little early.
        (could > 0).then(|| (did as f64 / could as f64).min(1.0))
    };
    ends.iter().map(|end| end.and_then(&mut share)).collect()
}

/// The mean of each group of links between two tiers, bucket by bucket.
fn group_means(
    ports: &[Sampled<'_>],
    all: &[Vec<Option<f64>>],
    at: impl Fn(usize) -> f64,
) -> Vec<Line> {
    let mut groups: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
    for (i, sampled) in ports.iter().enumerate() {
        groups
            .entry((sampled.port.from_tier, sampled.port.to_tier))
            .or_default()
            .push(i);
    }
    let mut lines = Vec::new();
    for members in groups.values().filter(|members| members.len() > 1) {
        let mean = |i: usize| {
            let shares: Vec<f64> = members
                .iter()
                .filter_map(|&member| all[member][i])
                .collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            (!shares.is_empty()).then_some((at(i), mean))
        };
        let kind = link_group_name(ports[members[0]].port);
        let name = format!("mean of {} {kind}", members.len());
        lines.push(Line::new(
            name,
            (0..all[members[0]].len()).filter_map(mean).collect(),
        ));
    }
    lines
}

/// The busiest link, and the mean of each group of links: single links are too many to see.
fn utilisation_section(shown: &Shown<'_>, ports: &[Sampled<'_>], busiest: &[usize]) -> Section {
    let window = shown.window;
    let span = window.1.since(window.0);
    let buckets = SHARE_POINTS.min(shown.times.len());
    let ends = shown.ends(buckets);
    let at = |i: usize| {
        let width = window.1.since(window.0).0 as f64 / buckets as f64;
        window.0.0 as f64 + width * (i as f64 + 0.5)
    };
    let all: Vec<Vec<Option<f64>>> = ports
        .iter()
        .map(|sampled| shares(sampled, shown, &ends))
        .collect();
    let first = &ports[busiest[0]];
    let known = |i: usize| all[busiest[0]][i].map(|share| (at(i), share));
    let mut lines = vec![Line::new(
        format!("{}, the busiest", first.port.name()),
        (0..buckets).filter_map(known).collect(),
    )];
    lines.extend(group_means(ports, &all, at));
    lines.truncate(crate::chart::COLOURS);
    let mut table = Table::new(&["link", "whole run", "busiest stretch"]);
    for &i in busiest.iter().take(2 * CURVES_MAX) {
        let most = all[i].iter().flatten().copied().fold(0.0, f64::max);
        table.push(vec![
            text(ports[i].port.name()),
            text(human::percent(utilisation(ports[i].port, span))),
            text(human::percent(most)),
        ]);
    }
    let chart = LineChart {
        label: "Share of the line in use over time".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        y: Axis::linear("share of the line in use", Unit::Share, 0.0, 1.0),
        lines,
        marks: Vec::new(),
    };
    Section {
        id: "utilisation".into(),
        title: "Links over time".into(),
        says: format!(
            "The busiest of {} sampled links is {}, in use {} of the run.",
            ports.len(),
            first.port.name(),
            human::percent(utilisation(first.port, span))
        ),
        body: markup(chart.html()),
        points: chart.points(),
        table: Some(table),
        fold: "Links as numbers",
        wide: false,
    }
}

fn queue_map(shown: &Shown<'_>, ports: &[Sampled<'_>]) -> Option<Section> {
    let window = shown.window;
    let columns = MAP_COLUMNS.min(shown.times.len());
    let column = |&at: &Time| bucket(at, window, columns);
    let column: Vec<usize> = shown.times.iter().map(column).collect();
    let rows: Vec<(String, Vec<u64>)> = ports
        .iter()
        .take(PORTS_MAX)
        .map(|sampled| {
            let mut cells = vec![0; columns];
            for (during, row) in &sampled.stretches {
                for &column in &column[during.clone()] {
                    cells[column] = row.queue.max(cells[column]);
                }
            }
            (sampled.port.name(), cells)
        })
        .filter(|(_, cells)| cells.iter().any(|&queue| queue > 0))
        .collect();
    // One or two ports are seen better as curves.
    if rows.len() < 3 {
        return None;
    }
    let most = rows
        .iter()
        .flat_map(|(_, cells)| cells)
        .copied()
        .max()
        .unwrap_or(0);
    let (drawn, all) = (rows.len(), ports.len());
    let map = HeatMap {
        label: "Bytes waiting in each port over time".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        darkest: human::bytes(Bytes(most)),
        rows,
    };
    Some(Section {
        id: "map".into(),
        title: "Where it waited".into(),
        says: format!("The {drawn} fullest of {all} sampled ports; each cell shows its peak."),
        points: drawn,
        body: markup(map.html()),
        table: None,
        fold: "",
        wide: true,
    })
}

/// Drops of `port`, faults included, by class.
fn lost(port: &PortRow) -> model::ByClass<u64> {
    model::ByClass::from_fn(|class| port.dropped[class] + port.lost[class])
}

/// Classes in the order of their colours, those of data in the ones that stand out.
const COLOURED: [Class; 5] = [
    Class::Plain,
    Class::Unscheduled,
    Class::Credit,
    Class::Scheduled,
    Class::Control,
];

pub(super) fn drops(run: &RunRecord, summary: &Summary) -> Option<Section> {
    let sum = |port: &PortRow| lost(port).sum();
    let mut ports: Vec<&PortRow> = run.ports.iter().filter(|port| sum(port) > 0).collect();
    if ports.is_empty() {
        return None;
    }
    // Credits are dropped by the thousand on purpose: they are drawn only if nothing else is.
    let credit = |port: &PortRow| lost(port)[Class::Credit];
    let only_credits = ports.iter().all(|port| sum(port) == credit(port));
    let drawn = |port: &PortRow| {
        if only_credits {
            sum(port)
        } else {
            sum(port) - credit(port)
        }
    };
    ports.sort_by_key(|port| (std::cmp::Reverse((drawn(port), sum(port))), port.link));
    let parts = |port: &PortRow| {
        COLOURED.map(|class| match class {
            Class::Credit if !only_credits => 0,
            class => lost(port)[class],
        })
    };
    let rows: Vec<Bar> = ports
        .iter()
        .take(10)
        .filter(|port| drawn(port) > 0)
        .map(|port| Bar {
            name: port.name(),
            parts: parts(port).into(),
            value: human::count(drawn(port)),
        })
        .collect();
    let mut head = vec!["port"];
    head.extend(Class::ALL.map(Class::name));
    head.extend(["by faults", "why"]);
    let mut table = Table::new(&head);
    for port in ports.iter().take(PORTS_MAX) {
        let mut row = vec![text(port.name())];
        row.extend(port.dropped.iter().map(|(_, &n)| text(human::count(n))));
        row.push(text(human::count(port.lost.sum())));
        row.push(text(why(&port.drop_reasons)));
        table.push(row);
    }
    Some(Section {
        id: "drops".into(),
        title: "Drops by class and port".into(),
        says: drops_words(summary, only_credits),
        body: markup(bars(&COLOURED.map(Class::name), &rows)),
        points: rows.len(),
        table: Some(table),
        fold: "Drops as numbers",
        wide: false,
    })
}

/// Reasons of drops that there were, the rarest last.
fn why(reasons: &ByReason<u64>) -> String {
    let mut found: Vec<_> = reasons.iter().filter(|&(_, &n)| n > 0).collect();
    found.sort_by_key(|&(reason, &n)| (std::cmp::Reverse(n), reason));
    let said = found
        .iter()
        .map(|(reason, n)| format!("{} {}", reason.name(), human::count(**n)));
    said.collect::<Vec<_>>().join(", ")
}

fn drops_words(summary: &Summary, only_credits: bool) -> String {
    let mut says = format!("In all: {}.", drops_text(summary));
    let reasons: Vec<String> = summary
        .drops
        .by_reason
        .iter()
        .filter(|&(_, &n)| n > 0)
        .map(|(reason, n)| format!("{reason} {}", human::count(*n)))
        .collect();
    if !reasons.is_empty() {
        says = format!("{says} Why: {}.", reasons.join(", "));
    }
    if summary.drops.by_class[Class::Credit.name()] > 0 {
        says += " Lost credits are no fault: receivers learn their rate from them";
        says += if only_credits {
            "."
        } else {
            ", so the bars leave them out."
        };
    }
    says
}

pub(super) fn credits(summary: &Summary) -> Option<Section> {
    let credits = summary.credits;
    if credits.sent == 0 {
        return None;
    }
    let lost = credits.dropped_at_host + credits.dropped_on_way;
    // What was still on its way when the run ended; duplicates by faults may exceed it.
    let rest = credits.sent.saturating_sub(credits.received + lost);
    let parts = [
        ("brought data", credits.used()),
        ("wasted: released no data", credits.wasted),
        ("dropped on the way", credits.dropped_on_way),
        (
            "dropped at the receiver's own link",
            credits.dropped_at_host,
        ),
        ("under way at the end", rest),
    ];
    let mut table = Table::new(&[
        &format!("{}s", summary.credit),
        "number",
        "of those sent",
        "of those that arrived",
    ]);
    let share = |n: u64| human::percent(n as f64 / credits.sent as f64);
    table.push(vec![
        text("sent"),
        text(human::count(credits.sent)),
        text(share(credits.sent)),
        text(""),
    ]);
    for (i, (name, n)) in parts.into_iter().enumerate() {
        let arrived = if i < 2 && credits.received > 0 {
            human::percent(n as f64 / credits.received as f64)
        } else {
            String::new()
        };
        table.push(vec![
            text(name),
            text(human::count(n)),
            text(share(n)),
            text(arrived),
        ]);
    }
    let bar = Bar {
        name: "sent".into(),
        parts: parts.iter().map(|&(_, n)| n).collect(),
        value: human::count(credits.sent),
    };
    Some(Section {
        id: "credits".into(),
        title: format!("What became of the {}s", summary.credit).into(),
        says: format!(
            "Waste is {}: so many of the {}s that arrived released nothing. {} of \
             all that were given out brought data.",
            credits.waste.map_or("-".into(), human::percent),
            summary.credit,
            share(credits.used())
        ),
        body: markup(bars(&parts.map(|(name, _)| name), &[bar])),
        points: parts.iter().filter(|&&(_, n)| n > 0).count(),
        table: Some(table),
        fold: "",
        wide: false,
    })
}

pub(super) fn links(run: &RunRecord, summary: &Summary) -> Section {
    let mut table = Table::new(&[
        "links",
        "how many",
        "mean use",
        "greatest use",
        "on",
        "fullest queue",
        "packets dropped",
    ]);
    table.text = vec!["on"];
    for group in &summary.links {
        table.push(vec![
            text(&group.name),
            text(human::count(group.links)),
            text(human::percent(group.utilisation_mean)),
            text(human::percent(group.utilisation_max)),
            text(&group.busiest),
            text(human::bytes(Bytes(group.queue_max))),
            text(human::count(group.dropped)),
        ]);
    }
    Section {
        id: "links".into(),
        title: "Links by place".into(),
        says: format!(
            "Use is the share of the {} of the run in which the line was busy. Credits are left \
             out of drops; queues of hosts are their own.",
            human::time(active_span(run))
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}
