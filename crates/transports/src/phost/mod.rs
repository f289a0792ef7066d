//! pHost: receivers give tokens that run out, one per frame time, and switches only drop and know priorities.
//! [Gao et al., CoNEXT 2015; its simulator `NetSys/simulator`]
#![doc = include_str!("README.md")]

mod header;
mod host;
mod params;
mod receiver;
mod sender;
mod settings;
mod silence;
#[cfg(test)]
mod tests;
mod tokens;

pub use params::{Choice, Free, Params};

use host::Host;
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig};
use parts::keys::{Key, Profiles};
use parts::{Declared, Entry, Fabric, Factory, ParamError, Unread, outlives};
use toml::Table;
use units::{Rate, Span};

/// pHost in the registry.
pub static PHOST: Entry<Params> = Entry::new(
    "phost",
    "receivers give tokens that run out, switches only know three priorities (CoNEXT 2015)",
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
        Fabric::prioritised(settings::PRIORITIES)
    }
}
