//! The directory of a run. Everything but `meta.json` is a pure function of the resolved scenario
//! and comes out byte for byte the same; `meta.json` comes last, so that its presence says that
//! the directory is whole.

use crate::curves::{CURVES_SCHEMA, Curves};
use crate::folder::{RunFolder, open_locked};
use crate::kind::{InBytes, Kib, Seconds};
use crate::record::{FlowRow, Names, RunRecord};
use crate::summary::Summary;
use crate::tables::{self, Look, Table};
use crate::threshold::{Verdict, junit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use units::{Span, Time};

/// How and where a run was made: the only part of its results that differs between machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the program.
    pub version: String,
    /// Revision of the source tree, where known.
    pub revision: Option<String>,
    /// Name of the machine.
    pub host: String,
    /// Operating system and processor: `linux x86_64`.
    pub platform: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// How long it took, in seconds.
    pub wall_s: Seconds,
    /// Threads used.
    pub threads: u16,
    /// Most memory that the process had held before it wrote these files, in KiB; 0 where the system does not say.
    #[serde(default)]
    pub memory_kib: Kib,
    /// Hash of the resolved scenario and of the files that it names, 16 hexadecimal digits: whose results these are.
    #[serde(default)]
    pub scenario: String,
    /// The same of the scenario as it was asked for, where transports filled in since what follows from network and
    /// messages: a comparison that goes on finds its runs by it.
    #[serde(default)]
    pub asked: String,
    /// Length of every other file of the run, by name, by which a damaged one is found.
    #[serde(default)]
    pub bytes: BTreeMap<String, InBytes>,
    /// Hash of `summary.json`, 16 hexadecimal digits: tables and comparisons are made of it.
    #[serde(default)]
    pub summary: String,
    /// The same of `curves.json`, by which a page of several runs draws this one; empty where there is none.
    #[serde(default)]
    pub curves: String,
}

/// Which files a run directory gets besides `resolved.toml`, `summary.json` and `meta.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is one file that may be asked for"
)]
pub struct Output {
    /// `flows.csv`, `ports.csv`, `hosts.csv`, for a window of time `ports-window.csv`, and, where sampled,
    /// `series.csv` and `flow-series.csv`, and `memory.csv`.
    pub csv: bool,
    /// `report.html`, which crate `report` draws, and `curves.json`, by which a page of several runs draws this one.
    pub report: bool,
    /// `fct.txt` in the layout of the HPCC simulator.
    pub hpcc_fct: bool,
    /// `junit.xml`.
    pub junit: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            csv: true,
            report: true,
            hpcc_fct: false,
            junit: false,
        }
    }
}

/// A file that could not be written; what was written before it stays.
#[derive(Debug)]
pub struct FileError {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot write {}: {}; choose another directory with --out",
            self.path.display(),
            self.source
        )
    }
}
impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

const FLOWS: &str = "flows.csv";
pub(crate) const FLOWS_PARTIAL: &str = "flows.partial.csv";
const CURVES: &str = "curves.json";
pub(crate) const META: &str = "meta.json";
const SUMMARY: &str = "summary.json";
/// The report that can be run again.
const LIVE: &str = "live.html";
/// What a run may write besides `meta.json`, which comes last.
const FILES: [&str; 21] = [
    "resolved.toml",
    "summary.json",
    FLOWS,
    "ports.csv",
    "hosts.csv",
    "ports-window.csv",
    "series.csv",
    "flow-series.csv",
    "memory.csv",
    "flows.parquet",
    "ports.parquet",
    "hosts.parquet",
    "series.parquet",
    "flow-series.parquet",
    "memory.parquet",
    "fct.txt",
    "junit.xml",
    "report.html",
    LIVE,
    CURVES,
    FLOWS_PARTIAL,
];

/// Writes the directory of a run, the first of `pages` as its `report.html` and the second as its `live.html`, and returns the files, in the order written. What an earlier run
/// wrote there and this one does not is removed.
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
    pages: [Option<&str>; 2],
) -> Result<Vec<PathBuf>, FileError> {
    let dir = folder.path();
    // A directory that is being overwritten is not whole, and what is in it is of this run alone.
    let old = FILES.into_iter().filter(|&name| name != FLOWS_PARTIAL);
    for name in std::iter::once(META).chain(old) {
        remove(dir.join(name))?;
    }
    let mut written = Vec::new();
    let mut file = |name: &str, fill: &mut Fill<'_>| -> Result<(), FileError> {
        assert!(FILES.contains(&name), "{name} would outlive its run");
        written.push(write(dir, name, fill)?);
        Ok(())
    };
    file("resolved.toml", &mut |out| {
        out.write_all(run.scenario_toml.as_bytes())
    })?;
    file(SUMMARY, &mut |out| {
        out.write_all(to_json(summary).as_bytes())
    })?;
    if output.csv {
        write_csv(run, &mut file)?;
    }
    #[cfg(feature = "parquet")]
    crate::columns::each(run, &mut file)?;
    if output.hpcc_fct {
        file("fct.txt", &mut |out| hpcc_fct(out, run))?;
    }
    if output.junit {
        file("junit.xml", &mut |out| {
            out.write_all(junit(&[(summary, verdicts)]).as_bytes())
        })?;
    }
    let [page, live] = pages;
    let mut drawn = String::new();
    if let Some(page) = live {
        file(LIVE, &mut |out| out.write_all(page.as_bytes()))?;
    }
    if let Some(page) = page {
        file("report.html", &mut |out| out.write_all(page.as_bytes()))?;
        let curves = serde_json::to_string(&Curves::of(run, summary));
        let curves = curves.expect("keys are strings and numbers are finite") + "\n";
        drawn = digits(curves.as_bytes());
        file(CURVES, &mut |out| out.write_all(curves.as_bytes()))?;
    }
    for name in FILES {
        let path = dir.join(name);
        if !written.contains(&path) {
            remove(path)?;
            remove(draft(dir, name))?;
        }
    }
    let meta = Meta {
        bytes: lengths(&written)?,
        summary: digits(to_json(summary).as_bytes()),
        curves: drawn,
        ..meta.clone()
    };
    written.push(write(dir, META, &mut |out| {
        out.write_all(to_json(&meta).as_bytes())
    })?);
    Ok(written)
}

/// How long these files are, by name.
fn lengths(files: &[PathBuf]) -> Result<BTreeMap<String, u64>, FileError> {
    let length = |path: &PathBuf| match fs::metadata(path) {
        Ok(about) => Ok((file_name(path), about.len())),
        Err(source) => Err(FileError {
            path: path.clone(),
            source,
        }),
    };
    files.iter().map(length).collect()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Files of the run in `dir` that are not what they were when the run ended, in words. It looks at their lengths alone, as
/// tables have megabytes, and at all of those that are read again.
pub fn damaged(dir: &Path, meta: &Meta) -> Option<String> {
    let wrong = meta.bytes.iter().filter_map(|(name, &bytes)| {
        let path = dir.join(name);
        let edited = || {
            let then = match name.as_str() {
                SUMMARY => &meta.summary,
                CURVES => &meta.curves,
                _ => return false,
            };
            let now = fs::read(&path).map(|text| digits(&text));
            !then.is_empty() && now.is_ok_and(|now| now != *then)
        };
        match fs::metadata(&path) {
            Ok(about) if about.len() != bytes => Some(format!(
                "{} has {} bytes, and its run wrote {bytes}",
                path.display(),
                about.len()
            )),
            Ok(_) if edited() => Some(format!("{} was edited", path.display())),
            Ok(_) => None,
            Err(_) => Some(format!("{} is missing", path.display())),
        }
    });
    let wrong: Vec<String> = wrong.collect();
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

/// FNV-1a, 64 bits: short, frozen, and enough to name folders. [Fowler, Noll, Vo]
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// [`hash`] in 16 hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    format!("{:016x}", hash(bytes))
}

/// The tables of a run as CSV, each handed to `file` with its name.
fn write_csv(
    run: &RunRecord,
    file: &mut dyn FnMut(&str, &mut Fill<'_>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let look = Look::of(run);
    let ports = tables::ports();
    file(FLOWS, &mut |out| flows_csv(out, run))?;
    file("ports.csv", &mut |out| ports.csv(out, &run.ports, look))?;
    if !run.counts.is_empty() {
        let hosts = tables::hosts(tables::own_counters(run));
        file("hosts.csv", &mut |out| hosts.csv(out, &run.counts, look))?;
    }
    if let Some(counted) = &run.counted {
        let span = counted.window.end.since(counted.window.start);
        let look = Look { span, ..look };
        let fill = &mut |out: &mut dyn Write| ports.csv(out, &counted.ports, look);
        file("ports-window.csv", fill)?;
    }
    if !run.port_series.is_empty() {
        file("series.csv", &mut |out| series_csv(out, run))?;
    }
    if !run.flow_series.is_empty() {
        let fill =
            &mut |out: &mut dyn Write| tables::flow_series().csv(out, &run.flow_series, look);
        file("flow-series.csv", fill)?;
    }
    if !run.memory.is_empty() {
        let memory = tables::memory();
        file("memory.csv", &mut |out| memory.csv(out, &run.memory, look))?;
    }
    Ok(())
}

/// How the run in `dir` was made; `None` where `dir` does not hold a whole run.
pub fn made(dir: &Path) -> Option<Meta> {
    let text = fs::read_to_string(dir.join(META)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Any result as one JSON document, indented, with a last newline.
pub fn to_json<T: Serialize>(value: &T) -> String {
    let mut text =
        serde_json::to_string_pretty(value).expect("keys are strings and numbers are finite");
    text.push('\n');
    text
}

/// Reads the summary of a run directory, to compare runs without repeating them.
///
/// # Errors
/// If there is none, or another version of the program wrote it.
pub fn read_summary(dir: &Path) -> Result<Summary, String> {
    let path = dir.join(SUMMARY);
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let damaged =
        |error: serde_json::Error| format!("{} is damaged ({error}): run it again", path.display());
    let whole: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
    let schema = layout(&whole);
    if schema != Some(u64::from(crate::SCHEMA)) {
        return Err(format!(
            "{} has layout {}, not {}: run it again",
            path.display(),
            schema.map_or("none".into(), |schema| schema.to_string()),
            crate::SCHEMA
        ));
    }
    serde_json::from_value(whole).map_err(damaged)
}

/// Reads the curves of a run directory; `None` where there are none, or those of another layout or run.
pub fn read_curves(dir: &Path, summary: &Summary) -> Option<Curves> {
    let text = fs::read_to_string(dir.join(CURVES)).ok()?;
    let curves: Curves = serde_json::from_str(&text).ok()?;
    (curves.schema == CURVES_SCHEMA && curves.fingerprint == summary.fingerprint).then_some(curves)
}

/// The layout that a summary says it has.
fn layout(summary: &serde_json::Value) -> Option<u64> {
    summary.get("schema")?.as_u64()
}

/// Whether the file at `path` is a summary, of this layout or another.
pub(crate) fn is_summary(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    whole.is_some_and(|whole| layout(&whole).is_some() && whole.get("fingerprint").is_some())
}

/// Puts a file's content into a writer.
pub type Fill<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// What is handed to the system at once: tables have tens of megabytes, and each call costs as much as some kilobytes.
const AT_ONCE: usize = 1 << 18;

/// Where the file `name` grows until it is whole.
fn draft(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!(".{name}.draft"))
}

/// Writes `dir/name` whole or not at all: who reads it meanwhile finds the old one. Who writes it
/// meanwhile waits.
///
/// # Errors
/// If it cannot be written.
pub fn write(dir: &Path, name: &str, fill: &mut Fill<'_>) -> Result<PathBuf, FileError> {
    let (path, draft) = (dir.join(name), draft(dir, name));
    let wait = |file: &File| file.lock().map_err(TryLockError::Error);
    let locked = open_locked(&draft, &wait).transpose();
    let result = locked
        .expect("waiting ends with the lock, or with an error")
        .and_then(|file| {
            let filled = (|| {
                file.set_len(0)?;
                let mut out = BufWriter::with_capacity(AT_ONCE, &file);
                fill(&mut out)?;
                out.flush()?;
                drop(out);
                fs::rename(&draft, &path)
            })();
            if filled.is_err() {
                // The first error is the one to tell.
                let _ = fs::remove_file(&draft);
            }
            filled
        });
    match result {
        Ok(()) => Ok(path),
        Err(source) => Err(FileError { path, source }),
    }
}

/// Writes the file that a user names, as [`write`] does; into what is there and is no file, like a pipe, directly.
///
/// # Errors
/// If it cannot be written.
pub fn write_at(path: &Path, fill: &mut Fill<'_>) -> Result<(), FileError> {
    let other = fs::symlink_metadata(path).is_ok_and(|there| !there.is_file());
    if let (false, Some(name)) = (other, path.file_name().and_then(OsStr::to_str)) {
        return write(path.parent().unwrap_or(Path::new("")), name, fill)
            .map(drop)
            .map_err(|FileError { source, .. }| FileError {
                path: path.to_path_buf(),
                source,
            });
    }
    let filled = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        fill(&mut out)?;
        out.flush()
    });
    filled.map_err(|source| FileError {
        path: path.to_path_buf(),
        source,
    })
}

/// Writes a file that is not there yet, and its folder, as [`write_at`] does; what is there stays.
///
/// # Errors
/// If something of that name is there, or if it cannot be written.
pub fn write_new(path: &Path, fill: &mut Fill<'_>) -> Result<(), FileError> {
    let failed = |source| FileError {
        path: path.to_path_buf(),
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // An empty file holds the name against another that is written now.
    File::create_new(path).map_err(failed)?;
    let written = write_at(path, fill);
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(path);
    }
    written
}

fn remove(path: PathBuf) -> Result<(), FileError> {
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FileError { path, source }),
        _ => Ok(()),
    }
}

/// Appends completions to `flows.partial.csv` while a run is under way, so that a run that is
/// killed leaves what it had. [`write_run`] replaces it by `flows.csv`, in order and complete.
pub struct FlowWriter {
    path: PathBuf,
    out: BufWriter<File>,
    table: Table<FlowRow>,
}

impl FlowWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(folder: &RunFolder) -> Result<Self, FileError> {
        let path = folder.path().join(FLOWS_PARTIAL);
        let table = tables::flows();
        let begin = || {
            let mut out = BufWriter::new(File::create(&path)?);
            writeln!(out, "{}", table.titles())?;
            out.flush()?;
            Ok(out)
        };
        match begin() {
            Ok(out) => Ok(Self { path, out, table }),
            Err(source) => Err(FileError { path, source }),
        }
    }

    /// Appends rows in the order in which they ended. What is not known yet stays empty.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, rows: &[FlowRow], names: Names<'_>) -> Result<(), FileError> {
        let result = (|| {
            let look = Look {
                names,
                end: Time::NEVER,
                span: Span::ZERO,
            };
            self.table.csv_rows(&mut self.out, rows, look)?;
            self.out.flush()
        })();
        result.map_err(|source| FileError {
            path: self.path.clone(),
            source,
        })
    }
}

/// Writes `flows.csv`: one line per message, by number.
///
/// # Errors
/// If `out` cannot be written.
pub fn flows_csv(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    tables::flows().csv(out, &run.flows, Look::of(run))
}

/// Writes `series.csv`: samples of ports that say something new, by (time, link).
///
/// # Errors
/// If `out` cannot be written.
pub fn series_csv(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    tables::series().csv(out, run.port_series.news(), Look::of(run))
}

/// Address that the HPCC simulator gives to node `id`. [HPCC artefact, qbb.h]
const fn hpcc_address(id: u32) -> u32 {
    0x0b00_0001 + ((id / 256) << 16) + ((id % 256) << 8)
}

/// First source port of a pair of hosts. [HPCC artefact, third.cc]
const HPCC_SPORT: u32 = 10_000;
/// Destination ports by which its scripts tell background from incast. [HPCC artefact, analysis]
const HPCC_DPORT: u16 = 100;
const HPCC_DPORT_INCAST: u16 = 200;

/// Writes `fct.txt` as the HPCC simulator does, one line per finished message in the order of
/// completion: `sip dip sport dport size start_ns fct_ns standalone_fct_ns`.
///
/// # Errors
/// If `out` cannot be written.
pub fn hpcc_fct(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    let mut pairs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut lines = Vec::new();
    for flow in &run.flows {
        let nth = pairs.entry((flow.src, flow.dst)).or_insert(0);
        let sport = HPCC_SPORT + *nth;
        *nth += 1;
        if let (Some(start), Some(end), false) = (flow.start, flow.end, flow.timed) {
            lines.push((end, sport, start, flow));
        }
    }
    lines.sort_by_key(|&(end, _, _, flow)| (end, flow.message));
    for (end, sport, start, flow) in lines {
        let tag = run.tags.get(usize::from(flow.tag));
        let incast = tag.is_some_and(|tag| tag.contains("incast"));
        writeln!(
            out,
            "{:08x} {:08x} {sport} {} {} {} {} {}",
            hpcc_address(flow.src),
            hpcc_address(flow.dst),
            if incast {
                HPCC_DPORT_INCAST
            } else {
                HPCC_DPORT
            },
            flow.size,
            start.0 / 1_000,
            end.since(start).0.div_ceil(1_000),
            flow.ideal.0.div_ceil(1_000),
        )?;
    }
    Ok(())
}
