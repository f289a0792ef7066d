#![doc = include_str!("../README.md")]

pub mod bench;
mod buffers;
mod clock;
mod config;
mod cookie;
mod driver;
mod faults;
mod feed;
mod forward;
mod memory;
mod peers;
mod socket;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
mod wire;

pub use buffers::{Files, Hashes, Memory, Nothing, REASSEMBLY_MAX, Random, Sink, Source};
pub use clock::Clock;
pub use config::{DriveError, DriverConfig, Known, News, Stats, check_transport};
pub use cookie::Reason;
pub use driver::Driver;
pub use faults::{FaultConfig, FaultCounts};
pub use feed::feed;
pub use forward::{Forwarded, Forwarder};
pub use memory::{Hub, Port};
pub use peers::{
    CONNS_MAX, CONNS_PER_ADDR_MAX, CONNS_PER_PEER_MAX, LINGERING_MAX, PEERS_MAX,
    PEERS_PER_ADDR_MAX, number, we_opened,
};
pub use socket::Udp;
pub use wire::{BATCH, DATAGRAM_MAX, Datagram, Fill, Sent, Wire};
