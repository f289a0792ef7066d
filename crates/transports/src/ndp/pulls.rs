//! The pull queue of a host: which connection is pulled next, and when. [ndp s3.2]

use model::Rng;
use std::mem;
use units::{Span, Time};

/// Pulls that a late driver makes good at once: one on a wire may look at its clock seldom. [ours]
const CATCH_UP: u64 = 64;

/// Connections that wait for pulls, by their place and age, in rounds and there in any order. Whom this round has pulled waits
/// for the next one; who asks late may still be pulled in this one. [ours; README.md, Turns]
#[derive(Debug, Default)]
struct Rounds {
    this: Vec<(u32, u32)>,
    next: Vec<(u32, u32)>,
    number: u32,
}

impl Rounds {
    #[inline]
    fn is_empty(&self) -> bool {
        self.this.is_empty() && self.next.is_empty()
    }

    #[inline]
    fn push(&mut self, entry: (u32, u32), pulled: Option<u32>) {
        match pulled == Some(self.number) {
            true => self.next.push(entry),
            false => self.this.push(entry),
        }
    }

    #[inline]
    fn pop(&mut self, rng: &mut Rng) -> Option<(u32, u32)> {
        if self.this.is_empty() && !self.next.is_empty() {
            mem::swap(&mut self.this, &mut self.next);
            self.number = self.number.wrapping_add(1);
        }
        let place = match self.this.len() as u64 {
            0 => return None,
            1 => 0,
            all => usize::try_from(rng.below(all)).expect("a place"),
        };
        Some(self.this.swap_remove(place))
    }
}

/// The pull queue of a host. What each step asks comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct PullQueue {
    /// When the next pull may leave, and how many connections wait.
    at: Time,
    waiting: u32,
    /// Those of a preferred host, and the others.
    preferred: Rounds,
    others: Rounds,
}

impl PullQueue {
    /// Whether a pull may leave at once, for nobody waits; for a preferred host up to a gap early, and the others wait as much
    /// longer.
    #[inline]
    pub(super) fn is_free(&self, now: Time, preferred: bool, gap: Span) -> bool {
        if preferred {
            return self.at <= now.after(gap) && self.preferred.is_empty();
        }
        self.at <= now && self.waiting == 0
    }

    /// A pull leaves that did not wait.
    #[inline]
    pub(super) fn pulled(&mut self, now: Time, gap: Span) {
        self.at = self.at.max(now).after(gap);
    }

    /// A pull leaves that waited for its moment.
    #[inline]
    pub(super) fn pulled_in_turn(&mut self, now: Time, gap: Span) {
        let earliest = Time(now.0.saturating_sub(gap.times(CATCH_UP).0));
        self.at = self.at.after(gap).max(earliest);
    }

    /// A connection waits for a pull from now on; it was pulled in round `pulled` last.
    #[inline]
    pub(super) fn push(&mut self, entry: (u32, u32), preferred: bool, pulled: Option<u32>) {
        self.waiting += 1;
        match preferred {
            true => self.preferred.push(entry, pulled),
            false => self.others.push(entry, pulled),
        }
    }

    /// The connection whose turn it is at `now`.
    #[inline]
    pub(super) fn pop(&mut self, now: Time, rng: &mut Rng) -> Option<(u32, u32)> {
        if self.at > now || self.waiting == 0 {
            return None;
        }
        self.waiting -= 1;
        self.preferred.pop(rng).or_else(|| self.others.pop(rng))
    }

    /// The round of those of a preferred host, or of the others.
    #[inline]
    pub(super) fn round(&self, preferred: bool) -> u32 {
        match preferred {
            true => self.preferred.number,
            false => self.others.number,
        }
    }

    /// When somebody's turn comes.
    #[inline]
    pub(super) fn due(&self) -> Time {
        if self.waiting == 0 {
            Time::NEVER
        } else {
            self.at
        }
    }

    /// Nobody is left.
    pub(super) fn clear(&mut self) {
        (self.waiting, self.preferred, self.others) = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, VecDeque};

    const GAP: Span = Span(100);
    const FIRST: (u32, u32) = (1, 0);
    const SECOND: (u32, u32) = (2, 0);

    fn rng() -> Rng {
        Rng::stream(1, model::stream::TEST, 0)
    }

    #[test]
    fn a_preferred_host_is_pulled_first() {
        let (mut queue, mut rng) = (PullQueue::default(), rng());
        for (place, preferred) in [(1, false), (2, false), (3, true), (4, true)] {
            queue.push((place, 0), preferred, None);
        }
        let mut order: Vec<u32> = std::iter::from_fn(|| queue.pop(Time(0), &mut rng))
            .map(|(place, _)| place)
            .collect();
        assert_eq!(queue.due(), Time::NEVER);
        order[..2].sort_unstable();
        order[2..].sort_unstable();
        assert_eq!(order, [3, 4, 1, 2]);
    }

    /// Some ask again at once, and others when something has arrived: all get one pull in each round.
    #[test]
    fn a_round_pulls_each_once_and_whoever_asks_in_it() {
        let (mut queue, mut rng) = (PullQueue::default(), rng());
        let mut pulled = [None; 10];
        for place in 0..10 {
            queue.push((place, 0), false, pulled[place as usize]);
        }
        // Frames arrive three pulls later.
        let (mut under_way, mut orders) = (VecDeque::from([None; 3]), BTreeSet::new());
        for _ in 0..50 {
            let mut order = Vec::new();
            for _ in 0..10 {
                let (place, _) = queue.pop(Time(0), &mut rng).expect("somebody waits");
                pulled[place as usize] = Some(queue.round(false));
                order.push(place);
                let at_once = place < 5;
                under_way.push_back((!at_once).then_some(place));
                let arrived = under_way.pop_front().flatten();
                for place in arrived.into_iter().chain(at_once.then_some(place)) {
                    queue.push((place, 0), false, pulled[place as usize]);
                }
            }
            orders.insert(order.clone());
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..10), "{order:?}");
        }
        assert!(orders.len() > 45, "{} orders", orders.len());
    }

    #[test]
    fn a_pull_need_not_wait_where_the_gap_is_over_and_nobody_else_waits() {
        let (mut queue, mut rng) = (PullQueue::default(), rng());
        queue.pulled(Time(1_000), GAP);
        assert!(!queue.is_free(Time(1_099), false, GAP));
        assert!(queue.is_free(Time(1_100), false, GAP));
        for preferred in [false, true] {
            queue.push(FIRST, preferred, None);
            assert!(
                !queue.is_free(Time(1_100), preferred, GAP),
                "preferred: {preferred}"
            );
            assert_eq!(queue.due(), Time(1_100));
            assert_eq!(queue.pop(Time(1_099), &mut rng), None);
            assert_eq!(queue.pop(Time(1_100), &mut rng), Some(FIRST));
        }
    }

    /// Its frames come one for each gap, and no pull of another comes in between.
    #[test]
    fn a_preferred_host_does_not_wait_behind_others_and_has_no_more_than_its_line() {
        let (mut queue, mut rng) = (PullQueue::default(), rng());
        queue.push(SECOND, false, None);
        assert_eq!(queue.pop(Time(0), &mut rng), Some(SECOND));
        queue.pulled_in_turn(Time(0), GAP);
        queue.push(SECOND, false, None);
        for turn in 0..100 {
            let now = Time(50 + 100 * turn);
            assert!(queue.is_free(now, true, GAP), "turn {turn}");
            queue.pulled(now, GAP);
            assert!(!queue.is_free(now, true, GAP), "two for one gap");
            assert_eq!(queue.pop(now.after(Span(49)), &mut rng), None);
        }
    }

    #[test]
    fn a_late_driver_makes_good_what_it_missed_and_no_more_than_64_pulls() {
        let mut queue = PullQueue::default();
        queue.pulled(Time(0), GAP);
        queue.push(FIRST, false, None);
        // Three gaps late: the schedule is kept, as if the pull had left at 100.
        queue.pulled_in_turn(Time(400), GAP);
        assert_eq!(queue.due(), Time(200));
        // A hundred gaps late: 36 are forgotten.
        queue.pulled_in_turn(Time(10_200), GAP);
        assert_eq!(queue.due(), Time(10_200 - 6_400));
    }

    #[test]
    fn a_host_that_forgets_everybody_pulls_nobody() {
        let mut queue = PullQueue::default();
        queue.push(FIRST, false, None);
        queue.push(SECOND, true, None);
        queue.clear();
        assert_eq!(queue.pop(Time(0), &mut rng()), None);
        assert!(queue.is_free(Time(0), false, GAP));
    }
}
