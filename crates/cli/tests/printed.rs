//! What is printed and what is not: names that turn a line, arguments without end, lines of files that nobody meant, pages
//! of more tags than anybody reads, and warnings and words that help.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use serde_json::Value;
use std::fmt::Write as _;

fn wrong(folder: &Folder, args: &[&str]) -> String {
    let output = tidegate(&folder.0, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    text(&output.stderr)
}

#[test]
fn a_file_that_is_no_topology_and_no_trace_keeps_its_lines_to_itself() {
    let folder = Folder::new("printed-lines");
    folder.write("secret", "root:x:0:0:root\nalice:hunter2\n");
    let fabric = "[topology]\nkind = \"file\"\npath = \"secret\"\n[workload]\nkind = \"permutation\"\nsize = \"3KB\"\n";
    let trace =
        "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"trace\"\npath = \"secret\"\n";
    for scenario in [fabric, trace] {
        folder.write("s.toml", scenario);
        let said = wrong(&folder, &["check", "s.toml"]);
        assert!(said.contains("secret:1:1"), "{said}");
        assert!(
            !said.contains("root:x") && !said.contains("hunter"),
            "{said}"
        );
    }
    // In a file that begins as it should, the line helps.
    folder.write("secret", "src,dst,size,start\n0,1,1KB,1us\n0,1,one,1us\n");
    assert!(wrong(&folder, &["check", "s.toml"]).contains("3 | 0,1,one,1us"));
}

#[test]
fn arguments_without_end_are_cut() {
    let folder = Folder::new("printed-long");
    let long = "y".repeat(20_000);
    let set = format!("{long}=1");
    for args in [
        vec!["check", long.as_str()],
        vec![long.as_str()],
        vec!["run", "incast", "--jobs", long.as_str()],
        vec!["check", "incast", "--set", set.as_str()],
    ] {
        let said = wrong(&folder, &args);
        assert!(said.len() < 3_000, "{} B of {}", said.len(), args[0].len());
        assert!(said.contains(" ... "), "{said}");
    }
}

#[test]
fn names_that_turn_a_line_are_refused_or_told_by_their_numbers() {
    let folder = Folder::new("printed-turned");
    let raw = |said: &str| said.chars().any(|c| c != '\n' && units::text::is_unseen(c));
    let title = "title = \"a\u{202e}b\"\n";
    folder.write("s.toml", &format!("{title}{SMALL}"));
    let said = wrong(&folder, &["check", "s.toml"]);
    assert!(said.contains("U+202E") && !raw(&said), "{said:?}");
    let said = wrong(&folder, &["check", "no\u{202e}thing"]);
    assert!(said.contains("no\\u202ething") && !raw(&said), "{said:?}");
    folder.write("t.csv", "src,dst,size,start,tag\n0,1,1KB,1us,a\u{2066}b\n");
    folder.write(
        "t.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"trace\"\npath = \"t.csv\"\n",
    );
    let said = wrong(&folder, &["check", "t.toml"]);
    assert!(said.contains("is no tag") && !raw(&said), "{said:?}");
}

#[test]
fn a_queue_bound_beyond_the_buffer_is_a_warning() {
    let folder = Folder::new("printed-bound");
    let said = |buffer: &str| {
        let set = format!("switch.buffer={buffer}");
        let args = [
            "check",
            "incast",
            "--set",
            "topology.host_rate=10Gbps",
            "--set",
            &set,
        ];
        text(&tidegate(&folder.0, &args).stdout)
    };
    assert!(said("20KB").contains("warning: credited data may need 167 KB at tor"));
    assert!(!said("250KB").contains("credited data may need"));
}

#[test]
fn check_builds_the_cases_of_a_comparison() {
    let folder = Folder::new("printed-cases");
    let case = "[[compare]]\nof = \"size\"\nname = \"far\"\nset = [\"topology.hosts=8\"]\n[[compare]]\nof = \"size\"\nname = \"near\"\nset = [\"topology.hosts=16\"]\n";
    let base = "[topology]\nkind = \"star\"\nhosts = 16\n[workload]\nkind = \"incast\"\nsenders = 4\nreceiver = 9\nsize = \"3KB\"\n";
    folder.write("s.toml", &format!("{base}{case}"));
    let said = wrong(&folder, &["check", "s.toml"]);
    assert!(said.contains("in a case of [[compare]]"), "{said}");
    folder.write(
        "s.toml",
        &format!("{base}{}", case.replace("hosts=8", "hosts=32")),
    );
    let output = tidegate(&folder.0, &["check", "s.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_page_of_very_many_tags_has_rows_of_the_slowest() {
    let folder = Folder::new("printed-tags");
    let mut trace = "src,dst,size,start,tag\n".to_owned();
    for i in 0..3_000 {
        let _ = writeln!(trace, "{},15,1KB,{}us,t{i}", i % 15, i / 5);
    }
    folder.write("t.csv", &trace);
    folder.write(
        "t.toml",
        "[topology]\nkind = \"star\"\nhosts = 16\n[workload]\nkind = \"trace\"\npath = \"t.csv\"\n",
    );
    let output = tidegate(&folder.0, &["run", "t.toml", "-q", "--out", "o"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(folder.path("o/report.html")).unwrap();
    assert!(page.contains("The other 2,000 are in summary.json."));
    let rows = page.matches("<td>tag t").count();
    assert!(
        rows <= 2_000 && page.len() < 4_000_000,
        "{rows} rows, {} B",
        page.len()
    );
    let summary = std::fs::read_to_string(folder.path("o/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["tags"].as_array().unwrap().len(), 3_000);
}

#[test]
fn the_schema_knows_what_thresholds_are_about() {
    let folder = Folder::new("printed-schema");
    let schema: Value = serde_json::from_slice(&tidegate(&folder.0, &["schema"]).stdout).unwrap();
    let thresholds = &schema["properties"]["thresholds"];
    assert_eq!(thresholds["additionalProperties"], false);
    let known = &thresholds["properties"];
    assert_eq!(known["fct.p99"]["type"], "string");
    assert_eq!(known["fct"]["properties"]["p99"]["type"], "string");
    assert_eq!(
        known["fct"]["properties"]["s"]["properties"]["p99"]["type"],
        "string"
    );
    assert!(known["fct"]["properties"].get("p98").is_none());
}

#[test]
fn threads_alone_make_no_winner() {
    let folder = Folder::new("printed-threads");
    folder.write("small.toml", SMALL);
    let args = [
        "compare",
        "small.toml",
        "--set",
        "run.threads=[1,2]",
        "--out",
        "o",
    ];
    let said = text(&tidegate(&folder.0, &args).stdout);
    assert!(
        said.contains("No result depends on the number of threads"),
        "{said}"
    );
    assert!(!said.contains("At threads"), "{said}");
}
