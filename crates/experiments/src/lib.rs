#![doc = include_str!("../README.md")]

mod catalogue;
mod curve;
mod each;
mod figure;
pub mod find_load;
mod metric;
mod sentence;
pub mod sweep;
mod verdict;

pub use catalogue::{Case, EXPERIMENTS, Expected, Experiment, Row};
pub use curve::{Curve, Curves};
pub use each::Each;
pub use figure::{Found, Panel, Told, recorded};
pub use metric::{Measured, Metric, Run, Span2};
pub use verdict::{Verdict, Word, csv, document, page, summary, table, totals};
