//! Every transport of the registry between two drivers on loopback.

use drive::{Clock, Driver, DriverConfig, FaultConfig, Hashes, News, Nothing, Random};
use model::{ConnId, Event, Lifetime};
use transports::Transport;
use units::{Rate, Span, Time};

const LIMIT: Span = Span::ms(30_000);

fn driver(transport: &dyn Transport, faults: FaultConfig, seed: u64) -> Driver {
    let factory = transport.configure(&toml::Table::new()).unwrap();
    let config = DriverConfig {
        faults,
        seed,
        ..DriverConfig::loopback(transport.name(), Rate::gbps(1))
    };
    Driver::open(&config, &*factory).unwrap()
}

/// Sends messages of these lengths at the same time; both ends must agree on every byte.
fn transfer(transport: &dyn Transport, faults: FaultConfig, lengths: &[u64]) -> [Driver; 2] {
    let (mut a, mut b) = (driver(transport, faults, 1), driver(transport, faults, 2));
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
        assert_eq!(
            (stats.nonsense, totals.nonsense),
            (0, 0),
            "{}: {stats:?}",
            transport.name()
        );
        assert_eq!((stats.unsendable, stats.send_errors), (0, 0), "{stats:?}");
        assert_eq!(end.open_connections(), 0, "{}", transport.name());
    }
    [a, b]
}

#[test]
fn messages_of_every_kind_of_length_arrive_whole() {
    for transport in transports::registry() {
        let full = 1432;
        let lengths = [0, 1, full, full + 1, 100_000, 1_000_000, 2_000_000];
        transfer(*transport, FaultConfig::default(), &lengths);
    }
}

#[test]
fn messages_arrive_whole_through_loss_duplication_and_reordering() {
    for transport in transports::registry() {
        let percent = 10_000_000;
        let faults = FaultConfig {
            lose_ppb: percent,
            duplicate_ppb: percent,
            reorder_ppb: percent,
        };
        let [_, b] = transfer(*transport, faults, &[400_000; 8]);
        let faults = b.stats().faults;
        assert!(
            faults.lost > 0 && faults.duplicated > 0 && faults.reordered > 0,
            "{faults:?}"
        );
    }
}
