//! The script of `completions bash`, in bash.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, text, tidegate};
use std::process::Command;

/// What bash offers at the end of a line.
fn offered(folder: &Folder, line: &str) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_tidegate");
    let line = line.replacen("tidegate", program, 1);
    // As readline calls it; the word that bash replaces begins behind the last = of a word without a quote.
    let script = "source ./script; COMP_LINE=$1; COMP_POINT=${#1}; COMP_WORDS=($0); _tidegate; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .current_dir(&folder.0)
        .args(["--norc", "-c", script, program, &line])
        .output()
        .unwrap();
    assert_eq!(text(&output.stderr), "", "{line}");
    let lines = text(&output.stdout);
    lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_names_of_scenarios_keys_values_and_experiments() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: no bash");
        return;
    }
    let folder = Folder::new("completion");
    let output = tidegate(&folder.0, &["completions", "bash"]);
    folder.write("script", &text(&output.stdout));
    folder.write("incubator.toml", "");
    folder.write("incubator.txt", "");
    std::fs::create_dir(folder.path("inside")).unwrap();
    folder.write("inside/a b.json", "");
    let found = |line: &str| offered(&folder, line);
    assert_eq!(
        found("tidegate run inc"),
        ["incast", "incast-rr", "incubator.toml"]
    );
    assert_eq!(
        found("tidegate run in"),
        ["incast", "incast-rr", "incubator.toml", "inside/"]
    );
    assert_eq!(found("tidegate run inside/"), ["inside/a\\ b.json"]);
    assert_eq!(found("tidegate run 'inside/a"), ["inside/a b.json"]);
    assert_eq!(
        found("tidegate run incast --set transport.ki"),
        ["transport.kind="]
    );
    assert_eq!(
        found("tidegate run incast --set transport.kind=dct"),
        ["dctcp"]
    );
    assert_eq!(
        found("tidegate run incast --set 'transport.kind=[homa,dct"),
        ["transport.kind=[homa,dctcp"]
    );
    assert_eq!(
        found("tidegate run incast --set switch.balance=f"),
        ["flow", "flowlet"]
    );
    assert_eq!(found("tidegate reproduce aeolus-fig9"), ["aeolus-fig9"]);
    assert_eq!(found("tidegate list exp"), ["experiments"]);
    assert_eq!(found("tidegate wire be"), ["bench"]);
    assert_eq!(found("tidegate run incast --dry"), ["--dry-run"]);
    assert!(found("tidegate explain run.").contains(&"run.seed".to_owned()));
    assert!(
        !found("tidegate ").contains(&"complete".to_owned()),
        "that one is for scripts"
    );
    assert_eq!(
        found("tidegate run nothing-of-this-name"),
        Vec::<String>::new()
    );
}

#[test]
fn other_shells_ask_the_program_too() {
    let folder = Folder::new("completion-others");
    for (shell, part) in [
        ("zsh", "compdef _tidegate tidegate"),
        ("fish", "complete -c tidegate"),
    ] {
        let script = text(&tidegate(&folder.0, &["completions", shell]).stdout);
        assert!(
            script.contains(part) && script.contains(" complete -- "),
            "{script}"
        );
        // A shell that is there reads it.
        let file = folder.write("script", &script);
        if let Ok(output) = Command::new(shell).args(["-n", &file]).output() {
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
    }
    let words = [
        "complete",
        "--",
        "run",
        "incast",
        "--set",
        "transport.kind=dct",
    ];
    let output = tidegate(&folder.0, &words);
    let said = text(&output.stdout);
    assert!(said.starts_with("transport.kind=dctcp\t"), "{said}");
    let elvish = text(&tidegate(&folder.0, &["completions", "elvish"]).stdout);
    assert!(
        elvish.contains("edit:completion"),
        "the rest have what clap knows"
    );
}
