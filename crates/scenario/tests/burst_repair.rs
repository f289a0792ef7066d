//! What first windows lose where ports drop them first, and how it is made good: Aeolus over transports whose
//! packets are sprayed or have priorities.

use model::Class;
use results::{FlowRow, RunRecord, Status};
use scenario::Alone;

/// Fabrics with one way and with many, at rates of their own.
const FABRICS: [&str; 3] = [
    "[topology]\nkind = \"star\"\nhosts = 17\nhost_rate = \"10Gbps\"\n",
    "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\nhost_rate = \"100Gbps\"\n",
    "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"40Gbps\"\n",
];
/// Messages that fit a window, that are a little longer, and that are long; many at once, and from everywhere.
const TRAFFIC: [&str; 4] = [
    "[workload]\nkind = \"incast\"\nsenders = 12\nreceiver = 0\nsize = \"5KB\"\njitter = \"0s\"\n",
    "[workload]\nkind = \"incast\"\nsenders = 15\nreceiver = 0\nsize = \"60KB\"\njitter = \"0s\"\n",
    "[workload]\nkind = \"incast\"\nsenders = 8\nreceiver = 0\nsize = \"1MB\"\njitter = \"0s\"\n",
    "[workload]\nkind = \"permutation\"\nsize = \"300KB\"\n",
];

/// Ports that hold what a receiver of Homa grants at once, up to seven round trips.
const HOMA: &str = "profile = \"sigcomm18\"\n[switch]\nbuffer = \"2MB\"\n";
/// A way for each connection, and for each packet.
const BALANCES: [&str; 2] = ["flow", "packet"];
/// Transports whose first windows ports drop first, and those that put them in gaps, with profiles and ports.
const AEOLUS: [(&str, &str); 2] = [("ndp+aeolus", ""), ("homa+aeolus", HOMA)];
const GAPS: [(&str, &str); 2] = [("ndp+gaps", ""), ("homa+gaps", HOMA)];

fn run(text: &str, seed: u64) -> RunRecord {
    run_with(text, seed, "switch.balance=flow")
}

fn run_with(text: &str, seed: u64, set: &str) -> RunRecord {
    let sets = [format!("run.seed={seed}"), set.to_owned()];
    let run =
        scenario::load_text("repair.toml", text, &sets).and_then(scenario::Scenario::assemble);
    let run = run.unwrap_or_else(|e| panic!("{text}\n{e}"));
    run.run(1, "", &mut Alone)
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn dropped(record: &RunRecord, class: Class) -> u64 {
    record.ports.iter().map(|port| port.dropped[class]).sum()
}

#[test]
fn only_first_windows_are_dropped_and_each_frame_of_them_leaves_again_once() {
    for (kind, more) in AEOLUS {
        let (mut lost, mut sent) = (0, 0);
        let cases = FABRICS.iter().flat_map(|f| TRAFFIC.map(|t| (f, t)));
        for (fabric, traffic) in cases {
            for (seed, balance) in (1..4).flat_map(|n| BALANCES.map(|of| (n, of))) {
                let text = format!("{fabric}{traffic}[transport]\nkind = \"{kind}\"\n{more}");
                let record = run_with(&text, seed, &format!("switch.balance={balance}"));
                let totals = &record.totals;
                let what = format!("seed {seed}, {balance} of\n{text}{totals:?}");
                assert_eq!(record.status, Status::Complete, "{what}");
                assert_eq!(totals.timeouts, 0, "{what}");
                for class in [Class::Scheduled, Class::Control, Class::Credit] {
                    assert_eq!(dropped(&record, class), 0, "{class:?}, {what}");
                }
                let unscheduled = dropped(&record, Class::Unscheduled);
                // A way for each packet has no bound: one in a thousand may be later than its receiver waits.
                let copies = totals.retransmitted - unscheduled;
                assert_eq!(copies, totals.duplicates, "{what}");
                let most = if balance == "flow" {
                    0
                } else {
                    totals.data_sent / 1000
                };
                assert!(copies <= most, "{what}");
                (lost, sent) = (lost + unscheduled, sent + totals.data_sent);
            }
        }
        assert!(lost * 20 > sent, "{kind}: {lost} of {sent} were dropped");
    }
}

#[test]
fn in_the_gaps_nothing_is_dropped_and_pulled_packets_notice_nothing() {
    for (kind, more) in GAPS {
        for (fabric, traffic) in FABRICS.iter().flat_map(|f| TRAFFIC.map(|t| (f, t))) {
            let text = format!("{fabric}{traffic}[transport]\nkind = \"{kind}\"\n{more}");
            let record = run(&text, 1);
            let what = format!("{text}{:?}", record.totals);
            assert_eq!(record.status, Status::Complete, "{what}");
            let lost: u64 = record.ports.iter().map(|port| port.dropped.sum()).sum();
            assert_eq!((lost, record.totals.timeouts), (0, 0), "{what}");
            // What left twice came twice.
            assert!(
                record.totals.retransmitted <= record.totals.duplicates,
                "{what}"
            );
        }
    }
}

#[test]
fn packets_that_overtake_each_other_cost_repetitions_and_nothing_else() {
    for (kind, more) in AEOLUS {
        let late =
            "[[faults]]\nkind = \"reorder\"\nlink = \"* <-> *\"\nchance = 0.01\nby = \"20us\"\n";
        let text = format!(
            "{}{}[transport]\nkind = \"{kind}\"\n{more}{late}",
            FABRICS[1], TRAFFIC[1]
        );
        for seed in 1..6 {
            let record = run(&text, seed);
            assert_eq!(record.status, Status::Complete, "{:?}", record.totals);
            assert!(
                record.totals.duplicates * 10 < record.totals.data_sent,
                "{:?}",
                record.totals
            );
        }
    }
}

/// Transports whose receivers say what may leave, where ports have room for everything.
#[test]
fn nothing_is_repaired_where_nothing_is_lost() {
    const ROOM: &str = "[switch]\nbuffer = \"1GB\"\n";
    let all = transports::registry();
    let proactive = all.iter().filter(|transport| {
        // What is trimmed or waits for a gap leaves twice, and so does what credits or matchings overtake.
        let name = transport.name();
        !["dctcp", "ideal-rate", "none", "ndp", "dcpim"].contains(&name)
            && !name.ends_with("+gaps")
            && !name.starts_with("expresspass+")
    });
    let mut names = Vec::new();
    for transport in proactive {
        let name = transport.name();
        let drops = transport
            .parameters()
            .iter()
            .any(|p| p.key == "drop_threshold");
        let room = match drops {
            true => format!("[transport.\"{name}\"]\ndrop_threshold = \"1GB\"\n"),
            false => String::new(),
        };
        for (fabric, traffic) in FABRICS.iter().flat_map(|f| TRAFFIC.map(|t| (*f, t))) {
            let text = format!("{fabric}{traffic}{ROOM}{room}[transport]\nkind = \"{name}\"\n");
            let record = run(&text, 1);
            let what = format!("{text}{:?}", record.totals);
            let lost: u64 = record.ports.iter().map(|port| port.dropped.sum()).sum();
            let credits: u64 = record
                .ports
                .iter()
                .map(|port| port.dropped[Class::Credit])
                .sum();
            assert_eq!(
                (record.status, lost - credits),
                (Status::Complete, 0),
                "{what}"
            );
            assert_eq!(record.totals.retransmitted, 0, "{what}");
            // A sender of pHost that waits for its turn announces its message again.
            if name != "phost" {
                assert_eq!(record.totals.timeouts, 0, "{what}");
            }
        }
        names.push(name);
    }
    assert!(names.len() >= 4, "{names:?}");
}

/// Where a matching comes before what is already on its way, that leaves twice, and so comes twice.
#[test]
fn where_nothing_is_lost_each_repetition_of_what_is_on_its_way_is_a_copy() {
    let kind = "dcpim";
    let mut sent = 0;
    for (fabric, traffic) in FABRICS.iter().flat_map(|f| TRAFFIC.map(|t| (*f, t))) {
        let room = "[switch]\nbuffer = \"1GB\"\n";
        let text = format!("{fabric}{traffic}{room}[transport]\nkind = \"{kind}\"\n");
        let record = run(&text, 1);
        let totals = &record.totals;
        let what = format!("{text}{totals:?}");
        let lost: u64 = record.ports.iter().map(|port| port.dropped.sum()).sum();
        assert_eq!((record.status, lost), (Status::Complete, 0), "{what}");
        assert_eq!(totals.retransmitted, totals.duplicates, "{what}");
        // Few are: a round trip of a short message at most.
        assert!(totals.retransmitted * 4 < totals.data_sent, "{what}");
        sent += totals.retransmitted;
    }
    assert!(sent > 0, "{kind} repeats nothing: add it to the test above");
}

/// The bound of what waits before a host: `overcommitment` round trips that were granted, and of each priority of what leaves
/// unasked what ports take. Ports of that size lose nothing else, however many short messages are repaired beside each other.
#[test]
fn ports_that_hold_what_a_receiver_grants_lose_none_of_it() {
    const STAR: &str =
        "[topology]\nkind = \"star\"\nhosts = 65\nhost_rate = \"10Gbps\"\nhost_delay = \"2us\"\n";
    let mut lost = 0;
    for size in ["5KB", "9KB", "40KB"] {
        for (overcommitment, buffer) in [(1_u64, "86KB"), (4, "122KB")] {
            let traffic = format!(
                "[workload]\nkind = \"incast\"\nsenders = 500\nreceiver = 0\nsize = \"{size}\"\n"
            );
            let text = format!(
                "{STAR}{traffic}[transport]\nkind = \"homa+aeolus\"\nprofile = \"sigcomm18\"\n\
                 [transport.\"homa+aeolus\"]\novercommitment = {overcommitment}\nunscheduled = \"11680B\"\n\
                 unscheduled_priorities = 4\n"
            );
            let record = run_with(&text, 1, &format!("switch.buffer={buffer}"));
            let what = format!("{text}{:?}", record.totals);
            assert_eq!(record.status, Status::Complete, "{what}");
            for class in [Class::Scheduled, Class::Control, Class::Credit] {
                assert_eq!(dropped(&record, class), 0, "{class:?}, {what}");
            }
            let frames = 8 * overcommitment + 4 * 5;
            let longest = record.ports.iter().map(|port| port.queue_max).max();
            let longest = longest.unwrap_or(0);
            // Control packets and grants wait there, too: those of 500 messages at the first moment.
            assert!(longest <= frames * 1538 + 500 * 84, "{longest}: {what}");
            lost += dropped(&record, Class::Unscheduled);
        }
    }
    assert!(lost > 1000, "{lost}");
}

#[test]
fn ports_without_room_for_what_is_protected_are_warned_of() {
    let warns = |kind: &str, set: &str| {
        let text = format!(
            "{}{}[transport]\nkind = \"{kind}\"\n",
            FABRICS[0], TRAFFIC[0]
        );
        let said = run_with(&text, 1, set).warnings.join("\n");
        (said.contains("what it protects may be lost"), said)
    };
    for (kind, small, enough, key) in [
        ("homa+aeolus", "400KB", "600KB", "max_incoming"),
        ("ndp+aeolus", "10KB", "30KB", "fewer messages"),
    ] {
        let (warned, said) = warns(kind, &format!("switch.buffer={small}"));
        assert!(warned && said.contains(key), "{kind}: {said}");
        let (warned, said) = warns(kind, &format!("switch.buffer={enough}"));
        assert!(!warned, "{kind}: {said}");
        // A memory of the whole switch is no port's.
        let (warned, said) = warns(kind, &format!("switch.shared_buffer={small}"));
        assert!(!warned, "{kind}: {said}");
    }
    let (warned, said) = warns("homa", "switch.buffer=10KB");
    assert!(!warned, "{said}");
}

/// What a host says of its data may wait for long behind it, at that host, and is not said again meanwhile.
#[test]
fn no_timer_takes_the_wait_of_its_own_host_for_a_loss() {
    let text = "[topology]\nkind = \"star\"\nhosts = 16\nhost_delay = \"5us\"\n[workload]\nkind = \"random\"\n\
                sizes = \"cache-follower\"\nload = 0.8\nmessages = 400\n[transport]\nkind = \"expresspass+ssp\"\n";
    for seed in [5, 6] {
        let record = run(text, seed);
        assert_eq!(dropped(&record, Class::Control), 0);
        assert_eq!(
            (record.status, record.totals.timeouts),
            (Status::Complete, 0)
        );
    }
}

/// How long the longest message took, in microseconds.
fn longest(record: &RunRecord) -> f64 {
    let took = |flow: &FlowRow| Some(flow.end?.since(flow.start?).0);
    let all = record.flows.iter().map(took);
    let all = all.map(|took| took.expect("all of them end"));
    all.max().expect("there are some") as f64 / 1e6
}

#[test]
fn a_request_that_is_lost_with_its_frame_on_a_lasting_connection_costs_a_round_trip() {
    for kind in ["aeolus", "ssp", "gaps"] {
        for (lost, most) in [(1, 10.0), (2, 10.0), (3, 1_010.0)] {
            let text = format!(
                "[topology]\nkind = \"star\"\nhosts = 2\n[workload]\nkind = \"incast-rr\"\nsenders = 1\nsize = \"200B\"\n\
                 rounds = 20\ngap = \"200us\"\n[transport]\nkind = \"expresspass+{kind}\"\n\
                 [[faults]]\nkind = \"loss\"\nlink = \"h0 -> tor0\"\nchance = 1.0\nfrom = \"500us\"\nmost = {lost}\n"
            );
            let took = longest(&run(&text, 1));
            assert!(took < most, "{kind}, {lost} lost: {took} us");
        }
    }
}

#[test]
fn lost_words_do_not_make_what_ndp_has_on_its_way_smaller_for_good() {
    // All of eight seeds: a timer for what is lost at the end is a fifth of one run.
    let took = ["ndp", "ndp+aeolus", "ndp+gaps"].map(|kind| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 2\n[workload]\nkind = \"incast\"\nsenders = 1\nsize = \"20MB\"\n\
             [transport]\nkind = \"{kind}\"\n[[faults]]\nkind = \"loss\"\nlink = \"h1 -> tor0\"\nchance = 0.01\n\
             [[faults]]\nkind = \"loss\"\nlink = \"h0 -> tor0\"\nchance = 0.01\n"
        );
        let ends = (1..=8).map(|seed| longest(&run(&text, seed)));
        ends.sum::<f64>()
    });
    let [ndp, others @ ..] = took;
    assert!(others.iter().all(|&other| other < 1.5 * ndp), "{took:?}");
}
