//! What can be set, its defaults and where they come from.

use super::header::BLOCK_MAX;
use crate::parts::keys::{self, Key, count, error, flag, number, span, word};
use crate::{ParamError, Parameter};
use model::Encap;
use model::intent::{MarkAt, MarkSpec};
use toml::{Table, Value};
use units::{Bytes, Rate, Span};

/// How the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every [`Params::ack_every`]-th packet, with the two-state echo of marks. [RFC 8257 s3.2]
    Delayed,
    /// Every packet, echoing its own mark.
    Each,
}

/// How far the window falls when a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// To half of what was in flight, as any TCP. [RFC 5681 s3.1, RFC 8257 s3.5]
    Halve,
    /// By alpha / 2, as for a mark. [ns-3 `TcpDctcp`]
    Alpha,
}

/// Which acknowledgements let the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Those without the echo of a mark. [RFC 3168 s6.1.2, RFC 8257 s3.4]
    Unmarked,
    /// The same, but none in the round trip after a cut. [Linux `CA_CWR`]
    Settled,
    /// All but the first echo in a row. [authors' ns-2 `tcp-full.cc`]
    All,
}

/// Everything that can be set in `[transport.dctcp]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Name of the profile that the absent keys come from.
    pub profile: &'static str,
    /// First window, in full packets.
    pub initial_window: u16,
    /// Smallest window after a reduction, in full packets.
    pub window_min: u16,
    /// First slow start threshold in full packets; `None` is without limit.
    pub ssthresh_initial: Option<u32>,
    /// Whether data is ECN-capable and marks are reacted to; false leaves a plain TCP.
    pub ecn: bool,
    /// Weight of the newest window in alpha: the paper's g.
    pub gain: f64,
    /// First alpha.
    pub alpha_initial: f64,
    /// How far the window falls after a loss.
    pub on_loss: OnLoss,
    /// Which acknowledgements let the window grow.
    pub growth: Growth,
    /// Whether a cut for marks is spread over a round trip.
    pub prr: bool,
    /// How the receiver acknowledges.
    pub ack: AckPolicy,
    /// Packets per delayed acknowledgement: the paper's m.
    pub ack_every: u8,
    /// Longest wait of a delayed acknowledgement.
    pub ack_delay: Span,
    /// Selective acknowledgements; false leaves `NewReno`.
    pub sack: bool,
    /// Duplicate acknowledgements that mean a loss.
    pub dup_thresh: u8,
    /// Whether what arrived beyond a gap makes room for new data before it tells of a loss.
    pub limited_transmit: bool,
    /// Whether a doubled timeout holds until a round trip was measured again.
    pub karn: bool,
    /// Retransmission timeout before the first sample of the round trip.
    pub rto_initial: Span,
    /// Shortest retransmission timeout.
    pub rto_min: Span,
    /// Longest retransmission timeout, after doubling.
    pub rto_max: Span,
    /// Timeouts in a row after which an end gives up.
    pub retries_max: u8,
    /// Bytes that may be unacknowledged, and that the receiver keeps out of order.
    pub receive_window: Bytes,
    /// Whether a sender that was silent for a timeout starts again from the first window.
    pub idle_restart: bool,
    /// Marking threshold K of every port in wire bytes; `None` derives it from the rate.
    pub mark: Option<Bytes>,
    /// When the queue is compared with K.
    pub mark_at: MarkAt,
    /// Connections that one host keeps at once.
    pub connections_max: u32,
}

/// The 24-bit fields of an acknowledgement reach this far.
const RECEIVE_WINDOW_MAX: Bytes = Bytes(BLOCK_MAX);
/// TCP's window without scaling; a jumbo frame fits several times.
const RECEIVE_WINDOW_MIN: Bytes = Bytes(65_535);
/// A gain of 0 would never learn.
const GAIN_MIN: f64 = 0.001;
/// No port buffers a terabyte.
const MARK_MAX: Bytes = Bytes(1 << 40);

impl Params {
    /// RFC 8257 on hosts like Linux's, with timers for a datacenter. [RFC 8257, Linux `tcp_dctcp.c`]
    pub const DEFAULT: Self = Self {
        profile: "default",
        initial_window: 10,
        window_min: 2,
        ssthresh_initial: None,
        ecn: true,
        gain: 0.0625,
        alpha_initial: 1.0,
        on_loss: OnLoss::Halve,
        growth: Growth::Unmarked,
        prr: false,
        ack: AckPolicy::Delayed,
        ack_every: 2,
        ack_delay: Span::ms(1),
        sack: true,
        dup_thresh: 3,
        limited_transmit: true,
        karn: false,
        rto_initial: Span::ms(10),
        rto_min: Span::ms(10),
        rto_max: Span::ms(1000),
        retries_max: 15,
        receive_window: Bytes(16_000_000),
        idle_restart: true,
        mark: None,
        mark_at: MarkAt::Enqueue,
        connections_max: 1 << 20,
    };

    /// The hosts of the DCTCP paper: Windows of 2010. [dctcp s3, s4]
    pub const DCTCP2010: Self = Self {
        profile: "dctcp2010",
        initial_window: 2,
        alpha_initial: 0.0,
        ack_delay: Span::ms(200),
        rto_initial: Span::ms(3000),
        rto_min: Span::ms(300),
        rto_max: Span::ms(60_000),
        ..Self::DEFAULT
    };

    /// As close to ns-3.44's `TcpDctcp` as this machine comes, for comparing the two.
    /// [ns-3 `tcp-socket-base.cc`, `tcp-dctcp.cc`, attribute defaults]
    pub const NS3: Self = Self {
        profile: "ns3",
        window_min: 1,
        on_loss: OnLoss::Alpha,
        growth: Growth::Settled,
        prr: true,
        ack_delay: Span::ms(200),
        rto_initial: Span::ms(1000),
        rto_min: Span::ms(1000),
        rto_max: Span::ms(60_000),
        retries_max: 6,
        idle_restart: false,
        ..Self::DEFAULT
    };

    /// The authors' DCTCP in ns-2.35's `FullTcp/Sack`, with the timeout of the default profile.
    /// [authors' ns-2 patch: `tcp-full.cc`, `tcp.cc`, `ns-default.tcl`]
    pub const NS2: Self = Self {
        profile: "ns2",
        window_min: 1,
        alpha_initial: 0.0,
        growth: Growth::All,
        ack: AckPolicy::Each,
        limited_transmit: false,
        karn: true,
        idle_restart: false,
        ..Self::DEFAULT
    };

    /// The profiles, the default first.
    pub const PROFILES: [Self; 4] = [Self::DEFAULT, Self::DCTCP2010, Self::NS2, Self::NS3];

    /// Reads `[transport.dctcp]`.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table) -> Result<Self, ParamError> {
        let name = keys::profile(table, Self::DEFAULT.profile)?;
        let profiles = Self::PROFILES.map(|params| (params.profile, params));
        let mut params = word(
            &Value::from(name),
            &profiles.each_ref().map(|(name, params)| (*name, params)),
        )
        .map_err(|message| error("profile", message))?
        .clone();
        keys::apply(KEYS, table, &mut params)?;
        params.consistent()?;
        Ok(params)
    }

    /// What no single key can tell.
    fn consistent(&self) -> Result<(), ParamError> {
        if self.rto_max < self.rto_min || self.rto_max < self.rto_initial {
            let largest = self.rto_min.max(self.rto_initial);
            return Err(error(
                "rto_max",
                format!("is below another timeout; set it to \"{largest}\" or more"),
            ));
        }
        if self.ack == AckPolicy::Delayed && self.ack_every > 1 && self.ack_delay >= self.rto_min {
            return Err(error(
                "ack_delay",
                format!(
                    "\"{}\" is not below rto_min, so that a sender would time out before the \
                     acknowledgement leaves; set it below \"{}\" or raise rto_min",
                    self.ack_delay, self.rto_min
                ),
            ));
        }
        Ok(())
    }

    /// Packets per acknowledgement.
    pub fn packets_per_ack(&self) -> u8 {
        match self.ack {
            AckPolicy::Delayed => self.ack_every,
            AckPolicy::Each => 1,
        }
    }

    /// How often a receiver looks in vain after the sender of a message under way, each time waiting
    /// twice as long up to `rto_max`, until that has surely given up: even one whose every timeout
    /// is the longest.
    pub(super) fn looks_max(&self) -> u8 {
        let doublings = (0..60).take_while(|&n| self.rto_initial.times(1 << n) < self.rto_max);
        u8::try_from(doublings.count()).expect("at most 60") + self.retries_max + 2
    }

    /// What every port on a link of `rate` must mark.
    pub fn mark_spec(&self, rate: Rate, encap: Encap) -> Option<MarkSpec> {
        let threshold = self.mark.unwrap_or_else(|| mark_threshold(rate, encap));
        self.ecn.then_some(MarkSpec {
            min: threshold,
            max: threshold,
            chance: 1.0,
            at: self.mark_at,
            drop_others: false,
        })
    }

    /// Every key with its final value.
    pub fn resolved(&self) -> Table {
        keys::write(KEYS, self.profile, self)
    }
}

/// Every key, as the documentation shows it.
pub(super) fn parameters() -> Vec<Parameter> {
    let profile = Parameter {
        key: "profile",
        default: "\"default\"".to_owned(),
        meaning: "where absent keys come from: \"default\", \"dctcp2010\", \"ns2\" or \"ns3\"",
        source: "ours",
    };
    std::iter::once(profile)
        .chain(keys::document(KEYS, &Params::DEFAULT))
        .collect()
}

/// K in full packets at 1 Gb/s and at 10 Gb/s. [dctcp s3.4, s4]
const K_PACKETS: [u64; 2] = [20, 65];
const GBPS: u64 = 1_000_000_000;

/// The marking threshold K for a link of `rate`, in wire bytes.
///
/// The paper gives two values, which leave room for the bursts of its hosts; below 10 Gb/s we draw
/// the straight line through both. Above it K stays: its rule K > C RTT / 7 asks for less than 65
/// packets at 100 Gb/s up to a round trip of 55 us, and a K that grew with the rate would exceed
/// shallow buffers, so that they would drop and never mark. [dctcp s3.4]
pub fn mark_threshold(rate: Rate, encap: Encap) -> Bytes {
    let [low, high] = K_PACKETS;
    let rate = rate.0.min(10 * GBPS);
    // Times 9 to stay in whole numbers: `low` at 1 Gb/s, `high` at 10 Gb/s.
    let ninths = (10 * low - high) * GBPS + (high - low) * rate;
    let bytes = u128::from(ninths) * u128::from(encap.wire_max()) / u128::from(9 * GBPS);
    Bytes(u64::try_from(bytes).expect("at most 65 frames"))
}

const ON_LOSS: [(&str, OnLoss); 2] = [("halve", OnLoss::Halve), ("alpha", OnLoss::Alpha)];
const GROWTH: [(&str, Growth); 3] = [
    ("unmarked", Growth::Unmarked),
    ("settled", Growth::Settled),
    ("all", Growth::All),
];
const ACK: [(&str, AckPolicy); 2] = [("delayed", AckPolicy::Delayed), ("each", AckPolicy::Each)];
const MARK_AT: [(&str, MarkAt); 2] = [("enqueue", MarkAt::Enqueue), ("dequeue", MarkAt::Dequeue)];

/// Longest time that any timer may be set to: an hour.
const SPAN_MAX: Span = Span::ms(3_600_000);
const SPAN_MIN: Span = Span::us(1);

const KEYS: &[Key<Params>] = &[
    Key {
        key: "initial_window",
        meaning: "first window, in full packets (1 to 1000)",
        source: "RFC 6928: 10; dctcp2010: 2",
        get: |p| Value::from(i64::from(p.initial_window)),
        set: |p, v| count(v, 1, 1000).map(|n| p.initial_window = n),
    },
    Key {
        key: "window_min",
        meaning: "smallest window after a reduction, in full packets (1 to 100)",
        source: "Linux tcp_dctcp.c: 2; ns3: 1",
        get: |p| Value::from(i64::from(p.window_min)),
        set: |p, v| count(v, 1, 100).map(|n| p.window_min = n),
    },
    Key {
        key: "ssthresh_initial",
        meaning: "first slow start threshold in full packets, or \"unlimited\"",
        source: "RFC 5681 s3.1: arbitrarily high",
        get: |p| {
            p.ssthresh_initial
                .map_or_else(|| Value::from("unlimited"), Value::from)
        },
        set: |p, v| {
            p.ssthresh_initial = match v.as_str() {
                Some("unlimited") => None,
                Some(_) => {
                    return Err(format!(
                        "{v} is neither a number of packets nor \"unlimited\""
                    ));
                }
                None => Some(many(v, 2, 1 << 20)?),
            };
            Ok(())
        },
    },
    Key {
        key: "ecn",
        meaning: "data is ECN-capable and marks are reacted to; false leaves a plain TCP",
        source: "RFC 8257 s3",
        get: |p| Value::from(p.ecn),
        set: |p, v| flag(v).map(|b| p.ecn = b),
    },
    Key {
        key: "gain",
        meaning: "weight of the newest window in alpha, the paper's g, as a number or like \"1/16\"",
        source: "dctcp s3.3, RFC 8257 s4.2: 1/16",
        get: |p| Value::from(p.gain),
        set: |p, v| number(v, GAIN_MIN, 1.0).map(|g| p.gain = g),
    },
    Key {
        key: "alpha_initial",
        meaning: "first alpha, 0 to 1",
        source: "RFC 8257 s4.2, Linux: 1; authors' ns-2 scripts: 0",
        get: |p| Value::from(p.alpha_initial),
        set: |p, v| number(v, 0.0, 1.0).map(|a| p.alpha_initial = a),
    },
    Key {
        key: "on_loss",
        meaning: "how far the window falls after a loss: \"halve\", or \"alpha\" as for a mark",
        source: "RFC 8257 s3.5: halve; ns-3: alpha",
        get: |p| named(p.on_loss, &ON_LOSS),
        set: |p, v| word(v, &ON_LOSS).map(|c| p.on_loss = c),
    },
    Key {
        key: "growth",
        meaning: "which acknowledgements let the window grow: \"unmarked\" ones, \"settled\" (unmarked, \
                  and none in the round trip after a cut), or \"all\" but the first echo of marks in a row",
        source: "RFC 3168 s6.1.2: unmarked; Linux, ns3: settled; authors' ns-2: all",
        get: |p| named(p.growth, &GROWTH),
        set: |p, v| word(v, &GROWTH).map(|g| p.growth = g),
    },
    Key {
        key: "prr",
        meaning: "a cut for marks is spread over a round trip (proportional rate reduction), so that \
                  packets behind it still meet the long queue",
        source: "RFC 8257 s3.3: at once; RFC 6937, Linux, ns3: spread",
        get: |p| Value::from(p.prr),
        set: |p, v| flag(v).map(|b| p.prr = b),
    },
    Key {
        key: "ack",
        meaning: "\"delayed\" (every ack_every-th packet, two-state echo) or \"each\" packet",
        source: "dctcp s3.1, RFC 8257 s3.2",
        get: |p| named(p.ack, &ACK),
        set: |p, v| word(v, &ACK).map(|c| p.ack = c),
    },
    Key {
        key: "ack_every",
        meaning: "packets per delayed acknowledgement, the paper's m (1 to 64)",
        source: "RFC 1122 s4.2.3.2: 2",
        get: |p| Value::from(i64::from(p.ack_every)),
        set: |p, v| few(v, 1, 64).map(|n| p.ack_every = n),
    },
    Key {
        key: "ack_delay",
        meaning: "longest wait of a delayed acknowledgement; below rto_min",
        source: "ours: a tenth of rto_min (Linux 40 ms, ns-3 200 ms)",
        get: |p| Value::from(p.ack_delay.to_string()),
        set: |p, v| timer(v).map(|s| p.ack_delay = s),
    },
    Key {
        key: "sack",
        meaning: "selective acknowledgements and RFC 6675; false leaves NewReno",
        source: "RFC 2018, RFC 6675",
        get: |p| Value::from(p.sack),
        set: |p, v| flag(v).map(|b| p.sack = b),
    },
    Key {
        key: "dup_thresh",
        meaning: "duplicate acknowledgements that mean a loss (1 to 100)",
        source: "RFC 5681 s3.2: 3",
        get: |p| Value::from(i64::from(p.dup_thresh)),
        set: |p, v| few(v, 1, 100).map(|n| p.dup_thresh = n),
    },
    Key {
        key: "limited_transmit",
        meaning: "what arrived beyond a gap makes room for new data before enough has to tell of a loss",
        source: "RFC 3042, RFC 6675 s5; ns-2's FullTcp: not",
        get: |p| Value::from(p.limited_transmit),
        set: |p, v| flag(v).map(|b| p.limited_transmit = b),
    },
    Key {
        key: "karn",
        meaning: "a doubled timeout holds until something that was sent once is acknowledged, not just \
                  until anything is",
        source: "Linux with timestamps: not; RFC 6298 s5, ns2: so",
        get: |p| Value::from(p.karn),
        set: |p, v| flag(v).map(|b| p.karn = b),
    },
    Key {
        key: "rto_initial",
        meaning: "retransmission timeout before the first sample of the round trip",
        source: "ours: rto_min (RFC 6298: 1 s)",
        get: |p| Value::from(p.rto_initial.to_string()),
        set: |p, v| timer(v).map(|s| p.rto_initial = s),
    },
    Key {
        key: "rto_min",
        meaning: "shortest retransmission timeout",
        source: "dctcp s4: 10 ms beside the stock 300 ms (Linux 200 ms, ns-3 1 s)",
        get: |p| Value::from(p.rto_min.to_string()),
        set: |p, v| timer(v).map(|s| p.rto_min = s),
    },
    Key {
        key: "rto_max",
        meaning: "longest retransmission timeout, after doubling",
        source: "ours: 1 s (RFC 6298 s2.5: at least 60 s)",
        get: |p| Value::from(p.rto_max.to_string()),
        set: |p, v| timer(v).map(|s| p.rto_max = s),
    },
    Key {
        key: "retries_max",
        meaning: "timeouts in a row after which an end gives the connection up (1 to 60)",
        source: "Linux tcp_retries2: 15; ns-3: 6",
        get: |p| Value::from(i64::from(p.retries_max)),
        set: |p, v| few(v, 1, 60).map(|n| p.retries_max = n),
    },
    Key {
        key: "receive_window",
        meaning: "bytes that may be unacknowledged, per connection and direction (at most 16777215B)",
        source: "ours: nearly all that a 24-bit SACK field reaches",
        get: |p| Value::from(p.receive_window.to_string()),
        set: |p, v| bytes(v, RECEIVE_WINDOW_MIN, RECEIVE_WINDOW_MAX).map(|b| p.receive_window = b),
    },
    Key {
        key: "idle_restart",
        meaning: "a sender that was silent for a timeout starts again from the first window",
        source: "RFC 5681 s4.1, Linux tcp_slow_start_after_idle",
        get: |p| Value::from(p.idle_restart),
        set: |p, v| flag(v).map(|b| p.idle_restart = b),
    },
    Key {
        key: "mark",
        meaning: "marking threshold K of every port in wire bytes, or \"auto\": 20 full packets at \
                  1 Gb/s, a straight line up to 65 at 10 Gb/s, 65 above",
        source: "dctcp s3.4, s4",
        get: |p| {
            p.mark
                .map_or_else(|| Value::from("auto"), |k| Value::from(k.to_string()))
        },
        set: |p, v| {
            p.mark = match v.as_str() {
                Some("auto") => None,
                _ => Some(bytes(v, Bytes(1), MARK_MAX)?),
            };
            Ok(())
        },
    },
    Key {
        key: "mark_at",
        meaning: "the queue is compared with K when a packet comes (\"enqueue\") or goes (\"dequeue\")",
        source: "dctcp s3.1: on arrival",
        get: |p| named(p.mark_at, &MARK_AT),
        set: |p, v| word(v, &MARK_AT).map(|c| p.mark_at = c),
    },
    Key {
        key: "connections_max",
        meaning: "connections that one host keeps at once; more are refused",
        source: "ours",
        get: |p| Value::from(p.connections_max),
        set: |p, v| many(v, 1, 1 << 24).map(|n| p.connections_max = n),
    },
];

/// A number of packets or connections that may exceed 16 bits.
fn many(value: &Value, low: u32, high: u32) -> Result<u32, String> {
    let number = value
        .as_integer()
        .and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| format!("{value} is no whole number from {low} to {high}"))
}

/// A count that fits a byte.
fn few(value: &Value, low: u8, high: u8) -> Result<u8, String> {
    let number = count(value, low.into(), high.into())?;
    u8::try_from(number).map_err(|_| format!("{value} is above {high}"))
}

/// A time from [`SPAN_MIN`] to [`SPAN_MAX`].
fn timer(value: &Value) -> Result<Span, String> {
    span(value, SPAN_MIN, SPAN_MAX)
}

/// A size that may exceed 16 bits.
fn bytes(value: &Value, low: Bytes, high: Bytes) -> Result<Bytes, String> {
    let text = value.as_str().ok_or_else(|| {
        format!("{value} is no size; write it with its unit in quotes, like \"100KB\"")
    })?;
    let size: Bytes = text
        .parse()
        .map_err(|error: units::ParseError| error.to_string())?;
    if (low..=high).contains(&size) {
        return Ok(size);
    }
    Err(format!(
        "\"{text}\" is out of range; it may lie between \"{low}\" and \"{high}\""
    ))
}

fn named<T: Copy + PartialEq>(value: T, names: &[(&'static str, T)]) -> Value {
    let name = names
        .iter()
        .find(|(_, known)| *known == value)
        .map(|&(name, _)| name);
    Value::from(name.expect("every variant has a name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Params, ParamError> {
        Params::read(&text.parse().unwrap())
    }

    #[test]
    fn every_profile_survives_its_own_resolved_table() {
        for profile in Params::PROFILES {
            let params = read(&format!("profile = \"{}\"", profile.profile)).unwrap();
            assert_eq!(params, profile);
            assert_eq!(Params::read(&params.resolved()), Ok(params));
        }
    }

    #[test]
    fn a_wrong_value_is_refused_with_the_fix() {
        let refusals: String = [
            "rto_mi = \"1ms\"",
            "rto_min = 10",
            "initial_window = 0",
            "gain = 0.0",
            "gain = \"1/0\"",
            "ack = \"delay\"",
            "profile = \"ns4\"",
            "receive_window = \"17MB\"",
            "rto_max = \"5ms\"",
            "ssthresh_initial = \"none\"",
            "mark = \"65 packets\"",
            "ack_delay = \"40ms\"",
        ]
        .map(|text| read(text).unwrap_err().to_string() + "\n")
        .concat();
        insta::assert_snapshot!(refusals, @r#"
    rto_mi: no such parameter; did you mean "rto_min"?
    rto_min: 10 is no time; write it with its unit in quotes, like "1us"
    initial_window: 0 is no whole number from 1 to 1000
    gain: 0.0 is no number from 0.001 to 1; write it like 0.001 or "1/16"
    gain: "1/0" is no number from 0.001 to 1; write it like 0.001 or "1/16"
    ack: "delay" is not known; did you mean "delayed"?
    profile: "ns4" is not known; did you mean "ns2"?
    receive_window: "17MB" is out of range; it may lie between "65.535KB" and "16.777215MB"
    rto_max: is below another timeout; set it to "10ms" or more
    ssthresh_initial: "none" is neither a number of packets nor "unlimited"
    mark: "packets" is no unit of a size; use one of B, KB, kB, MB, GB, TB, KiB, MiB, GiB
    ack_delay: "40ms" is not below rto_min, so that a sender would time out before the acknowledgement leaves; set it below "10ms" or raise rto_min
    "#);
        assert_eq!(
            read("ack_delay = \"40ms\"\nack = \"each\"")
                .unwrap()
                .packets_per_ack(),
            1
        );
        assert_eq!(read("gain = \"1/16\"").unwrap(), Params::DEFAULT);
    }

    #[test]
    fn the_threshold_meets_the_papers_two_values_and_fits_shallow_buffers() {
        let packets = |gbps| mark_threshold(Rate::gbps(gbps), Encap::PAPER).0 / 1538;
        assert_eq!(
            [1, 2, 5, 10, 25, 40, 100, 400].map(packets),
            [20, 25, 40, 65, 65, 65, 65, 65]
        );
    }

    #[test]
    fn what_every_port_needs_is_one_step_of_marking() {
        let spec = Params::DEFAULT
            .mark_spec(Rate::gbps(10), Encap::PAPER)
            .unwrap();
        assert_eq!(
            (spec.min, spec.max, spec.at),
            (Bytes(99_970), Bytes(99_970), MarkAt::Enqueue)
        );
        let plain = Params {
            ecn: false,
            ..Params::DEFAULT
        };
        assert_eq!(plain.mark_spec(Rate::gbps(10), Encap::PAPER), None);
    }
}
