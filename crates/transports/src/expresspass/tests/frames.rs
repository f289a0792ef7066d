//! Packets as a peer would send them, for tests that are one.

use super::header::*;
use super::*;

/// A frame of nothing, to begin with.
pub(super) const EMPTY: Data = Data {
    offset: 0,
    length: 0,
    blanks: 0,
    echo: 0,
    again: false,
    one_shot: false,
    end: true,
    exchange: false,
};

pub(super) fn credit(to: HostId, conn: ConnId, sequence: u32, size: u16) -> Packet {
    answer(to, conn, (0, sequence), size)
}

/// The same from a receiver that has heard request `nth`.
pub(super) fn answer(to: HostId, conn: ConnId, (nth, sequence): (u8, u32), size: u16) -> Packet {
    Credit { nth, sequence }.packet(to, conn, size)
}

pub(super) fn data(to: HostId, conn: ConnId, data: Data, one_shot: bool, size: u16) -> Packet {
    data.counted(one_shot).packet(to, conn, size)
}

pub(super) fn request(
    to: HostId,
    conn: ConnId,
    next: u64,
    packets: u32,
    one_shot: bool,
    size: u16,
) -> Packet {
    let request = Request {
        next,
        unasked: 0,
        packets,
        nth: 0,
        crowd: 0,
        exchange: false,
        one_shot,
        known: false,
    };
    request.packet(to, conn, size)
}

pub(super) fn followed(request: Packet, unasked: u16) -> Packet {
    let more = Request {
        unasked,
        ..Request::read(&request)
    };
    more.packet(request.to(), request.conn, request.size)
}

/// The same from a host of which `2^crowd` connections want credits.
pub(super) fn crowded(request: Packet, crowd: u8) -> Packet {
    let many = Request {
        crowd,
        ..Request::read(&request)
    };
    many.packet(request.to(), request.conn, request.size)
}

pub(super) fn exchange(request: Packet) -> Packet {
    let both = Request {
        exchange: true,
        ..Request::read(&request)
    };
    both.packet(request.to(), request.conn, request.size)
}

pub(super) fn stop(
    to: HostId,
    conn: ConnId,
    end: u64,
    reason: StopReason,
    one_shot: bool,
    size: u16,
) -> Packet {
    Stop::new(end, reason, one_shot).packet(to, conn, size)
}

/// A STOP or NACK that names a credit.
pub(super) fn as_of(mut packet: Packet, credit: u16) -> Packet {
    packet.head[1] |= u32::from(credit);
    packet
}

pub(super) fn nack(to: HostId, conn: ConnId, next: u64, missing: u32, size: u16) -> Packet {
    let nack = Nack {
        next,
        heard: 0,
        missing,
    };
    nack.packet(to, conn, size)
}

pub(super) fn stop_ack(to: HostId, conn: ConnId, next: Option<u64>, size: u16) -> Packet {
    let (gone, next) = (next.is_none(), next.unwrap_or(0));
    StopAck { next, gone }.packet(to, conn, size)
}

pub(super) fn about(
    to: HostId,
    conn: ConnId,
    kind: Kind,
    position: u64,
    arrived: u64,
    size: u16,
) -> Packet {
    if kind == Kind::Ack {
        Ack { position, arrived }.packet(to, conn, size)
    } else {
        ProbeAck { position, arrived }.packet(to, conn, size)
    }
}

pub(super) fn probe(to: HostId, conn: ConnId, position: u64, last: bool, size: u16) -> Packet {
    Probe { position, last }.packet(to, conn, size)
}

pub(super) fn heard(to: HostId, conn: ConnId, position: u64, asks: bool, size: u16) -> Packet {
    let heard = Heard {
        position,
        nth: 0,
        asks,
    };
    heard.packet(to, conn, size)
}
