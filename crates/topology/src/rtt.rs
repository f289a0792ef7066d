//! How long an empty network takes: hops, one-way times and base round-trip times.
//!
//! A round trip counts propagation both ways, the data frame's time on every line of the way there
//! and the answer's on every line of the way back, over one and the same path. Where equal-cost
//! paths differ, the longest counts.

use crate::{Link, LinkId, NodeId, Routes, Topology};
use std::collections::BTreeMap;
use units::{Bytes, Rate, Span};

/// Wire sizes of the frame that goes and of the one that comes back.
#[derive(Clone, Copy)]
struct Frames {
    first: Bytes,
    back: Bytes,
}

impl Topology {
    /// Links between host `src` and host `dst`; none where there is no way.
    pub fn hops(&self, routes: &Routes, src: u32, dst: u32) -> Option<u32> {
        let mut at = NodeId(src);
        let mut hops = 0;
        while at.0 != dst {
            let way = *routes.next_hops(at, dst).first()?;
            at = self.link(self.node(at).ports[usize::from(way)]).to;
            hops += 1;
        }
        Some(hops)
    }

    /// Time from the first bit at the start of `path` to the last bit at its end, for a frame of
    /// `wire` bytes that every switch receives whole before it sends it on.
    pub fn path_delay(&self, path: &[LinkId], wire: Bytes) -> Span {
        path.iter().map(|&id| one_way(self.link(id), wire)).sum()
    }

    /// The slowest line on `path`; none on an empty path.
    pub fn path_rate(&self, path: &[LinkId]) -> Option<Rate> {
        path.iter().map(|&id| self.link(id).rate).min()
    }

    /// Round trip between `src` and `dst` in an empty network, with a frame of `first_wire` bytes
    /// there and one of `back_wire` bytes back; zero bytes leave propagation alone. None where
    /// there is no way.
    pub fn base_rtt(
        &self,
        routes: &Routes,
        src: u32,
        dst: u32,
        first_wire: Bytes,
        back_wire: Bytes,
    ) -> Option<Span> {
        let frames = Frames {
            first: first_wire,
            back: back_wire,
        };
        // All shortest paths advance together, so a node is met with all its ways at once.
        let mut reached = BTreeMap::from([(NodeId(src), Span::ZERO)]);
        loop {
            if let Some(&rtt) = reached.get(&NodeId(dst)) {
                return Some(rtt);
            }
            let mut further: BTreeMap<NodeId, Span> = BTreeMap::new();
            for (&at, &so_far) in &reached {
                for &way in routes.next_hops(at, dst) {
                    let id = self.node(at).ports[usize::from(way)];
                    let rtt = so_far + self.there_and_back(id, frames);
                    let longest = further.entry(self.link(id).to).or_default();
                    *longest = rtt.max(*longest);
                }
            }
            if further.is_empty() {
                return None;
            }
            reached = further;
        }
    }

    /// The longest [`Topology::base_rtt`] of all pairs of hosts that reach each other; the work
    /// grows with switches times racks, not with pairs.
    pub fn max_base_rtt(&self, routes: &Routes, first_wire: Bytes, back_wire: Bytes) -> Span {
        let frames = Frames {
            first: first_wire,
            back: back_wire,
        };
        // By edge: a host behind it, and the two longest access links of different hosts.
        let mut edges = vec![(None, [None::<Span>; 2]); routes.edges() as usize];
        for host in 0..self.hosts {
            let edge = routes.edge_of(host);
            let node = self.node(NodeId(host));
            let access = routes.only_port(host).map_or(Span::ZERO, |port| {
                self.there_and_back(node.ports[usize::from(port)], frames)
            });
            let (speaker, longest) = &mut edges[edge as usize];
            speaker.get_or_insert(host);
            if longest[0].is_none_or(|span| span < access) {
                *longest = [Some(access), longest[0]];
            } else if longest[1].is_none_or(|span| span < access) {
                longest[1] = Some(access);
            }
        }
        let mut longest = Span::ZERO;
        for (to, &(speaker, to_access)) in edges.iter().enumerate() {
            let Some(dst) = speaker else { continue };
            let fabric = self.to_edge(routes, dst, frames);
            for (from, &(_, from_access)) in edges.iter().enumerate() {
                let root = routes.root_row(crate::index32(from));
                let Some(between) = root.and_then(|row| fabric[row as usize]) else {
                    continue;
                };
                let far_access = if from == to {
                    to_access[1]
                } else {
                    from_access[0]
                };
                if let (Some(a), Some(b)) = (far_access, to_access[0]) {
                    longest = longest.max(a + between + b);
                }
            }
        }
        longest
    }

    /// By row: the longest round trip over shortest paths to the edge of host `dst`.
    fn to_edge(&self, routes: &Routes, dst: u32, frames: Frames) -> Vec<Option<Span>> {
        let mut known: Vec<Option<Span>> = vec![None; routes.rows() as usize];
        let Some(root) = routes.root_row(routes.edge_of(dst)) else {
            return known;
        };
        known[root as usize] = Some(Span::ZERO);
        // Depth first with a stack of its own: the next hops of a destination form no circle.
        let mut stack: Vec<u32> = (0..routes.rows()).collect();
        while let Some(&row) = stack.last() {
            if known[row as usize].is_some() {
                stack.pop();
                continue;
            }
            let at = routes.node_of_row(row);
            let ways = routes.next_hops(at, dst);
            if ways.is_empty() {
                stack.pop();
                continue;
            }
            let hops = ways
                .iter()
                .map(|&way| self.node(at).ports[usize::from(way)]);
            let waiting = stack.len();
            let mut longest = Span::ZERO;
            for id in hops {
                let next = routes
                    .row_of_node(self.link(id).to)
                    .expect("a next hop is a router");
                match known[next as usize] {
                    Some(rtt) => longest = longest.max(rtt + self.there_and_back(id, frames)),
                    None => stack.push(next),
                }
            }
            if stack.len() == waiting {
                known[row as usize] = Some(longest);
                stack.pop();
            }
        }
        known
    }

    fn there_and_back(&self, id: LinkId, frames: Frames) -> Span {
        one_way(self.link(id), frames.first) + one_way(self.link(id.reverse()), frames.back)
    }
}

fn one_way(link: &Link, wire: Bytes) -> Span {
    link.delay + link.rate.serialize(wire)
}
