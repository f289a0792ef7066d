//! The role that has data: it announces each message, sends short ones unasked, and the others for tokens.

use super::header::{Data, POSITION_MAX, Rts, Token};
use super::settings::Settings;
use model::Lifetime;
use parts::announced::Announced;
use parts::connections::{Sending, told};
use parts::held::{Held, HeldTokens};
use units::{Span, Time};

/// What leaves unasked is served before what has tokens. [dcpim artefact]
const UNASKED_RANK: u8 = 1;
/// Timeouts in which a sender that is heard says something. [ours]
const PATIENT: u64 = 4;
/// Bits of a position: ranks stand above them.
const POSITION_BITS: u32 = 48;

/// One direction of a connection, at its sender.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) message: Announced,
    tokens: HeldTokens,
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

impl Sender {
    /// Queues a message; false where the stream has no room for it.
    pub(super) fn push(&mut self, now: Time, length: u64, settings: &Settings) -> bool {
        let fits = self.message.push(length, POSITION_MAX);
        let next = self.message.begin(now);
        self.begin(next, settings);
        fits
    }

    /// The next message has begun, if one waited and none was under way.
    fn begin(&mut self, next: Option<u64>, settings: &Settings) {
        if let Some(length) = next
            && settings.is_short(length)
        {
            self.message.free_first(length);
        }
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time, settings: &Settings) {
        let next = self.message.finish(now);
        self.tokens = HeldTokens::default();
        self.begin(next, settings);
    }

    /// Takes back what has not left. RTS says where the message ends now.
    pub(super) fn cancel(&mut self) {
        if self.message.cancel() {
            self.tokens.cut(self.message.high());
        }
    }

    /// What the line chooses by: announcements, what leaves unasked, then the rank of the oldest token; among equals
    /// the fewest bytes that have not left. [dcpim artefact]
    #[inline]
    pub(super) fn by(&self) -> u64 {
        if self.message.owes() {
            return 0;
        }
        let rank = self.tokens.first().map_or(UNASKED_RANK, |held| held.rank);
        u64::from(rank) << POSITION_BITS | self.message.to_go()
    }

    /// Whether something may leave without a token.
    #[inline]
    fn is_free(&self) -> bool {
        self.message.owes() || self.message.unasked().is_some()
    }

    /// Whether a packet may leave, as far as tokens have not run out.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.is_free() || !self.tokens.is_empty()
    }

    /// Whether one may leave now.
    pub(super) fn is_ready_at(&self, now: Time) -> bool {
        self.is_free() || self.tokens.any_at(now)
    }

    /// Tokens that wait for the line, and those that have run out meanwhile.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.tokens.len()
    }

    /// Drops tokens that have run out: how many.
    #[inline]
    pub(super) fn drop_old(&mut self, now: Time) -> u64 {
        self.tokens.drop_old(now)
    }

    /// The priority of its data.
    #[inline]
    pub(super) fn priority(&self, settings: &Settings) -> u8 {
        settings.priority(self.message.length())
    }

    /// RTS leaves; whether it has before.
    pub(super) fn take_rts(
        &mut self,
        now: Time,
        (frame, line): (u16, u16),
        lifetime: Lifetime,
        answer: bool,
    ) -> (Rts, bool) {
        let message = &mut self.message;
        let before = message.announce(now);
        let rts = Rts {
            at: message.end(),
            ordinal: told(message.ordinal()),
            lifetime,
            answer,
            known: message.is_answered(),
            frame,
            line,
            unasked: message.unasked_first() > 0 && message.unasked_first() == message.length(),
            cut: message.is_cut(),
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
        let held = self.tokens.pop();
        let message = &mut self.message;
        let frame = message.take(now, held.map(|held| held.offset), settings.payload_max);
        let data = Data {
            offset: frame.offset,
            length: frame.length,
            token: held.map_or(0, |held| held.number),
            ordinal: told(message.ordinal()),
            lifetime,
            answer,
            end: frame.last && !message.is_cut(),
        };
        Piece {
            data,
            scheduled: held.is_some(),
            again: frame.again,
        }
    }

    /// Its receiver asks for channels: whether there is something to send.
    pub(super) fn on_request(&mut self, now: Time) -> bool {
        self.message.hear(now);
        self.message.is_active()
    }

    /// A token; whether one more packet may leave for it.
    #[inline]
    pub(super) fn on_token(&mut self, now: Time, token: Token, settings: &Settings) -> bool {
        if !self
            .message
            .begins_frame(token.offset, settings.payload_max)
        {
            return false;
        }
        self.message.hear(now);
        let until = now.after(Span::ns(token.life.into()).max(settings.grace));
        let held = Held {
            offset: token.offset,
            number: token.number,
            rank: token.rank,
            until,
        };
        let last = self.tokens.last();
        let again = last.is_some_and(|last| token.offset <= last.offset);
        // Its receiver asks again: what has a token already leaves once, for the newer one.
        !(again && self.tokens.renew(held)) && self.tokens.push(held)
    }

    /// The receiver tells how many messages it has: whether this one is among them.
    pub(super) fn on_ack(&mut self, now: Time, ordinal: u16, next: bool) -> bool {
        if next && ordinal == told(self.message.ordinal()) {
            self.message.hear(now);
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
        let due = self.message.due(settings.rto);
        if !self.message.is_answered() {
            return due;
        }
        // Whoever is asked and says nothing is asked less and less.
        due.min(self.message.quiet(settings.rto.times(PATIENT)))
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let asks = self.due(settings);
        let waits_for = if self.is_ready() {
            "the line".to_owned()
        } else if self.message.may_be_done() {
            format!("a token or an ACK, or asks again at {asks}")
        } else {
            format!("a match and a token, or asks again at {asks}")
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
        self.tokens.check();
        assert!(!self.is_idle() || !self.is_ready());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "is_ready")]
    fn a_token_without_a_message_is_noticed() {
        let mut sender = Sender::default();
        sender.check();
        sender.tokens.push(Held {
            offset: 0,
            number: 0,
            rank: 0,
            until: Time::ZERO,
        });
        sender.check();
    }
}
