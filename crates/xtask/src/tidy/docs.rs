//! Documents: a link into this repository leads somewhere.

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
}
