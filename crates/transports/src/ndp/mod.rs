//! NDP: switches cut what has no room, receivers pull, and senders spray.
//! [Handley et al., SIGCOMM 2017; its simulator csg-htsim]
#![doc = include_str!("README.md")]

mod early;
mod frame;
mod header;
mod host;
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
use parts::{
    Crowd, Fabric, Factory, Impatience, ParamError, Parameter, Protected, Refusal, Transport,
    Unread,
};
use units::{Rate, Span};

/// NDP on switches that trim. [ndp]
pub static NDP: Ndp = Ndp {
    first_rtt: FirstRtt::Trimmed,
    name: "ndp",
    summary: "switches trim what has no room, receivers pull, senders spray over all paths (SIGCOMM 2017)",
};
/// NDP with Aeolus, on switches that do not. [aeolus]
pub static AEOLUS: Ndp = Ndp {
    first_rtt: FirstRtt::Aeolus,
    name: "ndp+aeolus",
    summary: "and switches drop first windows first and trim nothing (SIGCOMM 2020)",
};
/// NDP with a first round trip that no pulled packet notices. [aeolus s2.3]
pub static GAPS: Ndp = Ndp {
    first_rtt: FirstRtt::Gaps,
    name: "ndp+gaps",
    summary: "and first windows take only gaps: in the simulator alone",
};

/// The transport, for the registry: on switches that trim, or with a first round trip of one kind.
pub struct Ndp {
    first_rtt: FirstRtt,
    name: &'static str,
    summary: &'static str,
}

impl Transport for Ndp {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters(self.first_rtt)
    }
    fn counters(&self) -> &'static [Counter] {
        host::Counts::ALL
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(Params::read(table, self.first_rtt)?))
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
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn sprays(&self) -> bool {
        self.ways != Spray::Flow
    }
    fn fabric(&self, _: Rate, encap: Encap) -> Fabric {
        port::fabric(self, encap)
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}
