//! `advise`: on traffic of several groups nobody is called best without what they pay.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use common::{Folder, text, tidegate};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Four leaves with four hosts each, two spines.
fn fabric() -> String {
    let mut nodes = String::new();
    let mut edges = String::new();
    let mut edge = |a: &str, b: &str| {
        let _ = write!(
            edges,
            "<edge source=\"{a}\" target=\"{b}\"><data key=\"r\">100Gbps</data><data \
             key=\"d\">1us</data></edge>"
        );
    };
    for leaf in 0..4 {
        for spine in 0..2 {
            edge(&format!("leaf{leaf}"), &format!("spine{spine}"));
        }
        for host in 0..4 {
            edge(&format!("gpu{}", 4 * leaf + host), &format!("leaf{leaf}"));
        }
    }
    let names = (0..16).map(|i| format!("gpu{i}"));
    let names = names.chain((0..4).map(|i| format!("leaf{i}")));
    for name in names.chain((0..2).map(|i| format!("spine{i}"))) {
        let _ = write!(nodes, "<node id=\"{name}\"/>");
    }
    format!(
        "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key id=\"r\" \
         for=\"edge\" attr.name=\"rate\" attr.type=\"string\"/><key id=\"d\" for=\"edge\" \
         attr.name=\"delay\" attr.type=\"string\"/><graph \
         edgedefault=\"undirected\">{nodes}{edges}</graph></graphml>"
    )
}

/// Rings of an all-reduce, calls between all hosts, and a checkpoint that many write to one.
fn trace() -> String {
    let mut text = String::from("src,dst,size,start,tag\n");
    for step in 0..2 {
        for host in 0..16 {
            let (to, at) = ((host + 1) % 16, 60 * step);
            let _ = writeln!(text, "gpu{host},gpu{to},400KB,{at}us,allreduce");
        }
    }
    for call in 0..60 {
        let (from, to) = (call % 16, (call * 7 + 3) % 16);
        if from != to {
            let _ = writeln!(text, "gpu{from},gpu{to},2KB,{}us,rpc", 3 * call);
        }
    }
    for host in 1..13 {
        let _ = writeln!(text, "gpu{host},gpu0,150KB,20us,checkpoint");
    }
    text
}

/// Per transport and tag: the mean over seeds of the longest time from a tag's first start to its last
/// end, read off the tables.
fn last_bytes(folder: &Folder) -> BTreeMap<(String, String), f64> {
    let mut spans: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for dir in std::fs::read_dir(folder.path("out")).unwrap() {
        let dir = dir.unwrap().path();
        let Ok(table) = std::fs::read_to_string(dir.join("flows.csv")) else {
            continue;
        };
        let summary = std::fs::read_to_string(dir.join("summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let resolved = std::fs::read_to_string(dir.join("resolved.toml")).unwrap();
        if !resolved.contains("\nbuffer = \"384.5KB\"") {
            continue; // one of those with another buffer
        }
        let mut lines = table.lines();
        let head: Vec<&str> = lines.next().unwrap().split(',').collect();
        let at = |name: &str| head.iter().position(|title| *title == name).unwrap();
        let mut ends: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |name: &str| cells[at(name)].parse::<f64>().unwrap();
            let tag = cells[at("tag")].trim_matches('"').to_owned();
            let span = ends.entry(tag).or_insert((f64::INFINITY, 0.0));
            *span = (span.0.min(number("start_ps")), span.1.max(number("end_ps")));
        }
        let transport = summary["transport"].as_str().unwrap();
        for (tag, (first, last)) in ends {
            let spans = spans.entry((transport.to_owned(), tag)).or_default();
            spans.push(last - first);
        }
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    spans
        .into_iter()
        .map(|(key, values)| (key, mean(values)))
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one advice is read in several ways")]
fn nobody_is_best_without_the_price_that_a_group_pays() {
    let folder = Folder::new("advise");
    folder.write("fabric.graphml", &fabric());
    folder.write("messages.csv", &trace());
    let args = [
        "advise",
        "messages.csv",
        "--topology",
        "fabric.graphml",
        "--seeds",
        "2",
    ];
    let more = ["--transport", "expresspass,dctcp,homa", "--json"];
    let done = tidegate(&folder.0, &[&args[..], &more[..]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let document: Value = serde_json::from_str(&text(&done.stdout)).unwrap();
    let advice = &document["advice"];
    let best = advice["best"].as_str().unwrap();
    let rivals: Vec<&str> = advice["rivals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r.as_str().unwrap())
        .collect();
    assert_eq!(rivals, ["expresspass", "dctcp", "homa"]);
    let verdicts = advice["verdicts"].as_array().unwrap();
    let prices: Vec<&str> = advice["prices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap())
        .collect();
    // Every part that others lead is paid for by name.
    for verdict in verdicts {
        let part = verdict["part"].as_str().unwrap();
        let winners: Vec<&str> = verdict["winners"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_str().unwrap())
            .collect();
        let paid = prices
            .iter()
            .any(|price| price.starts_with(&format!("{part}: ")));
        assert_eq!(
            paid,
            !winners.is_empty() && !winners.contains(&best),
            "{verdict} {prices:?}"
        );
    }
    if let Some(worst) = prices.first() {
        let more = advice["more"].as_str().unwrap();
        assert!(
            more.contains(worst),
            "the price stands by the claim: {more}"
        );
    }
    // Who is said to be ahead is ahead in the tables.
    let measured = last_bytes(&folder);
    let mut told = 0;
    for tag in ["allreduce", "rpc", "checkpoint"] {
        let part = format!("last byte of all, tag {tag}");
        let verdict = verdicts
            .iter()
            .find(|v| v["part"] == part.as_str())
            .unwrap();
        let least = rivals
            .iter()
            .map(|r| measured[&((*r).to_owned(), tag.to_owned())]);
        let least = least.fold(f64::INFINITY, f64::min);
        if let [winner] = &verdict["winners"].as_array().unwrap()[..] {
            let own = measured[&(winner.as_str().unwrap().to_owned(), tag.to_owned())];
            assert!((own - least).abs() < 1.0, "{verdict}: {own} {least}");
            told += 1;
        }
    }
    assert!(told > 0, "{verdicts:?}");
    // It says what it needs, what it tried, and what it cannot tell.
    let needs = document["needs"].to_string();
    let mut of_homa = document["needs"].as_array().unwrap().iter();
    let of_homa = of_homa.rfind(|need| need[0] == "homa").unwrap();
    assert!(
        of_homa[1]
            .to_string()
            .contains("8 at most, by strict priority"),
        "{of_homa}"
    );
    assert!(
        needs.contains("credits at 100") && needs.contains("marking at 100"),
        "{needs}"
    );
    let tried = document["tried"].to_string();
    assert!(
        tried.contains("(twice)") && tried.contains("(half)"),
        "{tried}"
    );
    let unjudged = advice["unjudged"].to_string();
    assert!(
        unjudged.contains("messages tagged checkpoint (12)"),
        "{unjudged}"
    );
    // Every link of the page leads to a run.
    let page = document["report"].as_str().unwrap();
    let html = std::fs::read_to_string(folder.path(page)).unwrap();
    // Who is named in a claim is a link to their first run.
    let part = |from: &str, to: &str| {
        let rest = html.split_once(from).unwrap().1;
        rest.split_once(to).unwrap().0
    };
    for claim in [part("<h1>", "</h1>"), part("id=\"verdicts\"", "</figure>")] {
        let linked = claim.matches(&format!("{best}</a>")).count();
        assert!(
            linked > 0 && linked == claim.matches(best).count(),
            "{claim}"
        );
    }
    if !prices.is_empty() {
        assert!(part("id=\"price\"", "</figure>").contains("under <a href"));
    }
    // So is who needs something of switches; what is not judged leads to a run or to all.
    let rows = |section: &str, open: &str| -> Vec<String> {
        let rows = part(section, "</figure>").split(open).skip(1);
        rows.map(str::to_owned).collect()
    };
    let needs = rows("id=\"needs\"", "<tr><td>");
    assert!(
        needs.len() > 1 && needs.iter().all(|row| row.starts_with("<a href=\"")),
        "{needs:?}"
    );
    let unjudged = rows("id=\"unjudged\"", "<li>");
    assert!(
        !unjudged.is_empty() && unjudged.iter().all(|item| item.contains("<a href=\"")),
        "{unjudged:?}"
    );
    let links: Vec<&str> = html
        .split("<a href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(links.len() >= 3 * 2 + 2, "{links:?}");
    for link in links {
        let here = link.strip_prefix('#');
        let there = || folder.path("out").join(link).is_file();
        let found = here.map_or_else(there, |id| html.contains(&format!("id=\"{id}\"")));
        assert!(found, "{link}");
    }
}

/// Settings that were tried with the only transport, what came of them, and the page.
fn tried(folder: &Folder, transport: &str) -> (Vec<String>, String) {
    let args = ["advise", "incast", "--seeds", "1", "--set"];
    let more = ["workload.senders=8", "--json", "--transport", transport];
    let done = tidegate(&folder.0, &[&args[..], &more[..]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let document: Value = serde_json::from_str(&text(&done.stdout)).unwrap();
    let tried = document["tried"].as_array().unwrap().iter();
    let tried = tried.map(|tried| tried[0].as_str().unwrap().to_owned());
    let page = folder.path(document["report"].as_str().unwrap());
    (tried.collect(), std::fs::read_to_string(page).unwrap())
}

#[test]
fn the_threshold_that_ports_have_by_default_is_tried() {
    let folder = Folder::new("advise-thresholds");
    let (tried_dctcp, page) = tried(&folder, "dctcp");
    let thresholds = [
        "switch.mark.min=49985B (half)",
        "switch.mark.min=199940B (twice)",
    ];
    assert_eq!(tried_dctcp[2..], thresholds);
    let says = "half and twice the buffer and the marking threshold of its ports";
    assert!(page.contains(says), "{page}");
    let (tried_aeolus, _) = tried(&folder, "expresspass+aeolus");
    let thresholds = [
        "switch.drop.threshold=3076B (half)",
        "switch.drop.threshold=12304B (twice)",
    ];
    assert_eq!(tried_aeolus[2..], thresholds);
}

#[test]
fn a_trace_without_its_fabric_and_a_mistake_are_refused_in_words() {
    let folder = Folder::new("advise-wrong");
    folder.write("messages.csv", &trace());
    let scenario = tidegate(
        &folder.0,
        &["advise", "messages.csv", "--topology", "fabric.toml"],
    );
    assert_eq!(scenario.status.code(), Some(2));
    assert!(text(&scenario.stderr).contains("fabric.toml is a scenario, and no list of nodes"));
    let alone = tidegate(&folder.0, &["advise", "messages.csv"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone.stderr));
    assert!(
        text(&alone.stderr).contains("--topology FILE"),
        "{}",
        text(&alone.stderr)
    );
    let wrong = tidegate(
        &folder.0,
        &["advise", "web-search", "--set", "workload.laod=0.5"],
    );
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).contains("did you mean"),
        "{}",
        text(&wrong.stderr)
    );
}

/// Eight hosts, of which seven send to one what does not fit into the time.
const OVERLOAD: &str = "[topology]\nkind = \"star\"\nhosts = 8\n[[workload]]\nkind = \"incast\"\nsenders = 7\nsize = \
                        \"10KB\"\n[[workload]]\nkind = \"incast\"\nreceiver = 1\nsenders = 7\nsize = \"50MB\"\n\
                        [run]\nuntil = \"1ms\"\n";

#[test]
fn where_everybody_is_overloaded_nobody_is_best_and_the_page_says_the_rest() {
    let folder = Folder::new("advise-overload");
    folder.write("over.toml", OVERLOAD);
    let args = [
        "advise",
        "over.toml",
        "--seeds",
        "1",
        "--transport",
        "expresspass,dctcp,dctcp",
    ];
    let done = tidegate(&folder.0, &[&args[..], &["--json"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let document: Value = serde_json::from_str(&text(&done.stdout)).unwrap();
    let advice = &document["advice"];
    assert_eq!(
        (&advice["best"], &advice["rivals"]),
        (&Value::Null, &serde_json::json!(["expresspass", "dctcp"]))
    );
    let claim = advice["claim"].as_str().unwrap();
    assert!(claim.contains("can be called best"), "{claim}");
    let small = advice["verdicts"].as_array().unwrap().iter();
    let mut small = small.filter(|v| !v["winners"].as_array().unwrap().is_empty());
    assert!(small.next().is_some(), "what ended is judged: {advice}");
    let page = document["report"].as_str().unwrap();
    assert!(folder.path(page).is_file());
}

#[test]
fn one_seed_judges_no_setting_and_a_dry_run_says_what_it_would_take() {
    let folder = Folder::new("advise-once");
    let args = [
        "advise",
        "incast",
        "--transport",
        "ndp",
        "--set",
        "workload.senders=40",
        "--seeds",
        "1",
    ];
    let done = tidegate(&folder.0, &[&args[..], &["--json"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let document: Value = serde_json::from_str(&text(&done.stdout)).unwrap();
    let tried = document["tried"].to_string();
    assert!(
        !tried.contains("better") && !tried.contains("worse"),
        "{tried}"
    );
    let dry = tidegate(&folder.0, &[&args[..], &["--dry-run"]].concat());
    let said = text(&dry.stdout);
    assert!(
        said.contains("\n# 1 run, about a second on one thread; then the best one again"),
        "{said}"
    );
}

#[test]
fn a_mistake_in_the_messages_is_blamed_on_their_file() {
    let folder = Folder::new("advise-empty");
    folder.write("fabric.graphml", &fabric());
    folder.write("empty.csv", "src,dst,size,start\n");
    let args = [
        "advise",
        "empty.csv",
        "--topology",
        "fabric.graphml",
        "--transport",
        "ndp",
    ];
    let done = tidegate(&folder.0, &args);
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(
        said.starts_with("error: empty.csv: nothing is sent\n"),
        "{said}"
    );
    assert!(
        said.contains("the file holds no message") && !said.contains(".toml"),
        "{said}"
    );
}

#[test]
fn who_trims_is_said_to_need_it_and_no_buffer_is_tried_that_nobody_reads() {
    let folder = Folder::new("advise-ndp");
    let all = [
        "advise",
        "incast",
        "--seeds",
        "1",
        "--set",
        "workload.senders=8",
        "--transport",
        "ndp",
    ];
    let done = tidegate(&folder.0, &[&all[..], &["--json"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let document: Value = serde_json::from_str(&text(&done.stdout)).unwrap();
    let needs = document["needs"].to_string();
    assert!(
        needs.contains("\"2 at most, in turns of 1:10 packets\""),
        "{needs}"
    );
    assert!(
        needs.contains("\"trimming at 100 Gb/s\",\"beyond 8 packets of data frames are cut to 84 B; 10 heads go"),
        "{needs}"
    );
    // What its ports have is tried, and no other threshold.
    let tried: Vec<&str> = document["tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| tried[0].as_str().unwrap())
        .collect();
    assert_eq!(
        tried,
        [
            "transport.ndp.queue=4 (half)",
            "transport.ndp.queue=16 (twice)"
        ]
    );
    let before = std::fs::read_dir(folder.path("out")).unwrap().count();
    folder.write("fabric.graphml", &fabric());
    folder.write("a b.csv", &trace());
    let dry = [
        "advise",
        "a b.csv",
        "--topology",
        "fabric.graphml",
        "--transport",
        "homa",
        "--dry-run",
    ];
    let done = tidegate(&folder.0, &dry);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let after = std::fs::read_dir(folder.path("out")).unwrap().count();
    assert_eq!(after, before, "a dry run writes nothing");
    // What it says begins with the file that the runs name, and that a real run leaves.
    let said = text(&done.stdout);
    let (writes, runs) = said.split_once("END\n").unwrap();
    let writes = format!("{writes}END\n");
    assert!(runs.starts_with("tidegate run"), "{said}");
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", &writes]).current_dir(&folder.0);
    assert!(shell.status().unwrap().success(), "{writes}");
    let files = |folder: &Folder| std::fs::read_dir(folder.path("out")).unwrap().count();
    assert_eq!(files(&folder), before + 1, "{writes}");
    let named = runs.split('\'').nth(1).unwrap();
    let checked = tidegate(&folder.0, &["check", named]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    // One that is there stays.
    tidegate(&folder.0, &dry);
    assert_eq!(files(&folder), before + 1);
    // Nor does it leave a folder where there was none.
    let elsewhere = [&dry[..], &["--out", "deep/er"]].concat();
    assert_eq!(tidegate(&folder.0, &elsewhere).status.code(), Some(0));
    assert!(!folder.path("deep").exists());
}
