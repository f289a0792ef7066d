//! A switch of two neighbours around a flow control, for ladders: what comes in by port 0 leaves by port 1.

use crate::bfc::bits_of;
use model::intent::PortSpec;
use model::{Class, ConnId, CreditFrame, HostId, Packet, Rng, Signal, stream};
use parts::{Control, Neighbour, Place, Refusal};
use std::collections::VecDeque;
use std::fmt::Write as _;
use switching::{FlowControl, GateOf, GateState, Passage, Say};
use units::{Bytes, Rate, Span, Time};

/// Wire bytes of every packet.
pub(crate) const FRAME: u16 = 1000;

pub(crate) struct Bench {
    control: Box<dyn FlowControl>,
    port: PortSpec,
    /// By queue of port 1, what waits, each with the tag that it came with.
    waiting: Vec<VecDeque<(Packet, Option<u16>)>>,
    now: Time,
    out: String,
}

/// A line of 10 Gb/s and 1 us to another switch.
pub(crate) fn line(port: &PortSpec) -> Neighbour<'_> {
    Neighbour {
        rate: Rate::gbps(10),
        back: Rate::gbps(10),
        round: Span::us(2),
        is_host: false,
        port,
    }
}

/// A switch of these lines with so much memory.
pub(crate) fn place<'a>(lines: &'a [Neighbour<'a>], memory: u64) -> Place<'a> {
    Place {
        lines,
        memory: Bytes(memory),
        frame: FRAME.into(),
        rng: Rng::stream(1, stream::TEST, 0),
    }
}

/// Why a switch of the bench with so much memory does not suit, and what would.
pub(crate) fn refused(kind: &dyn Control, parameters: &str, memory: u64) -> Option<String> {
    let table = parameters.parse().expect("TOML");
    let factory = kind.configure(&table).expect("parameters");
    let port = factory.port(PortSpec::fifo(Bytes(1))).expect("a port");
    let refusal = factory.suits(&place(&[line(&port); 2], memory)).err()?;
    let Refusal {
        place,
        reason,
        instead,
    } = refusal;
    Some(format!("{place} {reason}; {instead}"))
}

/// A packet from port 0 to queue 0 of port 1.
pub(crate) fn passage(packet: &Packet) -> Passage<'_> {
    Passage {
        packet,
        ingress: 0,
        egress: 1,
        queue: 0,
        held: 0,
        tag: None,
    }
}

impl Bench {
    /// With `parameters` as TOML; lines of 10 Gb/s and 1 us: 2500 B there and back, with two frames and a pause 4584 B.
    pub(crate) fn new(kind: &dyn Control, parameters: &str) -> Self {
        Self::between(kind, parameters, false)
    }

    /// The same with hosts behind the ports.
    pub(crate) fn of_hosts(kind: &dyn Control, parameters: &str) -> Self {
        Self::between(kind, parameters, true)
    }

    fn between(kind: &dyn Control, parameters: &str, is_host: bool) -> Self {
        let table = parameters.parse().expect("TOML");
        let factory = kind.configure(&table).expect("parameters");
        let port = factory.port(PortSpec::fifo(Bytes(1))).expect("a port");
        let line = Neighbour {
            is_host,
            ..line(&port)
        };
        let control = factory.make(&place(&[line; 2], 60_000));
        Self {
            control,
            waiting: vec![VecDeque::new(); 256],
            port,
            now: Time::ZERO,
            out: String::new(),
        }
    }

    fn hear(&mut self, what: &str, say: &Say) {
        let mut said = Vec::new();
        for (port, frame) in say.frames() {
            if let Some(credit) = CreditFrame::of(frame) {
                let asks = if credit.asks { " asks" } else { "" };
                let limit = credit
                    .limit
                    .map_or(String::new(), |limit| format!(" up to {limit}"));
                said.push(format!(
                    "port {port}: lane {}{asks}, sent {}{limit}",
                    credit.lane, credit.sent
                ));
                continue;
            }
            said.push(match (Signal::of(frame), bits_of(frame)) {
                (Some(signal), _) => format!("port {port}: {signal:?}"),
                (None, bits) => format!("port {port}: queues {:b}", bits.expect("a bitmap")),
            });
        }
        for (port, gate) in say.gates() {
            let of = match gate.of {
                GateOf::Queue(queue) => format!("queue {queue}"),
                GateOf::Priority(priority) => format!("priority {priority}"),
                GateOf::Flow(conn) => format!("flow {}", conn.0),
            };
            said.push(match gate.state {
                GateState::Open => format!("port {port} opens {of}"),
                GateState::Closed => format!("port {port} closes {of}"),
                GateState::Bytes(left) => format!("port {port} leaves {left} B to {of}"),
            });
        }
        if !said.is_empty() {
            let _ = writeln!(
                self.out,
                "{}us {what}: {}",
                self.now.0 / 1_000_000,
                said.join(", ")
            );
        }
    }

    /// `count` packets of a flow come in.
    pub(crate) fn come(&mut self, conn: u32, count: usize) {
        self.come_from(conn, count, None);
    }

    /// The same with the tag of the switch before. Returns the queue that the last one joined.
    pub(crate) fn come_from(&mut self, conn: u32, count: usize, tag: Option<u16>) -> u8 {
        let mut joined = 0;
        for _ in 0..count {
            let packet = Packet::new(HostId(1), ConnId(conn), Class::Plain, 0, FRAME);
            let mut passage = Passage {
                packet: &packet,
                ingress: 0,
                egress: 1,
                queue: 0,
                held: 0,
                tag,
            };
            let place = self
                .port
                .queue_of(0, Class::Plain, 0, false)
                .expect("PortSpec::check: every class has a queue");
            let own = u8::try_from(place).expect("a port has at most 64 queues");
            passage.queue = self.control.assign(self.now, &passage).unwrap_or(own);
            let mut say = Say::default();
            if self.control.admits(&passage, 60_000) == Some(false) {
                let _ = writeln!(self.out, "{}us {conn} has no room", self.now.0 / 1_000_000);
                continue;
            }
            self.control.arrived(self.now, &passage, &mut say);
            joined = passage.queue;
            self.waiting[usize::from(joined)].push_back((packet, tag));
            self.hear(&format!("{conn} comes to queue {joined}"), &say);
        }
        self.control.check();
        joined
    }

    /// Whether it is calm, and stays so when another packet of `conn` comes.
    pub(crate) fn is_calm(&mut self, conn: u32) -> (bool, bool) {
        let packet = Packet::new(HostId(1), ConnId(conn), Class::Plain, 0, FRAME);
        let stays = self.control.stays_calm(&passage(&packet), 60_000);
        (self.control.is_calm(), stays)
    }

    /// What it counts under `name`.
    pub(crate) fn counted(&self, name: &str) -> Option<u64> {
        let mut found = None;
        self.control.count(&mut |own, value| {
            if own == name {
                found = Some(value);
            }
        });
        found
    }

    /// Whether a packet of so many bytes would be admitted.
    pub(crate) fn admit(&mut self, conn: u32, size: u16) -> Option<bool> {
        let packet = Packet::new(HostId(1), ConnId(conn), Class::Plain, 0, size);
        self.control.admits(&passage(&packet), 60_000)
    }

    /// Such a packet comes without anybody asking whether it is admitted.
    pub(crate) fn arrive(&mut self, conn: u32, size: u16) {
        let packet = Packet::new(HostId(1), ConnId(conn), Class::Plain, 0, size);
        let mut say = Say::default();
        self.control.arrived(self.now, &passage(&packet), &mut say);
        self.waiting[0].push_back((packet, None));
        self.hear(&format!("{conn} comes to queue 0"), &say);
        self.control.check();
    }

    /// Such a packet comes and goes no further.
    pub(crate) fn turn_away(&mut self, conn: u32, size: u16) {
        let packet = Packet::new(HostId(1), ConnId(conn), Class::Plain, 0, size);
        let mut say = Say::default();
        self.control.turned_away(0, &packet, &mut say);
        self.hear(&format!("{conn} goes no further"), &say);
        self.control.check();
    }

    /// `count` packets leave a queue.
    pub(crate) fn leave(&mut self, queue: u8, count: usize) {
        for _ in 0..count {
            let (packet, tag) = self.waiting[usize::from(queue)]
                .pop_front()
                .expect("it waits");
            let passage = Passage {
                packet: &packet,
                ingress: 0,
                egress: 1,
                queue,
                held: 0,
                tag,
            };
            let mut say = Say::default();
            self.control.left(self.now, &passage, &mut say);
            self.hear(&format!("{} leaves queue {queue}", packet.conn.0), &say);
        }
        self.control.check();
    }

    /// The neighbour at port 1 says something, which lasts so long.
    pub(crate) fn say(&mut self, signal: Signal, lasting: Span) {
        self.say_frame(&signal.frame_for(lasting), &format!("{signal:?}"));
    }

    /// The same with any frame.
    pub(crate) fn say_frame(&mut self, frame: &Packet, what: &str) {
        let mut say = Say::default();
        self.control.heard(self.now, 1, frame, &mut say);
        self.hear(&format!("hears {what}"), &say);
        self.control.check();
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, until_us: u64) {
        let until = Time(until_us * 1_000_000);
        while self.control.deadline() <= until {
            self.now = self.control.deadline();
            let mut say = Say::default();
            self.control.on_deadline(self.now, &mut say);
            assert!(
                self.control.deadline() > self.now,
                "an instant without an end"
            );
            self.hear("waits", &say);
        }
        self.now = until;
    }

    /// What was said, a line each.
    pub(crate) fn ladder(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}
