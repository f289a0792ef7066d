//! What can be set, its defaults and where they come from.

use super::header::BLOCK_MAX;
use model::Encap;
use model::intent::{MarkAt, MarkSpec};
use parts::forms::{Count, Flag, Number, Or, Size, SizeOf, Time, Word, Words};
use parts::keys::{Profiles, error};
use parts::{ParamError, Unread};
use units::{Bytes, Rate, Span};

parts::worded! {
    /// How the receiver acknowledges.
    pub enum AckPolicy {
        /// Every [`Params::ack_every`]-th packet, with the two-state echo of marks. [RFC 8257 s3.2]
        Delayed = "delayed",
        /// Every packet, echoing its own mark.
        Each = "each",
    }

    /// How far the window falls when a packet was lost.
    pub enum OnLoss {
        /// To half of what was in flight, as any TCP. [RFC 5681 s3.1, RFC 8257 s3.5]
        Halve = "halve",
        /// By alpha / 2, as for a mark. [ns-3 `TcpDctcp`]
        Alpha = "alpha",
    }

    /// Which acknowledgements let the window grow.
    pub enum Growth {
        /// Those without the echo of a mark. [RFC 3168 s6.1.2, RFC 8257 s3.4]
        Unmarked = "unmarked",
        /// The same, but none in the round trip after a cut. [Linux `CA_CWR`]
        Settled = "settled",
        /// All but the first echo in a row. [authors' ns-2 `tcp-full.cc`]
        All = "all",
    }
}

parts::params! {
    /// Everything that can be set in `[transport.dctcp]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    pub(super) static KEYS {
        /// first window, in full packets (1 to 1000)
        initial_window: u16 = 10, Count(1, 1000), "RFC 6928: 10; dctcp2010: 2";
        /// smallest window after a reduction, in full packets (1 to 100)
        window_min: u16 = 2, Count(1, 100), "Linux tcp_dctcp.c: 2; ns3: 1";
        /// first slow start threshold in full packets, or "unlimited"
        ssthresh_initial: Option<u32> = None, Or("unlimited", "a number of packets", Count(2, 1 << 20)),
            "RFC 5681 s3.1: arbitrarily high";
        /// data is ECN-capable and marks are reacted to; false leaves a plain TCP
        ecn: bool = true, Flag, "RFC 8257 s3";
        /// weight of the newest window in alpha, the paper's g, as a number or like "1/16"
        gain: f64 = 0.0625, Number(GAIN_MIN, 1.0), "dctcp s3.3, RFC 8257 s4.2: 1/16";
        /// first alpha, 0 to 1
        alpha_initial: f64 = 1.0, Number(0.0, 1.0), "RFC 8257 s4.2, Linux: 1; authors' ns-2 scripts: 0";
        /// how far the window falls after a loss: "halve", or "alpha" as for a mark
        on_loss: OnLoss = OnLoss::Halve, Word, "RFC 8257 s3.5: halve; ns-3: alpha";
        /// which acknowledgements let the window grow: "unmarked" ones, "settled" (unmarked, and none in the
        /// round trip after a cut), or "all" but the first echo of marks in a row
        growth: Growth = Growth::Unmarked, Word,
            "RFC 3168 s6.1.2: unmarked; Linux, ns3: settled; authors' ns-2: all";
        /// a cut for marks is spread over a round trip (proportional rate reduction), so that packets behind it
        /// still meet the long queue
        prr: bool = false, Flag, "RFC 8257 s3.3: at once; RFC 6937, Linux, ns3: spread";
        /// "delayed" (every ack_every-th packet, two-state echo) or "each" packet
        ack: AckPolicy = AckPolicy::Delayed, Word, "dctcp s3.1, RFC 8257 s3.2";
        /// packets per delayed acknowledgement, the paper's m (1 to 64)
        ack_every: u8 = 2, Count(1, 64), "RFC 1122 s4.2.3.2: 2";
        /// longest wait of a delayed acknowledgement; below rto_min
        ack_delay: Span = Span::ms(1), Time(SPAN_MIN, SPAN_MAX),
            "ours: a tenth of rto_min (Linux 40 ms, ns-3 200 ms)";
        /// a packet of its own acknowledges the SYN-ACK before the first data leaves; otherwise the data does
        handshake_ack: bool = false, Flag, "RFC 9293 s3.5: either; ns-2's FullTcp, ns2: so";
        /// acknowledgements are ECN-capable: ports that drop what is not above K mark them
        ecn_acks: bool = false, Flag, "RFC 3168 s6.1.4: not; authors' ns-2, ns2: so";
        /// selective acknowledgements and RFC 6675; false leaves NewReno
        sack: bool = true, Flag, "RFC 2018, RFC 6675";
        /// duplicate acknowledgements that mean a loss (1 to 100)
        dup_thresh: u8 = 3, Count(1, 100), "RFC 5681 s3.2: 3";
        /// what arrived beyond a gap makes room for new data before enough has to tell of a loss
        limited_transmit: bool = true, Flag, "RFC 3042, RFC 6675 s5; ns-2's FullTcp: not";
        /// in recovery, what counts as lost makes room in the window; otherwise it takes room until it is
        /// acknowledged, and only the first repair takes none
        lost_leaves: bool = true, Flag, "RFC 6675 s4; ns-2's FullTcp/Sack, ns2: not";
        /// a timeout is the same where the window fell for a mark last; otherwise it leaves the threshold of slow
        /// start then, and duplicates during its repair begin a recovery
        timeout_after_mark: bool = true, Flag, "RFC 5681 s3.1, RFC 6675 s5.1; ns-2's FullTcp, ns2: not";
        /// while a timeout is being repaired the window counts from the first byte that is not acknowledged, whatever
        /// arrived beyond it
        window_in_order: bool = false, Flag, "RFC 6675 s4, s5.1: not; ns-2's FullTcp, ns2: so";
        /// the window counts acknowledgements, not bytes: below the threshold each adds a packet, whatever it covers and
        /// though that leads beyond it; above, as many as the window has packets add one. The threshold is a whole
        /// number of packets, two or more; losses and every timeout halve the window, not what is in flight, and
        /// echoes of marks count with new data alone
        count_acks: bool = false, Flag, "RFC 3465: bytes; ns-2's windowOption_ 0, ns2: so";
        /// alpha's window ends with the acknowledgement of something beyond it, not of its last byte
        alpha_beyond: bool = false, Flag, "Linux, ns-3: not; RFC 8257 s3.3, authors' ns-2, ns2: so";
        /// where the fall is spread, the acknowledgement that begins it counts twice, and a packet besides
        prr_ahead: bool = false, Flag, "RFC 6937: not; ns-3, ns3: so";
        /// what was acknowledged towards the next packet of growth still counts after a fall for marks
        mark_keeps_credit: bool = false, Flag, "Linux: not; ns-3, ns3: so";
        /// after a timeout everything is sent again in order, also what has arrived beyond a gap, within the window from
        /// the first byte that is not acknowledged; every acknowledgement of nothing new is a duplicate
        go_back_n: bool = false, Flag, "RFC 2018 s8: not what blocks report; ns-2's FullTcp, ns2: so";
        /// while a timeout is being repaired the first echo of a mark makes the window fall, and alpha follows what is
        /// sent again
        marks_after_timeout: bool = false, Flag, "RFC 8257 s3.5, Linux CA_Loss: not; ns-2's FullTcp, ns2: so";
        /// a doubled timeout holds until something that was sent once is acknowledged, not just until anything
        /// is
        karn: bool = false, Flag, "Linux with timestamps, ns2: not; RFC 6298 s5: so";
        /// retransmission timeout before the first sample of the round trip
        rto_initial: Span = Span::ms(10), Time(SPAN_MIN, SPAN_MAX), "ours: rto_min (RFC 6298: 1 s)";
        /// shortest retransmission timeout
        rto_min: Span = Span::ms(10), Time(SPAN_MIN, SPAN_MAX),
            "dctcp s4: 10 ms beside the stock 300 ms (Linux 200 ms, ns-3 1 s)";
        /// longest retransmission timeout, after doubling
        rto_max: Span = Span::ms(1000), Time(SPAN_MIN, SPAN_MAX), "ours: 1 s (RFC 6298 s2.5: at least 60 s)";
        /// timeouts in a row after which an end gives the connection up (1 to 60)
        retries_max: u8 = 15, Count(1, 60), "Linux tcp_retries2: 15; ns-3: 6; ns-2 has no end, ns2: 60";
        /// bytes that may be unacknowledged, per connection and direction (at most 16777215B)
        receive_window: Bytes = Bytes(16_000_000), SizeOf(Size(RECEIVE_WINDOW_MIN, BLOCK_MAX)),
            "ours: nearly all that a 24-bit SACK field reaches";
        /// a sender that was silent for a timeout starts again from the first window
        idle_restart: bool = true, Flag, "RFC 5681 s4.1, Linux tcp_slow_start_after_idle";
        /// marking threshold K of every port in wire bytes, or "auto": 20 full packets at 1 Gb/s, a straight
        /// line up to 65 at 10 Gb/s, 65 above
        mark: Option<Bytes> = None, Or("auto", "a size", SizeOf(Size(1, MARK_MAX))), "dctcp s3.4, s4";
        /// the queue is compared with K when a packet comes ("enqueue") or goes ("dequeue")
        mark_at: MarkAt = MarkAt::Enqueue, Words(&[("enqueue", MarkAt::Enqueue), ("dequeue", MarkAt::Dequeue)]),
            "dctcp s3.1: on arrival";
        /// connections that one host keeps at once; more are refused
        connections_max: u32 = 1 << 20, Count(1, 1 << 24), "ours";
    }
}

/// TCP's window without scaling; a jumbo frame fits several times. The largest is what the 24-bit fields
/// of an acknowledgement reach.
const RECEIVE_WINDOW_MIN: u64 = 65_535;
/// A gain of 0 would never learn.
const GAIN_MIN: f64 = 0.001;
/// No port buffers a terabyte.
const MARK_MAX: u64 = 1 << 40;

impl Params {
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
        prr_ahead: true,
        mark_keeps_credit: true,
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
        // The handshake's ECE counts as a window that was marked.
        alpha_initial: 0.0625,
        growth: Growth::All,
        ack: AckPolicy::Each,
        handshake_ack: true,
        ecn_acks: true,
        limited_transmit: false,
        lost_leaves: false,
        timeout_after_mark: false,
        window_in_order: true,
        go_back_n: true,
        count_acks: true,
        alpha_beyond: true,
        marks_after_timeout: true,
        // It tries for ever; this is the most that there is.
        retries_max: 60,
        idle_restart: false,
        ..Self::DEFAULT
    };

    /// What no single key can tell.
    pub(super) fn consistent(&self) -> Result<(), ParamError> {
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

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        let halves = !self.ecn && self.on_loss == OnLoss::Halve;
        let each = self.ack == AckPolicy::Each;
        parts::unread([
            (!self.ecn, ("ecn = false", &["mark", "ecn_acks"])),
            (halves, ("ecn = false", &["gain", "alpha_initial"])),
            (each, ("ack = \"each\"", &["ack_every", "ack_delay"])),
        ])
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
}

/// The profiles. The default one is RFC 8257 on hosts like Linux's, with timers for a datacenter. [RFC
/// 8257, Linux `tcp_dctcp.c`]
pub(super) const PROFILES: &Profiles<Params> = &[
    ("default", || Params::DEFAULT),
    ("dctcp2010", || Params::DCTCP2010),
    ("ns2", || Params::NS2),
    ("ns3", || Params::NS3),
];

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

/// Longest time that any timer may be set to: an hour.
const SPAN_MAX: Span = Span::ms(3_600_000);
const SPAN_MIN: Span = Span::us(1);

#[cfg(test)]
mod tests {
    use super::super::DCTCP;
    use super::*;
    use parts::Described;

    fn read(text: &str) -> Result<Params, ParamError> {
        DCTCP.read(&text.parse().unwrap())
    }

    #[test]
    fn every_profile_survives_its_own_resolved_table() {
        for (name, values) in PROFILES {
            let params = read(&format!("profile = \"{name}\"")).unwrap();
            assert_eq!((params.profile, &params), (*name, &values()));
            assert_eq!(DCTCP.read(&params.resolved()), Ok(params));
        }
    }

    #[test]
    fn a_profile_says_what_its_source_does_otherwise() {
        let default = Params::DEFAULT.resolved();
        let differs = |(name, values): &(&str, fn() -> Params)| -> String {
            let all = values().resolved();
            let other = all.iter().filter(|(key, value)| default[*key] != **value);
            let other: Vec<_> = other
                .map(|(key, value)| format!("{key} = {value}"))
                .collect();
            format!("{name}: {}\n", other.join(", "))
        };
        let table: String = PROFILES[1..].iter().map(differs).collect();
        insta::assert_snapshot!(table, @r#"
        dctcp2010: ack_delay = "200ms", alpha_initial = 0.0, initial_window = 2, profile = "dctcp2010", rto_initial = "3s", rto_max = "60s", rto_min = "300ms"
        ns2: ack = "each", alpha_beyond = true, alpha_initial = 0.0625, count_acks = true, ecn_acks = true, go_back_n = true, growth = "all", handshake_ack = true, idle_restart = false, limited_transmit = false, lost_leaves = false, marks_after_timeout = true, profile = "ns2", retries_max = 60, timeout_after_mark = false, window_in_order = true, window_min = 1
        ns3: ack_delay = "200ms", growth = "settled", idle_restart = false, mark_keeps_credit = true, on_loss = "alpha", profile = "ns3", prr = true, prr_ahead = true, retries_max = 6, rto_initial = "1s", rto_max = "60s", rto_min = "1s", window_min = 1
        "#);
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
    profile: no such profile; did you mean "ns2"?
    receive_window: "17MB" is out of range; it may lie between "65.535KB" and "16.777215MB"
    rto_max: is below another timeout; set it to "10ms" or more
    ssthresh_initial: "none" is neither a number of packets nor "unlimited"
    mark: "packets" is no unit of a size; use one of B, KB, kB, MB, GB, TB, KiB, MiB, GiB, or "auto"
    ack_delay: "40ms" is not below rto_min, so that a sender would time out before the acknowledgement leaves; set it below "10ms" or raise rto_min
    "#);
        assert_eq!(
            read("ack_delay = \"40ms\"\nack = \"each\"")
                .unwrap()
                .packets_per_ack(),
            1
        );
        // Either timeout alone is a reason.
        for text in [
            "rto_initial = \"2s\"\nrto_max = \"1s\"",
            "rto_min = \"20ms\"\nrto_initial = \"10ms\"\nrto_max = \"15ms\"",
        ] {
            assert_eq!(read(text).unwrap_err().key, "rto_max", "{text}");
        }
        // Nor does an acknowledgement wait where each packet gets one.
        assert!(read("ack_delay = \"40ms\"\nack_every = 1").is_ok());
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

    #[test]
    fn a_receiver_looks_until_every_timeout_of_its_sender_is_over() {
        let looks = |rto_max: &str| {
            let text = format!("rto_initial = \"10ms\"\nrto_max = \"{rto_max}\"\nretries_max = 3");
            read(&text).unwrap().looks_max()
        };
        // Three doublings reach the longest timeout, then come three tries, and two looks more.
        assert_eq!(["80ms", "81ms", "10ms"].map(looks), [8, 9, 5]);
    }
}
