//! The models of Homa and NDP between two drivers on loopback: the code that runs in the simulator. Nothing trims
//! there; what is lost is sent again.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../scenario/tests/models/mod.rs"]
mod models;

use drive::{Clock, Driver, DriverConfig, Hashes, News, Nothing, Random};
use model::{Event, Lifetime};
use transports::Transport;
use units::{Bytes, Rate, Span, Time};

fn driver(model: &models::Model, control: Option<&Driver>) -> Driver {
    let factory = model.configure(&toml::Table::new()).unwrap();
    let config = DriverConfig {
        mtu: Bytes(9000),
        control: control
            .map(|peer| peer.local_addr().unwrap())
            .into_iter()
            .collect(),
        ..DriverConfig::loopback(model.name(), Rate::gbps(1))
    };
    Driver::open(&config, &*factory).unwrap()
}

fn transfer(model: &models::Model, with_control: bool) {
    const LENGTHS: [u64; 6] = [0, 1, 8932, 8933, 300_000, 2_000_000];
    let mut b = driver(model, None);
    let mut a = driver(model, with_control.then_some(&b));
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
}

#[test]
fn homa_transfers_between_two_drivers_with_and_without_a_control_connection() {
    transfer(&models::homa::HOMA, false);
    transfer(&models::homa::HOMA, true);
}

#[test]
fn ndp_transfers_between_two_drivers_in_frames_of_9000_bytes() {
    transfer(&models::ndp::NDP, false);
}
