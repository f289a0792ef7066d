//! What can be set, its defaults and where they come from.

use super::header::PAYLOAD_MAX;
use parts::forms::Count;
use parts::host::{Limits, Retry, Token, WAIT};
use parts::keys::Profiles;
use units::Span;

parts::params! {
    /// Everything that can be set in `[transport.fixed-window]`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Name of the profile that the absent keys come from.
        profile: &'static str = "default";
    }
    pub(super) static KEYS {
        /// bytes that may be on the way, in percent of the host's rate times the base round trip
        window: u16 = 100, Count(1, 10_000), "[ours] 100 keeps one line full and no queue";
        /// how long a packet may go unanswered before it is sent again
        retry: Span = Span::ms(1), WAIT, "[ours] longer than a full switch buffer takes to drain";
        /// the longest such wait, after doubling
        retry_max: Span = Span::ms(1_000), WAIT, "[ours]";
        /// waits in a row after which an end gives up
        retries_max: u16 = 16, Count(1, 100), "[ours] about eight seconds with the other defaults";
        /// connections that one host keeps at once; more are refused
        connections_max: u32 = 65_535, Count(1, 65_535), "[ours]";
    }
}

/// Every profile, the default one first. One per published set of values is a good habit.
pub(super) const PROFILES: &Profiles<Params> = &[("default", || Params::DEFAULT)];

impl Params {
    /// What a host is told.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            retry: Retry::new(self.retry, self.retry_max, self.retries_max),
            connections_max: self.connections_max,
            payload_max: PAYLOAD_MAX,
            token_max: Token::MAX,
        }
    }
}
