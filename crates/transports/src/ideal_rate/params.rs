//! What can be set, its defaults and where they come from.

use parts::forms::Count;
use parts::host::{Retry, WAIT};
use parts::keys::Profiles;
use units::Span;

/// Connections of one host. [ours]
pub(super) const CONNECTIONS_MAX: u32 = 1 << 20;

parts::params! {
    /// Everything that can be set in `[transport.ideal-rate]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    pub(super) static KEYS {
        /// part of every line that is left to acknowledgements, in percent
        reserve: u16 = 8, Count(0, 50), "ours: 84 B for a frame of 1538 B are 5.5 %, for one of 1078 B 7.8 %";
        /// how long a lasting connection without a message keeps its part of the lines
        linger: Span = Span::ms(10), WAIT, "ours: longer than a round of a few thousand answers at 10 Gb/s";
        /// how long a packet may go unanswered before it is sent again, besides the time to the next one; two idle round trips at least
        retry: Span = Span::ms(1), WAIT, "ours: longer than a full switch buffer takes to drain";
        /// the longest such wait, after doubling
        retry_max: Span = Span::ms(1_000), WAIT, "ours";
        /// waits in a row after which an end gives up
        retries_max: u16 = 16, Count(1, 100), "ours: about eight seconds with the other defaults";
        /// connections that one host keeps at once; more are refused
        connections_max: u32 = CONNECTIONS_MAX, Count(1, CONNECTIONS_MAX), "ours";
    }
}

/// There is one: the paper says no more than what it does.
pub(super) const PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

impl Params {
    /// How long an end waits for answers.
    pub(super) fn patience(&self) -> Retry {
        Retry::new(self.retry, self.retry_max, self.retries_max)
    }
}
