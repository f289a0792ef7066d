//! The fabric and what happened on its lines, small enough for a drawing.

use results::RunRecord;
use scenario::Assembled;
use serde_json::{Value, json};
use units::{Bytes, Rate, Span};

/// Moments of a drawing that moves, at most: what a slider of a page can tell apart. [ours]
const MOMENTS_MAX: usize = 240;
/// Cables that a drawing has at most; more are a blot. [ours]
const CABLES_MAX: usize = 4_000;

/// Nodes with their tier, cables with their ends. Link 2n and 2n + 1 are the two directions of cable n.
/// `null` where the drawing would have too many cables.
pub(crate) fn drawing(run: &Assembled) -> Value {
    let topology = &run.topology;
    if topology.links.len() / 2 > CABLES_MAX {
        return Value::Null;
    }
    let nodes: Vec<Value> = topology
        .nodes
        .iter()
        .map(|node| json!([node.name, node.tier]))
        .collect();
    let cables = topology.links.iter().step_by(2);
    let cables: Vec<Value> = cables
        .map(|link| json!([link.from.0, link.to.0, results::human::rate(link.rate)]))
        .collect();
    json!({ "nodes": nodes, "cables": cables })
}

/// Queue and use of every sampled port over time. Of the samples that fall into one moment the drawing
/// has the fullest queue and the mean use.
pub(crate) fn motion(run: &RunRecord) -> Value {
    let mut times: Vec<u64> = run.port_series.iter().map(|row| row.at.0).collect();
    times.dedup();
    if times.len() < 2 {
        return Value::Null;
    }
    let stride = times.len().div_ceil(MOMENTS_MAX);
    let moments = times.len().div_ceil(stride);
    let mut ports: Vec<Option<Port>> = vec![None; run.ports.len()];
    let mut now = 0;
    for row in &run.port_series {
        while times[now] < row.at.0 {
            now += 1;
        }
        let port = &mut ports[row.link as usize];
        let port = port.get_or_insert_with(|| Port::new(moments));
        let moment = now / stride;
        port.queue[moment] = port.queue[moment].max(row.queue);
        port.sent[moment] = row.sent.sum();
    }
    let last = |moment: usize| times[((moment + 1) * stride).min(times.len()) - 1];
    let ends: Vec<u64> = (0..moments).map(last).collect();
    let mut found = serde_json::Map::new();
    for (link, port) in ports.into_iter().enumerate() {
        // A port that never had anything to do is drawn as one that has none of it.
        let Some(port) = port.filter(|port| port.sent.last() > Some(&0)) else {
            continue;
        };
        let used = port.used(&ends, run.ports[link].rate);
        found.insert(link.to_string(), json!([port.queue, used]));
    }
    json!({ "ends_ps": ends, "ports": found })
}

/// What one port did, by moment.
#[derive(Clone)]
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
        let (mut told, mut carried, mut from) = (0, 0, 0);
        let moments = self.sent.iter().zip(ends).map(|(&sent, &end)| {
            let room = rate.bytes_in(Span(end - from)).0.max(1);
            // A moment without a sample has none, and the count stands.
            told = sent.max(told);
            let leaves = room.min(told - carried);
            (carried, from) = (carried + leaves, end);
            leaves * 100 / room
        });
        moments.collect()
    }
}

/// Bytes as people read them.
pub(crate) fn size(bytes: u64) -> String {
    results::human::bytes(Bytes(bytes))
}
