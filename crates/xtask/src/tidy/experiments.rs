//! An experiment is one folder and one line.

use super::{Finding, Tree};
use std::collections::BTreeSet;

const BASE: &str = "experiments/";
const REGISTRY: &str = "crates/experiments/src/catalogue.rs";
/// What every experiment's folder holds.
const FILES: [&str; 4] = ["scenario.toml", "expected.toml", "README.md", "result.md"];

/// Every folder of `experiments/` is whole, and run by `tidegate reproduce`.
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
