//! A transport as small as can be, so that the driver's tests depend on no other: a fixed window
//! of frames, each acknowledged and repeated by itself.

use model::wire::{Codec, DecodeError, Decoded, HEADER_MAX, Link, Reader, Writer};
use model::{
    Class, ConnId, Cx, Ecn, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transports::{Described, Fabric, Factory};
use units::{Rate, Span, Time};

/// Its number in the header. [ours]
const TRANSPORT: u8 = 251;
const DATA: u8 = 0;
const ACK: u8 = 1;
const WINDOW: usize = 32;
const TIMEOUT: Span = Span::ms(5);
/// A message that does not go on for so long is forgotten by its receiver.
pub(crate) const EXPIRY: Span = Span::ms(10_000);
/// Streams longer than this are not taken from a packet.
const FRAMES_MAX: u32 = 1 << 20;

pub(crate) struct Toy;

impl Described for Toy {
    fn codec(&self) -> &'static dyn Codec {
        &ToyCodec
    }
    fn resolved(&self) -> toml::Table {
        toml::Table::new()
    }
}

impl Factory for Toy {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        let encap = config.encap;
        Box::new(ToyEndpoint {
            encap,
            out: BTreeMap::new(),
            into: BTreeMap::new(),
            acks: VecDeque::new(),
            totals: Totals::default(),
        })
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric::default()
    }
}

struct ToyEndpoint {
    encap: Encap,
    out: BTreeMap<ConnId, Outgoing>,
    into: BTreeMap<ConnId, Incoming>,
    acks: VecDeque<(HostId, ConnId, u32)>,
    totals: Totals,
}

#[derive(Default)]
struct Incoming {
    frames: BTreeSet<u32>,
    forget_at: Time,
}

struct Outgoing {
    peer: HostId,
    length: u64,
    next: u32,
    /// When each frame in flight is sent again; once due it waits for the line as `NEVER`.
    flying: BTreeMap<u32, Time>,
    again: BTreeSet<u32>,
}

impl ToyEndpoint {
    fn data(&self, conn: ConnId, out: &Outgoing, frame: u32) -> Packet {
        let full = u64::from(self.encap.payload_max);
        let length = (out.length - u64::from(frame) * full).min(full);
        let length = u16::try_from(length).unwrap();
        let mut packet = Packet::new(out.peer, conn, Class::Plain, DATA, self.encap.wire(length));
        packet.set_ecn(Ecn::Capable0);
        packet.head = [
            frame,
            u32::from(length),
            u32::try_from(self.encap.frames(out.length)).unwrap(),
        ];
        packet
    }
}

impl Endpoint for ToyEndpoint {
    fn connect(&mut self, _: &mut Cx<'_>, conn: ConnId, peer: HostId, _: Lifetime) {
        let (flying, again) = (BTreeMap::new(), BTreeSet::new());
        self.out.insert(
            conn,
            Outgoing {
                peer,
                length: 0,
                next: 0,
                flying,
                again,
            },
        );
    }

    fn send(&mut self, _: &mut Cx<'_>, conn: ConnId, length: u64) {
        self.out.get_mut(&conn).unwrap().length = length;
    }

    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.forget(cx, conn);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if self.out.remove(&conn).is_some() | self.into.remove(&conn).is_some() {
            cx.events.push(Event::Forgotten { conn });
        }
    }

    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let [frame, length, frames] = packet.head;
        if packet.kind() == ACK {
            let Some(out) = self.out.get_mut(&packet.conn) else {
                return;
            };
            out.flying.remove(&frame);
            out.again.remove(&frame);
            let sent_all = u64::from(out.next) == self.encap.frames(out.length);
            if sent_all && out.flying.is_empty() && out.again.is_empty() {
                self.out.remove(&packet.conn);
                let conn = packet.conn;
                cx.events.push(Event::Sent { conn, ordinal: 0 });
                cx.events.push(Event::Forgotten { conn });
            }
            return;
        }
        let peer = cx.peers.peer(HostId(0), packet.conn).unwrap();
        self.acks.push_back((peer, packet.conn, frame));
        let got = self.into.entry(packet.conn).or_default();
        got.forget_at = cx.now.after(EXPIRY);
        if !got.frames.insert(frame) {
            self.totals.duplicates += 1;
            return;
        }
        let offset = u64::from(frame) * u64::from(self.encap.payload_max);
        cx.accept(packet.conn, offset, u16::try_from(length).unwrap());
        if got.frames.len() == frames as usize {
            self.into.remove(&packet.conn);
            let length = offset + u64::from(length);
            cx.events.push(Event::Received {
                conn: packet.conn,
                ordinal: 0,
                length,
            });
            let conn = packet.conn;
            cx.events.push(Event::Forgotten { conn });
        }
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        for (conn, _) in self.into.extract_if(.., |_, got| got.forget_at <= cx.now) {
            cx.events.push(Event::Forgotten { conn });
        }
        for out in self.out.values_mut() {
            for (frame, at) in &mut out.flying {
                if *at <= cx.now {
                    *at = Time::NEVER;
                    out.again.insert(*frame);
                }
            }
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if let Some((peer, conn, frame)) = self.acks.pop_front() {
            *out = Packet::new(peer, conn, Class::Control, ACK, self.encap.frame_min);
            out.head[0] = frame;
            return Transmit::More;
        }
        let mut next = None;
        for (conn, flow) in &mut self.out {
            let left = u64::from(flow.next) < self.encap.frames(flow.length);
            if let Some(frame) = flow.again.pop_first() {
                self.totals.retransmitted += 1;
                next = Some((*conn, frame));
            } else if left && flow.length > 0 && flow.flying.len() < WINDOW {
                next = Some((*conn, flow.next));
                flow.next += 1;
            } else {
                continue;
            }
            break;
        }
        let Some((conn, frame)) = next else {
            return Transmit::Nothing;
        };
        self.totals.data_sent += 1;
        *out = self.data(conn, &self.out[&conn], frame);
        self.out
            .get_mut(&conn)
            .unwrap()
            .flying
            .insert(frame, cx.now.after(TIMEOUT));
        Transmit::More
    }

    fn deadline(&self) -> Time {
        let all = self
            .out
            .values()
            .flat_map(|out| out.flying.values().copied());
        let ends = self.into.values().map(|got| got.forget_at);
        all.chain(ends).min().unwrap_or(Time::NEVER)
    }

    fn check(&self) {
        assert!(self.out.values().all(|out| out.flying.len() <= WINDOW));
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (conn, out) in &self.out {
            report(StuckFlow {
                conn: *conn,
                state: format!("frame {}", out.next),
                waits_for: "acknowledgements".into(),
            });
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }
}

struct ToyCodec;

impl Codec for ToyCodec {
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize {
        let mut to = Writer::begin(out, packet, link, TRANSPORT);
        to.u32(packet.head[0]);
        to.u32(packet.head[1]);
        // Any of its data may be the first to arrive.
        if packet.kind() == DATA {
            to.u64(link.cookie);
        }
        to.len()
    }

    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let mut from = Reader(bytes);
        let (mut packet, mut link) = from.begin(TRANSPORT)?;
        (packet.head[0], packet.head[1]) = (from.u32()?, from.u32()?);
        let (kind, head) = (packet.kind(), packet.head);
        let (class, size) = match kind {
            DATA => (Class::Plain, Encap::UDP.wire(Encap::UDP.payload_max)),
            ACK => (Class::Control, Encap::UDP.frame_min),
            _ => return Err(DecodeError::Kind(kind)),
        };
        if packet.class() != class {
            return Err(DecodeError::Field("class"));
        }
        packet.size = size;
        let last = head[0].checked_add(1) == Some(head[2]);
        let length = head[1] <= Encap::UDP.payload_max.into();
        let full = last || head[1] == u32::from(Encap::UDP.payload_max);
        let possible = head[2] <= FRAMES_MAX && head[0] < head[2] && length && full;
        if kind == DATA && !possible {
            return Err(DecodeError::Field("frame"));
        }
        if kind == DATA {
            link.cookie = from.u64()?;
        }
        Ok(Decoded {
            packet,
            link,
            header_len: bytes.len() - from.0.len(),
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        let offset = u64::from(packet.head[0]) * u64::from(Encap::UDP.payload_max);
        (packet.kind() == DATA).then(|| (offset, u16::try_from(packet.head[1]).unwrap()))
    }

    fn describe(&self, packet: &Packet) -> String {
        format!(
            "{} {}",
            ["DATA", "ACK"][usize::from(packet.kind())],
            packet.head[0]
        )
    }
}
