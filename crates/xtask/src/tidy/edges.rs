//! Which crate may know which: arrows point one way. (ARCHITECTURE.md, "Layers")

use super::{Finding, Tree, numbered};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Every crate with the crates of ours that it may depend on.
///
/// `sim` and `drive` are siblings that never meet: the same state machine, two worlds.
const ALLOWED: [(&str, &[&str]); 19] = [
    ("units", &[]),
    ("model", &["units"]),
    ("parts", &["units", "model", "switching"]),
    ("flow-control", &["units", "model", "parts", "switching"]),
    ("transports", &["units", "model", "parts", "flow-control"]),
    ("switching", &["units", "model"]),
    ("topology", &["units"]),
    ("workload", &["units", "model"]),
    (
        "sim",
        &["units", "model", "switching", "topology", "workload"],
    ),
    ("drive", &["units", "model", "transports", "switching"]),
    ("results", &["units", "model"]),
    ("report", &["units", "model", "results"]),
    (
        "scenario",
        &[
            "units",
            "model",
            "transports",
            "switching",
            "topology",
            "workload",
            "sim",
            "results",
        ],
    ),
    (
        "web",
        &[
            "units",
            "transports",
            "workload",
            "results",
            "report",
            "scenario",
        ],
    ),
    (
        "experiments",
        &[
            "units", "model", "workload", "results", "report", "scenario",
        ],
    ),
    (
        "cli",
        &[
            "units",
            "model",
            "transports",
            "workload",
            "drive",
            "results",
            "report",
            "scenario",
            "web",
            "experiments",
        ],
    ),
    (
        "py",
        &["cli", "results", "report", "scenario", "transports"],
    ),
    ("testkit", &["units", "model"]),
    ("xtask", &[]),
];

/// Dependencies between crates are those of [`ALLOWED`]; tests may also use the test kit.
pub(super) fn only_known_edges(tree: &Tree) -> Vec<Finding> {
    let manifests: BTreeMap<&str, (&str, Table)> = tree
        .within("crates/", "/Cargo.toml")
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            Some((name, (path, text.parse::<Table>().ok()?)))
        })
        .collect();
    // The name of a package leads back to the folder that holds it.
    let folders: BTreeMap<&str, &str> = manifests
        .iter()
        .filter_map(|(folder, (_, table))| {
            Some((table.get("package")?.get("name")?.as_str()?, *folder))
        })
        .collect();

    let mut findings = Vec::new();
    for (name, (path, table)) in &manifests {
        let text = tree.files.get(*path).map_or("", String::as_str);
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| known == name) else {
            findings.push(Finding::new(
                path,
                1,
                format!("crate '{name}' has no place in the layers: add it to ALLOWED in xtask and to ARCHITECTURE.md"),
            ));
            continue;
        };
        for (section, tests) in [("dependencies", false), ("dev-dependencies", true)] {
            for (key, value) in dependencies(table, section) {
                let Some(used) = folder_of(key, value, &folders) else {
                    continue;
                };
                // A test may look from outside at what the crate may not know; nothing ships it.
                if tests || allowed.contains(&used) {
                    continue;
                }
                findings.push(Finding::new(
                    path,
                    line_of(text, key),
                    format!(
                        "'{name}' must not know '{used}' (it may know: {}); move the code to a \
                         crate that may, or pass it in as data or a trait of 'model'",
                        if allowed.is_empty() {
                            "none".to_owned()
                        } else {
                            allowed.join(", ")
                        }
                    ),
                ));
            }
        }
    }
    findings
}

fn dependencies<'a>(table: &'a Table, section: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    table
        .get(section)
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
}

/// The folder of the crate that a dependency names; `None` for a crate of somebody else.
fn folder_of<'a>(
    key: &str,
    value: &Value,
    folders: &BTreeMap<&'a str, &'a str>,
) -> Option<&'a str> {
    let package = value.get("package").and_then(Value::as_str);
    // Without `package`, the key is the workspace's short name, which is the folder's.
    package
        .and_then(|package| folders.get(package).copied())
        .or_else(|| folders.get(key).copied())
        .or_else(|| folders.values().copied().find(|folder| *folder == key))
}

fn line_of(text: &str, key: &str) -> usize {
    numbered(text)
        .find(|(_, line)| {
            line.strip_prefix(key)
                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        })
        .map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    const UNITS: (&str, &str) = (
        "crates/units/Cargo.toml",
        "[package]\nname = \"tidegate-units\"",
    );
    const SIM: (&str, &str) = (
        "crates/sim/Cargo.toml",
        "[package]\nname = \"tidegate-sim\"",
    );

    fn findings(manifest: (&str, &str)) -> Vec<String> {
        places(&only_known_edges(&Tree::of(&[UNITS, SIM, manifest])))
    }

    #[test]
    fn an_arrow_along_the_layers_is_fine() {
        let model =
            "[package]\nname = \"m\"\n[dependencies]\nunits.workspace = true\nserde = \"1\"";
        assert_eq!(findings(("crates/model/Cargo.toml", model)), [""; 0]);
    }

    #[test]
    fn an_arrow_back_is_found_with_its_line() {
        let drive =
            "[package]\nname = \"d\"\n[dependencies]\nunits.workspace = true\nsim.workspace = true";
        assert_eq!(
            findings(("crates/drive/Cargo.toml", drive)),
            ["crates/drive/Cargo.toml:5"]
        );
    }

    #[test]
    fn an_arrow_under_another_name_is_found_too() {
        let drive = "[package]\nname = \"d\"\n[dependencies]\nengine = { package = \"tidegate-sim\", path = \"../sim\" }";
        assert_eq!(
            findings(("crates/drive/Cargo.toml", drive)),
            ["crates/drive/Cargo.toml:4"]
        );
    }

    #[test]
    fn tests_may_look_from_outside() {
        let drive = "[package]\nname = \"d\"\n[dev-dependencies]\nsim.workspace = true";
        assert_eq!(findings(("crates/drive/Cargo.toml", drive)), [""; 0]);
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        let other = ("crates/other/Cargo.toml", "[package]\nname = \"o\"");
        assert_eq!(findings(other), ["crates/other/Cargo.toml:1"]);
    }
}
