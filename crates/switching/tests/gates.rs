//! Flow controls that need not be told everything in the order of time: of gates alone, or of what leaves some ports; ports
//! take fast forms, choices are made late and packets pass idle ports, and nothing else changes.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use model::intent::{
    DropBy, DropMeasure, DropSpec, MarkAt, MarkSpec, Memory, Order, PortSpec, QueueSpec,
    SwitchSpec, Takes,
};
use model::{Class, ConnId, Ecn, HostId, Packet, Rng, Signal, stream};
use std::sync::{Arc, Mutex};
use switching::{
    FlowControl, Form, GateOf, GateState, Line, Loss, Outlet, Passage, Routing, Say, Switch, Wants,
};
use units::{Bytes, LineTime, Rate, Span, Time};

/// What a flow control was told, one line each.
type Told = Arc<Mutex<Vec<String>>>;

/// Opens and closes gates of two ports at random moments, asks neighbours for pauses, and writes down all that it is
/// told.
struct Gates {
    alone: bool,
    rng: Rng,
    next: Time,
    told: Told,
    arrivals: u32,
}

impl Gates {
    fn note(&self, what: &str, now: Time, passage: &Passage<'_>) {
        let Passage {
            packet,
            ingress,
            egress,
            queue,
            held,
            ..
        } = passage;
        self.told.lock().unwrap().push(format!(
            "{what} {} {:?} {ingress} {egress} {queue} {held} {:?}",
            now.0,
            packet.conn,
            packet.ecn()
        ));
    }
}

impl FlowControl for Gates {
    fn gates_alone(&self) -> bool {
        self.alone
    }
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        let port = passage.held + u64::from(passage.packet.size) <= 8_000;
        Some(port && u64::from(passage.packet.size) <= free)
    }
    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        self.note("arrived", now, passage);
        self.arrivals += 1;
        if self.arrivals.is_multiple_of(5) && passage.ingress != passage.egress {
            let priority = Signal::PausePriority(passage.packet.priority());
            say.pause(passage.ingress, priority, Span::ZERO);
        }
        if self.arrivals.is_multiple_of(7) {
            // A moment that may be that of a choice.
            self.next = self.next.min(now + Span(800 * 84));
        }
    }
    fn left(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        self.note("left", now, passage);
        if self.arrivals.is_multiple_of(3) {
            let frame = Signal::ResumePriority(passage.packet.priority()).frame();
            say.frame(passage.ingress, frame);
        }
    }
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    fn deadline(&self) -> Time {
        self.next
    }
    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        self.told
            .lock()
            .unwrap()
            .push(format!("deadline {}", now.0));
        let number = u8::try_from(self.rng.below(9)).unwrap();
        let of = if self.rng.below(2) == 0 {
            GateOf::Queue(number)
        } else {
            GateOf::Priority(number % 8)
        };
        let state = [GateState::Open, GateState::Open, GateState::Closed]
            [usize::try_from(self.rng.below(3)).unwrap()];
        say.gate(u16::try_from(self.rng.below(2)).unwrap(), of, state);
        self.next = if now.0 > 1_000_000_000 {
            Time::NEVER
        } else {
            now + Span(1 + self.rng.below(4_000_000))
        };
    }
}

#[derive(Default)]
struct Seen {
    sent: Vec<Vec<String>>,
    lost: Vec<String>,
}

impl Outlet for Seen {
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        let mut packet = *packet;
        packet.at = at;
        self.sent.resize(8, Vec::new());
        self.sent[link as usize].push(format!("{packet:?} {:?}", packet.ecn()));
    }
    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        self.lost
            .push(format!("{} {:?} {why:?}", at.0, packet.conn));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        None
    }
}

/// Host `h` is behind port `h`.
struct Ports;
impl Routing for Ports {
    fn ways(&self, host: u32) -> &[u16] {
        const EACH: [u16; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        std::slice::from_ref(&EACH[host as usize])
    }
    fn way_of_flow(_: u32, _: u32, _: u32) -> u32 {
        unreachable!("one way each")
    }
}

/// Packets of every size and priority to two ports, from there, too; `stretch` says how idle the ports are.
fn traffic(seed: u64, stretch: u64) -> Vec<(Time, u16, Packet)> {
    let mut rng = Rng::stream(seed, stream::TEST, 0);
    let mut now = 0;
    let one = |n: u32| {
        now += [0, 84, 300, 700][usize::try_from(rng.below(4)).unwrap()] * 800 * stretch;
        let size = u16::try_from(rng.between(84, 1538)).unwrap();
        let to = HostId(u32::try_from(rng.below(2)).unwrap());
        let class = [Class::Control, Class::Unscheduled, Class::Plain];
        let class = class[usize::try_from(rng.below(3)).unwrap()];
        let mut packet = Packet::new(to, ConnId(n % 17), class, 0, size);
        packet.set_priority(u8::try_from(rng.below(8)).unwrap());
        packet.set_ecn(Ecn::Capable0);
        (Time(now), u16::try_from(n % 8).unwrap(), packet)
    };
    (0..600).map(one).collect()
}

/// All that can be told of a run: departures by link, losses, what the flow control was told, counters.
fn run(spec: &SwitchSpec, port: &PortSpec, alone: bool, seed: u64, stretch: u64) -> Vec<String> {
    let line = LineTime::new(Rate::gbps(10));
    let port = &Arc::new(port.clone());
    let lines = (0..8).map(|link| Line {
        spec: port,
        link,
        line,
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    let told = Told::default();
    let control = Gates {
        alone,
        rng: Rng::stream(seed, stream::TEST, 7),
        next: Time(1),
        told: Arc::clone(&told),
        arrivals: 0,
    };
    let rng = || Rng::stream(1, stream::TEST, 99);
    let mut switch = Switch::new(spec, lines, 0, rng, Some(Box::new(control)));
    let mut seen = Seen::default();
    let packets = traffic(seed, stretch);
    for (place, &(at, ingress, mut packet)) in packets.iter().enumerate() {
        // As the simulator has it: whether the next one has another moment.
        let other = packets.get(place + 1).is_none_or(|next| next.0 != at);
        switch.arrive(at, ingress, &mut packet, || other, &Ports, &mut seen);
        switch.check();
    }
    switch.commit_before(Time(u64::MAX / 2), &mut seen);
    switch.check();
    let mut all: Vec<String> = seen.sent.into_iter().flatten().collect();
    all.append(&mut seen.lost);
    all.append(&mut told.lock().unwrap());
    let ports = switch.ports.iter_mut().map(|port| {
        port.close_books(Time(2_000_000_000));
        format!("{:?} {:?}", port.counters(), port.held_packets().len())
    });
    all.extend(ports);
    all
}

#[test]
fn ports_with_gates_alone_do_what_the_general_port_does() {
    let mark = |at| MarkSpec {
        min: Bytes(3_000),
        max: Bytes(5_000),
        chance: 0.5,
        at,
        drop_others: false,
    };
    let drop = DropSpec {
        victim: Class::Unscheduled,
        threshold: Bytes(3_000),
        measure: DropMeasure::Port,
        by: DropBy::Class,
    };
    let port = || PortSpec::fifo(Bytes(12_000));
    let ports = [
        ("one", port()),
        ("marks", port().marking(mark(MarkAt::Enqueue))),
        ("marks late", port().marking(mark(MarkAt::Dequeue))),
        ("three", port().prioritised(3)),
        ("eight that drop", port().dropping(drop).prioritised(8)),
    ];
    let shared = SwitchSpec {
        memory: Memory::Shared {
            size: Bytes(14_000),
            alpha: 1.0,
        },
        ..SwitchSpec::default()
    };
    for (name, port) in &ports {
        let line = LineTime::new(Rate::gbps(10));
        let form = Form::new(port, 1, line, Rng::stream(1, 2, 3), Wants::Gates);
        assert!(matches!(form, Form::Gated(_)), "{name} has a fast form");
        for spec in [&SwitchSpec::default(), &shared] {
            for (seed, stretch) in (0..12).flat_map(|seed| [(seed, 1), (seed, 2), (seed, 6)]) {
                let fast = run(spec, port, true, seed, stretch);
                let general = run(spec, port, false, seed, stretch);
                let other = fast.iter().zip(&general).find(|(fast, slow)| fast != slow);
                assert_eq!(other, None, "{name}, seed {seed}, {stretch}");
                assert_eq!(fast.len(), general.len(), "{name}, seed {seed}, {stretch}");
                assert!(general.iter().any(|line| line.starts_with("deadline")));
            }
        }
    }
}

/// Pauses the neighbours by which a quarter of what is free came, as it says; calm while it has paused none, where it
/// may be.
struct Threshold {
    may_be_calm: bool,
    free: u64,
    held: [u64; 8],
    paused: [bool; 8],
    pauses: Arc<Mutex<(u32, u32)>>,
}

impl Threshold {
    fn has_room(&self, passage: &Passage<'_>) -> bool {
        let size = u64::from(passage.packet.size);
        self.held[usize::from(passage.ingress)] + size <= self.free / 4
    }
}

impl FlowControl for Threshold {
    fn gates_alone(&self) -> bool {
        true
    }
    fn is_calm(&self) -> bool {
        self.may_be_calm && self.paused == [false; 8]
    }
    fn stays_calm(&mut self, passage: &Passage<'_>, free: u64) -> bool {
        assert!(self.is_calm(), "asked while it is calm");
        self.pauses.lock().unwrap().1 += 1;
        self.has_room(passage) && u64::from(passage.packet.size) <= free
    }
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        Some(u64::from(passage.packet.size) <= free)
    }
    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        let (ingress, fits) = (usize::from(passage.ingress), self.has_room(passage));
        self.held[ingress] += u64::from(passage.packet.size);
        self.free -= u64::from(passage.packet.size);
        if !fits && !std::mem::replace(&mut self.paused[ingress], true) {
            self.pauses.lock().unwrap().0 += 1;
            say.pause(passage.ingress, Signal::PausePriority(0), Span::ZERO);
        }
    }
    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        let ingress = usize::from(passage.ingress);
        self.held[ingress] -= u64::from(passage.packet.size);
        self.free += u64::from(passage.packet.size);
        if self.paused[ingress] && self.held[ingress] < self.free / 8 {
            self.paused[ingress] = false;
            say.frame(passage.ingress, Signal::ResumePriority(0).frame());
        }
    }
    fn heard(&mut self, _: Time, port: u16, frame: &Packet, say: &mut Say) {
        let state = match Signal::of(frame) {
            Some(Signal::PausePriority(_)) => GateState::Closed,
            _ => GateState::Open,
        };
        say.gate(port, GateOf::Priority(0), state);
    }
}

/// Departures by link, losses, and counters of a switch whose flow control may be calm or not, with how often it paused a
/// neighbour and was asked whether it stays calm.
fn run_with_threshold(port: &PortSpec, may_be_calm: bool, seed: u64) -> (Vec<String>, (u32, u32)) {
    let port = &Arc::new(port.clone());
    let lines = (0..8).map(|link| Line {
        spec: port,
        link,
        line: LineTime::new(Rate::gbps(10)),
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    let memory = 14_000;
    let pauses = Arc::default();
    let control = Threshold {
        may_be_calm,
        free: memory,
        held: [0; 8],
        paused: [false; 8],
        pauses: Arc::clone(&pauses),
    };
    let spec = SwitchSpec {
        memory: Memory::Shared {
            size: Bytes(memory),
            alpha: 1.0,
        },
        ..SwitchSpec::default()
    };
    let rng = || Rng::stream(1, stream::TEST, 99);
    let mut switch = Switch::new(&spec, lines, 0, rng, Some(Box::new(control)));
    let (mut seen, mut asked) = (Seen::default(), Rng::stream(seed, stream::TEST, 8));
    let packets = traffic(seed, 2);
    for (place, &(at, ingress, mut packet)) in packets.iter().enumerate() {
        if asked.below(20) == 0 {
            let what = [Signal::PausePriority(0), Signal::ResumePriority(0)];
            let mut frame = what[usize::try_from(asked.below(2)).unwrap()].frame();
            switch.arrive(at, ingress % 2, &mut frame, || false, &Ports, &mut seen);
            switch.check();
        }
        let other = packets.get(place + 1).is_none_or(|next| next.0 != at);
        switch.arrive(at, ingress, &mut packet, || other, &Ports, &mut seen);
        switch.check();
        if asked.below(8) == 0 {
            switch.commit_before(at, &mut seen);
            assert!(switch.next() >= at, "seed {seed}");
            switch.check();
        }
    }
    for port in 0..2 {
        let mut frame = Signal::ResumePriority(0).frame();
        let end = Time(1_900_000_000);
        switch.arrive(end, port, &mut frame, || true, &Ports, &mut seen);
    }
    switch.commit_before(Time(u64::MAX / 2), &mut seen);
    switch.check();
    let mut all: Vec<String> = seen.sent.into_iter().flatten().collect();
    all.append(&mut seen.lost);
    all.extend(switch.ports.iter_mut().map(|port| {
        port.close_books(Time(2_000_000_000));
        format!("{:?} {:?}", port.counters(), port.held_packets().len())
    }));
    let pauses = *pauses.lock().unwrap();
    (all, pauses)
}

#[test]
fn a_calm_flow_control_is_told_of_sums_alone_and_nothing_else_changes() {
    let late = MarkSpec {
        min: Bytes(3_000),
        max: Bytes(5_000),
        chance: 0.5,
        at: MarkAt::Dequeue,
        drop_others: false,
    };
    let port = || PortSpec::fifo(Bytes(12_000));
    let (mut calm, mut paused) = (0, 0);
    for port in [port(), port().marking(late), port().prioritised(3)] {
        for seed in 0..40 {
            let (fast, (pauses, asked)) = run_with_threshold(&port, true, seed);
            let (slow, never) = run_with_threshold(&port, false, seed);
            let other = fast.iter().zip(&slow).find(|(fast, slow)| fast != slow);
            assert_eq!(other, None, "seed {seed}");
            assert_eq!(
                (fast.len(), (pauses, 0)),
                (slow.len(), never),
                "seed {seed}"
            );
            (calm, paused) = (calm + asked, paused + pauses);
        }
    }
    assert!(calm > 10_000 && paused > 1_000, "{calm} {paused}");
}

/// Gives each connection the numbered queue of its last digits, and keeps one of them closed for a while.
struct Assigns(bool);

impl FlowControl for Assigns {
    fn assign(&mut self, _: Time, passage: &Passage<'_>) -> Option<u8> {
        Some(1 + u8::try_from(passage.packet.conn.0 % 4).unwrap())
    }
    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        assert_eq!(u32::from(passage.queue), 1 + passage.packet.conn.0 % 4);
        if !self.0 {
            say.gate(passage.egress, GateOf::Queue(3), GateState::Closed);
        }
    }
    fn left(&mut self, _: Time, passage: &Passage<'_>, _: &mut Say) {
        assert_eq!(u32::from(passage.queue), 1 + passage.packet.conn.0 % 4);
    }
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    fn deadline(&self) -> Time {
        if self.0 {
            Time::NEVER
        } else {
            Time(20_000_000)
        }
    }
    fn on_deadline(&mut self, _: Time, say: &mut Say) {
        self.0 = true;
        say.gate(1, GateOf::Queue(3), GateState::Open);
    }
}

#[test]
fn numbered_queues_take_turns_and_a_gate_keeps_one_of_them() {
    let mut port = PortSpec::fifo(Bytes(90_000));
    let control = QueueSpec {
        takes: Takes::ALL.only(Class::Control),
        level: 0,
        ..QueueSpec::DATA
    };
    port.queues[0].order = Order::Numbered(4);
    port.queues.insert(0, control);
    port.check().unwrap();
    let port = Arc::new(port);
    let lines = (0..2).map(|link| Line {
        spec: &port,
        link,
        line: LineTime::new(Rate::gbps(10)),
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    let rng = || Rng::stream(1, stream::TEST, 99);
    let spec = SwitchSpec::default();
    let mut switch = Switch::new(&spec, lines, 0, rng, Some(Box::new(Assigns(false))));
    let mut left = Left::default();
    for (n, conn) in (0..).zip([0, 0, 2, 1, 2, 3, 6, 5]) {
        let mut packet = Packet::new(HostId(1), ConnId(conn), Class::Plain, 0, 1000);
        switch.arrive(Time(n), 0, &mut packet, || true, &Ports, &mut left);
        switch.check();
    }
    switch.commit_before(Time(10_000_000), &mut left);
    assert_eq!(switch.ports[1].held_packets().len(), 3, "2, 2 and 6");
    switch.commit_before(Time(u64::MAX / 2), &mut left);
    switch.check();
    assert_eq!(left.0, [0, 1, 3, 0, 5, 2, 2, 6]);
}

/// Connections in the order in which their packets leave.
#[derive(Default)]
struct Left(Vec<u32>);

impl Outlet for Left {
    fn send(&mut self, _: u32, packet: &Packet, _: Time) {
        self.0.push(packet.conn.0);
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        None
    }
}

/// Above so many bytes for a port it pauses where they come from, below so many they go on.
const PAUSES_ABOVE: u64 = 4_000;
const RESUMES_BELOW: u64 = 2_500;

/// Pauses neighbours by what waits for a port. It speaks of what leaves there while it has paused one, or always.
struct ByPort {
    always: bool,
    /// It tells control packets from data, and minds data alone.
    chooses: bool,
    rng: Rng,
    held: [u64; 8],
    paused: [Vec<u16>; 8],
    /// Queue 3 of the port is closed.
    shut: [bool; 8],
    next: Time,
    pauses: u32,
    counts: Arc<Mutex<[u32; 3]>>,
}

impl FlowControl for ByPort {
    fn assign(&mut self, _: Time, passage: &Passage<'_>) -> Option<u8> {
        let data = passage.packet.class() != Class::Control;
        data.then(|| 1 + u8::try_from(self.rng.below(4)).unwrap())
    }
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        let admitted = u64::from(passage.packet.size) <= free;
        self.counts.lock().unwrap()[0] += u32::from(!admitted);
        Some(admitted)
    }
    fn minds(&self, class: Class) -> bool {
        !self.chooses || class != Class::Control
    }
    fn speaks(&self, port: u16) -> bool {
        self.always || !self.paused[usize::from(port)].is_empty()
    }
    fn overlooks(&self, passage: &Passage<'_>) -> bool {
        let port = usize::from(passage.egress);
        let nothing = self.held[port] == 0 && !self.shut[port];
        self.counts.lock().unwrap()[1] += u32::from(nothing);
        nothing
    }
    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        if !self.minds(passage.packet.class()) {
            return;
        }
        let port = usize::from(passage.egress);
        self.held[port] += u64::from(passage.packet.size);
        if self.held[port] > PAUSES_ABOVE && !self.paused[port].contains(&passage.ingress) {
            self.paused[port].push(passage.ingress);
            self.pauses += 1;
            self.counts.lock().unwrap()[2] += 1;
            say.pause(passage.ingress, Signal::PausePriority(0), Span::ZERO);
            if self.pauses.is_multiple_of(3) {
                // A moment that may be that of a choice.
                self.next = self.next.min(now + Span(800 * 84));
            }
        }
    }
    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !self.minds(passage.packet.class()) {
            return;
        }
        let port = usize::from(passage.egress);
        self.held[port] -= u64::from(passage.packet.size);
        if self.held[port] < RESUMES_BELOW {
            for ingress in self.paused[port].drain(..) {
                say.frame(ingress, Signal::ResumePriority(0).frame());
            }
        }
        let shut = (500..1_500).contains(&self.held[port]);
        if std::mem::replace(&mut self.shut[port], shut) != shut {
            let state = [GateState::Open, GateState::Closed][usize::from(shut)];
            say.gate(passage.egress, GateOf::Queue(3), state);
        }
    }
    fn heard(&mut self, _: Time, port: u16, frame: &Packet, say: &mut Say) {
        let state = match Signal::of(frame) {
            Some(Signal::PausePriority(_)) => GateState::Closed,
            _ => GateState::Open,
        };
        say.gate(port, GateOf::Queue(2), state);
    }
    fn deadline(&self) -> Time {
        self.next
    }
    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        for port in 0..2 {
            self.shut[usize::from(port)] = false;
            say.gate(port, GateOf::Queue(3), GateState::Open);
            say.frame(
                1 - port,
                Signal::PausePriority(port.try_into().unwrap()).frame(),
            );
        }
        let next = now + Span(1 + self.rng.below(40_000_000));
        self.next = if now.0 < 1_900_000_000 {
            next
        } else {
            Time::NEVER
        };
    }
}

/// Departures by link, losses and counters of a switch under [`ByPort`], and how often it refused, overlooked and paused.
fn run_by_port(port: &PortSpec, always: bool, seed: u64) -> (Vec<String>, [u32; 3]) {
    let port = &Arc::new(port.clone());
    let lines = (0..8).map(|link| Line {
        spec: port,
        link,
        line: LineTime::new(Rate::gbps(10)),
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    let counts = Arc::default();
    let control = ByPort {
        always,
        chooses: seed % 4 < 2,
        rng: Rng::stream(seed, stream::TEST, 7),
        held: [0; 8],
        paused: Default::default(),
        shut: [false; 8],
        next: Time(1),
        pauses: 0,
        counts: Arc::clone(&counts),
    };
    let spec = SwitchSpec {
        memory: Memory::Shared {
            // So little that it is full at times, or so much that nobody need look.
            size: Bytes(if seed.is_multiple_of(2) {
                8_000
            } else {
                100_000
            }),
            alpha: 1.0,
        },
        ..SwitchSpec::default()
    };
    let rng = || Rng::stream(1, stream::TEST, 99);
    let mut switch = Switch::new(&spec, lines, 0, rng, Some(Box::new(control)));
    let (mut seen, mut asked) = (Seen::default(), Rng::stream(seed, stream::TEST, 8));
    let packets = traffic(seed, 1 + seed % 4);
    for (place, &(at, ingress, mut packet)) in packets.iter().enumerate() {
        if asked.below(12) == 0 {
            let what = [Signal::PausePriority(0), Signal::ResumePriority(0)];
            let mut frame = what[usize::try_from(asked.below(2)).unwrap()].frame();
            switch.arrive(at, ingress % 2, &mut frame, || false, &Ports, &mut seen);
            switch.check();
        }
        let other = packets.get(place + 1).is_none_or(|next| next.0 != at);
        switch.arrive(at, ingress, &mut packet, || other, &Ports, &mut seen);
        switch.check();
        if asked.below(8) == 0 {
            switch.commit_before(at, &mut seen);
            assert!(switch.next() >= at, "seed {seed}");
            switch.check();
        }
    }
    switch.commit_before(Time(u64::MAX / 2), &mut seen);
    switch.check();
    let mut all: Vec<String> = seen.sent.into_iter().flatten().collect();
    all.append(&mut seen.lost);
    all.extend(switch.ports.iter_mut().map(|port| {
        port.close_books(Time(2_000_000_000));
        format!("{:?} {:?}", port.counters(), port.held_packets().len())
    }));
    let counts = *counts.lock().unwrap();
    (all, counts)
}

#[test]
fn a_port_of_which_nobody_speaks_chooses_late_and_nothing_else_changes() {
    let mut numbered = PortSpec::fifo(Bytes(8_000));
    let mut control = numbered.queues[0];
    control.takes.classes = 1 << Class::Control as u8;
    (control.level, numbered.queues[0].level) = (1, 2);
    numbered.queues[0].order = Order::Numbered(4);
    numbered.queues.insert(0, control);
    let mut general = numbered.clone();
    general.queues[0].takes.priorities = 0b111;
    let (mut refused, mut overlooked, mut paused) = (0, 0, 0);
    for (name, port) in [("numbered", numbered), ("general", general)] {
        for seed in 0..60 {
            let (late, counts) = run_by_port(&port, false, seed);
            let (slow, [_, never, pauses]) = run_by_port(&port, true, seed);
            let other = late.iter().zip(&slow).find(|(late, slow)| late != slow);
            assert_eq!(other, None, "{name}, seed {seed}");
            assert_eq!((late.len(), counts[2], 0), (slow.len(), pauses, never));
            refused += counts[0];
            (overlooked, paused) = (overlooked + counts[1], paused + pauses);
        }
    }
    let seen = (refused, overlooked, paused);
    assert!(
        refused > 100 && overlooked > 1_000 && paused > 1_000,
        "{seen:?}"
    );
}
