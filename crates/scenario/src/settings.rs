//! What the tables of a scenario say: a struct for each table, and for each kind of one, with a field for each key.
//!
//! They are built once, when all that is wrong with single keys has been said (`resolve.rs`); `typed.rs` says how. What
//! keys mean, take and are by default stands in `fields.rs`, and a test here holds every key to one field.

use crate::choice::{
    BalanceOf, FaultOf, FctRule, GapsOf, LeaveOf, LegacyQueue, PacingOf, ShapeOf, SourceOf,
    TopologyFormat, TraceFormat,
};
use crate::section::Named;
use crate::typed::{Chosen, kinds, settings};
use crate::value::Room;
use model::Class;
use model::intent::{CreditCount, DropBy, DropMeasure, MarkAt};
use topology::PortOrder;
use units::{Bytes, Rate, Span};
use workload::{Interp, LoadBasis, Pick};

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
        pub(crate) shared_buffer: Chosen<Option<Bytes>>,
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
        pub(crate) every: Option<Span>,
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
            hosts: u32,
            host_rate: Rate,
            host_delay: Span,
        }
        Dumbbell {
            pairs: u32,
            host_rate: Rate,
            first_rate: Option<Rate>,
            bottleneck_rate: Rate,
            host_delay: Span,
            bottleneck_delay: Span,
        }
        ParkingLot {
            bottlenecks: u32,
            shared_hosts: bool,
            host_rate: Rate,
            bottleneck_rate: Rate,
            host_delay: Span,
            bottleneck_delay: Span,
        }
        MultiBottleneck {
            flows: u32,
            host_rate: Rate,
            host_delay: Span,
        }
        LeafSpine {
            leaves: u32,
            spines: u32,
            hosts_per_leaf: u32,
            host_rate: Rate,
            uplink_rate: Rate,
            host_delay: Span,
            uplink_delay: Span,
        }
        FatTree {
            k: u32,
            hosts_per_edge: Option<u32>,
            host_rate: Rate,
            host_delay: Span,
        }
        ThreeTier {
            pods: u32,
            tors: u32,
            aggs: u32,
            cores: u32,
            hosts_per_tor: u32,
            host_rate: Rate,
            tor_rate: Rate,
            agg_rate: Rate,
            host_delay: Span,
            tor_delay: Span,
            agg_delay: Span,
        }
        File {
            path: Named,
            format: Option<TopologyFormat>,
            order: Option<PortOrder>,
        }
    }
}

kinds! {
    /// Who sends to whom.
    enum Source of SourceOf {
        Random {
            offered: Offered,
            sizes: Named,
            interp: Option<Interp>,
            largest: Option<Bytes>,
            assumed_mean: Option<Bytes>,
            per_host: bool,
            messages: Option<u64>,
        }
        Incast {
            begun: Begun,
            senders: u32,
            receiver: u32,
            pick: Pick,
            size: Bytes,
            load: Option<f64>,
            rounds: Option<u32>,
        }
        IncastRr {
            senders: u32,
            receiver: u32,
            pick: Pick,
            size: Bytes,
            request: Bytes,
            work: Span,
            rounds: u32,
            pacing: PacingOf,
            gap: Span,
            start: Span,
        }
        Bursts {
            offered: Offered,
            senders: u32,
            replacement: bool,
            size: Bytes,
            rounds: Option<u64>,
        }
        Permutation {
            begun: Begun,
            size: Bytes,
            shift: Option<u32>,
        }
        Shuffle {
            begun: Begun,
            size: Bytes,
            tasks: u32,
        }
        AllToAll {
            begun: Begun,
            size: Bytes,
        }
        LongFlows {
            begun: Begun,
            pairs: Option<Vec<String>>,
            every: Span,
            leave: LeaveOf,
            stop: Option<Span>,
        }
        Trace {
            path: Named,
            format: Option<TraceFormat>,
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
            detect: Span,
        }
        Loss {
            chance: f64,
            class: Option<Class>,
            most: Option<u64>,
        }
        Corrupt {
            chance: f64,
        }
        Duplicate {
            chance: f64,
        }
        Reorder {
            chance: f64,
            by: Span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Origin, SourceText};
    use crate::fields::{self, Absent, TABLES, TableDef};
    use crate::section::Section;
    use crate::typed::{Key, Setting};
    use crate::value::Type;
    use std::sync::Arc;

    /// Keys that no struct here has, and what is made of them while the scenario is read; of a table without a key, all.
    const ELSEWHERE: [(&str, &str, &str); 8] = [
        ("", "", "Scenario::name and Scenario::title"),
        ("transport", "", "Scenario::protocol and Scenario::factory"),
        ("switch", "flow_control", "Scenario::control"),
        ("switch", "selective_drop", "Scenario::factory, as drop_by"),
        ("run", "encap", "Scenario::encap"),
        ("run", "mtu", "Scenario::encap"),
        ("compare", "", "Scenario::cases"),
        ("thresholds", "", "Scenario::thresholds"),
    ];

    /// What a table is read as: its keys, by kind, and whether all of them can be read.
    struct Reads {
        keys: fn(&str) -> Vec<Key>,
        read: fn(&Section),
    }

    fn of<T: Setting>() -> Reads {
        Reads {
            keys: |kind| T::keys("", kind),
            read: |section| drop(T::read(section, "")),
        }
    }

    fn reads(table: &str) -> Option<Reads> {
        Some(match table {
            "topology" => of::<Topology>(),
            "workload" => of::<Workload>(),
            "switch" => of::<Switch>(),
            "switch.credit" => of::<Credit>(),
            "switch.mark" => of::<Mark>(),
            "switch.drop" => of::<Drop>(),
            "switch.legacy" => of::<Legacy>(),
            "faults" => of::<Fault>(),
            "run" => of::<Run>(),
            "output" => of::<Output>(),
            _ => return None,
        })
    }

    fn each_kind(then: impl Fn(&'static TableDef, &'static str)) {
        for def in TABLES {
            let kinds = fields::kinds(def.name);
            let one = kinds.is_empty().then_some("");
            kinds
                .into_iter()
                .chain(one)
                .for_each(|kind| then(def, kind));
        }
    }

    #[test]
    fn every_key_of_every_kind_is_one_field_of_its_type_or_made_something_of_before() {
        each_kind(|def, kind| {
            let elsewhere = |key| {
                let mut all = ELSEWHERE.iter();
                all.any(|&(table, own, _)| table == def.name && (own.is_empty() || own == key))
            };
            let mut read = reads(def.name).map_or_else(Vec::new, |reads| (reads.keys)(kind));
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

    #[test]
    fn every_kind_of_every_table_is_read_of_its_defaults_and_what_it_requires() {
        each_kind(|def, kind| {
            let required = |field: &&fields::Field| {
                field.applies(kind) && field.key != "kind" && field.absent == Absent::Required
            };
            let written = def.fields.iter().filter(required);
            let written =
                written.map(|field| format!("{} = {}\n", field.key, field.takes.example()));
            let source = Arc::new(SourceText {
                name: "t".to_owned(),
                text: format!("kind = \"{kind}\"\n{}", written.collect::<String>()),
            });
            let Some(reads) = reads(def.name) else {
                return;
            };
            let mut errors = Vec::new();
            let table = crate::tree::parse(&source, None, &mut errors).node;
            let mut section = Section::new(def, kind.to_owned(), &Origin::whole(&source));
            section.fill(table.table().unwrap(), &mut errors);
            assert!(errors.is_empty(), "{errors:?}");
            (reads.read)(&section);
        });
    }

    #[test]
    fn every_delay_of_a_topology_counts_as_one() {
        let topology = fields::table("topology").unwrap().fields.iter();
        let spans = topology.filter(|field| matches!(field.takes, Type::Span));
        let mut spans: Vec<_> = spans.map(|field| field.key).collect();
        let mut delays = crate::network::DELAYS;
        spans.sort_unstable();
        delays.sort_unstable();
        assert_eq!(spans, delays);
    }
}
