//! Tables of a run as Arrow streams, for whatever reads the `PyCapsule` interface.

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use results::compare::Advice;
use results::tables::{Described, Kind, dictionary};
use results::{Style, Summary};
use std::fs::File;
use std::path::PathBuf;
use transports::Transport;

/// The Parquet file at `path` as a capsule that holds an Arrow C stream. It is read as the stream
/// is, so the file must stay until then. [Arrow `PyCapsule` interface]
#[pyfunction]
pub(crate) fn arrow_stream(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyCapsule>> {
    let file = File::open(path)?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
    // The capsule's destructor releases what nobody took.
    let stream = FFI_ArrowArrayStream::new(reader);
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Documents `summary.json`, as one JSON list, as the table that the program prints.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what Python hands over is owned"
)]
pub(crate) fn table(summaries: String) -> PyResult<String> {
    Ok(tidegate_cli::table(&read(&summaries)?, Style::PLAIN))
}

/// What such documents advise, as JSON; none where no message has a completion time.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what Python hands over is owned"
)]
pub(crate) fn advice(summaries: String) -> PyResult<Option<String>> {
    let summaries = read(&summaries)?;
    let advice = Advice::of(&summaries.iter().collect::<Vec<_>>());
    let text = advice
        .map(|advice| serde_json::to_string(&advice))
        .transpose();
    text.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Columns of a table of runs, each with the unit of its numbers, which is empty where it has none. They are none where no
/// run has such a table.
#[pyfunction]
pub(crate) fn units(table: &str) -> Vec<(String, &'static str)> {
    let columns = tables().filter(|of| of.name == table);
    let columns = columns.flat_map(|of| of.columns);
    columns.map(|of| (of.name, of.kind.unit())).collect()
}

/// Columns of tables of runs that hold truth values, which are 1 and 0 in CSV.
#[pyfunction]
pub(crate) fn truths() -> Vec<String> {
    let columns = tables().flat_map(|of| of.columns);
    let truths = columns.filter(|of| of.kind == Kind::Flag);
    truths.map(|of| of.name).collect()
}

fn tables() -> impl Iterator<Item = Described> {
    let transports = transports::registry();
    let own = transports.iter().flat_map(Transport::counters);
    dictionary(own).into_iter()
}

fn read(summaries: &str) -> PyResult<Vec<Summary>> {
    serde_json::from_str(summaries).map_err(|error| PyValueError::new_err(error.to_string()))
}
