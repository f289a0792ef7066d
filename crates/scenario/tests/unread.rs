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
const UNREAD: [(&str, &str, &str, &str); 10] = [
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
];

#[test]
fn a_parameter_that_another_leaves_without_effect_is_warned_of() {
    for (kind, cause, unread, says) in UNREAD {
        let head = format!("[transport]\nkind = \"{kind}\"\n[transport.{kind}]\n");
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
