//! What can be set, its defaults and where they come from.

use super::early::FirstRtt;
use model::intent::{DropBy, DropMeasure};
use model::{Class, Encap};
use parts::ascending::{Ascending, Sizes};
use parts::forms::{Count, Flag, Number, OneOf, Or, Size, SizeOf, Time, Word, Words};
use parts::keys::{Profiles, error};
use parts::selective::{MEASURES, TELLS, THRESHOLD, Threshold};
use parts::{Fabric, ParamError, Unread, outlives};
use toml::Table;
use units::{Bytes, Span};

parts::worded! {
    /// How a receiver grants.
    pub enum Law {
        /// A packet per grant and packet time, until as much is on the way as may leave unasked; to one message
        /// of each peer. [homa artefact, `HomaTransport::ReceiveScheduler`]
        Packet = "packet",
        /// All that fits into a window that shrinks with the number of messages. [homa linux, `homa_grant.c`]
        Window = "window",
    }

    /// By which size the cut-offs choose the priority of what leaves unasked.
    pub enum CutoffBy {
        /// Bytes of the message that are left, those of the packet included.
        /// [homa artefact, `STATIC_CBF_GRADUATED`]
        Remaining = "remaining",
        /// Bytes of the message. [homa linux]
        Length = "length",
    }

    /// Whose priority granted data has.
    pub enum GrantedBy {
        /// That of the newest grant, whichever released it. [homa linux]
        Newest = "newest",
        /// That of the grant which released it. [homa artefact, `prepareSchedPkt`]
        Own = "own",
    }

    /// Which level of granted data a message has.
    pub enum GrantedAt {
        /// By its rank at each grant: the lowest levels are those in use. [homa s3.4], [homa linux]
        Lowest = "lowest",
        /// The one that it has while others come and go; one that overtakes all takes a level above.
        /// [homa artefact, `SchedSenders`]
        Kept = "kept",
    }
}

/// Largest sizes of each priority of what leaves unasked, but the last of them.
pub type Cutoffs = Ascending<7>;

/// [homa linux, `homa_incoming.c`: 200, 2800 and 15000 between levels 7, 6, 5 and 4]
const LINUX_CUTOFFS: Cutoffs = Cutoffs::new(&[200, 2_800, 15_000]).expect("they ascend");

parts::params! {
    /// Everything that can be set in `[transport.homa]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "linux";
        /// What is done with the first round trip; the transport's name says it, not a parameter.
        first_rtt: FirstRtt = FirstRtt::Plain;
    }
    pub(super) static KEYS {
        /// strict priorities in use: 1, 2, 4 or 8; with fewer than 8 short messages wait behind longer ones
        priorities: u8 = 8, OneOf(&[1, 2, 4, 8]), "[homa s3.4], [homa linux]: 8";
        /// how many of them what leaves unasked has for itself, or "auto": by its share of all bytes, at least one for each kind
        unscheduled_priorities: Option<u8> = Some(4), Or(AUTO, "a number", Count(1, 8)),
            "[homa linux]: 4; [homa s3.4]: by share; homa artefact: 7, 5, 4, 1, 1 for W1 to W5";
        /// sizes between the priorities of what leaves unasked, ascending, or "auto": as many bytes in each
        cutoffs: Option<Cutoffs> = Some(LINUX_CUTOFFS), Or(AUTO, "a list of sizes", Sizes(SIZE_MAX)),
            "[homa linux]: 200, 2800, 15000 B; [homa s3.4, artefact WorkloadEstimator]: auto";
        /// what is compared with them: bytes of the message that "remaining" are, or its "length"
        cutoff_by: CutoffBy = CutoffBy::Length, Word,
            "[homa linux]: length; homa artefact, unschedPrioResolutionMode: remaining";
        /// payload of a message that leaves unasked, or "auto": what the host's line carries in a round trip
        unscheduled: Option<u64> = Some(40_000), Or(AUTO, "a size", Size(1, SIZE_MAX)),
            "[homa linux], unsched_bytes: 40000; homa artefact, rttBytes: 10000 on the wire";
        /// how receivers grant: "packet" (one per packet time, to one message of each peer) or "window"
        grant: Law = Law::Window, Word, "[homa linux, homa_grant.c]; homa artefact: packet";
        /// whose priority granted data has: that of the "newest" grant of its message, or of its "own"
        granted_by: GrantedBy = GrantedBy::Newest, Word,
            "[homa linux]: newest; homa artefact, prepareSchedPkt: own";
        /// which level a granted message has: the "lowest" by its rank at each grant, or one that is "kept" while
        /// others come and go, and above all for one that overtakes them; with grant = "packet"
        levels: GrantedAt = GrantedAt::Lowest, Word,
            "[homa s3.4], [homa linux]: lowest; homa artefact, SchedSenders: kept";
        /// messages that are granted at once, or "auto": as many as there are priorities for granted data
        overcommitment: Option<u8> = Some(8), Or(AUTO, "a number", Count(1, 8)),
            "[homa linux], max_overcommit: 8; [homa s3.5]: as many as priorities";
        /// granted, or unasked, and not arrived: what a receiver allows all messages together, in bytes of
        /// payload; with grant = "window"
        max_incoming: Bytes = Bytes(400_000), SizeOf(Size(1, SIZE_MAX)), "[homa linux], max_incoming";
        /// wire bytes before the end of a message that are granted at the priority of a message as short; 0 for none
        boost_tail: u64 = 0, Size(0, SIZE_MAX),
            "[homa linux]: none; homa artefact, boostTailBytesPrio: 10000";
        /// part of the line that is granted to the oldest message, whatever its length; with grant = "window"
        fifo_share: f64 = 0.05, Number(0.0, 0.5), "[homa linux], fifo_fraction: 5 %";
        /// bytes of one such grant
        fifo_increment: u64 = 50_000, Size(1, SIZE_MAX), "[homa linux], fifo_grant_increment: 50000";
        /// what is lost is asked for again, and messages are acknowledged; without it a loss leaves a message
        /// unfinished for ever
        recovery: bool = true, Flag, "[homa s3.7], [homa linux]; homa artefact: none",
            if Params::is_plain;
        /// silence after which the first RESEND or NEED_ACK leaves; the next waits are twice as long each, up to 16 times
        resend_after: Span = Span::ms(5), Time(SPAN_MIN, SPAN_MAX), "[homa linux], resend_ticks: 5 of 1 ms";
        /// silence after which an end gives up
        timeout: Span = Span::ms(10_000), Time(SPAN_MIN, SPAN_MAX),
            "ours: a pause of the line is silence, too; [homa linux], timeout_ticks: 100 ms";
        /// how long a receiver remembers a message that is done, to know late copies of it
        linger: Span = Span::ms(25_000), Time(Span::ZERO, SPAN_MAX), "ours: longer than its sender asks";
        /// what waits when switches drop unscheduled packets: a size, or full frames like "4 frames"
        drop_threshold: Threshold = Threshold::Frames(4), THRESHOLD,
            "four full frames, the 6 KB recalled of [aeolus s5.1]", if Params::drops;
        /// what switches compare with drop_threshold: queue, queue_and_packet, victim_only or port
        drop_measure: DropMeasure = DropMeasure::Queue, Words(&MEASURES),
            "[aeolus s4.1] for one queue; thresholds of WRED are a queue's", if Params::drops;
        /// how switches tell unscheduled packets apart: class (WRED, a colour per DSCP) or ecn (RED drops what is
        /// not ECN-capable)
        drop_by: DropBy = DropBy::Class, Words(&TELLS), "[aeolus s4.1]", if Params::drops;
    }
}

const AUTO: &str = "auto";
/// No message is longer. [ours]
const SIZE_MAX: u64 = 1 << 40;
/// Messages that are granted at once where nobody says. [homa linux, `max_overcommit`]
const ACTIVE: u8 = 8;
/// Payload of a usual frame in bytes: a window holds one. [ours]
const FRAME: u64 = 1460;
/// The second question leaves after three times `resend_after`. [ours]
const ASKED_MIN: u64 = 4;
const SPAN_MIN: Span = Span::us(1);
const SPAN_MAX: Span = Span::ms(3_600_000);
impl Params {
    /// The published simulator's. [homa artefact, `homaTransportConfig.ini`]
    pub const SIGCOMM18: Self = Self {
        profile: "sigcomm18",
        unscheduled_priorities: None,
        cutoffs: None,
        cutoff_by: CutoffBy::Remaining,
        unscheduled: None,
        grant: Law::Packet,
        overcommitment: None,
        boost_tail: 10_000,
        fifo_share: 0.0,
        recovery: false,
        linger: Span::ms(1),
        ..Self::DEFAULT
    };

    /// The same with a first round trip of this kind.
    pub(super) fn with(self, first_rtt: FirstRtt) -> Self {
        Self {
            first_rtt,
            // As Aeolus' authors had to extend the simulator. [aeolus s5.1]
            recovery: true,
            ..self
        }
    }

    /// Whether nothing of the first round trip may be lost more easily than the rest: what may be is always made good.
    fn is_plain(&self) -> bool {
        self.first_rtt == FirstRtt::Plain
    }

    /// Whether ports drop what left unasked first.
    fn drops(&self) -> bool {
        self.first_rtt == FirstRtt::Aeolus
    }

    /// What no single key can tell, and what follows from others.
    pub(super) fn consistent(&mut self, table: &Table) -> Result<(), ParamError> {
        if self.recovery && !table.contains_key("linger") {
            self.linger = Self::DEFAULT.linger;
        }
        // Fewer priorities than a profile has cut-offs for are shared by new ones.
        if self.priorities < 8 && !table.contains_key("unscheduled_priorities") {
            let most = self.priorities.div_ceil(2);
            self.unscheduled_priorities = self.unscheduled_priorities.map(|n| n.min(most));
        }
        if let Some(levels) = self.unscheduled_priorities
            && levels > self.priorities
        {
            let message = format!("is more than priorities = {}", self.priorities);
            return Err(error("unscheduled_priorities", message));
        }
        if let (Some(cutoffs), Some(levels)) = (self.cutoffs, self.unscheduled_priorities) {
            let most = usize::from(levels) - 1;
            if cutoffs.list().len() > most && table.contains_key("cutoffs") {
                let message = format!(
                    "has {} sizes, and unscheduled_priorities = {levels} has {most} between them",
                    cutoffs.list().len()
                );
                return Err(error("cutoffs", message));
            }
            self.cutoffs = Some(cutoffs.first(most));
        }
        if self.levels == GrantedAt::Kept && self.grant == Law::Window {
            let message = "= \"kept\" is for one message of each peer, and windows are granted to several; set it to \
                 \"lowest\", or grant = \"packet\"";
            return Err(error("levels", message));
        }
        let granted = u64::from(self.overcommitment.unwrap_or(ACTIVE)) + 1;
        if self.grant == Law::Window && self.max_incoming.get() < granted * FRAME {
            let message = format!(
                "gives none of {} messages at once a window of a frame; set it to \"{}\" or more, or a \
                 smaller overcommitment",
                granted - 1,
                Bytes(granted * FRAME)
            );
            return Err(error("max_incoming", message));
        }
        if self.recovery && self.timeout < self.resend_after.times(ASKED_MIN) {
            let message = format!(
                "is less than {ASKED_MIN} times resend_after: an end gives up before it has asked twice; set it \
                 to \"{}\" or more, or resend_after to less",
                self.resend_after.times(ASKED_MIN)
            );
            return Err(error("timeout", message));
        }
        if self.recovery {
            outlives(self.linger, self.timeout)?;
        }
        Ok(())
    }

    /// What a user should know before trusting it.
    pub(super) fn warnings(&self) -> Vec<String> {
        let few = (self.priorities < 8).then(|| {
            format!(
                "homa has {} of 8 priorities: short messages wait behind longer ones; set priorities = 8",
                self.priorities
            )
        });
        few.into_iter().collect()
    }

    /// Keys that others leave without effect.
    pub(super) fn without_effect(&self) -> Vec<Unread> {
        let packet = self.grant == Law::Packet;
        let alone = !self.recovery && !self.bursts();
        parts::unread([
            (
                packet,
                (
                    "grant = \"packet\"",
                    &["max_incoming", "fifo_share", "fifo_increment"],
                ),
            ),
            (
                !packet && self.fifo_share == 0.0,
                ("fifo_share = 0", &["fifo_increment"]),
            ),
            (alone, ("recovery = false", &["resend_after", "timeout"])),
        ])
    }

    /// What ports do for it.
    pub(super) fn ports(&self, encap: Encap) -> Fabric {
        Fabric {
            priorities: self.priorities,
            drop: self.drop_spec(encap),
            background: (self.first_rtt == FirstRtt::Gaps).then_some(Class::Unscheduled),
            ..Fabric::default()
        }
    }
}

/// The profiles: the module of the Linux kernel, and the simulator behind the paper's figures. [homa linux:
/// `HomaModule` of 2026-07; homa artefact: `HomaSimulation`]
pub(super) const PROFILES: &Profiles<Params> = &[
    ("linux", || Params::DEFAULT),
    ("sigcomm18", || Params::SIGCOMM18),
];
