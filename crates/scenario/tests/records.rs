//! What travels beside packets: HPCC's telemetry, written by every switch on the way, and tags of links.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod models;

use model::{Class, EndpointConfig, Packet};
use scenario::{Assembled, Scenario, load_text_with};
use sim::{Outcome, Traced, Wanted};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use switching::{FlowControl, Passage, Say};
use topology::{NodeId, NodeKind, Topology};
use units::Time;

const FABRIC: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\n\
                      host_rate = \"10Gbps\"\nuplink_rate = \"40Gbps\"\n[switch]\nbuffer = \"2MB\"\n";

fn assembled(transport: &str, more: &str) -> Assembled {
    let all = transports::registry().with(&models::hpcc::HPCC);
    let text = format!("{FABRIC}[transport]\nkind = \"{transport}\"\n{more}");
    load_text_with(&all, "a.toml", &text, &[])
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs it in windows on so many threads, and by an event queue where that is 0.
fn run(of: &Assembled, threads: u16) -> Outcome {
    let make = |config: &EndpointConfig| of.endpoint(config);
    let mut setup = of.setup(&make, threads.max(1));
    setup.digest = true;
    let outcome = match threads {
        0 => sim::oracle::run(&setup),
        _ => sim::run(&setup, &mut sim::Blind),
    };
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()));
    assert_eq!(outcome.unfinished, 0, "{:?}", outcome.stuck);
    assert_eq!(outcome.totals.nonsense, 0);
    outcome
}

const INCAST: &str = "[workload]\nkind = \"incast\"\nsenders = 7\nreceiver = 15\nsize = \"2MB\"\n[run]\nuntil = \"100ms\"\n";

/// Bytes that waited at the port to the receiver, on average over the second half of the run.
fn late_queue(more: &str) -> (f64, Time) {
    let sampled = format!("{more}{INCAST}[output]\nevery = \"10us\"\n");
    let of = assembled("hpcc-model", &sampled);
    let record = of.run(1, "", &mut scenario::Alone).unwrap();
    assert_eq!(record.totals.timeouts, 0);
    let drops: u64 = record.ports.iter().map(|port| port.dropped.sum()).sum();
    assert_eq!(drops, 0);
    let last = record
        .flows
        .iter()
        .filter_map(|flow| flow.end)
        .max()
        .unwrap();
    let busiest = record
        .ports
        .iter()
        .max_by_key(|port| port.queue_max)
        .unwrap();
    assert_eq!(busiest.to, "h15");
    let half = Time(last.0 / 2);
    let rows = record.port_series.iter();
    let late = rows.filter(|row| row.link == busiest.link && row.at > half && row.at < last);
    let queues: Vec<f64> = late.map(|row| row.queue as f64).collect();
    assert!(queues.len() > 50, "{}", queues.len());
    (queues.iter().sum::<f64>() / queues.len() as f64, last)
}

#[test]
fn hpcc_keeps_the_queue_near_empty_and_the_line_at_its_share() {
    let (queue, last) = late_queue("");
    let (blind, blind_last) = late_queue("[transport.hpcc-model]\nblind = true\n");
    // Seven windows of a round trip's bytes wait where nobody listens, but for what is on the way.
    assert!(
        blind > 60_000.0 && queue < blind / 10.0,
        "{queue} and {blind} B"
    );
    // Records and headers take their part of the line; of the rest HPCC leaves some 5 %.
    let share = blind_last.0 as f64 / last.0 as f64;
    assert!((0.85..1.0).contains(&share), "{share}");
}

#[test]
fn windows_threads_and_an_event_queue_see_every_record_alike() {
    let faults = "[[faults]]\nkind = \"loss\"\nlink = \"tor0 -> spine0\"\nchance = 0.01\n\
                  [[faults]]\nkind = \"duplicate\"\nlink = \"tor0 -> spine1\"\nchance = 0.05\n\
                  [[faults]]\nkind = \"reorder\"\nlink = \"spine1 -> tor1\"\nchance = 0.02\nby = \"5us\"\n";
    for faults in ["", faults] {
        let of = assembled("hpcc-model", &format!("{INCAST}{faults}"));
        let seen = [0, 1, 2].map(|threads| {
            let outcome = run(&of, threads);
            assert_eq!(outcome.totals.retransmitted > 0, !faults.is_empty());
            (outcome.fingerprint, outcome.digest)
        });
        assert!(seen.iter().all(|one| *one == seen[0]), "{seen:x?}");
    }
}

#[test]
fn records_beside_one_transport_do_not_touch_another() {
    let text = "[[workload]]\nkind = \"incast\"\nsenders = 3\nreceiver = 15\nsize = \"200KB\"\n[[workload]]\n\
                kind = \"incast\"\nsenders = 3\nreceiver = 14\nsize = \"200KB\"\ntransport = \"dctcp\"\n";
    let of = assembled("hpcc-model", text);
    let [one, two] = [1, 0].map(|threads| run(&of, threads));
    assert_eq!((one.fingerprint, one.digest), (two.fingerprint, two.digest));
}

/// Says on every link who it is, and checks that the switch before this one did, and no host.
struct Tagger {
    me: u16,
    speaks: bool,
    /// By ingress port: who is there, a host being nobody.
    neighbours: Vec<Option<u16>>,
    seen: Arc<AtomicU64>,
}

impl Tagger {
    fn new(topology: &Topology, node: NodeId, speaks: bool, seen: &Arc<AtomicU64>) -> Self {
        let ports = topology.nodes[node.index()].ports.iter();
        let neighbour = |&port: &topology::LinkId| {
            let at = topology.link(port).to;
            let is_switch = topology.nodes[at.index()].kind == NodeKind::Switch;
            is_switch.then(|| u16::try_from(at.index()).unwrap())
        };
        Self {
            me: u16::try_from(node.index()).unwrap(),
            speaks,
            neighbours: ports.map(neighbour).collect(),
            seen: Arc::clone(seen),
        }
    }

    fn look(&self, passage: &Passage<'_>) {
        let neighbour = self.neighbours[usize::from(passage.ingress)];
        assert_eq!(passage.tag, neighbour.filter(|_| self.speaks));
        self.seen
            .fetch_add(u64::from(passage.tag.is_some()), Ordering::Relaxed);
    }
}

impl FlowControl for Tagger {
    fn arrived(&mut self, _: Time, passage: &Passage<'_>, _: &mut Say) {
        self.look(passage);
    }
    fn left(&mut self, _: Time, passage: &Passage<'_>, _: &mut Say) {
        self.look(passage);
    }
    fn tag(&mut self, _: Time, _: &Passage<'_>) -> Option<u16> {
        self.speaks.then_some(self.me)
    }
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
}

#[test]
fn a_tag_is_of_one_link_and_changes_no_packet() {
    for transport in ["dctcp", "expresspass", "hpcc-model"] {
        let more = "[workload]\nkind = \"permutation\"\nsize = \"100KB\"\n[[faults]]\nkind = \
                    \"duplicate\"\nlink = \"tor0 -> spine0\"\nchance = 0.1\n";
        let of = assembled(transport, more);
        let make = |config: &EndpointConfig| of.endpoint(config);
        let seen = Arc::new(AtomicU64::new(0));
        let found = [true, false].map(|speaks| {
            let controls = |topology: &Topology, node: NodeId| -> Option<Box<dyn FlowControl>> {
                Some(Box::new(Tagger::new(topology, node, speaks, &seen)))
            };
            let mut setup = of.setup(&make, 2);
            setup.control = Some(&controls);
            setup.carries |= speaks;
            let tagged = sim::run(&setup, &mut sim::Blind).unwrap();
            assert_eq!((tagged.conservation, tagged.unfinished), (Ok(()), 0));
            tagged.fingerprint
        });
        assert_eq!(found[0], found[1], "{transport}");
        let seen = seen.load(Ordering::Relaxed);
        assert!(seen > 1000, "{transport}: {seen}");
    }
}

/// Every switch writes its part, on the longest way of a fabric of three stages.
#[test]
fn five_switches_write_their_hops_beside_a_packet() {
    let all = transports::registry().with(&models::hpcc::HPCC);
    let text = "[topology]\nkind = \"three-tier\"\npods = 2\ntors = 4\naggs = 4\ncores = 4\nhosts_per_tor = 2\n\
                [workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 7\nsize = \"146KB\"\n[transport]\n\
                kind = \"hpcc-model\"\n[switch]\nbuffer = \"2MB\"\n";
    let of = load_text_with(&all, "a.toml", text, &[]).and_then(Scenario::assemble);
    let of = of.unwrap_or_else(|e| panic!("{e}"));
    let [one, two, events] = [1, 2, 0].map(|threads| run(&of, threads));
    assert_eq!((one.fingerprint, one.digest), (two.fingerprint, two.digest));
    assert_eq!(
        (one.fingerprint, one.digest),
        (events.fingerprint, events.digest)
    );
    let record = of.run(1, "", &mut scenario::Alone).unwrap();
    let counters = results::Summary::of(&record).counters;
    let hops = counters
        .iter()
        .find(|counter| counter.name.contains("hops"));
    let hops = hops.unwrap_or_else(|| panic!("{counters:?}")).value;
    let mut last = record.ports.iter().filter(|port| port.to == "h7");
    let frames = last.next().unwrap().packets[Class::Plain];
    assert!(frames >= 100, "{frames}");
    // The last acknowledgement leaves after its connection has ended, and what it would have said with it.
    assert_eq!(hops, 5 * (frames - 1));
}

/// pHost's ACK, whose last word is free.
fn is_ack(packet: &Packet) -> bool {
    packet.class() == Class::Control && packet.kind() == 4
}

/// Says in the shared word of acknowledgements what the slowest line on its way so far carries, in units of 100 Mb/s.
struct Slowest(Vec<u32>);

impl FlowControl for Slowest {
    fn arrived(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    fn word(&mut self, _: Time, passage: &Passage<'_>) -> Option<u32> {
        let own = self.0[usize::from(passage.egress)];
        let so_far = passage.packet.shared();
        let least = if so_far == 0 { own } else { own.min(so_far) };
        is_ack(passage.packet).then_some(least)
    }
}

/// A rate that hosts and switches share: every switch may lower it, and who gets it finds the least.
#[test]
fn a_word_tells_of_the_slowest_line_on_the_way() {
    let text = "[workload]\nkind = \"incast\"\nsenders = 9\nreceiver = 15\nsize = \"30KB\"\n";
    let of = assembled("phost", text);
    let make = |config: &EndpointConfig| of.endpoint(config);
    let controls = |topology: &Topology, node: NodeId| -> Option<Box<dyn FlowControl>> {
        let ports = topology.nodes[node.index()].ports.iter();
        let rate = |&port: &topology::LinkId| {
            u32::try_from(topology.link(port).rate.0 / 100_000_000).unwrap()
        };
        Some(Box::new(Slowest(ports.map(rate).collect())))
    };
    let seen = [1, 2].map(|threads| {
        let mut setup = of.setup(&make, threads);
        setup.control = Some(&controls);
        setup.carries = true;
        let wanted = Wanted {
            conns: None,
            window: Time::ZERO..Time::NEVER,
            events_max: 1 << 20,
        };
        let (outcome, trace) = sim::trace(&setup, &mut sim::Blind, wanted).unwrap();
        assert_eq!((outcome.conservation, outcome.unfinished), (Ok(()), 0));
        let mut words = std::collections::BTreeMap::<(bool, u32), u32>::new();
        for event in &trace.unwrap().events {
            let Traced::Arrived(link) = event.what else {
                continue;
            };
            if is_ack(&event.packet) {
                let to = setup.topology.link(link).to;
                let is_host = setup.topology.nodes[to.index()].kind == NodeKind::Host;
                *words.entry((is_host, event.packet.shared())).or_default() += 1;
            }
        }
        words
    });
    assert_eq!(seen[0], seen[1]);
    let words: Vec<_> = seen[0].keys().copied().collect();
    // From hosts to switches nothing yet, between those 40 Gb/s, and to hosts the 10 of their line.
    assert_eq!(words, [(false, 0), (false, 400), (true, 100)]);
}
