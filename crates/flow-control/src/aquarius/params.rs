//! What can be set, its defaults and where they come from.

use parts::forms::{Count, Flag, Number, Or, Time, Words};
use parts::keys::{self, Profiles, error};
use parts::{ParamError, Parameter};
use toml::Table;
use units::Span;

/// What thresholds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Divided by the number of queues that have packets and may send.
    Active,
    /// The same however many there are.
    Fixed,
}

/// Which queue a flow joins that has no packets here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// That with the fewest flows, of several any.
    Least,
    /// Always the same.
    Hash,
}

/// What thresholds and shares are counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The queue that a packet joins or leaves.
    Queue,
    /// All queues of its port together.
    Port,
}

/// What a flow holds that is compared with its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Its bytes in the queue that has too much.
    Queue,
    /// Its bytes in all queues of the port.
    Port,
}

/// How long a queue's turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// One packet.
    Packets,
    /// As many bytes as that of another.
    Bytes,
}

/// Who of those that wait is resumed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Who has waited longest.
    Longest,
    /// Who began to wait last.
    Latest,
}

parts::params! {
    /// Everything that can be set in `[switch.aquarius]`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    static KEYS {
        /// queues of data of a port, the reserved one included (2 to 128); control packets have one besides
        queues: u8 = 8, Count(2, 128), "aquarius slides: 8 or fewer queues per port; 7 + 1 is ours";
        /// so many of them are reserved for paused flows (1 to 64); with more than one each is for pauses of some congested
        /// ports of the next switch, and of its reserved queues
        reserved: u8 = 1, Count(1, 64), "aquarius slides: one; more are ours";
        /// above this many round trips of the hop a queue pauses flows that hold more than their share (Ql)
        low: f64 = 2.0, Number(0.001, 1000.0), "ours: the slides give no values; the page has the sensitivity";
        /// above this many it pauses every flow that comes (Qh)
        high: f64 = 4.0, Number(0.001, 1000.0), "ours: twice low";
        /// "active": both divided by the number of queues that have packets and may send; "fixed": not
        thresholds: Scale = Scale::Active, Words(&[("active", Scale::Active), ("fixed", Scale::Fixed)]),
            "ours, after bfc artefact: active";
        /// what thresholds and shares are counted over: "queue", that which a packet joins; "port", all queues of it together,
        /// with thresholds that are not divided
        scope: Scope = Scope::Queue, Words(&[("queue", Scope::Queue), ("port", Scope::Port)]),
            "ours: the slides draw one queue";
        /// what a flow holds that is compared with its share: "queue", its bytes in the queue that a packet joins or leaves;
        /// "port", those in all queues of the port
        size: Size = Size::Queue, Words(&[("queue", Size::Queue), ("port", Size::Port)]),
            "ours: the slides say the size of a flow";
        /// who of the flows that wait for a queue is resumed first: "longest", who has waited longest; "latest", who began last
        first: First = First::Longest, Words(&[("longest", First::Longest), ("latest", First::Latest)]),
            "ours: the slides are silent";
        /// what a queue sends in its turn: "packets", one; "bytes", as many as another
        turns: Turns = Turns::Packets, Words(&[("packets", Turns::Packets), ("bytes", Turns::Bytes)]),
            "ours: the slides are silent; as BFC";
        /// the turn of a reserved queue is that of so many others (1 to 64); where that is more than one, turns are of bytes
        reserved_turns: u8 = 1, Count(1, 64), "ours: the slides are silent";
        /// a flow that holds at most this part of its share is resumed while its queue is at or below Qh (0 to 1)
        resume: f64 = 0.5, Number(0.0, 1.0), "ours: keeps pauses from alternating with every packet";
        /// which queue a flow joins: "least", that with the fewest flows; "hash", always the same
        mapping: Mapping = Mapping::Least, Words(&[("least", Mapping::Least), ("hash", Mapping::Hash)]),
            "aquarius slides: dynamic and uniform";
        /// entries of the flow table of a port; flows that share one are treated as one
        table: u32 = 7200, Count(1, 1 << 24), "bfc artefact: 460,800 for 64 ports";
        /// pauses are asked for again after this time and end after three of them; "off": they end when resumed
        refresh: Option<Span> = None, Or("off", "a time", Time(Span::us(1), Span::ms(1000))),
            "ours: off, for links that lose nothing; 4 round trips of the hop where they do";
        /// the reserved queue waits for what is left of its flows in other queues; without that, flows overtake themselves
        order_marks: bool = true, Flag, "aquarius slides: order marks; off to see what they are for";
        /// a resumed flow joins normal queues again when nothing of it waits anywhere; without that, at once, and it overtakes
        /// itself
        return_empty: bool = true, Flag, "ours: the slides are silent; off to see what it is for";
    }
}

/// One set of values.
static PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

pub(super) fn parameters() -> Vec<Parameter> {
    keys::document(PROFILES, KEYS, &Params::DEFAULT)
}

impl Params {
    /// Reads `[switch.aquarius]`.
    ///
    /// # Errors
    /// The key that is wrong and what to write instead.
    pub fn read(table: &Table) -> Result<Self, ParamError> {
        let (profile, mut params) = keys::profile(table, PROFILES)?;
        params.profile = profile;
        keys::apply(KEYS, table, &mut params)?;
        if params.reserved >= params.queues {
            let said = format!(
                "reserved = {} leaves no normal queue of {}",
                params.reserved, params.queues
            );
            let key = if table.contains_key("reserved") {
                "reserved"
            } else {
                "queues"
            };
            return Err(error(key, said));
        }
        if params.low > params.high {
            let said = format!("low = {} is above high = {}", params.low, params.high);
            let key = if table.contains_key("low") {
                "low"
            } else {
                "high"
            };
            return Err(error(key, said));
        }
        Ok(params)
    }

    pub(super) fn resolved(&self) -> Table {
        keys::write(KEYS, self.profile, self)
    }
}
