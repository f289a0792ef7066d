#![doc = include_str!("../README.md")]

pub mod bench;
mod buffers;
mod clock;
mod config;
mod cookie;
mod driver;
mod faults;
mod peers;
mod socket;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use buffers::{Files, Hashes, Memory, Nothing, REASSEMBLY_MAX, Random, Sink, Source};
pub use clock::Clock;
pub use config::{DriveError, DriverConfig, News, Stats, check_transport};
pub use cookie::Reason;
pub use driver::Driver;
pub use faults::{FaultConfig, FaultCounts};
pub use peers::{CONNS_MAX, CONNS_PER_PEER_MAX, PEERS_MAX, number, we_opened};
pub use socket::DATAGRAM_MAX;
