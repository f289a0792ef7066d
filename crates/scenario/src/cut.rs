//! What links that were down until the end have cut off, in words.

use crate::assemble::Assembled;
use crate::fates::is_endless;
use crate::stops::first_of;
use results::human;
use sim::{FaultKind, Outcome};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use topology::{LinkId, NodeId, Routes};
use units::{Span, Time};

impl Assembled {
    /// Links that are down when a run ends at `end`, and since when.
    pub(crate) fn down(&self, end: Time) -> BTreeMap<LinkId, Time> {
        let mut down = BTreeMap::new();
        for fault in &self.faults {
            let is_down = matches!(fault.kind, FaultKind::Down { .. });
            if is_down && fault.from <= end && fault.until > end {
                let since = down.entry(fault.link).or_insert(fault.from);
                *since = fault.from.min(*since);
            }
        }
        down
    }

    /// Unfinished messages between whose hosts there is no way, one way or back, where these links are down.
    fn cut_off(&self, outcome: &Outcome, down: &BTreeMap<LinkId, Time>) -> Vec<(u32, u32)> {
        let links: Vec<LinkId> = down.keys().copied().collect();
        let routes = Routes::new(&self.topology, &links);
        let messages = self.traffic.messages.iter().zip(&outcome.messages);
        let open = messages.filter(|(message, fate)| {
            fate.start.is_some() && fate.end.is_none() && !is_endless(message)
        });
        let ends = open.flat_map(|(message, _)| {
            let of = self.traffic.conns[message.conn as usize];
            let ends = if message.from_a {
                (of.a, of.b)
            } else {
                (of.b, of.a)
            };
            let ways = [ends, (ends.1, ends.0)].into_iter();
            ways.filter(|&(from, to)| !routes.reaches(from, to)).take(1)
        });
        ends.collect()
    }

    /// Links that are down and by which packets between these two hosts would have gone, each cable that is down both ways
    /// once.
    fn by_these(&self, (from, to): (u32, u32), down: &BTreeMap<LinkId, Time>) -> Vec<String> {
        let on_way = |link: LinkId| {
            let of = self.topology.link(link);
            let begins = of.from.0 >= self.topology.hosts || of.from == NodeId(from);
            begins && self.routes.next_hops(of.from, to).contains(&of.from_port)
        };
        let own = down.iter().filter(|&(&link, _)| on_way(link));
        own.map(|(&link, &since)| {
            let both = down.get(&link.reverse()) == Some(&since);
            let name = self.line_name(link);
            let name = if both {
                name.replacen(" -> ", " <-> ", 1)
            } else {
                name
            };
            format!("{name} has been down since {}", human::time(Span(since.0)))
        })
        .collect()
    }

    /// What was lost on links that are down, where nobody has looked for another way yet.
    fn lost_there(&self, outcome: &Outcome, down: &BTreeMap<LinkId, Time>) -> Option<String> {
        let lost = down.iter().filter_map(|(&link, &since)| {
            let lost = outcome.ports[link.index()].lost.sum();
            (lost > 0).then(|| {
                format!(
                    "{} has been down since {} and has lost {}",
                    self.line_name(link),
                    human::time(Span(since.0)),
                    human::plural(lost, "packet", "packets")
                )
            })
        });
        let lost: Vec<String> = lost.collect();
        let late = human::plural(outcome.unfinished, "message", "messages");
        (!lost.is_empty()).then(|| format!("{}; {late} did not finish", first_of(&lost)))
    }

    /// Which links have cut off messages that did not finish, and since when.
    pub(crate) fn cut_warning(&self, outcome: &Outcome) -> Option<String> {
        let down = self.down(outcome.end);
        if down.is_empty() || outcome.unfinished == 0 {
            return None;
        }
        let cut = self.cut_off(outcome, &down);
        let Some(&(from, to)) = cut.first() else {
            return self.lost_there(outcome, &down);
        };
        let name = |host: u32| self.topology.node(NodeId(host)).name.as_str();
        let mut said = format!("no way from {} to {}", name(from), name(to));
        if cut.len() > 1 {
            let more = human::plural(cut.len() as u64 - 1, "other message", "other messages");
            let _ = write!(said, ", nor for {more} that did not finish");
        }
        let links = self.by_these((from, to), &down);
        let _ = write!(said, ": {}", first_of(&links));
        Some(said)
    }

    /// Whether all messages that did not finish are cut off.
    pub(crate) fn all_cut_off(&self, outcome: &Outcome) -> bool {
        let down = self.down(outcome.end);
        !down.is_empty() && self.cut_off(outcome, &down).len() as u64 >= outcome.unfinished
    }
}
