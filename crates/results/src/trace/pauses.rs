//! Who paused whom, and for whose sake: what flow controls did during a run, by line.
//!
//! A pause is followed from line to line: for whose sake the far end had asked for most of it, and from there on where the
//! next line stood still for a good part of the same time. What is drawn as a tree over the run follows the same notes.

use super::Network;
use model::{Class, Packet};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Span, Time};

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
    /// The node at the far end asks to pause this, for the sake of a packet that waits there.
    Asked(Held, Sake),
    /// The node at the far end does not want the data of this connection, and this queue is closed for that; none where
    /// it wants it again.
    Kept(u32, Option<u8>),
    /// A packet joined a queue.
    Joined(u8, Packet),
}

/// The packet for whose sake a pause is asked for, by the line that it waits for and what may hold it back there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sake {
    /// The line.
    pub line: u32,
    /// Its queue there.
    pub queue: u8,
    /// Its priority.
    pub priority: u8,
    /// Its connection.
    pub conn: u32,
}

/// A time in which a packet was held back before a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// What was closed.
    pub(super) held: Held,
    /// What the far end had asked to pause.
    asked: Held,
    /// From when to when.
    pub(super) time: Range<Time>,
    /// The wait that this is a part of: what stood still in it is compared.
    wait: Range<Time>,
    /// How long the packet was held back in that wait, in all.
    still: Span,
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
    /// By what the far end asked to pause: moments at which it did, and for whose sake.
    asked: BTreeMap<Held, Vec<(Time, Sake)>>,
    /// Queues that are closed because the far end does not want a connection, from when to when, in the order of
    /// beginnings.
    kept: Vec<(u8, u32, Range<Time>)>,
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
            Pausing::Asked(held, sake) => line.asked.entry(held).or_default().push((at, sake)),
            Pausing::Kept(conn, queue) => line.keep(at, conn, queue),
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
    ) -> Vec<Stretch> {
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
        let mut found: Vec<Stretch> = Vec::new();
        for (held, closed, within) in own.apart(time, concerns) {
            own.split((held, closed), Some(packet.conn.0), within, &mut found);
        }
        let still = found.iter().map(|own| length(&own.time)).sum();
        for stretch in &mut found {
            (stretch.wait, stretch.still) = (time.clone(), still);
        }
        found
    }

    /// The line of `node` that `packet` waits for, which came there at `came`.
    pub(super) fn waits(
        &self,
        network: &Network,
        node: u32,
        packet: &Packet,
        came: Time,
    ) -> Option<u32> {
        let of_node = |link: u32| network.links[link as usize].from == node;
        let mut lines = self.lines.iter().filter(|(link, _)| of_node(**link));
        lines
            .find(|(_, line)| line.queue(packet, came).is_some())
            .map(|(link, _)| *link)
    }

    /// For whose sake `stretch` was, before `line`: a line of the node at its far end, and where that stood still for at
    /// least half as long while the packet waited or as long before, the line for whose sake it did most of that, and so on. [ours: half]
    pub(super) fn chain(&self, network: &Network, line: u32, stretch: &Stretch) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut still = stretch.still;
        // What stands before a line now came in while it stood still, or before that.
        let wait = &stretch.wait;
        let wait = Time(wait.start.0.saturating_sub(length(wait).0))..wait.end;
        let mut next = self.because(network, line, stretch.asked, &stretch.time);
        while let Some(sake) = next {
            let because = sake.line;
            if chain.len() == CHAIN_MAX || because == line || chain.contains(&because) {
                break;
            }
            chain.push(because);
            let own = self.lines.get(&because);
            let held = own.and_then(|own| own.holds(sake, &wait));
            let held = held.filter(|(sum, ..)| sum.0.saturating_mul(2) >= still.0);
            next = held.and_then(|(sum, asked, time)| {
                still = sum;
                self.because(network, because, asked, &time)
            });
        }
        chain
    }

    /// Whether nobody asked for `stretch` before `line`: a queue that is closed for single flows was so after the last of
    /// them went on, for packets of theirs that came earlier and wait in other queues.
    pub(super) fn orders(&self, line: u32, stretch: &Stretch) -> bool {
        let own = self.lines.get(&line).filter(|own| !own.kept.is_empty());
        let queue = matches!(stretch.asked, Held::Queue(_));
        queue && own.is_some_and(|own| !own.asked.contains_key(&stretch.asked))
    }

    /// For whose sake the far end of `line` had asked to pause this for most of `time`.
    fn because(
        &self,
        network: &Network,
        line: u32,
        asked: Held,
        time: &Range<Time>,
    ) -> Option<&Sake> {
        let delay = back(network, line);
        self.lines.get(&line)?.mostly_for(asked, time, delay)
    }
}

fn length(time: &Range<Time>) -> Span {
    time.end.since(time.start)
}

/// The first of those that add up to most.
fn most<K: PartialEq>(parts: impl IntoIterator<Item = (K, Span)>) -> Option<(K, Span)> {
    let mut sums: Vec<(K, Span)> = Vec::new();
    for (key, span) in parts {
        match sums.iter_mut().find(|(own, _)| *own == key) {
            Some((_, sum)) => *sum += span,
            None => sums.push((key, span)),
        }
    }
    sums.into_iter()
        .reduce(|most, own| if own.1 > most.1 { own } else { most })
}

/// How long what the far end of `line` asks is under way.
fn back(network: &Network, line: u32) -> Span {
    network.links[(line ^ 1) as usize].delay
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

    fn keep(&mut self, at: Time, conn: u32, queue: Option<u8>) {
        let mut open = self.kept.iter_mut().rev();
        let open = open.find(|(_, own, time)| *own == conn && time.end == Time::NEVER);
        match (open, queue) {
            (Some((own, ..)), Some(queue)) if *own == queue => {} // asked for again
            (open, queue) => {
                if let Some((.., time)) = open {
                    time.end = at;
                }
                self.kept
                    .extend(queue.map(|queue| (queue, conn, at..Time::NEVER)));
            }
        }
    }

    /// Connections for which `queue` was closed within `closed`, each with when it was: the first of them closed it.
    fn kept(
        &self,
        queue: u8,
        closed: &Range<Time>,
    ) -> impl DoubleEndedIterator<Item = (u32, &Range<Time>)> + Clone {
        let from = self
            .kept
            .partition_point(|(.., time)| time.start < closed.start);
        let to = self
            .kept
            .partition_point(|(.., time)| time.start < closed.end);
        let kept = self.kept[from..to.max(from)].iter();
        kept.filter(move |(own, ..)| *own == queue)
            .map(|(_, conn, time)| (*conn, time))
    }

    /// What the far end had asked to pause where `held` was `closed`, at `at` for a packet of `conn`: its own connection
    /// where that was not wanted, else the one that was so for longest.
    fn asks(&self, held: Held, closed: &Range<Time>, conn: Option<u32>, at: Time) -> Held {
        let Held::Queue(queue) = held else {
            return held;
        };
        let mut then = self
            .kept(queue, closed)
            .filter(|(_, time)| time.contains(&at));
        let own = then.clone().find(|(own, _)| Some(*own) == conn);
        let asked = own.or_else(|| then.next());
        asked.map_or(held, |(conn, _)| Held::Flow(conn))
    }

    /// Adds the time `within` which `held`, which was `closed`, held back a packet of `conn`, in parts by what had been asked
    /// for.
    fn split(
        &self,
        (held, closed): (Held, &Range<Time>),
        conn: Option<u32>,
        within: Range<Time>,
        found: &mut Vec<Stretch>,
    ) {
        let mut moments = vec![within.start];
        if let Held::Queue(queue) = held {
            let ends = self
                .kept(queue, closed)
                .flat_map(|(_, time)| [time.start, time.end]);
            moments.extend(ends.filter(|at| within.contains(at)));
        }
        moments.sort_unstable();
        let first = found.len();
        for at in moments {
            let asked = self.asks(held, closed, conn, at);
            match found[first..].last_mut() {
                Some(last) if last.asked == asked => {}
                last => {
                    if let Some(last) = last {
                        last.time.end = at;
                    }
                    let time = at..within.end;
                    found.push(Stretch {
                        held,
                        asked,
                        wait: time.clone(),
                        still: length(&time),
                        time,
                    });
                }
            }
        }
    }

    /// When what `concerns` a packet was closed within `time`, without overlap and in order: what begins while another
    /// holds it back counts from the end of that.
    fn apart(
        &self,
        time: &Range<Time>,
        concerns: impl Fn(&Held) -> bool,
    ) -> impl Iterator<Item = (Held, &Range<Time>, Range<Time>)> {
        let mut known = time.start;
        let closed = self.closed.iter().filter(move |(held, _)| concerns(held));
        closed.filter_map(move |(held, closed)| {
            let within = closed.start.max(known)..closed.end.min(time.end);
            (within.start < within.end).then(|| {
                known = within.end;
                (*held, closed, within)
            })
        })
    }

    /// How long of `time` a packet was held back here, what the far end had asked to pause for most of that, and from when
    /// to when it was so first and last.
    fn holds(&self, sake: &Sake, time: &Range<Time>) -> Option<(Span, Held, Range<Time>)> {
        let mut found = Vec::new();
        for (held, closed, within) in self.apart(time, |held| match *held {
            Held::Queue(number) => number == sake.queue,
            Held::Priority(priority) => priority == sake.priority,
            Held::Flow(conn) => conn == sake.conn,
        }) {
            self.split((held, closed), Some(sake.conn), within, &mut found);
        }
        let (asked, _) = most(found.iter().map(|own| (own.asked, length(&own.time))))?;
        let sum = found.iter().map(|own| length(&own.time)).sum();
        let mut then = found.iter().filter(|own| own.asked == asked);
        let first = then.next()?;
        let last = then.next_back().unwrap_or(first);
        Some((sum, asked, first.time.start..last.time.end))
    }

    /// For whose sake the far end had asked to pause this for most of `time`, if it asks `delay` away.
    fn mostly_for(&self, asked: Held, time: &Range<Time>, delay: Span) -> Option<&Sake> {
        let asked = self.asked.get(&asked)?;
        let heard = |(at, _): &(Time, Sake)| at.after(delay);
        let before = asked.partition_point(|own| heard(own) <= time.start);
        let until = asked.partition_point(|own| heard(own) < time.end);
        let then = &asked[before.saturating_sub(1)..until.max(before)];
        let (line, _) = most(then.iter().enumerate().map(|(place, own)| {
            let end = then.get(place + 1).map_or(time.end, heard);
            (own.1.line, length(&(heard(own).max(time.start)..end)))
        }))?;
        then.iter()
            .map(|(_, sake)| sake)
            .find(|sake| sake.line == line)
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
        let mut above: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        // Those that stood still longest, and whatever they stand below.
        let mut shown: Vec<u32> = still.iter().take(ROWS_MAX).map(|&(_, link)| link).collect();
        let mut place = 0;
        while let Some(&link) = shown.get(place) {
            let line = self.lines.get(&link);
            let of = line.and_then(|line| line.mostly(back(network, link)));
            above.insert(link, of);
            shown.extend(of.filter(|of| !shown.contains(of)));
            place += 1;
        }
        let mut below: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
        for &link in &shown {
            below.entry(above[&link]).or_default().push(link);
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
        // What nobody asked for by name, and what stood still for nobody, is a root; of a circle, what is met again first.
        for link in below.get(&None).into_iter().flatten().copied() {
            add(link, &mut rows);
        }
        for &link in &shown {
            let mut way = vec![link];
            while let Some(next) = above[&way[way.len() - 1]] {
                if way.contains(&next) {
                    add(next, &mut rows);
                    break;
                }
                way.push(next);
            }
        }
        rows
    }
}

impl Line {
    /// For whose sake something was held back here most often, if its far end asks `delay` away.
    fn mostly(&self, delay: Span) -> Option<u32> {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for (held, closed) in &self.closed {
            found.clear();
            self.split((*held, closed), None, closed.clone(), &mut found);
            for stretch in &found {
                if let Some(sake) = self.mostly_for(stretch.asked, &stretch.time, delay) {
                    *counts.entry(sake.line).or_default() += 1;
                }
            }
        }
        let most = counts
            .into_iter()
            .max_by_key(|&(link, count)| (count, std::cmp::Reverse(link)));
        most.map(|(link, _)| link)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Link;
    use super::*;
    use model::{ConnId, HostId};
    use units::Rate;

    /// Eight lines of which nothing counts but how far their ends are apart: 1 ps.
    fn network() -> Network {
        let link = Link {
            from: 0,
            to: 0,
            rate: Rate::gbps(10),
            delay: Span(1),
        };
        Network {
            links: vec![link; 8],
            names: vec!["n".to_owned()],
            hosts: 0,
            conns: Vec::new(),
            encap: model::Encap::PAPER,
            codecs: Vec::new(),
            codec_of: Vec::new(),
        }
    }

    /// A packet of this connection that waits in queue 3 for a line.
    fn sake(line: u32, conn: u32) -> Sake {
        Sake {
            line,
            queue: 3,
            priority: 0,
            conn,
        }
    }

    fn closed(pauses: &mut Pauses, line: u32, from: u64, until: u64, because: u32) {
        let held = Held::Priority(0);
        pauses.note(Time(from), line, Pausing::Asked(held, sake(because, 7)));
        pauses.note(Time(from + 1), line, Pausing::Closed(held));
        pauses.note(Time(until), line, Pausing::Opened(held));
    }

    /// The chain behind what holds a packet of `conn`, which came to queue 3 at 1, back before line 2 at each of `at`.
    fn chains<const N: usize>(pauses: &Pauses, conn: u32, at: [u64; N]) -> [Vec<u32>; N] {
        let packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 84);
        at.map(|at| {
            let time = Time(at)..Time(at + 1);
            let found = pauses.of(2, &packet, Some(Time(1)), &time);
            let stretch = found.first().expect("it is held back");
            pauses.chain(&network(), 2, stretch)
        })
    }

    #[test]
    fn a_pause_is_followed_to_the_line_that_is_full_and_a_circle_ends() {
        let mut pauses = Pauses::default();
        closed(&mut pauses, 4, 10, 90, 6);
        closed(&mut pauses, 2, 20, 80, 4);
        assert_eq!(chains(&pauses, 7, [21]), [[4, 6]]);
        // Later the line for whose sake it is stands still no more.
        closed(&mut pauses, 2, 200, 300, 4);
        assert_eq!(chains(&pauses, 7, [201]), [[4]]);
        closed(&mut pauses, 6, 5, 95, 2);
        assert_eq!(chains(&pauses, 7, [21]), [[4, 6]], "and not itself again");
    }

    #[test]
    fn whoever_asked_for_another_flow_or_is_not_heard_yet_is_not_why() {
        let mut pauses = Pauses::default();
        let mut note = |at, what| pauses.note(Time(at), 2, what);
        let (own, other) = (Held::Flow(7), Held::Flow(8));
        note(10, Pausing::Asked(own, sake(4, 7)));
        note(11, Pausing::Asked(other, sake(6, 8)));
        note(11, Pausing::Closed(own));
        note(12, Pausing::Closed(other));
        note(20, Pausing::Opened(own));
        note(21, Pausing::Asked(own, sake(5, 7)));
        note(21, Pausing::Closed(own));
        note(22, Pausing::Closed(own));
        assert_eq!(chains(&pauses, 7, [11, 15, 21]), [[4], [4], [4]]);
        assert_eq!(chains(&pauses, 8, [12]), [[6]]);
        let (link, none) = (back(&network(), 2), Span::ZERO);
        let line = &pauses.lines[&2];
        let time = Time(21)..Time(22);
        let because = |delay| line.mostly_for(own, &time, delay).map(|sake| sake.line);
        assert_eq!((because(link), because(none)), (Some(4), Some(5)));
    }

    #[test]
    fn a_queue_that_is_closed_for_several_flows_is_so_for_one_after_the_other() {
        let mut pauses = Pauses::default();
        let mut note = |at, what| pauses.note(Time(at), 2, what);
        let packet = Packet::new(HostId(0), ConnId(7), Class::Plain, 0, 84);
        note(1, Pausing::Joined(3, packet));
        for (at, conn, line) in [(9, 8, 4), (19, 9, 5), (29, 7, 6)] {
            note(at, Pausing::Asked(Held::Flow(conn), sake(line, conn)));
            note(at + 1, Pausing::Kept(conn, Some(3)));
            note(at + 1, Pausing::Closed(Held::Queue(3)));
        }
        note(25, Pausing::Kept(8, Some(3))); // asked for again
        note(35, Pausing::Kept(8, None));
        note(40, Pausing::Kept(7, None));
        note(45, Pausing::Kept(9, None));
        note(50, Pausing::Opened(Held::Queue(3)));
        let time = Time(0)..Time(60);
        let found = pauses.of(2, &packet, Some(Time(1)), &time);
        let parts: Vec<_> = found
            .iter()
            .map(|own| (own.asked, own.time.start.0, own.time.end.0))
            .collect();
        let flow = Held::Flow;
        let order = (Held::Queue(3), 45, 50);
        assert_eq!(
            parts,
            [
                (flow(8), 10, 30),
                (flow(7), 30, 40),
                (flow(9), 40, 45),
                order
            ]
        );
        let why = found.iter().map(|own| pauses.chain(&network(), 2, own));
        assert_eq!(why.collect::<Vec<_>>(), [vec![4], vec![6], vec![5], vec![]]);
        let own: Vec<_> = found.iter().map(|own| pauses.orders(2, own)).collect();
        assert_eq!(own, [false, false, false, true]);
        // And so for whoever waits for that queue one switch before.
        note_ask(&mut pauses, 0, 32, sake(2, 9));
        note_ask(&mut pauses, 1, 12, sake(2, 9));
        let behind = |line, time: Range<u64>| {
            let asked = Held::Flow(9);
            let time = Time(time.start)..Time(time.end);
            let stretch = Stretch {
                held: asked,
                asked,
                wait: time.clone(),
                still: length(&time),
                time,
            };
            pauses.chain(&network(), line, &stretch)
        };
        assert_eq!(
            (behind(0, 33..60), behind(1, 13..60)),
            (vec![2, 5], vec![2, 5])
        );
        assert_eq!(behind(1, 13..22), [2, 4], "most of that time");
        assert_eq!(pauses.lines[&2].mostly(Span(1)), Some(4));
    }

    fn note_ask(pauses: &mut Pauses, line: u32, at: u64, sake: Sake) {
        pauses.note(Time(at), line, Pausing::Asked(Held::Flow(sake.conn), sake));
    }

    #[test]
    fn a_line_stands_below_the_one_for_which_most_was_held_back() {
        let mut pauses = Pauses::default();
        for (conn, line, times) in [(7, 4, 3), (8, 6, 2)] {
            for turn in 0..times {
                let at = Time(10 * turn);
                let held = Held::Flow(conn);
                note_ask(&mut pauses, 2, at.0, sake(line, conn));
                note_ask(&mut pauses, 2, at.0, sake(6, 9)); // which nobody sends
                pauses.note(at.after(Span(1)), 2, Pausing::Closed(held));
                pauses.note(at.after(Span(5)), 2, Pausing::Opened(held));
            }
        }
        let tree = pauses.tree(&network(), Time(100));
        assert_eq!(tree.iter().map(|row| row.depth).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(pauses.lines[&2].mostly(Span(1)), Some(4));
    }

    #[test]
    fn a_circle_stands_above_what_leads_into_it_and_nothing_stands_below_what_is_cut_off() {
        let lines = |pauses: &Pauses| -> Vec<(String, usize)> {
            let rows = pauses.tree(&network(), Time(1000)).into_iter();
            rows.map(|row| (row.line, row.depth)).collect()
        };
        let named = |all: &[(u32, usize)]| -> Vec<(String, usize)> {
            let rows = all.iter();
            rows.map(|&(line, depth)| (network().link_name(line), depth))
                .collect()
        };
        // Line 4 leads into the circle of 2 and 6, and stood still longest.
        let mut pauses = Pauses::default();
        closed(&mut pauses, 4, 10, 900, 2);
        closed(&mut pauses, 2, 20, 500, 6);
        closed(&mut pauses, 6, 30, 500, 2);
        assert_eq!(lines(&pauses).len(), 3);
        assert_eq!(lines(&pauses), named(&[(2, 0), (4, 1), (6, 1)]));
        // Many stood still long below one that hardly did, which stands below the one that is full.
        let mut network = network();
        network.links = vec![network.links[0]; 200];
        let mut pauses = Pauses::default();
        closed(&mut pauses, 2, 10, 20, 4);
        for line in 0..60 {
            closed(&mut pauses, 100 + line, 10, 500, 2);
        }
        let rows = pauses.tree(&network, Time(1000));
        let depths: Vec<usize> = rows.iter().map(|row| row.depth).take(4).collect();
        assert_eq!((rows.len(), depths), (ROWS_MAX + 2, vec![0, 1, 2, 2]));
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
                .map(|own| (own.held, own.time.start.0, own.time.end.0));
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
