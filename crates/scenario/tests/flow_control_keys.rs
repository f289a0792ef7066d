//! What a scenario says of flow controls: what is wrong is named with what is right, and what is right resolves.

use scenario::{Scenario, load_text};
use transports::Control;

const INCAST: &str = "[workload]\nkind = \"incast\"\n";

fn wrong(text: &str) -> String {
    match load_text("t.toml", &format!("{INCAST}{text}"), &[]) {
        Ok(scenario) => match scenario.assemble() {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(errors) => errors.render(false),
        },
        Err(errors) => errors.render(false),
    }
}

#[test]
fn what_is_wrong_with_a_flow_control_is_said_with_what_is_right() {
    let said = wrong("[switch]\nflow_control = \"pcf\"\n");
    assert!(
        said.contains("did you mean \"pfc\"?") && said.contains("t.toml:4:16"),
        "{said}"
    );
    let said =
        wrong("[switch]\nflow_control = \"pfc\"\n[switch.pfc]\nxof = \"1KB\"\nalpha = 9000\n");
    assert!(said.contains("did you mean \"xoff\"?"), "{said}");
    assert!(said.contains("switch.pfc.alpha cannot be used"), "{said}");
    let said = wrong("[switch]\nflow_control = \"aquarius\"\npriorities = 8\n");
    assert!(
        said.contains("aquarius does not work with these ports"),
        "{said}"
    );
    let said = wrong(
        "[switch]\nflow_control = \"pfc\"\nhost_queue = true\n[transport]\nkind = \"dctcp\"\n",
    );
    assert!(said.contains("queues of hosts cannot be paused"), "{said}");
    for (set, key) in [
        ("xoff = \"0B\"", "xoff lets 0B in"),
        ("alpha = 0.000001\nreserve = \"0B\"", "alpha lets"),
    ] {
        let said = wrong(&format!(
            "[switch]\nflow_control = \"pfc\"\n[switch.pfc]\n{set}\n"
        ));
        assert!(said.contains(key) && said.contains("84B"), "{said}");
    }
    let said = wrong("[switch]\nflow_control = \"cbfc\"\n[switch.cbfc]\nbuffer = \"64B\"\n");
    assert!(
        said.contains("switch.cbfc.buffer of 64B holds no update"),
        "{said}"
    );
    let said = wrong("[switch]\nflow_control = \"cbfc\"\nshared_buffer = \"20KB\"\n");
    assert!(
        said.contains("switch.shared_buffer has 20KB, and credits"),
        "{said}"
    );
    // Tables of others may stand there for a comparison, as those of transports may.
    let both = format!("{INCAST}[switch]\nflow_control = \"pfc\"\n[switch.ideal]\nxon = 0.1\n");
    assert!(load_text("t.toml", &both, &[]).is_ok());
}

/// Where switches differ, the first that has too little memory is not the one that needs most.
#[test]
fn a_memory_that_a_refusal_asks_for_is_enough_for_every_switch() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 12\nspines = 2\nhosts_per_leaf = 2\nhost_delay = \"5us\"\n\
                [workload]\nkind = \"permutation\"\n[transport]\nkind = \"none\"\n[switch]\nshared_buffer = \"100KB\"\n";
    for control in ["pfc", "cbfc"] {
        let load = |memory: &str| {
            let text = text.replace("100KB", memory);
            let sets = [format!("switch.flow_control={control}")];
            load_text("t.toml", &text, &sets).and_then(Scenario::assemble)
        };
        let said = load("100KB")
            .err()
            .expect("100 KB are too little")
            .to_string();
        assert!(said.contains("t.toml:12:17"), "{said}");
        let enough = said
            .split_once("write shared_buffer = \"")
            .map(|(_, rest)| rest.split('"').next());
        let enough = enough.flatten().unwrap_or_else(|| panic!("{said}"));
        if let Err(again) = load(enough) {
            panic!("{control}: {said}\nand then {again}");
        }
    }
}

#[test]
fn a_resolved_flow_control_resolves_to_itself() {
    for control in transports::registry().controls().map(Control::name) {
        let text = format!("{INCAST}[switch]\nflow_control = \"{control}\"\n");
        let once = load_text("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let resolved = once.resolved_toml();
        assert!(
            resolved.contains(&format!("[switch.{control}]")),
            "{resolved}"
        );
        assert!(resolved.contains("shared_buffer"), "{resolved}");
        let again = load_text("t.toml", &resolved, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.resolved_toml(), resolved);
    }
}

/// Who does what a warning says is not warned any more, and not refused.
#[test]
fn credits_too_few_for_a_long_line_are_warned_of() {
    let far = format!("{INCAST}[topology]\nhost_rate = \"400Gbps\"\nhost_delay = \"5us\"\n");
    let warned = |sets: &[String]| {
        let scenario = load_text("t.toml", &far, sets).unwrap_or_else(|e| panic!("{e}"));
        let run = scenario.assemble().unwrap_or_else(|e| panic!("{e}"));
        run.warnings.join("\n")
    };
    for (own, keys) in [
        (
            None,
            ["switch.cbfc.counter_bits = 15", "switch.shared_buffer = "],
        ),
        (
            Some("switch.cbfc.buffer=20KB"),
            ["switch.cbfc.buffer = \"", "switch.cbfc.counter_bits = 15"],
        ),
    ] {
        let mut sets = vec!["switch.flow_control=cbfc".to_owned()];
        sets.extend(own.map(str::to_owned));
        let said = warned(&sets);
        assert!(said.contains("until it is told of room"), "{said}");
        assert!(keys.iter().all(|key| said.contains(key)), "{said}");
        let (_, advice) = said.split_once("; set ").unwrap();
        sets.extend(advice.split(" and ").map(|set| set.replace([' ', '"'], "")));
        assert_eq!(warned(&sets), "", "{sets:?}");
    }
}

/// What is advised is what the switch needs that lacks the most, memory included.
#[test]
fn who_does_what_a_warning_of_a_flow_control_says_has_done_enough() {
    let fat = "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"400Gbps\"\nhost_delay = \"5us\"\n[workload]\n\
               kind = \"permutation\"\nsize = \"3KB\"\n";
    let spread = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 1\nhosts_per_leaf = 2\nhost_delay_spread = \
                  \"1us\"\n[workload]\nkind = \"permutation\"\nsize = \"3KB\"\n";
    let tiers = "[topology]\nkind = \"three-tier\"\nagg_rate = \"400Gbps\"\n[workload]\nkind = \"permutation\"\nsize = \
                 \"3KB\"\n";
    // One switch has eight long lines, the others two.
    let spine = "[topology]\nkind = \"leaf-spine\"\nleaves = 8\nspines = 1\nhosts_per_leaf = 1\nhost_rate = \"400Gbps\"\n\
                 uplink_rate = \"400Gbps\"\nhost_delay = \"5us\"\nuplink_delay = \"5us\"\n[workload]\n\
                 kind = \"permutation\"\nsize = \"3KB\"\n";
    for (text, sets) in [
        (fat, &["switch.flow_control=pfc", "transport.kind=homa"][..]),
        (
            spread,
            &["switch.flow_control=cbfc", "switch.cbfc.buffer=20KB"],
        ),
        (
            tiers,
            &["switch.flow_control=cbfc", "switch.cbfc.buffer=20KB"],
        ),
        (
            spine,
            &["switch.flow_control=cbfc", "switch.shared_buffer=3MB"],
        ),
    ] {
        let warned = |sets: &[String]| {
            let scenario = load_text("t.toml", text, sets).unwrap_or_else(|e| panic!("{e}"));
            let run = scenario
                .assemble()
                .unwrap_or_else(|e| panic!("{sets:?}: {e}"));
            run.warnings.join("\n")
        };
        let mut sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let said = warned(&sets);
        let (_, advice) = said
            .split_once("; set ")
            .unwrap_or_else(|| panic!("{sets:?}: {said}"));
        sets.extend(advice.split(" and ").map(|set| set.replace([' ', '"'], "")));
        assert_eq!(warned(&sets), "", "{sets:?}");
    }
}

/// What is advised is not refused, or what else it needs stands beside it.
#[test]
fn what_else_stands_in_the_way_is_said_with_the_advice() {
    let slow = "[topology]\nhost_rate = \"10Gbps\"\n[transport]\nkind = \"homa\"\n[switch]\nflow_control = \"pfc\"\n";
    let text = format!("{INCAST}{slow}[switch.pfc]\npause_time = \"3us\"\n");
    let run = load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
    let warned = run.unwrap_or_else(|e| panic!("{e}")).warnings.join("\n");
    let both = "; set switch.pfc.lossless = 8; then switch.pfc.pause_time ";
    assert!(warned.contains(both), "{warned}");
    // A threshold that lets no frame in is refused by its own name, where some priorities have nothing else.
    let few =
        "[run]\nmtu = \"9000B\"\n[transport]\nkind = \"phost\"\n[switch]\nflow_control = \"pfc\"\n";
    let said = wrong(&format!("{few}[switch.pfc]\nxoff = \"3000B\"\n"));
    assert!(
        said.contains("switch.pfc.xoff of 3KB holds no frame of 9.038KB"),
        "{said}"
    );
    assert!(said.contains("write \"9038B\" or more"), "{said}");
    // The last of two queues takes what the first does not.
    let two = "[transport]\nkind = \"fastpass\"\n[switch]\nflow_control = \"pfc\"\n[switch.pfc]\nxoff = \"1000B\"\nlossless = ";
    let said = wrong(&format!("{two}1\n"));
    assert!(
        said.contains("switch.pfc.xoff of 1KB holds no frame of 1.538KB"),
        "{said}"
    );
    for whole in [
        format!("{two}2\n"),
        format!("{two}1\n").replace("1000B", "1538B"),
        format!("{two}1\n").replace("fastpass", "dctcp"),
    ] {
        let run =
            load_text("t.toml", &format!("{INCAST}{whole}"), &[]).and_then(Scenario::assemble);
        assert!(run.is_ok(), "{whole}");
    }
    let more = format!("{few}[switch.pfc]\nxoff = \"9038B\"\n");
    let run = load_text("t.toml", &format!("{INCAST}{more}"), &[]).and_then(Scenario::assemble);
    assert!(run.is_ok());
}
