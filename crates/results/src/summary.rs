//! What came of a run, in numbers: the content of `summary.json`.
//!
//! Each figure is worked out once, here, and every reader takes it from here: files, pages, comparisons, thresholds
//! and Python. Messages count that began within the window. One that did not finish has a lower bound as its time, and
//! a figure that depends on it says so (`Figure::at_least`).

use crate::apart::{self, Control, OfTag, OfTransport, OwnCounter, Pauses};
use crate::ground::{Asked, Ground};
use crate::kind::{BitRate, InBytes, Ps, Ratio, Seed, Which};
use crate::lines::LinkGroup;
use crate::queues::{data_queue_max, queue_max};
use crate::record::{FlowRow, PortRow, RunRecord, Status, StuckRow};
use crate::sizes::{SizeBin, size_bins};
use crate::stats::{Figure, jain};
use crate::{backlog, human, lines};
use model::{ByClass, ByReason, Class, DropReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{PS_PER_SEC, Span, Time};

/// Version of the layout of `summary.json`; a field that changes its meaning raises it.
pub const SCHEMA: u32 = 3;

/// Messages that are named as the slowest. [ours]
pub const SLOWEST_MAX: usize = 20;

/// What came of a run, in numbers. Times in picoseconds, sizes in bytes, rates in bits per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this layout.
    pub schema: Which,
    /// Short name of the scenario.
    pub scenario: String,
    /// The scenario in a few words.
    pub title: String,
    /// The transport's composed name.
    pub transport: String,
    /// What its transports call a credit, with a slash between where they differ.
    #[serde(default = "credit")]
    pub credit: String,
    /// Seed of every random stream.
    pub seed: Seed,
    /// Hash over what happened, 16 hexadecimal digits; `none` of a run that was interrupted.
    pub fingerprint: String,
    /// Hash over the messages that were asked for: sender, receiver, size and start; 16 hexadecimal digits. Runs
    /// with one hash served one list.
    #[serde(default)]
    pub messages_hash: String,
    /// What this run sets differently from its siblings, as `(key, value)`.
    pub settings: Vec<(String, String)>,
    /// `complete`, `interrupted`, `stuck` or `unfinished`.
    pub status: String,
    /// What does not add up, where packets went missing unaccounted.
    pub conservation: Option<String>,
    /// What keeps flows of a run that is stuck or unfinished; there may be more than are listed here.
    #[serde(default)]
    pub stuck: Vec<Stuck>,
    /// What the reader should know before trusting the numbers.
    pub warnings: Vec<String>,
    /// Whether outstanding bytes grew while they should have been steady.
    #[serde(default)]
    pub backlog_grew: bool,
    /// Measurement window, from and until; `null` where it has no end.
    pub window_ps: (Ps, Option<Ps>),
    /// When the last thing happened.
    pub end_ps: Ps,
    /// Packets delivered over links.
    pub hops: u64,
    /// How many messages, and what became of them.
    pub messages: Messages,
    /// Completion times and slowdowns: all sizes first, then by size.
    pub sizes: Vec<SizeBin>,
    /// Bytes that receivers accepted per time, over all hosts.
    pub goodput: Option<Goodput>,
    /// Jain's index over the mean rates of the counted messages.
    pub fairness: Option<Ratio>,
    /// The fullest port of a switch.
    pub queue_max: Option<QueueMax>,
    /// The port of a switch that held the most data, control packets left out, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_queue_max: Option<QueueMax>,
    /// Packets that were lost.
    pub drops: Drops,
    /// Data that receivers had asked for, where hosts sent any: what ports dropped of it, and where.
    #[serde(default)]
    pub asked: Option<Asked>,
    /// What ports counted in a window of time, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedSummary>,
    /// What the flow control of switches did, where they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<Pauses>,
    /// Credits and what became of them.
    pub credits: Credits,
    /// Packets that carry neither data nor a credit.
    #[serde(default)]
    pub control: Control,
    /// Each of several transports; empty where one is alone.
    #[serde(default)]
    pub transports: Vec<OfTransport>,
    /// Each tag of messages; empty where all share one.
    #[serde(default)]
    pub tags: Vec<OfTag>,
    /// Data packets, and what went wrong.
    pub packets: Packets,
    /// What transports count in words of their own, by transport.
    #[serde(default)]
    pub counters: Vec<OwnCounter>,
    /// Links by place in the network.
    pub links: Vec<LinkGroup>,
    /// The slowest counted messages by slowdown, the worst first; at most [`SLOWEST_MAX`].
    pub slowest: Vec<Slow>,
    /// What follows from the scenario before anything runs.
    pub derived: DerivedSummary,
    /// What ports have room for, and what was cut off the traffic.
    #[serde(default)]
    pub ground: Ground,
}

/// A flow that did not finish, as one of its hosts sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// The host that reports it.
    pub host: Which,
    /// Its connection.
    pub conn: Which,
    /// Its role and state, in the transport's words.
    pub state: String,
    /// What it waits for.
    pub waits_for: String,
}

/// How many messages, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Of the whole run.
    pub total: u64,
    /// That started inside the measurement window: all other figures are about them.
    pub counted: u64,
    /// Counted ones that finished.
    pub finished: u64,
    /// Counted ones that did not, but for those with a set end; they enter distributions as lower bounds.
    pub unfinished: u64,
    /// Of the whole run, unfinished, whenever they started.
    pub unfinished_total: u64,
    /// Of the whole run, never started: what they waited for did not happen.
    pub not_started: u64,
    /// Counted ones with a set end; they have no completion time.
    pub timed: u64,
    /// Bytes of the counted ones; of those with a set end, what was received.
    pub bytes: InBytes,
}

/// Bytes delivered per time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goodput {
    /// Sum over all hosts.
    pub bps: BitRate,
    /// The time it is taken over: from the first start to the last end inside the window.
    pub from_ps: Ps,
    /// Its end.
    pub until_ps: Ps,
}

/// The fullest port of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMax {
    /// Most bytes of data that waited at once; with what was left of the frame on the line where
    /// the port is a plain FIFO, without it at every other port.
    pub bytes: InBytes,
    /// Where.
    pub port: String,
}

/// Packets that were lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Dropped by ports, by class name.
    pub by_class: BTreeMap<String, u64>,
    /// Dropped by ports, by reason.
    pub by_reason: BTreeMap<String, u64>,
    /// Lost to faults on the line, by class name.
    pub faults: BTreeMap<String, u64>,
    /// Dropped by ports, all classes but credits: losing a credit is how a credit-based
    /// receiver learns its rate. [xpass s3.1]
    pub data: u64,
    /// Dropped by ports, all classes.
    pub total: u64,
}

/// What ports counted in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedSummary {
    /// Its first moment.
    pub from_ps: Ps,
    /// The first moment after it.
    pub until_ps: Ps,
    /// The fullest port of a switch in it.
    pub queue_max: Option<QueueMax>,
    /// Packets that were lost in it.
    pub drops: Drops,
    /// Packets that left a port marked, or joined a queue that marks what comes.
    pub marked: u64,
}

/// Credits and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Credits {
    /// Given out by receivers.
    pub sent: u64,
    /// Arrived at senders.
    pub received: u64,
    /// Arrived and released nothing: nothing was left to send, or they ran out first.
    pub wasted: u64,
    /// Dropped at the link of the host that gave them out.
    pub dropped_at_host: u64,
    /// Dropped by ports or lost to faults on the way.
    pub dropped_on_way: u64,
    /// Wasted over wasted and used, of those that arrived: the share of the data direction left idle;
    /// `None` where none arrived. [xpass s6.3]
    pub waste: Option<Ratio>,
}

impl Credits {
    /// Credits that brought data.
    pub const fn used(&self) -> u64 {
        self.received.saturating_sub(self.wasted)
    }
}

/// Data packets, and what went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packets {
    /// Data packets sent, first time or again.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Packets that brought nothing new: data that a host has, and words of what it has forgotten.
    pub duplicates: u64,
    /// Safety timers that fired.
    pub timeouts: u64,
    /// Packets that made no sense.
    pub nonsense: u64,
    /// Packets that left a port marked.
    pub marked: u64,
    /// Copies that faults added.
    pub copied: u64,
}

/// One of the slowest messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Its number.
    pub message: Which,
    /// Its connection.
    pub conn: Which,
    /// Sending host.
    pub src: Which,
    /// Receiving host.
    pub dst: Which,
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// Bytes.
    pub size: InBytes,
    /// When it started.
    pub start_ps: Ps,
    /// How long it took.
    pub fct_ps: Figure<Ps>,
    /// Over the time in an idle network.
    pub slowdown: Figure<Ratio>,
    /// Its tag.
    pub tag: String,
}

/// What follows from the scenario before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DerivedSummary {
    /// Hosts.
    pub hosts: u32,
    /// Switches.
    pub switches: u32,
    /// Rate of a host's link.
    pub host_rate_bps: BitRate,
    /// Longest round trip of an idle network, frames included.
    pub base_rtt_ps: Ps,
    /// The same without frames.
    pub propagation_rtt_ps: Ps,
    /// Bandwidth-delay product in wire bytes.
    pub bdp: InBytes,
}

/// How long a message took, or has taken at the end that was asked for, however early nothing moved any more; `None` if it never started or has a
/// set end. In picoseconds.
pub fn fct(flow: &FlowRow, end: Time) -> Option<Figure<u64>> {
    let start = flow.start.filter(|_| !flow.timed)?;
    Some(match flow.end {
        Some(done) => Figure::exact(done.since(start).0),
        None => Figure {
            value: end.since(start).0,
            at_least: true,
        },
    })
}

/// Completion time over that in an idle network, than which nobody who has not ended will be faster.
pub fn slowdown(flow: &FlowRow, end: Time) -> Option<Figure<f64>> {
    let took = fct(flow, end)?;
    let value = took.value as f64 / flow.ideal.0 as f64;
    Some(Figure {
        value: if took.at_least { value.max(1.0) } else { value },
        at_least: took.at_least,
    })
}

/// Whether a message started inside the window.
pub fn counts(flow: &FlowRow, window: &Range<Time>) -> bool {
    flow.start.is_some_and(|start| window.contains(&start))
}

/// What the window leaves no message of: everything, where none counts, or tags of which some started.
fn outside(run: &RunRecord, counted: u64) -> Option<String> {
    if counted > 0 {
        return hidden(run);
    }
    let begun = run.flows.iter().any(|flow| flow.start.is_some());
    let remedy = if begun {
        "widen run.window, or lower run.warmup"
    } else if run.status == Status::Interrupted {
        return None; // who did that knows why it ended
    } else {
        "the run ended before the first: raise run.until"
    };
    Some(format!(
        "no message started inside the measurement window: {remedy}"
    ))
}

/// The tags of which messages started, and none inside the window.
fn hidden(run: &RunRecord) -> Option<String> {
    let mut tags = vec![(0_u64, 0_u64); run.tags.len()];
    for flow in run
        .flows
        .iter()
        .filter(|flow| flow.start.is_some() && !flow.timed)
    {
        let (started, counted) = &mut tags[usize::from(flow.tag)];
        *started += 1;
        *counted += u64::from(counts(flow, &run.window));
    }
    let all = run.tags.iter().zip(tags);
    let hidden = all.filter(|(_, (started, counted))| *started > 0 && *counted == 0);
    let (names, started): (Vec<&str>, Vec<u64>) = hidden
        .map(|(tag, (started, _))| (tag.as_str(), started))
        .unzip();
    (!names.is_empty()).then(|| {
        format!(
            "no message of {} started inside the measurement window, so the {} are in no figure: widen run.window, or lower \
             run.warmup",
            names.join(", "),
            human::count(started.iter().sum()),
        )
    })
}

impl Summary {
    /// The summary of `run`.
    ///
    /// # Panics
    /// If the record contradicts itself; see [`RunRecord::check`].
    pub fn of(run: &RunRecord) -> Self {
        run.check();
        let counted: Vec<&FlowRow> = run
            .flows
            .iter()
            .filter(|flow| counts(flow, &run.window))
            .collect();
        let messages = messages(run, &counted);
        let mut summary = Self {
            schema: SCHEMA,
            scenario: run.scenario.clone(),
            title: run.title.clone(),
            transport: run.transport.clone(),
            credit: run.credit.clone(),
            seed: run.seed,
            fingerprint: run.print(),
            messages_hash: format!("{:016x}", run.messages_hash),
            settings: run.settings.clone(),
            status: run.status.name().into(),
            conservation: run.conservation.clone().err(),
            stuck: stuck(run),
            warnings: run.warnings.clone(),
            backlog_grew: false,
            window_ps: (
                run.window.start.0,
                (run.window.end != Time::NEVER).then_some(run.window.end.0),
            ),
            end_ps: run.end.0,
            hops: run.hops,
            messages,
            sizes: size_bins(&counted, run.end),
            goodput: goodput(run, &|_| true),
            fairness: fairness(&counted, run.end),
            queue_max: queue_max(&run.ports),
            data_queue_max: data_queue_max(&run.ports),
            drops: drops(&run.ports),
            asked: Asked::of(&run.ports),
            counted: run.counted.as_ref().map(|counted| CountedSummary {
                from_ps: counted.window.start.0,
                until_ps: counted.window.end.0,
                queue_max: queue_max(&counted.ports),
                drops: drops(&counted.ports),
                marked: counted.ports.iter().map(|port| port.marked).sum(),
            }),
            flow_control: apart::pauses(run),
            credits: credits(run),
            control: apart::control(run),
            transports: apart::transports(run, &counted),
            tags: apart::tags(run, &counted),
            packets: packets(run),
            counters: apart::counters(run),
            links: lines::groups(run),
            slowest: slowest(run, &counted),
            derived: DerivedSummary {
                hosts: run.derived.hosts,
                switches: run.derived.switches,
                host_rate_bps: run.derived.host_rate.0,
                base_rtt_ps: run.derived.base_rtt.0,
                propagation_rtt_ps: run.derived.propagation_rtt.0,
                bdp: run.derived.bdp.0,
            },
            ground: Ground::of(run),
        };
        warn(&mut summary, run);
        summary
    }

    /// The bin of all sizes.
    pub fn all(&self) -> &SizeBin {
        &self.sizes[0]
    }

    /// Whether the exit code has to say that the run broke (3): packets unaccounted for, or
    /// messages that did not finish although the scenario gave them all the time there is.
    pub fn broken(&self) -> bool {
        self.conservation.is_some() || self.leaves_messages()
    }

    /// Whether messages did not finish and no end that the scenario chose excuses them.
    pub(crate) fn leaves_messages(&self) -> bool {
        [Status::Stuck.name(), Status::Unfinished.name()].contains(&self.status.as_str())
    }
}

fn stuck(run: &RunRecord) -> Vec<Stuck> {
    if !matches!(run.status, Status::Stuck | Status::Unfinished) {
        return Vec::new();
    }
    let row = |row: &StuckRow| Stuck {
        host: row.host,
        conn: row.conn,
        state: row.state.clone(),
        waits_for: row.waits_for.clone(),
    };
    run.stuck.iter().map(row).collect()
}

fn messages(run: &RunRecord, counted: &[&FlowRow]) -> Messages {
    let n =
        |test: &dyn Fn(&FlowRow) -> bool| counted.iter().filter(|flow| test(flow)).count() as u64;
    Messages {
        total: run.flows.len() as u64,
        counted: counted.len() as u64,
        finished: n(&|flow| flow.end.is_some()),
        unfinished: n(&|flow| flow.end.is_none() && !flow.timed),
        unfinished_total: run.flows.iter().filter(|flow| flow.end.is_none()).count() as u64,
        not_started: run.flows.iter().filter(|flow| flow.start.is_none()).count() as u64,
        timed: n(&|flow| flow.timed),
        bytes: counted
            .iter()
            .map(|flow| if flow.timed { flow.received } else { flow.size })
            .sum(),
    }
}

/// Bytes that receivers accepted per time, between the first start and the last end inside the window.
pub(crate) fn goodput(run: &RunRecord, of: &dyn Fn(&FlowRow) -> bool) -> Option<Goodput> {
    let (first, last) = active(run)?;
    let (from, until) = (first.max(run.window.start), last.min(run.window.end));
    if until <= from {
        return None;
    }
    let inside = run.received_inside.as_ref();
    let bytes = run.flows.iter().filter(|flow| of(flow)).map(|flow| {
        let all = inside.map_or(flow.received, |all| all[flow.message as usize]);
        u128::from(all)
    });
    let bps = bytes.sum::<u128>() * 8 * u128::from(PS_PER_SEC) / u128::from(until.since(from).0);
    Some(Goodput {
        bps: u64::try_from(bps).unwrap_or(u64::MAX),
        from_ps: from.0,
        until_ps: until.0,
    })
}

fn fairness(counted: &[&FlowRow], end: Time) -> Option<f64> {
    let rates: Vec<f64> = counted
        .iter()
        .filter_map(|flow| {
            let life = flow.end.unwrap_or(end).since(flow.start?);
            (life > Span::ZERO).then(|| flow.received as f64 / life.0 as f64)
        })
        .collect();
    jain(&rates)
}

fn drops(ports: &[PortRow]) -> Drops {
    let by_class = |counters: &dyn Fn(&PortRow) -> ByClass<u64>| {
        Class::ALL
            .iter()
            .map(|class| {
                let sum = ports.iter().map(|port| counters(port)[*class]).sum();
                (class.name().to_owned(), sum)
            })
            .collect::<BTreeMap<_, u64>>()
    };
    let dropped = by_class(&|port| port.dropped);
    let total: u64 = dropped.values().sum();
    let reasons: ByReason<u64> =
        ByReason::from_fn(|reason| ports.iter().map(|port| port.drop_reasons[reason]).sum());
    Drops {
        data: total - dropped[Class::Credit.name()],
        total,
        by_class: dropped,
        by_reason: DropReason::ALL
            .iter()
            .map(|reason| (reason.name().to_owned(), reasons[*reason]))
            .collect(),
        faults: by_class(&|port| port.lost),
    }
}

fn credit() -> String {
    "credit".into()
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn credits(run: &RunRecord) -> Credits {
    let credit = Class::Credit;
    let (totals, ports) = (&run.totals, &run.ports);
    Credits {
        sent: totals.credits_sent,
        received: totals.credits_received,
        wasted: totals.credits_wasted,
        dropped_at_host: totals.credits_dropped,
        dropped_on_way: ports
            .iter()
            .map(|port| port.dropped[credit] + port.lost[credit])
            .sum(),
        waste: share(totals.credits_wasted, totals.credits_received),
    }
}

fn packets(run: &RunRecord) -> Packets {
    Packets {
        data_sent: run.totals.data_sent,
        retransmitted: run.totals.retransmitted,
        duplicates: run.totals.duplicates,
        timeouts: run.totals.timeouts,
        nonsense: run.totals.nonsense,
        marked: run.ports.iter().map(|port| port.marked).sum(),
        copied: run.ports.iter().map(|port| port.copied.sum()).sum(),
    }
}

/// The time in which a run loads its links: from the first start to the last end, or to the last
/// event where something did not end. Timers that run out afterwards do not count.
pub fn active(run: &RunRecord) -> Option<(Time, Time)> {
    let started = || {
        run.flows
            .iter()
            .filter_map(|flow| Some((flow.start?, flow.end)))
    };
    let first = started().map(|(start, _)| start).min()?;
    let last = started().map(|(_, end)| end.unwrap_or(run.end)).max()?;
    (last > first).then_some((first, last))
}

/// How long [`active`] is.
pub fn active_span(run: &RunRecord) -> Span {
    active(run).map_or(Span::ZERO, |(first, last)| last.since(first))
}

fn slowest(run: &RunRecord, counted: &[&FlowRow]) -> Vec<Slow> {
    let mut slow: Vec<(&FlowRow, Figure<f64>, Figure<u64>)> = counted
        .iter()
        .filter_map(|flow| Some((*flow, slowdown(flow, run.end)?, fct(flow, run.end)?)))
        .collect();
    let slower = |a: &(&FlowRow, Figure<f64>, _), b: &(&FlowRow, Figure<f64>, _)| {
        let order = b.1.value.total_cmp(&a.1.value);
        order.then(a.0.message.cmp(&b.0.message))
    };
    if slow.len() > SLOWEST_MAX {
        slow.select_nth_unstable_by(SLOWEST_MAX, slower);
        slow.truncate(SLOWEST_MAX);
    }
    slow.sort_unstable_by(slower);
    slow.into_iter()
        .map(|(flow, slowdown, fct_ps)| Slow {
            message: flow.message,
            conn: flow.conn,
            src: flow.src,
            dst: flow.dst,
            from: run.host(flow.src),
            to: run.host(flow.dst),
            size: flow.size,
            start_ps: flow.start.unwrap_or(Time::ZERO).0,
            fct_ps,
            slowdown,
            tag: run
                .tags
                .get(usize::from(flow.tag))
                .cloned()
                .unwrap_or_default(),
        })
        .collect()
}

/// What transports call data that they drop at its receiver although it is missing there.
const NOT_KEPT: &str = "not_kept";

/// That a transport has dropped some.
fn not_kept(own: &OwnCounter) -> Option<String> {
    (own.name == NOT_KEPT && own.value > 0).then(|| {
        format!(
            "receivers of {} dropped {} of data that they lacked, because messages had too many gaps or a part of it was there \
             ({NOT_KEPT}): it leaves again; let less be lost or overtaken, or send shorter messages",
            own.transport,
            human::plural(own.value, "packet", "packets"),
        )
    })
}

/// Adds what can be seen in the numbers alone.
fn warn(summary: &mut Summary, run: &RunRecord) {
    let messages = summary.messages;
    let mut say = |text: String| summary.warnings.push(text);
    if let Err(what) = &run.conservation {
        say(format!(
            "packets are unaccounted for, trust nothing below: {what}"
        ));
    }
    match run.status {
        // Who knows what ended it has said so.
        Status::Complete | Status::Stuck | Status::Unfinished => {}
        Status::Interrupted => say(format!(
            "interrupted at {}: the results are partial",
            human::time(run.end.since(Time::ZERO))
        )),
    }
    if let Some(outside) = outside(run, messages.counted) {
        say(outside);
    }
    let late = summary.sizes[0].unfinished;
    if late > 0 {
        say(format!(
            "{} of {} counted messages did not finish; they enter every figure marked >= with \
             the time that they have taken so far",
            human::count(late),
            human::count(messages.counted)
        ));
    }
    let cut = matches!(run.status, Status::Complete | Status::Unfinished);
    if cut && messages.not_started > 0 && messages.counted > 0 {
        say(format!(
            "{} of {} messages had not started when the run ended, and are in no figure: a later run.until \
             counts them",
            human::count(messages.not_started),
            human::count(messages.total)
        ));
    }
    let early = run
        .flows
        .iter()
        .filter(|flow| counts(flow, &run.window))
        .filter(|flow| {
            fct(flow, run.end).is_some_and(|took| !took.at_least && took.value < flow.ideal.0)
        });
    let early = early.count() as u64;
    if early > 0 {
        say(format!(
            "{} finished faster than an idle network allows: run.fct counts from a later moment than \
             the first, or links that were down led them over more links that are faster",
            human::plural(early, "message", "messages")
        ));
    }
    if let Some(growth) = backlog::growth(&run.flows, &run.window, run.end) {
        say(growth.to_string());
        summary.backlog_grew = true;
    }
    let dropped: Vec<String> = summary.counters.iter().filter_map(not_kept).collect();
    summary.warnings.extend(dropped);
}
