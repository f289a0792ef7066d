//! Frames of every size, under every transport.

#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

mod common;

use common::assembled;
use model::Class;
use results::{RunRecord, Status};
use scenario::{Alone, Assembled, load_text};
use units::{Bytes, Span};

const SIZES: [u16; 4] = [1000, 1500, 4096, 9000];

fn run(run: &Assembled) -> RunRecord {
    run.run(1, "", &mut Alone).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_transport_ends_well_with_frames_of_every_size() {
    for transport in transports::registry().iter() {
        let kind = format!("transport.kind={}", transport.name());
        for size in SIZES {
            for encap in ["run.encap=paper", "run.encap=udp"] {
                let name = format!("{kind}, {size} B, {encap}");
                let mtu = format!("run.mtu={size}B");
                // Room for eight messages, of which a part may leave unasked.
                let room = "switch.buffer=1MB";
                let sets = [kind.as_str(), &mtu, encap, "workload.senders=8", room];
                let of = assembled("incast", &[&sets[..], &["workload.size=100KB"]].concat());
                assert_eq!(of.encap.mtu(), size, "{name}");
                let frames = of.encap.frames(100_000) * 8;
                let record = run(&of);
                assert_eq!(record.status, Status::Complete, "{name}");
                assert_eq!(record.conservation, Ok(()), "{name}");
                let totals = record.totals;
                assert_eq!((totals.nonsense, totals.timeouts), (0, 0), "{name}");
                let fresh = totals.data_sent - totals.retransmitted;
                assert_eq!(fresh, frames, "{name}");
                let longest = u64::from(size + 38) * fresh;
                let bytes = |class| record.ports.iter().map(|p| p.bytes[class]).sum::<u64>();
                let data = [Class::Scheduled, Class::Unscheduled, Class::Plain].map(bytes);
                assert!(data.iter().sum::<u64>() <= 2 * longest + 2 * 9038 * totals.retransmitted);
            }
        }
    }
}

#[test]
fn the_engine_agrees_with_the_event_queue_about_the_largest_frames() {
    for transport in transports::registry().iter() {
        let kind = format!("transport.kind={}", transport.name());
        let sets = [kind.as_str(), "run.mtu=9000B", "workload.messages=60"];
        let of = assembled(
            "xpass-fat-tree",
            &[&sets[..], &["output.every=0s"]].concat(),
        );
        let factory = &of.scenario.factory;
        let make = |config: &model::EndpointConfig| factory.make(config);
        let mut setup = of.setup(&make, 1);
        setup.digest = true;
        let engine = sim::run(&setup, &mut sim::Blind).unwrap();
        let oracle = sim::oracle::run(&setup).unwrap();
        assert_eq!(engine.digest, oracle.digest, "{kind}");
        assert_eq!(engine.unfinished, 0, "{kind}");
    }
}

/// Long flows, both ways at once, on one line.
fn both_ways(size: u16, buffer: Option<Bytes>) -> Assembled {
    let flows = 16;
    let forth = (0..flows).map(|n| format!("\"{n} -> {}\"", flows + n));
    let back = (0..flows).map(|n| format!("\"{} -> {n}\"", flows + n));
    let pairs: Vec<_> = forth.chain(back).collect();
    let text = format!(
        "[topology]\nkind = \"dumbbell\"\npairs = {flows}\nhost_rate = \"10Gbps\"\n\
         bottleneck_rate = \"10Gbps\"\nhost_delay = \"4us\"\nbottleneck_delay = \"4us\"\n\
         [workload]\nkind = \"long-flows\"\npairs = [{}]\n\
         [run]\nuntil = \"20ms\"\nmtu = \"{size}B\"\n[output]\nevery = \"0s\"\n",
        pairs.join(", ")
    );
    let sets: Vec<_> = buffer
        .map(|bytes| format!("switch.buffer={bytes}"))
        .into_iter()
        .collect();
    load_text("a.toml", &text, &sets)
        .and_then(scenario::Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn expresspass_loses_no_data_where_ports_hold_what_check_prints() {
    for size in SIZES {
        let bounds = both_ways(size, None).queue_bounds().unwrap();
        // What `check` prints: the bound, and a control packet of each flow.
        let buffer = Bytes(bounds.iter().map(|bytes| bytes.0).max().unwrap() + 32 * 84);
        assert!(buffer.0 > 3 * u64::from(size), "{size}: {buffer}");
        let record = run(&both_ways(size, Some(buffer)));
        let ports = || record.ports.iter().filter(|port| !port.of_host());
        for port in ports() {
            let dropped = port.dropped[Class::Scheduled] + port.dropped[Class::Control];
            assert_eq!(dropped, 0, "{size}: {}", port.name());
            let bound = bounds[port.link as usize].0 + 32 * 84;
            assert!(
                port.queue_max <= bound,
                "{size}: {} of {bound}",
                port.queue_max
            );
        }
        // A wrong size of frames would leave the line idle, or the queue empty.
        let most = ports().map(|port| port.queue_max).max().unwrap();
        assert!(most > u64::from(size + 38), "{size}: {most}");
        let of = |port: &&results::PortRow| port.from_tier == 1 && port.to_tier == 1;
        let line = Span::ms(20).0 / 800;
        for port in ports().filter(of) {
            let carried = port.bytes[Class::Scheduled];
            assert!(carried * 10 > line * 8, "{size}: {carried} B of {line}");
        }
    }
}

/// Two hosts under one switch at 100 Gb/s, 80 ps per byte. From host to host there are 3 us: a link of 1 us
/// after a host's own 1 us, and a link of 1 us.
fn alone(transport: &str, message: &str, size: u16) -> u64 {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 2\n[workload]\nkind = \"incast\"\nsenders = 1\nreceiver = 1\n\
         size = \"{message}\"\njitter = \"0s\"\n[transport]\nkind = \"{transport}\"\n\
         [transport.expresspass]\ncredit_size_min = \"84B\"\ncredit_size_max = \"84B\"\n\
         [run]\nmtu = \"{size}B\"\n"
    );
    let of = load_text("a.toml", &text, &[])
        .and_then(scenario::Scenario::assemble)
        .unwrap_or_else(|e| panic!("{e}"));
    let flow = run(&of).flows[0];
    flow.end.unwrap().since(flow.start.unwrap()).0
}

#[test]
fn idle_completion_times_are_those_by_hand() {
    const WAY: u64 = 3_000_000;
    const SMALL: u64 = 84 * 80;
    // One full frame of 9000 + 38 B: 8960 B of payload.
    let full = 9_038 * 80;
    // It follows a small packet and its answer, or the request at once.
    let asked = 2 * (WAY + 2 * SMALL) + WAY + 2 * full;
    let unasked = WAY + SMALL + 2 * full;
    assert_eq!(alone("expresspass", "8960B", 9000), asked);
    assert_eq!(alone("dctcp", "8960B", 9000), asked);
    assert_eq!(alone("expresspass+aeolus", "8960B", 9000), unasked);
    // Two full frames of 4096 + 38 B and 888 B in 966: the last frame waits behind the second at the switch.
    let (full, last) = (4_134 * 80, (888 + 78) * 80);
    let frames = 3 * full + last;
    let bytes = "9000B"; // 2 * 4056 + 888
    assert_eq!(
        alone("dctcp", bytes, 4096),
        2 * (WAY + 2 * SMALL) + WAY + frames
    );
    assert_eq!(
        alone("expresspass+aeolus", bytes, 4096),
        WAY + SMALL + frames
    );
    // And one of 1000 + 38 B.
    let small = 1_038 * 80;
    assert_eq!(
        alone("expresspass+ssp", "960B", 1000),
        WAY + SMALL + 2 * small
    );
}

#[test]
fn buffers_and_thresholds_follow_the_frame() {
    let of = assembled(
        "incast",
        &["run.mtu=9000B", "transport.kind=expresspass+aeolus"],
    );
    let frame = 9_038;
    assert_eq!(of.ports[0].buffer, Bytes(250 * frame));
    let drop = of.ports[0].data().unwrap().drop.unwrap();
    assert_eq!(drop.threshold, Bytes(4 * frame));
    let resolved = of.scenario.resolved_toml();
    assert!(
        resolved.contains("mtu = \"9000B\"") || resolved.contains("mtu = \"9KB\""),
        "{resolved}"
    );
    assert!(resolved.contains("buffer = \"2.2595MB\""), "{resolved}");
    let of = assembled(
        "incast",
        &["run.mtu=9000B", "transport.kind=dctcp", "switch.buffer=1MB"],
    );
    assert_eq!(of.ports[0].buffer, Bytes(1_000_000));
    let mark = of.ports[0].data().unwrap().mark.unwrap();
    assert_eq!(mark.min, Bytes(65 * frame));
    let usual = assembled("incast", &[]);
    assert_eq!(usual.ports[0].buffer, Bytes(384_500));
}

#[test]
fn what_is_no_size_of_a_packet_is_refused_with_its_range() {
    for wrong in ["999B", "9001B", "66KB"] {
        let sets = [format!("run.mtu={wrong}")];
        let Err(errors) = load_text("a.toml", "[workload]\nkind = \"incast\"\n", &sets) else {
            panic!("{wrong} is taken");
        };
        let text = errors.to_string();
        assert!(text.contains("run.mtu cannot be used"), "{text}");
        let said = errors
            .0
            .iter()
            .any(|e| format!("{e:?}").contains("1000B to 9000B"));
        assert!(said, "{errors:?}");
    }
    // What is no size at all is said once.
    let sets = ["run.mtu=five".to_owned()];
    let Err(errors) = load_text("a.toml", "[workload]\nkind = \"incast\"\n", &sets) else {
        panic!("taken");
    };
    assert_eq!(errors.0.len(), 1, "{errors}");
}
