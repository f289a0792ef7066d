//! How busy the lines of links were.

use crate::kind::{InBytes, Ratio};
use crate::record::{PortRow, RunRecord};
use crate::summary::active;
use model::Class;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{PS_PER_SEC, Span};

/// Links between two tiers, in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkGroup {
    /// `host -> tor`.
    pub name: String,
    /// How many.
    pub links: u64,
    /// Mean share of the run's active time in which the line was busy.
    pub utilisation_mean: Ratio,
    /// Greatest such share.
    pub utilisation_max: Ratio,
    /// The link that has it.
    pub busiest: String,
    /// Most bytes of data that waited at once in one of the ports.
    pub queue_max: InBytes,
    /// Packets dropped, credits left out.
    pub dropped: u64,
}

/// How long the lines of ports are looked at: while messages were on their way, or until the last packet where
/// what came after the last message (farewells, repetitions) would make a line busier than it can be.
pub fn ports_span(run: &RunRecord) -> Span {
    let Some((first, last)) = active(run) else {
        return Span::ZERO;
    };
    let span = last.since(first);
    if run.ports.iter().all(|port| utilisation(port, span) <= 1.0) {
        return span;
    }
    run.end.since(first)
}

/// Share of `span` in which the line of `port` was busy. Of a frame that is on the line at its beginning or at its end
/// that part counts which is on it within.
pub fn utilisation(port: &PortRow, span: Span) -> f64 {
    let of = |span: Span| u128::from(port.rate.0) * u128::from(span.0);
    share(
        bits(port.bytes.sum()) + of(port.ahead),
        of(port.rest),
        of(span),
    )
}

/// Share of `span` that `bytes` take on the line of `port`.
pub(crate) fn line_share(port: &PortRow, bytes: u64, span: Span) -> f64 {
    let could = u128::from(port.rate.0) * u128::from(span.0);
    share(bits(bytes), 0, could)
}

/// Bits of `bytes`, times the picoseconds of a second.
fn bits(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(PS_PER_SEC)
}

fn share(began: u128, rest: u128, could: u128) -> f64 {
    if could == 0 {
        0.0
    } else {
        began.saturating_sub(rest) as f64 / could as f64
    }
}

/// What a node is, after its name without the number: `tor`, `spine`.
fn kind(name: &str, tier: u8) -> &str {
    match (tier, name.trim_end_matches(|c: char| c.is_ascii_digit())) {
        (0, _) => "host",
        (_, "") => "switch",
        (_, kind) => kind,
    }
}

/// The name of the links between two tiers in one direction, after one of them.
pub fn link_group_name(port: &PortRow) -> String {
    format!(
        "{} -> {}",
        kind(&port.from, port.from_tier),
        kind(&port.to, port.to_tier)
    )
}

/// Links by the tiers that they join.
pub(crate) fn groups(run: &RunRecord) -> Vec<LinkGroup> {
    let span = ports_span(run);
    let mut groups: BTreeMap<(u8, u8), Vec<&PortRow>> = BTreeMap::new();
    for port in &run.ports {
        groups
            .entry((port.from_tier, port.to_tier))
            .or_default()
            .push(port);
    }
    let group = |ports: Vec<&PortRow>| {
        let shares: Vec<f64> = ports.iter().map(|port| utilisation(port, span)).collect();
        // Of equals the first, so that the name does not depend on how many there are.
        let busiest =
            (1..ports.len()).fold(0, |best, i| if shares[i] > shares[best] { i } else { best });
        let dropped: u64 = ports.iter().map(|port| port.dropped.sum()).sum();
        let credits: u64 = ports.iter().map(|port| port.dropped[Class::Credit]).sum();
        LinkGroup {
            name: link_group_name(ports[0]),
            links: ports.len() as u64,
            utilisation_mean: shares.iter().sum::<f64>() / ports.len() as f64,
            utilisation_max: shares[busiest],
            busiest: ports[busiest].name(),
            queue_max: ports.iter().map(|port| port.queue_max).max().unwrap_or(0),
            dropped: dropped - credits,
        }
    };
    groups.into_values().map(group).collect()
}
