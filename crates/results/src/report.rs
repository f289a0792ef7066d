//! The report of one run: a single HTML file that needs no network and no server.

use crate::chart::{Axis, Bar, HeatMap, Line, LineChart, Mark, Range, Unit, bars, ranges};
use crate::human;
use crate::page::{About, Block, Chip, Page, Section, Table, Tile, markup, text};
use crate::record::{FlowRow, PortRow, PortSeriesRow, RunRecord, Status};
use crate::stats::{Dist, Figure, Sorted};
use crate::summary::{Slow, Summary, active, counts, fct, slowdown, utilisation};
use crate::table::{drops_text, slowest};
use crate::threshold::Verdict;
use minijinja::Value;
use model::Class;
use units::{Bytes, PS_PER_SEC, Rate, Span, Time};

/// Points of a distribution curve besides its tail. [ours: half a pixel on a wide screen]
const CURVE_POINTS: usize = 400;
/// Greatest values of a distribution that are all drawn.
const TAIL_POINTS: usize = 40;
/// Buckets of a curve over time.
const TIME_POINTS: usize = 320;
/// Buckets of a share over time; fewer, because a share needs time to mean anything.
const SHARE_POINTS: usize = 120;
/// Ports in a chart of curves: as many as there are colours that can be told apart.
const CURVES_MAX: usize = 5;
/// Ports in the map and in tables.
const PORTS_MAX: usize = 24;
/// Columns of the map.
const MAP_COLUMNS: usize = 160;
/// Flows that did not finish, named in the report; the others are in `flows.csv`.
const STUCK_MAX: usize = 50;
/// The resolved scenario is cut here; it stands whole in `resolved.toml`.
const SCENARIO_MAX: usize = 150_000;
/// Messages of equal size range that a point of slowdown by size rests on. [HPCC artefact: 5 %]
const SIZE_GROUPS: usize = 20;

/// The report as HTML.
pub fn html(run: &RunRecord, summary: &Summary, verdicts: &[Verdict]) -> String {
    let mut sections = Vec::new();
    sections.extend(thresholds(verdicts));
    sections.extend(completion(run, summary));
    sections.extend(by_size(run, summary));
    sections.extend(outstanding(run));
    sections.extend(over_time(run));
    sections.extend(drops(run, summary));
    sections.extend(credits(summary));
    sections.extend(slowest_table(summary));
    sections.extend(stuck(run));
    sections.push(links(run, summary));
    let (headline, lede) = headline(summary);
    Page {
        title: format!("{} - {} - tidegate", summary.scenario, summary.transport),
        scenario: summary.scenario.clone(),
        subtitle: summary.title.clone(),
        chips: chips(summary, verdicts),
        headline: bind(&headline),
        lede: bind(&lede),
        tiles: tiles(summary),
        warnings: summary.warnings.clone(),
        sections,
        about: about(run, summary),
        footer: "Made by tidegate. The same scenario and seed give this page again, byte for \
                 byte, on any machine and any number of threads."
            .into(),
    }
    .render(&crate::files::to_json(summary))
}

/// Keeps numbers and their units on one line.
fn bind(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = "";
    for word in text.split(' ') {
        if !out.is_empty() {
            let number = last.ends_with(|c: char| c.is_ascii_digit());
            let unit = word.len() <= 5 && word.starts_with(|c: char| c.is_ascii_alphabetic());
            out.push(if number && unit { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        last = word;
    }
    out
}

fn chips(summary: &Summary, verdicts: &[Verdict]) -> Vec<Chip> {
    let chip = |text: String, kind: &'static str| Chip { text, kind };
    let mut chips = vec![chip(summary.transport.clone(), "")];
    chips.push(match (summary.status.as_str(), &summary.conservation) {
        (_, Some(_)) => chip("packets unaccounted for".into(), "bad"),
        (status, None) if status == Status::Complete.name() => chip(status.into(), "good"),
        (status, None) => chip(status.into(), "bad"),
    });
    if !verdicts.is_empty() {
        let passed = verdicts.iter().filter(|verdict| verdict.passed).count();
        let kind = if passed == verdicts.len() {
            "good"
        } else {
            "bad"
        };
        chips.push(chip(
            format!("{passed} of {} thresholds met", verdicts.len()),
            kind,
        ));
    }
    chips.push(chip(format!("seed {}", summary.seed), ""));
    chips.push(chip(format!("fingerprint {}", summary.fingerprint), ""));
    chips
}

/// The one sentence that a reader takes away, and the one that explains it.
fn headline(summary: &Summary) -> (String, String) {
    let all = summary.all();
    if let (Some(slow), Some(times), Some(slowdowns)) =
        (summary.slowest.first(), &all.fct_ps, &all.slowdown)
    {
        let at_least = if slow.fct_ps.at_least {
            "at least "
        } else {
            ""
        };
        let headline = format!(
            "The slowest of {} messages took {at_least}{}: {} times what an idle network needs.",
            human::count(all.messages),
            human::time(Span(slow.fct_ps.value)),
            human::ratio(slow.slowdown.value),
        );
        let lede = format!(
            "It is message {}, {} from h{} to h{}, sent at {}. The median message took {}, {} \
             times its idle time; 99 in 100 took {} or less.",
            slow.message,
            human::bytes(Bytes(slow.size)),
            slow.src,
            slow.dst,
            human::time(Span(slow.start_ps)),
            figure(times.p50, |ps| human::time(Span(ps))),
            figure(slowdowns.p50, human::ratio),
            figure(times.p99, |ps| human::time(Span(ps))),
        );
        return (headline, lede);
    }
    match summary.goodput {
        Some(goodput) => (
            format!(
                "{} flows shared {} of goodput.",
                human::count(summary.messages.counted),
                human::rate(Rate(goodput.bps))
            ),
            format!(
                "They have a set end, so they have no completion time. Jain's fairness index of \
                 their rates is {}.",
                summary.fairness.map_or("-".into(), human::ratio)
            ),
        ),
        None => (
            "No message started inside the measurement window.".into(),
            "There is nothing to measure; the scenario below says what was asked for.".into(),
        ),
    }
}

fn figure<T>(figure: Figure<T>, show: impl Fn(T) -> String) -> String {
    let text = show(figure.value);
    if figure.at_least {
        format!("at least {text}")
    } else {
        text
    }
}

fn tiles(summary: &Summary) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let mut tile = |name, value: String, note: String| tiles.push(Tile { name, value, note });
    let short = |f: Figure<u64>| {
        format!(
            "{}{}",
            if f.at_least { "≥ " } else { "" },
            human::time(Span(f.value))
        )
    };
    if let (Some(times), Some(slow)) = (&summary.all().fct_ps, &summary.all().slowdown) {
        tile(
            "Median completion",
            short(times.p50),
            format!("mean {}", short(times.mean)),
        );
        tile(
            "p99 completion",
            short(times.p99),
            format!("max {}", short(times.max)),
        );
        let bound = if slow.p99.at_least { "≥ " } else { "" };
        tile(
            "p99 slowdown",
            format!("{bound}{}", human::ratio(slow.p99.value)),
            format!("median {}", human::ratio(slow.p50.value)),
        );
    }
    let messages = summary.messages;
    let unfinished = summary.all().unfinished;
    tile(
        "Messages",
        human::count(messages.counted),
        if unfinished > 0 {
            format!("{} did not finish", human::count(unfinished))
        } else {
            format!("{} in all", human::bytes(Bytes(messages.bytes)))
        },
    );
    if let Some(goodput) = summary.goodput {
        let over = human::time(Span(goodput.until_ps - goodput.from_ps));
        tile(
            "Goodput",
            human::rate(Rate(goodput.bps)),
            format!("over {over}, all hosts"),
        );
    }
    if let Some(queue) = &summary.queue_max {
        tile(
            "Fullest queue",
            human::bytes(Bytes(queue.bytes)),
            queue.port.clone(),
        );
    }
    let drops = &summary.drops;
    let faults: u64 = drops.faults.values().sum();
    let note = match (drops.total - drops.data, faults) {
        (0, 0) => "credits and faults included".into(),
        (credits, 0) => format!("and {} credits", human::count(credits)),
        (credits, faults) => {
            format!(
                "{} credits, {} by faults",
                human::count(credits),
                human::count(faults)
            )
        }
    };
    tile("Packets dropped", human::count(drops.data), note);
    tiles
}

fn thresholds(verdicts: &[Verdict]) -> Option<Section> {
    if verdicts.is_empty() {
        return None;
    }
    let mut table = Table::new(&["", "metric", "must be", "measured"]);
    table.text = vec!["metric", "must be"];
    for verdict in verdicts {
        let mark = if verdict.passed {
            "<span class=\"ok\" title=\"met\">✓</span>"
        } else {
            "<span class=\"no\" title=\"not met\">✗</span>"
        };
        table.push(vec![
            markup(mark.into()),
            text(&verdict.key),
            text(&verdict.condition),
            text(&verdict.measured),
        ]);
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.passed).count();
    let says = match failed {
        0 => "Every condition of the scenario holds.".into(),
        n => format!(
            "{n} of {} conditions of the scenario do not hold.",
            verdicts.len()
        ),
    };
    Some(Section {
        id: "thresholds",
        title: "Thresholds",
        says,
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    })
}

/// The share of all messages that finished by each time; unfinished ones keep it below one.
fn cdf(times: Vec<Figure<u64>>) -> Vec<(f64, f64)> {
    let sorted = Sorted::new(times);
    let n = sorted.len();
    let done: Vec<u64> = sorted
        .values()
        .iter()
        .filter(|took| !took.at_least)
        .map(|took| took.value)
        .collect();
    let every = done.len().div_ceil(CURVE_POINTS).max(1);
    let tail = done.len().saturating_sub(TAIL_POINTS);
    (0..done.len())
        .filter(|i| (i + 1).is_multiple_of(every) || *i == 0 || *i >= tail)
        .map(|i| (done[i] as f64, (i + 1) as f64 / n as f64))
        .collect()
}

/// One curve for all messages, and one per size where there are several.
fn completion_lines(run: &RunRecord, summary: &Summary) -> Vec<Line> {
    let counted = || run.flows.iter().filter(|flow| counts(flow, &run.window));
    let used = summary.sizes[1..]
        .iter()
        .filter(|bin| bin.messages > 0)
        .count();
    let mut lines = Vec::new();
    for bin in &summary.sizes {
        let inside = |flow: &&FlowRow| bin.holds(flow.size);
        let times: Vec<_> = counted()
            .filter(inside)
            .filter_map(|flow| fct(flow, run.end))
            .collect();
        // One size bin alone repeats the curve of all.
        if times.is_empty() || (bin.name != "all" && used == 1) {
            continue;
        }
        lines.push(Line {
            name: bin.label(),
            points: cdf(times),
            stepped: true,
        });
    }
    lines.retain(|line| !line.points.is_empty());
    lines
}

fn completion(run: &RunRecord, summary: &Summary) -> Option<Section> {
    let all = summary.all();
    let times = all.fct_ps.as_ref()?;
    let lines = completion_lines(run, summary);
    let xs = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.0)
    };
    let (min, max) = (xs().reduce(f64::min), xs().reduce(f64::max));
    let mut section = Section {
        id: "completion",
        title: "Completion times",
        says: format!(
            "Half of the messages finish within {}, 99 in 100 within {}.{}",
            figure(times.p50, |ps| human::time(Span(ps))),
            figure(times.p99, |ps| human::time(Span(ps))),
            if all.unfinished > 0 {
                " The curves end below 100% because some did not finish."
            } else {
                ""
            }
        ),
        body: Value::from(""),
        points: 0,
        table: Some(times_table(summary)),
        fold: "Completion times by size",
        wide: false,
    };
    if let (Some(min), Some(max)) = (min, max) {
        let mark = |name: &str, figure: Figure<u64>| Mark {
            x: figure.value as f64,
            name: format!("{name} {}", human::time(Span(figure.value))),
        };
        let chart = LineChart {
            label: section.says.clone(),
            x: Axis::log("completion time", Unit::Time, min.max(1.0), max),
            y: Axis::linear(
                "share of messages that have finished",
                Unit::Share,
                0.0,
                1.0,
            ),
            lines,
            marks: vec![mark("p50", times.p50), mark("p99", times.p99)],
        };
        section.points = chart.points();
        section.body = markup(chart.html());
    }
    Some(section)
}

fn quantile_table<T: Copy>(
    summary: &Summary,
    dist: impl Fn(usize) -> Option<Dist<T>>,
    show: impl Fn(T) -> String,
) -> Table {
    let mut table = Table::new(&[
        "size", "messages", "mean", "p50", "p90", "p95", "p99", "p99.9", "max",
    ]);
    for (i, bin) in summary.sizes.iter().enumerate() {
        let Some(dist) = dist(i) else { continue };
        let cell = |figure: Figure<T>| {
            text(format!(
                "{}{}",
                if figure.at_least { "≥ " } else { "" },
                show(figure.value)
            ))
        };
        table.push(vec![
            text(bin.label()),
            text(human::count(bin.messages)),
            cell(dist.mean),
            cell(dist.p50),
            cell(dist.p90),
            cell(dist.p95),
            cell(dist.p99),
            cell(dist.p999),
            cell(dist.max),
        ]);
    }
    table
}

fn times_table(summary: &Summary) -> Table {
    quantile_table(
        summary,
        |i| summary.sizes[i].fct_ps,
        |ps| human::time(Span(ps)),
    )
}

fn by_size(run: &RunRecord, summary: &Summary) -> Option<Section> {
    let slow = summary.all().slowdown.as_ref()?;
    let mut counted: Vec<(u64, Figure<f64>)> = run
        .flows
        .iter()
        .filter(|flow| counts(flow, &run.window))
        .filter_map(|flow| Some((flow.size, slowdown(flow, run.end)?)))
        .collect();
    counted.sort_by_key(|&(size, _)| size);
    let mut sizes: Vec<u64> = counted.iter().map(|&(size, _)| size).collect();
    sizes.dedup();
    let curves = counted.len() >= 5 * SIZE_GROUPS && sizes.len() > 5;
    let (body, points) = if curves {
        slowdown_curves(&counted)
    } else {
        slowdown_ranges(summary)
    };
    Some(Section {
        id: "slowdown",
        title: "Slowdown by size",
        says: format!(
            "Completion time over that in an idle network: the median is {}, 99 in 100 stay \
             within {}.{}",
            figure(slow.p50, human::ratio),
            figure(slow.p99, human::ratio),
            if curves {
                " Each point stands for one message in twenty."
            } else {
                ""
            }
        ),
        body: markup(body),
        points,
        table: Some(quantile_table(
            summary,
            |i| summary.sizes[i].slowdown,
            human::ratio,
        )),
        fold: "Slowdowns by size",
        wide: false,
    })
}

/// Quantiles of equally many messages, by size. [HPCC artefact, `fct_analysis.py`]
fn slowdown_curves(counted: &[(u64, Figure<f64>)]) -> (String, usize) {
    let mut lines = ["p50", "p95", "p99"].map(|name| Line {
        name: name.into(),
        points: Vec::new(),
        stepped: false,
    });
    for group in 0..SIZE_GROUPS {
        let part = &counted
            [group * counted.len() / SIZE_GROUPS..(group + 1) * counted.len() / SIZE_GROUPS];
        let sorted = Sorted::new(part.iter().map(|&(_, slow)| slow).collect());
        let middle = part[part.len() / 2].0.max(1) as f64;
        for (line, share) in lines.iter_mut().zip([5_000, 9_500, 9_900]) {
            let value = sorted.quantile(share).value;
            // Groups of one size share an x; the worst of them is shown.
            match line.points.last_mut() {
                Some(last) if last.0 >= middle => last.1 = last.1.max(value),
                _ => line.points.push((middle, value)),
            }
        }
    }
    let all = || lines.iter().flat_map(|line| &line.points);
    let min = all().map(|point| point.1).fold(1.0, f64::min);
    let max = all().map(|point| point.1).fold(1.0, f64::max);
    let sizes = (
        all().map(|point| point.0).fold(f64::INFINITY, f64::min),
        all().map(|point| point.0).fold(0.0, f64::max),
    );
    let chart = LineChart {
        label: "Slowdown by message size".into(),
        x: Axis::log("message size", Unit::Size, sizes.0, sizes.1),
        y: Axis::log("slowdown", Unit::Ratio, min, max.max(2.0)),
        lines: lines.into(),
        marks: Vec::new(),
    };
    (chart.html(), chart.points())
}

fn slowdown_ranges(summary: &Summary) -> (String, usize) {
    let used: Vec<_> = summary.sizes[1..]
        .iter()
        .filter(|bin| bin.slowdown.is_some())
        .collect();
    let rows: Vec<Range> = used
        .iter()
        .filter_map(|bin| {
            let dist = bin.slowdown.as_ref()?;
            Some(Range {
                name: bin.label(),
                values: [dist.p50, dist.p95, dist.p99, dist.max]
                    .map(|figure| figure.value)
                    .into(),
            })
        })
        .collect();
    let all = || rows.iter().flat_map(|row| &row.values).copied();
    let (min, max) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    let axis = Axis::log("slowdown", Unit::Ratio, min, max.max(2.0));
    let label = "Slowdown by message size";
    (
        ranges(label, &axis, &["p50", "p95", "p99", "max"], &rows),
        4 * rows.len(),
    )
}

/// Bytes asked for and not yet delivered, over time. Comes from the messages alone, so it is there
/// without samples too.
fn outstanding(run: &RunRecord) -> Option<Section> {
    let window = shown(run)?;
    let mut changes: Vec<(Time, i128)> = Vec::new();
    for flow in run.flows.iter().filter(|flow| !flow.timed) {
        changes.extend(flow.start.map(|at| (at, i128::from(flow.size))));
        changes.extend(flow.end.map(|at| (at, -i128::from(flow.size))));
    }
    changes.sort_unstable();
    let mut peaks: Vec<Option<(Time, i128)>> = vec![None; TIME_POINTS];
    let (mut now, mut most) = (0, (Time::ZERO, 0));
    for group in changes.chunk_by(|a, b| a.0 == b.0) {
        let at = group[0].0;
        now += group.iter().map(|change| change.1).sum::<i128>();
        let slot = &mut peaks[bucket(at.min(window.1), window, TIME_POINTS)];
        *slot = Some(
            (*slot)
                .filter(|&(_, peak)| peak >= now)
                .unwrap_or((at, now)),
        );
        most = if now > most.1 { (at, now) } else { most };
    }
    if most.1 == 0 {
        return None;
    }
    let mut points: Vec<(f64, f64)> = peaks
        .into_iter()
        .flatten()
        .map(|(at, bytes)| (at.0 as f64, bytes as f64))
        .collect();
    points.push((window.1.0 as f64, now as f64));
    let bytes = |n: i128| human::bytes(Bytes(u64::try_from(n).unwrap_or(0)));
    let mark = |at: Time, name: &str| {
        let inside = at > window.0 && at < window.1;
        inside.then(|| Mark {
            x: at.0 as f64,
            name: name.into(),
        })
    };
    let marks = [
        mark(run.window.start, "measured from here"),
        mark(run.window.end, "until here"),
    ];
    let chart = LineChart {
        label: "Bytes asked for and not yet delivered over time".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        y: Axis::linear(
            "bytes of unfinished messages",
            Unit::Size,
            0.0,
            most.1 as f64,
        )
        .rounded(),
        lines: vec![Line {
            name: "outstanding".into(),
            points,
            stepped: false,
        }],
        marks: marks.into_iter().flatten().collect(),
    };
    Some(Section {
        id: "outstanding",
        title: "Work in progress",
        says: format!(
            "At most {} were asked for and not yet delivered, at {}; {} at the end.",
            bytes(most.1),
            human::time(most.0.since(Time::ZERO)),
            bytes(now)
        ),
        points: chart.points(),
        body: markup(chart.html()),
        table: None,
        fold: "",
        wide: false,
    })
}

/// Samples of one port inside the time that charts show.
struct Sampled<'a> {
    port: &'a PortRow,
    rows: Vec<&'a PortSeriesRow>,
}

/// From the first start to the last end.
fn shown(run: &RunRecord) -> Option<(Time, Time)> {
    let first = run.flows.iter().filter_map(|flow| flow.start).min()?;
    let open = run
        .flows
        .iter()
        .any(|flow| flow.start.is_some() && flow.end.is_none());
    let last = run
        .flows
        .iter()
        .filter_map(|flow| flow.end)
        .max()
        .filter(|_| !open);
    let last = last.unwrap_or(run.end);
    (last > first).then_some((first, last))
}

fn sampled(run: &RunRecord, (first, last): (Time, Time)) -> Vec<Sampled<'_>> {
    let mut by_link: Vec<Vec<&PortSeriesRow>> = vec![Vec::new(); run.ports.len()];
    for row in run
        .port_series
        .iter()
        .filter(|row| (first..=last).contains(&row.at))
    {
        by_link[row.link as usize].push(row);
    }
    run.ports
        .iter()
        .zip(by_link)
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(port, rows)| Sampled { port, rows })
        .collect()
}

fn bucket(at: Time, (first, last): (Time, Time), buckets: usize) -> usize {
    let share = u128::from(at.since(first).0) * buckets as u128;
    let index = share / (u128::from(last.since(first).0) + 1);
    usize::try_from(index).expect("an index below the number of buckets")
}

fn over_time(run: &RunRecord) -> Vec<Section> {
    let Some(window) = shown(run) else {
        return Vec::new();
    };
    let mut ports = sampled(run, window);
    if ports.is_empty() {
        return Vec::new();
    }
    let load = |sampled: &Sampled<'_>| {
        let sent: u64 = sampled.rows.last().map_or(0, |row| row.sent.iter().sum());
        (utilisation(sampled.port, active(run)), sent)
    };
    let mut busiest: Vec<usize> = (0..ports.len()).collect();
    busiest.sort_by(|&a, &b| {
        load(&ports[b])
            .0
            .total_cmp(&load(&ports[a]).0)
            .then(a.cmp(&b))
    });
    let busy = utilisation_section(run, window, &ports, &busiest);
    ports.retain(|sampled| !sampled.port.of_host());
    let most = |sampled: &Sampled<'_>| sampled.rows.iter().map(|row| row.queue).max().unwrap_or(0);
    ports.sort_by_key(|sampled| (std::cmp::Reverse(most(sampled)), sampled.port.link));
    let mut sections = Vec::new();
    if !ports.is_empty() {
        sections.push(queue_section(window, &ports));
    }
    sections.push(busy);
    sections.extend(queue_map(window, &ports));
    sections
}

fn queue_section(window: (Time, Time), ports: &[Sampled<'_>]) -> Section {
    let mut table = Table::new(&["port", "sampled max", "mean of samples", "true max"]);
    let mut lines = Vec::new();
    let used = |sampled: &&Sampled<'_>| sampled.rows.iter().any(|row| row.queue > 0);
    for sampled in ports.iter().filter(used).take(CURVES_MAX) {
        let mut points: Vec<Option<(f64, f64)>> = vec![None; TIME_POINTS];
        let (mut sum, mut most) = (0u128, 0);
        for row in &sampled.rows {
            let slot = &mut points[bucket(row.at, window, TIME_POINTS)];
            // The peak of a bucket, where it was: peaks are what queues are looked at for.
            if slot.is_none_or(|(_, queue)| row.queue as f64 > queue) {
                *slot = Some((row.at.0 as f64, row.queue as f64));
            }
            sum += u128::from(row.queue);
            most = most.max(row.queue);
        }
        let mean = u64::try_from(sum / sampled.rows.len() as u128).unwrap_or(u64::MAX);
        table.push(vec![
            text(sampled.port.name()),
            text(human::bytes(Bytes(most))),
            text(human::bytes(Bytes(mean))),
            text(human::bytes(Bytes(sampled.port.queue_max))),
        ]);
        let points = points.into_iter().flatten().collect();
        lines.push(Line {
            name: sampled.port.name(),
            points,
            stepped: false,
        });
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
        id: "queues",
        title: "Queues over time",
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

fn utilisation_section(
    run: &RunRecord,
    window: (Time, Time),
    ports: &[Sampled<'_>],
    busiest: &[usize],
) -> Section {
    let mut table = Table::new(&["link", "whole run", "busiest stretch"]);
    let mut lines = Vec::new();
    let used = |sampled: &&Sampled<'_>| utilisation(sampled.port, active(run)) > 0.0;
    for sampled in busiest
        .iter()
        .map(|&i| &ports[i])
        .filter(used)
        .take(CURVES_MAX)
    {
        let mut last: Vec<Option<&PortSeriesRow>> = vec![None; SHARE_POINTS];
        for &row in &sampled.rows {
            last[bucket(row.at, window, SHARE_POINTS)] = Some(row);
        }
        let mut points = Vec::new();
        let (mut before, mut sent_before) = (window.0, 0);
        for row in last.into_iter().flatten() {
            let sent: u64 = row.sent.iter().sum();
            let could = u128::from(sampled.port.rate.0) * u128::from(row.at.since(before).0);
            if could > 0 {
                let did = u128::from(sent - sent_before) * 8 * u128::from(PS_PER_SEC);
                // A frame counts when its transmission is decided, which may be just before.
                points.push((row.at.0 as f64, (did as f64 / could as f64).min(1.0)));
            }
            (before, sent_before) = (row.at, sent);
        }
        let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
        table.push(vec![
            text(sampled.port.name()),
            text(human::percent(utilisation(sampled.port, active(run)))),
            text(human::percent(most)),
        ]);
        lines.push(Line {
            name: sampled.port.name(),
            points,
            stepped: false,
        });
    }
    let chart = LineChart {
        label: "Share of the line in use over time".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        y: Axis::linear("share of the line in use", Unit::Share, 0.0, 1.0),
        lines,
        marks: Vec::new(),
    };
    let first = &ports[busiest[0]];
    Section {
        id: "utilisation",
        title: "Links over time",
        says: format!(
            "The busiest sampled link is {}, in use {} of the run.",
            first.port.name(),
            human::percent(utilisation(first.port, active(run)))
        ),
        body: markup(chart.html()),
        points: chart.points(),
        table: Some(table),
        fold: "Links as numbers",
        wide: false,
    }
}

fn queue_map(window: (Time, Time), ports: &[Sampled<'_>]) -> Option<Section> {
    let rows: Vec<(String, Vec<u64>)> = ports
        .iter()
        .take(PORTS_MAX)
        .map(|sampled| {
            let columns = MAP_COLUMNS.min(sampled.rows.len());
            let mut cells = vec![0; columns];
            for row in &sampled.rows {
                let cell = &mut cells[bucket(row.at, window, columns)];
                *cell = row.queue.max(*cell);
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
    let (shown, all) = (rows.len(), ports.len());
    let map = HeatMap {
        label: "Bytes waiting in each port over time".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        darkest: human::bytes(Bytes(most)),
        rows,
    };
    Some(Section {
        id: "map",
        title: "Where it waited",
        says: format!("The {shown} fullest of {all} sampled ports; each cell shows its peak."),
        points: shown,
        body: markup(map.html()),
        table: None,
        fold: "",
        wide: true,
    })
}

/// Drops of `port`, faults included, by class.
fn lost(port: &PortRow) -> [u64; crate::CLASSES] {
    std::array::from_fn(|class| port.dropped[class] + port.lost[class])
}

/// Classes in the order of their colours, those of data in the ones that stand out.
const COLOURED: [Class; 5] = [
    Class::Plain,
    Class::Unscheduled,
    Class::Credit,
    Class::Scheduled,
    Class::Control,
];

fn drops(run: &RunRecord, summary: &Summary) -> Option<Section> {
    let sum = |port: &PortRow| lost(port).iter().sum::<u64>();
    let mut ports: Vec<&PortRow> = run.ports.iter().filter(|port| sum(port) > 0).collect();
    if ports.is_empty() {
        return None;
    }
    // Credits are dropped by the thousand on purpose: they are drawn only if nothing else is.
    let credit = |port: &PortRow| lost(port)[Class::Credit as usize];
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
            class => lost(port)[class as usize],
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
    head.push("by faults");
    let mut table = Table::new(&head);
    for port in ports.iter().take(PORTS_MAX) {
        let mut row = vec![text(port.name())];
        row.extend(port.dropped.map(|n| text(human::count(n))));
        row.push(text(human::count(port.lost.iter().sum())));
        table.push(row);
    }
    Some(Section {
        id: "drops",
        title: "Drops by class and port",
        says: drops_words(summary, only_credits),
        body: markup(bars(&COLOURED.map(Class::name), &rows)),
        points: rows.len(),
        table: Some(table),
        fold: "Drops as numbers",
        wide: false,
    })
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

fn credits(summary: &Summary) -> Option<Section> {
    let credits = summary.credits;
    if credits.sent == 0 {
        return None;
    }
    let lost = credits.dropped_at_host + credits.dropped_on_way;
    // What was still on its way when the run ended; duplicates by faults may exceed it.
    let rest = credits.sent.saturating_sub(credits.received + lost);
    let parts = [
        ("brought data", credits.used()),
        ("wasted: nothing left to send", credits.wasted),
        ("dropped on the way", credits.dropped_on_way),
        (
            "dropped at the receiver's own link",
            credits.dropped_at_host,
        ),
        ("under way at the end", rest),
    ];
    let mut table = Table::new(&["credits", "number", "of those sent"]);
    let share = |n: u64| human::percent(n as f64 / credits.sent as f64);
    table.push(vec![
        text("sent"),
        text(human::count(credits.sent)),
        text(share(credits.sent)),
    ]);
    for (name, n) in parts {
        table.push(vec![text(name), text(human::count(n)), text(share(n))]);
    }
    let bar = Bar {
        name: "sent".into(),
        parts: parts.iter().map(|&(_, n)| n).collect(),
        value: human::count(credits.sent),
    };
    Some(Section {
        id: "credits",
        title: "What became of the credits",
        says: format!(
            "{} of the credits that receivers sent arrived where nothing was left to send; {} \
             brought data.",
            share(credits.wasted),
            share(credits.used())
        ),
        body: markup(bars(&parts.map(|(name, _)| name), &[bar])),
        points: parts.iter().filter(|&&(_, n)| n > 0).count(),
        table: Some(table),
        fold: "",
        wide: false,
    })
}

fn slowest_table(summary: &Summary) -> Option<Section> {
    let first = summary.slowest.first()?;
    let longest = summary
        .slowest
        .iter()
        .map(|slow| slow.fct_ps.value)
        .max()
        .unwrap_or(1)
        .max(1);
    let mut table = Table::new(&[
        "message",
        "from",
        "to",
        "size",
        "tag",
        "started",
        "took",
        "",
        "idle network",
        "slowdown",
    ]);
    table.text = vec!["from", "to", "tag", ""];
    for slow in &summary.slowest {
        let ideal = slow.fct_ps.value as f64 / slow.slowdown.value;
        let bound = if slow.fct_ps.at_least { "≥ " } else { "" };
        table.push(vec![
            text(slow.message.to_string()),
            text(format!("h{}", slow.src)),
            text(format!("h{}", slow.dst)),
            text(human::bytes(Bytes(slow.size))),
            text(&slow.tag),
            text(human::time(Span(slow.start_ps))),
            text(format!("{bound}{}", human::time(Span(slow.fct_ps.value)))),
            markup(took_bar(slow, longest)),
            text(Unit::Time.show(ideal)),
            text(format!("{bound}{}", human::ratio(slow.slowdown.value))),
        ]);
    }
    Some(Section {
        id: "slowest",
        title: "The slowest messages",
        says: format!(
            "{}. Ordered by slowdown.",
            capitalised(&slowest(summary, first))
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    })
}

fn took_bar(slow: &Slow, longest: u64) -> String {
    let share = slow.fct_ps.value as f64 / longest as f64 * 100.0;
    format!(
        "<div class=\"bar\" aria-hidden=\"true\"><i class=\"c3\" style=\"width:{share:.1}%\"></i></div>"
    )
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn stuck(run: &RunRecord) -> Option<Section> {
    if run.stuck.is_empty() {
        return None;
    }
    let mut table = Table::new(&["host", "connection", "state", "waits for"]);
    table.text = vec!["state", "waits for"];
    table.long = vec!["waits for"];
    for row in run.stuck.iter().take(STUCK_MAX) {
        table.push(vec![
            text(format!("h{}", row.host)),
            text(row.conn.to_string()),
            text(&row.state),
            text(&row.waits_for),
        ]);
    }
    Some(Section {
        id: "stuck",
        title: "What did not finish, and what it waits for",
        says: format!(
            "{} of {} shown, as their transport reports them.",
            run.stuck.len().min(STUCK_MAX),
            run.stuck.len()
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    })
}

fn links(run: &RunRecord, summary: &Summary) -> Section {
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
        id: "links",
        title: "Links by place",
        says: format!(
            "Use is the share of the {} of the run in which the line was busy. Credits are left \
             out of drops; queues of hosts are their own.",
            human::time(active(run))
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    }
}

fn about(run: &RunRecord, summary: &Summary) -> About {
    let derived = &run.derived;
    let window = if run.window.end == Time::NEVER {
        format!("from {}", run.window.start)
    } else {
        format!("{} to {}", run.window.start, run.window.end)
    };
    let packets = summary.packets;
    let encap = run.encap;
    let mut facts: Vec<(String, String)> = [
        ("transport", run.transport.clone()),
        (
            "hosts, switches",
            format!("{}, {}", derived.hosts, derived.switches),
        ),
        ("host link", human::rate(derived.host_rate)),
        (
            "base round trip, with frames",
            human::time(derived.base_rtt),
        ),
        ("propagation alone", human::time(derived.propagation_rtt)),
        ("bandwidth-delay product", human::bytes(derived.bdp)),
        ("measurement window", window),
        ("the run ended at", human::time(run.end.since(Time::ZERO))),
        (
            "full frame",
            format!(
                "{} B of payload in {} B on the wire",
                encap.payload_max,
                encap.payload_max + encap.overhead
            ),
        ),
        ("packets over links", human::count(run.hops)),
        ("data packets sent", human::count(packets.data_sent)),
        ("of those again", human::count(packets.retransmitted)),
        ("duplicates at receivers", human::count(packets.duplicates)),
        ("packets marked", human::count(packets.marked)),
        ("safety timers fired", human::count(packets.timeouts)),
        (
            "fairness (Jain)",
            summary.fairness.map_or("-".into(), human::ratio),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    facts.extend(derived.more.iter().cloned());
    let mut scenario = run.scenario_toml.clone();
    if let Some((cut, _)) = scenario.char_indices().find(|&(at, _)| at >= SCENARIO_MAX) {
        scenario.truncate(cut);
        scenario.push_str("\n# ... cut here; the whole stands in resolved.toml\n");
    }
    About {
        title: "What was run",
        facts,
        blocks: vec![
            Block {
                name: "To run it again:",
                text: run.command.clone(),
                fold: false,
            },
            Block {
                name: "The scenario with every default",
                text: scenario,
                fold: true,
            },
        ],
    }
}
