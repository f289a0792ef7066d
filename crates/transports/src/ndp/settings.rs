//! What one host makes of the parameters: all that a packet needs, computed once.

use super::early::FirstRtt;
use super::header::PAYLOAD_MAX;
use super::params::{Order, Params, Spray};
use super::port::longest_wait;
use model::intent::{CreditSpec, DropBy};
use model::{Encap, EndpointConfig, HostId, Rng};
use parts::Impatience;
use units::{LineTime, Span};

/// Frames beyond an idle round trip that a first window has, for ports to trim: the paper's 30 where that holds 12. [ndp
/// s6; ours]
const IN_PORTS: u64 = 18;

/// The last resort, where ports hold less. [ndp s3.2]
const RTO: Span = Span::ms(1);

/// Questions that are asked within `timeout`, so that one which is lost ends nothing. [ours]
const ASKED_IN_TIMEOUT: u64 = 4;

/// The parameters in the units of the per-packet path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) encap: Encap,
    /// Payload of a full frame.
    pub(super) payload_max: u16,
    /// Frames that leave unasked.
    pub(super) window: u32,
    /// Time between two pulls: what the full frame of one takes on the host's line, or on its share of it, at `pull_rate`.
    gap: Span,
    /// How much longer or shorter it is at most.
    jitter: Span,
    pub(super) order: Order,
    pub(super) spray: Spray,
    /// Ways that a burst takes, at most.
    pub(super) first_ways: u16,
    pub(super) scoreboard: bool,
    pub(super) prefer: Option<HostId>,
    /// The first window is a burst that probes close.
    pub(super) bursts: bool,
    /// What a probe finds missing will not come: it waits in no gap.
    pub(super) proven: bool,
    /// Everything but that is ECN-capable: that is how switches know it.
    pub(super) ect: bool,
    rto: Span,
    /// Frames of which too long nothing is heard so soon are looked at with the first.
    pub(super) soon: Span,
    pub(super) timeout: Span,
    pub(super) linger: Span,
}

/// Frames of a first window, at most.
pub(super) fn window_max(params: &Params) -> u32 {
    if params.bursts() {
        super::header::WINDOW_MAX
    } else {
        super::params::WINDOW_MAX
    }
}

/// Full ports that take a good part of `timeout` to drain: who waits behind them may be given up.
pub(super) fn impatience(params: &Params, config: &EndpointConfig) -> Option<Impatience> {
    let (wait, drain) = (params.timeout, full_ports(params, config));
    let least = drain.times(ASKED_IN_TIMEOUT);
    let key = "timeout";
    (least > wait).then_some(Impatience {
        key,
        wait,
        drain,
        least,
    })
}

/// An idle round trip, and what two full ports of a host's line hold.
fn full_ports(params: &Params, config: &EndpointConfig) -> Span {
    config.base_rtt + longest_wait(params, config.encap, config.rate).times(2)
}

impl Settings {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let encap = config.encap;
        assert!(
            encap.payload_max > 0,
            "frames without payload carry no message"
        );
        let frame = u64::from(encap.wire_max());
        let idle = config.rate.bytes_in(config.base_rtt).get().div_ceil(frame);
        // What is pulled comes back in the place of what has come, and ports that do not trim keep all of it.
        let in_ports = match params.first_rtt {
            FirstRtt::Aeolus => 0,
            FirstRtt::Trimmed | FirstRtt::Gaps => IN_PORTS,
        };
        let auto = u32::try_from(idle + in_ports).unwrap_or(u32::MAX);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "twice what a frame takes, at most"
        )]
        let own = (LineTime::new(config.rate).of(frame).0 as f64 / params.pull_rate) as u64;
        let share = u64::from(config.line_share.max(1));
        let gap = (own * u64::from(CreditSpec::WHOLE)).div_ceil(share);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "no more than the gap"
        )]
        let jitter = (gap as f64 * params.pull_jitter) as u64;
        let bursts = params.bursts();
        // DEVIATES(ndp): 1 ms is more than its ports hold at 10 Gb/s and more; slower ones hold more.
        let most = Span(params.timeout.0 / ASKED_IN_TIMEOUT);
        let auto_rto = full_ports(params, config).min(most).max(RTO);
        Self {
            encap,
            payload_max: encap.payload_max.min(PAYLOAD_MAX),
            window: params.window.unwrap_or(auto).clamp(1, window_max(params)),
            gap: Span(gap),
            jitter: Span(jitter),
            order: params.order,
            spray: params.ways,
            first_ways: params.first_ways.unwrap_or(u16::MAX),
            scoreboard: params.scoreboard,
            prefer: params.prefer.map(HostId),
            bursts,
            proven: params.first_rtt == FirstRtt::Aeolus,
            ect: params
                .drop_spec(encap)
                .is_some_and(|spec| spec.by == DropBy::Ecn),
            rto: params.rto.unwrap_or(auto_rto).max(config.base_rtt.times(3)),
            soon: if bursts { config.base_rtt } else { Span::ZERO },
            timeout: params.timeout,
            linger: params.linger,
        }
    }

    /// The time from a pull to the next, on average.
    #[inline]
    pub(super) fn gap(&self) -> Span {
        self.gap
    }

    /// The time from a pull to the next.
    #[inline]
    pub(super) fn next_gap(&self, rng: &mut Rng) -> Span {
        match self.jitter {
            Span::ZERO => self.gap,
            Span(most) => Span(self.gap.0 - most + rng.between(0, 2 * most)),
        }
    }

    /// How long nothing may be heard of a packet, after so many vain tries.
    pub(super) fn rto(&self, tries: u8) -> Span {
        self.rto.times(1 << tries.min(6))
    }

    /// The same where ports keep all that was pulled, and words about it take so long: that comes on top. It fits several
    /// times into `timeout`.
    pub(super) fn rto_behind_queues(&self, takes: Span, tries: u8) -> Span {
        let most = Span(self.timeout.0 / ASKED_IN_TIMEOUT).max(self.rto);
        let wait = Span(self.rto.0.saturating_add(takes.0));
        wait.times(1 << tries.min(6)).min(most)
    }

    /// How long a pull may take, after so many questions: several fit into `timeout`.
    pub(super) fn patience(&self, asked: u8) -> Span {
        let least = self.rto.times(4);
        let most = Span(self.timeout.0 / ASKED_IN_TIMEOUT).max(least);
        self.rto.times(4 << asked.min(6)).min(most)
    }

    /// Wire bytes of a packet without payload.
    pub(super) fn small(&self) -> u16 {
        self.encap.wire(0)
    }
}
