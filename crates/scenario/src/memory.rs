//! How much memory a run takes, told before it is taken.

use crate::collector::SAMPLES_MAX;
use crate::diagnostic::Diagnostic;
use crate::network;
use crate::resolve::Scenario;
use crate::section::Section;
use crate::settings::{Source, Workload};
use crate::typed::Settings;
use crate::why::{HOPS_AGAIN_MAX, HOPS_KEPT_MAX};
use model::intent::PortSpec;
use results::human;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use topology::{ROUTES_MAX, Size, Spec};
use units::{Bytes, Rate, Span, Time};

// Of a run of `tidegate run` with its tables and its report, in bytes: `time -f %M` over stars of 20,000
// hosts, fat trees of k = 16, 32 and 64, incasts of 50,000 messages, 65,280 at once, up to a million short messages, the
// built-in scenarios, and longer ones that `run.until` cuts, under ExpressPass, DCTCP, NDP and Homa. docs/performance.md
// has what came out. [ours]
/// The program itself.
const BASE: u64 = 11 << 20;
/// A link with its port, the packets on it, its share of a node, and its row in every table.
const PER_LINK: u64 = 1_400;
/// A host: its transport, its row in every table; and what comes to that where it sends or receives anything.
const PER_HOST: u64 = 1_000;
const PER_BUSY: u64 = 2_600;
/// What a port that sees a packet holds beside that: where it shapes credits, where it has other queues than one, where these
/// have numbers, and where switches have a flow control. [ours: the same of a permutation of 200 KB over fat trees of k = 16
/// and 24 under nine transports, and under five flow controls]
const CREDITS: u64 = 1_700;
const QUEUES: u64 = 3_000;
const NUMBERED: u64 = 4_200;
const CONTROLLED: u64 = 1_800;
/// An entry of the routing table.
const PER_ROUTE: u64 = 4;
/// A message: in the traffic, in the simulator's book, at its hosts and in the results.
const PER_MESSAGE: u64 = 540;
/// A tag: its figures in the summary, and the text that these are written as.
const PER_TAG: u64 = 800;
/// What comes to a message while it is under way.
const PER_OPEN: u64 = 800;
/// A sample of a port that says something new, as a row, and what its tables take in the end.
const PER_ROW: u64 = 136;
const PER_SAMPLE: u64 = 74;
/// A packet-hop of a run that is short enough to keep what it saw, for its slowest messages to be explained: noted, sorted
/// and brought together.
const PER_EVENT: u64 = 115;
/// One of a message that a run under a flow control explains, running it again: noted, followed from queue to queue, and shown.
const PER_EXPLAINED: u64 = 320;
/// One of a run that began to note them and became too long.
const PER_NOTED: u64 = 34;

/// What a run will hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Hosts, and those of them that send or receive.
    pub(crate) hosts: u64,
    pub(crate) busy: u64,
    /// Links, one for each direction of a cable.
    pub(crate) links: u64,
    /// Bytes of ports that see a packet, beyond what every one holds.
    pub(crate) ports: u64,
    /// Entries of the routing table.
    pub(crate) routes: u64,
    /// Messages, and most of them that are under way at once.
    pub(crate) messages: u64,
    pub(crate) open: u64,
    /// Tags of messages.
    pub(crate) tags: u64,
    /// Samples of ports that say something new: most that were there at once, and those that are kept.
    pub(crate) rows: u64,
    pub(crate) samples: u64,
    /// Packet-hops that are kept.
    pub(crate) events: u64,
    /// Those of a second run.
    pub(crate) explained: u64,
    /// Packet-hops that are noted, and given up when there are too many.
    pub(crate) noted: u64,
}

impl Need {
    /// A network, without traffic.
    pub(crate) fn of(size: Size) -> Self {
        Self {
            hosts: size.hosts,
            links: size.cables.saturating_mul(2),
            routes: size.routes,
            ..Self::default()
        }
    }

    /// All of it, in three digits, rounded up: what is printed of it is what a limit is compared with.
    pub(crate) fn bytes(self) -> Bytes {
        let parts = [
            (self.hosts, PER_HOST),
            (self.busy, PER_BUSY),
            (self.links, PER_LINK),
            (self.ports, 1),
            (self.routes, PER_ROUTE),
            (self.messages, PER_MESSAGE),
            (self.open, PER_OPEN),
            (self.tags, PER_TAG),
            (self.rows, PER_ROW),
            (self.samples, PER_SAMPLE),
            (self.events, PER_EVENT),
            (self.explained, PER_EXPLAINED),
            (self.noted, PER_NOTED),
        ];
        let sum = parts.into_iter().fold(BASE, |sum, (count, each)| {
            sum.saturating_add(count.saturating_mul(each))
        });
        let step = 10_u64.pow(sum.ilog10().saturating_sub(2));
        Bytes(sum.checked_next_multiple_of(step).unwrap_or(u64::MAX))
    }

    /// The most that a run of `scenario` may turn out to hold of which no more is known than its network and its messages.
    pub(crate) fn at_most(self, scenario: &Scenario) -> Self {
        let controlled = scenario.control.is_some();
        // A rate is as good as another.
        let port = network::port(scenario, Rate::gbps(100), scenario.encap);
        let port = port.map_or(0, |port| of_port(&port, controlled)); // an error is said when it is built
        Self {
            busy: self.hosts,
            ports: self.links.saturating_mul(port),
            open: self.messages.saturating_mul(2),
            rows: SAMPLES_MAX as u64,
            samples: SAMPLES_MAX as u64,
            events: if controlled { 0 } else { HOPS_KEPT_MAX },
            explained: if controlled { HOPS_AGAIN_MAX } else { 0 },
            noted: 0,
            ..self
        }
    }

    /// What most of it is for, and how many there are of that.
    fn mostly(self) -> (Mostly, u64) {
        let of = |parts: &[(u64, u64)]| -> u64 {
            let bytes = parts
                .iter()
                .map(|&(count, each)| count.saturating_mul(each));
            bytes.fold(0, u64::saturating_add)
        };
        let messages = [
            (self.messages, PER_MESSAGE),
            (self.open, PER_OPEN),
            (self.tags, PER_TAG),
        ];
        let samples = [(self.rows, PER_ROW), (self.samples, PER_SAMPLE)];
        let kept = [
            (self.events, PER_EVENT),
            (self.explained, PER_EXPLAINED),
            (self.noted, PER_NOTED),
        ];
        let network = [
            (self.links, PER_LINK),
            (self.ports, 1),
            (self.hosts, PER_HOST),
        ];
        let routes = [(self.routes, PER_ROUTE)];
        let parts = [
            (BASE, Mostly::Program, 0),
            (of(&messages), Mostly::Messages, self.messages),
            (of(&samples), Mostly::Samples, self.rows),
            (
                of(&kept),
                Mostly::Kept,
                self.events + self.explained + self.noted,
            ),
            (of(&routes), Mostly::Routes, self.routes),
            (of(&network), Mostly::Links, self.links),
        ];
        let most = parts.into_iter().max_by_key(|&(bytes, ..)| bytes);
        let (_, what, count) = most.expect("there are six");
        (what, count)
    }
}

/// What most of a run's memory is for.
#[derive(Clone, Copy)]
enum Mostly {
    Program,
    Messages,
    Samples,
    /// Packet-hops that are kept, for the slowest messages to be explained.
    Kept,
    Routes,
    Links,
}

impl Mostly {
    /// So many of it, in words.
    fn said(self, count: u64) -> String {
        let count = human::count(count);
        match self {
            Self::Program => "the program alone takes most of it".into(),
            Self::Messages => format!("it has {count} messages"),
            Self::Samples => format!("it keeps {count} samples of ports"),
            Self::Kept => format!("it keeps {count} packet-hops to explain its slowest messages"),
            Self::Routes => format!("it has {count} routes"),
            Self::Links => format!("it has {count} links"),
        }
    }
}

/// How well it is known what a run holds.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// As `check` says it.
    Whole,
    /// Its network and all of its messages, and nothing else.
    Counted,
    /// Its network and some of its messages: more are random, or in a file.
    Begun,
}

impl Scenario {
    /// Memory that a run takes as far as sizes alone say it, before anything is built: its network and its messages.
    pub fn need(&self) -> Bytes {
        let Ok(spec) = network::spec(&self.topology) else {
            return Bytes(0); // building it says why
        };
        self.counted(&spec).0.bytes()
    }

    /// The most that a run may take, where that follows from sizes alone.
    pub fn need_at_most(&self) -> Option<Bytes> {
        let (need, known) = self.counted(&network::spec(&self.topology).ok()?);
        matches!(known, Known::Counted).then(|| need.at_most(self).bytes())
    }

    /// The network, and the messages whose number is written.
    pub(crate) fn counted(&self, spec: &Spec) -> (Need, Known) {
        let mut need = Need::of(spec.size());
        let mut known = Known::Counted;
        for source in &self.workloads {
            match messages(&source.kind, spec) {
                Some(messages) => need.messages = need.messages.saturating_add(messages),
                None => known = Known::Begun,
            }
        }
        (need, known)
    }

    /// Refuses a run that takes more memory than it may, at the key that asks for most of it.
    pub(crate) fn has_room(&self, need: Need, known: Known) -> Result<(), Diagnostic> {
        let (bytes, limit) = (need.bytes(), self.memory_limit());
        if bytes <= limit {
            return Ok(());
        }
        let (about, enough) = match known {
            Known::Whole => ("about", Some(bytes)),
            Known::Counted => ("at least", Some(need.at_most(self).bytes())),
            Known::Begun => ("at least", None),
        };
        let (what, count) = need.mostly();
        let (section, key, smaller) = self.blamed(what);
        let (taken, mut may) = (human::bytes(bytes), human::bytes(limit));
        if limit.0 > bytes.0 / 100 * 99 {
            may = limit.to_string(); // in all its digits
        }
        let problem = format!(
            "this run would take {about} {taken} of memory, and {may} may be taken: {}",
            what.said(count),
        );
        let more = match enough {
            Some(enough) => {
                let enough = human::bytes(enough).replace(' ', "");
                format!("let it take more: --memory-limit {enough} is enough for this run")
            }
            None if self.memory_limit.is_some() => {
                "let it take more with --memory-limit: check without one says how much".to_owned()
            }
            None => "let it take more with --memory-limit".to_owned(),
        };
        let or = if smaller.is_empty() {
            String::new()
        } else {
            format!("{smaller}, or ")
        };
        Err(section.problem(key, problem).help(or + &more))
    }

    /// The key that most of a run's memory comes from, and what to do about it.
    fn blamed(&self, most: Mostly) -> (&Section, &'static str, String) {
        let (topology, output) = (&self.topology.section, &self.output.section);
        match most {
            Mostly::Program => (topology, "kind", String::new()),
            Mostly::Links | Mostly::Routes => {
                let (key, smaller) = largest(topology);
                (topology, key, smaller)
            }
            Mostly::Samples => {
                let longer = "choose a longer output.every, 0s for no samples".into();
                if output.is_given("every") {
                    (output, "every", longer)
                } else {
                    // What is written nowhere has no place to show.
                    (&self.workloads[0].section, "kind", longer)
                }
            }
            Mostly::Kept => {
                let (section, key, mut less) = self.blamed_for_messages();
                if !less.contains("run.until") {
                    less += ", or a shorter run.until";
                }
                (section, key, less)
            }
            Mostly::Messages => self.blamed_for_messages(),
        }
    }

    /// The same of messages: of the source that makes most of them.
    fn blamed_for_messages(&self) -> (&Section, &'static str, String) {
        let spec = network::spec(&self.topology);
        let made = |source: &Settings<Workload>| {
            let spec = spec.as_ref().ok()?;
            messages(&source.kind, spec)
        };
        // Of several the first; one that writes no number before those that do.
        let sources = self.workloads.iter().rev();
        let source = sources.max_by_key(|source| made(source).unwrap_or(u64::MAX));
        let source = source.expect("there is a workload");
        let at = |key: &'static str| {
            let help = format!("choose a smaller {}", source.section.dotted(key));
            (&source.section, key, help)
        };
        let larger = |senders: u32, rounds: u64| {
            if rounds > u64::from(senders) {
                at("rounds")
            } else {
                at("senders")
            }
        };
        match &source.kind {
            Source::Random(of) if of.messages.is_some() => at("messages"),
            Source::Random(_) => {
                let until = "set workload.messages, or choose a shorter run.until";
                (&source.section, "kind", until.into())
            }
            Source::Incast(of) => larger(of.senders, of.rounds.unwrap_or(1).into()),
            Source::Bursts(of) => larger(of.senders, of.rounds.unwrap_or(1)),
            Source::IncastRr(of) => larger(of.senders, of.rounds.into()),
            Source::Shuffle(of) if of.tasks > 1 => at("tasks"),
            Source::Permutation(_) | Source::Shuffle(_) | Source::AllToAll(_) => {
                let (_, smaller) = largest(&self.topology.section);
                (&source.section, "kind", smaller)
            }
            Source::LongFlows(_) => (&source.section, "pairs", "name fewer pairs".into()),
            Source::Trace(_) => (&source.section, "path", "choose a smaller file".into()),
        }
    }
}

/// Refuses networks whose routing table would take too long to build.
pub(crate) fn routable(section: &Section, size: Size) -> Result<(), Diagnostic> {
    if size.routes <= ROUTES_MAX {
        return Ok(());
    }
    let (key, smaller) = largest(section);
    let problem = format!(
        "{} switches need {} routes, and at most {} are possible",
        human::count(size.switches),
        human::count(size.routes),
        human::count(ROUTES_MAX)
    );
    let problem = section.problem(key, problem);
    Err(problem.help(smaller))
}

/// The key of a fabric that most of its size comes from, and what to do about it.
fn largest(section: &Section) -> (&'static str, String) {
    let counts = section.counts().max_by_key(|&(_, count)| count);
    match counts {
        Some((key, _)) => (key, format!("choose a smaller {}", section.dotted(key))),
        None => ("path", "choose a smaller fabric".into()),
    }
}

/// Messages that a source will make, where that follows from its counts alone; others are counted when they are there.
fn messages(source: &Source, spec: &Spec) -> Option<u64> {
    let hosts = spec.size().hosts;
    let pairs = hosts.saturating_mul(hosts.saturating_sub(1));
    Some(match source {
        Source::Random(of) => of.messages?,
        Source::Incast(of) => u64::from(of.senders) * u64::from(of.rounds.unwrap_or(1)),
        Source::Bursts(of) => u64::from(of.senders).saturating_mul(of.rounds.unwrap_or(1)),
        Source::IncastRr(of) => 2 * u64::from(of.senders) * u64::from(of.rounds),
        Source::Permutation(_) => hosts,
        Source::Shuffle(of) => pairs.saturating_mul(u64::from(of.tasks).pow(2)),
        Source::AllToAll(_) => pairs,
        Source::LongFlows(_) | Source::Trace(_) => return None,
    })
}

/// Bytes that a port holds which sees a packet, beyond what every one does; `controlled` where switches have a flow control.
pub(crate) fn of_port(port: &PortSpec, controlled: bool) -> u64 {
    let form = match port.queues.as_slice() {
        queues if queues.iter().any(|queue| queue.order.numbers() > 1) => NUMBERED,
        _ if port.credit().is_some() => CREDITS,
        [_] => 0,
        _ => QUEUES,
    };
    form + if controlled { CONTROLLED } else { 0 }
}

/// Most messages that start at one moment.
pub(crate) fn together_most(starts: impl Iterator<Item = Time>) -> u64 {
    let mut starts: Vec<Time> = starts.collect();
    starts.sort_unstable();
    let groups = starts.chunk_by(|a, b| a == b);
    groups.map(<[Time]>::len).max().unwrap_or(0) as u64
}

/// Most messages that are under way at once, of those that start then, for this host, and take so long on their way: a host
/// receives one after the other.
pub(crate) fn open_most(mut messages: Vec<(Time, u32, Span)>) -> u64 {
    messages.sort_unstable();
    let mut free: BTreeMap<u32, Time> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<Time>> = BinaryHeap::new();
    let mut most = 0;
    for (at, to, takes) in messages {
        while ends.peek().is_some_and(|&Reverse(end)| end <= at) {
            ends.pop();
        }
        let free = free.entry(to).or_default();
        *free = (*free).max(at).after(takes);
        ends.push(Reverse(*free));
        most = most.max(ends.len());
    }
    most as u64
}

/// Samples of a link that see something new of a message of so many frames that take so long where lines have time for this
/// `share` of them, in a run of so long with samples every so often: its frames follow each other as fast as the slowest
/// line lets them, so that one sample may see many.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates, and the cast saturates"
)]
pub(crate) fn news((frames, takes): (u64, Span), share: f64, (time, every): (Span, Span)) -> u64 {
    let stretch = Span((takes.0 as f64 / share.max(f64::MIN_POSITIVE)) as u64).min(time);
    // Of a stretch, the samples in it, and those at its ends.
    let moments = stretch
        .0
        .checked_div(every.0)
        .unwrap_or(0)
        .saturating_add(2);
    moments.min((frames as f64 * share).ceil() as u64)
}

/// Samples that say something new, of ports of which so many would, each message by itself, in `time`; `most` are kept in all.
pub(crate) fn samples(
    passed: impl ExactSizeIterator<Item = u64>,
    time: Span,
    every: Span,
    most: u64,
) -> u64 {
    let taken = time.0.checked_div(every.0).unwrap_or(0);
    let moments = taken.min(most / (passed.len() as u64).max(1));
    let news = passed.map(|seen| seen.min(moments));
    news.sum()
}

/// Most memory that this process has held so far, in KiB; 0 where the system does not say.
pub fn held_most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// Memory that a process may have here: of the machine, of its control group, or of its limits, the
/// least. Everything where the system does not say.
pub fn of_machine() -> Bytes {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let number = |text: &str| text.split_whitespace().find_map(|word| word.parse().ok());
    let line = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(number)
    };
    let machine = line(&read("/proc/meminfo"), "MemTotal:").map(|kib: u64| kib << 10);
    let group = number(&read("/sys/fs/cgroup/memory.max"));
    let process = line(&read("/proc/self/limits"), "Max address space");
    let least = [machine, group, process].into_iter().flatten().min();
    Bytes(least.unwrap_or(u64::MAX))
}
