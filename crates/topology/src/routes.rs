//! All shortest paths by hops, compactly: one row per switch, one entry per edge.
//!
//! `Routes` is what lookups read, `Row` its part of one switch, and `Map` the routers and working cables that a search
//! over all edges fills it from. [`Twins`] need one search between them.

use crate::twins::{self, Twins};
use crate::{LinkId, NodeId, Topology, index32};
use std::collections::BTreeMap;
use std::ops::Range;

/// Which ports lead to which host, by shortest paths; all equal-cost ports are kept.
///
/// Hosts behind the same single switch share an *edge*; a host with several cables, or cabled to
/// another host, is an edge of its own. A router (a switch, or such a host) has one *row* with one
/// entry per edge: the only port that leads there, or the place of a *group* of ports. So a packet costs two
/// loads where there is one way, and two more where there are several.
///
/// ```
/// # use topology::{FatTree, NodeId, Routes, Spec};
/// # use units::{Rate, Span};
/// # let (rate, delay) = (Rate::gbps(100), Span::us(1));
/// # let spec = FatTree { k: 4, hosts_per_edge: None, rate, delay, host_extra_delay: Span::ZERO };
/// let topology = Spec::FatTree(spec).build()?;
/// let routes = Routes::new(&topology, &[]);
/// let tor = NodeId(topology.hosts);
/// assert_eq!(routes.next_hops(tor, 1), [1]); // its own host, at port 1
/// assert_eq!(routes.next_hops(tor, 15), [2, 3]); // another pod, by either uplink
/// # Ok::<(), topology::TopologyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    hosts: u32,
    edges: u32,
    map: Map,
    /// Row by row; switches in node order, then hosts that are routers.
    table: Vec<u32>,
    /// Groups: the number of ports, then the ports, ascending.
    ports: Vec<u16>,
    /// Every number of a port, at its own place: where a single way is wanted as a list.
    numbers: Vec<u16>,
    longest: u32,
}

/// One switch's row of [`Routes`], with what a lookup reads beside it.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    edge_of: &'a [u32],
    entries: &'a [u32],
    routes: &'a Routes,
}

impl Row<'_> {
    #[inline(always)]
    fn entry(&self, host: u32) -> u32 {
        self.entries[self.edge_of[host as usize] as usize]
    }

    /// The port that leads to `host`; where there are several, that in the place that `choose` names. None where
    /// there is no way.
    #[inline(always)] // once per packet-hop
    #[allow(clippy::cast_possible_truncation, reason = "the low half is the port")]
    pub fn way(&self, host: u32, choose: impl FnOnce(&[u16]) -> u32) -> Option<u16> {
        match self.entry(host) {
            entry @ ..SINGLE => {
                let (ports, at) = (&self.routes.ports, entry as usize);
                let size = usize::from(ports[at]);
                if size == 0 {
                    return None;
                }
                let ways = &ports[at + 1..][..size];
                Some(ways[choose(ways) as usize])
            }
            Routes::DIRECT => Some(self.routes.map.port_to[host as usize]),
            entry => Some(entry as u16),
        }
    }

    /// The ports that lead to `host`, ascending; none where there is no way.
    #[inline(always)]
    pub fn ways(&self, host: u32) -> &[u16] {
        match self.entry(host) {
            Routes::DIRECT => std::slice::from_ref(&self.routes.map.port_to[host as usize]),
            entry => self.routes.group(entry),
        }
    }
}

/// How a host sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WayOut {
    /// It has no working cable.
    None,
    /// One cable, to a switch: the switch's row knows what is reachable.
    Switch { port: u16, row: u32 },
    /// It has a row of its own.
    Row(u32),
}

/// The group of no port: the edge cannot be reached.
const NOWHERE: u32 = 0;
/// From here on an entry is this and the number of a port; below it, the place of a group.
const SINGLE: u32 = 1 << 31;

/// The ports of an entry.
#[inline(always)]
fn group<'a>(ports: &'a [u16], numbers: &'a [u16], entry: u32) -> &'a [u16] {
    if entry >= SINGLE {
        let port = (entry - SINGLE) as usize;
        return &numbers[port..=port];
    }
    let at = entry as usize;
    let size = usize::from(ports[at]);
    &ports[at + 1..at + 1 + size]
}

impl Routes {
    /// Entry of a switch for the edge that it is itself: the port is that of the host.
    pub const DIRECT: u32 = u32::MAX;

    /// Shortest paths in `topology` without the cables in `down`.
    ///
    /// A cable of which one direction is down is used in neither: a connection whose data and
    /// credits took different ways would break the credits' promise. [xpass s3.1]
    pub fn new(topology: &Topology, down: &[LinkId]) -> Self {
        let map = Map::new(topology, down);
        // Looking for twins costs more than one search does.
        let twins = match map.roots.len() {
            ..=Search::ROOTS => Twins::each_alone(&map),
            _ => Twins::of(&map),
        };
        Self::of(topology, map, &twins)
    }

    /// The same where these are all twins, or some of them.
    pub(crate) fn of(topology: &Topology, map: Map, twins: &[Twins]) -> Self {
        let rows = map.rows();
        let mut entries = Entries {
            table: vec![NOWHERE; rows * map.roots.len()],
            edges: map.roots.len(),
            ports: vec![0],
            groups: Groups::new(rows),
        };
        let mut search = Search::new(rows);
        let mut longest = 0;
        for batch in twins.chunks(Search::ROOTS) {
            let roots: Vec<_> = batch.iter().map(|twins| Some(twins.root)).collect();
            let starts = twins::starts(batch);
            let path = search.run(&map, &roots, |row, found, ways| {
                let entry = entries.groups.intern(&mut entries.ports, row, ways);
                match &starts {
                    Some(starts) => {
                        for run in runs(found) {
                            entries.fill(row, starts[run.start]..starts[run.end], entry);
                        }
                    }
                    None => entries.fill_each(row, batch, found, entry),
                }
            });
            longest = longest.max(path);
        }
        for twins in twins {
            if twins.are_several() {
                entries.fill_between(&map, twins);
                entries.fill_beside(topology, &map, twins);
            }
            entries.fill_own(&map, twins);
        }
        Self {
            hosts: topology.hosts,
            edges: index32(map.roots.len()),
            map,
            table: entries.table,
            ports: entries.ports,
            numbers: (0..=entries.groups.port_max).collect(),
            longest,
        }
    }

    /// The ports by which `at` sends to host `to_host`, ascending; none where there is no way.
    #[inline]
    pub fn next_hops(&self, at: NodeId, to_host: u32) -> &[u16] {
        let edge = self.edge_of(to_host) as usize;
        if at.0 < self.hosts {
            if at.0 == to_host {
                return &[];
            }
            if let WayOut::Switch { port, row } = &self.map.way_out[at.index()] {
                let reached = self.row(*row)[edge] != NOWHERE;
                return if reached {
                    std::slice::from_ref(port)
                } else {
                    &[]
                };
            }
        }
        match self.entry(at, to_host) {
            None => &[],
            Some(Self::DIRECT) => std::slice::from_ref(&self.map.port_to[to_host as usize]),
            Some(entry) => self.group(entry),
        }
    }

    /// What the row of `at` says of the way to host `to_host`; none where it has no row. Where a router has the same entry
    /// for two edges of which it is neither, it sends to both by the same ports.
    #[inline]
    pub(crate) fn entry(&self, at: NodeId, to_host: u32) -> Option<u32> {
        let row = if at.0 >= self.hosts {
            at.0 - self.hosts
        } else {
            match self.map.way_out[at.index()] {
                WayOut::Row(row) => row,
                WayOut::None | WayOut::Switch { .. } => return None,
            }
        };
        Some(self.row(row)[self.edge_of(to_host) as usize])
    }

    /// No path between two hosts leads through more switches.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The number of entries: rows times edges. [`crate::Size`] knows it beforehand.
    pub fn entries(&self) -> u64 {
        self.table.len() as u64
    }

    /// The number of edges: the length of a row.
    pub fn edges(&self) -> u32 {
        self.edges
    }

    /// The edge behind which `host` lies: the column of the table that leads to it.
    #[inline]
    pub fn edge_of(&self, host: u32) -> u32 {
        self.map.edge_of[host as usize]
    }

    /// The row of a switch, by edge. An entry is [`Routes::DIRECT`], where the switch is the edge
    /// itself and [`Routes::port_to`] has the port, or a word for [`Routes::group`].
    ///
    /// # Panics
    /// If `switch` is a host.
    #[inline]
    pub fn table(&self, switch: NodeId) -> &[u32] {
        assert!(switch.0 >= self.hosts, "hosts have no table: use next_hops");
        self.row(switch.0 - self.hosts)
    }

    /// The row of `switch`, open for lookups: the per-packet path.
    ///
    /// # Panics
    /// If `switch` is a host.
    #[inline] // once per switch and window
    pub fn row_of(&self, switch: NodeId) -> Row<'_> {
        Row {
            edge_of: &self.map.edge_of,
            entries: self.table(switch),
            routes: self,
        }
    }

    /// The ports of a table entry, ascending; none where the edge cannot be reached.
    #[inline]
    pub fn group(&self, entry: u32) -> &[u16] {
        group(&self.ports, &self.numbers, entry)
    }

    /// The port of its edge switch that leads to `host`. Means something only where the table says
    /// [`Routes::DIRECT`].
    #[inline]
    pub fn port_to(&self, host: u32) -> u16 {
        self.map.port_to[host as usize]
    }

    /// The port by which a host behind a single switch sends; none for a host that has a choice or
    /// no working cable.
    pub fn only_port(&self, host: u32) -> Option<u16> {
        match self.map.way_out[host as usize] {
            WayOut::Switch { port, .. } => Some(port),
            WayOut::None | WayOut::Row(_) => None,
        }
    }

    /// Whether a packet from `src` can reach `dst`. A host reaches itself.
    pub fn reaches(&self, src: u32, dst: u32) -> bool {
        src == dst || !self.next_hops(NodeId(src), dst).is_empty()
    }

    /// Whether any two hosts have more than one way between them.
    pub fn has_choice(&self) -> bool {
        let several = |&entry: &u32| entry != Self::DIRECT && self.group(entry).len() > 1;
        self.table.iter().any(several)
    }

    /// Two hosts without a way between them, if there are any.
    pub fn cut_off(&self) -> Option<(u32, u32)> {
        // One host speaks for all behind its switch. Ways are not transitive: two hosts may both
        // reach a third that has a cable to each of their networks and forwards for neither.
        let mut speaker = vec![None; self.edges as usize];
        for (host, &edge) in (0..).zip(&self.map.edge_of) {
            match speaker[edge as usize] {
                None => speaker[edge as usize] = Some(host),
                Some(other) if !self.reaches(other, host) => return Some((other, host)),
                Some(_) => {}
            }
        }
        let speakers: Vec<u32> = speaker.into_iter().flatten().collect();
        if self.map.all_meet() {
            return None;
        }
        speakers
            .iter()
            .flat_map(|&a| speakers.iter().map(move |&b| (a, b)))
            .find(|&(a, b)| !self.reaches(a, b))
    }

    /// The routers and their working cables.
    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    #[inline]
    fn row(&self, row: u32) -> &[u32] {
        let start = row as usize * self.edges as usize;
        &self.table[start..start + self.edges as usize]
    }
}

/// The table while it is filled.
struct Entries {
    table: Vec<u32>,
    edges: usize,
    ports: Vec<u16>,
    groups: Groups,
}

impl Entries {
    /// The entry of `row` for all these edges.
    #[inline]
    fn fill(&mut self, row: u32, edges: Range<usize>, entry: u32) {
        let start = row as usize * self.edges;
        self.table[start + edges.start..start + edges.end].fill(entry);
    }

    /// The entry of `row` for the edges of those that were `found`.
    #[cold]
    #[inline(never)]
    fn fill_each(&mut self, row: u32, all: &[Twins], found: Roots, entry: u32) {
        for place in bits(found) {
            for edges in all[place].edges() {
                self.fill(row, edges, entry);
            }
        }
    }

    /// Sends to these edges from the root that was searched from: they lie behind every switch beside it.
    fn fill_between(&mut self, map: &Map, twins: &Twins) {
        let hops = map.neighbours(twins.root).iter();
        let ways: Vec<_> = hops.filter(|hop| map.is_switch(hop.to)).copied().collect();
        let entry = self.groups.intern(&mut self.ports, twins.root, &ways);
        for edges in twins.edges() {
            self.fill(twins.root, edges, entry);
        }
    }

    /// Sends to each of these edges from the neighbours of its root: by the cables between them.
    fn fill_beside(&mut self, topology: &Topology, map: &Map, twins: &Twins) {
        let (mut back, mut ways) = (Vec::new(), Vec::new());
        for (edge, to) in twins.roots(map) {
            back.clear();
            back.extend(map.neighbours(to).iter().map(|hop| {
                let (port, link) = (topology.link(hop.link).to_port, hop.link.reverse());
                (hop.to, Hop { port, to, link })
            }));
            back.sort_unstable_by_key(|&(row, hop)| (row, hop.port));
            for same in back.chunk_by(|a, b| a.0 == b.0) {
                let row = same[0].0;
                ways.clear();
                ways.extend(same.iter().map(|&(_, hop)| hop));
                let entry = self.groups.intern(&mut self.ports, row, &ways);
                self.fill(row, edge..edge + 1, entry);
            }
        }
    }

    /// What the roots say of themselves.
    fn fill_own(&mut self, map: &Map, twins: &Twins) {
        for (edge, root) in twins.roots(map) {
            let entry = match map.is_switch(root) {
                true => Routes::DIRECT,
                false => NOWHERE,
            };
            self.fill(root, edge..edge + 1, entry);
        }
    }
}

/// Port sets under which an edge is known, each stored once.
struct Groups {
    /// The greatest port that leads anywhere by itself.
    port_max: u16,
    known: BTreeMap<Box<[u16]>, u32>,
    /// By row: the group last used, which is nearly always the next one too.
    last: Vec<u32>,
    wanted: Vec<u16>,
}

impl Groups {
    fn new(rows: usize) -> Self {
        Self {
            port_max: 0,
            known: BTreeMap::new(),
            last: vec![NOWHERE; rows],
            wanted: Vec::new(),
        }
    }

    /// The entry of `row` for what these ways lead to.
    #[inline(always)]
    fn intern(&mut self, ports: &mut Vec<u16>, row: u32, ways: &[Hop]) -> u32 {
        match ways {
            [] => NOWHERE,
            [hop] => {
                self.port_max = self.port_max.max(hop.port);
                SINGLE | u32::from(hop.port)
            }
            _ => self.intern_group(ports, row, ways),
        }
    }

    /// The same for several.
    #[inline(always)] // once per router and set of ways
    fn intern_group(&mut self, ports: &mut Vec<u16>, row: u32, ways: &[Hop]) -> u32 {
        let last = self.last[row as usize];
        let known = &ports[last as usize + 1..][..usize::from(ports[last as usize])];
        let wanted = ways.iter().map(|hop| hop.port);
        if known.iter().copied().eq(wanted) {
            return last;
        }
        let place = self.look_up(ports, ways);
        self.last[row as usize] = place;
        place
    }

    #[inline(never)]
    fn look_up(&mut self, ports: &mut Vec<u16>, ways: &[Hop]) -> u32 {
        self.wanted.clear();
        self.wanted.extend(ways.iter().map(|hop| hop.port));
        if let Some(&place) = self.known.get(&self.wanted[..]) {
            return place;
        }
        let place = add_group(ports, &self.wanted);
        self.known.insert(self.wanted[..].into(), place);
        place
    }
}

fn add_group(ports: &mut Vec<u16>, group: &[u16]) -> u32 {
    let place = index32(ports.len());
    assert!(place < SINGLE, "more groups of ports than a table can name");
    ports.push(u16::try_from(group.len()).expect("a node has at most 65,535 ports"));
    ports.extend_from_slice(group);
    place
}

/// One working cable as a router sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop {
    port: u16,
    /// Row of the router at the other end.
    pub(crate) to: u32,
    pub(crate) link: LinkId,
}

/// The routers and the working cables between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Map {
    switches: u32,
    /// Hosts with rows of their own, in row order.
    routers: Vec<u32>,
    /// By host.
    edge_of: Vec<u32>,
    /// By host: the port of its edge switch that leads to it. Unused where the host is an edge.
    port_to: Vec<u16>,
    /// By host: how it sends.
    way_out: Vec<WayOut>,
    /// By edge: the row of the router at its root; none for the edge of hosts that are cut off.
    pub(crate) roots: Vec<Option<u32>>,
    /// By row: whether it is one of these.
    is_root: Vec<bool>,
    /// By row: where its hops start; one more at the end.
    start: Vec<usize>,
    hops: Vec<Hop>,
}

impl Map {
    pub(crate) fn new(topology: &Topology, down: &[LinkId]) -> Self {
        let hosts = topology.hosts as usize;
        let mut works = vec![true; topology.links.len()];
        for link in down {
            works[link.index()] = false;
            works[link.reverse().index()] = false;
        }
        let switches = index32(topology.nodes.len() - hosts);
        let mut map = Self {
            switches,
            routers: Vec::new(),
            edge_of: Vec::with_capacity(hosts),
            port_to: Vec::with_capacity(hosts),
            way_out: Vec::with_capacity(hosts),
            roots: Vec::new(),
            is_root: Vec::new(),
            start: vec![0],
            hops: Vec::new(),
        };
        map.place_hosts(topology, &works);
        let routers: Vec<_> = map
            .routers
            .iter()
            .map(|&host| &topology.nodes[host as usize])
            .collect();
        for node in topology.nodes[hosts..].iter().chain(routers) {
            for &id in node.ports.iter().filter(|id| works[id.index()]) {
                let link = topology.link(id);
                if let Some(to) = map.row_of(link.to, topology.hosts) {
                    let port = link.from_port;
                    map.hops.push(Hop { port, to, link: id });
                }
            }
            map.start.push(map.hops.len());
        }
        map.is_root = vec![false; map.rows()];
        for &root in map.roots.iter().flatten() {
            map.is_root[root as usize] = true;
        }
        map
    }

    /// Gives every host its edge and its way out, and finds the hosts that are routers.
    fn place_hosts(&mut self, topology: &Topology, works: &[bool]) {
        let mut edge_of_switch: Vec<Option<u32>> = vec![None; self.switches as usize];
        let mut cut_off = None;
        for host in 0..topology.hosts {
            let ports = &topology.node(NodeId(host)).ports;
            let mut cables = ports.iter().filter(|id| works[id.index()]);
            let (first, second) = (cables.next(), cables.next());
            let only = first
                .filter(|_| second.is_none())
                .map(|&only| topology.link(only));
            let (edge, port, out) = match only {
                Some(link) if !topology.is_host(link.to) => {
                    let row = link.to.0 - topology.hosts;
                    let edge = *edge_of_switch[row as usize]
                        .get_or_insert_with(|| add(&mut self.roots, Some(row)));
                    (
                        edge,
                        link.to_port,
                        WayOut::Switch {
                            port: link.from_port,
                            row,
                        },
                    )
                }
                None if first.is_none() => {
                    let edge = *cut_off.get_or_insert_with(|| add(&mut self.roots, None));
                    (edge, 0, WayOut::None)
                }
                Some(_) | None => {
                    let row = self.switches + add(&mut self.routers, host);
                    (add(&mut self.roots, Some(row)), 0, WayOut::Row(row))
                }
            };
            self.edge_of.push(edge);
            self.port_to.push(port);
            self.way_out.push(out);
        }
    }

    /// The row of a node; none for a host behind one switch, which no search needs to visit.
    fn row_of(&self, node: NodeId, hosts: u32) -> Option<u32> {
        if node.0 >= hosts {
            return Some(node.0 - hosts);
        }
        match self.way_out[node.index()] {
            WayOut::Row(row) => Some(row),
            WayOut::None | WayOut::Switch { .. } => None,
        }
    }

    /// Whether every edge lies at one and the same network of switches: then all hosts reach each
    /// other.
    fn all_meet(&self) -> bool {
        let mut met = vec![false; self.switches as usize];
        let near = |root: u32| {
            let beside = self.neighbours(root).iter().map(|hop| hop.to);
            std::iter::once(root)
                .chain(beside)
                .find(|&row| self.is_switch(row))
        };
        let Some(switch) = self.roots.first().copied().flatten().and_then(near) else {
            return false;
        };
        let mut next = vec![switch];
        while let Some(row) = next.pop() {
            if !std::mem::replace(&mut met[row as usize], true) {
                let hops = self.neighbours(row).iter().map(|hop| hop.to);
                next.extend(hops.filter(|&to| self.is_switch(to) && !met[to as usize]));
            }
        }
        let at = |row: u32| self.is_switch(row) && met[row as usize];
        let meets = |root: u32| at(root) || self.neighbours(root).iter().any(|hop| at(hop.to));
        self.roots.iter().all(|root| root.is_some_and(meets))
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.start.len() - 1
    }

    fn is_switch(&self, row: u32) -> bool {
        row < self.switches
    }

    pub(crate) fn neighbours(&self, row: u32) -> &[Hop] {
        &self.hops[self.start[row as usize]..self.start[row as usize + 1]]
    }
}

/// Appends, and says where.
fn add<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    index32(list.len() - 1)
}

/// Roots of one search, a bit each.
pub(crate) type Roots = u128;

/// Breadth-first searches from many roots at once, one bit each: neighbouring roots are reached by
/// the same ports from nearly everywhere, so nearly all work is shared.
pub(crate) struct Search {
    /// By row: the roots that have been reached.
    reached: Vec<Roots>,
    /// By row: the roots that were reached in the last step and may be passed on.
    front: Vec<Roots>,
    /// Rows with anything in `front`.
    active: Vec<u32>,
    /// By row: the roots in the fronts beside it, and those in more than one of them.
    beside: Vec<(Roots, Roots)>,
    /// Rows with anything in `beside`, then with what of it is new.
    news: Vec<(u32, Roots)>,
    ways: Vec<Hop>,
}

impl Search {
    /// Roots of one search.
    pub(crate) const ROOTS: usize = Roots::BITS as usize;

    pub(crate) fn new(rows: usize) -> Self {
        Self {
            reached: vec![0; rows],
            front: vec![0; rows],
            active: Vec::new(),
            beside: vec![(0, 0); rows],
            news: Vec::new(),
            ways: Vec::new(),
        }
    }

    /// Searches from `roots` and reports (row, roots, hops): from there, these hops lead to these
    /// roots by shortest paths. Rows nearer to a root come before those farther from it. Returns the most rows
    /// on such a path between two roots, with these.
    pub(crate) fn run(
        &mut self,
        map: &Map,
        roots: &[Option<u32>],
        mut found: impl FnMut(u32, Roots, &[Hop]),
    ) -> u32 {
        self.reached.fill(0);
        for (bit, root) in roots.iter().enumerate() {
            if let Some(root) = *root {
                self.front[root as usize] |= 1 << bit;
                self.reached[root as usize] |= 1 << bit;
                self.active.push(root);
            }
        }
        let (mut rows, mut longest) = (1, 1);
        // Each step reaches a row for the first time or is the last.
        while !self.active.is_empty() {
            rows += 1;
            let mut news = std::mem::take(&mut self.news);
            news.clear();
            for &row in &self.active {
                let front = self.front[row as usize];
                for hop in map.neighbours(row) {
                    let (once, again) = &mut self.beside[hop.to as usize];
                    if *once == 0 {
                        news.push((hop.to, 0));
                    }
                    *again |= *once & front;
                    *once |= front;
                }
            }
            for (row, new) in &mut news {
                let (once, again) = std::mem::take(&mut self.beside[*row as usize]);
                *new = once & !self.reached[*row as usize];
                if *new != 0 {
                    let news = (*new & !again, *new & again);
                    self.split(*row, map.neighbours(*row), news, &mut found);
                }
            }
            for row in self.active.drain(..) {
                self.front[row as usize] = 0;
            }
            for &(row, new) in &news {
                self.reached[row as usize] |= new;
                if new != 0 && map.is_root[row as usize] {
                    longest = rows;
                }
                // Hosts never forward: what reaches one ends there.
                if new != 0 && map.is_switch(row) {
                    self.front[row as usize] = new;
                    self.active.push(row);
                }
            }
            self.news = news;
        }
        longest
    }

    /// Reports the new roots, of which those in `single` are reached by one port each and those in `several` by more, in
    /// sets that are reached by the same ports.
    fn split(
        &mut self,
        row: u32,
        hops: &[Hop],
        (mut single, mut several): (Roots, Roots),
        found: &mut impl FnMut(u32, Roots, &[Hop]),
    ) {
        for hop in hops {
            if single == 0 {
                break;
            }
            let here = single & self.front[hop.to as usize];
            if here != 0 {
                found(row, here, std::slice::from_ref(hop));
                single &= !here;
            }
        }
        while several != 0 {
            let one = several & several.wrapping_neg();
            let mut alike = several;
            let (mut first, mut end, mut count) = (hops.len(), 0, 0);
            for (place, hop) in hops.iter().enumerate() {
                let front = self.front[hop.to as usize];
                if front & one == 0 {
                    alike &= !front;
                } else {
                    alike &= front;
                    (first, end, count) = (first.min(place), place + 1, count + 1);
                }
            }
            if end - first == count {
                // Nearly always these are beside each other.
                found(row, alike, &hops[first..end]);
            } else {
                let leads = |hop: &&Hop| self.front[hop.to as usize] & one != 0;
                self.ways.clear();
                self.ways.extend(hops.iter().filter(leads));
                found(row, alike, &self.ways);
            }
            several &= !alike;
        }
    }
}

/// The places of the bits that are set, those beside each other together.
fn runs(mut set: Roots) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let start = set.trailing_zeros();
        (set != 0).then(|| {
            let length = (set >> start).trailing_ones();
            set &= !(Roots::MAX >> (Roots::BITS - length) << start);
            start as usize..(start + length) as usize
        })
    })
}

/// The places of the bits that are set.
pub(crate) fn bits(mut set: Roots) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            place
        })
    })
}
