//! A scenario in a few words.

use crate::choice::Choice;
use crate::resolve::Scenario;
use crate::settings::{LongFlows, Shape, Source, Workload};
use results::human;
use topology::Topology;
use units::text::is_unseen;
use workload::Traffic;

/// `64 -> 1, 64 KB each, 100 Gb/s, leaf-spine, 8 leaves x 16 hosts`.
pub(crate) fn title(scenario: &Scenario, traffic: &Traffic, topology: &Topology) -> String {
    let sources: Vec<String> = scenario
        .workloads
        .iter()
        .map(|w| source(w, traffic))
        .collect();
    format!(
        "{}, {}",
        sources.join(" + "),
        fabric(&scenario.topology.kind, topology)
    )
}

/// Hosts whose numbers are told one by one. [ours]
const NUMBERED_MAX: u32 = 24;

/// A node whose name cannot be read where it is printed.
pub(crate) fn unreadable(topology: &Topology) -> Option<String> {
    let odd = |name: &&str| name.chars().any(is_unseen);
    let name = topology.nodes.iter().map(|node| &*node.name).find(odd)?;
    Some(format!(
        "{name:?} is no name of a node: it has characters that are not seen"
    ))
}

/// Which number each host has, where its name does not say it: `0 gpu0, 1 gpu1, 2 store`.
pub(crate) fn numbering(topology: &Topology) -> Option<String> {
    let hosts = &topology.nodes[..topology.hosts as usize];
    let mut numbered = (0u32..).zip(hosts);
    if numbered.all(|(i, host)| *host.name == format!("h{i}")) {
        return None;
    }
    let told = (0..NUMBERED_MAX).zip(hosts);
    let mut told: Vec<String> = told.map(|(i, host)| format!("{i} {}", host.name)).collect();
    if topology.hosts > NUMBERED_MAX {
        told.push(format!(
            "... {} {}",
            hosts.len() - 1,
            hosts[hosts.len() - 1].name
        ));
    }
    Some(told.join(", "))
}

fn source(source: &Workload, traffic: &Traffic) -> String {
    let what = kind_of_source(&source.kind, traffic);
    match &source.transport {
        Some(transport) => format!("{what} by {transport}"),
        None => what,
    }
}

fn kind_of_source(source: &Source, traffic: &Traffic) -> String {
    let (size, percent) = (human::bytes, human::percent);
    match source {
        Source::Random(of) => {
            let cut = of
                .largest
                .map_or_else(String::new, |most| format!(" cut at {}", size(most)));
            format!(
                "{}{cut} at {} of {}",
                of.sizes.name,
                percent(of.offered.load),
                of.offered.load_of.word()
            )
        }
        Source::Incast(of) => {
            let once = format!("{} -> 1, {} each", of.senders, size(of.size));
            match of.load {
                Some(load) => format!("{once}, recurring at {}", percent(load)),
                None => once,
            }
        }
        Source::IncastRr(of) => format!(
            "{} workers, {} asked, {} answered, {} rounds",
            of.senders,
            size(of.request),
            size(of.size),
            of.rounds
        ),
        Source::Bursts(of) => format!(
            "bursts of {} x {} at {}",
            of.senders,
            size(of.size),
            percent(of.offered.load)
        ),
        Source::Shuffle(of) => {
            format!(
                "shuffle of {} tasks per host, {} each",
                of.tasks,
                size(of.size)
            )
        }
        Source::Permutation(of) => format!("permutation, {} each", size(of.size)),
        Source::AllToAll(of) => format!("all-to-all, {} each", size(of.size)),
        Source::LongFlows(of) => long_flows(tagged(of, traffic)),
        Source::Trace(_) => match traffic.messages.len() {
            1 => "trace of 1 message".to_owned(),
            several => format!("trace of {} messages", human::count(several as u64)),
        },
    }
}

fn long_flows(count: usize) -> String {
    if count == 1 {
        "1 long flow".to_owned()
    } else {
        format!("{} long flows", human::count(count as u64))
    }
}

/// Messages of one source; sources that share a tag are counted together.
fn tagged(of: &LongFlows, traffic: &Traffic) -> usize {
    let tag = of.begun.tag.as_deref().unwrap_or(crate::traffic::LONG);
    let is = |message: &&workload::Message| traffic.tags[usize::from(message.tag)] == tag;
    traffic.messages.iter().filter(is).count()
}

fn fabric(shape: &Shape, topology: &Topology) -> String {
    let (rate, shape) = match shape {
        Shape::LeafSpine(of) => {
            let (leaves, each) = (of.leaves, of.hosts_per_leaf);
            let shape = format!("leaf-spine, {leaves} leaves x {each} hosts");
            (of.host_rate, shape)
        }
        Shape::FatTree(of) => {
            let shape = format!("fat tree k={}, {} hosts", of.k, topology.hosts);
            (of.host_rate, shape)
        }
        Shape::ThreeTier(of) => (
            of.host_rate,
            format!("three-tier, {} hosts", topology.hosts),
        ),
        Shape::File(_) => return format!("{}, {} hosts", topology.name, topology.hosts),
        Shape::Star(of) => (of.host_rate, topology.name.clone()),
        Shape::Dumbbell(of) => (of.host_rate, topology.name.clone()),
        Shape::ParkingLot(of) => (of.host_rate, topology.name.clone()),
        Shape::MultiBottleneck(of) => (of.host_rate, topology.name.clone()),
    };
    format!("{}, {shape}", human::rate(rate))
}
