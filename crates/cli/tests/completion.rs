//! The scripts of `completions` in bash, zsh and fish.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, text, tidegate};
use std::path::Path;
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
    assert_eq!(found("tidegate reproduce claims-buf"), ["claims-buffer-8"]);
    assert_eq!(found("tidegate wire bench --transport dct"), ["dctcp"]);
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

/// Whether a shell is there; without one its test says so and passes, in CI it fails.
fn have(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").output().is_ok();
    if !found {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!ci, "CI needs {shell}: apt-get install {shell}");
        eprintln!("skipped: no {shell}; apt-get install {shell}");
    }
    found
}

/// A folder with the script of `shell`, a scenario, and a name with a space.
fn prepared(shell: &str) -> Folder {
    let folder = Folder::new(&format!("completion-{shell}"));
    let output = tidegate(&folder.0, &["completions", shell]);
    folder.write("script", &text(&output.stdout));
    folder.write("incubator.toml", "");
    std::fs::create_dir(folder.path("inside")).unwrap();
    folder.write("inside/a b.json", "");
    folder
}

/// A shell in that folder that finds the program of this test by its name.
fn shell(name: &str, folder: &Folder) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_tidegate"));
    let mut path = program.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = Command::new(name);
    command.current_dir(&folder.0).env("PATH", path);
    command
}

/// Lines typed into a zsh with a terminal, each followed by a tab and a key that notes what stands there then.
const TYPED: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit && compinit -uD; source ./script
note() { print -r -- "$BUFFER" >>noted; BUFFER= }; zle -N note; bindkey "^G" note'
for line in "$@"; do zpty -n -w shell "$line"$'\t\a'; done
zpty -w shell exit
while zpty -r shell; do :; done >/dev/null
"#;

#[test]
fn zsh_completes_what_is_typed() {
    if !have("zsh") {
        return;
    }
    let folder = prepared("zsh");
    // What is typed, and what a tab makes of it: a key waits for its value, and a quote is closed.
    let lines = [
        ("tidegate run inca", "tidegate run incast"),
        ("tidegate run inside/", r"tidegate run inside/a\ b.json "),
        ("tidegate run 'inside/a", "tidegate run 'inside/a b.json' "),
        (
            "tidegate run --set transport.ki",
            "tidegate run --set transport.kind=",
        ),
        (
            "tidegate run --set=switch.balance=flowl",
            "tidegate run --set=switch.balance=flowlet ",
        ),
        (
            "tidegate run --set 'transport.kind=[homa,dct",
            "tidegate run --set 'transport.kind=[homa,dctcp' ",
        ),
        ("tidegate list exp", "tidegate list experiments "),
        ("tidegate run nothing-of", "tidegate run nothing-of"),
    ];
    let output = shell("zsh", &folder)
        .args(["-f", "-c", TYPED, "zsh"])
        .args(lines.map(|(typed, _)| typed))
        .output()
        .unwrap();
    assert_eq!(text(&output.stderr), "");
    let noted = std::fs::read_to_string(folder.path("noted")).unwrap();
    let noted: Vec<&str> = noted.lines().collect();
    assert_eq!(noted, lines.map(|(_, completed)| completed));
}

#[test]
fn fish_offers_names_and_what_they_mean() {
    if !have("fish") {
        return;
    }
    let folder = prepared("fish");
    let offered = |line: &str| {
        let output = shell("fish", &folder)
            .env("HOME", &folder.0)
            .args(["--no-config", "-c"])
            .args(["source ./script; complete --escape -C $argv[1]", line])
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "", "{line}");
        let lines = text(&output.stdout);
        lines.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // The word, without what fish says of it.
    let found = |line: &str| {
        let words = offered(line).into_iter();
        let words = words.map(|line| line.split('\t').next().unwrap_or_default().to_owned());
        words.collect::<Vec<_>>()
    };
    let incast = &offered("tidegate run inc")[0];
    assert!(
        incast.starts_with("incast\t64 hosts send to one"),
        "{incast}"
    );
    assert_eq!(
        found("tidegate run inc"),
        ["incast", "incast-rr", "incubator.toml"]
    );
    assert_eq!(found("tidegate run inside/"), [r"inside/a\ b.json"]);
    assert_eq!(found("tidegate run 'inside/a"), ["'inside/a b.json'"]);
    assert_eq!(found(r"tidegate run inside/a\ "), [r"inside/a\ b.json"]);
    assert_eq!(
        found("tidegate run --set transport.ki"),
        ["transport.kind="]
    );
    assert_eq!(
        found("tidegate run --set=switch.balance=f"),
        ["--set=switch.balance=flow", "--set=switch.balance=flowlet"]
    );
    assert_eq!(
        found("tidegate run --set 'transport.kind=[homa,dct"),
        ["'transport.kind=[homa,dctcp'"]
    );
    assert_eq!(found("tidegate list exp"), ["experiments"]);
    assert!(found("tidegate ").contains(&"run".to_owned()));
    assert_eq!(found("tidegate run nothing-of"), Vec::<String>::new());
}

#[test]
fn the_program_answers_scripts_and_other_shells_have_what_clap_knows() {
    let folder = Folder::new("completion-others");
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
    assert!(elvish.contains("edit:completion"), "{elvish}");
}
