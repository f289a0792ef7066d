//! NDP where messages are shorter than the first window, and where a way is dead.

use results::{RunRecord, Status};
use scenario::{Alone, Scenario, load_text};

fn run(text: &str, seed: u32) -> RunRecord {
    load_text("ndp.toml", text, &[format!("run.seed={seed}")])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn last(record: &RunRecord) -> f64 {
    let ends = record.flows.iter().filter_map(|flow| flow.end);
    ends.max().expect("some ended").0 as f64 / 1e6
}

/// 4 x 64 KB at 40 Gb/s take 55 us and a round trip of 85: each frame that the first window had no room for is trimmed once.
#[test]
fn what_a_short_message_leaves_of_its_window_repeats_nothing_before_it_is_pulled() {
    let text = "[topology]\nkind = \"star\"\nhosts = 9\nhost_rate = \"40Gbps\"\nhost_delay = \"20us\"\n\
                [workload]\nkind = \"incast\"\nsenders = 4\nsize = \"64KB\"\n[transport]\nkind = \"ndp\"\n";
    for seed in 1..=3 {
        let own = run(text, seed);
        // 44 frames are the message: no window has anything left.
        let exact = run(&format!("{text}[transport.ndp]\nwindow = 44\n"), seed);
        assert_eq!(own.fingerprint, exact.fingerprint);
        assert!(own.totals.retransmitted <= 3 * 44, "{:?}", own.totals);
        assert!(last(&own) < 200.0, "{} us", last(&own));
    }
}

#[test]
fn a_burst_of_which_a_way_is_dead_is_asked_for_on_others() {
    for (spines, hosts, size) in [(2, 1, "30KB"), (4, 4, "2MB")] {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts_per_leaf = {hosts}\nhost_rate = \"10Gbps\"\n\
             [workload]\nkind = \"permutation\"\nshift = {hosts}\nsize = \"{size}\"\n[transport]\nkind = \"ndp+aeolus\"\n\
             [[faults]]\nkind = \"loss\"\nlink = \"tor0 -> spine1\"\nchance = 1\n"
        );
        for seed in 1..=3 {
            let record = run(&text, seed);
            assert_eq!(record.status, Status::Complete, "{text}");
            println!("{size}, seed {seed}: {} us", last(&record));
        }
    }
}

/// END is all that an empty message sends, and asks about a lost pull.
#[test]
fn an_empty_message_of_which_the_way_is_dead_is_announced_on_others() {
    for (kind, dead) in [
        ("ndp", "tor1 -> spine0"),
        ("ndp", "spine2 -> tor0"),
        ("ndp+aeolus", "tor1 -> spine0"),
    ] {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\n[workload]\nkind = \"permutation\"\n\
             size = \"0B\"\n[transport]\nkind = \"{kind}\"\n[[faults]]\nkind = \"loss\"\nlink = \"{dead}\"\nchance = 1\n"
        );
        for seed in 1..=4 {
            let record = run(&text, seed);
            assert_eq!(record.status, Status::Complete, "{text}");
            assert!(last(&record) < 50_000.0, "{} us", last(&record));
        }
    }
}

/// By age or by arrival some get half of it: those whose frames meet the same others at one port in every round, or who have one
/// frame on its way at a time.
#[test]
fn equal_messages_get_as_much_each() {
    let near_and_far = "kind = \"leaf-spine\"";
    let star = "kind = \"star\"\nhosts = 128";
    for (topology, senders, coin) in [
        (near_and_far, 64, true),
        (near_and_far, 64, false),
        (near_and_far, 60, true),
        (star, 100, true),
        (star, 100, false),
    ] {
        let text = format!(
            "[topology]\n{topology}\n[workload]\nkind = \"incast\"\nsenders = {senders}\nsize = \"100MB\"\n\
             [transport]\nkind = \"ndp\"\n[transport.ndp]\ncoin = {coin}\n[run]\nuntil = \"10ms\"\n[output]\nevery = \"0s\"\n"
        );
        let record = run(&text, 1);
        let received = || record.flows.iter().map(|flow| flow.received);
        let mean = received().sum::<u64>() / senders;
        let least = received().min().expect("some");
        assert!(
            least * 20 > mean * 19,
            "{topology}, {senders}, {coin}: {least} of {mean}"
        );
    }
}
