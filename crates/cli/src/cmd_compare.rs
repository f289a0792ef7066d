//! `compare`: every combination of settings and seeds, side by side on all cores.
//!
//! What varies becomes jobs, each with its folder; what is there already, whole and of this program, is taken, and the others run.
//! Then come the table, the verdicts and the page of them all.

use crate::args::{CompareArgs, Global};
use crate::cmd_run::{self, Done, default_folder, execute, load};
use crate::exit;
use crate::find_load;
use crate::progress::{catch_interrupts, interrupted};
use crate::room::Room;
use crate::screen::Screen;
use experiments::sweep::{self, Axis, Point};
use results::{ClaimError, Output, RunFolder, Summary, Verdict};
use scenario::{Errors, Scenario};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use units::Bytes;

/// One run of the comparison: checked, not yet begun.
pub(crate) struct Job {
    point: Point,
    scenario: Mutex<Option<Scenario>>,
    dir: PathBuf,
    command: String,
}

impl Job {
    /// The command that does it alone.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Why it would be refused for what it holds. It is built where its sizes leave that open and a limit is given.
    fn refusal(&self, global: &Global) -> Option<Errors> {
        let scenario = self.scenario.lock().map_or(None, |mut slot| slot.take())?;
        let fits = match global.memory_limit {
            Some(limit) => scenario.need_at_most().is_some_and(|most| most <= limit),
            None => scenario.need() <= scenario::memory_of_machine(),
        };
        if fits {
            return None;
        }
        scenario.assemble().err()
    }
}

/// A run that was refused, or that did not begin because of an interruption.
pub(crate) type Outcome = Option<Result<Done, Refusal>>;

/// Between two looks at a folder that another process is writing. [ours]
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &CompareArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    if args.find_max_load {
        return find_load::run(args, global, screen);
    }
    let jobs = match points(args, global).and_then(|points| {
        let mine = args.shard.map_or(points.clone(), |shard| shard.of(points));
        plan(mine, args, global)
    }) {
        Ok(jobs) => jobs,
        Err(refusal) => return refusal.show(screen),
    };
    if global.dry_run {
        return would_run(&jobs, global, screen);
    }
    let outcomes = run_all(&jobs, args, global, screen);
    let mut ended = Ended::default();
    for outcome in outcomes {
        ended.add(outcome, screen);
    }
    ended.show(args, global, screen)
}

/// What a dry run says: the command of each run, and its folder, or why it would be refused.
fn would_run(jobs: &[Job], global: &Global, screen: &Screen) -> i32 {
    let refused: Vec<_> = jobs.iter().map(|job| job.refusal(global)).collect();
    let known = jobs.iter().zip(&refused);
    let code = match refused.iter().flatten().next() {
        Some(_) => exit::USAGE,
        None => exit::OK,
    };
    if global.json {
        let run = |(job, refused): (&Job, &Option<Errors>)| {
            let refused = refused.as_ref().map(|errors| errors.render(false));
            json!({ "command": job.command, "dir": job.dir, "refused": refused })
        };
        let runs: Vec<_> = known.map(run).collect();
        let document = json!({ "would_run": runs, "exit_code": code });
        screen.print(&format!("{document:#}\n"));
        return code;
    }
    let line = |(job, refused): (&Job, &Option<Errors>)| match refused {
        Some(_) => format!("{}  # would be refused\n", job.command),
        None => format!("{}  # {}\n", job.command, job.dir.display()),
    };
    screen.say(&known.map(line).collect::<String>());
    for errors in refused.iter().flatten() {
        screen.wrong(errors);
    }
    code
}

/// Runs that are over, in order, and the exit code of them all.
#[derive(Default)]
pub(crate) struct Ended {
    runs: Vec<Done>,
    /// Runs that an interruption cut short or kept from beginning.
    unfinished: usize,
    /// What a search found, a row per combination.
    found: Option<Vec<Value>>,
    code: i32,
}

impl Ended {
    /// Takes in the best runs of a search that found this.
    pub(crate) fn of_search(found: Vec<Value>) -> Self {
        Self {
            found: Some(found),
            ..Self::default()
        }
    }

    /// Takes a run in, and says what is wrong with it.
    pub(crate) fn add(&mut self, outcome: Outcome, screen: &Screen) {
        let code = match outcome {
            Some(Ok(done)) => {
                if let Some(why) = &done.failed {
                    screen.fail(done.code, why);
                }
                let code = done.code;
                if code == exit::INTERRUPTED {
                    self.unfinished += 1;
                } else {
                    self.runs.push(done);
                }
                code
            }
            Some(Err(refusal)) => refusal.show(screen),
            None => {
                self.unfinished += 1;
                exit::INTERRUPTED
            }
        };
        self.code = worse(self.code, code);
    }

    /// The table, the thresholds that were not met, and the report; returns the exit code.
    pub(crate) fn show(mut self, args: &CompareArgs, global: &Global, screen: &Screen) -> i32 {
        let interrupted = results::compare::interrupted(self.runs.len(), self.unfinished);
        if let Some(text) = interrupted {
            screen.warn(&format!("{text}: {}", go_on(args, global)));
        }
        if self.runs.is_empty() {
            if global.json && self.found.is_some() {
                self.print(None, screen);
            }
            return self.code;
        }
        let summaries: Vec<Summary> = self.runs.iter().map(|run| run.summary.clone()).collect();
        if !global.json {
            crate::cmd_report::show(&summaries, global, screen);
            screen.say(&self.thresholds());
        }
        let written = self
            .junit(global)
            .and_then(|()| self.report(&summaries, args, global));
        let report = written.unwrap_or_else(|error| {
            self.code = worse(self.code, screen.fail(exit::IO, &error.to_string()));
            None
        });
        match report.map(|file| file.display().to_string()) {
            file if global.json => self.print(file.as_deref(), screen),
            Some(file) => screen.say(&format!(" report: {file}\n")),
            None if args.shard.is_some() => {
                screen
                    .say(" one part of the runs; without --shard this command makes the report\n");
            }
            None => {}
        }
        self.code
    }

    /// The runs as a document, with the page that shows them.
    fn print(&self, report: Option<&str>, screen: &Screen) {
        let runs: Vec<_> = self.runs.iter().map(Done::document).collect();
        let mut document = json!({ "runs": runs, "report": report, "exit_code": self.code });
        if let Some(found) = &self.found {
            document["loads"] = json!(found);
        }
        screen.print(&format!("{document:#}\n"));
    }

    /// How many thresholds held, and which did not.
    fn thresholds(&self) -> String {
        let all = self.runs.iter().map(|run| run.verdicts.len()).sum();
        let failed = self.runs.iter().flat_map(|run| {
            let failed = run.verdicts.iter().filter(|verdict| !verdict.passed);
            failed.map(|verdict| (&run.summary, verdict))
        });
        results::compare::thresholds(all, &failed.collect::<Vec<_>>())
    }

    fn junit(&self, global: &Global) -> Result<(), results::FileError> {
        let runs: Vec<(&Summary, &[Verdict])> = self
            .runs
            .iter()
            .map(|run| (&run.summary, run.verdicts.as_slice()))
            .collect();
        cmd_run::write_junit(global, &runs)
    }

    /// Writes the page that shows all runs. Of a part of them there is none: several parts would
    /// write the same page, each with its own runs.
    fn report(
        &self,
        summaries: &[Summary],
        args: &CompareArgs,
        global: &Global,
    ) -> Result<Option<PathBuf>, results::FileError> {
        if args.shard.is_some() {
            return Ok(None);
        }
        let command = repeat(args, global);
        // The page is written beside the folders of the runs.
        let first = self.runs.first().and_then(|run| run.dir.parent());
        let details = |run: &Done| {
            let dir = first.and_then(|first| run.dir.strip_prefix(first).ok());
            let dir = dir.unwrap_or(&run.dir).display();
            report::Details {
                link: format!("{dir}/report.html"),
                curves: results::files::read_curves(&run.dir, &run.summary),
                verdicts: run.verdicts.clone(),
            }
        };
        let details: Vec<_> = self.runs.iter().map(details).collect();
        let page = report::of_runs(
            &summaries.iter().collect::<Vec<_>>(),
            &details,
            &command,
            self.unfinished,
        );
        let name = format!(
            "compare-{:08x}.html",
            scenario::hash(command.as_bytes()) >> 32
        );
        let file = results::files::write(first.unwrap_or(Path::new(".")), &name, &mut |out| {
            out.write_all(page.as_bytes())
        })?;
        Ok(Some(file))
    }
}

/// The command that repeats the comparison.
fn repeat(args: &CompareArgs, global: &Global) -> String {
    let mut command = cmd_run::repeat("compare", &args.scenario, global, &global.sets);
    if let Some(seeds) = &args.seeds {
        command.push_str(" --seeds ");
        command.push_str(seeds);
    }
    for case in &args.cases {
        command.push_str(" --case ");
        command.push_str(&cmd_run::quote(case));
    }
    if args.find_max_load {
        command.push_str(" --find-max-load");
    }
    command
}

/// The command that does the runs that are missing, in the folder where the others are.
pub(crate) fn go_on(args: &CompareArgs, global: &Global) -> String {
    let mut command = repeat(args, global);
    if let Some(shard) = &args.shard {
        let _ = write!(command, " --shard {shard}");
    }
    if let Some(out) = &global.out {
        let _ = write!(command, " --out {}", cmd_run::quote(&out.to_string_lossy()));
    }
    command
}

/// The code that tells more: an interruption, then what is broken, then what failed.
fn worse(a: i32, b: i32) -> i32 {
    let rank = |code: i32| {
        [
            exit::OK,
            exit::THRESHOLD,
            exit::IO,
            exit::USAGE,
            exit::BROKEN,
            exit::INTERRUPTED,
        ]
        .iter()
        .position(|&c| c == code)
    };
    if rank(b) > rank(a) { b } else { a }
}

/// Why nothing runs.
#[derive(Clone)]
pub(crate) enum Refusal {
    Sweep(String),
    Scenario(Errors),
    Folder(String),
    Interrupted(String),
}

impl From<Errors> for Refusal {
    fn from(errors: Errors) -> Self {
        Self::Scenario(errors)
    }
}

impl Refusal {
    pub(crate) fn show(&self, screen: &Screen) -> i32 {
        match self {
            Self::Sweep(why) => screen.fail(exit::USAGE, why),
            Self::Scenario(errors) => screen.wrong(errors),
            Self::Folder(why) => screen.fail(exit::IO, why),
            Self::Interrupted(why) => screen.fail(exit::INTERRUPTED, why),
        }
    }

    /// The same in words.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Sweep(why) | Self::Folder(why) | Self::Interrupted(why) => why.clone(),
            Self::Scenario(errors) => errors.render(false).trim_end().to_owned(),
        }
    }
}

fn without_sets(global: &Global) -> Global {
    Global {
        seed: None,
        sets: Vec::new(),
        ..global.clone()
    }
}

/// Every combination with every seed.
pub(crate) fn points(args: &CompareArgs, global: &Global) -> Result<Vec<Point>, Refusal> {
    let sets = sweep::axes(&global.sets).map_err(Refusal::Sweep)?;
    // One combination says what the file's cases are, and its seed.
    let once = sweep::points(&sets, &[0]).map_err(Refusal::Sweep)?;
    let once = once.first().map_or(&[][..], |point| &point.sets);
    let file = load(&args.scenario, &without_sets(global), once).map_err(Refusal::Scenario)?;
    let mut axes = Vec::new();
    if !args.plain {
        axes = cases(&file, &args.cases, &global.sets).map_err(Refusal::Sweep)?;
    }
    // What the command line says comes last and holds.
    axes.extend(sets);
    let first = global.seed.unwrap_or_else(|| file.run.seed);
    let seeds = sweep::seeds(args.seeds.as_deref(), first).map_err(Refusal::Sweep)?;
    sweep::points(&axes, &seeds).map_err(Refusal::Sweep)
}

/// The cases of the file that `--case` leaves, as axes.
fn cases(file: &Scenario, only: &[String], sets: &[String]) -> Result<Vec<Axis>, String> {
    let all = || file.cases.iter().flat_map(|cases| &cases.cases);
    let names = || all().map(|case| case.name.as_str());
    if let Some(unknown) = only.iter().find(|name| !names().any(|n| n == *name)) {
        let listed: Vec<&str> = names().collect();
        return Err(match scenario::nearest(unknown, names()) {
            Some(near) => format!("--case {unknown}: did you mean {near}?"),
            None if listed.is_empty() => {
                format!("--case {unknown}: {} has no [[compare]]", file.name)
            }
            None => format!("--case {unknown}: cases are {}", listed.join(", ")),
        });
    }
    let seeded = |case: &&scenario::Case| case.sets.iter().any(|s| sweep::sets_key(s, sweep::SEED));
    if let Some(case) = all().find(seeded) {
        let told = sweep::SEEDS_TOLD;
        return Err(format!(
            "the case {} of [[compare]] sets {}: {told}",
            case.name,
            sweep::SEED
        ));
    }
    let key = |set: &String| set.split_once('=').map(|(key, _)| key.trim().to_owned());
    let said: Vec<_> = sets.iter().filter_map(key).collect();
    for cases in file.cases.iter().filter(|_| !said.is_empty()) {
        // What the command line says, holds in every case: that may leave nothing to tell them apart.
        let own = |case: &scenario::Case| {
            let own = case.sets.iter();
            let own = own.filter(|set| !key(set).is_some_and(|key| said.contains(&key)));
            own.cloned().collect::<Vec<_>>()
        };
        let mut left = BTreeSet::new();
        if let Some(case) = cases.cases.iter().find(|case| !left.insert(own(case))) {
            return Err(format!(
                "with --set {} the {} {} is another's again; choose cases with --case instead",
                sets.join(" --set "),
                cases.of,
                case.name
            ));
        }
    }
    let axis = |cases: &scenario::CasesOf| {
        let asked = |case: &&scenario::Case| only.contains(&case.name);
        let some = cases.cases.iter().any(|case| asked(&case));
        let values = cases.cases.iter().filter(|case| !some || asked(case));
        let values: Vec<_> = values
            .map(|case| (case.name.clone(), case.sets.clone()))
            .collect();
        Axis {
            key: cases.key().to_owned(),
            varies: values.len() > 1,
            values,
        }
    };
    Ok(file.cases.iter().map(axis).collect())
}

/// Combinations of cases that `check` builds, and memory that one of them may take for that: the others are read. [ours]
const BUILT_MAX: usize = 64;
const BUILT_OF: Bytes = Bytes(256 << 20);

/// Refuses what a comparison of the file's cases would: every combination of them is read, and of these the first are built.
pub(crate) fn readable_cases(name: &str, file: &Scenario, global: &Global) -> Result<(), Refusal> {
    if file.cases.is_empty() {
        return Ok(()); // a scenario may come through a pipe, and be read once
    }
    let mut axes = cases(file, &[], &[]).map_err(Refusal::Sweep)?;
    for axis in &mut axes {
        axis.varies = true; // an only case is named, too
    }
    let alone: Vec<&[Axis]> = axes.iter().map(std::slice::from_ref).collect();
    // What is wrong with a case alone is not blamed on those that it is combined with.
    let mut builds = 0;
    for (axes, whole) in [(alone, false), (vec![axes.as_slice()], true)] {
        let (mut known, mut errors) = (BTreeSet::new(), Vec::new());
        for axes in axes {
            for point in sweep::points(axes, &[0]).map_err(Refusal::Sweep)? {
                let sets = [point.sets.as_slice(), &global.sets].concat();
                let found = load(name, global, &sets).and_then(|scenario| {
                    builds += usize::from(whole);
                    let builds = whole && builds <= BUILT_MAX && scenario.need() <= BUILT_OF;
                    if builds {
                        scenario.assemble().map(drop)
                    } else {
                        Ok(())
                    }
                });
                let Err(found) = found else {
                    continue;
                };
                let settings = point.settings.iter();
                let of: Vec<_> = settings
                    .map(|(key, case)| format!("{key} = {case}"))
                    .collect();
                for mut wrong in found.0 {
                    if known.insert(wrong.render(false)) {
                        wrong.message += " in a case of [[compare]]";
                        if !of.is_empty() {
                            let _ = write!(wrong.message, ", {}", of.join(", "));
                        }
                        errors.push(wrong);
                    }
                }
            }
        }
        if !errors.is_empty() {
            return Err(Refusal::Scenario(Errors(errors)));
        }
    }
    Ok(())
}

/// Many scenarios take a while to read.
pub(crate) fn not_interrupted() -> Result<(), Refusal> {
    let why = || Refusal::Interrupted("interrupted before the first run".into());
    (!interrupted()).then_some(()).ok_or_else(why)
}

/// All runs, each checked before the first begins.
pub(crate) fn plan(
    points: Vec<Point>,
    args: &CompareArgs,
    global: &Global,
) -> Result<Vec<Job>, Refusal> {
    let mut jobs = Vec::new();
    let mut errors: Vec<scenario::Diagnostic> = Vec::new();
    for point in points {
        not_interrupted()?;
        let seeded = Global {
            seed: Some(point.seed),
            ..without_sets(global)
        };
        match load(&args.scenario, &seeded, &point.sets) {
            Ok(scenario) => {
                let name = default_folder(&scenario);
                let dir = match &global.out {
                    Some(out) => out.join(name.file_name().unwrap_or_default()),
                    None => name,
                };
                jobs.push(Job {
                    command: cmd_run::repeat("run", &args.scenario, &seeded, &point.sets),
                    scenario: Mutex::new(Some(scenario)),
                    point,
                    dir,
                });
            }
            // Every run would say the same of the file.
            Err(found) => {
                for d in found.0 {
                    if !errors.iter().any(|e| e.render(false) == d.render(false)) {
                        errors.push(d);
                    }
                }
            }
        }
    }
    if errors.is_empty() {
        Ok(jobs)
    } else {
        Err(Refusal::Scenario(Errors(errors)))
    }
}

/// Runs the jobs that are not done yet, and returns what came of each, in their order.
pub(crate) fn run_all(
    jobs: &[Job],
    args: &CompareArgs,
    global: &Global,
    screen: &Screen,
) -> Vec<Outcome> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Settings on which no result depends give one folder: it is made once.
    let same = |job: &Job| jobs.iter().position(|other| other.dir == job.dir);
    let first: Vec<usize> = jobs.iter().filter_map(same).collect();
    let once: Vec<usize> = (0..jobs.len()).filter(|&i| first[i] == i).collect();
    let workers = global
        .jobs
        .map_or(cores, usize::from)
        .min(once.len())
        .max(1);
    let slots: Vec<Mutex<Outcome>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let bar = screen.count_bar(once.len() as u64);
    let room = Room::new(global.memory_limit);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !interrupted() {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&i) = once.get(n) else { break };
                    let outcome = one(&jobs[i], args.again, &room, screen);
                    if let Ok(mut slot) = slots[i].lock() {
                        *slot = outcome;
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let outcomes: Vec<Outcome> = slots
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or(None))
        .collect();
    let of = |(job, &first): (&Job, &usize)| {
        let mut outcome = outcomes[first].clone();
        if let Some(Ok(done)) = &mut outcome {
            // In its own folder a run knows nothing of its siblings.
            done.summary.settings.clone_from(&job.point.settings);
        }
        outcome
    };
    jobs.iter().zip(&first).map(of).collect()
}

/// `None` where the user interrupted before it began.
fn one(job: &Job, again: bool, room: &Room, screen: &Screen) -> Outcome {
    let scenario = job.scenario.lock().map_or(None, |mut slot| slot.take());
    let scenario = scenario.expect("each job is taken once");
    let there = |again| {
        if again {
            Ok(None)
        } else {
            finished(&job.dir, &scenario).map_err(Refusal::Scenario)
        }
    };
    // A mark is taken away by who claims the folder.
    match there(again || RunFolder::is_marked(&job.dir)).transpose() {
        None => {}
        done => return done,
    }
    let (folder, waited) = match claim(&job.dir, screen) {
        Ok(claimed) => claimed?,
        Err(refusal) => return Some(Err(refusal)),
    };
    // Who had the folder before may have made just this run.
    match there(again && !waited).transpose() {
        None => {}
        done => return done,
    }
    let damaged = current(&job.dir, &scenario).and_then(|m| results::files::damaged(&job.dir, &m));
    if let Some(what) = damaged.filter(|_| !again) {
        screen.warn(&format!("{what}: this run is made again"));
    }
    Some(make(scenario, job, &folder, room))
}

/// The folder, and whether another process had it until now; `None` after an interruption.
fn claim(dir: &Path, screen: &Screen) -> Result<Option<(RunFolder, bool)>, Refusal> {
    let mut waited = false;
    while !interrupted() {
        match RunFolder::claim(dir, &cmd_run::myself()) {
            Ok(folder) => return Ok(Some((folder, waited))),
            Err(ClaimError::Taken { path, by }) => {
                if !waited {
                    screen.warn(&format!("waiting for {}: {by} writes it", path.display()));
                }
                waited = true;
                #[allow(clippy::disallowed_methods, reason = "another process takes its time")]
                std::thread::sleep(LOOK_EVERY);
            }
            Err(error) => return Err(Refusal::Folder(error.to_string())),
        }
    }
    Ok(None)
}

fn make(scenario: Scenario, job: &Job, folder: &RunFolder, room: &Room) -> Result<Done, Refusal> {
    let output = Output {
        hpcc_fct: scenario.output.hpcc,
        ..Output::default()
    };
    let mut part = room.before(&scenario);
    let assembled = scenario.assemble()?;
    part.settle(&assembled);
    let silent = Screen::silent();
    let done = execute(&assembled, 1, &job.command, folder, output, None, &silent)?;
    if interrupted() {
        // The run may be whole and its report not: the next comparison makes it again.
        folder.unfinish();
    }
    Ok(done)
}

/// How the run of these settings was made that is there already, of this version of the program and of its transport.
fn current(dir: &Path, scenario: &Scenario) -> Option<results::Meta> {
    let current = |meta: &results::Meta| {
        // Somebody may have run something else into this folder.
        meta.asked == scenario.hashes()[1]
            && meta.version == env!("CARGO_PKG_VERSION")
            && meta.revision == cmd_run::revision(scenario)
    };
    results::files::made(dir).filter(current)
}

/// A run of these settings that is there already, whole and to its end. Thresholds are judged anew, so that a comparison
/// that goes on says what it would have said.
fn finished(dir: &Path, scenario: &Scenario) -> Result<Option<Done>, Errors> {
    let whole =
        current(dir, scenario).is_some_and(|meta| results::files::damaged(dir, &meta).is_none());
    let summary = results::files::read_summary(dir).ok();
    let interrupted = results::Status::Interrupted.name();
    let Some(summary) = summary.filter(|s| whole && s.status != interrupted) else {
        return Ok(None);
    };
    let conditions = scenario.conditions()?;
    let verdicts: Vec<Verdict> = conditions.iter().map(|c| c.judge(&summary)).collect();
    Ok(Some(Done {
        code: cmd_run::code_of(&summary, &verdicts),
        summary,
        verdicts,
        dir: dir.to_path_buf(),
        failed: None,
    }))
}
