//! The role that gives tokens: it takes what comes in any order, and knows which frames have had a token.

use super::header::{Data, Rts};
use super::settings::Settings;
use super::tokens::Rank;
use model::{ConnId, Cx};
use parts::arriving::Came;
use parts::connections::Receiving;
use parts::tokened::{Announcement, Piece, Tokened};
use units::{Span, Time};

/// One direction of a connection, at its receiver.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) message: Tokened,
    /// Its place among those that want tokens.
    pub(super) rank: Option<Rank>,
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
    /// A piece has arrived, for a token if `scheduled`.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        data: &Data,
        scheduled: bool,
        settings: &Settings,
    ) -> Came {
        let piece = Piece {
            ordinal: data.ordinal,
            offset: data.offset,
            length: data.length,
            last: data.end,
            token: scheduled.then_some(data.token),
        };
        self.message.on_piece(cx, conn, piece, settings.rtt)
    }

    /// How much later than in an idle network a new piece that left unasked has come; none where nobody has announced it.
    pub(super) fn on_unasked(
        &mut self,
        now: Time,
        data: &Data,
        settings: &Settings,
    ) -> Option<Span> {
        let gap = |frame| settings.gap_of(frame);
        self.message.on_unasked(now, data.offset, gap)
    }

    /// The sender announces a message, first time or again.
    pub(super) fn on_rts(&mut self, now: Time, rts: &Rts, settings: &Settings) -> Came {
        let said = Announcement {
            ordinal: rts.ordinal,
            end: rts.at,
            cut: rts.cut,
            frame: rts.frame,
            unasked: u64::from(rts.free) * u64::from(rts.frame),
            reach: settings.reach,
        };
        let verdict = self.message.on_announcement(now, said);
        // Whoever asks is there, and has no use for the tokens that have had their time.
        if verdict == Came::New && now >= self.message.token_at().after(settings.retry) {
            self.message.write_off();
        }
        verdict
    }

    /// What it waits for, where a message is under way.
    #[inline]
    pub(super) fn waits(&self, settings: &Settings) -> Waits {
        let message = &self.message;
        if !message.is_announced() || !message.arriving.is_active() {
            return Waits::Announcement;
        }
        // DEVIATES(phost artefact): data that waits in queues is no sooner asked for again, nor its tokens forgiven.
        let since = message.since();
        if !message.wants() {
            // DEVIATES(phost artefact): each time in vain it is asked for half as often.
            return Waits::Missing(since.after(message.retry(settings.retry, settings.timeout)));
        }
        if message.unused() < settings.window {
            return Waits::Turn;
        }
        // DEVIATES(phost artefact): each time in vain tokens of a sender that may be gone count for twice as long.
        Waits::Window(since.after(message.relax(settings.relax)))
    }

    /// When silence means something: unused tokens, what is missing, or a sender that is gone.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.message.arriving.is_active() {
            return Time::NEVER;
        }
        let gone = self.message.heard().after(settings.timeout);
        match self.waits(settings) {
            Waits::Window(at) | Waits::Missing(at) => gone.min(at),
            Waits::Turn | Waits::Announcement => gone,
        }
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self, settings: &Settings) -> Option<(String, String)> {
        let unused = self.message.unused();
        let waits_for = match self.waits(settings) {
            Waits::Turn => "its turn to give a token".to_owned(),
            Waits::Window(at) => format!("data for {unused} tokens, which it forgives at {at}"),
            Waits::Missing(at) => format!("data, or gives tokens for it again at {at}"),
            Waits::Announcement => "RTS".to_owned(),
        };
        Some((self.message.arriving.state()?, waits_for))
    }
}

impl Receiving for Receiver {
    fn complete(&self) -> u32 {
        self.message.arriving.complete()
    }

    fn check(&self) {
        self.message.check();
        assert!(self.message.arriving.is_active() || self.rank.is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Receiver); 1] = [|x| x.rank = Some((0, 0, 0))];
        Receiver::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Receiver::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
