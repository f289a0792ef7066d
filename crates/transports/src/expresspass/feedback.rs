//! How fast one flow's receiver gives credits. [xpass s3.2]
//!
//! Credits that vanish tell the receiver that some link is full. About once per round trip it
//! compares the share that vanished with the share that it is willing to lose, and moves its rate.
//! A rate is a share of the line's full credit rate, at which the data that the credits release
//! fill the way back.

use units::{Span, Time};

parts::worded! {
    /// Which law moves the rate.
    pub enum Controller {
        /// As in the authors' simulator: a target loss that shrinks to nothing at full rate, an
        /// aggressiveness that grows by steps, and a cut to the rate that got through.
        Artefact = "artefact",
        /// As printed: a constant target loss, an aggressiveness that goes half of the way to its
        /// maximum, and a cut in proportion to the loss.
        Published = "published",
        /// No feedback: always the full rate.
        Naive = "naive",
    }
}

/// The numbers of the law, the same for every flow of a host.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Which law.
    pub controller: Controller,
    /// Smallest aggressiveness.
    pub w_min: f64,
    /// Largest aggressiveness.
    pub w_max: f64,
    /// Aggressiveness of a new flow.
    pub w_init: f64,
    /// Target loss of a flow that stands still; the artefact's law scales it by 1 - rate.
    pub target_scale: f64,
    /// Target loss of the published law.
    pub target_loss: f64,
    /// Time between two credits at the full rate.
    pub period: Span,
}

/// Added to the aggressiveness per period without loss. [xpass artefact, xpass.cc]
const W_STEP: f64 = 0.05;

/// What became of the credits whose fate showed since the last step of the law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Credits of which is known whether they got through.
    pub total: u32,
    /// Those that did not.
    pub lost: u32,
}

impl Tally {
    /// An echo showed that of the `total` credits up to it all but itself were lost.
    #[inline]
    pub fn on_echo(&mut self, total: u32) {
        self.total = self.total.saturating_add(total);
        self.lost = self.lost.saturating_add(total - 1);
    }
}

/// The rate of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Share of the full credit rate.
    rate: f64,
    /// The paper's w: the share of the way to the full rate that one step takes.
    w: f64,
    /// Picoseconds between two credits at this rate; kept because a credit asks for it each time.
    gap: f64,
    /// The last step went up.
    rising: bool,
    /// When the law was last applied.
    at: Time,
    tally: Tally,
}

impl Feedback {
    /// A flow that starts at `rate`, a share of the full rate.
    pub fn new(law: &Law, now: Time, rate: f64) -> Self {
        let rate = if law.controller == Controller::Naive {
            1.0
        } else {
            rate
        };
        let gap = law.period.0 as f64 / rate;
        Self {
            rate,
            w: law.w_init,
            gap,
            rising: false,
            at: now,
            tally: Tally::default(),
        }
    }

    /// The rate, as a share of the full credit rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Mean time between two credits, in picoseconds.
    #[inline]
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// When the law was last applied.
    pub fn applied_at(&self) -> Time {
        self.at
    }

    /// An echo showed that of the `total` credits up to it all but itself were lost.
    #[inline]
    pub fn on_echo(&mut self, total: u32) {
        self.tally.on_echo(total);
    }

    /// What became of credits that is not accounted for in the rate yet.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Goes on with what became of credits that were given before.
    pub fn resume(&mut self, tally: Tally) {
        self.tally = tally;
    }

    /// Applies the law, unless the last time was less than a round trip ago or nothing is known.
    #[inline]
    pub fn on_credit(&mut self, law: &Law, now: Time, rtt: Span) {
        if self.tally.total > 0 && now.since(self.at) >= rtt {
            self.step(law, now, rtt);
        }
    }

    fn step(&mut self, law: &Law, now: Time, rtt: Span) {
        let Tally { total, lost } = self.tally;
        assert!(
            lost < total,
            "{lost} of {total} credits lost, but one came back"
        );
        let loss = f64::from(lost) / f64::from(total);
        let got_through = f64::from(total - lost) * law.period.0 as f64 / span(now.since(self.at));
        match law.controller {
            Controller::Artefact => self.artefact(law, loss, got_through),
            Controller::Published => self.published(law, loss),
            Controller::Naive => {}
        }
        let (floor, ceiling) = (floor(law, rtt), ceiling(law));
        self.settle(law, now, self.rate.max(floor).min(ceiling));
    }

    fn artefact(&mut self, law: &Law, loss: f64, got_through: f64) {
        let target = (1.0 - self.rate) * law.target_scale;
        if loss > target {
            self.rate = self.rate.min(got_through * (1.0 + target));
            self.retreat(law);
        } else {
            // The first period without loss only clears the way.
            if self.rising {
                self.w = (self.w + W_STEP).min(law.w_max);
            }
            self.rising = true;
            if self.rate < 1.0 {
                self.rate += self.w * (1.0 - self.rate);
            }
        }
    }

    fn published(&mut self, law: &Law, loss: f64) {
        if loss > law.target_loss {
            self.rate *= (1.0 - loss) * (1.0 + law.target_loss);
            self.retreat(law);
        } else {
            if self.rising {
                self.w = 0.5 * (self.w + law.w_max);
            }
            self.rising = true;
            self.rate += self.w * (1.0 + law.target_loss - self.rate);
        }
    }

    fn retreat(&mut self, law: &Law) {
        self.w = (0.5 * self.w).max(law.w_min);
        self.rising = false;
    }

    /// Many credits went out and nothing came back: all are lost, or the sender is gone.
    // DEVIATES(xpass-artefact): without an echo it does nothing, so its branch for a loss of all
    // credits is never reached and a receiver keeps its full rate towards a dead sender.
    pub fn on_silence(&mut self, law: &Law, now: Time, rtt: Span) {
        let rate = if law.controller == Controller::Naive {
            self.rate
        } else {
            self.retreat(law);
            self.rate.min(floor(law, rtt))
        };
        self.settle(law, now, rate);
    }

    /// Makes the time to the next credit `factor` times as long, and at least as many round trips,
    /// until the law is applied again.
    pub fn stretch(&mut self, factor: u32, rtt: Span) {
        self.gap = self.gap.max(span(rtt)) * f64::from(factor);
    }

    /// Takes back what stretched the time to the next credit.
    pub fn relax(&mut self, law: &Law) {
        self.gap = law.period.0 as f64 / self.rate;
    }

    fn settle(&mut self, law: &Law, now: Time, rate: f64) {
        self.rate = rate;
        self.gap = law.period.0 as f64 / rate;
        self.at = now;
        self.tally = Tally::default();
    }

    /// Panics where the rate or the aggressiveness left its range.
    pub fn check(&self, law: &Law) {
        assert!(
            self.rate > 0.0 && self.rate <= ceiling(law),
            "rate {}",
            self.rate
        );
        let (low, high) = (law.w_min.min(law.w_init), law.w_max.max(law.w_init));
        assert!(
            (low..=high).contains(&self.w),
            "w {} is not in {low}..={high}",
            self.w
        );
        assert!(self.tally.lost <= self.tally.total);
    }
}

/// One credit per round trip, which keeps the receiver informed.
fn floor(law: &Law, rtt: Span) -> f64 {
    (law.period.0 as f64 / span(rtt)).min(1.0)
}

/// The largest rate: the published law overshoots by its target loss.
fn ceiling(law: &Law) -> f64 {
    match law.controller {
        Controller::Artefact | Controller::Naive => 1.0,
        Controller::Published => 1.0 + law.target_loss,
    }
}

/// A divisor: at least one picosecond.
fn span(span: Span) -> f64 {
    span.0.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expresspass::receiver::picoseconds;
    use model::{Rng, stream};
    use std::fmt::Write;

    const RTT: Span = Span::us(52);

    fn law(controller: Controller) -> Law {
        Law {
            controller,
            w_min: 0.01,
            w_max: 0.5,
            w_init: 1.0 / 16.0,
            target_scale: 0.125,
            target_loss: 0.1,
            // 84 + 1538 bytes at 10 Gb/s.
            period: Span::ps(1_297_600),
        }
    }

    /// The rate in thousandths of the full one after each round trip, of which `loss` gives the
    /// credits lost out of a hundred.
    fn curve(controller: Controller, start: f64, loss: &[u32]) -> String {
        let law = law(controller);
        let mut flow = Feedback::new(&law, Time::ZERO, start);
        let mut now = Time::ZERO;
        let mut text = String::new();
        for &lost in loss {
            // As many credits as the rate makes in a round trip; `lost` of a hundred vanish.
            let total = (RTT.0 / picoseconds(flow.gap()).0).max(1);
            let total = u32::try_from(total).unwrap();
            let through = (total * (100 - lost) / 100).max(1);
            (0..through).for_each(|_| flow.on_echo(1));
            flow.tally.total += total - through;
            flow.tally.lost += total - through;
            now += RTT;
            flow.on_credit(&law, now, RTT);
            flow.check(&law);
            write!(text, "{:.0} ", flow.rate() * 1000.0).unwrap();
        }
        text
    }

    #[test]
    fn alone_the_artefacts_law_climbs_ever_faster_and_never_over_the_line() {
        assert_eq!(
            curve(Controller::Artefact, 0.5, &[0; 12]),
            "531 584 652 726 798 861 911 948 972 986 993 996 "
        );
    }

    #[test]
    fn alone_the_published_law_ends_above_the_line_by_its_target_loss() {
        assert_eq!(
            curve(Controller::Published, 0.0625, &[0; 12]),
            "127 401 674 864 975 1036 1068 1084 1092 1096 1098 1099 "
        );
    }

    #[test]
    fn loss_cuts_the_artefacts_rate_to_what_got_through_and_makes_it_timid() {
        assert_eq!(
            curve(Controller::Artefact, 1.0, &[0, 0, 50, 0, 0, 0, 50, 50, 0]),
            "1000 1000 499 527 577 644 313 163 195 "
        );
    }

    #[test]
    fn loss_cuts_the_published_rate_in_proportion() {
        assert_eq!(
            curve(Controller::Published, 1.0, &[0, 0, 50, 0, 0, 0, 50, 50, 0]),
            "1006 1033 554 631 781 912 502 276 360 "
        );
    }

    #[test]
    fn naive_never_moves() {
        assert_eq!(
            curve(Controller::Naive, 0.5, &[0, 50, 90]),
            "1000 1000 1000 "
        );
    }

    #[test]
    fn silence_leaves_one_credit_per_round_trip() {
        let law = law(Controller::Artefact);
        let mut flow = Feedback::new(&law, Time::ZERO, 1.0);
        flow.on_silence(&law, Time(RTT.0), RTT);
        flow.check(&law);
        assert!((flow.gap() - RTT.0 as f64).abs() < 1.0, "{}", flow.gap());
    }

    #[test]
    fn nothing_moves_within_a_round_trip_or_without_news() {
        let law = law(Controller::Artefact);
        let mut flow = Feedback::new(&law, Time::ZERO, 0.5);
        flow.on_credit(&law, Time(10 * RTT.0), RTT);
        flow.on_echo(1);
        flow.on_credit(&law, Time(RTT.0 - 1), RTT);
        assert!((flow.rate() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn no_script_of_echoes_and_silences_leaves_the_range() {
        for controller in [
            Controller::Artefact,
            Controller::Published,
            Controller::Naive,
        ] {
            let law = law(controller);
            let mut rng = Rng::stream(1, stream::TEST, 3);
            let mut flow = Feedback::new(&law, Time::ZERO, 0.001);
            let mut now = Time::ZERO;
            for _ in 0..20_000 {
                now += Span(rng.below(2 * RTT.0));
                match rng.below(10) {
                    0 => flow.on_silence(&law, now, RTT),
                    1..=5 => flow.on_echo(1 + u32::try_from(rng.below(20)).unwrap()),
                    _ => flow.on_credit(&law, now, Span(1 + rng.below(3 * RTT.0))),
                }
                flow.check(&law);
            }
        }
    }
}
