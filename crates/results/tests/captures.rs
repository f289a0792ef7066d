//! Captures read by tshark, and traces for Perfetto read by a JSON parser: what is in them is what
//! happened.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use model::wire::declared::Layout;
use results::trace::{self, Flight, Life, Network};
use scenario::{Alone, Request, Scenario};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use units::Time;

/// An incast of 8 with little buffer, so that something is dropped, under `kind`.
fn traced(kind: &str) -> (Network, Vec<Flight>, Vec<Life>) {
    traced_with(kind, &[])
}

/// The same with more settings.
fn traced_with(kind: &str, more: &[&str]) -> (Network, Vec<Flight>, Vec<Life>) {
    let mut sets = vec![
        "workload.senders=8".to_owned(),
        "workload.size=20KB".to_owned(),
        "switch.buffer=\"10KB\"".to_owned(),
        format!("transport.kind={kind}"),
    ];
    sets.extend(more.iter().map(|&set| set.to_owned()));
    let request = Request {
        from: "incast",
        sets: &sets,
    };
    let run = scenario::load(&request)
        .and_then(Scenario::assemble)
        .unwrap();
    let window = Time::ZERO..Time(40_000_000);
    let traced = run.trace(1, None, window, Time::NEVER, &mut Alone).unwrap();
    let flights = trace::flights(&traced.network, &traced.events);
    let lives = run.lives(&traced);
    (traced.network, flights, lives)
}

fn frames(flights: &[Flight]) -> Vec<(Time, u32, &Flight)> {
    let hops = |flight| {
        let flight: &Flight = flight;
        flight
            .hops
            .iter()
            .map(move |hop| (hop.start, hop.link, flight))
    };
    let mut frames: Vec<_> = flights.iter().flat_map(hops).collect();
    frames.sort_by_key(|&(start, link, _)| (start, link));
    frames
}

/// Whether there is a tshark; CI must have one.
fn has_tshark() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!ci, "CI needs tshark: apt-get install tshark");
        eprintln!(
            "skipped {}: no tshark; apt-get install tshark",
            module_path!()
        );
    }
    there
}

/// What tshark with a dissector of `layouts` finds in `fields` of the capture of `flights`: a line per frame.
fn told(
    name: &str,
    layouts: &[&Layout],
    (network, flights): (&Network, &[Flight]),
    fields: &[String],
) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [script, path] = ["lua", "pcapng"].map(|end| dir.join(format!("{name}.{end}")));
    std::fs::write(&script, trace::dissector(layouts)).unwrap();
    let mut capture = Vec::new();
    trace::pcapng(&mut capture, network, flights).unwrap();
    std::fs::write(&path, capture).unwrap();
    let told = Command::new("tshark")
        .arg("-X")
        .arg(format!("lua_script:{}", script.display()))
        .args(["-o", "ip.check_checksum:TRUE", "-T", "fields", "-r"])
        .arg(&path)
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{name}: {error}");
    String::from_utf8(told.stdout).unwrap()
}

#[test]
fn tshark_reads_every_frame_of_a_capture_with_our_dissector() {
    if !has_tshark() {
        return;
    }
    for kind in ["expresspass", "dctcp"] {
        let (network, flights, _) = traced(kind);
        let layout = network.codec(flights[0].packet.conn).layout().unwrap();
        let fields = [
            "frame.time_epoch",
            "frame.interface_name",
            "ip.src",
            "ip.dsfield.dscp",
            "ip.checksum.status",
            "tidegate.name",
            "tidegate.conn",
            "tidegate.offset",
            "tidegate.length",
            "_ws.malformed",
        ]
        .map(str::to_owned);
        let told = told(kind, &[layout], (&network, &flights), &fields);
        let expected: String = frames(&flights)
            .into_iter()
            .map(|(start, link, flight)| line(&network, start, link, flight))
            .collect();
        for (told, expected) in told.lines().zip(expected.lines()) {
            assert_eq!(told, expected, "{kind}");
        }
        assert_eq!(told.lines().count(), expected.lines().count(), "{kind}");
        assert!(
            told.lines().count() > 100,
            "{kind}: {}",
            told.lines().count()
        );
    }
}

/// What tshark should say of a frame.
fn line(network: &Network, start: Time, link: u32, flight: &Flight) -> String {
    let packet = &flight.packet;
    let ends = network.conns[packet.conn.0 as usize];
    let from = if ends.0 == packet.to().0 {
        ends.1
    } else {
        ends.0
    };
    let dscp = match packet.class().name() {
        "control" => 48,
        "credit" => 40,
        "scheduled" => 18,
        _ => 0,
    };
    let text = network.codec(packet.conn).describe(packet);
    let name = text.split(' ').next().unwrap();
    let (offset, length) = network
        .codec(packet.conn)
        .payload(packet)
        .map_or((String::new(), String::new()), |(offset, length)| {
            (offset.to_string(), length.to_string())
        });
    format!(
        "{}.{:09}\t{}\t10.0.0.{}\t{dscp}\t1\t{name}\t{}\t{offset}\t{length}\t\n",
        start.0 / 1_000_000_000_000,
        start.0 / 1_000 % 1_000_000_000,
        network.link_name(link),
        from + 1,
        packet.conn.0,
    )
}

#[test]
fn a_trace_for_perfetto_holds_every_frame_and_no_two_at_once_on_a_line() {
    let (network, flights, lives) = traced("dctcp");
    let mut text = Vec::new();
    trace::perfetto(&mut text, &network, &flights, &lives).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
    // Three decimals of a nanosecond are picoseconds again.
    let ps = |value: &serde_json::Value| {
        let rounded = (value.as_f64().unwrap() * 1e6).round();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "microseconds of a short run"
        )]
        let ps = rounded as u64;
        ps
    };
    // A track per message that was under way, as long as it took, with the drops of its packets.
    let process = network.names.len() as u64;
    let own = |event: &&serde_json::Value| event["pid"] == process;
    let tracks: Vec<_> = of("X").filter(own).collect();
    assert_eq!(tracks.len(), 8);
    for (track, life) in tracks.iter().zip(&lives) {
        assert_eq!(track["tid"], life.message);
        assert_eq!(ps(&track["ts"]), life.from.0);
        assert_eq!(track["args"]["finished"], life.until.is_some());
        if let Some(until) = life.until {
            assert_eq!(ps(&track["dur"]), until.0 - life.from.0);
        }
    }
    let titles: Vec<_> = of("M")
        .filter(own)
        .map(|event| event["args"]["name"].clone())
        .collect();
    assert_eq!(titles[0], "messages");
    let first = network.name(lives[0].src);
    assert_eq!(titles[2], format!("message 0, {first} -> h0"));
    assert!(of("i").any(|event| own(&event)));
    assert_eq!(
        2 * of("i").filter(own).count(),
        of("i").count(),
        "each drop is told where and of what"
    );
    let mut lines: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for slice in of("X").filter(|event| !own(event)) {
        let (from, took) = (ps(&slice["ts"]), ps(&slice["dur"]));
        let line = lines.entry(slice["tid"].as_u64().unwrap()).or_default();
        line.push((from, from + took));
    }
    let told: usize = lines.values().map(Vec::len).sum();
    assert_eq!(told, frames(&flights).len());
    for (line, mut slices) in lines {
        slices.sort_unstable();
        assert!(
            slices.windows(2).all(|pair| pair[0].1 <= pair[1].0),
            "line {line}"
        );
    }
    // Arrows begin where they end, and every place has a name.
    assert_eq!(of("s").count(), of("f").count());
    let names = |what| of("M").filter(move |event| event["name"] == what);
    assert!(names("process_name").any(|event| event["args"]["name"] == "tor0"));
    assert!(names("thread_name").any(|event| event["args"]["name"] == "-> h0"));
    // Nothing waits before it comes; the queue at the receiver was long, and something was dropped.
    let bytes = |event: &serde_json::Value| event["args"]["bytes"].as_i64().unwrap();
    assert!(of("C").all(|event| bytes(event) >= 0));
    assert!(of("C").map(bytes).max() > Some(5_000));
    assert!(of("i").count() > 0);
}

/// Every field that a transport declares has a filter of its own, and tshark reads what the packet says.
#[test]
fn every_field_of_every_transport_has_a_filter() {
    if !has_tshark() {
        return;
    }
    let mut seen = 0;
    let registry = transports::registry();
    for kind in registry.names() {
        let (network, flights, _) = traced(kind);
        let layout = network.codec(flights[0].packet.conn).layout().unwrap();
        let key = layout
            .name
            .to_lowercase()
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut names: Vec<&str> = layout
            .kinds
            .iter()
            .flat_map(|k| k.fields.iter().map(|f| f.name))
            .collect();
        names.sort_unstable();
        names.dedup();
        assert!(!names.is_empty(), "{kind}");
        let fields: Vec<_> = names
            .iter()
            .map(|name| format!("tidegate.{key}.{name}"))
            .collect();
        let told = told("all", &registry.layouts(), (&network, &flights), &fields);
        let frames = frames(&flights);
        assert_eq!(told.lines().count(), frames.len(), "{kind}");
        for (line, (_, link, flight)) in told.lines().zip(frames) {
            let packet = &flight.packet;
            let of = layout
                .kinds
                .iter()
                .find(|k| k.number == packet.kind() & 0x0f)
                .unwrap();
            // What a switch cut or sent back on the way is another packet from there on.
            if flight.trimmed.is_some() || flight.returned {
                continue;
            }
            for (cell, name) in line.split('\t').zip(&names) {
                let field = of.fields.iter().find(|field| field.name == *name);
                let expected = field.map_or(String::new(), |field| field.read(packet).to_string());
                assert_eq!(cell, expected, "{kind}: {} {name} on link {link}", of.name);
                seen += usize::from(field.is_some());
            }
        }
    }
    assert!(seen > 5_000, "{seen}");
}

/// Pauses and credits are frames of a link, and nobody who filters for a transport's packets counts them.
#[test]
#[allow(clippy::too_many_lines, reason = "each kind has fields of its own")]
fn frames_of_a_flow_control_are_told_from_packets() {
    if !has_tshark() {
        return;
    }
    for (control, set, name, fields) in [
        (
            "pfc",
            "switch.pfc.xoff=2KB",
            "PAUSE_PRIORITY",
            &["of_priority", "lasting_ns"][..],
        ),
        (
            "ideal",
            "switch.ideal.threshold=0.1",
            "PAUSE_FLOW",
            &["lasting_ns"],
        ),
        (
            "aquarius",
            "switch.aquarius.low=0.1",
            "PAUSE_FLOW",
            &["lasting_ns", "point"],
        ),
        (
            "bfc",
            "switch.bfc.queues=128",
            "BITMAP",
            &["queues_0_31", "queues_32_63", "queues_64_95"],
        ),
        (
            "cbfc",
            "switch.cbfc.update=1KB",
            "CREDITS",
            &["asks", "of_lane", "sent", "limit"],
        ),
    ] {
        let kind = format!("switch.flow_control={control}");
        let fabric = [
            "topology.kind=leaf-spine",
            "topology.hosts_per_leaf=3",
            "topology.leaves=4",
            "workload.size=200KB",
            "switch.buffer=\"1MB\"",
            "switch.aquarius.refresh=100us",
        ];
        let (network, flights, _) = traced_with("dctcp", &[&fabric[..], &[&kind, set]].concat());
        let own = fields.iter().map(|field| format!("tidegate.link.{field}"));
        let all = ["class", "transport", "name"].map(|field| format!("tidegate.{field}"));
        let all: Vec<String> = all
            .into_iter()
            .chain(["_ws.malformed".into()])
            .chain(own)
            .collect();
        let layouts = transports::registry().layouts();
        let told = told(control, &layouts, (&network, &flights), &all);
        let mut counts = BTreeMap::new();
        let frames = frames(&flights);
        assert_eq!(told.lines().count(), frames.len(), "{control}");
        for (line, (_, _, flight)) in told.lines().zip(frames) {
            let (cells, packet): (Vec<&str>, _) = (line.split('\t').collect(), &flight.packet);
            assert_eq!(cells[0] == "5", cells[1] == "255", "{control}: {line}");
            assert!(
                !cells[2].is_empty() && cells[3].is_empty(),
                "{control}: {line}"
            );
            *counts.entry(cells[2].to_owned()).or_insert(0) += 1;
            if cells[2] != name {
                continue;
            }
            let [a, b, c] = packet.head;
            let credits = model::CreditFrame::of(packet);
            for (field, cell) in fields.iter().zip(&cells[4..]) {
                let expected = match (*field, credits) {
                    ("asks", Some(said)) => said.asks.into(),
                    ("of_lane", Some(said)) => said.lane.into(),
                    ("sent", Some(said)) => said.sent.into(),
                    ("limit", Some(said)) => said.limit.unwrap_or(0).into(),
                    ("of_priority" | "queues_0_31", _) => a,
                    ("lasting_ns" | "queues_32_63", _) => b,
                    ("point" | "queues_64_95", _) => c,
                    other => panic!("{other:?}"),
                };
                assert_eq!(*cell, expected.to_string(), "{control}: {field}");
            }
        }
        assert!(
            counts.get(name).is_some_and(|&count| count > 5),
            "{control}: {counts:?}"
        );
    }
}
