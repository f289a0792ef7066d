//! NDP and small models between two drivers on loopback: the code that runs in the simulator. Nothing trims
//! there; what is lost is sent again.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../scenario/tests/models/mod.rs"]
mod models;

use drive::{
    Clock, Driver, DriverConfig, Forwarder, Hashes, Hub, Known, News, Nothing, Random, Udp,
};
use model::intent::{PortSpec, SwitchSpec};
use model::{Encap, Event, Lifetime, SizeList};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZero;
use std::sync::Arc;
use transports::Transport;
use transports::homa::HOMA;
use units::{Bytes, Rate, Span, Time};

fn driver(model: &dyn Transport, table: &str, control: Option<&Driver>, known: &Known) -> Driver {
    let factory = model.configure(&table.parse().unwrap()).unwrap();
    let config = DriverConfig {
        mtu: Bytes(9000),
        known: known.clone(),
        control: control
            .map(|peer| peer.local_addr().unwrap())
            .into_iter()
            .collect(),
        ..DriverConfig::loopback(model.name(), Rate::gbps(1))
    };
    Driver::open(&config, &*factory).unwrap()
}

/// Returns the sender.
fn transfer(model: &dyn Transport, with_control: bool, known: &Known) -> Driver {
    const LENGTHS: [u64; 6] = [0, 1, 8932, 8933, 300_000, 2_000_000];
    let mut b = driver(model, "", None, known);
    let mut a = driver(model, "", with_control.then_some(&b), known);
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let to = b.local_addr().unwrap();
    let mut conns = Vec::new();
    for (seed, length) in (0..).zip(LENGTHS) {
        let conn = a.connect(to, Lifetime::OneMessage).unwrap();
        random.add(conn, 3, seed);
        a.send(conn, length).unwrap();
        conns.push((conn, length));
    }
    let clock = Clock::new();
    let (mut received, mut sent) = (Vec::new(), 0);
    while sent < LENGTHS.len() || received.len() < LENGTHS.len() {
        for news in a.turn(&mut random, &mut Nothing, Span::us(20)).unwrap() {
            sent += usize::from(matches!(news, News::Transport(Event::Sent { .. })));
        }
        for news in b.turn(&mut Nothing, &mut hashes, Span::us(20)).unwrap() {
            if let News::Transport(Event::Received { conn, length, .. }) = news {
                received.push((conn, length));
            }
        }
        let late = clock.now() > Time::ZERO.after(Span::ms(20_000));
        assert!(
            !late,
            "{}: {sent} sent, {received:?}, {:?}",
            model.name(),
            a.stuck()
        );
    }
    for (conn, length) in conns {
        let same =
            |&&(theirs, _): &&(model::ConnId, u64)| drive::number(theirs) == drive::number(conn);
        let &(theirs, got) = received.iter().find(same).unwrap();
        let digest = random.digest(conn, length).unwrap();
        assert_eq!((got, hashes.digest(theirs)), (length, (length, digest)));
    }
    assert_eq!((a.totals().nonsense, b.totals().nonsense), (0, 0));
    assert_eq!((a.stats().nonsense, b.stats().nonsense), (0, 0));
    let control = u64::from(with_control);
    let counters = a.counters();
    let welcomes = counters.iter().find(|(own, _)| own.name == "welcomes");
    // On a busy machine a host asks again, and is welcomed again.
    assert!(welcomes.is_none_or(|&(_, heard)| heard.min(1) == control));
    assert_eq!(a.open_connections() as u64, control);
    assert!(welcomes.is_some() || !with_control);
    a
}

#[test]
fn a_connection_without_messages_is_open_between_two_drivers() {
    transfer(&models::arbiter::ARBITER, false, &Known::default());
    transfer(&models::arbiter::ARBITER, true, &Known::default());
}

#[test]
fn ndp_transfers_between_two_drivers_in_frames_of_9000_bytes() {
    transfer(&transports::ndp::NDP, false, &Known::default());
}

#[test]
fn what_is_known_of_a_wire_reaches_its_transport() {
    // Seven of eight priorities are for what leaves unasked, with a seventh of the bytes each.
    let sizes: SizeList = (1..=8).map(|n| 100 * n).collect();
    let known = Known {
        hosts: NonZero::new(16),
        ways: NonZero::new(4),
        sizes: Some(Arc::new(sizes)),
        load: None,
    };
    let cutoffs = |known: &Known| {
        let homa = driver(&HOMA, "profile = \"sigcomm18\"", None, known);
        homa.settings()["cutoffs"].to_string()
    };
    let seventh = "[\"300B\", \"400B\", \"500B\", \"600B\", \"700B\", \"800B\"]";
    assert_eq!(cutoffs(&known), seventh);
    assert_eq!(cutoffs(&Known::default()), "\"auto\"");
    let spread = |known: &Known| {
        let counters = transfer(&transports::ndp::NDP, false, known).counters();
        let sprayed = |(counter, _): &&(&model::Counter, u64)| counter.name == "sprayed";
        counters.iter().find(sprayed).unwrap().1
    };
    assert!(spread(&known) > 100 && spread(&Known::default()) == 0);
}

#[test]
fn hpcc_transfers_between_two_drivers() {
    transfer(&models::hpcc::HPCC, false, &Known::default());
}

/// Sends through a software switch; returns the hops that its sender heard of.
fn hops_through(telemetry: bool) -> u64 {
    let hub = Hub::default();
    let at = |net: u8, n: u8| SocketAddrV4::new(Ipv4Addr::new(10, 0, net, n), 4_000);
    let rate = Rate::mbps(100);
    let factory = models::hpcc::HPCC.configure(&toml::Table::new()).unwrap();
    let config = DriverConfig {
        base_rtt: Span::us(200),
        ..DriverConfig::loopback("hpcc-model", rate)
    };
    let open = |n| Driver::on(hub.port(at(0, n)), &config, &*factory).unwrap();
    let (mut a, mut b) = (open(0), open(1));
    let spec = SwitchSpec {
        telemetry,
        ..SwitchSpec::default()
    };
    let legs = [0, 1].map(|n| (hub.port(at(1, n)), at(0, n)));
    let port = PortSpec::fifo(Bytes(250_000));
    let mut switch = Forwarder::new(legs.into(), &spec, &port, rate, 1);
    let (mut random, mut hashes) = (Random::default(), Hashes::default());
    let conn = a.connect(at(1, 1), Lifetime::OneMessage).unwrap();
    random.add(conn, 3, 9);
    a.send(conn, 100_000).unwrap();
    let mut got = None;
    while got.is_none() || !a.stuck().is_empty() {
        a.turn(&mut random, &mut Nothing, Span::us(1)).unwrap();
        switch.turn(Span::us(1)).unwrap();
        for news in b.turn(&mut Nothing, &mut hashes, Span::us(1)).unwrap() {
            if let News::Transport(Event::Received { conn, .. }) = news {
                got = Some(hashes.digest(conn));
            }
        }
        assert!(
            hub.now() < Time::ZERO.after(Span::ms(20_000)),
            "{:?}",
            a.stuck()
        );
    }
    let sent = random.digest(conn, 100_000).unwrap();
    assert_eq!(got, Some((100_000, sent)));
    assert_eq!((a.totals().nonsense, b.totals().nonsense), (0, 0));
    assert_eq!((a.stats().nonsense, b.stats().nonsense), (0, 0));
    let counters = a.counters();
    counters
        .iter()
        .find(|(own, _)| own.name == "hops")
        .unwrap()
        .1
}

#[test]
fn a_software_switch_writes_its_hop_into_the_datagram() {
    // One hop per frame of data, and none into what answers it; the last answer leaves when its connection is over.
    let frames = 100_000_u64.div_ceil(1432 - 64);
    assert!(hops_through(true) >= frames - 1);
    assert_eq!(hops_through(false), 0);
}

/// Two hosts send through a software switch to a third, over sockets.
fn incast_between_sockets(name: &str) {
    const LENGTH: u64 = 500_000;
    let (rate, all) = (Rate::mbps(200), transports::registry());
    let transport = all.find(name).unwrap();
    let factory = transport.configure(&toml::Table::new()).unwrap();
    let config = DriverConfig {
        base_rtt: Span::us(500),
        ..DriverConfig::loopback(name, rate)
    };
    let mut hosts = [0; 3].map(|_| Driver::open(&config, &*factory).unwrap());
    let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let wires = [0; 3].map(|_| Udp::bind(any, config.socket_buffer).unwrap());
    let legs = wires.into_iter().zip(&hosts);
    let legs: Vec<_> = legs
        .map(|(wire, host)| (wire, host.local_addr().unwrap()))
        .collect();
    let to = drive::Wire::local_addr(&legs[2].0).unwrap();
    let port = factory.fabric(rate, Encap::UDP).port(Bytes(250_000));
    let mut switch = Forwarder::new(legs, &SwitchSpec::default(), &port, rate, 1);
    let (mut random, mut wanted) = ([0; 3].map(|_| Random::default()), Vec::new());
    for (seed, host) in (1..).zip([0, 1]) {
        let conn = hosts[host].connect(to, Lifetime::OneMessage).unwrap();
        random[host].add(conn, 3, seed);
        hosts[host].send(conn, LENGTH).unwrap();
        wanted.push((LENGTH, random[host].digest(conn, LENGTH).unwrap()));
    }
    let (clock, mut hashes, mut got, mut sent) = (Clock::new(), Hashes::default(), Vec::new(), 0);
    while got.len() < 2 || sent < 2 {
        for (n, host) in hosts.iter_mut().enumerate() {
            for news in host.turn(&mut random[n], &mut hashes, Span::us(5)).unwrap() {
                match news {
                    News::Transport(Event::Received { conn, .. }) => got.push(hashes.digest(conn)),
                    News::Transport(Event::Sent { .. }) => sent += 1,
                    _ => {}
                }
            }
        }
        switch.turn(Span::us(5)).unwrap();
        let late = clock.now() > Time::ZERO.after(Span::ms(30_000));
        let stuck: Vec<_> = hosts.iter().map(Driver::stuck).collect();
        assert!(!late, "{name}: {stuck:?}, {:?}", switch.counts());
    }
    got.sort();
    wanted.sort();
    assert_eq!(got, wanted, "{name}");
    // Every frame of data went through the port to the third host, and nothing came from elsewhere.
    let frames = 2 * LENGTH.div_ceil(Encap::UDP.payload_max.into());
    let port = switch.port(2);
    let passed: u64 = port.packets.sum();
    assert!(passed >= frames, "{name}: {passed} of {frames}");
    assert_eq!(switch.counts().strangers, 0, "{name}");
}

#[test]
fn the_switch_of_the_simulator_forwards_between_sockets() {
    for name in ["expresspass", "dctcp"] {
        incast_between_sockets(name);
    }
}
