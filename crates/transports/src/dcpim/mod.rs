//! dcPIM: hosts match themselves to each other in rounds, an epoch ahead, and receivers give tokens to those matched.
//! [Cai, Arashloo, Agarwal, SIGCOMM 2022; its simulator `Terabit-Ethernet/dcPIM`]
#![doc = include_str!("README.md")]

mod asking;
mod clock;
mod granting;
mod header;
mod host;
mod lines;
mod matching;
mod params;
mod receiver;
mod rounds;
mod sender;
mod settings;
mod silence;
#[cfg(test)]
mod tests;

pub use params::Params;

use host::Host;
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig};
use parts::keys::{Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError, Unread, outlives};
use toml::Table;
use units::{Rate, Span};

/// dcPIM in the registry.
pub static DCPIM: Entry<Params> = Entry::new(
    "dcpim",
    "hosts match themselves in rounds, receivers give tokens to those matched (SIGCOMM 2022)",
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
        outlives(self.linger, self.timeout)
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self, config))
    }
    fn announces(&self) -> bool {
        true
    }
    fn warns(&self, _: bool) -> Vec<String> {
        self.warnings()
    }
    fn window_max(&self, _: Encap) -> Option<(u32, Option<&'static str>)> {
        Some((params::WINDOW_MAX, None))
    }
    fn unread(&self) -> Vec<Unread> {
        self.without_effect()
    }
    fn patience(&self) -> Option<(&'static str, Span)> {
        Some(("timeout", self.timeout))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            priorities: self.priorities(),
            ..Fabric::default()
        }
    }
}
