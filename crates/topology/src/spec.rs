//! The fabrics of the papers, each described by its numbers.
//!
//! In every builder a switch's ports lead down first, in the order of the lower nodes, then up, in
//! the order of the upper switches. In the Clos fabrics the n-th way up of any switch of a tier
//! leads to the same place as the n-th way up of its counterpart in another pod, so equal choices
//! at both ends make equal paths. [xpass s3.1]

use crate::graph::Builder;
use crate::{CABLES_MAX, Graph, HOSTS_MAX, Topology, TopologyError};
use units::{Rate, Span};

/// A fabric by its numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Spec {
    /// Hosts around one switch.
    Star(Star),
    /// Two switches with one link between them.
    Dumbbell(Dumbbell),
    /// Bottlenecks in a row.
    ParkingLot(ParkingLot),
    /// One flow that meets a second bottleneck's flows.
    MultiBottleneck(MultiBottleneck),
    /// Two tiers, every leaf joined to every spine.
    LeafSpine(LeafSpine),
    /// The k-ary fat tree.
    FatTree(FatTree),
    /// Three tiers with any oversubscription.
    ThreeTier(ThreeTier),
    /// A graph from a file or from a program.
    Graph(Graph),
}

/// Hosts around one switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Star {
    /// Number of hosts.
    pub hosts: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Delay of every link.
    pub delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// Two switches with one link between them; host `i` on the left faces host `pairs + i`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dumbbell {
    /// Hosts on each side.
    pub pairs: u32,
    /// Rate of the hosts' links, host 0 left aside.
    pub host_rate: Rate,
    /// Rate of the link of host 0.
    pub first_rate: Rate,
    /// Rate of the link between the switches.
    pub bottleneck_rate: Rate,
    /// Delay of the hosts' links.
    pub host_delay: Span,
    /// Delay of the link between the switches.
    pub bottleneck_delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// `bottlenecks` links in a row, each with a local flow of its own, and a long flow over all.
///
/// Hosts 0 and 1 are the long flow's ends. With hosts of its own, the local flow of bottleneck `i`
/// goes from host `2 + 2i` to host `3 + 2i`. With shared hosts, switch `i` has one host, `2 + i`,
/// that receives the flow of bottleneck `i - 1` and sends that of bottleneck `i`.
/// [xpass Fig. 10; xpass artefact: shared hosts]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParkingLot {
    /// Links in the row, from 1.
    pub bottlenecks: u32,
    /// One host per switch for all local flows, as in the authors' script.
    pub shared_hosts: bool,
    /// Rate of the hosts' links.
    pub host_rate: Rate,
    /// Rate of the links in the row.
    pub bottleneck_rate: Rate,
    /// Delay of the hosts' links.
    pub host_delay: Span,
    /// Delay of the links in the row.
    pub bottleneck_delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// One sender for all flows; flow 0 shares only the sender's link (A), the others also the link
/// between the two switches (B), so their credits are shaped on B and then meet those of flow 0 on
/// A. Host 0 sends, host `1 + f` receives flow `f`. [xpass Fig. 7; xpass artefact]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MultiBottleneck {
    /// Flows over both links; with flow 0 there is one more.
    pub flows: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Delay of every link.
    pub delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// Two tiers, every leaf joined to every spine by one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafSpine {
    /// Switches with hosts.
    pub leaves: u32,
    /// Switches that join the leaves.
    pub spines: u32,
    /// Hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Rate of the hosts' links.
    pub host_rate: Rate,
    /// Rate of the links between leaves and spines.
    pub uplink_rate: Rate,
    /// Delay of the hosts' links.
    pub host_delay: Span,
    /// Delay of the links between leaves and spines.
    pub uplink_delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, k²/4 cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FatTree {
    /// Ports of a switch; even.
    pub k: u32,
    /// Hosts of each edge switch; k/2 unless the edge is over- or undersubscribed.
    pub hosts_per_edge: Option<u32>,
    /// Rate of every link.
    pub rate: Rate,
    /// Delay of every link.
    pub delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

/// Three tiers: in each pod every top-of-rack switch is joined to every aggregation switch, and
/// aggregation switch `j` of every pod to the `j`-th group of `cores / (aggs / pods)` cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreeTier {
    /// Groups of racks; divides `tors` and `aggs`.
    pub pods: u32,
    /// Top-of-rack switches in all.
    pub tors: u32,
    /// Aggregation switches in all.
    pub aggs: u32,
    /// Core switches in all; `aggs / pods` divides them.
    pub cores: u32,
    /// Hosts of each top-of-rack switch.
    pub hosts_per_tor: u32,
    /// Rate between host and top-of-rack switch.
    pub host_rate: Rate,
    /// Rate between top-of-rack and aggregation switch.
    pub tor_rate: Rate,
    /// Rate between aggregation and core switch.
    pub agg_rate: Rate,
    /// Delay between host and top-of-rack switch.
    pub host_delay: Span,
    /// Delay between top-of-rack and aggregation switch.
    pub tor_delay: Span,
    /// Delay between aggregation and core switch.
    pub agg_delay: Span,
    /// Fixed latency of a host, added to the direction away from it.
    pub host_extra_delay: Span,
}

impl Spec {
    /// The topology.
    ///
    /// # Errors
    /// If the numbers make no fabric; the message says which to change.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        match self {
            Self::Star(spec) => spec.build(),
            Self::Dumbbell(spec) => spec.build(),
            Self::ParkingLot(spec) => spec.build(),
            Self::MultiBottleneck(spec) => spec.build(),
            Self::LeafSpine(spec) => spec.build(),
            Self::FatTree(spec) => spec.build(),
            Self::ThreeTier(spec) => spec.build(),
            Self::Graph(spec) => spec.build(),
        }
    }

    /// The (source, destination) hosts of the flows that the fabric is made for, in the order of
    /// the published tables; empty where any pair is as good as another.
    pub fn flows(&self) -> Vec<(u32, u32)> {
        match self {
            Self::Dumbbell(spec) => (0..spec.pairs).map(|i| (i, spec.pairs + i)).collect(),
            Self::ParkingLot(spec) => spec.flows(),
            Self::MultiBottleneck(spec) => (0..=spec.flows).map(|f| (0, 1 + f)).collect(),
            Self::Star(_)
            | Self::LeafSpine(_)
            | Self::FatTree(_)
            | Self::ThreeTier(_)
            | Self::Graph(_) => Vec::new(),
        }
    }
}

/// Refuses what would not fit into memory or into the numbers of nodes and links.
fn limit(hosts: u64, cables: u64) -> Result<(), TopologyError> {
    if hosts > u64::from(HOSTS_MAX) || cables > u64::from(CABLES_MAX) {
        return Err(TopologyError(format!(
            "{hosts} hosts and {cables} cables; at most {HOSTS_MAX} and {CABLES_MAX} are possible"
        )));
    }
    Ok(())
}

fn at_least(what: &str, n: u32, least: u32) -> Result<(), TopologyError> {
    if n < least {
        return Err(TopologyError(format!(
            "{what} = {n}; it must be at least {least}"
        )));
    }
    Ok(())
}

fn divides(part: (&str, u32), whole: (&str, u32)) -> Result<u32, TopologyError> {
    if part.1 == 0 || !whole.1.is_multiple_of(part.1) {
        return Err(TopologyError(format!(
            "{} = {} does not divide {} = {}; change one of them",
            part.0, part.1, whole.0, whole.1
        )));
    }
    Ok(whole.1 / part.1)
}

impl Star {
    fn build(&self) -> Result<Topology, TopologyError> {
        at_least("hosts", self.hosts, 2)?;
        limit(self.hosts.into(), self.hosts.into())?;
        let mut b = Builder::default();
        let hosts = b.hosts(self.hosts);
        let switch = b.switches(1, 1, "tor")[0];
        for host in hosts {
            b.cable(host, switch, self.rate, [self.delay; 2], 0);
        }
        b.finish(
            format!("star of {} hosts", self.hosts),
            self.host_extra_delay,
        )
    }
}

impl Dumbbell {
    fn build(&self) -> Result<Topology, TopologyError> {
        at_least("pairs", self.pairs, 1)?;
        limit(2 * u64::from(self.pairs), 2 * u64::from(self.pairs) + 1)?;
        let mut b = Builder::default();
        let hosts = b.hosts(2 * self.pairs);
        let switches = b.switches(2, 1, "tor");
        for (i, host) in (0..).zip(hosts) {
            let side = switches[usize::from(i >= self.pairs)];
            let rate = if i == 0 {
                self.first_rate
            } else {
                self.host_rate
            };
            b.cable(host, side, rate, [self.host_delay; 2], 0);
        }
        let delays = [self.bottleneck_delay; 2];
        b.cable(switches[0], switches[1], self.bottleneck_rate, delays, 0);
        b.finish(
            format!("dumbbell of {} pairs", self.pairs),
            self.host_extra_delay,
        )
    }
}

impl ParkingLot {
    fn build(&self) -> Result<Topology, TopologyError> {
        at_least("bottlenecks", self.bottlenecks, 1)?;
        let n = u64::from(self.bottlenecks);
        limit(2 * n + 2, 3 * n + 2)?;
        let mut b = Builder::default();
        let locals = if self.shared_hosts {
            self.bottlenecks + 1
        } else {
            2 * self.bottlenecks
        };
        let hosts = b.hosts(2 + locals);
        let switches = b.switches(self.bottlenecks + 1, 1, "tor");
        let (first, last) = (switches[0], switches[switches.len() - 1]);
        let mut join = |host, switch| {
            b.cable(host, switch, self.host_rate, [self.host_delay; 2], 0);
        };
        join(hosts[0], first);
        join(hosts[1], last);
        for (i, &host) in hosts[2..].iter().enumerate() {
            join(
                host,
                switches[if self.shared_hosts { i } else { i.div_ceil(2) }],
            );
        }
        for pair in switches.windows(2) {
            b.cable(
                pair[0],
                pair[1],
                self.bottleneck_rate,
                [self.bottleneck_delay; 2],
                0,
            );
        }
        b.finish(
            format!("parking lot of {n} bottlenecks"),
            self.host_extra_delay,
        )
    }

    fn flows(&self) -> Vec<(u32, u32)> {
        let local = |i| {
            if self.shared_hosts {
                (2 + i, 3 + i)
            } else {
                (2 + 2 * i, 3 + 2 * i)
            }
        };
        [(0, 1)]
            .into_iter()
            .chain((0..self.bottlenecks).map(local))
            .collect()
    }
}

impl MultiBottleneck {
    fn build(&self) -> Result<Topology, TopologyError> {
        at_least("flows", self.flows, 1)?;
        limit(u64::from(self.flows) + 2, u64::from(self.flows) + 3)?;
        let mut b = Builder::default();
        let hosts = b.hosts(self.flows + 2);
        let switches = b.switches(2, 1, "tor");
        for (i, host) in hosts.into_iter().enumerate() {
            // The sender and the receiver of flow 0 share a switch; the other receivers are beyond.
            let switch = switches[usize::from(i >= 2)];
            b.cable(host, switch, self.rate, [self.delay; 2], 0);
        }
        b.cable(switches[0], switches[1], self.rate, [self.delay; 2], 0);
        b.finish(
            format!("multi-bottleneck of {} flows", self.flows),
            self.host_extra_delay,
        )
    }
}

impl LeafSpine {
    fn build(&self) -> Result<Topology, TopologyError> {
        at_least("leaves", self.leaves, 1)?;
        at_least("spines", self.spines, 1)?;
        at_least("hosts_per_leaf", self.hosts_per_leaf, 1)?;
        let hosts = u64::from(self.leaves) * u64::from(self.hosts_per_leaf);
        limit(
            hosts,
            hosts + u64::from(self.leaves) * u64::from(self.spines),
        )?;
        let mut b = Builder::default();
        let hosts = b.hosts(self.leaves * self.hosts_per_leaf);
        let leaves = b.switches(self.leaves, 1, "tor");
        let spines = b.switches(self.spines, 2, "spine");
        for (of_leaf, &leaf) in hosts.chunks(self.hosts_per_leaf as usize).zip(&leaves) {
            for &host in of_leaf {
                b.cable(host, leaf, self.host_rate, [self.host_delay; 2], 0);
            }
        }
        for &leaf in &leaves {
            for &spine in &spines {
                b.cable(leaf, spine, self.uplink_rate, [self.uplink_delay; 2], 0);
            }
        }
        let name = format!(
            "leaf-spine {}x{}x{}",
            self.leaves, self.spines, self.hosts_per_leaf
        );
        b.finish(name, self.host_extra_delay)
    }
}

impl FatTree {
    fn build(&self) -> Result<Topology, TopologyError> {
        if self.k < 2 || !self.k.is_multiple_of(2) {
            return Err(TopologyError(format!(
                "k = {}; a fat tree needs an even k, at least 2",
                self.k
            )));
        }
        limit(u64::from(self.k) * u64::from(self.k), u64::from(self.k))?;
        let half = self.k / 2;
        let mut topology = ThreeTier {
            pods: self.k,
            tors: self.k * half,
            aggs: self.k * half,
            cores: half * half,
            hosts_per_tor: self.hosts_per_edge.unwrap_or(half),
            host_rate: self.rate,
            tor_rate: self.rate,
            agg_rate: self.rate,
            host_delay: self.delay,
            tor_delay: self.delay,
            agg_delay: self.delay,
            host_extra_delay: self.host_extra_delay,
        }
        .build()?;
        topology.name = format!("fat tree k={}", self.k);
        Ok(topology)
    }
}

impl ThreeTier {
    /// The fabric of the large simulations of both papers: 192 hosts under 32 top-of-rack,
    /// 16 aggregation and 8 core switches, one rate, 3:1 oversubscribed at the top-of-rack
    /// switches; 4 us links, 1 us hosts.
    ///
    /// Eight pods follow from the authors' wiring: four racks share two aggregation switches. Their
    /// script joins aggregation switch `i` to the cores of the same parity; renumbering the cores
    /// makes that the wiring here. [xpass Fig. 19; aeolus s5.1; xpass artefact, large-scale-fattree.tcl]
    pub const fn expresspass(rate: Rate) -> Self {
        Self {
            pods: 8,
            tors: 32,
            aggs: 16,
            cores: 8,
            hosts_per_tor: 6,
            host_rate: rate,
            tor_rate: rate,
            agg_rate: rate,
            host_delay: Span::us(4),
            tor_delay: Span::us(4),
            agg_delay: Span::us(4),
            host_extra_delay: Span::us(1),
        }
    }

    fn build(&self) -> Result<Topology, TopologyError> {
        at_least("tors", self.tors, 1)?;
        at_least("aggs", self.aggs, 1)?;
        at_least("cores", self.cores, 1)?;
        at_least("hosts_per_tor", self.hosts_per_tor, 1)?;
        let tors_per_pod = divides(("pods", self.pods), ("tors", self.tors))?;
        let aggs_per_pod = divides(("pods", self.pods), ("aggs", self.aggs))?;
        let group = divides(("aggs / pods", aggs_per_pod), ("cores", self.cores))?;
        let host_count = u64::from(self.tors) * u64::from(self.hosts_per_tor);
        let uplinks = u64::from(self.tors) * u64::from(aggs_per_pod)
            + u64::from(self.aggs) * u64::from(group);
        limit(host_count, host_count + uplinks)?;

        let mut b = Builder::default();
        let hosts = b.hosts(self.tors * self.hosts_per_tor);
        let tors = b.switches(self.tors, 1, "tor");
        let aggs = b.switches(self.aggs, 2, "agg");
        let cores = b.switches(self.cores, 3, "core");
        b.expect(&hosts, 1);
        b.expect(&tors, self.hosts_per_tor + aggs_per_pod);
        b.expect(&aggs, tors_per_pod + group);
        b.expect(&cores, self.pods);
        for (of_tor, &tor) in hosts.chunks(self.hosts_per_tor as usize).zip(&tors) {
            for &host in of_tor {
                b.cable(host, tor, self.host_rate, [self.host_delay; 2], 0);
            }
        }
        let pods = tors
            .chunks(tors_per_pod as usize)
            .zip(aggs.chunks(aggs_per_pod as usize));
        for (tors, aggs) in pods {
            for &tor in tors {
                for &agg in aggs {
                    b.cable(tor, agg, self.tor_rate, [self.tor_delay; 2], 0);
                }
            }
        }
        for aggs in aggs.chunks(aggs_per_pod as usize) {
            for (&agg, cores) in aggs.iter().zip(cores.chunks(group as usize)) {
                for &core in cores {
                    b.cable(agg, core, self.agg_rate, [self.agg_delay; 2], 0);
                }
            }
        }
        let name = format!(
            "three-tier {}/{}/{}x{}",
            self.cores, self.aggs, self.tors, self.hosts_per_tor
        );
        b.finish(name, self.host_extra_delay)
    }
}
