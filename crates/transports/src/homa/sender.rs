//! The role that has data: its first bytes leave unasked, the rest as granted.

use super::early::Early;
use super::header::{Data, Grant, LEFT_MAX, POSITION_MAX, Resend, has, told};
use super::params::GrantedBy;
use super::settings::Settings;
use parts::connections::Sending;
use parts::range_set::RangeSet;
use parts::waiting::Waiting;
use std::collections::VecDeque;
use units::Time;

/// Pieces that it sends again, as far as they do not touch: more are asked for again. [ours]
const AGAIN_MAX: usize = 64;

/// Silences that are counted: the waits do not grow beyond. [ours]
const TRIES_MAX: u8 = 8;

/// Grants whose priorities a message keeps, where it does: beyond, one holds for those that follow. [ours]
const OWN_MAX: usize = 64;

/// One direction of a connection, at its sender. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// The messages behind the one under way.
    waiting: Waiting,
    /// Messages that are done.
    pub(super) ordinal: u32,
    /// A message is under way.
    pub(super) active: bool,
    /// Where it begins and ends in the stream.
    pub(super) base: u64,
    pub(super) end: u64,
    /// Where the next packet begins, and behind the last byte that ever left.
    pub(super) next: u64,
    pub(super) high: u64,
    /// A packet of it has left.
    begun: bool,
    /// Everything before this may leave; with a burst, so many bytes behind it.
    pub(super) granted: u64,
    /// Priority of the newest grant.
    priority: u8,
    /// Where packets keep that of their own grant: until where which holds.
    own: VecDeque<(u64, u8)>,
    /// What leaves unasked, where a probe closes it.
    pub(super) early: Option<Box<Early>>,
    /// What leaves again, and its priority.
    again: RangeSet<AGAIN_MAX>,
    again_priority: u8,
    /// It ends earlier than was said before.
    pub(super) cut: bool,
    /// An empty packet has to leave: an empty message, or the word of a new end.
    owes: bool,
    /// The receiver has said something of it.
    answered: bool,
    /// When a packet of it, or a question about it, left last; when data left; when some did for the first time.
    pub(super) sent_at: Time,
    left_at: Time,
    went_on: Time,
    /// When the receiver was heard last, or the message began.
    pub(super) heard: Time,
    /// Silences in a row.
    pub(super) tries: u8,
    /// It is among the messages that the line chooses from.
    pub(super) queued: bool,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) length: u16,
    pub(super) left: u32,
    pub(super) cut: bool,
    pub(super) priority: u8,
    /// Nobody granted it.
    pub(super) unasked: bool,
    /// It left before.
    pub(super) again: bool,
    /// How far grants were used before it, where a burst may be lost and it is none of that.
    pub(super) at: Option<u64>,
}

/// What a sender does in a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// It sends its first packet again, for all may have been lost.
    Repeat,
    /// It asks whether all has arrived.
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
        (self.active, self.begun, self.cut, self.answered) = (true, false, false, false);
        (self.end, self.next, self.high) = (self.base + length, self.base, self.base);
        self.owes = length == 0;
        self.open(settings);
        (self.heard, self.tries, self.priority) = (now, 0, settings.priorities - 1);
    }

    /// What leaves unasked may leave.
    fn open(&mut self, settings: &Settings) {
        self.granted = self.end.min(self.base + settings.unscheduled);
        self.own.clear();
        if settings.bursts {
            self.early = Some(Box::new(Early::new(
                self.base,
                self.granted,
                settings.overtakes,
            )));
            // What is granted does not tell how much is left.
            self.owes |= self.is_long();
        }
    }

    /// Whether its first packets cannot tell where it ends.
    fn is_long(&self) -> bool {
        self.end - self.base >= LEFT_MAX.into()
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time, settings: &Settings) {
        self.ordinal = self.ordinal.wrapping_add(1);
        self.base = self.end;
        (self.active, self.owes) = (false, false);
        (self.again, self.early) = (RangeSet::new(), None);
        self.begin(now, settings);
    }

    /// Takes back what has not left. An empty packet says where the message ends now, also where nothing had left.
    pub(super) fn cancel(&mut self) {
        self.waiting.clear();
        if self.active && self.high < self.end {
            (self.end, self.cut, self.owes) = (self.high, self.begun, true);
            match self.early {
                Some(_) => self.cut_burst(),
                None => self.granted = self.granted.min(self.end),
            }
        }
    }

    /// Bytes that have not left, which are what the line chooses by. [homa s3.2]
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.end - self.next
    }

    /// Whether a packet may leave.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.active && (self.may_spend() || self.owes || !self.again.is_empty())
    }

    /// Whether all of it has left.
    #[inline]
    pub(super) fn has_left(&self) -> bool {
        self.active && self.begun && self.next == self.end && !self.owes && self.again.is_empty()
    }

    /// The priority of what leaves next, where [`Sender::is_ready`].
    pub(super) fn priority(&self, settings: &Settings) -> u8 {
        if let Some(priority) = self.probes_at() {
            priority
        } else if self.owes {
            0
        } else if !self.again.is_empty() {
            self.again_priority
        } else {
            self.first_time(settings).0
        }
    }

    /// Priority of the next new packet, and whether nobody granted it.
    #[inline]
    fn first_time(&self, settings: &Settings) -> (u8, bool) {
        let unasked = match self.early {
            None => self.next - self.base < settings.unscheduled,
            Some(_) => self.is_bursting(),
        };
        if unasked {
            let length = self.end - self.base;
            return (settings.unasked(self.end - self.next, length), true);
        }
        (self.granted_at(), false)
    }

    /// Priority of the next packet that was granted.
    #[inline]
    pub(super) fn granted_at(&self) -> u8 {
        let own = self.own.front().map(|&(_, priority)| priority);
        own.unwrap_or(self.priority)
    }

    /// Grants are used up to here.
    #[inline]
    pub(super) fn has_used(&mut self, upto: u64) {
        while self.own.front().is_some_and(|&(until, _)| until <= upto) {
            self.own.pop_front();
        }
    }

    /// Takes the next piece, where [`Sender::is_ready`] and no probe leaves.
    #[inline]
    pub(super) fn take(&mut self, now: Time, settings: &Settings) -> Piece {
        let full = u64::from(settings.payload_max);
        (self.sent_at, self.left_at) = (now, now);
        if self.owes || !self.again.is_empty() {
            return self.take_again(full, settings);
        }
        if self.early.is_some() {
            return self.take_early(now, settings);
        }
        let (priority, unasked) = self.first_time(settings);
        let offset = self.next;
        let mut length = full.min(self.end - offset);
        if settings.law == super::params::Law::Packet {
            length = length.min(self.granted - offset);
        }
        self.has_used(offset + length);
        self.take_new(now, length, priority, unasked)
    }

    /// Takes the next piece of what has not left.
    #[inline]
    pub(super) fn take_new(
        &mut self,
        now: Time,
        length: u64,
        priority: u8,
        unasked: bool,
    ) -> Piece {
        let offset = self.next;
        self.next += length;
        let again = offset < self.high;
        self.high = self.high.max(self.next);
        (self.begun, self.went_on) = (true, now);
        self.piece(offset, length, priority, unasked, again)
    }

    #[cold]
    fn take_again(&mut self, full: u64, settings: &Settings) -> Piece {
        if self.owes {
            self.owes = false;
            let again = std::mem::replace(&mut self.begun, true) && !self.cut;
            // It must not be dropped first.
            return self.piece(self.end, 0, 0, !settings.bursts, again);
        }
        let (from, until) = self.again.first().expect("the caller looked");
        let length = full.min(until - from);
        self.again.drop_below(from + length);
        let unasked = from - self.base < settings.unscheduled && !settings.bursts;
        self.piece(from, length, self.again_priority, unasked, true)
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a payload, and a number that was bounded"
    )]
    pub(super) fn piece(
        &self,
        offset: u64,
        length: u64,
        priority: u8,
        unasked: bool,
        again: bool,
    ) -> Piece {
        Piece {
            offset,
            length: length as u16,
            left: (self.end - offset).min(LEFT_MAX.into()) as u32,
            cut: self.cut,
            priority,
            unasked,
            again,
            at: None,
        }
    }

    /// An empty piece there.
    pub(super) fn empty_at(&self, offset: u64) -> Piece {
        self.piece(offset, 0, 0, false, false)
    }

    /// The receiver has said something.
    pub(super) fn hear(&mut self, now: Time) {
        (self.heard, self.tries, self.answered) = (now, 0, true);
    }

    /// A grant; whether it grants anything.
    #[inline]
    pub(super) fn on_grant(&mut self, now: Time, grant: Grant, settings: &Settings) -> bool {
        if !self.active || grant.upto <= self.base {
            return false;
        }
        self.hear(now);
        let upto = grant.upto.min(self.grants_end());
        if upto <= self.granted {
            return false;
        }
        self.granted = upto;
        self.priority = grant.priority.min(settings.priorities - 1);
        if settings.granted_by == GrantedBy::Own {
            self.keep_own(upto);
        }
        true
    }

    /// What was granted last, up to there, keeps its priority whatever is granted later.
    fn keep_own(&mut self, upto: u64) {
        let full = self.own.len() == OWN_MAX;
        match self.own.back_mut() {
            Some((until, priority)) if full || *priority == self.priority => *until = upto,
            _ => self.own.push_back((upto, self.priority)),
        }
    }

    /// Something is missing at the receiver. Whether it leaves again; otherwise the answer is BUSY.
    pub(super) fn on_resend(&mut self, now: Time, resend: Resend, settings: &Settings) -> bool {
        self.hear(now);
        let upto = resend.upto.min(self.end);
        if self.early.is_none() {
            self.granted = self.granted.max(upto);
        }
        let (from, lost) = (resend.from.max(self.base), upto.min(self.next));
        // What left less than a round trip ago is on its way.
        if now < self.went_on.after(settings.rtt) {
            return false;
        }
        let told = self.cut && resend.upto > self.end;
        self.owes |= told;
        self.again_priority = resend.priority.min(settings.priorities - 1);
        let again = from < lost && self.again.insert(from, lost).is_some();
        self.ask_burst((from, lost), upto);
        told || again
    }

    /// The receiver knows the message and takes its time.
    pub(super) fn on_busy(&mut self, now: Time) {
        self.hear(now);
    }

    /// The receiver does not know the message: all of it leaves again. False where it cannot be so.
    pub(super) fn restart(&mut self, now: Time, settings: &Settings) -> bool {
        if now < self.left_at.after(settings.rtt) {
            return false;
        }
        self.again = RangeSet::new();
        self.next = self.base;
        self.owes = self.end == self.base;
        self.open(settings);
        self.answered = false;
        true
    }

    /// Whether the receiver has said something of the message.
    pub(super) fn is_answered(&self) -> bool {
        self.answered
    }

    /// Whether `whole` messages of this direction, which the receiver has, are all up to this one.
    #[inline]
    pub(super) fn is_whole(&self, whole: u32) -> bool {
        whole == self.ordinal.wrapping_add(1) && self.may_be_done(told(whole))
    }

    /// Whether the receiver may have said that all has arrived.
    pub(super) fn may_be_done(&self, ordinal: u16) -> bool {
        let this = ordinal == told(self.ordinal.wrapping_add(1));
        self.active && self.begun && self.high == self.end && this
    }

    /// When silence means something: it has nothing to send and waits for the receiver.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.active || !self.begun || self.is_ready() || !settings.recovery {
            return Time::NEVER;
        }
        // The receiver asks first, where it knows of the message.
        let since = self.sent_at.max(self.heard);
        since.after(settings.patience(self.tries + 1))
    }

    /// A silence has lasted too long.
    pub(super) fn on_silence(&mut self, now: Time, settings: &Settings) -> Silence {
        if now >= self.heard.max(self.went_on).after(settings.timeout) {
            return Silence::GiveUp;
        }
        self.tries = (self.tries + 1).min(TRIES_MAX);
        // DEVIATES(homa linux): of a message whose receiver has said nothing the first packet leaves again; Linux
        // asks with RESEND, hears RPC_UNKNOWN, and sends all of it again.
        // The next silence begins here, even where the line takes its time.
        self.sent_at = now;
        // What told the end may be lost, and granted packets do not tell it.
        self.owes |= self.early.is_some() && self.is_long();
        if self.asks_again() {
            return Silence::Repeat;
        }
        if self.answered {
            return Silence::Ask;
        }
        let first = self.end.min(self.base + u64::from(settings.payload_max));
        if first == self.base {
            self.owes = true;
        } else {
            self.again.insert(self.base, first);
            let length = self.end - self.base;
            self.again_priority = settings.unasked(length, length);
        }
        Silence::Repeat
    }

    /// A pause explains the silence: it counts from now on.
    pub(super) fn excuse(&mut self, now: Time) {
        self.heard = now;
    }

    /// A piece of a message as a packet says it, where so many messages of the other direction are `whole`.
    pub(super) fn data(
        &self,
        piece: Piece,
        lifetime: model::Lifetime,
        answer: bool,
        whole: u32,
    ) -> Data {
        Data {
            offset: piece.offset,
            has: has(whole, self.ordinal),
            length: piece.length,
            left: piece.left,
            ordinal: told(self.ordinal),
            lifetime,
            cut: piece.cut,
            answer,
        }
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, recovery: bool) -> Option<(String, String)> {
        let state = format!(
            "sending message {}, {} of {} B have left",
            self.ordinal,
            self.next - self.base,
            self.end - self.base
        );
        let waits_for = if self.is_ready() {
            "the line".to_owned()
        } else if self.next < self.end {
            format!("a grant beyond {} B", self.granted - self.base)
        } else if recovery {
            "an ACK".to_owned()
        } else {
            "an ACK that nobody asks for: homa.recovery is false".to_owned()
        };
        self.active.then_some((state, waits_for))
    }
}

impl Sending for Sender {
    fn is_idle(&self) -> bool {
        !self.active
    }

    fn done(&self) -> u32 {
        self.ordinal
    }

    fn check(&self) {
        if self.active {
            let order = [self.base, self.next, self.high, self.end];
            assert!(order.is_sorted(), "base, next, high, end: {order:?}");
            assert!(self.granted <= self.grants_end());
            if let Some(early) = &self.early {
                early.check();
            }
        } else {
            assert!(self.waiting.is_empty() && self.again.is_empty() && !self.owes);
        }
        self.again.check();
        self.waiting.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Sender); 3] = [
            |x| (x.active, x.base) = (true, 1),
            |x| (x.active, x.granted) = (true, 1),
            |x| x.owes = true,
        ];
        Sender::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Sender::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
