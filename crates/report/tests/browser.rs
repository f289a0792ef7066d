//! Reports in a real browser: narrow and wide, light and dark.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

#[path = "../../results/tests/common/mod.rs"]
mod common;

use report::{Cut, Dot, Figure, Mark, Panel, Scale, Series};
use results::{RunRecord, Summary, Threshold};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of the browser, as distributions package it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// A phone, half a window, and a window on a desk.
const WIDTHS: [u32; 3] = [400, 900, 1400];

/// Looks at the page from inside and tells the page around it what is wrong.
const PROBE: &str = include_str!("probe.html");

fn browser() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths)
        .flat_map(|dir| BROWSERS.map(|name| dir.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!ci, "CI needs a browser: apt-get install chromium");
        eprintln!(
            "skipped {}: no chromium; apt-get install chromium",
            module_path!()
        );
    }
    found
}

/// A page that shows the report in frames of both widths and writes down what they tell.
fn wrapper(report: &str) -> String {
    let frames: String = WIDTHS
        .map(|width| {
            format!("<iframe src=\"{report}\" style=\"width:{width}px;height:4200px\"></iframe>")
        })
        .concat();
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\
         <style>body{{margin:0;display:flex;gap:20px}}iframe{{border:0;flex:none}}</style>\
         <script>addEventListener('message', (event) => {{\
         const line = document.createElement('pre');\
         line.textContent = 'told ' + JSON.stringify(event.data);\
         line.style.display = 'none';\
         document.body.append(line);}});</script>{frames}"
    )
}

/// What the frames told, as JSON, and what the console said.
fn look(
    browser: &Path,
    page: &Path,
    dark: bool,
    shot: &Path,
) -> (Vec<serde_json::Value>, Vec<String>) {
    let profile = page.with_extension(if dark {
        "dark-profile"
    } else {
        "light-profile"
    });
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--window-size=2740,4200",
        ])
        .args([
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=4000",
            "--dump-dom",
        ])
        .arg(format!(
            "--blink-settings=preferredColorScheme={}",
            u8::from(!dark)
        ))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--screenshot={}", shot.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let console = text(&output.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect();
    let told = text(&output.stdout)
        .split("<pre")
        .filter_map(|part| {
            let json = part.split_once("told ")?.1.split_once("</pre>")?.0;
            let json = json
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
            serde_json::from_str(&json).ok()
        })
        .collect();
    (told, console)
}

fn check(browser: &Path, name: &str, html: &str, charts_min: u64, dark_too: bool) {
    let dir = common::directory(&format!("browser-{name}"));
    fs::create_dir_all(&dir).unwrap();
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    fs::create_dir_all(&shots).unwrap();
    let shots = shots.canonicalize().unwrap();
    fs::write(
        dir.join("report.html"),
        html.replace("</body>", &format!("{PROBE}</body>")),
    )
    .unwrap();
    let page = dir.join("page.html");
    fs::write(&page, wrapper("report.html")).unwrap();
    // A browser takes seconds to start, so the dark scheme is tried on what has all kinds of charts.
    let schemes = [(false, "light"), (true, "dark")];
    for (dark, scheme) in &schemes[..if dark_too { 2 } else { 1 }] {
        let dark = *dark;
        let shot = shots.join(format!("{name}-{scheme}.png"));
        let (told, console) = look(browser, &page, dark, &shot);
        assert_eq!(
            console,
            Vec::<String>::new(),
            "{name} {scheme}: the console is silent"
        );
        assert_eq!(
            told.len(),
            WIDTHS.len(),
            "{name} {scheme}: every frame tells: {told:?}"
        );
        for told in told {
            let width = &told["width"];
            assert!(WIDTHS.iter().any(|w| width == w), "{name}: {width} wide");
            assert_eq!(
                told["problems"],
                serde_json::json!([]),
                "{name} {scheme} {width}"
            );
            assert_eq!(told["dark"], dark, "{name}: follows the scheme");
            assert!(
                told["charts"].as_u64() >= Some(charts_min),
                "{name}: {}",
                told["charts"]
            );
        }
        assert!(shot.is_file(), "{} was taken", shot.display());
    }
}

fn report_of(run: &RunRecord) -> String {
    let summary = Summary::of(run);
    let verdicts: Vec<_> = [
        ("fct.p99", "< 2ms"),
        ("drops.scheduled", "== 0"),
        ("slowdown.p99", "< 10"),
    ]
    .iter()
    .map(|(key, text)| Threshold::parse(key, text).unwrap().judge(&summary))
    .collect();
    report::of_run(run, &summary, &verdicts)
}

#[test]
fn the_first_screen_leads_to_the_slowest_messages_packets() {
    let Some(browser) = browser() else { return };
    for (kind, name) in [("expresspass", "why-credits"), ("dctcp", "why-windows")] {
        let sets = [
            "workload.senders=48".to_owned(),
            format!("transport.kind={kind}"),
        ];
        let request = scenario::Request {
            from: "incast",
            sets: &sets,
        };
        let run = scenario::load(&request)
            .and_then(scenario::Scenario::assemble)
            .unwrap();
        let mut record = run
            .run(1, "tidegate run incast", &mut scenario::Alone)
            .unwrap();
        let mut summary = Summary::of(&record);
        run.explain_slowest(&mut record, &mut summary, None, 1, &mut scenario::Alone);
        assert!(record.why.len() > 1, "several messages are explained");
        let html = report_of(&record);
        assert!(html.len() < 1_000_000, "{} bytes", html.len());
        check(&browser, name, &html, 6, true);
    }
}

#[test]
fn a_report_draws_every_chart_in_every_window() {
    let Some(browser) = browser() else { return };
    check(&browser, "incast", &report_of(&common::incast()), 6, true);
    check(
        &browser,
        "mixed",
        &report_of(&common::mixed(3_000)),
        7,
        true,
    );
    check(
        &browser,
        "cut-off",
        &report_of(&common::cut_off(3_000)),
        7,
        true,
    );
    // Groups at different times, of which one is not there at the end.
    let mut groups = common::mixed(2_000);
    groups.tags = vec!["all-reduce".into(), "rpc".into(), "checkpoint".into()];
    for (i, flow) in groups.flows.iter_mut().enumerate() {
        flow.tag = u16::try_from(i * 3 / 2_000).unwrap();
    }
    groups.flows[1_990].end = None;
    let html = report_of(&groups);
    assert!(html.contains("bar when") && html.contains("some still missing"));
    check(&browser, "groups", &html, 8, true);
    // More groups than a page shows at once.
    groups.tags = (0..60).map(|tag| format!("job-{tag}")).collect();
    for (i, flow) in groups.flows.iter_mut().enumerate() {
        flow.tag = u16::try_from(i % 60).unwrap();
    }
    check(&browser, "many-groups", &report_of(&groups), 8, true);
    check(
        &browser,
        "long-flows",
        &report_of(&common::long_flows()),
        1,
        false,
    );
}

#[test]
fn a_comparison_draws_every_chart_in_every_window() {
    let Some(browser) = browser() else { return };
    let compared = |loads: &[&str], seeds: u64| {
        let transports = ["expresspass+aeolus", "expresspass", "dctcp"];
        let records = common::family(&transports, loads, seeds);
        let runs: Vec<Summary> = records.iter().map(Summary::of).collect();
        let details = |(record, summary): (&RunRecord, &Summary)| report::Details {
            link: format!("{}/report.html", summary.fingerprint),
            curves: Some(results::Curves::of(record, summary)),
            ..report::Details::default()
        };
        let details: Vec<_> = records.iter().zip(&runs).map(details).collect();
        report::of_runs(
            &runs.iter().collect::<Vec<_>>(),
            &details,
            "tidegate compare web-search",
            0,
        )
    };
    check(
        &browser,
        "compare-loads",
        &compared(&["0.2", "0.5", "0.8"], 5),
        9,
        true,
    );
    check(
        &browser,
        "compare-transports",
        &compared(&["0.5"], 2),
        9,
        false,
    );
}

/// Bars and curves, with intervals, a logarithmic axis, and what others published.
fn figure() -> Figure {
    let dots = |ys: &[f64], first: f64, step: f64| -> Vec<Dot> {
        let dot = |(i, &y): (usize, &f64)| Dot {
            low: y * 0.9,
            high: y * 1.1,
            ..Dot::exact(first + step * i as f64, y)
        };
        ys.iter().enumerate().map(dot).collect()
    };
    let scale = |title: &str, log: bool| Scale {
        title: title.into(),
        log,
        ..Scale::default()
    };
    let names = ["Web Server", "Cache Follower", "Web Search", "Data Mining"];
    let series = |name: &str, dots: Vec<Dot>, given: Vec<Dot>| Series {
        name: name.into(),
        dots,
        by: if given.is_empty() { "" } else { "published" }.into(),
        given,
        ..Series::default()
    };
    let bars = Panel {
        title: "Mean".into(),
        x: Scale {
            names: names.map(str::to_owned).to_vec(),
            ..scale("workload", false)
        },
        y: scale("mean FCT (us)", true),
        series: vec![
            series(
                "ExpressPass",
                dots(&[86.6, 76.7, 84.8, 78.8], 0.5, 1.0),
                Vec::new(),
            ),
            series(
                "Aeolus",
                dots(&[52.1, 37.3, 67.1, 29.3], 0.5, 1.0),
                dots(&[50.0], 0.5, 1.0),
            ),
        ],
        ..Panel::default()
    };
    let curves = Panel {
        title: "Distribution <of> a thing".into(),
        x: scale("flows", true),
        y: Scale {
            to: Some(1.0),
            ..scale("share", false)
        },
        series: vec![series(
            "all & some",
            dots(&[0.1, 0.4, 0.8], 1.0, 31.5),
            dots(&[0.2], 1.0, 1.0),
        )],
        ..Panel::default()
    };
    Figure {
        name: "made-up".into(),
        source: "paper Fig. 9".into(),
        title: "Flows up to 100 KB on four workloads".into(),
        verdict: "3 of 3 directions hold; the paper's 56 % less is 47 % here.".into(),
        command: "tidegate reproduce made-up".into(),
        panels: vec![bars, curves],
        ..Figure::default()
    }
}

#[test]
fn a_figure_draws_bars_curves_and_what_is_published() {
    let figure = figure();
    let page = figure.page();
    for (part, count) in [
        ("path class=\"box", 8),
        ("path class=\"hole c", 2),
        ("path class=\"spread\"", 3),
    ] {
        assert_eq!(page.matches(part).count(), count, "{part}");
    }
    assert!(
        page.contains("Distribution &lt;of&gt; a thing") && page.contains("56\u{a0}% less is 47")
    );
    // The bar of the smallest value has some length on a logarithmic axis, and half of it lies above.
    assert!(
        page.contains("<title>Aeolus: 29.3 (26.4 to 32.2)</title>"),
        "{page}"
    );
    let csv = figure.csv();
    assert_eq!(csv.lines().count(), 1 + 8 + 1 + 3 + 1, "{csv}");
    assert!(
        csv.contains("\"Mean\",\"Aeolus\",\"Web Server\",50,45,55,,,\"published\""),
        "{csv}"
    );
    let svg = figure.svg();
    for text in [page.as_str(), &svg] {
        // Where there is no zero, a bar's length is no measure, and the axis says so.
        assert_eq!(
            text.matches("mean FCT (us), log scale; bars begin at 8.79")
                .count(),
            1,
            "{text}"
        );
    }
    assert_eq!(svg.matches("class=\"o c").count(), 2, "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    for text in [page.as_str(), &svg] {
        assert!(!text.contains("quick"), "it was run in full");
    }
    let Some(browser) = browser() else { return };
    check(&browser, "figure", &page, 2, false);
    // The picture is one that a browser reads, and is drawn to its edges.
    let svg = svg.replace('"', "'").replace('#', "%23").replace('\n', "");
    assert!(
        svg.starts_with("<svg xmlns='http://www.w3.org/2000/svg'"),
        "{svg}"
    );
}

/// Of three seeds that end far apart the axis shows what most messages took, and the file has all.
#[test]
fn a_distribution_shows_its_seeds_and_ends_before_its_last_message() {
    let mut figure = figure();
    let panel = &mut figure.panels[1];
    panel.x.log = false;
    panel.series[0].dots = [(1.0, 0.0), (2.0, 0.5), (3.0, 0.99), (900.0, 1.0)]
        .map(|(x, y)| Dot::exact(x, y))
        .to_vec();
    panel.series[0].band = vec![(0.0, 0.9, 1.1), (0.5, 1.5, 2.5), (0.99, 2.0, 2.9)];
    panel.cut = Some(Cut {
        x: 3.0,
        share: 0.99,
    });
    figure.notes = vec!["Three seeds; ours alone.".into()];
    let (page, svg) = (figure.page(), figure.svg());
    assert!(page.contains("path class=\"band c0\"") && svg.contains("path class=\"w c0\""));
    let second = page.split_once("Distribution &lt;of&gt;").unwrap().1;
    assert!(second.contains("data-x=\"0,3,lin"), "{second}");
    assert!(figure.csv().contains(",900,1,1,1,"), "{}", figure.csv());
    assert!(svg.contains("ours alone."), "{svg}");
}

/// A dot of ours lies on the larger one of others, which would hide it: in the picture and in the page.
#[test]
fn two_dots_of_one_place_are_both_seen() {
    let mut figure = figure();
    figure.panels.remove(0);
    let series = &mut figure.panels[0].series[0];
    series.given.clone_from(&series.dots);
    let svg = figure.svg();
    let radius = |class: &str| {
        let mark = svg
            .find(&format!("class=\"{class} c0\" cx=\"0"))
            .expect(class);
        let (_, rest) = svg[mark..].split_once(" r=\"").expect("a radius");
        let number = rest.split('"').next().expect("a number");
        (mark, number.parse::<f64>().expect("a number"))
    };
    // The line around is 2 px wide.
    let ((below, ring), (above, dot)) = (radius("o"), radius("f"));
    assert!(below < above && ring - 1.0 > dot, "{svg}");
    let page = figure.page();
    let body = &page[page.find("<body>").expect("a body")..];
    let places = ["ring around c0", "hole c0", "line c0", "dots c0"].map(|class| body.find(class));
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{places:?}"
    );
    let wide = |kind: &str| {
        let (_, rest) = page.split_once(kind).expect(kind);
        let (_, rest) = rest.split_once("stroke-width:").expect("a width");
        let end = rest.find(|c: char| !c.is_ascii_digit()).expect("an end");
        rest[..end].parse::<u32>().expect("a number")
    };
    let dots = wide("path.dots{");
    assert!(wide("path.around+path.hole{") > dots && wide("path.around{") > dots + 4);
}

/// What a quick run leaves out stands at the head of the page, in the picture, and over the claims of several.
#[test]
fn a_quick_run_says_that_it_is_one() {
    let mut figure = figure();
    figure.quick = "This is a quick run: one seed of 5.".into();
    figure.head = ["case", "verdict"].map(str::to_owned).to_vec();
    figure.rows = vec![["a", "bound holds"].map(str::to_owned).to_vec()];
    figure.marks = vec![Mark::Holds];
    let page = figure.page().replace('\u{a0}', " ");
    let head = page.split("<figure").next().expect("a head");
    assert!(
        head.contains("<span class=\"chip warn\">quick run</span>"),
        "{head}"
    );
    assert!(
        head.contains("<li>This is a quick run: one seed of 5.</li>"),
        "{head}"
    );
    assert!(
        figure.svg().contains("class=\"q\""),
        "the picture goes around without its page"
    );
    let pages = Figure::pages(&[figure], "all", "what they say", "tidegate reproduce all");
    let pages = pages.replace('\u{a0}', " ");
    let head = pages.split("<figure").next().expect("a head");
    assert!(
        head.contains("In a quick run 1 of 1 claims hold."),
        "{head}"
    );
    assert!(
        pages.contains("workloads. This is a quick run: one seed of 5. 3 of 3"),
        "{pages}"
    );
}

/// Bars stand while their names have room, and lie where words of neighbours would touch; a long title takes two lines.
#[test]
fn many_named_bars_lie_on_their_side_and_a_long_title_is_not_cut() {
    let crowded = |names: usize| {
        let mut figure = figure();
        figure.panels.truncate(1);
        let panel = &mut figure.panels[0];
        panel.x.names = (0..names)
            .map(|i| format!("aquarius, {i} round trips"))
            .collect();
        panel.series.truncate(1);
        panel.series[0].dots = (0..names)
            .map(|i| Dot::exact(i as f64 + 0.5, 50.0))
            .collect();
        figure.title = "Messages alone, incasts and random loads, and many more words ".repeat(2);
        figure.svg()
    };
    let (stands, lies) = (crowded(4), crowded(16));
    for (svg, anchor, other) in [(&stands, "middle", "end"), (&lies, "end", "middle")] {
        let names = |anchor| {
            svg.matches(&format!("text-anchor=\"{anchor}\">aquarius"))
                .count()
        };
        let bars = svg.matches("<path class=\"f c0\"").count();
        assert_eq!((names(anchor), names(other)), (bars, 0), "{svg}");
        assert_eq!(svg.matches("class=\"h\"").count(), 2, "{svg}");
    }
    assert_eq!(
        lies.matches("<path class=\"f c0\" d=\"M0 ").count(),
        16,
        "{lies}"
    );
}

/// What several figures say together: first what holds, then each claim with its mark, and the rest folded.
#[test]
fn several_figures_say_what_holds_before_what_was_measured() {
    let row = |case: &str, verdict: &str| vec![case.to_owned(), verdict.to_owned()];
    let one = |name: &str, rows: &[(&str, &str, Mark)]| Figure {
        name: name.to_owned(),
        head: ["case", "verdict"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(|(case, said, _)| row(case, said)).collect(),
        marks: rows.iter().map(|&(.., mark)| mark).collect(),
        ..figure()
    };
    let figures = [
        one(
            "first",
            &[
                ("a", "bound holds", Mark::Holds),
                ("b", "no public number", Mark::Told),
                ("c", "DIFFERS", Mark::Differs),
            ],
        ),
        one("second", &[("d", "number matches", Mark::Holds)]),
        one("third", &[("e", "no public number", Mark::Told)]),
    ];
    let page = Figure::pages(&figures, "all", "what they say", "tidegate reproduce all");
    assert!(page.contains("2\u{a0}of 3 claims hold."), "{page}");
    let body = &page[page.find("What holds").expect("the first section")..];
    let at = |part: &str| {
        body.find(part)
            .unwrap_or_else(|| panic!("no {part} in {body}"))
    };
    for (part, count) in [
        ("✗", 2),
        ("✓", 3),
        ("1 of 2", 1),
        ("1 of 1", 1),
        ("claims nothing", 1),
    ] {
        assert_eq!(body.matches(part).count(), count, "{part}");
    }
    assert!(at("first: claims") < at("first: numbers without a claim"));
    assert!(!body.contains("second: numbers without") && !body.contains("third: claims"));
    if let Some(browser) = browser() {
        check(&browser, "claims", &page, 6, false);
    }
}
