//! SIRD: receivers schedule their own lines by credit, and learn from senders and switches how much of it is of use.
//! [Prasopoulos et al., NSDI 2025; its simulator epfl-dcsl/SIRD-Simulator]
#![doc = include_str!("README.md")]

mod caps;
mod crediting;
mod gained;
mod header;
mod host;
mod params;
mod peers;
mod ranks;
mod receiver;
mod sender;
mod settings;
mod silence;
#[cfg(test)]
mod tests;

pub use params::{Choice, Growth, Levels, Marks, Params};

use host::Host;
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig, Facts};
use parts::keys::{Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError, Unread};
use toml::Table;
use units::{Rate, Span};

/// SIRD in the registry.
pub static SIRD: Entry<Params> = Entry::new(
    "sird",
    "receivers give credit as senders and switches say they can use it (NSDI 2025)",
);

impl Declared for Params {
    const KEYS: &'static [Key<Self>] = params::KEYS;
    const PROFILES: &'static Profiles<Self> = params::PROFILES;
    const CODEC: &'static dyn Codec = &header::CODEC;
    const COUNTERS: &'static [Counter] = host::Counts::ALL;

    fn profile(&self) -> &'static str {
        self.profile
    }
    fn agree(&mut self, _: &Table) -> Result<(), ParamError> {
        self.consistent()
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self, config))
    }
    fn announces(&self) -> bool {
        true
    }
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        Ok(Self::settle(self, facts).map(|params| Box::new(params) as Box<dyn Factory>))
    }
    fn unread(&self) -> Vec<Unread> {
        self.without_effect()
    }
    fn patience(&self) -> Option<(&'static str, Span)> {
        Some(("timeout", self.timeout))
    }
    fn fabric(&self, rate: Rate, encap: Encap) -> Fabric {
        Fabric {
            mark: self.mark_spec(rate, encap),
            priorities: if self.levels == Levels::One { 1 } else { 2 },
            ..Fabric::default()
        }
    }
}
