//! The token bucket that shapes credits, in exact integers. [xpass s3.1]

use model::intent::{CreditCount, CreditSpec};
use units::{LineTime, Span, Time};

/// Lets `size_mean / (size_mean + frame_max)` of a line's rate pass as credits.
///
/// Tokens are line time times `size_mean`, so that a credit's cost is a whole number whether it is
/// counted as one or by its bytes. The bucket starts empty. [xpass artefact]
#[derive(Clone, Debug)]
pub struct CreditBucket {
    tokens: u64,
    filled_at: Time,
    tokens_max: u64,
    /// Line time of one mean credit and the frame it releases, in picoseconds.
    period: u64,
    size_mean: u64,
    count: CreditCount,
}

impl CreditBucket {
    /// The bucket of `spec` on `line`.
    pub fn new(spec: CreditSpec, line: LineTime) -> Self {
        let size_mean = u64::from(spec.size_mean);
        let period = line.of(size_mean + u64::from(spec.frame_max)).0;
        Self {
            tokens: 0,
            filled_at: Time::ZERO,
            tokens_max: u64::from(spec.bucket) * period * size_mean,
            period,
            size_mean,
            count: spec.count,
        }
    }

    fn cost(&self, size: u16) -> u64 {
        match self.count {
            CreditCount::Credits => self.period * self.size_mean,
            CreditCount::Bytes => self.period * u64::from(size),
        }
    }

    fn fill(&mut self, now: Time) {
        // A bucket is full long before this product can overflow.
        let span = now
            .since(self.filled_at)
            .0
            .min(self.tokens_max / self.size_mean + 1);
        self.tokens = (self.tokens + span * self.size_mean).min(self.tokens_max);
        self.filled_at = now;
    }

    /// Takes the tokens of a credit of `size` bytes, or says when they will be there.
    ///
    /// # Errors
    /// The moment at which the same call succeeds.
    pub fn take(&mut self, now: Time, size: u16) -> Result<(), Time> {
        self.fill(now);
        let cost = self.cost(size);
        if self.tokens >= cost {
            self.tokens -= cost;
            return Ok(());
        }
        Err(now + Span((cost - self.tokens).div_ceil(self.size_mean)))
    }

    /// Panics where an invariant is broken.
    pub fn check(&self) {
        assert!(
            self.tokens <= self.tokens_max,
            "{} tokens of {}",
            self.tokens,
            self.tokens_max
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    fn bucket(count: CreditCount) -> CreditBucket {
        let spec = CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count,
            size_mean: 84,
            frame_max: 1538,
        };
        CreditBucket::new(spec, LineTime::new(Rate::gbps(10)))
    }

    #[test]
    fn a_10g_line_carries_770_654_credits_a_second() {
        let mut bucket = bucket(CreditCount::Credits);
        let (mut now, mut sent) = (Time::ZERO, 0u32);
        while now < Time(units::PS_PER_SEC) {
            match bucket.take(now, 92) {
                Ok(()) => sent += 1,
                Err(at) => now = at,
            }
        }
        assert_eq!(
            sent, 770_653,
            "one per 1297.6 ns, the first after one period"
        );
    }

    #[test]
    fn after_a_pause_two_leave_back_to_back() {
        let mut bucket = bucket(CreditCount::Credits);
        let late = Time(units::PS_PER_SEC);
        assert_eq!(
            (bucket.take(late, 84), bucket.take(late, 84)),
            (Ok(()), Ok(()))
        );
        assert_eq!(bucket.take(late, 84), Err(late + Span(1_297_600)));
    }

    #[test]
    fn counted_by_bytes_a_small_credit_is_cheap() {
        let mut bucket = bucket(CreditCount::Bytes);
        assert_eq!(bucket.take(Time::ZERO, 76), Err(Time(1_174_020)));
        assert_eq!(bucket.take(Time(1_174_020), 76), Ok(()));
    }
}
