//! A fixed window: each sender keeps at most so many bytes on the way.
#![doc = include_str!("README.md")]

mod header;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use header::{Accept, Ack, Data, Kind, ORDINAL_BITS, Open, Reset};
use model::wire::Codec;
use model::{Encap, Endpoint, EndpointConfig};
use params::{KEYS, PROFILES};
use parts::go_back::Sender;
use parts::host::{Host, Rules};
use parts::{Fabric, Factory, ParamError, Parameter, Transport, keys};
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
        keys::document(PROFILES, KEYS, &Params::DEFAULT)
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        let bytes = config.bdp().get() * u64::from(self.window) / 100;
        Box::new(Host::new(Window { bytes }, config, self.limits()))
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
        keys::write(KEYS, self.profile, self)
    }
}

/// What this transport has of its own.
#[derive(Debug)]
struct Window {
    /// Payload that one connection may have on the way.
    bytes: u64,
}

impl Rules<ORDINAL_BITS> for Window {
    /// Nothing is kept of a connection. [`Rules`] says when it could change.
    type Flow = ();

    parts::words!(Kind: Open {}, Accept {}, Data {}, Ack {}, Reset {});

    fn due(&self, sender: &Sender<ORDINAL_BITS>, (): &()) -> Time {
        // One packet is always allowed: less than that would never send.
        let fits = !sender.on_the_way() || sender.unacked() < self.bytes;
        if fits { Time::ZERO } else { Time::NEVER }
    }
}
