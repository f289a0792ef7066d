//! A list of nodes and cables, and how it becomes a [`Topology`].

use crate::{
    CABLES_MAX, HOSTS_MAX, Link, LinkId, Name, Node, NodeId, NodeKind, PORTS_MAX, Ports, Topology,
    TopologyError, index32,
};
use std::collections::{BTreeMap, VecDeque};
use units::{Rate, Span};

/// A graph as a file lists it: nodes under the file's own numbers, cables in the file's order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// The topology's name.
    pub name: String,
    /// Hosts and switches in any order.
    pub nodes: Vec<GraphNode>,
    /// Cables, in the order in which a node's ports are numbered under [`PortOrder::Appearance`].
    pub cables: Vec<Cable>,
    /// How a node's ports are ordered.
    pub order: PortOrder,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// A node of a [`Graph`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphNode {
    /// The number under which the file knows the node.
    pub id: u32,
    /// Host or switch.
    pub kind: NodeKind,
    /// A name of its own; without one, the tier gives it.
    pub name: Option<String>,
}

/// A full-duplex cable between two nodes, given by their places in [`Graph::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Rate of each direction.
    pub rate: Rate,
    /// Delay of each direction.
    pub delay: Span,
    /// Chance of losing a packet, in 10^-9, in each direction.
    pub loss_ppb: u32,
}

/// How the ports of a node are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PortOrder {
    /// As the cables appear, which is how the ns-3 family numbers them.
    #[default]
    Appearance,
    /// By the neighbour's number: in a Clos whose upper switches are numbered alike in every pod,
    /// paths are then symmetric whatever the order of the file.
    Neighbour,
}

impl Graph {
    /// The host number in the topology of the node that the file calls `id`. For many of them, ask
    /// [`Graph::hosts_by_id`] once.
    pub fn host_index(&self, id: u32) -> Option<u32> {
        let hosts = self.nodes.iter().filter(|node| node.kind == NodeKind::Host);
        hosts
            .map(|node| node.id)
            .zip(0..)
            .find(|&(known, _)| known == id)
            .map(|(_, host)| host)
    }

    /// The host numbers in the topology, by the file's own numbers: for traffic that names nodes as
    /// the file does.
    pub fn hosts_by_id(&self) -> BTreeMap<u32, u32> {
        let hosts = self.nodes.iter().filter(|node| node.kind == NodeKind::Host);
        hosts.map(|node| node.id).zip(0..).collect()
    }

    /// The topology: hosts first, tiers by the distance to the nearest host.
    ///
    /// # Errors
    /// If a cable leads nowhere, to its own start or has no rate, or if there are too many of them.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let mut place = vec![NodeId(0); self.nodes.len()];
        let mut builder = Builder::default();
        for kind in [NodeKind::Host, NodeKind::Switch] {
            for (i, node) in self
                .nodes
                .iter()
                .enumerate()
                .filter(|(_, node)| node.kind == kind)
            {
                let tier = u8::from(kind == NodeKind::Switch);
                let name = node.name.as_deref().unwrap_or_default();
                place[i] = builder.node(tier, Name::new(name));
            }
        }
        let mut cables = Vec::with_capacity(self.cables.len());
        for (i, cable) in self.cables.iter().enumerate() {
            let end = |n: u32| {
                place.get(n as usize).copied().ok_or_else(|| {
                    TopologyError(format!(
                        "cable {i} ends at node {n}, but there are {} nodes; number them from 0",
                        place.len()
                    ))
                })
            };
            cables.push((end(cable.a)?, end(cable.b)?, cable));
        }
        if self.order == PortOrder::Neighbour {
            cables.sort_by_key(|&(a, b, _)| (a.min(b), a.max(b)));
        }
        for (a, b, cable) in cables {
            builder.cable(a, b, cable.rate, [cable.delay; 2], cable.loss_ppb);
        }
        let mut topology = builder.finish(self.name.clone(), self.host_extra_delay)?;
        topology.uneven = true;
        set_tiers(&mut topology);
        Ok(topology)
    }
}

/// Tiers by distance from the nearest host, and names from tiers where there are none.
fn set_tiers(topology: &mut Topology) {
    const FAR: u8 = u8::MAX;
    let mut tier = vec![FAR; topology.nodes.len()];
    let mut queue: VecDeque<usize> = (0..topology.hosts as usize).collect();
    tier[..topology.hosts as usize].fill(0);
    while let Some(at) = queue.pop_front() {
        for &port in &topology.nodes[at].ports {
            let next = topology.links[port.index()].to.index();
            if tier[next] == FAR {
                tier[next] = tier[at].saturating_add(1).min(FAR - 1);
                queue.push_back(next);
            }
        }
    }
    let mut counts = [0u32; 5];
    for (node, tier) in topology.nodes.iter_mut().zip(tier) {
        node.tier = tier;
        let (class, prefix) = match tier {
            0 => (0, "h"),
            1 => (1, "tor"),
            2 => (2, "agg"),
            3 => (3, "core"),
            _ => (4, "sw"),
        };
        if node.name.is_empty() {
            node.name = Name::numbered(prefix, counts[class]);
            counts[class] += 1;
        }
    }
}

/// Nodes and cables in the order in which they are added; ports are numbered in cable order.
#[derive(Default)]
pub(crate) struct Builder {
    nodes: Vec<Node>,
    links: Vec<Link>,
    /// Links that were said to come.
    expected: usize,
    hosts: u32,
    /// The first thing found wrong; building goes on and `finish` reports it.
    error: Option<String>,
}

impl Builder {
    /// Adds a node; hosts (tier 0) before all others.
    pub(crate) fn node(&mut self, tier: u8, name: Name) -> NodeId {
        let id = NodeId(index32(self.nodes.len()));
        let kind = if tier == 0 {
            NodeKind::Host
        } else {
            NodeKind::Switch
        };
        if tier == 0 {
            assert_eq!(self.hosts, id.0, "hosts come before switches");
            self.hosts += 1;
        }
        self.nodes.push(Node {
            kind,
            tier,
            name,
            ports: Ports::default(),
        });
        id
    }

    pub(crate) fn hosts(&mut self, n: u32) -> Vec<NodeId> {
        self.numbered(n, 0, "h")
    }

    pub(crate) fn switches(&mut self, n: u32, tier: u8, prefix: &str) -> Vec<NodeId> {
        self.numbered(n, tier, prefix)
    }

    fn numbered(&mut self, n: u32, tier: u8, prefix: &str) -> Vec<NodeId> {
        self.nodes.reserve(n as usize);
        (0..n)
            .map(|i| self.node(tier, Name::numbered(prefix, i)))
            .collect()
    }

    /// Makes room for this many cables at each of `nodes`, and for all of them together.
    pub(crate) fn expect(&mut self, nodes: &[NodeId], cables: u32) {
        for &node in nodes {
            self.nodes[node.index()].ports.expect(cables as usize);
        }
        self.expected += nodes.len() * cables as usize;
        self.links
            .reserve(self.expected.saturating_sub(self.links.len()));
    }

    /// Adds a cable; `delays` are those from `a` to `b` and back.
    pub(crate) fn cable(
        &mut self,
        a: NodeId,
        b: NodeId,
        rate: Rate,
        delays: [Span; 2],
        loss_ppb: u32,
    ) {
        if let Some(problem) = self.problem(a, b, rate, loss_ppb) {
            self.error.get_or_insert(problem);
            return;
        }
        let ends = [a, b].map(|end| {
            (
                end,
                u16::try_from(self.nodes[end.index()].ports.len()).expect("checked above"),
            )
        });
        for (way, delay) in delays.into_iter().enumerate() {
            let (from, from_port) = ends[way];
            let (to, to_port) = ends[1 - way];
            let id = LinkId(index32(self.links.len()));
            self.links.push(Link {
                from,
                from_port,
                to,
                to_port,
                rate,
                delay,
                loss_ppb,
            });
            self.nodes[from.index()].ports.push(id);
        }
    }

    fn problem(&self, a: NodeId, b: NodeId, rate: Rate, loss_ppb: u32) -> Option<String> {
        let name = |id: NodeId| &self.nodes[id.index()].name;
        if a == b {
            return Some(format!("a cable joins node {} to itself; remove it", a.0));
        }
        if rate.0 == 0 {
            return Some(format!(
                "the cable between nodes {} and {} has rate 0; write a rate like \"100Gbps\"",
                a.0, b.0
            ));
        }
        if loss_ppb > 1_000_000_000 {
            return Some(format!(
                "the cable between nodes {} and {} loses more than every packet; a probability \
                 is at most 1",
                a.0, b.0
            ));
        }
        if self.links.len() / 2 >= CABLES_MAX as usize {
            return Some(format!(
                "more than {CABLES_MAX} cables; build a smaller network"
            ));
        }
        [a, b]
            .into_iter()
            .find(|&end| self.nodes[end.index()].ports.len() >= PORTS_MAX as usize)
            .map(|end| {
                format!(
                    "{} needs more than {PORTS_MAX} ports; spread its cables over several switches",
                    name(end)
                )
            })
    }

    /// The topology. `host_extra` is added to every link that leaves a host.
    pub(crate) fn finish(
        mut self,
        name: String,
        host_extra: Span,
    ) -> Result<Topology, TopologyError> {
        if let Some(error) = self.error {
            return Err(TopologyError(error));
        }
        if self.hosts == 0 || self.hosts > HOSTS_MAX {
            return Err(TopologyError(format!(
                "{} hosts in \"{name}\"; a network has 1 to {HOSTS_MAX} of them",
                self.hosts
            )));
        }
        for link in self
            .links
            .iter_mut()
            .filter(|link| link.from.0 < self.hosts)
        {
            link.delay = Span(link.delay.0.saturating_add(host_extra.0));
        }
        let topology = Topology {
            name,
            hosts: self.hosts,
            nodes: self.nodes,
            links: self.links,
            uneven: false,
        };
        if cfg!(debug_assertions) {
            topology.check();
        }
        Ok(topology)
    }
}
