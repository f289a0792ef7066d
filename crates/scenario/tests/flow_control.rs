//! Hop-by-hop flow controls under real transports: switches pause switches, and those pause hosts.
//! First what each control loses and whom it stops, in one fabric; then headroom, lost frames and failed links; then rings, where
//! all stand still, and what is no deadlock; last a transport that does not heed a pause.

mod common;

use common::assembled;
use model::{
    Class, ConnId, Cx, Endpoint, EndpointConfig, Gates, HostId, Lifetime, Packet, StuckFlow,
    Totals, Transmit,
};
use scenario::{Alone, Assembled, Scenario, load_text};
use sim::Outcome;
use units::{Bytes, Time};

/// Eight hosts of one leaf send to one of the other, and a ninth to its neighbour: 10 Gb/s everywhere
/// but between the switches. Nobody reacts to anything but losses.
fn incast(control: &str, sets: &[&str]) -> Assembled {
    let mut all = vec![
        "topology.kind=leaf-spine",
        "topology.leaves=2",
        "topology.spines=1",
        "topology.hosts_per_leaf=9",
        "topology.host_rate=10Gbps",
        "topology.uplink_rate=100Gbps",
        "transport.kind=dctcp",
        "transport.dctcp.ecn=false",
        "run.until=50ms",
    ];
    let control = format!("switch.flow_control={control}");
    let memory = if control.ends_with("=none") {
        "switch.buffer=250KB"
    } else {
        "switch.shared_buffer=1MB"
    };
    all.extend([control.as_str(), memory]);
    all.extend(sets);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/flow_control.toml");
    assembled(file, &all)
}

/// Runs it in windows on so many threads, and by an event queue where that is 0. Two make all choices in the order of time.
fn run_on(of: &Assembled, threads: u16) -> Outcome {
    let make = |config: &EndpointConfig| of.endpoint(config);
    let mut setup = of.setup(&make, threads.max(1));
    (setup.digest, setup.ordered) = (true, threads == 2);
    let outcome = match threads {
        0 => sim::oracle::run(&setup),
        _ => sim::run(&setup, &mut sim::Blind),
    };
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()));
    outcome
}

fn run(of: &Assembled) -> Outcome {
    run_on(of, 1)
}

fn data_lost(outcome: &Outcome) -> u64 {
    let classes = [Class::Scheduled, Class::Unscheduled, Class::Plain];
    let ports = outcome.ports.iter();
    ports
        .flat_map(|port| classes.map(|class| port.dropped[class]))
        .sum()
}

fn pauses(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.pauses).sum()
}

/// When the message between the neighbours, the last of the file, ended.
fn neighbour(outcome: &Outcome) -> Time {
    let last = outcome.messages.last().expect("there is one");
    last.end.expect("it ends")
}

/// It ends, loses nothing, sends nothing twice, and something was paused. What is overtaken would be taken for lost and
/// be sent again.
fn is_lossless(outcome: &Outcome, what: &str) {
    assert_eq!(outcome.unfinished, 0, "{what}: {:?}", outcome.stuck);
    let lost = (data_lost(outcome), outcome.totals.retransmitted);
    assert_eq!(lost, (0, 0), "{what}: lost and sent again");
    assert!(pauses(outcome) > 20, "{what}: {} pauses", pauses(outcome));
    let paused = outcome.ports.iter().any(|port| port.paused.0 > 0);
    assert!(paused, "{what}: whoever pauses, somebody is paused");
}

#[test]
fn priority_pauses_lose_nothing_and_stop_a_neighbour_too() {
    let free = run(&incast("none", &[]));
    assert!(data_lost(&free) > 0, "nothing to prevent");
    let (paused, fair) = (run(&incast("pfc", &[])), run(&incast("ideal", &[])));
    is_lossless(&paused, "pfc");
    // The neighbour's packets stand behind those of the incast at every switch.
    let (theirs, alone) = (neighbour(&paused), neighbour(&fair));
    assert!(theirs.0 > 2 * alone.0, "{theirs} and {alone}");
}

#[test]
fn pauses_of_flows_lose_nothing_and_spare_the_neighbour() {
    is_lossless(&run(&incast("ideal", &[])), "ideal");
}

#[test]
fn a_reserved_queue_keeps_paused_flows_in_order_and_spares_the_neighbour() {
    let ideal = neighbour(&run(&incast("ideal", &[])));
    for queues in [
        "queues=4",
        "queues=8",
        "queues=16",
        "queues=128",
        "reserved=4",
        "thresholds=fixed",
        "mapping=hash",
    ] {
        let set = format!("switch.aquarius.{queues}");
        let outcome = run(&incast("aquarius", &[&set]));
        is_lossless(&outcome, queues);
        let ours = neighbour(&outcome);
        assert!(
            10 * ours.0 < 15 * ideal.0,
            "{queues}: {ours}, ideally {ideal}"
        );
        assert!(outcome.counts["isolations"] > 0, "{queues}");
    }
}

#[test]
fn queues_of_their_own_spare_the_neighbour_and_shared_ones_do_not() {
    let ideal = neighbour(&run(&incast("ideal", &[])));
    let times = ["1", "4", "32", "128"].map(|queues| {
        let set = format!("switch.bfc.queues={queues}");
        let outcome = run(&incast("bfc", &[&set]));
        is_lossless(&outcome, &set);
        neighbour(&outcome)
    });
    let [one, _, many, most] = times;
    assert!(one.0 > 2 * ideal.0, "{times:?}, ideally {ideal}");
    assert!(one.0 > 2 * many.0, "{times:?}, ideally {ideal}");
    assert!(10 * most.0 < 15 * ideal.0, "{times:?}, ideally {ideal}");
    // Without stickiness a congested flow changes its queue all the time and leaves paused ones behind: in the end none
    // is free.
    let shared = |sets: &[&str]| run(&incast("bfc", sets)).counts["shared queues"];
    assert_eq!(shared(&[]), 0);
    assert!(shared(&["switch.bfc.sticky=0s"]) > 0);
}

#[test]
fn a_bitmap_need_not_be_said_again_where_none_is_lost() {
    let [changes, periodic] = ["changes", "periodic"].map(|signals| {
        let set = format!("switch.bfc.signals={signals}");
        let outcome = run(&incast("bfc", &[&set]));
        is_lossless(&outcome, signals);
        let ends = outcome.messages.iter().map(|message| message.end);
        let ends: Vec<Time> = ends.map(|end| end.expect("it ends")).collect();
        (ends, outcome.counts["bitmaps"])
    });
    assert!(
        2 * changes.1 < periodic.1,
        "{} and {}",
        changes.1,
        periodic.1
    );
    for (ours, theirs) in changes.0.iter().zip(&periodic.0) {
        // Frames on the way back cost acknowledgements their place, and nothing else.
        let apart = ours.0.abs_diff(theirs.0) as f64 / theirs.0 as f64;
        assert!(apart < 0.01, "{ours} and {theirs}");
    }
}

#[test]
fn credits_lose_nothing_and_stop_a_neighbour_too() {
    let ideal = neighbour(&run(&incast("ideal", &[])));
    let of = |sets: &[&str]| {
        let outcome = run(&incast("cbfc", sets));
        is_lossless(&outcome, "cbfc");
        assert_eq!(outcome.counts["beyond credits"], 0);
        assert!(outcome.counts["credit updates"] > 100);
        (neighbour(&outcome), outcome.counts["credits asked for"])
    };
    let (theirs, _) = of(&[]);
    assert!(theirs.0 > 2 * ideal.0, "{theirs}, ideally {ideal}");
    // As little room as is taken: the lines stand still most of the time, and nothing is lost.
    let (later, _) = of(&["switch.cbfc.buffer=7296B"]);
    assert!(later > theirs, "{later} and {theirs}");
    of(&["switch.cbfc.lanes=4"]);
    of(&["switch.cbfc.counter_bits=11", "switch.cbfc.update=0B"]);
    of(&["switch.cbfc.profile=ultra-ethernet"]);
    // In the same room, cells of which a frame fills half and a bit hold fewer frames.
    let (room, cells) = ("switch.cbfc.buffer=40KB", "switch.cbfc.block=1000");
    let ((small, _), (large, _)) = (of(&[room]), of(&[room, cells]));
    assert!(large > small, "{large} and {small}");
}

#[test]
fn credits_of_a_transport_give_those_of_their_links_back() {
    // Nobody asks before the run is over: whatever is lost of them stays lost.
    for transport in ["expresspass", "expresspass+aeolus"] {
        let kind = format!("transport.kind={transport}");
        let outcome = run(&incast("cbfc", &[&kind, "switch.cbfc.resend=1s"]));
        let crossing = format!(
            "[topology]\nkind = \"dumbbell\"\npairs = 8\nhost_rate = \"10Gbps\"\n[workload]\nkind = \
             \"permutation\"\nsize = \"200KB\"\n[transport]\nkind = \"{transport}\"\n[switch]\n\
             flow_control = \"cbfc\"\n[run]\nuntil = \"50ms\"\n"
        );
        let resend = ["switch.cbfc.resend=1s".to_owned()];
        let crossing = load_text("t.toml", &crossing, &resend).and_then(Scenario::assemble);
        let crossing = run(&crossing.unwrap_or_else(|e| panic!("{e}")));
        let dropped = |outcome: &Outcome| -> u64 {
            let ports = outcome.ports.iter();
            ports.map(|port| port.dropped[Class::Credit]).sum()
        };
        for outcome in [&outcome, &crossing] {
            assert_eq!(outcome.unfinished, 0, "{transport}: {:?}", outcome.stuck);
            assert_eq!(outcome.counts["credits asked for"], 0, "{transport}");
            assert_eq!(outcome.counts["beyond credits"], 0, "{transport}");
        }
        // Those that a port drops for want of a place are no exception.
        assert!(
            dropped(&crossing) > 100,
            "{transport}: {}",
            dropped(&crossing)
        );
    }
}

#[test]
fn a_copy_promises_no_room() {
    for fault in [
        ["faults.kind=duplicate", "faults.chance=0.01"].as_slice(),
        &[
            "faults.kind=reorder",
            "faults.chance=0.01",
            "faults.by=20us",
        ],
    ] {
        let mut sets = vec!["faults.link=* <-> *", "transport.kind=none"];
        sets.extend(fault);
        let [credits, pauses] = ["cbfc", "pfc"].map(|control| {
            let outcome = run(&incast(control, &sets));
            assert_eq!(outcome.unfinished, 0, "{control}: {:?}", outcome.stuck);
            outcome
        });
        // A copy for which there is no room is lost, or the packet that comes after it.
        let copied: u64 = credits.ports.iter().map(|port| port.copied.sum()).sum();
        let beyond = credits.counts["beyond credits"];
        assert!(beyond <= copied.max(100), "{beyond} of {copied} copies");
        assert!(
            credits.end.0 < 2 * pauses.end.0,
            "{} and {}",
            credits.end,
            pauses.end
        );
    }
}

#[test]
fn lost_credits_stop_a_line_until_somebody_asks() {
    let lose = [
        "faults.kind=loss",
        "faults.link=* <-> *",
        "faults.class=link",
        "faults.chance=0.2",
    ];
    let asked = run(&incast("cbfc", &lose));
    assert_eq!(asked.unfinished, 0, "{:?}", asked.stuck);
    assert!(asked.counts["credits asked for"] > 0);
    assert_eq!((data_lost(&asked), asked.counts["beyond credits"]), (0, 0));
    // Nobody asks before the run is over. Credits of a host that never asks are lost with its packets.
    let mut sets = lose.to_vec();
    sets.push("switch.cbfc.resend=1s");
    sets[3] = "faults.chance=0.9";
    let silent = run(&incast("cbfc", &sets));
    assert!(silent.unfinished > 0);
    // Packets that are lost take their credits along, and questions bring them back.
    let data = [
        "faults.kind=loss",
        "faults.link=* <-> *",
        "faults.chance=0.02",
        "switch.cbfc.buffer=7296B",
        "run.until=900ms",
    ];
    let [asked, silent] = ["50us", "1s"].map(|resend| {
        let resend = format!("switch.cbfc.resend={resend}");
        let outcome = run(&incast("cbfc", &[&data[..], &[resend.as_str()]].concat()));
        assert_eq!(outcome.counts["beyond credits"], 0);
        outcome
    });
    assert_eq!(asked.unfinished, 0, "{:?}", asked.stuck);
    assert!(silent.unfinished > 0);
}

#[test]
fn a_line_that_lost_credits_has_them_back_while_packets_go_on() {
    // Each packet lost on one of these lines takes its credits along, and those that are left let packets through one by one.
    for seed in 1..=4 {
        let [free, credits] = ["none", "cbfc"].map(|control| {
            let text = format!(
                r#"name = "one"
                topology = {{ kind = "dumbbell", pairs = 1, host_rate = "10Gbps", bottleneck_rate = "10Gbps" }}
                workload = {{ kind = "incast", senders = 1, size = "20MB" }}
                transport = {{ kind = "dctcp" }}
                switch = {{ flow_control = "{control}", shared_buffer = "4MB" }}
                run = {{ seed = {seed}, until = "1s" }}
                [[faults]]
                kind = "corrupt"
                link = "* <-> *"
                chance = 0.2
                from = "100us"
                until = "200us""#
            );
            let scenario = load_text("one", &text, &[]).and_then(Scenario::assemble);
            let outcome = run(&scenario.unwrap_or_else(|e| panic!("{e}")));
            assert_eq!(outcome.unfinished, 0, "{control}: {:?}", outcome.stuck);
            outcome.end.0
        });
        assert!(
            credits < free / 10 * 11,
            "seed {seed}: {credits} ps, and {free} ps without credits"
        );
    }
}

#[test]
fn one_entry_for_all_flows_neither_stops_nor_reorders() {
    for sets in [["switch.aquarius.table=1"], ["switch.aquarius.queues=2"]] {
        let outcome = run(&incast("aquarius", &sets));
        is_lossless(&outcome, sets[0]);
        println!("T13: {}: over at {}", sets[0], outcome.end);
    }
}

#[test]
fn windows_threads_and_an_event_queue_see_every_pause_alike() {
    for transport in ["dctcp", "expresspass", "expresspass+aeolus"] {
        for control in ["none", "pfc", "ideal", "bfc", "aquarius", "cbfc"] {
            let kind = format!("transport.kind={transport}");
            let timers = [
                kind.as_str(),
                "switch.pfc.pause_time=50us",
                "switch.pfc.watchdog=1ms",
                "switch.aquarius.refresh=20us",
                "switch.bfc.signals=periodic",
            ];
            let of = incast(control, &timers);
            let seen = [0, 1, 2].map(|threads| {
                let outcome = run_on(&of, threads);
                assert_eq!(
                    outcome.unfinished, 0,
                    "{transport}, {control}: {:?}",
                    outcome.stuck
                );
                (outcome.fingerprint, outcome.digest, pauses(&outcome))
            });
            assert!(
                seen.iter().all(|one| *one == seen[0]),
                "{transport}, {control}: {seen:x?}"
            );
        }
    }
}

/// Headroom of a port by the sum of what may come in: the frame that crosses the threshold, one that the pause waits
/// for, one that the neighbour has begun, the pause itself, and what the line holds there and back.
fn headroom(gbps: u64, round_ns: u64, mtu: u64) -> u64 {
    gbps * round_ns / 8 + 3 * (mtu + 38) + 84
}

#[test]
fn headroom_is_what_it_takes_to_lose_nothing_and_not_much_more() {
    let mut tight = 0;
    for (gbps, delay_ns, mtu) in [
        (10, 200, 1500),
        (10, 5000, 9000),
        (40, 1000, 1500),
        (100, 2000, 9000),
    ] {
        let (host, uplink) = (
            headroom(gbps, 2 * delay_ns, mtu),
            headroom(4 * gbps, 2 * delay_ns, mtu),
        );
        let reserve = 4_000;
        let kept = 9 * (host + reserve) + uplink + reserve;
        let sets = [
            format!("topology.host_rate={gbps}Gbps"),
            format!("topology.uplink_rate={}Gbps", 4 * gbps),
            format!("topology.host_delay={delay_ns}ns"),
            "topology.host_extra_delay=0s".to_owned(),
            format!("run.mtu={mtu}B"),
            // Nothing is left to share but a little: every port that fills needs all of its headroom.
            format!("switch.shared_buffer={}B", kept + 8_000),
            "transport.dctcp.initial_window=1000".to_owned(),
        ];
        let mut sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        is_lossless(
            &run(&incast("pfc", &sets)),
            &format!("{gbps} Gb/s, {delay_ns} ns, {mtu} B"),
        );
        let little = uplink * 6 / 10;
        let short = format!("switch.pfc.headroom={}", Bytes(little));
        let memory = kept.max(10 * (little + reserve)) + 8_000;
        let memory = format!("switch.shared_buffer={memory}B");
        sets[5] = &memory;
        sets.push(&short);
        tight += u64::from(data_lost(&run(&incast("pfc", &sets))) > 0);
    }
    assert!(
        tight >= 3,
        "0.6 of the headroom is enough in {} of 4 cases",
        4 - tight
    );
}

#[test]
fn lost_frames_of_a_flow_control_stop_nothing_for_good_where_it_repeats_them() {
    let lose = [
        "faults.kind=loss",
        "faults.link=* <-> *",
        "faults.class=link",
        "faults.chance=0.2",
    ];
    for (control, repeat) in [
        ("pfc", "switch.pfc.pause_time=20us"),
        ("aquarius", "switch.aquarius.refresh=20us"),
        ("bfc", "switch.bfc.signals=periodic"),
    ] {
        let once = run(&incast(control, &lose));
        assert!(once.unfinished > 0, "{control}: a resume that is lost");
        assert!(
            !once.held.is_empty(),
            "{control}: lines that stay paused are named"
        );
        let mut sets = lose.to_vec();
        sets.push(repeat);
        let again = run(&incast(control, &sets));
        assert_eq!(again.unfinished, 0, "{control}: {:?}", again.stuck);
        let lost: u64 = again.ports.iter().map(|port| port.lost[Class::Link]).sum();
        println!(
            "T11: {control}: {lost} frames lost, all over at {}; said once, {} messages never end",
            again.end, once.unfinished
        );
        assert!(lost > 10, "{control}: {lost} frames were lost");
    }
}

#[test]
fn what_was_paused_when_a_link_fell_goes_on_where_pauses_are_repeated() {
    // Down for 60 us in the middle of the incast: pauses and resumes of that time are lost, and data with them.
    let down = [
        "faults.kind=down",
        "faults.link=* <-> spine0",
        "faults.from=400us",
        "faults.until=460us",
        "faults.detect=1ms",
    ];
    for (control, repeat) in [
        ("pfc", "switch.pfc.pause_time=20us"),
        ("aquarius", "switch.aquarius.refresh=20us"),
        ("bfc", "switch.bfc.signals=periodic"),
        ("cbfc", "switch.cbfc.resend=20us"),
    ] {
        let mut sets = down.to_vec();
        sets.push(repeat);
        let outcome = run(&incast(control, &sets));
        assert_eq!(outcome.unfinished, 0, "{control}: {:?}", outcome.stuck);
        let lost: u64 = outcome
            .ports
            .iter()
            .map(|port| port.lost[Class::Link])
            .sum();
        assert!(lost > 0, "{control}: no frame of a flow control was lost");
    }
}

/// Five switches in a ring, with a host each that sends to the next but one: every way has one direction. A deadlock of
/// priorities; flows that are paused by themselves wait for nobody else's.
fn ring(control: &str, sets: &[&str]) -> Outcome {
    run(&ring_of(control, sets))
}

fn ring_of(control: &str, sets: &[&str]) -> Assembled {
    let mut all = vec![
        "transport.kind=dctcp",
        "transport.dctcp.ecn=false",
        "run.until=100ms",
        "switch.shared_buffer=300KB",
    ];
    let control = format!("switch.flow_control={control}");
    all.push(&control);
    all.extend(sets);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ring.toml");
    assembled(file, &all)
}

#[test]
fn a_deadlock_ends_the_run_and_names_its_circle() {
    let stuck = ring("pfc", &[]);
    println!("T2: pfc: a circle of {}", stuck.deadlock.len());
    assert!(stuck.unfinished > 0, "the ring does not lock");
    assert_eq!(stuck.deadlock.len(), 5, "{:?}", stuck.deadlock);
    assert_eq!(data_lost(&stuck), 0);
    for control in ["ideal", "bfc", "aquarius"] {
        let free = ring(control, &[]);
        assert_eq!(free.deadlock, [], "{control}");
        assert_eq!(free.unfinished, 0, "{control}: {:?}", free.stuck);
        assert_eq!(data_lost(&free), 0);
    }
    // Where flows share a queue they wait for each other, too.
    let shared = ring("bfc", &["switch.bfc.queues=1"]);
    assert_eq!(shared.deadlock.len(), 5, "{:?}", shared.deadlock);
    // Credits lock as pauses do. Those that wait ask for credits until the run is over.
    let credits = ring("cbfc", &[]);
    assert!(credits.unfinished > 0);
    assert_eq!(credits.deadlock.len(), 5, "{:?}", credits.deadlock);
    assert_eq!(
        (data_lost(&credits), credits.counts["beyond credits"]),
        (0, 0)
    );
    // The watchdog breaks it, and what it lets go may be lost.
    let watched = ring("pfc", &["switch.pfc.watchdog=1ms"]);
    assert_eq!(watched.deadlock, []);
    assert_eq!(watched.unfinished, 0, "{:?}", watched.stuck);
    assert!(watched.counts["watchdog"] > 0);
}

/// The same circle of ways stays open where its lines carry more than hosts bring: two flows of 4 Gb/s each.
#[test]
fn a_circle_of_ways_locks_only_where_its_lines_are_full() {
    for (gbps, locks) in [(4, 0), (10, 5)] {
        let lines = (0..5).map(|n| format!("{n} {} {gbps}Gbps 1us 0\n", n + 5));
        let circle = (5..10).map(|n| format!("{n} {} 10Gbps 1us 0\n", (n - 4) % 5 + 5));
        let all: String = lines.chain(circle).collect();
        let file =
            std::env::temp_dir().join(format!("tidegate-ring-{}-{gbps}", std::process::id()));
        std::fs::write(&file, format!("10 5 10\n5 6 7 8 9\n{all}")).unwrap();
        let path = format!("topology.path={}", file.display());
        let outcome = ring("pfc", &[&path]);
        assert_eq!(outcome.deadlock.len(), locks, "{gbps} Gb/s");
        assert_eq!(outcome.unfinished > 0, locks > 0, "{gbps} Gb/s");
        assert_eq!(data_lost(&outcome), 0);
        std::fs::remove_file(&file).unwrap();
    }
}

/// It is named while the run goes on, with when it began and when it was found, and it stays named where it is opened.
#[test]
fn a_deadlock_is_named_when_it_is_found() {
    struct Told(Vec<sim::Locked>);
    impl sim::Observer for Told {
        fn progress(&mut self, _: Time, _: u64, _: u64, _: u64) -> bool {
            true
        }
        fn completed(&mut self, _: &[sim::Completion]) {}
        fn ports(&mut self, _: &[sim::PortSample]) {}
        fn flows(&mut self, _: &[sim::FlowSample]) {}
        fn locked(&mut self, locked: &sim::Locked) {
            self.0.push(locked.clone());
        }
    }
    let told = |of: &Assembled, threads: u16| {
        let make = |config: &EndpointConfig| of.endpoint(config);
        let mut told = Told(Vec::new());
        let outcome = sim::run(&of.setup(&make, threads), &mut told).unwrap();
        (told.0, outcome)
    };
    // Retries of the transport keep it from being idle: the end alone would find it at 100 ms.
    for (control, sets) in [
        ("pfc", vec![]),
        ("bfc", vec!["switch.bfc.queues=1"]),
        ("cbfc", vec![]),
    ] {
        let of = ring_of(control, &sets);
        let (said, outcome) = told(&of, 1);
        assert_eq!(said.len(), 1, "{control}: {said:?}");
        let locked = &said[0];
        assert_eq!(locked.circle.len(), 5, "{control}");
        assert!(locked.found.0 <= 4_000_000_000, "{control}: {locked:?}");
        assert!(locked.since < locked.found, "{control}: {locked:?}");
        assert_eq!(outcome.locked, said, "{control}");
        assert_eq!(told(&of, 3).0, said, "{control}: threads");
    }
    // The watchdog opens it later than it is found.
    let of = ring_of("pfc", &["switch.pfc.watchdog=5ms"]);
    let (said, outcome) = told(&of, 1);
    assert_eq!(
        (said.len(), outcome.unfinished),
        (1, 0),
        "{:?}",
        outcome.stuck
    );
    assert_eq!(outcome.deadlock, []);
    let warnings = of.run(1, "", &mut Alone).unwrap().warnings;
    let deadlock = warnings.iter().find(|said| said.starts_with("deadlock"));
    let deadlock = deadlock.expect("it is said");
    for part in ["found at ", "opened since", "the watchdog let packets go "] {
        assert!(deadlock.contains(part), "{deadlock}");
    }
    // More time would have opened no circle.
    let stuck = ring_of("pfc", &[]).run(1, "", &mut Alone).unwrap().warnings;
    assert!(!stuck.iter().any(|said| said.contains("more time")));
    // Whatever waits for long in no circle is none.
    for control in ["pfc", "ideal", "bfc", "aquarius", "cbfc"] {
        assert_eq!(told(&incast(control, &[]), 1).0, [], "{control}");
    }
}

/// Why a packet was dropped is counted at the port where that was, or by which it came.
#[test]
fn drops_are_counted_by_what_had_no_room() {
    use model::DropReason as Why;
    let reasons = |outcome: &Outcome| {
        let sum = |why| {
            outcome
                .ports
                .iter()
                .map(|port| port.drop_reasons[why])
                .sum::<u64>()
        };
        let found = Why::ALL.into_iter().filter(|&why| sum(why) > 0);
        let all: u64 = Why::ALL.into_iter().map(sum).sum();
        let classes: u64 = outcome.ports.iter().map(|port| port.dropped.sum()).sum();
        assert_eq!(all, classes, "by reason and by class");
        found.collect::<Vec<_>>()
    };
    let own = run(&incast("none", &[]));
    assert_eq!(reasons(&own), [Why::Full]);
    let priorities = own.ports.iter().map(|port| port.drop_priorities);
    let sums = priorities.fold([0; 8], |sum: [u64; 8], more| {
        std::array::from_fn(|i| sum[i] + more[i])
    });
    assert!(sums[0] > 0 && sums[1..] == [0; 7], "{sums:?}");
    for control in ["none", "ideal", "bfc", "aquarius"] {
        let shared = incast(control, &["switch.shared_buffer=12KB"]);
        assert_eq!(reasons(&run(&shared)), [Why::Memory], "{control}");
    }
    let short = [
        "switch.pfc.headroom=2KB",
        "transport.dctcp.initial_window=1000",
    ];
    assert_eq!(reasons(&run(&incast("pfc", &short))), [Why::Headroom]);
    // Nothing leads to the other leaf while the only spine cannot be reached.
    let down = [
        "faults.kind=down",
        "faults.link=* <-> spine0",
        "faults.from=200us",
        "faults.until=300us",
    ];
    let cut = incast("none", &down);
    let (at, by) = (run(&cut), run_on(&cut, 0));
    assert!(
        reasons(&at).contains(&Why::Unreachable),
        "{:?}",
        reasons(&at)
    );
    let where_from =
        |of: &Outcome| -> Vec<_> { of.ports.iter().map(|port| port.drop_reasons).collect() };
    assert_eq!(
        where_from(&at),
        where_from(&by),
        "by the link that brought it"
    );
}

/// Pauses that are under way where a run is cut short would end by themselves, as far as anybody knows.
#[test]
fn a_circle_where_a_run_is_cut_short_is_not_called_a_deadlock() {
    let told = |of: &Assembled| {
        let record = of.run(1, "", &mut Alone).unwrap();
        let said = record.warnings.iter();
        said.filter(|warning| warning.starts_with("deadlock"))
            .count()
    };
    assert_eq!(told(&ring_of("pfc", &[])), 1);
    // Locked since some 100 us; what lasts for a millisecond is called by its name.
    let counts = [200, 500, 1_000, 2_000].map(|us| {
        let cut = ring_of("pfc", &[&format!("run.until={us}us")]);
        assert!(!run(&cut).held.is_empty() || us < 1_500, "{us} us");
        told(&cut)
    });
    assert_eq!(counts, [0, 0, 0, 1]);
}

/// What waits for a line of 100 Mb/s is paused for milliseconds, and goes on.
#[test]
fn a_slow_line_is_not_taken_for_one_that_stands_still() {
    for (control, set) in [
        ("pfc", "switch.pfc.pause_time=none"),
        ("cbfc", "switch.cbfc.update=0B"),
    ] {
        for until in ["10ms", "30ms", "60ms"] {
            let until = format!("run.until={until}");
            let slow = ["topology.host_rate=100Mbps", "topology.uplink_rate=1Gbps"];
            let all = [&slow[..], &["transport.kind=none", set, &until]].concat();
            let cut = run(&incast(control, &all));
            assert!(cut.unfinished > 0 && !cut.idle);
            assert_eq!(cut.held, [], "{control}: {until}");
        }
    }
}

/// A transport that believes that its line is always open.
struct Deaf(Box<dyn Endpoint>);

fn deaf<'a>(cx: &'a mut Cx<'_>) -> Cx<'a> {
    Cx {
        now: cx.now,
        rng: cx.rng,
        events: cx.events,
        peers: cx.peers,
        gates: Gates::open(),
        wants_data: cx.wants_data,
    }
}

impl Endpoint for Deaf {
    fn connect(&mut self, cx: &mut Cx<'_>, conn: ConnId, peer: HostId, lifetime: Lifetime) {
        self.0.connect(&mut deaf(cx), conn, peer, lifetime);
    }
    fn send(&mut self, cx: &mut Cx<'_>, conn: ConnId, length: u64) {
        self.0.send(&mut deaf(cx), conn, length);
    }
    fn cancel(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.0.cancel(&mut deaf(cx), conn);
    }
    fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        self.0.forget(&mut deaf(cx), conn);
    }
    fn on_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        self.0.on_packet(&mut deaf(cx), packet);
    }
    fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        self.0.on_deadline(&mut deaf(cx));
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        self.0.poll_transmit(&mut deaf(cx), out)
    }
    fn deadline(&self) -> Time {
        self.0.deadline()
    }
    fn check(&self) {
        self.0.check();
    }
    fn stuck(&self, report: &mut dyn FnMut(StuckFlow)) {
        self.0.stuck(report);
    }
    fn totals(&self) -> Totals {
        self.0.totals()
    }
}

/// A panic where our own checks are compiled in; an error that counts the packets where they are not.
#[test]
fn a_transport_that_does_not_heed_a_pause_is_found_out() {
    for control in ["pfc", "ideal", "cbfc"] {
        let found = std::panic::catch_unwind(|| {
            let of = incast(control, &[]);
            let make = |config: &EndpointConfig| -> Box<dyn Endpoint> {
                Box::new(Deaf(of.endpoint(config)))
            };
            let outcome = sim::run(&of.setup(&make, 1), &mut sim::Blind);
            outcome.unwrap_or_else(|e| panic!("{e}")).conservation
        });
        let said = match found {
            Ok(conservation) => conservation.expect_err("nobody minds"),
            Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        let known = ["through a closed gate", "although their gate was closed"];
        assert!(
            known.iter().any(|text| said.contains(text)),
            "{control}: {said}"
        );
    }
}
