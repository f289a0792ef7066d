//! `fuzz`: random scenarios from seeds, each with one and with several threads, judged by what
//! must hold of every run.

use crate::args::{FuzzArgs, Global};
use crate::exit;
use crate::progress::{catch_interrupts, interrupted};
use crate::screen::Screen;
use experiments::sweep;
use scenario::fuzz::{self, Promise};
use scenario::{Alone, load_text_with};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn run(args: &FuzzArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    let seeds = match sweep::seed_range(&args.seeds, 1) {
        Ok(seeds) => seeds,
        Err(why) => return screen.fail(exit::USAGE, &why),
    };
    if i64::try_from(*seeds.end()).is_err() {
        let why = format!(
            "--seeds ends at {}; the largest seed is {}",
            seeds.end(),
            i64::MAX
        );
        return screen.fail(exit::USAGE, &why);
    }
    if global.dry_run {
        for seed in seeds {
            screen.print(&fuzz::text(&global.transports, seed));
        }
        return exit::OK;
    }
    let failures = Mutex::new(Vec::new());
    let next = Mutex::new(seeds.clone());
    let done = AtomicU64::new(0);
    let all = (seeds.end() - seeds.start()).saturating_add(1);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = global.jobs.map_or(cores, usize::from);
    let workers = workers.min(usize::try_from(all).unwrap_or(usize::MAX));
    let bar = screen.count_bar(all);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while !interrupted() {
                    let Some(seed) = next.lock().map_or(None, |mut seeds| seeds.next()) else {
                        break;
                    };
                    let found = one(seed, global);
                    done.fetch_add(1, Ordering::Relaxed);
                    bar.inc(1);
                    if let (false, Ok(mut failures)) = (found.is_empty(), failures.lock()) {
                        failures.push((seed, found));
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort();
    let done = done.into_inner();
    tell((done, all), &failures, global, screen);
    code(done == all, &failures)
}

/// What was found, and after how many seeds.
fn tell(
    (done, all): (u64, u64),
    failures: &[(u64, Vec<String>)],
    global: &Global,
    screen: &Screen,
) {
    if global.json {
        let failed: Vec<_> = failures
            .iter()
            .map(|(seed, found)| json!({ "seed": seed, "broken": found }))
            .collect();
        screen.print(&format!(
            "{:#}\n",
            json!({ "seeds": done, "failed": failed })
        ));
        return;
    }
    for (seed, found) in failures {
        for line in found {
            screen.print(&format!("seed {seed}: {line}\n"));
        }
        screen.print(&format!(
            "  {} fuzz --seeds {seed}..{seed}\n",
            global.program
        ));
    }
    let broken = failures.len();
    screen.say(&if done == all {
        format!("{done} seeds, {broken} failed\n")
    } else {
        format!("interrupted after {done} of {all} seeds, {broken} failed\n")
    });
}

fn code(all: bool, failures: &[(u64, Vec<String>)]) -> i32 {
    match (failures, all) {
        ([_, ..], _) => exit::BROKEN,
        ([], true) => exit::OK,
        ([], false) => exit::INTERRUPTED,
    }
}

/// What the scenario of `seed` breaks.
fn one(seed: u64, global: &Global) -> Vec<String> {
    // Two to five: a number of threads that does not divide the nodes finds more.
    let several = u16::try_from(2 + seed % 4).unwrap_or(2);
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let judge = || {
            let name = format!("seed {seed}");
            let text = fuzz::text(&global.transports, seed);
            let mut run =
                load_text_with(&global.transports, &name, &text, &global.sets)?.assemble()?;
            fuzz::entangle(&mut run, seed);
            let record = run.run(1, "", &mut Alone)?;
            let mut found = Promise::of(&run).broken(&record);
            found.extend(fuzz::disagreements(&run, &record, several));
            Ok(found)
        };
        judge().unwrap_or_else(|errors: scenario::Errors| vec![errors.render(false)])
    }));
    judged.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        vec![format!("panic: {text}")]
    })
}
