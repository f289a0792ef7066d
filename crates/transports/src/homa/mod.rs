//! Homa: receivers grant the shortest messages, and priorities in the network do the rest.
//! [Montazeri et al., SIGCOMM 2018; Linux module `HomaModule` of 2026-07]
#![doc = include_str!("README.md")]
#![allow(
    clippy::doc_markdown,
    reason = "NEED_ACK and RPC_UNKNOWN are words here, not code"
)]

mod cutoffs;
mod granting;
mod header;
mod host;
mod params;
mod ranks;
mod receiver;
mod sender;
mod settings;
mod silence;
#[cfg(test)]
mod tests;

pub use params::{CutoffBy, Cutoffs, Law, Params};

use host::Host;
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig, Facts};
use parts::{Fabric, Factory, ParamError, Parameter, Transport};
use units::Rate;

/// Homa in the registry.
pub static HOMA: Homa = Homa;

/// The transport "homa".
pub struct Homa;

impl Transport for Homa {
    fn name(&self) -> &'static str {
        "homa"
    }
    fn summary(&self) -> &'static str {
        "receivers grant the shortest messages, and eight priorities let them pass (SIGCOMM 2018)"
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
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        let settled = cutoffs::settle(self, facts);
        Ok(settled.map(|params| Box::new(params) as Box<dyn Factory>))
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            priorities: self.priorities,
            ..Fabric::default()
        }
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}
