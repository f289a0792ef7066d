//! Pairs of hosts that want slots, and in which order they are asked. [fastpass s3]

use super::Arbiter;
use crate::fastpass::params::{BATCH_MAX, Order};
use std::collections::{BTreeMap, BTreeSet};

/// Batches that a pair may be behind the one that had most slots; of one that had no room for longer, the rest is forgotten. [ours]
const REMEMBERED: u64 = 2;
/// Pairs that want nothing and are remembered; where half as many still count then, all are forgotten. [ours]
const AWAY_MAX: usize = 1 << 14;

/// Two hosts with something to send from one to the other.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Slots that it had, as they are counted among pairs; and behind the last of them.
    had: u64,
    last: u64,
    /// The first slot that it has waited for, if it does.
    pub(super) since: Option<u64>,
    pub(super) age: u32,
    /// Frames to come, or when it was served last, then age and place of every message.
    pub(super) queue: BTreeSet<(u64, u32, u32)>,
}

impl Pair {
    /// What its place among others follows from: lower ones are asked first.
    fn stands(&self) -> (u64, u64, u32) {
        (self.had, self.last, self.age)
    }

    /// It has a slot.
    pub(super) fn serve(&mut self, slot: u64) {
        (self.had, self.last, self.since) = (self.had + 1, slot + 1, None);
    }
}

/// How slots are counted.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// What the pair that had most slots had.
    most: u64,
    /// The same of pairs that want nothing now, where that is more than whoever comes first begins with.
    away: BTreeMap<(u32, u32), u64>,
}

impl Turns {
    /// What a pair has that had no slot for long, or never one: it is asked first.
    fn least(&self, batch: u32) -> u64 {
        let batch = u64::from(batch.min(BATCH_MAX));
        self.most.saturating_sub(REMEMBERED * batch)
    }
}

impl Arbiter {
    /// Two hosts between which nobody wanted slots: the place of their pair.
    pub(super) fn add_pair(&mut self, from: u32, to: u32) -> u32 {
        let least = self.turns.least(self.plan.batch);
        let known = self.turns.away.remove(&(from, to));
        let had = known.unwrap_or(0).max(least);
        let last = if had > least { self.free_slot } else { 0 };
        let pair = self.pairs.insert(Pair {
            from,
            to,
            had,
            last,
            since: None,
            age: self.age,
            queue: BTreeSet::new(),
        });
        self.pair_of.insert((from, to), pair);
        let pairs = &self.pairs;
        let before = |&other: &u32| pairs[other].stands() <= pairs[pair].stands();
        self.list.insert(self.list.partition_point(before), pair);
        pair
    }

    /// Nobody wants slots between them any more.
    pub(super) fn remove_pair(&mut self, pair: u32) {
        let Pair { from, to, had, .. } = self.pairs.remove(pair);
        self.pair_of.remove(&(from, to));
        // DEVIATES(fastpass): its arbiter knows for every pair when it was served last. Here one is forgotten that had less
        // than those that want slots, and all are when nobody does.
        self.turns.most = self.turns.most.max(had);
        let least = self.turns.least(self.plan.batch);
        let away = &mut self.turns.away;
        if self.pairs.is_empty() {
            self.turns = Turns::default();
        } else if had > least && self.plan.order == Order::Fair {
            if away.len() == AWAY_MAX {
                away.retain(|_, had| *had > least);
                if away.len() > AWAY_MAX / 2 {
                    away.clear();
                }
            }
            away.insert((from, to), had);
        }
    }

    /// Who had most slots stands behind the others in the next batch, and of a pair's messages who was served.
    pub(super) fn take_turns(&mut self) {
        // DEVIATES(fastpass): in turns by batches and not by slots, for what the arbiter says to a host in a batch is a
        // packet per message here. So slots are counted: one that others left over is no turn.
        let Self { list, pairs, .. } = self;
        let most = list.iter().map(|&pair| pairs[pair].had).max();
        self.turns.most = self.turns.most.max(most.unwrap_or(0));
        let least = self.turns.least(self.plan.batch);
        for &pair in list.iter() {
            let had = &mut pairs[pair].had;
            *had = (*had).max(least);
        }
        list.sort_by_key(|&pair| pairs[pair].stands());
        for &number in &self.scratch.touched {
            let demand = &mut self.demands[number];
            if demand.left > 0 {
                let queue = &mut self.pairs[demand.pair].queue;
                queue.remove(&(demand.by, demand.age, number));
                demand.by = self.free_slot;
                queue.insert((demand.by, demand.age, number));
            }
        }
    }
}
