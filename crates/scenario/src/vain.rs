//! Credits that no data answers, about: they take time, and on long ways most of the packets.
//!
//! A receiver goes on for about a round trip after it has asked for the last frame, and every connection asks at
//! least once a round trip, however many there are. Messages share the line of their receiver evenly here. What is in
//! vain after a message that is alone is known ([`Lone`](crate::lone::Lone)): here is what others change of it.

use crate::assemble::Assembled;
use crate::load::Way;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use units::{Bytes, LineTime, Time};
use workload::Start;

/// Parts of a frame in which lines count what they have done.
const PARTS: u64 = 1 << 16;
/// Credits in vain.
#[derive(Clone, Copy, Default)]
pub(crate) struct Vain {
    /// Packet-hops of those that passed, beyond those that messages have in vain when they are alone: mostly fewer.
    pub(crate) hops: f64,
    /// Those that found no room before the line of the host that made them.
    pub(crate) refused: f64,
}

/// What arrives at one host: starts and ways.
type Arriving = Vec<(Time, Way)>;

impl Vain {
    /// Of `run`, whose messages take these ways. None where the transport is not paced by credits of switches.
    pub(crate) fn of(run: &Assembled, ways: &[Way]) -> Self {
        let Some(credit) = run.ports.first().and_then(|port| port.credit()) else {
            return Self::default();
        };
        let period = credit.period(LineTime::new(run.host_rate())).0 as f64;
        // Credits wait for their host's line, and for another.
        let round = run.base_rtt.0 as f64 + 2.0 * f64::from(credit.queue_limit) * period;
        let lanes = 0..=u8::try_from(run.scenario.beside.len()).unwrap_or(u8::MAX);
        let credited: Vec<bool> = lanes
            .map(|lane| {
                let factory = run.scenario.factory_of(lane);
                let port = factory.fabric(run.host_rate(), run.encap).port(Bytes(1));
                port.credit().is_some()
            })
            .collect();
        let mut hosts: BTreeMap<u32, Arriving> = BTreeMap::new();
        for (message, &way) in run.traffic.messages.iter().zip(ways) {
            if !credited[run.lane(message.conn)] {
                continue;
            }
            let conn = &run.traffic.conns[message.conn as usize];
            let to = if message.from_a { conn.b } else { conn.a };
            if let Start::At(at) = message.start {
                hosts.entry(to).or_default().push((at, way));
            }
        }
        let each = hosts.into_values().map(|mut all| {
            all.sort_by_key(|&(at, _)| at);
            let end = run.until().0 as f64;
            Line { period, round, end }.share(&all)
        });
        each.fold(Self::default(), |sum, host| Self {
            hops: sum.hops + host.hops,
            refused: sum.refused + host.refused,
        })
    }
}

/// A receiver's line, in picoseconds: what a frame with its credit takes, a round trip, the end of the run.
struct Line {
    period: f64,
    round: f64,
    end: f64,
}

impl Line {
    /// What is in vain where `all` share the line.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parts of frames, estimated, and the cast saturates"
    )]
    fn share(&self, all: &Arriving) -> Vain {
        let mut vain = Vain::default();
        // Parts of frames that everybody has had who was there from the beginning; and with how many each is done.
        let (mut had, mut now, mut next) = (0u64, 0.0, 0);
        let mut open: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        while now < self.end && (next < all.len() || !open.is_empty()) {
            let sharing = open.len() as f64;
            let starts = all.get(next).map_or(f64::INFINITY, |&(at, ..)| at.0 as f64);
            let ends = open.peek().map_or(f64::INFINITY, |&Reverse((done, _))| {
                now + (done - had) as f64 / PARTS as f64 * sharing * self.period
            });
            let then = starts.min(ends).min(self.end);
            let passes = then - now;
            vain.refused += (passes * (sharing / self.round - 1.0 / self.period)).max(0.0);
            if !open.is_empty() {
                had += (passes / (sharing * self.period) * PARTS as f64) as u64;
            }
            now = then;
            if starts <= ends {
                let frames = all[next].1.frames;
                open.push(Reverse((
                    had.saturating_add(frames.saturating_mul(PARTS)),
                    next,
                )));
                next += 1;
            } else if let Some(Reverse((done, which))) = open.pop() {
                had = done.max(had);
                let Way {
                    frames,
                    links,
                    lone,
                    ..
                } = all[which].1;
                // All who wait for the same line have one line of credits between them; each has its part of what is made
                // in a round trip, as far as it had so many when it was alone.
                let beyond = (lone - 2.0 * frames as f64).max(0.0);
                let part = (self.round / self.period).max(beyond) / sharing;
                let without = beyond - part.min(beyond);
                vain.hops -= without * links as f64;
                vain.refused += without;
            }
        }
        vain
    }
}
