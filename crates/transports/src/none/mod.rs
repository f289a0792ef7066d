//! No control: every host sends what it has as fast as its line takes it, in order.
#![doc = include_str!("README.md")]

mod header;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use header::{Accept, Ack, Data, Kind, ORDINAL_BITS, Open, Reset};
use model::wire::Codec;
use model::{ConnId, Encap, Endpoint, EndpointConfig, HostId, Packet};
use parts::go_back::{Piece, Sender, Wanted};
use parts::host::{Host, Rules, Said};
use parts::keys::{Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError, keys};
use toml::Table;
use units::{Rate, Time};

/// The transport without control in the registry.
pub static NONE: Entry<Params> = Entry::new(
    "none",
    "no control: everything leaves at the rate of the line, and goes back to the first missing byte after a loss",
);

impl Declared for Params {
    const KEYS: &'static [Key<Self>] = params::KEYS;
    const PROFILES: &'static Profiles<Self> = params::PROFILES;
    const CODEC: &'static dyn Codec = &header::CODEC;

    fn profile(&self) -> &'static str {
        self.profile
    }
    fn agree(&mut self, _: &Table) -> Result<(), ParamError> {
        if self.retry > self.retry_max {
            return Err(keys::error("retry", "is longer than retry_max"));
        }
        Ok(())
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(Always, config, self.limits()))
    }
    fn warns(&self, spreads: bool) -> Vec<String> {
        let overtaken = || {
            "packets are spread over all paths: what overtakes counts as lost, and leaves again after a timer; set \
             switch.balance = \"flow\""
                .to_owned()
        };
        spreads.then(overtaken).into_iter().collect()
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        // It asks nothing of the ports: no credit queue, no marks, one priority.
        Fabric {
            unbounded: true,
            ..Fabric::prioritised(1)
        }
    }
}

/// Whatever is there may leave.
#[derive(Debug)]
struct Always;

impl Rules<ORDINAL_BITS> for Always {
    type Flow = ();
    const EAGER: bool = true;

    fn said(packet: &Packet) -> Option<Said> {
        Some(match Kind::of(packet)? {
            Kind::Open => {
                let Open { lifetime, token } = Open::read(packet);
                Said::Open { lifetime, token }
            }
            Kind::Accept => Said::Accept {
                token: Accept::read(packet).token,
            },
            Kind::Data => {
                let data = Data::read(packet);
                let piece = Piece {
                    ordinal: data.ordinal,
                    offset: data.offset,
                    length: data.length,
                    end: data.end,
                };
                Said::Data {
                    token: data.token,
                    opens: data.opens,
                    lifetime: data.lifetime,
                    piece,
                }
            }
            Kind::Ack => {
                let ack = Ack::read(packet);
                let wanted = Wanted {
                    ordinal: ack.ordinal,
                    offset: ack.offset,
                    gap: ack.gap,
                };
                Said::Ack {
                    token: ack.token,
                    wanted,
                }
            }
            Kind::Reset => Said::Reset {
                token: Reset::read(packet).token,
            },
        })
    }

    fn packet(said: Said, to: HostId, conn: ConnId, size: u16) -> Packet {
        match said {
            Said::Open { lifetime, token } => Open { token, lifetime }.packet(to, conn, size),
            Said::Accept { token } => Accept { token }.packet(to, conn, size),
            Said::Data {
                token,
                opens,
                lifetime,
                piece,
            } => Data {
                offset: piece.offset,
                length: piece.length,
                ordinal: piece.ordinal,
                token,
                lifetime,
                opens,
                end: piece.end,
            }
            .packet(to, conn, size),
            Said::Ack { token, wanted } => Ack {
                offset: wanted.offset,
                ordinal: wanted.ordinal,
                token,
                gap: wanted.gap,
            }
            .packet(to, conn, size),
            Said::Reset { token } => Reset { token }.packet(to, conn, size),
        }
    }

    fn due(&self, _: &Sender<ORDINAL_BITS>, (): &()) -> Time {
        Time::ZERO
    }
}
