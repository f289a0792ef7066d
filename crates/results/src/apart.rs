//! What a summary says apart: of packets that carry neither data nor a credit, of each transport
//! where several share the hosts, and of messages that share a tag.

use crate::kind::{BitRate, InBytes, Ps, Ratio};
use crate::lines::{line_share, ports_span};
use crate::record::{FlowRow, PortRow, RunRecord};
use crate::stats::{Dist, Figure};
use crate::summary::{fct, goodput, slowdown};
use model::Class;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Time;

/// Packets of class control: they are never dropped first, and nothing but what they answer paces
/// them. [ours; aeolus s3.3 protects them, too]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Put on their lines by hosts.
    pub packets: u64,
    /// Bytes that hosts put on their lines.
    pub bytes: InBytes,
    /// Their mean share of a link, over the run's active time.
    pub share_mean: Ratio,
    /// Their greatest share of a link.
    pub share_max: Ratio,
    /// The link that has it; empty where there are none.
    pub busiest: String,
}

/// What a transport counts in words of its own, summed over all hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCounter {
    /// The transport.
    pub transport: String,
    /// The counter's name.
    pub name: String,
    /// What one of it is.
    pub unit: String,
    /// What it counts.
    pub meaning: String,
    /// How many.
    pub value: u64,
}

/// Sums of what the transports of `run` declare, in their order.
pub(crate) fn counters(run: &RunRecord) -> Vec<OwnCounter> {
    let mut sums: Vec<(u8, OwnCounter)> = Vec::new();
    for of in &run.counts {
        for &(counter, value) in &of.own {
            let known = sums
                .iter_mut()
                .find(|(number, sum)| *number == of.transport && sum.name == counter.name);
            if let Some((_, sum)) = known {
                sum.value += value;
                continue;
            }
            let name = run.transports.get(usize::from(of.transport));
            let sum = OwnCounter {
                transport: name.unwrap_or(&run.transport).clone(),
                name: counter.name.to_owned(),
                unit: counter.unit.to_owned(),
                meaning: counter.meaning.to_owned(),
                value,
            };
            sums.push((of.transport, sum));
        }
    }
    sums.sort_by_key(|(transport, _)| *transport);
    sums.into_iter().map(|(_, sum)| sum).collect()
}

/// One of several transports of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfTransport {
    /// Its name.
    pub name: String,
    /// Counted messages.
    pub messages: u64,
    /// Of these, finished.
    pub finished: u64,
    /// Completion times; those of messages with a set end are left out.
    pub fct_ps: Option<Dist<Ps>>,
    /// Completion time over that in an idle network.
    pub slowdown: Option<Dist<Ratio>>,
    /// Payload per second that its receivers got, over the same time as the run's.
    pub goodput_bps: Option<BitRate>,
    /// Data packets sent, first time or again.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Safety timers that fired.
    pub timeouts: u64,
}

/// Counted messages that share a tag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfTag {
    /// The tag.
    pub name: String,
    /// Messages with a completion time, unfinished ones included.
    pub messages: u64,
    /// Unfinished ones.
    pub unfinished: u64,
    /// Bytes of them all.
    pub bytes: InBytes,
    /// From the first start to the last end, in picoseconds: when the group is complete.
    pub took_ps: Figure<Ps>,
    /// Messages whose slowdown is more than twice the tag's median.
    #[serde(default)]
    pub stragglers: u64,
    /// Completion times.
    pub fct_ps: Option<Dist<Ps>>,
    /// Completion time over that in an idle network.
    pub slowdown: Option<Dist<Ratio>>,
}

/// The tags with the most telling first: those of which messages are missing, then those with the greatest slowdown at
/// the 99th percentile.
pub fn telling(tags: &[OfTag]) -> Vec<&OfTag> {
    let mut order: Vec<&OfTag> = tags.iter().collect();
    let tail = |of: &OfTag| of.slowdown.as_ref().map_or(0.0, |dist| dist.p99.value);
    order.sort_by(|a, b| {
        let missing = (b.unfinished > 0).cmp(&(a.unfinished > 0));
        missing.then(tail(b).total_cmp(&tail(a)))
    });
    order
}

/// The tags of the counted messages, in the order of their numbers.
pub(crate) fn tags(run: &RunRecord, counted: &[&FlowRow]) -> Vec<OfTag> {
    let mut of: Vec<Vec<&FlowRow>> = vec![Vec::new(); run.tags.len()];
    for flow in counted.iter().filter(|flow| !flow.timed) {
        if let Some(members) = of.get_mut(usize::from(flow.tag)) {
            members.push(flow);
        }
    }
    let named = run.tags.iter().zip(of);
    let used = named.filter(|(_, members)| !members.is_empty());
    let one = |(name, members): (&String, Vec<&FlowRow>)| {
        let times: Vec<_> = members.iter().filter_map(|f| fct(f, run.end)).collect();
        let slow: Vec<_> = members
            .iter()
            .filter_map(|f| slowdown(f, run.end))
            .collect();
        let slowdown = Dist::of(&slow);
        let median = slowdown.map_or(f64::INFINITY, |dist| dist.p50.value);
        let late = slow.iter().filter(|figure| figure.value > 2.0 * median);
        let stragglers = late.count() as u64;
        let first = members.iter().filter_map(|flow| flow.start).min();
        let ends = members.iter().map(|flow| flow.end.unwrap_or(run.end));
        let last = ends.max().unwrap_or(Time::ZERO);
        let unfinished = members.iter().filter(|flow| flow.end.is_none()).count() as u64;
        OfTag {
            name: name.clone(),
            messages: members.len() as u64,
            unfinished,
            bytes: members.iter().map(|flow| flow.size).sum(),
            took_ps: Figure {
                value: last.since(first.unwrap_or(last)).0,
                at_least: unfinished > 0,
            },
            fct_ps: Dist::of(&times),
            stragglers,
            slowdown,
        }
    };
    used.map(one).collect()
}

pub(crate) fn control(run: &RunRecord) -> Control {
    let class = Class::Control;
    let span = ports_span(run);
    let share = |port: &PortRow| line_share(port, port.bytes[class], span);
    // Of equals the first, so that the name does not depend on how many there are.
    let busiest = run
        .ports
        .iter()
        .rev()
        .max_by(|a, b| share(a).total_cmp(&share(b)));
    let at_hosts = || run.ports.iter().filter(|port| port.of_host());
    Control {
        packets: at_hosts().map(|port| port.packets[class]).sum(),
        bytes: at_hosts().map(|port| port.bytes[class]).sum(),
        share_mean: run.ports.iter().map(share).sum::<f64>() / run.ports.len().max(1) as f64,
        share_max: busiest.map_or(0.0, share),
        busiest: busiest
            .filter(|port| port.bytes[class] > 0)
            .map_or_else(String::new, PortRow::name),
    }
}

pub(crate) fn transports(run: &RunRecord, counted: &[&FlowRow]) -> Vec<OfTransport> {
    if run.transports.len() < 2 {
        return Vec::new();
    }
    let names = (0u8..).zip(&run.transports);
    let one = |(number, name): (u8, &String)| {
        let is = |flow: &FlowRow| flow.transport == number;
        let own: Vec<&FlowRow> = counted.iter().copied().filter(|flow| is(flow)).collect();
        let times: Vec<_> = own.iter().filter_map(|flow| fct(flow, run.end)).collect();
        let slow: Vec<_> = own
            .iter()
            .filter_map(|flow| slowdown(flow, run.end))
            .collect();
        let totals = run.totals_of(number);
        OfTransport {
            name: name.clone(),
            messages: own.len() as u64,
            finished: own.iter().filter(|flow| flow.end.is_some()).count() as u64,
            fct_ps: Dist::of(&times),
            slowdown: Dist::of(&slow),
            goodput_bps: goodput(run, &is).map(|goodput| goodput.bps),
            data_sent: totals.data_sent,
            retransmitted: totals.retransmitted,
            timeouts: totals.timeouts,
        }
    };
    names.map(one).collect()
}

/// What the flow control of all switches did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pauses {
    /// Its name.
    pub name: String,
    /// Pauses that switches have asked for.
    pub pauses: u64,
    /// How long gates were closed, summed over ports of switches and hosts.
    pub paused_ps: Ps,
    /// The longest that one gate was closed, of a priority, a queue or a flow.
    #[serde(default)]
    pub longest_ps: Ps,
    /// Most bytes that lay in the headroom of one port and priority.
    #[serde(default)]
    pub headroom_max: InBytes,
    /// What it counts besides, by name.
    pub counts: BTreeMap<String, u64>,
}

pub(crate) fn pauses(run: &RunRecord) -> Option<Pauses> {
    let most = |of: fn(&PortRow) -> u64| run.ports.iter().map(of).max().unwrap_or(0);
    run.flow_control.as_ref().map(|control| Pauses {
        name: control.name.clone(),
        pauses: run.ports.iter().map(|port| port.pauses).sum(),
        paused_ps: run.ports.iter().map(|port| port.paused.0).sum(),
        longest_ps: most(|port| port.pause_longest.0),
        headroom_max: most(|port| port.headroom_max),
        counts: control.counts.iter().cloned().collect(),
    })
}
