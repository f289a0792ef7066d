//! The first round trip where switches drop it first.

use super::*;
use parts::Described;
use testkit::Pair;

const PUBLISHED: &str = "profile = \"sigcomm18\"\nunscheduled = \"5840B\"";

pub(super) fn aeolus(text: &str) -> Params {
    AEOLUS.read(&text.parse().unwrap()).unwrap()
}

/// A conversation under Aeolus among so many hosts.
fn converse(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    ladder_of(&aeolus(text), hosts, script)
}

/// `length` bytes from A to B, of which four frames leave unasked.
fn burst(length: u64, script: impl FnOnce(&mut Pair<'_>)) -> String {
    converse(PUBLISHED, 2, |pair| {
        pair.message(Time::ZERO, A, B, length);
        script(pair);
    })
}

/// How often a line of the ladder says so.
pub(super) fn count(ladder: &str, what: &str) -> usize {
    ladder.lines().filter(|line| line.contains(what)).count()
}

/// Frames that leave unasked, and granted.
pub(super) fn frames(ladder: &str) -> (usize, usize) {
    (count(ladder, "  DATA "), count(ladder, "  SCHED_DATA "))
}

/// When the last message was complete, in microseconds.
pub(super) fn ended(ladder: &str) -> f64 {
    let mut all = ladder.lines();
    let end = all.rfind(|line| line.contains("received message"));
    let end = end.unwrap_or_else(|| panic!("{ladder}"));
    end.trim().split("us").next().unwrap().parse().unwrap()
}

#[test]
fn a_burst_is_closed_by_a_probe_and_grants_bring_the_rest() {
    let found = burst(12_000, |_| {});
    assert_eq!((count(&found, "  PROBE "), frames(&found)), (1, (4, 5)));
    insta::assert_snapshot!("aeolus_nothing_lost", found);
}

#[test]
fn a_lost_frame_shows_by_the_next_answer_and_leaves_as_granted() {
    let found = burst(12_000, |pair| pair.lose(("DATA", 2)));
    assert_eq!(frames(&found), (4, 6));
    let page = include_str!("../aeolus.md");
    assert!(
        page.contains(found.trim_end()),
        "the page shows it:\n{found}"
    );
    insta::assert_snapshot!("aeolus_one_lost", found);
}

#[test]
fn a_probe_alone_brings_grants_for_all() {
    let found = burst(12_000, |pair| (1..=4).for_each(|n| pair.lose(("DATA", n))));
    assert_eq!(frames(&found), (4, 9));
    insta::assert_snapshot!("aeolus_all_but_the_probe_lost", found);
}

#[test]
fn a_lost_probe_is_made_good_by_a_question() {
    let found = burst(5_000, |pair| {
        pair.lose(("DATA", 4));
        pair.lose(("PROBE", 1));
    });
    insta::assert_snapshot!("aeolus_probe_lost", found);
}

#[test]
fn where_all_was_lost_the_probe_leaves_again_and_no_frame_with_it() {
    let found = burst(5_000, |pair| {
        (1..=4).for_each(|n| pair.lose(("DATA", n)));
        pair.lose(("PROBE", 1));
    });
    assert_eq!((count(&found, "  PROBE "), frames(&found)), (2, (4, 4)));
    insta::assert_snapshot!("aeolus_probe_and_all_lost", found);
}

/// The grants are there all the same: they release what nobody has acknowledged.
#[test]
fn a_lost_answer_to_the_probe_needs_no_timer() {
    let found = burst(5_000, |pair| {
        pair.lose(("DATA", 4));
        pair.lose(("PROBE_ACK", 1));
    });
    assert_eq!((count(&found, "  PROBE "), frames(&found)), (1, (4, 1)));
    assert!(ended(&found) < 100.0, "{found}");
    insta::assert_snapshot!("aeolus_answer_lost", found);
}

/// Each end counts with a burst of its own length, as where frames have two sizes; and a probe behind a message that is
/// complete is no copy of data.
#[test]
fn bursts_of_two_lengths_need_no_timer_and_leave_no_copy() {
    let both = ["2920B", "5840B"].map(|bytes| {
        aeolus(&format!(
            "profile = \"sigcomm18\"\nunscheduled = \"{bytes}\""
        ))
    });
    for (mine, other) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for length in [2_000, 5_000, 12_000] {
            let make = |config: &EndpointConfig| {
                let params = &both[if config.host == A { mine } else { other }];
                Factory::make(params, config)
            };
            let mut pair = Pair::star(2, &make, &header::CODEC).named("homa");
            pair.message(Time::ZERO, A, B, length);
            pair.run();
            let found = pair.ladder();
            let totals = pair.totals();
            assert!(ended(&found) < 100.0, "{length}: {found}");
            assert_eq!((totals.retransmitted, totals.duplicates), (0, 0), "{found}");
        }
    }
}

/// The one that is granted first gets its lost frames at once, the other behind it.
#[test]
fn two_messages_at_one_receiver_are_repaired_shortest_first() {
    let text = format!("{PUBLISHED}\novercommitment = 1");
    let found = converse(&text, 3, |pair| {
        pair.message(Time::ZERO, A, B, 5_000);
        pair.message(Time::ZERO, HostId(2), B, 5_800);
        (1..=8).for_each(|n| pair.lose(("DATA", n)));
    });
    assert_eq!(frames(&found), (8, 8));
    assert!(ended(&found) < 100.0, "{found}");
    insta::assert_snapshot!("aeolus_two_messages", found);
}

/// It has no other priority than that of its size: behind all that leaves unasked it could wait for ever.
#[test]
fn what_was_lost_of_a_message_that_fits_its_burst_keeps_its_priority() {
    for (length, priority) in [(1_000, 1), (10_000, 2), (40_000, 3), (100_000, 7)] {
        let found = converse("", 2, |pair| {
            pair.message(Time::ZERO, A, B, length);
            pair.lose(("DATA", 1));
        });
        let again = format!("priority {priority}, again");
        assert_eq!(count(&found, &again), 1, "{length}:\n{found}");
    }
}

/// What is granted to its end still comes: a message of eight frames is granted beside no other where one is at once.
#[test]
fn all_that_is_granted_at_once_is_no_more_than_the_granted_messages_may_have() {
    let text = "profile = \"sigcomm18\"\nunscheduled = \"14600B\"\novercommitment = 1";
    let found = converse(text, 9, |pair| {
        for host in 2..=9 {
            pair.message(Time::ZERO, HostId(host % 9), B, 11_680);
        }
        (1..=64).for_each(|n| pair.lose(("DATA", n)));
    });
    let (mut granted, mut most) = (0_u64, 0);
    for line in found.lines() {
        granted += u64::from(line.contains("  GRANT "));
        granted -= u64::from(line.contains("  SCHED_DATA "));
        most = granted.max(most);
    }
    assert!(most <= 10, "{most} at once:\n{found}");
    assert!(ended(&found) < 200.0, "{found}");
}

#[test]
fn a_burst_that_is_cancelled_ends_with_what_had_left() {
    for at in [1_000_000, 3_000_000, 12_000_000, 20_000_000] {
        let found = converse(PUBLISHED, 2, |pair| {
            let conn = pair.message(Time::ZERO, A, B, 200_000);
            pair.lose(("DATA", 1));
            pair.cancel(Time(at), conn, A);
        });
        assert!(ended(&found) < 100.0, "{found}");
        if at == 3_000_000 {
            insta::assert_snapshot!("aeolus_cancelled", found);
        }
    }
}

#[test]
fn without_loss_nothing_leaves_twice_whatever_the_length_and_the_law() {
    for text in [PUBLISHED, "unscheduled = \"5000B\""] {
        for length in [1, 1_460, 1_461, 5_000, 5_840, 5_841, 300_000] {
            let found = converse(text, 2, |pair| {
                pair.message(Time::ZERO, A, B, length);
            });
            let (unasked, granted) = frames(&found);
            // A burst has full frames, whatever is left of `unscheduled`.
            let head = length.min(5_840);
            let of = |bytes: u64| usize::try_from(bytes.div_ceil(1_460)).unwrap();
            assert_eq!((unasked, granted), (of(head), of(length - head)), "{found}");
            assert_eq!(count(&found, "  PROBE "), 1, "{found}");
            assert!(!found.contains("again"), "{found}");
        }
    }
}

#[test]
fn any_part_of_a_burst_may_be_lost_and_nothing_else_leaves_twice() {
    for (text, length) in [
        (PUBLISHED, 5_300_u64),
        (PUBLISHED, 40_000),
        ("unscheduled = \"5840B\"", 40_000),
    ] {
        for lost in 0..16_u32 {
            let found = converse(text, 2, |pair| {
                pair.message(Time::ZERO, A, B, length);
                (0..4)
                    .filter(|n| lost >> n & 1 == 1)
                    .for_each(|n| pair.lose(("DATA", n + 1)));
            });
            let again = lost.count_ones() as usize;
            let granted = usize::try_from(length.saturating_sub(5_840).div_ceil(1_460)).unwrap();
            assert_eq!(frames(&found), (4, granted + again), "{lost:b}:\n{found}");
            assert_eq!(count(&found, ", again"), again, "{lost:b}:\n{found}");
            // No timer: 40,000 B are 34 us of the line.
            assert!(ended(&found) < 100.0, "{lost:b}:\n{found}");
        }
    }
}

/// The repetition leaves on a more urgent priority than the probe: the probe does not name it, and its grant is missed.
#[test]
fn a_repetition_that_overtakes_the_probe_needs_no_timer() {
    for length in [5_300, 12_000, 40_000] {
        for lost in 1..=3 {
            let found = burst(length, |pair| {
                pair.lose(("DATA", lost));
                pair.delay_packet(("PROBE", 1), Span::us(25));
            });
            let again = count(&found, ", again");
            assert_eq!(again, 1, "{length}, {lost}:\n{found}");
            assert!(ended(&found) < 100.0, "{length}, {lost}:\n{found}");
        }
    }
}

/// The last granted frame reaches beyond its grant, which must not hide a loss: with windows and packet by packet.
#[test]
fn granted_frames_that_are_lost_are_asked_for_again() {
    for text in [
        PUBLISHED,
        "unscheduled = \"5000B\"\nmax_incoming = \"20kB\"",
    ] {
        for lost in [1, 2, 5, 6, 7, 20, 199] {
            let found = converse(text, 2, |pair| {
                pair.message(Time::ZERO, A, B, 300_000);
                pair.lose(("SCHED_DATA", lost));
            });
            assert!(ended(&found) < 11_000.0, "{text}, {lost}: {found}");
        }
    }
}

/// Its first packets cannot tell where it ends: an empty one does.
#[test]
fn a_message_beyond_what_heads_count_tells_its_end_first() {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
    let settings = settings::Settings::new(&aeolus(PUBLISHED), &config);
    let mut sender = sender::Sender::default();
    let length = u64::from(header::LEFT_MAX) + 5;
    assert!(sender.push(Time::ZERO, length, &settings));
    let piece = sender.take(Time::ZERO, &settings);
    assert_eq!(
        (piece.offset, piece.length, piece.unasked),
        (length, 0, false)
    );
    let piece = sender.take(Time::ZERO, &settings);
    assert_eq!(
        (piece.offset, piece.left, piece.unasked),
        (0, header::LEFT_MAX, true)
    );
    // That packet may be lost: it leaves again whenever nothing is heard.
    let mut now = Time::ZERO;
    for _ in 0..2 {
        sender.hear(now);
        now = now.after(Span::ms(20));
        assert_eq!(sender.on_silence(now, &settings), sender::Silence::Ask);
        let piece = sender.take(now, &settings);
        assert_eq!((piece.offset, piece.length), (length, 0));
    }
}

#[test]
fn a_grant_releases_what_its_range_holds_also_where_heads_count_anew() {
    use crate::homa::early::grants_told;
    use header::{CODEC, Grant, Granted};
    let data = |at: u64| {
        let data = Granted {
            offset: 1_460,
            has: 0,
            length: 1_460,
            at: grants_told(at),
            ordinal: 0,
            again: true,
            answer: false,
        };
        data.packet(B, ConnId(1), 1538)
    };
    let grant = |from: u64, upto: u64| {
        let priority = 3;
        let grant = Grant {
            from,
            upto,
            priority,
        };
        grant.packet(A, ConnId(1), 84)
    };
    let round = u64::from(header::AT_MAX) + 1;
    for base in [5_840, round - 100, 7 * round - 1] {
        let grant = grant(base, base + 1_460);
        let found: Vec<_> = [base - 1, base, base + 1_459, base + 1_460]
            .map(|at| CODEC.answers(&data(at), &grant) == Some(true))
            .into();
        assert_eq!(found, [false, true, true, false], "{base}");
    }
}

#[test]
fn what_may_be_dropped_is_always_made_good_and_the_rule_is_a_parameter() {
    let read = |text: &str| AEOLUS.read(&text.parse().unwrap());
    let found =
        read("profile = \"sigcomm18\"\ndrop_threshold = \"30KB\"\ndrop_by = \"ecn\"").unwrap();
    assert!(found.recovery);
    assert_eq!(AEOLUS.read(&found.resolved()), Ok(found.clone()));
    let drop = Factory::fabric(&found, Rate::gbps(10), Encap::PAPER)
        .drop
        .unwrap();
    assert_eq!(
        (drop.threshold, drop.measure),
        (units::Bytes(30_000), model::intent::DropMeasure::Queue)
    );
    let refusals = ["recovery = false", "drop_threshold = \"4 hats\""];
    let refusals = refusals.map(|text| read(text).unwrap_err().to_string() + "\n");
    insta::assert_snapshot!("aeolus_refusals", refusals.concat());
}
