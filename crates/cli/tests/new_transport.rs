//! A transport outside this repository: written, built, held to the conformance suite, compared.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use std::path::Path;
use std::process::{Command, Output};

/// Build settings of the test alone. What is only built to be called a few times is not optimised.
const QUICK: &str = "\
[profile.dev.package]
tidegate = { opt-level = 0, debug = false }
tidegate-scenario = { opt-level = 0, debug = false }
tidegate-results = { opt-level = 0, debug = false }
tidegate-report = { opt-level = 0, debug = false }
tidegate-experiments = { opt-level = 0, debug = false }
tidegate-drive = { opt-level = 0, debug = false }
tidegate-workload = { opt-level = 0, debug = false }
tidegate-topology = { opt-level = 0, debug = false }
tidegate-sim = { opt-level = 0, debug = false }
tidegate-switching = { opt-level = 0, debug = false }
tidegate-transports = { opt-level = 0, debug = false }
tidegate-flow-control = { opt-level = 0, debug = false }
";

/// Cargo in the new crate, with what this repository's own build has left behind, and no network.
fn cargo(folder: &Path, target: &Path, args: &[&str]) -> Output {
    let settings = folder.join("../quick.toml");
    std::fs::write(&settings, QUICK).unwrap();
    let (settings, target) = (settings.display().to_string(), target.display().to_string());
    Command::new(env!("CARGO"))
        .current_dir(folder)
        .args(args)
        .args(["--offline", "--config", &settings, "--target-dir", &target])
        // Settings of the cargo that runs this test are not for that one.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_MANIFEST_DIR")
        .output()
        .unwrap()
}

/// Lines that a user finds in a new crate, at most. [ours]
const LINES_MAX: usize = 400;

/// Every file of a new crate that is to be read: without the lock of cargo, and without the sources beside it.
fn own_files(home: &Path) -> Vec<(String, usize)> {
    let (mut folders, mut files) = (vec![home.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(home).unwrap().display().to_string();
            if path.is_dir() && inside != "tidegate" {
                folders.push(path);
            } else if path.is_file() && inside != "Cargo.lock" {
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                files.push((inside, lines));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_new_transport_has_at_most_400_lines() {
    let folder = Folder::new("lines");
    let made = tidegate(&folder.0, &["new-transport", "my-own"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let files = own_files(&folder.path("my-own"));
    assert_eq!(files.len(), 12, "{files:?}");
    let all: usize = files.iter().map(|(_, lines)| lines).sum();
    assert!(all <= LINES_MAX, "{all} lines: {files:#?}");
    // Without dependencies, for those of other platforms may not be on this machine.
    let read = Command::new(env!("CARGO"))
        .current_dir(folder.path("my-own"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .unwrap();
    assert!(read.status.success(), "{}", text(&read.stderr));
    let clone = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let clone = clone.canonicalize().unwrap().display().to_string();
    assert!(
        text(&read.stdout).contains(&clone),
        "it is built with the clone"
    );
}

/// Makes `to` what `from` is, and leaves alone what is the same: cargo builds what is newer than its last build.
fn renew(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    for name in names(to) {
        let (old, new) = (to.join(&name), from.join(&name));
        if old.is_dir() && !new.is_dir() {
            std::fs::remove_dir_all(old).unwrap();
        } else if old.is_file() && !new.is_file() {
            std::fs::remove_file(old).unwrap();
        }
    }
    for name in names(from) {
        let (old, new) = (to.join(&name), from.join(&name));
        if new.is_dir() {
            renew(&new, &old);
        } else if std::fs::read(&old).ok() != Some(std::fs::read(&new).unwrap()) {
            std::fs::copy(new, old).unwrap();
        }
    }
}

/// As from a wheel: nothing of the clone is used but its target directory, which saves time.
#[test]
#[allow(clippy::too_many_lines, reason = "a crate is built once")]
fn a_crate_of_ones_own_builds_passes_the_suite_and_is_compared() {
    let folder = Folder::new("own");
    let clone = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    tidegate_cli::carries(tidegate_cli::carried::pack(clone).unwrap().leak());
    let home = folder.path("my-own");
    let dir = home.display().to_string();
    let words = [
        "tidegate",
        "--quiet",
        "new-transport",
        "my-own",
        "--dir",
        &dir,
    ];
    let words = words.map(std::ffi::OsString::from).into_iter();
    assert_eq!(tidegate_cli::main_with(words, &transports::registry()), 0);
    // The next run finds it where it was, so its builds are of use and do not pile up.
    let made = home;
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own/my-own");
    renew(&made, &home);
    let clone = clone.canonicalize().unwrap().display().to_string();
    for (file, _) in own_files(&home) {
        let text = std::fs::read_to_string(home.join(&file)).unwrap();
        assert!(!text.contains(&clone), "{file} names the clone");
    }
    // target/debug/tidegate: its folder's folder.
    let program = Path::new(env!("CARGO_BIN_EXE_tidegate"));
    let target = program.ancestors().nth(2).unwrap();

    let tested = cargo(&home, target, &["test"]);
    let (out, err) = (text(&tested.stdout), text(&tested.stderr));
    assert_eq!(tested.status.code(), Some(0), "{out}\n{err}");
    assert!(!err.contains("warning:"), "{err}");
    for test in [
        "any_packet_may_be_lost",
        "random_conversations_end_well",
        "a_message_takes_a_handshake_and_a_window",
    ] {
        let passed = |line: &str| line.contains(test) && line.ends_with("ok");
        assert!(out.lines().any(passed), "{test}: {out}");
    }

    let program = target.join("debug/my-own").display().to_string();
    let own = |args: &[&str]| {
        Command::new(&program)
            .current_dir(&folder.0)
            .args(args)
            .output()
            .unwrap()
    };
    let listed = text(&own(&["list", "transports"]).stdout);
    assert!(
        listed.contains("  my-own ") && listed.contains("  dctcp "),
        "{listed}"
    );
    let explained = text(&own(&["explain", "transport.my-own.window"]).stdout);
    assert!(explained.contains("[ours]"), "{explained}");
    let schema = text(&own(&["schema"]).stdout);
    assert!(schema.contains("\"my-own\""), "the schema knows it");
    folder.write("small.toml", SMALL);
    let both = "transport.kind=[dctcp,my-own]";
    let compared = own(&["compare", "small.toml", "--set", both, "--out", "both"]);
    let table = text(&compared.stdout);
    assert_eq!(
        compared.status.code(),
        Some(0),
        "{table}{}",
        text(&compared.stderr)
    );
    assert!(
        table.contains(" dctcp ") && table.contains(" my-own "),
        "{table}"
    );
    let wrong = own(&["check", "small.toml", "--set", "transport.kind=my-won"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).contains("did you mean \"my-own\"?"),
        "{}",
        text(&wrong.stderr)
    );
    // The program that we came from knows nothing of it.
    let ours = tidegate(
        &folder.0,
        &["check", "small.toml", "--set", "transport.kind=my-own"],
    );
    assert_eq!(ours.status.code(), Some(2));
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_half_written() {
    let folder = Folder::new("refused");
    std::fs::create_dir(folder.path("mine")).unwrap();
    let file = folder.write("file", "");
    let refused = |args: &[&str], code: i32, why: &str| {
        let output = tidegate(&folder.0, &[&["new-transport"], args].concat());
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
        assert!(err.contains(why), "{args:?}: {err}");
    };
    refused(&["mine"], 2, "nothing is overwritten");
    refused(&["dctcp"], 2, "has a transport of that name");
    refused(&["other", "--tidegate", "mine"], 2, "no clone of tidegate");
    refused(&["other", "--tidegate", "nowhere"], 2, "nowhere");
    refused(
        &["other", "--dir", &format!("{file}/under")],
        4,
        "cannot write",
    );
    let mut left: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["file", "mine"]);
    let named = tidegate(&folder.0, &["new-transport", "other", "--dry-run"]);
    assert!(text(&named.stdout).contains("other/src/other/header.rs"));
    assert!(!folder.path("other").exists());
}
