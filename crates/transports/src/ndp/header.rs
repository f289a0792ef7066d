//! The nine kinds of packet, declared once for head, wire, ladders and documents.
//!
//! A direction of a connection is one stream of bytes, and every position is one of the stream. Each message of
//! it has a number; the next begins when the one before it is acknowledged. The last word of each head is the
//! way that the packet takes, which switches read.

use model::wire::declared::{given, piece, when, whose};
use model::{Class, Lifetime};

model::header! {
    pub(super) static CODEC: "NDP" = 4;
    answers |data: Data, pull: Pull or Ack or Nack or ProbeAck| u16::from(data.pull) == pull.pull % PULLS_TOLD;
    /// A piece of a message. Any of them may come first.
    Data = 1 "DATA" Unscheduled | Scheduled, opens {
        offset: u64 = 0..47 "where it begins in the stream, in bytes";
        length: u16 = 47..61 "payload in bytes";
        pull: u8 = 61..64 "number of the pull that released it, modulo 2^3; where none did, another than before";
        way: u32 = 64..96 "the way that it takes", aside;
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        end: bool = 99..100 "the message ends with it";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length > 0;
    must "offset" |data| data.until() <= POSITION_MAX;
    must "answer" |data| !data.answer || data.lifetime != Lifetime::OneMessage;
    says |data, packet| {
        let (pull, cut) = (given(packet.class() == Class::Scheduled, || format!(", pull {}", data.pull)), when(packet.trimmed(), ", trimmed"));
        format!(" {}{}{pull}{cut}{}", piece(data.offset, data.length), when(data.end, " end"), when(packet.bounced(), ", sent back"))
    };
    /// A piece has arrived.
    Ack = 2 "ACK" Control | Credit {
        at: u64 = 0..47 "where the piece begins";
        pull: u16 = 48..64 "pulls so far, modulo 2^16";
        way: u32 = 64..96 "the way that it takes", aside;
        copy: u8 = 96..99 "what DATA said in the place of the number of its pull";
        old: bool = 99..100 "it had arrived before, and brings no pull; said where switches drop bursts";
    }
    says |ack, packet| format!(" {}{}", ack.at, given(packet.class() == Class::Credit, || format!(", pull {}", ack.pull)));
    /// The head of a piece has arrived without its payload.
    Nack = 3 "NACK" Control | Credit {
        at: u64 = 0..47 "where the piece begins";
        pull: u16 = 48..64 "pulls so far, modulo 2^16";
        way: u32 = 64..96 "the way that it takes", aside;
    }
    says |nack, packet| format!(" {}{}", nack.at, given(packet.class() == Class::Credit, || format!(", pull {}", nack.pull)));
    /// Another packet may leave.
    Pull = 4 "PULL" Credit {
        upto: u64 = 0..47 "everything before this position has arrived";
        pull: u16 = 48..64 "pulls so far, modulo 2^16", count;
        way: u32 = 64..96 "the way that it takes", aside;
    }
    says |pull, _| format!(" {}, {} here", pull.pull, pull.upto);
    /// The message ends here, and what is known of it? Empty messages are this alone.
    End = 5 "END" Control, opens {
        at: u64 = 0..47 "where the message ends in the stream";
        ordinal: u16 = 48..64 "which message of this direction, modulo 2^16";
        way: u32 = 64..96 "the way that it takes; none the first time", aside;
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        cut: bool = 99..100 "it ends earlier than it was to";
    }
    carries |end| (end.at, 0);
    must "answer" |end| !end.answer || end.lifetime != Lifetime::OneMessage;
    says |end, _| format!(" of message {} at {}{}", end.ordinal, end.at, when(end.cut, ", cut"));
    /// So many messages have arrived whole.
    Done = 6 "DONE" Control {
        ordinal: u16 = 48..64 "messages of this direction, modulo 2^16";
        way: u32 = 64..96 "the way that it takes", aside;
    }
    says |done, _| format!(" {}", done.ordinal);
    /// The connection is not known here.
    Gone = 7 "GONE" Control { of_sender: bool = 99..100 "whoever should have the data says so"; }
    says |gone, _| format!(", says the {}", whose(gone.of_sender));
    /// The unscheduled frames of one way have left: a first one, and every so many-th behind it. [aeolus s3.3]
    Probe = 8 "PROBE" Control, opens {
        ordinal: u16 = 0..16 "which message of this direction, modulo 2^16";
        payload: u16 = 16..30 "payload of each frame in bytes; the last of a message may have less";
        first: u16 = 30..40 "number of the first frame, from 0 at the start of the message";
        stride: u16 = 40..50 "from one frame to the next: how many ways the burst takes";
        count: u16 = 50..60 "how many frames";
        way: u32 = 64..96 "the way that it takes", aside;
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
    }
    must "count" |probe| probe.makes_sense();
    must "answer" |probe| !probe.answer || probe.lifetime != Lifetime::OneMessage;
    says |probe, _| match (probe.count, probe.stride) {
        (1, _) => format!(" of message {}: frame {}", probe.ordinal, probe.first),
        (n, stride) => format!(" of message {}: {n} frames from {}{}", probe.ordinal, probe.first, given(stride != 1, || format!(", one of {stride}"))),
    };
    /// The probe behind this frame has arrived.
    ProbeAck = 9 "PROBE_ACK" Control | Credit {
        at: u64 = 0..47 "where the last frame that the probe names begins";
        pull: u16 = 48..64 "pulls so far, modulo 2^16";
        way: u32 = 64..96 "the way that it takes", aside;
    }
    says |ack, packet| format!(" {}{}", ack.at, given(packet.class() == Class::Credit, || format!(", pull {}", ack.pull)));
}

/// Positions in a stream have 47 bits.
pub(super) const POSITION_MAX: u64 = (1 << 47) - 1;
/// Numbers of pulls that data tells are told modulo this.
pub(super) const PULLS_TOLD: u16 = 1 << 3;
/// Frames of a burst, at most: a probe counts them in 10 bits.
pub(super) const WINDOW_MAX: u32 = (1 << 10) - 1;
/// Largest payload: the field has 14 bits.
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;

impl Data {
    /// Behind its last byte.
    #[inline]
    pub(super) const fn until(&self) -> u64 {
        self.offset + self.length as u64
    }
}
