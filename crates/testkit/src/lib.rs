//! What every transport is tested with: ladders, scripted network faults, an exactly-once oracle
//! and a fuzzing harness. It knows the contract (`model`) and no transport.
//!
//! [`Pair`] joins endpoints by ideal lines and drives them exactly as the engine does. A test
//! writes down what the application does and what the network does to packets, runs, and compares
//! the conversation with a snapshot:
//!
//! ```no_run
//! # let make: &dyn Fn(&model::EndpointConfig) -> Box<dyn model::Endpoint> = todo!();
//! # let codec: &'static dyn model::wire::Codec = todo!();
//! use testkit::{A, B, Pair};
//! use units::Time;
//!
//! let mut pair = Pair::new(make, codec);
//! pair.message(Time::ZERO, A, B, 4_000);
//! pair.lose(("CREDIT", 2)); // the second packet whose description starts with CREDIT
//! pair.run();
//! println!("{}", pair.ladder());
//! ```
//!
//! Every run checks, without being asked: `check()` after every call, a codec round trip of every
//! packet, no deadline storm, every byte accepted exactly once, messages received in order with
//! the right length and before they count as sent, and that the run ends with every message
//! delivered. A violation panics with the end of the ladder and what every host waits for.

mod alone;
pub mod conformance;
mod conversation;
mod digest;
mod examine;
mod fault;
mod feed;
mod ladder;
mod oracle;
mod pair;
mod shown;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use alone::Alone;
pub use conversation::conversation;
pub use fault::{Chaos, Which};
pub use feed::{Fed, feed};
pub use ladder::host_name;
pub use pair::{Make, Pair, Unfinished};
pub use shown::{ladder, same, shown};

use model::HostId;

/// The first host, which most tests let send.
pub const A: HostId = HostId(0);
/// The second host.
pub const B: HostId = HostId(1);
/// The third host.
pub const C: HostId = HostId(2);
