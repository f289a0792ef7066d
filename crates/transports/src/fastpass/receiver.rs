//! The role that takes what comes in any order, and says what has arrived.

use super::header::{Ack, Data, End};
use super::settings::Settings;
use model::{ConnId, Cx};
use parts::arriving::{self, Arriving, Came};
use parts::connections::{Receiving, told};
use units::Time;

/// Frames that an acknowledgement speaks of one by one.
const TOLD: u64 = 32;

/// One direction of a connection, at its receiver. One message is under way at a time.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) arriving: Arriving,
    /// Payload of the sender's frames in bytes, as far as one has come; where the newest of them began.
    frame: u16,
    newest: u64,
    /// Frames since the last acknowledgement.
    unsaid: u32,
    /// When anything of it came.
    pub(super) heard: Time,
    /// END has come, or a request.
    pub(super) announced: bool,
}

impl Receiver {
    /// A piece has arrived.
    #[inline]
    pub(super) fn on_data(&mut self, cx: &mut Cx<'_>, conn: ConnId, data: &Data) -> Came {
        let arriving = &mut self.arriving;
        if data.offset < arriving.base() {
            return Came::Past;
        }
        let verdict = arriving.on_piece(cx, conn, data.offset, data.length, data.end);
        if verdict == arriving::Verdict::Nonsense {
            return Came::Nonsense;
        }
        self.heard = cx.now;
        if !data.end {
            self.frame = self.frame.max(data.length);
        }
        self.newest = data.offset;
        self.unsaid += 1;
        match verdict {
            arriving::Verdict::Old => Came::Old,
            arriving::Verdict::Missing => Came::Missing,
            _ => Came::New,
        }
    }

    /// The sender says where the message ends, and asks.
    pub(super) fn on_end(&mut self, now: Time, end: &End) -> Came {
        let of = self.arriving.of(end.ordinal);
        if of != Came::New {
            return of;
        }
        match self.arriving.on_end(end.at, end.cut) {
            arriving::Verdict::Nonsense => return Came::Nonsense,
            // It left before the message was cut.
            arriving::Verdict::Old => return Came::Old,
            _ => {}
        }
        (self.heard, self.announced) = (now, true);
        Came::New
    }

    /// A request speaks of the message before anything of it came.
    pub(super) fn on_request(&mut self, now: Time) {
        self.arriving.begin();
        (self.heard, self.announced) = (now, true);
    }

    /// Whether so many frames have come that it has to say so.
    #[inline]
    pub(super) fn has_to_say(&self, settings: &Settings) -> bool {
        self.unsaid >= settings.ack_every
    }

    /// What it says.
    pub(super) fn ack(&mut self, asked: bool) -> Ack {
        self.unsaid = 0;
        let (next, frame) = (self.arriving.next(), u64::from(self.frame));
        let holes = self.arriving.got() > next - self.arriving.base();
        let mut from = next;
        if holes && !asked && self.newest > next && frame > 0 {
            // The frames up to the newest.
            let back = self.newest.saturating_sub((TOLD - 1) * frame);
            from = back.max(next);
        }
        let mut seen = 0;
        if holes && frame > 0 {
            for n in 0..TOLD {
                let at = from + n * frame;
                seen |= u32::from(self.arriving.has(at) && at >= from) << n;
            }
        }
        Ack {
            from,
            ordinal: told(self.arriving.complete()),
            seen,
            all: from == next,
            asked,
        }
    }

    /// The message is complete: says so, and waits for the next.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.arriving.finish(cx, conn);
        (self.unsaid, self.announced) = (0, false);
    }

    /// When silence means that the sender is gone.
    #[inline]
    pub(super) fn due(&self, settings: &Settings) -> Time {
        if self.arriving.is_active() {
            self.heard.after(settings.timeout)
        } else {
            Time::NEVER
        }
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self) -> Option<(String, String)> {
        Some((self.arriving.state()?, "data".to_owned()))
    }
}

impl Receiving for Receiver {
    fn complete(&self) -> u32 {
        self.arriving.complete()
    }

    fn check(&self) {
        self.arriving.check();
    }
}
