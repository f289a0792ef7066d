//! What a terminal shows, and what thresholds decide.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use results::{Style, Summary, Threshold, Verdict, compare, metrics, table};

fn judge(summary: &Summary, key: &str, text: &str) -> Verdict {
    Threshold::parse(key, text).unwrap().judge(summary)
}

#[test]
fn one_run_is_a_header_a_row_and_the_slowest_message() {
    let summary = Summary::of(&common::incast());
    let verdicts = [
        judge(&summary, "fct.p99", "< 2ms"),
        judge(&summary, "slowdown.p99", "< 10"),
    ];
    let shown = table::text(
        &[(&summary, &verdicts)],
        Style {
            width: 132,
            colour: false,
        },
    );
    let expected = " incast  64 -> 1, 64 KB each, 100 Gb/s, leaf-spine, 8 leaves x 16 hosts     seed 1   fingerprint 0123456789abcdef
 transport            messages   p50      p99      slowdown p99   max queue   drops by class              goodput     credit waste
 expresspass+aeolus   64         182 us   349 us   37.2           4.25 MB     credit 448, unscheduled 3   93.8 Gb/s   6.38%
 slowest: message 63 (h64 -> h0, 64 KB) took 349 us, 37.2 times what an idle network takes; the
 median is 19.4
 ✓ fct.p99 < 2ms   measured 349 us
 ✗ slowdown.p99 < 10   measured 37.2
";
    assert_eq!(shown, expected);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let summary = Summary::of(&common::cut_off(500));
    for width in [40, 60, 80, 100, 140] {
        let style = Style {
            width,
            colour: false,
        };
        let shown = table::header(&[&summary], style) + &table::rows(&[&summary], style);
        for line in shown.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn unfinished_messages_are_shown_and_bound_the_figures() {
    let run = common::cut_off(500);
    let summary = Summary::of(&run);
    let unfinished = run.flows.iter().filter(|flow| flow.end.is_none()).count() as u64;
    assert!(unfinished > 0 && summary.messages.unfinished == unfinished);
    let shown = table::rows(&[&summary], Style::PLAIN);
    let counted = format!(
        "{} of {}",
        summary.messages.finished, summary.messages.counted
    );
    assert!(shown.contains(&counted) && shown.contains(">= "), "{shown}");
    assert!(
        summary.broken()
            && summary
                .warnings
                .iter()
                .any(|text| text.contains("can never finish"))
    );
}

#[test]
fn only_messages_that_start_inside_the_window_count() {
    let mut run = common::mixed(300);
    let all = Summary::of(&run);
    let (first, last) = (run.flows[100].start.unwrap(), run.flows[200].start.unwrap());
    run.window = first..last;
    let some = Summary::of(&run);
    let inside = run
        .flows
        .iter()
        .filter(|flow| flow.start.is_some_and(|at| first <= at && at < last));
    assert_eq!(some.messages.counted, inside.count() as u64);
    assert_eq!((all.messages.counted, some.messages.total), (300, 300));
    let goodput = some.goodput.unwrap();
    assert_eq!((goodput.from_ps, goodput.until_ps), (first.0, last.0));
}

#[test]
fn goodput_of_an_incast_is_what_its_bottleneck_carries() {
    // 64 times 64 KB over one link of 100 Gb/s: the frames' overhead is 78 in 1538.
    let summary = Summary::of(&common::incast());
    let share = summary.goodput.unwrap().bps as f64 / 100e9;
    assert!((0.92..1460.0 / 1538.0).contains(&share), "{share}");
}

#[test]
fn sizes_fall_into_their_bins() {
    let summary = Summary::of(&common::mixed(1_000));
    let messages: Vec<u64> = summary.sizes.iter().map(|bin| bin.messages).collect();
    assert_eq!(messages[0], 1_000);
    assert_eq!(messages[1..].iter().sum::<u64>(), 1_000, "{messages:?}");
    let labels: Vec<String> = summary.sizes.iter().map(results::SizeBin::label).collect();
    assert_eq!(
        labels,
        [
            "all sizes",
            "up to 10 KB",
            "10 KB - 100 KB",
            "100 KB - 1 MB",
            "above 1 MB"
        ]
    );
    assert!(
        summary.sizes[0].holds(0)
            && summary.sizes[1].holds(10_000)
            && !summary.sizes[1].holds(10_001)
    );
}

#[test]
fn a_lower_bound_never_passes_an_upper_limit() {
    let cut = Summary::of(&common::cut_off(500));
    let p99 = cut.sizes[0].fct_ps.unwrap().p99;
    assert!(p99.at_least);
    assert!(
        !judge(&cut, "fct.p99", "< 1s").passed,
        "it may be anything above"
    );
    assert!(
        judge(&cut, "fct.p99", "> 1ns").passed,
        "it is above already"
    );
    assert!(judge(&cut, "fct.p99", "< 1s").measured.starts_with(">= "));
}

#[test]
fn thresholds_judge_every_kind_of_figure() {
    let summary = Summary::of(&common::mixed(500));
    for (key, text, passed) in [
        ("drops.unscheduled", "> 0", true),
        ("drops.scheduled", "== 0", true),
        ("drops.data", "!= 0", true),
        ("goodput", "> 1Gbps, < 1.6Tbps", true),
        ("queue.max", "< 1KB", false),
        ("credits.waste", "< 10%", true),
        ("credits.waste", "< 0.001", false),
        ("fairness", "<= 1", true),
        ("slowdown.s.p50", ">= 1", true),
        ("fct.xl.p99", "< 1s", false),
        ("messages.unfinished", "== 0", true),
        ("utilisation.max", "<= 100%", true),
    ] {
        let verdict = judge(&summary, key, text);
        assert_eq!(verdict.passed, passed, "{verdict:?}");
    }
    assert_eq!(judge(&summary, "fct.xl.p99", "< 1s").measured, "nothing");
    for key in metrics() {
        let parsed = ["< 1us", "< 1", "< 1KB", "< 1Gbps"]
            .iter()
            .filter(|text| Threshold::parse(&key, text).is_ok());
        assert_eq!(parsed.count(), 1, "{key} has one dimension");
    }
}

#[test]
fn a_wrong_threshold_says_what_to_write() {
    for (key, text, says) in [
        (
            "fct.p98",
            "< 2ms",
            "there is no metric \"fct.p98\"; did you mean \"fct.p9",
        ),
        (
            "nonsense",
            "< 2ms",
            "there is no metric \"nonsense\"; there are fct.p99",
        ),
        (
            "fct.p99",
            "2ms",
            "fct.p99: \"2ms\" needs a comparison: write it like \"< 2ms\"",
        ),
        ("fct.p99", "< 2", "fct.p99: \"2\" needs a unit"),
        ("goodput", "> 1GBps", "did you mean \"1Gbps\"?"),
        (
            "drops.data",
            "< 1.5",
            "drops.data: \"1.5\" is not a whole number",
        ),
        ("fairness", "> half", "write it like \"0.05\" or \"5%\""),
    ] {
        let error = Threshold::parse(key, text).unwrap_err().to_string();
        assert!(error.contains(says), "{key} {text}: {error}");
    }
}

#[test]
fn several_transports_are_rows_with_their_fingerprints() {
    let runs: Vec<Summary> = common::family(&["expresspass", "dctcp"], &["0.5"], 1)
        .iter()
        .map(Summary::of)
        .collect();
    let shown = table::text(&[(&runs[0], &[]), (&runs[1], &[])], Style::PLAIN);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].ends_with("seed 1") && lines[1].ends_with("fingerprint"));
    assert!(lines[2].starts_with(" expresspass ") && lines[3].starts_with(" dctcp "));
    assert!(
        !lines[1].contains("load"),
        "what is the same for all is no column"
    );
}

#[test]
fn seeds_become_intervals_and_settings_columns() {
    let runs: Vec<Summary> = common::family(&["expresspass", "dctcp"], &["0.2", "0.8"], 5)
        .iter()
        .map(Summary::of)
        .collect();
    let runs: Vec<&Summary> = runs.iter().collect();
    let comparison = compare::Comparison::of(&runs);
    assert_eq!(comparison.varied, ["workload.load"]);
    assert_eq!(comparison.groups.len(), 4);
    for group in &comparison.groups {
        assert_eq!(group.seeds, [1, 2, 3, 4, 5]);
        let interval = group.figures[0].over_seeds.unwrap();
        assert!(
            interval.bootstrap && interval.low <= interval.mean && interval.mean <= interval.high
        );
    }
    let shown = compare::text(&runs, Style::PLAIN);
    let titles: Vec<&str> = shown
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .take(3)
        .collect();
    assert_eq!(titles, ["load", "transport", "seeds"]);
    assert!(
        shown.contains('±') && shown.contains("95% bootstrap interval"),
        "{shown}"
    );
    let painted = compare::text(
        &runs,
        Style {
            width: 200,
            colour: true,
        },
    );
    let best = |line: usize| painted.lines().nth(line).unwrap().contains("\x1b[32m");
    assert!(
        best(2) && !best(3),
        "the faster of two rivals is green:\n{painted}"
    );
}

#[test]
fn a_comparison_of_nothing_or_of_one_run_is_no_failure() {
    assert!(compare::html(&[], "").contains("Nothing to compare."));
    let run = Summary::of(&common::long_flows());
    let shown = compare::text(&[&run], Style::PLAIN);
    assert!(
        shown.contains("expresspass+aeolus") && !shown.contains('±'),
        "{shown}"
    );
    assert!(compare::html(&[&run], "").contains("No message has a completion time"));
}

#[test]
fn a_title_keeps_only_what_is_true_of_all_runs() {
    let (mut a, mut b) = (
        Summary::of(&common::incast()),
        Summary::of(&common::incast()),
    );
    a.title = "load 0.5, 10 Gb/s, star".into();
    b.title = "load 0.8, 10 Gb/s, star".into();
    assert!(table::header(&[&a, &b], Style::PLAIN).contains("incast  10 Gb/s, star     seed 1"));
}

#[test]
fn runs_that_differ_in_something_unnamed_are_not_averaged_in_silence() {
    let mut runs: Vec<Summary> = common::family(&["expresspass"], &["0.2", "0.8"], 2)
        .iter()
        .map(Summary::of)
        .collect();
    let honest = compare::text(&runs.iter().collect::<Vec<_>>(), Style::PLAIN);
    assert!(!honest.contains("warning"), "{honest}");
    for run in &mut runs {
        run.settings.clear();
    }
    let runs: Vec<&Summary> = runs.iter().collect();
    assert!(compare::text(&runs, Style::PLAIN).contains("warning: some runs have one transport"));
    assert!(compare::html(&runs, "").contains("means mix them"));
}
