//! How long to wait for an acknowledgement. [RFC 6298]

use super::Rules;
use parts::smoothed::Smoothed;
use units::{Span, Time};

/// Smoothed round trip and the timeout that follows from it.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    smoothed: Smoothed,
    timeout: Span,
}

impl Rtt {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            smoothed: Smoothed::default(),
            timeout: rules.rto_initial,
        }
    }

    /// A packet that was sent once took this long to be acknowledged. [RFC 6298 s2]
    pub(super) fn sample(&mut self, took: Span, rules: &Rules) {
        self.smoothed.sample(took);
        let wait = self.smoothed.bound().unwrap_or(took);
        self.timeout = wait.clamp(rules.rto_min, rules.rto_max);
    }

    /// The timeout after `doublings` timeouts in a row. [RFC 6298 s5.5]
    #[inline]
    pub(super) fn timeout(&self, doublings: u8, rules: &Rules) -> Span {
        if doublings == 0 {
            return self.timeout;
        }
        self.timeout
            .times(1 << doublings.min(DOUBLINGS_MAX))
            .min(rules.rto_max)
    }

    /// When something sent at `now` is overdue.
    #[inline]
    pub(super) fn deadline(&self, now: Time, doublings: u8, rules: &Rules) -> Time {
        now.after(self.timeout(doublings, rules))
    }
}

/// Past this many doublings every timeout is the longest one.
const DOUBLINGS_MAX: u8 = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dctcp::Params;
    use model::Encap;

    #[test]
    fn the_timeout_follows_the_round_trip_within_its_limits() {
        let rules = Rules::new(&Params::DEFAULT, Encap::PAPER);
        let mut rtt = Rtt::new(&rules);
        let mut after = |took| {
            rtt.sample(took, &rules);
            rtt.timeout(0, &rules)
        };
        assert_eq!(after(Span::us(100)), Span::ms(10), "never below rto_min");
        assert_eq!(after(Span::ms(20)), Span::ns(22_637_500));
        assert_eq!(after(Span::ms(2000)), Span::ms(1000), "never above rto_max");
    }

    #[test]
    fn it_doubles_and_stops_at_the_longest() {
        let rules = Rules::new(&Params::DEFAULT, Encap::PAPER);
        let rtt = Rtt::new(&rules);
        let waits: Vec<_> = (0..9)
            .map(|n| rtt.timeout(n, &rules).0 / 1_000_000_000)
            .collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!(rtt.timeout(u8::MAX, &rules), rules.rto_max);
    }
}
