//! `tidegate._core`: the program, and one run, as functions that Python calls.
//!
//! Thin on purpose: what a run is, what it writes and what it refuses is decided by `scenario` and
//! `results`, and Python reads the same files that every other reader does. [ADR 10]

mod run;
mod table;

use pyo3::prelude::*;
use std::ffi::OsString;

/// What `tidegate new-transport` writes beside a new crate: `build.rs` packs it.
static SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources"));

/// What Python sees of tidegate's machine code.
#[pymodule]
mod _core {
    use super::{OsString, PyResult, Python, SOURCES, pyfunction};

    #[pymodule_export]
    use super::run::{check, run};
    #[pymodule_export]
    use super::table::{advice, arrow_stream, table, truths, units};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the program with these arguments (its own name left out) and returns its exit code.
    /// `python` is the interpreter with which it starts itself again: of an environment, and not the
    /// file behind it, which knows nothing of the environment.
    #[pyfunction]
    fn main(py: Python<'_>, argv: Vec<OsString>, python: OsString) -> PyResult<i32> {
        tidegate_cli::launched_by(vec![python, "-m".into(), "tidegate".into()]);
        tidegate_cli::carries(SOURCES);
        let arguments = std::iter::once(OsString::from("tidegate")).chain(argv);
        // Other Python threads go on while the simulation runs.
        let code = py.detach(move || tidegate_cli::main_with(arguments, &transports::registry()));
        py.check_signals()?;
        Ok(code)
    }
}
