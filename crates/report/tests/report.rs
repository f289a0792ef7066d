//! The report as a file: whole, small, and with every number.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

#[path = "../../results/tests/common/mod.rs"]
mod common;

use results::{RunRecord, Summary, Threshold, human};
use units::{Bytes, Rate, Span};

fn html(run: &RunRecord) -> (String, Summary) {
    let summary = Summary::of(run);
    let verdict = Threshold::parse("fct.p99", "< 2ms")
        .unwrap()
        .judge(&summary);
    (report::of_run(run, &summary, &[verdict]), summary)
}

/// Text as a reader sees it: without style, script and tags.
fn words(html: &str) -> String {
    let mut out = String::new();
    let body = html.split_once("<body>").unwrap().1;
    let body = body.split_once("<script").unwrap().0;
    for (i, part) in body.split('<').enumerate() {
        out.push_str(if i == 0 {
            part
        } else {
            part.split_once('>').unwrap().1
        });
        out.push(' ');
    }
    for (code, c) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ] {
        out = out.replace(code, c);
    }
    out.replace('\u{a0}', " ")
}

/// Elements that close themselves.
const VOID: [&str; 6] = ["meta", "link", "path", "br", "input", "!doctype"];

/// Panics unless every element is closed in order and every attribute is quoted.
fn check_well_formed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some((_, tail)) = rest.split_once('<') {
        let (tag, after) = tail.split_once('>').expect("every tag ends");
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        assert!(
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!'),
            "<{tag}>"
        );
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
        assert!(
            tag.matches('"').count().is_multiple_of(2),
            "quotes in <{tag}>"
        );
        rest = match name {
            "script" | "style" if !tag.starts_with('/') => {
                let end = after.find(&format!("</{name}>")).expect("scripts end");
                &after[end..]
            }
            _ => after,
        };
    }
    assert_eq!(open, Vec::<&str>::new(), "everything is closed");
}

#[test]
fn a_report_is_well_formed_and_asks_nothing_of_the_network() {
    for run in [
        common::incast(),
        common::mixed(2_000),
        common::cut_off(2_000),
        common::long_flows(),
    ] {
        let (html, _) = html(&run);
        check_well_formed(&html);
        for asks in [
            "http://", "https://", "url(", "@import", " src=", "fetch(", "XMLHttp",
        ] {
            // The namespace of the icon is a name, not an address.
            let html = html.replace("http://www.w3.org/2000/svg", "");
            assert!(!html.contains(asks), "{asks}");
        }
        assert!(
            html.contains("default-src 'none'"),
            "and the browser would refuse"
        );
    }
}

#[test]
fn the_first_lines_name_the_slowest_message() {
    let (html, summary) = html(&common::mixed(500));
    let slow = &summary.slowest[0];
    let words = words(&html);
    let top = words.split("Median completion").next().unwrap();
    assert!(top.contains(&format!("message {}", slow.message)), "{top}");
    assert!(top.contains(&human::time(Span(slow.fct_ps.value))), "{top}");
    assert!(
        top.contains(&format!("from h{} to h{}", slow.src, slow.dst)),
        "{top}"
    );
}

#[test]
fn a_run_that_its_scenario_ends_before_its_messages_says_so_and_claims_no_more() {
    let mut run = common::incast();
    let ends: Vec<_> = run.flows.iter().filter_map(|flow| flow.end).collect();
    // The first five finish; the run was asked to end there, so it is complete all the same.
    run.end = ends[4] + Span::us(1);
    for flow in run.flows.iter_mut().skip(5) {
        flow.end = None;
    }
    let (html, summary) = html(&run);
    assert_eq!(
        (summary.status.as_str(), summary.all().unfinished),
        ("complete", 59)
    );
    assert!(!html.contains("chip good\">complete"), "it looks done");
    assert!(html.contains("chip warn\">59 of 64 unfinished"), "{html}");
    let words = words(&html);
    let took = human::time(run.end.since(units::Time::ZERO));
    for told in [
        "59 of 64 messages did not finish.".to_owned(),
        format!("The slowest so far by slowdown took at least {took}: at least "),
        format!("sent at 0 s. More than half of the messages take {took} or more. "),
        format!("More than half of the messages take {took} or more. The curves end below"),
        format!("p50 ≥ {took}"),
        "they enter every figure marked ≥ with the time".to_owned(),
        format!("p99 ≥ {took}"),
    ] {
        assert!(words.contains(&told), "{told}");
    }
    for wrong in [
        " or less",
        "finish within",
        "stay within",
        "within at least",
    ] {
        assert!(!words.contains(wrong), "{wrong}");
    }
}

#[test]
fn every_number_of_the_summary_stands_in_the_report() {
    let run = common::mixed(2_000);
    let (html, summary) = html(&run);
    let words = words(&html);
    let mut expected = vec![
        human::bytes(Bytes(summary.queue_max.as_ref().unwrap().bytes)),
        human::rate(Rate(summary.goodput.unwrap().bps)),
        human::ratio(summary.fairness.unwrap()),
        human::count(summary.credits.sent),
        human::count(summary.credits.wasted),
        human::percent(summary.credits.waste.unwrap()),
        summary.fingerprint.clone(),
        run.command.clone(),
        "5.18 Gb/s".into(),
    ];
    for bin in summary.sizes.iter().filter(|bin| bin.messages > 0) {
        let (times, slow) = (bin.fct_ps.unwrap(), bin.slowdown.unwrap());
        expected.push(human::count(bin.messages));
        for figure in [
            times.mean, times.p50, times.p90, times.p95, times.p99, times.p999, times.max,
        ] {
            expected.push(human::time(Span(figure.value)));
        }
        for figure in [slow.mean, slow.p50, slow.p95, slow.p99, slow.max] {
            expected.push(human::ratio(figure.value));
        }
    }
    for (reason, n) in summary.drops.by_reason.iter().filter(|&(_, &n)| n > 0) {
        expected.push(format!("{reason} {}", human::count(*n)));
    }
    for group in &summary.links {
        expected.push(group.name.clone());
        expected.push(human::percent(group.utilisation_mean));
    }
    for slow in &summary.slowest {
        expected.push(human::time(Span(slow.fct_ps.value)));
    }
    for text in expected {
        assert!(words.contains(&text), "{text} is missing");
    }
    let json = html
        .split_once("id=\"data\">")
        .unwrap()
        .1
        .split_once("</script>")
        .unwrap()
        .0;
    let back: Summary = serde_json::from_str(json).unwrap();
    assert_eq!(back, summary, "and all of them for machines");
}

#[test]
fn text_from_outside_is_no_markup() {
    let mut run = common::incast();
    run.title = "<script>alert(1)</script> & \"quotes\"".into();
    run.tags = vec!["</table><b>".into()];
    run.ports[1].to = "h0\"><i>".into();
    run.warnings.push("</script><script>".into());
    let (html, _) = html(&run);
    check_well_formed(&html);
    assert!(!html.contains("<script>alert") && !html.contains("</table><b>"));
    assert!(html.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_large_run_stays_below_a_megabyte() {
    let run = common::mixed(100_000);
    assert!(run.port_series.len() > 300_000, "{}", run.port_series.len());
    let (html, _) = html(&run);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    let mut long = common::incast();
    long.scenario_toml = "# a line of a very long scenario\n".repeat(100_000);
    let (html, _) = self::html(&long);
    assert!(
        html.len() < 1_000_000 && html.contains("resolved.toml"),
        "{} bytes",
        html.len()
    );
}

#[test]
fn a_comparison_is_well_formed_and_small() {
    for seeds in [1, 5] {
        let runs: Vec<Summary> = common::family(
            &["expresspass", "homa", "dctcp"],
            &["0.2", "0.5", "0.8"],
            seeds,
        )
        .iter()
        .map(Summary::of)
        .collect();
        let details = report::Details {
            link: "a/report.html".into(),
            ..report::Details::default()
        };
        let html = report::of_runs(
            &runs.iter().collect::<Vec<_>>(),
            &[details],
            "tidegate compare x",
            0,
        );
        check_well_formed(&html);
        assert!(html.len() < 1_000_000, "{} bytes", html.len());
        let words = words(&html);
        assert!(words.contains("At load 0.8, the"), "{words}");
        assert!(words.contains("One list of messages for all"), "{words}");
        assert!(words.contains("000000000000feed"), "{words}");
        assert!(words.contains("no. 2"), "{words}");
        for run in &runs {
            assert!(words.contains(&run.fingerprint));
        }
    }
}

#[test]
fn a_comparison_draws_no_queue_after_the_end_of_a_run() {
    let runs = common::family(&["expresspass", "dctcp"], &["0.5"], 1);
    let summaries: Vec<Summary> = runs.iter().map(Summary::of).collect();
    let details = |(i, run): (usize, &RunRecord)| {
        let mut curves = results::Curves::of(run, &summaries[i]);
        curves.queue = Some(results::QueueCurve {
            from_ps: 0,
            until_ps: if i == 0 { 999_999 } else { 499_999 },
            most: vec![50_000; 100],
        });
        report::Details {
            curves: Some(curves),
            ..report::Details::default()
        }
    };
    let details: Vec<_> = runs.iter().enumerate().map(details).collect();
    let page = report::of_runs(&summaries.iter().collect::<Vec<_>>(), &details, "x", 0);
    let queues = page.split_once("id=\"queues\"").unwrap().1;
    let last = |name: &str| -> u32 {
        let path = queues
            .split_once(&format!("data-name=\"{name}\""))
            .unwrap()
            .1;
        let path = path
            .split_once("d=\"")
            .unwrap()
            .1
            .split('"')
            .next()
            .unwrap();
        let point = path.rsplit('L').next().unwrap();
        point.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(last("expresspass") > 990 && last("dctcp") < 510);
}

#[test]
fn a_comparison_says_with_a_cross_that_not_all_thresholds_hold() {
    let runs = common::family(&["expresspass", "dctcp"], &["0.5"], 1);
    let summaries: Vec<Summary> = runs.iter().map(Summary::of).collect();
    let page = |first: bool| {
        let details = |passed: bool| report::Details {
            verdicts: vec![results::Verdict {
                key: "slowdown.p99".into(),
                condition: "< 20".into(),
                measured: "25.3".into(),
                passed,
            }],
            ..report::Details::default()
        };
        let details = [details(first), details(true)];
        report::of_runs(&summaries.iter().collect::<Vec<_>>(), &details, "x", 0)
    };
    let (missed, held) = (words(&page(false)), words(&page(true)));
    assert!(missed.contains("✗ 1 of 2 thresholds hold"), "{missed}");
    assert!(
        missed.contains("expresspass load=0.5 seed 1: slowdown.p99 < 20")
            || missed.contains("expresspass seed 1: slowdown.p99"),
        "{missed}"
    );
    assert!(
        held.contains("✓ 2 of 2 thresholds hold") && !held.contains('✗'),
        "{held}"
    );
}

#[test]
fn a_comparison_draws_each_message_where_its_time_lies() {
    let runs = common::family(&["expresspass", "dctcp"], &["0.5"], 1);
    let summaries: Vec<Summary> = runs.iter().map(Summary::of).collect();
    let details = |(run, summary): (&RunRecord, &Summary)| report::Details {
        link: format!("{}/report.html", summary.fingerprint),
        curves: Some(results::Curves::of(run, summary)),
        ..report::Details::default()
    };
    let details: Vec<_> = runs.iter().zip(&summaries).map(details).collect();
    let page = report::of_runs(&summaries.iter().collect::<Vec<_>>(), &details, "x", 0);
    check_well_formed(&page);
    // The least of all is of the idle network, the greatest of the slower of the two.
    let ideals = || runs[0].flows.iter().map(|flow| flow.ideal.0);
    let took = |run: &RunRecord| -> Vec<u64> {
        let took = |flow: &results::FlowRow| flow.end.unwrap().since(flow.start.unwrap()).0;
        let mut all: Vec<u64> = run.flows.iter().map(took).collect();
        all.sort_unstable();
        all
    };
    let low = ideals().min().unwrap() as f64;
    let high = runs.iter().flat_map(took).max().unwrap() as f64;
    for run in &runs {
        // Of 400 messages the 200th is the median, by nearest rank.
        let (median, last) = (took(run)[199] as f64, took(run)[399] as f64);
        for (value, y) in [(median, 500), (last, 0)] {
            let x = format!("{:.0}", (value / low).ln() / (high / low).ln() * 1e3);
            assert!(page.contains(&format!("L{x} {y}")), "{x} {y}");
        }
        let link = format!("<a href=\"{:016x}/report.html\">1</a>", run.fingerprint);
        assert!(page.contains(&link), "{link}");
    }
    let p99 = |i: usize| human::ratio(summaries[i].all().slowdown.unwrap().p99.value);
    for part in [
        format!("<dt>expresspass</dt><dd>{} ×", p99(0)),
        format!("<dt>dctcp</dt><dd>{} ×", p99(1)),
        "Dashed: an idle network, 1.00.".into(),
        "At most: expresspass ".into(),
    ] {
        assert!(page.contains(&part), "{part}");
    }
    let ideal = {
        let mut all: Vec<u64> = ideals().collect();
        all.sort_unstable();
        human::time(Span(all[199]))
    };
    assert!(
        page.contains(&format!("Dashed: an idle network, {ideal}.")),
        "{ideal}"
    );
}

/// A number of the page as a place in a list.
fn place(number: &serde_json::Value) -> usize {
    usize::try_from(number.as_u64().unwrap()).unwrap()
}

/// What the drawing of the network shows.
fn moving(html: &str) -> serde_json::Value {
    let data = html.split_once("id=\"moving\">").unwrap().1;
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_drawing_has_every_cable_and_what_each_port_held() {
    let run = common::mixed(500);
    let moving = moving(&html(&run).0);
    let (nodes, cables) = (&moving["network"]["nodes"], &moving["network"]["cables"]);
    assert_eq!(
        (
            nodes.as_array().unwrap().len(),
            cables.as_array().unwrap().len()
        ),
        (17, 16)
    );
    let ends: Vec<u64> = serde_json::from_value(moving["motion"]["ends_ps"].clone()).unwrap();
    for (link, port) in moving["motion"]["ports"].as_object().unwrap() {
        let [queue, used]: [Vec<u64>; 2] = serde_json::from_value(port.clone()).unwrap();
        assert_eq!((queue.len(), used.len()), (ends.len(), ends.len()));
        let link: usize = link.parse().unwrap();
        let sampled = run
            .port_series
            .iter()
            .filter(|row| row.link as usize == link);
        assert_eq!(
            queue.iter().max(),
            sampled.map(|row| row.queue).max().as_ref()
        );
        // Link 2n is the way from the first node of cable n to the second.
        let [a, b] = [0, 1].map(|end| place(&cables[link / 2][end]));
        let (from, to) = if link.is_multiple_of(2) {
            (a, b)
        } else {
            (b, a)
        };
        assert_eq!(nodes[from][0], run.ports[link].from.as_str());
        assert_eq!(nodes[to][0], run.ports[link].to.as_str());
    }
    let first = &moving["messages"][0];
    let flow = &run.flows[0];
    let name = |end: usize| nodes[place(&first[end])][0].clone();
    assert_eq!(
        (name(1), name(2)),
        (run.host(flow.src).into(), run.host(flow.dst).into())
    );
    assert_eq!(
        (&first[4], &first[5]),
        (&flow.start.unwrap().0.into(), &flow.end.unwrap().0.into())
    );
}

#[test]
fn a_run_without_samples_says_what_would_let_it_move() {
    let mut run = common::mixed(100);
    run.port_series.clear();
    let (html, _) = html(&run);
    assert!(moving(&html)["motion"].is_null());
    let every = words(&html);
    let every = every.split("--set output.every=").nth(1).expect("a time");
    let every: Span = every.split(',').next().unwrap().parse().unwrap();
    let times = run.end.0 / every.0;
    assert!((10..=1_000).contains(&times), "{times} samples");
}

#[test]
fn a_group_stands_with_its_last_byte_and_its_stragglers_near_the_top() {
    let mut run = common::mixed(400);
    // The last of one group has not ended.
    let last = run.flows.iter().rposition(|flow| flow.tag == 1).unwrap();
    run.flows[last].end = None;
    let (page, summary) = html(&run);
    check_well_formed(&page);
    let at = |id: &str| page.find(&format!("id=\"{id}\"")).unwrap();
    assert!(at("groups") < at("completion") && at("completion") < at("motion"));
    let section = &page[at("groups")..at("completion")];
    assert_eq!(summary.tags.len(), 2);
    for (number, of) in (0u16..).zip(&summary.tags) {
        let own = || run.flows.iter().filter(|flow| flow.tag == number);
        let start = own().filter_map(|flow| flow.start).min().unwrap();
        let mut ends: Vec<_> = own().filter_map(|flow| flow.end).collect();
        ends.sort_unstable();
        let half = ends[(own().count() - 1) / 2].since(start);
        let bound = if of.unfinished > 0 { "≥ " } else { "" };
        let slow = of.slowdown.unwrap();
        let row = format!(
            "<td>{}</td><td>{}</td><td>{bound}{}</td>",
            human::count(of.messages),
            of.unfinished,
            human::time(Span(of.took_ps.value)),
        );
        assert!(section.contains(&row), "{row} {section}");
        let row = format!(
            "<td>{}</td><td>{bound}{}</td><td>{}</td>",
            human::time(half),
            human::count(of.stragglers),
            human::ratio(slow.p50.value),
        );
        assert!(section.contains(&row), "{row} {section}");
    }
    assert!(section.contains("incast, &quot;small&quot;"), "{section}");
    assert!(section.contains(", some missing at "), "{section}");
    // Without a tag there is no group.
    run.tags = vec![model::UNTAGGED.into()];
    run.flows.iter_mut().for_each(|flow| flow.tag = 0);
    assert!(!html(&run).0.contains("id=\"groups\""));
}

#[test]
fn of_many_groups_the_slowest_come_first() {
    let mut run = common::mixed(400);
    run.tags = (0..40).map(|tag| format!("job{tag}")).collect();
    for (i, flow) in run.flows.iter_mut().enumerate() {
        flow.tag = u16::try_from(i % 40).unwrap();
    }
    let last = run.flows.iter().rposition(|flow| flow.tag == 33).unwrap();
    run.flows[last].end = None;
    let (page, _) = html(&run);
    let section = page.split_once("id=\"groups\"").unwrap().1;
    assert!(section.contains("The slowest at the 99th percentile come first."));
    let first = section.split_once("<tbody>").unwrap().1;
    let first = first.split_once("<td>").unwrap().1;
    assert!(
        first.starts_with("job33</td>"),
        "what is missing: {}",
        &first[..20]
    );
}
