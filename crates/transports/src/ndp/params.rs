//! What can be set, its defaults and where they come from.

use super::early::FirstRtt;
use super::header;
use model::Facts;
use model::intent::{DropBy, DropMeasure};
use parts::forms::{Count, Flag, Number, Or, Size, Time, Word, Words};
use parts::keys::{Profiles, error};
use parts::selective::{MEASURES, TELLS, THRESHOLD, Threshold};
use parts::{ParamError, Unread, outlives};
use units::Span;

parts::worded! {
    /// Which of the equal-cost ways a packet takes.
    pub enum Spray {
        /// All of them in a random order, and then in another. [ndp s3.1.1]
        Permutation = "permutation",
        /// One at random.
        Random = "random",
        /// The switches choose one for each connection.
        Flow = "flow",
    }

    /// Whose packet a host's line takes next.
    pub enum Order {
        /// Messages take turns.
        Turns = "turns",
        /// Packets leave as they were released, those that leave again first.
        Released = "released",
    }

    /// What ports do with data for which they have no room.
    pub enum Ports {
        /// They cut off its payload.
        Trim = "trim",
        /// They drop it.
        DropTail = "drop-tail",
    }
}

parts::params! {
    /// Everything that can be set in `[transport.ndp]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "sigcomm17";
        /// What is done with the first round trip; the transport's name says it, not a parameter.
        first_rtt: FirstRtt = FirstRtt::Trimmed;
    }
    pub(super) static KEYS {
        /// full frames that leave unasked, or "auto": those of an idle round trip, and 18 that wait in ports; these not where
        /// ports drop what is unscheduled
        window: Option<u32> = None, Or("auto", "a number", Count(1, WINDOW_MAX)),
            "[ndp s3.2, s6]: 30 where a round trip holds 12; [aeolus s3.1]: a round trip";
        /// what switches do with data that has no room: "trim" it, or drop it ("drop-tail", which is refused
        /// unless it is asked for)
        ports: Ports = Ports::Trim, Word, "[ndp s3.1]", if Params::trims;
        /// NDP on ports that do not trim, for comparison: what is lost waits for a timer
        allow_unsupported: bool = false, Flag, "ours", if Params::trims;
        /// full frames that wait in a port
        queue: u16 = 8, Count(1, 1024), "[ndp s3.1, s6]: 8; [htsim]: 6, see the profile", if Params::trims;
        /// bytes of a frame, from its Ethernet header on, that trimming leaves; no less than its headers
        trim: u16 = 64, Size(64, 256), "[ndp s3.1]: 64; [UEC 1.0]: more, for longer headers", if Params::trims;
        /// where data has no room, a fair coin says whether it or the last that waits is trimmed; otherwise it
        coin: bool = true, Flag, "[ndp s3.1]", if Params::trims;
        /// headers and control packets that a port sends for each frame of data, where both wait
        turns: u16 = 10, Count(1, 60000), "[ndp s3.1]: 10; [htsim]: 100000", if Params::trims;
        /// header queues have room for as many bytes as data queues times this
        header_room: u16 = 1, Count(1, 16), "[ndp s3.1]: 1 (8 frames of 9 KB, or 1125 headers); [htsim]: 2", if Params::trims;
        /// headers for which there is no room go back to their sender; otherwise they are dropped
        bounce: bool = true, Flag, "[ndp s3.2.4]; [htsim]: off unless asked for", if Params::trims;
        /// which way a packet takes: all in a random order ("permutation"), one at "random", or that which
        /// switches choose for the connection ("flow")
        ways: Spray = Spray::Permutation, Word, "[ndp s3.1.1]";
        /// senders count what becomes of packets on each way, and leave out those that do badly; with
        /// ways = "permutation" alone
        scoreboard: bool = true, Flag, "[ndp s3.2.3]";
        /// what a host's line takes next: a packet of each message in "turns", or packets as first windows and pulls "released" them,
        /// those that leave again first
        order: Order = Order::Turns, Word, "[htsim]: turns; [dcpim s4.2], whose NDP is the simulator's first release: released";
        /// part of the host's line that pulls ask for: what waits before the host grows by all that comes unasked, and falls
        /// by the rest
        pull_rate: f64 = 1.0, Number(0.5, 1.0), "[ndp s3.2]: the line's rate; [htsim]: 0.99";
        /// part of its length by which the time from one pull to the next is longer or shorter at random, at most: frames of
        /// receivers that pull at an even pace meet a full port always in the same order
        pull_jitter: f64 = 0.0, Number(0.0, 1.0), "ours: 0; [htsim]: 0, or times from a list";
        /// the host whose messages are pulled before all others, or "none": all take turns
        prefer: Option<u32> = None, Or("none", "the number of a host", Count(0, HOST_MAX)),
            "[ndp s3.2]: turns, or strict priority";
        /// a packet of which nothing was heard for so long is sent again; four times as long without a pull is
        /// asked about; both at least three idle round trips; each repetition in vain doubles it. "auto" is 1 ms, or what an idle
        /// round trip and two full ports of the host's rate take, where that is longer
        rto: Option<Span> = None, Or("auto", "a time", Time(SPAN_MIN, SPAN_MAX)), "[ndp s3.2]: 1 ms; ours: full ports";
        /// time without progress after which an end gives up
        timeout: Span = Span::ms(10_000), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// how long a receiver remembers a message that is done, to know late copies of it
        linger: Span = Span::ms(25_000), Time(Span::ZERO, SPAN_MAX),
            "ours: longer than its sender asks; [ndp s3.2.2]: as long as a packet may live, below 1 ms";
        /// what waits when switches drop unscheduled packets: a size, or full frames like "4 frames"
        drop_threshold: Threshold = Threshold::Frames(4), THRESHOLD,
            "four full frames, the 6 KB recalled of [aeolus s5.1]", if Params::drops;
        /// ways that a first window takes, at most, or "all": a probe follows on each, and those of all messages of an incast meet
        /// before its receiver
        first_ways: Option<u16> = None, Or("all", "a number", Count(1, 60000)), "ours", if Params::drops;
        /// what switches compare with drop_threshold: queue, queue_and_packet, victim_only or port
        drop_measure: DropMeasure = DropMeasure::Queue, Words(&MEASURES), "[aeolus s4.1]", if Params::drops;
        /// how switches tell unscheduled packets apart: class (WRED, a colour per DSCP) or ecn (RED drops what is
        /// not ECN-capable)
        drop_by: DropBy = DropBy::Class, Words(&TELLS), "[aeolus s4.1]", if Params::drops;
    }
}

/// Keys that mean nothing where a transport that trims is to do without.
const OF_TRIMMED: &[&str] = &["queue", "trim", "coin", "turns", "header_room", "bounce"];

/// Frames of a first window, at most: a ring of them is kept. [ours]
pub(super) const WINDOW_MAX: u32 = 4096;
const HOST_MAX: u32 = model::HOSTS_MAX - 1;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);

impl Params {
    /// The authors' simulator, as it was maintained. Its queue of eight has the bytes of eight payloads: seven frames
    /// with their heads, and the one that leaves is among them. [htsim, `compositequeue.cpp`, `main_ndp.cpp`]
    pub const HTSIM: Self = Self {
        profile: "htsim",
        queue: 6,
        turns: 60_000,
        header_room: 2,
        pull_rate: 0.99,
        bounce: false,
        scoreboard: false,
        ..Self::DEFAULT
    };

    /// The same with a first round trip of this kind.
    pub(super) fn with(self, first_rtt: FirstRtt) -> Self {
        Self { first_rtt, ..self }
    }

    /// Whether switches trim.
    fn trims(&self) -> bool {
        self.first_rtt == FirstRtt::Trimmed
    }

    /// Whether they drop what is unscheduled first.
    fn drops(&self) -> bool {
        self.first_rtt == FirstRtt::Aeolus
    }

    /// What no single key can tell.
    pub(super) fn consistent(&self) -> Result<(), ParamError> {
        let most = header::WINDOW_MAX;
        if self.bursts() && self.window.is_some_and(|frames| frames > most) {
            return Err(error(
                "window",
                format!("a probe counts up to {most} frames"),
            ));
        }
        outlives(self.linger, self.timeout)
    }

    /// Whether the preferred host is one of the network, where that is known.
    pub(super) fn preferred_in(&self, facts: &Facts<'_>) -> Result<(), ParamError> {
        match (self.prefer, facts.net) {
            (Some(host), Some(net)) if host >= net.hosts() => {
                let last = net.hosts() - 1;
                let message =
                    format!("there are hosts 0 to {last}; write one of them, or \"none\"");
                Err(error("prefer", message))
            }
            _ => Ok(()),
        }
    }

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        let dropped = self.ports == Ports::DropTail;
        let random = self.ways == Spray::Random;
        parts::unread([
            (dropped, ("ports = \"drop-tail\"", OF_TRIMMED)),
            (random, ("ways = \"random\"", &["scoreboard"])),
            (
                self.ways == Spray::Flow,
                ("ways = \"flow\"", &["scoreboard", "first_ways"]),
            ),
        ])
    }
}

/// The paper, and the simulator behind its figures as it was maintained. [htsim: csg-htsim 841d9e7]
pub(super) const PROFILES: &Profiles<Params> = &[
    ("sigcomm17", || Params::DEFAULT),
    ("htsim", || Params::HTSIM),
];
