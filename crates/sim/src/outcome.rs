//! The end of a run: every packet accounted for, unfinished flows named, one hash over it all.

use crate::count::Window;
use crate::net::World;
use crate::node::{Kind, Log, Node};
use crate::promised::{OnLinks, Promised};
use crate::setup::{Outcome, PortCounters, STUCK_MAX, Setup};
use crate::tally::Tally;
use crate::waits::{self, Locked};
use model::{ByClass, Class, Counter, DropReason, Endpoint, HostCounts, StuckFlow, Totals};
use std::collections::{BTreeMap, BTreeSet};
use switching::{Counters, Holder, Port};
use topology::LinkId;
use units::{Span, Time};
use xxhash_rust::xxh3::Xxh3;

/// Packets of one class that came into being and that went.
#[derive(Clone, Copy, Default)]
struct Ledger {
    sent: u64,
    copied: u64,
    received: u64,
    dropped: u64,
    lost: u64,
    waiting: u64,
    in_flight: u64,
}

impl Ledger {
    fn check(&self, class: Class) -> Result<(), String> {
        let came = self.sent + self.copied;
        let went = self.received + self.dropped + self.lost + self.waiting + self.in_flight;
        if came == went {
            return Ok(());
        }
        Err(format!(
            "{} packets: {} sent + {} copied by faults = {came}, but {} received + {} dropped + {} lost to \
             faults + {} waiting + {} in flight = {went}",
            class.name(),
            self.sent,
            self.copied,
            self.received,
            self.dropped,
            self.lost,
            self.waiting,
            self.in_flight
        ))
    }
}

/// When and why a run is over.
pub(crate) struct Stop {
    pub(crate) at: Time,
    pub(crate) interrupted: bool,
    pub(crate) idle: bool,
    /// Until when nothing more has happened: later than `at` where nothing was left to do before the time that it was given.
    pub(crate) reached: Time,
    /// What has been paused for longer is so for good, as far as a run that is cut off tells.
    patience: Span,
    /// How long the news that opens a gate may be under way.
    news: Span,
    /// The circle that was found before.
    pub(crate) found: Option<Locked>,
}

impl Stop {
    /// Of a run that was stopped, or ended `early`, before the time that it was given.
    pub(crate) fn new(setup: &Setup<'_>, at: Time, interrupted: bool, early: bool) -> Self {
        Self {
            at,
            interrupted,
            idle: early && !interrupted,
            reached: if early || interrupted {
                at
            } else {
                at.max(setup.until)
            },
            patience: waits::patience(setup),
            news: waits::news(setup),
            found: None,
        }
    }

    /// Whether what has been paused since then is so for good.
    pub(crate) fn lasts(&self, since: Option<Time>) -> bool {
        since.is_some_and(|since| self.idle || self.reached.since(since) > self.patience)
    }

    /// Whether what has been paused since then may be so for good.
    pub(crate) fn may_last(&self, since: Time) -> bool {
        self.reached.since(since) > self.news
    }

    /// The same of a gate of `port` that has let nothing pass `since` then: one of a circle that was found is shut for good
    /// while it has not moved.
    pub(crate) fn is_shut(&self, port: &Port, since: Time) -> bool {
        let link = LinkId(port.link());
        let mut found = self.found.iter().filter(|of| of.circle.contains(&link));
        self.lasts(Some(since)) || found.any(|of| since <= of.found)
    }
}

/// Sums up a run.
#[allow(
    clippy::too_many_lines,
    reason = "one look at each node, for many sums"
)]
pub(crate) fn close(
    setup: &Setup<'_>,
    world: &World<'_>,
    (mut nodes, mut window): (Vec<Node>, Window),
    logs: &[Log],
    (in_flight, links): (ByClass<u64>, &dyn OnLinks),
    stop: &Stop,
) -> Outcome {
    let mut ledgers = ByClass::from_fn(|class| Ledger {
        in_flight: in_flight[class],
        ..Ledger::default()
    });
    let mut tally = Tally::new(setup.topology.links.len());
    let (mut totals, mut stuck, mut digest) = (Totals::default(), Vec::new(), 0u64);
    let mut hosts = Vec::with_capacity(setup.topology.hosts as usize);
    let mut said = Vec::new();
    let mut accepted = BTreeMap::new();
    let seen = Seen {
        end: stop.at.after(Span(1)).max(stop.reached),
        links,
    };
    window.finish(&mut nodes, &seen);
    let (mut held, last) = waits::of(&setup.topology, &nodes, stop);
    // Where frames of the flow control may be lost, a gate may be shut for no reason any more.
    let last = last.or_else(|| {
        let by_ways = || waits::by_ways(&setup.topology, &nodes, &world.ways, stop);
        (setup.faults.is_empty() && !held.is_empty())
            .then(by_ways)
            .flatten()
    });
    let deadlock: Vec<LinkId> = last.iter().flat_map(|of| of.circle.clone()).collect();
    let suspected = (deadlock.is_empty() && setup.control.is_some())
        .then(|| waits::suspected(&setup.topology, &nodes, stop));
    let suspected = suspected.flatten();
    let mut locked: Vec<Locked> = stop.found.iter().cloned().chain(last).collect();
    locked.dedup_by(|last, found| last.circle == found.circle);
    let (mut ignored, mut control, mut memory) = (0, BTreeMap::new(), Vec::new());
    for node in &mut nodes {
        let mut stale = false;
        match &mut node.kind {
            Kind::Host(host) => {
                stale = stop.lasts(host.paused_since());
                host.close_books(stop.at);
                ignored += host.ignored();
            }
            Kind::Switch(node) => {
                node.switch
                    .ports
                    .iter_mut()
                    .for_each(|port| port.close_books(stop.at));
            }
        }
        count(node, &mut tally, &seen);
        digest = (digest ^ node.digest.0)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31);
        let mut waiting = ByClass::default();
        match &mut node.kind {
            Kind::Host(host) => {
                host.endpoint.check();
                totals += host.endpoint.totals();
                counts(host.id, &*host.endpoint, &mut hosts, &mut said);
                let mut waits = false;
                host.endpoint.stuck(&mut |flow| {
                    waits = true;
                    if stuck.len() < STUCK_MAX {
                        stuck.push((host.id, flow));
                    }
                });
                if waits && stale {
                    held.push(LinkId(host.link()));
                }
                let counters = host.counters();
                for class in Class::ALL {
                    // What its own queue dropped is among the drops below.
                    ledgers[class].sent += counters.packets[class] + counters.dropped[class];
                    ledgers[class].received += host.received()[class];
                }
                accepted.extend(host.accepted());
            }
            Kind::Switch(node) => {
                node.switch.check();
                node.switch.count(&mut |name, more| {
                    *control.entry(name).or_default() += more;
                });
                let (id, own) = (node.id, &node.switch.ports);
                node.switch.peaks(&mut |peak| {
                    if let Holder::Headroom(port, _) = peak.of {
                        let link = own[usize::from(port)].link() as usize;
                        let most = &mut tally.at(link).headroom_max;
                        *most = peak.bytes.max(*most);
                    }
                    if setup.probes.memory {
                        memory.push((id, peak));
                    }
                });
                ledgers[Class::Link].received += node.switch.heard();
                let used = node.switch.ports.iter();
                for port in used.filter(|port| !port.is_untouched()) {
                    let here = port.waiting();
                    waiting += here;
                    // Frames of a link's own begin at a switch.
                    ledgers[Class::Link].sent += port.sent().packets()[Class::Link];
                    ledgers[Class::Link].sent += here[Class::Link];
                }
            }
        }
        if let Some(faults) = &node.faults {
            waiting += faults.held();
        }
        let kept = node.records.len() as u64;
        assert!(
            kept <= waiting.sum(),
            "{kept} records outlived their packets"
        );
        for (class, waiting) in waiting.iter() {
            ledgers[class].waiting += waiting;
        }
    }
    held.sort_unstable();
    let refused = list_refused(&mut stuck, world, logs);
    let (counted, edges) = window.close(&mut tally);
    let (mut dropped, mut lost, mut copied) =
        <(ByClass<u64>, ByClass<u64>, ByClass<u64>)>::default();
    for port in tally.each().filter_map(|(_, counters)| counters) {
        dropped += port.dropped;
        lost += port.lost;
        copied += port.copied;
    }
    for class in Class::ALL {
        let ledger = &mut ledgers[class];
        (ledger.dropped, ledger.lost, ledger.copied) = (dropped[class], lost[class], copied[class]);
    }
    let messages = world.book.results();
    let conservation = Class::ALL
        .iter()
        .try_for_each(|&class| ledgers[class].check(class))
        .and_then(|()| check_messages(setup, &messages, logs));
    Outcome {
        fingerprint: fingerprint(&messages, &tally, &hosts),
        unfinished: world.book.unfinished(),
        refused,
        messages,
        ports: tally,
        counted,
        totals,
        hosts,
        stuck,
        conservation,
        digest,
        hops: logs.iter().map(|log| log.hops).sum(),
        node_windows: logs.iter().map(|log| log.node_windows).sum(),
        end: stop.at,
        interrupted: stop.interrupted,
        idle: stop.idle,
        deadlock,
        locked,
        suspected,
        held,
        ignored,
        counts: control,
        memory,
        accepted,
        edges,
    }
}

/// Adds connections that a host has refused, or given up, while messages of theirs were under way; returns how
/// many messages of theirs have not ended, begun or not.
fn list_refused(stuck: &mut Vec<(u32, StuckFlow)>, world: &World<'_>, logs: &[Log]) -> u64 {
    let all = logs.iter().flat_map(|log| &log.refused).copied();
    let mut refused: Vec<_> = all.collect();
    // The first time counts, at each of both ends.
    refused.sort_unstable_by_key(|&(host, conn, at)| (host, conn.0, at));
    refused.dedup_by_key(|&mut (host, conn, _)| (host, conn.0));
    // A connection is counted once, however many of its ends refused it.
    let conns: BTreeSet<u32> = refused.iter().map(|(_, conn, _)| conn.0).collect();
    let open = conns.into_iter().map(|conn| (conn, world.book.open(conn)));
    let open: BTreeMap<u32, u64> = open.filter(|&(_, open)| open > 0).collect();
    refused.retain(|(_, conn, _)| open.contains_key(&conn.0));
    refused.truncate(STUCK_MAX - stuck.len());
    stuck.extend(refused.into_iter().map(|(host, conn, at)| {
        let flow = StuckFlow {
            conn,
            state: format!("refused at {at}"),
            waits_for: "nothing: this host gave it up, or had no room for it".to_owned(),
        };
        (host, flow)
    }));
    stuck.sort_by_key(|(host, flow)| (*host, flow.conn.0));
    open.values().sum()
}

/// Adds what the transports of a host counted. `said` is room to work in.
fn counts(
    host: u32,
    endpoint: &dyn Endpoint,
    all: &mut Vec<HostCounts>,
    said: &mut Vec<(&'static Counter, u64)>,
) {
    let mut of = |(transport, lane): (u8, &dyn Endpoint)| {
        said.clear();
        lane.counters(&mut |counter, value| said.push((counter, value)));
        HostCounts {
            host,
            transport,
            totals: lane.totals(),
            own: said.clone(),
        }
    };
    let lanes = endpoint.lanes();
    if lanes.is_empty() {
        all.push(of((0, endpoint)));
    } else {
        all.extend((0..).zip(lanes).map(of));
    }
}

/// A look at ports.
pub(crate) struct Seen<'a> {
    /// What begins to leave before this moment counts.
    pub(crate) end: Time,
    /// What is on links.
    pub(crate) links: &'a dyn OnLinks,
}

impl Seen<'_> {
    /// What `port` has counted goes into `slot`, but for what it has only promised.
    fn note(&self, port: &Port, slot: &mut PortCounters) {
        note(slot, &port.counters());
        slot.busy_until = port.busy_until();
        if let Some(promised) = Promised::of(port, self.end, self.links) {
            promised.leave_out(slot);
        }
    }
}

/// Takes what the ports of `node` have counted, and what faults did to what came to it, into `tally`.
pub(crate) fn count(node: &Node, tally: &mut Tally, seen: &Seen<'_>) {
    match &node.kind {
        Kind::Host(host) => {
            if !host.is_untouched() {
                let slot = tally.at(host.link() as usize);
                match host.queue() {
                    Some(port) => seen.note(port, slot),
                    None => {
                        note(slot, &host.counters());
                        slot.busy_until = host.busy_until();
                    }
                }
            }
            let unwanted = host.unwanted.sum();
            if unwanted > 0 {
                // What its last switch sent it in vain.
                let last = tally.at((host.link() ^ 1) as usize);
                last.dropped += host.unwanted;
                last.drop_reasons[DropReason::Unwanted] += unwanted;
            }
        }
        Kind::Switch(node) => {
            let used = node.switch.ports.iter();
            for port in used.filter(|port| !port.is_untouched()) {
                seen.note(port, tally.at(port.link() as usize));
            }
            // What came over a link and went no further.
            for (ingress, why, lost) in node.switch.astray() {
                let back = node.switch.ports[usize::from(ingress)].link() ^ 1;
                let slot = tally.at(back as usize);
                slot.dropped += *lost;
                slot.drop_reasons[why] += lost.sum();
            }
        }
    }
    for (link, lost, copied) in node.faults.iter().flat_map(|faults| faults.counts()) {
        let slot = tally.at(link as usize);
        (slot.lost, slot.copied) = (lost, copied);
    }
}

/// Takes what a port has counted into the counters of its link.
fn note(slot: &mut PortCounters, counters: &Counters) {
    slot.packets = counters.packets;
    slot.bytes = counters.bytes;
    slot.dropped += counters.dropped;
    slot.drop_reasons += counters.drop_reasons;
    for (sum, more) in slot
        .drop_priorities
        .iter_mut()
        .zip(counters.drop_priorities)
    {
        *sum += more;
    }
    slot.marked = counters.marked;
    slot.queue_max = counters.queue_max;
    slot.credits_max = counters.credits_max;
    (slot.pauses, slot.paused) = (counters.pauses, counters.paused);
    slot.pause_longest = counters.pause_longest;
}

fn check_messages(
    setup: &Setup<'_>,
    results: &[crate::MessageResult],
    logs: &[Log],
) -> Result<(), String> {
    let sum = |of: fn(&Log) -> u64| logs.iter().map(of).sum::<u64>();
    let (again, unsent) = (sum(|log| log.again), sum(|log| log.unsent));
    let messages = |n: u64| match n {
        1 => "1 message was".to_owned(),
        _ => format!("{n} messages were"),
    };
    if unsent > 0 {
        return Err(format!("{} received and never sent", messages(unsent)));
    }
    if again > 0 {
        return Err(format!(
            "{} received twice: packets came when their receiver had forgotten the connection. Either they waited longer than \
             the transport remembers, as before slow lines with large buffers, or it is wrong",
            messages(again)
        ));
    }
    let breaches = sum(|log| log.breaches);
    if breaches > 0 {
        return Err(format!(
            "{breaches} packets were to leave although their gate was closed"
        ));
    }
    let (started, ended) = (sum(|log| log.started), sum(|log| log.ended));
    for (number, (result, asked)) in results.iter().zip(&setup.traffic.messages).enumerate() {
        let cut = asked.stop.is_some() && result.size < asked.size;
        if result.end.is_some() && result.size != asked.size && !cut {
            return Err(format!(
                "message {number} has {} B, and {} B of it were received",
                asked.size, result.size
            ));
        }
    }
    let open = results
        .iter()
        .filter(|m| m.start.is_some() && m.end.is_none())
        .count() as u64;
    if started != ended + open {
        return Err(format!(
            "{started} messages started, but {ended} ended and {open} are open"
        ));
    }
    Ok(())
}

/// Tagged facts on their way into a hash.
struct Facts {
    hash: Xxh3,
    /// Some that the hash has not seen yet: it takes many at once for little more than one.
    next: Vec<u8>,
}

impl Facts {
    fn new() -> Self {
        Self {
            hash: Xxh3::new(),
            next: Vec::with_capacity(8192),
        }
    }

    /// Adds one fact: what it is, and its value. What is zero is left out, so that a fact of a new kind
    /// changes no fingerprint of a run without it.
    #[inline]
    fn add(&mut self, tag: u16, value: u64) {
        if value != 0 {
            let mut fact = [0; 10];
            fact[..2].copy_from_slice(&tag.to_le_bytes());
            fact[2..].copy_from_slice(&value.to_le_bytes());
            self.next.extend_from_slice(&fact);
        }
    }

    /// Adds facts whose tags follow one another.
    #[inline]
    fn add_all(&mut self, first: u16, values: &[u64]) {
        if values.iter().fold(0, |any, value| any | value) != 0 {
            for (tag, &value) in (first..).zip(values) {
                self.add(tag, value);
            }
        }
    }

    /// One subject's facts are complete.
    fn end(&mut self) {
        if self.next.len() > 4096 {
            self.hash.update(&self.next);
            self.next.clear();
        }
    }

    fn digest(mut self) -> u64 {
        self.hash.update(&self.next);
        self.hash.digest()
    }
}

/// Tags of facts, published: one that was given is never given again. Those by class or reason add its
/// number.
mod tag {
    pub(super) const MESSAGE: u16 = 0x0001;
    pub(super) const START: u16 = 0x0002;
    pub(super) const END: u16 = 0x0003;
    pub(super) const STOPPED: u16 = 0x0004;
    pub(super) const SIZE: u16 = 0x0005;
    pub(super) const PORT: u16 = 0x0101;
    pub(super) const MARKED: u16 = 0x0102;
    pub(super) const QUEUE_MAX: u16 = 0x0103;
    pub(super) const CREDITS_MAX: u16 = 0x0104;
    pub(super) const PAUSES: u16 = 0x0105;
    pub(super) const PAUSED: u16 = 0x0106;
    pub(super) const PACKETS: u16 = 0x1000;
    pub(super) const BYTES: u16 = 0x1100;
    pub(super) const DROPPED: u16 = 0x1200;
    pub(super) const LOST: u16 = 0x1300;
    pub(super) const COPIED: u16 = 0x1400;
    pub(super) const REASONS: u16 = 0x2000;
    pub(super) const COUNTER: u16 = 0x3000;
    pub(super) const COUNTED: u16 = 0x3001;
}

/// XXH3 (64 bits) over tagged facts, as a little-endian tag of 16 bits and value of 64 bits each: every
/// message's number from 1, start, end, stop (each with 1 ps added) and size, and every port's number
/// from 1 and counters; and of every counter that says so, the hash of its transport's number and name, and
/// its sum. A fact that is zero or absent is left out. Published: never change it silently.
fn fingerprint(messages: &[crate::MessageResult], ports: &Tally, hosts: &[HostCounts]) -> u64 {
    let mut facts = Facts::new();
    for (number, message) in (1..).zip(messages) {
        facts.add(tag::MESSAGE, number);
        let moment = |at: Option<Time>| at.map_or(0, |at| at.0 + 1);
        facts.add(tag::START, moment(message.start));
        facts.add(tag::END, moment(message.end));
        facts.add(tag::STOPPED, moment(message.stopped));
        facts.add(tag::SIZE, message.size);
        facts.end();
    }
    for (number, port) in ports.each() {
        facts.add(tag::PORT, number);
        let Some(port) = port else {
            facts.end();
            continue;
        };
        facts.add_all(tag::PACKETS, port.packets.as_slice());
        facts.add_all(tag::BYTES, port.bytes.as_slice());
        facts.add_all(tag::DROPPED, port.dropped.as_slice());
        facts.add_all(tag::LOST, port.lost.as_slice());
        facts.add_all(tag::COPIED, port.copied.as_slice());
        facts.add_all(tag::REASONS, port.drop_reasons.as_slice());
        facts.add(tag::MARKED, port.marked);
        facts.add(tag::QUEUE_MAX, port.queue_max);
        facts.add(tag::CREDITS_MAX, port.credits_max.into());
        facts.add(tag::PAUSES, port.pauses);
        facts.add(tag::PAUSED, port.paused.0);
        facts.end();
    }
    for ((transport, name), sum) in hashed(hosts) {
        let mut named = Xxh3::new();
        named.update(&[transport]);
        named.update(name.as_bytes());
        facts.add(tag::COUNTER, named.digest());
        facts.add(tag::COUNTED, sum);
        facts.end();
    }
    facts.digest()
}

/// Sums of the counters that belong to a fingerprint, those that are zero left out.
fn hashed(hosts: &[HostCounts]) -> BTreeMap<(u8, &'static str), u64> {
    let mut sums = BTreeMap::new();
    for host in hosts {
        for (counter, value) in &host.own {
            if counter.hashed && *value > 0 {
                *sums.entry((host.transport, counter.name)).or_insert(0) += value;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    model::counters! {
        struct Counts {
            /// Pulls.
            pulls: packets in fingerprint,
            /// Looks.
            looks: times,
        }
    }

    fn of(transport: u8, pulls: u64, looks: u64) -> u64 {
        let mut own = Vec::new();
        Counts { pulls, looks }.report(&mut |counter, value| own.push((counter, value)));
        let one = HostCounts {
            host: 3,
            transport,
            totals: Totals::default(),
            own,
        };
        fingerprint(
            &[],
            &Tally::new(0),
            &[one.clone(), HostCounts { host: 4, ..one }],
        )
    }

    #[test]
    fn a_counter_that_is_zero_or_asks_for_nothing_moves_no_fingerprint() {
        let none = fingerprint(&[], &Tally::new(0), &[]);
        assert_eq!((of(0, 0, 0), of(0, 0, 9)), (none, none));
        assert!(of(0, 1, 0) != none && of(0, 2, 0) != of(0, 1, 0) && of(1, 1, 0) != of(0, 1, 0));
    }
}
