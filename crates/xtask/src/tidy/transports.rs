//! A transport is one folder and two lines: both must be there, and its page must be honest.

use super::{Finding, Tree, numbered};
use std::collections::{BTreeMap, BTreeSet};

const BASE: &str = "crates/transports/src/";
const REGISTRY: &str = "crates/transports/src/lib.rs";
/// What every transport's folder holds.
const FILES: [&str; 5] = ["README.md", "params.rs", "header.rs", "mod.rs", "tests.rs"];
/// How a departure from a paper or an artefact is marked where it happens.
const MARK: &str = concat!("DEVI", "ATES(");

/// Every folder is declared and registered, and holds its five files.
pub(super) fn registered_and_whole(tree: &Tree) -> Vec<Finding> {
    let Some(registry) = tree.files.get(REGISTRY) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for folder in folders(tree) {
        for file in FILES {
            let path = format!("{BASE}{folder}/{file}");
            if !tree.files.contains_key(&path) {
                findings.push(Finding::new(
                    &path,
                    1,
                    "missing: every transport has this file",
                ));
            }
        }
        let module = format!("pub mod {folder};");
        if !registry.lines().any(|line| line.trim() == module) {
            findings.push(Finding::new(REGISTRY, 1, format!("add '{module}'")));
        }
        let entry = format!("&{folder}::");
        let listed = registry
            .split_once("fn registry()")
            .and_then(|(_, rest)| rest.split_once("\n}"))
            .is_some_and(|(body, _)| body.contains(&entry));
        if !listed {
            findings.push(Finding::new(
                REGISTRY,
                1,
                format!("add '{entry}{}' to registry()", folder.to_uppercase()),
            ));
        }
    }
    findings
}

/// Every source of deviations that the code names is named on the transport's pages as often as
/// there are deviations, at least.
pub(super) fn deviations_are_listed(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in folders(tree) {
        let code = format!("{BASE}{folder}/");
        let pages: String = tree.within(&code, ".md").map(|(_, text)| text).collect();
        let mut marked: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
        for (path, text) in tree.within(&code, ".rs") {
            for (line, source) in marks(text) {
                marked.entry(source).or_default().push((path, line));
            }
        }
        for (source, places) in marked {
            let mark = format!("{MARK}{source})");
            let told = pages.matches(mark.as_str()).count();
            for (path, line) in places.into_iter().skip(told) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!(
                        "list this {mark} in {code}README.md, one line each, with what it changes"
                    ),
                ));
            }
        }
    }
    findings
}

/// The folders that are transports.
fn folders(tree: &Tree) -> BTreeSet<&str> {
    tree.within(BASE, "")
        .filter_map(|(path, _)| path.strip_prefix(BASE)?.split_once('/'))
        .map(|(folder, _)| folder)
        .collect()
}

/// The sources in parentheses after each mark, with their lines.
fn marks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    numbered(text).filter_map(|(number, line)| {
        let (_, rest) = line.split_once(MARK)?;
        Some((number, rest.split_once(')')?.0))
    })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    const LIB: &str = "pub mod homa;\npub fn registry() -> X {\n    &[&homa::HOMA]\n}\n";

    fn whole(registry: &'static str, code: &'static str, page: &'static str) -> Tree {
        let base = "crates/transports/src/homa/";
        let mut tree = Tree::of(&[(REGISTRY, registry)]);
        for file in FILES {
            let content = match file {
                "README.md" => page,
                "mod.rs" => code,
                _ => "",
            };
            tree.files
                .insert(format!("{base}{file}"), content.to_owned());
        }
        tree
    }

    #[test]
    fn a_whole_folder_with_its_two_lines_is_fine() {
        assert_eq!(registered_and_whole(&whole(LIB, "", "")), []);
    }

    #[test]
    fn a_missing_file_is_named() {
        let mut tree = whole(LIB, "", "");
        tree.files.remove("crates/transports/src/homa/header.rs");
        assert_eq!(
            places(&registered_and_whole(&tree)),
            ["crates/transports/src/homa/header.rs:1"]
        );
    }

    #[test]
    fn each_of_the_two_lines_is_asked_for() {
        assert_eq!(registered_and_whole(&whole("", "", "")).len(), 2);
        let unlisted = "pub mod homa;\npub fn registry() -> X {\n    &[]\n}\n// &homa::HOMA";
        assert_eq!(registered_and_whole(&whole(unlisted, "", "")).len(), 1);
    }

    #[test]
    fn a_deviation_that_the_page_does_not_tell_is_found() {
        let code = concat!("//\n// DEVI", "ATES(linux): a\n// DEVI", "ATES(linux): b");
        let page = concat!("- `DEVI", "ATES(linux)`: a");
        let code_at = "crates/transports/src/homa/mod.rs";
        let found = |page| places(&deviations_are_listed(&whole(LIB, code, page)));
        assert_eq!(found(""), [format!("{code_at}:2"), format!("{code_at}:3")]);
        assert_eq!(found(page), [format!("{code_at}:3")]);
        // A variant's page in the same folder tells as well.
        let mut tree = whole(LIB, code, page);
        let variant = "crates/transports/src/homa/variant.md".to_owned();
        tree.files.insert(variant, page.to_owned());
        assert_eq!(deviations_are_listed(&tree), []);
    }
}
