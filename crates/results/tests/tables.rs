//! What a terminal shows, and what thresholds decide.
//!
//! First one run: its table, which messages count in it, goodput and bins. Then thresholds. Then comparisons: rows, seeds, titles;
//! tags and who wins which; warnings that several runs share. Last hosts and places with names, and runs that were cut off.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use results::compare::METRICS;
use results::{RunRecord, Style, Summary, Threshold, Verdict, compare, metrics, table};
use units::Time;

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
 tag data (64): all in 349 us
 slowest by slowdown: message 63 (h64 -> h0, 64 KB) took 349 us, 37.2 times what an idle network
 takes; the median is 19.4
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
    assert!(summary.broken());
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
fn what_follows_the_last_message_makes_no_line_busier_than_it_can_be() {
    let mut run = common::incast();
    let plain = results::ports_span(&run);
    let (first, last) = results::active(&run).unwrap();
    assert_eq!(plain, last.since(first));
    // Farewells until three times as late, at half the line's rate.
    run.end = first.after(plain.times(3));
    let busiest = run.ports.iter_mut().max_by_key(|port| port.bytes.sum());
    let port = busiest.unwrap();
    port.bytes[model::Class::Control] += port.rate.0 / 8 * plain.0 / 1_000_000_000_000;
    let span = results::ports_span(&run);
    assert_eq!(span, plain.times(3));
    let shares = || {
        run.ports
            .iter()
            .map(|port| results::utilisation(port, span))
    };
    assert!(
        shares().all(|share| share <= 1.0),
        "{:?}",
        shares().collect::<Vec<_>>()
    );
    let summary = Summary::of(&run);
    assert!(
        summary
            .links
            .iter()
            .all(|group| group.utilisation_max <= 1.0)
    );
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
    for metric in &METRICS {
        assert!(
            metrics().iter().any(|key| key == metric.key),
            "{}",
            metric.key
        );
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
        ("drops.data", "= 6", "write it like \"== 6\""),
        ("drops.data", "< -1", "\"-1\" is below 0, and no figure is"),
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
    let best = |line: usize, tail: &str| {
        let line = painted.lines().nth(line).unwrap();
        line.contains(&format!("\x1b[32m{tail}"))
    };
    assert!(
        best(2, "16.0") && !best(3, "16.4"),
        "the faster of two rivals is green:\n{painted}"
    );
}

#[test]
fn a_comparison_of_nothing_or_of_one_run_is_no_failure() {
    assert!(report::of_runs(&[], &[], "", 0).contains("Nothing to compare."));
    let run = Summary::of(&common::long_flows());
    let shown = compare::text(&[&run], Style::PLAIN);
    assert!(
        shown.contains("expresspass+aeolus") && !shown.contains('±'),
        "{shown}"
    );
    assert!(report::of_runs(&[&run], &[], "", 0).contains("No message has a completion time"));
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
    assert!(report::of_runs(&runs, &[], "", 0).contains("means mix them"));
}

/// Text as one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run of two tags, in which `slow` hosts of every second tag take as long as is said.
fn tagged(transport: &str, rpc_us: u64, checkpoint_us: u64) -> Summary {
    Summary::of(&tagged_run(transport, rpc_us, checkpoint_us))
}

fn tagged_run(transport: &str, rpc_us: u64, checkpoint_us: u64) -> RunRecord {
    let mut run = common::mixed(350);
    run.tags = vec!["rpc".into(), "checkpoint".into()];
    for (i, flow) in run.flows.iter_mut().enumerate() {
        let (tag, us) = if i % 14 == 0 {
            (1, checkpoint_us)
        } else {
            (0, rpc_us)
        };
        flow.tag = tag;
        flow.size = 50_000;
        flow.received = 50_000;
        flow.ideal = units::Span::us(10);
        flow.end = flow.start.map(|at| at.after(units::Span::us(us)));
    }
    run.transport = transport.into();
    run.end = run.flows.iter().filter_map(|flow| flow.end).max().unwrap();
    run.fingerprint = rpc_us + 1_000 * checkpoint_us;
    run
}

#[test]
fn a_group_is_judged_by_its_tag() {
    let mut run = tagged_run("dctcp", 80, 405);
    let judge = |run: &RunRecord, key: &str, text: &str| {
        Threshold::parse(key, text)
            .unwrap()
            .judge(&Summary::of(run))
    };
    let rpcs = run.flows.iter().enumerate().filter(|(i, _)| i % 14 != 0);
    let (first, last) = rpcs.fold((u64::MAX, 0), |(first, last), (_, flow)| {
        (
            first.min(flow.start.unwrap().0),
            last.max(flow.end.unwrap().0),
        )
    });
    let took = judge(&run, "tags.rpc.took", "< 1s");
    assert!(took.passed, "{took:?}");
    assert_eq!(
        took.measured,
        results::human::time(units::Span(last - first))
    );
    assert!(judge(&run, "tags.rpc.slowdown.p99", "< 8.1").passed);
    assert!(!judge(&run, "tags.checkpoint.slowdown.p99", "< 8.1").passed);
    assert!(judge(&run, "tags.checkpoint.fct.max", "< 406us, > 404us").passed);
    assert!(judge(&run, "tags.rpc.stragglers", "== 0").passed);
    // One of them takes three times as long, another never ends.
    run.flows[1].end = run.flows[1].start.map(|at| at.after(units::Span::us(240)));
    assert_eq!(judge(&run, "tags.rpc.stragglers", "== 1").measured, "1");
    run.flows[2].end = None;
    run.end = run.end.after(units::Span::us(1_000));
    assert_eq!(judge(&run, "tags.rpc.stragglers", "<= 2").measured, ">= 2");
    assert!(
        !judge(&run, "tags.rpc.took", "< 1s").passed,
        "it is not complete"
    );
    assert!(judge(&run, "tags.rpc.unfinished", "== 1").passed);
    let nobody = judge(&run, "tags.gradients.took", "< 1s");
    assert_eq!(
        (nobody.measured.as_str(), nobody.passed),
        ("nothing", false)
    );
    for wrong in ["tags.took", "tags.rpc.p99", "tags.rpc.fct.p98"] {
        assert!(Threshold::parse(wrong, "< 1").is_err(), "{wrong}");
    }
    let shown = words(&table::text(&[(&Summary::of(&run), &[])], Style::PLAIN));
    assert!(shown.contains("2 stragglers"), "{shown}");
}

#[test]
fn every_tag_has_a_winner_of_its_own() {
    let (even, uneven) = (tagged("expresspass", 100, 400), tagged("dctcp", 80, 812));
    let shown = compare::text(&[&even, &uneven], Style::PLAIN);
    let row = |name: &str| {
        let line = shown
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        words(line.unwrap_or_else(|| panic!("{name}: {shown}")))
    };
    assert_eq!(
        row("p99 slowdown, tag rpc"),
        "p99 slowdown, tag rpc 2. 10.0 1. 8.00 325"
    );
    assert_eq!(
        row("p99 slowdown, tag checkpoint"),
        "p99 slowdown, tag checkpoint 1. 40.0 2. 81.2 25"
    );
    assert!(
        row("last byte of all, tag checkpoint").contains("us"),
        "{shown}"
    );
    let comparison = compare::Comparison::of(&[&even, &uneven]);
    let groups: Vec<_> = comparison.groups.iter().collect();
    let best: Vec<(String, bool, bool)> = compare::part_rows(&groups)
        .iter()
        .map(|row| (row.name.clone(), row.is_best(0), row.is_best(1)))
        .collect();
    assert_eq!(best[0], ("p99 slowdown, tag rpc".into(), false, true));
    assert_eq!(
        best[2],
        ("p99 slowdown, tag checkpoint".into(), true, false)
    );
    let same = compare::part_rows(&[groups[0], groups[0]]);
    assert!(
        same.iter().all(|row| row.best().is_none()),
        "nobody wins a tie"
    );
    let details = ["a/report.html", "b/report.html"].map(|link| report::Details {
        link: link.into(),
        ..report::Details::default()
    });
    let page = report::of_runs(&[&even, &uneven], &details, "", 0);
    for part in [
        "Who is ahead where",
        "<b class=\"best\">8.00</b>",
        "<small>2.03 times</small>",
        "<a href=\"b/report.html\">",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let bounds = page.matches("path class=\"line").count();
    assert!(bounds >= 2, "quantiles of both over each other");
}

#[test]
fn a_winner_that_is_slower_for_one_tag_is_named_with_its_price() {
    // 25 checkpoints of 350 are less than one in ten: the p99 is theirs, the p90 is not.
    let (even, uneven) = (tagged("expresspass", 100, 400), tagged("dctcp", 80, 440));
    let shown = words(&compare::text(&[&even, &uneven], Style::PLAIN));
    assert!(
        shown.contains("The p99 slowdown of expresspass is 9.09% lower than that of dctcp (40.0 against 44.0), but its 325 messages tagged rpc are 1.25 times as slow as under dctcp (slowdown p99 10.0 against 8.00). What else it costs: its median completion takes 1.25 times as long as under dctcp (p50 100 us against 80 us). With one seed"),
        "{shown}"
    );
    // 4 % in one run are level.
    assert!(!shown.contains("last byte of its"), "{shown}");
    let page = report::of_runs(&[&even, &uneven], &[], "", 0);
    assert!(
        page.contains("325 messages tagged rpc are 1.25"),
        "the page says the same"
    );
}

#[test]
fn a_winner_whose_slowest_messages_are_few_pays_for_them() {
    // Three in 350 are hidden from the p99, and the greatest is not.
    let mut run = tagged("dctcp", 80, 90);
    let mut slow = tagged("expresspass", 100, 110);
    for summary in [&mut run, &mut slow] {
        summary.tags.clear();
    }
    run.sizes[0].slowdown.as_mut().unwrap().max.value = 412.8;
    slow.sizes[0].slowdown.as_mut().unwrap().max.value = 40.5;
    let shown = words(&compare::text(&[&slow, &run], Style::PLAIN));
    assert!(
        shown.contains("but its slowest message is 10.2 times as slow as under expresspass (slowdown max 413 against 40.5)"),
        "{shown}"
    );
}

#[test]
fn equal_figures_are_a_tie_and_both_are_best() {
    let runs = [
        tagged("expresspass", 100, 400),
        tagged("expresspass+aeolus", 100, 400),
        tagged("dctcp", 100, 500),
    ];
    let runs: Vec<&Summary> = runs.iter().collect();
    let painted = compare::text(
        &runs,
        Style {
            width: 300,
            colour: true,
        },
    );
    let lines: Vec<&str> = painted.lines().collect();
    assert!(
        lines[2].contains("\x1b[32m40.0") && lines[3].contains("\x1b[32m40.0"),
        "{painted}"
    );
    let shown = words(&compare::text(&runs, Style::PLAIN));
    assert!(
        shown.contains("expresspass and expresspass+aeolus tie at the lowest p99 slowdown: 40.0. dctcp has 50.0."),
        "{shown}"
    );
}

#[test]
fn nobody_wins_with_messages_unfinished_and_nobody_wins_alone() {
    let mut cut = tagged("dctcp", 80, 90);
    cut.sizes[0].slowdown.as_mut().unwrap().p99.at_least = true;
    let whole = tagged("expresspass", 100, 400);
    let shown = words(&compare::text(&[&cut, &whole], Style::PLAIN));
    assert!(
        shown.contains("No transport can be called best: dctcp left messages unfinished"),
        "{shown}"
    );
    // Nobody is left out: not the one that is level with who is named, either.
    let mut level = tagged("homa", 80, 90);
    level.sizes[0].slowdown.as_mut().unwrap().p99.at_least = true;
    let shown = words(&compare::text(&[&cut, &whole, &level], Style::PLAIN));
    for other in ["homa has at least 9.00", "expresspass has 40.0"] {
        assert!(shown.contains(other), "{shown}");
    }
    let mut again = whole.clone();
    again.fingerprint = "of another seed".into();
    let alone = words(&compare::text(&[&whole, &again], Style::PLAIN));
    assert!(
        alone.contains("expresspass has a mean p99 slowdown of 40.0."),
        "{alone}"
    );
}

#[test]
fn tags_and_the_far_tail_stand_beside_the_p99() {
    let summary = tagged("dctcp", 80, 405);
    let shown = table::text(&[(&summary, &[])], Style::PLAIN);
    let head: Vec<&str> = shown.lines().nth(1).unwrap().split("  ").collect();
    let head: Vec<&str> = head
        .iter()
        .map(|name| name.trim())
        .filter(|n| !n.is_empty())
        .collect();
    assert_eq!(
        head[2..7],
        ["p50", "p99", "max", "slowdown p99", "slowdown max"]
    );
    let shown = words(&shown);
    assert!(
        shown.contains("slowdown p50 / p99 / max by tag: rpc (325) 8.00 / 8.00 / 8.00, all in"),
        "{shown}"
    );
    assert!(
        shown.contains("checkpoint (25) 40.5 / 40.5 / 40.5"),
        "{shown}"
    );
    let many = Summary::of(&common::mixed(1_500));
    assert!(table::rows(&[&many], Style::PLAIN).contains("p99.9"));
}

#[test]
fn a_warning_that_many_runs_share_is_said_once_and_alike_everywhere() {
    let mut runs: Vec<Summary> = common::family(&["expresspass", "dctcp"], &["0.2", "0.8"], 5)
        .iter()
        .map(Summary::of)
        .collect();
    for (i, run) in runs.iter_mut().enumerate().filter(|(i, _)| *i >= 10) {
        let text = format!(
            "the backlog grew from {i} KB in the second quarter of the window to 9 MB in the last"
        );
        run.warnings.push(text);
    }
    let runs: Vec<&Summary> = runs.iter().collect();
    let told = compare::warnings(&runs);
    assert_eq!(
        told,
        [
            "the backlog grew in 10 of 20 runs (expresspass at load 0.8, 5 of 5 seeds; dctcp at load 0.8, \
          5 of 5 seeds): the load is above what the transport sustains, or the window is too short for \
          its largest messages"
        ]
    );
    assert!(words(&compare::text(&runs, Style::PLAIN)).contains(&told[0]));
    let page = report::of_runs(&runs, &[], "", 0);
    assert_eq!(page.matches("the backlog grew in").count(), 1);
    assert!(page.contains(&told[0]));
    let some: Vec<(&Summary, &[Verdict])> = runs[9..11].iter().map(|run| (*run, &[][..])).collect();
    assert!(words(&table::notes(&some, Style::PLAIN)).contains("the backlog grew in 1 of 2 runs"));
}

#[test]
fn waste_is_headed_by_what_the_transports_call_a_credit() {
    let mut runs = [1, 2].map(|seed| {
        let mut run = common::incast();
        run.seed = seed;
        run
    });
    (runs[1].transport, runs[1].credit) = ("homa".into(), "grant".into());
    let runs = runs.map(|run| Summary::of(&run));
    let heads = |runs: &[&Summary]| {
        let shown = [
            table::rows(runs, Style::PLAIN),
            compare::text(runs, Style::PLAIN),
        ];
        ["  credit waste", "  grant waste", "  credit/grant waste"]
            .map(|title| shown.iter().filter(|text| text.contains(title)).count())
    };
    assert_eq!(heads(&[&runs[0]]), [2, 0, 0]);
    assert_eq!(heads(&[&runs[1]]), [0, 2, 0]);
    assert_eq!(heads(&[&runs[0], &runs[1]]), [0, 0, 2]);
}

#[test]
fn a_warning_with_numbers_is_said_of_each_transport_and_one_without_differences_of_all() {
    let mut runs: Vec<Summary> = common::family(&["expresspass", "dctcp"], &["0.2"], 2)
        .iter()
        .map(Summary::of)
        .collect();
    for (i, run) in runs.iter_mut().enumerate() {
        run.warnings = vec![
            format!("{i} of 9 messages were lost"),
            "no message counts".into(),
        ];
    }
    let runs: Vec<&Summary> = runs.iter().collect();
    assert_eq!(
        compare::warnings(&runs),
        [
            "0 of 9 messages were lost (2 of 4 runs: expresspass at load 0.2, 2 of 2 seeds; here of \
             expresspass at load 0.2, seed 1)",
            "2 of 9 messages were lost (2 of 4 runs: dctcp at load 0.2, 2 of 2 seeds; here of dctcp at \
             load 0.2, seed 1)",
            "no message counts (4 of 4 runs: expresspass at load 0.2, 2 of 2 seeds; dctcp at load 0.2, 2 \
             of 2 seeds)",
        ]
    );
}

#[test]
fn an_interrupted_comparison_counts_what_is_missing_and_the_seeds_that_are_there() {
    let mut runs: Vec<Summary> = common::family(&["expresspass", "dctcp"], &["0.2"], 3)
        .iter()
        .map(Summary::of)
        .collect();
    runs.truncate(4);
    let runs: Vec<&Summary> = runs.iter().collect();
    let shown = words(&compare::text(&runs, Style::PLAIN));
    assert!(shown.contains("Means over 1 to 3 seeds"), "{shown}");
    let page = report::of_runs(&runs, &[], "", 2);
    assert!(page.contains("interrupted: 4 of 6 runs are done"));
}

#[test]
fn hosts_with_names_are_called_by_them() {
    let mut run = common::incast();
    run.hosts = (0..65).map(|i| format!("gpu{i}")).collect();
    let summary = Summary::of(&run);
    let shown = table::text(&[(&summary, &[])], Style::PLAIN);
    assert!(
        words(&shown).contains("message 63 (gpu64 -> gpu0"),
        "{shown}"
    );
    let page = report::of_run(&run, &summary, &[]);
    let page = page.replace('\u{a0}', " ");
    assert!(page.contains("from gpu64 to gpu0") && !page.contains(">h64</td>"));
}

/// Eight transports at two places: at `calm` the first is fastest, at `rough` the last.
fn world() -> Vec<Summary> {
    let at = |place: &str, i: u64, us: u64| {
        let mut run = tagged(&format!("t{i}"), us, 4 * us);
        run.settings = vec![("traffic".into(), place.into())];
        run.fingerprint = format!("{place}{i}");
        run
    };
    let calm = (0..8).map(|i| at("calm", i, 100 + 10 * i));
    let rough = (0..8).map(|i| at("rough", i, 400 - 40 * i));
    calm.chain(rough).collect()
}

#[test]
fn places_with_names_are_judged_one_by_one() {
    let runs = world();
    let runs: Vec<&Summary> = runs.iter().collect();
    let comparison = compare::Comparison::of(&runs);
    let says = compare::headline(&comparison).unwrap();
    assert_eq!(
        says.claim,
        "Lowest p99 slowdown: t0 at traffic calm; t7 at traffic rough."
    );
    assert!(
        says.more
            .starts_with("At traffic calm, the p99 slowdown of t0 is "),
        "{}",
        says.more
    );
    assert!(
        says.more
            .contains(" At traffic rough, the p99 slowdown of t7 is ")
    );
    assert_eq!(says.more.matches("With one seed").count(), 1);
    // More rivals than fit beside each other: a row for each, and a table for each place; and one of what was lost at both.
    let shown = compare::text(&runs, Style::PLAIN);
    for place in ["calm", "rough"] {
        assert!(shown.contains(&format!("\n traffic {place}: ")), "{shown}");
    }
    assert_eq!(
        shown
            .lines()
            .filter(|line| line.starts_with(" t3 "))
            .count(),
        3,
        "{shown}"
    );
    let last = comparison.groups.last().unwrap();
    let rows = compare::part_rows(&comparison.rivals(last).collect::<Vec<_>>());
    let places: Vec<_> = rows[0].places().into_iter().flatten().collect();
    let places: Vec<String> = places.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["8", "7", "6", "5", "4", "3", "2", "1"]);
    // Numbers are no names: the last is the hardest, and it alone is judged.
    let mut loads = world();
    for (i, run) in loads.iter_mut().enumerate() {
        let load = if i < 8 { "0.5" } else { "0.8" };
        run.settings = vec![("workload.load".into(), load.into())];
    }
    let loads: Vec<&Summary> = loads.iter().collect();
    let says = compare::headline(&compare::Comparison::of(&loads)).unwrap();
    assert!(
        says.claim
            .starts_with("At load 0.8, the p99 slowdown of t7 is "),
        "{}",
        says.claim
    );
    // Where somebody leaves messages unfinished, nobody is named.
    let mut cut = world();
    let unfinished = |dist: &mut results::stats::Dist<f64>| dist.p99.at_least = true;
    cut[15].sizes[0].slowdown.as_mut().map(unfinished);
    let cut: Vec<&Summary> = cut.iter().collect();
    let says = compare::headline(&compare::Comparison::of(&cut)).unwrap();
    assert_eq!(
        says.claim,
        "Lowest p99 slowdown: t0 at traffic calm; nobody for sure at traffic rough."
    );
}

#[test]
fn a_run_that_was_cut_off_claims_no_more_than_it_knows() {
    let mut run = tagged_run("dctcp", 80, 90);
    for flow in &mut run.flows {
        (flow.start, flow.end) = (Some(Time::ZERO), None);
    }
    // After half of the time that an idle network takes a bound on the slowdown says nothing.
    for (us, says) in [
        (5, "took at least 5 us report"),
        (
            20,
            "took at least 20 us, at least 2.00 times what an idle network takes; the median is at least 2.00",
        ),
    ] {
        run.end = Time::ZERO + units::Span::us(us);
        let shown = words(&table::text(&[(&Summary::of(&run), &[])], Style::PLAIN)) + " report";
        let so_far = format!("slowest so far by slowdown: message 0 (h13 -> h6, 50 KB) {says}");
        assert!(shown.contains(&so_far), "{shown}");
    }
}
