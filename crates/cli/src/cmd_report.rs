//! `report`: the table of runs that were written before.

use crate::args::{Global, ReportArgs};
use crate::exit;
use crate::screen::Screen;
use results::{Style, Summary, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The figures of a run, and how it was made.
const SUMMARY: &str = "summary.json";
const META: &str = "meta.json";

pub(crate) fn run(args: &ReportArgs, global: &Global, screen: &Screen) -> i32 {
    let mut summaries = Vec::new();
    let dirs: Vec<PathBuf> = args.dirs.iter().flat_map(|dir| runs(dir)).collect();
    for dir in &dirs {
        match results::files::read_summary(dir) {
            Ok(summary) => {
                if let Some(why) = not_whole(dir) {
                    screen.warn(&why);
                }
                summaries.push(summary);
            }
            Err(why) => return screen.fail(exit::IO, &format!("{}: {why}", dir.display())),
        }
    }
    for why in args.dirs.iter().flat_map(|dir| deleted(dir)) {
        screen.warn(&why);
    }
    if !global.json
        && grouped(&summaries)
        && let Some(why) = mixed(&dirs, &summaries)
    {
        screen.warn(&why);
    }
    show(&summaries, global, screen);
    exit::OK
}

/// The runs in a folder: the one that it holds, or those in the folders of a comparison in it.
fn runs(dir: &Path) -> Vec<PathBuf> {
    let is_run = |dir: &Path| dir.join(SUMMARY).exists();
    let mut below: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()).filter(|path| is_run(path)))
        .collect();
    if is_run(dir) || below.is_empty() {
        return vec![dir.to_path_buf()];
    }
    below.sort();
    below
}

/// Runs that pages of comparisons in `dir` link to, and that are there no more.
fn deleted(dir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(dir).into_iter().flatten();
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let is_page = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("compare-") && name.ends_with(".html")
    };
    let mut pages: Vec<PathBuf> = files.filter(is_page).collect();
    pages.sort();
    let of = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        let links = text.split("href=\"").skip(1);
        let names = links.filter_map(|rest| rest.split('"').next()?.strip_suffix("/report.html"));
        let gone = names.filter(|name| !name.contains('&') && !dir.join(name).exists());
        let gone: BTreeSet<String> = gone
            .map(|name| dir.join(name).display().to_string())
            .collect();
        (!gone.is_empty()).then(|| {
            let (is, runs) = if gone.len() == 1 { ("is", "a run") } else { ("are", "runs") };
            let gone: Vec<String> = gone.into_iter().collect();
            format!(
                "{} {is} missing, {runs} of the comparison in {}: its command makes what is missing",
                gone.join(", "),
                page.display()
            )
        })
    };
    pages.into_iter().filter_map(of).collect()
}

/// What is missing of a run that has a summary.
fn not_whole(dir: &Path) -> Option<String> {
    let Some(meta) = results::files::made(dir) else {
        let meta = dir.join(META);
        let what = if meta.exists() {
            format!("{} is damaged", meta.display())
        } else {
            format!("{} has no {META}, which comes last", dir.display())
        };
        return Some(format!(
            "{what}: its run did not write all of its files, or somebody changed them; run it again"
        ));
    };
    let what = results::files::damaged(dir, &meta)?;
    Some(format!(
        "{what}: the table below is of summary.json, and not all is as the run wrote it; run it again"
    ))
}

/// Where two runs of one row of the table differ in more than their seeds: the row has the mean of both.
fn mixed(dirs: &[PathBuf], summaries: &[Summary]) -> Option<String> {
    let mut rows: Vec<(&Path, &Summary, Values)> = Vec::new();
    for (dir, summary) in dirs.iter().zip(summaries) {
        let Some(values) = values(dir) else { continue };
        let same = |(_, other, _): &&(&Path, &Summary, Values)| {
            (&other.transport, &other.settings) == (&summary.transport, &summary.settings)
        };
        let Some((first, _, before)) = rows.iter().find(same) else {
            rows.push((dir, summary, values));
            continue;
        };
        let mut keys = before.keys().chain(values.keys());
        if let Some(key) = keys.find(|&key| before.get(key) != values.get(key)) {
            let told = |values: &Values| values.get(key).cloned().unwrap_or("nothing".into());
            return Some(format!(
                "{} and {} differ in {key}, {} and {}, which is not named below, and means mix them; \
                 report them one by one, or run them with one compare",
                first.display(),
                dir.display(),
                told(before),
                told(&values)
            ));
        }
    }
    None
}

/// The values of a run, by their keys.
type Values = BTreeMap<String, String>;

/// What a run's results depend on but for its seed; `None` where its scenario cannot be read.
fn values(dir: &Path) -> Option<Values> {
    let text = std::fs::read_to_string(dir.join("resolved.toml")).ok()?;
    let mut table: toml::Table = toml::from_str(&text).ok()?;
    for other in ["name", "title", "output", "thresholds"] {
        table.remove(other);
    }
    if let Some(run) = table.get_mut("run").and_then(|run| run.as_table_mut()) {
        run.remove("seed");
        run.remove("threads");
    }
    let mut values = Values::new();
    flatten("", toml::Value::Table(table), &mut values);
    Some(values)
}

fn flatten(key: &str, value: toml::Value, into: &mut Values) {
    let below = |inner: &str| match key {
        "" => inner.to_owned(),
        key => format!("{key}.{inner}"),
    };
    match value {
        toml::Value::Table(table) => {
            for (inner, value) in table {
                flatten(&below(&inner), value, into);
            }
        }
        // One table of a kind needs no number.
        toml::Value::Array(mut list) if list.len() == 1 && list[0].is_table() => {
            flatten(key, list.remove(0), into);
        }
        toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
            for (i, value) in list.into_iter().enumerate() {
                flatten(&below(&i.to_string()), value, into);
            }
        }
        value => {
            into.insert(key.to_owned(), value.to_string());
        }
    }
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

/// Whether a row of the table has the means of several runs.
fn grouped(summaries: &[Summary]) -> bool {
    let seeds = summaries.windows(2).any(|two| two[0].seed != two[1].seed);
    seeds || summaries.len() > TOLD_MAX
}

/// The table of several runs as text: a row per run, or per group of runs that differ in their seeds.
pub fn table(summaries: &[Summary], style: Style) -> String {
    if grouped(summaries) {
        let runs: Vec<&Summary> = summaries.iter().collect();
        return results::compare::text(&runs, style);
    }
    let none: &[Verdict] = &[];
    let runs: Vec<(&Summary, &[Verdict])> = summaries.iter().map(|s| (s, none)).collect();
    results::table::text(&runs, style)
}
