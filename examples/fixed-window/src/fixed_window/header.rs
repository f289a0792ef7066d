//! The five kinds of packet: what they carry, declared once for head, wire, ladders and documents.

use model::Lifetime;
use model::wire::declared::when;
use parts::go_back::POSITION_MAX;
use parts::host::Token;

// Numbers of transports from 128 on are for those outside tidegate; both ends of a wire must agree. [ours]
model::header! {
    pub(super) static CODEC: "fixed-window" = 200;
    /// Opens a connection.
    Open = 1 "OPEN" Control, opens {
        lifetime: Lifetime = 98..100 "what it carries before it ends";
    }
    says |open, _| match open.lifetime {
        Lifetime::Persistent => String::new(),
        Lifetime::OneMessage => " one message".to_owned(),
        Lifetime::Exchange => " one message each way".to_owned(),
    };
    /// Accepts it, and gives it a token that everything else repeats.
    Accept = 2 "ACCEPT" Control, opens { token: Token = 32..48 "never 0"; }
    must "token" |accept| accept.token != 0;
    /// A piece of a message.
    Data = 3 "DATA" Plain {
        offset: u64 = 0..48 "where it begins in the stream, in bytes";
        length: u16 = 48..64 "payload in bytes";
        ordinal: u16 = 64..80 "which message of this direction, modulo 2^16";
        token: Token = 80..96 "that of the connection";
        one_shot: bool = 98..99 "the connection ends with this message";
        end: bool = 99..100 "the message ends with this packet";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length <= PAYLOAD_MAX && (data.length > 0 || data.end);
    must "offset" |data| data.offset + u64::from(data.length) <= POSITION_MAX;
    says |data, _| {
        format!(" {}:{}+{}{}", data.ordinal, data.offset, data.length, when(data.end, " end"))
    };
    /// What the receiver wants next.
    Ack = 4 "ACK" Control {
        offset: u64 = 0..48 "the byte at this position of the stream";
        ordinal: u16 = 64..80 "a byte of this message; all before it are complete";
        token: Token = 80..96 "that of the connection";
        gap: bool = 99..100 "something behind it has arrived";
    }
    says |ack, _| format!(" {}:{}{}", ack.ordinal, ack.offset, when(ack.gap, " gap"));
    /// This end does not know that life of the connection; with token 0 it does not want to.
    Reset = 5 "RESET" Control { token: Token = 32..48 "that of the packet that it answers"; }
}

/// Bits of a message's number that travel.
pub(super) const ORDINAL_BITS: u32 = 16;
/// Largest payload: leaves room for any frame overhead in a 16-bit frame size. [ours]
pub(super) const PAYLOAD_MAX: u16 = u16::MAX - 1024;
