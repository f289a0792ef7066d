//! A transport whose hosts have a connection to an arbiter beside those of their messages, as Fastpass has.

use super::Model;
use super::header::{Accept, Ack, CODEC, Data, Kind, ORDINAL_BITS, Open, PAYLOAD_MAX, Reset};
use model::{Count, Encap, Endpoint, EndpointConfig, Facts, HostId, Lifetime, Net, Packet, Record};
use parts::go_back::Sender;
use parts::host::{self, Host, Limits, Retry, Rules, Token};
use transports::{Described, Fabric, Factory, ParamError};
use units::{Rate, Span, Time};

pub static ARBITER: Model = Model {
    name: "arbiter-model",
    codec: &CODEC,
    configure: |table| {
        let has_one = table.get("arbiter").and_then(toml::Value::as_bool);
        Box::new(Arbiter(has_one == Some(true)))
    },
};

/// Whether every host but 0 opens a connection to host 0.
struct Arbiter(bool);

/// Connections of a host, and so hosts that an arbiter can have.
const CONNECTIONS_MAX: u32 = 1_000;

impl Described for Arbiter {
    fn codec(&self) -> &'static dyn model::wire::Codec {
        &CODEC
    }
    fn resolved(&self) -> toml::Table {
        [("arbiter".to_owned(), self.0.into())]
            .into_iter()
            .collect()
    }
}

impl Factory for Arbiter {
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        let hosts = facts.net.filter(|_| self.0).map_or(0, Net::hosts);
        if hosts > CONNECTIONS_MAX {
            let message = format!("it serves {CONNECTIONS_MAX} hosts, and there are {hosts}");
            return Err(ParamError {
                key: "arbiter".to_owned(),
                message,
            });
        }
        Ok(None)
    }
    fn control(&self, facts: &Facts<'_>) -> Vec<(HostId, HostId)> {
        let hosts = facts.net.filter(|_| self.0).map_or(1, Net::hosts);
        (1..hosts).map(|host| (HostId(host), HostId(0))).collect()
    }
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        let limits = Limits {
            retry: Retry::new(Span::ms(1), Span::ms(100), 16),
            connections_max: CONNECTIONS_MAX,
            payload_max: PAYLOAD_MAX,
            token_max: Token::MAX,
        };
        Box::new(Host::new(Greeted::default(), config, limits))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            priorities: 1,
            ..Fabric::default()
        }
    }
}

model::counters! {
    struct Counts {
        /// Lasting connections that were accepted.
        welcomes: packets in fingerprint,
    }
}

type Conn = host::Conn<(), ORDINAL_BITS>;

#[derive(Debug, Default)]
struct Greeted(Counts);

impl Rules<ORDINAL_BITS> for Greeted {
    type Flow = ();

    parts::words!(Kind: Open {}, Accept {}, Data {}, Ack {}, Reset {});

    fn due(&self, sender: &Sender<ORDINAL_BITS>, (): &()) -> Time {
        let few = sender.unacked() < 20_000;
        if few { Time::ZERO } else { Time::NEVER }
    }

    fn heard(&mut self, _: Time, conn: &mut Conn, packet: &Packet, _: &Record) {
        let accepted = Kind::of(packet) == Some(Kind::Accept);
        self.0.welcomes += u64::from(accepted && conn.lifetime() == Lifetime::Persistent);
    }

    fn counters(&self, report: &mut Count<'_>) {
        self.0.report(report);
    }
}
