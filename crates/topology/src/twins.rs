//! Edges that everybody reaches alike, so that one search speaks for all of them.
//!
//! Two roots with the same neighbours are as far from every other router, and by the same ports, except from those
//! neighbours: a shortest way leads to one of these before it leads to the root. All leaves of a fabric with spines are such
//! twins, and so are the edge switches of a pod. [ours]

use crate::routes::Map;
use std::collections::BTreeMap;
use std::ops::Range;

/// Edges whose roots have the same neighbours.
pub(crate) struct Twins {
    /// The first of the roots.
    pub(crate) root: u32,
    /// The edges from the first on that are beside each other.
    first: Range<usize>,
    /// The others, ascending.
    others: Vec<Range<usize>>,
}

impl Twins {
    /// All edges that are connected, each in one of these.
    pub(crate) fn of(map: &Map) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut known: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        let (mut beside, mut before) = (Vec::new(), Vec::new());
        let mut last = None;
        for (edge, root) in map.roots.iter().enumerate() {
            let Some(root) = *root else { continue };
            beside.clear();
            beside.extend(map.neighbours(root).iter().map(|hop| hop.to));
            beside.sort_unstable();
            beside.dedup();
            // Nearly always it is a twin of the one before.
            let twins = match last.filter(|_| beside == before) {
                Some(same) => same,
                None => *known.entry(beside.clone()).or_insert(all.len()),
            };
            match all.get_mut(twins) {
                Some(twins) => twins.add(edge),
                None => all.push(Self::new(root, edge)),
            }
            last = Some(twins);
            std::mem::swap(&mut beside, &mut before);
        }
        all
    }

    /// The same edges, each for itself.
    pub(crate) fn each_alone(map: &Map) -> Vec<Self> {
        let roots = map.roots.iter().enumerate();
        let connected = roots.filter_map(|(edge, &root)| root.map(|root| Self::new(root, edge)));
        connected.collect()
    }

    fn new(root: u32, edge: usize) -> Self {
        Self {
            root,
            first: edge..edge + 1,
            others: Vec::new(),
        }
    }

    /// All of the edges, ascending.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(self.first.clone()).chain(self.others.iter().cloned())
    }

    /// The edges with their roots.
    pub(crate) fn roots<'m>(&'m self, map: &'m Map) -> impl Iterator<Item = (usize, u32)> + 'm {
        self.edges()
            .flatten()
            .filter_map(|edge| map.roots[edge].map(|root| (edge, root)))
    }

    fn add(&mut self, edge: usize) {
        let last = self.others.last_mut().unwrap_or(&mut self.first);
        if last.end == edge {
            last.end += 1;
        } else {
            self.others.push(edge..edge + 1);
        }
    }

    /// Whether there is more than one.
    pub(crate) fn are_several(&self) -> bool {
        self.first.len() > 1 || !self.others.is_empty()
    }
}

/// Where the edges of each begin and those of the last end; none where these, one after another, are not all between.
pub(crate) fn starts(all: &[Twins]) -> Option<Vec<usize>> {
    let mut starts = Vec::with_capacity(all.len() + 1);
    for twins in all {
        let Range { start, end } = twins.first;
        if starts.pop().unwrap_or(start) != start || !twins.others.is_empty() {
            return None;
        }
        starts.extend([start, end]);
    }
    Some(starts)
}
