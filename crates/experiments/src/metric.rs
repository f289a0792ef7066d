//! Numbers that experiments look at, each a function of one run.
//!
//! A `Metric` is a word of `expected.toml`, perhaps with a part of the messages or a window of time. What did not
//! finish counts: its time is a lower bound, and so is a quantile that it may move. Quantiles, bins and slowdowns are
//! those of `results`, so that an experiment and a summary never differ.

mod queues;
mod rates;

use crate::each::Each;
use model::Class;
use queues::{longest_queues, mean_queues, queues_of_tors};
pub(crate) use rates::received;
use rates::{connections, goodput, jain, marked, on_lines, settled, share, utilisations};
use results::stats::{Figure, Sorted};
use results::{FlowRow, PortRow, RunRecord};
use scenario::Assembled;
use serde::Deserialize;
use std::fmt;
use std::ops::DivAssign;
use units::{Bytes, Span, Time};
use workload::SizeDist;

/// What a metric is read from.
pub struct Run<'a> {
    /// What happened.
    pub record: &'a RunRecord,
    /// The network-calculus bound of every link's port, where there is one.
    pub bounds: Option<Vec<Bytes>>,
}

/// A number of a run, or of two: messages that did not finish may leave it open to one side or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number itself.
    pub value: f64,
    /// The true value may be smaller.
    pub at_most: bool,
    /// The true value may be greater.
    pub at_least: bool,
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Self {
            value,
            at_most: false,
            at_least: false,
        }
    }
}

impl From<Figure<f64>> for Measured {
    fn from(figure: Figure<f64>) -> Self {
        Self {
            at_least: figure.at_least,
            ..figure.value.into()
        }
    }
}

impl DivAssign for Measured {
    fn div_assign(&mut self, base: Self) {
        self.value /= base.value;
        self.at_most |= base.at_least;
        self.at_least |= base.at_most;
    }
}

/// A stretch of simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Span2 {
    from: Span,
    until: Span,
}

impl fmt::Display for Span2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.until)
    }
}

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Metric {
    /// Data on the least used link between switches that carries data, as a share of what credits
    /// leave of it.
    UtilisationMin,
    /// The same on the busiest.
    UtilisationMax,
    /// Data of one connection, as a share of what credits leave of the slowest switch link.
    Share(u32),
    /// The sum of all connections' shares.
    ShareSum,
    /// Jain's index over the goodput of connections that have something to send all the time.
    /// [Jain, Chiu, Hawe 1984]
    Jain,
    /// Mean completion time of messages above the first and up to the second size, in us.
    FctMean(u64, u64),
    /// Their median, in us.
    FctP50(u64, u64),
    /// Their 99th percentile, in us.
    FctP99(u64, u64),
    /// The longest, in us.
    FctMax(u64, u64),
    /// So many per cent of them took no longer than this, in us.
    FctAt(u64, u64, u8),
    /// So many per cent of them would take no longer than this if each had the network for itself, in us:
    /// where they fit a burst, that is a first round trip whose packets meet nobody.
    IdleAt(u64, u64, u8),
    /// Their mean completion time over the mean of what they would take if each had the network for itself.
    OverIdle(u64, u64),
    /// So many per cent of them took no longer than this many times what each would take alone.
    SlowdownAt(u64, u64, u8),
    /// The mean over them of how many times what it would take alone each took.
    SlowdownMean(u64, u64),
    /// The same of those that one host receives, in the mean over all of them. [homa artefact, `digestModulesStats`]
    SlowdownByHost(u64, u64, u8),
    /// How many there were.
    Messages(u64, u64),
    /// The share of them that took less than twice an idle network's time. Where that is mostly one
    /// way's delay, who asks for a credit first takes three times as long.
    FirstRtt(u64, u64),
    /// The share of them that end sooner than the same message of the case that it is compared with, by
    /// at least so many per cent of the fabric's longest round trip.
    Sooner(u64, u64, u32),
    /// When the last message ended, in us.
    LastEnd,
    /// Largest data queue of any switch port, in bytes.
    QueueMax,
    /// The same of packets that carry data alone, in bytes; the scenario asks for it by `output.data_queues`.
    DataQueueMax,
    /// The smallest that the longest queue of switch ports is found in a window, in bytes.
    QueueLow,
    /// The largest that a queue of switch ports is found in a window, in bytes.
    QueueHigh,
    /// The same of all ports of one top-of-rack switch together. [sird artefact, `post-process/produce_aggr.py`]
    TorQueueHigh,
    /// This percentile over the samples in a window of the longest queue of switch ports, in bytes.
    QueueAt(u8),
    /// The mean over the samples in a window and the ports of switches, in bytes.
    QueueMean,
    /// The same of the port where it is largest.
    QueueMeanTop,
    /// Most bytes that data may need, by the network calculus, of any port from the first tier to the
    /// second: host 0, rack 1, aggregation 2, core 3. [xpass s3.1]
    QueueBound(u8, u8),
    /// Largest data queue of a switch port as a share of its bound, with a small frame for every
    /// connection: the port that comes nearest.
    QueueOfBound,
    /// Data packets dropped anywhere.
    DataDrops,
    /// Scheduled packets among them.
    ScheduledDrops,
    /// Unscheduled packets among them.
    UnscheduledDrops,
    /// From the window's beginning, when a connection joins, until its share stays even, in us: each
    /// mean of [`SMOOTH`] samples within 30 % of it, [`STEADY`] times in a row.
    Settled(u32),
    /// Wasted credits as a share of those that arrived.
    CreditWaste,
    /// Wasted credits.
    CreditsWasted,
    /// Requests, acknowledgements, probes and stops, as a share of all bytes that the switch ports sent.
    ControlShare,
    /// Packets that switch ports marked in a window, as a share of full frames of data that the ports
    /// which marked sent in it.
    Marked,
    /// Packets that links lost.
    Lost,
    /// Packets sent again.
    Retransmitted,
    /// The share of data packets that left for the first time: what hosts' lines do not send twice.
    FreshData,
    /// Pauses that switches asked of their neighbours.
    Pauses,
    /// Timers that ran out because an answer was overdue.
    Timeouts,
    /// What the transports count under a name of their own, all of them together; not a number where none
    /// does.
    Counter(String),
    /// Completion time of the first message, in us.
    FirstFct,
    /// Received bytes per time of all messages, in Gb/s.
    Goodput,
    /// The share of the first workload's messages that a host's line carries within so long, by the
    /// curve of sizes: nothing is run.
    FlowsWithin(Span),
    /// The same of the bytes: what the line carries, over the mean size; at most 1.
    /// [aeolus s2.2]
    BytesWithin(Span),
    /// Goodput of one transport, in Gb/s: 0 the run's own, then those beside it.
    GoodputOf(u8),
    /// What the data of one connection takes of its lines, in Gb/s.
    Rate(u32),
    /// The same of all data to one host.
    RateTo(u32),
}

impl Metric {
    /// The name in tables.
    pub fn name(&self) -> String {
        let size = |&bytes: &u64| match bytes {
            0 => "0".to_owned(),
            u64::MAX => "any".to_owned(),
            n => Bytes(n).to_string(),
        };
        let sizes = |low, high| format!("{}-{}", size(low), size(high));
        match self {
            Self::UtilisationMin => "least link utilisation".into(),
            Self::UtilisationMax => "top link utilisation".into(),
            Self::Share(conn) => format!("share of flow {conn}"),
            Self::ShareSum => "share of all flows".into(),
            Self::Jain => "Jain index".into(),
            Self::FctMean(low, high) => format!("mean FCT us {}", sizes(low, high)),
            Self::FctP50(low, high) => format!("median FCT us {}", sizes(low, high)),
            Self::FctP99(low, high) => format!("p99 FCT us {}", sizes(low, high)),
            Self::FctMax(low, high) => format!("longest FCT us {}", sizes(low, high)),
            Self::FctAt(low, high, percent) => format!("p{percent} FCT us {}", sizes(low, high)),
            Self::IdleAt(low, high, percent) => format!("p{percent} idle us {}", sizes(low, high)),
            Self::OverIdle(low, high) => format!("mean FCT over idle {}", sizes(low, high)),
            Self::SlowdownAt(low, high, percent) => {
                format!("p{percent} slowdown {}", sizes(low, high))
            }
            Self::SlowdownMean(low, high) => format!("mean slowdown {}", sizes(low, high)),
            Self::SlowdownByHost(low, high, percent) => {
                format!("p{percent} slowdown {} by host", sizes(low, high))
            }
            Self::Messages(low, high) => format!("messages {}", sizes(low, high)),
            Self::FirstRtt(low, high) => format!("fast share {}", sizes(low, high)),
            Self::Sooner(low, high, percent) => {
                let rtt = f64::from(*percent) / 100.0;
                format!("share {rtt} RTT sooner {}", sizes(low, high))
            }
            Self::LastEnd => "last byte us".into(),
            Self::QueueMax => "largest queue B".into(),
            Self::DataQueueMax => "largest queue of data B".into(),
            Self::QueueLow => "least queue in window B".into(),
            Self::QueueHigh => "most queue in window B".into(),
            Self::TorQueueHigh => "most queue of a ToR B".into(),
            Self::QueueAt(percent) => format!("{percent} % of queues below B"),
            Self::QueueMean => "mean queue B".into(),
            Self::QueueMeanTop => "mean queue of top port B".into(),
            Self::QueueBound(from, to) => {
                let tier =
                    |&tier: &u8| ["host", "ToR", "aggregation", "core"][usize::from(tier.min(3))];
                format!("bound {} -> {} B", tier(from), tier(to))
            }
            Self::QueueOfBound => "largest queue / bound".into(),
            Self::DataDrops => "data packets dropped".into(),
            Self::ScheduledDrops => "scheduled dropped".into(),
            Self::UnscheduledDrops => "unscheduled dropped".into(),
            Self::Settled(conn) => format!("flow {conn} settled after us"),
            Self::CreditWaste => "credit waste".into(),
            Self::CreditsWasted => "credits wasted".into(),
            Self::ControlShare => "control share of bytes".into(),
            Self::Marked => "share marked".into(),
            Self::Lost => "packets lost by links".into(),
            Self::Retransmitted => "packets sent again".into(),
            Self::FreshData => "share of data sent once".into(),
            Self::Pauses => "pauses asked for".into(),
            Self::Timeouts => "timers run out".into(),
            Self::Counter(name) => name.replace('_', " "),
            Self::FirstFct => "FCT us".into(),
            Self::Goodput => "goodput Gb/s".into(),
            Self::FlowsWithin(time) => format!("flows within {time}"),
            Self::BytesWithin(time) => format!("bytes within {time}"),
            Self::GoodputOf(transport) => format!("goodput Gb/s of transport {transport}"),
            Self::Rate(conn) => format!("Gb/s of flow {conn}"),
            Self::RateTo(host) => format!("Gb/s to host {host}"),
        }
    }

    /// Whether its value comes out of a run.
    pub fn needs_a_run(&self) -> bool {
        !matches!(self, Self::FlowsWithin(_) | Self::BytesWithin(_))
    }

    /// Its value, where that is known without a run; not a number where no sizes are drawn.
    pub fn beforehand(&self, plan: &Assembled) -> Option<f64> {
        let carried = |time: &Span| plan.host_rate().bytes_in(*time).get();
        let share = match self {
            Self::FlowsWithin(time) => plan.sizes().map(|all| all.share_at_most(carried(time))),
            Self::BytesWithin(time) => {
                let of = |all: SizeDist| (carried(time) as f64 / all.mean()).min(1.0);
                plan.sizes().map(of)
            }
            _ => return None,
        };
        Some(share.unwrap_or(f64::NAN))
    }

    /// The metric of another case that its value is compared with.
    #[must_use]
    pub fn base(&self) -> Self {
        match self {
            Self::Sooner(low, high, _) => Self::Messages(*low, *high),
            other => other.clone(),
        }
    }

    /// Whether it rests on every message of a run.
    pub fn compares_messages(&self) -> bool {
        matches!(self, Self::Messages(..) | Self::Sooner(..))
    }

    /// What it compares message by message, if it does.
    pub fn each(&self, record: &RunRecord) -> Option<Each> {
        let (Self::Messages(low, high) | Self::Sooner(low, high, _)) = self else {
            return None;
        };
        let times = counted(record, *low, *high).map(|(flow, took)| (flow.message, took));
        Some(Each::new(record.derived.base_rtt, times.collect()))
    }

    /// Its value, where that rests on every message of two runs.
    pub fn of_each(&self, own: &Each, base: &Each) -> Option<Measured> {
        let Self::Sooner(_, _, percent) = self else {
            return None;
        };
        Some(own.sooner(base, *percent).into())
    }

    /// Its value. `window` restricts rates to a stretch of time; without it the whole run counts.
    pub fn of(&self, run: &Run<'_>, window: Option<Span2>) -> Measured {
        match self.of_messages(run.record) {
            Some(measured) => measured,
            None => self.of_network(run, window).into(),
        }
    }

    /// Its value where it is one of messages; those that did not finish have taken as long as they
    /// have.
    fn of_messages(&self, record: &RunRecord) -> Option<Measured> {
        let times = |&low: &u64, &high: &u64| completion_times(record, low, high);
        let at = |low, high, percent: u32| quantile(times(low, high), percent).into();
        Some(match self {
            Self::FctMean(low, high) => mean(&times(low, high)).into(),
            Self::FctP50(low, high) => at(low, high, 50),
            Self::FctP99(low, high) => at(low, high, 99),
            Self::FctMax(low, high) => at(low, high, 100),
            Self::FctAt(low, high, percent) => at(low, high, u32::from(*percent)),
            Self::IdleAt(low, high, percent) => {
                quantile(idle_times(record, *low, *high), u32::from(*percent)).into()
            }
            Self::OverIdle(low, high) => {
                let idle = mean(&idle_times(record, *low, *high));
                let mut over = Measured::from(mean(&times(low, high)));
                over /= idle.into();
                over
            }
            Self::SlowdownAt(low, high, percent) => {
                let all = crate::each::slowdowns(counted(record, *low, *high)).collect();
                quantile(all, u32::from(*percent)).into()
            }
            Self::SlowdownMean(low, high) => {
                let all = crate::each::slowdowns(counted(record, *low, *high));
                mean(&all.collect::<Vec<_>>()).into()
            }
            Self::SlowdownByHost(low, high, percent) => {
                let at = |of_host| quantile(of_host, u32::from(*percent));
                crate::each::by_host(counted(record, *low, *high), at).into()
            }
            Self::Messages(low, high) => (times(low, high).len() as f64).into(),
            Self::FirstRtt(low, high) => crate::each::fast_share(record, *low, *high).into(),
            Self::LastEnd => {
                let ends = record.flows.iter().map(|flow| Figure {
                    value: flow.end.unwrap_or(record.end).0 as f64 / 1e6,
                    at_least: flow.end.is_none(),
                });
                quantile(ends.collect(), 100).into()
            }
            Self::FirstFct => {
                let fct = record.flows.first();
                fct.and_then(|flow| results::fct(flow, record.end))
                    .map_or(f64::NAN.into(), |took| in_us(took).into())
            }
            _ => return None,
        })
    }

    #[allow(clippy::too_many_lines, reason = "a line or three per metric")]
    fn of_network(&self, run: &Run<'_>, window: Option<Span2>) -> f64 {
        let record = run.record;
        match self {
            Self::UtilisationMin => utilisations(record, window).fold(f64::INFINITY, f64::min),
            Self::UtilisationMax => utilisations(record, window).fold(0.0, f64::max),
            Self::Share(conn) => share(record, *conn, window),
            Self::ShareSum => connections(record)
                .map(|conn| share(record, conn, window))
                .sum(),
            Self::Jain => jain(record, window),
            Self::QueueMax => switch_ports(record)
                .map(|port| port.queue_max)
                .max()
                .unwrap_or(0) as f64,
            Self::DataQueueMax => switch_ports(record)
                .filter_map(|port| port.data_max)
                .max()
                .map_or(f64::NAN, |most| most as f64),
            Self::QueueLow => longest_queues(record, window).min().unwrap_or(0) as f64,
            Self::QueueHigh => longest_queues(record, window).max().unwrap_or(0) as f64,
            Self::TorQueueHigh => queues_of_tors(record, window).max().unwrap_or(0) as f64,
            Self::QueueAt(percent) => {
                let queues = longest_queues(record, window).map(|b| Figure::exact(b as f64));
                quantile(queues.collect(), u32::from(*percent)).value
            }
            Self::QueueMean => {
                let means = mean_queues(record, window);
                means.iter().sum::<f64>() / means.len().max(1) as f64
            }
            Self::QueueMeanTop => mean_queues(record, window).into_iter().fold(0.0, f64::max),
            Self::QueueBound(from, to) => run.bound(*from, *to),
            Self::QueueOfBound => run.queue_of_bound(),
            Self::DataDrops => dropped(record, &DATA),
            Self::ScheduledDrops => dropped(record, &[Class::Scheduled]),
            Self::UnscheduledDrops => dropped(record, &[Class::Unscheduled]),
            Self::Settled(conn) => settled(record, *conn, window),
            Self::CreditWaste => {
                let (wasted, all) = (record.totals.credits_wasted, record.totals.credits_received);
                wasted as f64 / all.max(1) as f64
            }
            Self::ControlShare => {
                let control: u64 = switch_ports(record)
                    .map(|port| port.bytes[Class::Control])
                    .sum();
                let all: u64 = switch_ports(record).map(|port| port.bytes.sum()).sum();
                control as f64 / all.max(1) as f64
            }
            Self::Marked => marked(record, window),
            Self::Lost => {
                let lost: u64 = record.ports.iter().map(|port| port.lost.sum()).sum();
                lost as f64
            }
            Self::Retransmitted => record.totals.retransmitted as f64,
            Self::FreshData => {
                let totals = &record.totals;
                let fresh = totals.data_sent - totals.retransmitted;
                fresh as f64 / totals.data_sent.max(1) as f64
            }
            Self::Pauses => record.ports.iter().map(|port| port.pauses).sum::<u64>() as f64,
            Self::Timeouts => record.totals.timeouts as f64,
            Self::CreditsWasted => record.totals.credits_wasted as f64,
            Self::Counter(name) => {
                let own = record.counts.iter().flat_map(|of| &of.own);
                let of = own.filter(|(counter, _)| counter.name == name);
                of.map(|&(_, value)| value as f64)
                    .reduce(|a, b| a + b)
                    .unwrap_or(f64::NAN)
            }
            Self::Goodput => goodput(record, window, |_| true),
            Self::GoodputOf(transport) => goodput(record, window, |f| f.transport == *transport),
            Self::Rate(conn) => on_lines(record) * goodput(record, window, |f| f.conn == *conn),
            Self::RateTo(host) => on_lines(record) * goodput(record, window, |f| f.dst == *host),
            // What is known beforehand, and what is of messages.
            Self::FlowsWithin(_)
            | Self::BytesWithin(_)
            | Self::FctMean(..)
            | Self::FctP50(..)
            | Self::FctP99(..)
            | Self::FctMax(..)
            | Self::FctAt(..)
            | Self::IdleAt(..)
            | Self::OverIdle(..)
            | Self::SlowdownAt(..)
            | Self::SlowdownMean(..)
            | Self::SlowdownByHost(..)
            | Self::Messages(..)
            | Self::FirstRtt(..)
            | Self::Sooner(..)
            | Self::LastEnd
            | Self::FirstFct => f64::NAN,
        }
    }
}

impl Run<'_> {
    /// See [`Metric::QueueBound`]; not a number where nothing bounds it.
    fn bound(&self, from: u8, to: u8) -> f64 {
        let ports = self.record.ports.iter().zip(self.bounds.iter().flatten());
        let of_kind = ports.filter(|(port, _)| (port.from_tier, port.to_tier) == (from, to));
        of_kind
            .map(|(_, bytes)| bytes.0)
            .max()
            .map_or(f64::NAN, |most| most as f64)
    }

    /// See [`Metric::QueueOfBound`]; not a number where nothing bounds it.
    fn queue_of_bound(&self) -> f64 {
        let small =
            connections(self.record).count() as f64 * f64::from(self.record.encap.frame_min);
        let ports = self.record.ports.iter().zip(self.bounds.iter().flatten());
        let switches = ports.filter(|(port, _)| !port.of_host());
        let shares = switches.map(|(port, bytes)| port.queue_max as f64 / (bytes.0 as f64 + small));
        shares.reduce(f64::max).unwrap_or(f64::NAN)
    }
}

/// What carries payload.
const DATA: [Class; 3] = [Class::Scheduled, Class::Unscheduled, Class::Plain];

/// Packets of `classes` dropped at any port.
fn dropped(record: &RunRecord, classes: &[Class]) -> f64 {
    let of = |port: &PortRow| {
        let of_class = |&class: &Class| port.dropped[class];
        classes.iter().map(of_class).sum::<u64>()
    };
    record.ports.iter().map(of).sum::<u64>() as f64
}

fn switch_ports(record: &RunRecord) -> impl Iterator<Item = &PortRow> {
    record.ports.iter().filter(|port| !port.of_host())
}

/// So many per cent of `values` are no greater; not a number where there are none.
fn quantile(values: Vec<Figure<f64>>, percent: u32) -> Figure<f64> {
    if values.is_empty() {
        return Figure::exact(f64::NAN);
    }
    Sorted::new(values).quantile(percent * 100)
}

fn mean(values: &[Figure<f64>]) -> Figure<f64> {
    Figure {
        value: values.iter().map(|figure| figure.value).sum::<f64>() / values.len() as f64,
        at_least: values.iter().any(|figure| figure.at_least),
    }
}

fn in_us(time: Figure<u64>) -> Figure<f64> {
    Figure {
        value: Span(time.value).as_us(),
        at_least: time.at_least,
    }
}

fn bounds(record: &RunRecord, window: Option<Span2>) -> (Time, Time) {
    window.map_or((Time::ZERO, record.end), |w| {
        (Time(w.from.0), Time(w.until.0))
    })
}

/// Messages of more than `low` and at most `high` bytes that count, and how long they took; in the end
/// how long they have taken.
pub(crate) fn counted(
    record: &RunRecord,
    low: u64,
    high: u64,
) -> impl Iterator<Item = (&FlowRow, Figure<u64>)> {
    let sized = record
        .flows
        .iter()
        .filter(move |flow| flow.size > low && flow.size <= high);
    let in_window = sized.filter(|flow| flow.start.is_some_and(|at| record.window.contains(&at)));
    in_window.filter_map(|flow| Some((flow, results::fct(flow, record.end)?)))
}

/// Their completion times in us, ascending.
pub(crate) fn completion_times(record: &RunRecord, low: u64, high: u64) -> Vec<Figure<f64>> {
    let mut times: Vec<Figure<f64>> = counted(record, low, high)
        .map(|(_, took)| in_us(took))
        .collect();
    times.sort_by(|a, b| a.value.total_cmp(&b.value));
    times
}

/// What the same messages would take if each had the network for itself, in us.
pub(crate) fn idle_times(record: &RunRecord, low: u64, high: u64) -> Vec<Figure<f64>> {
    let idle = |(flow, _): (&FlowRow, _)| Figure::exact(flow.ideal.as_us());
    counted(record, low, high).map(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Web Server at 10 Gb/s: 17,500 B fit into 14 us, 11,500 of the 14,000 B between the points
    /// (6,000 B, 0.60) and (20,000 B, 0.71); the mean is 66,121 B.
    #[test]
    fn what_fits_a_round_trip_follows_from_the_curve_of_sizes() {
        let text = "[topology]\nkind = \"star\"\nhosts = 2\nhost_rate = \"10Gbps\"\n[workload]\nkind = \
                    \"random\"\nsizes = \"web-server\"\nload = 0.1\nmessages = 1\n";
        let plan = scenario::load_text("x", text, &[]).and_then(scenario::Scenario::assemble);
        let Ok(plan) = plan else {
            panic!("a good scenario")
        };
        let at = |metric: Metric| metric.beforehand(&plan).unwrap();
        let flows = at(Metric::FlowsWithin(Span::us(14)));
        assert!(
            (flows - (0.6 + 0.11 * 11_500.0 / 14_000.0)).abs() < 1e-9,
            "{flows}"
        );
        let bytes = at(Metric::BytesWithin(Span::us(14)));
        assert!((bytes - 17_500.0 / 66_121.0).abs() < 1e-5, "{bytes}");
        assert!((at(Metric::BytesWithin(Span::ms(1))) - 1.0).abs() < 1e-9);
        assert_eq!(Metric::Goodput.beforehand(&plan), None);
    }

    #[test]
    fn a_percentile_is_a_value_that_occurred() {
        let exact = |n: u32| Figure::exact(f64::from(n));
        let at = |percent| {
            quantile((1..=200).map(exact).collect(), percent)
                .value
                .to_bits()
        };
        assert_eq!(
            [at(1), at(50), at(99), at(100)],
            [2.0, 100.0, 198.0, 200.0].map(f64::to_bits)
        );
        assert!(quantile(Vec::new(), 50).value.is_nan());
    }

    /// Ten senders, of which the last two are cut off for good. Who forgets them finds a better p90.
    #[test]
    fn messages_that_did_not_finish_are_not_forgotten() {
        let text = "[topology]\nkind = \"star\"\nhosts = 11\n[workload]\nkind = \"incast\"\nsenders = \
                    10\nsize = \"20KB\"\n[run]\nuntil = \"50ms\"\n[[faults]]\nkind = \"loss\"\nlink = \
                    \"h9 -> tor0\"\nchance = 1.0\n[[faults]]\nkind = \"loss\"\nlink = \"h10 -> \
                    tor0\"\nchance = 1.0\n";
        let plan = scenario::load_text("x", text, &[]).and_then(scenario::Scenario::assemble);
        let record = plan.and_then(|plan| plan.run(1, "", &mut scenario::Alone));
        let record = record.unwrap_or_else(|errors| panic!("{errors}"));
        let open = record.flows.iter().filter(|flow| flow.end.is_none());
        assert_eq!(open.count(), 2);
        let run = Run {
            record: &record,
            bounds: None,
        };
        let any = u64::MAX;
        let of = |metric: Metric| metric.of(&run, None);
        let end = record.end.0 as f64 / 1e6;
        for metric in [
            Metric::FctAt(0, any, 90),
            Metric::FctP99(0, any),
            Metric::FctMax(0, any),
            Metric::LastEnd,
        ] {
            let measured = of(metric);
            assert!(
                measured.at_least && (measured.value - end).abs() < 1.0,
                "{measured:?}"
            );
        }
        assert!(of(Metric::FctMean(0, any)).at_least);
        let slow = of(Metric::SlowdownMean(0, any));
        let each = record.flows.iter().map(|flow| {
            let (from, ideal) = (flow.start.unwrap(), flow.ideal);
            (flow.end.unwrap_or(record.end).0 - from.0) as f64 / ideal.0 as f64
        });
        let by_hand = each.sum::<f64>() / 10.0;
        assert!(
            slow.at_least && (slow.value / by_hand - 1.0).abs() < 1e-9,
            "{slow:?}, by hand {by_hand}"
        );
        // Eight of ten have finished: what rests on them alone is known.
        let known = of(Metric::FctAt(0, any, 80));
        assert!(!known.at_least && known.value < 1_000.0, "{known:?}");
        assert_eq!(of(Metric::Messages(0, any)), 10.0.into());
        let share = of(Metric::FirstRtt(0, any));
        assert!(!share.at_least && share.value <= 0.8, "{share:?}");
    }

    #[test]
    fn a_ratio_is_open_to_the_sides_to_which_its_parts_are() {
        let at_least = |value| Measured {
            at_least: true,
            ..Measured::from(value)
        };
        let over = |mut a: Measured, b: Measured| {
            a /= b;
            (a.value.to_bits(), a.at_least, a.at_most)
        };
        let half = 0.5f64.to_bits();
        assert_eq!(over(1.0.into(), 2.0.into()), (half, false, false));
        assert_eq!(over(at_least(1.0), 2.0.into()), (half, true, false));
        assert_eq!(over(1.0.into(), at_least(2.0)), (half, false, true));
        assert_eq!(over(at_least(1.0), at_least(2.0)), (half, true, true));
    }
}
