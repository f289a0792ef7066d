//! The program `tidegate`.

/// What `tidegate new-transport` writes beside a new crate: `build.rs` packs it.
#[cfg(feature = "sources")]
static SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources"));

fn main() -> std::process::ExitCode {
    #[cfg(feature = "sources")]
    tidegate_cli::carries(SOURCES);
    tidegate_cli::run(&transports::registry())
}
