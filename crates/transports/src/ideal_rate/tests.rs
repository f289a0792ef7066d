//! Conversations as ladders, and what rates come to.

use super::*;
use model::{Event, HostId};
use testkit::{A, B, C, Pair};
use units::{Bytes, Span};

fn make(config: &EndpointConfig) -> Box<dyn Endpoint> {
    Factory::make(&Params::DEFAULT, config)
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(script: impl FnOnce(&mut Pair<'_>)) -> String {
    let mut pair = Pair::new(&make, &header::CODEC).named("ideal-rate");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

/// When each message of the run had arrived, in the order of their connections.
fn ends(pair: &Pair<'_>) -> Vec<f64> {
    let mut ends: Vec<_> = pair
        .events()
        .iter()
        .filter_map(|&(at, _, event)| match event {
            Event::Received { conn, .. } => Some((conn.0, at.since(Time::ZERO).as_us())),
            _ => None,
        })
        .collect();
    ends.sort_by_key(|&(conn, _)| conn);
    ends.into_iter().map(|(_, at)| at).collect()
}

/// How long `bytes` take at a part of the 9.2 Gb/s that a line of 10 Gb/s has for data, in microseconds.
fn ideal(bytes: u64, part: f64) -> f64 {
    Encap::PAPER.wire_total(bytes) as f64 * 8.0 / (9_200.0 * part)
}

#[track_caller]
fn near(found: f64, wanted: f64, within: f64) {
    assert!(
        (found / wanted - 1.0).abs() < within,
        "{found} us, not {wanted} us"
    );
}

#[test]
fn a_message_takes_a_handshake_and_a_packet_at_a_time() {
    let found = ladder(|pair| {
        pair.message(Time::ZERO, A, B, 4_000);
    });
    let page = include_str!("README.md");
    assert!(
        found.lines().all(|line| page.contains(line.trim())),
        "the page shows:\n{found}"
    );
    insta::assert_snapshot!(found, @r"
     0.000us  A -> B  OPEN one message                            84 B
     5.067us  A <- B  ACCEPT at 9193 Mb/s                         84 B
    10.134us  A -> B  DATA 0:0+1460 at 9193 Mb/s                1538 B
    11.472us  A -> B  DATA 0:1460+1460 at 9193 Mb/s             1538 B
    12.810us  A -> B  DATA 0:2920+1080 end at 9193 Mb/s         1158 B
    16.364us  A <- B  ACK 0:1460 at 9193 Mb/s                     84 B
    17.703us  A <- B  ACK 0:2920 at 9193 Mb/s                     84 B
    18.737us  B received message 0, 4000 B
    18.737us  A <- B  ACK 1:4000                                  84 B
    23.804us  A is done with message 0
    ");
}

#[test]
fn after_a_loss_the_sender_goes_back() {
    let found = ladder(|pair| {
        pair.message(Time::ZERO, A, B, 7_000);
        pair.lose(("DATA", 2));
    });
    insta::assert_snapshot!(found, @r"
     0.000us  A -> B  OPEN one message                            84 B
     5.067us  A <- B  ACCEPT at 9193 Mb/s                         84 B
    10.134us  A -> B  DATA 0:0+1460 at 9193 Mb/s                1538 B
    11.472us  A -> B  DATA 0:1460+1460 at 9193 Mb/s             1538 B  X lost
    12.810us  A -> B  DATA 0:2920+1460 at 9193 Mb/s             1538 B
    14.149us  A -> B  DATA 0:4380+1460 at 9193 Mb/s             1538 B
    15.487us  A -> B  DATA 0:5840+1160 end at 9193 Mb/s         1238 B
    16.364us  A <- B  ACK 0:1460 at 9193 Mb/s                     84 B
    19.041us  A <- B  ACK 0:1460 gap at 9193 Mb/s                 84 B
    24.108us  A -> B  DATA 0:1460+1460 at 9193 Mb/s             1538 B
    25.446us  A -> B  DATA 0:2920+1460 at 9193 Mb/s             1538 B
    26.785us  A -> B  DATA 0:4380+1460 at 9193 Mb/s             1538 B
    28.123us  A -> B  DATA 0:5840+1160 end at 9193 Mb/s         1238 B
    30.338us  A <- B  ACK 0:2920 at 9193 Mb/s                     84 B
    31.677us  A <- B  ACK 0:4380 at 9193 Mb/s                     84 B
    33.015us  A <- B  ACK 0:5840 at 9193 Mb/s                     84 B
    34.113us  B received message 0, 7000 B
    34.113us  A <- B  ACK 1:7000                                  84 B
    39.180us  A is done with message 0
    ");
}

#[test]
fn the_first_packet_of_a_lasting_connection_waits_for_no_rate_and_the_next_ones_do() {
    let found = ladder(|pair| {
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time::ZERO, conn, A, 200);
        pair.reply(conn, B, 0, 1_000);
        // Longer than both keep their part of the lines.
        pair.send(Time(20_000_000_000), conn, B, 4_000);
    });
    insta::assert_snapshot!(found, @r"
        0.000us  A -> B  OPEN                                        84 B
        5.067us  A <- B  ACCEPT at 9193 Mb/s                         84 B
       10.134us  A -> B  DATA 0:0+200 end at 9193 Mb/s              278 B
       15.356us  B received message 0, 200 B
       15.356us  A <- B  ACK 1:200 at 9193 Mb/s                      84 B
       15.424us  A <- B  DATA 0:0+1000 end at 9193 Mb/s            1078 B
       20.424us  A is done with message 0
       21.286us  A received message 0, 1000 B
       21.286us  A -> B  ACK 1:1000 at 9193 Mb/s                     84 B
       26.353us  B is done with message 0
    20000.000us  A <- B  DATA 1:1000+1460 at 9193 Mb/s             1538 B
    20006.230us  A -> B  ACK 1:2460 at 9193 Mb/s                     84 B
    20011.297us  A <- B  DATA 1:2460+1460 at 9193 Mb/s             1538 B
    20012.635us  A <- B  DATA 1:3920+1080 end at 9193 Mb/s         1158 B
    20017.528us  A -> B  ACK 1:3920 at 9193 Mb/s                     84 B
    20018.562us  A received message 1, 4000 B
    20018.562us  A -> B  ACK 2:5000 at 9193 Mb/s                     84 B
    20023.629us  B is done with message 1
    ");
}

#[test]
fn two_senders_share_a_line_and_the_rest_gets_what_they_leave() {
    let mut pair = Pair::star(5, &make, &header::CODEC);
    let (d, e) = (HostId(3), HostId(4));
    // A and B to C: halves. B to D: what B has left, a half. E to D: the other half of D's line.
    for (from, to) in [(A, C), (B, C), (B, d), (e, d)] {
        pair.message(Time::ZERO, from, to, 2_000_000);
    }
    pair.run();
    for end in ends(&pair) {
        near(end, ideal(2_000_000, 0.5), 0.02);
    }
}

#[test]
fn what_is_held_elsewhere_leaves_its_part_to_others() {
    // Four to C, a quarter each; A sends to B as well, and has three quarters for it.
    let mut pair = Pair::star(6, &make, &header::CODEC);
    pair.message(Time::ZERO, A, B, 3_000_000);
    for from in [A, HostId(3), HostId(4), HostId(5)] {
        pair.message(Time::ZERO, from, C, 1_000_000);
    }
    pair.run();
    near(ends(&pair)[0], ideal(3_000_000, 0.75), 0.03);
    near(ends(&pair)[1], ideal(1_000_000, 0.25), 0.03);
}

#[test]
fn a_flow_that_comes_takes_its_part_and_leaves_it_again() {
    let mut pair = Pair::star(3, &make, &header::CODEC);
    pair.message(Time::ZERO, A, C, 2_000_000);
    pair.message(Time(300_000_000), B, C, 500_000);
    pair.run();
    near(ends(&pair)[1] - 300.0, ideal(500_000, 0.5), 0.05);
    near(ends(&pair)[0], ideal(2_500_000, 1.0), 0.02);
}

#[test]
fn where_many_send_to_one_a_few_packets_of_each_wait() {
    const SENDERS: u32 = 32;
    let run = |buffer| {
        let mut pair = Pair::star(33, &make, &header::CODEC)
            .delay(Span::us(1))
            .buffer(Bytes(buffer));
        for sender in 1..=SENDERS {
            pair.message(Time::ZERO, HostId(sender), A, 100_000);
        }
        pair.run();
        pair.totals().retransmitted
    };
    // A window of a round trip would put 32 x 5 KB there and more, and the messages have 3.2 MB.
    assert_eq!(run(2 * u64::from(SENDERS) * 1538), 0);
    assert!(run(4 * 1538) > 0, "ideal rates do not keep packets apart");
}

#[test]
fn a_receiver_that_names_no_rate_worth_it_holds_nobody_for_ever() {
    let mut sender = Pace::default();
    sender.hear(Time::ZERO, 1, 1_000_000);
    sender.pace(10_000_000_000);
    sender.leave(Time::ZERO, 1538);
    assert_eq!(
        sender.due(true),
        Time::ZERO.after(Span::us(12_304)),
        "1538 B at 1 Mb/s"
    );
}

#[test]
fn a_message_that_is_cancelled_before_anything_left_arrives_empty() {
    let mut pair = Pair::new(&make, &header::CODEC);
    let conn = pair.message(Time::ZERO, A, B, 100_000);
    pair.lose(("OPEN", 1));
    pair.cancel(Time(500_000_000), conn, A);
    pair.run();
    assert_eq!(pair.received(conn, A), 1);
}
