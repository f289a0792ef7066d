//! Numbered queues of data that take turns, behind one of what is no data: the port of a flow control that assigns queues.

use crate::admission::{Admission, Level};
use crate::data_queue::Peak;
use crate::discipline::{Backlog, Dequeue, Discipline, Gate, GateOf, GateState, OnLine, Verdict};
use crate::packets::Packets;
use crate::queues::is_plain;
use crate::store::{Numbered, Paused};
use model::intent::{MarkAt, Order, PortSpec, QueueSpec, Takes};
use model::{ByClass, DropReason, Packet, Rng};
use units::Time;

/// The places of the two queues that the specification names.
const CONTROL: usize = 0;
const DATA: usize = 1;

/// A queue of what is no data, number 0, before numbered ones of data, which take turns packet by packet. All are in one
/// buffer. Gates close either of the two, or one of the numbered.
#[derive(Debug)]
pub struct NumberedPort {
    control: Packets,
    data: Numbered,
    /// Classes of what is no data, as bits.
    classes: u8,
    /// Bytes of each, and of both.
    own: [u64; 2],
    bytes: u64,
    /// Which of the two sent the frame on the line.
    last: usize,
    /// The gates of the two as a whole.
    gates: [GateState; 2],
    /// Of priorities: who is first waits for its own.
    priorities: [GateState; 8],
    /// Both of these are open, and those of the numbered queues too.
    open: bool,
    clear: bool,
    mark_leaving: bool,
    /// While fewer bytes wait, with a frame on the line, every packet is taken unmarked.
    quiet_below: u64,
    /// See [`Self::sure_below`].
    sure_below: u64,
    buffer: u64,
    admission: Admission,
    peak: Peak,
}

/// A packet that leaves, where it lay, and the bytes that still wait.
pub(crate) struct Leaving<'a> {
    pub(crate) packet: &'a mut Packet,
    /// The number of its queue.
    pub(crate) queue: u8,
    pub(crate) held: u64,
}

impl NumberedPort {
    /// The port of `spec`, with `buffer` bytes of room; none where that is another one.
    pub fn new(spec: &PortSpec, buffer: u64, rng: &Rng) -> Option<Self> {
        let [control, data] = spec.queues.as_slice() else {
            return None;
        };
        let Order::Numbered(queues) = data.order else {
            return None;
        };
        let in_turn = |queue: &QueueSpec| QueueSpec {
            order: Order::Fifo,
            ..*queue
        };
        let classes = control.takes.classes;
        let takes = Takes {
            classes,
            ..Takes::ALL
        };
        let fits = is_plain(control)
            && is_plain(&in_turn(data))
            && (control.takes, data.takes) == (takes, Takes::ALL)
            && (control.mark, control.drop, data.drop) == (None, None, None)
            && control.level < data.level;
        let admission = Admission::new(data, buffer, rng.part(DATA as u64));
        let quiet_below = admission.quiet_below().min(buffer);
        fits.then(|| Self {
            control: Packets::default(),
            data: Numbered::new(queues),
            classes,
            own: [0; 2],
            bytes: 0,
            last: CONTROL,
            gates: [GateState::Open; 2],
            priorities: [GateState::Open; 8],
            open: true,
            clear: true,
            mark_leaving: data.mark.is_some_and(|mark| mark.at == MarkAt::Dequeue),
            quiet_below,
            sure_below: quiet_below.saturating_sub(u16::MAX.into()),
            buffer,
            admission,
            peak: Peak::default(),
        })
    }

    /// The number of the queue that a packet joins that nobody has assigned one.
    #[inline]
    pub(crate) fn number_of(&self, packet: &Packet) -> u8 {
        u8::from(self.classes >> packet.class_index() & 1 == 0)
    }

    /// Whether every packet of `size` bytes is taken now, and unmarked.
    #[inline]
    pub(crate) fn keeps_all(&self, now: Time, line: OnLine, size: u64) -> bool {
        line.keeps_below(now, self.bytes + size, self.quiet_below)
    }

    /// It does while fewer bytes than these wait, whatever is on the line.
    #[inline]
    pub(crate) fn sure_below(&self) -> u64 {
        self.sure_below
    }

    /// Bytes that leave before any packet of the `minded` classes, which join numbered queues.
    #[inline]
    pub(crate) fn before(&self, minded: u8) -> u64 {
        if self.open && self.classes & minded == 0 {
            self.own[CONTROL]
        } else {
            0
        }
    }

    /// Whether a gate of its own keeps what is in queue number `number`, one of the numbered queues.
    #[inline]
    pub(crate) fn is_closed(&self, number: u8) -> bool {
        number > 0 && self.data.is_closed(number - 1)
    }

    /// Takes `packet` into queue number `number`, whatever it is.
    #[inline]
    pub(crate) fn enqueue_in(
        &mut self,
        number: u8,
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Verdict {
        let queue = usize::from(number != 0);
        if !self.keeps_all(now, line, packet.size.into())
            && let Err(reason) = self.judge(queue, line.bytes(now), packet)
        {
            return Verdict::Dropped(reason);
        }
        self.keep(number, now, line, packet);
        Verdict::Queued(number)
    }

    /// The same where it is taken.
    #[inline(always)] // once per queued packet
    pub(crate) fn keep(&mut self, number: u8, now: Time, line: OnLine, packet: &Packet) {
        let queue = usize::from(number != 0);
        let size = u64::from(packet.size);
        if queue == CONTROL {
            self.control.push_back(packet);
        } else {
            self.data.push(packet, number - 1);
        }
        self.own[queue] += size;
        self.bytes += size;
        self.peak.note(self.bytes, now, line);
    }

    /// Judges a packet where what waits is not below every threshold. `left` bytes of a frame are on the line.
    #[inline(never)] // seldom
    fn judge(&mut self, queue: usize, left: u64, packet: &mut Packet) -> Result<(), DropReason> {
        if self.bytes + u64::from(packet.size) + left > self.buffer {
            return Err(DropReason::Full);
        }
        if queue == CONTROL {
            return Ok(());
        }
        let level = Level {
            queue: self.own[DATA] + if self.last == DATA { left } else { 0 },
            victims: 0,
            elsewhere: self.own[CONTROL],
        };
        self.admission.judge_closely(level, packet)
    }

    /// Whether nothing waits and no gate is closed. What a gate keeps counts as what waits.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.bytes == 0 && self.clear
    }

    /// Has `packet`, of queue number `number`, leave at once by an idle line. For one of [`Self::keeps_all`], while
    /// [`Self::is_clear`].
    #[inline(always)] // once per packet that passes
    pub(crate) fn put_through(&mut self, number: u8, packet: &mut Packet) {
        if number == 0 {
            self.last = CONTROL;
        } else {
            if self.mark_leaving {
                self.admission.mark_leaving(packet.size.into(), packet);
            }
            self.data.pass(number - 1);
            self.last = DATA;
        }
        self.peak.passed(packet.size);
    }

    /// Opens or closes a gate.
    pub(crate) fn gate(&mut self, gate: Gate) {
        match gate.of {
            GateOf::Queue(0) => self.gates[CONTROL] = gate.state,
            GateOf::Queue(number) => {
                self.data.close(number - 1, gate.state != GateState::Open);
            }
            GateOf::Priority(priority) => self.priorities[usize::from(priority) % 8] = gate.state,
            GateOf::Flow(_) => {} // of flows it knows nothing
        }
        let mut gates = self.gates.iter().chain(&self.priorities);
        self.open = gates.all(|&gate| gate == GateState::Open);
        self.clear = self.open && !self.data.is_paused();
    }

    /// Whether a gate is closed.
    pub(crate) fn is_gated(&self) -> bool {
        !self.clear
    }

    /// The number of the queue of the packet that left last.
    #[inline]
    pub(crate) fn last_queue(&self) -> u8 {
        if self.last == CONTROL {
            0
        } else {
            1 + self.data.last()
        }
    }

    /// Whether the gate of one of the two alone holds back the packet that is next there.
    fn is_shut(&self, queue: usize) -> bool {
        let head = match queue {
            CONTROL => self.control.front(),
            _ => self.data.front(),
        };
        let own = |head: &Packet| self.priorities[usize::from(head.priority()) % 8];
        let lets = |head: &Packet| self.gates[queue].lets(head.size) && own(head).lets(head.size);
        head.is_some_and(|head| !lets(head))
    }

    /// Packets that gates hold back, what is paused of them, and the number of that queue where it is one.
    pub(crate) fn held_packets(&self) -> Vec<(&Packet, Paused, u8)> {
        let mut held = Vec::new();
        if self.is_shut(CONTROL) {
            let all = self.control.iter();
            held.extend(all.map(|packet| (packet, Paused::All, 0)));
        }
        if self.is_shut(DATA) {
            let all = self.data.iter();
            held.extend(all.map(|packet| (packet, Paused::All, 1)));
        } else {
            let some = self.data.paused();
            held.extend(some.map(|(packet, place)| (packet, Paused::Queue(place), 1 + place)));
        }
        held
    }

    /// Takes out what leaves next, where it lies; none where nothing may.
    #[inline(always)] // once per queued packet
    pub(crate) fn leave(&mut self) -> Option<Leaving<'_>> {
        if self.open {
            self.leave_by::<false>()
        } else {
            self.leave_gated()
        }
    }

    /// The same while a gate of one of the two is not open.
    #[inline(never)] // seldom
    fn leave_gated(&mut self) -> Option<Leaving<'_>> {
        self.leave_by::<true>()
    }

    #[inline(always)] // twice, so that open gates are not looked at
    fn leave_by<const GATED: bool>(&mut self) -> Option<Leaving<'_>> {
        #[allow(clippy::nonminimal_bool, reason = "asked as of the other queue")]
        let (of, number, packet) = if !self.control.is_empty() && !(GATED && self.is_shut(CONTROL))
        {
            (CONTROL, 0, self.control.take_front()?.0)
        } else if !(GATED && self.is_shut(DATA)) {
            let (place, packet) = self.data.take()?;
            (DATA, 1 + place, packet)
        } else {
            return None;
        };
        let (before, size) = (self.own[of], u64::from(packet.size));
        self.own[of] -= size;
        self.bytes -= size;
        self.last = of;
        if GATED {
            self.gates[of].pay(packet.size);
            self.priorities[usize::from(packet.priority()) % 8].pay(packet.size);
        }
        if self.mark_leaving && of == DATA {
            self.admission.mark_leaving(before, packet);
        }
        Some(Leaving {
            packet,
            queue: number,
            held: self.bytes,
        })
    }
}

impl Discipline for NumberedPort {
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        self.enqueue_in(self.number_of(packet), now, line, packet)
    }

    /// It is asked of its ports by [`crate::port::Port::offer_told`] alone.
    fn pass(&mut self, _now: Time, _packet: &mut Packet) -> bool {
        false
    }

    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        let Some(leaving) = self.leave() else {
            return if self.bytes > 0 {
                Dequeue::Held
            } else {
                Dequeue::Empty
            };
        };
        *out = *leaving.packet;
        if leaving.held == 0 {
            Dequeue::Last
        } else {
            Dequeue::Packet
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog::data(self.bytes)
    }

    fn forget_peak(&mut self, on_line: u64) {
        self.peak.forget(self.bytes + on_line);
    }

    fn peak(&self) -> Backlog {
        Backlog::data(self.peak.bytes())
    }

    #[inline]
    fn held(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn counts_line(&self) -> bool {
        true
    }

    fn waiting(&self) -> ByClass<u64> {
        let mut count = ByClass::default();
        for packet in self.control.iter().chain(self.data.iter()) {
            count[packet.class()] += 1;
        }
        count
    }

    fn marked(&self) -> u64 {
        self.admission.marked()
    }

    fn check(&self) {
        let bytes = |packet: &Packet| u64::from(packet.size);
        let control: u64 = self.control.iter().map(bytes).sum();
        let data: u64 = self.data.iter().map(bytes).sum();
        assert_eq!([control, data], self.own, "bytes of the two");
        assert_eq!(control + data, self.bytes, "bytes of both");
        assert!(
            self.bytes <= self.buffer,
            "{} B in {}",
            self.bytes,
            self.buffer
        );
        self.data.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::Queues;
    use model::intent::{Limit, MarkSpec, Over};
    use model::{Class, ConnId, Ecn, HostId, stream};
    use units::{Bytes, LineTime, Rate};

    /// What a flow control makes of a port of one queue: `queues` numbered ones behind that of what is no data.
    pub(crate) fn port(queues: u8) -> PortSpec {
        let mut spec = PortSpec::fifo(Bytes(9_000));
        let mut control = spec.queues[0];
        control.takes.classes = 1 << Class::Control as u8 | 1 << Class::Credit as u8;
        (control.level, spec.queues[0].level) = (1, 2);
        spec.queues[0].order = Order::Numbered(queues);
        spec.queues.insert(0, control);
        spec
    }

    fn marking(at: MarkAt) -> PortSpec {
        let mut spec = port(9);
        spec.queues[1].mark = Some(MarkSpec {
            min: Bytes(2_000),
            max: Bytes(6_000),
            chance: 0.5,
            at,
            drop_others: true,
        });
        spec
    }

    const BUFFER: u64 = 9_000;
    /// So large that a port need not look at thresholds.
    const LARGE: u64 = 80_000;
    const LINE: LineTime = LineTime::new(Rate::gbps(10));

    fn packet(rng: &mut Rng, conn: u32) -> Packet {
        let classes = [Class::Plain, Class::Control, Class::Unscheduled];
        let class = classes[usize::try_from(rng.below(3)).unwrap()];
        let size = u16::try_from(rng.between(84, 1538)).unwrap();
        let mut packet = Packet::new(HostId(0), ConnId(conn), class, 0, size);
        packet.set_priority(u8::try_from(rng.below(8)).unwrap());
        if rng.below(4) > 0 {
            packet.set_ecn(Ecn::Capable0);
        }
        packet
    }

    fn gate(rng: &mut Rng) -> Gate {
        let small = |n: u64| u8::try_from(n).unwrap();
        let of = match rng.below(9) {
            0 => GateOf::Priority(small(rng.below(8))),
            1 => GateOf::Flow(ConnId(1)),
            _ => GateOf::Queue(small(rng.below(12))),
        };
        let state = match rng.below(5) {
            0 if of == GateOf::Queue(0) => GateState::Bytes(rng.below(4_000)),
            0 | 1 => GateState::Closed,
            _ => GateState::Open,
        };
        Gate { of, state }
    }

    /// A fast port and the general one, and the line that both feed.
    struct Both {
        fast: NumberedPort,
        general: Queues,
        line: OnLine,
        passed: u32,
    }

    impl Both {
        fn leave(&mut self, now: Time) -> Dequeue {
            let (mut one, mut other) = (Packet::EMPTY, Packet::EMPTY);
            let left = self.fast.dequeue(now, &mut one);
            assert_eq!(left, self.general.dequeue(now, &mut other));
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
            if matches!(left, Dequeue::Packet | Dequeue::Last) {
                assert_eq!(self.fast.last_queue(), self.general.last_queue());
                self.line.until = now + LINE.of(one.size.into());
            }
            left
        }

        /// `packet` comes, for the queue of number `assigned` where there is one.
        fn come(&mut self, now: Time, assigned: Option<u8>, packet: &Packet) -> Verdict {
            let (mut one, mut other) = (*packet, *packet);
            let number = assigned.unwrap_or_else(|| self.fast.number_of(packet));
            let expected = match assigned {
                Some(queue) => self.general.enqueue_in(queue, now, self.line, &mut other),
                None => self.general.enqueue(now, self.line, &mut other),
            };
            let size = one.size.into();
            let may = self.fast.is_clear() && self.fast.keeps_all(now, self.line, size);
            if self.line.until <= now && may {
                self.fast.put_through(number, &mut one);
                assert_eq!(expected, Verdict::Queued(number));
                let left = self.general.dequeue(now, &mut other);
                assert_eq!(left, Dequeue::Last);
                assert_eq!(format!("{one:?}"), format!("{other:?}"));
                assert_eq!(self.fast.last_queue(), self.general.last_queue());
                self.line.until = now + LINE.of(one.size.into());
                self.passed += 1;
                return expected;
            }
            let line = self.line;
            assert_eq!(self.fast.enqueue_in(number, now, line, &mut one), expected);
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
            expected
        }

        fn agree(&self) {
            self.fast.check();
            self.general.check();
            let [fast, general]: [&dyn Discipline; 2] = [&self.fast, &self.general];
            let of = |port: &dyn Discipline| {
                let bytes = (port.backlog(), port.peak(), port.held(), port.marked());
                (bytes, port.waiting(), port.counts_line())
            };
            assert_eq!(of(fast), of(general));
            assert_eq!(self.fast.is_gated(), self.general.is_gated());
            let held = |held: Vec<(&Packet, Paused, u8)>| format!("{held:?}");
            let general = held(self.general.held_packets());
            assert_eq!(held(self.fast.held_packets()), general);
        }
    }

    #[test]
    fn it_does_what_the_general_port_does() {
        let specs = [
            port(9),
            port(1),
            marking(MarkAt::Enqueue),
            marking(MarkAt::Dequeue),
        ];
        for (spec, seed) in specs
            .iter()
            .flat_map(|spec| (0..8).map(move |seed| (spec, seed)))
        {
            let mut rng = Rng::stream(seed, stream::TEST, 0);
            let own = Rng::stream(1, 2, 3);
            let buffer = [BUFFER, LARGE][usize::from(seed % 2 == 1)];
            let mut both = Both {
                fast: NumberedPort::new(spec, buffer, &own).expect("a fast form"),
                general: Queues::new(spec, buffer, LINE, &own),
                line: OnLine {
                    until: Time::ZERO,
                    line: LINE,
                },
                passed: 0,
            };
            let (mut now, mut dropped, mut held) = (Time::ZERO, 0, 0);
            let numbers = u64::from(spec.queues[1].order.numbers());
            for round in 0..1_000 {
                now = Time(now.0 + 400_000 * rng.below(4) * (1 + seed % 3));
                let packet = packet(&mut rng, round);
                let data = packet.class() != Class::Control;
                let number = 1 + u8::try_from(rng.below(numbers)).unwrap();
                let assigned = (data && rng.below(8) > 0).then_some(number);
                let came = both.come(now, assigned, &packet);
                dropped += u32::from(matches!(came, Verdict::Dropped(_)));
                // Nothing passes while one is closed: in the first half none is.
                if round >= 500 && rng.below(6) == 0 {
                    let gate = gate(&mut rng);
                    both.fast.gate(gate);
                    both.general.gate(gate);
                }
                while both.line.until <= now {
                    match both.leave(now) {
                        Dequeue::Packet | Dequeue::Last => {}
                        Dequeue::Held => held += 1,
                        _ => break,
                    }
                    if held > 0 && both.line.until <= now {
                        break;
                    }
                }
                if rng.below(400) == 0 {
                    let on_line = both.line.bytes(now);
                    both.fast.forget_peak(on_line);
                    both.general.forget_peak(on_line);
                }
                both.agree();
            }
            let seen = (dropped > 0, held > 0, both.passed > 0);
            assert_eq!(seen, (true, true, buffer == LARGE), "seed {seed}");
        }
    }

    #[test]
    fn no_other_port_is_taken_for_it() {
        let other = |change: fn(&mut PortSpec)| {
            let mut spec = port(4);
            change(&mut spec);
            NumberedPort::new(&spec, BUFFER, &Rng::stream(1, 2, 3)).is_none()
        };
        assert!(!other(|_| ()));
        assert!(other(|spec| spec.queues[1].order = Order::PerFlow));
        assert!(other(|spec| spec.queues[0].order = Order::Rank));
        assert!(other(|spec| spec.queues[0].level = 2));
        assert!(other(|spec| spec.queues[0].takes.priorities = 1));
        assert!(other(|spec| spec.queues[1].takes.lanes = 1));
        assert!(other(|spec| spec.queues[1].limit = Limit::Packets(3)));
        assert!(other(|spec| spec.queues[0].over = Over::PushOut));
        assert!(other(
            |spec| spec.queues[0].mark = marking(MarkAt::Enqueue).queues[1].mark
        ));
        assert!(other(|spec| spec.queues.push(spec.queues[1])));
    }
}
