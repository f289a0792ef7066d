//! Endpoints joined by ideal lines, driven in the order that the engine's contract fixes.
//!
//! At one instant a host sees (1) arrivals, (2) what the application does, then its deadline, and
//! (3) the line's choice. Two hosts are joined by one line; more meet at a hub with one FIFO per
//! output.

use crate::fault::{Chaos, Faults, Which};
use crate::ladder::{Ladder, Line, host_name};
use crate::oracle::Oracle;
use model::wire::{Codec, HEADER_MAX, Link};
use model::{
    ConnId, Cx, Ecn, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, Peers, Rng,
    Signal, StuckFlow, Totals, Transmit, stream,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use units::{Bytes, Rate, Span, Time};

/// Makes the endpoint of one host.
pub type Make<'a> = dyn Fn(&EndpointConfig) -> Box<dyn Endpoint> + 'a;

/// Deadlines and polls of one host at one instant that do not move time: more is a storm.
const STORM_MAX: u32 = 1000;
/// Calls into endpoints before a run counts as endless.
const CALLS_MAX: u64 = 50_000_000;
/// Packets that may wait in one output of the hub.
const HUB_QUEUE_MAX: usize = 1 << 20;
/// Lines of the ladder that a failure shows.
const TAIL: usize = 40;

/// Where a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Hub,
    Host(usize),
}

/// A packet on a line.
#[derive(Debug)]
struct Flight {
    at: Time,
    /// Tells packets apart that arrive at the same moment: the order of their transmission.
    order: u64,
    node: Node,
    packet: Packet,
    line: Option<usize>,
}

impl Flight {
    fn key(&self) -> (Time, u64) {
        (self.at, self.order)
    }
}
impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Flight {}
impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Flight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// What an application does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Connect(ConnId, HostId, Lifetime),
    Send(ConnId, u64),
    Cancel(ConnId),
    Signal(Signal),
    /// A deadline that was not asked for.
    Poke,
}

/// An answer: sent when a message has been received.
#[derive(Clone, Copy, Debug)]
struct Reaction {
    conn: ConnId,
    host: usize,
    after: u32,
    length: u64,
}

struct Host {
    endpoint: Box<dyn Endpoint>,
    rng: Rng,
    free_at: Time,
    /// Something changed since it last had nothing to send.
    ask: bool,
    /// What its application does, by time, in the order in which the test wrote it.
    acts: BTreeMap<(Time, u64), Act>,
}

/// One output of the hub.
struct Output {
    queue: VecDeque<(Packet, Option<usize>)>,
    bytes: u64,
    free_at: Time,
}

/// A run that did not bring every message to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Why the run stopped.
    pub reason: String,
    /// Messages that did not end, one line per direction of a connection.
    pub messages: Vec<String>,
    /// What each host waits for.
    pub stuck: Vec<(HostId, StuckFlow)>,
    /// The end of the ladder.
    pub tail: String,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.reason)?;
        for message in &self.messages {
            writeln!(f, "  {message}")?;
        }
        for (host, flow) in &self.stuck {
            let (host, conn) = (host_name(*host), flow.conn.0);
            writeln!(
                f,
                "  {host}, connection {conn}: {}; waits for {}",
                flow.state, flow.waits_for
            )?;
        }
        write!(f, "the last lines:\n{}", self.tail)
    }
}
impl std::error::Error for Unfinished {}

/// Two endpoints on one ideal line, or several around a hub.
pub struct Pair<'a> {
    name: String,
    make: &'a Make<'a>,
    codec: &'static dyn Codec,
    count: usize,
    rate: Rate,
    delay: Span,
    encap: Encap,
    buffer: Bytes,
    mark_from: Option<Bytes>,
    seed: u64,
    limit: Span,
    check_codec: bool,

    hosts: Vec<Host>,
    /// One per host; used by a star alone.
    outputs: Vec<Output>,
    flights: BinaryHeap<Reverse<Flight>>,
    /// Written before the hosts exist, and while they run.
    script: Vec<(Time, usize, Act)>,
    reactions: Vec<Reaction>,
    faults: Faults,
    oracle: Oracle,
    ladder: Ladder,
    events: Vec<(Time, HostId, Event)>,
    scratch: Vec<Event>,
    now: Time,
    order: u64,
    conns: u32,
    calls: u64,
    packets: u64,
    digest: u64,
    reported: bool,
}

impl<'a> Pair<'a> {
    /// Two hosts, [`crate::A`] and [`crate::B`], on a line of 10 Gb/s with 5 us of delay each way.
    pub fn new(make: &'a Make<'a>, codec: &'static dyn Codec) -> Self {
        Self::star(2, make, codec)
    }

    /// `hosts` hosts around a hub with one FIFO per output; just a line where there are two.
    ///
    /// # Panics
    /// If there are fewer than two.
    pub fn star(hosts: usize, make: &'a Make<'a>, codec: &'static dyn Codec) -> Self {
        assert!(hosts >= 2, "{hosts} hosts have nobody to talk to");
        Self {
            name: "the transport".to_owned(),
            make,
            codec,
            count: hosts,
            rate: Rate::gbps(10),
            delay: Span::us(5),
            encap: Encap::PAPER,
            buffer: Bytes(u64::MAX),
            mark_from: None,
            seed: 1,
            limit: Span::ms(100_000),
            check_codec: true,
            hosts: Vec::new(),
            outputs: Vec::new(),
            flights: BinaryHeap::new(),
            script: Vec::new(),
            reactions: Vec::new(),
            faults: Faults::default(),
            oracle: Oracle::default(),
            ladder: Ladder::default(),
            events: Vec::new(),
            scratch: Vec::new(),
            now: Time::ZERO,
            order: 0,
            conns: 0,
            calls: 0,
            packets: 0,
            digest: 0,
            reported: false,
        }
    }

    /// What failures call the transport.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }
    /// Rate of every line.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }
    /// One-way delay of every line. From host to host there are two lines in a star.
    #[must_use]
    pub fn delay(mut self, delay: Span) -> Self {
        self.delay = delay;
        self
    }
    /// Frame sizes.
    #[must_use]
    pub fn encap(mut self, encap: Encap) -> Self {
        self.encap = encap;
        self
    }
    /// Bytes that may wait in one output of the hub; what comes on top is dropped.
    #[must_use]
    pub fn buffer(mut self, buffer: Bytes) -> Self {
        self.buffer = buffer;
        self
    }
    /// The hub marks ECN-capable packets that find at least this many bytes waiting.
    #[must_use]
    pub fn mark_from(mut self, threshold: Bytes) -> Self {
        self.mark_from = Some(threshold);
        self
    }
    /// Seed of the hosts' random streams.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
    /// Simulated time after which a run counts as stuck.
    #[must_use]
    pub fn limit(mut self, limit: Span) -> Self {
        self.limit = limit;
        self
    }
    /// Does not send packets through the codec.
    #[must_use]
    pub fn without_codec(mut self) -> Self {
        self.check_codec = false;
        self
    }

    /// What the endpoint of `host` is told.
    pub fn config(&self, host: HostId) -> EndpointConfig {
        let links = if self.count == 2 { 1 } else { 2 };
        let full = self.rate.serialize(Bytes(u64::from(self.encap.wire_max())));
        let small = self.rate.serialize(Bytes(u64::from(self.encap.frame_min)));
        EndpointConfig {
            host,
            rate: self.rate,
            base_rtt: (self.delay + self.delay + full + small).times(links),
            encap: self.encap,
            port_buffer: Bytes(self.buffer.0.min(PORT_BUFFER.0)),
            hops_max: if links == 1 { 1 } else { 2 },
        }
    }
}

/// What hosts are told of the hub's buffer where it has no bound. [xpass artefact: 250 packets]
const PORT_BUFFER: Bytes = Bytes(384_500);

/// What the application does. Times that have passed mean "now".
impl Pair<'_> {
    fn act(&mut self, at: Time, host: HostId, act: Act) {
        let at = at.max(self.now);
        let index = self.index(host);
        self.script.push((at, index, act));
    }

    fn index(&self, host: HostId) -> usize {
        let index = host.0 as usize;
        assert!(
            index < self.count,
            "{host:?} is not one of the {} hosts",
            self.count
        );
        index
    }

    fn open(&mut self, at: Time, from: HostId, to: HostId, lifetime: Lifetime) -> ConnId {
        assert_ne!(from, to, "a connection has two ends");
        self.index(to);
        self.conns += 1;
        let conn = ConnId(self.conns);
        self.oracle.connect(conn, from, to);
        self.act(at, from, Act::Connect(conn, to, lifetime));
        conn
    }

    /// One message on a connection of its own, which both ends forget when it is done.
    pub fn message(&mut self, at: Time, from: HostId, to: HostId, length: u64) -> ConnId {
        let conn = self.open(at, from, to, Lifetime::OneMessage);
        self.act(at, from, Act::Send(conn, length));
        conn
    }

    /// Opens a connection that lives until the end of the run.
    pub fn connect(&mut self, at: Time, from: HostId, to: HostId) -> ConnId {
        self.open(at, from, to, Lifetime::Persistent)
    }

    /// `from` sends another message on `conn`.
    pub fn send(&mut self, at: Time, conn: ConnId, from: HostId, length: u64) {
        self.act(at, from, Act::Send(conn, length));
    }

    /// `from` sends `length` bytes as soon as it has received message `after` of `conn`.
    pub fn reply(&mut self, conn: ConnId, from: HostId, after: u32, length: u64) {
        let host = self.index(from);
        self.reactions.push(Reaction {
            conn,
            host,
            after,
            length,
        });
    }

    /// `from` takes back what has not left yet.
    pub fn cancel(&mut self, at: Time, conn: ConnId, from: HostId) {
        self.act(at, from, Act::Cancel(conn));
    }

    /// A hop-by-hop pause or resume reaches `host`.
    pub fn signal(&mut self, at: Time, host: HostId, signal: Signal) {
        self.act(at, host, Act::Signal(signal));
    }

    /// Calls `host`'s `on_deadline` unasked, and asks it for a packet.
    pub fn poke(&mut self, at: Time, host: HostId) {
        self.act(at, host, Act::Poke);
    }

    /// Lets any packet arrive at `host`: what a liar or an earlier life may send.
    pub fn inject(&mut self, at: Time, host: HostId, packet: Packet) {
        let node = Node::Host(self.index(host));
        self.order += 1;
        let (at, order) = (at.max(self.now), self.order);
        self.flights.push(Reverse(Flight {
            at,
            order,
            node,
            packet,
            line: None,
        }));
    }
}

/// What the network does.
impl Pair<'_> {
    /// Loses packets.
    pub fn lose(&mut self, which: impl Into<Which>) {
        self.faults.lose(which.into());
    }
    /// Delivers packets twice, the copy 1 ps later.
    pub fn duplicate(&mut self, which: impl Into<Which>) {
        self.faults.duplicate(which.into());
    }
    /// Holds packets back, so that later ones overtake them.
    pub fn delay_packet(&mut self, which: impl Into<Which>, by: Span) {
        self.faults.delay(which.into(), by);
    }
    /// Marks packets that are ECN-capable.
    pub fn mark(&mut self, which: impl Into<Which>) {
        self.faults.mark(which.into());
    }
    /// Loses whatever is on `host`'s line, in either direction, from `from` until before `until`.
    pub fn down(&mut self, host: HostId, from: Time, until: Time) {
        self.faults.down(host, from, until);
    }
    /// Random faults, from a seed of their own.
    pub fn chaos(&mut self, chaos: Chaos, seed: u64) {
        self.faults.chaos(chaos, seed);
    }
}

/// What came of it.
impl Pair<'_> {
    /// The conversation so far, as text.
    pub fn ladder(&self) -> String {
        self.ladder.text(self.codec, self.count, 0)
    }
    /// Every event but `Data`, in order.
    pub fn events(&self) -> &[(Time, HostId, Event)] {
        &self.events
    }
    /// The moment of the last step.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Packets put on lines by hosts.
    pub fn packets(&self) -> u64 {
        self.packets
    }
    /// Messages of `conn` that `from` sent and its peer received.
    pub fn received(&self, conn: ConnId, from: HostId) -> u32 {
        self.oracle.count_received(conn, from)
    }
    /// Sums over all hosts.
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        self.hosts
            .iter()
            .for_each(|host| sum += host.endpoint.totals());
        sum
    }
    /// Counters of one host.
    pub fn totals_of(&self, host: HostId) -> Totals {
        self.hosts
            .get(self.index(host))
            .map_or_else(Totals::default, |h| h.endpoint.totals())
    }
    /// Hash over every packet, its fate and its time, and every event.
    pub fn digest(&self) -> u64 {
        self.digest
    }
    /// The unfinished flows of every host.
    pub fn stuck(&self) -> Vec<(HostId, StuckFlow)> {
        let mut stuck = Vec::new();
        for (id, host) in (0..).map(HostId).zip(&self.hosts) {
            host.endpoint.stuck(&mut |flow| stuck.push((id, flow)));
        }
        stuck
    }
}

/// The run.
impl Pair<'_> {
    /// Runs until nothing moves any more.
    ///
    /// # Panics
    /// If a message did not end, a flow is left over, or the contract was broken.
    pub fn run(&mut self) {
        if let Err(unfinished) = self.try_run() {
            self.reported = true;
            panic!("{}, seed {}: {unfinished}", self.name, self.seed);
        }
    }

    /// Runs until nothing moves any more or the limit is reached.
    ///
    /// # Errors
    /// What did not end.
    ///
    /// # Panics
    /// If the contract was broken.
    pub fn try_run(&mut self) -> Result<(), Unfinished> {
        let end = Time::ZERO.after(self.limit);
        self.run_until(end);
        let next = self.next();
        let (messages, stuck) = (self.oracle.unfinished(), self.stuck());
        if next == Time::NEVER && messages.is_empty() && stuck.is_empty() {
            return Ok(());
        }
        let reason = if next == Time::NEVER {
            format!("nothing moves after {}, but not all is done", self.now)
        } else {
            format!(
                "still running at {}; the next step would be at {next}",
                self.now
            )
        };
        Err(Unfinished {
            reason,
            messages,
            stuck,
            tail: self.tail(),
        })
    }

    /// Runs every instant up to and including `end`. May be called again with a later moment.
    pub fn run_until(&mut self, end: Time) {
        self.start();
        loop {
            self.place_script();
            let next = self.next();
            if next == Time::NEVER || next > end {
                return;
            }
            assert!(next >= self.now, "the test kit went back in time");
            self.now = next;
            self.instant();
        }
    }

    fn start(&mut self) {
        if !self.hosts.is_empty() {
            return;
        }
        for id in (0..).map(HostId).take(self.count) {
            let config = self.config(id);
            self.hosts.push(Host {
                endpoint: (self.make)(&config),
                rng: Rng::stream(self.seed, stream::HOST, u64::from(id.0)),
                free_at: Time::ZERO,
                ask: false,
                acts: BTreeMap::new(),
            });
            self.outputs.push(Output {
                queue: VecDeque::new(),
                bytes: 0,
                free_at: Time::ZERO,
            });
        }
    }

    fn place_script(&mut self) {
        for (at, host, act) in self.script.drain(..) {
            self.order += 1;
            self.hosts[host]
                .acts
                .insert((at.max(self.now), self.order), act);
        }
    }

    /// The next moment at which something happens.
    fn next(&self) -> Time {
        let mut next = self
            .flights
            .peek()
            .map_or(Time::NEVER, |flight| flight.0.at);
        for host in &self.hosts {
            if let Some((&(at, _), _)) = host.acts.first_key_value() {
                next = next.min(at);
            }
            if host.ask {
                next = next.min(host.free_at);
            }
            next = next.min(host.endpoint.deadline());
        }
        for output in self
            .outputs
            .iter()
            .filter(|output| !output.queue.is_empty())
        {
            next = next.min(output.free_at);
        }
        next.max(self.now)
    }

    fn instant(&mut self) {
        let mut arrived = Vec::new();
        while self
            .flights
            .peek()
            .is_some_and(|flight| flight.0.at <= self.now)
        {
            arrived.extend(self.flights.pop().map(|Reverse(flight)| flight));
        }
        for flight in arrived {
            match flight.node {
                Node::Hub => self.enqueue(flight.packet, flight.line),
                Node::Host(host) => {
                    let packet = flight.packet;
                    self.call(host, |endpoint, cx| endpoint.on_packet(cx, &packet));
                }
            }
        }
        // Hosts do not hear of each other within an instant, so each may finish it in turn.
        for host in 0..self.hosts.len() {
            self.settle(host);
        }
        for output in 0..self.outputs.len() {
            self.dequeue(output);
        }
    }

    /// Opens, deadline and line choice of one host, until this instant has nothing left for it.
    fn settle(&mut self, host: usize) {
        for _ in 0..STORM_MAX {
            self.place_script();
            while let Some(entry) = self.hosts[host].acts.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let act = entry.remove();
                self.perform(host, act);
                self.place_script();
            }
            if self.hosts[host].endpoint.deadline() <= self.now {
                self.call(host, |endpoint, cx| endpoint.on_deadline(cx));
            }
            if self.hosts[host].ask && self.hosts[host].free_at <= self.now {
                self.choose(host);
            }
            let state = &self.hosts[host];
            let acts = state
                .acts
                .first_key_value()
                .is_some_and(|(key, _)| key.0 <= self.now);
            let line = state.ask && state.free_at <= self.now;
            if !acts && !line && state.endpoint.deadline() > self.now {
                return;
            }
        }
        self.fail(&format!("deadline storm at {}", host_name(id(host))));
    }

    fn perform(&mut self, host: usize, act: Act) {
        let me = id(host);
        match act {
            Act::Connect(conn, peer, lifetime) => {
                self.call(host, |endpoint, cx| {
                    endpoint.connect(cx, conn, peer, lifetime);
                });
            }
            Act::Send(conn, length) => {
                self.oracle.send(conn, me, length);
                self.call(host, |endpoint, cx| endpoint.send(cx, conn, length));
            }
            Act::Cancel(conn) => {
                self.oracle.cancel(conn, me);
                let text = format!("{} cancels", host_name(me));
                self.ladder.push(Line::Note { at: self.now, text });
                self.call(host, |endpoint, cx| endpoint.cancel(cx, conn));
            }
            Act::Signal(signal) => {
                let text = format!("{} hears {signal:?}", host_name(me));
                self.ladder.push(Line::Note { at: self.now, text });
                self.call(host, |endpoint, cx| endpoint.on_signal(cx, signal));
            }
            Act::Poke => self.call(host, |endpoint, cx| endpoint.on_deadline(cx)),
        }
    }

    /// One call into an endpoint, its events and its `check`.
    fn call(&mut self, host: usize, step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>)) {
        self.with_cx(host, |endpoint, cx| step(endpoint, cx));
        self.hosts[host].ask = true;
    }

    fn with_cx<R>(
        &mut self,
        host: usize,
        step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>) -> R,
    ) -> R {
        self.calls += 1;
        if self.calls > CALLS_MAX {
            self.fail("too many steps: the run does not end");
        }
        let state = &mut self.hosts[host];
        let mut cx = Cx {
            now: self.now,
            rng: &mut state.rng,
            events: &mut self.scratch,
            peers: &self.oracle,
            wants_data: true,
        };
        let result = step(&mut *state.endpoint, &mut cx);
        state.endpoint.check();
        self.hear(host);
        result
    }

    /// Takes the events of one call to the oracle, the ladder and the application.
    fn hear(&mut self, host: usize) {
        let me = id(host);
        let news = std::mem::take(&mut self.scratch);
        for &event in &news {
            let verdict = match event {
                Event::Data {
                    conn,
                    offset,
                    length,
                } => self.oracle.accept(conn, me, offset, length),
                Event::Received {
                    conn,
                    ordinal,
                    length,
                } => {
                    self.react(conn, host, ordinal);
                    self.oracle.received(conn, me, ordinal, length)
                }
                Event::Sent { conn, ordinal } => self.oracle.sent(conn, me, ordinal),
                Event::Refused { conn } => {
                    self.oracle.refused(conn);
                    Ok(())
                }
                Event::Stopped { .. } => Ok(()),
            };
            self.digest_event(me, event);
            if !matches!(event, Event::Data { .. }) {
                self.ladder.push(Line::Event {
                    at: self.now,
                    host: me,
                    event,
                });
                self.events.push((self.now, me, event));
            }
            if let Err(what) = verdict {
                self.fail(&format!("{}: {what}", host_name(me)));
            }
        }
        self.scratch = news;
        self.scratch.clear();
    }

    fn react(&mut self, conn: ConnId, host: usize, ordinal: u32) {
        let now = self.now;
        let due = |r: &Reaction| r.conn == conn && r.host == host && r.after == ordinal;
        for reaction in self.reactions.iter().filter(|r| due(r)) {
            self.script
                .push((now, host, Act::Send(conn, reaction.length)));
        }
    }

    /// The line of `host` is idle: asks what leaves now.
    fn choose(&mut self, host: usize) {
        let mut packet = Packet::EMPTY;
        let due_before = self.hosts[host].endpoint.deadline() <= self.now;
        let answer = self.with_cx(host, |endpoint, cx| endpoint.poll_transmit(cx, &mut packet));
        match answer {
            Transmit::Nothing => {
                self.hosts[host].ask = false;
                if !due_before && self.hosts[host].endpoint.deadline() <= self.now {
                    self.fail("poll_transmit sent nothing and set a deadline that has passed");
                }
            }
            Transmit::More | Transmit::Last => {
                self.hosts[host].ask = answer == Transmit::More;
                self.transmit(host, packet);
            }
        }
    }

    fn transmit(&mut self, host: usize, mut packet: Packet) {
        let from = id(host);
        self.examine(from, &packet);
        if self.check_codec {
            self.through_codec(&packet);
        }
        self.packets += 1;
        let codec = self.codec;
        let mut fate = self
            .faults
            .decide(&mut packet, &|packet| codec.describe(packet));
        let left = self
            .now
            .after(self.rate.serialize(Bytes(u64::from(packet.size))));
        self.hosts[host].free_at = left;
        packet.at = left.after(self.delay).after(fate.late);
        fate.lost |= self.faults.is_down(from, self.now, packet.at);
        if self.count == 2 {
            fate.lost |= self.faults.is_down(packet.to(), self.now, packet.at);
        }
        self.digest_packet(from, &packet, fate.lost);
        let line = self.ladder.push(Line::Packet {
            at: self.now,
            from,
            packet,
            fate,
            note: "",
        });
        if fate.lost {
            return;
        }
        let node = if self.count == 2 {
            Node::Host(self.index(packet.to()))
        } else {
            Node::Hub
        };
        for copy in 0..=u64::from(fate.twice) {
            self.order += 1;
            packet.at = packet.at.after(Span(copy));
            let (at, order) = (packet.at, self.order);
            self.flights.push(Reverse(Flight {
                at,
                order,
                node,
                packet,
                line,
            }));
        }
    }

    /// The envelope must make sense: this is our own code's work, not a peer's.
    fn examine(&mut self, from: HostId, packet: &Packet) {
        let (to, size) = (packet.to(), packet.size);
        let mut wrong = None;
        if to == from || to.0 as usize >= self.count {
            wrong = Some("goes to no other host");
        } else if self.oracle.peer(from, packet.conn) != Some(to) {
            wrong = Some("goes to a host that is not the connection's other end");
        } else if size == 0 || size > self.encap.wire_max().max(CREDIT_SIZE_MAX) {
            wrong = Some("has a size that no frame has");
        }
        if let Some(wrong) = wrong {
            self.fail(&format!(
                "{} sends a packet that {wrong}: {packet:?}",
                host_name(from)
            ));
        }
    }

    fn through_codec(&mut self, packet: &Packet) {
        let link = Link {
            conn: packet.conn.0,
            epoch: 0,
            cookie: 0,
        };
        let mut bytes = [0; HEADER_MAX];
        let length = self.codec.encode(packet, link, &mut bytes);
        let payload = self.codec.payload(packet);
        let text = match self.codec.decode(&bytes[..length]) {
            Err(error) => format!("{error}"),
            Ok(decoded) => {
                let back = decoded.packet;
                let same = back.kind() == packet.kind()
                    && back.class() == packet.class()
                    && back.head == packet.head
                    && back.conn == packet.conn
                    && decoded.link == link
                    && decoded.header_len == length
                    && self.codec.payload(&back) == payload;
                if same {
                    return;
                }
                format!("{:?}", decoded.packet)
            }
        };
        self.fail(&format!("{packet:?} came out of its codec as {text}"));
    }

    fn enqueue(&mut self, mut packet: Packet, line: Option<usize>) {
        let size = u64::from(packet.size);
        let output = &mut self.outputs[packet.to().0 as usize];
        if output.bytes + size > self.buffer.0 || output.queue.len() == HUB_QUEUE_MAX {
            self.ladder.annotate(line, "X dropped at the hub");
            return;
        }
        let above = self
            .mark_from
            .is_some_and(|threshold| output.bytes >= threshold.0);
        if above && packet.ecn() != Ecn::NotCapable {
            packet.set_ecn(Ecn::Marked);
            self.ladder.annotate(line, "* marked at the hub");
        }
        output.bytes += size;
        output.queue.push_back((packet, line));
    }

    fn dequeue(&mut self, index: usize) {
        let output = &mut self.outputs[index];
        if output.free_at > self.now {
            return;
        }
        let Some((mut packet, line)) = output.queue.pop_front() else {
            return;
        };
        output.bytes -= u64::from(packet.size);
        output.free_at = self
            .now
            .after(self.rate.serialize(Bytes(u64::from(packet.size))));
        packet.at = output.free_at.after(self.delay);
        if self.faults.is_down(packet.to(), self.now, packet.at) {
            self.ladder.annotate(line, "X lost");
            return;
        }
        self.order += 1;
        let (at, order, node) = (packet.at, self.order, Node::Host(index));
        self.flights.push(Reverse(Flight {
            at,
            order,
            node,
            packet,
            line,
        }));
    }

    fn mix(&mut self, word: u64) {
        // The finaliser of SplitMix64 over a running sum: order matters, and every bit spreads.
        let mut z = (self.digest ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.digest = z ^ (z >> 31);
    }

    fn digest_packet(&mut self, from: HostId, packet: &Packet, lost: bool) {
        let [a, b, c] = packet.head.map(u64::from);
        let envelope = u64::from(packet.marks()) << 16 | u64::from(packet.size);
        let address = u64::from(from.0) << 32 | u64::from(packet.to().0);
        for word in [
            self.now.0,
            packet.at.0,
            address,
            u64::from(packet.conn.0) << 8 | u64::from(packet.kind()),
            envelope << 1 | u64::from(lost),
            a << 32 | b,
            c,
        ] {
            self.mix(word);
        }
    }

    fn digest_event(&mut self, host: HostId, event: Event) {
        let (tag, conn, a, b) = match event {
            Event::Received {
                conn,
                ordinal,
                length,
            } => (1, conn, u64::from(ordinal), length),
            Event::Sent { conn, ordinal } => (2, conn, u64::from(ordinal), 0),
            Event::Stopped { conn } => (3, conn, 0, 0),
            Event::Data {
                conn,
                offset,
                length,
            } => (4, conn, offset, u64::from(length)),
            Event::Refused { conn } => (5, conn, 0, 0),
        };
        for word in [
            self.now.0,
            tag << 32 | u64::from(host.0),
            u64::from(conn.0),
            a,
            b,
        ] {
            self.mix(word);
        }
    }

    fn tail(&self) -> String {
        let first = self.ladder.len().saturating_sub(TAIL);
        self.ladder.text(self.codec, self.count, first)
    }

    fn fail(&mut self, what: &str) -> ! {
        self.reported = true;
        let reason = format!("{what}, at {}", self.now);
        let (messages, stuck) = (self.oracle.unfinished(), self.stuck());
        let unfinished = Unfinished {
            reason,
            messages,
            stuck,
            tail: self.tail(),
        };
        panic!("{}, seed {}: {unfinished}", self.name, self.seed);
    }
}

/// Largest randomised credit. [xpass s3.1: 84 B to 92 B]
const CREDIT_SIZE_MAX: u16 = 92;

fn id(host: usize) -> HostId {
    HostId(u32::try_from(host).expect("hosts are few"))
}

impl Drop for Pair<'_> {
    fn drop(&mut self) {
        // An endpoint's own assertion knows nothing of the conversation that led to it.
        if std::thread::panicking() && !self.reported {
            eprintln!(
                "{}, seed {}: panicked at {}, after",
                self.name, self.seed, self.now
            );
            eprintln!("{}", self.tail());
        }
    }
}

impl Peers for Oracle {
    fn peer(&self, me: HostId, conn: ConnId) -> Option<HostId> {
        Self::peer(self, me, conn)
    }
}
