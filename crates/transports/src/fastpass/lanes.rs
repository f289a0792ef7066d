//! Lines and links, and from when on each is free. [ours]
//!
//! A frame begins in any slot in which all are free that it takes, and each is busy then for as long as the frame takes there:
//! slots need not be whole numbers of each other. Where links with a choice are as fast as hosts, only what leaves and enters
//! a rack is counted, for colours find the ways then.

use super::arbiter::Plan;
use super::shape::{PARTS, Seat, Shape, Tier};
use super::words::Owed;

/// Ways that are looked at for a frame, at most, where every link is. [ours]
const LOOKED_AT: u32 = 1 << 12;
/// It is not known when, for it depends on what else this slot is given to.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// A line, or a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Until when it is busy, in parts of a slot.
    until: u64,
    /// The slot that is kept for somebody, and that nothing may last into that begins earlier.
    kept: u64,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            until: 0,
            kept: UNKNOWN,
        }
    }
}

const fn parts(slot: u64) -> u64 {
    slot.saturating_mul(PARTS)
}

/// What a frame of this width may not be longer than, so as to end in the slot where it begins.
fn within(width: u64) -> u64 {
    width.min(PARTS)
}

impl Lane {
    /// When a frame begins that has `slot`: where it could have begun since the slot before, what was left then is not lost.
    fn begins(&self, slot: u64, width: u64) -> u64 {
        if self.until.saturating_add(within(width)) > parts(slot) {
            self.until
        } else {
            parts(slot)
        }
    }

    /// The first slot that has room for a frame.
    pub(super) fn free_from(&self, width: u64) -> u64 {
        let ends = self.until.saturating_add(within(width));
        ends.div_ceil(PARTS) - 1
    }

    /// Whether `slot` has.
    #[inline]
    fn is_free(&self, slot: u64, width: u64) -> bool {
        self.until.saturating_add(within(width)) <= parts(slot.saturating_add(1))
    }

    /// Whether it has, and the frame is over when the slot begins that is kept.
    #[inline]
    pub(super) fn fits(&self, slot: u64, width: u64) -> bool {
        self.is_free(slot, width)
            && (self.kept == UNKNOWN || self.after(slot, width).is_free(self.kept, width))
    }

    /// The same of a frame that takes a slot, where nothing is kept.
    #[inline]
    pub(super) fn fits_whole(&self, slot: u64) -> bool {
        self.until <= parts(slot)
    }

    fn after(&self, slot: u64, width: u64) -> Self {
        let until = self.begins(slot, width).saturating_add(width);
        Self { until, ..*self }
    }

    /// A frame has it from `slot` on.
    #[inline]
    pub(super) fn take(&mut self, slot: u64, width: u64) {
        *self = self.after(slot, width);
    }

    /// So many frames have it that nobody gave a slot, from `slot` on at the earliest.
    pub(super) fn take_many(&mut self, slot: u64, width: u64, frames: u64) {
        let begins = self.until.max(parts(slot));
        self.until = begins.saturating_add(width.saturating_mul(frames));
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept != UNKNOWN
    }

    /// Keeps it from `slot` on, or no more.
    pub(super) fn keep(&mut self, slot: u64) {
        self.kept = slot;
    }
}

/// Frames that leave, or enter, every rack and pod in a slot.
#[derive(Debug, Default)]
struct Load {
    racks: Vec<u32>,
    pods: Vec<u32>,
}

impl Load {
    fn new(shape: Option<&Shape>) -> Self {
        Self {
            racks: vec![0; shape.map_or(0, |shape| shape.racks as usize)],
            pods: vec![0; shape.map_or(0, |shape| shape.pods as usize)],
        }
    }
    fn clear(&mut self) {
        self.racks.fill(0);
        self.pods.fill(0);
    }
}

/// What is between racks.
#[derive(Debug)]
pub(super) struct Room {
    out: Load,
    into: Load,
    /// Links that are looked at one by one, and how long a frame takes on each.
    links: Vec<Lane>,
    widths: Vec<u64>,
    /// Whether there is a choice among these, and the way that is looked at first: the next one for every frame.
    chooses: bool,
    first: u32,
    /// How many of them are free that lead up from each rack, and then down to each.
    free: Vec<u32>,
    /// The links and the number of the way that was found.
    path: Vec<u32>,
    way: u32,
    /// Links that are kept.
    kept: Vec<u32>,
}

impl Room {
    pub(super) fn new(shape: Option<&Shape>) -> Self {
        let chooses = shape.is_some_and(Shape::is_slow);
        let widths: Vec<u64> = match shape {
            Some(shape) if chooses => {
                let (racks, pods, up) = (shape.racks as usize, shape.pods as usize, shape.up);
                let ways = up.map_or(0, |up| up.ways as usize);
                let core = shape.core.map_or(0, |core| core.ways as usize);
                let links = |tier: Option<Tier>, count: usize| {
                    vec![tier.map_or(PARTS, |tier| tier.width); 2 * count]
                };
                [
                    links(up, racks * ways),
                    links(shape.core, pods * ways * core),
                ]
                .concat()
            }
            Some(shape) => shape.links.iter().map(|link| link.width).collect(),
            None => Vec::new(),
        };
        Self {
            out: Load::new(shape),
            into: Load::new(shape),
            links: vec![Lane::default(); widths.len()],
            widths,
            chooses,
            first: 0,
            free: Vec::new(),
            path: Vec::new(),
            way: 0,
            kept: Vec::new(),
        }
    }

    /// A slot begins: what the arbiter says to other racks, and what these ask, has its room first.
    pub(super) fn begin(&mut self, plan: &Plan, slot: u64, owed: &mut Owed) {
        self.clear();
        self.leave(plan, slot, owed);
        self.count(plan, slot);
    }

    fn clear(&mut self) {
        self.out.clear();
        self.into.clear();
        for link in self.kept.drain(..) {
            self.links[link as usize].keep(UNKNOWN);
        }
    }

    /// Leaves room for words.
    fn leave(&mut self, plan: &Plan, slot: u64, owed: &mut Owed) {
        let (Some(own), Some(shape)) = (plan.own, plan.shape.as_deref()) else {
            return;
        };
        let seat = shape.seats[own];
        if self.chooses {
            let ways = shape.up.map_or(0, |up| up.ways);
            for (side, base) in [(0, 0), (1, shape.racks * ways)] {
                for link in (base + seat.rack * ways..).take(ways as usize) {
                    self.pass(slot, link, || owed.one(plan, side));
                }
            }
        } else if !self.links.is_empty() {
            for link in (0u32..).take(self.links.len()) {
                self.pass(slot, link, || owed.one_on(plan, link));
            }
        } else {
            let [out, into] = owed.take(plan, slot);
            let (rack, pod) = (seat.rack as usize, seat.pod as usize);
            (self.out.racks[rack], self.out.pods[pod]) = (out, out);
            (self.into.racks[rack], self.into.pods[pod]) = (into, into);
        }
    }

    /// Counts free links of racks.
    fn count(&mut self, plan: &Plan, slot: u64) {
        self.free.clear();
        let Some(shape) = plan.shape.as_deref().filter(|_| self.chooses) else {
            return;
        };
        let ways = shape.up.map_or(1, |up| up.ways) as usize;
        let of_racks = 2 * shape.racks as usize * ways;
        let both = self.links[..of_racks].iter().zip(&self.widths);
        let mut free = both.map(|(lane, &width)| u32::from(lane.is_free(slot, width)));
        for _ in 0..2 * shape.racks {
            self.free.push(free.by_ref().take(ways).sum());
        }
    }

    /// As many frames pass a link in the slot as it has room for, and as there are.
    fn pass(&mut self, slot: u64, link: u32, mut is_one: impl FnMut() -> bool) {
        let (lane, width) = (&mut self.links[link as usize], self.widths[link as usize]);
        while lane.is_free(slot, width) && is_one() {
            lane.take(slot, width);
        }
    }

    /// Whether a frame between these seats has a way in the slot, of which every link is free. It is remembered.
    pub(super) fn fits(&mut self, shape: &Shape, seats: [Seat; 2], slot: u64) -> bool {
        let [up, down] = [seats[0].rack, shape.racks + seats[1].rack].map(|rack| rack as usize);
        let free = |rack: usize| self.free.get(rack).is_none_or(|&free| free > 0);
        if seats[0].rack != seats[1].rack && !(free(up) && free(down)) {
            return false;
        }
        self.find(shape, seats, slot) <= slot
            && self.has_links(|lane, width| lane.fits(slot, width))
    }

    fn has_links(&self, is: impl Fn(&Lane, u64) -> bool) -> bool {
        let is = |&link: &u32| is(&self.links[link as usize], self.widths[link as usize]);
        self.path.iter().all(is)
    }

    /// The first slot from this one on in which a frame between these seats has a way, and that way.
    pub(super) fn find(&mut self, shape: &Shape, seats: [Seat; 2], slot: u64) -> u64 {
        self.path.clear();
        let [a, b] = seats;
        if a.rack == b.rack {
            return slot;
        }
        if self.chooses {
            return self.find_among(shape, seats, slot);
        }
        if let Some(route) = shape.routes.get(&(a.rack, b.rack)) {
            self.path.extend(route);
            let from =
                |&link: &u32| self.links[link as usize].free_from(self.widths[link as usize]);
            return route.iter().map(from).fold(slot, u64::max);
        }
        let [p, q] = seats.map(|seat| seat.pod as usize);
        let [a, b] = seats.map(|seat| seat.rack as usize);
        let is_full = |tier: Option<Tier>, ways: u32, out: u32, into: u32| {
            tier.is_some_and(|tier| out.max(into) >= ways * tier.frames(slot))
        };
        let ways = shape.up.map_or(0, |up| up.ways);
        let full = is_full(shape.up, 1, self.out.racks[a], self.into.racks[b])
            || p != q && is_full(shape.core, ways, self.out.pods[p], self.into.pods[q]);
        if full { UNKNOWN } else { slot }
    }

    /// The same where every link of several ways is looked at.
    fn find_among(&mut self, shape: &Shape, [a, b]: [Seat; 2], slot: u64) -> u64 {
        let (up, core) = (
            shape.up.map_or(1, |up| up.ways),
            shape.core.map_or(1, |core| core.ways),
        );
        let ways = if a.pod == b.pod { up } else { up * core };
        let mut soonest = UNKNOWN;
        for n in 0..ways.min(LOOKED_AT) {
            let way = (self.first + n) % ways;
            let (links, count) = links(shape, [a, b], way);
            let links = &links[..count];
            let free = |&link: &u32| {
                let (lane, width) = (&self.links[link as usize], self.widths[link as usize]);
                // One that is kept may be free, and is the last that is taken.
                let from = lane.free_from(width).max(slot);
                (from, from == slot && !lane.fits(slot, width))
            };
            let (from, kept) = links
                .iter()
                .map(free)
                .fold((slot, false), |a, b| (a.0.max(b.0), a.1 || b.1));
            if from < soonest || from == slot && !kept {
                soonest = from;
                self.path.clear();
                self.path.extend(links);
                self.way = way;
            }
            if from == slot && !kept {
                break;
            }
        }
        soonest
    }

    /// Slots that a frame takes on the slowest link of the way that was found.
    pub(super) fn slots(&self) -> u64 {
        let widths = self.path.iter().map(|&link| self.widths[link as usize]);
        widths.max().map_or(1, |width| width.div_ceil(PARTS))
    }

    /// A frame between these seats takes the way that was found: its number, where there is a choice.
    pub(super) fn take(&mut self, seats: [Seat; 2], slot: u64) -> u16 {
        let [a, b] = seats;
        for &link in &self.path {
            self.links[link as usize].take(slot, self.widths[link as usize]);
        }
        if !self.path.is_empty() {
            if self.chooses {
                let racks = self.free.len() / 2;
                for (end, rack) in [(0, a.rack as usize), (1, racks + b.rack as usize)] {
                    let link = self.path[end] as usize;
                    let is_free = self.links[link].is_free(slot, self.widths[link]);
                    self.free[rack] -= u32::from(!is_free);
                }
            }
            self.first = self.first.wrapping_add(1) % (1 << 30);
            return u16::try_from(self.way).unwrap_or_default();
        }
        if a.rack != b.rack {
            self.out.racks[a.rack as usize] += 1;
            self.into.racks[b.rack as usize] += 1;
        }
        if a.pod != b.pod {
            self.out.pods[a.pod as usize] += 1;
            self.into.pods[b.pod as usize] += 1;
        }
        0
    }

    /// Whether a link of the way that was found is kept for others.
    pub(super) fn is_kept(&self) -> bool {
        !self.has_links(|lane, _| !lane.is_kept())
    }

    /// Keeps the links of the way that was found from `slot` on.
    pub(super) fn keep(&mut self, slot: u64) {
        for &link in &self.path {
            self.links[link as usize].keep(slot);
        }
        self.kept.extend(&self.path);
    }
}

/// The numbers of the links of a way between two racks, and how many they are.
fn links(shape: &Shape, [a, b]: [Seat; 2], way: u32) -> ([u32; 4], usize) {
    let (ways, core) = (
        shape.up.map_or(1, |up| up.ways),
        shape.core.map_or(0, |core| core.ways),
    );
    let (above, top) = (way % ways, way / ways);
    let (racks, pods) = (shape.racks * ways, shape.pods * ways * core);
    let [from, to] = [a, b].map(|seat| seat.rack * ways + above);
    let [out, into] = [a, b].map(|seat| (seat.pod * ways + above) * core + top);
    let all = [from, racks + to, 2 * racks + out, 2 * racks + pods + into];
    (all, if a.pod == b.pod { 2 } else { 4 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use units::Rate;

    /// Two pods of two racks of two hosts, with two ways up from a rack and two from each switch above.
    fn pods() -> Shape {
        let rate = Rate::gbps(100);
        let tier = Some(Tier::new(2, rate, rate));
        let seat = |host: u32| Seat {
            rack: host / 2,
            pod: host / 4,
            width: PARTS,
        };
        Shape {
            seats: (0..8).map(seat).collect(),
            racks: 4,
            pods: 2,
            up: tier,
            core: tier,
            links: Vec::new(),
            routes: BTreeMap::new(),
            rate,
        }
    }

    #[test]
    fn every_way_has_links_of_its_own_and_each_link_one_number() {
        let shape = pods();
        let on = |a: usize, b: usize, way| {
            let (all, count) = links(&shape, [shape.seats[a], shape.seats[b]], way);
            all[..count].to_vec()
        };
        // Eight links up from racks, eight down to them, eight from pods and eight to them.
        assert_eq!(on(0, 2, 0), [0, 8 + 2]);
        assert_eq!(on(0, 2, 1), [1, 8 + 3]);
        assert_eq!(on(2, 6, 0), [2, 8 + 6, 16, 24 + 4]);
        assert_eq!(on(2, 6, 3), [3, 8 + 7, 16 + 3, 24 + 7]);
        let mut used: Vec<u32> = (0..8)
            .flat_map(|a| (0..8).map(move |b| (a, b)))
            .filter(|&(a, b)| shape.seats[a].rack != shape.seats[b].rack)
            .flat_map(|(a, b)| (0..4).flat_map(move |way| [(a, b, way)]))
            .filter(|&(a, b, way)| way < 2 || shape.seats[a].pod != shape.seats[b].pod)
            .flat_map(|(a, b, way)| on(a, b, way))
            .collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used, (0..32).collect::<Vec<_>>());
    }

    /// Two racks of a host each with a link each way that is a third as fast.
    #[test]
    fn a_slow_link_that_is_kept_takes_nothing_that_lasts_into_its_slot() {
        let (rate, seats) = (
            Rate::gbps(90),
            [0, 1].map(|rack| Seat {
                rack,
                pod: 0,
                width: PARTS,
            }),
        );
        let shape = Shape {
            seats: seats.to_vec(),
            racks: 2,
            pods: 1,
            up: None,
            core: None,
            links: vec![Tier::new(1, Rate::gbps(30), rate); 2],
            routes: BTreeMap::from([((0, 1), vec![0]), ((1, 0), vec![1])]),
            rate,
        };
        let mut room = Room::new(Some(&shape));
        let fits = |room: &mut Room| [2, 3, 4, 5].map(|slot| room.fits(&shape, seats, slot));
        assert_eq!(fits(&mut room), [true; 4]);
        assert!(room.slots() == 3 && !room.is_kept());
        room.keep(5);
        assert!(room.is_kept());
        assert_eq!(
            fits(&mut room),
            [true, false, false, false],
            "three slots long"
        );
        // The other way's link is another's.
        let back = [seats[1], seats[0]];
        assert!(room.fits(&shape, back, 3) && !room.is_kept());
        room.clear();
        assert_eq!(fits(&mut room), [true; 4]);
        assert!(!room.is_kept());
    }
}
