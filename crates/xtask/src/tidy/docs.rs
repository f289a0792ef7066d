//! Documents: a link into this repository leads somewhere, and a claim names a test that is.

use super::{Finding, Tree, numbered};

/// Every relative link of a Markdown file names a file or a folder of this repository.
pub(super) fn links_lead_somewhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.within("", ".md") {
        let mut fenced = false;
        for (number, line) in numbered(text) {
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                continue;
            }
            for target in targets(line) {
                let place = resolve(path, target);
                if !tree.names.contains(&place) {
                    findings.push(Finding::new(
                        path,
                        number,
                        format!("the link to '{target}' leads nowhere ({place})"),
                    ));
                }
            }
        }
    }
    findings
}

/// Pages whose claims name their tests, and the heading over the table of them.
const CLAIMS: [(&str, &str); 3] = [
    ("ARCHITECTURE.md", "## Invariants"),
    ("docs/contract.md", "## What has been tried"),
    ("docs/pathologies.md", "## The list"),
];
/// What a claim may name in place of a test: many of them.
const SUITE: &str = "the conformance suite";

/// Every row of these tables ends with the names of tests, and those tests exist.
pub(super) fn claims_are_kept_by_tests(tree: &Tree) -> Vec<Finding> {
    let found = |&(path, heading): &(&str, &str)| {
        let page = tree.files.get(path);
        page.map_or(Vec::new(), |page| claims(tree, path, page, heading))
    };
    CLAIMS.iter().flat_map(found).collect()
}

fn claims(tree: &Tree, path: &str, page: &str, heading: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let rows = numbered(page)
        .skip_while(|(_, line)| *line != heading)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| ---"))
        // The first row is the table's head.
        .skip(1);
    for (number, row) in rows {
        let last = row
            .trim_end_matches(['|', ' '])
            .rsplit('|')
            .next()
            .unwrap_or("");
        let tests: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        if tests.is_empty() && !last.contains(SUITE) {
            findings.push(Finding::new(path, number, "name the test that keeps this"));
        }
        for test in tests {
            let head = format!("fn {test}(");
            if !tree
                .within("crates/", ".rs")
                .any(|(_, text)| text.contains(&head))
            {
                let message = format!("no test is called '{test}'");
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// The relative targets of the links and pictures of one line, without their anchors.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or(""))
        .filter(|target| !target.is_empty() && !target.contains(':'))
}

/// The path from the root that a link in `page` means.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn links_up_down_and_out_are_followed() {
        let page = "[up](../README.md#why) [here](b.md) [web](https://example.org) [self](#x)\n\
                    [lost](../gone.md)\n```\n[code](nowhere)\n```\n";
        let tree = Tree::of(&[("README.md", ""), ("docs/a.md", page), ("docs/b.md", "")]);
        assert_eq!(places(&links_lead_somewhere(&tree)), ["docs/a.md:2"]);
    }

    #[test]
    fn an_invariant_without_its_test_is_found() {
        let page = "## Invariants\n\n| what | kept by |\n| --- | --- |\n| a | `kept` |\n\
                    | b | `gone` |\n| c | care |\n\n## Next\n\n| x | y |\n| --- | --- |\n| d | e |\n";
        let contract = "## What has been tried\n\n| needed by | how | held by |\n| --- | --- | --- |\n\
                        | a | `kept` | `gone` |\n| b | c | the conformance suite of d |\n| e | f | g |\n";
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", page),
            ("docs/contract.md", contract),
            ("crates/a/src/lib.rs", "fn kept() {}"),
        ]);
        assert_eq!(
            places(&claims_are_kept_by_tests(&tree)),
            [
                "ARCHITECTURE.md:6",
                "ARCHITECTURE.md:7",
                "docs/contract.md:5",
                "docs/contract.md:7"
            ]
        );
    }
}
