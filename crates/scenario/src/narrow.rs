//! Switches from which hosts send on at much more than the lines to other switches carry, where ports trim.

use model::intent::{Over, PortSpec};
use results::human;
use std::sync::Arc;
use topology::{NodeId, Topology};
use units::Rate;
use workload::Traffic;

/// So many times more than a switch's lines to others, what its hosts send on is too much. [ours: the page of NDP has the
/// runs]
const NARROW: u64 = 4;

/// Receivers pull at the rate of their own lines, whatever lies between: ports there trim what is pulled, again and again.
pub(crate) fn warning(
    topology: &Topology,
    ports: &[Arc<PortSpec>],
    traffic: &Traffic,
) -> Option<String> {
    let trims = |port: &Arc<PortSpec>| {
        let mut queues = port.queues.iter();
        queues.any(|queue| matches!(queue.over, Over::Trim { .. }))
    };
    if !ports.iter().any(trims) {
        return None;
    }
    let mut onward = vec![0u64; topology.nodes.len()];
    for link in &topology.links {
        if !topology.is_host(link.from) && !topology.is_host(link.to) {
            let carried = &mut onward[link.from.index()];
            *carried = carried.saturating_add(link.rate.0);
        }
    }
    let wanted = wanted(topology, traffic);
    let narrow = |at: &usize| onward[*at] > 0 && wanted[*at] / NARROW >= onward[*at];
    let at = (0..topology.nodes.len()).find(narrow)?;
    let [wanted, onward] = [wanted[at], onward[at]].map(|rate| human::rate(Rate(rate)));
    Some(format!(
        "hosts of {} send on at up to {wanted}, and {onward} go on from there: receivers pull at the rate of their own lines, so \
         that ports between may trim most of what is pulled, again and again, and messages may hardly go on. A smaller \
         first window, longer frames (run.mtu), fewer senders or another transport avoid it",
        topology.nodes[at].name
    ))
}

/// For every switch, at what rate its hosts may send to those of others: no faster than the lines of those that do, nor
/// than those of the receivers.
fn wanted(topology: &Topology, traffic: &Traffic) -> Vec<u64> {
    let line = |host: u32| topology.nodes[host as usize].ports.first().copied();
    let at = |host| line(host).map(|link| topology.links[link.index()].to);
    let mut ends: Vec<(NodeId, bool, u32)> = Vec::new();
    for message in &traffic.messages {
        let conn = &traffic.conns[message.conn as usize];
        let (from, to) = match message.from_a {
            true => (conn.a, conn.b),
            false => (conn.b, conn.a),
        };
        if let (Some(here), Some(there)) = (at(from), at(to))
            && here != there
        {
            ends.extend([(here, false, from), (here, true, to)]);
        }
    }
    ends.sort_unstable();
    ends.dedup();
    let mut rates = vec![[0u64; 2]; topology.nodes.len()];
    for (here, receives, host) in ends {
        let lines = topology.nodes[host as usize].ports.iter();
        let rate = lines.map(|link| topology.links[link.index()].rate.0);
        let sum = &mut rates[here.index()][usize::from(receives)];
        *sum = rate.fold(*sum, u64::saturating_add);
    }
    rates.iter().map(|[from, to]| *from.min(to)).collect()
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use crate::resolve::Scenario;

    /// What is said of leaves with four hosts of 40 Gb/s and these lines to two spines, where this is sent.
    fn said_of(kind: &str, uplinks: &str, workload: &str) -> Vec<String> {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"40Gbps\"\n\
             uplink_rate = \"{uplinks}\"\n[workload]\n{workload}\n[transport]\nkind = \"{kind}\"\n[switch]\nbalance = \"packet\"\n"
        );
        let run = load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
        let mut warnings = run.unwrap_or_else(|e| panic!("{e}")).warnings;
        warnings.retain(|warning| warning.contains("go on from there"));
        warnings
    }

    fn said(kind: &str, uplinks: &str) -> Vec<String> {
        said_of(kind, uplinks, "kind = \"all-to-all\"\nsize = \"1MB\"")
    }

    #[test]
    fn switches_that_trim_and_have_narrow_lines_to_others_are_named() {
        let warnings = said("ndp", "20Gbps");
        assert!(
            warnings[0].contains("hosts of tor0 send on at up to 160 Gb/s, and 40 Gb/s go on"),
            "{warnings:?}"
        );
        assert!(said("ndp", "21Gbps").is_empty());
        assert!(said("ndp+aeolus", "20Gbps").is_empty() && said("phost", "20Gbps").is_empty());
    }
    #[test]
    fn only_what_crosses_counts() {
        let pairs = |pairs: &str| format!("kind = \"long-flows\"\npairs = [{pairs}]");
        // Hosts 0 to 3 are those of one leaf, and two lines of 5 Gb/s go on: flows within it, one that crosses, and all
        // to one host, which pulls as if one did.
        let within = pairs("\"0 -> 1\", \"1 -> 2\", \"2 -> 3\"");
        assert!(said_of("ndp", "5Gbps", &within).is_empty());
        let (one, all) = (
            "\"0 -> 4\"",
            "\"0 -> 4\", \"1 -> 4\", \"2 -> 4\", \"3 -> 4\"",
        );
        for crosses in [one, all] {
            assert_eq!(said_of("ndp", "5Gbps", &pairs(crosses)).len(), 1);
            assert!(said_of("ndp", "6Gbps", &pairs(crosses)).is_empty());
        }
    }
}
