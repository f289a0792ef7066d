//! HPCC: every switch says beside each packet how full it is, and the sender's window follows the fullest hop.
//! [hpcc s3]

use super::Model;
use super::header::{Accept, Ack, CODEC, Data, Kind, ORDINAL_BITS, Open, PAYLOAD_MAX, Reset};
use model::{Count, Encap, Endpoint, EndpointConfig, Hop, Packet, Record};
use parts::go_back::Sender;
use parts::host::{self, Host, Limits, Retry, Rules, Token};
use transports::{Described, Fabric, Factory};
use units::{Rate, Span, Time};

pub static HPCC: Model = Model {
    name: "hpcc-model",
    codec: &CODEC,
    configure: |table| {
        let blind = table.get("blind").and_then(toml::Value::as_bool);
        Box::new(Hpcc(blind == Some(true)))
    },
};
/// The share of a line that is to be used. [hpcc s3.3]
const ETA: f64 = 0.95;
/// Steps of additive increase before the window follows the load again. [hpcc s3.3]
const STAGES: u8 = 5;
/// Bytes of additive increase per round trip. [ours: the paper divides what eta leaves by the flows expected]
const ADD: f64 = 400.0;

/// With `true`, it does not look at what the switches say: to test that this is what holds the queues down.
struct Hpcc(bool);

impl Described for Hpcc {
    fn codec(&self) -> &'static dyn model::wire::Codec {
        &CODEC
    }
    fn resolved(&self) -> toml::Table {
        std::iter::once(("blind".to_owned(), self.0.into())).collect()
    }
}

impl Factory for Hpcc {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        let limits = Limits {
            retry: Retry::new(
                config.base_rtt.times(20).max(Span::ms(1)),
                Span::ms(100),
                16,
            ),
            connections_max: 1_000,
            payload_max: PAYLOAD_MAX,
            token_max: Token::MAX,
        };
        let rules = Windows {
            blind: self.0,
            rtt: config.base_rtt,
            bdp: config.rate.bytes_in(config.base_rtt).get() as f64,
            counts: Counts::default(),
        };
        Box::new(Host::new(rules, config, limits))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            records: true,
            telemetry: true,
            priorities: 1,
            ..Fabric::default()
        }
    }
}

model::counters! {
    struct Counts {
        /// Hops that came back beside acknowledgements.
        hops: hops,
    }
}

/// Every window of a host.
struct Windows {
    blind: bool,
    rtt: Span,
    bdp: f64,
    counts: Counts,
}

/// What is kept of a connection.
#[derive(Debug, Default)]
struct Flow {
    law: Law,
    /// The way of the last piece that came: acknowledgements take it back.
    way: Record,
}

type Conn = host::Conn<Flow, ORDINAL_BITS>;

impl Rules<ORDINAL_BITS> for Windows {
    type Flow = Flow;
    const ROOM: u16 = 64;

    parts::words!(Kind: Open {}, Accept {}, Data {}, Ack {}, Reset {});

    fn opened(&mut self, _: Time, conn: &mut Conn) {
        (conn.flow.law.window, conn.flow.law.reference) = (self.bdp, self.bdp);
        conn.flow.law.load = 1.0;
    }

    fn due(&self, sender: &Sender<ORDINAL_BITS>, flow: &Flow) -> Time {
        let fits = (sender.unacked() as f64) < flow.law.window;
        if fits { Time::ZERO } else { Time::NEVER }
    }

    fn beside(&mut self, conn: &mut Conn, packet: &Packet) -> Record {
        match Kind::of(packet) {
            Some(Kind::Data) => Record::PATH,
            _ => conn.flow.way,
        }
    }

    fn heard(&mut self, _: Time, conn: &mut Conn, packet: &Packet, record: &Record) {
        match Kind::of(packet) {
            Some(Kind::Data) => conn.flow.way = record.closed(),
            Some(Kind::Ack) if !self.blind => {
                self.counts.hops += record.hops().len() as u64;
                let sent = conn.sender().acked() + conn.sender().unacked();
                let law = &mut conn.flow.law;
                law.hear(
                    record.hops().collect(),
                    (Ack::read(packet).offset, sent),
                    self.rtt,
                    self.bdp,
                );
            }
            _ => {}
        }
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.counts.report(report);
    }
}

/// Algorithm 1 of the paper: W, W^c, U, incStage, lastUpdateSeq and L.
#[derive(Debug, Default)]
struct Law {
    window: f64,
    reference: f64,
    load: f64,
    stage: u8,
    update_at: u64,
    hops: Vec<Hop>,
}

impl Law {
    /// The load of the fullest hop, smoothed over a round trip; then the window. [hpcc algorithm 1]
    fn hear(&mut self, hops: Vec<Hop>, (acked, sent): (u64, u64), rtt: Span, most: f64) {
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
