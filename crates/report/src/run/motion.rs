//! The network in motion: nodes and cables, what each port held and sent moment by moment, the messages at each host,
//! and the packets of the messages that are explained. `assets/fabric.js` draws it, here and in the playground.

use crate::page::{Section, markup};
use results::{FlowRow, LinkSamples, RunRecord, Way};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use units::{Rate, Span, Time};

/// Moments of a drawing that moves, at most: what a slider of a page can tell apart. [ours]
const MOMENTS_MAX: usize = 240;
/// Moments that remain where there are many ports. [ours]
const MOMENTS_MIN: usize = 60;
/// Ports times moments of a report, at most: some 200 KB. [ours]
const CELLS_MAX: usize = 40_000;
/// Cables that a drawing has at most; more are a blot. [ours]
const CABLES_MAX: usize = 4_000;
/// Packets of one message that are drawn. [ours]
const PACKETS_MAX: usize = 200;

/// What stands around the drawing; `assets/fabric.js` finds its parts by their names.
const BODY: &str = include_str!("../../assets/fabric.html");

/// The section, and what its script draws.
pub(super) fn section(run: &RunRecord, links: &[LinkSamples<'_>]) -> Option<(Section, String)> {
    let network = drawing(run)?;
    let moving = motion_within(run, links, CELLS_MAX);
    let mut says = if moving.is_none() {
        format!(
            "Nothing moves here, because ports were sampled less than twice: give output.every a short time, like --set \
             output.every={}, and take no part of the ports away by output.ports.",
            often(run.end)
        )
    } else {
        "Hosts are below, switches above. Each half of a cable belongs to the port at its end and shows what \
         waited there, or how busy its line was, at the moment of the slider. A click on a cable shows its \
         port and the messages there."
            .to_owned()
    };
    if !run.why.is_empty() {
        says += " A message that is explained below can be watched packet by packet.";
    }
    let points = moving.as_ref().map_or(0, |moving| moving.ports.len());
    let nodes = numbers(run);
    let data = Drawn {
        messages: messages(run, &nodes),
        motion: moving,
        network,
        watched: watched(run, &nodes),
    };
    let section = Section {
        id: "network".into(),
        title: "The network in motion".into(),
        says,
        body: markup(BODY.into()),
        points,
        table: None,
        fold: "",
        wide: true,
    };
    let data = serde_json::to_string(&data);
    Some((
        section,
        data.expect("names are strings and numbers are whole"),
    ))
}

/// What the script draws.
#[derive(Serialize)]
struct Drawn {
    messages: Vec<Value>,
    motion: Option<Motion>,
    network: Value,
    watched: Vec<Value>,
}

/// What ports held and sent, moment by moment.
#[derive(Serialize)]
pub struct Motion {
    /// When each moment ends.
    ends_ps: Vec<u64>,
    /// By the number of the link: the most bytes that waited, and per cent of the line's time, in each moment.
    ports: BTreeMap<String, (Vec<u64>, Vec<u64>)>,
}

/// Every node's number in the drawing, in the order in which links name them.
fn numbers(run: &RunRecord) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for port in &run.ports {
        for name in [port.from.as_str(), port.to.as_str()] {
            let next = found.len();
            found.entry(name).or_insert(next);
        }
    }
    found
}

/// Nodes with their tier, cables with their ends. Link 2n and 2n + 1 are the two directions of cable n. None where
/// the drawing would have too many cables.
fn drawing(run: &RunRecord) -> Option<Value> {
    if run.ports.is_empty() || run.ports.len() / 2 > CABLES_MAX {
        return None;
    }
    let found = numbers(run);
    let mut nodes = vec![Value::Null; found.len()];
    let mut cables = Vec::new();
    for pair in run.ports.chunks(2) {
        let [there, back] = pair else { return None };
        if (&there.from, &there.to) != (&back.to, &back.from) {
            return None;
        }
        let (from, to) = (found[there.from.as_str()], found[there.to.as_str()]);
        nodes[from] = json!([there.from, there.from_tier]);
        nodes[to] = json!([there.to, there.to_tier]);
        cables.push(json!([from, to, results::human::rate(there.rate)]));
    }
    let began = run.flows.iter().filter(|flow| flow.start.is_some()).count();
    let spread = run.ways.iter().any(|way| way.spread);
    let ways = json!({ "known": run.ways.len(), "spread": spread });
    Some(json!({ "nodes": nodes, "cables": cables, "messages": began, "ways": ways }))
}

/// A round time of which a run that ends at `end` has ten or more.
fn often(end: Time) -> Span {
    let mut round = Span(1);
    while round.0 <= end.0 / 100 {
        round = round.times(10);
    }
    round
}

/// Queue and use of every sampled port over time. Of the samples that fall into one moment the drawing
/// has the fullest queue and the mean use. None where there are fewer than two moments.
pub fn motion(run: &RunRecord) -> Option<Motion> {
    motion_within(run, &run.port_series.by_link(), usize::MAX)
}

/// The same with so many cells at most: first moments become longer, then the ports that sent least are left out.
fn motion_within(run: &RunRecord, links: &[LinkSamples<'_>], cells: usize) -> Option<Motion> {
    let times = run.port_series.moments();
    if times.len() < 2 {
        return None;
    }
    let mut links: Vec<&LinkSamples<'_>> = links.iter().collect();
    // A port that never had anything to do is drawn as one that has none of it.
    let seen = |of: &&LinkSamples<'_>| of.stretches.last().map_or(0, |(_, row)| row.sent.sum());
    links.retain(|of| seen(of) > 0);
    links.sort_by_key(|of| (std::cmp::Reverse(seen(of)), of.link));
    links.truncate(cells / MOMENTS_MIN);
    let most = (cells / links.len().max(1)).clamp(MOMENTS_MIN, MOMENTS_MAX);
    let stride = times.len().div_ceil(most);
    let moments = times.len().div_ceil(stride);
    let last = |moment: usize| times[((moment + 1) * stride).min(times.len()) - 1].0;
    let ends: Vec<u64> = (0..moments).map(last).collect();
    let port = |of: &LinkSamples<'_>| {
        let mut port = Port::new(moments);
        let mut moment = 0;
        for (during, row) in &of.stretches {
            let sent = row.sent.sum();
            while during.start >= (moment + 1) * stride {
                moment += 1;
            }
            loop {
                port.queue[moment] = port.queue[moment].max(row.queue);
                port.sent[moment] = sent;
                if during.end <= (moment + 1) * stride {
                    break;
                }
                moment += 1;
            }
        }
        let used = port.used(&ends, run.ports[of.link as usize].rate);
        (of.link.to_string(), (port.queue, used))
    };
    Some(Motion {
        ports: links.into_iter().map(port).collect(),
        ends_ps: ends,
    })
}

/// What one port did, by moment.
struct Port {
    /// The most bytes that waited.
    queue: Vec<u64>,
    /// Bytes sent up to the end of the moment.
    sent: Vec<u64>,
}

impl Port {
    fn new(moments: usize) -> Self {
        Self {
            queue: vec![0; moments],
            sent: vec![0; moments],
        }
    }

    /// Per cent of the line's time in each moment. A sample counts what is decided, so that a burst may
    /// show more than the line carries: the rest leaves in the moments that follow.
    fn used(&self, ends: &[u64], rate: Rate) -> Vec<u64> {
        let (mut carried, mut from) = (0, 0);
        let moments = self.sent.iter().zip(ends).map(|(&sent, &end)| {
            let room = rate.bytes_in(Span(end - from)).0.max(1);
            let leaves = room.min(sent - carried);
            (carried, from) = (carried + leaves, end);
            leaves * 100 / room
        });
        moments.collect()
    }
}

/// Messages by their number, sender and receiver, size, begin, end and the links between switches that their data
/// crosses; those that took longest, in their order.
fn messages(run: &RunRecord, nodes: &BTreeMap<&str, usize>) -> Vec<Value> {
    let mut all = run.longest();
    all.sort_by_key(|&(_, flow)| flow.message);
    let ways: BTreeMap<u32, &Way> = run.ways.iter().map(|way| (way.message, way)).collect();
    let told = |(took, flow): (u64, &FlowRow)| {
        let node = |host: u32| nodes.get(run.host(host).as_str()).copied();
        let start = flow.start?.0;
        let (from, to) = (node(flow.src)?, node(flow.dst)?);
        Some(json!([
            flow.message,
            from,
            to,
            flow.size,
            start,
            start + took,
            ways.get(&flow.message).map(|way| &way.links),
        ]))
    };
    all.into_iter().filter_map(told).collect()
}

/// Messages whose packets were traced: each packet with its class, whether it is on the way that counts, and its links
/// as node, node, first bit out, last bit in.
fn watched(run: &RunRecord, nodes: &BTreeMap<&str, usize>) -> Vec<Value> {
    let each = run.why.iter().map(|why| {
        let mut rows: Vec<_> = why.packets.iter().collect();
        // Those on which the completion time depends, then the first.
        rows.sort_by_key(|row| (!row.on_path, row.sent_ps));
        rows.truncate(PACKETS_MAX);
        rows.sort_by_key(|row| row.sent_ps);
        let packet = |row: &results::trace::Row| {
            let hop = |hop: &(String, String, u64, u64)| {
                let (from, to) = (nodes.get(hop.0.as_str())?, nodes.get(hop.1.as_str())?);
                Some(json!([from, to, hop.2, hop.3]))
            };
            let hops: Vec<Value> = row.hops.iter().filter_map(hop).collect();
            json!([row.class, u8::from(row.on_path), hops])
        };
        json!({
            "message": why.message,
            "name": format!("message {}, {} to {}", why.message, why.src, why.dst),
            "start_ps": why.start_ps,
            "end_ps": why.end_ps,
            "packets": rows.into_iter().map(packet).collect::<Vec<_>>(),
        })
    });
    each.collect()
}
