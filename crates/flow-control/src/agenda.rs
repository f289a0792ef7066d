//! Moments at which a flow control wants to act.

use std::collections::BTreeSet;
use units::Time;

/// What is to be looked at when; each thing once at most, if its owner keeps to that.
#[derive(Debug)]
pub(crate) struct Agenda<T: Ord + Copy> {
    all: BTreeSet<(Time, T)>,
    /// The earliest moment: switches ask for it with every packet.
    next: Time,
}

impl<T: Ord + Copy> Agenda<T> {
    pub(crate) const fn new() -> Self {
        Self {
            all: BTreeSet::new(),
            next: Time::NEVER,
        }
    }

    pub(crate) fn add(&mut self, at: Time, what: T) {
        if at < Time::NEVER {
            self.all.insert((at, what));
            self.next = self.next.min(at);
        }
    }

    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The next thing that is due at `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<T> {
        if self.next > now {
            return None;
        }
        let (_, what) = self.all.pop_first()?;
        self.next = self.all.first().map_or(Time::NEVER, |&(at, _)| at);
        Some(what)
    }
}
