//! Homa on one host: its connections, its line, its deadline.
//!
//! One function per packet, then what leaves: control packets and grants first, then the message with the fewest bytes
//! left. Who is granted how much is in `granting` and `ranks`, and what silence means in `silence`.

use super::early::{Word, grants_told};
use super::granting::Waits;
use super::header::{
    Ack, Busy, Data, Got, Grant, Granted, Kind, NeedAck, PAYLOAD_MAX, ProbeAck, Resend, Unknown,
    told, whole,
};
use super::params::Params;
use super::ranks::Ranks;
use super::receiver::{Receiver, Verdict};
use super::sender::Sender;
use super::settings::Settings;
use super::silence::Incoming;
use model::{
    Class, ConnId, Count, Cx, Ecn, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use parts::connections::{self, Connections, Sending};
use parts::line::{Line, Stands};
use parts::packet_queue::PacketQueue;
use std::collections::VecDeque;
use units::Time;

/// Control packets and grants that wait for the line; what comes on top is lost, as it might be anywhere. [ours]
const CONTROL_MAX: usize = 16_384;
/// Connections of one peer that a host keeps state for: a liar can open many. [ours]
const OF_PEER_MAX: u32 = 1 << 16;
/// No place among the peers: nothing has come on this connection.
const NO_PLACE: u32 = u32::MAX;
/// The priority of control packets and grants.
pub(super) const URGENT: u8 = 0;

model::counters! {
    /// What Homa counts besides.
    pub(super) struct Counts {
        /// RESEND sent: gaps that a receiver asked for.
        resends: packets,
        /// NEED_ACK sent.
        need_acks: packets,
        /// BUSY sent.
        busy: packets,
        /// ACK sent.
        acks: packets,
        /// Messages that began again, because their receiver did not know them.
        restarts: times,
        /// Grants to the oldest message, out of its turn.
        oldest_grants: packets,
        /// Probes sent behind what left unasked. [aeolus s3.3]
        probes: packets,
        /// Bytes that left unasked and were missing when their probe came: granted again.
        missed: bytes,
        /// Control packets lost before they left, because too many waited at their host.
        line_lost: packets,
    }
}

/// What a connection has besides its two directions.
#[derive(Debug)]
pub(super) struct Own {
    /// Where the messages of its peer are ranked.
    pub(super) place: u32,
}

impl Default for Own {
    fn default() -> Self {
        Self { place: NO_PLACE }
    }
}

/// One connection at one end.
pub(super) type Conn = connections::Conn<Sender, Receiver, Own>;

/// Homa on one host.
pub(super) struct Host {
    pub(super) settings: Settings,
    pub(super) conns: Connections<Sender, Receiver, Own>,
    /// Packets without data that wait for the line.
    control: PacketQueue,
    /// Messages of which a packet may leave, the shortest first.
    line: Line,
    pub(super) ranks: Ranks,
    /// Bytes that were granted to all messages, or left unasked, and have not arrived.
    pub(super) incoming: u64,
    /// Those of them that were granted, where that has a bound.
    pub(super) promised: u64,
    /// What comes, in which order.
    pub(super) arrivals: Incoming,
    /// A message could be granted more if there were room.
    pub(super) needy: bool,
    /// Incoming messages by age, and those that are over or granted.
    pub(super) oldest: VecDeque<Waits>,
    /// When the oldest gets its next share, where that does not wait for an arrival.
    pub(super) fifo_at: Time,
    pub(super) fifo_rests: bool,
    pub(super) totals: Totals,
    pub(super) counts: Counts,
}

impl Host {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let settings = Settings::new(params, config);
        debug_assert!(settings.payload_max <= PAYLOAD_MAX);
        let fifo_at = settings
            .fifo_every
            .map_or(Time::NEVER, |every| Time::ZERO.after(every));
        Self {
            conns: Connections::new(config.host, settings.linger),
            ranks: Ranks::new(settings.kept()),
            settings,
            control: PacketQueue::default(),
            line: Line::default(),
            incoming: 0,
            promised: 0,
            arrivals: Incoming::default(),
            needy: false,
            oldest: VecDeque::new(),
            fifo_at,
            fifo_rests: true,
            totals: Totals::default(),
            counts: Counts::default(),
        }
    }

    #[inline]
    pub(super) fn say(&mut self, packet: Packet) {
        if !self.control.offer(packet, CONTROL_MAX) {
            let credit = packet.class() == Class::Credit;
            self.totals.credits_dropped += u64::from(credit);
            self.counts.line_lost += u64::from(!credit);
        }
    }

    /// Says something about a connection that may be unknown here.
    fn say_to(
        &mut self,
        cx: &Cx<'_>,
        conn: ConnId,
        make: impl FnOnce(HostId, ConnId, u16) -> Packet,
    ) {
        let size = self.settings.small();
        let make = |peer| make(peer, conn, size);
        if let Some(packet) = self.conns.to_whoever(cx, conn, &mut self.totals, make) {
            self.say(packet);
        }
    }

    pub(super) fn ack(&mut self, cx: &Cx<'_>, conn: ConnId, ordinal: u32) {
        self.counts.acks += 1;
        let ordinal = told(ordinal);
        self.say_to(cx, conn, |to, conn, size| {
            Ack { ordinal }.packet(to, conn, size)
        });
    }

    /// Forgets a connection, at once or when no copy of it can come any more.
    fn remove(&mut self, cx: &mut Cx<'_>, slot: u32, may_linger: bool) {
        self.leave_ranks(slot);
        let conn = self.conns.remove(cx, slot, may_linger);
        if conn.own.place != NO_PLACE {
            self.ranks.close(conn.own.place);
        }
        if self.conns.is_empty() {
            // What is left belongs to the dead.
            self.line.clear();
            self.oldest = VecDeque::new();
        }
    }

    /// The connection is lost: its own messages will not be delivered.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, slot: u32) {
        self.conns.refuse(cx, slot);
        let conn = &self.conns[slot];
        let wanted = conn.rx.rank.is_some() || conn.rx.pledged > 0;
        self.remove(cx, slot, false);
        if wanted {
            self.grant_all(cx.now);
        }
    }

    /// The message under way wants nothing any more.
    fn leave_ranks(&mut self, slot: u32) {
        let rx = &mut self.conns[slot].rx;
        self.incoming -= std::mem::take(&mut rx.pledged);
        self.promised -= std::mem::take(&mut rx.promised);
        let rank = rx.rank.take();
        self.ranks.change(rank, None);
    }

    /// Something changed: lets the line choose the message, and sets its alarm.
    #[inline]
    pub(super) fn settle(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        if !conn.tx.queued && conn.tx.is_ready() {
            conn.tx.queued = true;
            let left = conn.tx.left();
            self.line.push(left, self.conns.age_sending(slot), slot);
        }
        self.arm(slot);
    }

    /// The message has another number of bytes left than it stands in the line with: gives it its place.
    fn stand_anew(&mut self, slot: u32) {
        if std::mem::take(&mut self.conns[slot].tx.queued) {
            self.line.remove(slot);
        }
        self.settle(slot);
    }

    #[inline]
    pub(super) fn arm(&mut self, slot: u32) {
        let Conn { tx, rx, .. } = &self.conns[slot];
        let grant = if rx.wants { rx.grant_at } else { Time::NEVER };
        let late = rx.closes.map_or(Time::NEVER, |(at, _)| at);
        let due = tx.due(&self.settings).min(grant).min(late);
        let due = due.min(rx.due(&self.settings));
        self.conns.arm(slot, due);
    }
}

/// One kind of packet each.
impl Host {
    #[inline]
    fn on_data(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, data) = (packet.conn, Data::read(packet));
        if u32::from(data.length) > data.left {
            self.totals.nonsense += 1;
            return;
        }
        // A grant released it, so the message was known here. Behind a burst others are marked like that.
        let granted = packet.class() == Class::Scheduled && !self.settings.bursts;
        let Some(slot) = self.find_or_open(cx, id, &data, granted) else {
            self.totals.duplicates += u64::from(self.conns.remembers(id));
            return;
        };
        let verdict = self.conns[slot].rx.on_data(cx, id, &data);
        self.totals.duplicates += u64::from(verdict.is_copy());
        if !self.is_news(cx, slot, verdict) {
            return;
        }
        let rx = &mut self.conns[slot].rx;
        if !self.settings.bursts {
            rx.fill_up(&data);
        } else if packet.class() == Class::Unscheduled {
            rx.burst_reaches(data.offset + u64::from(data.length), &self.settings);
            if self.settings.overtakes {
                rx.comes_late(data.length);
            }
            if !rx.is_complete() {
                self.say_got(slot, &data);
                self.close_late(cx.now, slot);
            }
        }
        self.after_data(cx, slot, data.has);
    }

    /// The connection of a packet that may open it, where what it says of that is true.
    #[inline]
    pub(super) fn find_or_open(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        data: &Data,
        granted: bool,
    ) -> Option<u32> {
        let known = self.conns.find(id);
        let slot = known.or_else(|| self.on_stranger(cx, id, data, granted))?;
        let conn = &mut self.conns[slot];
        let fits = conn.fits(data.lifetime, data.answer)
            && (conn.lifetime != Lifetime::Exchange || data.ordinal == 0);
        if !fits || (conn.own.place == NO_PLACE && !self.find_place(slot)) {
            self.totals.nonsense += 1;
            return None;
        }
        Some(slot)
    }

    /// Whether a packet of a message brings something; answers it where it does not.
    #[inline]
    pub(super) fn is_news(&mut self, cx: &Cx<'_>, slot: u32, verdict: Verdict) -> bool {
        let conn = &mut self.conns[slot];
        match verdict {
            Verdict::New => return true,
            Verdict::First => {
                let rx = &mut conn.rx;
                rx.granted = rx.end.min(rx.base + self.settings.unscheduled);
                rx.unasked = rx.granted;
                let length = rx.end - rx.base;
                rx.priority = self.settings.unasked(length, length);
                if !rx.is_granted() {
                    self.join_oldest(slot);
                }
                return true;
            }
            Verdict::Old => {
                let ended = conn.rx.rank.is_some() && conn.rx.is_granted();
                if ended || conn.rx.pledged < conn.rx.on_the_way() {
                    // It ends earlier, or it was silent and is heard again.
                    self.on_progress(cx.now, slot);
                }
                self.comfort(slot);
                self.arm(slot);
            }
            Verdict::Past => {
                let (id, complete) = (conn.id, conn.rx.ordinal);
                self.ack(cx, id, complete);
            }
            Verdict::Nonsense => self.totals.nonsense += 1,
        }
        false
    }

    /// A packet of a message has brought something, and says how many of ours its end `has`.
    #[inline]
    pub(super) fn after_data(&mut self, cx: &mut Cx<'_>, slot: u32, has: u8) {
        // An answer says that the question has arrived, and the next question that the answer has.
        let conn = &mut self.conns[slot];
        if whole(has, conn.rx.ordinal).is_some_and(|whole| conn.tx.is_whole(whole)) {
            self.on_done(cx, slot);
            self.settle(slot);
        }
        if self.conns[slot].rx.is_complete() {
            return self.on_complete(cx, slot);
        }
        self.on_progress(cx.now, slot);
        self.arm(slot);
    }

    /// A message that waits for its turn was sent again: without a word its sender would give it up.
    #[cold]
    fn comfort(&mut self, slot: u32) {
        let conn = &self.conns[slot];
        if conn.rx.on_the_way() > 0 || conn.rx.is_granted() || !self.settings.recovery {
            return;
        }
        let busy = Busy { of_sender: false };
        let packet = busy.packet(conn.peer, conn.id, self.settings.small());
        self.counts.busy += 1;
        self.say(packet);
    }

    /// The peer's place, where nothing had come of it on this connection.
    #[cold]
    fn find_place(&mut self, slot: u32) -> bool {
        let place = self.ranks.open(self.conns[slot].peer, OF_PEER_MAX);
        self.conns[slot].own.place = place.unwrap_or(NO_PLACE);
        place.is_some()
    }

    /// Data of a connection that is not known here.
    fn on_stranger(&mut self, cx: &Cx<'_>, id: ConnId, data: &Data, granted: bool) -> Option<u32> {
        if self.conns.remembers(id) {
            self.ack(cx, id, 1);
            return None;
        }
        if data.answer || data.ordinal != 0 {
            self.say_unknown(cx, id, data.ordinal, true);
            return None;
        }
        if granted {
            self.say_forgotten(cx, id, data.ordinal);
            return None;
        }
        let peer = self.conns.opener(cx, id, &mut self.totals)?;
        let place = self.ranks.open(peer, OF_PEER_MAX)?;
        let slot = self.conns.add(id, peer, false, data.lifetime);
        self.conns[slot].own.place = place;
        Some(slot)
    }

    pub(super) fn say_unknown(&mut self, cx: &Cx<'_>, id: ConnId, ordinal: u16, connection: bool) {
        let unknown = Unknown {
            ordinal,
            forgotten: false,
            connection,
            of_sender: false,
        };
        self.say_to(cx, id, |to, conn, size| unknown.packet(to, conn, size));
    }

    /// A message that was known is not any more: it cannot begin again, for its bytes may have been delivered.
    #[cold]
    fn say_forgotten(&mut self, cx: &Cx<'_>, id: ConnId, ordinal: u16) {
        let unknown = Unknown {
            ordinal,
            forgotten: true,
            connection: true,
            of_sender: false,
        };
        self.say_to(cx, id, |to, conn, size| unknown.packet(to, conn, size));
    }

    /// All of a message is here.
    fn on_complete(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let wanted = self.conns[slot].rx.rank.is_some();
        self.leave_ranks(slot);
        let conn = &mut self.conns[slot];
        let id = conn.id;
        conn.rx.finish(cx, id);
        let (complete, over) = (conn.rx.ordinal, conn.is_over());
        if self.settings.recovery || !conn.one_shot() {
            self.ack(cx, id, complete);
        }
        if over {
            self.remove(cx, slot, true);
        } else {
            self.arm(slot);
        }
        if wanted || self.needy {
            self.grant_all(cx.now);
        }
    }

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

    #[inline]
    fn on_grant(&mut self, cx: &Cx<'_>, id: ConnId, grant: Grant) {
        self.totals.credits_received += 1;
        let Some(slot) = self.conns.find(id) else {
            self.totals.credits_wasted += 1;
            return;
        };
        let conn = &mut self.conns[slot];
        if !conn.tx.on_grant(cx.now, grant, &self.settings) {
            self.totals.credits_wasted += 1;
        }
        self.settle(slot);
    }

    fn on_resend(&mut self, cx: &Cx<'_>, id: ConnId, resend: Resend) {
        let Some(slot) = self.conns.find(id) else {
            let unknown = Unknown {
                ordinal: 0,
                forgotten: false,
                connection: true,
                of_sender: true,
            };
            return self.say_to(cx, id, |to, conn, size| unknown.packet(to, conn, size));
        };
        let conn = &mut self.conns[slot];
        if conn.tx.is_idle() {
            return;
        }
        if conn.tx.on_resend(cx.now, resend, &self.settings) {
            self.totals.timeouts += 1;
        } else {
            let busy = Busy { of_sender: true };
            self.counts.busy += 1;
            let packet = busy.packet(conn.peer, id, self.settings.small());
            self.say(packet);
        }
        self.settle(slot);
    }

    fn on_busy(&mut self, cx: &Cx<'_>, id: ConnId, busy: Busy) {
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let conn = &mut self.conns[slot];
        if busy.of_sender {
            conn.rx.heard = cx.now;
        } else {
            conn.tx.on_busy(cx.now);
        }
        self.arm(slot);
    }

    fn on_unknown(&mut self, cx: &mut Cx<'_>, id: ConnId, unknown: Unknown) {
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        let conn = &mut self.conns[slot];
        if unknown.of_sender {
            if conn.rx.active {
                self.give_up(cx, slot);
            }
            return;
        }
        if conn.tx.is_idle() || unknown.ordinal != told(conn.tx.ordinal) {
            return;
        }
        // Where a burst is closed by a probe, whoever has answered and says so has forgotten.
        let knew = self.settings.bursts && conn.tx.is_answered();
        let lost = conn.tx.ordinal > 0 || !conn.opener || knew;
        if unknown.forgotten || (unknown.connection && lost) {
            return self.give_up(cx, slot);
        }
        let restarts = u64::from(conn.tx.restart(cx.now, &self.settings));
        self.totals.timeouts += restarts;
        self.counts.restarts += restarts;
        self.settle(slot);
    }

    fn on_need_ack(&mut self, cx: &Cx<'_>, id: ConnId, ordinal: u16) {
        let Some(slot) = self.conns.find(id) else {
            if self.conns.remembers(id) {
                return self.ack(cx, id, 1);
            }
            return self.say_unknown(cx, id, ordinal, true);
        };
        let conn = &self.conns[slot];
        let (complete, under_way) = (conn.rx.ordinal, conn.rx.active);
        if ordinal != told(complete) {
            return self.ack(cx, id, complete);
        }
        if !under_way {
            return self.say_unknown(cx, id, ordinal, false);
        }
        let busy = Busy { of_sender: false };
        self.counts.busy += 1;
        self.say_to(cx, id, |to, conn, size| busy.packet(to, conn, size));
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, id: ConnId, ack: Ack) {
        let Some(slot) = self.conns.find(id) else {
            // After the end late ones are normal.
            return;
        };
        if !self.conns[slot].tx.may_be_done(ack.ordinal) {
            return;
        }
        self.on_done(cx, slot);
        if self.conns[slot].is_over() {
            self.remove(cx, slot, true);
        } else {
            self.settle(slot);
        }
    }
}

/// The line is idle.
impl Host {
    /// The message whose packet leaves next: the first of [`Host::line`] then.
    #[inline]
    fn choose(&mut self) -> Option<u32> {
        // DEVIATES(homa linux): the oldest message gets no share of a sender's line, only of a receiver's grants.
        let conns = &mut self.conns;
        self.line.choose(|(by, age, slot)| {
            let conn = conns.sending_mut(slot, age);
            let Some(conn) = conn.filter(|conn| conn.tx.queued) else {
                return Stands::No;
            };
            conn.tx.queued = conn.tx.is_ready();
            match conn.tx.left() {
                _ if !conn.tx.queued => Stands::No,
                left if left == by => Stands::Right,
                left => Stands::By(left),
            }
        })
    }

    /// Puts the next packet of a message on the line.
    #[inline]
    fn transmit(&mut self, cx: &mut Cx<'_>, slot: u32, out: &mut Packet) {
        let conn = &mut self.conns[slot];
        if let Some(priority) = conn.tx.probes_at() {
            return self.transmit_probe(cx.now, slot, priority, out);
        }
        let piece = conn.tx.take(cx.now, &self.settings);
        let (answer, size) = (!conn.opener, self.settings.encap.wire(piece.length));
        let data = conn.tx.data(piece, conn.lifetime, answer, conn.rx.ordinal);
        *out = if let Some(at) = piece.at {
            let granted = Granted {
                offset: data.offset,
                has: data.has,
                length: data.length,
                at: grants_told(at),
                ordinal: data.ordinal,
                again: piece.again,
                answer,
            };
            granted.packet(conn.peer, conn.id, size)
        } else {
            data.packet(conn.peer, conn.id, size)
        };
        out.set_priority(piece.priority);
        if !piece.unasked {
            out.set_class(Class::Scheduled);
        }
        self.totals.data_sent += 1;
        self.totals.retransmitted += u64::from(piece.again);
    }

    /// A packet of the message has left. Nobody acknowledges it where nothing is recovered: it is done then.
    #[inline]
    fn has_transmitted(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.conns[slot];
        let in_vain = !self.settings.recovery && conn.one_shot() && conn.tx.has_left();
        if in_vain {
            self.on_done(cx, slot);
            if self.conns[slot].is_over() {
                return self.remove(cx, slot, true);
            }
        }
        self.arm(slot);
    }

    /// Nothing is paused.
    #[inline]
    fn poll_line(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if self.control.pop(out) {
            return Transmit::More;
        }
        let Some(slot) = self.choose() else {
            return Transmit::Nothing;
        };
        self.transmit(cx, slot, out);
        let tx = &mut self.conns[slot].tx;
        tx.queued = tx.is_ready();
        self.line.served(tx.queued.then(|| tx.left()));
        self.has_transmitted(cx, slot);
        Transmit::More
    }

    /// Something is paused: looks at every message.
    #[cold]
    fn poll_gated(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if cx.gates.may_say(URGENT) && self.control.pop(out) {
            return Transmit::More;
        }
        let open = |conn: &&Conn| {
            conn.tx.is_ready() && cx.gates.may_send(conn.id, conn.tx.priority(&self.settings))
        };
        let ready = self.conns.iter().filter(open);
        let Some(best) = ready.min_by_key(|conn| (conn.tx.left(), conn.sending_age())) else {
            return Transmit::Nothing;
        };
        let slot = self.conns.find(best.id).expect("it is there");
        self.transmit(cx, slot, out);
        self.stand_anew(slot);
        self.has_transmitted(cx, slot);
        Transmit::More
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        self.conns.connect(cx, conn, peer, lifetime);
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let Some(slot) = self.conns.to_send(cx, conn) else {
            return;
        };
        let tx = &mut self.conns[slot].tx;
        if !tx.push(cx.now, length, &self.settings) {
            cx.events.push(Event::Refused { conn });
        }
        self.settle(slot);
    }

    fn cancel(&mut self, _: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            self.conns[slot].tx.cancel();
            // It has less to send now, and another place among those that wait for the line.
            self.stand_anew(slot);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            let rx = &self.conns[slot].rx;
            if rx.active {
                // What is under way opens it again, and must not be asked for from the beginning.
                let ordinal = told(rx.ordinal);
                self.say_forgotten(cx, conn, ordinal);
            }
            self.remove(cx, slot, false);
            self.grant_all(cx.now);
        } else {
            self.conns.forget_done(cx, conn);
        }
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let id = packet.conn;
        self.arrivals.note(cx.now, packet, &self.settings);
        match Kind::of(packet) {
            Some(Kind::Data) => self.on_data(cx, packet),
            Some(Kind::Grant) => self.on_grant(cx, id, Grant::read(packet)),
            Some(Kind::Resend) => self.on_resend(cx, id, Resend::read(packet)),
            Some(Kind::Busy) => self.on_busy(cx, id, Busy::read(packet)),
            Some(Kind::Unknown) => self.on_unknown(cx, id, Unknown::read(packet)),
            Some(Kind::NeedAck) => self.on_need_ack(cx, id, NeedAck::read(packet).ordinal),
            Some(Kind::Ack) => self.on_ack(cx, id, Ack::read(packet)),
            Some(Kind::Granted) => self.on_granted(cx, packet),
            Some(Kind::Probe) => self.on_probe(cx, packet),
            Some(Kind::Got) => {
                let got = Got::read(packet);
                self.on_burst_word(cx, id, got.ordinal, Word::Got(got.offset));
            }
            Some(Kind::ProbeAck) => {
                let ack = ProbeAck::read(packet);
                self.on_burst_word(cx, id, ack.ordinal, Word::Probe(ack.upto, ack.missing));
            }
            None => self.totals.nonsense += 1,
        }
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.conns.expire(cx);
        if !self.fifo_rests && self.fifo_at <= cx.now {
            self.grant_oldest(cx.now);
        }
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
        let rests = self.fifo_rests || self.ranks.is_empty();
        let share = if rests { Time::NEVER } else { self.fifo_at };
        self.conns.next().min(share)
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        self.ranks.check();
        let turn = self.totals.data_sent + self.totals.credits_sent;
        self.conns.check(turn, |conn| {
            assert!(conn.rx.pledged <= self.incoming && conn.rx.promised <= self.promised);
            assert!(conn.own.place != NO_PLACE || !conn.rx.active);
            assert!(
                conn.tx.queued || !conn.tx.is_ready(),
                "the line overlooks {:?}",
                conn.id
            );
        });
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        let recovery = self.settings.recovery;
        self.conns.stuck(report, |conn| {
            [conn.tx.stuck(recovery), conn.rx.stuck(recovery)]
        });
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.counts.report(report);
    }
}
