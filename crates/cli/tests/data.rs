//! The data dictionary says what runs really write: every column with its type, every field.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, text, tidegate};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Rows of a table of the page by its title: the cells of each.
type Page = BTreeMap<String, Vec<Vec<String>>>;

fn page(folder: &Folder) -> Page {
    let output = tidegate(&folder.0, &["schema", "--data"]);
    let (mut found, mut title) = (Page::new(), String::new());
    for line in text(&output.stdout).lines() {
        if let Some(name) = line.strip_prefix("### `") {
            name.trim_end_matches('`').clone_into(&mut title);
        } else if line.starts_with("| `") {
            let cells = line.trim_matches('|').split(" | ");
            let cells: Vec<String> = cells
                .map(|c| c.trim().trim_matches('`').to_owned())
                .collect();
            assert_eq!(cells.len(), 4, "{line}");
            assert!(cells[3].len() > 3, "{line}");
            found.entry(title.clone()).or_default().push(cells);
        }
    }
    found
}

/// Runs that between them write every table and every field.
fn runs(folder: &Folder) -> Vec<std::path::PathBuf> {
    let of = |name: &str, extra: &str, sets: &[&str], code: i32| {
        let toml = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\n{extra}"
        );
        let file = folder.write(&format!("{name}.toml"), &toml);
        let mut args = vec!["run", &file, "--out", name];
        args.extend(sets.iter().flat_map(|set| ["--set", set]));
        let output = tidegate(&folder.0, &args);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{name}: {}",
            text(&output.stderr)
        );
        folder.path(name)
    };
    let two = "[[workload]]\nkind = \"incast\"\nsenders = 4\nsize = \"80KB\"\ntag = \"a\"\n[[workload]]\nkind = \
               \"random\"\nsizes = \"web-server\"\nload = 0.3\nmessages = 60\n";
    vec![
        of(
            "plain",
            two,
            &[
                "output.every=2us",
                "output.flows=true",
                "output.data_queues=true",
            ],
            0,
        ),
        of(
            "paused",
            two,
            &[
                "transport.kind=none",
                "switch.flow_control=pfc",
                "switch.shared_buffer=400KB",
                "output.memory=true",
            ],
            0,
        ),
        of(
            "beside",
            &two.replace("tag = \"a\"", "tag = \"a\"\ntransport = \"dctcp\""),
            &["output.window=[\"1us\", \"90us\"]"],
            0,
        ),
        of("stuck", two, &["run.until=20us"], 0),
    ]
}

#[test]
fn every_column_of_a_run_is_in_the_dictionary_with_its_type() {
    let folder = Folder::new("data-tables");
    let page = page(&folder);
    let runs = runs(&folder);
    let mut met = BTreeSet::new();
    for (run, (table, rows)) in runs
        .iter()
        .flat_map(|run| page.iter().map(move |table| (run, table)))
    {
        for file in [format!("{table}.csv"), format!("{table}-window.csv")] {
            let Ok(csv) = std::fs::read_to_string(run.join(&file)) else {
                continue;
            };
            met.insert(file.clone());
            let mut lines = csv.lines();
            let titles: Vec<&str> = lines.next().unwrap().split(',').collect();
            // What transports count of their own is there for those that ran; the rest is the same, in order.
            let known: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
            let shown: Vec<&str> = known
                .iter()
                .copied()
                .filter(|name| titles.contains(name))
                .collect();
            assert_eq!(titles, shown, "{file}");
            if table != "hosts" {
                assert_eq!(titles.len(), known.len(), "{file}");
            }
            for (line, (title, cell)) in
                lines.flat_map(|line| titles.iter().zip(line.split(',')).map(move |c| (line, c)))
            {
                let row = rows.iter().find(|row| row[0] == *title).unwrap();
                let (of, missing) = row[1].split_once(',').unwrap_or((&row[1], ""));
                let fits = match of {
                    _ if cell.is_empty() => {
                        !missing.is_empty() || of == "string" || table == "hosts"
                    }
                    "bool (1 or 0 in CSV)" => cell == "0" || cell == "1",
                    "uint8" => cell.parse::<u8>().is_ok(),
                    "uint32" => cell.parse::<u32>().is_ok(),
                    "uint64" => cell.parse::<u64>().is_ok(),
                    "int64" => cell.parse::<i64>().is_ok_and(|n| n >= 0),
                    "float64" => cell.parse::<f64>().is_ok(),
                    "string" => true,
                    other => panic!("{file}: {title} is {other}"),
                };
                assert!(fits, "{file}: {title} is {cell:?}, not {of}: {line}");
            }
        }
    }
    for table in [
        "flows.csv",
        "ports.csv",
        "hosts.csv",
        "series.csv",
        "flow-series.csv",
        "ports-window.csv",
        "memory.csv",
    ] {
        assert!(met.contains(table), "no run wrote {table}: {met:?}");
    }
}

/// Holds a document against the structures of the page, and notes what was met.
fn compare(page: &Page, name: &str, at: &Value, place: &str, met: &mut BTreeSet<String>) {
    let rows = &page
        .get(name)
        .unwrap_or_else(|| panic!("{place}: the page has no {name}"));
    let object = at
        .as_object()
        .unwrap_or_else(|| panic!("{place} is no object"));
    for (key, value) in object {
        let row = rows.iter().find(|row| row[0] == *key);
        let row = row.unwrap_or_else(|| panic!("{place}.{key} is not in {name}"));
        met.insert(format!("{name}.{key}"));
        fits(page, &row[1], value, &format!("{place}.{key}"), met);
    }
    for row in rows.iter().filter(|row| !row[1].ends_with(", or null")) {
        assert!(object.contains_key(&row[0]), "{place} lacks {}", row[0]);
    }
}

fn fits(page: &Page, holds: &str, value: &Value, place: &str, met: &mut BTreeSet<String>) {
    if let Some(rest) = holds.strip_suffix(", or null") {
        if !value.is_null() {
            fits(page, rest, value, place, met);
        }
        return;
    }
    if let Some(rest) = holds.strip_prefix("list of ") {
        for item in value
            .as_array()
            .unwrap_or_else(|| panic!("{place} is no list"))
        {
            fits(page, rest, item, place, met);
        }
        return;
    }
    if let Some(rest) = holds.strip_prefix("object: ") {
        for item in value
            .as_object()
            .unwrap_or_else(|| panic!("{place} is no object"))
            .values()
        {
            fits(page, rest.trim_end_matches(" by name"), item, place, met);
        }
        return;
    }
    let right = match holds {
        "whole number" => value.is_u64(),
        "number" => value.is_number(),
        "true or false" => value.is_boolean(),
        "text" => value.is_string(),
        _ if holds.starts_with('[') => value.is_array(),
        structure => {
            compare(page, structure.trim_matches('`'), value, place, met);
            true
        }
    };
    assert!(right, "{place} is {value}, and the page says {holds}");
}

fn document(run: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(run.join(name)).unwrap()).unwrap()
}

#[test]
fn every_field_of_a_document_is_in_the_dictionary_with_its_type() {
    let folder = Folder::new("data-documents");
    let page = page(&folder);
    let mut met = BTreeSet::new();
    let lossy = folder.path("lossy");
    let small = [
        "run",
        "incast",
        "--set",
        "switch.buffer=50KB",
        "--out",
        "lossy",
    ];
    let aeolus = ["--set", "transport.kind=homa+aeolus"];
    let output = tidegate(&folder.0, &[small.as_slice(), &aeolus].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for run in runs(&folder).into_iter().chain([lossy]) {
        for (file, root) in [
            ("summary.json", "Summary"),
            ("curves.json", "Curves"),
            ("meta.json", "Meta"),
        ] {
            compare(&page, root, &document(&run, file), file, &mut met);
        }
    }
    // And nothing is described that no run has, but for what only sick runs have.
    let structures = page
        .iter()
        .filter(|(name, _)| name.starts_with(char::is_uppercase));
    let described = structures
        .flat_map(|(name, rows)| rows.iter().map(move |row| format!("{name}.{}", row[0])));
    let unmet: Vec<String> = described.filter(|field| !met.contains(field)).collect();
    let sick = unmet.iter().all(|field| field.starts_with("Stuck."));
    assert!(sick, "{unmet:?}");
    assert!(met.len() > 120, "{}", met.len());
}

/// A star, and messages of 20,000 tags, each with its own figures.
#[cfg(target_os = "linux")]
fn scenarios(folder: &Folder) {
    let base = "[topology]\nkind = \"star\"\n[workload]\nkind = \"permutation\"\nsize = \"3KB\"\n[output]\nevery = \"0s\"\n";
    folder.write("star.toml", base);
    let messages = (0..20_000).map(|n| format!("{},{},1KB,{n}us,t{n}\n", n % 16, (n + 1) % 16));
    folder.write("tags.csv", &messages.collect::<String>());
    folder.write(
        "tags.toml",
        "[topology]\nkind = \"star\"\nhosts = 16\n[workload]\nkind = \"trace\"\npath = \"tags.csv\"\n",
    );
}

/// Beside what `check` says beforehand: memory and packet-hops within 1.5 times, of runs that differ in what takes most of
/// them. What is lost and sent again, and what flows without an end send, is most of the hops of some.
#[cfg(target_os = "linux")]
#[test]
fn a_run_takes_as_much_memory_and_as_many_packet_hops_as_check_says() {
    let folder = Folder::new("memory");
    scenarios(&folder);
    let cases: [&[&str]; 18] = [
        &["tags.toml"],
        &["star.toml", "topology.hosts=20000", "transport.kind=homa"],
        &["star.toml", "topology.hosts=20000", "transport.kind=dctcp"],
        &[
            "star.toml",
            "topology.hosts=256",
            "workload.kind=all-to-all",
        ],
        &[
            "permutation",
            "topology.leaves=32",
            "topology.hosts_per_leaf=32",
        ],
        &["dumbbell", "topology.pairs=20000"],
        &["data-mining", "workload.load=0.2"],
        &["incast-rr"],
        &["incast", "transport.kind=ndp"],
        &["incast", "transport.kind=sird"],
        &["incast", "transport.kind=dcpim"],
        &["incast", "transport.kind=phost"],
        &["incast", "workload.senders=4000", "transport.kind=dctcp"],
        &["long-flows"],
        &["multi-bottleneck", "topology.flows=800"],
        &["parking-lot", "topology.bottlenecks=50"],
        &["web-search", "workload.load=0.01", "workload.messages=400"],
        &[
            "star.toml",
            "topology.hosts=64",
            "workload.kind=all-to-all",
            "workload.size=30KB",
            "transport.kind=ndp",
        ],
    ];
    for case in cases {
        let sets = case[1..].iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = [case[0]].into_iter().chain(sets).collect();
        let said = tidegate(&folder.0, &[&["check", "--json"], &args[..]].concat());
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        let number = |name: &str| {
            let said = said["derived"][name].as_str().unwrap().replace(',', "");
            let number = said.trim_start_matches("about ").trim_end_matches(" MB");
            number.parse::<f64>().unwrap()
        };
        let (said, said_hops) = (number("memory") * 1e6, number("packet-hops"));
        let run = tidegate(
            &folder.0,
            &[&["run", "-q", "--jobs", "1", "--out", "o"], &args[..]].concat(),
        );
        assert!(run.status.success(), "{case:?}: {}", text(&run.stderr));
        let meta = std::fs::read_to_string(folder.path("o/meta.json")).unwrap();
        let meta: Value = serde_json::from_str(&meta).unwrap();
        // A program that is built for tests is larger, by so much.
        let larger = if cfg!(debug_assertions) { 6.5e6 } else { 0.0 };
        let took = meta["memory_kib"].as_u64().unwrap() as f64 * 1024.0 - larger;
        let ratio = said / took;
        let hops = document(&folder.path("o"), "summary.json")["hops"]
            .as_f64()
            .unwrap();
        let ratio_hops = said_hops / hops;
        println!("{case:?}: memory {ratio:.2}, hops {ratio_hops:.2}");
        let near = |ratio| (1.0 / 1.5..=1.5).contains(&ratio);
        assert!(near(ratio), "{case:?}: {said} B said, {took} B taken");
        assert!(
            near(ratio_hops),
            "{case:?}: {said_hops} hops said, {hops} were"
        );
    }
}
