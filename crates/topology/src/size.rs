//! How large a network will be, told before it is built.

use crate::{Graph, NodeKind, Spec};

/// Entries of the routing table that are kept, rows times edges: a gigabyte. A fat tree of k = 128
/// needs 168 million. [ours]
pub const ROUTES_MAX: u64 = 1 << 28;

/// What a network consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Hosts.
    pub hosts: u64,
    /// Switches.
    pub switches: u64,
    /// Cables.
    pub cables: u64,
    /// Entries of its [`crate::Routes`]: one for every router and edge.
    pub routes: u64,
}

impl Size {
    fn new(hosts: u64, switches: u64, cables: u64, edges: u64) -> Self {
        let routes = switches.saturating_mul(edges);
        Self {
            hosts,
            switches,
            cables,
            routes,
        }
    }
}

impl Spec {
    /// The size of the network that [`Spec::build`] makes. Takes no memory for the fabrics of
    /// formulas, and that of a few numbers per node for a graph.
    pub fn size(&self) -> Size {
        // Nothing was checked yet: sums that are too large stay at the largest number.
        let times = u64::saturating_mul;
        match *self {
            Self::Star(ref of) => Size::new(of.hosts.into(), 1, of.hosts.into(), 1),
            Self::Dumbbell(ref of) => {
                let hosts = 2 * u64::from(of.pairs);
                Size::new(hosts, 2, hosts + 1, 2)
            }
            Self::ParkingLot(ref of) => {
                let row = u64::from(of.bottlenecks);
                let local = if of.shared_hosts { row + 1 } else { 2 * row };
                Size::new(local + 2, row + 1, local + 2 + row, row + 1)
            }
            Self::MultiBottleneck(ref of) => {
                let hosts = u64::from(of.flows) + 2;
                Size::new(hosts, 2, hosts + 1, 2)
            }
            Self::LeafSpine(ref of) => {
                let (leaves, spines) = (u64::from(of.leaves), u64::from(of.spines));
                let hosts = times(leaves, of.hosts_per_leaf.into());
                let cables = hosts.saturating_add(times(leaves, spines));
                Size::new(hosts, leaves + spines, cables, leaves)
            }
            Self::FatTree(ref of) => {
                let half = u64::from(of.k / 2);
                let racks = times(of.k.into(), half);
                let hosts = times(racks, of.hosts_per_edge.map_or(half, u64::from));
                let switches = times(racks, 2).saturating_add(times(half, half));
                let cables = hosts.saturating_add(times(racks, 2 * half));
                Size::new(hosts, switches, cables, racks)
            }
            Self::ThreeTier(ref of) => {
                let [tors, aggs, cores] = [of.tors, of.aggs, of.cores].map(u64::from);
                let hosts = times(tors, of.hosts_per_tor.into());
                let aggs_per_pod = aggs / u64::from(of.pods.max(1));
                let up = times(tors, aggs_per_pod);
                let up = up.saturating_add(times(aggs, cores / aggs_per_pod.max(1)));
                Size::new(hosts, tors + aggs + cores, hosts.saturating_add(up), tors)
            }
            Self::Graph(ref graph) => of_graph(graph),
        }
    }
}

fn of_graph(graph: &Graph) -> Size {
    let is_host = |node: u32| {
        let node = graph.nodes.get(node as usize);
        node.is_some_and(|node| node.kind == NodeKind::Host)
    };
    let mut degree = vec![0u32; graph.nodes.len()];
    let ends = || graph.cables.iter().flat_map(|c| [(c.a, c.b), (c.b, c.a)]);
    for (end, _) in ends() {
        if let Some(degree) = degree.get_mut(end as usize) {
            *degree += 1;
        }
    }
    // A host with one cable, to a switch, is one of those behind this switch; any other is a router.
    let mut behind = vec![false; graph.nodes.len()];
    for (end, other) in ends().filter(|&(end, _)| is_host(end)) {
        let leaf = !is_host(other) && degree[end as usize] == 1;
        if let Some(edge) = behind.get_mut(if leaf { other } else { end } as usize) {
            *edge = true;
        }
    }
    let count = |kind| graph.nodes.iter().filter(|node| node.kind == kind).count() as u64;
    let edges = behind.iter().filter(|&&edge| edge).count() as u64;
    let routers = (behind.iter().zip(&graph.nodes))
        .filter(|(edge, node)| **edge && node.kind == NodeKind::Host)
        .count() as u64;
    let (hosts, switches) = (count(NodeKind::Host), count(NodeKind::Switch));
    Size {
        routes: (switches + routers).saturating_mul(edges),
        ..Size::new(hosts, switches, graph.cables.len() as u64, edges)
    }
}
