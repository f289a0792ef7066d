//! What one host makes of the parameters: all that a packet needs, computed once.

use super::header::PAYLOAD_MAX;
use super::params::{Choice, Free, Params};
use model::intent::CreditSpec;
use model::{Encap, EndpointConfig};
use parts::tokened;
use units::{LineTime, Span};

/// Frames of a window, at least: the paper's. [phost artefact]
const WINDOW_MIN: u64 = 8;
/// Priorities: control packets and tokens have the first. [phost artefact]
pub(super) const PRIORITIES: u8 = 3;
/// Those of the data of short messages, and of long ones. [phost artefact]
const SHORT: u8 = 1;
const LONG: u8 = 2;

/// The parameters in the units of the per-packet path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) encap: Encap,
    /// Payload of a full frame.
    pub(super) payload_max: u16,
    /// Payload of a message that leaves unasked; of a longer one.
    free: u64,
    free_of_long: u64,
    /// Tokens that may go unused.
    pub(super) window: u32,
    /// How far behind what is missing a token may be, in bytes.
    pub(super) reach: u64,
    /// Time between two tokens: what a full frame takes on the host's line, or on its share of it.
    pub(super) gap: Span,
    /// For how long a token may be used, in nanoseconds: what it says, and at least so long here.
    pub(super) life: u32,
    pub(super) relax: Span,
    pub(super) retry: Span,
    pub(super) hold: bool,
    /// Time of an idle line that pays for what leaves unasked.
    pub(super) spare: Span,
    pub(super) sender: Choice,
    pub(super) receiver: Choice,
    levels: bool,
    /// Round trip of an idle network.
    pub(super) rtt: Span,
    pub(super) rto: Span,
    pub(super) timeout: Span,
    pub(super) linger: Span,
}

impl Settings {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let encap = config.encap;
        assert!(
            encap.payload_max > 0,
            "frames without payload carry no message"
        );
        let payload_max = encap.payload_max.min(PAYLOAD_MAX);
        let frame = u64::from(encap.wire_max());
        let idle = config.rate.bytes_in(config.base_rtt).get().div_ceil(frame);
        let auto = u32::try_from(idle.max(WINDOW_MIN)).unwrap_or(u32::MAX);
        let window = params.window.unwrap_or(auto).min(super::params::WINDOW_MAX);
        let own = LineTime::new(config.rate).of(frame).0;
        let share = u64::from(config.line_share.max(1));
        let gap = Span((own * u64::from(CreditSpec::WHOLE)).div_ceil(share));
        let free = u64::from(params.free.unwrap_or(window)) * u64::from(payload_max);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive time, and the cast saturates"
        )]
        let life = (gap.0 as f64 * params.token_life / 1000.0) as u32;
        // Data for a token takes a round trip, whatever the parameters say.
        let soonest = Span(config.base_rtt.0 + gap.0);
        let frames = |n: u32| gap.times(n.into()).max(soonest);
        Self {
            encap,
            payload_max,
            free,
            free_of_long: match params.free_for {
                Free::Every => free,
                Free::Short => 0,
            },
            window,
            reach: tokened::reach(
                config.reassembly,
                u64::from(window) * u64::from(payload_max),
            ),
            gap,
            life: life.max(1),
            relax: frames(params.relax.unwrap_or(3 * window + 1)),
            retry: frames(params.retry.unwrap_or(window + 1)),
            hold: params.hold,
            spare: match params.free_for {
                Free::Every => gap.times(window.into()),
                Free::Short => Span::ZERO,
            },
            sender: params.sender,
            receiver: params.receiver,
            levels: params.levels,
            rtt: config.base_rtt,
            rto: params.rto.max(config.base_rtt.times(3)),
            timeout: params.timeout,
            linger: params.linger,
        }
    }

    /// Payload of a message of `length` bytes that leaves unasked.
    #[inline]
    pub(super) fn free(&self, length: u64) -> u64 {
        if length <= self.free {
            length
        } else {
            self.free_of_long
        }
    }

    /// The time between two tokens for frames of `frame` bytes.
    #[inline]
    pub(super) fn gap_of(&self, frame: u16) -> Span {
        if frame == self.payload_max {
            return self.gap;
        }
        let (wire, own) = (self.encap.wire(frame), self.encap.wire(self.payload_max));
        Span((self.gap.0 * u64::from(wire)).div_ceil(u64::from(own)))
    }

    /// The priority of the data of such a message.
    #[inline]
    pub(super) fn priority(&self, length: u64) -> u8 {
        if length <= self.free || !self.levels {
            SHORT
        } else {
            LONG
        }
    }

    /// Wire bytes of a packet without payload.
    pub(super) fn small(&self) -> u16 {
        self.encap.wire(0)
    }
}
