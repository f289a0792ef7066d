//! What links that were down until the end have cut off, in words.

use crate::assemble::Assembled;
use crate::fates::is_endless;
use crate::stops::first_of;
use results::human;
use sim::{FaultKind, Outcome};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use topology::{LinkId, NodeId, Routes};
use units::{Bytes, Span, Time};

/// Of more messages than these it is not asked which links cut them off. [ours]
const PAIRS_ASKED: usize = 64;

/// Round trips of an idle network after which what had passed a link when it went down has arrived, queues apart. [ours]
const ARRIVED: u64 = 10;

/// A message that began, did not finish, and has no way.
pub(crate) struct Cut {
    pub(crate) message: usize,
    /// Hosts between which there is none.
    from: u32,
    to: u32,
    /// The lane whose transport has one ask the other, where they are not the ends of the message.
    asks: Option<usize>,
    /// It is the way back that is missing, which what is under way may not need.
    is_back: bool,
}

/// Messages that began, did not finish, and have no way.
#[derive(Default)]
pub(crate) struct CutOff {
    /// Those that never finish: no fault brings back what they need to get there.
    pub(crate) never: Vec<Cut>,
    others: Vec<Cut>,
    /// Links that no fault brings back, and since when they have been down.
    for_good: BTreeMap<LinkId, Time>,
    /// All that were down at the end.
    down: BTreeMap<LinkId, Time>,
}

impl CutOff {
    /// Whether these are all messages that did not finish.
    pub(crate) fn is_all(&self, outcome: &Outcome) -> bool {
        !self.down.is_empty() && (self.never.len() + self.others.len()) as u64 >= outcome.unfinished
    }

    /// Whether any link was down at the end.
    pub(crate) fn is_any_down(&self) -> bool {
        !self.down.is_empty()
    }

    /// Whether a cable was down at the end, either way.
    pub(crate) fn is_down(&self, link: LinkId) -> bool {
        self.down.contains_key(&link) || self.down.contains_key(&link.reverse())
    }
}

impl Assembled {
    /// Links that are down until a run ends at `end`, and since when: of faults that follow each other without a break
    /// since the first.
    pub(crate) fn down(&self, end: Time) -> BTreeMap<LinkId, Time> {
        let mut down = BTreeMap::new();
        let faults = self.faults.iter();
        let faults = faults.filter(|fault| matches!(fault.kind, FaultKind::Down { .. }));
        let mut faults: Vec<_> = faults.filter(|fault| fault.from <= end).collect();
        faults.sort_by_key(|fault| Reverse(fault.until));
        for fault in faults {
            let lasts = down.get(&fault.link).copied().unwrap_or(end);
            if fault.until >= lasts {
                down.insert(fault.link, fault.from.min(lasts));
            }
        }
        down
    }

    /// Links that no fault brings back and that went down so long before the end that what had passed them has arrived, and
    /// since when they are.
    fn down_for_good(&self, outcome: &Outcome) -> BTreeMap<LinkId, Time> {
        let mut down = self.down(Time::NEVER);
        let (end, passes) = (self.end(outcome), self.passes(outcome, &down));
        down.retain(|_, since| since.after(passes) <= end);
        down
    }

    /// After so long nothing is under way any more: ten round trips, and on every way up and down the longest that anything can
    /// have waited in a port of this run. Nothing passes a cable that is `down`, whose port may be paused for good.
    fn passes(&self, outcome: &Outcome, down: &BTreeMap<LinkId, Time>) -> Span {
        let ports = (0..).map(LinkId).zip(outcome.ports.iter());
        let whole = |link: LinkId| !down.contains_key(&link) && !down.contains_key(&link.reverse());
        let waits = ports.filter(|&(link, _)| whole(link)).map(|(link, count)| {
            let rate = self.topology.link(link).rate;
            let queue = rate.serialize(Bytes(count.queue_max));
            queue.0.saturating_add(count.pause_longest.0)
        });
        let tiers = self.topology.nodes.iter().map(|node| node.tier).max();
        let ports = 2 * u64::from(tiers.unwrap_or(0));
        let waits = waits.max().unwrap_or(0).saturating_mul(ports);
        Span(self.base_rtt.times(ARRIVED).0.saturating_add(waits))
    }

    /// Pairs of hosts between which there is no way, one way or back, where these links are down: for each unfinished
    /// message its own ends, or its sender and who its transport has it ask, like an arbiter, with the lane of that.
    fn without_way(&self, outcome: &Outcome, down: &BTreeMap<LinkId, Time>) -> Vec<Cut> {
        let links: Vec<LinkId> = down.keys().copied().collect();
        let routes = Routes::new(&self.topology, &links);
        let mut asked: BTreeMap<(usize, u32), Vec<u32>> = BTreeMap::new();
        for conn in self.conns_of_messages
            ..u32::try_from(self.traffic.conns.len()).expect("numbered by u32")
        {
            let of = self.traffic.conns[conn as usize];
            asked.entry((self.lane(conn), of.a)).or_default().push(of.b);
        }
        let messages = self.traffic.messages.iter().zip(&outcome.messages);
        let open = messages.enumerate().filter(|(_, (message, fate))| {
            fate.start.is_some() && fate.end.is_none() && !is_endless(message)
        });
        let routes = &routes;
        let ends = open.flat_map(|(number, (message, _))| {
            let of = self.traffic.conns[message.conn as usize];
            let ends = if message.from_a {
                (of.a, of.b)
            } else {
                (of.b, of.a)
            };
            let lane = self.lane(message.conn);
            let asked = asked.get(&(lane, ends.0)).into_iter().flatten();
            let asked = asked.map(move |&host| ((ends.0, host), Some(lane)));
            let needed = std::iter::once((ends, None)).chain(asked);
            let none = needed.filter_map(move |((from, to), asks)| {
                let (there, back) = (routes.reaches(from, to), routes.reaches(to, from));
                // Who is asked has to answer: which way it fails says nothing.
                let turned = there && asks.is_none();
                let (from, to) = if turned { (to, from) } else { (from, to) };
                (from != to && !(there && back)).then_some(Cut {
                    message: number,
                    from,
                    to,
                    asks,
                    is_back: turned,
                })
            });
            none.take(1)
        });
        ends.collect()
    }

    /// Which nodes `host` reaches over cables of which no way is down.
    fn reached(&self, host: u32, down: &BTreeMap<LinkId, Time>) -> Vec<bool> {
        let whole = |link: LinkId| !down.contains_key(&link) && !down.contains_key(&link.reverse());
        let mut reached = vec![false; self.topology.nodes.len()];
        reached[host as usize] = true;
        let mut next = vec![NodeId(host)];
        while let Some(node) = next.pop() {
            for &link in &self.topology.node(node).ports {
                let to = self.topology.link(link).to;
                if whole(link) && !std::mem::replace(&mut reached[to.index()], true) {
                    next.extend(Some(to).filter(|to| to.0 >= self.topology.hosts)); // hosts forward nothing
                }
            }
        }
        reached
    }

    /// Links that are down where what one of these hosts reaches ends, on a way to the other; each cable that is down both
    /// ways once.
    fn by_these(&self, pairs: &BTreeSet<(u32, u32)>, down: &BTreeMap<LinkId, Time>) -> Vec<String> {
        let mut between = BTreeSet::new();
        for &pair in pairs.iter().take(PAIRS_ASKED) {
            for (from, to) in [pair, (pair.1, pair.0)] {
                let reached = self.reached(from, down);
                let ends_here = |link: LinkId| {
                    let of = self.topology.link(link);
                    let ends = reached[of.from.index()] && !reached[of.to.index()];
                    ends && self.routes.next_hops(of.from, to).contains(&of.from_port)
                };
                let all = down.keys().copied();
                between.extend(all.filter(|&link| ends_here(link) || ends_here(link.reverse())));
            }
        }
        let twice = |link: LinkId| down.get(&link.reverse()) == down.get(&link);
        let once = between
            .into_iter()
            .filter(|&link| !(twice(link) && link.0 % 2 == 1));
        once.map(|link| {
            let way = if twice(link) { " <-> " } else { " -> " };
            let name = self.line_name(link).replacen(" -> ", way, 1);
            let since = human::time(Span(down[&link].0));
            format!("{name} has been down since {since}")
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

    /// Which links have cut off messages that did not finish, and since when: those cut off for good first.
    pub(crate) fn cut_warnings(&self, outcome: &Outcome, cut: &CutOff) -> Vec<String> {
        if cut.down.is_empty() || outcome.unfinished == 0 {
            return Vec::new();
        }
        if cut.never.is_empty() && cut.others.is_empty() {
            return self.lost_there(outcome, &cut.down).into_iter().collect();
        }
        let said = [(&cut.never, &cut.for_good), (&cut.others, &cut.down)];
        let said = said.into_iter().filter(|(cut, _)| !cut.is_empty());
        said.map(|(cut, down)| self.no_way_by(cut, down)).collect()
    }

    /// Between whom there is no way, and by which links.
    fn no_way_by(&self, cut: &[Cut], down: &BTreeMap<LinkId, Time>) -> String {
        let said = [false, true].map(|asks| self.no_way(cut, asks));
        let said: Vec<String> = said.into_iter().flatten().collect();
        let pairs = cut.iter().map(|cut| (cut.from, cut.to)).collect();
        let links = self.by_these(&pairs, down);
        format!("{}: {}", said.join("; "), first_of(&links))
    }

    /// Which hosts do not reach each other, in words: the ends of messages, or senders and whom their transport has
    /// them ask.
    fn no_way(&self, cut: &[Cut], asks: bool) -> Option<String> {
        let mut of_these = cut.iter().filter(|cut| cut.asks.is_some() == asks);
        let first = of_these.next()?;
        let name = |host: u32| self.topology.node(NodeId(host)).name.as_str();
        let (from, to) = (name(first.from), name(first.to));
        let mut said = match first.asks.and_then(|lane| u8::try_from(lane).ok()) {
            None => format!("no way from {from} to {to}"),
            Some(lane) => {
                let who = self.scenario.name_of(lane);
                format!("no way between {from} and {to}, which {who} has to ask")
            }
        };
        let more = of_these.count() as u64;
        if more > 0 {
            let more = human::plural(more, "other message", "other messages");
            let _ = write!(said, ", nor for {more} that did not finish");
        }
        Some(said)
    }

    /// Which messages links that were down at the end have cut off.
    pub(crate) fn cut_off(&self, outcome: &Outcome) -> CutOff {
        let down = self.down(self.end(outcome));
        if down.is_empty() || outcome.unfinished == 0 {
            return CutOff {
                down,
                ..CutOff::default()
            };
        }
        let for_good = self.down_for_good(outcome);
        let all = self.without_way(outcome, &down);
        let is_same = for_good.keys().eq(down.keys());
        let (never, mut others): (Vec<Cut>, _) = if is_same {
            all.into_iter().partition(|cut| !cut.is_back)
        } else {
            let mut never = self.without_way(outcome, &for_good);
            never.retain(|cut| !cut.is_back);
            (never, all)
        };
        let messages: BTreeSet<usize> = never.iter().map(|cut| cut.message).collect();
        others.retain(|cut| !messages.contains(&cut.message));
        CutOff {
            never,
            others,
            for_good,
            down,
        }
    }
}
