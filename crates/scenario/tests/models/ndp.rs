//! NDP: switches cut what has no room, receivers pull, and senders spray. [ndp s3]

use super::{Model, ModelCodec, frame, frames};
use model::intent::{Limit, Over, PortSpec, QueueSpec, Share, SwitchSpec, Takes};
use model::wire::Codec;
use model::{
    Class, ConnId, Count, Cx, Encap, Endpoint, EndpointConfig, Event, HostId, Lifetime, Packet,
    StuckFlow, Totals, Transmit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transports::{Fabric, Factory, Refusal};
use units::{Bytes, LineTime, Rate, Span, Time};

pub static NDP: Model = Model {
    name: "ndp-model",
    codec: &CODEC,
    configure: |table| {
        let drops = table.get("fabric").and_then(toml::Value::as_str) == Some("drop-tail");
        Box::new(Ndp { trims: !drops })
    },
};
static CODEC: ModelCodec = ModelCodec {
    id: 202,
    kinds: &["DATA", "ACK", "NACK", "PULL"],
    payload: |data| {
        let (n, payload) = number(data);
        let size = u32::from(payload);
        // A full frame says where it begins, the last one where it ends.
        let last = data.head[0] & LAST != 0;
        let offset = if last {
            data.head[1].saturating_sub(size)
        } else {
            n * size
        };
        (offset.into(), payload)
    },
};
const DATA: u8 = 0;
const ACK: u8 = 1;
const NACK: u8 = 2;
const PULL: u8 = 3;
/// Word 0 of data: the number of the frame (15 bits), whether it is the last, and its payload (16 bits).
const LAST: u32 = 1 << 16;
const FRAMES_MAX: u32 = 1 << 15;
/// Full frames that wait in a port. [ndp s3.1]
const QUEUE: u16 = 8;
/// Headers and control packets that wait in a port, and turns that they get for one frame. [ndp s3.1]
const HEADERS: u16 = 200;
const TURNS: u16 = 10;
/// Frames of the first window, and so those under way: more than any path holds, for some wait. [htsim]
const WINDOW: u32 = 30;
const LINGER: Span = Span::ms(20);

fn number(data: &Packet) -> (u32, u16) {
    (data.head[0] >> 17, (data.head[0] & 0xffff) as u16)
}

/// NDP on ports that trim, or, to be refused, on ports that do not.
struct Ndp {
    trims: bool,
}

impl Factory for Ndp {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(config))
    }
    fn codec(&self) -> &'static dyn Codec {
        &CODEC
    }
    fn fabric(&self, _: Rate, encap: Encap) -> Fabric {
        let first = QueueSpec {
            limit: Limit::Packets(HEADERS),
            group: 1,
            ..QueueSpec::DATA
        };
        let mut headers = first;
        headers.takes.trimmed = Some(true);
        let mut control = first;
        control.takes = Takes::ALL.only(Class::Control);
        let data = QueueSpec {
            limit: Limit::Packets(QUEUE),
            over: Over::Trim {
                to: encap.frame_min,
                coin: true,
                bounce: true,
            },
            ..QueueSpec::DATA
        };
        let own = PortSpec {
            buffer: Bytes(0),
            queues: vec![headers, control, data],
            shares: vec![Share::Packets(1), Share::Packets(TURNS)],
        };
        Fabric {
            own: self.trims.then_some(own),
            ..Fabric::default()
        }
    }
    fn suits(&self, port: &PortSpec, _: &SwitchSpec) -> Result<(), Refusal> {
        let place = port.queue_of(0, Class::Plain, 0, false);
        let trims = place.is_some_and(|place| matches!(port.queues[place].over, Over::Trim { .. }));
        if trims {
            return Ok(());
        }
        Err(Refusal {
            place: "transport.kind",
            reason: "needs ports that trim what has no room; these drop it".to_owned(),
            instead: "choose fabric = \"trimming\", or \"expresspass\", which needs no trimming"
                .to_owned(),
        })
    }
    fn resolved(&self) -> toml::Table {
        let fabric = if self.trims { "trimming" } else { "drop-tail" };
        [("fabric".to_owned(), fabric.into())].into_iter().collect()
    }
}

struct Out {
    peer: HostId,
    length: Option<u32>,
    next: u32,
    acked: BTreeSet<u32>,
    again: VecDeque<u32>,
    /// Frames that may leave now, and pulls heard of.
    may: u32,
    pulled: u32,
    /// Ways in the order in which they are taken, from the back. [ndp s3.1.1]
    ways: Vec<u16>,
    heard: Time,
}

struct In {
    peer: HostId,
    length: u32,
    got: BTreeSet<u32>,
    pulls: u32,
}

struct Host {
    me: HostId,
    encap: Encap,
    /// Frames of the first window.
    window: u32,
    /// Line time of a full frame: pulls are that far apart.
    gap: Span,
    patience: Span,
    outs: BTreeMap<ConnId, Out>,
    ins: BTreeMap<ConnId, In>,
    done: BTreeMap<ConnId, Time>,
    /// Connections to pull from, in turn, and when the next pull may leave.
    turns: VecDeque<ConnId>,
    pull_at: Time,
    control: VecDeque<Packet>,
    sending: VecDeque<ConnId>,
    totals: Totals,
    counts: Counts,
}

model::counters! {
    struct Counts {
        /// Frames that took another way than the first.
        spread: packets,
    }
}

impl Host {
    fn new(config: &EndpointConfig) -> Self {
        let full = config.encap.wire_max();
        Self {
            me: config.host,
            encap: config.encap,
            window: WINDOW,
            gap: LineTime::new(config.rate).of(full.into()),
            patience: config.base_rtt.times(20).max(Span::ms(2)),
            outs: BTreeMap::new(),
            ins: BTreeMap::new(),
            done: BTreeMap::new(),
            turns: VecDeque::new(),
            pull_at: Time::ZERO,
            control: VecDeque::new(),
            sending: VecDeque::new(),
            totals: Totals::default(),
            counts: Counts::default(),
        }
    }

    fn say(&mut self, to: HostId, conn: ConnId, kind: u8, what: u32) {
        let mut packet = Packet::new(to, conn, Class::Control, kind, self.encap.frame_min);
        packet.head[0] = what;
        self.control.push_back(packet);
    }

    /// A frame, or what a switch left of it.
    fn on_data(&mut self, cx: &mut Cx<'_>, data: &Packet) {
        let (conn, full, length) = (data.conn, self.encap.payload_max, data.head[1]);
        let (n, payload) = number(data);
        let Some(peer) = cx.peers.peer(self.me, conn) else {
            self.totals.nonsense += 1;
            return;
        };
        let all = frames(length, full);
        let known = self.ins.get(&conn).map_or(length, |message| message.length);
        if n >= all || frame(length, n, full).1 != payload || known != length {
            self.totals.nonsense += 1;
            return;
        }
        if self.done.contains_key(&conn) {
            self.totals.duplicates += 1;
            return self.say(peer, conn, ACK, n);
        }
        let message = self.ins.entry(conn).or_insert_with(|| In {
            peer,
            length,
            got: BTreeSet::new(),
            pulls: 0,
        });
        if data.trimmed() {
            self.say(peer, conn, NACK, n);
        } else {
            if !message.got.insert(n) {
                self.totals.duplicates += 1;
            } else if payload > 0 {
                cx.accept(conn, frame(length, n, full).0.into(), payload);
            }
            let through = message.got.len() == all as usize;
            self.say(peer, conn, ACK, n);
            if through {
                self.ins.remove(&conn);
                self.turns.retain(|&other| other != conn);
                self.done.insert(conn, cx.now.after(LINGER));
                let length = length.into();
                return cx.events.push(Event::Received {
                    conn,
                    ordinal: 0,
                    length,
                });
            }
        }
        self.pull_at = self.pull_at.max(cx.now);
        self.turns.push_back(conn);
    }

    fn on_control(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let (conn, what) = (packet.conn, packet.head[0]);
        let Some(out) = self.outs.get_mut(&conn) else {
            return; // an answer to a repetition
        };
        out.heard = cx.now;
        match packet.kind() {
            ACK if what < out.next => {
                out.acked.insert(what);
                let all = frames(out.length.unwrap_or(0), self.encap.payload_max);
                if out.acked.len() == all as usize {
                    self.outs.remove(&conn);
                    self.sending.retain(|&other| other != conn);
                    cx.events.push(Event::Sent { conn, ordinal: 0 });
                    cx.events.push(Event::Forgotten { conn });
                }
            }
            NACK if what < out.next => out.again.push_back(what),
            PULL => {
                out.may += what.saturating_sub(out.pulled).min(FRAMES_MAX);
                out.pulled = out.pulled.max(what);
            }
            _ => self.totals.nonsense += 1,
        }
    }

    /// The next frame that `out` may send: one that was cut first. Those that came meanwhile are left out.
    fn pick(out: &mut Out, all: u32) -> Option<(u32, bool)> {
        while let Some(n) = out.again.pop_front() {
            if !out.acked.contains(&n) {
                return Some((n, true));
            }
        }
        (out.next < all).then(|| {
            out.next += 1;
            (out.next - 1, false)
        })
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, _: Lifetime) {
        let out = Out {
            peer,
            length: None,
            next: 0,
            acked: BTreeSet::new(),
            again: VecDeque::new(),
            may: 0,
            pulled: 0,
            ways: Vec::new(),
            heard: cx.now,
        };
        self.outs.insert(conn, out);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let full = self.encap.payload_max;
        let length = u32::try_from(length)
            .ok()
            .filter(|&n| frames(n, full) < FRAMES_MAX);
        match (self.outs.get_mut(&conn), length) {
            (Some(out), Some(length)) if out.length.is_none() => {
                (out.length, out.heard, out.may) = (Some(length), cx.now, self.window);
                self.sending.push_back(conn);
            }
            _ => cx.events.push(Event::Refused { conn }),
        }
    }
    fn cancel(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.sending.retain(|&other| other != conn);
        self.turns.retain(|&other| other != conn);
        let out = self.outs.remove(&conn).is_some();
        if out | self.ins.remove(&conn).is_some() | self.done.remove(&conn).is_some() {
            cx.events.push(Event::Forgotten { conn });
        }
    }
    fn accepts(&self, _: &Packet) -> bool {
        true
    }
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if packet.kind() == DATA && packet.bounced() {
            // Not even its header had room: again, at once. [ndp s3.2.4]
            if let Some(out) = self.outs.get_mut(&packet.conn) {
                out.again.push_back(number(packet).0);
                out.may += 1;
            }
        } else if packet.bounced() {
            self.totals.nonsense += 1;
        } else if packet.kind() == DATA {
            self.on_data(cx, packet);
        } else {
            self.on_control(cx, packet);
        }
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        let (now, patience) = (cx.now, self.patience);
        let over: Vec<_> = self
            .done
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|d| *d.0)
            .collect();
        for conn in over {
            self.done.remove(&conn);
            cx.events.push(Event::Forgotten { conn });
        }
        if self.pull_at <= now
            && let Some(conn) = self.turns.pop_front()
        {
            self.pull_at = now + self.gap;
            let message = self
                .ins
                .get_mut(&conn)
                .expect("turns are of messages under way");
            message.pulls += 1;
            let (peer, pulls) = (message.peer, message.pulls);
            self.say(peer, conn, PULL, pulls);
        }
        for out in self.outs.values_mut() {
            if out.length.is_some() && out.heard.after(patience) <= now {
                (out.heard, out.may) = (now, out.may + 1);
                self.totals.timeouts += 1;
                out.again = (0..out.next).filter(|n| !out.acked.contains(n)).collect();
            }
        }
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, packet: &mut Packet) -> Transmit {
        if cx.gates.may_say(0)
            && let Some(control) = self.control.pop_front()
        {
            *packet = control;
            return Transmit::More;
        }
        let full = self.encap.payload_max;
        for _ in 0..self.sending.len() {
            let conn = self.sending.pop_front().unwrap();
            self.sending.push_back(conn);
            let out = self.outs.get_mut(&conn).unwrap();
            let length = out.length.unwrap();
            let all = frames(length, full);
            if out.may == 0 || !cx.gates.may_send(conn, 0) {
                continue;
            }
            let Some((n, again)) = Self::pick(out, all) else {
                continue;
            };
            out.may -= 1;
            let payload = frame(length, n, full).1;
            let last = if n + 1 == all { LAST } else { 0 };
            *packet = Packet::new(out.peer, conn, Class::Plain, DATA, self.encap.wire(payload));
            packet.head = [n << 17 | last | u32::from(payload), length, 0];
            if out.ways.is_empty() {
                out.ways = (0..cx.peers.ways(self.me, out.peer).max(1)).collect();
                for i in (1..out.ways.len()).rev() {
                    let other = cx.rng.below(i as u64 + 1) as usize;
                    out.ways.swap(i, other);
                }
            }
            let way = out.ways.pop().unwrap();
            packet.set_path(way);
            self.counts.spread += u64::from(way > 0);
            self.totals.data_sent += 1;
            self.totals.retransmitted += u64::from(again);
            return Transmit::More;
        }
        Transmit::Nothing
    }
    fn deadline(&self) -> Time {
        let pull = if self.turns.is_empty() {
            Time::NEVER
        } else {
            self.pull_at
        };
        let outs = self.outs.values().filter(|out| out.length.is_some());
        let outs = outs.map(|out| out.heard.after(self.patience));
        let done = self.done.values().copied();
        outs.chain(done).min().unwrap_or(Time::NEVER).min(pull)
    }
    fn check(&self) {
        assert!(self.turns.iter().all(|conn| self.ins.contains_key(conn)));
    }
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (&conn, out) in self.outs.iter().filter(|(_, out)| out.length.is_some()) {
            let state = format!("{} frames acknowledged", out.acked.len());
            let waits_for = "a pull".to_owned();
            report(StuckFlow {
                conn,
                state,
                waits_for,
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
