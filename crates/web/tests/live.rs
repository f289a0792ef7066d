//! A report that can be run again, in a real browser: what was recorded stands there at once, comes out again, and
//! other values have other results, each the command's.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use common::{browser, told_by};
use scenario::{Alone, Files, Scenario};
use serde_json::{Value, json};
use std::sync::Arc;

/// A scenario that reads two files: without them nothing runs.
const TEXT: &str = "title = \"Six messages <of a trace>\"\n[topology]\nkind = \"star\"\nhosts = 4\n\
                    include = \"rate.toml\"\n[transport]\nkind = \"dctcp\"\n[[workload]]\nkind = \"trace\"\n\
                    path = \"messages.csv\"\n";

fn files() -> Files {
    let csv = "src,dst,size,start\n0,3,50KB,0us\n1,3,50KB,0us\n2,3,50KB,0us\n0,3,9KB,5us\n1,2,70KB,5us\n2,0,3KB,6us\n";
    let rate = "host_rate = \"10Gbps\"\n";
    let files = [("mine/messages.csv", csv), ("mine/rate.toml", rate)];
    files
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

fn load(sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    scenario::load_files("mine/trace.toml", Some(TEXT), &sets, &Arc::new(files())).unwrap()
}

fn fingerprint(sets: &[&str]) -> String {
    let record = load(sets).assemble().unwrap().run(1, "", &mut Alone);
    format!("{:016x}", record.unwrap().fingerprint)
}

/// The page of a run with these settings.
fn page(sets: &[&str]) -> (String, Value) {
    let run = load(sets).assemble().unwrap();
    let command = "tidegate run mine/trace.toml";
    let mut record = run.run(1, command, &mut Alone).unwrap();
    let mut summary = results::Summary::of(&record);
    run.explain_slowest(&mut record, &mut summary, None, 1, &mut Alone);
    let told = web::told(&record, &summary, &[], command);
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let page = web::live(&web::Live {
        name: "mine/trace.toml",
        text: Some(TEXT),
        sets: &sets,
        files: &files(),
        told: &told,
    });
    (page, told)
}

/// Reads, runs again, asks why, and changes what can be changed.
const USE: &str = r##"(async () => {
  // What was recorded does not wait for the engine.
  const frame = $("report"), ready = new Promise((go) => frame.addEventListener("load", go, {once: true}));
  tell({at_once: $("found").textContent, rows: $("runs").tBodies[0].rows.length, title: document.title, heading: document.querySelector("h1").textContent});
  await until("the engine", () => document.body.dataset.state === "ready");
  await Promise.race([ready, new Promise((go) => setTimeout(go, 3000))]);
  const inside = frame.contentDocument;
  await until("the height of the report", () => Math.abs(frame.getBoundingClientRect().height - inside.body.getBoundingClientRect().height) < 40);
  tell({charts: inside.querySelectorAll("figure[data-points]").length, drawn: inside.querySelectorAll("path.line").length, halves: inside.querySelectorAll(".half").length,
    high: frame.getBoundingClientRect().height, wide: inside.documentElement.scrollWidth <= frame.clientWidth, problems: look(), dark: matchMedia("(prefers-color-scheme: dark)").matches, width: innerWidth,
    results_first: innerWidth < 860 && $("results").getBoundingClientRect().top < $("controls").getBoundingClientRect().top});
  if (!FULLY) return tell("done");
  const folded = [...inside.querySelectorAll("details.why")].find((why) => !why.open);
  const link = inside.createElement("a");
  link.href = "#" + folded.id;
  inside.body.append(link);
  link.click();
  link.remove();
  tell({unfolded: folded.open, still: frame.contentDocument === inside});
  document.querySelector("header a").click();
  // The text is packed on the way.
  await until("the link", () => location.hash);
  tell({leads: document.activeElement.id, hash: location.hash.slice(0, 6), own: $("scenario").selectedOptions[0].textContent, text: $("toml").value});
  // A message of the recorded run: the page runs it first.
  $("message").value = 3;
  $("ask").click();
  await until("why", () => !$("why").hidden && idle());
  tell({why: $("why-says").textContent, same: $("same").textContent, kind: $("same").className});
  // The same, by hand.
  $("run").click();
  await until("the run again", () => $("runs").tBodies[0].rows.length === 2 && idle());
  tell({again: document.body.dataset.fingerprint, same_again: $("same").textContent, small: $("runs").textContent});
  // Another transport by the list, another rate by its slider.
  $("transport").value = "expresspass";
  event($("transport"), "change");
  await until("the other transport", () => idle() && $("runs").textContent.includes("expresspass"));
  tell({other: document.body.dataset.fingerprint, quiet: $("same").hidden, command: $("command").textContent});
  // Another text: the file it names is still there; another file is not.
  $("live").checked = false;
  const toml = $("toml");
  toml.value = toml.value.replace("hosts = 4", "hosts = 5");
  event(toml, "input");
  await until("the check", () => $("wrong").hidden && $("status").textContent.startsWith("Ready"));
  $("run").click();
  await until("the run of it", () => idle() && $("runs").textContent.includes("your own"));
  tell({five: document.body.dataset.fingerprint});
  toml.value = toml.value.replace("messages.csv", "others.csv");
  event(toml, "input");
  await until("the mistake", () => !$("wrong").hidden);
  tell({wrong: $("wrong").textContent, marks: $("marks").children.length});
  // Back to what was recorded.
  [...$("runs").querySelectorAll("button.link")].at(-1).click();
  await until("the recorded text", () => toml.value === GIVEN && $("wrong").hidden);
  tell("done");
})()"##;

fn script(fully: bool) -> String {
    USE.replace("FULLY", if fully { "true" } else { "false" })
        .replace("GIVEN", "given.text")
}

/// What was told under `key`.
fn of<'a>(told: &'a [Value], key: &str) -> &'a Value {
    let found = told.iter().find(|t| !t[key].is_null());
    found.unwrap_or_else(|| panic!("{key}: {told:?}"))
}

#[test]
fn files_that_came_along_are_read_and_no_others() {
    let disk = std::env::temp_dir().join(format!("tidegate-live-{}", std::process::id()));
    std::fs::create_dir_all(&disk).unwrap();
    for (name, text) in files() {
        std::fs::write(disk.join(name.trim_start_matches("mine/")), text).unwrap();
    }
    let file = disk.join("trace.toml");
    std::fs::write(&file, TEXT).unwrap();
    let from = file.display().to_string();
    let request = scenario::Request {
        from: &from,
        sets: &[],
    };
    let on_disk = scenario::load(&request).unwrap();
    assert_eq!(on_disk.text(), Some(TEXT));
    let found = on_disk.files().unwrap();
    let texts: Vec<&String> = found.values().collect();
    assert_eq!(texts, files().values().collect::<Vec<_>>());
    let record = on_disk.assemble().unwrap().run(1, "", &mut Alone).unwrap();
    assert_eq!(format!("{:016x}", record.fingerprint), fingerprint(&[]));
    // A setting may name one, too; it is read from where the command runs.
    let mut more = files();
    more.insert("two.csv".into(), "src,dst,size,start\n0,1,9KB,0us\n".into());
    let sets = ["workload.path=two.csv".to_owned()];
    let with = |files: Files| {
        let read = scenario::load_files("mine/trace.toml", Some(TEXT), &sets, &Arc::new(files));
        read.and_then(Scenario::assemble)
    };
    assert_eq!(with(more).unwrap().traffic.messages.len(), 1);
    // What did not come along is not looked for on the disk.
    std::env::set_current_dir(&disk).unwrap();
    std::fs::write("two.csv", "src,dst,size,start\n").unwrap();
    let Err(errors) = with(files()) else {
        panic!("two.csv did not come along")
    };
    let said = errors.render(false);
    assert!(said.contains("did not come along"), "{said}");
    std::fs::remove_dir_all(&disk).unwrap();
}

#[test]
fn the_page_names_no_other_file_and_holds_what_a_title_says_as_text() {
    let (page, told) = page(&[]);
    assert!(page.contains("<title>Six messages &lt;of a trace&gt; - tidegate</title>"));
    assert!(!page.contains("<of a trace>"), "a title is no markup");
    let data = serde_json::to_string(&told).unwrap().len();
    let around = page.len() - web::PRODUCT.len().div_ceil(3) * 4 - data;
    assert!(around < 220_000, "{around} bytes around engine and data");
    for word in ["https:", "src=", "fetch(", "XMLHttpRequest", "import("] {
        assert_eq!(page.matches(word).count(), 0, "{word}");
    }
    // The engine of the program answers what the engine in the page is asked.
    let request = json!({ "ask": "run", "name": "mine/trace.toml", "text": TEXT, "files": files(), "sets": [] });
    let answer = web::Engine::default().answer(&request.to_string(), &mut Alone);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer["fingerprint"], told["fingerprint"],
        "{}",
        answer["error"]
    );
    assert_eq!(answer["motion"], told["motion"]);
}

#[test]
fn what_was_recorded_is_run_again_and_with_other_values() {
    let Some(browser) = browser() else { return };
    let (html, recorded) = page(&[]);
    let told = told_by(&browser, ("live-use", &html), &script(true), (1400, false));
    let recorded = recorded["fingerprint"].as_str().unwrap();
    let at_once = of(&told, "at_once");
    let said = at_once["at_once"].as_str().unwrap();
    assert!(
        said.contains(recorded) && said.contains("as recorded by tidegate"),
        "{said}"
    );
    assert_eq!(at_once["rows"], 1);
    assert_eq!(at_once["heading"], "mine/trace.toml a report to run again");
    let report = of(&told, "charts");
    assert!(
        report["charts"].as_u64() > Some(2) && report["drawn"].as_u64() > Some(2),
        "{report}"
    );
    assert_eq!(report["halves"], 8);
    assert!(report["high"].as_f64() > Some(1500.0), "{report}");
    let unfolded = of(&told, "unfolded");
    assert_eq!(unfolded, &json!({ "unfolded": true, "still": true }));
    let leads = of(&told, "leads");
    assert_eq!(leads["leads"], "transport");
    assert_eq!(leads["hash"], "#toml=");
    assert_eq!(leads["own"], "mine/trace.toml");
    assert_eq!(leads["text"], TEXT);
    let why = of(&told, "why");
    assert_eq!(why["kind"], "good", "{why}; ./tg web makes the engine anew");
    assert!(why["why"].as_str().unwrap().contains('%'), "{why}");
    assert_eq!(of(&told, "again")["again"], recorded);
    assert!(
        of(&told, "again")["small"]
            .as_str()
            .unwrap()
            .contains("recorded: mine/trace.toml")
    );
    let other = of(&told, "other");
    assert_eq!(other["other"], fingerprint(&["transport.kind=expresspass"]));
    assert_eq!(other["quiet"], true, "other values need not be the same");
    let command = "tidegate run mine/trace.toml --set transport.kind=expresspass";
    assert_eq!(other["command"], command);
    assert_ne!(of(&told, "five")["five"], other["other"]);
    let wrong = of(&told, "wrong");
    assert!(
        wrong["wrong"]
            .as_str()
            .unwrap()
            .contains("did not come along"),
        "{wrong}"
    );
    assert_eq!(wrong["marks"], 1);
}

#[test]
fn an_engine_of_other_sources_is_found_out() {
    let Some(browser) = browser() else { return };
    let (html, told) = page(&[]);
    let recorded = told["fingerprint"].as_str().unwrap();
    // As if the program that recorded it were another one.
    let html = html.replace(recorded, "0123456789abcdef");
    let script = r#"(async () => {
      await until("the engine", () => document.body.dataset.state === "ready");
      $("run").click();
      await until("the run", () => !$("same").hidden && idle());
      tell({kind: $("same").className, says: $("same").textContent});
      tell("done");
    })()"#;
    let told = told_by(&browser, ("live-stale", &html), script, (900, false));
    let found = of(&told, "kind");
    assert_eq!(found["kind"], "bad");
    let says = found["says"].as_str().unwrap();
    assert!(
        says.contains(recorded) && says.contains("0123456789abcdef"),
        "{says}"
    );
}

#[test]
fn the_report_fits_every_window_in_light_and_dark() {
    let Some(browser) = browser() else { return };
    let (html, _) = page(&["transport.kind=expresspass"]);
    for (width, dark) in [(500, false), (900, true), (1400, true), (1400, false)] {
        let name = format!("live-{width}-{dark}");
        let told = told_by(&browser, (&name, &html), &script(false), (width, dark));
        let seen = of(&told, "charts");
        assert_eq!(seen["problems"], json!([]), "{name}");
        assert_eq!(seen["wide"], true, "{name}: the report scrolls sideways");
        assert_eq!(
            (&seen["dark"], &seen["width"]),
            (&json!(dark), &json!(width))
        );
        assert_eq!(seen["results_first"], width < 860, "{name}");
    }
}
