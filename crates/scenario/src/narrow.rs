//! Switches whose lines to other switches carry much less than those of their hosts, where ports trim.

use model::intent::{Over, PortSpec};
use results::human;
use std::sync::Arc;
use topology::Topology;
use units::Rate;

/// So many times more than a switch's lines to others, its hosts' are too many. [ours: the page of NDP has the runs]
const NARROW: u64 = 4;

/// Receivers pull at the rate of their own lines, whatever lies between: ports there trim what is pulled, again and again.
pub(crate) fn warning(topology: &Topology, ports: &[Arc<PortSpec>]) -> Option<String> {
    let mut rates = vec![[0u64; 2]; topology.nodes.len()];
    let mut trims = false;
    for (link, port) in topology.links.iter().zip(ports) {
        if !topology.is_host(link.from) {
            let to = usize::from(topology.is_host(link.to));
            let carried = &mut rates[link.from.index()][to];
            *carried = carried.saturating_add(link.rate.0);
            trims |= port
                .queues
                .iter()
                .any(|queue| matches!(queue.over, Over::Trim { .. }));
        }
    }
    let narrow = |&[up, down]: &[u64; 2]| up > 0 && down / NARROW >= up;
    let at = rates.iter().position(narrow).filter(|_| trims)?;
    let [up, down] = rates[at].map(|rate| human::rate(Rate(rate)));
    Some(format!(
        "hosts of {} have lines of {down}, and {up} go on from there: receivers pull at the rate of their own lines, so that \
         ports between may trim most of what is pulled, again and again, and messages may hardly go on. A smaller \
         first window, longer frames (run.mtu), fewer senders or another transport avoid it",
        topology.nodes[at].name
    ))
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use crate::resolve::Scenario;

    /// What is said of a leaf with four hosts of 40 Gb/s and these lines to two spines.
    fn said(kind: &str, uplinks: &str) -> Vec<String> {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"40Gbps\"\n\
             uplink_rate = \"{uplinks}\"\n[workload]\nkind = \"permutation\"\nsize = \"1MB\"\n[transport]\nkind = \"{kind}\"\n[switch]\nbalance = \"packet\"\n"
        );
        let run = load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
        let mut warnings = run.unwrap_or_else(|e| panic!("{e}")).warnings;
        warnings.retain(|warning| warning.contains("go on from there"));
        warnings
    }

    #[test]
    fn switches_that_trim_and_have_narrow_lines_to_others_are_named() {
        let warnings = said("ndp", "20Gbps");
        assert!(
            warnings[0].contains("hosts of tor0 have lines of 160 Gb/s, and 40 Gb/s go on"),
            "{warnings:?}"
        );
        assert!(said("ndp", "21Gbps").is_empty());
        assert!(said("ndp+aeolus", "20Gbps").is_empty() && said("phost", "20Gbps").is_empty());
    }
}
