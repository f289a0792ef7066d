//! The message under way where a sender announces it, and its receiver says what may leave.
//!
//! Its first bytes may leave unasked; the rest leave for what the receiver gives (tokens, credits), which the transport
//! keeps. What comes unanswered is announced again, less and less often.

use crate::connections::Sending;
use crate::range_set::RangeSet;
use crate::waiting::Waiting;
use units::{Span, Time};

/// Places that a sender remembers to have left out; beyond, the first copy of a frame counts as another. [ours]
const LEFT_OUT_MAX: usize = 1024;
/// Questions that are counted: the waits do not grow beyond. [ours]
const ASKED_MAX: u8 = 6;
/// A first answer may take one timeout, and the next word so many. [ours]
const ANSWERED: u64 = 4;

/// One direction of a connection at its sender. One message is under way at a time, and others wait behind it.
#[derive(Debug, Default)]
pub struct Announced {
    waiting: Waiting,
    ordinal: u32,
    active: bool,
    /// Where it begins and ends in the stream.
    base: u64,
    end: u64,
    /// What of it has left, and behind the last byte that has.
    left: RangeSet<LEFT_OUT_MAX>,
    high: u64,
    /// The next byte that leaves unasked, and behind the last that may.
    next_free: u64,
    free: u64,
    /// Its announcement has to leave; something of it has left before; it says another end than before.
    owes: bool,
    announced: bool,
    cut: bool,
    /// The receiver has said something of the message.
    answered: bool,
    /// When it did, or the message began; when anything of it left.
    heard: Time,
    left_at: Time,
    asked: u8,
}

/// What leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it begins in the stream.
    pub offset: u64,
    /// Its bytes of payload.
    pub length: u16,
    /// Nothing of the message is behind it.
    pub last: bool,
    /// It left before.
    pub again: bool,
}

/// What a sender does when a moment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It announces its message again.
    Repeat,
    /// It asks whether the receiver still knows of it.
    Ask,
    /// It gives up.
    GiveUp,
}

impl Announced {
    /// Queues a message of `length` bytes; false where the stream would pass `most` bytes.
    pub fn push(&mut self, length: u64, most: u64) -> bool {
        self.waiting.push(self.end, length, most)
    }

    /// Where none is under way, the next that waits begins, and has to be announced: its length.
    pub fn begin(&mut self, now: Time) -> Option<u64> {
        if self.active {
            return None;
        }
        let length = self.waiting.pop()?;
        (self.active, self.owes) = (true, true);
        (self.end, self.high) = (self.base + length, self.base);
        (self.next_free, self.free) = (self.base, self.base);
        (self.heard, self.left_at) = (now, now);
        Some(length)
    }

    /// So many of its first bytes may leave unasked, or those that it has.
    pub fn free_first(&mut self, bytes: u64) {
        self.free = self.base.saturating_add(bytes).min(self.end);
    }

    /// Nothing more leaves unasked.
    pub fn free_no_more(&mut self) {
        self.free = self.next_free;
    }

    /// What leaves next says that it begins: it needs no announcement.
    pub fn announces_itself(&mut self) {
        self.owes = false;
    }

    /// The message is done. The next that waits begins: its length.
    pub fn finish(&mut self, now: Time) -> Option<u64> {
        *self = Self {
            waiting: std::mem::take(&mut self.waiting),
            ordinal: self.ordinal.wrapping_add(1),
            base: self.end,
            end: self.end,
            high: self.end,
            next_free: self.end,
            free: self.end,
            ..Self::default()
        };
        self.begin(now)
    }

    /// Takes back what has not left. True where the message ends earlier now, which an announcement has to say.
    pub fn cancel(&mut self) -> bool {
        self.waiting.clear();
        let cuts = self.active && self.high < self.end;
        if cuts {
            (self.end, self.owes, self.cut) = (self.high, true, self.announced);
            self.free = self.free.min(self.end);
            self.next_free = self.next_free.min(self.free);
        }
        cuts
    }

    /// Messages that are done.
    #[inline]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Whether a message is under way.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Where it begins in the stream.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where it ends in the stream.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Its bytes.
    #[inline]
    pub fn length(&self) -> u64 {
        self.end - self.base
    }

    /// Whether a frame of it begins there, if each has `payload_max` bytes.
    #[inline]
    pub fn begins_frame(&self, offset: u64, payload_max: u16) -> bool {
        let from = offset.checked_sub(self.base).filter(|_| offset < self.end);
        from.is_some_and(|from| from % u64::from(payload_max) == 0)
    }

    /// Behind the last byte that has left.
    #[inline]
    pub fn high(&self) -> u64 {
        self.high
    }

    /// Whether it ends earlier than was announced.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether the receiver has said something of it.
    #[inline]
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// The next byte that leaves unasked, where one may.
    #[inline]
    pub fn unasked(&self) -> Option<u64> {
        (self.next_free < self.free).then_some(self.next_free)
    }

    /// Bytes that may still leave unasked, in one run from [`Announced::unasked`] on.
    #[inline]
    pub fn unasked_bytes(&self) -> u64 {
        self.free - self.next_free
    }

    /// Bytes that could leave unasked when it began.
    #[inline]
    pub fn unasked_first(&self) -> u64 {
        self.free - self.base
    }

    /// Bytes that have not left.
    #[inline]
    pub fn to_go(&self) -> u64 {
        self.end - self.base - self.left.total()
    }

    /// Whether its announcement has to leave.
    #[inline]
    pub fn owes(&self) -> bool {
        self.owes
    }

    /// Its announcement leaves: whether something of it has before.
    pub fn announce(&mut self, now: Time) -> bool {
        (self.owes, self.left_at) = (false, now);
        std::mem::replace(&mut self.announced, true)
    }

    /// Whether the byte there has left.
    #[inline]
    pub fn has_left(&self, offset: u64) -> bool {
        offset < self.high && self.left.holding(offset).is_some()
    }

    /// A frame leaves, with the bytes from the first place to the second: whether it did before.
    #[inline]
    pub fn leave(&mut self, now: Time, from: u64, until: u64) -> bool {
        let again = self.has_left(from);
        if !again {
            self.left.insert(from, until);
            self.high = self.high.max(until);
        }
        // What has left need not leave unasked.
        if from <= self.next_free {
            self.next_free = self.next_free.max(until.min(self.free));
        }
        while self.next_free < self.free
            && let Some((_, until)) = self.left.holding(self.next_free)
        {
            self.next_free = until.min(self.free);
        }
        (self.left_at, self.announced) = (now, true);
        again
    }

    /// The frame that begins there leaves, or the next that may unasked.
    #[inline]
    pub fn take(&mut self, now: Time, offset: Option<u64>, payload_max: u16) -> Frame {
        let offset = offset.unwrap_or(self.next_free);
        let rest = self.end - offset;
        #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
        let length = rest.min(payload_max.into()) as u16;
        Frame {
            offset,
            length,
            last: rest <= payload_max.into(),
            again: self.leave(now, offset, offset + u64::from(length)),
        }
    }

    /// The receiver has said something of the message, if one is under way.
    #[inline]
    pub fn hear(&mut self, now: Time) {
        if self.active {
            (self.heard, self.answered, self.asked) = (now, true, 0);
        }
    }

    /// The receiver knows of the message, and lets it wait: the next question is no sooner for that.
    #[inline]
    pub fn hear_wait(&mut self, now: Time) {
        let asked = self.asked;
        self.hear(now);
        self.asked = asked;
    }

    /// Whether the receiver may have said that all has arrived.
    pub fn may_be_done(&self) -> bool {
        self.active && self.announced && self.high == self.end
    }

    /// How long nothing may be heard of it, after so many questions.
    pub fn patience(&self, rto: Span) -> Span {
        rto.times(if self.answered { ANSWERED } else { 1 } << self.asked)
    }

    /// When silence means something; never where its announcement has yet to leave.
    #[inline]
    pub fn due(&self, rto: Span) -> Time {
        if !self.active || self.owes {
            return Time::NEVER;
        }
        // What could leave unasked may wait for the line as long as anything else.
        self.heard.max(self.left_at).after(self.patience(rto))
    }

    /// When so long nothing of it has left; never where [`Announced::due`] is never.
    #[inline]
    pub fn quiet(&self, long: Span) -> Time {
        if !self.active || self.owes {
            return Time::NEVER;
        }
        self.left_at.after(long)
    }

    /// Nothing was heard of it for long: what its sender does, which gives up where it was for `timeout`.
    pub fn on_silence(&mut self, now: Time, timeout: Span) -> Silence {
        if now >= self.heard.after(timeout) {
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
    pub fn excuse(&mut self, now: Time) {
        (self.heard, self.left_at) = (now, now);
    }

    /// Its state; `None` where none is under way.
    pub fn state(&self) -> Option<String> {
        self.active.then(|| {
            let (left, length) = (self.left.total(), self.end - self.base);
            format!(
                "sending message {}, {left} of {length} B have left",
                self.ordinal
            )
        })
    }
}

impl Sending for Announced {
    fn is_idle(&self) -> bool {
        !self.active
    }

    fn done(&self) -> u32 {
        self.ordinal
    }

    fn check(&self) {
        let order = [self.base, self.high, self.end];
        assert!(order.is_sorted(), "base, high, end: {order:?}");
        let order = [self.base, self.next_free, self.free, self.end];
        assert!(order.is_sorted(), "what leaves unasked: {order:?}");
        self.left.check();
        self.waiting.check();
        if !self.active {
            assert!(self.waiting.is_empty() && self.left.is_empty());
            assert!(!self.owes && self.next_free == self.free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Announced, Frame, Silence};
    use crate::connections::Sending;
    use crate::range_set::RangeSet;
    use crate::waiting::Waiting;
    use units::{Span, Time};

    const FRAME: u16 = 1000;
    const RTO: Span = Span::us(10);

    fn at(us: u64) -> Time {
        Time::ZERO.after(Span::us(us))
    }

    /// A message of so many bytes under way, of which so many may leave unasked.
    fn with(length: u64, free: u64) -> Announced {
        let mut message = Announced::default();
        assert!(message.push(length, u64::MAX));
        assert_eq!(message.begin(at(0)), Some(length));
        message.free_first(free);
        message.check();
        message
    }

    fn left(message: &mut Announced, offset: Option<u64>) -> (u64, u16, bool, bool) {
        let Frame {
            offset,
            length,
            last,
            again,
        } = message.take(at(1), offset, FRAME);
        message.check();
        (offset, length, last, again)
    }

    #[test]
    fn what_leaves_is_counted_once_and_what_left_for_a_token_leaves_unasked_no_more() {
        let mut message = with(2500, 2000);
        assert!(message.owes() && !message.announce(at(0)) && !message.owes());
        assert_eq!((message.unasked_first(), message.to_go()), (2000, 2500));
        // A token for the second frame comes before the line takes the first.
        assert_eq!(left(&mut message, Some(1000)), (1000, 1000, false, false));
        assert_eq!(left(&mut message, None), (0, 1000, false, false));
        assert_eq!((message.unasked(), message.unasked_bytes()), (None, 0));
        assert!(!message.may_be_done());
        assert_eq!(left(&mut message, Some(2000)), (2000, 500, true, false));
        assert_eq!(left(&mut message, Some(1000)), (1000, 1000, false, true));
        assert!(message.may_be_done());
        assert!(message.has_left(2499) && !message.has_left(2500));
        assert_eq!(message.to_go(), 0);
        let begins = |offset| message.begins_frame(offset, FRAME);
        assert!(begins(0) && begins(2000) && !begins(2500) && !begins(3000));
    }

    #[test]
    fn messages_follow_each_other_in_one_stream() {
        let mut message = with(500, 0);
        assert!(message.push(0, 800) && message.push(300, 800) && !message.push(1, 800));
        assert_eq!(message.begin(at(1)), None);
        assert_eq!(message.finish(at(1)), Some(0));
        message.check();
        assert!(!message.begins_frame(500, FRAME));
        assert_eq!(message.finish(at(2)), Some(300));
        let places = (message.base(), message.end(), message.high());
        assert_eq!((places, message.ordinal()), ((500, 800, 500), 2));
        // Of the second alone: its bytes, those that have not left, and what its user is told.
        assert!(message.is_active() && !message.is_idle());
        assert_eq!((message.length(), message.to_go()), (300, 300));
        let state = |message: &Announced| message.state().unwrap_or_default();
        assert_eq!(state(&message), "sending message 2, 0 of 300 B have left");
        left(&mut message, Some(500));
        assert_eq!(
            (message.to_go(), state(&message)),
            (0, "sending message 2, 300 of 300 B have left".to_owned())
        );
        assert_eq!(message.finish(at(3)), None);
        message.check();
        assert!(message.is_used() && message.is_idle() && !message.is_active());
        assert_eq!(message.state(), None);
    }

    #[test]
    fn what_may_leave_unasked_is_counted_from_where_its_message_begins() {
        let mut message = Announced::default();
        assert!(message.is_idle() && !message.is_used() && !message.may_be_done());
        assert_eq!(
            (message.due(RTO), message.quiet(RTO)),
            (Time::NEVER, Time::NEVER)
        );
        assert!(message.push(700, u64::MAX) && message.push(2500, u64::MAX));
        assert_eq!(message.begin(at(0)), Some(700));
        assert!(message.is_used(), "nothing has left, and it is under way");
        assert_eq!(message.finish(at(1)), Some(2500));
        message.free_first(1500);
        assert_eq!(
            (message.unasked_first(), message.unasked_bytes()),
            (1500, 1500)
        );
        assert_eq!(message.quiet(RTO), Time::NEVER, "it owes its announcement");
        message.announces_itself();
        assert!(!message.owes() && message.unasked() == Some(700));
        assert_eq!(message.quiet(RTO), at(11));
        assert_eq!(left(&mut message, None), (700, 1000, false, false));
        assert_eq!(
            (message.unasked_first(), message.unasked_bytes()),
            (1500, 500)
        );
        message.free_no_more();
        assert_eq!((message.unasked(), message.unasked_bytes()), (None, 0));
        assert_eq!(message.unasked_first(), 1000);
    }

    #[test]
    fn an_empty_message_may_be_done_when_its_announcement_has_left() {
        let mut message = with(0, 0);
        assert!(!message.may_be_done());
        message.announce(at(0));
        assert!(message.may_be_done());
        message.finish(at(1));
        assert!(!message.may_be_done());
    }

    #[test]
    fn what_has_left_cannot_be_taken_back() {
        let mut message = with(3000, 3000);
        message.announce(at(0));
        left(&mut message, None);
        assert!(message.cancel() && message.owes() && message.is_cut());
        message.check();
        assert_eq!((message.end(), message.unasked()), (1000, None));
        assert!(!message.cancel());
        // Nobody knows of the other: it only ends at once.
        let mut unknown = with(3000, 0);
        assert!(unknown.cancel() && !unknown.is_cut() && unknown.length() == 0);
    }

    #[test]
    fn a_message_without_an_answer_is_announced_again_less_and_less_often() {
        let mut message = with(5000, 0);
        assert_eq!(message.due(RTO), Time::NEVER);
        message.announce(at(0));
        assert_eq!((message.due(RTO), message.quiet(RTO)), (at(10), at(10)));
        let (timeout, mut now) = (Span::ms(1), at(10));
        for more in [20, 40, 80, 160, 320, 640] {
            assert_eq!(message.on_silence(now, timeout), Silence::Repeat);
            assert!(message.owes() && message.announce(now));
            assert_eq!(message.due(RTO), now.after(Span::us(more)));
            now = message.due(RTO);
        }
        assert_eq!(message.on_silence(now, timeout), Silence::GiveUp);
    }

    #[test]
    fn whoever_was_answered_asks_and_a_pause_counts_for_nothing() {
        let mut message = with(5000, 0);
        message.announce(at(0));
        message.hear(at(5));
        assert!(message.is_answered());
        assert_eq!(message.due(RTO), at(45));
        message.excuse(at(30));
        assert_eq!(message.due(RTO), at(70));
        assert_eq!(message.on_silence(at(70), Span::ms(1)), Silence::Ask);
        message.announce(at(71));
        assert_eq!(message.due(RTO), at(151));
        // It is told to wait, asks half as often, and is heard again when there is news.
        message.hear_wait(at(80));
        assert_eq!(message.due(RTO), at(160));
        message.hear(at(100));
        assert_eq!(message.due(RTO), at(140));
        message.finish(at(160));
        message.hear_wait(at(200));
        assert!(!message.is_answered() && message.due(RTO) == Time::NEVER);
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Announced); 8] = [
            |message| message.base = 1001,
            |message| message.end = 999,
            |message| message.next_free = 2001,
            |message| message.free = 5001,
            |message| message.waiting = Waiting::broken(),
            |message| message.active = false,
            |message| (message.active, message.left) = (false, RangeSet::new()),
            |message| {
                *message = Announced {
                    owes: true,
                    ..Announced::default()
                }
            },
        ];
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut message = with(5000, 2000);
            message.announce(at(0));
            left(&mut message, None);
            spoil(&mut message);
            assert!(std::panic::catch_unwind(|| message.check()).is_err(), "{n}");
        }
    }
}
