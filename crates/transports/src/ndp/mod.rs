//! NDP: switches cut what has no room, receivers pull, and senders spray.
//! [Handley et al., SIGCOMM 2017; its simulator csg-htsim]
#![doc = include_str!("README.md")]

mod early;
mod frame;
mod header;
mod host;
mod line;
mod params;
mod port;
mod pulls;
mod receiver;
mod sender;
mod settings;
mod silence;
#[cfg(test)]
mod tests;
mod ways;

pub use early::FirstRtt;
pub use params::{Params, Ports, Spray};

use host::Host;
use model::intent::{PortSpec, SwitchSpec};
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig, Facts};
use parts::keys::{Key, Profiles};
use parts::{
    Crowd, Declared, Entry, Fabric, Factory, Impatience, ParamError, Protected, Refusal, Unread,
};
use toml::Table;
use units::{Rate, Span};

/// NDP on switches that trim. [ndp]
pub static NDP: Entry<Params> = Entry::new(
    "ndp",
    "switches trim what has no room, receivers pull, senders spray over all paths (SIGCOMM 2017)",
);
/// NDP with Aeolus, on switches that do not. [aeolus]
pub static AEOLUS: Entry<Params> = Entry::variant(
    "ndp+aeolus",
    "and switches drop first windows first and trim nothing (SIGCOMM 2020)",
    |params| params.with(FirstRtt::Aeolus),
);
/// NDP with a first round trip that no pulled packet notices. [aeolus s2.3]
pub static GAPS: Entry<Params> = Entry::variant(
    "ndp+gaps",
    "and first windows take only gaps: in the simulator alone",
    |params| params.with(FirstRtt::Gaps),
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
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        self.preferred_in(facts)?;
        Ok(early::settle(self, facts.encap))
    }
    fn suits(&self, port: &PortSpec, _: &SwitchSpec) -> Result<(), Refusal> {
        port::suits(self, port)
    }
    fn unread(&self) -> Vec<Unread> {
        self.without_effect()
    }
    fn impatience(&self, config: &EndpointConfig) -> Option<Impatience> {
        settings::impatience(self, config)
    }
    fn protects(&self, config: &EndpointConfig, crowd: Crowd) -> Option<Protected> {
        early::protected(self, config, crowd)
    }
    fn window_max(&self, _: Encap) -> Option<(u32, Option<&'static str>)> {
        Some((settings::window_max(self), None))
    }
    fn patience(&self) -> Option<(&'static str, Span)> {
        Some(("timeout", self.timeout))
    }
    fn sprays(&self) -> bool {
        self.ways != Spray::Flow
    }
    fn fabric(&self, _: Rate, encap: Encap) -> Fabric {
        port::fabric(self, encap)
    }
}
