//! One transport on one wire, in the wire's time.
//!
//! The driver keeps a clock of its own that follows the wire's: it steps from deadline to line
//! choice exactly as the simulator does, each at the moment when it was due, and when the process
//! was not scheduled it catches up, by a bounded burst. A frame keeps the line busy for its size
//! over the configured rate.

mod greet;
mod intake;

use crate::buffers::{AHEAD_MAX, Sink, Source};
use crate::config::{Around, DriveError, DriverConfig, News, Stats, check_transport, io_error};
use crate::cookie::{self, Baker, Name, Own, Reason};
use crate::faults::Faults;
use crate::peers::{self, Forget, Laden, Peers, Standing};
use crate::socket::Udp;
use crate::wire::{DATAGRAM_MAX, Wire};
use intake::Body;
use model::wire::{Codec, HEADER_MAX, Link};
use model::{
    ConnId, Counter, Cx, Endpoint, EndpointConfig, Event, Facts, Gates, HostId, Lifetime, Net,
    Packet, Record, Rng, Signal, Sizes, StuckFlow, Totals, Transmit, stream,
};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddrV4;
use std::num::NonZero;
use transports::Factory;
use units::{Bytes, LineTime, Span, Time};

/// Steps of the transport between two looks at the wire: some 20 ms of full frames at 1 Gb/s.
const STEPS_MAX: usize = 4096;
/// Batches received per turn.
const ROUNDS_MAX: usize = 8;
/// Bytes that Ethernet, IPv4 and UDP add to a datagram, with preamble and gap.
const BELOW: u64 = 38 + 20 + 8;
/// Wire bytes of the smallest Ethernet frame, with preamble and gap.
const FRAME_MIN: u64 = 84;

/// One transport on one wire: a UDP socket, unless another is given.
pub struct Driver<W: Wire = Udp> {
    wire: W,
    core: Core,
}

/// All of a driver but its wire.
struct Core {
    endpoint: Box<dyn Endpoint>,
    codec: &'static dyn Codec,
    peers: Peers,
    baker: Baker,
    name: Name,
    incarnation: u32,
    rng: Rng,
    events: Vec<Event>,
    news: Vec<News>,
    /// Exchanges of which one message is through at this end.
    half: BTreeSet<ConnId>,
    line: LineTime,
    /// What the next switch does not want now.
    gates: Gates,
    /// When the line has carried what was put on it.
    line_free: Time,
    /// Whether the transport may have something to send.
    hungry: bool,
    /// How far the transport has lived: no later than the wire.
    now: Time,
    catch_up: Span,
    faults: Faults,
    stats: Stats,
    dscp: [u8; model::Class::COUNT],
    /// Packets that have come and wait for the endpoint, and what came with each.
    /// The transport's parameters, with what followed from what is known.
    settings: toml::Table,
    batch: Vec<Packet>,
    /// Records of packets of the batch, with their places in it.
    records: Vec<(usize, Record)>,
    bodies: Vec<Body>,
    /// What the packets that came make us say.
    outbox: Vec<Out>,
}

/// What leaves beside the transport's own choice.
enum Out {
    Own(Own, SocketAddrV4),
    /// It had waited until its peer was proven.
    Parked(Laden),
}

impl Driver {
    /// Opens the socket and makes the transport.
    ///
    /// # Errors
    /// What is wrong with the configuration, or the system's refusal.
    pub fn open(config: &DriverConfig, factory: &dyn Factory) -> Result<Self, DriveError> {
        config.check()?;
        let udp = Udp::bind(config.bind, config.socket_buffer).map_err(io_error("opening UDP"))?;
        Self::on(udp, config, factory)
    }
}

impl<W: Wire> Driver<W> {
    /// Makes the transport on a wire that is there; `bind` and `socket_buffer` of the configuration
    /// are not used.
    ///
    /// # Errors
    /// What is wrong with the configuration, or the system's refusal.
    pub fn on(wire: W, config: &DriverConfig, factory: &dyn Factory) -> Result<Self, DriveError> {
        config.check()?;
        check_transport(&config.transport, factory)?;
        let (encap, line) = (config.encap()?, LineTime::new(config.rate));
        // Less than a full frame would never catch up with timers that fire late.
        let catch_up = config.catch_up.get().max(encap.wire_max().into());
        let told = EndpointConfig::new(HostId(0), config.rate, encap).with(|told| {
            (told.base_rtt, told.control_rtt) = (config.base_rtt, config.base_rtt);
            told.port_buffer = config.socket_buffer;
            told.reassembly = Bytes(AHEAD_MAX);
        });
        let around = Around::of(config);
        let mut facts = Facts::of(encap);
        facts.net = around.as_ref().map(|net| -> &dyn Net { net });
        facts.sizes = config
            .known
            .sizes
            .as_deref()
            .map(|sizes| -> &dyn Sizes { sizes });
        facts.load = config.known.load;
        let settled = factory.settle(&facts);
        let settled = settled.map_err(|error| DriveError::Usage(error.to_string()))?;
        let factory = settled.as_deref().unwrap_or(factory);
        let endpoint = factory.make(&told);
        let secret = secrets().map_err(io_error("reading the system's random numbers"))?;
        let [key0, key1, incarnation] = secret;
        let core = Core {
            endpoint,
            codec: factory.codec(),
            peers: Peers::new().over(config.known.ways.map_or(1, NonZero::get)),
            settings: factory.resolved(),
            baker: Baker::new([key0, key1]),
            name: cookie::name(&config.transport),
            incarnation: u32::try_from(incarnation >> 32).expect("the upper half"),
            rng: Rng::stream(config.seed, stream::HOST, 0),
            events: Vec::new(),
            news: Vec::new(),
            half: BTreeSet::new(),
            line,
            gates: Gates::default(),
            line_free: Time::ZERO,
            hungry: false,
            now: Time::ZERO,
            catch_up: line.of(catch_up),
            faults: Faults::new(config.faults, config.seed),
            stats: Stats::default(),
            dscp: config.dscp,
            batch: Vec::new(),
            records: Vec::new(),
            bodies: Vec::new(),
            outbox: Vec::new(),
        };
        let mut driver = Self { wire, core };
        for &peer in &config.control {
            driver.connect(peer, Lifetime::Persistent)?;
        }
        Ok(driver)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> Result<SocketAddrV4, DriveError> {
        self.wire
            .local_addr()
            .map_err(io_error("asking for the own address"))
    }

    /// Opens a connection to the driver at `peer`.
    ///
    /// # Errors
    /// Where too many peers or connections are open.
    pub fn connect(&mut self, peer: SocketAddrV4, life: Lifetime) -> Result<ConnId, DriveError> {
        let now = self.wire.now();
        let conn = self.core.connect(now, peer, life);
        self.core.settle_quietly();
        conn.map_err(|what| DriveError::Usage(format!("cannot connect to {peer}: {what}")))
    }

    /// Sends a message of `length` bytes on the connection. The bytes are asked of the [`Source`]
    /// by their offset in the connection's outgoing stream, which messages fill one after the
    /// other.
    ///
    /// # Errors
    /// Where the connection is not open.
    pub fn send(&mut self, conn: ConnId, length: u64) -> Result<(), DriveError> {
        self.core.open_or_error(conn)?;
        self.core
            .step(|endpoint, cx| endpoint.send(cx, conn, length));
        Ok(())
    }

    /// Ends the connection's outgoing messages after the last byte that left.
    ///
    /// # Errors
    /// Where the connection is not open.
    pub fn cancel(&mut self, conn: ConnId) -> Result<(), DriveError> {
        self.core.open_or_error(conn)?;
        self.core.step(|endpoint, cx| endpoint.cancel(cx, conn));
        Ok(())
    }

    /// Forgets the connection, whatever is under way: nothing more will be heard of it. The other end
    /// finds out when it asks, or by its own patience.
    ///
    /// # Errors
    /// Where the connection is not open.
    pub fn forget(&mut self, conn: ConnId) -> Result<(), DriveError> {
        self.core.open_or_error(conn)?;
        self.core.forget([Forget(conn)]);
        self.core.settle_quietly();
        Ok(())
    }

    /// Heeds a pause or its end. Whoever owns the link to the next switch hears its frames: no datagram
    /// can pause a driver.
    pub fn heed(&mut self, signal: Signal) {
        let core = &mut self.core;
        if core.gates.heed(core.now, signal) {
            core.step(|endpoint, cx| endpoint.on_gates(cx));
            core.settle_quietly();
        }
    }

    /// Who is at the other end of a connection.
    pub fn peer_addr(&self, conn: ConnId) -> Option<SocketAddrV4> {
        let host = model::Peers::peer(&self.core.peers, HostId(0), conn)?;
        Some(self.core.peers.get(host).addr)
    }

    /// What the driver counted.
    pub fn stats(&self) -> Stats {
        Stats {
            faults: self.core.faults.counts(),
            ..self.core.stats
        }
    }

    /// What the transport counted.
    pub fn totals(&self) -> Totals {
        self.core.endpoint.totals()
    }

    /// Every parameter of the transport with its final value, as a scenario's `resolved.toml` has them.
    pub fn settings(&self) -> &toml::Table {
        &self.core.settings
    }

    /// What the transport counted besides, in the words that it declares.
    pub fn counters(&self) -> Vec<(&'static Counter, u64)> {
        let mut all = Vec::new();
        let mut keep = |counter, value| all.push((counter, value));
        self.core.endpoint.counters(&mut keep);
        all
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.core.peers.live()
    }

    /// Peers whose address is proven or being proven.
    pub fn known_peers(&self) -> usize {
        self.core.peers.known()
    }

    /// Every unfinished flow and what it waits for.
    pub fn stuck(&self) -> Vec<StuckFlow> {
        let mut flows = Vec::new();
        self.core.endpoint.stuck(&mut |flow| flows.push(flow));
        flows
    }

    /// Does what is due, takes what has arrived and waits at most `wait_max` for more. Returns
    /// what happened since the last turn.
    ///
    /// # Errors
    /// The wire's, the source's and the sink's. A source's error loses the packet that it concerned,
    /// which will be sent again; a sink's the bytes that it did not take, and no others: the
    /// connection's stream has a hole there. The next turn goes on, and brings the news of this one.
    pub fn turn(
        &mut self,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
        wait_max: Span,
    ) -> Result<Vec<News>, DriveError> {
        self.live_until(self.wire.now(), source)?;
        self.flush()?;
        let (now, wake) = (self.wire.now(), self.wake());
        if wake > now {
            let wait = wake.since(now).0.min(wait_max.0);
            self.wire
                .wait(Span(wait))
                .map_err(io_error("waiting for a datagram"))?;
        }
        for _ in 0..ROUNDS_MAX {
            let more = self.receive(source, sink)?;
            self.flush()?;
            if !more {
                break;
            }
        }
        self.core.look(self.wire.now());
        self.send_outbox(source)?;
        self.flush()?;
        if cfg!(debug_assertions) {
            self.core.endpoint.check();
            self.core.peers.check();
        }
        Ok(std::mem::take(&mut self.core.news))
    }

    /// When something is due without a packet arriving.
    fn wake(&self) -> Time {
        let core = &self.core;
        if self.wire.is_blocked() {
            // Writable first: the wire says when.
            return core.endpoint.deadline();
        }
        let own = core.peers.next_look().min(core.faults.release_at());
        core.endpoint.deadline().min(core.choice_at()).min(own)
    }

    /// Lets the transport live until `real` as it would have in a simulator: deadlines before
    /// line choices, each at its own time.
    fn live_until(&mut self, real: Time, source: &mut dyn Source) -> Result<(), DriveError> {
        self.core.skip_to(real);
        for _ in 0..STEPS_MAX {
            let deadline = self.core.endpoint.deadline().max(self.core.now);
            let choice = if self.core.hungry && self.has_room()? {
                self.core.line_free.max(self.core.now)
            } else {
                Time::NEVER
            };
            let next = deadline.min(choice);
            if next > real {
                self.core.now = self.core.now.max(real);
                return Ok(());
            }
            self.core.now = next;
            if deadline <= choice {
                self.core.step(|endpoint, cx| endpoint.on_deadline(cx));
                self.core.settle_quietly();
            } else if let Some((packet, record)) = self.core.choose() {
                self.write(&packet, record.as_deref(), source)?;
            }
        }
        Ok(())
    }

    /// Whether a frame fits into the batch, after sending it if it is full.
    fn has_room(&mut self) -> Result<bool, DriveError> {
        if self.wire.room() == 0 {
            self.flush()?;
        }
        Ok(self.wire.room() > 0)
    }

    /// Puts a packet's header, payload and record into a frame, in place.
    fn write(
        &mut self,
        packet: &Packet,
        record: Option<&Record>,
        source: &mut dyn Source,
    ) -> Result<(), DriveError> {
        let Core {
            peers, codec, dscp, ..
        } = &self.core;
        let peer = peers.get(packet.to());
        let secret = peer.secret().expect("a proven peer has one");
        let link = Link {
            conn: peers::to_wire(packet.conn),
            tag: secret.tag_out,
            cookie: secret.cookie,
        };
        let (offset, length) = codec.payload(packet).unwrap_or((0, 0));
        let tos = dscp[packet.class() as usize] << 2 | packet.ecn() as u8;
        let mut fill = |bytes: &mut [u8; DATAGRAM_MAX]| {
            let header = bytes.first_chunk_mut::<HEADER_MAX>();
            let header = header.expect("a datagram is longer than a header");
            let start = codec.encode(packet, link, header);
            let end = start + usize::from(length);
            assert!(end <= DATAGRAM_MAX, "{packet:?} takes {end} B after UDP");
            if length > 0 {
                source.fill(packet.conn, offset, &mut bytes[start..end])?;
            }
            let Some(record) = record else {
                return Ok(end);
            };
            let end = record.write(bytes, end);
            Ok(end.unwrap_or_else(|| panic!("{packet:?} and its record do not fit a datagram")))
        };
        self.wire
            .push(peer.addr, tos, &mut fill)
            .map_err(io_error("reading what to send"))
    }

    fn flush(&mut self) -> Result<(), DriveError> {
        let sent = self.wire.flush().map_err(io_error("sending"))?;
        let stats = &mut self.core.stats;
        stats.datagrams_out += sent.datagrams;
        stats.bytes_out += sent.bytes;
        stats.send_errors += sent.errors;
        Ok(())
    }

    /// Sends what packets that came made us say. One of the driver's own packets that finds the batch
    /// full is lost: each of them is either repeated or asked for again.
    fn send_outbox(&mut self, source: &mut dyn Source) -> Result<(), DriveError> {
        for out in std::mem::take(&mut self.core.outbox) {
            let room = self.has_room()?;
            match out {
                Out::Own(own, to) if room => {
                    let tos = self.core.dscp[model::Class::Control as usize] << 2;
                    let mut len = 0;
                    let mut fill = |bytes: &mut [u8; DATAGRAM_MAX]| {
                        len = own.encode(bytes);
                        Ok(len)
                    };
                    let pushed = self.wire.push(to, tos, &mut fill);
                    pushed.map_err(io_error("writing a greeting"))?;
                    self.core.occupy(len);
                }
                // The line was busy for it when the transport handed it out. By now its peer may be
                // gone again.
                Out::Parked((packet, record)) if room && self.core.is_proven(packet.to()) => {
                    self.write(&packet, record.as_deref(), source)?;
                }
                Out::Own(..) => {}
                Out::Parked(_) => self.core.stats.unsendable += 1,
            }
        }
        Ok(())
    }
}

impl Core {
    fn connect(&mut self, now: Time, peer: SocketAddrV4, life: Lifetime) -> Result<ConnId, Reason> {
        let host = if let Some(host) = self.peers.find(peer) {
            host
        } else {
            let host = self.add_peer(peer, true)?;
            self.greet(host, now);
            host
        };
        let conn = self.peers.open(host, life)?;
        self.step(|endpoint, cx| endpoint.connect(cx, conn, host, life));
        Ok(conn)
    }

    fn open_or_error(&self, conn: ConnId) -> Result<(), DriveError> {
        if self.peers.is_live(conn) {
            return Ok(());
        }
        Err(DriveError::Usage(format!(
            "{conn:?} is not open: connect first, or it has finished"
        )))
    }

    fn is_proven(&self, host: HostId) -> bool {
        matches!(self.peers.get(host).standing, Standing::Proven { .. })
    }

    /// When the line can be asked.
    fn choice_at(&self) -> Time {
        if self.hungry {
            self.line_free
        } else {
            Time::NEVER
        }
    }

    /// What is further back than may be caught up with is skipped.
    fn skip_to(&mut self, real: Time) {
        let horizon = Time(real.0.saturating_sub(self.catch_up.0));
        let due = self.endpoint.deadline().min(self.choice_at());
        if due < horizon && self.now < horizon {
            self.stats.skipped_ns += horizon.since(self.now.max(due)).0 / 1_000;
        }
        self.now = self.now.max(horizon);
    }

    /// The line carries a datagram of `len` bytes that the transport did not choose.
    fn occupy(&mut self, len: usize) {
        let wire = (len as u64 + BELOW).max(FRAME_MIN);
        self.line_free = self.line_free.max(self.now) + self.line.of(wire);
    }

    /// One step of the transport, now. `settle_quietly` takes up its news.
    fn step<R>(&mut self, step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: &self.peers,
            gates: &self.gates,
            wants_data: true,
        };
        self.hungry = true;
        step(&mut *self.endpoint, &mut cx)
    }

    /// The endpoint forgets what it keeps of these connections.
    fn forget(&mut self, conns: impl IntoIterator<Item = Forget>) {
        for Forget(conn) in conns {
            self.half.remove(&conn);
            self.step(|endpoint, cx| endpoint.forget(cx, conn));
        }
    }

    /// The line is idle: asks the transport what leaves, and returns what can.
    fn choose(&mut self) -> Option<Laden> {
        let mut packet = Packet::EMPTY;
        let transmit = self.step(|endpoint, cx| endpoint.poll_transmit(cx, &mut packet));
        self.hungry = transmit == Transmit::More;
        self.settle_quietly();
        if transmit == Transmit::Nothing {
            return None;
        }
        let record = packet
            .has_record()
            .then(|| Box::new(self.endpoint.record(&packet)));
        if self.gates.any_closed() && !self.gates.may_leave(&packet) {
            debug_assert!(false, "{packet:?} was to leave through a closed gate");
            self.stats.unsendable += 1;
            self.hungry = true;
            return None;
        }
        self.line_free = self.now + self.line.of(packet.size.into());
        match self.peers.get(packet.to()).standing {
            Standing::Proven { .. } if self.peers.knows(packet.conn) => {
                return Some((packet, record));
            }
            Standing::Unproven => {
                let parked = self.peers.park(packet.to(), (packet, record));
                self.stats.unsendable += u64::from(!parked);
            }
            Standing::Proven { .. } | Standing::Free => self.stats.unsendable += 1,
        }
        None
    }

    /// Hands out what a step said that brought no data.
    fn settle_quietly(&mut self) {
        let nothing = |_: usize| None;
        let settled = self.settle(&[], &nothing, &mut crate::Nothing);
        debug_assert!(settled.is_ok(), "no data came");
    }
}

/// Three secrets from the system.
fn secrets() -> io::Result<[u64; 3]> {
    let mut bytes = [[0; 8]; 3];
    // SAFETY: the buffer is 24 bytes long and lives through the call.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), size_of_val(&bytes), 0) };
    if usize::try_from(got) == Ok(size_of_val(&bytes)) {
        Ok(bytes.map(u64::from_ne_bytes))
    } else {
        Err(io::Error::last_os_error())
    }
}
