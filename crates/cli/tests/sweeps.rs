//! Comparisons that are killed, shared out, judged and searched.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Every file under `dir` but those that tell of the machine, with its content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap() != "meta.json" {
                let name = path.strip_prefix(dir).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

const LIMITS: &str = "[thresholds]\nfct.p99 = \"< 9us\"\ndrops.scheduled = \"== 0\"\n";

#[test]
#[allow(clippy::disallowed_methods, reason = "a kill comes after a time")]
fn a_comparison_killed_at_any_moment_ends_as_one_never_killed() {
    let folder = Folder::new("killed");
    folder.write("small.toml", &format!("{SMALL}{LIMITS}"));
    let args = [
        "compare",
        "small.toml",
        "--set",
        "transport.kind=[expresspass,dctcp]",
        "--set",
        "workload.size=200KB..600KB:200KB",
        "--seeds",
        "5",
    ];
    let untouched = tidegate(&folder.0, &args);
    // DCTCP is too slow for the threshold.
    assert_eq!(
        untouched.status.code(),
        Some(1),
        "{}",
        text(&untouched.stderr)
    );
    let whole = files(&folder.path("out"));
    assert!(whole.len() > 30 * 5, "{}", whole.len());
    std::fs::rename(folder.path("out"), folder.path("untouched")).unwrap();

    let mut kills = 0;
    for pause in (1u64..).map(|n| n * n * 3) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .current_dir(&folder.0)
            .args(args)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        let over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        if over {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 3, "killed {kills} times only");
    let resumed = tidegate(&folder.0, &args);
    assert_eq!(text(&resumed.stdout), text(&untouched.stdout));
    assert_eq!(resumed.status.code(), untouched.status.code());
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    let again = files(&folder.path("out"));
    assert_eq!(names(&again), names(&whole));
    for (name, content) in whole {
        assert!(again[&name] == content, "{name} differs");
    }
}

/// What a command says that is interrupted as soon as so many runs have begun in its folder.
#[cfg(unix)]
fn interrupt(folder: &Folder, args: &[&str], out: &str, begun: usize) -> std::process::Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .current_dir(&folder.0)
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let under_way = || {
        let out = std::fs::read_dir(folder.path(out)).into_iter().flatten();
        out.flatten().filter(|dir| dir.path().is_dir()).count() >= begun
    };
    while !under_way() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    output
}

#[cfg(unix)]
#[test]
fn advice_and_a_search_that_are_interrupted_say_so_and_how_to_go_on() {
    let folder = Folder::new("cut");
    let star = "[topology]\nkind = \"star\"\nhosts = 9\n[workload]\n";
    folder.write(
        "never.toml",
        &format!("{star}kind = \"permutation\"\nsize = \"4GB\"\n"),
    );
    let random = "kind = \"random\"\nsizes = \"web-search\"\nload = 0.5\nmessages = 100000\n";
    folder.write("long.toml", &format!("{star}{random}"));
    let advice = interrupt(&folder, &["advise", "never.toml", "--out", "a"], "a", 1);
    let said = text(&advice.stderr);
    assert!(said.contains("the same command goes on"), "{said}");
    let args = ["compare", "long.toml", "--find-max-load", "--out", "b"];
    let search = interrupt(&folder, &args, "b", 1);
    let said = text(&search.stderr);
    let command = "goes on from there: tidegate compare long.toml --find-max-load --out b\n";
    assert!(said.contains(command), "{said}");
    assert!(
        said.contains(" it: the highest load lies from 0.00 to below 1.00\n"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_comparison_says_what_is_missing_and_how_to_go_on() {
    let folder = Folder::new("stopped");
    let long = "[topology]\nkind = \"star\"\nhosts = 9\n[workload]\nkind = \"permutation\"\nsize = \"20KB\"\n";
    folder.write("long.toml", long);
    let sizes = "workload.size=[20KB,4GB,5GB]";
    let args = [
        "compare",
        "long.toml",
        "--set",
        sizes,
        "--jobs",
        "1",
        "--out",
        "my runs",
        "--shard",
        "1/1",
    ];
    // The first run is whole once its last file is there; the second never ends by itself.
    let output = interrupt(&folder, &args, "my runs", 2);
    let said = text(&output.stderr);
    assert!(said.contains("interrupted: 1 of 3 runs are done"), "{said}");
    assert!(
        said.contains("goes on from there: tidegate compare long.toml"),
        "{said}"
    );
    assert!(
        said.contains(" --shard 1/1 --out 'my runs'\n"),
        "its folder has the runs that are done: {said}"
    );
}

#[test]
fn shards_together_do_what_one_comparison_does() {
    let folder = Folder::new("shards");
    folder.write("small.toml", SMALL);
    let args = ["compare", "small.toml", "--seeds", "5", "--out"];
    let run = |out: &str, more: &[&str]| tidegate(&folder.0, &[&args[..], &[out], more].concat());
    let whole = run("whole", &[]);
    assert!(
        text(&whole.stdout).contains("95% bootstrap interval"),
        "{}",
        text(&whole.stdout)
    );
    for part in ["1/2", "2/2"] {
        let output = run("parts", &["--shard", part]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stdout).contains("report:"));
    }
    assert_eq!(
        files(&folder.path("parts")).len() + 1,
        files(&folder.path("whole")).len()
    );
    // Nothing is left to run: a thread of it would have nowhere to write.
    let made = |name: &str| {
        let dirs = std::fs::read_dir(folder.path(name)).unwrap();
        let dirs = dirs.map(|entry| entry.unwrap().path().join("meta.json"));
        let times = dirs.filter_map(|meta| std::fs::metadata(meta).ok()?.modified().ok());
        times.collect::<std::collections::BTreeSet<_>>()
    };
    let before = made("parts");
    run("parts", &[]);
    assert_eq!(made("parts"), before);
    assert!(files(&folder.path("parts")) == files(&folder.path("whole")));
    assert_eq!(run("x", &["--shard", "3/2"]).status.code(), Some(2));
}

#[test]
fn a_changed_input_file_is_run_again() {
    let folder = Folder::new("input");
    let file = folder.write(
        "list.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"trace\"\npath = \"list.csv\"\n",
    );
    let bytes = |size: &str| {
        folder.write("list.csv", &format!("0,1,{size},0us\n"));
        let output = tidegate(&folder.0, &["compare", &file, "--json"]);
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let summary = &said["runs"][0]["summary"];
        summary["messages"]["bytes"].as_u64().unwrap()
    };
    assert_eq!((bytes("10KB"), bytes("20KB")), (10_000, 20_000));
}

#[test]
fn a_run_with_a_damaged_file_is_made_again() {
    let folder = Folder::new("damaged");
    folder.write("small.toml", SMALL);
    let args = ["compare", "small.toml", "--seeds", "2", "--out", "o"];
    let first = tidegate(&folder.0, &args);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let whole = files(&folder.path("o"));
    let is_table = |path: &&String| path.contains("/flows.");
    let tables: Vec<&String> = whole.keys().filter(is_table).collect();
    assert!(tables.len() >= 2, "{:?}", whole.keys());
    for table in &tables {
        let path = folder.path("o").join(table);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let again = tidegate(&folder.0, &args);
        let said = text(&again.stderr);
        let length = format!(
            "has {} bytes, and its run wrote {}",
            bytes.len() / 2,
            bytes.len()
        );
        assert!(
            said.contains(&length) && said.contains("made again"),
            "{said}"
        );
        assert_eq!(said.matches("made again").count(), 1, "{said}");
        assert!(files(&folder.path("o")) == whole, "{table}");
    }
    std::fs::remove_file(folder.path("o").join(tables[0])).unwrap();
    let missing = tidegate(&folder.0, &args);
    let said = text(&missing.stderr);
    assert!(
        said.contains("is missing: this run is made again"),
        "{said}"
    );
    assert!(text(&tidegate(&folder.0, &args).stderr).is_empty());
}

#[test]
fn thresholds_of_a_comparison_are_lines_and_junit() {
    let folder = Folder::new("verdicts");
    folder.write("small.toml", &format!("{SMALL}{LIMITS}"));
    let args = ["compare", "small.toml", "--seeds", "2", "--set"];
    let run = |limit: &str| {
        let set = format!("thresholds.fct.p99={limit}");
        tidegate(
            &folder.0,
            &[&args[..], &[&set, "--junit", "junit.xml"]].concat(),
        )
    };
    let missed = run("< 1ns");
    assert_eq!(missed.status.code(), Some(1), "{}", text(&missed.stderr));
    let out = text(&missed.stdout);
    assert!(out.contains("✗ 2 of 4 thresholds hold"), "{out}");
    assert!(
        out.contains("✗ expresspass seed 2: fct.p99 < 1ns   measured"),
        "{out}"
    );
    let xml = std::fs::read_to_string(folder.path("junit.xml")).unwrap();
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    // From the folders that are there: the same verdicts.
    assert_eq!(run("< 1ns").status.code(), Some(1));
    assert_eq!(run("< 1s").status.code(), Some(0));
}

#[test]
fn the_highest_load_lies_between_one_that_holds_and_one_that_does_not() {
    let folder = Folder::new("load");
    folder.write(
        "load.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"random\"\nsizes = \"web-server\"\nmessages = 400\n[thresholds]\nslowdown.p99 = \"< 12\"\n",
    );
    let args = [
        "compare",
        "load.toml",
        "--find-max-load",
        "--seeds",
        "2",
        "--set",
    ];
    let set = "transport.kind=[expresspass,dctcp]";
    let output = tidegate(&folder.0, &[&args[..], &[set]].concat());
    let out = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{out}{}",
        text(&output.stderr)
    );
    let line = out
        .lines()
        .find(|line| line.contains("transport.kind=dctcp sustains"))
        .unwrap();
    let number = |after: &str| -> u32 {
        let rest = &line[line.find(after).unwrap() + after.len()..];
        rest[..2].parse().unwrap()
    };
    let (good, bad) = (number("sustains load 0."), number("; at 0."));
    assert_eq!(bad, good + 1, "{line}");
    assert!(
        out.contains("report:") && out.contains(&format!("0.{good}")),
        "{out}"
    );
    // The neighbours, run on their own, agree.
    for (load, code) in [(good, 0), (bad, 1)] {
        let load = format!("workload.load=0.{load:02}");
        let args = ["compare", "load.toml", "--seeds", "2", "--set"];
        let kind = "transport.kind=dctcp";
        let output = tidegate(&folder.0, &[&args[..], &[kind, "--set", &load]].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line} {}",
            text(&output.stdout)
        );
    }
    let refused = tidegate(&folder.0, &[&args[..], &["workload.load=0.5"]].concat());
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_search_for_the_highest_load_is_one_document_though_nothing_is_sustained() {
    let folder = Folder::new("no-load");
    folder.write(
        "load.toml",
        "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"random\"\nsizes = \"web-server\"\nmessages = 20\n",
    );
    let found = |sets: &[&str]| -> serde_json::Value {
        let words = sets.iter().flat_map(|set| ["--set", set]);
        let args = ["compare", "load.toml", "--find-max-load", "--json"];
        let args: Vec<&str> = args.into_iter().chain(words).collect();
        let output = tidegate(&folder.0, &args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let none = found(&["thresholds.fct.p99=< 1ns"]);
    let row = &none["loads"][0];
    assert!(row["sustained"].is_null(), "{none:#}");
    assert_eq!(row["failed"]["load"], 0.01);
    let why = row["failed"]["why"].as_str().unwrap();
    assert!(why.contains("fct.p99 < 1ns is missed with"), "{why}");
    assert_eq!(none["runs"], serde_json::json!([]));
    // Other keys begin with the same letters.
    let all = found(&["workload.load_with_headers=false"]);
    assert!(
        all["loads"][0]["sustained"].as_f64().unwrap() > 0.0,
        "{all:#}"
    );
    assert_eq!(all["loads"].as_array().unwrap().len(), 1);
}

const CASES: &str = r#"
[topology]
kind = "star"
hosts = 9
[workload]
kind = "random"
sizes = "web-server"
messages = 40
load = 0.3
[[compare]]
of = "traffic"
name = "few"
set = ["workload.messages=30"]
[[compare]]
of = "traffic"
name = "cut"
set = ["workload.sizes=web-search", "workload.largest=50KB"]
[[compare]]
of = "transport"
name = "xp"
set = ["transport.kind=expresspass"]
[[compare]]
of = "transport"
name = "tcp"
set = ["transport.kind=dctcp"]
"#;

#[test]
fn every_case_of_one_kind_meets_every_case_of_the_others() {
    let folder = Folder::new("cases");
    let file = folder.write("cases.toml", CASES);
    let run = |args: &[&str]| {
        let output = tidegate(&folder.0, &[&["compare", &file, "--json"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        said
    };
    let said = run(&[]);
    let rows: Vec<_> = said["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["summary"])
        .collect();
    let told: Vec<_> = rows
        .iter()
        .map(|run| {
            let traffic = run["settings"]
                .as_array()
                .unwrap()
                .iter()
                .find(|s| s[0] == "traffic");
            (
                traffic.unwrap()[1].as_str().unwrap(),
                run["transport"].as_str().unwrap(),
                run["messages"]["total"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("few", "expresspass", Some(30)),
            ("few", "dctcp", Some(30)),
            ("cut", "expresspass", Some(40)),
            ("cut", "dctcp", Some(40)),
        ]
    );
    // Transports get the same messages, and another traffic is another list.
    let hash = |row: usize| rows[row]["messages_hash"].as_str().unwrap();
    assert!(hash(0) == hash(1) && hash(2) == hash(3) && hash(0) != hash(2));
    let title = rows[2]["title"].as_str().unwrap();
    assert!(title.starts_with("web-search cut at 50 KB"), "{title}");
    let page = folder.path(said["report"].as_str().unwrap());
    let page = std::fs::read_to_string(page).unwrap();
    for place in ["at traffic few", "at traffic cut"] {
        assert!(page.contains(place), "{place}");
    }
    let said = run(&["--case", "cut", "--set", "workload.load=[0.2,0.4]"]);
    assert_eq!(said["runs"].as_array().unwrap().len(), 4);
    // A plain run leaves the cases alone, and they are no part of what it resolves to.
    let output = tidegate(&folder.0, &["check", &file, "--verbose"]);
    let told = text(&output.stderr);
    assert!(
        told.contains("messages = 40") && !told.contains("compare"),
        "{told}"
    );
}

#[test]
fn cases_that_cannot_be_are_refused_with_the_place() {
    let folder = Folder::new("cases-wrong");
    let file = folder.write("cases.toml", CASES);
    let refused = |args: &[&str], part: &str| {
        let output = tidegate(&folder.0, args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{part}: {said}");
    };
    refused(&["compare", &file, "--case", "cuts"], "did you mean cut?");
    refused(
        &["compare", &file, "--case", "zzzzzz"],
        "cases are few, cut, xp, tcp",
    );
    refused(
        &["compare", "incast", "--case", "few"],
        "incast has no [[compare]]",
    );
    refused(
        &["compare", &file, "--set", "transport.kind=homa"],
        "the transport tcp is another's again",
    );
    for (from, to, part) in [
        (
            "name = \"cut\"",
            "name = \"few\"",
            "two cases of \"traffic\" are named \"few\"",
        ),
        ("\"workload.messages=30\"", "\"messages\"", "no setting"),
        ("\"workload.messages=30\"", "\"compare.of=x\"", "no setting"),
        (
            "\"workload.messages=30\"",
            "\"workload.messages=30\", \"workload.messages=40\"",
            "this case sets it twice",
        ),
        (
            "\"workload.messages=30\"",
            "\"workload.messages=30\", \"workload.0.messages=40\"",
            "this case sets it twice",
        ),
        (
            "\"workload.messages=30\"",
            "\"workload.messages=30\", \"transport.kind=homa\"",
            "cases of \"traffic\" set it, too",
        ),
        ("name = \"cut\"\n", "", "compare.name"),
        (
            "workload.largest=50KB",
            "workload.largest=0B",
            "workload.largest",
        ),
    ] {
        let wrong = folder.write("wrong.toml", &CASES.replacen(from, to, 1));
        refused(&["compare", &wrong], part);
    }
}

#[test]
fn a_run_of_other_settings_in_the_folder_of_one_is_not_taken_for_it() {
    let folder = Folder::new("stranger");
    folder.write("small.toml", SMALL);
    let compare = || {
        let args = [
            "compare",
            "small.toml",
            "--set",
            "workload.size=[20KB,30KB]",
            "--json",
        ];
        let output = tidegate(&folder.0, &args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = said["runs"].as_array().unwrap().iter();
        let of = |run: &serde_json::Value| {
            let bytes = run["summary"]["messages"]["bytes"].as_u64().unwrap();
            (run["dir"].as_str().unwrap().to_owned(), bytes)
        };
        runs.map(of).collect::<Vec<_>>()
    };
    let first = compare();
    let args = ["run", "small.toml", "--set", "workload.size=70KB", "--out"];
    let other = tidegate(&folder.0, &[&args[..], &[&first[1].0]].concat());
    assert_eq!(other.status.code(), Some(0), "{}", text(&other.stderr));
    assert_eq!(compare(), first);
}
