//! The role that has data: it announces each message, sends short ones unasked, and the others for tokens.

use super::header::{Data, POSITION_MAX, Rts, Token, told};
use super::settings::Settings;
use model::Lifetime;
use parts::connections::Sending;
use parts::range_set::RangeSet;
use parts::waiting::Waiting;
use std::collections::VecDeque;
use units::{Span, Time};

/// Tokens of one message that are kept: an honest receiver gives a window of them, and each lives for an epoch. [ours]
const TOKENS_MAX: usize = 1024;
/// Places that it remembers to have left out; beyond, the first copy of a frame counts as another. [ours]
const LEFT_OUT_MAX: usize = 1024;
/// Questions that are counted: the waits do not grow beyond. [ours]
const ASKED_MAX: u8 = 6;

/// A token that waits for the line.
#[derive(Clone, Copy, Debug)]
struct Held {
    offset: u64,
    number: u16,
    rank: u8,
    until: Time,
}

/// What leaves unasked is served before what has tokens. [dcpim artefact]
const UNASKED_RANK: u8 = 1;
/// Bits of a position: ranks stand above them.
const POSITION_BITS: u32 = 48;

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
    /// The next frame that leaves unasked, and behind the last that does.
    next_free: u64,
    free: u64,
    /// Tokens, in the order in which they came.
    tokens: VecDeque<Held>,
    /// RTS has to leave; it has left before; it says another end than before.
    owes: bool,
    announced: bool,
    cut: bool,
    /// The receiver has said something of the message.
    answered: bool,
    /// When it did, or the message began; when anything of it left.
    heard: Time,
    left_at: Time,
    asked: u8,
    /// It is among the messages that the line chooses from.
    pub(super) queued: bool,
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
    /// Queues a message; false where the stream has no room for it.
    pub(super) fn push(&mut self, now: Time, length: u64, settings: &Settings) -> bool {
        let fits = self.waiting.push(self.end, length, POSITION_MAX);
        if fits && !self.active {
            self.begin(now, settings);
        }
        fits
    }

    /// The next message begins, if one waits.
    fn begin(&mut self, now: Time, settings: &Settings) {
        let Some(length) = self.waiting.pop() else {
            return;
        };
        (self.active, self.owes) = (true, true);
        (self.end, self.high, self.next_free) = (self.base + length, self.base, self.base);
        let unasked = if settings.is_short(length) { length } else { 0 };
        self.free = self.base + unasked;
        (self.heard, self.left_at) = (now, now);
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time, settings: &Settings) {
        *self = Self {
            waiting: std::mem::take(&mut self.waiting),
            ordinal: self.ordinal.wrapping_add(1),
            base: self.end,
            end: self.end,
            high: self.end,
            queued: self.queued,
            ..Self::default()
        };
        self.begin(now, settings);
    }

    /// Takes back what has not left. RTS says where the message ends now.
    pub(super) fn cancel(&mut self) {
        self.waiting.clear();
        if self.active && self.high < self.end {
            (self.end, self.owes, self.cut) = (self.high, true, self.announced);
            self.free = self.free.min(self.end);
            self.tokens.retain(|held| held.offset < self.high);
        }
    }

    /// What the line chooses by: announcements, what leaves unasked, then the rank of the oldest token; among equals
    /// the fewest bytes that have not left. [dcpim artefact]
    #[inline]
    pub(super) fn by(&self) -> u64 {
        if self.owes {
            return 0;
        }
        let rank = self.tokens.front().map_or(UNASKED_RANK, |held| held.rank);
        let to_go = self.end - self.base - self.left.total();
        u64::from(rank) << POSITION_BITS | to_go
    }

    /// Whether RTS is what leaves next.
    #[inline]
    pub(super) fn owes_rts(&self) -> bool {
        self.owes
    }

    /// Whether a packet may leave, as far as tokens have not run out.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.owes || self.next_free < self.free || !self.tokens.is_empty()
    }

    /// Whether one may leave now.
    pub(super) fn is_ready_at(&self, now: Time) -> bool {
        let valid = |held: &Held| held.until >= now;
        self.owes || self.next_free < self.free || self.tokens.iter().any(valid)
    }

    /// Drops tokens that have run out: how many.
    #[inline]
    pub(super) fn drop_old(&mut self, now: Time) -> u64 {
        let mut old = 0;
        while self.tokens.front().is_some_and(|held| held.until < now) {
            self.tokens.pop_front();
            old += 1;
        }
        old
    }

    /// The priority of its data.
    #[inline]
    pub(super) fn priority(&self, settings: &Settings) -> u8 {
        settings.priority(self.end - self.base)
    }

    /// RTS leaves; whether it has before.
    pub(super) fn take_rts(
        &mut self,
        now: Time,
        frame: u16,
        lifetime: Lifetime,
        answer: bool,
    ) -> (Rts, bool) {
        let before = std::mem::replace(&mut self.announced, true);
        (self.owes, self.left_at) = (false, now);
        let rts = Rts {
            at: self.end,
            ordinal: told(self.ordinal),
            lifetime,
            answer,
            known: self.answered,
            frame,
            unasked: self.free > self.base && self.free == self.end,
            cut: self.cut,
        };
        (rts, before)
    }

    /// Takes the next piece, where [`Sender::is_ready`], no RTS is owed, and [`Sender::drop_old`] was called.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Time,
        settings: &Settings,
        lifetime: Lifetime,
        answer: bool,
    ) -> Piece {
        let held = self.tokens.pop_front();
        let offset = held.map_or(self.next_free, |held| held.offset);
        let rest = self.end - offset;
        let full = rest > u64::from(settings.payload_max);
        #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
        let length = if full {
            settings.payload_max
        } else {
            rest as u16
        };
        let until = offset + u64::from(length);
        let again = offset < self.high && self.left.holding(offset).is_some();
        if !again {
            self.left.insert(offset, until);
            self.high = self.high.max(until);
        }
        self.skip_free();
        self.left_at = now;
        let data = Data {
            offset,
            length,
            token: held.map_or(0, |held| held.number),
            ordinal: told(self.ordinal),
            lifetime,
            answer,
            end: !full && !self.cut,
        };
        Piece {
            data,
            scheduled: held.is_some(),
            again,
        }
    }

    /// What left for a token need not leave unasked.
    #[inline]
    fn skip_free(&mut self) {
        while self.next_free < self.free
            && let Some((_, until)) = self.left.holding(self.next_free)
        {
            self.next_free = until;
        }
    }

    /// Its receiver asks for channels: whether there is something to send.
    pub(super) fn on_request(&mut self, now: Time) -> bool {
        if self.active {
            self.hear(now);
        }
        self.active
    }

    /// The receiver has said something of the message.
    fn hear(&mut self, now: Time) {
        (self.heard, self.answered, self.asked) = (now, true, 0);
    }

    /// A token; whether there is something to send for it.
    #[inline]
    pub(super) fn on_token(&mut self, now: Time, token: Token, settings: &Settings) -> bool {
        let from = token.offset.checked_sub(self.base);
        let behind = from.filter(|_| self.active && token.offset < self.end);
        if behind.is_none_or(|from| from % u64::from(settings.payload_max) != 0) {
            return false;
        }
        self.hear(now);
        let fits = self.tokens.len() < TOKENS_MAX;
        let until = now.after(Span::ns(token.life.into()).max(settings.grace));
        let held = Held {
            offset: token.offset,
            number: token.number,
            rank: token.rank,
            until,
        };
        if self
            .tokens
            .back()
            .is_some_and(|last| token.offset <= last.offset)
        {
            // Its receiver asks again: what has a token already leaves once, for the newer one.
            let same = self
                .tokens
                .iter_mut()
                .find(|known| known.offset == token.offset);
            if let Some(known) = same {
                *known = held;
                return true;
            }
        }
        if fits {
            self.tokens.push_back(held);
        }
        fits
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
        if !self.answered {
            return due;
        }
        // Whoever is asked and says nothing is asked less and less.
        due.min(self.left_at.after(settings.patience(true, 0)))
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
        let waits_for = if self.is_ready() {
            "the line".to_owned()
        } else if self.high < self.end {
            format!("a match and a token, or asks again at {asks}")
        } else {
            format!("a token or an ACK, or asks again at {asks}")
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
        assert!(self.tokens.len() <= TOKENS_MAX);
        let order = [self.base, self.high, self.end];
        assert!(order.is_sorted(), "base, high, end: {order:?}");
        self.left.check();
        self.waiting.check();
        if self.active {
            assert!(self.free <= self.end);
        } else {
            assert!(self.waiting.is_empty() && !self.is_ready() && self.left.is_empty());
        }
    }
}
