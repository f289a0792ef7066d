//! Each attack of SECURITY.md, and what it may not achieve.

use super::*;
use crate::Reason;
use crate::cookie::Greeting;

/// Two drivers in the middle of a transfer from the first to the second.
struct Talk {
    a: Driver,
    b: Driver,
    conn: ConnId,
    random: Random,
    hashes: Hashes,
    news: Vec<News>,
}

const LENGTH: u64 = 3_000_000;

impl Talk {
    fn new() -> Self {
        let (mut a, b) = (quiet(), quiet());
        let mut random = Random::default();
        let conn = a
            .connect(b.local_addr().unwrap(), Lifetime::OneMessage)
            .unwrap();
        random.add(conn, 7, 0);
        a.send(conn, LENGTH).unwrap();
        let (hashes, news) = (Hashes::default(), Vec::new());
        let mut talk = Self {
            a,
            b,
            conn,
            random,
            hashes,
            news,
        };
        while talk.hashes.bytes() == 0 {
            talk.turn();
        }
        talk
    }

    fn turn(&mut self) {
        let wait = Span::us(50);
        self.a.turn(&mut self.random, &mut Nothing, wait).unwrap();
        let news = self.b.turn(&mut Nothing, &mut self.hashes, wait).unwrap();
        self.news.extend(news);
    }

    /// The transfer goes on, and nobody has heard anything else.
    fn ends_well(mut self) {
        let clock = Clock::new();
        while self.news.is_empty() {
            self.turn();
            assert!(clock.now() < Time::ZERO.after(Span::ms(20_000)), "stuck");
        }
        assert_eq!(
            count(&self.news, |e| matches!(e, Event::Received { .. })),
            1
        );
        assert_eq!(self.news.len(), 1, "{:?}", self.news);
        let sent = self.random.digest(self.conn, LENGTH);
        let got = self.hashes.digests().next().map(|(_, _, hash)| hash);
        assert_eq!(sent, got);
    }

    /// Both ends get it, each as if from the other.
    fn blind(&mut self, own: Own) {
        let mut out = [0; 64];
        let len = own.encode(&mut out);
        self.blind_bytes(&out[..len]);
    }

    fn blind_bytes(&mut self, bytes: &[u8]) {
        let [a, b] = [&self.a, &self.b].map(|end| end.local_addr().unwrap());
        self.a.inject(bytes, b);
        self.b.inject(bytes, a);
    }
}

/// Guesses of somebody who cannot see our packets: what fields begin with, and what small numbers
/// and fields of ones would hit.
const GUESSES: [u64; 4] = [0, 1, u64::MAX, 1 << 32];

#[test]
fn a_blind_refusal_ends_nothing() {
    let mut talk = Talk::new();
    let conn = crate::peers::to_wire(talk.conn);
    for (proof, reason) in GUESSES.into_iter().flat_map(|guess| {
        [Reason::Peers, Reason::Connections, Reason::Transport].map(|reason| (guess, reason))
    }) {
        for conn in [0, conn] {
            talk.blind(Own::Refused {
                reason,
                conn,
                proof,
            });
        }
    }
    assert_eq!(talk.a.stats().unasked, 24);
    assert_eq!(talk.b.stats().unasked, 24);
    talk.ends_well();
}

#[test]
fn a_blind_cookie_does_not_restart_a_peer() {
    let mut talk = Talk::new();
    for nonce in GUESSES {
        talk.blind(Own::Cookie(Greeting {
            incarnation: 9,
            nonce,
            cookie: 5,
            transport: cookie::name("toy"),
        }));
    }
    talk.ends_well();
}

#[test]
fn a_blind_unknown_makes_nobody_greet_again() {
    let mut talk = Talk::new();
    let before = talk.a.stats().unasked;
    for tag in [0, 1, u32::MAX] {
        talk.blind(Own::Unknown { tag });
    }
    assert_eq!(talk.a.stats().unasked, before + 3);
    talk.ends_well();
}

#[test]
fn a_blind_packet_of_the_transport_reaches_no_connection() {
    let mut talk = Talk::new();
    let conn = crate::peers::to_wire(talk.conn);
    let (open, totals) = (talk.b.open_connections(), talk.b.totals());
    for tag in [0, 1, u32::MAX] {
        for kind in [0, 1] {
            let class = [Class::Plain, Class::Control][usize::from(kind)];
            let mut packet = Packet::new(HostId(0), ConnId(conn), class, kind, 0);
            packet.head = [0, 1, 1];
            let mut out = [0; HEADER_MAX];
            let link = Link {
                conn,
                tag,
                cookie: 0,
            };
            let len = Toy.codec().encode(&packet, link, &mut out);
            let body: &[u8] = if kind == 0 { b"x" } else { b"" };
            talk.blind_bytes(&[&out[..len], body].concat());
        }
    }
    assert_eq!(talk.b.stats().wrong_tags, 6);
    assert_eq!((talk.b.open_connections(), talk.b.totals()), (open, totals));
    talk.ends_well();
}
