//! What `check` and the others refuse, with status 2 and before anything is written.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};

/// What the program says that refuses this.
fn refused(folder: &Folder, args: &[&str]) -> String {
    let output = tidegate(&folder.0, args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    said
}

#[test]
fn an_empty_list_of_workloads_is_refused_by_every_command() {
    let folder = Folder::new("no-workload");
    let file = folder.write(
        "t.toml",
        "workload = []\n[topology]\nkind = \"star\"\nhosts = 4\n",
    );
    for command in ["check", "run", "compare", "fingerprint"] {
        let said = refused(&folder, &[command, &file]);
        assert!(said.contains("there is no [workload]"), "{command}: {said}");
    }
}

#[test]
fn check_reads_every_case_that_a_comparison_would_run() {
    let folder = Folder::new("cases");
    let case = |name: &str, set: &str| {
        format!("[[compare]]\nof = \"traffic\"\nname = \"{name}\"\nset = [\"{set}\"]\n")
    };
    for (set, said) in [
        ("zz=1", "unknown key \"zz\""),
        (
            "transport.kind=[dctcp,none]",
            "transport.kind cannot be used",
        ),
    ] {
        let good = case("few", "workload.senders=2");
        let scenario = format!("{SMALL}{good}{}", case("odd", set));
        let file = folder.write("t.toml", &scenario);
        for command in ["check", "compare"] {
            assert!(
                refused(&folder, &[command, &file]).contains(said),
                "{command} of {set}"
            );
        }
        let check = refused(&folder, &["check", &file]);
        assert!(
            check.contains("in a case of [[compare]], traffic = odd"),
            "{check}"
        );
    }
    // Of several kinds of cases the one is blamed that is wrong.
    let good = case("few", "workload.senders=2").replace("traffic", "kind");
    let wrong = case("odd", "run.mtu=500B");
    let file = folder.write("t.toml", &format!("{SMALL}{good}{wrong}"));
    let check = refused(&folder, &["check", &file]);
    assert!(check.contains("[[compare]], traffic = odd"), "{check}");
    assert!(!check.contains("few"), "{check}");
    // What the command line says holds in every case.
    let file = folder.write(
        "t.toml",
        &format!("{SMALL}{}", case("few", "workload.senders=2")),
    );
    let output = tidegate(&folder.0, &["check", &file, "--set", "workload.senders=3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_scenario_that_is_no_text_is_shown_where_that_begins() {
    let folder = Folder::new("no-text");
    std::fs::write(folder.path("t.toml"), b"# a\n[run]\nname = \"\xff\"\n").unwrap();
    let said = refused(&folder, &["check", "t.toml"]);
    assert!(
        said.contains("cannot read t.toml: it is no UTF-8 text"),
        "{said}"
    );
    assert!(
        said.contains("t.toml:3:9") && said.contains("save it as text in UTF-8"),
        "{said}"
    );
    folder.write("top.toml", &format!("include = \"t.toml\"\n{SMALL}"));
    assert!(refused(&folder, &["check", "top.toml"]).contains("t.toml:3:9"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_file_has_a_name_that_other_commands_take() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("bytes");
    let name = std::ffi::OsStr::from_bytes(b"n\xff.toml");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .current_dir(&folder.0)
        .arg("new")
        .arg(name)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("is not UTF-8"),
        "{}",
        text(&output.stderr)
    );
    assert!(!folder.0.join(name).exists());
}

#[test]
fn seeds_are_named_by_their_options_and_no_setting_of_a_comparison() {
    let folder = Folder::new("seeds");
    folder.write("small.toml", SMALL);
    let case = "[[compare]]\nof = \"chance\"\nname = \"seven\"\nset = [\"run.seed=7\"]\n";
    folder.write("cases.toml", &format!("{SMALL}{case}"));
    for args in [
        &["compare", "small.toml", "--set", "run.seed=[1,2]"][..],
        &["compare", "small.toml", "--set", "run.seed=1..4"],
        &[
            "compare",
            "small.toml",
            "--find-max-load",
            "--set",
            "run.seed=[3,4]",
        ],
        &["compare", "cases.toml"],
    ] {
        let said = refused(&folder, args);
        assert!(
            said.contains("run.seed") && said.contains("--seeds 3"),
            "{said}"
        );
    }
    // One seed for all runs is what `--seed` says.
    let one = ["compare", "small.toml", "--set", "run.seed=5", "--dry-run"];
    let said = text(&tidegate(&folder.0, &one).stdout);
    assert!(said.contains("--seed 5"), "{said}");
}

#[test]
fn a_planned_comparison_says_which_runs_have_no_room() {
    let folder = Folder::new("no-room");
    folder.write("small.toml", SMALL);
    let set = "workload.senders=[4,25000]";
    let plan = [
        "compare",
        "small.toml",
        "--set",
        set,
        "--dry-run",
        "--memory-limit",
        "24MB",
    ];
    let output = tidegate(&folder.0, &plan);
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{said}{why}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        !lines[0].contains("refused") && lines[1].ends_with("# would be refused"),
        "{said}"
    );
    assert!(
        why.contains("25,000 messages") && why.contains("senders"),
        "{why}"
    );
    let output = tidegate(&folder.0, &[&plan[..], &["--json"]].concat());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["would_run"][0]["refused"], serde_json::Value::Null);
    assert!(
        document["would_run"][1]["refused"]
            .as_str()
            .unwrap()
            .contains("25,000 messages")
    );
}

#[test]
fn a_limit_or_threads_that_nothing_heeds_are_refused() {
    let folder = Folder::new("unheeded");
    for command in [
        &["list"][..],
        &["explain", "run.mtu"],
        &["schema"],
        &["version"],
        &["new", "t.toml"],
        &["report", "out"],
    ] {
        for (flag, value) in [("--memory-limit", "1GB"), ("--jobs", "2")] {
            let said = refused(&folder, &[command, &[flag, value]].concat());
            assert!(
                said.contains(&format!("{flag} means nothing here")),
                "{said}"
            );
        }
    }
    let said = refused(&folder, &["fuzz", "--seeds", "1", "--memory-limit", "1GB"]);
    assert!(said.contains("--memory-limit means nothing here"), "{said}");
    let said = refused(&folder, &["check", "incast", "--jobs", "2"]);
    assert!(said.contains("--jobs means nothing here"), "{said}");
    assert!(!folder.path("t.toml").exists());
}

#[test]
fn a_new_file_has_no_name_that_is_read_as_json() {
    let folder = Folder::new("new-json");
    let said = refused(&folder, &["new", "j.json"]);
    assert!(said.contains("name it j.toml"), "{said}");
    assert!(!folder.path("j.json").exists());
}
