//! Which nodes have something to do in which of the next windows.
//!
//! Every producing thread has a bitset of its own per window slot, so that raising a flag needs no
//! atomic read-modify-write; the owner of a node reads all of them. Where nodes take turns ([`Steps`]), a window is
//! two steps long and each begins with one side's: a node is flagged in its side's slots alone.
//!
//! Slots are few. What is further ahead than they reach stands in slots of many windows, whose flags come among the others
//! when the first of these windows begins: a timer that lies far ahead would wake its node every few hundred windows else.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::{Span, Time};

/// Window slots.
const SLOTS: u64 = 256;
/// How far ahead a flag can be raised in them, in windows.
const AHEAD_MAX: u64 = SLOTS - 2;
/// Windows of a far slot: as many that what is too far for the others is in none that has begun. [ours]
const FAR: u64 = 128;
/// Far slots. A moment further ahead raises the last of them: the node then looks again.
const FAR_SLOTS: u64 = 64;

pub(crate) struct Activity {
    raisers: Vec<Raiser>,
    steps: Steps,
}

/// How time is cut.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    /// From the beginning of one window to that of the next, in picoseconds.
    step: NonZeroU64,
    /// Steps in a window, and sides of nodes that take turns: one or two.
    sides: u64,
    /// The first place of a node of the second side.
    second: u32,
}

impl Steps {
    pub(crate) fn new(step: NonZeroU64, second: Option<u32>) -> Self {
        Self {
            step,
            sides: if second.is_some() { 2 } else { 1 },
            second: second.unwrap_or(u32::MAX),
        }
    }

    /// How long a window lasts.
    pub(crate) fn window(self) -> Span {
        Span(self.step.get() * self.sides)
    }

    /// Whose windows these are.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "below 2")]
    pub(crate) fn side(self, window: u64) -> usize {
        (window % self.sides) as usize
    }

    /// Where `window` begins.
    #[inline]
    pub(crate) fn start_of(self, window: u64) -> Time {
        Time(window.saturating_mul(self.step.get()))
    }

    /// Its end.
    #[inline]
    pub(crate) fn end_of(self, window: u64) -> Time {
        self.start_of(window.saturating_add(self.sides))
    }

    /// The last beginning of a window, of whichever side, up to `at`.
    pub(crate) fn last_start(self, at: Time) -> Time {
        Time(at.0 - at.0 % self.step)
    }

    /// The first after `at`.
    pub(crate) fn next_start(self, at: Time) -> Time {
        self.last_start(at).after(Span(self.step.get()))
    }

    /// The last of `window` and the one before that is of the side of the node at `bit`.
    #[inline]
    fn of_side(self, window: u64, bit: u32) -> u64 {
        let side = u64::from(bit >= self.second);
        window - ((window ^ side) & (self.sides - 1))
    }
}

/// The flags that one thread raises; apart from those of the next, which another core writes.
#[repr(align(128))]
pub(crate) struct Raiser {
    /// 64-node words in a bitset.
    words: usize,
    steps: Steps,
    /// By slot and word.
    flags: Vec<AtomicU64>,
    /// The slots in which any flag is raised; that of the window after the current one [at its end](Raiser::close).
    any: [AtomicU64; 4],
    /// A flag of the window after the current one is raised.
    next: AtomicBool,
    /// By far slot and word, and the far slots in which any flag is raised.
    far: Vec<AtomicU64>,
    any_far: AtomicU64,
}

/// The window after the current one, which is that of the other side where nodes take turns: most packets that leave now
/// arrive in it.
#[derive(Clone, Copy)]
pub(crate) struct Near {
    /// Its end.
    pub(crate) until: Time,
    /// The first word of its flags.
    row: usize,
    /// The word of its slot, and its bit there.
    any: usize,
    slot: u64,
}

impl Raiser {
    /// The window after `now`.
    #[inline(always)] // once per window
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    pub(crate) fn near(&self, now: u64) -> Near {
        let slot = ((now + 1) % SLOTS) as usize;
        Near {
            until: self.steps.end_of(now + 1),
            row: slot * self.words,
            any: slot / 64,
            slot: 1 << (slot % 64),
        }
    }

    /// [`Raiser::raise`] in the window `near`, which is the one after `now`, for a node that a packet reaches at `at`. [`Raiser::close`]
    /// follows.
    #[inline(always)] // once per link and window
    pub(crate) fn raise_near(&self, near: &Near, now: u64, bit: u32, at: Time) {
        debug_assert_eq!(self.steps.of_side(at.0 / self.steps.step, bit), now + 1);
        let flags = &self.flags[near.row + bit as usize / 64];
        flags.store(
            flags.load(Ordering::Relaxed) | 1 << (bit % 64),
            Ordering::Relaxed,
        );
        self.next.store(true, Ordering::Relaxed);
    }

    /// This thread has run its nodes of the window before `near`.
    #[inline(always)] // once per window
    pub(crate) fn close(&self, near: &Near) {
        if self.next.load(Ordering::Relaxed) {
            self.next.store(false, Ordering::Relaxed);
            let any = &self.any[near.any % 4];
            any.store(any.load(Ordering::Relaxed) | near.slot, Ordering::Relaxed);
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    fn place(&self, window: u64, word: usize) -> usize {
        (window % SLOTS) as usize * self.words + word
    }

    /// Wakes the node at `bit` in the window of `at`, or as late before it as can be said now.
    /// `now` is the current window. Returns the end of the window of `at`.
    #[inline(always)] // few instructions, once per link and window
    pub(crate) fn raise(&self, now: u64, bit: u32, at: Time) -> Time {
        let target = self.steps.of_side(at.0 / self.steps.step, bit);
        self.raise_in(now, bit, target);
        self.steps.end_of(target)
    }

    /// The same; returns where the window begins in which it wakes.
    #[inline(always)] // few instructions, once per node and window
    pub(crate) fn raise_to_look(&self, now: u64, bit: u32, at: Time) -> Time {
        let target = self.steps.of_side(at.0 / self.steps.step, bit);
        self.steps.start_of(self.raise_in(now, bit, target))
    }

    /// Wakes the node at `bit` in window `target`, or as late before it as can be said now. Returns the window.
    #[inline(always)]
    fn raise_in(&self, now: u64, bit: u32, target: u64) -> u64 {
        if target > now + AHEAD_MAX {
            return self.raise_far(now, bit, target);
        }
        // This thread alone writes here, but for the owner's clearing of the current slot.
        raise(&self.flags[self.place(target, bit as usize / 64)], bit);
        #[allow(clippy::cast_possible_truncation, reason = "below 256")]
        let slot = (target % SLOTS) as u32;
        raise(&self.any[slot as usize / 64], slot);
        target
    }

    /// The same for what is further ahead than slots reach.
    #[cold]
    #[allow(clippy::cast_possible_truncation, reason = "below 64")]
    fn raise_far(&self, now: u64, bit: u32, target: u64) -> u64 {
        let far = (target / FAR).min(now / FAR + FAR_SLOTS - 2);
        let slot = (far % FAR_SLOTS) as u32;
        raise(
            &self.far[slot as usize * self.words + bit as usize / 64],
            bit,
        );
        raise(&self.any_far, slot);
        far * FAR + u64::from(bit >= self.steps.second)
    }

    /// The flags of the far slot that begins with `window` come among the others.
    #[cold]
    #[allow(clippy::cast_possible_truncation, reason = "below 64")]
    fn unfold(&self, window: u64) {
        let slot = (window / FAR % FAR_SLOTS) as usize;
        let any = self.any_far.load(Ordering::Relaxed);
        self.any_far.store(any & !(1 << slot), Ordering::Relaxed);
        for word in 0..self.words {
            let far = &self.far[slot * self.words + word];
            let flags = far.load(Ordering::Relaxed);
            if flags == 0 {
                continue;
            }
            far.store(0, Ordering::Relaxed);
            let own = window + u64::from(word as u32 * 64 >= self.steps.second);
            let near = &self.flags[self.place(own, word)];
            near.store(near.load(Ordering::Relaxed) | flags, Ordering::Relaxed);
            let slot = (own % SLOTS) as u32;
            raise(&self.any[slot as usize / 64], slot);
        }
    }
}

/// Raises a flag of its word. This thread alone writes there now.
#[inline(always)] // few instructions
fn raise(word: &AtomicU64, flag: u32) {
    word.store(
        word.load(Ordering::Relaxed) | 1 << (flag % 64),
        Ordering::Relaxed,
    );
}

impl Activity {
    pub(crate) fn new(threads: usize, words: usize, steps: Steps) -> Self {
        let [slots, far] =
            [SLOTS, FAR_SLOTS].map(|n| usize::try_from(n).expect("a few hundred slots"));
        let raiser = || Raiser {
            words,
            steps,
            flags: (0..slots * words).map(|_| AtomicU64::new(0)).collect(),
            any: [const { AtomicU64::new(0) }; 4],
            next: AtomicBool::new(false),
            far: (0..far * words).map(|_| AtomicU64::new(0)).collect(),
            any_far: AtomicU64::new(0),
        };
        Self {
            raisers: (0..threads).map(|_| raiser()).collect(),
            steps,
        }
    }

    /// How time is cut.
    #[inline]
    pub(crate) fn steps(&self) -> Steps {
        self.steps
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
            let raised = flags.load(Ordering::Relaxed);
            awake |= raised;
            if raised != 0 && !keep {
                flags.store(0, Ordering::Relaxed);
            }
        }
        awake
    }

    /// The first window from `from` on with a node awake; [`Activity::pass`] follows where it is to run.
    /// Only the thread that closes the barrier may call it.
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let mut union = [0; 4];
        for raiser in &self.raisers {
            let any = raiser.any.iter().map(|any| any.load(Ordering::Relaxed));
            union.iter_mut().zip(any).for_each(|(sum, any)| *sum |= any);
        }
        // The slots from that of a window to the end of their word.
        let rest = |window: u64| {
            let slot = (window % SLOTS) as usize;
            union[slot / 64] >> (slot % 64)
        };
        let near = match rest(from) {
            0 => (from..from + SLOTS).find(|&window| rest(window) & 1 == 1),
            rest => Some(from + u64::from(rest.trailing_zeros())),
        };
        match near {
            // No far slot begins before it.
            Some(near) if (near ^ from.wrapping_sub(1)) < FAR => Some(near),
            _ => self.next_far(from, near),
        }
    }

    /// The same where far slots may begin before the window that is `near`.
    #[cold]
    #[allow(clippy::cast_possible_truncation, reason = "below 64")]
    fn next_far(&self, from: u64, near: Option<u64>) -> Option<u64> {
        let each = self.raisers.iter();
        let any = each.map(|raiser| raiser.any_far.load(Ordering::Relaxed));
        let any = any.fold(0, |sum, any| sum | any);
        let first = from.div_ceil(FAR);
        let behind = any.rotate_right((first % FAR_SLOTS) as u32);
        let far = (any != 0).then(|| (first + u64::from(behind.trailing_zeros())) * FAR);
        near.into_iter().chain(far).min()
    }

    /// Window `window` is about to run: that some node is awake in it is no news any more.
    /// Only the thread that closes the barrier may call it.
    #[allow(clippy::cast_possible_truncation, reason = "below 256")]
    pub(crate) fn pass(&self, window: u64) {
        let slot = (window % SLOTS) as usize;
        for raiser in &self.raisers {
            if window.is_multiple_of(FAR) {
                raiser.unfold(window);
            }
            let any = &raiser.any[slot / 64];
            any.store(
                any.load(Ordering::Relaxed) & !(1 << (slot % 64)),
                Ordering::Relaxed,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_window_is_found_all_around_the_circle_whoever_raised_it() {
        const STEP: u64 = 1_000;
        let steps = Steps::new(NonZeroU64::new(STEP).unwrap(), Some(64));
        for from in 0..2 * SLOTS {
            for ahead in 1..AHEAD_MAX - 1 {
                let activity = Activity::new(2, 2, steps);
                let later = from + AHEAD_MAX - 1;
                for (thread, window) in [(0, later), (1, from + ahead)] {
                    // A node of the side whose window it is.
                    let bit = u32::try_from(window % 2 * 64).unwrap();
                    let at = Time(window * STEP + STEP - 1);
                    let end = activity.of(thread).raise(from, bit, at);
                    assert_eq!(end, Time((window + 2) * STEP));
                }
                for window in [from + ahead, later] {
                    assert_eq!(activity.next(from + 1), Some(window), "from {from}");
                    activity.pass(window);
                    let word = usize::from(window % 2 == 1);
                    assert_eq!(activity.awake(window, word, false), 1);
                }
                assert_eq!(activity.next(from + 1), None);
            }
        }
    }

    #[test]
    fn a_node_is_woken_in_the_window_of_its_side_or_before_what_is_too_far_ahead() {
        let steps = Steps::new(NonZeroU64::new(10).unwrap(), Some(64));
        let activity = Activity::new(1, 2, steps);
        let raise = |bit, at| {
            let end = activity.of(0).raise(4, bit, Time(at));
            let next = activity.next(5);
            if let Some(window) = next {
                activity.pass(window);
            }
            (end.0, next)
        };
        assert_eq!(raise(0, 79), (80, Some(6)), "its windows are 4, 6, 8");
        assert_eq!(activity.awake(6, 0, false), 1);
        assert_eq!(raise(64, 79), (90, Some(7)), "its windows are 5, 7, 9");
        assert_eq!(activity.awake(7, 1, false), 1);
        // Both are in window 9,998 or the one behind it, too far ahead for any slot.
        let last = (FAR_SLOTS - 2) * FAR;
        assert_eq!(raise(0, 99_999), (100_000, Some(last)));
        assert_eq!(activity.awake(last, 0, false), 1);
        assert_eq!(raise(64, 99_999), (100_010, Some(last)));
        assert_eq!(activity.next(last + 1), Some(last + 1), "its own side's");
        activity.pass(last + 1);
        assert_eq!(activity.awake(last + 1, 1, false), 1);
        assert_eq!(activity.next(last + 2), None);
    }

    /// However far ahead, each node is woken no later than it asks for, and no window before that is skipped.
    #[test]
    fn what_is_far_ahead_is_woken_in_time_around_every_circle() {
        let steps = Steps::new(NonZeroU64::new(1).unwrap(), None);
        let mut seed = 1_u64;
        let mut draw = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % most
        };
        let reaches = [3, 300, 9_000, 200_000];
        let (activity, mut wanted) = (Activity::new(1, 1, steps), [None; 64]);
        let mut now = 0;
        for _ in 0..20_000 {
            let bit = u32::try_from(draw(64)).unwrap();
            if wanted[bit as usize].is_none() {
                let reach = reaches[usize::try_from(draw(4)).unwrap()];
                let target = now + 1 + draw(reach);
                activity.of(0).raise(now, bit, Time(target));
                wanted[bit as usize] = Some(target);
            }
            if draw(3) > 0 {
                continue;
            }
            now = activity.next(now + 1).expect("somebody waits");
            activity.pass(now);
            let awake = activity.awake(now, 0, false);
            for (bit, wanted) in (0..).zip(&mut wanted) {
                let Some(target) = *wanted else { continue };
                assert!(target >= now, "bit {bit} slept over {target} until {now}");
                let is_awake = awake >> bit & 1 == 1;
                assert!(is_awake || target > now, "bit {bit} sleeps at {now}");
                if is_awake && target > now {
                    activity.of(0).raise(now, bit, Time(target));
                } else if is_awake {
                    *wanted = None;
                }
            }
        }
        assert!(now > 1_000_000, "{now}");
    }
}
