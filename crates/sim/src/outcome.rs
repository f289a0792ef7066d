//! The end of a run: every packet accounted for, unfinished flows named.

use crate::count::{Accepted, Window};
use crate::fingerprint::fingerprint;
use crate::host::Host;
use crate::net::World;
use crate::node::{Kind, Log, Node, SwitchNode};
use crate::promised::{OnLinks, Promised};
use crate::setup::{Outcome, PortCounters, STUCK_MAX, Setup};
use crate::tally::Tally;
use crate::waits::{self, Locked};
use model::{ByClass, Class, Counter, DropReason, Endpoint, HostCounts, StuckFlow, Totals};
use std::collections::{BTreeMap, BTreeSet};
use switching::{Counters, Holder, Peak, Port};
use topology::{LinkId, NodeId};
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
pub(crate) fn close(
    setup: &Setup<'_>,
    world: &World<'_>,
    (mut nodes, mut window): (Vec<Node>, Window),
    logs: &[Log],
    (in_flight, links): (ByClass<u64>, &dyn OnLinks),
    stop: &Stop,
) -> Outcome {
    let seen = Seen {
        end: stop.at.after(Span(1)).max(stop.reached),
        links,
    };
    window.finish(&mut nodes, &seen);
    let (mut held, circles) = circles(setup, world, &nodes, stop);
    let mut sums = Sums::new(setup, in_flight);
    for node in &mut nodes {
        sums.add(node, &seen, stop);
    }
    held.append(&mut sums.stale);
    held.sort_unstable();
    let refused = list_refused(&mut sums.stuck, world, logs);
    let (counted, edges) = window.close(&mut sums.tally);
    let messages = world.book.results();
    let conservation = sums.balance();
    Outcome {
        fingerprint: fingerprint(&messages, &sums.tally, &sums.hosts),
        conservation: conservation.and_then(|()| check_messages(setup, &messages, logs)),
        unfinished: world.book.unfinished(),
        refused,
        messages,
        ports: sums.tally,
        counted,
        totals: sums.totals,
        hosts: sums.hosts,
        stuck: sums.stuck,
        digest: sums.digest,
        hops: logs.iter().map(|log| log.hops).sum(),
        node_windows: logs.iter().map(|log| log.node_windows).sum(),
        end: stop.at,
        interrupted: stop.interrupted,
        idle: stop.idle,
        deadlock: circles.deadlock,
        locked: circles.locked,
        suspected: circles.suspected,
        held,
        ignored: sums.ignored,
        counts: sums.counts,
        memory: sums.memory,
        accepted: sums.accepted,
        forgotten: sums.forgotten,
        edges,
    }
}

/// Circles of ports that wait for each other, as an [`Outcome`] tells of them.
struct Circles {
    deadlock: Vec<LinkId>,
    locked: Vec<Locked>,
    suspected: Option<Locked>,
}

/// Ports at whose gates packets wait at the end, and circles of them.
fn circles(
    setup: &Setup<'_>,
    world: &World<'_>,
    nodes: &[Node],
    stop: &Stop,
) -> (Vec<LinkId>, Circles) {
    let (held, mut last) = waits::of(&setup.topology, nodes, stop);
    // Where frames of the flow control may be lost, a gate may be shut for no reason any more.
    if last.is_none() && setup.faults.is_empty() && !held.is_empty() {
        last = waits::by_ways(&setup.topology, nodes, &world.ways, stop);
    }
    let deadlock: Vec<LinkId> = last.iter().flat_map(|of| of.circle.clone()).collect();
    let suspected = (deadlock.is_empty() && setup.control.is_some())
        .then(|| waits::suspected(&setup.topology, nodes, stop));
    let mut locked: Vec<Locked> = stop.found.iter().cloned().chain(last).collect();
    locked.dedup_by(|last, found| last.circle == found.circle);
    let circles = Circles {
        deadlock,
        locked,
        suspected: suspected.flatten(),
    };
    (held, circles)
}

/// Sums over all nodes.
struct Sums {
    /// Whether somebody asks for `memory`.
    memory_too: bool,
    ledgers: ByClass<Ledger>,
    tally: Tally,
    totals: Totals,
    hosts: Vec<HostCounts>,
    /// Room to work in.
    said: Vec<(&'static Counter, u64)>,
    stuck: Vec<(u32, StuckFlow)>,
    /// Hosts' links: what waits there has been paused for good.
    stale: Vec<LinkId>,
    ignored: u64,
    counts: BTreeMap<&'static str, u64>,
    memory: Vec<(NodeId, Peak)>,
    accepted: Accepted,
    forgotten: u64,
    digest: u64,
}

impl Sums {
    fn new(setup: &Setup<'_>, in_flight: ByClass<u64>) -> Self {
        Self {
            memory_too: setup.probes.memory,
            ledgers: ByClass::from_fn(|class| Ledger {
                in_flight: in_flight[class],
                ..Ledger::default()
            }),
            tally: Tally::new(setup.topology.links.len()),
            totals: Totals::default(),
            hosts: Vec::with_capacity(setup.topology.hosts as usize),
            said: Vec::new(),
            stuck: Vec::new(),
            stale: Vec::new(),
            ignored: 0,
            counts: BTreeMap::new(),
            memory: Vec::new(),
            accepted: BTreeMap::new(),
            forgotten: 0,
            digest: 0,
        }
    }

    /// Closes the books of a node and takes them in.
    fn add(&mut self, node: &mut Node, seen: &Seen<'_>, stop: &Stop) {
        let stale = close_books(node, stop);
        count(node, &mut self.tally, seen);
        self.digest = (self.digest ^ node.digest.0)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31);
        let mut waiting = match &node.kind {
            Kind::Host(host) => {
                self.add_host(host, stale);
                ByClass::default()
            }
            Kind::Switch(node) => self.add_switch(node),
        };
        if let Some(faults) = &node.faults {
            waiting += faults.held();
        }
        let kept = node.records.len() as u64;
        assert!(
            kept <= waiting.sum(),
            "{kept} records outlived their packets"
        );
        for (class, waiting) in waiting.iter() {
            self.ledgers[class].waiting += waiting;
        }
    }

    /// Takes in what a host and its transport have counted. What waits at a `stale` one has been paused for good.
    fn add_host(&mut self, host: &Host, stale: bool) {
        host.endpoint.check();
        self.ignored += host.ignored();
        self.totals += host.endpoint.totals();
        counts(host.id, &*host.endpoint, &mut self.hosts, &mut self.said);
        let mut waits = false;
        host.endpoint.stuck(&mut |flow| {
            waits = true;
            if self.stuck.len() < STUCK_MAX {
                self.stuck.push((host.id, flow));
            }
        });
        if waits && stale {
            self.stale.push(LinkId(host.link()));
        }
        let counters = host.counters();
        for class in Class::ALL {
            // What its own queue dropped is among the drops of its port.
            self.ledgers[class].sent += counters.packets[class] + counters.dropped[class];
            self.ledgers[class].received += host.received()[class];
        }
        self.accepted.extend(host.accepted());
        self.forgotten += host.forgotten();
    }

    /// Takes in what a switch and its flow control have counted; returns what waits there.
    fn add_switch(&mut self, node: &SwitchNode) -> ByClass<u64> {
        let switch = &node.switch;
        switch.check();
        switch.count(&mut |name, more| *self.counts.entry(name).or_default() += more);
        switch.peaks(&mut |peak| {
            if let Holder::Headroom(port, _) = peak.of {
                let link = switch.ports[usize::from(port)].link() as usize;
                let most = &mut self.tally.at(link).headroom_max;
                *most = peak.bytes.max(*most);
            }
            if self.memory_too {
                self.memory.push((node.id, peak));
            }
        });
        let mut waiting = ByClass::default();
        let of_links = &mut self.ledgers[Class::Link];
        of_links.received += switch.heard();
        for port in switch.ports.iter().filter(|port| !port.is_untouched()) {
            let here = port.waiting();
            waiting += here;
            // Frames of a link's own begin at a switch.
            of_links.sent += port.sent().packets()[Class::Link] + here[Class::Link];
        }
        waiting
    }

    /// Whether every packet is accounted for, once all nodes have been added.
    fn balance(&self) -> Result<(), String> {
        let mut ledgers = self.ledgers;
        for port in self.tally.each().filter_map(|(_, counters)| counters) {
            for class in Class::ALL {
                ledgers[class].dropped += port.dropped[class];
                ledgers[class].lost += port.lost[class];
                ledgers[class].copied += port.copied[class];
            }
        }
        let mut each = Class::ALL.iter();
        each.try_for_each(|&class| ledgers[class].check(class))
    }
}

/// Has a node count what was not counted yet; returns whether it is a host that has been paused for good.
fn close_books(node: &mut Node, stop: &Stop) -> bool {
    match &mut node.kind {
        Kind::Host(host) => {
            let stale = stop.lasts(host.paused_since());
            host.close_books(stop.at);
            stale
        }
        Kind::Switch(node) => {
            let ports = node.switch.ports.iter_mut();
            ports.for_each(|port| port.close_books(stop.at));
            false
        }
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
