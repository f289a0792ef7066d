//! Who is asked, who waits, and who is given up.

use super::{PACKET, params};
use crate::homa::*;
use model::{Event, HostId};
use testkit::{A, B, C, Pair};
use units::Time;

const IMPATIENT: &str = "resend_after = \"200us\"\ntimeout = \"1ms\"";

/// When `host` had received each message, by connection.
fn received(pair: &Pair<'_>, host: HostId) -> Vec<(u32, Time)> {
    let of = |&(at, who, event): &(Time, HostId, Event)| match event {
        Event::Received { conn, .. } if who == host => Some((conn.0, at)),
        _ => None,
    };
    pair.events().iter().filter_map(of).collect()
}

fn run(
    text: &str,
    hosts: usize,
    script: impl FnOnce(&mut Pair<'_>),
) -> (String, u64, Vec<(u32, Time)>) {
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC).named("homa");
    script(&mut pair);
    pair.run();
    (
        pair.ladder(),
        pair.totals().retransmitted,
        received(&pair, A),
    )
}

/// One of two waits 2.4 ms for its turn, where 200 us of silence are asked about and 1 ms is given up: nobody
/// has promised it anything that could be late. Its sender, which has heard nothing, asks with its first packet.
#[test]
fn a_message_that_waits_for_its_turn_is_neither_asked_for_nor_given_up() {
    let linux = format!("{IMPATIENT}\nlinger = \"25s\"\novercommitment = 1\nfifo_share = 0.0");
    let packet = format!("{PACKET}\n{IMPATIENT}\novercommitment = 1");
    for text in [linux, packet] {
        let (ladder, again, received) = run(&text, 3, |pair| {
            pair.message(Time::ZERO, B, A, 3_000_000);
            pair.message(Time::ZERO, C, A, 3_100_000);
        });
        let asked = ladder.matches("RESEND").count();
        assert_eq!((asked, again, received.len()), (0, 1, 2), "{text}");
    }
}

/// Ten senders die with all that a receiver allows on their way; the eleventh gets it when they are asked for.
#[test]
fn silent_peers_keep_no_room_from_a_healthy_one() {
    let text = "resend_after = \"1ms\"\ntimeout = \"50ms\"\nfifo_share = 0.0";
    let (_, _, received) = run(text, 12, |pair| {
        for host in 1..=10 {
            pair.message(Time::ZERO, HostId(host), A, 1_000_000);
            pair.down(HostId(host), Time(40_000_000), Time::NEVER);
        }
        pair.message(Time(1_000_000), HostId(11), A, 2_000_000);
    });
    let [(_, at)] = received[..] else {
        panic!("{received:?}");
    };
    assert!(at < Time(6_000_000_000), "it ended at {at}");
}

/// The share of the oldest needs no arrival: the shorter message that has the receiver's turn is dead.
#[test]
fn the_oldest_gets_its_share_when_it_is_due() {
    let text = "overcommitment = 1\nfifo_share = 0.1\nresend_after = \"5ms\"";
    let (ladder, _, received) = run(text, 3, |pair| {
        pair.message(Time::ZERO, B, A, 1_000_000);
        pair.message(Time(1_000_000), C, A, 500_000);
        pair.down(C, Time(40_000_000), Time(400_000_000_000));
    });
    let at = |line: &str| -> f64 {
        let time = line.trim().split("us").next();
        time.and_then(|time| time.parse().ok()).unwrap_or(0.0)
    };
    let shares = ladder.lines().filter(|line| line.contains("GRANT"));
    let shares: Vec<_> = shares
        .filter(|line| (600.0..4_500.0).contains(&at(line)))
        .collect();
    // 50 KB of a tenth of 10 Gb/s: one in 400 us.
    assert!(shares.len() >= 8, "{shares:?}");
    assert_eq!(received.len(), 2);
}

/// A gap holds its message back till it is asked for, and no share of the oldest keeps it from falling silent.
#[test]
fn a_gap_is_asked_for_though_the_oldest_has_a_share() {
    let (_, again, received) = run("", 2, |pair| {
        pair.message(Time::ZERO, B, A, 20_000_000);
        pair.lose(("DATA", 100));
    });
    let [(_, at)] = received[..] else {
        panic!("{received:?}");
    };
    // 17 ms of the line and 5 ms of silence, and not 320 ms of a twentieth of the line.
    assert!(
        at < Time(30_000_000_000) && again < 10,
        "{again} again, and it ended at {at}"
    );
}

/// Equals that come later passed behind what is lost: 40 MB of others keep the line busy, and 100 KB wait twice for 5 ms.
#[test]
fn what_is_lost_is_asked_for_while_equals_keep_the_line() {
    let one_scheduled = format!("{PACKET}\nunscheduled_priorities = 7\nresend_after = \"5ms\"");
    for text in ["priorities = 1", &one_scheduled] {
        let (_, again, received) = run(text, 4, |pair| {
            for host in [1, 2] {
                pair.message(Time::ZERO, HostId(host), A, 20_000_000);
            }
            pair.message(Time(1_000_000_000), HostId(3), A, 100_000);
            pair.down(HostId(3), Time(1_004_000_000), Time(1_008_000_000));
        });
        assert!(received.len() == 3 && again > 0, "{text}: {again}");
        let (_, at) = received[0];
        assert!(at < Time(13_000_000_000), "{text}: it ended at {at}");
    }
}

/// What is lost without recovery stays lost on lasting connections, too, and nobody talks about it for ever.
#[test]
fn without_recovery_nobody_asks_for_what_a_lasting_connection_lost() {
    for packet in [("DATA", 2), ("ACK", 1)] {
        let params = params("recovery = false");
        let make = |config: &EndpointConfig| Factory::make(&params, config);
        let mut pair = Pair::new(&make, &header::CODEC).named("homa");
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time::ZERO, conn, A, 6_000);
        pair.send(Time::ZERO, conn, A, 6_000);
        pair.lose(packet);
        let unfinished = pair.try_run().expect_err("something is lost for good");
        assert!(
            unfinished.reason.starts_with("nothing moves"),
            "{unfinished}"
        );
        assert!(
            unfinished.to_string().contains("homa.recovery is false"),
            "{unfinished}"
        );
        assert_eq!(
            (pair.totals().retransmitted, pair.count(is_question)),
            (0, 0)
        );
    }
}

fn is_question(packet: &model::Packet) -> bool {
    use header::Kind;
    matches!(
        Kind::of(packet),
        Some(Kind::NeedAck | Kind::Resend | Kind::Busy)
    )
}
