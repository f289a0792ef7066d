//! Stories of two drivers, or of one and somebody who speaks its language badly.

mod adversary;
mod forwarding;

use crate::cookie::{self, Own, Secret};
use crate::peers::PEERS_MAX;
use crate::toy::Toy;
use crate::{Clock, DriveError, Driver, DriverConfig, FaultConfig, Hashes, News, Nothing, Random};
use model::wire::{HEADER_MAX, Link};
use model::{Class, ConnId, Event, HostId, Lifetime, Packet, Rng};
use std::net::{SocketAddrV4, UdpSocket};
use std::time::Duration;
use transports::Described as _;
use units::{Rate, Span, Time};

const RATE: Rate = Rate::gbps(1);

fn driver(name: &str, faults: FaultConfig) -> Driver {
    let config = DriverConfig {
        faults,
        ..DriverConfig::loopback(name, RATE)
    };
    Driver::open(&config, &Toy).unwrap()
}

fn quiet() -> Driver {
    driver("toy", FaultConfig::default())
}

/// Turns both ends until `done`, or fails with what is stuck.
fn run(
    ends: [&mut Driver; 2],
    random: &mut Random,
    hashes: &mut Hashes,
    limit: Span,
    mut done: impl FnMut(&[News], &[News]) -> bool,
) {
    let clock = Clock::new();
    let [a, b] = ends;
    let (mut heard_a, mut heard_b) = (Vec::new(), Vec::new());
    while !done(&heard_a, &heard_b) {
        heard_a.extend(a.turn(random, &mut Nothing, Span::us(50)).unwrap());
        heard_b.extend(b.turn(&mut Nothing, hashes, Span::us(50)).unwrap());
        let late = clock.now() > Time::ZERO.after(limit);
        let stuck = (a.stuck(), b.stuck());
        assert!(!late, "not done: {stuck:?} {heard_a:?} {heard_b:?}");
    }
}

fn count(news: &[News], wanted: impl Fn(&Event) -> bool) -> usize {
    news.iter()
        .filter(|n| matches!(n, News::Transport(event) if wanted(event)))
        .count()
}

#[test]
fn a_pause_of_the_next_switch_holds_a_driver_and_is_no_loss() {
    let hub = crate::Hub::default();
    let at = |n| SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, n), 4_000);
    let factory = crate::bench::transport(&transports::registry(), "dctcp", &[]).unwrap();
    let config = DriverConfig::loopback("dctcp", RATE);
    let mut a = Driver::on(hub.port(at(1)), &config, &*factory).unwrap();
    let mut b = Driver::on(hub.port(at(2)), &config, &*factory).unwrap();
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let conn = a.connect(at(2), Lifetime::OneMessage).unwrap();
    random.add(conn, 7, 0);
    a.send(conn, 1_000_000).unwrap();
    let mut live = |a: &mut Driver<_>, until: Time, step: Span| {
        let mut received = 0;
        while hub.now() < until && received == 0 {
            a.turn(&mut random, &mut Nothing, step).unwrap();
            let news = b.turn(&mut Nothing, &mut hashes, step).unwrap();
            received += count(&news, |e| matches!(e, Event::Received { .. }));
        }
        (received, a.totals().data_sent)
    };
    let short = Span::us(5);
    assert_eq!(live(&mut a, Time(2_000_000_000), short).0, 0);
    a.heed(model::Signal::PauseFlow(conn));
    let (_, before) = live(&mut a, Time(2_100_000_000), short);
    // Longer than any timer of its own.
    let during = live(&mut a, Time(3_000_000_000_000), Span::ms(1));
    assert_eq!(during, (0, before));
    a.heed(model::Signal::ResumeFlow(conn));
    assert_eq!(live(&mut a, Time(3_020_000_000_000), short).0, 1);
    let totals = a.totals();
    assert_eq!((totals.retransmitted, totals.timeouts), (0, 0));
}

/// Sends `messages` of `length` bytes; both ends must agree on every byte.
fn transfer(a: &mut Driver, b: &mut Driver, messages: usize, length: u64) {
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let to = b.local_addr().unwrap();
    let conns: Vec<ConnId> = (0..messages)
        .map(|i| {
            let conn = a.connect(to, Lifetime::OneMessage).unwrap();
            a.send(conn, length).unwrap();
            random.add(conn, 7, i as u64);
            conn
        })
        .collect();
    run(
        [a, b],
        &mut random,
        &mut hashes,
        Span::ms(20_000),
        |a, b| {
            count(a, |e| matches!(e, Event::Sent { .. })) == messages
                && count(b, |e| matches!(e, Event::Received { .. })) == messages
        },
    );
    let sent: Vec<_> = conns
        .iter()
        .map(|&conn| random.digest(conn, length).unwrap())
        .collect();
    let received: Vec<_> = hashes
        .digests()
        .map(|(_, bytes, hash)| (bytes, hash))
        .collect();
    assert_eq!(
        received,
        sent.into_iter()
            .map(|hash| (length, hash))
            .collect::<Vec<_>>()
    );
    assert_eq!((a.open_connections(), b.open_connections()), (0, 0));
}

#[test]
fn messages_arrive_whole() {
    let (mut a, mut b) = (quiet(), quiet());
    transfer(&mut a, &mut b, 4, 500_001);
    // The second time both know each other already.
    transfer(&mut a, &mut b, 1, 1);
    assert_eq!((a.stats().nonsense, b.stats().nonsense), (0, 0));
}

#[test]
fn messages_arrive_whole_through_a_bad_network() {
    let percent = 10_000_000;
    let bad = FaultConfig {
        lose_ppb: 5 * percent,
        duplicate_ppb: 5 * percent,
        reorder_ppb: 5 * percent,
        trim_ppb: 0,
    };
    let (mut a, mut b) = (driver("toy", bad), driver("toy", bad));
    transfer(&mut a, &mut b, 8, 200_000);
    let faults = b.stats().faults;
    assert!(
        faults.lost > 10 && faults.duplicated > 10 && faults.reordered > 10,
        "{faults:?}"
    );
    assert!(a.totals().retransmitted > 0);
}

#[test]
fn the_line_is_never_faster_than_configured() {
    let (mut a, mut b) = (quiet(), quiet());
    let clock = Clock::new();
    transfer(&mut a, &mut b, 1, 4_000_000);
    let took = clock.now().since(Time::ZERO);
    // What left, less the burst that catching up allows.
    let wire = a.stats().bytes_out + 66 * a.stats().datagrams_out;
    let least = RATE.serialize(units::Bytes(wire - 65_536));
    assert!(took >= least, "{wire} B in {took}");
}

#[test]
fn a_restarted_peer_is_noticed_and_can_be_reached_again() {
    let (mut a, mut b) = (quiet(), quiet());
    transfer(&mut a, &mut b, 1, 1_000);
    let at = b.local_addr().unwrap();
    drop(b);
    let config = DriverConfig {
        bind: at,
        ..DriverConfig::loopback("toy", RATE)
    };
    let mut b = Driver::open(&config, &Toy).unwrap();
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let conn = a.connect(at, Lifetime::OneMessage).unwrap();
    a.send(conn, 1_000).unwrap();
    random.add(conn, 7, 0);
    run(
        [&mut a, &mut b],
        &mut random,
        &mut hashes,
        Span::ms(5_000),
        |a, _| a.contains(&News::PeerLost(at)),
    );
    // Nothing is kept of what the old one knew.
    assert_eq!(a.open_connections(), 0);
    assert!(a.stuck().is_empty());
    transfer_again(&mut a, &mut b);
}

fn transfer_again(a: &mut Driver, b: &mut Driver) {
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let conn = a
        .connect(b.local_addr().unwrap(), Lifetime::OneMessage)
        .unwrap();
    a.send(conn, 5_000).unwrap();
    random.add(conn, 7, 1);
    run([a, b], &mut random, &mut hashes, Span::ms(5_000), |a, _| {
        count(a, |e| matches!(e, Event::Sent { .. })) == 1
    });
    let received: Vec<_> = hashes
        .digests()
        .map(|(_, bytes, hash)| (bytes, hash))
        .collect();
    assert_eq!(received, [(5_000, random.digest(conn, 5_000).unwrap())]);
}

#[test]
fn a_peer_with_another_transport_is_named() {
    let (mut a, mut b) = (quiet(), driver("other", FaultConfig::default()));
    let at = b.local_addr().unwrap();
    let conn = a.connect(at, Lifetime::OneMessage).unwrap();
    a.send(conn, 1_000).unwrap();
    let reason = crate::Reason::Transport;
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    run(
        [&mut a, &mut b],
        &mut random,
        &mut hashes,
        Span::ms(5_000),
        |a, _| {
            a.contains(&News::Refused {
                peer: at,
                conn: None,
                reason,
            })
        },
    );
}

#[test]
fn nobody_there_is_said_after_the_last_greeting() {
    let mut a = quiet();
    let at = {
        UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
    };
    let std::net::SocketAddr::V4(at) = at else {
        panic!("asked for IPv4")
    };
    let conn = a.connect(at, Lifetime::OneMessage).unwrap();
    a.send(conn, 1_000).unwrap();
    let (clock, mut news) = (Clock::new(), Vec::new());
    while !news.contains(&News::Unreachable(at)) {
        news = a.turn(&mut Nothing, &mut Nothing, Span::ms(100)).unwrap();
        assert!(
            clock.now() < Time::ZERO.after(Span::ms(20_000)),
            "still greeting"
        );
    }
    // The transport's packets had waited, as many as may.
    assert_eq!(a.stats().strangers, 0);
    assert!(a.stats().datagrams_out <= 16);
}

#[test]
fn a_connection_that_was_not_opened_is_refused() {
    let mut a = quiet();
    let error = a.send(ConnId(1 << 20 | 5), 10).unwrap_err();
    assert!(matches!(error, DriveError::Usage(_)), "{error}");
    assert!(error.to_string().contains("connect first"));
}

/// A socket of somebody else, who may lie.
struct Stranger {
    socket: UdpSocket,
    to: SocketAddrV4,
    bytes_out: u64,
    bytes_in: u64,
    datagrams_in: u64,
    cookie: u64,
    tag: u32,
}

impl Stranger {
    const INCARNATION: u32 = 1;

    fn new(to: SocketAddrV4) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        Self {
            socket,
            to,
            bytes_out: 0,
            bytes_in: 0,
            datagrams_in: 0,
            cookie: 0,
            tag: 0,
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.to).unwrap();
        self.bytes_out += bytes.len() as u64;
    }

    fn say_own(&mut self, own: Own) {
        let mut out = [0; 64];
        let len = own.encode(&mut out);
        self.say(&out[..len]);
    }

    fn hear(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 2048];
        let len = self.socket.recv(&mut bytes).ok()?;
        bytes.truncate(len);
        self.bytes_in += len as u64;
        self.datagrams_in += 1;
        Some(bytes)
    }

    fn greeting(cookie: u64) -> cookie::Greeting {
        cookie::Greeting {
            incarnation: Self::INCARNATION,
            nonce: 2,
            cookie,
            transport: cookie::name("toy"),
        }
    }

    /// Greets as an honest peer does.
    fn prove(&mut self, driver: &mut Driver) {
        self.say_own(Own::Hello(Self::greeting(0)));
        turn(driver);
        let answer = self.hear().and_then(|bytes| Own::decode(&bytes));
        let Some(Own::Cookie(answer)) = answer else {
            panic!("no cookie but {answer:?}")
        };
        self.say_own(Own::Hello(Self::greeting(answer.cookie)));
        self.cookie = answer.cookie;
        self.tag = Secret::new(answer.cookie, false).tag_out;
        turn(driver);
    }
}

fn turn(driver: &mut Driver) -> Vec<News> {
    driver
        .turn(&mut Nothing, &mut Hashes::default(), Span::ms(1))
        .unwrap()
}

impl Stranger {
    /// A frame of the toy transport.
    fn toy_data(&self, conn: u32, frame: u32, frames: u32, body: &[u8]) -> Vec<u8> {
        let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 0);
        packet.head = [frame, u32::try_from(body.len()).unwrap(), frames];
        let (tag, cookie) = (self.tag, self.cookie);
        let mut out = [0; HEADER_MAX];
        let len = Toy
            .codec()
            .encode(&packet, Link { conn, tag, cookie }, &mut out);
        [&out[..len], body].concat()
    }
}

const SENDER_OPENED: u32 = 3 << 30;

#[test]
fn before_the_cookie_nothing_is_amplified_and_nothing_is_kept() {
    let mut driver = quiet();
    let to = driver.local_addr().unwrap();
    let mut rng = Rng::stream(9, model::stream::TEST, 0);
    let mut strangers: Vec<_> = (0..4).map(|_| Stranger::new(to)).collect();
    for round in 0..2_000u32 {
        let stranger = &mut strangers[round as usize % 4];
        let said = stranger.bytes_out;
        match rng.below(6) {
            0 => stranger.say_own(Own::Hello(Stranger::greeting(rng.next_u64()))),
            1 => stranger.say_own(Own::Hello(Stranger::greeting(0))),
            2 => stranger.say(&stranger.toy_data(SENDER_OPENED | round, 0, 1, b"hello")),
            3 => stranger.say_own(Own::Unknown { tag: 0 }),
            4 => stranger.say_own(Own::Refused {
                reason: crate::Reason::Peers,
                conn: 0,
                proof: 2,
            }),
            _ => {
                let len = usize::try_from(rng.below(64)).unwrap();
                let bytes: Vec<_> = (0..len).map(|_| rng.next_u64().to_be_bytes()[0]).collect();
                stranger.say(&bytes);
            }
        }
        assert!(stranger.bytes_out >= said);
        assert_eq!(turn(&mut driver), []);
    }
    turn(&mut driver);
    for stranger in &mut strangers {
        while stranger.hear().is_some() {}
        assert!(stranger.datagrams_in > 100, "it answers greetings");
        assert!(stranger.bytes_in <= stranger.bytes_out);
    }
    assert_eq!((driver.open_connections(), driver.known_peers()), (0, 0));
    assert!(driver.stats().bytes_out <= driver.stats().bytes_in);
}

#[test]
fn after_the_cookie_a_message_is_taken_once_however_often_it_comes() {
    let mut driver = quiet();
    let mut peer = Stranger::new(driver.local_addr().unwrap());
    peer.prove(&mut driver);
    let mut received = 0;
    for _ in 0..5 {
        peer.say(&peer.toy_data(SENDER_OPENED | 4, 0, 1, b"once"));
        received += count(&turn(&mut driver), |e| matches!(e, Event::Received { .. }));
    }
    assert_eq!((received, driver.open_connections()), (1, 0));
    assert_eq!(driver.stats().late, 4);
}

#[test]
fn even_a_known_peer_opens_nothing_without_the_cookie() {
    let mut driver = quiet();
    let mut peer = Stranger::new(driver.local_addr().unwrap());
    peer.prove(&mut driver);
    let cookie = peer.cookie;
    for wrong in [0, cookie ^ 1] {
        peer.cookie = wrong;
        peer.say(&peer.toy_data(SENDER_OPENED | 1, 0, 2, &[0; 1432]));
        turn(&mut driver);
        assert_eq!((peer.hear(), driver.open_connections()), (None, 0));
    }
    assert_eq!(driver.stats().unopened, 2);
    peer.cookie = cookie;
    peer.say(&peer.toy_data(SENDER_OPENED | 1, 0, 2, &[0; 1432]));
    turn(&mut driver);
    assert_eq!(
        (peer.hear().is_some(), driver.open_connections()),
        (true, 1)
    );
}

#[test]
fn a_peer_that_opens_too_much_is_told_so_and_costs_no_more() {
    let mut driver = quiet();
    let mut peer = Stranger::new(driver.local_addr().unwrap());
    peer.prove(&mut driver);
    let limit = crate::CONNS_PER_PEER_MAX;
    for n in 0..limit + 50 {
        peer.say(&peer.toy_data(SENDER_OPENED | n, 0, 2, &[0; 1432]));
        turn(&mut driver);
        while n < limit && peer.hear().is_none() {}
    }
    assert_eq!(driver.open_connections(), limit as usize);
    assert_eq!(driver.stats().refused, 50);
    let cookie = peer.cookie;
    let refusals = std::iter::from_fn(|| peer.hear()).filter_map(|bytes| Own::decode(&bytes));
    let reason = crate::Reason::Connections;
    let expected: Vec<_> = (limit..limit + 50)
        .map(|n| Own::Refused {
            reason,
            conn: SENDER_OPENED | n,
            proof: cookie,
        })
        .collect();
    assert_eq!(refusals.collect::<Vec<_>>(), expected);
}

#[test]
fn any_bytes_from_anyone_leave_it_standing_and_bounded() {
    let mut driver = quiet();
    let to = driver.local_addr().unwrap();
    let mut proven = Stranger::new(to);
    proven.prove(&mut driver);
    let mut stranger = Stranger::new(to);
    let mut rng = Rng::stream(11, model::stream::TEST, 0);
    for _ in 0..5_000 {
        let frame = u32::try_from(rng.below(5)).unwrap();
        let last = rng.below(2) == 0;
        let body = if last {
            usize::try_from(rng.below(1_433)).unwrap()
        } else {
            1_432
        };
        let frames = frame + if last { 1 } else { 2 };
        let conn = u32::try_from(rng.next_u64() >> 32).unwrap() >> rng.below(32);
        let conn = if rng.below(2) == 0 {
            conn
        } else {
            SENDER_OPENED | conn >> 22
        };
        let from = if rng.below(2) == 0 {
            &mut proven
        } else {
            &mut stranger
        };
        let mut bytes = from.toy_data(conn, frame, frames, &vec![1; body]);
        match rng.below(4) {
            // Well formed, as far as chance allows.
            0 => {}
            1 => bytes[0] = rng.next_u64().to_be_bytes()[0],
            2 => bytes.truncate(usize::try_from(rng.below(40)).unwrap()),
            _ => {
                for _ in 0..4 {
                    let at = usize::try_from(rng.below(bytes.len() as u64)).unwrap();
                    bytes[at] ^= 1 << rng.below(8);
                }
            }
        }
        from.say(&bytes);
        driver
            .turn(&mut Nothing, &mut Anything, Span::us(100))
            .unwrap();
        while from.socket.set_nonblocking(true).is_ok() && from.hear().is_some() {}
    }
    let stats = driver.stats();
    assert!(stats.nonsense > 500 && stats.strangers > 500, "{stats:?}");
    assert!(driver.open_connections() <= crate::CONNS_PER_PEER_MAX as usize);
    assert!(driver.known_peers() <= PEERS_MAX);
}

/// Takes bytes that lie about their place as well.
struct Anything;

impl crate::Sink for Anything {
    fn accept(&mut self, _: ConnId, _: u64, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}
