//! What a receiver keeps while it gives credits: its rate, and when it sent which credit.

use super::feedback::{Feedback, Law};
use units::{Span, Time};

/// Send times that are kept at first, and at most: 4096 credits cover a round trip of 53 us at
/// 800 Gb/s. Older credits are accounted for, but give no round trip.
const SENT_AT_MIN: usize = 16;
const SENT_AT_MAX: usize = 4096;
/// This many credits without an answer, all two round trips old, count as silence: fewer are
/// often lost by chance. [ours]
const SILENT_CREDITS: u64 = 8;
/// A sender that has answered none of this many credits may be nobody: it gets them ever more
/// rarely, down to one in two to the power of `DOUBLINGS_MAX` round trips. A smaller number slows
/// down senders whose first credits an incast has lost. [ours]
const UNPROVEN_CREDITS: u64 = 64;
const DOUBLINGS_MAX: u8 = 8;

/// The part of a receiver that exists only while it gives credits.
#[derive(Clone, Debug)]
pub(super) struct Crediting {
    pub(super) feedback: Feedback,
    /// Credits up to this number are accounted for as answered or lost.
    accounted: u64,
    /// When data, or a request, came last.
    heard_at: Time,
    /// When data came last that answers a credit, or giving began.
    answered_at: Time,
    /// Credits given before.
    given_before: u64,
    /// Whether any such data has come.
    proven: bool,
    /// How often the time between two credits has doubled because none came.
    doublings: u8,
    /// When each credit was given, by number modulo the length: a power of two.
    sent_at: Vec<Time>,
    /// The first credit in `sent_at`.
    sent_from: u64,
    /// The burst that follows the request, until its fate is known.
    burst: Option<Box<Expected>>,
}

/// What a burst brings without a credit. [ours: aeolus leaves open what becomes of credits for it]
///
/// Its packets follow the request at line rate. One that is late was dropped, or its sender's line is
/// busy with others: it will need a credit.
#[derive(Clone, Debug)]
struct Expected {
    /// When the request came.
    from: Time,
    /// Packets that the burst may bring.
    frames: u32,
    /// Line time of one.
    frame_time: Span,
    /// Packets of it that have come.
    arrived: u32,
    /// Packets that were asked for and do not fit the burst.
    beyond: u32,
    /// A credit was held back.
    held: bool,
}

impl Expected {
    /// Packets that will not come without a credit, as far as can be told at `now`.
    fn demand(&self, now: Time) -> u64 {
        let due = now.since(self.from).0 / self.frame_time.0.max(1);
        let late = due
            .min(u64::from(self.frames))
            .saturating_sub(u64::from(self.arrived));
        u64::from(self.beyond) + late
    }
}

impl Crediting {
    /// Starts at `rate`, having given `given` credits before.
    pub(super) fn new(law: &Law, now: Time, rate: f64, given: u64) -> Self {
        Self {
            feedback: Feedback::new(law, now, rate),
            accounted: given,
            heard_at: now,
            answered_at: now,
            given_before: given,
            proven: false,
            doublings: 0,
            sent_at: vec![Time::ZERO; SENT_AT_MIN],
            sent_from: given + 1,
            burst: None,
        }
    }

    /// A burst of up to `frames` packets follows a request for `packets`.
    pub(super) fn expect(&mut self, now: Time, packets: u32, frames: u32, frame_time: Span) {
        self.burst = (frames > 0).then(|| {
            Box::new(Expected {
                from: now,
                frames: frames.min(packets),
                frame_time,
                arrived: 0,
                beyond: packets.saturating_sub(frames),
                held: false,
            })
        });
    }

    /// A packet of the burst has come.
    pub(super) fn on_unscheduled(&mut self, now: Time) {
        self.heard_at = now;
        if let Some(burst) = &mut self.burst {
            burst.arrived = burst.arrived.saturating_add(1);
        }
    }

    /// The burst is over, or there is none any more. Returns whether credits were held back for it.
    pub(super) fn end_burst(&mut self) -> bool {
        // Where all has come no credit is owed, and a STOP is on its way.
        let whole = |burst: &Expected| burst.beyond == 0 && burst.arrived >= burst.frames;
        if self.burst.as_deref().is_some_and(whole) {
            return false;
        }
        self.burst.take().is_some_and(|burst| burst.held)
    }

    /// Whether the next credit would bring nothing: all that was asked for and is not late comes with
    /// the burst, or on credits given before. Not for longer than the burst and a round trip: credits
    /// may be lost.
    #[inline]
    pub(super) fn holds_back(&mut self, now: Time, rtt: Span, given: u64) -> bool {
        if self.burst.is_none() {
            return false;
        }
        self.burst_brings_all(now, rtt, given)
    }

    #[cold]
    fn burst_brings_all(&mut self, now: Time, rtt: Span, given: u64) -> bool {
        let Some(burst) = &mut self.burst else {
            return false;
        };
        let lasts = burst.frame_time.times(u64::from(burst.frames)) + rtt;
        if now.since(burst.from) >= lasts {
            self.burst = None;
            return false;
        }
        burst.held = given - self.given_before >= burst.demand(now);
        burst.held
    }

    pub(super) fn heard_at(&self) -> Time {
        self.heard_at
    }
    pub(super) fn on_request(&mut self, now: Time) {
        self.heard_at = now;
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "masked to the length of a Vec"
    )]
    fn place(&self, credit: u64) -> usize {
        credit as usize & (self.sent_at.len() - 1)
    }

    /// Credit number `given` leaves now.
    #[inline]
    pub(super) fn note_sent(&mut self, given: u64, now: Time) {
        let len = self.sent_at.len();
        // The credit that this one would push out is not accounted for yet.
        let oldest = self.accounted.max(self.sent_from - 1) + 1;
        if given - oldest >= len as u64 && len < SENT_AT_MAX {
            self.grow(oldest, given);
        }
        let place = self.place(given);
        self.sent_at[place] = now;
    }

    #[cold]
    fn grow(&mut self, oldest: u64, given: u64) {
        let len = self.sent_at.len();
        let old = std::mem::replace(&mut self.sent_at, vec![Time::ZERO; 2 * len]);
        // At most `len` of them are still there.
        let oldest = oldest.max(given.saturating_sub(len as u64));
        for credit in oldest..given {
            let (from, to) = (credit % len as u64, self.place(credit));
            self.sent_at[to] = old[usize::try_from(from).expect("below a length")];
        }
        self.sent_from = self.sent_from.max(oldest);
    }

    /// When credit `number` of `given` was sent, if that is still known.
    #[inline]
    fn sent_at(&self, number: u64, given: u64) -> Option<Time> {
        let known = number >= self.sent_from && given - number < self.sent_at.len() as u64;
        known.then(|| self.sent_at[self.place(number)])
    }

    /// Data came that answers credit `number` of `given`. Returns the round trip, where the
    /// credit's time is still known.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, number: u64, given: u64) -> Option<Span> {
        (self.heard_at, self.answered_at) = (now, now);
        self.proven = true;
        // Credits and data keep their order on a path: a gap is a loss. What was overtaken after
        // all has been counted as lost, and stays so.
        let through = number.saturating_sub(self.accounted);
        if through > 0 {
            self.accounted = number;
            self.feedback
                .on_echo(u32::try_from(through).unwrap_or(u32::MAX));
        }
        self.sent_at(number, given).map(|sent| now.since(sent))
    }

    /// Lets the law see what is known, before a credit is given.
    #[inline]
    pub(super) fn apply(&mut self, law: &Law, now: Time, rtt: Span, given: u64) {
        self.feedback.on_credit(law, now, rtt);
        if now.since(self.answered_at) >= rtt.times(2) {
            self.listen(law, now, rtt, given);
        }
    }

    /// Nothing has come for two round trips: were there enough credits to tell?
    #[cold]
    fn listen(&mut self, law: &Law, now: Time, rtt: Span, given: u64) {
        let last = self.accounted
            + if self.doublings > 0 {
                1
            } else {
                SILENT_CREDITS
            };
        let long_ago = given >= last
            && self
                .sent_at(last, given)
                .is_none_or(|sent| now.since(sent) >= rtt.times(2));
        if long_ago && now.since(self.feedback.applied_at()) >= rtt {
            self.accounted = last;
            self.feedback.on_silence(law, now, rtt);
            if !self.proven && given - self.given_before >= UNPROVEN_CREDITS {
                self.doublings = (self.doublings + 1).min(DOUBLINGS_MAX);
                self.feedback.stretch(1 << self.doublings);
            }
        }
    }

    /// Whether the next credit is further away than the rate says, though the sender has answered
    /// by now; once.
    #[inline]
    pub(super) fn take_relief(&mut self) -> bool {
        let relief = self.doublings > 0 && self.proven;
        if relief {
            self.doublings = 0;
        }
        relief
    }

    pub(super) fn check(&self, law: &Law, given: u64) {
        self.feedback.check(law);
        assert!(
            self.accounted <= given,
            "{} of {given} accounted for",
            self.accounted
        );
        assert!(self.sent_at.len().is_power_of_two() && self.sent_at.len() <= SENT_AT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expresspass::feedback::Controller;

    const LAW: Law = Law {
        controller: Controller::Artefact,
        w_min: 0.01,
        w_max: 0.5,
        w_init: 0.0625,
        target_scale: 0.125,
        target_loss: 0.1,
        period: Span(1_297_600),
    };
    const RTT: Span = Span::us(50);

    #[test]
    fn round_trips_are_known_however_many_credits_are_on_the_way() {
        for on_the_way in [1, 15, 16, 17, 300, 4095] {
            let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 7);
            for given in 8..20_000u64 {
                flow.note_sent(given, Time(given * 100));
                if let Some(number) = given.checked_sub(on_the_way).filter(|&n| n > 7) {
                    let rtt = flow.on_data(Time(given * 100), number, given);
                    assert_eq!(rtt, Some(Span(on_the_way * 100)), "{number} of {given}");
                }
                flow.check(&LAW, given);
            }
        }
    }

    #[test]
    fn credits_of_an_earlier_life_give_no_round_trip() {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 7);
        flow.note_sent(8, Time(5));
        assert_eq!(flow.on_data(Time(9), 7, 8), None);
        assert_eq!(flow.on_data(Time(9), 8, 8), Some(Span(4)));
    }

    #[test]
    fn a_burst_that_came_whole_brings_no_credit_when_its_end_is_heard() {
        let expecting = |arrived| {
            let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
            flow.expect(Time::ZERO, 2, 2, Span::us(1));
            (0..arrived).for_each(|_| flow.on_unscheduled(Time::ZERO));
            assert!(flow.holds_back(Time::ZERO, RTT, 0));
            flow
        };
        let (mut half, mut whole) = (expecting(1), expecting(2));
        assert!(half.end_burst() && !half.holds_back(Time::ZERO, RTT, 0));
        assert!(!whole.end_burst() && whole.holds_back(Time::ZERO, RTT, 0));
        let late = Time(10 * RTT.0);
        assert!(!whole.holds_back(late, RTT, 0), "a STOP may be lost");
    }

    #[test]
    fn silence_makes_credits_ever_rarer() {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
        let (mut now, mut given) = (Time::ZERO, 0);
        while now < Time(RTT.0 * 100) {
            flow.apply(&LAW, now, RTT, given);
            given += 1;
            flow.note_sent(given, now);
            flow.check(&LAW, given);
            now += crate::expresspass::receiver::picoseconds(flow.feedback.gap());
        }
        // 2 round trips at half rate, one credit per round trip up to 64, and then one after 2, 4,
        // 8, ... of them; without the law: 1,927.
        assert!((64..80).contains(&given), "{given}");
    }
}
