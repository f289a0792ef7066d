//! The commands as a user calls them: what they print, what they write, how they end.
//! `run` comes first, with its exit codes; then `compare`, dry runs and files of one's own; `list` and `explain`; what is refused;
//! JSON of every command; interrupts; last `why`, `trace`, and bad files.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use std::process::Command;

#[test]
fn a_run_prints_a_table_and_writes_its_folder() {
    let folder = Folder::new("run");
    let output = tidegate(&folder.0, &["run", "incast", "--set", "workload.size=10KB"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{out}");
    let first = out.lines().next().unwrap();
    assert!(
        first
            .starts_with(" incast  64 -> 1, 10 KB each, 100 Gb/s, leaf-spine, 8 leaves x 16 hosts"),
        "{first}"
    );
    assert!(first.contains("seed 1   fingerprint "), "{first}");
    assert!(
        out.contains(" expresspass ") && out.contains("report.html    data: out/incast-"),
        "{out}"
    );
    assert!(out.ends_with("/*.parquet\n"), "{out}");
    let dir = std::fs::read_dir(folder.path("out"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for file in [
        "resolved.toml",
        "summary.json",
        "flows.csv",
        "ports.csv",
        "flows.parquet",
        "series.parquet",
        "report.html",
        "curves.json",
        "meta.json",
    ] {
        assert!(dir.join(file).is_file(), "{file}");
    }
}

#[test]
fn the_resolved_scenario_repeats_the_run_byte_for_byte() {
    let folder = Folder::new("repeat");
    let file = folder.write("small.toml", SMALL);
    let sets = ["--set", "topology.host_rate=40Gbps", "--seed", "7"];
    let first = tidegate(
        &folder.0,
        &[&["run", &file, "--out", "a", "--threads", "2"][..], &sets].concat(),
    );
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let resolved = folder.path("a/resolved.toml").display().to_string();
    let again = tidegate(
        &folder.0,
        &["run", &resolved, "--out", "b", "--set", "name=small"],
    );
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    for name in ["flows.csv", "ports.csv", "series.csv", "resolved.toml"] {
        let read = |dir: &str| std::fs::read(folder.path(dir).join(name)).unwrap();
        assert_eq!(read("a"), read("b"), "{name}");
    }
    let fingerprint = |args: &[&str]| text(&tidegate(&folder.0, args).stdout);
    let print = fingerprint(&[&["fingerprint", &file][..], &sets].concat());
    assert_eq!(print, fingerprint(&["fingerprint", &resolved]));
    assert_ne!(print, fingerprint(&["fingerprint", &file]));
    assert_eq!(print.trim().len(), 16);
}

#[test]
fn what_is_wrong_is_shown_where_it_stands_and_nothing_is_written() {
    let folder = Folder::new("wrong");
    let file = folder.write("wrong.toml", &SMALL.replace("\"20KB\"", "20_000"));
    let output = tidegate(&folder.0, &["run", &file]);
    let err = text(&output.stderr);
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(2), "")
    );
    assert!(
        err.contains("wrong.toml:7:8") && err.contains("bare number"),
        "{err}"
    );
    assert!(
        !err.contains('\x1b') && !folder.path("out").exists(),
        "{err}"
    );
    let output = tidegate(&folder.0, &["run", "incats"]);
    assert!(text(&output.stderr).contains("did you mean \"incast\"?"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        tidegate(&folder.0, &["no-such-command"]).status.code(),
        Some(2)
    );
}

#[test]
fn a_failed_threshold_is_the_exit_code() {
    let folder = Folder::new("threshold");
    let file = folder.write(
        "t.toml",
        &format!("{SMALL}[thresholds]\nfct.p99 = \"< 1ns\"\ndrops.scheduled = \"== 0\"\n"),
    );
    let output = tidegate(&folder.0, &["run", &file, "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let passed = |key: &str| {
        let list = said["thresholds"].as_array().unwrap();
        list.iter().find(|t| t["key"] == key).unwrap()["passed"]
            .as_bool()
            .unwrap()
    };
    assert!(!passed("fct.p99") && passed("drops.scheduled"), "{said:#}");
    assert_eq!(
        (
            said["exit_code"].as_i64(),
            said["summary"]["status"].as_str()
        ),
        (Some(1), Some("complete"))
    );
}

#[test]
fn a_deadlock_at_the_end_is_no_success_where_the_scenario_ends_the_run() {
    let folder = Folder::new("deadlock");
    let ring = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/tests/ring.toml");
    let of = |control: &str| {
        let control = format!("switch.flow_control={control}");
        let sets = [
            "transport.kind=none",
            "run.until=20ms",
            "switch.shared_buffer=300KB",
            &control,
        ];
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["run", ring].into_iter().chain(sets).collect();
        let output = tidegate(&folder.0, &args);
        (output.status.code(), text(&output.stdout))
    };
    let (code, said) = of("pfc");
    assert!(said.contains("warning: deadlock: "), "{said}");
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(of("ideal").0, Some(0));
}

#[test]
fn flows_that_never_finish_break_the_run() {
    let folder = Folder::new("stuck");
    let text_of =
        format!("{SMALL}[[faults]]\nkind = \"loss\"\nlink = \"h1 -> tor0\"\nchance = 1.0\n");
    let file = folder.write("stuck.toml", &text_of);
    let output = tidegate(&folder.0, &["run", &file]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    // It asks again and again, and nothing has come of that.
    assert!(
        said.contains("1 of 4 messages were not finished at 10s"),
        "{said}"
    );
    assert!(
        said.contains("more time would hardly help") && !said.contains("--set run.until"),
        "{said}"
    );
    // Where hosts are as patient as the run is long, it says how they would give up; and so they do.
    let homa = ["run", &file, "--set", "transport.kind=homa"];
    let words = |output: &std::process::Output| {
        let said = text(&output.stdout);
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = words(&tidegate(&folder.0, &homa));
    let told = "Hosts give a silent peer up after 10s, no sooner than the run ends: with --set transport.homa.timeout=100ms they would have";
    assert!(said.contains(told), "{said}");
    let set = ["--set", "transport.homa.timeout=100ms"];
    let said = words(&tidegate(&folder.0, &[&homa[..], &set].concat()));
    assert!(
        said.contains("1 of 4 messages were refused or given up"),
        "{said}"
    );
    assert!(
        said.contains("h1, connection") && said.contains("waits for"),
        "{said}"
    );
    let output = tidegate(&folder.0, &["run", &file, "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let summary = &document["summary"];
    assert_eq!(summary["status"], "unfinished");
    assert_eq!(summary["stuck"][0]["host"], 1, "{}", summary["stuck"]);
    // DCTCP gives up some day, and no time helps then.
    let given_up = ["--set", "transport.kind=dctcp", "--set", "run.until=5000s"];
    let output = tidegate(&folder.0, &[&["run", &file][..], &given_up].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("1 of 4 messages can never finish"), "{said}");
    assert!(
        said.contains("h1, connection") && said.contains("refused at"),
        "{said}"
    );
    // A run that its scenario ends may leave messages unfinished.
    let output = tidegate(&folder.0, &["run", &file, "--set", "run.until=1ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn a_comparison_multiplies_settings_and_seeds_and_resumes() {
    let folder = Folder::new("compare");
    let file = folder.write("small.toml", SMALL);
    let args = [
        "compare",
        &file,
        "--set",
        "transport.kind=[expresspass,dctcp]",
        "--seeds",
        "2",
        "--json",
    ];
    let output = tidegate(&folder.0, &args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let file = |name: &serde_json::Value| folder.path(name.as_str().unwrap());
    assert!(file(&said["report"]).is_file(), "{said:#}");
    let runs: Vec<_> = said["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            assert!(file(&run["dir"]).join("flows.parquet").is_file());
            (
                run["summary"]["transport"].as_str().unwrap(),
                run["summary"]["seed"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        runs,
        [
            ("expresspass", 1),
            ("expresspass", 2),
            ("dctcp", 1),
            ("dctcp", 2)
        ]
    );
    // What is there is not run again: what somebody wrote into meta.json stays. A summary that was edited is not there.
    let mut out = std::fs::read_dir(folder.path("out")).unwrap();
    let run = out.find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()));
    let file = |name: &str| run.clone().unwrap().join(name);
    let meta = || std::fs::read_to_string(file("meta.json")).unwrap();
    for (edited, stays) in [("meta.json", true), ("summary.json", false)] {
        let marked = meta().replace("\"host\": \"", "\"host\": \"hand ");
        std::fs::write(file("meta.json"), marked).unwrap();
        let text = std::fs::read_to_string(file(edited)).unwrap();
        std::fs::write(file(edited), text.replace("\"complete\"", "\"Complete\"")).unwrap();
        tidegate(&folder.0, &args);
        assert_eq!(meta().contains("hand "), stays, "{edited}");
        tidegate(&folder.0, &[&args[..], &["--again"]].concat());
        assert!(!meta().contains("hand "));
    }
}

#[test]
fn a_dry_run_says_what_would_happen_and_writes_nothing() {
    let folder = Folder::new("dry");
    let file = folder.write("small.toml", SMALL);
    let output = tidegate(&folder.0, &["run", &file, "--dry-run"]);
    assert!(
        text(&output.stdout).contains("would write out/small-"),
        "{}",
        text(&output.stdout)
    );
    let output = tidegate(
        &folder.0,
        &[
            "compare",
            &file,
            "--set",
            "workload.senders=1..3",
            "--dry-run",
        ],
    );
    assert_eq!(
        text(&output.stdout).lines().count(),
        3,
        "{}",
        text(&output.stdout)
    );
    assert!(!folder.path("out").exists());
}

#[test]
fn a_new_file_runs_as_it_is_and_is_never_overwritten() {
    let folder = Folder::new("new");
    let output = tidegate(&folder.0, &["new", "my.toml", "--from", "permutation"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = std::fs::read_to_string(folder.0.join("my.toml")).unwrap();
    let schema = written
        .lines()
        .next()
        .unwrap()
        .strip_prefix("#:schema ./")
        .unwrap();
    let schema = std::fs::read_to_string(folder.0.join(schema)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(
        schema["title"], "tidegate scenario",
        "the line names a file that is there"
    );
    assert_eq!(
        tidegate(&folder.0, &["check", "my.toml"]).status.code(),
        Some(0)
    );
    let again = tidegate(&folder.0, &["new", "my.toml"]);
    assert_eq!(again.status.code(), Some(4));
    let said = text(&again.stderr);
    assert!(
        said.starts_with("error: cannot write my.toml: ") && said.contains("another file"),
        "{said}"
    );
    assert_eq!(
        tidegate(&folder.0, &["new", "x.toml", "--from", "nothing"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn a_trace_and_a_fabric_of_ones_own_run_by_the_names_of_their_hosts() {
    let folder = Folder::new("new-trace");
    let output = tidegate(&folder.0, &["new", "my.toml", "--from", "trace"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let check = text(&tidegate(&folder.0, &["check", "my.toml"]).stdout);
    assert!(
        check.contains("0 gpu0, 1 gpu1,") && check.contains("7 store"),
        "{check}"
    );
    let run = tidegate(&folder.0, &["run", "my.toml", "--out", "o"]);
    let shown = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(shown.contains("by tag: checkpoint (4)"), "{shown}");
    assert!(
        shown.contains(" -> store, ") && !shown.contains("h7"),
        "{shown}"
    );
    let why = text(&tidegate(&folder.0, &["why", "o", "--flow", "0"]).stdout);
    assert!(why.contains("gpu0 -> store"), "{why}");
    let again = tidegate(&folder.0, &["new", "other.toml", "--from", "trace"]);
    assert_eq!(
        again.status.code(),
        Some(4),
        "messages.csv is there already"
    );
    assert!(
        !folder.0.join("other.toml").exists(),
        "all of it or nothing"
    );
}

#[test]
fn everything_there_is_can_be_listed_and_explained() {
    let folder = Folder::new("list");
    let list = text(&tidegate(&folder.0, &["list"]).stdout);
    for name in ["incast", "expresspass", "dctcp", "web-search", "leaf-spine"] {
        assert!(list.contains(name), "{name}: {list}");
    }
    let experiments = text(&tidegate(&folder.0, &["list", "experiments"]).stdout);
    for one in ["aeolus-fig9 ", "One flow of 10^9 bytes, alone"] {
        assert!(experiments.contains(one), "{one}: {experiments}");
    }
    assert!(!experiments.contains("hosts_per_leaf"), "{experiments}");
    let load = text(&tidegate(&folder.0, &["explain", "workload.load"]).stdout);
    assert!(load.contains("default  0.6"), "{load}");
    assert_eq!(
        tidegate(&folder.0, &["explain", "workload.laod"])
            .status
            .code(),
        Some(2)
    );
    let schema: serde_json::Value =
        serde_json::from_slice(&tidegate(&folder.0, &["schema"]).stdout).unwrap();
    assert_eq!(schema["properties"]["topology"]["type"], "object");
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            tidegate(&folder.0, &["completions", shell]).stdout.len() > 300,
            "{shell}"
        );
    }
    let version = text(&tidegate(&folder.0, &["version", "-v"]).stdout);
    assert!(version.contains("fingerprint: XXH3"), "{version}");
    let flags = tidegate(&folder.0, &["--version", "--verbose"]);
    assert_eq!(text(&flags.stdout), version);
    assert_eq!(tidegate(&folder.0, &["--quiet"]).status.code(), Some(2));
}

#[test]
fn what_a_command_would_not_heed_is_refused_and_nothing_is_written() {
    let folder = Folder::new("unheeded");
    let file = folder.write("small.toml", SMALL);
    for (args, says) in [
        (&["why", &file, "--dry-run"][..], "--dry-run means nothing"),
        (&["trace", &file, "--pcapng", "b", "--dry-run"], "--dry-run"),
        (&["bench", "sparse", "--dry-run"], "--dry-run"),
        (&["bench", "sparse", "--size", "0B"], "1B to 10GB"),
        (
            &["bench", "sparse", "--size", "18446744073709551615B"],
            "1B to 10GB",
        ),
        (&["bench", "web-server", "--size", "1KB"], "many lengths"),
        (&["bench", "sparse", "--mtu", "1B"], "--mtu cannot be used"),
        (&["new", "b", "--dry-run"], "--dry-run"),
        (&["new", "b", "--set", "workload.load=0.3"], "--set"),
        (&["check", &file, "--junit", "b"], "--junit"),
        (&["reproduce", "xpass-one-flow", "--seed", "3"], "--seeds 5"),
        (&["list", "--seed", "3"], "--seed"),
    ] {
        let output = tidegate(&folder.0, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(says), "{args:?}");
        assert!(output.stdout.is_empty() && !folder.path("b").exists());
    }
}

#[test]
fn json_is_one_document_and_quiet_says_nothing() {
    let folder = Folder::new("json");
    let file = folder.write("small.toml", SMALL);
    let check: serde_json::Value =
        serde_json::from_slice(&tidegate(&folder.0, &["check", &file, "--json"]).stdout).unwrap();
    assert!(
        check["derived"]["BDP"]
            .as_str()
            .unwrap()
            .contains("100 Gb/s"),
        "{check:#}"
    );
    let output = tidegate(&folder.0, &["run", &file, "--quiet"]);
    assert_eq!(
        (
            output.status.code(),
            output.stdout.len(),
            output.stderr.len()
        ),
        (Some(0), 0, 0)
    );
}

#[test]
fn every_command_that_prints_text_prints_one_document_with_json() {
    let folder = Folder::new("documents");
    let file = folder.write("small.toml", SMALL);
    let document = |args: &[&str]| -> serde_json::Value {
        let output = tidegate(&folder.0, &[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let load = document(&["explain", "workload.load"]);
    assert!(load["text"].as_str().unwrap().contains("default  0.6"));
    assert_eq!(document(&["new", "n.toml"])["file"], "n.toml");
    let plain = text(&tidegate(&folder.0, &["fingerprint", &file]).stdout);
    assert_eq!(
        document(&["fingerprint", &file])["fingerprint"],
        plain.trim()
    );
    let fuzz = document(&["fuzz", "--seeds", "2"]);
    assert_eq!(
        (&fuzz["seeds"], &fuzz["failed"]),
        (&2.into(), &serde_json::json!([]))
    );
    // The same command under the name that others give it.
    assert_eq!(
        document(&["sweep", &file])["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_capture_goes_into_a_pipe_or_a_file_and_never_among_text() {
    let folder = Folder::new("pcap");
    let file = folder.write("small.toml", SMALL);
    let window = ["pcap", &file, "--window", "1us..20us"];
    let piped = tidegate(&folder.0, &window);
    assert_eq!(
        (piped.status.code(), text(&piped.stderr).as_str()),
        (Some(0), "")
    );
    assert_eq!(piped.stdout[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let written = tidegate(&folder.0, &[&window[..], &["-o", "a.pcapng"]].concat());
    assert!(text(&written.stdout).contains(" frames, fingerprint "));
    assert_eq!(
        std::fs::read(folder.path("a.pcapng")).unwrap(),
        piped.stdout
    );
    let mixed = tidegate(&folder.0, &[&window[..], &["--json"]].concat());
    assert_eq!((mixed.status.code(), mixed.stdout.len()), (Some(2), 0));
    assert!(text(&mixed.stderr).contains("-o FILE"));
    // A window in which nothing happens is a capture, too, and probably not what was meant.
    let late = tidegate(&folder.0, &["pcap", &file, "--window", "1s..2s"]);
    assert_eq!(late.status.code(), Some(0));
    assert!(text(&late.stderr).contains("the run ended at"), "{late:?}");
    assert_eq!(late.stdout[..4], piped.stdout[..4]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_had_and_says_so() {
    let folder = Folder::new("interrupt");
    let long = "[topology]\nkind = \"star\"\nhosts = 9\n[workload]\nkind = \"permutation\"\nsize = \"4GB\"\n";
    let file = folder.write("long.toml", long);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .current_dir(&folder.0)
        .args(["run", &file, "--quiet", "--out", "o"])
        .spawn()
        .unwrap();
    // Once its first file is there, the run is under way.
    while !folder.path("o/flows.partial.csv").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let summary = std::fs::read_to_string(folder.path("o/summary.json")).unwrap();
    assert!(summary.contains("\"status\": \"interrupted\""), "{summary}");
    assert!(summary.contains("\"fingerprint\": \"none\""), "{summary}");
}

#[test]
fn a_message_that_is_no_number_is_refused_with_where_numbers_are() {
    let folder = Folder::new("why-words");
    let output = tidegate(&folder.0, &["why", "incast", "--flow", "rpc"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("it takes the number of a message, the first column of flows.csv"),
        "{said}"
    );
    folder.write("CONFIG.txt", &"BUFFER_SIZE 32\n".repeat(30));
    let said = text(&tidegate(&folder.0, &["run", "CONFIG.txt"]).stderr);
    assert_eq!(said.matches("help:").count(), 1, "{said}");
    assert!(said.contains("the same in line 2, 3, 4"), "{said}");
}

#[test]
fn why_explains_a_recorded_run_and_refuses_another_one() {
    let folder = Folder::new("why");
    let file = folder.write("small.toml", SMALL);
    let ran = tidegate(&folder.0, &["run", &file, "--out", "made", "--quiet"]);
    assert_eq!(ran.status.code(), Some(0));
    let told = tidegate(&folder.0, &["why", "made"]);
    let (out, err) = (text(&told.stdout), text(&told.stderr));
    assert_eq!((told.status.code(), err.as_str()), (Some(0), ""), "{out}");
    for part in [
        "waiting for credit",
        "the way of the last byte",
        "* CREDIT ",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let one = tidegate(&folder.0, &["why", "made", "--flow", "2", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&one.stdout).unwrap();
    let why = &document["why"];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let parts = why["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| number(&part["ps"])).sum();
    assert_eq!(sum, number(&why["end_ps"]) - number(&why["start_ps"]));
    // The same as the table of the run says.
    let flows = std::fs::read_to_string(folder.path("made/flows.csv")).unwrap();
    assert_eq!(
        flows.lines().nth(3).unwrap().split(',').nth(7),
        Some(&*sum.to_string())
    );

    let wrong = tidegate(&folder.0, &["why", "made", "--flow", "4"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("numbered from 0"));
    // A folder whose results another program made.
    let path = folder.path("made/summary.json");
    let summary = std::fs::read_to_string(&path).unwrap();
    let other = summary.replacen("\"fingerprint\": \"", "\"fingerprint\": \"f", 1);
    std::fs::write(&path, other).unwrap();
    let other = tidegate(&folder.0, &["why", "made"]);
    assert_eq!(other.status.code(), Some(3));
    assert!(text(&other.stderr).contains("running it again gave"));
}

#[test]
fn trace_writes_the_files_that_it_was_asked_for_and_refuses_a_bad_window() {
    let folder = Folder::new("trace");
    let file = folder.write("small.toml", SMALL);
    let window = ["trace", &file, "--window", "1us..20us", "--json"];
    let told = tidegate(
        &folder.0,
        &[
            &window[..],
            &[
                "--pcapng",
                "a.pcapng",
                "--perfetto",
                "a.json",
                "--dissector",
                "a.lua",
            ],
        ]
        .concat(),
    );
    assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
    let document: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(document["frames"].as_u64() > document["packets"].as_u64());
    let print = tidegate(&folder.0, &["fingerprint", &file]).stdout;
    assert_eq!(document["fingerprint"], text(&print).trim());
    let start = &std::fs::read(folder.path("a.pcapng")).unwrap()[..4];
    assert_eq!(start, [0x0a, 0x0d, 0x0d, 0x0a]);
    assert!(folder.path("a.json").is_file() && folder.path("a.lua").is_file());
    for (args, says) in [
        (&["trace", &file][..], "--pcapng"),
        (&["why", &file, "--out", "b"], "--out means nothing here"),
        (
            &["trace", &file, "--window", "1us", "--pcapng", "b"],
            "has no ..",
        ),
        (
            &["trace", &file, "--window", "2us..1us", "--pcapng", "b"],
            "ends before it begins",
        ),
        (
            &["trace", &file, "--window", "2..3us", "--pcapng", "b"],
            "1ms..1.1ms",
        ),
        (
            &["trace", &file, "--flow", "9", "--pcapng", "b"],
            "no message 9",
        ),
        (
            &["trace", &file, "--pcapng", "b", "--perfetto", "b"],
            "b is named twice",
        ),
    ] {
        let wrong = tidegate(&folder.0, args);
        assert_eq!(wrong.status.code(), Some(2), "{args:?}");
        assert!(
            text(&wrong.stderr).contains(says),
            "{}",
            text(&wrong.stderr)
        );
        assert!(!folder.path("b").exists());
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one file after the other")]
fn bad_files_are_answered_with_their_place_and_what_to_write() {
    let folder = Folder::new("bad");
    let scenario = |table: &str| {
        let rest = if table.contains("[topology]") {
            "[[workload]]\nkind = \"permutation\"\n"
        } else {
            "[topology]\nkind = \"star\"\nhosts = 4\n"
        };
        folder.write("bad.toml", &format!("{table}\n{rest}"))
    };
    let refused = |table: &str, wanted: &[&str]| {
        let output = tidegate(&folder.0, &["run", &scenario(table), "--out", "never"]);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{table}: {err}");
        for part in wanted {
            assert!(err.contains(part), "{table}: {part}: {err}");
        }
        assert!(!folder.path("never").exists(), "{table}");
    };
    let file = |name: &str, format: &str, content: &[u8], wanted: &[&str]| {
        std::fs::write(folder.path(name), content).unwrap();
        let (table, kind) = match format {
            "csv" | "hpcc-flows" | "cm" => ("[[workload]]", "trace"),
            _ => ("[topology]", "file"),
        };
        let format = match format {
            "hpcc-flows" => "hpcc",
            "cm" => "htsim",
            other => other,
        };
        let table = format!("{table}\nkind = \"{kind}\"\npath = \"{name}\"\nformat = \"{format}\"");
        refused(&table, wanted);
    };
    let messages = "[[workload]]\nkind = \"trace\"\npath = ";
    refused(
        &format!("{messages}\"none.csv\""),
        &["bad.toml:3:8", "read from the folder"],
    );
    refused(
        &format!("{messages}\".\""),
        &["bad.toml:3:8", "this is a folder"],
    );
    file(
        "m.csv",
        "csv",
        b"0,1,64,1us\n",
        &["m.csv:1:5", "needs a unit", "64KB"],
    );
    file(
        "m.csv",
        "csv",
        b"",
        &["bad.toml:3:8", "the file holds no message"],
    );
    file(
        "m.csv",
        "csv",
        b"\xff\xfe0,1",
        &["bad.toml:3:8", "no UTF-8 text"],
    );
    file(
        "f.txt",
        "hpcc-flows",
        b"2\n0 1 3 100 9 2.0\n",
        &["f.txt:1:1", "2 flows announced, 1 listed"],
    );
    file(
        "f.cm",
        "cm",
        b"Nodes 4\n0->9 start 0 size 2\n",
        &["f.cm:2:4", "host 9 of 4"],
    );
    file(
        "t.txt",
        "hpcc",
        b"3 1 2\n2\n0 2 100GBps 1us 0\n1 2 1Gbps 1us 0\n",
        &["t.txt:3:5", "did you mean \"100Gbps\"?"],
    );
    file(
        "t.txt",
        "hpcc",
        b"3 1 1\n2\n0 2 100Gbps 1us 0\n",
        &["bad.toml:3:8", "no way leads", "join the parts"],
    );
    file(
        "t.topo",
        "htsim",
        b"Nodes 4\nTiers x\n",
        &["t.topo:2:7", "write a whole number"],
    );
    file(
        "g.graphml",
        "graphml",
        b"hello",
        &["g.graphml:1:1", "no XML: unknown token\n"],
    );
    file(
        "g.json",
        "node-link",
        b"[]",
        &["g.json:1:", "write an object with nodes and edges"],
    );
    file(
        "g.json",
        "node-link",
        b"",
        &["g.json:1:1", "the file is empty"],
    );
    file(
        "g.json",
        "node-link",
        b"{\"nodes\": [\n",
        &["g.json:2:1", "the file ends while parsing"],
    );
    let random = "[[workload]]\nkind = \"random\"\nmessages = 9\nsizes = ";
    std::fs::write(folder.path("x.cdf"), "0 0\n100 0.5\n50 1\n").unwrap();
    refused(
        &format!("{random}\"x.cdf\""),
        &["x.cdf:3:1", "sizes must ascend"],
    );
    refused(
        &format!("{random}\"web-serch\""),
        &["bad.toml:4:9", "did you mean \"web-search\"?"],
    );
    std::fs::write(folder.path("x.cdf"), b"\xff\xfe").unwrap();
    refused(
        &format!("{random}\"x.cdf\""),
        &["bad.toml:4:9", "no UTF-8 text"],
    );
    refused(
        "[topology]\nkind = \"fat-tree\"\nk = 5",
        &["bad.toml:3:5", "needs an even k"],
    );
    let narrow = "[topology]\nkind = \"leaf-spine\"\nspines = 1\n[[workload]]\nkind = \"random\"\nmessages = 9\nload = 0.9";
    refused(
        narrow,
        &["bad.toml:7:8", "of what the uplinks can carry", "at most"],
    );
}
