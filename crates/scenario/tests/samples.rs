//! Samples of ports and connections: when they are taken, and what a run without any says.

use results::RunRecord;
use scenario::{Alone, Scenario, load_text};
use units::Span;

fn run(more: &str) -> RunRecord {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 9\n[workload]\nkind = \"incast\"\nsenders = 8\n{more}\nflows = true\n"
    );
    load_text("samples.toml", &text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// Timers ring for ten round trips after it, and samples were taken then.
#[test]
fn no_sample_is_later_than_the_end_of_the_run() {
    for kind in ["expresspass", "dctcp", "homa", "ndp"] {
        let record = run(&format!(
            "[transport]\nkind = \"{kind}\"\n[output]\nevery = \"10us\""
        ));
        let ports = record.port_series.moments().last().expect("some");
        let flows = record.flow_series.last().expect("some").at;
        let latest = flows.max(*ports);
        assert!(latest <= record.end, "{kind}: {latest:?}, {:?}", record.end);
        assert!(
            record.end.0 - latest.0 < 10_000_000,
            "{kind}: the last is missing"
        );
    }
}

#[test]
fn a_run_that_is_over_before_its_first_sample_says_so_once() {
    let said = |every: &str| {
        let record = run(&format!("[output]{every}"));
        let said = record.warnings.iter();
        let said = said.filter(|said| said.contains("output.every")).count();
        (record.port_series.is_empty(), said)
    };
    assert_eq!(said("\nevery = \"10ms\""), (true, 1));
    assert_eq!(said("\nevery = \"0s\""), (true, 0));
    assert_eq!(said("\nevery = \"5us\""), (false, 0));
    assert_eq!(said(""), (false, 0));
}

#[test]
fn samples_that_a_run_would_forget_are_not_taken() {
    // Lines need 8 ms, so that two of three samples would be forgotten; or the last message starts then.
    let busy = "[workload]\nkind = \"incast\"\nsenders = 32\nsize = \"312KB\"\n";
    let late = "[workload]\nkind = \"incast\"\nsenders = 3\nsize = \"9KB\"\nstart = \"8ms\"\n";
    let closed = "[workload]\nkind = \"incast-rr\"\nsenders = 32\nsize = \"100KB\"\nrounds = 3\n";
    for workload in [busy, late, closed] {
        let text = format!(
            "[topology]\nkind = \"fat-tree\"\nk = 8\nhost_rate = \"10Gbps\"\n{workload}\
             [transport]\nkind = \"dctcp\"\n[output]\nevery = \"4us\"\n"
        );
        let run = |all: bool| {
            let of = load_text("a.toml", &text, &[]).and_then(Scenario::assemble);
            let mut of = of.unwrap_or_else(|e| panic!("{e}"));
            let every = of.probes.every.unwrap();
            if all {
                of.probes.every = Some(Span::us(4));
            }
            (every, of.run(1, "", &mut Alone).unwrap())
        };
        let ((every, few), (_, all)) = (run(false), run(true));
        assert!(every > Span::us(4), "{every}: {workload}");
        assert!(few.port_series.moments().len() > 100);
        assert_eq!(few.port_series, all.port_series, "{workload}");
        assert_eq!(few.flows, all.flows);
    }
}
