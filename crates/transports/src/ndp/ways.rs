//! The ways to a peer: all in a random order, one packet each, and what became of those on each.
//! [ndp s3.1.1, s3.2.3]

use super::params::Spray;
use model::Rng;

/// Packets on a way before it is judged. [htsim]
const JUDGED_FROM: u16 = 100;
/// A way is bad where so many of 100 packets on it were trimmed, lost or sent back. [htsim]
const BAD_PERCENT: u64 = 30;
/// ... and where these are more than so many per cent of the mean of all ways. [htsim]
const OVER_MEAN_PERCENT: u64 = 125;
/// Rounds that a bad way is left out, at most; a way that stays bad is left out twice as long each time. [ours]
const ROUNDS_MAX: u8 = 32;
/// What a packet that was sent back or lost counts beside one that was trimmed. [htsim]
pub(super) const WORSE: u16 = 3;

/// One way, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    good: u16,
    bad: u16,
    /// Rounds for which it is left out, and for how many the next time.
    out: u8,
    next: u8,
}

/// The ways of one message.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// All of them; those of this round that were not taken yet stand before place `left`.
    order: Vec<u16>,
    left: usize,
    scores: Vec<Score>,
}

impl Ways {
    /// The next of `count` ways, not `not` where there is another that is not left out.
    #[inline]
    pub(super) fn next(
        &mut self,
        rng: &mut Rng,
        (count, spray): (u16, Spray),
        not: Option<u16>,
    ) -> u16 {
        if count <= 1 {
            return 0;
        }
        if spray == Spray::Random {
            let way = draw(rng, count.into());
            return if Some(way) == not {
                (way + 1) % count
            } else {
                way
            };
        }
        if self.order.len() != usize::from(count) {
            (self.order, self.left) = ((0..count).collect(), 0);
            self.scores = Vec::new();
        }
        self.take(rng, not)
    }

    /// The next of a random order, less those that are left out, and less `not` while another is good.
    #[inline]
    fn take(&mut self, rng: &mut Rng, not: Option<u16>) -> u16 {
        let (mut bad, mut good) = (0, None);
        // Each draw takes a way out of the round. So many see the rest of this round and all of the next: every way.
        for _ in 1..2 * self.order.len() {
            if self.left == 0 {
                self.left = self.order.len();
                self.judge();
            }
            let at = usize::from(draw(rng, self.left as u64));
            self.left -= 1;
            self.order.swap(at, self.left);
            let way = self.order[self.left];
            let out = self.scores.get(usize::from(way)).is_some_and(|s| s.out > 0);
            match (out, Some(way) == not) {
                (false, false) => return way,
                (false, true) => good = Some(way),
                (true, false) => bad = way,
                (true, true) => {}
            }
        }
        good.unwrap_or(bad)
    }

    /// A packet on `way` has arrived whole.
    #[inline]
    pub(super) fn good(&mut self, way: u16) {
        if let Some(score) = self.score(way) {
            score.good = score.good.saturating_add(1);
        }
    }

    /// A packet on `way` has not, which counts `much`.
    #[inline]
    pub(super) fn bad(&mut self, way: u16, much: u16) {
        if let Some(score) = self.score(way) {
            score.bad = score.bad.saturating_add(much);
        }
    }

    #[inline]
    fn score(&mut self, way: u16) -> Option<&mut Score> {
        if self.scores.is_empty() {
            self.scores = vec![Score::default(); self.order.len()];
        }
        self.scores.get_mut(usize::from(way))
    }

    /// A round is over.
    fn judge(&mut self) {
        let sum = |of: fn(&Score) -> u16| self.scores.iter().map(|s| u64::from(of(s))).sum::<u64>();
        let (good, bad) = (sum(|s| s.good), sum(|s| s.bad));
        for score in &mut self.scores {
            if score.out > 0 {
                score.out -= 1;
                continue;
            }
            let lost = u64::from(score.bad);
            let own = lost + u64::from(score.good);
            // One that was left out is judged by each packet that tries it.
            if own
                < if score.next > 0 {
                    1
                } else {
                    JUDGED_FROM.into()
                }
            {
                continue;
            }
            let often = lost * 100 > own * BAD_PERCENT;
            let worse = lost * (good + bad) * 100 > bad * own * OVER_MEAN_PERCENT;
            if often && worse {
                // DEVIATES(htsim): there a counter for each way decays.
                score.next = (2 * score.next).clamp(1, ROUNDS_MAX);
                score.out = score.next;
            } else {
                score.next = 0;
            }
            (score.good, score.bad) = (score.good / 2, score.bad / 2);
        }
    }

    pub(super) fn check(&self) {
        assert!(self.left <= self.order.len());
        assert!(self.scores.is_empty() || self.scores.len() == self.order.len());
    }
}

#[allow(clippy::cast_possible_truncation, reason = "below 2^16")]
#[inline]
fn draw(rng: &mut Rng, count: u64) -> u16 {
    rng.below(count) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut Ways); 2] = [|x| x.left = 1, |x| x.scores = vec![Score::default()]];
        Ways::default().check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Ways::default();
            spoil(&mut x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
