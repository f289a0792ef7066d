//! `advise`: the transports on the user's own traffic, and what to take of them.
//!
//! First the scenario of that traffic, then a plan for every transport that can run it, then the best one again with half and
//! twice of what its ports have, at last the words on the terminal.

use crate::args::{AdviseArgs, CompareArgs, Global};
use crate::cmd_compare::{Job, Outcome, Refusal, not_interrupted, plan, points, run_all};
use crate::cmd_reproduce::about;
use crate::cmd_run::{Done, load, quote, repeat};
use crate::exit;
use crate::progress::{catch_interrupts, interrupted};
use crate::screen::Screen;
use model::intent::{Limit, MarkSpec, Over, PortSpec, QueueSpec, Share};
use report::{FOLDED_FROM, Grounds};
use results::compare::{Advice, PartVerdict};
use results::{FileError, Summary, wrap};
use scenario::{Assembled, Diagnostic, Scenario};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Transports that are no choice: what the first reaches is a bound, and the other needs a flow control below.
const REFERENCES: [&str; 2] = ["ideal-rate", "none"];

/// Longer lines are hard to read, however wide the terminal. [ours]
const WIDTH_MAX: usize = 100;

pub(crate) fn run(args: &AdviseArgs, global: &Global, screen: &Screen) -> i32 {
    catch_interrupts();
    match advise(args, global, screen) {
        Ok(code) => code,
        Err(refusal) => refusal.show(screen),
    }
}

/// The scenario that is run: where it stands, and what a file of its own says.
struct Subject {
    path: String,
    text: Option<String>,
    /// What this command has made, and takes away again: a dry run leaves nothing.
    made: Vec<PathBuf>,
}

impl Subject {
    /// The command that writes the file, where it has one: runs name it.
    fn command(&self) -> String {
        let Some(text) = &self.text else {
            return String::new();
        };
        let path = Path::new(&self.path);
        let folder = path.parent().unwrap_or(path).display().to_string();
        let (folder, file) = (quote(&folder), quote(&self.path));
        format!("mkdir -p {folder} && cat > {file} <<'END'\n{text}END\n")
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        for path in self.made.iter().rev() {
            // A folder stays where something else is in it by now.
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
        }
    }
}

/// Runs that were asked for, by transport, and who was refused.
struct Tried {
    jobs: Vec<Job>,
    refused: Vec<(String, String)>,
    needs: Vec<(String, Vec<(String, String)>)>,
    /// What a dry run says that they take on one thread.
    seconds: f64,
}

impl Tried {
    /// The commands, how many there are, and how long they take. Remarks are those of a shell, so that it takes the text.
    fn dry(&self) -> String {
        let lines = self.jobs.iter().map(|job| format!("{}\n", job.command()));
        let runs = match self.jobs.len() {
            1 => "1 run".to_owned(),
            many => format!("{many} runs"),
        };
        format!(
            "{}# {runs}, about {} on one thread; then the best one again, with half and twice of what its ports have\n",
            lines.collect::<String>(),
            about(self.seconds)
        )
    }
}

fn advise(args: &AdviseArgs, global: &Global, screen: &Screen) -> Result<i32, Refusal> {
    let out = global.out.clone().unwrap_or_else(|| PathBuf::from("out"));
    let global = &Global {
        out: Some(out.clone()),
        ..global.clone()
    };
    let subject = scenario_of(args, &out, global.dry_run)?;
    let compare = CompareArgs {
        scenario: subject.path.clone(),
        seeds: Some(args.seeds.clone()),
        cases: Vec::new(),
        plain: true,
        again: false,
        shard: None,
        find_max_load: false,
    };
    let tried = candidates(args, global, &compare).map_err(|why| blamed(why, args, &subject))?;
    if global.dry_run {
        screen.say(&(subject.command() + &tried.dry()));
        return Ok(exit::OK);
    }
    let runs = whole(run_all(&tried.jobs, &compare, global, screen))?;
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let Some(advice) = Advice::of(&summaries) else {
        let why = "no message has a completion time: there is nothing to choose by";
        return Ok(screen.fail(exit::USAGE, why));
    };
    let mut grounds = Grounds {
        links: runs.iter().map(|run| link(run, &out)).collect(),
        needs: tried.needs,
        tried: Vec::new(),
        varied: Vec::new(),
        refused: tried.refused,
        command: command(args, global),
    };
    (grounds.varied, grounds.tried) = variants(&advice, &runs, &compare, global, screen)?;
    let page = report::of_advice(&advice, &summaries, &grounds);
    let digest = scenario::hash(grounds.command.as_bytes()) >> 32;
    let file = format!("advice-{digest:08x}.html");
    let written = results::files::write(&out, &file, &mut |to| to.write_all(page.as_bytes()));
    let file = written.map_err(|error| Refusal::Folder(error.to_string()))?;
    if global.json {
        let tried = |(setting, said, _): &(String, String, String)| json!([setting, said]);
        let document = json!({
            "advice": advice,
            "needs": grounds.needs,
            "tried": grounds.tried.iter().map(tried).collect::<Vec<_>>(),
            "refused": grounds.refused,
            "report": file.display().to_string(),
        });
        screen.print(&format!("{document:#}\n"));
    } else {
        let width = screen.style.width.min(WIDTH_MAX);
        screen.say(&text(&advice, &grounds, &file, width));
    }
    // What did not finish is part of the advice; packets that are missing make it worthless.
    let broken = runs.iter().any(|run| run.summary.conservation.is_some());
    Ok(if broken { exit::BROKEN } else { exit::OK })
}

/// The scenario to run: the one that is named, or a file of its own around a trace and a fabric, for as long as it is
/// asked about where nothing is `dry`.
fn scenario_of(args: &AdviseArgs, out: &Path, dry: bool) -> Result<Subject, Refusal> {
    let path = Path::new(&args.traffic);
    let Some(topology) = &args.topology else {
        if path.is_file() && path.extension().is_some_and(|end| end != "toml") {
            let why = "is no scenario; a trace needs its fabric: --topology FILE";
            return Err(Refusal::Sweep(format!("{} {why}", args.traffic)));
        }
        return Ok(Subject {
            path: args.traffic.clone(),
            text: None,
            made: Vec::new(),
        });
    };
    let is_scenario = |path: &str| Path::new(path).extension().is_some_and(|end| end == "toml");
    if is_scenario(topology) {
        let why = "is a scenario, and no list of nodes and links: write the trace into it, [[workload]] with kind = \"trace\" and its \
                   path, and name it alone";
        return Err(Refusal::Sweep(format!("{topology} {why}")));
    }
    let absolute = |path: &str| {
        let found = std::fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))?;
        let text = found
            .to_str()
            .ok_or_else(|| format!("{path} is not UTF-8"))?;
        Ok::<String, String>(toml::Value::String(text.to_owned()).to_string())
    };
    let absolute = |path: &str| absolute(path).map_err(Refusal::Sweep);
    let (fabric, trace) = (absolute(topology)?, absolute(&args.traffic)?);
    let text = format!(
        "# What `tidegate advise` runs: a trace over a fabric.\n[topology]\nkind = \"file\"\npath = \
         {fabric}\n\n[workload]\nkind = \"trace\"\npath = {trace}\n"
    );
    let stem = path.file_stem().unwrap_or_default();
    let digest = scenario::hash(text.as_bytes()) >> 32;
    let path = out.join(format!("{}-{digest:08x}.toml", stem.to_string_lossy()));
    let folders = out.ancestors().filter(|dir| !dir.as_os_str().is_empty());
    let mut made: Vec<PathBuf> = folders.map(Path::to_owned).collect();
    made.reverse();
    made.push(path.clone());
    made.retain(|made| dry && !made.exists());
    let subject = Subject {
        path: path.display().to_string(),
        text: Some(text),
        made,
    };
    let failed = |error: FileError| Refusal::Folder(error.to_string());
    std::fs::create_dir_all(out).map_err(|source| {
        let path = out.to_path_buf();
        failed(FileError { path, source })
    })?;
    let text = subject.text.as_deref().unwrap_or_default();
    results::files::write_at(&path, &mut |to| to.write_all(text.as_bytes())).map_err(failed)?;
    Ok(subject)
}

/// What is wrong with a file that this command names in a scenario of its own is wrong with that file.
fn blamed(why: Refusal, args: &AdviseArgs, subject: &Subject) -> Refusal {
    let Refusal::Scenario(mut errors) = why else {
        return why;
    };
    let own = |wrong: &Diagnostic| {
        let origin = wrong.origin.as_ref()?;
        let path = origin
            .source
            .text
            .get(origin.span.clone())?
            .trim_matches('"');
        let file = Path::new(path).file_name()?;
        let mut named = [Some(&args.traffic), args.topology.as_ref()]
            .into_iter()
            .flatten();
        let named = named.find(|named| Path::new(named).file_name() == Some(file));
        named
            .filter(|_| origin.source.name == subject.path)
            .cloned()
    };
    for wrong in errors.0.iter_mut().filter(|_| subject.text.is_some()) {
        if let Some(file) = own(wrong) {
            wrong.message = format!("{file}: {}", wrong.message);
            wrong.origin = None;
        }
    }
    Refusal::Scenario(errors)
}

/// A plan for every transport that the scenario lets run.
fn candidates(args: &AdviseArgs, global: &Global, compare: &CompareArgs) -> Result<Tried, Refusal> {
    let all = global.transports.names().into_iter();
    let all = all.filter(|name| !REFERENCES.contains(name));
    let mut names: Vec<String> = if args.transports.is_empty() {
        all.map(str::to_owned).collect()
    } else {
        args.transports.clone()
    };
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let mut tried = Tried {
        jobs: Vec::new(),
        refused: Vec::new(),
        needs: Vec::new(),
        seconds: 0.0,
    };
    let mut last = None;
    for name in names {
        not_interrupted()?;
        let global = with(global, &format!("transport.kind={name}"));
        let first = load(&compare.scenario, &global, &global.sets).and_then(Scenario::assemble);
        let first = match first {
            Ok(first) => first,
            Err(errors) => {
                let what = errors
                    .0
                    .first()
                    .map_or(String::new(), |d| d.message.clone());
                tried.refused.push((name, what));
                last = Some(errors);
                continue;
            }
        };
        let needs = first
            .figures()
            .into_iter()
            .filter(|figure| figure.of_switch);
        let needs = needs.map(|figure| (figure.name, figure.value));
        tried
            .needs
            .push((name, queues(&first).into_iter().chain(needs).collect()));
        let jobs = plan(points(compare, &global)?, compare, &global)?;
        if global.dry_run {
            tried.seconds += first.seconds() * jobs.len() as f64;
        }
        tried.jobs.extend(jobs);
    }
    match last {
        // What keeps every transport from running is a mistake of the scenario, and no finding.
        Some(errors) if tried.jobs.is_empty() => Err(Refusal::Scenario(errors)),
        _ => Ok(tried),
    }
}

/// Queues of a port and whose turn it is when, where one queue is not enough.
fn queues(run: &Assembled) -> Option<(String, String)> {
    let port = run.ports.iter().max_by_key(|port| port.queues.len())?;
    (port.queues.len() > 1).then(|| ("queues of a port".to_owned(), turns(port)))
}

/// Whose turn it is when: queues of one group by strict priority, groups of one level in turns.
fn turns(port: &PortSpec) -> String {
    let mut levels: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
    for queue in &port.queues {
        levels.entry(queue.level).or_default().insert(queue.group);
    }
    let share = |group: &u8| port.shares.get(usize::from(*group)).copied();
    let part = |group: &u8| match share(group).unwrap_or_default() {
        Share::Packets(part) | Share::Bytes(part) => part.to_string(),
    };
    let by_packets = |group: &u8| matches!(share(group), Some(Share::Packets(_)));
    let shared = levels.values().filter(|groups| groups.len() > 1);
    let in_turns = |groups: &BTreeSet<u8>| {
        let parts: Vec<String> = groups.iter().map(part).collect();
        let unit = if groups.iter().any(by_packets) {
            "packets"
        } else {
            "bytes"
        };
        format!("{} {unit}", parts.join(":"))
    };
    let shares: Vec<String> = shared.map(in_turns).collect();
    let queues = port.queues.len();
    if shares.is_empty() {
        return format!("{queues} at most, by strict priority");
    }
    let strict = if levels.len() > 1 || queues > levels.values().map(BTreeSet::len).sum() {
        ", others by strict priority"
    } else {
        ""
    };
    format!(
        "{queues} at most, in turns of {}{strict}",
        shares.join(", ")
    )
}

fn with(global: &Global, set: &str) -> Global {
    let mut global = global.clone();
    global.sets.push(set.to_owned());
    global
}

/// Runs that all came to an end; what one was refused is said instead.
fn whole(outcomes: Vec<Outcome>) -> Result<Vec<Done>, Refusal> {
    let mut runs = Vec::new();
    for outcome in outcomes {
        match outcome {
            // A page would have a link to what is not there.
            Some(Ok(Done {
                failed: Some(why), ..
            })) => return Err(Refusal::Folder(why)),
            Some(Ok(mut done)) if done.code != exit::INTERRUPTED => {
                // All runs are of one setting: they differ in transport and seed alone.
                done.summary.settings.clear();
                runs.push(done);
            }
            Some(Err(refusal)) => return Err(refusal),
            Some(Ok(_)) | None => break,
        }
    }
    if interrupted() {
        let why = "interrupted; the runs that ended are kept, and the same command goes on";
        return Err(Refusal::Interrupted(why.into()));
    }
    Ok(runs)
}

/// Something of ports that half and twice of is tried.
struct Knob {
    /// In words: `marking threshold`.
    name: &'static str,
    /// Keys that change together, each with its value now.
    keys: Vec<(String, u64)>,
    /// What its values are counted in, as a scenario writes it: bytes, or nothing.
    unit: &'static str,
    /// Ports have several values, of which this is the greatest.
    uneven: bool,
}

/// The buffer, where somebody reads it, and every threshold that ports have, be it written or what the transport asks
/// for: four at most.
fn knobs(run: &Assembled) -> Vec<Knob> {
    let one = |name, key: &str, value, unit, uneven| Knob {
        name,
        keys: vec![(key.to_owned(), value)],
        unit,
        uneven,
    };
    let mut found = Vec::new();
    if let Some(Bytes(buffer)) = run.buffer_read() {
        found.push(one("buffer", "switch.buffer", buffer, "B", false));
    }
    let queues = || run.ports.iter().flat_map(|port| &port.queues);
    let data = || queues().filter(|queue| queue.is_data());
    let marks: Vec<&MarkSpec> = data().filter_map(|queue| queue.mark.as_ref()).collect();
    if let Some(most) = marks.iter().max_by_key(|mark| (mark.min, mark.max)) {
        let uneven = marks.iter().any(|mark| mark.min != most.min);
        let mut knob = one(
            "marking threshold",
            "switch.mark.min",
            most.min.0,
            "B",
            uneven,
        );
        if most.max > most.min {
            knob.keys.push(("switch.mark.max".into(), most.max.0));
        }
        found.push(knob);
    }
    let drops = || data().filter_map(|queue| Some(queue.drop.as_ref()?.threshold));
    if let Some(most) = drops().max() {
        let (key, uneven) = ("switch.drop.threshold", drops().any(|other| other != most));
        found.push(one("dropping threshold", key, most.0, "B", uneven));
    }
    let cut = |queue: &QueueSpec| match (queue.over, queue.limit) {
        (Over::Trim { .. }, Limit::Packets(packets)) => Some(u64::from(packets)),
        _ => None,
    };
    if let Some(most) = queues().filter_map(cut).max() {
        let key = format!("transport.{}.queue", run.scenario.protocol.name());
        found.push(one("trimming threshold", &key, most, "", false));
    }
    found
}

/// Words of what was varied, and per setting its name, what came of it, and its report.
type Varied = (Vec<String>, Vec<(String, String, String)>);

/// The best one again with half and twice of each of its [`knobs`]: eight settings at most.
fn variants(
    advice: &Advice,
    runs: &[Done],
    compare: &CompareArgs,
    global: &Global,
    screen: &Screen,
) -> Result<Varied, Refusal> {
    let Some(name) = &advice.best else {
        return Ok(Varied::default());
    };
    let best = with(global, &format!("transport.kind={name}"));
    let before: Vec<&Summary> = runs
        .iter()
        .filter(|run| run.summary.transport == *name)
        .map(|run| &run.summary)
        .collect();
    let scenario = load(&compare.scenario, &best, &best.sets)?;
    let knobs = knobs(&scenario.assemble()?);
    let mut found = Vec::new();
    for knob in &knobs {
        let half: fn(u64) -> u64 = |value| value / 2;
        let twice: fn(u64) -> u64 = |value| value.saturating_mul(2);
        for (times, of) in [("half", half), ("twice", twice)] {
            let set = |(key, value): &(String, u64)| format!("{key}={}{}", of(*value), knob.unit);
            let sets: Vec<String> = knob.keys.iter().map(set).collect();
            let changed = sets
                .iter()
                .fold(best.clone(), |global, set| with(&global, set));
            let most = if knob.uneven { " of the greatest" } else { "" };
            let label = format!("{} ({times}{most})", sets.join(" "));
            let jobs = match points(compare, &changed).and_then(|p| plan(p, compare, &changed)) {
                Ok(jobs) => jobs,
                Err(refusal) => {
                    found.push((label, refusal.text(), String::new()));
                    continue;
                }
            };
            let after = whole(run_all(&jobs, compare, &changed, screen))?;
            let summaries: Vec<&Summary> = after.iter().map(|run| &run.summary).collect();
            let said = results::compare::changed(&before, &summaries);
            let href = after.first().map_or(String::new(), |run| {
                link(run, changed.out.as_deref().unwrap_or(Path::new("out")))
            });
            found.push((label, said, href));
        }
    }
    let names = knobs.iter().map(|knob| knob.name.to_owned());
    Ok((names.collect(), found))
}

/// Where the report of a run is, as a page in `out` refers to it.
fn link(run: &Done, out: &Path) -> String {
    let dir = run.dir.strip_prefix(out).unwrap_or(&run.dir);
    format!("{}/report.html", dir.display())
}

fn command(args: &AdviseArgs, global: &Global) -> String {
    let mut command = repeat("advise", &args.traffic, global, &global.sets);
    if let Some(topology) = &args.topology {
        let _ = write!(command, " --topology {}", quote(topology));
    }
    for name in &args.transports {
        let _ = write!(command, " --transport {}", quote(name));
    }
    let _ = write!(command, " --seeds {}", args.seeds);
    command
}

/// Lines of a list on a terminal; of more the page has them all. [ours]
const LINES_MAX: usize = 10;

fn more(left: usize) -> String {
    format!("{left} more in the page")
}

/// The first lines of a list, and how many there are more.
fn cut(items: &[String]) -> Vec<String> {
    let mut shown = items[..items.len().min(LINES_MAX)].to_vec();
    if shown.len() < items.len() {
        shown.push(more(items.len() - shown.len()));
    }
    shown
}

/// What holds for all messages and the most telling parts, in the order of the page.
fn most_telling(advice: &Advice) -> Vec<&PartVerdict> {
    let mut told = advice.telling();
    told.truncate(2 + LINES_MAX);
    let place = |told: &&PartVerdict| advice.verdicts.iter().position(|one| one == *told);
    if advice.verdicts.len() <= FOLDED_FROM {
        told.sort_by_key(place);
    }
    told
}

/// The advice on a terminal, in lines of at most `width` columns.
fn text(advice: &Advice, grounds: &Grounds, file: &Path, width: usize) -> String {
    let item = |text: &str| format!("   {}\n", wrap(text, width, 5).trim_start());
    let mut out = format!("\n{}\n", wrap(&advice.claim, width, 1));
    if !advice.more.is_empty() {
        let _ = writeln!(out, "{}", wrap(&advice.more, width, 1));
    }
    let told = most_telling(advice);
    for verdict in &told {
        let ahead = match verdict.winners.as_slice() {
            [] => "cannot be said".to_owned(),
            [one] => one.clone(),
            several => format!("level: {}", several.join(", ")),
        };
        out.push_str(&item(&format!(
            "{}: {ahead}; {}",
            verdict.part, verdict.says
        )));
    }
    if told.len() < advice.verdicts.len() {
        out.push_str(&item(&more(advice.verdicts.len() - told.len())));
    }
    let mut list = |title: &str, items: &mut dyn Iterator<Item = String>| {
        let mut items = items.peekable();
        if items.peek().is_some() {
            let _ = writeln!(out, "{}", wrap(title, width, 1));
        }
        for text in items {
            out.push_str(&item(&text));
        }
    };
    let best = advice.best.as_deref().unwrap_or_default();
    list(
        &format!("the price of {best}"),
        &mut cut(&advice.prices).into_iter(),
    );
    let of_best = grounds.needs.iter().filter(|(name, _)| name == best);
    let needs = of_best.flat_map(|(_, needs)| needs);
    let mut needs = needs.map(|(port, does)| format!("{port}: {does}"));
    list(&format!("what {best} needs of switches"), &mut needs);
    let mut tried = grounds.tried.iter().map(|(set, said, _)| {
        let said: Vec<String> = said.split("; ").map(str::to_owned).collect();
        format!("{set}: {}", cut(&said).join("; "))
    });
    let helps = match grounds.varied_told() {
        told if told.is_empty() => "what would help".to_owned(),
        told => format!("what would help {best}: {told}"),
    };
    list(&helps, &mut tried);
    let refused = grounds
        .refused
        .iter()
        .map(|(name, why)| format!("{name}: {why}"));
    list(
        "not judged",
        &mut advice.unjudged.iter().cloned().chain(refused),
    );
    let _ = writeln!(out, " report: {}", file.display());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_groups_the_most_telling_are_told_and_the_rest_is_counted() {
        let verdict = |i: usize| PartVerdict {
            part: format!("p99 slowdown, tag job{i}"),
            winners: vec!["homa".into()],
            says: "2.00".into(),
            cells: vec!["2.00".into()],
            loses: if i == 47 { 3.0 } else { 1.0 },
            apart: i as f64,
        };
        let advice = Advice {
            claim: "homa".into(),
            more: String::new(),
            best: Some("homa".into()),
            rivals: vec!["homa".into()],
            verdicts: (0..102).map(verdict).collect(),
            prices: (0..50).map(|i| format!("job{i} pays")).collect(),
            unjudged: Vec::new(),
            equal: None,
        };
        let shown = text(
            &advice,
            &Grounds::default(),
            Path::new("out/advice.html"),
            100,
        );
        assert!(shown.lines().count() < 40, "{shown}");
        for line in [
            "tag job0:",
            "tag job47:",
            "tag job101:",
            "90 more in the page",
            "40 more in the page",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        assert!(!shown.contains("tag job30:"), "{shown}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_what_goes_on_is_indented() {
        let long = || "what it takes beside the others, word by word, ".repeat(5);
        let advice = Advice {
            claim: long(),
            more: long(),
            best: Some("homa".into()),
            rivals: vec!["homa".into()],
            verdicts: vec![PartVerdict {
                part: "p99 slowdown, all messages".into(),
                winners: vec!["homa".into()],
                says: long(),
                cells: vec!["1.00".into()],
                loses: 1.0,
                apart: 1.0,
            }],
            prices: vec![long()],
            unjudged: vec![long()],
            equal: None,
        };
        let grounds = Grounds {
            needs: vec![("homa".into(), vec![("queues of a port".into(), long())])],
            tried: vec![("switch.buffer=1B (half)".into(), long(), String::new())],
            varied: vec!["dropping threshold".into(), "trimming threshold".into()],
            ..Grounds::default()
        };
        let shown = text(&advice, &grounds, Path::new("out/advice.html"), 80);
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let of_verdict = shown
            .split_once("   p99 slowdown, all messages: homa; ")
            .unwrap();
        let next = of_verdict.1.lines().nth(1).unwrap();
        assert!(
            next.starts_with("     ") && !next.starts_with("      "),
            "{shown}"
        );
        let told = shown.split_whitespace().filter(|word| *word == "others,");
        assert_eq!(told.count(), 7 * 5, "no word is lost: {shown}");
    }
}
