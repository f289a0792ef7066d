//! The playground in a real browser: it finds what the command finds, asks for nothing, and works by
//! keyboard, narrow and wide, light and dark.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use common::browser;
use scenario::{Alone, Request, Scenario, builtin};
use std::collections::BTreeSet;
use std::path::Path;
use units::Bytes;

/// What a scenario may take to be tried here, by `check`.
const SECONDS_MAX: f64 = 10.0;
const MEMORY_MAX: Bytes = Bytes(1_000_000_000);
/// What makes the engine anew.
const REMEDY: &str = "./tg web builds the engine anew; commit crates/web/product with the change";

/// Uses the page as a person does, and says on the console what came of it.
const USE: &str = r##"(async () => {
  const names = WANTED;
  await until("the first run", idle);
  tell({scenario: "incast", fingerprint: $("found").querySelector("code").textContent, halves: $("fabric").querySelectorAll(".half").length,
    warm: $("fabric").querySelectorAll(".half.warm").length, status: $("status").textContent, problems: look(), dark: matchMedia("(prefers-color-scheme: dark)").matches, width: innerWidth});
  if (!names.length) return tell("done");
  // Why, of the slowest message.
  $("slowest").querySelector("button").click();
  await until("why", () => !$("why").hidden && idle());
  await new Promise((go) => { $("why-page").addEventListener("load", go, {once: true}); setTimeout(go, 3000); });
  tell({why: $("why-says").textContent, text: $("why-text").textContent.split("\n").length, drawn: $("why-page").contentDocument.querySelectorAll(".flight svg path.on").length});
  // A transport by its list, and a slider by its place.
  $("live").checked = false;
  $("transport").value = "dctcp";
  event($("transport"), "change");
  await until("check of dctcp", () => $("command").textContent.includes("dctcp"));
  const senders = document.querySelector('[data-key="workload.senders"]');
  senders.value = 15;
  event(senders, "input");
  await until("check of 16", () => $("command").textContent.includes("workload.senders=16"));
  press(document.body, "Enter", true);
  await until("run of dctcp", () => idle() && document.body.dataset.fingerprint && $("runs").tBodies[0].rows.length === 2);
  tell({sets: $("command").textContent, fingerprint: document.body.dataset.fingerprint, best: $("runs").querySelectorAll(".best").length,
    curves: $("cdf").querySelectorAll(".line").length, hash: location.hash});
  // The editor names a value, and the page names what is wrong and where.
  $("edit").open = true;
  const toml = $("toml");
  toml.value = '[topology]\nkind = "st';
  toml.selectionStart = toml.selectionEnd = toml.value.length;
  event(toml, "input");
  const words = [...$("words").children].map((row) => row.querySelector("b").textContent);
  press(toml, "Enter");
  tell({words, taken: toml.value});
  toml.value = '[topology]\nkind = "star"\nhosts = 4\nhost_rate = "10GBps"\n[workload]\nkind = "incast"\nsenders = 3\nsize = "5KB"\n';
  state.sets.clear();
  event(toml, "input");
  await until("the mistake", () => !$("wrong").hidden);
  tell({wrong: $("wrong").textContent, marks: $("marks").children.length});
  toml.value = toml.value.replace("GBps", "Gbps");
  event(toml, "input");
  await until("the repair", () => $("wrong").hidden);
  await until("the link", () => location.hash.startsWith("#toml="));
  const own = toml.value;
  await pick("permutation");
  location.hash = await (async () => { state.text = own; state.sets.clear(); const link = await hash(); state.text = null; return link; })();
  await until("the text of the link", () => toml.value === own);
  $("run").click();
  await until("the run of it", () => !idle());
  await until("the run of it", idle);
  tell({own: document.body.dataset.fingerprint});
  // What runs for long can be ended, and the page goes on.
  await pick("data-mining");
  state.sets.set("workload.messages", "100000");
  $("run").click();
  await until("progress", () => $("progress").value > 0 || /simulated/.test($("status").textContent));
  $("cancel").click();
  await until("the end of it", idle);
  tell({cancelled: $("status").textContent});
  for (const name of names) {
    state.sets.clear();
    await pick(name);
    const before = state.runs.length;
    $("run").click();
    await until("run of " + name, () => !idle());
    while (!idle()) await new Promise((go) => setTimeout(go, 20));
    tell({scenario: name, fingerprint: document.body.dataset.fingerprint, status: $("status").textContent});
  }
  $("whole").open = true;
  await new Promise((go) => { $("report").addEventListener("load", go, {once: true}); setTimeout(go, 3000); });
  tell({report: $("report").contentDocument.querySelectorAll("figure").length, problems: look()});
  tell("done");
})()"##;

/// Runs every transport after more hand-made runs than there are colours, and puts one curve away.
const EVERY: &str = r#"(async () => {
  await until("the first run", idle);
  $("live").checked = false;
  state.sets.set("workload.senders", "4");
  for (let seed = 1; seed <= 9; seed++) {
    state.sets.set("run.seed", String(seed));
    await run();
  }
  $("all").click();
  await until("the first of all", () => !idle());
  let calm = 0;
  while (calm < 10) { calm = idle() ? calm + 1 : 0; await new Promise((go) => setTimeout(go, 50)); }
  const drawn = () => [...$("cdf").querySelectorAll(".line")].map((path) => {
    const {stroke, strokeDasharray} = getComputedStyle(path);
    return `${stroke} ${strokeDasharray}`;
  });
  const rows = [...$("runs").tBodies[0].rows].map((row) => row.querySelector("button").textContent);
  const looks = drawn(), names = $("legend").querySelectorAll("button");
  names[0].click();
  const away = drawn(), pressed = $("legend").querySelector("button").ariaPressed;
  $("legend").querySelector("button").click();
  tell({transports: about.transports.map(([name]) => name), rows, curves: looks.length, looks: new Set(looks).size, names: names.length,
    away: away.length, pressed, back: drawn().length, problems: look()});
  tell("done");
})()"#;

/// Changes what is set after a run, and asks what the page then says of what it shows.
const STALE: &str = r##"(async () => {
  await until("the first run", idle);
  $("live").checked = false;
  const bold = (row) => row.querySelectorAll(".best").length, rows = () => [...$("runs").tBodies[0].rows];
  for (const kind of ["expresspass", "dctcp"]) { state.sets.set("transport.kind", kind); await run(); }
  const both = rows().slice(0, 2).map(bold);
  const senders = document.querySelector('[data-key="workload.senders"]');
  senders.value = 15;
  event(senders, "input");
  await until("check of 16", () => $("command").textContent.includes("workload.senders=16"));
  const changed = {stale: !$("stale").hidden, says: $("stale").textContent, dim: getComputedStyle($("headline")).opacity};
  await why(5);
  changed.why = $("why-title").textContent;
  await run();
  tell({both, alone: bold(rows()[0]), before: rows().slice(1, 3).map(bold), changed, fresh: $("stale").hidden});
  await pick("permutation");
  const other = $("stale").textContent;
  rows()[2].querySelector("button").click();
  await until("the row", () => $("stale").hidden);
  tell({other, title: $("title").textContent});
  const plot = document.querySelector("#cdf .plot"), area = plot.querySelector(".area"), box = area.getBoundingClientRect();
  area.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width / 2, bubbles: true}));
  const tip = area.querySelector(".tip").textContent;
  press(plot, "+");
  tell({tip, part: plot.querySelector("svg").getAttribute("viewBox"), problems: look()});
  $("edit").open = true;
  $("toml").value = '[topology]\nkind = "star"\n[workload]\nkind = "trace"\npath = "mine.csv"\n';
  event($("toml"), "input");
  await until("the file", () => !$("wrong").hidden);
  tell({file: $("wrong").textContent});
  tell("done");
})()"##;

/// What the playground tells when it is used.
fn use_page(
    browser: &Path,
    name: &str,
    wanted: &[&str],
    window: (u32, bool),
) -> Vec<serde_json::Value> {
    let script = USE.replace("WANTED", &serde_json::json!(wanted).to_string());
    let page = web::playground();
    common::told_by(
        browser,
        (&format!("playground-{name}"), &page),
        &script,
        window,
    )
}

fn fingerprint(scenario: Scenario) -> String {
    let run = scenario.assemble().unwrap();
    let record = run.run(2, "", &mut Alone).unwrap();
    format!("{:016x}", record.fingerprint)
}

fn native(from: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    fingerprint(scenario::load(&Request { from, sets: &sets }).unwrap())
}

/// Built-in scenarios that `check` calls short and small.
fn small() -> Vec<&'static str> {
    let names = builtin::all().iter().map(|builtin| builtin.name);
    let fits = |from: &&str| {
        let scenario = scenario::load(&Request { from, sets: &[] }).unwrap();
        let run = scenario.assemble().unwrap();
        run.seconds() < SECONDS_MAX && run.need() < MEMORY_MAX
    };
    names.filter(fits).collect()
}

#[test]
fn the_page_is_one_small_file_that_names_no_other() {
    let page = web::playground();
    // What gzip makes of the engine's text is what gzip made of the engine, but for a hundredth.
    let rest = page.len() - web::PRODUCT.len().div_ceil(3) * 4;
    assert!(
        web::PRODUCT.len() * 102 / 100 + rest < 2_000_000,
        "{}",
        page.len()
    );
    assert!(rest < 200_000, "{rest} bytes around the engine");
    assert!(
        web::PRODUCT.starts_with(&[0x1f, 0x8b]),
        "the engine is packed by gzip"
    );
    for word in [
        "http:",
        "https:",
        "src=",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        let found = page.matches(word).count();
        let known = page.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(found, if word == "http:" { known } else { 0 }, "{word}");
    }
    let made: serde_json::Value = serde_json::from_str(web::MADE_OF).unwrap();
    assert_eq!(made["bytes"], web::PRODUCT.len(), "{REMEDY}");
    assert_eq!(made["version"], env!("CARGO_PKG_VERSION"), "{REMEDY}");
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one page is used once, because a browser takes its time"
)]
fn the_page_finds_what_the_command_finds() {
    let Some(browser) = browser() else { return };
    let names = small();
    assert!(names.len() > 10, "most are small: {names:?}");
    let told = use_page(&browser, "use", &names, (1400, false));
    let of = |key: &str| {
        told.iter()
            .find(|t| !t[key].is_null())
            .unwrap_or_else(|| panic!("{key}: {told:?}"))
    };
    let first = &told[0];
    assert_eq!(first["problems"], serde_json::json!([]));
    assert_eq!(first["halves"], 2 * (128 + 64), "both ends of every cable");
    assert!(first["warm"].as_u64() > Some(0), "{first}");
    let why = of("why");
    assert!(
        why["why"].as_str().unwrap().contains("waiting for credit"),
        "{why}"
    );
    assert!(
        why["text"].as_u64() > Some(10) && why["drawn"].as_u64() > Some(1),
        "{why}"
    );
    let set = of("sets");
    let sets = ["transport.kind=dctcp", "workload.senders=16"];
    assert_eq!(
        set["sets"],
        format!("tidegate run incast --set {} --set {}", sets[0], sets[1])
    );
    assert_eq!(set["fingerprint"], native("incast", &sets), "{REMEDY}");
    assert_eq!(set["curves"], 2);
    assert_eq!(set["best"], 0, "the other run is of other traffic: {set}");
    assert!(
        set["hash"]
            .as_str()
            .unwrap()
            .contains("from=incast&set=transport.kind"),
        "{set}"
    );
    let words = of("words");
    assert_eq!(words["words"], serde_json::json!(["\"star\""]));
    assert_eq!(words["taken"], "[topology]\nkind = \"star\"");
    let wrong = of("wrong");
    assert!(
        wrong["wrong"]
            .as_str()
            .unwrap()
            .contains("scenario.toml:4:13"),
        "{wrong}"
    );
    assert!(
        wrong["wrong"]
            .as_str()
            .unwrap()
            .contains("did you mean \"10Gbps\"?"),
        "{wrong}"
    );
    assert_eq!(wrong["marks"], 1);
    let text = "[topology]\nkind = \"star\"\nhosts = 4\nhost_rate = \"10Gbps\"\n[workload]\nkind = \
                \"incast\"\nsenders = 3\nsize = \"5KB\"\n";
    let own = scenario::load_text("scenario.toml", text, &[]).unwrap();
    assert_eq!(of("own")["own"], fingerprint(own), "{REMEDY}");
    assert_eq!(of("cancelled")["cancelled"], "Cancelled.");
    assert!(
        of("report")["report"].as_u64() > Some(3),
        "the whole report is drawn"
    );
    assert_eq!(of("report")["problems"], serde_json::json!([]));
    for name in names {
        let mut found = told.iter().filter(|t| t["scenario"] == name);
        let found = found
            .next_back()
            .unwrap_or_else(|| panic!("{name}: {told:?}"));
        let moved = "the page's engine is of another version than this program";
        assert_eq!(
            found["fingerprint"],
            native(name, &[]),
            "{name}: {moved}. {REMEDY}"
        );
    }
}

#[test]
fn every_transport_has_a_row_and_a_curve_that_no_other_looks_like() {
    let Some(browser) = browser() else { return };
    let page = ("playground-every", &*web::playground());
    let told = common::told_by(&browser, page, EVERY, (1400, false));
    let told = &told[0];
    let texts = |key: &str| -> BTreeSet<String> {
        let all = told[key].as_array().unwrap().iter();
        all.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let transports = texts("transports");
    assert!(transports.len() > 16, "{told}");
    assert_eq!(texts("rows"), transports, "one may refuse none of this");
    for key in ["curves", "looks", "names", "back"] {
        assert_eq!(
            told[key],
            told["rows"].as_array().unwrap().len(),
            "{key}: {told}"
        );
    }
    assert_eq!(told["away"].as_u64().unwrap() + 1, told["curves"], "{told}");
    assert_eq!(told["pressed"], "false", "{told}");
    assert_eq!(told["problems"], serde_json::json!([]));
}

#[test]
fn what_was_found_before_a_change_says_so_and_is_set_beside_its_like_alone() {
    let Some(browser) = browser() else { return };
    let page = ("playground-stale", &*web::playground());
    let told = common::told_by(&browser, page, STALE, (1400, false));
    let (first, other, plot) = (&told[0], &told[1], &told[2]);
    assert!(
        first["both"]
            .as_array()
            .unwrap()
            .iter()
            .any(|n| n.as_u64() > Some(0)),
        "two transports of one traffic are compared: {first}"
    );
    assert_eq!(first["alone"], 0, "nobody to be better than: {first}");
    assert_eq!(first["before"], first["both"], "{first}");
    let changed = &first["changed"];
    assert_eq!(changed["stale"], true, "{first}");
    let says = "These results are of incast under dctcp, before the change.";
    assert!(
        changed["says"].as_str().unwrap().starts_with(says),
        "{first}"
    );
    assert_ne!(changed["dim"], "1", "{first}");
    assert_eq!(
        changed["why"],
        "Why did message 5 of incast under dctcp, before the change, take so long?"
    );
    assert_eq!(first["fresh"], true, "{first}");
    assert!(
        other["other"].as_str().unwrap().contains("of incast under"),
        "{other}"
    );
    assert!(
        other["title"].as_str().unwrap().starts_with("expresspass"),
        "{other}"
    );
    let tip = plot["tip"].as_str().unwrap();
    assert!(tip.contains('%') && tip.contains('s'), "{tip}");
    assert_eq!(plot["part"], "250 0 500 1000");
    assert_eq!(plot["problems"], serde_json::json!([]));
    let file = told[3]["file"].as_str().unwrap();
    assert!(
        !file.contains("not supported") && file.contains("did not come along"),
        "{file}"
    );
}

#[test]
fn the_page_fits_every_window_in_light_and_dark() {
    let Some(browser) = browser() else { return };
    for (width, dark) in [(500, false), (800, true), (1400, true)] {
        let name = format!("{width}-{dark}");
        let told = use_page(&browser, &name, &[], (width, dark));
        assert_eq!(told[0]["problems"], serde_json::json!([]), "{name}");
        assert_eq!(told[0]["dark"], dark, "{name}");
        assert_eq!(told[0]["width"], width, "{name}");
    }
}
