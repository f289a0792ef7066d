//! What a user sees of a scenario that is wrong, and that what is right survives a round trip.
//!
//! First what is refused, and with which words: units, workloads, parameters, topologies and faults, in the order of a file;
//! among these, that defaults and what is resolved are what they say. Then files and names, what varies by port and by seed,
//! windows and tags. Then warnings, numbers beyond all bounds, and last what `check` says of the time that a run takes.

use crate::{Scenario, load_text};
use units::Span;

pub(crate) fn good(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    load_text("t.toml", text, &sets).unwrap_or_else(|e| panic!("{e}"))
}

fn wrong(text: &str, sets: &[&str]) -> String {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    match load_text("t.toml", text, &sets) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors.render(false),
    }
}

pub(crate) const INCAST: &str = "[workload]\nkind = \"incast\"\n";

#[test]
fn a_wrong_unit_is_shown_with_the_right_one() {
    let said = wrong(
        &format!("[topology]\nhost_rate = \"100GBps\"\n{INCAST}"),
        &[],
    );
    assert_eq!(
        said,
        "error: topology.host_rate cannot be used\n --> t.toml:2:13\n2 | host_rate = \"100GBps\"\n  |             ^^^^^^^^^ \"100GBps\" is in bytes; did you mean \"100Gbps\"?\n"
    );
}

#[test]
fn everything_wrong_is_said_at_once() {
    let said = wrong(
        "[topology]\nhots_per_leaf = 4\nhost_delay = 5\nk = 8\n[workload]\nkind = \"incst\"\n[run]\nthreads = 0\n[swich]\nbuffer = \"1MB\"\n",
        &["transport.kind=expresspas"],
    );
    for part in [
        "unknown key \"hots_per_leaf\" in [topology]",
        "did you mean \"hosts_per_leaf\"?",
        "t.toml:3:14",
        "a bare number has no unit",
        "topology.k means nothing here",
        "k belongs to kind \"fat-tree\"",
        "kind \"leaf-spine\" has leaves, spines",
        "did you mean \"incast\"?",
        "0 is out of range",
        "unknown key \"swich\" at the top of the file",
        "did you mean \"switch\"?",
        "--set:1:16",
        "did you mean \"expresspass\"?",
        "7 errors",
    ] {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
}

#[test]
fn a_load_for_a_shuffle_is_refused_with_what_has_one_and_what_can_vary_here() {
    let said = wrong("[workload]\nkind = \"shuffle\"\n", &["workload.load=0.5"]);
    for part in [
        "workload of kind \"shuffle\" (t.toml:2:8) has no load",
        "as in the scenarios web-server, cache-follower, web-search, data-mining, xpass-fat-tree, \
         aeolus-world",
        "`tidegate new FILE --from web-server`",
        "kind \"shuffle\" has tag, size, tasks,",
    ] {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
}

#[test]
fn an_incast_recurs_where_it_has_a_load() {
    let run = |sets: &[&str]| good(INCAST, sets).assemble().unwrap();
    let messages = |sets: &[&str]| run(sets).traffic.messages.len();
    assert_eq!(messages(&[]), 64);
    assert_eq!(messages(&["workload.load=0.5"]), 640);
    assert_eq!(messages(&["workload.load=0.5", "workload.rounds=3"]), 192);
    let said = impossible(INCAST, &["workload.rounds=3"]);
    assert!(said.contains("add load = ..."), "{said}");
}

#[test]
fn a_scenario_without_workload_says_what_to_add() {
    let said = wrong("", &[]);
    assert!(said.contains("there is no [workload]"), "{said}");
}

#[test]
fn wrong_parameters_of_a_transport_are_found_one_and_all() {
    let said = wrong(
        &format!("{INCAST}[transport.expresspass]\nalpah = 0.5\nalpha = 7\n"),
        &[],
    );
    assert!(
        said.contains("t.toml:4:1") && said.contains("t.toml:5:9"),
        "{said}"
    );
}

#[test]
fn a_table_of_a_transport_that_is_not_used_may_stay() {
    let text = format!("{INCAST}[transport.dctcp]\n");
    assert_eq!(good(&text, &[]).protocol.name(), "expresspass");
    let said = wrong(&format!("{INCAST}[transport.dctpc]\n"), &[]);
    assert!(said.contains("did you mean \"dctcp\"?"), "{said}");
}

#[test]
fn what_is_resolved_resolves_to_itself() {
    for builtin in crate::builtin::all() {
        let sets = ["transport.kind=dctcp", "run.seed=7", "run.threads=2"];
        for sets in [&sets[..0], &sets[..]] {
            let once = good(builtin.text, sets);
            let first = once.resolved_toml();
            let again = good(&first, &[]);
            let text = |of: &Scenario| of.resolved_toml().replace("name = \"t\"\n", "");
            assert_eq!(text(&once), text(&again));
            assert!(!first.contains("threads"), "{first}");
            let warnings = |of: Scenario| of.assemble().map(|run| run.warnings);
            let [said, anew] =
                [once, again].map(|of| warnings(of).unwrap_or_else(|e| panic!("{e}\n{first}")));
            assert_eq!(said, anew, "{first}");
        }
    }
}

#[test]
fn defaults_are_what_the_table_says() {
    let s = good(INCAST, &["topology.host_rate=40Gbps", "workload.size=1MB"]);
    assert_eq!(
        s.topology.section.get("uplink_rate"),
        Some(&crate::Value::Rate(units::Rate::gbps(40)))
    );
    assert_eq!(
        s.workloads[0].section.get("size"),
        Some(&crate::Value::Bytes(units::Bytes(1_000_000)))
    );
    assert_eq!(s.run.seed, 1);
    assert!(s.run.window.is_none());
}

#[test]
fn a_threshold_must_be_a_comparison_in_a_string() {
    let s = good(&format!("{INCAST}[thresholds]\nfct.p99 = \"< 2ms\"\n"), &[]);
    assert_eq!(s.thresholds, [("fct.p99".to_owned(), "< 2ms".to_owned())]);
    let said = wrong(&format!("{INCAST}[thresholds]\nfct.p99 = 2\n"), &[]);
    assert!(
        said.contains("thresholds.fct.p99 is a whole number"),
        "{said}"
    );
}

#[test]
fn every_builtin_scenario_can_be_assembled() {
    for builtin in crate::builtin::all() {
        let run = good(builtin.text, &[])
            .assemble()
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(run.base_rtt > run.propagation_rtt, "{}", builtin.name);
        assert!(
            !run.figures().is_empty() && run.title.len() > 20,
            "{}",
            run.title
        );
        assert!(builtin.summary().len() > 20, "{}", builtin.name);
    }
}

/// What is wrong only when things are put together.
fn impossible(text: &str, sets: &[&str]) -> String {
    match good(text, sets).assemble() {
        Ok(_) => panic!("assembled:\n{text}"),
        Err(errors) => errors.render(false),
    }
}

#[test]
fn an_impossible_topology_says_which_number_to_change() {
    let said = impossible(INCAST, &["topology.kind=fat-tree", "topology.k=5"]);
    assert!(said.contains("even k"), "{said}");
    let said = impossible(INCAST, &["topology.kind=three-tier", "topology.pods=1"]);
    assert!(said.contains("aggs / pods = 16"), "{said}");
}

#[test]
fn a_load_above_capacity_names_the_most_that_is_possible() {
    let text =
        "[workload]\nkind = \"random\"\nload = 1.0\nload_with_headers = false\nmessages = 10\n";
    let said = impossible(text, &[]);
    assert!(
        said.contains("t.toml:3:8") && said.contains("at most 0."),
        "{said}"
    );
    let twice = "[[workload]]\nkind = \"random\"\nload = 0.6\nmessages = 1\n[[workload]]\nkind = \"bursts\"\nload = 0.5\nrounds = 1\n";
    let said = impossible(twice, &[]);
    assert!(
        said.contains("t.toml:7:8") && said.contains("add up to 1.1"),
        "{said}"
    );
}

#[test]
fn messages_without_end_are_refused() {
    let said = impossible("[workload]\nkind = \"random\"\n", &[]);
    assert!(said.contains("run.window"), "{said}");
    good("[workload]\nkind = \"random\"\n", &["run.window=1ms"])
        .assemble()
        .unwrap();
}

#[test]
fn a_fault_on_a_link_that_does_not_exist_names_the_nearest_node() {
    let text =
        format!("{INCAST}[[faults]]\nkind = \"loss\"\nlink = \"tor0 -> spin1\"\nchance = 0.01\n");
    let said = impossible(&text, &[]);
    assert!(
        said.contains("t.toml:5:8") && said.contains("\"spine1\""),
        "{said}"
    );
    let text =
        format!("{INCAST}[[faults]]\nkind = \"loss\"\nlink = \"tor* <-> spine1\"\nchance = 0.01\n");
    assert_eq!(good(&text, &[]).assemble().unwrap().faults.len(), 16);
}

#[test]
fn a_slow_link_has_its_rate_and_no_other_has() {
    let rates = |set: &[&str]| {
        let run = good(INCAST, set).assemble().unwrap();
        let links = run.topology.links.iter();
        links.map(|link| link.rate.0).collect::<Vec<_>>()
    };
    let plain = rates(&[]);
    let changed = |set: &[&str]| {
        let pairs = plain.iter().zip(rates(set));
        let pairs = pairs.filter(|(a, b)| *a != b);
        pairs.map(|(&a, b)| (a, b)).collect::<Vec<_>>()
    };
    let own = 100_000_000_000;
    let one = changed(&["topology.slow=tor0 -> spine1"]);
    assert_eq!(one, [(own, own / 10)]);
    let both = changed(&["topology.slow=tor0 <-> spine1", "topology.slow_rate=40Gbps"]);
    assert_eq!(both, [(own, 40_000_000_000); 2]);
    let said = impossible(INCAST, &["topology.slow=tor0 -> spin1"]);
    assert!(said.contains("\"spine1\""), "{said}");
    let said = impossible(INCAST, &["topology.slow_rate=1Gbps"]);
    assert!(said.contains("slow_rate without slow"), "{said}");
}

#[test]
fn a_bad_line_of_a_trace_is_shown() {
    let dir = std::env::temp_dir().join(format!("tidegate-trace-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let trace = dir.join("flows.csv");
    std::fs::write(&trace, "src,dst,size,start\n0,1,64KB,0s\n0,1,64,0s\n").unwrap();
    let set = format!("workload.path={}", trace.display());
    let said = impossible("[workload]\nkind = \"trace\"\n", &[&set]);
    assert!(said.contains("flows.csv:3:5"), "{said}");
    let missing = impossible(
        "[workload]\nkind = \"trace\"\n",
        &["workload.path=/no/such/file"],
    );
    assert!(missing.contains("cannot read /no/such/file"), "{missing}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn credits_cannot_be_set_where_there_are_none() {
    let said = impossible(INCAST, &["transport.kind=dctcp", "switch.credit.bucket=4"]);
    assert!(said.contains("uses no credits"), "{said}");
}

#[test]
fn selective_dropping_needs_to_know_whom_and_when() {
    let said = impossible(INCAST, &["switch.drop.victim=unscheduled"]);
    assert!(said.contains("switch.drop.threshold is missing"), "{said}");
    let sets = [
        "switch.drop.victim=unscheduled",
        "switch.drop.threshold=6KB",
    ];
    let run = good(INCAST, &sets).assemble().unwrap();
    assert_eq!(
        run.ports[0].data().unwrap().drop.map(|d| d.threshold),
        Some(units::Bytes(6000))
    );
}

#[test]
fn a_threshold_on_a_metric_that_does_not_exist_is_refused() {
    let said = impossible(&format!("{INCAST}[thresholds]\nfct.p98 = \"< 2ms\"\n"), &[]);
    assert!(said.contains("thresholds.fct.p98 cannot be used"), "{said}");
}

#[test]
fn the_queue_bound_grows_with_what_can_vary() {
    let bound = |sets: &[&str]| {
        let run = good(INCAST, sets).assemble().unwrap();
        run.queue_bounds()
            .and_then(|bounds| bounds.into_iter().max())
    };
    let base = bound(&[]).unwrap();
    let slow = "transport.expresspass.host_delay={ uniform = [\"0.9us\", \"6.2us\"] }";
    assert!(bound(&[slow]).unwrap() > base);
    assert!(bound(&["switch.credit.queue_limit=16"]).unwrap() > base);
    assert!(bound(&["topology.kind=dumbbell"]).is_some());
    assert_eq!(bound(&["transport.kind=dctcp"]), None);
}

#[test]
fn a_name_is_part_of_one_folder_and_leads_nowhere_else() {
    for name in [
        "../../x",
        "a/b",
        "",
        ".",
        "..",
        ".x",
        "a\u{1}b",
        "a\nb",
        "a\\b",
        &"x".repeat(300),
    ] {
        let name = toml::Value::String(name.to_owned());
        let said = wrong(&format!("name = {name}\n{INCAST}"), &[]);
        assert!(
            said.contains("name cannot be used") && said.contains("t.toml:1:"),
            "{said}"
        );
        assert!(said.contains("letters and digits"), "{said}");
        let said = wrong(INCAST, &[&format!("name={name}")]);
        assert!(said.contains("name cannot be used"), "{said}");
    }
    assert_eq!(
        good(&format!("name = \"größer, 2..3\"\n{INCAST}"), &[]).name,
        "größer, 2..3"
    );
    // Where no name is written, the file's is taken.
    let Err(errors) = load_text("a\nb.toml", INCAST, &[]) else {
        panic!("accepted")
    };
    assert!(
        errors.render(false).contains("the file's name \"a\\nb\""),
        "{errors}"
    );
}

#[test]
fn a_file_that_somebody_sends_names_no_folder_elsewhere() {
    for dir in ["../x", "/tmp/x", "a/../../x"] {
        let said = wrong(&format!("{INCAST}[output]\ndir = \"{dir}\"\n"), &[]);
        assert!(
            said.contains("output.dir leaves") && said.contains("--out"),
            "{said}"
        );
        // Who sits at the keyboard may.
        good(INCAST, &[&format!("output.dir={dir}")]);
    }
    good(&format!("{INCAST}[output]\ndir = \"./mine/here\"\n"), &[]);
}

#[test]
fn credits_are_called_what_their_transport_calls_them() {
    let called = |kind: &str| {
        let sets = [&*format!("transport.kind={kind}"), "topology.kind=star"];
        good(INCAST, &sets).assemble().unwrap().credit()
    };
    let of = ["sird", "homa", "ndp", "phost", "fastpass", "dctcp"].map(called);
    assert_eq!(of, ["credit", "grant", "pull", "token", "slot", "credit"]);
}

#[test]
fn a_spread_lengthens_the_cables_of_hosts_alone_each_way_alike_and_by_the_seed() {
    let fabric = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 20\n\
                  host_delay = \"5us\"\nhost_extra_delay = \"0s\"\n";
    let delays = |sets: &[&str]| {
        let run = good(&format!("{fabric}{INCAST}"), sets).assemble().unwrap();
        let links = run.topology.links.clone();
        for link in &links {
            let back = &links[run.topology.node(link.to).ports[usize::from(link.to_port)].index()];
            assert_eq!(link.delay, back.delay);
            let at_host = run.topology.is_host(link.from) || run.topology.is_host(link.to);
            assert!(at_host || link.delay == Span::us(5), "between switches");
        }
        let hosts = (0..40).map(|host| links[run.topology.nodes[host].ports[0].index()].delay);
        hosts.collect::<Vec<_>>()
    };
    assert_eq!(delays(&[]), [Span::us(5); 40]);
    let spread = "topology.host_delay_spread=2us";
    let drawn = delays(&[spread]);
    assert!(
        drawn
            .iter()
            .all(|d| (Span::us(5)..=Span::us(7)).contains(d))
    );
    // Forty draws, uniform: some in each quarter.
    for quarter in 0..4 {
        let from = Span::us(5) + Span::ns(500 * quarter);
        let within = drawn
            .iter()
            .filter(|&&d| d >= from && d < from + Span::ns(500));
        assert!(within.count() > 2, "{drawn:?}");
    }
    assert_eq!(drawn, delays(&[spread]));
    assert_ne!(drawn, delays(&[spread, "run.seed=2"]));
    // Too long together, where neither is alone.
    let half = format!("topology.host_delay_spread={}ps", u64::MAX / 128 / 4 - 1);
    let said = impossible(
        &format!("{fabric}{INCAST}"),
        &[&half, &half.replace("_spread", "")],
    );
    assert!(said.contains("is too long"), "{said}");
}

#[test]
fn a_jitter_beyond_all_times_is_refused() {
    let longest = "18446744073709551615ps";
    for kind in ["incast", "permutation", "shuffle", "all-to-all"] {
        let text = |start: &str| {
            format!("[workload]\nkind = \"{kind}\"\nstart = \"{start}\"\njitter = \"{longest}\"\n")
        };
        let Err(errors) = good(&text("1ps"), &[]).assemble() else {
            panic!("accepted")
        };
        let said = errors.render(false);
        assert!(
            said.contains("start and jitter together") && said.contains("t.toml:4:"),
            "{said}"
        );
        // Without a start it fits, and once was drawn from no number at all.
        assert!(good(&text("0s"), &[]).assemble().is_ok());
    }
}

#[test]
fn only_a_scenario_is_included() {
    let folder = std::env::temp_dir().join(format!("tidegate-include-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("outer.toml");
    std::fs::write(&file, format!("include = \"secret\"\n{INCAST}")).unwrap();
    std::fs::write(folder.join("secret"), "root:x:0:0\n").unwrap();
    let from = file.display().to_string();
    let request = crate::Request {
        from: &from,
        sets: &[],
    };
    let Err(errors) = crate::load(&request) else {
        panic!("accepted")
    };
    let said = errors.render(false);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        said.contains("secret is no scenario file") && said.contains(".toml"),
        "{said}"
    );
    assert!(!said.contains("root:"), "{said}");
}

#[test]
fn buffers_and_marks_grow_with_the_rate_of_their_port() {
    let text = "[topology]\nkind = \"dumbbell\"\nhost_rate = \"10Gbps\"\nbottleneck_rate = \"40Gbps\"\n[workload]\nkind = \"long-flows\"\n[transport]\nkind = \"dctcp\"\n";
    let sets = ["switch.buffer=400KB/10Gbps", "switch.mark.min=100KB/10Gbps"];
    let scenario = good(text, &sets);
    let resolved = scenario.resolved_toml();
    assert!(resolved.contains("buffer = \"400KB/10Gbps\""), "{resolved}");
    let run = scenario.assemble().unwrap_or_else(|e| panic!("{e}"));
    for (link, port) in run.topology.links.iter().zip(&run.ports) {
        let times = link.rate.0 / 10_000_000_000;
        let mark = port.data().and_then(|data| data.mark);
        assert_eq!(port.buffer.0, 400_000 * times);
        assert_eq!(
            mark.map(|mark| (mark.min.0, mark.max.0)),
            Some((100_000 * times, 100_000 * times))
        );
    }
    for (wrong_size, said) in [
        ("100KB/0Gbps", "in proportion to a rate of 0"),
        ("100KB/10GB", "no unit of a rate"),
        ("10Gbps", "no unit of a size"),
    ] {
        let text = wrong(text, &[&format!("switch.buffer={wrong_size}")]);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_queue_of_hosts_is_for_ports_that_are_plain_queues() {
    let text = "[switch]\nhost_queue = true\n[workload]\nkind = \"incast\"\n";
    let refused = |sets: &[&str]| good(text, sets).assemble().err().map(|e| e.render(false));
    let said = refused(&[]).unwrap();
    assert!(said.contains("ports of expresspass are more"), "{said}");
    let late = refused(&["transport.kind=dctcp", "switch.mark.at=dequeue"]).unwrap();
    assert!(late.contains("marks what comes, not what goes"), "{late}");
    let classes = ["switch.drop.victim=plain", "switch.drop.threshold=6KB"];
    let apart = "switch.drop.measure=victim_only";
    let apart = refused(&["transport.kind=dctcp", classes[0], classes[1], apart]).unwrap();
    assert!(apart.contains("does not count one class alone"), "{apart}");
    let endless = refused(&["transport.kind=none"]).unwrap();
    assert!(endless.contains("back what none sends"), "{endless}");
    assert_eq!(refused(&["transport.kind=dctcp"]), None);
}

#[test]
fn a_window_has_a_beginning_and_a_later_end() {
    let text = "[workload]\nkind = \"incast\"\n";
    for window in [
        "[\"1ms\"]",
        "[\"2ms\", \"1ms\"]",
        "[\"1ms\", \"1ms\"]",
        "1ms",
    ] {
        let scenario = good(text, &[&format!("output.window={window}")]);
        let said = scenario.assemble().err().map(|errors| errors.render(false));
        let said = said.unwrap_or_else(|| panic!("{window} is taken"));
        assert!(said.contains("a beginning and a later end"), "{said}");
    }
    let run = good(text, &["output.window=[\"1ms\", \"2ms\"]"]).assemble();
    let window = run.unwrap_or_else(|e| panic!("{e}")).probes.window;
    assert_eq!(
        window,
        Some(units::Time(1_000_000_000)..units::Time(2_000_000_000))
    );
}

#[test]
fn a_message_that_nobody_can_number_the_bytes_of_is_refused_where_its_size_stands() {
    for size in ["70368744177664B", "18446744TB", "18446744073709551615B"] {
        let said = impossible(INCAST, &[&format!("workload.size={size}")]);
        assert!(said.contains("below 70 TB"), "{said}");
    }
    let rounds = "[workload]\nkind = \"incast-rr\"\nsenders = 2\nrounds = 2\n";
    for request in ["100TB", "9000000TB"] {
        let said = impossible(rounds, &[&format!("workload.request={request}")]);
        assert!(
            said.contains("below 70 TB") && said.contains("workload.request"),
            "{said}"
        );
    }
    good(
        INCAST,
        &["workload.size=70368744177663B", "workload.senders=2"],
    )
    .assemble()
    .unwrap();
    let dir = std::env::temp_dir().join(format!("tidegate-large-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let trace = dir.join("flows.csv");
    std::fs::write(&trace, "src,dst,size,start\n0,1,500TB,0s\n").unwrap();
    let set = format!("workload.path={}", trace.display());
    let said = impossible("[workload]\nkind = \"trace\"\n", &[&set]);
    let shown = said.contains("less than 70 TB") && said.contains("flows.csv:2:5");
    assert!(shown, "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_tag_that_cannot_be_printed_is_refused() {
    for tag in ["\\u001b[31mred", "", "  "] {
        let text = INCAST.replace("[workload]", &format!("[workload]\ntag = \"{tag}\""));
        assert!(text.contains("tag ="), "{text}");
        let said = impossible(&text, &[]);
        assert!(said.contains("is no tag"), "{said}");
    }
}

#[test]
fn a_threshold_on_a_tag_that_no_message_has_names_those_there_are() {
    let asked = |tag: &str| format!("{INCAST}[thresholds]\ntags.{tag}.took = \"< 1s\"\n");
    let said = impossible(&asked("nope"), &[]);
    assert!(
        said.contains("\"nope\"") && said.contains("are incast"),
        "{said}"
    );
    good(&asked("incast"), &[]).assemble().unwrap();
}

#[test]
fn homa_warns_of_few_priorities_and_with_aeolus_of_ports_without_room() {
    let warned = |sets: &[&str]| good(INCAST, sets).assemble().unwrap().warnings.join("\n");
    let (spread, aeolus) = ("switch.balance=packet", "transport.kind=homa+aeolus");
    for silent in [
        &["transport.kind=homa", spread][..],
        &[aeolus, spread, "switch.buffer=1MB"],
    ] {
        assert_eq!(warned(silent), "", "{silent:?}");
    }
    let few = warned(&["transport.kind=homa", "transport.homa.priorities=2"]);
    assert!(few.contains("2 of 8 priorities"), "{few}");
    let room = warned(&[aeolus]);
    assert!(room.contains("homa+aeolus counts on "), "{room}");
}

#[test]
fn buffers_that_are_not_read_or_hold_no_frame_are_warned_of() {
    let warned = |sets: &[&str]| good(INCAST, sets).assemble().unwrap().warnings.join("\n");
    assert_eq!(warned(&["switch.buffer=2KB", "workload.senders=20"]), "");
    let small = warned(&["switch.buffer=1KB"]);
    assert!(
        small.contains("1.538KB") && small.contains("tor0 -> "),
        "{small}"
    );
    for pool in ["switch.shared_buffer=1MB", "switch.flow_control=pfc"] {
        let sets = ["transport.kind=dctcp", pool];
        assert_eq!(warned(&sets), "");
        let unread = warned(&[sets[0], sets[1], "switch.buffer=1MB"]);
        assert!(unread.contains("switch.buffer is not read"), "{unread}");
    }
    assert_eq!(warned(&["transport.kind=ndp"]), "");
    let unread = warned(&["transport.kind=ndp", "switch.buffer=1KB"]);
    assert!(unread.contains("switch.buffer is not read"), "{unread}");
    // Hosts' queues read it.
    let hosts = [
        "transport.kind=dctcp",
        "switch.host_queue=true",
        "switch.buffer=100KB",
    ];
    assert_eq!(
        warned(&[hosts[0], hosts[1], hosts[2], "switch.shared_buffer=1MB"]),
        ""
    );
    for sets in [
        ["switch.shared_buffer=1KB", "switch.shared_alpha=1.0"],
        ["switch.shared_buffer=1MB", "switch.shared_alpha=0.001"],
    ] {
        let small = warned(&sets);
        assert!(small.contains("no full frame of 1.538KB fits"), "{small}");
    }
}

#[test]
fn what_can_have_no_effect_is_warned_of() {
    let warned = |sets: &[&str]| good(INCAST, sets).assemble().unwrap().warnings.join("\n");
    for (set, and) in [
        ("switch.shared_alpha=0.5", "switch.shared_buffer=1MB"),
        ("switch.flowlet_gap=10us", "switch.balance=flowlet"),
    ] {
        let key = set.split('=').next().unwrap();
        let alone = warned(&["transport.kind=dctcp", set]);
        assert!(alone.contains(&format!("{key} is not read")), "{alone}");
        assert_eq!(warned(&["transport.kind=dctcp", set, and]), "");
    }
    let late = warned(&["transport.kind=dctcp", "switch.buffer=50KB"]);
    assert!(
        late.contains("packets are marked from 99.97KB on"),
        "{late}"
    );
    let late = warned(&[
        "transport.kind=expresspass+aeolus",
        "switch.drop.threshold=900KB",
    ]);
    assert!(
        late.contains("unscheduled packets are dropped from 900KB on"),
        "{late}"
    );
}

#[test]
fn a_fabric_that_is_longer_than_packets_live_is_warned_of() {
    let text = "[topology]\nkind = \"parking-lot\"\n[workload]\nkind = \"long-flows\"\n[run]\nuntil = \"1ms\"\n";
    let warned = |bottlenecks: u32| {
        let set = format!("topology.bottlenecks={bottlenecks}");
        good(text, &[&set]).assemble().unwrap().warnings.join("\n")
    };
    assert_eq!(warned(30), "");
    let far = warned(31);
    assert!(
        far.contains("up to 32 switches apart, and a packet is lost after 31"),
        "{far}"
    );
}

#[test]
fn crowds_whose_requests_do_not_fit_are_warned_of() {
    let warned = |sets: &[&str]| good(INCAST, sets).assemble().unwrap().warnings.join("\n");
    let crowd = |senders: u32| format!("workload.senders={senders}");
    let (fits, more) = (crowd(35), crowd(36));
    let tight = "switch.buffer=3KB"; // 35 requests of 84 B are 2.94 KB
    assert_eq!(warned(&[&fits, tight]), "");
    let said = warned(&[&more, tight]);
    let tells = ["36 messages to h0", "3.02 KB", "switch.buffer = \"6.05KB\""];
    assert!(tells.iter().all(|part| said.contains(part)), "{said}");
    // One after the other they fit, and no other transport promises anything.
    for other in ["workload.jitter=1ms", "transport.kind=phost"] {
        assert_eq!(warned(&[&more, tight, other]), "", "{other}");
    }
}

/// What a buffer of that size takes to drain may be longer than times can say: the run and its results do not mind.
#[test]
fn buffers_that_no_time_suffices_to_drain_are_run_with() {
    for (rate, buffer) in [("10Gbps", "30000TB"), ("1Mbps", "10TB")] {
        for key in ["buffer", "shared_buffer"] {
            let rate = format!("topology.host_rate={rate}");
            let buffer = format!("switch.{key}={buffer}");
            let sets = [
                &rate,
                &buffer,
                "transport.kind=dctcp",
                "workload.size=1KB",
                "workload.senders=2",
            ];
            let run = good(INCAST, &sets).assemble().unwrap();
            let record = run.run(1, "", &mut crate::Alone);
            assert!(record.is_ok(), "{rate}, {buffer}");
        }
    }
}

#[test]
fn a_number_beyond_all_numbers_is_out_of_range_and_no_string() {
    let said = wrong(INCAST, &["run.seed=18446744073709551615"]);
    assert!(said.contains("out of range"), "{said}");
}

#[test]
fn links_longer_than_times_can_count_are_refused_and_the_longest_of_all_are_not() {
    let asked = |key: &str, delay: &str| format!("topology.{key}={delay}");
    let few = "workload.senders=2";
    for key in ["host_delay", "uplink_delay", "host_extra_delay"] {
        let said = impossible(INCAST, &[&asked(key, "18446744073709551615ps"), few]);
        let place = format!("topology.{key}=184");
        assert!(
            said.contains("is too long") && said.contains(&place),
            "{said}"
        );
        let (_, most) = said.trim_end().rsplit_once("at most ").expect("the cure");
        let long = asked(key, most);
        for transport in transports::registry().iter() {
            let kind = format!("transport.kind={}", transport.name());
            let short = ["topology.host_extra_delay=0s", "run.until=1ms"];
            let sets = [&short[..], &[&long, &kind, few]].concat();
            let run = match good(INCAST, &sets).assemble() {
                Ok(run) => run,
                Err(e) if e.render(false).contains("cannot work in this network") => continue,
                Err(e) => panic!("{most}, {kind}: {e}"),
            };
            let record = run.run(1, "", &mut crate::Alone);
            assert!(record.is_ok(), "{most}, {kind}");
        }
    }
}

#[test]
fn looks_at_ports_take_their_part_of_the_time_that_a_run_is_said_to_take() {
    let seconds = |every: &str| {
        let incast = "[workload]\nkind = \"incast\"\nsize = \"30KB\"\n";
        let run = good(incast, &[&format!("output.every={every}")]);
        run.assemble().unwrap().seconds()
    };
    let (none, few, many) = (seconds("0s"), seconds("20us"), seconds("100ns"));
    assert!(none < few, "{few} s with few, {none} s without");
    assert!(many > 1.5 * few, "{many} s with many, {few} s with few");
}

#[test]
fn a_star_alone_is_no_link_and_the_help_says_what_names_all() {
    let fault = "[[faults]]\nkind = \"loss\"\nchance = 0.1\nlink = ";
    let star = good(&format!("{INCAST}{fault}\"*\"\n"), &[]).assemble();
    let said = star.err().expect("no link").render(false);
    assert!(said.contains("\"* -> *\" for every link"), "{said}");
    good(&format!("{INCAST}{fault}\"* -> *\"\n"), &[])
        .assemble()
        .unwrap();
}

#[test]
fn building_a_network_takes_its_part_of_the_time_that_a_run_is_said_to_take() {
    let seconds = |k: u32| {
        let text = "[topology]\nkind = \"fat-tree\"\n[workload]\nkind = \"incast\"\nsenders = 2\n\
                    receiver = 0\nsize = \"1KB\"\n[output]\nevery = \"0s\"\n";
        let run = load_text("built", text, &[format!("topology.k={k}")]);
        run.unwrap().assemble().unwrap().seconds()
    };
    let (small, large) = (seconds(4), seconds(24));
    // 16 and 3,456 hosts, and 6 links for each.
    assert!(
        small < 0.01 && (0.1..0.4).contains(&large),
        "{small} s and {large} s"
    );
}

#[test]
fn flow_control_takes_its_part_of_the_time_that_a_run_is_said_to_take() {
    let seconds = |control: &str| {
        let control = format!("switch.flow_control={control}");
        let text = "[workload]\nkind = \"incast\"\nsize = \"10MB\"\n[output]\nevery = \"0s\"\n";
        good(text, &[&control]).assemble().unwrap().seconds()
    };
    let (none, aquarius) = (seconds("none"), seconds("aquarius"));
    assert!(
        (1.5..3.0).contains(&(aquarius / none)),
        "{aquarius} s with, {none} s without"
    );
}
