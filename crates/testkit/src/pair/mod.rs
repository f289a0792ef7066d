//! Endpoints joined by ideal lines, driven in the order that the engine's contract fixes.
//!
//! At one instant a host sees (1) arrivals, (2) what the application does, then its deadline, and
//! (3) the line's choice. Two hosts are joined by one line; more meet at a hub with one FIFO per
//! output.

mod run;

use crate::digest::Digest;
use crate::fault::{Chaos, Faults, Which};
use crate::ladder::{Ladder, host_name};
use crate::oracle::Oracle;
use model::wire::Codec;
use model::{
    ConnId, Encap, Endpoint, EndpointConfig, Event, Gates, HostId, Lifetime, Packet, Peers, Record,
    Rng, Signal, StuckFlow, Totals,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use units::{Bytes, Rate, Span, Time};

/// Makes the endpoint of one host.
pub type Make<'a> = dyn Fn(&EndpointConfig) -> Box<dyn Endpoint> + 'a;

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
    record: Option<Box<Record>>,
    line: Option<usize>,
    /// Put there by the test, not by a host.
    injected: bool,
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
    Forget(ConnId),
    Restart,
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
    /// What the next switch has paused.
    gates: Gates,
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
    queue: VecDeque<(Packet, Option<Box<Record>>, Option<usize>)>,
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
    heap: Option<fn() -> i64>,

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
    held: i64,
    digest: Digest,
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
            heap: None,
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
            held: 0,
            digest: Digest::default(),
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
    /// Equal-cost ways that hosts are told of. All of them lead through the one hub.
    #[must_use]
    pub fn ways(mut self, ways: u16) -> Self {
        self.oracle.ways = ways;
        self
    }
    /// Seed of the hosts' random streams.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
    /// Simulated time after the last act of an application at which a run counts as stuck.
    #[must_use]
    pub fn limit(mut self, limit: Span) -> Self {
        self.limit = limit;
        self
    }
    /// Sums what `heap`, the bytes allocated at this moment, grows by inside endpoints.
    #[must_use]
    pub fn measure(mut self, heap: fn() -> i64) -> Self {
        self.heap = Some(heap);
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
        EndpointConfig::new(host, self.rate, self.encap).with(|told| {
            told.base_rtt = (self.delay + self.delay + full + small).times(links);
            told.control_rtt = (self.delay + small).times(2 * links);
            told.port_buffer = Bytes(self.buffer.0.min(PORT_BUFFER.0));
            told.hops_max = if links == 1 { 1 } else { 2 };
        })
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
        self.oracle.connect(conn, from, to, lifetime);
        self.act(at, from, Act::Connect(conn, to, lifetime));
        conn
    }

    /// One message on a connection of its own, which both ends forget when it is done.
    pub fn message(&mut self, at: Time, from: HostId, to: HostId, length: u64) -> ConnId {
        let conn = self.open(at, from, to, Lifetime::OneMessage);
        self.act(at, from, Act::Send(conn, length));
        conn
    }

    /// A question on a connection of its own and, when it has been received, the answer: both ends
    /// forget it then.
    pub fn exchange(
        &mut self,
        at: Time,
        from: HostId,
        to: HostId,
        [question, answer]: [u64; 2],
    ) -> ConnId {
        let conn = self.open(at, from, to, Lifetime::Exchange);
        self.act(at, from, Act::Send(conn, question));
        self.reply(conn, to, 0, answer);
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

    /// `host` forgets the connection, as if its peer were gone. No message of it has to end.
    pub fn forget(&mut self, at: Time, conn: ConnId, host: HostId) {
        self.act(at, host, Act::Forget(conn));
    }

    /// `host` begins anew and knows of nothing: what it had of unfinished messages is gone with it.
    pub fn restart(&mut self, at: Time, host: HostId) {
        self.act(at, host, Act::Restart);
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
            record: None,
            line: None,
            injected: true,
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
    /// Cuts the payload off data, where the transport takes that.
    pub fn trim(&mut self, which: impl Into<Which>) {
        self.faults.trim(which.into(), false);
    }
    /// Cuts it off and sends the head back, where the transport takes that.
    pub fn send_back(&mut self, which: impl Into<Which>) {
        self.faults.trim(which.into(), true);
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
        self.ladder.text(self.codec, self.count)
    }
    /// Every event but `Data` and `Forgotten`, in order.
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
    /// Calls into endpoints.
    pub fn calls(&self) -> u64 {
        self.calls
    }
    /// Packets put on lines by hosts that satisfy `which`.
    pub fn count(&self, mut which: impl FnMut(&Packet) -> bool) -> u64 {
        self.ladder
            .packets()
            .map(|packet| u64::from(which(packet)))
            .sum()
    }
    /// The moments at which hosts put packets on lines.
    pub fn packet_times(&self) -> Vec<Time> {
        self.ladder.packet_times().collect()
    }
    /// The first packet that a host put on a line.
    pub fn first_packet(&self) -> Option<Packet> {
        self.ladder.packets().next().copied()
    }
    /// Heap that endpoints hold, as far as [`Pair::measure`] could see.
    pub fn held(&self) -> i64 {
        self.held
    }
    /// How often `host` has said that it forgot `conn`.
    pub fn forgotten(&self, conn: ConnId, host: HostId) -> u32 {
        self.oracle.count_forgotten(conn, host)
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
    /// What the transport counts in words of its own, as sums over all hosts.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        crate::feed::sums(self.hosts.iter().map(|host| &*host.endpoint))
    }
    /// Hash over every packet, its fate and its time, and every event.
    pub fn digest(&self) -> u64 {
        self.digest.value()
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
    fn ways(&self, _: HostId, _: HostId) -> u16 {
        self.ways.max(1)
    }
}
