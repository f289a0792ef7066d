//! When messages arrive.

use crate::WorkloadError;
use crate::traffic::Draw;
use model::Rng;
use units::{PS_PER_SEC, Span};

/// The distribution of the time between two arrivals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gaps {
    /// Always the mean.
    Even,
    /// Exponential: a Poisson process.
    Poisson,
    /// Log-normal: bursts and pauses. BFC uses sigma 2. [bfc artefact]
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Gaps {
    /// Refuses numbers that make no distribution.
    pub(crate) fn check(self) -> Result<(), WorkloadError> {
        match self {
            Self::LogNormal { sigma } if !(0.0..=SIGMA_MAX).contains(&sigma) => Err(WorkloadError(
                format!("sigma = {sigma}; log-normal gaps need one from 0 to {SIGMA_MAX}"),
            )),
            Self::Even | Self::Poisson | Self::LogNormal { .. } => Ok(()),
        }
    }
}

/// Beyond this the mean of any number of gaps that a run can have says nothing.
pub const SIGMA_MAX: f64 = 5.0;

/// Whether arrivals are drawn once for the run or for each host by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Per {
    /// One process; each arrival draws its source.
    Run,
    /// One process per host, so that adding a host does not shift the others' arrivals.
    Host,
}

/// An arrival process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrivals {
    /// Time between arrivals.
    pub gaps: Gaps,
    /// Whose arrivals.
    pub per: Per,
}

/// One process: the times between its arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    gaps: Gaps,
    /// In picoseconds.
    mean: f64,
    rng: Rng,
}

impl Process {
    /// Arrivals at `rate` per second.
    pub(crate) fn new(gaps: Gaps, rate: f64, seed: u64, source: u32) -> Self {
        Self {
            gaps,
            mean: PS_PER_SEC as f64 / rate,
            rng: Draw::Gap.stream(seed, source),
        }
    }

    pub(crate) fn gap(&mut self) -> Span {
        let factor = match self.gaps {
            Gaps::Even => 1.0,
            Gaps::Poisson => -libm::log(1.0 - self.rng.unit()),
            // The mean of exp(sigma z) is exp(sigma^2 / 2).
            Gaps::LogNormal { sigma } => libm::exp(sigma * (self.normal() - sigma / 2.0)),
        };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; a gap beyond the end of time becomes that end"
        )]
        let ps = libm::round(self.mean * factor) as u64;
        Span(ps)
    }

    /// A standard normal number. [Box and Muller 1958]
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.rng.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.rng.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, squared coefficient of variation, and share of gaps below the mean.
    fn moments(gaps: Gaps) -> [f64; 3] {
        let mut process = Process::new(gaps, 1e6, 1, 0);
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| process.gap().0 as f64 / 1e6).collect();
        let n = f64::from(n);
        let mean = drawn.iter().sum::<f64>() / n;
        let square = drawn.iter().map(|gap| gap * gap).sum::<f64>() / n;
        let below = drawn.iter().filter(|gap| **gap < 1.0).count() as f64 / n;
        [mean, square / (mean * mean) - 1.0, below]
    }

    fn near(found: [f64; 3], expected: [f64; 3], tolerance: [f64; 3]) {
        for i in 0..3 {
            assert!(
                (found[i] - expected[i]).abs() < tolerance[i],
                "{found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn gaps_have_their_mean_and_their_spread() {
        near(moments(Gaps::Even), [1.0, 0.0, 0.0], [1e-9, 1e-9, 1e-9]);
        near(
            moments(Gaps::Poisson),
            [1.0, 1.0, 0.6321],
            [0.01, 0.03, 0.005],
        );
        // exp(sigma^2) - 1, and Phi(sigma / 2).
        let half = Gaps::LogNormal { sigma: 0.5 };
        near(moments(half), [1.0, 0.2840, 0.5987], [0.005, 0.01, 0.005]);
        let two = moments(Gaps::LogNormal { sigma: 2.0 });
        assert!(
            (two[0] - 1.0).abs() < 0.05 && (two[2] - 0.8413).abs() < 0.005,
            "{two:?}"
        );
    }

    #[test]
    fn a_spread_that_makes_no_sense_is_refused() {
        assert!(Gaps::LogNormal { sigma: 2.0 }.check().is_ok());
        for sigma in [-1.0, f64::NAN, 9.0] {
            let error = Gaps::LogNormal { sigma }.check().unwrap_err().to_string();
            assert!(
                error.contains("log-normal gaps need one from 0 to 5"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_source_has_its_own_gaps() {
        let mut a = Process::new(Gaps::Poisson, 1e6, 1, 0);
        let mut b = Process::new(Gaps::Poisson, 1e6, 1, 1);
        assert_ne!(a.gap(), b.gap());
    }
}
