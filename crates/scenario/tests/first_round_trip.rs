//! What the first round trip does to a network: idle, loaded, faulty.
//!
//! First bursts in an idle network. Then what they cost credited frames, with a `Source` that sends by the
//! clock and an `Acker`, and where a network clears marks. Then losses: by their kind, by link, of repairs. Last incasts and short messages.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use model::{
    Class, ConnId, Cx, Ecn, Endpoint, EndpointConfig, HostId, Lifetime, Packet, StuckFlow, Totals,
    Transmit,
};
use scenario::Assembled;
use sim::{Blind, Outcome, Setup};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use units::{Bytes, Rate, Span, Time};
use workload::{Conn, Message, Start, Traffic};

const FRAME: u64 = 1538;
const SMALL: u64 = 84;
const RATE: Rate = Rate::gbps(10);

/// A network without traffic, of which nobody looks at samples. `text` is its scenario.
fn network(text: &str) -> Assembled {
    let workload =
        "\n[workload]\nkind = \"incast\"\nsenders = 1\nsize = \"1B\"\n[output]\nevery = \"0s\"\n";
    scenario::load_text("network.toml", &format!("{text}{workload}"), &[])
        .and_then(scenario::Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// One message per entry: from, to, bytes.
fn messages(list: &[(u32, u32, u64)]) -> Traffic {
    let conns = list.iter().map(|&(a, b, _)| Conn {
        a,
        b,
        one_shot: true,
    });
    let messages: Vec<_> = (0..)
        .zip(list)
        .map(|(conn, &(_, _, size))| Message {
            conn,
            from_a: true,
            size,
            start: Start::At(Time::ZERO),
            stop: None,
            tag: 0,
        })
        .collect();
    Traffic::arrange(conns.collect(), &messages, vec![String::new()]).unwrap()
}

/// Makes the endpoint of a host; `None` for what the scenario's transport makes.
type Special<'a> = dyn Fn(&EndpointConfig) -> Option<Box<dyn Endpoint>> + 'a;

fn run(net: &Assembled, traffic: Traffic, until: Time, special: &Special<'_>) -> Outcome {
    run_seeded(1, net, traffic, until, special)
}

fn run_seeded(
    seed: u64,
    net: &Assembled,
    traffic: Traffic,
    until: Time,
    special: &Special<'_>,
) -> Outcome {
    let factory = &net.scenario.factory;
    let make = |config: &EndpointConfig| special(config).unwrap_or_else(|| factory.make(config));
    let setup = Setup {
        topology: net.topology.clone(),
        routes: net.routes.clone(),
        traffic,
        ports: net.ports.clone(),
        host_queues: false,
        make: &make,
        encap: net.encap,
        base_rtt: net.base_rtt,
        control_rtt: net.control_rtt,
        switch: model::intent::SwitchSpec::default(),
        control: None,
        carries: false,
        faults: net.faults.clone(),
        probes: net.probes.clone(),
        seed,
        until,
        threads: 1,
        pass: true,
        ordered: false,
        digest: false,
    };
    sim::run(&setup, &mut Blind).unwrap()
}

fn line(bytes: u64) -> Span {
    RATE.serialize(Bytes(bytes))
}

const IDLE: [(u64, &str); 3] = [
    (2, "[topology]\nkind = \"star\"\nhosts = 4\n"),
    (
        4,
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
         uplink_rate = \"10Gbps\"\n",
    ),
    (6, "[topology]\nkind = \"fat-tree\"\nk = 4\n"),
];

#[test]
fn in_an_idle_network_a_burst_takes_no_longer_than_its_bytes() {
    for (hops, topology) in IDLE {
        let net = network(&format!(
            "{topology}host_rate = \"10Gbps\"\nhost_delay = \"2us\"\nhost_extra_delay = \
             \"1us\"\n[transport]\nkind = \"expresspass+aeolus\"\n"
        ));
        let last = net.topology.hosts - 1;
        // Every link is as long as a host's, and a host adds its delay when it sends.
        let one_way = Span::us(2 * hops + 1);
        assert_eq!(net.propagation_rtt, one_way.times(2), "{hops} hops");
        // What the line carries while a request goes there and its credit comes back.
        let bdp = RATE.bytes_in(net.propagation_rtt + line(SMALL).times(2 * hops));
        assert_eq!(bdp, net.bdp(), "{hops} hops: what `check` prints");
        let frames = bdp.get() / FRAME;
        assert!(frames > 1, "{hops} hops: {bdp}");
        for (bytes, sizes) in [
            (1, vec![SMALL]),
            (1460, vec![FRAME]),
            (1460 * frames, vec![FRAME; usize::try_from(frames).unwrap()]),
        ] {
            let traffic = messages(&[(0, last, bytes)]);
            let outcome = run(&net, traffic, Time(1_000_000_000_000), &|_| None);
            let largest = *sizes.iter().max().unwrap();
            // The request goes first; every hop but one waits for the whole of a frame.
            let expected =
                one_way + line(SMALL + sizes.iter().sum::<u64>()) + line(largest).times(hops - 1);
            assert_eq!(
                outcome.messages[0].end,
                Some(Time::ZERO.after(expected)),
                "{bytes} B over {hops} hops"
            );
            assert_eq!(
                (outcome.totals.timeouts, outcome.totals.retransmitted),
                (0, 0)
            );
            let of_class = |class: Class| -> u64 {
                let ports = outcome.ports.iter();
                ports.map(|port| port.bytes[class]).sum()
            };
            assert_eq!(of_class(Class::Scheduled), 0, "no credit was waited for");
            let burst: u64 = sizes.iter().sum();
            assert_eq!(of_class(Class::Unscheduled), burst * hops);
        }
    }
}

#[test]
fn safety_timers_never_fire_where_only_switches_drop() {
    for transport in ["aeolus", "gaps", "ssp"] {
        let net = network(&format!(
            "[topology]\nkind = \"star\"\nhosts = 17\nhost_rate = \"10Gbps\"\n[transport]\nkind = \
             \"expresspass+{transport}\"\n"
        ));
        // At the first size, drops of early STOPs' last frames; at the second, of whole bursts.
        for (size, seed) in [(20_000, 1), (20_000, 2), (5_000, 3), (60_000, 1)] {
            let list: Vec<_> = (1..17).map(|from| (from, 0, size)).collect();
            let end = Time(1_000_000_000_000);
            let outcome = run_seeded(seed, &net, messages(&list), end, &|_| None);
            assert!(outcome.messages.iter().all(|m| m.end.is_some()));
            assert_eq!(outcome.totals.timeouts, 0, "{transport}, {size} B");
        }
        let list: Vec<_> = (1..17).map(|from| (from, 0, 60_000)).collect();
        let outcome = run(&net, messages(&list), Time(1_000_000_000_000), &|_| None);
        let dropped = |class: Class| -> u64 {
            let ports = outcome.ports.iter();
            ports.map(|port| port.dropped[class]).sum()
        };
        let (unscheduled, scheduled) = (dropped(Class::Unscheduled), dropped(Class::Scheduled));
        let drops = match transport {
            "aeolus" => unscheduled > 0 && scheduled == 0,
            "gaps" => unscheduled == 0 && scheduled == 0,
            _ => unscheduled == 0,
        };
        assert!(drops, "{transport}: {unscheduled} and {scheduled}");
        // Each hole is filled once; under gaps there is none, and what is sent again comes twice.
        let Totals {
            retransmitted,
            duplicates,
            ..
        } = outcome.totals;
        let once = match transport {
            "gaps" => retransmitted <= duplicates,
            _ => retransmitted == duplicates + unscheduled + scheduled,
        };
        assert!(once, "{transport}: {:?}", outcome.totals);
    }
}

/// Sends frames of one class whenever its time has come, whatever anybody says.
struct Source {
    class: Class,
    /// When each frame leaves, ascending; later where the line is busy.
    times: Vec<Time>,
    next: usize,
    /// When it was last woken: the line asks for what has been due since before.
    woken: Time,
    to: Option<(ConnId, HostId)>,
    /// When frames of this connection arrive here.
    heard: Arc<Mutex<Vec<Time>>>,
}

impl Source {
    fn boxed(class: Class, times: Vec<Time>, heard: &Arc<Mutex<Vec<Time>>>) -> Box<dyn Endpoint> {
        let (next, to, heard) = (0, None, Arc::clone(heard));
        Box::new(Self {
            class,
            times,
            next,
            woken: Time::ZERO,
            to,
            heard,
        })
    }
    fn due(&self) -> Option<Time> {
        self.times
            .get(self.next)
            .copied()
            .filter(|_| self.to.is_some())
    }
}

impl Endpoint for Source {
    fn connect(&mut self, _: &mut Cx<'_>, conn: ConnId, peer: HostId, _: Lifetime) {
        self.to = Some((conn, peer));
    }
    fn send(&mut self, _: &mut Cx<'_>, _: ConnId, _: u64) {}
    fn cancel(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn forget(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.class() == Class::Scheduled {
            self.heard.lock().unwrap().push(cx.now);
        }
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.woken = cx.now;
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let Some((conn, peer)) = self
            .to
            .filter(|_| self.due().is_some_and(|at| at <= cx.now))
        else {
            return Transmit::Nothing;
        };
        self.next += 1;
        *out = Packet::new(peer, conn, self.class, 0, 1538);
        Transmit::More
    }
    fn deadline(&self) -> Time {
        self.due()
            .filter(|&at| at > self.woken)
            .unwrap_or(Time::NEVER)
    }
    fn check(&self) {}
    fn stuck(&self, _: &mut dyn FnMut(StuckFlow)) {}
    fn totals(&self) -> Totals {
        Totals::default()
    }
}

/// Every `gap`, from `gap` on until `end`.
fn every(gap: Span, end: Time) -> Vec<Time> {
    let times = 1..end.0.div_ceil(gap.0);
    times.map(|n| Time(gap.0 * n)).collect()
}

const DUMBBELL: &str = "[topology]\nkind = \"dumbbell\"\npairs = 3\nhost_rate = \
                        \"10Gbps\"\nbottleneck_rate = \"10Gbps\"\n";

/// Answers every unscheduled frame of host `to` with a small one, as a receiver under Aeolus does.
struct Acker {
    to: HostId,
    owed: Vec<ConnId>,
}

impl Endpoint for Acker {
    fn connect(&mut self, _: &mut Cx<'_>, _: ConnId, _: HostId, _: Lifetime) {}
    fn send(&mut self, _: &mut Cx<'_>, _: ConnId, _: u64) {}
    fn cancel(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn forget(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn on_packet(&mut self, _: &mut Cx<'_>, packet: &Packet) {
        if packet.class() == Class::Unscheduled {
            self.owed.push(packet.conn);
        }
    }
    fn on_deadline(&mut self, _: &mut Cx<'_>) {}
    fn poll_transmit(&mut self, _: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let Some(conn) = self.owed.pop() else {
            return Transmit::Nothing;
        };
        *out = Packet::new(self.to, conn, Class::Control, 0, 84);
        Transmit::More
    }
    fn deadline(&self) -> Time {
        Time::NEVER
    }
    fn check(&self) {}
    fn stuck(&self, _: &mut dyn FnMut(StuckFlow)) {}
    fn totals(&self) -> Totals {
        Totals::default()
    }
}

/// Control bytes on the full link, as a share of it, while the flood takes this share of a line.
const SHARES: &str = "1/4: 0.00 % there, 0.29 % back
1/2: 0.00 % there, 0.29 % back
1/1: 0.00 % there, 0.29 % back
";

#[test]
fn unscheduled_frames_nobody_asked_for_cost_scheduled_ones_next_to_nothing() {
    let net = network(&format!(
        "{DUMBBELL}[transport]\nkind = \"expresspass+aeolus\"\n"
    ));
    let until = Time(10_000_000_000);
    // Hosts 0 to 2 are on one side, 3 to 5 on the other.
    let traffic = messages(&[(0, 3, 1 << 40), (1, 4, 1 << 40), (2, 5, 1)]);
    let heard = Arc::default();
    // A frame per so many frame times, or none at all.
    let with = |gap: Option<u64>| {
        let traffic = traffic.clone();
        let outcome = run(&net, traffic, until, &|config| {
            let times = gap.map_or(Vec::new(), |n| every(line(FRAME * n), until));
            match config.host.0 {
                2 => Some(Source::boxed(Class::Unscheduled, times, &heard)),
                5 => Some(Box::new(Acker {
                    to: HostId(2),
                    owed: Vec::new(),
                })),
                _ => None,
            }
        });
        outcome.ports
    };
    let [control, scheduled, unscheduled] = [Class::Control, Class::Scheduled, Class::Unscheduled];
    let alone = with(None);
    let busiest = (0..alone.len())
        .max_by_key(|&port| (alone[port].bytes[scheduled], alone[port].queue_max))
        .unwrap();
    let back = busiest ^ 1; // the same cable
    // A quarter of the line, half of it, all of it.
    let mut shares = String::new();
    for gap in [4, 2, 1] {
        let loaded = with(Some(gap));
        let dropped: u64 = loaded.iter().map(|port| port.dropped[unscheduled]).sum();
        assert!(dropped > 100, "the flood is felt: {dropped}");
        let lost: u64 = loaded.iter().map(|port| port.dropped[scheduled]).sum();
        assert_eq!(lost, 0, "no scheduled frame, at any port");
        let (before, after) = (
            alone[busiest].bytes[scheduled],
            loaded[busiest].bytes[scheduled],
        );
        assert!(before > 11_000_000, "{before} B in 10 ms at 10 Gb/s");
        assert!(
            after.abs_diff(before) * 100 <= before,
            "{before} and {after} B"
        );
        for (port, (before, after)) in alone.iter().zip(loaded.iter()).enumerate() {
            if net.topology.links[port].from.index() < net.topology.hosts as usize {
                continue; // the line of the host that floods
            }
            // K, and one frame per hop before and at this port.
            let bound = before.queue_max + 4 * FRAME + 2 * FRAME;
            let queue = after.queue_max;
            assert!(queue <= bound, "port {port}: {queue} of {bound} B");
        }
        // Acknowledgements are protected and nothing bounds them but the frames they answer.
        let could = RATE.bytes_in(until.since(Time::ZERO)).get() as f64;
        let share = |port: usize| loaded[port].bytes[control] as f64 * 100.0 / could;
        let (there, answered_by) = (share(busiest), share(back));
        let _ = writeln!(
            shares,
            "1/{gap}: {there:.2} % there, {answered_by:.2} % back"
        );
        let answered = loaded[busiest].bytes[unscheduled] / FRAME * SMALL;
        let answers = loaded[back].bytes[control];
        assert!(
            answers.abs_diff(answered) <= 10 * SMALL,
            "{answers} of {answered} B"
        );
    }
    assert_eq!(shares, SHARES);
}

#[test]
fn unscheduled_frames_in_gaps_delay_scheduled_ones_by_a_frame_per_hop_at_most() {
    let net = network(&format!(
        "{DUMBBELL}[transport]\nkind = \"expresspass+gaps\"\n"
    ));
    let until = Time(5_000_000_000);
    let traffic = messages(&[(0, 3, 1), (1, 3, 1), (2, 4, 1)]);
    let arrivals = |flood: bool| {
        let heard: Arc<Mutex<Vec<Time>>> = Arc::default();
        run(&net, traffic.clone(), until, &|config| {
            let mut rng = model::Rng::stream(1, model::stream::TEST, 9);
            let times = match config.host.0 {
                // Bunches with pauses between them, the same in both runs.
                0 => {
                    let mut at = Time::ZERO;
                    let mut times = Vec::new();
                    while at < until {
                        at = at.after(Span(rng.below(line(FRAME * 3).0)));
                        times.push(at);
                    }
                    times
                }
                1 | 2 if flood => every(line(FRAME), until),
                _ => Vec::new(),
            };
            let class = if config.host.0 == 0 {
                Class::Scheduled
            } else {
                Class::Unscheduled
            };
            Some(Source::boxed(class, times, &heard))
        });
        heard.lock().unwrap().clone()
    };
    let (alone, loaded) = (arrivals(false), arrivals(true));
    assert!(alone.len() > 1_000);
    let both = alone.iter().zip(&loaded);
    let delays: Vec<_> = both.map(|(&before, &after)| after.since(before)).collect();
    // The flood shares the link between the switches and the one to the receiver.
    let worst = delays.iter().max().copied().unwrap();
    assert!(worst <= line(FRAME).times(2), "{worst}");
    assert!(worst > line(FRAME / 2), "the flood is felt: {worst}");
}

/// A host behind a middlebox that clears the ECN bits of what it sends.
struct Bleached(Box<dyn Endpoint>);

impl Endpoint for Bleached {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        self.0.connect(cx, conn, peer, lifetime);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        self.0.send(cx, conn, length);
    }
    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.0.cancel(cx, conn);
    }
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.0.forget(cx, conn);
    }
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        self.0.on_packet(cx, packet);
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.0.on_deadline(cx);
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let said = self.0.poll_transmit(cx, out);
        out.set_ecn(Ecn::NotCapable);
        said
    }
    fn deadline(&self) -> Time {
        self.0.deadline()
    }
    fn check(&self) {
        self.0.check();
    }
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        self.0.stuck(report);
    }
    fn totals(&self) -> Totals {
        self.0.totals()
    }
}

#[test]
fn cleared_ecn_bits_make_scheduled_frames_victims_and_flows_still_end() {
    let net = network(
        "[topology]\nkind = \"star\"\nhosts = 9\nhost_rate = \"10Gbps\"\n[transport]\nkind = \
         \"expresspass+aeolus\"\n[transport.\"expresspass+aeolus\"]\ndrop_by = \"ecn\"\n[switch.drop]\nthreshold = \"2KB\"\n",
    );
    let list: Vec<_> = (1..9).map(|from| (from, 0, 200_000)).collect();
    let dropped = |bleach: bool| {
        let outcome = run(&net, messages(&list), Time(10_000_000_000_000), &|config| {
            bleach.then(|| {
                let inner = net.scenario.factory.make(config);
                Box::new(Bleached(inner)) as Box<dyn Endpoint>
            })
        });
        assert!(outcome.messages.iter().all(|m| m.end.is_some()), "{bleach}");
        let ports = outcome.ports.iter();
        let dropped: u64 = ports.map(|port| port.dropped[Class::Scheduled]).sum();
        let Totals {
            retransmitted,
            duplicates,
            ..
        } = outcome.totals;
        assert!(retransmitted >= duplicates, "{:?}", outcome.totals);
        dropped
    };
    assert_eq!(dropped(false), 0);
    assert!(
        dropped(true) > 0,
        "whoever clears the bits takes the protection away"
    );
}

#[test]
fn a_path_that_reorders_costs_duplicates_and_nothing_else() {
    for (senders, drops) in [(1, false), (4, true)] {
        let net = network(
            "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"10Gbps\"\n[transport]\nkind = \
             \"expresspass+aeolus\"\n[[faults]]\nkind = \"reorder\"\nlink = \"* -> h0\"\nchance = \
             0.05\nby = \"20us\"\n",
        );
        let list: Vec<_> = (1..=senders).map(|from| (from, 0, 100_000)).collect();
        let outcome = run(&net, messages(&list), Time(10_000_000_000_000), &|_| None);
        assert!(outcome.messages.iter().all(|m| m.end.is_some()));
        let lost: u64 = outcome
            .ports
            .iter()
            .map(|port| port.dropped[Class::Unscheduled])
            .sum();
        assert_eq!(lost > 0, drops);
        let Totals {
            retransmitted,
            duplicates,
            timeouts,
            ..
        } = outcome.totals;
        // What was late, not lost, arrives twice, and each is counted.
        assert!(duplicates > 0, "{:?}", outcome.totals);
        assert!(duplicates >= retransmitted - lost, "{:?}", outcome.totals);
        assert_eq!(timeouts, 0, "{:?}", outcome.totals);
    }
}

/// One message of 10 full frames and a bit, of which `lost` says what is lost, each once. Returns
/// when it ended, and what was sent again and came twice.
fn with_losses(transport: &str, lost: &[(&str, &str, Span)]) -> (Span, u64, u64) {
    let mut text = format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nhost_rate = \"10Gbps\"\nhost_delay = \
         \"5us\"\nhost_extra_delay = \"0s\"\n[transport]\nkind = \"expresspass+{transport}\"\n"
    );
    for (class, link, from) in lost {
        let _ = write!(
            text,
            "[[faults]]\nkind = \"loss\"\nlink = \"{link}\"\nclass = \"{class}\"\nfrom = \
             \"{from}\"\nchance = 1.0\nmost = 1\n"
        );
    }
    let net = network(&text);
    let outcome = run(
        &net,
        messages(&[(1, 0, 15_000)]),
        Time(1_000_000_000_000),
        &|_| None,
    );
    let gone: u64 = outcome.ports.iter().map(|port| port.lost.sum()).sum();
    assert_eq!(
        gone,
        lost.len() as u64,
        "each loss happened, and once: {lost:?}"
    );
    let end = outcome.messages[0].end.expect("it completes");
    let Totals {
        retransmitted,
        duplicates,
        ..
    } = outcome.totals;
    (end.since(Time::ZERO), retransmitted, duplicates)
}

/// When 15,000 B over two hops are there, and what it took.
const LOSSES: &str = "\
nothing                              23.984us, 0 again, 0 twice
the request                          23.984us, 1 again, 1 twice
the probe                            23.984us, 0 again, 0 twice
the first acknowledgement            23.984us, 0 again, 0 twice
the last data                        36.3584us, 1 again, 0 twice
the last data and the probe          36.3584us, 1 again, 0 twice
the last data and the probe's answer 36.3584us, 2 again, 1 twice
the first data                       36.3584us, 1 again, 0 twice
the first data, and its repair       87.1072us, 2 again, 0 twice
";

#[test]
fn a_lost_request_acknowledgement_or_probe_delays_and_loses_nothing() {
    // The request leaves first, ten frames and a smaller one follow, and then the probe.
    let to = "* -> h0";
    let back = "h0 -> *";
    let probe = Span::us(13);
    let last_data = ("unscheduled", to, Span::us(12));
    let cases = [
        ("nothing", vec![]),
        ("the request", vec![("control", to, Span::ZERO)]),
        ("the probe", vec![("control", to, probe)]),
        (
            "the first acknowledgement",
            vec![("control", back, Span::us(5))],
        ),
        ("the last data", vec![last_data]),
        (
            "the last data and the probe",
            vec![last_data, ("control", to, probe)],
        ),
        (
            "the last data and the probe's answer",
            vec![last_data, ("control", back, Span::us(22))],
        ),
        ("the first data", vec![("unscheduled", to, Span::ZERO)]),
        (
            "the first data, and its repair",
            vec![
                ("scheduled", to, Span::ZERO),
                ("unscheduled", to, Span::ZERO),
            ],
        ),
    ];
    for transport in ["aeolus", "ssp"] {
        let mut table = String::new();
        for (what, lost) in &cases {
            let (took, again, twice) = with_losses(transport, lost);
            let _ = writeln!(table, "{what:<36} {took}, {again} again, {twice} twice");
        }
        assert_eq!(table, LOSSES, "{transport}");
    }
}

#[test]
fn what_a_link_loses_is_repaired_soon_and_once() {
    for transport in ["aeolus", "gaps", "ssp"] {
        let net = network(&format!(
            "[topology]\nkind = \"star\"\nhosts = 2\nhost_rate = \"10Gbps\"\n[transport]\nkind = \
             \"expresspass+{transport}\"\n[[faults]]\nkind = \"loss\"\nlink = \"* -> h0\"\nchance = \
             0.01\nclass = \"scheduled\"\n"
        ));
        let traffic = messages(&[(1, 0, 20_000_000)]);
        let outcome = run(&net, traffic, Time(10_000_000_000_000), &|_| None);
        let Totals {
            retransmitted,
            duplicates,
            ..
        } = outcome.totals;
        assert!(
            duplicates * 20 <= retransmitted,
            "{transport}: {:?}",
            outcome.totals
        );
        let took = outcome.messages[0].end.unwrap().since(Time::ZERO);
        // 19 ms without a loss. Gaps are patient: an unscheduled packet may wait for very long.
        let limit = Span::ms(if transport == "gaps" { 40 } else { 25 });
        assert!(took < limit, "{transport}: {took}");
    }
}

#[test]
fn a_lost_repair_is_seen_without_a_timer_whenever_it_happens() {
    for transport in ["aeolus", "ssp"] {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"\nhost_delay = \
             \"4us\"\n[transport]\nkind = \"expresspass+{transport}\"\n"
        );
        let list: Vec<_> = (1..6).map(|from| (from, 0, 13_000)).collect();
        for from in (20..=100).step_by(5) {
            let net = network(&format!(
                "{text}[[faults]]\nkind = \"loss\"\nlink = \"* -> h0\"\nclass = \
                 \"scheduled\"\nfrom = \"{from}us\"\nchance = 1.0\nmost = 1\n"
            ));
            let outcome = run(&net, messages(&list), Time(1_000_000_000_000), &|_| None);
            assert_eq!(outcome.totals.timeouts, 0, "{transport}: loss at {from} us");
            let ends = outcome.messages.iter().map(|m| m.end.unwrap());
            // Two round trips of 20 us, and the incast itself.
            let last = ends.max().unwrap();
            assert!(
                last < Time(250_000_000),
                "{transport}: loss at {from} us: {last}"
            );
        }
    }
}

/// Messages of one frame between random hosts, so many per frame time of a line in all.
fn one_frame_messages(hosts: u32, count: usize, per_frame_time: f64) -> Traffic {
    let mut rng = model::Rng::stream(1, model::stream::TEST, 11);
    let mean = line(FRAME).0 as f64 / per_frame_time;
    let (mut at, mut conns, mut list) = (0.0, Vec::new(), Vec::new());
    for conn in 0..u32::try_from(count).unwrap() {
        at += 2.0 * mean * rng.below(1 << 20) as f64 / f64::from(1 << 20);
        let a = u32::try_from(rng.below(hosts.into())).unwrap();
        let b = (a + 1 + u32::try_from(rng.below(u64::from(hosts) - 1)).unwrap()) % hosts;
        conns.push(Conn {
            a,
            b,
            one_shot: true,
        });
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive"
        )]
        let start = Start::At(Time(at as u64));
        list.push(Message {
            conn,
            from_a: true,
            size: 1460,
            start,
            stop: None,
            tag: 0,
        });
    }
    Traffic::arrange(conns, &list, vec![String::new()]).unwrap()
}

#[test]
fn what_a_burst_brought_is_not_brought_again() {
    let with = |transport: &str, more: &str| {
        let net = network(&format!(
            "[topology]\nkind = \"star\"\nhosts = 33\nhost_rate = \"10Gbps\"\nhost_delay = \
             \"1us\"\n[transport]\nkind = \"{transport}\"\n{more}"
        ));
        let traffic = one_frame_messages(33, 8_000, 16.0);
        let outcome = run(&net, traffic, Time(1_000_000_000_000), &|_| None);
        assert!(outcome.messages.iter().all(|m| m.end.is_some()));
        let bytes: u64 = outcome.ports.iter().map(|port| port.bytes.sum()).sum();
        (outcome.totals, bytes)
    };
    let (_, plain) = with("expresspass", "");
    for more in [
        "",
        "[transport.\"expresspass+aeolus\"]\ndrop_threshold = \"300KB\"\n",
    ] {
        let (totals, bytes) = with("expresspass+aeolus", more);
        assert!(totals.duplicates * 50 <= 8_000, "{totals:?}");
        assert_eq!(totals.timeouts, 0);
        assert!(bytes * 10 <= plain * 13, "{bytes} against {plain} B");
    }
}

#[test]
fn an_incast_of_messages_that_fit_a_burst_is_no_slower_than_without_bursts() {
    // The base round trip of 14 us. [aeolus s5.1]
    let mean = |transport: &str| {
        let net = network(&format!(
            "[topology]\nkind = \"star\"\nhosts = 8\nhost_rate = \"10Gbps\"\nhost_delay = \
             \"2.851us\"\nhost_extra_delay = \"0s\"\n[transport]\nkind = \"{transport}\"\n"
        ));
        let list: Vec<_> = (1..8).map(|from| (from, 0, 10_000)).collect();
        let run = |seed| run_seeded(seed, &net, messages(&list), Time(1 << 40), &|_| None);
        let ends = (1..=5).flat_map(|seed| run(seed).messages);
        let ends = ends.map(|message| message.end.unwrap().0);
        ends.sum::<u64>() / 35
    };
    let (plain, aeolus) = (mean("expresspass"), mean("expresspass+aeolus"));
    assert!(aeolus <= plain, "{aeolus} against {plain} ps");
}

#[test]
fn a_short_message_does_not_wait_for_a_long_one_of_its_own_host() {
    let took = |transport: &str, beside: &[(u32, u32, u64)]| {
        let net = network(&format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\nhost_delay = \
             \"5us\"\n[transport]\nkind = \"expresspass+{transport}\"\n"
        ));
        let mut list = beside.to_vec();
        list.push((0, 2, 10_000));
        let conns = list.iter().map(|&(a, b, _)| Conn {
            a,
            b,
            one_shot: true,
        });
        let begun = Time(1_000_000_000);
        let starts: Vec<_> = (0..)
            .zip(&list)
            .map(|(conn, &(_, to, size))| Message {
                conn,
                from_a: true,
                size,
                start: Start::At(if to == 2 { begun } else { Time::ZERO }),
                stop: None,
                tag: 0,
            })
            .collect();
        let traffic = Traffic::arrange(conns.collect(), &starts, vec![String::new()]).unwrap();
        let outcome = run(&net, traffic, Time(1_000_000_000_000), &|_| None);
        assert_eq!(outcome.totals.timeouts, 0);
        let ends = outcome.messages.iter();
        let ends = ends.map(|m| m.end.unwrap()).filter(|&end| end > begun);
        ends.min().unwrap().since(begun)
    };
    let long = [(0, 1, 4_000_000)];
    let (alone, shortest) = (took("ssp", &[]), took("ssp", &long));
    assert!(shortest.0 * 10 <= alone.0 * 12, "{shortest} for {alone}");
    // In turns each of the seven frames waits for one of the other flow.
    let turns = took("aeolus", &long);
    assert!(turns <= alone + line(FRAME).times(8), "{turns} for {alone}");
    // In the gaps alone it takes as long as a new flow that waits for credits.
    assert!(took("gaps", &long) > alone.times(3));
}
