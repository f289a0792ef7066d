//! The models of Homa and NDP between two drivers on loopback: the code that runs in the simulator. Nothing trims
//! there; what is lost is sent again.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../scenario/tests/models/mod.rs"]
mod models;

use drive::{Clock, Driver, DriverConfig, Forwarder, Hashes, Hub, Known, News, Nothing, Random};
use model::intent::{PortSpec, SwitchSpec};
use model::{Event, Lifetime, SizeList};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZero;
use std::sync::Arc;
use transports::Transport;
use units::{Bytes, Rate, Span, Time};

fn driver(model: &models::Model, control: Option<&Driver>, known: &Known) -> Driver {
    let factory = model.configure(&toml::Table::new()).unwrap();
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
fn transfer(model: &models::Model, with_control: bool, known: &Known) -> Driver {
    const LENGTHS: [u64; 6] = [0, 1, 8932, 8933, 300_000, 2_000_000];
    let mut b = driver(model, None, known);
    let mut a = driver(model, with_control.then_some(&b), known);
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
    assert!(welcomes.is_none_or(|&(_, heard)| heard == control));
    assert_eq!(a.open_connections() as u64, control);
    assert!(welcomes.is_some() || !with_control);
    a
}

#[test]
fn homa_transfers_between_two_drivers_with_and_without_a_control_connection() {
    transfer(&models::homa::HOMA, false, &Known::default());
    transfer(&models::homa::HOMA, true, &Known::default());
}

#[test]
fn ndp_transfers_between_two_drivers_in_frames_of_9000_bytes() {
    transfer(&models::ndp::NDP, false, &Known::default());
}

#[test]
fn what_is_known_of_a_wire_reaches_its_transport() {
    // Of three messages of 500 B and one of 1500 B as many bytes are in messages of 500 B as above.
    let sizes: SizeList = [500, 500, 500, 1500].into_iter().collect();
    let known = Known {
        hosts: NonZero::new(16),
        ways: NonZero::new(4),
        sizes: Some(Arc::new(sizes)),
        load: None,
    };
    let cutoffs = |known: &Known| {
        let homa = transfer(&models::homa::HOMA, false, known);
        homa.settings()["cutoffs"].to_string()
    };
    let half = ["\"500B\""; 3].join(", ") + ", " + &["\"1500B\""; 3].join(", ");
    assert_eq!(cutoffs(&known), format!("[{half}]"));
    assert_eq!(cutoffs(&Known::default()), "[]");
    let spread = |known: &Known| {
        let counters = transfer(&models::ndp::NDP, false, known).counters();
        let (counter, frames) = counters[0];
        assert_eq!(counter.name, "spread");
        frames
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
    // One hop per frame of data, and none into what answers it.
    let frames = 100_000_u64.div_ceil(1432 - 64);
    assert!(hops_through(true) >= frames);
    assert_eq!(hops_through(false), 0);
}
