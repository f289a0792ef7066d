//! Tables, summaries and reports of runs. Knows what happened, never how it was produced.

mod record;

pub use record::{
    CLASSES, Derived, FlowRow, FlowSeriesRow, PortRow, PortSeriesRow, REASONS, RunRecord, Status,
    StuckRow,
};
