//! Homa: receivers grant the shortest messages, and priorities in the network do the rest.
//! [Montazeri et al., SIGCOMM 2018; Linux module `HomaModule` of 2026-07]
#![doc = include_str!("README.md")]
#![allow(
    clippy::doc_markdown,
    reason = "NEED_ACK and RPC_UNKNOWN are words here, not code"
)]

mod cutoffs;
mod early;
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

pub use early::FirstRtt;
pub use params::{CutoffBy, Cutoffs, Law, Params};

use host::Host;
use model::wire::Codec;
use model::{Counter, Encap, Endpoint, EndpointConfig, Facts};
use parts::{Crowd, Fabric, Factory, ParamError, Parameter, Protected, Transport, Unread};
use units::{Rate, Span};

/// Homa in the registry.
pub static HOMA: Homa = Homa(FirstRtt::Plain);
/// Homa whose unasked packets switches drop first. [aeolus]
pub static AEOLUS: Homa = Homa(FirstRtt::Aeolus);
/// Homa whose unasked packets no granted one notices. [aeolus s2.3]
pub static GAPS: Homa = Homa(FirstRtt::Gaps);

/// The transport, for the registry: with a first round trip of one kind.
pub struct Homa(FirstRtt);

impl Transport for Homa {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn summary(&self) -> &'static str {
        self.0.summary()
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters(self.0)
    }
    fn counters(&self) -> &'static [Counter] {
        host::Counts::ALL
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(Params::read(table, self.0)?))
    }
}

impl Factory for Params {
    fn make(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Host::new(self, config))
    }
    fn settle(&self, facts: &Facts<'_>) -> Result<Option<Box<dyn Factory>>, ParamError> {
        Ok(cutoffs::settle(self, facts).map(|params| Box::new(params) as Box<dyn Factory>))
    }
    fn warns(&self, _: bool) -> Vec<String> {
        self.warnings()
    }
    fn unread(&self) -> Vec<Unread> {
        self.without_effect()
    }
    fn protects(&self, config: &EndpointConfig, _: Crowd) -> Option<Protected> {
        self.protected(config)
    }
    fn first_wait(&self) -> Option<(&'static str, Span)> {
        self.recovery.then_some(("resend_after", self.resend_after))
    }
    fn window_max(&self, encap: Encap) -> Option<(u32, Option<&'static str>)> {
        self.lone_window(encap)
    }
    fn patience(&self) -> Option<(&'static str, Span)> {
        self.recovery.then_some(("timeout", self.timeout))
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn fabric(&self, _: Rate, encap: Encap) -> Fabric {
        self.ports(encap)
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}
