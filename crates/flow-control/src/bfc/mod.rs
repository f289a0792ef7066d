//! Backpressure Flow Control: pauses of queues, of which each flow has one to itself while there are enough. [bfc]
#![doc = include_str!("README.md")]

mod params;
mod port;
#[cfg(test)]
mod tests;

pub use params::{Params, Signals};

use crate::agenda::Agenda;
use crate::ports::{Bits, QUEUES_MAX, apart, full_before, holds_a_frame, is_data, needs, split};
use model::intent::{Order, PortSpec};
use model::{Class, ConnId, HostId, Packet, Rng, Signal};
use parts::{Caution, Control, ControlFactory, ParamError, Parameter, Place, Refusal};
use port::{Egress, Ingress, Source};
use switching::{FlowControl, GateOf, GateState, Passage, Say};
use units::{Bytes, Rate, Span, Time};

/// The flow control, for a registry.
pub static BFC: Kind = Kind;

/// Pauses of queues that flows have to themselves.
#[derive(Debug)]
pub struct Kind;

impl Control for Kind {
    fn name(&self) -> &'static str {
        "bfc"
    }
    fn summary(&self) -> &'static str {
        "pauses single queues of the neighbour, of which flows get an empty one each while there are some (NSDI 2022)"
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
        Box::new(Bfc::new(self, place))
    }
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        split("bfc", port, Order::Numbered(self.queues))
    }
    fn memory(&self) -> Bytes {
        Bytes(12_000_000)
    }
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        holds_a_frame(place)
    }
    fn lost_frames(&self) -> Option<String> {
        let help = "a pause whose resume is lost never ends; set switch.bfc.signals = \"periodic\"";
        (self.signals == Signals::Changes).then(|| help.to_owned())
    }
    fn tags(&self) -> bool {
        true
    }
    fn needs(&self, place: &Place<'_>) -> Bytes {
        needs(place, pauses_from(self, place))
    }
    fn warns(&self, place: &Place<'_>, _: u8) -> Option<Caution> {
        full_before(place, pauses_from(self, place), self.clone())
    }
    fn figures(&self, place: &Place<'_>) -> Vec<(String, String)> {
        let bfc = Bfc::new(self, place);
        let Some(port) = bfc.egress.first() else {
            return Vec::new();
        };
        let value = format!(
            "{} by the number of queues that may send",
            Bytes(port.alone())
        );
        vec![("threshold of port 0".to_owned(), value)]
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}

/// The largest queue of any port at which none is paused.
fn pauses_from(params: &Params, place: &Place<'_>) -> u64 {
    let fastest = place.lines.iter().max_by_key(|line| line.rate);
    fastest.map_or(0, |line| Egress::new(params, place, line).alone())
}

/// The number of a frame that says which queues of its receiver are paused, beyond those of [`Signal`].
const BITMAP: u8 = 8;
/// Its bytes on the wire, with preamble and gap: 128 bits fit into the smallest. [802.3]
const BITMAP_SIZE: u16 = 84;

/// The frame that says that these queues are paused and no others.
pub(crate) fn bitmap(queues: Bits) -> Packet {
    let word = |place: u32| {
        let bits = queues >> (32 * place) & Bits::from(u32::MAX);
        u32::try_from(bits).expect("32 bits")
    };
    let conn = ConnId(word(3));
    let mut frame = Packet::new(HostId(0), conn, Class::Link, BITMAP, BITMAP_SIZE);
    frame.head = [word(0), word(1), word(2)];
    frame.end_here();
    frame
}

/// What such a frame says; none where it is of another kind.
pub(crate) fn bits_of(frame: &Packet) -> Option<Bits> {
    let [a, b, c] = frame.head;
    let words = [a, b, c, frame.conn.0].into_iter().rev();
    let bits = words.fold(0, |bits, word| bits << 32 | Bits::from(word));
    (frame.kind() == BITMAP).then_some(bits)
}

/// What there is to do at a moment, for a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Task {
    /// Tell the neighbour what is paused.
    Tell(u16),
    /// End pauses that nobody said again.
    Expire(u16),
}

/// The flow control of one switch.
struct Bfc {
    params: Params,
    egress: Vec<Egress>,
    ingress: Vec<Ingress>,
    /// By port: the number of the first queue of data, and whether a host is behind it.
    first: Vec<(u8, bool)>,
    /// By port: the rate of its line.
    rates: Vec<Rate>,
    /// By port: when the neighbour last said what is paused, and whether the end of that is on the agenda.
    heard: Vec<(Time, bool)>,
    agenda: Agenda<Task>,
    rng: Rng,
    bitmaps: u64,
    /// Flows that found no empty queue.
    shared: u64,
}

impl Bfc {
    fn new(params: &Params, place: &Place<'_>) -> Self {
        let lines = || place.lines.iter();
        let first = |queues: usize| u8::try_from(queues.saturating_sub(1));
        Self {
            params: params.clone(),
            egress: lines()
                .map(|line| Egress::new(params, place, line))
                .collect(),
            ingress: lines().map(|_| Ingress::default()).collect(),
            first: lines()
                .map(|line| {
                    let first = first(line.port.queues.len());
                    (first.expect("a port has at most 64 queues"), line.is_host)
                })
                .collect(),
            rates: lines().map(|line| line.rate).collect(),
            heard: vec![(Time::ZERO, false); place.lines.len()],
            agenda: Agenda::new(),
            rng: place.rng.clone(),
            bitmaps: 0,
            shared: 0,
        }
    }

    /// The place of the queue of `passage` among those of its port.
    fn queue(&self, passage: &Passage<'_>) -> u8 {
        passage.queue - self.first[usize::from(passage.egress)].0
    }

    /// What is paused of the neighbour that `passage` came from: a flow of a host, else the queue that it waited in
    /// there; none where nobody says which.
    fn source(&self, passage: &Passage<'_>) -> Option<Source> {
        if self.first[usize::from(passage.ingress)].1 {
            return Some(Source::Flow(passage.packet.conn));
        }
        let queue = u8::try_from(passage.tag?).ok();
        queue.filter(|&queue| queue < QUEUES_MAX).map(Source::Queue)
    }

    /// How long it is at `port` from one time that `frames` frames are said again to the next.
    fn each(&self, port: u16, frames: usize) -> Span {
        apart(self.params.period, self.rates[usize::from(port)], frames)
    }

    /// How long a pause lasts that `frames` frames say again at `port`, but no more; zero for without end.
    fn lasting(&self, port: u16, frames: usize) -> Span {
        match self.params.signals {
            Signals::Changes => Span::ZERO,
            Signals::Periodic => self.each(port, frames).times(3),
        }
    }

    fn tell_later(&mut self, now: Time, port: u16) {
        if !std::mem::replace(&mut self.ingress[usize::from(port)].due, true) {
            let period = self.params.period.0;
            let next = Time((now.0 / period + 1) * period);
            self.agenda.add(next, Task::Tell(port));
        }
    }

    /// Says which queues are paused, of those that were told.
    fn say_queues(&mut self, port: u16, say: &mut Say) {
        let queues = self.ingress[usize::from(port)].queues();
        self.bitmaps += 1;
        say.frame(port, bitmap(queues));
    }

    /// Tells the neighbour at `port` what is paused.
    fn tell(&mut self, now: Time, port: u16, say: &mut Say) {
        let periodic = self.params.signals == Signals::Periodic;
        let is_host = self.first[usize::from(port)].1;
        let paused = self.ingress[usize::from(port)].len();
        let frames = if is_host { paused } else { 1 };
        let (each, lasting) = (self.each(port, frames), self.lasting(port, frames));
        let ingress = &mut self.ingress[usize::from(port)];
        ingress.due = false;
        if paused == 0 {
            return;
        }
        let news = ingress.has_news();
        let again = periodic && now >= ingress.again_at;
        if again {
            ingress.again_at = now.after(each);
        }
        if is_host {
            for (conn, first) in ingress.flows() {
                if first {
                    say.pause(port, Signal::PauseFlow(conn), lasting);
                } else if again {
                    say.repeat(port, Signal::PauseFlow(conn), lasting);
                }
            }
        } else if news || again {
            ingress.tell();
            if news {
                say.count_pause(port);
            }
            self.say_queues(port, say);
        }
        if periodic {
            self.tell_later(now, port);
        }
    }

    /// The next switch wants these queues of `port` paused, and no others.
    fn close(&mut self, port: u16, queues: Bits, say: &mut Say) {
        let egress = &mut self.egress[usize::from(port)];
        let mut changed = egress.close(queues);
        while changed != 0 {
            let queue = changed.trailing_zeros();
            changed &= changed - 1;
            let number = self.first[usize::from(port)].0 + u8::try_from(queue).expect("below 128");
            let state = if egress.closed() >> queue & 1 == 1 {
                GateState::Closed
            } else {
                GateState::Open
            };
            say.gate(port, GateOf::Queue(number), state);
        }
    }
}

impl FlowControl for Bfc {
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        Some(u64::from(passage.packet.size) <= free)
    }

    fn assign(&mut self, now: Time, passage: &Passage<'_>) -> Option<u8> {
        if !is_data(passage.packet.class()) {
            return None;
        }
        let port = usize::from(passage.egress);
        let conn = passage.packet.conn;
        let (queue, shares) = self.egress[port].assign(now, conn, &mut self.rng);
        self.shared += u64::from(shares);
        Some(self.first[port].0 + queue)
    }

    fn arrived(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let packet = passage.packet;
        if !is_data(packet.class()) {
            return;
        }
        let (queue, source) = (self.queue(passage), self.source(passage));
        let egress = &mut self.egress[usize::from(passage.egress)];
        let above = egress.arrived(now, packet.conn, queue, packet.size.into());
        let ingress = &mut self.ingress[usize::from(passage.ingress)];
        let told = source
            .filter(|_| above)
            .and_then(|source| ingress.pause(source));
        egress.mark(queue, told.is_some());
        if let (Some(false), Some(source)) = (told, source) {
            let what = match source {
                Source::Flow(conn) => GateOf::Flow(conn),
                // Ports at both ends of a line have the same queues.
                Source::Queue(queue) => {
                    GateOf::Queue(self.first[usize::from(passage.ingress)].0 + queue)
                }
            };
            say.blame(passage.ingress, what);
            self.tell_later(now, passage.ingress);
        }
    }

    fn left(&mut self, now: Time, passage: &Passage<'_>, say: &mut Say) {
        let packet = passage.packet;
        if !is_data(packet.class()) {
            return;
        }
        let queue = self.queue(passage);
        let egress = &mut self.egress[usize::from(passage.egress)];
        if !egress.left(now, packet.conn, queue, packet.size.into()) {
            return;
        }
        let Some(source) = self.source(passage) else {
            unreachable!("what was paused has a name")
        };
        let port = passage.ingress;
        if self.ingress[usize::from(port)].resume(source) {
            match source {
                Source::Queue(_) => self.say_queues(port, say),
                Source::Flow(conn) => say.frame(port, Signal::ResumeFlow(conn).frame()),
            }
        }
    }

    fn tag(&mut self, _: Time, passage: &Passage<'_>) -> Option<u16> {
        is_data(passage.packet.class()).then(|| self.queue(passage).into())
    }

    fn heard(&mut self, now: Time, port: u16, frame: &Packet, say: &mut Say) {
        let Some(queues) = bits_of(frame) else {
            return;
        };
        self.close(port, queues, say);
        let closed = self.egress[usize::from(port)].closed();
        let ends = now.after(self.lasting(port, 1));
        let (heard, expires) = &mut self.heard[usize::from(port)];
        *heard = now;
        if self.params.signals == Signals::Periodic && closed != 0 && !*expires {
            *expires = true;
            self.agenda.add(ends, Task::Expire(port));
        }
    }

    fn deadline(&self) -> Time {
        self.agenda.next()
    }

    fn on_deadline(&mut self, now: Time, say: &mut Say) {
        while let Some(task) = self.agenda.take(now) {
            match task {
                Task::Tell(port) => self.tell(now, port, say),
                Task::Expire(port) => {
                    let (heard, expires) = self.heard[usize::from(port)];
                    debug_assert!(expires);
                    let ends = heard.after(self.lasting(port, 1));
                    let later = ends > now && self.egress[usize::from(port)].closed() != 0;
                    self.heard[usize::from(port)].1 = later;
                    if later {
                        self.agenda.add(ends, Task::Expire(port));
                    } else {
                        self.close(port, 0, say);
                    }
                }
            }
        }
    }

    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("bitmaps", self.bitmaps);
        tell("shared queues", self.shared);
    }

    fn check(&self) {
        self.egress.iter().for_each(Egress::check);
        self.ingress.iter().for_each(Ingress::check);
        let marked: usize = self.egress.iter().map(Egress::marked).sum();
        let paused: usize = self.ingress.iter().map(Ingress::marked).sum();
        assert_eq!(marked, paused, "packets that pause, and pauses");
    }
}
