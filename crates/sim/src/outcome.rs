//! The end of a run: every packet accounted for, unfinished flows named, one hash over it all.

use crate::net::World;
use crate::node::{Kind, Log, Node};
use crate::setup::{Outcome, PortCounters, STUCK_MAX, Setup};
use model::{Class, Totals};
use units::Time;
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
    unreachable: u64,
}

impl Ledger {
    fn check(&self, class: Class) -> Result<(), String> {
        let came = self.sent + self.copied;
        let went = self.received
            + self.dropped
            + self.lost
            + self.waiting
            + self.in_flight
            + self.unreachable;
        if came == went {
            return Ok(());
        }
        Err(format!(
            "{} packets: {} sent + {} copied by faults = {came}, but {} received + {} dropped + {} lost to \
             faults + {} waiting + {} in flight + {} without a way = {went}",
            class.name(),
            self.sent,
            self.copied,
            self.received,
            self.dropped,
            self.lost,
            self.waiting,
            self.in_flight,
            self.unreachable
        ))
    }
}

/// Sums up a run.
pub(crate) fn close(
    setup: &Setup<'_>,
    world: &World<'_>,
    nodes: Vec<Node>,
    logs: Vec<Log>,
    in_flight: [u64; 5],
    end: Time,
    interrupted: bool,
) -> Outcome {
    let mut ledgers = [Ledger::default(); 5];
    for class in 0..5 {
        ledgers[class].in_flight = in_flight[class];
        ledgers[class].unreachable = logs.iter().map(|log| log.unreachable[class]).sum();
    }
    let mut ports = vec![PortCounters::default(); setup.topology.links.len()];
    let (mut totals, mut stuck, mut digest) = (Totals::default(), Vec::new(), 0u64);
    let (mut totals_apart, mut losses) = (Vec::new(), Vec::new());
    for mut node in nodes {
        digest = (digest ^ node.digest)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31);
        let mut waiting = [0; 5];
        match &mut node.kind {
            Kind::Host(host) => {
                host.endpoint.check();
                host.endpoint.totals_apart(&mut |number, of| {
                    totals += of;
                    if totals_apart.len() <= number {
                        totals_apart.resize(number + 1, Totals::default());
                    }
                    totals_apart[number] += of;
                });
                host.endpoint.stuck(&mut |flow| {
                    if stuck.len() < STUCK_MAX {
                        stuck.push((host.id, flow));
                    }
                });
                for (class, ledger) in ledgers.iter_mut().enumerate() {
                    ledger.sent += host.sent.packets()[class];
                    ledger.received += host.received[class];
                }
                let port = &mut ports[host.link() as usize];
                (port.packets, port.bytes) = (host.sent.packets(), host.sent.bytes());
            }
            Kind::Switch(switch) => {
                waiting = switch.finish();
                for port in &switch.ports {
                    ports[port.link() as usize] = port.counters;
                }
            }
        }
        if let Some(faults) = &node.faults {
            for (class, held) in faults.held().into_iter().enumerate() {
                waiting[class] += held;
            }
            losses.extend(faults.counts());
        }
        for (ledger, waiting) in ledgers.iter_mut().zip(waiting) {
            ledger.waiting += waiting;
        }
    }
    for (link, lost, copied) in losses {
        ports[link as usize].lost = lost;
        ports[link as usize].copied = copied;
    }
    for port in &ports {
        for (class, ledger) in ledgers.iter_mut().enumerate() {
            ledger.dropped += port.dropped[class];
            ledger.lost += port.lost[class];
            ledger.copied += port.copied[class];
        }
    }
    let conservation = Class::ALL
        .iter()
        .try_for_each(|&class| ledgers[class as usize].check(class))
        .and_then(|()| check_messages(world, &logs));
    let messages = world.book.results();
    Outcome {
        fingerprint: fingerprint(&messages, &ports),
        unfinished: world.book.unfinished(),
        messages,
        ports,
        totals,
        totals_apart,
        stuck,
        conservation,
        digest,
        hops: logs.iter().map(|log| log.hops).sum(),
        node_windows: logs.iter().map(|log| log.node_windows).sum(),
        end,
        interrupted,
    }
}

fn check_messages(world: &World<'_>, logs: &[Log]) -> Result<(), String> {
    let sum = |of: fn(&Log) -> u64| logs.iter().map(of).sum::<u64>();
    let unexpected = sum(|log| log.unexpected);
    if unexpected > 0 {
        return Err(format!(
            "{unexpected} messages ended twice, or were received and never sent"
        ));
    }
    let (started, ended) = (sum(|log| log.started), sum(|log| log.ended));
    let results = world.book.results();
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

/// XXH3 (64 bits) over every message's start, end, stop and size and every port's counters, as
/// little-endian words in the order of their numbers. Published: never change it silently.
fn fingerprint(messages: &[crate::MessageResult], ports: &[PortCounters]) -> u64 {
    let mut hash = Xxh3::new();
    let mut word = |word: u64| hash.update(&word.to_le_bytes());
    for message in messages {
        for time in [message.start, message.end, message.stopped] {
            word(time.unwrap_or(Time::NEVER).0);
        }
        word(message.size);
    }
    for port in ports {
        for group in [
            port.packets,
            port.bytes,
            port.dropped,
            port.lost,
            port.copied,
        ] {
            group.into_iter().for_each(&mut word);
        }
        port.drop_reasons.into_iter().for_each(&mut word);
        [port.marked, port.queue_max, u64::from(port.credits_max)]
            .into_iter()
            .for_each(&mut word);
    }
    hash.digest()
}
