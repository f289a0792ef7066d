//! The playground in a real browser: it finds what the command finds, asks for nothing, and works by
//! keyboard, narrow and wide, light and dark.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use scenario::{Alone, Request, Scenario, builtin};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use units::Bytes;

/// Names of the browser, as distributions package it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// A page that says nothing for so long is stuck.
const PATIENCE: Duration = Duration::from_mins(2);
/// What a scenario may take to be tried here, by `check`.
const SECONDS_MAX: f64 = 10.0;
const MEMORY_MAX: Bytes = Bytes(1_000_000_000);
/// What makes the engine anew.
const REMEDY: &str = "./tg web builds the engine anew; commit crates/web/product with the change";

/// Uses the page as a person does, and says on the console what came of it.
const HANDS: &str = r##"<script>
const tell = (what) => console.log("told " + JSON.stringify(what));
const until = async (what, done) => {
  for (let i = 0; i < 3000; i++) { if (done()) return; await new Promise((go) => setTimeout(go, 20)); }
  throw new Error("waited for " + what + ": " + $("status").textContent);
};
const idle = () => document.body.dataset.state === "idle";
const event = (node, name) => node.dispatchEvent(new Event(name, {bubbles: true}));
const press = (node, key, ctrlKey = false) => node.dispatchEvent(new KeyboardEvent("keydown", {key, ctrlKey, bubbles: true, cancelable: true}));
const pick = async (name) => {
  const before = $("command").textContent;
  $("scenario").value = name;
  event($("scenario"), "change");
  await until("check of " + name, () => $("command").textContent !== before && !document.body.dataset.state.startsWith("run"));
};
const light = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const look = () => {
  const problems = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) problems.push(`scrolls sideways: ${root.scrollWidth} > ${innerWidth}`);
  if (performance.getEntriesByType("resource").length) problems.push("asked for " + performance.getEntriesByType("resource").map((e) => e.name));
  const card = light(getComputedStyle(document.querySelector(".card")).backgroundColor);
  for (const text of document.querySelectorAll(".card h2, .hint, label, .card td, .card th, summary, #found, button:enabled, #of-transport")) {
    if (!text.getBoundingClientRect().width) continue;
    const own = getComputedStyle(text).backgroundColor, on = own.endsWith(", 0)") ? card : light(own);
    const ink = light(getComputedStyle(text).color), ratio = (Math.max(ink, on) + 0.05) / (Math.min(ink, on) + 0.05);
    if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(1)} of "${text.textContent.slice(0, 20)}"`);
  }
  for (const field of document.querySelectorAll("input, select, textarea, button"))
    if (!(field.labels && field.labels.length) && !field.textContent && !field.ariaLabel && !field.getAttribute("aria-label")) problems.push("a field without a name: " + field.outerHTML);
  return problems;
};
(async () => {
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
})().catch((error) => { tell({failed: String(error)}); tell("done"); });
</script>"##;

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

/// What the page tells when it is used, and what else the console says.
fn use_page(
    browser: &PathBuf,
    name: &str,
    wanted: &[&str],
    (width, dark): (u32, bool),
) -> (Vec<serde_json::Value>, Vec<String>) {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("playground-{name}"));
    fs::create_dir_all(&dir).unwrap();
    let page = dir.join("playground.html");
    let hands = HANDS.replace("WANTED", &serde_json::json!(wanted).to_string());
    let html = web::playground().replace("</body>", &format!("{hands}</body>"));
    fs::write(&page, html).unwrap();
    let mut child = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--no-first-run"])
        .args(["--remote-debugging-port=0", "--enable-logging=stderr"])
        .arg(format!("--window-size={width},1200"))
        .arg(format!(
            "--blink-settings=preferredColorScheme={}",
            u8::from(!dark)
        ))
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the browser starts");
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (send, heard) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|l| send.send(l)));
    let (mut told, mut console) = (Vec::<serde_json::Value>::new(), Vec::new());
    loop {
        let Ok(line) = heard.recv_timeout(PATIENCE) else {
            console.push(format!("nothing more after {told:?}"));
            break;
        };
        let Some((_, said)) = line.split_once("CONSOLE") else {
            continue;
        };
        match said
            .split_once("\"told ")
            .and_then(|(_, rest)| rest.rsplit_once("\", source:"))
        {
            Some(("\"done\"", _)) => break,
            Some((json, _)) => told.push(serde_json::from_str(json).unwrap()),
            None => console.push(said.to_owned()),
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let failed: Vec<_> = told.iter().filter(|t| t["failed"].is_string()).collect();
    assert_eq!(failed, Vec::<&serde_json::Value>::new(), "{name}");
    assert_eq!(
        console,
        Vec::<String>::new(),
        "{name}: the console is silent"
    );
    (told, console)
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
        run.hops() as f64 / scenario::HOPS_PER_SECOND < SECONDS_MAX && run.need() < MEMORY_MAX
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
    let (told, _) = use_page(&browser, "use", &names, (1400, false));
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
    assert!(set["best"].as_u64() > Some(2), "{set}");
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
fn the_page_fits_every_window_in_light_and_dark() {
    let Some(browser) = browser() else { return };
    for (width, dark) in [(500, false), (800, true), (1400, true)] {
        let name = format!("{width}-{dark}");
        let (told, _) = use_page(&browser, &name, &[], (width, dark));
        assert_eq!(told[0]["problems"], serde_json::json!([]), "{name}");
        assert_eq!(told[0]["dark"], dark, "{name}");
        assert_eq!(told[0]["width"], width, "{name}");
    }
}
