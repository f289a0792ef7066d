//! How long an empty network takes: hops, one-way times and base round-trip times.
//!
//! A round trip counts propagation both ways, the data frame's time on every line of the way there
//! and the answer's on every line of the way back, over one and the same path. Where equal-cost
//! paths differ, the longest counts.

use crate::routes::{Hop, Search, bits};
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
        let links = (0..crate::index32(self.links.len())).map(LinkId);
        let times: Vec<Span> = links.map(|id| self.there_and_back(id, frames)).collect();
        let access = self.longest_access(routes, &times);
        let map = routes.map();
        let mut search = Search::new(map.rows());
        // By row and root of the search: the longest round trip between the two.
        let mut between = vec![[Span::ZERO; Search::ROOTS]; map.rows()];
        let mut longest = Span::ZERO;
        for (batch, roots) in map.roots.chunks(Search::ROOTS).enumerate() {
            let first_edge = batch * Search::ROOTS;
            let mut reached = vec![0; map.rows()];
            for (to, root) in roots.iter().enumerate() {
                if let Some(root) = *root {
                    between[root as usize][to] = Span::ZERO;
                    reached[root as usize] |= 1 << to;
                }
            }
            search.run(map, roots, |row, edges, ways| {
                reached[row as usize] |= edges;
                for to in bits(edges) {
                    let over = |hop: &Hop| between[hop.to as usize][to] + times[hop.link.index()];
                    let farthest = ways.iter().map(over).max();
                    between[row as usize][to] = farthest.unwrap_or_default();
                }
            });
            for (from, root) in map.roots.iter().enumerate() {
                let Some(row) = root.map(|row| row as usize) else {
                    continue;
                };
                for to in bits(reached[row]) {
                    let [far, second] = access[first_edge + to];
                    let near = if from == first_edge + to {
                        second
                    } else {
                        access[from][0]
                    };
                    if let (Some(near), Some(far)) = (near, far) {
                        longest = longest.max(near + between[row][to] + far);
                    }
                }
            }
        }
        longest
    }

    /// By edge: the two longest round trips over the access links of different hosts behind it.
    fn longest_access(&self, routes: &Routes, times: &[Span]) -> Vec<[Option<Span>; 2]> {
        let mut edges = vec![[None; 2]; routes.edges() as usize];
        for host in 0..self.hosts {
            let node = self.node(NodeId(host));
            // A host that is an edge of its own is a row too: its links count on the way.
            let access = routes.only_port(host).map_or(Span::ZERO, |port| {
                times[node.ports[usize::from(port)].index()]
            });
            let longest = &mut edges[routes.edge_of(host) as usize];
            if longest[0].is_none_or(|span| span < access) {
                *longest = [Some(access), longest[0]];
            } else if longest[1].is_none_or(|span| span < access) {
                longest[1] = Some(access);
            }
        }
        edges
    }

    fn there_and_back(&self, id: LinkId, frames: Frames) -> Span {
        one_way(self.link(id), frames.first) + one_way(self.link(id.reverse()), frames.back)
    }
}

fn one_way(link: &Link, wire: Bytes) -> Span {
    link.delay + link.rate.serialize(wire)
}
