//! What was sent, received and shared in a window, by the samples of a run and what it came to in the end.

use super::{DATA, Span2, bounds, switch_ports};
use model::ByClass;
use results::{FlowRow, PortRow, PortSeriesRow, RunRecord};
use std::collections::BTreeSet;
use units::{Span, Time};

/// Samples of one mean: ten round trips, so that a window of packets sent at once does not count. [ours]
const SMOOTH: usize = 10;
/// How many such means, one sample apart, prove that it stays so. [ours]
const STEADY: usize = 40;

/// See [`Metric::Settled`]; not a number where it does not come to that.
pub(super) fn settled(record: &RunRecord, conn: u32, window: Option<Span2>) -> f64 {
    let (from, until) = bounds(record, window);
    let even = 1.0 / connections(record).count().max(1) as f64;
    let rows = record.flow_series.iter().filter(|row| row.conn == conn);
    let times: Vec<Time> = rows
        .map(|row| row.at)
        .filter(|at| (from..=until).contains(at))
        .collect();
    let means = times.windows(SMOOTH + 1).map(|part| {
        let window = Span2 {
            from: Span(part[0].0),
            until: Span(part[SMOOTH].0),
        };
        let off = share(record, conn, Some(window)) - even;
        (part[0], off.abs() <= 0.3 * even)
    });
    let means: Vec<(Time, bool)> = means.collect();
    let mut steady = means
        .windows(STEADY)
        .filter(|run| run.iter().all(|&(_, near)| near));
    steady
        .next()
        .map_or(f64::NAN, |run| run[0].0.since(from).as_us())
}

/// Wire bytes of data that `port` sent in the window, by its samples.
pub(super) fn data_sent(record: &RunRecord, port: &PortRow, from: Time, until: Time) -> u64 {
    let sum = |sent: &ByClass<u64>| DATA.iter().map(|&class| sent[class]).sum::<u64>();
    let last = sum(&port.bytes);
    grown(record, port, (from, until), last, |row| sum(&row.sent))
}

/// How much a counter of `port` grew in a stretch of time, by its samples and what it was in the end.
pub(super) fn grown(
    record: &RunRecord,
    port: &PortRow,
    (from, until): (Time, Time),
    in_the_end: u64,
    counter: impl Fn(&PortSeriesRow) -> u64,
) -> u64 {
    // Between these a port stays as it was.
    let rows = record.port_series.news().iter();
    let rows = rows.filter(|row| row.link == port.link);
    let up_to = |at: Time| {
        if at >= record.end {
            return in_the_end;
        }
        let last = rows.clone().take_while(|row| row.at <= at).last();
        last.map_or(0, &counter)
    };
    up_to(until).saturating_sub(up_to(from))
}

/// See [`Metric::Marked`]; not a number where no port marks.
pub(super) fn marked(record: &RunRecord, window: Option<Span2>) -> f64 {
    let (from, until) = bounds(record, window);
    let (mut marks, mut frames) = (0, 0.0);
    for port in switch_ports(record).filter(|port| port.marked > 0) {
        marks += grown(record, port, (from, until), port.marked, |row| row.marked);
        frames += data_sent(record, port, from, until) as f64 / f64::from(record.encap.wire_max());
    }
    marks as f64 / frames
}

/// What data may take of a line when credits take theirs.
pub(super) fn data_share(record: &RunRecord) -> f64 {
    let frame = f64::from(record.encap.wire_max());
    frame / (frame + f64::from(record.encap.frame_min))
}

pub(super) fn utilisations(record: &RunRecord, window: Option<Span2>) -> impl Iterator<Item = f64> {
    let (from, until) = bounds(record, window);
    let between = switch_ports(record).filter(|port| port.to_tier > 0);
    between.filter_map(move |port| {
        let sent = data_sent(record, port, from, until);
        let could = port.rate.bytes_in(until.since(from)).get() as f64 * data_share(record);
        (sent > 0).then(|| sent as f64 / could)
    })
}

pub(super) fn connections(record: &RunRecord) -> impl Iterator<Item = u32> {
    let last = record.flows.iter().map(|flow| flow.conn).max();
    last.map_or(0..0, |last| 0..last + 1)
}

/// Bytes on a line for each of payload, in full frames.
pub(super) fn on_lines(record: &RunRecord) -> f64 {
    f64::from(record.encap.wire_max()) / f64::from(record.encap.payload_max)
}

/// Received bytes per time of some messages' connections, in Gb/s.
pub(super) fn goodput(
    record: &RunRecord,
    window: Option<Span2>,
    is: impl Fn(&FlowRow) -> bool,
) -> f64 {
    let (from, until) = bounds(record, window);
    let flows = record.flows.iter().filter(|flow| is(flow));
    let conns: BTreeSet<u32> = flows.map(|flow| flow.conn).collect();
    let of = |&conn: &u32| received(record, conn, from, until);
    let bytes: u64 = conns.iter().map(of).sum();
    bytes as f64 * 8e3 / until.since(from).0.max(1) as f64
}

/// Bytes that a connection received in the window, by its samples and what it had in the end.
pub(crate) fn received(record: &RunRecord, conn: u32, from: Time, until: Time) -> u64 {
    let rows = record.flow_series.iter().filter(|row| row.conn == conn);
    let up_to = |at: Time| {
        if at >= record.end {
            let flows = record.flows.iter().filter(|flow| flow.conn == conn);
            return flows.map(|flow| flow.received).sum();
        }
        rows.clone()
            .take_while(|row| row.at <= at)
            .last()
            .map_or(0, |row| row.received)
    };
    up_to(until).saturating_sub(up_to(from))
}

pub(super) fn share(record: &RunRecord, conn: u32, window: Option<Span2>) -> f64 {
    let (from, until) = bounds(record, window);
    let frames = received(record, conn, from, until) as f64 / f64::from(record.encap.payload_max);
    let slowest = record
        .ports
        .iter()
        .map(|port| port.rate)
        .min()
        .unwrap_or_default();
    let could = slowest.bytes_in(until.since(from)).get() as f64 * data_share(record);
    frames * f64::from(record.encap.wire_max()) / could
}

pub(super) fn jain(record: &RunRecord, window: Option<Span2>) -> f64 {
    let (from, until) = bounds(record, window);
    let open = |conn: &u32| {
        let mut flows = record.flows.iter().filter(|flow| flow.conn == *conn);
        flows.any(|flow| {
            flow.start.is_some_and(|at| at <= from) && flow.end.is_none_or(|at| at >= until)
        })
    };
    let rates: Vec<f64> = connections(record)
        .filter(open)
        .map(|conn| received(record, conn, from, until) as f64)
        .collect();
    results::stats::jain(&rates).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples at 300, 600 and 900 us of a run of 1 ms say nothing of its last tenth.
    #[test]
    fn a_window_that_ends_with_the_run_has_what_came_behind_the_last_sample() {
        let shown = |every: &str| {
            let text = format!(
                "[topology]\nkind = \"star\"\nhosts = 2\nhost_rate = \"10Gbps\"\n[workload]\nkind = \"incast\"\nsenders = \
                 1\nsize = \"10MB\"\n[transport]\nkind = \"dctcp\"\n[run]\nuntil = \"1ms\"\n[output]\nflows = true\nevery = \
                 \"{every}\"\nports = [\"* -> *\"]\n"
            );
            let plan = scenario::load_text("x", &text, &[]).and_then(scenario::Scenario::assemble);
            let record = plan.and_then(|plan| plan.run(1, "", &mut scenario::Alone));
            let record = record.unwrap_or_else(|errors| panic!("{errors}"));
            let (from, until) = (Time(300_000_000), Time(1_000_000_000));
            let port = record
                .ports
                .iter()
                .find(|port| port.to == "h0")
                .expect("one");
            let sent = data_sent(&record, port, from, until);
            (received(&record, 0, from, until), sent)
        };
        let (seldom, often) = (shown("300us"), shown("100us"));
        assert_eq!(seldom, often);
        assert!(seldom.0 > 800_000, "{seldom:?}"); // 700 us at nearly 10 Gb/s
        assert!(seldom.1 > seldom.0, "{seldom:?}");
    }
}
