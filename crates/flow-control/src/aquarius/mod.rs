//! Aquarius: pauses of flows with few queues. [aquarius]
#![doc = include_str!("README.md")]

mod params;
mod port;
mod queues;
mod table;
#[cfg(test)]
mod tests;

pub use params::{First, Mapping, Params, Scale, Size, Turns};

use crate::agenda::Agenda;
use crate::ports::{apart, full_before, holds_a_frame, is_data, needs, split};
use model::intent::{Order, PortSpec};
use model::{Class, ConnId, Packet, Rng, Signal};
use parts::{Caution, Control, ControlFactory, ParamError, Parameter, Place, Refusal};
use port::Port;
use switching::{Coming, FlowControl, GateOf, GateState, Passage, Say};
use units::{Bytes, Rate, Span, Time};

/// The flow control, for a registry.
pub static AQUARIUS: Kind = Kind;

/// Pauses of flows with few queues.
#[derive(Debug)]
pub struct Kind;

impl Control for Kind {
    fn name(&self) -> &'static str {
        "aquarius"
    }
    fn summary(&self) -> &'static str {
        "pauses single flows, and keeps what was paused in one reserved queue of few (ICNP 2023)"
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

impl ControlFactory for Params {
    fn make(&self, place: &Place<'_>) -> Box<dyn FlowControl> {
        Box::new(Aquarius::new(self, place))
    }
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        let order = match (self.turns, self.reserved_turns) {
            (Turns::Packets, 1) => Order::Numbered(self.queues),
            (Turns::Bytes, 1) => Order::NumberedByBytes(self.queues),
            (_, weight) => Order::NumberedByWeight {
                queues: self.queues,
                last: self.reserved,
                weight,
            },
        };
        split("aquarius", port, order)
    }
    fn memory(&self) -> Bytes {
        Bytes(12_000_000)
    }
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        holds_a_frame(place)
    }
    fn needs(&self, place: &Place<'_>) -> Bytes {
        needs(place, pauses_from(self, place))
    }
    fn warns(&self, place: &Place<'_>, _: u8) -> Option<Caution> {
        full_before(place, pauses_from(self, place), self.clone())
    }
    fn overtakes(&self) -> bool {
        !self.order_marks || !self.return_empty
    }
    fn lost_frames(&self) -> Option<String> {
        let help = "a pause whose resume is lost never ends; set switch.aquarius.refresh, 4 round trips of a hop, like \
                    \"20us\"";
        self.refresh.is_none().then(|| help.to_owned())
    }
    fn figures(&self, place: &Place<'_>) -> Vec<(String, String)> {
        let aquarius = Aquarius::new(self, place);
        let Some(port) = aquarius.ports.first() else {
            return Vec::new();
        };
        let (low, high) = port.alone();
        let by = match self.thresholds {
            Scale::Active => " by the number of queues that may send",
            Scale::Fixed => "",
        };
        let value = format!("{} and {}{by}", Bytes(low), Bytes(high));
        vec![("thresholds of port 0".to_owned(), value)]
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}

/// The largest queue of any port at which no flow is paused.
fn pauses_from(params: &Params, place: &Place<'_>) -> u64 {
    let fastest = place.lines.iter().max_by_key(|line| line.rate);
    fastest.map_or(0, |line| Port::new(params, place, line).alone().0)
}

/// The word of a pause that says why it is asked for: [`Port::point`]. Hosts do not read it.
const POINT: usize = 2;

/// The frame that pauses `conn` because of `point`.
fn pause(conn: ConnId, lasting: Span, point: u32) -> Packet {
    let mut frame = Signal::PauseFlow(conn).frame_for(lasting);
    frame.head[POINT] = point;
    frame
}

/// How long a pause lasts that is asked for again after `refresh`, but no more; zero for without end.
fn lasting(refresh: Option<Span>) -> Span {
    refresh.map_or(Span::ZERO, |each| each.times(3))
}

/// What there is to do at a moment, for an egress port and an entry of its table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Task {
    /// Ask again for the pauses of its flows.
    Repeat(u16, u32),
    /// End pauses that nobody asked for again.
    Expire(u16, u32),
}

/// The flow control of one switch.
struct Aquarius {
    params: Params,
    ports: Vec<Port>,
    /// By port: the rate of its line, and how many pauses of its neighbour are asked for.
    asked: Vec<(Rate, usize)>,
    agenda: Agenda<Task>,
    rng: Rng,
    /// Flows that began to join a reserved queue.
    isolations: u64,
    /// Flows that are to be resumed, and where: empty but for a moment.
    resumed: Vec<(ConnId, u16)>,
}

impl Aquarius {
    fn new(params: &Params, place: &Place<'_>) -> Self {
        let lines = place.lines.iter();
        Self {
            params: params.clone(),
            asked: lines.clone().map(|line| (line.rate, 0)).collect(),
            ports: lines.map(|line| Port::new(params, place, line)).collect(),
            agenda: Agenda::new(),
            rng: place.rng.clone(),
            isolations: 0,
            resumed: Vec::new(),
        }
    }

    /// After how long the neighbour at `ingress` is asked again for all that it is asked for; none for never.
    fn refresh(&self, ingress: u16) -> Option<Span> {
        let (rate, count) = self.asked[usize::from(ingress)];
        let refresh = self.params.refresh?;
        Some(apart(refresh, rate, count))
    }

    /// A packet comes and waits, in the queue that this returns.
    #[inline(never)] // it needs registers that a packet that passes does not
    fn waits(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) -> Coming {
        let port = &mut self.ports[usize::from(passage.egress)];
        let (conn, size) = (passage.packet.conn, u64::from(passage.packet.size));
        let (queue, told) = port.comes(conn, passage.ingress, size, &mut self.rng);
        if let Some(told) = told {
            self.pause(now, passage, told, say);
        }
        Coming::Waits(queue)
    }

    /// Has the flow of `passage`, of this entry, paused; for the `first` time since that had nothing to be asked again.
    #[inline(never)] // seldom
    fn pause(
        &mut self,
        now: Time,
        passage: &Passage<'_>,
        (slot, first): (u32, bool),
        say: &mut Say,
    ) {
        let point = self.ports[usize::from(passage.egress)].point(passage.egress, slot);
        say.count_pause(passage.ingress);
        say.blame(passage.ingress, GateOf::Flow(passage.packet.conn));
        self.asked[usize::from(passage.ingress)].1 += 1;
        let refresh = self.refresh(passage.ingress);
        let frame = pause(passage.packet.conn, lasting(refresh), point);
        say.frame(passage.ingress, frame);
        if let Some(refresh) = refresh.filter(|_| first) {
            let task = Task::Repeat(passage.egress, slot);
            self.agenda.add(now + refresh, task);
        }
    }

    #[inline(never)] // seldom
    fn resume(&mut self, say: &mut Say) {
        for (conn, ingress) in self.resumed.drain(..) {
            self.asked[usize::from(ingress)].1 -= 1;
            say.frame(ingress, Signal::ResumeFlow(conn).frame());
        }
    }

    /// Opens or closes the gates of the reserved queues of port `number`, where that has changed.
    fn settle(&mut self, number: u16, say: &mut Say) {
        let port = &mut self.ports[usize::from(number)];
        while let Some((queue, blocked)) = port.block() {
            let state = if blocked {
                GateState::Closed
            } else {
                GateState::Open
            };
            say.gate(number, GateOf::Queue(queue), state);
        }
    }
}

impl FlowControl for Aquarius {
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        Some(u64::from(passage.packet.size) <= free)
    }

    fn assign(&mut self, _: Time, passage: &Passage<'_>) -> Option<u8> {
        let port = &mut self.ports[usize::from(passage.egress)];
        Some(port.assign(passage.packet.conn, &mut self.rng))
    }

    fn speaks(&self, port: u16) -> bool {
        self.ports[usize::from(port)].has_paused()
    }

    fn minds(&self, class: Class) -> bool {
        is_data(class)
    }

    fn comes(&mut self, now: Time, passage: &Passage<'_>, idle: bool, say: &mut Say) -> Coming {
        let port = &mut self.ports[usize::from(passage.egress)];
        let (conn, size) = (passage.packet.conn, u64::from(passage.packet.size));
        if idle && port.overlooks(size) {
            return Coming::Passes(port.assign_alone(conn, &mut self.rng));
        }
        self.waits(now, passage, say)
    }

    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let port = &mut self.ports[usize::from(passage.egress)];
        let (conn, size) = (passage.packet.conn, u64::from(passage.packet.size));
        if let Some(told) = port.arrived(conn, passage.ingress, passage.queue, size) {
            self.pause(now, passage, told, say);
        }
    }

    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        let port = &mut self.ports[usize::from(passage.egress)];
        let size = u64::from(passage.packet.size);
        port.left(passage.packet.conn, passage.queue, size, &mut self.resumed);
        let stirred = port.is_stirred();
        if !self.resumed.is_empty() {
            self.resume(say);
        }
        if stirred {
            self.settle(passage.egress, say);
        }
    }

    fn heard(&mut self, now: Time, number: u16, frame: &Packet, say: &mut Say) {
        let port = &mut self.ports[usize::from(number)];
        match Signal::of(frame) {
            Some(Signal::PauseFlow(conn)) => {
                let until = Signal::until(frame, now);
                let (slot, isolated, watch) = port.stop(conn, frame.head[POINT], until);
                self.isolations += u64::from(isolated);
                if let Some(queue) = port.keeps(slot, conn) {
                    say.keep(number, conn, Some(queue));
                }
                if watch {
                    self.agenda.add(until, Task::Expire(number, slot));
                }
            }
            Some(Signal::ResumeFlow(conn)) => {
                port.go(conn);
                say.keep(number, conn, None);
            }
            Some(Signal::PausePriority(_) | Signal::ResumePriority(_)) | None => return,
        }
        self.settle(number, say);
    }

    fn deadline(&self) -> Time {
        self.agenda.next()
    }

    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        while let Some(task) = self.agenda.take(now) {
            match task {
                Task::Repeat(number, slot) => {
                    let port = &mut self.ports[usize::from(number)];
                    let point = port.point(number, slot);
                    let paused = port.repeated(slot).to_vec();
                    // The slowest, so that all go on together.
                    let refresh = paused
                        .iter()
                        .filter_map(|&(_, ingress)| self.refresh(ingress));
                    let refresh = refresh.max();
                    for (conn, ingress) in paused {
                        say.frame(ingress, pause(conn, lasting(refresh), point));
                    }
                    if let Some(refresh) = refresh {
                        self.agenda.add(now + refresh, task);
                    }
                }
                Task::Expire(number, slot) => {
                    let next = self.ports[usize::from(number)].expire(slot, now);
                    self.agenda.add(next, task);
                    self.settle(number, say);
                }
            }
        }
    }

    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("isolations", self.isolations);
    }

    fn check(&self) {
        let asked: usize = self.asked.iter().map(|&(_, count)| count).sum();
        let paused: usize = self.ports.iter().map(Port::paused).sum();
        assert_eq!(asked, paused, "pauses that are asked for");
        self.ports.iter().for_each(Port::check);
    }
}
