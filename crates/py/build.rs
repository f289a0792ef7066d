//! Puts tidegate's own sources into the module, for `tidegate new-transport` without a clone. [ADR 33]

#[path = "../cli/src/carried.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a build packs and does not unpack"
)]
mod carried;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for part in [
        "crates",
        "examples/fixed-window",
        "experiments",
        "Cargo.toml",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo names it");
    std::fs::write(Path::new(&out).join("sources"), carried::pack(root)?)
}
