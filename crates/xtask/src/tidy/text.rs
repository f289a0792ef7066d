//! Rules about lines of text.

use super::{Finding, Tree, numbered};
use std::path::Path;

/// Words that must not be committed, with what to do instead. Split, so that this file passes.
const FORBIDDEN: [(&str, &str); 4] = [
    (
        concat!("FIX", "ME"),
        "fix it, or write an issue and say what the code does today",
    ),
    (concat!("to", "do!"), "write it, or leave the function out"),
    (
        concat!("unimpl", "emented!"),
        "write it, or return an error that names the fix",
    ),
    (concat!("<<<<", "<<< "), "resolve the merge"),
];

/// Lines a file may have. [ours]
const LINES_MAX: usize = 800;
/// Longer files that are tolerated, with the length they may have. Entries only ever shrink.
const LONG_FILES: &str = "crates/xtask/long-files.toml";

/// Papers, artefacts and standards that a tag such as `[xpass s3.1]` may name.
const PAPERS: [&str; 35] = [
    "aeolus", "alizadeh", "aquarius", "bfc", "cubic", "dcpim", "dcqcn", "dctcp", "dx", "fastpass",
    "flexpass", "homa", "hpcc", "htsim", "hull", "imc10", "linux", "ndp", "newreno", "ns2", "ns3",
    "ours", "pdq", "pfabric", "phost", "pias", "rcp", "rfc", "sird", "ssp", "swift", "tfc",
    "timely", "uec", "xpass",
];

/// No line holds a word of [`FORBIDDEN`].
pub(super) fn no_forbidden_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.within("", "") {
        // Prose may talk about the rule itself.
        if ends(path, "md") {
            continue;
        }
        for (number, line) in numbered(text) {
            // An example in a comment may leave out what it is not about.
            let example = line.trim_start().starts_with("//");
            for (word, instead) in FORBIDDEN {
                if line.contains(word) && !(example && word.ends_with('!')) {
                    findings.push(Finding::new(path, number, format!("'{word}': {instead}")));
                }
            }
        }
    }
    findings
}

/// No source file is longer than [`LINES_MAX`], but for the shrinking list of exceptions.
pub(super) fn no_long_files(tree: &Tree) -> Vec<Finding> {
    let list = tree.files.get(LONG_FILES).map_or("", String::as_str);
    let allowed = match list.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return vec![Finding::new(LONG_FILES, 1, error.message())],
    };
    let mut findings = Vec::new();
    for (path, limit) in &allowed {
        let length = tree.files.get(path).map(|text| text.lines().count());
        let limit = limit
            .as_integer()
            .and_then(|limit| usize::try_from(limit).ok());
        match (length, limit) {
            (None, _) => findings.push(Finding::new(
                LONG_FILES,
                1,
                format!("{path} is gone: remove it"),
            )),
            (_, None) => findings.push(Finding::new(
                LONG_FILES,
                1,
                format!("{path}: write a number of lines"),
            )),
            (Some(length), Some(_)) if length <= LINES_MAX => {
                findings.push(Finding::new(
                    LONG_FILES,
                    1,
                    format!("{path} is short enough now: remove it"),
                ));
            }
            (Some(_), Some(_)) => {}
        }
    }
    for (path, text) in tree.within("", "") {
        if !ends(path, "rs") && !ends(path, "py") {
            continue;
        }
        let length = text.lines().count();
        let limit = allowed
            .get(path)
            .and_then(toml::Value::as_integer)
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(LINES_MAX);
        if length > limit {
            findings.push(Finding::new(
                path,
                limit + 1,
                format!("{length} lines, {limit} allowed: split it by what it is about"),
            ));
        }
    }
    findings
}

/// A module of so many lines says in more than one what it holds, in what order and why. [ours]
const LINES_TOLD: usize = 600;
const TOLD_IN: usize = 3;

/// No long module of a crate has a comment of a line or two at its head.
pub(super) fn long_modules_say_what_they_hold(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.within("crates/", ".rs") {
        let told = |line: &&str| line.starts_with("//!");
        let (length, said) = (text.lines().count(), text.lines().filter(told).count());
        let tests = !path.contains("/src/") || path.contains("/tests");
        if length >= LINES_TOLD && said < TOLD_IN && !tests {
            let message = format!(
                "{length} lines, and {said} that say what they hold: write at least {TOLD_IN}"
            );
            findings.push(Finding::new(path, 1, message));
        }
    }
    findings
}

/// Whether a path has this ending.
fn ends(path: &str, ending: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == ending)
}

/// Every tag such as `[xpass s3.1]` or `[linux artefact]` in a comment names a known source.
pub(super) fn known_papers(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.within("crates/", ".rs") {
        for (number, line) in numbered(text) {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            for name in cited(comment).filter(|name| !PAPERS.contains(name)) {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("unknown source '{name}': add it to PAPERS in xtask, or correct it"),
                ));
            }
        }
    }
    findings
}

/// The names in tags: a bracket, a lower-case word, then a section, an artefact or a figure.
fn cited(comment: &str) -> impl Iterator<Item = &str> {
    comment.split('[').skip(1).filter_map(|rest| {
        let (tag, _) = rest.split_once(']')?;
        let (name, place) = tag.split_once(' ')?;
        let word = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let section = place
            .strip_prefix('s')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let source = section
            || ["artefact", "Fig", "Table"]
                .iter()
                .any(|p| place.starts_with(p));
        (word && source).then_some(name)
    })
}

/// A switch reads the envelope alone: `switching` never touches a packet's decoded head.
pub(super) fn switching_reads_envelopes_only(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.within("crates/switching/src/", ".rs") {
        for (number, line) in numbered(text) {
            let code = line.split_once("//").map_or(line, |(code, _)| code);
            let touched = code.match_indices(".head").any(|(at, word)| {
                let next = code[at + word.len()..].chars().next();
                !next.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '(')
            });
            if touched {
                findings.push(Finding::new(
                    path,
                    number,
                    "a switch must not read or write a transport's header: use the envelope",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_forbidden_word_is_found_with_its_line() {
        let line = concat!("let a = 1;\n// FIX", "ME later\n");
        let tree = Tree::of(&[("crates/a/src/lib.rs", line), ("docs/a.md", line)]);
        assert_eq!(
            places(&no_forbidden_words(&tree)),
            ["crates/a/src/lib.rs:2"]
        );
    }

    #[test]
    fn a_file_may_have_eight_hundred_lines_and_no_more() {
        let (fits, long) = ("\n".repeat(LINES_MAX), "\n".repeat(LINES_MAX + 1));
        let tree = Tree::of(&[("a.rs", &fits), ("b.rs", &long)]);
        assert_eq!(places(&no_long_files(&tree)), ["b.rs:801"]);
    }

    #[test]
    fn a_long_module_with_one_line_at_its_head_is_found() {
        let lines = "\n".repeat(LINES_TOLD);
        let (short, told) = (
            format!("//! A.\n{lines}"),
            format!("//! A.\n//!\n//! B.\n{lines}"),
        );
        let tree = Tree::of(&[
            ("crates/a/src/a.rs", &short),
            ("crates/a/src/b.rs", &told),
            ("crates/a/src/c.rs", "//! A.\n"),
            ("crates/a/src/tests/d.rs", &short),
            ("crates/a/src/tests.rs", &short),
            ("crates/a/tests/e.rs", &short),
        ]);
        let found = places(&long_modules_say_what_they_hold(&tree));
        assert_eq!(found, ["crates/a/src/a.rs:1"]);
    }

    #[test]
    fn an_exception_holds_up_to_its_length_and_leaves_the_list_in_time() {
        let long = "\n".repeat(900);
        let list = |limit| format!("\"b.rs\" = {limit}");
        let tree = |list: &str| Tree::of(&[("b.rs", &long), (LONG_FILES, list)]);
        assert_eq!(no_long_files(&tree(&list(900))), []);
        assert_eq!(places(&no_long_files(&tree(&list(850)))), ["b.rs:851"]);
        let short = Tree::of(&[("b.rs", ""), (LONG_FILES, &list(900))]);
        assert_eq!(places(&no_long_files(&short)), [format!("{LONG_FILES}:1")]);
    }

    #[test]
    fn tags_name_known_papers_and_other_brackets_are_left_alone() {
        // Angles stand for brackets, so that this file itself passes.
        let code = "/// Small. <xpass s3.1>\n/// Odd. <xpas s3.1>\n// <own words here> <Rate>\n\
                    // <nobody artefact, a.cc>\nlet a = x<i s1>;\n"
            .replace('<', "[")
            .replace('>', "]");
        let tree = Tree::of(&[("crates/a/src/lib.rs", &code)]);
        assert_eq!(
            places(&known_papers(&tree)),
            ["crates/a/src/lib.rs:2", "crates/a/src/lib.rs:4"]
        );
    }

    #[test]
    fn a_switch_that_reads_a_header_is_found() {
        let code =
            "let a = packet.head[0];\nlet b = packet.header;\n// packet.head\nring.head();\n";
        let tree = Tree::of(&[
            ("crates/switching/src/red.rs", code),
            ("crates/sim/src/a.rs", code),
        ]);
        assert_eq!(
            places(&switching_reads_envelopes_only(&tree)),
            ["crates/switching/src/red.rs:1"]
        );
    }
}
