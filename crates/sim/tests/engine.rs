//! The engine against the event queue, against itself on more threads, and its books.

use model::intent::{MarkAt, MarkSpec, PortSpec};
use model::{Encap, Endpoint, EndpointConfig, Rng, stream};
use sim::window_transport::Window;
use sim::{Blind, Outcome, Probes, Setup, SharedBuffer};
use topology::{FatTree, LeafSpine, Spec, Topology};
use units::{Bytes, Rate, Span, Time};
use workload::{Conn, Message, Start, Traffic};

fn port(topology: &Topology, spec: &PortSpec) -> Vec<PortSpec> {
    vec![spec.clone(); topology.links.len()]
}

fn plain() -> PortSpec {
    PortSpec {
        buffer: Bytes(100_000_000),
        credit: None,
        mark: None,
        drop: None,
        priorities: 1,
    }
}

fn fat_tree(k: u16, delay: Span) -> Topology {
    let rate = Rate::gbps(100);
    let spec = FatTree {
        k: k.into(),
        hosts_per_edge: None,
        rate,
        delay,
        host_extra_delay: Span::ZERO,
    };
    Spec::FatTree(spec).build().unwrap()
}

/// `flows` messages between random hosts, started within `within`.
fn traffic(hosts: u32, flows: u32, size: u64, within: Span, seed: u64) -> Traffic {
    let mut rng = Rng::stream(seed, stream::TEST, 0);
    let mut traffic = Traffic::default();
    let mut starts: Vec<u64> = (0..flows).map(|_| rng.below(within.0 + 1)).collect();
    starts.sort_unstable();
    for (conn, at) in (0..).zip(starts) {
        let a = u32::try_from(rng.below(u64::from(hosts))).unwrap();
        let b = (a + 1 + u32::try_from(rng.below(u64::from(hosts - 1))).unwrap()) % hosts;
        traffic.conns.push(Conn {
            a,
            b,
            one_shot: true,
        });
        let start = Start::At(Time(at));
        let size = 1 + rng.below(2 * size);
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

fn window(config: &EndpointConfig) -> Box<dyn Endpoint> {
    Box::new(Window::new(config, 16, 8))
}

fn setup(topology: Topology, traffic: Traffic, spec: &PortSpec) -> Setup<'static> {
    Setup {
        ports: port(&topology, spec),
        topology,
        traffic,
        make: &window,
        encap: Encap::PAPER,
        base_rtt: Span::us(20),
        shared_buffer: None,
        faults: Vec::new(),
        spray: false,
        probes: Probes::default(),
        seed: 1,
        until: Time::NEVER,
        threads: 1,
        pass: true,
        ordered: false,
        digest: true,
    }
}

fn run(setup: &Setup<'_>) -> Outcome {
    sim::run(setup, &mut Blind).unwrap()
}

fn print(outcome: &Outcome) -> (u64, u64, u64) {
    assert_eq!(outcome.conservation, Ok(()));
    (outcome.fingerprint, outcome.digest, outcome.hops)
}

/// Every discipline that a port can be built of, coupled and not.
fn disciplines() -> Vec<(&'static str, PortSpec, Option<SharedBuffer>)> {
    let mark = |at, chance, max| {
        Some(MarkSpec {
            min: Bytes(5_000),
            max: Bytes(max),
            chance,
            at,
            drop_others: false,
        })
    };
    let shared = Some(SharedBuffer {
        size: Bytes(200_000_000),
        alpha: 1.0,
    });
    vec![
        ("fifo", plain(), None),
        (
            "red",
            PortSpec {
                mark: mark(MarkAt::Enqueue, 0.5, 60_000),
                ..plain()
            },
            None,
        ),
        (
            "late marks",
            PortSpec {
                mark: mark(MarkAt::Dequeue, 1.0, 5_000),
                ..plain()
            },
            None,
        ),
        (
            "priority",
            PortSpec {
                priorities: 8,
                ..plain()
            },
            None,
        ),
        ("shared", plain(), shared),
        (
            "shared priority",
            PortSpec {
                priorities: 8,
                ..plain()
            },
            shared,
        ),
    ]
}

#[test]
fn the_engine_agrees_with_the_event_queue_for_every_discipline() {
    for (name, spec, shared) in disciplines() {
        for delay in [Span::us(1), Span::ns(50), Span::ZERO] {
            let topology = fat_tree(4, delay);
            let traffic = traffic(topology.hosts, 60, 40_000, Span::us(100), 3);
            let mut setup = setup(topology, traffic, &spec);
            setup.shared_buffer = shared;
            let expected = print(&sim::oracle::run(&setup).unwrap());
            for pass in [true, false] {
                setup.pass = pass;
                assert_eq!(
                    print(&run(&setup)),
                    expected,
                    "{name}, {delay}, pass {pass}"
                );
            }
            setup.ordered = true;
            assert_eq!(print(&run(&setup)), expected, "{name}, {delay}, ordered");
        }
    }
}

#[test]
fn incast_and_mixed_delays_agree_too() {
    let spec = LeafSpine {
        leaves: 4,
        spines: 2,
        hosts_per_leaf: 8,
        host_rate: Rate::gbps(100),
        uplink_rate: Rate::gbps(400),
        host_delay: Span::ns(200),
        uplink_delay: Span::us(20),
        host_extra_delay: Span::us(1),
    };
    let topology = Spec::LeafSpine(spec).build().unwrap();
    let mut traffic = traffic(topology.hosts, 31, 100_000, Span::ZERO, 5);
    for (conn, a) in traffic.conns.iter_mut().zip(1..) {
        (conn.a, conn.b) = (a, 0);
    }
    for (name, spec, shared) in disciplines() {
        let mut setup = setup(topology.clone(), traffic.clone(), &spec);
        setup.shared_buffer = shared;
        let outcome = run(&setup);
        assert_eq!(outcome.unfinished, 0);
        assert_eq!(
            print(&outcome),
            print(&sim::oracle::run(&setup).unwrap()),
            "{name}"
        );
    }
}

#[test]
fn threads_change_nothing() {
    for (name, spec, shared) in disciplines() {
        let topology = fat_tree(8, Span::us(1));
        let traffic = traffic(topology.hosts, 400, 60_000, Span::us(50), 9);
        let mut setup = setup(topology, traffic, &spec);
        setup.shared_buffer = shared;
        let expected = print(&run(&setup));
        for threads in [2, 3, 7, 16] {
            setup.threads = threads;
            assert_eq!(print(&run(&setup)), expected, "{name}, {threads} threads");
        }
    }
}
