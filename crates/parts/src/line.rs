//! The messages of a host of which a packet may leave: its line serves the first.
//!
//! What ranks a message changes with each packet of it, and most of that happens to the first. So a message stands with
//! what ranked it when it came, and is looked at when it is first: [`Line::choose`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A message: what ranks it, its age, and the place of its connection.
pub type Standing = (u64, u32, u32);

/// Messages that the line chooses from. Those that are over, or have nothing to send, may still stand here.
#[derive(Debug, Default)]
pub struct Line {
    heap: BinaryHeap<Reverse<Standing>>,
    turn: u64,
}

/// What became of a message that stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It has nothing to send.
    No,
    /// Where it belongs.
    Right,
    /// Something else ranks it now.
    By(u64),
}

impl Line {
    /// A message may be chosen from now on.
    #[inline]
    pub fn push(&mut self, by: u64, age: u32, slot: u32) {
        self.heap.push(Reverse((by, age, slot)));
    }

    /// What ranks a message behind all others that ask for this: where all have turns.
    #[inline]
    pub fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Standing> {
        self.heap.iter().map(|&Reverse(standing)| standing)
    }

    /// The place of the message whose packet leaves next, which is the first then: `look` says of one after the other
    /// whether it is right there.
    #[inline]
    pub fn choose(&mut self, mut look: impl FnMut(Standing) -> Stands) -> Option<u32> {
        while let Some(mut first) = self.heap.peek_mut() {
            match look(first.0) {
                Stands::No => {
                    PeekMut::pop(first);
                }
                Stands::Right => return Some(first.0.2),
                Stands::By(by) => first.0.0 = by,
            }
        }
        None
    }

    /// The first has sent a packet: this ranks it now, or it has nothing more to send.
    #[inline]
    pub fn served(&mut self, by: Option<u64>) {
        match by {
            Some(by) => {
                if let Some(mut first) = self.heap.peek_mut() {
                    first.0.0 = by;
                }
            }
            None => {
                self.heap.pop();
            }
        }
    }

    /// The message of that connection stands elsewhere, or nowhere.
    pub fn remove(&mut self, slot: u32) {
        self.heap.retain(|&Reverse((.., stands))| stands != slot);
    }

    /// Nobody is left.
    pub fn clear(&mut self) {
        self.heap = BinaryHeap::new();
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Stands};

    /// Messages with so many bytes to go, by place; each is as old as its place.
    fn line(to_go: &[u64]) -> Line {
        let mut line = Line::default();
        for (slot, &by) in (0..).zip(to_go) {
            line.push(by, slot, slot);
        }
        line
    }

    #[test]
    fn the_first_by_rank_and_of_equal_ones_the_oldest_is_served() {
        let mut line = line(&[300, 200, 200]);
        let mut order = Vec::new();
        while let Some(slot) = line.choose(|_| Stands::Right) {
            order.push(slot);
            line.served(None);
        }
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn one_that_is_served_stands_where_it_belongs_then() {
        let mut line = line(&[300, 200]);
        assert_eq!(line.choose(|_| Stands::Right), Some(1));
        line.served(Some(400));
        assert_eq!(line.choose(|_| Stands::Right), Some(0));
    }

    #[test]
    fn what_has_changed_meanwhile_is_found_out_when_it_is_first() {
        let mut line = line(&[100, 200, 300]);
        let now = [None, Some(350), Some(300)];
        let look = |(by, _, slot): (u64, u32, u32)| match now[slot as usize] {
            None => Stands::No,
            Some(right) if right == by => Stands::Right,
            Some(right) => Stands::By(right),
        };
        assert_eq!(line.choose(look), Some(2));
        let mut left: Vec<_> = line.iter().collect();
        left.sort_unstable();
        assert_eq!(left, [(300, 2, 2), (350, 1, 1)]);
        line.remove(2);
        assert_eq!(line.choose(look), Some(1));
        line.clear();
        assert_eq!(line.choose(look), None);
    }

    #[test]
    fn turns_come_one_after_the_other() {
        let mut line = Line::default();
        assert!(line.next_turn() < line.next_turn());
    }
}
