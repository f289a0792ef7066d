//! What `check` says of a run beforehand, held against 300 runs that are drawn as `fuzz` draws them.

use scenario::{Alone, fuzz, load_text};
use std::fmt::Write as _;

/// Runs of fewer packet-hops take no time that anybody would estimate.
const HOPS_LEAST: u64 = 2_000;

#[test]
fn packet_hops_of_drawn_runs_are_near_what_check_says() {
    let registry = transports::registry();
    let mut ratios = Vec::new();
    for seed in 1..=300 {
        let text = fuzz::text(&registry, seed);
        // What is lost and sent again, or waits for a pause to end, nobody knows beforehand.
        if text.contains("[[faults]]") || text.contains("flow_control") {
            continue;
        }
        let run = load_text("drawn", &text, &[]).and_then(scenario::Scenario::assemble);
        let run = run.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let record = run.run(1, "", &mut Alone).expect("it runs");
        if record.hops >= HOPS_LEAST {
            let ratio = run.hops() as f64 / record.hops as f64;
            ratios.push((ratio, seed, run.scenario.protocol.name(), record.hops));
        }
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut table = String::new();
    for (ratio, seed, transport, hops) in &ratios {
        let _ = writeln!(
            table,
            "{ratio:.2} seed {seed}, {transport}, {hops} packet-hops"
        );
    }
    let within = |factor: f64| {
        let near =
            |&&(ratio, ..): &&(f64, u64, &str, u64)| (1.0 / factor..=factor).contains(&ratio);
        ratios.iter().filter(near).count() as f64 / ratios.len() as f64
    };
    println!(
        "{table}{:.2} within 1.5, {:.2} within 3",
        within(1.5),
        within(3.0)
    );
    assert!(ratios.len() > 60, "{} runs are long enough", ratios.len());
    assert!(within(1.5) > 0.75 && within(3.0) > 0.95, "{table}");
}

/// Most messages are under way when such a run ends: how far they are depends on how each transport begins.
#[test]
fn packet_hops_of_runs_that_end_early_are_near_what_check_says() {
    let mut table = String::new();
    let mut far = 0;
    for transport in ["dctcp", "expresspass", "expresspass+aeolus", "homa", "none"] {
        for (until, load) in [(20, 0.3), (50, 0.5), (150, 0.5)] {
            let text = format!(
                "[topology]\nkind = \"fat-tree\"\nk = 8\n[transport]\nkind = \"{transport}\"\n[[workload]]\nkind = \"random\"\n\
                 load = {load}\nsizes = \"web-server\"\nstop = \"{until}us\"\n[run]\nuntil = \"{until}us\"\n"
            );
            let run = load_text("early", &text, &[]).and_then(scenario::Scenario::assemble);
            let run = run.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            let record = run.run(1, "", &mut Alone).expect("it runs");
            let ratio = run.hops() as f64 / record.hops as f64;
            let _ = writeln!(table, "{ratio:.2} {transport}, {until} us, {}", record.hops);
            far += u32::from(!(1.0 / 1.5..=1.5).contains(&ratio));
        }
    }
    println!("{table}");
    assert_eq!(far, 0, "{table}");
}

/// Many short messages to each host at once: each has its part of the credits of a round trip, in vain or not.
#[test]
fn packet_hops_of_short_messages_that_share_a_line_are_near_what_check_says() {
    for transport in ["expresspass", "expresspass+aeolus", "expresspass+ssp"] {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 16\nhost_delay = \"3us\"\n[workload]\nkind = \"all-to-all\"\nsize = \"5KB\"\n\
             [transport]\nkind = \"{transport}\"\n"
        );
        let run = load_text("short", &text, &[]).and_then(scenario::Scenario::assemble);
        let run = run.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let record = run.run(1, "", &mut Alone).expect("it runs");
        let ratio = run.hops() as f64 / record.hops as f64;
        assert!(
            (1.0 / 1.5..=1.5).contains(&ratio),
            "{transport}: {ratio:.2}"
        );
    }
}

/// Flows until a moment and messages until their last byte: what a beginning shows does not go on until the run's end.
#[test]
fn packet_hops_of_flows_that_stop_beside_messages_are_close() {
    for (transport, from, until) in [
        ("expresspass", "0s", "1ms"),
        ("dctcp", "0s", "1ms"),
        ("dctcp", "2ms", "3ms"),
    ] {
        let run = looked_ahead(&format!(
            "[topology]\nkind = \"star\"\nhosts = 16\n[transport]\nkind = \"{transport}\"\n\
             [[workload]]\nkind = \"long-flows\"\npairs = [\"1 -> 0\", \"2 -> 3\", \"4 -> 5\"]\n\
             start = \"{from}\"\nstop = \"{until}\"\n\
             [[workload]]\nkind = \"permutation\"\nsize = \"40MB\"\nstart = \"1ms\"\n"
        ));
        let record = run.run(1, "", &mut Alone).expect("it runs");
        let ratio = run.hops() as f64 / record.hops as f64;
        assert!(
            (1.0 / 1.5..=1.5).contains(&ratio),
            "{transport}, {from}: {ratio:.2}"
        );
    }
}

/// A beginning of few incasts says little about how often they come, and one of a crowd shows little but its requests.
#[test]
fn packet_hops_of_few_large_incasts_and_of_crowds_are_close() {
    let leaves = "kind = \"leaf-spine\"\nleaves = 8\nspines = 4\nhosts_per_leaf = 16\n";
    let mut table = String::new();
    let mut far = 0;
    for (transport, topology, workload, until) in [
        // `check` said 0.56, 3.1 and 3.6 times what they take.
        (
            "sird",
            leaves,
            "kind = \"bursts\"\nsenders = 30\nsize = \"1MB\"\nload = 0.1\nrounds = 100\n",
            "20ms",
        ),
        (
            "dctcp",
            "kind = \"three-tier\"\npods = 2\ntors = 4\naggs = 2\ncores = 2\nhosts_per_tor = 8\nhost_rate = \"400Gbps\"\n",
            "kind = \"incast\"\nsenders = 50000\nsize = \"1460B\"\n",
            "10s",
        ),
        (
            "expresspass+aeolus",
            "kind = \"leaf-spine\"\nleaves = 8\nspines = 1\nhosts_per_leaf = 32\nhost_rate = \"10Gbps\"\n",
            "kind = \"all-to-all\"\nsize = \"1KB\"\n",
            "10s",
        ),
    ] {
        let run = looked_ahead(&format!(
            "[topology]\n{topology}[transport]\nkind = \"{transport}\"\n[workload]\n{workload}[run]\nuntil = \"{until}\"\n"
        ));
        let record = run.run(1, "", &mut Alone).expect("it runs");
        let ratio = run.hops() as f64 / record.hops as f64;
        let _ = writeln!(table, "{ratio:.2} {transport}, {}", record.hops);
        far += u32::from(!(1.0 / 1.3..=1.3).contains(&ratio));
    }
    println!("{table}");
    assert_eq!(far, 0, "{table}");
}

/// Their hosts make a credit for each of them and drop most: one is sent for a hundred that cross no link.
#[test]
fn credits_that_hosts_drop_neither_hold_check_up_nor_take_long() {
    let star = |senders: u32, size: &str| {
        looked_ahead(&format!(
            "[topology]\nkind = \"star\"\nhosts = 64\n[transport]\nkind = \"expresspass\"\n[workload]\nkind = \"incast\"\n\
             senders = {senders}\nsize = \"{size}\"\n[run]\nuntil = \"20ms\"\n"
        ))
    };
    // It takes a second; `check` said 43 s.
    let seconds = star(100_000, "1KB").seconds();
    assert!(seconds < 4.0, "{seconds} s");
    // `check` took minutes.
    assert!(star(50_000, "1MB").hops() > 100_000);
}

/// What the beginning of such a run shows does not go on: others join, leave, or come back later.
#[test]
fn packet_hops_of_runs_that_become_others_are_close() {
    let leave = "kind = \"long-flows\"\nevery = \"5ms\"\nleave = \"last-in\"\n";
    let apart = "pairs = [\"5 -> 15\", \"8 -> 1\", \"12 -> 7\", \"13 -> 11\", \"3 -> 0\", \"4 -> 14\", \"10 -> 6\", \"9 -> 2\"]\n";
    let star = "kind = \"star\"\nhosts = 16\nhost_rate = \"100Gbps\"\n";
    let leaves = "kind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\nhost_rate = \"40Gbps\"\n";
    let tree = "kind = \"fat-tree\"\nk = 4\nhost_rate = \"100Gbps\"\n";
    let mut table = String::new();
    let mut far = 0;
    for (name, transport, topology, workloads, more) in [
        // `check` said 0.75, 1.48, 0.52 and 18.28 times what they take, of their beginnings and sums.
        ("flows that leave", "dctcp", star, format!("{leave}{apart}"), ""),
        (
            "flows that leave beside others that stop, frames lost",
            "ndp",
            "kind = \"dumbbell\"\npairs = 8\n",
            format!("{leave}{apart}[[workload]]\nkind = \"long-flows\"\n{apart}stop = \"2ms\"\n"),
            "[[faults]]\nkind = \"loss\"\nlink = \"* -> h1\"\nchance = 0.01\n",
        ),
        (
            "flows that leave beside answers",
            "ndp+gaps",
            leaves,
            format!("{leave}pairs = [\"1 -> 0\", \"2 -> 0\", \"3 -> 0\"]\n[[workload]]\nkind = \"incast-rr\"\nsenders = 40\nsize = \"20KB\"\nrounds = 100\n"),
            "",
        ),
        (
            "large messages after most small ones",
            "homa+gaps",
            tree,
            "kind = \"shuffle\"\ntasks = 4\nsize = \"200KB\"\nstart = \"5ms\"\n[[workload]]\nkind = \"random\"\nsizes = \"homa-w1\"\nload = 0.2\nmessages = 30000\n".into(),
            "",
        ),
    ] {
        let run = looked_ahead(&format!(
            "[topology]\n{topology}[transport]\nkind = \"{transport}\"\n[[workload]]\n{workloads}{more}[run]\nuntil = \"100ms\"\n"
        ));
        let record = run.run(1, "", &mut Alone).expect("it runs");
        let ratio = run.hops() as f64 / record.hops as f64;
        let _ = writeln!(table, "{ratio:.2} {name}, {transport}, {}", record.hops);
        far += u32::from(!(1.0 / 1.4..=1.4).contains(&ratio));
    }
    println!("{table}");
    assert_eq!(far, 0, "{table}");
}

/// 128 hosts with so many messages, most of them of a frame.
fn crowd(transport: &str, messages: u32) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\n[transport]\nkind = \"{transport}\"\n[[workload]]\nkind = \"random\"\n\
         load = 0.5\nsizes = \"homa-w1\"\nmessages = {messages}\n"
    )
}

/// A permutation of 10 MB over a star of 40 Gb/s, a frame of fifty lost.
fn lossy(transport: &str, hosts: u32) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = {hosts}\nhost_rate = \"40Gbps\"\n[transport]\nkind = \"{transport}\"\n\
         [[workload]]\nkind = \"permutation\"\nsize = \"10MB\"\n\
         [[faults]]\nlink = \"h* -> *\"\nkind = \"loss\"\nchance = 0.02\n"
    )
}

/// Traffic of a fat tree that ends or changes long before the end, looked at each 5 us.
fn early(transport: &str, workload: &str, rate: &str) -> String {
    format!(
        "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"{rate}\"\n[transport]\nkind = \"{transport}\"\n\
         [[workload]]\n{workload}\n[run]\nuntil = \"1s\"\n[output]\nevery = \"5us\"\n"
    )
}

/// Incasts over the line of a dumbbell, more than it carries.
fn crossed(transport: &str) -> String {
    format!(
        "[topology]\nkind = \"dumbbell\"\npairs = 8\n[transport]\nkind = \"{transport}\"\n[[workload]]\nkind = \"incast\"\n\
         senders = 40\nsize = \"100KB\"\nload = 0.8\nrounds = 1000\n[run]\nuntil = \"1s\"\n[output]\nevery = \"0s\"\n"
    )
}

/// A permutation of 1,024 hosts.
fn spread(transport: &str, control: &str) -> String {
    format!(
        "[topology]\nkind = \"fat-tree\"\nk = 16\nhost_rate = \"100Gbps\"\n[transport]\nkind = \"{transport}\"\n\
         [[workload]]\nkind = \"permutation\"\nsize = \"200KB\"\n[switch]\nflow_control = \"{control}\"\n[output]\n\
         every = \"0s\"\n"
    )
}

fn looked_ahead(text: &str) -> scenario::Assembled {
    let run = load_text("ahead", text, &[]).and_then(scenario::Scenario::assemble);
    let mut run = run.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    run.look_ahead();
    run
}

/// A beginning serves few of them: those that credits in vain hold up are all on the way.
#[test]
fn packet_hops_of_many_short_messages_are_what_a_part_of_them_takes() {
    // Of 120,000 a beginning was run before, which said 1.7 times; of more a sum, which said 0.3 times.
    for (transport, messages) in [("expresspass", 120_000), ("expresspass+aeolus", 201_000)] {
        let run = looked_ahead(&crowd(transport, messages));
        let record = run.run(1, "", &mut Alone).expect("it runs");
        let ratio = run.hops() as f64 / record.hops as f64;
        assert!((0.8..=1.25).contains(&ratio), "{transport}: {ratio:.2}");
    }
}

/// A scenario samples each port every 5 us, also where no packet arrives for seconds: two million moments of a fat tree.
#[test]
fn ports_that_are_looked_at_where_nothing_happens_take_no_time() {
    for line in ["host_delay = \"10s\"", "host_rate = \"1kbps\""] {
        let run = looked_ahead(&format!(
            "[topology]\nkind = \"fat-tree\"\nk = 8\n{line}\n[[workload]]\nkind = \"incast\"\nsenders = 64\n\
             receiver = 0\nsize = \"64KB\"\n[transport]\nkind = \"dctcp\"\n[output]\nevery = \"5us\"\n"
        ));
        let seconds = run.seconds();
        assert!(seconds < 5.0, "{line}: {seconds} s");
        let record = run.run(1, "", &mut Alone).expect("it runs");
        let moments = record.port_series.moments().len();
        assert!((200..500).contains(&moments), "{line}: {moments}");
    }
}

/// What they have in all is more than there is time for: bytes alone said 2.4 times.
#[test]
fn packet_hops_of_random_messages_that_the_end_cuts_off_are_close() {
    let run = looked_ahead(
        "[topology]\nkind = \"leaf-spine\"\nhosts_per_leaf = 16\nhost_rate = \"100Gbps\"\n[transport]\nkind = \"none\"\n\
         [[workload]]\nkind = \"random\"\nsizes = \"web-server\"\nload = 0.25\nstop = \"1.5ms\"\n[run]\nuntil = \"1.5ms\"\n\
         [output]\nevery = \"0s\"\n",
    );
    let record = run.run(1, "", &mut Alone).expect("it runs");
    let ratio = run.hops() as f64 / record.hops as f64;
    assert!(
        (0.8..=1.25).contains(&ratio),
        "{ratio:.2} of {}",
        record.hops
    );
}

/// The peaks are of `/usr/bin/time -f %M tidegate run` with these scenarios.
#[test]
fn memory_is_within_half_of_what_runs_held() {
    for (text, held) in [
        (crowd("expresspass", 250_000), 312.0),
        (crowd("homa", 300_000), 221.0),
        // Receivers know connections for 20 ms after their message.
        (crowd("expresspass+aeolus", 250_000), 328.0),
        // Their packets are noted and explained; noted until there are too many; not noted.
        (lossy("ndp", 8), 38.0),
        (lossy("expresspass", 8), 27.0),
        (lossy("homa", 16), 14.0),
        // Samples before every second moment was forgotten; more than half of the messages at once.
        (
            early(
                "ndp",
                "kind = \"incast\"\nsenders = 40\nsize = \"20MB\"\nstart = \"5ms\"",
                "100Gbps",
            ),
            53.2,
        ),
        (
            early(
                "phost",
                "kind = \"random\"\nsizes = \"homa-w4\"\nload = 0.2\nmessages = 3000\n[[workload]]\nkind = \"incast\"\nsenders = 100\nsize = \"50MB\"",
                "10Gbps",
            ),
            26.2,
        ),
        (crossed("sird"), 77.9),
        (crossed("homa"), 82.0),
        // Ports with queues, and of switches with a flow control.
        (spread("expresspass", "none"), 34.0),
        (spread("homa", "none"), 40.3),
        (spread("dctcp", "bfc"), 54.9),
        (spread("dctcp", "pfc"), 33.3),
    ] {
        let ratio = looked_ahead(&text).need().0 as f64 / 1e6 / held;
        println!("{ratio:.2} of {held} MB");
        assert!((1.0 / 1.5..=1.5).contains(&ratio), "{ratio:.2}\n{text}");
    }
}
