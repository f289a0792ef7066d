//! `config.txt` of HPCC's ns-3 simulator and of those that grew from it.
//!
//! A line is a key and its values; what the program does with each is in its `third.cc` and explained in its
//! `config_doc.txt`. [hpcc artefact, `simulation/mix/config_doc.txt`, `simulation/scratch/third.cc`]

use super::Find;
use super::draft::{Draft, Imported};
use std::collections::BTreeMap;
use topology::{Graph, NodeKind, Topology};
use units::text::{Field, lines};
use units::{Bytes, Rate, Span};

/// Headers of a packet within the IP packet: their payload has 1000 B where ours is 1040 B long. [ours]
const HEADERS: u64 = 40;
/// When their clock starts to count link failures. [hpcc artefact, third.cc]
const FAILURES_FROM: Span = Span(2_000_000_000_000);

/// Their congestion controls by number; whether that is here, too. [hpcc artefact, `config_doc.txt`]
const MODES: [(&str, &str, bool); 5] = [
    ("1", "DCQCN", false),
    ("3", "HPCC", false),
    ("7", "TIMELY", false),
    ("8", "DCTCP", true),
    ("10", "HPCC with PINT", false),
];

/// Keys that have nothing here, and why.
const LEFT: [(&[&str], &str); 5] = [
    (
        &["TRACE_FILE", "TRACE_OUTPUT_FILE", "ENABLE_TRACE"],
        "packets are written afterwards, by `tidegate trace`",
    ),
    (
        &["PFC_OUTPUT_FILE"],
        "pauses are in ports.csv, per port and not one by one",
    ),
    (
        &[
            "QLEN_MON_FILE",
            "QLEN_MON_START",
            "QLEN_MON_END",
            "QLEN_DUMP_INTERVAL",
            "QLEN_MON_INTV_US",
        ],
        "queues are in series.csv, sampled every output.every",
    ),
    (
        &[
            "L2_CHUNK_SIZE",
            "L2_ACK_INTERVAL",
            "L2_BACK_TO_ZERO",
            "ACK_HIGH_PRIO",
            "NIC_TOTAL_PAUSE_TIME",
        ],
        "acknowledgements and repairs are the transport's own here",
    ),
    (
        &[
            "ALPHA_RESUME_INTERVAL",
            "RATE_DECREASE_INTERVAL",
            "CLAMP_TARGET_RATE",
            "RP_TIMER",
            "FAST_RECOVERY_TIMES",
            "RATE_AI",
            "RATE_HAI",
            "MIN_RATE",
            "DCTCP_RATE_AI",
            "HAS_WIN",
            "GLOBAL_T",
            "VAR_WIN",
            "FAST_REACT",
            "U_TARGET",
            "MI_THRESH",
            "INT_MULTI",
            "MULTI_RATE",
            "SAMPLE_FEEDBACK",
            "PINT_LOG_BASE",
            "PINT_PROB",
            "RATE_BOUND",
        ],
        "it belongs to a congestion control that is not here",
    ),
];

struct Reader<'a> {
    draft: Draft,
    find: Find<'a>,
    /// Values of each key, the key first; what is said last counts, as there.
    said: BTreeMap<String, Vec<Field<'a>>>,
    graph: Option<Graph>,
}

/// Reads the text of a `config.txt` that is called `name`.
///
/// # Errors
/// What has no meaning, with its line, and files that are named and not found.
pub fn hpcc(name: &str, text: &str, find: Find<'_>) -> Result<Imported, String> {
    let mut reader = Reader {
        draft: Draft::default(),
        find,
        said: BTreeMap::new(),
        graph: None,
    };
    let mut order = Vec::new();
    for fields in lines(text) {
        let key = fields[0].text.to_owned();
        let line = fields[0].line;
        if let Some(before) = reader.said.insert(key.clone(), fields) {
            let note = format!(
                "line {}: {key} is said again in line {line}, which counts",
                before[0].line
            );
            reader.draft.note(note);
        } else {
            order.push(key);
        }
    }
    reader.files()?;
    reader.transport()?;
    reader.switch()?;
    for key in order {
        let fields = reader.said[&key].clone();
        reader.rest(&key, &fields)?;
    }
    Ok(reader.draft.finish(&format!(
        "{name} of HPCC's ns-3 simulator, as tidegate reads it"
    )))
}

/// `line 3: KEY a b`.
fn place(fields: &[Field<'_>]) -> String {
    format!("line {}: {}", fields[0].line, words(fields))
}

fn words(fields: &[Field<'_>]) -> String {
    fields.iter().map(|f| f.text).collect::<Vec<_>>().join(" ")
}

fn number<T: std::str::FromStr>(fields: &[Field<'_>], i: usize) -> Result<T, String> {
    let finite = |f: &&Field<'_>| f.text.parse().is_ok_and(f64::is_finite);
    let value = fields.get(i).filter(finite);
    let value = value.and_then(|f| f.text.parse().ok());
    value.ok_or_else(|| format!("{}: value {i} should be a number", place(fields)))
}

impl<'a> Reader<'a> {
    fn get(&self, key: &str) -> Option<Vec<Field<'a>>> {
        self.said.get(key).cloned()
    }

    /// Whether a key is there and is not 0.
    fn on(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|f| f.get(1).is_none_or(|f| f.text != "0"))
    }

    fn files(&mut self) -> Result<(), String> {
        for (key, table) in [("TOPOLOGY_FILE", "topology"), ("FLOW_FILE", "[workload]")] {
            let Some(fields) = self.get(key) else {
                return Err(format!(
                    "there is no {key}: without it there is nothing to run"
                ));
            };
            let (said, from) = (fields.get(1).map_or("", |f| f.text), words(&fields));
            let Some((path, text)) = (self.find)(said) else {
                return Err(format!(
                    "{}: there is no such file, neither from here nor beside the configuration or its folder",
                    place(&fields)
                ));
            };
            if table == "topology" {
                let graph = topology::import::hpcc::parse("fabric", &text);
                self.graph = Some(
                    graph.map_err(|e| format!("{path}:{}:{}: {}", e.line, e.column, e.message))?,
                );
                self.draft
                    .raw(table, 0, "kind", "\"file\"".into(), "a graph");
            } else {
                self.draft
                    .raw(table, 0, "kind", "\"trace\"".into(), "a list of messages");
            }
            self.draft
                .raw(table, 0, "format", "\"hpcc\"".into(), "its own format");
            self.draft.text(table, "path", &path, &from);
        }
        Ok(())
    }

    fn transport(&mut self) -> Result<(), String> {
        let fields = self.get("CC_MODE").unwrap_or_default();
        // [hpcc artefact, third.cc: cc_mode = 1 unless it is said]
        let mode = fields.get(1).map_or("1", |f| f.text);
        let from = if fields.is_empty() {
            "CC_MODE 1, as it is not said".to_owned()
        } else {
            words(&fields)
        };
        let Some((_, name, is_here)) = MODES.into_iter().find(|(known, ..)| *known == mode) else {
            return Err(format!(
                "{}: the modes are {}",
                place(&fields),
                MODES.map(|(n, name, _)| format!("{n} {name}")).join(", ")
            ));
        };
        self.draft.text("transport", "kind", "dctcp", &from);
        let note = if is_here {
            "there DCTCP's law sets the rate of an RDMA sender, here it is TCP's window"
        } else {
            "that is not here: DCTCP stands in for it; compare it with others by `tidegate compare FILE --set \
             'transport.kind=[dctcp,homa,ndp]'`"
        };
        self.draft.note(format!("{from}: {name}; {note}"));
        if let (Some(gain), true) = (self.get("EWMA_GAIN"), is_here) {
            let value: f64 = number(&gain, 1)?;
            self.draft.raw(
                "transport.dctcp",
                0,
                "gain",
                format!("{value:?}"),
                &words(&gain),
            );
        }
        Ok(())
    }

    fn switch(&mut self) -> Result<(), String> {
        // A full switch pauses its neighbours there, whatever the configuration says. [hpcc artefact, switch-node.cc]
        self.draft.raw(
            "switch",
            0,
            "flow_control",
            "\"pfc\"".into(),
            "always on there",
        );
        if let Some(fields) = self.get("BUFFER_SIZE") {
            let mib: u64 = number(&fields, 1)?;
            if mib > 0 {
                self.draft.text(
                    "switch",
                    "shared_buffer",
                    &format!("{mib}MiB"),
                    &words(&fields),
                );
            }
        }
        if self.get("USE_DYNAMIC_PFC_THRESHOLD").is_some() && !self.on("USE_DYNAMIC_PFC_THRESHOLD")
        {
            self.draft.note("USE_DYNAMIC_PFC_THRESHOLD 0: its fixed threshold is not said in the file; set switch.pfc.xoff".into());
        }
        self.marks()
    }

    /// Thresholds of marks: as they are for one rate, or in proportion to it.
    fn marks(&mut self) -> Result<(), String> {
        let keys = [
            ("KMIN_MAP", "min"),
            ("KMAX_MAP", "max"),
            ("PMAX_MAP", "chance"),
        ];
        if !self.on("ENABLE_QCN") && self.get("ENABLE_QCN").is_some() {
            self.draft.note(
                "ENABLE_QCN 0: nothing is marked there; here ports mark as DCTCP asks for".into(),
            );
            return Ok(());
        }
        let rate = self.common_rate();
        for (map, key) in keys {
            let Some(fields) = self.get(map) else {
                continue;
            };
            let entries = entries(&fields)?;
            let Some(&(first, value)) = entries
                .iter()
                .find(|(at, _)| *at == rate)
                .or(entries.first())
            else {
                continue;
            };
            let like = |&(at, v): &(Rate, f64)| {
                (v * first.0 as f64).to_bits() == (value * at.0 as f64).to_bits()
            };
            let (value, note) = if key == "chance" {
                (
                    format!("{value:?}"),
                    entries.iter().any(|(_, v)| v.to_bits() != value.to_bits()),
                )
            } else if entries.len() > 1 && entries.iter().all(like) {
                (format!("\"{value}KB/{first}\""), false)
            } else {
                (
                    format!("\"{value}KB\""),
                    entries.iter().any(|(_, v)| v.to_bits() != value.to_bits()),
                )
            };
            self.draft
                .raw("switch.mark", 0, key, value, &words(&fields));
            if note {
                let note = format!(
                    "{}: one value for all ports here, that of {first}",
                    place(&fields)
                );
                self.draft.note(note);
            }
        }
        if self.draft.says("switch.mark", "min") {
            self.draft
                .raw("switch.mark", 0, "at", "\"dequeue\"".into(), "as there");
        }
        Ok(())
    }

    /// The rate of most hosts' cables.
    fn common_rate(&self) -> Rate {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        if let Some(graph) = &self.graph {
            let host = |n: u32| graph.nodes[n as usize].kind == NodeKind::Host;
            for cable in graph.cables.iter().filter(|c| host(c.a) || host(c.b)) {
                *counts.entry(cable.rate.0).or_default() += 1;
            }
        }
        let most = counts
            .into_iter()
            .max_by_key(|&(rate, count)| (count, rate));
        Rate(most.map_or(0, |(rate, _)| rate))
    }

    fn rest(&mut self, key: &str, fields: &[Field<'_>]) -> Result<(), String> {
        let from = words(fields);
        match key {
            "TOPOLOGY_FILE"
            | "FLOW_FILE"
            | "CC_MODE"
            | "BUFFER_SIZE"
            | "KMIN_MAP"
            | "KMAX_MAP"
            | "PMAX_MAP"
            | "ENABLE_QCN"
            | "USE_DYNAMIC_PFC_THRESHOLD" => {}
            "EWMA_GAIN" if self.draft.says("transport.dctcp", "gain") => {}
            "FCT_OUTPUT_FILE" => self.draft.raw(
                "output",
                0,
                "hpcc",
                "true".into(),
                "fct.txt, in the folder of the run",
            ),
            "SIMULATOR_STOP_TIME" => {
                let seconds: f64 = number(fields, 1)?;
                self.draft
                    .text("run", "until", &format!("{seconds}s"), &from);
            }
            "PACKET_PAYLOAD_SIZE" => {
                let payload: u64 = number(fields, 1)?;
                self.draft.text(
                    "run",
                    "mtu",
                    &Bytes(payload.saturating_add(HEADERS)).to_string(),
                    &from,
                );
            }
            "ERROR_RATE_PER_LINK" => {
                let chance: f64 = number(fields, 1)?;
                if chance > 0.0 {
                    let mut set =
                        |key, value: String| self.draft.raw("[faults]", 1, key, value, &from);
                    set("kind", "\"loss\"".into());
                    set("link", "\"* <-> *\"".into());
                    set("chance", format!("{chance:?}"));
                }
            }
            "LINK_DOWN" => self.failure(fields)?,
            _ => {
                let why = LEFT
                    .iter()
                    .find(|(keys, _)| keys.contains(&key))
                    .map(|(_, why)| *why);
                let why = why.unwrap_or(if key == "EWMA_GAIN" {
                    "it belongs to DCTCP, CC_MODE 8"
                } else {
                    "this key is not known here, and nothing came of it"
                });
                self.draft.note(format!("{}: {why}", place(fields)));
            }
        }
        Ok(())
    }

    /// `LINK_DOWN t a b`: the cable between two nodes fails t microseconds after second 2; three zeros are none.
    fn failure(&mut self, fields: &[Field<'_>]) -> Result<(), String> {
        let [at, a, b]: [u64; 3] = [number(fields, 1)?, number(fields, 2)?, number(fields, 3)?];
        if (at, a, b) == (0, 0, 0) {
            return Ok(());
        }
        let graph = self.graph.as_ref().expect("files come first");
        let topology = graph
            .build()
            .map_err(|e| format!("{}: {}", place(fields), e.0))?;
        let name = |id: u64| {
            node_name(graph, &topology, id)
                .ok_or_else(|| format!("{}: there is no node {id}", place(fields)))
        };
        let link = format!("{} <-> {}", name(a)?, name(b)?);
        let from = words(fields);
        let when = Span(FAILURES_FROM.0.saturating_add(at.saturating_mul(1_000_000)));
        let mut set = |key, value: String| self.draft.raw("[faults]", 2, key, value, &from);
        set("kind", "\"down\"".into());
        set("link", format!("{link:?}"));
        set("from", format!("\"{when}\""));
        Ok(())
    }
}

/// `n rate value rate value ...`.
fn entries(fields: &[Field<'_>]) -> Result<Vec<(Rate, f64)>, String> {
    let count: usize = number(fields, 1)?;
    if fields.len() != 2 + 2 * count {
        return Err(format!(
            "{}: {count} pairs of rate and value are announced",
            place(fields)
        ));
    }
    (0..count)
        .map(|i| Ok((Rate(number(fields, 2 + 2 * i)?), number(fields, 3 + 2 * i)?)))
        .collect()
}

/// The name of the node that the file calls `id`: hosts come first, then switches, each in the file's order.
fn node_name(graph: &Graph, topology: &Topology, id: u64) -> Option<String> {
    let node = graph.nodes.iter().find(|node| u64::from(node.id) == id)?;
    let mut alike = graph.nodes.iter().filter(|other| other.kind == node.kind);
    let at = alike.position(|other| other.id == node.id)?;
    let before = if node.kind == NodeKind::Host {
        0
    } else {
        topology.hosts as usize
    };
    Some(topology.nodes.get(before + at)?.name.to_string())
}
