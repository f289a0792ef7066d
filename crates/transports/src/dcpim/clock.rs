//! Epochs and rounds: whose turn it is, by a clock that all hosts roughly share.
//!
//! Round `b` is number `b % epoch` of epoch `b / epoch`, and the first [`Settings::rounds`] of an epoch match hosts for
//! the data of that epoch, which begins when they are over. In the simulator all clocks show the time of the run; on a
//! wire each driver has its own, and a host joins the clock of whoever is ahead of it.

use super::settings::Settings;
use model::Rng;
use units::{Span, Time};

/// Epochs are told modulo this.
const EPOCHS: u64 = 1 << 16;
/// Epochs between two moments at which a host joins the clock of another: a liar costs one in so many. [ours]
const JOINS_EVERY: u64 = 16;

/// The clock of one host.
#[derive(Debug)]
pub(super) struct Clock {
    /// How far ahead it is of the driver's; none before it was first asked for.
    shift: Option<u64>,
    round: Span,
    epoch: u64,
    /// When it may join another's.
    joins_at: Time,
}

/// A moment of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Receivers ask.
    Begin,
    /// Senders offer.
    Half,
    /// Receivers take, and ask in the next.
    End,
}

impl Clock {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            shift: None,
            round: settings.round,
            epoch: settings.epoch.into(),
            joins_at: Time::ZERO,
        }
    }

    /// Draws how far ahead it is, before it is first looked at.
    pub(super) fn start_ahead(&mut self, rng: &mut Rng, most: Span) {
        if self.shift.is_none() {
            let ahead = if most == Span::ZERO {
                0
            } else {
                rng.below(most.0 + 1)
            };
            self.shift = Some(ahead);
        }
    }

    fn shift(&self) -> u64 {
        self.shift.unwrap_or(0)
    }

    /// The round at `now`.
    #[inline]
    pub(super) fn round(&self, now: Time) -> u64 {
        (now.0 + self.shift()) / self.round.0
    }

    /// When a round has come to a stage; at once where that was before the clock began.
    #[inline]
    pub(super) fn when(&self, round: u64, stage: Stage) -> Time {
        let at = round.saturating_mul(self.round.0);
        Time((at + self.within(stage)).saturating_sub(self.shift()))
    }

    fn within(&self, stage: Stage) -> u64 {
        match stage {
            Stage::Begin => 0,
            Stage::Half => self.round.0 / 2,
            Stage::End => self.round.0,
        }
    }

    /// How a round is told.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "modulo 2^16, and below 64 rounds times 64"
    )]
    pub(super) fn told(&self, round: u64) -> (u16, u8) {
        ((round / self.epoch) as u16, (round % self.epoch) as u8)
    }

    /// The round that was told, as near to `now` as it can be; none where that was before the clock began.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "a difference modulo 2^16"
    )]
    pub(super) fn heard(&self, now: Time, epoch: u16, round: u8) -> Option<u64> {
        let own = self.round(now) / self.epoch;
        let ahead = epoch.wrapping_sub(own as u16) as i16;
        let epoch = own.checked_add_signed(ahead.into())?;
        Some(epoch * self.epoch + u64::from(round))
    }

    /// Something arrives that its host said at a stage of a round: whether this clock was behind and has been set.
    pub(super) fn join(&mut self, now: Time, round: u64, stage: Stage, one_way: Span) -> bool {
        let own = now.0 + self.shift();
        let said = round * self.round.0 + self.within(stage);
        if said <= own + self.round.0 / 2 || now < self.joins_at {
            return false;
        }
        let ahead = said + one_way.0 - now.0.min(said);
        let epochs = self.round.0 * self.epoch;
        self.shift = Some(ahead % (epochs * EPOCHS));
        self.joins_at = now.after(Span(epochs * JOINS_EVERY));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 10, four in an epoch.
    fn clock(shift: u64) -> Clock {
        Clock {
            shift: Some(shift),
            round: Span(10),
            epoch: 4,
            joins_at: Time::ZERO,
        }
    }

    #[test]
    fn rounds_follow_each_other_and_are_told_modulo_their_epochs() {
        let clock = clock(3);
        assert_eq!((clock.round(Time(6)), clock.round(Time(7))), (0, 1));
        let stages = [Stage::Begin, Stage::Half, Stage::End].map(|stage| clock.when(2, stage));
        assert_eq!(stages, [Time(17), Time(22), Time(27)]);
        assert_eq!(clock.when(0, Stage::Begin), Time(0), "it has begun already");
        assert_eq!(clock.told(4 * 65_537 + 3), (1, 3));
        // Epoch 1, as seen from epoch 65,536, is the next one; seen from epoch 0 likewise.
        let late = Time(65_536 * 40);
        assert_eq!(clock.heard(late, 1, 3), Some(4 * 65_537 + 3));
        assert_eq!(clock.heard(Time(0), 1, 3), Some(7));
        assert_eq!(clock.heard(Time(0), 65_535, 3), None, "before its time");
    }

    #[test]
    fn who_is_behind_joins_and_seldom_again() {
        let mut clock = clock(0);
        let join =
            |clock: &mut Clock, now, round| clock.join(Time(now), round, Stage::Half, Span(4));
        // Said at 95; here it is 90 or later.
        assert!(!join(&mut clock, 90, 9));
        assert!(!join(&mut clock, 100, 9));
        assert!(join(&mut clock, 80, 9));
        assert_eq!((clock.shift, clock.round(Time(80))), (Some(95 + 4 - 80), 9));
        assert!(!join(&mut clock, 719, 900), "a liar");
        assert!(join(&mut clock, 720, 900));
        // A liar for ever does not reach the end of numbers.
        for n in 2..5_000u64 {
            let now = Time(720 * n);
            let far = clock.heard(now, clock.told(clock.round(now)).0.wrapping_add(32_767), 63);
            assert!(clock.join(now, far.unwrap(), Stage::End, Span(4)));
            assert!(clock.shift.unwrap() < 10 * 4 * EPOCHS);
        }
    }

    #[test]
    fn a_new_clock_is_ahead_by_a_time_that_is_drawn_once() {
        let mut rng = Rng::stream(1, model::stream::TEST, 0);
        let mut ahead = |most| {
            let mut new = Clock {
                shift: None,
                ..clock(0)
            };
            assert_eq!(new.shift(), 0, "before it is asked for");
            new.start_ahead(&mut rng, Span(most));
            let drawn = new.shift.unwrap();
            new.start_ahead(&mut rng, Span(1_000_000));
            assert_eq!(new.shift, Some(drawn), "it is not drawn again");
            drawn
        };
        assert_eq!(ahead(0), 0);
        let mut drawn = [(); 200].map(|()| ahead(3));
        drawn.sort_unstable();
        assert_eq!((drawn[0], drawn[199]), (0, 3));
    }
}
