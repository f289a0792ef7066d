//! A fixed window: each sender keeps at most so many bytes on the way.
#![doc = include_str!("README.md")]

mod header;
mod params;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use params::Params;

use header::{Accept, Ack, Data, Kind, Open, PAYLOAD_MAX, Reset, Token};
use model::wire::Codec;
use model::{
    ConnId, Cx, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet, StuckFlow,
    Totals, Transmit,
};
use parts::packet_queue::PacketQueue;
use parts::timers::{Alarm, Timers};
use parts::{Fabric, Factory, ParamError, Parameter, Transport};
use receiver::{Receiver, Verdict};
use sender::{News, Segment, Sender};
use std::collections::{BTreeMap, VecDeque};
use units::{Rate, Time};

/// The transport, for a registry.
pub static TRANSPORT: FixedWindow = FixedWindow;

/// The transport "fixed-window".
#[derive(Debug)]
pub struct FixedWindow;

impl Transport for FixedWindow {
    fn name(&self) -> &'static str {
        "fixed-window"
    }
    fn summary(&self) -> &'static str {
        "a window of fixed size per connection, and back to the first missing byte after a loss"
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self, config))
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        // It asks nothing of the ports: no credit queue, no marks, one priority.
        Fabric {
            priorities: 1,
            ..Fabric::default()
        }
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}

/// Control packets that wait for the line; what comes on top is lost, as it might be anywhere.
/// [ours]
const CONTROL_MAX: usize = 4096;
/// The priority of every packet that it sends.
const PRIORITY: u8 = 0;
/// Connections that one [`Endpoint::check`] looks at, for it runs after every step. [ours]
const CHECKED_MAX: usize = 64;

/// How far the opening of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Opener: OPEN has left.
    Asking {
        tries: u16,
        retry_at: Time,
    },
    /// The other end: ACCEPT has left, and nothing shows yet that it was heard.
    Accepting {
        tries: u16,
        retry_at: Time,
    },
    Open,
}

/// One connection at one end.
#[derive(Debug)]
struct Conn {
    peer: HostId,
    phase: Phase,
    opener: bool,
    lifetime: Lifetime,
    /// What the accepter drew; 0 before the opener has heard it.
    token: Token,
    sender: Sender,
    receiver: Receiver,
    /// When to forget a sender that fell silent in the middle of a message.
    silent_until: Option<Time>,
    /// It is in the host's round.
    ready: bool,
    alarm: Alarm,
}

impl Conn {
    /// Whether data could leave now.
    fn can_send(&self, window: u64) -> bool {
        !matches!(self.phase, Phase::Asking { .. }) && self.sender.can_send(window)
    }

    fn one_shot(&self) -> bool {
        self.lifetime != Lifetime::Persistent
    }

    /// Whether it has carried all that it is for.
    fn is_over(&self) -> bool {
        let sent = self.sender.is_used() && self.sender.is_idle();
        let got = self.receiver.complete() > 0;
        match self.lifetime {
            Lifetime::OneMessage if self.opener => sent,
            Lifetime::OneMessage => got,
            Lifetime::Exchange => sent && got,
            Lifetime::Persistent => false,
        }
    }

    /// A packet that may not leave is not late: its timer begins anew.
    fn excuse(&mut self, cx: &Cx<'_>, id: ConnId, params: &Params) {
        if let Phase::Asking { tries, retry_at } | Phase::Accepting { tries, retry_at } =
            &mut self.phase
            && *retry_at <= cx.now
        {
            let later = cx.gates.excuse_all(cx.now, PRIORITY, params.wait(*tries));
            *retry_at = later.unwrap_or(*retry_at);
        }
        if self.sender.deadline() <= cx.now {
            let wait = params.wait(self.sender.tries());
            if let Some(later) = cx.gates.excuse(cx.now, id, PRIORITY, wait) {
                self.sender.wait_until(later);
            }
        }
    }

    fn deadline(&self) -> Time {
        let opening = match self.phase {
            Phase::Asking { retry_at, .. } | Phase::Accepting { retry_at, .. } => retry_at,
            Phase::Open => Time::NEVER,
        };
        let silent = self.silent_until.unwrap_or(Time::NEVER);
        opening.min(self.sender.deadline()).min(silent)
    }
}

/// The transport on one host.
struct Host {
    me: HostId,
    encap: Encap,
    params: Params,
    payload_max: u16,
    /// Payload that one connection may have on the way.
    window: u64,
    /// By number: the order is the same in every run.
    conns: BTreeMap<u32, Conn>,
    /// Control packets that wait for the line.
    control: PacketQueue,
    /// Connections that can send, in the order of their turns.
    ready: VecDeque<u32>,
    timers: Timers,
    totals: Totals,
}

impl Host {
    fn new(params: &Params, config: &EndpointConfig) -> Self {
        let payload_max = config.encap.payload_max.min(PAYLOAD_MAX);
        let window = config.bdp().get() * u64::from(params.window) / 100;
        Self {
            me: config.host,
            encap: config.encap,
            params: params.clone(),
            payload_max,
            // Less than a packet would never send.
            window: window.max(payload_max.into()),
            conns: BTreeMap::new(),
            control: PacketQueue::default(),
            ready: VecDeque::new(),
            timers: Timers::default(),
            totals: Totals::default(),
        }
    }

    fn say(&mut self, packet: Packet) {
        if self.control.len() < CONTROL_MAX {
            self.control.push(packet);
        }
    }

    /// Wire bytes of a packet without payload.
    fn small(&self) -> u16 {
        self.encap.wire(0)
    }

    /// To the other end of a connection that may be unknown here: that life of it is.
    fn reset(&mut self, cx: &Cx<'_>, conn: ConnId, token: Token) {
        match cx.peers.peer(self.me, conn) {
            Some(peer) => self.say(Reset { token }.packet(peer, conn, self.small())),
            None => self.totals.nonsense += 1,
        }
    }

    fn add(
        &mut self,
        now: Time,
        id: ConnId,
        peer: HostId,
        opener: bool,
        lifetime: Lifetime,
        token: Token,
    ) {
        let (tries, retry_at) = (0, now.after(self.params.wait(0)));
        let phase = if opener {
            Phase::Asking { tries, retry_at }
        } else {
            Phase::Accepting { tries, retry_at }
        };
        let conn = Conn {
            peer,
            phase,
            opener,
            lifetime,
            token,
            sender: Sender::default(),
            receiver: Receiver::default(),
            silent_until: None,
            ready: false,
            alarm: Alarm::OFF,
        };
        self.conns.insert(id.0, conn);
        self.ask(id);
        self.settle(id);
    }

    /// OPEN or ACCEPT, first time or again.
    fn ask(&mut self, id: ConnId) {
        let Conn {
            peer,
            opener,
            lifetime,
            token,
            ..
        } = self.conns[&id.0];
        let size = self.small();
        self.say(if opener {
            Open { lifetime }.packet(peer, id, size)
        } else {
            Accept { token }.packet(peer, id, size)
        });
    }

    fn remove(&mut self, cx: &mut Cx<'_>, id: ConnId) {
        self.conns.remove(&id.0);
        self.ready.retain(|&other| other != id.0);
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
    fn settle(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id.0) else {
            return;
        };
        if !conn.ready && conn.can_send(self.window) {
            conn.ready = true;
            self.ready.push_back(id.0);
        }
        let deadline = conn.deadline();
        self.timers.set(&mut conn.alarm, id.0, deadline);
    }
}

/// One kind of packet each.
impl Host {
    fn on_open(&mut self, cx: &mut Cx<'_>, id: ConnId, lifetime: Lifetime) {
        match self.conns.get(&id.0) {
            // Our answer was lost, or the question was doubled.
            Some(conn) if !conn.opener => self.ask(id),
            Some(_) => self.totals.nonsense += 1,
            None if self.conns.len() >= self.params.connections_max.into() => {
                self.reset(cx, id, 0);
            }
            None => match cx.peers.peer(self.me, id) {
                Some(peer) => {
                    let token = u16::try_from(cx.rng.between(1, u16::MAX.into()));
                    let token = token.expect("drawn from 16 bits");
                    self.add(cx.now, id, peer, false, lifetime, token);
                }
                None => self.totals.nonsense += 1,
            },
        }
    }

    fn on_accept(&mut self, cx: &Cx<'_>, id: ConnId, token: Token) {
        let conn = match self.conns.get_mut(&id.0) {
            Some(conn) if conn.opener && (conn.token == 0 || conn.token == token) => conn,
            Some(conn) if !conn.opener => {
                self.totals.nonsense += 1;
                return;
            }
            // It answers an OPEN of a life that has ended.
            Some(_) | None => return self.reset(cx, id, token),
        };
        (conn.phase, conn.token) = (Phase::Open, token);
        // Data tells the other end that it was heard; where none may leave, this does.
        if !conn.can_send(self.window) || !cx.gates.may_send(id, PRIORITY) {
            let (peer, ack) = (conn.peer, conn.receiver.wants(token, false));
            self.say(ack.packet(peer, id, self.small()));
        }
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, id: ConnId, data: Data) {
        let conn = match self.conns.get_mut(&id.0) {
            Some(conn) if conn.token == data.token => conn,
            // It overtook the ACCEPT, and will come again.
            Some(conn) if conn.token == 0 => {
                self.totals.duplicates += 1;
                return;
            }
            Some(_) | None => return self.on_stray(cx, id, data),
        };
        if conn.lifetime == Lifetime::OneMessage && conn.opener {
            self.totals.nonsense += 1;
            return;
        }
        conn.phase = Phase::Open;
        let verdict = conn.receiver.on_data(cx, id, data);
        let (peer, answer) = (conn.peer, conn.receiver.answer(verdict, data.token));
        let done = conn.is_over();
        if verdict == Verdict::New {
            // A sender gives up after its patience; it is gone after twice that.
            let wait = self.params.patience().times(2);
            let first = conn.one_shot() && conn.receiver.complete() == 0;
            let waiting = conn.receiver.is_under_way() || first;
            conn.silent_until = waiting.then(|| cx.now.after(wait));
        }
        match verdict {
            Verdict::New => {}
            Verdict::Old | Verdict::Early => self.totals.duplicates += 1,
            Verdict::Nonsense => self.totals.nonsense += 1,
        }
        if let Some(ack) = answer {
            self.say(ack.packet(peer, id, self.small()));
        }
        if done {
            self.remove(cx, id);
        }
    }

    /// Data of a life of a connection that this end does not know, or no longer.
    fn on_stray(&mut self, cx: &Cx<'_>, id: ConnId, data: Data) {
        let token = data.token;
        let Some(peer) = cx.peers.peer(self.me, id).filter(|_| data.one_shot) else {
            return self.reset(cx, id, token);
        };
        // It was accepted once, or there would be no token, and is forgotten when complete.
        self.totals.duplicates += 1;
        let ack = Ack {
            token,
            ordinal: data.ordinal.wrapping_add(1),
            offset: data.offset + u64::from(data.length),
            gap: false,
        };
        self.say(ack.packet(peer, id, self.small()));
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, id: ConnId, ack: Ack) {
        let Some(conn) = self.conns.get_mut(&id.0) else {
            // After the end late ones are normal.
            return;
        };
        if conn.token == 0 || conn.token != ack.token {
            return;
        }
        conn.phase = Phase::Open;
        match conn.sender.on_ack(cx.now, ack, &self.params) {
            News::Heard => {}
            News::Nonsense => self.totals.nonsense += 1,
            News::Done(ordinal) => {
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
        let now = cx.now;
        let conn = self.conns.get_mut(&id.0).expect("the caller looked");
        conn.excuse(cx, id, &self.params);
        if conn.silent_until.is_some_and(|until| until <= now) {
            return false;
        }
        if conn.sender.deadline() <= now {
            self.totals.timeouts += 1;
            if !conn.sender.on_deadline(&self.params) {
                return false;
            }
        }
        match &mut conn.phase {
            Phase::Asking { tries, retry_at } | Phase::Accepting { tries, retry_at }
                if *retry_at <= now =>
            {
                self.totals.timeouts += 1;
                *tries += 1;
                *retry_at = now.after(self.params.wait(*tries));
                let go_on = *tries <= self.params.retries_max;
                if go_on {
                    self.ask(id);
                }
                go_on
            }
            Phase::Asking { .. } | Phase::Accepting { .. } | Phase::Open => true,
        }
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        if self.conns.contains_key(&conn.0) {
            // It is open already, or opening.
            return;
        }
        if self.conns.len() >= self.params.connections_max.into() {
            cx.events.push(Event::Refused { conn });
            return;
        }
        self.add(cx.now, conn, peer, true, lifetime, 0);
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        // One message from the opener, or from either end, is all that such a connection carries.
        let taken = self.conns.get_mut(&conn.0).is_some_and(|found| {
            let may = match found.lifetime {
                Lifetime::OneMessage => found.opener && !found.sender.is_used(),
                Lifetime::Exchange => !found.sender.is_used(),
                Lifetime::Persistent => true,
            };
            may && found.sender.push(length)
        });
        if !taken {
            cx.events.push(Event::Refused { conn });
        }
        self.settle(conn);
    }

    fn cancel(&mut self, _: &mut Cx<'_>, conn: ConnId) {
        if let Some(found) = self.conns.get_mut(&conn.0) {
            found.sender.cancel();
            self.settle(conn);
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if self.conns.contains_key(&conn.0) {
            self.remove(cx, conn);
        }
    }

    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.trimmed() || packet.bounced() {
            // To this transport a packet without its payload is a lost packet.
            return;
        }
        let id = packet.conn;
        match Kind::of(packet) {
            Some(Kind::Open) => self.on_open(cx, id, Open::read(packet).lifetime),
            Some(Kind::Accept) => self.on_accept(cx, id, Accept::read(packet).token),
            Some(Kind::Data) => self.on_data(cx, id, Data::read(packet)),
            Some(Kind::Ack) => self.on_ack(cx, id, Ack::read(packet)),
            Some(Kind::Reset) => self.on_reset(cx, id, Reset::read(packet).token),
            None => self.totals.nonsense += 1,
        }
        self.settle(id);
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
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
                let deadline = conn.deadline();
                self.timers.rung(&mut conn.alarm, deadline);
                self.settle(id);
            } else {
                self.timers.gone();
                self.give_up(cx, id);
            }
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if !cx.gates.may_say(PRIORITY) {
            return Transmit::Nothing;
        }
        if self.control.pop(out) {
            return Transmit::More;
        }
        // Each turn takes one out of the round that cannot send now, or moves one that is paused.
        for _ in 0..self.ready.len() {
            let owner = self.ready.pop_front().expect("counted");
            if !cx.gates.may_send(ConnId(owner), PRIORITY) {
                self.ready.push_back(owner);
                continue;
            }
            let conn = self
                .conns
                .get_mut(&owner)
                .expect("the forgotten leave the round");
            conn.ready = conn.can_send(self.window);
            if !conn.ready {
                continue;
            }
            let segment = conn.sender.transmit(cx.now, self.payload_max, &self.params);
            let Segment {
                ordinal,
                offset,
                length,
                end,
                again,
            } = segment;
            #[allow(clippy::cast_possible_truncation, reason = "the low 16 bits travel")]
            let data = Data {
                token: conn.token,
                ordinal: ordinal as u16,
                offset,
                length,
                end,
                one_shot: conn.one_shot(),
            };
            *out = data.packet(conn.peer, ConnId(owner), self.encap.wire(length));
            self.totals.data_sent += 1;
            self.totals.retransmitted += u64::from(again);
            conn.ready = false;
            self.settle(ConnId(owner));
            return Transmit::More;
        }
        Transmit::Nothing
    }

    fn deadline(&self) -> Time {
        self.timers.next()
    }

    fn check(&self) {
        assert!(self.control.len() <= CONTROL_MAX);
        for (id, conn) in self.conns.iter().take(CHECKED_MAX) {
            conn.sender.check();
            conn.receiver.check();
            conn.alarm.check();
            assert_eq!(
                conn.ready,
                self.ready.contains(id),
                "the round and connection {id}"
            );
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (&id, conn) in &self.conns {
            let opening = |what: &str, tries: u16, packet: &str, at: Time| {
                let waits_for = format!("{packet}, or asks again at {at}");
                Some((format!("{what}, asked {} times", tries + 1), waits_for))
            };
            let own = match conn.phase {
                Phase::Asking { tries, retry_at } => opening("opener", tries, "ACCEPT", retry_at),
                Phase::Accepting { tries, retry_at } => {
                    opening("accepter", tries, "DATA or ACK", retry_at)
                }
                Phase::Open => conn.sender.stuck(),
            };
            let theirs = conn.silent_until.map(|until| {
                let state = format!("receiving message {}", conn.receiver.complete());
                (state, format!("DATA, or forgets it at {until}"))
            });
            for (state, waits_for) in [own, theirs].into_iter().flatten() {
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
}
