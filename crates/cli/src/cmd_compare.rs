//! `compare`: every combination of settings and seeds, side by side on all cores.

use crate::args::{CompareArgs, Global};
use crate::cmd_run::{self, Done, default_folder, execute, load};
use crate::exit;
use crate::progress::{catch_interrupts, interrupted};
use crate::screen::Screen;
use crate::sweep::{self, Point};
use results::{Output, Summary};
use scenario::{Errors, Scenario};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One run of the comparison: checked, not yet begun.
struct Job {
    point: Point,
    scenario: Mutex<Option<Scenario>>,
    dir: PathBuf,
    command: String,
}

pub(crate) fn run(args: &CompareArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    let jobs = match plan(args, global) {
        Ok(jobs) => jobs,
        Err(Refusal::Sweep(why)) => return screen.fail(exit::USAGE, &why),
        Err(Refusal::Scenario(errors)) => return screen.wrong(&errors),
    };
    if global.dry_run {
        let lines: Vec<_> = jobs
            .iter()
            .map(|j| format!("{}  # {}\n", j.command, j.dir.display()))
            .collect();
        screen.say(&lines.concat());
        return exit::OK;
    }
    let results = run_all(&jobs, args, global, screen);
    let mut summaries = Vec::new();
    let mut worst = exit::OK;
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Some(Ok(done)) => {
                worst = worse(worst, done.code);
                if let Some(why) = &done.failed {
                    screen.fail(done.code, why);
                }
                // In its own folder a run knows nothing of its siblings.
                summaries.push(Summary {
                    settings: job.point.settings.clone(),
                    ..done.summary
                });
            }
            Some(Err(errors)) => worst = worse(worst, screen.wrong(&errors)),
            None => worst = worse(worst, exit::INTERRUPTED),
        }
    }
    if summaries.is_empty() {
        return worst;
    }
    crate::cmd_report::show(&summaries, global, screen);
    let command = repeat(args, global);
    let page = results::compare::html(&summaries.iter().collect::<Vec<_>>(), &command);
    let root = jobs
        .first()
        .and_then(|job| job.dir.parent())
        .unwrap_or(Path::new("."));
    let file = root.join(format!(
        "compare-{:08x}.html",
        scenario::hash(command.as_bytes()) >> 32
    ));
    match std::fs::write(&file, page) {
        Ok(()) if global.json => {}
        Ok(()) => screen.say(&format!(" report: {}\n", file.display())),
        Err(e) => {
            let why = format!("cannot write {}: {e}", file.display());
            worst = worse(worst, screen.fail(exit::IO, &why));
        }
    }
    worst
}

/// The command that repeats the comparison.
fn repeat(args: &CompareArgs, global: &Global) -> String {
    let mut command =
        cmd_run::repeat(&args.scenario, global, &global.sets).replacen("run", "compare", 1);
    if let Some(seeds) = &args.seeds {
        command.push_str(" --seeds ");
        command.push_str(seeds);
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

enum Refusal {
    Sweep(String),
    Scenario(Errors),
}

/// All runs, each checked before the first begins.
fn plan(args: &CompareArgs, global: &Global) -> Result<Vec<Job>, Refusal> {
    let unseeded = Global {
        seed: None,
        sets: Vec::new(),
        ..global.clone()
    };
    let seeds = |first| sweep::seeds(args.seeds.as_deref(), first).map_err(Refusal::Sweep);
    // The first seed is the command line's, or the scenario's own.
    let mut points = sweep::points(&global.sets, &[0]).map_err(Refusal::Sweep)?;
    let first = match (global.seed, points.first()) {
        (Some(seed), _) => seed,
        (None, Some(point)) => load(&args.scenario, &unseeded, &point.sets)
            .map_err(Refusal::Scenario)?
            .run
            .count("seed"),
        (None, None) => 1,
    };
    points = sweep::points(&global.sets, &seeds(first)?).map_err(Refusal::Sweep)?;
    let mut jobs = Vec::new();
    let mut errors: Vec<scenario::Diagnostic> = Vec::new();
    for point in points {
        let seeded = Global {
            seed: Some(point.seed),
            ..unseeded.clone()
        };
        match load(&args.scenario, &seeded, &point.sets) {
            Ok(scenario) => {
                let name = default_folder(&scenario);
                let dir = match &global.out {
                    Some(out) => out.join(name.file_name().unwrap_or_default()),
                    None => name,
                };
                jobs.push(Job {
                    command: cmd_run::repeat(&args.scenario, &seeded, &point.sets),
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

fn run_all(
    jobs: &[Job],
    args: &CompareArgs,
    global: &Global,
    screen: &Screen,
) -> Vec<Option<Result<Done, Errors>>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = global
        .jobs
        .map_or(cores, usize::from)
        .min(jobs.len())
        .max(1);
    let slots: Vec<Mutex<Option<Result<Done, Errors>>>> =
        jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let bar = screen.count_bar(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !interrupted() {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { break };
                    let result = one(job, args.again);
                    if let Ok(mut slot) = slots[i].lock() {
                        *slot = Some(result);
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    slots
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or(None))
        .collect()
}

fn one(job: &Job, again: bool) -> Result<Done, Errors> {
    if !again && let Some(done) = finished(&job.dir) {
        return Ok(done);
    }
    let scenario = job.scenario.lock().map_or(None, |mut slot| slot.take());
    let scenario = scenario.expect("each job is taken once");
    let output = Output {
        hpcc_fct: scenario.output.flag("hpcc"),
        ..Output::default()
    };
    let assembled = scenario.assemble()?;
    execute(
        &assembled,
        1,
        &job.command,
        &job.dir,
        output,
        &Screen::silent(),
    )
}

/// A run that is there already, whole and to its end.
fn finished(dir: &Path) -> Option<Done> {
    if !results::files::is_whole(dir) {
        return None;
    }
    let summary = results::files::read_summary(dir).ok()?;
    (summary.status != results::Status::Interrupted.name()).then(|| Done {
        code: if summary.broken() {
            exit::BROKEN
        } else {
            exit::OK
        },
        summary,
        verdicts: Vec::new(),
        dir: dir.to_path_buf(),
        failed: None,
    })
}
