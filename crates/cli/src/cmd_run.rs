//! `run`, `check` and `fingerprint`: one scenario.

use crate::args::{Global, RunArgs, ScenarioArgs};
use crate::cmd_compare;
use crate::cmd_live::{self, Live};
use crate::exit;
use crate::progress::{Viewer, catch_interrupts, clock};
use crate::screen::Screen;
use results::{FlowWriter, Meta, Output, RunFolder, Summary, Verdict, beside};
use scenario::{Assembled, Errors, Request, Scenario};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The scenario that the command line names, with its overrides.
pub(crate) fn load(name: &str, global: &Global, sets: &[String]) -> Result<Scenario, Errors> {
    let mut sets = sets.to_vec();
    if let Some(seed) = global.seed {
        sets.push(format!("run.seed={seed}"));
    }
    let request = Request {
        from: name,
        sets: &sets,
    };
    let mut scenario = scenario::load_with(&global.transports, &request)?;
    scenario.memory_limit = global.memory_limit;
    Ok(scenario)
}

/// The folder of a scenario's results.
pub(crate) fn folder(scenario: &Scenario, global: &Global) -> PathBuf {
    let named = global
        .out
        .clone()
        .or_else(|| scenario.output.dir.as_ref().map(PathBuf::from));
    named.unwrap_or_else(|| default_folder(scenario))
}

/// `out/<name>-<hash of the resolved scenario>`.
pub(crate) fn default_folder(scenario: &Scenario) -> PathBuf {
    PathBuf::from(format!(
        "out/{}-{:08x}",
        scenario.name,
        scenario.hash() >> 32
    ))
}

/// Threads of one run.
pub(crate) fn threads(scenario: &Scenario, global: &Global) -> u16 {
    global.jobs.unwrap_or(scenario.run.threads)
}

/// The command that repeats a run anywhere.
pub(crate) fn repeat(verb: &str, name: &str, global: &Global, sets: &[String]) -> String {
    let mut command = format!("{} {verb} {}", quote(&global.program), quote(name));
    for set in sets {
        let _ = write!(command, " --set {}", quote(set));
    }
    if let Some(seed) = global.seed {
        let _ = write!(command, " --seed {seed}");
    }
    command
}

/// `text` as a word of a shell.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

pub(crate) fn check(args: &ScenarioArgs, global: &Global, screen: &Screen) -> i32 {
    let mut run = match load(&args.scenario, global, &global.sets).and_then(Scenario::assemble) {
        Ok(run) => run,
        Err(errors) => return screen.wrong(&errors),
    };
    run.warnings.extend(run.unread_sets());
    run.look_ahead();
    let cases = cmd_compare::readable_cases(&args.scenario, &run.scenario, global);
    if let Err(refusal) = cases {
        return refusal.show(screen);
    }
    describe(&run, global, screen);
    exit::OK
}

/// What to know before a run, which may never end.
fn warnings(run: &Assembled) -> Vec<String> {
    let said = run.warnings.iter().cloned();
    said.chain(run.bound_warning())
        .chain(run.may_stop())
        .collect()
}

/// What follows from a scenario, as a document.
pub fn derived(run: &Assembled) -> Value {
    let figures = run.figures().into_iter();
    let derived: serde_json::Map<String, Value> =
        figures.map(|f| (f.name, Value::String(f.value))).collect();
    json!({
        "scenario": run.scenario.name,
        "title": run.title,
        "transport": run.scenario.protocol.name(),
        "derived": derived,
        "warnings": warnings(run),
        "resolved": run.scenario.resolved_toml(),
    })
}

/// What follows from a scenario.
fn describe(run: &Assembled, global: &Global, screen: &Screen) {
    if global.json {
        screen.print(&format!("{:#}\n", derived(run)));
        return;
    }
    let figures = run.figures();
    let mut out = format!(" {}  {}\n", run.scenario.name, run.title);
    let width = figures
        .iter()
        .map(|f| f.name.chars().count())
        .max()
        .unwrap_or(0);
    for figure in figures {
        let name = format!("   {:<width$}  ", figure.name);
        out += &beside(&name, &figure.value, screen.style.width);
        out.push('\n');
    }
    for warning in warnings(run) {
        out += &beside(" warning: ", &warning, screen.style.width);
        out.push('\n');
    }
    screen.say(&out);
    screen.detail(&run.scenario.resolved_toml());
}

pub(crate) fn fingerprint(args: &ScenarioArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    let assembled = load(&args.scenario, global, &global.sets).and_then(Scenario::assemble);
    let mut assembled = match assembled {
        Ok(assembled) => assembled,
        Err(errors) => return screen.wrong(&errors),
    };
    if global.dry_run {
        assembled.look_ahead();
        describe(&assembled, global, screen);
        return exit::OK;
    }
    let threads = threads(&assembled.scenario, global);
    let mut viewer = Viewer::new(screen, &assembled.scenario.name.clone(), None);
    let record = assembled.run(threads, "", &mut viewer);
    viewer.finish();
    match record {
        Ok(record) if record.status == results::Status::Interrupted => {
            // A part of a run has a hash, too, and a reader could not tell it from the run's.
            screen.fail(
                exit::INTERRUPTED,
                "interrupted: there is no fingerprint of a part of a run",
            )
        }
        Ok(record) => {
            let code = code_of(&Summary::of(&record), &[]);
            let print = format!("{:016x}", record.fingerprint);
            if global.json {
                let document = json!({ "fingerprint": print, "exit_code": code });
                screen.print(&format!("{document:#}\n"));
            } else {
                screen.print(&format!("{print}\n"));
            }
            let late = record.flows.iter().filter(|row| row.end.is_none()).count();
            match record.conservation {
                _ if code == exit::OK => code,
                Err(why) => screen.fail(code, &why),
                Ok(()) => {
                    let all = record.flows.len();
                    let why = format!(
                        "{late} of {all} messages did not finish; {} run says what they wait for",
                        global.program
                    );
                    screen.fail(code, &why)
                }
            }
        }
        Err(errors) => screen.wrong(&errors),
    }
}

pub(crate) fn run(args: &RunArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    let scenario = match load(&args.of.scenario, global, &global.sets) {
        Ok(scenario) => scenario,
        Err(errors) => return screen.wrong(&errors),
    };
    let dir = folder(&scenario, global);
    let command = repeat("run", &args.of.scenario, global, &global.sets);
    let live = match args
        .live
        .then(|| Live::of(&args.of.scenario, &scenario, global))
    {
        Some(Err(why)) => return screen.fail(exit::USAGE, &why),
        Some(Ok(live)) => Some(live),
        None => None,
    };
    let output = Output {
        hpcc_fct: scenario.output.hpcc,
        ..Output::default()
    };
    let threads = threads(&scenario, global);
    let mut assembled = match scenario.assemble() {
        Ok(assembled) => assembled,
        Err(errors) => return screen.wrong(&errors),
    };
    assembled.warnings.extend(assembled.unread_sets());
    if global.dry_run {
        assembled.look_ahead();
        describe(&assembled, global, screen);
        if !global.json {
            screen.say(&format!(" would write {}\n", dir.display()));
        }
        return exit::OK;
    }
    if live.is_some() {
        for warning in cmd_live::warnings(&assembled) {
            screen.warn(&warning);
        }
    }
    for warning in &assembled.warnings {
        screen.detail(&format!("warning: {warning}"));
    }
    // A folder that cannot be written is an error now, not after an hour.
    let folder = match RunFolder::claim(&dir, &myself()) {
        Ok(folder) => folder,
        Err(error) => return screen.fail(exit::IO, &error.to_string()),
    };
    if let Err(error) = FlowWriter::create(&folder) {
        return screen.fail(exit::IO, &error.to_string());
    }
    let live = live.as_ref();
    match execute(&assembled, threads, &command, &folder, output, live, screen) {
        Ok(mut done) => {
            if let Err(error) = write_junit(global, &[(&done.summary, &done.verdicts)]) {
                (done.failed, done.code) = (Some(error.to_string()), exit::IO);
            }
            done.show(global, screen)
        }
        Err(errors) => screen.wrong(&errors),
    }
}

/// Writes what `--junit` asks for.
pub(crate) fn write_junit(
    global: &Global,
    runs: &[(&Summary, &[Verdict])],
) -> Result<(), results::FileError> {
    let Some(path) = &global.junit else {
        return Ok(());
    };
    let text = results::junit(runs);
    results::files::write_at(path, &mut |out| out.write_all(text.as_bytes()))
}

/// The report that can be run again, in a run's folder.
const LIVE: &str = "live.html";

/// A run that is over and written.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) summary: Summary,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) dir: PathBuf,
    /// What could not be written.
    pub(crate) failed: Option<String>,
    pub(crate) code: i32,
}

/// Runs and writes everything.
pub(crate) fn execute(
    assembled: &Assembled,
    threads: u16,
    command: &str,
    folder: &RunFolder,
    output: Output,
    live: Option<&Live>,
    screen: &Screen,
) -> Result<Done, Errors> {
    let conditions = assembled.scenario.conditions()?;
    let (flows, mut failed) = match FlowWriter::create(folder) {
        Ok(writer) => (Some(writer), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let [digits, asked] = assembled.scenario.hashes();
    let started = rfc3339(crate::progress::date());
    let began = clock();
    let mut viewer = Viewer::new(screen, &assembled.scenario.name.clone(), flows);
    let record = if output.report {
        assembled.run_traced(threads, command, &mut viewer)
    } else {
        let record = assembled.run(threads, command, &mut viewer);
        record.map(|record| (record, None))
    };
    viewer.finish();
    let (mut record, seen) = record?;
    let mut meta = Meta {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: revision(&assembled.scenario),
        host: host_name(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        started,
        wall_s: began.elapsed().as_secs_f64(),
        threads,
        memory_kib: 0, // known later
        scenario: digits,
        asked,
        bytes: BTreeMap::new(), // likewise
        summary: String::new(),
        curves: String::new(),
    };
    let mut summary = Summary::of(&record);
    let verdicts: Vec<Verdict> = conditions.iter().map(|c| c.judge(&summary)).collect();
    let failed_stream = viewer.failed.map(|e| e.to_string());
    if output.report {
        let mut viewer = Viewer::new(screen, "the slowest again", None);
        assembled.explain_slowest(&mut record, &mut summary, seen, threads, &mut viewer);
        viewer.finish();
    }
    let page = live.map(|live| live.page(&record, &summary, &verdicts));
    let page = page.as_deref();
    meta.memory_kib = scenario::memory_held();
    let written = report::write_run(folder, &record, &summary, &verdicts, &meta, &output, page);
    failed = failed
        .or(failed_stream)
        .or(written.err().map(|e| e.to_string()));
    let code = if failed.is_some() {
        exit::IO
    } else {
        code_of(&summary, &verdicts)
    };
    Ok(Done {
        summary,
        verdicts,
        dir: folder.path().to_path_buf(),
        failed,
        code,
    })
}

/// What tells the code of a run's transports from another version of it: `None` for transports of
/// this repository, which the program's version stands for. One that somebody is writing changes
/// between two runs of the same scenario, and takes the digest of the program.
pub(crate) fn revision(scenario: &Scenario) -> Option<String> {
    static DIGEST: LazyLock<Option<String>> = LazyLock::new(|| {
        let program = std::fs::read(std::env::current_exe().ok()?).ok()?;
        Some(format!("program {:016x}", scenario::hash(&program)))
    });
    let ours = transports::registry();
    let beside = scenario.beside.iter().map(|beside| beside.protocol);
    let mut all = std::iter::once(scenario.protocol).chain(beside);
    if all.all(|protocol| ours.find(protocol.name()).is_some()) {
        return None;
    }
    DIGEST.clone()
}

/// The exit code of a run.
pub(crate) fn code_of(summary: &Summary, verdicts: &[Verdict]) -> i32 {
    if summary.status == results::Status::Interrupted.name() {
        exit::INTERRUPTED
    } else if summary.broken() {
        exit::BROKEN
    } else if verdicts.iter().any(|v| !v.passed) {
        exit::THRESHOLD
    } else {
        exit::OK
    }
}

impl Done {
    fn show(&self, global: &Global, screen: &Screen) -> i32 {
        if global.json {
            screen.print(&format!("{:#}\n", self.document()));
        } else {
            screen.say(&results::table::text(
                &[(&self.summary, &self.verdicts)],
                screen.style,
            ));
            if self.failed.is_none() {
                screen.say(&files_line(&self.dir));
            }
        }
        match &self.failed {
            Some(why) => screen.fail(self.code, why),
            None => self.code,
        }
    }

    /// The run as a document: its figures, its thresholds, its folder.
    pub(crate) fn document(&self) -> Value {
        let summary = serde_json::to_value(&self.summary).expect("a summary is plain data");
        let thresholds: Vec<Value> = self
            .verdicts
            .iter()
            .map(|v| {
                json!({ "key": v.key, "condition": v.condition, "measured": v.measured,
                        "passed": v.passed })
            })
            .collect();
        json!({
            "summary": summary,
            "thresholds": thresholds,
            "dir": self.dir.display().to_string(),
            "exit_code": self.code,
        })
    }
}

/// Where the report and the tables are.
pub(crate) fn files_line(dir: &std::path::Path) -> String {
    let report = dir.join("report.html");
    let report = if report.exists() {
        format!(" report: {}    ", report.display())
    } else {
        " ".into()
    };
    let live = dir.join(LIVE);
    let live = if live.exists() {
        format!(
            " to be run again by whoever receives it: {}\n",
            live.display()
        )
    } else {
        String::new()
    };
    // The same tables lie there as CSV.
    format!("{report}data: {}\n{live}", dir.join("*.parquet").display())
}

/// This process, as other runs name it that want its folder.
pub(crate) fn myself() -> String {
    format!(
        "process {} on {}, since {}",
        std::process::id(),
        host_name(),
        rfc3339(crate::progress::date())
    )
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .or_else(|_| std::env::var("COMPUTERNAME"))
        .unwrap_or_else(|_| "unknown".to_owned())
}

/// A moment as RFC 3339 in UTC, by the calendar of Howard Hinnant's `civil_from_days`.
fn rfc3339(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn moments_are_written_by_the_calendar() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_301_556), "2026-11-21T22:52:36Z");
    }

    #[test]
    fn a_command_to_repeat_survives_the_shell() {
        let global = Global {
            seed: Some(3),
            program: "tidegate".to_owned(),
            ..Global::default()
        };
        let sets = ["transport.kind=dctcp".to_owned(), "name=it's".to_owned()];
        assert_eq!(
            repeat("run", "my file.toml", &global, &sets),
            "tidegate run 'my file.toml' --set transport.kind=dctcp --set 'name=it'\\''s' --seed 3"
        );
    }
}
