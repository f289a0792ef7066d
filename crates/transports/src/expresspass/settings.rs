//! What one host makes of the parameters.

use super::early::FirstRtt;
use super::feedback::Law;
use super::params::Params;
use model::intent::DropBy;
use model::{Encap, EndpointConfig};
use units::{LineTime, Span};

/// A sender without credits asks again after this many request retries: credits of a starved flow
/// may be far apart, and asking costs the network. [ours]
const QUIET_RETRIES: u64 = 8;

/// What one host makes of the parameters: everything per packet needs, computed once.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) law: Law,
    pub(super) encap: Encap,
    pub(super) alpha: f64,
    pub(super) jitter: f64,
    pub(super) credit_size_min: u16,
    /// Number of different credit sizes.
    pub(super) credit_sizes: u16,
    pub(super) early_stop: bool,
    pub(super) start_rule: bool,
    pub(super) base_rtt: Span,
    pub(super) request_retry: Span,
    /// Time after which an answer that bursts may delay is overdue; 0 where there are none.
    pub(super) safety: Span,
    /// Time without a credit after which a sender asks again.
    pub(super) quiet: Span,
    pub(super) stop_wait: u16,
    pub(super) stop_wait_unknown: Span,
    pub(super) rest: u16,
    /// Longest that credits can wait in the ports of a path after the last one was given.
    pub(super) drain: Span,
    pub(super) close_wait: Span,
    pub(super) give_up: Span,
    pub(super) expiry: Span,
    pub(super) first_rtt: FirstRtt,
    /// Wire bytes of a burst.
    pub(super) burst: u64,
    /// Full frames of a burst.
    pub(super) burst_frames: u16,
    /// Receivers give no credits for what a burst brings.
    pub(super) subtract_burst: bool,
    /// Line time of a full frame.
    pub(super) frame_time: Span,
    pub(super) probe_every: u16,
    pub(super) shortest_first: bool,
    /// Everything but unscheduled packets is ECN-capable: that is how switches know it.
    pub(super) ect: bool,
}

impl Settings {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let line = LineTime::new(config.rate);
        let law = Law {
            controller: params.controller,
            w_min: params.w_min,
            w_max: params.w_max,
            w_init: params.w_init,
            target_scale: params.target_scale,
            target_loss: params.target_loss,
            period: params.credit_spec_at(config).period(line),
        };
        // A request repeated before its answer can be here teaches nothing.
        let retry_min = Span(config.base_rtt.0.saturating_add(config.base_rtt.0 / 2));
        let safety = if params.first_rtt == FirstRtt::Silent {
            Span::ZERO
        } else {
            // Three round trips, and a full buffer to drain at every hop: without faults it never
            // fires. [ours; the papers have no such timer]
            let drain = line
                .of(config.port_buffer.get())
                .times(u64::from(config.hops_max));
            config.base_rtt.times(3) + drain
        };
        let request_retry = params.request_retry.max(retry_min).max(safety);
        let burst = params.burst.unwrap_or_else(|| config.bdp().get());
        Self {
            law,
            encap: config.encap,
            alpha: params.alpha,
            jitter: params.jitter,
            credit_size_min: params.credit_size_min,
            credit_sizes: params.credit_size_max - params.credit_size_min + 1,
            early_stop: params.early_stop,
            start_rule: params.start_rule,
            base_rtt: config.base_rtt.max(Span(1)),
            request_retry,
            safety,
            quiet: request_retry.times(QUIET_RETRIES),
            stop_wait: params.stop_wait,
            stop_wait_unknown: params.stop_wait_unknown,
            rest: params.rest,
            drain: law
                .period
                .times(u64::from(params.credit_queue) * u64::from(config.hops_max)),
            // A request that is repeated late must still find that all has arrived.
            close_wait: params.close_wait.max(safety.times(2)),
            give_up: params.give_up,
            expiry: params.expiry,
            first_rtt: params.first_rtt,
            burst,
            burst_frames: u16::try_from(burst / u64::from(config.encap.wire_max()))
                .unwrap_or(u16::MAX),
            subtract_burst: params.subtract_burst,
            frame_time: line.of(config.encap.wire_max().into()),
            probe_every: params.probe_every,
            shortest_first: params.shortest_first,
            ect: params.drop_by == DropBy::Ecn,
        }
    }
}
