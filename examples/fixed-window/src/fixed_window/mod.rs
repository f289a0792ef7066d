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
use parts::go_back::Sender;
use parts::host::{Host, Rules};
use parts::keys::{self, Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError};
use toml::Table;
use units::{Rate, Time};

/// The transport, for a registry.
pub static TRANSPORT: Entry<Params> = Entry::new(
    "fixed-window",
    "a window of fixed size per connection, and back to the first missing byte after a loss",
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
        let bytes = config.bdp().get() * u64::from(self.window) / 100;
        Box::new(Host::new(Window { bytes }, config, self.limits()))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        // It asks nothing of the ports: no credit queue, no marks, one priority.
        Fabric {
            priorities: 1,
            ..Fabric::default()
        }
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
