//! ExpressPass: receivers send credits, switches drop those that are too many, and each credit lets one frame go.
//! One endpoint sends and receives for all connections of a host. Variants differ in what leaves in the first round trip
//! (`early.rs`). [Cho, Jang, Han, SIGCOMM 2017; its simulator `kaist-ina/ns2-xpass`]
#![doc = include_str!("README.md")]
#![allow(
    clippy::doc_markdown,
    reason = "ExpressPass and STOP_ACK are words here, not code"
)]

mod arrived;
mod asking;
pub mod bound;
mod bursts;
mod crediting;
mod early;
mod expected;
pub mod feedback;
mod header;
mod nic;
mod outgoing;
pub mod params;
mod receiver;
mod repair;
mod sender;
mod settings;
#[cfg(test)]
mod tests;

pub use early::FirstRtt;
pub use params::Params;

use bursts::Ended;
use header::{
    Ack, Credit, Data, Heard, Kind, Nack, Probe, ProbeAck, Request, Stop, StopAck, StopReason,
};
use model::intent::{DropBy, PortSpec, SwitchSpec};
use model::wire::Codec;
use model::{
    Class, ConnId, ConnMap, Count, Counter, Cx, Encap, Endpoint, EndpointConfig, Event, Facts,
    HostId, Lifetime, Packet, StuckFlow, Totals, Transmit,
};
use nic::Nic;
use parts::aside::Aside;
use parts::credit_gate::CreditGate;
use parts::host_delay::HostDelay;
use parts::keys::{Key, Profiles};
use parts::slab::Slab;
use parts::timers::Timers;
use parts::{Declared, Entry, Fabric, Factory, Pacing, ParamError, Refusal, Unread};
use receiver::{Flows, Receiver, fetch_soon};
use sender::{Fate, Sender};
use settings::Settings;
use std::collections::VecDeque;
use toml::Table;
use units::{LineTime, Rate, Span, Time};

/// Plain ExpressPass. [xpass]
pub static EXPRESSPASS: Entry<Params> = Entry::new(
    "expresspass",
    "receivers pace senders with credits that switches shape (SIGCOMM 2017)",
);
/// ExpressPass with Aeolus. [aeolus]
pub static AEOLUS: Entry<Params> = Entry::variant(
    "expresspass+aeolus",
    "and new flows burst packets that switches drop first (SIGCOMM 2020)",
    |params| params.with(FirstRtt::Aeolus),
);
/// ExpressPass with a pre-credit phase that no scheduled packet notices. [aeolus s2.3]
pub static GAPS: Entry<Params> = Entry::variant(
    "expresspass+gaps",
    "and new flows burst packets that take only gaps: in the simulator alone",
    |params| params.with(FirstRtt::Gaps),
);
/// ExpressPass with SSP. [ssp]
pub static SSP: Entry<Params> = Entry::variant(
    "expresspass+ssp",
    "and new flows burst packets that switches protect (IEEE CLUSTER 2020)",
    |params| params.with(FirstRtt::Ssp),
);

impl Declared for Params {
    const KEYS: &'static [Key<Self>] = params::KEYS;
    const PROFILES: &'static Profiles<Self> = params::PROFILES;
    const CODEC: &'static dyn Codec = &header::CODEC;
    const COUNTERS: &'static [Counter] = Counts::ALL;

    fn profile(&self) -> &'static str {
        self.profile
    }
    fn agree(&mut self, _: &Table) -> Result<(), ParamError> {
        self.check_together()
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(ExpressPassHost::new(self, config))
    }
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        Ok(Some(Box::new(settings::settle(self, facts)?)))
    }
    fn suits(&self, port: &PortSpec, _: &SwitchSpec) -> Result<(), Refusal> {
        settings::suits(port)
    }
    fn unread(&self) -> Vec<Unread> {
        self.without_effect()
    }
    fn pacing(&self) -> Option<Pacing> {
        Some(self.pacing())
    }
    fn remembers(&self) -> Span {
        self.close_wait
    }
    fn fabric(&self, _rate: Rate, encap: Encap) -> Fabric {
        self.ports(encap)
    }
}

/// Incoming connections of one peer, and of all peers, that a host keeps state for: a liar can
/// open many. [ours]
const INCOMING_PER_PEER_MAX: u32 = 1 << 16;
const INCOMING_MAX: usize = 1 << 20;
/// Credits that wait for the host to look at them. [ours]
const DELAYED_MAX: usize = 16_384;
/// The priority of every packet that this transport sends.
const PRIORITY: u8 = 0;

model::counters! {
    /// What this transport counts besides.
    struct Counts {
        /// Requests for credits sent, first time or again.
        requests: packets,
        /// Probes sent behind unscheduled packets. [aeolus s3.3]
        probes: packets,
        /// Acknowledgements of single unscheduled packets and of probes sent. [aeolus s3.3]
        acks: packets,
        /// Data and control packets lost before they left, because too many waited at their host.
        line_lost: packets,
    }
}

/// What every connection of a host shares.
struct Host {
    settings: Settings,
    nic: Nic,
    totals: Totals,
    counts: Counts,
    /// Connections on which this host wants credits.
    wanting: u32,
}

/// ExpressPass on one host.
pub struct ExpressPassHost {
    id: HostId,
    host: Host,
    senders: Slab<Sender>,
    sender_of: ConnMap,
    receivers: Slab<Receiver>,
    receiver_of: ConnMap,
    flows: Flows,
    /// Incoming connections by peer.
    incoming: ConnMap,
    timers: Timers,
    host_delay: HostDelay,
    /// New flows whose unscheduled packets leave, in turn.
    bursting: VecDeque<u32>,
    /// Connections that ended here, where bursts may open them.
    ended: Ended,
    /// Since the last unscheduled packet a scheduled one has left.
    burst_waited: bool,
    /// Something is paused.
    gated: bool,
    /// Data of paused connections that was in the line's FIFO.
    aside: Aside<Packet>,
    /// The line is not simply asked: there are bursts or pauses, or packets are ECN-capable.
    unusual: bool,
    /// Credits that the host has not looked at yet, in the order in which they came.
    delayed: VecDeque<Delayed>,
}

#[derive(Clone, Copy)]
struct Delayed {
    at: Time,
    conn: ConnId,
    credit: Credit,
}

/// Owners of alarms: the place in the slab, and whether it is a receiver's.
const fn sender_alarm(slot: u32) -> u32 {
    slot << 1
}
const fn receiver_alarm(slot: u32) -> u32 {
    slot << 1 | 1
}
const fn slot_of(alarm: u32) -> u32 {
    alarm >> 1
}

impl ExpressPassHost {
    /// The endpoint of one host.
    pub fn new(params: &Params, config: &EndpointConfig) -> Self {
        let line = LineTime::new(config.rate);
        let gate = params
            .nic_shaper
            .then(|| params.hold(CreditGate::new(params.credit_spec_at(config), line)));
        Self {
            id: config.host,
            host: Host {
                settings: Settings::new(params, config),
                nic: Nic::new(gate, line),
                totals: Totals::default(),
                counts: Counts::default(),
                wanting: 0,
            },
            senders: Slab::default(),
            sender_of: ConnMap::default(),
            receivers: Slab::default(),
            receiver_of: ConnMap::default(),
            flows: Flows::default(),
            incoming: ConnMap::default(),
            timers: Timers::default(),
            host_delay: params.host_delay.clone(),
            delayed: VecDeque::new(),
            bursting: VecDeque::new(),
            ended: Ended::default(),
            burst_waited: true,
            gated: false,
            aside: Aside::default(),
            unusual: params.drop_by == DropBy::Ecn || config.control_passes,
        }
    }

    fn note_unusual(&mut self) {
        self.unusual = self.host.settings.ect
            || self.host.settings.in_band.is_some()
            || self.gated
            || !self.aside.is_empty()
            || !self.bursting.is_empty();
    }

    fn add_sender(&mut self, conn: ConnId, peer: HostId, lifetime: Lifetime) -> u32 {
        let slot = self.senders.insert(Sender::new(
            conn,
            peer,
            lifetime,
            self.host.settings.first_rtt,
        ));
        self.sender_of.insert(conn, slot);
        slot
    }

    /// The sender of `conn`; where this end has not sent yet on a connection that it knows of, a
    /// new one.
    fn sender_for(&mut self, cx: &Cx<'_>, conn: ConnId) -> Option<u32> {
        if let Some(slot) = self.sender_of.get(conn) {
            return Some(slot);
        }
        let one_shot = self
            .receiver_of
            .get(conn)
            .is_some_and(|slot| self.receivers[slot].one_shot);
        let peer = cx.peers.peer(self.id, conn).filter(|_| !one_shot)?;
        Some(self.add_sender(conn, peer, Lifetime::Persistent))
    }

    /// The receiver of `conn`, made if need be; `None` where the request makes no sense or there
    /// are too many.
    fn receiver_for(&mut self, cx: &Cx<'_>, conn: ConnId, one_shot: bool) -> Option<u32> {
        if let Some(slot) = self.receiver_of.get(conn) {
            return (self.receivers[slot].one_shot == one_shot).then_some(slot);
        }
        // On a connection for one message of ours the peer has nothing to send; the receiver of an
        // answer is there from the beginning.
        let ours = self
            .sender_of
            .get(conn)
            .is_some_and(|slot| self.senders[slot].one_shot);
        let peer = cx.peers.peer(self.id, conn).filter(|_| !ours)?;
        let of_peer = self.incoming.get(ConnId(peer.0)).unwrap_or(0);
        if of_peer == INCOMING_PER_PEER_MAX || self.receivers.len() == INCOMING_MAX {
            return None;
        }
        self.incoming.insert(ConnId(peer.0), of_peer + 1);
        let slot = self.receivers.insert(Receiver::new(conn, peer, one_shot));
        self.receiver_of.insert(conn, slot);
        Some(slot)
    }

    fn forget_sender(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let sender = self.senders.remove(slot);
        self.host.wanting -= u32::from(sender.wants());
        self.sender_of.remove(sender.conn);
        // A question that did not arrive gets no answer.
        if sender.asks_in_vain()
            && let Some(answer) = self.receiver_of.get(sender.conn)
            && self.receivers[answer].has_nothing()
        {
            return self.forget_receiver(cx, answer);
        }
        // The place in the slab may be another's soon.
        self.bursting.retain(|&other| other != slot);
        self.forget_rest(cx, sender.conn);
    }

    /// One of the two roles of a connection is over: the connection is, where that was the last.
    fn forget_rest(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if self.sender_of.get(conn).is_none() && self.receiver_of.get(conn).is_none() {
            cx.events.push(Event::Forgotten { conn });
        }
    }

    fn forget_receiver(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let receiver = self.receivers.remove(slot);
        self.receiver_of.remove(receiver.conn);
        if self.host.settings.first_rtt != FirstRtt::Silent {
            self.ended.note(receiver.conn);
        }
        let peer = ConnId(receiver.peer.0);
        match self.incoming.get(peer) {
            Some(1) => drop(self.incoming.remove(peer)),
            Some(count) => self.incoming.insert(peer, count - 1),
            None => unreachable!("every receiver is counted"),
        }
        // A question that never arrived whole needs no answer.
        if !receiver.has_message()
            && let Some(answer) = self.sender_of.get(receiver.conn)
            && self.senders[answer].would_answer()
        {
            return self.forget_sender(cx, answer);
        }
        self.forget_rest(cx, receiver.conn);
    }

    #[inline]
    fn arm_sender(&mut self, slot: u32) {
        let sender = &mut self.senders[slot];
        let due = sender.due();
        self.timers.set(&mut sender.alarm, sender_alarm(slot), due);
    }

    #[inline]
    fn arm_receiver(&mut self, slot: u32) {
        let receiver = &mut self.receivers[slot];
        let due = receiver.due();
        self.timers
            .set(&mut receiver.alarm, receiver_alarm(slot), due);
    }

    /// A credit has come from the line.
    #[inline]
    fn on_credit(&mut self, cx: &mut Cx<'_>, conn: ConnId, credit: Credit) {
        self.host.totals.credits_received += 1;
        if let HostDelay::Constant(Span::ZERO) = self.host_delay {
            return self.look_at_credit(cx, conn, credit);
        }
        if self.delayed.len() == DELAYED_MAX {
            self.host.totals.credits_wasted += 1;
            return;
        }
        // First come, first looked at: a credit never overtakes another.
        let earliest = self.delayed.back().map_or(cx.now, |last| last.at);
        let at = earliest.max(cx.now + self.host_delay.draw(cx.rng));
        self.delayed.push_back(Delayed { at, conn, credit });
    }

    #[inline]
    fn look_at_credit(&mut self, cx: &mut Cx<'_>, conn: ConnId, credit: Credit) {
        // What it released would leave in a bunch.
        if self.gated && !cx.gates.may_send(conn, PRIORITY) {
            self.host.totals.credits_wasted += 1;
            return;
        }
        if let Some(slot) = self.sender_of.get(conn) {
            let sender = &mut self.senders[slot];
            sender.on_credit(cx, &mut self.host, credit);
            let due = sender.due();
            return self.timers.set(&mut sender.alarm, sender_alarm(slot), due);
        }
        self.host.totals.credits_wasted += 1;
        self.answer_gone(cx, conn);
    }

    /// The receiver learns that this host does not know the connection: one small packet for one.
    fn answer_gone(&mut self, cx: &Cx<'_>, conn: ConnId) {
        let Some(peer) = cx.peers.peer(self.id, conn) else {
            self.host.totals.nonsense += 1;
            return;
        };
        let size = self.host.settings.encap.frame_min;
        let stop = Stop::new(0, StopReason::Gone, false).packet(peer, conn, size);
        self.host.nic.push(stop);
    }

    /// The receiver has heard a request, or asks whether its sender is still there.
    fn on_heard(&mut self, cx: &Cx<'_>, packet: &Packet) {
        let heard = Heard::read(packet);
        if let Some(slot) = self.sender_of.get(packet.conn) {
            let host = &mut self.host;
            self.senders[slot].on_heard(cx.now, host, heard);
            self.arm_sender(slot);
        } else if heard.asks {
            self.answer_gone(cx, packet.conn);
        }
    }

    #[inline]
    fn on_data(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.class() == Class::Unscheduled {
            return self.on_unscheduled(cx, packet);
        }
        let Some(slot) = self.receiver_of.get(packet.conn) else {
            // A copy that came after the connection had been forgotten.
            self.host.totals.duplicates += 1;
            return;
        };
        let receiver = &mut self.receivers[slot];
        receiver.on_data(cx, &mut self.host, &mut self.flows, Data::read(packet));
        let due = receiver.due();
        self.timers
            .set(&mut receiver.alarm, receiver_alarm(slot), due);
    }

    /// A question: the sender of the answer waits for the application. (At the end that asks, the
    /// receiver is older than what opens the answer.)
    fn expect_answer(&mut self, conn: ConnId, slot: u32) {
        if self.sender_of.get(conn).is_none() {
            let peer = self.receivers[slot].peer;
            self.add_sender(conn, peer, Lifetime::Exchange);
        }
    }

    fn on_probe(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let Some(slot) = self.receiver_of.get(packet.conn) else {
            return self.answer_probe(cx, packet);
        };
        let (host, flows) = (&mut self.host, &mut self.flows);
        let Probe { position, last } = Probe::read(packet);
        self.receivers[slot].on_probe(cx, host, flows, position, last);
        self.arm_receiver(slot);
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, conn: ConnId, ack: Ack, probe: bool) {
        let Some(slot) = self.sender_of.get(conn) else {
            self.host.totals.duplicates += 1;
            return;
        };
        let Ack { position, arrived } = ack;
        self.senders[slot].on_ack(cx, &mut self.host, position, arrived, probe);
        self.arm_sender(slot);
    }

    fn on_request(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let request = Request::read(packet);
        let speaks_of_more = request.next > 0 || request.known;
        if speaks_of_more && self.receiver_of.get(packet.conn).is_none() {
            // Forgotten: a receiver that starts anew here would never get what came before, or get it twice.
            return self.answer_stop(cx, packet.conn, None);
        }
        let known = self.receiver_of.get(packet.conn).is_some();
        let Some(slot) = self.receiver_for(cx, packet.conn, request.one_shot) else {
            let sender = self.sender_of.get(packet.conn);
            // A copy that came after the whole answer had been forgotten.
            let old = sender.is_some_and(|slot| self.senders[slot].exchange);
            self.host.totals.duplicates += u64::from(old);
            self.host.totals.nonsense += u64::from(!old);
            return;
        };
        if request.exchange && !known {
            self.expect_answer(packet.conn, slot);
        }
        let (host, flows) = (&mut self.host, &mut self.flows);
        self.receivers[slot].note_request(request.nth);
        self.receivers[slot].on_request(cx, host, flows, request);
        self.arm_receiver(slot);
    }

    fn on_stop(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let stop = Stop::read(packet);
        if let Some(slot) = self.receiver_of.get(packet.conn) {
            let (host, flows) = (&mut self.host, &mut self.flows);
            match self.receivers[slot].on_stop(cx, host, flows, stop) {
                Fate::Keep => self.arm_receiver(slot),
                Fate::Forget => self.forget_receiver(cx, slot),
            }
        } else if !stop.gone {
            // Forgotten because its one message was done: the sender may forget it, too. A lasting connection is forgotten
            // with what it had.
            self.answer_stop(cx, packet.conn, stop.one_shot.then_some(stop.end));
        }
    }

    /// Answers for a connection that is not known here, one packet for one.
    fn answer_stop(&mut self, cx: &Cx<'_>, conn: ConnId, next: Option<u64>) {
        let size = self.host.settings.encap.frame_min;
        match cx.peers.peer(self.id, conn) {
            Some(peer) => {
                let (gone, next) = (next.is_none(), next.unwrap_or(0));
                let answer = StopAck { next, gone };
                self.host.nic.push(answer.packet(peer, conn, size));
            }
            None => self.host.totals.nonsense += 1,
        }
    }

    fn on_nack(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let Some(slot) = self.sender_of.get(packet.conn) else {
            // A copy that came after the connection had been forgotten.
            self.host.totals.duplicates += 1;
            return;
        };
        let sender = &mut self.senders[slot];
        let was_bursting = sender.is_bursting();
        let nack = Nack::read(packet);
        let (next, host) = (nack.next, &mut self.host);
        if sender.on_nack(cx, host, next, nack.missing, nack.heard) == Fate::Forget {
            return self.forget_sender(cx, slot);
        }
        if sender.is_bursting() && !was_bursting {
            self.enlist(slot);
        }
        self.arm_sender(slot);
    }

    fn on_stop_ack(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let Some(slot) = self.sender_of.get(packet.conn) else {
            self.host.totals.duplicates += 1;
            return;
        };
        let (sender, ack) = (&mut self.senders[slot], StopAck::read(packet));
        if !ack.gone {
            sender.on_stop_ack(cx, &mut self.host, ack.next);
        } else if sender.on_gone(cx, &mut self.host) == Fate::Forget {
            return self.forget_sender(cx, slot);
        }
        self.arm_sender(slot);
    }

    /// Calls the owner of the first alarm, if it is really due.
    #[inline]
    fn ring(&mut self, cx: &mut Cx<'_>, owner: u32) {
        let slot = slot_of(owner);
        if owner == receiver_alarm(slot) {
            let Some(receiver) = self.receivers.get_mut(slot) else {
                return self.timers.gone();
            };
            if !self.timers.admit(&mut receiver.alarm, cx.now) {
                return;
            }
            match receiver.on_deadline(cx, &mut self.host, &mut self.flows) {
                Fate::Keep => {
                    let due = receiver.due();
                    self.timers.rung(&mut receiver.alarm, due);
                    fetch_soon(&self.timers, &self.receivers, &self.flows);
                }
                Fate::Forget => {
                    self.timers.gone();
                    self.forget_receiver(cx, slot);
                }
            }
        } else {
            let Some(sender) = self.senders.get_mut(slot) else {
                return self.timers.gone();
            };
            if !self.timers.admit(&mut sender.alarm, cx.now) {
                return;
            }
            if let Some(later) = sender.excuse(cx, &self.host) {
                return self.timers.rung(&mut sender.alarm, later);
            }
            match sender.on_deadline(cx, &mut self.host) {
                Fate::Keep => {
                    let due = sender.due();
                    self.timers.rung(&mut sender.alarm, due);
                }
                Fate::Forget => {
                    self.timers.gone();
                    self.forget_sender(cx, slot);
                }
            }
        }
    }
}

/// Connections that one call of [`Endpoint::check`] looks at; with more, calls take turns.
const CHECKED_PER_CALL: usize = 32;

impl Endpoint for ExpressPassHost {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        if self.sender_of.get(conn).is_some() {
            return;
        }
        if lifetime == Lifetime::Exchange && self.receiver_for(cx, conn, true).is_none() {
            cx.events.push(Event::Refused { conn });
            return;
        }
        self.add_sender(conn, peer, lifetime);
    }

    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let taken = match self.sender_for(cx, conn) {
            Some(slot) => {
                let was_bursting = self.senders[slot].is_bursting();
                let taken = self.senders[slot].send(cx, &mut self.host, length);
                if self.senders[slot].is_bursting() && !was_bursting {
                    self.enlist(slot);
                }
                self.arm_sender(slot);
                taken
            }
            None => false,
        };
        if !taken {
            cx.events.push(Event::Refused { conn });
        }
    }

    fn cancel(&mut self, _cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.sender_of.get(conn) {
            self.senders[slot].cancel();
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if let Some(slot) = self.receiver_of.get(conn) {
            self.receivers[slot].close(&mut self.flows);
            self.forget_receiver(cx, slot);
        }
        if let Some(slot) = self.sender_of.get(conn) {
            self.forget_sender(cx, slot);
        }
    }

    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        match Kind::of(packet) {
            Some(Kind::Credit) => self.on_credit(cx, packet.conn, Credit::read(packet)),
            Some(Kind::Data) => self.on_data(cx, packet),
            Some(Kind::Request) => self.on_request(cx, packet),
            Some(Kind::Stop) => self.on_stop(cx, packet),
            Some(Kind::Nack) => self.on_nack(cx, packet),
            Some(Kind::StopAck) => self.on_stop_ack(cx, packet),
            Some(Kind::Ack) => self.on_ack(cx, packet.conn, Ack::read(packet), false),
            Some(Kind::Probe) => self.on_probe(cx, packet),
            Some(Kind::ProbeAck) => {
                let ProbeAck { position, arrived } = ProbeAck::read(packet);
                self.on_ack(cx, packet.conn, Ack { position, arrived }, true);
            }
            Some(Kind::Heard) => self.on_heard(cx, packet),
            None => self.host.totals.nonsense += 1,
        }
    }

    fn on_gates(&mut self, cx: &mut Cx<'_>) {
        self.gated = cx.gates.any_closed();
        self.aside.look(cx.gates, PRIORITY);
        self.note_unusual();
    }

    #[inline]
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.host.nic.on_deadline(cx.now);
        while let Some(&Delayed { at, conn, credit }) = self.delayed.front() {
            if at > cx.now {
                break;
            }
            self.delayed.pop_front();
            self.look_at_credit(cx, conn, credit);
        }
        // Each turn ends an entry or moves it later than now.
        while let Some(owner) = self.timers.due(cx.now) {
            self.ring(cx, owner);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if self.unusual {
            return self.poll_unusual(cx, out);
        }
        self.host.nic.poll(cx.now, out)
    }

    #[inline]
    fn deadline(&self) -> Time {
        let next = self.timers.next().min(self.host.nic.wake());
        let delayed = self.delayed.front();
        delayed.map_or(next, |credit| next.min(credit.at))
    }

    fn check(&self) {
        self.host.nic.check();
        let Totals {
            credits_wasted,
            credits_received,
            credits_dropped,
            credits_sent,
            ..
        } = self.host.totals;
        assert!(credits_wasted <= credits_received && credits_dropped <= credits_sent);
        assert_eq!(self.senders.len(), self.sender_of.len());
        assert_eq!(self.receivers.len(), self.receiver_of.len());
        assert!(self.flows.len() <= self.receivers.len());
        assert!(self.host.wanting as usize <= self.senders.len());
        assert!(self.receivers.len() <= INCOMING_MAX && self.delayed.len() <= DELAYED_MAX);
        let turn = credits_sent.wrapping_add(credits_received);
        self.senders
            .sample(turn, CHECKED_PER_CALL)
            .for_each(Sender::check);
        for receiver in self.receivers.sample(turn, CHECKED_PER_CALL) {
            receiver.check(&self.flows, &self.host.settings);
        }
    }

    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        self.senders
            .iter()
            .filter_map(Sender::stuck)
            .for_each(&mut *report);
        self.receivers
            .iter()
            .filter_map(|r| r.stuck(&self.flows))
            .for_each(report);
    }

    fn totals(&self) -> Totals {
        self.host.totals
    }

    fn counters(&self, report: &mut Count<'_>) {
        let counts = Counts {
            line_lost: self.host.nic.lost(),
            ..self.host.counts
        };
        counts.report(report);
    }
}
