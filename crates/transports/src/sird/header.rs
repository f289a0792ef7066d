//! The five kinds of packet, declared once for head, wire, ladders and documents.
//!
//! A direction of a connection is one stream of bytes, and every position is one of the stream. Each message of
//! it has a number; the next begins when the one before it is acknowledged.

use model::Lifetime;
use model::wire::declared::{when, whose};

model::header! {
    pub(super) static CODEC: "SIRD" = 7;
    answers |data: Data, credit: Credit| data.number == u32::from(credit.number);
    /// A message wants credit, and ends here. Empty messages are this alone.
    Request = 1 "REQUEST" Control, opens {
        at: u64 = 0..47 "where the message ends in the stream";
        ordinal: u16 = 48..64 "which message of this direction, modulo 2^16";
        known: bool = 64..65 "the receiver has said something of it before", aside;
        free: u32 = 65..96 "how many bytes of it leave unasked", aside;
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        cut: bool = 99..100 "it ends earlier than it was to";
    }
    must "answer" |request| !request.answer || request.lifetime != Lifetime::OneMessage;
    says |request, _| {
        let (known, cut) = (when(request.known, ", known"), when(request.cut, ", cut"));
        format!(" message {} to {}{known}{cut}", request.ordinal, request.at)
    };
    /// A piece may leave.
    Credit = 2 "CREDIT" Credit {
        offset: u64 = 0..47 "where the piece begins";
        length: u16 = 47..61 "its payload in bytes, at most";
        number: u16 = 61..77 "credits of this connection so far, modulo 2^16";
        round: u8 = 77..85 "how often what was not used was taken back, modulo 2^8";
    }
    must "length" |credit| credit.length > 0;
    must "offset" |credit| credit.offset + u64::from(credit.length) <= POSITION_MAX;
    says |credit, _| format!(" {} for {}..{}", credit.number, credit.offset, credit.offset + u64::from(credit.length));
    /// A piece of a message. Any of those that leave unasked may come first.
    Data = 3 "DATA" Unscheduled | Scheduled, opens {
        offset: u64 = 0..47 "where it begins in the stream, in bytes";
        length: u16 = 47..61 "payload in bytes";
        number: u32 = 61..93 "that of its credit; where it left unasked, how many bytes behind it do";
        whole: bool = 93..94 "the message ends where that ends";
        first: bool = 94..95 "it is of the first message of this direction";
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        congested: bool = 99..100 "its sender has more credit than it can use soon";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length > 0;
    must "offset" |data| data.until() + u64::from(data.number) <= POSITION_MAX;
    must "answer" |data| !data.answer || data.lifetime != Lifetime::OneMessage;
    says |data, packet| {
        let congested = when(data.congested, ", congested");
        let of = if packet.class() == model::Class::Scheduled {
            format!(", credit {}", data.number)
        } else {
            format!(", {} follow{}", data.number, when(data.whole, " and end it"))
        };
        format!(" {}..{}{of}{congested}, priority {}", data.offset, data.until(), packet.priority())
    };
    /// So many messages have arrived whole.
    Ack = 4 "ACK" Control {
        ordinal: u16 = 48..64 "messages of this direction, modulo 2^16";
        next: bool = 99..100 "the next is known here, and has to wait";
    }
    says |ack, _| format!(" {}{}", ack.ordinal, when(ack.next, ", and knows the next"));
    /// The connection is not known here.
    Gone = 5 "GONE" Control { of_sender: bool = 99..100 "whoever should have the data says so"; }
    says |gone, _| format!(", says the {}", whose(gone.of_sender));
}

/// Positions in a stream have 47 bits.
pub(super) const POSITION_MAX: u64 = (1 << 47) - 1;
/// Largest payload: the field has 14 bits.
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;

impl Data {
    /// Behind its last byte.
    #[inline]
    pub(super) const fn until(&self) -> u64 {
        self.offset + self.length as u64
    }
}
