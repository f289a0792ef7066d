//! From a connection to its place in a host's own tables: open addressing, never iterated.

use crate::ConnId;

/// Marks an empty place. No slab holds this many connections.
const EMPTY: u32 = u32::MAX;
/// Entries are at most this share of the table: 1/2.
const FILL_MAX_DIVISOR: usize = 2;
const FIRST_CAPACITY: usize = 8;

/// A map from connection to slot number, for the per-packet path.
#[derive(Clone, Debug, Default)]
pub struct ConnMap {
    /// (connection, slot), by linear probing from the hashed place; a power of two long.
    table: Vec<(u32, u32)>,
    len: usize,
}

impl ConnMap {
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "masked to the table's length"
    )]
    fn home(&self, conn: u32) -> usize {
        let hash = u64::from(conn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.table.len() - 1)
    }

    /// The slot of `conn`, if it is known.
    #[inline]
    pub fn get(&self, conn: ConnId) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.home(conn.0);
        loop {
            let (key, slot) = self.table[at];
            if slot == EMPTY {
                return None;
            }
            if key == conn.0 {
                return Some(slot);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// Remembers that `conn` is at `slot`, replacing what was there.
    ///
    /// # Panics
    /// If `slot` is `u32::MAX`.
    pub fn insert(&mut self, conn: ConnId, slot: u32) {
        assert!(slot != EMPTY, "slot {slot} is reserved");
        if (self.len + 1) * FILL_MAX_DIVISOR > self.table.len() {
            let bigger = (self.table.len() * 2).max(FIRST_CAPACITY);
            let old = std::mem::replace(&mut self.table, vec![(0, EMPTY); bigger]);
            self.len = 0;
            for (key, slot) in old.into_iter().filter(|&(_, slot)| slot != EMPTY) {
                self.insert(ConnId(key), slot);
            }
        }
        let mut at = self.home(conn.0);
        while self.table[at].1 != EMPTY && self.table[at].0 != conn.0 {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.len += usize::from(self.table[at].1 == EMPTY);
        self.table[at] = (conn.0, slot);
    }

    /// Forgets `conn` and returns the slot it had.
    pub fn remove(&mut self, conn: ConnId) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut hole = self.home(conn.0);
        loop {
            let (key, slot) = self.table[hole];
            if slot == EMPTY {
                return None;
            }
            if key == conn.0 {
                break;
            }
            hole = (hole + 1) & mask;
        }
        let slot = self.table[hole].1;
        // Close the gap: pull back every later entry whose home does not lie between gap and itself.
        let mut next = (hole + 1) & mask;
        while self.table[next].1 != EMPTY {
            let home = self.home(self.table[next].0);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.table[hole] = self.table[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.table[hole].1 = EMPTY;
        self.len -= 1;
        Some(slot)
    }

    /// How many connections are known.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn it_agrees_with_an_ordered_map() {
        let mut rng = Rng::stream(5, crate::stream::TEST, 0);
        let (mut ours, mut theirs) = (ConnMap::default(), BTreeMap::new());
        for step in 0..20_000u32 {
            let key = u32::try_from(rng.below(300)).unwrap() * 64;
            if rng.below(3) == 0 {
                assert_eq!(ours.remove(ConnId(key)), theirs.remove(&key));
            } else {
                ours.insert(ConnId(key), step);
                theirs.insert(key, step);
            }
            let probe = u32::try_from(rng.below(300)).unwrap() * 64;
            assert_eq!(ours.get(ConnId(probe)), theirs.get(&probe).copied());
            assert_eq!(ours.len(), theirs.len());
        }
    }
}
