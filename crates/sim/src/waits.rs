//! Who waits for whom where switches pause each other.

use crate::node::{Kind, Node};
use crate::outcome::Stop;
use crate::setup::Setup;
use crate::ways::{Epoch, Ways};
use model::intent::Memory;
use model::{ConnId, Local};
use std::collections::{BTreeMap, BTreeSet};
use switching::{HeldPacket, Paused, Port};
use topology::{LinkId, Topology};
use units::{Bytes, PS_PER_SEC, Rate, Span, Time};

/// A line that something has been paused on for longer, while packets wait for it, is named where a run is cut off: at
/// least this, and as long as what a switch holds takes on the slowest line. [ours]
const PATIENCE_MIN: Span = Span::ms(1);

/// Time between two looks for circles: at least this, as long as so many full frames take on the slowest line, which
/// a gate may wait for without being stuck, and such a part of the time so far, for the more may wait behind a gate that
/// never opens. [ours]
const LOOK_MIN: Span = Span::ms(1);
const LOOK_FRAMES: u64 = 32;
const LOOK_PART: u64 = 64;

/// What opens a gate may be on its way: neither is shorter than so many times what the longest link takes there and back.
/// [ours]
const ROUND_TRIPS: u64 = 10;

/// How long news between two nodes may be under way, several times over.
pub(crate) fn news(setup: &Setup<'_>) -> Span {
    let delays = setup.topology.links.iter().map(|link| link.delay);
    let longest = delays.max().unwrap_or_default();
    longest.times(2 * ROUND_TRIPS)
}

/// How long `bytes` take on a line, as far as times can say.
fn lasts(rate: Rate, bytes: Bytes) -> Span {
    let ps = u128::from(bytes.0) * 8 * u128::from(PS_PER_SEC) / u128::from(rate.0.max(1));
    Span(u64::try_from(ps).unwrap_or(Time::NEVER.0))
}

/// How long a pause may last that ends by itself: no queue of this network takes longer to drain, and no news longer to
/// arrive.
pub(crate) fn patience(setup: &Setup<'_>) -> Span {
    if setup.control.is_none() {
        return PATIENCE_MIN; // nobody pauses
    }
    let least = news(setup).max(PATIENCE_MIN);
    let lines = setup.topology.links.iter().zip(&setup.ports);
    let slowest = lines.clone().map(|(link, _)| link.rate).min();
    let held = match setup.switch.memory {
        Memory::Shared { size, .. } => Some(size),
        Memory::PerPort => lines.map(|(_, port)| port.buffer).max(),
    };
    let (Some(slowest), Some(held)) = (slowest, held) else {
        return least;
    };
    lasts(slowest, held).max(least)
}

/// What a port holds back, however many packets of the kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    ingress: u16,
    conn: ConnId,
    paused: Paused,
    /// Since when its gate has let nothing pass.
    since: Time,
    /// The queue that it came from, where that goes along.
    tag: Option<u16>,
}

impl Held {
    fn of(held: &HeldPacket<'_>) -> Self {
        Self {
            ingress: held.ingress,
            conn: held.packet.conn,
            paused: held.paused,
            since: held.since,
            tag: held.packet.has_tag().then(|| Local::of(held.packet).tag),
        }
    }

    /// Whether `later`, which the next switch holds back, may be why this is paused.
    fn waits_for(&self, later: &Self) -> bool {
        match self.paused {
            Paused::All => true,
            Paused::Flow => self.conn == later.conn,
            // It paused the queue that it came from, where it brought that along; else flows that may be in it.
            Paused::Queue(queue) => later.tag.is_none_or(|tag| tag == u16::from(queue)),
        }
    }
}

/// Ports with something to hold back, by link.
type Ports = BTreeMap<LinkId, BTreeSet<Held>>;
/// The same by what is paused there, and of flows whose: what opens one of a port's queues may leave another shut.
type Gates = BTreeMap<(LinkId, Paused, Option<ConnId>), BTreeSet<Held>>;

/// A circle of ports that wait for each other: each for the next, the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// When that was found.
    pub found: Time,
    /// When the last of them was paused.
    pub since: Time,
    /// Their links.
    pub circle: Vec<LinkId>,
}

impl Locked {
    fn of(topology: &Topology, held: &Ports, found: Time) -> Option<Self> {
        let mut gates = Gates::new();
        for (&link, of) in held {
            for &held in of {
                let flow = (held.paused == Paused::Flow).then_some(held.conn);
                gates
                    .entry((link, held.paused, flow))
                    .or_default()
                    .insert(held);
            }
        }
        let next = gates
            .iter()
            .map(|(&gate, of)| (gate, waits_for(topology, &gates, gate.0, of)));
        let circle = circle(&next.collect());
        let stood = circle
            .iter()
            .map(|gate| gates[gate].iter().map(|of| of.since));
        let since = stood.filter_map(Iterator::min).max()?;
        Some(Self {
            found,
            since,
            circle: circle.into_iter().map(|(link, ..)| link).collect(),
        })
    }
}

/// Ports of switches at which something is paused.
fn gated<'a>(nodes: &[&'a Node]) -> impl Iterator<Item = &'a Port> {
    let ports = nodes.iter().filter_map(|node| match &node.kind {
        Kind::Switch(node) => Some(node.switch.ports.iter()),
        Kind::Host(_) => None,
    });
    ports.flatten().filter(|port| port.paused_since().is_some())
}

/// Ports at which gates hold packets back for good, ascending, and the first circle among them.
pub(crate) fn of(
    topology: &Topology,
    nodes: &[Node],
    stop: &Stop,
) -> (Vec<LinkId>, Option<Locked>) {
    let held = holding(nodes, |port, since| stop.is_shut(port, since));
    let locked = Locked::of(topology, &held, stop.reached);
    (held.into_keys().collect(), locked)
}

/// The first circle among gates that may hold packets back for good.
pub(crate) fn suspected(topology: &Topology, nodes: &[Node], stop: &Stop) -> Option<Locked> {
    let held = holding(nodes, |_, since| stop.may_last(since));
    Locked::of(topology, &held, stop.reached)
}

/// The first circle among those by the ways of what they hold back: a queue may be full of what others brought, and pause who
/// has nothing in it any more.
pub(crate) fn by_ways(
    topology: &Topology,
    nodes: &[Node],
    ways: &Ways,
    stop: &Stop,
) -> Option<Locked> {
    let held = holding(nodes, |port, since| stop.is_shut(port, since));
    let mut next: BTreeMap<LinkId, Vec<LinkId>> =
        held.keys().map(|&link| (link, Vec::new())).collect();
    for port in gated(&nodes.iter().collect::<Vec<_>>()) {
        let link = LinkId(port.link());
        let to = topology.link(link).to;
        let (Some(all), Kind::Switch(far)) = (next.get_mut(&link), &nodes[to.0 as usize].kind)
        else {
            continue;
        };
        let view = ways.of(to, &mut Epoch::default(), stop.at);
        for of in port.held_packets() {
            let way = far.switch.lead(&mut of.packet.clone(), &view);
            let way = way.map(|port| topology.node(to).ports[usize::from(port)]);
            all.extend(way.ok().filter(|way| held.contains_key(way)));
        }
    }
    let circle = circle(&next);
    let stood = circle
        .iter()
        .map(|link| held[link].iter().map(|of| of.since));
    let since = stood.filter_map(Iterator::min).max()?;
    Some(Locked {
        found: stop.reached,
        since,
        circle,
    })
}

/// What ports hold back by gates that are shut.
fn holding(nodes: &[Node], is_shut: impl Fn(&Port, Time) -> bool) -> Ports {
    let nodes: Vec<&Node> = nodes.iter().collect();
    let of = |port: &Port| {
        let packets = port.held_packets().into_iter();
        let shut = packets.filter(|held| is_shut(port, held.since));
        shut.map(|held| Held::of(&held)).collect()
    };
    let ports = gated(&nodes).map(|port| (LinkId(port.link()), of(port)));
    let mut held: Ports = ports.collect();
    held.retain(|_, of| !of.is_empty());
    held
}

/// The gates of the next switch at which what came over `link` is held back: it paused for their sake.
fn waits_for(
    topology: &Topology,
    all: &Gates,
    link: LinkId,
    own: &BTreeSet<Held>,
) -> Vec<(LinkId, Paused, Option<ConnId>)> {
    let far = topology.link(link);
    let blocks = |other: &BTreeSet<Held>| {
        let mut from_here = other.iter().filter(|held| held.ingress == far.to_port);
        from_here.any(|later| own.iter().any(|held| held.waits_for(later)))
    };
    let next = topology.node(far.to).ports.iter();
    let of = |&next: &LinkId| {
        all.range((next, Paused::All, None)..)
            .take_while(move |(gate, _)| gate.0 == next)
    };
    let gates = next.flat_map(of);
    gates
        .filter(|(_, other)| blocks(other))
        .map(|(&gate, _)| gate)
        .collect()
}

/// What tells one packet that waits at a port from the others there.
type Waits = (LinkId, ConnId, u8, [u32; 3]);

/// Looks for circles while a run goes on: among packets that were held back at two looks in turn, by gates that stood
/// from the one to the other. In a deep queue a packet may be found behind a gate twice that opened many times between.
pub(crate) struct Looks {
    /// Time from one to the next at first.
    every: Span,
    /// When the last one was.
    at: Time,
    /// What was held back then.
    before: BTreeSet<Waits>,
    /// The first circle, and whether somebody is to be told.
    pub(crate) found: Option<Locked>,
    pub(crate) news: bool,
}

impl Looks {
    /// Of a run of `setup`: none yet, and none ever where nobody pauses.
    pub(crate) fn new(setup: &Setup<'_>) -> Self {
        let every = if setup.control.is_some() {
            let slowest = setup.topology.links.iter().map(|link| link.rate).min();
            let frames = Bytes(LOOK_FRAMES * u64::from(setup.encap.wire_max()));
            let least = news(setup).max(LOOK_MIN);
            slowest.map_or(least, |rate| lasts(rate, frames).max(least))
        } else {
            Span(u64::MAX)
        };
        Self {
            every,
            at: Time::ZERO,
            before: BTreeSet::new(),
            found: None,
            news: false,
        }
    }

    /// When it is time to look. A window may end later than that.
    pub(crate) fn next(&self) -> Time {
        match self.found {
            None => self.at.after(self.every.max(Span(self.at.0 / LOOK_PART))),
            Some(_) => Time::NEVER,
        }
    }

    /// Looks at what is held back at `now`.
    pub(crate) fn look<'a>(
        &mut self,
        topology: &Topology,
        nodes: impl Iterator<Item = &'a Node>,
        now: Time,
    ) {
        let nodes: Vec<&Node> = nodes.collect();
        let (mut held, mut waiting) = (Ports::new(), BTreeSet::new());
        for port in gated(&nodes) {
            let link = LinkId(port.link());
            for of in port.held_packets() {
                let waits = (link, of.packet.conn, of.packet.kind(), of.packet.head);
                if of.since <= self.at && self.before.contains(&waits) {
                    held.entry(link).or_default().insert(Held::of(&of));
                }
                waiting.insert(waits);
            }
        }
        self.found = Locked::of(topology, &held, now);
        self.news = self.found.is_some();
        (self.at, self.before) = (now, waiting);
    }
}

/// The first circle of a graph, by the order of its nodes; it begins with its lowest.
fn circle<N: Ord + Copy>(next: &BTreeMap<N, Vec<N>>) -> Vec<N> {
    let mut done: BTreeMap<N, bool> = BTreeMap::new();
    for &start in next.keys() {
        // The way so far, each with how many of its neighbours have been looked at.
        let mut way: Vec<(N, usize)> = vec![(start, 0)];
        if done.contains_key(&start) {
            continue;
        }
        done.insert(start, false);
        while let Some((at, looked)) = way.last_mut() {
            let Some(&to) = next[at].get(*looked) else {
                done.insert(*at, true);
                way.pop();
                continue;
            };
            *looked += 1;
            match done.get(&to) {
                None => {
                    done.insert(to, false);
                    way.push((to, 0));
                }
                Some(false) => {
                    let links = way.iter().map(|&(link, _)| link);
                    let mut circle: Vec<_> = links.skip_while(|&link| link != to).collect();
                    let lowest = (0..circle.len()).min_by_key(|&place| circle[place]);
                    circle.rotate_left(lowest.unwrap_or(0));
                    return circle;
                }
                Some(true) => {}
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u32, &[u32])]) -> BTreeMap<LinkId, Vec<LinkId>> {
        let links = |of: &[u32]| of.iter().map(|&link| LinkId(link)).collect();
        let mut next: BTreeMap<LinkId, Vec<LinkId>> =
            (0..8).map(|link| (LinkId(link), Vec::new())).collect();
        next.extend(edges.iter().map(|&(from, to)| (LinkId(from), links(to))));
        next
    }

    #[test]
    fn a_circle_is_named_and_a_way_into_it_is_not() {
        let none = graph(&[(0, &[1, 2]), (1, &[3]), (2, &[3]), (3, &[4])]);
        assert_eq!(circle(&none), [], "two ways to one place are no circle");
        let some = graph(&[(0, &[1]), (1, &[2, 3]), (3, &[5]), (5, &[1])]);
        assert_eq!(circle(&some), [LinkId(1), LinkId(3), LinkId(5)]);
        assert_eq!(circle(&graph(&[(7, &[7])])), [LinkId(7)]);
        // Whichever way leads there, it is the same one.
        let led = graph(&[(0, &[5]), (1, &[3]), (3, &[5]), (5, &[1])]);
        assert_eq!(circle(&led), [LinkId(1), LinkId(3), LinkId(5)]);
    }

    #[test]
    fn what_takes_longer_than_times_can_say_takes_for_ever() {
        assert_eq!(lasts(Rate::gbps(8), Bytes(5_000)), Span::us(5));
        let for_ever = Span(u64::MAX);
        assert_eq!(lasts(Rate::gbps(10), Bytes(u64::MAX)), for_ever);
        assert_eq!(lasts(Rate(300), Bytes(1_000_000_000)), for_ever);
    }
}
