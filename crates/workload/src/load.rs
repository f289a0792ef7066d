//! What "load 0.6" means, in messages per second.

use crate::{SizeDist, WorkloadError};
use model::Encap;
use units::Rate;

/// What the network can carry, as far as loads are defined by it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fabric {
    /// Hosts that send and receive.
    pub hosts: u32,
    /// What all hosts together can send.
    pub host_rate: Rate,
    /// What all racks together can send to others; 0 where all hosts share a switch.
    pub uplink_rate: Rate,
    /// Share of uniformly drawn pairs of hosts that are in different racks, 0 to 1.
    pub crossing: f64,
}

/// Which capacity a load is a share of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadBasis {
    /// That of the hosts' links.
    Hosts,
    /// That of the racks' uplinks.
    Uplinks,
}

/// A load, with everything that papers leave open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// The share of the capacity that is used, above 0.
    pub fraction: f64,
    /// Which capacity.
    pub basis: LoadBasis,
    /// Whether frames' headers, preambles and gaps count, or message bytes alone.
    pub with_headers: bool,
    /// On [`LoadBasis::Uplinks`]: all traffic counts, also that within a rack, so that less than
    /// the stated share arrives at the uplinks. [xpass artefact, large-scale-fattree.tcl]
    pub all_cross: bool,
    /// Bytes of a mean message to reckon with instead of the distribution's own. Only for parity
    /// with scripts that assume another mean than they draw. [xpass artefact]
    pub assumed_mean: Option<f64>,
}

/// Rounding that a full load may exceed its capacity by.
const TOLERANCE: f64 = 1e-9;

impl Load {
    /// This share of the hosts' links, wire bytes counted.
    pub const fn of_hosts(fraction: f64) -> Self {
        Self {
            fraction,
            basis: LoadBasis::Hosts,
            with_headers: true,
            all_cross: false,
            assumed_mean: None,
        }
    }

    /// This share of the racks' uplinks, wire bytes counted, as if all traffic crossed them: the
    /// definition of `ExpressPass`'s and Aeolus's simulations. [xpass artefact]
    pub const fn of_uplinks(fraction: f64) -> Self {
        Self {
            basis: LoadBasis::Uplinks,
            all_cross: true,
            ..Self::of_hosts(fraction)
        }
    }

    /// Bytes of a message of the assumed mean.
    fn assumed_bytes(&self, mean: f64, encap: Encap) -> f64 {
        if !self.with_headers {
            return mean;
        }
        // As the scripts do: payload scaled by a full frame's share.
        mean * f64::from(encap.wire_max()) / f64::from(encap.payload_max)
    }

    /// Messages per second over all hosts that make this load.
    ///
    /// # Errors
    /// If the load is not above 0, or is more than hosts or uplinks can carry; the message gives
    /// the maximal load.
    pub fn messages_per_second(
        &self,
        fabric: Fabric,
        dist: &SizeDist,
        encap: Encap,
    ) -> Result<f64, WorkloadError> {
        if !(self.fraction > 0.0 && self.fraction.is_finite()) {
            return Err(WorkloadError(format!(
                "load = {}; it must be above 0",
                self.fraction
            )));
        }
        if fabric.hosts < 2 {
            return Err(WorkloadError(format!(
                "{} hosts have nobody to talk to; a load needs at least 2",
                fabric.hosts
            )));
        }
        if self
            .assumed_mean
            .is_some_and(|mean| !(mean >= 1.0 && mean.is_finite()))
        {
            return Err(WorkloadError(
                "assumed_mean must be at least one byte".into(),
            ));
        }
        let wire = dist.mean_wire(encap);
        let bytes = match self.assumed_mean {
            Some(mean) => self.assumed_bytes(mean, encap),
            None if self.with_headers => wire,
            None => dist.mean_drawn(),
        };
        let capacity = match self.basis {
            LoadBasis::Hosts => fabric.host_rate.0 as f64,
            LoadBasis::Uplinks if fabric.uplink_rate.0 == 0 || fabric.crossing <= 0.0 => {
                return Err(WorkloadError(
                    "load_of = \"uplinks\" where nothing uses uplinks; write load_of = \"hosts\""
                        .into(),
                ));
            }
            LoadBasis::Uplinks => {
                let crossing = if self.all_cross { 1.0 } else { fabric.crossing };
                fabric.uplink_rate.0 as f64 / crossing
            }
        };
        let rate = self.fraction * capacity / (8.0 * bytes);
        let offered = rate * 8.0 * wire;
        let of_hosts = offered / fabric.host_rate.0 as f64;
        let of_uplinks = if fabric.uplink_rate.0 > 0 {
            offered * fabric.crossing / fabric.uplink_rate.0 as f64
        } else {
            0.0
        };
        let (most, who) = if of_hosts >= of_uplinks {
            (of_hosts, "hosts")
        } else {
            (of_uplinks, "uplinks")
        };
        if most > 1.0 + TOLERANCE {
            let said = format!(
                "load = {} offers {most:.3} of what the {who} can carry, headers included",
                self.fraction
            );
            // Rounded down: the load that the message names must be accepted.
            let maximal = libm::floor(self.fraction / most * 10_000.0) / 10_000.0;
            return Err(WorkloadError(match self.assumed_mean {
                Some(mean) if maximal <= 0.0 => format!(
                    "assumed_mean = {mean} B, where messages have {:.0} B: {said}; write a mean nearer to that",
                    dist.mean_drawn()
                ),
                _ if maximal <= 0.0 => format!("{said}; less than 0.0001 is possible here"),
                _ => format!("{said}; at most {maximal} is possible here"),
            }));
        }
        Ok(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes;

    /// The published three-tier fabric at 10 Gb/s. [xpass artefact]
    const TREE: Fabric = Fabric {
        hosts: 192,
        host_rate: Rate::gbps(1920),
        uplink_rate: Rate::gbps(640),
        crossing: 186.0 / 191.0,
    };

    fn rate(load: Load, dist: &SizeDist) -> Result<f64, WorkloadError> {
        load.messages_per_second(TREE, dist, Encap::PAPER)
    }

    #[test]
    fn the_scripts_arrival_rate_comes_out() {
        // lambda = 192 hosts * 10 Gb/s * 0.6 / (63735 B * 8 * 1538 / 1460) / 3. [xpass artefact]
        let script = 1920e9 * 0.6 / (63_735.0 * 8.0 / 1460.0 * 1538.0) / 3.0;
        let load = Load {
            assumed_mean: Some(63_735.0),
            ..Load::of_uplinks(0.6)
        };
        let found = rate(load, &sizes::named("web-server").unwrap()).unwrap();
        assert!((found / script - 1.0).abs() < 1e-12, "{found} and {script}");
    }

    #[test]
    fn a_load_is_the_same_bytes_by_any_definition() {
        let dist = SizeDist::fixed(14_600);
        let wire = 10.0 * 1538.0 * 8.0;
        let close = |load: Load, expected: f64| {
            let found = rate(load, &dist).unwrap();
            assert!(
                (found / expected - 1.0).abs() < 1e-12,
                "{load:?}: {found}, {expected}"
            );
        };
        close(Load::of_hosts(0.25), 0.25 * 1920e9 / wire);
        close(
            Load {
                with_headers: false,
                ..Load::of_hosts(0.25)
            },
            0.25 * 1920e9 / (14_600.0 * 8.0),
        );
        close(Load::of_uplinks(0.6), 0.6 * 640e9 / wire);
        close(
            Load {
                all_cross: false,
                ..Load::of_uplinks(0.6)
            },
            0.6 * 640e9 / wire * 191.0 / 186.0,
        );
    }

    #[test]
    fn too_much_load_is_refused_with_the_maximum() {
        let dist = sizes::named("cache-follower").unwrap();
        for (load, expected) in [
            (
                Load::of_hosts(0.5),
                "load = 0.5 offers 1.461 of what the uplinks can carry, headers included; at most 0.3422 is possible here",
            ),
            (
                Load::of_uplinks(1.1),
                "load = 1.1 offers 1.071 of what the uplinks can carry, headers included; at most 1.0268 is possible here",
            ),
            (Load::of_hosts(0.0), "load = 0; it must be above 0"),
            (Load::of_hosts(f64::NAN), "load = NaN; it must be above 0"),
        ] {
            assert_eq!(rate(load, &dist).unwrap_err().to_string(), expected);
        }
        let assumed = Load {
            assumed_mean: Some(1.0),
            ..Load::of_hosts(0.5)
        };
        let said = rate(assumed, &dist).unwrap_err().to_string();
        assert!(
            said.starts_with("assumed_mean = 1 B, where messages have "),
            "{said}"
        );
        assert!(rate(Load::of_hosts(0.3422), &dist).is_ok());
        let star = Fabric {
            uplink_rate: Rate(0),
            crossing: 0.0,
            ..TREE
        };
        let error = Load::of_uplinks(0.5).messages_per_second(star, &dist, Encap::PAPER);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("write load_of = \"hosts\"")
        );
    }
}
