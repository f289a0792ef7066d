//! Where runs write, and how they end when somebody ends them.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use results::RunFolder;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The program, started and not waited for.
fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let command = command.current_dir(folder).args(args);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[allow(clippy::disallowed_methods, reason = "another process takes its time")]
fn wait_until(true_some_day: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if true_some_day() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not come to that within a minute");
}

#[test]
fn a_name_leads_out_of_no_folder() {
    let folder = Folder::new("names");
    std::fs::create_dir(folder.path("here")).unwrap();
    let file = folder.write("small.toml", &format!("name = \"../../x\"\n{SMALL}"));
    for args in [
        &["run", "incast", "--set", "name=\"../../x\""][..],
        &["run", &file],
    ] {
        let output = tidegate(&folder.path("here"), args);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains("name cannot be used"));
    }
    assert!(!folder.path("here/out").exists() && !folder.path("x").exists());
}

#[test]
fn the_second_run_into_a_folder_is_refused_and_hears_of_the_first() {
    let folder = Folder::new("second");
    let file = folder.write("small.toml", SMALL);
    let first = RunFolder::claim(&folder.path("x"), "process 7 on here").unwrap();
    let output = tidegate(&folder.0, &["run", &file, "--out", "x"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(
        said.contains("process 7 on here") && said.contains("--out"),
        "{said}"
    );
    drop(first);
    let output = tidegate(&folder.0, &["run", &file, "--out", "x"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_folder_that_is_no_runs_is_left_alone() {
    let folder = Folder::new("foreign");
    let file = folder.write("small.toml", SMALL);
    let before = std::fs::read_dir(&folder.0).unwrap().count();
    let output = tidegate(&folder.0, &["run", &file, "--out", "."]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("it holds small.toml"), "{said}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), before);
}

#[test]
fn equal_settings_are_run_once_and_threads_are_no_setting() {
    let folder = Folder::new("once");
    let file = folder.write("small.toml", SMALL);
    let sets = ["--set", "run.threads=[1,2,4]", "--jobs", "3", "--json"];
    let output = tidegate(&folder.0, &[&["compare", &file][..], &sets].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = said["runs"].as_array().unwrap();
    let of = |pick: fn(&serde_json::Value) -> &serde_json::Value| -> Vec<String> {
        runs.iter().map(|run| pick(run).to_string()).collect()
    };
    let dirs = of(|run| &run["dir"]);
    assert!(
        dirs.len() == 3 && dirs.iter().all(|dir| *dir == dirs[0]),
        "{dirs:?}"
    );
    let threads = of(|run| &run["summary"]["settings"][0][1]);
    assert_eq!(threads, ["\"1\"", "\"2\"", "\"4\""]);
    let sets = ["--set", "transport.kind=[dctcp,dctcp]", "--json", "--again"];
    let output = tidegate(&folder.0, &[&["compare", &file][..], &sets].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn two_comparisons_at_once_end_as_one_alone() {
    let folder = Folder::new("both");
    let file = folder.write("small.toml", SMALL);
    let args = ["compare", &file, "--seeds", "4", "--again"];
    let both = [start(&folder.0, &args), start(&folder.0, &args)];
    let ended: Vec<Output> = both
        .into_iter()
        .map(|c| c.wait_with_output().unwrap())
        .collect();
    for output in &ended {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(text(&ended[0].stdout), text(&ended[1].stdout));
    let out = std::fs::read_dir(folder.path("out")).unwrap();
    let left: Vec<_> = out.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left.len(), 5, "four runs and a page: {left:?}");
    for dir in left.iter().filter(|path| path.is_dir()) {
        assert!(dir.join("meta.json").exists() && !dir.join(".running").exists());
    }
}

#[test]
fn a_comparison_waits_for_a_folder_that_another_process_writes() {
    let folder = Folder::new("waits");
    let file = folder.write("small.toml", SMALL);
    let plan = tidegate(&folder.0, &["run", &file, "--dry-run"]);
    let plan = text(&plan.stdout);
    let (_, dir) = plan.trim_end().rsplit_once("would write ").unwrap();
    let first = RunFolder::claim(&folder.path(dir), "process 7 on here").unwrap();
    let mut child = start(&folder.0, &["compare", &file]);
    let mut line = String::new();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut errors, &mut line).unwrap();
    assert!(line.contains("process 7 on here"), "{line}");
    assert!(child.try_wait().unwrap().is_none());
    drop(first);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Whether this process, and with it each that it starts, was told not to hear a terminal that closes.
#[cfg(unix)]
fn is_under_nohup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

/// A run that takes minutes where nobody ends it.
const LONG: &str = "[topology]\nkind = \"star\"\nhosts = 8\n[workload]\nkind = \"random\"\nsizes = \
                    \"web-search\"\nload = 0.5\nmessages = 200000\n";

#[cfg(unix)]
#[test]
fn whatever_asks_a_run_to_end_lets_it_keep_what_it_has() {
    let signals = ["TERM", "INT", "HUP"].into_iter();
    for signal in signals.filter(|&signal| signal != "HUP" || !is_under_nohup()) {
        let folder = Folder::new(&format!("signal-{signal}"));
        let file = folder.write("long.toml", LONG);
        let child = start(&folder.0, &["run", &file, "--out", "x"]);
        let rows = || std::fs::read_to_string(folder.path("x/flows.partial.csv"));
        wait_until(|| rows().is_ok_and(|text| text.lines().count() > 1));
        let kill = |signal: &str| {
            let id = child.id().to_string();
            let status = Command::new("kill").args(["-s", signal, &id]).status();
            assert!(status.unwrap().success());
        };
        kill(signal);
        // A terminal that closes tells it twice.
        kill(signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(130),
            "{signal}: {}",
            text(&output.stderr)
        );
        let summary = std::fs::read_to_string(folder.path("x/summary.json")).unwrap();
        assert!(summary.contains("\"status\": \"interrupted\""));
        assert!(folder.path("x/meta.json").exists() && !folder.path("x/.running").exists());
    }
}

#[cfg(unix)]
#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let folder = Folder::new("nohup");
    let file = folder.write("long.toml", &LONG.replace("200000", "3000"));
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    let child = Command::new("sh")
        .args([
            "-c",
            script,
            env!("CARGO_BIN_EXE_tidegate"),
            "run",
            &file,
            "--out",
            "x",
        ])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| folder.path("x/flows.partial.csv").exists());
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-s", "HUP", &id]).status();
    assert!(status.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn a_part_of_a_run_has_no_fingerprint() {
    let folder = Folder::new("print");
    let file = folder.write("long.toml", LONG);
    for json in [false, true] {
        let args = ["fingerprint", &file, "--json"];
        let child = start(&folder.0, &args[..2 + usize::from(json)]);
        let id = child.id().to_string();
        // Sooner than its handler stands, the signal just ends it.
        let caught = format!("/proc/{id}/status");
        wait_until(|| {
            let text = std::fs::read_to_string(&caught).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.is_some_and(|mask| mask & (1 << 14) != 0)
        });
        let status = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(status.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
        assert!(text(&output.stderr).contains("no fingerprint"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_an_error() {
    let folder = Folder::new("full");
    let file = folder.write("small.toml", SMALL);
    let full = || {
        Stdio::from(
            std::fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
    };
    for args in [
        &["fingerprint", &file][..],
        &["run", &file, "--json"],
        &["schema"],
        &["--help"],
        &["completions", "bash"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        let command = command.current_dir(&folder.0).args(args).stdout(full());
        let output = command.stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{args:?}");
        assert!(
            text(&output.stderr).contains("cannot write standard output"),
            "{args:?}"
        );
    }
    // A reader that has seen enough is none.
    let mut child = start(&folder.0, &["schema"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A process that ignores the signal is told so when a file grows above its limit, as on a full disk.
#[test]
#[cfg(unix)]
#[allow(clippy::too_many_lines, reason = "one command after the other")]
fn what_has_no_room_leaves_no_part_of_a_file_and_says_so() {
    let folder = Folder::new("no-room");
    folder.write("small.toml", SMALL);
    let limited = |kilobytes: u32, args: &str| {
        let program = env!("CARGO_BIN_EXE_tidegate");
        let command = format!(
            "trap '' XFSZ; ulimit -f {}; exec {program} {args}",
            2 * kilobytes
        );
        let shell = Command::new("sh")
            .args(["-c", &command])
            .current_dir(&folder.0)
            .output();
        let done = shell.unwrap();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    folder.write("there.json", "what was there");
    for (file, args) in [
        ("page.html", "playground --out page.html"),
        ("there.json", "trace small.toml --perfetto there.json"),
        ("t.pcapng", "trace small.toml --pcapng t.pcapng"),
    ] {
        let (code, _, said) = limited(1, args);
        assert_eq!(code, Some(4), "{args}: {said}");
        assert!(said.contains(file), "{said}");
    }
    let left = std::fs::read_to_string(folder.path("there.json")).unwrap();
    assert_eq!(left, "what was there");
    let names = std::fs::read_dir(&folder.0).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["small.toml", "there.json"]);

    // The report does not fit, the tables do.
    let (code, out, said) = limited(40, "run small.toml --out run");
    assert_eq!(code, Some(4), "{said}");
    assert!(
        out.contains("fingerprint") && !out.contains("data:"),
        "{out}"
    );
    assert!(said.contains("cannot write run/report.html"), "{said}");

    // Commands that write several files, or one for another to read: with room for the first, or for none.
    folder.write(
        "topology.txt",
        "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
    );
    folder.write("flow.txt", "1\n0 1 3 100 65536 2.0\n");
    folder.write(
        "config.txt",
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 3\n",
    );
    folder.write(
        "fabric.graphml",
        include_str!("../templates/trace/fabric.graphml"),
    );
    folder.write(
        "messages.csv",
        include_str!("../templates/trace/messages.csv"),
    );
    let advise = "advise messages.csv --topology fabric.graphml --transport dctcp --out";
    for (kilobytes, file, next, args) in [
        (
            0,
            "deep/t.toml",
            "name another file",
            "new deep/t.toml --from trace".to_owned(),
        ),
        (
            9,
            "tidegate.schema.json",
            "name another file",
            "new t.toml".to_owned(),
        ),
        (0, "config.toml", "--to", "import config.txt".to_owned()),
        (
            9,
            "mine/Cargo.lock",
            "--dir",
            "new-transport mine".to_owned(),
        ),
        (0, "a/messages-", "--out", format!("{advise} a")),
        (400, "/report.html", "--out", format!("{advise} b")),
    ] {
        let (code, out, said) = limited(kilobytes, &args);
        assert_eq!(code, Some(4), "{args}: {said}");
        assert!(
            said.contains("cannot write ") && said.contains(file),
            "{args}: {said}"
        );
        assert!(said.contains(next) && out.is_empty(), "{args}: {said}{out}");
    }
    for gone in [
        "deep/t.toml",
        "t.toml",
        "tidegate.schema.json",
        "config.toml",
        "mine",
        ".mine.draft",
    ] {
        assert!(!folder.path(gone).exists(), "{gone}");
    }
    assert_eq!(std::fs::read_dir(folder.path("a")).unwrap().count(), 0);
    let mut pages = std::fs::read_dir(folder.path("b")).unwrap();
    let page = |path: &Path| path.extension().is_some_and(|end| end == "html");
    assert!(!pages.any(|entry| page(&entry.unwrap().path())));
}

#[test]
fn a_folder_that_cannot_be_written_is_said_before_anything_runs() {
    let folder = Folder::new("unwritable");
    let file = folder.write("small.toml", SMALL);
    folder.write("taken", "");
    let output = tidegate(&folder.0, &["run", &file, "--out", "taken/under"]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(text(&output.stdout), "", "nothing has run");
    let err = text(&output.stderr);
    assert!(
        err.contains("cannot write taken/under") && err.contains("--out"),
        "{err}"
    );
}

#[test]
fn a_report_names_what_runs_of_one_row_differ_in_besides_their_seeds() {
    let folder = Folder::new("mixed");
    let file = folder.write("small.toml", SMALL);
    let run = |out: &str, seed: &str, set: &str| {
        let args = [
            "run", &file, "--quiet", "--seed", seed, "--set", set, "--out", out,
        ];
        assert_eq!(tidegate(&folder.0, &args).status.code(), Some(0));
    };
    run("a", "1", "workload.size=20KB");
    run("b", "2", "workload.size=20KB");
    run("c", "2", "workload.size=40KB");
    run("d", "2", "transport.kind=dctcp");
    let warned = |dirs: &[&str]| {
        let output = tidegate(&folder.0, &[&["report"][..], dirs].concat());
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr)
    };
    assert_eq!(warned(&["a", "b"]), "");
    assert_eq!(warned(&["a", "d"]), "");
    let said = warned(&["a", "c"]);
    assert!(
        said.contains("a and c differ in workload.size, \"20KB\" and \"40KB\""),
        "{said}"
    );
}

#[test]
fn a_run_that_cannot_be_looked_into_says_what_changed() {
    let folder = Folder::new("changed");
    let trace = "[workload]\nkind = \"trace\"\npath = \"list.csv\"\n";
    let star = "[topology]\nkind = \"star\"\nhosts = 4\n";
    let file = folder.write("list.toml", &format!("{star}{trace}"));
    folder.write("list.csv", "0,1,10KB,0us\n");
    let ran = tidegate(&folder.0, &["run", &file, "--quiet", "--out", "o"]);
    assert_eq!(ran.status.code(), Some(0));
    let why = || {
        let output = tidegate(&folder.0, &["why", "o"]);
        (output.status.code(), text(&output.stderr))
    };
    let summary = std::fs::read_to_string(folder.path("o/summary.json")).unwrap();
    let edit = |from: &str, to: &str| {
        let changed = summary.replacen(from, to, 1);
        assert_ne!(changed, summary);
        folder.write("o/summary.json", &changed);
    };
    edit("\"fingerprint\": \"", "\"fingerprint\": \"f");
    let (code, said) = why();
    assert!(
        code == Some(3) && said.contains("another version of the program"),
        "{said}"
    );
    edit("\"status\": \"complete\"", "\"status\": \"interrupted\"");
    let (code, said) = why();
    assert!(
        code == Some(2) && said.contains("the run in o was interrupted"),
        "{said}"
    );
    folder.write("o/summary.json", &summary);
    assert_eq!(why().0, Some(0));
    folder.write("list.csv", "0,1,20KB,0us\n");
    let (code, said) = why();
    assert!(
        code == Some(2) && said.contains("a file that this names, has changed since"),
        "{said}"
    );
}

#[test]
fn a_dry_run_with_json_prints_one_document() {
    let folder = Folder::new("dry-json");
    let load = "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"random\"\nsizes = \"web-server\"\nmessages = 20\n";
    folder.write("load.toml", load);
    for args in [
        &["run", "load.toml"][..],
        &["compare", "load.toml", "--seeds", "2"],
        &["compare", "load.toml", "--find-max-load"],
    ] {
        let output = tidegate(&folder.0, &[args, &["--dry-run", "--json"]].concat());
        let document: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        assert!(document.is_ok(), "{args:?}: {}", text(&output.stdout));
    }
}

/// The system ends a program whose file grows beyond what is allowed, unless it asks for an error.
#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_of_writing() {
    let folder = Folder::new("limit");
    let command = format!(
        "ulimit -f 20; exec {} run incast --out o",
        env!("CARGO_BIN_EXE_tidegate")
    );
    let mut shell = Command::new("sh");
    let output = shell
        .current_dir(&folder.0)
        .args(["-c", &command])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot write"), "{said}");
}

#[test]
fn a_folder_whose_run_was_killed_is_reported_with_a_warning() {
    let folder = Folder::new("half");
    let file = folder.write("small.toml", SMALL);
    let ran = tidegate(&folder.0, &["run", &file, "--out", "o", "--quiet"]);
    assert_eq!(ran.status.code(), Some(0));
    let said = || text(&tidegate(&folder.0, &["report", "o"]).stderr);
    assert_eq!(said(), "");
    std::fs::remove_file(folder.path("o/meta.json")).unwrap();
    assert!(said().contains("did not write all of its files"));
    folder.write("o/meta.json", "{\"version\": ");
    assert!(said().contains("o/meta.json is damaged"), "{}", said());
}

#[test]
fn a_report_says_which_table_of_a_run_was_cut() {
    let folder = Folder::new("cut");
    let file = folder.write("small.toml", SMALL);
    for table in ["flows.csv", "ports.parquet"] {
        let ran = tidegate(&folder.0, &["run", &file, "--out", "o", "--quiet"]);
        assert_eq!(ran.status.code(), Some(0));
        let whole = std::fs::read(folder.path("o").join(table)).unwrap();
        std::fs::write(folder.path("o").join(table), &whole[..whole.len() / 2]).unwrap();
        let output = tidegate(&folder.0, &["report", "o"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(
            said.contains(table) && said.contains("run it again"),
            "{said}"
        );
    }
}

#[test]
fn a_report_names_all_that_is_missing_and_an_edit_of_the_same_length() {
    let folder = Folder::new("edited");
    let file = folder.write("small.toml", SMALL);
    let ran = tidegate(&folder.0, &["run", &file, "--out", "o", "--quiet"]);
    assert_eq!(ran.status.code(), Some(0));
    let said = || text(&tidegate(&folder.0, &["report", "o"]).stderr);
    let summary = folder.path("o/summary.json");
    let edited = std::fs::read_to_string(&summary)
        .unwrap()
        .replacen("value\": 1", "value\": 2", 1);
    std::fs::write(&summary, edited).unwrap();
    assert!(said().contains("o/summary.json was edited"), "{}", said());
    let curves = folder.path("o/curves.json");
    let drawn = std::fs::read_to_string(&curves).unwrap();
    std::fs::write(&curves, drawn.replacen('1', "2", 1)).unwrap();
    let both = "o/curves.json was edited, o/summary.json was edited";
    assert!(said().contains(both), "{}", said());
    std::fs::write(&curves, drawn).unwrap();
    for table in ["o/flows.csv", "o/ports.parquet"] {
        std::fs::remove_file(folder.path(table)).unwrap();
    }
    let all = "o/flows.csv is missing, o/ports.parquet is missing, o/summary.json was edited";
    assert!(said().contains(all), "{}", said());
}

#[test]
fn a_report_of_a_comparisons_folder_is_of_the_runs_in_it() {
    let folder = Folder::new("below");
    let file = folder.write("small.toml", SMALL);
    let set = "transport.kind=[dctcp,homa]";
    let ran = tidegate(
        &folder.0,
        &["compare", &file, "--set", set, "--out", "o", "--quiet"],
    );
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let output = tidegate(&folder.0, &["report", "o", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut kinds: Vec<_> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["transport"])
        .collect();
    kinds.sort_by_key(ToString::to_string);
    assert_eq!(kinds, ["dctcp", "homa"]);
    // The page of the comparison knows who was there.
    assert_eq!(text(&output.stderr), "");
    let mut dirs = std::fs::read_dir(folder.path("o")).unwrap();
    let run = dirs.find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()));
    std::fs::remove_dir_all(run.unwrap()).unwrap();
    let said = text(&tidegate(&folder.0, &["report", "o"]).stderr);
    assert!(
        said.contains("is missing, a run of the comparison in o/compare-"),
        "{said}"
    );
    // Where there is none, that is said of the folder itself.
    std::fs::create_dir(folder.path("empty")).unwrap();
    let output = tidegate(&folder.0, &["report", "empty"]);
    assert_eq!(output.status.code(), Some(4));
}

/// Most transports fill in what follows from network and messages when a run begins. A comparison that goes on knows the run
/// by what was asked for.
#[test]
fn a_comparison_that_goes_on_repeats_no_run_of_any_transport() {
    let folder = Folder::new("goes-on");
    let file = folder.write("small.toml", SMALL);
    let registry = transports::registry();
    let names: Vec<&str> = registry.iter().map(transports::Transport::name).collect();
    let kinds = format!("transport.kind=[{}]", names.join(","));
    let args = ["compare", &file, "--set", &kinds, "-q"];
    let first = tidegate(&folder.0, &args);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let runs = std::fs::read_dir(folder.path("out")).unwrap();
    let meta = runs.map(|run| run.unwrap().path().join("meta.json"));
    let meta: Vec<_> = meta.filter(|file| file.is_file()).collect();
    assert_eq!(meta.len(), names.len(), "{meta:?}");
    for file in &meta {
        let text = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, text.replace("\"host\": \"", "\"host\": \"hand ")).unwrap();
    }
    tidegate(&folder.0, &args);
    for file in &meta {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains("hand "), "made again: {}", file.display());
    }
}
