//! One hash over what happened in a run.

use crate::setup::MessageResult;
use crate::tally::Tally;
use model::HostCounts;
use std::collections::BTreeMap;
use units::Time;
use xxhash_rust::xxh3::Xxh3;

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
pub(crate) fn fingerprint(messages: &[MessageResult], ports: &Tally, hosts: &[HostCounts]) -> u64 {
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
    use model::Totals;

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
