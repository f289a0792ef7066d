//! Goodput counts bytes when they come.

use model::Class;
use results::{PortRow, RunRecord, Summary};
use scenario::{Alone, Scenario, load_text};

fn run(sets: &[&str]) -> RunRecord {
    let text = "[topology]\nkind = \"star\"\nhosts = 4\n\
                [[workload]]\nkind = \"incast\"\nsenders = 1\nsize = \"10MB\"\ntag = \"long\"\n\
                [[workload]]\nkind = \"incast\"\nsenders = 2\nsize = \"1MB\"\nstart = \"400us\"\n\
                [run]\nwarmup = \"400us\"\nwindow = \"100us\"\n[output]\nwindow = [\"400us\", \"500us\"]\n";
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let run = load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"))
}

/// Payload that the line to the receiver carried in the window, in bits per second.
fn carried(record: &RunRecord) -> f64 {
    let counted = record.counted.as_ref().expect("asked for");
    let of_data = |port: &PortRow| {
        port.bytes[Class::Scheduled] + port.bytes[Class::Unscheduled] + port.bytes[Class::Plain]
    };
    let busiest = counted.ports.iter().map(of_data);
    let frames = busiest.max().expect("there are ports") as f64;
    let encap = record.encap;
    frames * f64::from(encap.payload_max) / f64::from(encap.payload_max + encap.overhead) * 8.0
        / 100e-6
}

#[test]
fn messages_that_wait_for_others_inside_a_window_count_with_what_came_in_it() {
    for kind in ["homa", "dctcp", "sird"] {
        let record = run(&[&format!("transport.kind={kind}"), "run.drain=2ms"]);
        let summary = Summary::of(&record);
        let goodput = summary.goodput.expect("something came").bps as f64;
        let line = carried(&record);
        assert!(
            (goodput / line - 1.0).abs() < 0.02,
            "{kind}: {goodput} of {line}"
        );
    }
}

/// The ideal time of a flow without an end was longer than time is.
#[test]
fn a_flow_without_an_end_may_cross_slow_lines() {
    let text = "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"10Mbps\"\n\
                [workload]\nkind = \"long-flows\"\npairs = [\"1 -> 2\"]\nstop = \"20ms\"\n[transport]\nkind = \"dctcp\"\n";
    let run = load_text("t.toml", text, &[]).and_then(Scenario::assemble);
    let record = run.and_then(|run| run.run(1, "", &mut Alone));
    let record = record.unwrap_or_else(|e| panic!("{e}"));
    assert!(
        record.flows[0].received > 10_000,
        "{}",
        record.flows[0].received
    );
}

/// What came from each host that sends, in bytes.
fn received(text: &str, sets: &[&str]) -> Vec<u64> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let run = load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    let record = run.and_then(|run| run.run(1, "", &mut Alone));
    let record = record.unwrap_or_else(|e| panic!("{e}"));
    record.flows.iter().map(|flow| flow.received).collect()
}

/// It kept two thirds of the credit of a receiver whose line is faster, and the line was idle.
#[test]
fn beside_a_slow_sender_others_have_the_rest_of_the_line() {
    let text = "[topology]\nkind = \"dumbbell\"\npairs = 2\n[[workload]]\nkind = \"incast\"\nsenders = 1\n\
                receiver = 3\nsize = \"20MB\"\n[[workload]]\nkind = \"long-flows\"\npairs = [\"1 -> 3\"]\n\
                [transport]\nkind = \"sird\"\n[run]\nuntil = \"4ms\"\n";
    for (rate, slow, fast) in [("10", 4_700_000, 40_000_000), ("20", 9_400_000, 36_000_000)] {
        let found = received(text, &[&format!("topology.first_rate={rate}Gbps")]);
        assert!(found[0] > slow && found[1] > fast, "{rate}: {found:?}");
    }
}

/// Half of the tokens of both run out and leave gaps, of which there is an end.
#[test]
fn two_long_messages_of_one_host_share_its_line() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\n[[workload]]\nkind = \"long-flows\"\n\
                pairs = [\"0 -> 1\", \"0 -> 2\"]\n[transport]\nkind = \"phost\"\n[run]\nuntil = \"4ms\"\n";
    // 94.9 Gb/s of payload in 4 ms.
    let found = received(text, &["transport.phost.sender=turns"]);
    assert!(found.iter().all(|&bytes| bytes > 23_500_000), "{found:?}");
}
