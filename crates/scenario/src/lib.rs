//! Scenario files: read, checked, resolved, and assembled into a run.
//!
//! A scenario is one TOML file. Quantities carry their unit, unknown keys are errors, every default
//! is written out in `resolved.toml`, and everything that is wrong is said at once, with file, line
//! and column. [`fields::TABLES`] describes every key once; parser, schema, reference and
//! `explain` all read it.

pub mod builtin;
mod diagnostic;
pub mod fields;
mod resolve;
#[cfg(test)]
mod tests;
mod tree;
mod value;

pub use diagnostic::{Diagnostic, Errors, Origin, SourceText};
pub use resolve::{Request, Scenario, Section, load, load_text};
pub use value::{Type, Value};
