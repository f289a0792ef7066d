//! The cheapest form of a port that does what its specification asks for.

use crate::admission::Admission;
use crate::credit_port::CreditPort;
use crate::data_queue::DataQueue;
use crate::discipline::{Backlog, Dequeue, Discipline, Gate, OnLine, Verdict};
use crate::fifo::Fifo;
use crate::numbered::NumberedPort;
use crate::priority::StrictPriority;
use crate::queues::{Queues, coins, is_plain};
use crate::trimming::Trimming;
use model::intent::{DropMeasure, MarkAt, PortSpec, QueueSpec, Takes};
use model::{ByClass, Class, Packet, Rng};
use units::LineTime;
use units::Time;

/// What a port is made of.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "most ports of most fabrics are of the largest one"
)]
pub enum Form {
    /// One first-in first-out queue whose future nothing can change.
    Fifo(Fifo),
    /// One queue that keeps its packets.
    Data(Box<DataQueue>),
    /// Shaped credits before one queue of data.
    Credit(Box<CreditPort>),
    /// Strict priorities.
    Priority(Box<StrictPriority>),
    /// One queue, or strict priorities, with gates.
    Gated(Box<StrictPriority<true>>),
    /// Data that is cut when it finds no room, beside what is not.
    Trimming(Box<Trimming>),
    /// Numbered queues that others assign, behind one of what is no data.
    Numbered(Box<NumberedPort>),
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
        if wants == Wants::Queues
            && let Some(numbered) = NumberedPort::new(spec, buffer, &rng)
        {
            return Self::Numbered(Box::new(numbered));
        }
        if matches!(wants, Wants::Gates | Wants::Queues) {
            return Self::Queues(Box::new(Queues::new(spec, buffer, line, &rng)));
        }
        let plain = |queue: &QueueSpec| is_plain(queue);
        match spec.queues.as_slice() {
            [data] if plain(data) && data.takes == Takes::ALL => {
                if wants == Wants::Cheapest && known_at_arrival(data) {
                    Self::Fifo(Fifo::new(data, buffer, rng))
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
            _ => match Trimming::new(spec, coins(&rng)) {
                Some(trimming) => Self::Trimming(Box::new(trimming)),
                None => Self::Queues(Box::new(Queues::new(spec, buffer, line, &rng))),
            },
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
            Self::Numbered(queues) => queues.gate(gate),
            Self::Fifo(_)
            | Self::Data(_)
            | Self::Credit(_)
            | Self::Priority(_)
            | Self::Trimming(_) => {}
        }
    }
}

impl Form {
    /// Whether a gate is closed.
    pub(crate) fn is_gated(&self) -> bool {
        match self {
            Self::Queues(queues) => queues.is_gated(),
            Self::Gated(queues) => queues.is_gated(),
            Self::Numbered(queues) => queues.is_gated(),
            Self::Fifo(_)
            | Self::Data(_)
            | Self::Credit(_)
            | Self::Priority(_)
            | Self::Trimming(_) => false,
        }
    }
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
            $crate::form::Form::Trimming($port) => $do,
            $crate::form::Form::Numbered($port) => $do,
            $crate::form::Form::Queues($port) => $do,
            $crate::form::Form::Fifo(_) => unreachable!("FIFO ports do not queue"),
        }
    };
}
pub(crate) use late;

/// For every form but [`Form::Fifo`], which does not queue.
impl Discipline for Form {
    #[inline]
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        late!(self, port => enqueue(&mut **port, now, line, packet))
    }

    #[inline]
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        late!(self, port => pass(&mut **port, now, packet))
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

#[inline(never)] // each form needs registers of its own, here and below
fn enqueue(port: &mut impl Discipline, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
    port.enqueue(now, line, packet)
}

#[inline(never)]
fn pass(port: &mut impl Discipline, now: Time, packet: &mut Packet) -> bool {
    port.pass(now, packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::{GateOf, GateState};
    use model::intent::{
        CreditCount, CreditSpec, DropBy, DropSpec, Limit, MarkSpec, Order, Over, Share,
    };
    use model::stream;
    use units::{Bytes, Rate};

    const CREDIT: CreditSpec = CreditSpec {
        queue_limit: 8,
        bucket: 2,
        count: CreditCount::Credits,
        size_mean: 84,
        frame_max: 1538,
        share: CreditSpec::WHOLE,
    };

    fn form(spec: &PortSpec, wants: Wants) -> Form {
        let rng = Rng::stream(1, stream::TEST, 0);
        Form::new(spec, 9_000, LineTime::new(Rate::gbps(10)), rng, wants)
    }

    fn name(spec: &PortSpec, wants: Wants) -> &'static str {
        match form(spec, wants) {
            Form::Fifo(_) => "fifo",
            Form::Data(_) => "data",
            Form::Credit(_) => "credit",
            Form::Priority(_) => "priority",
            Form::Gated(_) => "gated",
            Form::Trimming(_) => "trimming",
            Form::Numbered(_) => "numbered",
            Form::Queues(_) => "queues",
        }
    }

    /// The form without and with departures known late, with gates, and with assigned queues.
    fn names(spec: &PortSpec) -> [&'static str; 4] {
        [Wants::Cheapest, Wants::Late, Wants::Gates, Wants::Queues].map(|wants| name(spec, wants))
    }

    fn mark(at: MarkAt) -> MarkSpec {
        MarkSpec {
            min: Bytes(10),
            max: Bytes(10),
            chance: 1.0,
            at,
            drop_others: false,
        }
    }

    #[test]
    fn a_port_takes_the_cheapest_form_that_does_its_work() {
        let port = || PortSpec::fifo(Bytes(9_000));
        let drop = |measure| DropSpec {
            victim: Class::Unscheduled,
            threshold: Bytes(6_000),
            measure,
            by: DropBy::Class,
        };
        let one = |change: fn(&mut QueueSpec)| {
            let mut port = port();
            change(&mut port.queues[0]);
            port
        };
        let credits = port().with(QueueSpec::credit(CREDIT));
        let mut late_credits = credits.clone();
        late_credits.queues[0].level = 1;
        let mut unshaped = credits.clone();
        unshaped.queues[0].shape = None;
        let mut ranked_data = credits.clone();
        ranked_data.queues[1].order = Order::Rank;
        let mut part_of_data = credits.clone();
        part_of_data.queues[1].takes.priorities = 1;
        let mut other_level = port().prioritised(2);
        other_level.queues[1].level = 2;
        let mut other_group = port().prioritised(2);
        other_group.queues[1].group = 1;
        let mut swapped = port().prioritised(3);
        swapped.queues.swap(0, 1);
        let mut marked_first = port().prioritised(2);
        marked_first.queues[0].limit = Limit::Bytes(Bytes(99));
        let cut = crate::trimming::tests::port(8, 100, (true, true));
        let other_cut = |change: fn(&mut PortSpec)| {
            let mut port = cut.clone();
            change(&mut port);
            port
        };
        let dear_heads = other_cut(|port| port.queues[1].level = 0);
        let one_group = other_cut(|port| port.queues[1].group = 0);
        let marked_cut = other_cut(|port| port.queues[0].mark = Some(mark(MarkAt::Enqueue)));
        let by_bytes = other_cut(|port| port.shares = vec![Share::Bytes(1), Share::Bytes(10)]);
        let heads_alone = other_cut(|port| port.queues[1].takes.trimmed = Some(true));
        let cut_twice = other_cut(|port| port.queues[0].takes.trimmed = None);
        let wide_heads = other_cut(|port| port.queues[1].limit = Limit::Bytes(Bytes(9_000)));
        for (what, spec, expected) in [
            ("one queue", port(), ["fifo", "data", "gated", "queues"]),
            (
                "marks",
                port().marking(mark(MarkAt::Enqueue)),
                ["fifo", "data", "gated", "queues"],
            ),
            (
                "marks late",
                port().marking(mark(MarkAt::Dequeue)),
                ["data", "data", "gated", "queues"],
            ),
            (
                "drops",
                port().dropping(drop(DropMeasure::Queue)),
                ["fifo", "data", "gated", "queues"],
            ),
            (
                "drops by victims",
                port().dropping(drop(DropMeasure::VictimOnly)),
                ["data", "data", "gated", "queues"],
            ),
            ("ranks", one(|q| q.order = Order::Rank), ["queues"; 4]),
            ("pushes out", one(|q| q.over = Over::PushOut), ["queues"; 4]),
            (
                "bounded",
                one(|q| q.limit = Limit::Packets(9)),
                ["queues"; 4],
            ),
            ("shaped", one(|q| q.shape = Some(CREDIT)), ["queues"; 4]),
            (
                "one priority",
                one(|q| q.takes.priorities = 1),
                ["queues"; 4],
            ),
            ("credits", credits, ["credit", "credit", "queues", "queues"]),
            ("credits beside data", late_credits, ["queues"; 4]),
            ("credits without a shape", unshaped, ["queues"; 4]),
            ("credits before ranks", ranked_data, ["queues"; 4]),
            ("credits before a part", part_of_data, ["queues"; 4]),
            (
                "background",
                port().with(QueueSpec::background(Class::Plain)),
                ["queues"; 4],
            ),
            (
                "two priorities",
                port().prioritised(2),
                ["priority", "priority", "gated", "queues"],
            ),
            (
                "eight priorities",
                port().prioritised(8),
                ["priority", "priority", "gated", "queues"],
            ),
            ("two levels", other_level, ["queues"; 4]),
            ("two groups", other_group, ["queues"; 4]),
            ("out of order", swapped, ["queues"; 4]),
            ("priorities within bounds", marked_first, ["queues"; 4]),
            (
                "cut",
                cut.clone(),
                ["trimming", "trimming", "queues", "queues"],
            ),
            ("heads before all", dear_heads, ["queues"; 4]),
            ("heads after data", one_group, ["queues"; 4]),
            ("cut and marked", marked_cut, ["queues"; 4]),
            ("heads by bytes", by_bytes, ["queues"; 4]),
            ("what is no data is in no queue", heads_alone, ["queues"; 4]),
            ("heads that are cut again", cut_twice, ["queues"; 4]),
            ("heads within bytes", wide_heads, ["queues"; 4]),
        ] {
            assert_eq!(names(&spec), expected, "{what}");
        }
    }

    #[test]
    fn more_than_eight_priorities_are_none() {
        let mut queues = PortSpec::fifo(Bytes(0)).prioritised(8).queues;
        assert!(are_priorities(&queues) && !are_priorities(&queues[..1]));
        queues.insert(0, queues[0]);
        assert!(!are_priorities(&queues));
    }

    #[test]
    fn gates_close_where_a_form_has_some_and_nowhere_else() {
        let gate = |state| Gate {
            of: GateOf::Priority(0),
            state,
        };
        let port = PortSpec::fifo(Bytes(9_000));
        let credits = port.clone().with(QueueSpec::credit(CREDIT));
        let priorities = port.clone().prioritised(2);
        for (spec, wants, gated) in [
            (&port, Wants::Cheapest, false),
            (&port, Wants::Late, false),
            (&credits, Wants::Late, false),
            (&priorities, Wants::Late, false),
            (&port, Wants::Gates, true),
            (&priorities, Wants::Gates, true),
            (&port, Wants::Queues, true),
        ] {
            let mut form = form(spec, wants);
            assert_eq!(form.admission().is_some(), wants == Wants::Cheapest);
            assert!(!form.is_gated());
            form.gate(gate(GateState::Closed));
            assert_eq!(form.is_gated(), gated, "{wants:?}");
            form.gate(gate(GateState::Open));
            assert!(!form.is_gated());
        }
    }
}
