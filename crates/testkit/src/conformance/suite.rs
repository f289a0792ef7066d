//! The stories: each is a function over the subjects, and a test in every crate that lists it.
//!
//! First exchanges that come to their end whatever happens to their packets, then connections that carry many messages,
//! then what is cancelled and forgotten, by one end or both, and at last what costs nothing and what is counted.

use super::{Failures, Subject, each};
use crate::{A, B, C, Chaos, Pair, conversation};
use model::{ConnId, Encap, Event, Packet, Rng, stream};
use units::{Bytes, Rate, Span, Time};

/// A scripted exchange.
type Exchange = fn(&mut Pair<'_>);

/// Short exchanges, whose every packet is lost, repeated and delayed in turn.
const EXCHANGES: [(&str, Exchange); 6] = [
    ("one packet", |pair| {
        pair.message(Time::ZERO, A, B, 100);
    }),
    ("an empty message", |pair| {
        pair.message(Time::ZERO, A, B, 0);
    }),
    ("four packets", |pair| {
        pair.message(Time::ZERO, A, B, 5_000);
    }),
    ("a request and its answer", |pair| {
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time::ZERO, conn, A, 1_500);
        pair.reply(conn, B, 0, 3_000);
    }),
    ("one message each way", |pair| {
        pair.exchange(Time::ZERO, A, B, [1_500, 3_000]);
    }),
    ("one empty message each way", |pair| {
        pair.exchange(Time::ZERO, A, B, [0, 0]);
    }),
];
/// Packets that a short exchange may take: more would make the suite slow.
const EXCHANGE_MAX: u64 = 250;

fn run(pair: &mut Pair<'_>) {
    pair.run();
    let totals = pair.totals();
    assert_eq!(
        totals.nonsense,
        0,
        "honest packets were nonsense\n{}",
        pair.tail()
    );
}

/// Packets of the exchange where nothing goes wrong.
fn clean(subject: &Subject, exchange: Exchange) -> u64 {
    let make = subject.make();
    let mut pair = subject.pair(make);
    exchange(&mut pair);
    run(&mut pair);
    assert!(
        pair.packets() <= EXCHANGE_MAX,
        "{} packets\n{}",
        pair.packets(),
        pair.ladder()
    );
    pair.packets()
}

/// Every packet of every short exchange suffers `fault` in turn.
fn each_packet(subjects: &[Subject], fault: fn(&mut Pair<'_>, u64)) {
    let mut failures = Failures::default();
    for subject in subjects {
        for (name, exchange) in EXCHANGES {
            for n in 1..=clean(subject, exchange) {
                failures.watch(&format!("{}, {name}, packet {n}", subject.name), || {
                    let make = subject.make();
                    let mut pair = subject.pair(make);
                    exchange(&mut pair);
                    fault(&mut pair, n);
                    run(&mut pair);
                });
            }
        }
    }
    failures.report();
}

/// Frames of the papers and of ours over UDP, small ones and jumbo frames.
fn encaps() -> impl Iterator<Item = Encap> {
    let sizes = [1500, 1000, 4096, 9000].into_iter();
    let sized = sizes.map(|mtu| [Encap::PAPER, Encap::UDP].map(|encap| encap.with_mtu(mtu)));
    sized
        .flatten()
        .map(|encap| encap.expect("1000 to 9000 B: MTU"))
}

/// Empty messages, one byte, around a full frame, and many windows, in frames of every size.
pub fn messages_of_every_size_arrive(subjects: &[Subject]) {
    each(subjects, |subject| {
        let make = subject.make();
        for encap in encaps() {
            let mtu = u64::from(encap.payload_max);
            let bdp = subject.pair(make).encap(encap).config(A).bdp().get();
            for length in [0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, bdp, 10 * bdp + 7] {
                let mut pair = subject.pair(make).encap(encap);
                pair.message(Time::ZERO, A, B, length);
                run(&mut pair);
            }
        }
    });
}

/// A long message alone takes less than twice what the line needs, and nothing is sent twice.
pub fn ten_megabytes_fill_the_line_without_repetition(subjects: &[Subject]) {
    each(subjects, |subject| {
        let make = subject.make();
        let mut pair = subject.pair(make);
        let conn = pair.message(Time::ZERO, A, B, 10_000_000);
        run(&mut pair);
        let end = completion(&pair, conn).since(Time::ZERO);
        let ideal = Rate::gbps(10).serialize(Bytes(Encap::PAPER.wire_total(10_000_000)));
        assert!(end < ideal.times(2), "took {end}, the line alone {ideal}");
        let totals = pair.totals();
        assert_eq!(
            (
                totals.data_sent,
                totals.retransmitted,
                totals.duplicates,
                totals.timeouts
            ),
            (Encap::PAPER.frames(10_000_000), 0, 0, 0)
        );
    });
}

/// When the receiver had all of message 0.
fn completion(pair: &Pair<'_>, of: ConnId) -> Time {
    let mut ends = pair
        .events()
        .iter()
        .filter_map(|&(at, _, event)| match event {
            Event::Received {
                conn, ordinal: 0, ..
            } if conn == of => Some(at),
            _ => None,
        });
    ends.next()
        .expect("the run ended with the message received")
}

/// Every packet of every short exchange is lost in turn.
pub fn any_packet_may_be_lost(subjects: &[Subject]) {
    each_packet(subjects, |pair, n| pair.lose(n));
}

/// Every packet of every short exchange comes twice in turn.
pub fn any_packet_may_come_twice(subjects: &[Subject]) {
    each_packet(subjects, |pair, n| pair.duplicate(n));
}

/// Every packet of every short exchange comes late in turn.
pub fn any_packet_may_be_overtaken(subjects: &[Subject]) {
    each_packet(subjects, |pair, n| pair.delay_packet(n, Span::us(25)));
}

/// Every packet comes again long after the end of its exchange.
pub fn any_packet_may_come_when_all_is_over(subjects: &[Subject]) {
    each_packet(subjects, |pair, n| {
        // The original is late, and so is a copy of every other packet of the exchange.
        pair.delay_packet(n, Span::ms(700));
        pair.duplicate(n);
    });
}

/// Every pair of packets of the shortest exchange is lost.
pub fn any_two_packets_may_be_lost(subjects: &[Subject]) {
    let mut failures = Failures::default();
    for subject in subjects {
        let (name, exchange) = EXCHANGES[0];
        let packets = clean(subject, exchange) + 2;
        for (first, second) in
            (1..packets).flat_map(|first| (first + 1..=packets).map(move |second| (first, second)))
        {
            failures.watch(
                &format!("{}, {name}, {first} and {second}", subject.name),
                || {
                    let make = subject.make();
                    let mut pair = subject.pair(make);
                    exchange(&mut pair);
                    pair.lose(first);
                    pair.lose(second);
                    run(&mut pair);
                },
            );
        }
    }
    failures.report();
}

/// Silences that outlast the retry timers, the state of receivers that are done, and both.
const SILENCES: [Span; 4] = [Span::us(100), Span::ms(4), Span::ms(100), Span::ms(3_000)];

/// The network is silent from any moment on, for longer than the timers.
pub fn any_moment_may_begin_a_long_silence(subjects: &[Subject]) {
    let mut failures = Failures::default();
    for subject in subjects {
        for ((name, exchange), lost) in EXCHANGES.iter().flat_map(|e| [(e, None), (e, Some(2))]) {
            let make = subject.make();
            // In half of the runs repairs are under way, too.
            let prepare = |pair: &mut Pair<'_>| {
                exchange(pair);
                if let Some(n) = lost {
                    pair.lose(("DATA", n));
                }
            };
            let mut plain = subject.pair(make);
            prepare(&mut plain);
            run(&mut plain);
            let sent = plain.packet_times();
            for (at, silence) in sent
                .iter()
                .flat_map(|&at| SILENCES.map(|silence| (at, silence)))
            {
                let what = format!(
                    "{}, {name}, DATA {lost:?} lost, {silence} from {at}",
                    subject.name
                );
                failures.watch(&what, || {
                    let mut pair = subject.pair(make);
                    prepare(&mut pair);
                    // What is on the line at that moment is lost.
                    pair.down(B, at, at.after(silence));
                    run(&mut pair);
                });
            }
        }
    }
    failures.report();
}

/// A link that is down for a while ends nothing.
pub fn a_broken_link_delays_but_does_not_end(subjects: &[Subject]) {
    each(subjects, |subject| {
        for from in [Time::ZERO, Time(30_000_000), Time(400_000_000)] {
            let make = subject.make();
            let mut pair = subject.pair(make);
            pair.message(Time::ZERO, A, B, 1_000_000);
            pair.down(B, from, from.after(Span::ms(20)));
            run(&mut pair);
        }
    });
}

/// An incast, with and without room for it.
pub fn many_send_to_one(subjects: &[Subject]) {
    const SENDERS: u32 = 32;
    each(subjects, |subject| {
        for (length, buffer) in [(1_000, u64::MAX), (64_000, u64::MAX), (64_000, 150_000)] {
            let make = subject.make();
            let mut pair = subject
                .star(33, make)
                .delay(Span::us(1))
                .buffer(Bytes(buffer));
            for sender in 1..=SENDERS {
                pair.message(Time::ZERO, model::HostId(sender), A, length);
            }
            run(&mut pair);
        }
    });
}

/// One host serves many connections both ways.
pub fn one_sends_to_many_while_they_answer(subjects: &[Subject]) {
    each(subjects, |subject| {
        let make = subject.make();
        let mut pair = subject.star(9, make);
        for peer in (1..9).map(model::HostId) {
            pair.message(Time::ZERO, A, peer, 30_000);
            pair.message(Time(3_000_000), peer, A, 20_000);
        }
        run(&mut pair);
    });
}

/// Questions and answers on one lasting connection.
pub fn a_connection_serves_both_ways_again_and_again(subjects: &[Subject]) {
    each(subjects, |subject| {
        let make = subject.make();
        let mut pair = subject.pair(make);
        let conn = pair.connect(Time::ZERO, A, B);
        // The lengths of twenty questions, each asked when the one before was answered.
        let lengths: [u64; 20] = std::array::from_fn(|i| [0, 1, 900, 1_460, 4_321, 40_000][i % 6]);
        pair.send(Time::ZERO, conn, A, lengths[0]);
        for (ordinal, &length) in (0u32..).zip(&lengths) {
            pair.reply(conn, B, ordinal, length / 2);
            if let Some(&next) = lengths.get(ordinal as usize + 1) {
                pair.reply(conn, A, ordinal, next);
            }
        }
        run(&mut pair);
        assert_eq!((pair.received(conn, A), pair.received(conn, B)), (20, 20));
    });
}

/// Messages that queue on one connection, empty ones among them, in both directions.
pub fn messages_of_one_connection_queue_in_order(subjects: &[Subject]) {
    each(subjects, |subject| {
        let make = subject.make();
        let mut pair = subject.pair(make);
        let conn = pair.connect(Time::ZERO, A, B);
        for (i, length) in [10_000, 0, 0, 1, 3_000, 0, 1_460, 20_000]
            .into_iter()
            .enumerate()
        {
            pair.send(Time::ZERO, conn, A, length);
            // B's first message comes between the packet that opens and the first data.
            pair.send(Time(6_000_000 + i as u64 * 2_000_000), conn, B, length + 1);
        }
        run(&mut pair);
        // After a silence that outlasts every timer the connection is still there.
        pair.send(pair.now().after(Span::ms(5_000)), conn, B, 5_000);
        run(&mut pair);
        assert_eq!((pair.received(conn, A), pair.received(conn, B)), (8, 9));
    });
}

/// A cancelled message ends, and the next one on its connection arrives.
pub fn a_cancelled_message_ends_on_both_sides_after_what_had_left(subjects: &[Subject]) {
    each(subjects, |subject| {
        for at in [
            0,
            1,
            5_000_000,
            20_000_000,
            40_000_000,
            100_000_000,
            300_000_000,
            5_000_000_000,
        ] {
            for (persistent, loss) in [
                (false, None),
                (true, None),
                (false, Some(2)),
                (true, Some(3)),
            ] {
                let make = subject.make();
                let mut pair = subject.pair(make);
                let conn = if persistent {
                    let conn = pair.connect(Time::ZERO, A, B);
                    pair.send(Time::ZERO, conn, A, 300_000);
                    conn
                } else {
                    pair.message(Time::ZERO, A, B, 300_000)
                };
                pair.cancel(Time(at), conn, A);
                if let Some(n) = loss {
                    pair.lose(n);
                }
                run(&mut pair);
                let data = pair.count(|p| subject.codec().payload(p).is_some_and(|(_, n)| n > 0));
                let ended = pair.received(conn, A);
                assert!(
                    data == 0 || ended == 1,
                    "cancelled at {at} ps\n{}",
                    pair.tail()
                );
                if persistent {
                    pair.send(pair.now(), conn, A, 10_000);
                    run(&mut pair);
                    let last = pair
                        .events()
                        .iter()
                        .rev()
                        .find_map(|&(_, _, event)| match event {
                            Event::Received { length, .. } => Some(length),
                            _ => None,
                        });
                    assert_eq!(
                        last,
                        Some(10_000),
                        "cancelled at {at} ps\n{}",
                        pair.ladder()
                    );
                }
            }
        }
    });
}

/// The sender of a question cancels it, before or after it arrived, and gets its answer all the same.
pub fn a_cancelled_question_is_answered(subjects: &[Subject]) {
    each(subjects, |subject| {
        for at in [15, 30, 60, 200, 1_000].map(|us| Time(us * 1_000_000)) {
            let make = subject.make();
            let mut pair = subject.pair(make);
            let conn = pair.exchange(Time::ZERO, A, B, [30_000, 200_000]);
            pair.cancel(at, conn, A);
            run(&mut pair);
            assert_eq!(
                (pair.received(conn, A), pair.received(conn, B)),
                (1, 1),
                "cancelled at {at}\n{}",
                pair.tail()
            );
        }
    });
}

/// A host that is told to forget a connection, at any moment and with whatever under way, says once
/// that it did, has nothing left to do for it, and takes what still comes of it for what it is. The
/// other end comes to its own end, unless it waits for an application.
pub fn a_host_forgets_when_it_is_told_to(subjects: &[Subject]) {
    let kinds: [(&str, Exchange); 3] = [
        ("one message", |pair| {
            pair.message(Time::ZERO, A, B, 100_000);
        }),
        ("one message each way", |pair| {
            pair.exchange(Time::ZERO, A, B, [20_000, 20_000]);
        }),
        ("a lasting connection", |pair| {
            let conn = pair.connect(Time::ZERO, A, B);
            pair.send(Time::ZERO, conn, A, 100_000);
            pair.send(Time(30_000_000), conn, B, 100_000);
        }),
    ];
    let mut failures = Failures::default();
    for subject in subjects {
        for ((name, start), hosts) in kinds.iter().flat_map(|k| [(k, &[A, B][..]), (k, &[B, A])]) {
            for at in [0, 1, 7, 15, 25, 40, 70, 120].map(|us| Time(us * 1_000_000)) {
                let what = format!("{}, {name}, {hosts:?} at {at}", subject.name);
                failures.watch(&what, || {
                    let make = subject.make();
                    // The other end may be patient.
                    let mut pair = subject.pair(make).limit(Span::ms(10_000_000));
                    start(&mut pair);
                    let conn = ConnId(1);
                    pair.forget(at, conn, hosts[0]);
                    pair.run_until(at);
                    let of = |pair: &Pair<'_>| {
                        let stuck = pair.stuck();
                        stuck
                            .into_iter()
                            .any(|(host, flow)| host == hosts[0] && flow.conn == conn)
                    };
                    assert!(!of(&pair), "something is left to do\n{}", pair.tail());
                    // The opener knew of it, and the other end from some moment on.
                    let opener = u32::from(hosts[0] == A);
                    let said = pair.forgotten(conn, hosts[0]);
                    assert!(
                        (opener..=1).contains(&said),
                        "said {said} times that it forgot"
                    );
                    // The other end may wait for its application.
                    pair.forget(at.after(Span::us(60)), conn, hosts[1]);
                    // What it hears of the connection afterwards may be nonsense to it.
                    pair.run();
                });
            }
        }
    }
    failures.report();
}

/// A receiver that alone forgets a message, because it is told to or begins anew, ends it for its sender, too: who is
/// told that it was refused, or sends it once more and whole to a receiver that began anew. Soon nothing is said of it.
pub fn a_receiver_alone_forgets(subjects: &[Subject]) {
    const AB: ConnId = ConnId(1);
    type Loss = fn(&mut Pair<'_>, Time);
    let kinds: [(&str, Exchange); 3] = [
        ("one message", |pair| {
            pair.message(Time::ZERO, A, B, 400_000);
        }),
        ("a question", |pair| {
            pair.exchange(Time::ZERO, A, B, [400_000, 20_000]);
        }),
        ("the second message of a lasting connection", |pair| {
            let conn = pair.connect(Time::ZERO, A, B);
            pair.send(Time::ZERO, conn, A, 1_000);
            pair.send(Time::ZERO, conn, A, 400_000);
        }),
    ];
    let losses: [(&str, Loss); 2] = [
        ("is told to forget", |pair, at| pair.forget(at, AB, B)),
        ("begins anew", |pair, at| pair.restart(at, B)),
    ];
    let mut failures = Failures::default();
    for subject in subjects {
        for ((name, start), (how, loss)) in kinds
            .iter()
            .flat_map(|k| losses.iter().map(move |l| (k, l)))
        {
            for at in [7, 15, 25, 40, 70, 120, 300].map(|us| Time(us * 1_000_000)) {
                failures.watch(
                    &format!("{}, {name}, B {how} at {at}", subject.name),
                    || {
                        let make = subject.make();
                        // Who hears nothing may be patient.
                        let mut pair = subject.pair(make).limit(Span::ms(10_000_000));
                        start(&mut pair);
                        loss(&mut pair, at);
                        pair.run_until(at);
                        let (before, had) = (pair.packets(), pair.received(AB, A));
                        pair.run();
                        let refused = (pair.events().iter()).any(|&(_, host, event)| {
                            host == A && event == Event::Refused { conn: AB }
                        });
                        let whole = pair.received(AB, A) > had;
                        assert!(refused || whole, "nobody told the sender\n{}", pair.tail());
                        let said = pair.packets() - before;
                        let most = if *how == "begins anew" {
                            AGAIN_MAX
                        } else {
                            AFTERWARDS_MAX
                        };
                        assert!(said <= most, "{said} packets\n{}", pair.tail());
                    },
                );
            }
        }
    }
    failures.report();
}
/// Packets of that message afterwards, at most: where it is refused, what is on its way, and questions; where all of its
/// 274 frames leave again, an answer to each, too. [ours]
const AFTERWARDS_MAX: u64 = 250;
const AGAIN_MAX: u64 = 5_000;

/// One end alone forgets a lasting connection on which both send one message after another, because it is told to or
/// begins anew. Nothing arrives twice or out of its turn; the other end, which goes on to send, is told that it is
/// refused; and soon nothing is said of the connection.
pub fn one_end_forgets_a_lasting_connection(subjects: &[Subject]) {
    const LENGTHS: [u64; 8] = [1_000, 60_000, 0, 20_000, 1_460, 100_000, 1, 30_000];
    let mut failures = Failures::default();
    for subject in subjects {
        for (host, again) in [(A, false), (B, false), (A, true), (B, true)] {
            for at in [7, 11, 15, 25, 40, 70, 120, 180, 300, 1_000].map(|us| Time(us * 1_000_000)) {
                let how = if again {
                    "begins anew"
                } else {
                    "is told to forget"
                };
                let what = format!("{}, {host:?} {how} at {at}", subject.name);
                failures.watch(&what, || {
                    let make = subject.make();
                    // Who hears nothing may be patient.
                    let mut pair = subject.pair(make).limit(Span::ms(10_000_000));
                    let conn = pair.connect(Time::ZERO, A, B);
                    for (length, i) in LENGTHS.into_iter().zip(0_u64..) {
                        // The end that forgets knows of no connection afterwards.
                        for (from, first) in [(A, 0), (B, 6)] {
                            let sent = Time((first + i * 14) * 1_000_000);
                            if from != host || sent < at {
                                pair.send(sent, conn, from, length);
                            }
                        }
                    }
                    let other = if host == A { B } else { A };
                    pair.send(at.after(Span::us(200)), conn, other, 5_000);
                    if again {
                        pair.restart(at, host);
                    } else {
                        pair.forget(at, conn, host);
                    }
                    pair.run_until(at);
                    let before = pair.packets();
                    pair.run();
                    let count = |what: fn(Event) -> bool| {
                        let events = pair.events().iter();
                        events
                            .filter(|&&(_, who, event)| who == other && what(event))
                            .count()
                    };
                    let refused = count(|event| matches!(event, Event::Refused { .. })) > 0;
                    let done = count(|event| matches!(event, Event::Sent { .. }));
                    let arrived = pair.received(conn, other) as usize;
                    // All of it arrives where the end that forgot had heard of none of it.
                    assert!(
                        refused || arrived > LENGTHS.len(),
                        "nobody told {other:?}\n{}",
                        pair.tail()
                    );
                    assert!(done <= arrived, "{done} done of {arrived}\n{}", pair.tail());
                    let said = pair.packets() - before;
                    assert!(said <= AGAIN_MAX, "{said} packets\n{}", pair.tail());
                });
            }
        }
    }
    failures.report();
}

/// Calls of `on_deadline` before their time change nothing.
pub fn a_spurious_deadline_changes_nothing(subjects: &[Subject]) {
    each(subjects, |subject| {
        let exchange = |pair: &mut Pair<'_>| {
            pair.message(Time::ZERO, A, B, 20_000);
            let conn = pair.connect(Time(2_000_000), B, A);
            pair.send(Time(2_000_000), conn, B, 5_000);
            pair.reply(conn, A, 0, 3_000);
            pair.lose(5);
            pair.lose(9);
        };
        let make = subject.make();
        let mut plain = subject.pair(make);
        exchange(&mut plain);
        run(&mut plain);
        let (ladder, end) = (plain.ladder(), plain.now());
        for seed in 0..4 {
            let mut rng = Rng::stream(seed, stream::TEST, 7);
            let mut poked = subject.pair(make);
            exchange(&mut poked);
            for host in [A, B] {
                // Half of them in the busy beginning, half anywhere.
                (0..500).for_each(|_| poked.poke(Time(rng.below(200_000_000)), host));
                (0..500).for_each(|_| poked.poke(Time(rng.below(end.0)), host));
            }
            run(&mut poked);
            assert_eq!(poked.ladder(), ladder, "seed {seed}");
        }
    });
}

/// An endpoint is not called more often than its packets explain.
pub fn work_grows_with_packets_only(subjects: &[Subject]) {
    each(subjects, |subject| {
        let make = subject.make();
        let mut pair = subject.pair(make);
        for i in 0..20 {
            pair.message(Time(i * 10_000_000), A, B, 50_000);
        }
        run(&mut pair);
        // A poll, an arrival and a timer per packet, and as much again for good measure.
        let allowed = 6 * pair.packets() + 1_000;
        assert!(
            pair.calls() < allowed,
            "{} calls, {} packets",
            pair.calls(),
            pair.packets()
        );
    });
}

/// Nothing but the seed decides.
pub fn the_same_seed_gives_the_same_run(subjects: &[Subject]) {
    each(subjects, |subject| {
        let digest = |seed, chaos| {
            let make = subject.make();
            let mut pair = subject.star(3, make).seed(seed);
            pair.message(Time::ZERO, A, B, 100_000);
            pair.message(Time::ZERO, C, B, 100_000);
            let two_percent = 20_000_000;
            let faults = Chaos {
                lose_ppb: two_percent,
                delay_ppb: two_percent,
                delay_max: Span::us(30),
                ..Chaos::default()
            };
            pair.chaos(faults, chaos);
            run(&mut pair);
            pair.digest()
        };
        assert_eq!(digest(1, 1), digest(1, 1));
        assert_ne!(digest(1, 1), digest(1, 2), "other losses, same run");
    });
}

/// Random applications over random networks: see [`conversation`].
pub fn random_conversations_end_well(subjects: &[Subject]) {
    let text = std::env::var("CONFORMANCE_SEEDS").unwrap_or_else(|_| "0..150".to_owned());
    let (from, to) = text
        .split_once("..")
        .expect("CONFORMANCE_SEEDS is like 1..5000");
    let number = |text: &str| text.parse::<u64>().expect("a seed is a whole number");
    let seeds = number(from)..number(to);
    // Cargo says whose tests these are.
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let mut failures = Failures::default();
    for subject in subjects {
        for seed in seeds.clone() {
            let replay = format!(
                "CONFORMANCE_ONLY='{}' CONFORMANCE_SEEDS={seed}..{} cargo test -p {package} \
                 --test conformance random_conversations",
                subject.name,
                seed + 1
            );
            failures.watch(&replay, || {
                let make = subject.make();
                run(&mut conversation(
                    make,
                    subject.codec(),
                    &subject.name,
                    seed,
                ));
            });
        }
    }
    failures.report();
}

/// What an endpoint counts is what the line saw.
pub fn totals_agree_with_the_line(subjects: &[Subject]) {
    each(subjects, |subject| {
        for chaotic in [false, true] {
            let make = subject.make();
            let mut pair = subject.star(4, make);
            for from in [A, B, C] {
                pair.message(Time::ZERO, from, model::HostId(3), 80_000);
            }
            if chaotic {
                pair.chaos(
                    Chaos {
                        lose_ppb: 30_000_000,
                        ..Chaos::default()
                    },
                    3,
                );
            }
            run(&mut pair);
            let totals = pair.totals();
            // What carries nothing may be a question alone.
            let carries = |p: &Packet| {
                subject
                    .codec()
                    .payload(p)
                    .is_some_and(|(_, length)| length > 0)
            };
            let data = pair.count(carries);
            assert_eq!(totals.data_sent, data);
            let credits = pair.count(|p| p.class() == model::Class::Credit);
            assert_eq!(totals.credits_sent - totals.credits_dropped, credits);
            assert!(
                totals.credits_wasted <= totals.credits_received,
                "{totals:?}"
            );
            assert!(chaotic || totals.credits_received == credits, "{totals:?}");
            assert!(totals.retransmitted <= totals.data_sent);
            assert!(
                chaotic || totals.retransmitted + totals.duplicates + totals.timeouts == 0,
                "{totals:?}"
            );
        }
    });
}

/// Random bytes as packets and calls: see [`crate::feed`].
pub fn scripts_of_every_seed_leave_endpoints_whole(subjects: &[Subject]) {
    let mut failures = Failures::default();
    for subject in subjects {
        for seed in 0..1_500 {
            let mut rng = Rng::stream(seed, stream::TEST, 3);
            let length = rng.below(600);
            let bytes: Vec<u8> = (0..length)
                .map(|_| rng.next_u64().to_be_bytes()[0])
                .collect();
            failures.watch(&format!("{}, script of seed {seed}", subject.name), || {
                subject.feed(&bytes);
            });
        }
    }
    failures.report();
}
