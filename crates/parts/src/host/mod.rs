//! The host of a transport: its connections open, repeat, end and are forgotten by themselves, and take turns at
//! the line. What a transport has of its own stands in its [`Rules`].
//!
//! A connection opens with a question and its answer, which data or an acknowledgement confirms. The answer brings a
//! token that everything else repeats; an end that does not know it belongs to another life of the connection and
//! says so. Each direction carries messages one after the other, in order: [`go_back`](crate::go_back). [ours]

mod conn;
mod done;
mod said;

pub use conn::Conn;
pub use said::Said;

use crate::aside::Aside;
use crate::forms;
use crate::go_back::{News, Piece, Sender, Verdict, Wanted, short};
use crate::packet_queue::PacketQueue;
use crate::timers::Timers;
use conn::Phase;
use done::Done;
use model::{
    ConnId, Count, Cx, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, Record,
    StuckFlow, Totals, Transmit,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use units::{Span, Time};

/// Tells one life of a connection from another under the same number; 0 where there is none yet.
pub type Token = u16;

/// Control packets that wait for the line; what comes on top is lost, as it might be anywhere. [ours]
const CONTROL_MAX: usize = 4096;
/// Connections that one [`Endpoint::check`] looks at, for it runs after every step. [ours]
const CHECKED_MAX: usize = 64;

/// Shortest and longest wait for an answer that makes sense, as the form of a parameter. [ours]
pub const WAIT: forms::Time = forms::Time(Span::us(1), Span::ms(60_000));

/// How long an end waits for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The first wait. Each further one is twice as long.
    pub first: Span,
    /// The longest.
    pub longest: Span,
    /// Waits in a row after which an end gives up.
    pub tries_max: u16,
}

impl Retry {
    /// Waits from `first` to `longest`, `tries_max` of them.
    pub const fn new(first: Span, longest: Span, tries_max: u16) -> Self {
        Self {
            first,
            longest,
            tries_max,
        }
    }

    /// The wait of try number `tries`, counted from 0.
    pub fn wait(&self, tries: u16) -> Span {
        self.first.times(1 << tries.min(40)).min(self.longest)
    }

    /// The same with no wait shorter than twice this idle round trip, or answers on their way would be asked for again.
    #[must_use]
    pub fn over(self, round_trip: Span) -> Self {
        let least = round_trip.times(2);
        Self {
            first: self.first.max(least),
            longest: self.longest.max(least),
            ..self
        }
    }

    /// How long an end goes on asking one that does not answer.
    pub fn patience(&self) -> Span {
        let waits = (0..=self.tries_max).map(|tries| self.wait(tries));
        waits.fold(Span::ZERO, |sum, wait| Span(sum.0 + wait.0))
    }
}

/// What a host is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it waits for answers, [over](Retry::over) the idle round trip.
    pub retry: Retry,
    /// Connections that it keeps at once; more are refused.
    pub connections_max: u32,
    /// Payload of a packet, in bytes, at most.
    pub payload_max: u16,
    /// The largest token.
    pub token_max: Token,
}

/// What a transport has of its own: its packets, and when a piece of a message may leave. `BITS` of a message's
/// number travel.
#[allow(unused_variables, reason = "names for those who write some")]
pub trait Rules<const BITS: u32>: Send {
    /// What they keep of each connection.
    type Flow: Default + Debug + Send;
    /// The priority of every packet.
    const PRIORITY: u8 = 0;
    /// Whether [`Rules::stamp`] does anything.
    const STAMPS: bool = false;
    /// Whether a connection opens with its data: the opener draws the token, and sends before anybody has answered.
    /// [`words!`](crate::words) writes packets of others alone.
    const EAGER: bool = false;
    /// Bytes that every packet keeps free for the record beside it; 0 where none has one.
    const ROOM: u16 = 0;

    /// What a packet says; `None` where it is none of this transport. [`words!`](crate::words) writes it.
    fn said(packet: &Packet) -> Option<Said>;

    /// The packet that says it, with `size` bytes on the wire. [`words!`](crate::words) writes it.
    fn packet(said: Said, to: HostId, conn: ConnId, size: u16) -> Packet;

    /// When a piece may leave: [`Time::ZERO`] for at once, [`Time::NEVER`] where it waits for something else than
    /// time. Asked where there is one.
    fn due(&self, sender: &Sender<BITS>, flow: &Self::Flow) -> Time;

    /// A connection begins.
    fn opened(&mut self, now: Time, conn: &mut Conn<Self::Flow, BITS>) {}

    /// A packet of the connection has arrived, this record beside it, and what it says has not been looked at.
    fn heard(
        &mut self,
        now: Time,
        conn: &mut Conn<Self::Flow, BITS>,
        packet: &Packet,
        record: &Record,
    ) {
    }

    /// A message begins, or the sender goes back to what is missing.
    fn begins(&mut self, now: Time, flow: &mut Self::Flow) {}

    /// The receiver has looked at a piece.
    fn taken(&mut self, now: Time, conn: &mut Conn<Self::Flow, BITS>) {}

    /// Something about the connection has changed.
    fn changed(&mut self, now: Time, conn: &mut Conn<Self::Flow, BITS>) {}

    /// A piece leaves, with `size` bytes on the wire.
    fn leaves(&mut self, now: Time, flow: &mut Self::Flow, size: u16) {}

    /// How long an answer may take, where [`Retry`] says `wait`.
    fn wait(&self, flow: &Self::Flow, wait: Span) -> Span {
        wait
    }

    /// The last word on a packet that leaves.
    fn stamp(&mut self, conn: &mut Conn<Self::Flow, BITS>, packet: &mut Packet) {}

    /// The record beside a packet that leaves, where there is [room](Rules::ROOM) for one. A last word on a connection
    /// that is over has none.
    fn beside(&mut self, conn: &mut Conn<Self::Flow, BITS>, packet: &Packet) -> Record {
        Record::EMPTY
    }

    /// When they want [`Rules::rang`].
    fn alarm(&self, flow: &Self::Flow) -> Time {
        Time::NEVER
    }

    /// Some alarm of the connection rings: theirs, or another.
    fn rang(&mut self, now: Time, flow: &mut Self::Flow) {}

    /// Nothing was heard for too long.
    fn silent(&mut self, now: Time, flow: &mut Self::Flow) {}

    /// Whether connections must hear at once what [`Rules::stamp`] says, and have not been told since. Asked after
    /// [`Rules::opened`] and [`Rules::taken`].
    fn must_tell(&mut self) -> bool {
        false
    }

    /// Whether this one must.
    fn tells(&self, flow: &Self::Flow) -> bool {
        true
    }

    /// The connection is forgotten.
    fn closed(&mut self, flow: &mut Self::Flow) {}

    /// What they count alone: [`Transport::counters`](crate::Transport::counters).
    fn counters(&self, report: &mut Count<'_>) {}

    /// Panics where an invariant of theirs is broken.
    fn check(&self) {}
}

/// A transport on one host: [`Rules`], and everything that they need not know.
#[derive(Debug)]
pub struct Host<R: Rules<BITS>, const BITS: u32> {
    rules: R,
    me: HostId,
    encap: Encap,
    limits: Limits,
    /// By number: the order is the same in every run.
    conns: BTreeMap<u32, Box<Conn<R::Flow, BITS>>>,
    /// Control packets that wait for the line.
    control: PacketQueue,
    /// Connections whose question or answer found no room there, by age.
    unasked: VecDeque<u32>,
    /// Connections that can send, in the order of their turns.
    ready: VecDeque<u32>,
    /// Those of them whose turn came while they were paused.
    paused: Aside<u32>,
    /// Connections that have received what they were for.
    done: Done,
    timers: Timers,
    /// Beside the packet that is being looked at, and beside the one that left last.
    heard: Record,
    beside: Record,
    /// A sender gives up after its patience; it is gone after twice that.
    long_silence: Span,
    totals: Totals,
}

impl<R: Rules<BITS>, const BITS: u32> Host<R, BITS> {
    /// A host without connections.
    pub fn new(rules: R, config: &EndpointConfig, limits: Limits) -> Self {
        let room = config.encap.payload_max.saturating_sub(R::ROOM);
        let payload_max = limits.payload_max.min(room);
        let retry = limits.retry.over(config.base_rtt);
        Self {
            rules,
            me: config.host,
            encap: config.encap,
            limits: Limits {
                retry,
                payload_max,
                ..limits
            },
            conns: BTreeMap::new(),
            control: PacketQueue::default(),
            unasked: VecDeque::new(),
            ready: VecDeque::new(),
            paused: Aside::default(),
            done: Done::default(),
            timers: Timers::default(),
            heard: Record::EMPTY,
            beside: Record::EMPTY,
            long_silence: retry.patience().times(2),
            totals: Totals::default(),
        }
    }

    fn say(&mut self, said: Said, to: HostId, conn: ConnId) {
        let packet = R::packet(said, to, conn, self.encap.wire(R::ROOM));
        self.control.offer(packet, CONTROL_MAX);
    }

    fn is_full(&self) -> bool {
        self.conns.len() >= self.limits.connections_max as usize
    }

    /// To the other end of a connection that may be unknown here: that life of it is.
    fn reset(&mut self, cx: &Cx<'_>, conn: ConnId, token: Token) {
        match cx.peers.peer(self.me, conn) {
            Some(peer) => self.say(Said::Reset { token }, peer, conn),
            None => self.totals.nonsense += 1,
        }
    }

    fn add(&mut self, now: Time, id: ConnId, mut conn: Conn<R::Flow, BITS>) {
        self.rules.opened(now, &mut conn);
        let asks = conn.asks(R::EAGER);
        self.conns.insert(id.0, Box::new(conn));
        self.tell();
        if asks {
            self.ask(id);
        }
        self.settle(now, id);
    }

    /// Says to everybody what the transport has to say, where that cannot wait for their next packet.
    fn tell(&mut self) {
        if !self.rules.must_tell() {
            return;
        }
        let size = self.encap.wire(R::ROOM);
        for (&id, conn) in &self.conns {
            let told = conn.token != 0 && self.rules.tells(&conn.flow);
            if told {
                let packet = R::packet(conn.wants(), conn.peer, ConnId(id), size);
                self.control.offer(packet, CONTROL_MAX);
            }
        }
    }

    /// Opens or accepts a connection, first time or again: now, or when there is room to.
    fn ask(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id.0) else {
            return;
        };
        let full = self.control.len() >= CONTROL_MAX;
        if full && !conn.unasked {
            self.unasked.push_back(id.0);
        }
        conn.unasked = full;
        let (lifetime, token) = (conn.lifetime, conn.token);
        let said = if conn.opener {
            Said::Open {
                lifetime,
                token: if R::EAGER { token } else { 0 },
            }
        } else {
            Said::Accept { token }
        };
        let peer = conn.peer;
        self.say(said, peer, id);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, id: ConnId) {
        if let Some(mut conn) = self.conns.remove(&id.0) {
            self.rules.closed(&mut conn.flow);
            if conn.is_over() && conn.receiver.complete() > 0 {
                let until = cx.now.after(self.long_silence);
                self.done.add(id, conn.token, until);
            }
            if conn.ready {
                self.ready.retain(|&other| other != id.0);
                self.paused.drop_if(|&other| other == id.0);
            }
            if conn.unasked {
                self.unasked.retain(|&other| other != id.0);
            }
        }
        if self.conns.is_empty() {
            // What is left are timers of the dead.
            self.timers = Timers::default();
        }
        cx.events.push(Event::Forgotten { conn: id });
    }

    /// The connection is lost: its own messages will not be delivered.
    fn give_up(&mut self, cx: &mut Cx<'_>, id: ConnId) {
        let conn = &self.conns[&id.0];
        if conn.opener || !conn.sender.is_idle() {
            cx.events.push(Event::Refused { conn: id });
        }
        self.remove(cx, id);
    }

    /// Something changed: lets the connection take its turn and sets its alarm.
    fn settle(&mut self, now: Time, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id.0) else {
            return;
        };
        self.rules.changed(now, conn);
        if !conn.ready && conn.can_send(now, &self.rules) {
            conn.ready = true;
            self.ready.push_back(id.0);
        }
        let deadline = conn.deadline(&self.rules);
        self.timers.set(&mut conn.alarm, id.0, deadline);
    }
}

/// What packets say.
impl<R: Rules<BITS>, const BITS: u32> Host<R, BITS> {
    fn on_open(&mut self, cx: &mut Cx<'_>, packet: &Packet, lifetime: Lifetime, token: Token) {
        let id = packet.conn;
        match self.conns.get(&id.0) {
            // Our answer was lost, or the question was doubled.
            Some(conn) if !conn.opener => self.ask(id),
            Some(_) => self.totals.nonsense += 1,
            // A late copy: this life of it has received what it was for.
            None if R::EAGER && self.done.has(id, token) => self.totals.duplicates += 1,
            None => {
                let token = if R::EAGER { token } else { self.draw(cx) };
                if self.accept(cx, id, lifetime, token, false) {
                    let conn = self.conns.get_mut(&id.0).expect("just added");
                    self.rules.heard(cx.now, conn, packet, &self.heard);
                }
            }
        }
    }

    /// A token for a new life of a connection.
    fn draw(&self, cx: &mut Cx<'_>) -> Token {
        let drawn = cx.rng.between(1, self.limits.token_max.into());
        Token::try_from(drawn).expect("at most the largest token")
    }

    /// Accepts a connection, which is open at once where its data came with the question; false where it cannot.
    fn accept(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        lifetime: Lifetime,
        token: Token,
        open: bool,
    ) -> bool {
        if self.is_full() {
            self.reset(cx, id, if R::EAGER { token } else { 0 });
            return false;
        }
        let Some(peer) = cx.peers.peer(self.me, id).filter(|_| token != 0) else {
            self.totals.nonsense += 1;
            return false;
        };
        let retry_at = cx.now.after(self.limits.retry.wait(0));
        let mut conn = Conn::accepting(peer, lifetime, token, retry_at);
        if open {
            conn.phase = Phase::Open;
            conn.silent_until = Some(cx.now.after(self.long_silence));
        }
        self.add(cx.now, id, conn);
        true
    }

    fn on_accept(&mut self, cx: &Cx<'_>, packet: &Packet, token: Token) {
        let id = packet.conn;
        let conn = match self.conns.get_mut(&id.0) {
            Some(conn) if conn.opener && (conn.token == 0 || conn.token == token) => conn,
            Some(conn) if !conn.opener => {
                self.totals.nonsense += 1;
                return;
            }
            // It answers a question of a life that has ended.
            Some(_) | None => return self.reset(cx, id, token),
        };
        (conn.phase, conn.token) = (Phase::Open, token);
        self.rules.heard(cx.now, conn, packet, &self.heard);
        // Data tells the other end that it was heard; where none may leave, this does.
        if !conn.can_send(cx.now, &self.rules) || !cx.gates.may_send(id, R::PRIORITY) {
            let (peer, wants) = (conn.peer, conn.wants());
            self.say(wants, peer, id);
        }
    }

    fn on_data(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &Packet,
        (token, opens, lifetime): (Token, bool, Lifetime),
        piece: Piece,
    ) {
        let id = packet.conn;
        if opens
            && !self.conns.contains_key(&id.0)
            && !self.done.has(id, token)
            && !self.accept(cx, id, lifetime, token, true)
        {
            return;
        }
        let conn = match self.conns.get_mut(&id.0) {
            // It overtook the answer to our question, and will come again.
            Some(conn) if conn.token == 0 => {
                self.totals.duplicates += 1;
                return;
            }
            Some(conn) if conn.token == token => conn,
            // The other end has begun another life of it, and says so when it hears of this one.
            Some(conn) if opens && !conn.opener => return self.ask(id),
            Some(_) | None => return self.on_stray(cx, id, token, lifetime, piece),
        };
        if conn.lifetime == Lifetime::OneMessage && conn.opener {
            self.totals.nonsense += 1;
            return;
        }
        conn.phase = Phase::Open;
        self.rules.heard(cx.now, conn, packet, &self.heard);
        let verdict = conn.receiver.on_data(cx, id, piece);
        let (peer, answer) = (conn.peer, conn.receiver.answer(verdict));
        let done = conn.is_over();
        let until = cx.now.after(self.long_silence);
        // What brings nothing new is no sign that the rest will come.
        conn.silent_until = conn.expects_more().then(|| match verdict {
            Verdict::New => until,
            Verdict::Old | Verdict::Early | Verdict::Nonsense => conn.silent_until.unwrap_or(until),
        });
        self.rules.taken(cx.now, conn);
        match verdict {
            Verdict::New => {}
            Verdict::Old | Verdict::Early => self.totals.duplicates += 1,
            Verdict::Nonsense => self.totals.nonsense += 1,
        }
        if let Some(wanted) = answer {
            self.say(Said::Ack { token, wanted }, peer, id);
        }
        self.tell();
        if done {
            self.remove(cx, id);
        }
    }

    /// Data of a life of a connection that this end does not know, or no longer.
    fn on_stray(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        token: Token,
        lifetime: Lifetime,
        piece: Piece,
    ) {
        let done = lifetime.is_one_shot() && self.done.has(id, token);
        let Some(peer) = cx.peers.peer(self.me, id).filter(|_| done) else {
            // What ended otherwise was not received.
            return self.reset(cx, id, token);
        };
        self.totals.duplicates += 1;
        let wanted = Wanted {
            ordinal: short::<BITS>(u32::from(piece.ordinal) + 1),
            offset: piece.offset + u64::from(piece.length),
            gap: false,
        };
        self.say(Said::Ack { token, wanted }, peer, id);
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, packet: &Packet, token: Token, wanted: Wanted) {
        let id = packet.conn;
        let Some(conn) = self.conns.get_mut(&id.0) else {
            // After the end late ones are normal.
            return;
        };
        if conn.token == 0 || conn.token != token {
            return;
        }
        conn.phase = Phase::Open;
        if !conn.opener && conn.owes_all() {
            // It was heard, and owes what it was opened for. In an exchange it may first take what it is sent.
            let until = cx.now.after(self.long_silence);
            match conn.lifetime {
                Lifetime::Exchange => conn.silent_until = Some(until),
                _ => _ = conn.silent_until.get_or_insert(until),
            }
        }
        self.rules.heard(cx.now, conn, packet, &self.heard);
        let wait = self.rules.wait(&conn.flow, self.limits.retry.wait(0));
        match conn.sender.on_ack(cx.now, wanted, wait) {
            News::Heard => {}
            News::Back => self.rules.begins(cx.now, &mut conn.flow),
            News::Nonsense => self.totals.nonsense += 1,
            News::Done(ordinal) => {
                self.rules.begins(cx.now, &mut conn.flow);
                cx.events.push(Event::Sent { conn: id, ordinal });
                if conn.is_over() {
                    self.remove(cx, id);
                }
            }
        }
    }

    fn on_reset(&mut self, cx: &mut Cx<'_>, id: ConnId, token: Token) {
        match self.conns.get(&id.0) {
            Some(conn) if conn.token == token => self.give_up(cx, id),
            // It was meant for an earlier life.
            Some(_) | None => {}
        }
    }

    /// The alarm of a connection rang: false where it gives up.
    fn on_alarm(&mut self, cx: &Cx<'_>, id: ConnId) -> bool {
        let (now, retry) = (cx.now, self.limits.retry);
        let conn = self.conns.get_mut(&id.0).expect("the caller looked");
        conn.excuse(cx, id, &self.rules, &retry);
        if conn.silent_until.is_some_and(|until| until <= now) {
            return false;
        }
        self.rules.rang(now, &mut conn.flow);
        if conn.sender.deadline() <= now {
            self.totals.timeouts += 1;
            let goes_on = conn.sender.on_deadline(retry.tries_max);
            self.rules.begins(now, &mut conn.flow);
            self.rules.silent(now, &mut conn.flow);
            if !goes_on {
                return false;
            }
        }
        match &mut conn.phase {
            Phase::Asking { tries, retry_at } | Phase::Accepting { tries, retry_at }
                if *retry_at <= now =>
            {
                self.totals.timeouts += 1;
                *tries += 1;
                *retry_at = now.after(retry.wait(*tries));
                let goes_on = *tries <= retry.tries_max;
                if goes_on {
                    self.ask(id);
                }
                goes_on
            }
            Phase::Asking { .. } | Phase::Accepting { .. } | Phase::Open => true,
        }
    }
}

impl<R: Rules<BITS>, const BITS: u32> Endpoint for Host<R, BITS> {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        if self.conns.contains_key(&conn.0) {
            // It is open already, or opening.
            return;
        }
        if self.is_full() {
            cx.events.push(Event::Refused { conn });
            return;
        }
        let retry_at = cx.now.after(self.limits.retry.wait(0));
        let token = if R::EAGER { self.draw(cx) } else { 0 };
        self.add(cx.now, conn, Conn::asking(peer, lifetime, token, retry_at));
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let taken = self.conns.get_mut(&conn.0).is_some_and(|found| {
            let begins = found.sender.is_idle();
            let fits = found.may_push() && found.sender.push(length);
            if fits && begins {
                self.rules.begins(cx.now, &mut found.flow);
            }
            fits
        });
        if !taken {
            cx.events.push(Event::Refused { conn });
        }
        self.settle(cx.now, conn);
    }

    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(found) = self.conns.get_mut(&conn.0) {
            found.sender.cancel();
            self.settle(cx.now, conn);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(found) = self.conns.get(&conn.0) {
            let (peer, token) = (found.peer, found.token);
            if R::EAGER && !found.opener && found.expects_more() {
                // What is under way would open it again, behind a gap that nothing fills.
                self.say(Said::Reset { token }, peer, conn);
            }
            self.remove(cx, conn);
        }
    }

    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.trimmed() || packet.bounced() {
            // A packet without its payload is a lost packet here.
            return;
        }
        let id = packet.conn;
        match R::said(packet) {
            Some(Said::Open { lifetime, token }) => self.on_open(cx, packet, lifetime, token),
            Some(Said::Accept { token }) => self.on_accept(cx, packet, token),
            Some(Said::Data {
                token,
                opens,
                lifetime,
                piece,
            }) => self.on_data(cx, packet, (token, opens, lifetime), piece),
            Some(Said::Ack { token, wanted }) => self.on_ack(cx, packet, token, wanted),
            Some(Said::Reset { token }) => self.on_reset(cx, id, token),
            None => self.totals.nonsense += 1,
        }
        self.settle(cx.now, id);
    }

    fn on_packet_with(&mut self, cx: &mut Cx<'_>, packet: &Packet, record: &Record) {
        self.heard = *record;
        self.on_packet(cx, packet);
        self.heard = Record::EMPTY;
    }

    fn record(&self, _: &Packet) -> Record {
        self.beside
    }

    fn on_gates(&mut self, cx: &mut Cx<'_>) {
        self.paused.look(cx.gates, R::PRIORITY);
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.done.forget(cx.now);
        // Every turn moves an alarm past now or removes it.
        while let Some(owner) = self.timers.due(cx.now) {
            let Some(conn) = self.conns.get_mut(&owner) else {
                self.timers.gone();
                continue;
            };
            if !self.timers.admit(&mut conn.alarm, cx.now) {
                continue;
            }
            let id = ConnId(owner);
            if self.on_alarm(cx, id) {
                let conn = self.conns.get_mut(&owner).expect("it goes on");
                let deadline = conn.deadline(&self.rules);
                self.timers.rung(&mut conn.alarm, deadline);
                self.settle(cx.now, id);
            } else {
                self.timers.gone();
                self.give_up(cx, id);
            }
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if !cx.gates.may_say(R::PRIORITY) {
            return Transmit::Nothing;
        }
        while self.control.is_empty()
            && let Some(id) = self.unasked.pop_front()
        {
            self.ask(ConnId(id));
        }
        if self.control.pop(out) {
            if (R::STAMPS || R::ROOM > 0)
                && let Some(conn) = self.conns.get_mut(&out.conn.0)
            {
                self.beside = conn.finish(&mut self.rules, out);
            }
            return Transmit::More;
        }
        // Each turn takes one out of the round that cannot send now, or sets one aside that is paused.
        while let Some(owner) = self.paused.take().or_else(|| self.ready.pop_front()) {
            let id = ConnId(owner);
            if !cx.gates.may_send(id, R::PRIORITY) {
                self.paused.put(id, owner);
                continue;
            }
            let conn = self
                .conns
                .get_mut(&owner)
                .expect("the forgotten leave the round");
            conn.ready = false;
            if !conn.can_send(cx.now, &self.rules) {
                // What it may send has become less since.
                self.settle(cx.now, id);
                continue;
            }
            let (piece, again) = conn.sender.transmit(self.limits.payload_max);
            let size = self.encap.wire(piece.length + R::ROOM);
            self.rules.leaves(cx.now, &mut conn.flow, size);
            let wait = self.limits.retry.wait(conn.sender.tries());
            conn.sender
                .expect(cx.now, self.rules.wait(&conn.flow, wait));
            *out = R::packet(conn.data(piece, R::EAGER), conn.peer, id, size);
            self.beside = conn.finish(&mut self.rules, out);
            self.totals.data_sent += 1;
            self.totals.retransmitted += u64::from(again);
            self.settle(cx.now, id);
            return Transmit::More;
        }
        Transmit::Nothing
    }

    fn deadline(&self) -> Time {
        self.timers.next().min(self.done.next())
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        self.rules.check();
        self.done.check();
        for (id, conn) in self.conns.iter().take(CHECKED_MAX) {
            conn.check();
            let mut round = self.ready.iter().chain(self.paused.iter());
            let in_round = round.any(|other| other == id);
            assert_eq!(conn.ready, in_round, "the round and connection {id}");
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (&id, conn) in &self.conns {
            for (state, waits_for) in conn.stuck().into_iter().flatten() {
                report(StuckFlow {
                    conn: ConnId(id),
                    state,
                    waits_for,
                });
            }
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.rules.counters(report);
    }
}

#[cfg(test)]
mod tests;
