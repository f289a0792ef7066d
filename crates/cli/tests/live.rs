//! A report that can be run again, and scenarios as JSON, from the command line.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use serde_json::{Value, json};

/// What a page brings along.
fn given(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"given\">").unwrap();
    let (given, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(given).unwrap()
}

/// The fingerprint that the page's engine finds for it.
fn again(given: &Value) -> Value {
    let mut request = given.clone();
    request["ask"] = json!("run");
    let answer = web::Engine::default().answer(&request.to_string(), &mut scenario::Alone);
    serde_json::from_str::<Value>(&answer).unwrap()["fingerprint"].clone()
}

#[test]
fn a_live_report_carries_everything_that_its_run_read() {
    let folder = Folder::new("live");
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/rate.toml", "host_rate = \"25Gbps\"\n");
    folder.write(
        "in/list.csv",
        "src,dst,size,start\n0,1,90KB,0us\n2,1,90KB,0us\n",
    );
    let own = "[topology]\nkind = \"star\"\nhosts = 4\ninclude = \"rate.toml\"\n[[workload]]\nkind = \
               \"trace\"\npath = \"list.csv\"\n";
    folder.write("in/mine.toml", own);
    let args = ["run", "in/mine.toml", "--live", "--seed", "3", "--out", "o"];
    let output = tidegate(&folder.0, &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("o/live.html"),
        "{}",
        text(&output.stdout)
    );
    let page = std::fs::read_to_string(folder.path("o/live.html")).unwrap();
    let given = given(&page);
    assert_eq!(given["text"], own);
    assert_eq!(given["sets"], json!(["run.seed=3"]));
    let files: Vec<&String> = given["files"].as_object().unwrap().keys().collect();
    assert_eq!(files, ["in/list.csv", "in/rate.toml"]);
    let summary = std::fs::read_to_string(folder.path("o/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(given["told"]["fingerprint"], summary["fingerprint"]);
    assert_eq!(again(&given), summary["fingerprint"]);
    // The report in it is the one beside it.
    let report = std::fs::read_to_string(folder.path("o/report.html")).unwrap();
    assert_eq!(given["told"]["report"], report);
    // The next run there without --live leaves no page of another run.
    let output = tidegate(&folder.0, &["run", "in/mine.toml", "--out", "o"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!folder.path("o/live.html").exists());
    assert!(!text(&output.stdout).contains("live.html"));
}

#[test]
fn a_live_report_of_a_built_in_scenario_names_it() {
    let folder = Folder::new("live-built-in");
    let set = "workload.senders=5";
    let args = [
        "run", "incast", "--live", "--set", set, "--out", "o", "--quiet",
    ];
    let output = tidegate(&folder.0, &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(folder.path("o/live.html")).unwrap();
    let given = given(&page);
    assert_eq!(
        (&given["text"], &given["name"]),
        (&json!(null), &json!("incast"))
    );
    assert_eq!(given["files"], json!({}));
    assert_eq!(again(&given), given["told"]["fingerprint"]);
}

#[test]
fn a_program_with_an_engine_of_other_sources_says_so() {
    // What is to be said follows from the two hashes; which of the cases holds here depends on the tree.
    let folder = Folder::new("live-stale");
    let file = folder.write("small.toml", SMALL);
    let output = tidegate(&folder.0, &["run", &file, "--live", "--out", "o"]);
    assert_eq!(output.status.code(), Some(0));
    let made: Value = serde_json::from_str(web::MADE_OF).unwrap();
    let said = text(&output.stderr);
    let other = made["sources"] != web::SOURCES;
    assert_eq!(said.contains("is of other sources"), other, "{said}");
    assert_eq!(said.contains("./tg web"), other, "{said}");
    // Only who asks for the page hears of its engine.
    let output = tidegate(&folder.0, &["run", &file, "--out", "o"]);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_scenario_in_json_is_the_scenario_in_toml() {
    let folder = Folder::new("json");
    let toml = folder.write("small.toml", SMALL);
    let table: toml::Table = SMALL.parse().unwrap();
    let mut document = serde_json::to_value(&table).unwrap();
    document["$schema"] = json!("tidegate.schema.json");
    let json = folder.write("small.json", &format!("{document:#}"));
    let print = |file: &str| {
        let output = tidegate(
            &folder.0,
            &["fingerprint", file, "--set", "workload.senders=3"],
        );
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(print(&json), print(&toml));
    document["workload"]["sise"] = json!("9KB");
    let wrong = folder.write("wrong.json", &format!("{document:#}"));
    let output = tidegate(&folder.0, &["check", &wrong]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("wrong.json:10:") && said.contains("did you mean"),
        "{said}"
    );
    let misnamed = folder.write("small.txt", &document.to_string());
    let output = tidegate(&folder.0, &["check", &misnamed]);
    let said = text(&output.stderr);
    assert!(said.contains("files that end in .json"), "{said}");
}

#[test]
fn the_playground_warns_of_an_engine_of_other_sources() {
    let folder = Folder::new("playground-stale");
    let output = tidegate(&folder.0, &["playground", "--out", "page.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let warned = text(&output.stderr).contains("the engine for pages is of other sources");
    assert_eq!(warned, web::stale().is_some());
}
