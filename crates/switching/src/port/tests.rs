//! A port by itself: its line, its lists, its frames, and what it tells.

use super::*;
use crate::discipline::GateOf;
use crate::discipline::GateState::{Closed, Open};
use model::intent::{CreditCount, CreditSpec, MarkSpec, Order, Over, PortSpec, QueueSpec};
use model::{Class, ConnId, HostId, Rng, Signal, stream};
use std::sync::Arc;
use units::{Bytes, Rate};

const LINE: LineTime = LineTime::new(Rate::gbps(10));

/// Takes down who left when, and what was added to whose path. `C` says whether anything travels beside packets.
#[derive(Default)]
struct Seen<const C: bool> {
    sent: Vec<(u32, u32, u64)>,
    hops: Vec<(u32, Hop)>,
}

impl<const C: bool> Outlet for Seen<C> {
    const CARRIES: bool = C;
    fn add(&mut self, packet: &Packet, hop: &Hop) {
        self.hops.push((packet.conn.0, *hop));
    }
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        self.sent.push((link, packet.conn.0, at.0));
    }
    fn sender(&self, _: &Packet) -> Option<HostId> {
        None
    }
}

fn line(spec: &Arc<PortSpec>) -> Line<'_> {
    Line {
        spec,
        link: 7,
        line: LINE,
        delay: Span::us(1),
        rng: Rng::stream(1, stream::TEST, 0),
    }
}

fn port(spec: &PortSpec, wants: Wants, telemetry: bool) -> Port {
    let spec = &Arc::new(spec.clone());
    let of = line(spec);
    let form = Form::new(spec, spec.buffer.get(), LINE, of.rng.clone(), wants);
    Port::new(form, &of, 3, telemetry)
}

fn packet(conn: u32, size: u16) -> Packet {
    Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, size)
}

fn fifo() -> PortSpec {
    PortSpec::fifo(Bytes(9_000))
}

#[test]
fn a_port_alone_is_one_whose_departures_are_known_at_once() {
    let late = fifo().marking(MarkSpec {
        min: Bytes(1),
        max: Bytes(1),
        chance: 1.0,
        at: model::intent::MarkAt::Dequeue,
        drop_others: false,
    });
    for spec in [late, fifo().prioritised(2)] {
        assert!(Port::alone(&line(&Arc::new(spec))).is_none());
    }
    let mut alone = Port::alone(&line(&Arc::new(fifo()))).unwrap();
    assert_eq!(
        (alone.link(), alone.number(), alone.is_fifo()),
        (7, 0, true)
    );
    let mut seen = Seen::<false>::default();
    for conn in 1..=2 {
        alone.promise(Time(0), &mut packet(conn, 1_000), &mut seen);
    }
    assert_eq!(seen.sent, [(7, 1, 1_800_000), (7, 2, 2_600_000)]);
    assert_eq!(alone.idle_from(Time(5)), Time(1_600_000));
    assert_eq!(alone.idle_from(Time(1_600_001)), Time(1_600_001));
}

#[test]
fn the_line_is_idle_when_the_last_bit_has_left_and_nothing_waits() {
    let mut port = port(&fifo(), Wants::Late, false);
    let mut seen = Seen::<false>::default();
    assert!(port.is_idle(Time::ZERO) && port.number() == 3);
    assert!(
        port.pass(Time::ZERO, &mut packet(1, 1_000)),
        "nothing waits"
    );
    port.transmit(Time::ZERO, &packet(1, 1_000), &mut seen);
    let end = Time(800_000);
    assert_eq!(
        (port.is_idle(Time(799_999)), port.is_idle(end)),
        (false, true)
    );
    assert_eq!(port.idle_from(Time(3)), end);
    for conn in [2, 3] {
        let verdict = port.enqueue(Time(3), &mut packet(conn, 1_000));
        assert_eq!(verdict, Verdict::Queued(0));
    }
    assert!(!port.has_spilled());
    // 2000 B more, after what is on the line, or from now on.
    assert_eq!(port.idle_from(Time(3)), Time(2_400_000));
    assert_eq!(port.idle_from(Time(900_000)), Time(2_500_000));
    port.look_at(Time(3));
    assert_eq!((port.choose_at(), port.is_idle(end)), (end, false));
    port.drain(Time(u64::MAX), &mut Packet::EMPTY.clone(), &mut seen);
    assert_eq!(port.choose_at(), Time::NEVER);
    assert!(!port.is_idle(Time(2_399_999)) && port.is_idle(Time(2_400_000)));
    // Where gates keep something, nothing may pass it.
    port.rest(true);
    assert!(!port.is_idle(Time(9_000_000)));
    port.rest(false);
    assert!(port.is_idle(Time(9_000_000)));
    let ends = [1_800_000, 2_600_000, 3_400_000];
    assert_eq!(
        seen.sent.iter().map(|sent| sent.2).collect::<Vec<_>>(),
        ends
    );
}

#[test]
fn only_packets_with_a_path_beside_them_are_told_of_the_port() {
    let told = |telemetry, record| {
        let mut port = port(&fifo(), Wants::Late, telemetry);
        let mut seen = Seen::<true>::default();
        let mut packets = [1, 2, 3].map(|conn| packet(conn, 1_280));
        if record {
            packets.iter_mut().for_each(Packet::set_record);
        }
        // One that passes, and two that wait.
        port.transmit(Time::ZERO, &packets[0], &mut seen);
        for packet in &mut packets[1..] {
            port.enqueue(Time(1), packet);
        }
        port.look_at(Time(1));
        port.drain(Time(9_000_000), &mut Packet::EMPTY.clone(), &mut seen);
        port.transmit_checked(Time(9_000_000), &packets[0], &mut seen);
        assert_eq!(seen.sent.len(), 4);
        seen.hops
    };
    let hop = |at, queue, sent| Hop::new(Time(at), queue, sent, Rate::gbps(10));
    // What waits behind it, and what was sent before.
    let hops = [
        (1, hop(0, 0, 0)),
        (2, hop(1_024_000, 1_280, 1_280)),
        (3, hop(2_048_000, 0, 2_560)),
        (1, hop(9_000_000, 0, 3_840)),
    ];
    assert_eq!(told(true, true), hops);
    assert!(told(true, false).is_empty() && told(false, true).is_empty());
    let mut nobody = Seen::<false>::default();
    let mut port = port(&fifo(), Wants::Late, true);
    let mut record = packet(1, 1_280);
    record.set_record();
    port.transmit(Time::ZERO, &record, &mut nobody);
    port.enqueue(Time(1), &mut record);
    port.look_at(Time(1));
    port.drain(Time(9_000_000), &mut Packet::EMPTY.clone(), &mut nobody);
    assert!(nobody.hops.is_empty() && nobody.sent.len() == 2);
}

#[test]
fn frames_of_the_link_wait_for_the_line_and_count_as_its_class() {
    let mut port = port(&fifo(), Wants::Queues, false);
    let mut seen = Seen::<false>::default();
    assert!(!port.say_next(Time::ZERO, &mut seen));
    let frame = Signal::PausePriority(1).frame();
    port.say(frame);
    port.say(frame);
    let waiting = port.waiting();
    assert_eq!((waiting[Class::Link], waiting[Class::Plain]), (2, 0));
    assert!(port.say_next(Time(5), &mut seen));
    let end = Time(5) + LINE.of(frame.size.into());
    assert_eq!((port.choose_at(), port.waiting()[Class::Link]), (end, 1));
    assert!(port.say_next(end, &mut seen) && !port.say_next(end, &mut seen));
    assert_eq!(port.counters().packets[Class::Link], 2);
    assert_eq!(seen.sent.len(), 2);
}

/// What was on the line before may have been data: what is there now is none.
#[test]
fn a_frame_of_the_link_on_the_line_is_no_queue_of_data() {
    let mut port = port(&fifo(), Wants::Queues, false);
    let (mut seen, mut slot) = (Seen::<false>::default(), Packet::EMPTY);
    port.enqueue(Time::ZERO, &mut packet(1, 1_000));
    port.look_at(Time::ZERO);
    port.drain(Time(1), &mut slot, &mut seen);
    let idle = Time::ZERO + LINE.of(1_000);
    let half = Time(idle.0 / 2);
    assert_eq!(port.backlog(half).data_bytes, 500, "half of its frame");
    port.say(Signal::PausePriority(1).frame());
    assert!(port.say_next(idle, &mut seen));
    let later = idle.after(Span(1));
    assert_eq!(port.backlog(later).data_bytes, 0);
    port.forget_peak(later);
    assert_eq!(port.counters().queue_max, 0);
    port.enqueue(later, &mut packet(1, 700));
    assert_eq!(port.backlog(later).data_bytes, 700, "what waits behind it");
}

#[test]
fn a_port_knows_since_when_a_gate_is_closed() {
    let mut port = port(&fifo().prioritised(2), Wants::Gates, false);
    let mut gate = |at, number, state| {
        let of = GateOf::Queue(number);
        port.gate(Time(at), Gate { of, state });
        (port.paused_since(), port.counters().paused)
    };
    // From the first that closes to the last that opens.
    assert_eq!(gate(1, 0, Open), (None, Span(0)));
    assert_eq!(gate(10, 0, Closed), (Some(Time(10)), Span(0)));
    assert_eq!(gate(20, 1, Closed), (Some(Time(10)), Span(0)));
    assert_eq!(gate(30, 0, Open), (Some(Time(10)), Span(0)));
    assert_eq!(gate(50, 1, Open), (None, Span(40)));
    assert_eq!(gate(70, 1, Closed), (Some(Time(70)), Span(40)));
    assert_eq!(gate(75, 1, Open), (None, Span(45)));
    assert_eq!(
        port.counters().pause_longest,
        Span(30),
        "the second one, from 20 to 50"
    );
    port.rest(true);
    let of = GateOf::Queue(0);
    port.gate(Time(80), Gate { of, state: Open });
    assert!(port.is_idle(Time(80)), "what gates keep is found out anew");
}

#[test]
fn a_port_is_listed_once() {
    let mut port = port(&fifo(), Wants::Late, false);
    assert_eq!([(); 3].map(|()| port.enlist()), [true, false, false]);
    port.delist();
    assert_eq!([(); 2].map(|()| port.enlist()), [true, false]);
}

#[test]
fn what_goes_past_the_port_is_counted_with_the_rest() {
    let mut port = Port::alone(&line(&Arc::new(fifo()))).unwrap();
    port.sent_mut().add(&packet(1, 100));
    port.promise(
        Time(0),
        &mut packet(2, 1_000),
        &mut Seen::<false>::default(),
    );
    let (packets, bytes) = (port.sent().packets(), port.sent().bytes());
    assert_eq!((packets[Class::Plain], bytes[Class::Plain]), (2, 1_100));
    assert_eq!((packets.sum(), port.counters().bytes), (2, bytes));
}

#[test]
fn what_was_pushed_out_must_be_taken() {
    let mut spec = PortSpec::fifo(Bytes(2_000));
    (spec.queues[0].order, spec.queues[0].over) = (Order::Rank, Over::PushOut);
    let mut port = port(&spec, Wants::Late, false);
    for rank in [9, 8, 1] {
        let mut packet = packet(rank, 1_000);
        packet.set_shared(rank);
        assert_eq!(port.enqueue(Time::ZERO, &mut packet), Verdict::Queued(0));
    }
    port.look_at(Time::ZERO); // as a switch does after every packet that it keeps
    assert!(port.has_spilled());
    let check = |port: &Port| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| port.check())).is_ok()
    };
    assert!(!check(&port), "somebody must take it");
    let spilled = port.spilled().map(|(packet, _)| packet.conn.0);
    assert_eq!((spilled, port.has_spilled()), (Some(9), false));
    assert!(check(&port) && port.spilled().is_none());
}

#[test]
fn what_is_left_on_the_line_counts_where_it_is_of_the_ports_queue() {
    let credit = CreditSpec {
        queue_limit: 4,
        bucket: 2,
        count: CreditCount::Credits,
        size_mean: 84,
        frame_max: 1538,
        share: CreditSpec::WHOLE,
    };
    let mut port = port(&fifo().with(QueueSpec::credit(credit)), Wants::Late, false);
    let (mut seen, mut slot) = (Seen::<false>::default(), Packet::EMPTY);
    let mut send = |port: &mut Port, at: Time, class| {
        let mut packet = packet(1, 84);
        packet.set_class(class);
        assert_eq!(
            port.enqueue(at, &mut packet),
            Verdict::Queued((class != Class::Credit).into())
        );
        port.look_at(at);
        port.drain(Time(u64::MAX), &mut slot, &mut seen);
        Time(port.egress.free_at.0 - LINE.of(84).0)
    };
    let of_credit = send(&mut port, Time::ZERO, Class::Credit);
    assert_eq!(port.backlog(of_credit).data_bytes, 0);
    let of_data = send(&mut port, Time(9_000_000), Class::Plain);
    assert_eq!(port.backlog(of_data).data_bytes, 84);
    assert_eq!(port.backlog(Time(of_data.0 + LINE.of(42).0)).data_bytes, 42);
    assert_eq!(port.backlog(port.egress.free_at).data_bytes, 0);
}
