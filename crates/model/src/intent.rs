//! What a port must do, as plain data: the simulator builds a discipline from it, and a generator
//! of switch configuration writes it in a vendor's words.

use crate::Class;
use units::{Bytes, LineTime, Span};

/// One egress port's intent.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSpec {
    /// Bytes that may wait in the port, the frame on the line included.
    pub buffer: Bytes,
    /// A shaped queue of its own for credits.
    pub credit: Option<CreditSpec>,
    /// Marking of ECN-capable packets.
    pub mark: Option<MarkSpec>,
    /// Dropping one class first.
    pub drop: Option<DropSpec>,
    /// Strict priorities in use, 1 to 8.
    pub priorities: u8,
    /// Packets of this class wait in an unbounded queue of their own and leave only where nothing
    /// else waits: the idealised pre-credit phase. [aeolus s2.3]
    pub background: Option<Class>,
    /// Packets of class Plain have a queue of their own beside the transport's.
    pub legacy: Option<LegacySpec>,
}

impl PortSpec {
    /// One first-in first-out queue of `buffer` bytes.
    pub const fn fifo(buffer: Bytes) -> Self {
        Self {
            buffer,
            credit: None,
            mark: None,
            drop: None,
            priorities: 1,
            background: None,
            legacy: None,
        }
    }
}

/// The queue of legacy traffic: it and the transport's data share the line by weight, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LegacySpec {
    /// Its share against 100 of the transport's data.
    pub weight: u16,
    /// Bytes that may wait in it.
    pub buffer: Bytes,
    /// Its own marking; the port's `mark` is for the transport's data alone.
    pub mark: Option<MarkSpec>,
}

/// The credit queue. [xpass s3.1]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditSpec {
    /// Credits that may wait.
    pub queue_limit: u16,
    /// Credits that may leave back to back.
    pub bucket: u16,
    /// What the shaper counts.
    pub count: CreditCount,
    /// Mean wire size of a credit, in bytes.
    pub size_mean: u16,
    /// Wire size of the full frame that a credit releases, in bytes.
    pub frame_max: u16,
    /// Part of the line that credits and what they release may fill, in 1/10,000: the rest is left
    /// to other traffic. [`CreditSpec::WHOLE`] where there is none.
    pub share: u16,
}

impl CreditSpec {
    /// The whole line. [xpass s3.1]
    pub const WHOLE: u16 = 10_000;

    /// `share`, from 0 to 1, in 1/10,000, rounded.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 10,000"
    )]
    pub fn part(share: f64) -> u16 {
        (share.clamp(0.0, 1.0) * f64::from(Self::WHOLE) + 0.5) as u16
    }

    /// Line time of one credit of mean size, the frame it releases, and what both leave to others.
    ///
    /// # Panics
    /// If nothing is left for credits.
    pub fn period(&self, line: LineTime) -> Span {
        assert!(
            (1..=Self::WHOLE).contains(&self.share),
            "{} of 10,000 of a line for credits",
            self.share
        );
        let own = line.of(u64::from(self.size_mean) + u64::from(self.frame_max));
        Span((own.0 * u64::from(Self::WHOLE)).div_ceil(u64::from(self.share)))
    }
}

/// What a credit costs its shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditCount {
    /// One token each, whatever its size: data on the way back stays within the link.
    Credits,
    /// Its bytes, as in the authors' simulator. [xpass artefact]
    Bytes,
}

/// Marking of ECN-capable packets by queue length. [RFC 3168, dctcp s3.1]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkSpec {
    /// Below this many waiting bytes nothing is marked.
    pub min: Bytes,
    /// From this many on everything is marked.
    pub max: Bytes,
    /// Chance of a mark just below `max`.
    pub chance: f64,
    /// Whether the queue is measured when a packet comes or when it goes.
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are dropped where others are marked.
    pub drop_others: bool,
}

/// When the queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// When the packet arrives.
    Enqueue,
    /// When it leaves.
    Dequeue,
}

/// Dropping one class at a small threshold. [aeolus s3.2]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropSpec {
    /// The class that is dropped.
    pub victim: Class,
    /// It is dropped when this many bytes wait.
    pub threshold: Bytes,
    /// What is compared with the threshold.
    pub measure: DropMeasure,
    /// How a switch tells the victim apart.
    pub by: DropBy,
}

/// What selective dropping compares with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropMeasure {
    /// All bytes waiting in the queue. [aeolus s4.1]
    Queue,
    /// The same and the arriving packet.
    QueueAndPacket,
    /// Waiting bytes of the victim class alone. [flexpass artefact]
    VictimOnly,
    /// All bytes waiting in the port: in the queues of all priorities, and of legacy traffic.
    Port,
}

/// How a switch tells the victim apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBy {
    /// By class: WRED with a colour per DSCP. [aeolus s4.1]
    Class,
    /// By the ECN bits: RED drops what is not ECN-capable and marks the rest, which ignores it.
    /// [aeolus s4.1]
    Ecn,
}
