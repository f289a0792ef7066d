//! Small models of transports that are not here yet. They prove that the contract carries them, and nothing else:
//! one message per connection, and of recovery only what a lossy socket needs.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "shared by tests of several crates; frames and levels are few, and words are masked"
)]

pub mod arbiter;
pub mod hpcc;

use model::wire::{Codec, DecodeError, Decoded, HEADER_MAX, Link, Reader, Writer};
use model::{Class, Packet};
use transports::{Factory, ParamError, Parameter, Transport};

/// Every model's header: what all begin with, words 0 and 1 of the head, and the cookie. Kind 0 is data.
pub struct ModelCodec {
    pub id: u8,
    pub kinds: &'static [&'static str],
    pub payload: fn(&Packet) -> (u64, u16),
}

impl Codec for ModelCodec {
    fn encode(&self, packet: &Packet, link: Link, out: &mut [u8; HEADER_MAX]) -> usize {
        let mut to = Writer::begin(out, packet, link, self.id);
        to.u32(packet.head[0]);
        to.u32(packet.head[1]);
        to.u64(link.cookie);
        to.len()
    }

    fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let mut from = Reader(bytes);
        let (mut packet, mut link) = from.begin(self.id)?;
        (packet.head[0], packet.head[1]) = (from.u32()?, from.u32()?);
        link.cookie = from.u64()?;
        if usize::from(packet.kind()) >= self.kinds.len() {
            return Err(DecodeError::Kind(packet.kind()));
        }
        let class = [Class::Plain, Class::Control][usize::from(packet.kind() > 0)];
        if packet.class() != class {
            return Err(DecodeError::Field("class"));
        }
        let header_len = bytes.len() - from.0.len();
        Ok(Decoded {
            packet,
            link,
            header_len,
        })
    }

    fn payload(&self, packet: &Packet) -> Option<(u64, u16)> {
        let whole = packet.kind() == 0 && !packet.trimmed();
        whole.then(|| (self.payload)(packet))
    }

    fn describe(&self, packet: &Packet) -> String {
        let name = self.kinds.get(usize::from(packet.kind()));
        format!("{} {:x?}", name.unwrap_or(&"?"), packet.head)
    }
}

/// A transport from its name and a function that reads its table.
pub struct Model {
    pub name: &'static str,
    pub codec: &'static dyn Codec,
    pub configure: fn(&toml::Table) -> Box<dyn Factory>,
}

impl Transport for Model {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        "a model of a few dozen lines"
    }
    fn codec(&self) -> &'static dyn Codec {
        self.codec
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok((self.configure)(table))
    }
}

/// Frame `n` of a message of `length` bytes: where it begins and how long it is.
pub fn frame(length: u32, n: u32, full: u16) -> (u32, u16) {
    let start = n * u32::from(full);
    let rest = length.saturating_sub(start).min(full.into());
    (start, u16::try_from(rest).unwrap())
}

/// How many frames a message takes.
pub fn frames(length: u32, full: u16) -> u32 {
    length.div_ceil(full.into()).max(1)
}
