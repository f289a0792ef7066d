//! A burst whose packets overtake each other, as where switches give each a way of its own: only the probe tells what was
//! lost, and only when nothing of it can be on the way.

use super::early::{aeolus, count, ended, frames};
use super::*;
use model::Totals;
use testkit::Pair;

/// Four frames leave unasked.
const PUBLISHED: &str = "profile = \"sigcomm18\"\nunscheduled = \"5840B\"";

/// `length` bytes from A to B through two links between switches: what is late comes within 9.8 us.
fn spread(length: u64, script: impl FnOnce(&mut Pair<'_>)) -> (String, Totals) {
    told(true, length, script)
}

/// The same, where hosts are told that packets overtake each other, or are not.
fn told(overtakes: bool, length: u64, script: impl FnOnce(&mut Pair<'_>)) -> (String, Totals) {
    let params = aeolus(PUBLISHED);
    let make = |config: &EndpointConfig| {
        let spreads = config.clone().with(|told| {
            (told.overtakes, told.hops_max) = (overtakes, 4);
        });
        Factory::make(&params, &spreads)
    };
    let mut pair = Pair::star(2, &make, &header::CODEC).named("homa");
    pair.message(Time::ZERO, A, B, length);
    script(&mut pair);
    pair.run();
    (pair.ladder(), pair.totals())
}

#[test]
fn what_comes_behind_later_frames_and_the_probe_does_not_leave_again() {
    for length in [5_300, 12_000, 40_000] {
        for late in 1..=4 {
            for by in [2, 5, 8] {
                let (found, totals) = spread(length, |pair| {
                    pair.delay_packet(("DATA", late), Span::us(by));
                });
                assert_eq!(totals.retransmitted, 0, "{late} by {by}:\n{found}");
                assert!(ended(&found) < 100.0, "{late} by {by}:\n{found}");
            }
        }
    }
}

#[test]
fn what_was_lost_leaves_again_once_though_another_is_late() {
    let (found, totals) = spread(12_000, |pair| {
        pair.lose(("DATA", 2));
        pair.delay_packet(("DATA", 3), Span::us(8));
    });
    assert_eq!(totals.retransmitted, 1, "{found}");
    insta::assert_snapshot!("aeolus_spread_one_lost", found);
}

/// The receiver says how much it misses: what is acknowledged later is not meant.
#[test]
fn words_that_come_behind_the_answer_to_the_probe_keep_their_frames() {
    for late in 1..=3 {
        let (found, totals) = spread(40_000, |pair| {
            pair.lose(("DATA", 4));
            pair.delay_packet(("GOT", late), Span::us(30));
        });
        assert_eq!((totals.retransmitted, totals.duplicates), (1, 0), "{found}");
        assert!(ended(&found) < 100.0, "{found}");
    }
}

#[test]
fn any_part_of_a_burst_may_be_lost_and_leaves_again_once() {
    for length in [5_300, 40_000] {
        for lost in 0..16_u32 {
            let (found, totals) = spread(length, |pair| {
                let each = (0..4).filter(|n| lost >> n & 1 == 1);
                each.for_each(|n| pair.lose(("DATA", n + 1)));
            });
            assert_eq!(totals.retransmitted, lost.count_ones().into(), "{found}");
            assert_eq!(frames(&found).0, 4, "{found}");
            // No timer, but 10 us more than on one way, and 40,000 B are 34 us of the line.
            assert!(ended(&found) < 110.0, "{lost:b}:\n{found}");
        }
    }
}

/// It counts as lost, and both copies arrive: nothing else goes wrong.
#[test]
fn what_is_later_than_ports_make_it_leaves_twice() {
    for length in [5_300, 40_000] {
        let (found, totals) = spread(length, |pair| {
            pair.delay_packet(("DATA", 2), Span::us(40));
        });
        assert_eq!((totals.retransmitted, totals.timeouts), (1, 0), "{found}");
        assert_eq!(count(&found, ", again"), 1, "{found}");
        assert!(ended(&found) < 100.0, "{found}");
    }
}

/// Losses, copies and packets that are late by up to 40 us, of three messages of one sender: all of it arrives. What was
/// lost of one makes it longer, and another the shortest, of which nothing is on the way.
#[test]
fn whatever_is_lost_repeated_or_late_all_of_it_arrives() {
    let chaos = testkit::Chaos {
        lose_ppb: 50_000_000,
        duplicate_ppb: 20_000_000,
        delay_ppb: 300_000_000,
        delay_max: Span::us(40),
        ..testkit::Chaos::default()
    };
    for (seed, overtakes) in (0..200).flat_map(|n| [(n, true), (n, false)]) {
        let (found, _) = told(overtakes, 12_000, |pair| {
            pair.message(Time::ZERO, A, B, 5_300);
            pair.message(Time(2_000_000), A, B, 60_000);
            pair.chaos(chaos, seed);
        });
        assert_eq!(count(&found, " received message "), 3, "{seed}:\n{found}");
    }
}
