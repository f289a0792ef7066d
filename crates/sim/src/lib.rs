//! The simulator: every node a small sequential machine, no global event queue.
//!
//! Time advances in windows no longer than the shortest link is deep, so everything that a node
//! will hear within a window is known when the window opens. See `docs/engine.md`.

mod setup;
pub use setup::*;
