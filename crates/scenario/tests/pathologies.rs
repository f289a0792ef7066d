//! What pauses are known to do to those who did nothing, and what finer ones spare them. `docs/pathologies.md` has the list;
//! its numbers are what these tests print: `cargo test --test pathologies -- --nocapture`.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use common::assembled;
use model::{Class, EndpointConfig};
use scenario::{Alone, Assembled, load_text};
use sim::Outcome;
use std::fmt::Write as _;
use units::{Span, Time};

/// Those that pause flows, or queues of few flows.
const FINE: [&str; 3] = ["ideal", "bfc", "aquarius"];

/// Sends as fast as the line allows, and reacts to nothing but losses.
const GREEDY: &str =
    "[transport]\nkind = \"dctcp\"\n[transport.dctcp]\necn = false\ninitial_window = 1000\n";

fn assemble(text: &str) -> Assembled {
    let scenario = load_text("t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    scenario.assemble().unwrap_or_else(|e| panic!("{e}"))
}

fn run(of: &Assembled) -> Outcome {
    let make = |config: &EndpointConfig| of.endpoint(config);
    let mut setup = of.setup(&make, 1);
    setup.probes.accepted = true;
    let outcome = sim::run(&setup, &mut sim::Blind).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()));
    outcome
}

/// Nothing was lost, and nothing was overtaken: that would have been sent again.
fn is_lossless(outcome: &Outcome, what: &str) {
    let data = [Class::Scheduled, Class::Unscheduled, Class::Plain];
    let ports = outcome.ports.iter();
    let lost: u64 = ports
        .flat_map(|port| data.map(|class| port.dropped[class]))
        .sum();
    let again = outcome.totals.retransmitted;
    assert_eq!((lost, again), (0, 0), "{what}: lost and sent again");
}

/// Bytes of a connection that its receiver accepted.
fn accepted(outcome: &Outcome, conn: u32) -> u64 {
    let own = outcome.accepted.iter().filter(|((of, _), _)| *of == conn);
    own.map(|(_, bytes)| *bytes).sum()
}

/// Bytes accepted of each connection in Gb/s, of a run of 2 ms.
fn rates(of: &Assembled) -> Vec<f64> {
    let outcome = run(of);
    let of_conn = |conn| accepted(&outcome, conn) as f64 * 8.0 / 2e6;
    (0..of.conns_of_messages).map(of_conn).collect()
}

/// Long flows under `control`, for 2 ms.
fn flows(topology: &str, pairs: &str, control: &str) -> Assembled {
    assemble(&format!(
        "[topology]\n{topology}\n[workload]\nkind = \"long-flows\"\npairs = [{pairs}]\n{GREEDY}\
         [switch]\nflow_control = \"{control}\"\n[run]\nuntil = \"2ms\"\n"
    ))
}

/// The scenario of an experiment.
macro_rules! experiment {
    ($name:literal) => {
        concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../experiments/",
            $name,
            "/scenario.toml"
        )
    };
}

/// What hosts from `first` on accept in Gb/s between 1 and 4.9 ms of `scenario` with `sets`: what they have by then without
/// what they had before.
fn received(scenario: &str, sets: &[&str], first: u32) -> Vec<f64> {
    let until = |until: &str| {
        let of = assembled(scenario, &[sets, &[until]].concat());
        let hosts = of.traffic.conns.iter().map(|conn| conn.b + 1).max();
        let mut all = vec![0; (hosts.unwrap() - first) as usize];
        for ((conn, _), bytes) in run(&of).accepted {
            all[(of.traffic.conns[conn as usize].b - first) as usize] += bytes;
        }
        all
    };
    let (early, late) = (until("run.until=1ms"), until("run.until=4900us"));
    let rate = |(late, early): (&u64, &u64)| (late - early) as f64 * 8.0 / 3.9e6;
    late.iter().zip(&early).map(rate).collect()
}

#[test]
fn three_flows_share_a_receiver_and_a_fourth_keeps_its_line_under_fine_pauses() {
    let of = |control: &str, more: &[&str]| {
        let set = format!("switch.flow_control={control}");
        let of = assembled(
            experiment!("aquarius-micro"),
            &[&[set.as_str()], more].concat(),
        );
        let outcome = run(&of);
        let flows = [0, 1, 2, 3].map(|conn| accepted(&outcome, conn) as f64 * 8.0 / 5e6);
        println!("T7: goodput in Gb/s of four flows: {control} {more:?} {flows:.1?}");
        flows
    };
    // On the wire, where a full frame has 1538 B of which 1460 are payload, from 1 ms on: the fourth has its line, and the
    // first the 33 Gb/s of its host, of which two halves of the rest are 33.5 each.
    let is_fair = |control: &str, more: &[&str]| {
        let [early, late] = ["run.until=1ms", "run.until=5ms"]
            .map(|until| of(control, &[more, &[until]].concat()).map(|rate| rate * 5e6));
        let wire = [0, 1, 2, 3].map(|conn| (late[conn] - early[conn]) / 4e6 * 1538.0 / 1460.0);
        println!("T7: {control} {more:?}: on the wire {wire:.1?}");
        assert!(wire[3] >= 99.0, "{control} {more:?}: {wire:.1?}");
        let mut three = wire.iter().zip([33.0, 33.5, 33.5]);
        assert!(
            three.all(|(rate, fair)| (rate - fair).abs() <= 1.0),
            "{control} {more:?}: {wire:.1?}"
        );
    };
    let ideal = of("ideal", &[]);
    is_fair("ideal", &[]);
    for queues in ["switch.aquarius.queues=4", "switch.aquarius.queues=8"] {
        let ours = of("aquarius", &[queues]);
        is_fair("aquarius", &[queues]);
        for (ours, fair) in ours.iter().zip(ideal) {
            assert!(
                (ours - fair).abs() < 2.0,
                "{queues}: {ours:.1}, {fair:.1} is fair"
            );
        }
    }
    let few = of("bfc", &["switch.bfc.queues=2"]);
    let pfc = of("pfc", &[]);
    assert!(
        pfc[3] < 0.5 * ideal[3] && few[3] < 0.95 * ideal[3],
        "{few:.1?}, {pfc:.1?}"
    );
    assert!(few[3] > pfc[3], "{few:.1?}, {pfc:.1?}");
    // Of a trunk that all together fill, and of one that each would, the fourth has no less than under PFC.
    for trunk in ["200Gbps", "100Gbps"] {
        let set = format!("topology.bottleneck_rate={trunk}");
        let [pfc, bfc, aquarius, ideal] =
            ["pfc", "bfc", "aquarius", "ideal"].map(|control| of(control, &[&set])[3]);
        let all = format!(
            "{trunk}: pfc {pfc:.1}, bfc {bfc:.1}, aquarius {aquarius:.1}, ideal {ideal:.1}"
        );
        assert!(aquarius >= 0.97 * pfc && ideal >= 0.97 * pfc, "{all}");
    }
    // What it lacks of a trunk that all together fill, it lacks because its queue runs empty before it is resumed.
    let whole = of(
        "ideal",
        &["topology.bottleneck_rate=200Gbps", "switch.ideal.xon=1.0"],
    );
    assert!(whole[3] > ideal[3] - 2.0, "{whole:.1?}");
}

#[test]
fn one_reserved_queue_couples_receivers_and_four_do_not() {
    let mut mean = [0.0; 4];
    for seed in 1..=3 {
        let seed = format!("run.seed={seed}");
        let of = |sets: &[&str]| {
            let sets = [&[seed.as_str()], sets].concat();
            received(experiment!("aquarius-coupling"), &sets, 25)
        };
        let ideal = of(&["switch.flow_control=ideal"]);
        // A bystander, then receivers of 2, 6 and 16 senders: in hundredths of what they ideally get.
        let share = |reserved: &str| {
            let ours = of(&["switch.flow_control=aquarius", reserved]);
            let shares = ours.iter().zip(&ideal);
            let share: Vec<f64> = shares.map(|(own, all)| own / all * 100.0).collect();
            println!("T13b: {seed}, {reserved}: per cent of ideal {share:.0?}");
            share
        };
        let one = share("switch.aquarius.reserved=1");
        for (mean, ours) in mean.iter_mut().zip(&one) {
            *mean += ours / 3.0;
        }
        let four = share("switch.aquarius.reserved=4");
        assert!(four.iter().all(|&ours| ours > 90.0), "{seed}: {four:.0?}");
    }
    println!("T13b: with one reserved queue in the mean {mean:.0?}");
    for (ours, known) in mean.iter().zip([94.0, 28.0, 60.0, 77.0]) {
        assert!((ours - known).abs() < 5.0, "{mean:.0?}");
    }
}

#[test]
fn who_comes_by_a_port_of_their_own_gets_half_under_pfc_and_their_share_under_finer_pauses() {
    // Three senders behind one link, a fourth beside the receiver: 40 Gb/s everywhere.
    let parking = "kind = \"dumbbell\"\npairs = 3\nhost_rate = \"40Gbps\"";
    let of = |control: &str| {
        rates(&flows(
            parking,
            r#""0 -> 5", "1 -> 5", "2 -> 5", "3 -> 5""#,
            control,
        ))
    };
    let pfc = of("pfc");
    let whole: f64 = pfc.iter().sum();
    println!("T5: shares in Gb/s: pfc {pfc:.1?}");
    assert!(whole > 35.0, "the line is full: {pfc:?}");
    assert!(
        pfc[3] > 0.42 * whole && pfc[3] < 0.55 * whole,
        "half: {pfc:?}"
    );
    let credits = of("cbfc");
    println!("T5: cbfc {credits:.1?}");
    let all = credits.iter().sum::<f64>();
    assert!(
        credits[3] > 0.42 * all && credits[3] < 0.58 * all,
        "as pauses of priorities: {credits:?}"
    );
    // The three share the other half.
    for (three, all) in [(&pfc[..3], whole), (&credits[..3], all)] {
        let sixth = all / 6.0;
        assert!(
            three.iter().all(|rate| (rate / sixth - 1.0).abs() < 0.25),
            "{three:?} of {all}"
        );
    }
    for control in FINE {
        let fine = of(control);
        let whole: f64 = fine.iter().sum();
        println!("T5: {control} {fine:.1?}");
        assert!(whole > 35.0, "{control}: {fine:?}");
        // Under BFC two flows may meet in a queue.
        let least = if control == "bfc" { 0.15 } else { 0.23 };
        assert!(
            fine[3] < 0.38 * whole && fine.iter().all(|&rate| rate > least * whole),
            "{control}, a quarter is fair: {fine:?}"
        );
    }
}

#[test]
fn who_comes_alone_gets_more_than_its_share_under_aquarius_beside_four_or_more() {
    // What the one beside gets, by its share; and the least that one gets, by the same.
    let of = |senders: u32, control: &str, more: &str| {
        let pairs: Vec<String> = (0..=senders)
            .map(|from| format!("\"{from} -> {}\"", 2 * senders - 1))
            .collect();
        let rates = rates(&assemble(&format!(
            "[topology]\nkind = \"dumbbell\"\npairs = {senders}\nhost_rate = \"100Gbps\"\n\
             [workload]\nkind = \"long-flows\"\npairs = [{}]\n[transport]\nkind = \"none\"\n\
             [switch]\nflow_control = \"{control}\"\n[switch.{control}]\n{more}\n[run]\nuntil = \"2ms\"\n",
            pairs.join(", ")
        )));
        let share = rates.iter().sum::<f64>() / rates.len() as f64;
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
        let (beside, least) = (rates[senders as usize] / share, least / share);
        println!(
            "T5: {senders} senders, {control} {more:?}: {beside:.2} shares, the least {least:.2}"
        );
        assert!(
            share * rates.len() as f64 > 90.0,
            "the line is full: {rates:.1?}"
        );
        (beside, least)
    };
    for (senders, known) in [
        (2, 1.0),
        (3, 1.0),
        (4, 1.46),
        (5, 1.56),
        (6, 1.0),
        (7, 1.71),
    ] {
        let (fair, ours) = (of(senders, "ideal", ""), of(senders, "aquarius", ""));
        assert!((fair.0 - 1.0).abs() < 0.1 && fair.1 > 0.9, "{fair:?}");
        assert!((ours.0 - known).abs() < 0.15, "{ours:?}, {known} is known");
        assert!(ours.1 > 0.7, "nobody is starved: {ours:?}");
    }
    for senders in [4, 7] {
        let both = of(senders, "aquarius", "queues = 16\nthresholds = \"fixed\"");
        assert!(both.0 < 1.4, "{both:?}");
    }
    // More flows than a port has normal queues.
    for (senders, beside, reserved) in [(8, 1.95, 2.5), (12, 2.48, 3.45)] {
        let fair = of(senders, "ideal", "");
        assert!((fair.0 - 1.0).abs() < 0.06 && fair.1 > 0.9, "{fair:?}");
        let bfc = of(senders, "bfc", "");
        assert!((bfc.0 - 1.0).abs() < 0.25 && bfc.1 > 0.4, "{bfc:?}");
        for (more, known) in [("", beside), ("reserved = 4", reserved)] {
            let ours = of(senders, "aquarius", more);
            assert!(
                (ours.0 / known - 1.0).abs() < 0.15,
                "{ours:?}, {known} is known"
            );
            assert!(ours.1 > 0.5, "nobody is starved: {ours:?}");
        }
        // A queue for each of them is not all that it takes: queues divide thresholds, too.
        let queues = of(senders, "aquarius", "queues = 16");
        let both = of(senders, "aquarius", "queues = 16\nthresholds = \"fixed\"");
        assert!(queues.0 > 1.5 && both.0 < 1.35, "{queues:?}, {both:?}");
    }
}

#[test]
fn a_victim_shares_no_congested_line_and_loses_half_with_the_first_sender_elsewhere_under_pfc_alone()
 {
    // Four racks. Four hosts of the first send to one of the fourth, as do k of the third; the victim goes from the first
    // rack to the second.
    let clos = "kind = \"leaf-spine\"\nleaves = 4\nspines = 1\nhosts_per_leaf = 5\nhost_rate = \"40Gbps\"\n\
                uplink_rate = \"80Gbps\"";
    let victim = |control: &str, others: usize| {
        let other = [
            ", \"10 -> 15\"",
            ", \"11 -> 15\"",
            ", \"12 -> 15\"",
            ", \"13 -> 15\"",
        ];
        let pairs = format!(
            r#""4 -> 5", "0 -> 15", "1 -> 15", "2 -> 15", "3 -> 15"{}"#,
            other[..others].concat()
        );
        rates(&flows(clos, &pairs, control))[0]
    };
    for control in ["pfc", "cbfc"] {
        let rates = [0, 1, 2, 3, 4].map(|others| victim(control, others));
        println!("T6: the victim in Gb/s with 0 to 4 more: {control} {rates:.1?}");
        // Ports share the congested line: the first sender elsewhere takes half of it, and others take from that one.
        assert!(rates[0] > 8.0 && rates[0] < 15.0, "{control}: {rates:.1?}");
        let half = rates[0] / 2.0;
        assert!(
            rates[1..]
                .iter()
                .all(|rate| (rate / half - 1.0).abs() < 0.2),
            "{control}: {rates:.1?}"
        );
    }
    for control in FINE {
        // Under BFC two flows may meet in a queue.
        let least = if control == "bfc" { 25.0 } else { 34.0 };
        let spared = [0, 1, 4].map(|others| victim(control, others));
        println!("T6: {control} {spared:.1?}");
        assert!(
            spared.iter().all(|&rate| rate > least),
            "{control}: {spared:?}"
        );
    }
}

/// When the last of eight messages to one host and their neighbour's ended, and how many frames of the flow control
/// were lost.
fn incast_ends(control: &str, sets: &[&str]) -> (Time, u64) {
    let kind = format!("switch.flow_control={control}");
    let mut all = vec![
        kind.as_str(),
        "topology.leaves=2",
        "topology.spines=1",
        "topology.hosts_per_leaf=9",
        "topology.host_rate=10Gbps",
        "topology.uplink_rate=100Gbps",
        "transport.kind=none",
        "switch.shared_buffer=4MB",
    ];
    all.extend(sets);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flow_control.toml");
    let outcome = run(&assembled(file, &all));
    is_lossless(&outcome, control);
    let ends = outcome.messages.iter().map(|message| message.end);
    let end = ends.map(|end| end.expect("it ends")).max();
    let lost = outcome.ports.iter().map(|port| port.lost[Class::Link]);
    (end.expect("there are messages"), lost.sum())
}

#[test]
fn what_a_lost_frame_of_a_flow_control_stops_goes_on_within_three_periods() {
    // PFC with room for what comes at 100 Gb/s until a lost pause is said again.
    let pfc = ["switch.pfc.pause_time=20us", "switch.pfc.headroom=300KB"];
    let bfc = ["switch.bfc.period=20us", "switch.bfc.signals=periodic"];
    for (control, repeat) in [
        ("pfc", &pfc[..]),
        ("aquarius", &["switch.aquarius.refresh=20us"]),
        ("bfc", &bfc),
        ("cbfc", &["switch.cbfc.resend=20us"]),
    ] {
        let (whole, _) = incast_ends(control, repeat);
        let (mut lost, mut later) = (0, Span::ZERO);
        // All frames of 4 us, early and late in the incast: pauses, resumes, and what would have repeated them.
        for from in (100..=1_500).step_by(29) {
            let (from, until) = (
                format!("faults.from={from}us"),
                format!("faults.until={}us", from + 4),
            );
            let fault = [
                "faults.kind=loss",
                "faults.link=* <-> *",
                "faults.class=link",
                "faults.chance=1",
                &from,
                &until,
            ];
            let sets = [repeat, &fault].concat();
            let (end, frames) = incast_ends(control, &sets);
            lost += frames;
            later = later.max(end.since(whole.min(end)));
        }
        println!("T11: {control}: {lost} frames lost, at most {later} later than without");
        assert!(lost > 0, "{control}: none was lost");
        assert!(later <= Span::us(3 * 20), "{control}: {later} later");
    }
}

#[test]
fn a_host_stops_one_of_its_flows_and_gives_the_line_to_the_other() {
    // Three to one receiver, a third of its line each; the first has another flow.
    let hosts = "kind = \"dumbbell\"\npairs = 3\nbottleneck_rate = \"400Gbps\"";
    let of = |control: &str| {
        rates(&flows(
            hosts,
            r#""0 -> 3", "1 -> 3", "2 -> 3", "0 -> 4""#,
            control,
        ))
    };
    for control in FINE {
        let rates = of(control);
        println!(
            "T12: paused and other flow of the host, Gb/s: {control} {:.1}, {:.1}",
            rates[0], rates[3]
        );
        assert!((20.0..36.0).contains(&rates[0]), "{control}: {rates:?}");
        assert!(rates[3] > 58.0, "{control}: {rates:?}");
    }
    let pfc = of("pfc");
    assert!(pfc[3] < 45.0, "both are stopped: {pfc:?}");
    let credits = of("cbfc");
    println!(
        "T12: pfc {:.1}, {:.1}; cbfc {:.1}, {:.1}",
        pfc[0], pfc[3], credits[0], credits[3]
    );
    assert!(credits[3] < 45.0, "both are stopped: {credits:?}");
}

#[test]
fn a_host_stops_a_paused_flow_within_a_round_trip_of_its_hop() {
    // The host at 100 Gb/s sends into a line of 10. Both ways of its hop take 3 us, and two frames and a pause go over them.
    const ROUND: u64 = 37_500 + 2 * 1_538 + 84;
    let topology = "kind = \"dumbbell\"\npairs = 1\nbottleneck_rate = \"10Gbps\"";
    // What waits before a flow is paused, in what 10 Gb/s take in a round trip: 1.5; one and a period with BFC, whose
    // pauses wait for a period of 100 Gb/s more; four in a queue of Aquarius and two in its reserved one.
    for (control, before) in [
        ("ideal", ROUND * 15 / 100),
        ("bfc", 5_000 + 12_500),
        ("aquarius", ROUND * 60 / 100),
    ] {
        let outcome = run(&flows(topology, "\"0 -> 1\"", control));
        let waited = outcome.ports.iter().map(|port| port.queue_max).max();
        let after = waited.unwrap_or(0).saturating_sub(before);
        println!(
            "T12: {control}: {after} B came after a pause was due, {ROUND} B are a round trip"
        );
        assert!(after <= ROUND + 1_538, "{control}: {after} B");
        assert!(
            after > ROUND * 2 / 3,
            "{control}: the host was not paused by what it sent: {after} B"
        );
    }
}

/// Four racks, two spines; the first rack has lost one spine and the second the other, so that what goes between them
/// bounces at a third rack. The third and the fourth send to each other, too.
fn bounced(control: &str, down: bool) -> Outcome {
    let pairs: Vec<String> = [(0, 4), (4, 0), (8, 12), (12, 8)]
        .iter()
        .flat_map(|(from, to)| (0..4).map(move |n| format!("\"{} -> {}\"", from + n, to + n)))
        .collect();
    let faults = "[[faults]]\nkind = \"down\"\nlink = \"tor0 <-> spine0\"\n\
                  [[faults]]\nkind = \"down\"\nlink = \"tor1 <-> spine1\"\n";
    let of = assemble(&format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"40Gbps\"\n\
         uplink_rate = \"40Gbps\"\n[workload]\nkind = \"long-flows\"\npairs = [{}]\n\
         [transport]\nkind = \"none\"\n[switch]\nflow_control = \"{control}\"\nshared_buffer = \"1MB\"\n\
         [run]\nuntil = \"3ms\"\n{}",
        pairs.join(", "),
        if down { faults } else { "" }
    ));
    run(&of)
}

#[test]
fn a_bounced_path_locks_pauses_of_priorities_and_up_and_down_does_not() {
    for control in ["pfc", "cbfc"] {
        assert_eq!(
            bounced(control, false).deadlock,
            [],
            "{control}: up and down"
        );
        let locked = bounced(control, true);
        println!(
            "T3: {control}: a circle of {}, since {}",
            locked.deadlock.len(),
            locked.locked[0].since
        );
        // Down to the fourth rack, up from it, down to the third, up from that.
        assert_eq!(locked.deadlock.len(), 4, "{control}: {:?}", locked.deadlock);
        is_lossless(&locked, control);
    }
    for control in FINE {
        let outcome = bounced(control, true);
        assert_eq!(outcome.deadlock, [], "{control}");
        is_lossless(&outcome, control);
        let least = (0..16).map(|conn| accepted(&outcome, conn)).min();
        println!("T3: {control}: every flow has {least:?} B in 3 ms, or more");
        assert!(least > Some(1_000_000), "{control}: {least:?}");
    }
}

/// Rings of five switches of 10 Gb/s under PFC, each with `hosts` hosts of `gbps` Gb/s that send `size` each, the last
/// to the next switch but one and the others to the next: from `starts`, one for each ring.
fn rings((hosts, gbps): (u32, u32), size: &str, starts: &[&str], rest: &str) -> Assembled {
    let rings = u32::try_from(starts.len()).unwrap();
    let (all, switches) = (5 * hosts * rings, 5 * rings);
    let links = all + switches + rings - 1;
    let mut file = format!("{} {switches} {links}\n", all + switches);
    let mut trace = String::from("src,dst,size,start\n");
    let numbers: Vec<String> = (all..all + switches).map(|n| n.to_string()).collect();
    writeln!(file, "{}", numbers.join(" ")).unwrap();
    for ring in 1..rings {
        // On nobody's way.
        writeln!(file, "{all} {} 10Gbps 1us 0", all + 5 * ring).unwrap();
    }
    for (ring, start) in (0..).zip(starts) {
        for at in 0..5 {
            let (own, next) = (5 * ring + at, 5 * ring + (at + 1) % 5);
            for host in 0..hosts {
                let last = u32::from(host + 1 == hosts);
                let to = 5 * ring + (at + 1 + last) % 5;
                let back = if hosts > 1 { last } else { 0 };
                let (from, to) = (own * hosts + host, to * hosts + back);
                writeln!(file, "{from} {} {gbps}Gbps 1us 0", all + own).unwrap();
                writeln!(trace, "{from},{to},{size},{start}").unwrap();
            }
            writeln!(file, "{} {} 10Gbps 1us 0", all + own, all + next).unwrap();
        }
    }
    let folder = std::env::temp_dir();
    let name = format!("tidegate-rings-{}-{size}-{rings}", std::process::id());
    let [file_at, trace_at] = ["txt", "csv"].map(|end| folder.join(format!("{name}.{end}")));
    std::fs::write(&file_at, file).unwrap();
    std::fs::write(&trace_at, trace).unwrap();
    let of = assemble(&format!(
        "[topology]\nkind = \"file\"\nformat = \"hpcc\"\npath = \"{}\"\n\
         [[workload]]\nkind = \"trace\"\npath = \"{}\"\n[switch]\nflow_control = \"pfc\"\n{rest}",
        file_at.display(),
        trace_at.display()
    ));
    std::fs::remove_file(&file_at).unwrap();
    std::fs::remove_file(&trace_at).unwrap();
    of
}

/// Where hosts are slower than the ring its gates close and open every few microseconds, before queues so deep that a
/// packet waits for more than a millisecond: everybody waits for somebody, and nobody for ever.
#[test]
fn gates_that_open_again_are_no_deadlock_however_deep_the_queues() {
    let of = |size, until| {
        let rest = format!("[transport]\nkind = \"none\"\n[run]\nseed = 1\nuntil = \"{until}\"\n");
        let outcome = run(&rings((4, 1), size, &["0s"], &rest));
        is_lossless(&outcome, size);
        outcome
    };
    let free = of("2MB", "200ms");
    assert_eq!((free.unfinished, &free.locked[..]), (0, &[][..]));
    let pauses: u64 = free.ports.iter().map(|port| port.pauses).sum();
    assert!(pauses > 4_000, "{pauses}: it is full of pauses");
    // Larger messages fill the memory, and then it locks: named with that time, and not as opened where it stood for
    // less than the memory takes to drain when the run is cut off.
    let stuck = of("10MB", "100ms");
    let received: u64 = stuck.accepted.values().sum();
    assert_eq!(stuck.locked.len(), 1, "{:?}", stuck.locked);
    let locked = &stuck.locked[0];
    assert!(locked.since > Time(20_000_000_000), "{locked:?}");
    assert_eq!(stuck.deadlock, locked.circle);
    let later: u64 = of("10MB", "500ms").accepted.values().sum();
    assert_eq!(received, later, "it stands");
}

/// What is found first hides nothing that comes later.
#[test]
fn a_circle_that_was_opened_and_another_at_the_end_are_both_said() {
    // The watchdog opens that of the first ring; that of the second is 4 ms old when time is up.
    let of = rings(
        (1, 10),
        "3MB",
        &["0s", "40ms"],
        "shared_buffer = \"300KB\"\n[switch.pfc]\nwatchdog = \"10ms\"\n\
         [transport]\nkind = \"dctcp\"\n[transport.dctcp]\necn = false\n[run]\nuntil = \"46ms\"\n",
    );
    let outcome = run(&of);
    let [first, last] = &outcome.locked[..] else {
        panic!("{:?}", outcome.locked);
    };
    assert_eq!(outcome.deadlock, last.circle);
    assert!(first.circle != last.circle && first.found < Time(5_000_000_000));
    assert!(last.since >= Time(40_000_000_000) && last.found == Time(46_000_000_000));
    let warnings = of.run(1, "", &mut Alone).unwrap().warnings;
    let said = warnings.iter().filter(|said| said.starts_with("deadlock"));
    let said: Vec<_> = said.collect();
    let opened = |said: &String| said.contains("opened since");
    assert_eq!(said.len(), 2, "{warnings:?}");
    assert!(opened(said[0]) && !opened(said[1]), "{said:?}");
}

#[test]
fn priorities_without_headroom_are_told_of() {
    let of = |lossless| {
        assemble(&format!(
            "[workload]\nkind = \"incast\"\n[transport]\nkind = \"homa\"\n[switch]\nflow_control = \"pfc\"\n\
             shared_buffer = \"24MB\"\n[switch.pfc]\nlossless = {lossless}\n"
        ))
        .warnings
    };
    let told = of(1);
    assert!(
        told.iter()
            .any(|said| said.contains("set switch.pfc.lossless = 8")),
        "{told:?}"
    );
    assert!(!of(8).iter().any(|said| said.contains("lossless")));
}

#[test]
fn an_incast_slows_bystanders_little_under_aquarius_and_less_than_pfc_under_bfc() {
    // Mean time in us, and mean slowdown.
    let of = |control: &str, seed: u32| {
        let of = assemble(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 5\nspines = 1\nhosts_per_leaf = 10\nuplink_rate = \"400Gbps\"\n\
             [[workload]]\nkind = \"incast\"\nsenders = 40\nsize = \"200KB\"\n\
             [[workload]]\nkind = \"random\"\nsizes = \"web-server\"\nload = 0.05\nmessages = 120\n{GREEDY}\
             [switch]\nflow_control = \"{control}\"\n[run]\nseed = {seed}\n"
        ));
        let outcome = run(&of);
        assert_eq!(outcome.unfinished, 0, "{control}: {:?}", outcome.stuck);
        is_lossless(&outcome, control);
        let record = of.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
        let others: Vec<(f64, f64)> = record
            .flows
            .iter()
            // What goes to the incast's receiver is no bystander.
            .filter(|flow| of.traffic.tags[usize::from(flow.tag)] == "web-server" && flow.dst != 0)
            .map(|flow| {
                let took = flow.end.unwrap().since(flow.start.unwrap());
                (took.as_us(), took.as_us() / flow.ideal.as_us())
            })
            .collect();
        assert!(others.len() > 100);
        let count = others.len() as f64;
        let all = others
            .iter()
            .fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        (all.0 / count, all.1 / count)
    };
    for seed in 1..=3 {
        let [ideal, pfc, bfc, aquarius] =
            ["ideal", "pfc", "bfc", "aquarius"].map(|control| of(control, seed));
        let all =
            format!("ideal {ideal:.1?}, bfc {bfc:.1?}, aquarius {aquarius:.1?}, pfc {pfc:.1?}");
        println!("T8: bystanders' mean in us and slowdown, seed {seed}: {all}");
        for [ideal, bfc, aquarius, pfc] in [
            [ideal.0, bfc.0, aquarius.0, pfc.0],
            [ideal.1, bfc.1, aquarius.1, pfc.1],
        ] {
            assert!(aquarius < 2.0 * ideal, "{all}");
            assert!(bfc < pfc && pfc > 3.0 * ideal, "{all}");
        }
    }
}

#[test]
fn twelve_megabytes_lose_nothing_under_load() {
    for control in ["pfc", "ideal", "bfc", "aquarius", "cbfc"] {
        let of = assemble(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\n\
             [[workload]]\nkind = \"random\"\nsizes = \"facebook-hadoop\"\nload = 0.6\nload_of = \"uplinks\"\n\
             gaps = \"lognormal\"\nstop = \"200us\"\n\
             [[workload]]\nkind = \"bursts\"\nsenders = 100\nsize = \"200KB\"\nrounds = 1\nreplacement = true\n{GREEDY}\
             [switch]\nflow_control = \"{control}\"\nshared_buffer = \"12MB\"\n"
        ));
        let outcome = run(&of);
        assert_eq!(outcome.unfinished, 0, "{control}: {:?}", outcome.stuck);
        is_lossless(&outcome, control);
        let most = outcome.ports.iter().map(|port| port.queue_max).max();
        println!("T10: {control}: nothing lost, largest queue {most:?} B");
    }
}

#[test]
fn what_a_watchdog_lets_go_without_room_is_told_as_its_doing() {
    // Seven switches in a ring, with a host each that sends to the third after it.
    let folder = std::env::temp_dir().join(format!("tidegate-watchdog-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut ring, mut trace) = (
        "14 7 14\n7 8 9 10 11 12 13\n".to_owned(),
        "src,dst,size,start\n".to_owned(),
    );
    for n in 0..7 {
        let _ = writeln!(ring, "{n} {} 40Gbps 1us 0", 7 + n);
        let _ = writeln!(ring, "{} {} 40Gbps 1us 0", 7 + n, 7 + (n + 1) % 7);
        let _ = writeln!(trace, "{n},{},2MB,{n}us", (n + 3) % 7);
    }
    let text = "[topology]\nkind = \"file\"\npath = \"ring.txt\"\nformat = \"hpcc\"\n[[workload]]\nkind = \"trace\"\n\
                path = \"ring.csv\"\n[transport]\nkind = \"none\"\n[switch]\nflow_control = \"pfc\"\n\
                shared_buffer = \"1MB\"\n[switch.pfc]\nwatchdog = \"1ms\"\n[run]\nuntil = \"200ms\"\n";
    for (name, text) in [
        ("ring.txt", ring.as_str()),
        ("ring.csv", &trace),
        ("ring.toml", text),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let of = assembled(folder.join("ring.toml").to_str().unwrap(), &[]);
    let warnings = of.run(1, "", &mut Alone).unwrap().warnings;
    std::fs::remove_dir_all(&folder).unwrap();
    let told = |said: &&String| said.contains("headroom full: the watchdog let packets go ");
    assert_eq!(warnings.iter().filter(told).count(), 1, "{warnings:?}");
}

/// Half of the fabric and a part of the traffic of `aquarius-fct`, with what `more` says of Aquarius: packets sent again. Who
/// receives under `none` complains of every gap, so that what is overtaken is.
fn sent_again(seed: u64, more: &str) -> u64 {
    let load = "load_of = \"uplinks\"\nstop = \"500us\"\n";
    let outcome = run(&assemble(&format!(
        "[topology]\nkind = \"three-tier\"\npods = 2\ntors = 8\naggs = 8\ncores = 8\nhosts_per_tor = 8\n\
         host_delay = \"1us\"\nhost_extra_delay = \"0s\"\n\
         [[workload]]\nkind = \"random\"\nsizes = \"web-server-intracluster\"\ngaps = \"lognormal\"\nload = 0.7\n{load}\
         [[workload]]\nkind = \"bursts\"\nsenders = 100\nsize = \"200KB\"\nreplacement = true\nload = 0.05\n{load}\
         [transport]\nkind = \"none\"\n[switch]\nflow_control = \"aquarius\"\nshared_buffer = \"12MB\"\n\
         [switch.aquarius]\n{more}\n[run]\nseed = {seed}\nuntil = \"1s\"\n"
    )));
    assert_eq!(outcome.unfinished, 0, "{more}: {:?}", outcome.stuck);
    outcome.totals.retransmitted
}

#[test]
fn without_order_marks_or_the_rule_of_return_flows_overtake_themselves() {
    for (more, some) in [
        ("", false),
        ("thresholds = \"fixed\"", false),
        ("reserved = 4", false),
        ("scope = \"port\"", false),
        ("order_marks = false", true),
        ("return_empty = false", true),
    ] {
        let seen = [1, 2].map(|seed| sent_again(seed, more));
        println!("T9: '{more}': sent again {seen:?}");
        assert_eq!(seen.iter().sum::<u64>() > 0, some, "{more}: {seen:?}");
    }
}

/// Bitmaps that are said where they change give the same times as those of every period: seeds are apart both ways, and in the
/// mean of them nothing is.
#[test]
fn bitmaps_said_where_they_change_give_the_same_times_under_load() {
    let mean = |signals: &str| {
        let mut all = Vec::new();
        for seed in 1..=6 {
            let sets = [
                "switch.flow_control=bfc".to_owned(),
                format!("switch.bfc.signals={signals}"),
                format!("run.seed={seed}"),
                "workload.0.stop=400us".to_owned(),
                "workload.1.stop=400us".to_owned(),
                "output.every=0s".to_owned(),
            ];
            let of = assembled(
                experiment!("aquarius-fct"),
                &sets.each_ref().map(String::as_str),
            );
            let outcome = run(&of);
            is_lossless(&outcome, signals);
            let times = outcome
                .messages
                .iter()
                .filter(|message| message.size <= 10_000);
            all.extend(
                times.filter_map(|message| Some(message.end?.since(message.start?).0 as f64 / 1e6)),
            );
        }
        all.iter().sum::<f64>() / all.len() as f64
    };
    let [changes, periodic] = ["changes", "periodic"].map(mean);
    println!("mean us up to 10 KB: {changes:.2} where they change, {periodic:.2} each period");
    assert!(
        (changes / periodic - 1.0).abs() < 0.02,
        "{changes} and {periodic}"
    );
}
