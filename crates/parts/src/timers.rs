//! One heap of timers for all connections of a host.
//!
//! Each owner of a timer has one [`Alarm`], and at most one of its entries in the heap counts.
//! Moving an alarm later costs nothing: the entry stays, comes up early, and is put back. Only an
//! alarm that moves earlier pushes a second entry, and the first is ignored when it comes up.
//!
//! An entry that is [`near`](SPAN) is a number of 64 bits, which takes half the steps of one with a moment and an owner.
//!
//! ```
//! # use parts::timers::{Alarm, Timers};
//! # use units::Time;
//! let (mut timers, mut alarms) = (Timers::default(), [Alarm::OFF; 2]);
//! timers.set(&mut alarms[1], 1, Time(50));
//! let now = timers.next();
//! while let Some(owner) = timers.due(now) {
//!     let alarm = &mut alarms[owner as usize];
//!     if timers.admit(alarm, now) {
//!         // ... call the owner, ask it when it wants to be called again ...
//!         timers.rung(alarm, Time::NEVER);
//!     }
//! }
//! ```

use units::Time;

/// When an owner wants to be called; lives in the owner.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    due: Time,
    /// The moment of the entry that counts; [`Time::NEVER`] where the heap has none.
    queued: Time,
}

impl Alarm {
    /// Not set.
    pub const OFF: Self = Self {
        due: Time::NEVER,
        queued: Time::NEVER,
    };

    /// When it rings.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Panics where the heap would call too late.
    pub fn check(&self) {
        assert!(
            self.queued <= self.due,
            "queued for {}, due at {}",
            self.queued,
            self.due
        );
    }
}

/// Bits of a near entry that name its owner; the others are picoseconds. [ours]
const OWNER_BITS: u32 = 26;
const OWNER: u64 = (1 << OWNER_BITS) - 1;
/// How long near entries lie apart at most: 275 ms. [ours]
const SPAN: u64 = 1 << (u64::BITS - OWNER_BITS);

/// The alarms of a host, by (time, owner).
#[derive(Clone, Debug)]
pub struct Timers {
    /// When the first entry comes up, and whether it is a near one.
    next: Time,
    near_first: bool,
    /// Entries of the [`SPAN`] from `base` on, as a binary heap, the smallest first: a moment after `base`, and an owner.
    near: Vec<u64>,
    base: Time,
    /// All others, likewise: a moment and an owner; and when the first of them comes up.
    far: Vec<u128>,
    far_at: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            next: Time::NEVER,
            near_first: false,
            near: Vec::new(),
            base: Time::ZERO,
            far: Vec::new(),
            far_at: Time::NEVER,
        }
    }
}

impl Timers {
    /// When something may be due: never too late, sometimes too early.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Sets the alarm of `owner`.
    #[inline]
    pub fn set(&mut self, alarm: &mut Alarm, owner: u32, due: Time) {
        alarm.due = due;
        if due < alarm.queued {
            alarm.queued = due;
            self.push(due, owner);
        }
    }

    /// Whose entry is due at `now`. Follow it with [`Timers::admit`], or with [`Timers::gone`]
    /// where the owner does not exist any more.
    #[inline]
    pub fn due(&self, now: Time) -> Option<u32> {
        (self.next <= now).then(|| self.first_owner())
    }

    /// Whether the alarm of the first entry's owner is really due. Where it is not, the entry is
    /// dropped or put back; where it is, call the owner and then [`Timers::rung`].
    #[inline]
    pub fn admit(&mut self, alarm: &mut Alarm, now: Time) -> bool {
        if self.next() != alarm.queued {
            self.replace_first(Time::NEVER); // it was moved earlier and has rung since
            return false;
        }
        if alarm.due > now {
            alarm.queued = alarm.due;
            self.replace_first(alarm.due);
            return false;
        }
        true
    }

    /// The admitted owner was called and wants to be called again at `due`.
    #[inline]
    pub fn rung(&mut self, alarm: &mut Alarm, due: Time) {
        debug_assert_eq!(self.next(), alarm.queued, "only the first entry rings");
        *alarm = Alarm { due, queued: due };
        self.replace_first(due);
    }

    /// The owner of the first entry does not exist any more.
    pub fn gone(&mut self) {
        self.replace_first(Time::NEVER);
    }

    /// The owners of the first near entry and of the two of which one mostly follows it; `None` where fewer than
    /// `crowd` entries are near.
    #[inline]
    pub fn soon(&self, crowd: usize) -> Option<[u32; 3]> {
        if self.near.len() < crowd {
            return None;
        }
        let first = self.near.first_chunk()?;
        Some(first.map(|near| self.read(near).1))
    }

    /// Entries in the heap, those that no longer count included.
    pub fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Whether the heap has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The near entry of `owner` at `at`, if it can be one.
    #[inline]
    fn near(&self, at: Time, owner: u32) -> Option<u64> {
        let after = at.0.wrapping_sub(self.base.0);
        let fits = after < SPAN && owner >> OWNER_BITS == 0;
        fits.then(|| after << OWNER_BITS | u64::from(owner))
    }

    /// The moment and the owner of a near entry.
    #[inline]
    fn read(&self, near: u64) -> (Time, u32) {
        let owner = u32::try_from(near & OWNER).expect("OWNER has fewer than 32 bits");
        (Time(self.base.0 + (near >> OWNER_BITS)), owner)
    }

    #[inline]
    fn first_owner(&self) -> u32 {
        if self.near_first {
            self.read(self.near[0]).1
        } else {
            owner_of(self.far[0])
        }
    }

    /// Moves the first entry to `at`.
    #[inline]
    fn replace_first(&mut self, at: Time) {
        let after = at.0.wrapping_sub(self.base.0);
        if after >= SPAN || !self.near_first {
            return self.move_first(at);
        }
        self.near[0] = after << OWNER_BITS | self.near[0] & OWNER;
        sink(&mut self.near);
        self.next = self.read(self.near[0]).0;
        if self.next >= self.far_at {
            self.look();
        }
    }

    /// Finds out which entry is the first.
    #[cold]
    fn look(&mut self) {
        let near = self.near.first().map(|&near| self.read(near));
        let near = near.map_or(u128::MAX, |(at, owner)| wide(at, owner));
        let far = self.far.first().copied().unwrap_or(u128::MAX);
        self.near_first = near < far;
        (self.next, self.far_at) = (moment_of(near.min(far)), moment_of(far));
    }

    /// The same where the entry is far now, or then, or never.
    #[cold]
    fn move_first(&mut self, at: Time) {
        let owner = self.first_owner();
        if self.near_first {
            self.near.swap_remove(0);
            sink(&mut self.near);
        } else {
            self.far.swap_remove(0);
            sink(&mut self.far);
        }
        if at == Time::NEVER {
            self.look();
        } else {
            self.push(at, owner);
        }
    }

    #[cold]
    fn push(&mut self, at: Time, owner: u32) {
        if self.near(at, owner).is_none() {
            self.move_base(at);
        }
        match self.near(at, owner) {
            Some(entry) => rise(&mut self.near, entry),
            None => rise(&mut self.far, wide(at, owner)),
        }
        self.look();
    }

    /// Moves the base forward to the first near entry, where that is long after it.
    fn move_base(&mut self, at: Time) {
        let Some(&first) = self.near.first() else {
            self.base = Time(at.0.saturating_sub(SPAN / 2));
            return;
        };
        let after = first >> OWNER_BITS;
        if after > SPAN / 2 {
            self.base = Time(self.base.0 + after);
            for entry in &mut self.near {
                *entry -= after << OWNER_BITS;
            }
        }
    }
}

/// A far entry.
#[inline]
fn wide(at: Time, owner: u32) -> u128 {
    u128::from(at.0) << 64 | u128::from(owner)
}

#[inline]
fn moment_of(far: u128) -> Time {
    Time(u64::try_from(far >> 64).expect("the upper half"))
}

#[inline]
fn owner_of(far: u128) -> u32 {
    u32::try_from(far & u128::from(u32::MAX)).expect("the lower half")
}

/// Adds an entry to a heap.
fn rise<T: Copy + Ord>(heap: &mut Vec<T>, entry: T) {
    let mut child = heap.len();
    heap.push(entry);
    while child > 0 {
        let parent = (child - 1) / 2;
        if heap[parent] <= entry {
            break;
        }
        heap.swap(parent, child);
        child = parent;
    }
}

/// Puts the first entry where it belongs, and looks no deeper: below lie the timers that only end a silence, which
/// are many and far ahead.
#[inline]
fn sink<T: Copy + Ord>(heap: &mut [T]) {
    let Some(&moving) = heap.first() else {
        return;
    };
    let last = heap.len() - 1;
    let (mut hole, mut child) = (0, 1);
    while child < last {
        let (left, right) = (heap[child], heap[child + 1]);
        child += usize::from(right < left);
        let first = left.min(right);
        if moving <= first {
            break;
        }
        heap[hole] = first;
        hole = child;
        child = 2 * hole + 1;
    }
    if child == last && heap[child] < moving {
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = moving;
}

#[cfg(test)]
impl Alarm {
    /// One that would ring too late.
    pub(crate) const LATE: Self = Self {
        due: Time(1),
        queued: Time(2),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};

    #[test]
    fn every_alarm_rings_once_it_is_due_however_it_was_moved() {
        // Entries are near, near and far, and far but for a few.
        for unit in [1, SPAN / 80, SPAN / 3] {
            alarms_ring_once(unit, 0);
        }
        alarms_ring_once(1, (1 << OWNER_BITS) - 25); // half of these have too long a number
    }

    #[test]
    fn who_rings_soon_is_known_before_the_moment_has_come() {
        let (mut timers, mut alarms) = (Timers::default(), [Alarm::OFF; 4]);
        for (owner, at) in [(3, 40), (1, 30), (2, 20), (0, 90)] {
            assert_eq!(timers.soon(4), None);
            timers.set(&mut alarms[owner as usize], owner, Time(at));
        }
        let [first, second, third] = timers.soon(4).expect("four are near");
        assert_eq!((first, second.min(third), second.max(third)), (2, 1, 3));
        assert_eq!(timers.soon(5), None);
    }

    fn alarms_ring_once(unit: u64, first: u32) {
        let mut rng = Rng::stream(1, stream::TEST, 1);
        let (mut timers, mut alarms) = (Timers::default(), [Alarm::OFF; 50]);
        let mut now = Time::ZERO;
        for _ in 0..5_000 {
            for _ in 0..3 {
                let owner = u32::try_from(rng.below(50)).unwrap();
                let never = rng.below(8) == 0;
                let due = if never {
                    Time::NEVER
                } else {
                    Time(now.0 + rng.below(100) * unit)
                };
                timers.set(&mut alarms[owner as usize], first + owner, due);
            }
            now = Time(now.0 + rng.below(20) * unit);
            let due = |owner: &u32| alarms[*owner as usize].due() <= now;
            let expected: Vec<_> = (0u32..50).filter(due).collect();
            let mut rung = Vec::new();
            while let Some(owner) = timers.due(now) {
                let alarm = &mut alarms[(owner - first) as usize];
                if timers.admit(alarm, now) {
                    rung.push(owner - first);
                    let again = rng.below(2) == 0;
                    timers.rung(
                        alarm,
                        if again {
                            Time(now.0 + 7 * unit)
                        } else {
                            Time::NEVER
                        },
                    );
                }
            }
            rung.sort_unstable();
            assert_eq!(rung, expected, "at {now}, in units of {unit} ps");
            alarms.iter().for_each(Alarm::check);
            assert!(timers.next() > now);
        }
    }

    #[test]
    fn an_alarm_that_moves_later_pushes_nothing() {
        let (mut timers, mut alarm) = (Timers::default(), Alarm::OFF);
        for at in 1..1000 {
            timers.set(&mut alarm, 0, Time(at));
        }
        assert_eq!((timers.len(), timers.next()), (1, Time(1)));
        assert_eq!(timers.due(Time(5)), Some(0));
        assert!(!timers.admit(&mut alarm, Time(5)));
        assert_eq!((timers.len(), timers.next()), (1, Time(999)));
    }

    #[test]
    fn an_alarm_that_moves_earlier_rings_once() {
        let (mut timers, mut alarm) = (Timers::default(), Alarm::OFF);
        assert!(timers.is_empty() && timers.next() == Time::NEVER && timers.due(Time(9)).is_none());
        assert_eq!(alarm.due(), Time::NEVER);
        timers.set(&mut alarm, 3, Time(20));
        timers.set(&mut alarm, 3, Time(20));
        assert_eq!(timers.len(), 1, "the same moment pushes nothing");
        timers.set(&mut alarm, 3, Time(10));
        assert_eq!((timers.len(), alarm.due()), (2, Time(10)));
        assert_eq!((timers.due(Time(9)), timers.due(Time(10))), (None, Some(3)));
        assert!(
            timers.admit(&mut alarm, Time(10)),
            "due at this very moment"
        );
        timers.rung(&mut alarm, Time(30));
        assert_eq!(
            timers.due(Time(20)),
            Some(3),
            "the first entry is still there"
        );
        assert!(!timers.admit(&mut alarm, Time(20)), "and does not count");
        assert_eq!((timers.len(), timers.next()), (1, Time(30)));
        assert!(!timers.is_empty());
    }

    #[test]
    fn the_owner_that_is_gone_is_not_asked_again() {
        let (mut timers, mut alarms) = (Timers::default(), [Alarm::OFF; 3]);
        for (owner, at) in [(0, 30), (1, 10), (2, 20)] {
            timers.set(&mut alarms[owner as usize], owner, Time(at));
        }
        assert_eq!(timers.due(Time(99)), Some(1));
        timers.gone();
        assert_eq!((timers.due(Time(99)), timers.len()), (Some(2), 2));
        timers.gone();
        timers.gone();
        assert!(timers.is_empty() && timers.due(Time(99)).is_none());
    }

    #[test]
    fn an_alarm_as_far_ahead_as_near_ones_reach_rings_no_sooner() {
        let (mut timers, mut alarms) = (Timers::default(), [Alarm::OFF; 2]);
        timers.set(&mut alarms[0], 0, Time(5));
        timers.set(&mut alarms[1], 1, Time(SPAN));
        assert_eq!((timers.len(), timers.next()), (2, Time(5)));
        timers.gone();
        assert_eq!((timers.len(), timers.next()), (1, Time(SPAN)));
        assert_eq!(timers.due(Time(SPAN)), Some(1));
    }

    #[test]
    #[should_panic(expected = "queued for")]
    fn an_alarm_that_would_ring_too_late_is_noticed() {
        Alarm::LATE.check();
    }
}
