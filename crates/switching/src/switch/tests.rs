//! A switch and its flow control: what each is told, in which order, and what an observer hears of it.

use super::*;
use crate::discipline::{Gate, GateOf};
use model::intent::{Limit, Memory, Over, QueueSpec, Takes};
use model::{Blocks, ConnId, Signal, TTL_START, stream};
use std::sync::{Arc, Mutex};
use units::{Bytes, Rate};

/// Takes down what left, with its tag, and what was lost.
#[derive(Default)]
struct Seen<const C: bool> {
    sent: Vec<(u32, u32, u64, Option<u16>)>,
    lost: Vec<(u32, Loss)>,
}

impl<const C: bool> Outlet for Seen<C> {
    const CARRIES: bool = C;
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        let tag = packet.has_tag().then(|| Local::of(packet).tag);
        self.sent.push((link, packet.conn.0, at.0, tag));
    }
    fn lost(&mut self, _: Time, packet: &Packet, why: Loss) {
        self.lost.push((packet.conn.0, why));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        Some(HostId(0))
    }
}

/// Host `h` is behind port `h`, up to 3.
struct Ports;
impl Routing for Ports {
    fn ways(&self, host: u32) -> &[u16] {
        const EACH: [u16; 4] = [0, 1, 2, 3];
        EACH.get(host as usize).map_or(&[], std::slice::from_ref)
    }
    fn way_of_flow(_: u32, _: u32, _: u32) -> u32 {
        unreachable!("one way each")
    }
}

/// What a flow control was told: the word, the moment, the connection, and a number that belongs to it.
type Told = Arc<Mutex<Vec<(&'static str, u64, u32, u64)>>>;

/// Takes down what it is told. Asks neighbours for pauses as `asks` says; acts at `at`.
#[derive(Default)]
struct Scribe {
    told: Told,
    alone: bool,
    asks: Option<fn(&Passage<'_>, &mut Say)>,
    at: Option<Time>,
    broken: bool,
}

impl Scribe {
    fn tell(&self, what: &'static str, now: Time, packet: &Packet, number: u64) {
        let told = (what, now.0, packet.conn.0, number);
        self.told.lock().unwrap().push(told);
    }
}

impl FlowControl for Scribe {
    fn gates_alone(&self) -> bool {
        self.alone
    }
    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        self.tell("arrived", now, passage.packet, passage.held);
        if let Some(ask) = self.asks {
            ask(passage, say);
        }
    }
    fn turned_away(&mut self, ingress: u16, packet: &Packet, _: &mut Say) {
        self.tell("away", Time::ZERO, packet, ingress.into());
    }
    fn left(&mut self, now: Time, passage: &Passage<'_>, _: &mut Say) {
        self.tell("left", now, passage.packet, passage.held);
    }
    fn passed(&mut self, now: Time, passage: &Passage<'_>, _: &mut Say) {
        self.tell("passed", now, passage.packet, passage.held);
    }
    fn tag(&mut self, now: Time, passage: &Passage<'_>) -> Option<u16> {
        let tag = passage.tag.map_or(0, u64::from);
        self.tell("tag", now, passage.packet, tag);
        (passage.packet.conn.0 != 2).then_some(40 + passage.egress)
    }
    fn heard(&mut self, now: Time, port: u16, frame: &Packet, _: &mut Say) {
        self.tell("heard", now, frame, port.into());
    }
    fn grants(&self, port: u16) -> Option<LinkCredits> {
        let round = model::Round::of_bits(12);
        (port == 1).then(|| LinkCredits::new(round, Blocks::new(64, 0), 1, 100, 1_538, Span::us(9)))
    }
    fn deadline(&self) -> Time {
        self.at.unwrap_or(Time::NEVER)
    }
    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        self.tell("deadline", now, &Packet::EMPTY, 0);
        self.at = None;
        say.gate(1, GateOf::Queue(0), GateState::Open);
    }
    fn check(&self) {
        assert!(!self.broken, "as asked");
    }
}

fn switch(port: &PortSpec, control: Option<Scribe>) -> Switch {
    switch_with(port, Memory::PerPort, control)
}

fn switch_with(port: &PortSpec, memory: Memory, control: Option<Scribe>) -> Switch {
    let port = &Arc::new(port.clone());
    let lines = (0..4).map(|link| Line {
        spec: port,
        link,
        line: LineTime::new(Rate::gbps(10)),
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    let rng = || Rng::stream(1, stream::TEST, 99);
    let control = control.map(|own| Box::new(own) as Box<dyn FlowControl>);
    let spec = SwitchSpec {
        memory,
        ..SwitchSpec::default()
    };
    Switch::new(&spec, lines, 0, rng, control)
}

fn packet(to: u32, conn: u32, size: u16) -> Packet {
    Packet::new(HostId(to), ConnId(conn), Class::Plain, 0, size)
}

fn arrive<const C: bool>(
    switch: &mut Switch,
    seen: &mut Seen<C>,
    at: u64,
    (ingress, mut packet): (u16, Packet),
) {
    switch.arrive(Time(at), ingress, &mut packet, || true, &Ports, seen);
    switch.check();
}

fn fifo() -> PortSpec {
    PortSpec::fifo(Bytes(9_000))
}

#[test]
fn choices_may_be_made_piece_by_piece() {
    let spec = fifo().prioritised(2);
    let (mut switch, mut seen) = (switch(&spec, None), Seen::<false>::default());
    assert_eq!(switch.next(), Time::NEVER);
    for (n, to) in (0..).zip([1, 1, 2, 2, 2, 0]) {
        arrive(&mut switch, &mut seen, n, (3, packet(to, to, 1_000)));
    }
    // Each has one on its line; 1 has another to send, and 2 two.
    assert_eq!((seen.sent.len(), switch.next()), (3, Time(800_000)));
    let steps: Vec<_> = (0..4)
        .map(|_| {
            let next = switch.next();
            switch.commit_before(next, &mut seen);
            assert_eq!(switch.next(), next, "what is due then is not due before");
            switch.commit_before(Time(next.0.saturating_add(1)), &mut seen);
            (next, seen.sent.len())
        })
        .collect();
    let at = [800_000, 800_002, 1_600_002].map(Time);
    assert_eq!(steps[..3], [(at[0], 4), (at[1], 5), (at[2], 6)]);
    assert_eq!(steps[3], (Time::NEVER, 6));
    // It is asked again when something comes.
    for n in 0..2 {
        arrive(
            &mut switch,
            &mut seen,
            5_000_000 + n,
            (3, packet(2, 9, 1_000)),
        );
    }
    assert_eq!(switch.next(), Time(5_800_000));
    switch.commit_before(Time(9_000_000), &mut seen);
    assert_eq!((seen.sent.len(), switch.next()), (8, Time::NEVER));
}

#[test]
fn what_a_test_asks_for_slowly_is_done_slowly() {
    for (ordered, queued) in [(false, false), (true, false), (false, true)] {
        let mut switch = switch(&fifo().prioritised(2), None);
        assert!(!switch.is_ordered() && switch.may_pass);
        switch.slowly(ordered, queued);
        assert_eq!((switch.is_ordered(), switch.may_pass), (ordered, !queued));
        switch.slowly(false, false);
        assert_eq!((switch.is_ordered(), switch.may_pass), (ordered, !queued));
    }
    let alone = |alone| Scribe {
        alone,
        ..Scribe::default()
    };
    let switches = [false, true].map(|gates| switch(&fifo(), Some(alone(gates))));
    assert!(switches.iter().all(Switch::is_ordered));
    assert_eq!(switches.map(|switch| switch.may_pass), [false, true]);
}

#[test]
fn a_flow_control_hears_of_what_passes_what_waits_and_what_goes_no_further() {
    let scribe = Scribe {
        alone: true,
        at: Some(Time(1_500_000)),
        ..Scribe::default()
    };
    let told = Arc::clone(&scribe.told);
    let (mut switch, mut seen) = (switch(&fifo(), Some(scribe)), Seen::<false>::default());
    assert_eq!(switch.next(), Time(1_500_000));
    arrive(&mut switch, &mut seen, 10, (3, packet(1, 5, 1_000)));
    arrive(&mut switch, &mut seen, 20, (3, packet(1, 6, 500)));
    arrive(&mut switch, &mut seen, 30, (2, packet(9, 7, 500)));
    let mut tired = packet(1, 8, 84);
    assert!((0..TTL_START).all(|_| tired.hop()));
    arrive(&mut switch, &mut seen, 40, (0, tired));
    assert_eq!(switch.next(), Time(800_010), "what waits");
    let frame = Signal::PausePriority(0).frame();
    arrive(&mut switch, &mut seen, 50, (2, frame));
    // By the way it came: it may not pass, because a flow control may speak of it there.
    arrive(&mut switch, &mut seen, 2_000_000, (1, packet(1, 9, 300)));
    switch.commit_before(Time(u64::MAX / 2), &mut seen);
    let told = told.lock().unwrap();
    let link = frame.conn.0;
    assert_eq!(
        *told,
        [
            ("passed", 10, 5, 0),
            ("arrived", 20, 6, 500),
            ("away", 0, 7, 2),
            ("away", 0, 8, 0),
            ("heard", 50, link, 2),
            ("left", 800_010, 6, 0),
            ("deadline", 1_500_000, 0, 0),
            ("arrived", 2_000_000, 9, 300),
            ("left", 2_000_000, 9, 0),
        ]
    );
    assert_eq!(
        (switch.heard(), seen.lost.len(), seen.sent.len()),
        (1, 2, 3)
    );
    assert!(switch.grants(0).is_none());
    let grants = switch.grants(1).expect("as it says");
    assert_eq!(grants.left(0), 100);
}

#[test]
fn a_tag_is_for_the_next_node_alone() {
    let scribe = Scribe::default();
    let told = Arc::clone(&scribe.told);
    let tagged = |conn, tag: Option<u16>| {
        let mut packet = packet(1, conn, 1_000);
        packet.set_tagged(tag.is_some());
        Local {
            tag: tag.unwrap_or(0),
            ..Local::default()
        }
        .put(&mut packet);
        (3, packet)
    };
    let (mut with, mut seen) = (switch(&fifo(), Some(scribe)), Seen::<true>::default());
    for (conn, tag) in [(1, Some(7)), (2, Some(9)), (3, None)] {
        arrive(&mut with, &mut seen, u64::from(conn), tagged(conn, tag));
    }
    with.commit_before(Time(u64::MAX / 2), &mut seen);
    let heard: Vec<_> = told.lock().unwrap().clone();
    let heard = heard.iter().filter(|told| told.0 == "tag");
    let heard: Vec<_> = heard.map(|told| (told.2, told.3)).collect();
    assert_eq!(
        heard,
        [(1, 7), (2, 9), (3, 0)],
        "that of the link it came by"
    );
    let sent: Vec<_> = seen.sent.iter().map(|sent| (sent.1, sent.3)).collect();
    assert_eq!(sent, [(1, Some(41)), (2, None), (3, Some(41))]);
    // A switch without a flow control hands none on.
    for spec in [fifo(), fifo().prioritised(2)] {
        let (mut without, mut seen) = (switch(&spec, None), Seen::<true>::default());
        arrive(&mut without, &mut seen, 1, tagged(1, Some(7)));
        assert_eq!(seen.sent[0].3, None);
    }
}

#[test]
fn an_observer_hears_of_gates_pauses_and_who_joined_which_queue() {
    let notes = |conns: Option<Vec<u32>>, most| {
        let scribe = Scribe {
            at: Some(Time(60)),
            asks: Some(|passage, say| match passage.packet.conn.0 {
                1 => say.pause(passage.ingress, Signal::PausePriority(0), Span::ZERO),
                2 => {
                    say.blame(2, GateOf::Flow(passage.packet.conn));
                    say.keep(3, ConnId(7), Some(4));
                }
                _ => {}
            }),
            ..Scribe::default()
        };
        let (mut switch, mut seen) = (switch(&fifo(), Some(scribe)), Seen::<false>::default());
        assert!(switch.notes().0.is_empty());
        switch.watch(conns, most, Time::ZERO..Time::NEVER);
        for conn in 1..=3 {
            arrive(
                &mut switch,
                &mut seen,
                conn.into(),
                (3, packet(1, conn, 500)),
            );
        }
        switch.commit_before(Time(100), &mut seen);
        let (notes, missed) = switch.notes();
        let told = |note: &Note| {
            let what = match note.what {
                Noted::Gate(Gate { of, state }) => format!("{of:?} {state:?}"),
                Noted::Asked(of, sake) => format!("asked to pause {of:?} for {sake:?}"),
                Noted::Kept(conn, queue) => format!("keeps {} in {queue:?}", conn.0),
                Noted::Joined(queue, packet) => format!("{} joined {queue}", packet.conn.0),
            };
            format!("{} port {}: {what}", note.at.0, note.port)
        };
        (notes.iter().map(told).collect::<Vec<_>>(), missed)
    };
    let all = [
        "1 port 1: 1 joined 0",
        "1 port 3: asked to pause Priority(0) for Sake { egress: 1, queue: 0, priority: 0, conn: ConnId(1) }",
        "2 port 1: 2 joined 0",
        "2 port 2: asked to pause Flow(ConnId(2)) for Sake { egress: 1, queue: 0, priority: 0, conn: ConnId(2) }",
        "2 port 3: keeps 7 in Some(4)",
        "3 port 1: 3 joined 0",
        "60 port 1: Queue(0) Open",
    ];
    let some = |keep: &[usize]| keep.iter().map(|&n| all[n].to_owned()).collect::<Vec<_>>();
    assert_eq!(notes(None, 7), (some(&[0, 1, 2, 3, 4, 5, 6]), 0));
    assert_eq!(notes(None, 4), (some(&[0, 1, 2, 3]), 3));
    assert_eq!(notes(None, 0), (vec![], 7));
    assert_eq!(notes(Some(vec![2, 3]), 9), (some(&[1, 2, 3, 4, 5, 6]), 0));
    assert_eq!(notes(Some(vec![]), 1), (some(&[1]), 3), "the other three");
}

/// One packet on the line, one whole and one head wait; what has no room goes back.
fn bouncing() -> PortSpec {
    let heads = QueueSpec {
        takes: Takes {
            trimmed: Some(true),
            ..Takes::ALL
        },
        limit: Limit::Packets(1),
        ..QueueSpec::DATA
    };
    let whole = QueueSpec {
        limit: Limit::Packets(1),
        over: Over::Trim {
            to: 64,
            coin: false,
            bounce: true,
        },
        ..QueueSpec::DATA
    };
    PortSpec {
        buffer: Bytes(0),
        queues: vec![heads, whole],
        shares: Vec::new(),
    }
}

/// Half of a memory of 6,600 B: one packet is on its line, two wait, of four more the heads do, and the next goes back to
/// host 0.
#[test]
fn what_a_full_memory_has_no_room_for_is_cut_and_goes_back_where_its_port_does_that() {
    let memory = Memory::Shared {
        size: Bytes(6_600),
        alpha: 1.0,
    };
    let ways = |over: Over| {
        let mut port = bouncing();
        for queue in &mut port.queues {
            queue.limit = Limit::Packets(9);
        }
        port.queues[1].over = over;
        let mut switch = switch_with(&port, memory, None);
        let mut seen = Seen::<false>::default();
        for conn in 0..8 {
            arrive(
                &mut switch,
                &mut seen,
                conn.into(),
                (3, packet(1, conn, 1_538)),
            );
        }
        switch.commit_before(Time(100_000_000), &mut seen);
        switch.check();
        let by = |link: u32| -> Vec<u32> {
            let sent = seen.sent.iter().filter(|sent| sent.0 == link);
            sent.map(|sent| sent.1).collect()
        };
        (by(1), by(0), seen.lost.len())
    };
    let cut = |bounce| Over::Trim {
        to: 64,
        coin: false,
        bounce,
    };
    // Heads are the first queue, and overtake.
    let heads_first = vec![0, 3, 4, 5, 6, 1, 2];
    assert_eq!(ways(cut(true)), (heads_first.clone(), vec![7], 0));
    assert_eq!(ways(cut(false)), (heads_first, vec![], 1));
    assert_eq!(ways(Over::Drop), (vec![0, 1, 2], vec![], 5));
}

/// The port that had no room lost what has no way back, not the link at whose other end it came.
#[test]
fn what_has_no_way_back_is_lost_where_it_had_no_room() {
    /// Host 1 is behind port 1, and nobody else anywhere.
    struct One;
    impl Routing for One {
        fn ways(&self, host: u32) -> &[u16] {
            if host == 1 { &[1] } else { &[] }
        }
        fn way_of_flow(_: u32, _: u32, _: u32) -> u32 {
            unreachable!("one way")
        }
    }
    for control in [None, Some(Scribe::default())] {
        let (mut switch, mut seen) = (switch(&bouncing(), control), Seen::<false>::default());
        for conn in 0..4 {
            let mut packet = packet(1, conn, 1_538);
            switch.arrive(Time(conn.into()), 3, &mut packet, || true, &One, &mut seen);
        }
        assert_eq!(seen.lost, [(3, Loss::Port(1, DropReason::Unreachable))]);
        assert_eq!(switch.astray().count(), 0);
        let reasons = |port: &Port| port.counters().drop_reasons[DropReason::Unreachable];
        assert_eq!(
            switch.ports.iter().map(reasons).collect::<Vec<_>>(),
            [0, 1, 0, 0]
        );
    }
}

#[test]
fn a_flow_control_stands_in_no_packets_way_back() {
    for control in [None, Some(Scribe::default())] {
        let (mut switch, mut seen) = (switch(&bouncing(), control), Seen::<false>::default());
        for conn in 0..4 {
            arrive(
                &mut switch,
                &mut seen,
                conn.into(),
                (3, packet(1, conn, 1_538)),
            );
        }
        switch.commit_before(Time(u64::MAX / 2), &mut seen);
        let by = |link| {
            let sent = seen.sent.iter().filter(|sent| sent.0 == link);
            sent.map(|sent| sent.1).collect::<Vec<_>>()
        };
        // One on the line, one whole, one head; the last goes back to host 0.
        assert_eq!((by(1), by(0)), (vec![0, 2, 1], vec![3]));
        assert!(seen.lost.is_empty());
    }
}

#[test]
fn a_broken_invariant_of_the_flow_control_is_the_switchs() {
    let check = |broken| {
        let scribe = Scribe {
            broken,
            ..Scribe::default()
        };
        let switch = switch(&fifo(), Some(scribe));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| switch.check())).is_ok()
    };
    assert_eq!([false, true].map(check), [true, false]);
}
