#![doc = include_str!("../README.md")]

pub mod announced;
pub mod arriving;
pub mod ascending;
pub mod aside;
#[cfg(test)]
mod bench;
pub mod connections;
mod control;
pub mod credit_gate;
mod declared;
pub mod forms;
pub mod go_back;
pub mod held;
pub mod host;
pub mod host_delay;
pub mod keys;
pub mod line;
pub mod lingering;
pub mod packet_queue;
pub mod pre_credit;
pub mod range_set;
pub mod reassembly;
pub mod selective;
pub mod slab;
pub mod smoothed;
pub mod timers;
pub mod tokened;
mod transport;
pub mod turns;
pub mod waiting;

pub use control::{Caution, Control, ControlFactory, LINK_FRAME, Neighbour, Place};
pub use declared::{Declared, Described, Entry, outlives};
pub use transport::{
    Crowd, Fabric, Factory, Impatience, NO_CONTROL, Pacing, ParamError, Parameter, Protected,
    Refusal, Registry, Transport, Unread, unread,
};
