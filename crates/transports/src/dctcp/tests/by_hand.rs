//! One host alone: windows as curves, peers that lie, peers that are silent.
//!
//! First the window, round by round: under marks, full or few, and as each parameter has it grow. Then losses and timeouts, with
//! the choices of other implementations one by one: what makes room, what is sent again, which marks and acknowledgements count.
//! Then openings and connections that nobody knows; random lies to a sender and to a receiver; and silence on either side.

use super::super::header::{Ack, Data, Kind, Reset, Syn, SynAck};
use super::super::host::Host;
use super::super::sender::Sender;
use super::super::*;
use model::{ConnId, Ecn, Event, HostId, Lifetime, Rng, stream};
use testkit::{A, B};
use units::{Bytes, Time};

/// One host, driven by hand.
pub(super) type Bench = testkit::Alone<Host>;

fn alone(params: &Params, me: HostId) -> Bench {
    let config = EndpointConfig::new(me, Rate::gbps(10), Encap::PAPER).with(|told| {
        (told.base_rtt, told.control_rtt) = (Span::us(12), Span::us(11));
        told.port_buffer = Bytes(384_500);
    });
    Bench::new(Host::new(params, &config))
}

/// A sender with its connection open and `length` bytes to send.
pub(super) fn open(params: &Params, length: u64) -> Bench {
    let mut bench = alone(params, A);
    bench.call(|host, cx| {
        host.connect(cx, ConnId(1), B, Lifetime::Persistent);
        host.send(cx, ConnId(1), length);
    });
    let syn = bench.poll().unwrap();
    assert_eq!(Kind::of(&syn), Some(Kind::Syn));
    let Syn { incarnation, .. } = Syn::read(&syn);
    bench.now += Span::us(100);
    let accept = SynAck { incarnation };
    bench.hear(&accept.packet(A, ConnId(1), 84));
    bench
}

fn sender(bench: &Bench) -> &Sender {
    bench.host.sender(ConnId(1))
}

/// Sends all that may leave and returns how many packets that are.
pub(super) fn flush(bench: &mut Bench) -> u64 {
    std::iter::from_fn(|| bench.poll()).count() as u64
}

/// `packets` more arrived, two by two; the first `marked` of them were marked.
pub(super) fn acknowledge(bench: &mut Bench, from: u64, packets: u64, marked: u64) {
    let mut done = 0;
    while done < packets {
        let step = 2.min(packets - done);
        let cumulative = (from + done + step) * 1460;
        let echo = done < marked;
        let ack = Ack {
            echo,
            ..Ack::new(cumulative, None)
        };
        bench.hear(&ack.packet(A, ConnId(1), 84));
        done += step;
    }
}

/// Packets that leave per round trip, and behind them alpha's effect: the window in packets at the
/// end of the round. `marked` of each round's packets come back marked.
fn rounds(params: &Params, marked: &[u64]) -> String {
    let (mut bench, mut acked) = (open(params, 1 << 40), 0);
    let round = marked.iter().map(|&marked| {
        let sent = flush(&mut bench);
        bench.now += Span::us(100);
        acknowledge(&mut bench, acked, sent, marked);
        acked += sent;
        let window = sender(&bench).window() as f64 / 1460.0;
        format!("{sent}:{window:.1} ")
    });
    round.collect()
}

#[test]
fn without_marks_the_window_doubles() {
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &[0; 7]), @"10:20.0 20:40.0 40:80.0 80:160.0 160:320.0 320:640.0 640:1280.0");
}

#[test]
fn one_marked_packet_ends_the_doubling() {
    let marked = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &marked), @"10:20.0 20:40.0 40:80.0 80:53.0 53:54.0 54:55.0 55:56.0 56:57.0 57:58.0 58:59.0");
}

#[test]
fn full_marking_brings_the_window_to_its_least() {
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &[1000; 8]), @"10:5.0 5:2.5 2:2.0 2:2.0 2:2.0 2:2.0 2:2.0 2:2.0");
}

#[test]
fn a_cut_falls_silent_and_a_spread_one_sends_less() {
    // Packets that leave upon each acknowledgement of two, of which the second one tells of a mark.
    let leave = |prr, prr_ahead| -> String {
        let params = Params {
            initial_window: 24,
            prr,
            prr_ahead,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 1 << 40);
        let flight = flush(&mut bench);
        let answered = (0..flight + 8).step_by(2).map(|acked| {
            bench.now += Span::us(3);
            acknowledge(&mut bench, acked, 2, if acked == 2 { 2 } else { 0 });
            format!("{} ", flush(&mut bench))
        });
        answered.collect()
    };
    insta::assert_snapshot!(leave(false, false), @"4 0 0 0 0 0 0 1 3 2 2 2 2 2 2 2");
    insta::assert_snapshot!(leave(true, false), @"4 1 0 1 1 1 1 1 2 1 1 1 0 2 2 2");
    // Five packets count at once, of which about half may leave.
    assert!(
        leave(true, true).starts_with("4 2 "),
        "{}",
        leave(true, true)
    );
}

#[test]
fn who_may_open_the_window_sets_its_height_under_steady_marks() {
    // Every other round comes back marked in its first half.
    let marked: Vec<u64> = (0..14).map(|round| 20 * (round % 2)).collect();
    let curve = |growth| {
        let params = Params {
            growth,
            alpha_initial: 0.1,
            ssthresh_initial: Some(40),
            initial_window: 40,
            ack: AckPolicy::Each,
            ..Params::DEFAULT
        };
        rounds(&params, &marked)
    };
    insta::assert_snapshot!(curve(Growth::Settled), @"40:41.0 41:38.0 38:38.0 38:34.3 34:34.3 34:30.1 30:30.1 30:25.9 25:25.9 25:21.9 21:21.9 21:18.2 18:18.2 18:14.8");
    insta::assert_snapshot!(curve(Growth::Unmarked), @"40:41.0 41:38.0 38:39.0 39:35.2 35:36.2 36:31.8 31:32.8 32:28.3 28:29.3 29:24.8 24:25.8 25:21.5 21:22.5 22:18.4");
    insta::assert_snapshot!(curve(Growth::All), @"40:41.0 41:39.0 39:40.0 40:37.1 37:38.1 38:34.5 34:35.5 35:31.6 31:32.6 32:28.7 28:29.7 29:25.9 25:26.9 26:23.2");
}

/// Packets that leave upon each of 20 acknowledgements, of which each tells of one more packet beyond
/// a gap of `gap` packets. The window is of 40 packets and full.
fn repairs(params: &Params, gap: u64) -> String {
    let params = Params {
        initial_window: 40,
        ..*params
    };
    let mut bench = open(&params, 1 << 40);
    assert_eq!(flush(&mut bench), 40);
    let answered = (0..20).map(|more| {
        bench.now += Span::us(3);
        let ack = Ack::new(0, Some((gap * 1460, (gap + 1 + more) * 1460)));
        bench.hear(&ack.packet(A, ConnId(1), 84));
        format!("{} ", flush(&mut bench))
    });
    answered.collect()
}

#[test]
fn limited_transmit_sends_new_data_for_what_arrives_beyond_a_gap() {
    let without = Params {
        limited_transmit: false,
        ..Params::DEFAULT
    };
    insta::assert_snapshot!(repairs(&Params::DEFAULT, 1), @"1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    insta::assert_snapshot!(repairs(&without, 1), @"0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
}

#[test]
fn lost_packets_keep_their_room_in_the_window_where_the_pipe_counts_them() {
    let counted = Params {
        limited_transmit: false,
        lost_leaves: false,
        ..Params::DEFAULT
    };
    let left = Params {
        lost_leaves: true,
        ..counted.clone()
    };
    insta::assert_snapshot!(repairs(&left, 10), @"0 0 1 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1");
    insta::assert_snapshot!(repairs(&counted, 10), @"0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
}

/// Six of ten packets are lost. What the first repair brings back makes room for one more, as it took none.
#[test]
fn the_first_repair_takes_no_room_where_lost_packets_keep_theirs() {
    let leave = |lost_leaves| {
        let params = Params {
            limited_transmit: false,
            initial_window: 10,
            lost_leaves,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 10 * 1460);
        assert_eq!(flush(&mut bench), 10);
        let acks = [(0, 7), (0, 8), (0, 9), (0, 10), (1, 10), (2, 10)];
        acks.map(|(cumulative, end)| {
            let ack = Ack::new(cumulative * 1460, Some((6 * 1460, end * 1460)));
            bench.hear(&ack.packet(A, ConnId(1), 84));
            flush(&mut bench)
        })
    };
    assert_eq!(leave(false), [0, 0, 1, 0, 1, 2]);
    assert_eq!(leave(true), [0, 0, 4, 1, 1, 0]);
}

#[test]
fn a_doubled_timeout_holds_until_a_round_trip_is_measured_where_karn_is_heeded() {
    // The second timeout of a message of four packets, of which one more arrived after the first.
    let waits = |karn| {
        let params = Params {
            karn,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 4 * 1460);
        flush(&mut bench);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        assert_eq!(flush(&mut bench), 1);
        acknowledge(&mut bench, 0, 1, 0);
        sender(&bench).deadline().since(bench.now)
    };
    assert_eq!(waits(false), Span::ms(10));
    assert_eq!(waits(true), Span::ms(20));
}

#[test]
fn a_timeout_after_a_mark_spares_the_threshold_where_marks_are_remembered() {
    let timeout = |timeout_after_mark, marked| {
        let params = Params {
            alpha_initial: 0.0,
            timeout_after_mark,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 60 * 1460);
        assert_eq!(flush(&mut bench), 10);
        acknowledge(&mut bench, 0, 2, marked);
        flush(&mut bench);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        flush(&mut bench);
        // What the timeout repairs arrives packet by packet, until something is lost again.
        for acked in 2..8 {
            acknowledge(&mut bench, acked, 1, 0);
            flush(&mut bench);
        }
        let grown = sender(&bench).window() / 1460;
        for end in 10..13 {
            let block = Some((9 * 1460, end * 1460));
            bench.hear(&Ack::new(8 * 1460, block).packet(A, ConnId(1), 84));
        }
        (grown, sender(&bench).repairs_a_loss())
    };
    assert_eq!(timeout(true, 0), (6, false), "no mark");
    assert_eq!(timeout(false, 0), (6, false), "no mark");
    assert_eq!(timeout(true, 2), (4, false), "half of what was in flight");
    assert_eq!(timeout(false, 2), (7, true));
}

/// All but the first two of ten packets arrived. After the timeout the first repair brings back one, and the window is two.
#[test]
fn what_arrived_beyond_a_gap_makes_room_after_a_timeout_where_the_window_is_no_range() {
    let leave = |window_in_order, limited_transmit| {
        let params = Params {
            limited_transmit,
            window_in_order,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 60 * 1460);
        assert_eq!(flush(&mut bench), 10);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        assert_eq!(flush(&mut bench), 1);
        let ack = Ack::new(1460, Some((2 * 1460, 10 * 1460)));
        bench.hear(&ack.packet(A, ConnId(1), 84));
        flush(&mut bench)
    };
    for limited_transmit in [false, true] {
        assert_eq!(leave(false, limited_transmit), 2);
        assert_eq!(leave(true, limited_transmit), 1);
    }
}

/// The third, fifth and later of ten packets arrived, as blocks tell with the first repair after the timeout.
#[test]
fn what_arrived_is_sent_again_after_a_timeout_where_that_goes_back_all_the_way() {
    let repairs = |go_back_n| {
        let params = Params {
            go_back_n,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 10 * 1460);
        assert_eq!(flush(&mut bench), 10);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        assert_eq!(flush(&mut bench), 1);
        for block in [(2, 3), (4, 10)] {
            let ack = Ack::new(1460, Some((block.0 * 1460, block.1 * 1460)));
            bench.hear(&ack.packet(A, ConnId(1), 84));
        }
        let mut left = vec![];
        for acked in [3, 10] {
            left.extend(
                std::iter::from_fn(|| bench.poll()).map(|data| Data::read(&data).offset / 1460),
            );
            acknowledge(&mut bench, acked - 1, 1, 0);
        }
        left
    };
    assert_eq!(repairs(false), [1, 3]);
    assert_eq!(repairs(true), [1, 2, 3, 4, 5]);
}

/// Nothing of ten packets arrived, nor the first repair. Then one packet after the other does.
#[test]
fn each_timeout_halves_the_window_where_acknowledgements_count() {
    let windows = |count_acks| {
        let params = Params {
            count_acks,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 60 * 1460);
        flush(&mut bench);
        for _ in 0..2 {
            bench.now = sender(&bench).deadline();
            bench.call(Host::on_deadline);
            flush(&mut bench);
        }
        [1, 2, 3, 4, 5].map(|acked| {
            acknowledge(&mut bench, acked - 1, 1, 0);
            flush(&mut bench);
            sender(&bench).window() / 1460
        })
    };
    assert_eq!(windows(false), [2, 3, 4, 5, 5]);
    assert_eq!(windows(true), [2, 2, 3, 3, 3]);
}

/// The sixth to eighth of ten packets arrived and all the others are lost. The repairs of a timeout after a mark
/// arrive; those of the sixth to eighth bring nothing new.
#[test]
fn what_was_sent_again_in_vain_tells_of_a_loss_where_every_acknowledgement_counts() {
    let recovers = |go_back_n| {
        let params = Params {
            go_back_n,
            timeout_after_mark: false,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 60 * 1460);
        flush(&mut bench);
        acknowledge(&mut bench, 0, 1, 1);
        flush(&mut bench);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        flush(&mut bench);
        for _ in 0..3 {
            bench.hear(&Ack::new(1460, None).packet(A, ConnId(1), 84));
        }
        sender(&bench).repairs_a_loss()
    };
    assert!(!recovers(false));
    assert!(recovers(true));
}

#[test]
fn the_first_mark_during_the_repair_of_a_timeout_makes_the_window_fall_where_it_counts() {
    let windows = |marks_after_timeout| {
        let params = Params {
            marks_after_timeout,
            growth: Growth::All,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 60 * 1460);
        assert_eq!(flush(&mut bench), 10);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        flush(&mut bench);
        for acked in 0..4 {
            acknowledge(&mut bench, acked, 1, 0);
            flush(&mut bench);
        }
        let before = sender(&bench).window() / 1460;
        let after = [5, 6].map(|acked| {
            acknowledge(&mut bench, acked - 1, 1, 1);
            sender(&bench).window() * 10 / 1460
        });
        (before, after)
    };
    // The second of two marks lets it grow again, by one packet per window.
    assert_eq!(windows(false), (5, [50, 50]));
    let (before, [first, second]) = windows(true);
    assert!(
        before == 5 && first < 40 && second == first,
        "{first}, {second}"
    );
}

#[test]
fn a_syn_ack_is_acknowledged_by_data_or_by_a_packet_that_may_be_marked() {
    let first = |handshake_ack, ecn_acks| {
        let params = Params {
            handshake_ack,
            ecn_acks,
            ..Params::DEFAULT
        };
        let packet = open(&params, 1460).poll().unwrap();
        (Kind::of(&packet).unwrap(), packet.ecn())
    };
    assert_eq!(first(false, true), (Kind::Data, Ecn::Capable0));
    assert_eq!(first(true, true), (Kind::Ack, Ecn::Capable0));
    assert_eq!(first(true, false), (Kind::Ack, Ecn::NotCapable));
}

#[test]
fn a_long_silence_takes_a_grown_window_back_to_its_start() {
    let mut bench = open(&Params::DEFAULT, 50 * 1460);
    let mut acked = 0;
    while !sender(&bench).is_idle() {
        let sent = flush(&mut bench);
        bench.now += Span::us(100);
        acknowledge(&mut bench, acked, sent, 0);
        acked += sent;
    }
    assert_eq!(
        sender(&bench).window(),
        40 * 1460,
        "the last round used half of it"
    );
    bench.now += Span::ms(15);
    bench.call(|host, cx| host.send(cx, ConnId(1), 1));
    assert_eq!(sender(&bench).window(), 20 * 1460, "one timeout has passed");
}

#[test]
fn a_window_stays_where_silence_does_not_count_and_where_there_was_none() {
    let window = |idle_restart, packets: u64| {
        let params = Params {
            idle_restart,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, packets * 1460);
        assert_eq!(flush(&mut bench), 10);
        acknowledge(&mut bench, 0, 10, 0);
        bench.now += Span::ms(15);
        bench.call(|host, cx| host.send(cx, ConnId(1), 1));
        sender(&bench).window() / 1460
    };
    assert_eq!(window(true, 10), 10, "the silence of one timeout");
    assert_eq!(window(false, 10), 20);
    assert_eq!(window(true, 11), 20, "a packet waits to leave");
}

#[test]
fn the_second_of_two_marks_lets_the_window_grow_where_all_acknowledgements_do() {
    let window = |growth| {
        let params = Params {
            growth,
            initial_window: 2,
            window_min: 1,
            ack: AckPolicy::Each,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 100 * 1460);
        flush(&mut bench);
        for acked in [0, 1] {
            acknowledge(&mut bench, acked, 1, 1);
            flush(&mut bench);
        }
        sender(&bench).window() / 1460
    };
    assert_eq!(window(Growth::Unmarked), 1);
    assert_eq!(window(Growth::All), 2);
}

#[test]
fn the_first_of_two_marks_after_a_timeout_stops_the_window_where_all_acknowledgements_count() {
    let windows = |growth| {
        let params = Params {
            growth,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 60 * 1460);
        flush(&mut bench);
        bench.now = sender(&bench).deadline();
        bench.call(Host::on_deadline);
        flush(&mut bench);
        [0, 1, 1]
            .iter()
            .zip(0..)
            .map(|(&marked, acked)| {
                acknowledge(&mut bench, acked, 1, marked);
                flush(&mut bench);
                sender(&bench).window() / 1460
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(windows(Growth::All), [2, 2, 3]);
    assert_eq!(windows(Growth::Unmarked), [2, 3, 4]);
}

#[test]
fn data_before_the_answer_to_an_opener_is_nonsense() {
    let mut bench = alone(&Params::DEFAULT, A);
    bench.call(|host, cx| {
        host.connect(cx, ConnId(1), B, Lifetime::Persistent);
        host.send(cx, ConnId(1), 1_000);
    });
    let data = Data {
        offset: 0,
        gaps: 0,
        length: 5,
        one_shot: false,
        again: false,
        end: true,
    };
    bench.hear(&data.packet(A, ConnId(1), 84));
    assert_eq!(bench.host.totals().nonsense, 1);
    assert_eq!(bench.events, []);
}

#[test]
fn light_marking_costs_little_once_alpha_has_learnt_that_it_is_light() {
    let marked: Vec<u64> = (0..30)
        .map(|round| if round % 3 == 2 { 2 } else { 0 })
        .collect();
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &marked), @"10:20.0 20:40.0 40:25.3 25:26.3 26:27.3 27:20.1 20:21.1 21:22.1 22:18.0 17:19.0 18:20.0 19:17.2 17:18.2 18:19.2 19:17.1 17:18.1 18:19.1 19:17.4 17:18.4 18:18.4 18:16.1 16:17.1 17:18.1 18:17.0 16:17.0 16:18.0 17:16.0 15:17.0 16:18.0 17:16.1");
}

#[test]
fn data_for_a_connection_that_nobody_knows_is_reset() {
    let params = Params::DEFAULT;
    let (mut a, mut b) = (alone(&params, A), alone(&params, B));
    a.call(|host, cx| {
        host.connect(cx, ConnId(1), B, Lifetime::Persistent);
        host.send(cx, ConnId(1), 5_000);
    });
    let syn = a.poll().unwrap();
    b.hear(&syn);
    a.hear(&b.poll().unwrap());
    let data = a.poll().unwrap();
    let mut rebooted = alone(&params, B);
    rebooted.hear(&data);
    let reset = rebooted.poll().unwrap();
    assert_eq!(header::CODEC.describe(&reset), "RESET at 0");
    a.hear(&reset);
    assert_eq!(a.events, GIVEN_UP);
    assert_eq!(a.host.deadline(), Time::NEVER);
    a.hear(&reset);
    assert_eq!(a.poll(), None, "a reset is never answered");
}

/// What an end says that gives its connection up.
const GIVEN_UP: [Event; 2] = [
    Event::Refused { conn: ConnId(1) },
    Event::Forgotten { conn: ConnId(1) },
];

#[test]
fn a_one_shot_connection_carries_one_message_of_its_opener() {
    let mut bench = alone(&Params::DEFAULT, B);
    let syn = Syn {
        incarnation: 1,
        lifetime: Lifetime::OneMessage,
    };
    bench.hear(&syn.packet(B, ConnId(1), 84));
    bench.call(|host, cx| host.send(cx, ConnId(1), 5));
    assert_eq!(bench.events, [Event::Refused { conn: ConnId(1) }]);
    let data = Data {
        offset: 0,
        gaps: 0,
        length: 5,
        one_shot: true,
        again: false,
        end: true,
    };
    bench.hear(&data.packet(B, ConnId(1), 84));
    assert_eq!(
        bench.events[1..],
        [
            Event::Received {
                conn: ConnId(1),
                ordinal: 0,
                length: 5
            },
            Event::Forgotten { conn: ConnId(1) }
        ]
    );
    assert_eq!(
        (bench.host.connections(), bench.host.deadline()),
        (0, Time::NEVER)
    );
}

/// Acknowledgements of anything that might be in flight, borders of packets or not.
fn any_ack(rng: &mut Rng, from: u64, until: u64) -> Ack {
    let cumulative = rng.between(from.saturating_sub(3_000), until + 2_000);
    let start = cumulative + rng.between(1, 20_000);
    let block = (rng.below(3) > 0).then_some((start, start + rng.between(1, 6_000)));
    Ack {
        echo: rng.below(4) == 0,
        done: rng.below(50) == 0,
        ..Ack::new(cumulative, block)
    }
}

#[test]
fn a_receiver_that_lies_breaks_no_invariant_of_its_sender() {
    for seed in 0..200 {
        let params = Params {
            sack: seed % 4 > 0,
            retries_max: 60,
            ..Params::DEFAULT
        };
        let mut bench = open(&params, 1_000_000);
        let mut rng = Rng::stream(seed, stream::TEST, 1);
        let mut reached = 0;
        for _ in 0..400 {
            match rng.below(10) {
                0 => {
                    let deadline = bench.host.deadline();
                    if deadline < Time::NEVER {
                        bench.now = bench.now.max(deadline);
                    }
                    bench.call(Endpoint::on_deadline);
                }
                1 => bench.call(|host, cx| host.send(cx, ConnId(1), rng.below(3) * 700)),
                2 if rng.below(20) == 0 => bench.call(|host, cx| host.cancel(cx, ConnId(1))),
                2..5 => {
                    let sent = std::iter::from_fn(|| bench.poll()).take(20);
                    let data = sent.filter(|packet| Kind::of(packet) == Some(Kind::Data));
                    reached = data
                        .map(|packet| Data::read(&packet))
                        .map(|data| data.offset + data.span())
                        .fold(reached, u64::max);
                }
                _ => {
                    let una = sender(&bench).acknowledged();
                    // Mostly near the oldest packet, or the conversation would soon be over.
                    let until = una + rng.below(reached.saturating_sub(una).min(8_000) + 1);
                    let ack = any_ack(&mut rng, una, until).packet(A, ConnId(1), 84);
                    bench.hear(&ack);
                }
            }
        }
        assert!(bench.host.totals().nonsense > 0 && bench.host.totals().retransmitted > 0);
    }
}

#[test]
fn a_sender_that_lies_breaks_no_invariant_of_its_receiver() {
    for seed in 0..200 {
        let params = Params {
            receive_window: Bytes(20_000),
            ..Params::DEFAULT
        };
        let mut bench = alone(&params, B);
        let syn = Syn {
            incarnation: 1,
            lifetime: match seed % 5 {
                0 => Lifetime::OneMessage,
                1 => Lifetime::Exchange,
                _ => Lifetime::Persistent,
            },
        };
        bench.hear(&syn.packet(B, ConnId(1), 84));
        let mut rng = Rng::stream(seed, stream::TEST, 2);
        let mut offset = 0;
        for _ in 0..600 {
            offset = if rng.below(3) > 0 {
                offset + rng.below(12_000)
            } else {
                rng.below(offset + 1)
            };
            let length = u16::try_from(rng.below(3) * rng.below(1_500)).unwrap();
            let gaps = u32::try_from(rng.below(4)).unwrap().wrapping_sub(1) & Data::GAPS;
            let end = length == 0 || rng.below(4) == 0;
            let mut packet = Data {
                offset,
                gaps,
                length,
                one_shot: false,
                again: false,
                end,
            }
            .packet(B, ConnId(1), 1538);
            packet.set_ecn(if rng.below(3) == 0 {
                Ecn::Marked
            } else {
                Ecn::Capable0
            });
            bench.hear(&packet);
            bench.now += Span::us(rng.below(600));
            bench.call(Endpoint::on_deadline);
            while bench.poll().is_some() {}
        }
        assert!(
            bench.host.totals().nonsense > 0 || seed % 5 == 0,
            "beyond the window"
        );
    }
}

#[test]
fn a_silent_peer_is_given_up_after_all_retries() {
    let params = Params {
        retries_max: 4,
        ..Params::DEFAULT
    };
    let mut bench = open(&params, 1_000);
    let (mut left_at, mut waits) = (bench.now, Vec::new());
    while bench.events.is_empty() {
        if flush(&mut bench) > 0 {
            waits.push(bench.now.since(left_at).0 / 1_000_000_000);
            left_at = bench.now;
        }
        bench.now = bench.host.deadline();
        bench.call(Endpoint::on_deadline);
    }
    assert_eq!(waits, [0, 10, 20, 40, 80]);
    assert_eq!(bench.now.since(left_at), Span::ms(160));
    assert_eq!(bench.events, GIVEN_UP);
    assert_eq!(
        (bench.host.connections(), bench.host.deadline()),
        (0, Time::NEVER)
    );
}

#[test]
fn a_receiver_gives_up_a_sender_that_fell_silent_and_calls_nothing_done() {
    let params = &Params::DEFAULT;
    let mut bench = alone(params, B);
    let syn = Syn {
        incarnation: 1,
        lifetime: Lifetime::OneMessage,
    };
    bench.hear(&syn.packet(B, ConnId(1), 84));
    let data = |offset| {
        Data {
            offset,
            gaps: 0,
            length: 1460,
            one_shot: true,
            again: false,
            end: false,
        }
        .packet(B, ConnId(1), 1538)
    };
    bench.hear(&data(0));
    flush(&mut bench);
    while bench.host.deadline() < Time::NEVER {
        bench.now = bench.host.deadline();
        bench.call(Endpoint::on_deadline);
        flush(&mut bench);
    }
    assert_eq!(bench.host.connections(), 0);
    // Longer than its sender may take to give up, but not much.
    let patience = params.rto_max.times(u64::from(params.retries_max) + 1);
    let took = bench.now.since(Time::ZERO);
    assert!(patience < took && took < patience.times(2), "{took}");
    bench.hear(&data(1460));
    let answer = bench.poll().unwrap();
    let reset = Reset {
        about: 1460,
        of_data: true,
    };
    assert_eq!(
        (Kind::of(&answer), Reset::read(&answer)),
        (Some(Kind::Reset), reset)
    );
}

#[test]
fn an_opener_that_hears_nothing_asks_again_and_then_gives_up() {
    let params = Params {
        retries_max: 2,
        ..Params::DEFAULT
    };
    let mut bench = alone(&params, A);
    bench.call(|host, cx| host.connect(cx, ConnId(1), B, Lifetime::Persistent));
    let mut asked = 0;
    while bench.events.is_empty() {
        asked += flush(&mut bench);
        bench.now = bench.host.deadline();
        bench.call(Endpoint::on_deadline);
    }
    assert_eq!((asked, bench.now), (3, Time::ZERO + Span::ms(70)));
}
