//! The side that gets data: gives credits, puts the stream together, says what is missing.
//!
//! One `Phase` and its timers: quiet, crediting, draining, finished. The rate of credits is another module's
//! (`crediting`, `feedback`), and a receiver that gives none keeps no state for it. Data comes in order unless frames
//! are lost or bursts overtake; what lies beyond a gap is kept, and the gap reported (`repair`).
//! [xpass s3, and xpass.cc of its artefact]

use super::Host;
use super::arrived::Arrived;
use super::crediting::{Crediting, Word};
use super::early::FirstRtt;
use super::expected::Expected;
use super::feedback::Tally;
use super::header::{
    self, Credit, Data, Heard, Nack, Request, SEQUENCE, Stop, StopAck, StopReason, is_later,
};
use super::repair::{Gap, Repair};
use super::sender::Fate;
use super::settings::Settings;
use super::slot_of;
use model::{ConnId, Cx, Event, HostId, Rng, StuckFlow};
use parts::slab::Slab;
use parts::timers::{Alarm, Timers};
use std::cmp::Ordering;
use units::{Span, Time};

/// Packets from which on a flow starts at the full alpha. [xpass artefact, xpass.cc]
const START_RULE_PACKETS: u32 = 40;
/// Timers of one host from which on the caches are helped: what rings them takes 64 KiB. [ours]
const MANY: usize = 128;
/// Messages of a stream that never stops are confirmed at least this often, so that the sender
/// can forget them. [ours]
const MESSAGES_PER_ACK: u32 = 64;
/// Credits that a peer may answer late: half of what the echo can tell apart.
pub(super) const CREDITS_OPEN_MAX: u32 = 1 << 21;

/// One direction of one connection, at the end that gets the data.
pub(super) struct Receiver {
    pub(super) conn: ConnId,
    pub(super) peer: HostId,
    /// The connection carries one message and is then forgotten.
    pub(super) one_shot: bool,
    pub(super) alarm: Alarm,
    phase: Phase,
    /// What has arrived without a gap.
    pub(super) arrived: Arrived,
    /// Messages that the sender has been told of.
    acked: u32,
    /// Credits given.
    given: u64,
    /// Position of the latest request.
    asked: u64,
    /// Its number; none before the first has come.
    request: Option<u8>,
    /// Number of the last credit that the sender is known to have answered.
    heard: u64,
    /// Where the last STOP said that the stream ends.
    pub(super) stopped_at: u64,
    /// From a credit to its data, averaged.
    rtt: Option<Span>,
    /// What has arrived beyond gaps.
    pub(super) repair: Repair,
    /// The fate of credits that no law has seen: what came since giving ended.
    tally: Tally,
}

/// Its phase. [xpass artefact, xpass.cc]
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Gives no credits; waits for a request until it is forgotten.
    Quiet { forget_at: Time },
    /// Gives credits.
    Crediting {
        /// Its place among the flows that do.
        flow: u32,
        credit_at: Time,
    },
    /// Gives no more credits, but data up to `end` is still under way.
    Draining { end: u64, forget_at: Time },
    /// The one message has arrived. Remembered for a while, so that a late request does not
    /// open the connection again.
    Finished { forget_at: Time, stop_heard: bool },
}

/// The receivers of a host that give credits.
pub(super) type Flows = Slab<Crediting>;

impl Receiver {
    pub(super) fn new(conn: ConnId, peer: HostId, one_shot: bool) -> Self {
        Self {
            conn,
            peer,
            one_shot,
            alarm: Alarm::OFF,
            // A request follows at once.
            phase: Phase::Quiet {
                forget_at: Time::NEVER,
            },
            arrived: Arrived::default(),
            acked: 0,
            given: 0,
            asked: 0,
            request: None,
            heard: 0,
            stopped_at: 0,
            rtt: None,
            repair: Repair::default(),
            tally: Tally::default(),
        }
    }

    /// When its timer runs out.
    #[inline]
    pub(super) fn due(&self) -> Time {
        match self.phase {
            Phase::Crediting { credit_at, .. } => credit_at,
            Phase::Quiet { forget_at }
            | Phase::Draining { forget_at, .. }
            | Phase::Finished { forget_at, .. } => forget_at,
        }
    }

    /// The first position that has not arrived.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.arrived.next()
    }

    /// Credits given.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Its place among the flows that get credits.
    pub(super) fn crediting(&self) -> Option<u32> {
        match self.phase {
            Phase::Crediting { flow, .. } => Some(flow),
            Phase::Quiet { .. } | Phase::Draining { .. } | Phase::Finished { .. } => None,
        }
    }

    /// Gives the credit that was held back.
    #[cold]
    pub(super) fn give_held(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows) {
        if let Phase::Crediting { flow, .. } = self.phase {
            let credit_at = self.give(cx.now, cx.rng, host, flow, flows);
            self.phase = Phase::Crediting { flow, credit_at };
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        matches!(self.phase, Phase::Quiet { .. })
    }

    /// A request has come, on whatever way: see [`Receiver::on_request`].
    pub(super) fn note_request(&mut self, nth: u8) {
        if self.request.is_none_or(|last| is_later(nth, last)) {
            self.request = Some(nth);
        }
    }

    /// The sender wants credits.
    pub(super) fn on_request(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        wanted: Request,
    ) {
        let position = wanted.next;
        match self.phase {
            Phase::Finished { .. } => return self.ack(host),
            Phase::Quiet { .. } | Phase::Draining { .. } => {
                self.asked = position;
                self.start(cx, host, flows, wanted);
            }
            // The first credit is under way, or lost like any other: a credit for each repeated
            // request would have all flows of an incast send theirs at the same moment again.
            Phase::Crediting { flow, .. } => {
                self.asked = position;
                flows[flow].on_request(cx.now);
                flows[flow].note_crowd(wanted.crowd);
                if flows[flow].take_relief(&host.settings.law) {
                    self.credit_soon(cx.now, host);
                }
                if self.acked != self.arrived.ordinal() {
                    self.ack(host);
                }
                if host.settings.silence.tells {
                    self.say(host, Word::Heard);
                }
            }
        }
        self.repair.end_run();
        match position.cmp(&self.next()) {
            Ordering::Less => self.ack(host),
            // Data and requests keep their order: what is not here by now was lost. A sender that
            // sends before its first credit finds out by itself.
            Ordering::Greater if host.settings.first_rtt == FirstRtt::Silent => {
                self.nack(cx.now, host);
            }
            Ordering::Equal | Ordering::Greater => {}
        }
    }

    fn start(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows, wanted: Request) {
        let settings = &host.settings;
        let packets = wanted.packets;
        let share = f64::from(packets.min(START_RULE_PACKETS)) / f64::from(START_RULE_PACKETS);
        let rate = settings.alpha * if settings.start_rule { share } else { 1.0 };
        let flow = flows.insert(Crediting::new(&settings.law, cx.now, rate, self.given));
        if settings.keep_tally {
            flows[flow].resume(self.tally, self.heard);
        }
        flows[flow].note_crowd(wanted.crowd);
        if settings.subtract_burst && wanted.unasked > 0 {
            let (frame_time, rtt) = (settings.frame_time, settings.base_rtt);
            let burst = Expected::new(cx.now, packets, wanted.unasked, frame_time, rtt);
            flows[flow].expect(burst);
        }
        // DEVIATES(aeolus): it leaves the proactive transport's own logic as it is, so the first credit would
        // leave at once, and mostly release a packet that has come by then.
        let given = self.given;
        let credit_at = match flows[flow].holds_back(cx.now, given) {
            Some(until) => until,
            None => self.give(cx.now, cx.rng, host, flow, flows),
        };
        self.phase = Phase::Crediting { flow, credit_at };
        let gave = self.given > given;
        if gave && host.settings.silence.tells && flows[flow].take_drop() {
            self.say(host, Word::Heard);
        }
    }

    /// Tells the sender that its request has come, or asks whether it is still there. [ours]
    #[cold]
    fn say(&self, host: &mut Host, word: Word) {
        let (asks, size) = (word == Word::Asks, host.settings.encap.frame_min);
        let heard = Heard {
            position: self.asked,
            nth: self.request.unwrap_or(0),
            asks,
        };
        let packet = heard.packet(self.peer, self.conn, size);
        host.nic.push(packet);
    }

    /// Gives a credit and returns when the next one is due.
    #[inline(always)] // once per credit
    fn give(
        &mut self,
        now: Time,
        rng: &mut Rng,
        host: &mut Host,
        flow: u32,
        flows: &mut Flows,
    ) -> Time {
        self.given += 1;
        let flow = &mut flows[flow];
        flow.note_sent(self.given, now);
        let (size, factor) = draw(&host.settings, rng);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the sequence is meant modulo 2^28"
        )]
        let sequence = self.given as u32 & SEQUENCE;
        host.totals.credits_sent += 1;
        let nth = self.request.unwrap_or(0);
        let credit = Credit { nth, sequence }.packet(self.peer, self.conn, size);
        if host.nic.credit(now, &credit) {
            flow.note_left();
        } else {
            host.totals.credits_dropped += 1;
            flow.on_drop();
        }
        now + picoseconds(flow.feedback.gap() * factor)
    }

    /// The timer of its phase has run out.
    #[inline]
    pub(super) fn on_deadline(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
    ) -> Fate {
        match self.phase {
            Phase::Crediting { flow, .. } => {
                let crediting = &mut flows[flow];
                if cx.now.since(crediting.heard_at()) >= host.settings.give_up {
                    // DEVIATES(xpass-artefact): it gives credits to a dead sender for ever.
                    host.totals.timeouts += 1;
                    self.cease(flows, self.quiet(cx.now, host));
                    return Fate::Keep;
                }
                let rtt = self.rtt.unwrap_or(host.settings.base_rtt);
                let crediting = &mut flows[flow];
                let Settings { law, silence, .. } = &host.settings;
                let word = crediting.apply((law, silence), cx.now, rtt, self.given);
                if let Some(word) = word {
                    self.say(host, word);
                }
                let crediting = &mut flows[flow];
                if let Some(credit_at) = crediting.holds_back(cx.now, self.given) {
                    self.phase = Phase::Crediting { flow, credit_at };
                    return Fate::Keep;
                }
                let credit_at = self.give(cx.now, cx.rng, host, flow, flows);
                self.phase = Phase::Crediting { flow, credit_at };
                Fate::Keep
            }
            Phase::Finished { .. } => Fate::Forget,
            Phase::Quiet { .. } | Phase::Draining { .. } => {
                // A sender that lives asks again and again.
                host.totals.timeouts += 1;
                if self.next() > 0 {
                    cx.events.push(Event::Refused { conn: self.conn });
                }
                Fate::Forget
            }
        }
    }

    fn quiet(&self, now: Time, host: &Host) -> Phase {
        Phase::Quiet {
            forget_at: self.forget_at(now, host),
        }
    }

    /// A stream that rests between two messages is never forgotten: its position is all that is
    /// left of it, and without it messages would be lost. A sender within a message lives or not.
    fn forget_at(&self, now: Time, host: &Host) -> Time {
        let rests = self.next() > 0 && self.arrived.is_between() && self.repair.is_empty();
        if self.one_shot || !rests {
            now + host.settings.expiry
        } else {
            Time::NEVER
        }
    }

    /// Whether nothing has arrived, and no credit was given for it.
    pub(super) fn has_nothing(&self) -> bool {
        self.next() == 0 && self.given == 0
    }

    /// Whether a message has arrived whole.
    pub(super) fn has_message(&self) -> bool {
        self.arrived.ordinal() > 0
    }

    /// Gives no more credits, because it is about to be forgotten.
    pub(super) fn close(&mut self, flows: &mut Flows) {
        let forget_at = Time::NEVER;
        self.cease(flows, Phase::Quiet { forget_at });
    }

    /// Stops giving credits, if it did, and takes up `phase`.
    fn cease(&mut self, flows: &mut Flows, phase: Phase) {
        if let Phase::Crediting { flow, .. } = self.phase {
            self.tally = flows.remove(flow).feedback.tally();
        }
        self.phase = phase;
    }

    /// A frame has come.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        data: Data,
    ) {
        self.note_echo(cx, host, flows, data);
    }

    /// Takes what the gap that just closed held back.
    fn catch_up(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows) {
        let (until, ends) = self.repair.take(self.next());
        for end in ends {
            // A peer that sends one frame both with and without END only harms itself.
            let payload = (end.at - self.next()).saturating_sub(u64::from(end.blank));
            self.arrived.add(payload, end.blank);
            self.complete(cx, host, flows);
        }
        let payload = until.saturating_sub(self.next());
        self.arrived.add(payload, false);
    }

    /// Accounts for the credit that a frame answers, then takes the frame.
    #[inline]
    fn note_echo(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows, data: Data) {
        let since = header::credits_since(self.given, data.echo);
        if since >= CREDITS_OPEN_MAX || u64::from(since) >= self.given {
            // It answers a credit that was never given: a lie, or data from an earlier life of a
            // connection that a late request has opened again.
            let reopened = self.one_shot && self.next() == 0;
            host.totals.duplicates += u64::from(reopened);
            host.totals.nonsense += u64::from(!reopened);
            return;
        }
        let number = self.given - u64::from(since);
        let news = number.saturating_sub(self.heard);
        self.heard += news;
        if let Phase::Crediting { flow, .. } = self.phase {
            if flows[flow].on_answer() {
                self.give_held(cx, host, flows);
            }
            if let Some(sample) = flows[flow].on_data(cx.now, number, self.given) {
                // Four fifths of what was, one fifth of what is. [xpass artefact, xpass.cc]
                let mean = |rtt: Span| Span((4 * rtt.0 + sample.0) / 5);
                self.rtt = Some(self.rtt.map_or(sample, mean));
            }
            if flows[flow].take_relief(&host.settings.law) {
                self.credit_soon(cx.now, host);
            }
        } else if news > 0 {
            self.tally.on_echo(u32::try_from(news).unwrap_or(u32::MAX));
        }
        self.take(cx, host, flows, data, true);
    }

    #[inline]
    pub(super) fn take(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        data: Data,
        scheduled: bool,
    ) {
        // Go-back-N keeps nothing behind a gap, and needs no position.
        let mut start = 0;
        if host.settings.first_rtt != FirstRtt::Silent {
            let Some(position) = self.arrived.position_of(data) else {
                host.totals.nonsense += 1;
                return;
            };
            start = position;
            self.mind_the_gap(host, data, start, scheduled);
        }
        match self.arrived.place(data) {
            Ordering::Equal if self.overlaps(data) => host.totals.nonsense += 1,
            Ordering::Equal => self.accept(cx, host, flows, data),
            Ordering::Less => host.totals.duplicates += 1,
            Ordering::Greater if host.settings.first_rtt != FirstRtt::Silent => {
                self.keep(cx, host, data, start, scheduled);
            }
            Ordering::Greater => {
                host.totals.duplicates += 1; // go-back-N keeps nothing behind a gap
                self.nack(cx.now, host);
            }
        }
    }

    /// The sender lives after all: the next credit comes within a round trip.
    #[cold]
    fn credit_soon(&mut self, now: Time, host: &Host) {
        if let Phase::Crediting { credit_at, .. } = &mut self.phase {
            *credit_at = (*credit_at).min(now + host.settings.base_rtt);
        }
    }

    /// Whether the next frame reaches into what has come beyond it.
    #[inline]
    fn overlaps(&self, data: Data) -> bool {
        let next = self.next();
        self.repair.reaches(next, next + data.positions())
    }

    /// Keeps a frame behind a gap.
    fn keep(&mut self, cx: &mut Cx<'_>, host: &mut Host, data: Data, start: u64, scheduled: bool) {
        if !self.repair.keep(self.next(), start, data) {
            host.totals.duplicates += 1;
            return;
        }
        if data.length > 0 {
            cx.accept(self.conn, data.offset, data.length);
        }
        let rtt = self.rtt.unwrap_or(host.settings.base_rtt);
        if scheduled && self.repair.is_due(cx.now, rtt) {
            // What the sender knew to be lost a round trip ago left before this frame.
            self.nack_all(cx.now, host, start);
        }
    }

    /// Asks again for what a jump in first transmissions shows to be lost. Unscheduled packets
    /// count under SSP alone: elsewhere the sender finds out about them by itself. [ours]
    fn mind_the_gap(&mut self, host: &mut Host, data: Data, start: u64, scheduled: bool) {
        let ssp = host.settings.first_rtt == FirstRtt::Ssp;
        if data.again || !(scheduled || ssp) {
            return;
        }
        let end = start + data.positions();
        if let Some(gap) = self.repair.note_first(start, end, ssp) {
            self.report(host, gap);
        }
    }

    /// Asks for one gap.
    fn report(&self, host: &mut Host, (from, until): Gap) {
        #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        let nack = Nack {
            next: from,
            heard: self.heard as u16,
            missing: u32::try_from(until - from).unwrap_or(u32::MAX),
        };
        let size = host.settings.encap.frame_min;
        host.nic.push(nack.packet(self.peer, self.conn, size));
    }

    /// Asks for every gap below `end`.
    fn nack_all(&mut self, now: Time, host: &mut Host, end: u64) {
        for gap in self.repair.gaps(self.next(), end) {
            self.report(host, gap);
        }
        self.repair.tell(now);
    }

    #[inline]
    fn accept(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows, data: Data) {
        if data.length > 0 {
            cx.accept(self.conn, data.offset, data.length);
        }
        self.arrived.add(data.length.into(), data.length == 0);
        self.repair.close();
        if data.end {
            self.complete(cx, host, flows);
        }
        if !self.repair.is_empty() {
            self.catch_up(cx, host, flows);
        }
        if let Phase::Draining { end, .. } = self.phase
            && self.next() >= end
        {
            self.phase = self.quiet(cx.now, host);
            self.ack(host);
        }
    }

    /// The last frame of a message has come.
    fn complete(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows) {
        let (conn, (ordinal, length)) = (self.conn, self.arrived.end_message());
        cx.events.push(Event::Received {
            conn,
            ordinal,
            length,
        });
        if self.one_shot {
            let stop_heard = matches!(self.phase, Phase::Draining { .. });
            if stop_heard {
                self.ack(host);
            }
            // DEVIATES(xpass-artefact): it gives credits until the STOP, because it does not know
            // where a message ends; where the STOP is lost that is a waste without end.
            // With bursts a sender need not ask first: if we forget early, a late packet is delivered again.
            let surely = stop_heard || host.settings.first_rtt == FirstRtt::Silent;
            let forget_at = cx.now
                + if surely {
                    host.settings.close_wait
                } else {
                    host.settings.expiry
                };
            self.cease(
                flows,
                Phase::Finished {
                    forget_at,
                    stop_heard,
                },
            );
        } else if self.arrived.ordinal().wrapping_sub(self.acked) >= MESSAGES_PER_ACK {
            self.ack(host);
        }
    }

    /// Something is missing: asks for it, but not again until the answer can be here.
    fn nack(&mut self, now: Time, host: &mut Host) {
        let settings = &host.settings;
        let rtt = self.rtt.unwrap_or(settings.base_rtt);
        // After this the answer is overdue.
        let patience = || rtt.times(2).max(settings.request_retry);
        if self.repair.asks(now, patience) {
            let (next, size) = (self.next(), settings.encap.frame_min);
            let nack = Nack {
                next,
                heard: 0,
                missing: 0,
            };
            host.nic.push(nack.packet(self.peer, self.conn, size));
        }
    }

    fn ack(&mut self, host: &mut Host) {
        self.acked = self.arrived.ordinal();
        let (next, size) = (self.next(), host.settings.encap.frame_min);
        let ack = StopAck { next, gone: false };
        host.nic.push(ack.packet(self.peer, self.conn, size));
    }

    /// The sender wants no more credits.
    pub(super) fn on_stop(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        stop: Stop,
    ) -> Fate {
        let (conn, end) = (self.conn, stop.end);
        if let Phase::Finished {
            forget_at,
            stop_heard,
        } = &mut self.phase
        {
            *forget_at = cx.now + host.settings.close_wait;
            if !std::mem::replace(stop_heard, true) {
                cx.events.push(Event::Stopped { conn });
            }
            self.ack(host);
            return Fate::Keep;
        }
        if stop.gone {
            return self.on_gone(cx, host, flows);
        }
        // A sender asks because it has something beyond: this STOP is older than that request.
        let crossed = self
            .request
            .is_some_and(|request| is_later(request, stop.nth));
        let stale = end < self.next() || ((crossed || end <= self.asked) && self.is_crediting());
        if stale {
            host.totals.duplicates += 1;
            return Fate::Keep;
        }
        #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        let behind = (self.given as u16).wrapping_sub(stop.answered);
        self.heard = self.heard.max(self.given.saturating_sub(behind.into()));
        self.stopped_at = end;
        if self.is_crediting() {
            cx.events.push(Event::Stopped { conn });
        }
        let quiet = self.quiet(cx.now, host);
        match (end.cmp(&self.next()), stop.reason()) {
            (Ordering::Greater, StopReason::Early) => {
                let forget_at = self.forget_at(cx.now, host);
                self.cease(flows, Phase::Draining { end, forget_at });
            }
            (Ordering::Greater, _) => {
                self.cease(flows, quiet);
                if host.settings.first_rtt == FirstRtt::Silent {
                    self.nack(cx.now, host);
                } else {
                    // The STOP left behind all frames: what is missing now is lost.
                    self.nack_all(cx.now, host, end);
                }
            }
            (Ordering::Equal | Ordering::Less, _) => {
                self.cease(flows, quiet);
                self.ack(host);
            }
        }
        Fate::Keep
    }

    /// The sender does not know the connection: an old request opened it again, or the sender
    /// has lost its memory.
    fn on_gone(&mut self, cx: &mut Cx<'_>, host: &Host, flows: &mut Flows) -> Fate {
        self.cease(flows, self.quiet(cx.now, host));
        if !self.one_shot {
            return Fate::Keep;
        }
        if self.next() > 0 {
            cx.events.push(Event::Refused { conn: self.conn });
        }
        Fate::Forget
    }

    fn is_crediting(&self) -> bool {
        matches!(self.phase, Phase::Crediting { .. })
    }

    /// Says what is unfinished here, and what it waits for.
    pub(super) fn stuck(&self, flows: &Flows) -> Option<StuckFlow> {
        let (state, waits_for) = match self.phase {
            Phase::Finished { .. } => return None,
            Phase::Quiet { .. } if self.arrived.is_between() && !self.one_shot => return None,
            Phase::Quiet { forget_at } => ("quiet", format!("a request until {forget_at}")),
            Phase::Draining { end, .. } => ("draining", format!("data up to {end}")),
            Phase::Crediting { flow, credit_at } => {
                let heard = flows[flow].heard_at();
                let text = format!("data or STOP since {heard}; next credit at {credit_at}");
                ("crediting", text)
            }
        };
        let (next, given, ordinal) = (self.next(), self.given, self.arrived.ordinal());
        Some(StuckFlow {
            conn: self.conn,
            state: format!("receiver {state}, message {ordinal}, next {next}, {given} credits"),
            waits_for,
        })
    }

    pub(super) fn check(&self, flows: &Flows, settings: &Settings) {
        self.alarm.check();
        self.arrived.check();
        self.repair.check(self.next());
        match self.phase {
            Phase::Crediting { flow, .. } => flows[flow].check(&settings.law, self.given),
            Phase::Finished { .. } => assert!(self.one_shot && self.has_message()),
            Phase::Draining { end, .. } => assert!(self.next() < end),
            Phase::Quiet { .. } => {}
        }
    }
}

/// Has the cache fetch what the next timers need, where all of it together is more than the first caches keep.
#[inline]
pub(super) fn fetch_soon(timers: &Timers, receivers: &Slab<Receiver>, flows: &Flows) {
    if let Some([next, after_next @ ..]) = timers.soon(MANY) {
        if let Some(flow) = (receivers.get(slot_of(next))).and_then(Receiver::crediting) {
            flows.fetch(flow);
        }
        for owner in after_next {
            receivers.fetch(slot_of(owner));
        }
    }
}

/// Size of the next credit and the factor on the time to the one after: both are needed, or
/// credits of several flows fall into step and one flow loses them all. [xpass s3.3]
#[inline]
fn draw(settings: &Settings, rng: &mut Rng) -> (u16, f64) {
    let bits = rng.next_u64();
    let (low, high) = (bits & 0xffff_ffff, bits >> 32);
    #[allow(clippy::cast_possible_truncation, reason = "below credit_sizes, a u16")]
    let above = ((low * u64::from(settings.credit_sizes)) >> 32) as u16;
    let unit = high as f64 / (1u64 << 32) as f64;
    (
        settings.credit_size_min + above,
        1.0 + settings.jitter * (2.0 * unit - 1.0),
    )
}

/// A time that is not negative, in whole picoseconds; at least one, so that time moves on.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a conversion from float to integer saturates, at a third of a year"
)]
pub(super) fn picoseconds(time: f64) -> Span {
    Span((time as i64).max(1).cast_unsigned()) // with a sign: processors have no step for others
}
