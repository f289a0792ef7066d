//! What ExpressPass packets carry: 12 bytes of head in the simulator, 16 to 32 of header on a wire.
//!
//! A direction of a connection is a stream of *positions*: one per byte, and one per empty frame,
//! so that an empty message, too, can be lost, repeated and told apart. DATA names the byte offset
//! of its payload and, beside it, how many empty frames came before; every other kind names a position.
//!
//! Credits that STOP and NACK name say how old they are: everything that answers an earlier credit left
//! before. They are 0 in plain ExpressPass, whose receivers know of one gap at a time.

use model::wire::declared::{given, piece, when};
use model::{Class, Packet};

model::header! {
    pub(super) static CODEC: "ExpressPass" = 1;
    answers |data: Data, credit: Credit| data.echo == credit.sequence & ECHO;
    /// Lets the sender put one frame of data on the wire.
    Credit = 0 "CREDIT" Credit, short {
        nth: u8 = 64..68 "the last request before it, modulo 2^4", aside;
        sequence: u32 = 68..96 "number of the credit, modulo 2^28 in a packet";
    }
    says |credit, _| format!(" {}", credit.sequence);
    /// One frame of data, and the credit that it answers.
    Data = 1 "DATA" Scheduled | Unscheduled {
        offset: u64 = 0..48 "byte offset of the payload in the stream";
        length: u16 = 48..64 "bytes of payload; 0 in an empty frame";
        blanks: u64 = 64..74 "empty frames before this one, modulo 2^10 in a packet";
        echo: u32 = 74..96 "number of the credit that it answers, modulo 2^22 in a packet";
        exchange: bool = 96..97 "one message goes each way: where it may open the connection, which is without a credit";
        again: bool = 97..98 "the frame has been sent before", aside;
        one_shot: bool = 98..99 "the connection carries this one message and is then forgotten";
        end: bool = 99..100 "the message ends with this frame";
    }
    carries |data| (data.offset, data.length);
    must "length" |data| data.length > 0 || data.end;
    must "offset" |data| data.offset + u64::from(data.length) < POSITION_LIMIT;
    must "flags" |data| data.one_shot || !data.exchange;
    says |data, packet| {
        let how = if packet.class() == Class::Unscheduled { ", unscheduled".to_owned() } else { format!("{}, credit {}", when(data.again, " again"), data.echo) };
        format!(" {}{}{how}", piece(data.offset, data.length), when(data.end, " end"))
    };
    /// Asks for credits.
    Request = 2 "REQUEST" Control | Scheduled | Unscheduled, opens {
        next: u64 = 0..48 "the first position that credits are wanted for";
        unasked: u16 = 48..64 "frames that follow without a credit", aside;
        crowd: u8 = 64..68 "connections of this host that want credits, rounded up to a power of two: its exponent", aside;
        nth: u8 = 68..72 "which request of this direction, modulo 2^4", aside;
        packets: u32 = 72..96 "frames from there on";
        exchange: bool = 97..98 "one message goes each way";
        one_shot: bool = 98..99 "the connection carries this one message and is then forgotten";
        known: bool = 99..100 "all has left once, and the receiver has answered before", aside;
    }
    must "packets" |request| request.packets > 0;
    must "flags" |request| request.one_shot || !request.exchange;
    says |request, _| {
        let (unasked, crowd) = (request.unasked, request.crowd);
        let more = [given(unasked > 0, || format!(", {unasked} unasked")), given(crowd > 0, || format!(", among {}", 1u32 << crowd))].concat();
        format!(" from {}, {} packet{}{more}{}", request.next, request.packets, when(request.packets != 1, "s"), when(request.known, ", all sent"))
    };
    /// Asks for no more of them.
    Stop = 3 "STOP" Control | Scheduled | Unscheduled {
        end: u64 = 0..48 "end of the stream";
        answered: u16 = 48..64 "last credit answered, modulo 2^16";
        nth: u8 = 64..68 "which request was the last before it, modulo 2^4", aside;
        early: bool = 96..97 "data is left; the credits that are under way will fetch it";
        one_shot: bool = 98..99 "the connection carries this one message and is then forgotten";
        gone: bool = 99..100 "the sender knows nothing of this connection";
    }
    must "flags" |stop| !(stop.early && stop.gone);
    says |stop, _| match stop.reason() {
        StopReason::AllSent => format!(" at {}", stop.end),
        StopReason::Early => format!(" early, end at {}", stop.end),
        StopReason::Gone => " unknown here".to_owned(),
    };
    /// Something is missing: send again from here.
    Nack = 4 "NACK" Control {
        next: u64 = 0..48 "first position that has not arrived";
        heard: u16 = 48..64 "last credit heard of, modulo 2^16";
        missing: u32 = 64..96 "positions missing, 0 for everything";
    }
    says |nack, _| match (nack.next, u64::from(nack.missing)) {
        (next, 0) => format!(" {next}"),
        (next, missing) => format!(" {next}..{} as of credit {}", next + missing, nack.heard),
    };
    /// Everything up to here has arrived.
    StopAck = 5 "STOP_ACK" Control {
        next: u64 = 0..48 "first position that has not arrived";
        gone: bool = 99..100 "the receiver knows nothing of this connection";
    }
    must "reserved" |ack| ack.next == 0 || !ack.gone;
    says |ack, _| if ack.gone { " unknown here".to_owned() } else { format!(" {}", ack.next) };
    /// This one unscheduled packet has arrived. [aeolus s3.3]
    Ack = 6 "ACK" Control {
        position: u64 = 0..48 "position of the unscheduled packet";
        arrived: u64 = 48..96 "first position that has not arrived: what a lost one said";
    }
    says |ack, _| format!(" {}, all before {}", ack.position, ack.arrived);
    /// The last unscheduled packet was this one. [aeolus s3.3]
    Probe = 7 "PROBE" Control | Scheduled | Unscheduled {
        position: u64 = 0..48 "position of an unscheduled packet";
        last: bool = 99..100 "the burst ends before it";
    }
    says |probe, _| format!(" {}{}", probe.position, when(probe.last, ", the last"));
    /// The probe of this packet has arrived.
    ProbeAck = 8 "PROBE_ACK" Control {
        position: u64 = 0..48 "position of the unscheduled packet";
        arrived: u64 = 48..96 "first position that has not arrived";
    }
    says |ack, _| format!(" {}, all before {}", ack.position, ack.arrived);
    /// The request has come, and credits are given for it. [ours]
    Heard = 9 "HEARD" Control {
        position: u64 = 0..48 "position of the request";
        nth: u8 = 64..68 "which request it was, modulo 2^4", aside;
        asks: bool = 99..100 "nobody answers the credits; does the sender still want any?";
    }
    says |heard, _| format!(" from {}{}", heard.position, when(heard.asks, ", still there?"));
}

/// Positions and offsets lie below this.
pub(super) const POSITION_LIMIT: u64 = 1 << 48;
/// The part of the credit sequence that DATA echoes. It is in the low byte of the head: where packets
/// are sprayed, data takes the way of its credit.
pub(super) const ECHO: u32 = (1 << 22) - 1;
/// The part of it that a credit says.
pub(super) const SEQUENCE: u32 = (1 << 28) - 1;
/// Empty frames are counted modulo this.
pub(super) const BLANKS_MODULUS: u64 = 1 << 10;

/// What a STOP says of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StopReason {
    /// All of it has been sent.
    AllSent,
    /// Some is left, for which enough credits are under way.
    Early,
    /// The sender does not know the connection.
    Gone,
}

impl Stop {
    /// Why the sender wants no more credits.
    pub(super) const fn reason(self) -> StopReason {
        match (self.early, self.gone) {
            (_, true) => StopReason::Gone,
            (true, false) => StopReason::Early,
            (false, false) => StopReason::AllSent,
        }
    }

    /// A STOP at the stream's `end`.
    pub(super) fn new(end: u64, reason: StopReason, one_shot: bool) -> Self {
        Self {
            end,
            answered: 0,
            nth: 0,
            early: reason == StopReason::Early,
            one_shot,
            gone: reason == StopReason::Gone,
        }
    }
}

impl Data {
    /// With its counters as a packet carries them.
    #[inline]
    pub(super) const fn counted(self, one_shot: bool) -> Self {
        Self {
            blanks: self.blanks % BLANKS_MODULUS,
            echo: self.echo & ECHO,
            one_shot,
            ..self
        }
    }

    /// Positions that it takes: one per byte, or one.
    #[inline]
    pub(super) fn positions(self) -> u64 {
        self.length.max(1).into()
    }
}

/// Frames that a request can name; more are as many.
pub(super) const PACKETS_MAX: u32 = (1 << 24) - 1;
/// Requests are counted modulo this.
const REQUESTS_MODULUS: u8 = 1 << 4;
/// The largest crowd that a request can name, as an exponent of two.
pub(super) const CROWD_MAX: u8 = 15;

/// The number of the request behind that one.
pub(super) const fn next_request(nth: u8) -> u8 {
    (nth + 1) % REQUESTS_MODULUS
}

/// The earliest of those whose answers can be told from older ones, where the last is this one.
pub(super) const fn earliest(first: u8, last: u8) -> u8 {
    const TOLD: u8 = REQUESTS_MODULUS / 2 - 1;
    if last.wrapping_sub(first) % REQUESTS_MODULUS <= TOLD {
        first
    } else {
        last.wrapping_sub(TOLD) % REQUESTS_MODULUS
    }
}

/// Whether the request of one number left behind that of another, of those that may be under way at once.
pub(super) const fn is_later(nth: u8, than: u8) -> bool {
    let behind = nth.wrapping_sub(than) % REQUESTS_MODULUS;
    0 < behind && behind < REQUESTS_MODULUS / 2
}

/// How many credits after the echoed one the receiver gave, if it gave `given` in all.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the echo has the low bits alone"
)]
pub(super) const fn credits_since(given: u64, echo: u32) -> u32 {
    (given as u32).wrapping_sub(echo) & ECHO
}

/// Turns a DATA frame into one that no credit released, and a PROBE into one that stays behind those.
#[inline]
pub(super) fn unscheduled(mut packet: Packet) -> Packet {
    packet.set_class(Class::Unscheduled);
    packet
}

/// Turns what a sender says of its data into data of `class` where control packets pass data: STOP and PROBE say that what left
/// before them is lost if it has not come, and a REQUEST takes back an earlier STOP.
pub(super) fn in_band(packet: &mut Packet, class: Class) {
    let of_sender = matches!(
        Kind::of(packet),
        Some(Kind::Request | Kind::Stop | Kind::Probe)
    );
    if of_sender && packet.class() == Class::Control {
        packet.set_class(class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnId, HostId};

    #[test]
    fn an_echo_finds_its_credit_across_the_wrap() {
        assert_eq!(credits_since(5, 3), 2);
        assert_eq!(credits_since((1 << 22) + 1, ECHO), 2);
        assert_eq!(credits_since(3 << 32, 0), 0);
    }

    #[test]
    fn only_what_a_sender_says_of_its_data_goes_with_the_data() {
        let class_of = |mut packet: Packet| {
            in_band(&mut packet, Class::Scheduled);
            packet.class()
        };
        let (to, conn) = (HostId(1), ConnId(7));
        let stop = Stop {
            end: 9,
            answered: 0,
            nth: 0,
            early: false,
            one_shot: false,
            gone: false,
        };
        let stop = stop.packet(to, conn, 84);
        assert_eq!(class_of(stop), Class::Scheduled);
        let probe = Probe {
            position: 9,
            last: true,
        };
        let probe = probe.packet(to, conn, 84);
        assert_eq!(class_of(probe), Class::Scheduled);
        assert_eq!(class_of(unscheduled(probe)), Class::Unscheduled);
        let ack = StopAck {
            next: 9,
            gone: false,
        };
        assert_eq!(class_of(ack.packet(to, conn, 84)), Class::Control);
    }
}
