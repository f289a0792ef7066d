//! Conversations and small networks: what the whole endpoint does.

mod alone;
mod frames;
mod wire;

use super::*;
use model::{Rng, stream};
use testkit::{A, B, C, Chaos, Pair};
use units::Bytes;

const CODEC: &dyn Codec = &header::CODEC;

fn made(params: Params) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> {
    move |config| Box::new(ExpressPassHost::new(&params, config))
}
fn default() -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> {
    made(Params::default())
}
fn params_of(profile: &str) -> Params {
    let table = format!("profile = \"{profile}\"");
    EXPRESSPASS.read(&table.parse().unwrap()).unwrap()
}

fn profile(name: &str) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> {
    made(params_of(name))
}
/// Late enough for every token bucket to be full.
const START: Time = Time(1_000_000_000);

/// The conversation of one message of `length` bytes after `script`.
fn ladder(length: u64, script: impl FnOnce(&mut Pair<'_>, ConnId)) -> String {
    let make = default();
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    let conn = pair.message(START, A, B, length);
    script(&mut pair, conn);
    pair.run();
    pair.ladder()
}

// Ladders: snapshots in `snapshots/`.

#[test]
fn one_packet() {
    let text = ladder(1000, |_, _| {});
    insta::assert_snapshot!("one_packet", text);
    assert!(
        include_str!("README.md").contains(text.trim_end()),
        "the README shows it:\n{text}"
    );
}

#[test]
fn one_packet_in_the_first_round_trip() {
    for first_rtt in [FirstRtt::Aeolus, FirstRtt::Gaps] {
        let make = made(Params {
            // The one that takes only gaps gives its first credit at once, and shows the same otherwise.
            subtract_burst: true,
            ..Params::default().with(first_rtt)
        });
        let mut pair = Pair::new(&make, CODEC).named("expresspass");
        pair.message(START, A, B, 1000);
        pair.run();
        let text = pair.ladder();
        assert!(
            include_str!("aeolus.md").contains(text.trim_end()),
            "the page shows it:\n{text}"
        );
    }
}

/// The conversation of a burst of eight frames, with the credits and the moment of the last byte in
/// microseconds. Flows start at half of the full rate: a credit for every other frame.
fn burst(subtract: bool, script: impl FnOnce(&mut Pair<'_>)) -> (String, usize, f64) {
    let params = Params {
        subtract_burst: subtract,
        jitter: 0.0,
        ..params_of("b").with(FirstRtt::Aeolus)
    };
    let make = made(params);
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    pair.message(START, A, B, 8 * 1460);
    script(&mut pair);
    pair.run();
    let text = pair.ladder();
    let credits = text
        .lines()
        .filter(|line| line.contains("  CREDIT "))
        .count();
    let end = text.lines().find(|line| line.contains("received message"));
    let end = end.unwrap().trim().split("us").next().unwrap();
    (text.clone(), credits, end.parse().unwrap())
}

#[test]
fn what_a_burst_brings_needs_no_credits() {
    let (text, credits, end) = burst(true, |_| {});
    insta::assert_snapshot!("burst", text);
    let (_, before, same) = burst(false, |_| {});
    assert_eq!((credits, before), (0, 4));
    assert!((end - same).abs() < 0.001, "{end} and {same}");
}

#[test]
fn what_a_burst_lost_gets_its_credit_as_soon_as_one_can_be_used() {
    let lose = |pair: &mut Pair<'_>| {
        pair.lose(("DATA", 3));
        pair.lose(("DATA", 8));
    };
    let (text, credits, end) = burst(true, lose);
    insta::assert_snapshot!("burst_lost", text);
    let (_, before, earlier) = burst(false, lose);
    assert!(credits < before, "{credits} of {before} credits");
    // No later than a credit's gap: one given before the loss is known may come just in time.
    assert!(end < earlier + 2.6, "{end} after {earlier}");
}

#[test]
fn what_a_lost_probe_hides_is_fetched_all_the_same() {
    let (_, _, end) = burst(true, |pair| {
        pair.lose(("DATA", 8));
        pair.lose(("PROBE 10220", 1));
    });
    // The burst, a round trip for credits to be held back, and one for the credit to bring data.
    assert!(end < 1060.0, "{end}");
}

/// The conversation of ten frames, of which two leave unasked, under `first_rtt`. No timer helps.
fn repaired(first_rtt: FirstRtt, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let make = made(Params {
        burst: Some(2 * 1538),
        jitter: 0.0,
        ..Params::default().with(first_rtt)
    });
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    pair.message(START, A, B, 10 * 1460);
    script(&mut pair);
    pair.run();
    assert_eq!(pair.totals().timeouts, 0);
    pair.ladder()
}

#[test]
fn a_repair_that_is_lost_is_asked_for_by_the_number_of_its_credit() {
    let text = repaired(FirstRtt::Aeolus, |pair| {
        pair.lose(("DATA 1460..2920", 1));
        pair.lose(("DATA 1460..2920", 2));
    });
    insta::assert_snapshot!("repair_lost", text);
}

#[test]
fn a_second_stop_shows_the_loss_of_the_last_frame_behind_an_early_one() {
    for (name, first_rtt) in [("aeolus", FirstRtt::Aeolus), ("ssp", FirstRtt::Ssp)] {
        let text = repaired(first_rtt, |pair| pair.lose(("DATA 13140..14600", 1)));
        insta::assert_snapshot!(format!("last_lost_{name}"), text);
    }
}

#[test]
fn a_burst_does_without_its_lost_request() {
    let text = repaired(FirstRtt::Aeolus, |pair| pair.lose(("REQUEST", 1)));
    insta::assert_snapshot!("burst_without_request", text);
}

#[test]
fn a_probe_that_nobody_waits_for_brings_its_lost_request_again() {
    let text = repaired(FirstRtt::Aeolus, |pair| {
        pair.lose(("REQUEST", 1));
        (1..=2).for_each(|n| pair.lose(("DATA", n)));
    });
    insta::assert_snapshot!("probe_without_request", text);
}

#[test]
fn a_probe_that_is_lost_costs_no_timer() {
    let text = repaired(FirstRtt::Ssp, |pair| {
        pair.lose(("DATA 1460..2920", 1));
        pair.lose(("PROBE 1460", 1));
    });
    assert_eq!(text.matches("DATA 1460..2920 again").count(), 1, "{text}");
}

#[test]
fn credits_leave_control_packets_their_share() {
    let params = Params {
        control_share: 0.05,
        ..Params::default()
    };
    let line = LineTime::new(Rate::gbps(10));
    let period = |params: &Params| params.credit_spec(Encap::PAPER).period(line);
    // 84 B and 1538 B in 95 % of the line.
    assert_eq!(period(&Params::default()), Span(1_297_600));
    assert_eq!(period(&params), Span((1_297_600u64 * 20).div_ceil(19)));
}

#[test]
fn an_empty_message_takes_one_empty_frame() {
    insta::assert_snapshot!("empty", ladder(0, |_, _| {}));
}

#[test]
fn a_sender_stops_early_once_enough_credits_are_under_way() {
    insta::assert_snapshot!("early_stop", ladder(14_600, |_, _| {}));
}

#[test]
fn a_lost_request_is_repeated() {
    insta::assert_snapshot!(
        "lost_request",
        ladder(1000, |pair, _| pair.lose(("REQUEST", 1)))
    );
}

#[test]
fn a_lost_first_credit_is_followed_by_the_next_one() {
    insta::assert_snapshot!(
        "lost_credit",
        ladder(1000, |pair, _| pair.lose(("CREDIT", 1)))
    );
}

#[test]
fn lost_data_is_asked_for_again_when_later_data_shows_the_gap() {
    insta::assert_snapshot!("lost_data", ladder(5000, |pair, _| pair.lose(("DATA", 2))));
}

#[test]
fn lost_last_data_is_asked_for_again_when_the_stop_shows_the_gap() {
    insta::assert_snapshot!(
        "lost_last_data",
        ladder(1000, |pair, _| pair.lose(("DATA", 1)))
    );
}

#[test]
fn a_lost_stop_is_repeated() {
    insta::assert_snapshot!(
        "lost_stop",
        ladder(1000, |pair, _| pair.lose(("STOP at", 1)))
    );
}

#[test]
fn a_lost_stop_ack_is_given_again_for_the_repeated_stop() {
    insta::assert_snapshot!(
        "lost_stop_ack",
        ladder(1000, |pair, _| pair.lose(("STOP_ACK", 1)))
    );
}

#[test]
fn a_lost_nack_is_repeated_while_data_keeps_coming_after_the_gap() {
    let text = ladder(60_000, |pair, _| {
        pair.lose(("DATA", 3));
        pair.lose(("NACK", 1));
    });
    assert_eq!(text.matches("NACK 2920").count(), 2, "{text}");
}

#[test]
fn a_connection_answers_in_the_other_direction() {
    let make = default();
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    let conn = pair.connect(START, A, B);
    pair.send(START, conn, A, 200);
    pair.reply(conn, B, 0, 2000);
    pair.run();
    insta::assert_snapshot!("request_response", pair.ladder());
}

#[test]
fn a_cancelled_message_ends_after_the_last_byte_that_left() {
    let text = ladder(100_000, |pair, conn| {
        pair.cancel(Time(START.0 + 25_000_000), conn, A);
    });
    insta::assert_snapshot!("cancel", text);
}

// Loss, one packet at a time and at random.

#[test]
fn credits_end_and_the_message_arrives_whichever_packet_is_lost_twice_or_late() {
    let make = default();
    for length in [0, 1, 1460, 5000, 30_000] {
        let mut clean = Pair::new(&make, CODEC);
        clean.message(START, A, B, length);
        clean.run();
        for n in 1..=clean.packets() {
            for fault in 0..3 {
                let mut pair = Pair::new(&make, CODEC).named("expresspass");
                pair.message(START, A, B, length);
                match fault {
                    0 => pair.lose(n),
                    1 => pair.duplicate(n),
                    _ => pair.delay_packet(n, Span::us(40)),
                }
                pair.run();
                let spent = pair.totals().credits_sent;
                assert!(
                    spent < clean.totals().credits_sent + 200,
                    "{spent} credits: {n}, {fault}"
                );
            }
        }
    }
}

#[test]
fn everything_arrives_once_through_a_network_that_loses_copies_and_delays() {
    for &(name, _) in params::PROFILES {
        let make = profile(name);
        for seed in 0..10 {
            let mut pair = Pair::star(3, &make, CODEC).named(name).seed(seed);
            let hit = 30_000_000;
            let (delay_ppb, delay_max) = (hit, Span::us(60));
            let chaos = Chaos {
                lose_ppb: hit,
                duplicate_ppb: hit,
                delay_ppb,
                delay_max,
                mark_ppb: 0,
                ..Chaos::default()
            };
            pair.chaos(chaos, seed);
            for n in 0..5 {
                pair.message(Time(START.0 + n * 7_000_000), A, C, n * n * 3000);
                pair.message(Time(START.0 + n * 5_000_000), B, C, 40_000);
            }
            let conn = pair.connect(START, C, A);
            for n in 0..20 {
                pair.send(Time(START.0 + n * 30_000_000), conn, C, n % 3 * 1000);
                pair.reply(conn, A, u32::try_from(n).unwrap(), n % 5 * 700);
            }
            pair.run();
        }
    }
}

#[test]
fn a_link_that_is_down_for_a_while_only_delays() {
    let text = ladder(200_000, |pair, _| {
        pair.down(B, Time(START.0 + 50_000_000), Time(START.0 + 3_000_000_000));
    });
    assert!(text.contains("B received message 0, 200000 B"));
}

// Streams.

#[test]
fn a_stream_of_empty_messages_keeps_its_count_although_acknowledgements_are_lost() {
    let make = default();
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    let conn = pair.connect(START, A, B);
    for _ in 0..2000 {
        pair.send(START, conn, A, 0);
    }
    for n in 1..12 {
        pair.lose(("STOP_ACK", n));
        pair.lose(("DATA", 150 * n));
    }
    pair.run();
    assert_eq!(pair.received(conn, A), 2000);
}

#[test]
fn a_stream_that_never_stops_is_confirmed_as_it_goes() {
    let make = default();
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    let conn = pair.connect(START, A, B);
    for n in 0..1000 {
        pair.send(Time(START.0 + n * 1_000_000), conn, A, 1460);
    }
    pair.run_until(Time(START.0 + 900_000_000));
    let count = |wanted: fn(&Event) -> bool| {
        u32::try_from(
            pair.events()
                .iter()
                .filter(|(_, _, event)| wanted(event))
                .count(),
        )
        .unwrap()
    };
    let received = count(|event| matches!(event, Event::Received { .. }));
    let sent = count(|event| matches!(event, Event::Sent { .. }));
    assert!(
        received > 500 && received - sent < 100,
        "{received} received, {sent} known"
    );
}

#[test]
fn a_message_after_a_stop_asks_at_once() {
    let make = default();
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    let conn = pair.connect(START, A, B);
    pair.send(START, conn, A, 1000);
    pair.send(Time(START.0 + 15_000_000), conn, A, 1000);
    pair.run();
    let text = pair.ladder();
    assert!(
        text.contains("1015.000us  A -> B  REQUEST from 1000, 1 packet"),
        "{text}"
    );
}

#[test]
fn a_message_cancelled_before_it_began_arrives_empty_and_the_next_one_whole() {
    let make = default();
    let mut pair = Pair::new(&make, CODEC).named("expresspass");
    let conn = pair.connect(START, A, B);
    pair.send(START, conn, A, 50_000);
    pair.cancel(Time(START.0 + 1), conn, A);
    pair.send(Time(START.0 + 2), conn, A, 3000);
    pair.run();
    let lengths = pair
        .events()
        .iter()
        .filter_map(|(_, _, event)| match event {
            Event::Received { length, .. } => Some(*length),
            _ => None,
        });
    assert_eq!(lengths.collect::<Vec<_>>(), [0, 3000]);
}

// What the network gets.

/// Time from the start to the arrival of STOP, or of the message where it is later, in
/// nanoseconds, and credits wasted: what the authors' simulator reports.
fn alone(name: &str, length: u64) -> (u64, u64) {
    let make = profile(name);
    // Their path has three links of 4 us; ours has two: a full frame and two small ones less.
    let mut pair = Pair::star(3, &make, CODEC).delay(Span::us(6)).named(name);
    pair.message(START, A, B, length);
    pair.run();
    let stopped = pair.events().iter().find_map(|&(at, _, event)| {
        matches!(event, Event::Stopped { .. }).then(|| at.since(START).0 / 1000)
    });
    (stopped.unwrap() + 1_365, pair.totals().credits_wasted)
}

#[test]
fn single_flows_take_the_time_and_the_credits_of_the_authors_simulator() {
    // FCT in ns and wasted credits, measured with ns2-xpass: profile A is ns2xpass.
    for (name, length, fct, wasted) in [
        ("ns2xpass", 1_460, 40_200, 0),
        ("ns2xpass", 14_600, 101_600, 3),
        ("ns2xpass", 58_400, 118_200, 6),
        ("ns2xpass", 584_000, 619_100, 10),
        ("b", 1_460, 40_200, 10),
        ("b", 14_600, 63_900, 11),
        ("b", 58_400, 133_200, 14),
        ("b", 584_000, 633_100, 21),
    ] {
        let (ours, waste) = alone(name, length);
        assert!(
            ours.abs_diff(fct) * 100 <= fct * 3,
            "{name} {length}: {ours} for {fct} ns"
        );
        assert!(
            waste.abs_diff(wasted) <= 1,
            "{name} {length}: {waste} for {wasted} credits"
        );
    }
}

#[test]
fn one_long_flow_fills_the_line_with_data_and_credits() {
    let make = made(Params {
        jitter: 0.0,
        ..params_of("ns2xpass")
    });
    let mut pair = Pair::new(&make, CODEC).without_codec();
    pair.message(START, A, B, 20_000_000);
    pair.run();
    let end = pair.events().iter().find_map(|&(at, _, event)| {
        matches!(event, Event::Received { .. }).then(|| at.since(START))
    });
    // 1622 bytes of line per 1460 bytes of message, and the start in round trips of 11.3 us:
    // 1.5, and 5.1 (1 - alpha) for w_init = 1/16.
    let full = Rate::gbps(10).serialize(Bytes(20_000_000 * 1622 / 1460)).0 as f64;
    let start = (1.5 + 5.1 * 0.5) * 11_297_600.0;
    let rtts = (end.unwrap().0 as f64 - full - start) / 11_297_600.0;
    assert!(rtts.abs() < 1.0, "{rtts} round trips off");
    assert_eq!(pair.totals().retransmitted, 0);
}

#[test]
fn two_flows_share_their_receivers_line() {
    let make = default();
    let mut pair = Pair::star(3, &make, CODEC).without_codec();
    pair.message(START, A, C, 100_000_000);
    pair.message(Time(START.0 + 200_000_000), B, C, 100_000_000);
    pair.run_until(Time(START.0 + 2_000_000_000));
    let (a, b) = (pair.totals_of(A).data_sent, pair.totals_of(B).data_sent);
    pair.run_until(Time(START.0 + 12_000_000_000));
    let (a, b) = (
        pair.totals_of(A).data_sent - a,
        pair.totals_of(B).data_sent - b,
    );
    // 10 ms hold 7706 pairs of credit and frame.
    assert!((7_600..=7_710).contains(&(a + b)), "{a} + {b}");
    assert!(a.abs_diff(b) * 10 < a + b, "{a} against {b}");
    assert_eq!(pair.totals().retransmitted, 0, "no data was lost");
}

#[test]
fn thirty_two_flows_into_one_host_lose_no_data_and_end() {
    for &(name, _) in params::PROFILES {
        let make = profile(name);
        let mut pair = Pair::star(33, &make, CODEC)
            .named(name)
            .buffer(Bytes(20_000));
        for n in 1..33 {
            pair.message(START, HostId(n), A, 20_000);
        }
        pair.run();
        let totals = pair.totals();
        assert_eq!(totals.retransmitted, 0, "{name}");
        assert_eq!(
            totals.credits_received,
            totals.credits_sent - totals.credits_dropped,
            "{name}"
        );
        assert_eq!(
            totals.credits_received,
            totals.data_sent + totals.credits_wasted,
            "{name}"
        );
    }
}

#[test]
fn naive_credits_never_slow_down() {
    let make = made(Params {
        controller: feedback::Controller::Naive,
        ..Params::default()
    });
    let mut pair = Pair::star(3, &make, CODEC);
    pair.message(START, A, C, 1_000_000);
    pair.message(START, B, C, 1_000_000);
    pair.run();
    let Totals {
        credits_sent,
        credits_dropped,
        ..
    } = pair.totals();
    let share = credits_dropped as f64 / credits_sent as f64;
    assert!(
        (0.40..0.60).contains(&share),
        "half of the credits are too many: {share}"
    );
}

#[test]
fn without_a_shaper_credits_wait_in_line_with_data() {
    let make = made(Params {
        nic_shaper: false,
        ..Params::default()
    });
    let mut pair = Pair::star(3, &make, CODEC);
    pair.message(START, A, C, 1_000_000);
    pair.message(START, B, C, 1_000_000);
    pair.run();
    assert_eq!(pair.totals().credits_dropped, 0);
}

#[test]
fn a_host_that_takes_its_time_keeps_credits_in_order() {
    for text in [
        r#"host_delay = "1us""#,
        r#"host_delay = { uniform = ["0.9us", "6.2us"] }"#,
        r#"host_delay = { quantiles = ["0.9us", "1.2us", "6.2us"] }"#,
    ] {
        let params = EXPRESSPASS.read(&text.parse().unwrap()).unwrap();
        let make = made(params);
        let mut pair = Pair::new(&make, CODEC).named(text);
        pair.message(START, A, B, 300_000);
        pair.run();
        // Credits overtaken by others would be counted as lost and slow the flow down.
        let end = pair.events().iter().find_map(|&(at, _, event)| {
            matches!(event, Event::Received { .. }).then(|| at.since(START))
        });
        assert!(end.unwrap() < Span::us(420), "{text}: {end:?}");
        assert_eq!(pair.totals().duplicates, 0, "{text}");
    }
}

// Peers that are dead, forgetful or lie.
