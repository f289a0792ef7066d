//! A host by itself: what it answers to every packet in every state, and what it counts.
//!
//! First come questions, answers and data of one connection; then what a host keeps of connections that are done, and how
//! many it keeps; then pauses, and what it says of what is unfinished.

use super::*;
use model::{Class, Gates, Peers, Rng, Signal, stream};
use units::Rate;

mod rules;

/// Rules that say little: every piece may leave at once. Connections open with their data where `EAGER`.
#[derive(Default)]
struct Plain<const EAGER: bool> {
    /// Connections whose flow is true must hear something at once.
    news: bool,
    counts: Counts,
}

model::counters! {
    /// What [`Plain`] counts.
    struct Counts {
        /// messages that began
        begun: messages,
    }
}

impl<const EAGER: bool> Rules<8> for Plain<EAGER> {
    type Flow = bool;
    const EAGER: bool = EAGER;

    fn said(packet: &Packet) -> Option<Said> {
        let [a, b, c] = packet.head;
        let token = Token::try_from(a & 0xffff).unwrap();
        let ordinal = u16::try_from(a >> 16).unwrap();
        let lifetime = match c >> 18 {
            0 => Lifetime::Persistent,
            1 => Lifetime::OneMessage,
            _ => Lifetime::Exchange,
        };
        Some(match packet.kind() {
            0 => Said::Open { lifetime, token },
            1 => Said::Accept { token },
            2 => Said::Data {
                token,
                opens: c >> 17 & 1 == 1,
                lifetime,
                piece: Piece {
                    ordinal,
                    offset: b.into(),
                    length: u16::try_from(c & 0xffff).unwrap(),
                    end: c >> 16 & 1 == 1,
                },
            },
            3 => Said::Ack {
                token,
                wanted: Wanted {
                    ordinal,
                    offset: b.into(),
                    gap: c == 1,
                },
            },
            4 => Said::Reset { token },
            _ => return None,
        })
    }

    fn packet(said: Said, to: HostId, conn: ConnId, size: u16) -> Packet {
        let life = |lifetime| match lifetime {
            Lifetime::Persistent => 0u32,
            Lifetime::OneMessage => 1 << 18,
            Lifetime::Exchange => 2 << 18,
        };
        let first = |token: Token, ordinal: u16| u32::from(token) | u32::from(ordinal) << 16;
        let at = |offset| u32::try_from(offset).unwrap();
        let (kind, head) = match said {
            Said::Open { lifetime, token } => (0, [token.into(), 0, life(lifetime)]),
            Said::Accept { token } => (1, [token.into(), 0, 0]),
            Said::Data {
                token,
                opens,
                lifetime,
                piece,
            } => {
                let last = u32::from(piece.length)
                    | u32::from(piece.end) << 16
                    | u32::from(opens) << 17
                    | life(lifetime);
                (2, [first(token, piece.ordinal), at(piece.offset), last])
            }
            Said::Ack { token, wanted } => {
                let head = first(token, wanted.ordinal);
                (3, [head, at(wanted.offset), wanted.gap.into()])
            }
            Said::Reset { token } => (4, [token.into(), 0, 0]),
        };
        let mut packet = Packet::new(to, conn, Class::Plain, kind, size);
        packet.head = head;
        packet
    }

    fn due(&self, _: &Sender<8>, _: &bool) -> Time {
        Time::ZERO
    }

    fn begins(&mut self, _: Time, _: &mut bool) {
        self.counts.begun += 1;
    }

    fn must_tell(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    fn tells(&self, flow: &bool) -> bool {
        *flow
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.counts.report(report);
    }
}

/// Everybody but number 99 is host 1.
struct Known;
impl Peers for Known {
    fn peer(&self, _: HostId, conn: ConnId) -> Option<HostId> {
        (conn.0 != 99).then_some(HostId(1))
    }
}

const RETRY: Retry = Retry::new(Span::us(10), Span::us(35), 3);
const ONE: ConnId = ConnId(1);
const NOBODY: ConnId = ConnId(99);

/// A host, and what surrounds it.
struct Bench<const EAGER: bool> {
    host: Host<Plain<EAGER>, 8>,
    now: Time,
    rng: Rng,
    events: Vec<Event>,
    gates: Gates,
}

impl<const EAGER: bool> Bench<EAGER> {
    fn new(connections_max: u32) -> Self {
        let limits = Limits {
            retry: RETRY,
            connections_max,
            payload_max: 1_000,
            token_max: 200,
        };
        let config = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
        Self {
            host: Host::new(Plain::default(), &config, limits),
            now: Time(1),
            rng: Rng::stream(1, stream::TEST, 0),
            events: Vec::new(),
            gates: Gates::default(),
        }
    }

    fn with<T>(&mut self, step: impl FnOnce(&mut Host<Plain<EAGER>, 8>, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: &Known,
            gates: &self.gates,
            wants_data: false,
        };
        let done = step(&mut self.host, &mut cx);
        self.host.check();
        done
    }

    /// All that leaves now, with its connection.
    fn leaves(&mut self) -> Vec<(u32, Said)> {
        let mut out = Packet::EMPTY;
        let mut all = Vec::new();
        while self.with(|host, cx| host.poll_transmit(cx, &mut out)) != Transmit::Nothing {
            all.push((out.conn.0, Plain::<EAGER>::said(&out).expect("ours")));
        }
        all
    }

    /// What leaves when a packet says this.
    fn hear(&mut self, conn: ConnId, said: Said) -> Vec<Said> {
        let packet = Plain::<EAGER>::packet(said, HostId(0), conn, 84);
        self.with(|host, cx| host.on_packet(cx, &packet));
        let all = self.leaves();
        assert!(all.iter().all(|&(other, _)| other == conn.0), "{all:?}");
        all.into_iter().map(|(_, said)| said).collect()
    }

    fn connect(&mut self, conn: ConnId, lifetime: Lifetime) {
        self.with(|host, cx| host.connect(cx, conn, HostId(1), lifetime));
    }

    fn send(&mut self, conn: ConnId, length: u64) {
        self.with(|host, cx| host.send(cx, conn, length));
    }

    /// Opened here, answered with token 7; nothing waits.
    fn opened(lifetime: Lifetime) -> Self {
        let mut bench = Self::new(9);
        bench.connect(ONE, lifetime);
        let token = 0;
        assert_eq!(bench.leaves(), [(1, Said::Open { lifetime, token })]);
        assert_eq!(bench.hear(ONE, Said::Accept { token: 7 }), [ack(7, 0, 0)]);
        bench
    }

    /// Opened by the other end, with this token.
    fn accepted(lifetime: Lifetime) -> (Self, Token) {
        let mut bench = Self::new(9);
        let said = bench.hear(ONE, open(lifetime));
        let [Said::Accept { token }] = said[..] else {
            panic!("{said:?}")
        };
        assert!((1..=200).contains(&token));
        (bench, token)
    }

    /// Packets that made no sense, those that brought nothing new, and timers.
    fn counts(&self) -> [u64; 3] {
        let totals = self.host.totals();
        [totals.nonsense, totals.duplicates, totals.timeouts]
    }
}

fn open(lifetime: Lifetime) -> Said {
    Said::Open { lifetime, token: 0 }
}

fn ack(token: Token, ordinal: u16, offset: u64) -> Said {
    let wanted = Wanted {
        ordinal,
        offset,
        gap: false,
    };
    Said::Ack { token, wanted }
}

/// A piece of 100 B.
fn data(token: Token, ordinal: u16, offset: u64, end: bool) -> Said {
    Said::Data {
        token,
        opens: false,
        lifetime: Lifetime::OneMessage,
        piece: Piece {
            ordinal,
            offset,
            length: 100,
            end,
        },
    }
}

#[test]
fn waits_double_up_to_the_longest() {
    let waits = [0, 1, 2, 3, 40, 41, u16::MAX].map(|tries| RETRY.wait(tries));
    let us = [10, 20, 35, 35, 35, 35, 35].map(Span::us);
    assert_eq!(waits, us);
    assert_eq!(RETRY.patience(), Span::us(100), "the last one too");
    assert_eq!(
        RETRY.over(Span::us(5)),
        RETRY,
        "two round trips are no longer"
    );
    let over = RETRY.over(Span::us(20));
    assert_eq!([over.wait(0), over.wait(1)], [Span::us(40); 2]);
    let host = &Bench::<false>::new(1).host;
    assert_eq!(host.long_silence, Span::us(200));
}

#[test]
fn a_question_is_repeated_and_then_given_up() {
    let mut bench = Bench::<false>::new(9);
    bench.connect(ONE, Lifetime::OneMessage);
    bench.connect(ONE, Lifetime::OneMessage);
    bench.send(ONE, 100);
    let mut asked = vec![bench.now];
    assert_eq!(bench.leaves(), [(1, open(Lifetime::OneMessage))], "once");
    loop {
        bench.now = bench.with(|host, _| host.deadline());
        bench.with(Host::on_deadline);
        if bench.leaves().is_empty() {
            break;
        }
        asked.push(bench.now);
    }
    let at = |us| Time(1).after(Span::us(us));
    assert_eq!(asked, [at(0), at(10), at(30), at(65)]);
    assert_eq!((bench.now, bench.counts()), (at(100), [0, 0, 4]));
    let gone = [Event::Refused { conn: ONE }, Event::Forgotten { conn: ONE }];
    assert_eq!(bench.events, gone);
    assert_eq!(bench.host.deadline(), Time::NEVER);
}

#[test]
fn data_is_counted_sent_and_sent_again() {
    let mut bench = Bench::<false>::opened(Lifetime::OneMessage);
    bench.send(ONE, 1_500);
    let sent = bench.leaves();
    assert_eq!(sent.len(), 2);
    let told = |bench: &Bench<false>| {
        let totals = bench.host.totals();
        (totals.data_sent, totals.retransmitted, totals.timeouts)
    };
    assert_eq!(told(&bench), (2, 0, 0));
    bench.now = bench.host.deadline();
    assert_eq!(bench.now, Time(1).after(Span::us(10)));
    bench.with(Host::on_deadline);
    assert_eq!(bench.leaves(), sent);
    assert_eq!(told(&bench), (4, 2, 1));
    assert!(bench.hear(ONE, ack(7, 0, 1_000)).is_empty());
    assert!(bench.hear(ONE, ack(7, 1, 1_500)).is_empty());
    let done = [
        Event::Sent {
            conn: ONE,
            ordinal: 0,
        },
        Event::Forgotten { conn: ONE },
    ];
    assert_eq!((&bench.events[..], bench.counts()), (&done[..], [0, 0, 1]));
    assert_eq!(
        bench.host.deadline(),
        Time::NEVER,
        "nothing came, and nothing is remembered"
    );
}

#[test]
fn an_opener_believes_the_answer_to_its_question_alone() {
    let mut bench = Bench::<false>::new(9);
    bench.connect(ONE, Lifetime::Exchange);
    bench.leaves();
    // What overtakes the answer will come again.
    assert!(bench.hear(ONE, data(7, 0, 0, true)).is_empty());
    assert!(bench.hear(ONE, ack(7, 0, 0)).is_empty());
    assert!(
        bench.hear(ONE, open(Lifetime::Exchange)).is_empty(),
        "it opened it"
    );
    assert_eq!(bench.counts(), [1, 1, 0]);
    assert_eq!(bench.hear(ONE, Said::Accept { token: 7 }), [ack(7, 0, 0)]);
    assert_eq!(
        bench.hear(ONE, Said::Accept { token: 7 }),
        [ack(7, 0, 0)],
        "a copy"
    );
    let reset = |token| [Said::Reset { token }];
    assert_eq!(bench.hear(ONE, Said::Accept { token: 8 }), reset(8));
    assert_eq!(bench.hear(ConnId(2), Said::Accept { token: 9 }), reset(9));
    assert_eq!(bench.counts(), [1, 1, 0]);
    // Whom nobody knows nothing can be said to.
    assert!(bench.hear(NOBODY, Said::Accept { token: 9 }).is_empty());
    assert_eq!(bench.counts(), [2, 1, 0]);
    assert!(bench.hear(ONE, Said::Reset { token: 8 }).is_empty());
    assert!(bench.events.is_empty(), "meant for an earlier life");
    bench.hear(ONE, Said::Reset { token: 7 });
    let gone = [Event::Refused { conn: ONE }, Event::Forgotten { conn: ONE }];
    assert_eq!(bench.events, gone);
}

#[test]
fn a_receiver_counts_what_is_old_early_or_nonsense() {
    let (mut bench, token) = Bench::<false>::accepted(Lifetime::Persistent);
    let accept = [Said::Accept { token }];
    assert_eq!(
        bench.hear(ONE, open(Lifetime::Persistent)),
        accept,
        "a copy"
    );
    assert!(bench.hear(ONE, Said::Accept { token }).is_empty());
    assert_eq!(bench.counts(), [1, 0, 0], "it did not ask");
    let mut hear = |said, counts| {
        let answer = bench.hear(ONE, said);
        assert_eq!(bench.counts(), counts, "{said:?}");
        answer
    };
    assert_eq!(
        hear(data(token, 0, 0, false), [1, 0, 0]),
        [ack(token, 0, 100)]
    );
    assert_eq!(
        hear(data(token, 0, 0, false), [1, 1, 0]),
        [ack(token, 0, 100)]
    );
    let gap = Said::Ack {
        token,
        wanted: Wanted {
            ordinal: 0,
            offset: 100,
            gap: true,
        },
    };
    assert_eq!(hear(data(token, 0, 300, false), [1, 2, 0]), [gap]);
    assert_eq!(hear(data(token, 0, 300, false), [1, 3, 0]), [], "said once");
    assert_eq!(hear(data(token, 1, 200, false), [2, 3, 0]), []);
    assert_eq!(
        hear(data(token, 0, 100, true), [2, 3, 0]),
        [ack(token, 1, 200)]
    );
    // Of another life, and what acknowledges more than was ever sent.
    let other = token + 1;
    assert_eq!(
        hear(data(other, 1, 200, true), [2, 3, 0]),
        [Said::Reset { token: other }]
    );
    assert_eq!(hear(ack(other, 5, 0), [2, 3, 0]), []);
    assert_eq!(hear(ack(token, 0, 1), [3, 3, 0]), []);
    let received = Event::Received {
        conn: ONE,
        ordinal: 0,
        length: 200,
    };
    assert_eq!(bench.events, [received]);
    // Told to forget it, it does: more could have come.
    bench.with(|host, cx| host.forget(cx, ONE));
    assert_eq!(bench.host.deadline(), Time::NEVER);
}

#[test]
fn whoever_sends_one_message_is_sent_none() {
    let mut bench = Bench::<false>::opened(Lifetime::OneMessage);
    assert!(bench.hear(ONE, data(7, 0, 0, true)).is_empty());
    assert_eq!((bench.counts(), bench.events.len()), ([1, 0, 0], 0));
    // And sends no second one.
    bench.send(ONE, 10);
    bench.send(ONE, 10);
    assert_eq!(bench.events, [Event::Refused { conn: ONE }]);
    let (mut bench, _) = Bench::<false>::accepted(Lifetime::OneMessage);
    bench.send(ONE, 10);
    assert_eq!(bench.events, [Event::Refused { conn: ONE }]);
}

#[test]
fn what_is_done_answers_late_copies_for_a_while() {
    let (mut bench, token) = Bench::<false>::accepted(Lifetime::OneMessage);
    let all = data(token, 0, 0, true);
    assert_eq!(bench.hear(ONE, all), [ack(token, 1, 100)]);
    assert_eq!(bench.events.last(), Some(&Event::Forgotten { conn: ONE }));
    assert_eq!(bench.hear(ONE, all), [ack(token, 1, 100)]);
    assert_eq!(bench.counts(), [0, 1, 0]);
    let other = data(token + 1, 0, 0, true);
    assert_eq!(bench.hear(ONE, other), [Said::Reset { token: token + 1 }]);
    let until = bench.host.deadline();
    assert_eq!(until, Time(1).after(Span::us(200)));
    for (at, answer) in [
        (until.0 - 1, ack(token, 1, 100)),
        (until.0, Said::Reset { token }),
    ] {
        bench.now = Time(at);
        bench.with(Host::on_deadline);
        assert_eq!(bench.hear(ONE, all), [answer]);
    }
    assert_eq!(bench.host.deadline(), Time::NEVER);
}

#[test]
fn what_cannot_be_read_or_has_lost_its_payload_changes_nothing() {
    let mut bench = Bench::<false>::new(9);
    let mut strange = Packet::new(HostId(0), ONE, Class::Plain, 9, 84);
    bench.with(|host, cx| host.on_packet(cx, &strange));
    assert_eq!(bench.counts(), [1, 0, 0]);
    strange.trim(64);
    bench.with(|host, cx| host.on_packet(cx, &strange));
    strange = Packet::new(HostId(0), ONE, Class::Plain, 9, 84);
    strange.bounce(HostId(1));
    bench.with(|host, cx| host.on_packet(cx, &strange));
    assert!(bench.hear(NOBODY, open(Lifetime::Persistent)).is_empty());
    assert_eq!(bench.counts(), [2, 0, 0]);
    assert!(
        bench.hear(ONE, ack(3, 0, 0)).is_empty(),
        "after the end it is normal"
    );
    assert!(bench.hear(ONE, Said::Reset { token: 3 }).is_empty());
    assert_eq!((bench.counts(), bench.events.len()), ([2, 0, 0], 0));
}

#[test]
fn a_host_keeps_so_many_connections() {
    let mut bench = Bench::<false>::new(2);
    bench.connect(ONE, Lifetime::Persistent);
    assert_eq!(bench.leaves(), [(1, open(Lifetime::Persistent))]);
    let said = bench.hear(ConnId(2), open(Lifetime::OneMessage));
    assert!(matches!(said[..], [Said::Accept { .. }]), "{said:?}");
    let refused = [Said::Reset { token: 0 }];
    assert_eq!(bench.hear(ConnId(3), open(Lifetime::OneMessage)), refused);
    bench.connect(ConnId(4), Lifetime::Persistent);
    assert_eq!(bench.events, [Event::Refused { conn: ConnId(4) }]);
    bench.with(|host, cx| host.forget(cx, ONE));
    bench.with(|host, cx| host.forget(cx, ONE));
    assert_eq!(bench.events[1..], [Event::Forgotten { conn: ONE }]);
    bench.connect(ConnId(4), Lifetime::Persistent);
    assert_eq!(bench.leaves(), [(4, open(Lifetime::Persistent))]);
}

#[test]
fn data_that_opens_is_accepted_at_once_and_once() {
    let mut bench = Bench::<true>::new(9);
    let first = Said::Data {
        token: 5,
        opens: true,
        lifetime: Lifetime::OneMessage,
        piece: Piece {
            ordinal: 0,
            offset: 0,
            length: 100,
            end: true,
        },
    };
    assert_eq!(bench.hear(ONE, first), [ack(5, 1, 100)]);
    assert_eq!(bench.hear(ONE, first), [ack(5, 1, 100)]);
    let question = Said::Open {
        lifetime: Lifetime::OneMessage,
        token: 5,
    };
    assert!(bench.hear(ONE, question).is_empty(), "that life is over");
    assert_eq!(bench.counts(), [0, 2, 0]);
    let received = bench
        .events
        .iter()
        .filter(|e| matches!(e, Event::Received { .. }));
    assert_eq!(received.count(), 1);
    // An opener of its own draws the token, and sends at once.
    bench.connect(ConnId(2), Lifetime::OneMessage);
    assert!(bench.leaves().is_empty(), "its data will open it");
    bench.send(ConnId(2), 100);
    let sent = bench.leaves();
    let [
        (
            2,
            Said::Data {
                token, opens: true, ..
            },
        ),
    ] = sent[..]
    else {
        panic!("{sent:?}")
    };
    assert!((1..=200).contains(&token));
}

#[test]
fn questions_without_room_wait_and_none_is_lost_or_doubled() {
    let all = u32::try_from(CONTROL_MAX).unwrap() + 5;
    let mut bench = Bench::<false>::new(u32::MAX);
    for n in 0..all {
        bench.with(|host, cx| host.connect(cx, ConnId(n), HostId(1), Lifetime::OneMessage));
    }
    assert_eq!(
        (bench.host.control.len(), bench.host.unasked.len()),
        (CONTROL_MAX, 5)
    );
    // One that is forgotten is not asked for.
    bench.with(|host, cx| host.forget(cx, ConnId(all - 2)));
    let asked: Vec<u32> = bench.leaves().into_iter().map(|(conn, _)| conn).collect();
    let expected = (0..all).filter(|&n| n != all - 2);
    assert!(asked.into_iter().eq(expected));
    assert!(bench.host.unasked.is_empty());
}

#[test]
fn done_connections_are_remembered_by_life_and_in_order() {
    let mut done = Done::default();
    assert_eq!(done.next(), Time::NEVER);
    done.add(ONE, 3, Time(10));
    done.add(ConnId(2), 4, Time(20));
    // A second life of the first: the first one's end forgets nothing of it.
    done.add(ONE, 5, Time(30));
    let has = |done: &Done| [(1, 3), (1, 5), (2, 4)].map(|(id, token)| done.has(ConnId(id), token));
    assert_eq!((has(&done), done.next()), ([false, true, true], Time(10)));
    done.forget(Time(9));
    assert_eq!(done.next(), Time(10));
    done.forget(Time(10));
    assert_eq!((has(&done), done.next()), ([false, true, true], Time(20)));
    done.forget(Time(29));
    assert_eq!((has(&done), done.next()), ([false, true, false], Time(30)));
    done.forget(Time(30));
    assert_eq!((has(&done), done.next()), ([false; 3], Time::NEVER));
    done.check();
    let most = u32::try_from(done::DONE_MAX).unwrap();
    for n in 0..=most {
        done.add(ConnId(n), 1, Time(99));
    }
    done.check();
    assert_eq!(
        [0, 1, most].map(|n| done.has(ConnId(n), 1)),
        [false, true, true]
    );
}

#[test]
fn what_connections_must_hear_at_once_is_said_to_those_it_is_for() {
    let mut bench = Bench::<false>::opened(Lifetime::Persistent);
    for id in [2, 3] {
        bench.connect(ConnId(id), Lifetime::Persistent);
    }
    bench.leaves();
    bench.hear(ConnId(2), Said::Accept { token: 8 });
    // For the first, and for the third, which nobody has answered; the second need not hear it.
    for (id, told) in [(1, true), (2, false), (3, true)] {
        bench.host.conns.get_mut(&id).unwrap().flow = told;
    }
    bench.host.rules.news = true;
    bench.connect(ConnId(4), Lifetime::Persistent);
    let question = (4, open(Lifetime::Persistent));
    assert_eq!(bench.leaves(), [(1, ack(7, 0, 0)), question]);
    bench.host.rules.news = true;
    let answers = bench.with(|host, cx| {
        let piece = Plain::<false>::packet(data(7, 0, 0, true), HostId(0), ONE, 84);
        host.on_packet(cx, &piece);
        host.control.len()
    });
    assert_eq!(answers, 2, "the acknowledgement, and what must be told");
    assert_eq!(bench.leaves(), [(1, ack(7, 1, 100)), (1, ack(7, 1, 100))]);
}

#[test]
fn a_paused_connection_that_is_forgotten_takes_no_turn_of_another() {
    let mut bench = Bench::<false>::new(9);
    for conn in [ONE, ConnId(2)] {
        bench.connect(conn, Lifetime::OneMessage);
        bench.leaves();
        bench.hear(conn, Said::Accept { token: 7 });
        bench.gates.heed(bench.now, Signal::PauseFlow(conn));
        bench.send(conn, 100);
        assert_eq!(bench.leaves(), []);
    }
    bench.with(|host, cx| host.forget(cx, ONE));
    for conn in [ONE, ConnId(2)] {
        bench.gates.heed(bench.now, Signal::ResumeFlow(conn));
    }
    bench.with(Host::on_gates);
    assert_eq!(bench.leaves(), [(2, data(7, 0, 0, true))]);
}

#[test]
fn what_is_unfinished_is_named_at_both_ends() {
    let said = |host: &Host<Plain<false>, 8>| {
        let mut said = Vec::new();
        host.stuck(&mut |flow| said.push((flow.conn, flow.state, flow.waits_for)));
        said
    };
    let line = |state: &str, waits_for: &str| (ONE, state.to_owned(), waits_for.to_owned());
    let mut bench = Bench::<false>::new(9);
    bench.now = Time::ZERO;
    bench.connect(ONE, Lifetime::OneMessage);
    let asked = line("opener, asked 1 times", "ACCEPT, or asks again at 10us");
    assert_eq!(said(&bench.host), [asked]);
    assert!(bench.host.conns[&1].is_opener());
    bench.leaves();
    bench.hear(ONE, Said::Accept { token: 7 });
    assert_eq!(said(&bench.host), [], "nothing is to be sent");
    bench.send(ONE, 100);
    let sends = line("sending message 0, 0 of 100 B acknowledged", "the line");
    assert_eq!(said(&bench.host), [sends]);

    let (mut bench, token) = Bench::<false>::accepted(Lifetime::OneMessage);
    let accepted = |host| match &said(host)[..] {
        [(_, state, _)] => state.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(accepted(&bench.host), "accepter, asked 1 times");
    assert!(!bench.host.conns[&1].is_opener());
    bench.hear(ONE, data(token, 0, 0, false));
    let receives = line("receiving message 0", "DATA, or forgets it at 200.000001us");
    assert_eq!(said(&bench.host), [receives]);
}

#[test]
fn each_end_knows_who_may_say_something_and_who_owes_it() {
    let said = |bench: &Bench<false>| {
        let conn = &bench.host.conns[&1];
        (conn.listens(), conn.owes_all())
    };
    let opened = |lifetime| said(&Bench::<false>::opened(lifetime));
    let accepted = |lifetime| said(&Bench::<false>::accepted(lifetime).0);
    assert!(!opened(Lifetime::OneMessage).0);
    assert_eq!(accepted(Lifetime::OneMessage), (true, true));
    assert_eq!(opened(Lifetime::Persistent), (true, false));
    assert_eq!(accepted(Lifetime::Persistent), (true, false));
    let (mut bench, token) = Bench::<false>::accepted(Lifetime::Exchange);
    assert_eq!(said(&bench), (true, true));
    bench.hear(ONE, data(token, 0, 0, true));
    assert_eq!(
        said(&bench),
        (true, false),
        "it has come, and its answer has not left"
    );
}

/// Timers of a host that has opened a connection, with `length` bytes to send, whose data is paused meanwhile.
fn timers_of_a_paused_opener<const EAGER: bool>(length: u64) -> u64 {
    let mut bench = Bench::<EAGER>::new(9);
    bench.connect(ONE, Lifetime::Persistent);
    if length > 0 {
        bench.send(ONE, length);
    }
    assert!(!bench.leaves().is_empty());
    bench.gates.heed(bench.now, Signal::PauseFlow(ONE));
    bench.now = bench.host.deadline();
    bench.with(Host::on_deadline);
    bench.counts()[2]
}

#[test]
fn a_question_is_late_while_its_connection_is_paused_unless_data_asks_it() {
    assert_eq!(timers_of_a_paused_opener::<false>(0), 1);
    assert_eq!(timers_of_a_paused_opener::<false>(100), 1);
    assert_eq!(timers_of_a_paused_opener::<true>(0), 1);
    assert_eq!(timers_of_a_paused_opener::<true>(100), 0);
}

#[test]
fn a_host_that_hears_of_another_life_says_which_one_it_knows() {
    let open = |token| Said::Open {
        lifetime: Lifetime::Persistent,
        token,
    };
    let begins = |token| match data(token, 0, 0, false) {
        Said::Data { token, piece, .. } => Said::Data {
            token,
            opens: true,
            lifetime: Lifetime::Persistent,
            piece,
        },
        other => other,
    };
    let mut bench = Bench::<true>::new(9);
    let knows = [Said::Accept { token: 5 }];
    assert_eq!(bench.hear(ONE, open(5)), knows);
    assert_eq!(bench.hear(ONE, begins(6)), knows);
    assert_eq!(bench.counts(), [0, 0, 0]);
    // An opener knows better which life it has begun.
    let mut bench = Bench::<true>::new(9);
    bench.connect(ONE, Lifetime::Persistent);
    bench.leaves();
    let own = bench.host.conns[&1].token;
    assert_eq!(
        bench.hear(ONE, begins(own + 1)),
        [Said::Reset { token: own + 1 }]
    );
}
