//! Whom the arbiter of Fastpass serves: nobody waits for a turn that others take again and again.

use results::{RunRecord, Status, Summary};
use scenario::{Alone, Scenario, load_text};
use std::fmt::Write as _;

fn run(text: &str) -> RunRecord {
    load_text("fastpass.toml", text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// What each message got, in Gb/s, of a run of so many microseconds.
fn rates(text: &str, us: u32) -> Vec<f64> {
    let record = run(text);
    let rate = |received: u64| received as f64 * 8.0 / 1e3 / f64::from(us);
    record
        .flows
        .iter()
        .map(|flow| rate(flow.received))
        .collect()
}

/// A slot that is left over from a batch was a turn once, and halved whoever got it.
#[test]
fn equal_hosts_beside_a_slower_one_get_as_much_each() {
    for (first, slow) in [(100, 23.2), (50, 23.2), (25, 23.2), (10, 9.3)] {
        let rates = rates(
            &format!(
                "[topology]\nkind = \"dumbbell\"\npairs = 4\nhost_rate = \"100Gbps\"\nfirst_rate = \"{first}Gbps\"\n\
                 [workload]\nkind = \"long-flows\"\npairs = [\"0 -> 4\", \"1 -> 4\", \"2 -> 4\", \"3 -> 4\"]\nstop = \"2ms\"\n\
                 [transport]\nkind = \"fastpass\"\n[switch]\nbuffer = \"20MB\"\n"
            ),
            2000,
        );
        let (least, most) = (
            rates[1].min(rates[2]).min(rates[3]),
            rates[1].max(rates[2]).max(rates[3]),
        );
        assert!(most < 1.02 * least, "{first}: {rates:?}");
        assert!(
            (0.97 * slow..1.03 * slow).contains(&rates[0]),
            "{first}: {rates:?}"
        );
    }
}

/// From everyone to everyone, where one of them is the arbiter.
#[test]
fn every_pair_of_hosts_gets_its_share() {
    let mut pairs = String::new();
    for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
        if a != b {
            write!(pairs, "\"{a} -> {b}\", ").expect("a string takes all");
        }
    }
    let rates = rates(
        &format!(
            "[topology]\nkind = \"star\"\nhosts = 8\nhost_rate = \"40Gbps\"\nhost_delay = \"2us\"\n\
             [workload]\nkind = \"long-flows\"\nstop = \"4ms\"\npairs = [{pairs}]\n\
             [transport]\nkind = \"fastpass\"\n[switch]\nbuffer = \"20MB\"\n"
        ),
        4000,
    );
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    println!("{least} to {most} Gb/s");
    assert!(most < 1.3 * least, "{rates:?}");
}

/// Pairs that want nothing for a moment came back before those that had waited all along: of 2,560 questions one took 2.9 ms.
#[test]
fn who_comes_back_does_not_pass_who_has_waited() {
    let record = run(
        "[topology]\nkind = \"fat-tree\"\nk = 8\nhost_rate = \"10Gbps\"\nhost_delay = \"5us\"\n\
         [workload]\nkind = \"incast-rr\"\nsenders = 256\nreceiver = 0\nrequest = \"200B\"\nsize = \"1B\"\nrounds = 10\n\
         pacing = \"closed\"\n[transport]\nkind = \"fastpass\"\n",
    );
    assert_eq!(record.status, Status::Complete);
    let took = record
        .flows
        .iter()
        .filter_map(|flow| Some(flow.end?.since(flow.start?)));
    let longest = took.max().expect("there are some");
    assert!(longest < units::Span::us(700), "{longest}");
}

/// A slow host that begins a frame as soon as it may is busy whenever slow links are free.
#[test]
fn a_slow_host_beside_slow_links_sends_over_them_too() {
    for pairs in ["\"0 -> 3\", \"0 -> 1\"", "\"3 -> 0\", \"1 -> 0\""] {
        for (slow, uplink) in [
            ("6.25Gbps", "6.25Gbps"),
            ("12.5Gbps", "6.25Gbps"),
            ("6.25Gbps", "12.5Gbps"),
        ] {
            let rates = rates(
                &format!(
                    "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 3\nhost_rate = \"25Gbps\"\n\
                     uplink_rate = \"{uplink}\"\nslow = \"h0 <-> *\"\nslow_rate = \"{slow}\"\n[workload]\nkind = \"long-flows\"\n\
                     pairs = [{pairs}]\nstop = \"4ms\"\n[transport]\nkind = \"fastpass\"\n"
                ),
                4000,
            );
            assert!(
                rates[0] > 0.4 * rates[1],
                "{pairs}, {slow}, {uplink}: {rates:?}"
            );
        }
    }
}

/// A frame of a slow host began at multiples of what it takes, so all of them together had the rate of one; and over a link
/// of another rate it waited for a multiple of both.
#[test]
fn slow_hosts_and_links_get_what_their_lines_allow() {
    for (pairs, first, host, trunk, flows, least) in [
        // Several slow hosts to a fast one, and back.
        (
            5,
            100,
            25,
            100,
            "\"5 -> 0\", \"6 -> 0\", \"7 -> 0\", \"8 -> 0\"",
            90.0,
        ),
        (
            5,
            100,
            25,
            100,
            "\"0 -> 5\", \"0 -> 6\", \"0 -> 7\", \"0 -> 8\"",
            90.0,
        ),
        // A link that is neither as fast as the one nor as the other.
        (2, 100, 25, 40, "\"0 -> 2\"", 23.0),
        (2, 100, 15, 20, "\"0 -> 2\"", 13.7),
        (2, 100, 25, 15, "\"0 -> 2\"", 13.7),
        // No whole number of frames of hosts fits a slot of the link.
        (4, 25, 25, 40, "\"0 -> 4\", \"1 -> 5\", \"2 -> 6\"", 36.5),
        (
            5,
            10,
            10,
            25,
            "\"0 -> 5\", \"1 -> 6\", \"2 -> 7\", \"3 -> 8\"",
            22.5,
        ),
    ] {
        let rates = rates(
            &format!(
                "[topology]\nkind = \"dumbbell\"\npairs = {pairs}\nhost_rate = \"{host}Gbps\"\nfirst_rate = \"{first}Gbps\"\n\
                 bottleneck_rate = \"{trunk}Gbps\"\n[workload]\nkind = \"long-flows\"\npairs = [{flows}]\nstop = \"3ms\"\n\
                 [transport]\nkind = \"fastpass\"\n[switch]\nbuffer = \"20MB\"\n"
            ),
            3000,
        );
        let (all, lowest) = (
            rates.iter().sum::<f64>(),
            rates.iter().copied().fold(f64::MAX, f64::min),
        );
        assert!(all > least, "{first}, {host}, {trunk}: {all} of {rates:?}");
        let share = all / rates.len() as f64;
        assert!(lowest > 0.9 * share, "{first}, {host}, {trunk}: {rates:?}");
    }
}

/// A near host's frames meet those that left a far one before its slots began.
#[test]
fn room_that_hosts_at_different_distances_need_is_told_and_suffices() {
    let met = |uplink: &str, buffer: &str| {
        run(&format!(
            "[topology]\nkind = \"leaf-spine\"\nuplink_delay = \"{uplink}\"\n[transport]\nkind = \"fastpass\"\n\
             [switch]\nbuffer = \"{buffer}\"\n[[workload]]\nkind = \"long-flows\"\npairs = [\"40 -> 0\"]\nstop = \"1ms\"\n\
             [[workload]]\nkind = \"incast\"\nsenders = 15\nsize = \"1MB\"\nstart = \"500us\"\n[run]\nuntil = \"1ms\"\n"
        ))
    };
    let told = |record: &RunRecord| record.warnings.concat().contains("fastpass counts on");
    let few = met("30us", "385KB");
    assert!(told(&few) && Summary::of(&few).drops.total > 0);
    let near = met("10us", "385KB");
    assert!(!told(&near) && Summary::of(&near).drops.total == 0);
    // What a line carries while frames go 60 us farther.
    let enough = met("30us", "752KB");
    let summary = Summary::of(&enough);
    assert!(!told(&enough) && summary.drops.total == 0);
    let longest = summary.queue_max.expect("something waited").bytes;
    assert!(longest > 600_000, "{longest}");
}
