//! SIRD on one host: its connections, its peers, its line, its deadline.
//!
//! First what it keeps and how a connection begins and ends; then what comes in, as receiver and as sender; what the line
//! takes, paused or not; and the contract of an endpoint.

use super::crediting::Crediting;
use super::gained::Gained;
use super::header::{Ack, Credit, Data, Gone, Kind, PAYLOAD_MAX, Request};
use super::params::Params;
use super::peers::Peers;
use super::ranks::Ranks;
use super::receiver::Receiver;
use super::sender::Sender;
use super::settings::Settings;
use model::{
    Class, ConnId, Count, Cx, Ecn, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use parts::arriving::Came;
use parts::connections::{self, Connections, Found, Sending, told};
use parts::packet_queue::PacketQueue;
use std::collections::VecDeque;
use units::Time;

/// Credit and answers that wait for the line; what comes on top is lost, as it might be anywhere. [ours]
const CONTROL_MAX: usize = 16_384;
/// The priority of everything but data.
pub(super) const URGENT: u8 = 0;
/// Connections whose credit one check adds up. [ours]
const ADDED_MAX: usize = 32;

model::counters! {
    /// What SIRD counts besides.
    pub(super) struct Counts {
        /// Announcements of messages that were sent again.
        requests_again: packets,
        /// Data packets that said that their sender has too much credit.
        congested: packets,
        /// Data packets that came with the mark of a switch.
        marked: packets,
        /// Shares that were cut because their sender has too much credit.
        host_cuts: times,
        /// Shares that were cut because of marks.
        network_cuts: times,
        /// Credit for pieces that had some before.
        credits_again: packets,
        /// Holes that were not waited for any more.
        holes: times,
        /// Unused credit of a message that was taken back.
        taken_back: times,
        /// Data that was missing and was dropped: its message has too many gaps, or a part of it was here.
        not_kept: packets,
        /// Credit and answers lost before they left, because too many waited at their host.
        line_lost: packets,
    }
}

/// What a host keeps of a connection besides: the place of its peer.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) peer: u32,
}
impl Default for Own {
    fn default() -> Self {
        Self { peer: NOBODY }
    }
}
/// No peer yet.
const NOBODY: u32 = u32::MAX;

/// One connection at one end.
type Conn = connections::Conn<Sender, Receiver, Own>;

/// SIRD on one host.
pub(super) struct Host {
    pub(super) settings: Settings,
    pub(super) conns: Connections<Sender, Receiver, Own>,
    pub(super) peers: Peers,
    pub(super) crediting: Crediting,
    /// Packets without data that wait for the line, and messages that have to be announced.
    control: PacketQueue,
    asks: VecDeque<(u32, u32)>,
    /// Messages of which data may leave, how many have some that has not left, and the wire bytes that may leave.
    ready: Ranks,
    outbound: u32,
    unspent: u64,
    gained: Gained,
    /// What of a packet the shortest message has saved up, and receivers in turn have not.
    saved: f64,
    pub(super) totals: Totals,
    pub(super) counts: Counts,
}

impl Host {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let settings = Settings::new(params, config);
        debug_assert!(settings.payload_max <= PAYLOAD_MAX);
        Self {
            conns: Connections::new(config.host, settings.linger),
            peers: Peers::default(),
            crediting: Crediting::new(),
            settings,
            control: PacketQueue::default(),
            asks: VecDeque::new(),
            ready: Ranks::in_turns(),
            outbound: 0,
            unspent: 0,
            gained: Gained::default(),
            saved: 0.0,
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

    /// Tells how many messages are complete.
    fn say_ack(&mut self, slot: u32) {
        let conn = &self.conns[slot];
        let ordinal = told(conn.rx.arriving.complete());
        let next = conn.rx.is_announced();
        let packet = Ack { ordinal, next }.packet(conn.peer, conn.id, self.settings.small());
        self.say(packet);
    }

    /// A connection that may be new gets its peer.
    fn admit(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        if conn.own.peer == NOBODY {
            conn.own.peer = self.peers.join(conn.peer, &self.settings);
        }
    }

    /// Forgets a connection, at once or when no copy of it can come any more.
    fn remove(&mut self, cx: &mut Cx<'_>, slot: u32, may_linger: bool) {
        let conn = self.conns.remove(cx, slot, may_linger);
        let peer = conn.own.peer;
        self.crediting.wanting.change(peer, conn.rx.rank, None);
        self.crediting.used -= conn.rx.counted;
        let counted = conn.tx.counted;
        self.ready.change(peer, counted.rank, None);
        self.outbound -= u32::from(counted.outbound);
        self.unspent -= counted.unspent;
        let of_peer = &mut self.peers[peer];
        of_peer.used -= conn.rx.counted;
        of_peer.unspent -= counted.unspent;
        let open = of_peer.is_open(&self.settings);
        self.crediting.wanting.open(peer, open);
        self.peers.leave(peer, &self.settings);
        if self.conns.is_empty() {
            // What is left belongs to the dead.
            self.ready.clear();
            self.crediting.wanting.clear();
            self.asks = VecDeque::new();
        }
    }

    /// The connection is lost: its own messages will not be delivered.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, slot: u32) {
        self.conns.refuse(cx, slot);
        self.remove(cx, slot, false);
    }

    /// Something changed at a sender: what it may send, its place among those of which a packet may leave, and its
    /// alarm.
    #[inline]
    pub(super) fn settle_leaving(&mut self, slot: u32) {
        let ready = self.conns[slot].tx.is_ready();
        let age = ready.then(|| self.conns.age_sending(slot));
        let conn = &mut self.conns[slot];
        let new = conn.tx.counts(age, slot);
        let old = std::mem::replace(&mut conn.tx.counted, new);
        let peer = conn.own.peer;
        if old.unspent != new.unspent {
            self.unspent = self.unspent - old.unspent + new.unspent;
            let of_peer = &mut self.peers[peer];
            of_peer.unspent = of_peer.unspent - old.unspent + new.unspent;
        }
        self.outbound = self.outbound - u32::from(old.outbound) + u32::from(new.outbound);
        if old.rank != new.rank {
            self.ready.change(peer, old.rank, new.rank);
        }
        if conn.tx.message.owes() && !conn.tx.asks {
            conn.tx.asks = true;
            self.asks.push_back((slot, conn.order));
        }
        // Nothing of the other half has changed.
        let due = conn.tx.due(&self.settings);
        self.conns.arm_earlier(slot, due);
    }

    /// What may leave unasked to the peer of a connection, besides what may leave already. [sird artefact]
    fn room(&self, slot: u32) -> u64 {
        let unspent = self.peers[self.conns[slot].own.peer].unspent;
        self.settings.pair.saturating_sub(unspent)
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
        let scheduled = packet.class() == Class::Scheduled;
        let about = (data.lifetime, data.answer, data.first);
        let Some(slot) = self.place(cx, id, about, scheduled) else {
            return;
        };
        let marks = [data.congested, packet.ecn() == Ecn::Marked];
        let rx = &mut self.conns[slot].rx;
        let verdict = rx.on_data(cx, id, &data, scheduled, &self.settings);
        if verdict == Came::Nonsense {
            self.totals.nonsense += 1;
            // It may have said where the message ends.
            return self.settle_arriving(slot, false);
        }
        // DEVIATES(sird artefact): there every packet of a host counts for its shares, also those without data.
        let caps = &mut self.peers[self.conns[slot].own.peer].caps;
        let cut = caps.on_data(marks, &self.settings.law);
        self.counts.marked += u64::from(marks[1]);
        self.counts.host_cuts += u64::from(cut[0]);
        self.counts.network_cuts += u64::from(cut[1]);
        match verdict {
            Came::New | Came::Nonsense => {}
            Came::Missing => self.counts.not_kept += 1,
            Came::Old => self.totals.duplicates += 1,
            Came::Past => {
                self.totals.duplicates += 1;
                return self.say_ack(slot);
            }
        }
        self.on_progress(cx, slot);
    }

    /// The sender announces a message, perhaps again: the place of one that is new.
    fn on_request(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> Option<u32> {
        let (id, request) = (packet.conn, Request::read(packet));
        let about = (request.lifetime, request.answer, request.ordinal == 0);
        let slot = self.place(cx, id, about, request.known)?;
        let rx = &mut self.conns[slot].rx;
        let again = rx.is_announced();
        let first = request.ordinal == 0 && rx.arriving.complete() == 0;
        if request.known && !again && first {
            // It was forgotten here meanwhile, and what came late has opened it again. A later message may only seem known: what
            // was said of the one before it came late.
            self.say_gone(cx, id, false);
            self.give_up(cx, slot);
            return None;
        }
        let verdict = rx.on_request(cx.now, &request, &self.settings);
        let complete = rx.arriving.is_complete();
        match verdict {
            // Whoever asks again has to hear something, or gives up while others have their turns.
            Came::New if again && !complete => self.say_ack(slot),
            Came::New => {}
            Came::Old | Came::Missing | Came::Past => {
                self.totals.duplicates += 1;
                self.say_ack(slot);
                return None;
            }
            Came::Nonsense => {
                self.totals.nonsense += 1;
                return None;
            }
        }
        self.on_progress(cx, slot);
        (!again && !complete).then_some(slot)
    }

    /// The place of a connection of which a packet says this; none where it cannot be, or is over. One that is `known`
    /// here was forgotten where it is not.
    #[inline]
    fn place(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        of: (Lifetime, bool, bool),
        known: bool,
    ) -> Option<u32> {
        match self.conns.seek(cx, id, of, known, &mut self.totals) {
            Found::Open(slot) => return Some(slot),
            Found::New(slot) => {
                self.admit(slot);
                return Some(slot);
            }
            Found::Done => self.say_done(cx, id),
            Found::Gone => self.say_gone(cx, id, false),
            Found::Nothing => {}
        }
        None
    }

    /// A message that is done and remembered is spoken of again.
    #[cold]
    fn say_done(&mut self, cx: &Cx<'_>, id: ConnId) {
        self.totals.duplicates += 1;
        let (ordinal, next) = (1, false);
        self.say_to(cx, id, |to, size| {
            Ack { ordinal, next }.packet(to, id, size)
        });
    }

    /// Something of a message has come, and perhaps all of it is here.
    #[inline]
    fn on_progress(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.conns[slot];
        if conn.is_answered() && conn.tx.may_be_done(told(1)) {
            self.on_done(cx, slot);
        }
        let conn = &mut self.conns[slot];
        if !conn.rx.arriving.is_complete() {
            return self.settle_arriving(slot, false);
        }
        conn.rx.finish(cx, conn.id);
        let over = conn.is_over();
        self.settle_arriving(slot, false);
        self.say_ack(slot);
        if over {
            self.remove(cx, slot, true);
        }
    }
}

/// The sender.
impl Host {
    /// The receiver has all of our message.
    fn on_done(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let room = self.room(slot);
        let conn = &mut self.conns[slot];
        let (conn_id, ordinal) = (conn.id, conn.tx.message.ordinal());
        conn.tx.finish(cx.now, room, &self.settings);
        cx.events.push(Event::Sent {
            conn: conn_id,
            ordinal,
        });
        self.settle_leaving(slot);
    }

    #[inline]
    fn on_credit(&mut self, cx: &Cx<'_>, packet: &Packet) {
        self.totals.credits_received += 1;
        let Some(slot) = self.conns.find(packet.conn) else {
            return self.on_strange_credit(cx, packet.conn);
        };
        let tx = &mut self.conns[slot].tx;
        let useful = tx.on_credit(cx.now, &Credit::read(packet), &self.settings);
        self.totals.credits_wasted += u64::from(!useful);
        self.settle_leaving(slot);
    }

    /// Credit for a connection that is not known here. Nobody waits for it then, unless it is forgotten here alone.
    #[cold]
    fn on_strange_credit(&mut self, cx: &Cx<'_>, id: ConnId) {
        self.totals.credits_wasted += 1;
        if !self.conns.remembers(id) {
            self.say_gone(cx, id, true);
        }
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, id: ConnId, Ack { ordinal, next }: Ack) {
        // After the end late ones are normal.
        let Some(slot) = self.conns.find(id) else {
            return;
        };
        if !self.conns[slot].tx.on_ack(cx.now, ordinal, next) {
            return self.arm(slot);
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
    /// Announces the next message that has to be; false where there is none.
    fn ask(&mut self, now: Time, out: &mut Packet) -> bool {
        while let Some((slot, order)) = self.asks.pop_front() {
            let Some(conn) = self.conns.get_mut(slot, order) else {
                continue;
            };
            conn.tx.asks = false;
            if !conn.tx.message.owes() {
                continue;
            }
            let (request, again) = conn.tx.take_request(now, conn.lifetime, !conn.opener);
            *out = request.packet(conn.peer, conn.id, self.settings.small());
            self.counts.requests_again += u64::from(again);
            self.settle_leaving(slot);
            return true;
        }
        false
    }

    /// The message of which the next packet leaves: the shortest, or that of the receiver whose turn it is. [sird
    /// artefact `select_msg_to_send`]
    #[inline]
    fn choose(&mut self) -> Option<u32> {
        let first = self.ready.first()?;
        self.saved += self.settings.shortest;
        if self.saved >= 1.0 {
            self.saved -= 1.0;
            return Some(first);
        }
        self.ready.turn()
    }

    /// Puts the next packet of a message on the line.
    #[inline]
    fn transmit(&mut self, cx: &mut Cx<'_>, slot: u32, out: &mut Packet) {
        let settings = &self.settings;
        let conn = &mut self.conns[slot];
        let answer = !conn.opener;
        let mut piece = conn.tx.take(cx.now, settings, conn.lifetime, answer);
        let size = settings.encap.wire(piece.data.length);
        let unspent = self.unspent - u64::from(size);
        let alone = self.outbound <= 1;
        let counts = self.gained.counts(unspent, alone, piece.scheduled);
        piece.data.congested = counts > settings.sender_threshold;
        *out = piece.data.packet(conn.peer, conn.id, size);
        out.set_priority(settings.priority(piece.scheduled));
        out.set_ecn(Ecn::Capable0);
        if piece.scheduled {
            out.set_class(Class::Scheduled);
        }
        self.counts.congested += u64::from(piece.data.congested);
        self.totals.data_sent += 1;
        self.totals.retransmitted += u64::from(piece.again);
        self.settle_leaving(slot);
    }

    /// Something is paused: looks at every message.
    #[cold]
    fn poll_gated(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if cx.gates.may_say(URGENT) && (self.control.pop(out) || self.ask(cx.now, out)) {
            return Transmit::More;
        }
        let open = |&(.., slot): &(u64, u32, u32)| {
            let conn = &self.conns[slot];
            let priority = self.settings.priority(conn.tx.is_scheduled());
            cx.gates.may_send(conn.id, priority)
        };
        let Some((.., slot)) = self.ready.iter().filter(open).min() else {
            return Transmit::Nothing;
        };
        self.transmit(cx, slot, out);
        Transmit::More
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        if let Some(slot) = self.conns.connect(cx, conn, peer, lifetime) {
            self.admit(slot);
        }
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let Some(slot) = self.conns.to_send(cx, conn) else {
            return;
        };
        self.admit(slot);
        let room = self.room(slot);
        let tx = &mut self.conns[slot].tx;
        if !tx.push(cx.now, length, room, &self.settings) {
            cx.events.push(Event::Refused { conn });
        }
        self.settle_leaving(slot);
    }

    fn cancel(&mut self, _: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            self.conns[slot].tx.cancel(&self.settings);
            self.settle_leaving(slot);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
            let rx = &self.conns[slot].rx;
            if rx.is_announced() && !rx.arriving.is_complete() {
                // What is under way to it opens it again, and must not be asked for from the beginning.
                self.say_gone(cx, conn, false);
            }
            self.remove(cx, slot, false);
            // It may have kept credit from others.
            self.give(cx.now);
        } else {
            self.conns.forget_done(cx, conn);
        }
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let id = packet.conn;
        match Kind::of(packet) {
            Some(Kind::Data) => self.on_data(cx, packet),
            Some(Kind::Credit) => return self.on_credit(cx, packet),
            Some(Kind::Request) => {
                let new = self.on_request(cx, packet);
                self.give(cx.now);
                if let Some(slot) = new.filter(|&slot| self.conns[slot].rx.waits_for_turn()) {
                    // Or it announces itself again while others have their turns.
                    self.say_ack(slot);
                }
                return;
            }
            Some(Kind::Ack) => self.on_ack(cx, id, Ack::read(packet)),
            Some(Kind::Gone) => self.on_gone(cx, id, Gone::read(packet).of_sender),
            None => self.totals.nonsense += 1,
        }
        self.give(cx.now);
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.conns.expire(cx);
        while let Some(slot) = self.conns.rings(cx.now) {
            self.ring(cx, slot);
        }
        self.give(cx.now);
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if cx.gates.any_closed() {
            return self.poll_gated(cx, out);
        }
        if self.control.pop(out) || self.ask(cx.now, out) {
            return Transmit::More;
        }
        let Some(slot) = self.choose() else {
            return Transmit::Nothing;
        };
        self.transmit(cx, slot, out);
        Transmit::More
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.conns.next().min(self.crediting.next())
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        let turn = self.totals.data_sent + self.totals.credits_sent;
        let settings = &self.settings;
        self.conns.check(turn, |conn| {
            let counts = conn.tx.counted.rank.is_some();
            assert_eq!(counts, conn.tx.is_ready(), "the line and {:?}", conn.id);
            let owes = conn.tx.message.owes();
            assert!(conn.tx.asks || !owes, "nobody asks for {:?}", conn.id);
            assert!(
                conn.due() <= self.due(conn),
                "the alarm of {:?} is late",
                conn.id
            );
            let wants = conn.rx.wants(settings);
            assert_eq!(wants, conn.rx.rank.is_some(), "credit for {:?}", conn.id);
        });
        self.peers.check(turn, settings);
        self.ready.check();
        self.crediting.wanting.check();
        if self.conns.len() <= ADDED_MAX {
            let sum = |of: fn(&Conn) -> u64| self.conns.iter().map(of).sum::<u64>();
            assert_eq!(self.crediting.used, sum(|conn| conn.rx.charged));
            assert_eq!(self.unspent, sum(|conn| conn.tx.counted.unspent));
            let outbound = sum(|conn| conn.tx.counted.outbound.into());
            assert_eq!(u64::from(self.outbound), outbound);
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        let settings = &self.settings;
        self.conns.stuck(report, |conn| {
            [conn.tx.stuck(settings), conn.rx.stuck(settings)]
        });
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.counts.report(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Encap;
    use units::Rate;

    #[test]
    fn broken_books_are_noticed() {
        let config = EndpointConfig::new(HostId(0), Rate::gbps(10), Encap::PAPER);
        let breaks: [fn(&mut Host); 3] = [
            |x| x.crediting.used = 1,
            |x| x.unspent = 1,
            |x| x.outbound = 1,
        ];
        Host::new(&Params::DEFAULT, &config).check();
        for (n, spoil) in breaks.into_iter().enumerate() {
            let mut x = Host::new(&Params::DEFAULT, &config);
            spoil(&mut x);
            let x = std::panic::AssertUnwindSafe(x);
            assert!(std::panic::catch_unwind(|| x.check()).is_err(), "{n}");
        }
    }
}
