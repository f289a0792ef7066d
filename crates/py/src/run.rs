//! One run, without a terminal: errors come back as text, and Ctrl-C is Python's to handle.

use pyo3::prelude::*;
use results::{Meta, Output, RunFolder, RunRecord, Status, Summary, Verdict};
use scenario::{Errors, Progress, Request, Scenario, Watch};
use std::path::PathBuf;
use std::time::Instant;
use tidegate_cli::exit;

/// Tells Python between windows how far the run is, and asks it whether to go on.
struct Listener {
    /// Called with simulated time, its limit (both in ps), messages done and in all, and
    /// packet-hops; ends the run by returning False.
    callback: Option<Py<PyAny>>,
    raised: Option<PyErr>,
    stopped: bool,
}

impl Listener {
    fn ask(&self, py: Python<'_>, at: &Progress) -> PyResult<bool> {
        py.check_signals()?;
        let Some(callback) = &self.callback else {
            return Ok(true);
        };
        let said = callback.call1(py, (at.now.0, at.until.0, at.done, at.total, at.hops))?;
        Ok(!said.is(pyo3::types::PyBool::new(py, false)))
    }
}

impl Watch for Listener {
    fn progress(&mut self, progress: &Progress) -> bool {
        if self.raised.is_none() && !self.stopped {
            match Python::attach(|py| self.ask(py, progress)) {
                Ok(go_on) => self.stopped = !go_on,
                Err(error) => self.raised = Some(error),
            }
        }
        self.raised.is_none() && !self.stopped
    }
}

/// Reads a scenario: `name` is a file or a built-in scenario, or what `text` is called.
fn read(name: &str, text: Option<&str>, sets: &[String]) -> Result<Scenario, Errors> {
    match text {
        Some(text) => scenario::load_text(name, text, sets),
        None => scenario::load(&Request { from: name, sets }),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn wrong(errors: Errors) -> (i32, String) {
    (exit::USAGE, errors.render(false))
}

/// Checks a scenario without running it. Returns 0 and what follows from it as JSON, or the exit code
/// and what is wrong.
#[pyfunction]
#[pyo3(signature = (scenario, text, sets))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what Python hands over is owned"
)]
pub(crate) fn check(
    py: Python<'_>,
    scenario: String,
    text: Option<String>,
    sets: Vec<String>,
) -> (i32, String) {
    py.detach(|| {
        let assembled = read(&scenario, text.as_deref(), &sets).and_then(Scenario::assemble);
        match assembled {
            Ok(assembled) => (exit::OK, tidegate_cli::derived(&assembled).to_string()),
            Err(errors) => wrong(errors),
        }
    })
}

/// Runs a scenario and writes its folder. Returns the exit code that the program would have ended
/// with, and what is wrong where it is not 0.
#[pyfunction]
#[pyo3(signature = (scenario, text, sets, out, *, command, started, host, threads=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "named, on the Python side")]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what Python hands over is owned"
)]
pub(crate) fn run(
    py: Python<'_>,
    scenario: String,
    text: Option<String>,
    sets: Vec<String>,
    out: PathBuf,
    command: String,
    started: String,
    host: String,
    threads: Option<u16>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(i32, String)> {
    let mut listener = Listener {
        callback: progress,
        raised: None,
        stopped: false,
    };
    let meta = Meta {
        started,
        host,
        ..about()
    };
    // Other Python threads go on while the simulation runs.
    let ended = py.detach(|| {
        let scenario = read(&scenario, text.as_deref(), &sets).map_err(wrong)?;
        execute(scenario, &out, &command, threads, meta, &mut listener)
    });
    match listener.raised {
        Some(error) => Err(error),
        None => Ok(ended.unwrap_or_else(|refused| refused)),
    }
}

/// What is the same for every run of this process.
fn about() -> Meta {
    Meta {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        ..Meta::default()
    }
}

/// The code and the text of a run that ended; the same as an error where it could not begin.
fn execute(
    scenario: Scenario,
    out: &std::path::Path,
    command: &str,
    threads: Option<u16>,
    meta: Meta,
    watch: &mut dyn Watch,
) -> Result<(i32, String), (i32, String)> {
    let conditions = scenario.conditions().map_err(wrong)?;
    let output = Output {
        hpcc_fct: scenario.output.hpcc,
        ..Output::default()
    };
    let threads = threads.unwrap_or(scenario.run.threads);
    let assembled = scenario.assemble().map_err(wrong)?;
    let [digits, asked] = assembled.scenario.hashes();
    let who = format!("a process on {}, since {}", meta.host, meta.started);
    let folder = RunFolder::claim(out, &who).map_err(|error| (exit::IO, error.to_string()))?;
    #[allow(
        clippy::disallowed_methods,
        reason = "meta.json says how long a run really took"
    )]
    let began = Instant::now();
    let (mut record, seen) = assembled
        .run_traced(threads, command, watch)
        .map_err(wrong)?;
    let meta = Meta {
        wall_s: began.elapsed().as_secs_f64(),
        threads,
        scenario: digits,
        asked,
        memory_kib: scenario::memory_held(),
        ..meta
    };
    let mut summary = Summary::of(&record);
    let verdicts: Vec<Verdict> = conditions.iter().map(|c| c.judge(&summary)).collect();
    assembled.explain_slowest(&mut record, &mut summary, seen, threads, watch);
    report::write_run(&folder, &record, &summary, &verdicts, &meta, &output, None)
        .map_err(|error| (exit::IO, error.to_string()))?;
    Ok(verdict(&record, &verdicts))
}

fn verdict(record: &RunRecord, verdicts: &[Verdict]) -> (i32, String) {
    let failed: Vec<&str> = verdicts
        .iter()
        .filter(|v| !v.passed)
        .map(|v| v.key.as_str())
        .collect();
    match (&record.conservation, record.status) {
        (Err(why), _) => (exit::BROKEN, why.clone()),
        (Ok(()), Status::Stuck) => (
            exit::BROKEN,
            match record.stuck.len() {
                0 => "lines wait for each other in a circle; the report names them".to_owned(),
                many => format!("{many} flows are stuck; the report names them"),
            },
        ),
        (Ok(()), Status::Unfinished) => (
            exit::BROKEN,
            "messages did not finish; raise run.until".to_owned(),
        ),
        (Ok(()), Status::Interrupted) => (exit::INTERRUPTED, "interrupted".to_owned()),
        (Ok(()), Status::Complete) if failed.is_empty() => (exit::OK, String::new()),
        (Ok(()), Status::Complete) => (
            exit::THRESHOLD,
            format!("not within their thresholds: {}", failed.join(", ")),
        ),
    }
}
