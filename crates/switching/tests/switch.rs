//! Switches alone: arrivals in, departures and losses out.
//!
//! First the fast forms of a port against the general one, packet by packet. Then disciplines one by one: trimming and what is
//! sent back, ranks, the last hop, ways. Last flow controls: what gates hold back, in which order a control is called, frames
//! of a link's own, and flows that take turns.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod memory;

use model::intent::{
    Balance, CreditCount, CreditSpec, DropBy, DropMeasure, DropSpec, Limit, MarkAt, MarkSpec,
    Memory, Order, Over, PortSpec, QueueSpec, Share, SwitchSpec, Takes,
};
use model::{Class, ConnId, DropReason, Ecn, HostId, Packet, Rng, TTL_START, stream};
use std::sync::Arc;
use switching::{
    Apart, FlowControl, Form, GateOf, GateState, Line, Loss, Outlet, Passage, Routing, Say, Switch,
    Wants,
};
use units::{Bytes, LineTime, Rate, Span, Time};

/// What a switch did with packets, in the order in which it did it.
#[derive(Default)]
struct Seen {
    sent: Vec<(u32, Packet, Time)>,
    lost: Vec<(Time, Packet, Loss)>,
}

impl Outlet for Seen {
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        let mut packet = *packet;
        packet.at = Time::ZERO;
        self.sent.push((link, packet, at));
    }
    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        let mut packet = *packet;
        packet.at = Time::ZERO;
        self.lost.push((at, packet, why));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        Some(HostId(0))
    }
}

impl Seen {
    /// In an order that does not depend on which port was asked first.
    fn sorted(mut self) -> (Vec<String>, Vec<String>) {
        self.sent.sort_by_key(|&(link, _, at)| (at, link));
        let sent = self.sent.iter().map(|sent| format!("{sent:?}"));
        let lost = self.lost.iter().map(|lost| format!("{lost:?}"));
        let mut lost: Vec<String> = lost.collect();
        lost.sort();
        (sent.collect(), lost)
    }
}

/// Host `h` is behind port `h`; every host from 100 on is behind each of the ports from 2 on.
struct Ports(Vec<u16>);

impl Routing for Ports {
    fn ways(&self, host: u32) -> &[u16] {
        const EACH: [u16; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        match host {
            0..8 => std::slice::from_ref(&EACH[host as usize]),
            _ => &self.0,
        }
    }
    fn way_of_flow(conn: u32, salt: u32, ways: u32) -> u32 {
        (conn ^ salt) % ways
    }
}

const PORTS: u32 = 8;

fn switch(spec: &SwitchSpec, port: &PortSpec, control: Option<Box<dyn FlowControl>>) -> Switch {
    let line = LineTime::new(Rate::gbps(10));
    let port = &Arc::new(port.clone());
    let lines = (0..PORTS).map(|link| Line {
        spec: port,
        link,
        line,
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, link.into()),
    });
    Switch::new(spec, lines, 0, || Rng::stream(1, stream::TEST, 99), control)
}

/// Hands `packets` in, one moment each, and lets everything leave.
fn run(switch: &mut Switch, packets: &[(Time, u16, Packet)]) -> Seen {
    let (mut seen, ways) = (Seen::default(), Ports((2..8).collect()));
    for (place, &(at, ingress, mut packet)) in packets.iter().enumerate() {
        let next = packets.get(place + 1).map(|next| next.0);
        let before = place.checked_sub(1).map(|before| packets[before].0);
        let alone = next != Some(at) && before != Some(at);
        switch.arrive(at, ingress, &mut packet, || alone, &ways, &mut seen);
        switch.check();
    }
    switch.commit_before(Time(u64::MAX / 2), &mut seen);
    switch.check();
    seen
}

fn packet(to: u32, conn: u32, size: u16) -> Packet {
    Packet::new(HostId(to), ConnId(conn), Class::Plain, 0, size)
}

/// Does nothing: a switch with it keeps every port in the general form and asks them in order of time.
struct Idle;
impl FlowControl for Idle {
    fn arrived(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
}

const CREDIT: CreditSpec = CreditSpec {
    queue_limit: 4,
    bucket: 2,
    count: CreditCount::Credits,
    size_mean: 84,
    frame_max: 1538,
    share: CreditSpec::WHOLE,
};

/// Packets of every class, size and priority, in bursts to two ports.
fn traffic(seed: u64) -> Vec<(Time, u16, Packet)> {
    let mut rng = Rng::stream(seed, stream::TEST, 0);
    let mut now = 0;
    (0..600)
        .map(|n| {
            now += [0, 84, 300, 700][usize::try_from(rng.below(4)).unwrap()] * 800;
            let class = [
                Class::Control,
                Class::Credit,
                Class::Scheduled,
                Class::Unscheduled,
                Class::Plain,
            ][usize::try_from(rng.below(5)).unwrap()];
            let size = if class == Class::Credit {
                84
            } else {
                rng.between(84, 1538)
            };
            let mut packet = packet(
                u32::try_from(rng.below(2)).unwrap(),
                n % 17,
                u16::try_from(size).unwrap(),
            );
            packet.set_class(class);
            packet.set_priority(u8::try_from(rng.below(8)).unwrap());
            if rng.below(2) == 0 {
                packet.set_ecn(Ecn::Capable0);
            }
            (Time(now), u16::try_from(2 + n % 6).unwrap(), packet)
        })
        .collect()
}

/// Ports of every fast form but those that cut packets, each with a name.
fn fast() -> Vec<(&'static str, PortSpec)> {
    let mark = |at, max| MarkSpec {
        min: Bytes(4_000),
        max: Bytes(max),
        chance: 1.0,
        at,
        drop_others: at == MarkAt::Enqueue,
    };
    let drop = |by, measure| DropSpec {
        victim: Class::Unscheduled,
        threshold: Bytes(3_000),
        measure,
        by,
    };
    let port = || PortSpec::fifo(Bytes(12_000));
    let credit = QueueSpec::credit(CREDIT);
    let bytes = QueueSpec::credit(CreditSpec {
        count: CreditCount::Bytes,
        ..CREDIT
    });
    vec![
        ("fifo", port()),
        ("marking", port().marking(mark(MarkAt::Enqueue, 4_000))),
        ("marking late", port().marking(mark(MarkAt::Dequeue, 4_000))),
        (
            "dropping",
            port().dropping(drop(DropBy::Class, DropMeasure::Queue)),
        ),
        (
            "by packet",
            port().dropping(drop(DropBy::Ecn, DropMeasure::QueueAndPacket)),
        ),
        (
            "victims",
            port().dropping(drop(DropBy::Class, DropMeasure::VictimOnly)),
        ),
        ("credits", port().with(credit)),
        ("credits by bytes", port().with(bytes)),
        (
            "credits before marking",
            port().marking(mark(MarkAt::Enqueue, 4_000)).with(credit),
        ),
        (
            "credits before dropping",
            port()
                .dropping(drop(DropBy::Class, DropMeasure::Port))
                .with(credit),
        ),
        ("priorities", port().prioritised(3)),
        (
            "priorities that drop",
            port()
                .dropping(drop(DropBy::Class, DropMeasure::Port))
                .prioritised(8),
        ),
    ]
}

#[test]
fn a_fast_form_does_what_the_general_one_does() {
    let cut = [(false, false), (false, true), (true, false), (true, true)]
        .map(|(coin, bounce)| ("cut", ndp(3, coin, bounce)));
    for (name, spec) in fast().into_iter().chain(cut) {
        spec.check().unwrap();
        let (line, rng) = (LineTime::new(Rate::gbps(10)), Rng::stream(1, 2, 3));
        let form = Form::new(&spec, 12_000, line, rng, Wants::Cheapest);
        assert!(!matches!(form, Form::Queues(_)), "{name} has a fast form");
        for seed in 0..20 {
            let mut packets = traffic(seed);
            for (_, _, packet) in packets.iter_mut().step_by(7).filter(|_| name == "cut") {
                packet.trim(64);
            }
            let alone = SwitchSpec::default();
            let fast = run(&mut switch(&alone, &spec, None), &packets);
            let general = run(&mut switch(&alone, &spec, Some(Box::new(Idle))), &packets);
            assert!(!fast.lost.is_empty(), "{name}: nothing was ever full");
            assert_eq!(fast.sorted(), general.sorted(), "{name}, seed {seed}");
        }
    }
}

/// Hands `packets` to the ports of a switch that is apart, those of 5 us at once, or one by one where one of them may go
/// back. Says how often it was the one and the other.
fn run_apart(switch: &mut Switch, packets: &[(Time, u16, Packet)]) -> (Seen, [u32; 2]) {
    let (mut seen, ways) = (Seen::default(), Ports((2..8).collect()));
    let mut how = [0, 0];
    let window = |at: Time| at.0 / 5_000_000;
    for of_window in packets.chunk_by(|a, b| window(a.0) == window(b.0)) {
        let end = Time((window(of_window[0].0) + 1) * 5_000_000);
        let mut by_port = vec![Vec::new(); PORTS as usize];
        let mut all = Vec::new();
        for &(at, ingress, mut packet) in of_window {
            packet.at = at;
            match switch.lead(&mut packet, &ways) {
                Ok(port) => {
                    by_port[usize::from(port)].push(packet);
                    all.push((port, packet));
                }
                Err(why) => switch.lose_astray(ingress, &packet, why, &mut seen),
            }
        }
        let lists = || (0..).zip(&by_port);
        let bounces = lists().any(|(port, list)| switch.may_bounce(port, list.len()));
        how[usize::from(bounces)] += 1;
        if bounces {
            let moments: Vec<Time> = all.iter().map(|(_, packet)| packet.at).collect();
            for (port, packet) in &mut all {
                let alone = moments.iter().filter(|&&at| at == packet.at).count() == 1;
                switch.arrive_at(*port, packet, alone, &ways, &mut seen);
                switch.check();
            }
            by_port.clear();
        }
        for (port, mut list) in (0..).zip(by_port) {
            let moments: Vec<Time> = list.iter().map(|packet| packet.at).collect();
            let alone = |at| moments.iter().filter(|&&moment| moment == at).count() == 1;
            let arrivals = list.iter_mut().map(|packet| {
                let alone = alone(packet.at);
                (packet, alone)
            });
            switch.hand_over(port, arrivals, end, &mut seen);
        }
        switch.commit_before(end, &mut seen);
    }
    switch.commit_before(Time(u64::MAX / 2), &mut seen);
    switch.check();
    (seen, how)
}

const SENT_BACK: &str = "cut and sent back";

#[test]
fn ports_apart_do_with_a_while_of_packets_what_they_do_with_one_after_the_other() {
    let mut apart = Vec::new();
    let cut = [
        ("cut", ndp(3, true, false)),
        (SENT_BACK, ndp(12, true, true)),
    ];
    let mut how = [0, 0];
    for (name, spec) in fast().into_iter().chain(cut) {
        let new = || switch(&SwitchSpec::default(), &spec, None);
        if new().apart() == Apart::Never {
            continue;
        }
        apart.push(name);
        for seed in 0..10 {
            let mut packets = traffic(seed);
            for pair in packets.chunks_exact_mut(50) {
                let (one, other) = (pair[20].2, &mut pair[40].2);
                *other = packet(100, one.conn.0, one.size);
                other.set_path(one.priority().into());
                pair[20].2.end_here();
            }
            let (at_once, ways) = run_apart(&mut new(), &packets);
            let by_one = run(&mut new(), &packets);
            if new().apart() == Apart::UnlessFull {
                how = [how[0] + ways[0], how[1] + ways[1]];
            } else {
                assert_eq!(ways[1], 0, "{name}");
            }
            let astray = |lost: &&(_, _, Loss)| matches!(lost.2, Loss::Switch(_));
            assert_eq!(by_one.lost.iter().filter(astray).count(), 12, "{name}");
            let full = by_one.lost.len() > 12 || name == SENT_BACK;
            assert!(full, "{name}: nothing was ever full");
            assert_eq!(at_once.sorted(), by_one.sorted(), "{name}, seed {seed}");
        }
    }
    assert!(
        how[0] > 50 && how[1] > 50,
        "{how:?} times at once and one by one"
    );
    for name in ["fifo", "marking", "credits", "priorities", "cut", SENT_BACK] {
        assert!(apart.contains(&name), "{name} is not among {apart:?}");
    }
    let spec = PortSpec::fifo(Bytes(12_000));
    let controlled = switch(&SwitchSpec::default(), &spec, Some(Box::new(Idle)));
    assert_eq!(
        controlled.apart(),
        Apart::Never,
        "a flow control joins ports"
    );
}

#[test]
fn a_packet_that_passes_the_general_port_leaves_it_as_one_that_waits() {
    let mark = |at, min| MarkSpec {
        min: Bytes(min),
        max: Bytes(4_000),
        chance: 0.5,
        at,
        drop_others: true,
    };
    let ordered = |order, over| {
        let mut port = PortSpec::fifo(Bytes(6_000));
        (port.queues[0].order, port.queues[0].over) = (order, over);
        port
    };
    let small = PortSpec::fifo(Bytes(1_000)); // no room for the largest
    let early = PortSpec::fifo(Bytes(9_000)).marking(mark(MarkAt::Enqueue, 0));
    let late = PortSpec::fifo(Bytes(9_000)).marking(mark(MarkAt::Dequeue, 0));
    let credits = PortSpec::fifo(Bytes(6_000)).with(QueueSpec::credit(CREDIT));
    let specs = [
        ("trimming", trimming(8, true, true)),
        ("without room for headers", trimming(0, false, true)),
        ("cut as by NDP", ndp(8, true, true)),
        ("the same without room for headers", ndp(0, false, true)),
        ("ranks", ordered(Order::Rank, Over::PushOut)),
        ("flows in turn", ordered(Order::PerFlow, Over::Drop)),
        ("numbered", ordered(Order::Numbered(5), Over::Drop)),
        ("weights", early.beside(1, &small, Share::Bytes(30))),
        ("late", late.clone().beside(1, &small, Share::Bytes(30))),
        ("by bytes", ordered(Order::NumberedByBytes(5), Over::Drop)),
        ("credits", credits.beside(1, &late, Share::Bytes(60))),
    ];
    for (name, spec) in specs {
        for (seed, slower) in (0..40).map(|seed| (seed, 1 + seed % 4)) {
            let mut packets = traffic(seed);
            for (place, (at, _, packet)) in packets.iter_mut().enumerate() {
                at.0 *= slower;
                packet.set_lane(u8::try_from(place % 2).unwrap());
            }
            let [passing, waiting] = [false, true].map(|waits| {
                let mut switch = switch(&SwitchSpec::default(), &spec, None);
                switch.slowly(false, waits);
                let seen = run(&mut switch, &packets).sorted();
                let counters = switch.ports.iter().map(switching::Port::counters);
                (seen, counters.collect::<Vec<_>>())
            });
            assert!(passing.0.0.len() > 100, "{name}: too few leave");
            assert_eq!(passing, waiting, "{name}, seed {seed}");
        }
    }
}

/// Eight frames of data; headers of 64 B, served ten to one, up to `headers` of them.
fn trimming(headers: u16, coin: bool, bounce: bool) -> PortSpec {
    let headers = QueueSpec {
        takes: Takes {
            trimmed: Some(true),
            ..Takes::ALL
        },
        limit: Limit::Packets(headers),
        group: 1,
        ..QueueSpec::DATA
    };
    let over = Over::Trim {
        to: 64,
        coin,
        bounce,
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

/// The same with what is no data among the headers, in the order in which NDP asks for it.
fn ndp(headers: u16, coin: bool, bounce: bool) -> PortSpec {
    let mut port = trimming(headers, coin, bounce);
    port.queues.reverse();
    (port.queues[0].group, port.queues[1].group) = (0, 1);
    let data = [Class::Scheduled, Class::Unscheduled, Class::Plain];
    port.queues[0].takes = Takes {
        classes: data.iter().fold(0, |bits, &class| bits | 1 << class as u8),
        trimmed: Some(false),
        ..Takes::ALL
    };
    port.queues[1].takes = Takes::ALL;
    port
}

/// So many frames of 9000 B to one port, a picosecond apart, each of a connection of its own.
fn flood(count: u32) -> Vec<(Time, u16, Packet)> {
    (0..count)
        .map(|n| (Time(n.into()), 2, packet(1, n, 9000)))
        .collect()
}

#[test]
fn what_has_no_room_is_trimmed_and_its_header_overtakes() {
    let flood = flood(20);
    let mut switch = switch(&SwitchSpec::default(), &trimming(100, false, false), None);
    let seen = run(&mut switch, &flood);
    let order: Vec<_> = seen
        .sent
        .iter()
        .map(|(_, p, _)| (p.conn.0, p.size))
        .collect();
    // The first leaves at once, eight wait whole, eleven as headers: ten of them before the next whole one.
    let mut expected = vec![(0, 9000), (9, 64)];
    expected.extend((10..19).map(|conn| (conn, 64)));
    assert_eq!(order[..11], expected);
    assert_eq!(order[11..13], [(1, 9000), (19, 64)]);
    assert!(seen.lost.is_empty() && order.len() == 20);
}

/// A frame may be as small as a head, or smaller: its receiver hears of it all the same.
#[test]
fn a_frame_no_larger_than_a_head_becomes_one() {
    for (to, size) in [(64, 64), (64, 65), (200, 84)] {
        let mut flood = flood(13);
        flood[9].2 = packet(1, 9, size);
        flood[10].2 = packet(1, 10, size);
        for coin in [false, true] {
            let mut port = trimming(3, coin, true);
            port.queues[1].over = Over::Trim {
                to,
                coin,
                bounce: true,
            };
            let mut switch = switch(&SwitchSpec::default(), &port, None);
            let seen = run(&mut switch, &flood);
            assert!(seen.lost.is_empty(), "{size} B: {:?}", seen.lost);
            let heads: Vec<_> = seen.sent.iter().filter(|(_, p, _)| p.trimmed()).collect();
            // One on the line and eight whole; three heads, and one that goes back.
            assert_eq!((seen.sent.len(), heads.len()), (13, 4));
            let back = heads.iter().filter(|(_, p, _)| p.bounced()).count();
            assert_eq!(back, 1);
            for (_, head, _) in heads {
                let small = [9, 10].contains(&head.conn.0);
                assert_eq!(head.size, if small { size.min(to) } else { to });
            }
        }
    }
}

#[test]
fn a_fair_coin_cuts_the_last_that_waits_as_often_as_the_one_that_comes() {
    let flood = flood(2000);
    let mut switch = switch(&SwitchSpec::default(), &trimming(5000, true, false), None);
    let seen = run(&mut switch, &flood);
    let whole: Vec<_> = seen
        .sent
        .iter()
        .filter(|(_, p, _)| !p.trimmed())
        .map(|(_, p, _)| p.conn.0)
        .collect();
    assert_eq!(whole.len(), 9);
    // Seven wait from the start; the eighth place changes hands to the end.
    assert!(whole[8] > 1900, "{whole:?}");
}

#[test]
fn a_header_without_room_goes_back_to_its_sender() {
    let flood = flood(20);
    let mut switch = switch(&SwitchSpec::default(), &trimming(4, false, true), None);
    let seen = run(&mut switch, &flood);
    let back: Vec<_> = seen.sent.iter().filter(|(link, ..)| *link == 0).collect();
    // One on the line, eight whole, four headers, and seven back: there, too, one leaves at once and four
    // may wait. What was sent back once is not sent back again.
    assert_eq!(back.len(), 5);
    assert!(
        back.iter()
            .all(|(_, p, _)| p.bounced() && p.trimmed() && p.to() == HostId(0))
    );
    assert_eq!(seen.lost.len(), 2);
}

#[test]
fn a_header_that_was_trimmed_before_goes_back_too() {
    let mut flood = flood(20);
    for (.., packet) in &mut flood {
        packet.trim(64);
    }
    for (bounce, back, lost) in [(true, 5, 10), (false, 0, 15)] {
        let mut switch = switch(&SwitchSpec::default(), &trimming(4, false, bounce), None);
        let seen = run(&mut switch, &flood);
        // One on the line and four that wait; back, too, one leaves at once and four wait.
        let returned = seen.sent.iter().filter(|(link, ..)| *link == 0).count();
        assert_eq!((returned, seen.lost.len()), (back, lost));
    }
}

#[test]
fn ranks_go_lowest_first_and_push_out_the_highest() {
    let mut port = PortSpec::fifo(Bytes(4_000));
    (port.queues[0].order, port.queues[0].over) = (Order::Rank, Over::PushOut);
    let ranked = |n: u64, rank: u32| {
        let mut packet = packet(1, rank, 1000);
        packet.set_shared(rank);
        (Time(n), 2, packet)
    };
    let mut switch = switch(&SwitchSpec::default(), &port, None);
    let seen = run(
        &mut switch,
        &[
            ranked(0, 50),
            ranked(1, 40),
            ranked(2, 30),
            ranked(3, 20),
            ranked(4, 10),
            ranked(5, 60),
        ],
    );
    let order: Vec<_> = seen.sent.iter().map(|(_, p, _)| p.conn.0).collect();
    assert_eq!(order, [50, 10, 20, 30]);
    let lost: Vec<_> = seen
        .lost
        .iter()
        .map(|(_, p, why)| (p.conn.0, *why))
        .collect();
    assert_eq!(
        lost,
        [
            (40, Loss::Port(1, DropReason::PushedOut)),
            (60, Loss::Port(1, DropReason::Full))
        ]
    );
}

#[test]
fn a_packet_dies_after_its_last_hop_and_is_counted() {
    let mut switch = switch(&SwitchSpec::default(), &PortSpec::fifo(Bytes(9_000)), None);
    let (mut seen, ways) = (Seen::default(), Ports(vec![2]));
    let mut packet = packet(1, 1, 84);
    for hop in 0..=u64::from(TTL_START) {
        switch.arrive(
            Time(hop * 1_000_000),
            2,
            &mut packet,
            || true,
            &ways,
            &mut seen,
        );
    }
    assert_eq!(seen.sent.len(), usize::from(TTL_START));
    let lost: Vec<_> = switch
        .astray()
        .map(|(ingress, why, lost)| (ingress, why, lost.sum()))
        .collect();
    assert_eq!(lost, [(2, DropReason::Ttl, 1)]);
    assert!(matches!(
        seen.lost[..],
        [(_, _, Loss::Switch(DropReason::Ttl))]
    ));
}

#[test]
fn a_path_is_taken_as_given_and_a_least_loaded_port_is_found() {
    let sent_to = |balance, path: Option<u16>, count: u64| {
        let spec = SwitchSpec {
            balance,
            ..SwitchSpec::default()
        };
        let mut switch = switch(&spec, &PortSpec::fifo(Bytes(90_000)), None);
        let mut one = packet(100, 5, 1538);
        if let Some(path) = path {
            one.set_path(path);
        }
        let packets: Vec<_> = (0..count).map(|n| (Time(n), 0, one)).collect();
        let seen = run(&mut switch, &packets);
        seen.sent.iter().map(|&(link, ..)| link).collect::<Vec<_>>()
    };
    let flow = sent_to(Balance::Flow, None, 6);
    assert!(flow.iter().all(|&link| link == flow[0]), "{flow:?}");
    for path in 0..6 {
        let expected = u32::from(path) + 2;
        assert_eq!(sent_to(Balance::Adaptive, Some(path), 2), [expected; 2]);
    }
    let mut adaptive = sent_to(Balance::Adaptive, None, 6);
    adaptive.sort_unstable();
    assert_eq!(adaptive, [2, 3, 4, 5, 6, 7], "each idle port once");
    let gap = Span::us(10);
    let flowlet = sent_to(Balance::Flowlet { gap }, None, 6);
    assert!(
        flowlet.iter().all(|&link| link == flowlet[0]),
        "{flowlet:?}"
    );
}

/// Closes its gate when the first packet has come, and opens it at a moment.
struct Closes {
    gate: GateOf,
    until: Time,
    done: bool,
}
impl FlowControl for Closes {
    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !self.done {
            say.gate(passage.egress, self.gate, GateState::Closed);
        }
    }
    fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    fn deadline(&self) -> Time {
        if self.done { Time::NEVER } else { self.until }
    }
    fn on_deadline(&mut self, _: Time, say: &mut Say) {
        self.done = true;
        say.gate(1, self.gate, GateState::Open);
    }
}

#[test]
fn nothing_overtakes_what_a_gate_holds_back() {
    let port = PortSpec::fifo(Bytes(90_000)).prioritised(2);
    for gate in [GateOf::Queue(0), GateOf::Priority(0)] {
        let until = Time(10_000_000);
        let control = Closes {
            gate,
            until,
            done: false,
        };
        let mut switch = switch(&SwitchSpec::default(), &port, Some(Box::new(control)));
        let mut other = packet(1, 9, 1000);
        other.set_priority(1);
        let packets = [
            (Time(0), 2, packet(1, 1, 1000)),
            (Time(5_000_000), 2, packet(1, 2, 1000)),
            (Time(5_000_001), 3, other),
        ];
        let seen = run(&mut switch, &packets);
        let order: Vec<_> = seen
            .sent
            .iter()
            .map(|(_, p, at)| (p.conn.0, at.0))
            .collect();
        let sent = |start: u64| start + 800_000 + 1_000_000;
        // The other priority goes on; both of the closed one wait, and in order.
        assert_eq!(
            order,
            [
                (9, sent(5_000_001)),
                (1, sent(until.0)),
                (2, sent(until.0 + 800_000))
            ]
        );
    }
}

/// Closes port 1 at 1 us and opens it at 3, both by its deadline; notes when it was told of what.
struct Clockwork {
    next: u64,
    told: Arc<std::sync::Mutex<Vec<(u8, u64)>>>,
}
impl FlowControl for Clockwork {
    fn arrived(&mut self, now: Time, _: &Passage<'_>, _: &mut Say) {
        self.told.lock().unwrap().push((b'a', now.0));
    }
    fn left(&mut self, now: Time, _: &Passage<'_>, _: &mut Say) {
        self.told.lock().expect("not poisoned").push((b'l', now.0));
    }
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    fn deadline(&self) -> Time {
        Time(self.next)
    }
    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        self.told.lock().expect("not poisoned").push((b'd', now.0));
        let state = if now.0 == 1_000_000 {
            self.next = 3_000_000;
            GateState::Closed
        } else {
            self.next = u64::MAX;
            GateState::Open
        };
        say.gate(1, GateOf::Queue(0), state);
    }
}

#[test]
fn a_flow_control_lives_in_the_order_of_time() {
    let told = Arc::default();
    let control = Clockwork {
        next: 1_000_000,
        told: Arc::clone(&told),
    };
    let port = PortSpec::fifo(Bytes(90_000));
    let mut switch = switch(&SwitchSpec::default(), &port, Some(Box::new(control)));
    let at = |at: u64| (Time(at), 2, packet(1, 1, 1000));
    let seen = run(&mut switch, &[at(2_000_000), at(4_000_000)]);
    let sent: Vec<_> = seen.sent.iter().map(|(.., at)| at.0).collect();
    // Held from 2 to 3 us; a frame takes 0.8 us, and 1 us to the far end.
    assert_eq!(sent, [4_800_000, 5_800_000]);
    let order = *b"dadlal";
    let told = told.lock().unwrap();
    assert!(told.is_sorted_by_key(|&(_, at)| at), "{told:?}");
    assert_eq!(
        told.iter().map(|&(what, _)| what).collect::<Vec<_>>(),
        order
    );
}

#[test]
fn a_frame_of_a_links_own_goes_no_further() {
    let mut switch = switch(&SwitchSpec::default(), &PortSpec::fifo(Bytes(9_000)), None);
    let pause = model::Signal::PauseFlow(ConnId(1)).frame();
    let seen = run(&mut switch, &[(Time(0), 2, pause)]);
    assert!(seen.sent.is_empty() && seen.lost.len() == 1);
}

#[test]
fn a_paused_flow_waits_while_others_take_turns() {
    let mut port = PortSpec::fifo(Bytes(90_000));
    port.queues[0].order = Order::PerFlow;
    let control = Closes {
        gate: GateOf::Flow(ConnId(1)),
        until: Time(20_000_000),
        done: false,
    };
    let mut switch = switch(&SwitchSpec::default(), &port, Some(Box::new(control)));
    let packets: Vec<_> = [1, 1, 2, 3, 2, 3]
        .into_iter()
        .enumerate()
        .map(|(n, conn)| (Time(n as u64), 2, packet(1, conn, 1000)))
        .collect();
    let seen = run(&mut switch, &packets);
    let order: Vec<_> = seen.sent.iter().map(|(_, p, _)| p.conn.0).collect();
    assert_eq!(order, [2, 3, 2, 3, 1, 1]);
}
