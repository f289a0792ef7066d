//! NDP: short messages, dead ways, equal senders, timers.

use results::{RunRecord, Status};
use scenario::{Alone, Scenario, load_text};
use units::Time;

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

/// Four pairs over one link: receivers that pull at an even pace have frames meet its full port always in one order, and each
/// that comes takes the last place from the one before it with a chance of a half.
#[test]
fn an_uneven_pace_of_pulls_breaks_the_order_in_which_frames_meet_a_full_port() {
    let shares = |jitter: &str, coin: bool| {
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\npairs = 4\n[workload]\nkind = \"long-flows\"\n\
             pairs = [\"0 -> 4\", \"1 -> 5\", \"2 -> 6\", \"3 -> 7\"]\n[transport]\nkind = \"ndp\"\n[transport.ndp]\n\
             pull_jitter = {jitter}\ncoin = {coin}\n[run]\nuntil = \"10ms\"\n[output]\nevery = \"0s\"\n"
        );
        let record = run(&text, 1);
        let received: Vec<_> = record.flows.iter().map(|flow| flow.received).collect();
        let all: u64 = received.iter().sum();
        let percent: Vec<u64> = received.iter().map(|one| one * 100 / all).collect();
        (percent, all)
    };
    let (even, all) = shares("0.0", true);
    let near = |found: u64, wanted: u64| found.abs_diff(wanted) <= 2;
    assert!(
        even.iter()
            .zip([12, 12, 25, 50])
            .all(|(&one, of)| near(one, of)),
        "{even:?}"
    );
    assert_eq!(shares("0.0", false).0, [99, 0, 0, 0]);
    for coin in [true, false] {
        let (uneven, as_much) = shares("0.5", coin);
        assert!(
            uneven.iter().all(|one| (20..=30).contains(one)),
            "{uneven:?}"
        );
        assert!(as_much * 100 > all * 99, "{as_much} of {all}");
    }
}

/// 127 messages of 15 frames' window on 16 ways have 1,905 probes of 84 B, which fill a port of 100 KB, and what was pulled is lost
/// behind them; on four ways each they have 508.
#[test]
fn a_first_window_on_fewer_ways_leaves_room_for_what_is_pulled() {
    let lost = |most: &str| {
        let text = format!(
            "[topology]\nkind = \"fat-tree\"\nk = 8\nhost_rate = \"10Gbps\"\n[workload]\nkind = \"incast\"\nsenders = 127\n\
             size = \"100KB\"\n[transport]\nkind = \"ndp+aeolus\"\n[transport.\"ndp+aeolus\"]\nfirst_ways = {most}\n\
             [switch]\nbuffer = \"100KB\"\n[output]\nevery = \"0s\"\n"
        );
        let record = run(&text, 1);
        (record.totals.timeouts, last(&record))
    };
    let (all, few) = (lost("\"all\""), lost("4"));
    assert!(all.0 > 100 && all.1 > 11_000.0, "{all:?}");
    assert!(few.0 == 0 && few.1 < 10_900.0, "{few:?}");
}

/// Its frames came back as those of the others did, and it may send as many again: 12 to 31 Gb/s it had, by how many did.
#[test]
fn a_preferred_sender_has_the_line_whichever_host_it_is() {
    for prefer in [1, 5, 16, 60] {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\n[workload]\nkind = \"incast\"\nsenders = 64\nsize = \"100MB\"\n[transport]\n\
             kind = \"ndp\"\n[transport.ndp]\nprefer = {prefer}\n[run]\nuntil = \"5ms\"\n[output]\nevery = \"0s\"\n"
        );
        let record = run(&text, 1);
        let of = |src| {
            let flow = record.flows.iter().find(|flow| flow.src == src);
            flow.expect("it sends").received as f64 * 8.0 / 5e6
        };
        assert!(of(prefer) > 90.0, "h{prefer}: {} Gb/s", of(prefer));
    }
}

#[test]
fn a_preferred_host_is_one_of_the_network() {
    let text = |host: u32| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"incast\"\nsenders = 3\n[transport]\n\
             kind = \"ndp\"\n[transport.ndp]\nprefer = {host}\n"
        )
    };
    let read = |host| load_text("ndp.toml", &text(host), &[]).and_then(Scenario::assemble);
    assert!(read(3).is_ok());
    let said = read(4).err().expect("it is refused").render(false);
    assert!(
        said.contains("transport.ndp.prefer cannot be used"),
        "{said}"
    );
    assert!(
        said.contains("ndp.toml:10:10") && said.contains("hosts 0 to 3"),
        "{said}"
    );
}

/// 32 x 64 KB in frames of 9000 B at 300 kb/s: eight were given up that only waited.
#[test]
fn a_timeout_that_full_ports_outlast_is_warned_of() {
    let text = |rate: &str, timeout: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 33\nhost_rate = \"{rate}\"\n[workload]\nkind = \"incast\"\nsenders = 32\n\
             [transport]\nkind = \"ndp\"\n[transport.ndp]\ntimeout = \"{timeout}s\"\nlinger = \"1000s\"\n[run]\nmtu = \"9000B\"\n\
             until = \"10000s\"\n[output]\nevery = \"0s\"\n"
        )
    };
    let warned = |record: &RunRecord| {
        let said = record.warnings.iter();
        said.filter(|said| said.contains("transport.ndp.timeout is"))
            .count()
    };
    let slow = run(&text("300kbps", "10"), 1);
    assert_eq!(
        (warned(&slow), slow.status),
        (1, Status::Stuck),
        "{:?}",
        slow.warnings
    );
    let said = slow.warnings.concat();
    assert!(said.contains("set it to \"199s\" or more"), "{said}");
    let mended = run(&text("300kbps", "199"), 1);
    assert_eq!((warned(&mended), mended.status), (0, Status::Complete));
    assert_eq!(warned(&run(&text("10Mbps", "10"), 1)), 0);
}

/// Frames of it came back while others sent as well: it has the line for itself afterwards, and not one frame for each round trip.
#[test]
fn who_lived_through_an_incast_has_the_line_again() {
    let text = "[topology]\nkind = \"star\"\nhosts = 61\n\
         [[workload]]\nkind = \"long-flows\"\npairs = [\"31 -> 0\"]\nstop = \"3ms\"\n\
         [[workload]]\nkind = \"incast\"\nsenders = 59\nreceiver = 0\nsize = \"100KB\"\n\
         [transport]\nkind = \"ndp\"\n[run]\nuntil = \"3ms\"\n";
    let record = run(text, 1);
    let received = record.flows[0].received;
    // The others take 0.5 ms of the 3.
    assert!(received > 27_000_000, "{received} B");
}

/// The second frame left before the first was repeated, and does not wait twice as long for it.
#[test]
fn a_repetition_keeps_no_frame_waiting_that_left_before_it() {
    for transport in ["ndp", "ndp+aeolus", "ndp+gaps"] {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 3\n[workload]\nkind = \"incast\"\nsenders = 1\nsize = \"2MB\"\n\
             [transport]\nkind = \"{transport}\"\n[[faults]]\nkind = \"loss\"\nlink = \"tor0 -> *\"\nclass = \"scheduled\"\n\
             chance = 1\nmost = 2\nfrom = \"20us\"\n"
        );
        let record = run(&text, 1);
        let end = record.flows[0].end.expect("it ends");
        assert!(end < Time(1_100_000_000), "{transport}: {end}");
    }
}

/// Eight frames of a port take a millisecond at 100 Mb/s, and its heads two more.
#[test]
fn no_timer_runs_out_where_full_ports_hold_what_is_missed() {
    for (hosts, rate) in [(17, "100Mbps"), (3, "100Mbps"), (17, "1Gbps")] {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = {hosts}\nhost_rate = \"{rate}\"\n\
             [workload]\nkind = \"incast\"\nsenders = {}\nsize = \"200KB\"\n[transport]\nkind = \"ndp\"\n",
            hosts - 1
        );
        let record = run(&text, 1);
        assert_eq!(record.totals.timeouts, 0, "{hosts} hosts, {rate}");
    }
}
