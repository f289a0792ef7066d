//! What can be set, its defaults and where they come from.

use super::header::{PAYLOAD_MAX, TOKEN_MAX};
use parts::forms::Count;
use parts::host::{Limits, Retry, WAIT};
use parts::keys::Profiles;
use units::Span;

parts::params! {
    /// Everything that can be set in `[transport.none]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    pub(super) static KEYS {
        /// how long a packet may go unanswered before it is sent again, two idle round trips at least; a gap is heard of at once
        retry: Span = Span::ms(10), WAIT, "ours: 100 messages of 1 MB into one line of 100 Gb/s take 8 ms";
        /// the longest such wait, after doubling
        retry_max: Span = Span::ms(1_000), WAIT, "ours";
        /// waits in a row after which an end gives up
        retries_max: u16 = 16, Count(1, 100), "ours: as other transports here; a retry count of RoCE has 3 bits";
        /// connections that one host keeps at once; more are refused
        connections_max: u32 = 1 << 20, Count(1, 1 << 20), "ours";
    }
}

/// There is one: nothing is published of what sends without control.
pub(super) static PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

impl Params {
    /// What a host is told.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            retry: Retry::new(self.retry, self.retry_max, self.retries_max),
            connections_max: self.connections_max,
            payload_max: PAYLOAD_MAX,
            token_max: TOKEN_MAX,
        }
    }
}
