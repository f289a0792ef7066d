//! What one thread holds while it runs nodes.

use crate::apart::ByPort;
use crate::arrivals::Inbox;
use crate::beside::{Companion, Due};
use crate::node::Log;
use crate::ring::Pool;
use model::Packet;

/// One thread's belongings.
pub(crate) struct Worker {
    pub(crate) thread: usize,
    pub(crate) pool: Pool,
    pub(crate) scratch: Scratch,
}

/// What it writes while it runs one node.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) log: Log,
    /// What came to a host, in order.
    pub(crate) arrived: Vec<*mut Packet>,
    /// What came to a switch.
    pub(crate) inbox: Inbox,
    pub(crate) due: Vec<Due>,
    pub(crate) beside: Pool<Companion>,
    pub(crate) by_port: ByPort,
}

// SAFETY: the pointers in `arrived`, `inbox` and `by_port` live within one call of `Net::run_node`.
unsafe impl Send for Worker {}

impl Worker {
    pub(crate) fn new(thread: usize) -> Self {
        Self {
            thread,
            pool: Pool::default(),
            scratch: Scratch::default(),
        }
    }
}
