//! What a terminal shows, seen through a pseudo-terminal: the bar, its figures, colours.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use std::process::Command;

/// A second or more of work: the bar is drawn several times.
const LONG: &str = "[topology]\nkind = \"star\"\nhosts = 16\n[workload]\nkind = \"random\"\n\
                    sizes = \"web-server\"\nload = 0.5\nmessages = 6000\n[output]\nevery = \"0s\"\n";

/// What the program writes to a terminal of so many columns; `None` where there is no `script`.
fn seen(
    folder: &Folder,
    columns: u32,
    arguments: &str,
    variables: &[(&str, &str)],
) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_tidegate");
    let typed = format!("stty cols {columns} rows 24; '{program}' {arguments}");
    let output = Command::new("script")
        .current_dir(&folder.0)
        .args(["-qec", &typed, "/dev/null"])
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .stdin(std::process::Stdio::null())
        .output();
    if let Ok(output) = output {
        return Some(text(&output.stdout));
    }
    let wanted = "a terminal needs script (sudo apt-get install bsdutils)";
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{wanted}"
    );
    eprintln!("passed over: {wanted}");
    None
}

/// The states of the bar, one per drawing.
fn drawn(seen: &str, name: &str) -> Vec<String> {
    let lines = seen
        .split(['\r', '\n'])
        .map(|line| line.trim_start_matches("\u{1b}[2K"));
    let bars = lines.filter(|line| line.starts_with(&format!(" {name} [")));
    bars.map(str::to_owned).collect()
}

#[test]
fn a_run_shows_how_far_it_is_and_fits_eighty_columns() {
    let folder = Folder::new("bar");
    folder.write("long.toml", LONG);
    let Some(seen) = seen(&folder, 80, "run long.toml", &[]) else {
        return;
    };
    let bars = drawn(&seen, "long");
    for figure in [" simulated", " s left", " Mhops/s", " active"] {
        assert!(
            bars.iter().any(|bar| bar.contains(figure)),
            "{figure}: {bars:#?}"
        );
    }
    for bar in &bars {
        assert!(bar.chars().count() <= 80, "{bar}");
    }
    // It goes away: the last thing on the screen is the table.
    let last = seen.trim_end().lines().last().unwrap_or_default();
    assert!(last.contains("report.html"), "{seen}");
}

#[test]
fn colours_are_for_those_who_want_them() {
    let folder = Folder::new("colour");
    folder.write("small.toml", SMALL);
    let coloured = |arguments: &str, variables: &[(&str, &str)]| {
        let seen = seen(&folder, 100, arguments, variables)?;
        // Colours and weights end in m; clearing a line, as the bar does, in K.
        Some(seen.split("\u{1b}[").skip(1).any(|code| {
            code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
                .starts_with('m')
        }))
    };
    let Some(plainly) = coloured("run small.toml", &[]) else {
        return;
    };
    assert!(plainly);
    assert_eq!(coloured("run small.toml --no-color", &[]), Some(false));
    assert_eq!(
        coloured("run small.toml", &[("NO_COLOR", "1")]),
        Some(false)
    );
    // An empty variable says nothing. [no-color.org]
    assert_eq!(coloured("run small.toml", &[("NO_COLOR", "")]), Some(true));
    assert_eq!(coloured("check nothing.toml", &[]), Some(true));
    assert_eq!(coloured("check nothing.toml --no-color", &[]), Some(false));
}

#[test]
fn quiet_shows_no_bar_and_json_is_whole_on_a_terminal() {
    let folder = Folder::new("hushed");
    folder.write("long.toml", LONG);
    let Some(hushed) = seen(&folder, 100, "run long.toml --quiet", &[]) else {
        return;
    };
    assert_eq!(hushed.trim(), "");
    let document = seen(&folder, 100, "run long.toml --json 2>/dev/null", &[]).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["exit_code"], 0);
}

#[test]
fn a_run_without_a_terminal_shows_no_bar() {
    let folder = Folder::new("piped");
    let file = folder.write("long.toml", LONG);
    let output = tidegate(&folder.0, &["run", &file]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_load_that_nobody_sustains_is_warned_of() {
    let folder = Folder::new("overload");
    let overload = LONG.replace("load = 0.5", "load = 0.99");
    let file = folder.write("over.toml", &overload);
    let grown = tidegate(&folder.0, &["run", &file]);
    let out = text(&grown.stdout);
    assert!(out.contains("the backlog grew from"), "{out}");
    let steady = tidegate(&folder.0, &["run", &file, "--set", "workload.load=0.3"]);
    let out = text(&steady.stdout);
    assert!(!out.contains("backlog"), "{out}");
}

#[test]
fn eighty_columns_hold_every_column_of_every_table() {
    let folder = Folder::new("eighty");
    folder.write("small.toml", SMALL);
    let shown = |arguments: &str| {
        let seen = seen(&folder, 80, arguments, &[("NO_COLOR", "1")])?;
        // What the bars drew and took away again stands before a carriage return within a line.
        let lines = seen.lines().map(|line| line.trim_end_matches('\r'));
        let lines: Vec<String> = lines
            .map(|line| {
                line.rsplit('\r')
                    .next()
                    .unwrap_or_default()
                    .replace("\u{1b}[2K", "")
            })
            .collect();
        Some(lines)
    };
    let three = "compare small.toml --set transport.kind=[expresspass,expresspass+aeolus,dctcp]";
    let Some(compared) = shown(three) else {
        return;
    };
    let all = compared.join("\n");
    for column in [
        "p50",
        "p99",
        "slowdown p99",
        "max queue",
        "drops by class",
        "goodput",
    ] {
        assert!(all.contains(column), "{column}: {all}");
    }
    for arguments in [
        three,
        "run small.toml",
        "reproduce --list",
        "reproduce",
        "list",
        "check small.toml",
        "check incast",
        "explain transport.expresspass",
        "why small.toml",
    ] {
        for line in shown(arguments).unwrap() {
            assert!(
                line.chars().count() <= 80 || line.contains("report:"),
                "{arguments}: {line}"
            );
        }
    }
}
