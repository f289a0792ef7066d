//! `compare --find-max-load`: the highest load that each combination sustains.
//!
//! Loads of 0.01 to 0.99 are halved until one that is sustained lies next to one that is not, on
//! the premise that what sustains a load sustains less, too. Every run is an ordinary run in its
//! own folder, so a search that was killed goes on where it was.

use crate::args::{CompareArgs, Global};
use crate::cmd_compare::{Ended, Outcome, Refusal, go_on, plan, points, run_all};
use crate::cmd_run::Done;
use crate::exit;
use crate::progress::interrupted;
use crate::screen::Screen;
use experiments::sweep::{self, Point};
use serde_json::{Value, json};

const KEY: &str = "workload.load";
/// Loads are searched in hundredths, and this one is never sustained: nothing is left for headers.
const TOP: u32 = 100;

/// One combination, and what is known of it.
struct Search {
    /// The combination with each seed.
    points: Vec<Point>,
    /// The highest load known to be sustained, in hundredths; 0 before there is one.
    good: u32,
    /// The lowest known not to be.
    bad: u32,
    /// Why not.
    why: String,
    /// The runs at `good`.
    best: Vec<Outcome>,
}

impl Search {
    /// The load to try next, with each seed; nothing where the search is over.
    fn probe(&self) -> Vec<Point> {
        let middle = self.middle();
        let ends = self.bad - self.good <= 1;
        let at = |point: &Point| {
            let mut point = point.clone();
            let load = format!("0.{middle:02}");
            point.sets.push(format!("{KEY}={load}"));
            point.settings.push((KEY.to_owned(), load));
            point
        };
        self.points.iter().filter(|_| !ends).map(at).collect()
    }

    fn middle(&self) -> u32 {
        u32::midpoint(self.good, self.bad)
    }

    fn learn(&mut self, outcomes: Vec<Outcome>) {
        let middle = self.middle();
        if let Some(why) = outcomes.iter().flatten().find_map(not_sustained) {
            (self.bad, self.why) = (middle, why);
        } else {
            (self.good, self.best) = (middle, outcomes);
        }
    }

    /// Which combination it is, in words.
    fn name(&self) -> String {
        let sets = self.points.first().map(|point| point.sets.join(", "));
        sets.filter(|s| !s.is_empty()).unwrap_or("it".to_owned())
    }

    /// What is known before it is over, in one line.
    fn known(&self) -> String {
        let hundredths = |load: u32| f64::from(load) / f64::from(TOP);
        format!(
            " {}: the highest load lies from {:.2} to below {:.2}\n",
            self.name(),
            hundredths(self.good),
            hundredths(self.bad)
        )
    }

    /// What was found, in one line.
    fn line(&self) -> String {
        let name = self.name();
        let above = if self.bad < TOP {
            format!("; at 0.{:02} {}", self.bad, self.why)
        } else {
            String::new()
        };
        match self.good {
            0 => format!(" {name} sustains not even load 0.01: {}\n", self.why),
            good => format!(" {name} sustains load 0.{good:02}{above}\n"),
        }
    }

    /// The same for programs: the combination, the highest load that it sustains, and the next one with why not; `null`
    /// where there is none.
    fn row(&self) -> Value {
        let point = self.points.first();
        let load = |hundredths: u32| f64::from(hundredths) / f64::from(TOP);
        let failed = || json!({ "load": load(self.bad), "why": self.why });
        json!({
            "set": point.map(|point| &point.sets),
            "sustained": (self.good > 0).then(|| load(self.good)),
            "failed": (self.bad < TOP).then(failed),
        })
    }
}

/// Why a run does not count as sustaining its load.
fn not_sustained(outcome: &Result<Done, Refusal>) -> Option<String> {
    let done = match outcome {
        Ok(done) => done,
        Err(refusal) => return Some(refusal.text()),
    };
    let summary = &done.summary;
    let failed = done.verdicts.iter().find(|verdict| !verdict.passed);
    let what = match (failed, summary.messages.unfinished) {
        _ if done.code == exit::BROKEN => "flows are stuck or packets unaccounted for".to_owned(),
        _ if summary.backlog_grew => "the backlog grows".to_owned(),
        (Some(v), _) => format!("{} {} is missed with {}", v.key, v.condition, v.measured),
        (None, 0) => return None,
        (None, n) => format!("{n} messages do not finish"),
    };
    Some(format!("{what} (seed {})", summary.seed))
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
    let same = |a: &Point, b: &Point| a.sets == b.sets;
    let searches = points.chunk_by(same).map(|points| Search {
        points: points.to_vec(),
        good: 0,
        bad: TOP,
        why: String::new(),
        best: Vec::new(),
    });
    let mut searches: Vec<Search> = searches.collect();
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
            search.learn(outcomes.by_ref().take(count).collect());
        }
    }
    let lines: String = searches.iter().map(Search::line).collect();
    let rows = searches.iter().map(Search::row).collect();
    let mut ended = Ended::of_search(rows);
    for outcome in searches.into_iter().flat_map(|search| search.best) {
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
