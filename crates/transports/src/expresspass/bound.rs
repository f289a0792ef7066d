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
//! use transports::expresspass::bound::{Fabric, Link, queue_bound};
//! use units::{Rate, Span};
//!
//! let host_link = Link { rate: Rate::gbps(10), propagation: Span::us(1), credit_queue: 8 };
//! let core_link = Link { rate: Rate::gbps(40), ..host_link };
//! let fabric = Fabric {
//!     tiers: &[host_link, core_link],
//!     host_delay_least: Span::ZERO,
//!     host_delay_most: Span::ns(5_100),
//!     credit_size_min: 84,
//!     credit_size_mean: 84,
//!     frame_max: 1538,
//!     bucket: 2,
//! };
//! let bound = queue_bound(&fabric);
//! assert!(bound.down[0].bytes > bound.up[1].bytes, "the last hop needs the most");
//! ```

use units::{Bytes, Rate, Span};

/// Every link between two levels of the tree, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation one way, with the fixed delay of the switch or host behind it.
    pub propagation: Span,
    /// Credits that may wait in a port of this link.
    pub credit_queue: u16,
}

/// A tree of switches with hosts as its leaves.
#[derive(Clone, Copy, Debug)]
pub struct Fabric<'a> {
    /// The links from a host up: host to `ToR`, `ToR` to aggregation, and so on.
    pub tiers: &'a [Link],
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

/// The bound of every kind of port; `up[0]` is the host's own line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueBound {
    /// Ports that send up the link of each tier.
    pub up: Vec<PortBound>,
    /// Ports that send down the link of each tier; `down[0]` are the ports towards hosts.
    pub down: Vec<PortBound>,
}

/// The bound of every kind of port of `fabric`.
///
/// # Panics
/// If a link has rate zero.
pub fn queue_bound(fabric: &Fabric<'_>) -> QueueBound {
    let mut up: Vec<PortBound> = Vec::new();
    for (tier, link) in fabric.tiers.iter().enumerate() {
        // A host answers a credit after its own delay; what a switch sends up came from below.
        let delays = match tier.checked_sub(1) {
            None => (fabric.host_delay_least, fabric.host_delay_most),
            Some(below) => through(fabric, &fabric.tiers[below], &up[below]),
        };
        up.push(port(fabric, link, delays));
    }
    let mut down: Vec<PortBound> = Vec::new();
    for (tier, link) in fabric.tiers.iter().enumerate().rev() {
        // What a switch sends down came from another port below, or from above.
        let mut delays = through(fabric, link, &up[tier]);
        if let (Some(above), Some(from_above)) = (fabric.tiers.get(tier + 1), down.last()) {
            let (least, most) = through(fabric, above, from_above);
            delays = (delays.0.min(least), delays.1.max(most));
        }
        down.push(port(fabric, link, delays));
    }
    down.reverse();
    QueueBound { up, down }
}

/// From a credit's departure at one end of `link` to the arrival of its data there, by way of
/// the port `from` at the other end.
fn through(fabric: &Fabric<'_>, link: &Link, from: &PortBound) -> (Span, Span) {
    let time = |bytes: u16| link.rate.serialize(Bytes(u64::from(bytes)));
    let flight = link.propagation.times(2);
    let least = from.least + flight + time(fabric.credit_size_min);
    let period = u64::from(fabric.credit_size_mean) + u64::from(fabric.frame_max);
    let credits_wait = link
        .rate
        .serialize(Bytes(u64::from(link.credit_queue) * period));
    // A credit may also wait for the frame on its line.
    let frames = time(fabric.frame_max).times(2) + time(fabric.credit_size_mean);
    let data_waits = link.rate.serialize(from.bytes);
    (
        least,
        from.most + flight + frames + credits_wait + data_waits,
    )
}

/// The bound of a port on `link` whose data comes after `least` to `most`.
fn port(fabric: &Fabric<'_>, link: &Link, (least, most): (Span, Span)) -> PortBound {
    let burst = (u64::from(fabric.bucket) + 1) * u64::from(fabric.frame_max);
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

    fn fabric(tiers: &[Link]) -> Fabric<'_> {
        Fabric {
            tiers,
            host_delay_least: Span::ZERO,
            host_delay_most: Span::ns(5_100),
            credit_size_min: 84,
            credit_size_mean: 84,
            frame_max: 1538,
            bucket: 2,
        }
    }

    /// Kilobytes of every kind of port: up from the host, then down to it.
    fn kilobytes(fabric: &Fabric<'_>) -> Vec<u64> {
        let bound = queue_bound(fabric);
        let ports = bound.up.iter().chain(bound.down.iter().rev());
        ports.map(|port| port.bytes.get() / 1000).collect()
    }

    #[test]
    fn the_published_fabric_needs_the_published_order_of_magnitude() {
        // Host, ToR and aggregation up; core, aggregation and ToR down. Published for 10/40G,
        // 8 credits, 5.1 us: ToR up 19.0, core 131.1, ToR down 577.3 KB.
        assert_eq!(kilobytes(&fabric(&TIERS)), [10, 138, 292, 601, 1318, 671]);
    }

    #[test]
    fn one_hop_is_what_a_hand_computes() {
        let bound = queue_bound(&fabric(&[HOST]));
        let frame = Span::ps(1538 * 800);
        let credit = Span::ps(84 * 800);
        let burst = 3 * 1538;
        // The host's line: 5.1 us at 10 Gb/s are 6375 B.
        assert_eq!(bound.up[0].bytes, Bytes(6375 + 1 + burst));
        let host_line = Rate::gbps(10).serialize(bound.up[0].bytes);
        let queue = Span::ps(8 * 1622 * 800);
        let most = Span::ns(5_100) + Span::us(2) + frame.times(2) + credit + queue + host_line;
        assert_eq!(bound.down[0].most, most);
        assert_eq!(bound.down[0].least, Span::us(2) + credit);
    }

    #[test]
    fn more_of_anything_that_varies_needs_no_less() {
        let base = kilobytes(&fabric(&TIERS));
        let no_less = |other: &Fabric<'_>| {
            let theirs = kilobytes(other);
            assert!(
                theirs
                    .iter()
                    .zip(&base)
                    .all(|(theirs, ours)| theirs >= ours),
                "{theirs:?}"
            );
            assert_ne!(theirs, base);
        };
        no_less(&Fabric {
            host_delay_most: Span::us(9),
            ..fabric(&TIERS)
        });
        no_less(&Fabric {
            bucket: 4,
            ..fabric(&TIERS)
        });
        no_less(&Fabric {
            frame_max: 9022,
            ..fabric(&TIERS)
        });
        for tier in 0..3 {
            let mut tiers = TIERS;
            tiers[tier].credit_queue = 16;
            no_less(&fabric(&tiers));
        }
        let mut tiers = TIERS;
        tiers[2].propagation = Span::us(20);
        no_less(&fabric(&tiers));
    }

    #[test]
    fn without_spread_only_bursts_wait() {
        let calm = Link {
            credit_queue: 0,
            ..HOST
        };
        let fabric = Fabric {
            host_delay_most: Span::ZERO,
            ..fabric(std::slice::from_ref(&calm))
        };
        assert_eq!(queue_bound(&fabric).up[0].bytes, Bytes(1 + 3 * 1538));
    }
}
