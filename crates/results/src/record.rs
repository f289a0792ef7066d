//! What a run hands over to be tabled: plain rows that say nothing of how they came about.

use crate::ground::Ground;
use crate::series::PortSeries;
use crate::trace::{PauseRow, Why};
use model::{ByClass, ByReason, Encap, HostCounts, Totals};
use std::ops::Range;
use units::{Bytes, Rate, Span, Time};

/// Everything known about one run that is a pure function of its resolved scenario.
///
/// Wall time, host and version are not: they are a [`crate::Meta`].
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Short name of the scenario: `incast`.
    pub scenario: String,
    /// The scenario in a few words: `64 -> 1, 64 KB each, 100 Gb/s, leaf-spine, 8 leaves x 16 hosts`.
    pub title: String,
    /// The transport's composed name: `expresspass+aeolus`.
    pub transport: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Hash over what happened.
    pub fingerprint: u64,
    /// Hash over the messages that were asked for, whatever became of them.
    pub messages_hash: u64,
    /// What this run sets differently from its siblings in a comparison, as `(key, value)` in the
    /// order given: `("workload.load", "0.6")`. Empty for a single run.
    pub settings: Vec<(String, String)>,
    /// The resolved scenario, every default filled in.
    pub scenario_toml: String,
    /// The command that repeats this run.
    pub command: String,
    /// Whether it came to its end.
    pub status: Status,
    /// What the user should know before trusting the numbers, one sentence each.
    pub warnings: Vec<String>,
    /// Measurement window: messages count by their start time, `start <= t < end`. What lies
    /// before it is warm-up, what lies after it is drain.
    pub window: Range<Time>,
    /// Bytes of each message, by number, that receivers accepted inside it; none where it is the whole run.
    pub received_inside: Option<Vec<u64>>,
    /// When the last thing happened.
    pub end: Time,
    /// Packets delivered over links.
    pub hops: u64,
    /// Frame sizes.
    pub encap: Encap,
    /// What follows from the scenario before anything runs.
    pub derived: Derived,
    /// Names of the message tags, by number.
    pub tags: Vec<String>,
    /// Names of the transports, by number: the run's own, then those beside it.
    pub transports: Vec<String>,
    /// What its transports call a credit, with a slash between where they differ: `grant`, `grant/pull`.
    pub credit: String,
    /// Names of the hosts, by number; empty where they are h0, h1 and so on.
    pub hosts: Vec<String>,
    /// One row per message, by message number.
    pub flows: Vec<FlowRow>,
    /// One row per link, by link number.
    pub ports: Vec<PortRow>,
    /// What ports counted in a window of time, where one was asked for.
    pub counted: Option<Counted>,
    /// Samples of ports.
    pub port_series: PortSeries,
    /// Samples of connections, by (time, connection).
    pub flow_series: Vec<FlowSeriesRow>,
    /// The most that the memories of switches held, by switch and part, where somebody asked.
    pub memory: Vec<MemoryRow>,
    /// The flow control of its switches, where they have one.
    pub flow_control: Option<FlowControl>,
    /// Sums over all hosts.
    pub totals: Totals,
    /// What each transport of each host counted, by host and transport.
    pub counts: Vec<HostCounts>,
    /// Flows that did not finish, named; there may be more than are listed here.
    pub stuck: Vec<StuckRow>,
    /// What does not add up, where packets went missing unaccounted.
    pub conservation: Result<(), String>,
    /// Ways of messages, where a report asked for them: of [`RunRecord::longest`], as far as it has room.
    pub ways: Vec<Way>,
    /// Where the time of the slowest messages went, the slowest first; empty unless asked for.
    pub why: Vec<Why>,
    /// Who stood still for whose sake, where somebody looked.
    pub pauses: Vec<PauseRow>,
}

/// What rows name by number.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// [`RunRecord::tags`].
    pub tags: &'a [String],
    /// [`RunRecord::transports`].
    pub transports: &'a [String],
    /// [`RunRecord::hosts`].
    pub hosts: &'a [String],
}

impl<'a> Names<'a> {
    /// The tag of a message; empty where it has none.
    pub fn tag(&self, row: &FlowRow) -> &'a str {
        let name = self.tags.get(usize::from(row.tag));
        name.map_or("", String::as_str)
    }

    /// The transport of a message.
    pub fn transport(&self, row: &FlowRow) -> &'a str {
        let name = self.transports.get(usize::from(row.transport));
        name.map_or("", String::as_str)
    }
}

impl RunRecord {
    /// The name of a host.
    pub fn host(&self, number: u32) -> String {
        let name = self.hosts.get(number as usize);
        name.map_or_else(|| format!("h{number}"), Clone::clone)
    }

    /// The messages that took longest, and how long; so far, where they did not end. The longest first,
    /// 1,000 of them.
    pub fn longest(&self) -> Vec<(u64, &FlowRow)> {
        let started = self
            .flows
            .iter()
            .filter_map(|flow| Some((flow.start?, flow)));
        let took = |(start, flow): (Time, &FlowRow)| {
            flow.end.unwrap_or(self.end).0.saturating_sub(start.0)
        };
        let mut all: Vec<_> = started.map(|of| (took(of), of.1)).collect();
        let order = |&(took, flow): &(u64, &FlowRow)| (std::cmp::Reverse(took), flow.message);
        if all.len() > LONGEST_MAX {
            all.select_nth_unstable_by_key(LONGEST_MAX, order);
            all.truncate(LONGEST_MAX);
        }
        all.sort_unstable_by_key(order);
        all
    }

    /// What the transport of this number counted on all hosts.
    pub fn totals_of(&self, transport: u8) -> Totals {
        let mut sum = Totals::default();
        let of = self.counts.iter().filter(|of| of.transport == transport);
        of.for_each(|of| sum += of.totals);
        sum
    }

    /// What its rows name by number.
    pub fn names(&self) -> Names<'_> {
        Names {
            tags: &self.tags,
            transports: &self.transports,
            hosts: &self.hosts,
        }
    }
}

/// Messages that a report lists at their hosts and lines. [ours]
const LONGEST_MAX: usize = 1_000;

/// Where the data of a message crosses the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Its number.
    pub message: u32,
    /// Links from switch to switch.
    pub links: Vec<u32>,
    /// Its packets are spread: these are the links of all shortest ways, and each packet crosses some of them.
    pub spread: bool,
}

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every message finished, or the run reached the end that the scenario set for it.
    Complete,
    /// The user stopped it: the results are partial.
    Interrupted,
    /// Messages remain although nothing can happen any more, a circle of pauses stands at the end, or links that no fault
    /// brings back have left a message that began no way.
    Stuck,
    /// Messages remain at the end of a run that its scenario did not bound: more time might help.
    Unfinished,
}

impl RunRecord {
    /// Its fingerprint in 16 hexadecimal digits; a part of a run has none.
    pub fn print(&self) -> String {
        match self.status {
            Status::Interrupted => "none".into(),
            Status::Complete | Status::Stuck | Status::Unfinished => {
                format!("{:016x}", self.fingerprint)
            }
        }
    }
}

impl Status {
    /// The name in `summary.json` and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Stuck => "stuck",
            Self::Unfinished => "unfinished",
        }
    }
}

/// What follows from the scenario before anything runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// Hosts.
    pub hosts: u32,
    /// Switches.
    pub switches: u32,
    /// Rate of a host's link; the fastest where they differ.
    pub host_rate: Rate,
    /// Longest round trip of an idle network, frames included.
    pub base_rtt: Span,
    /// The same without frames: propagation and fixed latencies alone.
    pub propagation_rtt: Span,
    /// Bandwidth-delay product, in wire bytes: what a host's link carries from a request to its answer.
    pub bdp: Bytes,
    /// Derived values for people, as `(name, value with unit)`, also of what only the scenario
    /// knows: credit rate, queue bounds. Where there are any, reports show them instead of the
    /// fields above.
    pub more: Vec<(String, String)>,
    /// What its figures rest on.
    pub ground: Ground,
}

/// What ports counted in a window of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// From its first moment on and before its last.
    pub window: Range<Time>,
    /// One per link, with the counters of the window.
    pub ports: Vec<PortRow>,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Its number in the traffic.
    pub message: u32,
    /// Its connection.
    pub conn: u32,
    /// The host that sends it.
    pub src: u32,
    /// The host that receives it.
    pub dst: u32,
    /// Bytes; less than asked where the message was stopped.
    pub size: u64,
    /// When the sender was told to send; `None` where what it waits for never came.
    pub start: Option<Time>,
    /// When it counts as finished, by the definition that the scenario chose.
    pub end: Option<Time>,
    /// When the receiver heard that the sender was done. [xpass artefact]
    pub stopped: Option<Time>,
    /// Time it would take in an idle network: store and forward over all shortest ways together.
    pub ideal: Span,
    /// Bytes the receiver had when the run ended, as far as known: `size` where finished.
    pub received: u64,
    /// Index into [`RunRecord::tags`].
    pub tag: u16,
    /// Index into [`RunRecord::transports`].
    pub transport: u8,
    /// The scenario gives it a time to stop, so how long it took says nothing: it counts for
    /// goodput and fairness, not for completion times.
    pub timed: bool,
}

/// The flow control of a run, and what it has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowControl {
    /// Its name.
    pub name: String,
    /// What it counts, by name, over all switches.
    pub counts: Vec<(String, u64)>,
}

/// One link's egress port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRow {
    /// The link's number.
    pub link: u32,
    /// Name of the node that sends: `tor0`.
    pub from: String,
    /// Name of the node that receives: `h3`.
    pub to: String,
    /// Tier of the sending node: host 0, `ToR` 1, aggregation 2, core 3.
    pub from_tier: u8,
    /// Tier of the receiving node.
    pub to_tier: u8,
    /// Rate of the link.
    pub rate: Rate,
    /// Packets put on the line, by class: those whose first bit is on it.
    pub packets: ByClass<u64>,
    /// Bytes of these, by class.
    pub bytes: ByClass<u64>,
    /// How long what was put on the line before still took it.
    pub ahead: Span,
    /// How long the last of them takes it afterwards.
    pub rest: Span,
    /// Packets dropped at the port, by class.
    pub dropped: ByClass<u64>,
    /// Packets dropped at the port, by reason.
    pub drop_reasons: ByReason<u64>,
    /// Packets dropped at the port, by priority. One without a way or a hop left counts for the link by which it came, in
    /// the two above alone.
    pub drop_priorities: [u64; 8],
    /// Packets lost to a fault on the line, by class.
    pub lost: ByClass<u64>,
    /// Copies that a fault added, by class.
    pub copied: ByClass<u64>,
    /// Packets that left marked.
    pub marked: u64,
    /// Most bytes of data that waited at once; with what was left of the frame on the line where
    /// the port is a plain FIFO, without it at every other port.
    pub queue_max: u64,
    /// Most credits that waited at once.
    pub credits_max: u32,
    /// Pauses that its switch has asked of the neighbour on this link.
    pub pauses: u64,
    /// How long at least one of its gates was closed, by pauses of the neighbour.
    pub paused: Span,
    /// The longest that one of them was.
    pub pause_longest: Span,
    /// Most bytes of headroom that one priority of what came from the neighbour used at once.
    pub headroom_max: u64,
    /// Most bytes of packets that carry data that were there at once, with what was left of one on the line; none
    /// where nobody asked, and where a host sends.
    pub data_max: Option<u64>,
}

impl PortRow {
    /// The port's name in tables: `tor0 -> h3`.
    pub fn name(&self) -> String {
        format!("{} -> {}", self.from, self.to)
    }

    /// Whether a host sends on it: its queue is the host's own.
    pub const fn of_host(&self) -> bool {
        self.from_tier == 0
    }
}

/// What a part of a switch's memory held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    /// The switch.
    pub node: String,
    /// The link of the port; none for the whole switch.
    pub link: Option<u32>,
    /// The node at the other end of it; empty for the whole switch.
    pub neighbour: String,
    /// Which part.
    pub part: MemoryPart,
    /// The number of the priority or the queue, where it is of one.
    pub number: Option<u8>,
    /// Most bytes that it held at once.
    pub most: u64,
}

/// A part of a switch's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPart {
    /// All of it.
    Switch,
    /// What came from a neighbour.
    Came,
    /// What came from it at one priority.
    CameAtPriority,
    /// Of that, what lay in headroom.
    Headroom,
    /// What waited for a line.
    Waits,
    /// What waited for it at one priority.
    WaitsAtPriority,
    /// What waited in one queue of it.
    Queue,
}

impl MemoryPart {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Came => "came",
            Self::CameAtPriority => "came at priority",
            Self::Headroom => "headroom",
            Self::Waits => "waits",
            Self::WaitsAtPriority => "waits at priority",
            Self::Queue => "queue",
        }
    }
}

/// One sample of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSeriesRow {
    /// The moment.
    pub at: Time,
    /// The port's link.
    pub link: u32,
    /// Bytes of data waiting, counted as `queue_max` counts them; with those in a background or
    /// legacy queue, which `queue_max` leaves out because nothing bounds them.
    pub queue: u64,
    /// Credits waiting.
    pub credits: u32,
    /// Bytes whose transmission was decided since the run began, by class.
    pub sent: ByClass<u64>,
    /// Packets marked since the run began.
    pub marked: u64,
    /// Packets dropped at the port since the run began, by class.
    pub dropped: ByClass<u64>,
}

impl PortSeriesRow {
    /// Whether it says of its port what `other` does, at whatever moment.
    #[inline]
    pub(crate) fn says_what(&self, other: &Self) -> bool {
        // Bit by bit, without a call for each list.
        let apart = |a: &ByClass<u64>, b: &ByClass<u64>| {
            let (a, b) = (a.as_slice(), b.as_slice());
            let mut apart = 0;
            for class in 0..a.len().min(b.len()) {
                apart |= a[class] ^ b[class];
            }
            apart
        };
        let waits = (self.queue ^ other.queue) | u64::from(self.credits ^ other.credits);
        let sent = apart(&self.sent, &other.sent) | (self.marked ^ other.marked);
        waits | sent | apart(&self.dropped, &other.dropped) == 0
    }
}

/// Received bytes of one connection up to one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSeriesRow {
    /// The moment.
    pub at: Time,
    /// The connection.
    pub conn: u32,
    /// Bytes accepted by the receivers of the connection since the run began.
    pub received: u64,
}

/// One flow that did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckRow {
    /// The host that reports it.
    pub host: u32,
    /// The connection.
    pub conn: u32,
    /// Its role and state, in the transport's words.
    pub state: String,
    /// What it waits for.
    pub waits_for: String,
}

impl RunRecord {
    /// Panics where the record contradicts itself: that is a mistake of who filled it in.
    pub fn check(&self) {
        for (i, flow) in self.flows.iter().enumerate() {
            assert_eq!(
                flow.message as usize, i,
                "flows are in the order of their numbers"
            );
            assert!(flow.ideal > Span::ZERO, "message {i} has no ideal time");
            assert!(
                usize::from(flow.tag) < self.tags.len().max(1),
                "message {i} has no tag"
            );
            assert!(
                flow.received <= flow.size,
                "message {i} received more than was sent"
            );
            if let Some(end) = flow.end {
                let start = flow.start.expect("what ended had started");
                assert!(start <= end, "message {i} ended before it started");
            }
        }
        for (i, port) in self.ports.iter().enumerate() {
            assert_eq!(
                port.link as usize, i,
                "ports are in the order of their links"
            );
            assert!(port.rate > Rate(0), "link {i} has no rate");
        }
        assert!(
            self.window.start <= self.window.end,
            "the window ends before it starts"
        );
        let links = self.ports.len();
        assert!(
            self.port_series.links().all(|link| (link as usize) < links),
            "unknown link"
        );
        assert!(
            self.flow_series.is_sorted_by_key(|row| (row.at, row.conn)),
            "samples in order"
        );
    }
}
