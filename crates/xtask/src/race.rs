//! The simulator's tests under ThreadSanitizer: every window of every run, on one to sixteen threads.

use std::path::Path;
use std::process::Command;

/// The harness hands results over through channels of a standard library that was built without the checker.
const NOT_OURS: &str = "race:std::sync::mpmc\nrace:test::\n";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the crate with the checker and runs its tests; a race is printed where it happens.
///
/// # Errors
/// What could not be run, or that a test or the checker found something.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let target = root.join("target/race");
    std::fs::create_dir_all(&target)
        .map_err(|e| format!("cannot make {}: {e}", target.display()))?;
    let suppressed = target.join("not-ours.txt");
    std::fs::write(&suppressed, NOT_OURS)
        .map_err(|e| format!("cannot write {}: {e}", suppressed.display()))?;
    let status = Command::new("cargo")
        .args(["+nightly", "test", "-p", "tidegate-sim", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "--test-threads", "1"])
        .env(
            "RUSTFLAGS",
            "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
        )
        .env(
            "TSAN_OPTIONS",
            format!(
                "suppressions={} history_size=7 halt_on_error=1",
                suppressed.display()
            ),
        )
        .current_dir(root)
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err("a test failed, a race was found, or there is no nightly toolchain (rustup toolchain install nightly)".to_owned())
}
