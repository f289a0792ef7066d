//! The role that acknowledges: it takes what comes in order and says what it wants next.

use super::header::{Ack, Data, Token, ahead, short};
use model::{ConnId, Cx, Event};

/// One direction of a connection, at its receiver.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// The message that is next to be complete.
    ordinal: u32,
    /// Where it begins in the stream.
    base: u64,
    /// The next byte that it takes.
    next: u64,
    /// It has said that this byte is missing: once is enough, for the sender goes back for all.
    complained: bool,
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The next piece.
    New,
    /// One that was here before.
    Old,
    /// One whose predecessor is missing.
    Early,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

impl Receiver {
    /// Messages that are complete.
    pub(super) fn complete(&self) -> u32 {
        self.ordinal
    }

    /// Whether a message has begun and not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.next > self.base
    }

    /// A piece has arrived. What is early is dropped: it will come again.
    pub(super) fn on_data(&mut self, cx: &mut Cx<'_>, conn: ConnId, data: Data) -> Verdict {
        let end = data.offset + u64::from(data.length);
        match ahead(data.ordinal, self.ordinal) {
            0 if data.offset == self.next => {
                if data.length > 0 {
                    cx.accept(conn, data.offset, data.length);
                    self.complained = false;
                }
                self.next = end;
                if data.end {
                    let (ordinal, length) = (self.ordinal, self.next - self.base);
                    cx.events.push(Event::Received {
                        conn,
                        ordinal,
                        length,
                    });
                    self.ordinal = ordinal.wrapping_add(1);
                    self.base = self.next;
                    self.complained = false;
                }
                Verdict::New
            }
            0 if data.offset < self.next => Verdict::Old,
            0 => Verdict::Early,
            32.. => Verdict::Old,
            // No message begins before the one before it is acknowledged.
            _ => Verdict::Nonsense,
        }
    }

    /// What to answer; `None` where nothing has to be said again.
    pub(super) fn answer(&mut self, verdict: Verdict, token: Token) -> Option<Ack> {
        let gap = verdict == Verdict::Early;
        let say = match verdict {
            Verdict::New | Verdict::Old => true,
            Verdict::Early => !self.complained,
            Verdict::Nonsense => false,
        };
        self.complained |= gap;
        say.then(|| self.wants(token, gap))
    }

    /// What it wants next.
    pub(super) fn wants(&self, token: Token, gap: bool) -> Ack {
        Ack {
            token,
            ordinal: short(self.ordinal),
            offset: self.next,
            // It is filled in when the packet leaves.
            rate: 0,
            gap,
        }
    }

    pub(super) fn check(&self) {
        assert!(self.base <= self.next, "{} behind {}", self.next, self.base);
    }
}
