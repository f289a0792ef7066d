//! Strict priority: the most urgent non-empty queue is served, always.

use crate::admission::Level;
use crate::data_queue::{DataQueue, Peak};
use crate::discipline::{Backlog, Dequeue, Discipline, Gate, GateOf, GateState, OnLine, Verdict};
use model::intent::QueueSpec;
use model::{ByClass, DropReason, Packet, Rng};
use units::Time;

/// Up to eight queues, 0 the most urgent, in one buffer. Marking and selective dropping look at
/// the queue that the packet joins; the buffer limit at all of them together. With `GATES`, whole queues can be
/// closed; without, nothing is paid for it.
#[derive(Debug)]
pub struct StrictPriority<const GATES: bool = false> {
    queues: Box<[DataQueue]>,
    /// The number of the last of them.
    lowest: u8,
    /// Bit i: queue i has packets.
    filled: u8,
    /// Bit i: gates keep queue i; of the last one, what is first there.
    closed: u8,
    /// Bit i: the gate of queue i is closed.
    shut_queues: u8,
    /// Bit i: that of priority i is closed, of those that share the last queue.
    shut_priorities: u8,
    /// Every queue lets every packet pass that finds it empty.
    passes: bool,
    /// The priority of the frame on the line.
    last: u8,
    /// While fewer bytes wait in all, with a frame on the line, every queue takes every packet unmarked.
    quiet_below: u64,
    limit: u64,
    bytes: u64,
    peak: Peak,
}

impl<const GATES: bool> StrictPriority<GATES> {
    /// One queue per specification, the last for every priority beyond, where `limit` bytes have room.
    pub fn new(specs: &[QueueSpec], limit: u64, rng: &Rng) -> Self {
        let queue = |(place, spec)| DataQueue::new(spec, limit, rng.part(place));
        let queues: Box<[DataQueue]> = (0..).zip(specs).map(queue).collect();
        let quiet = queues.iter().map(DataQueue::quiet_below);
        Self {
            lowest: u8::try_from(specs.len() - 1).expect("at most eight queues"),
            filled: 0,
            closed: 0,
            shut_queues: 0,
            shut_priorities: 0,
            passes: queues.iter().all(DataQueue::lets_all_pass),
            last: 0,
            quiet_below: quiet.min().unwrap_or(0),
            limit,
            bytes: 0,
            peak: Peak::default(),
            queues,
        }
    }

    /// Whether any packet may pass where nothing waits and the line is idle, and has the effect of
    /// [`Discipline::pass`] then.
    #[inline(always)] // once per arrival
    pub(crate) fn lets_pass(&mut self, packet: &Packet) -> bool {
        if GATES || !self.passes {
            return false;
        }
        self.last = packet.priority();
        self.peak.passed(packet.size);
        true
    }

    /// Judges a packet that comes to queue `index`, where what waits is not below every threshold.
    #[inline(never)] // seldom, and it needs registers
    fn judge(&mut self, left: u64, index: usize, packet: &mut Packet) -> Result<(), DropReason> {
        if self.bytes + u64::from(packet.size) + left > self.limit {
            return Err(DropReason::Full);
        }
        let own = usize::from(self.last.min(self.lowest)) == index;
        let all = self.bytes;
        let level = |waiting: Level| Level {
            queue: waiting.queue + if own { left } else { 0 },
            elsewhere: all - waiting.queue,
            ..waiting
        };
        self.queues[index].judge(level, packet)
    }

    #[inline]
    fn index(&self, packet: &Packet) -> usize {
        packet.priority().min(self.lowest).into()
    }

    /// Whether a gate of its own priority keeps what is first in the last queue, which takes several.
    #[inline]
    fn look_at_the_last(&mut self) {
        let first = self.queues[usize::from(self.lowest)].first();
        let keeps = first.is_some_and(|first| self.shut_priorities >> first.priority() & 1 == 1);
        self.closed = self.shut_queues | u8::from(keeps) << self.lowest;
    }

    /// Queues that hold packets and may send, as bits.
    #[inline]
    fn ready(&self) -> u8 {
        if GATES {
            self.filled & !self.closed
        } else {
            self.filled
        }
    }
}

impl StrictPriority<true> {
    /// Opens or closes a gate of a queue or a priority.
    ///
    /// # Panics
    /// If it lets some bytes pass: who does that needs the general port.
    pub(crate) fn gate(&mut self, gate: Gate) {
        // Of priorities that have a queue for themselves the gate is that of the queue.
        let shares = self.lowest < 7;
        let (bits, index) = match gate.of {
            GateOf::Queue(number) if number <= self.lowest => (&mut self.shut_queues, number),
            GateOf::Priority(priority) if priority < self.lowest || !shares => {
                (&mut self.shut_queues, priority)
            }
            GateOf::Priority(priority) => (&mut self.shut_priorities, priority),
            GateOf::Queue(_) | GateOf::Flow(_) => return, // of flows it knows nothing
        };
        let bit = 1 << (index & 7);
        match gate.state {
            GateState::Open => *bits &= !bit,
            GateState::Closed => *bits |= bit,
            GateState::Bytes(_) => unreachable!("a flow control of gates alone counts no bytes"),
        }
        self.look_at_the_last();
    }

    /// Whether a gate is closed.
    pub(crate) fn is_gated(&self) -> bool {
        self.shut_queues | self.shut_priorities != 0
    }

    /// The queue of the packet that left last.
    #[inline]
    pub(crate) fn last_queue(&self) -> u8 {
        self.last.min(self.lowest)
    }

    /// Packets that gates hold back.
    pub(crate) fn held_packets(&self) -> impl Iterator<Item = &Packet> {
        let closed = |&(index, _): &(usize, _)| self.closed >> index & 1 == 1;
        let queues = self.queues.iter().enumerate().filter(closed);
        queues.flat_map(|(_, queue)| queue.packets())
    }
}

impl<const GATES: bool> Discipline for StrictPriority<GATES> {
    #[inline(always)] // once per queued packet
    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        let index = self.index(packet);
        if !line.keeps_below(now, self.bytes, self.quiet_below)
            && let Err(reason) = self.judge(line.bytes(now), index, packet)
        {
            return Verdict::Dropped(reason);
        }
        self.queues[index].put(packet);
        self.filled |= 1 << index;
        if GATES && self.shut_priorities != 0 {
            self.look_at_the_last();
        }
        self.bytes += u64::from(packet.size);
        self.peak.note(self.bytes, now, line);
        #[allow(clippy::cast_possible_truncation, reason = "at most eight queues")]
        Verdict::Queued(index as u8)
    }

    #[inline(always)] // once per arrival
    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        let index = self.index(packet);
        // What a gate keeps still counts as what waits.
        if GATES {
            let last = index == usize::from(self.lowest);
            let shut = self.shut_queues >> index & 1 == 1 || last && self.shut_priorities != 0;
            if self.filled != 0 || shut {
                return false;
            }
        }
        let passed = self.queues[index].pass(packet);
        if passed {
            self.last = packet.priority();
            self.peak.passed(packet.size);
        }
        passed
    }

    #[inline(always)] // once per queued packet
    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        let ready = self.ready();
        if ready == 0 {
            return if GATES && self.filled != 0 {
                Dequeue::Held
            } else {
                Dequeue::Empty
            };
        }
        let first = ready.trailing_zeros();
        let index = first as usize;
        let queue = &mut self.queues[index];
        let popped = queue.pop(out);
        debug_assert!(popped, "queue {index} was marked as filled");
        #[allow(clippy::cast_possible_truncation, reason = "below eight")]
        {
            self.last = first as u8;
        }
        self.bytes -= u64::from(out.size);
        self.filled ^= u8::from(queue.is_empty()) << index;
        if GATES && self.shut_priorities != 0 {
            self.look_at_the_last();
        }
        if self.filled == 0 {
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
        self.queues
            .iter()
            .for_each(|queue| queue.count_into(&mut count));
        count
    }

    fn marked(&self) -> u64 {
        self.queues.iter().map(DataQueue::marked).sum()
    }

    fn check(&self) {
        for (index, queue) in self.queues.iter().enumerate() {
            queue.check();
            assert_eq!(
                queue.is_empty(),
                self.filled & (1 << index) == 0,
                "queue {index}"
            );
        }
        assert_eq!(
            self.bytes,
            self.queues.iter().map(DataQueue::bytes).sum::<u64>()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::IDLE;
    use model::{Class, ConnId, HostId};

    #[test]
    fn the_most_urgent_packet_leaves_first_and_ties_keep_their_order() {
        let specs = [QueueSpec::DATA; 8];
        let mut port: StrictPriority = StrictPriority::new(&specs, 5_000, &Rng::stream(1, 2, 3));
        for (conn, priority) in [(0, 7), (1, 3), (2, 7), (3, 0), (4, 3)] {
            let mut packet = Packet::new(HostId(0), ConnId(conn), Class::Plain, 0, 1000);
            packet.set_priority(priority);
            let verdict = port.enqueue(Time::ZERO, IDLE, &mut packet);
            assert_eq!(verdict, Verdict::Queued(priority));
            port.check();
        }
        let mut sixth = Packet::new(HostId(0), ConnId(5), Class::Plain, 0, 1000);
        assert_eq!(
            port.enqueue(Time::ZERO, IDLE, &mut sixth),
            Verdict::Dropped(DropReason::Full)
        );
        let mut out = Packet::EMPTY;
        let order: Vec<_> = (0..5)
            .map(|_| {
                port.dequeue(Time::ZERO, &mut out);
                port.check();
                out.conn.0
            })
            .collect();
        assert_eq!(order, [3, 1, 4, 0, 2]);
    }

    fn packet(priority: u8, size: u16) -> Packet {
        let mut packet = Packet::new(HostId(0), ConnId(priority.into()), Class::Plain, 0, size);
        packet.set_priority(priority);
        packet
    }

    fn gated(queues: usize) -> StrictPriority<true> {
        StrictPriority::new(&vec![QueueSpec::DATA; queues], 5_000, &Rng::stream(1, 2, 3))
    }

    fn offer<const GATES: bool>(
        port: &mut StrictPriority<GATES>,
        line: OnLine,
        priority: u8,
        size: u16,
    ) -> Verdict {
        let verdict = port.enqueue(Time::ZERO, line, &mut packet(priority, size));
        port.check();
        verdict
    }

    /// What is said, and whose packet left.
    fn leave<const GATES: bool>(port: &mut StrictPriority<GATES>) -> (Dequeue, u32) {
        let mut out = Packet::EMPTY;
        let said = port.dequeue(Time::ZERO, &mut out);
        port.check();
        (said, out.conn.0)
    }

    const CLOSED: GateState = GateState::Closed;

    #[test]
    fn the_last_queue_takes_every_priority_beyond() {
        let mut port = gated(3);
        let queues = [0, 1, 2, 3, 7].map(|priority| offer(&mut port, IDLE, priority, 100));
        assert_eq!(queues, [0, 1, 2, 2, 2].map(Verdict::Queued));
        assert_eq!(
            (port.held(), port.backlog().data_bytes, port.counts_line()),
            (500, 500, true)
        );
        assert_eq!(
            (
                port.waiting()[Class::Plain],
                port.backlog().credits,
                port.peak().credits
            ),
            (5, 0, 0)
        );
        let left = [0; 6].map(|_| (leave(&mut port), port.last_queue()));
        let (more, last) = (Dequeue::Packet, Dequeue::Last);
        let expected = [
            ((more, 0), 0),
            ((more, 1), 1),
            ((more, 2), 2),
            ((more, 3), 2),
            ((last, 7), 2),
        ];
        assert_eq!(left[..5], expected);
        assert_eq!(left[5].0.0, Dequeue::Empty);
    }

    #[test]
    fn the_buffer_is_filled_to_the_byte_with_the_frame_on_the_line() {
        let left = |bytes: u64| OnLine {
            until: Time(800 * bytes),
            ..IDLE
        };
        let mut port = gated(2);
        assert_eq!(offer(&mut port, IDLE, 1, 4_000), Verdict::Queued(1));
        let full = Verdict::Dropped(DropReason::Full);
        assert_eq!(offer(&mut port, left(300), 0, 701), full);
        assert_eq!(offer(&mut port, left(300), 0, 700), Verdict::Queued(0));
        assert_eq!(port.peak().data_bytes, 5_000);
        port.forget_peak(9);
        assert_eq!(port.peak().data_bytes, 4_709);
        assert!(leave(&mut port) == (Dequeue::Packet, 0) && leave(&mut port) == (Dequeue::Last, 1));
        port.forget_peak(0);
        assert!(port.pass(Time::ZERO, &mut packet(1, 900)));
        assert_eq!(
            (port.peak().data_bytes, port.last_queue(), port.held()),
            (900, 1, 0)
        );
    }

    #[test]
    fn a_closed_gate_keeps_its_queue_and_no_other() {
        for of in [GateOf::Queue(0), GateOf::Priority(0)] {
            let mut port = gated(2);
            offer(&mut port, IDLE, 0, 100);
            offer(&mut port, IDLE, 1, 100);
            assert!(!port.is_gated() && port.held_packets().next().is_none());
            port.gate(Gate { of, state: CLOSED });
            assert!(port.is_gated());
            let held: Vec<_> = port.held_packets().map(|packet| packet.conn.0).collect();
            assert_eq!(held, [0]);
            assert_eq!(leave(&mut port), (Dequeue::Packet, 1), "one waits still");
            assert_eq!(leave(&mut port).0, Dequeue::Held);
            port.gate(Gate {
                of,
                state: GateState::Open,
            });
            assert!(!port.is_gated());
            assert_eq!(leave(&mut port), (Dequeue::Last, 0));
            assert_eq!(leave(&mut port).0, Dequeue::Empty);
        }
    }

    #[test]
    fn a_gate_of_a_priority_beyond_keeps_who_is_first_in_the_last_queue() {
        let mut port = gated(3);
        port.gate(Gate {
            of: GateOf::Queue(3),
            state: CLOSED,
        });
        port.gate(Gate {
            of: GateOf::Flow(ConnId(1)),
            state: CLOSED,
        });
        assert!(
            !port.is_gated(),
            "there is no such queue, and flows have none"
        );
        port.gate(Gate {
            of: GateOf::Priority(7),
            state: CLOSED,
        });
        port.gate(Gate {
            of: GateOf::Queue(1),
            state: CLOSED,
        });
        port.gate(Gate {
            of: GateOf::Queue(1),
            state: GateState::Open,
        });
        assert_eq!((port.shut_queues, port.shut_priorities), (0, 1 << 7));
        assert_eq!(port.closed, 0);
        // Of what the last queue takes, who is first waits for the gate of its own priority alone.
        offer(&mut port, IDLE, 2, 100);
        offer(&mut port, IDLE, 7, 100);
        offer(&mut port, IDLE, 3, 100);
        assert_eq!(leave(&mut port), (Dequeue::Packet, 2));
        assert_eq!(leave(&mut port).0, Dequeue::Held, "priority 7 is first");
        port.gate(Gate {
            of: GateOf::Priority(3),
            state: GateState::Open,
        });
        assert_eq!(leave(&mut port).0, Dequeue::Held, "another opens");
        port.gate(Gate {
            of: GateOf::Priority(7),
            state: GateState::Open,
        });
        assert_eq!(leave(&mut port), (Dequeue::Packet, 7));
        assert_eq!(leave(&mut port), (Dequeue::Last, 3));
    }

    #[test]
    fn nothing_passes_a_closed_gate_or_what_it_keeps() {
        let mut port = gated(2);
        port.gate(Gate {
            of: GateOf::Queue(1),
            state: CLOSED,
        });
        assert!(!port.pass(Time::ZERO, &mut packet(1, 100)), "its own gate");
        assert!(port.pass(Time::ZERO, &mut packet(0, 100)), "another's");
        offer(&mut port, IDLE, 1, 100);
        assert!(
            !port.pass(Time::ZERO, &mut packet(0, 100)),
            "something waits"
        );
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut StrictPriority); 3] = [
            |port| port.bytes += 1,
            |port| port.filled = 0b11,
            |port| port.filled = 0,
        ];
        for spoil in breaks {
            let mut port: StrictPriority =
                StrictPriority::new(&[QueueSpec::DATA; 2], 5_000, &Rng::stream(1, 2, 3));
            offer(&mut port, IDLE, 0, 100);
            spoil(&mut port);
            assert!(std::panic::catch_unwind(|| port.check()).is_err());
        }
    }

    #[test]
    fn marks_of_all_queues_are_counted() {
        let mark = model::intent::MarkSpec {
            min: units::Bytes(0),
            max: units::Bytes(0),
            chance: 1.0,
            at: model::intent::MarkAt::Enqueue,
            drop_others: false,
        };
        let spec = QueueSpec {
            mark: Some(mark),
            ..QueueSpec::DATA
        };
        let mut port: StrictPriority =
            StrictPriority::new(&[spec; 2], 5_000, &Rng::stream(1, 2, 3));
        for priority in [0, 1, 1] {
            let mut packet = packet(priority, 100);
            packet.set_ecn(model::Ecn::Capable0);
            assert_eq!(
                port.enqueue(Time::ZERO, IDLE, &mut packet),
                Verdict::Queued(priority)
            );
        }
        assert_eq!(port.marked(), 3);
    }

    #[test]
    fn the_first_packets_find_no_more_room_than_there_is() {
        let mut port = gated(2);
        assert_eq!(
            offer(&mut port, IDLE, 0, 5_001),
            Verdict::Dropped(DropReason::Full)
        );
        assert_eq!(offer(&mut port, IDLE, 0, 5_000), Verdict::Queued(0));
        // 4000 B of one that has passed are still on the line.
        let mut port = gated(2);
        assert!(port.pass(Time::ZERO, &mut packet(0, 4_500)));
        let line = OnLine {
            until: Time::ZERO + IDLE.line.of(4_000),
            ..IDLE
        };
        assert_eq!(
            offer(&mut port, line, 1, 1_001),
            Verdict::Dropped(DropReason::Full)
        );
        assert_eq!(offer(&mut port, line, 1, 1_000), Verdict::Queued(1));
    }

    #[test]
    fn nothing_passes_unasked_where_gates_may_close_or_packets_are_marked_as_they_leave() {
        let mark = model::intent::MarkSpec {
            min: units::Bytes(1),
            max: units::Bytes(1),
            chance: 1.0,
            at: model::intent::MarkAt::Dequeue,
            drop_others: false,
        };
        let late = QueueSpec {
            mark: Some(mark),
            ..QueueSpec::DATA
        };
        let asked = |specs: &[QueueSpec]| {
            let rng = Rng::stream(1, 2, 3);
            let mut plain = StrictPriority::<false>::new(specs, 90_000, &rng);
            let mut gated = StrictPriority::<true>::new(specs, 90_000, &rng);
            let one = packet(1, 700);
            [
                (plain.lets_pass(&one), plain.peak().data_bytes),
                (gated.lets_pass(&one), gated.peak().data_bytes),
            ]
        };
        let no = (false, 0);
        assert_eq!(asked(&[QueueSpec::DATA; 2]), [(true, 700), no]);
        assert_eq!(asked(&[QueueSpec::DATA, late]), [no, no]);
    }
}
