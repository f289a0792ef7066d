//! Fastpass on one host: its connections, its slots, its line, its deadline.

use super::arbiter::Arbiter;
use super::header::{Ack, Alloc, Data, End, Gone, Kind, PAYLOAD_MAX, Req, Wait};
use super::params::Params;
use super::receiver::Receiver;
use super::sender::Sender;
use super::settings::{DATA, Settings, URGENT};
use super::turns::{Turn, Turns};
use model::{
    Class, ConnId, Count, Cx, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, StuckFlow,
    Totals, Transmit,
};
use parts::arriving::Came;
use parts::connections::{self, Connections, Found, Sending};
use parts::packet_queue::PacketQueue;
use units::Time;

/// Packets without data that wait for the line; what comes on top is lost, as it might be anywhere. [ours]
const CONTROL_MAX: usize = 1 << 16;

model::counters! {
    /// What Fastpass counts besides.
    pub(super) struct Counts {
        /// Requests that were said again.
        asked_again: packets,
        /// Slots that were over before the line was free.
        slots_late: times,
        /// Requests that a host read as arbiter.
        requests: packets,
        /// Requests that it had no room for.
        requests_refused: packets,
        /// Times that it gave away a batch of slots.
        batches: times,
        /// Slots that it gave away.
        slots_given: packets,
        /// Slots of which senders were told.
        slots_told: times,
        /// Slots among them that no frame left in.
        slots_unused: times,
        /// Frames among them for which no way of their own was left.
        ways_shared: packets,
        /// Data that was missing and was dropped: its message has too many gaps, or a part of it was here.
        not_kept: packets,
        /// Packets without data lost before they left, because too many waited at their host.
        line_lost: packets,
    }
}

/// One connection at one end.
pub(super) type Conn = connections::Conn<Sender, Receiver, ()>;

/// Fastpass on one host.
pub(super) struct Host {
    pub(super) settings: Settings,
    pub(super) conns: Connections<Sender, Receiver, ()>,
    /// The connection with the arbiter of all.
    pub(super) to_arbiter: Option<ConnId>,
    /// What this host does for others.
    pub(super) arbiter: Option<Box<Arbiter>>,
    /// Packets without data that wait for the line.
    pub(super) control: PacketQueue,
    pub(super) turns: Turns,
    pub(super) totals: Totals,
    pub(super) counts: Counts,
}

impl Host {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let settings = Settings::new(params, config);
        debug_assert!(settings.payload_max <= PAYLOAD_MAX);
        Self {
            conns: Connections::new(config.host, settings.linger),
            settings,
            to_arbiter: None,
            arbiter: None,
            control: PacketQueue::default(),
            turns: Turns::default(),
            totals: Totals::default(),
            counts: Counts::default(),
        }
    }

    #[inline]
    pub(super) fn say(&mut self, packet: Packet) {
        let credit = packet.class() == Class::Credit;
        self.totals.credits_sent += u64::from(credit);
        if !self.control.offer(packet, CONTROL_MAX) {
            self.totals.credits_dropped += u64::from(credit);
            self.counts.line_lost += u64::from(!credit);
        }
    }

    /// Says something about a connection that may be unknown here.
    pub(super) fn say_to(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        make: impl FnOnce(HostId, u16) -> Packet,
    ) {
        let size = self.settings.small();
        let make = |peer| make(peer, size);
        if let Some(packet) = self.conns.to_whoever(cx, id, &mut self.totals, make) {
            self.say(packet);
        }
    }

    fn say_gone(&mut self, cx: &Cx<'_>, id: ConnId) {
        let gone = Gone { of_sender: false };
        self.say_to(cx, id, |to, size| gone.packet(to, id, size));
    }

    /// Tells what has arrived.
    fn say_ack(&mut self, slot: u32, asked: bool) {
        let conn = &mut self.conns[slot];
        let ack = conn.rx.ack(asked);
        let packet = ack.packet(conn.peer, conn.id, self.settings.small());
        self.say(packet);
    }

    /// Says where a message ends, and asks.
    pub(super) fn say_end(&mut self, now: Time, slot: u32) {
        let conn = &mut self.conns[slot];
        let end = conn.tx.take_end(now, conn.lifetime, !conn.opener);
        let packet = end.packet(conn.peer, conn.id, self.settings.small());
        self.say(packet);
    }

    /// Forgets a connection, at once or when no copy of it can come any more.
    fn remove(&mut self, cx: &mut Cx<'_>, slot: u32, may_linger: bool) {
        self.take_back(cx, slot);
        let conn = self.conns.remove(cx, slot, may_linger);
        if self.to_arbiter == Some(conn.id) {
            self.to_arbiter = None;
        }
        if self.conns.is_empty() {
            // What is left belongs to the dead.
            self.turns.clear();
        }
    }

    /// The connection is lost: its own messages will not be delivered.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, slot: u32) {
        self.conns.refuse(cx, slot);
        self.remove(cx, slot, false);
    }

    /// Something changed at the sender: it asks for the slots that it lacks, and its alarm is set.
    #[inline]
    pub(super) fn settle(&mut self, cx: &mut Cx<'_>, slot: u32) {
        if self.conns[slot].tx.wants_more(cx.now, &self.settings) {
            self.ask(cx, slot, false);
        }
        self.arm(slot);
    }

    /// The same where a message may have begun: an empty one is its END alone.
    fn begin(&mut self, cx: &mut Cx<'_>, slot: u32) {
        if self.conns[slot].tx.is_empty() {
            self.say_end(cx.now, slot);
        }
        self.settle(cx, slot);
    }

    #[inline]
    pub(super) fn arm(&mut self, slot: u32) {
        let due = self.due(&self.conns[slot]);
        self.conns.arm_earlier(slot, due);
    }

    #[inline]
    fn due(&self, conn: &Conn) -> Time {
        let tx = conn.tx.arbiter_due(&self.settings);
        let tx = tx.min(conn.tx.receiver_due(&self.settings));
        tx.min(conn.rx.due(&self.settings))
    }
}

/// The receiver.
impl Host {
    #[inline]
    fn on_data(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, data) = (packet.conn, Data::read(packet));
        let Some(slot) = self.place(cx, id, (data.lifetime, data.answer), data.known) else {
            return;
        };
        match self.conns[slot].rx.on_data(cx, id, &data) {
            Came::New => {}
            Came::Missing => self.counts.not_kept += 1,
            Came::Old => self.totals.duplicates += 1,
            Came::Past => {
                self.totals.duplicates += 1;
                return self.say_ack(slot, false);
            }
            Came::Nonsense => {
                self.totals.nonsense += 1;
                return;
            }
        }
        if self.on_progress(cx, slot) && self.conns[slot].rx.has_to_say(&self.settings) {
            self.say_ack(slot, false);
        }
    }

    /// The sender says where a message ends, and asks what has arrived.
    fn on_end(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, end) = (packet.conn, End::read(packet));
        if end.lifetime.is_one_shot() && end.ordinal > 0 {
            self.totals.nonsense += 1;
            return;
        }
        let Some(slot) = self.place(cx, id, (end.lifetime, end.answer), end.known) else {
            return;
        };
        let rx = &mut self.conns[slot].rx;
        let news = rx.arriving.is_active();
        if end.known && !news && rx.arriving.of(end.ordinal) == Came::New && end.ordinal == 0 {
            // It was forgotten here meanwhile, and what came late has opened it again.
            self.say_gone(cx, id);
            return self.give_up(cx, slot);
        }
        match rx.on_end(cx.now, &end) {
            Came::New => {}
            Came::Old | Came::Missing | Came::Past => {
                self.totals.duplicates += 1;
                return self.say_ack(slot, true);
            }
            Came::Nonsense => {
                self.totals.nonsense += 1;
                return;
            }
        }
        if self.on_progress(cx, slot) {
            self.say_ack(slot, true);
        }
    }

    /// The place of a connection of which a packet says this; none where it cannot be, or is over. One that is `known`
    /// here was forgotten where it is not.
    #[inline]
    pub(super) fn place(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        (lifetime, answer): (Lifetime, bool),
        known: bool,
    ) -> Option<u32> {
        let of = (lifetime, answer, true);
        match self.conns.seek(cx, id, of, known, &mut self.totals) {
            Found::Open(slot) | Found::New(slot) => return Some(slot),
            Found::Done => self.say_done(cx, id),
            Found::Gone => self.say_gone(cx, id),
            Found::Nothing => {}
        }
        None
    }

    /// A message that is done and remembered is spoken of again.
    #[cold]
    fn say_done(&mut self, cx: &Cx<'_>, id: ConnId) {
        self.totals.duplicates += 1;
        let ack = Ack {
            from: 0,
            ordinal: 1,
            seen: 0,
            all: false,
            asked: true,
        };
        self.say_to(cx, id, |to, size| ack.packet(to, id, size));
    }

    /// Something of a message has come, and perhaps all of it is here. False where it is.
    #[inline]
    pub(super) fn on_progress(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &self.conns[slot];
        if conn.is_answered() && conn.tx.may_be_done(1) {
            self.on_done(cx, slot);
        }
        let conn = &mut self.conns[slot];
        if !conn.rx.arriving.is_complete() {
            self.arm(slot);
            return true;
        }
        conn.rx.finish(cx, conn.id);
        let over = conn.is_over();
        self.say_ack(slot, true);
        if over {
            self.remove(cx, slot, true);
        }
        false
    }
}

/// The sender.
impl Host {
    /// The receiver has all of our message.
    fn on_done(&mut self, cx: &mut Cx<'_>, slot: u32) {
        self.take_back(cx, slot);
        let conn = &mut self.conns[slot];
        let (conn_id, ordinal) = (conn.id, conn.tx.ordinal);
        conn.tx.finish(cx.now);
        cx.events.push(Event::Sent {
            conn: conn_id,
            ordinal,
        });
        self.begin(cx, slot);
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, id: ConnId, ack: Ack) {
        // After the end late ones are normal.
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        if !self.conns[slot].tx.on_ack(cx.now, &ack, &self.settings) {
            return self.settle(cx, slot);
        }
        self.on_done(cx, slot);
        if self.conns[slot].is_over() {
            self.remove(cx, slot, true);
        }
    }

    /// The peer does not know the connection, and what is under way on it will not end.
    fn on_gone(&mut self, cx: &mut Cx<'_>, id: ConnId, of_sender: bool) {
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let conn = &self.conns[slot];
        let under_way = if of_sender {
            conn.rx.arriving.is_active()
        } else {
            !conn.tx.is_idle()
        };
        if under_way {
            self.give_up(cx, slot);
        }
    }
}

/// The line is idle.
impl Host {
    /// A frame leaves in its slot; false where the slot is of no use.
    #[inline]
    fn transmit(&mut self, cx: &mut Cx<'_>, turn: &Turn, out: &mut Packet) -> bool {
        let conn = self.conns.get_mut(turn.slot, turn.order);
        let Some(conn) = conn.filter(|conn| conn.tx.active && conn.tx.ordinal == turn.ordinal)
        else {
            self.counts.slots_unused += 1;
            return false;
        };
        let settings = &self.settings;
        conn.tx.granted -= 1;
        let late = settings.shared && cx.now > turn.at.after(settings.late);
        let of = (conn.lifetime, !conn.opener);
        let piece = if late {
            None
        } else {
            conn.tx.take(cx.now, settings, turn.alloc, of)
        };
        let Some(piece) = piece else {
            self.counts.slots_unused += 1;
            self.counts.slots_late += u64::from(late);
            self.settle(cx, turn.slot);
            return false;
        };
        let size = settings.encap.wire(piece.data.length);
        *out = piece.data.packet(conn.peer, conn.id, size);
        out.set_priority(DATA);
        if turn.chosen {
            out.set_path(turn.way);
        }
        self.totals.data_sent += 1;
        self.totals.retransmitted += u64::from(piece.again);
        self.settle(cx, turn.slot);
        true
    }

    /// Something is paused: looks at every slot whose time has come.
    #[cold]
    fn poll_gated(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if cx.gates.may_say(URGENT) && self.control.pop(out) {
            return Transmit::More;
        }
        loop {
            let (gates, conns) = (cx.gates, &self.conns);
            let may = |turn: &Turn| {
                let conn = conns.get(turn.slot).filter(|conn| conn.order == turn.order);
                conn.is_none_or(|conn| gates.may_send(conn.id, DATA))
            };
            let Some(turn) = self.turns.pop_if(may) else {
                return Transmit::Nothing;
            };
            if self.transmit(cx, &turn, out) {
                return Transmit::More;
            }
        }
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        let slot = self.conns.connect(cx, conn, peer, lifetime);
        let lasting = slot.is_some() && lifetime == Lifetime::Persistent;
        if lasting && self.settings.arbiter == Some(peer) {
            self.to_arbiter = self.to_arbiter.or(Some(conn));
        }
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let Some(slot) = self.conns.to_send(cx, conn) else {
            return;
        };
        let tx = &mut self.conns[slot].tx;
        let begins = !tx.active;
        if !tx.push(cx.now, length) {
            cx.events.push(Event::Refused { conn });
        }
        if begins {
            self.begin(cx, slot);
        }
    }

    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn)
            && self.conns[slot].tx.cancel()
        {
            self.take_back(cx, slot);
            self.say_end(cx.now, slot);
            self.settle(cx, slot);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            if self.conns[slot].rx.arriving.is_active() {
                // What is under way opens it again, and must not be asked for from the beginning.
                self.say_gone(cx, conn);
            }
            self.remove(cx, slot, false);
        } else {
            self.conns.forget_done(cx, conn);
        }
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let id = packet.conn;
        match Kind::of(packet) {
            Some(Kind::Data) => self.on_data(cx, packet),
            Some(Kind::Alloc) => self.on_alloc(cx, id, Alloc::read(packet)),
            Some(Kind::Req) => self.on_request(cx, id, Req::read(packet)),
            Some(Kind::Wait) => self.on_wait(cx, id, Wait::read(packet).flow),
            Some(Kind::End) => self.on_end(cx, packet),
            Some(Kind::Ack) => self.on_ack(cx, id, Ack::read(packet)),
            Some(Kind::Gone) => self.on_gone(cx, id, Gone::read(packet).of_sender),
            None => self.totals.nonsense += 1,
        }
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.conns.expire(cx);
        self.turns.come(cx.now);
        self.arbitrate(cx);
        while let Some(slot) = self.conns.rings(cx.now) {
            self.ring(cx, slot);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        self.turns.come(cx.now);
        if cx.gates.any_closed() {
            return self.poll_gated(cx, out);
        }
        if self.control.pop(out) {
            return Transmit::More;
        }
        while let Some(turn) = self.turns.pop() {
            if self.transmit(cx, &turn, out) {
                return Transmit::More;
            }
        }
        // A slot of no use may have been asked for again.
        if self.control.pop(out) {
            return Transmit::More;
        }
        Transmit::Nothing
    }

    #[inline]
    fn deadline(&self) -> Time {
        let arbiter = self
            .arbiter
            .as_ref()
            .map_or(Time::NEVER, |arbiter| arbiter.due());
        self.conns.next().min(self.turns.next()).min(arbiter)
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        self.turns.check();
        if let Some(arbiter) = &self.arbiter {
            arbiter.check();
        }
        let turn = self.totals.data_sent + self.totals.credits_sent;
        self.conns.check(turn, |conn| {
            assert!(
                conn.due() <= self.due(conn),
                "the alarm of {:?} is late",
                conn.id
            );
            let tx = &conn.tx;
            let has = u64::from(tx.wanted) + u64::from(tx.granted);
            let lacks = tx.active && tx.to_go(&self.settings) > has;
            assert!(!lacks || tx.wanted > 0, "{:?} asks for too little", conn.id);
        });
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        let settings = &self.settings;
        self.conns
            .stuck(report, |conn| [conn.tx.stuck(settings), conn.rx.stuck()]);
    }

    fn totals(&self) -> Totals {
        let mut totals = self.totals;
        totals.credits_wasted = self.wasted();
        totals.nonsense += self.arbiter.as_ref().map_or(0, |arbiter| arbiter.nonsense);
        totals
    }

    fn counters(&self, report: &mut Count<'_>) {
        let mut counts = self.counts;
        if let Some(arbiter) = &self.arbiter {
            counts.requests_refused = arbiter.refused;
            counts.batches = arbiter.batches;
            counts.slots_given = arbiter.given;
            counts.ways_shared = arbiter.crossed();
        }
        counts.report(report);
    }
}
