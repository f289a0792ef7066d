//! Built-in scenarios from their file to their record, made smaller.

mod common;

use common::assembled;
use results::{FlowRow, RunRecord, Status};
use scenario::{Alone, Progress, Scenario, Watch};
use units::{Span, Time};

fn run(name: &str, sets: &[&str], threads: u16) -> RunRecord {
    assembled(name, sets)
        .run(threads, "", &mut Alone)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// What makes a built-in scenario take a moment.
fn smaller(name: &str) -> &'static [&'static str] {
    match name {
        "shuffle" => &["workload.tasks=1", "workload.size=20KB"],
        "all-to-all" => &["workload.size=10KB"],
        "permutation" => &["workload.size=50KB"],
        "incast-rr" => &["workload.rounds=2"],
        "web-server" | "cache-follower" | "web-search" | "data-mining" | "xpass-fat-tree"
        | "aeolus-world" => &["workload.messages=40"],
        _ => &[],
    }
}

#[test]
fn every_builtin_scenario_runs_to_its_end_under_every_transport() {
    for builtin in scenario::builtin::all() {
        for transport in transports::registry().iter() {
            let kind = format!("transport.kind={}", transport.name());
            let sets = [smaller(builtin.name), &[kind.as_str()]].concat();
            let record = run(builtin.name, &sets, 1);
            let name = format!("{} with {}", builtin.name, transport.name());
            assert_eq!(
                record.status,
                Status::Complete,
                "{name}: {:?}",
                record.stuck.first()
            );
            assert_eq!(record.conservation, Ok(()), "{name}");
            // Its background queue is sampled, and has no maximum: see `DataPart::peak`.
            let own_queue = !transport.name().ends_with("+gaps");
            let mut samples = record.port_series.iter().filter(|_| own_queue);
            let above = samples.find(|sample| {
                let port = &record.ports[sample.link as usize];
                sample.queue > port.queue_max || sample.credits > port.credits_max
            });
            assert_eq!(above, None, "{name}: a sample above the greatest");
            let early = |f: &FlowRow| match (f.start, f.end) {
                (Some(start), Some(end)) => !f.timed && end.since(start) < f.ideal,
                // What Homa asks for after 5 ms of silence ends it 350 us after the run, and hosts without control
                // go back after 10 ms.
                _ => {
                    !(f.timed
                        && (name.starts_with("dumbbell with homa") || name.ends_with("with none")))
                }
            };
            assert!(
                !record.flows.iter().any(early),
                "{name}: faster than an idle network"
            );
        }
    }
}

#[test]
fn threads_change_nothing() {
    let one = run("xpass-fat-tree", &["workload.messages=100"], 1);
    for threads in [2, 5] {
        assert_eq!(
            run("xpass-fat-tree", &["workload.messages=100"], threads),
            one
        );
    }
}

#[test]
fn flows_without_an_end_last_as_long_as_the_run_and_count_what_they_brought() {
    let endless = "[topology]\nkind = \"dumbbell\"\nhost_rate = \"10Gbps\"\n[workload]\nkind = \
                   \"long-flows\"\n[run]\nuntil = \"5ms\"\n[output]\nflows = true\n";
    let open = scenario::load_text("endless.toml", endless, &[])
        .and_then(Scenario::assemble)
        .and_then(|run| run.run(1, "", &mut Alone))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(open.status, Status::Complete);
    assert!(
        open.flows.iter().all(|f| f.timed && f.end.is_none()),
        "{:?}",
        open.flows
    );
    // Two flows share 10 Gb/s for five milliseconds, less the overhead of frames and credits.
    let received: u64 = open.flows.iter().map(|f| f.received).sum();
    assert!((5_000_000..5_650_000).contains(&received), "{received} B");
}

#[test]
fn the_window_decides_who_counts_and_the_drain_when_it_ends() {
    let sets = [
        "workload.stop=4ms",
        "run.warmup=1ms",
        "run.window=2ms",
        "run.drain=1ms",
    ];
    let text = "[topology]\nkind = \"star\"\nhosts = 8\nhost_rate = \"10Gbps\"\n[workload]\nkind = \
                \"random\"\nsizes = \"web-server\"\n";
    let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
    let run = scenario::load_text("w.toml", text, &sets)
        .and_then(Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run.window(), Time(1_000_000_000)..Time(3_000_000_000));
    assert_eq!(run.until(), Time(4_000_000_000));
    let record = run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"));
    // What did not finish has waited until then.
    assert!(record.flows.iter().any(|flow| flow.end.is_none()));
    assert_eq!(record.end, run.until());
    assert_eq!(
        record.status,
        Status::Complete,
        "unfinished messages are allowed to remain"
    );
    let summary = results::Summary::of(&record);
    assert!(summary.messages.counted < summary.messages.total);
}

/// Ends a run at the first look after some messages.
struct Impatient {
    looks: u32,
    rows: usize,
}

impl Watch for Impatient {
    fn progress(&mut self, progress: &Progress) -> bool {
        self.looks += 1;
        progress.done < 10
    }
    fn completed(&mut self, rows: &[FlowRow], names: results::Names<'_>) {
        assert!(
            rows.iter()
                .all(|row| row.end.is_some() && usize::from(row.tag) < names.tags.len())
        );
        self.rows += rows.len();
    }
}

#[test]
fn an_interrupted_run_gives_what_it_had() {
    let mut watch = Impatient { looks: 0, rows: 0 };
    let record = assembled("web-server", &["workload.messages=1000"])
        .run(1, "", &mut watch)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(record.status, Status::Interrupted);
    let done = record.flows.iter().filter(|f| f.end.is_some()).count();
    assert!(
        (10..1000).contains(&done) && watch.looks > 0,
        "{done} after {} looks",
        watch.looks
    );
    assert_eq!(watch.rows, done);
}

#[test]
fn long_runs_keep_a_bounded_number_of_samples() {
    let sets = ["output.every=100ns", "workload.size=200KB"];
    let record = run("incast", &sets, 1);
    assert!(
        record.port_series.len() <= 1 << 19,
        "{}",
        record.port_series.len()
    );
    assert!(
        record.port_series.len() > 1 << 17,
        "{}",
        record.port_series.len()
    );
    let mut moments: Vec<u64> = record.port_series.iter().map(|s| s.at.0).collect();
    moments.dedup();
    let steps: Vec<u64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        steps.iter().all(|&step| step == steps[0]),
        "samples stay evenly spaced"
    );
}

#[test]
fn what_outlasts_a_run_counts_with_the_bytes_that_arrived() {
    let long = "kind = \"long-flows\"\npairs = [\"0 -> 2\"]\n";
    let large = "kind = \"incast\"\nsenders = 1\nreceiver = 2\nsize = \"100MB\"\n";
    let rounds = "kind = \"incast-rr\"\nsenders = 1\nreceiver = 2\nsize = \"3MB\"\nrounds = 9\n";
    for (kind, transport) in [
        (long, "expresspass"),
        (large, "expresspass"),
        (long, "dctcp"),
    ]
    .into_iter()
    .chain([(large, "dctcp"), (rounds, "dctcp")])
    {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\n[workload]\n{kind}\
             [transport]\nkind = \"{transport}\"\n[run]\nuntil = \"5ms\"\n[output]\nevery = \"0s\"\n"
        );
        let assembled = scenario::load_text("t.toml", &text, &[]).and_then(Scenario::assemble);
        let record = assembled.and_then(|run| run.run(1, "", &mut Alone));
        let record = record.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(record.status, Status::Complete);
        let received: u64 = record.flows.iter().map(|flow| flow.received).sum();
        let open = record.flows.iter().any(|flow| flow.end.is_none());
        // The line carries 6.25 MB in that time, headers and credits included.
        assert!(
            open && (5_000_000..6_250_000).contains(&received),
            "{received} B, {text}"
        );
        let goodput = results::Summary::of(&record).goodput.unwrap().bps;
        assert!(
            (8_000_000_000..10_000_000_000).contains(&goodput),
            "{goodput} b/s, {text}"
        );
    }
}

#[test]
fn never_is_said_where_nothing_waits_for_a_moment_any_more() {
    let lossy = "[topology]\nkind = \"star\"\nhosts = 2\n[workload]\nkind = \"incast\"\nsenders = \
                 1\nsize = \"5KB\"\n[transport]\nkind = \"dctcp\"\n[[faults]]\nkind = \"loss\"\nlink = \
                 \"h1 -> tor0\"\nchance = 1.0\n";
    let end = |until: &str| {
        let sets = [format!("run.until={until}")];
        let assembled = scenario::load_text("t.toml", lossy, &sets).and_then(Scenario::assemble);
        let record = assembled.and_then(|run| run.run(1, "", &mut Alone));
        record.unwrap_or_else(|e| panic!("{e}"))
    };
    // At its default end it still tries; told to end there, it did what it was told; and some day it
    // gives up.
    assert_eq!(end("10s").status, Status::Unfinished);
    let told = &end("10s").warnings[0];
    assert!(
        told.contains("nothing has ever arrived, so that more time"),
        "{told}"
    );
    assert_eq!(end("9s").status, Status::Complete);
    assert_eq!(end("5000s").status, Status::Stuck);
}

/// A message that a host has refused is not late, however short the run was told to be.
#[test]
fn refused_messages_are_told_from_those_that_lack_time() {
    let text = "[topology]\nkind = \"star\"\nhosts = 5\n[workload]\nkind = \"incast\"\nsenders = \
                4\nsize = \"5KB\"\n[transport]\nkind = \"ideal-rate\"\nideal-rate.connections_max = \
                1\n[[faults]]\nkind = \"loss\"\nlink = \"h4 -> tor0\"\nchance = 1.0\n";
    let end = |until: &str| {
        let sets = [format!("run.until={until}")];
        let assembled = scenario::load_text("t.toml", text, &sets).and_then(Scenario::assemble);
        let record = assembled.and_then(|run| run.run(1, "", &mut Alone));
        record.unwrap_or_else(|e| panic!("{e}"))
    };
    // One is taken, two are refused, and the fourth still asks.
    let early = end("1ms");
    assert_eq!(early.status, Status::Unfinished);
    let told = &early.warnings[0];
    assert!(told.starts_with("2 of 4 messages were refused"), "{told}");
    assert_eq!(end("100s").status, Status::Stuck);
}

/// Ten questions with their answers on each of two connections, of which one is given up.
#[test]
fn all_messages_of_a_connection_that_is_given_up_are_refused() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\n[workload]\nkind = \"incast-rr\"\nsenders = \
                2\nrounds = 10\nsize = \"1MB\"\n[transport]\nkind = \"none\"\nnone.retries_max = \
                1\nnone.retry = \"10us\"\n[[faults]]\nkind = \"loss\"\nlink = \"h2 -> tor0\"\nchance = \
                1.0\n";
    let sets = ["run.until=200us".to_owned()];
    let assembled = scenario::load_text("t.toml", text, &sets).and_then(Scenario::assemble);
    let record = assembled.and_then(|run| run.run(1, "", &mut Alone));
    let record = record.unwrap_or_else(|e| panic!("{e}"));
    let told = record.warnings.iter().find(|said| said.contains("refused"));
    let told = told.unwrap_or_else(|| panic!("{:?}", record.warnings));
    // Of the given up one the first question has arrived.
    assert!(told.starts_with("19 of 40 messages were refused"), "{told}");
}

#[test]
fn a_queue_before_the_line_marks_in_the_host_and_lets_short_wait_behind_long() {
    let text = "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\n[transport]\nkind = \
                \"dctcp\"\n[[workload]]\nkind = \"long-flows\"\npairs = [\"0 -> 1\"]\nstop = \
                \"5ms\"\n[[workload]]\nkind = \"incast\"\nsenders = 1\nreceiver = 2\npick = \"in-order\"\n\
                size = \"10KB\"\nstart = \"4ms\"\n[output]\nevery = \"50us\"\nports = [\"h0 -> *\"]\n";
    let of = |queue: &str| {
        let set = format!("switch.host_queue={queue}");
        scenario::load_text("t.toml", text, &[set])
            .and_then(Scenario::assemble)
            .and_then(|run| run.run(1, "", &mut Alone))
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let (with, without) = (of("true"), of("false"));
    let host = |run: &RunRecord| run.ports.iter().find(|p| p.from == "h0").unwrap().clone();
    // K is 65 full frames; the window of one flow goes beyond and is cut by marks, in its own host.
    assert_eq!((host(&without).marked, host(&without).queue_max), (0, 0));
    assert!(host(&with).marked > 100, "{}", host(&with).marked);
    let most = host(&with).queue_max;
    assert!((99_970..=384_500).contains(&most), "{most} B");
    let last = with
        .port_series
        .iter()
        .filter(|row| row.queue > 0)
        .last()
        .unwrap();
    assert!(last.marked > 100, "{last:?}");
    let short = |run: &RunRecord| {
        let flow = run.flows.iter().find(|flow| flow.size == 10_000).unwrap();
        flow.end.unwrap().since(flow.start.unwrap())
    };
    // At least 30 frames of 1.23 us lie before its first.
    let waited = short(&with).0.saturating_sub(short(&without).0);
    assert!(
        waited > 30_000_000,
        "{} and {}",
        short(&with),
        short(&without)
    );
}

#[test]
fn no_line_carries_more_than_it_can_where_a_run_is_cut_off() {
    for kind in ["none", "dctcp", "ndp", "homa"] {
        let kind = format!("transport.kind={kind}");
        let sets = [
            "topology.host_rate=1Gbps",
            "workload.size=1MB",
            "switch.buffer=10MB",
            "run.until=3ms",
            "output.every=10us",
            "output.window=[\"1ms\", \"2ms\"]",
            kind.as_str(),
        ];
        let record = run("incast", &sets, 2);
        let window = record.counted.as_ref().unwrap();
        for (of, ports, span) in [
            ("run", &record.ports, results::ports_span(&record)),
            ("window", &window.ports, Span::ms(1)),
        ] {
            let busy = ports.iter().map(|port| results::utilisation(port, span));
            let most = busy.fold(0.0, f64::max);
            assert!((0.9..=1.0).contains(&most), "{kind}, {of}: {most}");
        }
        let frame = u64::from(record.encap.wire_max());
        for port in &record.ports {
            let rows = record
                .port_series
                .iter()
                .filter(|row| row.link == port.link);
            let rows: Vec<(Time, u64)> = rows.map(|row| (row.at, row.sent.sum())).collect();
            for pair in rows.windows(2) {
                let (span, sent) = (pair[1].0.since(pair[0].0), pair[1].1 - pair[0].1);
                let most = port.rate.bytes_in(span).get() + frame;
                assert!(sent <= most, "{kind}, {}: {sent} B in {span}", port.name());
            }
            let last = rows.last().map_or(0, |row| row.1);
            assert!(last <= port.bytes.sum(), "{kind}, {}", port.name());
        }
    }
}

#[test]
fn windows_of_a_run_add_up_to_the_whole_and_change_nothing() {
    let of = |window: Option<&str>| {
        let set = window.map(|window| format!("output.window={window}"));
        let kind = "transport.kind=dctcp".to_owned();
        let sets: Vec<_> = [Some(kind), set].into_iter().flatten().collect();
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        run("incast", &sets, 2)
    };
    let whole = of(None);
    assert_eq!(whole.counted, None);
    let parts = ["[\"0s\", \"200us\"]", "[\"200us\", \"10s\"]"].map(|window| {
        let part = of(Some(window));
        assert_eq!(part.fingerprint, whole.fingerprint, "{window}");
        assert_eq!(part.ports, whole.ports, "{window}");
        part.counted.unwrap().ports
    });
    let (mut marked, mut fell) = ([0, 0], false);
    for (port, whole) in whole.ports.iter().enumerate() {
        let [early, late] = [&parts[0][port], &parts[1][port]];
        let sums = |of: fn(&results::PortRow) -> u64| (of(early) + of(late), of(whole));
        for (parts, whole) in [
            sums(|port| port.packets.sum()),
            sums(|port| port.bytes.sum()),
            sums(|port| port.dropped.sum()),
            sums(|port| port.drop_reasons.sum()),
            sums(|port| port.marked),
        ] {
            assert_eq!(parts, whole, "port {port}");
        }
        assert_eq!(early.queue_max.max(late.queue_max), whole.queue_max);
        fell |= early.queue_max != late.queue_max;
        marked[0] += early.marked;
        marked[1] += late.marked;
    }
    assert!(marked[0] > 0 && marked[1] > 0 && fell, "{marked:?}");
}

#[test]
fn the_largest_queue_of_data_leaves_out_control_packets_and_changes_nothing() {
    for kind in ["dctcp", "expresspass", "expresspass+aeolus"] {
        let kind = format!("transport.kind={kind}");
        let with = run("incast", &[&kind, "output.data_queues=true"], 2);
        let without = run("incast", &[&kind], 1);
        assert_eq!(with.fingerprint, without.fingerprint, "{kind}");
        let mut less = 0;
        for (port, blind) in with.ports.iter().zip(&without.ports) {
            assert_eq!(blind.data_max, None);
            assert_eq!(
                port.data_max.is_none(),
                port.of_host(),
                "{kind}: {}",
                port.name()
            );
            let most = port.data_max.unwrap_or(0);
            // No more control packets can have waited with it than went there.
            let control = port.bytes[model::Class::Control];
            assert!(
                most <= port.queue_max && port.queue_max <= most + control,
                "{kind}: {most} B of data in {} B at {}",
                port.queue_max,
                port.name()
            );
            less += u32::from(most < port.queue_max);
        }
        assert!(less > 0, "{kind}: control packets waited nowhere");
    }
}

/// A transport that sprays has all ways of an idle network, and so has the time that it is measured against.
#[test]
fn no_transport_is_faster_than_all_ways_of_an_idle_network() {
    let slow = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 1\nhost_rate = \"100Gbps\"\n\
                uplink_rate = \"25Gbps\"\n[[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\n";
    let alike = "[topology]\nkind = \"fat-tree\"\nk = 4\nhost_rate = \"10Gbps\"\n[[workload]]\nkind = \
                 \"permutation\"\nsize = \"1.5KB\"\n";
    let slowdowns = |text: &str, sets: &[&str]| -> Vec<f64> {
        let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
        let record = scenario::load_text("ways.toml", text, &sets)
            .and_then(Scenario::assemble)
            .and_then(|run| run.run(1, "", &mut Alone))
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(
            !record.warnings.iter().any(|text| text.contains("faster")),
            "{:?}",
            record.warnings
        );
        let took = |flow: &FlowRow| flow.end.unwrap().since(flow.start.unwrap());
        let over = |flow: &FlowRow| took(flow).0 as f64 / flow.ideal.0 as f64;
        record.flows.iter().map(over).collect()
    };
    for (text, most) in [(slow, 1.2), (alike, 1.3)] {
        for transport in ["ndp", "phost", "sird", "homa", "dcpim", "fastpass"] {
            for balance in ["packet", "adaptive", "flow"] {
                let kind = format!("transport.kind={transport}");
                let balance = format!("switch.balance={balance}");
                let all = slowdowns(text, &[&kind, &balance]);
                let (least, worst) = (
                    all.iter().copied().fold(9.0, f64::min),
                    all.iter().copied().fold(0.0, f64::max),
                );
                assert!(least >= 1.0, "{transport}, {balance}: {all:?}");
                let sprays = transport == "ndp" && balance.ends_with("flow");
                assert!(!sprays || worst < most, "{transport}, {balance}: {all:?}");
            }
        }
    }
    // One way alone is four times as slow, against the same network.
    let homa = slowdowns(slow, &["transport.kind=homa"]);
    assert!(homa.iter().all(|&times| times > 3.5), "{homa:?}");
}

#[test]
fn questions_that_a_host_has_no_room_for_are_named_as_what_messages_wait_for() {
    let text = "[topology]\nkind = \"star\"\nhosts = 4\n[workload]\nkind = \"trace\"\npath = \
                \"many.csv\"\n[transport]\nkind = \"dctcp\"\n[run]\nuntil = \"100us\"\n";
    let of = |messages: usize| {
        let many = "0,1,0B,0s\n".repeat(messages);
        let files = std::sync::Arc::new(scenario::Files::from([("many.csv".to_owned(), many)]));
        let found = scenario::load_files("t.toml", Some(text), &[], &files);
        let ran = found
            .and_then(Scenario::assemble)
            .and_then(|run| run.run(1, "", &mut Alone));
        ran.unwrap_or_else(|e| panic!("{e}"))
    };
    // One question is on the line at once, and 4096 wait for it.
    let record = of(5_000);
    let lost = "packets like its SYN were lost in its own host, where 4096 may wait for the line";
    assert!(record.stuck.len() > 900, "{}", record.stuck.len());
    let named = |row: &results::StuckRow| row.waits_for.contains(lost);
    assert!(record.stuck.iter().all(named), "{:?}", record.stuck[0]);
    let record = of(4_000);
    assert!(!record.stuck.iter().any(named), "{:?}", record.stuck);
}

#[test]
fn a_window_counts_as_far_as_the_run_went() {
    let of = |window: &str| {
        let window = format!("output.window={window}");
        run("incast", &["transport.kind=dctcp", &window], 1)
    };
    let long = of("[\"100us\", \"9s\"]");
    let counted = long.counted.as_ref().unwrap();
    assert_eq!(counted.window, Time(100_000_000)..long.end);
    let span = long.end.since(counted.window.start);
    for port in &counted.ports {
        // What is 0 bytes keeps nobody busy.
        let used = results::utilisation(port, span);
        let most = port.rate.serialize(units::Bytes(port.bytes.sum())).0 as f64 / span.0 as f64;
        assert!(used <= most + 1e-3, "{}: {used}", port.name());
    }
    let told = |run: &RunRecord| run.warnings.join("\n");
    assert!(
        told(&long).contains("output.window lasts until 9s, and the run was over at"),
        "{}",
        told(&long)
    );
    let late = of("[\"8s\", \"9s\"]");
    assert_eq!(late.counted, None);
    assert!(
        told(&late).contains("output.window begins at 8s, and the run was over at"),
        "{}",
        told(&late)
    );
    assert!(!told(&of("[\"0s\", \"100us\"]")).contains("output.window"));
}

#[test]
fn what_is_resolved_quotes_thresholds_on_tags_of_several_words() {
    let text = "[topology]\nkind = \"star\"\nhosts = 4\n[[workload]]\nkind = \"incast\"\nsenders = 2\ntag = \"größe, small\"\n\
                [thresholds]\n\"tags.größe, small.took\" = \"< 1ms\"\n";
    let resolve =
        |text: &str| scenario::load_text("t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let first = resolve(text);
    let again = resolve(&first.resolved_toml());
    assert_eq!(again.resolved_toml(), first.resolved_toml());
    assert_eq!(again.hash(), first.hash());
}
