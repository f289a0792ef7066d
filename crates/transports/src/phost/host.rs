//! pHost on one host: its connections, its tokens, its line, its deadline.
//!
//! First what it counts and keeps, and how it answers and gives up; then the role that receives, which hears of messages and
//! gives tokens; then the role that sends, which hears tokens and acknowledgements; then what leaves when the line is
//! idle. Last the `Endpoint`, which hands each call to one of these.

use super::header::{Ack, Data, Gone, Kind, PAYLOAD_MAX, Rts, Token};
use super::params::{Choice, Params};
use super::receiver::{Receiver, Waits};
use super::sender::Sender;
use super::settings::Settings;
use super::tokens::Tokens;
use model::{
    Class, ConnId, Count, Cx, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, StuckFlow,
    Totals, Transmit,
};
use parts::arriving::Came;
use parts::connections::{self, Connections, Found, Sending, told};
use parts::line::{Line, Stands};
use parts::packet_queue::PacketQueue;
use parts::smoothed::Smoothed;
use units::{Span, Time};

/// Tokens and answers that wait for the line; what comes on top is lost, as it might be anywhere. [ours]
const CONTROL_MAX: usize = 16_384;
/// The priority of everything but data. [phost artefact]
pub(super) const URGENT: u8 = 0;

model::counters! {
    /// What pHost counts besides.
    pub(super) struct Counts {
        /// Announcements of messages that were sent again.
        announced_again: packets,
        /// Tokens that ran out before the line was theirs.
        tokens_expired: packets,
        /// Tokens for frames that had one before.
        tokens_again: packets,
        /// Windows of unused tokens that were forgiven.
        forgiven: times,
        /// Data that was missing and was dropped: its message has too many gaps, or a part of it was here.
        not_kept: packets,
        /// Tokens and answers lost before they left, because too many waited at their host.
        line_lost: packets,
    }
}

/// One connection at one end.
type Conn = connections::Conn<Sender, Receiver, ()>;

/// pHost on one host.
pub(super) struct Host {
    pub(super) settings: Settings,
    pub(super) conns: Connections<Sender, Receiver, ()>,
    /// Packets without data that wait for the line.
    control: PacketQueue,
    /// Messages of which a packet may leave.
    line: Line,
    tokens: Tokens,
    /// How much later than in an idle network comes what leaves unasked.
    pub(super) late: Smoothed,
    pub(super) totals: Totals,
    pub(super) counts: Counts,
}

impl Host {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        let settings = Settings::new(params, config);
        debug_assert!(settings.payload_max <= PAYLOAD_MAX);
        Self {
            conns: Connections::new(config.host, settings.linger),
            tokens: Tokens::new(settings.spare),
            settings,
            control: PacketQueue::default(),
            line: Line::default(),
            late: Smoothed::default(),
            totals: Totals::default(),
            counts: Counts::default(),
        }
    }

    #[inline]
    fn say(&mut self, packet: Packet) {
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
        let ordinal = told(conn.rx.message.arriving.complete());
        let next = conn.rx.message.is_announced();
        let packet = Ack { ordinal, next }.packet(conn.peer, conn.id, self.settings.small());
        self.say(packet);
    }

    /// Forgets a connection, at once or when no copy of it can come any more.
    fn remove(&mut self, cx: &mut Cx<'_>, slot: u32, may_linger: bool) {
        let conn = self.conns.remove(cx, slot, may_linger);
        self.totals.credits_wasted += conn.tx.held();
        self.tokens.change(cx.now, conn.rx.rank, None);
        if self.conns.is_empty() {
            // What is left belongs to the dead.
            self.line.clear();
        }
    }

    /// The connection is lost: its own messages will not be delivered.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, slot: u32) {
        self.conns.refuse(cx, slot);
        self.remove(cx, slot, false);
    }

    /// Something changed at the sender: lets the line choose its message, and sets its alarm.
    #[inline]
    pub(super) fn settle(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        if !conn.tx.queued && conn.tx.is_ready() {
            conn.tx.queued = true;
            let by = by(&self.settings, &conn.tx).unwrap_or_else(|| self.line.next_turn());
            self.line.push(by, self.conns.age_sending(slot), slot);
        }
        self.arm(slot);
    }

    /// What the line chooses its message by is another now than it stands there with: gives it its place.
    pub(super) fn stand_anew(&mut self, slot: u32) {
        if std::mem::take(&mut self.conns[slot].tx.queued) {
            self.line.remove(slot);
        }
        self.settle(slot);
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
        let about = (data.lifetime, data.answer, data.ordinal == 0);
        let Some(slot) = self.place(cx, id, about, scheduled) else {
            return;
        };
        let rx = &mut self.conns[slot].rx;
        let came = rx.on_data(cx, id, &data, scheduled, &self.settings);
        match came {
            Came::New | Came::Missing => {
                self.counts.not_kept += u64::from(came == Came::Missing);
                let late = (!scheduled).then(|| rx.on_unasked(cx.now, &data, &self.settings));
                if let Some(late) = late.flatten() {
                    self.late.sample(late);
                }
            }
            Came::Old => self.totals.duplicates += 1,
            Came::Past => {
                self.totals.duplicates += 1;
                return self.say_ack(slot);
            }
            Came::Nonsense => {
                self.totals.nonsense += 1;
                return;
            }
        }
        if !scheduled && self.settings.hold {
            // DEVIATES(phost artefact): there RTS holds the tokens, for as many packets as it announces.
            let (wire, full) = (packet.size, self.settings.encap.wire_max());
            let taken = self.settings.gap.0 * u64::from(wire) / u64::from(full);
            self.tokens.hold(cx.now, Span(taken));
        }
        self.on_progress(cx, slot);
    }

    /// The sender announces a message, perhaps again.
    fn on_rts(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (id, rts) = (packet.conn, Rts::read(packet));
        let about = (rts.lifetime, rts.answer, rts.ordinal == 0);
        let Some(slot) = self.place(cx, id, about, rts.known) else {
            return;
        };
        let rx = &mut self.conns[slot].rx;
        let again = rx.message.is_announced();
        let first = rts.ordinal == 0 && rx.message.arriving.complete() == 0;
        if rts.known && !again && first {
            // It was forgotten here meanwhile, and what came late has opened it again. A later message may only seem known: what
            // was said of the one before it came late.
            self.say_gone(cx, id, false);
            return self.give_up(cx, slot);
        }
        match rx.on_rts(cx.now, &rts, &self.settings) {
            // Whoever asks again has to hear something, or gives up while others have their turns.
            Came::New if again && !rx.message.arriving.is_complete() => self.say_ack(slot),
            Came::New => {}
            Came::Old | Came::Missing | Came::Past => {
                self.totals.duplicates += 1;
                return self.say_ack(slot);
            }
            Came::Nonsense => {
                self.totals.nonsense += 1;
                return;
            }
        }
        self.on_progress(cx, slot);
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
            Found::Open(slot) | Found::New(slot) => return Some(slot),
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
        let rx = &mut self.conns[slot].rx;
        if rx.message.arriving.is_complete() {
            return self.on_complete(cx, slot);
        }
        self.rank(cx.now, slot, false);
        self.give(cx.now);
        self.arm(slot);
    }

    /// All of a message is here.
    fn on_complete(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &mut self.conns[slot];
        let rank = conn.rx.rank.take();
        conn.rx.message.finish(cx, conn.id);
        let over = conn.is_over();
        self.tokens.change(cx.now, rank, None);
        self.say_ack(slot);
        if over {
            self.remove(cx, slot, true);
        }
    }

    /// The message takes its place among those that want tokens, or leaves it. Its turn may be over.
    #[inline]
    pub(super) fn rank(&mut self, now: Time, slot: u32, over: bool) {
        let conn = &mut self.conns[slot];
        let wants = conn.rx.waits(&self.settings) == Waits::Turn;
        let old = conn.rx.rank;
        let key = wants.then(|| match (self.settings.receiver, old) {
            (Choice::Shortest, _) => conn.rx.message.to_come(),
            (Choice::Turns, Some((turn, ..))) if !over => turn,
            (Choice::Turns, _) => self.tokens.next_turn(),
        });
        let new = key.map(|key| (key, self.conns.age_arriving(slot), slot));
        if old != new {
            self.conns[slot].rx.rank = new;
            self.tokens.change(now, old, new);
        }
    }

    /// Gives the tokens whose time has come.
    pub(super) fn give(&mut self, now: Time) {
        while let Some(slot) = self.tokens.due(now) {
            let conn = &mut self.conns[slot];
            let given = conn.rx.message.give(now);
            let gap = self.settings.gap_of(conn.rx.message.frame());
            let life = self.settings.life;
            let token = Token {
                offset: given.offset,
                number: given.number,
                life,
            };
            let packet = token.packet(conn.peer, conn.id, self.settings.small());
            self.counts.tokens_again += u64::from(given.again);
            self.tokens.given(now, gap);
            self.say(packet);
            self.rank(now, slot, true);
            self.arm(slot);
        }
    }
}

/// The sender.
impl Host {
    /// The receiver has all of our message.
    fn on_done(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &mut self.conns[slot];
        let (conn_id, ordinal) = (conn.id, conn.tx.message.ordinal());
        self.totals.credits_wasted += conn.tx.held();
        conn.tx.finish(cx.now, &self.settings);
        cx.events.push(Event::Sent {
            conn: conn_id,
            ordinal,
        });
        // The next message stands elsewhere on the line.
        self.stand_anew(slot);
    }

    #[inline]
    fn on_token(&mut self, cx: &Cx<'_>, packet: &Packet) {
        self.totals.credits_received += 1;
        let Some(slot) = self.conns.find(packet.conn) else {
            return self.on_strange_token(cx, packet.conn);
        };
        let tx = &mut self.conns[slot].tx;
        let useful = tx.on_token(cx.now, Token::read(packet), &self.settings);
        self.totals.credits_wasted += u64::from(!useful);
        self.settle(slot);
    }

    /// A token for a connection that is not known here. Nobody waits for it then, unless it is forgotten here alone.
    #[cold]
    fn on_strange_token(&mut self, cx: &Cx<'_>, id: ConnId) {
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
            conn.rx.message.arriving.is_active()
        } else {
            !conn.tx.is_idle()
        };
        if under_way {
            self.give_up(cx, slot);
        }
    }
}

/// What the line chooses a message by: bytes to go, or nothing where all have turns.
#[inline]
fn by(settings: &Settings, tx: &Sender) -> Option<u64> {
    (settings.sender == Choice::Shortest || tx.message.owes()).then(|| tx.to_go())
}

/// The line is idle.
impl Host {
    /// Puts the next packet of a message on the line.
    #[inline]
    fn transmit(&mut self, cx: &mut Cx<'_>, slot: u32, out: &mut Packet) {
        let conn = &mut self.conns[slot];
        if conn.tx.message.owes() {
            let frame = self.settings.payload_max;
            let (rts, again) = conn.tx.take_rts(cx.now, frame, conn.lifetime, !conn.opener);
            *out = rts.packet(conn.peer, conn.id, self.settings.small());
            self.counts.announced_again += u64::from(again);
            return;
        }
        let (settings, answer) = (&self.settings, !conn.opener);
        let piece = conn.tx.take(cx.now, settings, conn.lifetime, answer);
        let size = settings.encap.wire(piece.data.length);
        *out = piece.data.packet(conn.peer, conn.id, size);
        out.set_priority(conn.tx.priority(settings));
        if piece.scheduled {
            out.set_class(Class::Scheduled);
        }
        self.totals.data_sent += 1;
        self.totals.retransmitted += u64::from(piece.again);
    }

    /// The message whose packet leaves next: the first of [`Host::line`] then.
    #[inline]
    fn choose(&mut self, now: Time) -> Option<u32> {
        let Self {
            line,
            conns,
            counts,
            totals,
            settings,
            ..
        } = self;
        line.choose(|(key, age, slot)| {
            let conn = conns.sending_mut(slot, age);
            let Some(conn) = conn.filter(|conn| conn.tx.queued) else {
                return Stands::No;
            };
            let expired = conn.tx.drop_old(now);
            counts.tokens_expired += expired;
            totals.credits_wasted += expired;
            conn.tx.queued = conn.tx.is_ready();
            match by(settings, &conn.tx) {
                _ if !conn.tx.queued => Stands::No,
                Some(to_go) if to_go != key => Stands::By(to_go),
                _ => Stands::Right,
            }
        })
    }

    /// Something is paused: looks at every message.
    #[cold]
    fn poll_gated(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if cx.gates.may_say(URGENT) && self.control.pop(out) {
            return Transmit::More;
        }
        let (now, gates) = (cx.now, cx.gates);
        let settings = &self.settings;
        let open = |conn: &Conn| {
            let may = if conn.tx.message.owes() {
                gates.may_say(URGENT)
            } else {
                gates.may_send(conn.id, conn.tx.priority(settings))
            };
            may && conn.tx.queued && conn.tx.is_ready_at(now)
        };
        let place = |(key, age, slot)| {
            let conn = self.conns.sending(slot, age).filter(|conn| open(conn))?;
            Some((by(settings, &conn.tx).unwrap_or(key), age, slot))
        };
        let Some((.., slot)) = self.line.iter().filter_map(place).min() else {
            return Transmit::Nothing;
        };
        let expired = self.conns[slot].tx.drop_old(now);
        self.counts.tokens_expired += expired;
        self.totals.credits_wasted += expired;
        self.transmit(cx, slot, out);
        self.stand_anew(slot);
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
            let tx = &mut self.conns[slot].tx;
            let held = tx.held();
            tx.cancel();
            self.totals.credits_wasted += held - tx.held();
            // It has less to go now, and another place on the line.
            self.stand_anew(slot);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.conns.find(conn) {
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
            Some(Kind::Token) => self.on_token(cx, packet),
            Some(Kind::Rts) => self.on_rts(cx, packet),
            Some(Kind::Ack) => self.on_ack(cx, id, Ack::read(packet)),
            Some(Kind::Gone) => self.on_gone(cx, id, Gone::read(packet).of_sender),
            None => self.totals.nonsense += 1,
        }
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
        if self.control.pop(out) {
            return Transmit::More;
        }
        let Some(slot) = self.choose(cx.now) else {
            return Transmit::Nothing;
        };
        self.transmit(cx, slot, out);
        let tx = &mut self.conns[slot].tx;
        tx.queued = tx.is_ready();
        let to_go = by(&self.settings, tx);
        let by = tx
            .queued
            .then(|| to_go.unwrap_or_else(|| self.line.next_turn()));
        self.line.served(by);
        self.arm(slot);
        Transmit::More
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.conns.next().min(self.tokens.next())
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        let turn = self.totals.data_sent + self.totals.credits_sent;
        self.conns.check(turn, |conn| {
            assert!(
                conn.tx.queued || !conn.tx.is_ready(),
                "the line overlooks {:?}",
                conn.id
            );
            assert!(
                conn.due() <= self.due(conn),
                "the alarm of {:?} is late",
                conn.id
            );
            let wants = conn.rx.waits(&self.settings) == Waits::Turn;
            assert_eq!(wants, conn.rx.rank.is_some(), "tokens for {:?}", conn.id);
        });
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
