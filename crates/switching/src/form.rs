//! The cheapest form of a port that does what its specification asks for.
//!
//! A form is recognised once, and made at once or when the first packet comes. It says whether the port has anything to do with
//! others of its switch, and does what a [`Discipline`] does by the one form that it is.

use crate::admission::Admission;
use crate::credit_port::CreditPort;
use crate::data_queue::DataQueue;
use crate::discipline::{Backlog, Dequeue, Discipline, Gate, OnLine, Verdict};
use crate::fifo::Fifo;
use crate::numbered::NumberedPort;
use crate::priority::StrictPriority;
use crate::queues::{Queues, coins, is_plain};
use crate::trimming::{Rules, Trimming};
use model::intent::{CreditSpec, DropMeasure, MarkAt, Order, PortSpec, QueueSpec, Takes};
use model::{ByClass, Class, Packet, Rng};
use std::sync::Arc;
use units::LineTime;
use units::Time;

/// What a port is made of.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "most ports of most fabrics are of the largest one"
)]
#[repr(u8)] // which it is comes first: see `Port`
pub enum Form {
    /// Nothing yet: it is made when the first packet comes, for many ports of a large fabric never see one.
    Unmade(Unmade),
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
    Trimming(Trimming),
    /// Numbered queues that others assign, behind one of what is no data.
    Numbered(Box<NumberedPort>),
    /// Anything else.
    Queues(Box<Queues>),
}

/// What a form will be made from.
#[derive(Debug)]
pub struct Unmade {
    spec: Arc<PortSpec>,
    buffer: u64,
    line: LineTime,
    rng: Rng,
    apart: Apart,
}

impl Unmade {
    /// What it will have to do with other ports.
    pub(crate) fn apart(&self) -> Apart {
        self.apart
    }

    /// Whether one of the first `more` packets may go back.
    pub(crate) fn may_bounce(&self, more: usize) -> bool {
        Rules::of(&self.spec).is_some_and(|rules| rules.may_bounce(0, more))
    }
}

/// Whether ports have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Apart {
    /// They have, or may have.
    Never,
    /// They have where one sends something back, for which it must be full.
    UnlessFull,
    /// They never have.
    Always,
}

/// When a form is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// At once.
    Now,
    /// When the first packet comes.
    Later {
        /// What it will have to do with other ports.
        apart: Apart,
    },
}

impl When {
    /// That of a port of `spec`. Gates may close before any packet comes, and a FIFO costs nothing to make.
    pub(crate) fn of(spec: &PortSpec, wants: Wants) -> Self {
        if matches!(wants, Wants::Gates | Wants::Queues) {
            return Self::Now;
        }
        match Kind::of(spec, wants) {
            Kind::Fifo(_) => Self::Now,
            Kind::Data(_) | Kind::Credit(..) | Kind::Priority(_) => Self::Later {
                apart: Apart::Always,
            },
            Kind::Other => Self::Later {
                apart: match Rules::of(spec) {
                    Some(rules) => rules.apart(),
                    None => Apart::Never,
                },
            },
        }
    }
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
        match Kind::of(spec, wants) {
            Kind::Fifo(data) => Self::Fifo(Fifo::new(data, buffer, rng)),
            Kind::Data(data) => Self::Data(Box::new(DataQueue::new(data, buffer, rng))),
            Kind::Credit(shape, data) => {
                let data = DataQueue::new(data, buffer, rng);
                Self::Credit(Box::new(CreditPort::new(shape, line, data)))
            }
            Kind::Priority(queues) => {
                Self::Priority(Box::new(StrictPriority::new(queues, buffer, &rng)))
            }
            Kind::Other => match Trimming::new(spec, coins(&rng)) {
                Some(trimming) => Self::Trimming(trimming),
                None => Self::Queues(Box::new(Queues::new(spec, buffer, line, &rng))),
            },
        }
    }

    /// The same, at the moment that [`When::of`] says.
    #[inline] // set-up calls it for every line
    pub(crate) fn by(
        when: When,
        spec: &Arc<PortSpec>,
        buffer: u64,
        line: LineTime,
        rng: Rng,
        wants: Wants,
    ) -> Self {
        match when {
            When::Now => Self::new(spec, buffer, line, rng, wants),
            When::Later { apart } => Self::Unmade(Unmade {
                spec: spec.clone(),
                buffer,
                line,
                rng,
                apart,
            }),
        }
    }

    /// Makes it, where that has waited.
    #[cold]
    #[inline(never)]
    pub(crate) fn make(&mut self) {
        if let Self::Unmade(of) = self {
            *self = Self::new(&of.spec, of.buffer, of.line, of.rng.clone(), Wants::Late);
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
            Self::Unmade(_)
            | Self::Fifo(_)
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
            Self::Unmade(_)
            | Self::Fifo(_)
            | Self::Data(_)
            | Self::Credit(_)
            | Self::Priority(_)
            | Self::Trimming(_) => false,
        }
    }
}

/// The form of a port without gates.
enum Kind<'a> {
    Fifo(&'a QueueSpec),
    Data(&'a QueueSpec),
    Credit(CreditSpec, &'a QueueSpec),
    Priority(&'a [QueueSpec]),
    Other,
}

impl<'a> Kind<'a> {
    fn of(spec: &'a PortSpec, wants: Wants) -> Self {
        let takes_all = |data: &QueueSpec| is_plain(data) && data.takes == Takes::ALL;
        match spec.queues.as_slice() {
            [data] if takes_all(data) => {
                if wants == Wants::Cheapest && known_at_arrival(data) {
                    Self::Fifo(data)
                } else {
                    Self::Data(data)
                }
            }
            [credit, data]
                if credit.takes == Takes::ALL.only(Class::Credit)
                    && credit.level < data.level
                    && credit.order == Order::Fifo
                    && takes_all(data) =>
            {
                credit
                    .shape
                    .map_or(Self::Other, |shape| Self::Credit(shape, data))
            }
            queues if are_priorities(queues) => Self::Priority(queues),
            _ => Self::Other,
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

/// Does the same with every form but [`Form::Fifo`], which does not queue; or what follows `else` where none is made yet.
macro_rules! late {
    ($form:expr, $port:ident => $do:expr, else $unmade:expr) => {
        match $form {
            $crate::form::Form::Data($port) => $do,
            $crate::form::Form::Credit($port) => $do,
            $crate::form::Form::Priority($port) => $do,
            $crate::form::Form::Gated($port) => $do,
            $crate::form::Form::Trimming(inline) => {
                let mut inline = inline;
                #[allow(clippy::mut_mut, reason = "as far away as what is in a box")]
                let $port = &mut inline;
                $do
            }
            $crate::form::Form::Numbered($port) => $do,
            $crate::form::Form::Queues($port) => $do,
            $crate::form::Form::Unmade(_) => $unmade,
            $crate::form::Form::Fifo(_) => unreachable!("FIFO ports do not queue"),
        }
    };
}
pub(crate) use late;

/// For every form but [`Form::Fifo`], which does not queue. One that is not made is empty.
impl Discipline for Form {
    #[inline]
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        late!(self, port => enqueue(&mut **port, now, line, packet), else enqueue_first(self, now, line, packet))
    }

    #[inline]
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        late!(self, port => pass(&mut **port, now, packet), else pass_first(self, now, packet))
    }

    #[inline(always)] // likewise
    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue {
        late!(self, port => port.dequeue(now, out), else Dequeue::Empty)
    }

    fn backlog(&self) -> Backlog {
        late!(self, port => port.backlog(), else Backlog::default())
    }

    fn peak(&self) -> Backlog {
        late!(self, port => port.peak(), else Backlog::default())
    }

    fn forget_peak(&mut self, on_line: u64) {
        late!(self, port => port.forget_peak(on_line), else {});
    }

    #[inline]
    fn held(&self) -> u64 {
        late!(self, port => port.held(), else 0)
    }

    #[inline]
    fn counts_line(&self) -> bool {
        late!(self, port => port.counts_line(), else false)
    }

    fn waiting(&self) -> ByClass<u64> {
        late!(self, port => port.waiting(), else ByClass::default())
    }

    fn marked(&self) -> u64 {
        late!(self, port => Discipline::marked(&**port), else 0)
    }

    fn check(&self) {
        late!(self, port => Discipline::check(&**port), else {});
    }
}

#[cold]
#[inline(never)]
fn enqueue_first(form: &mut Form, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
    form.make();
    form.enqueue(now, line, packet)
}

#[cold]
#[inline(never)]
fn pass_first(form: &mut Form, now: Time, packet: &mut Packet) -> bool {
    form.make();
    form.pass(now, packet)
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
    use crate::discipline::{GateOf, GateState, IDLE};
    use model::intent::{CreditCount, CreditSpec, DropBy, DropSpec, Limit, MarkSpec, Over, Share};
    use model::{ConnId, HostId, stream};
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

    fn name_of(form: &Form) -> &'static str {
        match form {
            Form::Fifo(_) => "fifo",
            Form::Data(_) => "data",
            Form::Credit(_) => "credit",
            Form::Priority(_) => "priority",
            Form::Gated(_) => "gated",
            Form::Trimming(_) => "trimming",
            Form::Numbered(_) => "numbered",
            Form::Queues(_) => "queues",
            Form::Unmade(_) => "unmade",
        }
    }

    /// The form without and with departures known late, with gates, and with assigned queues.
    fn names(spec: &PortSpec) -> [&'static str; 4] {
        [Wants::Cheapest, Wants::Late, Wants::Gates, Wants::Queues]
            .map(|wants| name_of(&form(spec, wants)))
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
    #[allow(clippy::too_many_lines, reason = "one form after the other")]
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
        let mut credits_in_turn = credits.clone();
        credits_in_turn.queues[0].order = Order::PerFlow;
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
            ("credits in turn", credits_in_turn, ["queues"; 4]),
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

    /// A form that is not made says that it is empty; with the first packet it becomes what it would have been at once.
    #[test]
    fn what_waits_for_a_packet_becomes_what_it_would_have_been() {
        let fifo = PortSpec::fifo(Bytes(9_000));
        let credits = fifo.clone().with(QueueSpec::credit(CREDIT));
        let late = fifo.clone().marking(mark(MarkAt::Dequeue));
        let line = LineTime::new(Rate::gbps(10));
        for (spec, wants, made, apart) in [
            (&fifo, Wants::Cheapest, "fifo", Apart::Always),
            (&fifo, Wants::Late, "data", Apart::Always),
            (&late, Wants::Cheapest, "data", Apart::Always),
            (&credits, Wants::Cheapest, "credit", Apart::Always),
            (
                &fifo.clone().prioritised(2),
                Wants::Late,
                "priority",
                Apart::Always,
            ),
            (
                &crate::trimming::tests::port(8, 100, (true, true)),
                Wants::Cheapest,
                "trimming",
                Apart::UnlessFull,
            ),
            (
                &fifo.clone().with(QueueSpec::background(Class::Plain)),
                Wants::Late,
                "queues",
                Apart::Never,
            ),
            (&fifo, Wants::Gates, "gated", Apart::Never),
            (&fifo, Wants::Queues, "queues", Apart::Never),
        ] {
            for passes in [false, true] {
                let rng = || Rng::stream(1, stream::TEST, 0);
                let spec = &Arc::new(spec.clone());
                let mut at_once = Form::new(spec, 9_000, line, rng(), wants);
                let when = When::of(spec, wants);
                let mut form = Form::by(when, spec, 9_000, line, rng(), wants);
                if let Form::Unmade(unmade) = &form {
                    assert_eq!(unmade.apart(), apart, "{made}");
                    for form in [&mut at_once, &mut form] {
                        let told = (form.backlog(), form.peak(), form.held(), form.waiting());
                        assert_eq!((told, form.marked()), Default::default(), "{made}");
                        form.check();
                        form.forget_peak(0);
                        let next = form.dequeue(Time::ZERO, &mut Packet::EMPTY.clone());
                        assert_eq!(next, Dequeue::Empty, "{made}");
                    }
                    let packet = Packet::new(HostId(0), ConnId(0), Class::Plain, 0, 1500);
                    let [first, second] = [&mut at_once, &mut form].map(|form| {
                        let packet = &mut packet.clone();
                        let passed = passes && form.pass(Time::ZERO, packet);
                        let verdict = (!passes).then(|| form.enqueue(Time::ZERO, IDLE, packet));
                        (passed, verdict, form.held(), form.backlog())
                    });
                    assert_eq!(first, second, "{made}");
                }
                assert_eq!(name_of(&form), made);
            }
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
