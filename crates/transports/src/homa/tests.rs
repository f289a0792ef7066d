//! Conversations as ladders, and what a receiver grants.

mod alone;
mod curves;
mod cuts;
mod early;
mod patience;
mod spread;

use super::*;
use model::{ConnId, HostId};
use parts::Described;
use testkit::{A, B, Pair};
use units::Time;

fn params(text: &str) -> Params {
    HOMA.read(&text.parse().unwrap()).unwrap()
}

/// The published simulator's grants, with recovery so that the test kit sees every message end.
const PACKET: &str = "profile = \"sigcomm18\"\nrecovery = true";

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    ladder_of(&params(text), hosts, script)
}

fn ladder_of(params: &Params, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let make = |config: &EndpointConfig| Factory::make(params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC).named("homa");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

#[test]
fn a_message_begins_unasked_and_goes_on_as_granted() {
    let found = ladder(PACKET, 2, |pair| {
        pair.message(Time::ZERO, A, B, 20_000);
    });
    testkit::same(&found, testkit::shown(include_str!("README.md")));
}

#[test]
fn a_window_is_granted_at_once() {
    let found = ladder(
        "unscheduled = \"5000B\"\nmax_incoming = \"20kB\"",
        2,
        |pair| {
            pair.message(Time::ZERO, A, B, 20_000);
        },
    );
    insta::assert_snapshot!(found);
}

#[test]
fn what_is_lost_is_asked_for_again() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 6_000);
        pair.lose(("DATA", 2));
        pair.lose(("DATA", 5));
    });
    insta::assert_snapshot!(found);
}

/// The last unasked frame reaches beyond what is unasked, and so does the last frame before the farthest grant.
#[test]
fn what_is_lost_beyond_a_grant_is_asked_for_again() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 1_000_000);
        pair.lose(("DATA", 28));
    });
    assert!(found.contains("B received message 0, 1000000 B"), "{found}");
}

#[test]
fn a_message_of_which_nothing_arrived_begins_again() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("DATA", 1));
        pair.lose(("DATA", 2));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_acknowledgement_is_asked_for() {
    let found = ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 60_000);
        pair.lose(("ACK", 1));
    });
    let end = found.lines().rev().take(6).collect::<Vec<_>>();
    insta::assert_snapshot!(end.into_iter().rev().collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_lost_grant_is_made_good_by_a_question() {
    let found = ladder("unscheduled = \"1460B\"", 2, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        pair.lose(("GRANT", 1));
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_question_and_its_answer_need_one_acknowledgement() {
    let found = ladder("", 2, |pair| {
        pair.exchange(Time::ZERO, A, B, [1_000, 2_000]);
    });
    insta::assert_snapshot!(found);
}

/// Questions and answers on a lasting connection, and every ACK but the last is lost, `acks` in all.
fn rounds(params: &Params, acks: u64) -> String {
    let found = ladder_of(params, 2, |pair| {
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time(1_000_000), conn, A, 1_000);
        for round in 0..3 {
            pair.reply(conn, B, round, 20_000);
        }
        for round in 0..2 {
            pair.reply(conn, A, round, 1_000);
        }
        (1..acks).for_each(|nth| pair.lose(("ACK", nth)));
    });
    let said = |line: &&str| !line.contains("DATA") && !line.contains("GOT");
    found.lines().filter(said).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_answer_acknowledges_its_question_and_the_next_question_the_answer() {
    insta::assert_snapshot!(rounds(&params(""), 6));
}

#[test]
fn so_they_do_where_what_nobody_granted_is_dropped_first() {
    let params = AEOLUS.read(&Table::new()).unwrap();
    insta::assert_snapshot!(rounds(&params, 12));
}

/// However many messages went in the one direction, and however late the packet is.
#[test]
fn what_a_message_says_of_the_other_direction_is_never_more_than_it_knew() {
    use header::{has, whole};
    for own in [0, 1, 63, 64, 1_000, u32::MAX] {
        for ahead in 0..200_u32 {
            let known = own.wrapping_add(ahead).wrapping_sub(100);
            let said = whole(has(known, own), own);
            match ahead {
                ..100 => assert_eq!(said, None),
                100..103 => assert_eq!(said, Some(known)),
                103.. => assert_eq!(said, Some(own.wrapping_add(2))),
            }
        }
    }
}

#[test]
fn a_cancelled_message_ends_with_what_had_left() {
    let found = ladder("", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 20_000);
        pair.cancel(Time(3_000_000), conn, A);
    });
    insta::assert_snapshot!(found);
}

#[test]
fn a_message_that_is_cancelled_before_anything_left_ends_empty() {
    let found = ladder("", 2, |pair| {
        let [_, second] = [20_000, 20_000].map(|size| pair.message(Time::ZERO, A, B, size));
        pair.cancel(Time(1_000_000), second, A);
    });
    let taken = |line: &&str| line.contains("received message");
    let ends: Vec<_> = found.lines().filter(taken).collect();
    assert_eq!(ends.len(), 2, "{found}");
    assert!(ends[0].contains("message 0 of #2, 0 B"), "{found}");
}

#[test]
fn a_receiver_that_is_told_to_forget_says_so_and_the_sender_does_not_begin_again() {
    let found = ladder("", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.forget(Time(8_000_000), conn, B);
    });
    let said = |line: &&str| !line.contains("  DATA ");
    let words: Vec<_> = found.lines().filter(said).collect();
    insta::assert_snapshot!(words.join("\n"));
}

#[test]
fn a_receiver_that_forgot_says_so_and_the_sender_gives_up() {
    let found = ladder("", 2, |pair| {
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.forget(Time(3_000_000), conn, A);
    });
    let end: Vec<_> = found.lines().rev().take(4).collect();
    insta::assert_snapshot!(end.into_iter().rev().collect::<Vec<_>>().join("\n"));
}

#[test]
fn parameters_survive_their_own_table_and_refuse_nonsense() {
    for text in [
        "",
        "profile = \"sigcomm18\"",
        "priorities = 2",
        "priorities = 1",
    ] {
        let read = params(text);
        assert_eq!(HOMA.read(&read.resolved()), Ok(read));
    }
    let refusals: String = [
        "priorities = 3",
        "cutoffs = [\"5B\", \"5B\"]",
        "cutoffs = 7",
        "unscheduled_priorities = 2\ncutoffs = [\"5B\", \"6B\"]",
        "priorities = 2\nunscheduled_priorities = 3",
        "linger = \"1s\"",
        "max_incoming = \"1B\"",
        "max_incoming = \"3KB\"\novercommitment = 2",
        "timeout = \"10ms\"",
        "resend_after = \"3s\"",
        "levels = \"kept\"",
    ]
    .map(|text| HOMA.read(&text.parse().unwrap()).unwrap_err().to_string() + "\n")
    .concat();
    insta::assert_snapshot!(refusals);
}

#[test]
fn what_a_refusal_tells_one_to_set_is_enough() {
    let read = |key: &str, value: &str| {
        let text = format!("{key} = \"{value}\"");
        HOMA.read(&text.parse().unwrap())
    };
    for (key, little) in [
        ("max_incoming", "1B"),
        ("timeout", "10ms"),
        ("linger", "1s"),
    ] {
        let wrong = read(key, little).unwrap_err();
        let told = wrong
            .message
            .split_once("set it to \"")
            .expect("it says what")
            .1;
        let enough = told.split_once('"').expect("a value").0;
        assert_eq!(read(key, enough).map(drop), Ok(()), "{wrong}");
    }
}

/// The line serves the shortest also where it was chosen while somebody else was paused.
#[test]
fn a_pause_of_another_flow_changes_no_order() {
    let other = ConnId(99);
    let text = format!("{PACKET}\nunscheduled = \"100KB\"");
    let found = ladder(&text, 3, |pair| {
        pair.signal(Time::ZERO, A, model::Signal::PauseFlow(other));
        pair.message(Time(1_000), A, B, 50_000);
        pair.message(Time(30_000_000), A, HostId(2), 30_000);
        pair.signal(Time(35_000_000), A, model::Signal::ResumeFlow(other));
    });
    let first = found.rfind("A -> B  DATA");
    assert!(
        first.is_some() && first < found.find("A -> C  DATA"),
        "{found}"
    );
}

#[test]
fn ranks_give_each_peer_one_place_and_then_second_ones() {
    use ranks::{Rank, Ranks};
    let mut ranks = Ranks::default();
    let places = [7, 8].map(|host| ranks.open(HostId(host), 9).unwrap());
    let rank = |left, slot, peer: usize| Rank {
        left,
        order: slot,
        slot,
        peer: places[peer],
    };
    for (left, slot, peer) in [(30, 0, 0), (10, 1, 0), (20, 2, 0), (40, 3, 1)] {
        ranks.change(None, Some(rank(left, slot, peer)));
    }
    assert_eq!(ranks.active(8, false).slots(), [1, 3]);
    assert_eq!(ranks.active(8, true).slots(), [1, 2, 0, 3]);
    // Peer 8 keeps its place though two of peer 7's are shorter.
    assert_eq!(ranks.active(3, true).slots(), [1, 2, 3]);
    ranks.change(Some(rank(30, 0, 0)), Some(rank(5, 0, 0)));
    assert_eq!(ranks.active(1, true).slots(), [0]);
    ranks.change(Some(rank(5, 0, 0)), None);
    ranks.change(Some(rank(10, 1, 0)), None);
    assert_eq!(ranks.active(8, false).slots(), [2, 3]);
    ranks.check();
}

#[test]
fn granted_messages_have_the_lowest_priorities_and_the_shortest_the_best_of_them() {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
    let settings = settings::Settings::new(&params(""), &config);
    // Four are for what leaves unasked: 0 to 3.
    let of = |active| -> Vec<u8> {
        let rank = |rank| settings.granted(settings.lowest(rank, active), 1 << 30, 1 << 30);
        (0..active).map(rank).collect()
    };
    assert_eq!(of(1), [7]);
    assert_eq!(of(3), [5, 6, 7]);
    assert_eq!(of(6), [4, 5, 6, 7, 7, 7]);
    let unasked = [200, 201, 2_800, 15_000, 15_001].map(|size| settings.unasked(1, size));
    assert_eq!(unasked, [0, 1, 1, 2, 3]);
}

/// Messages of four peers, by the bytes that they have to go: a new one, and `usize::MAX` where one is over; and then
/// the levels by rank.
fn kept(count: usize, granted: usize, steps: &[(usize, Option<u64>)]) -> Vec<Vec<usize>> {
    use ranks::{Levels, Rank, Ranks};
    let mut ranks = Ranks::new(Some(Levels::new(count, granted)));
    let places = [6, 7, 8, 9].map(|host| ranks.open(HostId(host), 9).unwrap());
    let mut now = [None; 4];
    let step = |&(peer, left): &(usize, Option<u64>)| {
        let slot = u32::try_from(peer).unwrap();
        let new = left.map(|left| Rank {
            left,
            order: slot,
            slot,
            peer: places[peer],
        });
        ranks.change(now[peer], new);
        now[peer] = new;
        let ranked = now.iter().flatten().count();
        (0..ranked).map(|rank| ranks.kept(rank).unwrap()).collect()
    };
    steps.iter().map(step).collect()
}

#[test]
fn a_message_keeps_its_level_and_one_that_overtakes_all_takes_one_above() {
    let levels = kept(
        4,
        4,
        &[
            (0, Some(50)),
            (1, Some(30)),
            (0, None),
            // The lowest stays free.
            (2, Some(20)),
            (1, Some(10)),
            (3, Some(90)),
            (1, None),
            (2, None),
            (3, None),
            (0, Some(50)),
        ],
    );
    let shown = [
        vec![3],
        vec![2, 3],
        vec![2],
        vec![1, 2],
        vec![0, 1],
        vec![0, 1, 2],
        vec![1, 2],
        vec![2],
        vec![],
        vec![3],
    ];
    assert_eq!(levels, shown);
}

#[test]
fn a_message_behind_all_moves_them_up_where_no_level_is_left() {
    let steps = [(0, Some(10)), (1, Some(20)), (2, Some(30)), (3, Some(40))];
    assert_eq!(
        kept(3, 3, &steps),
        [vec![2], vec![1, 2], vec![0, 1, 2], vec![0, 1, 2, 2]]
    );
    // With fewer granted than levels, the first stays where it is, and who comes first has a level above.
    assert_eq!(kept(3, 2, &steps)[3], [1, 2, 2, 2]);
    let first = [(0, Some(20)), (1, Some(30)), (2, Some(10)), (2, None)];
    assert_eq!(
        kept(3, 2, &first),
        [vec![2], vec![1, 2], vec![0, 1, 2], vec![1, 2]]
    );
}
