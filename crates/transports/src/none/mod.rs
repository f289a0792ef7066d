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
use parts::{Fabric, Factory, ParamError, Parameter, Transport};
use units::{Rate, Time};

/// The transport without control in the registry.
pub static NONE: NoControl = NoControl;

/// The transport "none".
#[derive(Debug)]
pub struct NoControl;

impl Transport for NoControl {
    fn name(&self) -> &'static str {
        "none"
    }
    fn summary(&self) -> &'static str {
        "no control: everything leaves at the rate of the line, and goes back to the first missing byte after a loss"
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
        Box::new(Host::new(Always, config, self.limits()))
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
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
        Fabric::prioritised(1)
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
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
