//! Any bytes as a conversation: what a fuzzer drives a transport with.
//!
//! The bytes are a script for two endpoints and a network that lies. Some packets arrive as they
//! were sent, some never, some twice, some with bytes changed on the way, and some come from
//! nowhere. Nothing that a peer sends may make an endpoint panic, break one of its own invariants,
//! storm, or send a packet that its own codec refuses.

use crate::digest::Digest;
use crate::examine::{envelope, through_codec};
use crate::{Make, host_name};
use model::wire::{Codec, HEADER_MAX, Link};
use model::{
    ConnId, Cx, Encap, Endpoint, EndpointConfig, Event, Gates, HostId, Lifetime, Packet, Peers,
    Record, Rng, Signal, Totals, Transmit, stream,
};
use units::{Bytes, Rate, Span, Time};

/// Packets that wait in the network towards one host; more push the oldest out.
const WIRE_MAX: usize = 64;
/// Connections that the application opens.
const CONNS_MAX: usize = 16;
/// Bytes of one script that are read.
const SCRIPT_MAX: usize = 4096;
/// Calls of `on_deadline` and `poll_transmit` at one instant: more is a storm.
const STORM_MAX: u32 = 1000;
/// Steps of honest network at the end.
const DRAIN: u32 = 64;
/// Frame rate of both lines.
const RATE: Rate = Rate::gbps(10);
/// Message lengths that scripts choose from: the borders of frames and fields.
const LENGTHS: [u64; 10] = [
    0,
    1,
    1_459,
    1_460,
    1_461,
    4_000,
    65_536,
    10_000_000,
    1 << 32,
    (1 << 48) - (1 << 33),
];

/// What connections lead to, as far as the driver can tell: the ones that it opened, and most of
/// those that a peer invents.
struct Known;
impl Peers for Known {
    fn peer(&self, me: HostId, conn: ConnId) -> Option<HostId> {
        (conn.0 % 8 != 7).then_some(HostId(1 - me.0))
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
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }
    fn take(&mut self, n: usize) -> &[u8] {
        let (front, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        front
    }
}

/// What came of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fed {
    /// Sums over both endpoints.
    pub totals: Totals,
    /// The same of what the transport counts in words of its own.
    pub counters: Vec<(&'static str, u64)>,
    /// Hash over every packet that an endpoint sent, every event, and what each waits for at the end.
    pub digest: u64,
}

/// What endpoints count in words of their own, summed.
pub(crate) fn sums<'a>(
    endpoints: impl Iterator<Item = &'a dyn Endpoint>,
) -> Vec<(&'static str, u64)> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for endpoint in endpoints {
        let mut nth = 0;
        endpoint.counters(&mut |counter, value| {
            match sums.get_mut(nth) {
                Some((_, sum)) => *sum += value,
                None => sums.push((counter.name, value)),
            }
            nth += 1;
        });
    }
    sums
}

struct Feed {
    codec: &'static dyn Codec,
    hosts: Vec<(Box<dyn Endpoint>, Rng, Gates)>,
    /// Packets on the way to each host.
    wires: [Vec<Packet>; 2],
    /// Connections of the application, and who opened each.
    opened: Vec<(ConnId, usize)>,
    now: Time,
    events: Vec<Event>,
    digest: Digest,
}

/// Plays `bytes` against two endpoints of a transport.
///
/// # Panics
/// If the transport panics, storms or sends what its own codec refuses.
pub fn feed(make: &Make<'_>, codec: &'static dyn Codec, bytes: &[u8]) -> Fed {
    let hosts = (0..2).map(HostId).map(|host| {
        let config = EndpointConfig::new(host, RATE, Encap::PAPER).with(|told| {
            (told.base_rtt, told.control_rtt) = (Span::us(12), Span::us(11));
            told.port_buffer = Bytes(384_500);
        });
        (
            make(&config),
            Rng::stream(1, stream::HOST, u64::from(host.0)),
            Gates::default(),
        )
    });
    let mut feed = Feed {
        codec,
        hosts: hosts.collect(),
        wires: [Vec::new(), Vec::new()],
        opened: Vec::new(),
        now: Time::ZERO,
        events: Vec::new(),
        digest: Digest::default(),
    };
    let mut script = Script(&bytes[..bytes.len().min(SCRIPT_MAX)]);
    while !script.0.is_empty() {
        feed.step(&mut script);
    }
    for _ in 0..DRAIN {
        feed.honest_step();
    }
    let mut digest = feed.digest;
    let mut totals = Totals::default();
    for (endpoint, ..) in &feed.hosts {
        endpoint.stuck(&mut |flow| {
            assert!(!flow.state.is_empty(), "a flow is stuck in no state");
            digest.text(&flow.state);
            digest.text(&flow.waits_for);
        });
        totals += endpoint.totals();
    }
    Fed {
        totals,
        counters: sums(feed.hosts.iter().map(|(endpoint, ..)| &**endpoint)),
        digest: digest.value(),
    }
}

impl Feed {
    fn step(&mut self, script: &mut Script<'_>) {
        let op = script.byte();
        let host = usize::from(op >> 7);
        match op & 0x1f {
            0..=3 => self.open(script, host),
            4 => self.send(script),
            5 => self.send_empties(script),
            6 if op & 0x20 == 0 => self.cancel(script),
            6 => self.forget(script, host),
            7 => self.signal(script, host),
            8..=10 => {
                // From a picosecond to half a minute.
                let span = Span(1u64 << script.below(45));
                self.advance(span);
            }
            11..=14 => self.poll(host),
            15..=17 => self.honest_step(),
            18..=20 => self.deliver(script, host, true),
            21 => self.deliver(script, host, false),
            22 => {
                let at = script.below(self.wires[host].len());
                if at < self.wires[host].len() {
                    self.wires[host].remove(at);
                }
            }
            23..=25 => self.corrupt(script, host),
            26..=27 => self.twist(script, host),
            _ => {
                let length = script.below(HEADER_MAX + 1);
                let bytes = script.take(length).to_vec();
                self.arrive(host, &bytes, None);
            }
        }
    }

    fn open(&mut self, script: &mut Script<'_>, host: usize) {
        if self.opened.len() == CONNS_MAX {
            return;
        }
        let lifetime = match script.byte() {
            byte if byte.is_multiple_of(2) => Lifetime::OneMessage,
            byte if byte.is_multiple_of(3) => Lifetime::Exchange,
            _ => Lifetime::Persistent,
        };
        let number = u32::try_from(self.opened.len()).expect("at most CONNS_MAX");
        // Even numbers, so that a peer can invent a connection between two of ours.
        let (conn, peer) = (ConnId(2 * number), HostId(u32::from(host == 0)));
        let length = LENGTHS[script.below(LENGTHS.len())];
        self.opened.push((conn, host));
        self.call(host, |endpoint, cx| {
            endpoint.connect(cx, conn, peer, lifetime);
            endpoint.send(cx, conn, length);
        });
    }

    fn send(&mut self, script: &mut Script<'_>) {
        let Some(&(conn, host)) = self.opened.get(script.below(self.opened.len())) else {
            return;
        };
        let length = LENGTHS[script.below(LENGTHS.len() - 2)];
        self.call(host, |endpoint, cx| endpoint.send(cx, conn, length));
    }

    /// Empty messages in a row: they move a stream on without moving its bytes. Most of them arrive.
    fn send_empties(&mut self, script: &mut Script<'_>) {
        let Some(&(conn, host)) = self.opened.get(script.below(self.opened.len())) else {
            return;
        };
        for _ in 0..=script.below(8) {
            self.call(host, |endpoint, cx| endpoint.send(cx, conn, 0));
        }
        (0..script.below(64)).for_each(|_| self.honest_step());
        // What follows is shorter than what they moved the stream by.
        for _ in 0..script.below(4) {
            self.call(host, |endpoint, cx| endpoint.send(cx, conn, 1));
        }
        (0..script.below(8)).for_each(|_| self.poll(host));
    }

    fn cancel(&mut self, script: &mut Script<'_>) {
        let Some(&(conn, host)) = self.opened.get(script.below(self.opened.len())) else {
            return;
        };
        self.call(host, |endpoint, cx| endpoint.cancel(cx, conn));
    }

    fn forget(&mut self, script: &mut Script<'_>, host: usize) {
        let Some(&(conn, _)) = self.opened.get(script.below(self.opened.len())) else {
            return;
        };
        self.call(host, |endpoint, cx| endpoint.forget(cx, conn));
    }

    fn signal(&mut self, script: &mut Script<'_>, host: usize) {
        let conn = ConnId(u32::from(script.byte()));
        let signal = match script.below(4) {
            0 => Signal::PauseFlow(conn),
            1 => Signal::ResumeFlow(conn),
            2 => Signal::PausePriority(script.byte() & 7),
            _ => Signal::ResumePriority(script.byte() & 7),
        };
        self.hosts[host].2.heed(self.now, signal);
        self.call(host, |endpoint, cx| endpoint.on_gates(cx));
    }

    fn call(&mut self, host: usize, step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>)) {
        self.with_cx(host, |endpoint, cx| step(endpoint, cx));
    }

    fn with_cx<R>(
        &mut self,
        host: usize,
        step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>) -> R,
    ) -> R {
        let (endpoint, rng, gates) = &mut self.hosts[host];
        let mut cx = Cx {
            now: self.now,
            rng,
            events: &mut self.events,
            peers: &Known,
            gates,
            wants_data: true,
        };
        let result = step(&mut **endpoint, &mut cx);
        endpoint.check();
        let mut gone: Vec<u32> = Vec::new();
        for event in self.events.drain(..) {
            let me = HostId(u32::from(host == 1));
            // What it misses changes nothing for anybody.
            if !matches!(event, Event::Missing { .. }) {
                self.digest.event(self.now, me, event);
            }
            if let Event::Forgotten { conn } = event {
                gates.forget(conn);
                gone.push(conn.0);
            }
        }
        gone.sort_unstable();
        assert!(
            gone.windows(2).all(|pair| pair[0] < pair[1]),
            "forgot one of {gone:?} twice in one step"
        );
        result
    }

    /// Lets time pass and runs what is due.
    fn advance(&mut self, span: Span) {
        let later = self.now.after(span);
        // The end of time is no moment.
        self.now = if later < Time(u64::MAX / 2) {
            later
        } else {
            self.now
        };
        for host in 0..2 {
            self.run_deadline(host);
        }
    }

    fn run_deadline(&mut self, host: usize) {
        for _ in 0..STORM_MAX {
            if self.hosts[host].0.deadline() > self.now {
                return;
            }
            self.call(host, |endpoint, cx| endpoint.on_deadline(cx));
        }
        panic!(
            "deadline storm at {}, {}",
            host_name(HostId(u32::from(host == 1))),
            self.now
        );
    }

    /// The line is idle: one packet, where there is one.
    fn poll(&mut self, host: usize) {
        self.run_deadline(host);
        let mut packet = Packet::EMPTY;
        let answer = self.with_cx(host, |endpoint, cx| endpoint.poll_transmit(cx, &mut packet));
        if answer == Transmit::Nothing {
            let due = self.hosts[host].0.deadline() <= self.now;
            assert!(
                !due,
                "poll_transmit sent nothing and set a deadline that has passed"
            );
            return;
        }
        let from = HostId(u32::from(host == 1));
        assert!(
            self.hosts[host].2.may_leave(&packet),
            "{packet:?} leaves through a closed gate"
        );
        let verdict = envelope(&packet, from, Known.peer(from, packet.conn), Encap::PAPER)
            .and_then(|()| through_codec(self.codec, &packet));
        if let Err(wrong) = verdict {
            panic!("{} sends {packet:?}, which {wrong}", host_name(from));
        }
        self.now = self
            .now
            .after(RATE.serialize(Bytes(u64::from(packet.size))));
        self.digest.packet(self.now, from, &packet, false);
        let wire = &mut self.wires[1 - host];
        if wire.len() == WIRE_MAX {
            wire.remove(0);
        }
        wire.push(packet);
    }

    /// Both lines send a packet and both hosts get one; with nothing to do, time moves on to the
    /// next deadline.
    fn honest_step(&mut self) {
        let before = self.wires[0].len() + self.wires[1].len();
        self.poll(0);
        self.poll(1);
        for host in 0..2 {
            if !self.wires[host].is_empty() {
                let packet = self.wires[host].remove(0);
                self.call(host, |endpoint, cx| hand_over(endpoint, cx, &packet));
            }
        }
        if before + self.wires[0].len() + self.wires[1].len() == 0 {
            let next = self.hosts[0].0.deadline().min(self.hosts[1].0.deadline());
            if next != Time::NEVER {
                self.advance(next.since(self.now));
            }
        }
    }

    fn deliver(&mut self, script: &mut Script<'_>, host: usize, take: bool) {
        let at = script.below(self.wires[host].len());
        let Some(&packet) = self.wires[host].get(at) else {
            return;
        };
        if take {
            self.wires[host].remove(at);
        }
        self.call(host, |endpoint, cx| hand_over(endpoint, cx, &packet));
    }

    /// A packet on the way gets some of its bytes changed.
    fn corrupt(&mut self, script: &mut Script<'_>, host: usize) {
        let at = script.below(self.wires[host].len());
        let Some(&packet) = self.wires[host].get(at) else {
            return;
        };
        let mut bytes = [0; HEADER_MAX];
        let link = Link {
            conn: packet.conn.0,
            tag: 0,
            cookie: 0,
        };
        let length = self.codec.encode(&packet, link, &mut bytes);
        for _ in 0..=script.below(4) {
            bytes[script.below(length)] ^= script.byte();
        }
        self.arrive(host, &bytes[..length], Some(packet));
    }

    /// A packet on the way gets numbers that are off by a little: plausible, and a lie.
    fn twist(&mut self, script: &mut Script<'_>, host: usize) {
        const SHIFTS: [u32; 5] = [0, 8, 16, 22, 24];
        let at = script.below(self.wires[host].len());
        let Some(&packet) = self.wires[host].get(at) else {
            return;
        };
        let mut lie = packet;
        for _ in 0..=script.below(2) {
            let (word, shift) = (script.below(3), SHIFTS[script.below(SHIFTS.len())]);
            let by = u32::from(script.byte() % 8) << shift;
            let head = lie.head[word];
            lie.head[word] = if script.byte().is_multiple_of(2) {
                head.wrapping_add(by)
            } else {
                head.wrapping_sub(by)
            };
        }
        let mut bytes = [0; HEADER_MAX];
        let link = Link {
            conn: packet.conn.0,
            tag: 0,
            cookie: 0,
        };
        let length = self.codec.encode(&lie, link, &mut bytes);
        self.arrive(host, &bytes[..length], Some(packet));
    }

    /// Bytes arrive at `host`. What the codec accepts goes to the endpoint as it is, in the
    /// envelope of `outside` where there is one.
    fn arrive(&mut self, host: usize, bytes: &[u8], outside: Option<Packet>) {
        let Ok(decoded) = self.codec.decode(bytes) else {
            return;
        };
        assert!(
            decoded.header_len <= bytes.len(),
            "a header longer than its bytes"
        );
        let _ = self.codec.describe(&decoded.packet);
        let payload = self
            .codec
            .payload(&decoded.packet)
            .map_or(0, |(_, length)| length);
        let read = decoded.packet;
        let me = HostId(u32::from(host == 1));
        let mut packet = Packet::new(me, read.conn, read.class(), read.kind(), 0);
        packet.head = read.head;
        packet.set_priority(read.priority());
        packet.set_ecn(outside.map_or(read.ecn(), |outside| outside.ecn()));
        packet.size = payload
            .saturating_add(Encap::PAPER.overhead)
            .max(Encap::PAPER.frame_min);
        packet.at = self.now;
        self.call(host, |endpoint, cx| hand_over(endpoint, cx, &packet));
    }
}

/// Hands over a packet, with a record that nobody wrote where it claims one.
fn hand_over(endpoint: &mut dyn Endpoint, cx: &mut Cx<'_>, packet: &Packet) {
    if !packet.has_record() {
        endpoint.on_packet(cx, packet);
        return;
    }
    let mut bytes: Vec<u8> = packet
        .head
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    bytes.push(packet.kind().wrapping_mul(37));
    let record = Record::read(&bytes).map_or(Record::EMPTY, |(record, _)| record);
    endpoint.on_packet_with(cx, packet, &record);
}
