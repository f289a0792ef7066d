//! The pages for those who come from other simulators: what they name is here.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, text, tidegate};

const PAGES: [(&str, &str); 2] = [
    ("hpcc.md", include_str!("../../../docs/migration/hpcc.md")),
    ("htsim.md", include_str!("../../../docs/migration/htsim.md")),
];

/// What a page has in its second column: the words in backticks, with their lines.
fn named(page: &'static str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let cells: Vec<_> = line.split('|').collect();
        let [_, _, here, _, _] = cells[..] else {
            assert!(
                !line.starts_with("| "),
                "line {number} has another number of cells"
            );
            continue;
        };
        found.extend(
            here.split('`')
                .skip(1)
                .step_by(2)
                .map(|word| (number, word)),
        );
    }
    found
}

/// Every file of one small run with everything in it.
fn files_of_a_run(folder: &Folder) -> Vec<String> {
    let scenario =
        "[topology]\nkind = \"star\"\n[workload]\nkind = \"incast\"\n[output]\nhpcc = true\n";
    let file = folder.write("all.toml", scenario);
    let output = tidegate(&folder.0, &["run", &file, "--out", "all"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let files = std::fs::read_dir(folder.path("all")).unwrap();
    files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_key_option_command_and_file_that_a_page_names_exists() {
    let folder = Folder::new("migration");
    let files = files_of_a_run(&folder);
    let help = |command: &[&str]| tidegate(&folder.0, &[command, &["--help"]].concat());
    for (page, content) in PAGES {
        let named = named(content);
        assert!(named.len() > 15, "{page} names {}", named.len());
        for (line, word) in named {
            let place = format!("{page}:{line}: `{word}`");
            if let Some(rest) = word.strip_prefix("tidegate ") {
                let (command, options) = rest.split_once(' ').unwrap_or((rest, ""));
                let output = help(&[command]);
                assert_eq!(output.status.code(), Some(0), "{place}");
                assert!(text(&output.stdout).contains(options), "{place}");
            } else if word.starts_with("--") {
                let options = text(&help(&[]).stdout);
                assert!(options.contains(&format!(" {word}")), "{place}");
            } else if files.iter().any(|file| file == word) {
                // A run writes it.
            } else {
                let (key, value) = word.split_once(" = ").unwrap_or((word, ""));
                let output = tidegate(&folder.0, &["explain", key]);
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                assert_eq!(output.status.code(), Some(0), "{place}: {err}");
                // Words are listed with their quotes; true and false are what a switch takes.
                assert!(out.contains(value), "{place}: {out}");
            }
        }
    }
}

#[test]
fn the_scenario_at_the_top_of_a_page_is_one() {
    let folder = Folder::new("migration-scenario");
    folder.write(
        "topology.txt",
        "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
    );
    folder.write("flow.txt", "1\n0 1 3 100 65536 2.0\n");
    folder.write(
        "fat_tree_1024.topo",
        "Nodes 2\nTiers 2\nPodsize 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 1\nRadix_Up 1\n\
         Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n\
         Downlink_Latency_ns 1000\n",
    );
    folder.write(
        "allreduce.cm",
        "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 20000\n",
    );
    for (page, content) in PAGES {
        let block = content
            .split("```toml\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let file = folder.write("scenario.toml", block);
        let output = tidegate(&folder.0, &["check", &file]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{page}: {}",
            text(&output.stderr)
        );
    }
}
