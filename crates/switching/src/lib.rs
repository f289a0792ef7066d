//! What a switch does: a machine without input or output, driven by the caller's clock.
//!
//! [`Switch`] takes arrivals and gives packets, losses and frames of its flow control. A [`Port`] of it is
//! built from an intent ([`PortSpec`](model::intent::PortSpec)) as the cheapest thing that does it: a rule
//! whose departures are known at arrival, one of some common forms, or any list of queues. One file per
//! mechanism.

mod accounts;
mod admission;
mod ahead;
mod balance;
mod bucket;
mod common;
mod credit_port;
mod data_queue;
mod discipline;
mod due;
mod fifo;
mod flow_control;
mod form;
mod numbered;
mod packets;
mod port;
mod priority;
mod queues;
mod selective;
mod stands;
mod store;
mod switch;
mod trimming;
mod turns;
mod watch;

pub use accounts::{Holder, Peak};
pub use admission::{Admission, Level};
pub use ahead::fetch;
pub use bucket::CreditBucket;
pub use credit_port::CreditPort;
pub use data_queue::DataQueue;
pub use discipline::{Backlog, Dequeue, Discipline, Gate, GateOf, GateState, OnLine, Verdict};
pub use fifo::Fifo;
pub use flow_control::{Coming, FlowControl, Passage, Say};
pub use form::{Apart, Form, Wants};
pub use port::{Counters, HeldPacket, Port, Sent};
pub use priority::StrictPriority;
pub use queues::{Queues, Spilled};
pub use selective::{Colour, Decision, Selective};
pub use store::Paused;
pub use switch::{Line, Loss, Outlet, Routing, Switch};
pub use trimming::Trimming;
pub use watch::{Note, Noted, Sake};
