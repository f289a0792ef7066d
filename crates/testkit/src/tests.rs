//! The kit tested with a transport that works and with its broken brothers.

use crate::toy::{Bug, CODEC, FORGETFUL, make};
use crate::{A, B, C, Chaos, Pair, conversation, feed};
use model::{Class, ConnId, Packet, Rng, Signal, stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::{Rate, Span, Time};

/// Runs a conversation of the transport with that bug, and returns its ladder.
fn converse(bug: Bug, script: impl Fn(&mut Pair<'_>)) -> String {
    let make = make(bug);
    let codec = if bug == Bug::Codec {
        &FORGETFUL
    } else {
        &CODEC
    };
    let mut pair = Pair::new(&make, codec).named("toy").limit(Span::ms(100));
    script(&mut pair);
    pair.run();
    pair.ladder()
}

/// The message with which the conversation panics.
fn complaint(bug: Bug, script: impl Fn(&mut Pair<'_>)) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| converse(bug, script)));
    let text = panic.expect_err("the kit found nothing");
    text.downcast_ref::<String>()
        .expect("a panic with a message")
        .clone()
}

fn one_message(pair: &mut Pair<'_>) {
    pair.message(Time::ZERO, A, B, 2_000);
}

#[test]
fn a_ladder_shows_packets_faults_and_events() {
    insta::assert_snapshot!(converse(Bug::None, |pair| {
        one_message(pair);
        pair.lose(("ACK", 1));
        pair.duplicate(4);
        pair.delay_packet(("DATA", 3), Span::us(20));
        pair.mark("DATA");
    }));
}

#[test]
fn a_star_queues_at_its_hub() {
    let make = make(Bug::None);
    let mut pair = Pair::star(3, &make, &CODEC).buffer(units::Bytes(1_600));
    pair.message(Time::ZERO, A, C, 2_000);
    pair.message(Time::ZERO, B, C, 2_000);
    let conn = pair.connect(Time::ZERO, C, A);
    pair.send(Time(1_000_000), conn, C, 0);
    pair.reply(conn, A, 0, 10);
    pair.run();
    insta::assert_snapshot!(pair.ladder());
    assert_eq!((pair.received(conn, C), pair.received(conn, A)), (1, 1));
}

#[test]
fn a_link_that_is_down_loses_both_directions() {
    let text = converse(Bug::None, |pair| {
        one_message(pair);
        pair.down(B, Time(7_000_000), Time(1_000_000_000));
    });
    // Sent at 0 it arrives before the link breaks; its answer does not leave.
    assert_eq!(text.matches("X lost").count(), 1, "{text}");
}

#[test]
fn every_bug_is_found() {
    let twice = |pair: &mut Pair<'_>| {
        one_message(pair);
        pair.duplicate("DATA");
    };
    let lossy = |pair: &mut Pair<'_>| {
        one_message(pair);
        pair.lose(("DATA", 1));
    };
    let early = |pair: &mut Pair<'_>| {
        // The end arrives after the acknowledgement of the part before it was lost.
        one_message(pair);
        pair.duplicate("DATA");
    };
    let stranger = |pair: &mut Pair<'_>| {
        one_message(pair);
        let packet = Packet::new(B, ConnId(99), Class::Plain, 0, 84);
        pair.inject(Time(1), B, packet);
    };
    let paused = |pair: &mut Pair<'_>| {
        one_message(pair);
        pair.signal(Time::ZERO, A, Signal::PauseFlow(ConnId(1)));
        pair.signal(Time(1_000_000), A, Signal::ResumeFlow(ConnId(1)));
    };
    for (bug, words) in [
        (complaint(Bug::IgnoresPauses, paused), "a closed gate"),
        (complaint(Bug::AcceptsTwice, twice), "again"),
        (complaint(Bug::EndsEarly, early), "where 1 is next"),
        (
            complaint(Bug::NeverRetries, lossy),
            "nothing moves after 1.2304us",
        ),
        (
            complaint(Bug::Storms, one_message),
            "a deadline that has passed",
        ),
        (
            complaint(Bug::WrongHost, one_message),
            "goes back to its own host",
        ),
        (
            complaint(Bug::Codec, one_message),
            "comes out of its codec as",
        ),
        (
            complaint(Bug::DoneEarly, one_message),
            "before the receiver had it",
        ),
        (complaint(Bug::PanicsAtStrangers, stranger), "who is"),
        (
            complaint(Bug::KeepsAll, one_message),
            "connection 1: A has not forgotten it",
        ),
        (
            complaint(Bug::ForgetsTwice, one_message),
            "forgot ConnId(1) twice",
        ),
        (
            complaint(Bug::NeverRetries, lossy),
            "A, connection 1: sending message 0",
        ),
    ] {
        assert!(bug.contains(words), "{words:?} is not in: {bug}");
    }
}

#[test]
fn a_poke_changes_nothing_but_a_broken_ladder() {
    let poked = |bug| {
        converse(bug, |pair| {
            one_message(pair);
            (1..20).for_each(|i| pair.poke(Time(i * 700_000), A));
        })
    };
    let plain = converse(Bug::None, one_message);
    assert_eq!(poked(Bug::None), plain);
    assert_ne!(poked(Bug::RetriesWhenPoked), plain);
}

#[test]
fn a_paused_message_waits_for_its_gate() {
    insta::assert_snapshot!(converse(Bug::None, |pair| {
        one_message(pair);
        pair.signal(Time(1_000), A, Signal::PauseFlow(ConnId(1)));
        pair.signal(Time(40_000_000), A, Signal::ResumeFlow(ConnId(1)));
    }));
}

#[test]
fn chaos_is_a_function_of_its_seed() {
    let make = make(Bug::None);
    let chaos = Chaos {
        lose_ppb: 200_000_000,
        duplicate_ppb: 100_000_000,
        delay_ppb: 100_000_000,
        delay_max: Span::us(30),
        mark_ppb: 0,
        ..Chaos::default()
    };
    let run = |seed| {
        let mut pair = Pair::new(&make, &CODEC).rate(Rate::gbps(100));
        pair.message(Time::ZERO, A, B, 50_000);
        pair.message(Time::ZERO, B, A, 50_000);
        pair.chaos(chaos, seed);
        pair.run();
        pair.digest()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn feeding_finds_a_panic_and_spares_the_innocent() {
    let scripts: Vec<Vec<u8>> = (0..300)
        .map(|i| {
            let mut rng = Rng::stream(i, stream::TEST, 1);
            (0..200).map(|_| rng.next_u64().to_be_bytes()[0]).collect()
        })
        .collect();
    let (good, bad) = (make(Bug::None), make(Bug::PanicsAtStrangers));
    for bytes in &scripts {
        feed(&good, &CODEC, bytes);
    }
    let caught = scripts
        .iter()
        .filter(|bytes| catch_unwind(AssertUnwindSafe(|| feed(&bad, &CODEC, bytes))).is_err());
    assert!(caught.count() > 0);
}

#[test]
fn conversations_of_many_seeds_end_well_and_differ() {
    let make = make(Bug::None);
    let mut digests: Vec<_> = (0..200)
        .map(|seed| {
            let mut pair = conversation(&make, &CODEC, "toy", seed);
            pair.run();
            pair.digest()
        })
        .collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 200);
}

#[test]
fn conversations_find_every_bug_of_the_machine() {
    for bug in [
        Bug::AcceptsTwice,
        Bug::EndsEarly,
        Bug::NeverRetries,
        Bug::Storms,
        Bug::WrongHost,
        Bug::DoneEarly,
    ] {
        let make = make(bug);
        let found = (0..200).find(|&seed| {
            let mut pair = conversation(&make, &CODEC, "toy", seed);
            catch_unwind(AssertUnwindSafe(|| pair.run())).is_err()
        });
        assert!(found.is_some(), "{bug:?}");
    }
}
