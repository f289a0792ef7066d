//! Real drivers that talk through the switch of the simulator.

use super::*;
use crate::{Forwarder, Hub, Port};
use model::Encap;
use model::intent::{Balance, Memory, PortSpec, SwitchSpec};
use std::net::Ipv4Addr;
use transports::Factory;
use units::Bytes;

const SPEC: SwitchSpec = SwitchSpec {
    memory: Memory::PerPort,
    balance: Balance::Flow,
    telemetry: false,
};

/// Where a host is, and where its wire at the switch is.
fn host(n: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, u8::try_from(n).unwrap()), 4_000)
}
fn leg(n: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, u8::try_from(n).unwrap()), 4_000)
}

/// Hosts around one switch, and messages between them.
struct Star {
    hub: Hub,
    drivers: Vec<Driver<Port>>,
    switch: Forwarder<Port>,
    random: Vec<Random>,
    hashes: Vec<Hashes>,
    /// Sender, its connection, its length.
    messages: Vec<(usize, ConnId, u64)>,
}

impl Star {
    fn new(hosts: usize, factory: &dyn Factory, name: &str, port: &PortSpec) -> Self {
        let hub = Hub::default();
        let config = DriverConfig {
            base_rtt: Span::us(100),
            ..DriverConfig::loopback(name, RATE)
        };
        let drivers = (0..hosts).map(|n| Driver::on(hub.port(host(n)), &config, factory).unwrap());
        let legs = (0..hosts).map(|n| (hub.port(leg(n)), host(n)));
        Self {
            drivers: drivers.collect(),
            switch: Forwarder::new(legs.collect(), &SPEC, port, RATE, 1),
            random: vec![Random::default(); hosts],
            hashes: vec![Hashes::default(); hosts],
            messages: Vec::new(),
            hub,
        }
    }

    fn send(&mut self, from: usize, to: usize, length: u64) {
        let driver = &mut self.drivers[from];
        let conn = driver.connect(leg(to), Lifetime::OneMessage).unwrap();
        driver.send(conn, length).unwrap();
        self.random[from].add(conn, 7, from as u64);
        self.messages.push((from, conn, length));
    }

    /// Until every message has arrived and its sender knows; `meanwhile` may disturb.
    fn run(&mut self, limit: Span, mut meanwhile: impl FnMut(&Hub)) {
        let (mut sent, mut received) = (0, 0);
        while sent < self.messages.len() || received < self.messages.len() {
            for (n, driver) in self.drivers.iter_mut().enumerate() {
                let (random, hashes) = (&mut self.random[n], &mut self.hashes[n]);
                let news = driver.turn(random, hashes, Span::us(1)).unwrap();
                sent += count(&news, |e| matches!(e, Event::Sent { .. }));
                received += count(&news, |e| matches!(e, Event::Received { .. }));
            }
            self.switch.turn(Span::us(1)).unwrap();
            meanwhile(&self.hub);
            let stuck: Vec<_> = self.drivers.iter().map(Driver::stuck).collect();
            let late = self.hub.now() > Time::ZERO.after(limit);
            assert!(!late, "{sent} sent, {received} received: {stuck:?}");
        }
        // Every byte, at whichever host it arrived.
        let mut got: Vec<String> = Vec::new();
        for hashes in &self.hashes {
            got.extend(
                hashes
                    .digests()
                    .map(|(_, bytes, hash)| format!("{bytes} {hash}")),
            );
        }
        let mut wanted: Vec<String> = Vec::new();
        for &(from, conn, length) in &self.messages {
            let hash = self.random[from].digest(conn, length).unwrap();
            wanted.push(format!("{length} {hash}"));
        }
        got.sort();
        wanted.sort();
        assert_eq!(got, wanted);
    }
}

fn factory(name: &str) -> Box<dyn Factory> {
    crate::bench::transport(&transports::registry(), name, &[]).unwrap()
}

/// The port that a transport asks for, with so much room.
fn port(factory: &dyn Factory, buffer: u64) -> PortSpec {
    factory.fabric(RATE, Encap::UDP).port(Bytes(buffer))
}

#[test]
fn credits_are_shaped_by_the_switch_and_data_is_not_lost() {
    let expresspass = factory("expresspass");
    let mut star = Star::new(
        3,
        &*expresspass,
        "expresspass",
        &port(&*expresspass, 250_000),
    );
    // Two receivers give credits to one sender, each for a whole line.
    star.send(0, 1, 1_000_000);
    star.send(0, 2, 1_000_000);
    star.run(Span::ms(200), |_| {});
    let to_sender = star.switch.port(0);
    assert!(
        to_sender.dropped[Class::Credit] > 100,
        "{to_sender:?} lets every credit through"
    );
    // A credit and the frame that it releases take turns on a line: one credit per period.
    let spec = expresspass.fabric(RATE, Encap::UDP).credit.unwrap();
    let period = spec.period(units::LineTime::new(RATE)).0;
    let periods = star.hub.now().0 / period;
    let credits = to_sender.packets[Class::Credit];
    assert!(
        credits <= periods + u64::from(spec.bucket) && credits > 1_400,
        "{credits} credits in {periods} periods"
    );
    for n in 0..3 {
        assert_eq!(star.switch.port(n).dropped[Class::Scheduled], 0);
    }
}

#[test]
fn marks_of_the_switch_slow_dctcp_down_before_anything_is_lost() {
    let dctcp = factory("dctcp");
    let mut star = Star::new(4, &*dctcp, "dctcp", &port(&*dctcp, 250_000));
    for from in 0..3 {
        star.send(from, 3, 600_000);
    }
    star.run(Span::ms(500), |_| {});
    let port = star.switch.port(3);
    assert!(port.marked > 20, "{port:?}");
    assert_eq!(port.dropped[Class::Plain], 0, "{port:?}");
    assert!(port.queue_max <= 250_000, "{port:?}");
}

#[test]
fn an_incast_is_dropped_where_the_port_has_no_room_and_sent_again() {
    let dctcp = factory("dctcp");
    let mut star = Star::new(6, &*dctcp, "dctcp", &port(&*dctcp, 12_000));
    for from in 0..5 {
        star.send(from, 5, 200_000);
    }
    star.run(Span::ms(20_000), |_| {});
    let port = star.switch.port(5);
    let again: u64 = star.drivers.iter().map(|d| d.totals().retransmitted).sum();
    assert!(port.dropped[Class::Plain] > 0 && again > 0, "{port:?}");
    assert!(port.queue_max <= 12_000, "{port:?}");
}

/// What the switch cut comes as a header, and what was cut off is asked for again, without a timer.
#[test]
fn data_that_a_switch_cut_is_pulled_again_between_sockets() {
    let ndp = factory("ndp");
    let mut star = Star::new(6, &*ndp, "ndp", &port(&*ndp, 250_000));
    // The line takes less than the millisecond in which a sender asks by itself.
    for from in 0..3 {
        star.send(from, 5, 20_000);
    }
    star.run(Span::ms(200), |_| {});
    let port = star.switch.port(5);
    let (mut again, mut timeouts) = (0, 0);
    for totals in star.drivers.iter().map(Driver::totals) {
        again += totals.retransmitted;
        timeouts += totals.timeouts;
    }
    assert!(again > 10, "{again}: {port:?}");
    assert_eq!(port.dropped.sum(), 0, "{port:?}");
    let stats = star.drivers[5].stats();
    assert_eq!((stats.nonsense, stats.cut), (0, 0), "{stats:?}");
    // What comes before its sender is known is lost.
    assert!(timeouts <= stats.strangers, "{timeouts}: {stats:?}");
}

/// More has come at the second wire than one turn takes.
#[test]
fn a_switch_waits_on_none_of_its_wires_while_another_has_something() {
    let dctcp = factory("dctcp");
    let mut star = Star::new(2, &*dctcp, "dctcp", &port(&*dctcp, 250_000));
    for _ in 0..=crate::wire::BATCH {
        star.hub.deliver(host(0), leg(1), 0, &[0; 100]);
    }
    let turn = |star: &mut Star| {
        star.switch.turn(Span::us(1)).unwrap();
        (star.switch.counts().taken, star.hub.now())
    };
    assert_eq!(turn(&mut star), (crate::wire::BATCH as u64, Time::ZERO));
    let (taken, now) = turn(&mut star);
    assert_eq!(taken, crate::wire::BATCH as u64 + 1);
    assert!(now > Time::ZERO, "nothing more has come");
}

#[test]
fn bytes_of_strangers_and_liars_do_nothing() {
    let expresspass = factory("expresspass");
    let mut star = Star::new(
        3,
        &*expresspass,
        "expresspass",
        &port(&*expresspass, 250_000),
    );
    star.send(0, 1, 300_000);
    let mut rng = Rng::stream(1, model::stream::TEST, 0);
    let mut junk = 0;
    star.run(Span::ms(200), |hub| {
        let mut bytes = [0u8; 1_600];
        let length = usize::try_from(rng.below(1_600)).unwrap();
        for byte in &mut bytes[..length] {
            *byte = rng.next_u64().to_be_bytes()[0];
        }
        if rng.below(2) == 0 {
            bytes[0] = 0x10; // our version: any envelope
            bytes[1] &= 0xbf;
        }
        // Host 2, who takes no part, and somebody unknown.
        let from = if rng.below(2) == 0 { host(2) } else { host(9) };
        let to = leg(usize::try_from(rng.below(3)).unwrap());
        if rng.below(3) == 0 {
            junk += 1;
            hub.deliver(from, to, 0, &bytes[..length]);
        }
    });
    let counts = star.switch.counts();
    assert!(junk > 100, "{junk}");
    assert!(counts.strangers > 20 && counts.refused > 0, "{counts:?}");
    assert!(star.drivers[1].stats().nonsense + star.drivers[1].stats().strangers > 0);
}
