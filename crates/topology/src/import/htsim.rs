//! htsim's fat trees (`.topo`): a head, and a section per tier of switches.
//!
//! ```text
//! Nodes 32            Tier 0                       Tier 1
//! Tiers 2             Downlink_speed_Gbps 100      Downlink_speed_Gbps 100
//! Podsize 32          Radix_Down 8                 Radix_Down 4
//!                     Radix_Up 2                   Downlink_Latency_ns 1000
//!                     Downlink_Latency_ns 1000
//!                     Oversubscribed 4
//! ```
//!
//! (one per line). Hosts under `Radix_Down` of tier 0 share a top-of-rack switch, `Podsize` hosts a
//! pod. Every top-of-rack switch is joined to every aggregation switch of its pod by `Bundle` cables
//! of tier 1, and aggregation switch i of a pod to every n-th core from i on, n being the
//! aggregation switches of a pod. The latency of a switch is met once by every packet that crosses
//! it; here half of it stands on each cable at the switch, which is the same for every path.
//! [htsim, `fat_tree_topology.cpp`]

use crate::{Cable, Graph, GraphNode, HOSTS_MAX, NodeKind, PortOrder, TextError};
use units::text::{Field, lines};
use units::{Rate, Span};

/// Keys of a tier, as numbers; the last three have defaults.
const KEYS: [&str; 7] = [
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
];
const SPEED: usize = 0;
const DOWN: usize = 1;
const UP: usize = 2;
const LATENCY: usize = 3;
const SWITCH_LATENCY: usize = 4;
const OVERSUBSCRIBED: usize = 5;
const BUNDLE: usize = 6;

/// One tier: where it is named, and what each of [`KEYS`] says.
struct Tier<'a> {
    place: Field<'a>,
    values: [Option<(Field<'a>, u32)>; 7],
}

impl Tier<'_> {
    fn get(&self, key: usize, default: Option<u32>) -> Result<u32, TextError> {
        let missing = || {
            let message = format!("tier {} has no {}", self.place.text, KEYS[key]);
            self.place.error(message)
        };
        self.values[key]
            .map(|(_, value)| value)
            .or(default)
            .ok_or_else(missing)
    }

    /// Where a key is written, else where the tier is.
    fn at(&self, key: usize) -> Field<'_> {
        self.values[key].map_or(self.place, |(field, _)| field)
    }
}

/// Reads `text`; `name` becomes the topology's name.
///
/// # Errors
/// With the line and column of whatever cannot be understood or built.
pub fn parse(name: &str, text: &str) -> Result<Graph, TextError> {
    let (mut nodes, mut tiers_said, mut podsize) = (None, None, None);
    let mut tiers: Vec<Tier<'_>> = Vec::new();
    for row in lines(text) {
        let [key, value] = row[..] else {
            return Err(row[0].error("write a key and a value on each line, like Radix_Down 8"));
        };
        let word = key.text.to_lowercase();
        let number = || value.number("a number");
        let head = match word.as_str() {
            "nodes" => Some(&mut nodes),
            "tiers" => Some(&mut tiers_said),
            "podsize" => Some(&mut podsize),
            _ => None,
        };
        if let Some(slot) = head {
            *slot = Some((value, number()?));
        } else if word == "tier" {
            if number()? as usize != tiers.len() {
                return Err(value.error(format!("tier {} comes next", tiers.len())));
            }
            tiers.push(Tier {
                place: value,
                values: [None; 7],
            });
        } else if word == "queue_up" || word == "queue_down" {
            return Err(key.error(
                "buffers are the scenario's: remove the line and write buffer = \"...\" in [switch]",
            ));
        } else {
            let known = KEYS.iter().position(|known| **known == word);
            let (Some(place), Some(tier)) = (known, tiers.last_mut()) else {
                let message = format!(
                    "there is no key {} here; a tier has {}",
                    key.text,
                    KEYS.join(", ")
                );
                return Err(key.error(message));
            };
            if tier.values[place].is_some() {
                return Err(key.error(format!("{} is there already", key.text)));
            }
            if number()? == 0 && place != SWITCH_LATENCY {
                return Err(value.error("write at least 1"));
            }
            tier.values[place] = Some((value, number()?));
        }
    }
    let need = |what: &str, slot: Option<(_, u32)>| {
        slot.ok_or_else(|| TextError {
            line: 1,
            column: 1,
            message: format!("the head lacks {what}"),
        })
    };
    let (count, podsize) = (need("Nodes", nodes)?, need("Podsize", podsize)?);
    let (at, said) = need("Tiers", tiers_said)?;
    if !(2..=3).contains(&said) || said as usize != tiers.len() {
        let message = format!(
            "{said} tiers announced, {} described; 2 or 3 are possible",
            tiers.len()
        );
        return Err(at.error(message));
    }
    if count.1 == 0 || count.1 > HOSTS_MAX {
        return Err(count.0.error(format!("write 1 to {HOSTS_MAX} nodes")));
    }
    Plan::new(count, podsize, &tiers)?.build(name, &tiers)
}

/// `whole / part` where that leaves no rest.
fn share(at: Field<'_>, what: &str, whole: u32, part: u32) -> Result<u32, TextError> {
    if part == 0 || whole == 0 || !whole.is_multiple_of(part) {
        return Err(at.error(format!("{what}: {whole} is no multiple of {part}")));
    }
    Ok(whole / part)
}

/// How many of everything.
struct Plan {
    hosts: u32,
    tors: u32,
    tors_per_pod: u32,
    aggs: u32,
    aggs_per_pod: u32,
    cores: u32,
}

impl Plan {
    fn new(
        (at_hosts, hosts): (Field<'_>, u32),
        (at_pod, podsize): (Field<'_>, u32),
        tiers: &[Tier<'_>],
    ) -> Result<Self, TextError> {
        let pods = share(at_hosts, "hosts and Podsize", hosts, podsize)?;
        let (tor, agg) = (&tiers[0], &tiers[1]);
        let down = tor.get(DOWN, None)?;
        let tors_per_pod = share(at_pod, "Podsize and Radix_Down", podsize, down)?;
        let (up, bundle) = (tor.get(UP, None)?, agg.get(BUNDLE, Some(1))?);
        let aggs_per_pod = share(
            tor.at(UP),
            "Radix_Up and the next tier's Bundle",
            up,
            bundle,
        )?;
        let said = u64::from(tor.get(OVERSUBSCRIBED, Some(1))?);
        let (below, above) = (tor.get(SPEED, None)?, agg.get(SPEED, None)?);
        if u64::from(down) * u64::from(below) != u64::from(up) * u64::from(above) * said {
            let message = format!(
                "{down} x {below} Gb/s down and {up} x {above} Gb/s up are not oversubscribed {said} times"
            );
            return Err(tor.at(OVERSUBSCRIBED).error(message));
        }
        if tor.get(BUNDLE, Some(1))? != 1 {
            return Err(tor.at(BUNDLE).error("hosts have one cable; write Bundle 1"));
        }
        let joined = u64::from(tors_per_pod) * u64::from(bundle);
        if u64::from(agg.get(DOWN, None)?) != joined {
            let message = format!("{joined} cables come from below to each switch of this tier");
            return Err(agg.at(DOWN).error(message));
        }
        let mut cores = 0;
        if let Some(core) = tiers.get(2) {
            let cables = pods
                .saturating_mul(aggs_per_pod)
                .saturating_mul(agg.get(UP, None)?);
            let down = core.get(DOWN, None)?;
            cores = share(
                core.at(DOWN),
                "cables to the cores and Radix_Down",
                cables,
                down,
            )?;
            let bundle = core.get(BUNDLE, Some(1))?;
            let per_agg = share(
                agg.at(UP),
                "Radix_Up and the next tier's Bundle",
                agg.get(UP, None)?,
                bundle,
            )?;
            if per_agg.saturating_mul(aggs_per_pod) != cores {
                let message = format!(
                    "{aggs_per_pod} switches of a pod with {per_agg} cores each make {} cores, not {cores}",
                    per_agg.saturating_mul(aggs_per_pod)
                );
                return Err(agg.at(UP).error(message));
            }
        } else if pods != 1 {
            return Err(at_pod.error("two tiers are one pod: Podsize is the number of nodes"));
        } else if agg.values[UP].is_some() {
            return Err(agg
                .at(UP)
                .error("the top tier has no cables up; remove the line"));
        }
        Ok(Self {
            hosts,
            tors: pods * tors_per_pod,
            tors_per_pod,
            aggs: pods * aggs_per_pod,
            aggs_per_pod,
            cores,
        })
    }

    fn build(&self, name: &str, tiers: &[Tier<'_>]) -> Result<Graph, TextError> {
        let switches = self.tors + self.aggs + self.cores;
        let nodes = (0..self.hosts + switches).map(|id| GraphNode {
            id,
            kind: if id < self.hosts {
                NodeKind::Host
            } else {
                NodeKind::Switch
            },
            name: None,
        });
        let latency = |tier: Option<&Tier<'_>>| match tier {
            Some(tier) => tier.get(SWITCH_LATENCY, Some(0)).map(u64::from),
            None => Ok(0),
        };
        let mut cables = Vec::new();
        // The cables below a tier; `from` is the tier below them, hosts where there is none.
        let mut lay = |tier: usize, ends: &mut dyn Iterator<Item = (u32, u32)>| {
            let above = &tiers[tier];
            let below = latency(tier.checked_sub(1).map(|below| &tiers[below]))?;
            let ns = u64::from(above.get(LATENCY, None)?);
            let rate = Rate::gbps(above.get(SPEED, None)?.into());
            let rate = super::of_a_line(rate).map_err(|why| above.at(SPEED).error(why))?;
            let cable = Cable {
                a: 0,
                b: 0,
                rate,
                delay: Span::ns(ns) + Span((latency(Some(above))? + below) * 500),
                loss_ppb: 0,
            };
            let bundle = above.get(BUNDLE, Some(1))? as usize;
            let all = ends.flat_map(|(a, b)| std::iter::repeat_n(Cable { a, b, ..cable }, bundle));
            cables.extend(all);
            Ok::<(), TextError>(())
        };
        let (first_tor, down) = (self.hosts, tiers[0].get(DOWN, None)?);
        let (first_agg, first_core) = (first_tor + self.tors, first_tor + self.tors + self.aggs);
        lay(
            0,
            &mut (0..self.hosts).map(|host| (host, first_tor + host / down)),
        )?;
        let in_pod = |tor: u32| {
            let first = first_agg + tor / self.tors_per_pod * self.aggs_per_pod;
            (first..first + self.aggs_per_pod).map(move |agg| (first_tor + tor, agg))
        };
        lay(1, &mut (0..self.tors).flat_map(in_pod))?;
        if tiers.len() == 3 {
            let every = self.aggs_per_pod;
            let up = |agg: u32| {
                let cores = (agg % every..self.cores).step_by(every as usize);
                cores.map(move |core| (first_agg + agg, first_core + core))
            };
            lay(2, &mut (0..self.aggs).flat_map(up))?;
        }
        Ok(Graph {
            name: name.to_owned(),
            nodes: nodes.collect(),
            cables,
            order: PortOrder::Neighbour,
            host_extra_delay: Span::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Routes, check_symmetry};

    const LEAF_SPINE: &str = "\
Nodes 8
Tiers 2
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 300
Oversubscribed 2

Tier 1
downlink_speed_gbps 100
Radix_Down 2
Downlink_Latency_ns 500
Switch_Latency_ns 100
";

    fn three_tiers() -> String {
        let tier = |n: u32, rest: &str| {
            format!("Tier {n}\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1000\n{rest}\n")
        };
        format!(
            "Nodes 16\nTiers 3\nPodsize 4\n{}{}{}",
            tier(0, "Radix_Down 2\nRadix_Up 2"),
            tier(1, "Radix_Down 2\nRadix_Up 2"),
            tier(2, "Radix_Down 4")
        )
    }

    #[test]
    fn two_tiers_are_a_leaf_spine_whose_switches_take_their_time_once() {
        let topology = parse("small", LEAF_SPINE).unwrap().build().unwrap();
        topology.check();
        assert_eq!((topology.hosts, topology.nodes.len()), (8, 8 + 2 + 2));
        let routes = Routes::new(&topology, &[]);
        let delay = |a: u32, b: u32| -> Span {
            let path = crate::path(&topology, &routes, a, b, 1);
            path.iter().map(|&link| topology.link(link).delay).sum()
        };
        // Two cables and a switch; four cables and three switches.
        assert_eq!(delay(0, 1), Span::ns(2 * 1000 + 300));
        assert_eq!(delay(0, 7), Span::ns(2 * 1000 + 2 * 500 + 2 * 300 + 100));
    }

    #[test]
    fn three_tiers_are_a_symmetric_fat_tree() {
        let topology = parse("k4", &three_tiers()).unwrap().build().unwrap();
        topology.check();
        let of_tier = |t: u8| topology.nodes.iter().filter(|n| n.tier == t).count();
        assert_eq!([0, 1, 2, 3].map(of_tier), [16, 8, 8, 4]);
        assert!(
            topology
                .nodes
                .iter()
                .all(|n| n.tier == 0 || n.ports.len() == 4)
        );
        let routes = Routes::new(&topology, &[]);
        assert_eq!(routes.cut_off(), None);
        assert_eq!(check_symmetry(&topology, &routes, 1_000), None);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let change = |from: &str, to: &str| {
            let text = LEAF_SPINE.replacen(from, to, 1);
            assert_ne!(text, LEAF_SPINE, "{from}");
            parse("x", &text).unwrap_err().to_string()
        };
        for (from, to, expected) in [
            ("Nodes 8\n", "", "1:1: the head lacks Nodes"),
            ("Nodes 8", "Nodes eight", "1:7: \"eight\" is not a number"),
            (
                "Nodes 8",
                "Nodes 12",
                "1:7: hosts and Podsize: 12 is no multiple of 8",
            ),
            ("Tiers 2", "Tiers 3", "2:7: 3 tiers announced, 2 described"),
            ("Radix_Up 2", "Radix_Up 2 3", "8:1: write a key and a value"),
            (
                "Radix_Up 2",
                "Radix_Sideways 2",
                "8:1: there is no key Radix_Sideways",
            ),
            (
                "Oversubscribed 2",
                "Oversubscribed 1",
                "11:16: 4 x 100 Gb/s down and 2 x 100 Gb/s up",
            ),
            (
                "Radix_Down 2",
                "Radix_Down 3",
                "15:12: 2 cables come from below",
            ),
            (
                "Switch_Latency_ns 300",
                "Queue_Up 9",
                "10:1: buffers are the scenario's",
            ),
            ("Tier 1", "Tier 2", "13:6: tier 1 comes next"),
            (
                "Downlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 300\nOversubscribed 2",
                "Downlink_speed_Gbps 8100\nRadix_Down 4\nRadix_Up 324\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 300\nOversubscribed 1",
                "6:21: no link has more than 8Tbps",
            ),
        ] {
            let error = change(from, to);
            assert!(error.starts_with(expected), "{from}: {error}");
        }
    }
}
