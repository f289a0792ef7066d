//! How long an empty network takes: hops, one-way times and base round-trip times.
//!
//! A round trip counts propagation both ways, the data frame's time on every line of the way there
//! and the answer's on every line of the way back, over one and the same path. Where equal-cost
//! paths differ, the longest counts.

use crate::routes::{Roots, Search, bits};
use crate::{Link, LinkId, NodeId, Routes, Topology};
use std::collections::BTreeMap;
use units::{Bytes, Rate, Span};

/// The least number that both divide, and the greater of the two where 16 bits do not hold it.
fn common(a: u16, b: u16) -> u16 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b).unwrap_or(a.max(b))
}

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

    /// Equal-cost ways from host `src` to host `dst`: the sizes of the choices on one of them, multiplied,
    /// and 65,535 where there are more; none where there is no way, or none is needed. In a Clos every way
    /// has choices of the same sizes; elsewhere this is the least number that all of them divide, so that every choice has as many
    /// numbers as the others beside it, and the greatest of them where that is too large.
    pub fn ways(&self, routes: &Routes, src: u32, dst: u32) -> u16 {
        if self.uneven {
            return self.ways_of_all(routes, src, dst);
        }
        let mut at = NodeId(src);
        let mut ways = u16::from(src != dst);
        while at.0 != dst && ways > 0 {
            let next = routes.next_hops(at, dst);
            ways = ways.saturating_mul(u16::try_from(next.len()).unwrap_or(u16::MAX));
            if let Some(&way) = next.first() {
                at = self.link(self.node(at).ports[usize::from(way)]).to;
            }
        }
        ways
    }

    /// The same where ways have other choices.
    fn ways_of_all(&self, routes: &Routes, src: u32, dst: u32) -> u16 {
        // All shortest paths advance together, so a node is met with all its ways at once.
        let mut reached = BTreeMap::from([(NodeId(src), u16::from(src != dst))]);
        while !reached.is_empty() {
            if let Some(&ways) = reached.get(&NodeId(dst)) {
                return ways;
            }
            let mut further: BTreeMap<NodeId, u16> = BTreeMap::new();
            for (&at, &so_far) in &reached {
                let next = routes.next_hops(at, dst);
                let ways = so_far.saturating_mul(u16::try_from(next.len()).unwrap_or(u16::MAX));
                for &way in next {
                    let to = self.link(self.node(at).ports[usize::from(way)]).to;
                    let all = further.entry(to).or_insert(ways);
                    *all = common(*all, ways);
                }
            }
            reached = further;
        }
        0
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

    /// The longest [`Topology::base_rtt`] of all pairs of hosts that reach each other, for each of
    /// several wire sizes of the frame that goes and of the one that comes back. The work grows with
    /// switches times racks, not with pairs.
    pub fn max_base_rtts<const N: usize>(
        &self,
        routes: &Routes,
        frames: [(Bytes, Bytes); N],
    ) -> [Span; N] {
        if let Some(alike) = self.max_rtts_alike(routes, frames) {
            return alike;
        }
        let times = self.over_links(frames);
        let access = self.longest_access(routes, &times);
        let map = routes.map();
        let mut search = Search::new(map.rows());
        // By row: how far the roots of the search are, those that are equally far together.
        let mut between: Vec<Vec<Far<N>>> = vec![Vec::new(); map.rows()];
        let mut farthest = Farthest::new(&access);
        for (batch, roots) in map.roots.chunks(Search::ROOTS).enumerate() {
            between.iter_mut().for_each(Vec::clear);
            for (to, root) in roots.iter().enumerate() {
                if let Some(root) = *root {
                    let here = Far {
                        time: [Span::ZERO; N],
                        roots: 1 << to,
                    };
                    between[root as usize].push(here);
                }
            }
            let mut over = Vec::new();
            search.run(map, roots, |row, edges, ways| {
                over.clear();
                let mut last: Option<(&[Far<N>], &[Span; N])> = None;
                for hop in ways {
                    let way = (&between[hop.to as usize][..], &times[hop.link.index()]);
                    // Ways beside each other are mostly alike.
                    if last.replace(way) == Some(way) {
                        continue;
                    }
                    for far in way.0 {
                        let roots = far.roots & edges;
                        if roots != 0 {
                            let time = add(&far.time, way.1);
                            take_longer(&mut over, Far { time, roots });
                        }
                    }
                }
                between[row as usize].extend_from_slice(&over);
            });
            for (from, root) in map.roots.iter().enumerate() {
                if let Some(row) = *root {
                    farthest.look(from, &between[row as usize], batch * Search::ROOTS);
                }
            }
        }
        farthest.longest
    }

    /// The same where cables of hosts are alike and those between switches are, too: then hosts that are the most
    /// switches apart are the farthest. None where they are not, or where more than one switch knows a host.
    pub(crate) fn max_rtts_alike<const N: usize>(
        &self,
        routes: &Routes,
        frames: [(Bytes, Bytes); N],
    ) -> Option<[Span; N]> {
        let map = routes.map();
        if map.rows() != self.nodes.len() - self.hosts as usize || map.roots.contains(&None) {
            return None;
        }
        let apart = routes.longest().checked_sub(2)?; // two hosts of one switch may not be alike
        let mut known = [None; 2];
        for id in (0..).map(LinkId).step_by(2).take(self.links.len() / 2) {
            let id = if self.is_host(self.link(id).to) {
                id.reverse()
            } else {
                id
            };
            let (between, cable) = (!self.is_host(self.link(id).from), self.cable(id));
            let (_, first) = *known[usize::from(between)].get_or_insert((id, cable));
            if cable != first || (between && cable.0 != cable.1) {
                return None;
            }
        }
        let [(access, _), (between, _)] = [known[0]?, known[1]?];
        Some(frames.map(|(first, back)| {
            let over = |id| self.there_and_back(id, Frames { first, back });
            over(access).times(2) + over(between).times(u64::from(apart) + 1)
        }))
    }

    /// All of a cable that a round trip over it depends on, seen from one end.
    fn cable(&self, id: LinkId) -> (Rate, Rate, Span) {
        let (there, back) = (self.link(id), self.link(id.reverse()));
        (there.rate, back.rate, there.delay + back.delay)
    }

    /// By link: the way there over it and back over its reverse.
    fn over_links<const N: usize>(&self, frames: [(Bytes, Bytes); N]) -> Vec<[Span; N]> {
        let on_lines = |rate: Rate, back: Rate| {
            frames.map(|(first, last)| rate.serialize(first) + back.serialize(last))
        };
        // Neighbouring links are mostly alike.
        let mut known = (Rate(0), Rate(0), [Span::ZERO; N]);
        let mut times = Vec::with_capacity(self.links.len());
        for (id, link) in (0..).zip(&self.links) {
            let reverse = self.link(LinkId(id).reverse());
            if (known.0, known.1) != (link.rate, reverse.rate) {
                known = (link.rate, reverse.rate, on_lines(link.rate, reverse.rate));
            }
            let delay = link.delay + reverse.delay;
            times.push(known.2.map(|on_lines| delay + on_lines));
        }
        times
    }

    /// By edge: the two longest round trips over the access links of different hosts behind it.
    fn longest_access<const N: usize>(
        &self,
        routes: &Routes,
        times: &[[Span; N]],
    ) -> Vec<Access<N>> {
        let mut edges = vec![[[None; 2]; N]; routes.edges() as usize];
        for host in 0..self.hosts {
            let node = self.node(NodeId(host));
            // A host that is an edge of its own is a row too: its links count on the way.
            let access = routes.only_port(host).map_or([Span::ZERO; N], |port| {
                times[node.ports[usize::from(port)].index()]
            });
            for (longest, access) in edges[routes.edge_of(host) as usize].iter_mut().zip(access) {
                if longest[0].is_none_or(|span| span < access) {
                    *longest = [Some(access), longest[0]];
                } else if longest[1].is_none_or(|span| span < access) {
                    longest[1] = Some(access);
                }
            }
        }
        edges
    }

    fn there_and_back(&self, id: LinkId, frames: Frames) -> Span {
        one_way(self.link(id), frames.first) + one_way(self.link(id.reverse()), frames.back)
    }
}

/// For each size of frames, the two longest round trips between hosts behind an edge and the edge.
type Access<const N: usize> = [[Option<Span>; 2]; N];

/// Roots of a search, and how far they are.
#[derive(Clone, Copy, PartialEq)]
struct Far<const N: usize> {
    time: [Span; N],
    roots: Roots,
}

/// Adds a way to what is known of the ways to some roots: for each root and size, the longest counts.
fn take_longer<const N: usize>(known: &mut Vec<Far<N>>, mut way: Far<N>) {
    // Most ways are as long as the first that was found.
    if known
        .first()
        .is_some_and(|first| first.time == way.time && way.roots & !first.roots == 0)
    {
        return;
    }
    for at in 0..known.len() {
        let both = known[at].roots & way.roots;
        if both == 0 {
            continue;
        }
        let time = std::array::from_fn(|n| known[at].time[n].max(way.time[n]));
        if time != known[at].time {
            known[at].roots &= !both;
            push(known, Far { time, roots: both });
        }
        way.roots &= !both;
        if way.roots == 0 {
            return;
        }
    }
    push(known, way);
}

/// Adds roots that are not among `known`.
fn push<const N: usize>(known: &mut Vec<Far<N>>, far: Far<N>) {
    match known.iter_mut().find(|known| known.time == far.time) {
        Some(alike) => alike.roots |= far.roots,
        None => known.push(far),
    }
}

/// The longest round trips found so far.
struct Farthest<'a, const N: usize> {
    access: &'a [Access<N>],
    /// No access takes longer.
    access_max: [Span; N],
    longest: [Span; N],
}

impl<'a, const N: usize> Farthest<'a, N> {
    fn new(access: &'a [Access<N>]) -> Self {
        let longest = |n: usize| {
            access
                .iter()
                .filter_map(|edge| edge[n][0])
                .max()
                .unwrap_or_default()
        };
        Self {
            access,
            access_max: std::array::from_fn(longest),
            longest: [Span::ZERO; N],
        }
    }

    /// Looks at the ways from the hosts behind edge `from` to those behind the roots of a search, whose
    /// first is edge `first`.
    fn look(&mut self, from: usize, ways: &[Far<N>], first: usize) {
        for far in ways {
            for n in 0..N {
                let [near, second] = self.access[from][n];
                let Some(near) = near else { continue };
                let way = near + far.time[n];
                if way + self.access_max[n] <= self.longest[n] {
                    continue;
                }
                for to in bits(far.roots).map(|bit| first + bit) {
                    let end = if to == from {
                        second
                    } else {
                        self.access[to][n][0]
                    };
                    if let Some(end) = end {
                        self.longest[n] = self.longest[n].max(way + end);
                    }
                }
            }
        }
    }
}

fn add<const N: usize>(a: &[Span; N], b: &[Span; N]) -> [Span; N] {
    std::array::from_fn(|n| a[n] + b[n])
}

fn one_way(link: &Link, wire: Bytes) -> Span {
    link.delay + link.rate.serialize(wire)
}
