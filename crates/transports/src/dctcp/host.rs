//! One host: its connections, its line and its timers.
//!
//! A connection opens with SYN and SYN-ACK, and either end of one that carries a message may answer it. The halves of a
//! connection are boxes that exist once something is sent that way, so that thousands of idle ones cost little. Not
//! [`parts::host`]: that one goes back to what is missing and has no window, and not [`parts::connections`]: data
//! opens nothing here, and what is remembered of the dead is an incarnation.

use super::conn::{Conn, State};
use super::header::{Ack, Data, Kind, Reset, Syn, SynAck};
use super::receiver::{Receiver, Verdict};
use super::sender::Sender;
use super::{PRIORITY, Params, Rules};
use model::{
    ConnId, ConnMap, Cx, Ecn, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use parts::aside::Aside;
use parts::packet_queue::PacketQueue;
use parts::slab::Slab;
use parts::timers::{Alarm, Timers};
use std::collections::VecDeque;
use units::Time;

/// Control packets that wait for the line; what comes on top is lost, as it might be anywhere.
const CONTROL_MAX: usize = 4096;
/// One-shot connections whose end a host remembers, so that a late SYN does not revive them.
const FINISHED_MAX: usize = 64;
/// One-shot connections that were dropped incomplete, likewise: their late data must not be taken
/// for data that arrived. [ours]
const ABANDONED_MAX: usize = 1024;
/// Connections that one [`Endpoint::check`] looks at, for it runs after every step.
const CHECKED_MAX: usize = 64;

/// Puts a control packet behind those that wait for the line.
#[inline]
fn queue(control: &mut PacketQueue, packet: Packet) {
    control.offer(packet, CONTROL_MAX);
}

/// DCTCP on one host.
#[derive(Debug)]
pub(super) struct Host {
    me: HostId,
    encap: Encap,
    /// Bytes of a control packet on the wire.
    control_size: u16,
    rules: Rules,
    connections_max: usize,
    slots: ConnMap,
    conns: Slab<Conn>,
    /// Control packets that wait for the line, first come first served.
    control: PacketQueue,
    /// Questions, answers and resets that found no room there.
    crowded: u64,
    /// Connections that can send, in the order of their turns.
    ready: VecDeque<u32>,
    timers: Timers,
    /// One-shot connections that ended last: number and incarnation.
    finished: VecDeque<(ConnId, u32)>,
    /// One-shot connections that were given up incomplete: their late data is not `done`.
    abandoned: VecDeque<ConnId>,
    /// Turns of those that are paused.
    aside: Aside<u32>,
    /// Something is paused.
    gated: bool,
    totals: Totals,
}

impl Host {
    pub(super) fn new(params: &Params, config: &EndpointConfig) -> Self {
        Self {
            me: config.host,
            encap: config.encap,
            control_size: config.encap.wire(0),
            rules: Rules::new(params, config.encap),
            connections_max: usize::try_from(params.connections_max).unwrap_or(usize::MAX),
            slots: ConnMap::default(),
            conns: Slab::default(),
            control: PacketQueue::default(),
            crowded: 0,
            ready: VecDeque::new(),
            timers: Timers::default(),
            finished: VecDeque::new(),
            abandoned: VecDeque::new(),
            aside: Aside::default(),
            gated: false,
            totals: Totals::default(),
        }
    }

    fn say(&mut self, packet: Packet) {
        let room = self.control.offer(packet, CONTROL_MAX);
        self.crowded += u64::from(!room);
    }

    fn reset(&mut self, to: HostId, conn: ConnId, about: u64, of_data: bool) {
        let reset = Reset { about, of_data };
        self.say(reset.packet(to, conn, self.control_size));
    }

    fn add(&mut self, conn: Conn) -> u32 {
        let id = conn.id;
        let slot = self.conns.insert(conn);
        self.slots.insert(id, slot);
        slot
    }

    #[inline(never)]
    fn remove(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = self.conns.remove(slot);
        self.slots.remove(conn.id);
        if conn.ready {
            self.ready.retain(|&other| other != slot);
            self.aside.drop_if(|&other| other == slot);
        }
        if self.slots.is_empty() {
            // What is left are timers of the dead.
            self.timers = Timers::default();
        }
        cx.events.push(Event::Forgotten { conn: conn.id });
    }

    /// A one-shot connection is over: a late SYN must not open it again.
    #[inline(never)]
    fn finish(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.conns[slot];
        if conn.opener {
            return self.remove(cx, slot);
        }
        if self.finished.len() == FINISHED_MAX {
            self.finished.pop_front();
        }
        self.finished.push_back((conn.id, conn.incarnation));
        self.remove(cx, slot);
    }

    /// The connection is lost: its own messages will not be delivered.
    #[inline(never)]
    fn give_up(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.conns[slot];
        if conn.opener || conn.sender.as_ref().is_some_and(|sender| !sender.is_idle()) {
            cx.events.push(Event::Refused { conn: conn.id });
        }
        self.abandon(cx, slot);
    }

    /// The connection is dropped: what still comes of its message has not arrived.
    fn abandon(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.conns[slot];
        if conn.lifetime == Lifetime::Exchange || (conn.one_shot() && !conn.opener) {
            if self.abandoned.len() == ABANDONED_MAX {
                self.abandoned.pop_front();
            }
            self.abandoned.push_back(conn.id);
        }
        self.remove(cx, slot);
    }

    /// Something changed: lets the connection take its turn and sets its alarm.
    fn settle(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        if !conn.ready && conn.can_send(&self.rules) {
            conn.ready = true;
            self.ready.push_back(slot);
        }
        let deadline = conn.deadline();
        conn.wake_by(&mut self.timers, slot, deadline);
    }

    fn ask(&mut self, slot: u32) {
        let conn = &self.conns[slot];
        let (to, id, size) = (conn.peer, conn.id, self.control_size);
        let (incarnation, lifetime) = (conn.incarnation, conn.lifetime);
        self.say(if conn.opener {
            let syn = Syn {
                incarnation,
                lifetime,
            };
            syn.packet(to, id, size)
        } else {
            SynAck { incarnation }.packet(to, id, size)
        });
    }
}

/// One kind of packet each.
impl Host {
    fn on_syn(&mut self, cx: &mut Cx<'_>, id: ConnId, syn: Syn) {
        if let Some(slot) = self.slots.get(id) {
            let conn = &self.conns[slot];
            if !conn.opener && conn.incarnation == syn.incarnation {
                // Our answer was lost, or the question was doubled.
                self.ask(slot);
            } else {
                self.totals.nonsense += 1;
            }
            return;
        }
        if self.finished.contains(&(id, syn.incarnation)) {
            // A copy that is older than the connection's end.
            return;
        }
        let Some(peer) = cx.peers.peer(self.me, id) else {
            self.totals.nonsense += 1;
            return;
        };
        if self.conns.len() >= self.connections_max {
            self.reset(peer, id, syn.incarnation.into(), false);
            return;
        }
        let retry_at = cx.now.after(self.rules.wait(0));
        let slot = self.add(Conn {
            id,
            peer,
            incarnation: syn.incarnation,
            state: State::Answering { tries: 0, retry_at },
            opener: false,
            lifetime: syn.lifetime,
            ready: false,
            alarm: Alarm::OFF,
            sender: None,
            receiver: None,
        });
        self.ask(slot);
        self.settle(slot);
    }

    fn on_syn_ack(&mut self, cx: &mut Cx<'_>, id: ConnId, accept: SynAck) {
        let Some(slot) = self.slots.get(id) else {
            // It answers a SYN of a life that has ended.
            if let Some(peer) = cx.peers.peer(self.me, id) {
                self.reset(peer, id, accept.incarnation.into(), false);
            }
            return;
        };
        let conn = &mut self.conns[slot];
        if !conn.opener || conn.incarnation != accept.incarnation {
            self.totals.nonsense += 1;
            return;
        }
        if let State::Asking {
            asked_at, tries, ..
        } = conn.state
        {
            conn.state = State::Open;
            // A repeated SYN leaves open which one was answered. [Karn and Partridge 1987]
            if let Some(sender) = conn.sender.as_mut().filter(|_| tries == 0) {
                sender.on_handshake(cx.now.since(asked_at), &self.rules);
            }
        }
        // Data tells the peer that the connection is open; without any, if it is held back, or if the
        // peer missed it, an acknowledgement does.
        if self.rules.handshake_ack
            || !cx.gates.may_send(id, PRIORITY)
            || conn
                .sender
                .as_ref()
                .is_none_or(|sender| !sender.can_send(&self.rules))
        {
            let receiver = conn.receiver.as_ref();
            let ack = receiver.map_or(Ack::new(0, None), |receiver| receiver.repeat());
            let to = conn.peer;
            self.say(ack.packet(to, id, self.control_size));
        }
        self.settle(slot);
    }

    #[inline]
    fn on_data(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let data = Data::read(packet);
        let (id, marked) = (packet.conn, packet.ecn() == Ecn::Marked);
        let Some(slot) = self.slots.get(id) else {
            self.on_stray_data(cx, id, data);
            return;
        };
        let mut conn = &mut self.conns[slot];
        if conn.state != State::Open {
            if !self.on_first(slot) {
                return;
            }
            conn = &mut self.conns[slot];
        }
        if conn.lifetime == Lifetime::OneMessage && conn.opener {
            self.totals.nonsense += 1;
            return;
        }
        let one_shot = conn.one_shot();
        let (to, size, control) = (conn.peer, self.control_size, &mut self.control);
        let emit = |ack: Ack| queue(control, ack.packet(to, id, size));
        let receiver = conn
            .receiver
            .get_or_insert_with(|| Box::new(Receiver::new()));
        match receiver.on_data(cx, id, one_shot, data, marked, &self.rules, emit) {
            Verdict::New => {}
            Verdict::Old => self.totals.duplicates += 1,
            Verdict::Dropped => self.totals.nonsense += 1,
        }
        let deadline = receiver.deadline();
        // Data ends no connection before a message is complete.
        if receiver.complete() > 0 && conn.is_over() {
            self.finish(cx, slot);
            return;
        }
        conn.wake_by(&mut self.timers, slot, deadline);
    }

    /// Data or an acknowledgement of a connection that was not open: it is now, if we accepted it.
    #[inline(never)]
    fn on_first(&mut self, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let accepted = matches!(conn.state, State::Answering { .. });
        if accepted {
            conn.state = State::Open;
            self.settle(slot);
        } else {
            // The other end cannot send before we have heard that the connection is open.
            self.totals.nonsense += 1;
        }
        accepted
    }

    /// Data of a connection that we do not know.
    #[inline(never)]
    fn on_stray_data(&mut self, cx: &Cx<'_>, id: ConnId, data: Data) {
        let Some(peer) = cx.peers.peer(self.me, id) else {
            self.totals.nonsense += 1;
            return;
        };
        if data.one_shot && !self.abandoned.contains(&id) {
            // It was open once, or there would be no data, and it is forgotten only when complete.
            self.totals.duplicates += 1;
            let ack = Ack {
                done: true,
                ..Ack::new(data.offset + data.span(), None)
            };
            self.say(ack.packet(peer, id, self.control_size));
        } else {
            self.reset(peer, id, data.offset, true);
        }
    }

    #[inline]
    fn on_ack(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let ack = Ack::read(packet);
        let id = packet.conn;
        // After the end of a one-shot connection late ones are normal.
        let Some(slot) = self.slots.get(id) else {
            return;
        };
        let mut conn = &mut self.conns[slot];
        if conn.state != State::Open {
            if !self.on_first(slot) {
                return;
            }
            conn = &mut self.conns[slot];
        }
        let Some(sender) = &mut conn.sender else {
            self.totals.nonsense += u64::from(ack.cumulative > 0 || ack.reach > 0);
            return;
        };
        if (ack.done && conn.lifetime == Lifetime::Persistent)
            || sender.on_ack(cx.now, ack, &self.rules).is_err()
        {
            self.totals.nonsense += 1;
            return;
        }
        // Bounded by the messages that the application has queued.
        while let Some(ordinal) = sender.take_finished() {
            cx.events.push(Event::Sent { conn: id, ordinal });
        }
        let deadline = sender.deadline();
        // An acknowledgement ends no connection before all is acknowledged.
        if sender.is_idle() && conn.is_over() {
            self.finish(cx, slot);
            return;
        }
        conn.wake_by(&mut self.timers, slot, deadline);
        if !conn.ready && conn.can_send(&self.rules) {
            conn.ready = true;
            self.ready.push_back(slot);
        }
    }

    fn on_reset(&mut self, cx: &mut Cx<'_>, id: ConnId, reset: Reset) {
        // Answering a reset with one could go on for ever.
        let Some(slot) = self.slots.get(id) else {
            return;
        };
        let conn = &self.conns[slot];
        let believed = if reset.of_data {
            let sender = conn.sender.as_ref();
            sender.is_some_and(|sender| sender.has_in_flight(reset.about))
        } else {
            reset.about == conn.incarnation.into() && conn.state != State::Open
        };
        if believed {
            self.give_up(cx, slot);
        } else {
            self.totals.nonsense += 1;
        }
    }

    #[inline(never)]
    fn on_rare(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        match Kind::of(packet) {
            Some(Kind::Syn) => self.on_syn(cx, packet.conn, Syn::read(packet)),
            Some(Kind::SynAck) => self.on_syn_ack(cx, packet.conn, SynAck::read(packet)),
            Some(Kind::Reset) => self.on_reset(cx, packet.conn, Reset::read(packet)),
            Some(Kind::Data | Kind::Ack) | None => self.totals.nonsense += 1,
        }
    }

    /// The alarm of `slot` rang: does what is due and returns false where the connection is over.
    fn on_alarm(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        conn.excuse(cx, &self.rules);
        if let State::Asking {
            tries, retry_at, ..
        }
        | State::Answering { tries, retry_at } = &mut conn.state
            && *retry_at <= cx.now
        {
            self.totals.timeouts += 1;
            *tries += 1;
            if *tries > self.rules.retries_max {
                return false;
            }
            *retry_at = cx.now.after(self.rules.wait(*tries));
            self.ask(slot);
        }
        let conn = &mut self.conns[slot];
        if let Some(receiver) = &mut conn.receiver
            && receiver.deadline() <= cx.now
        {
            let Ok(ack) = receiver.on_deadline(cx.now, &self.rules) else {
                return false;
            };
            if let Some(ack) = ack {
                queue(
                    &mut self.control,
                    ack.packet(conn.peer, conn.id, self.control_size),
                );
            }
        }
        if let Some(sender) = &mut conn.sender
            && sender.deadline() <= cx.now
        {
            self.totals.timeouts += 1;
            return sender.on_timeout(cx.now, &self.rules);
        }
        true
    }

    /// The first in the round is paused: its turn comes when it may send.
    #[cold]
    fn set_aside(&mut self, slot: u32) {
        self.ready.pop_front();
        self.aside.put(self.conns[slot].id, slot);
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        if self.slots.get(conn).is_some() {
            // It is open already, or opening.
            return;
        }
        if self.conns.len() >= self.connections_max {
            cx.events.push(Event::Refused { conn });
            return;
        }
        // A clock makes incarnations differ, as it makes TCP's first sequence numbers.
        // [RFC 9293 s3.4.1]
        #[allow(clippy::cast_possible_truncation, reason = "the low bits differ most")]
        let incarnation = (cx.now.0 / 1000) as u32;
        let retry_at = cx.now.after(self.rules.wait(0));
        let slot = self.add(Conn {
            id: conn,
            peer,
            incarnation,
            state: State::Asking {
                asked_at: cx.now,
                tries: 0,
                retry_at,
            },
            opener: true,
            lifetime,
            ready: false,
            alarm: Alarm::OFF,
            sender: None,
            receiver: None,
        });
        self.ask(slot);
        self.settle(slot);
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let Some(slot) = self.slots.get(conn) else {
            cx.events.push(Event::Refused { conn });
            return;
        };
        let found = &mut self.conns[slot];
        let has_sent = found.sender.is_some();
        if !found.lifetime.allows_message(found.opener, has_sent) {
            cx.events.push(Event::Refused { conn });
            return;
        }
        let sender = found
            .sender
            .get_or_insert_with(|| Box::new(Sender::new(&self.rules)));
        if sender.push(cx.now, length, &self.rules).is_err() {
            cx.events.push(Event::Refused { conn });
        }
        self.settle(slot);
    }

    fn cancel(&mut self, _cx: &mut Cx<'_>, conn: ConnId) {
        let Some(slot) = self.slots.get(conn) else {
            return;
        };
        if let Some(sender) = &mut self.conns[slot].sender {
            sender.cancel();
        }
        self.settle(slot);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.slots.get(conn) {
            self.abandon(cx, slot);
        }
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.trimmed() || packet.bounced() {
            // To this transport a packet without its payload is a lost packet.
            return;
        }
        match Kind::of(packet) {
            Some(Kind::Data) => self.on_data(cx, packet),
            Some(Kind::Ack) => self.on_ack(cx, packet),
            _ => self.on_rare(cx, packet),
        }
    }

    fn on_gates(&mut self, cx: &mut Cx<'_>) {
        self.gated = cx.gates.any_closed();
        self.aside.look(cx.gates, PRIORITY);
        self.ready.extend(std::iter::from_fn(|| self.aside.take()));
    }

    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        // Every turn moves an alarm past now or removes it.
        while let Some(slot) = self.timers.due(cx.now) {
            let Some(conn) = self.conns.get_mut(slot) else {
                self.timers.gone();
                continue;
            };
            if !self.timers.admit(&mut conn.alarm, cx.now) {
                continue;
            }
            if self.on_alarm(cx, slot) {
                let conn = &mut self.conns[slot];
                let deadline = conn.deadline();
                self.timers.rung(&mut conn.alarm, deadline);
                self.settle(slot);
            } else {
                self.timers.gone();
                self.give_up(cx, slot);
            }
        }
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if self.gated && !cx.gates.may_say(PRIORITY) {
            return Transmit::Nothing;
        }
        // DEVIATES(linux): control packets overtake data, which in a host is chosen only when the
        // line is free; a real queue holds a few packets of data in front of them.
        if self.control.pop(out) {
            if self.rules.ecn_acks && Kind::of(out) == Some(Kind::Ack) {
                out.set_ecn(Ecn::Capable0);
            }
            return self.more();
        }
        // Bounded by the connections: each turn but the last takes one out that cannot send now.
        while let Some(&slot) = self.ready.front() {
            let conn = &mut self.conns[slot];
            if self.gated && !cx.gates.may_send(conn.id, PRIORITY) {
                self.set_aside(slot);
                continue;
            }
            let one_shot = conn.one_shot();
            let sender = conn
                .sender
                .as_mut()
                .expect("only what can send is in the round");
            let segment = sender.transmit(cx.now, &self.rules);
            let more = segment.is_some() && sender.can_send(&self.rules);
            if let Some(segment) = segment {
                let data = Data {
                    offset: segment.offset(),
                    gaps: segment.gaps & Data::GAPS,
                    length: segment.length,
                    one_shot,
                    again: segment.again,
                    end: segment.end,
                };
                *out = data.packet(conn.peer, conn.id, self.encap.wire(data.length));
                if self.rules.ecn {
                    out.set_ecn(Ecn::Capable0);
                }
                self.totals.data_sent += 1;
                self.totals.retransmitted += u64::from(data.again);
                let deadline = sender.deadline();
                conn.wake_by(&mut self.timers, slot, deadline);
            }
            conn.ready = more;
            if !more {
                self.ready.pop_front();
            } else if self.ready.len() > 1 {
                self.ready.pop_front();
                self.ready.push_back(slot);
            }
            if segment.is_some() {
                return self.more();
            }
        }
        Transmit::Nothing
    }

    fn deadline(&self) -> Time {
        self.timers.next()
    }

    fn check(&self) {
        assert_eq!(
            self.slots.len(),
            self.conns.len(),
            "connections and their numbers"
        );
        assert!(self.control.len() <= CONTROL_MAX && self.finished.len() <= FINISHED_MAX);
        assert!(self.abandoned.len() <= ABANDONED_MAX);
        if self.conns.len() <= CHECKED_MAX {
            let ready = self.conns.iter().filter(|conn| conn.ready).count();
            let turns = self.ready.len() + self.aside.len();
            assert_eq!(ready, turns, "connections in the line's round");
            assert!(self.ready.iter().all(|&slot| self.conns[slot].ready));
        }
        for conn in self.conns.sample(self.totals.data_sent, CHECKED_MAX) {
            conn.check(&self.rules);
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for conn in self.conns.iter() {
            let mut say = |(state, waits_for)| {
                report(StuckFlow {
                    conn: conn.id,
                    state,
                    waits_for,
                });
            };
            match conn.state {
                State::Asking {
                    tries, retry_at, ..
                } => {
                    let state = format!("opener, asked {} times", u16::from(tries) + 1);
                    let crowded = match self.crowded {
                        0 => String::new(),
                        lost => format!(
                            "; {lost} packets like its SYN were lost in its own host, where {CONTROL_MAX} may wait for the line"
                        ),
                    };
                    say((
                        state,
                        format!("a SYN-ACK, or asks again at {retry_at}{crowded}"),
                    ));
                }
                State::Answering { tries, retry_at } => {
                    let state = format!("accepter, answered {} times", u16::from(tries) + 1);
                    say((
                        state,
                        format!("data or an ACK, or answers again at {retry_at}"),
                    ));
                }
                State::Open => {
                    let halves = [
                        conn.sender.as_ref().and_then(|sender| sender.stuck()),
                        conn.receiver.as_ref().and_then(|receiver| receiver.stuck()),
                    ];
                    halves.into_iter().flatten().for_each(&mut say);
                    let waiting = conn.sender.is_none() && conn.receiver.is_none();
                    if conn.one_shot() && waiting {
                        say(("open, nothing sent".to_owned(), "its message".to_owned()));
                    }
                }
            }
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }
}

impl Host {
    fn more(&self) -> Transmit {
        if self.ready.is_empty() && self.control.is_empty() {
            Transmit::Last
        } else {
            Transmit::More
        }
    }
}

#[cfg(test)]
impl Host {
    pub(super) fn connections(&self) -> usize {
        self.conns.len()
    }
    pub(super) fn sender(&self, conn: ConnId) -> &Sender {
        let slot = self.slots.get(conn).expect("the test opened it");
        self.conns[slot]
            .sender
            .as_ref()
            .expect("the test sent on it")
    }
}
