//! tidegate's own sources as one value that a program may carry, so that a transport can be begun without a
//! clone. [ADR 33]
//!
//! Names and contents one after the other, each behind its length: 4 bytes, the lowest first. It uses the standard
//! library alone, for it is compiled into build scripts too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a crate that uses tidegate needs of a clone: folders, and files of the root.
pub const PARTS: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "crates",
    "examples/fixed-window",
    EXPERIMENTS,
];
/// Folders that no such crate needs: what is built for Python or checks this repository, snapshots, and what lies about.
const WITHOUT: [&str; 5] = ["py", "xtask", "snapshots", "target", "out"];
/// What only our crates have for themselves; the example's tests are part of what is written.
const TESTS: &str = "tests";
/// Of experiments it needs what is run, and not what came out.
const EXPERIMENTS: &str = "experiments";

/// The sources of the clone at `root`. The same files give the same bytes.
///
/// # Errors
/// The file that cannot be read.
pub fn pack(root: &Path) -> io::Result<Vec<u8>> {
    let mut paths = Vec::new();
    for part in PARTS {
        collect(part, &root.join(part), &mut paths)?;
    }
    let mut archive = Vec::new();
    for path in paths {
        let inside = path.strip_prefix(root).expect("below the root");
        let inside: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        put(&mut archive, inside.join("/").as_bytes());
        put(
            &mut archive,
            &fs::read(&path).map_err(|e| named(&path, &e))?,
        );
    }
    Ok(archive)
}

fn collect(part: &str, path: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') {
        return Ok(());
    }
    if path.is_dir() {
        if (name == TESTS && part == "crates") || WITHOUT.contains(&&*name) {
            return Ok(());
        }
        let entries = fs::read_dir(path).map_err(|e| named(path, &e))?;
        let mut inside = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        inside.sort();
        return inside.iter().try_for_each(|path| collect(part, path, into));
    }
    if part != EXPERIMENTS || name.ends_with(".toml") {
        into.push(path.to_owned());
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn put(archive: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a file of sources is small");
    archive.extend_from_slice(&length.to_le_bytes());
    archive.extend_from_slice(bytes);
}

/// Every file of an archive: its path, with `/` between folders, and its bytes; `None` where it is none.
pub fn unpack(mut archive: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut files = Vec::new();
    while !archive.is_empty() {
        let path = std::str::from_utf8(take(&mut archive)?).ok()?;
        files.push((path, take(&mut archive)?));
    }
    Some(files)
}

fn take<'a>(archive: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = archive.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (bytes, rest) = rest.split_at_checked(length)?;
    *archive = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_holds_what_is_compiled_and_no_tests() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let archive = pack(root).unwrap();
        assert_eq!(archive, pack(root).unwrap());
        let files = unpack(&archive).unwrap();
        let find = |path: &str| files.iter().find(|(found, _)| *found == path);
        let (_, this) = find("crates/cli/src/carried.rs").expect("this file");
        assert_eq!(*this, include_bytes!("carried.rs"));
        assert!(find("Cargo.lock").is_some() && find("crates/py/Cargo.toml").is_none());
        let within = |path: &str| files.iter().any(|(found, _)| found.contains(path));
        assert!(within("/scenarios/incast.toml") && !within("result.md"));
        let tests = |(path, _): &&(&str, &[u8])| path.contains("/tests/");
        let tests: Vec<_> = files.iter().filter(tests).map(|(path, _)| *path).collect();
        assert_eq!(tests, ["examples/fixed-window/tests/conformance.rs"]);
        // What begins and does not end is no archive.
        assert_eq!(unpack(&archive[..archive.len() - 1]), None);
        assert_eq!(unpack(&[9, 0, 0, 0, b'a']), None);
        assert_eq!(unpack(&[]), Some(Vec::new()));
    }
}
