//! The five kinds of packet: how they sit in a packet's head and on a wire.

use model::wire::{Codec, DecodeError, Decoded, HEADER_MAX, Link, Reader, Writer};
use model::{Class, ConnId, Encap, HostId, Lifetime, Packet};

/// The number of this transport in the header. [ours: numbers from 128 on are for
/// transports outside tidegate; both ends of a wire must agree]
const TRANSPORT_ID: u8 = 200;
/// Positions in a stream have 48 bits.
pub(super) const POSITION_MAX: u64 = (1 << 48) - 1;
/// Largest payload: leaves room for any frame overhead in a 16-bit frame size. [ours]
pub(super) const PAYLOAD_MAX: u16 = u16::MAX - 1024;

/// Kinds, in the low four bits.
const OPEN: u8 = 1;
const ACCEPT: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;
const RESET: u8 = 5;
const KIND: u8 = 0x0f;

/// Flags, in the high four bits.
const OPEN_ONE_SHOT: u8 = 0x10;
const OPEN_EXCHANGE: u8 = 0x20;
const DATA_END: u8 = 0x10;
const DATA_ONE_SHOT: u8 = 0x20;
const ACK_GAP: u8 = 0x10;

/// Tells one life of a connection from another under the same number; 0 where there is none yet.
pub(super) type Token = u16;

/// A packet's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Opens a connection.
    Open {
        /// What it carries before it ends.
        lifetime: Lifetime,
    },
    /// Accepts it, and gives it a token that everything else repeats.
    Accept {
        token: Token,
    },
    Data(Data),
    Ack(Ack),
    /// This end does not know that life of the connection; with token 0 it does not want to.
    Reset {
        token: Token,
    },
}

/// A piece of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) token: Token,
    /// Which message of this direction, the low 16 bits.
    pub(super) ordinal: u16,
    /// Where it begins in the stream, in bytes.
    pub(super) offset: u64,
    /// Payload in bytes.
    pub(super) length: u16,
    /// The message ends with this packet.
    pub(super) end: bool,
    /// The connection ends with this message.
    pub(super) one_shot: bool,
}

/// What the receiver wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    pub(super) token: Token,
    /// A byte of this message, the low 16 bits of its number; all before it are complete.
    pub(super) ordinal: u16,
    /// The byte at this position of the stream.
    pub(super) offset: u64,
    /// Something behind it has arrived.
    pub(super) gap: bool,
}

const fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

/// A position and 16 bits more, as two words.
#[allow(clippy::cast_possible_truncation, reason = "the parts of 48 bits")]
const fn split(position: u64, low: u16) -> [u32; 2] {
    [
        position as u32,
        ((position >> 32) as u32) << 16 | low as u32,
    ]
}

/// The same read back.
#[allow(clippy::cast_possible_truncation, reason = "the low 16 bits are meant")]
const fn join(a: u32, b: u32) -> (u64, u16) {
    (a as u64 | ((b >> 16) as u64) << 32, b as u16)
}

/// Two halves of a word: message and token.
#[allow(clippy::cast_possible_truncation, reason = "the low 16 bits are meant")]
const fn halves(word: u32) -> (u16, Token) {
    ((word >> 16) as u16, word as u16)
}

impl Head {
    /// What `packet` says; `None` where no packet of ours looks like that.
    pub(super) fn read(packet: &Packet) -> Option<Self> {
        let [a, b, c] = packet.head;
        let (flags, (ordinal, token)) = (packet.kind() & !KIND, halves(c));
        let known = |bits: u8| flags & !bits == 0;
        match packet.kind() & KIND {
            OPEN if packet.head == [0; 3] => {
                let lifetime = match flags {
                    0 => Lifetime::Persistent,
                    OPEN_ONE_SHOT => Lifetime::OneMessage,
                    OPEN_EXCHANGE => Lifetime::Exchange,
                    _ => return None,
                };
                Some(Self::Open { lifetime })
            }
            ACCEPT if known(0) && (b, c) == (0, 0) => Some(Self::Accept {
                token: Token::try_from(a).ok().filter(|&token| token != 0)?,
            }),
            DATA if known(DATA_END | DATA_ONE_SHOT) => {
                let ((offset, length), end) = (join(a, b), flags & DATA_END != 0);
                // An empty frame has no other use than to end a message.
                let sound = (length > 0 || end)
                    && length <= PAYLOAD_MAX
                    && offset + u64::from(length) <= POSITION_MAX;
                sound.then_some(Self::Data(Data {
                    token,
                    ordinal,
                    offset,
                    length,
                    end,
                    one_shot: flags & DATA_ONE_SHOT != 0,
                }))
            }
            ACK if known(ACK_GAP) && join(a, b).1 == 0 => Some(Self::Ack(Ack {
                token,
                ordinal,
                offset: join(a, b).0,
                gap: flags != 0,
            })),
            RESET if known(0) && (b, c) == (0, 0) => Some(Self::Reset {
                token: Token::try_from(a).ok()?,
            }),
            _ => None,
        }
    }

    /// A packet that says it.
    pub(super) fn packet(self, to: HostId, conn: ConnId, encap: Encap) -> Packet {
        let (kind, head, payload) = match self {
            Self::Open { lifetime } => {
                let flags = match lifetime {
                    Lifetime::Persistent => 0,
                    Lifetime::OneMessage => OPEN_ONE_SHOT,
                    Lifetime::Exchange => OPEN_EXCHANGE,
                };
                (OPEN | flags, [0; 3], None)
            }
            Self::Accept { token } => (ACCEPT, [token.into(), 0, 0], None),
            Self::Data(data) => {
                let flags = flag(data.end, DATA_END) | flag(data.one_shot, DATA_ONE_SHOT);
                let [a, b] = split(data.offset, data.length);
                let c = u32::from(data.ordinal) << 16 | u32::from(data.token);
                (DATA | flags, [a, b, c], Some(data.length))
            }
            Self::Ack(ack) => {
                let [a, b] = split(ack.offset, 0);
                let c = u32::from(ack.ordinal) << 16 | u32::from(ack.token);
                (ACK | flag(ack.gap, ACK_GAP), [a, b, c], None)
            }
            Self::Reset { token } => (RESET, [token.into(), 0, 0], None),
        };
        let class = if payload.is_some() {
            Class::Plain
        } else {
            Class::Control
        };
        let mut packet = Packet::new(to, conn, class, kind, encap.wire(payload.unwrap_or(0)));
        packet.head = head;
        packet
    }
}

/// The codec: what every header begins with, words 0 and 1 of the head, and in OPEN and ACCEPT the
/// cookie of 8 bytes.
pub(super) struct WindowCodec;

/// Whether packets of this kind may be the first of a connection to arrive.
const fn opens(kind: u8) -> bool {
    matches!(kind & KIND, OPEN | ACCEPT)
}

impl Codec for WindowCodec {
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
        let kind = packet.kind() & KIND;
        if !(OPEN..=RESET).contains(&kind) {
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
        if Head::read(&packet).is_none() {
            return Err(DecodeError::Field("flags, offset or length"));
        }
        if opens(kind) {
            link.cookie = reader.u64()?;
        }
        Ok(Decoded {
            packet,
            link,
            header_len: bytes.len() - reader.0.len(),
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        match Head::read(packet) {
            Some(Head::Data(data)) => Some((data.offset, data.length)),
            _ => None,
        }
    }

    fn describe(&self, packet: &Packet) -> String {
        match Head::read(packet) {
            Some(Head::Open { lifetime }) => match lifetime {
                Lifetime::Persistent => "OPEN".to_owned(),
                Lifetime::OneMessage => "OPEN one message".to_owned(),
                Lifetime::Exchange => "OPEN one message each way".to_owned(),
            },
            Some(Head::Accept { .. }) => "ACCEPT".to_owned(),
            Some(Head::Data(data)) => {
                let end = if data.end { " end" } else { "" };
                format!("DATA {}:{}+{}{end}", data.ordinal, data.offset, data.length)
            }
            Some(Head::Ack(ack)) => {
                let gap = if ack.gap { " gap" } else { "" };
                format!("ACK {}:{}{gap}", ack.ordinal, ack.offset)
            }
            Some(Head::Reset { .. }) => "RESET".to_owned(),
            None => format!("? {packet:?}"),
        }
    }
}
