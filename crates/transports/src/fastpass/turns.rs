//! The slots of a host: those to come, and those that wait for the line.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::Time;

/// Slots that a host keeps: what an arbiter gives on top is not used. [ours]
const TURNS_MAX: usize = 1 << 16;

/// A slot of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) at: Time,
    /// Which one of this host: those of one moment go in this order.
    number: u64,
    /// The connection's place and order, and the message.
    pub(super) slot: u32,
    pub(super) order: u32,
    pub(super) ordinal: u32,
    pub(super) way: u16,
    /// Whether the arbiter chose the way.
    pub(super) chosen: bool,
    pub(super) alloc: u8,
}

/// The slots of a host.
#[derive(Debug, Default)]
pub(super) struct Turns {
    to_come: BinaryHeap<Reverse<Turn>>,
    ready: VecDeque<Turn>,
    number: u64,
}

impl Turns {
    /// Keeps a slot; false where there are too many.
    pub(super) fn push(&mut self, turn: impl FnOnce(u64) -> Turn) -> bool {
        let fits = self.to_come.len() < TURNS_MAX;
        if fits {
            self.number += 1;
            self.to_come.push(Reverse(turn(self.number)));
        }
        fits
    }

    /// A slot of this message.
    pub(super) fn turn(
        at: Time,
        (slot, order, ordinal): (u32, u32, u32),
        (way, chosen): (u16, bool),
        alloc: u8,
    ) -> impl FnOnce(u64) -> Turn {
        move |number| Turn {
            at,
            number,
            slot,
            order,
            ordinal,
            way,
            chosen,
            alloc,
        }
    }

    /// Those whose time has come wait for the line.
    #[inline]
    pub(super) fn come(&mut self, now: Time) {
        while self.to_come.peek().is_some_and(|first| first.0.at <= now) {
            self.ready.extend(self.to_come.pop().map(|first| first.0));
        }
    }

    /// The first that waits.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Turn> {
        self.ready.pop_front()
    }

    /// Takes the first that may go.
    pub(super) fn pop_if(&mut self, may: impl FnMut(&Turn) -> bool) -> Option<Turn> {
        let place = self.ready.iter().position(may)?;
        self.ready.remove(place)
    }

    /// When the next comes.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.to_come.peek().map_or(Time::NEVER, |first| first.0.at)
    }

    /// None is left.
    pub(super) fn clear(&mut self) {
        (self.to_come, self.ready) = (BinaryHeap::new(), VecDeque::new());
    }

    pub(super) fn check(&self) {
        assert!(self.to_come.len() <= TURNS_MAX);
    }
}
