//! What one host makes of the parameters.

use super::crediting::Silence;
use super::early::FirstRtt;
use super::feedback::Law;
use super::params::{EarlyStop, Params};
use super::receiver::CREDITS_OPEN_MAX;
use model::intent::{DropBy, PortSpec, QueueSpec};
use model::{Class, Encap, EndpointConfig, Facts, HostId, Net};
use parts::selective::Threshold;
use parts::{ParamError, Refusal};
use units::{LineTime, Span};

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
    pub(super) early_stop: EarlyStop,
    pub(super) start_rule: bool,
    pub(super) keep_tally: bool,
    pub(super) base_rtt: Span,
    pub(super) request_retry: Span,
    /// How often that doubles, at most.
    pub(super) retry_doublings: u8,
    /// What silence means.
    pub(super) silence: Silence,
    /// How much longer a connection waits before it takes its request for lost, for each other one of its host
    /// that wants credits.
    pub(super) patience: Span,
    /// Time after which an answer is overdue even where all buffers on the way are full.
    pub(super) overdue: Span,
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
    /// What a sender says of its data leaves as data of this class, in order with it: that which is not dropped first.
    pub(super) in_band: Option<Class>,
}

/// The class that ports do not drop first.
const fn spared(first_rtt: FirstRtt) -> Class {
    match first_rtt {
        FirstRtt::Ssp => Class::Unscheduled,
        FirstRtt::Silent | FirstRtt::Gaps | FirstRtt::Aeolus => Class::Scheduled,
    }
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
        // Three round trips, and a full buffer to drain at every hop: without faults it never fires.
        // [ours; the papers have no such timer]
        let full = line.of(config.port_buffer.get());
        let overdue = config.base_rtt.times(3) + full.times(u64::from(config.hops_max));
        let safety = if params.first_rtt == FirstRtt::Silent {
            Span::ZERO
        } else {
            overdue
        };
        // A receiver that tells answers a request at once: it is late by the requests of others that
        // stand before it at one port. Each brings a STOP besides: half of a buffer is theirs.
        let crowd = if params.tell_heard {
            Span(full.0 / 2)
        } else {
            Span::ZERO
        };
        let request_retry = params.request_retry.max(retry_min + crowd).max(safety);
        let patience = if params.tell_heard {
            law.period.times(u64::from(params.crowd_patience))
        } else {
            Span::ZERO
        };
        let burst = params.burst.unwrap_or_else(|| config.bdp().get());
        Self {
            law,
            encap: config.encap,
            alpha: params.alpha,
            jitter: params.jitter,
            credit_size_min: params.credit_size_min,
            credit_sizes: params.credit_size_max - params.credit_size_min + 1,
            early_stop: match params.early_stop {
                true => params.early_stop_counts,
                false => EarlyStop::Never,
            },
            start_rule: params.start_rule,
            keep_tally: params.keep_tally,
            base_rtt: config.base_rtt.max(Span(1)),
            request_retry,
            retry_doublings: u8::try_from(params.retry_doublings).expect("at most 16"),
            silence: silence(params, patience),
            patience,
            overdue,
            quiet: params.quiet.max(request_retry),
            stop_wait: params.stop_wait,
            stop_wait_unknown: params.stop_wait_unknown,
            rest: params.rest,
            drain: law
                .period
                .times(u64::from(params.credit_queue) * u64::from(config.hops_max)),
            // A request or a STOP that is repeated late must still find that all has arrived.
            close_wait: params.close_wait.max(overdue.times(2)),
            // A sender that hears nothing asks again first.
            give_up: params.give_up.max(request_retry.times(2)),
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
            in_band: config.control_passes.then(|| spared(params.first_rtt)),
        }
    }
}

fn silence(params: &Params, patience: Span) -> Silence {
    Silence {
        lost: params.silent_credits,
        asks_after: params.unheard_credits,
        doublings_max: u8::try_from(params.unheard_doublings).expect("at most 16"),
        tells: params.tell_heard,
        patience,
    }
}

/// The same with a threshold in bytes, on a network that it can serve.
pub(super) fn settle(params: &Params, facts: &Facts<'_>) -> Result<Params, ParamError> {
    if let Some(net) = facts.net {
        reach(net, facts.encap)?;
    }
    let drop_threshold = Threshold::Bytes(params.drop_threshold.bytes(facts.encap).0);
    Ok(Params {
        drop_threshold,
        ..params.clone()
    })
}

/// Refuses a network that has more credits under way than data, which echoes their number in part, can tell apart.
fn reach(net: &dyn Net, encap: Encap) -> Result<(), ParamError> {
    let rates = (0..net.hosts()).map(|host| net.rate(HostId(host)));
    let (Some(rate), Some(rtt)) = (rates.max(), net.longest_rtt()) else {
        return Ok(());
    };
    let credits = rate.bytes_in(rtt).get() / u64::from(encap.wire_max());
    if credits < CREDITS_OPEN_MAX.into() {
        return Ok(());
    }
    Err(ParamError {
        key: String::new(),
        message: format!(
            "a line of {rate} has {credits} credits under way in a round trip of {rtt}, and {CREDITS_OPEN_MAX} can be told \
             apart; take slower lines, shorter delays or a larger run.mtu"
        ),
    })
}

/// Credits, as a bit of the classes that a queue takes.
const CREDITS: u8 = 1 << Class::Credit as u8;

/// Whether a port shapes credits.
pub(super) fn suits(port: &PortSpec) -> Result<(), Refusal> {
    let shaped = |queue: &QueueSpec| queue.shape.is_some() && queue.takes.classes & CREDITS != 0;
    if port.queues.iter().any(shaped) {
        return Ok(());
    }
    Err(Refusal {
        place: "transport.kind",
        reason: "needs ports that shape credits, or data will overflow them".to_owned(),
        instead: "choose ports with a shaped queue of credits".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    /// Two hosts at 100 Gb/s, so far from each other.
    struct Far(Span);

    impl Net for Far {
        fn hosts(&self) -> u32 {
            2
        }
        fn rate(&self, _: HostId) -> Rate {
            Rate::gbps(100)
        }
        fn rack(&self, host: HostId) -> u32 {
            host.0
        }
        fn ways(&self, a: HostId, b: HostId) -> u16 {
            u16::from(a != b)
        }
        fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
            (a != b).then_some(self.0)
        }
    }

    #[test]
    fn a_network_has_fewer_credits_under_way_than_can_be_told_apart() {
        // A frame of 1538 B takes 80 ps for each of them.
        let frame = Span(1_538 * 80);
        let reaches = |credits| reach(&Far(frame.times(credits)), Encap::PAPER).is_ok();
        let most = u64::from(CREDITS_OPEN_MAX);
        assert_eq!([most - 1, most].map(reaches), [true, false]);
    }
}
