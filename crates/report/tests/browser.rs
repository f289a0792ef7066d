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
const PROBE: &str = r#"<script>
addEventListener("load", () => {
  const problems = [], wrong = (text) => problems.push(text);
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong(`scrolls sideways: ${root.scrollWidth} > ${innerWidth}`);
  if (document.querySelector("h1").getBoundingClientRect().bottom > 420) wrong("headline below the first screen");
  if (performance.getEntriesByType("resource").length) wrong("asked the network");
  let charts = 0;
  for (const figure of document.querySelectorAll("figure[data-points]")) {
    charts++;
    const box = figure.getBoundingClientRect();
    let drawn = 0;
    for (const path of figure.querySelectorAll("path.line, path.cell, path.box, path.ring")) {
      if (!path.closest("div").offsetParent) continue;
      const at = path.getBoundingClientRect(), style = getComputedStyle(path);
      const ink = path.matches(".cell, .box") ? style.fill : style.stroke;
      if (ink === "none") wrong(`${figure.id}: a curve without colour`);
      if (at.left < box.left - 2 || at.right > box.right + 2 || at.top < box.top - 2 || at.bottom > box.bottom + 2)
        wrong(`${figure.id}: a curve outside its card`);
      if (path.getTotalLength() > 0 || /h0$/.test(path.getAttribute("d"))) drawn++;
    }
    for (const mark of figure.querySelectorAll(".bar i, .range i, .lane i"))
      if (mark.getBoundingClientRect().width >= 2) drawn++;
    if (!drawn) wrong(`${figure.id}: nothing drawn`);
    for (const axis of figure.querySelectorAll(".xs")) {
      let edge = -Infinity;
      for (const label of axis.children) {
        const at = label.getBoundingClientRect();
        if (!at.width) continue;
        if (at.left < edge + 2) wrong(`${figure.id}: labels touch at "${label.textContent}"`);
        edge = at.right;
      }
    }
  }
  for (const label of document.querySelectorAll(".xs span, .ys span, .marked, .name, .tiles dd, h1, h2")) {
    const at = label.getBoundingClientRect();
    if (at.width && (at.right > innerWidth || at.left < 0)) wrong(`"${label.textContent}" leaves the page`);
  }
  // Every pane is seen once, by its tab, and the others are not.
  for (const list of document.querySelectorAll(".tablist")) {
    const panes = [...list.parentElement.querySelectorAll(".pane")];
    [...list.children].forEach((tab, i) => {
      tab.click();
      const shown = panes.filter((pane) => pane.getBoundingClientRect().height > 0);
      if (shown.length !== 1 || shown[0] !== panes[i] || tab.getAttribute("aria-selected") !== "true") wrong(`tab ${tab.textContent} shows ${shown.length}`);
      if (panes[i].querySelectorAll("path.line").length < 2) wrong(`nothing behind the tab ${tab.textContent}`);
    });
    list.children[0].focus();
    list.children[0].dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
    if (list.lastChild.getAttribute("aria-selected") !== "true") wrong("no way between tabs by keys");
    list.children[0].click();
  }
  // A name in a legend puts its own curve away, and brings it back.
  for (const button of document.querySelectorAll(".legend button")) {
    const colour = button.parentElement.classList[0], chart = button.closest(".legend").nextElementSibling;
    const drawn = () => [...chart.querySelectorAll("." + colour)].filter((mark) => getComputedStyle(mark).display !== "none").length;
    const before = drawn();
    button.click();
    if (!before || drawn() || button.getAttribute("aria-pressed") !== "false") wrong(`"${button.textContent}" puts nothing away`);
    button.click();
    if (drawn() !== before) wrong(`"${button.textContent}" brings nothing back`);
  }
  // A title puts its column in order, by what numbers mean with their units.
  const worth = (text) => parseFloat(text.replace(/[≥,]/g, "")) * ({ns: 1e3, us: 1e6, ms: 1e9, KB: 1e3, MB: 1e6, GB: 1e9}[/[a-zA-Z]+/.exec(text)] || 1);
  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length < 3) continue;
    for (const head of table.tHead.rows[0].cells) {
      const titles = {p99: 1, p50: 1, "max queue": 1, size: 1, "took": 1};
      if (!(head.textContent in titles)) continue;
      const cells = () => [...table.tBodies[0].rows].map((row) => worth(row.cells[head.cellIndex].textContent)), before = cells();
      head.querySelector("button").click();
      if (cells().some((n, i, all) => n < all[i - 1])) wrong(`not in order by ${head.textContent}: ${cells()}`);
      head.querySelector("button").click();
      if (cells().some((n, i, all) => n > all[i - 1]) || head.getAttribute("aria-sort") !== "descending") wrong(`not in reverse by ${head.textContent}`);
      if (cells().sort().join() !== before.sort().join()) wrong("sorting loses rows");
    }
  }
  for (const button of document.querySelectorAll("button"))
    if (!button.textContent.trim() && !button.getAttribute("aria-label")) wrong(`a button without a name: ${button.outerHTML}`);
  for (const input of document.querySelectorAll(".find input")) {
    const rows = [...input.closest("figure").querySelectorAll("tbody tr")];
    input.value = rows[1].cells[0].textContent;
    input.dispatchEvent(new Event("input"));
    const left = rows.filter((row) => row.style.display !== "none");
    if (left.length === rows.length && rows.some((row) => !row.textContent.includes(input.value)) || !left.includes(rows[1])) wrong(`"${input.value}" is not found`);
    input.value = "";
    input.dispatchEvent(new Event("input"));
  }
  // What is wider than its place fades at the edge where it goes on, and keys reach it.
  const folded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folded) fold.open = true;
  for (const box of document.querySelectorAll(".scroll")) {
    const over = box.scrollWidth - box.clientWidth, where = box.getAttribute("aria-label");
    if (over < 2) continue;
    const sides = () => { box.dispatchEvent(new Event("scroll")); return ["left", "right"].filter((side) => parseFloat(box.style.getPropertyValue("--" + side)) > 0).join(); };
    if (sides() !== "right" || !getComputedStyle(box).maskImage.includes("gradient")) wrong(`${where}: cut without a sign`);
    if (box.tabIndex !== 0 || !where || box.getAttribute("role") !== "region") wrong(`${where}: no key reaches it`);
    box.scrollLeft = over;
    if (sides() !== "left") wrong(`${where}: its end looks like ${sides()}`);
    box.scrollLeft = 0;
    sides();
  }
  for (const fold of folded) fold.open = false;
  // A part of an axis fills the chart, with labels of its own, and all of it comes back.
  for (const plot of [...document.querySelectorAll(".plot:not(.cats)")].filter((plot) => plot.offsetParent)) {
    const svg = plot.querySelector("svg"), labels = plot.querySelector(".xs"), before = labels.textContent;
    const key = (key) => plot.dispatchEvent(new KeyboardEvent("keydown", {key}));
    key("+");
    if (svg.getAttribute("viewBox") !== "250 0 500 1000" || labels.textContent === before || !/\d/.test(labels.textContent)) wrong(`no part of the axis: ${labels.textContent}`);
    if (!/\d/.test(plot.querySelector(".tip").textContent)) wrong("no value in a part");
    key("Escape");
    if (svg.getAttribute("viewBox") !== "0 0 1000 1000" || labels.textContent !== before) wrong("the whole axis does not come back");
    plot.dispatchEvent(new FocusEvent("blur"));
  }
  for (const plot of [...document.querySelectorAll(".plot:not(.cats)")].filter((plot) => plot.offsetParent)) {
    const area = plot.querySelector(".area"), box = area.getBoundingClientRect();
    for (const share of [0.02, 0.5, 0.98]) {
      area.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * share, bubbles: true}));
      const tip = area.querySelector(".tip");
      if (!tip || !/\d/.test(tip.textContent) || /NaN|undefined/.test(tip.textContent))
        wrong(`no value under the pointer at ${share}: ${tip && tip.textContent}`);
      const at = tip.getBoundingClientRect();
      if (at.left < 0 || at.right > innerWidth) wrong(`the value at ${share} leaves the page: ${tip.textContent}`);
    }
    area.dispatchEvent(new PointerEvent("pointerleave"));
    if (area.querySelector(".tip")) wrong("the value stays when the pointer leaves");
    plot.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
    if (!area.querySelector(".tip")) wrong("arrow keys show nothing");
    plot.dispatchEvent(new FocusEvent("blur"));
  }
  // Bars are read one after the other, and a map of rows cell by cell.
  const keys = (node, names) => { for (const key of names) node.dispatchEvent(new KeyboardEvent("keydown", {key})); return node.querySelector(".tip") && node.querySelector(".tip").textContent; };
  for (const plot of document.querySelectorAll(".plot.cats")) {
    const titles = [...plot.querySelectorAll("path.box title")].map((title) => title.textContent), seen = new Set();
    for (const [key, times] of [["ArrowRight", titles.length], ["ArrowLeft", 1]]) for (let i = 0; i < times; i++) {
      const said = keys(plot, [key]);
      for (const title of titles) if (said && said.includes(title)) seen.add(title);
    }
    if (seen.size !== new Set(titles).size) wrong(`of ${titles.length} bars keys read ${[...seen]}`);
    plot.dispatchEvent(new FocusEvent("blur"));
    if (plot.querySelector(".tip")) wrong("the value of a bar stays when the focus leaves");
  }
  for (const map of [...document.querySelectorAll(".heat")].filter((map) => map.offsetParent)) {
    const area = map.querySelector(".area"), box = area.getBoundingClientRect(), names = [...map.querySelectorAll(".names span")].map((name) => name.textContent);
    area.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * 0.7, clientY: box.bottom - 1, bubbles: true}));
    const tip = area.querySelector(".tip"), said = tip && tip.textContent;
    if (!said || !said.includes(names[names.length - 1]) || !/at most \d|empty/.test(said) || /NaN|undefined/.test(said)) wrong(`the map says ${said}`);
    const at = tip.getBoundingClientRect();
    if (at.left < 0 || at.right > innerWidth) wrong(`the map's value leaves the page: ${said}`);
    const up = keys(map, ["ArrowUp"]), right = keys(map, ["ArrowRight"]);
    if (map.tabIndex !== 0 || up === said || right === up || !up.includes(names[names.length - 2])) wrong(`keys on the map: ${said}, ${up}, ${right}`);
    area.dispatchEvent(new PointerEvent("pointerleave"));
    if (area.querySelector(".tip, .chosen")) wrong("the map's value stays");
  }
  // Text must stand out from what it stands on. [WCAG 2.2, 1.4.3]
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const card = light(getComputedStyle(document.querySelector(".card")).backgroundColor);
  for (const text of document.querySelectorAll(".card h2, .card figcaption p, .legend li, .card td, .xs span, summary")) {
    const ink = light(getComputedStyle(text).color);
    const contrast = (Math.max(ink, card) + 0.05) / (Math.min(ink, card) + 0.05);
    if (contrast < 4.5) { wrong(`contrast ${contrast.toFixed(1)} of "${text.textContent.slice(0, 20)}"`); break; }
  }
  // The network moves: cables change with the slider, a port and its messages are chosen, packets fly.
  const moving = document.getElementById("motion");
  if (moving && !moving.hidden) {
    const by = (id) => document.getElementById(id), fire = (id, kind) => by(id).dispatchEvent(new Event(kind));
    const halves = [...by("fabric").querySelectorAll(".half")], shares = () => halves.map((half) => half.style.getPropertyValue("--share")).join();
    const frame = by("fabric").getBoundingClientRect();
    if (!halves.length || halves.length % 2 || by("fabric-note").textContent) wrong(`${halves.length} halves of cables: ${by("fabric-note").textContent}`);
    for (const half of halves) {
      const at = half.getBoundingClientRect();
      if (at.left < frame.left - 4 || at.right > frame.right + 4) { wrong("a cable outside its drawing"); break; }
    }
    const warm = by("fabric").querySelectorAll(".half.warm").length, before = shares();
    if (!warm || warm === halves.length) wrong(`${warm} of ${halves.length} halves hold something where the queue is fullest`);
    by("moment").value = by("moment").max;
    fire("moment", "input");
    if (shares() === before || !/^[\d.]+ [mun]?s$/.test(by("moment-says").textContent)) wrong(`nothing moves: ${by("moment-says").textContent}`);
    by("paint-use").click();
    if (by("key-most").textContent !== "100 %") wrong("no colours by use");
    by("paint-queue").click();
    const options = [...by("which").options];
    if (!options.length || !options[0].textContent.includes(" → ")) wrong("no port to choose");
    const first = by("port").textContent;
    by("which").value = options[options.length - 1].value;
    fire("which", "change");
    const least = /up to (.*)$/.exec(options[options.length - 1].textContent)[1];
    if (!by("port").textContent.includes(`at most ${least} when`)) wrong(`the list says ${least}, the port "${by("port").textContent}"`);
    if (options.length > 1 && by("port").textContent === first || !/holds .*B of data/.test(by("port").textContent)) wrong(`the port says "${by("port").textContent}"`);
    by("which").value = options[0].value;
    fire("which", "change");
    by("moment").value = 1;
    fire("moment", "input");
    if (!/message \d+ \(|No message|not known/.test(by("port").textContent)) wrong(`no messages at "${by("port").textContent}"`);
    // Between switches the page knows whose data crosses, where the run told it the ways.
    const {known} = JSON.parse(by("moving").textContent).network.ways;
    const between = options.find((option) => !/^h\d+ →|→ h\d+,/.test(option.textContent));
    if (between) {
      by("which").value = between.value;
      fire("which", "change");
      let told = "";
      for (let at = 0; at <= by("moment").max && !/message \d+ \(/.test(told); at++) {
        by("moment").value = at;
        fire("moment", "input");
        told = by("port").textContent;
      }
      if (!(known ? /(crosses|may cross) here: message \d+ \(/ : /not known/).test(told)) wrong(`between switches: "${told}"`);
    } else if (known) wrong("no port between switches");
    if (!by("watch-label").hidden) {
      by("watch").value = 0;
      fire("watch", "change");
      by("moment").value = 400;
      fire("moment", "input");
      if (!/^[\d.]+ [mun]?s, \d+ packets? under way$/.test(by("moment-says").textContent)) wrong(`watched: ${by("moment-says").textContent}`);
      let seen = 0;
      for (let at = 0; at <= 1000; at += 20) {
        by("moment").value = at;
        fire("moment", "input");
        for (const dot of by("fabric").querySelectorAll("circle")) {
          seen++;
          const box = dot.getBoundingClientRect();
          if (!(box.left >= frame.left - 8 && box.right <= frame.right + 8)) wrong("a packet outside the fabric");
        }
      }
      if (seen < 20) wrong(`${seen} packets seen`);
      by("watch").value = -1;
      fire("watch", "change");
      if (by("fabric").querySelector("circle")) wrong("packets stay when nobody watches");
    }
  }
  // What the slowest message waited for: named on the first screen, drawn, and played.
  const first = document.querySelector(".why");
  if (first) {
    const link = document.querySelector(".lede a");
    if (!link || link.getBoundingClientRect().bottom > 800) wrong("no link to the slowest message on the first screen");
    else if (document.querySelector(link.getAttribute("href")) !== first || !first.open) wrong("the link leads elsewhere");
    else if (!/waiting for credit|queueing|propagation|retransmission/.test(link.textContent)) wrong(`no part: ${link.textContent}`);
    const flight = first.querySelector(".flight"), box = flight.getBoundingClientRect();
    const thick = [...flight.querySelectorAll("svg path.on")], lines = flight.querySelectorAll("svg path:not(.grid)");
    if (thick.length < 2 || lines.length < 20) wrong(`${thick.length} of ${lines.length} packets on the way`);
    for (const line of thick) {
      const at = line.getBoundingClientRect();
      if (!line.getTotalLength() || at.left < box.left - 2 || at.right > box.right + 2) wrong("a packet outside its drawing");
    }
    const svg = flight.querySelector("svg"), slider = flight.querySelector("input");
    slider.value = 500;
    slider.dispatchEvent(new Event("input"));
    if (getComputedStyle(svg).clipPath === "none") wrong("the slider hides nothing");
    if (!/^[\d.]+ [mun]s: [a-z]/.test(flight.querySelector("output").textContent)) wrong(`the slider says "${flight.querySelector("output").textContent}"`);
    flight.querySelector("button").click();
    if (flight.querySelector("button").textContent !== "Pause") wrong("it does not play");
    flight.querySelector("button").click();
    const folded = [...document.querySelectorAll(".why")].find((why) => !why.open);
    location.hash = folded.id;
    dispatchEvent(new Event("hashchange"));
    if (!folded.open) wrong("a link does not unfold what it leads to");
    folded.open = false;
    slider.value = 1000;
    slider.dispatchEvent(new Event("input"));
  }
  parent.postMessage({width: innerWidth, height: root.scrollHeight, dark: card < 0.2, charts, problems}, "*");
});
</script>"#;

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
        let summary = Summary::of(&record);
        run.explain_slowest(&mut record, &summary, None, 1, &mut scenario::Alone);
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
        let beside = |(record, summary): (&RunRecord, &Summary)| report::Beside {
            link: format!("{}/report.html", summary.fingerprint),
            curves: Some(results::Curves::of(record, summary)),
            ..report::Beside::default()
        };
        let beside: Vec<_> = records.iter().zip(&runs).map(beside).collect();
        report::of_runs(
            &runs.iter().collect::<Vec<_>>(),
            &beside,
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
        csv.contains("\"Mean\",\"Aeolus\",\"Web Server\",50,45,55.00000000000001,\"published\""),
        "{csv}"
    );
    let svg = figure.svg();
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
