//! The first-in first-out port that keeps no packets.

use crate::admission::Admission;
use model::Rng;
use model::intent::QueueSpec;

/// A first-in first-out port: when a packet arrives, its departure is known, so nothing is kept.
///
/// Its queue is time: what waits is what the line still needs, the frame on it included.
#[derive(Clone, Debug)]
pub struct Fifo {
    /// Who may join.
    pub admission: Admission,
}

impl Fifo {
    /// The port whose only queue is `spec`, with room for `limit` bytes.
    pub fn new(spec: &QueueSpec, limit: u64, rng: Rng) -> Self {
        Self {
            admission: Admission::new(spec, limit, rng),
        }
    }
}
