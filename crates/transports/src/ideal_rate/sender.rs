//! The role that has data: it sends a packet each time that its rate allows one, and goes back to the first
//! missing byte when something was lost.

use super::header::{Ack, PAYLOAD_MAX, POSITION_MAX, ahead};
use super::params::Params;
use super::share::{Code, rate};
use model::Encap;
use std::collections::VecDeque;
use units::{Bytes, Rate, Span, Time};

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
    /// What the receiver's line offers, in bits per second. While nobody has said, one packet is on the way
    /// at a time.
    offer: Option<u64>,
    /// What both lines offer, in bits per second.
    rate: u64,
    /// When the last packet should have left, and its bytes on the wire.
    left: Option<(Time, u16)>,
    /// Since when its rate alone holds it back.
    since: Time,
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
    pub(super) fn push(&mut self, now: Time, length: u64) -> bool {
        let queued: u64 = self.messages.iter().sum();
        let fits = length <= POSITION_MAX && self.base + queued + length <= POSITION_MAX;
        if fits {
            if self.is_idle() {
                self.since = now;
            }
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

    /// The receiver's line has so much for it. Less than one part in so many is no offer that a receiver of ours
    /// makes: `least` is taken then.
    pub(super) fn hear(&mut self, now: Time, offer: Code, least: u64) {
        if let Some(offer) = rate(offer) {
            if self.offer.is_none() {
                self.since = now;
            }
            self.offer = Some(offer.max(least));
        }
    }

    /// Nobody counts with it any more.
    pub(super) fn rest(&mut self) {
        self.offer = None;
    }

    /// Its own line has so much for it.
    pub(super) fn pace(&mut self, own: u64) {
        self.rate = self.offer.map_or(own, |offer| offer.min(own));
    }

    /// From the last packet to the next one.
    fn gap(&self) -> Span {
        let size = self.left.map_or(0, |(_, size)| size);
        Rate::bps(self.rate.max(1)).serialize(Bytes(size.into()))
    }

    /// When a packet could leave; [`Time::NEVER`] where it waits for something else than its rate. A change of the rate
    /// counts from the last packet. [xpass s2: a timer per packet]
    pub(super) fn due(&self) -> Time {
        if self.is_idle() || self.ended || (self.offer.is_none() && self.on_the_way()) {
            return Time::NEVER;
        }
        self.due_after_last()
    }

    fn due_after_last(&self) -> Time {
        self.left.map_or(Time::ZERO, |(at, _)| at.after(self.gap()))
    }

    /// Whether a packet could leave now.
    pub(super) fn can_send(&self, now: Time) -> bool {
        self.due() <= now
    }

    /// The next packet, where [`Sender::can_send`] says that there is one.
    pub(super) fn transmit(&mut self, now: Time, encap: Encap, params: &Params) -> Segment {
        let payload_max = encap.payload_max.min(PAYLOAD_MAX);
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
        // What waited for the line keeps its place in time, by one packet at most.
        let due = self.due_after_last();
        let latest = now.since(Time::ZERO).0.saturating_sub(self.gap().0);
        let at = due.max(self.since).max(Time(latest)).min(now);
        self.left = Some((at, encap.wire(length)));
        if self.retry_at.is_none() {
            self.retry_at = Some(now.after(self.wait(params)));
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
        match ahead(ack.ordinal, self.ordinal) {
            0 if ack.offset > self.high => News::Nonsense,
            0 if ack.offset < self.acked => News::Heard,
            0 => {
                if ack.offset > self.acked {
                    self.acked = ack.offset;
                    // It may have arrived after we went back for it.
                    self.next = self.next.max(self.acked);
                    self.tries = 0;
                    self.retry_at = self.on_the_way().then(|| now.after(self.wait(params)));
                }
                if ack.gap && self.on_the_way() {
                    self.go_back(now);
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
                    offer: self.offer,
                    rate: self.rate,
                    left: self.left,
                    since: now,
                    base,
                    acked: base,
                    next: base,
                    high: base,
                    ..Self::default()
                };
                News::Done(done)
            }
            // Older than what we know.
            32.. => News::Heard,
            _ => News::Nonsense,
        }
    }

    fn on_the_way(&self) -> bool {
        self.next > self.acked || self.ended
    }

    /// How long an answer may take: as many packets as there are connections may wait before this one, and they
    /// take as long as its own next one.
    pub(super) fn wait(&self, params: &Params) -> Span {
        let gap = self.gap().min(params.retry_max);
        Span(params.wait(self.tries).0 + gap.0)
    }

    /// Everything behind the first missing byte leaves again.
    fn go_back(&mut self, now: Time) {
        self.since = now;
        (self.next, self.ended, self.retry_at) = (self.acked, false, None);
    }

    /// When it wants [`Sender::on_deadline`].
    pub(super) fn deadline(&self) -> Time {
        self.retry_at.unwrap_or(Time::NEVER)
    }

    /// Waits longer for an answer.
    pub(super) fn wait_until(&mut self, later: Time) {
        self.retry_at = Some(later);
    }

    /// Nothing was heard for too long; false where it gives up.
    pub(super) fn on_deadline(&mut self, now: Time, params: &Params) -> bool {
        self.tries += 1;
        self.go_back(now);
        // One packet finds out whether anybody is there.
        self.rest();
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
