//! Which of the equal-cost ways a connection takes, so that its two directions meet every cable.

use crate::{LinkId, NodeId, Routes, Topology, index32};

/// A mixer of 32 bits whose every input bit moves every output bit (bias 0.17 %): Wellons'
/// `lowbias32`. Part of every published fingerprint: never change it.
#[inline]
const fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// What a tier adds to the hash, so that two tiers choose independently: without it every
/// connection that reached an aggregation switch would make the same choice there.
/// [xpass artefact, classifier-mpath.cc]
#[inline]
pub const fn tier_salt(tier: u8) -> u32 {
    mix((tier as u32 + 1).wrapping_mul(0x9e37_79b9))
}

/// Which of `n` equal-cost ways connection `conn` takes at a switch of tier `tier`: a number below
/// `n`. It knows nothing of direction, so both directions choose alike. [xpass s3.1] The number stands for
/// the 5-tuple: see "Ways" in `docs/engine.md`.
#[inline]
pub const fn ecmp_index(conn: u32, tier: u8, n: u32) -> u32 {
    ecmp_index_salted(conn, tier_salt(tier), n)
}

/// [`ecmp_index`] at a switch that keeps the [`tier_salt`] of its tier.
#[inline]
pub const fn ecmp_index_salted(conn: u32, salt: u32, n: u32) -> u32 {
    let spread = mix(conn ^ salt) as u64 * n as u64;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the high half of a 64-bit product"
    )]
    let high = (spread >> 32) as u32;
    high
}

/// The links that a packet of connection `conn` crosses from host `src` to host `dst`; none where
/// there is no way, or where the two are one.
pub fn path(topology: &Topology, routes: &Routes, src: u32, dst: u32, conn: u32) -> Vec<LinkId> {
    let mut links = Vec::new();
    walk(topology, routes, (src, dst, conn), &mut links);
    links
}

/// Puts the [`path`] of `conn` from host `src` to host `dst` into `links`, in place of what was there.
fn walk(
    topology: &Topology,
    routes: &Routes,
    (src, dst, conn): (u32, u32, u32),
    links: &mut Vec<LinkId>,
) {
    links.clear();
    let mut at = NodeId(src);
    while at.0 != dst {
        let ways = routes.next_hops(at, dst);
        if ways.is_empty() {
            links.clear();
            return;
        }
        let node = topology.node(at);
        let way = ecmp_index(conn, node.tier, index32(ways.len()));
        let link = node.ports[usize::from(ways[way as usize])];
        links.push(link);
        at = topology.link(link).to;
        assert!(
            links.len() < topology.nodes.len(),
            "a shortest path visits no node twice"
        );
    }
}

/// Whether the two directions of `conn` between `src` and `dst` follow the same cables.
pub fn mirrored(topology: &Topology, routes: &Routes, src: u32, dst: u32, conn: u32) -> bool {
    let mut ways = [Vec::new(), Vec::new()];
    are_mirrored(topology, routes, (src, dst, conn), &mut ways)
}

/// The same, with room for the two ways.
fn are_mirrored(
    topology: &Topology,
    routes: &Routes,
    (src, dst, conn): (u32, u32, u32),
    [forth, back]: &mut [Vec<LinkId>; 2],
) -> bool {
    walk(topology, routes, (src, dst, conn), forth);
    walk(topology, routes, (dst, src, conn), back);
    let turned = forth.iter().map(|link| link.reverse());
    turned.eq(back.iter().rev().copied())
}

/// Looks for a connection whose two directions part ways: tries `samples` of them and returns the
/// first such (source, destination, connection).
///
/// A graph whose switches list their upper switches in different orders, or that joins two switches
/// by several cables, gives one; so does a Clos with so many broken cables that a shortest way must
/// go down and up again. Credits and the data that they release then meet different queues.
/// [`crate::PortOrder::Neighbour`] cures the first.
pub fn check_symmetry(
    topology: &Topology,
    routes: &Routes,
    samples: u32,
) -> Option<(u32, u32, u32)> {
    if topology.hosts < 2 {
        return None;
    }
    let hosts = topology.hosts;
    let mut ways = [Vec::new(), Vec::new()];
    (0..samples)
        .map(|conn| {
            let src = draw(conn, 1, hosts);
            let dst = src + 1 + draw(conn, 2, hosts - 1);
            (src, if dst < hosts { dst } else { dst - hosts }, conn)
        })
        .find(|&of| !are_mirrored(topology, routes, of, &mut ways))
}

/// A number below `n` for sampling, unrelated to the choices of connection `conn`.
const fn draw(conn: u32, salt: u32, n: u32) -> u32 {
    ecmp_index(mix(conn).wrapping_add(salt), u8::MAX, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_frozen() {
        let drawn: Vec<_> = (0..8).map(|conn| ecmp_index(conn, 1, 1000)).collect();
        assert_eq!(drawn, VECTOR);
    }
    const VECTOR: [u32; 8] = [16, 244, 59, 853, 522, 793, 73, 544];

    #[test]
    fn tiers_choose_evenly_and_independently() {
        let mut count = [[0u32; 8]; 8];
        for conn in 0..64_000 {
            let [a, b] = [1, 2].map(|tier| ecmp_index(conn, tier, 8) as usize);
            count[a][b] += 1;
        }
        // 1,000 expected in each of 64 cells; chi-square with 63 degrees of freedom is below 115
        // in all but one of 10,000 hashes.
        let square = |n: u32| (f64::from(n) - 1000.0) * (f64::from(n) - 1000.0) / 1000.0;
        let chi: f64 = count.iter().flatten().map(|&n| square(n)).sum();
        assert!(chi < 115.0, "{chi}: {count:?}");
    }
}
