//! How the messages and queues of a run are distributed, in few numbers: the content of `curves.json`.
//!
//! A page draws several runs over each other from these files alone; it neither repeats a run nor reads its tables.

use crate::kind::{InBytes, Ps, Ratio, TenThousandth, Which};
use crate::record::{FlowRow, RunRecord};
use crate::sizes::SizeBin;
use crate::stats::{Figure, Sorted, Value};
use crate::summary::{Summary, active, counts, fct, slowdown};
use serde::{Deserialize, Serialize};
use units::Time;

/// Version of the layout of `curves.json`.
pub const CURVES_SCHEMA: u32 = 1;

/// Moments of a queue over time, at most: what a chart of half a page can tell apart. [ours]
const MOMENTS_MAX: usize = 160;

/// Distributions of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Version of this layout.
    pub schema: Which,
    /// The run's, as its summary has it.
    pub fingerprint: String,
    /// Where the quantiles below stand, in ten-thousandths of the messages.
    pub shares: Vec<TenThousandth>,
    /// By size, all sizes first; ranges without messages are left out.
    pub sizes: Vec<SizeCurves>,
    /// The fullest port of a switch over time, where ports were sampled.
    pub queue: Option<QueueCurve>,
}

/// Quantiles of the messages of a range of sizes, by nearest rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeCurves {
    /// The range, as [`SizeBin::name`] has it.
    pub name: String,
    /// The range in words.
    pub label: String,
    /// Messages, unfinished ones included.
    pub messages: u64,
    /// Completion times in picoseconds.
    pub fct_ps: Vec<Ps>,
    /// So many of them, from the first on, are exact; the rest are lower bounds.
    pub fct_exact: usize,
    /// Completion time over that in an idle network.
    pub slowdown: Vec<Ratio>,
    /// So many of them, from the first on, are exact; the rest are lower bounds.
    pub slowdown_exact: usize,
    /// What the same messages would take in an idle network, in picoseconds.
    pub ideal_ps: Vec<Ps>,
}

/// Bytes that waited in the fullest port of a switch, moment by moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCurve {
    /// The first moment begins here.
    pub from_ps: Ps,
    /// The last one ends here; all are equally long.
    pub until_ps: Ps,
    /// The most bytes of any one port within each moment, of those that were sampled.
    pub most: Vec<InBytes>,
}

/// Every share at which a quantile stands: closer towards both ends, where curves are looked at.
fn shares() -> Vec<u32> {
    let body = (1..=36).map(|step| step * 250);
    let tail = (91..=99).map(|step| step * 100);
    let head = [0, 50, 100].into_iter();
    head.chain(body)
        .chain(tail)
        .chain([9_950, 9_990, 9_999, 10_000])
        .collect()
}

impl Curves {
    /// The curves of `run`, whose summary is `summary`.
    pub fn of(run: &RunRecord, summary: &Summary) -> Self {
        let shares = shares();
        let counted: Vec<&FlowRow> = run
            .flows
            .iter()
            .filter(|flow| counts(flow, &run.window))
            .collect();
        let mut sizes: Vec<SizeCurves> = Vec::new();
        for bin in &summary.sizes {
            // A bin that has all of them has the curves of all.
            let all = sizes.first().filter(|all| all.messages == bin.messages);
            let of_all = all.map(|all| SizeCurves {
                name: bin.name.clone(),
                label: bin.label(),
                ..all.clone()
            });
            sizes.extend(of_all.or_else(|| of_bin(bin, &counted, run.end, &shares)));
        }
        Self {
            schema: CURVES_SCHEMA,
            fingerprint: summary.fingerprint.clone(),
            sizes,
            shares,
            queue: queue(run),
        }
    }
}

fn of_bin(bin: &SizeBin, counted: &[&FlowRow], end: Time, shares: &[u32]) -> Option<SizeCurves> {
    let (mut times, mut slowdowns, mut ideals) = (Vec::new(), Vec::new(), Vec::new());
    for flow in counted.iter().filter(|flow| bin.holds(flow.size)) {
        let (Some(took), Some(slow)) = (fct(flow, end), slowdown(flow, end)) else {
            continue;
        };
        times.push(took);
        slowdowns.push(slow);
        ideals.push(Figure::exact(flow.ideal.0));
    }
    if times.is_empty() {
        return None;
    }
    let messages = times.len() as u64;
    let (fct_ps, fct_exact) = quantiles(times, shares);
    let (slowdown, slowdown_exact) = quantiles(slowdowns, shares);
    Some(SizeCurves {
        name: bin.name.clone(),
        label: bin.label(),
        messages,
        fct_ps,
        fct_exact,
        slowdown,
        slowdown_exact,
        ideal_ps: quantiles(ideals, shares).0,
    })
}

/// The quantiles at `shares`, and how many of them are exact.
fn quantiles<T: Value>(values: Vec<Figure<T>>, shares: &[u32]) -> (Vec<T>, usize) {
    let sorted = Sorted::new(values);
    let found: Vec<Figure<T>> = shares.iter().map(|&share| sorted.quantile(share)).collect();
    let exact = found.iter().take_while(|figure| !figure.at_least).count();
    (found.iter().map(|figure| figure.value).collect(), exact)
}

fn queue(run: &RunRecord) -> Option<QueueCurve> {
    let (first, last) = active(run)?;
    let of_switch = |link: u32| !run.ports[link as usize].of_host();
    let series = &run.port_series;
    let times = series.moments();
    let shown = times.partition_point(|&at| at < first)..times.partition_point(|&at| at <= last);
    let moments = shown.len().min(MOMENTS_MAX);
    if moments < 2 || !series.links().any(of_switch) {
        return None;
    }
    let moment = |at: Time| {
        let share = u128::from(at.since(first).0) * moments as u128;
        let moment = share / (u128::from(last.since(first).0) + 1);
        usize::try_from(moment).expect("an index below the number of moments")
    };
    let mut most = vec![0; moments];
    series.each_stretch(|link, during, row| {
        if row.queue == 0 || !of_switch(link) {
            return;
        }
        let during = during.start.max(shown.start)..during.end.min(shown.end);
        for &at in times.get(during).unwrap_or_default() {
            let most = &mut most[moment(at)];
            *most = row.queue.max(*most);
        }
    });
    Some(QueueCurve {
        from_ps: first.0,
        until_ps: last.0,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_ascend_from_the_first_message_to_the_last() {
        let shares = shares();
        assert!(shares.is_sorted_by(|a, b| a < b), "{shares:?}");
        assert_eq!((shares[0], shares[shares.len() - 1]), (0, 10_000));
        for wanted in [5_000, 9_000, 9_500, 9_900, 9_990] {
            assert!(shares.contains(&wanted), "{wanted}");
        }
    }

    #[test]
    fn what_rests_on_unfinished_messages_is_told_from_what_is_exact() {
        let figure = |value, at_least| Figure { value, at_least };
        let values = (0..100).map(|i| figure(i, i >= 90)).collect();
        let shares = [0, 5_000, 9_000, 9_100, 10_000];
        let (found, exact) = quantiles::<u64>(values, &shares);
        assert_eq!(found, [0, 49, 89, 90, 99]);
        assert_eq!(exact, 3);
    }
}
