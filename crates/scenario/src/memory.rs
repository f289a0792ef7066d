//! How much memory a run takes, told before it is taken.

use crate::diagnostic::Diagnostic;
use crate::network;
use crate::resolve::Scenario;
use crate::section::Section;
use crate::settings::Source;
use results::human;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use topology::{ROUTES_MAX, Size, Spec};
use units::{Bytes, Span, Time};

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
/// An entry of the routing table.
const PER_ROUTE: u64 = 4;
/// A message: in the traffic, in the simulator's book, at its hosts and in the results.
const PER_MESSAGE: u64 = 540;
/// What comes to that while it is under way.
const PER_OPEN: u64 = 800;
/// A sample of a port that says something new, as a row, and what its tables take in the end.
const PER_ROW: u64 = 136;
const PER_SAMPLE: u64 = 74;
/// A packet-hop of a run that is short enough to keep what it saw, for its slowest messages to be explained: noted, sorted
/// and brought together.
const PER_EVENT: u64 = 115;
/// One of a run that began to note them and became too long.
const PER_NOTED: u64 = 34;

/// What looks at ports bring, in words.
const SAMPLES: &str = "samples of ports";

/// What a run will hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Hosts, and those of them that send or receive.
    pub(crate) hosts: u64,
    pub(crate) busy: u64,
    /// Links, one for each direction of a cable.
    pub(crate) links: u64,
    /// Entries of the routing table.
    pub(crate) routes: u64,
    /// Messages, and most of them that are under way at once.
    pub(crate) messages: u64,
    pub(crate) open: u64,
    /// Samples of ports that say something new: most that were there at once, and those that are kept.
    pub(crate) rows: u64,
    pub(crate) samples: u64,
    /// Packet-hops that are kept.
    pub(crate) events: u64,
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

    /// All of it.
    pub(crate) fn bytes(self) -> Bytes {
        let parts = [
            (self.hosts, PER_HOST),
            (self.busy, PER_BUSY),
            (self.links, PER_LINK),
            (self.routes, PER_ROUTE),
            (self.messages, PER_MESSAGE),
            (self.open, PER_OPEN),
            (self.rows, PER_ROW),
            (self.samples, PER_SAMPLE),
            (self.events, PER_EVENT),
            (self.noted, PER_NOTED),
        ];
        let sum = parts.into_iter().fold(BASE, |sum, (count, each)| {
            sum.saturating_add(count.saturating_mul(each))
        });
        Bytes(sum)
    }

    /// What most of it is for, and how many there are of that.
    fn mostly(self) -> (u64, &'static str) {
        let of = |parts: &[(u64, u64)]| -> u64 {
            let bytes = parts
                .iter()
                .map(|&(count, each)| count.saturating_mul(each));
            bytes.fold(0, u64::saturating_add)
        };
        let messages = [(self.messages, PER_MESSAGE), (self.open, PER_OPEN)];
        let samples = [(self.rows, PER_ROW), (self.samples, PER_SAMPLE)];
        let kept = [(self.events, PER_EVENT), (self.noted, PER_NOTED)];
        let network = [(self.links, PER_LINK), (self.hosts, PER_HOST)];
        let parts = [
            (of(&messages), (self.messages, "messages")),
            (of(&samples), (self.rows, SAMPLES)),
            (of(&kept), (self.events + self.noted, "packet-hops to keep")),
            (of(&[(self.routes, PER_ROUTE)]), (self.routes, "routes")),
            (of(&network), (self.links, "links")),
        ];
        let most = parts.into_iter().max_by_key(|&(bytes, _)| bytes);
        most.expect("there are five").1
    }

    /// Whether samples of ports are most of it.
    pub(crate) fn is_mostly_samples(self) -> bool {
        self.mostly().1 == SAMPLES
    }

    /// Refuses what does not fit, at the key of `section` that asks for most of it.
    pub(crate) fn fits(self, section: &Section, limit: Bytes) -> Result<(), Diagnostic> {
        let bytes = self.bytes();
        if bytes <= limit {
            return Ok(());
        }
        let (count, what) = self.mostly();
        let (key, smaller) = largest(section);
        let problem = format!(
            "this run would take about {} of memory, {} of it may be taken: it has {} {what}",
            human::bytes(bytes),
            human::bytes(limit),
            human::count(count),
        );
        let whole = bytes.0.div_ceil(1_000_000_000);
        Err(section.problem(key, problem).help(format!(
            "choose {smaller}, or let it take more with --memory-limit {whole}GB"
        )))
    }
}

impl Scenario {
    /// Memory that a run takes as far as sizes alone say it, before anything is built: its network and its messages.
    pub fn need(&self) -> Bytes {
        let Ok(spec) = network::spec(&self.topology) else {
            return Bytes(0); // building it says why
        };
        let mut need = Need::of(spec.size());
        for source in &self.workloads {
            need.messages = need.messages.saturating_add(messages(&source.kind, &spec));
        }
        need.bytes()
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
    Err(problem.help(format!("choose {smaller}")))
}

/// The key of a section that most of its size comes from, and what to choose instead.
fn largest(section: &Section) -> (&'static str, String) {
    let counts = section.counts().max_by_key(|&(_, count)| count);
    match counts {
        Some((key, _)) => (key, format!("a smaller {key}")),
        None if section.has("every") => ("every", "a longer every".into()),
        None if section.has("path") => ("path", "a smaller file".into()),
        None => ("kind", "less".into()),
    }
}

/// Messages that a source will make, where that follows from its counts alone.
pub(crate) fn messages(source: &Source, spec: &Spec) -> u64 {
    let hosts = spec.size().hosts;
    let pairs = hosts.saturating_mul(hosts.saturating_sub(1));
    match source {
        Source::Random(of) => of.messages.unwrap_or(0),
        Source::Incast(of) => u64::from(of.senders) * u64::from(of.rounds.unwrap_or(1)),
        Source::Bursts(of) => u64::from(of.senders).saturating_mul(of.rounds.unwrap_or(1)),
        Source::IncastRr(of) => 2 * u64::from(of.senders) * u64::from(of.rounds),
        Source::Permutation(_) => hosts,
        Source::Shuffle(of) => pairs.saturating_mul(u64::from(of.tasks).pow(2)),
        Source::AllToAll(_) => pairs,
        Source::LongFlows(_) | Source::Trace(_) => 0, // counted when they are there
    }
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
