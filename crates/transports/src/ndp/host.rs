//! NDP on one host: its connections, its pulls, its line, its deadline.
//!
//! One function per packet of a receiver, then of a sender, then what leaves. A receiver answers every piece at once,
//! and the answer is a pull where the host's pull clock is free; otherwise the connection waits for its turn in
//! `pulls`. The line serves answers and pulls first, then messages in turns.

use super::header::{Ack, Data, Done, End, Gone, Kind, Nack, PAYLOAD_MAX, Pull};
use super::line::Line;
use super::params::{Params, Spray};
use super::pulls::PullQueue;
use super::receiver::{Receiver, Verdict};
use super::sender::{RING_MAX, Sender};
use super::settings::Settings;
use model::{
    Class, ConnId, Count, Cx, Ecn, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, Rng,
    StuckFlow, Totals, Transmit,
};
use parts::connections::{self, Connections, Sending, told};
use parts::packet_queue::PacketQueue;
use units::Time;

/// Answers and pulls that wait for the line; what comes on top is lost, as it might be anywhere. [ours]
const CONTROL_MAX: usize = 16_384;
/// Pulls that one message is owed, at most: frames that a sender of ours has on their way. [ours]
#[allow(clippy::cast_possible_truncation, reason = "far below 2^32")]
pub(super) const OWED_MAX: u32 = RING_MAX as u32;
/// The priority of everything.
pub(super) const URGENT: u8 = 0;

model::counters! {
    /// What NDP counts besides.
    pub(super) struct Counts {
        /// Data that took another way than the first.
        sprayed: packets,
        /// Data that arrived without its payload, and was asked for again.
        nacks: packets,
        /// Data that a switch sent back.
        returned: packets,
        /// Such data that left again without a pull.
        returned_again: packets,
        /// Data that a timer took for lost, each time; it leaves again unless a word about it comes first.
        unheard: packets,
        /// Questions of senders that missed a pull.
        asks: packets,
        /// Pulls that waited when their message was complete.
        pulls_dropped: packets,
        /// Probes sent behind first windows. [aeolus s3.3]
        probes: packets,
        /// Frames of first windows that were missing when their probe came, and were pulled again.
        missed: packets,
        /// Answers and pulls lost before they left, because too many waited at their host.
        line_lost: packets,
    }
}

/// What a connection has besides its two directions.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// Equal-cost ways to the peer, and the one that the next answer takes.
    pub(super) ways: u16,
    way: u16,
}

impl Own {
    /// The way of the next answer: one after the other.
    #[inline]
    fn next_way(&mut self) -> u16 {
        let way = self.way;
        self.way = if way + 1 < self.ways { way + 1 } else { 0 };
        way
    }
}

/// One connection at one end.
pub(super) type Conn = connections::Conn<Sender, Receiver, Own>;

/// NDP on one host.
pub(super) struct Host {
    me: HostId,
    pub(super) settings: Settings,
    pub(super) conns: Connections<Sender, Receiver, Own>,
    /// Packets without data that wait for the line.
    pub(super) control: PacketQueue,
    pub(super) line: Line,
    pulls: PullQueue,
    pub(super) totals: Totals,
    pub(super) counts: Counts,
}

impl Host {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let settings = Settings::new(params, config);
        debug_assert!(settings.payload_max <= PAYLOAD_MAX);
        Self {
            me: config.host,
            conns: Connections::new(config.host, settings.linger),
            settings,
            control: PacketQueue::default(),
            line: Line::default(),
            pulls: PullQueue::default(),
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

    /// Says something on a connection, on its next way; as a pull, too, if it is one.
    #[inline]
    fn say_on(&mut self, slot: u32, mut packet: Packet, pulls: bool) {
        let conn = &mut self.conns[slot];
        if conn.own.ways > 1 {
            packet.set_path(conn.own.next_way());
        }
        if pulls {
            packet.set_class(Class::Credit);
        }
        self.say(packet);
    }

    /// Says something about a connection that is not known here.
    fn say_to(&mut self, cx: &Cx<'_>, id: ConnId, make: impl FnOnce(HostId, u16) -> Packet) {
        let size = self.settings.small();
        let make = |peer| make(peer, size);
        if let Some(packet) = self.conns.to_whoever(cx, id, &mut self.totals, make) {
            self.say(packet);
        }
    }

    fn say_gone(&mut self, cx: &Cx<'_>, id: ConnId, of_sender: bool) {
        let gone = Gone { of_sender };
        self.say_to(cx, id, |to, size| gone.packet(to, id, size));
    }

    pub(super) fn say_done(&mut self, slot: u32, ordinal: u32) {
        let conn = &self.conns[slot];
        let done = Done {
            ordinal: told(ordinal),
            way: 0,
        };
        let packet = done.packet(conn.peer, conn.id, self.settings.small());
        self.say_on(slot, packet, false);
    }

    /// A connection begins.
    fn begin(&mut self, cx: &Cx<'_>, slot: u32) {
        let conn = &mut self.conns[slot];
        conn.own.ways = match self.settings.spray {
            Spray::Flow => 1,
            Spray::Permutation | Spray::Random => cx.peers.ways(self.me, conn.peer).max(1),
        };
        // Answers of different connections begin on different ways.
        #[allow(clippy::cast_possible_truncation, reason = "below a number of 16 bits")]
        let way = (conn.id.0 % u32::from(conn.own.ways)) as u16;
        conn.own.way = way;
    }

    /// Forgets a connection, at once or when no copy of it can come any more.
    fn remove(&mut self, cx: &mut Cx<'_>, slot: u32, may_linger: bool) {
        let conn = self.conns.remove(cx, slot, may_linger);
        self.counts.pulls_dropped += u64::from(conn.rx.owed);
        if self.conns.is_empty() {
            // What is left belongs to the dead.
            self.line = Line::default();
            self.pulls.clear();
        }
    }

    /// The connection is lost: its own messages will not be delivered.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, slot: u32) {
        self.conns.refuse(cx, slot);
        self.remove(cx, slot, false);
    }

    #[inline]
    pub(super) fn arm(&mut self, slot: u32) {
        let due = self.due(&self.conns[slot]);
        self.conns.arm_earlier(slot, due);
    }

    #[inline]
    fn due(&self, conn: &Conn) -> Time {
        conn.tx.due(&self.settings).min(conn.rx.due(&self.settings))
    }
}

/// The receiver.
impl Host {
    #[inline]
    fn on_data(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, data) = (packet.conn, Data::read(packet));
        if data.length == 0 {
            self.totals.nonsense += 1;
            return;
        }
        // A pull released it, so it was known here. Behind a burst others are marked as if they had been pulled.
        let pulled = packet.class() == Class::Scheduled && !self.settings.bursts;
        let Some(slot) = self.find_or_open(cx, id, (data.answer, pulled), data.lifetime) else {
            self.totals.duplicates += u64::from(self.conns.remembers(id));
            return;
        };
        let conn = &mut self.conns[slot];
        let began = !conn.rx.arriving.is_active();
        let only = conn.one_shot() && conn.rx.arriving.complete() > 0;
        let verdict = match only {
            // Its one message is complete.
            true => conn.rx.after_all(&data),
            false => conn.rx.on_data(cx, id, &data, packet.trimmed()),
        };
        match verdict {
            Verdict::New | Verdict::Missing | Verdict::Old => {}
            Verdict::Past => {
                self.totals.duplicates += 1;
                let complete = conn.rx.arriving.complete();
                return self.say_done(slot, complete);
            }
            Verdict::Nonsense => {
                self.totals.nonsense += 1;
                return;
            }
        }
        self.on_answer(cx, slot);
        if self.conns[slot].rx.arriving.is_complete() {
            return self.on_complete(cx, slot);
        }
        if began {
            self.arm(slot);
        }
        // DEVIATES(ndp): a copy brings no pull, as what is sent again after silence mostly left without one. Where that
        // was one too few, its sender asks.
        let unscheduled = self.settings.bursts && packet.class() == Class::Unscheduled;
        let due =
            verdict != Verdict::Old && !(unscheduled && self.conns[slot].rx.is_late(data.offset));
        let pulls = due && self.owe(cx, slot);
        let conn = &self.conns[slot];
        let (at, pull) = (data.offset, told(conn.rx.pulls));
        let (peer, size) = (conn.peer, self.settings.small());
        let answer = if verdict == Verdict::Missing {
            self.counts.nacks += 1;
            Nack { at, pull, way: 0 }.packet(peer, id, size)
        } else {
            self.totals.duplicates += u64::from(verdict == Verdict::Old && !packet.trimmed());
            let ack = Ack {
                at,
                pull,
                way: 0,
                copy: data.pull,
                old: self.settings.proven && verdict == Verdict::Old,
            };
            ack.packet(peer, id, size)
        };
        if unscheduled {
            return self.answer_on_its_way(slot, packet, answer, pulls);
        }
        self.say_on(slot, answer, pulls);
    }

    /// The connection of a packet that may open it, unless it is of a `later` message, and where what it says of that
    /// is true.
    #[inline]
    pub(super) fn find_or_open(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        (answer, later): (bool, bool),
        lifetime: Lifetime,
    ) -> Option<u32> {
        let known = self.conns.find(id);
        let slot = known.or_else(|| self.on_stranger(cx, id, answer || later, lifetime))?;
        let fits = self.conns[slot].fits(lifetime, answer);
        self.totals.nonsense += u64::from(!fits);
        fits.then_some(slot)
    }

    /// An answer says that the question has arrived.
    #[inline]
    pub(super) fn on_answer(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.conns[slot];
        if conn.is_answered() && conn.tx.may_be_done(told(1)) {
            self.on_done(cx, slot);
        }
    }

    /// A piece of a message makes a pull due; whether it leaves at once.
    #[inline]
    pub(super) fn owe(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let preferred = self.settings.prefer == Some(conn.peer);
        if self.pulls.is_free(cx.now, preferred, self.settings.gap()) {
            self.pulls.pulled(cx.now, self.settings.next_gap(cx.rng));
            conn.rx.pulls = conn.rx.pulls.wrapping_add(1);
            conn.rx.round = Some(self.pulls.round(preferred));
            return true;
        }
        if conn.rx.owed >= OWED_MAX {
            self.counts.pulls_dropped += 1;
            return false;
        }
        conn.rx.owed += 1;
        if !conn.rx.listed {
            conn.rx.listed = true;
            self.pulls
                .push((slot, conn.order), preferred, conn.rx.round);
        }
        false
    }

    /// Pulls whose time has come.
    fn pull(&mut self, now: Time, rng: &mut Rng) {
        while let Some((slot, order)) = self.pulls.pop(now, rng) {
            let conn = self.conns.get_mut(slot, order);
            let Some(conn) = conn.filter(|conn| conn.rx.listed) else {
                continue;
            };
            if conn.rx.owed == 0 {
                conn.rx.listed = false;
                continue;
            }
            conn.rx.owed -= 1;
            conn.rx.pulls = conn.rx.pulls.wrapping_add(1);
            conn.rx.listed = conn.rx.owed > 0;
            let preferred = self.settings.prefer == Some(conn.peer);
            conn.rx.round = Some(self.pulls.round(preferred));
            if conn.rx.listed {
                self.pulls.push((slot, order), preferred, conn.rx.round);
            }
            self.pulls.pulled_in_turn(now, self.settings.next_gap(rng));
            self.say_pull(slot);
        }
    }

    #[inline]
    fn say_pull(&mut self, slot: u32) {
        let conn = &self.conns[slot];
        let pull = Pull {
            upto: conn.rx.arriving.next(),
            pull: told(conn.rx.pulls),
            way: 0,
        };
        let packet = pull.packet(conn.peer, conn.id, self.settings.small());
        self.say_on(slot, packet, true);
    }

    /// The sender says where its message ends, and perhaps asks what is known of it.
    fn on_end(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, end) = (packet.conn, End::read(packet));
        if self.conns.find(id).is_none()
            && !self.conns.remembers(id)
            && (end.ordinal > 0 || end.at > 0)
            && !end.cut
        {
            // It was known once.
            return self.say_gone(cx, id, false);
        }
        let about = (end.answer, end.ordinal > 0);
        let Some(slot) = self.find_or_open(cx, id, about, end.lifetime) else {
            return;
        };
        let conn = &mut self.conns[slot];
        if conn.one_shot() && conn.rx.arriving.complete() > 0 {
            return self.say_done(slot, 1);
        }
        match conn.rx.on_end(cx.now, &end) {
            Verdict::Past => {
                let complete = conn.rx.arriving.complete();
                self.say_done(slot, complete);
            }
            Verdict::New | Verdict::Missing | Verdict::Old => {
                self.on_answer(cx, slot);
                if self.conns[slot].rx.arriving.is_complete() {
                    return self.on_complete(cx, slot);
                }
                self.arm(slot);
                // Who asks has nothing on its way, and cannot go on without a pull.
                if self.conns[slot].rx.owed == 0 {
                    self.owe(cx, slot);
                }
                self.say_pull(slot);
            }
            Verdict::Nonsense => self.totals.nonsense += 1,
        }
    }

    /// Something of a connection that is not known here, and was known `before`, as it is no first word.
    fn on_stranger(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        before: bool,
        lifetime: Lifetime,
    ) -> Option<u32> {
        if self.conns.remembers(id) {
            let done = Done { ordinal: 1, way: 0 };
            self.say_to(cx, id, |to, size| done.packet(to, id, size));
            return None;
        }
        if before {
            self.say_gone(cx, id, false);
            return None;
        }
        let peer = self.conns.opener(cx, id, &mut self.totals)?;
        let slot = self.conns.add(id, peer, false, lifetime);
        self.begin(cx, slot);
        Some(slot)
    }

    /// All of a message is here.
    fn on_complete(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &mut self.conns[slot];
        let id = conn.id;
        self.counts.pulls_dropped += u64::from(std::mem::take(&mut conn.rx.owed));
        conn.rx.finish(cx, id);
        let (complete, over) = (conn.rx.arriving.complete(), conn.is_over());
        self.say_done(slot, complete);
        if over {
            self.remove(cx, slot, true);
        }
    }
}

/// The sender.
impl Host {
    /// The receiver has all of our message.
    fn on_done(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &mut self.conns[slot];
        let (conn_id, ordinal) = (conn.id, conn.tx.ordinal);
        conn.tx.finish(cx.now, &self.settings);
        cx.events.push(Event::Sent {
            conn: conn_id,
            ordinal,
        });
    }

    /// A word about a frame, which may pull another, or a pull alone.
    #[inline]
    fn on_word(&mut self, cx: &Cx<'_>, packet: &Packet, kind: Kind) {
        let credit = packet.class() == Class::Credit;
        self.totals.credits_received += u64::from(credit);
        let Some(slot) = self.conns.find(packet.conn) else {
            return self.on_strange_word(cx, packet.conn, credit);
        };
        // All four have the same fields.
        let Pull { upto, pull, .. } = Pull::read(packet);
        let (now, settings, tx) = (cx.now, &self.settings, &mut self.conns[slot].tx);
        let (mut looks, mut arrived) = (false, false);
        match kind {
            Kind::Ack => {
                arrived = tx.on_ack(now, &Ack::read(packet), settings);
                if settings.bursts {
                    tx.on_burst_word(now, upto, false, settings);
                    looks = tx.looks(now);
                }
            }
            Kind::Nack => {
                tx.on_nack(now, upto, settings);
            }
            Kind::ProbeAck => tx.on_burst_word(now, upto, true, settings),
            _ => {
                tx.confirm(upto, settings);
                tx.on_presence(now);
            }
        }
        let useful = tx.on_pulls(now, pull, arrived, settings);
        self.totals.credits_wasted += u64::from(credit && !useful);
        if looks {
            self.conns.arm_earlier(slot, now);
        }
        self.settle(slot);
    }

    /// A word about a connection that is not known here. Nobody waits for a pull then, unless it is forgotten here
    /// alone.
    #[cold]
    fn on_strange_word(&mut self, cx: &Cx<'_>, id: ConnId, credit: bool) {
        self.totals.credits_wasted += u64::from(credit);
        if credit && !self.conns.remembers(id) {
            self.say_gone(cx, id, true);
        }
    }

    /// A switch had no room for the head of our packet.
    #[cold]
    fn on_bounced(&mut self, cx: &Cx<'_>, packet: &Packet) {
        let Some(slot) = self.conns.find(packet.conn) else {
            return;
        };
        let offset = Data::read(packet).offset;
        let tx = &mut self.conns[slot].tx;
        let again = tx.on_bounced(cx.now, offset, &self.settings);
        self.counts.returned += 1;
        self.counts.returned_again += u64::from(again == Some(true));
        self.settle(slot);
    }

    fn on_done_word(&mut self, cx: &mut Cx<'_>, id: ConnId, ordinal: u16) {
        // After the end late ones are normal.
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        if !self.conns[slot].tx.may_be_done(ordinal) {
            return;
        }
        self.on_done(cx, slot);
        if self.conns[slot].is_over() {
            self.remove(cx, slot, true);
        } else {
            self.settle(slot);
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

    /// Puts the next packet of a message on the line.
    #[inline]
    pub(super) fn transmit(&mut self, cx: &mut Cx<'_>, slot: u32, out: &mut Packet) {
        let conn = &mut self.conns[slot];
        if conn.tx.owes_end() {
            return self.transmit_end(cx, slot, out);
        }
        self.totals.data_sent += 1;
        let piece = conn.tx.take(&self.settings, conn.lifetime, !conn.opener);
        let ways = (conn.own.ways, self.settings.spray);
        let bursts = conn.tx.is_bursting();
        let way = if bursts {
            conn.tx.burst_way(cx.rng, ways, self.settings.first_ways)
        } else {
            conn.tx.ways.next(cx.rng, ways, piece.before)
        };
        let size = self.settings.encap.wire(piece.data.length);
        *out = piece.data.packet(conn.peer, conn.id, size);
        if conn.own.ways > 1 {
            out.set_path(way);
            self.counts.sprayed += u64::from(way > 0);
        }
        if !piece.unscheduled {
            out.set_class(Class::Scheduled);
        }
        self.totals.retransmitted += u64::from(piece.before.is_some());
        let alone = conn.tx.sent(cx.now, &piece, way, &self.settings);
        if bursts && !conn.tx.is_bursting() {
            self.say_probes(slot, true);
        }
        if alone {
            self.arm(slot);
        }
    }

    #[cold]
    fn transmit_end(&mut self, cx: &Cx<'_>, slot: u32, out: &mut Packet) {
        let conn = &mut self.conns[slot];
        let (at, cut, again) = conn.tx.take_end(cx.now);
        let end = End {
            at,
            ordinal: told(conn.tx.ordinal),
            lifetime: conn.lifetime,
            answer: !conn.opener,
            cut,
            way: 0,
        };
        *out = end.packet(conn.peer, conn.id, self.settings.small());
        if again && conn.own.ways > 1 {
            // Its own way may be dead.
            out.set_path(conn.own.next_way());
        }
        // An empty message is this alone.
        let is_message = u64::from(conn.tx.is_empty());
        self.totals.data_sent += is_message;
        self.totals.retransmitted += is_message * u64::from(again);
        self.arm(slot);
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        if let Some(slot) = self.conns.connect(cx, conn, peer, lifetime) {
            self.begin(cx, slot);
        }
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let Some(slot) = self.conns.to_send(cx, conn) else {
            return;
        };
        if self.conns[slot].own.ways == 0 {
            self.begin(cx, slot);
        }
        let tx = &mut self.conns[slot].tx;
        if !tx.push(cx.now, length, &self.settings) {
            cx.events.push(Event::Refused { conn });
        }
        self.settle(slot);
    }

    fn cancel(&mut self, _: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            let tx = &mut self.conns[slot].tx;
            let burst = tx.is_bursting();
            tx.cancel(&self.settings);
            if burst && tx.has_burst() {
                self.say_probes(slot, true);
            }
            self.settle(slot);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            let found = &self.conns[slot];
            if found.rx.arriving.is_active() || !found.one_shot() {
                // What is under way opens it again, and must not be asked for from the beginning.
                self.say_gone(cx, conn, false);
            }
            self.remove(cx, slot, false);
        } else {
            self.conns.forget_done(cx, conn);
        }
    }

    fn accepts(&self, packet: &Packet) -> bool {
        Kind::of(packet) == Some(Kind::Data) && !self.settings.bursts
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let id = packet.conn;
        let kind = Kind::of(packet);
        let cut = packet.trimmed() || packet.bounced() || kind == Some(Kind::Nack);
        if self.settings.bursts && cut {
            // No switch does that here.
            self.totals.nonsense += 1;
            return;
        }
        match kind {
            Some(Kind::Data) if packet.bounced() => self.on_bounced(cx, packet),
            Some(Kind::Data) => self.on_data(cx, packet),
            Some(kind @ (Kind::Ack | Kind::Nack | Kind::Pull | Kind::ProbeAck)) => {
                self.on_word(cx, packet, kind);
            }
            Some(Kind::Probe) => self.on_probe(cx, packet),
            Some(Kind::End) => self.on_end(cx, packet),
            Some(Kind::Done) => self.on_done_word(cx, id, Done::read(packet).ordinal),
            Some(Kind::Gone) => self.on_gone(cx, id, Gone::read(packet).of_sender),
            None => self.totals.nonsense += 1,
        }
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.pull(cx.now, cx.rng);
        self.conns.expire(cx);
        while let Some(slot) = self.conns.rings(cx.now) {
            self.ring(cx, slot);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let said = if cx.gates.any_closed() {
            self.poll_gated(cx, out)
        } else {
            self.poll_line(cx, out)
        };
        if self.settings.ect && out.class() != Class::Unscheduled {
            out.set_ecn(Ecn::Capable0);
        }
        said
    }
    #[inline]
    fn deadline(&self) -> Time {
        self.conns.next().min(self.pulls.due())
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        let turn = self.totals.data_sent + self.totals.credits_sent;
        self.conns.check(turn, |conn| {
            assert!(
                conn.tx.listed.any() || !conn.tx.is_ready(),
                "the line overlooks {:?}",
                conn.id
            );
            assert!(
                conn.tx.is_ready() || conn.due() <= self.due(conn),
                "the alarm of {:?} is late",
                conn.id
            );
        });
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        self.conns
            .stuck(report, |conn| [conn.tx.stuck(), conn.rx.stuck()]);
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.counts.report(report);
    }
}
