//! Chores of this repository, run as `cargo xtask NAME`.

mod race;
#[path = "../../web/sources.rs"]
#[allow(unreachable_pub, reason = "a build script compiles it, too")]
mod sources;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask tidy      check the rules that no compiler knows (see STYLE.md)
cargo xtask sources   print what the engine for pages is made of, as one hash
cargo xtask race      run the simulator's tests under a race checker (needs a nightly toolchain)
";

#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program"
)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["tidy"] => match tidy::Tree::read(&root()) {
            Ok(tree) => {
                let findings = tidy::check(&tree);
                for finding in &findings {
                    println!("{finding}");
                }
                println!(
                    "tidy: {} files, {} findings",
                    tree.files.len(),
                    findings.len()
                );
                if findings.is_empty() {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                }
            }
            Err(error) => {
                eprintln!("tidy: cannot read the tree: {error}");
                ExitCode::from(4)
            }
        },
        ["sources"] => {
            match sources::files(&root()).and_then(|files| sources::hash(&root(), &files)) {
                Ok(hash) => {
                    println!("{hash}");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("sources: {error}");
                    ExitCode::from(4)
                }
            }
        }
        ["race"] => match race::run(&root()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("race: {why}");
                ExitCode::FAILURE
            }
        },
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// The root of the repository: two folders above this crate.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .map_or_else(|| here.to_path_buf(), Path::to_path_buf)
}
