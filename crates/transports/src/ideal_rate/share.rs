//! How a line is divided among the connections that use it, and how a rate travels.
//!
//! Each direction of a connection crosses two lines, its sender's and its receiver's, and each of them
//! offers it what the others leave. A connection that another line holds below its part counts with what it
//! gets there, and the rest is divided evenly. Both ends repeat that with every packet and
//! acknowledgement until nothing changes: that is the max-min fair division. [charny; the rule of consistent
//! marking]

/// A rate in 16 bits, rounded down by at most 1/1024, up to 4.3 Tb/s; 0 where it is not known. [ours]
pub(super) type Code = u16;

/// Bits of a [`Code`] that scale it; the others count.
const SCALE_BITS: u32 = 5;
const COUNT_BITS: u32 = 16 - SCALE_BITS;
const COUNT: u16 = (1 << COUNT_BITS) - 1;

/// `rate`, in bits per second, as it travels.
pub(super) fn code(rate: u64) -> Code {
    let scale = (u64::BITS - rate.leading_zeros()).saturating_sub(COUNT_BITS);
    let count = u16::try_from(rate >> scale).unwrap_or(COUNT);
    match u16::try_from(scale) {
        Ok(scale) if scale < 1 << SCALE_BITS => scale << COUNT_BITS | count,
        Ok(_) | Err(_) => Code::MAX,
    }
}

/// In bits per second; none where it is not known.
pub(super) fn rate(code: Code) -> Option<u64> {
    let (scale, count) = (code >> COUNT_BITS, code & COUNT);
    (count > 0).then(|| u64::from(count) << scale)
}

/// In ladders.
pub(super) fn words(code: Code) -> String {
    rate(code).map_or_else(String::new, |rate| format!(" at {} Mb/s", rate / 1_000_000))
}

/// What one connection uses of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Claim {
    /// It counts as one that uses the line.
    held: bool,
    /// What the line at its other end offers it, in bits per second; none where that is not known.
    elsewhere: Option<u64>,
    /// What it counts with, where it is held below the others' part elsewhere.
    bound: Option<u64>,
}

impl Claim {
    /// Whether it counts as one that uses the line.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }
}

/// One direction of a host's line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// What it has for data, in bits per second.
    rate: u64,
    /// Connections that use it.
    claims: u64,
    /// Those that are held elsewhere, and what they get there together.
    bound: u64,
    bound_rate: u128,
    /// How many there were when all of them were last told.
    told: u64,
}

impl Line {
    pub(super) fn new(rate: u64) -> Self {
        Self {
            rate: rate.max(1),
            claims: 0,
            bound: 0,
            bound_rate: 0,
            told: 1,
        }
    }

    /// Begins to count `claim`, if it does not yet.
    pub(super) fn enter(&mut self, claim: &mut Claim) {
        if !std::mem::replace(&mut claim.held, true) {
            self.claims += 1;
        }
    }

    /// Counts `claim` no more.
    pub(super) fn leave(&mut self, claim: &mut Claim) {
        if claim.held {
            self.free(claim);
            self.claims -= 1;
            self.told = self.told.min(self.claims.max(1));
        }
        *claim = Claim::default();
    }

    fn free(&mut self, claim: &mut Claim) {
        if let Some(rate) = claim.bound.take() {
            self.bound -= 1;
            self.bound_rate -= u128::from(rate);
        }
    }

    /// The other end of the connection has said what its line offers.
    pub(super) fn hear(&mut self, claim: &mut Claim, elsewhere: Code) {
        claim.elsewhere = rate(elsewhere).or(claim.elsewhere);
        self.offer(claim);
    }

    /// What this line offers to the connection, in bits per second: what the others leave, and never less than an
    /// even part.
    pub(super) fn offer(&mut self, claim: &mut Claim) -> u64 {
        if !claim.held {
            return self.rate / (self.claims + 1);
        }
        self.free(claim);
        let left = u128::from(self.rate).saturating_sub(self.bound_rate);
        let offer = u64::try_from(left / u128::from(self.claims - self.bound)).unwrap_or(self.rate);
        let offer = offer.max(self.rate / self.claims).max(1);
        if let Some(rate) = claim.elsewhere.filter(|&rate| rate < offer) {
            claim.bound = Some(rate);
            self.bound += 1;
            self.bound_rate += u128::from(rate);
        }
        offer
    }

    /// Whether so many have come since all were last told that each has more than twice its part: then they
    /// must not wait for their next packet to hear of it. Each newcomer causes at most two such words.
    pub(super) fn must_tell(&mut self) -> bool {
        let must = self.claims >= 2 * self.told;
        if must {
            self.told = self.claims;
        }
        must
    }

    pub(super) fn check(&self) {
        assert!(self.bound <= self.claims, "{self:?}");
        assert!(self.bound > 0 || self.bound_rate == 0, "{self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rng, stream};

    #[test]
    fn a_rate_travels_within_a_thousandth() {
        for rate in [
            1,
            2047,
            2048,
            999_999,
            10_000_000_000,
            400_000_000_000,
            4_000_000_000_000,
        ] {
            let back = super::rate(code(rate)).unwrap();
            assert!(
                back <= rate && rate - back <= rate / 1024,
                "{rate} became {back}"
            );
        }
        assert_eq!((rate(code(0)), rate(0)), (None, None));
        // What is too fast to be told is told as the fastest.
        for rate in [1 << 43, 1 << 50, u64::MAX] {
            assert_eq!(code(rate - 1).max(code(rate)), Code::MAX, "{rate}");
            assert_eq!(code(rate), Code::MAX);
        }
    }

    /// The max-min fair rates of flows between (sender, receiver), by filling up the tightest line first.
    fn filled(flows: &[(usize, usize)], lines: &[u64]) -> Vec<f64> {
        let ends = |&(from, to): &(usize, usize)| [2 * from, 2 * to + 1];
        let mut rates = vec![None; flows.len()];
        while rates.contains(&None) {
            let part = |line: usize| {
                let on: Vec<_> = (0..flows.len())
                    .filter(|&f| ends(&flows[f]).contains(&line))
                    .collect();
                let taken: f64 = on.iter().filter_map(|&f| rates[f]).sum();
                let open = on.iter().filter(|&&f| rates[f].is_none()).count();
                (open > 0).then(|| (lines[line] as f64 - taken) / open as f64)
            };
            let tightest = (0..lines.len()).filter_map(|line| Some((part(line)?, line)));
            let (least, line) = tightest.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            for (flow, rate) in flows.iter().zip(&mut rates) {
                if rate.is_none() && ends(flow).contains(&line) {
                    *rate = Some(least);
                }
            }
        }
        rates.into_iter().flatten().collect()
    }

    #[test]
    fn the_lines_agree_on_the_max_min_division() {
        for seed in 0..50 {
            let mut rng = Rng::stream(seed, stream::TEST, 7);
            let hosts = 8;
            let mut host = || usize::try_from(rng.below(hosts)).unwrap();
            let flows: Vec<_> = (0..30).map(|_| (host(), host())).collect();
            let rates: Vec<u64> = (0..2 * hosts)
                .map(|_| [10_000_000_000, 40_000_000_000][usize::try_from(rng.below(2)).unwrap()])
                .collect();
            let mut lines: Vec<_> = rates.iter().map(|&rate| Line::new(rate)).collect();
            let mut claims = vec![[Claim::default(); 2]; flows.len()];
            for (&(from, to), claim) in flows.iter().zip(&mut claims) {
                lines[2 * from].enter(&mut claim[0]);
                lines[2 * to + 1].enter(&mut claim[1]);
            }
            let mut found = vec![0; flows.len()];
            for _ in 0..40 {
                for (flow, &(from, to)) in flows.iter().enumerate() {
                    let [up, down] = &mut claims[flow];
                    let asked = lines[2 * from].offer(up);
                    lines[2 * to + 1].hear(down, code(asked));
                    let answer = code(lines[2 * to + 1].offer(down));
                    lines[2 * from].hear(up, answer);
                    found[flow] = lines[2 * from].offer(up).min(rate(answer).unwrap());
                }
            }
            lines.iter().for_each(Line::check);
            for ((flow, found), ideal) in flows.iter().zip(&found).zip(filled(&flows, &rates)) {
                let off = (*found as f64 - ideal).abs() / ideal;
                assert!(off < 0.01, "seed {seed}, {flow:?}: {found}, not {ideal}");
            }
            for (claim, &(from, to)) in claims.iter_mut().zip(&flows) {
                lines[2 * from].leave(&mut claim[0]);
                lines[2 * to + 1].leave(&mut claim[1]);
            }
            let empty = |line: &Line| (line.claims, line.bound, line.bound_rate) == (0, 0, 0);
            assert!(lines.iter().all(empty), "what left is counted");
        }
    }

    #[test]
    fn a_liar_takes_nothing_from_an_even_part() {
        let (mut line, mut honest) = (Line::new(1_000), Claim::default());
        line.enter(&mut honest);
        let mut liars = [Claim::default(); 3];
        for liar in &mut liars {
            line.enter(liar);
            line.hear(liar, code(1));
        }
        assert_eq!(line.offer(&mut honest), 997);
        // They said that they get little, and now say that they could have all.
        for liar in &mut liars {
            line.hear(liar, u16::MAX);
        }
        assert_eq!(line.offer(&mut honest), 250);
        line.check();
    }
}
