//! ExpressPass' parameters: profiles, TOML, documentation.

use super::early::FirstRtt;
use super::feedback::Controller;
use model::intent::{CreditCount, CreditSpec, DropBy, DropMeasure, DropSpec};
use model::{Class, Encap, EndpointConfig};
use parts::credit_gate::CreditGate;
use parts::forms::{Count, Flag, Number, Or, Size, Time, Word, Words};
use parts::host_delay::{HOST_DELAY, HostDelay};
use parts::keys::{self, Profiles};
use parts::selective::{MEASURES, TELLS, THRESHOLD, Threshold};
use parts::{Fabric, Pacing, ParamError, Unread};
use units::Span;

parts::params! {
    /// Everything that a scenario can set.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
        /// What is done with the first round trip; the transport's name says it, not a parameter.
        first_rtt: FirstRtt = FirstRtt::Silent;
    }
    pub(super) static KEYS {
        /// law of the credit rate: artefact (as in the authors' simulator), published (as printed) or naive
        /// (always the full rate)
        controller: Controller = Controller::Artefact, Word, "[xpass s3.2, artefact xpass.cc]";
        /// first credit rate of a flow, as a share of the full rate
        alpha: f64 = 0.5, Number(SHARE_MIN, 1.0),
            "[xpass artefact, fat-tree script]; 1/16 in profile paper2017";
        /// first aggressiveness: share of the way to the full rate that one step takes
        w_init: f64 = 1.0 / 16.0, Number(SHARE_MIN, 1.0), "[xpass artefact, fat-tree script]";
        /// smallest aggressiveness
        w_min: f64 = 0.01, Number(SHARE_MIN, 1.0), "[xpass artefact, ns-default.tcl]";
        /// largest aggressiveness
        w_max: f64 = 0.5, Number(SHARE_MIN, 1.0), "[xpass s3.2, artefact xpass.cc]";
        /// controller artefact: target loss is this times (1 - rate)
        target_scale: f64 = 0.125, Number(0.0, 1.0), "[xpass artefact, ns-default.tcl]";
        /// controller published: target loss
        target_loss: f64 = 0.1, Number(0.0, 1.0), "[xpass s3.2]";
        /// largest relative deviation, up or down, of the time between two credits
        jitter: f64 = 0.1, Number(0.0, 0.9), "[xpass artefact, xpass.cc]";
        /// smallest credit on the wire, preamble and gap included
        credit_size_min: u16 = 76, Size(40, 1500), "[xpass artefact, fat-tree script]";
        /// largest credit on the wire; sizes are drawn evenly from min to max
        credit_size_max: u16 = 92, Size(40, 1500), "[xpass artefact, fat-tree script]";
        /// credits that may wait in a port, those of hosts included
        credit_queue: u16 = 8, Count(1, 1024), "[xpass artefact, fat-tree script]";
        /// credits that may leave a port back to back
        bucket: u16 = 2, Count(1, 1024), "[xpass artefact, fat-tree script]";
        /// what a credit costs its shaper: credits (one token each) or bytes (its size; two-way load then
        /// overfills the data queues)
        count: CreditCount = CreditCount::Credits,
            Words(&[("credits", CreditCount::Credits), ("bytes", CreditCount::Bytes)]), "[ours]; bytes in profile ns2xpass";
        /// share of every line that credits and the data they release leave to requests, acknowledgements and
        /// other control packets, which nothing paces; without it they stand in the data queues where a line is
        /// busy both ways
        control_share: f64 = 0.0, Number(0.0, CONTROL_SHARE_MAX), "[ours]; the papers count none: 0";
        /// whether a host's line shapes credits like a switch port; false is a plain FIFO
        nic_shaper: bool = true, Flag, "[xpass artefact, fat-tree script]; false in its dumbbell scripts";
        /// part of a credit's period, at most, by which that shaper holds a credit back that had to wait for
        /// its token: nothing for the smallest, most for the largest; without it shapers stay in step, and the
        /// same flows lose their credits for ever
        nic_jitter: f64 = 1.0, Number(0.0, 1.0),
            "[ours]; 0 [xpass artefact], whose shaper counts bytes, in profile ns2xpass";
        /// whether a sender stops credits once those of one round trip suffice for the rest
        early_stop: bool = true, Flag, "[xpass artefact, xpass.cc]; later than the paper";
        /// which credits it takes for those of a round trip: round-trip (as many as come in one, at the pace of
        /// the last) or window (all until the first one after a round trip)
        early_stop_counts: EarlyStop = EarlyStop::RoundTrip,
            Words(&[("round-trip", EarlyStop::RoundTrip), ("window", EarlyStop::Window)]),
            "[ours]; window [xpass artefact, xpass.cc] in profile ns2xpass";
        /// whether a flow of n < 40 packets starts at n/40 of alpha
        start_rule: bool = true, Flag, "[xpass artefact, xpass.cc]; later than the paper";
        /// whether a receiver that is asked again knows the fate of the credits that it gave before: its first step
        /// comes with the second credit then, and leaves at least one credit per round trip
        keep_tally: bool = false, Flag, "[ours]; true [xpass artefact, xpass.cc] in profile ns2xpass";
        /// time after which an unanswered request is repeated, then doubling; at least 1.5 base round trips;
        /// short times repeat requests whose credits only wait for a crowded port, and their bytes have no room
        /// there under two-way load
        request_retry: Span = Span::ms(1), Time(Span::ns(1), SPAN_MAX),
            "[bess artefact]; 100us in profile ns2xpass";
        /// how often the time between two requests doubles, at most: whoever asks a dead host burdens the
        /// network less and less
        retry_doublings: u16 = 5, Count(0, DOUBLINGS_MAX),
            "[ours]; 0 [xpass artefact, xpass.cc] in profile ns2xpass";
        /// whether a receiver says HEARD where the first credit of a request is lost in its own line, or brings
        /// nothing for two round trips: the sender need not repeat the request, unless it is one of a crowd
        tell_heard: bool = true, Flag, "[ours]; false in profile ns2xpass";
        /// how often a host's line could give a credit to each of its connections that want one before one of them
        /// takes its request for lost, or a receiver asks whether it is still there; half of it before HEARD
        crowd_patience: u16 = 16, Count(0, 1000),
            "[ours]: by chance one of 3,000 connections waits half of it, one of nine million all of it";
        /// time without a credit after which a sender whose request was heard asks again; longer than a credit
        /// takes to come in the widest incast: 17 times its mean where 4,500 flows share 10 Gb/s
        quiet: Span = Span::ms(100), Time(Span::us(1), SPAN_MAX), "[ours]; never in [xpass artefact, xpass.cc]";
        /// credits without an answer, all two round trips old, that count as the loss of all and leave one
        /// credit per round trip; 0 for none, and no sender counts as dead then
        silent_credits: u16 = 8, Count(0, 4096), "[ours]";
        /// credits that left the host in vain after which a receiver asks the sender whether it is still there,
        /// and gives credits more rarely until it answers; 0 for none
        unheard_credits: u16 = 64, Count(0, 4096), "[ours]";
        /// how often the time between two credits doubles, at most, while it does not
        unheard_doublings: u16 = 8, Count(0, DOUBLINGS_MAX), "[ours]";
        /// round trips after which a STOP is followed up
        stop_wait: u16 = 2, Count(1, 1000), "[xpass artefact, xpass.cc]";
        /// the same where no round trip has been measured
        stop_wait_unknown: Span = Span::ms(2), Time(Span::ns(1), SPAN_MAX), "[xpass artefact, ns-default.tcl]";
        /// round trips for which a sender that is done absorbs late credits, and the time that full credit
        /// queues on the path take to drain
        rest: u16 = 1, Count(1, 1000), "[xpass artefact, xpass.cc]";
        /// time for which a receiver remembers a one-message connection that is done; a packet that is late by
        /// more may deliver the message again
        close_wait: Span = Span::ms(2), Time(Span::ns(1), SPAN_MAX),
            "[xpass artefact, xpass.cc]; 20 ms [ours] where new flows burst";
        /// time without data after which a receiver gives no more credits until asked again; at least twice what a
        /// sender of its network waits before it asks again
        give_up: Span = Span::ms(200), Time(Span::us(1), SPAN_MAX), "[ours]; 1 s in the authors' host stack";
        /// time without a request after which a receiver that gave up forgets a one-message connection, or one
        /// on which nothing has come
        expiry: Span = Span::ms(60_000), Time(Span::us(1), SPAN_MAX), "[ours]";
        /// time from a credit's arrival to its data: constant, { uniform = [a, b] } or { quantiles = [...] }
        host_delay: HostDelay = HostDelay::Constant(Span::ZERO), HOST_DELAY,
            "[ours]; 0.9us to 6.2us measured in [xpass s2]";
        /// wire bytes of a new flow that leave before its first credit: a size, or "1 BDP" for what the line
        /// carries in the round trip of a request and its credit
        burst: Option<u64> = None, Or(BURST_AUTO, "a size", Size(0, SIZE_MAX)), "[aeolus s4.2]", if Params::is_early;
        /// unscheduled packets between two probes; 0 for one probe behind the last
        probe_every: u16 = 0, Count(0, 1000), "[aeolus s3.3]; 4 in [flexpass artefact]", if Params::is_early;
        /// whether a receiver gives no credits for packets of a burst that arrive as they should: of what was
        /// asked for it subtracts what a burst has brought and what it is still to bring
        subtract_burst: bool = true, Flag,
            "[ours]; [aeolus s3.3] does not say. false under expresspass+gaps, whose bursts wait for gaps", if Params::is_early;
        /// what waits when switches drop the victim (unscheduled packets; scheduled ones under ssp): a size, or
        /// full frames like "4 frames"
        drop_threshold: Threshold = Threshold::Frames(4), THRESHOLD,
            "four full frames, the 6 KB recalled of [aeolus s5.1]; for ssp [ours]", if Params::is_early;
        /// what switches compare with drop_threshold: queue, queue_and_packet, victim_only or port (all queues
        /// of it)
        drop_measure: DropMeasure = DropMeasure::Queue, Words(&MEASURES),
            "[aeolus s4.1]; victim_only in [flexpass artefact]", if Params::is_early;
        /// how switches tell the victim apart: class (WRED, a colour per DSCP) or ecn (RED drops what is not
        /// ECN-capable)
        drop_by: DropBy = DropBy::Class, Words(&TELLS), "[aeolus s4.1]", if Params::is_early;
        /// whether of several new flows the one with the fewest bytes left sends first; otherwise they take
        /// turns
        shortest_first: bool = false, Flag, "turns [aeolus s4.2]; shortest first [ssp abstract]", if Params::is_early;
    }
}

/// Which credits a sender takes to be under way when it could stop early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyStop {
    /// It never stops early.
    Never,
    /// As many as come in one round trip, as often as the last ones did.
    RoundTrip,
    /// All that came until the first credit after a round trip: too many where credits are further
    /// apart than that. [xpass artefact, xpass.cc]
    Window,
}

/// Doublings of a time that a parameter may name. [ours]
const DOUBLINGS_MAX: u32 = 16;
/// Longest time that a parameter may name. [ours]
const SPAN_MAX: Span = Span::ms(100_000);

/// Where data leaves unasked, a late request and a late copy of its burst deliver a message again
/// to a receiver that has forgotten it. Later than this a packet is not expected. [ours]
const CLOSE_WAIT_EARLY: Span = Span::ms(20);

/// The profiles, the default one first.
pub const PROFILES: &Profiles<Params> = &[
    ("default", Params::default),
    ("ns2xpass", || Params {
        profile: "ns2xpass",
        count: CreditCount::Bytes,
        nic_jitter: 0.0,
        early_stop_counts: EarlyStop::Window,
        keep_tally: true,
        request_retry: Span::us(100),
        retry_doublings: 0,
        tell_heard: false,
        ..Params::DEFAULT
    }),
    ("b", || Params {
        profile: "b",
        early_stop: false,
        start_rule: false,
        ..Params::DEFAULT
    }),
    ("paper2017", || Params {
        profile: "paper2017",
        controller: Controller::Published,
        alpha: 1.0 / 16.0,
        early_stop: false,
        start_rule: false,
        ..Params::DEFAULT
    }),
];

impl Params {
    /// The same with a first round trip of this kind, and its own defaults.
    #[must_use]
    pub fn with(self, first_rtt: FirstRtt) -> Self {
        let silent = first_rtt == FirstRtt::Silent;
        Self {
            first_rtt,
            shortest_first: first_rtt == FirstRtt::Ssp,
            // A burst that takes only gaps may not come for long: credits that wait for it are lost.
            subtract_burst: self.subtract_burst && first_rtt != FirstRtt::Gaps,
            close_wait: if silent {
                self.close_wait
            } else {
                CLOSE_WAIT_EARLY
            },
            ..self
        }
    }

    /// Whether new flows burst.
    fn is_early(&self) -> bool {
        self.first_rtt != FirstRtt::Silent
    }

    /// What no parameter shows alone.
    pub(super) fn check_together(&self) -> Result<(), ParamError> {
        let (min, max) = (self.credit_size_min, self.credit_size_max);
        if min > max {
            let message = format!("\"{min}B\" is above credit_size_max = \"{max}B\"; swap them");
            return Err(keys::error("credit_size_min", message));
        }
        if (min + max) % 2 != 0 {
            let message = format!(
                "\"{min}B\" to \"{max}B\" has no whole mean, which every port needs; write \"{}B\"",
                max + 1
            );
            return Err(keys::error("credit_size_max", message));
        }
        if !(self.w_min..=self.w_max).contains(&self.w_init) {
            let message = format!(
                "{} is not between w_min = {} and w_max = {}",
                self.w_init, self.w_min, self.w_max
            );
            return Err(keys::error("w_init", message));
        }
        Ok(())
    }

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        let law = self.controller;
        let naive = law == Controller::Naive;
        parts::unread([
            (
                law == Controller::Artefact,
                ("controller = \"artefact\"", &["target_loss"]),
            ),
            (
                law == Controller::Published,
                ("controller = \"published\"", &["target_scale"]),
            ),
            (naive, ("controller = \"naive\"", OF_LAWS)),
            // A flow starts at all of the rate then.
            (
                naive && self.alpha < 1.0,
                ("controller = \"naive\"", &["alpha"]),
            ),
            (
                !self.early_stop,
                ("early_stop = false", &["early_stop_counts"]),
            ),
            (!self.nic_shaper, ("nic_shaper = false", &["nic_jitter"])),
            (
                !naive && self.silent_credits == 0,
                (
                    "silent_credits = 0",
                    &["unheard_credits", "unheard_doublings"],
                ),
            ),
            (
                !naive && self.silent_credits > 0 && self.unheard_credits == 0,
                ("unheard_credits = 0", &["unheard_doublings"]),
            ),
        ])
    }

    /// Whom every port drops first.
    pub fn drop_spec(&self, encap: Encap) -> Option<DropSpec> {
        let victim = match self.first_rtt {
            FirstRtt::Silent | FirstRtt::Gaps => return None,
            FirstRtt::Aeolus => Class::Unscheduled,
            FirstRtt::Ssp => Class::Scheduled,
        };
        let threshold = self.drop_threshold.bytes(encap);
        Some(DropSpec {
            victim,
            threshold,
            measure: self.drop_measure,
            by: self.drop_by,
        })
    }

    /// Mean credit on the wire, in bytes.
    pub fn credit_size_mean(&self) -> u16 {
        self.credit_size_min.midpoint(self.credit_size_max)
    }

    /// What ports do for it.
    pub(super) fn ports(&self, encap: Encap) -> Fabric {
        Fabric {
            credit: Some(self.credit_spec(encap)),
            drop: self.drop_spec(encap),
            background: (self.first_rtt == FirstRtt::Gaps).then_some(Class::Unscheduled),
            priorities: 1,
            ..Fabric::default()
        }
    }

    /// What a host's own line must do with credits.
    pub(super) fn credit_spec_at(&self, config: &EndpointConfig) -> CreditSpec {
        let spec = self.credit_spec(config.encap);
        let others = CreditSpec::WHOLE - config.line_share;
        CreditSpec {
            share: spec.share - others,
            ..spec
        }
    }

    /// The shaper of a host's own line, with its jitter.
    pub(super) fn hold(&self, gate: CreditGate) -> CreditGate {
        let sizes = self.credit_size_max - self.credit_size_min + 1;
        gate.holding(self.credit_size_min, sizes, self.nic_jitter)
    }

    /// How hosts answer credits.
    pub(super) fn pacing(&self) -> Pacing {
        Pacing {
            host_delay: self.host_delay.range(),
            credit_size_min: self.credit_size_min,
            // A credit that the line held back may leave together with the bucket.
            held: u16::from(self.nic_jitter > 0.0),
        }
    }

    /// What every port must do with credits.
    pub fn credit_spec(&self, encap: Encap) -> CreditSpec {
        CreditSpec {
            queue_limit: self.credit_queue,
            bucket: self.bucket,
            count: self.count,
            size_mean: self.credit_size_mean(),
            frame_max: encap.wire_max(),
            share: CreditSpec::WHOLE - CreditSpec::part(self.control_share),
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the two laws of the credit rate have.
const OF_LAWS: &[&str] = &[
    "target_loss",
    "target_scale",
    "w_init",
    "w_min",
    "w_max",
    "start_rule",
    "keep_tally",
    "silent_credits",
    "unheard_credits",
    "unheard_doublings",
];

/// Largest part of a line that is left to control packets. [ours]
const CONTROL_SHARE_MAX: f64 = 0.5;

/// Smallest share or aggressiveness: a millionth, so that no gap between credits overflows.
const SHARE_MIN: f64 = 1e-6;

/// Largest burst: 1 GB. [ours]
const SIZE_MAX: u64 = 1_000_000_000;
const BURST_AUTO: &str = "1 BDP";
#[cfg(test)]
mod tests;
