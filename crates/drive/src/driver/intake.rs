//! What has arrived: from datagrams to packets, to the endpoint, to the application.

use super::{BELOW, Core, Driver, FRAME_MIN};
use crate::buffers::{Sink, Source};
use crate::config::{DriveError, News, io_error};
use crate::cookie::{self, Own, Reason};
use crate::peers::{self, Arrival, Laden};
use crate::wire::{BATCH, DATAGRAM_MAX, Datagram, Wire};
use model::wire::{DecodeError, Link};
use model::{ConnId, Event, HostId, Lifetime, Packet, Record};
use std::io;
use std::net::SocketAddrV4;
use units::Time;

/// What came with a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    conn: ConnId,
    /// Which datagram of the batch, and where in it the payload begins.
    datagram: usize,
    start: usize,
    /// Place of the payload in the stream, and its length.
    offset: u64,
    length: u16,
}

/// The bytes of datagram `i` of a batch.
type Bytes<'a> = dyn Fn(usize) -> Option<&'a [u8]> + 'a;

/// A packet of the transport as it was read.
struct Read {
    packet: Packet,
    link: Link,
    start: usize,
    offset: u64,
    length: u16,
    record: Option<Record>,
}

impl<W: Wire> Driver<W> {
    /// Takes one batch from the wire; whether more may wait there.
    pub(super) fn receive(
        &mut self,
        source: &mut dyn Source,
        sink: &mut dyn Sink,
    ) -> Result<bool, DriveError> {
        let got = self.wire.recv().map_err(io_error("receiving"))?;
        let real = self.wire.now();
        // What was due before they came happens before they are seen.
        self.live_until(real, source)?;
        self.core.now = self.core.now.max(real);
        let (wire, core) = (&self.wire, &mut self.core);
        let bytes = |i: usize| wire.datagram(i).map(|datagram| datagram.bytes);
        let mut outcome = Ok(());
        for (i, datagram) in (0..got).filter_map(|i| Some((i, wire.datagram(i)?))) {
            core.stats.datagrams_in += 1;
            core.stats.bytes_in += datagram.bytes.len() as u64;
            let Datagram { from, tos, .. } = datagram;
            for _ in 0..core.faults.copies(real, datagram.bytes, from, tos) {
                outcome = outcome.and(core.take(i, datagram, &bytes, sink));
            }
        }
        outcome = outcome.and(core.deliver(&bytes, sink));
        while let Some((bytes, from, tos)) = core.faults.release(real) {
            let alone = |_: usize| Some(&*bytes);
            let datagram = Datagram {
                bytes: &bytes,
                from,
                tos,
            };
            outcome = outcome.and(core.take(0, datagram, &alone, sink));
            outcome = outcome.and(core.deliver(&alone, sink));
        }
        self.send_outbox(source)?;
        self.live_until(real, source)?;
        outcome.map(|()| got == BATCH)
    }
}

impl Core {
    /// One datagram that the network delivered, number `i` of its batch.
    fn take(
        &mut self,
        i: usize,
        datagram: Datagram<'_>,
        bytes: &Bytes<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DriveError> {
        let Datagram {
            bytes: read,
            from,
            tos,
        } = datagram;
        if read.len() <= DATAGRAM_MAX && cookie::is_own(read) {
            let Some(own) = Own::decode(read) else {
                self.stats.nonsense += 1;
                return Ok(());
            };
            // It may change who is there: what came before it comes first.
            let delivered = self.deliver(bytes, sink);
            self.take_own(own, from);
            self.settle_quietly();
            return delivered;
        }
        let Some(Read {
            mut packet,
            link,
            start,
            offset,
            length,
            record,
        }) = self.read(read)
        else {
            return Ok(());
        };
        let Some(conn) = self.place(link, from, read.len()) else {
            return Ok(());
        };
        packet.conn = conn;
        packet.at = self.now;
        if packet.size == 0 {
            let wire = (read.len() as u64 + BELOW).max(FRAME_MIN);
            packet.size = u16::try_from(wire).expect("checked against DATAGRAM_MAX");
        }
        let length = if length > 0 && self.is_trimmed(&mut packet) {
            0
        } else {
            length
        };
        packet.set_ecn(model::wire::ecn(tos));
        if let Some(record) = record {
            self.records.push((self.batch.len(), record));
        }
        self.batch.push(packet);
        self.bodies.push(Body {
            conn,
            datagram: i,
            start,
            offset,
            length,
        });
        Ok(())
    }

    /// Has the bad network cut the payload off `packet`, where its transport takes what is left.
    fn is_trimmed(&mut self, packet: &mut Packet) -> bool {
        if !self.faults.may_trim() {
            return false;
        }
        let mut cut = *packet;
        cut.trim(u16::try_from(FRAME_MIN).expect("a small frame"));
        let trims = self.endpoint.accepts(&cut) && self.faults.trims();
        if trims {
            *packet = cut;
        }
        trims
    }

    /// Reads a packet of the transport; counts what is none.
    fn read(&mut self, bytes: &[u8]) -> Option<Read> {
        let nonsense = match self.codec.decode(bytes) {
            Ok(decoded) if bytes.len() <= DATAGRAM_MAX => {
                let (packet, link, start) = (decoded.packet, decoded.link, decoded.header_len);
                // What its transport does not ask for counts as lost, and so does what came back: it has the number
                // of the other end.
                let cut = packet.trimmed() || packet.bounced();
                if cut && (packet.bounced() || !self.endpoint.accepts(&packet)) {
                    self.stats.cut += 1;
                    return None;
                }
                let (offset, length) = self.codec.payload(&packet).unwrap_or((0, 0));
                let length = if cut { 0 } else { length };
                let (record, front) = match packet.has_record().then(|| Record::read(bytes)) {
                    None => (None, bytes),
                    Some(Ok((record, front))) => (Some(record), front),
                    Some(Err(_)) => {
                        self.stats.nonsense += 1;
                        return None;
                    }
                };
                // A switch that cuts knows no headers, and may leave something behind them.
                let whole = start + usize::from(length);
                if whole == front.len() || cut && whole < front.len() {
                    return Some(Read {
                        packet,
                        link,
                        start,
                        offset,
                        length,
                        record,
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
        let proven = self.peers.find(from).filter(|&host| self.is_proven(host));
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
                let forget = self.peers.linger(conn);
                self.forget(forget);
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

    /// Hands the packets that came to the endpoint, and what it says of them to the application.
    fn deliver(&mut self, bytes: &Bytes<'_>, sink: &mut dyn Sink) -> Result<(), DriveError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        let mut bodies = std::mem::take(&mut self.bodies);
        self.hand_over(&batch);
        let outcome = self.settle(&bodies, bytes, sink);
        batch.clear();
        bodies.clear();
        (self.batch, self.bodies) = (batch, bodies);
        outcome
    }

    /// Hands a batch to the endpoint, each packet with its record where it has one.
    fn hand_over(&mut self, batch: &[Packet]) {
        let mut records = std::mem::take(&mut self.records);
        let mut from = 0;
        for (place, record) in records.drain(..) {
            let packet = &batch[place];
            self.step(|endpoint, cx| {
                endpoint.on_packets(cx, &batch[from..place]);
                endpoint.on_packet_with(cx, packet, &record);
            });
            from = place + 1;
        }
        self.records = records;
        if from < batch.len() {
            self.step(|endpoint, cx| endpoint.on_packets(cx, &batch[from..]));
        }
    }

    /// Hands out what the last step said; `bodies` is what came with the packets that caused it.
    pub(super) fn settle(
        &mut self,
        bodies: &[Body],
        bytes: &Bytes<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DriveError> {
        // Events come in the order of the packets.
        let (mut outcome, mut rest) = (Ok(()), bodies);
        // What is said while settling comes next; it is about connections that are over.
        while !self.events.is_empty() {
            let mut events = std::mem::take(&mut self.events);
            for event in events.drain(..) {
                let Event::Data {
                    conn,
                    offset,
                    length,
                } = event
                else {
                    self.hear(event);
                    continue;
                };
                let found = rest
                    .iter()
                    .position(|body| body.holds(conn, offset, length));
                let Some(at) = found else {
                    panic!("accepted {length} B at {offset} of {conn:?}, which did not come");
                };
                rest = &rest[at..];
                // A connection that is through here has handed its bytes over already.
                if self.peers.is_live(conn) {
                    let body = rest[0].cut(offset, length, bytes);
                    outcome = outcome.and(self.keep(conn, offset, body, sink));
                }
            }
            if self.events.is_empty() {
                self.events = events;
                break;
            }
        }
        outcome
    }

    /// What the transport says beside data.
    fn hear(&mut self, event: Event) {
        match event {
            Event::Received { conn, .. } => self.tell(event, conn, false),
            Event::Sent { conn, .. } => self.tell(event, conn, true),
            Event::Refused { conn } => {
                if self.peers.is_live(conn) {
                    self.finish(conn);
                    self.news.push(News::Transport(event));
                }
            }
            Event::Forgotten { conn } => {
                self.half.remove(&conn);
                self.gates.forget(conn);
                if self.peers.forgotten(conn) {
                    self.news.push(News::Transport(event));
                }
            }
            // News of a finished connection matters no more.
            Event::Stopped { conn } | Event::AskedAgain { conn } if self.peers.is_live(conn) => {
                self.news.push(News::Transport(event));
            }
            Event::Stopped { .. }
            | Event::AskedAgain { .. }
            | Event::Data { .. }
            | Event::Missing { .. } => {}
        }
    }

    /// Gives bytes to the sink. An error loses them alone.
    fn keep(
        &mut self,
        conn: ConnId,
        offset: u64,
        body: &[u8],
        sink: &mut dyn Sink,
    ) -> Result<(), DriveError> {
        sink.accept(conn, offset, body).map_err(|error| {
            self.stats.sink_errors += 1;
            let text = format!("{} B at {offset} of {conn:?} are lost: {error}", body.len());
            io_error("keeping what arrived")(io::Error::new(error.kind(), text))
        })
    }

    /// Passes on that a message is complete, once.
    fn tell(&mut self, event: Event, conn: ConnId, sent: bool) {
        if !self.peers.is_live(conn) {
            return;
        }
        let through = match peers::lifetime(conn) {
            Lifetime::Persistent => false,
            Lifetime::OneMessage => peers::we_opened(conn) == sent,
            // The second of two.
            Lifetime::Exchange => !self.half.insert(conn),
        };
        if through {
            self.finish(conn);
        }
        self.news.push(News::Transport(event));
    }

    /// The connection is through: what its endpoint still keeps is counted apart.
    fn finish(&mut self, conn: ConnId) {
        self.half.remove(&conn);
        let forget = self.peers.finish(conn);
        self.forget(forget);
    }

    /// Sends one of the driver's own packets when all that came has been looked at.
    pub(super) fn say(&mut self, own: Own, to: SocketAddrV4) {
        self.outbox.push(super::Out::Own(own, to));
    }

    /// Packets that waited until their peer was proven leave likewise.
    pub(super) fn say_parked(&mut self, packets: Vec<Laden>) {
        self.outbox
            .extend(packets.into_iter().map(super::Out::Parked));
    }

    /// When this host last greeted the peer, and whether it may again.
    pub(super) fn may_greet(&self, host: HostId, every: units::Span) -> bool {
        let greeted: Time = self.peers.get(host).greeted_at;
        self.now >= greeted.after(every)
    }
}

impl Body {
    fn holds(&self, conn: ConnId, offset: u64, length: u16) -> bool {
        let end = self.offset + u64::from(self.length);
        self.conn == conn && self.offset <= offset && offset + u64::from(length) <= end
    }

    /// The part of it at `offset` of the stream.
    fn cut<'a>(&self, offset: u64, length: u16, bytes: &Bytes<'a>) -> &'a [u8] {
        let skip = usize::try_from(offset - self.offset).expect("within a datagram");
        let start = self.start + skip;
        let datagram = bytes(self.datagram).expect("it was read from there");
        &datagram[start..start + usize::from(length)]
    }
}
