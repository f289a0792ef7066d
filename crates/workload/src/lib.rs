//! What is sent: message sizes, arrival times and traffic patterns, as a list of messages.
//!
//! A generator is a pure function of its numbers and a seed, and gives a [`Traffic`]: connections,
//! and the messages on them in the order in which they start. Parts are put together by
//! [`Traffic::merge`]. Nothing here knows packets, except through what a frame adds on the wire.
//!
//! ```
//! use model::Encap;
//! use units::{Rate, Span, Time};
//! use workload::*;
//!
//! let fabric = Fabric {
//!     hosts: 16,
//!     host_rate: Rate::gbps(160),
//!     uplink_rate: Rate(0), // all behind one switch
//!     crossing: 0.0,
//! };
//! let background = RandomFlows {
//!     fabric,
//!     dist: sizes::named("web-search").expect("it comes with tidegate"),
//!     load: Load::of_hosts(0.5),
//!     encap: Encap::PAPER,
//!     arrivals: Arrivals { gaps: Gaps::Poisson, per: Per::Host },
//!     start: Time::ZERO,
//!     until: Until::Count(1000),
//!     tag: "background".into(),
//! };
//! let incast = Incast {
//!     hosts: 16,
//!     receiver: Some(0),
//!     senders: 15,
//!     pick: Pick::InOrder,
//!     bytes: 30_000,
//!     start: Time::ZERO + Span::ms(1),
//!     jitter: Span::ZERO,
//!     tag: "incast".into(),
//! };
//! let seed = 1;
//! let traffic = Traffic::merge([
//!     background.generate(part_seed(seed, 0))?,
//!     incast.generate(part_seed(seed, 1))?,
//! ])?;
//! assert_eq!(traffic.messages.len(), 1015);
//! # Ok::<(), WorkloadError>(())
//! ```

mod arrivals;
mod cdf;
mod dist;
mod files;
mod flows;
mod htsim;
mod incast;
mod load;
mod patterns;
pub mod sizes;
mod traffic;

pub use arrivals::{Arrivals, Gaps, Per, SIGMA_MAX};
pub use cdf::{Cdf, CdfOptions, Dialect, SizeUnit, parse_cdf};
pub use dist::{Interp, Point, SIZE_MAX, SizeDist, Tail};
pub use files::{FlowFile, parse_csv, parse_hpcc, write_csv, write_hpcc};
pub use flows::{RandomFlows, Until};
pub use htsim::{StartUnit, parse_cm};
pub use incast::{Incast, IncastBursts, Pacing, Pick, RecurringIncast, RequestResponse};
pub use load::{Fabric, Load, LoadBasis};
pub use patterns::{Leave, Partner, Permutation, Shuffle, Staircase};
pub use traffic::{
    Conn, ENDLESS, MESSAGES_MAX, Message, Milestone, Start, Traffic, Trigger, part_seed,
};
pub use units::text::TextError;

use std::fmt;

/// Why a workload cannot be made, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError(pub String);

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for WorkloadError {}
