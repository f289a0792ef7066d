//! What ExpressPass packets carry: 12 bytes of head in the simulator, 16 to 32 of header on a wire.
//!
//! A direction of a connection is a stream of *positions*: one per byte, and one per empty frame,
//! so that an empty message, too, can be lost, repeated and told apart. DATA names the byte offset
//! of its payload and, beside it, how many empty frames came before (modulo 2^10); every other
//! kind names a position.
//!
//! | kind | head words | flags |
//! | --- | --- | --- |
//! | CREDIT | 0, 0, credit sequence | |
//! | DATA | offset (48), length (16), blanks (10), credit sequence (22) | end, one-shot, again |
//! | REQUEST | next position (48), packets that follow unasked (16), packets left (32) | one-shot, exchange |
//! | STOP | end of the stream (48), last credit answered (16), 0 (32) | early, gone, one-shot |
//! | NACK | first position that has not arrived (48), last credit heard of (16), positions missing or 0 (32) | |
//! | STOP_ACK | first position that has not arrived (48), 0 (48) | gone |
//! | ACK, PROBE_ACK | position of an unscheduled packet (48), first position that has not arrived (48) | |
//! | PROBE | position of an unscheduled packet (48), 0 (48) | end |
//! | HEARD | position of the request (48), 0 (48) | asks |
//!
//! Credits that STOP and NACK name say how old they are: everything that answers an earlier credit left
//! before. They are 0 in plain ExpressPass, whose receivers know of one gap at a time.

use model::wire::{Codec, DecodeError, Decoded, ENVELOPE_LEN, HEADER_MAX, Link, Reader, Writer};
use model::{Class, ConnId, HostId, Packet};

/// What a packet is: the low four bits of [`Packet::kind`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// Lets the sender put one frame of data on the wire.
    Credit = 0,
    /// One frame of data, and the credit that it answers.
    Data = 1,
    /// Asks for credits.
    Request = 2,
    /// Asks for no more of them.
    Stop = 3,
    /// Something is missing: send again from here.
    Nack = 4,
    /// Everything up to here has arrived.
    StopAck = 5,
    /// This one unscheduled packet has arrived. [aeolus s3.3]
    Ack = 6,
    /// The last unscheduled packet was this one. [aeolus s3.3]
    Probe = 7,
    /// The probe of this packet has arrived.
    ProbeAck = 8,
    /// The request has come, and credits are given for it. [ours]
    Heard = 9,
}

impl Kind {
    #[inline]
    pub(super) const fn of(packet: &Packet) -> Option<Self> {
        Self::from_number(packet.kind() & KIND)
    }

    #[inline]
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Credit),
            1 => Some(Self::Data),
            2 => Some(Self::Request),
            3 => Some(Self::Stop),
            4 => Some(Self::Nack),
            5 => Some(Self::StopAck),
            6 => Some(Self::Ack),
            7 => Some(Self::Probe),
            8 => Some(Self::ProbeAck),
            9 => Some(Self::Heard),
            _ => None,
        }
    }

    /// Data is scheduled, credits are credits, and the rest is control.
    const fn class(self) -> Class {
        match self {
            Self::Credit => Class::Credit,
            Self::Data => Class::Scheduled,
            Self::Request
            | Self::Stop
            | Self::Nack
            | Self::StopAck
            | Self::Ack
            | Self::Probe
            | Self::ProbeAck
            | Self::Heard => Class::Control,
        }
    }

    /// The flags that this kind may carry.
    const fn flags(self) -> u8 {
        match self {
            Self::Credit | Self::Nack | Self::Ack | Self::ProbeAck => 0,
            Self::Probe => END,
            Self::StopAck => GONE,
            Self::Heard => ASKS,
            Self::Data => END | ONE_SHOT | AGAIN,
            Self::Request => ONE_SHOT | EXCHANGE,
            Self::Stop => EARLY | GONE | ONE_SHOT,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Credit => "CREDIT",
            Self::Data => "DATA",
            Self::Request => "REQUEST",
            Self::Stop => "STOP",
            Self::Nack => "NACK",
            Self::StopAck => "STOP_ACK",
            Self::Ack => "ACK",
            Self::Probe => "PROBE",
            Self::ProbeAck => "PROBE_ACK",
            Self::Heard => "HEARD",
        }
    }
}

const KIND: u8 = 0x0f;
/// DATA: the message ends with this frame. PROBE: the burst ends before it.
pub(super) const END: u8 = 0x10;
/// The connection carries this one message and is then forgotten.
pub(super) const ONE_SHOT: u8 = 0x20;
/// REQUEST: and one message the other way.
const EXCHANGE: u8 = 0x40;
/// DATA: the frame has been sent before.
const AGAIN: u8 = 0x40;
/// STOP: data is left; the credits that are under way will fetch it.
const EARLY: u8 = 0x80;
/// STOP, STOP_ACK: whoever sends it knows nothing of this connection.
const GONE: u8 = 0x10;
/// HEARD: nobody answers the credits; does the sender still want any?
const ASKS: u8 = 0x10;

/// Positions and offsets lie below this.
pub(super) const POSITION_LIMIT: u64 = 1 << 48;
/// The part of the credit sequence that DATA echoes.
const ECHO_BITS: u32 = 22;
const ECHO: u32 = (1 << ECHO_BITS) - 1;
/// Empty frames are counted modulo this.
pub(super) const BLANKS_MODULUS: u64 = 1 << (32 - ECHO_BITS);

/// One frame of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Data {
    /// Byte offset of the payload in the stream.
    pub(super) offset: u64,
    /// Bytes of payload; 0 in an empty frame.
    pub(super) length: u16,
    /// Empty frames before this one; modulo [`BLANKS_MODULUS`] where it was read.
    pub(super) blanks: u64,
    /// Number of the credit that it answers; modulo 2^22 where it was read.
    pub(super) echo: u32,
    /// The message ends with this frame.
    pub(super) end: bool,
    /// The frame has been sent before.
    pub(super) again: bool,
}

/// What a STOP says of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StopReason {
    /// All of it has been sent.
    AllSent,
    /// Some is left, for which enough credits are under way.
    Early,
    /// The sender does not know the connection.
    Gone,
}

/// Splits a 48-bit position into head words 0 and the upper half of 1.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the two parts of 48 bits")]
const fn split(position: u64) -> (u32, u32) {
    debug_assert!(position < POSITION_LIMIT);
    (position as u32, ((position >> 32) as u32) << 16)
}

/// The position in head words 0 and 1.
#[inline]
pub(super) const fn position(packet: &Packet) -> u64 {
    packet.head[0] as u64 | ((packet.head[1] as u64 >> 16) << 32)
}

#[inline]
fn packet(to: HostId, conn: ConnId, kind: Kind, flags: u8, size: u16) -> Packet {
    Packet::new(to, conn, kind.class(), kind as u8 | flags, size)
}

/// A CREDIT.
#[inline]
pub(super) fn credit(to: HostId, conn: ConnId, sequence: u32, size: u16) -> Packet {
    let mut packet = packet(to, conn, Kind::Credit, 0, size);
    packet.head[2] = sequence;
    packet
}

/// The sequence of a CREDIT.
#[inline]
pub(super) const fn sequence(packet: &Packet) -> u32 {
    packet.head[2]
}

/// A DATA frame.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "blanks are meant modulo 2^10"
)]
pub(super) fn data(to: HostId, conn: ConnId, data: Data, one_shot: bool, size: u16) -> Packet {
    let flags = if data.end { END } else { 0 }
        | if one_shot { ONE_SHOT } else { 0 }
        | if data.again { AGAIN } else { 0 };
    let mut packet = packet(to, conn, Kind::Data, flags, size);
    let (low, high) = split(data.offset);
    // The echo is in the low byte: where packets are sprayed, data takes the way of its credit.
    let blanks = (data.blanks as u32) << ECHO_BITS;
    packet.head = [
        low,
        high | u32::from(data.length),
        blanks | (data.echo & ECHO),
    ];
    packet
}

/// Reads a DATA frame.
#[inline]
pub(super) const fn read_data(packet: &Packet) -> Data {
    Data {
        offset: position(packet),
        length: (packet.head[1] & 0xffff) as u16,
        blanks: (packet.head[2] >> ECHO_BITS) as u64,
        echo: packet.head[2] & ECHO,
        end: packet.kind() & END != 0,
        again: packet.kind() & AGAIN != 0,
    }
}

/// How many credits after the echoed one the receiver gave, if it gave `given` in all.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the echo has the low bits alone"
)]
pub(super) const fn credits_since(given: u64, echo: u32) -> u32 {
    (given as u32).wrapping_sub(echo) & ECHO
}

/// What a REQUEST asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// The first position that credits are wanted for.
    pub(super) next: u64,
    /// Frames from there on.
    pub(super) packets: u32,
    /// Those of them that follow without a credit.
    pub(super) unasked: u16,
}

/// A REQUEST for `packets` frames from `next` on.
pub(super) fn request(
    to: HostId,
    conn: ConnId,
    next: u64,
    packets: u32,
    one_shot: bool,
    size: u16,
) -> Packet {
    let mut packet = packet(
        to,
        conn,
        Kind::Request,
        if one_shot { ONE_SHOT } else { 0 },
        size,
    );
    let (low, high) = split(next);
    packet.head = [low, high, packets];
    packet
}

/// A REQUEST that says that one message goes each way.
pub(super) fn exchange(request: Packet) -> Packet {
    let mut packet = Packet::new(
        request.to(),
        request.conn,
        request.class(),
        request.kind() | EXCHANGE,
        request.size,
    );
    packet.head = request.head;
    packet
}

/// Whether a REQUEST is of a connection with one message each way.
pub(super) const fn is_exchange(packet: &Packet) -> bool {
    packet.kind() & EXCHANGE != 0
}

/// A REQUEST that `unasked` packets follow without a credit.
pub(super) fn followed(mut request: Packet, unasked: u16) -> Packet {
    request.head[1] |= u32::from(unasked);
    request
}

/// What a REQUEST asks for.
pub(super) const fn wanted(packet: &Packet) -> Wanted {
    Wanted {
        next: position(packet),
        packets: packet.head[2],
        unasked: low_half(packet),
    }
}

/// The lower half of head word 1.
#[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
const fn low_half(packet: &Packet) -> u16 {
    packet.head[1] as u16
}

/// Names the last credit that whoever sends this STOP or NACK has answered, or heard of.
pub(super) fn as_of(mut packet: Packet, credit: u16) -> Packet {
    packet.head[1] |= u32::from(credit);
    packet
}

/// The credit that [`as_of`] named.
pub(super) const fn credit_named(packet: &Packet) -> u16 {
    low_half(packet)
}

/// Whether the connection carries one message alone.
#[inline]
pub(super) const fn is_one_shot(packet: &Packet) -> bool {
    packet.kind() & ONE_SHOT != 0
}

/// A STOP at the stream's `end`.
pub(super) fn stop(
    to: HostId,
    conn: ConnId,
    end: u64,
    reason: StopReason,
    one_shot: bool,
    size: u16,
) -> Packet {
    let flags = match reason {
        StopReason::AllSent => 0,
        StopReason::Early => EARLY,
        StopReason::Gone => GONE,
    } | if one_shot { ONE_SHOT } else { 0 };
    let mut packet = packet(to, conn, Kind::Stop, flags, size);
    let (low, high) = split(end);
    packet.head = [low, high, 0];
    packet
}

/// Why the sender wants no more credits.
pub(super) const fn stop_reason(packet: &Packet) -> StopReason {
    match packet.kind() & (EARLY | GONE) {
        0 => StopReason::AllSent,
        EARLY => StopReason::Early,
        _ => StopReason::Gone,
    }
}

/// A NACK: `length` positions from `next` on are missing, or everything where it is 0.
pub(super) fn nack(to: HostId, conn: ConnId, next: u64, length: u32, size: u16) -> Packet {
    let mut packet = packet(to, conn, Kind::Nack, 0, size);
    let (low, high) = split(next);
    packet.head = [low, high, length];
    packet
}

/// Positions that a NACK asks for; 0 for everything.
pub(super) const fn missing(packet: &Packet) -> u32 {
    packet.head[2]
}

/// An ACK or PROBE_ACK of the unscheduled packet at `position`. `next` is what a STOP_ACK would say, so
/// that a later acknowledgement makes up for a lost one.
#[allow(clippy::cast_possible_truncation, reason = "the two parts of 48 bits")]
pub(super) fn about(
    to: HostId,
    conn: ConnId,
    kind: Kind,
    position: u64,
    next: u64,
    size: u16,
) -> Packet {
    debug_assert!(next < POSITION_LIMIT);
    let mut packet = packet(to, conn, kind, 0, size);
    let (low, high) = split(position);
    packet.head = [low, high | (next >> 32) as u32, next as u32];
    packet
}

/// The first position that has not arrived, in an ACK or PROBE_ACK.
pub(super) const fn arrived(packet: &Packet) -> u64 {
    ((packet.head[1] as u64 & 0xffff) << 32) | packet.head[2] as u64
}

/// A PROBE behind the unscheduled packet at `position`, the last of its burst or not.
pub(super) fn probe(to: HostId, conn: ConnId, position: u64, last: bool, size: u16) -> Packet {
    let flags = if last { END } else { 0 };
    let mut packet = packet(to, conn, Kind::Probe, flags, size);
    let (low, high) = split(position);
    packet.head = [low, high, 0];
    packet
}

/// Whether the burst ends before this PROBE.
pub(super) const fn is_last(packet: &Packet) -> bool {
    packet.kind() & END != 0
}

/// Turns a DATA frame into one that no credit released, and a PROBE into one that stays behind those.
#[inline]
pub(super) fn unscheduled(mut packet: Packet) -> Packet {
    packet.set_class(Class::Unscheduled);
    packet
}

/// A STOP_ACK: everything before `next` has arrived; or, where it is `None`, the connection is not
/// known any more.
pub(super) fn stop_ack(to: HostId, conn: ConnId, next: Option<u64>, size: u16) -> Packet {
    let flags = if next.is_none() { GONE } else { 0 };
    let mut packet = packet(to, conn, Kind::StopAck, flags, size);
    let (low, high) = split(next.unwrap_or(0));
    packet.head = [low, high, 0];
    packet
}

/// A HEARD of the request from `position` on; where it `asks`, the sender is to say whether it is
/// still there.
pub(super) fn heard(to: HostId, conn: ConnId, position: u64, asks: bool, size: u16) -> Packet {
    let flags = if asks { ASKS } else { 0 };
    let mut packet = packet(to, conn, Kind::Heard, flags, size);
    let (low, high) = split(position);
    packet.head = [low, high, 0];
    packet
}

/// Whether a HEARD wants an answer.
pub(super) const fn asks(packet: &Packet) -> bool {
    packet.kind() & ASKS != 0
}

/// Whether a STOP_ACK says that the receiver does not know the connection.
pub(super) const fn is_gone(packet: &Packet) -> bool {
    packet.kind() & GONE != 0
}

/// This transport's number in the header.
pub const TRANSPORT_ID: u8 = 1;

/// The header: what every header begins with, and then
///
/// ```text
/// CREDIT   16 B: nothing; the credit sequence is the shared word
/// others   24 B: head words 0 and 1
/// REQUEST  32 B: the same and cookie 64
/// ```
pub struct ExpressPassCodec;

/// Header of a CREDIT: it must fit a minimum-size frame after UDP.
const _: () = assert!(ENVELOPE_LEN <= model::wire::CREDIT_MAX);

impl Codec for ExpressPassCodec {
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize {
        let mut writer = Writer::begin(out, packet, link, TRANSPORT_ID);
        let kind = Kind::of(packet);
        if kind != Some(Kind::Credit) {
            writer.u32(packet.head[0]);
            writer.u32(packet.head[1]);
        }
        if kind == Some(Kind::Request) {
            writer.u64(link.cookie);
        }
        writer.len()
    }

    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let mut reader = Reader(bytes);
        let (mut read, mut link) = reader.begin(TRANSPORT_ID)?;
        let kind = Kind::of(&read).ok_or(DecodeError::Kind(read.kind() & KIND))?;
        let flags = read.kind() & !KIND;
        check(flags & !kind.flags() == 0, "flags")?;
        check(flags & (EARLY | GONE) != EARLY | GONE, "flags")?;
        let exchange = kind == Kind::Request && is_exchange(&read);
        check(!exchange || is_one_shot(&read), "flags")?;
        let may_be = matches!(kind, Kind::Data | Kind::Probe);
        let early = may_be && read.class() == Class::Unscheduled;
        check(early || read.class() == kind.class(), "class")?;
        if kind != Kind::Credit {
            (read.head[0], read.head[1]) = (reader.u32()?, reader.u32()?);
        }
        check_head(kind, &read)?;
        if kind == Kind::Request {
            link.cookie = reader.u64()?;
        }
        Ok(Decoded {
            packet: read,
            link,
            header_len: bytes.len() - reader.0.len(),
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        let data = (Kind::of(packet) == Some(Kind::Data)).then(|| read_data(packet))?;
        Some((data.offset, data.length))
    }

    fn answers(&self, data: &Packet, credit: &Packet) -> Option<bool> {
        let both = Kind::of(data) == Some(Kind::Data) && Kind::of(credit) == Some(Kind::Credit);
        both.then(|| read_data(data).echo == sequence(credit) & ECHO)
    }

    fn describe(&self, packet: &Packet) -> String {
        let Some(kind) = Kind::of(packet) else {
            return format!("unknown kind {}", packet.kind() & KIND);
        };
        let (name, at) = (kind.name(), position(packet));
        match kind {
            Kind::Credit => format!("{name} {}", sequence(packet)),
            Kind::Data => {
                let data = read_data(packet);
                let end = if data.end { " end" } else { "" };
                let again = if data.again { " again" } else { "" };
                let (start, stop) = (data.offset, data.offset + u64::from(data.length));
                if packet.class() == Class::Unscheduled {
                    return format!("{name} {start}..{stop}{end}, unscheduled");
                }
                format!("{name} {start}..{stop}{end}{again}, credit {}", data.echo)
            }
            Kind::Request => {
                let Wanted {
                    packets: n,
                    unasked,
                    ..
                } = wanted(packet);
                let plural = if n == 1 { "" } else { "s" };
                let follow = match unasked {
                    0 => String::new(),
                    _ => format!(", {unasked} unasked"),
                };
                format!("{name} from {at}, {n} packet{plural}{follow}")
            }
            Kind::Stop => match stop_reason(packet) {
                StopReason::AllSent => format!("{name} at {at}"),
                StopReason::Early => format!("{name} early, end at {at}"),
                StopReason::Gone => format!("{name} unknown here"),
            },
            Kind::Nack if missing(packet) > 0 => {
                let until = at + u64::from(missing(packet));
                format!("{name} {at}..{until} as of credit {}", credit_named(packet))
            }
            Kind::StopAck if is_gone(packet) => format!("{name} unknown here"),
            Kind::Heard if asks(packet) => format!("{name} from {at}, still there?"),
            Kind::Heard => format!("{name} from {at}"),
            Kind::Ack | Kind::ProbeAck => format!("{name} {at}, all before {}", arrived(packet)),
            Kind::Probe if is_last(packet) => format!("{name} {at}, the last"),
            Kind::Nack | Kind::StopAck | Kind::Probe => {
                format!("{name} {at}")
            }
        }
    }
}

fn check(holds: bool, field: &'static str) -> Result<(), DecodeError> {
    if holds {
        Ok(())
    } else {
        Err(DecodeError::Field(field))
    }
}

/// Whether the head words make sense for their kind.
fn check_head(kind: Kind, packet: &Packet) -> Result<(), DecodeError> {
    match kind {
        Kind::Credit | Kind::Ack | Kind::ProbeAck => Ok(()),
        Kind::Data => {
            let data = read_data(packet);
            // Only a message that ends can be empty.
            check(data.length > 0 || data.end, "length")?;
            check(
                data.offset + u64::from(data.length) < POSITION_LIMIT,
                "offset",
            )
        }
        Kind::Request => check(wanted(packet).packets > 0, "packets"),
        Kind::Nack => Ok(()),
        Kind::Stop => check(packet.head[2] == 0, "reserved"),
        Kind::StopAck if is_gone(packet) => check(packet.head == [0; 3], "reserved"),
        Kind::StopAck | Kind::Probe | Kind::Heard => {
            check(packet.head[1] << 16 == 0 && packet.head[2] == 0, "reserved")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wire::VERSION;
    use proptest::prelude::*;

    const TO: HostId = HostId(0);

    fn any_packet() -> impl Strategy<Value = Packet> {
        let position = || 0..POSITION_LIMIT;
        let conn = || any::<u32>().prop_map(ConnId);
        let data_frame = (
            0..POSITION_LIMIT - 65_536,
            any::<u16>(),
            0..BLANKS_MODULUS,
            0..=ECHO,
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(|(offset, length, blanks, echo, end, again)| {
                let end = end || length == 0;
                Data {
                    offset,
                    length,
                    blanks,
                    echo,
                    end,
                    again,
                }
            });
        let reason = prop_oneof![
            Just(StopReason::AllSent),
            Just(StopReason::Early),
            Just(StopReason::Gone)
        ];
        let about_kind = prop_oneof![Just(Kind::Ack), Just(Kind::ProbeAck)];
        prop_oneof![
            (conn(), any::<u32>()).prop_map(|(conn, n)| credit(TO, conn, n, 0)),
            (conn(), data_frame, any::<bool>(), any::<bool>()).prop_map(|(conn, d, one, early)| {
                let packet = data(TO, conn, d, one, 0);
                if early { unscheduled(packet) } else { packet }
            }),
            (conn(), position(), 1u32.., 0..3u8, any::<u16>()).prop_map(
                |(conn, at, n, carries, unasked)| {
                    let packet = followed(request(TO, conn, at, n, carries > 0, 0), unasked);
                    if carries > 1 {
                        exchange(packet)
                    } else {
                        packet
                    }
                }
            ),
            (conn(), position(), reason, any::<bool>(), any::<u16>())
                .prop_map(|(conn, at, why, one, n)| as_of(stop(TO, conn, at, why, one, 0), n)),
            (conn(), position(), any::<u32>(), any::<u16>())
                .prop_map(|(conn, at, length, n)| as_of(nack(TO, conn, at, length, 0), n)),
            (conn(), position(), position(), about_kind)
                .prop_map(|(conn, at, next, kind)| { about(TO, conn, kind, at, next, 0) }),
            (conn(), position(), any::<bool>(), any::<bool>()).prop_map(
                |(conn, at, last, early)| {
                    let packet = probe(TO, conn, at, last, 0);
                    if early { unscheduled(packet) } else { packet }
                }
            ),
            (conn(), position(), any::<bool>())
                .prop_map(|(conn, at, asks)| heard(TO, conn, at, asks, 0)),
            (conn(), prop::option::of(position()))
                .prop_map(|(conn, next)| stop_ack(TO, conn, next, 0)),
        ]
    }

    /// Bytes with a version and a transport that the codec reads, so that it gets to the rest.
    fn plausible(mut bytes: Vec<u8>) -> Vec<u8> {
        if let Some([first, _, transport, ..]) = bytes.first_chunk_mut::<4>() {
            *first = *first & 0x03 | VERSION << 4;
            *transport = TRANSPORT_ID;
        }
        bytes
    }

    proptest! {
        #[test]
        fn every_packet_comes_back_from_the_wire(
            packet in any_packet(), tag: u32, cookie: u64, payload in 0usize..100,
        ) {
            let is_request = Kind::of(&packet) == Some(Kind::Request);
            let cookie = if is_request { cookie } else { 0 };
            let link = Link { conn: packet.conn.0, tag, cookie };
            let mut out = [0; HEADER_MAX];
            let length = ExpressPassCodec.encode(&packet, link, &mut out);
            let mut datagram = out[..length].to_vec();
            datagram.resize(length + payload, 0xaa);
            let decoded = ExpressPassCodec.decode(&datagram).unwrap();
            prop_assert_eq!(decoded, Decoded { packet, link, header_len: length });
            for short in 0..length {
                prop_assert_eq!(ExpressPassCodec.decode(&out[..short]), Err(DecodeError::Short));
            }
        }

        #[test]
        fn what_is_read_is_written_the_same(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let bytes = plausible(bytes);
            if let Ok(decoded) = ExpressPassCodec.decode(&bytes) {
                let mut out = [0; HEADER_MAX];
                let length = ExpressPassCodec.encode(&decoded.packet, decoded.link, &mut out);
                prop_assert_eq!(&out[..length], &bytes[..decoded.header_len]);
            }
        }
    }

    #[test]
    fn headers_keep_to_their_sizes() {
        let mut out = [0; HEADER_MAX];
        let link = Link {
            conn: 7,
            tag: 1,
            cookie: 9,
        };
        let mut length = |packet| ExpressPassCodec.encode(&packet, link, &mut out);
        let conn = ConnId(7);
        assert_eq!(length(credit(TO, conn, 1, 84)), 16);
        assert_eq!(
            length(stop(TO, conn, 1, StopReason::AllSent, false, 84)),
            24
        );
        assert_eq!(length(request(TO, conn, 1, 1, true, 84)), 32);
    }

    #[test]
    fn an_echo_finds_its_credit_across_the_wrap() {
        assert_eq!(credits_since(5, 3), 2);
        assert_eq!(credits_since((1 << 22) + 1, ECHO), 2);
        assert_eq!(credits_since(3 << 32, 0), 0);
    }
}
