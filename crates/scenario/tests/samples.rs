//! Samples of ports and connections: when they are taken, and what a run without any says.

use results::RunRecord;
use scenario::{Alone, Scenario, load_text};

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
