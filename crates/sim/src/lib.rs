//! The simulator: every node a small sequential machine, no global event queue.
//!
//! Time advances in windows no longer than the shortest link is deep, so everything that a node
//! will hear within a window is known when the window opens. See `docs/engine.md`.

mod activity;
mod apart;
mod arrivals;
mod barrier;
mod beside;
mod book;
mod clock;
mod count;
mod data_queues;
mod engine;
mod fault;
mod fingerprint;
mod host;
mod laden;
mod net;
mod node;
pub mod oracle;
mod outcome;
mod placement;
mod promised;
mod ring;
mod setup;
mod sort;
mod tally;
mod trace;
mod trigger;
mod waits;
mod watched;
mod ways;
pub mod window_transport;
mod worker;

pub use engine::run;
pub use net::SetupError;
pub use setup::*;
pub use tally::Tally;
pub use trace::{PauseEvent, Pausing, TooMany, Trace, TraceEvent, Traced, Wanted, trace};
pub use waits::Locked;
