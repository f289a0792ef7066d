//! Says of which sources this engine is, so that the program can tell one of other sources.

#[path = "sources.rs"]
#[allow(unreachable_pub, reason = "it is a module of xtask, too")]
mod sources;

use std::path::Path;

fn main() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=sources.rs");
    let files = sources::files(root).unwrap_or_default();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    // A copy that lacks a part of the sources is of none that are known.
    let hash = sources::hash(root, &files)
        .ok()
        .filter(|_| !files.is_empty());
    let hash = hash.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=TIDEGATE_SOURCES={hash}");
}
