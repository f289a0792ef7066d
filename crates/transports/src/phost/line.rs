//! The messages of a host of which a packet may leave: the shortest first, or all in turns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A message: bytes to go, or its turn; then its age and place.
pub(super) type Choice = (u64, u32, u32);

/// Messages that the line chooses from. Those that are over, or have nothing to send, may still stand here.
#[derive(Debug, Default)]
pub(super) struct Line {
    heap: BinaryHeap<Reverse<Choice>>,
    turn: u64,
}

impl Line {
    /// A message may be chosen from now on: by `to_go`, or by its turn where there is none.
    #[inline]
    pub(super) fn push(&mut self, to_go: Option<u64>, order: u32, slot: u32) {
        let key = to_go.unwrap_or_else(|| self.next_turn());
        self.heap.push(Reverse((key, order, slot)));
    }

    #[inline]
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Choice> {
        self.heap.iter().map(|&Reverse(choice)| choice)
    }

    /// The first.
    #[inline]
    pub(super) fn first(&self) -> Option<Choice> {
        self.heap.peek().map(|&Reverse(first)| first)
    }

    /// The first goes.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.heap.pop();
    }

    /// The first has sent a packet: it has less to go, or its turn is over.
    #[inline]
    pub(super) fn again(&mut self, to_go: Option<u64>) {
        let key = to_go.unwrap_or_else(|| self.next_turn());
        if let Some(mut first) = self.heap.peek_mut() {
            first.0.0 = key;
        }
    }

    /// A message has another number of bytes to go than it stands here with.
    pub(super) fn remove(&mut self, slot: u32) {
        self.heap.retain(|&Reverse((.., waits))| waits != slot);
    }

    /// Nobody is left.
    pub(super) fn clear(&mut self) {
        self.heap = BinaryHeap::new();
    }
}
