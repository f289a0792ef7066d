//! A host: its endpoint, its line, and what the workload has it do.
//!
//! A host comes to rest at every moment at which something happens: packets are handed in, then what the workload
//! does, deadlines that are due and questions for the idle line take turns until none is left (`work`). Then it names
//! the next moment. Gates, and credits of the link, are kept here for every transport; a packet that may not leave is
//! lost and counted as a breach. Where a host has a queue (`switch.host_queue`) its endpoint pushes into that, and the
//! port decides what leaves.

mod work;

use crate::beside::{Companion, HostLine};
use crate::book::{Action, Book};
use crate::node::Log;
use crate::promised::OnLinks;
use crate::setup::{Completion, PortSample};
use crate::trigger::Firing;
use crate::watched::Watched;
use model::{
    ByClass, ConnId, CreditFrame, Cx, Endpoint, Event, FRAME_SMALLEST, Gates, Lifetime,
    LinkCredits, Packet, Rng, Signal, Totals, Transmit,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use switching::{Counters, Port, Sent};
use topology::LinkId;
use units::{LineTime, Span, Time};
pub(crate) use work::Arriving;
use work::Pace;
use workload::Milestone;

/// Packets that an endpoint may put into the queue before its line at one instant. [ours]
const PUSHES_PER_INSTANT_MAX: u32 = 1 << 20;

/// What the next switch has room for.
struct Credits {
    of: LinkCredits,
    /// A bit per lane that has too little for a frame.
    short: u8,
    /// A bit per lane for which [`Action::AskForCredits`] is planned.
    armed: u8,
    /// A bit per lane that asks for more as soon as the line is idle.
    asks: u8,
}

/// Payload of one connection that a host has accepted, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Payload {
    /// All of it.
    pub(crate) bytes: u64,
    /// What came since a message arrived.
    since: u64,
    /// What came of messages that had not arrived when their receiver was forgotten: a new one begins without it.
    forgotten: u64,
}

impl Payload {
    fn accept(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.since += bytes;
    }

    fn forget(&mut self) {
        self.forgotten += std::mem::take(&mut self.since);
    }
}

/// One host. What each step needs comes first.
#[repr(C)]
pub(crate) struct Host {
    pace: Pace,
    pub(crate) endpoint: Box<dyn Endpoint>,
    events: Vec<Event>,
    /// What the next switch does not want now.
    gates: Gates,
    rng: Rng,
    pub(crate) id: u32,
    /// Accepted payload by connection, where flows are probed.
    pub(crate) accepted: Option<BTreeMap<u32, Payload>>,
    /// What it may send, where the next switch counts that.
    credits: Option<Box<Credits>>,
    /// What its gates did and when, where somebody wants to know.
    watched: Option<Watched>,
    /// How long gates were closed until the last time that all opened, and since when some are.
    paused: Span,
    /// At the end of a run: the longest pause of one connection or priority.
    pause_longest: Span,
    closed_since: Option<Time>,
    queue: Option<Box<Port>>,
    /// Place in the host's list of actions.
    next_action: usize,
    /// Actions that follow from what happened here.
    later: BinaryHeap<Reverse<(Time, Action)>>,
    /// Of the packets taken from the line, trimmed or bounced ones for which the transport did not ask, by class.
    pub(crate) unwanted: ByClass<u64>,
}

impl Host {
    pub(crate) fn new(
        id: u32,
        endpoint: Box<dyn Endpoint>,
        rng: Rng,
        link: (u32, &topology::Link),
        queue: Option<Port>,
        book: &Book<'_>,
        count_accepted: bool,
    ) -> Self {
        Self {
            id,
            endpoint,
            rng,
            pace: Pace {
                line: LineTime::new(link.1.rate),
                delay: link.1.delay,
                link: link.0,
                suspect: FRAME_SMALLEST,
                by_itself: queue.is_some(),
                free_at: Time::ZERO,
                ask_at: Time::NEVER,
                deadline: Time::NEVER,
                action_at: book.actions(id).first().map_or(Time::NEVER, |&(at, _)| at),
                received: [0; 8],
                sent: Sent::default(),
                #[cfg(debug_assertions)]
                instants: 0,
            },
            gates: Gates::default(),
            credits: None,
            watched: None,
            paused: Span::ZERO,
            pause_longest: Span::ZERO,
            closed_since: None,
            queue: queue.map(Box::new),
            next_action: 0,
            later: BinaryHeap::new(),
            events: Vec::new(),
            unwanted: ByClass::default(),
            accepted: count_accepted.then(BTreeMap::new),
        }
    }

    /// From the beginning the next switch has room for so much.
    pub(crate) fn begin_with(&mut self, credits: LinkCredits) {
        self.pace.by_itself = true;
        self.credits = Some(Box::new(Credits {
            of: credits,
            short: 0,
            armed: 0,
            asks: 0,
        }));
    }

    /// Notes what its gates do, and what it misses, within `window`; so many notes of each at most.
    pub(crate) fn watch(&mut self, most: usize, window: Range<Time>) {
        self.watched = Some(Watched::new(most, window));
    }

    /// Since when something is paused; none where nothing is.
    pub(crate) fn paused_since(&self) -> Option<Time> {
        self.closed_since
    }

    /// What they did, and how much there was no room for.
    pub(crate) fn watched(&self) -> (Vec<(Time, Signal)>, u64) {
        let watched = self.watched.as_ref();
        watched.map(Watched::all).unwrap_or_default()
    }

    /// Of which connections it took what had not come for lost, and when; and how much there was no room for.
    pub(crate) fn missed(&self) -> (&[(Time, ConnId)], u64) {
        self.watched
            .as_ref()
            .map(Watched::missed)
            .unwrap_or_default()
    }

    /// Its egress link.
    #[inline]
    pub(crate) fn link(&self) -> u32 {
        self.pace.link
    }

    /// Calls the endpoint, then hears its news.
    #[inline]
    fn call(
        &mut self,
        now: Time,
        book: &Book<'_>,
        log: &mut Log,
        step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>),
    ) {
        let (mut work, mut cx) = self.at_work(book);
        if work.call(&mut cx, now, step) {
            self.hear(now, book, log);
        }
    }

    /// A packet has come in.
    fn arrive(&mut self, now: Time, packet: &Packet, book: &Book<'_>, log: &mut Log) {
        if !packet.is_plain() {
            self.arrive_unusual(now, packet, book, log);
            return;
        }
        let (mut work, mut cx) = self.at_work(book);
        if work.arrive(&mut cx, now, packet) {
            self.hear(now, book, log);
        }
    }

    /// A packet has come in, in a run where something may travel beside packets.
    pub(crate) fn arrive_with(
        &mut self,
        now: Time,
        packet: &mut Packet,
        beside: Option<&Companion>,
        book: &Book<'_>,
        log: &mut Log,
    ) {
        packet.set_tagged(false); // it was for the driver of this line, which has nobody to tell
        let beside = beside.filter(|_| packet.has_record() && packet.is_plain());
        let Some(beside) = beside else {
            packet.drop_beside();
            self.arrive(now, packet, book, log);
            return;
        };
        self.pace.received[packet.class_index()] += 1;
        self.call(now, book, log, |endpoint, cx| {
            endpoint.on_packet_with(cx, packet, &beside.record);
        });
    }

    /// A packet has come in that a switch has changed, or that is of the link's own.
    #[inline(never)]
    fn arrive_unusual(&mut self, now: Time, packet: &Packet, book: &Book<'_>, log: &mut Log) {
        self.pace.received[packet.class_index()] += 1;
        if packet.is_of_link() {
            if let Some(signal) = Signal::of(packet) {
                self.heed(now, signal, Signal::until(packet, now), book, log);
            } else if let Some(said) = CreditFrame::of(packet) {
                self.hear_credit(now, said, book, log);
            }
        } else if self.endpoint.accepts(packet) {
            self.call(now, book, log, |endpoint, cx| {
                endpoint.on_packet(cx, packet);
            });
        } else {
            self.unwanted[packet.class()] += 1;
        }
    }

    /// Heeds a pause that ends at `until` by itself, or the end of one.
    fn heed(&mut self, now: Time, signal: Signal, until: Time, book: &Book<'_>, log: &mut Log) {
        let lapse = match signal {
            Signal::PausePriority(priority) => Some(Action::LapsePriority(priority)),
            Signal::PauseFlow(conn) => Some(Action::LapseFlow(conn.0)),
            Signal::ResumePriority(_) | Signal::ResumeFlow(_) => None,
        };
        if let Some(lapse) = lapse.filter(|_| until < Time::NEVER) {
            self.later.push(Reverse((until, lapse)));
            self.pace.action_at = self.pace.action_at.min(until);
        }
        if self.gates.heed_until(now, signal, until) {
            self.watched
                .iter_mut()
                .for_each(|watched| watched.note(now, signal));
            self.gates_moved(now, book, log);
        }
    }

    /// Ends a pause whose time is over.
    fn lapse(&mut self, now: Time, signal: Signal, book: &Book<'_>, log: &mut Log) {
        if self.gates.lapse(now, signal) {
            let noted = self.watched.iter_mut().zip(signal.end());
            noted.for_each(|(watched, end)| watched.note(now, end));
            self.gates_moved(now, book, log);
        }
    }

    /// The next switch says what it has room for.
    fn hear_credit(&mut self, now: Time, said: CreditFrame, book: &Book<'_>, log: &mut Log) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        if let Some(lane) = credits.of.hear(said) {
            self.credits_moved(now, lane, book, log);
        }
    }

    /// Closes a lane that has too little for a frame, and opens one that has enough again.
    fn credits_moved(&mut self, now: Time, lane: u8, book: &Book<'_>, log: &mut Log) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        let (bit, short) = (1 << lane, credits.of.is_short(lane));
        if short == (credits.short & bit != 0) {
            return;
        }
        credits.short ^= bit;
        let arms = short && credits.armed & bit == 0;
        if short {
            credits.armed |= bit;
        }
        let asks_at = now.after(credits.of.patience);
        let mut moved = false;
        for priority in credits.of.priorities(lane) {
            let signal = if short {
                Signal::PausePriority(priority)
            } else {
                Signal::ResumePriority(priority)
            };
            if self.gates.heed(now, signal) {
                self.watched
                    .iter_mut()
                    .for_each(|watched| watched.note(now, signal));
                moved = true;
            }
        }
        if arms {
            self.ask_later(asks_at, lane);
        }
        if moved {
            self.gates_moved(now, book, log);
        }
    }

    fn ask_later(&mut self, at: Time, lane: u8) {
        self.later.push(Reverse((at, Action::AskForCredits(lane))));
        self.pace.action_at = self.pace.action_at.min(at);
    }

    /// A lane that had too little asks, also where it has enough now: the next closing may be short for the same lost credits.
    /// One that still has too little will ask again.
    fn ask_for_credits(&mut self, now: Time, lane: u8) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        let bit = 1 << lane;
        credits.asks |= bit;
        self.pace.ask_at = self.pace.ask_at.min(now.max(self.pace.free_at));
        if credits.short & bit == 0 {
            credits.armed &= !bit;
            return;
        }
        let again = now.after(credits.of.patience);
        self.ask_later(again, lane);
    }

    /// Puts the question of a lane on the idle line, if there is one.
    fn question<O: HostLine>(&mut self, now: Time, out: &mut O) -> bool {
        let Some(credits) = self.credits.as_mut().filter(|credits| credits.asks != 0) else {
            return false;
        };
        let lane = credits.asks.trailing_zeros();
        credits.asks &= credits.asks - 1;
        #[allow(clippy::cast_possible_truncation, reason = "below 8")]
        let frame = credits.of.question(lane as u8).packet();
        self.pace.put(now, &frame, out);
        self.pace.ask_at = self.pace.free_at;
        true
    }

    fn gates_moved(&mut self, now: Time, book: &Book<'_>, log: &mut Log) {
        let closed = self.gates.any_closed();
        self.pace.suspect = if closed { u16::MAX } else { FRAME_SMALLEST };
        match (self.closed_since, closed) {
            (None, true) => self.closed_since = Some(now),
            (Some(since), false) => {
                self.paused += now.since(since);
                self.closed_since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
        self.call(now, book, log, |endpoint, cx| endpoint.on_gates(cx));
    }

    /// Bytes accepted and not forgotten, by connection and this host; none where nobody counts them.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        let all = self.accepted.iter().flatten();
        all.map(|(&conn, of)| ((conn, self.id), of.bytes - of.forgotten))
    }

    /// Bytes that it has accepted and forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        let all = self.accepted.iter().flatten();
        all.map(|(_, of)| of.forgotten).sum()
    }

    /// What its transport has counted so far.
    pub(crate) fn totals(&self) -> Totals {
        self.endpoint.totals()
    }

    /// Pauses of flows that it did not heed because it knew too many others.
    pub(crate) fn ignored(&self) -> u64 {
        self.gates.ignored()
    }

    /// At the end of a run: gates that are closed were so until `now`.
    pub(crate) fn close_books(&mut self, now: Time) {
        if let Some(since) = &mut self.closed_since {
            self.paused += now.since(*since);
            *since = now;
        }
        self.pause_longest = self.gates.longest(now);
    }

    /// Packets taken from the line and handed on, by class.
    pub(crate) fn received(&self) -> ByClass<u64> {
        ByClass::from_fn(|class| self.pace.received[class as usize] - self.unwanted[class])
    }

    /// Lets a packet leave where the line has a queue before it, or credits of the next switch.
    #[inline(never)]
    fn transmit<O: HostLine>(&mut self, now: Time, book: &Book<'_>, log: &mut Log, out: &mut O) {
        if self.queue.is_some() {
            self.push(now, book, log, out);
            return;
        }
        if self.question(now, out) {
            self.pace.deadline = self.endpoint.deadline();
            return;
        }
        let (mut work, mut cx) = self.at_work(book);
        let sent = work.transmit(&mut cx, now, log, out);
        if let (Some(packet), Some(credits)) = (sent, &mut self.credits) {
            let lane = credits.of.spend(&packet);
            self.credits_moved(now, lane, book, log);
        }
        self.hear(now, book, log);
    }

    /// Puts all that the endpoint would send now into the queue before its line.
    fn push<O: HostLine>(&mut self, now: Time, book: &Book<'_>, log: &mut Log, out: &mut O) {
        for _ in 0..PUSHES_PER_INSTANT_MAX {
            let mut packet = Packet::EMPTY;
            let (mut work, mut cx) = self.at_work(book);
            let said = work.poll(&mut cx, now, &mut packet);
            if said != Transmit::Nothing {
                if !work.may_leave(cx.gates, &packet, log) {
                    continue;
                }
                work.attach(&mut packet, out);
                let queue = self.queue.as_mut().expect("only what has a queue pushes");
                queue.promise(now, &mut packet, out);
            }
            self.hear(now, book, log);
            if said != Transmit::More {
                return;
            }
        }
        panic!("host {} pushes packets without end at {now}", self.id);
    }

    /// Whether nothing has been sent and nothing paused: its egress port has nothing to tell.
    pub(crate) fn is_untouched(&self) -> bool {
        let paused = self.paused.max(self.pause_longest);
        self.pace.free_at == Time::ZERO && self.queue.is_none() && paused == Span::ZERO
    }

    /// Counters of its egress port so far.
    pub(crate) fn counters(&self) -> Counters {
        match &self.queue {
            Some(port) => port.counters(),
            None => Counters {
                packets: self.pace.sent.packets(),
                bytes: self.pace.sent.bytes(),
                paused: self.paused,
                pause_longest: self.pause_longest,
                ..Counters::default()
            },
        }
    }

    /// The port before its line, where a queue lies there.
    pub(crate) fn queue(&self) -> Option<&Port> {
        self.queue.as_deref()
    }

    /// When its line is idle again, where no queue lies before it.
    pub(crate) fn busy_until(&self) -> Time {
        self.pace.free_at
    }

    /// See [`Port::forget_peak`].
    pub(crate) fn forget_peak(&mut self, now: Time) {
        if let Some(port) = &mut self.queue {
            port.forget_peak(now);
        }
    }

    /// What a probe sees of its line at `at`: nothing waits where no queue lies before it.
    pub(crate) fn sample(&self, at: Time, link: LinkId, links: &dyn OnLinks) -> PortSample {
        if let Some(port) = &self.queue {
            return PortSample::of(port, at, link, links);
        }
        PortSample {
            at,
            link,
            queue: 0,
            credits: 0,
            sent: self.pace.sent.bytes(),
            marked: 0,
            dropped: ByClass::default(),
        }
    }

    /// Does every action that is due.
    #[inline(never)]
    fn act(&mut self, now: Time, book: &Book<'_>, log: &mut Log) {
        loop {
            let planned = book.actions(self.id).get(self.next_action).copied();
            let caused = self.later.peek().map(|&Reverse(action)| action);
            let from_plan = match (planned, caused) {
                (Some(planned), Some(caused)) => planned <= caused,
                (Some(_), None) => true,
                (None, _) => false,
            };
            let next = if from_plan { planned } else { caused };
            self.pace.action_at = next.map_or(Time::NEVER, |(at, _)| at);
            let Some((_, action)) = next.filter(|&(at, _)| at <= now) else {
                return;
            };
            if from_plan {
                self.next_action += 1;
            } else {
                self.later.pop();
            }
            self.perform(now, action, book, log);
        }
    }

    fn perform(&mut self, now: Time, action: Action, book: &Book<'_>, log: &mut Log) {
        match action {
            Action::Connect(conn) => self.connect(now, conn, Lifetime::Persistent, book, log),
            Action::Send(number) => {
                let message = book.message(number);
                book.set_started(number, now);
                log.started += 1;
                if book.lifetime(message.conn) == Lifetime::OneMessage {
                    self.connect(now, message.conn, Lifetime::OneMessage, book, log);
                }
                let (conn, size) = (ConnId(message.conn), message.size);
                self.call(now, book, log, |endpoint, cx| endpoint.send(cx, conn, size));
            }
            Action::Stop(number) => {
                let conn = ConnId(book.message(number).conn);
                self.call(now, book, log, |endpoint, cx| endpoint.cancel(cx, conn));
            }
            Action::LapsePriority(priority) => {
                self.lapse(now, Signal::PausePriority(priority), book, log);
            }
            Action::LapseFlow(conn) => {
                self.lapse(now, Signal::PauseFlow(ConnId(conn)), book, log);
            }
            Action::AskForCredits(lane) => self.ask_for_credits(now, lane),
        }
    }

    fn connect(
        &mut self,
        now: Time,
        conn: u32,
        lifetime: Lifetime,
        book: &Book<'_>,
        log: &mut Log,
    ) {
        let conn = ConnId(conn);
        let peer = model::Peers::peer(book, model::HostId(self.id), conn)
            .expect("the book's own connections have two ends");
        self.call(now, book, log, |endpoint, cx| {
            endpoint.connect(cx, conn, peer, lifetime);
        });
    }

    /// Has message `number` sent at `at`, which is not over yet.
    pub(crate) fn start(&mut self, number: u32, at: Time) {
        self.later.push(Reverse((at, Action::Send(number))));
        self.pace.action_at = self.pace.action_at.min(at);
    }

    /// Fires the triggers of a milestone of message `number`.
    fn fire(&mut self, at: Time, number: u32, of: Milestone, book: &Book<'_>, log: &mut Log) {
        for trigger in book.triggers.fired_by(number, of) {
            if book.triggers.is_local(trigger) {
                for (released, delay) in book.triggers.count(trigger) {
                    self.start(released, at + delay);
                }
            } else {
                log.firings.push(Firing {
                    at,
                    message: number,
                    trigger,
                });
            }
        }
    }

    /// Hears what the endpoint has said.
    #[inline(never)]
    fn hear(&mut self, now: Time, book: &Book<'_>, log: &mut Log) {
        let events = std::mem::take(&mut self.events);
        for &event in &events {
            match event {
                Event::Received {
                    conn,
                    ordinal,
                    length,
                } => {
                    if let Some(accepted) = &mut self.accepted {
                        accepted.entry(conn.0).or_default().since = 0;
                    }
                    let Some(number) = book.received_by(self.id, conn.0, ordinal) else {
                        log.unsent += 1;
                        continue;
                    };
                    if !book.set_ended(number, now, length) {
                        log.again += 1;
                        continue;
                    }
                    log.completions.push(Completion {
                        message: number,
                        end: now,
                    });
                    log.ended += 1;
                    for &(dependent, delay) in book.dependents(number) {
                        self.start(dependent, now + delay);
                    }
                    self.fire(now, number, Milestone::Received, book, log);
                }
                Event::Stopped { conn } => book.set_stopped(self.id, conn.0, now),
                Event::AskedAgain { conn } => book.set_asked_again(conn.0, now),
                Event::Data { conn, length, .. } => {
                    if let Some(accepted) = &mut self.accepted {
                        accepted.entry(conn.0).or_default().accept(length.into());
                    }
                }
                Event::Sent { conn, ordinal } => {
                    if (!book.triggers.is_empty() || book.notes_done())
                        && let Some(number) = book.sent_by(self.id, conn.0, ordinal)
                    {
                        book.set_done(number, now);
                        self.fire(now, number, Milestone::Sent, book, log);
                    }
                }
                Event::Missing { conn } => {
                    self.watched
                        .iter_mut()
                        .for_each(|watched| watched.miss(now, conn));
                }
                Event::Refused { conn } => log.refused.push((self.id, conn, now)),
                // Connections of the book live as long as the run.
                Event::Forgotten { conn } => {
                    self.gates.forget(conn);
                    let accepted = self.accepted.as_mut().and_then(|all| all.get_mut(&conn.0));
                    accepted.into_iter().for_each(Payload::forget);
                }
            }
        }
        self.events = events;
        self.events.clear();
    }
}
