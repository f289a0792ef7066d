//! Which lines between switches the data of a message crosses, for a report that asks at a line who is there.

use crate::assemble::Assembled;
use results::{RunRecord, Way};
use sim::FaultKind;
use std::collections::BTreeSet;
use topology::{LinkId, NodeId, NodeKind};

/// Lines of all ways together that a record keeps, 40 KB of a report. [ours]
const LINES_MAX: usize = 10_000;

impl Assembled {
    /// The ways of the messages that took longest, as far as [`LINES_MAX`] reaches. None where cables break: ways change
    /// then, and nobody noted when.
    pub(crate) fn ways(&self, record: &RunRecord) -> Vec<Way> {
        let down = |kind: &FaultKind| matches!(kind, FaultKind::Down { .. });
        if self.faults.iter().any(|fault| down(&fault.kind)) {
            return Vec::new();
        }
        let spreads = self.scenario.spreads();
        let mut room = LINES_MAX;
        let ways = record.longest().into_iter().map(|(_, flow)| {
            let spread = spreads[usize::from(flow.transport)];
            let mut links = if spread {
                self.all_ways(flow.src, flow.dst)
            } else {
                topology::path(&self.topology, &self.routes, flow.src, flow.dst, flow.conn)
            };
            let switch = |node| self.topology.node(node).kind == NodeKind::Switch;
            links.retain(|&link| {
                let link = self.topology.link(link);
                switch(link.from) && switch(link.to)
            });
            Way {
                message: flow.message,
                links: links.into_iter().map(|link| link.0).collect(),
                spread,
            }
        });
        let fits = |way: &Way| {
            let left = room.checked_sub(way.links.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        ways.take_while(fits).collect()
    }

    /// Every line of every shortest way from host to host.
    fn all_ways(&self, src: u32, dst: u32) -> Vec<LinkId> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![NodeId(src)]);
        while let Some(at) = open.pop() {
            let ports = &self.topology.node(at).ports;
            for &way in self.routes.next_hops(at, dst) {
                let link = ports[usize::from(way)];
                if seen.insert(link) {
                    open.push(self.topology.link(link).to);
                }
            }
        }
        seen.into_iter().collect()
    }
}
