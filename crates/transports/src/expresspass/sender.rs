//! The side that has data: asks for credits, answers each with a frame, says when it is done.
//!
//! One `Phase` and its timers: asking, credited, stopping, resting. A credit is answered with what is to be repeated
//! first, then with new data, or is wasted. Before the end of its data it may ask for no more credits, which is the
//! early stop. What leaves before the first credit is another module's (`early`), and what a message is cut into too
//! (`outgoing`). [xpass s3, and xpass.cc of its artefact]

use super::asking::request_wait;
use super::early::{Early, FirstRtt};
use super::header::{Credit, Data, Stop, StopReason};
use super::outgoing::{NoFrame, Outgoing};
use super::params::EarlyStop;
use super::{Host, PRIORITY};
use model::{ConnId, Cx, Encap, Event, Excused, HostId, Lifetime, StuckFlow};
use parts::timers::Alarm;
use units::{Span, Time};

/// A repeated STOP waits twice as long each time, this many times. [ours]
const DOUBLINGS_MAX: u8 = 5;
/// STOPs after which a sender without unconfirmed data leaves its peer alone, and one whose peer misses what it had gives
/// up. [ours]
const IDLE_STOPS_MAX: u8 = 8;

/// One direction of one connection, at the end that has the data.
pub(super) struct Sender {
    pub(super) conn: ConnId,
    pub(super) peer: HostId,
    /// The direction carries one message and is then forgotten.
    pub(super) one_shot: bool,
    /// The other direction carries one, too.
    pub(super) exchange: bool,
    /// The message was given up.
    lost: bool,
    pub(super) alarm: Alarm,
    /// Excuses of its timer.
    excused: Excused,
    pub(super) phase: Phase,
    /// From a request to its first credit.
    pub(super) rtt: Option<Span>,
    pub(super) outgoing: Outgoing,
    /// Number of the last request.
    pub(super) requests: u8,
    /// Set where data leaves before the first credit.
    pub(super) early: Option<Box<Early>>,
}

/// Its phase. [xpass artefact, xpass.cc]
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Nothing to send.
    Idle,
    /// Has asked for credits.
    Asking {
        asked_at: Time,
        retry_at: Time,
        tries: u8,
        /// Where the request begins.
        position: u64,
        /// Number of the first request since credits came: what answers an earlier one is old.
        first: u8,
        /// The receiver has said that it has come.
        heard: bool,
        /// No credit from earlier can come: the first one measures the round trip.
        fresh: bool,
    },
    /// Gets credits.
    Credited {
        /// Without a credit until then it asks again.
        quiet_at: Time,
        /// Credits since `counted_from`, for the early stop; `None` where the first one, which began the
        /// time, is still to come.
        credits: Option<u32>,
        counted_from: Time,
    },
    /// Has asked for no more credits.
    Stopping { again_at: Time, tries: u8 },
    /// The receiver has everything and knows that no credits are wanted; late ones still come.
    Resting { until: Time },
}

/// Whether an owner is still needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Keep,
    Forget,
}

impl Sender {
    pub(super) fn new(conn: ConnId, peer: HostId, lifetime: Lifetime, first_rtt: FirstRtt) -> Self {
        Self {
            conn,
            peer,
            one_shot: lifetime.is_one_shot(),
            exchange: lifetime == Lifetime::Exchange,
            lost: false,
            alarm: Alarm::OFF,
            excused: Excused::default(),
            phase: Phase::Idle,
            rtt: None,
            outgoing: Outgoing::default(),
            requests: 0,
            early: (first_rtt != FirstRtt::Silent).then(Box::default),
        }
    }

    /// Whether the answer to its message will never come.
    pub(super) fn asks_in_vain(&self) -> bool {
        self.exchange && self.lost
    }

    /// Whether it waits for the application's answer.
    pub(super) fn would_answer(&self) -> bool {
        self.exchange && self.outgoing.end() == 0
    }

    /// Whether anything is left that a credit could release.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.outgoing.has_unsent() || self.is_owing()
    }

    /// Whether something that left must leave again, for all that is known.
    #[inline]
    fn is_owing(&self) -> bool {
        self.early.as_ref().is_some_and(|early| early.is_owing())
    }

    /// Stops the credits once the last packet in doubt has been accounted for; `had_work` says whether
    /// there was one before the news.
    pub(super) fn stop_if_done(&mut self, now: Time, host: &mut Host, had_work: bool) {
        let done = !self.has_work() && !self.is_bursting();
        match self.phase {
            Phase::Asking { .. } | Phase::Credited { .. } if done => {
                self.stop(now, host, StopReason::AllSent);
            }
            // An early STOP counted on credits that are not needed any more.
            Phase::Stopping { .. } if done && had_work => {
                self.stop(now, host, StopReason::AllSent);
            }
            _ => {}
        }
    }

    /// Whether it wants credits.
    pub(super) fn wants(&self) -> bool {
        matches!(self.phase, Phase::Asking { .. } | Phase::Credited { .. })
    }

    /// Takes up `phase`; the host counts who wants credits.
    pub(super) fn enter(&mut self, host: &mut Host, phase: Phase) {
        host.wanting -= u32::from(self.wants());
        self.phase = phase;
        host.wanting += u32::from(self.wants());
    }

    /// When its timer runs out.
    #[inline]
    pub(super) fn due(&self) -> Time {
        match self.phase {
            Phase::Idle => Time::NEVER,
            Phase::Asking { retry_at, .. } => retry_at,
            Phase::Credited { quiet_at, .. } => quiet_at,
            Phase::Stopping { again_at, .. } => again_at,
            Phase::Resting { until } => until,
        }
    }

    /// The application sends another message; false where it cannot.
    #[must_use]
    pub(super) fn send(&mut self, cx: &Cx<'_>, host: &mut Host, length: u64) -> bool {
        let second = self.one_shot && self.outgoing.end() > 0;
        if second || !self.outgoing.push(length) {
            return false;
        }
        match self.phase {
            Phase::Idle => {
                self.open_burst(cx.now, host);
                self.ask(cx.now, host, true);
            }
            Phase::Stopping { .. } | Phase::Resting { .. } => self.ask(cx.now, host, false),
            Phase::Asking { .. } | Phase::Credited { .. } => {}
        }
        true
    }

    /// What has not left will not leave. An empty frame tells the receiver where the message ends.
    pub(super) fn cancel(&mut self) {
        self.outgoing.cancel();
    }

    /// A credit has come, and the host has had time to look at it.
    #[inline]
    pub(super) fn on_credit(&mut self, cx: &Cx<'_>, host: &mut Host, credit: Credit) {
        let sequence = credit.sequence;
        if let Phase::Asking { .. } = self.phase {
            if self.is_old(credit.nth) {
                return self.spend_old(cx.now, host, sequence);
            }
            if !self.begin(cx.now, host) {
                return;
            }
        }
        match self.phase {
            Phase::Credited { .. } => self.spend(cx.now, host, sequence),
            Phase::Stopping { tries, .. } => {
                self.spend_late(cx.now, host, sequence, tries);
            }
            Phase::Asking { .. } | Phase::Resting { .. } => host.totals.credits_wasted += 1,
            Phase::Idle => {
                // DEVIATES(xpass-artefact): it does not count credits that come after its last
                // wait, so a lost STOP is never repeated and the receiver never ends.
                host.totals.credits_wasted += 1;
                self.stop(cx.now, host, StopReason::AllSent);
            }
        }
    }

    /// Answers a credit with a frame, and stops once no more credits are needed.
    #[inline]
    fn spend(&mut self, now: Time, host: &mut Host, sequence: u32) {
        let sent = self.put_frame(host, sequence);
        let unsent = self.outgoing.has_unsent();
        if !sent || !(unsent || self.is_owing()) {
            return self.spend_last(now, host, sent);
        }
        let Phase::Credited {
            quiet_at,
            credits,
            counted_from,
        } = &mut self.phase
        else {
            return;
        };
        // Also where nothing is left but packets of unknown fate: a receiver that misses one gives credits,
        // and one that does not has no need of any.
        *quiet_at = now + host.settings.quiet;
        let came = credits.map_or(0, |credits| credits + 1);
        *credits = Some(came);
        let (rtt, lasted) = (self.rtt.unwrap_or(Span::ZERO), now.since(*counted_from));
        if lasted >= rtt {
            (*credits, *counted_from) = (Some(0), now);
            if host.settings.early_stop != EarlyStop::Never {
                self.stop_if_enough(now, host, (came.into(), lasted), rtt);
            }
        }
    }

    /// Stops early where what is left fits the credits that still come after a STOP: those of one
    /// round trip, as often as the `came` last ones, which took `lasted`.
    fn stop_if_enough(&mut self, now: Time, host: &mut Host, last: (u64, Span), rtt: Span) {
        let encap = host.settings.encap;
        let owed = self.early.as_ref().map_or(0, |early| early.owed(encap));
        let left = self.outgoing.frames_left(encap) + owed;
        let (came, lasted) = last;
        let enough = match host.settings.early_stop {
            EarlyStop::Never => false,
            EarlyStop::Window => came >= left,
            EarlyStop::RoundTrip => {
                u128::from(came) * u128::from(rtt.0) >= u128::from(left) * u128::from(lasted.0)
            }
        };
        if enough {
            self.stop(now, host, StopReason::Early);
        }
    }

    /// A credit that took the last frame, or could take none.
    #[cold]
    fn spend_last(&mut self, now: Time, host: &mut Host, sent: bool) {
        host.totals.credits_wasted += u64::from(!sent);
        if !self.has_work() {
            self.stop(now, host, StopReason::AllSent);
        } else if self.outgoing.is_blocked() {
            // The receiver answers a repeated request with what it has.
            self.ask(now, host, false);
        }
    }

    /// A credit that came after the STOP: an early one counts on it.
    #[cold]
    fn spend_late(&mut self, now: Time, host: &mut Host, sequence: u32, tries: u8) {
        if !self.put_frame(host, sequence) {
            host.totals.credits_wasted += 1;
        } else if self.early.is_some() && !self.has_work() {
            // Data may be lost, and behind an early STOP nothing else shows the loss of the last frame.
            // [ours; neither aeolus nor ssp tells]
            self.stop(now, host, StopReason::AllSent);
        } else if !self.has_work() {
            let again_at = self.stop_again_at(now, host, 0);
            self.phase = Phase::Stopping { again_at, tries };
        }
    }

    /// Puts the next frame on the line; false where there is none, or no room for it.
    #[inline]
    pub(super) fn put_frame(&mut self, host: &mut Host, sequence: u32) -> bool {
        if !host.nic.has_room() {
            return false;
        }
        let encap = host.settings.encap;
        let Some(data) = self.next_frame(encap, sequence) else {
            return false;
        };
        host.totals.data_sent += 1;
        host.totals.retransmitted += u64::from(data.again);
        let size = encap.wire(data.length);
        let frame = data.counted(self.one_shot);
        host.nic.push(frame.packet(self.peer, self.conn, size))
    }

    /// What a credit releases: what was lost, then what was never sent, then what nobody has
    /// acknowledged. [aeolus s3.3]
    #[inline]
    fn next_frame(&mut self, encap: Encap, sequence: u32) -> Option<Data> {
        if let Some(early) = &mut self.early {
            early.answer(sequence);
            if early.is_owing()
                && let Some(lost) = early.lost(&self.outgoing, encap, sequence)
            {
                return Some(lost);
            }
        }
        match self.outgoing.frame(encap, sequence) {
            Ok(data) => Some(data),
            Err(NoFrame::AllSent) => self.early.as_mut()?.unknown(sequence),
            Err(NoFrame::Blocked) => None,
        }
    }

    /// At the receiver, which had heard of credit `heard`, `length` positions from `position` on are
    /// missing; everything, where that is 0.
    pub(super) fn on_nack(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        position: u64,
        length: u32,
        heard: u16,
    ) -> Fate {
        let asked =
            |phase| matches!(phase, Phase::Stopping { tries, .. } if tries >= IDLE_STOPS_MAX);
        let until = position + u64::from(length);
        match &mut self.early {
            Some(early) if length > 0 => {
                if until > self.outgoing.sent_max() {
                    host.totals.nonsense += 1;
                    return Fate::Keep;
                }
                let from = position.max(self.outgoing.confirmed());
                if from < until {
                    early.report(from, until, heard);
                } else if asked(self.phase) {
                    // However often it is asked, it misses what it had: it has forgotten the rest, too.
                    return self.lose(cx, host);
                }
            }
            Some(_) | None => {
                if !self.confirm(cx, host, position) {
                    return Fate::Keep;
                }
                self.outgoing.go_back(position);
                if let Some(early) = &mut self.early {
                    early.go_back(position);
                }
            }
        }
        match self.phase {
            Phase::Idle | Phase::Stopping { .. } | Phase::Resting { .. } => {
                if self.has_work() {
                    self.ask_again(cx, host);
                }
            }
            // A lying peer asks again for what was never sent: everything has arrived.
            Phase::Credited { .. } if !self.has_work() => {
                self.stop(cx.now, host, StopReason::AllSent);
            }
            Phase::Asking {
                fresh: true, tries, ..
            } if length == 0 && self.early.is_some() && tries < DOUBLINGS_MAX => {
                self.begin_again(cx.now, host, tries + 1);
            }
            Phase::Asking { .. } | Phase::Credited { .. } => {}
        }
        Fate::Keep
    }

    /// The receiver has everything before `position`.
    pub(super) fn on_stop_ack(&mut self, cx: &mut Cx<'_>, host: &mut Host, position: u64) {
        let had_work = self.has_work();
        if !self.confirm(cx, host, position) {
            return;
        }
        if !self.outgoing.is_done() {
            return self.stop_if_done(cx.now, host, had_work);
        }
        match self.phase {
            // A receiver remembers what came in a burst until it has heard a STOP.
            Phase::Asking { .. } if self.early.is_some() => {
                self.stop(cx.now, host, StopReason::AllSent);
            }
            Phase::Asking { .. } | Phase::Stopping { .. } => {
                let until = cx.now + self.rest_wait(host);
                self.enter(host, Phase::Resting { until });
            }
            // The receiver has got everything while it was still giving credits.
            Phase::Credited { .. } => self.stop(cx.now, host, StopReason::AllSent),
            Phase::Idle | Phase::Resting { .. } => {}
        }
    }

    /// The receiver does not know what a request or a STOP spoke of: it has forgotten the connection, because its one
    /// message had arrived, because it was told to, or because nothing came for `expiry`.
    pub(super) fn on_gone(&mut self, cx: &mut Cx<'_>, host: &mut Host) -> Fate {
        let waits = match self.phase {
            Phase::Asking { .. } => true,
            Phase::Stopping { .. } => !self.one_shot,
            Phase::Idle | Phase::Credited { .. } | Phase::Resting { .. } => false,
        };
        if !waits {
            host.totals.duplicates += 1; // a late answer
            return Fate::Keep;
        }
        let end = self.outgoing.end();
        let whole = self.one_shot && self.outgoing.sent_max() == end;
        if !whole && !self.outgoing.is_done() {
            return self.lose(cx, host);
        }
        self.on_stop_ack(cx, host, end);
        Fate::Keep
    }

    /// What has not been confirmed never will be.
    fn lose(&mut self, cx: &mut Cx<'_>, host: &mut Host) -> Fate {
        cx.events.push(Event::Refused { conn: self.conn });
        self.lost = true;
        self.outgoing.abandon();
        if let Some(early) = &mut self.early {
            **early = Early::default();
        }
        self.rest_over(host)
    }

    /// Notes what has arrived; false where the news is old or makes no sense.
    pub(super) fn confirm(&mut self, cx: &mut Cx<'_>, host: &mut Host, position: u64) -> bool {
        if position > self.outgoing.sent_max() {
            host.totals.nonsense += 1;
            return false;
        }
        if position < self.outgoing.confirmed() {
            return false;
        }
        let conn = self.conn;
        self.outgoing.confirm(position, |ordinal| {
            cx.events.push(Event::Sent { conn, ordinal });
        });
        if let Some(early) = &mut self.early {
            early.confirm(position);
        }
        true
    }

    /// A later moment for the timer of its phase, where a pause explains the silence.
    pub(super) fn excuse(&mut self, cx: &Cx<'_>, host: &Host) -> Option<Time> {
        let settings = &host.settings;
        let wait = match self.phase {
            Phase::Idle => return None,
            Phase::Asking { heard: true, .. } | Phase::Credited { .. } => settings.quiet,
            Phase::Asking { tries, .. } => request_wait(host, tries),
            Phase::Stopping { tries, .. } => self.stop_again_at(cx.now, host, tries).since(cx.now),
            Phase::Resting { .. } => self.rest_wait(host),
        };
        let row = &mut self.excused;
        let later = cx.gates.excuse(cx.now, self.conn, PRIORITY, wait, row)?;
        match &mut self.phase {
            Phase::Idle => return None,
            Phase::Asking { retry_at: due, .. }
            | Phase::Credited { quiet_at: due, .. }
            | Phase::Stopping { again_at: due, .. }
            | Phase::Resting { until: due } => *due = later,
        }
        Some(later)
    }

    /// The timer of its phase has run out.
    pub(super) fn on_deadline(&mut self, cx: &mut Cx<'_>, host: &mut Host) -> Fate {
        match self.phase {
            Phase::Asking { fresh, tries, .. } => {
                host.totals.timeouts += 1;
                if self
                    .early
                    .as_ref()
                    .is_some_and(|early| early.is_over(cx.now, host))
                {
                    return self.lose(cx, host);
                }
                self.request(cx.now, host, fresh, tries.saturating_add(1));
            }
            Phase::Credited { .. } => {
                // DEVIATES(xpass-artefact): it waits for ever. Here a receiver may have given up,
                // or a STOP of an earlier message may have overtaken the last request.
                host.totals.timeouts += 1;
                self.ask(cx.now, host, false);
            }
            // An early stop whose credits did not suffice. [xpass artefact, xpass.cc]
            Phase::Stopping { .. } if self.has_work() => self.ask_again(cx, host),
            Phase::Stopping { tries, .. } => {
                host.totals.timeouts += 1;
                if self.outgoing.is_done() && tries >= IDLE_STOPS_MAX {
                    return self.rest_over(host);
                }
                if let Some(early) = &mut self.early {
                    early.give_up_repairs();
                }
                self.put_stop(host, StopReason::AllSent);
                let tries = tries.saturating_add(1);
                let again_at = self.stop_again_at(cx.now, host, tries);
                self.phase = Phase::Stopping { again_at, tries };
            }
            Phase::Resting { .. } => return self.rest_over(host),
            Phase::Idle => {}
        }
        Fate::Keep
    }

    fn rest_over(&mut self, host: &mut Host) -> Fate {
        self.enter(host, Phase::Idle);
        let has_sent = self.outgoing.end() > 0;
        if self.one_shot && has_sent {
            Fate::Forget
        } else {
            Fate::Keep
        }
    }

    /// Asks for the rest of what a STOP has given up.
    fn ask_again(&mut self, cx: &mut Cx<'_>, host: &mut Host) {
        cx.events.push(Event::AskedAgain { conn: self.conn });
        self.ask(cx.now, host, false);
    }

    pub(super) fn stop(&mut self, now: Time, host: &mut Host, reason: StopReason) {
        self.put_stop(host, reason);
        let again_at = self.stop_again_at(now, host, 0);
        self.enter(host, Phase::Stopping { again_at, tries: 0 });
    }

    pub(super) fn put_stop(&self, host: &mut Host, reason: StopReason) {
        let (end, size) = (self.outgoing.end(), host.settings.encap.frame_min);
        let stop = Stop {
            answered: self.early.as_ref().map_or(0, |early| early.answered()),
            nth: self.requests,
            ..Stop::new(end, reason, self.one_shot)
        };
        host.nic.push(stop.packet(self.peer, self.conn, size));
    }

    fn stop_again_at(&self, now: Time, host: &Host, tries: u8) -> Time {
        let wait = self.wait(host, host.settings.stop_wait);
        // Requests and bursts of others delay the answer by what their buffers hold. An early STOP
        // waits for nothing but credits, which have queues of their own.
        let wait = wait.times(1 << tries.min(DOUBLINGS_MAX));
        if self.has_work() {
            return now + wait;
        }
        // It leaves behind what its own host has released, and may be that late.
        let own = host.nic.clears_in(host.settings.encap.wire_max());
        now + wait.max(host.settings.overdue + own)
    }

    /// Late credits may stand in every credit queue of the path.
    fn rest_wait(&self, host: &Host) -> Span {
        self.wait(host, host.settings.rest) + host.settings.drain
    }

    /// So many round trips, or the default where none has been measured.
    fn wait(&self, host: &Host, rtts: u16) -> Span {
        self.rtt.map_or(host.settings.stop_wait_unknown, |rtt| {
            rtt.times(u64::from(rtts))
        })
    }

    #[cfg(test)]
    pub(super) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// Says what is unfinished here, and what it waits for.
    pub(super) fn stuck(&self) -> Option<StuckFlow> {
        let out = &self.outgoing;
        let (state, waits_for) = match self.phase {
            Phase::Idle | Phase::Resting { .. } if out.is_done() => return None,
            Phase::Idle => ("idle", "nothing: this is a bug".to_owned()),
            Phase::Resting { until } => ("resting", format!("late credits until {until}")),
            Phase::Asking {
                asked_at, retry_at, ..
            } => (
                "asking",
                format!("a credit since {asked_at}; asks again at {retry_at}"),
            ),
            Phase::Credited { quiet_at, .. } => (
                "credited",
                format!("the next credit; asks again at {quiet_at}"),
            ),
            Phase::Stopping { again_at, .. } if out.has_unsent() => (
                "stopping early",
                format!("credits under way; asks again at {again_at}"),
            ),
            Phase::Stopping { again_at, .. } => (
                "stopping",
                format!("a STOP_ACK; repeats the STOP at {again_at}"),
            ),
        };
        let (next, end, confirmed) = (out.next(), out.end(), out.confirmed());
        Some(StuckFlow {
            conn: self.conn,
            state: format!("sender {state}, next {next} of {end}, {confirmed} confirmed"),
            waits_for,
        })
    }

    pub(super) fn check(&self) {
        self.outgoing.check();
        self.alarm.check();
        self.early.iter().for_each(|early| early.check());
        match self.phase {
            Phase::Idle | Phase::Resting { .. } => {
                assert!(
                    !self.outgoing.has_unsent(),
                    "nobody will ever send the rest"
                );
            }
            Phase::Credited { quiet_at, .. } => {
                assert!(self.has_work() && quiet_at != Time::NEVER);
            }
            Phase::Asking { .. } | Phase::Stopping { .. } => {}
        }
    }
}
