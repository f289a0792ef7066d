//! All shortest ways between two nodes, taken together: what bounds the time that a message takes.

use crate::{Link, NodeId, Routes, Topology, index32};
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

/// Room for the search of [`Topology::between`], kept from one to the next: a large fabric has many pairs.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Nodes that all ways so far end at, each with the least propagation.
    here: Vec<(NodeId, Span)>,
    /// Those one link further.
    further: Vec<(NodeId, Span)>,
    /// By node, its place in `further`, or [`AWAY`].
    place: Vec<u32>,
}

/// The place of a node that is not there.
const AWAY: u32 = u32::MAX;

impl Reached {
    /// Goes on over `link` from a node that is `so_far` away.
    fn over(&mut self, link: &Link, so_far: Span) {
        let delay = so_far + link.delay;
        let place = &mut self.place[link.to.index()];
        if *place == AWAY {
            *place = index32(self.further.len());
            self.further.push((link.to, delay));
        } else {
            let least = &mut self.further[*place as usize].1;
            *least = delay.min(*least);
        }
    }

    /// Takes the step, and says how far `to` is if it has been met.
    fn step(&mut self, to: NodeId) -> Option<Span> {
        let place = self.place[to.index()];
        let met = (place != AWAY).then(|| self.further[place as usize].1);
        for (node, _) in &self.further {
            self.place[node.index()] = AWAY;
        }
        std::mem::swap(&mut self.here, &mut self.further);
        self.further.clear();
        met
    }
}

impl Topology {
    /// All shortest ways that packets for host `to_host` take from `from` to `to`, a node that all of them meet; no
    /// stages where there is none, or where the two are one.
    pub fn between(
        &self,
        routes: &Routes,
        (from, to): (NodeId, NodeId),
        to_host: u32,
        room: &mut Reached,
    ) -> Between {
        let mut found = Between::default();
        if from == to {
            return found;
        }
        room.place.resize(self.nodes.len(), AWAY);
        room.here.clear();
        room.here.push((from, Span::ZERO));
        // All ways advance together, so a node is met with all of them at once.
        loop {
            let mut stage: Option<Stage> = None;
            for place in 0..room.here.len() {
                let (at, so_far) = room.here[place];
                let ports = &self.node(at).ports;
                for &way in routes.next_hops(at, to_host) {
                    let link = self.link(ports[usize::from(way)]);
                    room.over(link, so_far);
                    match &mut stage {
                        Some(stage) => stage.add(link.rate),
                        None => stage = Some(Stage::of(link)),
                    }
                }
            }
            let Some(stage) = stage else {
                return Between::default();
            };
            found.stages.push(stage);
            if let Some(delay) = room.step(to) {
                found.delay = delay;
                return found;
            }
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
        let mut room = Reached::default();
        let mut between = |to| topology.between(&routes, (NodeId(0), NodeId(to)), to, &mut room);
        let links = |of: Between| -> Vec<u32> { of.stages.iter().map(|s| s.links).collect() };
        assert_eq!(links(between(15)), [1, 2, 4, 4, 2, 1]);
        assert_eq!(links(between(2)), [1, 2, 2, 1]);
        assert_eq!(links(between(1)), [1, 1]);
        assert!(between(1).is_one() && !between(2).is_one());
        assert_eq!(between(0), Between::default());
        let path = crate::path(&topology, &routes, 0, 15, 7);
        let delay: Span = path.iter().map(|&id| topology.link(id).delay).sum();
        assert_eq!(between(15).delay, delay);
        assert_eq!(between(15).stages[2].together, Rate::gbps(40));
        assert_eq!(between(15).stages[2].fastest, Rate::gbps(10));
    }

    /// Every shortest way from `at` to host `to`, as links.
    fn all_ways(topology: &Topology, routes: &Routes, at: NodeId, to: u32) -> Vec<Vec<Link>> {
        if at.0 == to {
            return vec![Vec::new()];
        }
        let mut found = Vec::new();
        for &way in routes.next_hops(at, to) {
            let link = topology.link(topology.node(at).ports[usize::from(way)]);
            for rest in all_ways(topology, routes, link.to, to) {
                found.push([&[*link][..], &rest].concat());
            }
        }
        found
    }

    #[test]
    fn all_ways_one_by_one_have_the_least_delay_and_as_many_links() {
        let spec = FatTree {
            k: 4,
            hosts_per_edge: None,
            rate: Rate::gbps(10),
            delay: Span::us(1),
            host_extra_delay: Span::ZERO,
        };
        let mut topology = Spec::FatTree(spec).build().unwrap();
        for (number, link) in topology.links.iter_mut().enumerate() {
            link.delay = Span(1_000_000 + (number as u64 * 7919) % 5_003);
        }
        let routes = Routes::new(&topology, &[]);
        let mut room = Reached::default();
        for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))) {
            let ends = (NodeId(from), NodeId(to));
            let found = topology.between(&routes, ends, to, &mut room);
            let ways = all_ways(&topology, &routes, NodeId(from), to);
            let delays = ways
                .iter()
                .map(|way| way.iter().map(|link| link.delay).sum::<Span>());
            assert_eq!(Some(found.delay), delays.min(), "{from} to {to}");
            for (place, stage) in found.stages.iter().enumerate() {
                let mut links: Vec<_> = ways
                    .iter()
                    .map(|way| (way[place].from, way[place].to))
                    .collect();
                links.sort_unstable();
                links.dedup();
                assert_eq!(stage.links as usize, links.len(), "{from} to {to}");
            }
        }
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
        let found = topology.between(&routes, (NodeId(0), NodeId(1)), 1, &mut Reached::default());
        let rates: Vec<_> = found.stages.iter().map(|s| s.together.as_gbps()).collect();
        assert_eq!(rates, [100.0, 100.0, 100.0, 100.0]);
        assert_eq!(found.delay, Span::us(4));
    }
}
