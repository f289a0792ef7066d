//! Messages one after the other over one stream, taken in order: what is early is dropped, and the sender goes back
//! to the first missing byte. The next message begins when the receiver has all of the one before it.

use model::{ConnId, Cx, Event};
use std::cmp::Ordering;
use std::collections::VecDeque;
use units::{Span, Time};

/// Positions in a stream have 48 bits. [ours]
pub const POSITION_MAX: u64 = (1 << 48) - 1;

/// What a packet says of message number `ordinal`, where `BITS` of it travel: 1 to 16.
#[allow(clippy::cast_possible_truncation, reason = "at most 16 bits travel")]
pub const fn short<const BITS: u32>(ordinal: u32) -> u16 {
    (ordinal & (u32::MAX >> (32 - BITS))) as u16
}

/// How many messages `said` is ahead of message number `ordinal`, counted round; `None` where it is behind.
fn ahead<const BITS: u32>(said: u16, ordinal: u32) -> Option<u32> {
    let ahead = u32::from(said).wrapping_sub(ordinal) & (u32::MAX >> (32 - BITS));
    (ahead < 1 << (BITS - 1)).then_some(ahead)
}

/// A piece of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which message of this direction, as [`short`] writes it.
    pub ordinal: u16,
    /// Where it begins in the stream, in bytes.
    pub offset: u64,
    /// Bytes of payload.
    pub length: u16,
    /// The message ends with it.
    pub end: bool,
}

/// What a receiver wants next: all messages and bytes before it are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A piece of this message, as [`short`] writes it.
    pub ordinal: u16,
    /// Beginning with this position of the stream, in bytes.
    pub offset: u64,
    /// Something behind it has arrived.
    pub gap: bool,
}

/// One direction of a connection, at its receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver<const BITS: u32> {
    /// The message that is next to be complete.
    ordinal: u32,
    /// Where it begins in the stream.
    base: u64,
    /// The next byte that it takes.
    next: u64,
    /// It has said that this byte is missing: once is enough, for the sender goes back for all.
    complained: bool,
}

/// What a piece was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next one.
    New,
    /// One that was here before.
    Old,
    /// One whose predecessor is missing.
    Early,
    /// Nothing that a sender of ours would send.
    Nonsense,
}

impl<const BITS: u32> Receiver<BITS> {
    /// Messages that are complete.
    pub fn complete(&self) -> u32 {
        self.ordinal
    }

    /// Whether a message has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.next > self.base
    }

    /// A piece has arrived. What is early is dropped: it will come again.
    pub fn on_data(&mut self, cx: &mut Cx<'_>, conn: ConnId, piece: Piece) -> Verdict {
        match ahead::<BITS>(piece.ordinal, self.ordinal) {
            None => return Verdict::Old,
            Some(0) => {}
            // No message begins before the one before it is acknowledged.
            Some(_) => return Verdict::Nonsense,
        }
        match piece.offset.cmp(&self.next) {
            Ordering::Less => return Verdict::Old,
            Ordering::Equal => {}
            Ordering::Greater => return Verdict::Early,
        }
        if piece.length > 0 {
            cx.accept(conn, piece.offset, piece.length);
            self.complained = false;
        }
        self.next += u64::from(piece.length);
        if piece.end {
            cx.events.push(Event::Received {
                conn,
                ordinal: self.ordinal,
                length: self.next - self.base,
            });
            self.ordinal = self.ordinal.wrapping_add(1);
            (self.base, self.complained) = (self.next, false);
        }
        Verdict::New
    }

    /// What to answer; `None` where nothing has to be said again.
    pub fn answer(&mut self, verdict: Verdict) -> Option<Wanted> {
        let gap = verdict == Verdict::Early;
        let say = match verdict {
            Verdict::New | Verdict::Old => true,
            Verdict::Early => !self.complained,
            Verdict::Nonsense => false,
        };
        self.complained |= gap;
        say.then(|| Wanted {
            gap,
            ..self.wants()
        })
    }

    /// What it wants next.
    pub fn wants(&self) -> Wanted {
        Wanted {
            ordinal: short::<BITS>(self.ordinal),
            offset: self.next,
            gap: false,
        }
    }

    /// Panics where an invariant of its own is broken.
    pub fn check(&self) {
        assert!(self.base <= self.next, "{} behind {}", self.next, self.base);
    }
}

/// One direction of a connection, at its sender.
#[derive(Clone, Debug, Default)]
pub struct Sender<const BITS: u32> {
    /// Lengths of the messages that are not done; the first is under way.
    messages: VecDeque<u64>,
    /// The sum of them.
    queued: u64,
    /// Number of that message.
    ordinal: u32,
    /// Where it begins in the stream.
    base: u64,
    /// Everything before this position has arrived.
    acked: u64,
    /// Where the next packet begins.
    next: u64,
    /// Behind the last byte that ever left.
    high: u64,
    /// Whether the packet with the end has left: since the last step back, and ever.
    ended: bool,
    ended_once: bool,
    /// When to send again what is on the way; `None` where nothing is.
    retry_at: Option<Time>,
    /// Such times in a row.
    tries: u16,
}

/// What an acknowledgement meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing, or some progress.
    Heard,
    /// Something is missing: what is behind it leaves again.
    Back,
    /// This message is done.
    Done(u32),
    /// No receiver of ours would say that.
    Nonsense,
}

impl<const BITS: u32> Sender<BITS> {
    /// Whether it has nothing left to do.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a message was ever sent on it.
    pub fn is_used(&self) -> bool {
        self.ordinal > 0 || !self.is_idle()
    }

    /// Queues a message of `length` bytes; false where the stream has no room for it.
    pub fn push(&mut self, length: u64) -> bool {
        let fits = length <= POSITION_MAX && self.base + self.queued + length <= POSITION_MAX;
        if fits {
            self.messages.push_back(length);
            self.queued += length;
        }
        fits
    }

    /// Takes back what has not left.
    pub fn cancel(&mut self) {
        self.messages.truncate(1);
        // The end moves to where the sender is; an empty packet says so if need be, also where nothing had left.
        self.queued = 0;
        if let Some(length) = self.messages.front_mut() {
            *length = self.high - self.base;
            self.queued = *length;
        }
    }

    fn end(&self) -> u64 {
        self.base + self.messages.front().copied().unwrap_or(0)
    }

    /// Whether something is left that has not left since the last step back.
    pub fn has_more(&self) -> bool {
        !self.is_idle() && !self.ended
    }

    /// Everything before this position of the stream has arrived, in bytes.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes that have left and are not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.next - self.acked
    }

    /// Whether anything is on the way, were it only the end.
    pub fn on_the_way(&self) -> bool {
        self.next > self.acked || self.ended
    }

    /// The next piece of at most `payload_max` bytes, where [`Sender::has_more`] says that there is one, and whether it
    /// has left before. Follow it with [`Sender::expect`].
    pub fn transmit(&mut self, payload_max: u16) -> (Piece, bool) {
        let (offset, left) = (self.next, self.end() - self.next);
        let length = u16::try_from(left).map_or(payload_max, |left| left.min(payload_max));
        self.next += u64::from(length);
        let end = self.next == self.end();
        let again = if length > 0 {
            offset < self.high
        } else {
            self.ended_once
        };
        self.high = self.high.max(self.next);
        self.ended = end;
        self.ended_once |= end;
        let piece = Piece {
            ordinal: short::<BITS>(self.ordinal),
            offset,
            length,
            end,
        };
        (piece, again)
    }

    /// A piece has left: an answer takes at most `wait`. What left before counts.
    pub fn expect(&mut self, now: Time, wait: Span) {
        if self.retry_at.is_none() {
            self.retry_at = Some(now.after(wait));
        }
    }

    /// The receiver says what it wants next. An answer to what is on the way takes at most `wait`.
    pub fn on_ack(&mut self, now: Time, wanted: Wanted, wait: Span) -> News {
        match ahead::<BITS>(wanted.ordinal, self.ordinal) {
            Some(0) if wanted.offset > self.high => News::Nonsense,
            Some(0) if wanted.offset < self.acked => News::Heard,
            Some(0) => {
                if wanted.offset > self.acked {
                    self.acked = wanted.offset;
                    // It may have arrived after we went back for it.
                    self.next = self.next.max(self.acked);
                    self.tries = 0;
                    self.retry_at = self.on_the_way().then(|| now.after(wait));
                }
                if wanted.gap && self.on_the_way() {
                    self.go_back();
                    return News::Back;
                }
                News::Heard
            }
            Some(1) if self.ended_once => {
                let (done, base) = (self.ordinal, self.end());
                let length = self.messages.pop_front().unwrap_or(0);
                *self = Self {
                    queued: self.queued - length,
                    messages: std::mem::take(&mut self.messages),
                    ordinal: done.wrapping_add(1),
                    base,
                    acked: base,
                    next: base,
                    high: base,
                    ..Self::default()
                };
                News::Done(done)
            }
            Some(_) => News::Nonsense,
            // Older than what we know.
            None => News::Heard,
        }
    }

    /// Everything behind the first missing byte leaves again.
    fn go_back(&mut self) {
        (self.next, self.ended, self.retry_at) = (self.acked, false, None);
    }

    /// When it wants [`Sender::on_deadline`].
    pub fn deadline(&self) -> Time {
        self.retry_at.unwrap_or(Time::NEVER)
    }

    /// Such moments in a row.
    pub fn tries(&self) -> u16 {
        self.tries
    }

    /// Waits longer for an answer.
    pub fn wait_until(&mut self, later: Time) {
        self.retry_at = Some(later);
    }

    /// Nothing was heard for too long; false where it has been so more than `tries_max` times in a row.
    pub fn on_deadline(&mut self, tries_max: u16) -> bool {
        self.tries += 1;
        self.go_back();
        self.tries <= tries_max
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub fn stuck(&self) -> Option<(String, String)> {
        let state = format!(
            "sending message {}, {} of {} B acknowledged",
            self.ordinal,
            self.acked - self.base,
            self.messages.front()?
        );
        let waits_for = match self.retry_at {
            Some(at) => format!("an ACK, or sends again at {at}"),
            None => "the line".to_owned(),
        };
        Some((state, waits_for))
    }

    /// Panics where an invariant of its own is broken.
    pub fn check(&self) {
        let order = [self.base, self.acked, self.next, self.high, self.end()];
        assert!(order.is_sorted(), "base, acked, next, high, end: {order:?}");
        assert!(!self.ended || self.ended_once, "an end that never left");
        assert!(
            !self.is_idle() || self.retry_at.is_none(),
            "waits for nothing"
        );
    }
}

#[cfg(test)]
mod tests;
