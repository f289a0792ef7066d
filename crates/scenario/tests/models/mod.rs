//! Small models of transports that are not here yet: one whose switches write telemetry, one that has an arbiter. They prove that the contract carries them, and nothing else:
//! one message per connection, and of recovery only what a lossy socket needs.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "shared by tests of several crates; frames and levels are few, and words are masked"
)]

pub mod arbiter;
#[path = "../../../../examples/fixed-window/src/fixed_window/header.rs"]
mod header;
pub mod hpcc;

use model::wire::Codec;
use transports::{Factory, ParamError, Parameter, Transport};

/// A transport from its name and a function that reads its table.
pub struct Model {
    pub name: &'static str,
    pub codec: &'static dyn Codec,
    pub configure: fn(&toml::Table) -> Box<dyn Factory>,
}

impl Transport for Model {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        "a model of a few dozen lines"
    }
    fn codec(&self) -> &'static dyn Codec {
        self.codec
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok((self.configure)(table))
    }
}
