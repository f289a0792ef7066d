//! The fabric before anything runs on it, small enough for a drawing; `report::motion` lets it move.

use scenario::Assembled;
use serde_json::{Value, json};
use units::Bytes;

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
        .map(|node| json!([node.name.as_str(), node.tier]))
        .collect();
    let cables = topology.links.iter().step_by(2);
    let cables: Vec<Value> = cables
        .map(|link| json!([link.from.0, link.to.0, results::human::rate(link.rate)]))
        .collect();
    json!({ "nodes": nodes, "cables": cables })
}

/// Bytes as people read them.
pub(crate) fn size(bytes: u64) -> String {
    results::human::bytes(Bytes(bytes))
}
