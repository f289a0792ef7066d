//! Conversations as ladders, what a receiver keeps out, and whether that fills its line.

use super::*;
use model::{ConnId, HostId, Signal};
use parts::Described;
use testkit::{A, B, Pair};
use units::{Rate, Time};

const C: HostId = HostId(2);

fn params(text: &str) -> Params {
    SIRD.read(&text.parse().unwrap()).unwrap()
}

/// A conversation that `script` writes down, between so many hosts.
fn with<T>(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>) -> T) -> T {
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC).named("sird");
    script(&mut pair)
}

/// The ladder of one that comes to its end.
fn ladder(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    with(text, hosts, |pair| {
        script(pair);
        pair.run();
        pair.ladder()
    })
}

/// When the first line of a ladder that says `what` is, in microseconds.
#[track_caller]
fn when(ladder: &str, what: &str) -> f64 {
    let line = ladder.lines().find(|line| line.contains(what));
    let line = line.unwrap_or_else(|| panic!("no {what} in\n{ladder}"));
    let time = line.trim_start().split("us").next();
    time.and_then(|time| time.parse().ok())
        .expect("a line begins with its time")
}

/// A round trip of two frames.
const SMALL: &str = "bdp = \"3076B\"";

#[test]
fn a_short_message_leaves_unasked_and_a_long_one_for_credit() {
    let params = params(SMALL);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let found = testkit::ladder(&make, &header::CODEC, |pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.message(Time(20_000_000), A, B, 6_000);
    });
    testkit::same(&found, testkit::shown(include_str!("README.md")));
}

/// The order in which its pieces are lost says what repairs it.
#[test]
fn what_is_lost_gets_credit_again() {
    let script = |pair: &mut Pair<'_>| {
        pair.message(Time::ZERO, A, B, 20_000);
        pair.lose(("DATA", 3));
    };
    let found = ladder("unasked = 0", 2, script);
    let credits = found.matches("CREDIT").count();
    assert_eq!(credits, 15, "one more than frames\n{found}");
    assert!(
        when(&found, "B received") < 200.0,
        "a hole is seen by what came behind it\n{found}"
    );
    insta::assert_snapshot!(found);
}

#[test]
fn a_hole_that_is_lost_again_is_waited_for_twice_as_long() {
    let found = ladder("unasked = 0\nreorder = \"20us\"", 2, |pair| {
        pair.message(Time::ZERO, A, B, 300_000);
        pair.lose(("DATA 1460..", 1));
        pair.lose(("DATA 1460..", 2));
        pair.lose(("DATA 1460..", 3));
    });
    let times: Vec<f64> = found
        .lines()
        .filter(|line| line.contains("for 1460.."))
        .map(|line| {
            line.trim_start()
                .split("us")
                .next()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits.len(), 3, "{times:?}\n{found}");
    assert!(
        (waits[1] - 40.0).abs() < 3.0 && (waits[2] - 80.0).abs() < 3.0,
        "{waits:?}"
    );
}

#[test]
fn the_last_frame_is_missed_by_silence() {
    let found = ladder("unasked = 0", 2, |pair| {
        pair.message(Time::ZERO, A, B, 6_000);
        pair.lose(("DATA", 5));
    });
    assert!(
        when(&found, "B received") > 1_000.0,
        "after `retry`\n{found}"
    );
    insta::assert_snapshot!(found);
}

#[test]
fn a_message_that_left_unasked_and_is_lost_is_announced() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("DATA", 1));
        pair.lose(("DATA", 2));
    });
    assert!(when(&found, "REQUEST") > 2_000.0, "after `rto`\n{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_acknowledgement_is_asked_for() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("ACK", 1));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_question_and_its_answer_pass_without_a_request() {
    let found = ladder("", 2, |pair| {
        pair.exchange(Time::ZERO, A, B, [1_000, 2_000]);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_cancelled_message_ends_with_what_had_left() {
    let found = ladder(SMALL, 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 200_000);
        pair.cancel(Time(20_000_000), conn, A);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_receiver_that_forgot_says_so_and_the_sender_gives_up() {
    let found = ladder(SMALL, 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.forget(Time(20_000_000), conn, B);
    });
    assert!(found.contains("GONE, says the receiver"), "{found}");
    insta::assert_snapshot!(found);
}

/// What A may send unasked to one host is a `pair`, over all of its messages.
#[test]
fn what_leaves_unasked_is_bounded_by_receiver() {
    let sent = |to: fn(u32) -> HostId| {
        with("bdp = \"15380B\"", 4, |pair| {
            for n in 0..3 {
                pair.message(Time::ZERO, A, to(n), 14_600);
            }
            // Before any credit.
            pair.run_until(Time(30_000_000));
            pair.count(|p| p.class() == model::Class::Unscheduled)
        })
    };
    // Ten frames of the first, and one of each other; or ten of each, as far as 30 us are enough for them.
    assert_eq!(sent(|_| B), 12);
    assert!(sent(|n| HostId(1 + n)) > 20);
}

/// Credit that is out: what was given, as a witness sees it leave, less the data that has come.
#[test]
fn a_receiver_keeps_its_budget_and_each_sender_its_part() {
    for (text, pair_frames, all_frames) in [
        ("unasked = 0\nbdp = \"15380B\"", 10, 15),
        (
            "unasked = 0\nbdp = \"15380B\"\nbudget = 2.0\npair = 0.5",
            5,
            20,
        ),
    ] {
        // Nothing comes back: what leaves is what may be out.
        let given = with(text, 6, |pair| {
            for sender in 1..6 {
                pair.message(Time::ZERO, HostId(sender), A, 100_000);
                pair.down(HostId(sender), Time(12_000_000), Time(900_000_000));
            }
            pair.run_until(Time(800_000_000));
            (1..6)
                .map(|to| pair.count(|p| p.class() == model::Class::Credit && p.to() == HostId(to)))
                .collect::<Vec<_>>()
        });
        assert!(given.iter().all(|&n| n <= pair_frames), "{given:?}");
        assert_eq!(given.iter().sum::<u64>(), all_frames, "{given:?}");
    }
}

/// Each of `receivers` has long messages of `senders` that all of them share, and one of a sender of its own. The part of
/// its line that the first receiver got, between 3 ms and 5 ms.
fn of_the_line(text: &str, senders: u32, receivers: u32) -> f64 {
    let hosts = senders + 2 * receivers;
    with(text, hosts as usize, |pair| {
        for to in (senders..senders + receivers).map(HostId) {
            for from in (0..senders).chain([to.0 + receivers]) {
                pair.message(Time::ZERO, HostId(from), to, 30_000_000);
            }
        }
        let (from, until) = (Time(3_000_000_000), Time(5_000_000_000));
        pair.run_until(from);
        let before = came(pair, HostId(senders));
        pair.run_until(until);
        let line = Rate::gbps(10).bytes_in(until.since(from)).get();
        (came(pair, HostId(senders)) - before) as f64 / line as f64
    })
}

/// Wire bytes of data that left for a host.
fn came(pair: &Pair<'_>, to: HostId) -> u64 {
    let mut bytes = 0;
    pair.count(|p| {
        if p.to() == to
            && matches!(
                p.class(),
                model::Class::Scheduled | model::Class::Unscheduled
            )
        {
            bytes += u64::from(p.size);
        }
        false
    });
    bytes
}

/// A budget of a round trip and what congested senders may keep fills a receiver's line; where they keep whatever they
/// get, or the budget is less than a round trip, it does not. [sird s4.2]
#[test]
fn a_budget_of_a_round_trip_and_a_threshold_fills_the_line_of_a_receiver() {
    let turns = "receiver = \"turns\"\nshortest = 0\n";
    for (senders, receivers) in [(1, 4), (1, 8), (3, 8)] {
        let part = |text: &str| of_the_line(&format!("{turns}{text}"), senders, receivers);
        let full = part("");
        let deaf = part("sender_threshold = 1000");
        let small = part("budget = 0.7\npair = 0.7");
        let what =
            format!("{senders} for {receivers}: {full:.3}, deaf {deaf:.3}, small {small:.3}");
        println!("{what}");
        assert!(full > 0.97, "{what}");
        assert!(deaf < full - 0.05, "{what}");
        assert!(small < full - 0.05, "{what}");
    }
}

/// A sends to several hosts: what it has of all is more than it can use, and it says so; with one message alone it does
/// not, where its line is as fast as that of the receiver.
#[test]
fn a_sender_says_that_it_has_too_much() {
    let says = |text: &str, messages: u32| {
        with(text, 5, |pair| {
            for to in 1..=messages {
                pair.message(Time::ZERO, A, HostId(to), 1_000_000);
            }
            pair.run_until(Time(1_000_000_000));
            pair.ladder().matches("congested").count()
        })
    };
    assert_eq!(says("sender_threshold = 0", 1), 0);
    assert!(says("", 3) > 50);
    assert_eq!(says("sender_threshold = 1000", 3), 0);
}

/// A has one message, and its receiver takes itself to be so many times as fast: it holds no more than its threshold.
#[test]
fn a_slow_sender_says_so_of_one_message() {
    let says = |text: &str, times: u64| {
        let params = params(text);
        let make = |config: &EndpointConfig| {
            let own = if config.host == B { times } else { 1 };
            let config = config.clone().with(|told| told.rate.0 *= own);
            Factory::make(&params, &config)
        };
        let mut pair = Pair::new(&make, &header::CODEC).named("sird");
        pair.message(Time::ZERO, A, B, 2_000_000);
        pair.run_until(Time(1_500_000_000));
        pair.ladder().matches("congested").count()
    };
    assert_eq!(says("", 1), 0);
    assert!(says("", 2) > 50 && says("", 10) > 100);
    assert_eq!(says("sender_threshold = 1000", 10), 0);
}

/// Half of the line is the shortest message's, and receivers take turns for the rest.
#[test]
fn a_line_is_half_the_shortest_and_half_for_all() {
    let parts = |text: &str| {
        with(text, 4, |pair| {
            for (to, length) in [(1, 6_000_000), (2, 3_000_000), (3, 9_000_000)] {
                pair.message(Time::ZERO, A, HostId(to), length);
            }
            pair.run_until(Time(2_000_000_000));
            let all = [1, 2, 3].map(|to| came(pair, HostId(to)) as f64);
            all.map(|of| of / all.iter().sum::<f64>())
        })
    };
    let deaf = "sender_threshold = 1000\npair = 1.5\n";
    let near = |found: [f64; 3], wanted: [f64; 3]| {
        let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.02);
        assert!(close, "{found:?}, not {wanted:?}");
    };
    near(parts(deaf), [1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0]);
    near(parts(&format!("{deaf}shortest = 0")), [1.0 / 3.0; 3]);
    near(parts(&format!("{deaf}shortest = 1")), [0.0, 1.0, 0.0]);
}

/// A sender is gone; what it has out comes back, and the other gets the line.
#[test]
fn credit_of_a_silent_sender_comes_back() {
    let found = with("unasked = 0", 3, |pair| {
        pair.message(Time::ZERO, A, C, 1_000_000);
        pair.message(Time::ZERO, B, C, 20_000_000);
        pair.down(A, Time(30_000_000), Time(9_000_000_000));
        pair.run_until(Time(3_000_000_000));
        let before = came(pair, C);
        pair.run_until(Time(5_000_000_000));
        (came(pair, C) - before) as f64 / 2_500_000.0
    });
    assert!(found > 0.98, "the other has {found} of the line");
}

/// The shorter message gets all the credit, or each its turn.
#[test]
fn the_shortest_goes_first_or_all_take_turns() {
    let both = |text: &str| {
        with(text, 3, |pair| {
            pair.message(Time::ZERO, A, C, 600_000);
            pair.message(Time(3_000_000), B, C, 300_000);
            pair.run_until(Time(200_000_000));
            [A, B].map(|to| pair.count(|p| p.class() == model::Class::Credit && p.to() == to))
        })
    };
    let [long, short] = both("unasked = 0\npair = 1.5");
    assert!(long < 20 && short > 100, "{long} and {short} credits");
    let [long, short] = both("unasked = 0\npair = 1.5\nreceiver = \"turns\"");
    assert!(long.abs_diff(short) < 20, "{long} and {short} credits");
}

/// Ends whose frames are not of one size: credit is for the shorter ones, and no frame is sent twice.
#[test]
fn frames_of_two_sizes_cost_nothing() {
    let params = params("unasked = 0");
    for payloads in [[1460, 1000], [1000, 1460], [1460, 8960]] {
        let make = |config: &EndpointConfig| {
            let payload = payloads[config.host.0 as usize % 2];
            let config = config.clone().with(|own| own.encap.payload_max = payload);
            Factory::make(&params, &config)
        };
        let mut pair = Pair::new(&make, &header::CODEC)
            .named("sird")
            .without_codec();
        pair.message(Time::ZERO, A, B, 500_000);
        pair.run();
        let totals = pair.totals();
        assert_eq!(
            (totals.retransmitted, totals.duplicates, totals.timeouts),
            (0, 0, 0)
        );
        assert!(when(&pair.ladder(), "B received") < 700.0, "{payloads:?}");
    }
}

/// With a gate closed for somebody else a line serves the shortest.
#[test]
fn a_pause_of_another_flow_stops_nothing() {
    let found = ladder("", 3, |pair| {
        pair.signal(Time::ZERO, A, Signal::PauseFlow(ConnId(99)));
        pair.message(Time(1_000), A, B, 50_000);
        pair.message(Time(1_000), A, C, 30_000);
    });
    assert!(
        when(&found, "C received") < when(&found, "B received"),
        "{found}"
    );
}

/// Who says that it takes the whole stream unasked holds a `pair`, and for `retry` alone.
#[test]
fn a_liar_holds_no_more_than_a_pair() {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
    let mut alone = testkit::Alone::new(Host::new(&params("bdp = \"15380B\""), &config));
    let data = header::Data {
        offset: 0,
        length: 1,
        number: u32::MAX,
        whole: true,
        first: true,
        lifetime: model::Lifetime::Persistent,
        answer: false,
        congested: false,
    };
    let mut packet = data.packet(A, ConnId(7), 84);
    packet.set_class(model::Class::Unscheduled);
    alone.hear(&packet);
    // What has come is no more out.
    assert_eq!(alone.host.crediting.used, 15_380 - 84);
    assert!(alone.poll().is_none());
    alone.now = Time(1).after(Span::ms(1));
    alone.call(Endpoint::on_deadline);
    // One frame at a time, until something comes.
    assert_eq!(alone.host.crediting.used, 1538);
    let credits = std::iter::from_fn(|| alone.poll()).count();
    assert_eq!(credits, 1);
}

#[test]
fn ports_mark_where_they_are_to() {
    let rate = [100, 400].map(Rate::gbps);
    let marks =
        |params: &Params| rate.map(|rate| params.mark_spec(rate, Encap::PAPER).map(|m| m.max.0));
    assert_eq!(marks(&Params::DEFAULT), [Some(126_116); 2]);
    let artefact = Params {
        hosts: Some(rate[0]),
        ..Params::ARTEFACT
    };
    assert_eq!(marks(&artefact), [None, Some(126_116)]);
}

#[test]
fn parameters_survive_their_own_table_and_refuse_nonsense() {
    for text in [
        "",
        "profile = \"artefact\"",
        "mark = \"90kB\"\nreorder = \"9us\"",
    ] {
        let read = params(text);
        assert_eq!(SIRD.read(&read.resolved()), Ok(read));
    }
    let refusals: String = [
        "budget = 0",
        "pair = 2",
        "receiver = \"longest\"",
        "linger = \"1s\"",
        "levels = \"three\"",
    ]
    .map(|text| SIRD.read(&text.parse().unwrap()).unwrap_err().to_string() + "\n")
    .concat();
    insta::assert_snapshot!(refusals);
}
