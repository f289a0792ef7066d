//! The vocabulary that transports, switches, the simulator and the wire drivers share.
//!
//! A transport is one [`Endpoint`] per host: a state machine without input or output of its own.
//! What a switch does is data here ([`intent`]) and a machine in `switching`. Both are told the time and
//! never ask for it, and both run unchanged in the simulator and on real wires. Nothing here knows any
//! protocol.

mod by;
mod conn_map;
mod counters;
mod cx;
mod endpoint;
mod facts;
mod gates;
pub mod intent;
mod link_credit;
mod packet;
mod reason;
mod record;
mod rng;
pub mod wire;

/// The tag of messages that a list gives none.
pub const UNTAGGED: &str = "untagged";

pub use by::{ByClass, ByReason};
pub use conn_map::ConnMap;
pub use counters::{Count, Counter, HostCounts};
pub use cx::{Cx, Event, Peers};
pub use endpoint::{Endpoint, EndpointConfig, Lifetime, Signal, StuckFlow, Totals, Transmit};
pub use facts::{Facts, Net, SizeList, Sizes};
pub use gates::{Changed, Excused, Gates, PAUSED_MAX, Seen};
pub use link_credit::{Blocks, CREDIT_LANES, CreditFrame, LinkCredits, Round};
pub use packet::{
    Class, ETHERNET, Ecn, Encap, FRAME_SMALLEST, HOSTS_MAX, LANES, Local, MTU, Packet, TTL_START,
};
pub use reason::DropReason;
pub use record::{HOPS_MAX, Hop, RECORD_MAX, Record};
pub use rng::{Rng, Streams, stream};

/// A host, numbered from 0. At most [`HOSTS_MAX`] of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u32);

/// A connection between two hosts, the same number at both ends and in both directions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnId(pub u32);
