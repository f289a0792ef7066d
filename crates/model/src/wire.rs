//! Primitives of the wire codec: reading and writing big-endian fields without panics.

pub mod declared;
mod envelope;

pub use envelope::{Below, ENVELOPE_LEN, Envelope, SHARED_AT, ecn, flow};

use crate::{Class, Packet};
use std::fmt;

/// Version of the header that this codec writes and the only one it reads: 1 since every header
/// begins with an [`Envelope`].
pub const VERSION: u8 = 1;
/// A credit must fit this many bytes after UDP to stay a minimum-size frame.
pub const CREDIT_MAX: usize = 18;
/// Ethernet, IPv6, UDP, header and tag: what must survive trimming.
pub const TRIM_MAX: usize = 110;

/// Turns a transport's packets into bytes and back. One per transport, without state.
pub trait Codec: Sync {
    /// Writes the header of `packet` into `out` and returns its length. The payload follows it. It
    /// starts with [`Writer::begin`], so that switches can read it.
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize;

    /// Reads a header. Everything is checked; what is returned may be handed to `on_packet` as it
    /// is. The destination is not on the wire: the driver sets it.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError>;

    /// The part of the connection's stream that `packet` carries: offset and length in bytes.
    fn payload(&self, packet: &Packet) -> Option<(u64, u16)>;

    /// Whether `word`, a credit or another packet that had come in, released `data`; `None` where the packets do
    /// not say. A transport without a window says `false`: its data waits for nothing.
    fn answers(&self, data: &Packet, word: &Packet) -> Option<bool> {
        let _ = (data, word);
        None
    }

    /// Whether `word` lets data leave: a credit, or what stands for one that was lost.
    fn releases(&self, word: &Packet) -> bool {
        word.class() == Class::Credit
    }

    /// Whether `packet`, which carries no data, says what `before` said.
    fn repeats(&self, packet: &Packet, before: &Packet) -> bool {
        packet.kind() == before.kind() && packet.head == before.head
    }

    /// The connection that `packet` is about, where it travels on another: the one of a host with its arbiter.
    fn about(&self, packet: &Packet) -> Option<u32> {
        let _ = packet;
        None
    }

    /// Whether a credit is for a moment of its own, and not for the one when it comes: the time until then is a wait
    /// for the credit, too.
    fn is_timed(&self) -> bool {
        false
    }

    /// Whether credits are counted, and one that comes when nothing waits for it is kept: what leaves by it later has waited
    /// for something else.
    fn is_counted(&self) -> bool {
        false
    }

    /// A short name of the packet's kind, for ladders and dissectors.
    fn describe(&self, packet: &Packet) -> String;

    /// The declaration that it was made of, where it was: for documents, dissectors and tests.
    fn layout(&self) -> Option<&declared::Layout> {
        None
    }
}

/// Longest header of any transport.
pub const HEADER_MAX: usize = 64;

/// What the driver adds to each header of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The number under which the *other* end knows the connection.
    pub conn: u32,
    /// Says that the packet comes from a process that has seen the other's packets: both know it
    /// from their greeting, and every packet carries it.
    pub tag: u32,
    /// Proof that this end has seen the other's packets; 0 before that. What opens a connection
    /// carries it.
    pub cookie: u64,
}

/// A header that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The packet, its destination left at host 0.
    pub packet: Packet,
    /// The driver's own part.
    pub link: Link,
    /// Where the payload starts.
    pub header_len: usize,
}

/// Why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer bytes than the header needs.
    Short,
    /// A version that we do not speak.
    Version(u8),
    /// A kind that this transport does not have.
    Kind(u8),
    /// A field out of its range.
    Field(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("too short for its header"),
            Self::Version(v) => write!(f, "version {v}; this end speaks {VERSION}"),
            Self::Kind(k) => write!(f, "unknown kind {k}"),
            Self::Field(name) => write!(f, "{name} is out of range"),
        }
    }
}
impl std::error::Error for DecodeError {}

/// Reads big-endian fields from the front of a slice.
pub struct Reader<'a>(pub &'a [u8]);

macro_rules! read {
    ($($name:ident: $t:ty),*) => {$(
        /// The next big-endian field.
        ///
        /// # Errors
        /// [`DecodeError::Short`] where the bytes end.
        pub fn $name(&mut self) -> Result<$t, DecodeError> {
            let (field, rest) = self.0.split_first_chunk().ok_or(DecodeError::Short)?;
            self.0 = rest;
            Ok(<$t>::from_be_bytes(*field))
        }
    )*};
}
impl Reader<'_> {
    read!(u8: u8, u16: u16, u32: u32, u64: u64);
}

/// Writes big-endian fields to the front of a fixed buffer.
pub struct Writer<'a> {
    out: &'a mut [u8; HEADER_MAX],
    len: usize,
}

macro_rules! write_be {
    ($($name:ident: $t:ty),*) => {$(
        /// Appends a big-endian field.
        pub fn $name(&mut self, value: $t) {
            let bytes = value.to_be_bytes();
            self.out[self.len..self.len + bytes.len()].copy_from_slice(&bytes);
            self.len += bytes.len();
        }
    )*};
}
impl<'a> Writer<'a> {
    /// Starts at the front of `out`.
    pub fn new(out: &'a mut [u8; HEADER_MAX]) -> Self {
        Self { out, len: 0 }
    }
    write_be!(u8: u8, u16: u16, u32: u32, u64: u64);
    /// Bytes written.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
