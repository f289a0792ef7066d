//! The role that grants: it takes what comes in any order, and knows what of it was granted and is missing.
//!
//! Not [`parts::arriving`]: a packet says how many bytes follow, at most so many, so the end may be a lower bound.

use super::header::{Data, LEFT_MAX, ORDINALS, Resend, told};
use super::ranks::Rank;
use super::settings::Settings;
use model::{ConnId, Cx, Event};
use parts::connections::Receiving;
use parts::range_set::RangeSet;
use units::Time;

/// Gaps that a message keeps open; a packet that would open another is not kept, and is asked for later. [ours]
const GAPS_MAX: usize = 4096;
/// Bytes that are granted beyond a gap: less than an application's buffer. [ours]
const AHEAD_MAX: u64 = 800_000;

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Messages that are complete.
    pub(super) ordinal: u32,
    /// A piece of the next one has come.
    pub(super) active: bool,
    /// Where it begins in the stream, and ends as far as is known.
    pub(super) base: u64,
    pub(super) end: u64,
    /// Whether that end is the end.
    known: bool,
    /// It ends earlier than was said before.
    cut: bool,
    /// Everything before this has arrived, and of what follows this.
    next: u64,
    ahead: RangeSet<GAPS_MAX>,
    /// Everything before this may leave.
    pub(super) granted: u64,
    /// What leaves unasked ends here, as far as is known.
    pub(super) unasked: u64,
    /// Bytes that left unasked and were lost: so many more are granted. The probe that told has come.
    pub(super) lost: u64,
    pub(super) probed: bool,
    /// When what is missing of the burst, which ends there, counts as lost: its probe has come before that.
    pub(super) closes: Option<(Time, u64)>,
    /// The least urgent priority of what is on the way, as far as it was granted or left unasked together.
    pub(super) priority: u8,
    /// Bytes on the way, as the host counts them: none while it is asked for in vain.
    pub(super) pledged: u64,
    /// Those of them that were granted, counted alike.
    pub(super) promised: u64,
    /// Its rank among the messages that want grants.
    pub(super) rank: Option<Rank>,
    /// No grant before this moment.
    pub(super) grant_at: Time,
    /// A grant waits for that moment, or else for room.
    pub(super) wants: bool,
    /// When a packet of it came last.
    pub(super) heard: Time,
    /// When bytes of it were granted while none were on the way.
    pub(super) granted_at: Time,
    /// When it was asked for last, and how often since a packet came.
    pub(super) asked: Time,
    pub(super) tries: u8,
    /// While it waits behind others: its priority, and bytes of that which come before it at most.
    pub(super) behind: (u8, u64),
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            ordinal: 0,
            active: false,
            base: 0,
            end: 0,
            known: false,
            cut: false,
            next: 0,
            ahead: RangeSet::new(),
            granted: 0,
            unasked: 0,
            lost: 0,
            probed: false,
            closes: None,
            priority: 0,
            pledged: 0,
            promised: 0,
            rank: None,
            grant_at: Time::ZERO,
            wants: false,
            heard: Time::ZERO,
            granted_at: Time::ZERO,
            asked: Time::ZERO,
            tries: 0,
            behind: (0, 0),
        }
    }
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Something new.
    New,
    /// The first piece of a message.
    First,
    /// Nothing new.
    Old,
    /// Of a message that is complete.
    Past,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

impl Verdict {
    /// Whether it was here before.
    #[inline]
    pub(super) const fn is_copy(self) -> bool {
        matches!(self, Self::Old | Self::Past)
    }
}

impl Receiver {
    /// Bytes of the message that have arrived.
    #[inline]
    pub(super) fn got(&self) -> u64 {
        self.next - self.base + self.ahead.total()
    }

    /// Bytes that were granted, or left unasked, and have not arrived.
    #[inline]
    pub(super) fn on_the_way(&self) -> u64 {
        (self.granted - self.base).saturating_sub(self.got() + self.lost)
    }

    /// Bytes that were granted and have not arrived, of a message with a burst.
    #[inline]
    pub(super) fn owed(&self) -> u64 {
        let burst = match self.probed {
            true => 0,
            false => self.missing_before(self.unasked),
        };
        self.on_the_way().saturating_sub(burst)
    }

    /// How far it is to be granted.
    #[inline]
    pub(super) fn grants_end(&self) -> u64 {
        self.end + self.lost
    }

    /// Bytes before `upto` that have not arrived.
    pub(super) fn missing_before(&self, upto: u64) -> u64 {
        let gaps = self.ahead.gaps(self.next, upto.min(self.end));
        gaps.map(|(from, until)| until - from).sum()
    }

    /// Up to where it is to be granted for `window` bytes to be on the way.
    #[inline]
    pub(super) fn target(&self, window: u64) -> u64 {
        self.grants_end()
            .min(self.base + self.got() + self.lost + window)
    }

    /// Since when its silence means something: a message that waits for its turn has nothing to say.
    #[inline]
    pub(super) fn since(&self) -> Time {
        self.heard.max(self.granted_at)
    }

    /// Everything before `upto` is granted; what was before.
    #[inline]
    pub(super) fn grant(&mut self, now: Time, upto: u64) -> u64 {
        if self.on_the_way() == 0 {
            self.granted_at = now;
        }
        std::mem::replace(&mut self.granted, upto)
    }

    /// A piece has arrived.
    #[inline]
    pub(super) fn on_data(&mut self, cx: &mut Cx<'_>, conn: ConnId, data: &Data) -> Verdict {
        if data.ordinal != told(self.ordinal) {
            return self.of_another(data.ordinal);
        }
        let (end, known) = (data.end(), data.left < LEFT_MAX);
        if data.offset < self.base {
            // A copy as old as numbers go round.
            return Verdict::Past;
        }
        let first = !self.active;
        if first {
            (self.end, self.known, self.cut) = (end, known, data.cut);
        } else if !self.learn(data, end, known) {
            return Verdict::Nonsense;
        }
        (self.active, self.heard, self.tries) = (true, cx.now, 0);
        let new = self.keep(cx, conn, data.offset, data.length);
        match (first, new) {
            (true, _) => Verdict::First,
            (false, true) => Verdict::New,
            // An empty piece says where the end is, and nothing else; a copy may be the first to say that it is here.
            (false, false) if data.length == 0 || self.is_complete() => Verdict::New,
            (false, false) => Verdict::Old,
        }
    }

    /// A packet of a message with another number.
    #[cold]
    pub(super) fn of_another(&self, ordinal: u16) -> Verdict {
        let ahead = ordinal.wrapping_sub(told(self.ordinal));
        // The next message begins when this one is acknowledged.
        if u32::from(ahead) % ORDINALS >= ORDINALS / 2 {
            Verdict::Past
        } else {
            Verdict::Nonsense
        }
    }

    /// What a further packet says of the end; false where that cannot be.
    #[inline]
    fn learn(&mut self, data: &Data, end: u64, known: bool) -> bool {
        if end == self.end && known == self.known {
            return true;
        }
        let highest = self.ahead.last().map_or(self.next, |(_, end)| end);
        if data.cut && !self.cut {
            if end < highest || (self.known && end > self.end) {
                return false;
            }
            (self.end, self.known, self.cut) = (end, true, true);
            self.lost = self.lost.min(end - self.base);
            self.granted = self.granted.min(self.grants_end());
            return true;
        }
        match (self.known, known) {
            // It left before the end moved.
            (true, _) if self.cut => data.offset + u64::from(data.length) <= self.end,
            (true, true) => false,
            (true, false) => end <= self.end,
            (false, true) if end < self.end => false,
            (false, _) => {
                (self.end, self.known) = (end.max(self.end), known);
                true
            }
        }
    }

    /// Takes a piece; false where part of it is here already.
    #[inline]
    pub(super) fn keep(&mut self, cx: &mut Cx<'_>, conn: ConnId, offset: u64, length: u16) -> bool {
        let until = offset + u64::from(length);
        if length == 0 || offset < self.next {
            return false;
        }
        if offset == self.next && self.ahead.is_empty() {
            self.next = until;
        } else {
            let free = self.ahead.first_gap(offset, until) == Some((offset, until));
            if !free || self.ahead.insert(offset, until).is_none() {
                return false;
            }
            if let Some((_, end)) = self.ahead.first().filter(|&(start, _)| start == self.next) {
                self.next = end;
                self.ahead.drop_below(end);
            }
        }
        cx.accept(conn, offset, length);
        true
    }

    /// A sender fills its last frame beyond what it was granted. That counts as granted, or it would hide as many
    /// bytes that are missing elsewhere.
    #[inline]
    pub(super) fn fill_up(&mut self, data: &Data) {
        let until = data.offset + u64::from(data.length);
        if data.offset < self.granted && self.granted < until {
            self.granted = until.min(self.end);
        }
    }

    /// Whether all of the message is here.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.active && self.known && self.next == self.end
    }

    /// The message is complete: says so, and waits for the next.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let (ordinal, length) = (self.ordinal, self.end - self.base);
        cx.events.push(Event::Received {
            conn,
            ordinal,
            length,
        });
        *self = Self {
            ordinal: ordinal.wrapping_add(1),
            base: self.end,
            end: self.end,
            next: self.end,
            granted: self.end,
            ..Self::default()
        };
    }

    /// What was granted and has not arrived, as packets that ask for it: at most so many.
    pub(super) fn missing(&self, priority: u8, most: usize) -> impl Iterator<Item = Resend> {
        // What was granted for losses leads no farther in the stream.
        let highest = self.ahead.last().map_or(self.next, |(_, end)| end);
        let upto = (self.granted - self.base).saturating_sub(self.lost) + self.base;
        let upto = upto.max(highest).min(self.end);
        let gaps = self.ahead.gaps(self.next, upto).take(most);
        gaps.map(move |(from, upto)| Resend {
            from,
            upto,
            priority,
        })
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, recovery: bool) -> Option<(String, String)> {
        let state = format!(
            "receiving message {}, {} of {}{} B are here",
            self.ordinal,
            self.got(),
            if self.known { "" } else { "at least " },
            self.end - self.base
        );
        let waits_for = match (self.on_the_way(), self.is_granted()) {
            (0, false) => "its turn to be granted".to_owned(),
            (bytes, _) if recovery => format!("{bytes} B that it granted, or asks again"),
            (bytes, _) => format!(
                "{bytes} B that it granted and that nobody sends again: homa.recovery is false"
            ),
        };
        self.active.then_some((state, waits_for))
    }

    /// How far grants may go: no farther behind a gap than an application's buffer reaches.
    #[inline]
    pub(super) fn farthest(&self, settings: &Settings) -> u64 {
        self.next + self.lost + AHEAD_MAX.max(settings.unscheduled)
    }

    /// Whether a gap keeps it from being granted more.
    fn is_held(&self, settings: &Settings) -> bool {
        !self.ahead.is_empty() && self.granted >= self.farthest(settings)
    }

    /// Whether all of it is granted.
    pub(super) fn is_granted(&self) -> bool {
        self.granted >= self.grants_end()
    }

    /// When the silence of the peer means something: it was granted bytes that have not come.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        let waits = self.on_the_way() > 0 || (settings.bursts && self.is_held(settings));
        if !settings.recovery || !waits {
            return Time::NEVER;
        }
        let since = self.since().max(self.asked);
        since.after(settings.patience(self.tries))
    }
}

impl Receiving for Receiver {
    fn complete(&self) -> u32 {
        self.ordinal
    }

    fn check(&self) {
        assert!(self.base <= self.next && self.base <= self.granted);
        assert!(self.granted <= self.grants_end() || !self.active);
        assert!(self.lost <= self.end - self.base);
        assert!(self.active || self.rank.is_none());
        assert!(self.rank.is_none() || !self.is_granted());
        self.ahead.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message that ends farther away than its packets can tell is cut where it was to end.
    #[test]
    fn a_cut_that_leaves_the_end_where_it_is_makes_sense() {
        let end = u64::from(LEFT_MAX) + 1_000;
        let mut receiver = Receiver {
            active: true,
            end,
            known: true,
            ..Receiver::default()
        };
        let data = Data {
            offset: 1_000,
            has: 0,
            length: 0,
            left: LEFT_MAX,
            ordinal: 0,
            lifetime: model::Lifetime::OneMessage,
            cut: true,
            answer: false,
        };
        assert!(!receiver.learn(&data, end + 1, false), "no farther");
        assert!(receiver.learn(&data, end, false));
        assert_eq!((receiver.end, receiver.cut), (end, true));
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Receiver); 3] = [
            |x| x.base = 1,
            |x| (x.active, x.granted) = (true, 1),
            |x| x.lost = 1,
        ];
        Receiver::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Receiver::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
