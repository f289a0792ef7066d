//! What waits in a queue for longer than a timer has not been lost: its copies would make the queue longer still.

use model::Class;
use results::{RunRecord, Status};
use scenario::{Alone, load_text};
use units::Span;

fn run(text: &str, sets: &[&str]) -> RunRecord {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    let of = load_text("t.toml", text, &sets).and_then(scenario::Scenario::assemble);
    let of = of.unwrap_or_else(|e| panic!("{e}"));
    let record = of.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.status, Status::Complete, "{sets:?}");
    record
}

fn dropped(record: &RunRecord, class: Class) -> u64 {
    record.ports.iter().map(|port| port.dropped[class]).sum()
}

/// Two hosts send all messages, so that their saved pulls release windows of several messages at once.
const FEW_HOSTS: &str = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"1Gbps\"\n[[workload]]\n\
    kind = \"incast\"\nsenders = 8\nsize = \"1MB\"\n[switch]\nbuffer = \"50MB\"\n[run]\nmtu = \"9000B\"\n";
const FAT_TREE: &str = "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"1Gbps\"\nhost_delay = \"5us\"\n\
    host_delay_spread = \"300ns\"\n[[workload]]\nkind = \"incast\"\nsenders = 40\nsize = \"600KB\"\n\
    pick = \"random\"\n[switch]\nbalance = \"flow\"\nbuffer = \"50MB\"\n[run]\nmtu = \"4096B\"\nseed = 3366\n";

#[test]
fn pulled_frames_that_wait_for_longer_than_a_timer_leave_once() {
    for (fabric, senders, size) in [
        (FEW_HOSTS, 8, 1_000_000),
        (FEW_HOSTS, 16, 1_000_000),
        (FEW_HOSTS, 64, 300_000),
        (FAT_TREE, 40, 600_000),
    ] {
        let sets = [
            "transport.kind=ndp+aeolus".to_owned(),
            format!("workload.senders={senders}"),
            format!("workload.size={size}B"),
        ];
        let record = run(fabric, &sets.each_ref().map(String::as_str));
        let totals = &record.totals;
        let what = format!("{sets:?}: {totals:?}");
        println!("{:?}, {what}", record.end);
        // What a line of 1 Gb/s carries in 1 ms, which is `rto`.
        let longest = record.ports.iter().map(|port| port.queue_max).max();
        assert!(longest > Some(125_000), "{longest:?} B wait, {what}");
        assert_eq!(dropped(&record, Class::Scheduled), 0, "{what}");
        // Before its first answer a message knows no better, and its oldest frame leaves again, after 1 ms, 3 and 7.
        let copies = totals.retransmitted - dropped(&record, Class::Unscheduled);
        assert!(copies <= 2 * senders, "{copies} copies, {what}");
        // Heads are a hundredth, copies a twentieth where messages are short; the line is hardly idle.
        let least = senders * size * 8 * 1000;
        assert!(record.end.0 < least * 108 / 100, "{:?}, {what}", record.end);
    }
}

/// Lines of hosts are ten times as fast as those between switches.
const OVERSUBSCRIBED: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 7\nspines = 1\nhosts_per_leaf = 3\n\
    host_rate = \"10Gbps\"\nuplink_rate = \"1Gbps\"\n[[workload]]\nkind = \"shuffle\"\ntasks = 2\nsize = \"1B\"\n\
    [transport]\nkind = \"phost\"\n[switch]\nbalance = \"packet\"\nbuffer = \"50MB\"\n";

#[test]
fn what_left_unasked_and_waits_is_asked_for_half_as_often_each_time() {
    for profile in ["conext15", "artefact"] {
        for size in ["1B", "1KB", "10KB"] {
            let sets = [
                format!("transport.profile={profile}"),
                format!("workload.size={size}"),
            ];
            let record = run(OVERSUBSCRIBED, &sets.each_ref().map(String::as_str));
            let totals = &record.totals;
            let what = format!("{sets:?}: {totals:?}");
            let lost: u64 = record.ports.iter().map(|port| port.dropped.sum()).sum();
            assert_eq!(lost, 0, "{what}");
            let frames = totals.data_sent - totals.retransmitted;
            // Nine frame times of 1.23 us, doubled each time, and how often that fits into the whole run.
            let times = (record.end.0 / Span::us(11).0).ilog2() + 1;
            let copies = totals.retransmitted;
            println!("{profile}, {size}: {copies} copies of {frames} frames, at most {times} each");
            assert!(copies <= frames * u64::from(times), "{what}");
        }
    }
}

/// dcPIM's rounds have room for a packet without payload that waits behind a full frame at every port.
#[test]
fn two_that_send_to_each_other_are_never_late_for_a_round() {
    let text = "[topology]\nkind = \"star\"\nhosts = 2\nhost_rate = \"25Gbps\"\n[[workload]]\nkind = \"all-to-all\"\n\
                size = \"20MB\"\n[transport]\nkind = \"dcpim\"\n";
    for mtu in ["run.mtu=1500B", "run.mtu=3000B", "run.mtu=9000B"] {
        let record = run(text, &[mtu]);
        let counters = results::Summary::of(&record).counters;
        let late = counters.iter().find(|counter| counter.name == "late");
        assert_eq!(late.map(|late| late.value), Some(0), "{mtu}");
    }
}
