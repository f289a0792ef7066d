//! Two runs of the same messages, compared message by message.

use crate::metric::counted;
use results::stats::Figure;
use results::{FlowRow, RunRecord};
use std::collections::BTreeMap;
use units::Span;

/// How many times what each would take alone these messages take, from their times in ps.
pub(crate) fn slowdowns<'a>(
    counted: impl Iterator<Item = (&'a FlowRow, Figure<u64>)>,
) -> impl Iterator<Item = Figure<f64>> {
    counted.map(|(flow, took)| Figure {
        value: took.value as f64 / flow.ideal.0.max(1) as f64,
        at_least: took.at_least,
    })
}

/// A number of the slowdowns of the messages that one host receives, in the mean over all messages.
pub(crate) fn by_host<'a>(
    counted: impl Iterator<Item = (&'a FlowRow, Figure<u64>)>,
    number: impl Fn(Vec<Figure<f64>>) -> Figure<f64>,
) -> Figure<f64> {
    let mut hosts: BTreeMap<u32, Vec<(&FlowRow, Figure<u64>)>> = BTreeMap::new();
    for (flow, took) in counted {
        hosts.entry(flow.dst).or_default().push((flow, took));
    }
    let (mut sum, mut all, mut at_least) = (0.0, 0.0, false);
    for received in hosts.into_values() {
        let messages = received.len() as f64;
        let of_host = number(slowdowns(received.into_iter()).collect());
        (sum, all) = (sum + of_host.value * messages, all + messages);
        at_least |= of_host.at_least;
    }
    Figure {
        value: sum / all,
        at_least,
    }
}

/// See `Metric::FirstRtt`. One under way that may still become fast leaves the share open.
pub(crate) fn fast_share(record: &RunRecord, low: u64, high: u64) -> Figure<f64> {
    let (mut fast, mut open, mut all) = (0u32, false, 0u32);
    for (flow, took) in counted(record, low, high) {
        let early = Span(took.value) < flow.ideal + flow.ideal;
        fast += u32::from(early && !took.at_least);
        open |= early && took.at_least;
        all += 1;
    }
    Figure {
        value: f64::from(fast) / f64::from(all.max(1)),
        at_least: open,
    }
}

/// What each message of a run took.
#[derive(Clone)]
pub struct Each {
    base_rtt: Span,
    /// By message number, ascending; in ps.
    times: Vec<(u32, Figure<u64>)>,
}

impl Each {
    /// The times of messages, by their numbers, ascending, and the fabric's longest round trip.
    pub fn new(base_rtt: Span, times: Vec<(u32, Figure<u64>)>) -> Self {
        Self { base_rtt, times }
    }

    /// The share of messages that take less than in `base`, by at least so many `percent` of a round
    /// trip. Those that one run alone has do not count; one that did not finish leaves the share open where
    /// it may still become one.
    pub fn sooner(&self, base: &Self, percent: u32) -> Figure<f64> {
        let by = Span(base.base_rtt.0 / 100 * u64::from(percent));
        let (mut sooner, mut open, mut all) = (0u32, false, 0u32);
        for (message, took) in &self.times {
            let Ok(at) = base
                .times
                .binary_search_by_key(message, |&(other, _)| other)
            else {
                continue;
            };
            let other = base.times[at].1;
            let is = took.value + by.0 <= other.value;
            sooner += u32::from(is && !took.at_least);
            open |= is && took.at_least || !is && other.at_least;
            all += 1;
        }
        Figure {
            value: f64::from(sooner) / f64::from(all.max(1)),
            at_least: open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    /// Host 1 receives messages that take 2, 5 and 3 times their 100 ps, host 2 one that takes 9 times, or more.
    #[test]
    fn a_number_of_each_host_counts_as_often_as_it_receives() {
        let row = |dst| FlowRow {
            message: 0,
            conn: 0,
            src: 0,
            dst,
            size: 1,
            start: Some(Time(0)),
            end: None,
            stopped: None,
            ideal: Span(100),
            received: 1,
            tag: 0,
            transport: 0,
            timed: false,
        };
        let rows = [row(1), row(1), row(2), row(1)];
        let mean_of_the_most = |open: bool| {
            let took = [200, 500, 900, 300].map(|value| Figure {
                value,
                at_least: open && value == 900,
            });
            by_host(rows.iter().zip(took), |of_host| {
                assert!(matches!(of_host.len(), 1 | 3));
                let most = |a: &Figure<f64>, b: &Figure<f64>| a.value.total_cmp(&b.value);
                of_host.into_iter().max_by(most).unwrap()
            })
        };
        let found = mean_of_the_most(false);
        assert_eq!(
            (found.value.to_bits(), found.at_least),
            (6.0f64.to_bits(), false)
        );
        assert!(mean_of_the_most(true).at_least);
    }

    /// Three messages: one sooner by a round trip, one by less, one that the other run never finished.
    #[test]
    fn a_message_is_compared_with_itself_in_the_other_run() {
        let each = |times: &[(u32, u64, bool)]| Each {
            base_rtt: Span(100),
            times: times
                .iter()
                .map(|&(message, value, at_least)| (message, Figure { value, at_least }))
                .collect(),
        };
        let base = each(&[(1, 300, false), (2, 300, false), (4, 250, true)]);
        let share = |percent, own: &[(u32, u64, bool)]| each(own).sooner(&base, percent);
        // Means would say sooner by 50; message 3 is in one run only.
        let own = [
            (1, 200, false),
            (2, 300, false),
            (3, 1, false),
            (4, 150, false),
        ];
        let found = share(100, &own);
        assert_eq!(
            (found.value.to_bits(), found.at_least),
            ((2.0f64 / 3.0).to_bits(), false)
        );
        assert_eq!(share(101, &own).value.to_bits(), 0f64.to_bits());
        assert!(
            share(101, &own).at_least,
            "the fourth may have taken longer"
        );
        let late = [(1, 200, true), (2, 100, false), (4, 100, false)];
        assert!(share(100, &late).at_least, "the first may still be in time");
        assert!(!share(101, &late[1..]).at_least);
    }
}
