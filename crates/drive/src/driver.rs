//! One transport on one UDP socket, in real time.
//!
//! The driver keeps a clock of its own that follows real time: it steps from deadline to line
//! choice exactly as the simulator does, each at the moment when it was due, and when the process
//! was not scheduled it catches up, by a bounded burst. A frame keeps the line busy for its size
//! over the configured rate.

mod greet;

use crate::buffers::{Sink, Source};
use crate::clock::Clock;
use crate::config::{DriveError, DriverConfig, News, Stats, check_transport, io_error};
use crate::cookie::{self, Baker, Name, Own, Reason};
use crate::faults::Faults;
use crate::peers::{self, Arrival, Peers, Standing};
use crate::socket::{DATAGRAM_MAX, RxBatch, TxBatch, Udp};
use model::wire::{Codec, DecodeError, HEADER_MAX, Link};
use model::{
    ConnId, Cx, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, Rng, StuckFlow,
    Totals, Transmit, stream,
};
use std::io;
use std::net::SocketAddrV4;
use transports::Factory;
use units::{LineTime, Span, Time};

/// Steps of the transport between two looks at the socket: some 20 ms of full frames at 1 Gb/s.
const STEPS_MAX: usize = 4096;
/// Batches received per turn.
const ROUNDS_MAX: usize = 8;
/// Bytes that Ethernet, IPv4 and UDP add to a datagram, with preamble and gap.
const BELOW: u64 = 38 + 20 + 8;
/// Wire bytes of the smallest Ethernet frame, with preamble and gap.
const FRAME_MIN: u64 = 84;

/// One transport on one UDP socket.
pub struct Driver {
    clock: Clock,
    udp: Udp,
    endpoint: Box<dyn Endpoint>,
    codec: &'static dyn Codec,
    peers: Peers,
    baker: Baker,
    name: Name,
    incarnation: u32,
    rng: Rng,
    events: Vec<Event>,
    news: Vec<News>,
    line: LineTime,
    /// When the line has carried what was put on it.
    line_free: Time,
    /// Whether the transport may have something to send.
    hungry: bool,
    /// How far the transport has lived: no later than real time.
    now: Time,
    catch_up: Span,
    rx: Option<RxBatch>,
    tx: TxBatch,
    faults: Faults,
    stats: Stats,
    dscp: [u8; 5],
}

impl Driver {
    /// Opens the socket and makes the transport.
    ///
    /// # Errors
    /// What is wrong with the configuration, or the system's refusal.
    pub fn open(config: &DriverConfig, factory: &dyn Factory) -> Result<Self, DriveError> {
        config.check()?;
        check_transport(&config.transport, factory)?;
        let line = LineTime::new(config.rate);
        // Less than a full frame would never catch up with timers that fire late.
        let catch_up = config.catch_up.get().max(Encap::UDP.wire_max().into());
        let udp = Udp::bind(config.bind, config.socket_buffer).map_err(io_error("opening UDP"))?;
        let endpoint = factory.make(&EndpointConfig {
            host: HostId(0),
            rate: config.rate,
            base_rtt: config.base_rtt,
            encap: Encap::UDP,
            port_buffer: config.socket_buffer,
            line_share: model::intent::CreditSpec::WHOLE,
            hops_max: 1,
        });
        let secret = secrets().map_err(io_error("reading the system's random numbers"))?;
        let [key0, key1, incarnation] = secret;
        Ok(Self {
            clock: Clock::new(),
            udp,
            endpoint,
            codec: factory.codec(),
            peers: Peers::new(),
            baker: Baker::new([key0, key1]),
            name: cookie::name(&config.transport),
            incarnation: u32::try_from(incarnation >> 32).expect("the upper half"),
            rng: Rng::stream(config.seed, stream::HOST, 0),
            events: Vec::new(),
            news: Vec::new(),
            line,
            line_free: Time::ZERO,
            hungry: false,
            now: Time::ZERO,
            catch_up: line.of(catch_up),
            rx: Some(RxBatch::new()),
            tx: TxBatch::new(),
            faults: Faults::new(config.faults, config.seed),
            stats: Stats::default(),
            dscp: config.dscp,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> Result<SocketAddrV4, DriveError> {
        self.udp
            .local_addr()
            .map_err(io_error("asking for the own address"))
    }

    /// Opens a connection to the driver at `peer`.
    ///
    /// # Errors
    /// Where too many peers or connections are open.
    pub fn connect(&mut self, peer: SocketAddrV4, life: Lifetime) -> Result<ConnId, DriveError> {
        let no_room = |what: Reason| DriveError::Usage(format!("cannot connect to {peer}: {what}"));
        let host = if let Some(host) = self.peers.find(peer) {
            host
        } else {
            let host = self.add_peer(peer).map_err(no_room)?;
            let nonce = self.baker.nonce();
            self.peers.greet(host, self.clock.now(), nonce);
            self.hello(host, nonce, 0);
            host
        };
        let conn = self.peers.open(host, life).map_err(no_room)?;
        self.step(|endpoint, cx| endpoint.connect(cx, conn, host, life));
        Ok(conn)
    }

    /// Sends a message of `length` bytes on the connection. The bytes are asked of the [`Source`]
    /// by their offset in the connection's outgoing stream, which messages fill one after the
    /// other.
    ///
    /// # Errors
    /// Where the connection is not open.
    pub fn send(&mut self, conn: ConnId, length: u64) -> Result<(), DriveError> {
        self.open_or_error(conn)?;
        self.step(|endpoint, cx| endpoint.send(cx, conn, length));
        Ok(())
    }

    /// Ends the connection's outgoing messages after the last byte that left.
    ///
    /// # Errors
    /// Where the connection is not open.
    pub fn cancel(&mut self, conn: ConnId) -> Result<(), DriveError> {
        self.open_or_error(conn)?;
        self.step(|endpoint, cx| endpoint.cancel(cx, conn));
        Ok(())
    }

    fn open_or_error(&self, conn: ConnId) -> Result<(), DriveError> {
        if self.peers.is_live(conn) {
            return Ok(());
        }
        Err(DriveError::Usage(format!(
            "{conn:?} is not open: connect first, or it has finished"
        )))
    }

    /// Who is at the other end of a connection.
    pub fn peer_addr(&self, conn: ConnId) -> Option<SocketAddrV4> {
        let host = model::Peers::peer(&self.peers, HostId(0), conn)?;
        Some(self.peers.get(host).addr)
    }

    /// What the driver counted.
    pub fn stats(&self) -> Stats {
        Stats {
            faults: self.faults.counts(),
            ..self.stats
        }
    }

    /// What the transport counted.
    pub fn totals(&self) -> Totals {
        self.endpoint.totals()
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.peers.live()
    }

    /// Peers whose address is proven or being proven.
    pub fn known_peers(&self) -> usize {
        self.peers.known()
    }

    /// Every unfinished flow and what it waits for.
    pub fn stuck(&self) -> Vec<StuckFlow> {
        let mut flows = Vec::new();
        self.endpoint.stuck(&mut |flow| flows.push(flow));
        flows
    }

    /// Does what is due, takes what has arrived and waits at most `wait_max` for more. Returns
    /// what happened since the last turn.
    ///
    /// # Errors
    /// The socket's, the source's and the sink's. A source's or sink's error loses the packet that
    /// it concerned; the next turn goes on.
    pub fn turn(
        &mut self,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
        wait_max: Span,
    ) -> Result<Vec<News>, DriveError> {
        self.live_until(self.clock.now(), source)?;
        self.flush()?;
        let (now, wake) = (self.clock.now(), self.wake());
        if wake > now {
            let wait = wake.since(now).0.min(wait_max.0);
            let blocked = !self.tx.is_empty();
            self.udp
                .wait(Span(wait), blocked)
                .map_err(io_error("waiting for a datagram"))?;
        }
        for _ in 0..ROUNDS_MAX {
            let more = self.receive(source, sink)?;
            self.flush()?;
            if !more {
                break;
            }
        }
        self.greet_again();
        self.flush()?;
        if cfg!(debug_assertions) {
            self.endpoint.check();
            self.peers.check();
        }
        Ok(std::mem::take(&mut self.news))
    }

    /// When something is due without a packet arriving.
    fn wake(&self) -> Time {
        if !self.tx.is_empty() {
            // Writable first: the socket says when.
            return self.endpoint.deadline();
        }
        let choice = if self.hungry {
            self.line_free
        } else {
            Time::NEVER
        };
        let own = self.peers.next_greeting().min(self.faults.release_at());
        self.endpoint.deadline().min(choice).min(own)
    }

    /// One step of the transport, now. Its news are taken up by the next [`Driver::turn`].
    fn step<R>(&mut self, step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: &self.peers,
            wants_data: true,
        };
        self.hungry = true;
        step(&mut *self.endpoint, &mut cx)
    }

    /// Lets the transport live until `real` as it would have in a simulator: deadlines before
    /// line choices, each at its own time.
    fn live_until(&mut self, real: Time, source: &mut dyn Source) -> Result<(), DriveError> {
        let horizon = Time(real.0.saturating_sub(self.catch_up.0));
        let due = self.endpoint.deadline().min(if self.hungry {
            self.line_free
        } else {
            Time::NEVER
        });
        if due < horizon && self.now < horizon {
            self.stats.skipped_ns += horizon.since(self.now.max(due)).0 / 1_000;
        }
        self.now = self.now.max(horizon);
        for _ in 0..STEPS_MAX {
            let deadline = self.endpoint.deadline().max(self.now);
            let choice = if self.hungry && self.has_room()? {
                self.line_free.max(self.now)
            } else {
                Time::NEVER
            };
            let next = deadline.min(choice);
            if next > real {
                self.now = self.now.max(real);
                return Ok(());
            }
            self.now = next;
            if deadline <= choice {
                self.step(|endpoint, cx| endpoint.on_deadline(cx));
                self.settle(None, &mut crate::Nothing)?;
            } else {
                self.choose(source)?;
            }
        }
        Ok(())
    }

    /// Whether a frame fits into the batch, after sending it if it is full.
    fn has_room(&mut self) -> Result<bool, DriveError> {
        if self.tx.room() == 0 {
            self.flush()?;
        }
        Ok(self.tx.room() > 0)
    }

    /// The line is idle: asks the transport what leaves.
    fn choose(&mut self, source: &mut dyn Source) -> Result<(), DriveError> {
        let mut packet = Packet::EMPTY;
        let transmit = self.step(|endpoint, cx| endpoint.poll_transmit(cx, &mut packet));
        self.hungry = transmit == Transmit::More;
        self.settle(None, &mut crate::Nothing)?;
        if transmit == Transmit::Nothing {
            return Ok(());
        }
        self.line_free = self.now + self.line.of(packet.size.into());
        let host = packet.to();
        match self.peers.get(host).standing {
            Standing::Proven { .. } => self.write(&packet, source),
            Standing::Greeting { .. } => {
                self.stats.unsendable += u64::from(!self.peers.park(host, packet));
                Ok(())
            }
            Standing::Lost | Standing::Free => {
                self.stats.unsendable += 1;
                Ok(())
            }
        }
    }

    /// Puts a packet's header and payload into a frame.
    fn write(&mut self, packet: &Packet, source: &mut dyn Source) -> Result<(), DriveError> {
        let peer = self.peers.get(packet.to());
        let to = peer.addr;
        let secret = peer.secret().expect("a proven peer has one");
        let link = Link {
            conn: peers::to_wire(packet.conn),
            tag: secret.tag_out,
            cookie: secret.cookie,
        };
        let mut header = [0; HEADER_MAX];
        let header_len = self.codec.encode(packet, link, &mut header);
        let (offset, length) = self.codec.payload(packet).unwrap_or((0, 0));
        let end = header_len + usize::from(length);
        assert!(end <= DATAGRAM_MAX, "{packet:?} takes {end} B after UDP");
        let mut payload = [0; DATAGRAM_MAX];
        let payload = &mut payload[..usize::from(length)];
        if length > 0 {
            source
                .fill(packet.conn, offset, payload)
                .map_err(io_error("reading what to send"))?;
        }
        let frame = self.tx.push();
        frame.bytes[..header_len].copy_from_slice(&header[..header_len]);
        frame.bytes[header_len..end].copy_from_slice(payload);
        (frame.len, frame.to) = (end, to);
        frame.tos = self.dscp[packet.class() as usize] << 2 | packet.ecn() as u8;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DriveError> {
        let sent = self.udp.send(&mut self.tx).map_err(io_error("sending"))?;
        self.stats.datagrams_out += sent.datagrams;
        self.stats.bytes_out += sent.bytes;
        self.stats.send_errors += sent.errors;
        Ok(())
    }

    /// Takes one batch from the socket; whether more may wait there.
    fn receive(
        &mut self,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
    ) -> Result<bool, DriveError> {
        // Moved out while its datagrams are handled.
        let mut rx = self.rx.take().unwrap_or_else(RxBatch::new);
        let received = self.udp.recv(&mut rx).map_err(io_error("receiving"));
        let outcome = received.and_then(|()| self.take_batch(&rx, source, sink));
        let more = rx.len() == crate::socket::BATCH;
        self.rx = Some(rx);
        outcome.map(|()| more)
    }

    fn take_batch(
        &mut self,
        rx: &RxBatch,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
    ) -> Result<(), DriveError> {
        let real = self.clock.now();
        // What was due before they came happens before they are seen.
        self.live_until(real, source)?;
        self.now = self.now.max(real);
        for (bytes, from, tos) in (0..rx.len()).filter_map(|i| rx.get(i)) {
            self.stats.datagrams_in += 1;
            self.stats.bytes_in += bytes.len() as u64;
            for _ in 0..self.faults.copies(real, bytes, from, tos) {
                self.take(bytes, from, tos, source, sink)?;
            }
        }
        while let Some((bytes, from, tos)) = self.faults.release(real) {
            self.take(&bytes, from, tos, source, sink)?;
        }
        self.live_until(real, source)
    }

    /// A datagram from anywhere, whatever source it claims.
    #[cfg(test)]
    pub(crate) fn inject(&mut self, bytes: &[u8], from: SocketAddrV4) {
        self.take(bytes, from, 0, &mut crate::Nothing, &mut crate::Nothing)
            .expect("nothing can fail");
    }

    /// One datagram that the network delivered.
    fn take(
        &mut self,
        bytes: &[u8],
        from: SocketAddrV4,
        tos: u8,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
    ) -> Result<(), DriveError> {
        if bytes.len() <= DATAGRAM_MAX && cookie::is_own(bytes) {
            if let Some(own) = Own::decode(bytes) {
                return self.take_own(own, from, source);
            }
            self.stats.nonsense += 1;
            return Ok(());
        }
        let Some(Read {
            mut packet,
            link,
            at,
            body,
        }) = self.read(bytes)
        else {
            return Ok(());
        };
        let Some(conn) = self.place(link, from, bytes.len()) else {
            return Ok(());
        };
        packet.conn = conn;
        packet.at = self.now;
        if packet.size == 0 {
            let wire = (bytes.len() as u64 + BELOW).max(FRAME_MIN);
            packet.size = u16::try_from(wire).expect("checked against DATAGRAM_MAX");
        }
        packet.set_ecn(model::wire::ecn(tos));
        self.step(|endpoint, cx| endpoint.on_packet(cx, &packet));
        self.settle(Some((conn, at, body)), sink)
    }

    /// Reads a packet of the transport; counts what is none.
    fn read<'a>(&mut self, bytes: &'a [u8]) -> Option<Read<'a>> {
        let nonsense = match self.codec.decode(bytes) {
            Ok(decoded) if bytes.len() <= DATAGRAM_MAX => {
                let (packet, link) = (decoded.packet, decoded.link);
                // No transport asks for what a switch cut or sent back: it counts as lost.
                if packet.trimmed() || packet.bounced() {
                    self.stats.cut += 1;
                    return None;
                }
                let (at, length) = self.codec.payload(&packet).unwrap_or((0, 0));
                let body = bytes.get(decoded.header_len..);
                if let Some(body) = body.filter(|body| body.len() == usize::from(length)) {
                    return Some(Read {
                        packet,
                        link,
                        at,
                        body,
                    });
                }
                &mut self.stats.nonsense
            }
            Err(DecodeError::Version(_)) => &mut self.stats.other_versions,
            Ok(_) | Err(_) => &mut self.stats.nonsense,
        };
        *nonsense += 1;
        None
    }

    /// Which connection a packet belongs to; counts and perhaps answers what belongs to none.
    fn place(&mut self, link: Link, from: SocketAddrV4, len: usize) -> Option<ConnId> {
        let proven = self.peers.find(from).filter(|&host| {
            let standing = self.peers.get(host).standing;
            matches!(standing, Standing::Proven { .. })
        });
        let Some(host) = proven.filter(|&host| self.peers.get(host).sends(link.tag)) else {
            match proven {
                Some(_) => self.stats.wrong_tags += 1,
                None => self.stats.strangers += 1,
            }
            // No more bytes than came.
            if len >= cookie::UNKNOWN_LEN {
                self.say(Own::Unknown { tag: link.tag }, from);
            }
            return None;
        };
        let opens = self.peers.get(host).shares(link.cookie);
        self.peers.hear(host, self.now);
        match self.peers.arrive(host, link.conn, opens) {
            Arrival::Live { conn, .. } => return Some(conn),
            Arrival::Late(conn) => {
                self.stats.late += 1;
                return Some(conn);
            }
            Arrival::Unopened => self.stats.unopened += 1,
            Arrival::Nonsense => self.stats.nonsense += 1,
            Arrival::Full => {
                self.stats.refused += 1;
                if len >= cookie::REFUSED_LEN {
                    let reason = Reason::Connections;
                    let (conn, proof) = (link.conn, link.cookie);
                    self.say(
                        Own::Refused {
                            reason,
                            conn,
                            proof,
                        },
                        from,
                    );
                }
            }
        }
        None
    }

    /// Hands out what the last step said; `payload` is what came with the packet that caused it.
    fn settle(
        &mut self,
        payload: Option<(ConnId, u64, &[u8])>,
        sink: &mut dyn Sink,
    ) -> Result<(), DriveError> {
        if self.events.is_empty() {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let mut outcome = Ok(());
        for event in events.drain(..) {
            match event {
                Event::Data {
                    conn,
                    offset,
                    length,
                } => {
                    let body =
                        payload
                            .filter(|&(of, ..)| of == conn)
                            .and_then(|(_, start, body)| {
                                let skip = usize::try_from(offset.checked_sub(start)?).ok()?;
                                body.get(skip..)?.get(..usize::from(length))
                            });
                    let Some(body) = body else {
                        panic!("accepted {length} B at {offset} of {conn:?}, which did not come");
                    };
                    // A connection that is done here has handed its bytes over already.
                    if self.peers.is_live(conn) {
                        let kept = sink.accept(conn, offset, body);
                        outcome = outcome.and(kept.map_err(io_error("keeping what arrived")));
                    }
                }
                Event::Received { conn, .. } => self.tell(event, conn, false),
                Event::Sent { conn, .. } => self.tell(event, conn, true),
                Event::Stopped { .. } | Event::AskedAgain { .. } => {
                    self.news.push(News::Transport(event));
                }
                Event::Refused { conn } => {
                    self.peers.finish(conn);
                    self.news.push(News::Transport(event));
                }
            }
        }
        self.events = events;
        outcome
    }

    /// Passes on that a message is complete, once; with it a connection of one message is done.
    fn tell(&mut self, event: Event, conn: ConnId, sent: bool) {
        if !self.peers.is_live(conn) {
            return;
        }
        if peers::lifetime(conn) == Lifetime::OneMessage && peers::we_opened(conn) == sent {
            self.peers.finish(conn);
        }
        self.news.push(News::Transport(event));
    }
}

/// A packet of the transport as it was read.
struct Read<'a> {
    packet: Packet,
    link: Link,
    /// Place of the payload in the stream.
    at: u64,
    body: &'a [u8],
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
