//! The nine kinds of packet, declared once for head, wire, ladders and documents.
//!
//! A direction of a connection is one stream of bytes, and every position is one of the stream. Each message of
//! it has a number; the next begins when the one before it is acknowledged. A round is told by its epoch, modulo
//! 2^16, and its place in it.

use model::Lifetime;
use model::wire::declared::{when, whose};

model::header! {
    pub(super) static CODEC: "dcPIM" = 11;
    answers |data: Data, token: Token| data.token == token.number;
    /// A message wants to be sent, and ends here. Empty messages are this alone.
    Rts = 1 "RTS" Control, opens {
        at: u64 = 0..47 "where the message ends in the stream";
        ordinal: u16 = 48..64 "which message of this direction, modulo 2^16";
        known: bool = 64..65 "the receiver has said something of it before", aside;
        frame: u16 = 65..79 "payload of its frames, in bytes; the last may have less";
        unasked: bool = 79..80 "all of it leaves unasked", aside;
        line: u16 = 80..96 "rate of the sender's line, in units of 100 Mb/s";
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        cut: bool = 99..100 "it ends earlier than it was to";
    }
    must "answer" |rts| !rts.answer || rts.lifetime != Lifetime::OneMessage;
    must "frame" |rts| rts.frame > 0;
    must "line" |rts| rts.line > 0;
    says |rts, _| {
        let (known, cut) = (when(rts.known, ", known"), when(rts.cut, ", cut"));
        format!(" message {} to {}{known}{cut}", rts.ordinal, rts.at)
    };
    /// A receiver wants channels of a sender, in a round.
    Req = 2 "REQ" Control {
        epoch: u16 = 0..16 "epoch whose data it is about, modulo 2^16";
        round: u8 = 16..24 "round of its matching, from 0";
        channels: u8 = 24..32 "how many channels it wants";
        prompt: u8 = 32..40 "how many of them it could use at once";
        left: u32 = 48..72 "frames that the message lacks, at most 2^24 - 1";
    }
    must "channels" |req| req.channels > 0 && req.prompt <= req.channels;
    says |req, _| {
        format!(" {}.{} channels {}, prompt {}, {} frames", req.epoch, req.round, req.channels, req.prompt, req.left)
    };
    /// The sender offers channels to a receiver that asked in this round.
    Grant = 3 "GRANT" Control {
        epoch: u16 = 0..16 "that of the request";
        round: u8 = 16..24 "that of the request";
        channels: u8 = 24..32 "how many channels it offers";
        prompt: u8 = 32..40 "how many of them may be used at once";
        left: u32 = 48..72 "that of the request";
    }
    must "channels" |grant| grant.channels > 0 && grant.prompt <= grant.channels;
    says |grant, _| format!(" {}.{} channels {}, prompt {}", grant.epoch, grant.round, grant.channels, grant.prompt);
    /// The receiver takes channels that were offered in this round.
    Accept = 4 "ACCEPT" Control {
        epoch: u16 = 0..16 "that of the offer";
        round: u8 = 16..24 "that of the offer";
        channels: u8 = 24..32 "how many channels it takes";
        prompt: u8 = 32..40 "how many of them it uses at once";
    }
    must "channels" |accept| accept.channels > 0 && accept.prompt <= accept.channels;
    says |accept, _| {
        format!(" {}.{} channels {}, prompt {}", accept.epoch, accept.round, accept.channels, accept.prompt)
    };
    /// The sender takes channels back that it offered twice.
    Grantsr = 5 "GRANTSR" Control {
        epoch: u16 = 0..16 "that of the offer";
        round: u8 = 16..24 "that of the offer";
        channels: u8 = 24..32 "how many channels it takes back";
    }
    must "channels" |back| back.channels > 0;
    says |back, _| format!(" {}.{} channels {}", back.epoch, back.round, back.channels);
    /// One packet may leave.
    Token = 6 "TOKEN" Credit {
        offset: u64 = 0..47 "where the piece begins that may leave";
        number: u16 = 48..64 "tokens of this connection so far, modulo 2^16";
        life: u32 = 64..96 "for how long it may be used, in nanoseconds from its arrival";
        rank: u8 = 96..99 "whom its sender serves first: lower ones";
    }
    says |token, _| format!(" {} for {}", token.number, token.offset);
    /// A piece of a message. Any of them may come first.
    Data = 7 "DATA" Unscheduled | Scheduled, opens {
        offset: u64 = 0..47 "where it begins in the stream, in bytes";
        length: u16 = 47..61 "payload in bytes";
        token: u16 = 61..77 "number of the token that released it; 0 where it left unasked";
        ordinal: u16 = 77..93 "which message of this direction, modulo 2^16";
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        end: bool = 99..100 "the message ends with it";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length > 0;
    must "offset" |data| data.until() <= POSITION_MAX;
    must "answer" |data| !data.answer || data.lifetime != Lifetime::OneMessage;
    says |data, packet| {
        let scheduled = packet.class() == model::Class::Scheduled;
        let token = if scheduled { format!(", token {}", data.token) } else { String::new() };
        format!(" {}..{}{}{token}, priority {}", data.offset, data.until(), when(data.end, " end"), packet.priority())
    };
    /// So many messages have arrived whole.
    Ack = 8 "ACK" Control {
        ordinal: u16 = 48..64 "messages of this direction, modulo 2^16";
        next: bool = 99..100 "the next is known here, and has to wait";
    }
    says |ack, _| format!(" {}{}", ack.ordinal, when(ack.next, ", and knows the next"));
    /// The connection is not known here.
    Gone = 9 "GONE" Control { of_sender: bool = 99..100 "whoever should have the data says so"; }
    says |gone, _| format!(", says the {}", whose(gone.of_sender));
}

/// Positions in a stream have 47 bits.
pub(super) const POSITION_MAX: u64 = (1 << 47) - 1;
/// Largest payload: the field has 14 bits.
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;
/// The most frames that a request tells of.
pub(super) const LEFT_MAX: u64 = (1 << 24) - 1;

impl Data {
    /// Behind its last byte.
    #[inline]
    pub(super) const fn until(&self) -> u64 {
        self.offset + self.length as u64
    }
}
