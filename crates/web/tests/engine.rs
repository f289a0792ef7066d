//! What the engine answers a page.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use scenario::{Alone, Progress, Watch};
use serde_json::{Value, json};
use web::Engine;

fn ask(engine: &mut Engine, request: &Value) -> Value {
    serde_json::from_str(&engine.answer(&request.to_string(), &mut Alone)).unwrap()
}

/// A run that ends in a moment.
fn short() -> Value {
    json!({ "ask": "run", "name": "incast", "sets": ["workload.senders=6", "workload.size=20KB"] })
}

#[test]
fn a_run_is_the_commands_run() {
    let mut engine = Engine::default();
    let run = ask(&mut engine, &short());
    let sets = ["workload.senders=6", "workload.size=20KB"].map(str::to_owned);
    let request = scenario::Request {
        from: "incast",
        sets: &sets,
    };
    let native = scenario::load(&request).unwrap().assemble().unwrap();
    let record = native.run(2, "", &mut Alone).unwrap();
    assert_eq!(run["fingerprint"], format!("{:016x}", record.fingerprint));
    let command = "tidegate run incast --set workload.senders=6 --set workload.size=20KB";
    assert_eq!(run["command"], command);
    assert_eq!(run["messages"], 6);
    let report = run["report"].as_str().unwrap();
    assert!(report.contains(command) && report.contains("Where their time went"));
    // Six messages, the slowest first, as the summary ranks them.
    let summary = results::Summary::of(&record);
    let slowest = run["slowest"].as_array().unwrap();
    let numbers: Vec<u32> = summary.slowest.iter().map(|slow| slow.message).collect();
    let shown: Vec<u64> = slowest.iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert_eq!(shown.len(), 6);
    assert_eq!(shown[0], u64::from(numbers[0]));
    let fct: Vec<u64> = serde_json::from_value(run["fct"].clone()).unwrap();
    assert!(fct.is_sorted() && fct.len() == 6, "{fct:?}");
    let p99 = summary.all().fct_ps.as_ref().unwrap().max.value;
    assert_eq!(fct.last(), Some(&p99));
}

#[test]
fn the_drawing_shows_the_queue_of_the_run_where_it_was() {
    let mut engine = Engine::default();
    let check = ask(
        &mut engine,
        &json!({ "ask": "check", "name": "incast", "sets": [] }),
    );
    let (nodes, cables) = (&check["network"]["nodes"], &check["network"]["cables"]);
    assert_eq!(nodes.as_array().unwrap().len(), 128 + 16);
    assert_eq!(cables.as_array().unwrap().len(), 128 + 64);
    assert_eq!(check["hosts"], 128);
    let run = ask(
        &mut engine,
        &json!({ "ask": "run", "name": "incast", "sets": ["transport.kind=dctcp"] }),
    );
    let motion = &run["motion"];
    let ends: Vec<u64> = serde_json::from_value(motion["ends_ps"].clone()).unwrap();
    assert!(
        ends.len() > 20 && ends.len() <= 240 && ends.is_sorted(),
        "{}",
        ends.len()
    );
    let mut fullest = (0, String::new());
    for (link, port) in motion["ports"].as_object().unwrap() {
        let [queue, used]: [Vec<u64>; 2] = serde_json::from_value(port.clone()).unwrap();
        assert_eq!((queue.len(), used.len()), (ends.len(), ends.len()));
        assert!(used.iter().all(|&share| share <= 100), "{link}: {used:?}");
        fullest = fullest.max((*queue.iter().max().unwrap(), link.clone()));
    }
    // The port of the receiver's switch that leads to host 0.
    let link: usize = fullest.1.parse().unwrap();
    let cable = &cables[link / 2];
    let to = if link.is_multiple_of(2) {
        &cable[1]
    } else {
        &cable[0]
    };
    assert_eq!(*to, 0, "{cable}");
}

/// What the line to the receiver was used for is what it got: messages with heads, in a burst or at their pace.
#[test]
fn the_drawing_shows_the_line_busy_while_it_carries() {
    let mut engine = Engine::default();
    let buffer = "switch.buffer=5MB";
    for sets in [
        json!(["workload.senders=16"]),
        json!(["workload.senders=16", "transport.kind=dctcp", buffer]),
    ] {
        let asked = json!({ "ask": "run", "name": "incast", "sets": sets });
        let run = ask(&mut engine, &asked);
        carried_is_received(&run["motion"], 16.0);
    }
}

fn carried_is_received(motion: &Value, messages: f64) {
    let ends: Vec<u64> = serde_json::from_value(motion["ends_ps"].clone()).unwrap();
    let fullest = motion["ports"].as_object().unwrap().values();
    let queue = |port: &Value| port[0].as_array().unwrap().iter().map(Value::as_u64).max();
    let port = fullest.max_by_key(|port| queue(port)).unwrap().clone();
    let [_, used]: [Vec<u64>; 2] = serde_json::from_value(port).unwrap();
    let mut before = 0;
    let carried: f64 = ends.iter().zip(&used).fold(0.0, |sum, (&end, &share)| {
        let span = (end - std::mem::replace(&mut before, end)) as f64;
        // 100 Gb/s are 0.0125 bytes in a picosecond.
        sum + span * 0.0125 * share as f64 / 100.0
    });
    let wire = messages * (64_000.0 + 44.0 * 78.0);
    assert!((carried / wire - 1.0).abs() < 0.05, "{carried} of {wire}");
}

#[test]
fn why_explains_any_message_of_the_last_run() {
    let mut engine = Engine::default();
    let early = ask(&mut engine, &json!({ "ask": "why", "message": 0 }));
    assert_eq!(early["error"], "run a scenario first");
    ask(&mut engine, &short());
    let why = ask(&mut engine, &json!({ "ask": "why", "message": 3 }));
    assert_eq!(why["message"], 3);
    assert!(
        why["text"].as_str().unwrap().starts_with(" message 3, "),
        "{why}"
    );
    let report = why["report"].as_str().unwrap();
    assert!(report.contains("id=\"message-3\"") && report.contains("class=\"flight\""));
    for wrong in [json!(6), json!(-1), json!("x"), json!(4_294_967_296_u64)] {
        let answer = ask(&mut engine, &json!({ "ask": "why", "message": wrong }));
        let text = answer["error"].as_str().unwrap();
        assert!(text.contains("the run has 6, from 0 on"), "{text}");
    }
}

#[test]
fn mistakes_are_told_with_their_place_and_leave_the_engine_well() {
    let mut engine = Engine::default();
    let text = "[topology]\nkind = \"star\"\nhosts = 4\nhost_rate = \"10GBps\"\n[workload]\nkind = \"incast\"\n";
    let wrong = ask(
        &mut engine,
        &json!({ "ask": "check", "name": "scenario.toml", "text": text }),
    );
    assert_eq!(
        wrong["places"][0]["at"],
        json!([4, 13, "scenario.toml"]),
        "{wrong}"
    );
    let set = ask(
        &mut engine,
        &json!({ "ask": "check", "name": "incast", "sets": ["workload.sze=1KB"] }),
    );
    assert!(
        set["error"].as_str().unwrap().contains("did you mean"),
        "{set}"
    );
    let none = ask(&mut engine, &json!({ "ask": "check", "name": "incats" }));
    assert!(
        none["error"]
            .as_str()
            .unwrap()
            .contains("did you mean \"incast\"?"),
        "{none}"
    );
    // More than a page can hold is refused before it is made.
    let sets = json!([
        "topology.hosts_per_leaf=4000",
        "topology.leaves=4000",
        "workload.senders=1000"
    ]);
    let much = ask(
        &mut engine,
        &json!({ "ask": "run", "name": "incast", "sets": sets }),
    );
    assert!(much["error"].as_str().is_some(), "{much}");
    for text in ["", "{", "[]", "{\"ask\":\"fly\"}", "null"] {
        let answer: Value = serde_json::from_str(&engine.answer(text, &mut Alone)).unwrap();
        assert!(answer["error"].as_str().is_some(), "{text}: {answer}");
    }
    assert_eq!(ask(&mut engine, &short())["status"], "complete");
}

#[test]
fn what_did_not_finish_is_told_and_no_curve_reaches_all() {
    let mut engine = Engine::default();
    let mut asked = short();
    let sets = asked["sets"].as_array_mut().unwrap();
    sets.retain(|set| !set.as_str().unwrap().starts_with("run."));
    let whole = ask(&mut engine, &asked);
    assert_eq!(
        (&whole["unfinished"], &whole["ended"]),
        (&Value::Null, &json!(1.0))
    );
    let times: Vec<u64> = serde_json::from_value(whole["fct"].clone()).unwrap();
    // Half of the time is enough for some and not for all.
    let until = format!(
        "run.until={}ps",
        u64::midpoint(times[0], times[times.len() - 1])
    );
    asked["sets"].as_array_mut().unwrap().push(json!(until));
    let cut = ask(&mut engine, &asked);
    assert_eq!(
        cut["status"], "complete",
        "it came to the end that was asked for"
    );
    let told = cut["unfinished"].as_str().unwrap();
    let (late, of) = told.split_once(" of ").unwrap();
    let [late, of] = [late, of].map(|n| n.parse::<f64>().unwrap());
    assert!(late > 0.0 && late < of, "{told}");
    assert_eq!(cut["ended"], json!((of - late) / of));
    let times: Vec<u64> = serde_json::from_value(cut["fct"].clone()).unwrap();
    assert!(cut["cells"]["p99"][1].as_f64().unwrap() > times[times.len() - 1] as f64);
}

/// Sees a run go on.
struct Count(u64);
impl Watch for Count {
    fn progress(&mut self, at: &Progress) -> bool {
        assert!(at.hops >= self.0 && at.done <= at.total);
        self.0 = at.hops;
        true
    }
}

#[test]
fn a_page_learns_what_there_is_and_how_far_a_run_is() {
    let mut engine = Engine::default();
    let about = ask(&mut engine, &json!({ "ask": "about" }));
    let names = |key: &str| -> Vec<String> {
        let rows = about[key].as_array().unwrap().iter();
        rows.map(|row| row[0].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names("transports").contains(&"expresspass+aeolus".to_owned()));
    let builtins: Vec<_> = scenario::builtin::all().iter().map(|b| b.name).collect();
    assert_eq!(names("scenarios"), builtins);
    assert!(about["schema"]["properties"]["workload"]["properties"]["load"].is_object());

    let mut watch = Count(0);
    engine.answer(&short().to_string(), &mut watch);
    assert!(watch.0 > 100, "{}", watch.0);
}
