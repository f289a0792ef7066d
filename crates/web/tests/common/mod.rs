//! A page in a real browser, which is used as a person uses it and says on the console what came of it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Names of the browser, as distributions package it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// A page that says nothing for so long is stuck.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn browser() -> Option<PathBuf> {
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

/// What hands have in every page: they tell, wait, press, and look for what is wrong with what is seen.
pub(crate) const HANDS: &str = r#"const tell = (what) => console.log("told " + JSON.stringify(what));
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
  for (const box of document.querySelectorAll(".scroll")) {
    // What the page draws anew is measured a moment later.
    event(box, "scroll");
    const over = box.scrollWidth - box.clientWidth, sign = parseFloat(box.style.getPropertyValue("--right")) > 0;
    if (over > 1 && (!sign || box.tabIndex !== 0 || !getComputedStyle(box).maskImage.includes("gradient"))) problems.push(`${box.getAttribute("aria-label")}: cut without a sign`);
  }
  return problems;
};
"#;

/// What the page tells while `script` uses it; the console says nothing else.
pub(crate) fn told_by(
    browser: &Path,
    (folder, html): (&str, &str),
    script: &str,
    (width, dark): (u32, bool),
) -> Vec<serde_json::Value> {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&dir).unwrap();
    let page = dir.join("page.html");
    let hands = format!(
        "<script>{HANDS}{script}.catch((error) => {{ tell({{failed: String(error)}}); tell(\"done\"); }});</script></body>"
    );
    let (before, after) = html.rsplit_once("</body>").unwrap();
    fs::write(&page, format!("{before}{hands}{after}")).unwrap();
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
    assert_eq!(failed, Vec::<&serde_json::Value>::new(), "{folder}");
    assert_eq!(
        console,
        Vec::<String>::new(),
        "{folder}: the console is silent"
    );
    told
}
