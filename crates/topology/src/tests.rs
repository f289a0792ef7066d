//! Builders, routes, symmetry and round trips together.
//!
//! First the fabrics: their published numbers, the order of their ports, and what is refused. Then ways: that both directions
//! of a connection take the same cables, also around broken ones, that connections spread, and what happens where cables are
//! not alike. Then next hops against their definition, and last round trips and the memory of routes in large fabrics.

use crate::routes::Map;
use crate::twins::Twins;
use crate::{
    Cable, Dumbbell, FatTree, Graph, GraphNode, LeafSpine, LinkId, MultiBottleneck, NodeId,
    NodeKind, ParkingLot, PortOrder, Routes, Size, Spec, Star, ThreeTier, Topology, check_symmetry,
    mirrored, path,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use units::{Bytes, Rate, Span};

const RATE: Rate = Rate::gbps(10);
const DELAY: Span = Span::us(1);

fn star(hosts: u32) -> Spec {
    Spec::Star(Star {
        hosts,
        rate: RATE,
        delay: DELAY,
        host_extra_delay: Span::ZERO,
    })
}

fn fat_tree(k: u32) -> Spec {
    Spec::FatTree(FatTree {
        k,
        hosts_per_edge: None,
        rate: RATE,
        delay: DELAY,
        host_extra_delay: Span::ZERO,
    })
}

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Spec {
    Spec::LeafSpine(LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        host_rate: RATE,
        uplink_rate: Rate::gbps(40),
        host_delay: DELAY,
        uplink_delay: DELAY,
        host_extra_delay: Span::ZERO,
    })
}

fn three_tier() -> Spec {
    Spec::ThreeTier(ThreeTier::expresspass(RATE))
}

fn dumbbell(pairs: u32) -> Spec {
    Spec::Dumbbell(Dumbbell {
        pairs,
        host_rate: RATE,
        first_rate: RATE,
        bottleneck_rate: RATE,
        host_delay: DELAY,
        bottleneck_delay: DELAY,
        host_extra_delay: Span::ZERO,
    })
}

fn parking_lot(bottlenecks: u32, shared_hosts: bool) -> Spec {
    Spec::ParkingLot(ParkingLot {
        bottlenecks,
        shared_hosts,
        host_rate: RATE,
        bottleneck_rate: RATE,
        host_delay: DELAY,
        bottleneck_delay: DELAY,
        host_extra_delay: Span::ZERO,
    })
}

fn multi_bottleneck(flows: u32) -> Spec {
    Spec::MultiBottleneck(MultiBottleneck {
        flows,
        rate: RATE,
        delay: DELAY,
        host_extra_delay: Span::ZERO,
    })
}

/// A tiny generator of our own: this crate does not know the model's.
pub(crate) struct Draw(pub(crate) u64);
impl Draw {
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(((self.0 >> 32) * u64::from(n)) >> 32).unwrap()
    }
}

/// A random graph: some hosts have several cables, some hang on other hosts, some on nothing.
pub(crate) fn random_graph(draw: &mut Draw) -> Topology {
    let hosts = 2 + draw.below(7);
    let nodes = hosts + 1 + draw.below(7);
    let mut cables = Vec::new();
    for _ in 0..nodes + draw.below(2 * nodes) {
        let (a, b) = (draw.below(nodes), draw.below(nodes));
        if a != b {
            let rate = Rate::gbps(u64::from(1 + draw.below(4)) * 10);
            let delay = Span::ns(u64::from(draw.below(3000)));
            cables.push(Cable {
                a,
                b,
                rate,
                delay,
                loss_ppb: 0,
            });
        }
    }
    let kind = |id| {
        if id < hosts {
            NodeKind::Host
        } else {
            NodeKind::Switch
        }
    };
    let nodes = (0..nodes)
        .map(|id| GraphNode {
            id,
            kind: kind(id),
            name: None,
        })
        .collect();
    let order = if draw.below(2) == 0 {
        PortOrder::Appearance
    } else {
        PortOrder::Neighbour
    };
    let name = "random".to_string();
    Graph {
        name,
        nodes,
        cables,
        order,
        host_extra_delay: Span::us(1),
    }
    .build()
    .unwrap()
}

/// Hops from every node to `dst` by repeated relaxation; hosts other than the ends do not forward.
fn distances(t: &Topology, down: &[LinkId], dst: u32) -> Vec<Option<u32>> {
    let mut distance = vec![None; t.nodes.len()];
    distance[dst as usize] = Some(0);
    for _ in 0..t.nodes.len() {
        for (i, link) in t.links.iter().enumerate() {
            let id = LinkId(u32::try_from(i).unwrap());
            let dead = down.contains(&id) || down.contains(&id.reverse());
            let forwards = link.to.0 == dst || !t.is_host(link.to);
            if let (false, true, Some(d)) = (dead, forwards, distance[link.to.index()]) {
                let known = &mut distance[link.from.index()];
                *known = Some(known.map_or(d + 1, |k: u32| k.min(d + 1)));
            }
        }
    }
    distance
}

/// The size of a network is known before it is built.
fn foretold(spec: &Spec, t: &Topology, routes: &Routes) {
    let switches = t.nodes.len() - t.hosts as usize;
    let size = Size {
        hosts: t.hosts.into(),
        switches: switches as u64,
        cables: t.links.len() as u64 / 2,
        routes: routes.entries(),
    };
    assert_eq!(spec.size(), size, "{}", t.name);
}

#[test]
fn the_fabrics_have_the_published_numbers() {
    let mut table = String::new();
    for spec in [
        star(8),
        dumbbell(3),
        parking_lot(3, false),
        parking_lot(3, true),
        multi_bottleneck(4),
        leaf_spine(9, 4, 16),
        fat_tree(4),
        fat_tree(8),
        three_tier(),
    ] {
        let t = spec.build().unwrap();
        t.check();
        let routes = Routes::new(&t, &[]);
        assert_eq!(routes.cut_off(), None, "{}", t.name);
        foretold(&spec, &t, &routes);
        let hops = (1..t.hosts).filter_map(|h| t.hops(&routes, 0, h)).max();
        let hops = hops.unwrap();
        assert_eq!(routes.longest() + 1, hops, "{}", t.name);
        writeln!(
            table,
            "{}: {} hosts, {} switches, {} cables; hosts {}, uplinks {}; {} hops at most",
            t.name,
            t.hosts,
            t.nodes.len() - t.hosts as usize,
            t.links.len() / 2,
            t.host_rate(),
            t.uplink_rate(),
            hops,
        )
        .unwrap();
    }
    assert_eq!(table, FABRICS);
}
const FABRICS: &str = "\
star of 8 hosts: 8 hosts, 1 switches, 8 cables; hosts 80Gbps, uplinks 0bps; 2 hops at most
dumbbell of 3 pairs: 6 hosts, 2 switches, 7 cables; hosts 60Gbps, uplinks 20Gbps; 3 hops at most
parking lot of 3 bottlenecks: 8 hosts, 4 switches, 11 cables; hosts 80Gbps, uplinks 60Gbps; 5 hops at most
parking lot of 3 bottlenecks: 6 hosts, 4 switches, 9 cables; hosts 60Gbps, uplinks 60Gbps; 5 hops at most
multi-bottleneck of 4 flows: 6 hosts, 2 switches, 7 cables; hosts 60Gbps, uplinks 20Gbps; 3 hops at most
leaf-spine 9x4x16: 144 hosts, 13 switches, 180 cables; hosts 1.44Tbps, uplinks 1.44Tbps; 4 hops at most
fat tree k=4: 16 hosts, 20 switches, 48 cables; hosts 160Gbps, uplinks 160Gbps; 6 hops at most
fat tree k=8: 128 hosts, 80 switches, 384 cables; hosts 1.28Tbps, uplinks 1.28Tbps; 6 hops at most
three-tier 8/16/32x6: 192 hosts, 56 switches, 320 cables; hosts 1.92Tbps, uplinks 640Gbps; 6 hops at most
";

#[test]
fn the_expresspass_fabric_is_oversubscribed_three_to_one() {
    let t = three_tier().build().unwrap();
    assert_eq!(t.host_rate().0, 3 * t.uplink_rate().0);
    assert_eq!(t.tier_rate(2, 3), t.uplink_rate());
    // Of the 191 other hosts, 5 are in the same rack. [xpass artefact]
    let crossing = t.crossing();
    assert_eq!(crossing.crossing * 191, crossing.pairs * 186);
}

#[test]
fn ports_lead_down_first_then_up_in_order() {
    let t = fat_tree(4).build().unwrap();
    let neighbours = |name: &str| {
        let ports = &t.node(t.named(name).unwrap()).ports;
        ports
            .iter()
            .map(|&l| t.node(t.link(l).to).name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(neighbours("tor5"), "h10 h11 agg4 agg5");
    assert_eq!(neighbours("agg4"), "tor4 tor5 core0 core1");
    assert_eq!(neighbours("agg5"), "tor4 tor5 core2 core3");
    assert_eq!(neighbours("core2"), "agg1 agg3 agg5 agg7");
}

#[test]
fn special_flows_meet_where_their_paper_says() {
    let crossings = |spec: &Spec| {
        let t = spec.build().unwrap();
        let routes = Routes::new(&t, &[]);
        let mut uses: BTreeMap<[String; 2], u32> = BTreeMap::new();
        for (src, dst) in spec.flows() {
            for id in path(&t, &routes, src, dst, 0) {
                let link = t.link(id);
                let ends = [link.from, link.to].map(|end| t.node(end).name.to_string());
                *uses.entry(ends).or_default() += 1;
            }
        }
        let shared = uses.into_iter().filter(|&(_, n)| n > 1);
        shared
            .map(|([a, b], n)| format!("{a}>{b}:{n}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(crossings(&dumbbell(3)), "tor0>tor1:3");
    assert_eq!(
        crossings(&parking_lot(3, false)),
        "tor0>tor1:2 tor1>tor2:2 tor2>tor3:2"
    );
    assert_eq!(
        crossings(&parking_lot(3, true)),
        "tor0>tor1:2 tor1>tor2:2 tor2>tor3:2"
    );
    assert_eq!(crossings(&multi_bottleneck(4)), "h0>tor0:5 tor0>tor1:4");
}

#[test]
fn numbers_that_make_no_fabric_are_refused_with_the_fix() {
    let three = |change: fn(&mut ThreeTier)| {
        let mut spec = ThreeTier::expresspass(RATE);
        change(&mut spec);
        Spec::ThreeTier(spec)
    };
    let cases = [
        (fat_tree(5), "k = 5; a fat tree needs an even k, at least 2"),
        (fat_tree(4_000_000_000), "16000000000000000000 hosts and"),
        (star(1), "hosts = 1; it must be at least 2"),
        (leaf_spine(2, 0, 4), "spines = 0; it must be at least 1"),
        (
            three(|s| s.pods = 5),
            "pods = 5 does not divide tors = 32; change one of them",
        ),
        (
            three(|s| s.pods = 0),
            "pods = 0 does not divide tors = 32; change one of them",
        ),
        (
            three(|s| s.cores = 9),
            "aggs / pods = 2 does not divide cores = 9",
        ),
        (
            three(|s| s.tor_rate = Rate(0)),
            "the cable between nodes 192 and 224 has rate 0",
        ),
        (star(70_000), "tor0 needs more than 65535 ports"),
    ];
    for (spec, expected) in cases {
        let error = spec.build().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn both_directions_of_a_connection_follow_the_same_cables() {
    for spec in [
        star(9),
        dumbbell(5),
        parking_lot(4, false),
        parking_lot(4, true),
        multi_bottleneck(3),
        leaf_spine(9, 4, 16),
        fat_tree(4),
        fat_tree(8),
        three_tier(),
    ] {
        let t = spec.build().unwrap();
        let routes = Routes::new(&t, &[]);
        assert_eq!(check_symmetry(&t, &routes, 100_000), None, "{}", t.name);
    }
}

#[test]
fn broken_cables_keep_paths_symmetric_as_long_as_no_detour_is_needed() {
    let mut draw = Draw(7);
    for spec in [fat_tree(4), fat_tree(8), leaf_spine(9, 4, 16), three_tier()] {
        let t = spec.build().unwrap();
        let intact = Routes::new(&t, &[]);
        let cables = u32::try_from(t.links.len() / 2).unwrap();
        let (mut kept, mut detours) = (0, 0);
        for _ in 0..20 {
            // Up to a sixteenth of the cables between switches, one direction of each named.
            let broken = 1 + draw.below((cables - t.hosts) / 16);
            let down: Vec<_> = (0..broken)
                .map(|_| LinkId(2 * (t.hosts + draw.below(cables - t.hosts)) + draw.below(2)))
                .collect();
            let routes = Routes::new(&t, &down);
            for conn in 0..5_000 {
                let (src, dst) = (draw.below(t.hosts), draw.below(t.hosts));
                if t.hops(&routes, src, dst) == t.hops(&intact, src, dst) {
                    kept += 1;
                    assert!(
                        mirrored(&t, &routes, src, dst, conn),
                        "{}: {src} {dst}",
                        t.name
                    );
                } else {
                    detours += 1;
                }
                let links = path(&t, &routes, src, dst, conn);
                assert!(
                    links
                        .iter()
                        .all(|l| !down.contains(l) && !down.contains(&l.reverse()))
                );
            }
        }
        assert!(
            kept > 10 * detours,
            "{}: {kept} and {detours} detours",
            t.name
        );
    }
}

#[test]
fn connections_spread_over_all_paths() {
    let t = fat_tree(8).build().unwrap();
    let routes = Routes::new(&t, &[]);
    let mut uses = vec![0u32; t.links.len()];
    for conn in 0..16_000 {
        for link in path(&t, &routes, 0, t.hosts - 1, conn) {
            uses[link.index()] += 1;
        }
    }
    // 4 ways up from the rack, 4 from each of those, 16 cores: 1,000 connections each.
    let core: Vec<_> = t
        .links
        .iter()
        .zip(&uses)
        .filter(|(link, n)| t.node(link.from).tier == 3 && **n > 0)
        .map(|(_, &n)| n)
        .collect();
    assert_eq!(core.len(), 16);
    assert!(core.iter().all(|n| (880..1120).contains(n)), "{core:?}");
}

fn node(id: u32, kind: NodeKind) -> GraphNode {
    GraphNode {
        id,
        kind,
        name: None,
    }
}

fn host(id: u32) -> GraphNode {
    node(id, NodeKind::Host)
}

fn switch(id: u32) -> GraphNode {
    node(id, NodeKind::Switch)
}

fn cable(a: u32, b: u32) -> Cable {
    Cable {
        a,
        b,
        rate: RATE,
        delay: DELAY,
        loss_ppb: 0,
    }
}

#[test]
fn parallel_cables_are_found_asymmetric() {
    let mut nodes: Vec<_> = (0..2).map(host).collect();
    nodes.extend((2..5).map(switch));
    // Rack 2 and rack 3 are joined by switch 4, with two cables each.
    let cables = vec![
        cable(0, 2),
        cable(1, 3),
        cable(2, 4),
        cable(2, 4),
        cable(3, 4),
        cable(3, 4),
    ];
    let graph = Graph {
        name: "bundle".into(),
        nodes,
        cables,
        order: PortOrder::Appearance,
        host_extra_delay: Span::ZERO,
    };
    let t = graph.build().unwrap();
    let routes = Routes::new(&t, &[]);
    let (src, dst, conn) = check_symmetry(&t, &routes, 1000).unwrap();
    assert!(!mirrored(&t, &routes, src, dst, conn));
}

/// Ways from host 0 to host 1 and back over cables between these.
fn ways(nodes: u32, ends: &[(u32, u32)]) -> (u16, u16) {
    let all = (0..2).map(host).chain((2..nodes).map(switch));
    let graph = Graph {
        name: "uneven".into(),
        nodes: all.collect(),
        cables: ends.iter().map(|&(a, b)| cable(a, b)).collect(),
        order: PortOrder::Appearance,
        host_extra_delay: Span::ZERO,
    };
    let t = graph.build().unwrap();
    let routes = Routes::new(&t, &[]);
    assert_eq!(t.ways(&routes, 0, 0), 0);
    (t.ways(&routes, 0, 1), t.ways(&routes, 1, 0))
}

#[test]
fn where_ways_have_other_choices_every_choice_has_as_many_numbers() {
    // From switch 2 one way over 3 and 5, and three over 4, by 6, 7 and 8; all meet at 9.
    let ends = [(0, 2), (2, 3), (2, 4), (3, 5), (4, 6), (4, 7), (4, 8)];
    let up = [(5, 9), (6, 9), (7, 9), (8, 9), (9, 1)];
    assert_eq!(ways(10, &[&ends[..], &up].concat()), (6, 4));
    // Two over 3, and three over 4: with six numbers those of 3 would have two and one.
    let ends = [
        (0, 2),
        (2, 3),
        (2, 4),
        (3, 5),
        (3, 6),
        (4, 7),
        (4, 8),
        (4, 9),
    ];
    let up = [(5, 10), (6, 10), (7, 10), (8, 10), (9, 10), (10, 1)];
    assert_eq!(ways(11, &[&ends[..], &up].concat()), (12, 5));
}

#[test]
fn shuffled_uplinks_are_cured_by_ordering_ports() {
    let t = leaf_spine(4, 4, 2).build().unwrap();
    let nodes: Vec<_> = (0..)
        .zip(&t.nodes)
        .map(|(id, n)| GraphNode {
            id,
            kind: n.kind,
            name: None,
        })
        .collect();
    let mut cables: Vec<_> = t
        .links
        .chunks(2)
        .map(|l| Cable {
            a: l[0].from.0,
            b: l[0].to.0,
            rate: RATE,
            delay: DELAY,
            loss_ppb: 0,
        })
        .collect();
    let mut draw = Draw(3);
    for i in (1..cables.len()).rev() {
        cables.swap(i, draw.below(u32::try_from(i).unwrap() + 1) as usize);
    }
    let build = |order| {
        let (nodes, cables) = (nodes.clone(), cables.clone());
        let name = "shuffled".to_string();
        Graph {
            name,
            nodes,
            cables,
            order,
            host_extra_delay: Span::ZERO,
        }
        .build()
        .unwrap()
    };
    let asymmetry = |t: &Topology| check_symmetry(t, &Routes::new(t, &[]), 10_000);
    assert!(asymmetry(&build(PortOrder::Appearance)).is_some());
    assert_eq!(asymmetry(&build(PortOrder::Neighbour)), None);
}

#[test]
fn next_hops_are_exactly_the_ports_that_come_one_hop_closer() {
    let mut draw = Draw(1);
    let mut with_twins = 0;
    for round in 0..1000 {
        let t = random_graph(&mut draw);
        t.check();
        let links = u32::try_from(t.links.len()).unwrap();
        let down: Vec<_> = (0..draw.below(3).min(links))
            .map(|_| LinkId(draw.below(links)))
            .collect();
        let map = Map::new(&t, &down);
        let twins = match round % 2 {
            0 => Twins::of(&map),
            _ => Twins::each_alone(&map),
        };
        with_twins += u32::from(twins.iter().any(Twins::are_several));
        let routes = Routes::of(&t, map, &twins);
        for dst in 0..t.hosts {
            let distance = distances(&t, &down, dst);
            for (at, node) in (0..).zip(&t.nodes) {
                let expected: Vec<u16> = (0..)
                    .zip(&node.ports)
                    .filter(|&(_, &id)| {
                        let to = t.link(id).to;
                        let dead = down.contains(&id) || down.contains(&id.reverse());
                        let forwards = to.0 == dst || !t.is_host(to);
                        let closer = distance[to.index()].map(|d| d + 1);
                        !dead && forwards && closer.is_some() && closer == distance[at as usize]
                    })
                    .map(|(port, _)| port)
                    .collect();
                let found = routes.next_hops(NodeId(at), dst);
                assert_eq!(found, expected, "round {round}: {} to h{dst}", node.name);
            }
        }
    }
    assert!(with_twins >= 40, "{with_twins}");
}

#[test]
fn the_hot_path_accessors_agree_with_next_hops() {
    let t = fat_tree(4).build().unwrap();
    let down = [t.links_between(t.named("tor0").unwrap(), t.named("agg0").unwrap())[0]];
    let routes = Routes::new(&t, &down);
    assert_eq!(routes.edges(), 8);
    for switch in (t.hosts..u32::try_from(t.nodes.len()).unwrap()).map(NodeId) {
        for host in 0..t.hosts {
            let entry = routes.table(switch)[routes.edge_of(host) as usize];
            let port = [routes.port_to(host)];
            let ways = if entry == Routes::DIRECT {
                &port
            } else {
                routes.group(entry)
            };
            assert_eq!(ways, routes.next_hops(switch, host));
        }
    }
    let agg0 = t.named("agg0").unwrap();
    assert_ne!(routes.next_hops(agg0, 0), [0], "not over the broken cable");
}

#[test]
fn a_host_without_its_cable_is_out_of_reach() {
    let t = star(3).build().unwrap();
    let up = t.node(NodeId(1)).ports[0];
    for down in [up, up.reverse()] {
        let routes = Routes::new(&t, &[down]);
        assert!(routes.next_hops(NodeId(0), 1).is_empty());
        assert!(routes.next_hops(NodeId(1), 0).is_empty());
        assert!(routes.next_hops(NodeId(3), 1).is_empty());
        assert!(path(&t, &routes, 0, 1, 0).is_empty());
        assert_eq!(t.base_rtt(&routes, 0, 1, Bytes(0), Bytes(0)), None);
        assert!(routes.reaches(0, 2) && routes.reaches(1, 1));
        assert_eq!(routes.cut_off(), Some((0, 1)));
    }
}

/// The longest round trip for frames of one size, found among others.
fn longest_rtt(t: &Topology, routes: &Routes, first: Bytes, back: Bytes) -> Span {
    let other = (Bytes(9000), Bytes(9000));
    let [alone] = t.max_base_rtts(routes, [(first, back)]);
    let [_, among] = t.max_base_rtts(routes, [other, (first, back)]);
    assert_eq!(among, alone, "sizes do not meet");
    alone
}

#[test]
fn the_base_rtt_of_the_expresspass_fabric_is_what_its_script_says() {
    let t = three_tier().build().unwrap();
    let routes = Routes::new(&t, &[]);
    // Six links of 4 us each way, and 1 us at each host: 50 us. [xpass artefact]
    assert_eq!(longest_rtt(&t, &routes, Bytes(0), Bytes(0)), Span::us(50));
    // A full frame takes 1.2304 us on each of six lines, a credit 67.2 ns.
    let with_frames = Span::us(50) + Span::ps(6 * (1_230_400 + 67_200));
    assert_eq!(
        longest_rtt(&t, &routes, Bytes(1538), Bytes(84)),
        with_frames
    );
    let same_rack = t.base_rtt(&routes, 0, 5, Bytes(0), Bytes(0));
    assert_eq!(same_rack, Some(Span::us(18)));
    let there = path(&t, &routes, 0, 191, 7);
    assert_eq!(t.path_delay(&there, Bytes(0)), Span::us(25));
    assert_eq!(t.path_rate(&there), Some(RATE));
}

#[test]
fn the_longest_base_rtt_is_the_longest_of_all_pairs() {
    let mut draw = Draw(11);
    let (first, back) = (Bytes(1538), Bytes(84));
    for round in 0..300 {
        let t = random_graph(&mut draw);
        let links = u32::try_from(t.links.len()).unwrap();
        let down: Vec<_> = (0..draw.below(3))
            .map(|_| LinkId(draw.below(links)))
            .collect();
        let routes = Routes::new(&t, &down);
        let pairs = (0..t.hosts).flat_map(|a| (0..t.hosts).map(move |b| (a, b)));
        let longest = pairs
            .filter(|(a, b)| a != b)
            .filter_map(|(a, b)| t.base_rtt(&routes, a, b, first, back))
            .max();
        let found = longest_rtt(&t, &routes, first, back);
        assert_eq!(found, longest.unwrap_or_default(), "round {round}");
    }
}

#[test]
fn where_cables_are_alike_the_longest_base_rtt_is_found_without_a_search() {
    let mut draw = Draw(12);
    let (first, back) = (Bytes(1538), Bytes(84));
    let mut shortcuts = 0;
    for round in 0..300 {
        let (hosts, switches) = (2 + draw.below(7), 1 + draw.below(6));
        let cable = |a, b, gbps, us| Cable {
            a,
            b,
            rate: Rate::gbps(gbps),
            delay: Span::us(us),
            loss_ppb: 0,
        };
        let mut cables: Vec<_> = (0..hosts)
            .map(|host| cable(host, hosts + draw.below(switches), 10, 1))
            .collect();
        for n in 1..switches {
            // Now and then nothing leads on, or one cable is not like the others.
            let to = draw.below(n + 1).min(n - 1);
            let us = if draw.below(20) == 0 { 5 } else { 3 };
            if draw.below(10) > 0 {
                cables.push(cable(hosts + n, hosts + to, 40, us));
            }
        }
        let node = |id| GraphNode {
            id,
            kind: [NodeKind::Host, NodeKind::Switch][usize::from(id >= hosts)],
            name: None,
        };
        let graph = Graph {
            name: "alike".to_owned(),
            nodes: (0..hosts + switches).map(node).collect(),
            cables,
            order: PortOrder::Appearance,
            host_extra_delay: Span::us(1),
        };
        let t = graph.build().unwrap();
        let routes = Routes::new(&t, &[]);
        let pairs = (0..t.hosts).flat_map(|a| (0..t.hosts).map(move |b| (a, b)));
        let longest = pairs
            .filter(|(a, b)| a != b)
            .filter_map(|(a, b)| t.base_rtt(&routes, a, b, first, back))
            .max();
        let found = longest_rtt(&t, &routes, first, back);
        assert_eq!(found, longest.unwrap_or_default(), "round {round}");
        shortcuts += u32::from(t.max_rtts_alike(&routes, [(first, back)]).is_some());
    }
    assert!((100..250).contains(&shortcuts), "{shortcuts}");
}

/// Run by hand: `cargo test -p tidegate-topology --profile quick -- --ignored --nocapture`.
#[test]
#[ignore = "large; measures by the test runner's clock"]
fn routes_of_a_hundred_thousand_hosts_fit() {
    let t = fat_tree(74).build().unwrap();
    assert_eq!(t.hosts, 101_306);
    let routes = Routes::new(&t, &[]);
    assert_eq!(t.hops(&routes, 0, t.hosts - 1), Some(6));
    assert_eq!(longest_rtt(&t, &routes, Bytes(0), Bytes(0)), Span::us(12));
}
