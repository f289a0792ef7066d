//! Who is connected to whom, and which ways lead where.
//!
//! A [`Spec`] describes a fabric in the words of the papers and builds a [`Topology`]: a directed
//! graph of hosts and switches that an engine uses as it is. [`Routes`] are the equal-cost shortest
//! ways through it, and [`ecmp_index`] picks among them so that a connection's two directions
//! follow the same cables. [xpass s3.1]

mod between;
mod capacity;
mod ecmp;
mod graph;
pub mod import;
mod node;
mod routes;
mod rtt;
mod size;
mod spec;
#[cfg(test)]
mod tests;
mod twins;

pub use between::{Between, ShortestWays, Stage};
pub use capacity::Crossing;
pub use ecmp::{check_symmetry, ecmp_index, ecmp_index_salted, mirrored, path, tier_salt};
pub use graph::{Cable, Graph, GraphNode, PortOrder};
pub use node::{Name, Ports};
pub use routes::{Routes, Row};
pub use size::{ROUTES_MAX, Size};
pub use spec::{Dumbbell, FatTree, LeafSpine, MultiBottleneck, ParkingLot, Spec, Star, ThreeTier};
pub use units::text::TextError;

use std::fmt;
use units::{Rate, Span};

/// Hosts that a topology may have: their numbers have 20 bits in a packet.
pub const HOSTS_MAX: u32 = 1 << 20;
/// Ports that one node may have: port numbers are 16 bits wide.
pub const PORTS_MAX: u32 = 65_535;
/// Nodes and cables that a topology may have, so that every link has a 32-bit number.
pub const CABLES_MAX: u32 = 1 << 30;

/// The fastest line: a byte on it takes a picosecond, the unit of times. Faster ones would be wrong by more than that
/// on each frame, and by all of it in the end.
pub const RATE_MAX: Rate = Rate(8_000_000_000_000);
/// The slowest line: two gigabytes on it take as long as 64 bits count picoseconds, seven months.
pub const RATE_MIN: Rate = Rate(1_000);

/// A node: hosts come first, switches after them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// One direction of a cable. The other direction is `link ^ 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A host or a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Host or switch.
    pub kind: NodeKind,
    /// 0 for a host, 1 for a top-of-rack switch, 2 for an aggregation or spine switch, 3 for a core
    /// switch. Part of the path hash, so that two tiers do not make the same choice.
    pub tier: u8,
    /// For people: `h3`, `tor0`, `agg1`, `spine1`, `core2`.
    pub name: Name,
    /// The egress link of each port, in port order. Where several ports lead up, they stand in the
    /// order of the upper switches: the n-th of them means the same in every switch of a tier.
    pub ports: Ports,
}

/// One direction of a cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The node that sends.
    pub from: NodeId,
    /// Its port.
    pub from_port: u16,
    /// The node that receives.
    pub to: NodeId,
    /// The receiving node's port: the one that the reverse direction leaves by.
    pub to_port: u16,
    /// Bits per second on the line.
    pub rate: Rate,
    /// Propagation and every fixed latency between the two nodes.
    pub delay: Span,
    /// Chance that the link loses a packet, in 10^-9. Only imported graphs set it.
    pub loss_ppb: u32,
}

/// A directed graph of hosts and switches; cables are full duplex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    /// For people and tables: `fat-tree k=8`.
    pub name: String,
    /// `nodes[0..hosts]` are hosts, the others are switches.
    pub hosts: u32,
    /// Hosts, then switches.
    pub nodes: Vec<Node>,
    /// `links[2 * i]` and `links[2 * i + 1]` are the two directions of cable `i`.
    pub links: Vec<Link>,
    /// Read from a file: one way from a host to another may have other choices than the next.
    pub uneven: bool,
}

/// Why a topology cannot be built, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyError(pub String);

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for TopologyError {}

impl NodeId {
    /// The node's place in [`Topology::nodes`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// The link's place in [`Topology::links`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    /// The other direction of the same cable.
    #[inline]
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl Topology {
    /// The node's data.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The link's data.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// Whether the node is a host.
    pub fn is_host(&self, id: NodeId) -> bool {
        id.0 < self.hosts
    }

    /// The node of this name, as faults and probes in a scenario write it.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        self.nodes
            .iter()
            .position(|node| node.name == *name)
            .map(|i| NodeId(index32(i)))
    }

    /// The links from `a` to `b`, in port order; several where cables run in parallel.
    pub fn links_between(&self, a: NodeId, b: NodeId) -> Vec<LinkId> {
        self.node(a)
            .ports
            .iter()
            .copied()
            .filter(|&l| self.link(l).to == b)
            .collect()
    }

    /// Panics where the graph contradicts itself.
    pub fn check(&self) {
        assert_eq!(self.links.len() % 2, 0, "half a cable");
        for (i, node) in self.nodes.iter().enumerate() {
            let host = i < self.hosts as usize;
            assert_eq!(
                node.kind == NodeKind::Host,
                host,
                "{} among the wrong kind",
                node.name
            );
            assert_eq!(node.tier == 0, host, "{} of tier {}", node.name, node.tier);
            for (port, &id) in node.ports.iter().enumerate() {
                let link = self.link(id);
                assert_eq!(
                    link.from.index(),
                    i,
                    "port {port} of {} is another's",
                    node.name
                );
                assert_eq!(
                    usize::from(link.from_port),
                    port,
                    "port {port} of {}",
                    node.name
                );
            }
        }
        for (i, link) in self.links.iter().enumerate() {
            let back = self.link(LinkId(index32(i)).reverse());
            assert_eq!(
                (link.from, link.from_port),
                (back.to, back.to_port),
                "link {i}"
            );
            assert_eq!(
                self.node(link.from).ports[usize::from(link.from_port)].index(),
                i
            );
            assert!(link.rate.0 > 0, "link {i} has no rate");
        }
    }
}

/// A place in a vector that [`CABLES_MAX`] keeps within 32 bits.
pub(crate) fn index32(n: usize) -> u32 {
    u32::try_from(n).expect("nodes and links are limited to 32-bit numbers")
}
