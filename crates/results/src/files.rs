//! The directory of a run. Everything but `meta.json` is a pure function of the resolved scenario
//! and comes out byte for byte the same; `meta.json` comes last, so that its presence says that
//! the directory is whole.

use crate::folder::{RunFolder, open_locked};
use crate::record::{FlowRow, Names, PortRow, PortSeriesRow, RunRecord};
use crate::summary::{Summary, active_span, fct, slowdown, utilisation};
use crate::threshold::{Verdict, junit};
use model::{ByClass, Class, DropReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    pub wall_s: f64,
    /// Threads used.
    pub threads: u16,
}

/// Which files a run directory gets besides `resolved.toml`, `summary.json` and `meta.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is one file that may be asked for"
)]
pub struct Output {
    /// `flows.csv`, `ports.csv`, for a window of time `ports-window.csv`, and, where sampled, `series.csv` and `flow-series.csv`.
    pub csv: bool,
    /// `report.html`, which crate `report` draws.
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
pub(crate) const META: &str = "meta.json";
/// What a run may write besides `meta.json`, which comes last.
const FILES: [&str; 15] = [
    "resolved.toml",
    "summary.json",
    FLOWS,
    "ports.csv",
    "ports-window.csv",
    "series.csv",
    "flow-series.csv",
    "flows.parquet",
    "ports.parquet",
    "series.parquet",
    "flow-series.parquet",
    "fct.txt",
    "junit.xml",
    "report.html",
    FLOWS_PARTIAL,
];

/// Writes the directory of a run, `page` as its `report.html`, and returns the files, in the order written. What an earlier run
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
    page: Option<&str>,
) -> Result<Vec<PathBuf>, FileError> {
    let dir = folder.path();
    // A directory that is being overwritten is not whole.
    remove(dir.join(META))?;
    let mut written = Vec::new();
    let mut file = |name: &str, fill: &mut Fill<'_>| -> Result<(), FileError> {
        assert!(FILES.contains(&name), "{name} would outlive its run");
        written.push(write(dir, name, fill)?);
        Ok(())
    };
    file("resolved.toml", &mut |out| {
        out.write_all(run.scenario_toml.as_bytes())
    })?;
    file("summary.json", &mut |out| {
        out.write_all(to_json(summary).as_bytes())
    })?;
    if output.csv {
        file(FLOWS, &mut |out| flows_csv(out, run))?;
        file("ports.csv", &mut |out| ports_csv(out, run))?;
        if let Some(counted) = &run.counted {
            let span = counted.window.end.since(counted.window.start);
            let fill = &mut |out: &mut dyn Write| port_lines(out, &counted.ports, span);
            file("ports-window.csv", fill)?;
        }
        if !run.port_series.is_empty() {
            file("series.csv", &mut |out| series_csv(out, run))?;
        }
        if !run.flow_series.is_empty() {
            file("flow-series.csv", &mut |out| flow_series_csv(out, run))?;
        }
    }
    #[cfg(feature = "parquet")]
    for (name, table) in crate::columns::tables(run) {
        file(name, &mut |out| {
            out.write_all(&crate::columns::parquet(&table))
        })?;
    }
    if output.hpcc_fct {
        file("fct.txt", &mut |out| hpcc_fct(out, run))?;
    }
    if output.junit {
        file("junit.xml", &mut |out| {
            out.write_all(junit(&[(summary, verdicts)]).as_bytes())
        })?;
    }
    if let Some(page) = page {
        file("report.html", &mut |out| out.write_all(page.as_bytes()))?;
    }
    for name in FILES {
        let path = dir.join(name);
        if !written.contains(&path) {
            remove(path)?;
            remove(draft(dir, name))?;
        }
    }
    written.push(write(dir, META, &mut |out| {
        out.write_all(to_json(meta).as_bytes())
    })?);
    Ok(written)
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
    let path = dir.join("summary.json");
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let schema = layout(&text);
    if schema != Some(u64::from(crate::SCHEMA)) {
        return Err(format!(
            "{} has layout {}, not {}: run it again",
            path.display(),
            schema.map_or("none".into(), |schema| schema.to_string()),
            crate::SCHEMA
        ));
    }
    serde_json::from_str(&text)
        .map_err(|error| format!("{} is damaged ({error}): run it again", path.display()))
}

/// The layout that a summary says it has.
fn layout(summary: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(summary).ok()?;
    value.get("schema")?.as_u64()
}

/// Whether the file at `path` is a summary, of this layout or another.
pub(crate) fn is_summary(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    layout(&text).is_some() && text.contains("\"fingerprint\"")
}

/// Puts a file's content into a writer.
pub type Fill<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

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
                let mut out = BufWriter::new(&file);
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
}

impl FlowWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(folder: &RunFolder) -> Result<Self, FileError> {
        let path = folder.path().join(FLOWS_PARTIAL);
        let begin = || {
            let mut out = BufWriter::new(File::create(&path)?);
            writeln!(out, "{FLOW_COLUMNS}")?;
            out.flush()?;
            Ok(out)
        };
        match begin() {
            Ok(out) => Ok(Self { path, out }),
            Err(source) => Err(FileError { path, source }),
        }
    }

    /// Appends rows in the order in which they ended. What is not known yet stays empty.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, rows: &[FlowRow], names: Names<'_>) -> Result<(), FileError> {
        let result = (|| {
            let mut line = Line::default();
            for row in rows {
                flow_line(&mut line, &mut self.out, row, names, Time::NEVER)?;
            }
            self.out.flush()
        })();
        result.map_err(|source| FileError {
            path: self.path.clone(),
            source,
        })
    }
}

pub(crate) const FLOW_COLUMNS: &str = "flow_id,conn,src,dst,size,start_ps,end_ps,fct_ps,ideal_ps,slowdown,\
                            finished,received,stopped_ps,timed,tag,transport";

/// One message. `fct_ps` and `slowdown` of an unfinished one are what it has taken until `end`.
fn flow_line(
    line: &mut Line,
    out: &mut dyn Write,
    flow: &FlowRow,
    names: Names<'_>,
    end: Time,
) -> io::Result<()> {
    let known = |at_least: bool| !at_least || end != Time::NEVER;
    let took = fct(flow, end)
        .filter(|took| known(took.at_least))
        .map(|took| took.value);
    let slow = slowdown(flow, end)
        .filter(|slow| known(slow.at_least))
        .map(|slow| slow.value);
    line.number(flow.message.into())
        .number(flow.conn.into())
        .number(flow.src.into())
        .number(flow.dst.into())
        .number(flow.size)
        .perhaps(flow.start.map(|at| at.0))
        .perhaps(flow.end.map(|at| at.0))
        .perhaps(took)
        .number(flow.ideal.0)
        .ratio(slow)
        .number(flow.end.is_some().into())
        .number(flow.received)
        .perhaps(flow.stopped.map(|at| at.0))
        .number(flow.timed.into())
        .text(names.tag(flow))
        .text(names.transport(flow))
        .end(out)
}

/// Writes `flows.csv`: one line per message, by number.
///
/// # Errors
/// If `out` cannot be written.
pub fn flows_csv(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    writeln!(out, "{FLOW_COLUMNS}")?;
    let mut line = Line::default();
    run.flows
        .iter()
        .try_for_each(|flow| flow_line(&mut line, out, flow, run.names(), run.end))
}

/// A name as a column title writes it: `buffer_full`.
pub(crate) fn snake(name: &str) -> String {
    name.replace([' ', '-'], "_")
}

/// One line of a table while it grows, field by field: a tenth of what the formatter costs, and tables
/// have millions of numbers.
#[derive(Default)]
struct Line(Vec<u8>);

impl Line {
    fn number(&mut self, number: u64) -> &mut Self {
        let (mut digits, mut left, mut at) = ([0u8; 20], number, 20);
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(left % 10).expect("a digit");
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[at..]);
        self.0.push(b',');
        self
    }

    fn numbers(&mut self, numbers: &[u64]) -> &mut Self {
        for &number in numbers {
            self.number(number);
        }
        self
    }

    /// Nothing where it is not known.
    fn perhaps(&mut self, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.number(number),
            None => self.text(""),
        }
    }

    fn text(&mut self, text: &str) -> &mut Self {
        if text.contains([',', '"', '\n', '\r']) {
            // [RFC 4180]
            self.0.push(b'"');
            self.0
                .extend_from_slice(text.replace('"', "\"\"").as_bytes());
            self.0.push(b'"');
        } else {
            self.0.extend_from_slice(text.as_bytes());
        }
        self.0.push(b',');
        self
    }

    /// Nothing where it is not known.
    fn ratio(&mut self, ratio: Option<f64>) -> &mut Self {
        if let Some(ratio) = ratio {
            write!(self.0, "{ratio}").expect("memory takes every text");
        }
        self.0.push(b',');
        self
    }

    /// Writes the line and begins another.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        *self.0.last_mut().expect("a line has a field") = b'\n';
        out.write_all(&self.0)?;
        self.0.clear();
        Ok(())
    }
}

/// A column title for each class.
pub(crate) fn classes(prefix: &str) -> impl Iterator<Item = String> + '_ {
    Class::ALL
        .iter()
        .map(move |class| format!("{prefix}_{}", class.name()))
}

fn titles(prefix: &str) -> String {
    classes(prefix).collect::<Vec<_>>().join(",")
}

/// Writes `ports.csv`: one line per link, by number.
///
/// # Errors
/// If `out` cannot be written.
pub fn ports_csv(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    port_lines(out, &run.ports, active_span(run))
}

/// Writes `ports`, which were looked at for `span`.
fn port_lines(out: &mut dyn Write, ports: &[PortRow], span: Span) -> io::Result<()> {
    let reasons: Vec<String> = DropReason::ALL
        .iter()
        .map(|reason| format!("dropped_by_{}", snake(reason.name())))
        .collect();
    writeln!(
        out,
        "link,from,to,from_tier,to_tier,rate_bps,utilisation,queue_max,credits_max,marked,\
         {},{},{},{},{},{}",
        titles("packets"),
        titles("bytes"),
        titles("dropped"),
        reasons.join(","),
        titles("lost"),
        titles("copied"),
    )?;
    let mut line = Line::default();
    for port in ports {
        line.number(port.link.into())
            .text(&port.from)
            .text(&port.to)
            .number(port.from_tier.into())
            .number(port.to_tier.into())
            .number(port.rate.0)
            .ratio(Some(utilisation(port, span)))
            .number(port.queue_max)
            .number(port.credits_max.into())
            .number(port.marked)
            .numbers(port.packets.as_slice())
            .numbers(port.bytes.as_slice())
            .numbers(port.dropped.as_slice())
            .numbers(port.drop_reasons.as_slice())
            .numbers(port.lost.as_slice())
            .numbers(port.copied.as_slice())
            .end(out)?;
    }
    Ok(())
}

/// Samples of ports that say something new.
pub(crate) fn news(run: &RunRecord) -> impl Iterator<Item = &PortSeriesRow> {
    let none = (0, 0, ByClass::default(), 0, ByClass::default());
    let mut before = vec![none; run.ports.len()];
    run.port_series.iter().filter(move |row| {
        let now = (row.queue, row.credits, row.sent, row.marked, row.dropped);
        std::mem::replace(&mut before[row.link as usize], now) != now
    })
}

/// Writes `series.csv`: samples of ports, by (time, link). A sample that says what the port's line
/// before it says is left out, and so are those before anything was sent or waited: between its
/// lines a port stays as it was. Nine of ten samples say nothing new.
///
/// # Errors
/// If `out` cannot be written.
pub fn series_csv(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    let (sent, dropped) = (titles("sent"), titles("dropped"));
    writeln!(out, "at_ps,link,queue,credits,{sent},marked,{dropped}")?;
    let mut line = Line::default();
    news(run).try_for_each(|row| {
        line.number(row.at.0)
            .number(row.link.into())
            .number(row.queue)
            .number(row.credits.into())
            .numbers(row.sent.as_slice())
            .number(row.marked)
            .numbers(row.dropped.as_slice())
            .end(out)
    })
}

/// Writes `flow-series.csv`: one line per sample of a connection, by (time, connection).
///
/// # Errors
/// If `out` cannot be written.
pub fn flow_series_csv(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    writeln!(out, "at_ps,conn,received")?;
    let mut line = Line::default();
    run.flow_series.iter().try_for_each(|row| {
        line.number(row.at.0)
            .number(row.conn.into())
            .number(row.received)
            .end(out)
    })
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
