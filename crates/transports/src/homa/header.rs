//! The eleven kinds of packet, four of them Aeolus', declared once for head, wire, ladders and documents.
//!
//! A direction of a connection is one stream of bytes, and every offset is one of the stream. Each message of
//! it has a number; the next begins when the one before it is acknowledged, by ACK or by what a message of the other
//! direction says.

use model::Lifetime;
use model::wire::declared::{given, piece, up_to, when, whose};

model::header! {
    pub(super) static CODEC: "Homa" = 3;
    answers |data: Data, grant: Grant or Resend| grant.from <= data.offset && data.offset < grant.upto;
    answers |data: Granted, grant: Grant| data.behind(grant.from) < grant.upto - grant.from;
    answers |data: Granted, asks: Resend| asks.from <= data.offset && data.offset < asks.upto;
    releases Resend;
    /// A piece of a message. It tells all that a receiver has to know of the message, so that any of them may
    /// come first.
    Data = 1 "DATA" Unscheduled | Scheduled, opens {
        offset: u64 = 0..47 "where it begins in the stream, in bytes";
        has: u8 = 47..49 "messages of the other direction that are whole here, as many as this one's number and so many less 1, or more; 0 says nothing";
        length: u16 = 49..63 "payload in bytes";
        left: u32 = 63..90 "bytes of the message from there on; 2^27 - 1 stands for that or more";
        ordinal: u16 = 90..96 "which message of this direction, modulo 2^6";
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        cut: bool = 98..99 "the message ends earlier than was said before";
        answer: bool = 99..100 "the other end opened the connection";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| u32::from(data.length) <= data.left && (data.length > 0 || data.left == 0);
    must "offset" |data| data.end() <= POSITION_MAX;
    must "answer" |data| !data.answer || data.lifetime != Lifetime::OneMessage;
    says |data, packet| format!(" {} of {}, priority {}{}", piece(data.offset, data.length), up_to(data.left == LEFT_MAX, data.end()), packet.priority(), when(data.cut, ", cut"));
    /// More of a message may leave.
    Grant = 2 "GRANT" Credit {
        from: u64 = 0..48 "what was granted before, as a position in the stream";
        upto: u64 = 48..96 "everything before this position is granted";
        priority: u8 = 97..100 "that of the data, 0 the most urgent";
    }
    must "upto" |grant| grant.from < grant.upto;
    says |grant, _| format!(" {}..{}, priority {}", grant.from, grant.upto, grant.priority);
    /// This was granted and has not arrived.
    Resend = 3 "RESEND" Control {
        from: u64 = 0..48 "where the gap begins in the stream";
        upto: u64 = 48..96 "where it ends; if this was not granted, a grant was lost, and this is it";
        priority: u8 = 97..100 "that of the data, 0 the most urgent";
    }
    must "upto" |resend| resend.from < resend.upto;
    says |resend, _| format!(" {}..{}", resend.from, resend.upto);
    /// It is known and takes its time.
    Busy = 4 "BUSY" Control { of_sender: bool = 99..100 "whoever has the data says so"; }
    says |busy, _| format!(", says the {}", whose(busy.of_sender));
    /// It is not known here.
    Unknown = 5 "RPC_UNKNOWN" Control {
        ordinal: u16 = 90..96 "which message of its direction, modulo 2^6";
        forgotten: bool = 97..98 "the message was known, and is forgotten";
        connection: bool = 98..99 "the connection is not known either";
        of_sender: bool = 99..100 "whoever should have the data says so";
    }
    says |unknown, _| format!(" {}{}, says the {}", unknown.ordinal, when(unknown.forgotten, ", forgotten"), whose(unknown.of_sender));
    /// Has all of it arrived?
    NeedAck = 6 "NEED_ACK" Control { ordinal: u16 = 90..96 "which message, modulo 2^6"; }
    says |asks, _| format!(" {}", asks.ordinal);
    /// So many have arrived whole.
    Ack = 7 "ACK" Control { ordinal: u16 = 90..96 "messages of this direction, modulo 2^6"; }
    says |ack, _| format!(" {}", ack.ordinal);
    /// A piece of a message whose first bytes may be dropped, granted: so its receiver knows of the message.
    /// [aeolus s3.3]
    Granted = 8 "SCHED_DATA" Scheduled {
        offset: u64 = 0..47 "where it begins in the stream, in bytes";
        length: u16 = 48..62 "payload in bytes";
        at: u32 = 62..90 "how far grants were used before it, as a position modulo 2^28";
        ordinal: u16 = 90..96 "which message of this direction, modulo 2^6";
        has: u8 = 96..98 "whole messages of the other direction, as in DATA";
        again: bool = 98..99 "it has left before", aside;
        answer: bool = 99..100 "the other end opened the connection";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length > 0;
    must "offset" |data| data.offset + u64::from(data.length) <= POSITION_MAX;
    says |data, packet| format!(" {} by grant {}, priority {}{}", piece(data.offset, data.length), data.at, packet.priority(), when(data.again, ", again"));
    /// What leaves unasked has left, up to here. [aeolus s3.3]
    Probe = 9 "PROBE" Control, opens {
        upto: u64 = 0..47 "where it ended in the stream";
        has: u8 = 47..49 "whole messages of the other direction, as in DATA";
        left: u32 = 63..90 "bytes of the message from there on; 2^27 - 1 stands for that or more";
        ordinal: u16 = 90..96 "which message of this direction, modulo 2^6";
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        cut: bool = 98..99 "the message ends earlier than was said before";
        answer: bool = 99..100 "the other end opened the connection";
    }
    must "upto" |probe| probe.upto + u64::from(probe.left) <= POSITION_MAX;
    must "answer" |probe| !probe.answer || probe.lifetime != Lifetime::OneMessage;
    says |probe, packet| format!(" up to {}, priority {}{}", probe.upto, packet.priority(), when(probe.cut, ", cut"));
    /// A piece that left unasked has arrived. [aeolus s3.3]
    Got = 10 "GOT" Control { offset: u64 = 0..48 "where it begins"; ordinal: u16 = 90..96 "message, modulo 2^6"; }
    says |got, _| format!(" {}", got.offset);
    /// The probe has arrived. [aeolus s3.3]
    ProbeAck = 11 "PROBE_ACK" Control {
        upto: u64 = 0..48 "as it said"; ordinal: u16 = 90..96 "message, modulo 2^6";
        missing: u64 = 48..90 "bytes before it that have not come, 2^42 - 1 at most";
    }
    says |ack, _| format!(" {}{}", ack.upto, given(ack.missing > 0, || format!(", {} B are missing", ack.missing)));
}

/// Positions in a stream have 47 bits.
pub(super) const POSITION_MAX: u64 = (1 << 47) - 1;
/// The most that [`Data::has`] can say: the field has 2 bits.
const HAS_MAX: u32 = 3;
/// More bytes than this are left: the field has 27 bits.
pub(super) const LEFT_MAX: u32 = (1 << 27) - 1;
/// Positions of grants are told modulo one more.
pub(super) const AT_MAX: u32 = (1 << 28) - 1;
/// Numbers of messages are told modulo this.
pub(super) const ORDINALS: u32 = 1 << 6;
/// Largest payload: the field has 14 bits.
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;

impl Data {
    /// Where its message ends, as far as it can tell.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.offset + self.left as u64
    }
}

/// The part of a message's number that travels.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "six bits")]
pub(super) const fn told(ordinal: u32) -> u16 {
    (ordinal % ORDINALS) as u16
}

/// What message number `own` says, where `whole` messages of the other direction are: that as many are as its number and
/// so many less 1. A truth about it that no delay makes false, and needs no modulus.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "two bits")]
pub(super) const fn has(whole: u32, own: u32) -> u8 {
    let ahead = whole.wrapping_add(1).wrapping_sub(own);
    match ahead {
        0..=HAS_MAX => ahead as u8,
        // Behind, or so far ahead that it says less than it could.
        _ if ahead > u32::MAX / 2 => 0,
        _ => HAS_MAX as u8,
    }
}

/// How many messages of the other direction are whole where message number `own` says `has`; none where it says nothing.
#[inline]
pub(super) const fn whole(has: u8, own: u32) -> Option<u32> {
    match has {
        0 => None,
        _ => Some(own.wrapping_add(has as u32).wrapping_sub(1)),
    }
}
