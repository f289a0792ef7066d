//! The role that has data: at most a window of it on the way, and back to the first missing byte
//! when something was lost.

use super::header::{Ack, POSITION_MAX};
use super::params::Params;
use std::collections::VecDeque;
use units::Time;

/// One direction of a connection, at its sender. One message is under way at a time: the next
/// begins when the receiver has all of it.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// Lengths of the messages that are not done; the first is under way.
    messages: VecDeque<u64>,
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

/// What leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) ordinal: u32,
    pub(super) offset: u64,
    pub(super) length: u16,
    pub(super) end: bool,
    /// It has left before.
    pub(super) again: bool,
}

/// What an acknowledgement meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing, or some progress.
    Heard,
    /// This message is done.
    Done(u32),
    /// No receiver of ours would say that.
    Nonsense,
}

impl Sender {
    /// Whether it has nothing left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a message was ever sent on it.
    pub(super) fn is_used(&self) -> bool {
        self.ordinal > 0 || !self.is_idle()
    }

    /// Queues a message; false where the stream has no room for it.
    pub(super) fn push(&mut self, length: u64) -> bool {
        let queued: u64 = self.messages.iter().sum();
        let fits = length <= POSITION_MAX && self.base + queued + length <= POSITION_MAX;
        if fits {
            self.messages.push_back(length);
        }
        fits
    }

    /// Takes back what has not left.
    pub(super) fn cancel(&mut self) {
        self.messages.truncate(1);
        // The end moves to where the sender is; an empty packet says so if need be, also where nothing had left.
        if let Some(length) = self.messages.front_mut() {
            *length = self.high - self.base;
        }
    }

    fn end(&self) -> u64 {
        self.base + self.messages.front().copied().unwrap_or(0)
    }

    /// Whether a packet could leave now.
    pub(super) fn can_send(&self, window: u64) -> bool {
        !self.is_idle() && !self.ended && self.next - self.acked < window
    }

    /// The next packet, where [`Sender::can_send`] says that there is one.
    pub(super) fn transmit(&mut self, now: Time, payload_max: u16, params: &Params) -> Segment {
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
        if self.retry_at.is_none() {
            self.retry_at = Some(now.after(params.wait(self.tries)));
        }
        Segment {
            ordinal: self.ordinal,
            offset,
            length,
            end,
            again,
        }
    }

    /// The receiver says what it wants next.
    pub(super) fn on_ack(&mut self, now: Time, ack: Ack, params: &Params) -> News {
        #[allow(clippy::cast_possible_truncation, reason = "the low 16 bits travel")]
        let ahead = ack.ordinal.wrapping_sub(self.ordinal as u16);
        match ahead {
            0 if ack.offset > self.high => News::Nonsense,
            0 if ack.offset < self.acked => News::Heard,
            0 => {
                if ack.offset > self.acked {
                    self.acked = ack.offset;
                    // It may have arrived after we went back for it.
                    self.next = self.next.max(self.acked);
                    self.tries = 0;
                    self.retry_at = self.on_the_way().then(|| now.after(params.wait(0)));
                }
                if ack.gap && self.on_the_way() {
                    self.go_back();
                }
                News::Heard
            }
            1 if self.ended_once => {
                let done = self.ordinal;
                let base = self.end();
                self.messages.pop_front();
                *self = Self {
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
            // Older than what we know.
            0x8000.. => News::Heard,
            _ => News::Nonsense,
        }
    }

    fn on_the_way(&self) -> bool {
        self.next > self.acked || self.ended
    }

    /// Everything behind the first missing byte leaves again.
    fn go_back(&mut self) {
        (self.next, self.ended, self.retry_at) = (self.acked, false, None);
    }

    /// When it wants [`Sender::on_deadline`].
    pub(super) fn deadline(&self) -> Time {
        self.retry_at.unwrap_or(Time::NEVER)
    }

    /// Such moments in a row.
    pub(super) fn tries(&self) -> u16 {
        self.tries
    }

    /// Waits longer for an answer.
    pub(super) fn wait_until(&mut self, later: Time) {
        self.retry_at = Some(later);
    }

    /// Nothing was heard for too long; false where it gives up.
    pub(super) fn on_deadline(&mut self, params: &Params) -> bool {
        self.tries += 1;
        self.go_back();
        self.tries <= params.retries_max
    }

    /// Its state and what it waits for; `None` where it is idle.
    pub(super) fn stuck(&self) -> Option<(String, String)> {
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

    pub(super) fn check(&self) {
        let order = [self.base, self.acked, self.next, self.high, self.end()];
        assert!(order.is_sorted(), "base, acked, next, high, end: {order:?}");
        assert!(!self.ended || self.ended_once, "an end that never left");
        assert!(
            !self.is_idle() || self.retry_at.is_none(),
            "waits for nothing"
        );
    }
}
