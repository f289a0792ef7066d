//! The end of a run: every packet accounted for, unfinished flows named.

use crate::count::Window;
use crate::fingerprint::fingerprint;
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
