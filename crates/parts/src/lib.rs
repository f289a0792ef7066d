//! What a transport is made of: the organs that transports share, their parameters, and the traits by which
//! the program knows them and flow controls. It knows no protocol, so a transport outside this repository needs
//! nothing else.

pub mod arriving;
pub mod aside;
#[cfg(test)]
mod bench;
pub mod connections;
mod control;
pub mod credit_gate;
pub mod forms;
pub mod go_back;
pub mod host;
pub mod keys;
pub mod lingering;
pub mod packet_queue;
pub mod pre_credit;
pub mod range_set;
pub mod reassembly;
pub mod selective;
pub mod slab;
pub mod timers;
mod transport;
pub mod waiting;

pub use control::{Control, ControlFactory, Neighbour, Place};
pub use transport::{
    Fabric, Factory, NO_CONTROL, ParamError, Parameter, Refusal, Registry, Transport,
};
