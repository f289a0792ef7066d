//! What the gates of a host did, and what its transport missed, and when.

use model::{ConnId, Signal};
use std::ops::Range;
use units::Time;

/// Notes of one host.
pub(crate) struct Watched {
    notes: Vec<(Time, Signal)>,
    /// What is noted: moments.
    window: Range<Time>,
    /// What was paused already when that began, and since when.
    before: Vec<(Time, Signal)>,
    /// Notes that are kept, and how many there was no room for.
    most: usize,
    too_many: u64,
    /// Of which connection what had not come was taken for lost, and how often there was no room for that.
    missed: Vec<(Time, ConnId)>,
    missed_too_many: u64,
}

impl Watched {
    pub(crate) fn new(most: usize, window: Range<Time>) -> Self {
        Self {
            notes: Vec::new(),
            window,
            before: Vec::new(),
            most,
            too_many: 0,
            missed: Vec::new(),
            missed_too_many: 0,
        }
    }

    pub(crate) fn note(&mut self, now: Time, signal: Signal) {
        if now >= self.window.end {
            return;
        }
        if now < self.window.start {
            let resumed = match signal {
                Signal::ResumeFlow(conn) => Some(Signal::PauseFlow(conn)),
                Signal::ResumePriority(priority) => Some(Signal::PausePriority(priority)),
                Signal::PauseFlow(_) | Signal::PausePriority(_) => None,
            };
            let pause = resumed.unwrap_or(signal);
            let known = self.before.iter().position(|&(_, own)| own == pause);
            match (known, resumed) {
                (Some(place), Some(_)) => _ = self.before.remove(place),
                (None, None) => self.before.push((now, signal)),
                (Some(_), None) | (None, Some(_)) => {}
            }
        } else if self.notes.len() < self.most {
            self.notes.push((now, signal));
        } else {
            self.too_many += 1;
        }
    }

    /// What it has noted, in the order of time, and how much there was no room for.
    pub(crate) fn all(&self) -> (Vec<(Time, Signal)>, u64) {
        let all = self.before.iter().chain(&self.notes);
        (all.copied().collect(), self.too_many)
    }

    /// What has not come of a connection is taken for lost.
    pub(crate) fn miss(&mut self, now: Time, conn: ConnId) {
        if !self.window.contains(&now) {
            return;
        }
        if self.missed.len() < self.most {
            self.missed.push((now, conn));
        } else {
            self.missed_too_many += 1;
        }
    }

    /// What was taken for lost, in the order of time, and how much there was no room for.
    pub(crate) fn missed(&self) -> (&[(Time, ConnId)], u64) {
        (&self.missed, self.missed_too_many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_beyond_the_most_are_counted_and_take_no_room() {
        let mut watched = Watched::new(2, Time::ZERO..Time::NEVER);
        for at in 0..1_000 {
            watched.note(Time(at), Signal::PausePriority(0));
        }
        assert_eq!((watched.notes.len(), watched.too_many), (2, 998));
        for at in 0..10 {
            watched.miss(Time(at), ConnId(3));
        }
        let two = [(Time(0), ConnId(3)), (Time(1), ConnId(3))];
        assert_eq!(watched.missed(), (&two[..], 8));
    }

    #[test]
    fn of_what_was_before_the_window_what_is_still_paused_counts() {
        let mut watched = Watched::new(2, Time(10)..Time(20));
        let (pause, resume) = (Signal::PausePriority(0), Signal::ResumePriority(0));
        for (at, signal) in [
            (1, pause),
            (2, resume),
            (3, pause),
            (4, pause),
            (12, resume),
            (20, pause),
        ] {
            watched.note(Time(at), signal);
        }
        watched.note(Time(5), Signal::PausePriority(1));
        watched.note(Time(6), Signal::ResumePriority(1));
        assert_eq!(
            watched.all(),
            (vec![(Time(3), pause), (Time(12), resume)], 0)
        );
    }
}
