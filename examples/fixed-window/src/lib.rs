//! A transport for tidegate, in its own crate: README.md says which file holds what.

pub mod fixed_window;

pub use fixed_window::TRANSPORT;
