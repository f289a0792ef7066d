//! The seven kinds of packet, declared once for head, wire, ladders and documents.
//!
//! A direction of a connection is one stream of bytes, and every position is one of the stream. Each message of
//! it has a number; the next begins when the one before it is acknowledged. Requests and allocations travel on the
//! connection of a host with its arbiter, and name the connection that they are about.

use model::Lifetime;
use model::wire::declared::{given, piece, when, whose};

model::header! {
    pub(super) static CODEC: "Fastpass" = 8;
    answers |data: Data, alloc: Alloc| data.alloc == alloc.number;
    /// A message wants slots.
    Req = 1 "REQ" Control, opens {
        flow: u32 = 0..32 "the connection at its sender", connection;
        to: u32 = 32..52 "the host that its frames go to; where receivers arbitrate, the number of the message, modulo 2^16";
        round: u8 = 52..60 "which request of the connection, modulo 2^8";
        frames: u32 = 60..84 "slots that it wants; none takes back what it wanted";
        late: bool = 84..85 "the first of the slots before was over when it heard of them", aside;
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        again: bool = 99..100 "it was said before, and wants an answer", aside;
    }
    must "answer" |req| !req.answer || req.lifetime != Lifetime::OneMessage;
    says |req, _| format!(" {} for #{}, round {}{}{}", req.frames, req.flow, req.round, when(req.late, ", late"), when(req.again, ", again"));
    /// Frames may leave in these slots, each on its way.
    Alloc = 2 "SLOTS" Credit {
        flow: u32 = 0..32 "the connection at its sender", connection;
        slot: u16 = 32..46 "the first slot, modulo 2^14", moment;
        number: u8 = 46..48 "allocations of this request so far, modulo 4";
        mask: u16 = 48..64 "the slots: bit n for the n-th behind the first";
        ways: u32 = 64..96 "the way of each, one after the other from the lowest bits on";
        bits: u8 = 96..100 "bits of each way; none where switches choose";
    }
    must "mask" |alloc| alloc.mask & 1 == 1;
    must "ways" |alloc| u32::from(alloc.bits) * alloc.mask.count_ones() <= 32;
    says |alloc, _| {
        let slot = |(slot, way)| format!("+{slot}{}", given(alloc.bits > 0, || format!(" way {way}")));
        let slots: Vec<String> = alloc.each().map(slot).collect();
        format!(" {} for #{}: from {}, {}", alloc.number, alloc.flow, alloc.slot, slots.join(" "))
    };
    /// The request is known here, and waits.
    Wait = 3 "WAIT" Control { flow: u32 = 0..32 "the connection at its sender", connection; }
    says |wait, _| format!(" for #{}", wait.flow);
    /// A piece of a message. Any of them may come first.
    Data = 4 "DATA" Scheduled, opens {
        offset: u64 = 0..47 "where it begins in the stream, in bytes";
        length: u16 = 47..61 "payload in bytes";
        alloc: u8 = 61..63 "number of the allocation that released it, modulo 4";
        known: bool = 63..64 "the receiver has said something on the connection before", aside;
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
        let way = packet.path().map_or(String::new(), |way| format!(", way {way}"));
        format!(" {}{}, slots {}{way}", piece(data.offset, data.length), when(data.end, " end"), data.alloc)
    };
    /// The message ends here, and what of it has arrived? Empty messages are this alone.
    End = 5 "END" Control, opens {
        at: u64 = 0..47 "where the message ends in the stream";
        ordinal: u16 = 48..64 "which message of this direction, modulo 2^16";
        known: bool = 64..65 "the receiver has said something on the connection before", aside;
        lifetime: Lifetime = 96..98 "what the connection carries before it ends";
        answer: bool = 98..99 "the other end opened the connection";
        cut: bool = 99..100 "it ends earlier than it was to";
    }
    carries |end| (end.at, 0);
    must "answer" |end| !end.answer || end.lifetime != Lifetime::OneMessage;
    says |end, _| format!(" of message {} at {}{}{}", end.ordinal, end.at, when(end.known, ", known"), when(end.cut, ", cut"));
    /// So many messages have arrived whole, and these frames of the next.
    Ack = 6 "ACK" Control {
        from: u64 = 0..47 "a position in the stream where a frame begins";
        ordinal: u16 = 48..64 "messages of this direction that are whole, modulo 2^16";
        seen: u32 = 64..96 "frames from there on that have arrived, the first in the lowest bit";
        all: bool = 96..97 "everything before that position has arrived";
        asked: bool = 97..98 "it answers END";
    }
    says |ack, _| {
        let all = if ack.all { "all before " } else { "from " };
        format!(" {}, {all}{}, {:b}{}", ack.ordinal, ack.from, ack.seen, when(ack.asked, ", asked"))
    };
    /// The connection is not known here.
    Gone = 7 "GONE" Control { of_sender: bool = 99..100 "whoever should have the data says so"; }
    says |gone, _| format!(", says the {}", whose(gone.of_sender));
}

/// Positions in a stream have 47 bits.
pub(super) const POSITION_MAX: u64 = (1 << 47) - 1;
/// Largest payload: the field has 14 bits.
pub(super) const PAYLOAD_MAX: u16 = (1 << 14) - 1;
/// Slots of one request: the field has 24 bits. A longer message asks again.
pub(super) const FRAMES_MAX: u32 = (1 << 24) - 1;
/// Hosts that can be named: the field has 20 bits.
pub(super) const HOSTS_MAX: u32 = 1 << 20;
/// Slots are told modulo this.
pub(super) const SLOTS_TOLD: u64 = 1 << 14;
/// The farthest ahead that slots are given away: what comes late is told from what comes early.
pub(super) const LEAD_SLOTS: u64 = SLOTS_TOLD / 4;
/// Bits of all ways of an allocation.
pub(super) const WAYS_BITS: u32 = 32;

impl Data {
    /// Behind its last byte.
    #[inline]
    pub(super) const fn until(&self) -> u64 {
        self.offset + self.length as u64
    }
}

impl Alloc {
    /// Each slot, as the number behind the first, and its way.
    pub(super) fn each(self) -> impl Iterator<Item = (u16, u16)> {
        let bits = u32::from(self.bits);
        let slots = (0..16u16).filter(move |n| self.mask >> n & 1 == 1);
        (0u32..).zip(slots).map(move |(nth, slot)| {
            let shifted = self.ways.checked_shr(nth * bits).unwrap_or(0);
            let way = shifted & ((1u32 << bits) - 1);
            (slot, u16::try_from(way).expect("at most fifteen bits"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_each_fills_its_field() {
        let largest = [POSITION_MAX, PAYLOAD_MAX.into(), FRAMES_MAX.into()];
        assert_eq!(largest, [47, 14, 24].map(|bits| u64::MAX >> (64 - bits)));
        assert_eq!((HOSTS_MAX, SLOTS_TOLD), (0x10_0000, 0x4000));
    }
}
