//! Two transports in one run: what each gets, and what becomes of the promises.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use model::Class;
use results::{RunRecord, Summary};
use scenario::{Alone, Assembled, Scenario, load_text};
use units::Time;

/// Four long flows over one link by Aeolus, and 32 of DCTCP beside them.
fn crossing() -> String {
    let pairs = |range: std::ops::Range<u32>| {
        let pairs: Vec<_> = range.map(|n| format!("\"{n} -> {}\"", 36 + n)).collect();
        pairs.join(", ")
    };
    format!(
        "[topology]\nkind = \"dumbbell\"\npairs = 36\nhost_rate = \"10Gbps\"\nhost_delay = \"4us\"\n\
         [[workload]]\nkind = \"long-flows\"\npairs = [{}]\n\
         [[workload]]\nkind = \"long-flows\"\ntransport = \"dctcp\"\ntag = \"old\"\npairs = [{}]\n\
         [transport]\nkind = \"expresspass+aeolus\"\n\
         [run]\nuntil = \"10ms\"\n[output]\nevery = \"100us\"\nflows = true\n",
        pairs(0..4),
        pairs(4..36)
    )
}

fn assembled(text: &str, sets: &[&str]) -> Assembled {
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    load_text("a.toml", text, &sets)
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, sets: &[&str], threads: u16) -> RunRecord {
    let record = assembled(text, sets).run(threads, "", &mut Alone);
    let record = record.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.conservation, Ok(()));
    record
}

fn dropped(record: &RunRecord, class: Class) -> u64 {
    let ports = record.ports.iter();
    ports.map(|port| port.dropped[class]).sum()
}

/// Payload per second of either transport, as a part of what credits release on this link alone:
/// 1460 B for every 84 B and 1538 B.
fn parts(record: &RunRecord) -> [f64; 2] {
    let full = 10e9 * 1460.0 / (84.0 + 1538.0);
    let summary = Summary::of(record);
    let part = |number: usize| summary.transports[number].goodput_bps.unwrap() as f64 / full;
    [part(0), part(1)]
}

#[test]
fn in_a_queue_of_its_own_legacy_traffic_takes_its_share_and_breaks_no_promise() {
    for (share, kept) in [("0.2", 0.8), ("0.5", 0.5), ("0.8", 0.2)] {
        let record = run(&crossing(), &[&format!("switch.legacy.share={share}")], 1);
        assert_eq!(dropped(&record, Class::Scheduled), 0, "share {share}");
        assert_eq!(dropped(&record, Class::Control), 0, "share {share}");
        let [own, beside] = parts(&record);
        // Four flows take a while to fill what is theirs, and the first credits come after a round trip.
        assert!((own / kept - 1.0).abs() < 0.03, "share {share}: {own}");
        // It needs no credits, so that it gets a little more payload out of its part.
        assert!(beside > 0.98 * (1.0 - kept), "share {share}: {beside}");
        // The shaper's two credits, the burst's four frames, and a turn of the other queue.
        // The others' fill the 384,500 B of theirs, and the port's figure has both.
        let queue = Summary::of(&record).queue_max.unwrap().bytes;
        let both = 300_000..384_500 + 40_000;
        assert!(both.contains(&queue), "share {share}: {queue} B");
    }
}

#[test]
fn in_a_shared_queue_scheduled_packets_are_lost_whatever_credits_leave_free() {
    let shared = "switch.legacy.queue=shared";
    let record = run(&crossing(), &[shared], 1);
    let lost = dropped(&record, Class::Scheduled);
    assert!(lost > 100, "{lost} scheduled packets lost");
    let queue = Summary::of(&record).queue_max.unwrap().bytes;
    assert!(queue > 380_000, "{queue} B of 384,500");
    let [own, beside] = parts(&record);
    assert!(
        own < 0.95 && beside < 0.25,
        "credits are given for the whole line, which they do not get: {own} and {beside}"
    );
    // Credits for half of the line do not help: what fills the queue is not theirs.
    let record = run(&crossing(), &[shared, "switch.legacy.share=0.5"], 1);
    assert!(dropped(&record, Class::Scheduled) > 0);
    assert!(Summary::of(&record).queue_max.unwrap().bytes > 380_000);
}

#[test]
fn threads_the_event_queue_and_the_resolved_scenario_agree() {
    for queue in ["own", "shared"] {
        let sets = [
            format!("switch.legacy.queue={queue}"),
            "run.until=2ms".to_owned(),
        ];
        let sets: Vec<_> = sets.iter().map(String::as_str).collect();
        let one = run(&crossing(), &sets, 1);
        for threads in [2, 7] {
            let several = run(&crossing(), &sets, threads);
            assert_eq!(several.fingerprint, one.fingerprint, "{threads} threads");
        }
        let again = run(&one.scenario_toml, &[], 1);
        assert_eq!(again.fingerprint, one.fingerprint, "resolved.toml");
        assert_eq!(again.scenario_toml, one.scenario_toml);
        let of = assembled(&crossing(), &sets);
        let make = |config: &model::EndpointConfig| of.endpoint(config);
        let mut setup = of.setup(&make, 1);
        setup.digest = true;
        setup.probes = sim::Probes::default();
        let engine = sim::run(&setup, &mut sim::Blind).unwrap();
        let oracle = sim::oracle::run(&setup).unwrap();
        assert_eq!(
            (engine.digest, engine.fingerprint),
            (oracle.digest, oracle.fingerprint),
            "{queue}"
        );
    }
}

/// Short messages of both, in one incast.
const MESSAGES: &str = "[topology]\nkind = \"star\"\nhosts = 9\nhost_rate = \"10Gbps\"\n\
     [[workload]]\nkind = \"incast\"\nsenders = 4\nsize = \"40KB\"\n\
     [[workload]]\nkind = \"incast\"\nsenders = 8\nsize = \"30KB\"\ntransport = \"dctcp\"\ntag = \"old\"\n\
     [transport]\nkind = \"expresspass+aeolus\"\n";

#[test]
fn every_message_says_which_transport_carried_it_and_totals_are_told_apart() {
    let record = run(MESSAGES, &[], 1);
    assert_eq!(record.transports, ["expresspass+aeolus", "dctcp"]);
    for flow in &record.flows {
        assert!(flow.end.is_some(), "message {}", flow.message);
        let old = record.tags[usize::from(flow.tag)] == "old";
        assert_eq!(usize::from(flow.transport), usize::from(old));
    }
    let summary = Summary::of(&record);
    let of: Vec<_> = summary
        .transports
        .iter()
        .map(|of| (of.messages, of.finished))
        .collect();
    assert_eq!(of, [(4, 4), (8, 8)]);
    let sum: u64 = summary.transports.iter().map(|of| of.data_sent).sum();
    assert_eq!(sum, record.totals.data_sent);
    // 21 frames of 30 KB each, and 28 of 40 KB.
    assert!(summary.transports[1].data_sent >= 8 * 21 && record.totals_of(0).data_sent >= 4 * 28);
    assert_eq!(record.totals_of(1).credits_sent, 0);
    let mut csv = Vec::new();
    results::files::flows_csv(&mut csv, &record).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.matches(",old,dctcp\n").count(), 8);
    let table = results::table::rows(&[&summary], results::Style::PLAIN);
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn the_time_of_a_message_is_explained_under_either_transport() {
    let of = assembled(MESSAGES, &[]);
    let numbers = [0, 11];
    let (why, traced) = of
        .explain(1, &numbers, Time::ZERO, Time::NEVER, &mut Alone)
        .unwrap_or_else(|e| panic!("{e}"));
    let record = run(MESSAGES, &[], 1);
    assert_eq!(traced.fingerprint, record.fingerprint);
    assert_eq!(why.len(), 2);
    for (why, number) in why.iter().zip(numbers) {
        let flow = &record.flows[number as usize];
        let took = flow.end.unwrap().since(flow.start.unwrap());
        let parts: u64 = why.parts.iter().map(|part| part.ps).sum();
        assert_eq!(parts, took.0, "message {number}");
    }
}

#[test]
fn what_cannot_be_side_by_side_is_said_with_the_way_out() {
    let wrong = |text: &str, sets: &[&str]| -> String {
        let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
        match load_text("a.toml", text, &sets).and_then(Scenario::assemble) {
            Ok(_) => panic!("{sets:?} are accepted"),
            Err(errors) => errors.to_string(),
        }
    };
    let alone = MESSAGES.replace("transport = \"dctcp\"\n", "");
    let special = MESSAGES.replace("\"dctcp\"", "\"expresspass\"");
    for (text, set, says) in [
        (
            &*alone,
            "switch.legacy.share=0.2",
            "add transport = \"dctcp\"",
        ),
        (MESSAGES, "transport.kind=dctcp", "dctcp is alone"),
        (MESSAGES, "switch.legacy.share=0.95", "0.9"),
        (
            &*special,
            "switch.legacy.queue=shared",
            "write queue = \"own\"",
        ),
        (
            MESSAGES,
            "transport.expresspass+aeolus.control_share=0.5",
            "lower share",
        ),
    ] {
        let mut sets = vec![set];
        if set.starts_with("transport.kind") {
            sets.push("switch.legacy.queue=own");
        }
        let said = wrong(text, &sets);
        assert!(said.contains(says), "{set}: {said}");
    }
}

#[test]
fn more_transports_than_ports_tell_apart_are_refused() {
    let beside = |kind: &str| {
        format!("[[workload]]\nkind = \"permutation\"\nsize = \"1KB\"\ntransport = \"{kind}\"\n")
    };
    let all = [
        "expresspass",
        "expresspass+ssp",
        "expresspass+gaps",
        "dctcp",
    ]
    .map(beside);
    let text = format!(
        "[topology]\nkind = \"star\"\n[transport]\nkind = \"expresspass+aeolus\"\n{}",
        all.concat()
    );
    let Err(errors) = load_text("a.toml", &text, &[]).and_then(Scenario::assemble) else {
        panic!("five transports are accepted");
    };
    assert!(errors.to_string().contains("at most 3"), "{errors}");
}

#[test]
fn any_transports_share_a_fabric_each_in_queues_of_its_own() {
    let with = |own: &str, beside: &str| {
        MESSAGES
            .replace(
                "kind = \"expresspass+aeolus\"",
                &format!("kind = \"{own}\""),
            )
            .replace(
                "transport = \"dctcp\"",
                &format!("transport = \"{beside}\""),
            )
    };
    for (own, beside) in [
        ("dctcp", "expresspass"),
        ("expresspass", "expresspass+aeolus"),
        ("expresspass+aeolus", "expresspass+gaps"),
        ("homa", "ndp"),
        ("ndp+aeolus", "sird"),
        ("phost", "dcpim"),
        ("fastpass", "homa+aeolus"),
    ] {
        let text = with(own, beside);
        let record = run(&text, &[], 1);
        assert!(
            record.flows.iter().all(|flow| flow.end.is_some()),
            "{own}, {beside}"
        );
        let lost: u64 = record
            .ports
            .iter()
            .map(|port| port.dropped[Class::Scheduled])
            .sum();
        assert_eq!(lost, 0, "{own}, {beside}");
        assert_eq!(record.fingerprint, run(&text, &[], 3).fingerprint);
    }
}

/// 40 messages of 500 KB of no transport to one host, beside ExpressPass.
const CROWD: &str = r#"
[topology]
kind = "star"
hosts = 50
[[workload]]
kind = "incast"
senders = 4
size = "20KB"
[[workload]]
kind = "incast"
transport = "none"
senders = 40
size = "500KB"
[transport]
kind = "expresspass"
"#;

#[test]
fn a_queue_beside_others_may_have_all_of_a_memory_that_ports_share() {
    let lost = |sets: &[&str]| {
        let record = run(CROWD, sets, 1);
        (dropped(&record, Class::Plain), record.fingerprint)
    };
    let (own, _) = lost(&[]);
    assert!(own > 10_000, "{own} packets of 385 KB at the port");
    let (shared, all) = lost(&["switch.shared_buffer=64MB"]);
    assert_eq!(shared, 0);
    // It is said not to be read.
    let with = ["switch.shared_buffer=64MB", "switch.buffer=20KB"];
    assert_eq!(lost(&with), (0, all));
    let (some, _) = lost(&["switch.shared_buffer=64MB", "switch.legacy.buffer=200KB"]);
    assert!(
        some > 10_000,
        "{some} packets of 200 KB, a limit of its own"
    );
}

#[test]
fn ndp_cuts_what_a_memory_that_ports_share_has_no_room_for() {
    let text = "[topology]\nkind = \"star\"\nhosts = 33\n[workload]\nkind = \"incast\"\nsenders = 32\n\
                [transport]\nkind = \"ndp\"\n";
    let record = run(text, &["switch.shared_buffer=20KB"], 1);
    assert!(record.flows.iter().all(|flow| flow.end.is_some()));
    let lost: u64 = [Class::Unscheduled, Class::Scheduled]
        .map(|class| dropped(&record, class))
        .iter()
        .sum();
    let again = Summary::of(&record).packets.retransmitted;
    assert!(
        again > 500 && lost == 0,
        "{again} cut and sent again, {lost} lost"
    );
    assert_eq!(
        record.fingerprint,
        run(text, &["switch.shared_buffer=20KB"], 3).fingerprint
    );
}

/// Four transports in lanes of one star.
const FOUR: &str = r#"
[topology]
kind = "star"
hosts = 9
host_rate = "25Gbps"
[transport]
kind = "ndp"
[[workload]]
kind = "incast"
senders = 4
[[workload]]
kind = "incast"
transport = "expresspass"
senders = 4
[[workload]]
kind = "incast"
transport = "homa"
senders = 4
[[workload]]
kind = "incast"
transport = "dctcp"
senders = 4
"#;

#[test]
fn every_queue_of_those_beside_is_told_with_its_transport() {
    let queues = |sets: &[&str]| {
        let figures = assembled(FOUR, sets).figures();
        let queues = figures.into_iter();
        let queues = queues.filter(|figure| figure.name == "legacy queue at 25 Gb/s");
        queues.map(|figure| figure.value).collect::<Vec<_>>()
    };
    let says = "weight 33 against 100 of ndp; 385 KB may wait";
    assert_eq!(
        queues(&[]),
        [
            format!("expresspass: {says}"),
            format!("homa: {says}"),
            format!("dctcp: {says}, marked from 100 KB")
        ]
    );
    // Nothing is marked beyond what may wait.
    let said = queues(&["switch.legacy.buffer=50KB"]);
    assert_eq!(
        said[2],
        "dctcp: weight 33 against 100 of ndp; 50 KB may wait"
    );
}

#[test]
fn a_queue_beside_others_without_room_for_a_frame_is_warned_of() {
    let said = |text: &str, sets: &[&str]| assembled(text, sets).warnings.join("\n");
    let all = "no full frame of 1.538KB fits into the 1KB that expresspass and homa and dctcp may have waiting at tor0 -> h0, and \
               what they send there never arrives; set switch.legacy.buffer";
    let small = said(FOUR, &["switch.legacy.buffer=1KB"]);
    assert!(small.contains(all), "{small}");
    let marks = "packets are marked from 99.97KB on, and no more than 1KB of dctcp wait at tor0 -> h0: it never happens; set \
                 switch.legacy.buffer, or the threshold";
    assert!(small.contains(marks), "{small}");
    let buffer = said(FOUR, &["switch.buffer=1KB"]);
    assert!(
        buffer.contains("never arrives; set switch.buffer"),
        "{buffer}"
    );
    // Limits of their own hold where ports share a memory, too.
    let shared = ["switch.shared_buffer=1MB", "switch.legacy.buffer=1KB"];
    let shared = said(FOUR, &shared);
    assert!(shared.contains(all), "{shared}");
    for fits in ["switch.legacy.buffer=1538B", "switch.legacy.buffer=1MB"] {
        let said = said(FOUR, &[fits]);
        assert!(!said.contains("no full frame"), "{said}");
    }
}

/// What is said of a scenario that cannot run, with these settings on top.
fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
    let found = load_text("a.toml", text, &sets).and_then(Scenario::assemble);
    found.err().unwrap().render(false)
}

#[test]
fn a_flow_control_names_the_transport_that_it_does_not_work_with() {
    let said = refused(FOUR, &["switch.flow_control=pfc"]);
    assert!(
        said.contains("at a port of 25Gbps for ndp, it cuts"),
        "{said}"
    );
    assert!(said.contains("this is about ndp alone"), "{said}");
    // Queues of several are those of all.
    let said = refused(MESSAGES, &["switch.flow_control=bfc"]);
    assert!(
        said.contains("for expresspass+aeolus and dctcp, it has"),
        "{said}"
    );
    assert!(!said.contains("this is about"), "{said}");
}

#[test]
fn credits_of_a_transport_beside_are_no_setting_of_the_runs_own() {
    let key = "switch.credit.bucket=8";
    let said = refused(FOUR, &[key]);
    assert!(
        said.contains("switch.credit.bucket means nothing here"),
        "{said}"
    );
    assert!(!said.contains("uses no credits"), "{said}");
    let said = refused(FOUR, &[key, "transport.kind=phost"]);
    assert!(
        said.contains("phost uses no credits")
            && said.contains("^ those of expresspass wait as it asks"),
        "{said}"
    );
    let said = refused(
        FOUR,
        &[key, "transport.kind=phost", "workload.1.transport=sird"],
    );
    assert!(said.contains("^\n help: remove [switch.credit]"), "{said}");
}
