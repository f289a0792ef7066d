//! The pages for those who come from other simulators: what they name is here.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, text, tidegate};

const PAGES: [(&str, &str); 2] = [
    ("hpcc.md", include_str!("../../../docs/migration/hpcc.md")),
    ("htsim.md", include_str!("../../../docs/migration/htsim.md")),
];

/// What a page has in its second column: the words in backticks, with their lines.
fn named(page: &'static str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let cells: Vec<_> = line.split('|').collect();
        let [_, _, here, _, _] = cells[..] else {
            assert!(
                !line.starts_with("| "),
                "line {number} has another number of cells"
            );
            continue;
        };
        found.extend(
            here.split('`')
                .skip(1)
                .step_by(2)
                .map(|word| (number, word)),
        );
    }
    found
}

/// Every file of one small run with everything in it.
fn files_of_a_run(folder: &Folder) -> Vec<String> {
    let scenario =
        "[topology]\nkind = \"star\"\n[workload]\nkind = \"incast\"\n[output]\nhpcc = true\n";
    let file = folder.write("all.toml", scenario);
    let output = tidegate(&folder.0, &["run", &file, "--out", "all"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let files = std::fs::read_dir(folder.path("all")).unwrap();
    files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_key_option_command_and_file_that_a_page_names_exists() {
    let folder = Folder::new("migration");
    let files = files_of_a_run(&folder);
    let help = |command: &[&str]| tidegate(&folder.0, &[command, &["--help"]].concat());
    for (page, content) in PAGES {
        let named = named(content);
        assert!(named.len() > 15, "{page} names {}", named.len());
        for (line, word) in named {
            let place = format!("{page}:{line}: `{word}`");
            if let Some(rest) = word.strip_prefix("tidegate ") {
                let (command, options) = rest.split_once(' ').unwrap_or((rest, ""));
                let output = help(&[command]);
                assert_eq!(output.status.code(), Some(0), "{place}");
                assert!(text(&output.stdout).contains(options), "{place}");
            } else if word.starts_with("--") {
                let options = text(&help(&[]).stdout);
                assert!(options.contains(&format!(" {word}")), "{place}");
            } else if files.iter().any(|file| file == word) {
                // A run writes it.
            } else {
                let (key, value) = word.split_once(" = ").unwrap_or((word, ""));
                let output = tidegate(&folder.0, &["explain", key]);
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                assert_eq!(output.status.code(), Some(0), "{place}: {err}");
                // Words are listed with their quotes; true and false are what a switch takes.
                assert!(out.contains(value), "{place}: {out}");
            }
        }
    }
}

#[test]
fn the_scenario_at_the_top_of_a_page_is_one() {
    let folder = Folder::new("migration-scenario");
    folder.write(
        "topology.txt",
        "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
    );
    folder.write("flow.txt", "1\n0 1 3 100 65536 2.0\n");
    folder.write(
        "fat_tree_1024.topo",
        "Nodes 2\nTiers 2\nPodsize 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 1\nRadix_Up 1\n\
         Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n\
         Downlink_Latency_ns 1000\n",
    );
    folder.write(
        "allreduce.cm",
        "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 20000\n",
    );
    for (page, content) in PAGES {
        let block = content
            .split("```toml\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let file = folder.write("scenario.toml", block);
        let output = tidegate(&folder.0, &["check", &file]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{page}: {}",
            text(&output.stderr)
        );
    }
}

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
const FLOWS: &str = "1\n0 1 3 100 65536 2.0\n";

#[test]
fn an_old_experiment_of_hpcc_runs_in_three_commands() {
    let folder = Folder::new("migration-hpcc");
    std::fs::create_dir(folder.path("mix")).unwrap();
    folder.write("mix/topology.txt", TOPOLOGY);
    folder.write("mix/flow.txt", FLOWS);
    let config = "TOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nFCT_OUTPUT_FILE mix/fct.txt\nCC_MODE 3\n\
                  BUFFER_SIZE 16\nNEW_KEY 3\n";
    folder.write("mix/config.txt", config);
    // As it was called there: the program and its argument in one word.
    let output = tidegate(
        &folder.0,
        &["import", "./waf", "--run", "scratch/third mix/config.txt"],
    );
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        said.contains("wrote config.toml; try: tidegate check config.toml"),
        "{said}"
    );
    assert!(
        said.contains("line 6: NEW_KEY 3: this key is not known here"),
        "{said}"
    );
    for args in [
        &["check", "config.toml"][..],
        &["run", "config.toml", "--out", "o"],
    ] {
        let output = tidegate(&folder.0, args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let fct = std::fs::read_to_string(folder.path("o/fct.txt")).unwrap();
    assert!(fct.starts_with("0b000001 0b000101 "), "{fct}");
    // Into another folder, from which the files are still found; and never over a file.
    std::fs::create_dir(folder.path("new")).unwrap();
    let args = ["import", "--to", "new/old.toml", "mix/config.txt"];
    assert_eq!(tidegate(&folder.0, &args).status.code(), Some(0));
    let output = tidegate(&folder.0, &["check", "new/old.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = tidegate(&folder.0, &args);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("new/old.toml exists"));
}

#[test]
fn an_old_experiment_of_htsim_runs_in_three_commands() {
    let folder = Folder::new("migration-htsim");
    folder.write(
        "a.cm",
        "Nodes 16\nConnections 1\n0->15 id 1 start 0 size 20000\n",
    );
    let line =
        "import ./htsim_ndp -nodes 16 -tm a.cm -cwnd 23 -q 8 -strat perm -seed 13 -o log.dat";
    let output = tidegate(&folder.0, &line.split(' ').collect::<Vec<_>>());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("wrote htsim_ndp.toml"), "{said}");
    assert!(said.contains("-o log.dat: results are in"), "{said}");
    let output = tidegate(&folder.0, &["run", "htsim_ndp.toml", "--out", "o"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("seed 13"));
    let output = tidegate(&folder.0, &["import", "./other", "-x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("none of htsim's programs"));
}

/// A folder with the files of both simulators that the words below name.
fn experiments(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("topology.txt", TOPOLOGY);
    folder.write("flow.txt", FLOWS);
    folder.write(
        "a.cm",
        "Nodes 16\nConnections 1\n0->15 id 1 start 0 size 20000\n",
    );
    folder
}

#[test]
fn what_is_imported_under_ndp_can_be_checked_and_says_what_was_left_out() {
    let folder = experiments("import-ndp");
    for (options, said) in [
        ("-ecn 10 50", "NDP's ports cut packets and mark none here"),
        ("-queue_type lossless_input", "nothing is ever paused"),
        ("-pfc_thresholds 12 15", "nothing is ever paused"),
    ] {
        let line = format!("import --to i.toml htsim_ndp -nodes 16 -tm a.cm {options}");
        let output = tidegate(&folder.0, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let out = text(&output.stdout)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            out.contains(&format!("{options}: ")) && out.contains(said),
            "{out}"
        );
        let output = tidegate(&folder.0, &["check", "i.toml"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        std::fs::remove_file(folder.path("i.toml")).unwrap();
    }
}

#[test]
fn what_could_not_be_checked_is_not_imported() {
    let folder = experiments("import-odd");
    let refused = |words: &[&str], said: &str| {
        let output = tidegate(&folder.0, &[&["import", "--to", "i.toml"], words].concat());
        let error = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words:?}: {}{error}",
            text(&output.stdout)
        );
        assert!(error.contains(said), "{words:?}: {error}");
        assert!(!folder.path("i.toml").exists(), "{words:?}");
    };
    for options in [
        "-mtu 0",
        "-mtu 1",
        "-mtu 64",
        "-mtu 100000",
        "-end nan",
        "-end -1",
        "-end 1e30",
        "-cwnd 0",
        "-q 0",
        "-linkspeed 0",
        "-hop_latency nan",
        "-hop_latency -2",
    ] {
        let line = format!("htsim_ndp -nodes 16 -tm a.cm {options}");
        refused(&line.split(' ').collect::<Vec<_>>(), options);
    }
    let line = "htsim_dctcp -nodes 16 -tm a.cm -ecn 100 10";
    refused(&line.split(' ').collect::<Vec<_>>(), "-ecn 100 10");
    for keys in [
        "PACKET_PAYLOAD_SIZE 0",
        "PACKET_PAYLOAD_SIZE 1",
        "PACKET_PAYLOAD_SIZE 99999",
        "PACKET_PAYLOAD_SIZE 18446744073709551615",
        "SIMULATOR_STOP_TIME nan",
        "SIMULATOR_STOP_TIME -1",
        "SIMULATOR_STOP_TIME 1e30",
        "PMAX_MAP 1 100000000000 nan",
        "ERROR_RATE_PER_LINK 2",
        "KMIN_MAP 1 100000000000 nan",
        "KMIN_MAP 1 100000000000 400\nKMAX_MAP 1 100000000000 100",
    ] {
        let config = format!("TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 8\n{keys}\n");
        folder.write("config.txt", &config);
        refused(&["config.txt"], keys.lines().last().unwrap());
    }
    let late =
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nLINK_DOWN 18446744073709551615 0 2\n";
    folder.write("config.txt", late);
    refused(&["config.txt"], "is not after from");
}

#[test]
fn a_byte_that_no_comment_can_have_is_spelled_out() {
    let folder = experiments("import-zero");
    let config = "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 8\nODD\0KEY 1\n";
    folder.write("config.txt", config);
    let output = tidegate(&folder.0, &["import", "--to", "i.toml", "config.txt"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("ODD\\u{0}KEY"),
        "{}",
        text(&output.stdout)
    );
    let output = tidegate(&folder.0, &["check", "i.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn options_after_the_imported_command_are_honoured_or_told_their_place() {
    let folder = experiments("import-order");
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let run = |line: &str| {
        let words = words(line);
        tidegate(
            &folder.0,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    for (line, file) in [
        (
            "import ./htsim_ndp -nodes 16 -tm a.cm --to x.toml",
            "x.toml",
        ),
        (
            "import ./htsim_ndp -nodes 16 -tm a.cm --to=y.toml -seed 3",
            "y.toml",
        ),
    ] {
        let output = run(line);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(folder.path(file).is_file());
        let toml = std::fs::read_to_string(folder.path(file)).unwrap();
        assert!(!toml.contains("nothing came of"), "{toml}");
    }
    let output = run("import ./htsim_ndp -tm a.cm -nodes --to z.toml");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("-nodes: its value is missing; it should be a number"),
        "{said}"
    );
    let said = text(&run("import ./htsim_ndp -nodes 16 -tm a.cm --json").stderr);
    assert!(
        said.contains(
            "--json comes before the command that is imported: tidegate import --json ./htsim_ndp"
        ),
        "{said}"
    );
}
