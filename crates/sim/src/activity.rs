//! Which nodes have something to do in which of the next windows.
//!
//! Every producing thread has a bitset of its own per window slot, so that raising a flag needs no
//! atomic read-modify-write; the owner of a node reads all of them.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Time;

/// Window slots. A moment further ahead raises the last of them: the node then looks again.
const SLOTS: u64 = 256;
/// How far ahead a flag can be raised, in windows.
const AHEAD_MAX: u64 = SLOTS - 2;

pub(crate) struct Activity {
    raisers: Vec<Raiser>,
    /// Length of a window, in picoseconds.
    window: NonZeroU64,
}

/// The flags that one thread raises; apart from those of the next, which another core writes.
#[repr(align(128))]
pub(crate) struct Raiser {
    /// 64-node words in a bitset.
    words: usize,
    /// Length of a window, in picoseconds.
    window: NonZeroU64,
    /// By slot and word.
    flags: Vec<AtomicU64>,
    /// The slots in which any flag is raised.
    any: [AtomicU64; 4],
}

impl Raiser {
    /// The end of a window.
    #[inline]
    pub(crate) fn end_of(&self, window: u64) -> Time {
        Time((window + 1) * self.window.get())
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    fn place(&self, window: u64, word: usize) -> usize {
        (window % SLOTS) as usize * self.words + word
    }

    /// Wakes the node at `bit` in the window of `at`, or as late before it as can be said now.
    /// `now` is the current window. Returns the window of `at`.
    #[inline(always)] // few instructions, once per link and window
    pub(crate) fn raise(&self, now: u64, bit: u32, at: Time) -> u64 {
        let target = at.0 / self.window;
        let window = target.min(now + AHEAD_MAX);
        let flags = &self.flags[self.place(window, bit as usize / 64)];
        // This thread alone writes here, but for the owner's clearing of the current slot.
        flags.store(
            flags.load(Ordering::Relaxed) | 1 << (bit % 64),
            Ordering::Relaxed,
        );
        #[allow(clippy::cast_possible_truncation, reason = "below 256")]
        let slot = (window % SLOTS) as usize;
        let any = &self.any[slot / 64];
        any.store(
            any.load(Ordering::Relaxed) | 1 << (slot % 64),
            Ordering::Relaxed,
        );
        target
    }
}

impl Activity {
    pub(crate) fn new(threads: usize, words: usize, window: NonZeroU64) -> Self {
        let slots = usize::try_from(SLOTS).expect("small");
        let raiser = || Raiser {
            words,
            window,
            flags: (0..slots * words).map(|_| AtomicU64::new(0)).collect(),
            any: [const { AtomicU64::new(0) }; 4],
        };
        Self {
            raisers: (0..threads).map(|_| raiser()).collect(),
            window,
        }
    }

    /// Length of a window, in picoseconds.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.window.get()
    }

    /// The flags of `thread`.
    #[inline]
    pub(crate) fn of(&self, thread: usize) -> &Raiser {
        &self.raisers[thread]
    }

    /// The nodes of `word` that are awake in `window`; forgets them unless `keep`.
    #[inline]
    pub(crate) fn awake(&self, window: u64, word: usize, keep: bool) -> u64 {
        let mut awake = 0;
        for raiser in &self.raisers {
            let flags = &raiser.flags[raiser.place(window, word)];
            awake |= flags.load(Ordering::Relaxed);
            if !keep {
                flags.store(0, Ordering::Relaxed);
            }
        }
        awake
    }

    /// The first window from `from` on with a node awake.
    /// Only the thread that closes the barrier may call it.
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let any = |word: usize| self.raisers.iter().map(move |raiser| &raiser.any[word]);
        let union: [u64; 4] = std::array::from_fn(|word| {
            any(word).fold(0, |sum, any| sum | any.load(Ordering::Relaxed))
        });
        let is_set = |window: u64| {
            let slot = (window % SLOTS) as usize;
            union[slot / 64] >> (slot % 64) & 1 == 1
        };
        let next = (from..from + SLOTS).find(|&window| is_set(window))?;
        self.pass(next);
        Some(next)
    }

    /// Window `window` is about to run: that some node is awake in it is no news any more.
    /// Only the thread that closes the barrier may call it.
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    pub(crate) fn pass(&self, window: u64) {
        let slot = (window % SLOTS) as usize;
        for raiser in &self.raisers {
            let any = &raiser.any[slot / 64];
            any.store(
                any.load(Ordering::Relaxed) & !(1 << (slot % 64)),
                Ordering::Relaxed,
            );
        }
    }
}
