//! What the declaration of a header says to those who know no transport.
#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use model::wire::Codec;
use model::{ConnId, HostId, Packet};

/// Fields by their names alone.
mod named {
    model::header! {
        pub(super) static CODEC: "Named" = 200;
        /// Slots.
        Slots = 1 "SLOTS" Credit {
            flow: u32 = 0..32 "bytes of a flow";
            slot: u16 = 32..46 "a slot of a table";
            late: bool = 96..97 "it is late";
        }
    }
}

/// The same with their roles.
mod told {
    model::header! {
        pub(super) static CODEC: "Told" = 201;
        /// Slots.
        Slots = 1 "SLOTS" Credit {
            of: u32 = 0..32 "the connection at its sender", connection;
            first: u16 = 32..46 "the first slot", moment;
            upto: u16 = 48..64 "slots so far", count;
            hurry: bool = 96..97 "the slots before were over", aside;
        }
    }
}

#[test]
fn a_field_means_to_others_what_it_is_declared_as_whatever_its_name() {
    let named = |flow, slot, late| -> Packet {
        named::Slots { flow, slot, late }.packet(HostId(1), ConnId(2), 84)
    };
    let told = |of, first, hurry| -> Packet {
        told::Slots {
            of,
            first,
            upto: 9,
            hurry,
        }
        .packet(HostId(1), ConnId(2), 84)
    };
    let one = named(7, 3, false);
    assert_eq!(named::CODEC.about(&one), None);
    assert!(!named::CODEC.is_timed() && !named::CODEC.is_counted());
    assert!(named::CODEC.repeats(&one, &named(7, 3, false)));
    assert!(!named::CODEC.repeats(&one, &named(7, 3, true)));
    let one = told(7, 3, false);
    assert_eq!(told::CODEC.about(&one), Some(7));
    assert!(told::CODEC.is_timed() && told::CODEC.is_counted());
    assert!(told::CODEC.repeats(&one, &told(7, 3, true)));
    assert!(!told::CODEC.repeats(&one, &told(7, 4, false)));
}
