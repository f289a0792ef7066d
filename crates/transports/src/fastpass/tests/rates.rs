//! What an arbiter gives where lines and links are not equally fast.

use super::*;
use crate::fastpass::lanes::Lane;

/// One rack of hosts as fast as `rates` say, in Gb/s, or two of them, of which the first has `near` hosts and between which a
/// link of `trunk` is.
fn racks(rates: &[u64], near: usize, trunk: u64) -> Shape {
    let rate = Rate::gbps(*rates.iter().max().unwrap());
    let seats = (0..).zip(rates).map(|(host, own)| Seat {
        rack: u32::from(host >= near),
        pod: 0,
        width: Tier::new(1, Rate::gbps(*own), rate).width,
    });
    let seats: Vec<Seat> = seats.collect();
    let link = Tier::new(1, Rate::gbps(trunk), rate);
    Shape {
        racks: 2,
        pods: 1,
        up: None,
        core: None,
        links: vec![link; 2],
        routes: BTreeMap::from([((0, 1), vec![0]), ((1, 0), vec![1])]),
        rate,
        seats,
    }
}

/// Slots from the first that is given to the last, of these messages.
fn takes(shape: Shape, order: Order, messages: &[(u32, u32, u32)]) -> u64 {
    let mut arbiter = Arbiter::new(plan(order, Some(shape)));
    for (flow, &(from, to, frames)) in (0..).zip(messages) {
        arbiter.on_request(Time::ZERO, wants(from, to, flow, frames));
    }
    let all = given(&mut arbiter);
    let frames: u32 = messages.iter().map(|message| message.2).sum();
    assert_eq!(all.len(), frames as usize);
    all.last().unwrap().0 - all[0].0
}

/// They had one slot in so many as a frame takes them, all the same one.
#[test]
fn slow_hosts_fill_the_line_of_a_fast_one_together() {
    for (slow, count) in [(25, 4), (10, 8), (10, 10), (30, 3), (40, 2), (15, 5)] {
        for order in [Order::Fair, Order::Shortest] {
            let rates = [vec![100], vec![slow; count as usize]].concat();
            let shape = racks(&rates, rates.len(), 100);
            let to: Vec<_> = (1..=count).map(|host| (host, 0, 60)).collect();
            let from: Vec<_> = to.iter().map(|&(a, b, frames)| (b, a, frames)).collect();
            let most = 6_000u64.div_ceil(slow) + 100 / slow;
            let found = [to, from].map(|messages| takes(shape.clone(), order, &messages));
            assert!(
                found.iter().all(|&slots| slots <= most),
                "{slow}: {found:?} of {most}"
            );
        }
    }
}

/// A frame had to wait for a slot that is a multiple of what its line takes and of what the link takes.
#[test]
fn a_frame_over_a_slow_line_and_a_slow_link_takes_as_long_as_on_the_slower() {
    for (line, trunk) in [(25, 40), (40, 25), (15, 20), (30, 25), (25, 30), (7, 11)] {
        let shape = racks(&[line, 100, line], 2, trunk);
        let slots = takes(shape, Order::Fair, &[(0, 2, 120)]);
        let most = 11_900u64.div_ceil(line.min(trunk)) + 1;
        assert!(slots <= most, "{line} and {trunk}: {slots} of {most}");
    }
}

/// Neither is rounded to whole slots, nor to frames of one.
#[test]
fn hosts_share_a_link_that_is_no_whole_number_of_times_as_fast() {
    for (line, trunk, hosts) in [(25, 40, 3u32), (10, 25, 4), (100, 40, 2), (100, 30, 3)] {
        let rates = vec![line; 2 * hosts as usize];
        let shape = racks(&rates, hosts as usize, trunk);
        let messages: Vec<_> = (0..hosts).map(|host| (host, host + hosts, 100)).collect();
        let slots = takes(shape, Order::Fair, &messages);
        let most = (100 * u64::from(hosts) * line).div_ceil(trunk) + 2;
        assert!(slots <= most, "{line} and {trunk}: {slots} of {most}");
    }
}

/// The lines of both are busy at other times, for others begin frames there as soon as they can.
#[test]
fn two_slow_lines_that_are_never_free_at_once_have_a_frame_between_them() {
    let shape = racks(&[30, 30, 100, 100], 4, 100);
    let mut arbiter = Arbiter::new(plan(Order::Fair, Some(shape)));
    arbiter.on_request(Time::ZERO, wants(0, 2, 1, 3_000));
    arbiter.work(Time::ZERO, Span::ZERO, false);
    arbiter.on_request(Time(1), wants(3, 1, 2, 3_000));
    let now = arbiter.due();
    arbiter.work(now, Span::ZERO, false);
    arbiter.on_request(Time(now.0 + 1), wants(0, 1, 3, 500));
    let mut frames = [0; 4];
    for _ in 0..200 {
        let now = arbiter.due();
        arbiter.work(now, Span::ZERO, false);
        arbiter.check();
        while let Some(answer) = arbiter.pop(now) {
            if let Word::Alloc(alloc) = answer.word {
                frames[alloc.flow as usize] += alloc.mask.count_ones();
            }
        }
    }
    let [_, out, into, both] = frames;
    assert!(5 * both > out && 5 * both > into, "{frames:?}");
}

/// Lines and links of any rate, with one way between racks or several.
fn uneven() -> impl Strategy<Value = Shape> {
    let rates = prop::collection::vec(prop::sample::select(vec![7u64, 10, 25, 40, 100]), 2..16);
    let links = (1u64..12, 1u64..12, 1u16..4, 1u16..4);
    (rates, links, 0u8..3, 1u32..4).prop_map(|(rates, (up, core, ways, above), kind, hosts)| {
        if kind == 0 {
            return racks(&rates, rates.len() / 2, 11 * up);
        }
        let fastest = Rate::gbps(*rates.iter().max().unwrap());
        let tier = |ways, rate| Tier::new(ways, Rate::gbps(17 * rate), fastest);
        let core = (kind == 2).then(|| tier(above, core));
        let mut shape = clos(2, hosts, tier(ways, up), u32::from(kind), core);
        shape.rate = fastest;
        for (seat, rate) in shape.seats.iter_mut().zip(rates.iter().cycle()) {
            seat.width = Tier::new(1, Rate::gbps(*rate), fastest).width;
        }
        shape
    })
}

/// A line or a link by name.
type Name = (&'static str, u32, u32, u32);

/// Everything that a frame takes, by name, and how long in parts of a slot.
fn takes_of(shape: &Shape, from: u32, to: u32, way: u32) -> Vec<(Name, u64)> {
    let [a, b] = [from, to].map(|host| shape.seats[host as usize]);
    let mut all = vec![(("from", from, 0, 0), a.width), (("to", to, 0, 0), b.width)];
    if let Some(route) = shape.routes.get(&(a.rack, b.rack)) {
        let link = |&link: &u32| (("link", link, 0, 0), shape.links[link as usize].width);
        all.extend(route.iter().map(link));
    } else {
        let width = |name| {
            let tier = if matches!(name, "up" | "down") {
                shape.up
            } else {
                shape.core
            };
            tier.unwrap().width
        };
        let links = links(shape, from, to, way).into_iter();
        all.extend(links.map(|link| (link, width(link.0))));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the rates: in no time has anything more frames than it carries in that, so that no two are in one slot of a
    /// line; and until pairs have waited for so long that lines are kept for them, whoever has no slot could not have one.
    #[test]
    fn no_line_or_link_has_more_frames_than_it_carries_and_none_is_free_for_one_that_waits(
        shape in uneven(),
        demands in prop::collection::vec((0u32..400, 0u32..400, 1u32..30), 1..40),
    ) {
        let hosts = u32::try_from(shape.seats.len()).unwrap();
        let mut arbiter = Arbiter::new(plan(Order::Fair, Some(shape.clone())));
        let mut left = BTreeMap::new();
        for (flow, (from, to, frames)) in (0u32..).zip(demands) {
            let (from, to) = (from % hosts, to % hosts);
            if from != to {
                arbiter.on_request(Time::ZERO, wants(from, to, flow, frames));
                left.insert(flow, (from, to, frames));
            }
        }
        prop_assume!(!left.is_empty());
        let all = given(&mut arbiter);
        let frames: u32 = left.values().map(|demand| demand.2).sum();
        prop_assert_eq!(all.len(), frames as usize);
        // Where no link is slow, colours find ways, and have too few where fewer links lead up than down.
        let coloured = shape.routes.is_empty() && !shape.is_slow();
        let mut lanes: BTreeMap<_, Lane> = BTreeMap::new();
        let mut had: BTreeMap<_, (u64, Vec<u64>)> = BTreeMap::new();
        for slot in all[0].0..=all.last().unwrap().0 {
            for &(_, _, flow, way) in all.iter().filter(|frame| frame.0 == slot) {
                let demand = left.get_mut(&flow).unwrap();
                demand.2 -= 1;
                for (name, width) in takes_of(&shape, demand.0, demand.1, way.into()) {
                    lanes.entry(name).or_default().take(slot, width);
                    had.entry(name).or_insert((width, Vec::new())).1.push(slot);
                }
            }
            if coloured || slot - all[0].0 >= 16 {
                continue;
            }
            let ways = shape.up.map_or(1, |up| up.ways) * shape.core.map_or(1, |core| core.ways);
            let is_free = |(name, width)| lanes.get(&name).is_none_or(|lane| lane.fits(slot, width));
            for &(from, to, _) in left.values().filter(|demand| demand.2 > 0) {
                let free = (0..ways).find(|&way| takes_of(&shape, from, to, way).into_iter().all(is_free));
                prop_assert_eq!(free, None, "slot {}: {} to {} could have it", slot, from, to);
            }
        }
        let crossed = arbiter.crossed() > 0;
        for ((name, ..), (width, slots)) in had.iter().filter(|had| !crossed || matches!(had.0.0, "from" | "to")) {
            for (i, first) in slots.iter().enumerate() {
                for (j, last) in slots.iter().enumerate().skip(i + 1) {
                    let (frames, time) = ((j - i) as u64, (last - first + 1) * PARTS);
                    prop_assert!(frames * width < time, "{name}: {width} {slots:?}");
                }
            }
        }
    }
}
