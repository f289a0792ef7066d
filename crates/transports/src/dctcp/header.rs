//! The five kinds of packet: how they sit in a packet's head and on a wire.
//!
//! Sequence numbers count payload bytes, as TCP's do. A frame without payload, which is how an
//! empty message travels, takes one number so that it can be acknowledged, as SYN and FIN do.
//! A number is therefore the stream offset plus the empty frames before it, the *gaps*.

use model::wire::{Codec, DecodeError, Decoded, HEADER_MAX, Link, Reader, Writer};
use model::{Class, ConnId, Ecn, Encap, HostId, Lifetime, Packet};
use std::fmt::Write as _;

/// The number of this transport in the header. [ours]
pub(super) const TRANSPORT_ID: u8 = 2;
/// Sequence numbers and offsets have 48 bits.
pub(super) const SEQ_MAX: u64 = (1 << 48) - 1;
/// A selective block starts and reaches at most this far behind the cumulative number.
pub(super) const BLOCK_MAX: u64 = (1 << 24) - 1;
/// Largest payload: leaves room for any frame overhead in a 16-bit frame size. [ours]
pub(super) const PAYLOAD_MAX: u16 = u16::MAX - 1024;

/// Kinds, in the low four bits.
const SYN: u8 = 1;
const SYN_ACK: u8 = 2;
pub(super) const DATA: u8 = 3;
pub(super) const ACK: u8 = 4;
const RESET: u8 = 5;
const KIND: u8 = 0x0f;

/// Flags, in the high four bits.
const SYN_ONE_SHOT: u8 = 0x10;
const SYN_EXCHANGE: u8 = 0x20;
const ACK_ECHO: u8 = 0x10;
const ACK_DONE: u8 = 0x20;
const RESET_DATA: u8 = 0x10;

/// The kind of `packet`, one of five or nonsense.
#[inline]
pub(super) const fn kind(packet: &Packet) -> u8 {
    packet.kind() & KIND
}

/// A packet's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Syn(Syn),
    SynAck(SynAck),
    Data(Data),
    Ack(Ack),
    Reset(Reset),
}

/// Opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syn {
    /// Tells this opening from an earlier one under the same number, as TCP's first sequence
    /// number does.
    pub(super) incarnation: u32,
    /// What the connection carries before it ends.
    pub(super) lifetime: Lifetime,
}

/// Accepts a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SynAck {
    /// That of the SYN.
    pub(super) incarnation: u32,
}

/// A piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// Stream offset of the payload in bytes, 48 bits.
    pub(super) offset: u64,
    /// Empty frames before this one, the low 24 bits.
    pub(super) gaps: u32,
    /// Payload in bytes.
    pub(super) length: u16,
    /// [`Data::END`], [`Data::AGAIN`], [`Data::ONE_SHOT`].
    pub(super) flags: u8,
}

impl Data {
    /// A message ends with this packet.
    pub(super) const END: u8 = 0x10;
    /// It was sent before.
    pub(super) const AGAIN: u8 = 0x20;
    /// The connection ends with this message, so a receiver that does not know it has had it all.
    pub(super) const ONE_SHOT: u8 = 0x40;
    /// Bits of `gaps` that travel.
    pub(super) const GAPS: u32 = (1 << 24) - 1;

    /// Sequence numbers that it takes.
    #[inline]
    pub(super) const fn span(&self) -> u64 {
        if self.length == 0 {
            1
        } else {
            self.length as u64
        }
    }
    /// Whether a message ends with it.
    #[inline]
    pub(super) const fn end(&self) -> bool {
        self.flags & Self::END != 0
    }

    /// Reads it from a packet of its kind; `None` where no sender of ours would send that.
    #[inline]
    pub(super) fn read(packet: &Packet) -> Option<Self> {
        let (flags, [a, b, c]) = (packet.kind() & !KIND, packet.head);
        #[allow(clippy::cast_possible_truncation, reason = "masked to 16 bits")]
        let length = (b & 0xffff) as u16;
        let data = Self {
            offset: wide(a, b >> 16),
            gaps: c >> 8,
            length,
            flags,
        };
        // An empty frame has no other use than to end a message.
        let sound = flags & !(Self::END | Self::AGAIN | Self::ONE_SHOT) == 0
            && (length > 0 || data.end())
            && length <= PAYLOAD_MAX
            && data.offset + data.span() <= SEQ_MAX;
        sound.then_some(data)
    }

    /// A packet that carries it, `size` bytes long on the wire.
    #[inline]
    pub(super) fn packet(self, to: HostId, conn: ConnId, size: u16) -> Packet {
        let mut packet = Packet::new(to, conn, Class::Plain, DATA | self.flags, size);
        let middle = high16(self.offset) << 16 | u32::from(self.length);
        // The low byte of word 2 is left to the choice of a path.
        packet.head = [low(self.offset), middle, self.gaps << 8];
        packet
    }
}

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    /// The next sequence number that is expected.
    pub(super) cumulative: u64,
    /// Start and end of one block that arrived beyond it.
    pub(super) block: Option<(u64, u64)>,
    /// The packets that this acknowledges were marked. [RFC 8257 s3.2]
    pub(super) echo: bool,
    /// The one message has arrived whole and the receiver has forgotten the connection.
    pub(super) done: bool,
}

impl Ack {
    /// Reads it from a packet of its kind; `None` where no receiver of ours would send that.
    #[inline]
    pub(super) fn read(packet: &Packet) -> Option<Self> {
        let (flags, [a, b, c]) = (packet.kind() & !KIND, packet.head);
        let cumulative = wide(a, b >> 16);
        let (echo, done) = (flags & ACK_ECHO != 0, flags & ACK_DONE != 0);
        let known = flags & !(ACK_ECHO | ACK_DONE) == 0;
        let delta = u64::from((b & 0xffff) << 8 | c >> 24);
        let length = u64::from(c & 0x00ff_ffff);
        if delta == 0 && length == 0 {
            return known.then_some(Self {
                cumulative,
                block: None,
                echo,
                done,
            });
        }
        let start = cumulative + delta;
        let sound = known && delta > 0 && length > 0 && start + length <= SEQ_MAX;
        let block = Some((start, start + length));
        sound.then_some(Self {
            cumulative,
            block,
            echo,
            done,
        })
    }

    /// A packet that carries it, `size` bytes long on the wire.
    #[inline]
    pub(super) fn packet(self, to: HostId, conn: ConnId, size: u16) -> Packet {
        let flags = if self.echo { ACK_ECHO } else { 0 } | if self.done { ACK_DONE } else { 0 };
        let mut packet = Packet::new(to, conn, Class::Control, ACK | flags, size);
        let (delta, length) = match self.block {
            None => (0, 0),
            Some((start, end)) => (low(start - self.cumulative), low(end - start)),
        };
        let middle = high16(self.cumulative) << 16 | delta >> 8;
        packet.head = [low(self.cumulative), middle, delta << 24 | length];
        packet
    }
}

/// The other end knows nothing of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reset {
    /// The answer to a SYN or SYN-ACK of this incarnation.
    Opening(u32),
    /// The answer to data at this offset.
    Data(u64),
}

#[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
const fn low(n: u64) -> u32 {
    n as u32
}
#[allow(clippy::cast_possible_truncation, reason = "callers keep n below 2^48")]
const fn high16(n: u64) -> u32 {
    (n >> 32) as u32
}
const fn wide(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Head {
    /// What `packet` says; `None` where no packet of ours looks like that.
    pub(super) fn read(packet: &Packet) -> Option<Self> {
        let (kind, [a, b, c]) = (packet.kind(), packet.head);
        let flags = kind & !KIND;
        match kind & KIND {
            DATA => Data::read(packet).map(Self::Data),
            ACK => Ack::read(packet).map(Self::Ack),
            SYN if b == 0 && c == 0 => {
                let lifetime = match flags {
                    0 => Lifetime::Persistent,
                    SYN_ONE_SHOT => Lifetime::OneMessage,
                    SYN_EXCHANGE => Lifetime::Exchange,
                    _ => return None,
                };
                Some(Self::Syn(Syn {
                    incarnation: a,
                    lifetime,
                }))
            }
            SYN_ACK if b == 0 && c == 0 && flags == 0 => {
                Some(Self::SynAck(SynAck { incarnation: a }))
            }
            RESET if flags == 0 && b == 0 && c == 0 => Some(Self::Reset(Reset::Opening(a))),
            RESET if flags == RESET_DATA && b.trailing_zeros() >= 16 && c == 0 => {
                Some(Self::Reset(Reset::Data(wide(a, b >> 16))))
            }
            _ => None,
        }
    }

    /// A packet that says it.
    pub(super) fn packet(self, to: HostId, conn: ConnId, encap: Encap) -> Packet {
        let (kind, head) = match self {
            Self::Data(data) => return data.packet(to, conn, encap.wire(data.length)),
            Self::Ack(ack) => return ack.packet(to, conn, encap.wire(0)),
            Self::Syn(syn) => (
                SYN | match syn.lifetime {
                    Lifetime::Persistent => 0,
                    Lifetime::OneMessage => SYN_ONE_SHOT,
                    Lifetime::Exchange => SYN_EXCHANGE,
                },
                [syn.incarnation, 0, 0],
            ),
            Self::SynAck(accept) => (SYN_ACK, [accept.incarnation, 0, 0]),
            Self::Reset(Reset::Opening(incarnation)) => (RESET, [incarnation, 0, 0]),
            Self::Reset(Reset::Data(offset)) => {
                (RESET | RESET_DATA, [low(offset), high16(offset) << 16, 0])
            }
        };
        let mut packet = Packet::new(to, conn, Class::Control, kind, encap.wire(0));
        packet.head = head;
        packet
    }
}

/// The codec: what every header begins with, words 0 and 1 of the head, and in SYN and SYN-ACK the
/// cookie of 8 bytes.
pub(super) struct DctcpCodec;

/// Bytes of the headers without a cookie.
#[cfg(test)]
const HEADER_LEN: usize = 24;

/// Whether packets of this kind may be the first of a connection to arrive.
const fn opens(kind: u8) -> bool {
    matches!(kind & KIND, SYN | SYN_ACK)
}

impl Codec for DctcpCodec {
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize {
        let mut writer = Writer::begin(out, packet, link, TRANSPORT_ID);
        writer.u32(packet.head[0]);
        writer.u32(packet.head[1]);
        if opens(packet.kind()) {
            writer.u64(link.cookie);
        }
        writer.len()
    }

    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let mut reader = Reader(bytes);
        let (mut packet, mut link) = reader.begin(TRANSPORT_ID)?;
        let kind = kind(&packet);
        if !(SYN..=RESET).contains(&kind) {
            return Err(DecodeError::Kind(kind));
        }
        let class = if kind == DATA {
            Class::Plain
        } else {
            Class::Control
        };
        if packet.class() != class {
            return Err(DecodeError::Field("class"));
        }
        (packet.head[0], packet.head[1]) = (reader.u32()?, reader.u32()?);
        let Some(head) = Head::read(&packet) else {
            return Err(DecodeError::Field("flags, offset or length"));
        };
        if opens(kind) {
            link.cookie = reader.u64()?;
        }
        packet.size = match head {
            Head::Data(data) => Encap::UDP.wire(data.length),
            _ => Encap::UDP.wire(0),
        };
        if kind == DATA {
            packet.set_ecn(Ecn::Capable0);
        }
        Ok(Decoded {
            packet,
            link,
            header_len: bytes.len() - reader.0.len(),
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        match Head::read(packet)? {
            Head::Data(data) => Some((data.offset, data.length)),
            Head::Syn(_) | Head::SynAck(_) | Head::Ack(_) | Head::Reset(_) => None,
        }
    }

    fn describe(&self, packet: &Packet) -> String {
        let mut text = String::new();
        let written = match Head::read(packet) {
            Some(Head::Syn(syn)) => {
                let carries = match syn.lifetime {
                    Lifetime::Persistent => "",
                    Lifetime::OneMessage => " one message",
                    Lifetime::Exchange => " one message each way",
                };
                write!(text, "SYN{carries}")
            }
            Some(Head::SynAck(_)) => write!(text, "SYN-ACK"),
            Some(Head::Data(data)) => {
                let end = if data.end() { " end" } else { "" };
                let again = if data.flags & Data::AGAIN != 0 {
                    " again"
                } else {
                    ""
                };
                write!(text, "DATA {}+{}{end}{again}", data.offset, data.length)
            }
            Some(Head::Ack(ack)) => {
                let block = ack
                    .block
                    .map_or_else(String::new, |(from, to)| format!(" sack {from}..{to}"));
                let echo = if ack.echo { " echo" } else { "" };
                let done = if ack.done { " done" } else { "" };
                write!(text, "ACK {}{block}{echo}{done}", ack.cumulative)
            }
            Some(Head::Reset(Reset::Opening(_))) => write!(text, "RESET"),
            Some(Head::Reset(Reset::Data(offset))) => write!(text, "RESET at {offset}"),
            None => write!(text, "nonsense {:#x}", packet.kind()),
        };
        written.expect("a String takes everything");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wire::VERSION;
    use proptest::prelude::*;

    fn packet(head: Head) -> Packet {
        head.packet(HostId(0), ConnId(9), Encap::UDP)
    }

    fn heads() -> impl Strategy<Value = Head> {
        let seq = 0..SEQ_MAX - 2 * BLOCK_MAX;
        let data = (seq.clone(), 0..=PAYLOAD_MAX, 0..=Data::GAPS, 0..8u8).prop_map(
            |(offset, length, gaps, flags)| {
                let flags = flags << 4 | if length == 0 { Data::END } else { 0 };
                Head::Data(Data {
                    offset,
                    gaps,
                    length,
                    flags,
                })
            },
        );
        let block = proptest::option::of((1..=BLOCK_MAX, 1..=BLOCK_MAX));
        let ack = (seq.clone(), block, any::<[bool; 2]>()).prop_map(
            |(cumulative, block, [echo, done])| {
                let block =
                    block.map(|(delta, length)| (cumulative + delta, cumulative + delta + length));
                Head::Ack(Ack {
                    cumulative,
                    block,
                    echo,
                    done,
                })
            },
        );
        prop_oneof![
            data,
            ack,
            (any::<u32>(), 0..3usize).prop_map(|(incarnation, n)| {
                let all = [
                    Lifetime::Persistent,
                    Lifetime::OneMessage,
                    Lifetime::Exchange,
                ];
                let lifetime = all[n];
                Head::Syn(Syn {
                    incarnation,
                    lifetime,
                })
            }),
            any::<u32>().prop_map(|incarnation| Head::SynAck(SynAck { incarnation })),
            any::<u32>().prop_map(|incarnation| Head::Reset(Reset::Opening(incarnation))),
            seq.prop_map(|offset| Head::Reset(Reset::Data(offset))),
        ]
    }

    proptest! {
        #[test]
        fn every_head_survives_packet_and_wire(head in heads(), tag: u32, cookie: u64) {
            let sent = packet(head);
            prop_assert_eq!(Head::read(&sent), Some(head));
            let link = Link { conn: sent.conn.0, tag, cookie };
            let mut bytes = [0xaa; HEADER_MAX];
            let length = DctcpCodec.encode(&sent, link, &mut bytes);
            let carries_cookie = matches!(head, Head::Syn(_) | Head::SynAck(_));
            prop_assert_eq!(length, HEADER_LEN + if carries_cookie { 8 } else { 0 });
            let back = DctcpCodec.decode(&bytes[..length]).unwrap();
            prop_assert_eq!(Head::read(&back.packet), Some(head));
            prop_assert_eq!((back.packet.class(), back.packet.size), (sent.class(), sent.size));
            let expected = Link { cookie: if carries_cookie { cookie } else { 0 }, ..link };
            prop_assert_eq!(back.link, expected);
        }

        #[test]
        fn bytes_that_decode_mean_something(bytes in proptest::collection::vec(any::<u8>(), 4..40)) {
            let mut bytes = bytes;
            (bytes[0], bytes[2]) = (bytes[0] & 0x03 | VERSION << 4, TRANSPORT_ID);
            if let Ok(decoded) = DctcpCodec.decode(&bytes) {
                prop_assert!(Head::read(&decoded.packet).is_some());
                prop_assert!(!DctcpCodec.describe(&decoded.packet).starts_with("nonsense"));
            }
        }
    }

    #[test]
    fn what_no_sender_of_ours_says_is_refused() {
        let mut bytes = [0; HEADER_MAX];
        let data = Data {
            offset: 0,
            gaps: 0,
            length: 100,
            flags: Data::END,
        };
        let link = Link {
            conn: 9,
            tag: 0,
            cookie: 0,
        };
        let length = DctcpCodec.encode(&packet(Head::Data(data)), link, &mut bytes);
        let refused = |at: usize, value: u8| {
            let mut wrong = bytes;
            wrong[at] = value;
            DctcpCodec.decode(&wrong[..length]).unwrap_err()
        };
        assert_eq!(refused(0, 0x23), DecodeError::Version(2));
        assert_eq!(refused(3, 0x0f), DecodeError::Kind(15));
        assert_eq!(
            refused(3, 0x93),
            DecodeError::Field("flags, offset or length")
        );
        assert_eq!(refused(1, 0), DecodeError::Field("class"));
        assert_eq!(refused(2, 77), DecodeError::Field("transport"));
        assert_eq!(
            DctcpCodec.decode(&bytes[..length - 1]),
            Err(DecodeError::Short)
        );
        let empty = Data {
            length: 0,
            flags: 0,
            ..data
        };
        assert_eq!(
            Head::read(&packet(Head::Data(empty))),
            None,
            "an empty frame ends nothing"
        );
    }
}
