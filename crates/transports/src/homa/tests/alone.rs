//! One host, and packets from whoever tells it something.

use super::params;
use crate::homa::header::{Data, Got, Grant, Granted, NeedAck, Probe, ProbeAck};
use crate::homa::host::Host;
use crate::homa::sender::{Sender, Silence};
use crate::homa::settings::Settings;
use crate::homa::*;
use model::{Class, ConnId, Event, Lifetime, Packet};
use testkit::{A, Alone, B};
use units::{Span, Time};

pub(super) fn alone(text: &str) -> Alone<Host> {
    Alone::new(Host::new(&params(text), &config()))
}

/// `length` bytes of a message come, with `left` to go before them.
pub(super) fn data(bench: &mut Alone<Host>, conn: u32, offset: u64, length: u16, left: u32) {
    let data = Data {
        offset,
        has: 0,
        length,
        left,
        ordinal: 0,
        lifetime: Lifetime::OneMessage,
        cut: false,
        answer: false,
    };
    bench.hear(&data.packet(A, ConnId(conn), Encap::PAPER.wire(length)));
}

fn config() -> EndpointConfig {
    EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER).with(|told| told.base_rtt = Span::us(12))
}

#[test]
fn messages_that_are_over_are_not_kept_behind_an_old_one_that_is_not() {
    let mut bench = alone("unscheduled = \"1460B\"");
    data(&mut bench, 0, 0, 1460, 100_000_000);
    for conn in 1..=2_000 {
        data(&mut bench, conn, 0, 1460, 2_000);
        data(&mut bench, conn, 1460, 540, 540);
    }
    assert!(bench.host.oldest.len() <= 66, "{}", bench.host.oldest.len());
}

#[test]
fn what_is_told_to_be_forgotten_is_not_kept() {
    let mut bench = alone("");
    for conn in 0..2_000 {
        data(&mut bench, conn, 0, 100, 100);
        if conn >= 10 {
            bench.call(|host, cx| host.forget(cx, ConnId(conn)));
        }
    }
    let (kept, known) = bench.host.conns.remembered();
    assert!(kept <= 64 && known == 10, "{kept} and {known}");
    // Those that nobody told it to forget are forgotten in time.
    bench.now = bench.host.deadline();
    assert_eq!(bench.now, Time::ZERO.after(Span::ms(25_000)));
    bench.events.clear();
    bench.call(Endpoint::on_deadline);
    assert_eq!(bench.events.len(), 10);
}

/// The packet that told the new end was lost, and no byte is missing: the first packet, which its sender repeats, tells it.
#[test]
fn a_copy_that_tells_the_end_of_what_is_here_ends_the_message() {
    let mut bench = alone("unscheduled = \"1460B\"");
    data(&mut bench, 1, 0, 1460, 100_000_000);
    let copy = Data {
        offset: 0,
        has: 0,
        length: 1460,
        left: 1460,
        ordinal: 0,
        lifetime: Lifetime::OneMessage,
        cut: true,
        answer: false,
    };
    bench.hear(&copy.packet(A, ConnId(1), Encap::PAPER.wire(1460)));
    let ended = Event::Received {
        conn: ConnId(1),
        ordinal: 0,
        length: 1460,
    };
    assert!(bench.events.contains(&ended), "{:?}", bench.events);
}

/// A silent message goes behind the others and keeps its claim.
#[test]
fn the_oldest_that_is_silent_is_passed_over_and_not_dropped() {
    let mut bench = alone("unscheduled = \"1460B\"\novercommitment = 1");
    for conn in [1, 2] {
        data(&mut bench, conn, 0, 1460, 10_000_000);
    }
    let slot = bench.host.conns.find(ConnId(1)).unwrap();
    bench.host.conns[slot].rx.tries = 1;
    bench.host.rank(slot);
    for _ in 0..2 {
        bench.now = bench.now.after(Span::ms(10));
        let now = bench.now;
        bench.call(|host, _| host.grant_oldest(now));
    }
    assert_eq!(
        (bench.host.counts.oldest_grants, bench.host.oldest.len()),
        (2, 2)
    );
}

/// Two grants come before anything that they release leaves, then a third one: the priorities of four packets.
fn priorities(text: &str) -> Vec<u8> {
    let settings = Settings::new(&params(text), &config());
    let mut sender = Sender::default();
    assert!(sender.push(Time::ZERO, 100_000, &settings));
    sender.take(Time::ZERO, &settings);
    let grant = |sender: &mut Sender, frames: u64, priority| {
        let upto = frames * 1460;
        let from = sender.granted;
        let grant = Grant {
            from,
            upto,
            priority,
        };
        assert!(sender.on_grant(Time::ZERO, grant, &settings));
    };
    grant(&mut sender, 3, 5);
    grant(&mut sender, 4, 7);
    let mut found: Vec<u8> = Vec::new();
    found.extend((0..2).map(|_| sender.take(Time::ZERO, &settings).priority));
    grant(&mut sender, 5, 4);
    found.extend((0..2).map(|_| sender.take(Time::ZERO, &settings).priority));
    assert!(!sender.is_ready());
    found
}

#[test]
fn granted_data_has_the_priority_of_its_own_grant_or_of_the_newest() {
    let text = "profile = \"sigcomm18\"\nunscheduled = \"1460B\"\ngranted_by";
    assert_eq!(priorities(&format!("{text} = \"newest\"")), [7, 7, 4, 4]);
    assert_eq!(priorities(&format!("{text} = \"own\"")), [5, 5, 7, 4]);
}

/// The answer of a near peer to a question comes in less than the longest round trip.
#[test]
fn a_question_is_no_data_that_may_be_on_its_way() {
    let settings = Settings::new(&params("unscheduled = \"1460B\""), &config());
    let mut sender = Sender::default();
    assert!(sender.push(Time::ZERO, 10_000, &settings));
    sender.take(Time::ZERO, &settings);
    let grant = Grant {
        from: 1460,
        upto: 2920,
        priority: 7,
    };
    assert!(sender.on_grant(Time::ZERO, grant, &settings));
    let left = Time(1_000_000);
    sender.take(left, &settings);
    assert!(
        !sender.restart(left.after(Span::us(5)), &settings),
        "data may be on its way"
    );
    let asked = sender.due(&settings);
    assert_eq!(sender.on_silence(asked, &settings), Silence::Ask);
    assert!(sender.restart(asked.after(Span::us(5)), &settings));
}

/// A message of which 5 ms bring nothing, while a frame of this priority comes whenever the line has carried one: how often
/// it was asked for after so many milliseconds.
fn asked_behind(priority: u8, after: u64) -> u64 {
    let mut bench = alone("resend_after = \"1ms\"\ntimeout = \"10ms\"");
    data(&mut bench, 1, 0, 1460, 10_000_000);
    let slot = bench.host.conns.find(ConnId(1)).unwrap();
    assert_eq!(bench.host.conns[slot].rx.priority, 7);
    let mut offset = 0;
    while bench.now < Time::ZERO.after(Span::ms(after)) {
        bench.now = bench.now.after(Span(1_230_400));
        let mut packet = piece(offset, 20_000_000).packet(A, ConnId(2), 1538);
        packet.set_priority(priority);
        bench.hear(&packet);
        offset += 1460;
        if bench.host.deadline() <= bench.now {
            bench.call(Endpoint::on_deadline);
        }
        while bench.poll().is_some() {}
    }
    bench.host.counts.resends
}

/// A full frame of a message of `length` bytes.
fn piece(offset: u64, length: u64) -> Data {
    Data {
        offset,
        has: 0,
        length: 1460,
        left: u32::try_from(length - offset).unwrap(),
        ordinal: 0,
        lifetime: Lifetime::OneMessage,
        cut: false,
        answer: false,
    }
}

#[test]
fn what_waits_behind_more_urgent_packets_is_not_asked_for_till_half_of_the_timeout() {
    assert_eq!(asked_behind(6, 4), 0, "they pass");
    assert!(asked_behind(6, 7) > 0, "or nobody is there");
    assert!(asked_behind(7, 4) > 0, "equals that came later are here");
}

fn with_bursts(text: &str) -> Alone<Host> {
    let params = AEOLUS.read(&text.parse().unwrap()).unwrap();
    Alone::new(Host::new(&params, &config()))
}

/// A frame of the first bytes of a message, as granted.
fn granted(at: u32) -> Packet {
    let granted = Granted {
        offset: 0,
        has: 0,
        length: 1460,
        at,
        ordinal: 0,
        again: true,
        answer: false,
    };
    granted.packet(A, ConnId(1), 1538)
}

#[test]
fn words_about_bursts_are_nonsense_where_there_are_none() {
    let mut bench = alone("");
    let (conn, ordinal) = (ConnId(1), 0);
    bench.call(|host, cx| {
        host.connect(cx, conn, B, Lifetime::OneMessage);
        host.send(cx, conn, 100_000);
    });
    while bench.poll().is_some() {}
    bench.now = bench.now.after(Span::us(20));
    let offset = 0;
    bench.hear(&Got { offset, ordinal }.packet(A, conn, 84));
    let upto = 40_000;
    bench.hear(
        &ProbeAck {
            upto,
            ordinal,
            missing: 0,
        }
        .packet(A, conn, 84),
    );
    bench.hear(&granted(0));
    let probe = Probe {
        upto,
        has: 0,
        left: 0,
        ordinal,
        lifetime: Lifetime::OneMessage,
        cut: false,
        answer: true,
    };
    bench.hear(&probe.packet(A, conn, 84));
    assert_eq!(bench.host.totals.nonsense, 4);
    let slot = bench.host.conns.find(conn).unwrap();
    assert_eq!(bench.host.conns[slot].tx.heard, Time::ZERO);
    assert!(bench.poll().is_none(), "nobody answers");
}

#[test]
fn only_a_word_about_a_frame_that_left_says_that_the_receiver_lives() {
    let mut bench = with_bursts("");
    bench.call(|host, cx| {
        host.connect(cx, ConnId(1), B, Lifetime::OneMessage);
        host.send(cx, ConnId(1), 100_000);
    });
    while bench.poll().is_some() {}
    for (offset, heard) in [(7, false), (1460, true)] {
        bench.now = bench.now.after(Span::us(20));
        let got = Got { offset, ordinal: 0 };
        bench.hear(&got.packet(A, ConnId(1), 84));
        let slot = bench.host.conns.find(ConnId(1)).unwrap();
        assert_eq!(bench.host.conns[slot].tx.heard == bench.now, heard);
    }
}

#[test]
fn a_burst_reaches_no_farther_than_grants_whatever_a_peer_says() {
    let mut bench = with_bursts("");
    for offset in [0, 75_000_000] {
        let mut packet = piece(offset, 100_000_000).packet(A, ConnId(1), 1538);
        packet.set_class(Class::Unscheduled);
        bench.hear(&packet);
    }
    let slot = bench.host.conns.find(ConnId(1)).unwrap();
    let granted = bench.host.conns[slot].rx.granted;
    assert!(granted <= 801_460, "{granted} B");
}

/// What was granted whole wants more when a grant was spent in vain, and its share as the oldest with it.
#[test]
fn a_message_that_is_granted_anew_has_its_share_as_the_oldest_again() {
    let mut bench = with_bursts("");
    bench.hear(&piece(0, 10_000).packet(A, ConnId(1), 1538));
    assert_eq!(bench.host.oldest.len(), 0);
    bench.hear(&granted(10_000));
    assert_eq!(bench.host.oldest.len(), 1);
    assert_eq!(bench.host.totals.duplicates, 1);
}

/// It waits at its sender first, whose line is another's, and then at the port before us behind what is more urgent: nobody
/// asks for it until the line was free for it long enough.
#[test]
fn what_comes_to_wait_behind_more_urgent_packets_later_is_not_asked_for() {
    let mut bench = alone("resend_after = \"5ms\"");
    data(&mut bench, 1, 0, 1460, 10_000_000);
    bench.now = bench.now.after(Span::ms(1));
    for frame in 0..5_000_u32 {
        bench.now = bench.now.after(Span::ns(1_230));
        let before = 1460 * frame;
        data(&mut bench, 2, before.into(), 1460, 100_000_000 - before);
        bench.call(Endpoint::on_deadline);
        while bench.poll().is_some() {}
    }
    assert_eq!(bench.host.counts.resends, 0);
    for _ in 0..2 {
        bench.now = bench.now.after(Span::ms(6));
        bench.call(Endpoint::on_deadline);
    }
    assert!(bench.host.counts.resends > 0);
}

/// A full frame of a lasting connection, with `left` bytes of its message to go before it.
fn lasting(ordinal: u16, offset: u64, left: u32) -> Packet {
    let data = Data {
        ordinal,
        lifetime: Lifetime::Persistent,
        ..piece(offset, offset + u64::from(left))
    };
    data.packet(A, ConnId(1), 1538)
}

#[test]
fn a_message_behind_a_long_one_comes_at_the_priority_of_its_own_length() {
    let mut bench = alone("");
    let priority = |bench: &Alone<Host>, conn| {
        let slot = bench.host.conns.find(ConnId(conn)).unwrap();
        bench.host.conns[slot].rx.priority
    };
    for frame in 0..70 {
        bench.hear(&lasting(
            0,
            frame * 1460,
            70 * 1460 - 1460 * u32::try_from(frame).unwrap(),
        ));
    }
    bench.hear(&lasting(1, 70 * 1460, 3_000));
    data(&mut bench, 2, 0, 1460, 3_000);
    data(&mut bench, 3, 0, 1460, 206_400);
    assert_eq!(priority(&bench, 1), priority(&bench, 2));
    assert!(priority(&bench, 2) < priority(&bench, 3));
}

#[test]
fn no_more_leaves_than_was_granted_to_the_byte() {
    let text = "profile = \"sigcomm18\"\nunscheduled = \"1460B\"";
    let settings = Settings::new(&params(text), &config());
    let mut sender = Sender::default();
    assert!(sender.push(Time::ZERO, 100_000, &settings));
    sender.take(Time::ZERO, &settings);
    let grant = Grant {
        from: 1460,
        upto: 2_000,
        priority: 7,
    };
    assert!(sender.on_grant(Time::ZERO, grant, &settings));
    assert_eq!(sender.take(Time::ZERO, &settings).length, 540);
    assert!(!sender.is_ready());
}

#[test]
fn a_message_may_be_done_when_its_last_packet_has_left_and_no_sooner() {
    let settings = Settings::new(&params(""), &config());
    for length in [0, 1460] {
        let mut sender = Sender::default();
        assert!(sender.push(Time::ZERO, length, &settings));
        assert!(!sender.may_be_done(1), "{length} B");
        sender.take(Time::ZERO, &settings);
        assert!(
            sender.may_be_done(1) && !sender.may_be_done(2),
            "{length} B"
        );
    }
}

/// A sender fills its last frame, of which its grant has so many bytes.
#[test]
fn what_a_frame_takes_beyond_its_grant_counts_as_granted() {
    let beyond = |within: u32| {
        let mut bench = with_bursts("profile = \"sigcomm18\"");
        bench.hear(&piece(0, 100_000_000).packet(A, ConnId(1), 1538));
        let slot = bench.host.conns.find(ConnId(1)).unwrap();
        let before = bench.host.conns[slot].rx.granted;
        bench.hear(&granted(u32::try_from(before).unwrap() - within));
        bench.host.conns[slot].rx.granted - before
    };
    assert_eq!([0, 1, 1459, 1460].map(beyond), [0, 1459, 1, 0]);
}

/// What a host says now, in words.
fn said(bench: &mut Alone<Host>) -> Vec<String> {
    let left = std::iter::from_fn(|| bench.poll());
    left.map(|packet| header::CODEC.describe(&packet)).collect()
}

/// A connection of one message is forgotten when that has arrived, and remembered for a while: its sender may ask.
#[test]
fn a_lone_message_that_has_arrived_is_acknowledged_to_whoever_asks() {
    let mut bench = alone("");
    data(&mut bench, 1, 0, 100, 100);
    said(&mut bench);
    let acks = |bench: &Alone<Host>| {
        let mut found = 0;
        bench.host.counters(&mut |counter, value| {
            found += if counter.name == "acks" { value } else { 0 };
        });
        found
    };
    let before = acks(&bench);
    for nth in 1..=2 {
        bench.hear(&NeedAck { ordinal: 0 }.packet(A, ConnId(1), 84));
        assert_eq!(said(&mut bench), ["ACK 1"]);
        assert_eq!(acks(&bench), before + nth);
    }
    // Nobody knows a second one.
    bench.hear(&NeedAck { ordinal: 0 }.packet(A, ConnId(2), 84));
    assert_eq!(said(&mut bench), ["RPC_UNKNOWN 0, says the receiver"]);
    assert_eq!(acks(&bench), before + 2);
}

/// With room for one grant, one message of a silent peer has it. When that is given up, the others are as silent.
#[test]
fn with_a_peer_that_is_silent_its_messages_that_wait_are_given_up() {
    let text = "unscheduled = \"1460B\"\nresend_after = \"1ms\"\ntimeout = \"10ms\"\novercommitment = 1\n\
                fifo_share = 0.0";
    let mut bench = alone(text);
    for conn in 1..=3 {
        data(&mut bench, conn, 0, 1460, 1_000_000 + conn);
    }
    let mut ended = Vec::new();
    for _ in 0..100 {
        bench.call(Endpoint::on_deadline);
        said(&mut bench);
        let forgotten = |event: Event| match event {
            Event::Forgotten { conn } => conn.0,
            other => panic!("{other:?}"),
        };
        let now: Vec<u32> = bench.events.drain(..).map(forgotten).collect();
        ended.extend(Some(now).filter(|now| !now.is_empty()));
        bench.now = bench.now.after(Span::ms(1));
    }
    assert_eq!(ended, [[1, 2, 3]]);
    assert_eq!(bench.host.conns.iter().count(), 0);
    bench.host.check();
}
