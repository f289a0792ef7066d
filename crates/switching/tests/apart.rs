//! Switches whose ports have nothing to do with each other: which they are, and what a port does with all packets of a
//! while, by hand. A byte takes 800 ps, and the last bit travels for 1 us.

use model::intent::{Balance, Limit, Memory, Over, PortSpec, QueueSpec, Share, SwitchSpec, Takes};
use model::{Class, ConnId, DropReason, HostId, Packet, Rng, TTL_START, stream};
use std::sync::Arc;
use switching::{Apart, Line, Loss, Outlet, Routing, Switch};
use units::{Bytes, LineTime, Rate, Span, Time};

/// Takes down who comes when, and who was lost.
#[derive(Default)]
struct Seen {
    sent: Vec<(u32, u64)>,
    lost: Vec<(u32, u64, Loss)>,
}

impl Outlet for Seen {
    fn send(&mut self, _: u32, packet: &Packet, at: Time) {
        self.sent.push((packet.conn.0, at.0));
    }
    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        self.lost.push((packet.conn.0, at.0, why));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        None
    }
}

/// Host 0 is behind port 0, host 1 behind each, and no other behind any.
struct Ports;

impl Routing for Ports {
    fn ways(&self, host: u32) -> &[u16] {
        const ALL: [u16; 2] = [0, 1];
        match host {
            0 => &ALL[..1],
            1 => &ALL,
            _ => &[],
        }
    }
    fn way_of_flow(conn: u32, _: u32, ways: u32) -> u32 {
        conn % ways
    }
}

fn switch(spec: &SwitchSpec, port: &PortSpec) -> Switch {
    let port = &Arc::new(port.clone());
    let lines = (0..2).map(|link| Line {
        spec: port,
        link,
        line: LineTime::new(Rate::gbps(10)),
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    Switch::new(spec, lines, 0, || Rng::stream(1, stream::TEST, 99), None)
}

fn apart(port: &PortSpec) -> Switch {
    let switch = switch(&SwitchSpec::default(), port);
    assert_eq!(switch.apart(), Apart::Always);
    switch
}

fn packet(to: u32, conn: u32, priority: u8, at: u64) -> Packet {
    let mut packet = Packet::new(HostId(to), ConnId(conn), Class::Plain, 0, 1_000);
    packet.set_priority(priority);
    packet.at = Time(at);
    packet
}

/// Hands port 0 packets of these connections, priorities and moments before `end`.
fn hand_over(switch: &mut Switch, packets: &[(u32, u8, u64)], end: u64, seen: &mut Seen) {
    let mut list: Vec<Packet> = packets
        .iter()
        .map(|&(conn, priority, at)| packet(0, conn, priority, at))
        .collect();
    let moments: Vec<Time> = list.iter().map(|packet| packet.at).collect();
    let arrivals = list.iter_mut().map(|packet| {
        let alone = moments.iter().filter(|&&at| at == packet.at).count() == 1;
        (packet, alone)
    });
    switch.hand_over(0, arrivals, Time(end), seen);
    switch.check();
}

#[test]
fn ports_that_share_look_at_each_other_or_send_back_are_not_apart() {
    let fifo = PortSpec::fifo(Bytes(9_000));
    let with = |memory, balance| {
        let spec = SwitchSpec {
            memory,
            balance,
            ..SwitchSpec::default()
        };
        switch(&spec, &fifo).apart() == Apart::Always
    };
    let shared = Memory::Shared {
        size: Bytes(90_000),
        alpha: 1.0,
    };
    let gap = Span::us(1);
    assert!(with(Memory::PerPort, Balance::Flow));
    assert!(!with(shared, Balance::Flow));
    for balance in [Balance::Packet, Balance::Flowlet { gap }, Balance::Adaptive] {
        assert!(!with(Memory::PerPort, balance), "{balance:?}");
    }
    // It cuts what has no room, and sends back what has none for its head.
    let data = |bounce| QueueSpec {
        takes: Takes {
            trimmed: Some(false),
            ..Takes::ALL.only(Class::Plain)
        },
        limit: Limit::Packets(8),
        over: Over::Trim {
            to: 84,
            coin: false,
            bounce,
        },
        ..QueueSpec::DATA
    };
    let heads = QueueSpec {
        limit: Limit::Packets(8),
        group: 1,
        ..QueueSpec::DATA
    };
    let trims = |bounce| PortSpec {
        buffer: Bytes(0),
        queues: vec![data(bounce), heads],
        shares: vec![Share::Packets(1), Share::Packets(3)],
    };
    for (bounce, what) in [(true, Apart::UnlessFull), (false, Apart::Always)] {
        let mut switch = switch(&SwitchSpec::default(), &trims(bounce));
        // Before its ports are made, and after.
        for _ in 0..2 {
            assert_eq!(switch.apart(), what);
            let goes_back = [0, 8, 9].map(|more| switch.may_bounce(0, more));
            assert_eq!(goes_back, [false, false, bounce]);
            hand_over(&mut switch, &[(1, 0, 0)], 900, &mut Seen::default());
        }
    }
    apart(&fifo.prioritised(2));
}

#[test]
fn a_packet_is_led_by_its_connection_or_its_path_and_not_beyond_its_last_hop() {
    let switch = apart(&PortSpec::fifo(Bytes(9_000)));
    let lead = |packet: &mut Packet| switch.lead(packet, &Ports);
    assert_eq!(lead(&mut packet(0, 5, 0, 0)), Ok(0));
    let by_flow = [4, 5, 6].map(|conn| lead(&mut packet(1, conn, 0, 0)));
    assert_eq!(by_flow, [Ok(0), Ok(1), Ok(0)]);
    let by_path = [0, 1].map(|path| {
        let mut packet = packet(1, 4, 0, 0);
        packet.set_path(path);
        lead(&mut packet)
    });
    assert_eq!(by_path, [Ok(0), Ok(1)], "whatever the connection is");
    assert_eq!(lead(&mut packet(2, 4, 0, 0)), Err(DropReason::Unreachable));
    let mut tired = packet(0, 4, 0, 0);
    for _ in 0..TTL_START {
        assert_eq!(lead(&mut tired), Ok(0));
    }
    assert_eq!(lead(&mut tired), Err(DropReason::Ttl));
}

#[test]
fn a_choice_knows_what_has_come_up_to_its_moment_and_is_not_made_before_the_next_while() {
    let mut switch = apart(&PortSpec::fifo(Bytes(9_000)).prioritised(2));
    let mut seen = Seen::default();
    // The third comes at the moment when the line is idle again, and goes before the second.
    let first = [(1, 1, 0), (2, 1, 100), (3, 0, 800_000)];
    hand_over(&mut switch, &first, 1_600_000, &mut seen);
    assert_eq!(seen.sent, [(1, 1_800_000), (3, 2_600_000)]);
    // The choice at 1.6 us belongs to the while that begins there.
    hand_over(&mut switch, &[(4, 0, 1_600_000)], 2_000_000, &mut seen);
    assert_eq!(seen.sent[2..], [(4, 3_400_000)]);
    switch.commit_before(Time(2_400_000), &mut seen);
    assert_eq!(seen.sent.len(), 3, "the line is busy until then");
    switch.commit_before(Time(2_400_001), &mut seen);
    assert_eq!(seen.sent[3..], [(2, 4_200_000)]);
    switch.check();
}

#[test]
fn nothing_passes_an_idle_port_while_others_come_at_the_same_moment() {
    let mut switch = apart(&PortSpec::fifo(Bytes(9_000)).prioritised(2));
    let mut seen = Seen::default();
    hand_over(&mut switch, &[(1, 1, 500), (2, 0, 500)], 900, &mut seen);
    assert_eq!(seen.sent, [(2, 1_800_500)]);
    switch.commit_before(Time::NEVER, &mut seen);
    assert_eq!(seen.sent[1..], [(1, 2_600_500)]);
}

#[test]
fn what_finds_no_room_is_lost_and_the_frame_on_the_line_takes_room() {
    let fifo = PortSpec::fifo(Bytes(2_000));
    for (port, name) in [(fifo.clone(), "fifo"), (fifo.prioritised(2), "priorities")] {
        let mut switch = apart(&port);
        let mut seen = Seen::default();
        let list = [(1, 0, 0), (2, 0, 1), (3, 0, 2), (4, 0, 800_000)];
        hand_over(&mut switch, &list, 9_000_000, &mut seen);
        switch.commit_before(Time::NEVER, &mut seen);
        let sent = [(1, 1_800_000), (2, 2_600_000), (4, 3_400_000)];
        assert_eq!(seen.sent, sent, "{name}");
        let full = Loss::Port(0, DropReason::Full);
        assert_eq!(seen.lost, [(3, 2, full)], "{name}");
        let counters = switch.ports[0].counters();
        assert_eq!(counters.dropped[Class::Plain], 1, "{name}");
        assert_eq!(counters.packets[Class::Plain], 3, "{name}");
        assert_eq!(counters.queue_max, 2_000, "{name}");
    }
}
