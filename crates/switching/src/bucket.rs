//! The token bucket that shapes credits, in exact integers. [xpass s3.1]

use model::intent::{CreditCount, CreditSpec};
use units::{LineTime, Span, Time};

/// Lets `size_mean / (size_mean + frame_max)` of a line's rate pass as credits, or the part of it
/// that other traffic leaves.
///
/// Kept as the moment at which the bucket, filling since, was empty: tokens are the time that has
/// passed from then on, and a mean credit costs one [`period`](Self::period). The bucket starts
/// empty. [xpass artefact]
#[derive(Clone, Debug)]
pub struct CreditBucket {
    empty_at: Time,
    /// What `empty_at` leaves out, in parts of `size_mean` of a picosecond: only where bytes count.
    rest: u64,
    /// Time that fills an empty bucket.
    depth: Span,
    /// [`CreditSpec::period`], in picoseconds.
    period: u64,
    size_mean: u64,
    count: CreditCount,
}

impl CreditBucket {
    /// The bucket of `spec` on `line`.
    pub fn new(spec: CreditSpec, line: LineTime) -> Self {
        let size_mean = u64::from(spec.size_mean);
        let period = spec.period(line).0;
        Self {
            empty_at: Time::ZERO,
            rest: 0,
            depth: Span(u64::from(spec.bucket) * period),
            period,
            size_mean,
            count: spec.count,
        }
    }

    /// When a bucket that was empty at `from` and `rest` parts holds the tokens of `size` bytes.
    #[inline]
    fn filled(&self, from: Time, rest: u64, size: u16) -> (Time, u64) {
        match self.count {
            CreditCount::Credits => (Time(from.0 + self.period), 0),
            CreditCount::Bytes => {
                let parts = self.period * u64::from(size) + rest;
                (
                    Time(from.0 + parts / self.size_mean),
                    parts % self.size_mean,
                )
            }
        }
    }

    /// When a bucket that was empty at `from` and `rest` parts lets a credit of `size` bytes go: with
    /// its tokens there, or full where it holds fewer, for the next then pays the difference (ours).
    #[inline]
    fn passes(&self, from: Time, rest: u64, size: u16) -> Time {
        let (at, rest) = self.filled(from, rest, size);
        (at + Span(u64::from(rest > 0))).min(from + self.depth)
    }

    /// When a credit of `size` bytes may leave, if no other takes the tokens.
    #[inline]
    pub fn ready(&self, size: u16) -> Time {
        self.passes(self.empty_at, self.rest, size)
    }

    /// When a credit of `size` bytes may leave, if no other takes the tokens after `now`.
    pub fn ready_after(&self, now: Time, size: u16) -> Time {
        let full_from = Time(now.0.saturating_sub(self.depth.0));
        if full_from > self.empty_at {
            self.passes(full_from, 0, size)
        } else {
            self.ready(size)
        }
    }

    /// Takes the tokens of a credit of `size` bytes, or says when they will be there.
    ///
    /// # Errors
    /// The moment at which the same call succeeds.
    #[inline]
    pub fn take(&mut self, now: Time, size: u16) -> Result<(), Time> {
        let full_from = Time(now.0.saturating_sub(self.depth.0));
        if full_from > self.empty_at {
            (self.empty_at, self.rest) = (full_from, 0);
        }
        let ready = self.ready(size);
        if now < ready {
            return Err(ready);
        }
        (self.empty_at, self.rest) = self.filled(self.empty_at, self.rest, size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    fn bucket(count: CreditCount) -> CreditBucket {
        bucket_of(2, count)
    }

    fn bucket_of(credits: u16, count: CreditCount) -> CreditBucket {
        let spec = CreditSpec {
            queue_limit: 8,
            bucket: credits,
            count,
            size_mean: 84,
            frame_max: 1538,
            share: CreditSpec::WHOLE,
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
        // No part of a picosecond is lost.
        let mut now = Time(1_174_020);
        for _ in 0..84 {
            now = bucket.take(now, 77).expect_err("the bucket was emptied");
            assert_eq!(bucket.take(now, 77), Ok(()));
        }
        assert_eq!(now.0, (1_297_600u64 * (76 + 84 * 77)).div_ceil(84));
    }

    #[test]
    fn a_credit_that_the_bucket_cannot_hold_leaves_it_when_full_and_the_next_pays() {
        let mut bucket = bucket_of(1, CreditCount::Bytes);
        let full = Time(1_297_600);
        assert_eq!(bucket.take(Time::ZERO, 92), Err(full));
        assert_eq!(bucket.take(full, 92), Ok(()));
        // 92 B and 76 B are two credits of mean size.
        assert_eq!(bucket.take(full, 76), Err(Time(2 * 1_297_600)));
    }

    #[test]
    fn what_is_foretold_comes_true_to_the_picosecond() {
        for (credits, count) in [
            (2, CreditCount::Credits),
            (2, CreditCount::Bytes),
            (1, CreditCount::Bytes),
        ] {
            let mut rng = model::Rng::stream(3, model::stream::TEST, 0);
            let (mut bucket, mut now, mut waited) = (bucket_of(credits, count), Time::ZERO, 0);
            for _ in 0..2_000 {
                now += Span(rng.below(2_000_000));
                let size = u16::try_from(rng.between(76, 92)).unwrap();
                let at = bucket.ready_after(now, size);
                if at > now {
                    waited += 1;
                    assert_eq!(
                        bucket.clone().take(Time(at.0 - 1), size),
                        Err(at),
                        "too early"
                    );
                    assert_eq!(bucket.ready(size), at, "no other takes them");
                    now = at;
                }
                assert_eq!(bucket.take(now, size), Ok(()));
            }
            assert!((500..1_900).contains(&waited), "{waited} of 2000 waited");
        }
    }

    #[test]
    fn a_bucket_holds_so_many_tokens_and_no_part_of_one_more() {
        let late = Time(units::PS_PER_SEC);
        for (count, size, back_to_back) in [
            (CreditCount::Credits, 92, 2),
            (CreditCount::Bytes, 84, 2),
            (CreditCount::Bytes, 92, 1),
            (CreditCount::Bytes, 56, 3),
        ] {
            let mut bucket = bucket(count);
            let taken = (0..9)
                .take_while(|_| bucket.take(late, size).is_ok())
                .count();
            assert_eq!(taken, back_to_back, "{count:?}, {size} B");
        }
        // A part of a picosecond that was owed is forgiven once the bucket is full.
        let mut bucket = bucket(CreditCount::Bytes);
        let at = bucket.take(Time::ZERO, 77).unwrap_err();
        assert_eq!(bucket.take(at, 77), Ok(()));
        assert!(bucket.rest > 0);
        assert_eq!(bucket.ready_after(late, 84), Time(late.0 - 1_297_600));
        assert_eq!(bucket.take(late, 84), Ok(()));
        assert_eq!(
            (bucket.empty_at, bucket.rest),
            (Time(late.0 - 1_297_600), 0)
        );
    }

    #[test]
    fn a_bucket_that_is_full_just_now_still_owes_its_part_of_a_picosecond() {
        let mut bucket = bucket(CreditCount::Bytes);
        let at = bucket.take(Time::ZERO, 77).unwrap_err();
        assert_eq!(bucket.take(at, 77), Ok(()));
        let (rest, full) = (bucket.rest, bucket.empty_at + bucket.depth);
        assert!(rest > 0);
        // A credit that needs all but a part of a picosecond of what came since.
        let ready = bucket.ready_after(full, 84);
        assert_eq!(ready, Time(bucket.empty_at.0 + 1_297_600 + 1));
        assert_eq!((bucket.take(full, 84), bucket.rest), (Ok(()), rest));
    }
}
