//! What one host makes of the parameters: all that a packet needs, computed once.

use super::caps::Law;
use super::header::PAYLOAD_MAX;
use super::params::{Choice, Growth, Levels, Params};
use model::intent::CreditSpec;
use model::{Encap, EndpointConfig};
use units::{Bytes, LineTime, Span};

/// Idle round trips that a sender may be silent for, at least. [ours]
const RETRY_RTTS: u64 = 8;
/// The same for a hole, and for a message of which nothing was heard. [ours]
const FEW_RTTS: u64 = 3;
/// How often a wait doubles. [ours]
const DOUBLED_MAX: u8 = 10;
/// The priority of data that credit released, where there are two.
const LOWER: u8 = 1;

/// The parameters in the units of the per-packet path. Sizes are wire bytes.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) encap: Encap,
    /// Payload of a full frame, and what that takes on the wire.
    pub(super) payload_max: u16,
    pub(super) frame: u64,
    line: LineTime,
    share: u64,
    /// Credit that may be out, to all and to one.
    pub(super) budget: u64,
    pub(super) pair: u64,
    /// The longest message that begins unasked.
    unasked: u64,
    /// Unused credit that a sender may have.
    pub(super) sender_threshold: u64,
    pub(super) law: Law,
    pub(super) shortest: f64,
    pub(super) receiver: Choice,
    levels: Levels,
    /// Round trip of an idle network.
    pub(super) rtt: Span,
    reorder: Span,
    retry: Span,
    pub(super) rto: Span,
    pub(super) timeout: Span,
    pub(super) linger: Span,
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive size, and the cast saturates"
)]
fn times(bdp: u64, factor: f64) -> u64 {
    (bdp as f64 * factor) as u64
}

impl Settings {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let encap = config.encap;
        assert!(
            encap.payload_max > 0,
            "frames without payload carry no message"
        );
        let payload_max = encap.payload_max.min(PAYLOAD_MAX);
        let frame = u64::from(encap.wire(payload_max));
        let idle = config.rate.bytes_in(config.base_rtt).get();
        let auto = (idle.div_ceil(frame) + 1) * frame;
        let bdp = params.bdp.map_or(auto, Bytes::get);
        let pair = times(bdp, params.pair).max(frame);
        Self {
            encap,
            payload_max,
            frame,
            line: LineTime::new(config.rate),
            share: u64::from(config.line_share.max(1)),
            budget: times(bdp, params.budget).max(pair),
            pair,
            unasked: times(bdp, params.unasked),
            sender_threshold: times(bdp, params.sender_threshold),
            law: Law {
                frame: frame as f64,
                most: pair as f64,
                least: [params.host_least, params.network_least].map(|part| part * pair as f64),
                gain: params.gain,
                always: params.growth == Growth::Every,
            },
            shortest: params.shortest,
            receiver: params.receiver,
            levels: params.levels,
            rtt: config.base_rtt,
            reorder: params
                .reorder
                .unwrap_or_else(|| config.base_rtt.times(FEW_RTTS).max(Span(1))),
            retry: params.retry.max(config.base_rtt.times(RETRY_RTTS)),
            rto: params.rto.max(config.base_rtt.times(FEW_RTTS)),
            timeout: params.timeout,
            linger: params.linger,
        }
    }

    /// Payload of a message of `length` bytes that leaves unasked, where its receiver may be sent `room` wire bytes
    /// more.
    pub(super) fn free(&self, length: u64, room: u64) -> u64 {
        if self.encap.wire_total(length) > self.unasked {
            return 0;
        }
        let frames = (room / self.frame).max(1);
        length.min(frames * u64::from(self.payload_max))
    }

    /// What so much payload takes on the wire, in full frames and the rest.
    pub(super) fn wire_total(&self, payload: u64) -> u64 {
        if payload == 0 {
            0
        } else {
            self.encap.wire_total(payload)
        }
    }

    /// For how long so many wire bytes keep the host's line, or its share of it.
    #[inline]
    pub(super) fn line(&self, wire: u64) -> Span {
        let whole = u64::from(CreditSpec::WHOLE);
        let own = self.line.of(wire);
        if self.share == whole {
            return own;
        }
        Span((own.0 * whole).div_ceil(self.share))
    }

    /// The priority of data.
    #[inline]
    pub(super) fn priority(&self, scheduled: bool) -> u8 {
        match self.levels {
            Levels::One => 0,
            Levels::Credit => LOWER,
            Levels::Unasked => {
                if scheduled {
                    LOWER
                } else {
                    0
                }
            }
        }
    }

    /// How long a hole is waited for, after so many credits for it.
    pub(super) fn reorder(&self, tries: u8) -> Span {
        self.reorder.times(1 << tries.min(DOUBLED_MAX))
    }

    /// How long data is waited for, after so many waits in vain.
    pub(super) fn retry(&self, vain: u8) -> Span {
        self.retry.times(1 << vain.min(DOUBLED_MAX))
    }

    /// Wire bytes of a packet without payload.
    pub(super) fn small(&self) -> u16 {
        self.encap.wire(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::HostId;
    use units::Rate;

    /// A byte takes 80 ps at 100 Gb/s.
    #[test]
    fn a_share_of_the_line_takes_as_much_longer() {
        let takes = |share| {
            let config = EndpointConfig::new(HostId(0), Rate::gbps(100), Encap::PAPER)
                .with(|told| told.line_share = share);
            Settings::new(&Params::DEFAULT, &config).line(1_000)
        };
        assert_eq!(takes(CreditSpec::WHOLE), Span(80_000));
        assert_eq!(takes(CreditSpec::WHOLE / 2), Span(160_000));
    }
}
