//! Every kind of packet as bytes: what two versions of this transport must agree on.

use super::*;
use crate::dctcp::header::{Ack, Data, Reset, SynAck};
use model::wire::{Codec as _, HEADER_MAX, Link};
use std::fmt::Write as _;

#[test]
fn packets_are_on_the_wire_what_they_have_always_been() {
    let conn = ConnId(0x0203_0405);
    let (offset, incarnation) = (0x1122_3344_5566, 0x0a0b_0c0d);
    let data = |length, end, again, one_shot| {
        let data = Data {
            offset,
            gaps: 0xab_cdef,
            length,
            one_shot,
            again,
            end,
        };
        data.packet(A, conn, 84)
    };
    let ack = |block, echo, done| {
        let ack = Ack {
            done,
            echo,
            ..Ack::new(offset, block)
        };
        ack.packet(A, conn, 84)
    };
    let syn = |lifetime| {
        let syn = Syn {
            incarnation,
            lifetime,
        };
        syn.packet(A, conn, 84)
    };
    let reset = |about, of_data| Reset { about, of_data }.packet(A, conn, 84);
    let block = (offset + 0x12_3456, offset + 0x12_3456 + 0x98_7654);
    let packets = [
        syn(Lifetime::Persistent),
        syn(Lifetime::OneMessage),
        syn(Lifetime::Exchange),
        SynAck { incarnation }.packet(A, conn, 84),
        data(1460, false, false, false),
        data(0, true, false, false),
        data(1, false, true, false),
        data(9000, false, false, true),
        ack(None, false, false),
        ack(Some(block), true, false),
        ack(None, false, true),
        reset(incarnation.into(), false),
        reset(offset, true),
    ];
    let link = Link {
        conn: conn.0,
        tag: 0xaaaa_bbbb,
        cookie: 0x0123_4567_89ab_cdef,
    };
    let mut text = String::new();
    for packet in packets {
        let mut out = [0; HEADER_MAX];
        let length = header::CODEC.encode(&packet, link, &mut out);
        for word in out[..length].chunks(4) {
            for byte in word {
                let _ = write!(text, "{byte:02x}");
            }
            text.push(' ');
        }
        let _ = writeln!(text, "{}", header::CODEC.describe(&packet));
    }
    insta::assert_snapshot!("wire", text);
}
