//! Which way each frame of a slot takes: the edges of a bipartite graph get colours, so that no two at a node have the
//! same. [fastpass s4]
//!
//! With as many colours as any node has edges that is always possible (König). An edge takes a colour that is free at
//! both ends; where there is none, two colours change places along the path that begins at its second end.

use super::shape::Shape;

/// No edge.
const NONE: u32 = u32::MAX;

/// A graph of two sides with as many nodes each, whose edges get colours.
#[derive(Debug)]
pub(super) struct Colouring {
    nodes: usize,
    colours: usize,
    /// Colours that may be taken now.
    most: usize,
    /// The edge of each colour at each node, of the first side and then of the second.
    at: Vec<u32>,
    edges: Vec<[u32; 2]>,
    colour: Vec<u32>,
    path: Vec<u32>,
}

impl Colouring {
    pub(super) fn new(nodes: u32, colours: u32) -> Self {
        let (nodes, colours) = (nodes as usize, colours as usize);
        Self {
            nodes,
            colours,
            most: colours,
            at: vec![NONE; 2 * nodes * colours],
            edges: Vec::new(),
            colour: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Takes away all edges; those to come have so many colours.
    pub(super) fn clear(&mut self, most: u32) {
        self.most = self.colours.min(most as usize);
        for edge in (0u32..).take(self.edges.len()) {
            self.stand(edge, NONE);
        }
        self.edges.clear();
        self.colour.clear();
    }

    fn place(&self, side: usize, node: u32, colour: u32) -> usize {
        (side * self.nodes + node as usize) * self.colours + colour as usize
    }

    fn free(&self, side: usize, node: u32) -> Option<u32> {
        let from = self.place(side, node, 0);
        let colours = &self.at[from..from + self.most];
        let free = colours.iter().position(|&edge| edge == NONE)?;
        u32::try_from(free).ok()
    }

    /// Adds an edge from `a` to `b`; false where one of them has as many as there are colours.
    pub(super) fn add(&mut self, a: u32, b: u32) -> bool {
        let (Some(of_a), Some(of_b)) = (self.free(0, a), self.free(1, b)) else {
            return false;
        };
        if self.at[self.place(1, b, of_a)] != NONE {
            self.swap(b, of_a, of_b);
        }
        let edge = u32::try_from(self.edges.len()).expect("as many as hosts, at most");
        self.edges.push([a, b]);
        self.colour.push(of_a);
        self.stand(edge, edge);
        true
    }

    /// Colours `taken` and `free` change places along the path from node `b` of the second side, where `taken` is used
    /// and `free` is not. It never reaches the first end of a new edge: it comes to that side by `taken` alone.
    fn swap(&mut self, b: u32, taken: u32, free: u32) {
        let (mut side, mut node, mut colour) = (1, b, taken);
        self.path.clear();
        loop {
            let edge = self.at[self.place(side, node, colour)];
            if edge == NONE {
                break;
            }
            self.path.push(edge);
            node = self.edges[edge as usize][1 - side];
            (side, colour) = (1 - side, taken + free - colour);
        }
        let path = std::mem::take(&mut self.path);
        for &edge in &path {
            self.stand(edge, NONE);
        }
        for &edge in &path {
            let colour = &mut self.colour[edge as usize];
            *colour = taken + free - *colour;
            self.stand(edge, edge);
        }
        self.path = path;
    }

    /// Writes `what` where `edge` stands by its colour.
    fn stand(&mut self, edge: u32, what: u32) {
        let colour = self.colour[edge as usize];
        for side in 0..2 {
            let place = self.place(side, self.edges[edge as usize][side], colour);
            self.at[place] = what;
        }
    }

    /// The colour of an edge, by the order in which they were added.
    pub(super) fn colour(&self, edge: usize) -> u32 {
        self.colour[edge]
    }
}

/// The ways of the frames of a slot.
#[derive(Debug)]
pub(super) struct Chooser {
    racks: Colouring,
    /// Of each switch above racks, one graph of pods beside the other.
    pods: Option<Colouring>,
    ways: u32,
    core_ways: u32,
    /// Bits of a number of a way.
    pub(super) bits: u8,
    /// The frames that have an edge in `racks`, and in `pods`.
    coloured: Vec<usize>,
    crossing: Vec<usize>,
    /// The way that the first colour stands for: the next one in every slot, so that nobody's frames keep to one way. [ours]
    first: u32,
    /// Frames for which no way of their own was left.
    pub(super) crossed: u64,
}

impl Chooser {
    /// None where there is nothing to choose, or each link is looked at.
    pub(super) fn new(shape: &Shape) -> Option<Self> {
        let up = shape.up?;
        let core_ways = shape.core.map_or(1, |core| core.ways);
        let bits = shape.bits().filter(|_| !shape.is_slow())?;
        let pods = |core: super::shape::Tier| Colouring::new(shape.pods * up.ways, core.most());
        Some(Self {
            racks: Colouring::new(shape.racks, up.most()),
            pods: shape.core.map(pods),
            ways: up.ways,
            core_ways,
            bits,
            coloured: Vec::new(),
            crossing: Vec::new(),
            first: 0,
            crossed: 0,
        })
    }

    /// Gives each frame of a slot, from one host to the other, its way.
    pub(super) fn choose(
        &mut self,
        shape: &Shape,
        slot: u64,
        frames: &[(u32, u32)],
        ways: &mut Vec<u16>,
    ) {
        ways.clear();
        ways.resize(frames.len(), 0);
        self.racks.clear(shape.up.map_or(0, |up| up.frames(slot)));
        self.coloured.clear();
        let seat = |host: u32| shape.seats[host as usize];
        for (n, &(from, to)) in frames.iter().enumerate() {
            let (from, to) = (seat(from), seat(to));
            if from.rack != to.rack {
                if self.racks.add(from.rack, to.rack) {
                    self.coloured.push(n);
                } else {
                    self.crossed += 1;
                }
            }
        }
        for (edge, &n) in self.coloured.iter().enumerate() {
            ways[n] = narrow((self.racks.colour(edge) + self.first) % self.ways);
        }
        let turns = self.first / self.ways;
        self.first = (self.first + 1) % (self.ways * self.core_ways);
        let Some(pods) = &mut self.pods else {
            return;
        };
        pods.clear(shape.core.map_or(0, |core| core.frames(slot)));
        self.crossing.clear();
        for &n in &self.coloured {
            let (from, to) = (seat(frames[n].0), seat(frames[n].1));
            if from.pod == to.pod {
                continue;
            }
            let at = |pod: u32| pod * self.ways + u32::from(ways[n]);
            if pods.add(at(from.pod), at(to.pod)) {
                self.crossing.push(n);
            } else {
                self.crossed += 1;
            }
        }
        for (edge, &n) in self.crossing.iter().enumerate() {
            let core = (pods.colour(edge) + turns) % self.core_ways;
            ways[n] += narrow(core * self.ways);
        }
    }
}

fn narrow(way: u32) -> u16 {
    u16::try_from(way).expect("at most fifteen bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the edges, as long as no node has more of them than there are colours, each gets one, and no two at a
        /// node the same; and what is cleared leaves nothing.
        #[test]
        fn no_two_edges_of_a_node_have_one_colour(
            nodes in 1u32..9,
            colours in 1u32..9,
            edges in prop::collection::vec((0u32..9, 0u32..9), 0..200),
        ) {
            let mut graph = Colouring::new(nodes, colours);
            for _ in 0..2 {
                let mut count = vec![[0u32; 2]; nodes as usize];
                let mut taken = Vec::new();
                for &(a, b) in &edges {
                    let (a, b) = (a % nodes, b % nodes);
                    let room = count[a as usize][0] < colours && count[b as usize][1] < colours;
                    prop_assert_eq!(graph.add(a, b), room);
                    if room {
                        count[a as usize][0] += 1;
                        count[b as usize][1] += 1;
                        taken.push((a, b));
                    }
                }
                let mut seen = std::collections::BTreeSet::new();
                for (edge, &(a, b)) in taken.iter().enumerate() {
                    let colour = graph.colour(edge);
                    prop_assert!(colour < colours);
                    prop_assert!(seen.insert((0, a, colour)) && seen.insert((1, b, colour)));
                }
                graph.clear(colours);
                prop_assert!(graph.at.iter().all(|&edge| edge == NONE));
            }
        }
    }
}
