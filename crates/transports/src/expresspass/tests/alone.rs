//! One endpoint alone, told lies and half-truths: what it says and counts.
//!
//! `Alone` hears packets and says what it answers until a moment. The tests are about peers that are dead, late or have forgotten,
//! crowds of one host, data and credits that nobody gave or wants, limits of what a peer can have kept, pauses, and last bursts
//! before the first credit. `asking` has senders that ask, `leaving` has what leaves of bursts and under pauses.

mod asking;
mod leaving;

use super::frames;
use super::*;
use crate::expresspass::header::{self, Data};
use crate::expresspass::nic::FIFO_MAX;
use model::{Gates, Signal};

/// One endpoint, driven by hand.
struct Alone {
    endpoint: ExpressPassHost,
    rng: Rng,
    now: Time,
    gates: Gates,
    events: Vec<Event>,
}

struct Everyone;
impl model::Peers for Everyone {
    fn peer(&self, me: HostId, conn: ConnId) -> Option<HostId> {
        (conn.0 < 1_000_000).then_some(if me == A { B } else { A })
    }
}

impl Alone {
    fn new(id: HostId) -> Self {
        Self::with(id, &Params::default())
    }
    fn with(id: HostId, params: &Params) -> Self {
        let config = EndpointConfig::new(id, Rate::gbps(10), Encap::PAPER).with(|told| {
            (told.base_rtt, told.control_rtt) = (Span::us(12), Span::us(11));
            told.port_buffer = Bytes(384_500);
        });
        let endpoint = ExpressPassHost::new(params, &config);
        let rng = Rng::stream(1, stream::TEST, 9);
        Self {
            endpoint,
            rng,
            now: START,
            gates: Gates::default(),
            events: Vec::new(),
        }
    }
    fn step<R>(&mut self, call: impl FnOnce(&mut ExpressPassHost, &mut Cx<'_>) -> R) -> R {
        let (now, rng, events) = (self.now, &mut self.rng, &mut self.events);
        let mut cx = Cx {
            now,
            rng,
            events,
            peers: &Everyone,
            gates: &self.gates,
            wants_data: true,
        };
        let result = call(&mut self.endpoint, &mut cx);
        self.endpoint.check();
        result
    }
    fn heed(&mut self, signal: Signal) {
        self.gates.heed(self.now, signal);
        self.step(Endpoint::on_gates);
    }
    fn hear(&mut self, packet: Packet) {
        self.step(|endpoint, cx| endpoint.on_packet(cx, &packet));
    }
    /// Everything that it puts on the line until `until`.
    fn say(&mut self, until: Time) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            let mut out = Packet::EMPTY;
            self.step(Endpoint::on_deadline);
            while self.step(|endpoint, cx| endpoint.poll_transmit(cx, &mut out))
                != Transmit::Nothing
            {
                said.push(CODEC.describe(&out));
            }
            let next = self.endpoint.deadline();
            if next > until {
                self.now = until;
                return said;
            }
            self.now = next;
        }
    }
    fn after(&mut self, span: Span) -> Vec<String> {
        self.say(self.now.after(span))
    }
}

const CONN: ConnId = ConnId(5);

#[test]
fn a_receiver_gives_up_on_a_sender_that_is_dead() {
    let mut host = Alone::new(B);
    host.hear(frames::request(B, CONN, 0, 1_000_000, true, 84));
    let said = host.after(Span::ms(500));
    let credits = said
        .iter()
        .filter(|text| text.starts_with("CREDIT"))
        .count();
    // Two round trips of the full rate, a few more, and then ever fewer in 200 ms; at half rate they
    // would be 77,064.
    assert_eq!(credits, 144, "credits to a dead sender");
    let asked = said.iter().filter(|text| text.ends_with("still there?"));
    assert!((9..80).contains(&asked.count()), "{said:?}");
    host.hear(frames::request(B, CONN, 0, 1_000_000, true, 84));
    assert_eq!(
        host.after(Span::us(1))[0],
        format!("CREDIT {}", credits + 1)
    );
}

#[test]
fn a_late_request_does_not_open_a_finished_connection_again() {
    let mut host = Alone::new(B);
    host.hear(frames::request(B, CONN, 0, 1, true, 84));
    host.after(Span::us(12));
    let frame = Data {
        offset: 0,
        length: 1000,
        blanks: 0,
        echo: 1,
        end: true,
        again: false,
        one_shot: false,
        exchange: false,
    };
    host.hear(frames::data(B, CONN, frame, true, 1078));
    host.hear(frames::stop(B, CONN, 1000, StopReason::AllSent, true, 84));
    assert_eq!(host.after(Span::us(12)), ["STOP_ACK 1000"]);
    host.hear(frames::request(B, CONN, 0, 1, true, 84));
    host.hear(frames::data(B, CONN, frame, true, 1078));
    assert_eq!(host.after(Span::us(12)), ["STOP_ACK 1000"]);
    let received = host
        .events
        .iter()
        .filter(|e| matches!(e, Event::Received { .. }))
        .count();
    assert_eq!(received, 1);
    // After the wait it is forgotten, and a repeated STOP is still answered.
    host.after(Span::ms(3));
    assert!(host.endpoint.receivers.is_empty() && host.endpoint.incoming.is_empty());
    host.hear(frames::stop(B, CONN, 1000, StopReason::AllSent, true, 84));
    assert_eq!(host.after(Span::us(12)), ["STOP_ACK 1000"]);
}

#[test]
fn a_connection_opened_by_an_old_request_is_closed_by_the_sender_that_forgot_it() {
    let (mut sender, mut receiver) = (Alone::new(A), Alone::new(B));
    receiver.hear(frames::request(B, CONN, 0, 1, true, 84));
    assert_eq!(receiver.after(Span::us(5)), ["CREDIT 1"]);
    sender.hear(frames::credit(A, CONN, 1, 84));
    assert_eq!(sender.after(Span::us(5)), ["STOP unknown here"]);
    receiver.hear(frames::stop(B, CONN, 0, StopReason::Gone, false, 84));
    assert_eq!(receiver.after(Span::ms(1)), Vec::<String>::new());
    assert!(receiver.endpoint.receivers.is_empty());
    assert_eq!(receiver.events, [Event::Forgotten { conn: CONN }]);
}

#[test]
fn requests_alone_never_bring_many_credits() {
    let mut host = Alone::new(B);
    let mut credits = 0;
    for _ in 0..1_000 {
        host.hear(frames::request(B, CONN, 0, 1_000_000, true, 84));
        let said = host.after(Span::us(10));
        credits += said
            .iter()
            .filter(|text| text.starts_with("CREDIT"))
            .count();
    }
    // The start, and one per round trip of 12 us: a request, repeated, is life.
    assert!(credits < 900, "{credits} credits for 1000 requests");
}

#[test]
fn a_sender_that_is_asked_says_whether_it_is_there() {
    let mut host = Alone::new(A);
    host.step(|endpoint, cx| {
        endpoint.connect(cx, CONN, B, Lifetime::Persistent);
        endpoint.send(cx, CONN, 2920);
    });
    let ask = |host: &mut Alone, position| {
        host.hear(frames::heard(A, CONN, position, true, 84));
        host.after(Span::us(5)).pop()
    };
    assert_eq!(host.after(Span::us(1)), ["REQUEST from 0, 2 packets"]);
    let asks = |at, n| Some(format!("REQUEST from {at}, {n}"));
    assert_eq!(ask(&mut host, 0), asks(0, "2 packets"), "no credit yet");
    host.hear(frames::credit(A, CONN, 1, 84));
    host.after(Span::us(5));
    assert_eq!(ask(&mut host, 0), asks(1460, "1 packet"), "credited");
    host.hear(frames::credit(A, CONN, 2, 84));
    host.after(Span::us(5));
    let stop = Some("STOP at 2920".to_owned());
    assert_eq!(ask(&mut host, 0), stop, "the STOP was lost");
    host.hear(frames::stop_ack(A, CONN, Some(2920), 84));
    assert_eq!(ask(&mut host, 0), stop, "and is old news");
    host.hear(frames::heard(A, ConnId(9), 0, true, 84));
    assert_eq!(host.after(Span::us(5)), ["STOP unknown here"]);
    assert_eq!(host.endpoint.totals().timeouts, 0);
}

#[test]
fn a_host_in_a_crowd_of_its_own_waits_for_what_its_line_can_give() {
    let requests = |crowd: u32, params: &Params| {
        let mut host = Alone::with(A, params);
        host.step(|endpoint, cx| {
            for n in 0..crowd {
                endpoint.connect(cx, ConnId(n), B, Lifetime::OneMessage);
                endpoint.send(cx, ConnId(n), 5000);
            }
        });
        let again = |said: Vec<String>| said.len();
        let first = again(host.after(Span::us(200)));
        assert_eq!(first, crowd as usize);
        [
            again(host.after(Span::ms(10))),
            again(host.after(Span::ms(10))),
        ]
    };
    let params = Params::default();
    // The last 244 wait for 16 x 511 x 1.3 us = 10.6 ms, the 128 before them for half of that, and so on.
    let [soon, late] = requests(500, &params);
    assert!(soon < 500 && late >= 244, "{soon}, then {late}");
    // What ten explain is less than the 1 ms that each waits anyway.
    assert_eq!(requests(10, &params), [30, 10]);
    // A host of which nobody says that it was heard asks as it always did.
    let silent = Params {
        tell_heard: false,
        ..params
    };
    assert_eq!(requests(500, &silent), [1500, 500]);
}

#[test]
fn senders_that_are_done_are_no_crowd() {
    let mut host = Alone::new(A);
    host.step(|endpoint, cx| {
        for n in 0..500 {
            endpoint.connect(cx, ConnId(n), B, Lifetime::Persistent);
            endpoint.send(cx, ConnId(n), 1000);
        }
    });
    host.after(Span::us(100));
    for n in 0..499 {
        match n % 3 {
            // One ends as usual; of the second the peer knows nothing; the third is forgotten.
            0 => host.hear(frames::credit(A, ConnId(n), 1, 84)),
            1 => host.hear(frames::stop_ack(A, ConnId(n), None, 84)),
            _ => host.step(|endpoint, cx| endpoint.forget(cx, ConnId(n))),
        }
    }
    assert_eq!(host.endpoint.host.wanting, 1);
    host.step(|endpoint, cx| endpoint.send(cx, ConnId(0), 1000));
    let said = host.after(Span::us(500));
    let asks = |text: &String| text == "REQUEST from 1000, 1 packet, among 2";
    assert!(said.iter().any(asks), "{said:?}");
}

#[test]
fn receivers_of_a_crowd_speak_and_ask_late() {
    let said = |crowd, wait: Span| {
        let mut host = Alone::new(B);
        let request = frames::request(B, CONN, 0, 1000, true, 84);
        host.hear(frames::crowded(request, crowd));
        let said = host.after(wait);
        let all = |word: &str| said.iter().filter(|text| *text == word).count();
        (all("HEARD from 0"), all("HEARD from 0, still there?"))
    };
    let asked = |crowd, wait| said(crowd, wait).1 > 0;
    let told = |crowd, wait| said(crowd, wait).0 > 0;
    // Two round trips are 24 us. 8 x 15 x 1.3 us = 156 us.
    assert!(told(0, Span::us(30)) && !told(4, Span::us(150)) && told(4, Span::us(180)));
    // 8 and 16 x 255 x 1.3 us = 2.6 and 5.3 ms.
    assert!(!told(8, Span::us(2600)) && told(8, Span::us(2700)));
    assert!(asked(0, Span::us(900)) && !asked(8, Span::us(5200)) && asked(8, Span::us(6500)));
}

#[test]
fn a_sender_that_answers_late_gets_its_credits_again() {
    let mut host = Alone::new(B);
    host.hear(frames::request(B, CONN, 0, 1_000_000, true, 84));
    let said = host.after(Span::ms(5));
    let given = said.iter().filter(|text| text.starts_with("CREDIT"));
    let given = u32::try_from(given.count()).unwrap();
    let mut waits = Vec::new();
    for n in 0..4 {
        let waited = (0..500).find(|_| !host.after(Span::us(12)).is_empty());
        waits.push(waited.unwrap());
        let frame = Data {
            offset: u64::from(n) * 1460,
            length: 1460,
            blanks: 0,
            echo: given + 1 + n,
            end: false,
            again: false,
            one_shot: false,
            exchange: false,
        };
        host.hear(frames::data(B, CONN, frame, true, 1538));
    }
    // In round trips: the first credit came late, the second at once.
    assert!(
        waits[0] > 50 && waits[1..].iter().all(|&wait| wait <= 1),
        "{waits:?}"
    );
}

#[test]
fn data_for_a_credit_that_was_never_given_brings_nothing() {
    for one_shot in [true, false] {
        let mut host = Alone::new(B);
        host.hear(frames::request(B, CONN, 0, 1, one_shot, 84));
        for echo in [0, 2, 100, 1 << 21] {
            let frame = Data {
                offset: 0,
                length: 1000,
                blanks: 0,
                echo,
                end: true,
                again: false,
                one_shot: false,
                exchange: false,
            };
            host.hear(frames::data(B, CONN, frame, one_shot, 1078));
        }
        // On a connection for one message it may come from an earlier life of it.
        let totals = host.endpoint.totals();
        let counts = if one_shot { (0, 4) } else { (4, 0) };
        assert_eq!((totals.nonsense, totals.duplicates), counts);
        assert_eq!(host.events.len(), 0);
    }
}

#[test]
fn a_frame_whose_bytes_and_empty_frames_disagree_is_nonsense() {
    let mut host = Alone::with(B, &Params::default().with(FirstRtt::Aeolus));
    host.hear(frames::request(B, CONN, 0, 7, false, 84));
    host.after(Span::us(1));
    let mut frame = |offset, length, blanks| {
        let data = Data {
            offset,
            length,
            blanks,
            echo: 0,
            end: true,
            again: false,
            one_shot: false,
            exchange: false,
        };
        let packet = frames::data(B, CONN, data, false, 84);
        host.hear(header::unscheduled(packet));
        (host.endpoint.totals().nonsense, host.events.len())
    };
    for blanks in 0..5 {
        frame(0, 0, blanks);
    }
    // One byte on, and an empty frame or five back: its place would be among what has come.
    assert_eq!(frame(1, 1, 4), (1, 5));
    assert_eq!(frame(1, 1, 0), (2, 5));
    // The honest one brings its byte and its end, and the next one finds it there.
    assert_eq!(frame(0, 1, 5), (2, 7));
    assert_eq!(frame(0, 1, 6), (3, 7));
    assert_eq!(frame(1, 1, 5), (3, 9));
}

#[test]
fn control_packets_of_a_paused_connection_are_lost_by_number_where_too_many_wait() {
    let params = Params {
        tell_heard: false,
        ..Params::default()
    };
    let mut host = Alone::with(B, &params);
    host.hear(frames::request(B, CONN, 0, 1, false, 84));
    host.after(Span::us(12));
    let frame = Data {
        offset: 0,
        length: 1000,
        blanks: 0,
        echo: 1,
        end: true,
        again: false,
        one_shot: false,
        exchange: false,
    };
    host.hear(frames::data(B, CONN, frame, false, 1078));
    // The first request after a message is answered twice: with its end, and with what has arrived.
    host.hear(frames::request(B, CONN, 0, 1, false, 84));
    host.after(Span::us(12));
    host.heed(Signal::PausePriority(0));
    let extra = 5;
    let mut out = Packet::EMPTY;
    for _ in 0..FIFO_MAX + extra {
        // Each is answered with what has arrived.
        host.hear(frames::request(B, CONN, 0, 1, false, 84));
        host.step(|endpoint, cx| endpoint.poll_transmit(cx, &mut out));
    }
    let mut lost = None;
    host.endpoint.counters(&mut |counter, value| {
        lost = lost.or((counter.name == "line_lost").then_some(value));
    });
    assert_eq!(lost, Some(extra as u64));
}

#[test]
fn a_late_request_for_what_has_been_forgotten_opens_nothing() {
    let mut host = Alone::new(B);
    for one_shot in [true, false] {
        host.hear(frames::request(B, CONN, 2920, 1, one_shot, 84));
        assert_eq!(host.after(Span::ms(1)), ["STOP_ACK unknown here"]);
    }
    assert!(host.endpoint.receivers.is_empty());
}

#[test]
fn a_sender_whose_receiver_has_forgotten_is_done_or_says_that_it_is_not() {
    for (sent, end) in [(1, "Sent"), (0, "Refused")] {
        let mut host = Alone::new(A);
        host.step(|endpoint, cx| {
            endpoint.connect(cx, CONN, B, Lifetime::OneMessage);
            endpoint.send(cx, CONN, 1460 * (2 - sent));
        });
        host.hear(frames::credit(A, CONN, 1, 84));
        host.hear(frames::nack(A, CONN, 0, 0, 84));
        host.after(Span::ms(110));
        host.hear(frames::stop_ack(A, CONN, None, 84));
        host.after(Span::ms(2));
        let news = format!("{:?}", host.events);
        assert!(
            host.events.len() == 2 + usize::from(sent == 1) && news.contains(end),
            "{news}"
        );
        assert!(host.endpoint.senders.is_empty(), "{news}");
    }
}

#[test]
fn nonsense_from_a_peer_is_counted_and_changes_nothing() {
    let mut host = Alone::new(A);
    host.step(|endpoint, cx| {
        endpoint.connect(cx, CONN, B, Lifetime::OneMessage);
        endpoint.send(cx, CONN, 5000);
    });
    assert_eq!(host.after(Span::us(1)), ["REQUEST from 0, 4 packets"]);
    host.hear(frames::nack(A, CONN, 1, 0, 84)); // nothing was sent yet
    host.hear(frames::stop_ack(A, CONN, Some(5000), 84));
    host.hear(frames::request(A, CONN, 0, 1, true, 84)); // the other direction
    host.hear(frames::request(A, ConnId(5_000_000), 0, 1, true, 84)); // nobody's connection
    host.hear(frames::credit(A, ConnId(5_000_000), 1, 84));
    host.hear(Packet::new(A, CONN, Class::Control, 10, 84)); // no kind of ours
    assert_eq!(host.endpoint.totals().nonsense, 6);
    assert_eq!(host.after(Span::us(1)), Vec::<String>::new());
    host.hear(frames::credit(A, CONN, 1, 84));
    assert_eq!(host.after(Span::us(1)), ["DATA 0..1460, credit 1"]);
}

#[test]
fn a_nack_for_what_has_been_confirmed_asks_for_nothing() {
    for first_rtt in [FirstRtt::Silent, FirstRtt::Aeolus, FirstRtt::Ssp] {
        let mut host = Alone::with(
            A,
            &Params {
                first_rtt,
                ..Params::default()
            },
        );
        host.step(|endpoint, cx| {
            endpoint.connect(cx, CONN, B, Lifetime::Persistent);
            endpoint.send(cx, CONN, 100_000);
        });
        host.after(Span::us(5));
        for n in 1..=3 {
            host.hear(frames::credit(A, CONN, n, 84));
        }
        host.hear(frames::stop_ack(A, CONN, Some(2920), 84));
        host.hear(frames::nack(A, CONN, 0, 100, 84));
        host.after(Span::us(5));
        host.hear(frames::credit(A, CONN, 4, 84));
        let said = host.after(Span::us(5));
        assert!(
            !said.iter().any(|text| text.contains("again")),
            "{first_rtt:?}: {said:?}"
        );
    }
}

#[test]
fn credits_nobody_asked_for_bring_a_stop_and_no_endless_talk() {
    let mut host = Alone::new(A);
    host.step(|endpoint, cx| endpoint.connect(cx, CONN, B, Lifetime::Persistent));
    for n in 0..100 {
        host.hear(frames::credit(A, CONN, n, 84));
    }
    let said = host.after(Span::ms(100_000));
    assert_eq!(said, vec!["STOP at 0"; 9], "then it rests");
    assert_eq!(host.endpoint.totals().credits_wasted, 100);
    assert_eq!(host.endpoint.deadline(), Time::NEVER);
}

#[test]
fn a_peer_cannot_make_a_host_keep_more_than_its_share_of_connections() {
    let mut host = Alone::new(B);
    for n in 0..INCOMING_PER_PEER_MAX + 10 {
        host.hear(frames::request(B, ConnId(n), 0, 1, true, 84));
    }
    let kept = host.endpoint.receivers.len();
    assert_eq!(
        (kept, host.endpoint.totals().nonsense),
        (INCOMING_PER_PEER_MAX as usize, 10)
    );
    host.hear(frames::stop(B, CONN, 0, StopReason::Gone, false, 84));
    host.hear(frames::request(
        B,
        ConnId(INCOMING_PER_PEER_MAX),
        0,
        1,
        true,
        84,
    ));
    assert_eq!(host.endpoint.receivers.len(), kept);
}

#[test]
fn a_flow_that_waits_says_for_what() {
    let mut host = Alone::new(A);
    host.step(|endpoint, cx| {
        endpoint.connect(cx, CONN, B, Lifetime::OneMessage);
        endpoint.send(cx, CONN, 5000);
    });
    let mut report = Vec::new();
    host.endpoint
        .stuck(&mut |flow| report.push(format!("{}; {}", flow.state, flow.waits_for)));
    let text = "sender asking, next 0 of 5000, 0 confirmed; a credit since 1ms; asks again at 2ms";
    assert_eq!(report, [text]);
}

/// Packets of each kind that leave within a millisecond while `signals` hold.
fn while_paused(params: &Params, signals: &[Signal]) -> (Vec<String>, u64) {
    let mut host = Alone::with(A, params);
    host.step(|endpoint, cx| {
        for conn in [CONN, ConnId(6)] {
            endpoint.connect(cx, conn, B, Lifetime::OneMessage);
            endpoint.send(cx, conn, 2920);
        }
    });
    for &signal in signals {
        host.heed(signal);
    }
    host.hear(frames::credit(A, CONN, 1, 84));
    host.hear(frames::credit(A, ConnId(6), 1, 84));
    let said = host.after(Span::us(50));
    (said, host.endpoint.totals().credits_wasted)
}

#[test]
fn a_paused_connection_uses_no_credit_and_the_others_go_on() {
    let plain = Params::default();
    let (said, wasted) = while_paused(&plain, &[Signal::PauseFlow(CONN)]);
    let (first, second) = (
        "REQUEST from 0, 2 packets",
        "REQUEST from 0, 2 packets, among 2",
    );
    assert_eq!(said, [first, second, "DATA 0..1460, credit 1"]);
    assert_eq!(wasted, 1);
    let (said, wasted) = while_paused(&plain, &[Signal::PausePriority(0)]);
    assert_eq!((said.len(), wasted), (0, 2));
    let (said, _) = while_paused(
        &plain,
        &[Signal::PausePriority(1), Signal::PauseFlow(ConnId(9))],
    );
    assert_eq!(said.len(), 4, "another priority, an unknown flow: {said:?}");
}

#[test]
fn the_burst_of_a_paused_connection_waits() {
    let mut host = Alone::with(A, &Params::default().with(FirstRtt::Aeolus));
    host.step(|endpoint, cx| {
        for conn in [CONN, ConnId(6)] {
            endpoint.connect(cx, conn, B, Lifetime::OneMessage);
            endpoint.send(cx, conn, 1460);
        }
    });
    host.heed(Signal::PauseFlow(CONN));
    let unscheduled = |said: Vec<String>| {
        let each = said.iter().filter(|text| text.contains("unscheduled"));
        each.count()
    };
    assert_eq!(unscheduled(host.after(Span::us(50))), 1);
    host.heed(Signal::ResumeFlow(CONN));
    assert_eq!(unscheduled(host.after(Span::us(50))), 1);
}

#[test]
fn what_was_held_by_a_pause_leaves_after_it() {
    for (pause, resume) in [
        (Signal::PauseFlow(ConnId(1)), Signal::ResumeFlow(ConnId(1))),
        (Signal::PausePriority(0), Signal::ResumePriority(0)),
    ] {
        let params = Params::default();
        let make = made(params);
        let mut pair = Pair::new(&make, CODEC).named("expresspass");
        let conn = pair.message(Time::ZERO, A, B, 100_000);
        let is_data = |packet: &Packet| packet.class() == Class::Scheduled;
        for host in [A, B] {
            pair.signal(Time(40_000_000), host, pause);
            pair.signal(Time(3_000_000_000), host, resume);
        }
        pair.run_until(Time(41_000_000));
        let before = pair.count(is_data);
        pair.run_until(Time(2_999_000_000));
        let during = pair.count(is_data);
        assert!(during <= before + 1, "{}", pair.tail());
        pair.run();
        assert_eq!(pair.received(conn, A), 1);
    }
}

/// What a host says that opens three connections at once.
fn three_bursts(table: &str) -> Vec<String> {
    let params = AEOLUS.read(&table.parse().unwrap()).unwrap();
    let mut host = Alone::with(A, &params);
    host.step(|endpoint, cx| {
        for n in 0..3 {
            endpoint.connect(cx, ConnId(n), B, Lifetime::OneMessage);
            endpoint.send(cx, ConnId(n), 1460 * 3 + u64::from(n));
        }
    });
    host.after(Span::ms(1))
}

#[test]
fn new_flows_take_turns_and_end_with_a_probe() {
    let said = three_bursts("");
    let lines: Vec<_> = said[3..].iter().map(String::as_str).collect();
    let first = |n: usize| format!("DATA {}..{}", 1460 * n, 1460 * (n + 1));
    for (turn, three) in lines[..6].chunks(3).enumerate() {
        assert!(
            three.iter().all(|text| text.starts_with(&first(turn))),
            "{said:?}"
        );
    }
    let probes = |said: &[String]| said.iter().filter(|text| text.starts_with("PROBE")).count();
    assert_eq!(probes(&said), 3, "{said:?}");
    assert_eq!(probes(&three_bursts("probe_every = 2")), 6);
    let short = three_bursts("burst = \"3100B\"");
    let burst = short.iter().filter(|text| text.contains("unscheduled"));
    assert_eq!(burst.count(), 6, "two frames each: {short:?}");
}

/// The first frame of a burst on connection `conn`, which ends a message where `whole`.
fn burst(to: HostId, conn: ConnId, whole: bool) -> Packet {
    let frame = Data {
        length: 1000,
        end: whole,
        ..frames::EMPTY
    };
    header::unscheduled(frames::data(to, conn, frame, true, 1078))
}

#[test]
fn a_burst_opens_a_connection_whose_request_was_lost_and_a_late_copy_does_not() {
    for first_rtt in [FirstRtt::Aeolus, FirstRtt::Gaps, FirstRtt::Ssp] {
        let mut host = Alone::with(B, &Params::default().with(first_rtt));
        let received = |host: &Alone| {
            let ends = host
                .events
                .iter()
                .filter(|e| matches!(e, Event::Received { .. }));
            ends.count()
        };
        host.hear(burst(B, CONN, true));
        assert_eq!(received(&host), 1);
        let said = host.after(Span::us(5));
        assert!(
            said.contains(&"ACK 0, all before 1000".to_owned()),
            "{said:?}"
        );
        host.hear(frames::stop(B, CONN, 1000, StopReason::AllSent, true, 84));
        host.after(Span::ms(2_000));
        assert!(host.endpoint.receivers.is_empty(), "it is forgotten");
        host.hear(burst(B, CONN, true));
        assert_eq!((received(&host), host.after(Span::ms(1)).len()), (1, 0));
        // More end than are remembered one by one: those before them are known by their numbers.
        for n in 100..700 {
            host.hear(burst(B, ConnId(n), true));
            host.hear(frames::stop(
                B,
                ConnId(n),
                1000,
                StopReason::AllSent,
                true,
                84,
            ));
            host.after(Span::ms(10));
        }
        assert_eq!(received(&host), 601);
        for n in [5, 6, 100, 187, 188, 699] {
            host.hear(burst(B, ConnId(n), true));
        }
        assert_eq!(received(&host), 601, "late copies, and what may be one");
        host.hear(burst(B, ConnId(700), true));
        assert_eq!(received(&host), 602);
        // What a burst cannot open a request opens.
        host.hear(frames::request(B, ConnId(6), 0, 1, true, 84));
        host.hear(burst(B, ConnId(6), true));
        assert_eq!(received(&host), 603);
    }
}

#[test]
fn a_question_whose_request_was_lost_is_answered() {
    let make = made(Params::default().with(FirstRtt::Aeolus));
    let mut pair = Pair::new(&make, CODEC).named("expresspass+aeolus");
    let conn = pair.exchange(Time::ZERO, A, B, [5_000, 5_000]);
    pair.lose(("REQUEST", 1));
    pair.run();
    assert_eq!((pair.received(conn, A), pair.received(conn, B)), (1, 1));
    let totals = pair.totals();
    // The first credit comes before the acknowledgements, and brings a packet that has come.
    assert!(totals.duplicates <= 1, "{}", pair.tail());
}

#[test]
fn a_delay_from_quantiles_lies_anywhere_between_two_neighbours() {
    let mut host = Alone::new(A);
    let delays = HostDelay::Quantiles([1, 2, 10].map(Span::us).to_vec());
    let mut drawn = [(); 1_000].map(|()| host.step(|_, cx| delays.draw(cx.rng)));
    drawn.sort_unstable();
    assert!(Span::us(1) <= drawn[0] && drawn[999] <= Span::us(10));
    // The median is 2 us, and half of the rest lies beyond 6 us.
    let below = |us| drawn.partition_point(|&delay| delay < Span::us(us));
    let shares = [below(2), below(6)];
    assert!(
        (450..550).contains(&shares[0]) && (700..800).contains(&shares[1]),
        "{shares:?}"
    );
}
