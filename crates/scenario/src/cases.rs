//! `[[compare]]`: what `tidegate compare` runs of a scenario, as cases with names.
//!
//! A case is settings that belong together: a workload and how many of its messages, a transport and what its paper
//! asks of switches. Cases of one kind take turns, and every case of one kind meets every case of the others.

use crate::diagnostic::Diagnostic;
use crate::section::Section;
use crate::tree::split_path;
use std::collections::{BTreeMap, BTreeSet};

/// The cases that take each other's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CasesOf {
    /// What they are cases of: `traffic`.
    pub of: String,
    /// In the order of the file.
    pub cases: Vec<Case>,
}

/// The kind whose cases are told apart by their transports' names.
const TRANSPORTS: &str = "transport";

impl CasesOf {
    /// What varies among them, as `--set` names it where it lists the same; their kind where no key says it.
    pub fn key(&self) -> &str {
        if self.of == TRANSPORTS {
            "transport.kind"
        } else {
            &self.of
        }
    }
}

/// Settings that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// In tables, and for `--case`.
    pub name: String,
    /// As `--set` takes them.
    pub sets: Vec<String>,
}

/// What the tables say, by kind, in the order of the file.
pub(crate) fn of(sections: &[Section], errors: &mut Vec<Diagnostic>) -> Vec<CasesOf> {
    let mut found: Vec<CasesOf> = Vec::new();
    let mut kind_of: BTreeMap<String, String> = BTreeMap::new();
    for section in sections {
        let (Some::<String>(of), Some::<String>(name)) =
            (section.value("of"), section.value("name"))
        else {
            // Their absence is said already.
            continue;
        };
        let sets: Option<Vec<String>> = section.value("set");
        let sets = sets.unwrap_or_default();
        if let Some(set) = sets.iter().find(|set| !is_setting(set)) {
            errors.push(
                section
                    .problem("set", format!("compare.set has {set:?}"))
                    .label("no setting")
                    .help("write a key of a scenario and its value, like \"workload.load=0.8\""),
            );
        }
        let mut own = BTreeSet::new();
        for set in &sets {
            let Some(key) = set.split_once('=').and_then(|(key, _)| canonical(key)) else {
                continue;
            };
            let kind = kind_of.entry(key.clone()).or_insert_with(|| of.clone());
            let label = if *kind != of {
                format!("cases of \"{kind}\" set it, too, and every one of them meets this one")
            } else if !own.insert(key.clone()) {
                "this case sets it twice".to_owned()
            } else {
                continue;
            };
            errors.push(
                section
                    .problem("set", format!("compare.set has {key} twice"))
                    .label(label)
                    .help("one of the two would be lost: leave one out"),
            );
        }
        let at = found.iter().position(|cases| cases.of == of);
        let at = at.unwrap_or_else(|| {
            let cases = Vec::new();
            found.push(CasesOf { of, cases });
            found.len() - 1
        });
        let cases = &mut found[at];
        if cases.cases.iter().any(|case| case.name == name) {
            let what = format!("two cases of \"{}\" are named \"{name}\"", cases.of);
            errors.push(section.problem("name", what).label("the second"));
        }
        cases.cases.push(Case { name, sets });
    }
    found
}

/// One spelling of a key: without quotes, and without the number of the first table of several.
fn canonical(key: &str) -> Option<String> {
    let mut parts = split_path(key.trim()).ok()?;
    parts.retain(|part| part != "0");
    Some(parts.join("."))
}

/// `workload.load=0.8`; a case that sets cases would have to be read twice.
fn is_setting(set: &str) -> bool {
    set.split_once('=').is_some_and(|(key, value)| {
        let key = key.trim();
        !key.is_empty() && !value.trim().is_empty() && key.split('.').next() != Some("compare")
    })
}
