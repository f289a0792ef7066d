//! One heap of timers for all connections of a host.
//!
//! Each owner of a timer has one [`Alarm`], and at most one of its entries in the heap counts.
//! Moving an alarm later costs nothing: the entry stays, comes up early, and is put back. Only an
//! alarm that moves earlier pushes a second entry, and the first is ignored when it comes up.
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

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    owner: u32,
}

impl Entry {
    /// What entries are ordered by, as one number: compared without a branch.
    #[inline]
    fn key(self) -> u128 {
        (u128::from(self.at.0) << 64) + u128::from(self.owner)
    }
}

/// The alarms of a host, by (time, owner).
#[derive(Clone, Debug, Default)]
pub struct Timers {
    /// A binary heap, the smallest entry first.
    heap: Vec<Entry>,
}

impl Timers {
    /// When something may be due: never too late, sometimes too early.
    #[inline]
    pub fn next(&self) -> Time {
        self.heap.first().map_or(Time::NEVER, |entry| entry.at)
    }

    /// Sets the alarm of `owner`.
    #[inline]
    pub fn set(&mut self, alarm: &mut Alarm, owner: u32, due: Time) {
        alarm.due = due;
        if due < alarm.queued {
            alarm.queued = due;
            self.push(Entry { at: due, owner });
        }
    }

    /// Whose entry is due at `now`. Follow it with [`Timers::admit`], or with [`Timers::gone`]
    /// where the owner does not exist any more.
    #[inline]
    pub fn due(&self, now: Time) -> Option<u32> {
        self.heap
            .first()
            .filter(|entry| entry.at <= now)
            .map(|entry| entry.owner)
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

    /// Entries in the heap, those that no longer count included.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether the heap has no entry.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    #[inline]
    fn replace_first(&mut self, at: Time) {
        if at == Time::NEVER {
            self.heap.swap_remove(0);
        } else {
            self.heap[0].at = at;
        }
        self.sink();
    }

    #[cold]
    fn push(&mut self, entry: Entry) {
        let mut child = self.heap.len();
        self.heap.push(entry);
        while child > 0 {
            let parent = (child - 1) / 2;
            if self.heap[parent].key() <= self.heap[child].key() {
                break;
            }
            self.heap.swap(parent, child);
            child = parent;
        }
    }

    /// Puts the first entry where it belongs, and looks no deeper: below lie the timers that only end a silence, which
    /// are many and far ahead.
    #[inline]
    fn sink(&mut self) {
        let heap = self.heap.as_mut_slice();
        let Some(&moving) = heap.first() else {
            return;
        };
        let (last, key) = (heap.len() - 1, moving.key());
        let (mut hole, mut child) = (0, 1);
        while child < last {
            let (left, right) = (heap[child], heap[child + 1]);
            let right_first = right.key() < left.key();
            let first = if right_first { right } else { left };
            if key <= first.key() {
                break;
            }
            heap[hole] = first;
            hole = child + usize::from(right_first);
            child = 2 * hole + 1;
        }
        if child == last && heap[child].key() < key {
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = moving;
    }
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
                    Time(now.0 + rng.below(100))
                };
                timers.set(&mut alarms[owner as usize], owner, due);
            }
            now = Time(now.0 + rng.below(20));
            let due = |owner: &u32| alarms[*owner as usize].due() <= now;
            let expected: Vec<_> = (0u32..50).filter(due).collect();
            let mut rung = Vec::new();
            while let Some(owner) = timers.due(now) {
                let alarm = &mut alarms[owner as usize];
                if timers.admit(alarm, now) {
                    rung.push(owner);
                    let again = rng.below(2) == 0;
                    timers.rung(alarm, if again { Time(now.0 + 7) } else { Time::NEVER });
                }
            }
            rung.sort_unstable();
            assert_eq!(rung, expected);
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
    #[should_panic(expected = "queued for")]
    fn an_alarm_that_would_ring_too_late_is_noticed() {
        Alarm::LATE.check();
    }
}
