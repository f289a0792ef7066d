//! NDP: switches cut what has no room, receivers pull, and senders spray.
//! [Handley et al., SIGCOMM 2017; its simulator csg-htsim]
#![doc = include_str!("README.md")]

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

pub use params::{Params, Ports, Spray};

use host::Host;
use model::intent::{PortSpec, SwitchSpec};
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig};
use parts::{Fabric, Factory, ParamError, Parameter, Refusal, Transport};
use units::Rate;

/// NDP in the registry.
pub static NDP: Ndp = Ndp;

/// The transport "ndp".
pub struct Ndp;

impl Transport for Ndp {
    fn name(&self) -> &'static str {
        "ndp"
    }
    fn summary(&self) -> &'static str {
        "switches trim what has no room, receivers pull, senders spray over all paths (SIGCOMM 2017)"
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters()
    }
    fn counters(&self) -> &'static [Counter] {
        host::Counts::ALL
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self, config))
    }
    fn suits(&self, port: &PortSpec, _: &SwitchSpec) -> Result<(), Refusal> {
        port::suits(self, port)
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn fabric(&self, _: Rate, encap: Encap) -> Fabric {
        port::fabric(self, encap)
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}
