//! What a run takes and what it gives.

use crate::node::Kind;
use crate::promised::{OnLinks, Promised, less};
use crate::tally::Tally;
use crate::waits::Locked;
use model::intent::{PortSpec, SwitchSpec};
use model::{
    ByClass, ByReason, Class, Encap, Endpoint, EndpointConfig, HostCounts, StuckFlow, Totals,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use switching::{FlowControl, Peak, Port};
use topology::{LinkId, NodeId, NodeKind, Routes, Topology};
use units::{Span, Time};
use workload::Traffic;

/// Makes the endpoint of one host.
pub type MakeEndpoint<'a> = dyn Fn(&EndpointConfig) -> Box<dyn Endpoint> + 'a;

/// Makes the flow control of a switch from its place in the fabric.
pub type MakeControl<'a> = dyn Fn(&Topology, NodeId) -> Option<Box<dyn FlowControl>> + 'a;

/// Everything that determines a run. A run is a pure function of it, `threads` left aside.
pub struct Setup<'a> {
    /// Nodes and links.
    pub topology: Topology,
    /// Its shortest paths while every cable works.
    pub routes: Arc<Routes>,
    /// Connections and messages.
    pub traffic: Traffic,
    /// What each link's egress port does, one per link. Those of hosts' links are ignored unless
    /// `host_queues` is set.
    pub ports: Vec<Arc<PortSpec>>,
    /// A first-in first-out queue lies between every endpoint and its line, which marks and drops by its
    /// link's port; otherwise the endpoint chooses what leaves whenever the line is idle.
    pub host_queues: bool,
    /// Makes the transport of each host.
    pub make: &'a MakeEndpoint<'a>,
    /// Frame sizes.
    pub encap: Encap,
    /// Round trip of the longest path with nothing in the way: a full frame there, the smallest back.
    pub base_rtt: Span,
    /// The same with the smallest frames both ways.
    pub control_rtt: Span,
    /// What every switch does, beside its ports.
    pub switch: SwitchSpec,
    /// Makes the flow control of a switch, by its node's number; none where links are not controlled.
    pub control: Option<&'a MakeControl<'a>>,
    /// Records travel beside packets, or tags of links: every hop then costs more.
    pub carries: bool,
    /// What breaks, and when.
    pub faults: Vec<Fault>,
    /// What to sample while running.
    pub probes: Probes,
    /// Seed of every random stream.
    pub seed: u64,
    /// The run ends here, finished or not.
    pub until: Time,
    /// Threads; the results do not depend on it.
    pub threads: u16,
    /// Pass packets through an idle port without queueing; false only to test that it is exact.
    pub pass: bool,
    /// Commit the ports of every node in time order; true only to test that it is exact.
    pub ordered: bool,
    /// Hash every arrival at every node, for comparisons with the event queue.
    pub digest: bool,
}

impl Setup<'_> {
    /// Ports that are sampled, by link: with their node and their number there. Every port of every
    /// switch, or those that are chosen, lines of hosts among them.
    pub(crate) fn probed(&self) -> Vec<(LinkId, u32, u16)> {
        if self.probes.every.is_none() {
            return Vec::new();
        }
        let chosen: BTreeSet<LinkId> = self.probes.links.iter().copied().collect();
        let nodes = (0u32..).zip(&self.topology.nodes);
        let mut ports: Vec<_> = nodes
            .filter(|(_, node)| node.kind == NodeKind::Switch || !chosen.is_empty())
            .flat_map(|(number, node)| {
                let ports = (0u16..).zip(&node.ports);
                ports.map(move |(port, &link)| (link, number, port))
            })
            .filter(|(link, ..)| chosen.is_empty() || chosen.contains(link))
            .collect();
        ports.sort_unstable();
        ports
    }
}

/// What is sampled, and how often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    /// Time between two samples; `None` samples nothing.
    pub every: Option<Span>,
    /// Sample only these links, those of hosts included; empty means every link that leaves a switch.
    pub links: Vec<LinkId>,
    /// Also record received bytes per message and sample, for flow timelines.
    pub flows: bool,
    /// Also count what ports do from the first of these moments on and before the second.
    pub window: Option<Range<Time>>,
    /// Also count the bytes that receivers accept, sampled or not.
    pub accepted: bool,
    /// Of these, also note how many there were before the first of these moments, and before the second.
    pub received: Option<Range<Time>>,
    /// Also find the largest queue of data at each port, without control packets.
    pub data_queues: bool,
    /// Also find the most that the memory of each switch with a flow control holds, by port, priority and queue.
    pub memory: bool,
}

/// Something that breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The link, one direction.
    pub link: LinkId,
    /// From when.
    pub from: Time,
    /// Until when (exclusive).
    pub until: Time,
    /// What happens to frames.
    pub kind: FaultKind,
}

/// What happens to frames on a faulty link. Chances are in 10^-9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Every frame on the link is lost; routing leaves both directions out after `detect`.
    Down {
        /// From the failure until no switch uses the link any more.
        detect: Span,
    },
    /// Lost, with this chance; `only` restricts it to one class.
    Loss {
        /// Chance in 10^-9.
        ppb: u32,
        /// The class that is hit.
        only: Option<Class>,
        /// So many frames at most; any number where that is `None`.
        most: Option<u64>,
    },
    /// Damaged and dropped by the next node, with this chance.
    Corrupt {
        /// Chance in 10^-9.
        ppb: u32,
    },
    /// Delivered twice, with this chance; the copy comes 1 ps later.
    Duplicate {
        /// Chance in 10^-9.
        ppb: u32,
    },
    /// Held back for up to `by`, with this chance.
    Reorder {
        /// Chance in 10^-9.
        ppb: u32,
        /// Longest delay.
        by: Span,
    },
}

/// One message's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageResult {
    /// When the sender was told to send; `None` where what it waits for never came.
    pub start: Option<Time>,
    /// When the receiver had the last byte.
    pub end: Option<Time>,
    /// When its sender had nothing more to do for it, on a lasting connection.
    pub done: Option<Time>,
    /// When the receiver heard that the sender was done. [xpass artefact]
    pub stopped: Option<Time>,
    /// When the sender last asked for credits again after a stop that came too early.
    pub asked_again: Option<Time>,
    /// Bytes; less than asked where the message was stopped.
    pub size: u64,
}

/// Counters of one link's egress port, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets put on the line: those whose first bit is on it.
    pub packets: ByClass<u64>,
    /// Bytes of these.
    pub bytes: ByClass<u64>,
    /// When the line is idle again after the last of them.
    pub busy_until: Time,
    /// The same of what was put on it before the window of time that these counters are of.
    pub busy_before: Time,
    /// Packets dropped at the port, by class.
    pub dropped: ByClass<u64>,
    /// Packets dropped at the port, by reason.
    pub drop_reasons: ByReason<u64>,
    /// Packets dropped at the port, by priority.
    pub drop_priorities: [u64; 8],
    /// Packets lost to a fault on the line, by class.
    pub lost: ByClass<u64>,
    /// Copies that a fault added, by class.
    pub copied: ByClass<u64>,
    /// Packets that left marked.
    pub marked: u64,
    /// Most bytes of data that waited at once in the port's buffer, with what was left of the frame on
    /// the line.
    pub queue_max: u64,
    /// Most credits that waited at once.
    pub credits_max: u32,
    /// Pauses that its switch has asked of the neighbour on this link.
    pub pauses: u64,
    /// How long at least one of its gates was closed.
    pub paused: Span,
    /// The longest that one of them was.
    pub pause_longest: Span,
    /// Most bytes of headroom that one priority of what came in by this port used at once.
    pub headroom_max: u64,
    /// Most bytes of packets that carry data that were there at once, with what was left of one on the line;
    /// none where nobody asked, where a host sends, and in a window of time.
    pub data_max: Option<u64>,
}

impl PortCounters {
    /// What was counted after `before`. The greatest queues stay: they are of the time since they were
    /// forgotten. So does the longest pause, of all the time.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let by_class = |of: fn(&Self) -> &ByClass<u64>| {
            ByClass::from_fn(|class| of(self)[class] - of(before)[class])
        };
        Self {
            packets: by_class(|port| &port.packets),
            bytes: by_class(|port| &port.bytes),
            busy_before: before.busy_until,
            dropped: by_class(|port| &port.dropped),
            drop_reasons: ByReason::from_fn(|why| {
                self.drop_reasons[why] - before.drop_reasons[why]
            }),
            drop_priorities: std::array::from_fn(|priority| {
                self.drop_priorities[priority] - before.drop_priorities[priority]
            }),
            lost: by_class(|port| &port.lost),
            copied: by_class(|port| &port.copied),
            marked: self.marked - before.marked,
            pauses: self.pauses - before.pauses,
            paused: Span(self.paused.0 - before.paused.0),
            ..*self
        }
    }
}

/// One sample of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSample {
    /// The moment.
    pub at: Time,
    /// The port's link.
    pub link: LinkId,
    /// Bytes of data waiting, counted as `queue_max` counts them; with those in a background or
    /// legacy queue, which `queue_max` leaves out because nothing bounds them.
    pub queue: u64,
    /// Credits waiting.
    pub credits: u32,
    /// Bytes of packets whose first bit was on the line, since the run began, by class.
    pub sent: ByClass<u64>,
    /// Packets marked since the run began.
    pub marked: u64,
    /// Packets dropped at the port since the run began, by class.
    pub dropped: ByClass<u64>,
}

impl PortSample {
    /// What the port of that number at a node says of its `link` at `at`.
    pub(crate) fn at(node: &Kind, port: u16, at: Time, link: LinkId, links: &dyn OnLinks) -> Self {
        match node {
            Kind::Switch(node) => Self::of(&node.switch.ports[usize::from(port)], at, link, links),
            Kind::Host(host) => host.sample(at, link, links),
        }
    }

    /// What `port` says of its `link` at `at`.
    pub(crate) fn of(port: &Port, at: Time, link: LinkId, links: &dyn OnLinks) -> Self {
        let waits = port.backlog(at);
        let mut sent = port.sent_bytes();
        if let Some(promised) = Promised::of(port, at.after(Span(1)), links) {
            sent = less(&sent, &promised.sent.bytes());
        }
        Self {
            at,
            link,
            queue: waits.data_bytes,
            credits: waits.credits,
            sent,
            marked: port.marked(),
            dropped: port.dropped(),
        }
    }
}

/// Received bytes of one message up to one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// The moment.
    pub at: Time,
    /// The connection.
    pub conn: u32,
    /// Bytes accepted by its receivers since the run began.
    pub received: u64,
}

impl FlowSample {
    /// Makes one of those of both ends of a connection, and brings all of a moment in the order of connections.
    pub(crate) fn add_up(all: &mut Vec<Self>) {
        all.sort_unstable_by_key(|sample| sample.conn);
        all.dedup_by(|next, sum| {
            let same = next.conn == sum.conn;
            sum.received += if same { next.received } else { 0 };
            same
        });
    }
}

/// A message that ended, as it is streamed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its number in the traffic.
    pub message: u32,
    /// When the receiver had the last byte.
    pub end: Time,
}

/// Watches a run. Called by one thread, between windows, in an order that threads do not change: of messages that ended, then
/// of samples, and of how far the run is at last.
pub trait Observer {
    /// How far the run is: packet-hops and messages that ended so far, messages under way now.
    /// Return false to stop it here.
    fn progress(&mut self, now: Time, hops: u64, done: u64, active: u64) -> bool;
    /// Whether it is to be told of credits that hosts drop, which take time and cross no link.
    fn wants_refused(&self) -> bool {
        false
    }
    /// So many of them so far, before each [`Observer::progress`].
    fn refused(&mut self, credits: u64) {
        let _ = credits;
    }
    /// Messages that ended since the last call, by (time, message).
    fn completed(&mut self, batch: &[Completion]);
    /// Time between two samples from now on, where it was `every`: the same or a multiple. None where no further one is of
    /// use.
    fn sampled_every(&self, every: Span) -> Option<Span> {
        Some(every)
    }
    /// Port samples since the last call, by (time, link).
    fn ports(&mut self, batch: &[PortSample]);
    /// Flow samples since the last call, by (time, connection).
    fn flows(&mut self, batch: &[FlowSample]);
    /// Ports have waited for each other in a circle for a while: told once in a run, when that is found.
    fn locked(&mut self, locked: &Locked) {
        let _ = locked;
    }
}

/// An observer that looks away.
pub struct Blind;
impl Observer for Blind {
    fn progress(&mut self, _: Time, _: u64, _: u64, _: u64) -> bool {
        true
    }
    fn completed(&mut self, _: &[Completion]) {}
    fn ports(&mut self, _: &[PortSample]) {}
    fn flows(&mut self, _: &[FlowSample]) {}
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One per message of the traffic.
    pub messages: Vec<MessageResult>,
    /// One per link.
    pub ports: Tally,
    /// The same of [`Probes::window`] alone; empty where there is none.
    pub counted: Tally,
    /// Sums over all hosts.
    pub totals: Totals,
    /// What each transport of each host counted, by host and transport.
    pub hosts: Vec<HostCounts>,
    /// Unfinished flows, with host, by host and connection; at most [`STUCK_MAX`].
    pub stuck: Vec<(u32, StuckFlow)>,
    /// Messages that did not finish.
    pub unfinished: u64,
    /// Messages that have not ended, begun or not, of connections that a host refused, or gave up, while a message was
    /// under way: they never will.
    pub refused: u64,
    /// Every packet is accounted for; otherwise what does not add up.
    pub conservation: Result<(), String>,
    /// Hash over messages and port counters: the same on every machine and any thread count.
    pub fingerprint: u64,
    /// Hash over every arrival at every node, where the setup asks for it.
    pub digest: u64,
    /// Packets delivered over links.
    pub hops: u64,
    /// Node-windows processed.
    pub node_windows: u64,
    /// When the last thing happened.
    pub end: Time,
    /// Whether the observer stopped it.
    pub interrupted: bool,
    /// Whether it ended by itself: no packet is under way, and nobody waits for a moment or, where all
    /// messages have ended, for none but that of forgetting.
    pub idle: bool,
    /// At the end: ports that wait for each other in a circle, because of pauses; empty where none do.
    pub deadlock: Vec<LinkId>,
    /// Such circles with their times: the first that was found while the run went on, which may have been opened since,
    /// and that of the end where it is another.
    pub locked: Vec<Locked>,
    /// At the end, where there is no such circle: one of gates that were shut for less long than tells whether it opens by
    /// itself, and for longer than news is under way.
    pub suspected: Option<Locked>,
    /// At the end: ports at which gates hold packets back.
    pub held: Vec<LinkId>,
    /// Pauses of flows that hosts did not heed because they knew too many others.
    pub ignored: u64,
    /// What flow controls have counted, by name, over all switches.
    pub counts: BTreeMap<&'static str, u64>,
    /// The most that the memory of each switch held, by node, where somebody asked.
    pub memory: Vec<(NodeId, Peak)>,
    /// Bytes accepted, by connection and receiving host, where somebody counted them; without those forgotten.
    pub accepted: BTreeMap<(u32, u32), u64>,
    /// Bytes that receivers had accepted of messages that they gave up and forgot.
    pub forgotten: u64,
    /// The same before each of [`Probes::received`].
    pub edges: Option<[BTreeMap<(u32, u32), u64>; 2]>,
}

/// Stuck flows that are named; the rest is counted.
pub const STUCK_MAX: usize = 1000;
