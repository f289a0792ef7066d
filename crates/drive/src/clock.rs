//! The one place that reads a clock.

use std::time::{Duration, Instant};
use units::{Span, Time};

/// Real time, counted like simulated time: from when this clock was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that shows zero now.
    #[allow(
        clippy::new_without_default,
        reason = "a default should not depend on the moment"
    )]
    pub fn new() -> Self {
        Self { start: instant() }
    }

    /// The time since it was made. Ends after 213 days, like [`Time`].
    pub fn now(&self) -> Time {
        let ns = (instant() - self.start).as_nanos();
        Time(
            u64::try_from(ns)
                .ok()
                .and_then(|ns| ns.checked_mul(1_000))
                .unwrap_or(u64::MAX - 1),
        )
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the driver is where real time enters"
)]
fn instant() -> Instant {
    Instant::now()
}

/// `span` for an operating system, rounded up to a nanosecond.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.0.div_ceil(1_000))
}
