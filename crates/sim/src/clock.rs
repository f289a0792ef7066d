//! Where a run stands, the same for all its threads.

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
