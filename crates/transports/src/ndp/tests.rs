//! Conversations as ladders, and the pieces that decide.

use super::host::OWED_MAX;
use super::ways::{WORSE, Ways};
use super::*;
use model::{ConnId, HostId, Lifetime, Rng, stream};
use parts::Described;
use testkit::{A, Alone, B, Pair};
use units::{Span, Time};

mod curves;
mod early;
mod line;

fn params(text: &str) -> Params {
    NDP.read(&text.parse().unwrap()).unwrap()
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    converse(&params(text), hosts, script)
}

/// The same with parameters that were read.
fn converse(params: &Params, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let make = |config: &EndpointConfig| Factory::make(params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC)
        .named("ndp")
        .encap(Encap::PAPER.with_mtu(9000).unwrap());
    script(&mut pair);
    pair.run();
    pair.ladder()
}

#[test]
fn a_first_window_leaves_unasked_and_pulls_bring_the_rest() {
    let found = ladder("window = 3", 2, |pair| {
        pair.message(Time::ZERO, A, B, 50_000);
        pair.trim(("DATA", 2));
    });
    testkit::same(&found, testkit::shown(include_str!("README.md")));
}

#[test]
fn what_is_sent_back_waits_for_a_pull_unless_nobody_pulls() {
    let found = ladder("window = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 30_000);
        // The first of both is alone with nothing on its way when the second comes back, too.
        pair.send_back(("DATA", 1));
        pair.send_back(("DATA", 2));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn what_is_sent_back_beside_arrivals_takes_another_way_at_once() {
    let found = ladder("window = 4", 2, |pair| {
        pair.message(Time::ZERO, A, B, 60_000);
        pair.send_back(("DATA", 4));
    });
    insta::assert_snapshot!(found);
}

/// Two messages whose first windows of three are trimmed: six pulls wait.
fn both_trimmed(pair: &mut Pair<'_>, length: u64) {
    pair.message(Time::ZERO, A, B, length);
    pair.message(Time::ZERO, HostId(2), B, length);
    for n in 1..=6 {
        pair.trim(("DATA", n));
    }
}

#[test]
fn two_senders_are_pulled_in_turn() {
    let found = ladder("window = 3", 3, |pair| {
        both_trimmed(pair, 40_000);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_preferred_sender_is_pulled_first() {
    let found = ladder("window = 3\nprefer = 2", 3, |pair| {
        both_trimmed(pair, 40_000);
    });
    let at = |what: &str| found.find(what).unwrap_or_else(|| panic!("{found}"));
    assert!(
        at("B received message 0 of #2") < at("B received message 0 of #1"),
        "{found}"
    );
    // Its frames follow each other as fast as the line allows, once it is known.
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_pull_is_made_good_by_the_next() {
    let found = ladder("window = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 80_000);
        pair.lose(("ACK", 2));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_packet_leaves_again_after_the_last_resort() {
    let found = ladder("window = 3", 2, |pair| {
        pair.message(Time::ZERO, A, B, 50_000);
        pair.lose(("DATA", 2));
    });
    insta::assert_snapshot!(found);
}

/// The moment in microseconds at which the first line of a ladder behind `from` that holds `what` says it happened.
fn moment(ladder: &str, from: f64, what: &str) -> f64 {
    let mut lines = ladder.lines().filter(|line| line.contains(what));
    let at = |line: &str| line.trim().split("us").next().unwrap().parse().unwrap();
    let found = lines.find_map(|line| Some(at(line)).filter(|&at| at > from));
    found.unwrap_or_else(|| panic!("no {what} behind {from} us:\n{ladder}"))
}

#[test]
fn a_lost_last_pull_is_asked_about() {
    let mut sent = 0;
    let found = ladder("window = 1\nrto = \"1ms\"", 3, |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
        pair.message(Time::ZERO, HostId(2), B, 8_000);
        // One is pulled by the answer, the other by a pull of its own, which is lost.
        pair.trim(("DATA", 1));
        pair.trim(("DATA", 2));
        pair.lose(("PULL", 1));
        pair.run();
        sent = pair.totals().data_sent;
    });
    let asked = moment(&found, 0.0, "END");
    let heard = moment(&found, 0.0, "NACK");
    // Four times the `rto` of 1 ms after the head was heard of, at most a round trip after it was said.
    assert!((4_000.0..4_030.0).contains(&(asked - heard)), "{found}");
    assert!(moment(&found, asked, "PULL") < asked + 20.0, "{found}");
    assert_eq!(sent, 4, "a question is no data: {found}");
    insta::assert_snapshot!(found);
}

/// A sender may have fewer pulls coming than it thinks: what its receiver has of it twice brings none.
#[test]
fn a_sender_without_pulls_is_given_one_when_it_asks() {
    let found = ladder("window = 2\nrto = \"100us\"", 2, |pair| {
        pair.message(Time::ZERO, A, B, 40_000);
        pair.lose(("ACK", 1));
        for n in 2..=15 {
            pair.trim(("DATA", n));
        }
        pair.send_back(("DATA", 17));
        pair.send_back(("DATA", 18));
    });
    assert!(found.contains("END"), "{found}");
    insta::assert_snapshot!(found);
}

fn alone(me: HostId, text: &str) -> Alone<Host> {
    let config = EndpointConfig::new(me, Rate::gbps(10), Encap::PAPER);
    Alone::new(Host::new(&params(text), &config))
}

/// What leaves next, in words.
fn leaves(alone: &mut Alone<Host>) -> Option<String> {
    alone.poll().map(|packet| header::CODEC.describe(&packet))
}

/// So it is behind a preferred sender: the receiver answers, and pulls others.
#[test]
fn who_is_answered_waits_for_a_pull_and_who_is_not_gives_up() {
    let mut a = alone(A, "window = 1\ntimeout = \"50ms\"\nlinger = \"100ms\"");
    let (conn, size) = (ConnId(1), Encap::PAPER.wire(0));
    a.call(|host, cx| {
        host.connect(cx, conn, B, Lifetime::OneMessage);
        host.send(cx, conn, 1000);
    });
    assert!(leaves(&mut a).is_some_and(|data| data.starts_with("DATA")));
    let (at, pull, way) = (0, 0, 0);
    let nack = header::Nack { at, pull, way }.packet(A, conn, size);
    a.hear(&nack);
    let mut asked = Vec::new();
    while a.events.is_empty() {
        a.now = a.host.deadline();
        assert!(a.now < Time::NEVER);
        a.call(Endpoint::on_deadline);
        while let Some(said) = leaves(&mut a) {
            assert!(said.starts_with("END"), "{said}");
            asked.push(a.now);
            if a.now < Time(200_000_000_000) {
                let upto = 0;
                let pull = header::Pull { upto, pull, way }.packet(A, conn, size);
                a.hear(&pull);
            }
        }
    }
    let far = asked.windows(2).map(|two| two[1].since(two[0])).max();
    assert_eq!(far, Some(Span(12_500_000_000)), "four fit into the timeout");
    assert!(matches!(a.events[0], model::Event::Refused { .. }));
    let last = asked.iter().rfind(|&&at| at < Time(200_000_000_000));
    let waited = a.now.since(*last.unwrap());
    assert_eq!(waited, Span(50_000_000_000), "{asked:?}");
}

/// A liar may say that it has been cut as often as it likes.
#[test]
fn no_message_is_owed_more_pulls_than_a_sender_has_frames() {
    let mut b = alone(B, "");
    let data = header::Data {
        offset: 0,
        length: 1460,
        pull: 0,
        way: 0,
        lifetime: Lifetime::OneMessage,
        answer: false,
        end: false,
    };
    let mut head = data.packet(B, ConnId(1), Encap::PAPER.wire(1460));
    head.trim(84);
    for _ in 0..OWED_MAX + 100 {
        b.hear(&head);
    }
    let slot = b.host.conns.find(ConnId(1)).unwrap();
    assert_eq!(b.host.conns[slot].rx.owed, OWED_MAX);
    assert_eq!(b.host.counts.pulls_dropped, 99, "and one has left");
}

/// Nothing that is no first word opens a connection: it would wait for ever, as nobody's alarm rings.
#[test]
fn a_later_message_of_a_stranger_opens_nothing() {
    let lifetime = Lifetime::Persistent;
    for ordinal in [1, 2, 1 << 15, u16::MAX] {
        let end = header::End {
            at: 0,
            ordinal,
            lifetime,
            answer: false,
            cut: true,
            way: 0,
        };
        let probe = header::Probe {
            ordinal,
            payload: 1460,
            first: 0,
            stride: 1,
            count: 1,
            way: 0,
            lifetime,
            answer: false,
        };
        let size = Encap::PAPER.wire(0);
        let config = EndpointConfig::new(B, Rate::gbps(10), Encap::PAPER);
        let bursts = AEOLUS.read(&Table::new()).unwrap();
        let mut b = Alone::new(Host::new(&bursts, &config));
        for (conn, packet) in [
            (1, end.packet(B, ConnId(1), size)),
            (2, probe.packet(B, ConnId(2), size)),
        ] {
            b.hear(&packet);
            assert_eq!(
                b.host.conns.len(),
                0,
                "message {ordinal} of connection {conn}"
            );
            assert_eq!(leaves(&mut b).as_deref(), Some("GONE, says the receiver"));
        }
    }
}

#[test]
fn a_question_and_its_answer_need_one_acknowledgement() {
    let found = ladder("", 2, |pair| {
        pair.exchange(Time::ZERO, A, B, [1_000, 2_000]);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn an_answer_says_that_the_question_has_arrived() {
    let found = ladder("", 2, |pair| {
        pair.exchange(Time::ZERO, A, B, [1_000, 2_000]);
        pair.lose(("DONE", 1));
    });
    let done = moment(&found, 0.0, "A is done with message 0");
    assert_eq!(
        done.to_bits(),
        moment(&found, 0.0, "A received message 0").to_bits(),
        "{found}"
    );
}

#[test]
fn a_cancelled_message_ends_with_what_had_left() {
    let found = ladder("window = 3", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 200_000);
        pair.cancel(Time(30_000_000), conn, A);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_sender_that_forgot_says_so_and_the_receiver_gives_up() {
    let found = ladder("window = 3", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.forget(Time(30_000_000), conn, A);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_receiver_that_is_told_to_forget_says_so() {
    insta::assert_snapshot!(ladder("window = 3", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 50_000);
        pair.forget(Time(14_000_000), conn, B);
    }));
}

/// That word is lost. The frames of the first window that are still on their way open the message again, all of its
/// frames are acknowledged, by one life or the other, and no question brings the end nearer.
#[test]
fn a_sender_whose_receiver_misses_what_it_had_gives_up() {
    let found = ladder("window = 3\ntimeout = \"50ms\"", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 25_000);
        pair.forget(Time(14_000_000), conn, B);
        pair.lose(("GONE", 1));
    });
    let asked = found.matches("  END of message 0").count();
    assert!((2..40).contains(&asked), "{asked} questions\n{found}");
    assert!(found.contains("A was refused"), "{found}");
}

#[test]
fn every_way_has_its_turn_and_no_order_repeats() {
    let (mut ways, mut rng) = (Ways::default(), Rng::stream(1, stream::TEST, 1));
    let rounds: Vec<Vec<u16>> = (0..50)
        .map(|_| {
            (0..16)
                .map(|_| ways.next(&mut rng, (16, Spray::Permutation), None))
                .collect()
        })
        .collect();
    for round in &rounds {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
    }
    assert!(rounds.windows(2).all(|pair| pair[0] != pair[1]));
    // What left before takes another, whatever was drawn before.
    for spray in [Spray::Permutation, Spray::Random] {
        for count in [2, 3] {
            for not in [0, 1] {
                let mut next = || ways.next(&mut rng, (count, spray), Some(not));
                assert!((0..100).all(|_| next() != not));
            }
        }
    }
}

/// Share of 10,000 packets on the last of `count` ways, where so many of 100 on it and on the others are trimmed; every
/// second is one that left before on way `not`.
fn share_of_last(count: u16, (own, others): (u64, u64), counts: u16, not: Option<u16>) -> f64 {
    let (mut ways, mut rng) = (Ways::default(), Rng::stream(1, stream::TEST, 2));
    let mut taken = 0;
    for n in 0..10_000 {
        let not = not.filter(|_| n % 2 == 0);
        let way = ways.next(&mut rng, (count, Spray::Permutation), not);
        let last = way + 1 == count;
        taken += u32::from(last);
        if rng.below(100) < if last { own } else { others } {
            ways.bad(way, counts);
        } else {
            ways.good(way);
        }
        ways.check();
    }
    f64::from(taken) / 10_000.0
}

#[test]
fn a_bad_way_is_left_out_and_tried_again() {
    let of_eight = |own, others, counts| share_of_last(8, (own, others), counts, None);
    let fair = 0.125..0.126;
    assert!(fair.contains(&of_eight(0, 0, 1)));
    // Few are trimmed, or as many on all ways: an incast, and no bad way.
    assert!(fair.contains(&of_eight(20, 0, 1)));
    assert!(fair.contains(&of_eight(60, 60, 1)));
    let bad = of_eight(60, 1, 1);
    assert!((0.01..0.06).contains(&bad), "{bad}");
    // What comes back counts more.
    let returned = of_eight(20, 0, WORSE);
    assert!((0.01..0.09).contains(&returned), "{returned}");
}

#[test]
fn a_dead_way_is_tried_once_in_many_rounds_however_few_ways_there_are() {
    for count in [2, 3, 4, 8] {
        let share = share_of_last(count, (100, 0), WORSE, None);
        // Until it is judged, and then once in 33 rounds.
        let most = 0.006 + 1.25 / (33.0 * f64::from(count - 1));
        assert!(share > 0.0 && share < most, "{share} of {count}");
    }
    // The one that is left is good for what was cut on it.
    let share = share_of_last(2, (100, 0), WORSE, Some(0));
    assert!(share < 0.06, "{share}");
}

#[test]
fn parameters_survive_their_own_table_and_refuse_nonsense() {
    for text in [
        "",
        "profile = \"htsim\"",
        "window = 23\nprefer = 7\ntrim = \"256B\"",
    ] {
        let read = params(text);
        assert_eq!(NDP.read(&read.resolved()), Ok(read));
    }
    let refusals: String = [
        "trim = \"63B\"",
        "trim = \"257B\"",
        "window = 0",
        "ports = \"drop\"",
        "linger = \"1s\"",
    ]
    .map(|text| NDP.read(&text.parse().unwrap()).unwrap_err().to_string() + "\n")
    .concat();
    insta::assert_snapshot!(refusals);
}

#[test]
fn packets_of_a_message_take_several_ways_unless_told_otherwise() {
    let sprays = |text: &str| Factory::sprays(&params(text));
    assert!(sprays("") && sprays("ways = \"random\"") && !sprays("ways = \"flow\""));
}

#[test]
fn ports_that_drop_are_refused_unless_asked_for() {
    let tail = params("ports = \"drop-tail\"");
    let port = Factory::fabric(&tail, Rate::gbps(10), Encap::PAPER).port(units::Bytes(384_500));
    let switch = SwitchSpec::default();
    let refusal = tail.suits(&port, &switch).unwrap_err().to_string();
    insta::assert_snapshot!(refusal);
    let bold = params("ports = \"drop-tail\"\nallow_unsupported = true");
    assert_eq!(bold.suits(&port, &switch), Ok(()));
    let trims = Factory::fabric(&params(""), Rate::gbps(10), Encap::PAPER).port(units::Bytes(1));
    assert_eq!(
        (trims.check(), params("").suits(&trims, &switch)),
        (Ok(()), Ok(()))
    );
}

#[test]
fn a_port_holds_eight_frames_and_as_many_bytes_of_headers() {
    use model::intent::Limit;
    let nine = Encap::PAPER.with_mtu(9000).unwrap();
    let limits = |text: &str| -> Vec<_> {
        let own = port::fabric(&params(text), nine).own.unwrap();
        own.queues.iter().map(|queue| queue.limit).collect()
    };
    // 8 frames of 9038 B are 860 headers of 84 B on the line.
    assert_eq!(limits(""), [Limit::Packets(8), Limit::Packets(860)]);
    assert_eq!(
        limits("trim = \"256B\""),
        [Limit::Packets(8), Limit::Packets(261)]
    );
}

#[test]
fn turns_by_packets_become_an_order_beside_others() {
    use model::Class;
    use model::intent::{Over, Share};
    let own = Factory::fabric(&params(""), Rate::gbps(10), Encap::PAPER).port(units::Bytes(0));
    let fifo = PortSpec::fifo(units::Bytes(100_000));
    let both = [
        (1, fifo.clone().beside(1, &own, Share::Bytes(50))),
        (0, own.clone().beside(1, &fifo, Share::Bytes(50))),
    ];
    for (lane, port) in both {
        let place = |class, trimmed| port.queue_of(lane, class, 0, trimmed).unwrap();
        let trims = |place: usize| matches!(port.queues[place].over, Over::Trim { .. });
        let data =
            [Class::Scheduled, Class::Unscheduled, Class::Plain].map(|class| place(class, false));
        assert!(data.iter().all(|&place| trims(place)));
        for class in Class::ALL {
            // What overtakes stands before data, in the same group.
            let head = place(class, true);
            assert!(
                !trims(head) && head < data[0],
                "{class:?}: {head} of {data:?}"
            );
            assert_eq!(port.queues[head].group, port.queues[data[0]].group);
        }
        assert!(!trims(place(Class::Credit, false)) && place(Class::Control, false) < data[0]);
        let other = port.queue_of(1 - lane, Class::Plain, 0, false).unwrap();
        assert!(!trims(other) && port.queues[other].group != port.queues[data[0]].group);
        assert!(
            params("")
                .suits(&lane_of(&port, lane), &SwitchSpec::default())
                .is_ok()
        );
        assert!(
            params("")
                .suits(&lane_of(&port, 1 - lane), &SwitchSpec::default())
                .is_err()
        );
    }
}

/// The queues of one lane, as a transport is asked about them.
fn lane_of(port: &PortSpec, lane: u8) -> PortSpec {
    let mut own = port.clone();
    own.queues
        .retain(|queue| queue.takes.lanes >> lane & 1 == 1);
    own
}

#[test]
fn pulls_keep_an_even_pace_unless_told_otherwise_and_their_mean_in_any_case() {
    let config = EndpointConfig::new(B, Rate::gbps(10), Encap::PAPER);
    let gaps = |text: &str| {
        let settings = settings::Settings::new(&params(text), &config);
        let mut rng = Rng::stream(1, stream::TEST, 9);
        let gaps: Vec<u64> = (0..20_000).map(|_| settings.next_gap(&mut rng).0).collect();
        (gaps, rng.next_u64())
    };
    let (even, after) = gaps("");
    let frame = even[0];
    assert!(even.iter().all(|&gap| gap == frame));
    let untouched = Rng::stream(1, stream::TEST, 9).next_u64();
    assert_eq!(after, untouched, "no chance where there is nothing to draw");
    for (jitter, tenths) in [("0.3", 3), ("1.0", 10)] {
        let (drawn, _) = gaps(&format!("pull_jitter = {jitter}"));
        let (low, high) = (frame * (10 - tenths) / 10, frame * (10 + tenths) / 10);
        assert!(drawn.iter().all(|gap| (low..=high).contains(gap)));
        let near = |found: u64, wanted: u64| found.abs_diff(wanted) < frame / 100;
        let (least, most) = (drawn.iter().min(), drawn.iter().max());
        assert!(near(*least.unwrap(), low) && near(*most.unwrap(), high));
        assert!(near(drawn.iter().sum::<u64>() / 20_000, frame), "{jitter}");
    }
}
