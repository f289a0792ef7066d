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
use parts::{Fabric, Factory, ParamError, Parameter, Transport, Unread};
use units::{Rate, Span};

/// pHost in the registry.
pub static PHOST: Phost = Phost;

/// The transport "phost".
pub struct Phost;

impl Transport for Phost {
    fn name(&self) -> &'static str {
        "phost"
    }
    fn summary(&self) -> &'static str {
        "receivers give tokens that run out, switches only know three priorities (CoNEXT 2015)"
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
        Fabric::prioritised(settings::PRIORITIES)
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}
