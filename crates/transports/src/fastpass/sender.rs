//! The role that has data: it wants slots, sends a frame in each, and finds out what has not arrived.

use super::header::{Ack, Data, End, FRAMES_MAX, POSITION_MAX};
use super::settings::{ASKED_MAX, Settings, VAIN_MAX};
use model::Lifetime;
use parts::connections::{Sending, told};
use parts::range_set::RangeSet;
use parts::waiting::Waiting;
use units::{Span, Time};

/// Frames by which others overtake one that is not lost, at most. [ours: ways are alike, and acknowledgements speak of 32]
const OVERTAKEN: u64 = 64;
/// Places of frames that have arrived, that it remembers; beyond, what has arrived is sent again. [ours]
const ARRIVED_MAX: usize = 4096;

/// One direction of a connection, at its sender. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// The messages behind the one under way.
    waiting: Waiting,
    /// Messages that are done.
    pub(super) ordinal: u32,
    pub(super) active: bool,
    /// Where it begins and ends in the stream.
    base: u64,
    end: u64,
    /// Everything before this has left once. What is from `repair` to `repair_end` and has not arrived leaves again;
    /// what is before that end, and behind `repair`, has left twice.
    high: u64,
    repair: u64,
    repair_end: u64,
    repaired_at: Time,
    arrived: RangeSet<ARRIVED_MAX>,
    /// Bytes of it that had arrived when everything missing was to leave again last, and how often that brought nothing.
    repaired_with: Option<u64>,
    in_vain: u8,
    /// Slots that it asked for and that have not been given; that were given and have not come.
    pub(super) wanted: u32,
    pub(super) granted: u32,
    pub(super) round: u8,
    /// The last word of the arbiter came when its first slot was over.
    pub(super) late: bool,
    /// When the arbiter was asked, or said something; since when it has not.
    asked_at: Time,
    pub(super) arbiter_heard: Time,
    arbiter_asked: u8,
    /// The receiver may know where it ends; where it ended before it was cut.
    ended: bool,
    cut: bool,
    /// The receiver has said something of the message.
    answered: bool,
    /// When it did, or the message began; when something left; when END did.
    word_at: Time,
    left_at: Time,
    end_at: Time,
    /// Since when END has no answer, and how often it was said.
    unanswered: Option<Time>,
    asked: u8,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) data: Data,
    /// It left before.
    pub(super) again: bool,
}

/// What a sender does when a moment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing: it was too early.
    Wait,
    /// It asks again.
    Ask,
    /// It gives up.
    GiveUp,
}

impl Sender {
    /// Queues a message; false where the stream has no room for it.
    pub(super) fn push(&mut self, now: Time, length: u64) -> bool {
        let fits = self.waiting.push(self.end, length, POSITION_MAX);
        if fits && !self.active {
            self.begin(now);
        }
        fits
    }

    /// The next message begins, if one waits.
    fn begin(&mut self, now: Time) {
        let Some(length) = self.waiting.pop() else {
            return;
        };
        self.active = true;
        self.end = self.base + length;
        (self.word_at, self.left_at, self.end_at) = (now, now, now);
    }

    /// The message is done: the next begins.
    pub(super) fn finish(&mut self, now: Time) {
        *self = Self {
            waiting: std::mem::take(&mut self.waiting),
            ordinal: self.ordinal.wrapping_add(1),
            round: self.round,
            base: self.end,
            end: self.end,
            high: self.end,
            repair: self.end,
            repair_end: self.end,
            ..Self::default()
        };
        self.begin(now);
    }

    /// Whether it has no bytes.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.active && self.base == self.end
    }

    /// Takes back what has not left: whether that changes the end.
    pub(super) fn cancel(&mut self) -> bool {
        self.waiting.clear();
        let cuts = self.active && self.high < self.end;
        if cuts {
            (self.end, self.cut) = (self.high, self.ended);
        }
        cuts
    }

    /// Bytes that leave again.
    #[inline]
    fn missing(&self) -> u64 {
        if self.repair == self.repair_end {
            return 0;
        }
        let here =
            self.arrived.bytes_above(self.repair) - self.arrived.bytes_above(self.repair_end);
        self.repair_end - self.repair - here
    }

    /// Whether something that left twice has not arrived.
    #[inline]
    fn has_hole(&self) -> bool {
        let first = self.arrived.first().unwrap_or((self.base, self.base));
        self.repair == self.repair_end
            && self.repair_end > self.base
            && (first.0 > self.base || first.1 < self.repair_end)
    }

    /// Frames that want a slot.
    #[inline]
    pub(super) fn to_go(&self, settings: &Settings) -> u64 {
        let payload = u64::from(settings.payload_max);
        (self.end - self.high).div_ceil(payload) + self.missing().div_ceil(payload)
    }

    /// Asks for the slots that it lacks: whether it has to.
    #[inline]
    pub(super) fn wants_more(&mut self, now: Time, settings: &Settings) -> bool {
        if !self.active || self.wanted > 0 {
            return false;
        }
        let lacks = self.to_go(settings).saturating_sub(self.granted.into());
        if lacks == 0 {
            return false;
        }
        self.wanted = u32::try_from(lacks).unwrap_or(FRAMES_MAX).min(FRAMES_MAX);
        self.round = self.round.wrapping_add(1);
        (self.asked_at, self.arbiter_heard, self.arbiter_asked) = (now, now, 0);
        true
    }

    /// It wants nothing more: whether the arbiter has to hear that.
    pub(super) fn wants_none(&mut self) -> bool {
        let wanted = std::mem::take(&mut self.wanted) > 0;
        self.round = self.round.wrapping_add(u8::from(wanted));
        wanted
    }

    /// The arbiter has given slots; it is the receiver, perhaps.
    #[inline]
    pub(super) fn hear_arbiter(&mut self, now: Time, is_receiver: bool) {
        self.answered |= is_receiver;
        (self.arbiter_heard, self.asked_at, self.arbiter_asked) = (now, now, 0);
    }

    /// The arbiter knows of the request. The next question waits twice as long, or who waits long would fill its line.
    pub(super) fn on_wait(&mut self, now: Time) {
        (self.arbiter_heard, self.asked_at) = (now, now);
    }

    /// One of the slots that it wanted; false where it wanted none.
    #[inline]
    pub(super) fn on_slot(&mut self) -> bool {
        let wanted = self.active && self.wanted > 0;
        if wanted {
            self.wanted -= 1;
            self.granted += 1;
        }
        wanted
    }

    /// Whether the receiver has said something on the connection.
    fn is_known(&self) -> bool {
        self.answered || self.ordinal > 0
    }

    /// Takes the next piece, for a slot of the allocation `alloc`; none where nothing is to go.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Time,
        settings: &Settings,
        alloc: u8,
        (lifetime, answer): (Lifetime, bool),
    ) -> Option<Piece> {
        let payload = u64::from(settings.payload_max);
        let again = if self.repair < self.repair_end {
            self.arrived.first_gap(self.repair, self.repair_end)
        } else {
            None
        };
        let (offset, limit) = match again {
            Some((from, until)) => (from, until),
            None => (self.high, self.end),
        };
        let left = limit - offset;
        if left == 0 {
            return None;
        }
        let length = left.min(payload);
        let until = offset + length;
        if again.is_some() {
            (self.repair, self.repaired_at) = (until, now);
        } else {
            (self.repair, self.high) = (self.repair_end, until);
        }
        self.left_at = now;
        let end = until == self.end && !self.cut;
        self.ended |= end;
        let data = Data {
            offset,
            length: u16::try_from(length).expect("at most a payload"),
            alloc,
            known: self.is_known(),
            way: 0,
            lifetime,
            answer,
            end,
        };
        Some(Piece {
            data,
            again: again.is_some(),
        })
    }

    /// END leaves.
    pub(super) fn take_end(&mut self, now: Time, lifetime: Lifetime, answer: bool) -> End {
        (self.ended, self.end_at) = (true, now);
        End {
            at: self.end,
            ordinal: told(self.ordinal),
            known: self.is_known(),
            lifetime,
            answer,
            cut: self.cut,
        }
    }

    /// The receiver tells how many messages it has: whether this one is among them.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack, settings: &Settings) -> bool {
        if self.active && ack.ordinal == told(self.ordinal) {
            (self.word_at, self.answered) = (now, true);
            self.learn(ack, settings);
            // Who had said that all was there, and misses some of it, has forgotten: that is no answer.
            if ack.asked && !self.has_arrived() {
                (self.unanswered, self.asked) = (None, 0);
            }
        }
        self.may_be_done(ack.ordinal)
    }

    /// Whether the receiver has said of every byte that it is there.
    fn has_arrived(&self) -> bool {
        self.end > self.base && self.arrived.first() == Some((self.base, self.end))
    }

    /// What has arrived, and what has to leave again.
    fn learn(&mut self, ack: &Ack, settings: &Settings) {
        let payload = u64::from(settings.payload_max);
        let fits = (self.base..=self.high).contains(&ack.from);
        if !fits || (ack.from != self.high && !(ack.from - self.base).is_multiple_of(payload)) {
            return;
        }
        if ack.all && ack.from > self.base {
            let _ = self.arrived.insert(self.base, ack.from);
        }
        let mut seen = ack.seen;
        while seen != 0 {
            let from = ack.from + u64::from(seen.trailing_zeros()) * payload;
            let until = (from + payload).min(self.high);
            if from < until {
                let _ = self.arrived.insert(from, until);
            }
            seen &= seen - 1;
        }
        if ack.asked && self.to_go(settings) == 0 && self.end_at > self.left_at {
            // Nothing was on its way when END left; what is not here then is lost.
            self.repair_all(self.high);
        } else if ack.asked && self.has_hole() && self.end_at > self.repaired_at {
            // The same of what had left twice.
            self.repair_all(self.repair_end);
        } else {
            // What others overtook by far is lost.
            let newest = self.arrived.last().map_or(self.base, |(_, end)| end);
            let sure = newest.saturating_sub(OVERTAKEN * payload);
            if sure > self.repair_end {
                self.repair_end = sure - (sure - self.base) % payload;
            }
            if self.missing() == 0 {
                self.repair = self.repair_end;
            }
        }
    }

    /// All that is missing before `until` leaves again. Where the last time brought nothing, the next waits longer.
    fn repair_all(&mut self, until: u64) {
        let here = self.arrived.total();
        self.in_vain = match self.repaired_with.replace(here) {
            Some(before) if before == here => (self.in_vain + 1).min(VAIN_MAX),
            _ => 0,
        };
        (self.repair, self.repair_end) = (self.base, until);
    }

    /// Whether the receiver may have said that all has arrived.
    #[inline]
    pub(super) fn may_be_done(&self, ordinal: u16) -> bool {
        let this = ordinal == told(self.ordinal.wrapping_add(1));
        self.active && self.ended && self.high == self.end && this
    }

    /// Whether the receiver may know of it.
    fn is_told(&self) -> bool {
        self.high > self.base || self.ended
    }

    /// When the silence of the arbiter means something.
    #[inline]
    pub(super) fn arbiter_due(&self, settings: &Settings) -> Time {
        if self.active && self.wanted > 0 {
            self.asked_at.after(settings.rto(self.arbiter_asked))
        } else {
            Time::NEVER
        }
    }

    /// When that of the receiver does.
    #[inline]
    pub(super) fn receiver_due(&self, settings: &Settings) -> Time {
        if !self.active {
            return Time::NEVER;
        }
        if self.high == self.end && self.to_go(settings) == 0 {
            let since = self.left_at.max(self.end_at);
            since
                .after(self.asks_after(settings))
                .min(self.gone(settings))
        } else if self.has_hole() {
            let since = self.repaired_at.max(self.end_at);
            since
                .after(self.asks_after(settings))
                .min(self.gone(settings))
        } else if self.is_told() {
            let since = self.word_at.max(self.end_at).max(self.left_at);
            since.after(settings.alive).min(self.gone(settings))
        } else {
            Time::NEVER
        }
    }

    /// How long it waits before it asks what has arrived.
    fn asks_after(&self, settings: &Settings) -> Span {
        settings.ask(self.asked).max(settings.repeats(self.in_vain))
    }

    fn gone(&self, settings: &Settings) -> Time {
        let since = self.unanswered.unwrap_or(Time::NEVER);
        since.after(settings.timeout)
    }

    /// How long whatever is due was waited for.
    pub(super) fn patience(&self, settings: &Settings) -> Span {
        if self.wanted > 0 {
            settings.rto(self.arbiter_asked)
        } else {
            self.asks_after(settings)
        }
    }

    /// Whether the arbiter was asked again and has said nothing since.
    pub(super) fn is_unheard(&self) -> bool {
        self.asked_at > self.arbiter_heard
    }

    /// The moment of [`Sender::arbiter_due`] may have come.
    pub(super) fn on_arbiter_silence(&mut self, now: Time, settings: &Settings) -> Silence {
        if self.arbiter_due(settings) > now {
            return Silence::Wait;
        }
        if now >= self.arbiter_heard.after(settings.timeout) {
            return Silence::GiveUp;
        }
        self.arbiter_asked = (self.arbiter_asked + 1).min(ASKED_MAX);
        self.asked_at = now;
        Silence::Ask
    }

    /// The moment of [`Sender::receiver_due`] may have come.
    pub(super) fn on_receiver_silence(&mut self, now: Time, settings: &Settings) -> Silence {
        if self.receiver_due(settings) > now {
            return Silence::Wait;
        }
        if now >= self.gone(settings) {
            return Silence::GiveUp;
        }
        self.asked = (self.asked + 1).min(ASKED_MAX);
        self.unanswered = self.unanswered.or(Some(now));
        Silence::Ask
    }

    /// A pause explains the silence: it counts from now on.
    pub(super) fn excuse(&mut self, now: Time) {
        (self.asked_at, self.arbiter_heard) = (now, now);
        (self.word_at, self.left_at, self.repaired_at) = (now, now, now);
        self.unanswered = self.unanswered.and(Some(now));
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let state = format!(
            "sending message {}, {} of {} B have left",
            self.ordinal,
            self.high - self.base,
            self.end - self.base
        );
        let waits_for = if self.granted > 0 {
            format!("{} slots that it has", self.granted)
        } else if self.wanted > 0 {
            let who = match settings.arbiter {
                Some(host) => format!("the arbiter, host {}", host.0),
                None => "its receiver".to_owned(),
            };
            let silent = if self.is_unheard() {
                let (since, times) = (self.arbiter_heard, self.arbiter_asked);
                format!(", silent since {since} and asked {times} times")
            } else {
                String::new()
            };
            let asks = self.arbiter_due(settings);
            format!(
                "{} slots from {who}{silent}, or asks again at {asks}",
                self.wanted
            )
        } else {
            format!("an ACK, or asks again at {}", self.receiver_due(settings))
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
        let order = [self.base, self.repair, self.repair_end, self.high, self.end];
        assert!(order.is_sorted(), "base, repairs, high, end: {order:?}");
        self.arrived.check();
        self.waiting.check();
        if !self.active {
            assert!(self.waiting.is_empty() && self.wanted == 0 && self.granted == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastpass::Params;
    use model::{Encap, EndpointConfig, HostId};
    use units::Rate;

    #[test]
    fn who_wants_slots_waits_for_the_arbiter_and_who_does_not_for_the_receiver() {
        let config = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
        let settings = Settings::new(&Params::DEFAULT, &config);
        let mut sender = Sender {
            arbiter_asked: 3,
            ..Sender::default()
        };
        let receiver = settings.ask(0).max(settings.repeats(0));
        let arbiter = settings.rto(3);
        assert_ne!(receiver, arbiter);
        assert_eq!(sender.patience(&settings), receiver);
        sender.wanted = 1;
        assert_eq!(sender.patience(&settings), arbiter);
    }

    #[test]
    fn an_empty_message_may_be_done_when_its_end_was_said_and_no_sooner() {
        let mut sender = Sender::default();
        assert!(sender.push(Time::ZERO, 0));
        assert!(!sender.may_be_done(1));
        sender.take_end(Time::ZERO, Lifetime::OneMessage, false);
        assert!(sender.may_be_done(1) && !sender.may_be_done(2));
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Sender); 5] = [
            |x| x.base = 1,
            |x| x.repair = 1,
            |x| x.high = 1,
            |x| x.wanted = 1,
            |x| x.granted = 1,
        ];
        Sender::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Sender::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
