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
use parts::keys::{Key, Profiles};
use parts::{Crowd, Declared, Entry, Fabric, Factory, ParamError, Protected, Unread};
use toml::Table;
use units::{Rate, Span};

/// Homa in the registry.
pub static HOMA: Entry<Params> = Entry::new(
    "homa",
    "receivers grant the shortest messages, and eight priorities let them pass (SIGCOMM 2018)",
);
/// Homa whose unasked packets switches drop first. [aeolus]
pub static AEOLUS: Entry<Params> = Entry::variant(
    "homa+aeolus",
    "and switches drop what nobody granted first (SIGCOMM 2020)",
    |params| params.with(FirstRtt::Aeolus),
);
/// Homa whose unasked packets no granted one notices. [aeolus s2.3]
pub static GAPS: Entry<Params> = Entry::variant(
    "homa+gaps",
    "and what nobody granted takes only gaps: in the simulator alone",
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
    fn agree(&mut self, table: &Table) -> Result<(), ParamError> {
        self.consistent(table)
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
    fn repairs_by(&self) -> Option<(&'static str, &'static str)> {
        (!self.recovery).then_some(("recovery", "true"))
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
    fn fabric(&self, _: Rate, encap: Encap) -> Fabric {
        self.ports(encap)
    }
}
