//! Conversations as ladders, and windows as curves.

mod by_hand;
mod limits;
mod rare;
mod wire;

use super::header::Syn;
use super::*;
use model::{ConnId, Event, HostId, Lifetime, Rng, Signal, stream};
use testkit::{A, B, Chaos, Pair};
use units::{Bytes, Time};

fn make(params: &Params) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> + '_ {
    |config| Factory::make(params, config)
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(params: &Params, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let make = make(params);
    let mut pair = Pair::new(&make, &header::CODEC).named("dctcp");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

#[test]
fn a_message_takes_a_handshake_and_a_window() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
    });
    let page = include_str!("README.md");
    assert!(
        ladder.lines().all(|line| page.contains(line.trim())),
        "the page shows this ladder"
    );
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN one message                             84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+1460                               1538 B
    11.364us  A -> B  DATA 1460+1460                            1538 B
    12.595us  A -> B  DATA 2920+1080 end                        1158 B
    17.595us  A <- B  ACK 2920                                    84 B
    18.521us  B received message 0, 4000 B
    18.521us  A <- B  ACK 4000 done                               84 B
    23.588us  A is done with message 0
    ");
}

#[test]
fn a_lost_packet_is_repaired_by_selective_acknowledgements() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 14_600);
        pair.lose(("DATA", 3));
    });
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN one message                             84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+1460                               1538 B
    11.364us  A -> B  DATA 1460+1460                            1538 B
    12.595us  A -> B  DATA 2920+1460                            1538 B  X lost
    13.825us  A -> B  DATA 4380+1460                            1538 B
    15.056us  A -> B  DATA 5840+1460                            1538 B
    16.286us  A -> B  DATA 7300+1460                            1538 B
    17.516us  A -> B  DATA 8760+1460                            1538 B
    17.595us  A <- B  ACK 2920                                    84 B
    18.747us  A -> B  DATA 10220+1460                           1538 B
    19.977us  A -> B  DATA 11680+1460                           1538 B
    20.056us  A <- B  ACK 2920 sack 4380..5840                    84 B
    21.208us  A -> B  DATA 13140+1460 end                       1538 B
    21.286us  A <- B  ACK 2920 sack 4380..7300                    84 B
    22.516us  A <- B  ACK 2920 sack 4380..8760                    84 B
    23.747us  A <- B  ACK 2920 sack 4380..10220                   84 B
    24.977us  A <- B  ACK 2920 sack 4380..11680                   84 B
    26.208us  A <- B  ACK 2920 sack 4380..13140                   84 B
    27.438us  A <- B  ACK 2920 sack 4380..14600                   84 B
    27.584us  A -> B  DATA 2920+1460 again                      1538 B
    33.814us  B received message 0, 14600 B
    33.814us  A <- B  ACK 14600 done                              84 B
    38.881us  A is done with message 0
    ");
}

#[test]
fn two_lost_packets_cost_newreno_a_partial_acknowledgement() {
    let params = Params {
        sack: false,
        ..Params::DEFAULT
    };
    let ladder = ladder(&params, |pair| {
        pair.message(Time::ZERO, A, B, 14_600);
        pair.lose(("DATA", 3));
        pair.lose(("DATA", 5));
    });
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN one message                             84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+1460                               1538 B
    11.364us  A -> B  DATA 1460+1460                            1538 B
    12.595us  A -> B  DATA 2920+1460                            1538 B  X lost
    13.825us  A -> B  DATA 4380+1460                            1538 B
    15.056us  A -> B  DATA 5840+1460                            1538 B  X lost
    16.286us  A -> B  DATA 7300+1460                            1538 B
    17.516us  A -> B  DATA 8760+1460                            1538 B
    17.595us  A <- B  ACK 2920                                    84 B
    18.747us  A -> B  DATA 10220+1460                           1538 B
    19.977us  A -> B  DATA 11680+1460                           1538 B
    20.056us  A <- B  ACK 2920                                    84 B
    21.208us  A -> B  DATA 13140+1460 end                       1538 B
    22.516us  A <- B  ACK 2920                                    84 B
    23.747us  A <- B  ACK 2920                                    84 B
    24.977us  A <- B  ACK 2920                                    84 B
    26.208us  A <- B  ACK 2920                                    84 B
    27.438us  A <- B  ACK 2920                                    84 B
    28.814us  A -> B  DATA 2920+1460 again                      1538 B
    35.044us  A <- B  ACK 5840                                    84 B
    40.112us  A -> B  DATA 5840+1460 again                      1538 B
    46.342us  B received message 0, 14600 B
    46.342us  A <- B  ACK 14600 done                              84 B
    51.409us  A is done with message 0
    ");
}

#[test]
fn a_lost_tail_waits_for_the_timer_and_each_wait_doubles() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        for n in 2..6 {
            pair.lose(("DATA", n));
        }
    });
    insta::assert_snapshot!(ladder, @r"
        0.000us  A -> B  SYN one message                             84 B
        5.067us  A <- B  SYN-ACK                                     84 B
       10.134us  A -> B  DATA 0+1460                               1538 B
       11.364us  A -> B  DATA 1460+1460                            1538 B  X lost
       12.595us  A -> B  DATA 2920+1080 end                        1158 B  X lost
     1016.364us  A <- B  ACK 1460                                    84 B
    11021.432us  A -> B  DATA 1460+1460 again                      1538 B  X lost
    31021.432us  A -> B  DATA 1460+1460 again                      1538 B  X lost
    71021.432us  A -> B  DATA 1460+1460 again                      1538 B
    72027.662us  A <- B  ACK 2920                                    84 B
    72032.729us  A -> B  DATA 2920+1080 end again                  1158 B
    72038.656us  B received message 0, 4000 B
    72038.656us  A <- B  ACK 4000 done                               84 B
    72043.723us  A is done with message 0
    ");
}

#[test]
fn a_change_of_marks_is_echoed_at_once() {
    let ladder = ladder(
        &Params {
            alpha_initial: 0.0,
            ..Params::DEFAULT
        },
        |pair| {
            pair.message(Time::ZERO, A, B, 14_600);
            for n in 4..7 {
                pair.mark(("DATA", n));
            }
        },
    );
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN one message                             84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+1460                               1538 B
    11.364us  A -> B  DATA 1460+1460                            1538 B
    12.595us  A -> B  DATA 2920+1460                            1538 B
    13.825us  A -> B  DATA 4380+1460                            1538 B  * marked
    15.056us  A -> B  DATA 5840+1460                            1538 B  * marked
    16.286us  A -> B  DATA 7300+1460                            1538 B  * marked
    17.516us  A -> B  DATA 8760+1460                            1538 B
    17.595us  A <- B  ACK 2920                                    84 B
    18.747us  A -> B  DATA 10220+1460                           1538 B
    19.977us  A -> B  DATA 11680+1460                           1538 B
    20.056us  A <- B  ACK 4380                                    84 B
    20.123us  A <- B  ACK 5840 echo                               84 B
    21.208us  A -> B  DATA 13140+1460 end                       1538 B
    22.516us  A <- B  ACK 8760 echo                               84 B
    23.747us  A <- B  ACK 10220                                   84 B
    26.208us  A <- B  ACK 13140                                   84 B
    27.438us  B received message 0, 14600 B
    27.438us  A <- B  ACK 14600 done                              84 B
    32.505us  A is done with message 0
    ");
}

#[test]
fn a_request_and_its_answer_share_a_connection() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time::ZERO, conn, A, 100);
        pair.reply(conn, B, 0, 2_000);
        pair.send(Time::ZERO + Span::us(60), conn, A, 0);
    });
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN                                         84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+100 end                             178 B
    15.276us  B received message 0, 100 B
    15.276us  A <- B  ACK 100                                     84 B
    15.344us  A <- B  DATA 0+1460                               1538 B
    16.574us  A <- B  DATA 1460+540 end                          618 B
    20.344us  A is done with message 0
    22.068us  A received message 0, 2000 B
    22.068us  A -> B  ACK 2000                                    84 B
    27.136us  B is done with message 0
    60.000us  A -> B  DATA 100+0 end                              84 B
    65.067us  B received message 1, 0 B
    65.067us  A <- B  ACK 101                                     84 B
    70.134us  A is done with message 1
    ");
}

#[test]
fn a_cancelled_message_ends_after_its_last_packet() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time::ZERO, conn, A, 100_000);
        pair.send(Time::ZERO, conn, A, 5_000);
        pair.cancel(Time::ZERO + Span::us(12), conn, A);
        pair.send(Time::ZERO + Span::us(14), conn, A, 700);
    });
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN                                         84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+1460                               1538 B
    11.364us  A -> B  DATA 1460+1460                            1538 B
    12.000us  A cancels
    12.595us  A -> B  DATA 2920+0 end                             84 B
    12.662us  A -> B  DATA 2920+0 end                             84 B
    14.000us  A -> B  DATA 2920+700 end                          778 B
    17.595us  A <- B  ACK 2920                                    84 B
    17.662us  B received message 0, 2920 B
    17.662us  A <- B  ACK 2921                                    84 B
    17.729us  B received message 1, 0 B
    17.729us  A <- B  ACK 2922                                    84 B
    19.622us  B received message 2, 700 B
    19.622us  A <- B  ACK 3622                                    84 B
    22.729us  A is done with message 0
    22.796us  A is done with message 1
    24.689us  A is done with message 2
    ");
}

#[test]
fn a_forgotten_connection_still_ends_its_sender() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 2_000);
        pair.lose(("ACK", 1));
    });
    insta::assert_snapshot!(ladder, @r"
        0.000us  A -> B  SYN one message                             84 B
        5.067us  A <- B  SYN-ACK                                     84 B
       10.134us  A -> B  DATA 0+1460                               1538 B
       11.364us  A -> B  DATA 1460+540 end                          618 B
       16.859us  B received message 0, 2000 B
       16.859us  A <- B  ACK 2000 done                               84 B  X lost
    10010.134us  A -> B  DATA 0+1460 again                         1538 B
    10016.364us  A <- B  ACK 1460 done                               84 B
    10021.432us  A is done with message 0
    ");
}

#[test]
fn a_copy_of_the_syn_does_not_revive_what_has_ended() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 1);
        pair.duplicate(("DATA", 1));
        let syn = Syn {
            incarnation: 0,
            lifetime: Lifetime::OneMessage,
        };
        pair.inject(Time::ZERO + Span::us(50), B, syn.packet(B, ConnId(1), 84));
    });
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN one message                             84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+1 end                                84 B  x2 duplicated
    15.201us  B received message 0, 1 B
    15.201us  A <- B  ACK 1 done                                  84 B
    15.268us  A <- B  ACK 1 done                                  84 B
    20.268us  A is done with message 0
    50.000us  B gets control kind 17 of ConnId(1) to HostId(1), 84 B, head [0, 0, 0], at 0ps from nowhere
    ");
}

#[test]
fn a_full_host_refuses_and_the_opener_hears_it() {
    let params = Params {
        connections_max: 1,
        ..Params::DEFAULT
    };
    let make = make(&params);
    let mut pair = Pair::star(3, &make, &header::CODEC);
    pair.message(Time::ZERO, A, B, 100_000);
    pair.message(Time::ZERO + Span::us(30), testkit::C, B, 1);
    pair.run();
    let refused: Vec<_> = pair
        .events()
        .iter()
        .filter_map(|(_, host, event)| matches!(event, Event::Refused { .. }).then_some(*host))
        .collect();
    assert_eq!(refused, [testkit::C]);
}

#[test]
fn every_packet_of_a_short_exchange_may_be_lost_doubled_or_late() {
    let plain = Params {
        sack: false,
        ..Params::DEFAULT
    };
    let each = Params {
        ack: AckPolicy::Each,
        ..Params::DEFAULT
    };
    for params in [
        &Params::DEFAULT,
        &plain,
        &each,
        &Params::NS3,
        &Params::DCTCP2010,
    ] {
        let make = make(params);
        for length in [0, 1, 1_460, 1_461, 20_000] {
            let converse = |fault: &dyn Fn(&mut Pair<'_>)| {
                let mut pair = Pair::new(&make, &header::CODEC).named(params.profile);
                pair.message(Time::ZERO, A, B, length);
                let conn = pair.connect(Time::ZERO, B, A);
                pair.send(Time::ZERO, conn, B, length);
                pair.reply(conn, A, 0, length);
                fault(&mut pair);
                pair.run();
                pair.packets()
            };
            let packets = converse(&|_| {});
            for n in 1..=packets {
                converse(&|pair| pair.lose(n));
                converse(&|pair| pair.duplicate(n));
                converse(&|pair| pair.delay_packet(n, Span::us(30)));
                converse(&|pair| pair.delay_packet(n, Span::ms(30)));
                converse(&|pair| {
                    pair.lose(n);
                    pair.lose(n + 1);
                });
            }
        }
    }
}

#[test]
fn chaos_costs_time_and_nothing_else() {
    let plain = Params {
        sack: false,
        ..Params::DEFAULT
    };
    let patient = Params {
        retries_max: 60,
        ..Params::NS3
    };
    for params in [&Params::DEFAULT, &plain, &patient] {
        let make = make(params);
        for seed in 0..30 {
            let mut pair = Pair::star(4, &make, &header::CODEC)
                .named(params.profile)
                .seed(seed);
            // A second per timeout adds up.
            pair = pair.limit(Span::ms(3_600_000));
            let mut rng = Rng::stream(seed, stream::TEST, 0);
            let chaos = Chaos {
                lose_ppb: u32::try_from(rng.below(200_000_000)).unwrap(),
                duplicate_ppb: u32::try_from(rng.below(100_000_000)).unwrap(),
                delay_ppb: u32::try_from(rng.below(300_000_000)).unwrap(),
                delay_max: Span::us(rng.between(1, 100)),
                mark_ppb: u32::try_from(rng.below(500_000_000)).unwrap(),
                ..Chaos::default()
            };
            pair.chaos(chaos, seed);
            for n in 0..8u32 {
                let from = HostId(n % 4);
                let to = HostId((n + 1 + n / 4) % 4);
                let at = Time::ZERO + Span::us(rng.below(200));
                pair.message(at, from, to, rng.below(300_000));
                let conn = pair.connect(at, from, to);
                for answer in 0..3 {
                    pair.send(at, conn, from, rng.below(5_000));
                    pair.reply(conn, to, answer, rng.below(20_000));
                }
            }
            pair.run();
        }
    }
}

/// Fourteen seconds are more than sixteen timeouts, of which the last ten take a second each.
#[test]
fn a_sender_of_ns2_outlasts_a_silence_at_which_another_gives_up() {
    for (params, arrives) in [(Params::DEFAULT, 0), (Params::NS2, 1)] {
        let make = make(&params);
        let mut pair = Pair::new(&make, &header::CODEC).limit(Span::ms(200_000));
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        pair.down(B, Time(30_000_000), Time::ZERO + Span::ms(14_000));
        pair.run();
        assert_eq!(pair.received(conn, A), arrives, "{}", params.profile);
    }
}

#[test]
fn an_incast_shares_a_small_buffer_to_the_end() {
    let params = Params::DEFAULT;
    let make = make(&params);
    let mut pair = Pair::star(17, &make, &header::CODEC)
        .buffer(Bytes(60_000))
        .mark_from(Bytes(30_000));
    for host in 1..17 {
        pair.message(Time::ZERO, HostId(host), A, 100_000);
    }
    pair.run();
    assert!(
        pair.totals().retransmitted > 0,
        "sixteen first windows do not fit"
    );
    assert_eq!(pair.totals().nonsense, 0);
}

#[test]
fn pieces_beyond_what_a_receiver_remembers_are_dropped_and_nothing_is_lost() {
    // Every second packet of 600 is lost: more gaps than either end keeps.
    let params = Params {
        initial_window: 1000,
        ..Params::DEFAULT
    };
    let make = make(&params);
    // All of them leave before the first acknowledgement comes.
    let mut pair = Pair::new(&make, &header::CODEC).delay(Span::ms(1));
    pair.message(Time::ZERO, A, B, 600 * 1460);
    for n in 0..600 {
        pair.lose(("DATA", 2 * n + 1));
    }
    pair.run();
    assert!(
        pair.totals().nonsense > 0,
        "the receiver counts what it had no room for"
    );
}

#[test]
fn both_ends_may_send_as_soon_as_they_hear_of_each_other() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        let conn = pair.connect(Time::ZERO, A, B);
        pair.send(Time::ZERO, conn, A, 100);
        pair.send(Time::ZERO + Span::us(6), conn, B, 100);
    });
    insta::assert_snapshot!(ladder, @r"
     0.000us  A -> B  SYN                                         84 B
     5.067us  A <- B  SYN-ACK                                     84 B
    10.134us  A -> B  DATA 0+100 end                             178 B
    15.276us  B received message 0, 100 B
    15.276us  A <- B  ACK 100                                     84 B
    15.344us  A <- B  DATA 0+100 end                             178 B
    20.344us  A is done with message 0
    20.486us  A received message 0, 100 B
    20.486us  A -> B  ACK 100                                     84 B
    25.553us  B is done with message 0
    ");
}

#[test]
fn no_message_that_its_receiver_has_dropped_is_called_sent() {
    let make = make(&Params::DEFAULT);
    let mut pair = Pair::new(&make, &header::CODEC);
    let conns = [(); 3].map(|()| pair.message(Time::ZERO, A, B, 10_000));
    for conn in conns {
        pair.forget(Time::ZERO + Span::us(20), conn, B);
    }
    pair.run();
    for conn in conns {
        let of_sender = pair.events().iter().filter(|(_, host, _)| *host == A);
        let told: Vec<_> = of_sender.map(|&(.., event)| event).collect();
        let sent = Event::Sent { conn, ordinal: 0 };
        assert!(told.contains(&Event::Refused { conn }) && !told.contains(&sent));
    }
}

#[test]
fn no_answer_that_its_asker_has_dropped_is_called_sent() {
    let make = make(&Params::DEFAULT);
    let mut pair = Pair::new(&make, &header::CODEC);
    let conn = pair.exchange(Time::ZERO, A, B, [100, 10_000]);
    pair.forget(Time::ZERO + Span::us(22), conn, A);
    pair.run();
    let of_answerer = pair.events().iter().filter(|(_, host, _)| *host == B);
    let told: Vec<_> = of_answerer.map(|&(.., event)| event).collect();
    assert!(told.contains(&Event::Refused { conn }), "{told:?}");
    assert!(
        !told.contains(&Event::Sent { conn, ordinal: 0 }),
        "{told:?}"
    );
}

#[test]
fn a_paused_flow_keeps_still_and_others_do_not() {
    let params = Params::DEFAULT;
    let make = make(&params);
    let mut pair = Pair::new(&make, &header::CODEC);
    let at = |us| Time::ZERO + Span::us(us);
    let paused = pair.message(at(0), A, B, 14_600);
    let other = pair.message(at(0), A, B, 14_600);
    pair.signal(at(11), A, Signal::PauseFlow(paused));
    pair.signal(at(500), A, Signal::ResumeFlow(paused));
    pair.signal(at(502), A, Signal::PausePriority(0));
    pair.signal(at(600), A, Signal::ResumePriority(0));
    pair.run();
    let ended = |conn| {
        let found = pair.events().iter().find(|(_, host, event)| {
            *host == B && matches!(event, Event::Received { conn: of, .. } if *of == conn)
        });
        found.unwrap().0
    };
    assert!(ended(other) < at(50), "{}", ended(other));
    assert!(
        (at(600)..at(630)).contains(&ended(paused)),
        "{}",
        ended(paused)
    );
}

proptest::proptest! {
    #[test]
    fn whatever_a_peer_sends_no_invariant_breaks(
        script in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600),
    ) {
        for params in [Params::DEFAULT, Params { sack: false, ..Params::DEFAULT }] {
            testkit::feed(&make(&params), &header::CODEC, &script);
        }
    }
}
