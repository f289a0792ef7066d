//! Who waits for whom where switches pause each other.

use crate::node::{Kind, Node};
use crate::outcome::Stop;
use model::{Local, Packet};
use std::collections::BTreeMap;
use switching::{Paused, Port};
use topology::{LinkId, Topology};
use units::{Span, Time};

/// A line that something has been paused on for longer, while packets wait for it, is named where a run is cut off. [ours:
/// longer than any queue takes to drain]
const STALE: Span = Span::ms(1);

/// Whether what has been paused since then is paused for good, as far as a run that ends tells.
pub(crate) fn lasts(since: Option<Time>, stop: &Stop) -> bool {
    since.is_some_and(|since| stop.idle || stop.at.since(since) > STALE)
}

/// Ports at which gates hold packets back for good, ascending, and the first circle among them: each port of it
/// waits for the next, the last for the first.
pub(crate) fn of(topology: &Topology, nodes: &[Node], stop: &Stop) -> (Vec<LinkId>, Vec<LinkId>) {
    let mut held: BTreeMap<LinkId, &Port> = BTreeMap::new();
    for node in nodes {
        if let Kind::Switch(node) = &node.kind {
            let shut = node.switch.ports.iter();
            let shut = shut.filter(|port| lasts(port.paused_since(), stop));
            let shut = shut.filter(|port| !port.held_packets().is_empty());
            held.extend(shut.map(|port| (LinkId(port.link()), port)));
        }
    }
    let links: Vec<LinkId> = held.keys().copied().collect();
    let next: BTreeMap<LinkId, Vec<LinkId>> = held
        .iter()
        .map(|(&link, port)| (link, waits_for(topology, &held, link, port)))
        .collect();
    let circle = circle(&next);
    (links, circle)
}

/// The ports of the next switch at which what came over `link` is held back: it paused for their sake.
fn waits_for(
    topology: &Topology,
    held: &BTreeMap<LinkId, &Port>,
    link: LinkId,
    port: &Port,
) -> Vec<LinkId> {
    let far = topology.link(link);
    let ours = port.held_packets();
    let blocks = |other: &Port| {
        other.held_packets().iter().any(|(packet, ingress, _)| {
            let tag = packet.has_tag().then(|| Local::of(packet).tag);
            let stops = |(own, _, paused): &(&Packet, u16, Paused)| match paused {
                Paused::All => true,
                Paused::Flow => own.conn == packet.conn,
                // It paused the queue that it came from, which it brought along.
                Paused::Queue(queue) => tag == Some((*queue).into()),
            };
            *ingress == far.to_port && ours.iter().any(stops)
        })
    };
    let next = topology.node(far.to).ports.iter();
    next.copied()
        .filter(|next| held.get(next).is_some_and(|other| blocks(other)))
        .collect()
}

/// The first circle of a graph, by the numbers of its nodes.
fn circle(next: &BTreeMap<LinkId, Vec<LinkId>>) -> Vec<LinkId> {
    let mut done: BTreeMap<LinkId, bool> = BTreeMap::new();
    for &start in next.keys() {
        // The way so far, each with how many of its neighbours have been looked at.
        let mut way: Vec<(LinkId, usize)> = vec![(start, 0)];
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
                    return links.skip_while(|&link| link != to).collect();
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
    }
}
