//! How much memory a run takes, told before it is taken.

use crate::diagnostic::Diagnostic;
use crate::section::Section;
use crate::settings::Source;
use results::human;
use topology::{ROUTES_MAX, Size, Spec};
use units::{Bytes, Span};

// Of a run of `tidegate run` with its tables and its report, in bytes: `time -f %M` over stars of 20,000
// hosts, fat trees of k = 16, 32 and 64, incasts of 50,000 messages, the built-in scenarios, and longer
// ones that `run.until` cuts, under ExpressPass and DCTCP; the sum lies within 1.5 times all of them. [ours]
/// The program itself.
const BASE: u64 = 14 << 20;
/// A link with its port, the packets on it, its share of a node, and its row in every table.
const PER_LINK: u64 = 1_400;
/// A host: its transport, its row in every table.
const PER_HOST: u64 = 5_600;
/// An entry of the routing table.
const PER_ROUTE: u64 = 4;
/// A message: in the traffic, in the simulator's book, at its hosts and in the results.
const PER_MESSAGE: u64 = 480;
/// A sample of a port that says something new.
const PER_SAMPLE: u64 = 210;
/// A packet-hop of a run that is short enough to keep what it saw, for its slowest messages to be explained.
const PER_EVENT: u64 = 60;

/// What a run will hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Hosts.
    pub(crate) hosts: u64,
    /// Links, one for each direction of a cable.
    pub(crate) links: u64,
    /// Entries of the routing table.
    pub(crate) routes: u64,
    /// Messages.
    pub(crate) messages: u64,
    /// Samples of ports that say something new.
    pub(crate) samples: u64,
    /// Packet-hops that are kept.
    pub(crate) events: u64,
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
            (self.links, PER_LINK),
            (self.routes, PER_ROUTE),
            (self.messages, PER_MESSAGE),
            (self.samples, PER_SAMPLE),
            (self.events, PER_EVENT),
        ];
        let sum = parts.into_iter().fold(BASE, |sum, (count, each)| {
            sum.saturating_add(count.saturating_mul(each))
        });
        Bytes(sum)
    }

    /// Refuses what does not fit, at the key that asks for most of it.
    pub(crate) fn fits(self, section: &Section, limit: Bytes) -> Result<(), Diagnostic> {
        let bytes = self.bytes();
        if bytes <= limit {
            return Ok(());
        }
        let (count, what) = if self.messages.saturating_mul(PER_MESSAGE) > bytes.0 / 2 {
            (self.messages, "messages")
        } else if self.routes.saturating_mul(PER_ROUTE) > bytes.0 / 2 {
            (self.routes, "routes")
        } else {
            (self.links, "links")
        };
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

/// Samples that say something new, of ports that so many packets pass in `time`; `most` are kept in all.
pub(crate) fn samples(
    passed: impl ExactSizeIterator<Item = u64>,
    time: Span,
    every: Span,
    most: u64,
) -> u64 {
    let taken = time.0.checked_div(every.0).unwrap_or(0);
    let moments = taken.min(most / (passed.len() as u64).max(1));
    let news = passed.map(|packets| packets.min(moments));
    news.sum()
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
