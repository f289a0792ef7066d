//! How far a run is, the same for all its threads, and which window comes next.

use crate::activity::{Activity, Steps};
use crate::count::Window;
use crate::setup::{Observer, Setup};
use crate::waits::Looks;
use units::{Span, Time};

/// Windows with fewer packet-hops than this are run by one thread: they take some 10 us, and a barrier
/// up to 2 us. [ours]
const SERIAL_BELOW: u64 = 100;

/// The window that all threads run now.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) window: u64,
    pub(crate) start: Time,
    pub(crate) end: Time,
    /// The window goes on after `end`: a sample is due in between.
    pub(crate) keep: bool,
    pub(crate) serial: bool,
    /// Samples are due, or the observer wants a look.
    pub(crate) attend: bool,
    pub(crate) stop: bool,
}

impl Clock {
    /// Window 0 comes next, whether or not anything happens in it.
    pub(crate) const BEFORE: Self = Self {
        window: 0,
        start: Time::ZERO,
        end: Time::ZERO,
        keep: true,
        serial: true,
        attend: false,
        stop: false,
    };

    /// In `window` from `start` on, to its end.
    pub(crate) fn in_window(self, window: u64, start: Time, steps: Steps) -> Self {
        Self {
            window,
            start,
            end: steps.end_of(window),
            keep: false,
            ..self
        }
    }

    /// Cuts the window behind what happens at `moment`, where it goes on after that.
    pub(crate) fn cut_behind(&mut self, moment: Time) {
        let end = moment.after(Span(1));
        if self.start <= moment && end < self.end {
            (self.end, self.keep) = (end, true);
        }
    }
}

/// Whether one thread alone runs what comes after a window of `ran` packet-hops. Once `alone`, it goes on for longer, so that
/// windows of about that many do not change hands each time.
pub(crate) fn runs_alone(alone: bool, ran: u64) -> bool {
    ran < if alone {
        2 * SERIAL_BELOW
    } else {
        SERIAL_BELOW
    }
}

/// The first sample that is due at `from` or later: `next` is the first that has not been taken.
pub(crate) fn sample_due(next: Time, every: Option<Span>, from: Time) -> Time {
    match every {
        Some(every) if next < from => Time(from.0.div_ceil(every.0).saturating_mul(every.0)),
        _ => next,
    }
}

/// What is left to run of a window that was cut, where sides take turns and two of them hold the moment: first the earlier
/// one and then the later one come to it, and behind it the rests follow in the same order.
#[derive(Default)]
pub(crate) struct Turns {
    /// The window that was cut, while the other side comes to the same moment.
    ahead: Option<u64>,
    /// The window of the other side that was cut with it and goes on behind its rest, and from when on.
    rest: Option<(u64, Time)>,
}

impl Turns {
    /// Whether the rest of a window is to come.
    pub(crate) fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// What runs behind the window of `clock`: another, or the rest of one that was cut. None where every node sleeps for
    /// good.
    pub(crate) fn next(&mut self, clock: Clock, activity: &Activity) -> Option<Clock> {
        let steps = activity.steps();
        let next = if clock.keep {
            self.behind_cut(clock, activity)
        } else if let Some((window, start)) = self.rest.take() {
            clock.in_window(window, start, steps)
        } else {
            let window = activity.next(clock.window + 1)?;
            clock.in_window(window, steps.start_of(window), steps)
        };
        // What woke in it by now, before a cut among others, is about to run.
        activity.pass(next.window);
        Some(next)
    }

    /// The same where that window was cut at its end.
    fn behind_cut(&mut self, clock: Clock, activity: &Activity) -> Clock {
        if let Some((window, start)) = self.behind(clock, activity) {
            self.ahead = Some(clock.window);
            return Clock {
                window,
                start,
                ..clock
            };
        }
        let first = self.ahead.take();
        if first.is_some() {
            self.rest = Some((clock.window, clock.end));
        }
        clock.in_window(first.unwrap_or(clock.window), clock.end, activity.steps())
    }

    /// The window of the other side that began before the moment at which that of `clock` was cut and has not come to it,
    /// with the moment from which it goes on.
    fn behind(&mut self, clock: Clock, activity: &Activity) -> Option<(u64, Time)> {
        self.rest.take().or_else(|| {
            let next = activity.next(clock.window + 1)?;
            let start = activity.steps().start_of(next);
            (start < clock.end).then_some((next, start))
        })
    }
}

/// What only one thread touches: the last at the barrier, or the first while the others wait.
pub(crate) struct Between<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    /// Packet-hops before the window that runs now.
    pub(crate) hops: u64,
    /// The same when the observer last looked.
    pub(crate) hops_seen: u64,
    pub(crate) done: u64,
    pub(crate) interrupted: bool,
    /// Time between two samples.
    pub(crate) every: Option<Span>,
    pub(crate) next_sample: Time,
    /// What ports count in a window of time.
    pub(crate) counted: Window,
    /// Looks for ports that wait for each other.
    pub(crate) looks: Looks,
    /// Start of the last window that ran.
    pub(crate) last: Time,
    pub(crate) turns: Turns,
}

impl<'o> Between<'o> {
    /// Before the first window.
    pub(crate) fn new(setup: &Setup<'_>, observer: &'o mut dyn Observer) -> Self {
        let every = setup.probes.every;
        let every = every.and_then(|every| observer.sampled_every(every));
        Self {
            observer,
            hops: 0,
            hops_seen: 0,
            done: 0,
            interrupted: false,
            every,
            next_sample: every.map_or(Time::NEVER, |every| Time(every.0)),
            counted: Window::new(&setup.probes, setup.topology.links.len()),
            looks: Looks::new(setup),
            last: Time::ZERO,
            turns: Turns::default(),
        }
    }

    /// Asks the observer how often it wants samples: the next one is not before `from`.
    pub(crate) fn sample_from(&mut self, from: Time) {
        let every = self.every.take();
        self.every = every.and_then(|every| self.observer.sampled_every(every));
        self.next_sample = match self.every {
            Some(_) => sample_due(Time::ZERO, self.every, from),
            None => Time::NEVER,
        };
    }

    /// Packet-hops that the observer does not know of.
    pub(crate) fn unseen(&self) -> u64 {
        self.hops - self.hops_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    /// Windows of two steps of 10 ps each: those of the first side begin at 0, 20, ..., those of the second at 10, 30, ...
    fn turns() -> Activity {
        Activity::new(1, 2, Steps::new(NonZeroU64::new(10).unwrap(), Some(64)))
    }

    /// What runs behind `clock`, each cut behind `moment`: windows, and from when to when.
    fn runs(activity: &Activity, mut clock: Clock, moment: u64) -> Vec<(u64, u64, u64)> {
        let (mut turns, mut runs) = (Turns::default(), Vec::new());
        while let Some(next) = turns.next(clock, activity) {
            clock = next;
            clock.cut_behind(Time(moment));
            runs.push((clock.window, clock.start.0, clock.end.0));
        }
        runs
    }

    #[test]
    fn both_sides_come_to_a_cut_before_either_goes_on() {
        let clock = Clock::BEFORE.in_window(0, Time::ZERO, turns().steps());
        for (moment, expected) in [
            (999, vec![(2, 20, 40), (3, 30, 50), (5, 50, 70)]),
            // In the windows of both sides.
            (
                34,
                vec![
                    (2, 20, 35),
                    (3, 30, 35),
                    (2, 35, 40),
                    (3, 35, 50),
                    (5, 50, 70),
                ],
            ),
            // In one, before the next begins.
            (24, vec![(2, 20, 25), (2, 25, 40), (3, 30, 50), (5, 50, 70)]),
            // The last moment of one.
            (39, vec![(2, 20, 40), (3, 30, 40), (3, 40, 50), (5, 50, 70)]),
        ] {
            let activity = turns();
            for (bit, at) in [(0, 20), (64, 30), (64, 50)] {
                activity.of(0).raise(0, bit, Time(at));
            }
            assert_eq!(runs(&activity, clock, moment), expected, "cut at {moment}");
        }
    }

    #[test]
    fn a_window_goes_on_behind_a_cut_only_where_something_of_it_is_left() {
        let whole = Clock::BEFORE.in_window(2, Time(20), turns().steps());
        for (moment, expected) in [
            (19, (40, false)),
            (20, (21, true)),
            (38, (39, true)),
            (39, (40, false)),
            (Time::NEVER.0, (40, false)),
        ] {
            let mut clock = whole;
            clock.cut_behind(Time(moment));
            assert_eq!((clock.end.0, clock.keep), expected, "cut at {moment}");
        }
    }

    #[test]
    fn one_thread_goes_on_alone_until_windows_have_twice_as_much_as_made_it_begin() {
        let of = |alone| [99, 100, 199, 200].map(|ran| runs_alone(alone, ran));
        assert_eq!(of(false), [true, false, false, false]);
        assert_eq!(of(true), [true, true, true, false]);
    }

    #[test]
    fn samples_of_time_that_was_skipped_are_not_made_up_for() {
        let every = Some(Span(10));
        let of = |from| sample_due(Time(20), every, Time(from)).0;
        assert_eq!([0, 20, 21, 30, 31].map(of), [20, 20, 30, 30, 40]);
        assert_eq!(sample_due(Time::NEVER, None, Time(5)), Time::NEVER);
    }
}
