//! Organs that transports share.

pub mod aside;
pub mod credit_gate;
pub mod forms;
pub mod keys;
pub mod packet_queue;
pub mod pre_credit;
pub mod range_set;
pub mod reassembly;
pub mod slab;
pub mod timers;
