//! The longest queues of a run.

use crate::record::PortRow;
use crate::summary::QueueMax;

/// The fullest port of a switch.
pub(crate) fn queue_max(ports: &[PortRow]) -> Option<QueueMax> {
    // The first of several equally full ones.
    let fullest = ports
        .iter()
        .filter(|port| !port.of_host())
        .max_by_key(|port| (port.queue_max, std::cmp::Reverse(port.link)))?;
    Some(QueueMax {
        bytes: fullest.queue_max,
        port: fullest.name(),
    })
}

/// The one that held the most data, where that was asked for.
pub(crate) fn data_queue_max(ports: &[PortRow]) -> Option<QueueMax> {
    let asked = ports.iter().filter_map(|port| Some((port.data_max?, port)));
    let (bytes, fullest) =
        asked.max_by_key(|&(most, port)| (most, std::cmp::Reverse(port.link)))?;
    let port = fullest.name();
    Some(QueueMax { bytes, port })
}
