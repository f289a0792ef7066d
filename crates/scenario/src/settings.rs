//! What the tables of a scenario say, typed: a struct for each table, and for each kind of one, with a field for each key.
//!
//! They are built once, when all that is wrong with single keys has been said (`resolve.rs`). The name of a field is its
//! key, and its type says whether the key always has a value: nobody can ask for a key that does not exist. The
//! [`Section`] beside them knows where each key is written, for diagnostics.

#[cfg(test)]
use crate::choice::words;
use crate::choice::{
    BalanceOf, Choice, DropProfile, FaultOf, FctRule, GapsOf, Headers, LeaveOf, LegacyQueue,
    PacingOf, ShapeOf, SourceOf, TopologyFormat, TraceFormat,
};
#[cfg(test)]
use crate::fields::{Absent, Field};
use crate::section::{Named, Section};
#[cfg(test)]
use crate::value::Type;
use crate::value::{Room, Value};
use model::Class;
use model::intent::{CreditCount, DropBy, DropMeasure, MarkAt};
use std::ops::Deref;
use topology::PortOrder;
use units::{Bytes, Rate, Span};
use workload::{Interp, LoadBasis, Pick};

/// A table of a scenario: what it says, and as it is written.
#[derive(Clone, Debug)]
pub struct Settings<T> {
    /// As it is written.
    pub section: Section,
    said: T,
}

impl<T> Settings<T> {
    /// What `section` says, about which nothing is wrong.
    pub(crate) fn of(section: Section) -> Self
    where
        T: Setting,
    {
        let said = T::read(&section, "");
        Self { section, said }
    }
}

impl<T> Deref for Settings<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.said
    }
}

/// What a key is read as, or a group of them.
pub(crate) trait Setting: Sized {
    /// Reads the value of `key`; a group reads those of its own keys.
    fn read(section: &Section, key: &'static str) -> Self;

    /// The keys that it reads of a table of this kind, each with whether a field is one for its type.
    #[cfg(test)]
    fn keys(key: &'static str, kind: &str) -> Vec<Key>;
}

#[cfg(test)]
type Key = (&'static str, fn(&Field) -> bool);

/// What one value is read as.
pub(crate) trait Single: Sized {
    fn of(value: &Value) -> Option<Self>;

    /// Whether every value of this type is one.
    #[cfg(test)]
    fn takes(every: &Type) -> bool;
}

impl<T: Single> Setting for T {
    fn read(section: &Section, key: &'static str) -> Self {
        let value = Option::read(section, key);
        value.expect("the table gives this key a value for this kind")
    }

    #[cfg(test)]
    fn keys(key: &'static str, _: &str) -> Vec<Key> {
        vec![(key, |field| {
            !matches!(field.absent, Absent::Unset(_)) && T::takes(&field.takes)
        })]
    }
}

impl<T: Single> Setting for Option<T> {
    fn read(section: &Section, key: &'static str) -> Self {
        let value = section.get(key)?;
        let read = T::of(value);
        Some(read.unwrap_or_else(|| unreachable!("{} is {value}", section.dotted(key))))
    }

    #[cfg(test)]
    fn keys(key: &'static str, _: &str) -> Vec<Key> {
        vec![(key, |field| {
            matches!(field.absent, Absent::Unset(_)) && T::takes(&field.takes)
        })]
    }
}

macro_rules! singles {
    ($($type:ty: $value:ident of $($takes:ident)|+,)+) => {$(
        impl Single for $type {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::$value(own) => Some(own.clone()),
                    _ => None,
                }
            }
            #[cfg(test)]
            fn takes(every: &Type) -> bool {
                matches!(every, $(Type::$takes { .. })|+)
            }
        }
    )+};
}
singles! {
    Rate: Rate of Rate,
    Span: Span of Span,
    Bytes: Bytes of Bytes,
    Room: Room of Room,
    u64: Count of Count,
    f64: Number of Number,
    bool: Flag of Flag,
    String: Text of Text | Transport | Control,
}

/// Counts that their bounds keep within fewer bits.
macro_rules! counts {
    ($($type:ty),+) => {$(
        impl Single for $type {
            fn of(value: &Value) -> Option<Self> {
                u64::of(value)?.try_into().ok()
            }
            #[cfg(test)]
            fn takes(every: &Type) -> bool {
                matches!(every, Type::Count(_, most) if Self::try_from(*most).is_ok())
            }
        }
    )+};
}
counts!(u8, u16, u32);

macro_rules! one_of_words {
    ($($type:ty),+) => {$(
        impl Single for $type {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::Text(word) => Choice::of(word),
                    _ => None,
                }
            }
            #[cfg(test)]
            fn takes(every: &Type) -> bool {
                matches!(every, Type::Word(list) if list() == words::<Self>())
            }
        }
    )+};
}
one_of_words!(
    BalanceOf,
    Class,
    CreditCount,
    DropBy,
    DropMeasure,
    DropProfile,
    FctRule,
    GapsOf,
    Headers,
    Interp,
    LeaveOf,
    LegacyQueue,
    LoadBasis,
    MarkAt,
    PacingOf,
    Pick,
    PortOrder,
    TopologyFormat,
    TraceFormat
);

impl<T: Single> Single for Vec<T> {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::List(list) => list.iter().map(T::of).collect(),
            _ => None,
        }
    }
    #[cfg(test)]
    fn takes(every: &Type) -> bool {
        matches!(every, Type::List(each) if T::takes(each))
    }
}

impl Setting for Named {
    fn read(section: &Section, key: &'static str) -> Self {
        section.named(key)
    }
    #[cfg(test)]
    fn keys(key: &'static str, kind: &str) -> Vec<Key> {
        String::keys(key, kind)
    }
}

/// A value of which it matters who chose it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<T> {
    value: T,
    /// Whether it is written.
    pub(crate) is_given: bool,
    /// Whether it is the default, written or not.
    pub(crate) is_default: bool,
}

impl<T: Single> Setting for Chosen<T> {
    fn read(section: &Section, key: &'static str) -> Self {
        Self {
            value: T::read(section, key),
            is_given: section.is_given(key),
            is_default: section.is_default(key),
        }
    }
    #[cfg(test)]
    fn keys(key: &'static str, kind: &str) -> Vec<Key> {
        T::keys(key, kind)
    }
}

impl<T> Deref for Chosen<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

macro_rules! settings {
    ($($(#[$about:meta])* $seen:vis struct $name:ident {
        $($(#[$what:meta])* $who:vis $key:ident: $type:ty,)*
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Debug)]
        $seen struct $name {
            $($(#[$what])* $who $key: $type,)*
        }

        impl Setting for $name {
            fn read(section: &Section, _: &'static str) -> Self {
                Self { $($key: Setting::read(section, stringify!($key)),)* }
            }
            #[cfg(test)]
            fn keys(_: &'static str, kind: &str) -> Vec<Key> {
                [$(<$type as Setting>::keys(stringify!($key), kind)),*].concat()
            }
        }
    )+};
}

/// The kinds of a table: a variant for each word of the key `kind`, with what that kind has.
macro_rules! kinds {
    ($(#[$about:meta])* enum $name:ident of $words:ident { $($kind:ident {$($keys:tt)*})+ }) => {
        settings! {$(
            #[doc = concat!("What [`", stringify!($name), "::", stringify!($kind), "`] has.")]
            pub(crate) struct $kind { $($keys)* }
        )+}

        $(#[$about])*
        #[derive(Clone, Debug)]
        pub(crate) enum $name { $($kind($kind)),+ }

        impl Setting for $name {
            fn read(section: &Section, key: &'static str) -> Self {
                match section.sort() {
                    $($words::$kind => Self::$kind($kind::read(section, key)),)+
                }
            }
            #[cfg(test)]
            fn keys(key: &'static str, kind: &str) -> Vec<Key> {
                let mut keys = match $words::of(kind).expect("the table lists its kinds") {
                    $($words::$kind => $kind::keys(key, kind),)+
                };
                keys.push((key, |field| {
                    matches!(field.takes, Type::Word(list) if list() == words::<$words>())
                }));
                keys
            }
        }
    };
}

settings! {
    /// `[topology]`.
    pub struct Topology {
        pub(crate) kind: Shape,
        pub(crate) host_extra_delay: Span,
        pub(crate) slow: Option<String>,
        pub(crate) slow_rate: Option<Rate>,
        pub(crate) host_delay_spread: Option<Span>,
    }

    /// `[[workload]]`.
    pub struct Workload {
        pub(crate) kind: Source,
        pub(crate) transport: Option<String>,
    }

    /// What sources have whose messages come at random times, at a load.
    pub(crate) struct Offered {
        pub(crate) load: f64,
        pub(crate) load_of: LoadBasis,
        pub(crate) load_with_headers: bool,
        pub(crate) all_cross: bool,
        pub(crate) gaps: GapsOf,
        pub(crate) sigma: f64,
        pub(crate) start: Span,
        pub(crate) stop: Option<Span>,
        pub(crate) tag: Option<String>,
    }

    /// What sources have whose messages start together, or as good as.
    pub(crate) struct Begun {
        pub(crate) start: Span,
        pub(crate) jitter: Span,
        pub(crate) tag: Option<String>,
    }

    /// `[switch]`.
    pub struct Switch {
        pub(crate) buffer: Chosen<Room>,
        pub(crate) shared_buffer: Option<Bytes>,
        pub(crate) shared_alpha: Chosen<f64>,
        pub(crate) host_queue: bool,
        pub(crate) balance: BalanceOf,
        pub(crate) flowlet_gap: Chosen<Span>,
        pub(crate) priorities: Option<u8>,
    }

    /// `[switch.credit]`.
    pub struct Credit {
        pub(crate) queue_limit: Option<u16>,
        pub(crate) bucket: Option<u16>,
        pub(crate) count: Option<CreditCount>,
    }

    /// `[switch.mark]`.
    pub struct Mark {
        pub(crate) min: Option<Room>,
        pub(crate) max: Option<Room>,
        pub(crate) chance: Option<f64>,
        pub(crate) at: Option<MarkAt>,
        pub(crate) drop_others: Option<bool>,
    }

    /// `[switch.drop]`.
    pub struct Drop {
        pub(crate) victim: Option<Class>,
        pub(crate) threshold: Option<Room>,
        pub(crate) measure: Option<DropMeasure>,
        pub(crate) by: Option<DropBy>,
    }

    /// `[switch.legacy]`.
    pub struct Legacy {
        pub(crate) queue: Option<LegacyQueue>,
        pub(crate) share: Option<f64>,
        pub(crate) buffer: Option<Room>,
        pub(crate) mark: Option<Room>,
    }

    /// `[[faults]]`.
    pub struct Fault {
        pub(crate) link: String,
        pub(crate) from: Span,
        pub(crate) until: Option<Span>,
        pub(crate) kind: FaultKind,
    }

    /// `[run]`.
    pub struct Run {
        /// Seed of every random stream.
        pub seed: u64,
        pub(crate) warmup: Span,
        pub(crate) window: Option<Span>,
        pub(crate) drain: Option<Span>,
        pub(crate) until: Chosen<Span>,
        /// Threads.
        pub threads: u16,
        pub(crate) fct: FctRule,
    }

    /// `[output]`.
    pub struct Output {
        /// Folder of the results.
        pub dir: Option<String>,
        pub(crate) every: Span,
        pub(crate) ports: Option<Vec<String>>,
        pub(crate) memory: bool,
        pub(crate) data_queues: bool,
        pub(crate) window: Option<Vec<Span>>,
        pub(crate) explain: bool,
        pub(crate) flows: bool,
        /// Whether `fct.txt` is written as the HPCC simulator does.
        pub hpcc: bool,
    }
}

kinds! {
    /// The shape of the network.
    enum Shape of ShapeOf {
        Star {
            pub(crate) hosts: u32,
            pub(crate) host_rate: Rate,
            pub(crate) host_delay: Span,
        }
        Dumbbell {
            pub(crate) pairs: u32,
            pub(crate) host_rate: Rate,
            pub(crate) first_rate: Option<Rate>,
            pub(crate) bottleneck_rate: Rate,
            pub(crate) host_delay: Span,
            pub(crate) bottleneck_delay: Span,
        }
        ParkingLot {
            pub(crate) bottlenecks: u32,
            pub(crate) shared_hosts: bool,
            pub(crate) host_rate: Rate,
            pub(crate) bottleneck_rate: Rate,
            pub(crate) host_delay: Span,
            pub(crate) bottleneck_delay: Span,
        }
        MultiBottleneck {
            pub(crate) flows: u32,
            pub(crate) host_rate: Rate,
            pub(crate) host_delay: Span,
        }
        LeafSpine {
            pub(crate) leaves: u32,
            pub(crate) spines: u32,
            pub(crate) hosts_per_leaf: u32,
            pub(crate) host_rate: Rate,
            pub(crate) uplink_rate: Rate,
            pub(crate) host_delay: Span,
            pub(crate) uplink_delay: Span,
        }
        FatTree {
            pub(crate) k: u32,
            pub(crate) hosts_per_edge: Option<u32>,
            pub(crate) host_rate: Rate,
            pub(crate) host_delay: Span,
        }
        ThreeTier {
            pub(crate) pods: u32,
            pub(crate) tors: u32,
            pub(crate) aggs: u32,
            pub(crate) cores: u32,
            pub(crate) hosts_per_tor: u32,
            pub(crate) host_rate: Rate,
            pub(crate) tor_rate: Rate,
            pub(crate) agg_rate: Rate,
            pub(crate) host_delay: Span,
            pub(crate) tor_delay: Span,
            pub(crate) agg_delay: Span,
        }
        File {
            pub(crate) path: Named,
            pub(crate) format: Option<TopologyFormat>,
            pub(crate) order: Option<PortOrder>,
        }
    }
}

kinds! {
    /// Who sends to whom.
    enum Source of SourceOf {
        Random {
            pub(crate) offered: Offered,
            pub(crate) sizes: Named,
            pub(crate) interp: Option<Interp>,
            pub(crate) largest: Option<Bytes>,
            pub(crate) assumed_mean: Option<Bytes>,
            pub(crate) per_host: bool,
            pub(crate) messages: Option<u64>,
        }
        Incast {
            pub(crate) begun: Begun,
            pub(crate) senders: u32,
            pub(crate) receiver: u32,
            pub(crate) pick: Pick,
            pub(crate) size: Bytes,
            pub(crate) load: Option<f64>,
            pub(crate) rounds: Option<u32>,
        }
        IncastRr {
            pub(crate) senders: u32,
            pub(crate) receiver: u32,
            pub(crate) pick: Pick,
            pub(crate) size: Bytes,
            pub(crate) request: Bytes,
            pub(crate) work: Span,
            pub(crate) rounds: u32,
            pub(crate) pacing: PacingOf,
            pub(crate) gap: Span,
            pub(crate) start: Span,
        }
        Bursts {
            pub(crate) offered: Offered,
            pub(crate) senders: u32,
            pub(crate) replacement: bool,
            pub(crate) size: Bytes,
            pub(crate) rounds: Option<u64>,
        }
        Permutation {
            pub(crate) begun: Begun,
            pub(crate) size: Bytes,
            pub(crate) shift: Option<u32>,
        }
        Shuffle {
            pub(crate) begun: Begun,
            pub(crate) size: Bytes,
            pub(crate) tasks: u32,
        }
        AllToAll {
            pub(crate) begun: Begun,
            pub(crate) size: Bytes,
        }
        LongFlows {
            pub(crate) begun: Begun,
            pub(crate) pairs: Option<Vec<String>>,
            pub(crate) every: Span,
            pub(crate) leave: LeaveOf,
            pub(crate) stop: Option<Span>,
        }
        Trace {
            pub(crate) path: Named,
            pub(crate) format: Option<TraceFormat>,
        }
    }
}

impl Source {
    /// What it has where its messages come at a load.
    pub(crate) fn offered(&self) -> Option<&Offered> {
        match self {
            Self::Random(Random { offered, .. }) | Self::Bursts(Bursts { offered, .. }) => {
                Some(offered)
            }
            _ => None,
        }
    }

    /// The load of its messages, or of its incasts.
    pub(crate) fn load(&self) -> Option<f64> {
        match self {
            Self::Incast(of) => of.load,
            _ => self.offered().map(|offered| offered.load),
        }
    }

    /// What it has where its messages start together.
    pub(crate) fn begun(&self) -> Option<&Begun> {
        match self {
            Self::Incast(Incast { begun, .. })
            | Self::Permutation(Permutation { begun, .. })
            | Self::Shuffle(Shuffle { begun, .. })
            | Self::AllToAll(AllToAll { begun, .. })
            | Self::LongFlows(LongFlows { begun, .. }) => Some(begun),
            Self::Random(_) | Self::IncastRr(_) | Self::Bursts(_) | Self::Trace(_) => None,
        }
    }
}

kinds! {
    /// What breaks.
    enum FaultKind of FaultOf {
        Down {
            pub(crate) detect: Span,
        }
        Loss {
            pub(crate) chance: f64,
            pub(crate) class: Option<Class>,
            pub(crate) most: Option<u64>,
        }
        Corrupt {
            pub(crate) chance: f64,
        }
        Duplicate {
            pub(crate) chance: f64,
        }
        Reorder {
            pub(crate) chance: f64,
            pub(crate) by: Span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{TABLES, TableDef, kinds};

    /// Keys that no struct here has, and who reads them. Of a table without a key, all.
    const ELSEWHERE: [(&str, &str, &str); 8] = [
        ("", "", "Scenario::name and Scenario::title"),
        ("transport", "", "Scenario::protocol and Scenario::factory"),
        ("compare", "", "Scenario::cases"),
        ("thresholds", "", "Scenario::thresholds"),
        ("switch", "flow_control", "Scenario::control"),
        ("switch", "selective_drop", "Scenario::factory"),
        ("run", "encap", "Scenario::encap"),
        ("run", "mtu", "Scenario::encap"),
    ];

    /// The keys that are read of a table of this kind.
    fn keys(table: &str, kind: &str) -> Vec<Key> {
        match table {
            "topology" => Topology::keys("", kind),
            "workload" => Workload::keys("", kind),
            "switch" => Switch::keys("", kind),
            "switch.credit" => Credit::keys("", kind),
            "switch.mark" => Mark::keys("", kind),
            "switch.drop" => Drop::keys("", kind),
            "switch.legacy" => Legacy::keys("", kind),
            "faults" => Fault::keys("", kind),
            "run" => Run::keys("", kind),
            "output" => Output::keys("", kind),
            _ => Vec::new(),
        }
    }

    fn each_kind(mut then: impl FnMut(&'static TableDef, &'static str)) {
        for def in TABLES {
            let kinds = kinds(def.name);
            let one = kinds.is_empty().then_some("");
            kinds
                .into_iter()
                .chain(one)
                .for_each(|kind| then(def, kind));
        }
    }

    #[test]
    fn every_key_of_every_kind_is_one_field_of_its_type_or_read_elsewhere() {
        each_kind(|def, kind| {
            let elsewhere = |key| {
                let mut all = ELSEWHERE.iter();
                all.any(|&(table, own, _)| table == def.name && (own.is_empty() || own == key))
            };
            let mut read = keys(def.name, kind);
            for field in def.fields.iter().filter(|field| field.applies(kind)) {
                let of: Vec<_> = read.extract_if(.., |(key, _)| *key == field.key).collect();
                let what = format!("{}.{} of kind \"{kind}\"", def.name, field.key);
                assert_eq!(of.len() + usize::from(elsewhere(field.key)), 1, "{what}");
                assert!(of.iter().all(|(_, suits)| suits(field)), "{what}: its type");
            }
            let left: Vec<_> = read.iter().map(|(key, _)| key).collect();
            assert!(left.is_empty(), "{} of kind \"{kind}\": {left:?}", def.name);
        });
    }
}
