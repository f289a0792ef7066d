//! A sender that asks: its requests, and what answers them.
//!
//! Requests are numbered, and receivers name the last that they had: what answers an earlier one is used and says
//! nothing of the last. [ours]

use super::Host;
use super::header::{
    CROWD_MAX, Heard, PACKETS_MAX, Request, StopReason, earliest, is_later, next_request,
};
use super::params::EarlyStop;
use super::sender::{Phase, Sender};
use units::{Span, Time};

impl Sender {
    /// The first credit after a request; false where nothing can be sent for it.
    #[cold]
    pub(super) fn begin(&mut self, now: Time, host: &mut Host) -> bool {
        self.measure(now, host);
        self.close_burst(host);
        if self.outgoing.is_blocked() {
            host.totals.credits_wasted += 1;
            return false;
        }
        self.phase = Phase::Credited {
            quiet_at: now + host.settings.quiet,
            credits: (host.settings.early_stop == EarlyStop::Window).then_some(0),
            counted_from: now,
        };
        true
    }

    /// The first answer to a request measures the round trip anew. [xpass artefact, xpass.cc]
    fn measure(&mut self, now: Time, host: &Host) {
        let Phase::Asking {
            asked_at,
            tries,
            heard: false,
            ..
        } = self.phase
        else {
            return;
        };
        if self.awaits_burst() {
            // The receiver gave the credit when it knew of a loss, not when the request came.
            self.rtt = Some(host.settings.base_rtt);
            return;
        }
        if is_crowd(host) {
            // The first credit to come is seldom the first that was given.
            self.rtt.get_or_insert(host.settings.base_rtt);
            return;
        }
        // A credit and a frame take this long; a liar's credit may come sooner than that. After a
        // retry it is unknown which request the credit answers. [RFC 6298 s3]
        let least = if tries == 0 {
            host.settings.law.period
        } else {
            host.settings.base_rtt
        };
        self.rtt = Some(now.since(asked_at).max(least));
    }

    /// The receiver has heard a request; where it `asks`, it hears nothing any more. [ours]
    pub(super) fn on_heard(&mut self, now: Time, host: &mut Host, word: Heard) {
        let Heard {
            position,
            nth,
            asks,
        } = word;
        // Word of an earlier request says nothing about this one.
        let of_this = match self.phase {
            // Where a frame asked in its stead the receiver knows no number.
            Phase::Asking {
                position: asked,
                fresh: true,
                ..
            } => asked == position,
            Phase::Asking { .. } => !self.is_old(nth),
            _ => false,
        };
        if of_this {
            self.measure(now, host);
            if let Phase::Asking {
                retry_at, heard, ..
            } = &mut self.phase
            {
                (*retry_at, *heard) = (now + host.settings.quiet, true);
            }
        }
        if !asks {
            return;
        }
        match self.phase {
            Phase::Asking { position, .. } => self.put_request(host, position),
            Phase::Credited { .. } => {
                let position = self.wanted(host);
                self.put_request(host, position);
            }
            Phase::Stopping { .. } if self.has_work() => self.put_stop(host, StopReason::Early),
            Phase::Stopping { .. } | Phase::Resting { .. } => {
                self.put_stop(host, StopReason::AllSent);
            }
            Phase::Idle => self.stop(now, host, StopReason::AllSent),
        }
    }

    /// Where a request begins: where packets are owed, before the next new one.
    fn wanted(&self, host: &Host) -> u64 {
        let encap = host.settings.encap;
        let owed = self.early.as_ref().map_or(0, |early| early.owed(encap));
        if owed > 0 {
            self.outgoing.confirmed()
        } else {
            self.outgoing.next()
        }
    }

    /// Whether what the receiver says, which has heard request `nth`, is from before credits were asked for again.
    pub(super) fn is_old(&self, nth: u8) -> bool {
        matches!(self.phase, Phase::Asking { first, fresh: false, .. } if is_later(first, nth))
    }

    /// A credit that answers no request of now: it takes a frame, and says nothing of whether they have come.
    #[cold]
    pub(super) fn spend_old(&mut self, now: Time, host: &mut Host, sequence: u32) {
        if !self.put_frame(host, sequence) {
            host.totals.credits_wasted += 1;
        } else if !self.has_work() {
            self.stop(now, host, StopReason::AllSent);
        }
    }

    /// The receiver lives and knows of the connection: the request that opened it need not be repeated soon.
    pub(super) fn hear(&mut self, now: Time, host: &Host) {
        if let Phase::Asking {
            retry_at,
            fresh: true,
            ..
        } = &mut self.phase
        {
            *retry_at = (*retry_at).max(now + host.settings.quiet);
        }
    }

    pub(super) fn ask(&mut self, now: Time, host: &mut Host, fresh: bool) {
        self.request(now, host, fresh, 0);
    }

    pub(super) fn request(&mut self, now: Time, host: &mut Host, fresh: bool, tries: u8) {
        // The receiver may not know of the connection while no credit has come.
        let position = if fresh {
            self.outgoing.confirmed()
        } else {
            self.wanted(host)
        };
        let nth = next_request(self.requests);
        let first = match self.phase {
            Phase::Asking { first, .. } if tries > 0 => earliest(first, nth),
            _ => nth,
        };
        let asking = Phase::Asking {
            asked_at: now,
            retry_at: now,
            tries,
            position,
            first,
            heard: false,
            fresh,
        };
        self.enter(host, asking);
        self.put_request(host, position);
        if let Phase::Asking { retry_at, .. } = &mut self.phase {
            *retry_at = now + request_wait(host, tries);
        }
    }

    /// Puts a request for what is left on the line.
    fn put_request(&mut self, host: &mut Host, position: u64) {
        let encap = host.settings.encap;
        // Where all that is left waits for confirmation the request still asks for one frame.
        let owed = self.early.as_ref().map_or(0, |early| early.owed(encap));
        let frames = (self.outgoing.frames_left(encap) + owed).max(1);
        host.counts.requests += 1;
        let unasked = self.unasked(encap, frames);
        self.requests = next_request(self.requests);
        let request = Request {
            next: position,
            unasked,
            packets: u32::try_from(frames).map_or(PACKETS_MAX, |frames| frames.min(PACKETS_MAX)),
            nth: self.requests,
            crowd: crowd(host),
            exchange: self.exchange,
            one_shot: self.one_shot,
            // A receiver that has forgotten it by now had all of it.
            known: self.rtt.is_some() && self.outgoing.sent_max() == self.outgoing.end(),
        };
        host.nic
            .push(request.packet(self.peer, self.conn, encap.frame_min));
    }
}

/// How long the answer to a request may take that was repeated `tries` times.
pub(super) fn request_wait(host: &Host, tries: u8) -> Span {
    let settings = &host.settings;
    let doublings = tries.min(settings.retry_doublings);
    let retry = settings.request_retry.times(1 << doublings);
    retry.max(crowd_patience(host))
}

/// How many connections of a host want credits, as a request says it: an exponent of two.
fn crowd(host: &Host) -> u8 {
    if host.settings.patience == Span::ZERO {
        return 0;
    }
    let exponent = host.wanting.next_power_of_two().trailing_zeros();
    u8::try_from(exponent).map_or(CROWD_MAX, |exponent| exponent.min(CROWD_MAX))
}

/// Whether more connections of a host want credits than come in a round trip.
fn is_crowd(host: &Host) -> bool {
    let settings = &host.settings;
    let turn = settings.law.period.times(u64::from(host.wanting));
    settings.patience > Span::ZERO && turn > settings.base_rtt
}

/// How long a credit may take because other connections of the host want some, too, as the receiver is told;
/// at most as long as where the request was heard.
fn crowd_patience(host: &Host) -> Span {
    let (settings, others) = (&host.settings, (1 << crowd(host)) - 1);
    settings.patience.times(others).min(settings.quiet)
}
