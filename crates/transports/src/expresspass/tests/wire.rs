//! Every kind of packet as bytes: what two versions of this transport must agree on.

use super::*;
use crate::expresspass::header::{Data, Kind};
use model::wire::{DecodeError, HEADER_MAX, Link};
use std::fmt::Write as _;

#[test]
fn packets_are_on_the_wire_what_they_have_always_been() {
    let (to, conn) = (A, ConnId(0x0203_0405));
    let frame = Data {
        offset: 0x1122_3344_5566,
        length: 1460,
        blanks: 0x155,
        echo: 0x2a_bbcc,
        end: true,
        again: true,
        ..frames::EMPTY
    };
    let first = Data {
        end: false,
        again: false,
        ..frame
    };
    let at = 0x0a0b_0c0d_0e0f;
    let packets = [
        frames::answer(to, conn, (0xf, 0x0edc_ba98), 84),
        frames::data(to, conn, frame, true, 1538),
        frames::data(to, conn, first, false, 1538),
        header::unscheduled(frames::data(to, conn, first, true, 1538)),
        frames::request(to, conn, at, 77, true, 84),
        frames::followed(frames::request(to, conn, at, 77, false, 84), 0x1234),
        frames::exchange(frames::request(to, conn, at, 77, true, 84)),
        frames::as_of(
            frames::stop(to, conn, at, StopReason::AllSent, true, 84),
            0x4321,
        ),
        frames::stop(to, conn, at, StopReason::Early, false, 84),
        frames::stop(to, conn, 0, StopReason::Gone, false, 84),
        frames::as_of(frames::nack(to, conn, at, 0x0102_0304, 84), 0x8765),
        frames::stop_ack(to, conn, Some(at), 84),
        frames::stop_ack(to, conn, None, 84),
        frames::about(to, conn, Kind::Ack, at, 0x7b7a_7978_7776, 84),
        frames::about(to, conn, Kind::ProbeAck, at, 0x7b7a_7978_7776, 84),
        frames::probe(to, conn, at, true, 84),
        header::unscheduled(frames::probe(to, conn, at, false, 84)),
        frames::heard(to, conn, at, true, 84),
        frames::heard(to, conn, at, false, 84),
        frames::crowded(frames::request(to, conn, at, 77, true, 84), 11),
    ];
    let link = Link {
        conn: conn.0,
        tag: 0xaaaa_bbbb,
        cookie: 0x0123_4567_89ab_cdef,
    };
    let mut text = String::new();
    for packet in packets {
        let mut out = [0; HEADER_MAX];
        let length = CODEC.encode(&packet, link, &mut out);
        for word in out[..length].chunks(4) {
            for byte in word {
                let _ = write!(text, "{byte:02x}");
            }
            text.push(' ');
        }
        let _ = writeln!(text, "{}", CODEC.describe(&packet));
        let back = CODEC.decode(&out[..length]).unwrap();
        assert_eq!((back.packet.head, back.header_len), (packet.head, length));
        assert_eq!(
            (back.packet.kind(), back.packet.class()),
            (packet.kind(), packet.class())
        );
        for short in 0..length {
            assert_eq!(CODEC.decode(&out[..short]), Err(DecodeError::Short));
        }
    }
    insta::assert_snapshot!("wire", text);
}
