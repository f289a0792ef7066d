//! A host's steps: packets in, deadlines, and packets out, which take turns until it comes to rest.

use super::Host;
use crate::beside::HostLine;
use crate::book::Book;
use crate::node::Log;
use model::{Cx, Endpoint, Gates, Packet, Transmit};
use std::hint::cold_path;
use switching::Sent;
use units::{LineTime, Span, Time};

/// Steps that an endpoint may take at one instant before it counts as a storm. [ours]
const STEPS_PER_INSTANT_MAX: u32 = 10_000;
/// The first instants of a host, after each of which a build for tests checks the endpoint, and of how many later ones it
/// checks one. [ours]
#[cfg(debug_assertions)]
const CHECKED_FIRST: u64 = 1_000;
#[cfg(debug_assertions)]
const CHECKED_LATER: u64 = 61;

/// A host's line, and the moments at which it does something: one line of the cache, before what is counted.
#[repr(C)]
pub(super) struct Pace {
    /// When its line is idle again; long ago where a queue lies before it.
    pub(super) free_at: Time,
    /// When the endpoint is asked what leaves; never, where it has said "nothing".
    pub(super) ask_at: Time,
    /// The endpoint's deadline, as of its last step.
    pub(super) deadline: Time,
    /// The moment of its next action.
    pub(super) action_at: Time,
    pub(super) delay: Span,
    pub(super) line: LineTime,
    /// Its egress link.
    pub(super) link: u32,
    /// Frames below this size are looked at before they leave: all of them where something is paused.
    pub(super) suspect: u16,
    /// The host itself lets packets leave, by [`Host::transmit`].
    pub(super) by_itself: bool,
    /// Packets taken from the line, by class number; eight, so that no index is checked.
    pub(super) received: [u64; 8],
    /// Packets put on it, where no queue lies before it.
    pub(super) sent: Sent,
    /// Instants after which it came to rest.
    #[cfg(debug_assertions)]
    pub(super) instants: u64,
}

impl Pace {
    /// Whether the endpoint's invariants are looked at after this instant: a look takes as long as all its connections.
    #[cfg(debug_assertions)]
    fn is_checked(&mut self) -> bool {
        self.instants += 1;
        self.instants <= CHECKED_FIRST || self.instants.is_multiple_of(CHECKED_LATER)
    }

    #[inline(always)] // into the loop over the instants of a window
    fn next(&self) -> Time {
        self.action_at.min(self.deadline).min(self.ask_at)
    }

    /// Puts a packet on the idle line.
    #[inline(always)]
    pub(super) fn put<O: HostLine>(&mut self, now: Time, packet: &Packet, out: &mut O) {
        self.sent.add(packet);
        self.free_at = now + self.line.of(u64::from(packet.size));
        out.send(self.link, packet, self.free_at + self.delay);
    }
}

/// What comes to a host.
pub(crate) trait Arriving {
    /// It, where it is a packet as any other and nothing is beside it.
    fn plain(&self) -> Option<&Packet>;

    /// Has `host` take anything else in.
    fn arrive(self, now: Time, host: &mut Host, book: &Book<'_>, log: &mut Log);
}

impl Arriving for &Packet {
    #[inline(always)] // once per packet that comes to a host
    fn plain(&self) -> Option<&Packet> {
        self.is_plain().then_some(self)
    }

    fn arrive(self, now: Time, host: &mut Host, book: &Book<'_>, log: &mut Log) {
        host.arrive_unusual(now, self, book, log);
    }
}

/// Why a host's steps pause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// Nothing more is due.
    Rest,
    /// The endpoint has said something: [`Host::hear`].
    News,
    /// The line is idle, and the host lets packets leave by itself: [`Host::transmit`].
    Line,
}

/// A host that takes its steps, whose context is made once for all of them and lies beside.
pub(super) struct Work<'h> {
    endpoint: &'h mut dyn Endpoint,
    pace: &'h mut Pace,
}

impl Host {
    /// The moment at which something happens here next without a packet coming in.
    pub(crate) fn next(&self) -> Time {
        self.pace.next()
    }

    /// Takes in what comes, in the order of time, and does all that is due before `end`; returns [`Host::next`].
    #[inline(never)]
    pub(crate) fn run<A: Arriving, O: HostLine>(
        &mut self,
        mut arrivals: impl Iterator<Item = (Time, A)>,
        end: Time,
        book: &Book<'_>,
        log: &mut Log,
        out: &mut O,
    ) -> Time {
        let (mut work, mut cx) = self.at_work(book);
        let (mut next, mut last) = (work.pace.next(), Time::ZERO);
        loop {
            let coming = arrivals.next();
            let until = coming.as_ref().map_or(end, |&(at, _)| at);
            while next < until {
                last = next;
                if work.pace.action_at <= next {
                    cold_path();
                    self.act(next, book, log);
                    (work, cx) = self.at_work(book);
                }
                let mut steps = 0;
                loop {
                    match work.go_on(&mut cx, next, &mut steps, log, out) {
                        Pause::Rest => break,
                        Pause::News => self.hear(next, book, log),
                        Pause::Line => self.transmit(next, book, log, out),
                    }
                    (work, cx) = self.at_work(book);
                }
                next = work.pace.next();
            }
            let Some((at, arrival)) = coming else {
                break;
            };
            match arrival.plain() {
                Some(packet) => {
                    if work.arrive(&mut cx, at, packet) {
                        cold_path();
                        self.hear(at, book, log);
                        (work, cx) = self.at_work(book);
                    }
                }
                None => {
                    cold_path();
                    arrival.arrive(at, self, book, log);
                    (work, cx) = self.at_work(book);
                }
            }
            next = at; // to be settled after all that arrives then
        }
        log.last = log.last.max(last);
        next
    }

    /// Has it take its steps, until something else of it is needed.
    #[inline(always)] // into the loop over the instants of a window
    pub(super) fn at_work<'h>(&'h mut self, book: &'h Book<'_>) -> (Work<'h>, Cx<'h>) {
        let cx = Cx {
            now: Time::ZERO,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: book,
            gates: &self.gates,
            wants_data: self.accepted.is_some(),
        };
        let work = Work {
            endpoint: &mut *self.endpoint,
            pace: &mut self.pace,
        };
        (work, cx)
    }
}

impl Work<'_> {
    /// One step that is no question. Returns whether there is news.
    #[inline(always)] // the same
    pub(super) fn call(
        &mut self,
        cx: &mut Cx<'_>,
        now: Time,
        step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>),
    ) -> bool {
        self.step(cx, now, step);
        self.pace.deadline = self.endpoint.deadline();
        !cx.events.is_empty()
    }

    /// The same, but for the deadline, for which it is still to be asked.
    #[inline(always)]
    fn step(
        &mut self,
        cx: &mut Cx<'_>,
        now: Time,
        step: impl FnOnce(&mut dyn Endpoint, &mut Cx<'_>),
    ) {
        cx.now = now;
        step(self.endpoint, cx);
        self.pace.ask_at = now.max(self.pace.free_at);
    }

    /// A packet as any other has come in. Returns whether there is news.
    #[inline(always)] // once per packet that comes to a host
    pub(super) fn arrive(&mut self, cx: &mut Cx<'_>, now: Time, packet: &Packet) -> bool {
        self.pace.received[packet.class_index()] += 1;
        self.call(cx, now, |endpoint, cx| endpoint.on_packet(cx, packet))
    }

    /// Does what is left of an instant after its arrivals and actions, deadlines and the line, until it comes to rest or
    /// pauses: then it is to be called again. `steps` counts over all calls of an instant.
    #[inline(always)] // into the loop over the instants of a window
    fn go_on<O: HostLine>(
        &mut self,
        cx: &mut Cx<'_>,
        now: Time,
        steps: &mut u32,
        log: &mut Log,
        out: &mut O,
    ) -> Pause {
        loop {
            let due = self.pace.deadline <= now;
            if !due && self.pace.ask_at > now {
                #[cfg(debug_assertions)]
                if self.pace.is_checked() {
                    self.endpoint.check();
                }
                return Pause::Rest;
            }
            *steps += 1;
            if *steps >= STEPS_PER_INSTANT_MAX {
                storm(now, self.pace);
            }
            if due {
                self.step(cx, now, |endpoint, cx| endpoint.on_deadline(cx));
                // Asked what leaves, it is asked for its deadline, too.
                self.pace.deadline = match self.pace.ask_at > now {
                    true => self.endpoint.deadline(),
                    false => Time::NEVER,
                };
                if !cx.events.is_empty() {
                    cold_path();
                    return Pause::News;
                }
            }
            if self.pace.ask_at <= now {
                if self.pace.by_itself {
                    cold_path();
                    return Pause::Line;
                }
                self.transmit(cx, now, log, out);
                if !cx.events.is_empty() {
                    cold_path();
                    return Pause::News;
                }
            }
        }
    }

    /// Asks the endpoint what leaves now.
    #[inline(always)] // into the loop over the instants of a window
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>, now: Time, packet: &mut Packet) -> Transmit {
        cx.now = now;
        let said = self.endpoint.poll_transmit(cx, packet);
        self.pace.deadline = self.endpoint.deadline();
        self.pace.ask_at = Time::NEVER;
        said
    }

    /// Puts on the idle line what the endpoint has to send, and returns it.
    #[inline(always)] // the same
    pub(super) fn transmit<O: HostLine>(
        &mut self,
        cx: &mut Cx<'_>,
        now: Time,
        log: &mut Log,
        out: &mut O,
    ) -> Option<Packet> {
        debug_assert!(self.pace.free_at <= now);
        let mut packet = Packet::EMPTY;
        let said = self.poll(cx, now, &mut packet);
        if said == Transmit::Nothing {
            return None;
        }
        if !self.may_leave(cx.gates, &packet, log) {
            self.pace.ask_at = now;
            return None;
        }
        self.attach(&mut packet, out);
        self.pace.put(now, &packet, out);
        if said == Transmit::More {
            self.pace.ask_at = self.pace.free_at;
        }
        Some(packet)
    }

    /// Has the endpoint write the record of a packet that it has just handed out, if that has one.
    #[inline(always)] // nothing where the run carries nothing
    pub(super) fn attach<O: HostLine>(&self, packet: &mut Packet, out: &mut O) {
        if O::CARRIES && packet.has_record() {
            out.keep_own(packet, self.endpoint.record(packet));
        }
        debug_assert!(
            O::CARRIES || !packet.carries(),
            "{packet:?} has a record, and its transport's fabric does not say so"
        );
    }

    /// Whether a packet may leave. One that may not is lost: the transport has broken its contract.
    #[inline(always)] // once per packet
    pub(super) fn may_leave(&self, gates: &Gates, packet: &Packet, log: &mut Log) -> bool {
        packet.size >= self.pace.suspect || may_leave_now(gates, packet, log)
    }
}

/// Whether a packet may leave that looks as if it might not.
#[inline(never)]
fn may_leave_now(gates: &Gates, packet: &Packet, log: &mut Log) -> bool {
    assert!(
        packet.size >= model::FRAME_SMALLEST,
        "{packet:?} is smaller than any frame"
    );
    let may = gates.may_leave(packet);
    debug_assert!(may, "{packet:?} was to leave through a closed gate");
    log.breaches += u64::from(!may);
    may
}

#[cold]
#[inline(never)]
fn storm(now: Time, pace: &Pace) -> ! {
    let Pace {
        link,
        deadline,
        ask_at,
        ..
    } = pace;
    panic!(
        "the host before link {link} does not come to rest at {now}: deadline {deadline}, line {ask_at}"
    );
}
