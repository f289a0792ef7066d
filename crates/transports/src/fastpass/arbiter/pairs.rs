//! Pairs of hosts that want slots, and in which order they are asked. [fastpass s3]

use super::Arbiter;
use crate::fastpass::params::BATCH_MAX;
use std::collections::BTreeSet;

/// Batches that a pair may be behind the one that had most slots; of one that had no room for longer, the rest is forgotten. [ours]
const REMEMBERED: u64 = 2;

/// Two hosts with something to send from one to the other.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Slots that it had, as they are counted among pairs; and behind the last of them.
    had: u64,
    last: u64,
    pub(super) age: u32,
    /// Frames to come, or when it was served last, then age and place of every message.
    pub(super) queue: BTreeSet<(u64, u32, u32)>,
}

impl Pair {
    /// It has a slot.
    pub(super) fn serve(&mut self, slot: u64) {
        (self.had, self.last) = (self.had + 1, slot + 1);
    }
}

impl Arbiter {
    /// Two hosts between which nobody wanted slots: the place of their pair.
    pub(super) fn add_pair(&mut self, from: u32, to: u32) -> u32 {
        // DEVIATES(fastpass): a pair that wants nothing is forgotten. It comes back behind those that had least, which no stream
        // of others can pass, and not behind all that were served longer ago.
        let had = self.least + 1;
        let pair = self.pairs.insert(Pair {
            from,
            to,
            had,
            last: self.free_slot,
            age: self.age,
            queue: BTreeSet::new(),
        });
        self.pair_of.insert((from, to), pair);
        let pairs = &self.pairs;
        let before = |&other: &u32| pairs[other].had <= had;
        self.list.insert(self.list.partition_point(before), pair);
        pair
    }

    /// Nobody wants slots between them any more.
    pub(super) fn remove_pair(&mut self, pair: u32) {
        let Pair { from, to, .. } = self.pairs.remove(pair);
        self.pair_of.remove(&(from, to));
    }

    /// Who had most slots stands behind the others in the next batch, and of a pair's messages who was served.
    pub(super) fn take_turns(&mut self) {
        // DEVIATES(fastpass): in turns by batches and not by slots, for what the arbiter says to a host in a batch is a
        // packet per message here. So slots are counted: one that others left over is no turn.
        let Self { list, pairs, .. } = self;
        let most = list.iter().map(|&pair| pairs[pair].had).max().unwrap_or(0);
        let batch = u64::from(self.plan.batch.min(BATCH_MAX));
        let floor = most.saturating_sub(REMEMBERED * batch);
        for &pair in list.iter() {
            let had = &mut pairs[pair].had;
            *had = (*had).max(floor);
        }
        list.sort_by_key(|&pair| (pairs[pair].had, pairs[pair].last, pairs[pair].age));
        self.least = list.first().map_or(most, |&pair| pairs[pair].had);
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
