//! Moments at which a flow control wants to act.

use std::collections::BTreeSet;
use units::Time;

/// What is to be looked at when; each thing once at most, if its owner keeps to that.
#[derive(Debug)]
pub(crate) struct Agenda<T: Ord + Copy>(BTreeSet<(Time, T)>);

impl<T: Ord + Copy> Agenda<T> {
    pub(crate) const fn new() -> Self {
        Self(BTreeSet::new())
    }

    pub(crate) fn add(&mut self, at: Time, what: T) {
        if at < Time::NEVER {
            self.0.insert((at, what));
        }
    }

    pub(crate) fn next(&self) -> Time {
        self.0.first().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// The next thing that is due at `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<T> {
        let &(at, what) = self.0.first()?;
        if at > now {
            return None;
        }
        self.0.pop_first();
        Some(what)
    }
}
