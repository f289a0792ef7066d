//! The command line of one of htsim's programs.
//!
//! [htsim: csg-htsim of March 2026, `main_ndp.cpp`, `main_eqds.cpp`, `main_roce.cpp`, `main_hpcc.cpp`,
//! `main_swift.cpp`; Ultra Ethernet's htsim, `main_uec.cpp`]

use super::Find;
use super::draft::{Draft, Imported};
use units::{Bytes, Rate, Span};

/// Bytes of a packet where `-mtu` is not said. [htsim, `DEFAULT_PACKET_SIZE` of most programs]
const MTU: u64 = 9000;

/// The transport that runs here instead of a program's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instead {
    Ndp,
    Dctcp,
    /// None: senders at the rate of their lines.
    Unpaced,
}

impl Instead {
    const fn name(self) -> &'static str {
        match self {
            Self::Ndp => "ndp",
            Self::Dctcp => "dctcp",
            Self::Unpaced => "none",
        }
    }
}

/// One of htsim's programs.
struct Program {
    /// The end of its name.
    name: &'static str,
    instead: Instead,
    /// Whether its ports pause others, whatever is said.
    lossless: bool,
    /// What to know.
    note: &'static str,
}

impl Program {
    const fn new(name: &'static str, instead: Instead, note: &'static str) -> Self {
        Self {
            name,
            instead,
            lossless: false,
            note,
        }
    }

    const fn lossless(self) -> Self {
        Self {
            lossless: true,
            ..self
        }
    }
}

const PROGRAMS: [Program; 8] = [
    Program::new("ndp", Instead::Ndp, ""),
    Program::new(
        "eqds",
        Instead::Ndp,
        "EQDS is not here: NDP stands in for it",
    ),
    Program::new(
        "roce",
        Instead::Unpaced,
        "RoCE is not here: senders at the rate of their lines stand in for it, over PFC",
    )
    .lossless(),
    Program::new(
        "hpcc",
        Instead::Dctcp,
        "HPCC is not here: DCTCP stands in for it",
    )
    .lossless(),
    Program::new(
        "swift",
        Instead::Dctcp,
        "Swift is not here: DCTCP stands in for it",
    ),
    Program::new(
        "uec",
        Instead::Dctcp,
        "Ultra Ethernet's transport is not here: DCTCP stands in for it",
    ),
    Program::new("dctcp", Instead::Dctcp, ""),
    Program::new(
        "tcp",
        Instead::Dctcp,
        "TCP without marks is not here: DCTCP stands in for it",
    ),
];

/// Options without a counterpart: their words, and why.
const LEFT: [(&str, usize, &str); 12] = [
    (
        "-o",
        1,
        "results are in the folder of the run: flows.csv, series.csv",
    ),
    (
        "-log",
        1,
        "results are in the folder of the run: flows.csv, series.csv",
    ),
    ("-logtime", 1, "series.csv is sampled every output.every"),
    ("-logtime_us", 1, "series.csv is sampled every output.every"),
    (
        "-ar_method",
        1,
        "switch.balance = \"adaptive\" takes the way with the least waiting",
    ),
    (
        "-ar_sticky_delta",
        1,
        "switch.balance = \"adaptive\" takes the way with the least waiting",
    ),
    (
        "-conns",
        1,
        "how many messages there are follows from the matrix",
    ),
    ("-paths", 1, "a packet may take any of the shortest ways"),
    ("-queue_size_bdp_factor", 1, "set switch.buffer"),
    ("-host_queue_type", 1, "hosts queue as their transport does"),
    (
        "-debug",
        0,
        "`tidegate why` and `tidegate trace` look into a run",
    ),
    ("-collect_data", 0, "flows.csv has every message"),
];

/// Why pauses come to nothing under NDP.
const NO_PAUSES: &str = "NDP's ports cut packets here, so that nothing is ever paused";

struct Reader<'a> {
    draft: Draft,
    find: Find<'a>,
    mtu: u64,
    instead: Instead,
    nodes: Option<u64>,
    tiers: u64,
    rate: Option<(Rate, String)>,
    delays: [f64; 2],
    /// Options that nothing came of, each with its words.
    left: Vec<(String, String)>,
}

/// Reads a command line, the program first.
///
/// # Errors
/// What has no meaning, and files that are named and not found.
pub fn htsim(words: &[String], find: Find<'_>) -> Result<Imported, String> {
    let program = words.first().map_or("", String::as_str);
    let stem = program.rsplit(['/', '_']).next().unwrap_or(program);
    let Some(known) = PROGRAMS.iter().find(|known| known.name == stem) else {
        let known = PROGRAMS
            .map(|known| format!("htsim_{}", known.name))
            .join(", ");
        return Err(format!(
            "\"{program}\" is none of htsim's programs that are known here: {known}"
        ));
    };
    let mut reader = Reader {
        draft: Draft::default(),
        find,
        mtu: MTU,
        instead: known.instead,
        nodes: None,
        tiers: 3,
        rate: None,
        delays: [1.0, 0.0],
        left: Vec::new(),
    };
    let transport = known.instead.name();
    reader.draft.text("transport", "kind", transport, program);
    if !known.note.is_empty() {
        reader.draft.note(format!("{program}: {}", known.note));
    }
    if known.lossless {
        reader.draft.raw(
            "switch",
            0,
            "flow_control",
            "\"pfc\"".into(),
            "its ports are lossless",
        );
    }
    let options = options(&words[1..])?;
    // Sizes in packets follow from it, wherever it stands.
    if let Some((_, values)) = options.iter().rfind(|(name, _)| *name == "-mtu") {
        reader.mtu = number("-mtu", values, 0)?;
    }
    for (name, values) in &options {
        reader.option(name, values)?;
    }
    reader.fabric(options.iter().any(|(name, _)| *name == "-topo"))?;
    reader.rest(&options);
    let head = format!("{}, as tidegate reads it", words.join(" "));
    Ok(reader.draft.finish(&head))
}

/// An option and the words that follow it, up to the next one.
type Spoken<'a> = (&'a str, &'a [String]);

fn options(words: &[String]) -> Result<Vec<Spoken<'_>>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let name = words[at].as_str();
        if !is_option(name) {
            return Err(format!(
                "\"{name}\" belongs to no option: options begin with -"
            ));
        }
        let rest = &words[at + 1..];
        let len = rest.iter().position(|w| is_option(w)).unwrap_or(rest.len());
        found.push((name, &rest[..len]));
        at += 1 + len;
    }
    Ok(found)
}

/// A dash and no number.
fn is_option(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn spoken(name: &str, values: &[String]) -> String {
    let mut text = name.to_owned();
    for value in values {
        text.push(' ');
        text.push_str(value);
    }
    text
}

fn number<T: std::str::FromStr>(name: &str, values: &[String], i: usize) -> Result<T, String> {
    let finite = |v: &&String| v.parse().is_ok_and(f64::is_finite);
    let value = values.get(i).filter(finite).and_then(|v| v.parse().ok());
    value.ok_or_else(|| {
        let said = spoken(name, values);
        match values.get(i) {
            None => format!("{said}: its value is missing; it should be a number"),
            Some(_) => format!("{said}: value {} should be a number", i + 1),
        }
    })
}

/// Microseconds as text with a unit, exact to a picosecond.
fn us(value: f64) -> String {
    let ps: Option<u64> = format!("{:.0}", value * 1e6).parse().ok();
    ps.map_or_else(|| format!("{value}us"), |ps| Span(ps).to_string())
}

impl Reader<'_> {
    fn file(&self, name: &str, values: &[String]) -> Result<(String, String), String> {
        let said = values.first().map_or("", String::as_str);
        let none = || format!("{}: there is no such file", spoken(name, values));
        (self.find)(said).ok_or_else(none)
    }

    fn packets(&self, name: &str, values: &[String], i: usize) -> Result<String, String> {
        let packets: u64 = number(name, values, i)?;
        let bytes = packets
            .checked_mul(self.mtu)
            .ok_or_else(|| spoken(name, values) + ": too many")?;
        Ok(Bytes(bytes).to_string())
    }

    fn option(&mut self, name: &str, values: &[String]) -> Result<(), String> {
        let from = spoken(name, values);
        let takes = match name {
            "-topo" => {
                let (path, _) = self.file(name, values)?;
                self.draft.text("topology", "kind", "file", "a graph");
                self.draft
                    .text("topology", "format", "htsim", "its own format");
                self.draft.text("topology", "path", &path, &from);
                1
            }
            "-tm" => {
                let (path, _) = self.file(name, values)?;
                self.draft
                    .text("[workload]", "kind", "trace", "a list of messages");
                self.draft.text(
                    "[workload]",
                    "format",
                    "htsim",
                    "its own format; \"htsim-us\" for starts in microseconds",
                );
                self.draft.text("[workload]", "path", &path, &from);
                1
            }
            "-end" => {
                let end: f64 = number(name, values, 0)?;
                self.draft.text("run", "until", &us(end), &from);
                1
            }
            "-seed" => {
                let seed: u64 = number(name, values, 0)?;
                self.draft.raw("run", 0, "seed", seed.to_string(), &from);
                1
            }
            "-mtu" => {
                self.draft
                    .text("run", "mtu", &Bytes(self.mtu).to_string(), &from);
                1
            }
            "-nodes" => {
                self.nodes = Some(number(name, values, 0)?);
                1
            }
            "-tiers" => {
                self.tiers = number(name, values, 0)?;
                1
            }
            "-linkspeed" => {
                let mbps: u64 = number(name, values, 0)?;
                self.rate = Some((Rate(mbps.saturating_mul(1_000_000)), from.clone()));
                1
            }
            "-hop_latency" | "-switch_latency" => {
                self.delays[usize::from(name == "-switch_latency")] = number(name, values, 0)?;
                1
            }
            _ => return self.port(name, values, &from),
        };
        self.surplus(name, values, takes);
        Ok(())
    }

    /// What an option says of ports and senders.
    fn port(&mut self, name: &str, values: &[String], from: &str) -> Result<(), String> {
        let takes = match name {
            "-q" => {
                let room = self.packets(name, values, 0)?;
                if self.instead == Instead::Ndp {
                    let packets: u64 = number(name, values, 0)?;
                    self.draft
                        .raw("transport.ndp", 0, "queue", packets.to_string(), from);
                } else {
                    self.draft.text("switch", "buffer", &room, from);
                }
                1
            }
            "-cwnd" if self.instead == Instead::Ndp => {
                let packets: u64 = number(name, values, 0)?;
                self.draft
                    .raw("transport.ndp", 0, "window", packets.to_string(), from);
                1
            }
            "-ecn" if self.instead == Instead::Ndp => {
                let note = "NDP's ports cut packets and mark none here; another transport has marks, like --set transport.kind=dctcp";
                self.draft.note(format!("{from}: {note}"));
                2
            }
            "-ecn" => {
                for (i, key) in ["min", "max"].into_iter().enumerate() {
                    let room = self.packets(name, values, i)?;
                    self.draft.text("switch.mark", key, &room, from);
                }
                2
            }
            "-pfc_thresholds" if self.instead == Instead::Ndp => {
                self.draft.note(format!("{from}: {NO_PAUSES}"));
                2
            }
            "-pfc_thresholds" => {
                let high = self.packets(name, values, 1)?;
                self.draft
                    .raw("switch", 0, "flow_control", "\"pfc\"".into(), from);
                self.draft.note(format!("{from}: set switch.pfc.xoff to {high} and switch.pfc.xon_gap to what lies between; they count an ingress port here"));
                2
            }
            "-queue_type" => {
                match values.first().map(String::as_str) {
                    Some("composite") if self.instead == Instead::Ndp => {}
                    Some(lossless)
                        if lossless.starts_with("lossless") && self.instead == Instead::Ndp =>
                    {
                        self.draft.note(format!("{from}: {NO_PAUSES}"));
                    }
                    Some(lossless) if lossless.starts_with("lossless") => {
                        self.draft
                            .raw("switch", 0, "flow_control", "\"pfc\"".into(), from);
                    }
                    _ => self
                        .draft
                        .note(format!("{from}: ports are what the transport asks for")),
                }
                1
            }
            "-strat" => {
                self.strategy(values, from);
                1
            }
            _ => {
                self.left.push((name.to_owned(), from.to_owned()));
                return Ok(());
            }
        };
        self.surplus(name, values, takes);
        Ok(())
    }

    /// How packets are spread over ways.
    fn strategy(&mut self, values: &[String], from: &str) {
        let balance = match values.first().map(String::as_str) {
            Some("single" | "ecmp") => Some("flow"),
            Some("ecmp_host") if self.instead != Instead::Ndp => Some("flow"),
            Some("perm" | "rand" | "ecmp_rr" | "ecmp_host" | "ecmp_host_rr") => Some("packet"),
            Some("ecmp_ar" | "ecmp_host_ar" | "ecmp_host_ar2" | "ecmp_rr_ar") => Some("adaptive"),
            _ => None,
        };
        match balance {
            Some(balance) if self.instead != Instead::Ndp => {
                self.draft.text("switch", "balance", balance, from);
            }
            Some("packet") => {}
            _ => self
                .draft
                .note(format!("{from}: set switch.balance, or transport.ndp.ways")),
        }
    }

    fn surplus(&mut self, name: &str, values: &[String], takes: usize) {
        if values.len() > takes {
            let more = values[takes..].join(" ");
            self.draft.note(format!(
                "{}: nothing came of \"{more}\"",
                spoken(name, values)
            ));
        }
    }

    /// The fabric that the program makes itself where no file says it. [htsim, `fat_tree_topology.cpp`, `set_params`]
    fn fabric(&mut self, from_file: bool) -> Result<(), String> {
        if !self.draft.says("[workload]", "path") {
            return Err("there is no -tm: which messages are sent?".to_owned());
        }
        if from_file {
            if let Some((_, from)) = &self.rate {
                let note = format!("{from}: the file of -topo says its own rates");
                self.draft.note(note);
            }
            return Ok(());
        }
        let Some(nodes) = self.nodes else {
            return Err("there is neither -topo nor -nodes: which fabric is it?".to_owned());
        };
        let from = format!("-nodes {nodes} -tiers {}", self.tiers);
        let mut set = |key, value: String| self.draft.raw("topology", 0, key, value, &from);
        match self.tiers {
            3 => {
                let k = (2..=512).step_by(2).find(|k| k * k * k / 4 >= nodes);
                let Some(k) = k.filter(|k| k * k * k / 4 == nodes) else {
                    return Err(format!(
                        "{from}: a fat tree of k ports per switch has k^3 / 4 hosts, like 16, 128 or 432"
                    ));
                };
                set("kind", "\"fat-tree\"".into());
                set("k", k.to_string());
            }
            2 => {
                let k = (2..=2048).step_by(2).find(|k| k * k / 2 >= nodes);
                let Some(k) = k.filter(|k| k * k / 2 == nodes) else {
                    return Err(format!(
                        "{from}: two tiers of k ports per switch have k^2 / 2 hosts, like 32, 128 or 512"
                    ));
                };
                set("kind", "\"leaf-spine\"".into());
                set("leaves", k.to_string());
                set("hosts_per_leaf", (k / 2).to_string());
                set("spines", (k / 2).to_string());
            }
            tiers => return Err(format!("-tiers {tiers}: 2 or 3")),
        }
        if let Some((rate, from)) = self.rate.take() {
            self.draft
                .text("topology", "host_rate", &rate.to_string(), &from);
        }
        // Of a path over all tiers, cables and switches take as long as there; in two tiers a host's cable has half of
        // its switch, as in files of -topo.
        let [hop, switch] = self.delays;
        let from = format!("-hop_latency {hop} -switch_latency {switch}");
        let none = "hosts take no time there";
        self.draft.text("topology", "host_extra_delay", "0s", none);
        if self.tiers == 2 {
            let delays = [
                ("host_delay", hop + switch / 2.0),
                ("uplink_delay", hop + switch),
            ];
            for (key, delay) in delays {
                self.draft.text("topology", key, &us(delay), &from);
            }
        } else {
            let delay = hop + switch * 5.0 / 6.0;
            self.draft.text("topology", "host_delay", &us(delay), &from);
            if switch > 0.0 {
                self.draft.note(format!(
                    "{from}: all cables have one delay here; ways over all tiers take as long as there, shorter ones \
                     a little longer"
                ));
            }
        }
        Ok(())
    }

    /// Names every option that had no effect.
    fn rest(&mut self, options: &[Spoken<'_>]) {
        let said = |name: &str| options.iter().any(|(known, _)| *known == name);
        if !said("-end") {
            self.draft.note("there is no -end: htsim ends after 1000 us then, and a run here with its last message".to_owned());
        }
        if !said("-mtu") {
            self.draft
                .text("run", "mtu", &Bytes(MTU).to_string(), "as -mtu is not said");
        }
        for (name, spoken) in std::mem::take(&mut self.left) {
            let left = LEFT.iter().find(|(known, ..)| *known == name);
            let why = match left {
                Some((_, _, why)) => why,
                None if name == "-cwnd" => "windows are the transport's own here",
                None => "this option is not known here, and nothing came of it",
            };
            self.draft.note(format!("{spoken}: {why}"));
        }
    }
}
