//! The simulator as a page: an engine that answers requests in JSON, as WebAssembly in a browser or
//! natively in a test, and the page around it.
//!
//! The engine knows no file, no clock and no thread. [`Engine::answer`] is its whole interface; for
//! the target `wasm32-unknown-unknown` module `wasm` exports it as plain functions.

mod engine;
mod network;
#[cfg(not(target_arch = "wasm32"))]
mod page;
#[cfg(target_arch = "wasm32")]
mod wasm;

pub use engine::{Engine, MEMORY_MAX, SOURCES, told};
#[cfg(not(target_arch = "wasm32"))]
pub use page::{Live, MADE_OF, PRODUCT, live, playground, stale};
