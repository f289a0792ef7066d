//! Any bytes as datagrams and calls: what a fuzzer drives a driver with.
//!
//! A driver runs on a wire in memory. Its peer has proven its address and lies from then on: the
//! script says which packets of the transport it sends, with the tag and the cookie that the driver
//! expects, which bytes it sends besides, what strangers send, and what the application does. Nothing
//! of that may make the driver panic, break an invariant or hold more than its bounds.

use crate::buffers::{Sink, Source};
use crate::cookie::{self, Greeting, Own, Secret};
use crate::wire::Wire;
use crate::{CONNS_MAX, DATAGRAM_MAX, Driver, DriverConfig, Hub, PEERS_MAX, Port};
use model::wire::{Codec, HEADER_MAX, Link};
use model::{Class, ConnId, HostId, Lifetime, Packet};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use transports::Factory;
use units::{Rate, Span};

/// Bytes of one script that are read.
const SCRIPT_MAX: usize = 4_096;
/// Connections that the application opens.
const OPENED_MAX: usize = 8;
const DRIVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 1);
const LIAR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 1);

/// Has every byte of every stream, and takes bytes that lie about their place.
struct Anything;

impl Source for Anything {
    fn fill(&mut self, _: ConnId, _: u64, out: &mut [u8]) -> io::Result<()> {
        out.fill(7);
        Ok(())
    }
}

impl Sink for Anything {
    fn accept(&mut self, _: ConnId, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the script; ends with zeros.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }
    fn word(&mut self) -> u32 {
        u32::from_be_bytes([0; 4].map(|_: u8| self.byte()))
    }
    /// Small numbers as often as large ones.
    fn number(&mut self) -> u32 {
        let shift = u32::from(self.byte()) % 32;
        self.word() >> shift
    }
    fn take(&mut self, n: usize) -> Vec<u8> {
        let (front, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        front.to_vec()
    }
}

struct Feed {
    hub: Hub,
    driver: Driver<Port>,
    liar: Port,
    secret: Secret,
    codec: &'static dyn Codec,
    name: cookie::Name,
    opened: Vec<ConnId>,
}

/// Plays `bytes` against a driver of a transport.
///
/// # Panics
/// If the driver panics, breaks an invariant or holds more than it may.
pub fn feed(name: &str, factory: &dyn Factory, bytes: &[u8]) {
    let hub = Hub::default();
    let config = DriverConfig::loopback(name, Rate::gbps(1));
    let driver = Driver::on(hub.port(DRIVER), &config, factory).expect("a valid configuration");
    let liar = hub.port(LIAR);
    let mut feed = Feed {
        hub,
        driver,
        liar,
        secret: Secret::new(1, false),
        codec: factory.codec(),
        name: cookie::name(name),
        opened: Vec::new(),
    };
    feed.prove();
    let mut script = Script(&bytes[..bytes.len().min(SCRIPT_MAX)]);
    while !script.0.is_empty() {
        feed.step(&mut script);
    }
    for _ in 0..8 {
        feed.turn(Span::ms(10_000));
    }
}

impl Feed {
    /// Lets the driver live for `wait`, or until something is there to do, and holds it to its bounds.
    fn turn(&mut self, wait: Span) {
        let mut both = (Anything, Anything);
        let turned = self.driver.turn(&mut both.0, &mut both.1, wait);
        turned.expect("the wire, the source and the sink fail never");
        assert!(self.driver.open_connections() <= CONNS_MAX);
        assert!(self.driver.known_peers() <= PEERS_MAX);
        let stats = self.driver.stats();
        assert!(
            stats.send_errors == 0 && stats.sink_errors == 0,
            "{stats:?}"
        );
    }

    fn greeting(&self, nonce: u64, cookie: u64) -> Greeting {
        Greeting {
            incarnation: 1,
            nonce,
            cookie,
            transport: self.name,
        }
    }

    fn say_own(&mut self, own: Own, from: SocketAddrV4) {
        let mut out = [0; 64];
        let len = own.encode(&mut out);
        self.hub.deliver(from, DRIVER, 0, &out[..len]);
    }

    /// The liar greets as an honest peer does.
    fn prove(&mut self) {
        self.say_own(Own::Hello(self.greeting(2, 0)), LIAR);
        self.turn(Span::us(1));
        let got = self.liar.recv().expect("memory");
        let read = |i| Own::decode(self.liar.datagram(i)?.bytes);
        let Some(Own::Cookie(answer)) = (0..got).find_map(read) else {
            panic!("no cookie for a greeting");
        };
        self.say_own(Own::Hello(self.greeting(2, answer.cookie)), LIAR);
        self.turn(Span::us(1));
        self.secret = Secret::new(answer.cookie, false);
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() % 16 {
            0 | 1 => self.connect(script),
            2 => {
                if let Some(&conn) = self.chosen(script) {
                    // Refused where the connection is over.
                    let _ = self.driver.send(conn, u64::from(script.number()));
                }
            }
            3 => {
                if let Some(&conn) = self.chosen(script) {
                    let _ = match script.byte() % 2 {
                        0 => self.driver.cancel(conn),
                        _ => self.driver.forget(conn),
                    };
                }
            }
            // Up to half a minute.
            4 => {
                let span = Span(1 << (script.byte() % 45));
                self.turn(span);
            }
            5 => {
                let len = usize::from(script.byte() % 80);
                let bytes = script.take(len);
                let from = somebody(script);
                self.hub.deliver(from, DRIVER, 0, &bytes);
            }
            6 => self.greet(script),
            7 => {
                let len = usize::from(script.byte() % 40);
                let mut bytes = vec![0xf0 | script.byte(), 1];
                bytes.extend(script.take(len));
                let from = somebody(script);
                self.hub.deliver(from, DRIVER, 0, &bytes);
            }
            _ => self.lie(script),
        }
        if !script.byte().is_multiple_of(4) {
            self.turn(Span::us(20));
        }
        let _ = self.liar.recv();
    }

    fn chosen(&self, script: &mut Script<'_>) -> Option<&ConnId> {
        let count = self.opened.len();
        self.opened.get(usize::from(script.byte()) % count.max(1))
    }

    fn connect(&mut self, script: &mut Script<'_>) {
        if self.opened.len() == OPENED_MAX {
            return;
        }
        let life = [
            Lifetime::OneMessage,
            Lifetime::Exchange,
            Lifetime::Persistent,
        ][usize::from(script.byte()) % 3];
        let conn = self.driver.connect(LIAR, life).expect("there is room");
        self.opened.push(conn);
        self.driver
            .send(conn, u64::from(script.number()))
            .expect("it is open");
    }

    /// A greeting, a refusal or an UNKNOWN that is right but for what the script says.
    fn greet(&mut self, script: &mut Script<'_>) {
        let secret = self.secret;
        let own = match script.byte() % 4 {
            0 => Own::Unknown { tag: secret.tag_in },
            1 => Own::Refused {
                reason: crate::Reason::Connections,
                conn: script.number(),
                proof: secret.cookie,
            },
            2 => Own::Hello(self.greeting(u64::from(script.byte()), secret.cookie)),
            _ => {
                let greeting = Greeting {
                    incarnation: u32::from(script.byte()),
                    ..self.greeting(2, secret.cookie)
                };
                Own::Hello(greeting)
            }
        };
        self.say_own(own, LIAR);
    }

    /// A packet of the transport with any head, in the name of a connection that may exist.
    fn lie(&mut self, script: &mut Script<'_>) {
        let class = Class::ALL[usize::from(script.byte()) % Class::ALL.len()];
        let mut packet = Packet::new(HostId(0), ConnId(0), class, script.byte(), 0);
        packet.head = [0; 3].map(|_: u32| script.number());
        let conn = match (script.byte() % 4, self.chosen(script)) {
            // As the other end knows it.
            (0 | 1, Some(&conn)) => crate::peers::to_wire(conn) ^ 1 << 31,
            (0..=2, _) => 1 << 31 | u32::from(script.byte() % 3) << 29 | u32::from(script.byte()),
            _ => script.number(),
        };
        let link = Link {
            conn,
            tag: self.secret.tag_out,
            cookie: self.secret.cookie,
        };
        let mut out = [0; HEADER_MAX];
        let len = self.codec.encode(&packet, link, &mut out);
        let mut bytes = out[..len].to_vec();
        if script.byte().is_multiple_of(8) {
            let at = usize::from(script.byte()) % len;
            bytes[at] ^= script.byte();
        }
        // The payload that it speaks of, where that is a packet at all.
        if let Ok(decoded) = self.codec.decode(&bytes) {
            let payload = self.codec.payload(&decoded.packet);
            let length = payload.map_or(0, |(_, length)| usize::from(length));
            bytes.resize((bytes.len() + length).min(DATAGRAM_MAX), 1);
        }
        self.hub.deliver(LIAR, DRIVER, script.byte(), &bytes);
    }
}

/// The liar, or a stranger.
fn somebody(script: &mut Script<'_>) -> SocketAddrV4 {
    match script.byte() {
        n if n % 2 == 0 => LIAR,
        n => SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 3), n.into()),
    }
}
