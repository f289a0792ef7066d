//! Runs the window transport over one workload and prints packet-hops: for instruction counts of
//! the engine alone. `hops perm|incast|sparse HOSTS_K BYTES [priorities]`
#![allow(clippy::print_stdout, reason = "an example prints")]

use model::intent::{PortSpec, SwitchSpec};
use model::{Encap, Endpoint, EndpointConfig};
use sim::window_transport::Window;
use sim::{Blind, Probes, Setup};
use std::sync::Arc;
use topology::{FatTree, Routes, Spec};
use units::{Bytes, Rate, Span, Time};
use workload::{Conn, Message, Start, Traffic};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (pattern, k): (&str, u32) = (&args[1], args[2].parse().expect("k"));
    let size: u64 = args[3].parse().expect("bytes");
    let priorities: u8 = args
        .get(4)
        .map_or(1, |text| text.parse().expect("priorities"));
    let threads: u16 = args.get(5).map_or(1, |text| text.parse().expect("threads"));
    let spec = FatTree {
        k,
        hosts_per_edge: None,
        rate: Rate::gbps(100),
        delay: Span::us(1),
        host_extra_delay: Span::ZERO,
    };
    let topology = Spec::FatTree(spec).build().expect("a fat tree");
    let hosts = topology.hosts;
    let pairs: Vec<(u32, u32)> = match pattern {
        "perm" => (0..hosts)
            .map(|a| (a, (a + hosts / 2 + 1) % hosts))
            .collect(),
        "incast" => (1..=100).map(|a| (a, 0)).collect(),
        _ => (0..=hosts / 100).map(|a| (a * 7, hosts - 1 - a)).collect(),
    };
    let make = move |config: &EndpointConfig| {
        Box::new(Window::new(config, 64, priorities)) as Box<dyn Endpoint>
    };
    let port = Arc::new(PortSpec::fifo(Bytes(100_000_000)).prioritised(priorities));
    let setup = Setup {
        ports: vec![port; topology.links.len()],
        routes: Arc::new(Routes::new(&topology, &[])),
        topology,
        traffic: traffic(pairs, size),
        host_queues: false,
        make: &make,
        encap: Encap::PAPER,
        base_rtt: Span::us(12),
        control_rtt: Span::us(11),
        switch: SwitchSpec::default(),
        control: None,
        carries: false,
        faults: Vec::new(),
        probes: Probes::default(),
        seed: 1,
        until: Time::NEVER,
        threads,
        pass: true,
        ordered: false,
        digest: false,
    };
    let outcome = sim::run(&setup, &mut Blind).expect("a run");
    outcome.conservation.expect("conservation");
    println!(
        "{} hops, {} node-windows, {:016x}",
        outcome.hops, outcome.node_windows, outcome.fingerprint
    );
}

/// A message of `size` bytes from the first of each pair to the second, all at the same moment.
fn traffic(pairs: Vec<(u32, u32)>, size: u64) -> Traffic {
    let mut traffic = Traffic::default();
    for (conn, (a, b)) in (0..).zip(pairs) {
        traffic.conns.push(Conn {
            a,
            b,
            one_shot: true,
        });
        let start = Start::At(Time::ZERO);
        traffic.messages.push(Message {
            conn,
            from_a: true,
            size,
            start,
            stop: None,
            tag: 0,
        });
    }
    traffic
}
