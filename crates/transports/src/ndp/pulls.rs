//! The pull queue of a host: which connection is pulled next, and when. [ndp s3.2]

use std::collections::VecDeque;
use units::{Span, Time};

/// Pulls that a late driver makes good at once: one on a wire may look at its clock seldom. [ours]
const CATCH_UP: u64 = 64;

/// Connections that wait for pulls, by their place and age.
#[derive(Debug, Default)]
pub(super) struct PullQueue {
    /// Those of a preferred host, and the others; each takes turns.
    preferred: VecDeque<(u32, u32)>,
    others: VecDeque<(u32, u32)>,
    /// When the next pull may leave.
    at: Time,
}

impl PullQueue {
    /// Whether a pull may leave at once, for nobody waits.
    #[inline]
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.at <= now && self.others.is_empty() && self.preferred.is_empty()
    }

    /// A pull leaves that did not wait.
    #[inline]
    pub(super) fn pulled(&mut self, now: Time, gap: Span) {
        self.at = now.after(gap);
    }

    /// A pull leaves that waited for its moment.
    #[inline]
    pub(super) fn pulled_in_turn(&mut self, now: Time, gap: Span) {
        let earliest = Time(now.0.saturating_sub(gap.times(CATCH_UP).0));
        self.at = self.at.after(gap).max(earliest);
    }

    /// A connection waits for a pull from now on.
    #[inline]
    pub(super) fn push(&mut self, entry: (u32, u32), preferred: bool) {
        if preferred {
            self.preferred.push_back(entry);
        } else {
            self.others.push_back(entry);
        }
    }

    /// The connection whose turn it is at `now`.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<(u32, u32)> {
        if self.at > now {
            return None;
        }
        self.preferred
            .pop_front()
            .or_else(|| self.others.pop_front())
    }

    /// When somebody's turn comes.
    #[inline]
    pub(super) fn due(&self) -> Time {
        if self.others.is_empty() && self.preferred.is_empty() {
            Time::NEVER
        } else {
            self.at
        }
    }

    /// Nobody is left.
    pub(super) fn clear(&mut self) {
        (self.preferred, self.others) = (VecDeque::new(), VecDeque::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Span = Span(100);
    const FIRST: (u32, u32) = (1, 0);
    const SECOND: (u32, u32) = (2, 0);

    #[test]
    fn a_preferred_host_is_pulled_first_and_each_kind_in_turn() {
        let mut queue = PullQueue::default();
        queue.push(FIRST, false);
        queue.push(SECOND, false);
        queue.push((3, 0), true);
        queue.push((4, 0), true);
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(Time(0)))
            .map(|(place, _)| place)
            .collect();
        assert_eq!(order, [3, 4, 1, 2]);
        assert_eq!(queue.due(), Time::NEVER);
    }

    #[test]
    fn a_pull_need_not_wait_where_the_gap_is_over_and_nobody_else_waits() {
        let mut queue = PullQueue::default();
        queue.pulled(Time(1_000), GAP);
        assert!(!queue.is_free(Time(1_099)));
        assert!(queue.is_free(Time(1_100)));
        for preferred in [false, true] {
            queue.push(FIRST, preferred);
            assert!(!queue.is_free(Time(1_100)), "preferred: {preferred}");
            assert_eq!(queue.due(), Time(1_100));
            assert_eq!(queue.pop(Time(1_099)), None);
            assert_eq!(queue.pop(Time(1_100)), Some(FIRST));
        }
    }

    #[test]
    fn a_late_driver_makes_good_what_it_missed_and_no_more_than_64_pulls() {
        let mut queue = PullQueue::default();
        queue.pulled(Time(0), GAP);
        queue.push(FIRST, false);
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
        queue.push(FIRST, false);
        queue.push(SECOND, true);
        queue.clear();
        assert_eq!(queue.pop(Time(0)), None);
        assert!(queue.is_free(Time(0)));
    }
}
