//! Every key of a scenario, once: the parser, the schema, the reference and `explain` read this.

use crate::choice::{
    BalanceOf, DropProfile, FaultOf, FctRule, GapsOf, Headers, LeaveOf, LegacyQueue, PacingOf,
    ShapeOf, SourceOf, TopologyFormat, TraceFormat, words,
};
use crate::value::Type;
use model::Class;
use model::intent::{CreditCount, DropBy, DropMeasure, MarkAt};
use topology::PortOrder;
use workload::{Interp, LoadBasis, Pick, SIGMA_MAX};

/// A table of a scenario file.
#[derive(Debug)]
pub struct TableDef {
    /// Its name, with dots; empty for the top of the file.
    pub name: &'static str,
    /// Whether it may be written several times, as `[[name]]`.
    pub repeated: bool,
    /// What it is for.
    pub meaning: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
}

/// A key of a scenario file.
#[derive(Debug)]
pub struct Field {
    /// Its name within its table.
    pub key: &'static str,
    /// The kinds of its table to which it applies; empty means all.
    pub kinds: &'static [&'static str],
    /// What it takes.
    pub takes: Type,
    /// What holds where it is not written.
    pub absent: Absent,
    /// What it means.
    pub meaning: &'static str,
    /// What changing it does; may be empty.
    pub effect: &'static str,
    /// Where the default comes from; may be empty.
    pub source: &'static str,
}

/// What holds where a key is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It must be written.
    Required,
    /// This value, as written in TOML.
    Is(&'static str),
    /// The value of another key of the same table.
    Like(&'static str),
    /// Nothing; the text says what follows from that.
    Unset(&'static str),
}

impl Field {
    /// Whether the key has a meaning in a table of this kind.
    pub fn applies(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    const fn new(key: &'static str, takes: Type, absent: Absent, meaning: &'static str) -> Self {
        Self {
            key,
            kinds: &[],
            takes,
            absent,
            meaning,
            effect: "",
            source: "",
        }
    }
    const fn of(mut self, kinds: &'static [&'static str]) -> Self {
        self.kinds = kinds;
        self
    }
    const fn effect(mut self, effect: &'static str) -> Self {
        self.effect = effect;
        self
    }
    const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }
}

/// Keys that say how to run and not what: they are left out of `resolved.toml` and of its hash.
pub(crate) const MACHINE_KEYS: [(&str, &str); 2] = [("run", "threads"), ("output", "dir")];

/// The kinds of a table.
pub fn kinds(name: &str) -> Vec<&'static str> {
    let field = table(name).and_then(|t| t.fields.iter().find(|f| f.key == "kind"));
    match field.map(|f| f.takes) {
        Some(Word(words)) => words(),
        _ => Vec::new(),
    }
}

/// The table of this name.
pub fn table(name: &str) -> Option<&'static TableDef> {
    TABLES.iter().find(|t| t.name == name)
}

const INTEGER: u64 = i64::MAX.unsigned_abs();
const MANY: u64 = 1 << 32;

use Absent::{Is, Like, Required, Unset};
use Type::{Bytes, Control, Count, Flag, List, Number, Rate, Room, Span, Text, Transport, Word};

const NOT_STAR: &[&str] = &["dumbbell", "parking-lot"];
/// Every table, in the order of the reference.
pub static TABLES: &[TableDef] = &[
    TableDef {
        name: "",
        repeated: false,
        meaning: "The top of the file.",
        fields: &[
            Field::new("name", Text, Unset("the file's name without .toml"), "Short name in tables and folders."),
            Field::new("title", Text, Unset("made from the topology and the workload"), "The scenario in a few words."),
        ],
    },
    TableDef {
        name: "topology",
        repeated: false,
        meaning: "Hosts, switches and cables.",
        fields: &[
            Field::new("kind", Word(words::<ShapeOf>), Is("\"leaf-spine\""), "The shape of the network."),
            Field::new("hosts", Count(2, 1 << 20), Is("16"), "Number of hosts.").of(&["star"]),
            Field::new("pairs", Count(1, 1 << 23), Is("2"), "Hosts on each side; host i on the left faces host pairs + i.").of(&["dumbbell"]),
            Field::new("bottlenecks", Count(1, 1 << 20), Is("2"), "Links in the row.").of(&["parking-lot"]),
            Field::new("shared_hosts", Flag, Is("false"), "One host per switch for all local flows, as in the authors' script, instead of a pair per bottleneck.").of(&["parking-lot"]).source("[xpass artefact] shares them"),
            Field::new("flows", Count(1, 1 << 22), Is("4"), "Flows over both links; flow 0, over the first link alone, comes on top.").of(&["multi-bottleneck"]),
            Field::new("leaves", Count(1, 1 << 20), Is("8"), "Switches with hosts.").of(&["leaf-spine"]),
            Field::new("spines", Count(1, 60_000), Is("16"), "Switches that join the leaves.").of(&["leaf-spine"]),
            Field::new("hosts_per_leaf", Count(1, 60_000), Is("16"), "Hosts under each leaf.").of(&["leaf-spine"]),
            Field::new("k", Count(2, 512), Is("4"), "Ports of a switch; even.").of(&["fat-tree"]),
            Field::new("hosts_per_edge", Count(1, 60_000), Unset("k / 2, full bisection"), "Hosts under each edge switch.").of(&["fat-tree"]).effect("More than k/2 oversubscribes the edge."),
            Field::new("pods", Count(1, 1 << 20), Is("8"), "Groups of racks; divides tors and aggs.").of(&["three-tier"]).source("[xpass artefact, large-scale-fattree.tcl]"),
            Field::new("tors", Count(1, 1 << 20), Is("32"), "Top-of-rack switches in all.").of(&["three-tier"]).source("[xpass s6.3]"),
            Field::new("aggs", Count(1, 1 << 20), Is("16"), "Aggregation switches in all.").of(&["three-tier"]).source("[xpass s6.3]"),
            Field::new("cores", Count(1, 1 << 20), Is("8"), "Core switches in all; aggs / pods divides them.").of(&["three-tier"]).source("[xpass s6.3]"),
            Field::new("hosts_per_tor", Count(1, 60_000), Is("6"), "Hosts under each top-of-rack switch.").of(&["three-tier"]).source("[xpass s6.3]"),
            Field::new("host_rate", Rate, Is("\"100Gbps\""), "Rate of the hosts' links.").of(&["star", "dumbbell", "parking-lot", "multi-bottleneck", "leaf-spine", "fat-tree", "three-tier"]),
            Field::new("first_rate", Rate, Unset("host_rate"), "Rate of the link of host 0.").of(&["dumbbell"]),
            Field::new("bottleneck_rate", Rate, Like("host_rate"), "Rate of the links between the switches.").of(NOT_STAR),
            Field::new("uplink_rate", Rate, Like("host_rate"), "Rate between leaf and spine.").of(&["leaf-spine"]),
            Field::new("tor_rate", Rate, Like("host_rate"), "Rate between top-of-rack and aggregation switch.").of(&["three-tier"]),
            Field::new("agg_rate", Rate, Like("host_rate"), "Rate between aggregation and core switch.").of(&["three-tier"]),
            Field::new("host_delay", Span, Is("\"1us\""), "Delay of the hosts' links: propagation and fixed switch latency.").of(&["star", "dumbbell", "parking-lot", "multi-bottleneck", "leaf-spine", "fat-tree", "three-tier"]).effect("Also the length of the simulator's windows: shorter links simulate more slowly."),
            Field::new("bottleneck_delay", Span, Like("host_delay"), "Delay of the links between the switches.").of(NOT_STAR),
            Field::new("uplink_delay", Span, Like("host_delay"), "Delay between leaf and spine.").of(&["leaf-spine"]),
            Field::new("tor_delay", Span, Like("host_delay"), "Delay between top-of-rack and aggregation switch.").of(&["three-tier"]),
            Field::new("agg_delay", Span, Like("host_delay"), "Delay between aggregation and core switch.").of(&["three-tier"]),
            Field::new("host_extra_delay", Span, Is("\"1us\""), "Fixed latency of a host, added to the direction away from it.").source("[xpass artefact]"),
            Field::new("slow", Text, Unset("every link has its rate"), "Links that run below their rate, unknown to routing: one direction, like \"agg0 -> core0\", or both, like \"agg0 <-> core0\"; * stands for any part of a name, \"* -> *\" for every link.").source("a degraded link [ndp s6.3]"),
            Field::new("slow_rate", Rate, Unset("a tenth of their own"), "Rate of the links that slow names."),
            Field::new("host_delay_spread", Span, Unset("0s: all alike"), "Each host's cable takes up to this much longer, both ways, uniformly by the seed.").effect("Packets of hosts that are all equally far arrive in a fixed order, which decides who loses what; a spread leaves it to chance.").source("phase effects [Floyd and Jacobson 1992]"),
            Field::new("path", Text, Required, "The file with the graph, from the folder of this file.").of(&["file"]),
            Field::new("format", Word(words::<TopologyFormat>), Unset("by the file's ending, then its first bytes"), "How the file is written: hpcc: topology.txt of its ns-3, or SimAI's; htsim: a fat tree (.topo); graphml, node-link: as NetworkX writes them, with rate and delay on edges.").of(&["file"]),
            Field::new("order", Word(words::<PortOrder>), Unset("appearance; neighbour for htsim"), "How ports are numbered: as cables appear, or by the neighbour's number, which makes paths of a Clos symmetric.").of(&["file"]),
        ],
    },
    TableDef {
        name: "workload",
        repeated: true,
        meaning: "What the hosts send. Several sources run side by side.",
        fields: WORKLOAD,
    },
    TableDef {
        name: "transport",
        repeated: false,
        meaning: "How the hosts send. Parameters stand in [transport.<kind>]; `tidegate explain transport.<kind>` lists them.",
        fields: &[
            Field::new("kind", Transport, Is("\"expresspass\""), "The transport; `tidegate list transports` names them."),
            Field::new("profile", Text, Unset("the transport's default profile"), "A named set of parameters, where papers and their code differ.").effect("Parameters in [transport.<kind>] still win over the profile."),
        ],
    },
    TableDef {
        name: "switch",
        repeated: false,
        meaning: "What every port of every switch does; what is not written here is what the transport asks for.",
        fields: &[
            Field::new("buffer", Room, Is("\"384.5KB\""), "Bytes that may wait in a port; 250 full frames of another run.mtu where nothing is written.").source("250 full frames [xpass artefact, large-scale-fattree.tcl]"),
            Field::new("shared_buffer", Bytes, Unset("every port has its own buffer"), "Bytes that all ports of a switch share by a dynamic threshold; buffer is then read by host_queue alone.").source("[Choudhury and Hahne 1998]"),
            Field::new("shared_alpha", Number(0.001, 1024.0), Is("1.0"), "A port may hold this many times what is free of the shared buffer.").source("1, the middle of what switch vendors offer [ours]"),
            Field::new("flow_control", Control, Unset("none: what has no room is dropped"), "What a switch does about neighbours that send more than leaves it; `tidegate list flow-controls` names the ways. Parameters stand in [switch.<name>].").effect("The ports of a switch share a memory then: without shared_buffer one of the flow control's choice, and without shared_alpha all of it for any port."),
            Field::new("host_queue", Flag, Is("false"), "Hosts put what they send into a first-in first-out queue before their line, with the buffer and the marks of a switch's port, as ns-2 and ns-3 do; otherwise a host chooses what leaves whenever its line is idle.").effect("Short messages wait behind long ones in their own host, and windows meet marks and drops there. For transports whose ports are plain queues."),
            Field::new("balance", Word(words::<BalanceOf>), Is("\"flow\""), "What chooses among equal paths: the connection, each packet at random, a connection anew after a pause (flowlet), or each packet the port with the least to send (adaptive). Credits keep to the path of their connection where ports shape them, as under ExpressPass.").effect("Packets of one message overtake each other under all but \"flow\"."),
            Field::new("flowlet_gap", Span, Is("\"50us\""), "Time without a packet after which a connection may change its path, with balance = \"flowlet\".").source("a few round trips of a fabric [ours]; 500 us in testbeds of 2017 [letflow s5]"),
            Field::new("selective_drop", Word(words::<DropProfile>), Unset("as the transport's drop_by, wred"), "How ports drop one class first. wred: a colour per DSCP, the victim's with equal thresholds, the others' with the buffer as theirs; red-ecn: RED with equal thresholds drops what is not ECN-capable and marks the rest, and hosts make ECN-capable what is to be protected.").effect("Both drop a packet of the victim class when the threshold or more is waiting. Sets drop_by of the transport, at hosts and ports.").source("[aeolus s4.1]"),
            Field::new("priorities", Count(1, 8), Unset("as many as the transport asks for"), "Strict priorities in use."),
        ],
    },
    TableDef {
        name: "switch.credit",
        repeated: false,
        meaning: "The shaped credit queue of every port.",
        fields: &[
            Field::new("queue_limit", Count(1, 4096), Unset("what the transport asks for"), "Credits that may wait.").source("4 to 8 [xpass s3.1]"),
            Field::new("bucket", Count(1, 4096), Unset("what the transport asks for"), "Credits that may leave back to back.").source("2 [xpass artefact]"),
            Field::new("count", Word(words::<CreditCount>), Unset("what the transport asks for"), "What the shaper counts: credits, or their bytes.").effect("Bytes let small credits win and overload links that are busy both ways."),
        ],
    },
    TableDef {
        name: "switch.mark",
        repeated: false,
        meaning: "ECN marking of every port.",
        fields: &[
            Field::new("min", Room, Unset("what the transport asks for, by the port's rate"), "Below this many waiting bytes nothing is marked.").source("[dctcp s3.1]"),
            Field::new("max", Room, Unset("min, a step"), "From this many on everything is marked."),
            Field::new("chance", Number(0.0, 1.0), Unset("what the transport asks for, else 1"), "Chance of a mark just below max."),
            Field::new("at", Word(words::<MarkAt>), Unset("what the transport asks for, else \"enqueue\""), "When the queue is measured."),
            Field::new("drop_others", Flag, Unset("what the transport asks for, else false"), "Whether packets that are not ECN-capable are dropped where others are marked.").source("[RFC 3168 s7]"),
        ],
    },
    TableDef {
        name: "switch.drop",
        repeated: false,
        meaning: "Dropping one class first, in every port.",
        fields: &[
            Field::new("victim", Word(words::<Class>), Unset("what the transport asks for"), "The class that is dropped first.").source("[aeolus s3.2]"),
            Field::new("threshold", Room, Unset("what the transport asks for"), "It is dropped when this many bytes wait.").source("6 KB, four full frames [aeolus s5.1]"),
            Field::new("measure", Word(words::<DropMeasure>), Unset("what the transport asks for, else \"queue\""), "What is compared with the threshold."),
            Field::new("by", Word(words::<DropBy>), Unset("what the transport asks for, else \"class\""), "How a switch tells the victim apart: by class (WRED), or by the ECN bits (RED)."),
        ],
    },
    TableDef {
        name: "switch.legacy",
        repeated: false,
        meaning: "What every port does with the packets of transports beside the run's own. These keep their classes; ports know them by the number of their transport.",
        fields: &[
            Field::new("queue", Word(words::<LegacyQueue>), Unset("\"own\" beside a transport whose credits ports shape, else \"shared\""), "own: queues beside those of the run's transport, served by weight; shared: the queue of the transport's data. Flow controls that make queues of their own, ideal, bfc and aquarius, take shared alone.").effect("In a shared queue nothing is promised to credited data any more."),
            Field::new("share", Number(0.01, 0.9), Unset("0.5 of its own queue, 0 of a shared one"), "Share of every line that is kept for it: the weight of its queue, at ports and hosts, and what credits leave free.").effect("Too little and it starves while credits take the rest; what it leaves unused, credits do not claim.").source("a half [ours]"),
            Field::new("buffer", Room, Unset("as switch.buffer; what the memory holds where ports share one"), "Bytes that may wait in its own queue; refused beside switch.flow_control, which is to lose nothing."),
            Field::new("mark", Room, Unset("what its transport asks for, by the port's rate"), "Its packets are marked when this many bytes wait in its queue.").source("K [dctcp s3.1]"),
        ],
    },
    TableDef {
        name: "faults",
        repeated: true,
        meaning: "What breaks, where and when. Every fault is seeded.",
        fields: &[
            Field::new("kind", Word(words::<FaultOf>), Required, "What happens to frames."),
            Field::new("link", Text, Required, "One direction, like \"tor0 -> spine1\", or both, like \"h3 <-> tor0\"; * stands for any part of a name, \"* -> *\" for every link."),
            Field::new("from", Span, Is("\"0s\""), "From when."),
            Field::new("until", Span, Unset("the end of the run"), "Until when."),
            Field::new("detect", Span, Is("\"0s\""), "From the failure until no switch uses the cable any more. Where one way of a cable is down, neither is used: packets and what answers them take the same cables.").of(&["down"]),
            Field::new("chance", Number(0.0, 1.0), Required, "Chance that it happens to a frame.").of(&["loss", "corrupt", "duplicate", "reorder"]),
            Field::new("class", Word(words::<Class>), Unset("every class"), "The class that is hit.").of(&["loss"]),
            Field::new("most", Count(1, INTEGER), Unset("any number"), "So many frames at most are lost, on each link.").of(&["loss"]),
            Field::new("by", Span, Required, "Longest time a frame is held back.").of(&["reorder"]),
        ],
    },
    TableDef {
        name: "run",
        repeated: false,
        meaning: "How long to look, and at what.",
        fields: &[
            Field::new("seed", Count(0, INTEGER), Is("1"), "Seed of every random stream."),
            Field::new("warmup", Span, Is("\"0s\""), "Messages that start before this moment do not count."),
            Field::new("window", Span, Unset("all messages after the warm-up count"), "Messages count that start within this time after the warm-up."),
            Field::new("drain", Span, Unset("until every message is done"), "Time after the window for messages to finish."),
            Field::new("until", Span, Is("\"10s\""), "The run ends here at the latest.").effect("Messages that are unfinished at the default are an error (exit code 3); a run that is told when to end may leave some, but none in a deadlock, and none that began and has had no way there that any fault brings back for so long that what was under way has arrived: ten round trips, and what queues held."),
            Field::new("threads", Count(1, 1024), Is("1"), "Threads.").effect("None on the results: any number gives the same fingerprint."),
            Field::new("encap", Word(words::<Headers>), Is("\"paper\""), "Headers in every IP packet: the papers' 40 B, or ours over UDP, 68 B. Of the 1500 B of run.mtu they leave 1460 B or 1432 B of payload.").source("[xpass artefact]"),
            Field::new("mtu", Bytes, Is("\"1500B\""), "The largest IP packet, from \"1000B\" to \"9000B\", with its headers. On the wire a full frame has 38 B more: Ethernet's header and checksum, preamble and gap.").effect("Where they are not written, switch.buffer and thresholds that count full frames follow.").source("[RFC 894]"),
            Field::new("fct", Word(words::<FctRule>), Is("\"last_byte\""), "When a message counts as finished: at its last byte at the receiver, or when the receiver hears that the sender is done. `tidegate why` explains the time to the last byte in both.").source("\"xpass_compat\" is the rule of the authors' simulator [xpass artefact]"),
        ],
    },
    TableDef {
        name: "output",
        repeated: false,
        meaning: "What is written.",
        fields: &[
            Field::new("dir", Text, Unset("out/<name>-<hash of the resolved scenario>"), "Folder of the results."),
            Field::new("every", Span, Unset("from 1us on, or less in a short run, as seldom as it takes for at most 1,024 moments, and for one sample that says something new in 128 packet-hops, 8,192 of them at least"), "Time between two samples of queues and rates; \"0s\" for no samples.").effect("Long runs keep every 2nd, 4th, ... sample, so that their number stays bounded."),
            Field::new("ports", List(&Text), Unset("every port of every switch"), "Links to sample, like \"tor0 -> h3\"; * stands for any part of a name, \"* -> *\" for every link."),
            Field::new("memory", Flag, Is("false"), "Also find the most bytes that the memory of each switch held at once, in all and by port, priority and queue, where switches have a flow control: memory.csv.").effect("None on the results."),
            Field::new("data_queues", Flag, Is("false"), "Also find the most bytes of data that were in each port of a switch at once, without control packets: data_max in ports.csv, data_queue_max in summary.json. Where data overtakes data in a port it is a lower bound; under a flow control it is not told.").effect("Runs take a tenth longer. None on the results."),
            Field::new("window", List(&Span), Unset("only the whole run"), "Count ports apart from the first moment on and before the second, like [\"100ms\", \"300ms\"]: ports-window.csv, and counted in summary.json.").effect("Its largest queues are those of the window alone. A window that the run does not reach the end of is cut there, with a warning. None on the results."),
            Field::new("explain", Flag, Is("false"), "Explain the slowest messages in the report, and draw who paused whom, however long the run is; it is then run a second time. Short runs are explained anyway.").effect("None on the results."),
            Field::new("flows", Flag, Is("false"), "Also sample received bytes per connection."),
            Field::new("hpcc", Flag, Is("false"), "Also write fct.txt as the HPCC simulator does."),
        ],
    },
    TableDef {
        name: "compare",
        repeated: true,
        meaning: "A case that `tidegate compare` runs: settings that belong together. Every case of one kind meets every case of the others; `tidegate run` leaves them alone.",
        fields: &[
            Field::new("of", Text, Required, "What this case is one of, like \"traffic\": cases of one kind take turns.").effect("Cases of \"transport\" are told apart by their transports' names."),
            Field::new("name", Text, Required, "Its name in tables, and for --case."),
            Field::new("set", List(&Text), Required, "The settings, like [\"workload.load=0.8\", \"switch.buffer=1MB\"]."),
        ],
    },
    TableDef {
        name: "thresholds",
        repeated: false,
        meaning: "What must hold for exit code 0, like fct.p99 = \"< 2ms\".",
        fields: &[],
    },
];

const INCASTS: &[&str] = &["incast", "incast-rr", "bursts"];
const LOADS: &[&str] = &["random", "bursts"];
const TAGGED: &[&str] = &[
    "random",
    "incast",
    "bursts",
    "permutation",
    "shuffle",
    "all-to-all",
    "long-flows",
];
const JITTERED: &[&str] = &[
    "incast",
    "permutation",
    "shuffle",
    "all-to-all",
    "long-flows",
];
const TIMED: &[&str] = &[
    "random",
    "incast",
    "incast-rr",
    "bursts",
    "permutation",
    "shuffle",
    "all-to-all",
    "long-flows",
];

static WORKLOAD: &[Field] = &[
    Field::new("kind", Word(words::<SourceOf>), Required, "Who sends to whom."),
    Field::new("transport", Transport, Unset("the run's, transport.kind"), "How these messages are sent: another transport beside the run's own, on the same hosts.")
        .effect("[switch.legacy] says what ports do with its packets; its parameters stand in [transport.<kind>]."),
    Field::new("tag", Text, Unset("the kind"), "Name of these messages in tables.").of(TAGGED),
    Field::new("sizes", Text, Is("\"web-search\""), "A flow-size distribution: a built-in name or a file.")
        .of(&["random"])
        .effect("`tidegate list workloads` names the built-in ones with their means."),
    Field::new("interp", Word(words::<Interp>), Unset("what the distribution's source means"), "How to read between the points of the distribution.")
        .of(&["random"])
        .effect("Changes the mean size by several per cent."),
    Field::new("largest", Bytes, Unset("as the distribution has them"), "Sizes above this are cut to it; the load is that of the sizes that are left.")
        .of(&["random"])
        .effect("A short run of a long-tailed distribution measures its few longest messages; cut, it measures the rest.")
        .source("[ours]"),
    Field::new("load", Number(1e-6, 1.0), Is("0.6"), "Offered load as a share of the capacity that load_of names.")
        .of(LOADS)
        .source("[xpass s6.3]"),
    Field::new("load", Number(1e-6, 1.0), Unset("one incast, at start"), "Share of the receiver's link that incasts fill, which then recur at random times (Poisson).").of(&["incast"]),
    Field::new("load_of", Word(words::<LoadBasis>), Is("\"hosts\""), "What the load is a share of: the hosts' links, or the uplinks of their switches.").of(LOADS),
    Field::new("load_with_headers", Flag, Is("true"), "Whether frame overhead counts as load.")
        .of(LOADS)
        .source("[xpass artefact] counts wire bytes; HPCC's generator does not"),
    Field::new("all_cross", Flag, Is("true"), "With load_of = \"uplinks\": count all messages, also those that stay behind one switch.")
        .of(LOADS)
        .source("[xpass artefact]"),
    Field::new("assumed_mean", Bytes, Unset("the distribution's own mean"), "Mean size to reckon the load with, for parity with scripts that assume another than they draw.")
        .of(&["random"])
        .source("[xpass artefact] assumes 1 to 4 % less"),
    Field::new("gaps", Word(words::<GapsOf>), Is("\"poisson\""), "Distribution of the time between two arrivals.").of(LOADS),
    Field::new("sigma", Number(0.01, SIGMA_MAX), Is("2.0"), "Standard deviation of the logarithm, with gaps = \"lognormal\".")
        .of(LOADS)
        .source("[bfc artefact]"),
    Field::new("per_host", Flag, Is("false"), "Every host has its own arrivals, instead of one process for all.").of(&["random"]),
    Field::new("messages", Count(1, MANY), Unset("as many as start before stop"), "Number of messages.").of(&["random"]),
    Field::new("senders", Count(1, 1 << 24), Is("64"), "Messages to one receiver; with more of them than other hosts, hosts send several.").of(INCASTS),
    Field::new("receiver", Count(0, (1 << 20) - 1), Is("0"), "The host that receives; with requests, the one that asks.").of(&["incast", "incast-rr"]),
    Field::new("pick", Word(words::<Pick>), Is("\"in-order\""), "Which hosts send: the next ones by number, or random ones.").of(&["incast", "incast-rr"]),
    Field::new("replacement", Flag, Is("false"), "One host may send several messages of a burst even if there are hosts enough.").of(&["bursts"]),
    Field::new("size", Bytes, Is("\"64KB\""), "Bytes of each message; with requests, of each answer.")
        .of(&["incast", "incast-rr", "bursts", "permutation", "shuffle", "all-to-all"]),
    Field::new("request", Bytes, Is("\"200B\""), "Bytes of each request.").of(&["incast-rr"]).source("[xpass Fig. 1]"),
    Field::new("work", Span, Is("\"0s\""), "Time from a request's last byte to its answer.").of(&["incast-rr"]),
    Field::new("rounds", Count(1, 1 << 20), Is("10"), "How often each worker is asked.").of(&["incast-rr"]),
    Field::new("pacing", Word(words::<PacingOf>), Is("\"closed\""), "closed: ask again after the last answer; every: at regular times.").of(&["incast-rr"]),
    Field::new("gap", Span, Is("\"0s\""), "From the last answer (closed) or the last request (every) to the next request.").of(&["incast-rr"]),
    Field::new("rounds", Count(1, 1 << 20), Unset("as many as start before stop"), "Number of bursts.").of(&["bursts"]),
    Field::new("rounds", Count(1, 1 << 20), Unset("10 with a load"), "Number of incasts, with a load.").of(&["incast"]),
    Field::new("shift", Count(1, 1 << 20), Unset("a random permutation without fixed points"), "Host i sends to host i + shift.").of(&["permutation"]),
    Field::new("tasks", Count(1, 1024), Is("8"), "Tasks of each host; each sends to every task of every other host.")
        .of(&["shuffle"])
        .source("[xpass Fig. 17]"),
    Field::new("pairs", List(&Text), Unset("the pairs that the topology is made for"), "Who sends to whom, like [\"0 -> 4\", \"1 -> 5\"].").of(&["long-flows"]),
    Field::new("every", Span, Is("\"0s\""), "Flows join, and leave, one by one at this distance.").of(&["long-flows"]),
    Field::new("leave", Word(words::<LeaveOf>), Is("\"together\""), "How flows leave: all at stop, or one by one, the first or the last to join first.").of(&["long-flows"]),
    Field::new("jitter", Span, Is("\"0s\""), "Each message starts up to this much later, uniformly.").of(JITTERED),
    Field::new("start", Span, Is("\"0s\""), "When the first message may start.").of(TIMED),
    Field::new("stop", Span, Unset("the end of the measurement window"), "No message starts from here on.").of(LOADS),
    Field::new("stop", Span, Unset("the end of the run"), "When long flows stop, with leave = \"together\".").of(&["long-flows"]),
    Field::new("path", Text, Required, "The file with the messages, from the folder of this file.").of(&["trace"]),
    Field::new("format", Word(words::<TraceFormat>), Unset("by the file's ending, then its first bytes"), "csv: src,dst,size,start[,tag] with units, hosts by name or number; hpcc: its flow.txt; htsim: a connection matrix (.cm) with starts in picoseconds, htsim-us: one of before November 2023, in microseconds.").of(&["trace"]),
];
