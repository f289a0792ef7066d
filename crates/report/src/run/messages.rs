//! What became of the messages: the sections of a run's page that are about them.
//!
//! In the order of the page: completion times, slowdown by size, rates of connections and what was under way over
//! time, the slowest messages with the parts of their time, and those that did not finish.

use super::{TIME_POINTS, bounded, bucket, more_than};
use crate::chart::{Axis, Line, LineChart, Mark, Range, ranges};
use crate::page::{Section, Table, markup, text};
use minijinja::Value;
use results::OfTag;
use results::Unit;
use results::human;
use results::stats::{Dist, Figure, Sorted};
use results::{FlowRow, FlowSeriesRow, RunRecord};
use results::{SizeBin, Slow, Summary, active, counts, fct, slowdown};
use std::collections::BTreeMap;
use units::{Bytes, PS_PER_SEC, Rate, Span, Time};

/// Points of a distribution curve besides its tail. [ours: half a pixel on a wide screen]
const CURVE_POINTS: usize = 400;

/// Greatest values of a distribution that are all drawn.
const TAIL_POINTS: usize = 40;

/// Flows that did not finish, named in the report; the others are in `flows.csv`.
const STUCK_MAX: usize = 50;

/// Messages of equal size range that a point of slowdown by size rests on. [HPCC artefact: 5 %]
const SIZE_GROUPS: usize = 20;

/// The share of all messages that finished by each time; unfinished ones keep it below one.
fn cdf(times: Vec<Figure<u64>>) -> Vec<(f64, f64)> {
    let sorted = Sorted::new(times);
    let n = sorted.values().len();
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
        if times.is_empty() || (!bin.is_all() && used == 1) {
            continue;
        }
        lines.push(Line {
            stepped: true,
            ..Line::new(bin.label(), cdf(times))
        });
    }
    lines.retain(|line| !line.points.is_empty());
    lines
}

pub(super) fn completion(run: &RunRecord, summary: &Summary) -> Option<Section> {
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
        id: "completion".into(),
        title: "Completion times".into(),
        says: format!(
            "{}{}",
            halves(
                ["Half of the messages finish within", "99 in 100 within"],
                "take",
                [times.p50, times.p99],
                |ps| human::time(Span(ps))
            ),
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
            name: format!("{name} {}", bounded(figure, |ps| human::time(Span(ps)))),
        };
        let chart = LineChart {
            label: section.says.clone(),
            // A quantile of what did not finish lies beyond every end.
            x: Axis::log(
                "completion time",
                Unit::Time,
                min.max(1.0),
                max.max(times.p99.value as f64),
            ),
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

/// The median and the 99th percentile as a sentence: whom they bound from above, or from below where messages did not
/// finish.
fn halves<T: Copy>(
    within: [&str; 2],
    verb: &str,
    [p50, p99]: [Figure<T>; 2],
    show: impl Fn(T) -> String,
) -> String {
    let [half, most] = within;
    let tail = more_than(&format!("more than 1 in 100 {verb}"), p99, &show);
    let (first, last) = (show(p50.value), show(p99.value));
    match (p50.at_least, p99.at_least) {
        (false, false) => format!("{half} {first}, {most} {last}."),
        (false, true) => format!("{half} {first}; {tail}."),
        (true, _) => {
            let more = format!("More than half of the messages {verb}");
            let more = more_than(&more, p50, &show);
            if first == last {
                format!("{more}.")
            } else {
                format!("{more}; {tail}.")
            }
        }
    }
}

/// A row of quantiles per range of sizes, and per tag where there are several.
fn quantile_table<T: Copy>(
    summary: &Summary,
    of_size: impl Fn(&SizeBin) -> Option<Dist<T>>,
    of_tag: impl Fn(&OfTag) -> Option<Dist<T>>,
    show: impl Fn(T) -> String,
) -> Table {
    let (first, tags) = match summary.tags.as_slice() {
        [] | [_] => ("size", [].as_slice()),
        tags => ("size or tag", tags),
    };
    let mut table = Table::new(&[
        first, "messages", "mean", "p50", "p90", "p95", "p99", "p99.9", "max",
    ]);
    let cell = |figure: Figure<T>| text(bounded(figure, &show));
    let sizes = summary.sizes.iter();
    let sizes = sizes.map(|bin| (bin.label(), bin.messages, of_size(bin)));
    let tags = tags
        .iter()
        .map(|of| (human::tag(&of.name), of.messages, of_tag(of)));
    for (name, messages, dist) in sizes.chain(tags) {
        let Some(dist) = dist else { continue };
        table.push(vec![
            text(name),
            text(human::count(messages)),
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
        |bin| bin.fct_ps,
        |of| of.fct_ps,
        |ps| human::time(Span(ps)),
    )
}

pub(super) fn by_size(run: &RunRecord, summary: &Summary) -> Option<Section> {
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
        id: "slowdown".into(),
        title: "Slowdown by size".into(),
        says: format!(
            "Completion time over that in an idle network. {}{}{}",
            halves(
                ["Half of the messages stay within", "99 in 100 within"],
                "reach",
                [slow.p50, slow.p99],
                human::ratio
            ),
            if curves {
                " Each point stands for one message in twenty."
            } else {
                ""
            },
            if summary.all().unfinished > 0 {
                " A message that did not finish counts with what it has taken so far, so points that rest \
                 on one are lower bounds."
            } else {
                ""
            }
        ),
        body: markup(body),
        points,
        table: Some(quantile_table(
            summary,
            |bin| bin.slowdown,
            |of| of.slowdown,
            human::ratio,
        )),
        fold: "Slowdowns by size",
        wide: false,
    })
}

/// Quantiles of equally many messages, by size. [HPCC artefact, `fct_analysis.py`]
fn slowdown_curves(counted: &[(u64, Figure<f64>)]) -> (String, usize) {
    let mut lines = ["p50", "p95", "p99"].map(|name| Line::new(name, Vec::new()));
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
                    .map(|figure| Some(figure.value))
                    .into(),
            })
        })
        .collect();
    let all = || rows.iter().flat_map(|row| &row.values).flatten().copied();
    let (min, max) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    let axis = Axis::log("slowdown", Unit::Ratio, min, max.max(2.0));
    let label = "Slowdown by message size";
    (
        ranges(label, &axis, &["p50", "p95", "p99", "max"], &rows),
        4 * rows.len(),
    )
}

/// Connections whose rates are drawn: as many as there are colours.
const RATES_MAX: usize = 6;
/// Buckets of a rate over time; few, because a rate needs time to mean anything.
const RATE_POINTS: usize = 120;

/// What each connection received, over time; the busiest ones where there are many.
pub(super) fn rates(run: &RunRecord) -> Option<Section> {
    let window = active(run)?;
    let mut by_conn: BTreeMap<u32, Vec<&FlowSeriesRow>> = BTreeMap::new();
    for row in run
        .flow_series
        .iter()
        .filter(|row| (window.0..=window.1).contains(&row.at))
    {
        by_conn.entry(row.conn).or_default().push(row);
    }
    let total = |rows: &[&FlowSeriesRow]| rows.last().map_or(0, |row| row.received);
    let mut conns: Vec<(u32, Vec<&FlowSeriesRow>)> = by_conn.into_iter().collect();
    let all = conns.len();
    conns.sort_by_key(|(conn, rows)| (std::cmp::Reverse(total(rows)), *conn));
    conns.truncate(RATES_MAX);
    conns.sort_by_key(|&(conn, _)| conn);
    let mut table = Table::new(&["connection", "received", "mean rate"]);
    let mut lines = Vec::new();
    for (conn, rows) in &conns {
        let points = rate_points(rows, window);
        let span = window.1.since(window.0).0;
        let mean = u128::from(total(rows)) * 8 * u128::from(PS_PER_SEC) / u128::from(span);
        table.push(vec![
            text(conn.to_string()),
            text(human::bytes(Bytes(total(rows)))),
            text(human::rate(Rate(u64::try_from(mean).unwrap_or(u64::MAX)))),
        ]);
        lines.push(Line::new(format!("connection {conn}"), points));
    }
    lines.retain(|line| !line.points.is_empty());
    let top = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.1)
        .reduce(f64::max)?;
    let chart = LineChart {
        label: "Received bytes per time of each connection".into(),
        x: Axis::linear("time", Unit::Time, window.0.0 as f64, window.1.0 as f64),
        y: Axis::linear("received", Unit::Rate, 0.0, top.max(1e6)).rounded(),
        lines,
        marks: Vec::new(),
    };
    Some(Section {
        id: "rates".into(),
        title: "Rates over time".into(),
        says: format!(
            "{} of {all} sampled connections, those that received most.",
            conns.len()
        ),
        points: chart.points(),
        body: markup(chart.html()),
        table: Some(table),
        fold: "Rates as numbers",
        wide: false,
    })
}

/// Bits per second between the last samples of neighbouring buckets.
fn rate_points(rows: &[&FlowSeriesRow], window: (Time, Time)) -> Vec<(f64, f64)> {
    let mut last: Vec<Option<&FlowSeriesRow>> = vec![None; RATE_POINTS];
    for &row in rows {
        last[bucket(row.at, window, RATE_POINTS)] = Some(row);
    }
    let (mut before, mut points) = ((window.0, 0), Vec::new());
    for row in last.into_iter().flatten() {
        let span = row.at.since(before.0);
        if span > Span::ZERO {
            let bits = row.received.saturating_sub(before.1) as f64 * 8.0;
            points.push((row.at.0 as f64, bits / span.as_secs()));
        }
        before = (row.at, row.received);
    }
    points
}

/// Bytes of unfinished messages, moment by moment.
struct Sweep {
    /// The peak of every bucket, where it was.
    points: Vec<(f64, f64)>,
    /// The greatest of all, and when.
    most: (Time, i128),
    /// What is left at the end.
    last: i128,
}

/// `None` where there was never anything.
fn sweep(run: &RunRecord, window: (Time, Time)) -> Option<Sweep> {
    let mut changes: Vec<(Time, i128)> = Vec::new();
    for flow in run.flows.iter().filter(|flow| !flow.timed) {
        changes.extend(flow.start.map(|at| (at, i128::from(flow.size))));
        changes.extend(flow.end.map(|at| (at, -i128::from(flow.size))));
    }
    changes.sort_unstable_by_key(|change| change.0);
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
    let mut points: Vec<(f64, f64)> = peaks
        .into_iter()
        .flatten()
        .map(|(at, bytes)| (at.0 as f64, bytes as f64))
        .collect();
    points.push((window.1.0 as f64, now as f64));
    (most.1 > 0).then_some(Sweep {
        points,
        most,
        last: now,
    })
}

/// Bytes asked for and not yet delivered, over time. Comes from the messages alone, so it is there
/// without samples too.
pub(super) fn outstanding(run: &RunRecord) -> Option<Section> {
    let window = active(run)?;
    let Sweep { points, most, last } = sweep(run, window)?;
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
        lines: vec![Line::new("outstanding", points)],
        marks: marks.into_iter().flatten().collect(),
    };
    Some(Section {
        id: "outstanding".into(),
        title: "Work in progress".into(),
        says: format!(
            "At most {} were asked for and not yet delivered, at {}; {} at the end.",
            bytes(most.1),
            human::time(most.0.since(Time::ZERO)),
            bytes(last)
        ),
        points: chart.points(),
        body: markup(chart.html()),
        table: None,
        fold: "",
        wide: false,
    })
}

pub(super) fn slowest(run: &RunRecord, summary: &Summary) -> Option<Section> {
    if summary.slowest.is_empty() {
        return None;
    }
    let longest = summary
        .slowest
        .iter()
        .map(|slow| slow.fct_ps.value)
        .max()
        .unwrap_or(1)
        .max(1);
    // What matters most comes first: a narrow page shows only the first few columns at once.
    let mut table = Table::new(&[
        "message",
        "slowdown",
        "took",
        "",
        "idle network",
        "size",
        "from",
        "to",
        "started",
        "tag",
    ]);
    table.text = vec!["", "from", "to", "tag"];
    for slow in &summary.slowest {
        let ideal = slow.fct_ps.value as f64 / slow.slowdown.value;
        table.push(vec![
            number(run, slow.message),
            text(bounded(slow.slowdown, human::ratio)),
            text(bounded(slow.fct_ps, |ps| human::time(Span(ps)))),
            markup(took_bar(slow, longest)),
            text(Unit::Time.show(ideal)),
            text(human::bytes(Bytes(slow.size))),
            text(&slow.from),
            text(&slow.to),
            text(human::time(Span(slow.start_ps))),
            text(&slow.tag),
        ]);
    }
    Some(Section {
        id: "slowest".into(),
        title: "The slowest messages".into(),
        says: format!(
            "The worst {} of {} by slowdown; the bars compare how long they took. {}",
            summary.slowest.len(),
            human::count(summary.all().messages),
            where_it_went(run, summary)
        ),
        body: Value::from(""),
        points: 0,
        table: Some(table),
        fold: "",
        wide: true,
    })
}

/// Who says where the time of these messages went.
fn where_it_went(run: &RunRecord, summary: &Summary) -> String {
    let said = |slow: &&Slow| run.why.iter().any(|why| why.message == slow.message);
    let other = summary.slowest.iter().find(|slow| !said(slow));
    let command = |slow: &Slow| {
        format!(
            "tidegate why . --flow {}, in the folder of this page, says it",
            slow.message
        )
    };
    match (run.why.is_empty(), other) {
        (true, Some(slow)) => format!(
            "Where the time of message {} went, {}; of any other by its number in flows.csv or flows.parquet.",
            slow.message,
            command(slow)
        ),
        (false, Some(slow)) => format!(
            "Where the time of the first went is below; of message {}, {}, and so of any other.",
            slow.message,
            command(slow)
        ),
        (_, None) => "Where the time of each went is below.".to_owned(),
    }
}

/// A message's number, as a link where the page has more about it.
fn number(run: &RunRecord, message: u32) -> Value {
    let why = run.why.iter().find(|why| why.message == message);
    match why.map(super::why::anchor) {
        Some(anchor) => markup(format!("<a href=\"#{anchor}\">{message}</a>")),
        None => text(message.to_string()),
    }
}

fn took_bar(slow: &Slow, longest: u64) -> String {
    let share = slow.fct_ps.value as f64 / longest as f64 * 100.0;
    format!(
        "<div class=\"bar\" aria-hidden=\"true\"><i class=\"c3\" style=\"width:{share:.1}%\"></i></div>"
    )
}

pub(super) fn stuck(run: &RunRecord) -> Option<Section> {
    if run.stuck.is_empty() {
        return None;
    }
    let mut table = Table::new(&["host", "connection", "state", "waits for"]);
    table.text = vec!["state", "waits for"];
    table.long = vec!["waits for"];
    for row in run.stuck.iter().take(STUCK_MAX) {
        table.push(vec![
            text(run.host(row.host)),
            text(row.conn.to_string()),
            text(&row.state),
            text(&row.waits_for),
        ]);
    }
    Some(Section {
        id: "stuck".into(),
        title: "What did not finish, and what it waits for".into(),
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
