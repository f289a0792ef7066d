//! A scenario from a seed: any fabric, traffic, transports, ports and faults, each legal.

use model::intent::SwitchSpec;
use model::{Encap, Rng, stream};
use std::fmt::Write as _;
use toml::{Table, Value};
use transports::parts::forms::Takes;
use transports::{Registry, Transport};
use units::{Bytes, Rate};

/// Most of a host's line that all sources of random messages together ask for, in tenths.
pub(super) const LOAD_MAX: u64 = 9;

/// A random scenario: small enough for a second, odd enough to be worth it.
pub fn text(transports: &Registry, seed: u64) -> String {
    let mut draw = Draw {
        rng: Rng::stream(seed, stream::TEST, 1),
        out: format!("name = \"fuzz-{seed}\"\n"),
    };
    let net = draw.topology();
    let own = draw.transport(transports);
    let sources = draw.between(1, 3);
    let mut beside = Vec::new();
    for _ in 0..sources {
        draw.workload(&net, sources);
        if draw.one_in(4) {
            let other = draw.transport(transports);
            if other.name() != own.name() {
                draw.line(format!("transport = \"{}\"", other.name()));
                beside.push(other);
            }
        }
    }
    draw.table("transport");
    draw.line(format!("kind = \"{}\"", own.name()));
    draw.parameters(own, seed);
    draw.table("run");
    draw.line(format!("seed = {seed}\nuntil = \"20s\""));
    draw.frames(seed);
    draw.word("encap", &["paper", "udp"]);
    draw.switch(own);
    if !beside.is_empty() {
        draw.table("switch.legacy");
        draw.line("queue = \"own\"");
        draw.word("share", &["0.1", "0.5"]);
    }
    for _ in 0..draw.below(8).saturating_sub(3) {
        draw.fault(&net);
    }
    draw.table("output");
    draw.word("every", &["0s", "50us"]);
    draw.looks(seed);
    let all = || std::iter::once(&own).chain(&beside);
    if !all().any(|one| has_whole_ports(*one)) {
        draw.flow_control(own, !beside.is_empty(), seed);
    }
    draw.out
}

/// What the rest of a scenario has to know of its network.
struct Net {
    hosts: u64,
    /// Tiers of switches by name, and how many there are.
    tiers: Vec<(&'static str, u64)>,
}

struct Draw {
    rng: Rng,
    out: String,
}

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.rng.below(end)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.rng.between(low, high)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        let n = self.below(among.len() as u64);
        among[usize::try_from(n).expect("below the length")]
    }

    fn line(&mut self, text: impl std::fmt::Display) {
        let _ = writeln!(self.out, "{text}");
    }

    fn table(&mut self, name: &str) {
        self.line(format!("\n[{name}]"));
    }

    /// `key` with one of `words`: a number where all of them are, else a string.
    fn word(&mut self, key: &str, words: &[&str]) {
        let word = self.pick(words);
        if words.iter().all(|word| word.parse::<f64>().is_ok()) {
            self.line(format!("{key} = {word}"));
        } else {
            self.line(format!("{key} = \"{word}\""));
        }
    }

    /// `key` with a number, which is returned.
    fn count(&mut self, key: &str, low: u64, high: u64) -> u64 {
        let n = self.between(low, high);
        self.line(format!("{key} = {n}"));
        n
    }

    fn transport(&mut self, transports: &Registry) -> &'static dyn Transport {
        let all: Vec<_> = transports.iter().collect();
        self.pick(&all)
    }

    fn topology(&mut self) -> Net {
        const RATES: [&str; 4] = ["10Gbps", "25Gbps", "40Gbps", "100Gbps"];
        const DELAYS: [&str; 5] = ["50ns", "200ns", "1us", "4us", "20us"];
        let kind = self.pick(&[
            "star",
            "dumbbell",
            "parking-lot",
            "multi-bottleneck",
            "leaf-spine",
            "fat-tree",
            "three-tier",
        ]);
        self.table("topology");
        self.line(format!("kind = \"{kind}\""));
        self.word("host_rate", &RATES);
        self.word("host_delay", &DELAYS);
        match kind {
            "star" => Net {
                hosts: self.count("hosts", 2, 12),
                tiers: vec![("tor", 1)],
            },
            "dumbbell" => {
                if self.one_in(3) {
                    self.word("bottleneck_delay", &DELAYS);
                }
                Net {
                    hosts: 2 * self.count("pairs", 1, 6),
                    tiers: vec![("tor", 2)],
                }
            }
            "parking-lot" => {
                let bottlenecks = self.count("bottlenecks", 1, 5);
                Net {
                    hosts: 2 + 2 * bottlenecks,
                    tiers: vec![("tor", bottlenecks + 1)],
                }
            }
            "multi-bottleneck" => Net {
                hosts: self.count("flows", 1, 8) + 2,
                tiers: vec![("tor", 2)],
            },
            "leaf-spine" => {
                let leaves = self.count("leaves", 1, 4);
                let spines = self.count("spines", 1, 4);
                if self.one_in(3) {
                    self.word("uplink_delay", &DELAYS);
                }
                Net {
                    hosts: leaves * self.count("hosts_per_leaf", 2, 5),
                    tiers: vec![("tor", leaves), ("spine", spines)],
                }
            }
            "fat-tree" => {
                self.line("k = 4");
                Net {
                    hosts: 8 * self.count("hosts_per_edge", 1, 3),
                    tiers: vec![("tor", 8), ("agg", 8), ("core", 4)],
                }
            }
            _ => {
                let (tors, aggs) = (2 * self.between(1, 2), 2 * self.between(1, 2));
                let cores = aggs / 2 * self.between(1, 2);
                self.line(format!(
                    "pods = 2\ntors = {tors}\naggs = {aggs}\ncores = {cores}"
                ));
                Net {
                    hosts: tors * self.count("hosts_per_tor", 1, 4),
                    tiers: vec![("tor", tors), ("agg", aggs), ("core", cores)],
                }
            }
        }
    }

    fn workload(&mut self, net: &Net, sources: u64) {
        const SIZES: [&str; 7] = ["0B", "1B", "1460B", "5KB", "64KB", "300KB", "1MB"];
        let kind = self.pick(&[
            "incast",
            "incast-rr",
            "bursts",
            "permutation",
            "shuffle",
            "all-to-all",
            "long-flows",
            "random",
        ]);
        self.line(format!("\n[[workload]]\nkind = \"{kind}\""));
        match kind {
            "incast" => {
                self.count("senders", 1, 24);
                self.count("receiver", 0, net.hosts - 1);
                self.word("size", &SIZES);
                self.word("jitter", &["0s", "3us", "19us"]);
                if self.one_in(4) {
                    self.line("load = 0.1");
                    self.count("rounds", 1, 3);
                }
            }
            "incast-rr" => {
                self.count("senders", 1, 12);
                self.word("size", &SIZES);
                self.count("rounds", 1, 5);
                self.word("pick", &["random", "in-order"]);
                self.word("work", &["0s", "2us"]);
            }
            "bursts" => {
                self.count("senders", 1, 6);
                self.word("size", &["1B", "5KB", "64KB"]);
                self.line("load = 0.1");
                self.count("rounds", 1, 4);
            }
            "random" => {
                self.word("sizes", &["web-server", "homa-w2", "facebook-hadoop"]);
                // Any fabric above carries this much: the leanest has one uplink for five hosts.
                let most = if net.hosts > 2 { 1 } else { LOAD_MAX / sources };
                let load = self.between(1, most);
                self.line(format!("load = 0.{load}"));
                self.count("messages", 10, 120);
            }
            "long-flows" => {
                let to = self.between(1, net.hosts - 1);
                self.line(format!("pairs = [\"0 -> {to}\", \"{to} -> 0\"]"));
                self.word("jitter", &["0s", "30us"]);
                let stop = self.between(50, 2_000);
                self.line(format!("stop = \"{stop}us\""));
            }
            "shuffle" => {
                self.count("tasks", 1, 2);
                self.word("size", &["1B", "5KB"]);
            }
            _ => {
                self.word("size", &SIZES[..6]);
                self.word("jitter", &["0s", "3us"]);
            }
        }
    }

    /// Every fourth time frames of another length, from a
    /// stream of its own so that all else stays as it was.
    fn frames(&mut self, seed: u64) {
        let rng = std::mem::replace(&mut self.rng, Rng::stream(seed, stream::TEST, 3));
        if self.one_in(4) {
            self.word("mtu", &["1000B", "1280B", "4000B", "9000B"]);
        }
        self.rng = rng;
    }

    /// What else is looked at, which must change nothing, from a stream of its own.
    fn looks(&mut self, seed: u64) {
        let rng = std::mem::replace(&mut self.rng, Rng::stream(seed, stream::TEST, 5));
        for looks in [
            "flows = true",
            "data_queues = true",
            "window = [\"5us\", \"90us\"]",
        ] {
            if self.one_in(4) {
                self.line(looks);
            }
        }
        self.rng = rng;
    }

    /// Some parameters of `own`, off their defaults: the words among them from a stream of their own.
    fn parameters(&mut self, own: &dyn Transport, seed: u64) {
        let mut table = Table::new();
        let rng = std::mem::replace(&mut self.rng, Rng::stream(seed, stream::TEST, 4));
        for parameter in own.parameters() {
            let Takes::Words(words) = &parameter.takes else {
                continue;
            };
            if !self.one_in(4) {
                continue;
            }
            let before = table.clone();
            let word = Value::String(self.pick(words).to_owned());
            table.insert(parameter.key.to_owned(), word);
            let mends = own.configure(&table).is_ok_and(|factory| {
                let port = factory.fabric(Rate::gbps(10), Encap::PAPER).port(Bytes(1));
                if factory.suits(&port, &SwitchSpec::default()).is_err() {
                    return false;
                }
                // Without repair what is lost stays lost.
                factory.resolved().get("recovery") != Some(&Value::Boolean(false))
            });
            if !mends {
                table = before;
            }
        }
        self.rng = rng;
        self.numbers(own, &mut table);
        if !table.is_empty() {
            self.table(&format!("transport.\"{}\"", own.name()));
            self.line(table.to_string());
        }
    }

    /// Every third time some other parameters of `own`.
    fn numbers(&mut self, own: &dyn Transport, table: &mut Table) {
        if !self.one_in(3) {
            return;
        }
        for parameter in own.parameters() {
            let Ok(default) = format!("x = {}", parameter.default).parse::<Table>() else {
                continue;
            };
            // Without repair what is lost stays lost: nothing that every scenario could be held against.
            if !self.one_in(6) || parameter.key == "recovery" {
                continue;
            }
            let Some(value) = self.other_than(&default["x"]) else {
                continue;
            };
            let before = table.clone();
            table.insert(parameter.key.to_owned(), value);
            // Ranges, and what does not go together, are the transport's to know.
            if own.configure(table).is_err() {
                *table = before;
            }
        }
    }

    /// Half or twice the value, or the opposite; none of a word that is no size or time.
    fn other_than(&mut self, value: &Value) -> Option<Value> {
        let twice = self.one_in(2);
        match value {
            Value::Boolean(on) => Some(Value::Boolean(!on)),
            Value::Integer(n) => Some(Value::Integer(if twice { 2 * n } else { n / 2 })),
            Value::Float(x) => Some(Value::Float(if twice { 2.0 * x } else { x / 2.0 })),
            Value::String(text) => {
                let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let (number, unit) = (digits.parse::<u32>().ok()?, &text[digits.len()..]);
                let other = if twice { 2 * number } else { number / 2 };
                Some(Value::String(format!("{other}{unit}")))
            }
            Value::Array(_) | Value::Table(_) | Value::Datetime(_) => None,
        }
    }

    fn switch(&mut self, own: &dyn Transport) {
        let whole = has_whole_ports(own);
        self.table("switch");
        self.word("buffer", &["100KB", "384.5KB", "1000KB"]);
        if self.one_in(3) {
            self.word("shared_buffer", &["200KB", "1MB", "12MB"]);
            self.word("shared_alpha", &["0.5", "1.0", "8.0"]);
        }
        self.word(
            "balance",
            &["flow", "flow", "packet", "flowlet", "adaptive"],
        );
        self.word("flowlet_gap", &["1us", "50us"]);
        if !whole && self.one_in(4) {
            self.count("priorities", 1, 8);
        }
        if !whole && self.one_in(6) {
            self.table("switch.mark");
            self.word("min", &["0KB", "20KB"]);
            self.word("max", &["20KB", "90KB"]);
            self.word("at", &["enqueue", "dequeue"]);
        }
    }

    /// Every third time a flow control, from a stream of its own so that all else stays as it was. Frames of links are
    /// lost, too: pauses end by themselves, or there are no faults.
    fn flow_control(&mut self, own: &dyn Transport, beside: bool, seed: u64) {
        self.rng = Rng::stream(seed, stream::TEST, 2);
        let plain = own.configure(&Table::new()).is_ok_and(|factory| {
            let port = factory.fabric(Rate::gbps(10), Encap::PAPER).port(Bytes(1));
            port.queues.iter().filter(|queue| queue.is_data()).count() == 1
        });
        let one_queue = plain && !beside && !self.out.contains("\npriorities");
        if self.below(3) > 0 {
            return;
        }
        let kind = if one_queue {
            self.pick(&["pfc", "aquarius", "bfc", "ideal", "cbfc"])
        } else {
            self.pick(&["pfc", "cbfc"])
        };
        if kind == "ideal" && self.out.contains("[[faults]]") {
            return;
        }
        let mut word = format!("\n[switch]\nflow_control = \"{kind}\"\n");
        // Of less memory all may be promised, and then it is refused.
        let enough = match kind {
            "pfc" => Some("12MB"),
            "cbfc" => Some("64MB"),
            _ => None,
        };
        let size = |size| format!("shared_buffer = \"{size}\"\n");
        if let Some(enough) = enough {
            for small in ["200KB", "1MB", "12MB"] {
                self.out = self.out.replace(&size(small), &size(enough));
            }
            if !self.out.contains("\nshared_buffer") {
                word += &size(enough);
            }
        }
        self.out = self.out.replacen("\n[switch]\n", &word, 1);
        self.table(&format!("switch.{kind}"));
        match kind {
            "pfc" => {
                self.word("xoff", &["dynamic", "10KB"]);
                self.word("pause_time", &["20us", "300us"]);
                self.word("watchdog", &["100us", "2ms"]);
            }
            "aquarius" => {
                self.word("queues", &["2", "4", "8"]);
                self.word("table", &["1", "5", "7200"]);
                self.word("refresh", &["10us", "200us"]);
                self.word("low", &["0.5", "2.0"]);
                self.word("thresholds", &["active", "fixed"]);
                self.word("mapping", &["least", "hash"]);
            }
            "bfc" => {
                self.word("queues", &["1", "4", "32", "128"]);
                self.word("table", &["1", "200"]);
                self.word("signals", &["periodic"]);
            }
            "cbfc" => {
                self.word("lanes", &["1", "2"]);
                self.word("update", &["0B", "1KB", "8KB"]);
                self.word("resend", &["10us", "200us"]);
                self.word("counter_bits", &["12", "16"]);
                self.word("block", &["64", "256", "1000"]);
                self.word("overhead", &["0", "64"]);
            }
            _ => self.word("xon", &["0.0", "0.5", "1.0"]),
        }
    }

    /// A fault that ends: everything must finish afterwards.
    fn fault(&mut self, net: &Net) {
        let kind = self.pick(&["loss", "corrupt", "duplicate", "reorder", "down"]);
        let link = self.link(net);
        let (from, length) = (self.below(300), self.pick(&[1, 50, 500, 2_000, 30_000]));
        self.line(format!(
            "\n[[faults]]\nkind = \"{kind}\"\nlink = \"{link}\"\nfrom = \"{from}us\"\nuntil = \"{}us\"",
            from + length
        ));
        match kind {
            "down" => self.word("detect", &["0s", "1us", "400us"]),
            "reorder" => {
                self.word("chance", &["0.001", "0.05", "0.5"]);
                self.word("by", &["10ns", "3us", "50us"]);
            }
            // Copies are copied again at each hop.
            "duplicate" => self.word("chance", &["0.001", "0.1"]),
            "loss" => {
                self.word("chance", &["0.001", "0.02", "0.3", "1.0"]);
                if self.one_in(2) {
                    self.word(
                        "class",
                        &["control", "credit", "scheduled", "unscheduled", "plain"],
                    );
                }
                if self.one_in(2) {
                    self.count("most", 1, 40);
                }
            }
            _ => self.word("chance", &["0.001", "0.02", "0.3"]),
        }
    }

    /// Links by a pattern: of a host, of a switch, between tiers, or all.
    fn link(&mut self, net: &Net) -> String {
        let arrow = self.pick(&["<->", "->"]);
        let last = net.tiers.len() as u64;
        let tier = |n: u64| net.tiers[usize::try_from(n).expect("below the number of tiers")];
        match self.below(5) {
            0 => format!("* {arrow} *"),
            1 => {
                let (name, count) = tier(self.below(last));
                format!("{name}{} {arrow} *", self.below(count))
            }
            2 => format!("* {arrow} h{}", self.below(net.hosts)),
            _ => format!("h{} {arrow} *", self.below(net.hosts)),
        }
    }
}

/// Whether the transport says of its ports as a whole what they do: a scenario does not say it again then.
fn has_whole_ports(own: &dyn Transport) -> bool {
    let fabric =
        |factory: Box<dyn transports::Factory>| factory.fabric(Rate::gbps(10), Encap::PAPER);
    own.configure(&Table::new())
        .is_ok_and(|factory| fabric(factory).own.is_some())
}
