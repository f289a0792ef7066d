//! What the arbiter knows of the fabric: who is in which rack, and how many frames leave and enter a rack in a slot.
//!
//! [fastpass s3, s4]: racks below ways between them, alike. Here there may be a second tier, pods of racks, as in a
//! fat tree.

use model::{HostId, Net};
use std::collections::BTreeMap;
use units::Rate;

/// Where a host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// Its rack.
    pub rack: u32,
    /// The pod of its rack.
    pub pod: u32,
    /// How long a frame takes on its line, in [`PARTS`] of a slot.
    pub width: u64,
}

/// What a slot is divided into, where a line is not as fast as the fastest: all up to sixteenths are whole. [ours]
pub(super) const PARTS: u64 = 720_720;

/// How long a frame takes at `rate`, in [`PARTS`] of what it takes at `fastest`: no time at all for none.
fn width(rate: Rate, fastest: Rate) -> u64 {
    let (rate, parts) = (
        u128::from(rate.0.max(1)),
        u128::from(fastest.0) * u128::from(PARTS),
    );
    // Rounded so that no slow line is taken for faster, and that whole ones fit a slot of a fast one.
    let parts = if rate < fastest.0.into() {
        parts.div_ceil(rate)
    } else {
        parts / rate
    };
    u64::try_from(parts)
        .unwrap_or(u64::MAX)
        .clamp(PARTS / u64::from(EACH_MAX), PARTS << 20)
}

/// The links from a rack up, or from a switch above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// How many there are.
    pub ways: u32,
    /// How fast each is, and how fast the fastest line of a host.
    rate: Rate,
    host: Rate,
    /// How long a frame takes on each, in [`PARTS`] of a slot.
    pub width: u64,
}

impl Tier {
    pub(super) fn new(ways: u16, rate: Rate, host: Rate) -> Self {
        let most = host.0.saturating_mul(EACH_MAX.into());
        Self {
            ways: ways.max(1).into(),
            rate: Rate(rate.0.clamp(1, most.max(1))),
            host: Rate(host.0.max(1)),
            width: width(rate, host),
        }
    }

    /// Whether a frame takes longer on one than on the fastest line of a host.
    pub(super) fn is_slow(&self) -> bool {
        self.width > PARTS
    }

    /// Frames that all of them carry in a slot, where they are not slow: one more each in some slots than in others, where
    /// they are not a whole number of times as fast as a host.
    pub(super) fn frames(&self, slot: u64) -> u32 {
        let until =
            |slot: u64| u128::from(slot) * u128::from(self.rate.0) / u128::from(self.host.0);
        let each = until(slot.saturating_add(1)) - until(slot);
        self.ways * u32::try_from(each).expect("no more than EACH_MAX")
    }

    /// The most that they carry in any slot.
    pub(super) fn most(&self) -> u32 {
        let each = self.rate.0.div_ceil(self.host.0);
        self.ways * u32::try_from(each).expect("no more than EACH_MAX")
    }
}

/// Frames of a slot on one link, at most. [ours: 400 Gb/s above 1 Gb/s]
const EACH_MAX: u32 = 400;

/// The fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Every host.
    pub seats: Vec<Seat>,
    /// How many racks and pods there are.
    pub racks: u32,
    /// Pods.
    pub pods: u32,
    /// Links from a rack up.
    pub up: Option<Tier>,
    /// Links from each of the switches above racks to others, where there are pods.
    pub core: Option<Tier>,
    /// Where there is one way from each rack to each other: the links between them, and those of each pair of racks. There
    /// are no tiers then.
    pub links: Vec<Tier>,
    /// Numbers of links, by the racks at both ends.
    pub routes: Routes,
    /// The fastest line of a host.
    pub rate: Rate,
}

/// The most bits that the number of a way has. [ours: what an allocation has for them]
const BITS_MAX: u32 = 15;

/// Links of a way between two racks of a pod, and of two pods: a host's, up, down, and that of a host.
const LINKS_OF_RACKS: usize = 4;
const LINKS_OF_PODS: usize = 6;

impl Shape {
    /// Bits of the number of a way; none where there is nothing to choose.
    pub(super) fn bits(&self) -> Option<u8> {
        let ways = self.up?.ways * self.core.map_or(1, |core| core.ways);
        let bits = u32::BITS - (ways - 1).leading_zeros();
        let chooses = (1..=BITS_MAX).contains(&bits);
        u8::try_from(bits).ok().filter(|_| chooses)
    }

    /// Whether links with a choice are slower than the fastest line of a host: each of them is looked at then, as those
    /// without one are.
    pub(super) fn is_slow(&self) -> bool {
        let tiers = [self.up, self.core];
        tiers.iter().flatten().any(Tier::is_slow)
    }

    /// Whether a frame takes longer somewhere than a slot.
    pub(super) fn is_uneven(&self) -> bool {
        let slow = self.seats.iter().any(|seat| seat.width > PARTS);
        slow || self.is_slow() || self.links.iter().any(Tier::is_slow)
    }

    /// That of `net`; none where nobody knows its ways.
    pub(super) fn of(net: &dyn Net) -> Option<Self> {
        let hosts = net.hosts();
        let rate = (0..hosts).map(|host| net.rate(HostId(host))).max()?;
        // The first host of every rack, by the number of the rack.
        let (mut number, mut first) = (BTreeMap::new(), Vec::new());
        let mut seats: Vec<Seat> = Vec::new();
        for host in (0..hosts).map(HostId) {
            let rack = *number.entry(net.rack(host)).or_insert_with(|| {
                first.push(host);
                u32::try_from(first.len() - 1).expect("no more racks than hosts")
            });
            let width = width(net.rate(host), rate);
            seats.push(Seat {
                rack,
                pod: 0,
                width,
            });
        }
        let (mut up, mut core) = (None, None);
        // The first rack of every pod, and the pod of every rack.
        let (mut leaders, mut pods) = (Vec::new(), Vec::new());
        for &host in &first {
            let mut own = None;
            for (pod, &leader) in (0u32..).zip(&leaders) {
                let way = net.way(leader, host);
                if let Some(&(ways, rate_up, _)) = way.get(1).filter(|_| way.len() > 2) {
                    up = up.or(Some(Tier::new(ways, rate_up, rate)));
                }
                if way.len() == LINKS_OF_PODS {
                    core = core.or(Some(Tier::new(way[2].0, way[2].1, rate)));
                } else {
                    own = own.or(Some(pod));
                }
                if way.len() == LINKS_OF_RACKS {
                    break;
                }
            }
            let pod = own
                .unwrap_or_else(|| u32::try_from(leaders.len()).expect("no more pods than hosts"));
            if own.is_none() {
                leaders.push(host);
            }
            pods.push(pod);
        }
        let unknown = hosts > 1 && net.way(HostId(0), HostId(hosts - 1)).is_empty();
        if unknown || (first.len() > 1 && up.is_none()) {
            return None;
        }
        for seat in &mut seats {
            seat.pod = pods[seat.rack as usize];
        }
        let (links, routes) = single(net, &first, rate);
        if !routes.is_empty() {
            (up, core) = (None, None);
        }
        Some(Self {
            links,
            routes,
            seats,
            racks: u32::try_from(first.len()).expect("no more racks than hosts"),
            pods: u32::try_from(leaders.len()).expect("no more pods than racks"),
            up,
            core,
            rate,
        })
    }
}

/// Numbers of links, by the racks at both ends.
type Routes = BTreeMap<(u32, u32), Vec<u32>>;

/// Racks between which every single link is looked at. [ours]
const SINGLE_MAX: usize = 64;

/// The links between racks, and those of each pair, where there is no choice anywhere; otherwise nothing. `first` has a
/// host of every rack.
fn single(net: &dyn Net, first: &[HostId], rate: Rate) -> (Vec<Tier>, Routes) {
    let (mut links, mut routes, mut numbers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let racks = || (0u32..).zip(first).take(SINGLE_MAX + 1);
    if first.len() > SINGLE_MAX {
        return (links, routes);
    }
    for ((a, from), (b, to)) in racks().flat_map(|from| racks().map(move |to| (from, to))) {
        let way = if a == b {
            Vec::new()
        } else {
            net.way(*from, *to)
        };
        if way.iter().any(|link| link.0 > 1) {
            return (Vec::new(), BTreeMap::new());
        }
        let between = way.get(1..way.len().saturating_sub(1)).unwrap_or_default();
        let route = between.iter().map(|&(_, own, link)| {
            *numbers.entry(link).or_insert_with(|| {
                links.push(Tier::new(1, own, rate));
                u32::try_from(links.len() - 1).expect("as many as a fabric has")
            })
        });
        let route: Vec<u32> = route.collect();
        if a != b {
            routes.insert((a, b), route);
        }
    }
    (links, routes)
}
