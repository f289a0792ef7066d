//! The role that gives tokens: it takes what comes in any order, and knows which frames have had a token.

use super::asking::Rank;
use super::header::{Data, LEFT_MAX, Rts, told};
use super::settings::Settings;
use model::{ConnId, Cx};
use parts::arriving::{self, Arriving};
use parts::connections::Receiving;
use units::{Span, Time};

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) arriving: Arriving,
    /// Everything before this has had its token, or leaves unasked; none before the message is known.
    cursor: Option<u64>,
    /// Payload of the sender's frames in bytes; none before RTS.
    frame: u16,
    /// Tokens of this connection so far, and the newest of them that data has come for, or that was forgiven.
    issued: u32,
    answered: u32,
    /// Everything before this has had a token before.
    once: u64,
    /// When the last token left, or the message was announced; when data of it came; when anything did.
    token_at: Time,
    data_at: Time,
    pub(super) heard: Time,
    /// A token, when it left, and how much later than in an idle network data came for the last one like it.
    timed: Option<(u16, Time)>,
    late: Span,
    /// Its place among those of its sender that want tokens.
    pub(super) rank: Option<Rank>,
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Something new.
    New,
    /// Nothing new.
    Old,
    /// Of a message that is complete.
    Past,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

/// Whether a token may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// One may.
    Free,
    /// So many are unused that the next has to wait for data, or for this moment.
    Until(Time),
}

impl Receiver {
    /// Which message a packet belongs to: the one under way, or one that is complete.
    fn of(&self, ordinal: u16) -> Verdict {
        match ordinal.wrapping_sub(told(self.arriving.complete())) {
            0 => Verdict::New,
            // The next message begins when this one is acknowledged.
            ahead if ahead >= 1 << 15 => Verdict::Past,
            _ => Verdict::Nonsense,
        }
    }

    /// A piece has arrived, for a token if `scheduled`.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        data: &Data,
        scheduled: bool,
        settings: &Settings,
    ) -> Verdict {
        let of = self.of(data.ordinal);
        if of != Verdict::New {
            return of;
        }
        let arriving = &mut self.arriving;
        let verdict = arriving.on_piece(cx, conn, data.offset, data.length, data.end);
        if verdict == arriving::Verdict::Nonsense {
            return Verdict::Nonsense;
        }
        (self.heard, self.data_at) = (cx.now, cx.now);
        if scheduled {
            self.on_answer(cx.now, data.token, settings);
        }
        match verdict {
            arriving::Verdict::Old => Verdict::Old,
            _ => Verdict::New,
        }
    }

    /// Data for this token has come: those before it were used, or never will be.
    #[inline]
    fn on_answer(&mut self, now: Time, token: u16, settings: &Settings) {
        let ahead = token.wrapping_sub(told(self.answered));
        if u32::from(ahead) <= self.unused() {
            self.answered = self.answered.wrapping_add(ahead.into());
        }
        if let Some((number, at)) = self.timed
            && token.wrapping_sub(number) < 1 << 15
        {
            self.timed = None;
            if token == number {
                self.late = Span(now.since(at).0.saturating_sub(settings.rtt.0));
            }
        }
    }

    /// Tokens that no data has come for.
    #[inline]
    pub(super) fn unused(&self) -> u32 {
        self.issued.wrapping_sub(self.answered)
    }

    /// The sender announces a message, first time or again.
    pub(super) fn on_rts(&mut self, now: Time, rts: &Rts) -> Verdict {
        let of = self.of(rts.ordinal);
        if of != Verdict::New {
            return of;
        }
        let verdict = match self.arriving.on_end(rts.at, rts.cut) {
            arriving::Verdict::Nonsense => return Verdict::Nonsense,
            // It left before the message was cut.
            arriving::Verdict::Old => return Verdict::Old,
            _ => Verdict::New,
        };
        self.heard = now;
        if self.cursor.is_none() {
            // What leaves unasked needs no token.
            self.frame = rts.frame;
            let from = if rts.unasked {
                rts.at
            } else {
                self.arriving.base()
            };
            self.cursor = Some(from);
            self.token_at = now;
        }
        verdict
    }

    /// Payload of the sender's frames, in bytes.
    #[inline]
    pub(super) fn frame(&self) -> u16 {
        self.frame
    }

    /// Whether RTS of the message under way has come.
    pub(super) fn is_announced(&self) -> bool {
        self.cursor.is_some()
    }

    /// Bytes that have not arrived, by which it is chosen. [dcpim artefact]
    #[inline]
    pub(super) fn to_come(&self) -> u64 {
        let length = self.arriving.end().map(|end| end - self.arriving.base());
        length.map_or(0, |length| length - self.arriving.got())
    }

    /// Frames that have not arrived, as requests tell them.
    #[allow(clippy::cast_possible_truncation, reason = "at most LEFT_MAX")]
    pub(super) fn lacks(&self) -> u32 {
        let frame = u64::from(self.frame.max(1));
        self.to_come().div_ceil(frame).min(LEFT_MAX) as u32
    }

    /// The next frame that wants a token.
    #[inline]
    fn gap(&self) -> Option<u64> {
        let (from, _) = self.arriving.first_gap(self.cursor?)?;
        let behind = from - self.arriving.base();
        Some(from - behind % u64::from(self.frame))
    }

    /// Whether some frame of it wants a token.
    #[inline]
    pub(super) fn wants(&self) -> bool {
        self.arriving.is_active() && self.gap().is_some()
    }

    /// Since when nothing has moved: data that waits in queues is no sooner asked for again, nor its tokens forgiven.
    #[inline]
    fn since(&self) -> Time {
        // DEVIATES(dcpim artefact): it counts from the last token alone.
        self.token_at.max(self.data_at).after(self.late)
    }

    /// Whether it may have a token where so many channels are its sender's. Unused ones may be forgiven.
    #[inline]
    pub(super) fn room(&mut self, now: Time, channels: u32, settings: &Settings) -> (Room, bool) {
        if self.unused() <= settings.window_of(channels) {
            return (Room::Free, false);
        }
        let until = self.since().after(settings.relax);
        if until > now {
            return (Room::Until(until), false);
        }
        (self.answered, self.timed) = (self.issued, None);
        (Room::Free, true)
    }

    /// Gives a token for the next frame that wants one: where that begins, the token's number, and whether there was
    /// one for it before.
    #[inline]
    pub(super) fn give(&mut self, now: Time) -> (u64, u16, bool) {
        let at = self.gap().expect("only who wants a token gets one");
        let until = at + u64::from(self.frame);
        let again = at < self.once;
        (self.cursor, self.once) = (Some(until), self.once.max(until));
        self.issued = self.issued.wrapping_add(1);
        self.token_at = now;
        self.timed = self.timed.or(Some((told(self.issued), now)));
        (at, told(self.issued), again)
    }

    /// What is missing may have tokens again.
    pub(super) fn go_back(&mut self) {
        self.cursor = Some(self.arriving.next());
    }

    /// A pause explains the silence: it counts from now on, and perhaps that of the sender, too.
    pub(super) fn excuse(&mut self, now: Time, sender: bool) {
        self.token_at = now;
        if sender {
            self.heard = now;
        }
    }

    /// The message is complete: says so, and waits for the next.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.arriving.finish(cx, conn);
        (self.cursor, self.answered) = (None, self.issued);
    }

    /// When what is missing may have tokens again; never where some of it has had none.
    #[inline]
    pub(super) fn missing_at(&self, settings: &Settings) -> Time {
        let waits = self.cursor.is_some() && self.arriving.is_active() && self.gap().is_none();
        if waits {
            self.since().after(settings.retry)
        } else {
            Time::NEVER
        }
    }

    /// When silence means something: what is missing, or a sender that is gone.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.arriving.is_active() {
            return Time::NEVER;
        }
        let gone = self.heard.after(settings.timeout);
        gone.min(self.missing_at(settings))
    }

    /// Its state and what it waits for; `None` where it is idle. `channels` says what it waits for where it wants
    /// tokens.
    pub(super) fn stuck(
        &self,
        settings: &Settings,
        channels: impl FnOnce() -> String,
    ) -> Option<(String, String)> {
        let waits_for = match self.missing_at(settings) {
            _ if self.cursor.is_none() => "RTS".to_owned(),
            Time::NEVER => channels(),
            at => format!("data, or wants tokens for it again at {at}"),
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
        assert!(self.arriving.is_active() || (self.rank.is_none() && self.cursor.is_none()));
        assert!(self.cursor.is_none_or(|at| at >= self.arriving.base()));
    }
}
