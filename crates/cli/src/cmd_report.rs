//! `report`: the table of runs that were written before.

use crate::args::{Global, ReportArgs};
use crate::exit;
use crate::screen::Screen;
use results::{Style, Summary, Verdict};

pub(crate) fn run(args: &ReportArgs, global: &Global, screen: &Screen) -> i32 {
    let mut summaries = Vec::new();
    for dir in &args.dirs {
        match results::files::read_summary(dir) {
            Ok(summary) => summaries.push(summary),
            Err(why) => return screen.fail(exit::IO, &format!("{}: {why}", dir.display())),
        }
    }
    show(&summaries, global, screen);
    exit::OK
}

/// One table of several runs.
pub(crate) fn show(summaries: &[Summary], global: &Global, screen: &Screen) {
    if global.json {
        screen.print(&results::files::to_json(&summaries));
    } else {
        screen.say(&table(summaries, screen.style));
    }
}

/// Runs that are told one by one, each with its sizes; of more there is one table and who is ahead where. [ours]
const TOLD_MAX: usize = 16;

/// The table of several runs as text: a row per run, or per group of runs that differ in their seeds.
pub fn table(summaries: &[Summary], style: Style) -> String {
    let seeds = summaries.windows(2).any(|two| two[0].seed != two[1].seed);
    if seeds || summaries.len() > TOLD_MAX {
        let runs: Vec<&Summary> = summaries.iter().collect();
        return results::compare::text(&runs, style);
    }
    let none: &[Verdict] = &[];
    let runs: Vec<(&Summary, &[Verdict])> = summaries.iter().map(|s| (s, none)).collect();
    results::table::text(&runs, style)
}
