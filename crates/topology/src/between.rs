//! All shortest ways between two hosts, taken together: what bounds the time that a message takes.

use crate::{Link, NodeId, Routes, Topology, index32};
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

/// All shortest ways between two hosts.
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

/// Finds the ways between pairs of hosts. Most of them are common to many pairs, and nothing is looked at twice: nodes
/// that are reached together are a *front*; it goes on alike to all hosts for which its nodes have the same entries; and
/// what follows a front on the way to an edge is known once it was found.
#[derive(Debug)]
pub struct ShortestWays<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    fronts: Vec<Front>,
    /// By nodes, the place of their front.
    places: BTreeMap<Nodes, u32>,
    rests: Vec<Rest>,
    /// By front and edge, the place of what follows.
    known: BTreeMap<(u32, u32), u32>,
    room: Room,
}

/// Nodes that all ways so far end at, each with how much more propagation it is away than the nearest.
type Nodes = Box<[(NodeId, Span)]>;

#[derive(Debug)]
struct Front {
    nodes: Nodes,
    steps: Vec<Step>,
}

/// How a front goes on.
#[derive(Debug)]
struct Step {
    /// What routes say at each of its nodes where it goes on so.
    entries: Box<[u32]>,
    taken: Taken,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    stage: Stage,
    /// Propagation from the nearest node of the front to the nearest of the next.
    delay: Span,
    next: u32,
}

/// What follows a front, from its nearest node to the end.
#[derive(Debug)]
struct Rest {
    delay: Span,
    stage: Stage,
    /// The place of what follows this stage; [`AWAY`] at the end.
    next: u32,
}

/// Lists that a step needs, kept from one to the next.
#[derive(Debug)]
struct Room {
    entries: Vec<u32>,
    /// The nodes of the next front, each with the least propagation.
    further: Vec<(NodeId, Span)>,
    /// By node, its place in `further`, or [`AWAY`].
    place: Vec<u32>,
    /// Fronts on the way to what is known, with the steps that they took.
    passed: Vec<(u32, Taken)>,
}

/// The place of what is not there.
const AWAY: u32 = u32::MAX;

impl Room {
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

    /// The next front, and how far its nearest node is.
    fn take(&mut self) -> (Nodes, Span) {
        let delays = self.further.iter().map(|&(_, delay)| delay);
        let nearest = delays.min().unwrap_or(Span::ZERO);
        let nodes = self.further.drain(..).map(|(node, delay)| {
            self.place[node.index()] = AWAY;
            (node, Span(delay.0 - nearest.0))
        });
        (nodes.collect(), nearest)
    }
}

impl<'a> ShortestWays<'a> {
    /// For pairs of hosts of `topology` with these `routes`.
    pub fn new(topology: &'a Topology, routes: &'a Routes) -> Self {
        Self {
            topology,
            routes,
            fronts: Vec::new(),
            places: BTreeMap::new(),
            rests: Vec::new(),
            known: BTreeMap::new(),
            room: Room {
                entries: Vec::new(),
                further: Vec::new(),
                place: vec![AWAY; topology.nodes.len()],
                passed: Vec::new(),
            },
        }
    }

    /// All shortest ways from host `src` to host `dst`; where there is none, their own lines alone.
    pub fn between(&mut self, src: u32, dst: u32) -> Between {
        let (topology, routes) = (self.topology, self.routes);
        let line = |host: u32| {
            let port = routes.only_port(host)?;
            Some(topology.node(NodeId(host)).ports[usize::from(port)])
        };
        let first = line(src).map(|line| topology.link(line));
        let last = line(dst).map(|line| topology.link(line.reverse()));
        let from = first.map_or(NodeId(src), |first| first.to);
        let to = last.map_or(NodeId(dst), |last| last.from);
        let mut found = Between::default();
        let mut add = |stage: Stage, delay: Span| {
            found.stages.push(stage);
            found.delay += delay;
        };
        first.inspect(|first| add(Stage::of(first), first.delay));
        let mut rest = self.rest(from, to, dst);
        let mut delay = self.rests.get(rest as usize).map(|rest| rest.delay);
        while let Some(of) = self.rests.get(rest as usize) {
            add(of.stage, delay.take().unwrap_or(Span::ZERO));
            rest = of.next;
        }
        last.inspect(|last| add(Stage::of(last), last.delay));
        found
    }

    /// The place of what follows `from` on the way to `to`, the last router before host `dst` or that host itself.
    fn rest(&mut self, from: NodeId, to: NodeId, dst: u32) -> u32 {
        let edge = self.routes.edge_of(dst);
        let mut front = self.front([(from, Span::ZERO)].into());
        let mut passed = std::mem::take(&mut self.room.passed);
        let mut rest = loop {
            // Where all ways meet, there is nobody else.
            if self.fronts[front as usize].nodes[0].0 == to {
                break AWAY;
            }
            if let Some(&known) = self.known.get(&(front, edge)) {
                break known;
            }
            let Some(taken) = self.step(front, dst) else {
                passed.clear();
                break AWAY;
            };
            passed.push((front, taken));
            front = taken.next;
        };
        for (front, taken) in passed.drain(..).rev() {
            let beyond = self.rests.get(rest as usize);
            let beyond = beyond.map_or(Span::ZERO, |rest| rest.delay);
            self.rests.push(Rest {
                delay: taken.delay + beyond,
                stage: taken.stage,
                next: rest,
            });
            rest = index32(self.rests.len() - 1);
            self.known.insert((front, edge), rest);
        }
        self.room.passed = passed;
        rest
    }

    /// How `front` goes on to host `dst`; none where no way leads there.
    fn step(&mut self, front: u32, dst: u32) -> Option<Taken> {
        let own = &self.fronts[front as usize];
        let room = &mut self.room;
        room.entries.clear();
        for &(node, _) in &own.nodes {
            room.entries.push(self.routes.entry(node, dst)?);
        }
        let known = own
            .steps
            .iter()
            .find(|step| *step.entries == room.entries[..]);
        if let Some(step) = known {
            return Some(step.taken);
        }
        let mut stage: Option<Stage> = None;
        for &(node, so_far) in &own.nodes {
            let ports = &self.topology.node(node).ports;
            for &way in self.routes.next_hops(node, dst) {
                let link = self.topology.link(ports[usize::from(way)]);
                room.over(link, so_far);
                match &mut stage {
                    Some(stage) => stage.add(link.rate),
                    None => stage = Some(Stage::of(link)),
                }
            }
        }
        let stage = stage?;
        let entries = room.entries[..].into();
        let (nodes, delay) = room.take();
        let next = self.front(nodes);
        let taken = Taken { stage, delay, next };
        let steps = &mut self.fronts[front as usize].steps;
        steps.push(Step { entries, taken });
        Some(taken)
    }

    /// The place of the front of these nodes.
    fn front(&mut self, nodes: Nodes) -> u32 {
        if let Some(&place) = self.places.get(&nodes) {
            return place;
        }
        let place = index32(self.fronts.len());
        self.fronts.push(Front {
            nodes: nodes.clone(),
            steps: Vec::new(),
        });
        self.places.insert(nodes, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Draw, random_graph};
    use crate::{FatTree, LeafSpine, LinkId, Spec};

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
        let mut ways = ShortestWays::new(&topology, &routes);
        let links = |of: Between| -> Vec<u32> { of.stages.iter().map(|s| s.links).collect() };
        let mut between = |to| ways.between(0, to);
        assert_eq!(links(between(15)), [1, 2, 4, 4, 2, 1]);
        assert_eq!(links(between(2)), [1, 2, 2, 1]);
        assert_eq!(links(between(1)), [1, 1]);
        assert!(between(1).is_one() && !between(2).is_one());
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

    /// Compares the ways between all hosts with all ways one by one. Returns how many pairs have one.
    fn agrees(topology: &Topology, down: &[LinkId]) -> usize {
        let routes = Routes::new(topology, down);
        let mut all = ShortestWays::new(topology, &routes);
        let hosts = 0..topology.hosts;
        let pairs = hosts
            .clone()
            .flat_map(|from| hosts.clone().map(move |to| (from, to)));
        let mut met = 0;
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            let found = all.between(from, to);
            let ways = all_ways(topology, &routes, NodeId(from), to);
            let delays = ways
                .iter()
                .map(|way| way.iter().map(|link| link.delay).sum::<Span>());
            let Some(least) = delays.min() else { continue };
            met += 1;
            assert_eq!(found.delay, least, "{from} to {to}");
            for (place, stage) in found.stages.iter().enumerate() {
                let mut links: Vec<_> = ways
                    .iter()
                    .map(|way| (way[place].from, way[place].from_port, way[place].rate))
                    .collect();
                links.sort_unstable();
                links.dedup();
                assert_eq!(stage.links as usize, links.len(), "{from} to {to}");
                let rates = links.iter().map(|&(.., rate)| rate.0);
                assert_eq!(
                    stage.together.0,
                    rates.clone().sum::<u64>(),
                    "{from} to {to}"
                );
                assert_eq!(Some(stage.fastest.0), rates.max(), "{from} to {to}");
            }
            assert_eq!(found.stages.len(), ways[0].len(), "{from} to {to}");
            let alone = ShortestWays::new(topology, &routes).between(from, to);
            assert_eq!(found, alone, "{from} to {to}: what others left behind");
        }
        met
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
        let even = Spec::FatTree(spec).build().unwrap();
        assert_eq!(agrees(&even, &[]), 16 * 15);
        let mut topology = even.clone();
        for (number, link) in topology.links.iter_mut().enumerate() {
            link.delay = Span(1_000_000 + (number as u64 * 7919) % 5_003);
            link.rate = Rate::gbps(10 + number as u64 % 3);
        }
        assert_eq!(agrees(&topology, &[]), 16 * 15);
        // Broken cables: a host by itself, and switches with fewer ways than their neighbours.
        for each in [1, 3, 7, 40] {
            let down: Vec<LinkId> = (0..index32(topology.links.len()))
                .step_by(each + 5)
                .map(LinkId)
                .collect();
            for topology in [&even, &topology] {
                let met = agrees(topology, &down);
                assert!(met > 0, "nobody reaches anybody without {down:?}");
            }
        }
    }

    #[test]
    fn hosts_with_several_cables_take_all_of_them() {
        let mut draw = Draw(2);
        let (mut met, mut pairs) = (0, 0);
        for _ in 0..200 {
            let topology = random_graph(&mut draw);
            let links = index32(topology.links.len());
            let down: Vec<LinkId> = (0..draw.below(3))
                .map(|_| LinkId(draw.below(links)))
                .collect();
            met += agrees(&topology, &down);
            pairs += topology.hosts as usize * (topology.hosts as usize - 1);
        }
        assert!(met < pairs && 3 * met > pairs, "{met} of {pairs}");
    }

    #[test]
    fn a_large_fabric_has_few_fronts_however_many_pairs() {
        let spec = FatTree {
            k: 8,
            hosts_per_edge: None,
            rate: Rate::gbps(10),
            delay: Span::us(1),
            host_extra_delay: Span::ZERO,
        };
        let topology = Spec::FatTree(spec).build().unwrap();
        let routes = Routes::new(&topology, &[]);
        let mut ways = ShortestWays::new(&topology, &routes);
        let hosts = 0..topology.hosts;
        for (src, dst) in hosts
            .clone()
            .flat_map(|a| hosts.clone().map(move |b| (a, b)))
        {
            ways.between(src, dst);
        }
        // Each of 32 edges, the four switches above those of a pod, and all cores.
        assert_eq!(ways.fronts.len(), 32 + 8 + 1);
        // Up from each edge, from each pod, and down to each pod and from there to each edge.
        let steps = ways.fronts.iter().map(|front| front.steps.len());
        assert_eq!(steps.sum::<usize>(), 32 + 8 + 8 + 32);
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
        let found = ShortestWays::new(&topology, &routes).between(0, 1);
        let rates: Vec<_> = found.stages.iter().map(|s| s.together.as_gbps()).collect();
        assert_eq!(rates, [100.0, 100.0, 100.0, 100.0]);
        assert_eq!(found.delay, Span::us(4));
    }
}
