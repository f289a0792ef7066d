//! Messages that follow each other on connections that last.

use results::Status;
use scenario::{Alone, Scenario, load_text};

const WORKERS: usize = 6;
const ROUNDS: u32 = 12;

/// Mean times of what each worker sends, or is sent where `asked`, in microseconds; each message is as long.
fn means(kind: &str, asked: bool, lines: &str) -> Vec<f64> {
    let sizes = if asked {
        ("300KB", "200B")
    } else {
        ("200B", "300KB")
    };
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = {}\nhost_rate = \"10Gbps\"\nhost_delay = \"2us\"\n\
         [switch]\nbuffer = \"8MB\"\n[workload]\nkind = \"incast-rr\"\nsenders = {WORKERS}\nreceiver = 0\n\
         rounds = {ROUNDS}\npacing = \"closed\"\nrequest = \"{}\"\nsize = \"{}\"\n[transport]\nkind = \"{kind}\"\n{lines}",
        WORKERS + 1,
        sizes.0,
        sizes.1,
    );
    let record = load_text("lasting.toml", &text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert_eq!(record.status, Status::Complete, "{text}");
    let mut sums = vec![0.0; WORKERS];
    for flow in record.flows.iter().filter(|flow| flow.size == 300_000) {
        let worker = flow.src.max(flow.dst) as usize;
        let (Some(start), Some(end)) = (flow.start, flow.end) else {
            panic!("the run is complete")
        };
        let took = end.since(start);
        sums[worker - 1] += took.0 as f64 / 1e6 / f64::from(ROUNDS);
    }
    sums
}

#[test]
fn of_messages_with_as_much_to_go_the_older_is_first_and_nobody_waits_for_all_others() {
    for (kind, asked, lines) in [
        ("sird", false, ""),
        ("sird", true, "[transport.sird]\nshortest = 1.0\n"),
        ("phost", false, ""),
        ("homa", true, ""),
    ] {
        let means = means(kind, asked, lines);
        let most = means.iter().copied().fold(0.0, f64::max);
        let least = means.iter().copied().fold(f64::MAX, f64::min);
        println!("{kind} {asked}: {least} {most}");
        assert!(most < 1.2 * least, "{kind}, {asked}: {means:?}");
    }
}
