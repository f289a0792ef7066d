//! What one host makes of the parameters: all that a packet needs, computed once.

use super::header::PAYLOAD_MAX;
use super::lines;
use super::params::{CHANNELS_MAX, Params, WINDOW_MAX};
use model::intent::CreditSpec;
use model::{Encap, EndpointConfig};
use parts::tokened;
use units::{LineTime, Span};

/// A round takes at least so long: a network that takes no time has rounds, too. [ours]
const ROUND_MIN: Span = Span::us(1);
/// Requests of one round take at most this part of it on the line. [ours]
const ASKING: u64 = 8;
/// The most classes of messages: those of 1, 7, 49 and so on frames. [dcpim artefact]
pub(super) const CLASSES: usize = 6;

/// The parameters in the units of the per-packet path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The host's number: those that ask seldom do so one after the other.
    pub(super) host: u32,
    pub(super) encap: Encap,
    /// Payload of a full frame.
    pub(super) payload_max: u16,
    /// The rate of the host's line, as RTS tells it.
    pub(super) line: u16,
    /// Rounds of a matching, rounds of an epoch, and how long each takes.
    pub(super) rounds: u32,
    pub(super) epoch: u32,
    pub(super) round: Span,
    /// From a host to another, in an idle network.
    pub(super) one_way: Span,
    pub(super) skew: Span,
    /// Channels each way, and frames that one carries in an epoch.
    pub(super) channels: u32,
    pub(super) channel_frames: u64,
    pub(super) smallest: u32,
    pub(super) prompt: bool,
    /// Requests of a round, at most.
    pub(super) requests: usize,
    /// Payload of the longest message that leaves unasked.
    short: u64,
    /// Tokens that may go unused.
    pub(super) window: u32,
    /// How far behind what is missing a token may be, in bytes.
    pub(super) reach: u64,
    /// Time between two tokens of all channels: what a full frame takes on the host's line, or on its share of it.
    pub(super) gap: Span,
    /// For how long a token may be used beyond its epoch.
    pub(super) grace: Span,
    pub(super) relax: Span,
    pub(super) retry: Span,
    pub(super) hold: bool,
    /// The longest message of each class, in bytes; the last has all others.
    classes: [u64; CLASSES],
    priority_max: u8,
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
        let frames = |n: u64| u32::try_from(n.max(1)).unwrap_or(u32::MAX);
        let short = u64::from(params.short.unwrap_or(frames(idle)).min(WINDOW_MAX));
        let line = LineTime::new(config.rate);
        let share = u64::from(config.line_share.max(1));
        let gap =
            Span((line.of(frame).0 * u64::from(CreditSpec::WHOLE)).div_ceil(share)).max(Span(1));
        // What a full frame takes longer than the smallest one, over all ports of a way; and so what a packet without
        // payload does, and how long it waits behind a whole frame at each.
        let frame_more = config.base_rtt.0.saturating_sub(config.control_rtt.0);
        let more = |bytes: u16| u64::from(bytes - encap.frame_min);
        let part = |bytes: u64| frame_more * bytes / more(encap.wire_max()).max(1);
        let one_way = Span(config.control_rtt.0 / 2 + part(more(encap.wire(0))));
        let behind_frames = Span(one_way.0 + frame_more + part(encap.frame_min.into()));
        let window = idle.max(busy(config, frame_more));
        let window = params.window.unwrap_or(frames(window)).min(WINDOW_MAX);
        // DEVIATES(dcpim artefact): a round is `beta` alone there. At its 100 Gb/s that has room for these frames.
        let round = times(config.control_rtt, params.beta).max(behind_frames.times(2));
        let round = round.max(ROUND_MIN);
        let epoch = times(Span(params.rounds.into()), params.alpha).0;
        let epoch = u32::try_from(epoch).unwrap_or(u32::MAX).max(params.rounds);
        let phase = round.times(epoch.into());
        let channels = params.channels.min(CHANNELS_MAX);
        // Data for a token takes a round trip, whatever the parameters say.
        let soonest = Span(config.base_rtt.0 + gap.0);
        let windows = |n: f64| times(gap.times(window.into()), n).max(soonest);
        let asking = round.0 / ASKING / line.of(encap.wire(0).into()).0.max(1);
        let mut longest = u64::from(payload_max);
        let classes = [(); CLASSES].map(|()| {
            longest = longest.saturating_mul(params.base.into());
            longest
        });
        Self {
            host: config.host.0,
            encap,
            payload_max,
            line: lines::told(config.rate),
            rounds: params.rounds,
            epoch,
            round,
            one_way,
            skew: params.skew,
            channels,
            channel_frames: (phase.0 / gap.0 / u64::from(channels)).max(1),
            smallest: params.smallest,
            prompt: params.prompt,
            requests: usize::try_from(asking.max(channels.into())).unwrap_or(usize::MAX),
            short: short * u64::from(payload_max),
            window,
            reach: tokened::reach(
                config.reassembly,
                u64::from(window) * u64::from(payload_max),
            ),
            gap,
            grace: gap.times(channels.into()),
            relax: windows(params.relax),
            retry: windows(params.retry),
            hold: params.hold,
            classes,
            priority_max: params.priorities() - 1,
            rtt: config.base_rtt,
            rto: params.rto.max(config.base_rtt.times(3)),
            timeout: params.timeout,
            linger: params.linger,
        }
    }

    /// Whether a message of `length` bytes leaves unasked.
    #[inline]
    pub(super) fn is_short(&self, length: u64) -> bool {
        length <= self.short
    }

    /// The time between two tokens of so many channels for frames of `frame` bytes.
    #[inline]
    pub(super) fn gap_of(&self, frame: u16, channels: u32) -> Span {
        let all = self.gap.0 * u64::from(self.channels) / u64::from(channels);
        if frame == self.payload_max {
            return Span(all);
        }
        let (wire, own) = (self.encap.wire(frame), self.encap.wire(self.payload_max));
        Span((all * u64::from(wire)).div_ceil(u64::from(own)))
    }

    /// Tokens that may go unused where so many channels are their sender's.
    #[inline]
    pub(super) fn window_of(&self, channels: u32) -> u32 {
        self.window * channels / self.channels
    }

    /// The priority of the data of such a message. [dcpim artefact]
    #[inline]
    pub(super) fn priority(&self, length: u64) -> u8 {
        let shorter = self.classes[..CLASSES - 1].iter();
        let class = shorter.take_while(|&&longest| length > longest).count();
        #[allow(clippy::cast_possible_truncation, reason = "six classes")]
        let class = class as u8;
        (class + 1).min(self.priority_max)
    }

    /// Wire bytes of a packet without payload.
    #[inline]
    pub(super) fn small(&self) -> u16 {
        self.encap.wire(0)
    }
}

/// Frames of a round trip where data goes both ways. A token waits half a frame at every port and its data for the frame
/// before it; tokens for the other direction take their part of the line.
fn busy(config: &EndpointConfig, frame_more: u64) -> u64 {
    // DEVIATES(dcpim artefact): a window is an idle round trip there. In its network that is as many.
    let encap = config.encap;
    let frame = u64::from(encap.wire_max());
    let waits = frame_more / 2 + LineTime::new(config.rate).of(frame).0;
    let bytes = config.rate.bytes_in(Span(config.base_rtt.0 + waits));
    bytes.get().div_ceil(frame + u64::from(encap.wire(0)))
}

/// A time so many times, rounded up.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a positive time below 2^52, and the cast saturates"
)]
fn times(span: Span, n: f64) -> Span {
    let exact = span.0 as f64 * n;
    let whole = exact as u64;
    Span(whole + u64::from((whole as f64) < exact))
}
