//! The five kinds of packet: what they carry, declared once for head, wire, ladders and documents.

use super::share::{Code, words};
use model::Lifetime;
use model::wire::declared::when;
use parts::go_back::POSITION_MAX;
use parts::host::Token;

model::header! {
    pub(super) static CODEC: "ideal-rate" = 9;
    /// Opens a connection.
    Open = 1 "OPEN" Control, opens {
        rate: Code = 80..96 "what the opener's line has for the answers";
        lifetime: Lifetime = 98..100 "what it carries before it ends";
    }
    says |open, _| match open.lifetime {
        Lifetime::Persistent => String::new(),
        Lifetime::OneMessage => " one message".to_owned(),
        Lifetime::Exchange => " one message each way".to_owned(),
    };
    /// Accepts it, and gives it a token that everything else repeats.
    Accept = 2 "ACCEPT" Control, opens {
        token: Token = 68..80 "never 0";
        rate: Code = 80..96 "what the accepter's line has for the messages";
    }
    must "token" |accept| accept.token != 0;
    says |accept, _| words(accept.rate);
    /// A piece of a message.
    Data = 3 "DATA" Plain {
        offset: u64 = 0..48 "where it begins in the stream, in bytes";
        length: u16 = 48..62 "payload in bytes";
        ordinal: u16 = 62..68 "which message of this direction, modulo 2^6";
        token: Token = 68..80 "that of the connection";
        rate: Code = 80..96 "what the sender's line has for this direction";
        one_shot: bool = 98..99 "the connection ends with this message";
        end: bool = 99..100 "the message ends with this packet";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length <= PAYLOAD_MAX && (data.length > 0 || data.end);
    must "offset" |data| data.offset + u64::from(data.length) <= POSITION_MAX;
    says |data, _| {
        let (end, rate) = (when(data.end, " end"), words(data.rate));
        format!(" {}:{}+{}{end}{rate}", data.ordinal, data.offset, data.length)
    };
    /// What the receiver wants next.
    Ack = 4 "ACK" Control {
        offset: u64 = 0..48 "the byte at this position of the stream";
        ordinal: u16 = 62..68 "a byte of this message; all before it are complete";
        token: Token = 68..80 "that of the connection";
        rate: Code = 80..96 "what the receiver's line has for the other direction";
        gap: bool = 99..100 "something behind it has arrived";
    }
    says |ack, _| format!(" {}:{}{}{}", ack.ordinal, ack.offset, when(ack.gap, " gap"), words(ack.rate));
    /// This end does not know that life of the connection; with token 0 it does not want to.
    Reset = 5 "RESET" Control { token: Token = 68..80 "that of the packet that it answers"; }
}

/// Largest payload: 14 bits, more than any usual frame carries. [ours]
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;
/// Largest token.
pub(super) const TOKEN_MAX: Token = (1 << 12) - 1;
/// Bits of a message's number that travel.
pub(super) const ORDINAL_BITS: u32 = 6;
