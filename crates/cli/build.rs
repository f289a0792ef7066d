//! Puts tidegate's own sources into the program where it is built to carry them. [ADR 33]

#[path = "src/carried.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a build packs and does not unpack"
)]
mod carried;

use std::path::Path;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_SOURCES").is_none() {
        return Ok(());
    }
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for part in carried::PARTS {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo names it");
    std::fs::write(Path::new(&out).join("sources"), carried::pack(root)?)
}
