//! Each attack that SECURITY.md speaks of, and what it must not achieve. On a wire in memory any
//! source address can be forged, and minutes pass in no time.

use super::*;
use crate::cookie::Greeting;
use crate::wire::{Datagram, Fill, Sent, Wire};
use crate::{CONNS_PER_ADDR_MAX, CONNS_PER_PEER_MAX, Hub, PEERS_PER_ADDR_MAX, Port, Reason};
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use transports::{Described, Factory};

fn at(host: u8, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, host), port)
}

const A: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 4_000);
const B: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 4_000);

/// Where each datagram went, and what it was.
type Log = Rc<RefCell<Vec<(SocketAddrV4, Vec<u8>)>>>;

/// A wire that remembers what was pushed into it.
struct Tap {
    port: Port,
    sent: Log,
}

impl Wire for Tap {
    fn now(&self) -> Time {
        self.port.now()
    }
    fn local_addr(&self) -> std::io::Result<SocketAddrV4> {
        self.port.local_addr()
    }
    fn recv(&mut self) -> std::io::Result<usize> {
        self.port.recv()
    }
    fn datagram(&self, i: usize) -> Option<Datagram<'_>> {
        self.port.datagram(i)
    }
    fn room(&self) -> usize {
        self.port.room()
    }
    fn is_blocked(&self) -> bool {
        self.port.is_blocked()
    }
    fn push(&mut self, to: SocketAddrV4, tos: u8, fill: &mut Fill<'_>) -> std::io::Result<()> {
        let mut tapped = |bytes: &mut [u8; crate::DATAGRAM_MAX]| {
            let len = fill(bytes)?;
            self.sent.borrow_mut().push((to, bytes[..len].to_vec()));
            Ok(len)
        };
        self.port.push(to, tos, &mut tapped)
    }
    fn flush(&mut self) -> std::io::Result<Sent> {
        self.port.flush()
    }
    fn wait_for_any<'a>(
        wires: impl Iterator<Item = &'a Self>,
        at_most: Span,
    ) -> std::io::Result<()> {
        Port::wait_for_any(wires.map(|tap| &tap.port), at_most)
    }
}

fn on<W: Wire>(wire: W, name: &str, factory: &dyn Factory) -> Driver<W> {
    Driver::on(wire, &DriverConfig::loopback(name, RATE), factory).unwrap()
}

fn toy(hub: &Hub, addr: SocketAddrV4) -> Driver<Port> {
    on(hub.port(addr), "toy", &Toy)
}

fn real(hub: &Hub, addr: SocketAddrV4, name: &str) -> Driver<Port> {
    let factory = crate::bench::transport(&transports::registry(), name, &[]).unwrap();
    on(hub.port(addr), name, &*factory)
}

/// Lets one driver live for `span`, in steps short enough for its timers.
fn live<W: Wire>(driver: &mut Driver<W>, hub: &Hub, span: Span) -> Vec<News> {
    let (end, mut news) = (hub.now().after(span), Vec::new());
    while hub.now() < end {
        let left = end.since(hub.now());
        news.extend(driver.turn(&mut Nothing, &mut Anything, left).unwrap());
    }
    news
}

/// Two drivers in the middle of a transfer from the first to the second.
struct Talk {
    hub: Hub,
    a: Driver<Tap>,
    b: Driver<Port>,
    sent: Log,
    conn: ConnId,
    random: Random,
    hashes: Hashes,
    news: Vec<News>,
}

const LENGTH: u64 = 1_000_000;

impl Talk {
    fn new(name: &str, factory: &dyn Factory) -> Self {
        let (hub, sent) = (Hub::default(), Log::default());
        let port = hub.port(A);
        let tap = Tap {
            port,
            sent: Rc::clone(&sent),
        };
        let (mut a, b) = (on(tap, name, factory), on(hub.port(B), name, factory));
        let mut random = Random::default();
        let conn = a.connect(B, Lifetime::OneMessage).unwrap();
        random.add(conn, 7, 0);
        a.send(conn, LENGTH).unwrap();
        let mut talk = Self {
            hub,
            a,
            b,
            sent,
            conn,
            random,
            hashes: Hashes::default(),
            news: Vec::new(),
        };
        while talk.hashes.bytes() == 0 {
            talk.turn();
        }
        talk
    }

    fn toy() -> Self {
        Self::new("toy", &Toy)
    }

    fn turn(&mut self) {
        let wait = Span::us(20);
        self.a.turn(&mut self.random, &mut Nothing, wait).unwrap();
        let news = self.b.turn(&mut Nothing, &mut self.hashes, wait).unwrap();
        self.news.extend(news);
    }

    /// The transfer goes on, and nobody has heard anything else.
    fn ends_well(&mut self) {
        while count(&self.news, |e| matches!(e, Event::Received { .. })) == 0 {
            self.turn();
            assert!(self.hub.now() < Time::ZERO.after(Span::ms(20_000)), "stuck");
        }
        let quiet = |e: &Event| matches!(e, Event::Received { .. } | Event::Stopped { .. });
        assert_eq!(count(&self.news, quiet), self.news.len(), "{:?}", self.news);
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
        self.hub.deliver(B, A, 0, bytes);
        self.hub.deliver(A, B, 0, bytes);
        self.turn();
    }
}

/// Guesses of somebody who cannot see our packets: what fields begin with, and what small numbers
/// and fields of ones would hit.
const GUESSES: [u64; 4] = [0, 1, u64::MAX, 1 << 32];

#[test]
fn a_blind_refusal_ends_nothing() {
    let mut talk = Talk::toy();
    let conn = crate::peers::to_wire(talk.conn);
    for proof in GUESSES {
        for reason in [Reason::Peers, Reason::Connections, Reason::Transport] {
            for conn in [0, conn] {
                talk.blind(Own::Refused {
                    reason,
                    conn,
                    proof,
                });
            }
        }
    }
    assert_eq!((talk.a.stats().unasked, talk.b.stats().unasked), (24, 24));
    talk.ends_well();
}

#[test]
fn a_blind_cookie_does_not_restart_a_peer() {
    let mut talk = Talk::toy();
    for nonce in GUESSES {
        talk.blind(Own::Cookie(Greeting {
            incarnation: 9,
            nonce,
            cookie: 5,
            transport: cookie::name("toy"),
        }));
    }
    assert_eq!((talk.a.stats().unasked, talk.b.stats().unasked), (4, 4));
    talk.ends_well();
}

#[test]
fn a_blind_unknown_makes_nobody_greet_again() {
    let mut talk = Talk::toy();
    talk.sent.borrow_mut().clear();
    for tag in [0, 1, u32::MAX] {
        talk.blind(Own::Unknown { tag });
    }
    assert_eq!((talk.a.stats().unasked, talk.b.stats().unasked), (3, 3));
    talk.ends_well();
    let sent = talk.sent.borrow();
    let greetings = sent.iter().filter(|(_, bytes)| cookie::is_own(bytes));
    assert_eq!(greetings.count(), 0);
}

#[test]
fn a_blind_packet_of_the_transport_reaches_no_connection() {
    let mut talk = Talk::toy();
    let conn = crate::peers::to_wire(talk.conn);
    for tag in [0, 1, u32::MAX] {
        for (kind, class) in [(0, Class::Plain), (1, Class::Control)] {
            let mut packet = Packet::new(HostId(0), ConnId(conn), class, kind, 0);
            packet.head = [0, 1 - u32::from(kind), 1];
            let mut out = [0; HEADER_MAX];
            let cookie = 0;
            let link = Link { conn, tag, cookie };
            let len = Toy.codec().encode(&packet, link, &mut out);
            let body: &[u8] = if kind == 0 { b"x" } else { b"" };
            talk.blind_bytes(&[&out[..len], body].concat());
        }
    }
    assert_eq!(
        (talk.a.stats().wrong_tags, talk.b.stats().wrong_tags),
        (6, 6)
    );
    assert_eq!(talk.b.open_connections(), 1);
    talk.ends_well();
    assert_eq!(talk.b.totals().duplicates, 0);
}

#[test]
fn a_forged_credit_releases_nothing() {
    let factory = crate::bench::transport(&transports::registry(), "expresspass", &[]).unwrap();
    let mut talk = Talk::new("expresspass", &*factory);
    let conn = crate::peers::to_wire(talk.conn) ^ 1 << 31;
    let forged = 50u32;
    for sequence in 0..forged {
        let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Credit, 0, 84);
        packet.head[2] = sequence;
        let mut out = [0; HEADER_MAX];
        let (tag, cookie) = (sequence, 0);
        let link = Link { conn, tag, cookie };
        let len = factory.codec().encode(&packet, link, &mut out);
        talk.hub.deliver(B, A, 0, &out[..len]);
        talk.turn();
    }
    assert_eq!(talk.a.stats().wrong_tags, u64::from(forged));
    talk.ends_well();
    assert!(talk.a.totals().credits_received <= talk.b.totals().credits_sent);
}

#[test]
fn what_is_replayed_is_taken_once_and_leaves_nothing_behind() {
    for name in ["toy", "expresspass", "dctcp"] {
        let all = transports::registry();
        let factory: Box<dyn Factory> = match name {
            "toy" => Box::new(Toy),
            _ => crate::bench::transport(&all, name, &[]).unwrap(),
        };
        let mut talk = Talk::new(name, &*factory);
        talk.ends_well();
        (0..100).for_each(|_| talk.turn());
        let (bytes, sent) = (talk.hashes.bytes(), talk.sent.borrow().clone());
        assert!(sent.len() > 500);
        // Somebody on the path sends all that A ever sent again, greetings included: within a
        // second of the original, and five seconds later.
        for later in [Span::ms(1), Span::ms(5_000)] {
            talk.hub.advance(later);
            for (to, datagram) in &sent {
                assert_eq!(*to, B);
                talk.hub.deliver(A, B, 0, datagram);
                talk.turn();
            }
        }
        talk.ends_well();
        assert_eq!(talk.hashes.bytes(), bytes, "{name}");
        assert_eq!(talk.b.open_connections(), 0, "{name}");
        assert!(talk.b.stats().late > 500, "{name}: {:?}", talk.b.stats());
        live(&mut talk.b, &talk.hub, Span::ms(120_000));
        assert!(talk.b.stuck().is_empty(), "{name}: {:?}", talk.b.stuck());
    }
}

/// Somebody who speaks the toy's language from an address of theirs.
struct Liar {
    hub: Hub,
    port: Port,
    addr: SocketAddrV4,
    secret: Option<Secret>,
}

impl Liar {
    fn new(hub: &Hub, addr: SocketAddrV4) -> Self {
        let (hub, port) = (hub.clone(), hub.port(addr));
        Self {
            hub,
            port,
            addr,
            secret: None,
        }
    }

    fn say_own(&self, own: Own) {
        let mut out = [0; 64];
        let len = own.encode(&mut out);
        self.hub.deliver(self.addr, B, 0, &out[..len]);
    }

    fn hear(&mut self) -> Vec<Vec<u8>> {
        let got = self.port.recv().unwrap();
        let read = |i| {
            self.port
                .datagram(i)
                .map(|datagram| datagram.bytes.to_vec())
        };
        (0..got).filter_map(read).collect()
    }

    /// Greets, or answers a greeting, as an honest peer does; whether it was let in.
    fn prove(&mut self, driver: &mut Driver<Port>) -> bool {
        self.say_own(Own::Hello(Stranger::greeting(0)));
        turn_on(driver);
        let answer = self.hear().first().and_then(|bytes| Own::decode(bytes));
        let Some(Own::Cookie(answer)) = answer else {
            panic!("no cookie but {answer:?}")
        };
        self.say_own(Own::Hello(Stranger::greeting(answer.cookie)));
        turn_on(driver);
        let refused = self.hear().iter().any(|bytes| cookie::is_own(bytes));
        self.secret = Some(Secret::new(answer.cookie, false));
        !refused
    }

    /// The first half of a message that never comes whole.
    fn open(&self, number: u32) {
        let conn = SENDER_OPENED_ONE | number;
        let secret = self.secret.expect("proven");
        let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 0);
        packet.head = [0, 1_432, 2];
        let (tag, cookie) = (secret.tag_out, secret.cookie);
        let mut out = [0; HEADER_MAX];
        let link = Link { conn, tag, cookie };
        let len = Toy.codec().encode(&packet, link, &mut out);
        let datagram = [&out[..len], &[0; 1_432]].concat();
        self.hub.deliver(self.addr, B, 0, &datagram);
    }
}

/// The sender opened it, for one message.
const SENDER_OPENED_ONE: u32 = 1 << 31 | 1 << 29;

fn turn_on(driver: &mut Driver<Port>) -> Vec<News> {
    driver
        .turn(&mut Nothing, &mut Anything, Span::us(1))
        .unwrap()
}

/// An honest peer from elsewhere sends a message, and it arrives.
fn serves_others(hub: &Hub, driver: &mut Driver<Port>) {
    let mut honest = toy(hub, at(77, 1));
    let conn = honest.connect(B, Lifetime::OneMessage).unwrap();
    honest.send(conn, 100_000).unwrap();
    let mut random = Random::default();
    random.add(conn, 1, 1);
    let end = hub.now().after(Span::ms(5_000));
    let mut sent = 0;
    while sent == 0 {
        let news = honest.turn(&mut random, &mut Nothing, Span::us(20));
        sent = count(&news.unwrap(), |e| matches!(e, Event::Sent { .. }));
        turn_on(driver);
        assert!(hub.now() < end, "an honest peer is not served");
    }
}

#[test]
fn the_ports_of_one_address_do_not_fill_the_tables() {
    let hub = Hub::default();
    let mut driver = toy(&hub, B);
    let ports = u16::try_from(PEERS_PER_ADDR_MAX + 20).unwrap();
    let mut liars: Vec<_> = (0..ports).map(|n| Liar::new(&hub, at(9, 1 + n))).collect();
    let mut let_in = 0;
    for liar in &mut liars {
        if liar.prove(&mut driver) {
            let_in += 1;
            liar.open(0);
            turn_on(&mut driver);
        }
    }
    assert_eq!(let_in, PEERS_PER_ADDR_MAX);
    assert_eq!(driver.known_peers(), PEERS_PER_ADDR_MAX as usize);
    // Those who are in open all they can.
    for liar in liars.iter().take(5) {
        for n in 1..CONNS_PER_PEER_MAX {
            liar.open(n);
            if n % 16 == 0 {
                turn_on(&mut driver);
            }
        }
        turn_on(&mut driver);
    }
    assert_eq!(driver.open_connections(), CONNS_PER_ADDR_MAX as usize);
    serves_others(&hub, &mut driver);
}

#[test]
fn the_places_of_connections_that_are_not_followed_up_come_back() {
    let hub = Hub::default();
    let mut driver = toy(&hub, B);
    let mut liar = Liar::new(&hub, at(9, 1));
    assert!(liar.prove(&mut driver));
    for n in 0..CONNS_PER_PEER_MAX {
        liar.open(n);
        turn_on(&mut driver);
    }
    assert_eq!(driver.open_connections(), CONNS_PER_PEER_MAX as usize);
    liar.open(CONNS_PER_PEER_MAX);
    turn_on(&mut driver);
    assert_eq!(driver.stats().refused, 1);
    // It is slow but there: it goes on to open others, which get the places of the expired.
    let news = live(&mut driver, &hub, crate::toy::EXPIRY);
    let over = count(&news, |e| matches!(e, Event::Forgotten { .. }));
    assert_eq!(
        (over, driver.open_connections()),
        (CONNS_PER_PEER_MAX as usize, 0)
    );
    liar.open(CONNS_PER_PEER_MAX);
    turn_on(&mut driver);
    assert_eq!(driver.open_connections(), 1);
}

#[test]
fn a_peer_that_vanishes_leaves_nothing_behind() {
    for name in ["expresspass", "expresspass+aeolus", "dctcp"] {
        let hub = Hub::default();
        let mut driver = real(&hub, B, name);
        for round in 0..3 {
            // Opened from several ports, some for one message, some to stay.
            for port in 1..=4 {
                let mut peer = real(&hub, at(9, round * 10 + port), name);
                for n in 0..200 {
                    let lasting = n % 2 == 0;
                    let life = if lasting {
                        Lifetime::Persistent
                    } else {
                        Lifetime::OneMessage
                    };
                    let conn = peer.connect(B, life).unwrap();
                    peer.send(conn, 1_000).unwrap();
                }
                let end = hub.now().after(Span::us(700));
                while hub.now() < end {
                    // Its requests leave, and no data.
                    let _ = peer.turn(&mut Nothing, &mut Nothing, Span::us(10));
                    driver
                        .turn(&mut Nothing, &mut Anything, Span::us(10))
                        .unwrap();
                }
            }
            let open = driver.open_connections();
            assert!(open >= 100, "{name}: {open} opened");
            let news = live(&mut driver, &hub, Span::ms(100_000));
            assert_eq!(driver.open_connections(), 0, "{name}");
            assert!(driver.stuck().is_empty(), "{name}: {:?}", driver.stuck());
            let over = count(&news, |e| matches!(e, Event::Forgotten { .. }));
            let refused = count(&news, |e| matches!(e, Event::Refused { .. }));
            assert_eq!(over + refused, open, "{name}: {over} and {refused}");
        }
    }
}

#[test]
fn a_silent_peer_that_answers_greetings_keeps_its_connections() {
    let hub = Hub::default();
    let (mut a, mut b) = (toy(&hub, A), toy(&hub, B));
    let conn = a.connect(B, Lifetime::Persistent).unwrap();
    let end = hub.now().after(Span::ms(200_000));
    while hub.now() < end {
        let news = [&mut a, &mut b].map(|end| {
            let wait = Span::ms(1);
            end.turn(&mut Nothing, &mut Nothing, wait).unwrap()
        });
        assert_eq!(news, [[], []]);
    }
    assert_eq!((a.open_connections(), a.known_peers()), (1, 1));
    // Five or six looks of two greetings each, and the first.
    assert!(a.stats().datagrams_out < 20, "{:?}", a.stats());
    a.forget(conn).unwrap();
    let news = live(&mut a, &hub, Span::ms(1));
    assert_eq!(news, [News::Transport(Event::Forgotten { conn })]);
    assert_eq!(a.open_connections(), 0);
    assert!(matches!(a.send(conn, 1), Err(DriveError::Usage(_))));
}

/// Takes all packets but some.
struct Picky {
    hashes: Hashes,
    seen: u64,
    refuse: [u64; 3],
}

impl crate::Sink for Picky {
    fn accept(&mut self, conn: ConnId, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.seen += 1;
        if self.refuse.contains(&self.seen) {
            return Err(std::io::Error::other("the disk is full"));
        }
        self.hashes.accept(conn, offset, bytes)
    }
}

#[test]
fn an_error_of_a_sink_loses_the_bytes_that_it_did_not_take_and_no_others() {
    let hub = Hub::default();
    let (mut a, mut b) = (toy(&hub, A), toy(&hub, B));
    let mut random = Random::default();
    let frames = 100u64;
    for stream in 0..2 {
        let conn = a.connect(B, Lifetime::OneMessage).unwrap();
        a.send(conn, frames * 1_432).unwrap();
        random.add(conn, 7, stream);
    }
    let mut sink = Picky {
        hashes: Hashes::default(),
        seen: 0,
        refuse: [10, 11, 40],
    };
    let (mut errors, mut received) = (Vec::new(), 0);
    while received < 2 {
        // Long enough for a whole batch to come at once.
        a.turn(&mut random, &mut Nothing, Span::us(300)).unwrap();
        match b.turn(&mut Nothing, &mut sink, Span::us(300)) {
            Ok(news) => received += count(&news, |e| matches!(e, Event::Received { .. })),
            Err(error) => errors.push(error.to_string()),
        }
        assert!(hub.now() < Time::ZERO.after(Span::ms(5_000)), "stuck");
    }
    assert_eq!((sink.seen, b.stats().sink_errors), (2 * frames, 3));
    assert!(!errors.is_empty() && errors.len() <= 3, "{errors:?}");
    let named = |text: &String| text.contains("1432 B at ") && text.contains("the disk is full");
    assert!(errors.iter().all(named), "{errors:?}");
    // Nothing was asked for again: the transport has it, and the application was told what it lost.
    assert_eq!(a.totals().retransmitted, 0);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn no_script_of_lies_breaks_a_driver(bytes: Vec<u8>, long: [u8; 32], repeat in 1..12usize) {
        let all = transports::registry();
        // What is short finds little: lies in a row find more.
        let script = [bytes, long.repeat(repeat)].concat();
        for name in ["expresspass", "expresspass+aeolus", "dctcp"] {
            let factory = crate::bench::transport(&all, name, &[]).unwrap();
            crate::feed(name, &*factory, &script);
        }
    }
}
