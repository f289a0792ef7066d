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

/// What waits in all ports of a top-of-rack switch together, at each sample in the window, of every one.
pub(super) fn queues_of_tors(
    record: &RunRecord,
    window: Option<Span2>,
) -> impl Iterator<Item = u64> {
    let (from, until) = bounds(record, window);
    let tors: BTreeMap<_, &str> = switch_ports(record)
        .filter(|port| port.from_tier == 1)
        .map(|port| (port.link, port.from.as_str()))
        .collect();
    let mut waiting = BTreeMap::new();
    for row in &record.port_series {
        if from <= row.at
            && row.at <= until
            && let Some(&tor) = tors.get(&row.link)
        {
            *waiting.entry((row.at, tor)).or_insert(0) += row.queue;
        }
    }
    waiting.into_values()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two incasts of eight at once: what waits at one switch is the sum of both queues, and at two switches each its own.
    #[test]
    fn queues_are_summed_by_their_switch() {
        let high = |topology: &str| {
            let incast =
                "[[workload]]\nkind = \"incast\"\nsenders = 8\nsize = \"20KB\"\nreceiver = ";
            let text = format!(
                "[topology]\n{topology}\n{incast}0\n{incast}9\n[transport]\nkind = \"dctcp\"\n[output]\nevery = \
                 \"1us\"\n"
            );
            let plan = scenario::load_text("x", &text, &[]).and_then(scenario::Scenario::assemble);
            let record = plan.and_then(|plan| plan.run(1, "", &mut scenario::Alone));
            let record = record.unwrap_or_else(|errors| panic!("{errors}"));
            let one = longest_queues(&record, None).max().unwrap_or(0);
            (one, queues_of_tors(&record, None).max().unwrap_or(0))
        };
        let (one, all) = high("kind = \"star\"\nhosts = 18");
        assert!(one > 20_000 && all == 2 * one, "{one} {all}");
        let (one, all) = high("kind = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 9\nspines = 1");
        assert!(one > 20_000 && all == one, "{one} {all}");
    }
}
