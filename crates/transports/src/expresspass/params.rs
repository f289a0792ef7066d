//! ExpressPass' parameters: profiles, TOML, documentation.

use super::early::FirstRtt;
use super::feedback::Controller;
use crate::ParamError;
use crate::parts::credit_gate::CreditGate;
use crate::parts::keys::{self, Key};
use model::intent::{CreditCount, CreditSpec, DropBy, DropMeasure, DropSpec};
use model::{Class, Encap, EndpointConfig};
use toml::{Table, Value};
use units::{Bytes, Span};

/// Everything that a scenario can set.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Which law moves the credit rate.
    pub controller: Controller,
    /// First rate of a flow, as a share of the full one.
    pub alpha: f64,
    /// First aggressiveness.
    pub w_init: f64,
    /// Smallest aggressiveness.
    pub w_min: f64,
    /// Largest aggressiveness.
    pub w_max: f64,
    /// Target loss of the artefact's law at rate zero.
    pub target_scale: f64,
    /// Target loss of the published law.
    pub target_loss: f64,
    /// Largest relative deviation of the time between two credits.
    pub jitter: f64,
    /// Smallest credit on the wire, in bytes.
    pub credit_size_min: u16,
    /// Largest credit on the wire, in bytes.
    pub credit_size_max: u16,
    /// Credits that may wait in a port.
    pub credit_queue: u16,
    /// Credits that may leave a port back to back.
    pub bucket: u16,
    /// What a credit costs its shaper.
    pub count: CreditCount,
    /// Part of every line that credits and their data leave to control packets.
    pub control_share: f64,
    /// Whether the host's own line shapes credits like a switch port.
    pub nic_shaper: bool,
    /// Largest part of a credit's period by which that line holds it back, where it had to wait.
    pub nic_jitter: f64,
    /// Whether a sender stops credits as soon as enough are under way.
    pub early_stop: bool,
    /// What it takes for those under way.
    pub early_stop_counts: EarlyStop,
    /// Whether flows under 40 packets start slower.
    pub start_rule: bool,
    /// Time after which an unanswered request is repeated.
    pub request_retry: Span,
    /// How often that time doubles, at most.
    pub retry_doublings: u16,
    /// Whether a receiver tells a sender that its request has come where its credits may be lost.
    pub tell_heard: bool,
    /// Time without a credit after which a sender that was heard asks again.
    pub quiet: Span,
    /// Unanswered credits, all two round trips old, that count as the loss of all; 0 for none.
    pub silent_credits: u16,
    /// Credits that left in vain after which a sender is asked whether it lives; 0 for none.
    pub unheard_credits: u16,
    /// How often credits become half as frequent while it does not answer.
    pub unheard_doublings: u16,
    /// Time after which a STOP is followed up, in round trips.
    pub stop_wait: u16,
    /// The same where no round trip has been measured.
    pub stop_wait_unknown: Span,
    /// Time for which a sender that is done absorbs late credits, in round trips.
    pub rest: u16,
    /// Time for which a receiver remembers a one-message connection that is done.
    pub close_wait: Span,
    /// Time without data after which a receiver gives no more credits.
    pub give_up: Span,
    /// Time after which a receiver forgets a message whose sender has fallen silent.
    pub expiry: Span,
    /// Time from the arrival of a credit to its data.
    pub host_delay: HostDelay,
    /// What is done with the first round trip; the transport's name says it, not a parameter.
    pub first_rtt: FirstRtt,
    /// Wire bytes of a new flow that leave before its first credit; `None` for what the line carries
    /// in the round trip of a request and its credit.
    pub burst: Option<u64>,
    /// Unscheduled packets between two probes; 0 for one probe behind the last.
    pub probe_every: u16,
    /// Whether a receiver gives no credits for what a burst is bringing.
    pub subtract_burst: bool,
    /// What waits when switches drop the victim.
    pub drop_threshold: Threshold,
    /// What switches compare with it.
    pub drop_measure: DropMeasure,
    /// How switches tell the victim apart.
    pub drop_by: DropBy,
    /// Of several new flows the one with the fewest bytes left sends first, instead of taking turns.
    pub shortest_first: bool,
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

/// A length of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// So many bytes on the wire.
    Bytes(u64),
    /// So many full frames, whatever their size.
    Frames(u16),
}

impl Threshold {
    /// It in wire bytes.
    pub fn bytes(self, encap: Encap) -> Bytes {
        Bytes(match self {
            Self::Bytes(bytes) => bytes,
            Self::Frames(frames) => u64::from(frames) * u64::from(encap.wire_max()),
        })
    }
}

/// How long a host takes from a credit to its data. Credits never overtake each other in it.
#[derive(Clone, Debug, PartialEq)]
pub enum HostDelay {
    /// Always the same.
    Constant(Span),
    /// Uniform from the first to the second.
    Uniform(Span, Span),
    /// Uniform between neighbours of a list of evenly spaced quantiles, ascending.
    Quantiles(Vec<Span>),
}

/// Quantiles of a measured host delay. [ours]
const QUANTILES_MAX: usize = 1024;
/// Doublings of a time that a parameter may name. [ours]
const DOUBLINGS_MAX: u16 = 16;
/// Longest time that a parameter may name. [ours]
const SPAN_MAX: Span = Span::ms(100_000);

/// Where data leaves unasked, a late request and a late copy of its burst deliver a message again
/// to a receiver that has forgotten it. Later than this a packet is not expected. [ours]
const CLOSE_WAIT_EARLY: Span = Span::ms(20);

/// The names of the profiles; the first is the default.
pub const PROFILES: [&str; 4] = ["default", "ns2xpass", "b", "paper2017"];

impl Params {
    /// The parameters of a profile.
    ///
    /// # Errors
    /// The nearest name of a profile.
    pub fn profile(name: &str) -> Result<Self, ParamError> {
        let default = Self::default();
        Ok(match name {
            "default" => default,
            "ns2xpass" => Self {
                count: CreditCount::Bytes,
                nic_jitter: 0.0,
                early_stop_counts: EarlyStop::Window,
                request_retry: Span::us(100),
                retry_doublings: 0,
                tell_heard: false,
                ..default
            },
            "b" => Self {
                early_stop: false,
                start_rule: false,
                ..default
            },
            "paper2017" => Self {
                controller: Controller::Published,
                alpha: 1.0 / 16.0,
                early_stop: false,
                start_rule: false,
                ..default
            },
            _ => {
                let message = keys::unknown("no such profile", name, PROFILES.into_iter());
                return Err(keys::error("profile", message));
            }
        })
    }

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

    /// Reads `[transport.expresspass]`; returns the profile's name, too.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table, first_rtt: FirstRtt) -> Result<(String, Self), ParamError> {
        let name = keys::profile(table, PROFILES[0])?;
        let mut params = Self::profile(name)?.with(first_rtt);
        let early = if first_rtt == FirstRtt::Silent {
            &[][..]
        } else {
            &EARLY_KEYS[..]
        };
        keys::apply(KEYS.iter().chain(early), table, &mut params)?;
        params.check_together()?;
        Ok((name.to_owned(), params))
    }

    /// What no parameter shows alone.
    fn check_together(&self) -> Result<(), ParamError> {
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
        Self {
            controller: Controller::Artefact,
            alpha: 0.5,
            w_init: 1.0 / 16.0,
            w_min: 0.01,
            w_max: 0.5,
            target_scale: 0.125,
            target_loss: 0.1,
            jitter: 0.1,
            credit_size_min: 76,
            credit_size_max: 92,
            credit_queue: 8,
            bucket: 2,
            count: CreditCount::Credits,
            control_share: 0.0,
            nic_shaper: true,
            nic_jitter: 1.0,
            early_stop: true,
            early_stop_counts: EarlyStop::RoundTrip,
            start_rule: true,
            request_retry: Span::ms(1),
            retry_doublings: 5,
            tell_heard: true,
            quiet: Span::ms(100),
            silent_credits: 8,
            unheard_credits: 64,
            unheard_doublings: 8,
            stop_wait: 2,
            stop_wait_unknown: Span::ms(2),
            rest: 1,
            close_wait: Span::ms(2),
            give_up: Span::ms(200),
            expiry: Span::ms(60_000),
            host_delay: HostDelay::Constant(Span::ZERO),
            first_rtt: FirstRtt::Silent,
            burst: None,
            probe_every: 0,
            subtract_burst: true,
            drop_threshold: Threshold::Frames(4),
            drop_measure: DropMeasure::Queue,
            drop_by: DropBy::Class,
            shortest_first: false,
        }
    }
}

const CONTROLLERS: [(&str, Controller); 3] = [
    ("artefact", Controller::Artefact),
    ("published", Controller::Published),
    ("naive", Controller::Naive),
];
const STOP_COUNTS: [(&str, EarlyStop); 2] = [
    ("round-trip", EarlyStop::RoundTrip),
    ("window", EarlyStop::Window),
];
const COUNTS: [(&str, CreditCount); 2] = [
    ("credits", CreditCount::Credits),
    ("bytes", CreditCount::Bytes),
];

fn word<T: PartialEq + Copy>(words: &[(&'static str, T)], meaning: T) -> Value {
    let name = words
        .iter()
        .find(|word| word.1 == meaning)
        .map_or("", |word| word.0);
    Value::from(name)
}
fn span(span: Span) -> Value {
    Value::from(span.to_string())
}
fn bytes(size: u16) -> Value {
    Value::from(format!("{size}B"))
}

fn read_host_delay(value: &Value) -> Result<HostDelay, String> {
    let one = |value: &Value| keys::span(value, Span::ZERO, SPAN_MAX);
    let help = "write a time like \"1us\", { uniform = [\"0.9us\", \"6.2us\"] } or \
                { quantiles = [\"0.9us\", ..., \"6.2us\"] }";
    let Some(table) = value.as_table() else {
        return one(value)
            .map(HostDelay::Constant)
            .map_err(|why| format!("{why}; {help}"));
    };
    let mut entries = table.iter();
    let (Some((name, list)), None) = (entries.next(), entries.next()) else {
        return Err(help.to_owned());
    };
    let list: Vec<_> = list
        .as_array()
        .ok_or(help)?
        .iter()
        .map(one)
        .collect::<Result<_, _>>()?;
    if !(2..=QUANTILES_MAX).contains(&list.len()) || !list.is_sorted() {
        return Err(format!(
            "{name} takes 2 to {QUANTILES_MAX} ascending times; {help}"
        ));
    }
    match (name.as_str(), &list[..]) {
        ("uniform", &[low, high]) => Ok(HostDelay::Uniform(low, high)),
        ("quantiles", _) => Ok(HostDelay::Quantiles(list)),
        _ => Err(help.to_owned()),
    }
}

fn write_host_delay(delay: &HostDelay) -> Value {
    let (name, list) = match delay {
        HostDelay::Constant(constant) => return span(*constant),
        HostDelay::Uniform(low, high) => ("uniform", vec![*low, *high]),
        HostDelay::Quantiles(list) => ("quantiles", list.clone()),
    };
    let list = list.into_iter().map(span).collect();
    Value::Table(Table::from_iter([(name.to_owned(), Value::Array(list))]))
}

/// Largest part of a line that is left to control packets. [ours]
const CONTROL_SHARE_MAX: f64 = 0.5;

/// Smallest share or aggressiveness: a millionth, so that no gap between credits overflows.
const SHARE_MIN: f64 = 1e-6;

/// Every key, in the order of the documentation.
pub(super) static KEYS: [Key<Params>; 33] = [
    Key {
        key: "controller",
        meaning: "law of the credit rate: artefact (as in the authors' simulator), published (as \
                  printed) or naive (always the full rate)",
        source: "[xpass s3.2, artefact xpass.cc]",
        get: |p| word(&CONTROLLERS, p.controller),
        set: |p, v| keys::word(v, &CONTROLLERS).map(|x| p.controller = x),
    },
    Key {
        key: "alpha",
        meaning: "first credit rate of a flow, as a share of the full rate",
        source: "[xpass artefact, fat-tree script]; 1/16 in profile paper2017",
        get: |p| Value::from(p.alpha),
        set: |p, v| keys::number(v, SHARE_MIN, 1.0).map(|x| p.alpha = x),
    },
    Key {
        key: "w_init",
        meaning: "first aggressiveness: share of the way to the full rate that one step takes",
        source: "[xpass artefact, fat-tree script]",
        get: |p| Value::from(p.w_init),
        set: |p, v| keys::number(v, SHARE_MIN, 1.0).map(|x| p.w_init = x),
    },
    Key {
        key: "w_min",
        meaning: "smallest aggressiveness",
        source: "[xpass artefact, ns-default.tcl]",
        get: |p| Value::from(p.w_min),
        set: |p, v| keys::number(v, SHARE_MIN, 1.0).map(|x| p.w_min = x),
    },
    Key {
        key: "w_max",
        meaning: "largest aggressiveness",
        source: "[xpass s3.2, artefact xpass.cc]",
        get: |p| Value::from(p.w_max),
        set: |p, v| keys::number(v, SHARE_MIN, 1.0).map(|x| p.w_max = x),
    },
    Key {
        key: "target_scale",
        meaning: "controller artefact: target loss is this times (1 - rate)",
        source: "[xpass artefact, ns-default.tcl]",
        get: |p| Value::from(p.target_scale),
        set: |p, v| keys::number(v, 0.0, 1.0).map(|x| p.target_scale = x),
    },
    Key {
        key: "target_loss",
        meaning: "controller published: target loss",
        source: "[xpass s3.2]",
        get: |p| Value::from(p.target_loss),
        set: |p, v| keys::number(v, 0.0, 1.0).map(|x| p.target_loss = x),
    },
    Key {
        key: "jitter",
        meaning: "largest relative deviation, up or down, of the time between two credits",
        source: "[xpass artefact, xpass.cc]",
        get: |p| Value::from(p.jitter),
        set: |p, v| keys::number(v, 0.0, 0.9).map(|x| p.jitter = x),
    },
    Key {
        key: "credit_size_min",
        meaning: "smallest credit on the wire, preamble and gap included",
        source: "[xpass artefact, fat-tree script]",
        get: |p| bytes(p.credit_size_min),
        set: |p, v| keys::bytes(v, 40, 1500).map(|x| p.credit_size_min = x),
    },
    Key {
        key: "credit_size_max",
        meaning: "largest credit on the wire; sizes are drawn evenly from min to max",
        source: "[xpass artefact, fat-tree script]",
        get: |p| bytes(p.credit_size_max),
        set: |p, v| keys::bytes(v, 40, 1500).map(|x| p.credit_size_max = x),
    },
    Key {
        key: "credit_queue",
        meaning: "credits that may wait in a port, those of hosts included",
        source: "[xpass artefact, fat-tree script]",
        get: |p| Value::from(i64::from(p.credit_queue)),
        set: |p, v| keys::count(v, 1, 1024).map(|x| p.credit_queue = x),
    },
    Key {
        key: "bucket",
        meaning: "credits that may leave a port back to back",
        source: "[xpass artefact, fat-tree script]",
        get: |p| Value::from(i64::from(p.bucket)),
        set: |p, v| keys::count(v, 1, 1024).map(|x| p.bucket = x),
    },
    Key {
        key: "count",
        meaning: "what a credit costs its shaper: credits (one token each) or bytes (its size; \
                  two-way load then overfills the data queues)",
        source: "[ours]; bytes in profile ns2xpass",
        get: |p| word(&COUNTS, p.count),
        set: |p, v| keys::word(v, &COUNTS).map(|x| p.count = x),
    },
    Key {
        key: "control_share",
        meaning: "share of every line that credits and the data they release leave to requests, \
                  acknowledgements and other control packets, which nothing paces; without it they \
                  stand in the data queues where a line is busy both ways",
        source: "[ours]; the papers count none: 0",
        get: |p| Value::from(p.control_share),
        set: |p, v| keys::number(v, 0.0, CONTROL_SHARE_MAX).map(|x| p.control_share = x),
    },
    Key {
        key: "nic_shaper",
        meaning: "whether a host's line shapes credits like a switch port; false is a plain FIFO",
        source: "[xpass artefact, fat-tree script]; false in its dumbbell scripts",
        get: |p| Value::from(p.nic_shaper),
        set: |p, v| keys::flag(v).map(|x| p.nic_shaper = x),
    },
    Key {
        key: "nic_jitter",
        meaning: "part of a credit's period, at most, by which that shaper holds a credit back that \
                  had to wait for its token: nothing for the smallest, most for the largest; without it \
                  shapers stay in step, and the same flows lose their credits for ever",
        source: "[ours]; 0 [xpass artefact], whose shaper counts bytes, in profile ns2xpass",
        get: |p| Value::from(p.nic_jitter),
        set: |p, v| keys::number(v, 0.0, 1.0).map(|x| p.nic_jitter = x),
    },
    Key {
        key: "early_stop",
        meaning: "whether a sender stops credits once those of one round trip suffice for the rest",
        source: "[xpass artefact, xpass.cc]; later than the paper",
        get: |p| Value::from(p.early_stop),
        set: |p, v| keys::flag(v).map(|x| p.early_stop = x),
    },
    Key {
        key: "early_stop_counts",
        meaning: "which credits it takes for those of a round trip: round-trip (as many as come in \
                  one, at the pace of the last) or window (all until the first one after a round trip)",
        source: "[ours]; window [xpass artefact, xpass.cc] in profile ns2xpass",
        get: |p| word(&STOP_COUNTS, p.early_stop_counts),
        set: |p, v| keys::word(v, &STOP_COUNTS).map(|x| p.early_stop_counts = x),
    },
    Key {
        key: "start_rule",
        meaning: "whether a flow of n < 40 packets starts at n/40 of alpha",
        source: "[xpass artefact, xpass.cc]; later than the paper",
        get: |p| Value::from(p.start_rule),
        set: |p, v| keys::flag(v).map(|x| p.start_rule = x),
    },
    Key {
        key: "request_retry",
        meaning: "time after which an unanswered request is repeated, then doubling; at least 1.5 \
                  base round trips; short times repeat requests whose credits only wait for a \
                  crowded port, and their bytes have no room there under two-way load",
        source: "[bess artefact]; 100us in profile ns2xpass",
        get: |p| span(p.request_retry),
        set: |p, v| keys::span(v, Span::ns(1), SPAN_MAX).map(|x| p.request_retry = x),
    },
    Key {
        key: "retry_doublings",
        meaning: "how often the time between two requests doubles, at most: whoever asks a dead \
                  host burdens the network less and less",
        source: "[ours]; 0 [xpass artefact, xpass.cc] in profile ns2xpass",
        get: |p| Value::from(i64::from(p.retry_doublings)),
        set: |p, v| keys::count(v, 0, DOUBLINGS_MAX).map(|x| p.retry_doublings = x),
    },
    Key {
        key: "tell_heard",
        meaning: "whether a receiver says HEARD where the first credit of a request is lost in its \
                  own line, or brings nothing for two round trips: the sender need not repeat the request",
        source: "[ours]; false in profile ns2xpass",
        get: |p| Value::from(p.tell_heard),
        set: |p, v| keys::flag(v).map(|x| p.tell_heard = x),
    },
    Key {
        key: "quiet",
        meaning: "time without a credit after which a sender whose request was heard asks again; \
                  longer than a credit takes to come in the widest incast: 17 times its mean where \
                  4,500 flows share 10 Gb/s",
        source: "[ours]; never in [xpass artefact, xpass.cc]",
        get: |p| span(p.quiet),
        set: |p, v| keys::span(v, Span::us(1), SPAN_MAX).map(|x| p.quiet = x),
    },
    Key {
        key: "silent_credits",
        meaning: "credits without an answer, all two round trips old, that count as the loss of \
                  all and leave one credit per round trip; 0 for none, and no sender counts as dead then",
        source: "[ours]",
        get: |p| Value::from(i64::from(p.silent_credits)),
        set: |p, v| keys::count(v, 0, 4096).map(|x| p.silent_credits = x),
    },
    Key {
        key: "unheard_credits",
        meaning: "credits that left the host in vain after which a receiver asks the sender whether \
                  it is still there, and gives credits more rarely until it answers; 0 for none",
        source: "[ours]",
        get: |p| Value::from(i64::from(p.unheard_credits)),
        set: |p, v| keys::count(v, 0, 4096).map(|x| p.unheard_credits = x),
    },
    Key {
        key: "unheard_doublings",
        meaning: "how often the time between two credits doubles, at most, while it does not",
        source: "[ours]",
        get: |p| Value::from(i64::from(p.unheard_doublings)),
        set: |p, v| keys::count(v, 0, DOUBLINGS_MAX).map(|x| p.unheard_doublings = x),
    },
    Key {
        key: "stop_wait",
        meaning: "round trips after which a STOP is followed up",
        source: "[xpass artefact, xpass.cc]",
        get: |p| Value::from(i64::from(p.stop_wait)),
        set: |p, v| keys::count(v, 1, 1000).map(|x| p.stop_wait = x),
    },
    Key {
        key: "stop_wait_unknown",
        meaning: "the same where no round trip has been measured",
        source: "[xpass artefact, ns-default.tcl]",
        get: |p| span(p.stop_wait_unknown),
        set: |p, v| keys::span(v, Span::ns(1), SPAN_MAX).map(|x| p.stop_wait_unknown = x),
    },
    Key {
        key: "rest",
        meaning: "round trips for which a sender that is done absorbs late credits, and the time \
                  that full credit queues on the path take to drain",
        source: "[xpass artefact, xpass.cc]",
        get: |p| Value::from(i64::from(p.rest)),
        set: |p, v| keys::count(v, 1, 1000).map(|x| p.rest = x),
    },
    Key {
        key: "close_wait",
        meaning: "time for which a receiver remembers a one-message connection that is done; a \
                  packet that is late by more may deliver the message again",
        source: "[xpass artefact, xpass.cc]; 20 ms [ours] where new flows burst",
        get: |p| span(p.close_wait),
        set: |p, v| keys::span(v, Span::ns(1), SPAN_MAX).map(|x| p.close_wait = x),
    },
    Key {
        key: "give_up",
        meaning: "time without data after which a receiver gives no more credits until asked again",
        source: "[ours]; 1 s in the authors' host stack",
        get: |p| span(p.give_up),
        set: |p, v| keys::span(v, Span::us(1), SPAN_MAX).map(|x| p.give_up = x),
    },
    Key {
        key: "expiry",
        meaning: "time without a request after which a receiver that gave up forgets a \
                  one-message connection, or one on which nothing has come",
        source: "[ours]",
        get: |p| span(p.expiry),
        set: |p, v| keys::span(v, Span::us(1), SPAN_MAX).map(|x| p.expiry = x),
    },
    Key {
        key: "host_delay",
        meaning: "time from a credit's arrival to its data: constant, { uniform = [a, b] } or \
                  { quantiles = [...] }",
        source: "[ours]; 0.9us to 6.2us measured in [xpass s2]",
        get: |p| write_host_delay(&p.host_delay),
        set: |p, v| read_host_delay(v).map(|x| p.host_delay = x),
    },
];

const MEASURES: [(&str, DropMeasure); 4] = [
    ("queue", DropMeasure::Queue),
    ("queue_and_packet", DropMeasure::QueueAndPacket),
    ("victim_only", DropMeasure::VictimOnly),
    ("port", DropMeasure::Port),
];
const TELLS: [(&str, DropBy); 2] = [("class", DropBy::Class), ("ecn", DropBy::Ecn)];
/// Largest burst and threshold: 1 GB. [ours]
const SIZE_MAX: u64 = 1_000_000_000;
const BURST_AUTO: &str = "1 BDP";
/// Behind a number of full frames.
const FRAMES: &str = " frames";

fn size(value: &Value) -> Result<u64, String> {
    let wrong = || format!("{value} is no size up to \"1GB\"; write it like \"6152B\"");
    let size: Bytes = value
        .as_str()
        .ok_or_else(wrong)?
        .parse()
        .map_err(|_| wrong())?;
    if size.get() <= SIZE_MAX {
        Ok(size.get())
    } else {
        Err(wrong())
    }
}

fn threshold(value: &Value) -> Result<Threshold, String> {
    let frames = value.as_str().and_then(|text| text.strip_suffix(FRAMES));
    match frames.map(str::parse) {
        None => size(value).map(Threshold::Bytes),
        Some(Ok(frames)) => Ok(Threshold::Frames(frames)),
        Some(Err(_)) => Err(format!(
            "{value} is no number of frames; write it like \"4{FRAMES}\""
        )),
    }
}

/// The keys of transports that send before the first credit.
pub(super) static EARLY_KEYS: [Key<Params>; 7] = [
    Key {
        key: "burst",
        meaning: "wire bytes of a new flow that leave before its first credit: a size, or \"1 BDP\" \
                  for what the line carries in the round trip of a request and its credit",
        source: "[aeolus s4.2]",
        get: |p| {
            p.burst.map_or(Value::from(BURST_AUTO), |n| {
                Value::from(Bytes(n).to_string())
            })
        },
        set: |p, v| {
            p.burst = if v.as_str() == Some(BURST_AUTO) {
                None
            } else {
                Some(size(v)?)
            };
            Ok(())
        },
    },
    Key {
        key: "probe_every",
        meaning: "unscheduled packets between two probes; 0 for one probe behind the last",
        source: "[aeolus s3.3]; 4 in [flexpass artefact]",
        get: |p| Value::from(i64::from(p.probe_every)),
        set: |p, v| keys::count(v, 0, 1000).map(|x| p.probe_every = x),
    },
    Key {
        key: "subtract_burst",
        meaning: "whether a receiver gives no credits for packets of a burst that arrive as they should: \
                  of what was asked for it subtracts what a burst has brought and what it is still to bring",
        source: "[ours]; [aeolus s3.3] does not say. false under expresspass+gaps, whose bursts wait for gaps",
        get: |p| Value::from(p.subtract_burst),
        set: |p, v| keys::flag(v).map(|x| p.subtract_burst = x),
    },
    Key {
        key: "drop_threshold",
        meaning: "what waits when switches drop the victim (unscheduled packets; scheduled ones under \
                  ssp): a size, or full frames like \"4 frames\"",
        source: "four full frames, the 6 KB recalled of [aeolus s5.1]; for ssp [ours]",
        get: |p| {
            Value::from(match p.drop_threshold {
                Threshold::Bytes(bytes) => Bytes(bytes).to_string(),
                Threshold::Frames(frames) => format!("{frames}{FRAMES}"),
            })
        },
        set: |p, v| threshold(v).map(|x| p.drop_threshold = x),
    },
    Key {
        key: "drop_measure",
        meaning: "what switches compare with drop_threshold: queue, queue_and_packet, victim_only or port (all \
                  queues of it)",
        source: "[aeolus s4.1]; victim_only in [flexpass artefact]",
        get: |p| word(&MEASURES, p.drop_measure),
        set: |p, v| keys::word(v, &MEASURES).map(|x| p.drop_measure = x),
    },
    Key {
        key: "drop_by",
        meaning: "how switches tell the victim apart: class (WRED, a colour per DSCP) or ecn (RED \
                  drops what is not ECN-capable)",
        source: "[aeolus s4.1]",
        get: |p| word(&TELLS, p.drop_by),
        set: |p, v| keys::word(v, &TELLS).map(|x| p.drop_by = x),
    },
    Key {
        key: "shortest_first",
        meaning: "whether of several new flows the one with the fewest bytes left sends first; \
                  otherwise they take turns",
        source: "turns [aeolus s4.2]; shortest first [ssp abstract]",
        get: |p| Value::from(p.shortest_first),
        set: |p, v| keys::flag(v).map(|x| p.shortest_first = x),
    },
];

#[cfg(test)]
mod tests;
