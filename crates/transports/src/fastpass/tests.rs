//! Conversations as ladders, and what an arbiter gives.
//!
//! The first part is conversations of hosts and their arbiter: without a fault, with one, and with a peer that is silent, forgets
//! or pauses. From `plan` on an arbiter is alone: who has which slots, in what order and by which ways, and that no link has two
//! frames in one, in fabrics of several shapes. The end has parameters, and the networks that an arbiter can serve.
//! `rates` has hosts and links of several rates.

mod rates;

use super::arbiter::{Arbiter, Plan, Request, Word};
use super::header::Alloc;
use super::shape::PARTS;
use super::ways::Chooser;
use super::words::Owed;
use super::*;
use model::{Class, ConnId, Signal};
use parts::Described;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use testkit::{A, B, Pair};
use units::{Span, Time};

const C: HostId = HostId(2);

fn params(text: &str) -> Params {
    FASTPASS.read(&text.parse().unwrap()).unwrap()
}

/// The ladder of a conversation that `script` writes down and that comes to its end.
fn ladder(text: &str, hosts: usize, script: impl FnOnce(&mut Pair<'_>)) -> String {
    let params = params(text);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(hosts, &make, &header::CODEC).named("fastpass");
    script(&mut pair);
    pair.run();
    pair.ladder()
}

/// Three hosts, of which C is the arbiter, and a message from A to B.
const ARBITER: &str = "arbiter = 2\nclock = \"shared\"\nbatch = 4\nlead = \"12us\"\nguard = 0.0\n";

fn by_arbiter(more: &str, script: impl FnOnce(&mut Pair<'_>)) -> String {
    ladder(&format!("{ARBITER}{more}"), 3, |pair| {
        pair.connect(Time::ZERO, A, C);
        pair.connect(Time::ZERO, B, C);
        script(pair);
    })
}

#[test]
fn a_message_asks_for_slots_and_leaves_in_them() {
    let found = by_arbiter("", |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
    });
    testkit::same(&found, testkit::shown(include_str!("README.md")));
}

#[test]
fn where_nobody_else_is_arbiter_the_receiver_is() {
    insta::assert_snapshot!(ladder("", 2, |pair| {
        pair.message(Time::ZERO, A, B, 4_000);
        pair.message(Time(200_000_000), B, A, 0);
    }));
}

#[test]
fn what_is_lost_is_found_out_and_asked_for_again() {
    let found = by_arbiter("", |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
        pair.lose(("DATA", 2));
        pair.lose(("DATA", 6));
    });
    assert!(found.contains("REQ 2 for #3, round 2"), "{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn a_lost_allocation_is_asked_for_when_the_arbiter_is_silent() {
    let found = by_arbiter("", |pair| {
        pair.message(Time::ZERO, A, B, 8_000);
        pair.lose(("SLOTS", 1));
    });
    assert!(found.contains("REQ 4 for #3, round 1, again"), "{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn the_arbiter_sends_and_receives_as_others_do() {
    let found = by_arbiter("", |pair| {
        pair.message(Time::ZERO, C, B, 3_000);
        pair.message(Time::ZERO, A, C, 3_000);
    });
    insta::assert_snapshot!(found);
}

/// A lost frame that many others overtook leaves again long before the last has left.
#[test]
fn what_many_overtook_is_sent_again_at_once() {
    let found = by_arbiter("", |pair| {
        pair.message(Time::ZERO, A, B, 300 * 1460);
        pair.lose(("DATA", 2));
    });
    let (second, last) = ("DATA 1460..2920", "DATA 436540..438000");
    let sent: Vec<_> = found.match_indices(second).map(|(at, _)| at).collect();
    let before = |at: usize| found[..at].matches("A -> B  DATA").count();
    assert_eq!(sent.len(), 2, "{found}");
    assert_eq!(found.matches(last).count(), 1, "{found}");
    // 64 frames and the frame itself, up to 32 until one is acknowledged, and those of a round trip.
    let overtaken = before(sent[1]) - before(sent[0]);
    assert!((65..140).contains(&overtaken), "{overtaken} frames later");
}

/// The arbiter is cut off for good: nobody waits for ever, and who waits says for whom.
#[test]
fn without_an_answer_of_the_arbiter_a_sender_gives_up() {
    let params = params(&format!("{ARBITER}timeout = \"50ms\"\n"));
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(3, &make, &header::CODEC).named("fastpass");
    pair.connect(Time::ZERO, A, C);
    let conn = pair.message(Time::ZERO, A, B, 8_000);
    pair.down(C, Time::ZERO, Time(u64::MAX));
    pair.run_until(Time(40_000_000_000));
    let stuck = pair.stuck();
    let of = stuck
        .iter()
        .find(|(_, flow)| flow.conn == conn)
        .expect("it waits");
    assert!(
        of.1.waits_for
            .starts_with("6 slots from the arbiter, host 2, silent since 0ps and asked 5 times"),
        "{of:?}"
    );
    pair.run_until(Time(200_000_000_000));
    let refused =
        |(_, _, event): &&(Time, HostId, model::Event)| *event == model::Event::Refused { conn };
    let (when, ..) = pair.events().iter().find(refused).expect("it gives up");
    assert!(
        when.0 > 50_000_000_000 && when.0 < 150_000_000_000,
        "{when}"
    );
    assert!(pair.stuck().iter().all(|(_, flow)| flow.conn != conn));
}

/// A pause keeps slots from being used; what they were for is asked for again, and nothing is a loss.
/// Its words come through and none of its frames do: each round of repetitions waits twice as long as the last.
#[test]
fn what_is_repeated_in_vain_is_repeated_more_and_more_seldom() {
    let params = params("");
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(2, &make, &header::CODEC);
    pair.message(Time::ZERO, A, B, 8_000);
    pair.lose("DATA");
    pair.run_until(Time::ZERO.after(Span::ms(1_000)));
    let rounds = pair
        .count(|packet| packet.class() == Class::Scheduled)
        .div_ceil(6);
    assert!((10..20).contains(&rounds), "{rounds} times in a second");
}

/// The receiver forgets the message before it has said anything of it, and what is under way opens it again.
fn forgets_early(pair: &mut Pair<'_>) {
    let conn = pair.message(Time::ZERO, A, B, 8_000);
    pair.forget(Time(41_000_000), conn, B);
}

#[test]
fn a_receiver_that_is_told_to_forget_says_so() {
    insta::assert_snapshot!(by_arbiter("", forgets_early));
}

/// That word is lost. Of each frame one life of the receiver or the other has said that it is there, and no question brings
/// the end nearer.
#[test]
fn a_sender_whose_receiver_misses_what_it_had_gives_up() {
    let found = by_arbiter("ack_every = 1\ntimeout = \"50ms\"", |pair| {
        forgets_early(pair);
        pair.lose(("GONE", 1));
    });
    let asked = found.matches("  END of message 0").count();
    assert!((2..40).contains(&asked), "{asked} questions\n{found}");
    assert!(found.contains("A was refused"), "{found}");
}

#[test]
fn slots_that_pass_in_a_pause_are_asked_for_again() {
    let found = by_arbiter("", |pair| {
        let conn = pair.message(Time::ZERO, A, B, 30_000);
        pair.signal(Time(45_000_000), A, Signal::PauseFlow(conn));
        pair.signal(Time(120_000_000), A, Signal::ResumeFlow(conn));
    });
    assert!(!found.contains("END"), "{found}");
    assert!(found.contains("round 2"), "{found}");
}

/// A word tells of several slots: where all pass in a pause, so do as many words as came, and not as many as slots.
#[test]
fn no_more_words_are_wasted_than_came() {
    let params = params(ARBITER);
    let make = |config: &EndpointConfig| Factory::make(&params, config);
    let mut pair = Pair::star(3, &make, &header::CODEC);
    pair.connect(Time::ZERO, A, C);
    pair.connect(Time::ZERO, B, C);
    let conn = pair.message(Time::ZERO, A, B, 30_000);
    pair.signal(Time(10_000_000), A, Signal::PauseFlow(conn));
    pair.signal(Time(500_000_000), A, Signal::ResumeFlow(conn));
    pair.run();
    let totals = pair.totals();
    let counters = pair.counters();
    let named = |wanted| counters.iter().filter(move |(name, _)| *name == wanted);
    let unused: u64 = named("slots_unused").map(|(_, value)| value).sum();
    assert!(unused > totals.credits_received, "{unused} of {totals:?}");
    assert!(totals.credits_wasted > 0, "{totals:?}");
    assert!(
        totals.credits_wasted <= totals.credits_received,
        "{totals:?}"
    );
}

fn plan(order: Order, shape: Option<Shape>) -> Plan {
    Plan {
        shape: shape.map(Arc::new),
        colours: true,
        order,
        slot: Span::ns(1_000),
        batch: 8,
        lead: Span::ns(2_000),
        request_time: Span::ZERO,
        frame_time: Span::ZERO,
        own: None,
        words: 1,
        word: Span::ZERO,
        way: Span::ZERO,
    }
}

fn wants(from: u32, to: u32, flow: u32, frames: u32) -> Request {
    Request {
        host: HostId(from),
        conn: ConnId(1_000 + from),
        to: HostId(to),
        flow,
        round: 1,
        frames,
        again: false,
        late: false,
    }
}

/// Every frame that an arbiter gives a slot until it is idle: slot, source, flow and way.
fn given(arbiter: &mut Arbiter) -> Vec<(u64, u32, u32, u16)> {
    let mut all = Vec::new();
    let mut steps = 0;
    while arbiter.due() < Time::NEVER {
        let now = arbiter.due();
        arbiter.work(now, Span::ZERO, false);
        arbiter.check();
        while let Some(answer) = arbiter.pop(now) {
            let Word::Alloc(alloc) = answer.word else {
                continue;
            };
            let slots = alloc.each().map(|(n, way)| {
                (
                    u64::from(alloc.slot) + u64::from(n),
                    answer.host.0,
                    alloc.flow,
                    way,
                )
            });
            all.extend(slots);
        }
        steps += 1;
        assert!(steps < 10_000, "it works for ever");
    }
    all.sort_unstable();
    all
}

#[test]
fn pairs_take_turns_or_the_shortest_goes_first() {
    let order = |order| {
        let batch = 1;
        let mut arbiter = Arbiter::new(Plan {
            batch,
            ..plan(order, None)
        });
        // Two messages of one host to another are one pair; a third host competes for the receiver.
        for request in [wants(0, 9, 1, 3), wants(0, 9, 2, 1), wants(1, 9, 3, 2)] {
            arbiter.on_request(Time::ZERO, request);
        }
        let flows = given(&mut arbiter).into_iter().map(|(.., flow, _)| flow);
        flows.collect::<Vec<_>>()
    };
    assert_eq!(order(Order::Fair), [1, 3, 2, 3, 1, 1]);
    assert_eq!(order(Order::Shortest), [2, 3, 3, 1, 1, 1]);
}

#[test]
fn a_request_that_is_said_twice_counts_once_and_one_for_nothing_ends_it() {
    let mut arbiter = Arbiter::new(plan(Order::Fair, None));
    let mut again = wants(0, 9, 1, 5);
    arbiter.on_request(Time::ZERO, again);
    again.again = true;
    arbiter.on_request(Time::ZERO, again);
    assert_eq!(given(&mut arbiter).len(), 5);
    arbiter.on_request(Time(1), wants(0, 9, 1, 100));
    arbiter.on_request(Time(2), wants(0, 9, 1, 0));
    assert_eq!(given(&mut arbiter).len(), 0);
    // What is wanted anew replaces what was.
    arbiter.on_request(Time(3), wants(0, 9, 1, 100));
    let mut less = wants(0, 9, 1, 3);
    less.round = 2;
    arbiter.on_request(Time(4), less);
    assert_eq!(given(&mut arbiter).len(), 3);
}

/// Slots whose words come when they are over are not given away.
#[test]
fn an_arbiter_whose_line_is_behind_gives_what_is_heard_of_in_time() {
    let shape = clos(2, 4, tier(4, 1), 1, None);
    let mut arbiter = Arbiter::new(Plan {
        own: Some(7),
        word: Span::ns(500),
        way: Span::ns(1_000),
        ..plan(Order::Fair, Some(shape))
    });
    // Each message wants a word of its own. A batch is 8 us, and begins 2 us ahead.
    for (to, frames) in [(1, 8), (2, 8), (3, 1)] {
        arbiter.on_request(Time::ZERO, wants(0, to, to, frames));
    }
    let mut work = |behind: u64, held: bool| {
        let now = arbiter.due();
        let before = arbiter.given;
        arbiter.work(now, Span::ns(behind), held);
        arbiter.check();
        let mut words = 0;
        while arbiter.pop(Time::NEVER).is_some() {
            words += 1;
        }
        (now.0 / 1_000_000, arbiter.given - before, words)
    };
    // The last slot begins 9 us from now, and its word takes 1.5 us.
    assert_eq!(work(7_501, false), (0, 0, 0));
    assert_eq!(work(7_500, false), (8, 1, 1), "all that one of them wants");
    // Nobody knows how long a pause takes.
    assert_eq!(work(0, true), (16, 0, 0));
    // A word for some slots of a batch says less than one for all of the next.
    assert_eq!(work(501, false), (24, 0, 0));
    assert_eq!(work(500, false), (32, 8, 1));
    assert_eq!(work(0, false), (40, 8, 1), "another has its turn");
}

/// Words that are held up somewhere come too late however early they leave the arbiter.
#[test]
fn an_arbiter_whose_words_come_too_late_speaks_sooner() {
    let shape = clos(2, 4, tier(4, 1), 1, None);
    let mut arbiter = Arbiter::new(Plan {
        own: Some(7),
        ..plan(Order::Fair, Some(shape))
    });
    let mut round = 0;
    let mut ahead = |at: u64, late: bool| {
        round += 1;
        let mut wants = wants(0, 1, 1, 1);
        (wants.round, wants.late) = (round, late);
        arbiter.on_request(Time(at * 1_000_000), wants);
        let now = arbiter.due();
        let slot = given(&mut arbiter)[0].0;
        slot - now.0 / 1_000_000
    };
    assert_eq!(
        [ahead(0, false), ahead(30, true), ahead(60, true)],
        [2, 4, 8]
    );
    // This one may have been told before that.
    assert_eq!([ahead(80, true), ahead(90, false)], [8, 8]);
    assert_eq!([ahead(900, false), ahead(1_200, false)], [4, 2]);
}

/// Requests take the arbiter's own line as frames to it do.
#[test]
fn what_an_arbiter_is_asked_leaves_so_much_less_room_for_frames_to_it() {
    let shape = clos(2, 4, tier(4, 1), 1, None);
    let first = |asked: u32| {
        let mut arbiter = Arbiter::new(Plan {
            own: Some(7),
            words: 2,
            ..plan(Order::Fair, Some(shape.clone()))
        });
        for flow in 0..asked {
            arbiter.on_request(Time::ZERO, wants(0, 7, flow, 1));
        }
        given(&mut arbiter).first().map(|&(slot, ..)| slot)
    };
    assert_eq!([1, 2, 6].map(first), [Some(2), Some(3), Some(5)]);
}

/// One of them may be dead.
#[test]
fn frames_of_one_message_take_every_way_in_turn() {
    let seen = |shape: Shape, to| -> BTreeSet<u16> {
        let mut arbiter = Arbiter::new(plan(Order::Fair, Some(shape)));
        arbiter.on_request(Time::ZERO, wants(0, to, 1, 12));
        let frames = given(&mut arbiter).into_iter();
        frames.map(|(.., way)| way).collect()
    };
    assert_eq!(seen(clos(2, 4, tier(4, 1), 1, None), 7).len(), 4);
    let tree = clos(2, 2, tier(2, 1), 2, Some(tier(3, 1)));
    assert_eq!(seen(tree, 7).len(), 6);
}

#[test]
fn an_answer_names_no_more_slots_than_it_has_bits_for_their_ways() {
    let tree = clos(2, 2, tier(2, 1), 2, Some(tier(3, 1)));
    let mut arbiter = Arbiter::new(Plan {
        batch: 16,
        ..plan(Order::Fair, Some(tree))
    });
    arbiter.on_request(Time::ZERO, wants(0, 7, 1, 16));
    arbiter.work(Time::ZERO, Span::ZERO, false);
    let answers = std::iter::from_fn(|| arbiter.pop(Time::ZERO));
    let slots = answers.map(|answer| match answer.word {
        Word::Alloc(alloc) => alloc.each().count(),
        Word::Wait(flow) => panic!("flow {flow} waits"),
    });
    // Each way takes three bits, and there are 32.
    assert_eq!(slots.collect::<Vec<_>>(), [10, 6]);
}

/// Two of them take as long as a frame.
#[test]
fn words_to_other_racks_and_from_them_take_the_room_of_frames() {
    let plan = Plan {
        own: Some(0),
        words: 2,
        ..plan(Order::Fair, Some(clos(2, 4, tier(4, 1), 1, None)))
    };
    let mut owed = Owed::default();
    for near_or_far in [1, 7] {
        (0..5).for_each(|_| owed.says(&plan, HostId(near_or_far)));
        (0..3).for_each(|_| owed.hears(&plan, HostId(near_or_far)));
    }
    let mut take = |slot| owed.take(&plan, slot);
    assert_eq!([take(0), take(1)], [[2, 1], [0, 0]]);
    owed.says(&plan, HostId(7));
    assert_eq!(owed.take(&plan, 2)[0], 1, "and the one that was left");
}

/// Leaves below as many spines as there are ways, or a fat tree: hosts, racks and pods in order.
fn clos(racks: u32, hosts: u32, up: Tier, pods: u32, core: Option<Tier>) -> Shape {
    let seats = (0..pods * racks * hosts).map(|host| Seat {
        rack: host / hosts,
        pod: host / hosts / racks,
        width: PARTS,
    });
    Shape {
        seats: seats.collect(),
        racks: racks * pods,
        pods,
        up: Some(up),
        core,
        links: Vec::new(),
        routes: BTreeMap::new(),
        rate: Rate::gbps(10),
    }
}

fn tier(ways: u16, each: u64) -> Tier {
    Tier::new(ways, Rate::gbps(10 * each), Rate::gbps(10))
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf_spine = (1u32..5, 1u32..7, 1u16..5, 1u64..4)
        .prop_map(|(racks, hosts, ways, each)| clos(racks, hosts, tier(ways, each), 1, None));
    // As many links up as down in every switch of a fat tree.
    let fat_tree = (1u16..4, 2u32..5).prop_map(|(half, pods)| {
        let hosts = u32::from(half);
        clos(hosts, hosts, tier(half, 1), pods, Some(tier(half, 1)))
    });
    prop_oneof![leaf_spine, fat_tree]
}

/// What a way is to the links of a fabric: each link that a frame takes between switches, by name.
fn links(shape: &Shape, from: u32, to: u32, way: u32) -> Vec<(&'static str, u32, u32, u32)> {
    let [a, b] = [from, to].map(|host| shape.seats[host as usize]);
    if a.rack == b.rack {
        return Vec::new();
    }
    let ways = shape.up.expect("racks have links").ways;
    let (agg, core) = (way % ways, way / ways);
    let mut links = vec![("up", a.rack, agg, 0), ("down", b.rack, agg, 0)];
    if a.pod != b.pod {
        links.extend([("out", a.pod, agg, core), ("in", b.pod, agg, core)]);
    }
    links
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is wanted, in whatever fabric: every frame gets one slot, no host sends or gets two in a slot, no link
    /// carries more in a slot than it can, and whoever has no slot could not have one.
    #[test]
    fn every_slot_is_a_maximal_matching_and_no_link_has_two_frames(
        shape in shapes(),
        shortest in any::<bool>(),
        demands in prop::collection::vec((0u32..400, 0u32..400, 1u32..12), 1..60),
    ) {
        let hosts = u32::try_from(shape.seats.len()).unwrap();
        let order = if shortest { Order::Shortest } else { Order::Fair };
        let mut arbiter = Arbiter::new(plan(order, Some(shape.clone())));
        let mut left = BTreeMap::new();
        for (flow, (from, to, frames)) in (0u32..).zip(demands) {
            let (from, to) = (from % hosts, to % hosts);
            arbiter.on_request(Time::ZERO, wants(from, to, flow, frames));
            if from != to {
                left.insert(flow, (from, to, frames));
            }
        }
        let frames: u32 = left.values().map(|demand| demand.2).sum();
        let all = given(&mut arbiter);
        prop_assert_eq!(all.len(), frames as usize);
        prop_assert_eq!(arbiter.crossed(), 0);
        let slots: BTreeSet<u64> = all.iter().map(|frame| frame.0).collect();
        for slot in slots {
            let mut sends = BTreeSet::new();
            let mut gets = BTreeSet::new();
            let mut carries: BTreeMap<_, u32> = BTreeMap::new();
            let mut racks: BTreeMap<_, u32> = BTreeMap::new();
            for &(_, host, flow, way) in all.iter().filter(|frame| frame.0 == slot) {
                let demand = left.get_mut(&flow).unwrap();
                let (from, to, _) = *demand;
                prop_assert_eq!(host, from);
                demand.2 -= 1;
                prop_assert!(sends.insert(from) && gets.insert(to));
                for link in links(&shape, from, to, way.into()) {
                    *carries.entry(link).or_default() += 1;
                    let (which, rack, ..) = link;
                    *racks.entry((which, rack)).or_default() += 1;
                }
            }
            let up = shape.up.unwrap();
            for (&(which, ..), &count) in &carries {
                let most = if matches!(which, "up" | "down") { up.most() / up.ways } else { shape.core.unwrap().most() / shape.core.unwrap().ways };
                prop_assert!(count <= most, "slot {slot}: {carries:?}");
            }
            let full = |which, rack, most| racks.get(&(which, rack)).is_some_and(|&count| count >= most);
            for &(from, to, frames) in left.values().filter(|demand| demand.2 > 0) {
                let [a, b] = [from, to].map(|host| shape.seats[host as usize]);
                let crowded = a.rack != b.rack && (full("up", a.rack, up.most()) || full("down", b.rack, up.most()));
                let core = shape.core.map_or(u32::MAX, |core| core.most() * up.ways);
                let far = a.pod != b.pod && (full("out", a.pod, core) || full("in", b.pod, core));
                prop_assert!(
                    sends.contains(&from) || gets.contains(&to) || crowded || far,
                    "slot {slot}: {from} to {to} wants {frames}"
                );
            }
        }
    }
}

/// Four racks in a row: what goes to the end of the row crosses every link of it.
#[test]
fn no_link_of_a_row_of_racks_has_two_frames_in_a_slot() {
    let mut shape = clos(4, 3, tier(1, 1), 1, None);
    (shape.up, shape.links) = (None, vec![tier(1, 1); 3]);
    let row = |a: u32, b: u32| (a..b).collect::<Vec<u32>>();
    let pairs = (0..4).flat_map(|a| (a + 1..4).map(move |b| (a, b)));
    shape.routes = pairs.map(|(a, b)| ((a, b), row(a, b))).collect();
    let mut arbiter = Arbiter::new(plan(Order::Fair, Some(shape)));
    // One message along all links, one along each.
    for (flow, (from, to)) in (0..).zip([(0, 9), (1, 3), (4, 6), (7, 10)]) {
        arbiter.on_request(Time::ZERO, wants(from, to, flow, 8));
    }
    let slots: Vec<(u64, u32)> = given(&mut arbiter)
        .iter()
        .map(|frame| (frame.0, frame.2))
        .collect();
    let of = |slot: u64| {
        slots
            .iter()
            .filter(|frame| frame.0 == slot)
            .map(|frame| frame.1)
            .collect::<Vec<_>>()
    };
    let first = slots[0].0;
    assert_eq!([first, first + 8].map(of), [vec![0], vec![1, 2, 3]]);
    assert_eq!(slots.len(), 32);
}

#[test]
fn a_way_is_told_in_as_few_bits_as_it_needs() {
    let bits = |ways, core: Option<Tier>| {
        let shape = clos(2, 2, tier(ways, 1), 2, core);
        Chooser::new(&shape).map(|chooser| chooser.bits)
    };
    assert_eq!(
        [1, 2, 3, 16, 17].map(|ways| bits(ways, None)),
        [None, Some(1), Some(2), Some(4), Some(5)]
    );
    assert_eq!(bits(4, Some(tier(4, 1))), Some(4));
    assert_eq!(bits(400, Some(tier(400, 1))), None, "switches choose");
    let alloc = Alloc {
        flow: 0,
        slot: 0,
        number: 0,
        mask: 0b1011,
        ways: 0b10_01_11,
        bits: 2,
    };
    assert_eq!(alloc.each().collect::<Vec<_>>(), [(0, 3), (1, 1), (3, 2)]);
}

#[test]
fn parameters_survive_their_own_table_and_refuse_nonsense() {
    for text in [
        "",
        "profile = \"artefact\"",
        "profile = \"yaps\"",
        "arbiter = 3\nclock = \"own\"",
    ] {
        let read = params(text);
        assert_eq!(FASTPASS.read(&read.resolved()), Ok(read));
    }
    let refusals: String = [
        "batch = 17",
        "order = \"longest\"",
        "clock = \"hers\"",
        "linger = \"1s\"",
    ]
    .map(|text| {
        FASTPASS
            .read(&text.parse().unwrap())
            .unwrap_err()
            .to_string()
            + "\n"
    })
    .concat();
    insta::assert_snapshot!(refusals);
}

/// Two racks of a host each, with `choices` at their uplinks and this idle round trip.
struct Racks {
    choices: u16,
    rtt: Span,
}

impl model::Net for Racks {
    fn hosts(&self) -> u32 {
        2
    }
    fn rate(&self, _: HostId) -> Rate {
        Rate::gbps(10)
    }
    fn rack(&self, host: HostId) -> u32 {
        host.0
    }
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        if a == b { 0 } else { self.choices }
    }
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
        (a != b).then_some(self.rtt)
    }
    fn way(&self, a: HostId, b: HostId) -> Vec<(u16, Rate, u32)> {
        let links = [(1, 0), (self.choices, 1), (1, 2), (1, 3)];
        let numbered = links.map(|(of, link)| (of, Rate::gbps(10), link + 4 * a.0));
        if a == b {
            Vec::new()
        } else {
            numbered.to_vec()
        }
    }
}

fn settled(choices: u16, rtt: Span) -> Result<Option<Params>, ParamError> {
    let net = Racks { choices, rtt };
    let mut facts = Facts::of(Encap::PAPER);
    facts.net = Some(&net);
    Params::DEFAULT.settled(&facts)
}

/// A frame takes 1,538 B at 10 Gb/s, and slots are told [`header::LEAD_SLOTS`] frames ahead.
#[test]
fn an_arbiter_serves_a_network_whose_half_round_trip_is_what_slots_are_told_ahead() {
    let most = Span(2 * header::LEAD_SLOTS * 1538 * 800);
    assert!(settled(1, most).is_ok());
    let wrong = settled(1, Span(most.0 + 1)).unwrap_err();
    assert!(wrong.message.contains("idle round trip"), "{wrong:?}");
}

/// What the refusal tells one to set is enough, and no less is.
#[test]
fn an_arbiter_that_frames_are_too_short_for_says_how_long_they_must_be() {
    let net = Racks {
        choices: 1,
        rtt: Span::ms(37),
    };
    let with = |mtu: u16| {
        let mut facts = Facts::of(Encap::PAPER.with_mtu(mtu.into()).unwrap());
        facts.net = Some(&net);
        Params::DEFAULT.settled(&facts)
    };
    let wrong = with(1500).unwrap_err().message;
    let told = wrong.split_once("run.mtu = \"").expect("it names a size").1;
    let told: u16 = told.split_once("B\"").unwrap().0.parse().unwrap();
    assert!(with(told).is_ok() && with(told - 1).is_err(), "{wrong}");
    let never = Racks {
        choices: 1,
        rtt: Span::ms(100),
    };
    let mut facts = Facts::of(Encap::PAPER);
    facts.net = Some(&never);
    let wrong = Params::DEFAULT.settled(&facts).unwrap_err().message;
    assert!(!wrong.contains("run.mtu"), "{wrong}");
}

/// So many hosts in one rack.
struct Rack(u32);

impl model::Net for Rack {
    fn hosts(&self) -> u32 {
        self.0
    }
    fn rate(&self, _: HostId) -> Rate {
        Rate::gbps(10)
    }
    fn rack(&self, _: HostId) -> u32 {
        0
    }
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        u16::from(a != b)
    }
    fn base_rtt(&self, _: HostId, _: HostId) -> Option<Span> {
        Some(Span::us(10))
    }
    fn way(&self, a: HostId, b: HostId) -> Vec<(u16, Rate, u32)> {
        let known = a.0.max(b.0) < self.0;
        let links = [a.0, self.0 + b.0].map(|link| (1, Rate::gbps(10), link));
        if known { links.to_vec() } else { Vec::new() }
    }
    fn longest_rtt(&self) -> Option<Span> {
        Some(Span::us(10))
    }
}

#[test]
fn an_arbiter_serves_as_many_hosts_as_its_words_can_name() {
    let settled = |hosts| {
        let net = Rack(hosts);
        let mut facts = Facts::of(Encap::PAPER);
        facts.net = Some(&net);
        Params::DEFAULT.settled(&facts)
    };
    for hosts in [2, header::HOSTS_MAX] {
        let arbiter = settled(hosts).unwrap().and_then(|params| params.arbiter);
        assert_eq!(arbiter, Some(hosts - 1), "the last of {hosts}");
    }
    let wrong = settled(header::HOSTS_MAX + 1).unwrap_err();
    assert_eq!(wrong.to_string(), "arbiter: there are hosts 0 to 1048575");
}

#[test]
fn single_links_are_counted_where_no_way_has_a_choice() {
    let shape = |choices| {
        settled(choices, Span::us(10))
            .unwrap()
            .unwrap()
            .shape
            .unwrap()
    };
    let single = shape(1);
    assert_eq!((single.links.len(), single.up.is_none()), (4, true));
    assert_eq!(single.routes[&(0, 1)], [0, 1]);
    assert_eq!(single.routes[&(1, 0)], [2, 3]);
    let many = shape(2);
    assert!(many.routes.is_empty() && many.up.is_some_and(|up| up.ways == 2));
}

/// Each frame leaves a gap before it.
#[test]
fn data_for_which_a_message_has_too_many_gaps_is_counted() {
    let config = EndpointConfig::new(A, Rate::gbps(10), Encap::PAPER);
    let mut alone = testkit::Alone::new(Host::new(&params(""), &config));
    for n in 1..=4_100 {
        let data = header::Data {
            offset: n * 2_920,
            length: 1_460,
            alloc: 0,
            known: false,
            way: 0,
            lifetime: model::Lifetime::OneMessage,
            answer: false,
            end: false,
        };
        alone.hear(&data.packet(A, ConnId(0), Encap::PAPER.wire(1_460)));
    }
    assert_eq!(alone.host.counts.not_kept, 4, "4,096 are kept");
}
