//! `tidegate reproduce`: published experiments, run again, with a verdict for every number.
//!
//! The names are those of experiments, of claims that rows of several bear on, or folders. What each case sets is put
//! together, its runs are made or taken from those that are kept, and its rows are measured and compared; tables, figures
//! and the page of a claim are written where a folder is given.

use crate::args::{Global, ReproduceArgs};
use crate::exit;
use crate::kept::{Kept, measured};
use crate::progress::{Viewer, catch_interrupts, clock};
use crate::screen::Screen;
use experiments::{
    Case, Curves, EXPERIMENTS, Expected, Experiment, Found, Measured, Row, Run, Verdict, csv,
    document, page, summary, table, totals,
};
use report::Figure;
use results::{FileError, RunRecord, Status, Style, beside, human};
use scenario::Assembled;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names all experiments at once.
const ALL: &str = "all";

/// That no case was asked for, with those that could be.
fn no_case(known: &[String]) -> String {
    format!(
        "no case has that in its name; there are {}",
        known.join(", ")
    )
}

/// Runs the command.
pub(crate) fn run(args: &ReproduceArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    if args.gallery {
        return crate::cmd_gallery::run(global, screen);
    }
    if args.list || args.names.is_empty() {
        return list(args, screen);
    }
    let chosen = match chosen(&args.names) {
        Ok(chosen) => chosen,
        Err(why) => return screen.fail(exit::USAGE, &why),
    };
    let mut all = Tally::default();
    let (mut verdicts, mut known) = (Vec::new(), Vec::new());
    let mut together: Vec<(String, Vec<Figure>)> = Vec::new();
    for (experiment, claim) in &chosen {
        let mut figures = Vec::new();
        let mut expected = match experiment.expected() {
            Ok(expected) => expected,
            Err(why) => return screen.fail(exit::BROKEN, &why),
        };
        if let Some(claim) = claim {
            expected.narrow(claim);
        }
        known.extend(expected.cases.iter().map(|case| case.name.clone()));
        let told = (&mut all, &mut figures);
        let found = match one(experiment, &expected, args, global, screen, told) {
            Ok(found) => found,
            Err(code) => return code,
        };
        verdicts.extend(found);
        match (claim, together.last_mut()) {
            (Some(claim), Some((last, all))) if claim == last => all.append(&mut figures),
            (Some(claim), _) => together.push((claim.clone(), figures)),
            (None, _) => {}
        }
    }
    if all.runs == 0 {
        return screen.fail(exit::USAGE, &no_case(&known));
    }
    let talks = !global.json && !args.markdown;
    if global.dry_run {
        screen.say(&format!(" in all {}; nothing was run\n", all.cost()));
        return exit::OK;
    }
    if global.json {
        screen.print(&document(&verdicts));
    } else if talks && chosen.len() > 1 {
        screen.say(&format!(
            "\n{}",
            all.told(&verdicts, args.quick, screen.style)
        ));
    }
    for (claim, figures) in together.iter().filter(|(_, figures)| figures.len() > 1) {
        let Some(out) = &global.out else { continue };
        let command = format!("tidegate reproduce {claim}");
        match write_together(out, figures, claim, &command) {
            Ok(file) if talks => screen.say(&format!(" together: {}\n", file.display())),
            Ok(_) => {}
            Err(error) => return screen.fail(exit::IO, &error.to_string()),
        }
    }
    let failed = verdicts.iter().filter(|verdict| verdict.failed()).count();
    if failed == 0 {
        exit::OK
    } else {
        screen.fail(
            exit::THRESHOLD,
            &format!("{failed} of {} numbers differ", verdicts.len()),
        )
    }
}

/// Prints the experiments, and how to run one where somebody may have expected more.
fn list(args: &ReproduceArgs, screen: &Screen) -> i32 {
    let text = match listed(args.markdown, screen.style.width) {
        Ok(text) => text,
        Err(why) => return screen.fail(exit::BROKEN, &why),
    };
    screen.print(&text);
    if !args.list {
        let said = format!(
            "Nothing was run. tidegate reproduce NAME runs one of them again, --quick a part of it, \
             {ALL} all of them; --dry-run says what that costs."
        );
        screen.print(&format!("\n{}\n", beside("", &said, screen.style.width)));
    }
    exit::OK
}

/// One experiment: what it costs, its runs, its verdicts, its files.
fn one(
    experiment: &Experiment,
    expected: &Expected,
    args: &ReproduceArgs,
    global: &Global,
    screen: &Screen,
    (all, figures): (&mut Tally, &mut Vec<Figure>),
) -> Result<Vec<Verdict>, i32> {
    let talks = !global.json && !args.markdown;
    let (costs, own) = costs(experiment, expected, args, global, screen)?;
    if own.runs == 0 {
        return Ok(Vec::new());
    }
    if talks || global.dry_run {
        screen.say(&format!("\n {}: {}\n", experiment.name, own.cost()));
    }
    if global.dry_run {
        screen.say(&costs);
        all.add(&own);
        return Ok(Vec::new());
    }
    let began = clock();
    let mut curves = Curves::default();
    let found = reproduce(experiment, expected, args, global, screen, &mut curves)?;
    let own = Tally {
        took: began.elapsed(),
        ..own
    };
    let command = command(experiment, args, global);
    let quick = if args.quick {
        expected.quickly(&found, seeds(expected, args))
    } else {
        String::new()
    };
    if args.markdown {
        screen.print(&page(experiment, &command, &found, &quick));
    } else if talks {
        screen.say(&table(experiment, expected, &found, &quick, screen.style));
        screen.say(&own.told(&found, !quick.is_empty(), screen.style));
    }
    if let Some(out) = &global.out {
        let how = [command.as_str(), &quick];
        let (dir, figure) = write(out, experiment, expected, (&found, &curves), how)
            .map_err(|error| screen.fail(exit::IO, &error.to_string()))?;
        if talks {
            screen.say(&format!(" written: {}\n", dir.display()));
        }
        figures.push(figure);
    }
    all.add(&own);
    Ok(found)
}

/// Runs and what they take.
#[derive(Default)]
struct Tally {
    runs: u64,
    /// Seconds of one thread, by [`scenario::Assembled::seconds`].
    seconds: f64,
    took: Duration,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.seconds += other.seconds;
        self.took += other.took;
    }

    /// `40 runs, about 12 s on one thread`.
    fn cost(&self) -> String {
        let (runs, time) = (runs(self.runs), about(self.seconds));
        format!("{runs}, about {time} on one thread")
    }

    /// The line after a table: how many numbers hold, and what it took.
    fn told(&self, verdicts: &[Verdict], quick: bool, style: Style) -> String {
        let took = about(self.took.as_secs_f64());
        let cost = format!("{} in {took}", runs(self.runs));
        totals(verdicts, &cost, quick, style)
    }
}

fn runs(n: u64) -> String {
    match n {
        1 => "1 run".into(),
        n => format!("{} runs", human::count(n)),
    }
}

/// Seconds in the unit that people would choose.
pub(crate) fn about(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6_000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3_600.0),
    }
}

/// The cases that would run, a line each, and what they take together. Seeds cost alike.
fn costs(
    experiment: &Experiment,
    expected: &Expected,
    args: &ReproduceArgs,
    global: &Global,
    screen: &Screen,
) -> Result<(String, Tally), i32> {
    let (mut text, mut tally) = (String::new(), Tally::default());
    for case in cases(expected, args) {
        let sets = settings(expected, case, args, global, 1);
        let plan = planned(experiment, &sets, global, screen)?;
        let seeds = match case.rows.iter().any(|row| row.metric.needs_a_run()) {
            true => seeds(expected, args),
            false => 0,
        };
        let seconds = plan.seconds() * seeds as f64;
        tally.add(&Tally {
            runs: seeds.max(1),
            seconds,
            took: Duration::ZERO,
        });
        let line = format!("{}: {}, about {}", case.name, runs(seeds), about(seconds));
        text += &beside("   ", &line, screen.style.width);
        text.push('\n');
    }
    Ok((text, tally))
}

/// Seeds of every case.
fn seeds(expected: &Expected, args: &ReproduceArgs) -> u64 {
    let usual = if args.quick {
        expected.quick_seeds
    } else {
        expected.seeds
    };
    args.seeds.unwrap_or(usual)
}

/// What a case sets with one seed, the command line's overrides last.
fn settings(
    expected: &Expected,
    case: &Case,
    args: &ReproduceArgs,
    global: &Global,
    seed: u64,
) -> Vec<String> {
    let mut sets = expected.settings(case, args.quick);
    sets.extend(global.sets.iter().cloned());
    sets.push(format!("run.seed={seed}"));
    sets
}

/// Where what comes of an experiment is written.
fn folder(out: &Path, experiment: &Experiment) -> PathBuf {
    let name = Path::new(experiment.name.as_ref()).file_name();
    out.join(name.unwrap_or_else(|| "experiment".as_ref()))
}

/// Writes the figures of a claim that several experiments bear on as one page.
fn write_together(
    out: &Path,
    figures: &[Figure],
    claim: &str,
    command: &str,
) -> Result<PathBuf, FileError> {
    let page = Figure::pages(
        figures,
        claim,
        "what several experiments say of it",
        command,
    );
    let fill = &mut |file: &mut dyn std::io::Write| file.write_all(page.as_bytes());
    results::files::write(out, &format!("{claim}.html"), fill)
}

/// Writes an experiment into a folder of its name: its figure as page, picture and CSV, its numbers as
/// CSV, the table as text, everything as JSON.
fn write(
    out: &Path,
    experiment: &Experiment,
    expected: &Expected,
    (verdicts, curves): (&[Verdict], &Curves),
    [command, quick]: [&str; 2],
) -> Result<(PathBuf, Figure), FileError> {
    let dir = folder(out, experiment);
    std::fs::create_dir_all(&dir).map_err(|source| FileError {
        path: dir.clone(),
        source,
    })?;
    let table = table(experiment, expected, verdicts, quick, Style::PLAIN);
    let found: Vec<Found> = verdicts.iter().map(Verdict::found).collect();
    let again = format!("{command} --out {}", out.display());
    let figure = expected.figure(experiment, &found, curves, &again, quick);
    let mut files = vec![
        ("data.csv", csv(verdicts)),
        ("verdicts.txt", format!("{command}\n{table}")),
        ("verdicts.json", document(verdicts)),
        ("figure.html", figure.page()),
        ("figure.csv", figure.csv()),
    ];
    if !figure.panels.is_empty() {
        files.push(("figure.svg", figure.svg()));
    }
    if !curves.is_empty() {
        files.push(("curves.csv", curves.csv()));
    }
    for (name, text) in files {
        results::files::write(&dir, name, &mut |file| file.write_all(text.as_bytes()))?;
    }
    Ok((dir, figure))
}

/// The experiments called `names`, or those with rows that bear on a claim of that name, and the
/// claim.
fn chosen(names: &[String]) -> Result<Vec<(Experiment, Option<String>)>, String> {
    let mut chosen = Vec::new();
    for name in names {
        if name == ALL {
            chosen.extend(
                EXPERIMENTS
                    .iter()
                    .map(|experiment| (experiment.clone(), None)),
            );
            continue;
        }
        let unknown = match Experiment::find(name) {
            Ok(experiment) => {
                chosen.push((experiment, None));
                continue;
            }
            Err(why) => why,
        };
        let claims = claims()?;
        let bearing = claims.iter().filter(|(claim, _)| claim == name);
        let bearing: Vec<_> = bearing
            .map(|(claim, experiment)| ((*experiment).clone(), Some(claim.clone())))
            .collect();
        if bearing.is_empty() {
            let experiments = EXPERIMENTS.iter().map(|all| all.name.as_ref());
            let known = experiments.chain(claims.iter().map(|(claim, _)| claim.as_str()));
            return Err(match scenario::nearest(name, known) {
                Some(near) => format!("{unknown}; did you mean {near}?"),
                None => format!("{unknown}; tidegate reproduce --list names them all"),
            });
        }
        chosen.extend(bearing);
    }
    Ok(chosen)
}

/// Published claims by name, each with the experiments that have rows on it.
pub(crate) fn claims() -> Result<Vec<(String, &'static Experiment)>, String> {
    let mut claims = Vec::new();
    for experiment in EXPERIMENTS {
        let expected = experiment.expected()?;
        claims.extend(
            expected
                .claims()
                .into_iter()
                .map(|claim| (claim, experiment)),
        );
    }
    Ok(claims)
}

/// The command that repeats what `args` asked of `experiment`.
fn command(experiment: &Experiment, args: &ReproduceArgs, global: &Global) -> String {
    let mut text = format!("tidegate reproduce {}", experiment.name);
    if args.quick {
        text += " --quick";
    }
    if let Some(case) = &args.case {
        let _ = write!(text, " --case '{case}'");
    }
    if let Some(seeds) = args.seeds {
        let _ = write!(text, " --seeds {seeds}");
    }
    for set in &global.sets {
        let _ = write!(text, " --set '{set}'");
    }
    text
}

/// All experiments: name, runs, figure and what they are about; as a page with what came of them
/// last, by the result pages of the repository in which this runs.
fn listed(markdown: bool, width: usize) -> Result<String, String> {
    if markdown {
        return listed_markdown();
    }
    let longest = EXPERIMENTS.iter().map(|all| all.name.len()).max();
    let widest = longest.unwrap_or(0);
    let mut text = format!("{:<widest$}  quick   runs  figure: about\n", "experiment");
    for experiment in EXPERIMENTS {
        let expected = experiment.expected()?;
        let quick = expected.cases.iter().filter(|case| case.quick).count() as u64;
        let (quick, full) = (
            quick * expected.quick_seeds,
            expected.cases.len() as u64 * expected.seeds,
        );
        let name = format!("{:<widest$}  {quick:>5}  {full:>5}  ", experiment.name);
        let figure = expected.source.trim_matches(['[', ']']);
        let about = format!("{figure}: {}", expected.title);
        text += &beside(&name, &about, width);
        text.push('\n');
    }
    text += "\nclaims, each the name of some rows:\n";
    let claims = claims()?;
    let longest = claims.iter().map(|(claim, _)| claim.len()).max();
    let widest = longest.unwrap_or(0);
    for (claim, experiment) in &claims {
        text += &beside(
            &format!("{claim:<widest$}  "),
            experiment.name.as_ref(),
            width,
        );
        text.push('\n');
    }
    Ok(text)
}

fn listed_markdown() -> Result<String, String> {
    let mut text = "# Experiments\n\n\
        Generated by `tidegate reproduce --list --markdown`. Each is a folder of `experiments/` in the repository: \
        `README.md` says what it claims and where it departs from its source, `result.md` what came out of the \
        command at its head, which may have fewer seeds or messages, counted here. `tidegate reproduce NAME` runs one again, `--quick` a part of it in seconds. A number *matches* within the tolerance that \
        stands beside it; *no public number* means that ours is reported alone.\n\n\
        | figure | experiment | about | result |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for experiment in EXPERIMENTS {
        let Expected { title, source, .. } = experiment.expected()?;
        let (name, figure) = (&experiment.name, source.trim_matches(['[', ']']));
        let page = std::fs::read_to_string(format!("experiments/{name}/result.md"));
        let counts = page.ok().and_then(|page| summary(&page));
        let counts = counts.unwrap_or_else(|| "not run in full yet".to_owned());
        let _ = writeln!(text, "| {figure} | `{name}` | {title} | {counts} |");
    }
    text += "\n`tidegate reproduce CLAIM` runs the rows that bear on a published claim, and no others.\n\n\
         | claim | in |\n| --- | --- |\n";
    for (claim, experiment) in claims()? {
        let _ = writeln!(text, "| {claim} | {} |", experiment.name);
    }
    Ok(text)
}

/// The cases to run: those that were asked for, and those that they are compared with.
fn cases<'a>(expected: &'a Expected, args: &ReproduceArgs) -> Vec<&'a Case> {
    let asked = |case: &Case| {
        let named = |text: &String| case.name.contains(text);
        (!args.quick || case.quick) && args.case.as_ref().is_none_or(named)
    };
    let mut bases: Vec<&str> = Vec::new();
    let mut chosen = Vec::new();
    // A case is compared with an earlier one, which may be compared in turn.
    for case in expected.cases.iter().rev() {
        if asked(case) || bases.contains(&case.name.as_str()) {
            let rows = case.rows.iter();
            bases.extend(
                rows.flat_map(|row| [&row.against, &row.than])
                    .flatten()
                    .map(String::as_str),
            );
            chosen.push(case);
        }
    }
    chosen.reverse();
    chosen
}

fn reproduce(
    experiment: &Experiment,
    expected: &Expected,
    args: &ReproduceArgs,
    global: &Global,
    screen: &Screen,
    curves: &mut Curves,
) -> Result<Vec<Verdict>, i32> {
    let seeds = seeds(expected, args);
    let loose = args.quick && !expected.quick_set.is_empty();
    let mut verdicts: Vec<Verdict> = Vec::new();
    for case in cases(expected, args) {
        let verdict = |spec: &Row| Verdict {
            experiment: experiment.name.to_string(),
            case: case.name.clone(),
            spec: if loose {
                spec.clone().loosened()
            } else {
                spec.clone()
            },
            values: Vec::new(),
            each: Vec::new(),
        };
        let mut rows: Vec<Verdict> = case.rows.iter().map(verdict).collect();
        for seed in 1..=seeds {
            let sets = settings(expected, case, args, global, seed);
            let plan = planned(experiment, &sets, global, screen)?;
            for row in &mut rows {
                let known = row.spec.metric.beforehand(&plan);
                row.values.extend(known.map(Measured::from));
            }
            if measured(&case.rows).next().is_none() {
                break; // seeds change nothing
            }
            // What compares messages needs the run itself.
            let whole = case.rows.iter().any(|row| row.metric.compares_messages());
            let kept = global.out.as_ref().filter(|_| !whole);
            let kept = kept.map(|out| {
                let hash = plan.scenario.hash();
                Kept::new(&folder(out, experiment), expected, case, hash, seed)
            });
            let known = kept.as_ref().filter(|_| args.resume).and_then(Kept::read);
            let drawn: Vec<_> = if let Some((numbers, drawn)) = known {
                let needs = |row: &&mut Verdict| row.spec.metric.needs_a_run();
                for (row, number) in rows.iter_mut().filter(needs).zip(numbers) {
                    row.values.push(number);
                }
                drawn
            } else {
                let name = format!("{} {} {seed}/{seeds}", experiment.name, case.name);
                let record = once(&plan, &name, global, screen)?;
                let run = Run {
                    record: &record,
                    bounds: plan.queue_bounds(),
                };
                let numbers = take(&mut rows, &run);
                let drawn = expected.drawn_by(&case.name);
                let drawn: Vec<_> = drawn.map(|(_, curve)| curve.of(&record)).collect();
                if let Some(kept) = kept {
                    let written = kept.write(&numbers, &drawn);
                    written.map_err(|error| screen.fail(exit::IO, &error.to_string()))?;
                }
                drawn
            };
            for ((place, curve), points) in expected.drawn_by(&case.name).zip(drawn) {
                curves.add(place, curve, points);
            }
        }
        for row in &mut rows {
            compare(experiment, row, &verdicts).map_err(|why| screen.fail(exit::BROKEN, &why))?;
        }
        verdicts.append(&mut rows);
    }
    Ok(verdicts)
}

/// Adds what a run measured to the rows that need one. Returns the numbers.
fn take(rows: &mut [Verdict], run: &Run<'_>) -> Vec<Measured> {
    let mut numbers = Vec::new();
    for row in rows.iter_mut().filter(|row| row.spec.metric.needs_a_run()) {
        let number = row.spec.metric.of(run, row.spec.window);
        row.values.push(number);
        row.each.extend(row.spec.metric.each(run.record));
        numbers.push(number);
    }
    numbers
}

/// Sets `row` in relation to what `earlier` rows have, where it is a ratio, or one of two.
fn compare(experiment: &Experiment, row: &mut Verdict, earlier: &[Verdict]) -> Result<(), String> {
    let spec = row.spec.clone();
    let bases = [
        spec.against
            .as_ref()
            .map(|_| earlier.iter().find(|other| spec.compares_with(other))),
        spec.than
            .as_ref()
            .map(|_| earlier.iter().find(|other| spec.exceeds(other))),
    ];
    for base in bases.into_iter().flatten() {
        let base = base.ok_or_else(|| {
            format!(
                "{}, expected.toml: \"{}\" is compared with a case that has no earlier row of {}",
                experiment.name,
                row.case,
                spec.metric.base().name()
            )
        })?;
        row.compare(base);
    }
    Ok(())
}

/// What is to be run; an exit code where the scenario is wrong.
fn planned(
    experiment: &Experiment,
    sets: &[String],
    global: &Global,
    screen: &Screen,
) -> Result<Assembled, i32> {
    let (name, text) = (&experiment.name, &experiment.scenario);
    scenario::load_text_with(&global.transports, name, text, sets)
        .and_then(|mut scenario| {
            scenario.memory_limit = global.memory_limit;
            scenario.assemble()
        })
        .map_err(|errors| screen.wrong(&errors))
}

/// One run; its exit code where it did not come to its end.
fn once(plan: &Assembled, name: &str, global: &Global, screen: &Screen) -> Result<RunRecord, i32> {
    let mut viewer = Viewer::new(screen, name, None);
    let record = plan.run(global.jobs.unwrap_or(1), "", &mut viewer);
    viewer.finish();
    let record = record.map_err(|errors| screen.wrong(&errors))?;
    let (code, why) = match (&record.conservation, record.status) {
        (Ok(()), Status::Complete) => return Ok(record),
        (Err(why), _) => (exit::BROKEN, why.as_str()),
        (Ok(()), Status::Stuck) => (exit::BROKEN, "messages are stuck"),
        (Ok(()), Status::Unfinished) => (exit::BROKEN, "messages did not finish"),
        (Ok(()), Status::Interrupted) if global.out.is_some() => (
            exit::INTERRUPTED,
            "interrupted; runs that ended are kept: give the command again with --resume",
        ),
        (Ok(()), Status::Interrupted) => (
            exit::INTERRUPTED,
            "interrupted; with --out, runs that ended are kept for --resume",
        ),
    };
    Err(screen.fail(code, &format!("{name}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_can_be_read_and_assembled_and_has_a_quick_case() {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let own = EXPERIMENTS.iter().skip(thread).step_by(threads);
                scope.spawn(move || own.for_each(fits_together));
            }
        });
    }

    fn fits_together(experiment: &Experiment) {
        let expected = experiment.expected().unwrap();
        assert!(
            expected.cases.iter().any(|case| case.quick),
            "{}",
            experiment.name
        );
        let mut seen: Vec<(bool, Verdict)> = Vec::new();
        for case in &expected.cases {
            // Whether it fits together shows with few messages as with many.
            let sets = expected.settings(case, true);
            let loaded = scenario::load_text(&experiment.name, &experiment.scenario, &sets);
            let checked = loaded.and_then(scenario::Scenario::assemble);
            if let Err(errors) = checked {
                panic!(
                    "{}, {}: {}",
                    experiment.name,
                    case.name,
                    errors.render(false)
                );
            }
            for row in &case.rows {
                let verdict = Verdict {
                    experiment: String::new(),
                    case: case.name.clone(),
                    spec: row.clone(),
                    values: vec![0.0.into()],
                    each: Vec::new(),
                };
                assert_eq!(
                    row.expected.is_some(),
                    verdict.slack().is_some(),
                    "{}",
                    case.name
                );
                let found = seen.iter().find(|(_, other)| row.compares_with(other));
                let ratio = seen.iter().find(|(_, other)| row.exceeds(other));
                for (named, found) in [(&row.against, found), (&row.than, ratio)] {
                    assert!(
                        named.is_none() || found.is_some_and(|(quick, _)| *quick || !case.quick),
                        "{}: {} has nothing to be compared with",
                        experiment.name,
                        case.name
                    );
                }
                seen.push((case.quick, verdict));
            }
        }
    }

    #[test]
    fn a_case_brings_those_along_that_it_is_compared_with() {
        let names = |experiment: &str, quick: bool, case: &str| -> Vec<String> {
            let expected = Experiment::find(experiment).unwrap().expected().unwrap();
            let args = ReproduceArgs {
                names: Vec::new(),
                quick,
                list: false,
                gallery: false,
                case: Some(case.to_owned()),
                seeds: None,
                markdown: false,
                resume: false,
            };
            let chosen = cases(&expected, &args);
            chosen.iter().map(|case| case.name.clone()).collect()
        };
        assert_eq!(
            names("aeolus-fig8", false, "50 KB, aeolus"),
            ["50 KB, expresspass", "50 KB, aeolus"]
        );
        assert_eq!(names("aeolus-fig8", true, "50 KB, aeolus"), [""; 0]);
        assert_eq!(
            names("xpass-fig21", false, "paper2017, web-server, 40 Gb/s"),
            [
                "dctcp, web-server, 10 Gb/s",
                "dctcp, web-server, 40 Gb/s",
                "paper2017, web-server, 10 Gb/s",
                "paper2017, web-server, 40 Gb/s"
            ],
            "the base of a base, too"
        );
    }
}
