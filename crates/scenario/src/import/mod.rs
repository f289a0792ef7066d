//! Experiments of other simulators as scenarios: what a configuration says goes into keys of ours, and whatever has
//! none is named with its place and the reason.

mod draft;
mod hpcc;
mod htsim;
#[cfg(test)]
mod tests;

pub use draft::Imported;
pub use hpcc::hpcc;
pub use htsim::htsim;

/// Finds a file that a configuration names: the path that a scenario should have for it, and its text.
pub type Find<'a> = &'a dyn Fn(&str) -> Option<(String, String)>;
