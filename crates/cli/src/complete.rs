//! What may stand where the cursor is: commands and options, and by what they take, names of scenarios, experiments,
//! transports, keys and their values, and files.
//!
//! A shell's script asks this program for every word, so that it knows what this program knows.

use crate::args::{Cli, CompleteArgs, CompletionsArgs, Global};
use crate::exit;
use crate::screen::Screen;
use clap::{Arg, ArgAction, Command, CommandFactory};
use clap_complete::Shell;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const BASH: &str = include_str!("../assets/complete.bash");
const ZSH: &str = include_str!("../assets/complete.zsh");
const FISH: &str = include_str!("../assets/complete.fish");

/// A word that fits, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    says: String,
}

fn word(text: impl Into<String>, says: impl Into<String>) -> Word {
    Word {
        text: text.into(),
        says: says.into(),
    }
}

/// Prints the script of a shell.
pub(crate) fn script(args: &CompletionsArgs, global: &Global, screen: &Screen) -> i32 {
    let ours = match args.shell {
        Shell::Bash => Some(BASH),
        Shell::Zsh => Some(ZSH),
        Shell::Fish => Some(FISH),
        _ => None,
    };
    if let Some(script) = ours {
        let function = global
            .program
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        screen.print(
            &script
                .replace("FUNCTION", &function)
                .replace("PROGRAM", &global.program),
        );
        return exit::OK;
    }
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut Cli::command(),
        &global.program,
        &mut script,
    );
    screen.print(&String::from_utf8_lossy(&script));
    exit::OK
}

/// Prints the words that fit, one per line, each with a tab and what it means.
pub(crate) fn words(args: &CompleteArgs, global: &Global, screen: &Screen) -> i32 {
    let (words, cut, quoted) = if args.line {
        let (words, quoted) = split(args.words.first().map_or("", String::as_str));
        // bash takes = and : for ends of words, where no quote is open.
        let last = words.last().map_or("", String::as_str);
        let cut = if quoted {
            0
        } else {
            last.rfind(['=', ':']).map_or(0, |at| at + 1)
        };
        (words, cut, quoted)
    } else {
        (args.words.clone(), 0, true)
    };
    let mut out = String::new();
    for found in fitting(&words, global) {
        let rest = found.text.get(cut..).unwrap_or_default();
        let rest = if quoted {
            rest.to_owned()
        } else {
            rest.replace(' ', "\\ ")
        };
        let first = found.says.lines().next().unwrap_or_default();
        let _ = writeln!(out, "{rest}\t{first}");
    }
    screen.print(&out);
    exit::OK
}

/// A line of a shell as words without its first, and whether a quote is open at its end. The last word is where the
/// cursor is, empty after a space.
fn split(line: &str) -> (Vec<String>, bool) {
    let (mut words, mut word, mut open) = (Vec::new(), String::new(), None);
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        match (c, open) {
            ('\\', None | Some('"')) => word.extend(letters.next()),
            ('\'' | '"', None) => open = Some(c),
            (c, Some(quote)) if c == quote => open = None,
            (' ' | '\t', None) => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    // The first is the program, where the line has more than it.
    if words.len() > 1 {
        words.remove(0);
    }
    (words, open.is_some())
}

/// What fits where the last of these words is.
fn fitting(words: &[String], global: &Global) -> Vec<Word> {
    let mut root = Cli::command();
    root.build();
    let Some((current, before)) = words.split_last() else {
        return Vec::new();
    };
    let (mut at, mut positional, mut waits): (&Command, usize, Option<&Arg>) = (&root, 0, None);
    for said in before {
        if waits.take().is_some() {
            continue;
        }
        if said.starts_with('-') && said.len() > 1 {
            waits = option(at, said).filter(|arg| takes(arg) && !said.contains('='));
        } else if let Some(below) = at.find_subcommand(said) {
            (at, positional) = (below, 0);
        } else {
            positional += 1;
        }
    }
    let mut found = if let Some(arg) = waits {
        values(arg, current, global)
    } else if let Some((name, value)) = current
        .split_once('=')
        .filter(|(name, _)| name.starts_with("--"))
    {
        let of = option(at, name).map(|arg| values(arg, value, global));
        let of = of.unwrap_or_default().into_iter();
        of.map(|one| word(format!("{name}={}", one.text), one.says))
            .collect()
    } else if current.starts_with('-') {
        options(at)
    } else if at.has_subcommands() {
        let commands = at
            .get_subcommands()
            .filter(|c| !c.is_hide_set() && c.get_name() != "help");
        commands
            .map(|c| word(c.get_name(), about(c.get_about())))
            .collect()
    } else {
        let mut all = at.get_positionals();
        let count = at.get_positionals().count();
        let arg = all.nth(positional.min(count.saturating_sub(1)));
        // More than it takes: only the last may be repeated.
        let arg = arg.filter(|arg| {
            positional < count || arg.get_num_args().is_some_and(|n| n.max_values() > 1)
        });
        arg.map(|arg| values(arg, current, global))
            .unwrap_or_default()
    };
    found.retain(|one| one.text.starts_with(current.as_str()));
    found
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

fn takes(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// The option that a word names, by its long or its short name.
fn option<'a>(at: &'a Command, said: &str) -> Option<&'a Arg> {
    let name = said.split('=').next().unwrap_or_default();
    at.get_arguments().find(|arg| {
        let long = || arg.get_long_and_visible_aliases().unwrap_or_default();
        let short = || arg.get_short_and_visible_aliases().unwrap_or_default();
        match name.strip_prefix("--") {
            Some(name) => long().contains(&name),
            None => name.chars().nth(1).is_some_and(|c| short().contains(&c)),
        }
    })
}

fn options(at: &Command) -> Vec<Word> {
    let shown = at.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = shown.filter_map(|arg| {
        Some(word(
            format!("--{}", arg.get_long()?),
            about(arg.get_help()),
        ))
    });
    named.collect()
}

/// What an argument takes, as far as it is written.
fn values(arg: &Arg, current: &str, global: &Global) -> Vec<Word> {
    let known = arg.get_possible_values();
    if !known.is_empty() && takes(arg) {
        let shown = known.iter().filter(|value| !value.is_hide_set());
        return shown
            .map(|value| word(value.get_name(), about(value.get_help())))
            .collect();
    }
    match arg.get_id().as_str() {
        "scenario" => with(scenarios(), paths(current, &["toml", "json"])),
        "run" | "traffic" => with(scenarios(), paths(current, &[])),
        "from" => with(
            scenarios(),
            vec![word("trace", "a list of messages and a fabric, in files")],
        ),
        "sets" => settings(current, global),
        "key" => keys(global).into_iter().map(|key| word(key, "")).collect(),
        "names" => with(with(experiments(), claims()), paths(current, &[])),
        "transport" => transports(global),
        "transports" => listed(current, &transports(global)),
        "cases" => scenario::bench::CASES
            .iter()
            .map(|case| word(case.name, ""))
            .collect(),
        "flow" | "flows" | "seed" | "seeds" | "jobs" | "ladder" | "window" | "shard" | "case"
        | "memory_limit" => Vec::new(),
        _ => paths(current, &[]),
    }
}

fn with(mut names: Vec<Word>, more: Vec<Word>) -> Vec<Word> {
    names.extend(more);
    names
}

fn scenarios() -> Vec<Word> {
    let all = scenario::builtin::all().iter();
    all.map(|b| word(b.name, b.summary())).collect()
}

fn transports(global: &Global) -> Vec<Word> {
    let all = global.transports.iter();
    all.map(|t| word(t.name(), t.summary())).collect()
}

fn experiments() -> Vec<Word> {
    let title = |one: &experiments::Experiment| one.expected().map(|expected| expected.title);
    let all = experiments::EXPERIMENTS.iter();
    let all = all.map(|one| word(one.name.to_string(), title(one).unwrap_or_default()));
    all.chain([word("all", "every experiment")]).collect()
}

/// Published claims, each with where it is measured.
fn claims() -> Vec<Word> {
    let all = crate::cmd_reproduce::claims()
        .unwrap_or_default()
        .into_iter();
    let mut words: Vec<Word> = all
        .map(|(claim, of)| word(claim, format!("a claim, in {}", of.name)))
        .collect();
    words.dedup_by(|a, b| a.text == b.text);
    words
}

/// The same words after what stands before the last comma or bracket.
fn listed(current: &str, words: &[Word]) -> Vec<Word> {
    let head = current.rfind([',', '[']).map_or("", |at| &current[..=at]);
    words
        .iter()
        .map(|one| word(format!("{head}{}", one.text), one.says.clone()))
        .collect()
}

/// Keys of a scenario that hold a value.
fn keys(global: &Global) -> Vec<String> {
    let all = scenario::known_names(&global.transports);
    let table = |name: &str| {
        let inside = format!("{name}.");
        all.iter().any(|other| other.starts_with(&inside))
    };
    // A key that stands in the tables of several kinds is one key.
    let mut met = BTreeSet::new();
    let once = all.iter().filter(|name| met.insert(name.as_str()));
    once.filter(|name| !table(name) && scenario::fields::table(name).is_none())
        .cloned()
        .collect()
}

/// `KEY=`, or what a key takes.
fn settings(current: &str, global: &Global) -> Vec<Word> {
    let schema = scenario::json_schema(&global.transports);
    let Some((key, value)) = current.split_once('=') else {
        let says = |key: &str| {
            field(&schema, key).and_then(|f| Some(f["description"].as_str()?.to_owned()))
        };
        let all = keys(global).into_iter();
        return all
            .map(|key| word(format!("{key}="), says(&key).unwrap_or_default()))
            .collect();
    };
    let known = match key {
        "transport.kind" => transports(global),
        "workload.sizes" => workload::sizes::BUILTINS
            .iter()
            .map(|b| word(b.name, b.about()))
            .collect(),
        _ => field(&schema, key).map(taken).unwrap_or_default(),
    };
    let known = listed(value, &known).into_iter();
    known
        .map(|one| word(format!("{key}={}", one.text), one.says))
        .collect()
}

/// What the schema says of a key: `workload.load`, `workload.0.load`, `transport.ndp.queue`.
fn field<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.').filter(|part| part.parse::<u32>().is_err());
    parts.try_fold(schema, |at, part| at["properties"].get(part))
}

/// The words that a field takes, and its default.
fn taken(field: &Value) -> Vec<Word> {
    let forms = ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|form| field[form].as_array());
    let all = std::iter::once(field).chain(forms.flatten());
    let mut words: Vec<Word> = Vec::new();
    let mut add = |text: String, says: &str| {
        if !words.iter().any(|one| one.text == text) {
            words.push(word(text, says));
        }
    };
    for one in all {
        for value in one["enum"].as_array().into_iter().flatten() {
            add(
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
                "",
            );
        }
        if one["type"] == "boolean" {
            add("true".to_owned(), "");
            add("false".to_owned(), "");
        }
        // Defaults are written as TOML has them.
        if let Some(default) = one["default"].as_str() {
            add(default.trim_matches('"').to_owned(), "the default");
        }
    }
    words
}

/// Files and folders that go on from here; of files, those with one of these endings where some are named.
fn paths(current: &str, endings: &[&str]) -> Vec<Word> {
    let (folder, start) = current
        .rfind('/')
        .map_or(("", current), |at| current.split_at(at + 1));
    let read = std::fs::read_dir(if folder.is_empty() { "." } else { folder });
    let mut found: Vec<Word> = Vec::new();
    for entry in read.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(start) || (name.starts_with('.') && !start.starts_with('.')) {
            continue;
        }
        let path = entry.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            found.push(word(format!("{folder}{name}/"), "folder"));
        } else if endings.is_empty() || ending.is_some_and(|ending| endings.contains(&ending)) {
            found.push(word(format!("{folder}{name}"), ""));
        }
    }
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Global {
        Global {
            transports: transports::registry(),
            ..Global::default()
        }
    }

    fn found(line: &str) -> Vec<String> {
        let (words, _) = split(line);
        let found = fitting(&words, &all());
        found.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn names_stand_where_they_fit() {
        assert_eq!(found("tidegate run incast-"), ["incast-rr"]);
        assert_eq!(found("tidegate rep"), ["reproduce", "report"]);
        assert_eq!(found("tidegate run incast --liv"), ["--live"]);
        assert_eq!(
            found("tidegate run incast another"),
            Vec::<String>::new(),
            "it takes one"
        );
        assert!(
            found("tidegate reproduce aeolus-fig9 aeo").len() > 2,
            "it takes many"
        );
        assert_eq!(
            found("tidegate --seed 3 fingerprint data-m"),
            ["data-mining"]
        );
        assert_eq!(
            found("tidegate run --set workload.loa"),
            [
                "workload.load=",
                "workload.load_of=",
                "workload.load_with_headers="
            ]
        );
        assert_eq!(
            found("tidegate run --set=switch.balance=f"),
            ["--set=switch.balance=flow", "--set=switch.balance=flowlet"]
        );
        assert_eq!(
            found("tidegate compare incast --set 'transport.kind=[expresspass,dct"),
            ["transport.kind=[expresspass,dctcp"]
        );
        assert_eq!(
            found("tidegate explain transport.ndp.wi"),
            ["transport.ndp.window"]
        );
        assert_eq!(found("tidegate list exp"), ["experiments"]);
        assert_eq!(found("tidegate run --seed "), Vec::<String>::new());
        assert_eq!(
            found("tidegate advise x.csv --transport homa,nd"),
            ["homa,ndp", "homa,ndp+aeolus", "homa,ndp+gaps"]
        );
    }

    #[test]
    fn every_key_with_words_offers_them_and_no_table_is_a_key() {
        let global = all();
        let all = keys(&global);
        assert!(all.len() > 150, "{}", all.len());
        let schema = scenario::json_schema(&global.transports);
        for key in &all {
            let found = field(&schema, key);
            assert!(
                found.is_some_and(|f| f["type"] != "object"),
                "{key} is no key of the schema"
            );
        }
        let offered = |start: &str| -> Vec<String> {
            settings(start, &global)
                .into_iter()
                .map(|one| one.text)
                .collect()
        };
        assert_eq!(
            offered("workload.0.pick="),
            offered("workload.pick=")
                .iter()
                .map(|w| w.replace("workload.", "workload.0."))
                .collect::<Vec<_>>()
        );
        assert!(offered("workload.sizes=").contains(&"workload.sizes=web-search".to_owned()));
        assert_eq!(offered("no.such.key="), Vec::<String>::new());
    }

    #[test]
    fn a_line_is_split_as_a_shell_does() {
        let words = |line: &str| split(line).0;
        assert_eq!(words("tidegate"), ["tidegate"]);
        assert_eq!(words("tidegate "), [""]);
        assert_eq!(
            words("tidegate  run a\\ b 'c d'e \"f"),
            ["run", "a b", "c de", "f"]
        );
        assert!(split("tidegate run 'a").1 && !split("tidegate run 'a'").1);
    }
}
