//! Conversations as ladders, and whom a receiver gives its tokens.

mod curves;

use super::header::Rts;
use super::receiver::{Receiver, Waits};
use super::settings::Settings;
use super::*;
use model::{ConnId, Encap, HostId, Lifetime, Signal};
use parts::Described;
use parts::arriving::Came;
use testkit::{A, B, Pair};
use units::{Rate, Time};

fn params(text: &str) -> Params {
    PHOST.read(&text.parse().unwrap()).unwrap()
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC).named("phost");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

/// Where something stands in a ladder.
#[track_caller]
fn at(ladder: &str, what: &str) -> usize {
    let place = ladder.find(what);
    place.unwrap_or_else(|| panic!("no {what} in\n{ladder}"))
}

#[test]
fn a_message_is_announced_begins_unasked_and_goes_on_for_tokens() {
    let found = ladder("free = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
    });
    testkit::same(&found, testkit::shown(include_str!("README.md")));
}

#[test]
fn a_short_message_needs_no_tokens() {
    let found = ladder("profile = \"artefact\"", 2, |pair| {
        pair.message(Time::ZERO, A, B, 8 * 1460);
        pair.message(Time(50_000_000), A, B, 8 * 1460 + 1);
    });
    assert!(at(&found, "A is done with message 0 of #1") < at(&found, "TOKEN"));
    assert!(!found.contains("DATA 0..1460, priority 2 #2"), "{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn what_is_lost_gets_a_token_again() {
    let found = ladder("free = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
        // One that left unasked, and one for a token.
        pair.lose(("DATA", 1));
        pair.lose(("DATA", 4));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_token_costs_one_round() {
    let found = ladder("free = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
        pair.lose(("TOKEN", 2));
    });
    assert!(found.contains("TOKEN 5 for 4380"), "{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_announcement_is_made_again_unless_all_is_there() {
    let short = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        pair.lose(("RTS", 1));
    });
    assert_eq!(short.matches("RTS").count(), 1, "{short}");
    let long = ladder("free = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        pair.lose(("RTS", 1));
    });
    insta::assert_snapshot!(long);
}

#[test]
fn a_lost_acknowledgement_is_asked_for() {
    let found = ladder("free = 2", 2, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        pair.lose(("ACK", 1));
    });
    insta::assert_snapshot!(found);
}

/// A sends to C and B; its line serves the shorter message, and what C gives for the longer one runs out.
#[test]
fn tokens_that_find_the_line_taken_run_out_and_their_window_is_forgiven() {
    let found = ladder("free = 0\nwindow = 3\nrelax = 40", 3, |pair| {
        pair.message(Time::ZERO, A, HostId(2), 60_000);
        pair.message(Time::ZERO, A, B, 30_000);
    });
    assert!(at(&found, "B received message 0") < at(&found, "C received message 0"));
    let given = found.matches("C -> A  TOKEN").count();
    assert!(given > 42, "{given} tokens for 42 frames\n{found}");
    insta::assert_snapshot!(found);
}

/// A receiver has two senders; one of them falls silent, and the other gets all tokens meanwhile.
#[test]
fn who_does_not_use_tokens_gets_no_more_and_others_do() {
    let found = ladder("free = 0\nwindow = 4", 3, |pair| {
        pair.message(Time::ZERO, A, HostId(2), 20_000);
        pair.message(Time::ZERO, B, HostId(2), 40_000);
        for nth in 2..=5 {
            pair.lose(("DATA", nth));
        }
    });
    insta::assert_snapshot!(found);
}

/// Two messages to one host, the longer one first.
fn both(text: &str) -> String {
    ladder(text, 3, |pair| {
        pair.message(Time::ZERO, A, HostId(2), 60_000);
        pair.message(Time(3_000_000), B, HostId(2), 30_000);
    })
}

#[test]
fn the_shorter_message_gets_all_tokens_or_each_its_turn() {
    let shortest = both("free = 0");
    let first = at(&shortest, "C -> B  TOKEN 1 ");
    let last = at(&shortest, "C -> B  TOKEN 21 ");
    let others = shortest[first..last].matches("C -> A  TOKEN").count();
    assert_eq!(others, 0, "{shortest}");
    let turns = both("free = 0\nreceiver = \"turns\"");
    let between = &turns[at(&turns, "C -> B  TOKEN 1 ")..at(&turns, "C -> B  TOKEN 15 ")];
    assert_eq!(between.matches("C -> A  TOKEN").count(), 14, "{turns}");
}

#[test]
fn a_question_and_its_answer_need_one_acknowledgement() {
    let found = ladder("", 2, |pair| {
        pair.exchange(Time::ZERO, A, B, [1_000, 2_000]);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_cancelled_message_ends_with_what_had_left() {
    let found = ladder("free = 2", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 200_000);
        pair.cancel(Time(20_000_000), conn, A);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_receiver_that_forgot_says_so_and_the_sender_gives_up() {
    let found = ladder("free = 2", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.forget(Time(20_000_000), conn, B);
    });
    assert!(found.contains("GONE, says the receiver"), "{found}");
    insta::assert_snapshot!(found);
}

/// Short messages take the whole line for three times the timeout.
#[test]
fn who_waits_for_its_turn_asks_and_is_not_given_up() {
    let found = ladder(
        "window = 16\nrto = \"20us\"\ntimeout = \"1ms\"\nlinger = \"2ms\"",
        4,
        |pair| {
            pair.message(Time::ZERO, A, B, 2_000_000);
            for short in 0..250 {
                let to = HostId(2 + short % 2);
                pair.message(
                    Time(100_000_000 + u64::from(short) * 12_200_000),
                    A,
                    to,
                    15_000,
                );
            }
        },
    );
    let asked = found
        .matches("A -> B  RTS message 0 to 2000000, known")
        .count();
    assert!(asked > 3, "asked {asked} times");
    assert!(!found.contains("GONE"));
    assert!(found.contains("B received message 0 of #1, 2000000 B"));
}

/// The ends of a message where each host makes what it knows of a line of its own rate; the wire has the slower one.
fn of_two_rates(text: &str, rates: [u64; 2], length: u64) -> String {
    let params = params(text);
    let make = |config: &EndpointConfig| {
        let rate = Rate::gbps(rates[config.host.0 as usize % 2]);
        Factory::make(&params, &config.clone().with(|own| own.rate = rate))
    };
    let mut pair = Pair::new(&make, &header::CODEC).named("phost");
    pair.message(Time::ZERO, A, B, length);
    pair.run();
    pair.ladder()
}

#[test]
fn lines_of_two_rates_cost_nothing() {
    let done = |ladder: &str| -> f64 {
        let line = ladder
            .lines()
            .find(|line| line.contains("B received message 0"));
        let line = line.expect("it ends").trim_start();
        line.split("us")
            .next()
            .expect("a time")
            .parse()
            .expect("a number")
    };
    for length in [20_000, 200_000] {
        let alike = of_two_rates("", [10, 10], length);
        // A faster receiver has more unasked, and gives tokens faster, than the sender can use; a slower one less.
        for rates in [[10, 100], [100, 10]] {
            let found = of_two_rates("", rates, length);
            let sent = |ladder: &str| ladder.matches("DATA").count();
            assert_eq!(sent(&found), sent(&alike), "{rates:?}: {length} B");
            let (theirs, ours) = (done(&found), done(&alike));
            assert!(
                theirs < 1.1 * ours,
                "{rates:?}: {length} B in {theirs} us, not {ours}"
            );
        }
    }
}

/// A line with a gate closed for somebody else serves by the same order, and so does the open one behind it.
#[test]
fn a_pause_of_another_flow_changes_no_order() {
    let other = ConnId(99);
    let free = "free = 100\nwindow = 100\n";
    let turns = ladder(&format!("{free}sender = \"turns\""), 3, |pair| {
        pair.signal(Time::ZERO, A, Signal::PauseFlow(other));
        pair.message(Time(1_000), A, B, 40_000);
        pair.message(Time(1_000), A, HostId(2), 30_000);
    });
    let to = |line: &&str| line.contains("A -> B  DATA");
    let data: Vec<bool> = turns
        .lines()
        .filter(|line| line.contains("DATA"))
        .map(|line| to(&line))
        .collect();
    assert!(
        data[..40].windows(2).all(|pair| pair[0] != pair[1]),
        "{data:?}"
    );
    let shortest = ladder(free, 3, |pair| {
        pair.signal(Time::ZERO, A, Signal::PauseFlow(other));
        pair.message(Time(1_000), A, B, 50_000);
        pair.message(Time(30_000_000), A, HostId(2), 30_000);
        pair.signal(Time(35_000_000), A, Signal::ResumeFlow(other));
    });
    let first = shortest.rfind("A -> B  DATA");
    assert!(first < shortest.find("A -> C  DATA"), "{shortest}");
}

#[test]
fn announcements_in_a_row_are_given_one_window() {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
    let settings = Settings::new(&Params::DEFAULT, &config);
    let rts = Rts {
        at: 100_000,
        ordinal: 0,
        known: false,
        frame: 1_460,
        free: 0,
        lifetime: Lifetime::OneMessage,
        answer: false,
        cut: false,
    };
    let mut receiver = Receiver::default();
    let mut given = 0;
    let mut ask = |now: Time| {
        assert_eq!(receiver.on_rts(now, &rts, &settings), Came::New);
        while receiver.waits(&settings) == Waits::Turn {
            receiver.message.give(now);
            given += 1;
        }
        given
    };
    assert_eq!(ask(Time(0)), 8);
    assert_eq!(ask(Time(1)), 8, "they may all be under way");
    let later = Time(1).after(settings.retry);
    assert_eq!(ask(Time(later.0 - 2)), 8);
    assert_eq!(ask(later), 16, "whoever asks then has not got them");
}

/// Priorities of the data of two lengths.
#[test]
fn short_messages_go_before_long_ones_unless_levels_are_off() {
    let priorities = |text: &str| {
        let found = ladder(text, 2, |pair| {
            pair.message(Time::ZERO, A, B, 2_920);
            pair.message(Time::ZERO, A, B, 2_921);
        });
        [", priority 1", ", priority 2"].map(|what| found.matches(what).count())
    };
    assert_eq!(priorities("free = 2"), [2, 3]);
    assert_eq!(priorities("free = 2\nlevels = false"), [5, 0]);
}

#[test]
fn parameters_survive_their_own_table_and_refuse_nonsense() {
    for text in ["", "profile = \"artefact\"", "window = 49\nrelax = 151"] {
        let read = params(text);
        assert_eq!(PHOST.read(&read.resolved()), Ok(read));
    }
    let refusals: String = [
        "window = 0",
        "token_life = 0",
        "sender = \"longest\"",
        "linger = \"1s\"",
    ]
    .map(|text| PHOST.read(&text.parse().unwrap()).unwrap_err().to_string() + "\n")
    .concat();
    insta::assert_snapshot!(refusals);
}
