//! Whose turn it is, among connections of which some wait.
//!
//! Turns go round by age: after one connection comes the next younger that waits, and after the youngest the oldest. Who begins to
//! wait has half a round before it on average, and no more than a whole one. At the end of a list it would always have a
//! whole one, which costs a short message among long ones what each of these sends in a round. Turns always have the same
//! order, so what they let go at other hosts meets the same others in each round.
//!
//! ```
//! # use parts::turns::Turns;
//! let mut turns = Turns::default();
//! turns.push((7, 0));
//! turns.push((8, 1));
//! assert_eq!(turns.pop(), Some((7, 0)));
//! turns.push((9, 2)); // younger than all
//! turns.push((7, 0)); // it had its turn
//! assert_eq!(turns.pop(), Some((8, 1)));
//! assert_eq!(turns.pop(), Some((9, 2)));
//! assert_eq!(turns.pop(), Some((7, 0)));
//! ```

use std::collections::VecDeque;

/// Connections that wait for their turn: place and age of each, younger ones with larger ages.
#[derive(Debug)]
pub struct Turns {
    /// In the order of their turns: by age, from the one behind `last` on and around.
    waiting: VecDeque<(u32, u32)>,
    /// Whose turn it was last.
    last: u32,
}

impl Default for Turns {
    /// Nobody waits, and the oldest is first.
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            last: u32::MAX,
        }
    }
}

impl Turns {
    /// How many ages behind the last turn this one is.
    #[inline]
    fn behind(last: u32, age: u32) -> u32 {
        age.wrapping_sub(last).wrapping_sub(1)
    }

    /// A connection waits from now on: `(place, age)`.
    #[inline]
    pub fn push(&mut self, entry: (u32, u32)) {
        let (last, behind) = (self.last, Self::behind(self.last, entry.1));
        let is_last = |&(_, age): &(u32, u32)| Self::behind(last, age) < behind;
        if self.waiting.back().is_none_or(is_last) {
            self.waiting.push_back(entry);
        } else {
            let place = self.waiting.partition_point(is_last);
            self.waiting.insert(place, entry);
        }
    }

    /// The connection whose turn it is. It waits no more.
    #[inline]
    pub fn pop(&mut self) -> Option<(u32, u32)> {
        let entry = self.waiting.pop_front()?;
        self.last = entry.1;
        Some(entry)
    }

    /// The first in turn of which `may` is true. It waits no more, and those that it passes come after it.
    pub fn pop_first(&mut self, may: impl Fn(&(u32, u32)) -> bool) -> Option<(u32, u32)> {
        let place = self.waiting.iter().position(may)?;
        self.waiting.rotate_left(place);
        self.pop()
    }

    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};
    use std::collections::BTreeSet;

    /// What the next of `waiting` is, looked for from the beginning.
    fn next_of(waiting: &BTreeSet<u32>, last: u32) -> Option<u32> {
        let younger = waiting.range(last.saturating_add(1)..).next();
        younger.or_else(|| waiting.first()).copied()
    }

    #[test]
    fn turns_go_round_by_age_whoever_comes_and_goes() {
        let mut rng = Rng::stream(1, stream::TEST, 1);
        let (mut turns, mut waiting, mut last) = (Turns::default(), BTreeSet::new(), u32::MAX);
        for _ in 0..20_000 {
            let age = u32::try_from(rng.below(40)).unwrap();
            if rng.below(2) == 0 && waiting.insert(age) {
                turns.push((age + 100, age));
            } else if rng.below(8) == 0 {
                let odd = |&(_, age): &(u32, u32)| age % 2 == 1;
                let first = turns.waiting.iter().copied().find(odd);
                assert_eq!(turns.pop_first(odd), first);
                if let Some((_, age)) = first {
                    waiting.remove(&age);
                    last = age;
                }
            } else {
                let next = next_of(&waiting, last);
                assert_eq!(turns.pop(), next.map(|age| (age + 100, age)));
                next.inspect(|age| assert!(waiting.remove(age)));
                last = next.unwrap_or(last);
            }
            assert_eq!(turns.is_empty(), waiting.is_empty());
        }
    }

    #[test]
    fn ages_may_wrap() {
        let mut turns = Turns {
            last: u32::MAX - 2,
            ..Turns::default()
        };
        for age in [1, u32::MAX, 0, u32::MAX - 1] {
            turns.push((age, age));
        }
        let order: Vec<u32> = std::iter::from_fn(|| turns.pop())
            .map(|(_, age)| age)
            .collect();
        assert_eq!(order, [u32::MAX - 1, u32::MAX, 0, 1]);
    }
}
