//! Stop and wait: the smallest transport that keeps the contract, and its broken brothers, to
//! test the test kit with.

use model::wire::{Codec, DecodeError, Decoded, HEADER_MAX, Link, Reader, Writer};
use model::{
    Class, ConnId, Cx, Ecn, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// Its number in the header. [ours]
const TRANSPORT: u8 = 250;
const DATA: u8 = 0;
const ACK: u8 = 1;
const END: u32 = 1 << 16;
const ONE_SHOT: u32 = 1 << 17;
const HIGH_AT: u32 = 18;
/// Time for which the end of a message is remembered: longer than any packet of the tests is late.
/// [ours]
const LINGER: Span = Span::ms(80);
/// Above any round trip of the tests. [ours]
const RETRY: Span = Span::ms(1);

/// What is wrong with a broken brother.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// Accepts data that it had.
    AcceptsTwice,
    /// Says that a message is complete when its last packet comes, whatever is missing.
    EndsEarly,
    /// Never repeats a packet.
    NeverRetries,
    /// Sets a deadline that has passed whenever it is asked for a packet.
    Storms,
    /// Takes every call of `on_deadline` for the retry timer.
    RetriesWhenPoked,
    /// Answers the wrong host.
    WrongHost,
    /// Its codec loses a bit.
    Codec,
    /// Says that a message is done when it has been sent once.
    DoneEarly,
    /// Panics at a packet of a connection that it does not know.
    PanicsAtStrangers,
    /// Keeps what it had to forget.
    KeepsAll,
    /// Says twice that it forgot.
    ForgetsTwice,
    /// Sends what is paused.
    IgnoresPauses,
}

#[derive(Debug, Default)]
struct Out {
    /// Bytes left of each message, the first one in transit.
    messages: VecDeque<u64>,
    /// Position of the packet that waits for its acknowledgement.
    offset: u64,
    ordinal: u32,
    retry_at: Option<Time>,
    /// The packet must (again) be sent.
    due: bool,
    one_shot: bool,
}

#[derive(Debug, Default)]
struct In {
    next: u64,
    base: u64,
    ordinal: u32,
    /// Set at the end of the one message.
    forget_at: Option<Time>,
}

/// The endpoint.
pub(crate) struct Toy {
    host: HostId,
    bug: Bug,
    encap: Encap,
    out: BTreeMap<u32, (HostId, Out)>,
    into: BTreeMap<u32, In>,
    acks: VecDeque<Packet>,
    totals: Totals,
    /// The last call of `poll_transmit`, for the storm.
    polled_at: Option<Time>,
}

pub(crate) fn make(bug: Bug) -> impl Fn(&EndpointConfig) -> Box<dyn Endpoint> {
    move |config| {
        Box::new(Toy {
            host: config.host,
            bug,
            encap: config.encap,
            out: BTreeMap::new(),
            into: BTreeMap::new(),
            acks: VecDeque::new(),
            totals: Totals::default(),
            polled_at: None,
        })
    }
}

/// Offset, length and whether a message ends here.
fn parts(packet: &Packet) -> (u64, u16, bool) {
    let [low, mixed, _] = packet.head;
    let length = u16::try_from(mixed & 0xffff).unwrap();
    (
        (u64::from(mixed >> HIGH_AT) << 32) | u64::from(low),
        length,
        mixed & END != 0,
    )
}

fn head(offset: u64, length: u16, end: bool, one_shot: bool, ordinal: u32) -> [u32; 3] {
    let (low, high) = (offset & 0xffff_ffff, offset >> 32);
    let flags = (u32::from(end) * END) | (u32::from(one_shot) * ONE_SHOT);
    let mixed = u32::from(length) | flags | u32::try_from(high).unwrap() << HIGH_AT;
    [u32::try_from(low).unwrap(), mixed, ordinal]
}

impl Toy {
    fn take_data(&mut self, cx: &mut Cx<'_>, packet: &Packet, peer: HostId) {
        let (offset, length, end) = parts(packet);
        let known = self.into.entry(packet.conn.0).or_default();
        let fresh = packet.head[2] == known.ordinal && offset == known.next;
        if fresh || self.bug == Bug::AcceptsTwice {
            known.next = offset + u64::from(length);
            cx.accept(packet.conn, offset, length);
            if end {
                let ordinal = known.ordinal;
                let length = known.next - known.base;
                known.base = known.next;
                known.ordinal += 1;
                let one_shot = packet.head[1] & ONE_SHOT != 0;
                known.forget_at = one_shot.then(|| cx.now.after(LINGER));
                cx.events.push(Event::Received {
                    conn: packet.conn,
                    ordinal,
                    length,
                });
            }
        } else {
            self.totals.duplicates += 1;
            if end && self.bug == Bug::EndsEarly {
                cx.events.push(Event::Received {
                    conn: packet.conn,
                    ordinal: packet.head[2],
                    length: offset + u64::from(length) - known.base,
                });
            }
        }
        let to = if self.bug == Bug::WrongHost {
            self.host
        } else {
            peer
        };
        let mut ack = Packet::new(to, packet.conn, Class::Control, ACK, self.encap.frame_min);
        ack.head = packet.head;
        self.acks.push_back(ack);
    }

    fn take_ack(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (offset, length, end) = parts(packet);
        let Some((_, out)) = self.out.get_mut(&packet.conn.0) else {
            return;
        };
        let Some(left) = out.messages.front_mut() else {
            return;
        };
        let size = (*left).min(u64::from(self.encap.payload_max));
        let mine = offset == out.offset && packet.head[2] == out.ordinal && out.retry_at.is_some();
        if !mine || u64::from(length) != size || end != (size == *left) {
            self.totals.nonsense += 1;
            return;
        }
        *left -= size;
        out.offset += size;
        if end {
            out.messages.pop_front();
            if self.bug != Bug::DoneEarly {
                cx.events.push(Event::Sent {
                    conn: packet.conn,
                    ordinal: out.ordinal,
                });
            }
            out.ordinal += 1;
        }
        out.retry_at = None;
        out.due = !out.messages.is_empty();
        self.leave(cx, packet.conn);
    }

    /// A sender of one message that has nothing left is over.
    fn leave(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let done = |(_, out): &(HostId, Out)| out.one_shot && out.messages.is_empty();
        if self.out.get(&conn.0).is_some_and(done) {
            self.out.remove(&conn.0);
            self.forgot(cx, conn);
        }
    }

    /// Says so, where nothing is left.
    fn forgot(&self, cx: &mut Cx<'_>, conn: ConnId) {
        if self.out.contains_key(&conn.0) || self.into.contains_key(&conn.0) {
            return;
        }
        let times = match self.bug {
            Bug::KeepsAll => 0,
            Bug::ForgetsTwice => 2,
            _ => 1,
        };
        (0..times).for_each(|_| cx.events.push(Event::Forgotten { conn }));
    }
}

impl Endpoint for Toy {
    fn connect(&mut self, _: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        let out = Out {
            one_shot: lifetime.is_one_shot(),
            ..Out::default()
        };
        self.out.insert(conn.0, (peer, out));
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let peer = cx.peers.peer(self.host, conn).unwrap();
        let answer = self
            .into
            .get(&conn.0)
            .is_some_and(|known| known.forget_at.is_some());
        let fresh = Out {
            one_shot: answer,
            ..Out::default()
        };
        let (_, out) = self.out.entry(conn.0).or_insert((peer, fresh));
        out.messages.push_back(length);
        out.due |= out.retry_at.is_none();
    }

    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        // What waits goes; the packet that left is repeated until it is acknowledged.
        if let Some((_, out)) = self.out.get_mut(&conn.0) {
            let keep = usize::from(out.retry_at.is_some());
            out.messages.truncate(keep);
            out.due &= keep > 0;
        }
        self.leave(cx, conn);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if self.out.remove(&conn.0).is_some() | self.into.remove(&conn.0).is_some() {
            self.forgot(cx, conn);
        }
    }

    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let peer = cx.peers.peer(self.host, packet.conn);
        match (packet.kind(), peer) {
            (DATA, Some(peer)) => self.take_data(cx, packet, peer),
            (ACK, Some(_)) => self.take_ack(cx, packet),
            _ => {
                assert_ne!(
                    self.bug,
                    Bug::PanicsAtStrangers,
                    "who is {:?}?",
                    packet.conn
                );
                self.totals.nonsense += 1;
            }
        }
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.polled_at = None;
        let over = |known: &In| known.forget_at.is_some_and(|at| at <= cx.now);
        let over: Vec<u32> = self
            .into
            .extract_if(.., |_, known| over(known))
            .map(|(conn, _)| conn)
            .collect();
        for conn in over {
            self.forgot(cx, ConnId(conn));
        }
        for (_, out) in self.out.values_mut() {
            let at = out.retry_at.filter(|_| self.bug != Bug::NeverRetries);
            if at.is_some_and(|at| at <= cx.now || self.bug == Bug::RetriesWhenPoked) {
                out.due = true;
                out.retry_at = Some(cx.now + RETRY);
            }
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>, slot: &mut Packet) -> Transmit {
        self.polled_at = Some(cx.now);
        let heeds = self.bug != Bug::IgnoresPauses;
        if heeds && !cx.gates.may_say(0) {
            return Transmit::Nothing;
        }
        if let Some(ack) = self.acks.pop_front() {
            *slot = ack;
            return Transmit::More;
        }
        let may = |conn: u32| !heeds || cx.gates.may_send(ConnId(conn), 0);
        let mut due = self.out.iter_mut().filter(|(_, (_, out))| out.due);
        let Some((conn, (peer, out))) = due.find(|(conn, _)| may(**conn)) else {
            return Transmit::Nothing;
        };
        let left = out.messages[0];
        let length = u16::try_from(left.min(u64::from(self.encap.payload_max))).unwrap();
        *slot = Packet::new(
            *peer,
            ConnId(*conn),
            Class::Plain,
            DATA,
            self.encap.wire(length),
        );
        let end = u64::from(length) == left;
        slot.head = head(out.offset, length, end, out.one_shot, out.ordinal);
        slot.set_ecn(Ecn::Capable0);
        self.totals.data_sent += 1;
        if self.bug == Bug::DoneEarly && u64::from(length) == left {
            cx.events.push(Event::Sent {
                conn: ConnId(*conn),
                ordinal: out.ordinal,
            });
        }
        out.due = false;
        out.retry_at = Some(cx.now + RETRY);
        Transmit::More
    }

    fn deadline(&self) -> Time {
        if self.bug == Bug::Storms {
            return self.polled_at.unwrap_or(Time::NEVER);
        }
        if self.bug == Bug::NeverRetries {
            return Time::NEVER;
        }
        let retries = self.out.values().filter_map(|(_, out)| out.retry_at);
        let ends = self.into.values().filter_map(|known| known.forget_at);
        retries.chain(ends).min().unwrap_or(Time::NEVER)
    }

    fn check(&self) {
        for (_, out) in self.out.values() {
            assert!(!out.messages.is_empty() || (out.retry_at.is_none() && !out.due));
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (&conn, (_, out)) in self
            .out
            .iter()
            .filter(|(_, (_, out))| !out.messages.is_empty())
        {
            let waits_for = out
                .retry_at
                .map_or("the line".to_owned(), |at| format!("ACK, {at}"));
            let state = format!("sending message {}", out.ordinal);
            report(StuckFlow {
                conn: ConnId(conn),
                state,
                waits_for,
            });
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }
}

/// Its codec; `forgets` is [`Bug::Codec`].
pub(crate) struct ToyCodec {
    forgets: bool,
}
pub(crate) static CODEC: ToyCodec = ToyCodec { forgets: false };
pub(crate) static FORGETFUL: ToyCodec = ToyCodec { forgets: true };

impl Codec for ToyCodec {
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize {
        let mut sent = *packet;
        let forgotten = u32::from(self.forgets) << 2;
        sent.head.iter_mut().for_each(|word| *word &= !forgotten);
        let mut to = Writer::begin(out, &sent, link, TRANSPORT);
        to.u32(sent.head[0]);
        to.u32(sent.head[1]);
        to.u64(link.cookie);
        to.len()
    }

    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let mut from = Reader(bytes);
        let (mut packet, mut link) = from.begin(TRANSPORT)?;
        let class = match packet.kind() {
            DATA => Class::Plain,
            ACK => Class::Control,
            other => return Err(DecodeError::Kind(other)),
        };
        if packet.class() != class {
            return Err(DecodeError::Field("class"));
        }
        (packet.head[0], packet.head[1]) = (from.u32()?, from.u32()?);
        link.cookie = from.u64()?;
        if parts(&packet).1 > 1460 {
            return Err(DecodeError::Field("length"));
        }
        Ok(Decoded {
            packet,
            link,
            header_len: bytes.len() - from.0.len(),
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        let (offset, length, _) = parts(packet);
        (packet.kind() == DATA).then_some((offset, length))
    }

    fn describe(&self, packet: &Packet) -> String {
        let (offset, length, end) = parts(packet);
        let name = if packet.kind() == DATA { "DATA" } else { "ACK" };
        format!("{name} {offset}+{length}{}", if end { " end" } else { "" })
    }
}
