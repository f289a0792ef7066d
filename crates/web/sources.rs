//! What the engine is made of, as one hash: the program and the engine in it each say theirs.
//!
//! A build script and `cargo xtask sources` compile this file too, so that it uses the standard library alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The crates that are in the engine, or a part of one, and the versions of what others wrote.
const PARTS: [&str; 15] = [
    "Cargo.lock",
    "crates/units",
    "crates/model",
    "crates/parts",
    "crates/flow-control",
    "crates/transports",
    "crates/switching",
    "crates/topology",
    "crates/workload",
    "crates/sim",
    "crates/results",
    "crates/report",
    "crates/scenario",
    "crates/web/src",
    "crates/web/Cargo.toml",
];

/// The files below `root` that the engine is made of, in the order of their names.
///
/// # Errors
/// Where a part of them cannot be read.
pub fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for part in PARTS {
        collect(&root.join(part), &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(path: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        // What only checks the engine is no part of it.
        if matches!(&*name, "tests" | "snapshots" | "examples") {
            return Ok(());
        }
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), into)?;
        }
        return Ok(());
    }
    let ending = path.extension().unwrap_or_default();
    if name != "tests.rs" && !name.starts_with('.') && ending != "md" && ending != "snap" {
        into.push(path.to_owned());
    }
    Ok(())
}

/// A hash of these files below `root`, by name and content: 16 hex digits. [FNV-1a, 64 bits]
///
/// # Errors
/// The first file that cannot be read.
pub fn hash(root: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file);
        for part in name {
            add(part.to_string_lossy().as_bytes());
            add(b"/");
        }
        let content = fs::read(file)?;
        add(&(content.len() as u64).to_le_bytes());
        add(&content);
    }
    Ok(format!("{hash:016x}"))
}
