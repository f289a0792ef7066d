//! What a threshold says of a figure, at its limit and where the figure is a lower bound.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use results::stats::{Dist, Figure};
use results::{OwnCounter, Summary, Threshold, Verdict, metrics};

fn summary() -> Summary {
    Summary::of(&common::record("hand", "by hand", 3))
}

fn judge(summary: &Summary, key: &str, text: &str) -> Verdict {
    Threshold::parse(key, text).unwrap().judge(summary)
}

const OPERATORS: [&str; 6] = ["<", "<=", "==", "!=", ">=", ">"];

/// Which comparisons with `limit` hold.
fn holding(summary: &Summary, key: &str, limit: &str) -> Vec<&'static str> {
    let holds = |operator: &&str| judge(summary, key, &format!("{operator} {limit}")).passed;
    OPERATORS.into_iter().filter(holds).collect()
}

#[test]
fn a_figure_at_the_limit_is_neither_below_nor_above_it() {
    let mut summary = summary();
    summary.drops.total = 5;
    let holding = |limit: &str| holding(&summary, "drops.total", limit);
    assert_eq!(holding("4"), ["!=", ">=", ">"]);
    assert_eq!(holding("5"), ["<=", "==", ">="]);
    assert_eq!(holding("6"), ["<", "<=", "!="]);
}

#[test]
fn a_lower_bound_proves_only_what_any_greater_value_meets_too() {
    let mut summary = summary();
    let figure = Figure {
        value: 5_000,
        at_least: true,
    };
    summary.sizes[0].fct_ps = Dist::of(&[figure]);
    let holding = |limit: &str| holding(&summary, "fct.max", limit);
    assert_eq!(holding("4ns"), ["!=", ">=", ">"]);
    assert_eq!(holding("5ns"), [">="]);
    assert_eq!(holding("6ns"), [""; 0]);
    assert_eq!(judge(&summary, "fct.max", "< 6ns").measured, ">= 5 ns");
}

#[test]
fn a_share_may_be_written_in_percent_and_a_small_one_is_told_with_its_digits() {
    let mut summary = summary();
    let mut told = |share: f64| {
        summary.fairness = Some(share);
        assert_eq!(
            holding(&summary, "fairness", "5%").contains(&"=="),
            (share - 0.05).abs() < 1e-9
        );
        judge(&summary, "fairness", "< 5%").measured
    };
    assert_eq!(told(0.05), "0.05000");
    assert_eq!(told(0.00012), "0.00012");
    assert_eq!([0.0, 0.1, 0.5].map(&mut told), ["0.00", "0.10", "0.50"]);
}

#[test]
fn a_counter_is_the_sum_over_the_transports_that_have_it() {
    let mut summary = summary();
    let counter = |transport: &str, name: &str, value| OwnCounter {
        transport: transport.into(),
        name: name.into(),
        unit: "packets".into(),
        meaning: "What a test says.".into(),
        value,
    };
    summary.counters = vec![
        counter("homa", "kept", 30),
        counter("homa", "left", 1),
        counter("sird", "kept", 4),
    ];
    assert!(judge(&summary, "counters.kept", "== 34").passed);
    assert!(judge(&summary, "counters.left", "== 1").passed);
    assert_eq!(
        judge(&summary, "counters.other", ">= 0").measured,
        "nothing"
    );
}

#[test]
fn a_threshold_names_the_counter_or_the_tag_that_somebody_else_must_know() {
    let told = |key: &str, text: &str| {
        let threshold = Threshold::parse(key, text).unwrap();
        let (counter, tag) = (threshold.counter(), threshold.tag());
        (counter.map(str::to_owned), tag.map(str::to_owned))
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(told("counters.kept", "== 0"), (name("kept"), None));
    assert_eq!(told("tags.a.b.took", "< 1ms"), (None, name("a.b")));
    assert_eq!(told("tags.a.b.fct.p50", "< 1ms"), (None, name("a.b")));
    assert_eq!(told("fct.p99", "< 1ms"), (None, None));
    assert!(Threshold::parse("tags.a.fct.p98", "< 1ms").is_err());
}

#[test]
fn the_size_of_all_messages_is_in_no_name() {
    let names = metrics();
    for name in ["fct.p99", "fct.s.p99", "slowdown.mean", "slowdown.xl.max"] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
    assert!(!names.iter().any(|known| known.starts_with("fct.all.")));
}

#[test]
fn what_xml_cannot_hold_becomes_a_space() {
    let told = results::escape("a<b> & \"c\" 'd'\te\u{7}f\u{1b}\n");
    assert_eq!(told, "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\te f \n");
}
