//! Whether a network kept up with what was asked of it.

use crate::human;
use crate::record::FlowRow;
use std::fmt;
use std::ops::Range;
use units::{Bytes, Time};

/// Outstanding bytes that grew while they should have been steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Mean over the second quarter of the arrivals.
    pub early: Bytes,
    /// Mean over the last quarter.
    pub late: Bytes,
    /// Bytes that were asked for between the middles of the two.
    pub asked: Bytes,
}

/// How the warning begins.
pub(crate) const GREW: &str = "the backlog grew";
/// What it may mean.
pub(crate) const MEANS: &str = "the load is above what the transport sustains, or the window is too \
                                short for its largest messages";

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{GREW} from {} in the second quarter of the window to {} in the last, by {} of what was \
             asked for: {MEANS}",
            human::bytes(self.early),
            human::bytes(self.late),
            human::percent((self.late.0 - self.early.0) as f64 / self.asked.0 as f64)
        )
    }
}

/// Fewer messages show no trend. [ours]
const MESSAGES_MIN: usize = 200;
/// Growth by less than one in this many bytes asked for is not worth a warning. [ours: 5 %]
const SHARE_MIN: u64 = 20;
/// Growth within this many standard deviations of what arrivals like these bring between the two
/// quarters is chance. [ours]
const DEVIATIONS_MIN: f64 = 2.0;
/// Pieces of the time between the two quarters: what is asked for may differ from one to the next
/// more than sizes alone explain, where messages come in waves. [ours]
const PIECES: usize = 32;

/// The growth of outstanding bytes over the arrivals inside `window`, where it is more than
/// chance; `end` is when the run ended.
///
/// A message is outstanding with all of its bytes from its start to its end. Compared are means
/// over time, of the second and the last quarter: a network that keeps up has settled by then, one
/// that does not lags by its shortfall times the time between. Arrivals all at once (incast, a
/// shuffle) have no trend and are never reported; nor is one wave more in the last quarter, where
/// messages come in few waves.
pub fn growth(flows: &[FlowRow], window: &Range<Time>, end: Time) -> Option<Growth> {
    let counted: Vec<(Time, &FlowRow)> = flows
        .iter()
        .filter(|flow| !flow.timed)
        .filter_map(|flow| Some((flow.start.filter(|start| window.contains(start))?, flow)))
        .collect();
    let first = counted.iter().map(|&(start, _)| start).min()?;
    let last = counted.iter().map(|&(start, _)| start).max()?;
    let quarter = last.since(first).0 / 4;
    if counted.len() < MESSAGES_MIN || quarter == 0 {
        return None;
    }
    let at = |quarters: u64| Time(first.0 + quarters * quarter);
    let mean = |span: Range<Time>| {
        let area: u128 = counted
            .iter()
            .map(|&(start, flow)| {
                let done = flow.end.unwrap_or(end);
                let overlap = done.min(span.end).since(start.max(span.start));
                u128::from(flow.size) * u128::from(overlap.0)
            })
            .sum();
        u64::try_from(area / u128::from(quarter)).unwrap_or(u64::MAX)
    };
    let (early, late) = (mean(at(1)..at(2)), mean(at(3)..at(4)));
    // From the middle of the one to the middle of the other.
    let between = Time(at(1).0 + quarter / 2)..Time(at(3).0 + quarter / 2);
    let arrived = || counted.iter().filter(|(start, _)| between.contains(start));
    let asked: u64 = arrived().map(|(_, flow)| flow.size).sum();
    let squares: f64 = arrived()
        .map(|(_, flow)| flow.size as f64 * flow.size as f64)
        .sum();
    let growth = late.saturating_sub(early);
    let spread = squares.max(uneven(arrived().copied(), &between));
    let chance = (DEVIATIONS_MIN * spread.sqrt()).max(asked as f64 / SHARE_MIN as f64);
    let grew = growth as f64 > chance && late / 2 > early / 2 + early / 8;
    (grew && asked > 0).then_some(Growth {
        early: Bytes(early),
        late: Bytes(late),
        asked: Bytes(asked),
    })
}

/// The variance of what is asked for in `span`, by how much its pieces differ. Poisson arrivals give
/// the sum of the squares of their sizes; waves give that of the waves.
fn uneven<'a>(arrived: impl Iterator<Item = (Time, &'a FlowRow)>, span: &Range<Time>) -> f64 {
    let piece = (span.end.since(span.start).0 / PIECES as u64).max(1);
    let mut asked = [0.0; PIECES];
    for (start, flow) in arrived {
        let at = usize::try_from(start.since(span.start).0 / piece).unwrap_or(PIECES);
        asked[at.min(PIECES - 1)] += flow.size as f64;
    }
    let mean = asked.iter().sum::<f64>() / PIECES as f64;
    asked.iter().map(|x| (x - mean) * (x - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    /// One message of 1000 B per us on a server that does `per_us` bytes per us, in order.
    fn queue(messages: u32, per_us: u64) -> Vec<FlowRow> {
        let mut free = 0;
        (0..messages)
            .map(|message| {
                let start = u64::from(message) * 1_000_000;
                free = free.max(start) + 1_000 * 1_000_000 / per_us;
                FlowRow {
                    message,
                    conn: message,
                    src: 0,
                    dst: 1,
                    size: 1_000,
                    start: Some(Time(start)),
                    end: Some(Time(free)),
                    stopped: None,
                    ideal: Span(1),
                    received: 1_000,
                    tag: 0,
                    transport: 0,
                    timed: false,
                }
            })
            .collect()
    }
    const ALWAYS: Range<Time> = Time::ZERO..Time::NEVER;

    #[test]
    fn a_server_that_keeps_up_has_no_growth() {
        assert_eq!(growth(&queue(1_000, 1_100), &ALWAYS, Time::NEVER), None);
    }

    #[test]
    fn a_server_a_tenth_too_slow_lags_by_a_tenth() {
        let growth = growth(&queue(1_000, 900), &ALWAYS, Time::NEVER).unwrap();
        let share = (growth.late.0 - growth.early.0) as f64 / growth.asked.0 as f64;
        assert!((share - 0.1).abs() < 0.01, "{growth}");
    }

    #[test]
    fn all_at_once_has_no_trend() {
        let mut burst = queue(1_000, 900);
        for flow in &mut burst {
            flow.start = Some(Time::ZERO);
        }
        assert_eq!(growth(&burst, &ALWAYS, Time::NEVER), None);
    }

    #[test]
    fn waves_that_are_served_are_no_growth() {
        // Five waves of 60 messages, each served within 0.4 ms: the last quarter holds two and the
        // second none.
        let mut flows = queue(300, 1_100);
        for (i, flow) in (0u64..).zip(&mut flows) {
            let wave = [0, 60, 120, 180, 240]
                .iter()
                .filter(|&&first| i >= first)
                .count() as u64;
            let start = [0, 500, 3_050, 3_500, 4_000][usize::try_from(wave).unwrap() - 1]
                * 1_000_000
                + i % 7;
            flow.start = Some(Time(start));
            flow.end = Some(Time(start + 400_000_000));
        }
        assert_eq!(growth(&flows, &ALWAYS, Time::NEVER), None);
    }

    #[test]
    fn a_warning_says_from_where_to_where_and_what_share_of_what_was_asked_for() {
        let growth = Growth {
            early: Bytes(10_000),
            late: Bytes(35_000),
            asked: Bytes(100_000),
        };
        let said = growth.to_string();
        let (numbers, meaning) = said.split_once(": ").unwrap();
        assert_eq!(
            numbers,
            "the backlog grew from 10 KB in the second quarter of the window to 35 KB in the last, \
             by 25% of what was asked for"
        );
        assert_eq!(meaning, MEANS);
    }

    #[test]
    fn fewer_than_two_hundred_messages_show_no_trend() {
        // A server that does half of what it should.
        let grew = |messages| growth(&queue(messages, 500), &ALWAYS, Time::NEVER).is_some();
        assert_eq!([199, 200, 201].map(grew), [false, true, true]);
    }

    #[test]
    fn growth_within_two_deviations_of_such_arrivals_is_chance() {
        // A hundred messages arrive between the two quarters: two deviations are twenty of them, and the lag is 15 and 30.
        let grew = |per_us| growth(&queue(200, per_us), &ALWAYS, Time::NEVER).is_some();
        assert_eq!([850, 700].map(grew), [false, true]);
    }

    #[test]
    fn growth_by_less_than_a_twentieth_of_what_was_asked_for_is_not_worth_a_warning() {
        // Of 5000 messages two deviations are 141, a twentieth is 250, and the lag is 200 and 300.
        let grew = |per_us| growth(&queue(10_000, per_us), &ALWAYS, Time::NEVER).is_some();
        assert_eq!([960, 940].map(grew), [false, true]);
    }

    #[test]
    fn growth_by_less_than_a_quarter_of_what_was_there_is_no_trend() {
        // The server lags by a tenth, 50 KB, beside a message that is outstanding all the time.
        let grew = |beside: u64| {
            let mut flows = queue(1_000, 900);
            flows[0] = FlowRow {
                size: beside,
                end: None,
                ..flows[0]
            };
            growth(&flows, &ALWAYS, Time(1_000_000_000)).is_some()
        };
        assert_eq!([2_000_000, 100_000].map(grew), [false, true]);
    }

    #[test]
    fn a_wave_at_the_end_is_no_growth_where_nothing_was_asked_for_before() {
        let mut flows = queue(400, 1_100);
        for (i, flow) in (0u64..).zip(&mut flows) {
            // Both the last wave and the one before it come behind the middle of the last quarter.
            let start = [0, 0, 3_700, 4_000][usize::try_from(i / 100).unwrap()] * 1_000_000;
            flow.start = Some(Time(start));
            flow.end = Some(Time(start + 400_000_000));
        }
        assert_eq!(growth(&flows, &ALWAYS, Time::NEVER), None);
    }

    #[test]
    fn messages_that_never_end_are_backlog_too() {
        let mut flows = queue(1_000, 1_100);
        for flow in flows.iter_mut().step_by(5) {
            flow.end = None;
        }
        assert!(growth(&flows, &ALWAYS, Time(1_000_000_000)).is_some());
    }
}
