//! Parameters and keys that somebody sets and nothing reads.

use scenario::{Assembled, Scenario, load_text};

fn read(text: &str, sets: &[&str]) -> Assembled {
    let base =
        "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"incast\"\nsenders = 3\n";
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    load_text("unread.toml", &format!("{base}{text}"), &sets)
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn warned(text: &str) -> Vec<String> {
    let said = read(text, &[]).warnings.into_iter();
    said.filter(|said| said.contains("does not read")).collect()
}

/// A transport, what leaves a parameter without effect, that parameter, and what is said.
const UNREAD: [(&str, &str, &str, &str); 21] = [
    (
        "homa",
        "grant = \"packet\"",
        "max_incoming = \"100KB\"",
        "max_incoming with grant = \"packet\"",
    ),
    (
        "homa",
        "fifo_share = 0.0",
        "fifo_increment = \"10KB\"",
        "fifo_increment with fifo_share = 0",
    ),
    (
        "homa",
        "recovery = false",
        "resend_after = \"3ms\"",
        "resend_after with recovery = false",
    ),
    (
        "dctcp",
        "ecn = false",
        "gain = 0.5",
        "gain with ecn = false",
    ),
    (
        "dctcp",
        "ack = \"each\"",
        "ack_every = 8",
        "ack_every with ack = \"each\"",
    ),
    (
        "expresspass",
        "",
        "target_loss = 0.3",
        "target_loss with controller = \"artefact\"",
    ),
    (
        "expresspass",
        "nic_shaper = false",
        "nic_jitter = 0.5",
        "nic_jitter with nic_shaper = false",
    ),
    (
        "fastpass",
        "clock = \"own\"",
        "late = 40",
        "late with clock = \"own\"",
    ),
    (
        "ndp",
        "ways = \"random\"",
        "scoreboard = false",
        "scoreboard with ways = \"random\"",
    ),
    (
        "ndp",
        "ports = \"drop-tail\"\nallow_unsupported = true",
        "queue = 20",
        "queue with ports = \"drop-tail\"",
    ),
    (
        "phost",
        "free = 0",
        "free_for = \"short\"",
        "free_for with free = 0",
    ),
    ("phost", "free = 0", "hold = false", "hold with free = 0"),
    (
        "sird",
        "unasked = 0.0",
        "levels = \"credit\"",
        "levels with unasked = 0",
    ),
    ("dcpim", "short = 0", "hold = false", "hold with short = 0"),
    (
        "dcpim",
        "priorities = 2",
        "base = 9",
        "base with priorities of 2 or 1",
    ),
    (
        "expresspass",
        "controller = \"naive\"",
        "alpha = 0.25",
        "alpha with controller = \"naive\"",
    ),
    (
        "expresspass",
        "controller = \"naive\"",
        "start_rule = false",
        "start_rule with controller = \"naive\"",
    ),
    (
        "expresspass",
        "controller = \"naive\"",
        "keep_tally = true",
        "keep_tally with controller = \"naive\"",
    ),
    (
        "expresspass",
        "silent_credits = 0",
        "unheard_credits = 9",
        "unheard_credits with silent_credits = 0",
    ),
    (
        "ndp",
        "ways = \"flow\"",
        "scoreboard = false",
        "scoreboard with ways = \"flow\"",
    ),
    (
        "ndp+aeolus",
        "ways = \"flow\"",
        "first_ways = 4",
        "first_ways with ways = \"flow\"",
    ),
];

#[test]
fn a_parameter_that_another_leaves_without_effect_is_warned_of() {
    for (kind, cause, unread, says) in UNREAD {
        let head = format!("[transport]\nkind = \"{kind}\"\n[transport.\"{kind}\"]\n");
        let both = warned(&format!("{head}{cause}\n{unread}\n"));
        assert_eq!(both, [format!("transport.{kind} does not read {says}")]);
        // One of the two alone is fine.
        assert!(
            warned(&format!("{head}{cause}\n")).is_empty(),
            "{kind}, {cause}"
        );
        if !cause.is_empty() {
            assert!(
                warned(&format!("{head}{unread}\n")).is_empty(),
                "{kind}, {unread}"
            );
        }
    }
    let both = "[transport]\nkind = \"homa\"\n[transport.homa]\nprofile = \"sigcomm18\"\nfifo_share = 0.1\ntimeout = \"30s\"\nlinger = \"90s\"\n";
    let both = warned(both);
    assert_eq!(
        both,
        [
            "transport.homa does not read fifo_share with grant = \"packet\", timeout with recovery = false"
        ]
    );
}

/// One priority tells credit from data, whatever else has it.
#[test]
fn a_parameter_is_read_where_one_of_its_values_still_counts() {
    let sird = "[transport]\nkind = \"sird\"\n[transport.sird]\nunasked = 0.0\nlevels = \"one\"\n";
    assert_eq!(warned(sird), [""; 0]);
    let naive = "[transport]\nkind = \"expresspass\"\n[transport.expresspass]\ncontroller = \"naive\"\nalpha = 1.0\n";
    assert_eq!(warned(naive), [""; 0], "it says what is so");
    let all = |smallest: u32| {
        let text = format!(
            "[transport]\nkind = \"dcpim\"\n[transport.dcpim]\nrounds = 3\nsmallest = {smallest}\n"
        );
        read(&text, &[]).warnings.concat()
    };
    assert!(
        all(4).contains("set smallest = 3, or more rounds"),
        "{}",
        all(4)
    );
    assert!(!all(3).contains("smallest"), "{}", all(3));
}

/// A resolved scenario writes every parameter.
#[test]
fn what_has_the_value_of_its_profile_is_not_warned_of() {
    for (kind, profile) in [
        ("homa", "sigcomm18"),
        ("expresspass", "default"),
        ("dctcp", "ns2"),
        ("ndp", "htsim"),
    ] {
        let of = read(
            &format!("[transport]\nkind = \"{kind}\"\nprofile = \"{profile}\"\n"),
            &[],
        );
        let text = of.scenario.resolved_toml();
        let again = load_text("resolved.toml", &text, &[]).and_then(Scenario::assemble);
        let said = again
            .unwrap_or_else(|e| panic!("{text}\n{e}"))
            .warnings
            .concat();
        assert!(!said.contains("does not read"), "{kind}: {said}");
    }
}

/// In a file it may stand there for a comparison.
#[test]
fn what_set_says_of_another_transport_or_flow_control_is_said_to_change_nothing() {
    let of = |sets: &[&str]| {
        read(
            "[transport]\nkind = \"expresspass+aeolus\"\n[transport.homa]\npriorities = 4\n",
            sets,
        )
        .unread_sets()
    };
    assert_eq!(of(&[]), None);
    assert_eq!(
        of(&[
            "transport.expresspass.alpha=0.25",
            "switch.flow_control=pfc",
            "switch.pfc.xon_gap=1KB"
        ]),
        None
    );
    let said = of(&[
        "transport.ndp.queue=9",
        "switch.bfc.queues=16",
        "switch.mark.min=10KB",
    ])
    .expect("a warning");
    assert_eq!(
        said,
        "--set transport.ndp.queue and switch.bfc.queues and switch.mark.min changes nothing here, where the transport is \
         expresspass+aeolus"
    );
    let dctcp = read("[transport]\nkind = \"dctcp\"\n", &["switch.mark.min=10KB"]);
    assert_eq!(dctcp.unread_sets(), None);
}

/// A transport may ask for marks on lines that are no host's alone.
#[test]
fn marks_are_read_where_a_transport_asks_for_them_on_some_lines() {
    let sets = ["transport.sird.mark_at=core", "switch.mark.min=10KB"];
    let sird = read("[transport]\nkind = \"sird\"\n", &sets);
    assert_eq!(sird.unread_sets(), None);
}

/// Those beside have the marks that they ask for, or those of `[switch.legacy]`.
#[test]
fn marks_of_a_queue_whose_transport_asks_for_none_are_warned_of() {
    let text = |kind: &str, more: &str| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"incast\"\nsenders = 3\n\
             [[workload]]\nkind = \"incast\"\nsenders = 3\ntransport = \"dctcp\"\n[transport]\nkind = \"{kind}\"\n{more}"
        );
        let run = load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
        run.unwrap_or_else(|e| panic!("{e}")).warnings.join("\n")
    };
    let own = "[switch.legacy]\nqueue = \"own\"\n[switch.mark]\nmin = \"9KB\"\n";
    let said = text("expresspass", own);
    let says = "switch.mark.min is not read, because expresspass asks for no marks, and dctcp has a queue of its own; set \
                switch.legacy.mark";
    assert!(said.contains(says), "{said}");
    let said = text("sird", own);
    assert!(!said.contains("switch.mark"), "SIRD reads them: {said}");
    let shared = "[switch.legacy]\nqueue = \"shared\"\n[switch.mark]\nmin = \"9KB\"\n";
    let said = text("expresspass", shared);
    assert!(!said.contains("switch.mark"), "one queue for both: {said}");
}

/// Where others have a queue of their own, it is as long as the buffer.
#[test]
fn a_buffer_is_read_where_others_have_a_queue_of_their_own() {
    let text = "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"incast\"\nsenders = 3\n\
                [[workload]]\nkind = \"incast\"\nsenders = 3\ntransport = \"dctcp\"\n[transport]\nkind = \"ndp\"\n\
                [switch]\nbuffer = \"20KB\"\n[switch.legacy]\nqueue = \"own\"\n";
    let said = |sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        let run = load_text("t.toml", text, &sets).and_then(Scenario::assemble);
        let said = run.unwrap_or_else(|e| panic!("{e}")).warnings;
        said.iter()
            .any(|said| said.contains("switch.buffer is not read"))
    };
    assert!(!said(&[]));
    assert!(said(&["switch.legacy.buffer=30KB"]));
}
