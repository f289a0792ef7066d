//! Rows and verdicts of runs. Knows what happened, never how it was produced, nor how a page draws it.
//!
//! The caller fills a [`RunRecord`]; [`Summary::of`] reduces it to the numbers of
//! `summary.json`; [`table`] shows them on a terminal, [`Threshold`] judges them, [`compare`] sets
//! several runs side by side, and [`write_run`] puts it all into a directory that comes out byte for
//! byte the same for the same scenario and seed. Crate `report` draws pages of it.

mod apart;
pub mod backlog;
#[cfg(feature = "parquet")]
pub mod columns;
pub mod compare;
mod curves;
pub mod dictionary;
mod figures;
pub mod files;
mod folder;
mod grid;
mod ground;
pub mod human;
pub mod kind;
mod line;
mod lines;
mod queues;
mod record;
mod series;
mod sizes;
pub mod stats;
mod summary;
pub mod table;
pub mod tables;
mod threshold;
pub mod trace;
mod unit;

pub use apart::{Control, OfTag, OfTransport, OwnCounter, Pauses, telling};
pub use curves::{CURVES_SCHEMA, Curves, QueueCurve, SizeCurves};
pub use figures::{NAMED_METRICS, metrics};
pub use files::{FileError, FlowWriter, Meta, Output, write_run};
pub use folder::{ClaimError, RunFolder};
pub use grid::{Style, beside, wrap};
pub use ground::{Asked, AtPort, Ground, Needs};
pub use lines::{LinkGroup, link_group_name, ports_span, utilisation};
pub use record::{
    Counted, Derived, FlowControl, FlowRow, FlowSeriesRow, MemoryPart, MemoryRow, Names, PortRow,
    PortSeriesRow, RunRecord, Status, StuckRow, Way,
};
pub use series::{LinkSamples, PortSeries, Samples};
pub use sizes::SizeBin;
pub use summary::{
    CountedSummary, Credits, DerivedSummary, Drops, Goodput, Messages, Packets, QueueMax, SCHEMA,
    SLOWEST_MAX, Slow, Stuck, Summary, active, active_span, counts, fct, slowdown,
};
pub use threshold::{Threshold, ThresholdError, Verdict, escape, junit};
pub use unit::Unit;
