//! All shortest ways between two nodes, taken together: what bounds the time that a message takes.

use crate::{Link, NodeId, Routes, Topology};
use std::collections::BTreeMap;
use units::{Rate, Span};

/// The links of all shortest ways that are equally far from their beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage {
    /// How many there are.
    pub links: u32,
    /// Rate of the fastest.
    pub fastest: Rate,
    /// Rate of all of them together.
    pub together: Rate,
}

impl Stage {
    /// A stage of one link.
    pub fn of(link: &Link) -> Self {
        Self {
            links: 1,
            fastest: link.rate,
            together: link.rate,
        }
    }

    fn add(&mut self, rate: Rate) {
        self.links += 1;
        self.fastest = self.fastest.max(rate);
        self.together = Rate(self.together.0.saturating_add(rate.0));
    }
}

/// All shortest ways between two nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Between {
    /// Propagation on the way where it is shortest.
    pub delay: Span,
    /// From the first links to the last ones.
    pub stages: Vec<Stage>,
}

impl Between {
    /// Whether there is one way alone.
    pub fn is_one(&self) -> bool {
        self.stages.iter().all(|stage| stage.links == 1)
    }
}

impl Topology {
    /// All shortest ways that packets for host `to_host` take from `from` to `to`, a node that all of them meet; no
    /// stages where there is none, or where the two are one.
    pub fn between(&self, routes: &Routes, from: NodeId, to: NodeId, to_host: u32) -> Between {
        // All ways advance together, so a node is met with all of them at once.
        let mut reached = BTreeMap::from([(from, Span::ZERO)]);
        let mut stages = Vec::new();
        loop {
            if let Some(&delay) = reached.get(&to) {
                return Between { delay, stages };
            }
            let mut further: BTreeMap<NodeId, Span> = BTreeMap::new();
            let mut stage: Option<Stage> = None;
            for (&at, &so_far) in &reached {
                for &way in routes.next_hops(at, to_host) {
                    let link = self.link(self.node(at).ports[usize::from(way)]);
                    let delay = so_far + link.delay;
                    let least = further.entry(link.to).or_insert(delay);
                    *least = delay.min(*least);
                    match &mut stage {
                        Some(stage) => stage.add(link.rate),
                        None => stage = Some(Stage::of(link)),
                    }
                }
            }
            let Some(stage) = stage else {
                return Between::default();
            };
            stages.push(stage);
            reached = further;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FatTree, LeafSpine, Spec};

    #[test]
    fn parallel_links_of_a_fat_tree_count_together() {
        let (rate, delay) = (Rate::gbps(10), Span::us(1));
        let spec = FatTree {
            k: 4,
            hosts_per_edge: None,
            rate,
            delay,
            host_extra_delay: Span::us(3),
        };
        let topology = Spec::FatTree(spec).build().unwrap();
        let routes = Routes::new(&topology, &[]);
        let between = |to| topology.between(&routes, NodeId(0), NodeId(to), to);
        let links = |to| -> Vec<u32> { between(to).stages.iter().map(|s| s.links).collect() };
        assert_eq!(links(15), [1, 2, 4, 4, 2, 1]);
        assert_eq!(links(2), [1, 2, 2, 1]);
        assert_eq!(links(1), [1, 1]);
        assert!(between(1).is_one() && !between(2).is_one());
        assert_eq!(between(0), Between::default());
        let path = crate::path(&topology, &routes, 0, 15, 7);
        let delay: Span = path.iter().map(|&id| topology.link(id).delay).sum();
        assert_eq!(between(15).delay, delay);
        assert_eq!(between(15).stages[2].together, Rate::gbps(40));
        assert_eq!(between(15).stages[2].fastest, Rate::gbps(10));
    }

    #[test]
    fn slow_uplinks_add_up() {
        let spec = LeafSpine {
            leaves: 2,
            spines: 4,
            hosts_per_leaf: 1,
            host_rate: Rate::gbps(100),
            uplink_rate: Rate::gbps(25),
            host_delay: Span::us(1),
            uplink_delay: Span::us(1),
            host_extra_delay: Span::ZERO,
        };
        let topology = Spec::LeafSpine(spec).build().unwrap();
        let routes = Routes::new(&topology, &[]);
        let found = topology.between(&routes, NodeId(0), NodeId(1), 1);
        let rates: Vec<_> = found.stages.iter().map(|s| s.together.as_gbps()).collect();
        assert_eq!(rates, [100.0, 100.0, 100.0, 100.0]);
        assert_eq!(found.delay, Span::us(4));
    }
}
