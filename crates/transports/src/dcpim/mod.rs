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
use parts::{Fabric, Factory, ParamError, Parameter, Transport, Unread};
use units::{Rate, Span};

/// dcPIM in the registry.
pub static DCPIM: Dcpim = Dcpim;

/// The transport "dcpim".
pub struct Dcpim;

impl Transport for Dcpim {
    fn name(&self) -> &'static str {
        "dcpim"
    }
    fn summary(&self) -> &'static str {
        "hosts match themselves in rounds, receivers give tokens to those matched (SIGCOMM 2022)"
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
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric {
            priorities: self.priorities(),
            ..Fabric::default()
        }
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}
