//! Small models of hop-by-hop flow controls under real transports: switches pause switches, and those
//! pause hosts.

mod common;

use common::assembled;
use model::intent::{Order, PortSpec, QueueSpec, Takes};
use model::{Class, ConnId, EndpointConfig, Packet, Signal};
use scenario::Assembled;
use sim::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use switching::{FlowControl, GateOf, GateState, Passage, Say};
use units::Time;

/// Pauses that were sent.
type Count = Arc<AtomicU64>;

/// Priority flow control: what an ingress port holds of a priority is counted from arrival to
/// departure. [802.1Q s36; facts of the MMU that decides are not modelled]
struct Pfc {
    held: Vec<[u64; 8]>,
    paused: Vec<[bool; 8]>,
    pauses: Count,
}

impl Pfc {
    /// Bytes above which an ingress is paused, and below which it is resumed.
    const XOFF: u64 = 12_000;
    const XON: u64 = 6_000;

    fn new(ports: usize, pauses: &Count) -> Self {
        Self {
            held: vec![[0; 8]; ports],
            paused: vec![[false; 8]; ports],
            pauses: Arc::clone(pauses),
        }
    }
}

impl FlowControl for Pfc {
    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        let (port, priority) = (usize::from(passage.ingress), passage.packet.priority());
        let at = usize::from(priority);
        self.held[port][at] += u64::from(passage.packet.size);
        if self.held[port][at] > Self::XOFF && !self.paused[port][at] {
            self.paused[port][at] = true;
            self.pauses.fetch_add(1, Ordering::Relaxed);
            say.frame(passage.ingress, Signal::PausePriority(priority).frame());
        }
    }

    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        let (port, priority) = (usize::from(passage.ingress), passage.packet.priority());
        let at = usize::from(priority);
        self.held[port][at] -= u64::from(passage.packet.size);
        if self.held[port][at] < Self::XON && self.paused[port][at] {
            self.paused[port][at] = false;
            say.frame(passage.ingress, Signal::ResumePriority(priority).frame());
        }
    }

    fn heard(&mut self, _: Time, port: u16, frame: &Packet, say: &mut Say) {
        match Signal::of(frame) {
            Some(Signal::PausePriority(p)) => {
                say.gate(port, GateOf::Priority(p), GateState::Closed)
            }
            Some(Signal::ResumePriority(p)) => say.gate(port, GateOf::Priority(p), GateState::Open),
            _ => {}
        }
    }
}

/// Whether a pause of a flow is about this packet.
fn is_data(packet: &Packet) -> bool {
    !matches!(packet.class(), Class::Control | Class::Credit | Class::Link)
}

/// A queue for every flow, and a pause for each that has too much in it: the ideal that schemes with
/// fewer queues are compared with.
#[derive(Default)]
struct PerFlow {
    /// By egress port and connection: bytes that wait, and ingress ports that are paused.
    flows: BTreeMap<(u16, ConnId), (u64, BTreeSet<u16>)>,
    pauses: Count,
}

impl PerFlow {
    /// Bytes of a flow above which it is paused: some two round trips of a hop at 10 Gb/s.
    const MOST: u64 = 8_000;
}

impl FlowControl for PerFlow {
    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !is_data(passage.packet) {
            return;
        }
        let conn = passage.packet.conn;
        let (held, paused) = self.flows.entry((passage.egress, conn)).or_default();
        *held += u64::from(passage.packet.size);
        if *held > Self::MOST && paused.insert(passage.ingress) {
            self.pauses.fetch_add(1, Ordering::Relaxed);
            say.frame(passage.ingress, Signal::PauseFlow(conn).frame());
        }
    }

    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !is_data(passage.packet) {
            return;
        }
        let key = (passage.egress, passage.packet.conn);
        let (held, paused) = self.flows.get_mut(&key).expect("it came before it leaves");
        *held -= u64::from(passage.packet.size);
        if *held <= Self::MOST / 2 {
            for port in std::mem::take(paused) {
                say.frame(port, Signal::ResumeFlow(key.1).frame());
            }
        }
        if *held == 0 {
            self.flows.remove(&key);
        }
    }

    fn heard(&mut self, _: Time, port: u16, frame: &Packet, say: &mut Say) {
        match Signal::of(frame) {
            Some(Signal::PauseFlow(conn)) => say.gate(port, GateOf::Flow(conn), GateState::Closed),
            Some(Signal::ResumeFlow(conn)) => say.gate(port, GateOf::Flow(conn), GateState::Open),
            _ => {}
        }
    }
}

/// Flows share a few queues; one that has more than its part of a long queue is paused alone, and the
/// switch that hears it keeps what comes of it in a reserved queue. [aquarius, our reading]
struct Aquarius {
    ports: Vec<AquariusPort>,
    pauses: Count,
}

#[derive(Default)]
struct AquariusPort {
    flows: BTreeMap<ConnId, Entry>,
    /// Bytes by queue.
    bytes: [u64; 5],
    blocked: bool,
}

/// What a port knows of a flow.
#[derive(Default)]
struct Entry {
    queue: u8,
    /// Bytes in that queue, and in the reserved one.
    normal: u64,
    reserved: u64,
    /// The next switch does not want it.
    paused: bool,
    /// It joins the reserved queue: until nothing of it waits anywhere, so that nothing is overtaken.
    isolated: bool,
    /// Whom we have paused.
    ingress: BTreeSet<u16>,
}

impl Entry {
    fn in_queue(&self, queue: u8) -> u64 {
        if queue == Aquarius::RESERVED {
            self.reserved
        } else if queue == self.queue {
            self.normal
        } else {
            0
        }
    }
}

impl Aquarius {
    /// Queue 0 is that of control packets.
    const NORMAL: std::ops::Range<u8> = 1..4;
    const RESERVED: u8 = 4;
    const LOW: u64 = 8_000;
    const HIGH: u64 = 16_000;
}

impl AquariusPort {
    /// Length of a queue, and the part of it that is a flow's: a power of two below the fair one.
    fn fair(&self, queue: u8) -> (u64, u64) {
        let flows = self
            .flows
            .values()
            .filter(|e| e.in_queue(queue) > 0)
            .count();
        let length = self.bytes[usize::from(queue)];
        (
            length,
            length >> flows.max(1).next_power_of_two().trailing_zeros(),
        )
    }

    /// Nothing leaves the reserved queue while a flow is paused, or has older packets elsewhere.
    fn settle(&mut self, port: u16, say: &mut Say) {
        for entry in self.flows.values_mut() {
            entry.isolated &= entry.paused || entry.normal + entry.reserved > 0;
        }
        self.flows
            .retain(|_, e| e.isolated || e.normal + e.reserved > 0 || !e.ingress.is_empty());
        let holds = |e: &Entry| e.paused || e.isolated && e.normal > 0;
        let blocked = self.flows.values().any(holds);
        if blocked != self.blocked {
            self.blocked = blocked;
            let state = if blocked {
                GateState::Closed
            } else {
                GateState::Open
            };
            say.gate(port, GateOf::Queue(Aquarius::RESERVED), state);
        }
    }
}

impl FlowControl for Aquarius {
    fn assign(&mut self, _: Time, passage: &Passage<'_>) -> Option<u8> {
        if !is_data(passage.packet) {
            return None;
        }
        let port = &mut self.ports[usize::from(passage.egress)];
        let flows = |queue: u8| {
            port.flows
                .values()
                .filter(|e| e.in_queue(queue) > 0)
                .count()
        };
        let emptiest = Self::NORMAL.min_by_key(|&queue| flows(queue))?;
        let entry = port.flows.entry(passage.packet.conn).or_default();
        if entry.isolated {
            return Some(Self::RESERVED);
        }
        if entry.normal == 0 {
            entry.queue = emptiest;
        }
        Some(entry.queue)
    }

    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !is_data(passage.packet) {
            return;
        }
        let port = &mut self.ports[usize::from(passage.egress)];
        let (queue, conn) = (passage.queue, passage.packet.conn);
        let size = u64::from(passage.packet.size);
        port.bytes[usize::from(queue)] += size;
        let entry = port.flows.get_mut(&conn).expect("it was assigned");
        if queue == Self::RESERVED {
            entry.reserved += size;
        } else {
            entry.normal += size;
        }
        let (length, fair) = port.fair(queue);
        let entry = port.flows.get_mut(&conn).expect("it was assigned");
        let too_much = length > Self::HIGH || length > Self::LOW && entry.in_queue(queue) > fair;
        if too_much && entry.ingress.insert(passage.ingress) {
            self.pauses.fetch_add(1, Ordering::Relaxed);
            say.frame(passage.ingress, Signal::PauseFlow(conn).frame());
        }
    }

    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !is_data(passage.packet) {
            return;
        }
        let port = &mut self.ports[usize::from(passage.egress)];
        let (queue, size) = (passage.queue, u64::from(passage.packet.size));
        port.bytes[usize::from(queue)] -= size;
        let entry = port.flows.get_mut(&passage.packet.conn);
        let entry = entry.expect("it came before it leaves");
        if queue == Self::RESERVED {
            entry.reserved -= size;
        } else {
            entry.normal -= size;
        }
        let fair = [0, 1, 2, 3, 4].map(|queue| port.fair(queue));
        for (&conn, entry) in &mut port.flows {
            let queue = if entry.isolated {
                Self::RESERVED
            } else {
                entry.queue
            };
            let (length, fair) = fair[usize::from(queue)];
            let little = length <= Self::HIGH && entry.in_queue(queue) <= fair / 2;
            if length <= Self::LOW || little {
                for ingress in std::mem::take(&mut entry.ingress) {
                    say.frame(ingress, Signal::ResumeFlow(conn).frame());
                }
            }
        }
        port.settle(passage.egress, say);
    }

    fn heard(&mut self, _: Time, number: u16, frame: &Packet, say: &mut Say) {
        let port = &mut self.ports[usize::from(number)];
        match Signal::of(frame) {
            Some(Signal::PauseFlow(conn)) => {
                let entry = port.flows.entry(conn).or_default();
                (entry.paused, entry.isolated) = (true, true);
            }
            Some(Signal::ResumeFlow(conn)) => {
                if let Some(entry) = port.flows.get_mut(&conn) {
                    entry.paused = false;
                }
            }
            _ => {}
        }
        port.settle(number, say);
    }
}

/// A control queue before three of data and the reserved one, which take turns.
fn aquarius_port(of: &PortSpec) -> PortSpec {
    let data = *of.data().expect("there is one");
    let mut control = data;
    (control.takes, control.level) = (Takes::ALL.only(Class::Control), 0);
    let mut queues = vec![control];
    queues.extend((0..4).map(|group| QueueSpec { group, ..data }));
    PortSpec {
        queues,
        ..of.clone()
    }
}

/// Eight hosts of one leaf send to one of the other, and a ninth to its neighbour: 10 Gb/s everywhere
/// but between the switches.
fn incast(transport: &str, sets: &[&str]) -> Assembled {
    let mut all = vec![
        "topology.kind=leaf-spine",
        "topology.leaves=2",
        "topology.spines=1",
        "topology.hosts_per_leaf=9",
        "topology.host_rate=10Gbps",
        "topology.uplink_rate=100Gbps",
        "switch.buffer=250KB",
        "run.until=50ms",
    ];
    let kind = format!("transport.kind={transport}");
    all.push(&kind);
    all.extend(sets);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flow_control.toml");
    assembled(file, &all)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Control {
    Nothing,
    Pfc,
    PerFlow,
    Aquarius,
}

/// Runs it in windows on so many threads, and by an event queue where that is 0.
fn run(of: &Assembled, control: Control, threads: u16) -> (Outcome, u64) {
    let pauses = Count::default();
    let make = |config: &EndpointConfig| of.endpoint(config);
    let controls = |topology: &topology::Topology, node: topology::NodeId| {
        let ports = topology.nodes[node.index()].ports.len();
        let control: Box<dyn FlowControl> = match control {
            Control::Nothing => return None,
            Control::Pfc => Box::new(Pfc::new(ports, &pauses)),
            Control::Aquarius => Box::new(Aquarius {
                ports: (0..ports).map(|_| AquariusPort::default()).collect(),
                pauses: Arc::clone(&pauses),
            }),
            Control::PerFlow => Box::new(PerFlow {
                pauses: Arc::clone(&pauses),
                ..PerFlow::default()
            }),
        };
        Some(control)
    };
    let mut setup = of.setup(&make, threads.max(1));
    setup.control = Some(&controls);
    setup.digest = true;
    if control == Control::PerFlow {
        let per_flow = |port: &Arc<PortSpec>| {
            let mut port = (**port).clone();
            let data = port.queues.iter_mut().filter(|queue| queue.is_data());
            data.for_each(|queue| queue.order = Order::PerFlow);
            Arc::new(port)
        };
        setup.ports = setup.ports.iter().map(per_flow).collect();
    }
    if control == Control::Aquarius {
        let ports = setup.ports.iter();
        setup.ports = ports.map(|port| Arc::new(aquarius_port(port))).collect();
    }
    let outcome = match threads {
        0 => sim::oracle::run(&setup),
        _ => sim::run(&setup, &mut sim::Blind),
    };
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()), "{control:?}");
    let sent = pauses.load(Ordering::Relaxed);
    (outcome, sent)
}

fn data_lost(outcome: &Outcome) -> u64 {
    let classes = [Class::Scheduled, Class::Unscheduled, Class::Plain];
    let ports = outcome.ports.iter();
    ports
        .flat_map(|port| classes.map(|class| port.dropped[class]))
        .sum()
}

/// When the message between the neighbours, the last of the file, ended.
fn neighbour(outcome: &Outcome) -> Time {
    let last = outcome.messages.last().expect("there is one");
    last.end.expect("it ends")
}

#[test]
fn priority_pauses_lose_nothing_and_stop_a_neighbour_too() {
    let of = incast("dctcp", &["transport.dctcp.ecn=false"]);
    let (free, _) = run(&of, Control::Nothing, 1);
    assert!(data_lost(&free) > 0, "nothing to prevent");
    let (paused, pauses) = run(&of, Control::Pfc, 1);
    assert!(pauses > 20, "{pauses}");
    assert_eq!(paused.unfinished, 0, "{:?}", paused.stuck);
    assert_eq!((data_lost(&paused), paused.totals.retransmitted), (0, 0));
    // The neighbour's packets stand behind those of the incast at every switch.
    let (fair, _) = run(&of, Control::PerFlow, 1);
    assert!(
        neighbour(&paused).0 > 2 * neighbour(&fair).0,
        "{} and {}",
        neighbour(&paused),
        neighbour(&fair)
    );
}

#[test]
fn pauses_of_flows_lose_nothing_and_spare_the_neighbour() {
    let of = incast("dctcp", &["transport.dctcp.ecn=false"]);
    let (outcome, pauses) = run(&of, Control::PerFlow, 1);
    assert!(pauses > 20, "{pauses}");
    assert_eq!(outcome.unfinished, 0, "{:?}", outcome.stuck);
    assert_eq!((data_lost(&outcome), outcome.totals.retransmitted), (0, 0));
}

#[test]
fn a_reserved_queue_keeps_paused_flows_in_order_and_spares_the_neighbour() {
    let of = incast("dctcp", &["transport.dctcp.ecn=false"]);
    let (outcome, pauses) = run(&of, Control::Aquarius, 1);
    assert!(pauses > 20, "{pauses}");
    assert_eq!(outcome.unfinished, 0, "{:?}", outcome.stuck);
    // Overtaken packets would be taken for lost ones.
    assert_eq!((data_lost(&outcome), outcome.totals.retransmitted), (0, 0));
    let (pfc, _) = run(&of, Control::Pfc, 1);
    let (ours, theirs) = (neighbour(&outcome), neighbour(&pfc));
    assert!(2 * ours.0 < theirs.0, "{ours} and {theirs}");
}

#[test]
fn windows_threads_and_an_event_queue_see_every_pause_alike() {
    for transport in ["dctcp", "expresspass", "expresspass+aeolus"] {
        let of = incast(transport, &[]);
        let all = [
            Control::Nothing,
            Control::Pfc,
            Control::PerFlow,
            Control::Aquarius,
        ];
        for control in all {
            if control == Control::Aquarius && transport != "dctcp" {
                continue; // credits have no queue of their own there
            }
            let seen = [0, 1, 2].map(|threads| {
                let (outcome, pauses) = run(&of, control, threads);
                assert_eq!(
                    outcome.unfinished, 0,
                    "{transport}, {control:?}: {:?}",
                    outcome.stuck
                );
                (outcome.fingerprint, outcome.digest, pauses)
            });
            assert!(
                seen.iter().all(|one| *one == seen[0]),
                "{transport}, {control:?}: {seen:x?}"
            );
        }
    }
}
