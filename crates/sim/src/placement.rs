//! Which thread runs which node, and which nodes take turns.

use crate::setup::Setup;
use std::ops::Range;
use topology::Topology;

/// The nodes' places in the activity sets.
pub(crate) struct Places {
    /// By node: its place.
    pub(crate) bit_of: Vec<u32>,
    /// By place: the node.
    pub(crate) node_at: Vec<u32>,
    /// By side, then by thread: its words.
    pub(crate) words_of: Vec<Vec<Range<usize>>>,
    /// The first place of the second side, where there is one.
    pub(crate) second: Option<u32>,
}

/// Gives every node a place in the activity sets, such that no 64-bit word has two owners or two sides: hosts in
/// equal blocks, a switch that has hosts with the first of them, the others in turn.
pub(crate) fn share_out(setup: &Setup<'_>, threads: usize) -> Places {
    let topology = &setup.topology;
    let hosts = topology.hosts as usize;
    let mut in_turn = 0;
    let owner: Vec<usize> = (0..topology.nodes.len())
        .map(|node| {
            let neighbours = topology.nodes[node]
                .ports
                .iter()
                .map(|&p| topology.link(p).to.index());
            let host = if node < hosts {
                Some(node)
            } else {
                neighbours.filter(|&n| n < hosts).min()
            };
            host.map_or_else(
                || {
                    in_turn += 1;
                    in_turn % threads
                },
                |host| host * threads / hosts,
            )
        })
        .collect();
    let place = |node_at: &Vec<u32>| u32::try_from(node_at.len()).expect("fewer than 2^32 nodes");
    let turns = takes_turns(setup) && has_sides(topology);
    let (mut bit_of, mut node_at) = (vec![0u32; topology.nodes.len()], Vec::new());
    let (mut words_of, mut second) = (Vec::new(), None);
    for side in 0..if turns { 2 } else { 1 } {
        second = (side == 1).then(|| place(&node_at));
        let here = |node: usize| !turns || topology.nodes[node].tier % 2 == side;
        let words = (0..threads).map(|thread| {
            let first = node_at.len() / 64;
            for node in (0..topology.nodes.len()).filter(|&n| owner[n] == thread && here(n)) {
                bit_of[node] = place(&node_at);
                node_at.push(u32::try_from(node).expect("fewer than 2^32 nodes"));
            }
            node_at.resize(node_at.len().next_multiple_of(64), u32::MAX);
            first..node_at.len() / 64
        });
        words_of.push(words.collect());
    }
    Places {
        bit_of,
        node_at,
        words_of,
        second,
    }
}

/// Whether nodes may take turns: not where something between windows looks for circles of waiting ports, carries news
/// from host to host, or follows the window in which a packet came.
fn takes_turns(setup: &Setup<'_>) -> bool {
    setup.control.is_none() && setup.traffic.triggers.is_empty() && setup.faults.is_empty()
}

/// Whether each link joins both sides of the fabric: nodes of even tiers, and nodes of odd ones. Hosts have the tier 0.
fn has_sides(topology: &Topology) -> bool {
    let side = |node| topology.node(node).tier % 2;
    let mut links = topology.links.iter();
    links.all(|link| side(link.from) != side(link.to))
}
