//! Who paused whom, and for whose sake: what flow controls did during a run, by line.

use super::Network;
use model::{Class, Packet};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use units::Time;

/// Lines of a tree that are kept: those that stood still longest. [ours: as many as one reads]
const ROWS_MAX: usize = 40;
/// Nodes that one pause is followed through. [ours: more than any way has]
const CHAIN_MAX: usize = 16;

/// What a pause holds back before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// A queue, by number.
    Queue(u8),
    /// A priority.
    Priority(u8),
    /// The data of a connection.
    Flow(u32),
}

/// What a flow control did at a moment, before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pausing {
    /// What it held back may leave.
    Opened(Held),
    /// It may not.
    Closed(Held),
    /// The node at the far end asked for a pause because of what waits for this other line of it.
    Asked(u32),
    /// A packet joined a queue.
    Joined(u8, Packet),
}

/// Everything that flow controls did, by line.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    lines: BTreeMap<u32, Line>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    /// What was held back, from when to when, in the order of beginnings.
    closed: Vec<(Held, Range<Time>)>,
    /// What is held back now: places in `closed`.
    open: BTreeMap<Held, usize>,
    /// Moments at which the far end asked for a pause, and for the sake of which line.
    asked: Vec<(Time, u32)>,
    /// Packets that joined queues, by the moment at which they came.
    joined: Vec<(Time, u8, Packet)>,
}

impl Pauses {
    /// Notes what happened before `line`; in the order of moments.
    pub fn note(&mut self, at: Time, line: u32, what: Pausing) {
        let line = self.lines.entry(line).or_default();
        match what {
            Pausing::Closed(held) => {
                let closed = &mut line.closed;
                line.open.entry(held).or_insert_with(|| {
                    closed.push((held, at..Time::NEVER));
                    closed.len() - 1
                });
            }
            Pausing::Opened(held) => {
                if let Some(place) = line.open.remove(&held) {
                    line.closed[place].1.end = at;
                }
            }
            Pausing::Asked(because) => line.asked.push((at, because)),
            Pausing::Joined(queue, packet) => line.joined.push((at, queue, packet)),
        }
    }

    /// What held `packet` back before `line` within `time`, a stretch each, without overlap and in order. `came` is
    /// when it came to that line; none where it was not sent yet.
    pub(super) fn of(
        &self,
        line: u32,
        packet: &Packet,
        came: Option<Time>,
        time: &Range<Time>,
    ) -> Vec<(Held, Range<Time>)> {
        let Some(own) = self.lines.get(&line) else {
            return Vec::new();
        };
        let queue = came.and_then(|came| own.queue(packet, came));
        let is_data = !matches!(packet.class(), Class::Control | Class::Credit | Class::Link);
        let concerns = |held: &Held| match *held {
            Held::Queue(number) => queue == Some(number),
            Held::Priority(priority) => priority == packet.priority(),
            Held::Flow(conn) => is_data && conn == packet.conn.0,
        };
        let mut found: Vec<(Held, Range<Time>)> = Vec::new();
        for (held, closed) in own.closed.iter().filter(|(held, _)| concerns(held)) {
            // What begins while another holds it back counts from the end of that.
            let known = found.last().map_or(time.start, |(_, last)| last.end);
            let stretch = closed.start.max(known)..closed.end.min(time.end);
            if stretch.start < stretch.end {
                found.push((*held, stretch));
            }
        }
        found
    }

    /// For whose sake something was held back before `line` since `since`: a line of the node at its far end, and where
    /// that stood still itself, the line for whose sake it did, and so on.
    pub(super) fn chain(&self, line: u32, since: Time) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut next = self.because(line, since);
        while let Some((at, because)) = next {
            if chain.len() == CHAIN_MAX || because == line || chain.contains(&because) {
                break;
            }
            chain.push(because);
            let own = self.lines.get(&because);
            let began = own.and_then(|own| own.since(at));
            next = began.and_then(|began| self.because(because, began));
        }
        chain
    }

    /// The last question before `since` that the far end of `line` asked.
    fn because(&self, line: u32, since: Time) -> Option<(Time, u32)> {
        let asked = &self.lines.get(&line)?.asked;
        let before = asked.partition_point(|&(at, _)| at <= since);
        before.checked_sub(1).map(|last| asked[last])
    }
}

impl Line {
    /// The queue that a packet joined when it came.
    fn queue(&self, packet: &Packet, came: Time) -> Option<u8> {
        let from = self.joined.partition_point(|&(at, ..)| at < came);
        let same = |other: &Packet| {
            other.conn == packet.conn
                && other.kind() == packet.kind()
                && other.head[..2] == packet.head[..2]
        };
        let then = self.joined[from..].iter();
        then.take_while(|&&(at, ..)| at == came)
            .find(|(_, _, other)| same(other))
            .map(|&(_, queue, _)| queue)
    }

    /// Since when something was held back at `at`.
    fn since(&self, at: Time) -> Option<Time> {
        let then = self.closed.iter().filter(|(_, time)| time.contains(&at));
        then.map(|(_, time)| time.start).min()
    }

    /// When anything was held back, without overlap, up to `end`.
    fn spans(&self, end: Time) -> Vec<(u64, u64)> {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (_, time) in &self.closed {
            let (from, until) = (time.start.0, time.end.min(end).0);
            match spans.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ if from < until => spans.push((from, until)),
                _ => {}
            }
        }
        spans
    }
}

/// A line of a tree of pauses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PauseRow {
    /// The line: `tor0 -> h3`.
    pub line: String,
    /// How many lines stood still between it and the one at the root, that one included; 0 for a root.
    pub depth: usize,
    /// When anything was held back before it, in picoseconds since the run began.
    pub spans: Vec<(u64, u64)>,
}

impl Pauses {
    /// The lines that stood still longest as trees: each below the one for whose sake it did most often.
    pub fn tree(&self, network: &Network, end: Time) -> Vec<PauseRow> {
        let spans = |link: &u32| {
            self.lines
                .get(link)
                .map_or(Vec::new(), |line| line.spans(end))
        };
        let length =
            |spans: &[(u64, u64)]| spans.iter().map(|(from, until)| until - from).sum::<u64>();
        let mut still: Vec<(u64, u32)> = self
            .lines
            .keys()
            .map(|link| (length(&spans(link)), *link))
            .collect();
        still.retain(|&(ps, _)| ps > 0);
        still.sort_by_key(|&(ps, link)| (std::cmp::Reverse(ps), link));
        still.truncate(ROWS_MAX);
        let mut below: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
        let mut roots: Vec<u32> = Vec::new();
        for &(_, link) in &still {
            let parent = self.lines[&link].mostly();
            below.entry(parent).or_default().push(link);
            let stands = |root: u32| still.iter().any(|&(_, link)| link == root);
            if let Some(root) = parent.filter(|&root| !stands(root))
                && !roots.contains(&root)
            {
                roots.push(root);
            }
        }
        let mut rows = Vec::new();
        let mut seen = Vec::new();
        let mut add = |root: u32, rows: &mut Vec<PauseRow>| {
            let mut todo = vec![(root, 0)];
            while let Some((link, depth)) = todo.pop() {
                if seen.contains(&link) {
                    continue;
                }
                seen.push(link);
                rows.push(PauseRow {
                    line: network.link_name(link),
                    depth,
                    spans: spans(&link),
                });
                let children = below.get(&Some(link)).into_iter().flatten().rev();
                todo.extend(children.map(|&child| (child, depth + 1)));
            }
        };
        // What nobody asked for by name, and circles, are roots of their own.
        let alone = below.get(&None).into_iter().flatten().copied();
        let all = still.iter().map(|&(_, link)| link);
        for root in roots.into_iter().chain(alone).chain(all) {
            add(root, &mut rows);
        }
        rows
    }
}

impl Line {
    /// For whose sake it stood still most often.
    fn mostly(&self) -> Option<u32> {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for &(_, because) in &self.asked {
            *counts.entry(because).or_default() += 1;
        }
        let most = counts
            .into_iter()
            .max_by_key(|&(link, count)| (count, std::cmp::Reverse(link)));
        most.map(|(link, _)| link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnId, HostId};

    fn closed(pauses: &mut Pauses, line: u32, from: u64, until: u64, because: u32) {
        let held = Held::Priority(0);
        pauses.note(Time(from), line, Pausing::Asked(because));
        pauses.note(Time(from + 1), line, Pausing::Closed(held));
        pauses.note(Time(until), line, Pausing::Opened(held));
    }

    #[test]
    fn a_pause_is_followed_to_the_line_that_is_full_and_a_circle_ends() {
        let mut pauses = Pauses::default();
        closed(&mut pauses, 4, 10, 90, 6);
        closed(&mut pauses, 2, 20, 80, 4);
        assert_eq!(pauses.chain(2, Time(21)), [4, 6]);
        assert_eq!(pauses.chain(2, Time(19)), [0; 0], "before anybody asked");
        // Later the line for whose sake it is stands still no more.
        closed(&mut pauses, 2, 200, 300, 4);
        assert_eq!(pauses.chain(2, Time(201)), [4]);
        closed(&mut pauses, 6, 5, 95, 2);
        assert_eq!(pauses.chain(2, Time(21)), [4, 6], "and not itself again");
    }

    #[test]
    fn what_holds_a_packet_back_is_cut_to_its_wait_and_counted_once() {
        let mut pauses = Pauses::default();
        let packet = |conn, class| Packet::new(HostId(0), ConnId(conn), class, 0, 84);
        let mut note = |at, what| pauses.note(Time(at), 2, what);
        note(5, Pausing::Joined(3, packet(7, Class::Plain)));
        note(10, Pausing::Closed(Held::Flow(7)));
        note(20, Pausing::Closed(Held::Queue(3)));
        note(20, Pausing::Closed(Held::Queue(4)));
        note(30, Pausing::Opened(Held::Flow(7)));
        note(50, Pausing::Opened(Held::Queue(3)));
        let of = |conn, class, came: u64, until: u64| {
            let time = Time(came)..Time(until);
            let found = pauses.of(2, &packet(conn, class), Some(Time(came)), &time);
            let spans = found
                .into_iter()
                .map(|(held, time)| (held, time.start.0, time.end.0));
            spans.collect::<Vec<_>>()
        };
        let (flow, queue) = (Held::Flow(7), Held::Queue(3));
        assert_eq!(
            of(7, Class::Plain, 5, 60),
            [(flow, 10, 30), (queue, 30, 50)]
        );
        assert_eq!(
            of(7, Class::Plain, 5, 40),
            [(flow, 10, 30), (queue, 30, 40)]
        );
        assert_eq!(
            of(7, Class::Plain, 15, 60),
            [(flow, 15, 30)],
            "which queue is not known"
        );
        assert_eq!(
            of(7, Class::Control, 15, 60),
            [],
            "acknowledgements are not of the flow"
        );
        assert_eq!(of(8, Class::Plain, 15, 60), []);
    }
}
