//! What a receiver keeps while it gives credits: its rate, and when it sent which credit.

use super::expected::Expected;
use super::feedback::{Controller, Feedback, Law, Tally};
use units::{Span, Time};

/// Send times that are kept at first, and at most: 4096 credits cover a round trip of 53 us at
/// 800 Gb/s. Older credits are accounted for, but give no round trip.
const SENT_AT_MIN: usize = 16;
const SENT_AT_MAX: usize = 4096;

/// When a receiver takes silence for loss, and when for death. [ours]
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// Credits without an answer, all two round trips old, that count as the loss of all; 0 where
    /// nothing does.
    pub(super) lost: u16,
    /// Credits that left the host and brought nothing, after which the sender is asked whether it
    /// lives; 0 for never.
    pub(super) asks_after: u16,
    /// How often the time between two credits doubles, at most, while it does not answer.
    pub(super) doublings_max: u8,
    /// Whether a sender is told that its request has come where its credits may be lost.
    pub(super) tells: bool,
    /// Silence that each other connection of the sender's host explains, if it wants credits.
    pub(super) patience: Span,
}

/// What a receiver says while its credits bring nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// The request has come.
    Heard,
    /// Is the sender still there?
    Asks,
}

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
    /// Credits that have left the host since the sender was last heard: what its own line drops says
    /// nothing about the sender.
    unheard: u32,
    /// The sender has been told that its request has come, or has answered.
    told: bool,
    /// How many connections of the sender's host wanted credits, as an exponent of two.
    crowd: u8,
    /// The sender was asked whether it lives, and has not been heard since.
    asked: bool,
    /// How often the time between two credits has doubled because it did not answer.
    doublings: u8,
    /// When each credit was given, by number modulo the length: a power of two.
    sent_at: Vec<Time>,
    /// The first credit in `sent_at`.
    sent_from: u64,
    /// The burst that follows the request, until its fate is known.
    burst: Option<Box<Expected>>,
}

impl Crediting {
    /// Starts at `rate`, having given `given` credits before.
    pub(super) fn new(law: &Law, now: Time, rate: f64, given: u64) -> Self {
        Self {
            crowd: 0,
            feedback: Feedback::new(law, now, rate),
            accounted: given,
            heard_at: now,
            answered_at: now,
            given_before: given,
            unheard: 0,
            told: false,
            asked: false,
            doublings: 0,
            sent_at: vec![Time::ZERO; SENT_AT_MIN],
            sent_from: given + 1,
            burst: None,
        }
    }

    /// The receiver gave credits before, and has been told of those up to `accounted`.
    #[cold]
    pub(super) fn resume(&mut self, tally: Tally, accounted: u64) {
        self.accounted = accounted;
        self.feedback.resume(tally);
    }

    /// The request says how many connections of its host want credits.
    pub(super) fn note_crowd(&mut self, crowd: u8) {
        self.crowd = crowd;
    }

    /// A burst follows the request.
    pub(super) fn expect(&mut self, burst: Expected) {
        self.burst = Some(Box::new(burst));
    }

    /// Credits given since giving began, `given` being all of them.
    fn given_since(&self, given: u64) -> u64 {
        given - self.given_before
    }

    /// The own line dropped a credit.
    #[cold]
    pub(super) fn on_drop(&mut self) {
        if let Some(burst) = &mut self.burst {
            burst.on_drop();
        }
    }

    /// A packet of the burst has come, and `lost` others are known to be lost. Returns whether the credit
    /// that was held back is wanted now.
    pub(super) fn on_unscheduled(&mut self, now: Time, lost: u64, given: u64) -> bool {
        (self.heard_at, self.unheard, self.told) = (now, 0, true);
        let given = self.given_since(given);
        self.burst
            .as_mut()
            .is_some_and(|burst| burst.on_news(lost, given))
    }

    /// The burst has ended: `whole` says whether all of it came. Returns whether the credit that was held
    /// back is wanted now.
    pub(super) fn end_burst(&mut self, now: Time, rtt: Span, whole: bool) -> bool {
        let stays = |burst: &mut Box<Expected>| whole && burst.on_whole(now, rtt);
        if self.burst.as_mut().is_some_and(stays) {
            return false;
        }
        self.burst.take().is_some_and(|burst| burst.is_held())
    }

    /// Data has come that answers a credit: the burst has ended before. Returns whether the credit that
    /// was held back is wanted now.
    #[inline]
    pub(super) fn on_answer(&mut self) -> bool {
        self.burst.is_some() && self.burst.take().is_some_and(|burst| burst.is_held())
    }

    /// Until when the next credit is held back because all that it could bring comes with the burst,
    /// or on credits given before.
    #[inline]
    #[allow(clippy::question_mark, reason = "it asks, and takes nothing")]
    pub(super) fn holds_back(&mut self, now: Time, given: u64) -> Option<Time> {
        if self.burst.is_none() {
            return None;
        }
        self.burst_brings_all(now, given)
    }

    #[cold]
    fn burst_brings_all(&mut self, now: Time, given: u64) -> Option<Time> {
        let given = self.given_since(given);
        let burst = self.burst.as_mut()?;
        if burst.is_over(now) {
            self.burst = None;
            return None;
        }
        burst.holds_back(now, given)
    }

    pub(super) fn heard_at(&self) -> Time {
        self.heard_at
    }
    /// A repeated request: the sender lives. It is told so by the answer.
    pub(super) fn on_request(&mut self, now: Time) {
        (self.heard_at, self.unheard, self.told) = (now, 0, true);
    }

    /// A credit has left the host.
    #[inline]
    pub(super) fn note_left(&mut self) {
        self.unheard = self.unheard.saturating_add(1);
    }

    /// The sender is to be told that its request has come: the line has dropped the first credit.
    pub(super) fn take_drop(&mut self) -> bool {
        let first = self.unheard == 0 && !self.told;
        self.told |= first;
        first
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
        (self.unheard, self.told) = (0, true);
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

    /// Lets the law see what is known, before a credit is given. Returns what is to be said beside it.
    #[inline]
    pub(super) fn apply(
        &mut self,
        (law, silence): (&Law, &Silence),
        now: Time,
        rtt: Span,
        given: u64,
    ) -> Option<Word> {
        self.feedback.on_credit(law, now, rtt);
        if now.since(self.answered_at) < rtt.times(2) {
            return None;
        }
        self.listen((law, silence), now, rtt, given)
    }

    /// Nothing has come for two round trips: were there enough credits to tell?
    #[cold]
    fn listen(
        &mut self,
        (law, silence): (&Law, &Silence),
        now: Time,
        rtt: Span,
        given: u64,
    ) -> Option<Word> {
        // Its crowd may be all that keeps the sender's credits from it, and those who give them would
        // all speak at the same moment.
        let explained = silence.patience.times((1 << self.crowd) - 1);
        let unheard_for = now.since(self.heard_at);
        let due = silence.tells && unheard_for >= Span(explained.0 / 2);
        let tells = due && !std::mem::replace(&mut self.told, true);
        let word = tells.then_some(Word::Heard);
        let enough = if self.doublings > 0 { 1 } else { silence.lost };
        let last = self.accounted + u64::from(enough);
        let long_ago = given >= last
            && self
                .sent_at(last, given)
                .is_none_or(|sent| now.since(sent) >= rtt.times(2));
        if silence.lost == 0 || !long_ago || now.since(self.feedback.applied_at()) < rtt {
            return word;
        }
        self.accounted = last;
        self.feedback.on_silence(law, now, rtt);
        // Naive credits are lost by the hundred: questions would cost more than they save.
        let asks = silence.asks_after > 0 && law.controller != Controller::Naive;
        let long_unheard =
            self.unheard >= u32::from(silence.asks_after) && unheard_for >= explained;
        if !asks || !long_unheard {
            return word;
        }
        // A sender that lives answers at once, and credits go on: only a dead one costs time.
        if std::mem::replace(&mut self.asked, true) {
            self.doublings = (self.doublings + 1).min(silence.doublings_max);
            self.feedback.stretch(1 << self.doublings, rtt);
        }
        Some(Word::Asks)
    }

    /// Whether the next credit is further away than the rate says, though the sender has been heard
    /// by now; once.
    #[inline]
    pub(super) fn take_relief(&mut self, law: &Law) -> bool {
        self.asked && self.unheard == 0 && self.relieve(law)
    }

    #[cold]
    fn relieve(&mut self, law: &Law) -> bool {
        self.asked = false;
        self.feedback.relax(law);
        std::mem::take(&mut self.doublings) > 0
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

    const LAW: Law = Law {
        controller: Controller::Artefact,
        w_min: 0.01,
        w_max: 0.5,
        w_init: 0.0625,
        target_scale: 0.125,
        target_loss: 0.1,
        period: Span(1_297_600),
    };
    const SILENCE: Silence = Silence {
        lost: 8,
        asks_after: 64,
        doublings_max: 8,
        tells: true,
        patience: Span::us(20),
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
    fn of_more_credits_than_are_kept_the_oldest_give_no_round_trip() {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
        let most = SENT_AT_MAX as u64;
        for given in 1..=2 * most {
            flow.note_sent(given, Time(given));
            flow.check(&LAW, given);
        }
        let mut round_trip = |number| flow.on_data(Time(9 * most), number, 2 * most);
        assert_eq!(round_trip(most), None);
        assert_eq!(round_trip(most + 1), Some(Span(8 * most - 1)));
    }

    #[test]
    fn credits_of_an_earlier_life_give_no_round_trip() {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 7);
        flow.note_sent(8, Time(5));
        assert_eq!(flow.on_data(Time(9), 7, 8), None);
        assert_eq!(flow.on_data(Time(9), 8, 8), Some(Span(4)));
    }

    #[test]
    fn what_is_known_of_earlier_credits_sets_the_rate_of_the_second() {
        // Most of the credits before were lost, so that the law leaves one per round trip: more than a
        // message of one packet starts with.
        let rate = |resumes| {
            let mut flow = Crediting::new(&LAW, Time::ZERO, 1.0 / 80.0, 7);
            if resumes {
                flow.resume(Tally { total: 5, lost: 4 }, 6);
            }
            flow.note_sent(8, Time::ZERO);
            assert_eq!(flow.apply((&LAW, &SILENCE), Time(RTT.0), RTT, 8), None);
            flow.check(&LAW, 8);
            flow.feedback.rate()
        };
        let per_rtt = LAW.period.0 as f64 / RTT.0 as f64;
        assert!((rate(false) - 1.0 / 80.0).abs() < 1e-9 && per_rtt > 1.0 / 80.0);
        assert!((rate(true) - per_rtt).abs() < 1e-9, "{}", rate(true));
    }

    #[test]
    fn credits_are_given_for_what_a_burst_does_not_bring_and_no_others() {
        let expecting = |packets, unasked| {
            let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 7);
            flow.expect(Expected::new(
                Time::ZERO,
                packets,
                unasked,
                Span::us(1),
                RTT,
            ));
            flow
        };
        let end = Time(3 * Span::us(1).0 + 2 * RTT.0);
        // Two of five do not follow unasked.
        let mut flow = expecting(5, 3);
        assert_eq!(
            (flow.holds_back(Time(0), 7), flow.holds_back(Time(1), 8)),
            (None, None)
        );
        assert_eq!(flow.holds_back(Time(2), 9), Some(end));
        // The own line lost one of their credits, and the network one packet.
        flow.on_drop();
        assert!(flow.on_unscheduled(Time(9), 0, 9));
        assert_eq!(
            (flow.holds_back(Time(9), 9), flow.holds_back(Time(10), 10)),
            (None, Some(end))
        );
        assert!(flow.on_unscheduled(Time(11), 1, 10));
        // Late is lost.
        assert_eq!(
            (flow.holds_back(Time(11), 11), flow.holds_back(end, 11)),
            (Some(end), None)
        );
        // The probe tells.
        let (mut some, mut all) = (expecting(3, 3), expecting(3, 3));
        assert!(some.holds_back(Time(0), 7).is_some() && all.holds_back(Time(0), 7).is_some());
        assert!(some.end_burst(Time(8), RTT, false));
        assert_eq!(some.holds_back(Time(8), 20), None, "credits may be lost");
        assert!(!all.end_burst(Time(8), RTT, true));
        assert!(all.holds_back(Time(8), 7).is_some());
        assert_eq!(
            all.holds_back(Time(10 * RTT.0), 7),
            None,
            "a STOP may be lost"
        );
    }

    /// Gives credits for 1000 round trips that nobody answers; `leaves` says of the `n`th whether
    /// it leaves the host, `replies` whether the sender asks again when it is asked. Returns how many
    /// credits were given, and how often it was asked.
    fn in_vain(leaves: impl Fn(u64) -> bool, replies: bool) -> (u64, u32) {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
        let (mut now, mut given, mut asked) = (Time::ZERO, 0, 0);
        while now < Time(RTT.0 * 1000) {
            if flow.apply((&LAW, &SILENCE), now, RTT, given) == Some(Word::Asks) {
                asked += 1;
                if replies {
                    flow.on_request(now);
                    flow.take_relief(&LAW);
                }
            }
            given += 1;
            flow.note_sent(given, now);
            if leaves(given) {
                flow.note_left();
            }
            flow.check(&LAW, given);
            now += crate::expresspass::receiver::picoseconds(flow.feedback.gap());
        }
        (given, asked)
    }

    #[test]
    fn the_dead_get_credits_ever_more_rarely() {
        // Two round trips at half rate, one credit per round trip up to 64 and a few, and then one
        // after 2, 4, 8, ... of them.
        let (given, asked) = in_vain(|_| true, false);
        assert!((72..90).contains(&given) && asked >= 9, "{given}, {asked}");
    }

    #[test]
    fn a_sender_that_says_it_lives_gets_a_credit_per_round_trip_although_all_are_lost() {
        let (given, asked) = in_vain(|_| true, true);
        assert!(
            given > 1000 && (10..20).contains(&asked),
            "{given}, {asked}"
        );
    }

    #[test]
    fn what_the_own_line_drops_is_no_silence_of_the_sender() {
        // One in twenty leaves, as for the 20 flows of an incast: 50 in 1000 round trips.
        let (given, asked) = in_vain(|n| n % 20 == 0, false);
        assert!(given > 1000 && asked == 0, "{given}, {asked}");
    }

    #[test]
    fn a_sender_is_told_once_that_it_was_heard_when_two_round_trips_bring_nothing() {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
        flow.note_sent(1, Time::ZERO);
        let mut apply = |now| flow.apply((&LAW, &SILENCE), Time(now), RTT, 1);
        let two = 2 * RTT.0;
        let said = [two - 1, two, two + 1].map(&mut apply);
        assert_eq!(said, [None, Some(Word::Heard), None]);
    }

    #[test]
    fn a_credit_comes_sooner_when_the_sender_is_heard_and_only_once() {
        let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
        let (mut now, mut given) = (Time::ZERO, 0);
        while flow.doublings == 0 {
            flow.apply((&LAW, &SILENCE), now, RTT, given);
            given += 1;
            flow.note_sent(given, now);
            flow.note_left();
            now += crate::expresspass::receiver::picoseconds(flow.feedback.gap());
        }
        assert!(!flow.take_relief(&LAW), "nothing was heard");
        flow.on_request(now);
        assert!(flow.take_relief(&LAW));
        assert!(!flow.take_relief(&LAW), "it has had it");
    }

    #[test]
    fn broken_books_are_noticed() {
        let flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
        flow.check(&LAW, flow.accounted);
        let breaks: [fn(&mut Crediting); 2] = [|x| x.accounted += 1, |x| x.sent_at.push(Time(1))];
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut flow = Crediting::new(&LAW, Time::ZERO, 0.5, 0);
            let given = flow.accounted;
            spoil(&mut flow);
            let noticed = std::panic::catch_unwind(|| flow.check(&LAW, given)).is_err();
            assert!(noticed, "{n}");
        }
    }
}
