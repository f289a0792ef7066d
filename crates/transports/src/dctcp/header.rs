//! The five kinds of packet: how they sit in a packet's head and on a wire.
//!
//! Sequence numbers count payload bytes, as TCP's do. A frame without payload, which is how an
//! empty message travels, takes one number so that it can be acknowledged, as SYN and FIN do.
//! A number is therefore the stream offset plus the empty frames before it, the *gaps*.

use model::Lifetime;
use model::wire::declared::when;

model::header! {
    pub(super) static CODEC: "DCTCP" = 2;
    /// Opens a connection.
    Syn = 1 "SYN" Control, opens {
        incarnation: u32 = 16..48 "tells this opening from an earlier one under the same number";
        lifetime: Lifetime = 98..100 "what the connection carries before it ends";
    }
    says |syn, _| match syn.lifetime {
        Lifetime::Persistent => String::new(),
        Lifetime::OneMessage => " one message".to_owned(),
        Lifetime::Exchange => " one message each way".to_owned(),
    };
    /// Accepts a connection.
    SynAck = 2 "SYN-ACK" Control, opens { incarnation: u32 = 16..48 "that of the SYN"; }
    /// A piece of the stream.
    Data = 3 "DATA" Plain {
        offset: u64 = 0..48 "stream offset of the payload in bytes";
        length: u16 = 48..64 "payload in bytes";
        gaps: u32 = 64..88 "empty frames before this one, modulo 2^24";
        one_shot: bool = 97..98 "the connection ends with this message: who does not know it has had it";
        again: bool = 98..99 "it was sent before", aside;
        end: bool = 99..100 "a message ends with it";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length <= PAYLOAD_MAX && (data.length > 0 || data.end);
    must "offset" |data| data.offset + data.span() <= SEQ_MAX;
    says |data, _| {
        let (end, again) = (when(data.end, " end"), when(data.again, " again"));
        format!(" {}+{}{end}{again}", data.offset, data.length)
    };
    /// What has arrived.
    Ack = 4 "ACK" Control {
        cumulative: u64 = 0..48 "the next sequence number that is expected";
        ahead: u32 = 48..72 "how far beyond it a block begins that has arrived, 0 for none";
        reach: u32 = 72..96 "its sequence numbers";
        done: bool = 98..99 "the one message has arrived whole, and its connection is forgotten";
        echo: bool = 99..100 "the packets that this acknowledges were marked [RFC 8257 s3.2]";
    }
    must "block" |ack| (ack.ahead > 0) == (ack.reach > 0);
    must "block" |ack| ack.block().is_none_or(|(_, end)| end <= SEQ_MAX);
    says |ack, _| {
        let block = ack.block().map_or_else(String::new, |(from, to)| format!(" sack {from}..{to}"));
        format!(" {}{block}{}{}", ack.cumulative, when(ack.echo, " echo"), when(ack.done, " done"))
    };
    /// The other end knows nothing of this connection.
    Reset = 5 "RESET" Control {
        about: u64 = 0..48 "the offset of the data that it answers; otherwise an incarnation";
        of_data: bool = 99..100 "it answers data, not an opening";
    }
    must "incarnation" |reset| reset.of_data || reset.about <= u32::MAX.into();
    says |reset, _| if reset.of_data { format!(" at {}", reset.about) } else { String::new() };
}

/// Sequence numbers and offsets have 48 bits.
pub(super) const SEQ_MAX: u64 = (1 << 48) - 1;
/// A selective block starts and reaches at most this far behind the cumulative number.
pub(super) const BLOCK_MAX: u64 = (1 << 24) - 1;
/// Largest payload: leaves room for any frame overhead in a 16-bit frame size. [ours]
pub(super) const PAYLOAD_MAX: u16 = u16::MAX - 1024;

impl Data {
    /// Bits of `gaps` that travel.
    pub(super) const GAPS: u32 = (1 << 24) - 1;

    /// Sequence numbers that it takes.
    #[inline]
    pub(super) const fn span(&self) -> u64 {
        if self.length == 0 {
            1
        } else {
            self.length as u64
        }
    }
}

impl Ack {
    /// Everything before `cumulative` has arrived, and one block beyond it, given by start and end.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "at most BLOCK_MAX")]
    pub(super) fn new(cumulative: u64, block: Option<(u64, u64)>) -> Self {
        let (ahead, reach) = match block {
            None => (0, 0),
            Some((start, end)) => ((start - cumulative) as u32, (end - start) as u32),
        };
        Self {
            cumulative,
            ahead,
            reach,
            done: false,
            echo: false,
        }
    }

    /// Start and end of the block that arrived beyond.
    #[inline]
    pub(super) fn block(&self) -> Option<(u64, u64)> {
        let start = self.cumulative + u64::from(self.ahead);
        (self.reach > 0).then(|| (start, start + u64::from(self.reach)))
    }
}
