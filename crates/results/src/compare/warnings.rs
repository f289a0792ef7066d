//! Warnings of several runs, each kind of them once.

use super::Comparison;
use crate::backlog;
use crate::summary::Summary;
use crate::table::last_part;

/// Combinations that a warning names. [ours]
const NAMED_MAX: usize = 4;

/// What the reader of several runs should know before trusting the numbers: every kind of warning
/// once, with how many runs have it and which; once per transport where it says numbers that differ.
pub fn warnings(runs: &[&Summary]) -> Vec<String> {
    let mixed = Comparison::of(runs).mixed();
    let mut out: Vec<String> = mixed.map(str::to_owned).into_iter().collect();
    let mut kinds: Vec<(String, Vec<(&Summary, &str)>)> = Vec::new();
    for &run in runs {
        for text in &run.warnings {
            let kind = kind(text);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, members)) => members.push((run, text)),
                None => kinds.push((kind, vec![(run, text)])),
            }
        }
    }
    for (kind, members) in kinds {
        if kind == backlog::GREW || is_one(&members) {
            out.push(folded(&members, runs));
            continue;
        }
        let mut rest = members;
        while let Some(&(first, _)) = rest.first() {
            let (own, others): (Vec<_>, Vec<_>) = rest
                .into_iter()
                .partition(|(run, _)| run.transport == first.transport);
            out.push(folded(&own, runs));
            rest = others;
        }
    }
    out
}

/// What is missing from a comparison that was interrupted.
pub fn interrupted(done: usize, unfinished: usize) -> Option<String> {
    (unfinished > 0).then(|| {
        format!(
            "interrupted: {done} of {} runs are done, and only they stand here. The same command goes \
             on from there",
            done + unfinished
        )
    })
}

/// The text without its numbers: runs differ in those.
fn kind(text: &str) -> String {
    if text.starts_with(backlog::GREW) {
        return backlog::GREW.to_owned();
    }
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = text.split(' ');
    let kept: Vec<&str> = words.map(|w| if is_number(w) { "#" } else { w }).collect();
    kept.join(" ")
}

/// Whether all say the same.
fn is_one(members: &[(&Summary, &str)]) -> bool {
    members.iter().all(|(_, text)| *text == members[0].1)
}

fn folded(members: &[(&Summary, &str)], runs: &[&Summary]) -> String {
    let (first, text) = members[0];
    if runs.len() == 1 {
        return text.to_owned();
    }
    let share = format!("{} of {} runs", members.len(), runs.len());
    let who = who(members, runs);
    if kind(text) == backlog::GREW {
        return format!("{} in {share} ({who}): {}", backlog::GREW, backlog::MEANS);
    }
    if is_one(members) {
        return format!("{text} ({share}: {who})");
    }
    let like = format!("here of {}, seed {}", name(first), first.seed);
    format!("{text} ({share}: {who}; {like})")
}

/// The transport and what else its run sets.
fn name(run: &Summary) -> String {
    let own = |key: &str| key == "transport.kind" || key == "run.seed";
    let settings = run.settings.iter().filter(|(key, _)| !own(key));
    let settings = settings.map(|(key, value)| format!(" at {} {value}", last_part(key)));
    format!("{}{}", run.transport, settings.collect::<String>())
}

/// `dctcp at load 0.8 (2 of 3 seeds), ...`.
fn who(members: &[(&Summary, &str)], runs: &[&Summary]) -> String {
    let mut names: Vec<(String, usize)> = Vec::new();
    for (run, _) in members {
        let name = name(run);
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let all = |wanted: &str| runs.iter().filter(|run| name(run) == wanted).count();
    let told = |(name, count): &(String, usize)| match all(name) {
        1 => name.clone(),
        all => format!("{name}, {count} of {all} seeds"),
    };
    let mut told: Vec<String> = names.iter().take(NAMED_MAX).map(told).collect();
    if names.len() > NAMED_MAX {
        told.push(format!("and {} more", names.len() - NAMED_MAX));
    }
    told.join("; ")
}
