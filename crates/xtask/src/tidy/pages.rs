//! The pages of transports have one form, so that a reader finds the same thing at the same place.

use super::{Finding, Tree, numbered};

/// Where the pages of this repository's transports are: every Markdown file below it is one.
const BASE: &str = "crates/transports/src/";
/// Where the registry lists the transports.
const REGISTRY: &str = "crates/transports/src/lib.rs";
/// The page that `new-transport` writes.
const TEMPLATE: &str = "examples/fixed-window/src/fixed_window/README.md";
/// The headings of every page, in order. (CONTRIBUTING.md, "The page of a transport")
const FORM: [&str; 10] = [
    "In one minute",
    "One message",
    "State machines",
    "What it asks of ports",
    "Parameters and profiles",
    "Deviations",
    "Decisions where sources are silent",
    "Evidence",
    "When it wins",
    "Files",
];

/// Words that the first part of a page may have: about 250 are read in a minute. (CONTRIBUTING.md) [ours]
const MINUTE: usize = 300;

/// Where the pages of flow controls are.
const CONTROLS: &str = "crates/flow-control/src/";
/// The headings of each of these, in order.
const FORM_OF_CONTROLS: [&str; 5] = [
    "In one minute",
    "Rules",
    "Parameters",
    "Decisions and departures",
    "Evidence",
];

/// Every page has the headings of the form, all of them, in order and with text below each, the first not too much.
pub(super) fn keep_their_form(tree: &Tree) -> Vec<Finding> {
    let transports = tree.within(BASE, ".md").chain(tree.within(TEMPLATE, ""));
    let transports =
        transports.filter_map(|(path, text)| departure(path, text, &FORM, "transport"));
    let controls = tree
        .within(CONTROLS, ".md")
        .filter_map(|(path, text)| departure(path, text, &FORM_OF_CONTROLS, "flow control"));
    transports.chain(controls).collect()
}

/// Every transport in the registry has a page: the folder's own `README.md`, a variant one of its name.
pub(super) fn every_transport_has_one(tree: &Tree) -> Vec<Finding> {
    let registry = tree.files.get(REGISTRY).map_or("", String::as_str);
    let mut findings = Vec::new();
    for (line, text) in numbered(registry) {
        let entry = text
            .trim()
            .strip_prefix('&')
            .and_then(|it| it.strip_suffix(','));
        let Some((folder, name)) = entry.and_then(|it| it.split_once("::")) else {
            continue;
        };
        let name = name.to_lowercase();
        let file = if name == folder { "README" } else { &name };
        let page = format!("{BASE}{folder}/{file}.md");
        if !tree.files.contains_key(&page) {
            let message = format!("write its page {page}, in the form that CONTRIBUTING.md shows");
            findings.push(Finding::new(REGISTRY, line, message));
        }
    }
    findings
}

/// The first departure from the `form` of a page of `what`.
fn departure(path: &str, text: &str, form: &[&str], what: &str) -> Option<Finding> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    let mut words = Vec::new();
    let mut fenced = false;
    for (number, line) in numbered(text) {
        fenced ^= line.starts_with("```");
        match line.strip_prefix("## ") {
            Some(heading) if !fenced => {
                found.push((number, heading));
                words.push(0);
            }
            _ => {
                if let Some(last) = words.last_mut() {
                    *last += line.split_whitespace().count();
                }
            }
        }
    }
    for (place, wanted) in form.iter().enumerate() {
        let (line, heading) = found.get(place).copied().unwrap_or((1, "nothing"));
        if heading != *wanted {
            let message = format!("the page of a {what} has '## {wanted}' here, not '{heading}'");
            return Some(Finding::new(path, line, message));
        }
        if words[place] == 0 {
            let message =
                format!("say something under '{wanted}', if only why there is nothing to say");
            return Some(Finding::new(path, line, message));
        }
        if place == 0 && words[place] > MINUTE {
            let message = format!(
                "'{wanted}' has {} words, and {MINUTE} are a minute; move the rest to other headings",
                words[place]
            );
            return Some(Finding::new(path, line, message));
        }
    }
    let (line, heading) = *found.get(form.len())?;
    let message =
        format!("'{heading}' is not in the form; make it '###' under one of its headings");
    Some(Finding::new(path, line, message))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    fn whole() -> String {
        let parts: Vec<_> = FORM
            .iter()
            .map(|it| format!("## {it}\n\nText.\n"))
            .collect();
        format!("# Homa\n\n{}", parts.concat())
    }

    fn found(page: &str) -> Vec<String> {
        places(&keep_their_form(&Tree::of(&[
            ("crates/transports/src/homa/README.md", page),
            ("docs/other.md", "## Anything\n"),
        ])))
    }

    #[test]
    fn a_page_in_the_form_is_fine() {
        let nothing: [&str; 0] = [];
        assert_eq!(found(&whole()), nothing);
        let code = whole().replace("Text.", "### Part\n\n```text\n## no heading\n```");
        assert_eq!(found(&code), nothing);
    }

    #[test]
    fn each_departure_from_the_form_is_found_where_it_is() {
        let page = "crates/transports/src/homa/README.md";
        let absent = whole().replace("## Deviations\n\nText.\n", "");
        assert_eq!(found(&absent), [format!("{page}:18")]);
        let swapped = whole()
            .replace("## Files", "## X")
            .replace("## Evidence", "## Files");
        assert_eq!(found(&swapped), [format!("{page}:24")]);
        let short = whole().replace("## Files\n\nText.\n", "");
        assert_eq!(found(&short), [format!("{page}:1")]);
        let more = format!("{}## More\n\nText.\n", whole());
        assert_eq!(found(&more), [format!("{page}:33")]);
        let minute = |words: usize| {
            let text = format!("minute\n\nA\n{}\n", " word".repeat(words - 1));
            found(&whole().replacen("minute\n\nText.\n", &text, 1))
        };
        assert_eq!(minute(MINUTE), [""; 0]);
        assert_eq!(minute(MINUTE + 1), [format!("{page}:3")]);
        let silent = whole().replace("## Evidence\n\nText.\n", "## Evidence\n\n");
        assert_eq!(found(&silent), [format!("{page}:24")]);
    }

    #[test]
    fn pages_of_flow_controls_have_a_form_of_their_own() {
        let page = "crates/flow-control/src/pfc/README.md";
        let parts = FORM_OF_CONTROLS.map(|it| format!("## {it}\n\nText.\n"));
        let found = |text: &str| places(&keep_their_form(&Tree::of(&[(page, text)])));
        assert_eq!(found(&parts.concat()), [""; 0]);
        assert_eq!(found(&whole()), [format!("{page}:6")]);
    }

    #[test]
    fn a_transport_or_a_variant_without_a_page_is_found() {
        let registry = "vec![\n    &homa::HOMA,\n    &homa::NDP,\n    &dctcp::DCTCP,\n]\n";
        let page = whole();
        let tree = Tree::of(&[
            (REGISTRY, registry),
            ("crates/transports/src/homa/README.md", &page),
        ]);
        assert_eq!(
            places(&every_transport_has_one(&tree)),
            [format!("{REGISTRY}:3"), format!("{REGISTRY}:4")]
        );
    }

    #[test]
    fn the_page_that_new_transport_writes_is_held_to_it_as_well() {
        let tree = Tree::of(&[(TEMPLATE, "# fixed-window\n")]);
        assert_eq!(places(&keep_their_form(&tree)), [format!("{TEMPLATE}:1")]);
    }
}
