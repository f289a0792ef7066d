//! What rules hear of, what a host asks of them, and what it does where they say nothing.

use super::*;
use crate::timers::Alarm;

/// Rules that leave open what they may leave open.
struct Terse;

impl Rules<8> for Terse {
    type Flow = bool;

    fn said(packet: &Packet) -> Option<Said> {
        Plain::<false>::said(packet)
    }

    fn packet(said: Said, to: HostId, conn: ConnId, size: u16) -> Packet {
        Plain::<false>::packet(said, to, conn, size)
    }

    fn due(&self, _: &Sender<8>, _: &bool) -> Time {
        Time::ZERO
    }
}

/// What came beside a packet leaves beside the next one.
struct Echo;

impl Rules<8> for Echo {
    type Flow = Record;
    const ROOM: u16 = 40;

    fn said(packet: &Packet) -> Option<Said> {
        Plain::<false>::said(packet)
    }

    fn packet(said: Said, to: HostId, conn: ConnId, size: u16) -> Packet {
        Plain::<false>::packet(said, to, conn, size)
    }

    fn due(&self, _: &Sender<8>, _: &Record) -> Time {
        Time::ZERO
    }

    fn heard(&mut self, _: Time, conn: &mut Conn<Record, 8>, _: &Packet, record: &Record) {
        conn.flow = *record;
    }

    fn beside(&mut self, conn: &mut Conn<Record, 8>, _: &Packet) -> Record {
        conn.flow
    }
}

#[test]
fn records_come_and_leave_beside_packets_that_keep_room_for_them() {
    let config = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
    let limits = Limits {
        retry: RETRY,
        connections_max: 9,
        payload_max: u16::MAX,
        token_max: 200,
    };
    let mut host = Host::new(Echo, &config, limits);
    let (mut rng, mut events, gates) = (
        Rng::stream(1, stream::TEST, 0),
        Vec::new(),
        Gates::default(),
    );
    let mut cx = Cx {
        now: Time(1),
        rng: &mut rng,
        events: &mut events,
        peers: &Known,
        gates: &gates,
        wants_data: false,
    };
    host.connect(&mut cx, ONE, HostId(1), Lifetime::Persistent);
    host.send(&mut cx, ONE, 5_000);
    let small = Encap::PAPER.wire(40);
    let mut out = Packet::EMPTY;
    host.poll_transmit(&mut cx, &mut out);
    let question = (out.size, out.has_record(), host.record(&out));
    assert_eq!(question, (small, true, Record::EMPTY));
    let said = Record::of(b"here");
    let answer = Echo::packet(Said::Accept { token: 7 }, HostId(0), ONE, small);
    host.on_packet_with(&mut cx, &answer, &said);
    assert_eq!(host.poll_transmit(&mut cx, &mut out), Transmit::More);
    let full = Encap::PAPER.payload_max;
    assert_eq!(
        (out.size, out.has_record()),
        (Encap::PAPER.wire(full), true)
    );
    let Some(Said::Data { piece, .. }) = Echo::said(&out) else {
        panic!("{out:?}")
    };
    assert_eq!((piece.length, host.record(&out)), (full - 40, said));
    // A packet without a record says nothing.
    host.on_packet(&mut cx, &Echo::packet(ack(7, 0, 0), HostId(0), ONE, small));
    assert_eq!(host.poll_transmit(&mut cx, &mut out), Transmit::More);
    assert_eq!(host.record(&out), Record::EMPTY);
}

#[test]
fn rules_hear_of_each_message_when_it_begins_and_count_for_the_host() {
    let mut bench = Bench::<false>::opened(Lifetime::Persistent);
    let begun = |bench: &Bench<false>| {
        let mut all = Vec::new();
        bench
            .host
            .counters(&mut |counter, n| all.push((counter.name, n)));
        all
    };
    assert_eq!(begun(&bench), [("begun", 0)]);
    bench.send(ONE, 100);
    bench.send(ONE, 100);
    assert_eq!(begun(&bench), [("begun", 1)], "the second waits");
    // A message that the connection may not carry begins nothing.
    bench.with(|host, cx| host.connect(cx, ConnId(2), HostId(1), Lifetime::OneMessage));
    bench.send(ConnId(2), 100);
    bench.leaves();
    let waiting = begun(&bench);
    bench.send(ConnId(2), 100);
    assert_eq!(begun(&bench), waiting);
    assert_eq!(bench.events, [Event::Refused { conn: ConnId(2) }]);
}

#[test]
fn only_who_accepted_data_that_opens_tells_its_sender_that_it_forgets() {
    let forgets = |bench: &mut Bench<true>, conn| {
        bench.with(|host, cx| host.forget(cx, conn));
        bench.leaves()
    };
    let mut bench = Bench::<true>::new(9);
    let first = Said::Data {
        token: 5,
        opens: true,
        lifetime: Lifetime::OneMessage,
        piece: Piece {
            ordinal: 0,
            offset: 0,
            length: 100,
            end: false,
        },
    };
    assert_eq!(bench.hear(ONE, first), [ack(5, 0, 100)]);
    // What is under way would open it again.
    assert_eq!(forgets(&mut bench, ONE), [(1, Said::Reset { token: 5 })]);
    bench.connect(ConnId(2), Lifetime::Exchange);
    bench.send(ConnId(2), 100);
    bench.leaves();
    assert_eq!(forgets(&mut bench, ConnId(2)), [], "it opened that itself");
    // Where data does not open, its sender asks.
    let (mut bench, token) = Bench::<false>::accepted(Lifetime::OneMessage);
    bench.hear(ONE, data(token, 0, 0, false));
    bench.with(|host, cx| host.forget(cx, ONE));
    assert_eq!(bench.leaves(), []);
}

#[test]
fn data_opens_a_connection_until_somebody_has_answered() {
    let mut bench = Bench::<true>::new(9);
    bench.connect(ONE, Lifetime::OneMessage);
    bench.send(ONE, 1_500);
    let told = |sent: Vec<Said>| -> Vec<(u64, bool)> {
        let told = |said| match said {
            Said::Data { piece, opens, .. } => (piece.offset, opens),
            other => panic!("{other:?}"),
        };
        sent.into_iter().map(told).collect()
    };
    let first = bench.leaves().into_iter().map(|(_, said)| said).collect();
    assert_eq!(told(first), [(0, true), (1_000, true)]);
    let token = bench.host.conns[&1].token;
    let wanted = Wanted {
        ordinal: 0,
        offset: 1_000,
        gap: true,
    };
    let again = bench.hear(ONE, Said::Ack { token, wanted });
    assert_eq!(told(again), [(1_000, false)]);
}

#[test]
fn rules_see_both_directions_of_a_connection() {
    let mut bench = Bench::<false>::opened(Lifetime::Persistent);
    bench.send(ONE, 100);
    bench.hear(ONE, data(7, 0, 0, true));
    let conn = &bench.host.conns[&1];
    assert!(!conn.sender().is_idle());
    assert_eq!(conn.receiver().complete(), 1);
}

#[test]
fn broken_books_are_noticed() {
    let breaks = |harm: fn(&mut Conn<bool, 8>)| {
        let mut bench = Bench::<false>::opened(Lifetime::Persistent);
        bench.host.check();
        harm(bench.host.conns.get_mut(&1).unwrap());
        let host = std::panic::AssertUnwindSafe(&bench.host);
        std::panic::catch_unwind(|| host.check()).is_err()
    };
    assert!(!breaks(|_| {}));
    assert!(breaks(|conn| conn.ready = true), "it is in no round");
    assert!(breaks(|conn| conn.alarm = Alarm::LATE));
}

#[test]
fn rules_that_say_no_more_than_they_must_tell_everybody_once_they_have_to() {
    assert!(!Terse.must_tell() && Terse.tells(&false));
    assert_eq!(Terse.alarm(&false), Time::NEVER);
    assert_eq!(Terse.wait(&false, Span::us(3)), Span::us(3));
}
