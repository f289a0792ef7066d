//! The role that gives tokens: it takes what comes in any order, and knows which frames have had a token.

use super::asking::Rank;
use super::header::{Data, LEFT_MAX, Rts};
use super::lines::Lines;
use super::settings::Settings;
use model::{ConnId, Cx};
use parts::arriving::Came;
use parts::connections::Receiving;
use parts::tokened::{Announcement, Piece, Tokened};
use units::{Span, Time};

/// One direction of a connection, at its receiver.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) message: Tokened,
    /// Its place among those of its sender that want tokens.
    pub(super) rank: Option<Rank>,
    /// The rate of its sender's line, as RTS tells it.
    line: u16,
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

    /// How much later than in an idle network a piece that left unasked has come; none where nobody has announced it.
    /// There it comes at the pace of the slower line.
    pub(super) fn on_unasked(
        &mut self,
        now: Time,
        data: &Data,
        settings: &Settings,
    ) -> Option<Span> {
        let lines = self.lines(settings);
        let gap = |frame| {
            let own = settings.gap_of(frame, settings.channels);
            own.max(lines.time_of_theirs(own))
        };
        self.message.on_unasked(now, data.offset, gap)
    }

    /// The sender announces a message, first time or again.
    pub(super) fn on_rts(&mut self, now: Time, rts: &Rts, settings: &Settings) -> Came {
        let said = Announcement {
            ordinal: rts.ordinal,
            end: rts.at,
            cut: rts.cut,
            frame: rts.frame,
            unasked: if rts.unasked { u64::MAX } else { 0 },
            reach: settings.reach,
        };
        self.line = rts.line;
        self.message.on_announcement(now, said)
    }

    /// Frames that have not arrived, as requests tell them.
    #[allow(clippy::cast_possible_truncation, reason = "at most LEFT_MAX")]
    pub(super) fn lacks(&self) -> u32 {
        let frame = u64::from(self.message.frame().max(1));
        self.message.to_come().div_ceil(frame).min(LEFT_MAX) as u32
    }

    /// Its line and that of its sender.
    #[inline]
    pub(super) fn lines(&self, settings: &Settings) -> Lines {
        Lines::new(settings.line, self.line)
    }

    /// Whether it may have a token where so many channels are its sender's. Unused ones may be forgiven.
    #[inline]
    pub(super) fn room(&mut self, now: Time, channels: u32, settings: &Settings) -> (Room, bool) {
        if self.message.unused() <= settings.window_of(channels) {
            return (Room::Free, false);
        }
        // DEVIATES(dcpim artefact): it counts from the last token alone.
        let until = self.message.since().after(settings.relax);
        if until > now {
            return (Room::Until(until), false);
        }
        self.message.forgive();
        (Room::Free, true)
    }

    /// When what is missing may have tokens again; never where some of it has had none.
    #[inline]
    pub(super) fn missing_at(&self, settings: &Settings) -> Time {
        if self.message.is_missing() {
            // DEVIATES(dcpim artefact): each time in vain it is asked for half as often.
            let retry = self.message.retry(settings.retry, settings.timeout);
            self.message.since().after(retry)
        } else {
            Time::NEVER
        }
    }

    /// When silence means something: what is missing, or a sender that is gone.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if !self.message.arriving.is_active() {
            return Time::NEVER;
        }
        let gone = self.message.heard().after(settings.timeout);
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
            _ if !self.message.is_announced() => "RTS".to_owned(),
            Time::NEVER => channels(),
            at => format!("data, or wants tokens for it again at {at}"),
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
