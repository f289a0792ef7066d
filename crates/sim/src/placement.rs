//! Which thread runs which node.

use crate::setup::Setup;

/// Gives every node a place in the activity sets, such that no 64-bit word has two owners: hosts in
/// equal blocks, a switch that has hosts with the first of them, the others in turn.
#[allow(
    clippy::type_complexity,
    reason = "three parallel tables, named where they are used"
)]
pub(crate) fn share_out(
    setup: &Setup<'_>,
    threads: usize,
) -> (Vec<u32>, Vec<u32>, Vec<std::ops::Range<usize>>) {
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
    let (mut bit_of, mut node_at) = (vec![0u32; topology.nodes.len()], Vec::new());
    let mut words_of = Vec::new();
    for thread in 0..threads {
        let first = node_at.len() / 64;
        for node in (0..topology.nodes.len()).filter(|&node| owner[node] == thread) {
            bit_of[node] = u32::try_from(node_at.len()).expect("fewer than 2^32 nodes");
            node_at.push(u32::try_from(node).expect("fewer than 2^32 nodes"));
        }
        node_at.resize(node_at.len().next_multiple_of(64), u32::MAX);
        words_of.push(first..node_at.len() / 64);
    }
    (bit_of, node_at, words_of)
}
