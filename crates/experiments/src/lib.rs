//! Published experiments: what each folder of `experiments/` runs and expects, the numbers that are
//! taken of a run, and the verdict on each. Knows scenarios and results, neither arguments nor
//! screens: the program, Python and a page may all use it.

mod catalogue;
mod curve;
mod each;
mod figure;
mod metric;
pub mod sweep;
mod verdict;

pub use catalogue::{Case, EXPERIMENTS, Expected, Experiment, Row};
pub use curve::{Curve, Curves};
pub use each::Each;
pub use figure::{Found, Panel, Told, recorded};
pub use metric::{Measured, Metric, Run, Span2};
pub use verdict::{Verdict, Word, csv, document, page, summary, table, totals};
