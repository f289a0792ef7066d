//! Scenario files: read, checked, resolved, and assembled into a run.
//!
//! A scenario is one file, of TOML or JSON. Quantities carry their unit, unknown keys are errors, every default
//! is written out in `resolved.toml`, and everything that is wrong is said at once, with file, line
//! and column. [`fields::TABLES`] describes every key once; parser, schema, reference and
//! `explain` all read it.

mod ahead;
mod assemble;
mod base;
pub mod bench;
mod beside;
pub mod builtin;
mod cases;
mod check;
mod choice;
mod collector;
mod control;
mod counted;
mod cut;
mod diagnostic;
mod dropping;
mod facts;
mod fates;
pub mod fields;
mod folder;
mod format;
pub mod fuzz;
mod ground;
mod ideal;
pub mod import;
mod load;
mod lone;
mod memory;
mod narrow;
mod network;
mod resolve;
mod resolved;
mod schema;
mod section;
mod settings;
mod shorter;
mod stops;
#[cfg(test)]
mod tests;
mod thresholds;
mod traffic;
mod tree;
mod typed;
mod vain;
mod value;
mod warnings;
mod ways;
mod why;
mod words;

pub use assemble::{Alone, Assembled, Progress, Watch};
pub use base::Files;
pub use cases::{Case, CasesOf};
pub use check::Figure;
pub use control::Controlled;
pub use diagnostic::{Diagnostic, Errors, Origin, SourceText, ends_of, nearest};
pub use memory::{held_most as memory_held, of_machine as memory_of_machine};
pub use resolve::{Request, Scenario, load, load_files, load_text, load_text_with, load_with};
pub use results::files::hash;
pub use schema::{data, explain, json_schema, known_names, markdown};
pub use section::Section;
pub use settings::{Credit, Drop, Fault, Legacy, Mark, Output, Run, Switch, Topology, Workload};
pub use typed::Settings;
pub use value::{Room, Type, Value};
pub use why::{EVENTS_MAX, HOPS_AGAIN_MAX, HOPS_KEPT_MAX, Traced};
