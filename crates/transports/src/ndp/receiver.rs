//! The role that pulls: it takes what comes in any order, and answers each packet at once.

use super::early::Probed;
use super::header::{Data, End};
use super::settings::Settings;
use model::{ConnId, Cx};
use parts::arriving::{self, Arriving};
use parts::connections::{Receiving, told};
use units::Time;

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) arriving: Arriving,
    /// Pulls given, of all messages, and those that this message still has to get.
    pub(super) pulls: u32,
    pub(super) owed: u32,
    /// It is among those that take turns, and the round in which it was pulled last.
    pub(super) listed: bool,
    pub(super) round: Option<u32>,
    /// When a packet of it came last.
    pub(super) heard: Time,
    /// What the probes of its burst have said.
    pub(super) probed: Option<Box<Probed>>,
}

/// What a packet was. What [`arriving`] says comes first and in its order, so that it is taken over as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A piece that was missing.
    New,
    /// Nothing new.
    Old,
    /// The head of a piece that is missing, or a piece that finds no room.
    Missing,
    /// Nothing that a sender of ours would send.
    Nonsense,
    /// Of a message that is complete.
    Past,
}

impl From<arriving::Verdict> for Verdict {
    #[inline]
    fn from(verdict: arriving::Verdict) -> Self {
        match verdict {
            arriving::Verdict::New => Self::New,
            arriving::Verdict::Missing => Self::Missing,
            arriving::Verdict::Old => Self::Old,
            arriving::Verdict::Nonsense => Self::Nonsense,
        }
    }
}

impl Receiver {
    /// What data is that comes after the last message.
    pub(super) fn after_all(&self, data: &Data) -> Verdict {
        if data.until() <= self.arriving.base() {
            Verdict::Past
        } else {
            Verdict::Nonsense
        }
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
        let Data {
            offset,
            length,
            end,
            ..
        } = *data;
        let arriving = &mut self.arriving;
        if offset < arriving.base() {
            return Verdict::Past;
        }
        let verdict = if trimmed {
            arriving.on_head(offset, length, end)
        } else {
            arriving.on_piece(cx, conn, offset, length, end)
        };
        self.hear(cx.now, verdict)
    }

    /// The sender says where the message ends.
    pub(super) fn on_end(&mut self, now: Time, end: &End) -> Verdict {
        let complete = told(self.arriving.complete());
        if end.ordinal != complete {
            let ahead = end.ordinal.wrapping_sub(complete);
            // The next message begins when this one is acknowledged.
            return if ahead >= 1 << 15 {
                Verdict::Past
            } else {
                Verdict::Nonsense
            };
        }
        let verdict = self.arriving.on_end(end.at, end.cut);
        self.hear(now, verdict)
    }

    /// A packet of the message has come, if it makes sense.
    #[inline]
    fn hear(&mut self, now: Time, verdict: arriving::Verdict) -> Verdict {
        if verdict != arriving::Verdict::Nonsense {
            self.heard = now;
        }
        verdict.into()
    }

    /// The message is complete: says so, and waits for the next.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.arriving.finish(cx, conn);
        self.probed = None;
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self) -> Option<(String, String)> {
        let waits_for = match self.owed {
            0 => "data after its last pull".to_owned(),
            owed => format!("its turn to pull {owed} frames"),
        };
        Some((self.arriving.state()?, waits_for))
    }

    /// When the sender of an unfinished message counts as gone.
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if self.arriving.is_active() {
            self.heard.after(settings.timeout)
        } else {
            Time::NEVER
        }
    }
}

impl Receiving for Receiver {
    fn complete(&self) -> u32 {
        self.arriving.complete()
    }

    fn check(&self) {
        self.arriving.check();
        assert!(self.arriving.is_active() || self.owed == 0);
        assert!(self.listed || self.owed == 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_message_before_is_past_and_of_one_behind_nonsense() {
        let of = |ordinal: u16| {
            let end = End {
                at: 0,
                ordinal,
                lifetime: model::Lifetime::Persistent,
                answer: false,
                cut: false,
                way: 0,
            };
            Receiver::default().on_end(Time::ZERO, &end)
        };
        let verdicts = [0, 1, 32_767, 32_768, u16::MAX].map(of);
        let [before, behind] = [Verdict::Past, Verdict::Nonsense];
        assert_eq!(verdicts, [Verdict::New, behind, behind, before, before]);
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Receiver); 2] = [|x| x.owed = 1, |x| (x.owed, x.listed) = (1, true)];
        Receiver::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Receiver::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
