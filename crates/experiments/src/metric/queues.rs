//! Queues over the samples of a run.

use super::{Span2, bounds, switch_ports};
use results::RunRecord;
use std::collections::{BTreeMap, BTreeSet};

/// The longest queue of switch ports, at each sample in the window.
pub(super) fn longest_queues(
    record: &RunRecord,
    window: Option<Span2>,
) -> impl Iterator<Item = u64> {
    let (from, until) = bounds(record, window);
    let links: BTreeSet<_> = switch_ports(record).map(|port| port.link).collect();
    let mut longest = BTreeMap::new();
    for row in &record.port_series {
        if from <= row.at && row.at <= until && links.contains(&row.link) {
            let queue = longest.entry(row.at).or_insert(0);
            *queue = row.queue.max(*queue);
        }
    }
    longest.into_values()
}

/// The mean queue of each switch port over the samples in the window.
pub(super) fn mean_queues(record: &RunRecord, window: Option<Span2>) -> Vec<f64> {
    let (from, until) = bounds(record, window);
    let mut sums: BTreeMap<_, (f64, f64)> = switch_ports(record)
        .map(|port| (port.link, (0.0, 0.0)))
        .collect();
    for row in record
        .port_series
        .iter()
        .filter(|row| from <= row.at && row.at <= until)
    {
        if let Some((sum, samples)) = sums.get_mut(&row.link) {
            *sum += row.queue as f64;
            *samples += 1.0;
        }
    }
    let sampled = sums.into_values().filter(|&(_, samples)| samples > 0.0);
    sampled.map(|(sum, samples)| sum / samples).collect()
}
