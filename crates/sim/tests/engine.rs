//! The engine against the event queue, against itself on more threads, and its books.
//!
//! The event queue comes first: every discipline, hosts with queues, uneven and very long delays. Then threads, faults and runs
//! that are cut short, where every packet is accounted for. Then those who look: observers, probes, samples and traces change
//! nothing. Last messages that wait for others, and triggers.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use model::intent::{
    Balance, Limit, MarkAt, MarkSpec, Memory, Order, Over, PortSpec, QueueSpec, Share, SwitchSpec,
    Takes,
};
use model::{Encap, Endpoint, EndpointConfig, Rng, stream};
use sim::window_transport::Window;
use sim::{Blind, Outcome, Probes, Setup};
use std::sync::Arc;
use topology::{FatTree, LeafSpine, Routes, Spec, Topology};
use units::{Bytes, Rate, Span, Time};
use workload::{Conn, Message, Milestone, Start, Traffic, Trigger};

fn port(topology: &Topology, spec: &PortSpec) -> Vec<Arc<PortSpec>> {
    let spec = Arc::new(spec.clone());
    vec![spec; topology.links.len()]
}

fn plain() -> PortSpec {
    PortSpec::fifo(Bytes(100_000_000))
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
        routes: Arc::new(Routes::new(&topology, &[])),
        topology,
        traffic,
        host_queues: false,
        make: &window,
        encap: Encap::PAPER,
        base_rtt: Span::us(20),
        control_rtt: Span::us(19),
        switch: SwitchSpec::default(),
        control: None,
        carries: false,
        faults: Vec::new(),
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
fn disciplines() -> Vec<(&'static str, PortSpec, SwitchSpec)> {
    let mark = |at, chance, max| MarkSpec {
        min: Bytes(5_000),
        max: Bytes(max),
        chance,
        at,
        drop_others: false,
    };
    let alone = SwitchSpec::default();
    let shared = SwitchSpec {
        memory: Memory::Shared {
            size: Bytes(200_000_000),
            alpha: 1.0,
        },
        ..SwitchSpec::default()
    };
    let balanced = |balance| SwitchSpec {
        balance,
        ..SwitchSpec::default()
    };
    let gap = Span::us(3);
    let red = || plain().marking(mark(MarkAt::Enqueue, 0.5, 60_000));
    let late = || plain().marking(mark(MarkAt::Dequeue, 1.0, 5_000));
    let ordered = |order, over| {
        let mut port = PortSpec::fifo(Bytes(40_000));
        (port.queues[0].order, port.queues[0].over) = (order, over);
        port
    };
    vec![
        ("fifo", plain(), alone.clone()),
        ("red", red(), alone.clone()),
        ("late marks", late(), alone.clone()),
        ("priority", plain().prioritised(8), alone.clone()),
        (
            "legacy",
            plain().beside(1, &red(), Share::Bytes(30)),
            alone.clone(),
        ),
        ("trimming", trimming(), alone.clone()),
        ("ranks", ordered(Order::Rank, Over::PushOut), alone.clone()),
        (
            "flows in turn",
            ordered(Order::PerFlow, Over::Drop),
            alone.clone(),
        ),
        ("by packet", plain(), balanced(Balance::Packet)),
        ("by flowlet", plain(), balanced(Balance::Flowlet { gap })),
        ("adaptive", plain(), balanced(Balance::Adaptive)),
        ("adaptive, queued", late(), balanced(Balance::Adaptive)),
        ("shared", plain(), shared.clone()),
        ("shared priority", plain().prioritised(8), shared.clone()),
        ("shared trimming", trimming(), shared),
    ]
}

/// Those that lose packets here: what the window transport of these tests sends is not sent again.
const LOSSY: [&str; 4] = ["trimming", "ranks", "flows in turn", "shared trimming"];

/// Eight frames of data, cut by a fair coin to headers that are served ten to one, and sent back where
/// those have no room. [ndp s3.1]
fn trimming() -> PortSpec {
    let over = Over::Trim {
        to: 64,
        coin: true,
        bounce: true,
    };
    let headers = QueueSpec {
        takes: Takes {
            trimmed: Some(true),
            ..Takes::ALL
        },
        limit: Limit::Packets(40),
        group: 1,
        ..QueueSpec::DATA
    };
    let data = QueueSpec {
        limit: Limit::Packets(8),
        over,
        ..QueueSpec::DATA
    };
    PortSpec {
        buffer: Bytes(0),
        queues: vec![headers, data],
        shares: vec![Share::Packets(1), Share::Packets(10)],
    }
}

#[test]
fn the_engine_agrees_with_the_event_queue_for_every_discipline() {
    for (name, spec, shared) in disciplines() {
        for delay in [Span::us(1), Span::ns(50), Span::ZERO] {
            let topology = fat_tree(4, delay);
            let traffic = traffic(topology.hosts, 60, 40_000, Span::us(100), 3);
            let mut setup = setup(topology, traffic, &spec);
            setup.switch = shared.clone();
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
            setup.until = Time(41_654_321); // packets wait at FIFOs then
            let (cut, slow) = (run(&setup).ports, sim::oracle::run(&setup).unwrap().ports);
            assert_eq!(cut, slow, "{name}, {delay}, cut off");
            let busy = cut.iter().map(|port| port.busy_until.since(setup.until));
            assert!(busy.max() < Some(Span(1538 * 800)), "{name}, {delay}");
            setup.until = Time::NEVER;
            // Nobody takes down arrivals: ports that look at no other get theirs at once.
            (setup.ordered, setup.digest) = (false, false);
            let expected = (expected.0, 0, expected.2);
            for pass in [true, false] {
                setup.pass = pass;
                assert_eq!(print(&run(&setup)), expected, "{name}, {delay}, undigested");
            }
        }
    }
}

#[test]
fn a_host_with_a_queue_drops_as_a_port_does() {
    let topology = fat_tree(4, Span::us(1));
    let traffic = traffic(topology.hosts, 60, 40_000, Span::us(100), 3);
    let mut setup = setup(topology, traffic, &PortSpec::fifo(Bytes(20_000)));
    let without = run(&setup);
    setup.host_queues = true;
    let with = run(&setup);
    let hosts = |outcome: &Outcome| {
        let links = outcome.ports.iter().zip(&setup.topology.links);
        let of_hosts = links.filter(|(_, link)| setup.topology.is_host(link.from));
        of_hosts.fold((0, 0), |(dropped, most), (port, _)| {
            (dropped + port.dropped.sum(), port.queue_max.max(most))
        })
    };
    assert_eq!(hosts(&without), (0, 0));
    // Sixteen packets of a window at once: 13 full frames have room.
    let (dropped, most) = hosts(&with);
    assert!(dropped > 0, "{dropped} dropped");
    assert!((18_400..=20_000).contains(&most), "{most} B");
    let expected = print(&with);
    assert_eq!(expected, print(&sim::oracle::run(&setup).unwrap()));
    setup.threads = 3;
    assert_eq!(expected, print(&run(&setup)));
}

#[test]
fn a_queue_of_a_host_does_not_do_what_is_not_known_at_arrival() {
    let late = plain().marking(MarkSpec {
        min: Bytes(5_000),
        max: Bytes(5_000),
        chance: 1.0,
        at: MarkAt::Dequeue,
        drop_others: false,
    });
    let topology = fat_tree(4, Span::us(1));
    let traffic = traffic(topology.hosts, 1, 4_000, Span::us(1), 3);
    let mut setup = setup(topology, traffic, &late);
    assert!(sim::run(&setup, &mut Blind).is_ok());
    setup.host_queues = true;
    let said = sim::run(&setup, &mut Blind).unwrap_err().to_string();
    assert!(said.contains("their ports ask for more"), "{said}");
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
        setup.switch = shared.clone();
        let outcome = run(&setup);
        assert_eq!(outcome.unfinished > 0, LOSSY.contains(&name), "{name}");
        assert_eq!(
            print(&outcome),
            print(&sim::oracle::run(&setup).unwrap()),
            "{name}"
        );
    }
}

/// Longer than moments of one window have bits: packets of all hosts meet at a switch within such a time.
#[test]
fn links_of_seconds_agree_too() {
    for (name, spec, shared) in disciplines() {
        for delay in [Span::ms(600), Span::ms(3_000), Span::ms(90_000)] {
            let topology = fat_tree(4, delay);
            let traffic = traffic(topology.hosts, 60, 40_000, Span::ms(8_000), 3);
            let mut setup = setup(topology, traffic, &spec);
            setup.switch = shared.clone();
            setup.base_rtt = delay.times(12);
            let expected = print(&sim::oracle::run(&setup).unwrap());
            assert_eq!(print(&run(&setup)), expected, "{name}, {delay}");
            setup.digest = false;
            let expected = (expected.0, 0, expected.2);
            assert_eq!(print(&run(&setup)), expected, "{name}, {delay}, undigested");
        }
    }
}

#[test]
fn threads_change_nothing() {
    for (name, spec, shared) in disciplines() {
        let topology = fat_tree(8, Span::us(1));
        let traffic = traffic(topology.hosts, 400, 60_000, Span::us(50), 9);
        let mut setup = setup(topology, traffic, &spec);
        setup.switch = shared.clone();
        let expected = print(&run(&setup));
        for threads in [2, 3, 7, 16] {
            setup.threads = threads;
            assert_eq!(print(&run(&setup)), expected, "{name}, {threads} threads");
        }
        setup.digest = false;
        let expected = (expected.0, 0, expected.2);
        for threads in [1, 2, 3, 7] {
            setup.threads = threads;
            assert_eq!(print(&run(&setup)), expected, "{name}, {threads} threads");
        }
    }
}

/// Keeps what it is shown.
#[derive(Default)]
struct Notes {
    completed: Vec<sim::Completion>,
    ports: Vec<sim::PortSample>,
    flows: Vec<sim::FlowSample>,
    stop_after: Option<u64>,
}

impl sim::Observer for Notes {
    fn progress(&mut self, _: Time, hops: u64, _: u64, _: u64) -> bool {
        self.stop_after.is_none_or(|limit| hops < limit)
    }
    fn completed(&mut self, batch: &[sim::Completion]) {
        self.completed.extend(batch);
    }
    fn ports(&mut self, batch: &[sim::PortSample]) {
        self.ports.extend(batch);
    }
    fn flows(&mut self, batch: &[sim::FlowSample]) {
        self.flows.extend(batch);
    }
}

fn every_kind_of_fault(topology: &Topology) -> Vec<sim::Fault> {
    use sim::FaultKind::{Corrupt, Down, Duplicate, Loss, Reorder};
    let kinds = [
        Loss {
            ppb: 20_000_000,
            only: None,
            most: None,
        },
        Loss {
            ppb: 500_000_000,
            only: Some(model::Class::Control),
            most: Some(20),
        },
        Corrupt { ppb: 20_000_000 },
        Duplicate { ppb: 50_000_000 },
        Reorder {
            ppb: 50_000_000,
            by: Span::us(3),
        },
        Down {
            detect: Span::us(2),
        },
    ];
    let links = (0..).step_by(5).map(topology::LinkId);
    let within = |link| sim::Fault {
        link,
        from: Time(20_000_000),
        until: Time(60_000_000),
        kind: kinds[0],
    };
    let mut faults: Vec<_> = links
        .take_while(|l| l.index() < topology.links.len())
        .map(within)
        .collect();
    for (fault, kind) in faults.iter_mut().zip(kinds.iter().cycle()) {
        fault.kind = *kind;
    }
    faults
}

#[test]
fn every_packet_is_accounted_for_whatever_breaks_and_on_any_number_of_threads() {
    for (name, spec, shared) in disciplines() {
        let topology = fat_tree(4, Span::us(1));
        let traffic = traffic(topology.hosts, 60, 200_000, Span::us(50), 11);
        let mut setup = setup(topology, traffic, &spec);
        setup.switch = shared.clone();
        setup.faults = every_kind_of_fault(&setup.topology);
        let outcome = run(&setup);
        let lost: u64 = outcome.ports.iter().map(|port| port.lost.sum()).sum();
        let copied: u64 = outcome.ports.iter().map(|port| port.copied.sum()).sum();
        assert!(
            lost > 100 && copied > 10,
            "{name}: {lost} lost, {copied} copied"
        );
        let expected = print(&outcome);
        for threads in [2, 5] {
            setup.threads = threads;
            assert_eq!(print(&run(&setup)), expected, "{name}, {threads} threads");
        }
        setup.digest = false;
        assert_eq!(print(&run(&setup)), (expected.0, 0, expected.2), "{name}");
    }
}

#[test]
fn a_run_that_is_cut_short_accounts_for_what_is_on_its_way() {
    let topology = fat_tree(4, Span::us(1));
    let traffic = traffic(topology.hosts, 60, 200_000, Span::us(50), 13);
    for (name, spec, shared) in disciplines() {
        let mut setup = setup(topology.clone(), traffic.clone(), &spec);
        (setup.switch, setup.until) = (shared, Time(33_333_333));
        let outcome = run(&setup);
        assert!(
            outcome.unfinished > 0 && outcome.end < setup.until,
            "{name}"
        );
        print(&outcome);
        assert_eq!(outcome.stuck.is_empty(), outcome.unfinished == 0);
    }
}

#[test]
fn an_observer_may_stop_a_run() {
    let topology = fat_tree(8, Span::us(1));
    let traffic = traffic(topology.hosts, 300, 2_000_000, Span::us(10), 17);
    let setup = setup(topology, traffic, &plain());
    let mut notes = Notes {
        stop_after: Some(1),
        ..Notes::default()
    };
    let outcome = sim::run(&setup, &mut notes).unwrap();
    assert!(outcome.interrupted && outcome.unfinished > 0);
    print(&outcome);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one look at all that was seen")]
fn probes_and_completions_are_the_same_on_any_number_of_threads_and_change_nothing() {
    for (name, spec, shared) in disciplines() {
        let topology = fat_tree(4, Span::us(1));
        let traffic = traffic(topology.hosts, 60, 100_000, Span::us(50), 19);
        let mut setup = setup(topology, traffic, &spec);
        setup.switch = shared.clone();
        let outcome = run(&setup);
        let (unseen, ended, done) = (
            print(&outcome),
            outcome.end,
            outcome.messages.len() as u64 - outcome.unfinished,
        );
        setup.probes = Probes {
            every: Some(Span::ns(3_700)),
            links: Vec::new(),
            flows: true,
            accepted: false,
            received: None,
            data_queues: false,
            memory: false,
            window: Some(Time(7_000_001)..Time(31_000_000)),
        };
        let watch = |setup: &Setup<'_>| {
            let mut notes = Notes::default();
            let outcome = sim::run(setup, &mut notes).unwrap();
            (
                print(&outcome),
                notes.completed,
                notes.ports,
                notes.flows,
                outcome.end,
                outcome.counted,
            )
        };
        let seen = watch(&setup);
        let sent = |ports: &sim::Tally| -> u64 { ports.iter().map(|port| port.bytes.sum()).sum() };
        let (part, whole) = (sent(&seen.5), sent(&outcome.ports));
        assert!(
            (whole / 10..whole).contains(&part),
            "{name}: {part} of {whole}"
        );
        assert_eq!(seen.0, unseen, "{name}");
        assert_eq!(seen.4, ended, "{name}: looking changes when a run ends");
        assert_eq!(seen.1.len() as u64, done);
        assert!(seen.1.windows(2).all(|pair| pair[0].end <= pair[1].end));
        // 20 switches of 4 ports each, once per interval until nothing happens any more.
        assert!(
            seen.2.len() as u64 / 80 >= seen.4.0 / 3_700_000 - 1,
            "{} samples",
            seen.2.len()
        );
        assert!(
            seen.2
                .windows(2)
                .all(|pair| (pair[0].at, pair[0].link) < (pair[1].at, pair[1].link))
        );
        assert!(
            seen.2.iter().any(|sample| sample.queue > 3_000),
            "{name}: nothing ever waited"
        );
        let total: u64 = setup
            .traffic
            .messages
            .iter()
            .map(|message| message.size)
            .sum();
        let last = seen.3.last().unwrap().at;
        let received: u64 = seen
            .3
            .iter()
            .filter(|s| s.at == last)
            .map(|s| s.received)
            .sum();
        assert!(
            received > total / 2 && received <= total,
            "{received} of {total}"
        );
        setup.threads = 3;
        assert!(watch(&setup) == seen, "{name}");
    }
}

#[test]
fn samples_of_chosen_lines_lead_to_the_counters_of_their_ports_at_hosts_too() {
    let spec = PortSpec::fifo(Bytes(10_000));
    let topology = fat_tree(4, Span::us(1));
    let traffic = traffic(topology.hosts, 60, 40_000, Span::us(100), 3);
    let mut setup = setup(topology, traffic, &spec);
    let links = 0..u32::try_from(setup.topology.links.len()).unwrap();
    setup.probes = Probes {
        every: Some(Span::us(5)),
        links: links.map(topology::LinkId).collect(),
        ..Probes::default()
    };
    let mut notes = Notes::default();
    let outcome = sim::run(&setup, &mut notes).unwrap();
    let (mut dropped, mut sent) = (0, 0);
    for (link, port) in (0..).map(topology::LinkId).zip(outcome.ports.iter()) {
        let mut of_link = notes.ports.iter().filter(|sample| sample.link == link);
        let counters = |s: &&sim::PortSample| (s.dropped.sum(), s.sent.sum());
        assert!(of_link.clone().is_sorted_by_key(|s| s.dropped.sum()));
        let (first, last) = (
            of_link.clone().next().unwrap(),
            of_link.next_back().unwrap(),
        );
        assert_eq!(last.dropped, port.dropped, "{link:?}");
        // Farewells may follow the last sample.
        let (before, after) = (last.sent.sum(), port.bytes.sum());
        assert!((0..=2_000).contains(&(after - before)), "{link:?}");
        assert!(counters(&first) < counters(&last), "{link:?}: all at once");
        let host = setup.topology.is_host(setup.topology.link(link).from);
        sent += u64::from(host) * last.sent.sum();
        dropped += last.dropped.sum();
    }
    assert!(dropped > 10, "{dropped}");
    assert!(sent > 60 * 1_000, "{sent} B of hosts");
}

#[test]
fn a_message_that_waits_for_another_starts_when_that_one_has_arrived() {
    let topology = fat_tree(4, Span::us(1));
    let message = |conn, from_a, start| Message {
        conn,
        from_a,
        size: 5_000,
        start,
        stop: None,
        tag: 0,
    };
    let traffic = Traffic {
        conns: vec![
            Conn {
                a: 0,
                b: 9,
                one_shot: true,
            },
            Conn {
                a: 9,
                b: 0,
                one_shot: true,
            },
        ],
        messages: vec![
            message(0, true, Start::At(Time(1_000_000))),
            message(
                1,
                true,
                Start::After {
                    message: 0,
                    delay: Span::us(2),
                },
            ),
        ],
        ..Traffic::default()
    };
    let outcome = run(&setup(topology.clone(), traffic.clone(), &plain()));
    assert_eq!(
        outcome.messages[1].start,
        outcome.messages[0].end.map(|at| at + Span::us(2))
    );
    assert!(outcome.messages[1].end.is_some());
    // A host cannot know at once what happened at another.
    let mut elsewhere = traffic;
    elsewhere.conns[1].a = 3;
    let error = sim::run(&setup(topology, elsewhere, &plain()), &mut Blind).unwrap_err();
    assert!(
        error.to_string().contains("message 1 starts at host 3"),
        "{error}"
    );
}

#[test]
fn a_trace_changes_nothing_and_is_the_same_on_any_number_of_threads() {
    let topology = fat_tree(4, Span::us(1));
    let traffic = traffic(topology.hosts, 80, 60_000, Span::us(20), 9);
    // Little room, so that drops are in it too.
    let mut setup = setup(topology, traffic, &PortSpec::fifo(Bytes(20_000)));
    setup.until = Time(2_000_000_000);
    let expected = print(&run(&setup));
    let wanted = |events_max| sim::Wanted {
        conns: None,
        window: Time::ZERO..Time::NEVER,
        events_max,
    };
    let (outcome, trace) = sim::trace(&setup, &mut Blind, wanted(u64::MAX)).unwrap();
    let trace = trace.unwrap();
    assert!(trace.pauses.is_empty(), "no flow control");
    let trace = trace.events;
    assert_eq!(print(&outcome), expected);
    let arrivals = |e: &&sim::TraceEvent| matches!(e.what, sim::Traced::Arrived(_));
    assert_eq!(
        trace.iter().filter(arrivals).count() as u64,
        outcome.hops,
        "one for every hop"
    );
    let dropped: u64 = outcome.ports.iter().map(|port| port.dropped.sum()).sum();
    assert_eq!(trace.len() as u64, outcome.hops + dropped);
    assert!(dropped > 0 && trace.is_sorted_by_key(|event| event.packet.at));
    for threads in [2, 5] {
        setup.threads = threads;
        let (_, again) = sim::trace(&setup, &mut Blind, wanted(u64::MAX)).unwrap();
        let again = again.unwrap().events;
        assert!(again == trace, "{threads} threads");
    }
    let few = Some(vec![3, 7]);
    let some = sim::Wanted {
        conns: few.clone(),
        window: Time(4_000_000)..Time(9_000_000),
        events_max: u64::MAX,
    };
    let (_, part) = sim::trace(&setup, &mut Blind, some.clone()).unwrap();
    let part = part.unwrap().events;
    let inside = |event: &&sim::TraceEvent| {
        some.window.contains(&event.packet.at)
            && few.iter().flatten().any(|&c| c == event.packet.conn.0)
    };
    assert!(!part.is_empty() && part.iter().eq(trace.iter().filter(inside)));
    let (refused, none) = sim::trace(&setup, &mut Blind, wanted(100)).unwrap();
    assert_eq!(print(&refused), print(&run(&setup)));
    assert_eq!(none.unwrap_err().packets, trace.len() as u64);
}

/// Rounds of random messages; each round starts with a trigger that the one before fires: a first
/// one, a barrier of all, and one message per firing in turn.
fn rounds(hosts: u32) -> Traffic {
    let mut all = traffic(hosts, 60, 20_000, Span::us(30), 3);
    let size = all.messages.len() / 4;
    for (round, nth) in [(1, 0), (2, size), (3, 1)] {
        let last = size * (round - 1)..size * round;
        let done = if round == 2 {
            Milestone::Sent
        } else {
            Milestone::Received
        };
        let causes = last
            .map(|number| (u32::try_from(number).unwrap(), done))
            .collect();
        all.triggers.push(Trigger { causes });
        for place in 0..size {
            let turn = if nth == 0 { place + 1 } else { nth };
            all.messages[size * round + place].start = Start::Fired {
                trigger: u32::try_from(round - 1).unwrap(),
                nth: u32::try_from(turn).unwrap(),
                delay: Span::ZERO,
            };
        }
    }
    all.tags = vec!["rounds".into()];
    all.arranged().unwrap()
}

#[test]
fn triggers_release_messages_whoever_fires_them_and_on_any_number_of_threads() {
    let topology = fat_tree(4, Span::us(1));
    let traffic = rounds(topology.hosts);
    let base = setup(topology, traffic.clone(), &plain());
    let outcome = run(&base);
    assert!(
        outcome.messages.iter().all(|m| m.end.is_some()),
        "all of them start and end"
    );
    let oracle = sim::oracle::run(&base).unwrap();
    assert_eq!(print(&outcome), print(&oracle));
    for threads in [2, 3] {
        let on = Setup {
            threads,
            ..setup(fat_tree(4, Span::us(1)), traffic.clone(), &plain())
        };
        assert_eq!(print(&run(&on)), print(&outcome), "{threads} threads");
    }
    // The n-th firing and what it releases are one window apart: a 1 us link and a frame of 64 B.
    let news = Span::us(1) + Span(64 * 80);
    for (number, message) in traffic.messages.iter().enumerate() {
        let Start::Fired { trigger, nth, .. } = message.start else {
            continue;
        };
        let causes = &traffic.triggers[trigger as usize].causes;
        if causes.iter().any(|cause| cause.1 == Milestone::Sent) {
            continue; // only the transport knows when
        }
        let mut ends: Vec<Time> = causes
            .iter()
            .map(|&(cause, _)| outcome.messages[cause as usize].end.unwrap())
            .collect();
        ends.sort_unstable();
        let fired = ends[nth as usize - 1];
        assert_eq!(
            outcome.messages[number].start,
            Some(fired + news),
            "message {number}"
        );
    }
}

#[test]
fn a_host_waits_for_its_own_messages_without_delay() {
    let conn = |a, b| Conn {
        a,
        b,
        one_shot: true,
    };
    let message = |conn, start| Message {
        conn,
        from_a: true,
        size: 5_000,
        start,
        stop: None,
        tag: 0,
    };
    let waits = Start::Fired {
        trigger: 0,
        nth: 2,
        delay: Span::ZERO,
    };
    let traffic = Traffic {
        conns: vec![conn(1, 0), conn(9, 0), conn(0, 5)],
        messages: vec![
            message(0, Start::At(Time::ZERO)),
            message(1, Start::At(Time::ZERO)),
            message(2, waits),
        ],
        tags: vec!["x".into()],
        triggers: vec![Trigger {
            causes: vec![(0, Milestone::Received), (1, Milestone::Received)],
        }],
    };
    let base = setup(fat_tree(4, Span::us(1)), traffic, &plain());
    let outcome = run(&base);
    let ends = [0, 1].map(|m| outcome.messages[m].end);
    assert_eq!(outcome.messages[2].start, ends.into_iter().max().unwrap());
    assert_eq!(print(&outcome), print(&sim::oracle::run(&base).unwrap()));
}
