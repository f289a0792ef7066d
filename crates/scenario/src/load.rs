//! What the messages of a run add up to: a look at each, and then at each again with what all of them want of every link.

use crate::assemble::{Assembled, is_timed};
use crate::lone::{self, Lone};
use crate::memory;
use crate::vain::Vain;
use results::human;
use std::ops::Range;
use topology::LinkId;
use units::{Bytes, Rate, Span, Time};
use workload::{Message, Start};

/// What a message asks of the links on its way.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    /// Frames of data.
    pub(crate) frames: u64,
    /// Links that they cross.
    pub(crate) links: usize,
    /// Packets over each of them when the message is alone.
    pub(crate) lone: f64,
    /// How long its frames take on the slowest of them.
    pub(crate) takes: Span,
}

/// The links of each connection from `a` to `b`, those of one after those of the other.
struct Paths {
    links: Vec<LinkId>,
    /// Where those of each connection begin and end, and the rate of the slowest.
    of: Vec<(Range<usize>, Rate)>,
}

impl Paths {
    fn of(run: &Assembled) -> Self {
        let mut paths = Self {
            links: Vec::new(),
            of: Vec::with_capacity(run.traffic.conns.len()),
        };
        for (number, conn) in (0..).zip(&run.traffic.conns) {
            let path = topology::path(&run.topology, &run.routes, conn.a, conn.b, number);
            let rates = path.iter().map(|link| run.topology.link(*link).rate);
            let slowest = rates.min().unwrap_or(run.host_rate());
            let from = paths.links.len();
            paths.links.extend(path);
            paths.of.push((from..paths.links.len(), slowest));
        }
        paths
    }

    fn path(&self, conn: u32) -> (&[LinkId], Rate) {
        let (links, slowest) = &self.of[conn as usize];
        (&self.links[links.clone()], *slowest)
    }

    /// Nothing for each direction of each connection, by [`direction`].
    fn none(&self) -> Vec<u64> {
        vec![0; 2 * self.of.len()]
    }

    /// What each direction of each connection has, added up by link.
    fn by_link(&self, of_ways: &[u64], links: usize) -> Vec<u64> {
        let mut sums = vec![0u64; links];
        for ((path, _), both) in self.of.iter().zip(of_ways.chunks(2)) {
            for link in &self.links[path.clone()] {
                add(&mut sums[link.reverse().index()], both[0]);
                add(&mut sums[link.index()], both[1]);
            }
        }
        sums
    }
}

fn add(to: &mut u64, more: u64) {
    *to = to.saturating_add(more);
}

/// The direction of a connection in which a message goes: two for each.
fn direction(message: &Message) -> usize {
    2 * message.conn as usize + usize::from(message.from_a)
}

/// The links of a connection in the direction of one of its messages, in no order that means anything.
fn along(path: &[LinkId], message: &Message) -> impl Iterator<Item = LinkId> {
    let from_a = message.from_a;
    path.iter()
        .map(move |link| if from_a { *link } else { link.reverse() })
}

/// What the messages add up to.
#[derive(Clone, Default)]
pub(crate) struct Load {
    /// Of messages; of those without an end, what their line can carry.
    pub(crate) asked: u64,
    /// Of it, what lines can carry before the run ends.
    pub(crate) payload: u64,
    pub(crate) wire: u64,
    /// Wire bytes that cross an uplink.
    pub(crate) crossing: u64,
    /// What every message takes alone, times links, as far as lines have time for it; and credits in vain.
    pub(crate) hops: u64,
    /// The same, whatever a beginning of the run told since.
    pub(crate) summed: u64,
    /// Bytes that lines have time for, of messages together.
    pub(crate) served: u64,
    /// Credits that hosts make and drop.
    pub(crate) refused: u64,
    /// Samples that say something new, by link.
    pub(crate) seen: Vec<u64>,
    /// Most messages that are under way at once.
    pub(crate) open: u64,
    /// Most messages that start at one moment.
    pub(crate) together: u64,
    /// From the first start to the last.
    pub(crate) span: Span,
    /// From the beginning of the run to the moment at which every message could be there, and every line could have
    /// carried what wants to pass it.
    pub(crate) lasts: Span,
    /// Samples of ports that are kept, where a beginning of the run told.
    pub(crate) news: Option<u64>,
    /// Most of them that there were before some were forgotten.
    pub(crate) news_most: u64,
}

impl Load {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "estimates of packets, and the cast saturates"
    )]
    #[allow(
        clippy::too_many_lines,
        reason = "one look at each message, and then at each again"
    )]
    pub(crate) fn of(run: &Assembled) -> Self {
        let mut load = Self::default();
        let (mut first, mut last, mut end) = (Time::NEVER, Time::ZERO, Time::ZERO);
        let until = run.until();
        let every = run.probes.every.unwrap_or_default();
        let sizes: Vec<u64> = (run.traffic.messages.iter())
            .map(|message| sendable(run, message, until))
            .collect();
        let frames: Vec<u64> = sizes.iter().map(|&size| run.encap.frames(size)).collect();
        let lone = Lone::all(run, &frames);
        let longest_stop = (run.traffic.messages.iter())
            .filter_map(|message| message.stop)
            .max();
        let mut ways = Vec::with_capacity(run.traffic.messages.len());
        let mut open = Vec::new();
        let paths = Paths::of(run);
        // The bytes that want to pass each link: until the end, of each connection at first, and until those stop that do.
        let mut wanted = paths.none();
        let mut wanted_early = vec![0; run.topology.links.len()];
        for (message, (&size, &frames)) in
            run.traffic.messages.iter().zip(sizes.iter().zip(&frames))
        {
            let conn = &run.traffic.conns[message.conn as usize];
            let (path, slowest) = paths.path(message.conn);
            let wire = run.encap.wire_total(size);
            let asked = if is_timed(message) {
                size
            } else {
                message.size
            };
            load.asked = load.asked.saturating_add(asked);
            load.payload = load.payload.saturating_add(size);
            load.wire = load.wire.saturating_add(wire);
            if path.len() > 2 {
                load.crossing = load.crossing.saturating_add(wire);
            }
            let takes = slowest.serialize(Bytes(wire));
            let own = &lone[run.lane(message.conn)];
            let whole = own.packets(frames, is_timed(message));
            let left = lone::left(run, message.start);
            let lone = left.map_or(whole, |left| whole.min(own.within(left)));
            let wire = (wire as f64 * lone / whole.max(1.0)) as u64;
            add(&mut wanted[direction(message)], wire);
            if let Some(stop) = longest_stop {
                for link in along(path, message) {
                    let rate = run.topology.links[link.index()].rate;
                    let early = rate.bytes_in(stop.since(Time::ZERO)).0;
                    add(&mut wanted_early[link.index()], wire.min(early));
                }
            }
            ways.push(Way {
                frames,
                links: path.len(),
                lone,
                takes,
            });
            if let Start::At(at) = message.start {
                first = first.min(at);
                last = last.max(at);
                end = end.max(at.after(takes));
                let to = if message.from_a { conn.b } else { conn.a };
                open.push((at, to, takes));
            }
        }
        // What wants to pass a link, and cannot before the run ends, shares it.
        let time = until.since(Time::ZERO);
        let passing = |link: LinkId, time: Span, wanted: &[u64]| {
            let most = run.topology.links[link.index()].rate.bytes_in(time).0;
            most as f64 / wanted[link.index()].max(1) as f64
        };
        let wanted = paths.by_link(&wanted, run.topology.links.len());
        let mut shares = vec![None; 2 * run.traffic.conns.len()];
        let mut seen = paths.none();
        let (mut hops, mut served) = (0.0, 0.0);
        for ((message, way), &size) in run.traffic.messages.iter().zip(&ways).zip(&sizes) {
            let (path, _) = paths.path(message.conn);
            let least = |time: Span, wanted: &[u64]| {
                let shares = along(path, message).map(|link| passing(link, time, wanted));
                shares.fold(1.0, f64::min)
            };
            let share = match (message.start, message.stop) {
                (Start::At(from), Some(stop)) if stop < until => {
                    least(stop.since(from), &wanted_early)
                }
                _ => *shares[direction(message)].get_or_insert_with(|| least(time, &wanted)),
            };
            hops += way.lone * way.links as f64 * share;
            served += size as f64 * share;
            let news = memory::news((way.frames, way.takes), share, (time, every));
            // What it sends one way is answered the other.
            let conn = 2 * message.conn as usize;
            add(&mut seen[conn], news);
            add(&mut seen[conn + 1], news);
        }
        load.seen = paths.by_link(&seen, run.topology.links.len());
        let vain = Vain::of(run, &ways);
        load.summed = (hops + vain.hops).max(0.0) as u64;
        load.hops = load.summed;
        load.served = served as u64;
        load.refused = vain.refused as u64;
        load.span = last.since(first);
        let begin = if first < Time::NEVER {
            first
        } else {
            Time::ZERO
        };
        for (link, &wanted) in run.topology.links.iter().zip(&wanted) {
            end = end.max(begin.after(link.rate.serialize(Bytes(wanted))));
        }
        load.together = memory::together_most(open.iter().map(|&(at, ..)| at));
        load.open = memory::open_most(open);
        load.lasts = end.min(until).since(Time::ZERO);
        load
    }

    /// The bytes of its messages, in words.
    pub(crate) fn bytes(&self) -> String {
        let (asked, carried) = (
            human::bytes(Bytes(self.asked)),
            human::bytes(Bytes(self.payload)),
        );
        let wire = human::bytes(Bytes(self.wire));
        if self.payload < self.asked {
            return format!(
                "{asked}, of which the line has time for {carried} ({wire} on the wire)"
            );
        }
        format!("{asked} ({wire} on the wire)")
    }
}

/// Bytes of a message that its transport's part of its sender's line can carry before the message or the run stops.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates of bytes, and the cast saturates"
)]
pub(crate) fn sendable(run: &Assembled, message: &Message, until: Time) -> u64 {
    let Start::At(start) = message.start else {
        return message.size;
    };
    let end = message.stop.unwrap_or(until).min(until);
    let part = run.part_of_line(message.conn);
    let line = (run.host_rate().bytes_in(end.since(start)).0 as f64 * part) as u64;
    let share =
        u128::from(run.encap.payload_max) * u128::from(line) / u128::from(run.encap.wire_max());
    message.size.min(u64::try_from(share).unwrap_or(u64::MAX))
}
