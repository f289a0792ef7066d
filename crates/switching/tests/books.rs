//! What switches count and tell: absolute figures, for every form of a port.

use model::intent::{
    CreditCount, CreditSpec, MarkAt, MarkSpec, Order, PortSpec, QueueSpec, SwitchSpec,
};
use model::{Class, ConnId, DropReason, Ecn, HostId, Packet, Rng, Signal, TTL_START, stream};
use std::sync::Arc;
use switching::{
    Backlog, FlowControl, GateOf, GateState, Holder, Line, Loss, Outlet, Passage, Paused, Routing,
    Say, Switch,
};
use units::{Bytes, LineTime, Rate, Span, Time};

/// Packets that left, by the end of their last bit at the far end, and those that were lost.
#[derive(Default)]
struct Seen {
    sent: Vec<(u32, u32, u64)>,
    lost: Vec<(u32, Loss)>,
}

impl Outlet for Seen {
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        self.sent.push((link, packet.conn.0, at.0));
    }
    fn lost(&mut self, _: Time, packet: &Packet, why: Loss) {
        self.lost.push((packet.conn.0, why));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        None
    }
}

/// Host `h` is behind port `h`, up to 3; nothing leads further.
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

/// Closes a queue of port 1 when it hears a frame, and counts two pauses of port 2.
struct Keeps(bool);

impl FlowControl for Keeps {
    fn gates_alone(&self) -> bool {
        self.0
    }
    fn arrived(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn heard(&mut self, _: Time, port: u16, frame: &Packet, say: &mut Say) {
        assert_eq!((port, frame.class()), (3, Class::Link));
        say.gate(1, GateOf::Queue(0), GateState::Closed);
        say.count_pause(2);
        say.count_pause(2);
    }
    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("kept", 7);
    }
    fn headroom(&self, tell: &mut dyn FnMut(u16, u8, u64)) {
        tell(2, 0, 300);
    }
}

fn switch(port: &PortSpec, control: Option<Keeps>) -> Switch {
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
    Switch::new(&SwitchSpec::default(), lines, 0, rng, control)
}

fn packet(to: u32, conn: u32, class: Class, size: u16) -> Packet {
    let mut packet = Packet::new(HostId(to), ConnId(conn), class, 0, size);
    packet.set_ecn(Ecn::Capable0);
    packet
}

/// Hands in packets of 1000 B, a picosecond apart.
fn flood(switch: &mut Switch, seen: &mut Seen, packets: &[(u32, Class)]) {
    for (conn, &(to, class)) in (0..).zip(packets) {
        let mut packet = packet(to, conn, class, 1_000);
        switch.arrive(Time(conn.into()), 3, &mut packet, || true, &Ports, seen);
        switch.check();
    }
}

fn specs() -> [(&'static str, PortSpec); 4] {
    let port = PortSpec::fifo(Bytes(4_000)).marking(MarkSpec {
        min: Bytes(2_000),
        max: Bytes(2_000),
        chance: 1.0,
        at: MarkAt::Enqueue,
        drop_others: false,
    });
    let credit = QueueSpec::credit(CreditSpec {
        queue_limit: 4,
        bucket: 2,
        count: CreditCount::Credits,
        size_mean: 84,
        frame_max: 1538,
        share: CreditSpec::WHOLE,
    });
    let mut turns = port.clone();
    turns.queues[0].order = Order::PerFlow;
    [
        ("one row", port.clone()),
        ("credits", port.clone().with(credit)),
        ("priorities", port.prioritised(3)),
        ("turns", turns),
    ]
}

#[test]
fn a_port_counts_what_it_sent_dropped_and_marked() {
    for (name, spec) in specs() {
        let (mut switch, mut seen) = (switch(&spec, None), Seen::default());
        let (plain, other) = (Class::Plain, Class::Unscheduled);
        let classes = [plain, other, plain, plain, other, plain];
        flood(&mut switch, &mut seen, &classes.map(|class| (1, class)));
        // One is on the line, three wait, and two have found 4000 B.
        let backlog = switch.ports[1].backlog(Time(5));
        let full = Backlog {
            data_bytes: 4_000,
            credits: 0,
        };
        assert_eq!(backlog, full, "{name}");
        let waiting = switch.ports[1].waiting();
        let keeps = u64::from(name != "one row");
        assert_eq!(
            (waiting[plain], waiting[other]),
            (2 * keeps, keeps),
            "{name}"
        );
        assert_eq!(seen.lost.len(), 2);
        let lost = Loss::Port(1, DropReason::Full);
        assert!(seen.lost.iter().all(|&(_, why)| why == lost), "{name}");
        switch.commit_before(Time(u64::MAX / 2), &mut seen);
        let ends: Vec<_> = seen.sent.iter().map(|&(link, _, at)| (link, at)).collect();
        let end = |n: u64| (1, 800_000 * n + 1_000_000);
        assert_eq!(ends, [1, 2, 3, 4].map(end), "{name}");
        let counters = switch.ports[1].counters();
        assert_eq!(
            (counters.packets[plain], counters.packets[other]),
            (3, 1),
            "{name}"
        );
        assert_eq!(
            (counters.bytes[plain], counters.bytes[other]),
            (3_000, 1_000)
        );
        assert_eq!((counters.dropped[plain], counters.dropped[other]), (1, 1));
        assert_eq!(counters.drop_reasons[DropReason::Full], 2);
        // The third and the fourth found 2000 B or more.
        assert_eq!((counters.marked, counters.queue_max), (2, 4_000), "{name}");
        assert_eq!((counters.pauses, counters.paused), (0, Span::ZERO));
        assert_eq!(switch.ports[2].counters(), switch.ports[0].counters());
        assert_eq!(switch.ports[1].sent().packets(), counters.packets);
        switch.ports[1].forget_peak(Time(9_999_999));
        assert_eq!(switch.ports[1].counters().queue_max, 0, "{name}");
        assert_eq!(switch.ports[1].waiting()[plain], 0);
    }
}

#[test]
fn what_goes_no_further_is_counted_by_its_class() {
    let (mut switch, mut seen) = (switch(&PortSpec::fifo(Bytes(9_000)), None), Seen::default());
    flood(
        &mut switch,
        &mut seen,
        &[(9, Class::Plain), (9, Class::Control)],
    );
    let mut tired = packet(1, 5, Class::Unscheduled, 84);
    assert!((0..TTL_START).all(|_| tired.hop()));
    switch.arrive(Time(9), 3, &mut tired, || true, &Ports, &mut seen);
    let lost = |of: DropReason, class: Option<Class>| {
        let all = switch.astray().filter(|&(_, why, _)| why == of);
        all.map(|(_, _, lost)| class.map_or(lost.sum(), |class| lost[class]))
            .sum::<u64>()
    };
    let (unreachable, expired) = (DropReason::Unreachable, DropReason::Ttl);
    assert_eq!(lost(unreachable, Some(Class::Plain)), 1);
    assert_eq!(lost(unreachable, Some(Class::Control)), 1);
    assert_eq!(lost(expired, Some(Class::Unscheduled)), 1);
    assert_eq!((lost(unreachable, None), lost(expired, None)), (2, 1));
    let reasons: Vec<_> = seen.lost.iter().map(|&(_, why)| why).collect();
    let lost = [
        DropReason::Unreachable,
        DropReason::Unreachable,
        DropReason::Ttl,
    ];
    assert_eq!(reasons, lost.map(Loss::Switch));
    assert!(switch.grants(1).is_none() && switch.heard() == 0);
}

#[test]
fn what_gates_keep_is_told_with_the_port_by_which_it_came() {
    for (alone, name, spec) in specs()
        .into_iter()
        .flat_map(|(name, spec)| [(true, name, spec.clone()), (false, name, spec)])
        .filter(|(_, name, _)| *name != "credits")
    {
        let (mut switch, mut seen) = (switch(&spec, Some(Keeps(alone))), Seen::default());
        let mut frame = Signal::PausePriority(0).frame();
        switch.arrive(Time(0), 3, &mut frame, || true, &Ports, &mut seen);
        assert_eq!(switch.heard(), 1);
        for (conn, ingress) in [(5, 3), (6, 2)] {
            let mut packet = packet(1, conn, Class::Plain, 1_000);
            let at = Time(1_000_000 + u64::from(conn));
            switch.arrive(at, ingress, &mut packet, || true, &Ports, &mut seen);
            switch.check();
        }
        switch.commit_before(Time(50_000_000), &mut seen);
        let held: Vec<_> = switch.ports[1]
            .held_packets()
            .into_iter()
            .map(|held| (held.packet.conn.0, held.ingress, held.paused))
            .collect();
        assert_eq!(
            held,
            [(5, 3, Paused::All), (6, 2, Paused::All)],
            "{name}, {alone}"
        );
        assert!(
            seen.sent.is_empty() && seen.lost.is_empty(),
            "{name}, {alone}"
        );
        switch.ports[1].close_books(Time(50_000_000));
        assert_eq!(switch.ports[1].counters().paused, Span(50_000_000));
        switch.ports[1].close_books(Time(60_000_000));
        assert_eq!(switch.ports[1].counters().paused, Span(60_000_000));
        assert_eq!(switch.ports[2].counters().pauses, 2);
        let mut counted = Vec::new();
        switch.count(&mut |name, value| counted.push((name, value)));
        assert_eq!(counted, [("kept", 7)]);
    }
}

#[test]
fn a_switch_tells_the_most_that_its_memory_held_once_it_keeps_accounts() {
    let peaks = |keeps: bool| {
        let port = PortSpec::fifo(Bytes(9_000));
        let (mut switch, mut seen) = (switch(&port, Some(Keeps(false))), Seen::default());
        if keeps {
            switch.keep_peaks();
        }
        let mut frame = Signal::PausePriority(0).frame();
        switch.arrive(Time(0), 3, &mut frame, || true, &Ports, &mut seen);
        for (conn, ingress, to) in [(1, 3, 1), (2, 2, 1), (3, 3, 1), (4, 0, 2)] {
            let mut packet = packet(to, conn, Class::Plain, 1_000);
            let at = Time(1_000_000 * u64::from(conn));
            switch.arrive(at, ingress, &mut packet, || true, &Ports, &mut seen);
            switch.check();
        }
        switch.commit_before(Time(50_000_000), &mut seen);
        let mut told = Vec::new();
        switch.peaks(&mut |peak| told.push((peak.of, peak.bytes)));
        told
    };
    let headroom = (Holder::Headroom(2, 0), 300);
    assert_eq!(peaks(false), [headroom], "that of the flow control itself");
    let told = peaks(true);
    for held in [
        (Holder::Ingress(3), 2_000),
        (Holder::Ingress(2), 1_000),
        (Holder::Port(1), 3_000),
        (Holder::Priority(1, 0), 3_000),
        headroom,
    ] {
        assert!(told.contains(&held), "{held:?} is not among {told:?}");
    }
}
