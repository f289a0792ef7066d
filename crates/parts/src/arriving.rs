//! The message that arrives on a connection, in pieces of any order; the next begins when it is complete.

use crate::range_set::RangeSet;
use model::{ConnId, Cx, Event};

/// Gaps that a message keeps open; a piece that would open another is not kept, and must come again. [ours]
const GAPS_MAX: usize = 4096;

/// One direction of a connection, as far as it has arrived. Positions are those of its stream of bytes.
#[derive(Debug, Default)]
pub struct Arriving {
    /// Messages that are complete.
    ordinal: u32,
    /// Something of the next one has come.
    active: bool,
    /// Where it begins; everything before `next` has arrived, and of what follows `ahead`.
    base: u64,
    next: u64,
    ahead: RangeSet<GAPS_MAX>,
    /// Where it ends, if that is known, and whether that is earlier than was said.
    end: Option<u64>,
    cut: bool,
}

/// What a piece was, or a word about the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was missing, or says of the end what was not known to be wrong.
    New,
    /// Nothing new.
    Old,
    /// There are too many gaps for it.
    NoRoom,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

impl Arriving {
    /// Messages that are complete.
    #[inline]
    pub fn complete(&self) -> u32 {
        self.ordinal
    }

    /// Whether something of the next one has come.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Where it begins.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where it ends, if that is known.
    #[inline]
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Everything before this has arrived.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of it that have arrived.
    #[inline]
    pub fn got(&self) -> u64 {
        self.next - self.base + self.ahead.total()
    }

    /// The first gap from `from` on.
    #[inline]
    pub fn first_gap(&self, from: u64) -> Option<(u64, u64)> {
        let from = from.max(self.next);
        let end = self.end.filter(|&end| from < end)?;
        self.ahead.first_gap(from, end)
    }

    /// A piece of it has come, which ends it if `last`.
    #[inline]
    pub fn on_piece(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        offset: u64,
        length: u16,
        last: bool,
    ) -> Verdict {
        let until = offset + u64::from(length);
        if offset < self.base || !self.learn(until, last) {
            return Verdict::Nonsense;
        }
        self.active = true;
        if self.keep(offset, until) {
            cx.accept(conn, offset, length);
            return Verdict::New;
        }
        let here = until <= self.next || self.ahead.holding(offset).is_some();
        if here { Verdict::Old } else { Verdict::NoRoom }
    }

    /// What a piece says of the end; false where that cannot be.
    #[inline]
    fn learn(&mut self, until: u64, last: bool) -> bool {
        if let Some(end) = self.end {
            return until <= end && (!last || until == end || self.cut);
        }
        if last {
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

    /// Takes a piece; false where part of it is here already, or there are too many gaps.
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

    /// The sender says that it ends at `at`, which is earlier than it said before if `cut`.
    pub fn on_end(&mut self, at: u64, cut: bool) -> Verdict {
        if at < self.highest() {
            return Verdict::Nonsense;
        }
        match self.end {
            // It left before the end moved.
            Some(known) if self.cut && !cut && at > known => return Verdict::Old,
            Some(known) if known != at && (self.cut || !cut || at > known) => {
                return Verdict::Nonsense;
            }
            Some(_) | None => {}
        }
        self.active = true;
        (self.end, self.cut) = (Some(at), self.cut | cut);
        Verdict::New
    }

    /// Whether all of it is here.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.active && self.end == Some(self.next)
    }

    /// It is complete: says so, and waits for the next.
    pub fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
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
            ..Self::default()
        };
    }

    /// What of it is here, in words; `None` where nothing is under way.
    pub fn state(&self) -> Option<String> {
        let all = self.end.map_or_else(
            || "an unknown number of bytes".to_owned(),
            |end| format!("{} B", end - self.base),
        );
        let (ordinal, got) = (self.ordinal, self.got());
        let state = || format!("receiving message {ordinal}, {got} of {all} are here");
        self.active.then(state)
    }

    /// Panics where an invariant is broken.
    pub fn check(&self) {
        assert!(self.base <= self.next);
        assert!(self.end.is_none_or(|end| end >= self.highest()));
        assert!(self.active || self.ahead.is_empty());
        self.ahead.check();
    }
}
