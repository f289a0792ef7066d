//! `reproduce`: nothing runs unasked, and what runs says its cost, its verdict and leaves its numbers.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, SMALL, text, tidegate};
use std::fs;

const EXPECTED: &str = "title = 'A small one'\nsource = '[ours]'\nseeds = 2\n[[case]]\n\
    name = 'one, two'\nquick = true\nrow = [\
    { metric = 'queue-max', evidence = 'ours', at_least = 1.0 },\
    { metric = 'jain', evidence = 'ours' }]\n\
    [[panel]]\nx = { title = 'case' }\ny = { title = 'largest queue (KB)', per = 1000.0 }\nmetric = 'queue-max'\n\
    series = [{ name = 'a queue', case = '{x}, two' }]\n\
    [[panel]]\nx = { title = 'FCT (us)' }\ny = { title = 'CDF', to = 1.0 }\ncurve = { fct = [0, 1000000000] }\n\
    series = [{ name = 'all', case = 'one, two' }]\n";

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    fs::create_dir_all(folder.0.join("mine")).unwrap();
    fs::write(folder.0.join("mine/scenario.toml"), SMALL).unwrap();
    fs::write(folder.0.join("mine/expected.toml"), EXPECTED).unwrap();
    folder
}

#[test]
fn without_a_name_it_lists_and_runs_nothing() {
    let folder = folder("reproduce-list");
    let output = tidegate(&folder.0, &["reproduce", "--quick"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        shown.contains("aeolus-fig8") && shown.contains("Nothing was run."),
        "{shown}"
    );
    let listed = text(&tidegate(&folder.0, &["reproduce", "--list"]).stdout);
    let columns: Vec<usize> = listed
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| {
            line.find(": ")
                .map_or(0, |_| line.split("  ").next().unwrap().len())
        })
        .collect();
    assert!(columns.len() > 30, "{listed}");
    let numbers = listed.lines().skip(1).take_while(|line| !line.is_empty());
    for line in numbers {
        assert!(
            line[23..]
                .trim_start()
                .starts_with(|c: char| c.is_ascii_digit()),
            "{line}"
        );
        assert_eq!(
            &line[35..37],
            "  ",
            "columns stand below each other: {line}"
        );
    }
}

#[test]
fn a_dry_run_tells_the_cost_and_runs_nothing() {
    let folder = folder("reproduce-dry");
    let output = tidegate(
        &folder.0,
        &["reproduce", "./mine", "--dry-run", "--out", "o"],
    );
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        shown.contains("one, two: 2 runs, about a second"),
        "{shown}"
    );
    assert!(
        shown.contains("in all 2 runs") && shown.contains("nothing was run"),
        "{shown}"
    );
    assert!(
        !shown.contains("verdict") && !folder.0.join("o").exists(),
        "{shown}"
    );
}

#[test]
fn the_page_of_a_part_says_that_it_is_one() {
    let folder = folder("reproduce-part");
    let slow = "[[case]]\nname = 'slow, two'\nrow = [{ metric = 'jain', evidence = 'ours' }]\n";
    let both = EXPECTED.replacen("[[panel]]", &format!("{slow}[[panel]]"), 1);
    fs::write(folder.0.join("mine/expected.toml"), both).unwrap();
    for (part, says) in [(true, true), (false, false)] {
        let args = ["reproduce", "./mine", "--out", "o", "--case", "one, two"];
        let output = tidegate(&folder.0, &args[..args.len() - 2 * usize::from(!part)]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let page = fs::read_to_string(folder.0.join("o/mine/figure.html")).unwrap();
        let page = page.replace('\u{a0}', " ");
        assert_eq!(page.contains("This is a part of it: 1 of 2 cases."), says);
    }
}

/// The terminal, the page, the picture and the result page each go around without the others.
#[test]
fn a_quick_run_says_everywhere_that_it_is_no_verdict_on_the_figure() {
    let folder = folder("reproduce-quick");
    let slow = "[[case]]\nname = 'slow, two'\nrow = [{ metric = 'jain', evidence = 'ours' }]\n";
    let both = EXPECTED.replacen("[[panel]]", &format!("{slow}[[panel]]"), 1);
    let both = both.replacen(
        "seeds = 2\n",
        "seeds = 2\nquick_set = ['workload.size=5KB']\n",
        1,
    );
    fs::write(folder.0.join("mine/expected.toml"), both).unwrap();
    let all_of = "This is a quick run and no verdict on the figure: one seed of 2, 1 of 2 cases, less traffic \
                  (workload.size=5KB), loose bounds (a ratio need only be on its side of 1). Without --quick all of \
                  it runs.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = |more: &[&str]| {
        let args = [&["reproduce", "./mine", "--out", "o"], more].concat();
        let output = tidegate(&folder.0, &args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let picture = fs::read_to_string(folder.0.join("o/mine/figure.svg")).unwrap();
        let page = fs::read_to_string(folder.0.join("o/mine/figure.html")).unwrap();
        let table = fs::read_to_string(folder.0.join("o/mine/verdicts.txt")).unwrap();
        // Lines of a picture are elements.
        let lines = picture
            .split('<')
            .filter(|part| part.starts_with("text class=\"q\""));
        let lines: Vec<&str> = lines.filter_map(|part| part.split('>').nth(1)).collect();
        let head = page.split("<figure").next().unwrap().replace('\u{a0}', " ");
        [text(&output.stdout), lines.join(" "), head, table]
    };
    let quick = run(&["--quick"]);
    for text in &quick {
        assert!(words(text).contains(all_of), "{text}");
    }
    assert!(
        quick[0].contains("\u{2713} in a quick run 1 of 1 expected"),
        "{}",
        quick[0]
    );
    assert!(
        quick[2].contains("In a quick run 1 of 1 bound holds."),
        "{}",
        quick[2]
    );
    let printed = tidegate(&folder.0, &["reproduce", "./mine", "--quick", "--markdown"]);
    assert!(text(&printed.stdout).contains(all_of));
    for text in run(&[]) {
        assert!(!text.contains("quick"), "{text}");
    }
}

#[test]
fn a_run_tells_its_cost_and_its_verdict_and_writes_its_numbers() {
    let folder = folder("reproduce-out");
    let output = tidegate(&folder.0, &["reproduce", "./mine", "--out", "o"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let order = [
        "2 runs, about a second",
        "bound holds",
        "\u{2713} 1 of 1 expected",
        "written: o/mine",
    ];
    let places: Vec<_> = order.map(|part| shown.find(part)).to_vec();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{places:?} {shown}"
    );
    assert!(
        shown.contains("1 have no public number; 2 runs in a second"),
        "{shown}"
    );
    let csv = fs::read_to_string(folder.0.join("o/mine/data.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 1 + 2 * 2, "{csv}");
    assert!(
        rows[1].starts_with("./mine,\"one, two\",largest queue B,,,1,")
            && rows[1].ends_with("ours,bound holds"),
        "{csv}"
    );
    let table = fs::read_to_string(folder.0.join("o/mine/verdicts.txt")).unwrap();
    assert!(table.contains("bound holds"), "{table}");
    let json = fs::read_to_string(folder.0.join("o/mine/verdicts.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let page = fs::read_to_string(folder.0.join("o/mine/figure.html")).unwrap();
    let page = page.replace('\u{a0}', " ");
    assert!(
        page.contains("1 of 1 bound holds.") && page.contains("largest queue (KB)"),
        "{page}"
    );
    let drawn = fs::read_to_string(folder.0.join("o/mine/figure.csv")).unwrap();
    let queue = drawn.lines().nth(1).unwrap();
    assert!(
        queue.starts_with("\"largest queue (KB)\",\"a queue\",\"one\","),
        "{drawn}"
    );
    let points: Vec<f64> = drawn
        .lines()
        .skip(2)
        .map(|line| line.split(',').nth(3).unwrap().parse().unwrap())
        .collect();
    assert!(
        points.len() > 50 && points.is_sorted() && points.last() == Some(&1.0),
        "{drawn}"
    );
    assert!(
        folder.0.join("o/mine/figure.svg").exists() && folder.0.join("o/mine/curves.csv").exists()
    );
    assert_eq!(json["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn runs_are_resumed_where_their_scenario_is_the_same_down_to_its_files() {
    let folder = folder("reproduce-resume");
    let run = |out: &str, more: &[&str]| {
        let args = [&["reproduce", "./mine", "--out", out], more].concat();
        let output = tidegate(&folder.0, &args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        fs::read_to_string(folder.path(&format!("{out}/mine/data.csv"))).unwrap()
    };
    let scenario = |text: &str| fs::write(folder.0.join("mine/scenario.toml"), text).unwrap();
    let senders = |count: u8| {
        let lines = (1..=count).map(|from| format!("{from},0,20KB,0s\n"));
        let text = "src,dst,size,start\n".to_owned() + &lines.collect::<String>();
        fs::write(folder.0.join("t.csv"), text).unwrap();
    };
    let curves = || fs::read_to_string(folder.path("o/mine/curves.csv")).unwrap();
    let first = (run("o", &[]), curves());
    assert_eq!((run("o", &["--resume"]), curves()), first);
    let (first, _) = first;
    // What is there is not run again: a number that was changed by hand comes back.
    let file = folder.path("o/mine/runs/one--two-1.txt");
    let kept = fs::read_to_string(&file).unwrap();
    let (before, number) = kept.split_once('\t').unwrap();
    fs::write(&file, format!("{before}\t1{number}")).unwrap();
    assert_ne!(run("o", &["--resume"]), first);
    scenario(&SMALL.replace("senders = 4", "senders = 2"));
    let two = run("o", &["--resume"]);
    assert!(two != first && two == run("a", &[]), "{two}");
    let topology = SMALL.split("[workload]").next().unwrap();
    scenario(&format!(
        "{topology}[workload]\nkind = \"trace\"\npath = \"t.csv\"\n"
    ));
    senders(4);
    let four = run("o", &["--resume"]);
    senders(3);
    let three = run("o", &["--resume"]);
    assert!(three != four && three == run("b", &[]), "{three}");
}

#[test]
fn a_name_that_is_almost_right_is_put_right() {
    let folder = folder("reproduce-name");
    let output = tidegate(&folder.0, &["reproduce", "aeolus-fg8"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("did you mean aeolus-fig8?") && said.len() < 200,
        "{said}"
    );
}

#[test]
fn a_gallery_without_results_on_record_is_an_error_that_says_what_to_do() {
    let folder = folder("reproduce-gallery");
    let output = tidegate(&folder.0, &["reproduce", "--gallery"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("run this in a clone"), "{said}");
    assert!(!folder.path("docs").exists());
}
