//! `compare --find-max-load`: the highest load that each combination sustains.
//!
//! Every run is an ordinary run in its own folder, so a search that was killed goes on where it was.

use crate::args::{CompareArgs, Global};
use crate::cmd_compare::{Ended, Outcome, go_on, plan, points, run_all};
use crate::exit;
use crate::progress::interrupted;
use crate::screen::Screen;
use experiments::find_load::{KEY, Search, TOP, not_sustained};
use experiments::sweep::{self, Point};
use serde_json::json;

/// Why a run does not count as sustaining its load.
fn failure(outcome: &Outcome) -> Option<String> {
    match outcome {
        Some(Ok(done)) => not_sustained(&done.summary, &done.verdicts, done.code == exit::BROKEN),
        Some(Err(refusal)) => Some(refusal.text()),
        None => None,
    }
}

pub(crate) fn run(args: &CompareArgs, global: &Global, screen: &Screen) -> i32 {
    if global.sets.iter().any(|set| sweep::sets_key(set, KEY)) {
        let why = format!("--find-max-load searches {KEY} itself; leave out --set {KEY}=...");
        return screen.fail(exit::USAGE, &why);
    }
    let points = match points(args, global) {
        Ok(points) => points,
        Err(refusal) => return refusal.show(screen),
    };
    let mut searches: Vec<Search<Outcome>> = Search::each(&points);
    if let Some(shard) = args.shard {
        searches = shard.of(searches);
    }
    loop {
        let probes: Vec<Vec<Point>> = searches.iter().map(Search::probe).collect();
        if probes.iter().all(Vec::is_empty) {
            break;
        }
        let counts: Vec<usize> = probes.iter().map(Vec::len).collect();
        let jobs = match plan(probes.concat(), args, global) {
            Ok(jobs) => jobs,
            Err(refusal) => return refusal.show(screen),
        };
        if global.dry_run {
            would_search(jobs.len(), global, screen);
            return exit::OK;
        }
        let outcomes = run_all(&jobs, args, global, screen);
        if interrupted() {
            let known = searches.iter().map(Search::known).collect::<String>();
            let why = format!(
                "interrupted; the runs that ended are kept, and the same command goes on from there: {}\n{known}",
                go_on(args, global)
            );
            return screen.fail(exit::INTERRUPTED, why.trim_end());
        }
        let mut outcomes = outcomes.into_iter();
        for (search, count) in searches.iter_mut().zip(counts).filter(|(_, n)| *n > 0) {
            let runs: Vec<Outcome> = outcomes.by_ref().take(count).collect();
            let why = runs.iter().find_map(failure);
            search.learn(runs, why);
        }
    }
    let lines: String = searches.iter().map(Search::line).collect();
    let rows = searches.iter().map(Search::row).collect();
    let mut ended = Ended::of_search(rows);
    for outcome in searches.into_iter().flat_map(Search::into_best) {
        ended.add(outcome, screen);
    }
    let code = ended.show(args, global, screen);
    if !global.json {
        screen.say(&lines);
    }
    code
}

/// What a dry run says.
fn would_search(runs: usize, global: &Global, screen: &Screen) {
    let halvings = TOP.ilog2();
    if global.json {
        let document = json!({ "would_begin_with": runs, "at_load": 0.5, "halvings": halvings });
        screen.print(&format!("{document:#}\n"));
    } else {
        screen.say(&format!(
            " would begin with {runs} runs at load 0.50 and halve {halvings} times\n"
        ));
    }
}
