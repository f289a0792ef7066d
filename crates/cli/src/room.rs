//! Memory that runs side by side have between them: `--memory-limit`, or what the machine has.

use scenario::{Assembled, Scenario, memory_of_machine};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use units::Bytes;

/// So much memory, and who has how much of it.
pub(crate) struct Room {
    limit: u64,
    taken: Mutex<Taken>,
    changed: Condvar,
}

#[derive(Default)]
struct Taken {
    bytes: u64,
    /// Parts whose runs know how much they take and ask for no more before they give it back.
    settled: usize,
}

/// A part of it, which is given back when it goes.
pub(crate) struct Part<'a> {
    of: &'a Room,
    bytes: u64,
    settled: bool,
}

impl Room {
    pub(crate) fn new(limit: Option<Bytes>) -> Self {
        Self {
            limit: limit.unwrap_or_else(memory_of_machine).0,
            taken: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits until there is memory for what is known of `scenario` before anything of it is built.
    pub(crate) fn before(&self, scenario: &Scenario) -> Part<'_> {
        self.part(scenario.need().0)
    }

    fn part(&self, bytes: u64) -> Part<'_> {
        let mut part = Part {
            of: self,
            bytes: 0,
            settled: false,
        };
        // By itself each run fits, or is refused.
        part.grow(bytes, |taken| taken.bytes == 0);
        part
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part<'_> {
    /// Waits until there is memory for all of the run.
    pub(crate) fn settle(&mut self, run: &Assembled) {
        self.settle_at(run.need().0);
    }

    fn settle_at(&mut self, bytes: u64) {
        self.settled = true;
        // Where nobody will give any back, one of those who wait goes on.
        self.grow(bytes, |taken| taken.settled == 0);
    }

    /// Waits until it may have `bytes` in all: they fit, or `anyway`.
    fn grow(&mut self, bytes: u64, anyway: fn(&Taken) -> bool) {
        let more = bytes.saturating_sub(self.bytes);
        let mut taken = self.of.lock();
        while !anyway(&taken) && taken.bytes.saturating_add(more) > self.of.limit {
            let woken = self.of.changed.wait(taken);
            taken = woken.unwrap_or_else(PoisonError::into_inner);
        }
        taken.bytes = taken.bytes.saturating_add(more);
        taken.settled += usize::from(self.settled);
        self.bytes += more;
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut taken = self.of.lock();
        taken.bytes = taken.bytes.saturating_sub(self.bytes);
        taken.settled -= usize::from(self.settled);
        drop(taken);
        self.of.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// The most of ten runs that are under way at once in a room for 100 bytes: each is known to take so many before it is
    /// built, and then so many.
    fn most_at_once(before: u64, whole: u64) -> usize {
        let room = Room::new(Some(Bytes(100)));
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    let mut part = room.part(before);
                    part.settle_at(whole);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    #[allow(clippy::disallowed_methods, reason = "others come in meanwhile")]
                    std::thread::sleep(Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(room.lock().bytes, 0, "all of it was given back");
        most.into_inner()
    }

    #[test]
    fn runs_side_by_side_have_the_memory_between_them() {
        assert_eq!(most_at_once(60, 60), 1);
        assert_eq!(most_at_once(10, 60), 1, "what is built and waits ends, too");
        assert!((2..=4).contains(&most_at_once(25, 25)));
        assert_eq!(
            most_at_once(0, 101),
            1,
            "one that does not fit is not held up"
        );
        assert!(most_at_once(1, 1) > 4);
    }
}
