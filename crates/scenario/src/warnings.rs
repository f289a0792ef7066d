//! What a user should know before trusting the numbers of a run.

use crate::network;
use crate::network::legacy::Legacy;
use crate::resolve::Scenario;
use model::intent::Balance;
use topology::{Routes, Topology};
use units::Rate;

/// Pairs of hosts whose two directions are compared. [ours: each takes about a microsecond]
const SYMMETRY_SAMPLES: u32 = 10_000;

/// What is odd about a scenario, a sentence each.
pub(crate) fn warnings(
    scenario: &Scenario,
    legacy: Option<Legacy>,
    topology: &Topology,
    routes: &Routes,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let credits = scenario
        .factory
        .fabric(Rate::gbps(100), network::encap(&scenario.run))
        .credit
        .is_some();
    if credits
        && let Some(asymmetric) = topology::check_symmetry(topology, routes, SYMMETRY_SAMPLES)
    {
        warnings.push(format!(
            "credits and data take different ways ({asymmetric:?}): queues may grow beyond their \
             bound; set topology.order = \"neighbour\""
        ));
    }
    if let Some(beside) = scenario.beside.first()
        && credits
        && !legacy.is_some_and(|legacy| legacy.own)
    {
        warnings.push(format!(
            "{} shares the queues of credited data, which may be lost then; set switch.legacy.queue = \
             \"own\"",
            beside.protocol.name()
        ));
    }
    if credits && network::switch(&scenario.switch).balance != Balance::Flow {
        warnings.push(
            "packets are spread over all paths: credits overtake each other and count as lost"
                .to_owned(),
        );
    }
    warnings
}
