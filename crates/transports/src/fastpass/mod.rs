//! Fastpass: an arbiter gives every frame its slot and its way. [Perry, Ousterhout et al., SIGCOMM 2014; its arbiter
//! `yonch/fastpass`; the simulator `NetSys/simulator`]
#![doc = include_str!("README.md")]

mod arbiter;
mod asking;
mod header;
mod host;
mod lanes;
mod params;
mod receiver;
mod sender;
mod settings;
mod shape;
mod silence;
#[cfg(test)]
mod tests;
mod turns;
mod ways;
mod words;

pub use params::{Clock, Order, Params, Ways};
pub use shape::{Seat, Shape, Tier};

use host::Host;
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig, Facts, HostId};
use parts::keys::{Key, Profiles};
use parts::{Crowd, Declared, Entry, Fabric, Factory, ParamError, Protected, Unread, outlives};
use toml::Table;
use units::{Rate, Span};

/// Fastpass in the registry.
pub static FASTPASS: Entry<Params> = Entry::new(
    "fastpass",
    "an arbiter gives every frame its slot and its way (SIGCOMM 2014)",
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
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        let settled = self.settled(facts)?;
        Ok(settled.map(|params| Box::new(params) as Box<dyn Factory>))
    }
    fn control(&self, facts: &Facts<'_>) -> Vec<(HostId, HostId)> {
        self.to_arbiter(facts)
    }
    fn unread(&self) -> Vec<Unread> {
        parts::unread([(self.clock == Clock::Own, ("clock = \"own\"", &["late"]))])
    }
    fn protects(&self, config: &EndpointConfig, _: Crowd) -> Option<Protected> {
        self.meets(config.rate)
    }
    fn patience(&self) -> Option<(&'static str, Span)> {
        Some(("timeout", self.timeout))
    }
    fn sprays(&self) -> bool {
        self.ways == Ways::Arbiter
    }
    fn counts_on_cables(&self) -> bool {
        true
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric::prioritised(settings::PRIORITIES)
    }
}
