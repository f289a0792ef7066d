//! The general port: any list of queues, served by level, by share and by their order.
//!
//! A packet's kind (lane, class, priority, trimmed or not) names its queue by a table. There it is admitted, marked,
//! trimmed or dropped as the specification says, or others make room for it: `spilled` says which. For the line the
//! first level with something ready is served, within it the group whose turn it is, within that the queues in their
//! order; shaped queues and closed gates are passed over. The fast forms do what this does for the ports that they
//! recognise, and tests compare them.

use crate::admission::{Admission, FRAME_MOST, Level as Fill};
use crate::bucket::CreditBucket;
use crate::credit_port::short;
use crate::discipline::{
    Backlog, CreditRoom, Dequeue, Discipline, Gate, GateOf, GateState, OnLine, Verdict,
};
use crate::store::{Paused, Store};
use crate::turns::{First, Level, levels, seat};
use model::intent::{Limit, MarkAt, Order, Over, PortSpec, QueueSpec};
use model::{ByClass, Class, ConnId, DropReason, LANES, Packet, Rng};
use units::{LineTime, Time};

/// No queue takes it.
const NOWHERE: u8 = u8::MAX;
/// Kinds of packets that a classifier tells apart: trimmed or whole, lane, class and priority.
const KINDS: usize = 2 * LANES as usize * 8 * 8;

/// The general port.
#[derive(Debug)]
pub struct Queues {
    /// By kind of packet, its queue.
    queue_of: Box<[u8; KINDS]>,
    queues: Vec<Queue>,
    /// Places of queues that hold packets, as bits.
    filled: u64,
    levels: Vec<Level>,
    /// Bytes for which the queues of the port's buffer have room together, and what waits in them.
    buffer: u64,
    buffered: u64,
    /// Bytes in all bounded queues.
    held: u64,
    /// Bytes in those that count as the port's queue, and the most that ever were.
    counted: u64,
    peak: u64,
    /// Credits in all of their queues, and the most that ever were.
    credits: usize,
    peak_credits: usize,
    /// The queue of the frame on the line.
    last: usize,
    /// By number of a queue: its place in the list, and its number there.
    places: Box<[(u8, u8)]>,
    /// Packets that had to make room, with what becomes of them.
    spilled: Vec<(Packet, Spilled)>,
    rng: Rng,
}

/// What becomes of a packet that had to make room for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spilled {
    /// It is dropped.
    Dropped(DropReason),
    /// It goes back to its sender.
    Bounced,
}

#[derive(Debug)]
struct Queue {
    spec: QueueSpec,
    store: Store,
    bytes: u64,
    victims: u64,
    admission: Admission,
    bucket: Option<CreditBucket>,
    gate: GateState,
    /// Gates of priorities where packets of several come here: who is first waits for its own.
    gates: Option<Box<[GateState; 8]>>,
    /// Its number, or that of the first queue inside it.
    number: u8,
    /// Priorities whose packets come here, as bits.
    serves: u8,
    /// Place of its level, and of its group there.
    level: usize,
    group: usize,
    /// What its specification says, at hand.
    is_data: bool,
    is_bounded: bool,
    is_counted: bool,
    marks_leaving: bool,
}

/// Whether a queue may send now.
enum Ready {
    /// This many bytes.
    Now(u16),
    /// Not before this moment.
    At(Time),
    /// A gate keeps it.
    Held,
}

impl Queues {
    /// The port of `spec` on `line`. `buffer` bytes have room: the port's own, or the shared memory.
    pub fn new(spec: &PortSpec, buffer: u64, line: LineTime, rng: &Rng) -> Self {
        let places: Box<[(u8, u8)]> = (0..)
            .zip(&spec.queues)
            .flat_map(|(place, queue)| (0..queue.order.numbers()).map(move |n| (place, n)))
            .collect();
        let queue_of: [u8; KINDS] = std::array::from_fn(|kind| place_of(spec, kind));
        let levels = levels(spec);
        let make = |(place, queue): (u8, &QueueSpec)| {
            let limit = match queue.limit {
                Limit::Port => buffer,
                Limit::Bytes(bytes) => bytes.get(),
                Limit::Packets(_) | Limit::Credits | Limit::None => u64::MAX,
            };
            let (level, group) = seat(&levels, place.into());
            let serves = (0..KINDS)
                .filter(|&kind| queue_of[kind] == place)
                .fold(0, |bits: u8, kind| bits | 1 << (kind & 7));
            Queue {
                spec: *queue,
                store: Store::new(queue.order),
                bytes: 0,
                victims: 0,
                admission: Admission::new(queue, limit, rng.part(place.into())),
                bucket: queue.shape.map(|shape| CreditBucket::new(shape, line)),
                gate: GateState::Open,
                gates: (serves.count_ones() > 1).then(|| Box::new([GateState::Open; 8])),
                number: places
                    .iter()
                    .position(|&(own, _)| own == place)
                    .and_then(|number| u8::try_from(number).ok())
                    .expect("queues have numbers below 256: PortSpec::check"),
                serves,
                level,
                group,
                is_data: queue.is_data(),
                is_bounded: queue.is_bounded(),
                is_counted: queue.is_counted(),
                marks_leaving: queue.mark.is_some_and(|mark| mark.at == MarkAt::Dequeue),
            }
        };
        Self {
            queues: (0..).zip(&spec.queues).map(make).collect(),
            queue_of: Box::new(queue_of),
            filled: 0,
            levels,
            buffer,
            buffered: 0,
            held: 0,
            counted: 0,
            peak: 0,
            credits: 0,
            peak_credits: 0,
            last: 0,
            places,
            spilled: Vec::new(),
            rng: coins(rng),
        }
    }

    /// Takes `packet` into queue number `queue`, whatever the classifier says: for a flow control that
    /// assigns queues.
    pub fn enqueue_in(
        &mut self,
        queue: u8,
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Verdict {
        let (place, within) = self.places[usize::from(queue)];
        self.join((place.into(), within), now, line, packet)
    }

    /// Whether packets had to make room since they were last asked for.
    #[inline]
    pub(crate) fn has_spilled(&self) -> bool {
        !self.spilled.is_empty()
    }

    /// A packet that had to make room since the last call, with what becomes of it.
    pub fn spilled(&mut self) -> Option<(Packet, Spilled)> {
        self.spilled.pop()
    }

    /// Opens or closes a gate.
    pub fn gate(&mut self, gate: Gate) {
        match gate.of {
            GateOf::Queue(number) => {
                let Some(&(place, within)) = self.places.get(usize::from(number)) else {
                    return;
                };
                let queue = &mut self.queues[usize::from(place)];
                if !queue.store.close(within, gate.state != GateState::Open) {
                    queue.gate = gate.state;
                }
            }
            GateOf::Priority(priority) => {
                for queue in &mut self.queues {
                    if queue.serves >> priority & 1 == 1 {
                        *queue.gate_at(priority) = gate.state;
                    }
                }
            }
            GateOf::Flow(conn) => self.pause_flow(conn, gate.state != GateState::Open),
        }
    }

    fn pause_flow(&mut self, conn: ConnId, paused: bool) {
        for queue in &mut self.queues {
            queue.store.pause(conn, paused);
        }
    }

    /// Whether a gate is closed.
    pub fn is_gated(&self) -> bool {
        let closed = |queue: &Queue| !queue.is_open() || queue.store.is_paused();
        self.queues.iter().any(closed)
    }

    /// Packets that gates hold back, what is paused of them, and the number of that queue where it is one.
    pub fn held_packets(&self) -> Vec<(&Packet, Paused, u8)> {
        let mut held = Vec::new();
        for queue in &self.queues {
            let first = queue.number;
            if queue.is_shut() {
                let all = queue.store.iter();
                held.extend(all.map(|packet| (packet, Paused::All, first)));
            } else {
                let some = queue.store.paused().into_iter();
                held.extend(some.map(|(packet, paused)| match paused {
                    Paused::Queue(place) => (packet, paused, first + place),
                    Paused::All | Paused::Flow => (packet, paused, first),
                }));
            }
        }
        held
    }

    /// The queue of the packet that left last.
    pub fn last_queue(&self) -> u8 {
        let queue = &self.queues[self.last];
        queue.number + queue.store.last()
    }

    /// Takes `packet` into `queue`, into the one of number `within` inside it, or does what is done with what finds no
    /// room there.
    #[inline(always)] // once per queued packet
    fn join(
        &mut self,
        (queue, within): (usize, u8),
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Verdict {
        match self.judge(queue, now, line, packet) {
            Ok(()) => {
                self.push_in((queue, within), now, line, packet);
                Verdict::Queued(self.queues[queue].number + within)
            }
            Err(DropReason::Full) => self.join_full(queue, now, line, packet),
            Err(reason) => Verdict::Dropped(reason),
        }
    }

    /// Does what is done with a packet that finds no room in `queue`.
    #[inline(never)]
    fn join_full(&mut self, queue: usize, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        match self.queues[queue].spec.over {
            // It was trimmed at a port before this one. [ndp s3.2.4]
            Over::Drop if packet.trimmed() && !packet.bounced() && self.sends_back() => {
                Verdict::Bounced
            }
            Over::Drop => Verdict::Dropped(DropReason::Full),
            Over::Trim { to, coin, bounce } => {
                self.trim(queue, (to, coin, bounce), now, line, packet)
            }
            Over::PushOut => self.push_out(queue, now, line, packet),
        }
    }

    /// What is done with `packet` where nothing has room for it: how many bytes stay of it, where it is cut, and whether a
    /// head goes back.
    pub(crate) fn cuts(&self, packet: &Packet) -> (Option<u16>, bool) {
        let queue = self.queues.get(usize::from(self.queue_of[kind_of(packet)]));
        let to = match queue.map(|queue| queue.spec.over) {
            Some(Over::Trim { to, .. }) => Some(to.min(packet.size)),
            _ => None,
        };
        (to, self.sends_back())
    }

    /// Whether heads without room go back to their senders.
    #[cold]
    fn sends_back(&self) -> bool {
        let bounces = |queue: &Queue| matches!(queue.spec.over, Over::Trim { bounce: true, .. });
        self.queues.iter().any(bounces)
    }

    fn number(&self, queue: usize) -> Verdict {
        Verdict::Queued(self.queues[queue].number)
    }

    #[inline(never)]
    fn admit(
        &mut self,
        queue: usize,
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        self.judge(queue, now, line, packet)
    }

    /// Whether `queue` has room for `packet`; marks it where it must be.
    #[inline(always)]
    fn judge(
        &mut self,
        queue: usize,
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let size = u64::from(packet.size);
        let on_line = line.only(self.queues[self.last].is_data);
        let (last, held, taken) = (self.last, self.held, self.buffered + size);
        let buffer = self.buffer;
        let own = &mut self.queues[queue];
        let room = match own.spec.limit {
            Limit::Port => taken + on_line.bytes(now) <= buffer,
            Limit::Packets(most) => own.store.len() < usize::from(most),
            Limit::Credits => own.has_room_for_credit(packet.size),
            Limit::Bytes(_) | Limit::None => true, // the admission's, or nobody's, to refuse
        };
        if !room {
            let credits = own.spec.limit == Limit::Credits;
            return Err(if credits {
                DropReason::CreditFull
            } else {
                DropReason::Full
            });
        }
        let fill = || Fill {
            queue: own.bytes + line.only(last == queue).bytes(now),
            victims: own.victims,
            elsewhere: held - if own.is_bounded { own.bytes } else { 0 },
        };
        own.admission.judge(own.bytes, FRAME_MOST, fill, packet)
    }

    #[inline(never)]
    fn push(&mut self, queue: usize, now: Time, line: OnLine, packet: &Packet) {
        self.push_in((queue, 0), now, line, packet);
    }

    #[inline(always)]
    fn push_in(&mut self, (queue, within): (usize, u8), now: Time, line: OnLine, packet: &Packet) {
        let line = line.only(self.counts_line());
        let own = &mut self.queues[queue];
        own.count(packet);
        self.filled |= 1 << queue;
        own.store.push(packet, within);
        if own.spec.limit == Limit::Credits {
            self.credits += 1;
            self.peak_credits = self.peak_credits.max(self.credits);
        }
        let size = u64::from(packet.size);
        self.buffered += size * u64::from(own.is_data);
        self.held += size * u64::from(own.is_bounded);
        if own.is_counted {
            self.counted += size;
            self.peak = self.peak.max(self.counted + line.bytes(now));
        }
    }

    /// Cuts the payload off `packet`, or off the last that waits in `queue`, which then makes room.
    fn trim(
        &mut self,
        queue: usize,
        (to, coin, bounce): (u16, bool, bool),
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Verdict {
        let cut_last = coin && self.rng.below(2) == 0;
        if cut_last && let Some(mut other) = self.take_last(queue) {
            if self.admit(queue, now, line, packet).is_ok() {
                self.push(queue, now, line, packet);
                match self.join_trimmed(queue, (to, bounce), now, line, &mut other) {
                    Verdict::Queued(_) => {}
                    Verdict::Dropped(reason) => {
                        self.spilled.push((other, Spilled::Dropped(reason)));
                    }
                    Verdict::Bounced => self.spilled.push((other, Spilled::Bounced)),
                }
                return self.number(queue);
            }
            self.push(queue, now, line, &other); // a larger one does not fit in its place
        }
        self.join_trimmed(queue, (to, bounce), now, line, packet)
    }

    /// What becomes of a packet that is cut to `to` bytes because `queue` has no room.
    fn join_trimmed(
        &mut self,
        queue: usize,
        (to, bounce): (u16, bool),
        now: Time,
        line: OnLine,
        packet: &mut Packet,
    ) -> Verdict {
        if packet.trimmed() {
            return Verdict::Dropped(DropReason::Full);
        }
        // A frame no larger than a head becomes one of its own size.
        packet.trim(to.min(packet.size));
        let place = self.queue_of[kind_of(packet)];
        let next = usize::from(place);
        if place == NOWHERE || next == queue {
            return Verdict::Dropped(DropReason::Full);
        }
        match self.admit(next, now, line, packet) {
            Ok(()) => {
                self.push(next, now, line, packet);
                self.number(next)
            }
            Err(DropReason::Full) if bounce && !packet.bounced() => Verdict::Bounced,
            Err(reason) => Verdict::Dropped(reason),
        }
    }

    /// Drops what ranks above `packet` until it has room, or `packet` itself.
    fn push_out(&mut self, queue: usize, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        while let Some(other) = self.queues[queue].store.take_above(packet.shared()) {
            self.uncount(queue, &other);
            self.spilled
                .push((other, Spilled::Dropped(DropReason::PushedOut)));
            if self.admit(queue, now, line, packet).is_ok() {
                self.push(queue, now, line, packet);
                return self.number(queue);
            }
        }
        Verdict::Dropped(DropReason::Full)
    }

    /// Takes the last packet out of `queue`.
    fn take_last(&mut self, queue: usize) -> Option<Packet> {
        let packet = self.queues[queue].store.pop_back()?;
        self.uncount(queue, &packet);
        Some(packet)
    }

    #[inline]
    fn uncount(&mut self, queue: usize, packet: &Packet) {
        let own = &mut self.queues[queue];
        own.uncount(packet);
        self.filled &= !(u64::from(own.store.is_empty()) << queue);
        let size = u64::from(packet.size);
        self.buffered -= size * u64::from(own.is_data);
        self.held -= size * u64::from(own.is_bounded);
        self.counted -= size * u64::from(own.is_counted);
        self.credits -= usize::from(own.spec.limit == Limit::Credits);
    }

    /// The queue that sends next.
    #[inline(always)] // once per queued packet
    fn next(&mut self, now: Time) -> Result<usize, Dequeue> {
        if !self.filled.is_power_of_two() {
            return self.next_of_several(now);
        }
        let queue = self.filled.trailing_zeros() as usize;
        let nothing = match self.queues[queue].ready(now) {
            Ready::Now(_) => {
                self.serve_alone(queue);
                return Ok(queue);
            }
            Ready::At(at) => Dequeue::Wait(at),
            Ready::Held => Dequeue::Held,
        };
        self.levels.iter_mut().for_each(Level::forget);
        Err(nothing)
    }

    /// `queue` sends, and no other has anything to send.
    #[inline]
    fn serve_alone(&mut self, queue: usize) {
        let (level, group) = (self.queues[queue].level, self.queues[queue].group);
        let levels = &mut self.levels[..=level];
        levels.iter_mut().for_each(Level::forget);
        levels[level].turn = group;
    }

    #[inline(never)]
    fn next_of_several(&mut self, now: Time) -> Result<usize, Dequeue> {
        let (mut wait, mut held) = (Time::NEVER, false);
        for level in &mut self.levels {
            if self.filled & level.places == 0 {
                level.forget();
                continue;
            }
            let mut first = First::default();
            for (place, group) in level.groups.iter().enumerate() {
                let mut filled = self.filled & group.places;
                while filled != 0 {
                    let queue = filled.trailing_zeros() as usize;
                    filled &= filled - 1;
                    match self.queues[queue].ready(now) {
                        Ready::Now(size) => {
                            first.note(place, queue, size);
                            break;
                        }
                        Ready::At(at) => wait = wait.min(at),
                        Ready::Held => held = true,
                    }
                }
            }
            if let Some(queue) = level.choose(&first) {
                return Ok(queue);
            }
        }
        Err(match wait {
            Time::NEVER if held => Dequeue::Held,
            Time::NEVER => Dequeue::Empty,
            at => Dequeue::Wait(at),
        })
    }
}

impl Queue {
    fn has_room_for_credit(&self, size: u16) -> bool {
        self.spec
            .shape
            .is_none_or(|shape| CreditRoom(shape).has_room(self.store.len(), self.bytes, size))
    }

    fn count(&mut self, packet: &Packet) {
        self.bytes += u64::from(packet.size);
        if self.admission.is_victim(packet) {
            self.victims += u64::from(packet.size);
        }
    }

    fn uncount(&mut self, packet: &Packet) {
        self.bytes -= u64::from(packet.size);
        if self.admission.is_victim(packet) {
            self.victims -= u64::from(packet.size);
        }
    }

    /// The gate of a priority.
    fn gate_at(&mut self, priority: u8) -> &mut GateState {
        match &mut self.gates {
            Some(gates) => &mut gates[usize::from(priority) % 8],
            None => &mut self.gate,
        }
    }

    /// Whether no gate holds anything back.
    #[inline]
    fn is_open(&self) -> bool {
        let gates = self.gates.iter().flat_map(|gates| gates.iter());
        self.gate == GateState::Open && gates.copied().all(|gate| gate == GateState::Open)
    }

    /// Whether gates of it, or of its priority, let `packet` go.
    #[inline]
    fn lets_go(&self, packet: &Packet) -> bool {
        let own = |gates: &[GateState; 8]| gates[usize::from(packet.priority()) % 8];
        let own = self.gates.as_deref().map_or(GateState::Open, own);
        self.gate.lets(packet.size) && own.lets(packet.size)
    }

    /// Whether gates alone hold back the packet that is next.
    fn is_shut(&self) -> bool {
        let head = self.store.head();
        head.map_or(self.gate == GateState::Closed, |head| !self.lets_go(head))
    }

    /// Whether a packet may pass it while it is empty.
    #[inline]
    fn lets_pass(&self) -> bool {
        let plain = matches!(self.store, Store::Fifo(_) | Store::Rank(_)) && self.bucket.is_none();
        plain && self.is_open() && self.spec.limit != Limit::Packets(0)
    }

    #[inline]
    fn ready(&self, now: Time) -> Ready {
        let Some(head) = self.store.head() else {
            return Ready::Held; // it holds packets
        };
        if !self.lets_go(head) {
            return Ready::Held;
        }
        let at = self.bucket.as_ref().map(|b| b.ready_after(now, head.size));
        match at {
            Some(at) if at > now => Ready::At(at),
            Some(_) | None => Ready::Now(head.size),
        }
    }
}

impl Discipline for Queues {
    #[inline]
    fn has_spilled(&self) -> bool {
        Self::has_spilled(self)
    }

    fn enqueue(&mut self, now: Time, line: OnLine, packet: &mut Packet) -> Verdict {
        match self.queue_of[kind_of(packet)] {
            NOWHERE => Verdict::Dropped(DropReason::Full),
            queue => self.join((queue.into(), 0), now, line, packet),
        }
    }

    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        let place = usize::from(self.queue_of[kind_of(packet)]);
        if self.filled != 0 || place >= self.queues.len() {
            return false;
        }
        let own = &mut self.queues[place];
        let size = u64::from(packet.size);
        // The port's buffer is the limit of its admission.
        if !own.lets_pass() || !own.admission.judge_alone(packet) {
            return false;
        }
        if own.marks_leaving {
            own.admission.mark_leaving(size, packet);
        }
        if own.is_counted {
            self.peak = self.peak.max(size);
        }
        if own.spec.limit == Limit::Credits {
            self.peak_credits = self.peak_credits.max(1);
        }
        self.serve_alone(place);
        self.last = place;
        true
    }

    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue {
        let queue = match self.next(now) {
            Ok(queue) => queue,
            Err(nothing) => return nothing,
        };
        let own = &mut self.queues[queue];
        if !own.store.pop(out) {
            return Dequeue::Empty;
        }
        if let Some(bucket) = &mut own.bucket {
            let taken = bucket.take(now, out.size);
            debug_assert!(taken.is_ok(), "it was ready");
        }
        own.gate.pay(out.size);
        if let Some(gates) = &mut own.gates {
            gates[usize::from(out.priority()) % 8].pay(out.size);
        }
        let before = own.bytes;
        self.uncount(queue, out);
        let own = &mut self.queues[queue];
        if own.marks_leaving {
            own.admission.mark_leaving(before, out);
        }
        self.last = queue;
        if self.filled == 0 {
            Dequeue::Last
        } else {
            Dequeue::Packet
        }
    }

    fn backlog(&self) -> Backlog {
        let queues = self.queues.iter();
        let data = queues.filter(|queue| queue.spec.limit != Limit::Credits);
        Backlog {
            data_bytes: data.map(|queue| queue.bytes).sum(),
            credits: short(self.credits),
        }
    }

    fn forget_peak(&mut self, on_line: u64) {
        // A frame of the link itself on the line never was in a queue: no more waits than ever did.
        self.peak = self.peak.min(self.counted + on_line);
        self.peak_credits = self.credits;
    }

    fn peak(&self) -> Backlog {
        Backlog {
            data_bytes: self.peak,
            credits: short(self.peak_credits),
        }
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn counts_line(&self) -> bool {
        self.queues[self.last].is_counted
    }

    fn waiting(&self) -> ByClass<u64> {
        let mut count = ByClass::default();
        for packet in self.queues.iter().flat_map(|queue| queue.store.iter()) {
            count[packet.class()] += 1;
        }
        count
    }

    fn marked(&self) -> u64 {
        self.queues.iter().map(|q| q.admission.marked()).sum()
    }

    fn check(&self) {
        let (mut held, mut buffered, mut counted, mut credits) = (0, 0, 0, 0);
        for (number, queue) in self.queues.iter().enumerate() {
            let sizes = || queue.store.iter().map(|packet| u64::from(packet.size));
            assert_eq!(sizes().sum::<u64>(), queue.bytes, "bytes of queue {number}");
            let victims = queue.store.iter().filter(|p| queue.admission.is_victim(p));
            let victims: u64 = victims.map(|packet| u64::from(packet.size)).sum();
            assert_eq!(victims, queue.victims, "victims of queue {number}");
            assert_eq!(
                sizes().count(),
                queue.store.len(),
                "length of queue {number}"
            );
            let filled = self.filled >> number & 1 == 1;
            assert_eq!(
                filled,
                !queue.store.is_empty(),
                "whether queue {number} holds any"
            );
            held += queue.bytes * u64::from(queue.is_bounded);
            buffered += queue.bytes * u64::from(queue.is_data);
            counted += queue.bytes * u64::from(queue.is_counted);
            credits += queue.store.len() * usize::from(queue.spec.limit == Limit::Credits);
        }
        assert_eq!(credits, self.credits, "credits that wait");
        assert_eq!(
            (held, buffered, counted),
            (self.held, self.buffered, self.counted),
            "bytes in bounded queues, in the port's buffer, in what is called its queue"
        );
        assert!(buffered <= self.buffer, "{buffered} B in {}", self.buffer);
        assert!(
            self.spilled.is_empty(),
            "somebody must take what was spilled"
        );
    }
}

/// The stream of the coins that say what is cut, of a port with the stream `rng`.
pub(crate) fn coins(rng: &Rng) -> Rng {
    rng.part(u64::from(NOWHERE))
}

/// The number of a kind of packet: what classifiers look at.
#[inline]
fn kind_of(packet: &Packet) -> usize {
    let kind = usize::from(packet.trimmed()) << 8
        | usize::from(packet.lane()) << 6
        | packet.class_index() << 3
        | usize::from(packet.priority());
    kind & (KINDS - 1)
}

/// A first-in first-out queue in the port's buffer that drops what has no room.
pub(crate) fn is_plain(queue: &QueueSpec) -> bool {
    queue.limit == Limit::Port
        && queue.over == Over::Drop
        && queue.order == Order::Fifo
        && queue.shape.is_none()
}

/// The queue that takes packets of a kind.
fn place_of(spec: &PortSpec, kind: usize) -> u8 {
    let bits = |at: u32, bits: usize| u8::try_from(kind >> at & bits).expect("a few bits");
    let class = Class::ALL.get(usize::from(bits(3, 7))).copied();
    class
        .and_then(|class| spec.queue_of(bits(6, 3), class, bits(0, 7), bits(8, 1) == 1))
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(NOWHERE)
}

#[cfg(test)]
mod tests;
