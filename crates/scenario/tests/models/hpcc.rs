//! HPCC: every switch says beside each packet how full it is, and the sender's window follows the fullest hop.
//! [hpcc s3]

use super::{Model, ModelCodec};
use model::wire::Codec;
use model::{
    Class, ConnId, Count, Cx, Encap, Endpoint, EndpointConfig, Event, Hop, HostId, Lifetime,
    Packet, Record, StuckFlow, Totals, Transmit,
};
use std::collections::{BTreeMap, VecDeque};
use transports::{Fabric, Factory};
use units::{Rate, Span, Time};

pub static HPCC: Model = Model {
    name: "hpcc-model",
    codec: &CODEC,
    configure: |table| {
        let blind = table.get("blind").and_then(toml::Value::as_bool);
        Box::new(Hpcc(blind == Some(true)))
    },
};
static CODEC: ModelCodec = ModelCodec {
    id: 203,
    kinds: &["DATA", "ACK"],
    payload: |data| (data.head[0].into(), (data.head[2] & 0xffff) as u16),
};
const DATA: u8 = 0;
const ACK: u8 = 1;
/// Bytes that every frame keeps free for its record.
const ROOM: u16 = 64;
/// The share of a line that is to be used. [hpcc s3.3]
const ETA: f64 = 0.95;
/// Steps of additive increase before the window follows the load again. [hpcc s3.3]
const STAGES: u8 = 5;
/// Bytes of additive increase per round trip. [ours: the paper divides what eta leaves by the flows expected]
const ADD: f64 = 400.0;
/// Time for which a receiver remembers a message that is done.
const LINGER: Span = Span::ms(20);

/// With `true`, it does not look at what the switches say: to test that this is what holds the queues down.
struct Hpcc(bool);

impl Factory for Hpcc {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host {
            me: config.host,
            encap: config.encap,
            blind: self.0,
            rtt: config.base_rtt,
            bdp: config.rate.bytes_in(config.base_rtt).get() as f64,
            patience: config.base_rtt.times(20).max(Span::ms(1)),
            outs: BTreeMap::new(),
            turn: ConnId(0),
            ins: BTreeMap::new(),
            done: BTreeMap::new(),
            answers: VecDeque::new(),
            record: Record::EMPTY,
            totals: Totals::default(),
            counts: Counts::default(),
        })
    }
    fn codec(&self) -> &'static dyn Codec {
        &CODEC
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            records: true,
            telemetry: true,
            priorities: 1,
            ..Fabric::default()
        }
    }
    fn resolved(&self) -> toml::Table {
        std::iter::once(("blind".to_owned(), self.0.into())).collect()
    }
}

struct Out {
    peer: HostId,
    length: Option<u32>,
    /// Bytes sent and acknowledged, and the most that ever were sent; an empty message is one frame.
    sent: u32,
    acked: u32,
    most: u32,
    begun: bool,
    heard: Time,
    law: Law,
}

/// Algorithm 1 of the paper: W, W^c, U, incStage, lastUpdateSeq and L.
struct Law {
    window: f64,
    reference: f64,
    load: f64,
    stage: u8,
    update_at: u32,
    hops: Vec<Hop>,
}

impl Law {
    /// The load of the fullest hop, smoothed over a round trip; then the window. [hpcc algorithm 1]
    fn hear(&mut self, hops: Vec<Hop>, (acked, sent): (u32, u32), rtt: Span, most: f64) {
        let rtt_ns = rtt.0 as f64 / 1e3;
        let (mut load, mut over) = (0.0, rtt_ns);
        let same = hops.len() == self.hops.len();
        for (now, before) in hops.iter().zip(&self.hops).filter(|_| same) {
            let (ns, rate) = (f64::from(now.ns_since(before)), now.rate.0 as f64 / 8e9);
            if ns <= 0.0 || rate <= 0.0 {
                continue;
            }
            let queue = now.queue.min(before.queue) as f64;
            let sent = now.sent_since(before) as f64 / ns;
            let of_hop = queue / (rate * rtt_ns) + sent / rate;
            if of_hop > load {
                (load, over) = (of_hop, ns.min(rtt_ns));
            }
        }
        if same && load > 0.0 {
            let part = over / rtt_ns;
            self.load = self.load * (1.0 - part) + load * part;
        }
        self.hops = hops;
        let update = acked > self.update_at;
        let reduce = self.load >= ETA || self.stage >= STAGES;
        let base = if reduce {
            self.reference / (self.load / ETA)
        } else {
            self.reference
        };
        self.window = (base + ADD).clamp(ADD, most);
        if update {
            self.stage = if reduce { 0 } else { self.stage + 1 };
            self.reference = self.window;
            self.update_at = sent;
        }
    }
}

struct In {
    length: u32,
    got: u32,
}

struct Host {
    me: HostId,
    encap: Encap,
    blind: bool,
    rtt: Span,
    bdp: f64,
    patience: Span,
    outs: BTreeMap<ConnId, Out>,
    turn: ConnId,
    ins: BTreeMap<ConnId, In>,
    done: BTreeMap<ConnId, (Time, u32)>,
    answers: VecDeque<(Packet, Record)>,
    /// Of the packet that left last.
    record: Record,
    totals: Totals,
    counts: Counts,
}

model::counters! {
    struct Counts {
        /// Hops that came back beside acknowledgements.
        hops: hops,
    }
}

impl Host {
    fn full(&self) -> u16 {
        self.encap.payload_max - ROOM
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, data: &Packet, path: &Record) {
        let conn = data.conn;
        let [offset, length, payload] = data.head;
        let known = self.ins.get(&conn).map_or(length, |message| message.length);
        let end = offset.checked_add(payload);
        let peer = cx.peers.peer(self.me, conn);
        let (Some(peer), Some(end)) = (peer, end.filter(|&end| end <= length && known == length))
        else {
            self.totals.nonsense += 1;
            return;
        };
        if payload > u32::from(self.full()) || (payload == 0) != (length == 0) {
            self.totals.nonsense += 1;
            return;
        }
        let got = if let Some(&(_, length)) = self.done.get(&conn) {
            self.totals.duplicates += 1;
            length
        } else {
            let message = self.ins.entry(conn).or_insert(In { length, got: 0 });
            if offset == message.got {
                message.got = end;
                if payload > 0 {
                    cx.accept(conn, offset.into(), payload as u16);
                }
            } else {
                self.totals.duplicates += 1; // go-back-N keeps nothing behind a gap
            }
            message.got
        };
        let mut ack = Packet::new(peer, conn, Class::Control, ACK, self.encap.wire(ROOM));
        ack.head = [got, 0, 0];
        ack.set_record();
        self.answers.push_back((ack, path.closed()));
        if got == length && self.ins.remove(&conn).is_some() {
            self.done.insert(conn, (cx.now.after(LINGER), length));
            cx.events.push(Event::Received {
                conn,
                ordinal: 0,
                length: length.into(),
            });
        }
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, packet: &Packet, path: &Record) {
        let conn = packet.conn;
        let Some(out) = self.outs.get_mut(&conn) else {
            return; // an answer to a repetition
        };
        if packet.head[0] > out.most || !out.begun || path.is_path() {
            self.totals.nonsense += 1;
            return;
        }
        self.counts.hops += path.hops().len() as u64;
        out.heard = cx.now;
        out.acked = out.acked.max(packet.head[0]);
        out.sent = out.sent.max(out.acked);
        if !self.blind {
            let hops = path.hops().collect();
            out.law
                .hear(hops, (out.acked, out.sent), self.rtt, self.bdp);
        }
        if Some(out.acked) == out.length {
            self.outs.remove(&conn);
            cx.events.push(Event::Sent { conn, ordinal: 0 });
            cx.events.push(Event::Forgotten { conn });
        }
    }
}

impl Out {
    /// Whether it may send its next frame.
    fn ready(&self) -> bool {
        let left = self
            .length
            .is_some_and(|length| self.sent < length || !self.begun);
        left && f64::from(self.sent - self.acked) < self.law.window
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, _: Lifetime) {
        let law = Law {
            window: self.bdp,
            reference: self.bdp,
            load: 1.0,
            stage: 0,
            update_at: 0,
            hops: Vec::new(),
        };
        let out = Out {
            peer,
            length: None,
            sent: 0,
            acked: 0,
            most: 0,
            begun: false,
            heard: cx.now,
            law,
        };
        self.outs.insert(conn, out);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        match (self.outs.get_mut(&conn), u32::try_from(length).ok()) {
            (Some(out), Some(length)) if out.length.is_none() => {
                (out.length, out.heard) = (Some(length), cx.now);
            }
            _ => cx.events.push(Event::Refused { conn }),
        }
    }
    fn cancel(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let out = self.outs.remove(&conn).is_some();
        if out | self.ins.remove(&conn).is_some() | self.done.remove(&conn).is_some() {
            cx.events.push(Event::Forgotten { conn });
        }
    }
    fn on_packet(&mut self, _: &mut Cx<'_>, _: &Packet) {
        self.totals.nonsense += 1; // all of its packets have records
    }
    fn on_packet_with(&mut self, cx: &mut Cx<'_>, packet: &Packet, record: &Record) {
        match packet.kind() {
            DATA => self.on_data(cx, packet, record),
            _ => self.on_ack(cx, packet, record),
        }
    }
    fn record(&self, _: &Packet) -> Record {
        self.record
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        let over = self.done.iter().filter(|(_, (at, _))| *at <= cx.now);
        let over: Vec<_> = over.map(|(&conn, _)| conn).collect();
        for conn in over {
            self.done.remove(&conn);
            cx.events.push(Event::Forgotten { conn });
        }
        for out in self.outs.values_mut().filter(|out| out.length.is_some()) {
            if out.heard.after(self.patience) <= cx.now {
                out.heard = cx.now;
                (out.sent, out.begun) = (out.acked, false);
                self.totals.timeouts += 1;
            }
        }
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, packet: &mut Packet) -> Transmit {
        if cx.gates.may_say(0)
            && let Some((ack, path)) = self.answers.pop_front()
        {
            (*packet, self.record) = (ack, path);
            return Transmit::More;
        }
        let full = u32::from(self.full());
        let after = ConnId(self.turn.0.wrapping_add(1));
        let in_turn = self.outs.range(after..).chain(self.outs.range(..after));
        let mut ready = in_turn.filter(|(conn, out)| out.ready() && cx.gates.may_send(**conn, 0));
        let Some((&conn, _)) = ready.next() else {
            return Transmit::Nothing;
        };
        self.turn = conn;
        let out = self.outs.get_mut(&conn).unwrap();
        let length = out.length.unwrap();
        let payload = (length - out.sent).min(full) as u16;
        let size = self.encap.wire(payload + ROOM);
        *packet = Packet::new(out.peer, conn, Class::Plain, DATA, size);
        packet.head = [out.sent, length, payload.into()];
        packet.set_record();
        self.record = Record::PATH;
        self.totals.data_sent += 1;
        self.totals.retransmitted +=
            u64::from(out.sent < out.most || out.most == length && length > 0);
        out.sent += u32::from(payload);
        (out.most, out.begun) = (out.most.max(out.sent), true);
        Transmit::More
    }
    fn deadline(&self) -> Time {
        let outs = self.outs.values().filter(|out| out.length.is_some());
        let outs = outs.map(|out| out.heard.after(self.patience));
        let done = self.done.values().map(|&(at, _)| at);
        outs.chain(done).min().unwrap_or(Time::NEVER)
    }
    fn check(&self) {
        assert!(self.outs.values().all(|out| out.acked <= out.sent));
    }
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (&conn, out) in &self.outs {
            report(StuckFlow {
                conn,
                state: format!("{} B sent, window {} B", out.sent, out.law.window),
                waits_for: "an acknowledgement".to_owned(),
            });
        }
    }
    fn totals(&self) -> Totals {
        self.totals
    }
    fn counters(&self, report: &mut Count<'_>) {
        self.counts.report(report);
    }
}
