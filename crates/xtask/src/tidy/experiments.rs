//! An experiment is one folder and one line, and what it is judged by held when it last ran.

use super::{Finding, Tree};
use std::collections::BTreeSet;

const BASE: &str = "experiments/";
const REGISTRY: &str = "crates/experiments/src/catalogue.rs";
/// What every experiment's folder holds.
const FILES: [&str; 4] = ["scenario.toml", "expected.toml", "README.md", "result.md"];

/// How `reproduce` marks a row that is to hold and does not.
const OFF: &str = "| DIFFERS |";

/// Every folder of `experiments/` is whole, run by `tidegate reproduce`, and on record with no row that is to hold and does not.
pub(super) fn whole_and_run(tree: &Tree) -> Vec<Finding> {
    let registry = tree.files.get(REGISTRY).map_or("", String::as_str);
    let folders: BTreeSet<&str> = tree
        .within(BASE, "")
        .filter_map(|(path, _)| path.strip_prefix(BASE)?.split_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    let mut findings = Vec::new();
    for folder in folders {
        for file in FILES {
            let path = format!("{BASE}{folder}/{file}");
            if !tree.files.contains_key(&path) {
                findings.push(Finding::new(
                    &path,
                    1,
                    "missing: every experiment has this file",
                ));
            }
        }
        let record = format!("{BASE}{folder}/result.md");
        let lines = tree
            .files
            .get(&record)
            .into_iter()
            .flat_map(|text| text.lines());
        for (at, _) in lines.enumerate().filter(|(_, line)| line.contains(OFF)) {
            let text = "it is to hold: find the cause, or report it with its reason";
            findings.push(Finding::new(&record, at + 1, text));
        }
        if !registry.contains(&format!("\"{folder}\"")) {
            findings.push(Finding::new(
                REGISTRY,
                1,
                format!("add the experiment \"{folder}\""),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_row_that_is_to_hold_and_does_not_is_found() {
        let row = "| a | FCT us | 1.0 | 2.0 | 5% | ours | differs (reported) |\n| a | FCT us | 1.0 | 2.0 | 5% | ours | DIFFERS |\n";
        let files = [
            (REGISTRY, "experiment!(\"fig1\")"),
            ("experiments/fig1/scenario.toml", ""),
            ("experiments/fig1/expected.toml", ""),
            ("experiments/fig1/README.md", ""),
            ("experiments/fig1/result.md", row),
        ];
        assert_eq!(
            places(&whole_and_run(&Tree::of(&files))),
            ["experiments/fig1/result.md:2"]
        );
    }

    #[test]
    fn an_experiment_that_nobody_runs_is_found() {
        let files = [
            (REGISTRY, "experiment!(\"fig1\")"),
            ("experiments/fig1/scenario.toml", ""),
            ("experiments/fig1/expected.toml", ""),
            ("experiments/fig1/README.md", ""),
            ("experiments/fig1/result.md", ""),
            ("experiments/fig2/README.md", ""),
            ("experiments/fig2/result.md", ""),
            ("experiments/fig2/scenario.toml", ""),
        ];
        assert_eq!(
            places(&whole_and_run(&Tree::of(&files))),
            [
                "experiments/fig2/expected.toml:1",
                "crates/experiments/src/catalogue.rs:1"
            ]
        );
    }
}
