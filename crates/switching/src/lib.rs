//! What an egress port can do: one file per mechanism, all driven by the caller's clock.
//!
//! [`build`] turns an intent ([`PortSpec`]) into the cheapest thing that does it: a [`Fifo`] rule,
//! whose departures are known at arrival, or a [`QueueDisc`] that chooses as late as it can.

mod bucket;
mod credit_port;
mod data_part;
mod data_queue;
mod fifo;
mod priority;
mod selective;

pub use bucket::CreditBucket;
pub use credit_port::CreditPort;
pub use data_part::DataPart;
pub use data_queue::DataQueue;
pub use fifo::{Admission, Fifo};
pub use priority::StrictPriority;
pub use selective::{Colour, Decision, Selective};

use model::intent::{DropMeasure, MarkAt, PortSpec};
use model::{QueueDisc, Rng};
use units::LineTime;

/// What a port is made of.
pub enum Port {
    /// One first-in first-out queue whose future nothing can change.
    Fifo(Fifo),
    /// Anything else.
    Disc(Box<dyn QueueDisc>),
}

/// Builds what `spec` asks for on a line of `line`. `coupled` ports share a buffer, so nothing
/// about their departures is known at arrival.
pub fn build(spec: &PortSpec, line: LineTime, rng: Rng, coupled: bool) -> Port {
    let late = coupled
        || spec.mark.is_some_and(|mark| mark.at == MarkAt::Dequeue)
        || spec
            .drop
            .is_some_and(|drop| drop.measure == DropMeasure::VictimOnly);
    if let Some(credit) = spec.credit {
        Port::Disc(Box::new(CreditPort::new(
            credit,
            line,
            DataPart::new(spec, rng),
        )))
    } else if spec.priorities > 1 {
        Port::Disc(Box::new(StrictPriority::new(spec, &rng)))
    } else if spec.background.is_some() || spec.legacy.is_some() {
        Port::Disc(Box::new(DataPart::new(spec, rng)))
    } else if late {
        Port::Disc(Box::new(DataQueue::new(spec, rng)))
    } else {
        Port::Fifo(Fifo::new(spec, rng))
    }
}
