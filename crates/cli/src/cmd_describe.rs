//! `list`, `explain`, `schema`, `completions`, `version`: what there is and what it means.

use crate::args::{ExplainArgs, Global, ListArgs, ListKind, SchemaArgs};
use crate::exit;
use crate::screen::Screen;
use results::beside;
use results::human;
use serde_json::{Value, json};
use std::fmt::Write as _;
use units::Bytes;

struct Item {
    name: String,
    summary: String,
}

pub(crate) fn list(args: &ListArgs, global: &Global, screen: &Screen) -> i32 {
    let kinds = match args.what {
        Some(kind) => vec![kind],
        None => vec![
            ListKind::Scenarios,
            ListKind::Transports,
            ListKind::FlowControls,
            ListKind::Workloads,
            ListKind::Topologies,
            ListKind::Experiments,
        ],
    };
    if global.json {
        let all: serde_json::Map<String, Value> = kinds
            .iter()
            .map(|&kind| {
                let items = items(kind, global).into_iter();
                let list = items
                    .map(|i| json!({ "name": i.name, "summary": i.summary }))
                    .collect();
                (title(kind).to_owned(), Value::Array(list))
            })
            .collect();
        screen.print(&format!("{:#}\n", Value::Object(all)));
        return exit::OK;
    }
    let mut out = String::new();
    for kind in kinds {
        let items = items(kind, global);
        let width = items.iter().map(|i| i.name.len()).max().unwrap_or(0);
        let _ = writeln!(out, "{}", title(kind));
        for item in items {
            let name = format!("  {:<width$}  ", item.name);
            out += &beside(&name, &item.summary, screen.style.width);
            out.push('\n');
        }
    }
    screen.print(&out);
    exit::OK
}

fn title(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Scenarios => "scenarios",
        ListKind::Transports => "transports",
        ListKind::FlowControls => "flow-controls",
        ListKind::Workloads => "workloads",
        ListKind::Topologies => "topologies",
        ListKind::Experiments => "experiments",
    }
}

fn items(kind: ListKind, global: &Global) -> Vec<Item> {
    let item = |name: &str, summary: &str| Item {
        name: name.into(),
        summary: summary.into(),
    };
    match kind {
        ListKind::Scenarios => scenario::builtin::all()
            .iter()
            .map(|b| item(b.name, b.summary()))
            .collect(),
        ListKind::Transports => global
            .transports
            .iter()
            .map(|t| item(t.name(), t.summary()))
            .collect(),
        ListKind::FlowControls => global
            .transports
            .controls()
            .map(|c| item(c.name(), c.summary()))
            .collect(),
        ListKind::Workloads => workload::sizes::BUILTINS
            .iter()
            .map(|builtin| {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a mean size is below 2^48"
                )]
                let mean = Bytes((builtin.dist().mean() + 0.5) as u64);
                let mean = human::bytes(mean);
                item(
                    builtin.name,
                    &format!("mean {mean:>7}; {}", builtin.about()),
                )
            })
            .collect(),
        ListKind::Topologies => scenario::fields::kinds("topology")
            .into_iter()
            .map(|kind| {
                let keys: Vec<_> = scenario::fields::table("topology")
                    .into_iter()
                    .flat_map(|t| t.fields)
                    .filter(|f| f.kinds.contains(&kind))
                    .map(|f| f.key)
                    .collect();
                item(kind, &keys.join(", "))
            })
            .collect(),
        ListKind::Experiments => experiments::EXPERIMENTS
            .iter()
            .map(|one| {
                let title = one.expected().map(|expected| expected.title);
                item(&one.name, &title.unwrap_or_default())
            })
            .collect(),
    }
}

pub(crate) fn explain(args: &ExplainArgs, global: &Global, screen: &Screen) -> i32 {
    match scenario::explain(&args.key, &global.transports) {
        Ok(text) if global.json => {
            let document = json!({ "key": args.key, "text": text });
            screen.print(&format!("{document:#}\n"));
            exit::OK
        }
        Ok(text) => {
            let lines = text
                .lines()
                .map(|line| fitted(line, screen.style.width) + "\n");
            screen.print(&lines.collect::<String>());
            exit::OK
        }
        Err(why) => screen.fail(exit::USAGE, &why),
    }
}

/// A line of an explanation in so many columns: what stands in its last column goes on below itself.
fn fitted(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let start = line.len() - line.trim_start().len();
    let gap = line[start..].find("  ").map(|at| start + at);
    let last = gap.map_or(start, |gap| {
        gap + line[gap..].len() - line[gap..].trim_start().len()
    });
    beside(&line[..last], &line[last..], width)
}

pub(crate) fn schema(args: &SchemaArgs, global: &Global, screen: &Screen) -> i32 {
    let text = if args.commands {
        crate::cmd_commands::markdown()
    } else if args.data {
        scenario::data(&global.transports)
    } else if args.markdown {
        scenario::markdown(&global.transports)
    } else {
        format!("{:#}\n", scenario::json_schema(&global.transports))
    };
    screen.print(&text);
    exit::OK
}

pub(crate) fn version(global: &Global, screen: &Screen) -> i32 {
    let version = env!("CARGO_PKG_VERSION");
    if global.json {
        screen.print(&format!(
            "{:#}\n",
            json!({ "version": version, "rng": RNG, "fingerprint": FINGERPRINT })
        ));
    } else {
        screen.print(&format!("tidegate {version}\n"));
        if global.verbose {
            screen.print(&format!(
                "random numbers: {RNG}\nfingerprint: {FINGERPRINT}\nA change of either is a breaking \
                 change and stands in CHANGELOG.md with the results that moved.\n"
            ));
        }
    }
    exit::OK
}

const RNG: &str = "SplitMix64, one stream per entity, keyed by seed, kind and number";
const FINGERPRINT: &str = "XXH3, 64 bits, over every message's times and every port's counters";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_keeps_to_the_screen_and_its_columns() {
        let all = transports::registry();
        for name in scenario::known_names(&all) {
            let text = scenario::explain(&name, &all).unwrap();
            for line in text.lines() {
                let shown = fitted(line, 80);
                for part in shown.lines() {
                    let long_word = part.split_whitespace().any(|word| word.len() > 40);
                    assert!(part.chars().count() <= 80 || long_word, "{name}: {part}");
                }
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert_eq!(words(&shown), words(line), "nothing is lost");
            }
        }
        assert_eq!(
            fitted("  load  the share of links", 24),
            "  load  the share of\n        links"
        );
    }
}
