//! Two sides of a fabric that take turns, against all nodes at once.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use model::intent::{PortSpec, SwitchSpec};
use model::{
    Class, ConnId, Cx, Encap, Endpoint, EndpointConfig, HostId, Lifetime, Packet, Rng, StuckFlow,
    Totals, Transmit, stream,
};
use sim::window_transport::Window;
use sim::{Blind, Completion, FlowSample, Observer, PortSample, Probes, Setup};
use std::sync::Arc;
use topology::{LeafSpine, Routes, Spec, Topology};
use units::{Bytes, Rate, Span, Time};
use workload::{Conn, Message, Start, Traffic, Trigger};

/// A window of packets, beside which every host has a timer that never rests, and says something now and then.
struct Restless {
    window: Window,
    rng: Rng,
    peers: Vec<(ConnId, HostId)>,
    rings_at: Time,
    speaks_at: Time,
    word: Option<Packet>,
}

impl Restless {
    fn new(config: &EndpointConfig, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, stream::TEST, config.host.0.into());
        Self {
            window: Window::new(config, 8, 1),
            rings_at: Time(rng.below(20_000_000)),
            speaks_at: Time(rng.below(600_000_000)),
            rng,
            peers: Vec::new(),
            word: None,
        }
    }
}

impl Endpoint for Restless {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        self.peers.push((conn, peer));
        self.window.connect(cx, conn, peer, lifetime);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        self.window.send(cx, conn, length);
    }
    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.window.cancel(cx, conn);
    }
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.window.forget(cx, conn);
    }
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.kind() != 9 {
            self.window.on_packet(cx, packet);
        }
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.rings_at = cx.now.after(Span(1 + self.rng.below(20_000_000)));
        if let Some(&(conn, peer)) = self.peers.first()
            && self.speaks_at <= cx.now
        {
            // From host to host it may become quiet for good, or not.
            self.speaks_at = cx.now.after(Span(self.rng.below(4_000_000_000)));
            self.word = Some(Packet::new(peer, conn, Class::Control, 9, 84));
        }
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        match self.word.take() {
            Some(word) => *out = word,
            None => return self.window.poll_transmit(cx, out),
        }
        Transmit::More
    }
    fn deadline(&self) -> Time {
        self.rings_at
    }
    fn check(&self) {
        self.window.check();
    }
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        self.window.stuck(report);
    }
    fn totals(&self) -> Totals {
        self.window.totals()
    }
}

fn traffic(hosts: u32, seed: u64) -> Traffic {
    let mut rng = Rng::stream(seed, stream::TEST, 1 << 20);
    let mut traffic = Traffic::default();
    for conn in 0..hosts {
        traffic.conns.push(Conn {
            a: conn,
            b: (conn + 1 + u32::try_from(rng.below(u64::from(hosts - 1))).unwrap()) % hosts,
            one_shot: true,
        });
        traffic.messages.push(Message {
            conn,
            from_a: true,
            size: 1 + rng.below(40_000),
            start: Start::At(Time(rng.below(30_000_000))),
            stop: None,
            tag: 0,
        });
    }
    traffic.messages.sort_by_key(|message| match message.start {
        Start::At(at) => at,
        Start::After { .. } | Start::Fired { .. } => unreachable!("none waits"),
    });
    traffic
}

/// What an observer was told.
#[derive(Default, PartialEq, Debug)]
struct Seen {
    ports: Vec<PortSample>,
    flows: Vec<FlowSample>,
    done: Vec<Completion>,
    now: Time,
}

impl Observer for Seen {
    fn progress(&mut self, now: Time, _: u64, _: u64, _: u64) -> bool {
        assert!(self.now <= now, "{} was before {now}", self.now);
        self.now = now;
        true
    }
    fn completed(&mut self, batch: &[Completion]) {
        self.done.extend_from_slice(batch);
    }
    fn ports(&mut self, batch: &[PortSample]) {
        self.ports.extend_from_slice(batch);
    }
    fn flows(&mut self, batch: &[FlowSample]) {
        self.flows.extend_from_slice(batch);
    }
}

/// Three leaves and two spines.
fn leaf_spine(host_delay: Span) -> Topology {
    let rate = Rate::gbps(100);
    let spec = LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 3,
        host_rate: rate,
        uplink_rate: rate,
        host_delay,
        uplink_delay: Span::us(1),
        host_extra_delay: Span::ZERO,
    };
    Spec::LeafSpine(spec).build().unwrap()
}

/// A run of `topology` with `traffic`, and with ports of this kind at every link.
fn setup<'a>(
    topology: Topology,
    seed: u64,
    port: PortSpec,
    make: &'a sim::MakeEndpoint<'a>,
) -> Setup<'a> {
    let port = Arc::new(port);
    Setup {
        ports: vec![port; topology.links.len()],
        routes: Arc::new(Routes::new(&topology, &[])),
        traffic: traffic(topology.hosts, seed),
        topology,
        host_queues: false,
        make,
        encap: Encap::PAPER,
        base_rtt: Span::us(12),
        control_rtt: Span::us(12),
        switch: SwitchSpec::default(),
        control: None,
        carries: false,
        faults: Vec::new(),
        probes: Probes::default(),
        seed,
        until: Time::ZERO.after(Span::ms(40)),
        threads: 1,
        pass: true,
        ordered: false,
        digest: true,
    }
}

#[test]
fn sides_that_take_turns_find_and_end_as_all_at_once() {
    let (mut words, mut ends) = (0, Vec::new());
    for seed in 0..60 {
        let topology = leaf_spine(Span::us(1 + seed % 3));
        let make = |config: &EndpointConfig| -> Box<dyn Endpoint> {
            Box::new(Restless::new(config, seed))
        };
        let fifo = PortSpec::fifo(Bytes(100_000_000));
        let mut setup = setup(topology, seed, fifo, &make);
        let run = |setup: &Setup<'_>| {
            let outcome = sim::run(setup, &mut Blind).unwrap();
            assert_eq!(outcome.conservation, Ok(()));
            let found = (outcome.fingerprint, outcome.digest, outcome.hops);
            (found, outcome.end, outcome.idle, outcome.node_windows)
        };
        let turns = run(&setup);
        for threads in [2, 3] {
            setup.threads = threads;
            assert_eq!(run(&setup), turns, "{threads} threads, seed {seed}");
        }
        setup.threads = 1;
        // A trigger that releases nothing, for whose news hosts would have to wait: all nodes run at once.
        setup.traffic.triggers.push(Trigger { causes: Vec::new() });
        let at_once = run(&setup);
        assert_eq!(turns.0, at_once.0, "seed {seed}");
        assert_eq!((turns.1, turns.2), (at_once.1, at_once.2), "seed {seed}");
        assert!(turns.3 < at_once.3, "they did not take turns");
        ends.push(turns.1);
        words += u32::from(turns.1 > Time::ZERO.after(Span::us(600)));
    }
    assert!(words >= 5, "{words} runs went on beyond the first words");
    let cut_off = Time::ZERO.after(Span::ms(39));
    assert!(
        ends.iter().filter(|&&end| end < cut_off).count() >= 5,
        "{ends:?}"
    );
}

#[test]
fn samples_see_the_same_where_sides_take_turns() {
    let mut waited = 0;
    for seed in 0..24 {
        let make = |config: &EndpointConfig| -> Box<dyn Endpoint> {
            Box::new(Restless::new(config, seed))
        };
        let mut rng = Rng::stream(seed, stream::TEST, 1 << 21);
        // Windows take about two microseconds: several samples in one, one in several, and on both edges of windows.
        let every = match seed % 4 {
            0 => Span(50_000 + rng.below(400_000)),
            1 => Span(1_000_000 + rng.below(3_000_000)),
            2 => Span::us(10),
            _ => Span(6_720), // a frame of 84 bytes: windows begin at multiples of 1,006,720 ps
        };
        let until = Time::ZERO.after(match seed % 4 {
            3 => Span::us(12),
            0 => Span::us(60),
            _ => Span::us(100),
        });
        let port = PortSpec::fifo(Bytes(20_000 + rng.below(100_000)));
        let mut setup = setup(leaf_spine(Span::us(1 + seed % 3)), seed, port, &make);
        let begins = Time(rng.below(8_000_000));
        setup.until = until;
        setup.probes = Probes {
            every: Some(every),
            flows: true,
            window: Some(begins..begins.after(Span(1 + rng.below(20_000_000)))),
            ..Probes::default()
        };
        let run = |setup: &Setup<'_>| {
            let mut seen = Seen::default();
            let outcome = sim::run(setup, &mut seen).unwrap();
            assert_eq!(outcome.conservation, Ok(()));
            let found = (
                outcome.fingerprint,
                outcome.digest,
                outcome.hops,
                outcome.end,
            );
            // Of what comes behind the last event it depends on the windows how much is sampled.
            seen.ports.retain(|sample| sample.at <= outcome.end);
            seen.flows.retain(|sample| sample.at <= outcome.end);
            seen.now = Time::ZERO; // the beginning of the last window
            (found, seen, outcome.counted, outcome.node_windows)
        };
        let turns = run(&setup);
        for threads in [2, 3, 7] {
            setup.threads = threads;
            assert!(run(&setup) == turns, "{threads} threads, seed {seed}");
        }
        setup.threads = 1;
        setup.traffic.triggers.push(Trigger { causes: Vec::new() });
        let at_once = run(&setup);
        assert_eq!(turns.0, at_once.0, "seed {seed}");
        assert!(turns.1 == at_once.1, "other samples, seed {seed}");
        assert!(turns.2 == at_once.2, "other counters, seed {seed}");
        assert!(turns.3 != at_once.3, "they did not take turns");
        waited += turns.1.ports.iter().filter(|port| port.queue > 0).count();
    }
    assert!(waited >= 1_000, "{waited} samples saw a queue");
}

#[test]
fn a_port_that_contradicts_itself_is_refused_by_its_link() {
    let make =
        |config: &EndpointConfig| -> Box<dyn Endpoint> { Box::new(Restless::new(config, 1)) };
    let mut spec = PortSpec::fifo(Bytes(100_000));
    let mut setup = setup(leaf_spine(Span::us(1)), 1, spec.clone(), &make);
    spec.queues[0].over = model::intent::Over::PushOut;
    setup.ports[7] = Arc::new(spec);
    let said = sim::run(&setup, &mut Blind).map(|_| ()).unwrap_err().0;
    assert_eq!(
        said,
        "the port of link 7: queue 0: only ranks are pushed out"
    );
}
