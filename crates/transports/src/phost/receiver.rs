//! The role that gives tokens: it takes what comes in any order, and knows which frames have had a token.

use super::header::{Data, Rts, told};
use super::settings::Settings;
use super::tokens::Rank;
use model::{ConnId, Cx};
use parts::arriving::{self, Arriving};
use parts::connections::Receiving;
use units::{Span, Time};

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) arriving: Arriving,
    /// Everything before this has had its token, or leaves unasked; none before RTS.
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
    /// Windows that were forgiven since data came.
    vain: u8,
    /// A token, when it left, and how much later than in an idle network data came for the last one like it.
    timed: Option<(u16, Time)>,
    late: Span,
    /// Its place among those that want tokens.
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

/// What a receiver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Its turn to give a token.
    Turn,
    /// Data for its unused tokens, which are forgiven at this moment.
    Window(Time),
    /// What is missing, which gets tokens again at this moment.
    Missing(Time),
    /// RTS, or a message.
    Announcement,
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
        (self.heard, self.data_at, self.vain) = (cx.now, cx.now, 0);
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
        let unused = self.issued.wrapping_sub(self.answered);
        if u32::from(ahead) <= unused {
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

    /// The sender announces a message, first time or again.
    pub(super) fn on_rts(&mut self, now: Time, rts: &Rts, settings: &Settings) -> Verdict {
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
        // Whoever asks is there, and has no use for the tokens that have had their time.
        self.heard = now;
        if now >= self.token_at.after(settings.retry) {
            self.answered = self.issued;
        }
        if self.cursor.is_none() {
            // Tokens begin behind what leaves unasked.
            let free = u64::from(rts.free) * u64::from(rts.frame);
            self.frame = rts.frame;
            self.cursor = Some(rts.at.min(self.arriving.base() + free));
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

    /// Bytes that have not arrived, by which it is chosen. [phost artefact]
    #[inline]
    pub(super) fn to_come(&self) -> u64 {
        let length = self.arriving.end().map(|end| end - self.arriving.base());
        length.map_or(0, |length| length - self.arriving.got())
    }

    /// The next frame that wants a token.
    #[inline]
    fn gap(&self) -> Option<u64> {
        let (from, _) = self.arriving.first_gap(self.cursor?)?;
        let behind = from - self.arriving.base();
        Some(from - behind % u64::from(self.frame))
    }

    /// What it waits for, where a message is under way.
    #[inline]
    pub(super) fn waits(&self, settings: &Settings) -> Waits {
        if self.cursor.is_none() || !self.arriving.is_active() {
            return Waits::Announcement;
        }
        // DEVIATES(phost artefact): data that waits in queues is no sooner asked for again, nor its tokens forgiven.
        let since = self.token_at.max(self.data_at).after(self.late);
        if self.gap().is_none() {
            return Waits::Missing(since.after(settings.retry));
        }
        if self.issued.wrapping_sub(self.answered) < settings.window {
            return Waits::Turn;
        }
        Waits::Window(since.after(settings.relax(self.vain)))
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

    /// Unused tokens do not count any more.
    pub(super) fn forgive(&mut self) {
        (self.answered, self.vain) = (self.issued, self.vain.saturating_add(1));
        self.timed = None;
    }

    /// What is missing gets tokens again.
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
        (self.cursor, self.answered, self.vain) = (None, self.issued, 0);
    }

    /// When silence means something: unused tokens, what is missing, or a sender that is gone.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.arriving.is_active() {
            return Time::NEVER;
        }
        let gone = self.heard.after(settings.timeout);
        match self.waits(settings) {
            Waits::Window(at) | Waits::Missing(at) => gone.min(at),
            Waits::Turn | Waits::Announcement => gone,
        }
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let unused = self.issued.wrapping_sub(self.answered);
        let waits_for = match self.waits(settings) {
            Waits::Turn => "its turn to give a token".to_owned(),
            Waits::Window(at) => format!("data for {unused} tokens, which it forgives at {at}"),
            Waits::Missing(at) => format!("data, or gives tokens for it again at {at}"),
            Waits::Announcement => "RTS".to_owned(),
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
