//! Declared headers: every kind with any values, there and back, and every byte of it changed.

use super::{Subject, each};
use model::wire::declared::{Bits, KindOf, Layout};
use model::wire::{Codec, DecodeError, HEADER_MAX, Link};
use model::{ConnId, HostId, Packet, Rng, stream};

/// Packets of each kind that are tried.
const TRIES: u32 = 300;
/// Draws for one packet that means something.
const DRAWS: u32 = 1_000;

/// Every packet that a declared header allows comes back from the wire as it was; cut bytes are refused,
/// and changed ones mean something else or nothing. A codec that was not declared is left alone.
pub fn every_header_comes_back_from_the_wire(subjects: &[Subject]) {
    each(subjects, |subject| {
        let Some(layout) = subject.codec().layout() else {
            return;
        };
        let mut rng = Rng::stream(1, stream::TEST, u64::from(layout.transport));
        for kind in layout.kinds {
            for _ in 0..TRIES {
                there_and_back(layout, kind, &mut rng);
            }
        }
    });
}

fn there_and_back(layout: &Layout, kind: &KindOf, rng: &mut Rng) {
    let packet = any(layout, kind, rng);
    let cookie = if kind.opens { rng.next_u64() } else { 0 };
    let link = Link {
        conn: packet.conn.0,
        tag: 0x0102_0304,
        cookie,
    };
    let mut out = [0; HEADER_MAX];
    let length = layout.encode(&packet, link, &mut out);
    let read = layout.decode(&out[..length]);
    let said = layout.describe(&packet);
    let back = read.unwrap_or_else(|error| panic!("{said}: {error}"));
    assert_eq!((back.packet, back.link), (packet, link), "{said}");
    assert_eq!(back.header_len, length, "{said}");
    assert!(said.starts_with(kind.name), "{said} is a {}", kind.name);
    for short in 0..length {
        let cut = layout.decode(&out[..short]);
        assert_eq!(cut, Err(DecodeError::Short), "{said}, {short} bytes of it");
    }
    for at in 0..length {
        let mut changed = out;
        changed[at] ^= 1 << rng.below(8);
        if let Ok(other) = layout.decode(&changed[..length]) {
            let mut again = [0; HEADER_MAX];
            let length = layout.encode(&other.packet, other.link, &mut again);
            assert_eq!(
                again[..length],
                changed[..length],
                "{said}, byte {at} changed"
            );
        }
    }
}

/// A packet of a kind with any values that are legal together.
fn any(layout: &Layout, kind: &KindOf, rng: &mut Rng) -> Packet {
    for _ in 0..DRAWS {
        let mut bits = Bits::NONE;
        for field in kind.fields {
            let (from, to) = field.at;
            // Borders of a field as often as what lies between.
            let value = match rng.below(4) {
                0 => 0,
                1 => u64::MAX,
                2 => 1,
                _ => rng.next_u64(),
            };
            bits = bits.with(from, to, value & u64::MAX >> (64 - field.width()));
        }
        let class = rng.below(kind.classes.len() as u64);
        let class = kind.classes[usize::try_from(class).expect("a few classes")];
        let number = bits.kind(kind.number);
        let mut packet = Packet::new(HostId(0), ConnId(7), class, number, 0);
        packet.head = bits.head();
        let mut out = [0; HEADER_MAX];
        let link = Link {
            conn: 7,
            tag: 0,
            cookie: 0,
        };
        let length = layout.encode(&packet, link, &mut out);
        if layout.decode(&out[..length]).is_ok() {
            return packet;
        }
    }
    panic!("no {} with any values means anything", kind.name);
}
