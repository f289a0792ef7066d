//! What can be set, its defaults and where they come from.

use model::intent::{MarkAt, MarkSpec};
use model::{Encap, Facts, HostId};
use parts::forms::{Number, Or, Size, SizeOf, Time, Word};
use parts::keys::{Profiles, error};
use parts::{ParamError, Unread, outlives};
use units::{Bytes, Rate, Span};

parts::worded! {
    /// Which ports mark.
    pub enum Marks {
        /// All of them.
        All = "all",
        /// Those of lines that are no host's.
        Core = "core",
    }

    /// After which packets a share grows.
    pub enum Growth {
        /// Those without a mark.
        Unmarked = "unmarked",
        /// All of them.
        Every = "every",
    }

    /// Whose turn it is.
    pub enum Choice {
        /// The message with the least to come.
        Shortest = "shortest",
        /// One after the other.
        Turns = "turns",
    }

    /// What goes before other data in a switch.
    pub enum Levels {
        /// Nothing.
        One = "one",
        /// Credit, and whatever has no payload.
        Credit = "credit",
        /// That, and what leaves unasked.
        Unasked = "unasked",
    }
}

parts::params! {
    /// Everything that can be set in `[transport.sird]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "nsdi25";
        /// Rate of the fastest host's line, where somebody has told.
        hosts: Option<Rate> = None;
    }
    pub(super) static KEYS {
        /// wire bytes of a round trip, of which other sizes are multiples, or "auto": what the host's line carries in an
        /// idle one, in whole frames, and a frame
        bdp: Option<Bytes> = None, Or("auto", "a size", SizeOf(Size(1, SIZE_MAX))),
            "[sird artefact]: 100 KB at 100 Gb/s; the rule: ours";
        /// credit that a receiver has given and not seen the data of, in `bdp`: B
        budget: f64 = 1.5, Number(0.01, 10_000.0), "[sird artefact]: 150 KB";
        /// what one sender may have of it, at most, in `bdp`
        pair: f64 = 1.0, Number(0.01, 10_000.0), "[sird artefact]: 100 KB";
        /// messages of at most so many wire bytes, in `bdp`, begin unasked, with at most a `pair`: UnschT
        unasked: f64 = 1.0, Number(0.0, 1e9), "[sird artefact]: 100 KB";
        /// unused credit, in `bdp`, beyond which a sender says that it has too much: SThr
        sender_threshold: f64 = 0.5, Number(0.0, 1e9), "[sird s4], recalled: half of it";
        /// waiting bytes from which on a port marks, or "auto": 1.25 `bdp` of the fastest host: NThr
        mark: Option<Bytes> = None, Or("auto", "a size", SizeOf(Size(1, SIZE_MAX))), "[sird artefact]: 82 frames";
        /// "all" ports mark, or the "core": those of lines faster than the hosts'
        mark_at: Marks = Marks::All, Word, "[sird s4], recalled: all; [sird artefact]: core";
        /// weight of the newest window in the part of marked packets
        gain: f64 = 0.08, Number(0.0001, 1.0), "[sird artefact]";
        /// a sender's share grows after "unmarked" packets, or "every" one
        growth: Growth = Growth::Unmarked, Word, "[dctcp s3.1]; [sird artefact]: every";
        /// the least share of a sender that says it has too much, of a `pair`
        host_least: f64 = 0.1, Number(0.0001, 1.0), "[sird artefact]";
        /// the least share of a sender whose packets switches mark, of a `pair`
        network_least: f64 = 0.03, Number(0.0001, 1.0), "[sird artefact]";
        /// part of a sender's line for its shortest message; receivers take turns for the rest
        shortest: f64 = 0.5, Number(0.0, 1.0), "[sird artefact]";
        /// who gets the next credit: the "shortest" message, or all in "turns"
        receiver: Choice = Choice::Shortest, Word, "[sird artefact]: fewest bytes left";
        /// what has the upper of two priorities: "credit", what leaves "unasked" with it, or nothing: "one" for all
        levels: Levels = Levels::Unasked, Word, "[sird artefact]";
        /// how long a hole stays below what has arrived until its piece gets credit again, or "auto": three idle round trips
        reorder: Option<Span> = None, Or("auto", "a time", Time(SPAN_MIN, SPAN_MAX)), "ours";
        /// time without data after which credit that was not used is taken back; at least eight idle round trips
        retry: Span = Span::ms(1), Time(SPAN_MIN, SPAN_MAX), "[sird s5], recalled: milliseconds";
        /// a message of which nothing was heard for so long is announced again; four times as long where something
        /// was; both at least three idle round trips
        rto: Span = Span::ms(2), Time(SPAN_MIN, SPAN_MAX), "ours: longer than `retry`";
        /// time without a word after which an end gives up
        timeout: Span = Span::ms(10_000), Time(SPAN_MIN, SPAN_MAX), "ours";
        /// how long a receiver remembers a message that is done, to know late copies of it
        linger: Span = Span::ms(25_000), Time(Span::ZERO, SPAN_MAX), "ours: longer than its sender asks";
    }
}

const SIZE_MAX: u64 = 1 << 40;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);
/// Full frames of the queue from which on ports mark, where nobody knows the network. [sird artefact]
const MARK_FRAMES: u64 = 82;
/// The same in `bdp`. [sird artefact: 125 of 100 KB]
const MARK_BDP: f64 = 1.25;

impl Params {
    /// The authors' simulator, at 100 Gb/s. [sird artefact: `config/nsdi25/large-scale-common.default`]
    pub const ARTEFACT: Self = Self {
        profile: "artefact",
        bdp: Some(Bytes(100_000)),
        // 33 payloads of 1460 B.
        sender_threshold: 0.4818,
        mark: Some(Bytes(126_116)),
        mark_at: Marks::Core,
        growth: Growth::Every,
        ..Self::DEFAULT
    };

    /// What no single key can tell.
    pub(super) fn consistent(&self) -> Result<(), ParamError> {
        outlives(self.linger, self.timeout)?;
        if self.pair > self.budget {
            let message = format!(
                "one sender may have more than all together, which is {} of \"budget\"; set it to that at most",
                self.budget
            );
            return Err(error("pair", message));
        }
        Ok(())
    }

    /// The same where the network is known: how long a queue is too long, and which lines are hosts'.
    pub(super) fn settle(&self, facts: &Facts<'_>) -> Option<Self> {
        let net = facts.net?;
        let hosts = (0..net.hosts())
            .map(|host| net.rate(HostId(host)))
            .max_by_key(|rate| rate.0)?;
        let idle = hosts.bytes_in(net.longest_rtt().unwrap_or_default());
        let bdp = self.bdp.unwrap_or(idle).get() as f64;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive size, and the cast saturates"
        )]
        let mark = Bytes(((bdp * MARK_BDP) as u64).max(1));
        Some(Self {
            hosts: Some(hosts),
            mark: Some(self.mark.unwrap_or(mark)),
            ..self.clone()
        })
    }

    /// What every port on a line of `rate` must mark.
    pub(super) fn mark_spec(&self, rate: Rate, encap: Encap) -> Option<MarkSpec> {
        let frames = Bytes(MARK_FRAMES * u64::from(encap.wire_max()));
        let threshold = self.mark.unwrap_or(frames);
        let of_host = self.hosts.is_some_and(|hosts| rate.0 <= hosts.0);
        (self.mark_at == Marks::All || !of_host).then_some(MarkSpec {
            min: threshold,
            max: threshold,
            chance: 1.0,
            at: MarkAt::Enqueue,
            drop_others: false,
        })
    }

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        // Nothing has the upper priority but credit, with or without what leaves unasked.
        let alike = self.unasked == 0.0 && self.levels != Levels::One;
        parts::unread([(alike, ("unasked = 0", &["levels"]))])
    }
}

/// The published evaluation, and its simulator. [sird artefact: epfl-dcsl/SIRD-Simulator, ns-2.34, `r2p2-cc-hybrid.cc`]
pub(super) const PROFILES: &Profiles<Params> = &[
    ("nsdi25", || Params::DEFAULT),
    ("artefact", || Params::ARTEFACT),
];
