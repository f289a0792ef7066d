//! Conversations as ladders, and windows as curves.

use super::sender::Sender;
use super::*;
use model::{Rng, stream};
use testkit::{A, B, Chaos, Pair};
use units::Bytes;

fn make(params: &Params) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> + '_ {
    |config| Factory::make(params, config)
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(params: &Params, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let make = make(params);
    let mut pair = Pair::new(&make, &DctcpCodec).named("dctcp");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

#[test]
fn a_message_takes_a_handshake_and_a_window() {
    let ladder = ladder(&Params::DEFAULT, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
    });
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
    let params = Params { sack: false, ..Params::DEFAULT };
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
    let ladder = ladder(&Params { alpha_initial: 0.0, ..Params::DEFAULT }, |pair| {
        pair.message(Time::ZERO, A, B, 14_600);
        for n in 4..7 {
            pair.mark(("DATA", n));
        }
    });
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
        let syn = Head::Syn(Syn { incarnation: 0, one_shot: true });
        pair.inject(Time::ZERO + Span::us(50), B, syn.packet(B, ConnId(1), Encap::PAPER));
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
    let params = Params { connections_max: 1, ..Params::DEFAULT };
    let make = make(&params);
    let mut pair = Pair::star(3, &make, &DctcpCodec);
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
fn data_for_a_connection_that_nobody_knows_is_reset() {
    let params = Params::DEFAULT;
    let (mut a, mut b) = (Bench::new(&params, A), Bench::new(&params, B));
    a.call(|host, cx| {
        host.connect(cx, ConnId(1), B, Lifetime::Persistent);
        host.send(cx, ConnId(1), 5_000);
    });
    let syn = a.poll().unwrap();
    b.arrive(&syn);
    a.arrive(&b.poll().unwrap());
    let data = a.poll().unwrap();
    let mut rebooted = Bench::new(&params, B);
    rebooted.arrive(&data);
    let reset = rebooted.poll().unwrap();
    assert_eq!(DctcpCodec.describe(&reset), "RESET at 0");
    a.arrive(&reset);
    assert_eq!(a.events, [Event::Refused { conn: ConnId(1) }]);
    assert_eq!(a.host.deadline(), Time::NEVER);
    a.arrive(&reset);
    assert_eq!(a.poll(), None, "a reset is never answered");
}

/// One host, driven by hand.
struct Bench {
    host: Host,
    rng: Rng,
    events: Vec<Event>,
    now: Time,
}

struct TheOther;
impl model::Peers for TheOther {
    fn peer(&self, me: HostId, _: ConnId) -> Option<HostId> {
        Some(HostId(1 - me.0))
    }
}

impl Bench {
    fn new(params: &Params, me: HostId) -> Self {
        let config = EndpointConfig {
            host: me,
            rate: Rate::gbps(10),
            base_rtt: Span::us(12),
            encap: Encap::PAPER,
            port_buffer: Bytes(384_500),
            hops_max: 1,
        };
        let rng = Rng::stream(1, stream::TEST, 0);
        Self { host: Host::new(params, &config), rng, events: Vec::new(), now: Time::ZERO }
    }

    fn call<R>(&mut self, step: impl FnOnce(&mut Host, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: &TheOther,
            wants_data: false,
        };
        let result = step(&mut self.host, &mut cx);
        self.host.check();
        result
    }

    fn poll(&mut self) -> Option<Packet> {
        let mut packet = Packet::EMPTY;
        let said = self.call(|host, cx| host.poll_transmit(cx, &mut packet));
        (said != Transmit::Nothing).then_some(packet)
    }

    fn arrive(&mut self, packet: &Packet) {
        self.call(|host, cx| host.on_packet(cx, packet));
    }

    fn sender(&self) -> &Sender {
        let slot = self.host.slots.get(ConnId(1)).expect("the test opened it");
        self.host.conns[slot].sender.as_ref().expect("the test sent on it")
    }

    /// A sender with its connection open and `length` bytes to send.
    fn open(params: &Params, length: u64) -> Self {
        let mut bench = Self::new(params, A);
        bench.call(|host, cx| {
            host.connect(cx, ConnId(1), B, Lifetime::Persistent);
            host.send(cx, ConnId(1), length);
        });
        let syn = bench.poll().unwrap();
        let Some(Head::Syn(Syn { incarnation, .. })) = Head::read(&syn) else {
            panic!("{syn:?} opens nothing");
        };
        bench.now = bench.now + Span::us(100);
        let accept = Head::SynAck(SynAck { incarnation });
        bench.arrive(&accept.packet(A, ConnId(1), Encap::PAPER));
        bench
    }

    /// Sends all that may leave and returns how many packets that are.
    fn flush(&mut self) -> u64 {
        std::iter::from_fn(|| self.poll()).count() as u64
    }

    /// `packets` more arrived, two by two; the first `marked` of them were marked.
    fn acknowledge(&mut self, from: u64, packets: u64, marked: u64) {
        let mut done = 0;
        while done < packets {
            let step = 2.min(packets - done);
            let cumulative = (from + done + step) * 1460;
            let echo = done < marked;
            let ack = Head::Ack(Ack { cumulative, block: None, echo, done: false });
            self.arrive(&ack.packet(A, ConnId(1), Encap::PAPER));
            done += step;
        }
    }
}

/// Packets that leave per round trip, and behind them alpha's effect: the window in packets at the
/// end of the round. `marked` of each round's packets come back marked.
fn rounds(params: &Params, marked: &[u64]) -> String {
    let (mut bench, mut acked, mut curve) = (Bench::open(params, 1 << 40), 0, String::new());
    for &marked in marked {
        let sent = bench.flush();
        bench.now = bench.now + Span::us(100);
        bench.acknowledge(acked, sent, marked);
        acked += sent;
        let window = bench.sender().window() as f64 / 1460.0;
        curve += &format!("{sent}:{window:.1} ");
    }
    curve
}

#[test]
fn without_marks_the_window_doubles() {
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &[0; 7]), @"10:20.0 20:40.0 40:80.0 80:160.0 160:320.0 320:640.0 640:1280.0");
}

#[test]
fn one_marked_packet_ends_the_doubling() {
    let marked = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &marked), @"10:20.0 20:40.0 40:80.0 80:52.0 52:52.0 52:53.0 53:54.0 54:55.0 55:56.0 56:57.0");
}

#[test]
fn full_marking_brings_the_window_to_its_least() {
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &[1000; 8]), @"10:2.5 2:2.0 2:2.0 2:2.0 2:2.0 2:2.0 2:2.0 2:2.0");
}

#[test]
fn light_marking_costs_little_once_alpha_has_learnt_that_it_is_light() {
    let marked: Vec<u64> = (0..30).map(|round| if round % 3 == 2 { 2 } else { 0 }).collect();
    insta::assert_snapshot!(rounds(&Params::DEFAULT, &marked), @"10:20.0 20:40.0 40:24.3 24:24.3 24:25.3 25:17.7 17:17.7 17:18.7 18:14.4 14:14.4 14:15.4 15:12.4 12:12.4 12:13.4 13:11.3 11:11.3 11:12.3 12:10.6 10:10.6 10:11.6 11:10.1 10:10.1 10:11.1 11:9.8 9:9.8 9:10.8 10:9.6 9:9.6 9:10.6 10:9.5");
}

#[test]
fn every_packet_of_a_short_exchange_may_be_lost_doubled_or_late() {
    let plain = Params { sack: false, ..Params::DEFAULT };
    let each = Params { ack: AckPolicy::Each, ..Params::DEFAULT };
    for params in [&Params::DEFAULT, &plain, &each, &Params::NS3, &Params::DCTCP2010] {
        let make = make(params);
        for length in [0, 1, 1_460, 1_461, 20_000] {
            let converse = |fault: &dyn Fn(&mut Pair<'_>)| {
                let mut pair = Pair::new(&make, &DctcpCodec).named(params.profile);
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
    let plain = Params { sack: false, ..Params::DEFAULT };
    let patient = Params { retries_max: 60, ..Params::NS3 };
    for params in [&Params::DEFAULT, &plain, &patient] {
        let make = make(params);
        for seed in 0..30 {
            let mut pair = Pair::star(4, &make, &DctcpCodec).named(params.profile).seed(seed);
            // A second per timeout adds up.
            pair = pair.limit(Span::ms(3_600_000));
            let mut rng = Rng::stream(seed, stream::TEST, 0);
            let chaos = Chaos {
                lose_ppb: u32::try_from(rng.below(200_000_000)).unwrap(),
                duplicate_ppb: u32::try_from(rng.below(100_000_000)).unwrap(),
                delay_ppb: u32::try_from(rng.below(300_000_000)).unwrap(),
                delay_max: Span::us(rng.between(1, 100)),
                mark_ppb: u32::try_from(rng.below(500_000_000)).unwrap(),
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

#[test]
fn an_incast_shares_a_small_buffer_to_the_end() {
    let params = Params::DEFAULT;
    let make = make(&params);
    let mut pair = Pair::star(17, &make, &DctcpCodec).buffer(Bytes(60_000)).mark_from(Bytes(30_000));
    for host in 1..17 {
        pair.message(Time::ZERO, HostId(host), A, 100_000);
    }
    pair.run();
    assert!(pair.totals().retransmitted > 0, "sixteen first windows do not fit");
    assert_eq!(pair.totals().nonsense, 0);
}

proptest::proptest! {
    #[test]
    fn whatever_a_peer_sends_no_invariant_breaks(
        script in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600),
    ) {
        for params in [Params::DEFAULT, Params { sack: false, ..Params::DEFAULT }] {
            testkit::feed(&make(&params), &DctcpCodec, &script);
        }
    }
}
