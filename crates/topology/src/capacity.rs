//! What a fabric can carry, for the definitions of load.

use crate::{NodeId, Topology};
use units::Rate;

/// How many ordered pairs of different hosts there are, and how many of them need an uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Pairs behind different switches.
    pub crossing: u64,
    /// All pairs.
    pub pairs: u64,
}

impl Crossing {
    /// The share of uniformly drawn pairs that crosses an uplink.
    pub fn share(self) -> f64 {
        if self.pairs == 0 {
            0.0
        } else {
            self.crossing as f64 / self.pairs as f64
        }
    }
}

impl Topology {
    /// What all hosts together can send.
    pub fn host_rate(&self) -> Rate {
        self.sum(|from, _| self.is_host(from))
    }

    /// What all switches with hosts together can send to other switches: the uplinks of the racks.
    /// In a dumbbell or a parking lot these are the bottlenecks, in both directions.
    pub fn uplink_rate(&self) -> Rate {
        let mut edge = vec![false; self.nodes.len()];
        for link in self.links.iter().filter(|link| self.is_host(link.from)) {
            edge[link.to.index()] = true;
        }
        self.sum(|from, to| edge[from.index()] && !self.is_host(from) && !self.is_host(to))
    }

    /// What all nodes of one tier together can send to nodes of another.
    pub fn tier_rate(&self, from: u8, to: u8) -> Rate {
        self.sum(|a, b| self.node(a).tier == from && self.node(b).tier == to)
    }

    /// Ordered pairs of hosts, and those of them behind different switches.
    pub fn crossing(&self) -> Crossing {
        let hosts = u64::from(self.hosts);
        let pairs = hosts * hosts.saturating_sub(1);
        // Hosts with several cables count by their first one.
        let mut behind = vec![0u64; self.nodes.len()];
        for node in &self.nodes[..self.hosts as usize] {
            if let Some(&first) = node.ports.first() {
                behind[self.link(first).to.index()] += 1;
            }
        }
        let local: u64 = behind.iter().map(|&n| n * n.saturating_sub(1)).sum();
        Crossing {
            crossing: pairs - local,
            pairs,
        }
    }

    fn sum(&self, counts: impl Fn(NodeId, NodeId) -> bool) -> Rate {
        let links = self.links.iter().filter(|link| counts(link.from, link.to));
        Rate(links.fold(0, |sum, link| sum.saturating_add(link.rate.0)))
    }
}
