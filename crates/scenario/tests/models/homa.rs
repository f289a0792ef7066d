//! Homa: the receiver grants the shortest messages, and priorities do the rest. [homa s3]
//!
//! What leaves unasked goes by cut-offs between priorities, which follow from the sizes of the messages; what
//! was granted goes by the priority in the grant.

use super::{Model, ModelCodec, frame, frames};
use model::wire::Codec;
use model::{
    Class, ConnId, Count, Cx, Encap, Endpoint, EndpointConfig, Event, Facts, HostId, Lifetime, Net,
    Packet, Sizes, StuckFlow, Totals, Transmit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transports::{Fabric, Factory, ParamError};
use units::{Rate, Span, Time};

pub static HOMA: Model = Model {
    name: "homa-model",
    codec: &CODEC,
    configure: |table| {
        let arbiter = table.get("arbiter").and_then(toml::Value::as_bool);
        let cutoffs = Vec::new();
        Box::new(Homa {
            cutoffs,
            arbiter: arbiter == Some(true),
        })
    },
};
static CODEC: ModelCodec = ModelCodec {
    id: 201,
    kinds: &["DATA", "GRANT", "RESEND", "DONE", "HELLO", "WELCOME"],
    payload: |data| {
        (
            data.head[0].into(),
            u16::try_from(data.head[2] & 0xffff).unwrap(),
        )
    },
};
const DATA: u8 = 0;
const GRANT: u8 = 1;
const RESEND: u8 = 2;
const DONE: u8 = 3;
const HELLO: u8 = 4;
const WELCOME: u8 = 5;
const PRIORITIES: u8 = 8;
/// Messages that are granted at once. [homa s3.5]
const OVERCOMMIT: usize = 4;
/// Time for which a receiver remembers a message that is done.
const LINGER: Span = Span::ms(20);

pub struct Homa {
    /// Largest message of each priority of what leaves unasked, but the last of them, which takes the rest.
    cutoffs: Vec<u64>,
    /// Every host greets host 0 on a connection without messages: what a scheme with an arbiter needs.
    arbiter: bool,
}

impl Factory for Homa {
    /// As many priorities as the share of bytes that leave unasked, each with as many of those bytes. [homa s3.4]
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        let (Some(net), Some(sizes)) = (facts.net, facts.sizes) else {
            return Ok(None);
        };
        let far = HostId(net.hosts() - 1);
        let rtt = net.base_rtt(HostId(0), far).unwrap_or_default();
        let unasked = net.rate(HostId(0)).bytes_in(rtt).get();
        let (all, mean) = (sizes.mean_of_first(unasked), sizes.mean());
        let upto = |size: u64| unasked_upto(sizes, size, unasked);
        let levels = (1..u32::from(PRIORITIES)).filter(|&n| f64::from(n) < all / mean * 8.0 + 0.5);
        let levels = levels.max().unwrap_or(1);
        let cutoff = |level: u32| {
            let enough = |size: &u64| upto(*size) >= all * f64::from(level) / f64::from(levels);
            let (mut low, mut high) = (0, sizes.largest());
            while low < high {
                let middle = low + (high - low) / 2;
                if enough(&middle) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        };
        let cutoffs = (1..levels).map(cutoff).collect();
        let arbiter = self.arbiter;
        Ok(Some(Box::new(Self { cutoffs, arbiter })))
    }
    fn control(&self, facts: &Facts<'_>) -> Vec<(HostId, HostId)> {
        let hosts = facts.net.filter(|_| self.arbiter).map_or(1, Net::hosts);
        (1..hosts).map(|host| (HostId(host), HostId(0))).collect()
    }
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self.cutoffs.clone(), config))
    }
    fn codec(&self) -> &'static dyn Codec {
        &CODEC
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            priorities: PRIORITIES,
            ..Fabric::default()
        }
    }
    fn resolved(&self) -> toml::Table {
        let list = self.cutoffs.iter().map(|&size| format!("{size}B").into());
        let list = toml::Value::Array(list.collect());
        let arbiter = ("arbiter".to_owned(), self.arbiter.into());
        [("cutoffs".to_owned(), list), arbiter]
            .into_iter()
            .collect()
    }
}

/// Mean bytes per message that leave unasked, of messages up to `size`.
fn unasked_upto(sizes: &dyn Sizes, size: u64, unasked: u64) -> f64 {
    let whole = sizes.mean() * sizes.bytes_upto(size.min(unasked));
    let longer = sizes.messages_upto(size.max(unasked)) - sizes.messages_upto(unasked);
    whole + unasked as f64 * longer
}

struct Out {
    peer: HostId,
    length: Option<u32>,
    /// Frames sent, and those that may be.
    sent: u32,
    granted: u32,
    priority: u8,
    again: BTreeSet<u32>,
    heard: Time,
}

struct In {
    peer: HostId,
    length: u32,
    got: BTreeSet<u32>,
    granted: u32,
    heard: Time,
}

struct Host {
    me: HostId,
    encap: Encap,
    cutoffs: Vec<u64>,
    /// Frames that leave unasked, and that may be under way.
    window: u32,
    patience: Span,
    outs: BTreeMap<ConnId, Out>,
    ins: BTreeMap<ConnId, In>,
    done: BTreeMap<ConnId, Time>,
    control: VecDeque<Packet>,
    totals: Totals,
    counts: Counts,
}

model::counters! {
    struct Counts {
        /// Answers to greetings that arrived.
        welcomes: packets in fingerprint,
    }
}

impl Host {
    fn new(cutoffs: Vec<u64>, config: &EndpointConfig) -> Self {
        let rtt = config.rate.bytes_in(config.base_rtt).get();
        Self {
            me: config.host,
            encap: config.encap,
            cutoffs,
            window: u32::try_from(rtt.div_ceil(config.encap.wire_max().into())).unwrap(),
            patience: config.base_rtt.times(20).max(Span::ms(1)),
            outs: BTreeMap::new(),
            ins: BTreeMap::new(),
            done: BTreeMap::new(),
            control: VecDeque::new(),
            totals: Totals::default(),
            counts: Counts::default(),
        }
    }

    fn say(&mut self, to: HostId, conn: ConnId, kind: u8, head: [u32; 3]) {
        let mut packet = Packet::new(to, conn, Class::Control, kind, self.encap.frame_min);
        packet.head = head;
        self.control.push_back(packet);
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, data: &Packet) {
        let (conn, full) = (data.conn, self.encap.payload_max);
        let Some(peer) = cx.peers.peer(self.me, conn) else {
            self.totals.nonsense += 1;
            return;
        };
        if self.done.contains_key(&conn) {
            self.totals.duplicates += 1;
            return self.say(peer, conn, DONE, [0; 3]);
        }
        let [offset, length, payload] = data.head;
        let n = offset / u32::from(full);
        let known = self.ins.get(&conn).map_or(length, |message| message.length);
        let fits = n < frames(length, full)
            && frame(length, n, full) == (offset, payload as u16)
            && payload >> 16 == 0;
        if !fits || known != length {
            self.totals.nonsense += 1;
            return;
        }
        let window = self.window;
        let message = self.ins.entry(conn).or_insert_with(|| In {
            peer,
            length,
            got: BTreeSet::new(),
            granted: window.min(frames(length, full)),
            heard: cx.now,
        });
        if message.got.insert(n) {
            message.heard = cx.now;
            if payload > 0 {
                cx.accept(conn, offset.into(), payload as u16);
            }
        } else {
            self.totals.duplicates += 1;
        }
        if message.got.len() == frames(length, full) as usize {
            self.ins.remove(&conn);
            self.done.insert(conn, cx.now.after(LINGER));
            self.say(peer, conn, DONE, [0; 3]);
            let length = length.into();
            cx.events.push(Event::Received {
                conn,
                ordinal: 0,
                length,
            });
        }
        self.grant();
    }

    /// Grants the messages with the least left, the shortest at the highest priority.
    fn grant(&mut self) {
        let full = self.encap.payload_max;
        let left = |m: &In| frames(m.length, full) - m.got.len() as u32;
        let mut active: Vec<_> = self
            .ins
            .iter()
            .filter(|(_, m)| m.granted < frames(m.length, full))
            .map(|(&conn, m)| (left(m), conn))
            .collect();
        active.sort_unstable();
        active.truncate(OVERCOMMIT);
        let first = PRIORITIES - active.len() as u8;
        for (priority, (_, conn)) in (u32::from(first)..).zip(active) {
            let message = self.ins.get_mut(&conn).unwrap();
            let most = message.got.len() as u32 + self.window;
            let most = most.min(frames(message.length, full));
            if most > message.granted {
                message.granted = most;
                let peer = message.peer;
                self.say(peer, conn, GRANT, [most, priority, 0]);
            }
        }
    }

    fn on_control(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let conn = packet.conn;
        if packet.kind() == HELLO {
            let peer = cx.peers.peer(self.me, conn).unwrap_or(self.me);
            return self.say(peer, conn, WELCOME, [0; 3]);
        }
        if packet.kind() == WELCOME {
            self.counts.welcomes += 1;
            return;
        }
        let Some(out) = self.outs.get_mut(&conn) else {
            return; // an answer to a repetition
        };
        out.heard = cx.now;
        let all = frames(out.length.unwrap_or(0), self.encap.payload_max);
        let [from, upto, _] = packet.head;
        match packet.kind() {
            GRANT => {
                out.granted = out.granted.max(from.min(all));
                out.priority = (upto % u32::from(PRIORITIES)) as u8;
            }
            RESEND => out.again.extend((from..upto).take_while(|&n| n < out.sent)),
            _ if out.sent > 0 => {
                self.outs.remove(&conn);
                cx.events.push(Event::Sent { conn, ordinal: 0 });
                cx.events.push(Event::Forgotten { conn });
            }
            _ => self.totals.nonsense += 1,
        }
    }

    /// The frame that `out` sends next, and its priority: by the cut-offs where it leaves unasked.
    fn next(&self, out: &Out) -> (u32, u8) {
        let n = out.again.first().copied().unwrap_or(out.sent);
        let length = u64::from(out.length.unwrap_or(0));
        let level = self.cutoffs.partition_point(|&most| most < length) as u8;
        (n, if n < self.window { level } else { out.priority })
    }
}

impl Endpoint for Host {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, life: Lifetime) {
        if life == Lifetime::Persistent {
            self.say(peer, conn, HELLO, [0; 3]);
        }
        let out = Out {
            peer,
            length: None,
            sent: 0,
            granted: 0,
            priority: 0,
            again: BTreeSet::new(),
            heard: cx.now,
        };
        self.outs.insert(conn, out);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        let length = u32::try_from(length).ok();
        let (window, full) = (self.window, self.encap.payload_max);
        match (self.outs.get_mut(&conn), length) {
            (Some(out), Some(length)) if out.length.is_none() => {
                (out.length, out.heard) = (Some(length), cx.now);
                out.granted = window.min(frames(length, full));
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
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        match packet.kind() {
            DATA => self.on_data(cx, packet),
            _ => self.on_control(cx, packet),
        }
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        let (now, patience, full) = (cx.now, self.patience, self.encap.payload_max);
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
        for out in self.outs.values_mut() {
            if out.length.is_some() && out.heard.after(patience) <= now {
                out.heard = now;
                self.totals.timeouts += 1;
                out.again.extend((out.sent > 0).then_some(0));
            }
        }
        let mut asks = Vec::new();
        for (&conn, m) in &mut self.ins {
            if m.heard.after(patience) <= now {
                m.heard = now;
                let missing = (0..frames(m.length, full))
                    .find(|n| !m.got.contains(n))
                    .unwrap();
                asks.push((m.peer, conn, missing, m.granted.max(missing + 1)));
            }
        }
        for (peer, conn, from, upto) in asks {
            self.totals.timeouts += 1;
            self.say(peer, conn, RESEND, [from, upto, 0]);
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
        let left = |out: &Out| frames(out.length.unwrap_or(0), full) - out.sent;
        // The least left first. [homa s3.2]
        let next = self.outs.iter().filter(|(conn, out)| {
            let ready = !out.again.is_empty() || out.sent < out.granted;
            ready && cx.gates.may_send(**conn, self.next(out).1)
        });
        let next = next.min_by_key(|(conn, out)| (left(out), **conn));
        let Some((&conn, out)) = next else {
            return Transmit::Nothing;
        };
        let (length, (n, priority)) = (out.length.unwrap(), self.next(out));
        let out = self.outs.get_mut(&conn).unwrap();
        let again = out.again.remove(&n);
        out.sent = out.sent.max(n + 1);
        let (offset, payload) = frame(length, n, full);
        *packet = Packet::new(out.peer, conn, Class::Plain, DATA, self.encap.wire(payload));
        packet.head = [offset, length, payload.into()];
        packet.set_priority(priority);
        self.totals.data_sent += 1;
        self.totals.retransmitted += u64::from(again);
        Transmit::More
    }
    fn deadline(&self) -> Time {
        let outs = self.outs.values().filter(|out| out.length.is_some());
        let outs = outs.map(|out| out.heard.after(self.patience));
        let ins = self.ins.values().map(|m| m.heard.after(self.patience));
        let done = self.done.values().copied();
        outs.chain(ins).chain(done).min().unwrap_or(Time::NEVER)
    }
    fn check(&self) {
        assert!(self.outs.values().all(|out| out.granted >= out.sent));
    }
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        for (&conn, out) in &self.outs {
            let state = format!("{} of {} granted frames sent", out.sent, out.granted);
            let waits_for = "a grant or the end".to_owned();
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
