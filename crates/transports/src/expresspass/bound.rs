//! How much data can wait in a port of an ExpressPass fabric: the network-calculus bound.
//! [xpass s3.1]
//!
//! A credit that leaves a port comes back as data after a delay that varies: credits wait in short
//! queues on their way to the sender, hosts take their time, and the data waits on its way back.
//! If that delay lies between `least` and `most` for all data of a port, credits that left it over
//! `most - least` and the time of one frame can come back at once, and nothing else can wait. The
//! recursion starts at the hosts and goes up and down the tree:
//!
//! ```text
//! most(p)  = max over q of  credit queue on the way to q + 2 propagation + frames
//!                           + data queue of q + most(q)
//! least(p) = min over q of  2 propagation + frames + least(q)
//! data queue of q           = most(q) - least(q) + burst of q
//! bytes(p)                  = rate(p) x (most(p) - least(p)) + burst of p
//! ```
//!
//! where q are the ports that data of p comes from. A burst is what the shaper lets through back
//! to back: `bucket` credits, hence as many frames, and one frame that is already on the line.
//!
//! The bound holds for data that credits released, where a credit costs its shaper one token
//! (`count = "credits"`), paths are symmetric and hosts and switches use the same credit rate.
//! Requests and STOPs come on top: 84 B for every flow that may open or stop at once.
//!
//! DEVIATES(xpass-paper): its table of required buffers was computed by a recursion that is not
//! public in full; ours gives the same order of magnitude, not the same numbers.
//!
//! ```
//! use transports::expresspass::bound::{Hop, Link, Rules, port_bounds};
//! use units::{Rate, Span};
//!
//! // Two hosts under one switch: their lines, and the port towards the one that receives.
//! let link = Link { rate: Rate::gbps(10), propagation: Span::us(1), credit_queue: 8 };
//! let hops = [
//!     Hop { link, from: vec![] },
//!     Hop { link, from: vec![] },
//!     Hop { link, from: vec![0, 1] },
//! ];
//! let rules = Rules {
//!     host_delay_least: Span::ZERO,
//!     host_delay_most: Span::ns(5_100),
//!     credit_size_min: 84,
//!     credit_size_mean: 84,
//!     frame_max: 1538,
//!     bucket: 2,
//! };
//! let bounds = port_bounds(&rules, &hops).expect("data goes in no circle");
//! assert!(bounds[2].bytes > bounds[0].bytes, "the last hop needs the most");
//! ```

use units::{Bytes, Rate, Span};

/// A link, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation one way, with the fixed delay of the switch or host behind it.
    pub propagation: Span,
    /// Credits that may wait in a port of this link.
    pub credit_queue: u16,
}

/// A port, and the ports that the data comes from which it sends on; none: a host's own line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link that the port feeds.
    pub link: Link,
    /// Places of other ports in the list of all.
    pub from: Vec<usize>,
}

/// What holds for every host and port.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Least time from a credit's arrival at a host to its data.
    pub host_delay_least: Span,
    /// Most time from a credit's arrival at a host to its data.
    pub host_delay_most: Span,
    /// Smallest credit on the wire, in bytes.
    pub credit_size_min: u16,
    /// Mean credit on the wire, in bytes.
    pub credit_size_mean: u16,
    /// Full data frame on the wire, in bytes.
    pub frame_max: u16,
    /// Credits that a shaper lets through back to back.
    pub bucket: u16,
}

/// What one port must be able to hold, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortBound {
    /// Data that may wait.
    pub bytes: Bytes,
    /// Least time from a credit's departure to its data's arrival.
    pub least: Span,
    /// Most time from a credit's departure to its data's arrival.
    pub most: Span,
}

/// The bound of every port; `None` where data could go in a circle.
///
/// # Panics
/// If a link has rate zero, or `from` names a port that is not there.
pub fn port_bounds(rules: &Rules, hops: &[Hop]) -> Option<Vec<PortBound>> {
    // A port is ready once all that it depends on are.
    let mut missing: Vec<usize> = hops.iter().map(|hop| hop.from.len()).collect();
    let mut feeds = vec![Vec::new(); hops.len()];
    for (place, hop) in hops.iter().enumerate() {
        hop.from.iter().for_each(|&from| feeds[from].push(place));
    }
    let mut bounds: Vec<Option<PortBound>> = vec![None; hops.len()];
    let mut ready: Vec<usize> = (0..hops.len()).filter(|&p| missing[p] == 0).collect();
    while let Some(place) = ready.pop() {
        let hop = &hops[place];
        let delays = hop
            .from
            .iter()
            .filter_map(|&q| Some(through(rules, &hops[q].link, bounds[q].as_ref()?)))
            .reduce(|(least, most), (l, m)| (least.min(l), most.max(m)))
            .unwrap_or((rules.host_delay_least, rules.host_delay_most));
        bounds[place] = Some(port(rules, &hop.link, delays));
        for &next in &feeds[place] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    bounds.into_iter().collect()
}

/// From a credit's departure at one end of `link` to the arrival of its data there, by way of
/// the port `from` at the other end.
fn through(rules: &Rules, link: &Link, from: &PortBound) -> (Span, Span) {
    let time = |bytes: u16| link.rate.serialize(Bytes(u64::from(bytes)));
    let flight = link.propagation.times(2);
    let least = from.least + flight + time(rules.credit_size_min);
    let period = u64::from(rules.credit_size_mean) + u64::from(rules.frame_max);
    let credits_wait = link
        .rate
        .serialize(Bytes(u64::from(link.credit_queue) * period));
    // A credit may also wait for the frame on its line.
    let frames = time(rules.frame_max).times(2) + time(rules.credit_size_mean);
    let data_waits = link.rate.serialize(from.bytes);
    (
        least,
        from.most + flight + frames + credits_wait + data_waits,
    )
}

/// The bound of a port on `link` whose data comes after `least` to `most`.
fn port(rules: &Rules, link: &Link, (least, most): (Span, Span)) -> PortBound {
    let burst = (u64::from(rules.bucket) + 1) * u64::from(rules.frame_max);
    let spread = link.rate.bytes_in(most.max(least) - least).get() + 1;
    PortBound {
        bytes: Bytes(spread + burst),
        least,
        most: most.max(least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Link = Link {
        rate: Rate::gbps(10),
        propagation: Span::us(1),
        credit_queue: 8,
    };
    const UP: Link = Link {
        rate: Rate::gbps(40),
        propagation: Span::us(1),
        credit_queue: 8,
    };
    const CORE: Link = Link {
        rate: Rate::gbps(40),
        propagation: Span::us(5),
        credit_queue: 8,
    };
    const TIERS: [Link; 3] = [HOST, UP, CORE];

    const RULES: Rules = Rules {
        host_delay_least: Span::ZERO,
        host_delay_most: Span::ns(5_100),
        credit_size_min: 84,
        credit_size_mean: 84,
        frame_max: 1538,
        bucket: 2,
    };

    /// A tree of equal branches: up from the host, then down to it, tier by tier.
    fn tree(tiers: &[Link]) -> Vec<Hop> {
        let n = tiers.len();
        let up = (0..n).map(|t| Hop {
            link: tiers[t],
            from: t.checked_sub(1).into_iter().collect(),
        });
        // From another branch below, or from above.
        let down = (0..n).rev().map(|t| Hop {
            link: tiers[t],
            from: [t]
                .into_iter()
                .chain((t + 1 < n).then(|| 2 * n - 2 - t))
                .collect(),
        });
        up.chain(down).collect()
    }

    fn kilobytes(rules: &Rules, tiers: &[Link]) -> Vec<u64> {
        let bounds = port_bounds(rules, &tree(tiers)).unwrap();
        bounds.iter().map(|port| port.bytes.get() / 1000).collect()
    }

    #[test]
    fn the_published_fabric_needs_the_published_order_of_magnitude() {
        // Host, ToR and aggregation up; core, aggregation and ToR down. Published for 10/40G,
        // 8 credits, 5.1 us: ToR up 19.0, core 131.1, ToR down 577.3 KB.
        assert_eq!(kilobytes(&RULES, &TIERS), [10, 138, 292, 601, 1318, 671]);
    }

    #[test]
    fn one_hop_is_what_a_hand_computes() {
        let bounds = port_bounds(&RULES, &tree(&[HOST])).unwrap();
        let frame = Span::ps(1538 * 800);
        let credit = Span::ps(84 * 800);
        let burst = 3 * 1538;
        // The host's line: 5.1 us at 10 Gb/s are 6375 B.
        assert_eq!(bounds[0].bytes, Bytes(6375 + 1 + burst));
        let host_line = Rate::gbps(10).serialize(bounds[0].bytes);
        let queue = Span::ps(8 * 1622 * 800);
        let most = Span::ns(5_100) + Span::us(2) + frame.times(2) + credit + queue + host_line;
        assert_eq!(bounds[1].most, most);
        assert_eq!(bounds[1].least, Span::us(2) + credit);
    }

    #[test]
    fn more_of_anything_that_varies_needs_no_less() {
        let base = kilobytes(&RULES, &TIERS);
        let no_less = |rules: Rules, tiers: &[Link]| {
            let theirs = kilobytes(&rules, tiers);
            assert!(
                theirs
                    .iter()
                    .zip(&base)
                    .all(|(theirs, ours)| theirs >= ours),
                "{theirs:?}"
            );
            assert_ne!(theirs, base);
        };
        no_less(
            Rules {
                host_delay_most: Span::us(9),
                ..RULES
            },
            &TIERS,
        );
        no_less(Rules { bucket: 4, ..RULES }, &TIERS);
        no_less(
            Rules {
                frame_max: 9022,
                ..RULES
            },
            &TIERS,
        );
        for tier in 0..3 {
            let mut tiers = TIERS;
            tiers[tier].credit_queue = 16;
            no_less(RULES, &tiers);
        }
        let mut tiers = TIERS;
        tiers[2].propagation = Span::us(20);
        no_less(RULES, &tiers);
    }

    #[test]
    fn without_spread_only_bursts_wait() {
        let calm = Link {
            credit_queue: 0,
            ..HOST
        };
        let rules = Rules {
            host_delay_most: Span::ZERO,
            ..RULES
        };
        let bounds = port_bounds(&rules, &tree(&[calm])).unwrap();
        assert_eq!(bounds[0].bytes, Bytes(1 + 3 * 1538));
    }

    #[test]
    fn a_circle_has_no_bound() {
        let hop = |from| Hop {
            link: HOST,
            from: vec![from],
        };
        assert_eq!(port_bounds(&RULES, &[hop(1), hop(0)]), None);
    }
}
