//! What one host makes of the parameters: all that a packet needs, computed once.

use super::header::PAYLOAD_MAX;
use super::params::{CutoffBy, Cutoffs, GrantedAt, GrantedBy, Law, Params};
use super::ranks::Levels;
use model::intent::DropBy;
use model::{Encap, EndpointConfig};
use parts::{Protected, Transport};
use units::{Bytes, LineTime, Rate, Span};

/// The parameters in the units of the per-packet path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) encap: Encap,
    /// Payload of a full packet.
    pub(super) payload_max: u16,
    /// Payload of a message that leaves unasked.
    pub(super) unscheduled: u64,
    pub(super) law: Law,
    pub(super) granted_by: GrantedBy,
    levels: GrantedAt,
    /// Messages granted at once, at most [`super::ranks::ACTIVE_MAX`].
    pub(super) overcommitment: usize,
    pub(super) max_incoming: u64,
    /// What a receiver has granted and has not got, of all messages together, in bytes of payload: no bound where nobody
    /// asks that switches lose none of it.
    pub(super) max_granted: u64,
    cutoffs: Cutoffs,
    cutoff_by: CutoffBy,
    pub(super) priorities: u8,
    /// The most urgent priority of granted data.
    first_scheduled: u8,
    /// The least urgent of what leaves unasked.
    last_unscheduled: u8,
    boost_tail: u64,
    pub(super) fifo_increment: u64,
    /// Time between two grants to the oldest message; none for never.
    pub(super) fifo_every: Option<Span>,
    pub(super) recovery: bool,
    /// What leaves unasked is a burst that a probe closes.
    pub(super) bursts: bool,
    /// Packets overtake each other, so that only the probe tells what was lost, and only after a while.
    pub(super) overtakes: bool,
    /// How long what left before a probe may come behind it.
    pub(super) late: Span,
    /// Everything but that is ECN-capable: that is how switches know it.
    pub(super) ect: bool,
    resend_after: Span,
    pub(super) timeout: Span,
    pub(super) linger: Span,
    /// Round trip of an idle network.
    pub(super) rtt: Span,
    /// The host's line, and the time of a full packet on it.
    pub(super) line: LineTime,
    pub(super) frame_time: Span,
}

/// Links of a way that lead to a host: both ends' packets of one message share them.
const LINKS_OF_HOSTS: u8 = 2;

/// Payload of the full packets that a line of `rate` carries in `rtt`, at least one.
pub(super) fn payload_of(rate: Rate, rtt: Span, encap: Encap) -> u64 {
    let frames = rate.bytes_in(rtt).get().div_ceil(encap.wire_max().into());
    frames.max(1) * u64::from(encap.payload_max.min(PAYLOAD_MAX))
}

impl Settings {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let encap = config.encap;
        assert!(
            encap.payload_max > 0,
            "frames without payload carry no message"
        );
        let levels = params.levels();
        let all = params.priorities;
        // With one priority both kinds have it.
        let scheduled = (all - levels).max(1);
        let auto = || payload_of(config.rate, config.base_rtt, encap);
        let line = LineTime::new(config.rate);
        let share = params.fifo_share;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive time, and the cast saturates"
        )]
        let fifo_every = (params.grant == Law::Window && share > 0.0)
            .then(|| Span((line.of(params.fifo_increment).0 as f64 / share) as u64));
        let overcommitment = params.overcommitment.unwrap_or(scheduled);
        let full = u64::from(encap.payload_max.min(PAYLOAD_MAX));
        let unscheduled = match params.unscheduled.unwrap_or_else(auto) {
            // A burst has full frames.
            bytes if params.bursts() => bytes.div_ceil(full) * full,
            bytes => bytes,
        };
        let overcommitment = usize::from(overcommitment).min(super::ranks::ACTIVE_MAX);
        let bounded = params.bursts() && params.grant == Law::Packet;
        let max_granted = match bounded {
            true => unscheduled.saturating_mul(overcommitment as u64),
            false => u64::MAX,
        };
        Self {
            encap,
            payload_max: encap.payload_max.min(PAYLOAD_MAX),
            unscheduled,
            granted_by: params.granted_by,
            levels: params.levels,
            law: params.grant,
            overcommitment,
            max_incoming: params.max_incoming.0,
            max_granted,
            // DEVIATES(homa linux): cut-offs are parameters; no receiver tells its senders others with CUTOFFS.
            // Where nobody knows the messages, those of the default profile, of which as many count as there are levels.
            cutoffs: params
                .cutoffs
                .or(Params::DEFAULT.cutoffs)
                .expect("the default profile has some"),
            cutoff_by: params.cutoff_by,
            priorities: all,
            first_scheduled: all - scheduled,
            last_unscheduled: levels - 1,
            boost_tail: params.boost_tail,
            fifo_increment: params.fifo_increment,
            fifo_every,
            recovery: params.recovery,
            bursts: params.bursts(),
            overtakes: config.overtakes,
            late: params.late(config),
            ect: params
                .drop_spec(encap)
                .is_some_and(|spec| spec.by == DropBy::Ecn),
            resend_after: params.resend_after,
            timeout: params.timeout,
            linger: params.linger,
            rtt: config.base_rtt,
            line,
            frame_time: line.of(encap.wire_max().into()),
        }
    }

    /// The priority of a packet that leaves unasked, with `left` bytes to go of a message of `length`.
    #[inline]
    pub(super) fn unasked(&self, left: u64, length: u64) -> u8 {
        let size = match self.cutoff_by {
            CutoffBy::Remaining => left,
            CutoffBy::Length => length,
        };
        let (mut level, cutoffs) = (0, self.cutoffs.list());
        while level < self.last_unscheduled
            && cutoffs
                .get(usize::from(level))
                .is_some_and(|&most| most < size)
        {
            level += 1;
        }
        level
    }

    /// Levels of granted data.
    fn scheduled(&self) -> usize {
        usize::from(self.priorities - self.first_scheduled)
    }

    /// The levels that messages keep, where they do.
    pub(super) fn kept(&self) -> Option<Levels> {
        let keep = self.levels == GrantedAt::Kept;
        keep.then(|| Levels::new(self.scheduled(), self.overcommitment))
    }

    /// The level of this rank among `active` messages: the lowest ones are in use, so that a shorter message finds one
    /// above. [homa s3.4]
    #[inline]
    pub(super) fn lowest(&self, rank: usize, active: usize) -> usize {
        let scheduled = self.scheduled();
        (scheduled.saturating_sub(active) + rank).min(scheduled - 1)
    }

    /// The priority of granted data at this level, with `left` bytes to grant.
    #[inline]
    pub(super) fn granted(&self, level: usize, left: u64, length: u64) -> u8 {
        #[allow(clippy::cast_possible_truncation, reason = "fewer than eight")]
        let level = self.first_scheduled + level as u8;
        // A message that fits its burst has no other priority: what is lost of it leaves again at that.
        let short = self.bursts && length <= self.unscheduled;
        if short || (left < self.boost_tail && self.encap.wire_total(left) < self.boost_tail) {
            return level.min(self.unasked(left, length));
        }
        level
    }

    /// What one message may have on the way among `active` ones, in bytes of payload.
    #[inline]
    pub(super) fn window(&self, active: usize) -> u64 {
        match self.law {
            Law::Packet => self.unscheduled,
            Law::Window => self.max_incoming / (active as u64 + 1),
        }
    }

    /// How long the `tries`-th silence lasts before a question leaves.
    pub(super) fn patience(&self, tries: u8) -> Span {
        self.resend_after.times(1 << tries.min(4))
    }

    /// Wire bytes of a packet without payload.
    pub(super) fn small(&self) -> u16 {
        self.encap.wire(0)
    }
}

impl Params {
    /// How long what left unasked may come behind its probe, where packets take several ways: each link between switches
    /// keeps back no more of it than may wait there, and is no slower than a host's. [ours]
    fn late(&self, config: &EndpointConfig) -> Span {
        let Some(spec) = self.drop_spec(config.encap) else {
            return Span::ZERO;
        };
        let between = u64::from(config.hops_max.saturating_sub(LINKS_OF_HOSTS));
        let wait = LineTime::new(config.rate).of(spec.threshold.get());
        // Then it is asked for.
        wait.times(between).min(self.resend_after)
    }

    /// Frames that a message has on the way where no other is.
    pub(super) fn lone_window(&self, encap: Encap) -> Option<(u32, Option<&'static str>)> {
        let frames = self.max_incoming.get() / 2 / u64::from(encap.payload_max.max(1));
        let most = u32::try_from(frames).unwrap_or(u32::MAX);
        (self.grant == Law::Window).then_some((most, Some("max_incoming")))
    }

    /// What may wait before a host: what its receiver has granted, and of each priority of what leaves unasked as much as
    /// ports take.
    pub(super) fn protected(&self, config: &EndpointConfig) -> Option<Protected> {
        let spec = self.drop_spec(config.encap)?;
        let settings = Settings::new(self, config);
        let (granted, key) = match self.grant {
            // The oldest gets its share on top.
            Law::Window => (
                self.max_incoming.0 + settings.fifo_every.map_or(0, |_| settings.fifo_increment),
                "max_incoming",
            ),
            Law::Packet => (settings.max_granted, "overcommitment"),
        };
        let unasked = spec
            .threshold
            .get()
            .saturating_add(config.encap.wire_max().into());
        let unasked = unasked.saturating_mul(self.levels().into());
        let bytes = config.encap.wire_total(granted).saturating_add(unasked);
        let name = Transport::name(&super::AEOLUS); // no other drops anything
        Some(Protected {
            bytes: Bytes(bytes),
            instead: format!("set transport.\"{name}\".{key} to less"),
        })
    }

    /// Priorities of what leaves unasked.
    pub(super) fn levels(&self) -> u8 {
        let half = self.priorities.div_ceil(2);
        self.unscheduled_priorities
            .unwrap_or(half)
            .clamp(1, self.priorities)
    }
}
