//! Style as a test: rules of this repository that no compiler knows.
//!
//! Every rule is a pure function from a [`Tree`] to its [`Finding`]s, so that each has a test with
//! a tree that breaks it. A message says what to write instead.

mod docs;
mod edges;
mod experiments;
mod form;
mod pages;
mod text;
mod transports;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::{fs, io};

/// The text files of the repository that rules look at, by path from the root.
#[derive(Default)]
pub(crate) struct Tree {
    /// Contents by path, with `/` between folders.
    pub(crate) files: BTreeMap<String, String>,
    /// Every file, text or not, that a link may lead to.
    pub(crate) names: Vec<String>,
}

/// A broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Runs every rule.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rules: [fn(&Tree) -> Vec<Finding>; 14] = [
        edges::only_known_edges,
        transports::registered_and_whole,
        transports::deviations_are_listed,
        pages::keep_their_form,
        pages::every_transport_has_one,
        form::form_is_short,
        text::no_forbidden_words,
        text::no_long_files,
        text::long_modules_say_what_they_hold,
        text::known_papers,
        text::switching_reads_envelopes_only,
        experiments::whole_and_run,
        docs::links_lead_somewhere,
        docs::claims_are_kept_by_tests,
    ];
    rules.iter().flat_map(|rule| rule(tree)).collect()
}

/// Folders that hold no source of ours.
const SKIPPED: [&str; 8] = [
    "target",
    "out",
    ".git",
    ".venv",
    "dist",
    "__pycache__",
    "node_modules",
    "assets",
];
/// Kinds of files that rules read.
const TEXT: [&str; 8] = ["rs", "toml", "md", "py", "pyi", "sh", "yml", "cff"];

impl Tree {
    /// Reads the repository at `root`.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            // A symbolic link could lead out of the tree, or around in a circle.
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.names.push(path.clone());
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let text = Path::new(&name)
                    .extension()
                    .is_some_and(|ending| TEXT.iter().any(|known| ending == *known));
                if text && let Ok(content) = fs::read_to_string(entry.path()) {
                    self.files.insert(path.clone(), content);
                }
                self.names.push(path);
            }
        }
        Ok(())
    }

    /// The text files whose path begins and ends so.
    fn within<'a>(
        &'a self,
        begin: &'a str,
        end: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(begin) && path.ends_with(end))
            .map(|(path, content)| (path.as_str(), content.as_str()))
    }

    /// A tree for a test.
    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(p, c)| ((*p).to_owned(), (*c).to_owned()))
                .collect(),
            names: files.iter().map(|(p, _)| (*p).to_owned()).collect(),
        }
    }
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

/// The lines of a text with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

/// The lines of findings, for tests.
#[cfg(test)]
fn places(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| format!("{}:{}", finding.path, finding.line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_read_and_holds_the_rules_own_files() {
        let tree = Tree::read(&crate::root()).unwrap();
        assert!(tree.files.contains_key("Cargo.toml"));
        assert!(tree.files.contains_key("crates/xtask/src/tidy/mod.rs"));
        assert!(!tree.names.iter().any(|name| name.starts_with("target/")));
    }

    #[test]
    fn a_finding_reads_like_a_compiler_error() {
        assert_eq!(Finding::new("a/b.rs", 3, "no").to_string(), "a/b.rs:3: no");
    }
}
