//! The role that gives credit: it takes what comes in any order, and knows which pieces have had credit.

use super::header::{Credit, Data, Request};
use super::ranks::Rank;
use super::settings::Settings;
use model::{ConnId, Cx};
use parts::arriving::{self, Arriving, Came};
use parts::connections::{Receiving, told};
use units::Time;

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) arriving: Arriving,
    /// Everything before this has had its credit, or leaves unasked; none before the message is announced.
    cursor: Option<u64>,
    /// Where holes before it get credit again; nowhere where it is empty.
    again: (u64, u64),
    /// Credits of this connection so far, and how often what was not used was taken back.
    issued: u32,
    round: u8,
    /// Wire bytes of credit that was given, or that the sender took, and of which no data has come; and what of it is
    /// counted with the host and its peer.
    pub(super) charged: u64,
    pub(super) counted: u64,
    /// Credit taken back since data came, and credits for the first hole since that moved.
    vain: u8,
    tries: u8,
    /// When the last credit left, or the message was announced; when data of it came; when anything did; when the first
    /// hole moved.
    credit_at: Time,
    data_at: Time,
    pub(super) heard: Time,
    moved_at: Time,
    /// Its place among those that want credit.
    pub(super) rank: Option<Rank>,
}

/// What a receiver does when a moment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// Nothing: it was too early.
    No,
    /// Credit for holes again.
    Again,
    /// It took back what was not used.
    Back,
}

/// What one packet brings.
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) length: u16,
    /// It has had no credit yet.
    pub(super) first: bool,
}

impl Receiver {
    /// A piece has arrived, for a credit if `scheduled`.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        data: &Data,
        scheduled: bool,
        settings: &Settings,
    ) -> Came {
        let until = data.until();
        if until <= self.arriving.base() {
            return Came::Past;
        }
        if scheduled && self.cursor.is_none() {
            return Came::Nonsense;
        }
        let free_end = until + u64::from(data.number);
        if !scheduled
            && data.whole
            && self.arriving.on_end(free_end, false) == arriving::Verdict::Nonsense
        {
            return Came::Nonsense;
        }
        let next = self.arriving.next();
        let verdict = self
            .arriving
            .on_piece(cx, conn, data.offset, data.length, false);
        if verdict == arriving::Verdict::Nonsense {
            return Came::Nonsense;
        }
        if self.cursor.is_none() {
            self.announce(cx.now, free_end, settings);
        }
        (self.heard, self.data_at, self.vain) = (cx.now, cx.now, 0);
        if self.arriving.next() > next {
            (self.moved_at, self.tries) = (cx.now, 0);
        }
        match verdict {
            arriving::Verdict::New => {}
            arriving::Verdict::Missing => return Came::Missing,
            _ => return Came::Old,
        }
        let cursor = self.cursor.unwrap_or_default();
        if self.arriving.next() >= cursor {
            // Frames of two sizes cost otherwise than they were counted.
            self.charged = 0;
        } else if until <= cursor {
            let wire = u64::from(settings.encap.wire(data.length));
            self.charged = self.charged.saturating_sub(wire);
        }
        Came::New
    }

    /// The message begins: what comes before `free_end` leaves unasked, and its sender has taken the credit for it.
    /// [sird artefact: `account_unsched_`]
    fn announce(&mut self, now: Time, free_end: u64, settings: &Settings) {
        let free_end = self.arriving.end().unwrap_or(free_end).min(free_end);
        self.cursor = Some(free_end);
        // An honest sender takes no more than it may have.
        let free = settings.wire_total(free_end - self.arriving.base());
        self.charged = free.min(settings.pair);
        (self.credit_at, self.moved_at) = (now, now);
    }

    /// The sender announces a message, first time or again.
    pub(super) fn on_request(&mut self, now: Time, request: &Request, settings: &Settings) -> Came {
        let of = self.arriving.of(request.ordinal);
        if of != Came::New {
            return of;
        }
        let verdict = match self.arriving.on_end(request.at, request.cut) {
            arriving::Verdict::Nonsense => return Came::Nonsense,
            // It left before the message was cut.
            arriving::Verdict::Old => return Came::Old,
            _ => Came::New,
        };
        self.heard = now;
        if self.cursor.is_none() {
            self.announce(
                now,
                self.arriving.base() + u64::from(request.free),
                settings,
            );
        } else if self.charged > 0 && self.quiet_until(settings, 0) <= now {
            // Whoever asks is there, and has no credit any more.
            self.go_back();
        }
        verdict
    }

    /// Whether the message under way is announced.
    pub(super) fn is_announced(&self) -> bool {
        self.cursor.is_some()
    }

    /// Bytes that have not arrived, by which it is chosen. [sird artefact: `fewer_inbound_bytes_remaining`]
    #[inline]
    pub(super) fn to_come(&self) -> u64 {
        let length = self.arriving.end().map(|end| end - self.arriving.base());
        length.map_or(0, |length| length - self.arriving.got())
    }

    /// The next hole that gets credit again.
    #[inline]
    fn hole(&self) -> Option<(u64, u64)> {
        let (from, until) = self.again;
        if from >= until {
            return None;
        }
        let (a, b) = self.arriving.first_gap(from)?;
        (a < until).then_some((a, b.min(until)))
    }

    /// The next piece that wants credit.
    #[inline]
    pub(super) fn piece(&self, settings: &Settings) -> Option<Piece> {
        let most = u64::from(settings.payload_max);
        let (hole, first) = match self.hole() {
            Some(hole) => (hole, false),
            None => (self.arriving.first_gap(self.cursor?)?, true),
        };
        let (offset, until) = hole;
        #[allow(clippy::cast_possible_truncation, reason = "at most a payload")]
        let length = (until - offset).min(most) as u16;
        Some(Piece {
            offset,
            length,
            first,
        })
    }

    /// Whether it wants credit. Where nothing came for the last, one at a time will do.
    #[inline]
    pub(super) fn wants(&self, settings: &Settings) -> bool {
        let patient = self.vain > 0 && self.charged > 0;
        self.arriving.is_active() && !patient && self.piece(settings).is_some()
    }

    /// Whether it wants credit, and has had none.
    pub(super) fn waits_for_turn(&self) -> bool {
        self.rank.is_some() && self.charged == 0
    }

    /// Gives credit for this piece, the next.
    #[inline]
    pub(super) fn give(&mut self, now: Time, piece: &Piece, settings: &Settings) -> Credit {
        let &Piece { offset, length, .. } = piece;
        let until = offset + u64::from(length);
        if piece.first {
            self.cursor = Some(until);
            self.charged += u64::from(settings.encap.wire(length));
            self.again = (0, 0);
        } else {
            self.again.0 = until;
        }
        self.issued = self.issued.wrapping_add(1);
        self.credit_at = now;
        Credit {
            offset,
            length,
            number: told(self.issued),
            round: self.round,
        }
    }

    /// What was given and not used is taken back: what is missing wants credit anew.
    fn go_back(&mut self) {
        (self.cursor, self.again) = (Some(self.arriving.next()), (0, 0));
        self.charged = 0;
        self.round = self.round.wrapping_add(1);
        self.vain = self.vain.saturating_add(1);
    }

    /// Until when it waits for any data of what has had credit.
    fn quiet_until(&self, settings: &Settings, vain: u8) -> Time {
        self.credit_at.max(self.data_at).after(settings.retry(vain))
    }

    /// Until when it waits for its first hole to move; never where there is none below what has arrived.
    fn hole_until(&self, settings: &Settings) -> Time {
        let ahead = self.arriving.base() + self.arriving.got() > self.arriving.next();
        if ahead && self.hole().is_none() {
            self.moved_at.after(settings.reorder(self.tries))
        } else {
            Time::NEVER
        }
    }

    /// The moment of [`Receiver::due`] may have come.
    pub(super) fn on_overdue(&mut self, now: Time, settings: &Settings) -> Overdue {
        let Some(cursor) = self.cursor.filter(|&at| at > self.arriving.next()) else {
            return Overdue::No;
        };
        if self.quiet_until(settings, self.vain) <= now {
            self.go_back();
            self.credit_at = now;
            return Overdue::Back;
        }
        if self.hole_until(settings) > now {
            return Overdue::No;
        }
        let next = self.arriving.next();
        self.again = (next, self.arriving.highest().min(cursor));
        (self.moved_at, self.tries) = (now, self.tries.saturating_add(1));
        Overdue::Again
    }

    /// When silence means something: a hole, credit that is not used, or a sender that is gone.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.arriving.is_active() {
            return Time::NEVER;
        }
        let gone = self.heard.after(settings.timeout);
        if self.cursor.is_none_or(|at| at <= self.arriving.next()) {
            return gone;
        }
        let quiet = self.quiet_until(settings, self.vain);
        gone.min(quiet).min(self.hole_until(settings))
    }

    /// How long the silence lasts by then.
    pub(super) fn patience(&self, settings: &Settings) -> units::Span {
        settings.retry(self.vain)
    }

    /// A pause explains the silence: it counts from now on, and perhaps that of the sender, too.
    pub(super) fn excuse(&mut self, now: Time, sender: bool) {
        (self.credit_at, self.moved_at) = (now, now);
        if sender {
            self.heard = now;
        }
    }

    /// The message is complete: says so, and waits for the next.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.arriving.finish(cx, conn);
        (self.cursor, self.again, self.charged) = (None, (0, 0), 0);
        (self.vain, self.tries) = (0, 0);
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let until = self.due(settings);
        let waits_for = if self.cursor.is_none() {
            "REQUEST".to_owned()
        } else if self.rank.is_some() {
            format!("its turn to give credit, with {} B of it out", self.charged)
        } else {
            format!("data for {} B of credit, until {until}", self.charged)
        };
        Some((self.arriving.state()?, waits_for))
    }
}

impl Receiving for Receiver {
    fn complete(&self) -> u32 {
        self.arriving.complete()
    }

    fn check(&self) {
        self.arriving.check();
        assert_eq!(self.charged, self.counted, "credit that nobody counts");
        let idle = self.rank.is_none() && self.cursor.is_none() && self.charged == 0;
        assert!(self.arriving.is_active() || idle);
        assert!(self.cursor.is_none_or(|at| at >= self.arriving.base()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Receiver); 4] = [
            |x| x.charged = 1,
            |x| (x.charged, x.counted) = (1, 1),
            |x| x.rank = Some((0, 0, 0)),
            |x| x.cursor = Some(0),
        ];
        Receiver::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Receiver::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
