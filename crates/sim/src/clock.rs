//! How far a run is, the same for all its threads.

use crate::count::Window;
use crate::setup::Observer;
use crate::waits::Looks;
use units::Time;

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
    pub(crate) next_sample: Time,
    /// What ports count in a window of time.
    pub(crate) counted: Window,
    /// Looks for ports that wait for each other.
    pub(crate) looks: Looks,
    /// Start of the last window that ran.
    pub(crate) last: Time,
    /// Where sides take turns and a window was cut: that window, while the other side comes to the same moment.
    pub(crate) ahead: Option<u64>,
    /// The window of the other side that was cut with it and goes on behind its rest, and from when on.
    pub(crate) rest: Option<(u64, Time)>,
}

impl Between<'_> {
    /// Packet-hops that the observer does not know of.
    pub(crate) fn unseen(&self) -> u64 {
        self.hops - self.hops_seen
    }
}
