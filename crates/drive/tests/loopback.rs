//! Every transport of the registry between two drivers on loopback.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use drive::{
    Clock, Driver, DriverConfig, FaultConfig, Hashes, News, Nothing, Random, Sink, Source,
};
use model::{ConnId, Event, Lifetime, Rng};
use std::net::{SocketAddr, UdpSocket};
use transports::Transport;
use units::{Bytes, Rate, Span, Time};

/// What one transfer may take: a few megabytes, on a machine that is busy with other things.
const LIMIT: Span = Span::ms(20_000);

/// Whether a transport is for real wires.
fn is_for_wires(transport: &dyn Transport) -> bool {
    let factory = transport.configure(&toml::Table::new()).unwrap();
    drive::check_transport(transport.name(), &*factory).is_ok()
}

/// Runs `story` with every transport that is for wires, and then names all that failed.
fn each(story: impl Fn(&dyn Transport)) {
    let all = transports::registry();
    let real = all.iter().filter(|transport| is_for_wires(*transport));
    let failed = real.filter(|transport| {
        let story = std::panic::AssertUnwindSafe(|| story(*transport));
        std::panic::catch_unwind(story).is_err()
    });
    let names: Vec<_> = failed.map(Transport::name).collect();
    assert!(names.is_empty(), "failed with {names:?}");
}

fn driver(transport: &dyn Transport, faults: FaultConfig, seed: u64, mtu: Bytes) -> Driver {
    let factory = transport.configure(&toml::Table::new()).unwrap();
    let config = DriverConfig {
        faults,
        seed,
        mtu,
        ..DriverConfig::loopback(transport.name(), Rate::gbps(1))
    };
    Driver::open(&config, &*factory).unwrap()
}

/// The IP packets of both ends where nothing is said.
const USUAL: [Bytes; 2] = [Bytes(1500); 2];

/// Sends messages of these lengths at the same time; both ends must agree on every byte.
fn transfer(transport: &dyn Transport, faults: FaultConfig, lengths: &[u64]) -> [Driver; 2] {
    transfer_in(USUAL, transport, faults, lengths)
}

/// The same with IP packets of at most so many bytes from each end.
fn transfer_in(
    mtu: [Bytes; 2],
    transport: &dyn Transport,
    faults: FaultConfig,
    lengths: &[u64],
) -> [Driver; 2] {
    let (mut a, mut b) = (
        driver(transport, faults, 1, mtu[0]),
        driver(transport, faults, 2, mtu[1]),
    );
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let to = b.local_addr().unwrap();
    let mut conns = Vec::new();
    for (i, &length) in lengths.iter().enumerate() {
        let conn = a.connect(to, Lifetime::OneMessage).unwrap();
        random.add(conn, 3, i as u64);
        a.send(conn, length).unwrap();
        conns.push(conn);
    }
    let clock = Clock::new();
    let mut received: Vec<(ConnId, u64)> = Vec::new();
    let mut sent = 0;
    while sent < lengths.len() || received.len() < lengths.len() {
        for news in a.turn(&mut random, &mut Nothing, Span::us(20)).unwrap() {
            sent += usize::from(matches!(news, News::Transport(Event::Sent { .. })));
        }
        for news in b.turn(&mut Nothing, &mut hashes, Span::us(20)).unwrap() {
            if let News::Transport(Event::Received {
                conn,
                ordinal: 0,
                length,
            }) = news
            {
                received.push((conn, length));
            }
        }
        let late = clock.now() > Time::ZERO.after(LIMIT);
        let stuck = (a.stuck(), b.stuck());
        assert!(
            !late,
            "{}: {sent} sent, {received:?}, {stuck:?}",
            transport.name()
        );
    }
    // The numbers of connections are the same at both ends.
    received.sort_by_key(|&(conn, _)| {
        conns
            .iter()
            .position(|c| drive::number(*c) == drive::number(conn))
    });
    for ((&conn, &length), (theirs, got)) in conns.iter().zip(lengths).zip(received) {
        assert_eq!(got, length, "{}", transport.name());
        let digest = random.digest(conn, length).unwrap();
        assert_eq!(
            hashes.digest(theirs),
            (length, digest),
            "{}",
            transport.name()
        );
    }
    for end in [&a, &b] {
        let (stats, totals) = (end.stats(), end.totals());
        assert_eq!(stats.nonsense, 0, "{}: {stats:?}", transport.name());
        // A late copy may find its connection gone; without faults there is none.
        let clean = faults == FaultConfig::default();
        assert!(
            !clean || totals.nonsense == 0,
            "{}: {totals:?}",
            transport.name()
        );
        // On a busy machine more may wait for the cookie than may.
        assert_eq!(stats.send_errors, 0, "{stats:?}");
        assert_eq!(end.open_connections(), 0, "{}", transport.name());
    }
    [a, b]
}

#[test]
fn only_upper_bounds_are_refused_and_they_say_why() {
    let all = transports::registry();
    let refused = all.iter().filter(|transport| !is_for_wires(*transport));
    let names: Vec<_> = refused.map(Transport::name).collect();
    assert_eq!(names, ["expresspass+gaps", "homa+gaps", "ndp+gaps"]);
    for name in names {
        let Err(error) = drive::bench::transport(&all, name, &[]) else {
            panic!("{name} was taken")
        };
        assert!(error.contains("for the simulator"), "{error}");
    }
}

#[test]
fn messages_of_every_kind_of_length_arrive_whole() {
    let full = 1432;
    let lengths = [0, 1, full, full + 1, 100_000, 1_000_000, 2_000_000];
    each(|transport| {
        transfer(transport, FaultConfig::default(), &lengths);
    });
}

#[test]
fn messages_arrive_whole_in_frames_of_every_size() {
    let lengths = [0, 1, 8932, 8933, 1_000_000];
    for mtu in [[9000, 9000], [1000, 1000], [9000, 1500], [4096, 9000]] {
        each(|transport| {
            let ends = transfer_in(mtu.map(Bytes), transport, FaultConfig::default(), &lengths);
            let frames = |mtu: u64| -> u64 { lengths.iter().map(|n| n.div_ceil(mtu - 68)).sum() };
            let totals = ends[0].totals();
            let sent = totals.data_sent - totals.retransmitted;
            let least = frames(mtu[0]);
            // SIRD's credit is for a frame of the receiver, which may take several of the sender.
            let [own, theirs] = mtu.map(|mtu| mtu - 68);
            let pieces = lengths.iter().map(|n| n.div_ceil(theirs));
            let most = match transport.name() {
                "sird" => least.max(pieces.sum::<u64>() * theirs.div_ceil(own)),
                _ => least,
            };
            // An empty message takes a frame of data, or none where its announcement says it all.
            assert!(
                (least..=most + 1).contains(&sent),
                "{mtu:?}: {sent}, {least} to {most}"
            );
        });
    }
}

#[test]
fn frames_out_of_range_are_refused() {
    let transport = transports::registry().find("dctcp").unwrap();
    let factory = transport.configure(&toml::Table::new()).unwrap();
    for mtu in [999, 9001] {
        let config = DriverConfig {
            mtu: Bytes(mtu),
            ..DriverConfig::loopback("dctcp", Rate::gbps(1))
        };
        let Err(error) = Driver::open(&config, &*factory) else {
            panic!("{mtu} is taken");
        };
        assert!(error.to_string().contains("1000B to 9000B"), "{error}");
    }
}

#[test]
fn messages_arrive_whole_through_loss_duplication_and_reordering() {
    let percent = 10_000_000;
    let faults = FaultConfig {
        lose_ppb: percent,
        duplicate_ppb: percent,
        reorder_ppb: percent,
        trim_ppb: 5 * percent,
    };
    each(|transport| {
        let [_, b] = transfer(transport, faults, &[400_000; 8]);
        let faults = b.stats().faults;
        assert!(
            faults.lost > 0 && faults.duplicated > 0 && faults.reordered > 0,
            "{faults:?}"
        );
        // One takes data without its payload.
        let name = transport.name();
        assert_eq!(faults.trimmed > 0, name == "ndp", "{name}: {faults:?}");
    });
}

/// Somebody between two drivers who garbles what passes.
struct Garbler {
    /// What A takes for B, and what B takes for A.
    sides: [UdpSocket; 2],
    /// Where each side's packets go on: known for B, learned for A.
    ends: [Option<SocketAddr>; 2],
    rng: Rng,
    garbled: u64,
}

impl Garbler {
    fn new(to: SocketAddr) -> Self {
        let side = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let rng = Rng::stream(5, model::stream::TEST, 0);
        Self {
            sides: [side(), side()],
            ends: [None, Some(to)],
            rng,
            garbled: 0,
        }
    }

    /// Passes on what waits at both sides.
    fn pass(&mut self) {
        let mut bytes = vec![0; 2048];
        for side in 0..2 {
            while let Ok((len, from)) = self.sides[side].recv_from(&mut bytes) {
                self.ends[side] = Some(from);
                let mut datagram = bytes[..len].to_vec();
                // Greetings pass, so that the two get to know each other.
                if datagram[0] >> 4 == model::wire::VERSION && self.rng.below(4) == 0 {
                    self.garble(&mut datagram);
                }
                if let Some(to) = self.ends[1 - side] {
                    self.sides[1 - side].send_to(&datagram, to).unwrap();
                }
            }
        }
    }

    fn garble(&mut self, datagram: &mut Vec<u8>) {
        self.garbled += 1;
        match self.rng.below(8) {
            0 => {
                let len = self.below(datagram.len());
                datagram.truncate(len);
            }
            1 => datagram.resize(datagram.len() + self.below(1600), 0),
            2 => datagram.insert(0, self.rng.next_u64().to_be_bytes()[0]),
            // A field of the header becomes anything, small or large.
            3..=5 => {
                let at = self.below(datagram.len().min(40));
                let value = self.rng.next_u64() >> self.rng.below(64);
                let end = datagram.len().min(at + 4);
                let len = end - at;
                datagram[at..end].copy_from_slice(&value.to_be_bytes()[8 - len..]);
            }
            _ => {
                let at = self.below(datagram.len().min(40));
                datagram[at] ^= 1 << self.rng.below(8);
            }
        }
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.rng.below(n as u64)).unwrap()
    }
}

/// Takes bytes that lie about their place as well.
struct Anything;

impl Sink for Anything {
    fn accept(&mut self, _: ConnId, _: u64, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

/// Has every byte of every stream.
struct Endless;

impl Source for Endless {
    fn fill(&mut self, _: ConnId, _: u64, out: &mut [u8]) -> std::io::Result<()> {
        out.fill(7);
        Ok(())
    }
}

#[test]
fn packets_garbled_on_their_way_break_nothing() {
    const GARBLED_MIN: u64 = 2_000;
    const MESSAGES_MAX: usize = 64;
    each(|transport| {
        let clean = FaultConfig::default();
        let (mut a, mut b) = (
            driver(transport, clean, 1, Bytes(1500)),
            driver(transport, clean, 2, Bytes(1500)),
        );
        let mut between = Garbler::new(b.local_addr().unwrap().into());
        let SocketAddr::V4(to) = between.sides[0].local_addr().unwrap() else {
            panic!("IPv6")
        };
        let mut round = 0;
        while between.garbled < GARBLED_MIN {
            round += 1;
            assert!(round < 100_000, "{}: nothing moves", transport.name());
            if round % 50 == 0 && a.open_connections() < MESSAGES_MAX {
                let conn = a.connect(to, Lifetime::OneMessage).unwrap();
                a.send(conn, 1 << (round / 50 % 20)).unwrap();
            }
            a.turn(&mut Endless, &mut Anything, Span::us(10)).unwrap();
            between.pass();
            b.turn(&mut Endless, &mut Anything, Span::us(10)).unwrap();
            between.pass();
        }
        let name = transport.name();
        let seen = b.stats();
        assert!(
            seen.nonsense > 0 && seen.other_versions > 0 && seen.wrong_tags > 0,
            "{name}: {seen:?}"
        );
        // Forged numbers open nothing without a cookie.
        assert!(
            b.open_connections() <= round / 50,
            "{name}: {}",
            b.open_connections()
        );
        assert!(b.known_peers() == 1, "{name}");
    });
}
