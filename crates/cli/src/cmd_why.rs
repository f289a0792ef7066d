//! `why`: where a message's time went, found by running its run again.

use crate::args::{Global, WhyArgs};
use crate::cmd_run::{load, quote, threads};
use crate::exit;
use crate::progress::{Viewer, catch_interrupts};
use crate::screen::Screen;
use results::trace::Why;
use results::{Summary, files};
use scenario::{Assembled, Errors, Request, Scenario};
use serde_json::json;
use std::path::Path;
use units::Time;

/// What kept a command from its end: the exit code, said already.
pub(crate) struct Ended(pub(crate) i32);

/// A run to look into: recorded in a folder, or run just now.
pub(crate) struct Recorded {
    pub(crate) assembled: Assembled,
    pub(crate) summary: Summary,
    /// Where another result than the recorded one would come from.
    blame: Blame,
}

/// What may have changed since a run was recorded.
enum Blame {
    /// The program.
    Version,
    /// The scenario in the folder, or a file that it names.
    Scenario,
}

impl Blame {
    fn of(dir: &Path, scenario: &Scenario) -> Self {
        let changed = |meta: results::Meta| {
            meta.version == env!("CARGO_PKG_VERSION") && meta.scenario != scenario.hashes()[0]
        };
        if files::made(dir).is_some_and(changed) {
            Self::Scenario
        } else {
            Self::Version
        }
    }
}

/// The run that `from` names: a folder of results, a scenario file or a built-in scenario.
pub(crate) fn find(from: &str, global: &Global, screen: &Screen) -> Result<Recorded, Ended> {
    let resolved = Path::new(from).join("resolved.toml");
    let wrong = |errors: Errors| Ended(screen.wrong(&errors));
    if !Path::new(from).is_dir() {
        let scenario = load(from, global, &global.sets).map_err(wrong)?;
        let assembled = scenario.assemble().map_err(wrong)?;
        let mut viewer = Viewer::new(screen, &assembled.scenario.name, None);
        let record = assembled.run(threads(&assembled.scenario, global), "", &mut viewer);
        viewer.finish();
        let summary = Summary::of(&record.map_err(wrong)?);
        return Ok(Recorded {
            assembled,
            summary,
            blame: Blame::Version,
        });
    }
    if !global.sets.is_empty() || global.seed.is_some() {
        let why = format!(
            "{from} is a run that was made already; --set and --seed would make it another one. \
             Name a scenario instead, or leave them out"
        );
        return Err(Ended(screen.fail(exit::USAGE, &why)));
    }
    let summary = files::read_summary(Path::new(from)).map_err(|why| {
        Ended(screen.fail(
            exit::IO,
            &format!("{from} is no folder that `tidegate run` wrote: {why}"),
        ))
    })?;
    if summary.status == results::Status::Interrupted.name() {
        let why = format!(
            "the run in {from} was interrupted, and only a whole run can be run again to look into it; let it \
             end first: {} run {} --out {}",
            global.program,
            quote(&resolved.display().to_string()),
            quote(from)
        );
        return Err(Ended(screen.fail(exit::USAGE, &why)));
    }
    let request = Request {
        from: &resolved.display().to_string(),
        sets: &[],
    };
    let scenario = scenario::load_with(&global.transports, &request).map_err(wrong)?;
    let blame = Blame::of(Path::new(from), &scenario);
    Ok(Recorded {
        assembled: scenario.assemble().map_err(wrong)?,
        summary,
        blame,
    })
}

impl Recorded {
    /// Checks that a second run was the first one again.
    pub(crate) fn same(&self, fingerprint: u64, screen: &Screen) -> Result<(), Ended> {
        let again = format!("{fingerprint:016x}");
        if crate::progress::interrupted() {
            return Err(Ended(exit::INTERRUPTED));
        }
        if again == self.summary.fingerprint {
            return Ok(());
        }
        let (code, blame) = match self.blame {
            Blame::Version => (
                exit::BROKEN,
                "another version of the program made it (see its meta.json)",
            ),
            Blame::Scenario => (
                exit::USAGE,
                "its resolved.toml, or a file that this names, has changed since",
            ),
        };
        let why = format!(
            "the run has fingerprint {}, and running it again gave {again}: {blame}. Run the scenario anew",
            self.summary.fingerprint
        );
        Err(Ended(screen.fail(code, &why)))
    }
}

pub(crate) fn run(args: &WhyArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    match explain(args, global, screen) {
        Ok(()) => exit::OK,
        Err(Ended(code)) => code,
    }
}

fn explain(args: &WhyArgs, global: &Global, screen: &Screen) -> Result<(), Ended> {
    let usage = |why: &str| Ended(screen.fail(exit::USAGE, why));
    let run = find(&args.run, global, screen)?;
    let count = run.assembled.traffic.messages.len();
    let slowest = run.summary.slowest.first().map(|slow| slow.message);
    let message = args
        .flow
        .or(slowest)
        .ok_or_else(|| usage("no message of the run has a completion time; name one by --flow"))?;
    if message as usize >= count {
        let why = format!(
            "there is no message {message}: the run has {count}, numbered from 0; the first column \
             of flows.csv lists them"
        );
        return Err(usage(&why));
    }
    let threads = threads(&run.assembled.scenario, global);
    let mut viewer = Viewer::new(screen, &run.assembled.scenario.name, None);
    let explained =
        run.assembled
            .explain(threads, &[message], Time::ZERO, Time::NEVER, &mut viewer);
    viewer.finish();
    let (whys, traced) = explained.map_err(|errors| Ended(screen.wrong(&errors)))?;
    run.same(traced.fingerprint, screen)?;
    let why = whys.first().ok_or_else(|| {
        let text = format!("message {message} never began: its time comes after the end of the run, or what it waits for did not happen");
        usage(&text)
    })?;
    show(why, &run, args, global, screen);
    Ok(())
}

fn show(why: &Why, run: &Recorded, args: &WhyArgs, global: &Global, screen: &Screen) {
    if global.json {
        let document = json!({
            "scenario": run.summary.scenario,
            "transport": run.summary.transport,
            "seed": run.summary.seed,
            "fingerprint": run.summary.fingerprint,
            "why": why,
            "text": why.text(args.ladder.into(), results::Style::PLAIN),
        });
        screen.print(&format!("{document:#}\n"));
        return;
    }
    screen.say(&results::table::header(&[&run.summary], screen.style));
    screen.say(&why.text(args.ladder.into(), screen.style));
}
