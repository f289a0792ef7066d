//! Samples of ports and connections: when they are taken, and what a run without any says.

use results::RunRecord;
use scenario::{Alone, Scenario, load_text};
use units::{Span, Time};

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

fn sampled(workload: &str, every: &str, threads: u16) -> RunRecord {
    let text = format!(
        "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"10Gbps\"\n[[workload]]\n{workload}\n[transport]\nkind = \
         \"dctcp\"\n[output]\nflows = true\n{every}"
    );
    load_text("samples.toml", &text, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(threads, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

#[test]
fn where_nobody_chose_a_period_samples_cost_a_share_of_the_run_whatever_its_length() {
    let lasting = |size: &str| format!("kind = \"permutation\"\nsize = \"{size}\"");
    for size in ["20KB", "2MB", "20MB"] {
        let of = |threads| sampled(&lasting(size), "", threads);
        let record = of(1);
        let news = record.port_series.news().len() as u64;
        let most = (record.hops / 128).max(8_192);
        assert!(news <= most, "{size}: {news} of {}", record.hops);
        let moments = record.port_series.moments();
        assert!(
            (16..=1_024).contains(&moments.len()),
            "{size}: {}",
            moments.len()
        );
        // Samples are evenly spaced: a period that grew holds for all of them.
        let every = moments[0].0;
        let spaced = (1_u64..).zip(moments).all(|(n, at)| at.0 == n * every);
        assert!(spaced, "{size}: {moments:?}");
        for threads in [2, 3] {
            let other = of(threads);
            assert_eq!(other.port_series, record.port_series, "{size}, {threads}");
            assert_eq!(other.flow_series, record.flow_series, "{size}, {threads}");
        }
    }
}

#[test]
fn a_chosen_period_is_kept() {
    let record = sampled(
        "kind = \"permutation\"\nsize = \"2MB\"",
        "every = \"2us\"",
        1,
    );
    let moments = record.port_series.moments();
    assert_eq!(moments[0], Time(2_000_000));
    assert!(record.port_series.news().len() > 8_192);
}

/// Nobody looks at ports a million times while nothing happens, and what happens before and after it is the same on any
/// number of threads.
#[test]
fn a_long_silence_is_sampled_seldom() {
    let silent = "kind = \"permutation\"\nsize = \"300KB\"\n[[workload]]\nkind = \"incast\"\nsenders = 12\nsize = \
                  \"500KB\"\nstart = \"100ms\"";
    let of = |threads| sampled(silent, "", threads);
    let record = of(1);
    let moments = record.port_series.moments();
    assert!((16..=1_024).contains(&moments.len()), "{}", moments.len());
    for threads in [2, 3] {
        assert_eq!(of(threads).port_series, record.port_series, "{threads}");
    }
    let record = sampled(
        "kind = \"incast\"\nsenders = 2\nsize = \"1KB\"\n[[workload]]\nkind = \"incast\"\nsenders = 2\nsize = \
         \"1KB\"\nstart = \"9s\"",
        "",
        1,
    );
    let moments = record.port_series.moments();
    assert!((512..=1_024).contains(&moments.len()), "{}", moments.len());
}

#[test]
fn the_shortest_run_has_samples() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"100Gbps\"\nhost_delay = \"10ns\"\nhost_extra_delay = \"0s\"\n[workload]\nkind = \
                \"incast\"\nsenders = 2\nsize = \"300B\"\n[transport]\nkind = \"dctcp\"\n";
    let run = load_text("short.toml", text, &[]).and_then(Scenario::assemble);
    let record = run.and_then(|run| run.run(1, "", &mut Alone));
    let record = record.unwrap_or_else(|e| panic!("{e}"));
    assert!(record.end < Time(400_000), "{}", record.end);
    assert!(record.port_series.news().len() > 3);
}

/// Hosts keep timers for milliseconds after the last of 1,024 messages, and ports are looked at meanwhile.
#[test]
fn what_is_sampled_after_the_last_message_takes_the_place_of_nothing() {
    let text = |more: &str| {
        format!(
            "[topology]\nkind = \"fat-tree\"\nk = 8\n[workload]\nkind = \"permutation\"\nsize = \"30KB\"\n[transport]\nkind = \
             \"phost\"\n{more}"
        )
    };
    let of = |more: &str| {
        let run = load_text("tail.toml", &text(more), &[]).and_then(Scenario::assemble);
        let record = run.and_then(|run| run.run(1, "", &mut Alone));
        record.unwrap_or_else(|e| panic!("{e}"))
    };
    for every in ["", "every = \"200ns\"\n"] {
        let output = format!("[output]\n{every}flows = true\n");
        let record = of(&output);
        let cut = format!("[run]\nuntil = \"{}ps\"\n{output}", record.end.0 + 1);
        let cut = of(&cut);
        assert_eq!(record.end, cut.end, "{every}");
        let (moments, short) = (record.port_series.moments(), cut.port_series.moments());
        assert!(moments.len() >= 8, "{every}: {moments:?}");
        assert_eq!(moments, short, "{every}");
        assert_eq!(record.flow_series, cut.flow_series, "{every}");
    }
}
