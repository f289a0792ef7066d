//! Rings that lock only by one flow more, and flow tables that make one flow of all. `docs/pathologies.md` has the list; its
//! numbers are what these tests print: `cargo test --test rings -- --nocapture`.

use model::{Class, EndpointConfig};
use scenario::{Scenario, load_text};
use sim::Outcome;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many rings have been written to files.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// A flow over so many lines of the ring, from the switch of this number on.
#[derive(Clone, Copy)]
struct Flow(u32, u32);

/// The third flow, which closes the circle of waits.
const THIRD: Flow = Flow(5, 3);

/// Seven switches in a ring of 10 Gb/s. Two flows follow each other over six of its lines, and two more fill one line of
/// each, so that they are paused; the line between the sixth switch and the first is free but for the third flow, whose
/// host has so many Mb/s.
fn ring(control: &str, more: &str, third: Option<u32>) -> Outcome {
    let mut flows = vec![
        (Flow(0, 3), 10_000),
        (Flow(3, 3), 10_000),
        (Flow(2, 2), 10_000),
        (Flow(1, 1), 10_000),
    ];
    flows.extend(third.map(|mbps| (THIRD, mbps)));
    let hosts = 2 * u32::try_from(flows.len()).expect("few");
    let switch = |number: u32| hosts + number % 7;
    let names: Vec<String> = (0..7).map(|number| switch(number).to_string()).collect();
    let mut file = format!("{} 7 {}\n{}\n", hosts + 7, hosts + 7, names.join(" "));
    let mut trace = "src,dst,size,start\n".to_owned();
    for (number, (Flow(first, lines), mbps)) in (0..).zip(&flows) {
        let (from, to) = (2 * number, 2 * number + 1);
        let _ = writeln!(file, "{from} {} {mbps}Mbps 1us 0", switch(*first));
        let _ = writeln!(file, "{to} {} 10Gbps 1us 0", switch(first + lines));
        let _ = writeln!(trace, "{from},{to},20MB,0s");
    }
    for number in 0..7 {
        let (from, to) = (switch(number), switch(number + 1));
        let _ = writeln!(file, "{from} {to} 10Gbps 1us 0");
    }
    over(&file, &trace, control, more, "60ms")
}

/// A run of these messages over the network of an HPCC file, until then.
fn over(file: &str, trace: &str, control: &str, more: &str, until: &str) -> Outcome {
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tidegate-third-{}-{run}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [file_at, trace_at] = ["ring.txt", "ring.csv"].map(|name| folder.join(name));
    std::fs::write(&file_at, file).expect("a file");
    std::fs::write(&trace_at, trace).expect("a file");
    let text = format!(
        "[topology]\nkind = \"file\"\nformat = \"hpcc\"\npath = \"{}\"\n[[workload]]\nkind = \"trace\"\npath = \"{}\"\n\
         [transport]\nkind = \"none\"\n[switch]\nflow_control = \"{control}\"\nshared_buffer = \"1MB\"\n\
         [switch.{control}]\n{more}\n[run]\nuntil = \"{until}\"\n",
        file_at.display(),
        trace_at.display()
    );
    let outcome = outcome(&text);
    std::fs::remove_dir_all(&folder).expect("a folder");
    outcome
}

/// A run of it, in which no switch drops.
fn outcome(text: &str) -> Outcome {
    let of = load_text("ring.toml", text, &[]).and_then(Scenario::assemble);
    let of = of.unwrap_or_else(|e| panic!("{e}"));
    let make = |config: &EndpointConfig| of.endpoint(config);
    let outcome = sim::run(&of.setup(&make, 1), &mut sim::Blind).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()));
    let dropped = outcome.ports.iter().map(|port| port.dropped[Class::Plain]);
    assert_eq!(dropped.sum::<u64>(), 0, "{text}");
    outcome
}

#[test]
fn two_flows_around_a_ring_lock_by_a_third_and_not_by_a_slow_one() {
    for control in ["pfc", "cbfc"] {
        let [none, slow, full] =
            [None, Some(500), Some(10_000)].map(|third| ring(control, "", third));
        println!(
            "T2: {control}: circles of {}, {} and {} without the third flow, with 0.5 and with 10 Gb/s of it",
            none.deadlock.len(),
            slow.deadlock.len(),
            full.deadlock.len()
        );
        assert_eq!((none.deadlock.len(), none.unfinished), (0, 0), "{control}");
        assert_eq!(
            (slow.deadlock.len(), full.deadlock.len()),
            (0, 7),
            "{control}"
        );
        assert!(full.unfinished > 2, "{control}");
    }
    for control in ["ideal", "bfc", "aquarius"] {
        let full = ring(control, "", Some(10_000));
        assert_eq!((full.deadlock.len(), full.unfinished), (0, 0), "{control}");
    }
}

#[test]
fn one_entry_for_all_flows_locks_ways_in_a_circle_as_one_queue_would() {
    let of = |more: &str, third| ring("aquarius", more, third);
    let one = of("table = 1", Some(10_000));
    println!(
        "T13: table = 1 on ways in a circle: a circle of {}",
        one.deadlock.len()
    );
    assert_eq!(one.deadlock.len(), 7);
    assert_eq!(of("table = 1", None).deadlock, []);
    assert_eq!(of("queues = 2", Some(10_000)).deadlock, []);
}

/// A path that bounces at a leaf, where all send to all: flows that share a queue may close the circle. Of seeds 1 to 4, how
/// many lock.
fn bounced(control: &str, hosts: u32, size: &str) -> usize {
    let locks = |seed: &u32| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = {hosts}\nhost_rate = \"40Gbps\"\n\
             uplink_rate = \"40Gbps\"\n[workload]\nkind = \"all-to-all\"\nsize = \"{size}\"\n[transport]\nkind = \"none\"\n\
             [switch]\nflow_control = \"{control}\"\nshared_buffer = \"12MB\"\n[run]\nseed = {seed}\nuntil = \"40ms\"\n\
             [[faults]]\nkind = \"down\"\nlink = \"tor0 <-> spine0\"\n[[faults]]\nkind = \"down\"\nlink = \"tor1 <-> spine1\"\n"
        );
        let outcome = outcome(&text);
        // What opens by itself is no deadlock.
        assert_eq!(
            outcome.locked.is_empty(),
            outcome.deadlock.is_empty(),
            "{control}, seed {seed}"
        );
        !outcome.deadlock.is_empty()
    };
    (1..=4).filter(locks).count()
}

#[test]
fn flows_that_share_queues_may_lock_bfc_and_aquarius_where_ways_bounce_and_never_ideal() {
    for (control, hosts, size) in [("aquarius", 4, "300KB"), ("bfc", 8, "100KB")] {
        let [shared, ideal] = [control, "ideal"].map(|control| bounced(control, hosts, size));
        println!("T3: all to all, {hosts} hosts a rack: of 4 seeds lock {shared} under {control}");
        assert!(ideal == 0 && shared > 0, "{control}: {shared}");
    }
}

/// Seven switches in a ring with a host each, under Aquarius with a normal queue and a reserved one: the ports of the circle
/// are full of what their own hosts sent, and pause who has nothing there any more.
#[test]
fn a_circle_is_found_where_nobody_waits_in_the_queue_that_paused_them() {
    let mut file = "14 7 14\n7 8 9 10 11 12 13\n".to_owned();
    for number in 0..7 {
        let _ = writeln!(file, "{number} {} 100Gbps 300ns 0", 7 + number);
        let _ = writeln!(
            file,
            "{} {} 10Gbps 300ns 0",
            7 + number,
            7 + (number + 1) % 7
        );
    }
    let messages = [
        (2, 5, 52),
        (0, 1, 398),
        (4, 6, 55),
        (6, 2, 371),
        (1, 4, 222),
        (1, 3, 64),
        (5, 1, 291),
        (3, 6, 264),
        (0, 3, 180),
        (1, 2, 211),
        (4, 0, 289),
        (6, 1, 346),
    ];
    let mut trace = "src,dst,size,start\n".to_owned();
    for (from, to, at) in messages {
        let _ = writeln!(trace, "{from},{to},4MB,{at}us");
    }
    let outcome = over(&file, &trace, "aquarius", "queues = 2", "2s");
    let circle: Vec<u32> = outcome.deadlock.iter().map(|link| link.0).collect();
    assert_eq!((circle.len(), outcome.unfinished), (7, 10), "{circle:?}");
    let free = over(&file, &trace, "ideal", "", "2s");
    assert_eq!((&free.deadlock[..], free.unfinished), (&[][..], 0));
}
