//! Tokens are counted: those that arrive release a frame, or are wasted.

use results::{RunRecord, Summary};
use scenario::{Alone, Scenario, load_text};
use units::Time;

/// 5 MB both ways between two hosts of 25 Gb/s, whose packets spread over four ways.
fn both_ways(kind: &str, sets: &[&str]) -> RunRecord {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 1\n\
                host_rate = \"25Gbps\"\n[workload]\nkind = \"permutation\"\nsize = \"5MB\"\n\
                [switch]\nbalance = \"packet\"\n[transport.phost]\nfree = 8\n";
    let kind = format!("transport.kind={kind}");
    let sets = std::iter::once(&*kind).chain(sets.iter().copied());
    let sets: Vec<String> = sets.map(str::to_owned).collect();
    let run = load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    let record = run.and_then(|run| run.run(1, "", &mut Alone));
    record.unwrap_or_else(|e| panic!("{e}"))
}

/// They come in bunches over several ways, and the last of a bunch runs out before the line is its own.
#[test]
fn a_token_that_ran_out_is_wasted() {
    // A quarter of the tokens at 7 Gb/s, an eighth at 25, one in 25 at 100.
    for (uplink, least, most) in [
        ("7Gbps", 1_800, 2_300),
        ("25Gbps", 800, 1_100),
        ("100Gbps", 200, 400),
    ] {
        let uplink = format!("topology.uplink_rate={uplink}");
        let totals = both_ways("phost", &[&uplink]).totals;
        let wasted = totals.credits_wasted;
        assert!((least..most).contains(&wasted), "{uplink}: {wasted}");
        let used = totals.credits_received - wasted;
        assert_eq!(
            used + 2 * 8,
            totals.data_sent,
            "eight frames of each leave unasked"
        );
    }
}

#[test]
fn a_token_releases_a_frame_or_is_wasted() {
    let totals = both_ways("dcpim", &["topology.uplink_rate=7Gbps"]).totals;
    let used = totals.credits_received - totals.credits_wasted;
    assert_eq!(used, totals.data_sent);
}

/// Few frames are a round trip, and tokens and data wait for one or the other behind each other.
#[test]
fn a_window_of_long_frames_fills_a_line_that_has_data_both_ways() {
    let sets = [
        "run.mtu=9000B",
        "workload.size=20MB",
        "topology.host_delay=200ns",
        "topology.host_extra_delay=0s",
    ];
    let record = both_ways("dcpim", &sets);
    let goodput = Summary::of(&record).goodput.expect("something came").bps;
    // Both lines carry 49.6 Gb/s of payload.
    assert!(goodput > 48_000_000_000, "{goodput}");
}

/// Half of the tokens of a faster receiver ran out, and a slower one left most of its sender's line idle.
#[test]
fn a_channel_is_as_much_of_both_lines() {
    let text = "[topology]\nkind = \"dumbbell\"\npairs = 4\nhost_rate = \"25Gbps\"\nfirst_rate = \"100Gbps\"\n\
                bottleneck_rate = \"100Gbps\"\n[transport]\nkind = \"dcpim\"\n";
    let long = |pair: String| {
        format!("[[workload]]\nkind = \"long-flows\"\npairs = [\"{pair}\"]\nstop = \"2ms\"\n")
    };
    let run = |ways: [String; 4]| {
        let text = text.to_owned() + &ways.map(long).concat() + "[run]\nuntil = \"2ms\"\n";
        let run = load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
        let record = run.and_then(|run| run.run(1, "", &mut Alone));
        record.unwrap_or_else(|e| panic!("{e}"))
    };
    for record in [
        run([4, 5, 6, 7].map(|slow| format!("{slow} -> 0"))),
        run([4, 5, 6, 7].map(|slow| format!("0 -> {slow}"))),
    ] {
        // A line of 25 Gb/s carries 5.9 MB of payload in 2 ms.
        for flow in &record.flows {
            assert!(flow.received > 5_300_000, "{}", flow.received);
        }
        let totals = record.totals;
        assert!(20 * totals.credits_wasted < totals.credits_received);
    }
}

/// A fast receiver asked a slow sender for its whole line, and took all of it for three frames.
#[test]
fn who_lacks_a_part_of_a_slow_line_leaves_the_rest_to_others() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\nhost_rate = \"100Gbps\"\nslow = \"h0 <-> *\"\nslow_rate = \"10Gbps\"\n\
                [[workload]]\nkind = \"all-to-all\"\nsize = \"20KB\"\n[transport]\nkind = \"dcpim\"\n[run]\nmtu = \"9000B\"\n";
    let run = load_text("t.toml", text, &[]).and_then(Scenario::assemble);
    let record = run.and_then(|run| run.run(1, "", &mut Alone));
    let record = record.unwrap_or_else(|e| panic!("{e}"));
    // The line at 10 Gb/s is busy for 66 us.
    for flow in &record.flows {
        assert!(
            flow.end.is_some_and(|end| end < Time(200_000_000)),
            "{flow:?}"
        );
    }
}

/// Lines between switches are slower than those of hosts, and data waits there for longer than a receiver's window. It took
/// that for lost, again and again: three quarters of all frames left twice or more.
#[test]
fn what_waits_between_switches_does_not_leave_twice() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"40Gbps\"\nhost_delay = \"4us\"\n\
                uplink_rate = \"10Gbps\"\n[workload]\nkind = \"random\"\nsizes = \"web-server\"\nload = 0.1\nmessages = 1500\n\
                [transport]\nkind = \"dcpim\"\n[switch]\nbalance = \"packet\"\nbuffer = \"5MB\"\n";
    let run = load_text("t.toml", text, &[]).and_then(Scenario::assemble);
    let record = run.and_then(|run| run.run(1, "", &mut Alone));
    let totals = record.unwrap_or_else(|e| panic!("{e}")).totals;
    let (again, all) = (totals.retransmitted, totals.data_sent);
    assert!(50 * again < all, "{again} of {all}");
}
