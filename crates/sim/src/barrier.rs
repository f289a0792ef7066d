//! A barrier whose last arrival does the work that belongs between two windows.

use std::sync::atomic::{AtomicU32, Ordering};

/// Turns of a spinning thread before it gives its core away: long spins starve the others where
/// threads outnumber cores.
const SPINS: u32 = 300;

pub(crate) struct Barrier {
    threads: u32,
    arrived: AtomicU32,
    generation: AtomicU32,
    /// Set when a thread panicked: everybody leaves.
    broken: AtomicU32,
}

impl Barrier {
    pub(crate) fn new(threads: u32) -> Self {
        Self {
            threads,
            arrived: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            broken: AtomicU32::new(0),
        }
    }

    /// Waits for all threads; the last to arrive runs `between` before it lets them go.
    pub(crate) fn wait(&self, between: impl FnOnce()) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            between();
            self.arrived.store(0, Ordering::Relaxed);
            self.generation
                .store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            assert!(
                self.broken.load(Ordering::Relaxed) == 0,
                "another thread of the run panicked"
            );
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// A thread will not come any more.
    pub(crate) fn break_down(&self) {
        self.broken.store(1, Ordering::Relaxed);
    }
}

/// Breaks the barrier if its thread panics.
pub(crate) struct Guard<'a>(pub(crate) &'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_down();
        }
    }
}
