//! The role that pulls: it takes what comes in any order, and answers each packet at once.

use super::early::Probed;
use super::header::{Data, End, told};
use super::settings::Settings;
use model::{ConnId, Cx, Event};
use parts::connections::Receiving;
use parts::range_set::RangeSet;
use units::Time;

/// Gaps that a message keeps open; a packet that would open another is not kept, and is asked for again. [ours]
const GAPS_MAX: usize = 4096;

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Messages that are complete.
    pub(super) ordinal: u32,
    /// Something of the next one has come.
    pub(super) active: bool,
    /// Where it begins in the stream; everything before `next` has arrived, and of what follows `ahead`.
    base: u64,
    next: u64,
    ahead: RangeSet<GAPS_MAX>,
    /// Where it ends, if that is known, and whether that is earlier than was said.
    end: Option<u64>,
    cut: bool,
    /// Pulls given, of all messages, and those that this message still has to get.
    pub(super) pulls: u32,
    pub(super) owed: u32,
    /// It is among those that take turns.
    pub(super) listed: bool,
    /// When a packet of it came last.
    pub(super) heard: Time,
    /// What the probes of its burst have said.
    pub(super) probed: Option<Box<Probed>>,
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A piece that was missing.
    New,
    /// The head of a piece that is missing.
    Missing,
    /// Nothing new.
    Old,
    /// Of a message that is complete.
    Past,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

impl Receiver {
    /// What data is that comes after the last message.
    pub(super) fn after_all(&self, data: &Data) -> Verdict {
        if data.until() <= self.base {
            Verdict::Past
        } else {
            Verdict::Nonsense
        }
    }

    /// Where the message under way begins in the stream.
    #[inline]
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Where it ends, if that is known.
    pub(super) fn known_end(&self) -> Option<u64> {
        self.end
    }

    /// Whether the byte at `at` has arrived.
    #[inline]
    pub(super) fn has(&self, at: u64) -> bool {
        at < self.next || self.ahead.holding(at).is_some()
    }

    /// A packet of the message has come.
    pub(super) fn hear(&mut self, now: Time) {
        (self.active, self.heard) = (true, now);
    }

    /// A piece has arrived, or its head alone.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        data: &Data,
        trimmed: bool,
    ) -> Verdict {
        let until = data.until();
        if data.offset < self.base {
            return Verdict::Past;
        }
        if !self.learn(data, until) {
            return Verdict::Nonsense;
        }
        (self.active, self.heard) = (true, cx.now);
        if trimmed {
            let here = until <= self.next || self.ahead.holding(data.offset).is_some();
            return if here { Verdict::Old } else { Verdict::Missing };
        }
        if self.keep(data.offset, until) {
            cx.accept(conn, data.offset, data.length);
            return Verdict::New;
        }
        let here = until <= self.next || self.ahead.holding(data.offset).is_some();
        // There are too many gaps for it.
        if here { Verdict::Old } else { Verdict::Missing }
    }

    /// What a piece says of the end; false where that cannot be.
    #[inline]
    fn learn(&mut self, data: &Data, until: u64) -> bool {
        if let Some(end) = self.end {
            return until <= end && (!data.end || until == end || self.cut);
        }
        if data.end {
            if until < self.highest() {
                return false;
            }
            self.end = Some(until);
        }
        true
    }

    /// Behind the farthest byte that has arrived.
    fn highest(&self) -> u64 {
        self.ahead.last().map_or(self.next, |(_, end)| end)
    }

    /// Takes a piece; false where part of it is here already.
    #[inline]
    fn keep(&mut self, offset: u64, until: u64) -> bool {
        if offset < self.next {
            return false;
        }
        if offset == self.next && self.ahead.is_empty() {
            self.next = until;
            return true;
        }
        let free = self.ahead.first_gap(offset, until) == Some((offset, until));
        if !free || self.ahead.insert(offset, until).is_none() {
            return false;
        }
        if let Some((_, end)) = self.ahead.first().filter(|&(start, _)| start == self.next) {
            self.next = end;
            self.ahead.drop_below(end);
        }
        true
    }

    /// The sender says where the message ends.
    pub(super) fn on_end(&mut self, now: Time, end: &End) -> Verdict {
        if end.ordinal != told(self.ordinal) {
            let ahead = end.ordinal.wrapping_sub(told(self.ordinal));
            // The next message begins when this one is acknowledged.
            return if ahead >= 1 << 15 {
                Verdict::Past
            } else {
                Verdict::Nonsense
            };
        }
        if end.at < self.highest() {
            return Verdict::Nonsense;
        }
        self.heard = now;
        match self.end {
            // It left before the end moved.
            Some(known) if self.cut && !end.cut && end.at > known => return Verdict::Old,
            Some(known) if known != end.at && (self.cut || !end.cut || end.at > known) => {
                return Verdict::Nonsense;
            }
            Some(_) | None => {}
        }
        self.active = true;
        (self.end, self.cut) = (Some(end.at), self.cut | end.cut);
        Verdict::New
    }

    /// Whether all of the message is here.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.active && self.end == Some(self.next)
    }

    /// The message is complete: says so, and waits for the next.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let (ordinal, length) = (self.ordinal, self.next - self.base);
        cx.events.push(Event::Received {
            conn,
            ordinal,
            length,
        });
        *self = Self {
            ordinal: ordinal.wrapping_add(1),
            base: self.next,
            next: self.next,
            pulls: self.pulls,
            listed: self.listed,
            ..Self::default()
        };
    }

    /// Everything before this has arrived.
    #[inline]
    pub(super) fn complete_upto(&self) -> u64 {
        self.next
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self) -> Option<(String, String)> {
        let got = self.next - self.base + self.ahead.total();
        let all = self.end.map_or_else(
            || "an unknown number of bytes".to_owned(),
            |end| format!("{} B", end - self.base),
        );
        let state = format!(
            "receiving message {}, {got} of {all} are here",
            self.ordinal
        );
        let waits_for = match self.owed {
            0 => "data after its last pull".to_owned(),
            owed => format!("its turn to pull {owed} frames"),
        };
        self.active.then_some((state, waits_for))
    }

    /// When the sender of an unfinished message counts as gone.
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if self.active {
            self.heard.after(settings.timeout)
        } else {
            Time::NEVER
        }
    }
}

impl Receiving for Receiver {
    fn complete(&self) -> u32 {
        self.ordinal
    }

    fn check(&self) {
        assert!(self.base <= self.next);
        assert!(self.end.is_none_or(|end| end >= self.highest()));
        assert!(self.active || (self.owed == 0 && self.ahead.is_empty()));
        assert!(self.listed || self.owed == 0);
        self.ahead.check();
    }
}
