//! What switches drop first, as parameters: who is dropped, from which queue on, and how it is known.
//! [aeolus s4.1]

use crate::forms::{Form as _, Own, Size, Written};
use model::Encap;
use model::intent::{DropBy, DropMeasure};
use toml::Value;
use units::Bytes;

/// A length of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// So many bytes on the wire.
    Bytes(u64),
    /// So many full frames, whatever their size.
    Frames(u16),
}

impl Threshold {
    /// It in wire bytes.
    pub fn bytes(self, encap: Encap) -> Bytes {
        Bytes(match self {
            Self::Bytes(bytes) => bytes,
            Self::Frames(frames) => u64::from(frames) * u64::from(encap.wire_max()),
        })
    }
}

/// Largest threshold: 1 GB. [ours]
const SIZE_MAX: u64 = 1_000_000_000;
/// Behind a number of full frames.
const FRAMES: &str = " frames";

/// A [`Threshold`] as a parameter.
pub const THRESHOLD: Own<Threshold> = Own(
    "a size up to \"1GB\", or full frames like \"4 frames\"",
    &[Written::Size, Written::Counted(FRAMES)],
    threshold,
    |threshold| {
        Value::from(match threshold {
            Threshold::Bytes(bytes) => Bytes(*bytes).to_string(),
            Threshold::Frames(frames) => format!("{frames}{FRAMES}"),
        })
    },
);

fn threshold(value: &Value) -> Result<Threshold, String> {
    let frames = value.as_str().and_then(|text| text.strip_suffix(FRAMES));
    match frames.map(str::parse) {
        None => match Size(0, SIZE_MAX).read(value) {
            Ok(bytes) => Ok(Threshold::Bytes(bytes)),
            Err(why) => Err(format!("{why}, or full frames like \"4{FRAMES}\"")),
        },
        Some(Ok(frames)) => Ok(Threshold::Frames(frames)),
        Some(Err(_)) => Err(format!(
            "{value} is no number of frames; write it like \"4{FRAMES}\""
        )),
    }
}

/// What switches may compare with the threshold.
pub const MEASURES: [(&str, DropMeasure); 4] = [
    ("queue", DropMeasure::Queue),
    ("queue_and_packet", DropMeasure::QueueAndPacket),
    ("victim_only", DropMeasure::VictimOnly),
    ("port", DropMeasure::Port),
];

/// How switches may tell the victim apart.
pub const TELLS: [(&str, DropBy); 2] = [("class", DropBy::Class), ("ecn", DropBy::Ecn)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_full_ones_on_the_wire() {
        let bytes = |value: &str| threshold(&value.into()).map(|read| read.bytes(Encap::PAPER));
        assert_eq!(bytes("6KB"), Ok(Bytes(6_000)));
        assert_eq!(bytes("4 frames"), Ok(Bytes(4 * 1_538)));
        assert_eq!(bytes("0 frames"), Ok(Bytes(0)));
        for wrong in ["-1 frames", "2GB", "1 frame", "4 Frames"] {
            let why = bytes(wrong).unwrap_err();
            assert!(why.contains("like \"4 frames\""), "{why}");
        }
    }
}
