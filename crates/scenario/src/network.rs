//! `[topology]`, `[switch]` and `[[faults]]` as the simulator wants them.
//!
//! A port begins as what its transport asks for (`Factory::fabric`), gets the scenario's credits, marks and drops on
//! top, then the queues of transports beside it, and last what a flow control makes of it. Links of one rate share one
//! port. What would mean nothing, or could not be combined, is an error with the key that says it.

mod controlled;
mod graph;
pub(crate) mod legacy;

use crate::beside::Beside;
use crate::choice::{BalanceOf, Headers};
use crate::diagnostic::{Diagnostic, Origin, SourceText};
use crate::dropping::{drop_of, mark_of, spared};
use crate::resolve::Scenario;
use crate::section::{Named, Section};
use crate::settings::{self, Shape, Switch};
use crate::typed::Settings;
use model::intent::{
    Balance, CreditSpec, DropMeasure, DropSpec, MarkAt, MarkSpec, Memory, PortSpec, SwitchSpec,
};
use model::{Encap, Rng, stream};
use sim::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use topology::{
    Dumbbell, FatTree, Graph, LeafSpine, LinkId, MultiBottleneck, ParkingLot, Size, Spec, Star,
    ThreeTier, Topology,
};
use transports::Fabric;
use units::{Bytes, Rate, Span, Time};

/// Wire sizes of the scenario's frames.
///
/// # Errors
/// What is wrong with `run.mtu`.
pub(crate) fn encap_of(run: &Section) -> Result<Encap, Diagnostic> {
    // What cannot be read has no value, and has been complained about.
    let headers = match run.value("encap") {
        Some(Headers::Udp) => Encap::UDP,
        Some(Headers::Paper) | None => Encap::PAPER,
    };
    let Some(mtu) = run.value::<Option<Bytes>>("mtu") else {
        return Ok(headers);
    };
    let sized = headers.with_mtu(mtu.get());
    sized.map_err(|why| run.problem("mtu", "run.mtu cannot be used").label(why))
}

/// Full frames that may wait in a port where nobody says anything. [xpass artefact, large-scale-fattree.tcl]
const BUFFER_FRAMES: u64 = 250;

/// Room in a port where nobody says anything, in wire bytes.
pub(crate) fn buffer(encap: Encap) -> Bytes {
    Bytes(BUFFER_FRAMES * u64::from(encap.wire_max()))
}

/// Ways through a network, each as long as all its switches in a row, that times must leave room for: round trips, the
/// waits of timers for several of them, and what adds up over a run. [ours]
const WAYS: u64 = 128;

/// Keys of the delays of cables, and of what a host adds to its own.
pub(crate) const DELAYS: [&str; 7] = [
    "host_extra_delay",
    "host_delay_spread",
    "host_delay",
    "bottleneck_delay",
    "uplink_delay",
    "tor_delay",
    "agg_delay",
];

/// The most that a link's delay can be by what `[topology]` says.
pub(crate) fn longest_delay(said: &Settings<settings::Topology>) -> Span {
    let span = |key| said.section.value::<Option<Span>>(key);
    let [extra, spread, cables @ ..] = DELAYS.map(|key| span(key).unwrap_or(Span::ZERO).0);
    let longest = cables.into_iter().fold(0, u64::max);
    Span(longest.saturating_add(extra).saturating_add(spread))
}

/// Refuses links so long that times over them could not be counted.
pub(crate) fn countable(
    said: &Settings<settings::Topology>,
    size: Size,
    longest: Span,
) -> Result<(), Diagnostic> {
    let section = &said.section;
    let links = size.switches.saturating_add(1);
    let most = u64::MAX / WAYS / links;
    if longest.0 <= most {
        return Ok(());
    }
    let given = DELAYS.into_iter().filter(|key| section.is_given(key));
    let key = match said.kind {
        Shape::File(_) => "path",
        _ => given
            .max_by_key(|key| section.value::<Option<Span>>(key))
            .unwrap_or("kind"),
    };
    let what = format!(
        "a link of {longest} is too long: a way may cross {links} of them, and times end at 213 days"
    );
    let second = Span::ms(1000).0;
    let most = Span(most / second * second);
    Err(section
        .problem(key, what)
        .help(format!("choose at most {most}")))
}

/// Makes links differ that the fabric has alike: `slow`, and by chance `host_delay_spread`.
pub(crate) fn uneven(
    said: &Settings<settings::Topology>,
    seed: u64,
    topology: &mut Topology,
) -> Result<(), Diagnostic> {
    spread(said.host_delay_spread, seed, topology);
    slow(said, topology)
}

/// Makes each host's cable longer by what chance says, up to `host_delay_spread`. A host's first link draws.
fn spread(spread: Option<Span>, seed: u64, topology: &mut Topology) {
    let Some(Span(most)) = spread else {
        return;
    };
    let hosts = &topology.nodes[..topology.hosts as usize];
    for (number, host) in (0..).zip(hosts) {
        let longer = Rng::stream(seed, stream::CABLE, number).between(0, most);
        for &port in &host.ports {
            for link in [port, port.reverse()] {
                let delay = &mut topology.links[link.index()].delay.0;
                *delay = delay.saturating_add(longer);
            }
        }
    }
}

/// The fabric that `[topology]` describes.
pub(crate) fn spec(said: &Settings<settings::Topology>) -> Result<Spec, Diagnostic> {
    let host_extra_delay = said.host_extra_delay;
    Ok(match &said.kind {
        Shape::Star(of) => Spec::Star(Star {
            hosts: of.hosts,
            rate: of.host_rate,
            delay: of.host_delay,
            host_extra_delay,
        }),
        Shape::Dumbbell(of) => Spec::Dumbbell(Dumbbell {
            pairs: of.pairs,
            host_rate: of.host_rate,
            first_rate: of.first_rate.unwrap_or(of.host_rate),
            bottleneck_rate: of.bottleneck_rate,
            host_delay: of.host_delay,
            bottleneck_delay: of.bottleneck_delay,
            host_extra_delay,
        }),
        Shape::ParkingLot(of) => Spec::ParkingLot(ParkingLot {
            bottlenecks: of.bottlenecks,
            shared_hosts: of.shared_hosts,
            host_rate: of.host_rate,
            bottleneck_rate: of.bottleneck_rate,
            host_delay: of.host_delay,
            bottleneck_delay: of.bottleneck_delay,
            host_extra_delay,
        }),
        Shape::MultiBottleneck(of) => Spec::MultiBottleneck(MultiBottleneck {
            flows: of.flows,
            rate: of.host_rate,
            delay: of.host_delay,
            host_extra_delay,
        }),
        Shape::LeafSpine(of) => Spec::LeafSpine(LeafSpine {
            leaves: of.leaves,
            spines: of.spines,
            hosts_per_leaf: of.hosts_per_leaf,
            host_rate: of.host_rate,
            uplink_rate: of.uplink_rate,
            host_delay: of.host_delay,
            uplink_delay: of.uplink_delay,
            host_extra_delay,
        }),
        Shape::FatTree(of) => Spec::FatTree(FatTree {
            k: of.k,
            hosts_per_edge: of.hosts_per_edge,
            rate: of.host_rate,
            delay: of.host_delay,
            host_extra_delay,
        }),
        Shape::ThreeTier(of) => Spec::ThreeTier(ThreeTier {
            pods: of.pods,
            tors: of.tors,
            aggs: of.aggs,
            cores: of.cores,
            hosts_per_tor: of.hosts_per_tor,
            host_rate: of.host_rate,
            tor_rate: of.tor_rate,
            agg_rate: of.agg_rate,
            host_delay: of.host_delay,
            tor_delay: of.tor_delay,
            agg_delay: of.agg_delay,
            host_extra_delay,
        }),
        Shape::File(of) => Spec::Graph(Graph {
            host_extra_delay,
            ..graph::read(&said.section, of)?
        }),
    })
}

/// Gives the links that `slow` names their rate.
fn slow(said: &Settings<settings::Topology>, topology: &mut Topology) -> Result<(), Diagnostic> {
    let section = &said.section;
    let Some(pattern) = &said.slow else {
        return match said.slow_rate {
            Some(_) => Err(section
                .problem("slow_rate", "slow_rate without slow")
                .help("name the link: slow = \"agg0 <-> core0\"")),
            None => Ok(()),
        };
    };
    let links =
        links(topology, pattern).map_err(|why| section.problem("slow", why).help(WRITE_A_LINK))?;
    for link in links {
        let rate = &mut topology.links[link.0 as usize].rate;
        let tenth = || Rate::bps(rate.0 / 10).max(topology::RATE_MIN);
        *rate = said.slow_rate.unwrap_or_else(tenth);
    }
    Ok(())
}

/// How a link is named.
const WRITE_A_LINK: &str = "write \"tor0 -> h3\" for one direction, \"tor0 <-> h3\" for both, \"* -> *\" for every link; * stands for any part of a name";

/// The text of a file that `section` names.
pub(crate) fn read(section: &Section, file: &Named) -> Result<String, Diagnostic> {
    file.read().map_err(|e| {
        let help = match e.kind() {
            ErrorKind::InvalidData => "it is no UTF-8 text: unpack it, or save it as text",
            ErrorKind::FileTooLarge => "write what it gives to a file, and name that",
            ErrorKind::IsADirectory => "this is a folder; name a file in it",
            _ => "paths are read from the folder of the file that names them",
        };
        let what = format!("cannot read {}: {e}", file.path.display());
        section.problem(file.key, what).help(help)
    })
}

/// A diagnostic at a place in a data file.
pub(crate) fn in_file(
    path: &Path,
    text: String,
    line: u32,
    column: u32,
    message: &str,
) -> Diagnostic {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1) as usize)
        .map(str::len)
        .sum();
    let row = text[before..].lines().next().unwrap_or("");
    let at = row
        .char_indices()
        .nth(column.saturating_sub(1) as usize)
        .map_or(row.len(), |(i, _)| i);
    let word = row[at..]
        .split([' ', '\t', ','])
        .next()
        .unwrap_or("")
        .len()
        .max(1);
    let start = before + at;
    let source = Arc::new(SourceText {
        name: path.display().to_string(),
        text,
    });
    Diagnostic::at(
        &Origin {
            source,
            span: start..start + word,
        },
        message,
    )
    .bare_at_first()
}

/// What the transport asks of a port, with the scenario's overrides on top, by link.
pub(crate) fn ports(
    scenario: &Scenario,
    topology: &Topology,
    encap: Encap,
) -> Result<Vec<Arc<PortSpec>>, Vec<Diagnostic>> {
    let mut by_rate: BTreeMap<Rate, Arc<PortSpec>> = BTreeMap::new();
    let mut errors = Vec::new();
    for link in &topology.links {
        if let Entry::Vacant(slot) = by_rate.entry(link.rate) {
            match port(scenario, link.rate, encap) {
                Ok(spec) => {
                    slot.insert(Arc::new(spec));
                }
                Err(e) => {
                    // The same is wrong at every rate.
                    errors = e;
                    break;
                }
            }
        }
    }
    if errors.is_empty() {
        Ok(topology
            .links
            .iter()
            .map(|link| by_rate[&link.rate].clone())
            .collect())
    } else {
        Err(errors)
    }
}

/// The intent of a port on a link of `rate`.
pub(crate) fn port(
    scenario: &Scenario,
    rate: Rate,
    encap: Encap,
) -> Result<PortSpec, Vec<Diagnostic>> {
    let Fabric {
        credit,
        mark,
        drop,
        background,
        priorities,
        own: own_port,
        ..
    } = scenario.factory.fabric(rate, encap);
    if let Some(error) = own_port.as_ref().and_then(|_| needless(scenario)) {
        return Err(vec![error]);
    }
    let mut errors = Vec::new();
    let mut credit = credit_of(scenario, credit).unwrap_or_else(|e| {
        errors.push(e);
        None
    });
    let asked = scenario.switch.priorities;
    let priorities = asked.unwrap_or(priorities.max(1));
    let legacy = legacy::Legacy::of(scenario).unwrap_or_else(|e| {
        errors.push(e);
        None
    });
    let legacy_mark = legacy.and_then(|legacy| legacy.mark(scenario, rate, encap));
    if let (Some(legacy), Some(whole)) = (legacy, credit) {
        credit = legacy.narrowed(scenario, whole).map_or_else(
            |e| {
                errors.push(e);
                None
            },
            Some,
        );
    }
    let own = legacy.is_some_and(|legacy| legacy.own);
    // Transports that share a queue share its marking, too.
    let mark = mark_of(scenario, rate, mark.or(legacy_mark.filter(|_| !own))).unwrap_or_else(|e| {
        errors.push(e);
        None
    });
    let drop = drop_of(scenario, rate, drop).unwrap_or_else(|e| {
        errors.push(e);
        None
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    let buffer = scenario.switch.buffer.at(rate);
    let fabric = Fabric {
        credit,
        mark,
        drop,
        background,
        priorities,
        own: own_port,
        ..Fabric::default()
    };
    let port = fabric.port(buffer);
    let port = match legacy {
        Some(legacy) if legacy.own => legacy.beside(scenario, port, credit, rate, encap),
        Some(_) | None => port,
    };
    let port = controlled::controlled(scenario, rate, port)?;
    if let Some(error) = spared(scenario, &port) {
        return Err(vec![error]);
    }
    match unfit_for_hosts(scenario, &port) {
        Some(error) => Err(vec![error]),
        None => Ok(port),
    }
}

/// Why a queue before a host's line cannot do what `port` does: it must know at arrival when a packet
/// leaves. `None` where it can, or where the scenario asks for no such queue.
fn unfit_for_hosts(scenario: &Scenario, port: &PortSpec) -> Option<Diagnostic> {
    if !scenario.switch.host_queue {
        return None;
    }
    let rate = Rate::gbps(100); // it asks at every rate or at none
    let first = (scenario.protocol, &*scenario.factory);
    let beside = scenario.beside.iter().map(|of| (of.protocol, &*of.factory));
    let mut all = std::iter::once(first).chain(beside);
    let unbounded = all.find(|(_, factory)| factory.fabric(rate, scenario.encap).unbounded);
    let late = |mark: MarkSpec| mark.at == MarkAt::Dequeue;
    let apart = |drop: DropSpec| drop.measure == DropMeasure::VictimOnly;
    let (why, help) = match port.queues.as_slice() {
        [queue] if queue.mark.is_some_and(late) => (
            "the queue of a host marks what comes, not what goes".to_owned(),
            "remove host_queue, or write switch.mark.at = \"enqueue\"",
        ),
        [queue] if queue.drop.is_some_and(apart) => (
            "the queue of a host does not count one class alone".to_owned(),
            "remove host_queue, or write switch.drop.measure = \"queue\"",
        ),
        [_] => (
            format!(
                "nothing but the line holds back what {} sends, and a queue before it would get all of that at once",
                unbounded?.0.name()
            ),
            "remove host_queue, or choose a transport with a window, like \"dctcp\"",
        ),
        _ => (
            format!(
                "ports of {} are more than a queue",
                scenario.protocol.name()
            ),
            "remove host_queue, or choose a transport without credits and priorities",
        ),
    };
    Some(
        scenario
            .switch
            .section
            .problem("host_queue", why)
            .help(help),
    )
}

/// What the scenario says of ports that the transport describes as a whole.
fn needless(scenario: &Scenario) -> Option<Diagnostic> {
    let (credit, mark, drop) = (&scenario.credit, &scenario.mark, &scenario.drop);
    let said = [&credit.section, &mark.section, &drop.section]
        .into_iter()
        .find_map(|table| Some((table, table.given().next()?)));
    let switch = &scenario.switch;
    let said = said.or(switch.priorities.map(|_| (&switch.section, "priorities")));
    said.map(|(table, key)| {
        let name = scenario.protocol.name();
        let what = format!("{} means nothing here", table.dotted(key));
        table
            .problem(key, what)
            .label(format!(
                "{name} says itself what every queue of a port does"
            ))
            .help(format!("remove {}", table.dotted(key)))
    })
}

fn credit_of(
    scenario: &Scenario,
    asked: Option<CreditSpec>,
) -> Result<Option<CreditSpec>, Diagnostic> {
    let (said, section) = (&scenario.credit, &scenario.credit.section);
    let Some(mut credit) = asked else {
        let Some(key) = section.given().next() else {
            return Ok(None);
        };
        let what = format!("{} uses no credits", scenario.protocol.name());
        let mut beside = scenario.beside.iter();
        let theirs = |of: &&Beside| {
            let fabric = of.factory.fabric(Rate::gbps(100), scenario.encap);
            fabric.credit.is_some()
        };
        let theirs = beside.find(theirs).map_or_else(String::new, |of| {
            format!("those of {} wait as it asks", of.protocol.name())
        });
        return Err(section
            .problem(key, what)
            .label(theirs)
            .help("remove [switch.credit], or choose a transport.kind with credits"));
    };
    credit.queue_limit = said.queue_limit.unwrap_or(credit.queue_limit);
    credit.bucket = said.bucket.unwrap_or(credit.bucket);
    credit.count = said.count.unwrap_or(credit.count);
    Ok(Some(credit))
}

/// What every switch does, beside its ports.
pub(crate) fn switch(switch: &Switch) -> SwitchSpec {
    let memory = match *switch.shared_buffer {
        None => Memory::PerPort,
        Some(size) => Memory::Shared {
            size,
            alpha: *switch.shared_alpha,
        },
    };
    let balance = match switch.balance {
        BalanceOf::Flow => Balance::Flow,
        BalanceOf::Packet => Balance::Packet,
        BalanceOf::Flowlet => Balance::Flowlet {
            gap: *switch.flowlet_gap,
        },
        BalanceOf::Adaptive => Balance::Adaptive,
    };
    SwitchSpec {
        memory,
        balance,
        telemetry: false, // the transports say
    }
}

/// Faults, each on one direction of one link.
pub(crate) fn faults(
    all: &[Settings<settings::Fault>],
    topology: &Topology,
) -> Result<Vec<Fault>, Vec<Diagnostic>> {
    let (mut faults, mut errors) = (Vec::new(), Vec::new());
    for fault in all {
        let section = &fault.section;
        let links = match links(topology, &fault.link) {
            Ok(links) => links,
            Err(why) => {
                errors.push(section.problem("link", why).help(WRITE_A_LINK));
                continue;
            }
        };
        let from = Time(fault.from.0);
        let until = fault.until.map_or(Time::NEVER, |s| Time(s.0));
        if until <= from {
            errors.push(section.problem(
                "until",
                format!("until = {until} is not after from = {from}"),
            ));
        }
        let kind = fault_kind(&fault.kind);
        faults.extend(links.into_iter().map(|link| Fault {
            link,
            from,
            until,
            kind,
        }));
    }
    if errors.is_empty() {
        Ok(faults)
    } else {
        Err(errors)
    }
}

fn fault_kind(kind: &settings::FaultKind) -> FaultKind {
    let ppb = |chance: f64| {
        // Rounded to the nearest billionth; the table keeps it within 0 and 1.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 1 times 10^9 fits"
        )]
        let ppb = (chance * 1e9 + 0.5) as u32;
        ppb
    };
    match kind {
        settings::FaultKind::Down(of) => FaultKind::Down { detect: of.detect },
        settings::FaultKind::Loss(of) => FaultKind::Loss {
            ppb: ppb(of.chance),
            only: of.class,
            most: of.most,
        },
        settings::FaultKind::Corrupt(of) => FaultKind::Corrupt {
            ppb: ppb(of.chance),
        },
        settings::FaultKind::Duplicate(of) => FaultKind::Duplicate {
            ppb: ppb(of.chance),
        },
        settings::FaultKind::Reorder(of) => FaultKind::Reorder {
            ppb: ppb(of.chance),
            by: of.by,
        },
    }
}

/// The links that a pattern names, ascending.
pub(crate) fn links(topology: &Topology, pattern: &str) -> Result<Vec<LinkId>, String> {
    let (ends, both) = match (pattern.split_once("<->"), pattern.split_once("->")) {
        (Some(ends), _) => (ends, true),
        (None, Some(ends)) => (ends, false),
        (None, None) => return Err(format!("\"{pattern}\" names no link")),
    };
    let (from, to) = (ends.0.trim(), ends.1.trim());
    let name = |id: topology::NodeId| topology.node(id).name.as_str();
    let found: Vec<LinkId> = (0u32..)
        .zip(&topology.links)
        .filter(|(_, link)| {
            let (a, b) = (name(link.from), name(link.to));
            (matches(from, a) && matches(to, b)) || (both && matches(from, b) && matches(to, a))
        })
        .map(|(i, _)| LinkId(i))
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let unknown = [from, to]
        .into_iter()
        .find(|n| !n.contains('*') && topology.named(n).is_none());
    Err(match unknown {
        Some(n) => {
            let names = topology.nodes.iter().map(|node| node.name.as_str());
            match crate::diagnostic::nearest(n, names) {
                Some(near) => format!("there is no node \"{n}\"; did you mean \"{near}\"?"),
                None => format!("there is no node \"{n}\""),
            }
        }
        None => format!("no cable joins {from} and {to}"),
    })
}

/// Whether `name` fits a pattern in which each `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            tail.char_indices()
                .map(|(i, _)| i)
                .chain([tail.len()])
                .any(|i| matches(rest, &tail[i..]))
        }),
    }
}

/// Longest round trips: of propagation alone, with a full frame there and the smallest back, and with
/// the smallest both ways.
pub(crate) fn round_trips(
    topology: &Topology,
    routes: &topology::Routes,
    encap: Encap,
) -> (Span, Span, Span) {
    let (data, control) = (
        Bytes(encap.wire_max().into()),
        Bytes(encap.frame_min.into()),
    );
    let nothing = (Bytes(0), Bytes(0));
    topology
        .max_base_rtts(routes, [nothing, (data, control), (control, control)])
        .into()
}

/// Whether anything travels beside packets, records of the run's transports or tags of its switches, and whether switches
/// add to records.
pub(crate) fn records(scenario: &Scenario, encap: Encap) -> (bool, bool) {
    let beside = scenario.beside.iter().map(|beside| &beside.factory);
    let all = std::iter::once(&scenario.factory).chain(beside);
    let rate = Rate::gbps(100); // it asks at every rate or at none
    let tags = scenario
        .control
        .iter()
        .any(|control| control.factory.tags());
    all.map(|factory| factory.fabric(rate, encap)).fold(
        (tags, false),
        |(records, telemetry), fabric| {
            let needs = fabric.records || fabric.telemetry;
            (records | needs, telemetry | fabric.telemetry)
        },
    )
}
