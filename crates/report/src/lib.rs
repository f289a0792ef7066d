#![doc = include_str!("../README.md")]

mod advice;
mod chart;
mod compare;
mod figure;
mod page;
mod run;

pub use advice::{Grounds, of_advice};
pub use compare::{Details, of_runs};
pub use figure::{Cut, Dot, Figure, Mark, Panel, Scale, Series};
pub use page::{
    EDGES_SCRIPT, EDGES_STYLE, FABRIC_SCRIPT, FABRIC_STYLE, FOLDED_FROM, PLOT_SCRIPT, PLOT_STYLE,
};
pub use run::{motion, of_run, of_why};

use results::{FileError, Meta, Output, RunFolder, RunRecord, Summary, Verdict};
use std::path::PathBuf;

/// Writes the directory of a run with its report, where `output` asks for one, and with the page `live`; returns the files, in
/// the order written.
///
/// # Errors
/// At the first file that cannot be written; the others stay.
pub fn write_run(
    folder: &RunFolder,
    run: &RunRecord,
    summary: &Summary,
    verdicts: &[Verdict],
    meta: &Meta,
    output: &Output,
    live: Option<&str>,
) -> Result<Vec<PathBuf>, FileError> {
    let page = output.report.then(|| of_run(run, summary, verdicts));
    results::write_run(
        folder,
        run,
        summary,
        verdicts,
        meta,
        output,
        [page.as_deref(), live],
    )
}
