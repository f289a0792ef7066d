//! The role that has data: it announces a message that needs credit, sends what may leave unasked, and the rest for
//! credit.

use super::header::{Credit, Data, POSITION_MAX, Request};
use super::ranks::Rank;
use super::settings::Settings;
use model::Lifetime;
use parts::announced::Announced;
use parts::connections::{Sending, told};
use std::collections::VecDeque;
use units::{Span, Time};

/// Credits of one message that are kept: more than the largest `pair` of a fast line has. [ours]
const HELD_MAX: usize = 8192;
/// So often a sender says something within the timeout, although the line takes nothing else of its message. [ours]
const SAYS: u64 = 4;
/// Round trips in which a receiver that has taken credit back gives it for what comes all the same; holes wait longer. [ours]
const CROSSING_RTTS: u64 = 3;

/// Credit that waits for the line: one frame.
#[derive(Clone, Copy, Debug)]
struct Held {
    offset: u64,
    length: u16,
    number: u16,
}

/// What of a message is counted with its host and peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Wire bytes that may leave.
    pub(super) unspent: u64,
    /// Part of it has not left.
    pub(super) outbound: bool,
    /// Its place among those of which a packet may leave.
    pub(super) rank: Option<Rank>,
}

/// One direction of a connection, at its sender.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) message: Announced,
    /// Where what has left without a rest of a round trip begins, and when the last of it left.
    burst: u64,
    burst_at: Time,
    /// Where what was on its way when credit was taken back begins, and until when credit had not seen it.
    crossed: u64,
    crossed_until: Time,
    /// Credit, in the order in which it came, its round, and behind the farthest of it.
    held: VecDeque<Held>,
    round: u8,
    credited: u64,
    /// Wire bytes that may leave unasked, and for credit.
    free_wire: u64,
    held_wire: u64,
    pub(super) counted: Counted,
    /// It stands among those that owe REQUEST.
    pub(super) asks: bool,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) data: Data,
    pub(super) scheduled: bool,
    /// It left before.
    pub(super) again: bool,
}

impl Sender {
    /// Queues a message, where the receiver may be sent `room` wire bytes unasked; false where the stream has no room.
    pub(super) fn push(&mut self, now: Time, length: u64, room: u64, settings: &Settings) -> bool {
        let fits = self.message.push(length, POSITION_MAX);
        let next = self.message.begin(now);
        self.begin(next, room, settings);
        fits
    }

    /// The next message has begun, if one waited and none was under way.
    fn begin(&mut self, next: Option<u64>, room: u64, settings: &Settings) {
        let Some(length) = next else {
            return;
        };
        let free = settings.free(length, room);
        self.message.free_first(free);
        if free == length && length > 0 {
            self.message.announces_itself();
        }
        self.credited = self.message.base();
        self.free_wire = settings.wire_total(free);
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time, room: u64, settings: &Settings) {
        let mut message = std::mem::take(&mut self.message);
        let next = message.finish(now);
        *self = Self {
            message,
            counted: self.counted,
            asks: self.asks,
            ..Self::default()
        };
        self.begin(next, room, settings);
    }

    /// Takes back what has not left. REQUEST says where the message ends now.
    pub(super) fn cancel(&mut self, settings: &Settings) {
        if !self.message.cancel() {
            return;
        }
        let (high, encap) = (self.message.high(), settings.encap);
        let held_wire = &mut self.held_wire;
        self.held.retain(|held| {
            let stays = held.offset + u64::from(held.length) <= high;
            if !stays {
                *held_wire -= u64::from(encap.wire(held.length));
            }
            stays
        });
        self.free_wire = settings.wire_total(self.message.unasked_bytes());
    }

    /// Whether data may leave.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.message.unasked().is_some() || !self.held.is_empty()
    }

    /// What its host and peer are to count, where the message is so old if it is ready, on the connection in `slot`.
    #[inline]
    pub(super) fn counts(&self, age: Option<u32>, slot: u32) -> Counted {
        // The line chooses by the bytes that have not left. [sird artefact: `unsent_bytes_`]
        let to_go = self.message.to_go();
        Counted {
            unspent: self.free_wire + self.held_wire,
            outbound: to_go > 0,
            rank: age.map(|age| (to_go, age, slot)),
        }
    }

    /// Whether credit releases what leaves next.
    #[inline]
    pub(super) fn is_scheduled(&self) -> bool {
        self.message.unasked().is_none()
    }

    /// REQUEST leaves; whether something of the message has before.
    pub(super) fn take_request(
        &mut self,
        now: Time,
        lifetime: Lifetime,
        answer: bool,
    ) -> (Request, bool) {
        let message = &mut self.message;
        let before = message.announce(now);
        // What left unasked may be lost: whoever asks again wants credit for all of it.
        let free = if before { 0 } else { message.unasked_first() };
        let request = Request {
            at: message.end(),
            ordinal: told(message.ordinal()),
            lifetime,
            answer,
            known: message.is_answered(),
            free: u32::try_from(free).unwrap_or(u32::MAX).min(u32::MAX >> 1),
            cut: message.is_cut(),
        };
        (request, before)
    }

    /// Takes the next piece, where [`Sender::is_ready`].
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Time,
        settings: &Settings,
        lifetime: Lifetime,
        answer: bool,
    ) -> Piece {
        let message = &mut self.message;
        let unasked = message.unasked();
        let (offset, length, number) = if let Some(offset) = unasked {
            let bytes = message.unasked_bytes();
            let rest = bytes.min(settings.payload_max.into());
            #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
            let length = rest as u16;
            (
                offset,
                length,
                u32::try_from(bytes - rest).unwrap_or(u32::MAX),
            )
        } else {
            let held = self.held.pop_front().expect("only who is ready sends");
            self.held_wire -= u64::from(settings.encap.wire(held.length));
            (held.offset, held.length, held.number.into())
        };
        let again = message.leave(now, offset, offset + u64::from(length));
        let rests = now > self.burst_at.after(settings.rtt);
        self.burst = if rests {
            offset
        } else {
            self.burst.min(offset)
        };
        self.burst_at = now;
        if unasked.is_some() {
            self.free_wire = settings.wire_total(message.unasked_bytes());
        }
        let data = Data {
            offset,
            length,
            number,
            whole: unasked.is_some()
                && message.unasked_first() == message.length()
                && !message.is_cut(),
            first: message.ordinal() == 0,
            lifetime,
            answer,
            congested: false,
        };
        Piece {
            data,
            scheduled: unasked.is_none(),
            again,
        }
    }

    /// A credit of a newer round: what the receiver had given before, or let leave unasked, it has taken back.
    #[cold]
    fn begin_round(&mut self, now: Time, round: u8, settings: &Settings) {
        self.held.clear();
        (self.round, self.held_wire, self.credited) = (round, 0, self.message.base());
        self.message.free_no_more();
        self.free_wire = 0;
        if now <= self.burst_at.after(settings.rtt) {
            // A pause had kept it, perhaps: it cannot have come before the credit left.
            self.crossed = self.burst;
            self.crossed_until = now.after(settings.rtt.times(CROSSING_RTTS));
        }
    }

    /// Whether what begins there was on its way when this credit left.
    #[inline]
    fn has_crossed(&self, now: Time, offset: u64) -> bool {
        now <= self.crossed_until && offset >= self.crossed && self.message.has_left(offset)
    }

    /// Credit for a piece; whether there is something to send for it.
    #[inline]
    pub(super) fn on_credit(&mut self, now: Time, credit: &Credit, settings: &Settings) -> bool {
        let (base, end) = (self.message.base(), self.message.end());
        if credit.offset < base || credit.offset >= end {
            return false;
        }
        let newer = credit.round.wrapping_sub(self.round);
        if newer > 0 && newer < 1 << 7 {
            self.begin_round(now, credit.round, settings);
        } else if newer > 0 {
            return false;
        }
        self.message.hear(now);
        let until = (credit.offset + u64::from(credit.length)).min(end);
        let holds = |held: &Held| {
            held.offset < until && credit.offset < held.offset + u64::from(held.length)
        };
        if credit.offset < self.credited && self.held.iter().any(holds) {
            return false;
        }
        if self.has_crossed(now, credit.offset) {
            return false;
        }
        self.credited = self.credited.max(until);
        let mut offset = credit.offset;
        // Its frames may be longer than ours.
        while offset < until && self.held.len() < HELD_MAX {
            let rest = (until - offset).min(settings.payload_max.into());
            #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
            let length = rest as u16;
            self.held.push_back(Held {
                offset,
                length,
                number: credit.number,
            });
            self.held_wire += u64::from(settings.encap.wire(length));
            offset += rest;
        }
        true
    }

    /// The receiver tells how many messages it has: whether this one is among them.
    pub(super) fn on_ack(&mut self, now: Time, ordinal: u16, next: bool) -> bool {
        if next && ordinal == told(self.message.ordinal()) {
            self.message.hear_wait(now);
        }
        self.may_be_done(ordinal)
    }

    /// Whether the receiver may have said that all has arrived.
    pub(super) fn may_be_done(&self, ordinal: u16) -> bool {
        ordinal == told(self.message.ordinal().wrapping_add(1)) && self.message.may_be_done()
    }

    /// When silence means something.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        // Whoever hears credits and says nothing is given up by their receiver.
        let says = self.message.quiet(Span(settings.timeout.0 / SAYS));
        self.message.due(settings.rto).min(says)
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let asks = self.due(settings);
        let waits_for = if self.message.owes() || self.is_ready() {
            "the line".to_owned()
        } else if self.message.may_be_done() {
            format!("credit or an ACK, or asks again at {asks}")
        } else {
            format!("credit, or asks again at {asks}")
        };
        Some((self.message.state()?, waits_for))
    }
}

impl Sending for Sender {
    fn is_idle(&self) -> bool {
        self.message.is_idle()
    }

    fn done(&self) -> u32 {
        self.message.ordinal()
    }

    fn check(&self) {
        self.message.check();
        assert!(self.held.len() <= HELD_MAX && (self.held_wire > 0) != self.held.is_empty());
        assert_eq!(self.counted.unspent, self.free_wire + self.held_wire);
        assert!(!self.is_idle() || !self.is_ready());
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::Params;
    use super::*;
    use model::{Encap, EndpointConfig, HostId};
    use units::Rate;

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Sender); 2] = [|x| x.held_wire = 84, |x| x.counted.unspent = 84];
        Sender::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Sender::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }

    #[test]
    fn a_request_says_of_what_leaves_unasked_no_more_than_it_can() {
        let mut sender = Sender::default();
        assert!(sender.message.push(1 << 33, u64::MAX));
        sender.message.begin(Time::ZERO);
        sender.message.free_first(1 << 33);
        let (request, _) = sender.take_request(Time::ZERO, Lifetime::Persistent, false);
        assert_eq!(request.free, u32::MAX >> 1);
    }

    #[test]
    fn a_sender_that_only_hears_says_something_four_times_within_the_timeout() {
        let config = EndpointConfig::new(HostId(0), Rate::gbps(100), Encap::PAPER);
        let mut settings = Settings::new(&Params::DEFAULT, &config);
        (settings.rto, settings.timeout) = (Span::us(900), Span::ms(8));
        let (mut sender, at) = (Sender::default(), |us| Time::ZERO.after(Span::us(us)));
        assert!(sender.message.push(9_000, u64::MAX));
        sender.message.begin(at(0));
        sender.take_request(at(10), Lifetime::Persistent, false);
        assert_eq!(sender.due(&settings), at(910), "no answer has come");
        sender.message.hear(at(1_500));
        assert_eq!(sender.due(&settings), at(2_010));
    }
}
