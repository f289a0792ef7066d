//! The role that has data: it announces a message that needs credit, sends what may leave unasked, and the rest for
//! credit.

use super::header::{Credit, Data, POSITION_MAX, Request, told};
use super::ranks::Rank;
use super::settings::Settings;
use model::Lifetime;
use parts::connections::Sending;
use parts::range_set::RangeSet;
use parts::waiting::Waiting;
use std::collections::VecDeque;
use units::{Span, Time};

/// Credits of one message that are kept: more than the largest `pair` of a fast line has. [ours]
const HELD_MAX: usize = 8192;
/// Places that it remembers to have left out; beyond, the first copy of a frame counts as another. [ours]
const LEFT_OUT_MAX: usize = 1024;
/// So often a sender says something within the timeout, although the line takes nothing else of its message. [ours]
const SAYS: u64 = 4;
/// Round trips in which a receiver that has taken credit back gives it for what comes all the same; holes wait longer. [ours]
const CROSSING_RTTS: u64 = 3;
/// Questions that are counted: the waits do not grow beyond. [ours]
const ASKED_MAX: u8 = 6;

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

/// One direction of a connection, at its sender. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// The messages behind the one under way.
    waiting: Waiting,
    /// Messages that are done.
    pub(super) ordinal: u32,
    active: bool,
    /// Where it begins and ends in the stream.
    base: u64,
    end: u64,
    /// What of it has left, and behind the last byte that has.
    left: RangeSet<LEFT_OUT_MAX>,
    high: u64,
    /// Where what has left without a rest of a round trip begins, and when the last of it left.
    burst: u64,
    burst_at: Time,
    /// Where what was on its way when credit was taken back begins, and until when credit had not seen it.
    crossed: u64,
    crossed_until: Time,
    /// The next frame that leaves unasked, and behind the last that does.
    next_free: u64,
    free: u64,
    /// Credit, in the order in which it came, its round, and behind the farthest of it.
    held: VecDeque<Held>,
    round: u8,
    credited: u64,
    /// Wire bytes that may leave unasked, and for credit.
    free_wire: u64,
    held_wire: u64,
    pub(super) counted: Counted,
    /// REQUEST has to leave; something of the message has left; it says another end than before.
    owes: bool,
    announced: bool,
    cut: bool,
    /// The receiver has said something of the message.
    answered: bool,
    /// When it did, or the message began; when anything of it left.
    heard: Time,
    left_at: Time,
    asked: u8,
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

/// What a sender does when a moment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing: it was too early.
    Wait,
    /// It announces its message again.
    Repeat,
    /// It asks whether the receiver still knows of it.
    Ask,
    /// It gives up.
    GiveUp,
}

impl Sender {
    /// Queues a message, where the receiver may be sent `room` wire bytes unasked; false where the stream has no room.
    pub(super) fn push(&mut self, now: Time, length: u64, room: u64, settings: &Settings) -> bool {
        let fits = self.waiting.push(self.end, length, POSITION_MAX);
        if fits && !self.active {
            self.begin(now, room, settings);
        }
        fits
    }

    /// The next message begins, if one waits.
    fn begin(&mut self, now: Time, room: u64, settings: &Settings) {
        let Some(length) = self.waiting.pop() else {
            return;
        };
        let free = settings.free(length, room);
        self.active = true;
        // What leaves whole announces itself.
        self.owes = free < length || length == 0;
        (self.end, self.high, self.next_free) = (self.base + length, self.base, self.base);
        (self.free, self.credited) = (self.base + free, self.base);
        self.free_wire = settings.wire_total(free);
        (self.heard, self.left_at) = (now, now);
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time, room: u64, settings: &Settings) {
        *self = Self {
            waiting: std::mem::take(&mut self.waiting),
            ordinal: self.ordinal.wrapping_add(1),
            base: self.end,
            end: self.end,
            high: self.end,
            counted: self.counted,
            asks: self.asks,
            ..Self::default()
        };
        self.begin(now, room, settings);
    }

    /// Takes back what has not left. REQUEST says where the message ends now.
    pub(super) fn cancel(&mut self, settings: &Settings) {
        self.waiting.clear();
        if self.active && self.high < self.end {
            (self.end, self.owes, self.cut) = (self.high, true, self.announced);
            self.free = self.free.min(self.end);
            let (high, encap) = (self.high, settings.encap);
            let held_wire = &mut self.held_wire;
            self.held.retain(|held| {
                let stays = held.offset + u64::from(held.length) <= high;
                if !stays {
                    *held_wire -= u64::from(encap.wire(held.length));
                }
                stays
            });
            self.free_wire = settings.wire_total(self.free.saturating_sub(self.next_free));
        }
    }

    /// Bytes that have not left, which are what the line chooses by. [sird artefact: `unsent_bytes_`]
    #[inline]
    fn to_go(&self) -> u64 {
        self.end - self.base - self.left.total()
    }

    /// Whether REQUEST has to leave.
    #[inline]
    pub(super) fn owes_request(&self) -> bool {
        self.owes
    }

    /// Whether data may leave.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.next_free < self.free || !self.held.is_empty()
    }

    /// What its host and peer are to count, where it is the `order`-th connection, in `slot`.
    #[inline]
    pub(super) fn counts(&self, order: u32, slot: u32) -> Counted {
        let to_go = self.to_go();
        Counted {
            unspent: self.free_wire + self.held_wire,
            outbound: self.active && to_go > 0,
            rank: self.is_ready().then_some((to_go, order, slot)),
        }
    }

    /// Whether credit releases what leaves next.
    #[inline]
    pub(super) fn is_scheduled(&self) -> bool {
        self.next_free >= self.free
    }

    /// REQUEST leaves; whether something of the message has before.
    pub(super) fn take_request(
        &mut self,
        now: Time,
        lifetime: Lifetime,
        answer: bool,
    ) -> (Request, bool) {
        let before = std::mem::replace(&mut self.announced, true);
        (self.owes, self.left_at) = (false, now);
        // What left unasked may be lost: whoever asks again wants credit for all of it.
        let free = if before { 0 } else { self.free - self.base };
        let request = Request {
            at: self.end,
            ordinal: told(self.ordinal),
            lifetime,
            answer,
            known: self.answered,
            free: u32::try_from(free).unwrap_or(u32::MAX).min(u32::MAX >> 1),
            cut: self.cut,
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
        let scheduled = self.is_scheduled();
        let (offset, length, number) = if scheduled {
            let held = self.held.pop_front().expect("only who is ready sends");
            self.held_wire -= u64::from(settings.encap.wire(held.length));
            (held.offset, held.length, u32::from(held.number))
        } else {
            let rest = (self.free - self.next_free).min(settings.payload_max.into());
            #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
            let length = rest as u16;
            let behind = self.free - self.next_free - rest;
            (
                self.next_free,
                length,
                u32::try_from(behind).unwrap_or(u32::MAX),
            )
        };
        let until = offset + u64::from(length);
        let again = offset < self.high && self.left.holding(offset).is_some();
        if !again {
            self.left.insert(offset, until);
            self.high = self.high.max(until);
        }
        let rests = now > self.burst_at.after(settings.rtt);
        self.burst = if rests {
            offset
        } else {
            self.burst.min(offset)
        };
        self.burst_at = now;
        if self.next_free < self.free {
            if !scheduled {
                self.next_free = until;
            }
            self.skip_free();
            self.free_wire = settings.wire_total(self.free - self.next_free);
        }
        (self.left_at, self.announced) = (now, true);
        let data = Data {
            offset,
            length,
            number,
            whole: !scheduled && self.free == self.end && !self.cut,
            first: self.ordinal == 0,
            lifetime,
            answer,
            congested: false,
        };
        Piece {
            data,
            scheduled,
            again,
        }
    }

    /// What has left need not leave unasked.
    #[inline]
    fn skip_free(&mut self) {
        while self.next_free < self.free
            && let Some((_, until)) = self.left.holding(self.next_free)
        {
            self.next_free = until;
        }
        self.next_free = self.next_free.min(self.free);
    }

    /// A credit of a newer round: what the receiver had given before, or let leave unasked, it has taken back.
    #[cold]
    fn begin_round(&mut self, now: Time, round: u8, settings: &Settings) {
        self.held.clear();
        (self.round, self.held_wire, self.credited) = (round, 0, self.base);
        (self.free, self.free_wire) = (self.next_free, 0);
        if now <= self.burst_at.after(settings.rtt) {
            // A pause had kept it, perhaps: it cannot have come before the credit left.
            self.crossed = self.burst;
            self.crossed_until = now.after(settings.rtt.times(CROSSING_RTTS));
        }
    }

    /// Whether what begins there was on its way when this credit left.
    #[inline]
    fn has_crossed(&self, now: Time, offset: u64) -> bool {
        now <= self.crossed_until && offset >= self.crossed && self.left.holding(offset).is_some()
    }

    /// The receiver has said something of the message.
    fn hear(&mut self, now: Time) {
        (self.heard, self.answered, self.asked) = (now, true, 0);
    }

    /// Credit for a piece; whether there is something to send for it.
    #[inline]
    pub(super) fn on_credit(&mut self, now: Time, credit: &Credit, settings: &Settings) -> bool {
        let inside = self.active && self.base <= credit.offset && credit.offset < self.end;
        if !inside {
            return false;
        }
        let newer = credit.round.wrapping_sub(self.round);
        if newer > 0 && newer < 1 << 7 {
            self.begin_round(now, credit.round, settings);
        } else if newer > 0 {
            return false;
        }
        self.hear(now);
        let until = (credit.offset + u64::from(credit.length)).min(self.end);
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
        if self.active && next && ordinal == told(self.ordinal) {
            self.hear(now);
        }
        self.may_be_done(ordinal)
    }

    /// Whether the receiver may have said that all has arrived.
    pub(super) fn may_be_done(&self, ordinal: u16) -> bool {
        let this = ordinal == told(self.ordinal.wrapping_add(1));
        self.active && self.announced && self.high == self.end && this
    }

    /// When silence means something.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.active || self.owes {
            return Time::NEVER;
        }
        // What could leave unasked may wait for the line as long as anything else.
        let since = self.heard.max(self.left_at);
        let due = since.after(settings.patience(self.answered, self.asked));
        // Whoever hears credits and says nothing is given up by their receiver.
        due.min(self.left_at.after(Span(settings.timeout.0 / SAYS)))
    }

    /// How long the silence lasts by then.
    pub(super) fn patience(&self, settings: &Settings) -> Span {
        settings.patience(self.answered, self.asked)
    }

    /// The moment of [`Sender::due`] may have come.
    pub(super) fn on_silence(&mut self, now: Time, settings: &Settings) -> Silence {
        if self.due(settings) > now {
            return Silence::Wait;
        }
        if now >= self.heard.after(settings.timeout) {
            return Silence::GiveUp;
        }
        self.asked = (self.asked + 1).min(ASKED_MAX);
        self.owes = true;
        if self.answered {
            Silence::Ask
        } else {
            Silence::Repeat
        }
    }

    /// A pause explains the silence: it counts from now on.
    pub(super) fn excuse(&mut self, now: Time) {
        (self.heard, self.left_at) = (now, now);
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let state = format!(
            "sending message {}, {} of {} B have left",
            self.ordinal,
            self.left.total(),
            self.end - self.base
        );
        let asks = self.due(settings);
        let waits_for = if self.owes || self.is_ready() {
            "the line".to_owned()
        } else if self.high < self.end {
            format!("credit, or asks again at {asks}")
        } else {
            format!("credit or an ACK, or asks again at {asks}")
        };
        self.active.then_some((state, waits_for))
    }
}

impl Sending for Sender {
    fn is_idle(&self) -> bool {
        !self.active
    }

    fn is_used(&self) -> bool {
        self.active || self.ordinal > 0
    }

    fn check(&self) {
        assert!(self.held.len() <= HELD_MAX && (self.held_wire > 0) != self.held.is_empty());
        let order = [self.base, self.high, self.end];
        assert!(order.is_sorted(), "base, high, end: {order:?}");
        self.left.check();
        self.waiting.check();
        assert_eq!(self.counted.unspent, self.free_wire + self.held_wire);
        if self.active {
            assert!(self.free <= self.end);
        } else {
            assert!(self.waiting.is_empty() && !self.is_ready() && self.left.is_empty());
        }
    }
}
