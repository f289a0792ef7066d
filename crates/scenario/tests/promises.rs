//! What tidegate promises of every run, whichever transport it is of.

mod common;

use common::assembled;
use model::Class;
use results::{RunRecord, Status};
use scenario::{Alone, Assembled, Scenario, load_text};
use std::fmt::Write as _;

fn text(scenario: &str, sets: &[&str]) -> Assembled {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    load_text("a.toml", scenario, &sets)
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(run: &Assembled, threads: u16) -> RunRecord {
    run.run(threads, "", &mut Alone)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Small fabrics with much to decide in them.
const SCENARIOS: [(&str, &[&str]); 4] = [
    ("incast", &["workload.size=20KB"]),
    ("permutation", &["workload.size=100KB", "topology.spines=2"]),
    ("xpass-fat-tree", &["workload.messages=150"]),
    ("dumbbell", &[]),
];

#[test]
fn windows_and_an_event_queue_see_every_packet_alike_under_every_transport() {
    for (name, sets) in SCENARIOS {
        for transport in transports::registry().iter() {
            let kind = format!("transport.kind={}", transport.name());
            let sets = [sets, &[kind.as_str(), "run.until=400us", "output.every=0s"]].concat();
            let run = assembled(name, &sets);
            let factory = &run.scenario.factory;
            let make = |config: &model::EndpointConfig| factory.make(config);
            let mut setup = run.setup(&make, 1);
            setup.digest = true;
            let engine = sim::run(&setup, &mut sim::Blind).unwrap();
            let oracle = sim::oracle::run(&setup).unwrap();
            let name = format!("{name} with {}", transport.name());
            assert!(engine.hops > 900, "{name}: {} hops", engine.hops);
            assert_eq!(
                (engine.digest, engine.fingerprint, engine.hops),
                (oracle.digest, oracle.fingerprint, oracle.hops),
                "{name}"
            );
        }
    }
}

/// Runs it and holds every port against the bound that `check` prints. Returns the largest queue.
fn within_bounds(name: &str, of: &Assembled) -> u64 {
    let bounds = of.queue_bounds().expect("ExpressPass has a bound");
    let messages = of.traffic.messages.len() as u64;
    let buffers: Vec<u64> = of.ports.iter().map(|port| port.buffer.0).collect();
    let record = run(of, 1);
    assert_eq!(record.status, Status::Complete, "{name}");
    let switches = || record.ports.iter().filter(|port| !port.of_host());
    for port in switches() {
        // A request or a stop of each message, all at once.
        let bound = bounds[port.link as usize].0 + 84 * messages;
        let buffer = buffers[port.link as usize];
        assert!(bound <= buffer, "{name}: {bound} B do not fit");
        let port_name = port.name();
        assert!(
            port.queue_max <= bound,
            "{name}: {} B of {bound} at {port_name}",
            port.queue_max
        );
        assert_eq!(
            port.dropped[Class::Scheduled],
            0,
            "{name}: {port_name} dropped scheduled packets"
        );
    }
    switches().map(|port| port.queue_max).max().unwrap_or(0)
}

#[test]
fn what_waits_in_an_incast_stays_below_the_bound() {
    for size in ["2KB", "64KB", "300KB"] {
        let size = format!("workload.size={size}");
        let most = within_bounds(&size, &assembled("incast", &[&size]));
        assert!(most > 1538, "{size}: {most} B");
    }
}

#[test]
fn long_flows_one_way_and_both_ways_lose_nothing() {
    for (flows, both) in [
        (8, false),
        (8, true),
        (64, false),
        (64, true),
        (256, false),
        (256, true),
    ] {
        let forth = (0..flows).map(|n| format!("\"{n} -> {}\"", flows + n));
        let back = (0..flows).map(|n| format!("\"{} -> {n}\"", flows + n));
        let pairs: Vec<_> = forth.chain(back.filter(|_| both)).collect();
        let scenario = format!(
            "[topology]\nkind = \"dumbbell\"\npairs = {flows}\nhost_rate = \"10Gbps\"\n\
             bottleneck_rate = \"10Gbps\"\nhost_delay = \"4us\"\nbottleneck_delay = \"4us\"\n\
             [workload]\nkind = \"long-flows\"\npairs = [{}]\n\
             [run]\nuntil = \"10ms\"\n[output]\nevery = \"0s\"\n",
            pairs.join(", ")
        );
        let name = format!("{flows} flows, both ways: {both}");
        within_bounds(&name, &text(&scenario, &[]));
    }
}

#[test]
fn threads_and_the_order_of_keys_change_no_fingerprint() {
    let topology =
        "[topology]\nkind = \"leaf-spine\"\nleaves = 6\nspines = 3\nhosts_per_leaf = 8\n";
    let workload =
        "[[workload]]\nkind = \"random\"\nload = 0.3\nsizes = \"web-server\"\nmessages = 150\n";
    let turned = "[[workload]]\nmessages = 150\nload = 0.3\nsizes = \"web-server\"\nkind = \"random\"\n\
                  [topology]\nspines = 3\nhosts_per_leaf = 8\nleaves = 6\nkind = \"leaf-spine\"\n";
    for transport in transports::registry().iter() {
        let kind = format!("transport.kind={}", transport.name());
        let print = |scenario: &str, threads| run(&text(scenario, &[&kind]), threads).fingerprint;
        let one = print(&format!("{topology}{workload}"), 1);
        assert_eq!(print(turned, 1), one, "{kind}: keys in another order");
        for threads in [2, 3, 7, 16] {
            assert_eq!(print(turned, threads), one, "{kind}: {threads} threads");
        }
    }
}

/// One fingerprint per line: what ran, and what came of it. Debug builds and release builds, and
/// every machine, must find the same; `TIDEGATE_UPDATE=1` writes the file anew, and the commit
/// says what changed the results.
#[test]
fn fingerprints_are_those_on_record() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints.txt");
    let mut lines = String::new();
    for (name, sets) in SCENARIOS {
        for transport in transports::registry().iter() {
            let kind = format!("transport.kind={}", transport.name());
            let sets = [sets, &[kind.as_str(), "run.until=2ms"]].concat();
            let print = run(&assembled(name, &sets), 1).fingerprint;
            let _ = writeln!(lines, "{print:016x} {name} --set {}", sets.join(" --set "));
        }
    }
    if std::env::var_os("TIDEGATE_UPDATE").is_some() {
        std::fs::write(path, &lines).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), lines);
}

/// Ports whose flow control pauses queues have one of their own for control packets, which are never paused. What a sender says
/// of its data must not come before that: a STOP or a PROBE that did would call what is on its way lost, and a request that
/// passed a STOP would be taken back by it.
#[test]
fn what_a_sender_says_of_its_data_stays_behind_it_where_control_packets_pass() {
    for control in ["ideal", "bfc", "aquarius"] {
        for (from, smaller) in [
            ("incast-rr", "workload.rounds=4"),
            ("all-to-all", "topology.leaves=2"),
        ] {
            for (kind, may_drop) in [
                ("expresspass", false),
                ("expresspass+aeolus", true),
                ("expresspass+ssp", true),
            ] {
                let sets = [
                    format!("switch.flow_control={control}"),
                    format!("transport.kind={kind}"),
                    "output.every=0s".to_owned(),
                    smaller.to_owned(),
                ];
                let run = assembled(from, &sets.each_ref().map(String::as_str));
                let record = run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
                let (totals, what) = (&record.totals, format!("{kind}, {control}, {from}"));
                let data = [Class::Scheduled, Class::Unscheduled];
                let lost: u64 = record
                    .ports
                    .iter()
                    .flat_map(|port| data.map(|class| port.dropped[class]))
                    .sum();
                assert_eq!(totals.timeouts, 0, "{what}");
                assert!(
                    totals.retransmitted <= lost + 2,
                    "{what}: {} for {lost}",
                    totals.retransmitted
                );
                assert_eq!(lost > 0, may_drop, "{what}");
            }
        }
    }
}
