//! Who stands where within each size, and what that rests on: lists of messages, room in ports, and losses there.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use model::Class;
use results::compare::{self, Comparison};
use results::{Ground, Needs, RunRecord, Style, Summary, table};
use units::{Span, Time};

/// 200 messages, half of them small; those take `small` times what an idle network does, the others `large` times.
fn run(transport: &str, small: u64, large: u64) -> RunRecord {
    let mut run = common::mixed(200);
    for (i, flow) in run.flows.iter_mut().enumerate() {
        let (size, slow) = match i % 2 {
            0 => (5_000, small),
            _ => (500_000, large),
        };
        (flow.size, flow.received, flow.ideal, flow.tag) = (size, size, Span::us(10), 0);
        let start = Time::ZERO.after(Span::us(i as u64));
        flow.start = Some(start);
        flow.end = Some(start.after(Span::us(slow)));
    }
    run.end = Time::ZERO.after(Span::ms(1));
    run.transport = transport.into();
    run.fingerprint = small + 1_000 * large;
    run.derived.ground = Ground {
        room: vec![
            ("10 Gb/s".into(), "385 KB per port".into()),
            ("40 Gb/s".into(), "385 KB per port".into()),
        ],
        needs: None,
        cut: vec![("web-search".into(), "2% of the messages, to 30 MB".into())],
    };
    run
}

fn said(runs: &[RunRecord]) -> String {
    let summaries: Vec<Summary> = runs.iter().map(Summary::of).collect();
    compare::text(&summaries.iter().collect::<Vec<_>>(), Style::PLAIN)
}

/// What `said` has from the line on that begins so.
fn from<'a>(said: &'a str, begins: &str) -> Vec<&'a str> {
    let lines = said.lines().skip_while(|line| !line.starts_with(begins));
    let found: Vec<&str> = lines.collect();
    assert!(!found.is_empty(), "{begins}: {said}");
    found
}

#[test]
fn schemes_are_ranked_within_each_size_and_who_is_level_shares_a_place() {
    let runs = [
        ("homa", 40, 50),
        ("ndp", 80, 30),
        ("sird", 41, 90),
        ("dcpim", 120, 31),
        ("phost", 122, 33),
        ("fastpass", 160, 32),
        ("dctcp", 900, 94),
    ];
    let runs = runs.map(|(name, small, large)| run(name, small, large));
    let told = said(&runs);
    let table = from(&told, " 200 messages");
    assert_eq!(
        &table[..10],
        [
            " 200 messages; one list, 000000000000feed; web-search cut: 2% of the messages, to 30 MB",
            " place, p99 slowdown   up to 10 KB   100 KB - 1 MB",
            " messages              100           100",
            // 41 is less than 5 % above 40, which one seed does not tell from chance.
            " homa                  1. 4.00       5. 5.00",
            " ndp                   3. 8.00       1. 3.00",
            " sird                  1. 4.10       6. 9.00",
            " dcpim                 4. 12.0       1. 3.10",
            // 31 is level with 30; 32 is behind that, though near 31, and 33 is level with 32.
            " phost                 4. 12.2       3. 3.30",
            " fastpass              6. 16.0       3. 3.20",
            " dctcp                 7. 90.0       6. 9.40",
        ],
        "{told}"
    );
    assert_eq!(
        table[10],
        " 1. is the lowest of its size or tag; who is level shares a place."
    );
}

#[test]
fn who_left_messages_unfinished_has_no_sure_place_and_takes_it_from_others() {
    let mut runs = [("homa", 20, 50), ("ndp", 40, 30), ("sird", 60, 90)]
        .map(|(name, small, large)| run(name, small, large));
    // Ten small ones of ndp have taken 30 times 10 us at the end, and nobody knows how much longer they take.
    for flow in runs[1]
        .flows
        .iter_mut()
        .filter(|flow| flow.size == 5_000)
        .take(10)
    {
        flow.end = None;
        flow.start = Some(Time::ZERO.after(Span::us(700)));
    }
    let told = said(&runs);
    let table = from(&told, " part");
    let (title, small) = (table[0], table[1]);
    assert_eq!(title.split_whitespace().last(), Some("messages"));
    // At least 30 is behind both others for sure.
    assert_eq!(
        small.split_whitespace().skip(6).collect::<Vec<_>>(),
        ["1.", "2.00", "3+.", ">=", "30.0", "2.", "6.00", "100"],
        "{told}"
    );
    assert!(told.contains("Where messages did not finish, 2+"));
}

#[test]
fn rivals_that_served_other_lists_are_named() {
    let mut runs = [run("homa", 20, 50), run("ndp", 40, 30)];
    runs[1].messages_hash = 0xbeef;
    let told = said(&runs);
    assert!(
        told.contains(
            " 200 messages; not one list: with seed 1 ndp has 000000000000beef where homa has 000000000000feed;\n"
        ),
        "{told}"
    );
    let (first, mut second) = (run("homa", 20, 50), run("homa", 22, 50));
    (second.seed, second.messages_hash) = (2, 0xcafe);
    let told = said(&[first, second, run("ndp", 40, 30)]);
    assert!(
        told.contains("one list per seed, seed 1 000000000000feed, seed 2 000000000000cafe;"),
        "{told}"
    );
}

#[test]
fn losses_of_scheduled_data_are_told_by_port_and_none_is_told_as_zero() {
    let mut runs = [
        run("homa", 20, 50),
        run("ndp", 40, 30),
        run("dctcp", 60, 90),
    ];
    for (sent, run) in [100, 100, 0].into_iter().zip(&mut runs) {
        for port in run.ports.iter_mut().filter(|port| port.of_host()) {
            port.packets[Class::Scheduled] = sent;
        }
    }
    for (place, port) in runs[0]
        .ports
        .iter_mut()
        .filter(|p| !p.of_host())
        .enumerate()
    {
        // Of one class alone, the later ports the most; the first none.
        (
            port.dropped[Class::Scheduled],
            port.dropped[Class::Unscheduled],
        ) = (place as u64, 7);
    }
    runs[1].derived.ground.room = vec![("10 Gb/s".into(), "trimmed beyond 8".into())];
    runs[0].derived.ground.needs = Some(Needs {
        bytes: 83_100,
        port_bytes: 384_500,
    });
    let told = said(&runs);
    let lines = from(&told, " a port of a switch");
    assert_eq!(
        &lines[..8],
        [
            " a port of a switch holds: trimmed beyond 8 (ndp); 385 KB per port (homa and dctcp)",
            " so that no scheduled data is lost before a host, it needs room: homa 83.1 KB, which fits",
            " scheduled lost   packets",
            " homa             120",
            " ndp              0",
            " dctcp            -",
            "   homa: 120 of 1,600 packets, 15 at tor0 -> h15, 14 at tor0 -> h14, 13 at tor0 -> h13, 12 at tor0",
            "   -> h12, and 66 at 11 more ports",
        ],
        "{told}"
    );
    // Seeds are told together, so that none that lost something is hidden by others.
    let mut second = runs[0].clone();
    (second.seed, second.fingerprint) = (2, 5);
    let both: Vec<Summary> = [&runs[0], &second].map(Summary::of).into();
    let comparison = Comparison::of(&both.iter().collect::<Vec<_>>());
    let asked = comparison.groups[0].asked.as_ref().unwrap();
    assert_eq!(
        (asked.sent, asked.dropped, asked.at[0].dropped),
        (3_200, 240, 30)
    );
}

#[test]
fn every_setting_says_what_ports_hold_and_lose() {
    let with = |name, buffer: &str, lost: u64| {
        let mut run = run(name, 20, 50);
        run.settings = vec![("switch.buffer".into(), buffer.into())];
        run.derived.ground.room = vec![("10 Gb/s".into(), format!("{buffer} per port"))];
        let port = run.ports.iter_mut().find(|port| !port.of_host()).unwrap();
        port.dropped[Class::Scheduled] = lost;
        run
    };
    let told = said(&[with("homa", "100KB", 173), with("homa", "1MB", 38)]);
    let lines = from(&told, " a port of a switch");
    assert_eq!(
        lines[0], " a port of a switch holds at buffer 100KB: 100KB per port",
        "{told}"
    );
    assert_eq!(
        lines[1],
        " a port of a switch holds at buffer 1MB: 1MB per port"
    );
    assert_eq!(lines[2], " scheduled lost   buffer 100KB   buffer 1MB");
    assert_eq!(lines[3], " homa             173            38");
}

#[test]
fn few_runs_that_are_told_one_by_one_are_ranked_too() {
    let runs = [run("homa", 20, 50), run("ndp", 40, 30)].map(|run| Summary::of(&run));
    let of = |run| -> (&Summary, &[results::Verdict]) { (run, &[]) };
    let told = table::text(&[of(&runs[0]), of(&runs[1])], Style::PLAIN);
    assert!(
        told.contains("p99 slowdown, up to 10 KB     1. 2.00   2. 4.00"),
        "{told}"
    );
    assert!(!table::text(&[of(&runs[0])], Style::PLAIN).contains("one list"));
    // Runs of several scenarios are no rivals.
    let mut other = runs[1].clone();
    other.scenario = "incast".into();
    let told = table::text(&[of(&runs[0]), of(&other)], Style::PLAIN);
    assert!(!told.contains("one list"), "{told}");
}
