//! A transport for tidegate, in its own crate. `src/main.rs` is tidegate with it, and
//! `tests/conformance.rs` holds it against what every transport must do.

pub mod fixed_window;

pub use fixed_window::TRANSPORT;
