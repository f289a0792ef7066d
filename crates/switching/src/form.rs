//! The cheapest form of a port that does what its specification asks for.

use crate::admission::Admission;
use crate::credit_port::CreditPort;
use crate::data_queue::DataQueue;
use crate::discipline::{Backlog, Dequeue, Discipline, Gate, OnLine, Verdict};
use crate::fifo::Fifo;
use crate::priority::StrictPriority;
use crate::queues::Queues;
use model::intent::{DropMeasure, Limit, MarkAt, Order, Over, PortSpec, QueueSpec, Takes};
use model::{ByClass, Class, Packet, Rng};
use units::LineTime;
use units::Time;

/// What a port is made of.
#[derive(Debug)]
pub enum Form {
    /// One first-in first-out queue whose future nothing can change.
    Fifo(Box<Fifo>),
    /// One queue that keeps its packets.
    Data(Box<DataQueue>),
    /// Shaped credits before one queue of data.
    Credit(Box<CreditPort>),
    /// Strict priorities.
    Priority(Box<StrictPriority>),
    /// One queue, or strict priorities, with gates.
    Gated(Box<StrictPriority<true>>),
    /// Anything else.
    Queues(Box<Queues>),
}

/// What the rest of a switch asks of the form of its ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    /// Nothing: every port for itself.
    Cheapest,
    /// Departures that are not known at arrival, because ports look at each other.
    Late,
    /// The same, and gates of whole queues.
    Gates,
    /// Gates of any kind, and queues that others assign.
    Queues,
}

impl Form {
    /// Builds what `spec` asks for on a line of `line`, with `buffer` bytes of room.
    pub fn new(spec: &PortSpec, buffer: u64, line: LineTime, rng: Rng, wants: Wants) -> Self {
        if wants == Wants::Gates && gates_fit(spec) {
            return Self::Gated(Box::new(StrictPriority::new(&spec.queues, buffer, &rng)));
        }
        if matches!(wants, Wants::Gates | Wants::Queues) {
            return Self::Queues(Box::new(Queues::new(spec, buffer, line, &rng)));
        }
        let plain = |queue: &QueueSpec| is_plain(queue);
        match spec.queues.as_slice() {
            [data] if plain(data) && data.takes == Takes::ALL => {
                if wants == Wants::Cheapest && known_at_arrival(data) {
                    Self::Fifo(Box::new(Fifo::new(data, buffer, rng)))
                } else {
                    Self::Data(Box::new(DataQueue::new(data, buffer, rng)))
                }
            }
            [credit, data]
                if credit.takes == Takes::ALL.only(Class::Credit)
                    && credit.level < data.level
                    && plain(data)
                    && data.takes == Takes::ALL =>
            {
                match credit.shape {
                    Some(shape) => Self::Credit(Box::new(CreditPort::new(
                        shape,
                        line,
                        DataQueue::new(data, buffer, rng),
                    ))),
                    None => Self::Queues(Box::new(Queues::new(spec, buffer, line, &rng))),
                }
            }
            queues if are_priorities(queues) => {
                Self::Priority(Box::new(StrictPriority::new(queues, buffer, &rng)))
            }
            _ => Self::Queues(Box::new(Queues::new(spec, buffer, line, &rng))),
        }
    }

    /// For a first-in first-out port: who may join.
    pub fn admission(&self) -> Option<&Admission> {
        match self {
            Self::Fifo(fifo) => Some(&fifo.admission),
            _ => None,
        }
    }

    /// Opens or closes a gate; nothing where the form was built without.
    pub fn gate(&mut self, gate: Gate) {
        match self {
            Self::Queues(queues) => queues.gate(gate),
            Self::Gated(queues) => queues.gate(gate),
            Self::Fifo(_) | Self::Data(_) | Self::Credit(_) | Self::Priority(_) => {}
        }
    }
}

impl Form {
    /// Whether a gate is closed.
    pub(crate) fn is_gated(&self) -> bool {
        match self {
            Self::Queues(queues) => queues.is_gated(),
            Self::Gated(queues) => queues.is_gated(),
            Self::Fifo(_) | Self::Data(_) | Self::Credit(_) | Self::Priority(_) => false,
        }
    }
}

/// A first-in first-out queue in the port's buffer that drops what has no room.
fn is_plain(queue: &QueueSpec) -> bool {
    queue.limit == Limit::Port
        && queue.over == Over::Drop
        && queue.order == Order::Fifo
        && queue.shape.is_none()
}

/// Whether the departure of a packet from this queue alone is known when it arrives.
fn known_at_arrival(queue: &QueueSpec) -> bool {
    queue.mark.is_none_or(|mark| mark.at == MarkAt::Enqueue)
        && queue
            .drop
            .is_none_or(|drop| drop.measure != DropMeasure::VictimOnly)
}

/// Whether these are one queue of everything, or strict priorities.
fn gates_fit(spec: &PortSpec) -> bool {
    match spec.queues.as_slice() {
        [data] => is_plain(data) && data.takes == Takes::ALL,
        queues => are_priorities(queues),
    }
}

/// Whether these are 2 to 8 queues of one group, one priority each, the last with all that are left.
fn are_priorities(queues: &[QueueSpec]) -> bool {
    let alike = |queue: &QueueSpec| {
        is_plain(queue) && (queue.level, queue.group) == (queues[0].level, queues[0].group)
    };
    let takes = |(place, queue): (usize, &QueueSpec)| {
        let priorities = if place + 1 < queues.len() {
            1 << place
        } else {
            u8::MAX
        };
        queue.takes
            == Takes {
                priorities,
                ..Takes::ALL
            }
    };
    (2..=8).contains(&queues.len())
        && queues.iter().all(alike)
        && queues.iter().enumerate().all(takes)
}

/// Does the same with every form but [`Form::Fifo`], which does not queue.
macro_rules! late {
    ($form:expr, $port:ident => $do:expr) => {
        match $form {
            $crate::form::Form::Data($port) => $do,
            $crate::form::Form::Credit($port) => $do,
            $crate::form::Form::Priority($port) => $do,
            $crate::form::Form::Gated($port) => $do,
            $crate::form::Form::Queues($port) => $do,
            $crate::form::Form::Fifo(_) => unreachable!("FIFO ports do not queue"),
        }
    };
}
pub(crate) use late;

/// For every form but [`Form::Fifo`], which does not queue.
impl Discipline for Form {
    #[inline(always)] // once per queued packet
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        late!(self, port => port.enqueue(now, line, packet))
    }

    #[inline]
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        late!(self, port => Discipline::pass(&mut **port, now, packet))
    }

    #[inline(always)] // likewise
    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue {
        late!(self, port => port.dequeue(now, out))
    }

    fn backlog(&self) -> Backlog {
        late!(self, port => port.backlog())
    }

    fn peak(&self) -> Backlog {
        late!(self, port => port.peak())
    }

    fn forget_peak(&mut self, on_line: u64) {
        late!(self, port => port.forget_peak(on_line));
    }

    #[inline]
    fn held(&self) -> u64 {
        late!(self, port => port.held())
    }

    #[inline]
    fn counts_line(&self) -> bool {
        late!(self, port => port.counts_line())
    }

    fn waiting(&self) -> ByClass<u64> {
        late!(self, port => port.waiting())
    }

    fn marked(&self) -> u64 {
        late!(self, port => Discipline::marked(&**port))
    }

    fn check(&self) {
        late!(self, port => Discipline::check(&**port));
    }
}
