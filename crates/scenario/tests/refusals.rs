//! What a scenario is refused with: the place, and what to write instead.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use scenario::{Alone, Files, Scenario};
use std::sync::Arc;

/// What is said of a scenario that cannot run, with these settings on top.
fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    let found = scenario::load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    match found {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors.render(false),
    }
}

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 4\n";
const INCAST: &str =
    "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"incast\"\nsenders = 3\n";

#[test]
fn an_empty_list_of_workloads_is_none() {
    let said = refused(&format!("workload = []\n{STAR}"), &[]);
    assert!(said.contains("there is no [workload]"), "{said}");
    assert!(
        said.contains("t.toml:1:12") && said.contains("add one, like"),
        "{said}"
    );
    let said = refused(INCAST, &["workload=[]"]);
    assert!(
        said.contains("there is no [workload]") && said.contains("--set:1:10"),
        "{said}"
    );
    let text = "{\"topology\": {\"kind\": \"star\"}, \"workload\": []}";
    let found = scenario::load_text("t.json", text, &[]);
    let said = found.err().unwrap().render(false);
    assert!(said.contains("there is no [workload]"), "{said}");
}

/// The same of a fabric or a trace in a file.
fn refused_with(file: &str, content: &str, text: &str) -> String {
    let files = Arc::new(Files::from([(file.to_owned(), content.to_owned())]));
    let found =
        scenario::load_files("t.toml", Some(text), &[], &files).and_then(Scenario::assemble);
    match found {
        Ok(_) => panic!("accepted:\n{content}"),
        Err(errors) => errors.render(false),
    }
}

#[test]
fn a_second_cable_of_a_host_is_refused_at_its_line() {
    let text = "[topology]\nkind = \"file\"\npath = \"f.txt\"\n[workload]\nkind = \"incast\"\nsenders = 3\n";
    let links = "1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n# the last\n4 3 100Gbps 1us 0\n";
    let twice = format!("5 1 5\n4\n0 4 100Gbps 1us 0\n4 0 100Gbps 1us 0\n{links}");
    let said = refused_with("f.txt", &twice, text);
    assert!(said.contains("a second link of host 0"), "{said}");
    assert!(
        said.contains("f.txt:4:3") && said.contains("remove the line"),
        "{said}"
    );
    let whole = format!("5 1 4\n4\n0 4 100Gbps 1us 0\n{links}");
    let files = Arc::new(Files::from([("f.txt".to_owned(), whole)]));
    let found =
        scenario::load_files("t.toml", Some(text), &[], &files).and_then(Scenario::assemble);
    assert!(found.is_ok());
}

#[test]
fn what_can_be_the_name_of_no_folder_is_refused() {
    for (dir, place) in [("\"\"", "t.toml:8:7"), ("\"a\\u0000b\"", "t.toml:8:7")] {
        let said = refused(&format!("{INCAST}[output]\ndir = {dir}\n"), &[]);
        let whole = said.contains("output.dir is the name of no folder") && said.contains(place);
        assert!(whole && said.contains("like \"out/mine\""), "{said}");
        let said = refused(INCAST, &[&format!("output.dir={dir}")]);
        assert!(
            said.contains("output.dir is the name of no folder"),
            "{said}"
        );
    }
}

#[test]
fn a_load_of_uplinks_that_are_not_there_names_the_key_to_change() {
    let random =
        format!("{STAR}[workload]\nkind = \"random\"\nload_of = \"uplinks\"\nmessages = 9\n");
    let said = refused(&random, &[]);
    assert!(
        said.contains("write load_of = \"hosts\"") && said.contains("t.toml:6:11"),
        "{said}"
    );
}

#[test]
fn a_spread_of_gaps_has_the_range_that_it_is_said_to_have() {
    let random = format!(
        "{STAR}[workload]\nkind = \"random\"\ngaps = \"lognormal\"\nmessages = 9\nload = 0.1\n"
    );
    let said = refused(&random, &["workload.sigma=5.1"]);
    assert!(
        said.contains("5.1 is out of range") && said.contains("0.01 to 5"),
        "{said}"
    );
    for sigma in ["5", "0.01"] {
        let sets = [format!("workload.sigma={sigma}")];
        let found = scenario::load_text("t.toml", &random, &sets).and_then(Scenario::assemble);
        assert!(
            found.is_ok(),
            "{sigma}: {}",
            found.err().unwrap().render(false)
        );
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_read_to_a_bound() {
    let trace = |path: &str| format!("{STAR}[workload]\nkind = \"trace\"\npath = \"{path}\"\n");
    for path in ["/dev/zero", "/dev/urandom"] {
        let said = refused(&trace(path), &[]);
        assert!(
            said.contains(&format!("cannot read {path}: it is no file")),
            "{said}"
        );
        assert!(
            said.contains("t.toml:6:8") && said.contains("save it as text"),
            "{said}"
        );
        let fabric = format!(
            "[topology]\nkind = \"file\"\npath = \"{path}\"\n[workload]\nkind = \"incast\"\n"
        );
        assert!(refused(&fabric, &[]).contains("it is no file"));
        let sizes =
            format!("{STAR}[workload]\nkind = \"random\"\nmessages = 9\nsizes = \"{path}\"\n");
        assert!(refused(&sizes, &[]).contains("it is no file"));
    }
    // As a shell has it for <(...): it ends, and is a text.
    let folder = std::env::temp_dir().join(format!("tidegate-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe.csv");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|status| status.success()) {
        let path = pipe.display().to_string();
        let writer = std::thread::spawn(move || std::fs::write(pipe, "0,1,1KB,0s\n").unwrap());
        let found = scenario::load_text("t.toml", &trace(&path), &[]).and_then(Scenario::assemble);
        assert_eq!(
            found
                .unwrap_or_else(|e| panic!("{e}"))
                .traffic
                .messages
                .len(),
            1
        );
        writer.join().unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn numbers_out_of_range_are_said_in_few_digits() {
    let random = format!("{STAR}[workload]\nkind = \"random\"\nmessages = 9\n");
    let said = refused(&random, &["workload.load=1e-300"]);
    assert!(
        said.contains("1e-300 is out of range") && said.len() < 400,
        "{said}"
    );
    let said = refused(&random, &["workload.load=1.5"]);
    assert!(said.contains("1.5 is out of range"), "{said}");
}

#[test]
fn a_mean_far_from_what_is_drawn_is_blamed_for_the_load() {
    let random =
        format!("{STAR}[workload]\nkind = \"random\"\nmessages = 9\nassumed_mean = \"1B\"\n");
    let said = refused(&random, &[]);
    assert!(
        said.contains("write a mean nearer to that") && said.contains("t.toml:7:16"),
        "{said}"
    );
}

#[test]
fn a_flow_control_that_is_no_table_is_refused_whether_it_is_used_or_not() {
    for (used, line) in [("", 8), ("flow_control = \"pfc\"\n", 9)] {
        let said = refused(&format!("{INCAST}[switch]\n{used}pfc = []\n"), &[]);
        assert!(
            said.contains("switch.pfc is a list") && !said.contains("2 errors"),
            "{said}"
        );
        assert!(said.contains(&format!("t.toml:{line}:7")), "{said}");
        assert!(said.contains("write a table: [switch.pfc]"), "{said}");
    }
}

#[test]
fn a_parameter_that_stands_in_the_table_above_is_told_where_it_belongs() {
    for (table, owner) in [
        (
            "[transport]\nkind = \"sird\"\nshortest = 1.0\n",
            "transport.sird",
        ),
        (
            "[switch]\nflow_control = \"pfc\"\nheadroom = \"9KB\"\n",
            "switch.pfc",
        ),
    ] {
        let said = refused(&format!("{INCAST}{table}"), &[]);
        let wanted = format!("this is a parameter: write it in [{owner}]");
        assert!(
            said.contains("unknown key") && said.contains(&wanted),
            "{said}"
        );
    }
    let said = refused(
        &format!("{INCAST}[transport]\nkind = \"sird\"\nalpha = 1.0\n"),
        &[],
    );
    assert!(said.contains("known are kind, profile"), "{said}");
}

#[test]
fn a_rate_that_times_cannot_tell_from_a_faster_one_is_refused() {
    for rate in ["18446744073709551615bps", "8.1Tbps"] {
        let said = refused(INCAST, &[&format!("topology.host_rate={rate}")]);
        assert!(said.contains("no line has more than 8Tbps"), "{said}");
        assert!(
            said.contains("this key takes a rate, 1Kbps to 8Tbps"),
            "{said}"
        );
    }
    let said = refused(INCAST, &["topology.host_rate=999bps"]);
    assert!(said.contains("no line has less than 1Kbps"), "{said}");
    let said = refused(INCAST, &["topology.host_rate=0bps"]);
    assert!(
        said.contains("a line of rate 0 carries nothing") && said.contains("--set:1:20"),
        "{said}"
    );
    let sets = ["topology.host_rate=8Tbps".to_owned()];
    let found = scenario::load_text("t.toml", INCAST, &sets).and_then(Scenario::assemble);
    assert!(found.is_ok());
}

/// Tables may stand there for a comparison, and are read all the same.
#[test]
fn what_is_wrong_with_a_table_that_this_run_does_not_use_is_said() {
    let text = "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"permutation\"\nsize = \"20KB\"\n\
                [transport]\nkind = \"expresspass+aeolus\"\n";
    let read = |more: &str| {
        scenario::load_text("t.toml", &format!("{text}{more}"), &[]).map_err(|e| e.to_string())
    };
    for (more, says) in [
        (
            "[transport.dctcp]\nzzz = 0.5\n",
            "transport.dctcp.zzz cannot be used",
        ),
        (
            "[transport.dctcp]\ninitial_window = \"many\"\n",
            "transport.dctcp.initial_window cannot be used",
        ),
        (
            "[transport.expresspass]\nzzz = 1\n",
            "transport.expresspass.zzz cannot be used",
        ),
        (
            "[switch.pfc]\nxofff = \"10KB\"\n",
            "switch.pfc.xofff cannot be used",
        ),
        (
            "[switch]\nflow_control = \"pfc\"\n[switch.bfc]\nzzz = 1\n",
            "switch.bfc.zzz cannot be used",
        ),
    ] {
        let said = read(more).map(drop).expect_err(more);
        assert!(said.contains(says) && said.contains("t.toml:"), "{said}");
        assert_eq!(said.matches("cannot be used").count(), 1, "{said}");
    }
    // What only a transport above another knows may be written for the one below.
    for fine in [
        "[transport.dctcp]\ninitial_window = 3\n[transport.expresspass]\nalpha = 0.25\nsubtract_burst = true\n",
        "[transport.homa]\n[switch.aquarius]\n[switch.pfc]\nxon_gap = \"1KB\"\n",
    ] {
        read(fine).unwrap_or_else(|why| panic!("{fine}: {why}"));
    }
}

#[test]
fn who_cannot_go_together_is_told_who_can() {
    let said = refused(INCAST, &["transport.kind=ndp", "switch.flow_control=pfc"]);
    assert!(
        said.contains("or set transport.kind = \"ndp+aeolus\", which works with it"),
        "{said}"
    );
    let far = ["transport.kind=fastpass", "topology.host_delay=2ms"];
    let said = refused(INCAST, &far);
    assert!(
        said.contains("make delays on the way there and back 6.995ms less in sum, or lines slower"),
        "{said}"
    );
    let accepts = |sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let found = scenario::load_text("t.toml", INCAST, &sets);
        found.and_then(Scenario::assemble).is_ok()
    };
    let (kind, far) = ("transport.kind=fastpass", "topology.host_delay=1ms");
    let said = refused(INCAST, &[kind, far, "run.mtu=6070B"]);
    assert!(said.contains("(run.mtu = \"6071B\")"), "{said}");
    assert!(accepts(&[kind, far, "run.mtu=6071B"]));
    let delay = |delay: &str| {
        let sets = [
            "transport.kind=fastpass".to_owned(),
            format!("topology.host_delay={delay}"),
        ];
        scenario::load_text("t.toml", INCAST, &sets)
            .and_then(Scenario::assemble)
            .is_ok()
    };
    assert_eq!([delay("251us"), delay("252us")], [true, false]);
}

/// Packets cannot be spread where one way leads, and credits keep to theirs.
#[test]
fn packets_that_overtake_each_other_are_warned_of_where_there_are_several_ways() {
    let several = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
                   [workload]\nkind = \"incast\"\nsenders = 3\n";
    for kind in ["expresspass", "none"] {
        for balance in ["packet", "flowlet", "adaptive", "flow"] {
            let warned = |text: &str| {
                let sets = [
                    format!("transport.kind={kind}"),
                    format!("switch.balance={balance}"),
                ];
                let found = scenario::load_text("t.toml", text, &sets).and_then(Scenario::assemble);
                let warnings = found.unwrap_or_else(|e| panic!("{e}")).warnings.join("\n");
                assert!(!warnings.contains("credits overtake"), "{warnings}");
                warnings.contains("packets are spread over all paths")
            };
            assert!(!warned(INCAST), "{kind}, {balance}");
            assert_eq!(warned(several), balance != "flow", "{kind}, {balance}");
        }
    }
}

#[test]
fn a_cable_that_fails_under_an_arbiter_is_warned_of() {
    let warned = |kind: &str, fault: &str, link: &str| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 4\n[workload]\nkind = \"permutation\"\n\
             size = \"20KB\"\n[transport]\nkind = \"{kind}\"\n[[faults]]\nkind = \"{fault}\"\nlink = \"{link}\"\n{}",
            if fault == "loss" {
                "chance = 0.1\n"
            } else {
                ""
            }
        );
        let run = scenario::load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
        let warnings = run.unwrap_or_else(|e| panic!("{e}")).warnings;
        warnings
            .join("\n")
            .contains("gives away the lines of all cables")
    };
    assert!(warned("fastpass", "down", "tor0 <-> spine1"));
    assert!(!warned("fastpass", "loss", "tor0 -> spine1"));
    assert!(!warned("ndp", "down", "tor0 <-> spine1"));
}

#[test]
fn a_window_that_does_not_fill_the_line_is_warned_of() {
    let warned = |kind: &str, delay: &str| {
        let text = format!("{INCAST}[transport]\nkind = \"{kind}\"\n");
        let sets = [
            "topology.host_rate=100Gbps".to_owned(),
            "workload.size=100MB".to_owned(),
            format!("topology.host_delay={delay}"),
        ];
        let run = scenario::load_text("t.toml", &text, &sets).and_then(Scenario::assemble);
        run.expect("it is right").warnings.join("\n")
    };
    // Two links and back: 2 ms are 16,255 full frames, and 0.4 ms 3,251.
    for (kind, more, enough) in [
        ("ndp", "500us", "100us"),
        ("ndp+aeolus", "100us", "25us"),
        ("phost", "600us", "400us"),
        ("dcpim", "600us", "400us"),
    ] {
        let said = warned(kind, more);
        assert!(
            said.contains("one message fills") && said.contains(kind),
            "{kind}: {said}"
        );
        let said = warned(kind, enough);
        assert!(!said.contains("one message fills"), "{kind}: {said}");
    }
    assert!(!warned("dctcp", "500us").contains("one message fills"));
    let said = warned("homa", "10us");
    assert!(
        said.contains("a larger transport.homa.max_incoming"),
        "{said}"
    );
}

#[test]
fn what_a_switch_does_not_do_for_a_transport_is_said() {
    let warned = |sets: &[&str]| -> String {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let found = scenario::load_text("t.toml", INCAST, &sets).and_then(Scenario::assemble);
        found.unwrap_or_else(|e| panic!("{e}")).warnings.join("\n")
    };
    let few = "switch.priorities = 1, and homa asks for 8";
    assert!(warned(&["transport.kind=homa", "switch.priorities=1"]).contains(few));
    assert!(!warned(&["transport.kind=dctcp", "switch.priorities=1"]).contains("priorities"));
    let many = warned(&["transport.kind=expresspass", "switch.priorities=4"]);
    let vain = "switch.priorities = 4 changes nothing: expresspass sends at 1 priority";
    assert!(many.contains(vain), "{many}");
    assert!(!warned(&["transport.kind=homa", "switch.priorities=8"]).contains("priorities"));
    // A flow control keeps room for none of them, or has one queue of data alone.
    let paused = [
        "transport.kind=expresspass",
        "switch.flow_control=pfc",
        "switch.priorities=4",
    ];
    assert!(warned(&paused).contains(vain));
    let queues = [
        "transport.kind=homa",
        "switch.flow_control=bfc",
        "switch.priorities=1",
    ];
    let said = warned(&queues);
    assert!(
        said.contains(few) && !said.contains("set switch.priorities"),
        "{said}"
    );
    // Those beside have what they ask for.
    let beside = ["transport.kind=dctcp", "workload.transport=homa"];
    for (given, count) in [(1, 0), (2, 1), (8, 1)] {
        let given = format!("switch.priorities={given}");
        let said = warned(&[beside[0], beside[1], &given]);
        let own =
            said.matches("changes nothing: dctcp sends at 1 priority, and ports give those beside");
        assert_eq!(
            (own.count(), said.matches("asks for").count()),
            (count, 0),
            "{said}"
        );
    }
    // An END and what a stranger is told name no way: it is not unread.
    let unread = "switch.balance chooses the way of few packets";
    assert!(warned(&["transport.kind=ndp", "switch.balance=packet"]).contains(unread));
    for sets in [
        &[
            "transport.kind=ndp",
            "switch.balance=packet",
            "transport.ndp.ways=flow",
        ][..],
        &["transport.kind=fastpass", "switch.balance=packet"],
        &["transport.kind=ndp"],
    ] {
        assert!(!warned(sets).contains(unread), "{sets:?}");
    }
}

#[test]
fn a_class_that_never_meets_the_rule_that_drops_it_is_refused() {
    let with = |kind: &str, sets: &[&str]| {
        let mut all = vec![format!("transport.kind={kind}")];
        all.extend(sets.iter().map(|&set| set.to_owned()));
        let found = scenario::load_text("t.toml", INCAST, &all).and_then(Scenario::assemble);
        found.map_err(|errors| errors.render(false))
    };
    for (kind, sets, why) in [
        (
            "expresspass+aeolus",
            &["switch.drop.victim=credit"][..],
            "class credit wait apart",
        ),
        (
            "dctcp",
            &["switch.drop.victim=link", "switch.drop.threshold=4KB"],
            "class link wait apart",
        ),
        (
            "expresspass+gaps",
            &[
                "switch.drop.victim=unscheduled",
                "switch.drop.threshold=6KB",
            ],
            "class unscheduled wait apart",
        ),
        (
            "dctcp",
            &["switch.mark.at=dequeue", "switch.mark.drop_others=true"],
            "cannot drop it in place of a mark",
        ),
        (
            "expresspass+aeolus",
            &["switch.drop.by=ecn"],
            "apart by ecn, and hosts of expresspass+aeolus are set for class",
        ),
        (
            "homa+aeolus",
            &["switch.selective_drop=red-ecn", "switch.drop.by=class"],
            "apart by class, and hosts of homa+aeolus are set for ecn",
        ),
    ] {
        let said = with(kind, sets).err().unwrap_or_default();
        assert!(said.contains(why), "{kind} {sets:?}: {said}");
    }
    let said = |kind: &str, victim: &str| {
        let victim = format!("switch.drop.victim={victim}");
        let run = with(kind, &[&victim, "switch.drop.threshold=4KB"]).unwrap();
        let record = run.run(1, "", &mut Alone).unwrap();
        let nobody = |warning: &String| warning.contains("nobody has sent");
        record.warnings.iter().any(nobody)
    };
    assert!(said("dctcp", "unscheduled") && !said("dctcp", "plain"));
    assert!(said("expresspass", "plain") && !said("expresspass+aeolus", "unscheduled"));
    assert!(with("expresspass+aeolus", &["switch.selective_drop=red-ecn"]).is_ok());
}
