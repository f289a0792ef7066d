//! The five kinds of packet: what they carry, declared once for head, wire, ladders and documents.

use model::Lifetime;
use model::wire::declared::when;
use parts::go_back::POSITION_MAX;
use parts::host::Token;

model::header! {
    pub(super) static CODEC: "none" = 10;
    answers |_data: Data, _word: Ack or Accept| false;
    /// Opens a connection on which nothing is sent yet, and asks again where data has no answer.
    Open = 1 "OPEN" Control, opens {
        token: Token = 68..80 "that everything else repeats, never 0";
        lifetime: Lifetime = 96..98 "what it carries before it ends";
    }
    must "token" |open| open.token != 0;
    says |open, _| words(open.lifetime).to_owned();
    /// Accepts it.
    Accept = 2 "ACCEPT" Control, opens { token: Token = 68..80 "that of the connection"; }
    must "token" |accept| accept.token != 0;
    /// A piece of a message.
    Data = 3 "DATA" Plain, opens {
        offset: u64 = 0..48 "where it begins in the stream, in bytes";
        length: u16 = 48..62 "payload in bytes";
        ordinal: u16 = 62..68 "which message of this direction, modulo 2^6";
        token: Token = 68..80 "that of the connection";
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        opens: bool = 98..99 "it opens the connection: nobody has answered yet";
        end: bool = 99..100 "the message ends with this packet";
    }
    carries |data| (data.offset, data.length);
    must "token" |data| data.token != 0;
    must "length" |data| data.length <= PAYLOAD_MAX && (data.length > 0 || data.end);
    must "offset" |data| data.offset + u64::from(data.length) <= POSITION_MAX;
    says |data, _| {
        let opens = if data.opens { format!(", opens{}", words(data.lifetime)) } else { String::new() };
        format!(" {}:{}+{}{}{opens}", data.ordinal, data.offset, data.length, when(data.end, " end"))
    };
    /// What the receiver wants next.
    Ack = 4 "ACK" Control {
        offset: u64 = 0..48 "the byte at this position of the stream";
        ordinal: u16 = 62..68 "a byte of this message; all before it are complete";
        token: Token = 68..80 "that of the connection";
        gap: bool = 99..100 "something behind it has arrived";
    }
    says |ack, _| format!(" {}:{}{}", ack.ordinal, ack.offset, when(ack.gap, " gap"));
    /// This end does not know that life of the connection, or does not want to.
    Reset = 5 "RESET" Control { token: Token = 68..80 "that of the packet that it answers"; }
}

fn words(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Persistent => "",
        Lifetime::OneMessage => " one message",
        Lifetime::Exchange => " one message each way",
    }
}

/// Largest payload: 14 bits, more than any usual frame carries. [ours]
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;
/// Largest token.
pub(super) const TOKEN_MAX: Token = (1 << 12) - 1;
/// Bits of a message's number that travel.
pub(super) const ORDINAL_BITS: u32 = 6;
