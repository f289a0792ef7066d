//! Runs made up by a server model of a few lines: enough to have queues, drops and slow messages.
#![allow(dead_code, unreachable_pub, reason = "every test file uses some of it")]
#![allow(
    clippy::unwrap_used,
    reason = "this is test code, which clippy cannot see here"
)]

use model::{ByClass, ByReason, Class, DropReason, Encap, Rng, Totals};
use results::{
    Derived, FlowRow, FlowSeriesRow, PortRow, PortSeries, PortSeriesRow, RunRecord, Status,
    StuckRow,
};
use std::path::PathBuf;
use units::{Bytes, Rate, Span, Time};

const GBPS: u64 = 100;
/// Picoseconds per byte at 100 Gb/s.
const PS: u64 = 80;

fn port(link: u32, from: &str, to: &str, tiers: (u8, u8)) -> PortRow {
    PortRow {
        link,
        from: from.into(),
        to: to.into(),
        from_tier: tiers.0,
        to_tier: tiers.1,
        rate: Rate::gbps(GBPS),
        packets: ByClass::default(),
        bytes: ByClass::default(),
        ahead: Span::ZERO,
        rest: Span::ZERO,
        dropped: ByClass::default(),
        drop_reasons: ByReason::default(),
        drop_priorities: [0; 8],
        lost: ByClass::default(),
        copied: ByClass::default(),
        marked: 0,
        queue_max: 0,
        credits_max: 0,
        pauses: 0,
        paused: Span::ZERO,
        pause_longest: Span::ZERO,
        headroom_max: 0,
        data_max: None,
    }
}

/// `hosts` hosts behind one switch: links 2i from host i, 2i + 1 to it.
fn star(hosts: u32) -> Vec<PortRow> {
    (0..hosts)
        .flat_map(|host| {
            let name = format!("h{host}");
            [
                port(2 * host, &name, "tor0", (0, 1)),
                port(2 * host + 1, "tor0", &name, (1, 0)),
            ]
        })
        .collect()
}

/// A run of a star in which nothing has happened.
pub fn record(scenario: &str, title: &str, hosts: u32) -> RunRecord {
    RunRecord {
        scenario: scenario.into(),
        title: title.into(),
        transport: "expresspass+aeolus".into(),
        seed: 1,
        fingerprint: 0x0123_4567_89ab_cdef,
        messages_hash: 0xfeed,
        settings: Vec::new(),
        scenario_toml: "[topology]\nkind = \"star\" # <one switch> & nothing else\n".into(),
        command: format!("tidegate run {scenario} --seed 1"),
        status: Status::Complete,
        warnings: Vec::new(),
        window: Time::ZERO..Time::NEVER,
        received_inside: None,
        end: Time::ZERO,
        hops: 0,
        encap: Encap::PAPER,
        derived: Derived {
            hosts,
            switches: 1,
            host_rate: Rate::gbps(GBPS),
            base_rtt: Span::us(5),
            propagation_rtt: Span::us(4),
            bdp: Bytes(62_500),
            more: vec![("credit rate".into(), "5.18 Gb/s".into())],
            ground: results::Ground::default(),
        },
        tags: vec!["data".into()],
        transports: vec!["expresspass".into()],
        credit: "credit".into(),
        hosts: Vec::new(),
        flows: Vec::new(),
        ports: star(hosts),
        counted: None,
        port_series: PortSeries::default(),
        flow_series: Vec::new(),
        memory: Vec::new(),
        flow_control: None,
        totals: Totals::default(),
        counts: Vec::new(),
        stuck: Vec::new(),
        conservation: Ok(()),
        ways: Vec::new(),
        why: Vec::new(),
        pauses: Vec::new(),
    }
}

fn ideal(size: u64) -> Span {
    Span(Encap::PAPER.wire_total(size) * PS + 4_000_000)
}

/// Serves `flows` (source, destination, size, start) in order of arrival per destination, with
/// some chance of a detour, and counts what ports would.
fn serve(run: &mut RunRecord, flows: Vec<(u32, u32, u64, u64)>, sample: u64) {
    let mut rng = Rng::stream(7, model::stream::TEST, 0);
    let hosts = run.derived.hosts as usize;
    let mut free = vec![0u64; hosts];
    let mut arrivals: Vec<Vec<(u64, u64)>> = vec![Vec::new(); hosts];
    for (message, (src, dst, size, start)) in (0u32..).zip(flows) {
        let wire = Encap::PAPER.wire_total(size);
        let begin = free[dst as usize].max(start);
        free[dst as usize] = begin + wire * PS;
        arrivals[dst as usize].push((start, begin + wire * PS));
        let detour = if rng.below(50) == 0 {
            rng.below(300_000_000)
        } else {
            0
        };
        let end = begin + ideal(size).0 + detour;
        run.flows.push(FlowRow {
            message,
            conn: message,
            src,
            dst,
            size,
            start: Some(Time(start)),
            end: Some(Time(end)),
            stopped: None,
            ideal: ideal(size),
            received: size,
            tag: 0,
            transport: 0,
            timed: false,
        });
        for link in [2 * src, 2 * dst + 1] {
            let port = &mut run.ports[link as usize];
            port.bytes[Class::Scheduled] += wire;
            port.packets[Class::Scheduled] += wire.div_ceil(1538);
        }
        let port = &mut run.ports[2 * dst as usize + 1];
        if detour > 0 {
            port.dropped[Class::Unscheduled] += 3;
            port.drop_reasons[DropReason::Selective] += 3;
            port.drop_priorities[2] += 3;
        }
        port.dropped[Class::Credit] += 7;
        port.drop_reasons[DropReason::CreditFull] += 7;
        port.queue_max = port.queue_max.max((begin - start) / PS);
        run.totals.data_sent += wire.div_ceil(1538);
        run.totals.credits_sent += wire.div_ceil(1538) + 10;
        run.totals.credits_received += wire.div_ceil(1538) + 3;
        run.totals.credits_wasted += 3;
        run.hops += 2 * wire.div_ceil(1538);
        run.end = run.end.max(Time(end));
    }
    sample_ports(run, &arrivals, sample);
}

/// What each host's port would show every `sample`.
fn sample_ports(run: &mut RunRecord, arrivals: &[Vec<(u64, u64)>], sample: u64) {
    let hosts = arrivals.len();
    let mut sent = vec![0u64; hosts];
    for at in (0..=run.end.0).step_by(usize::try_from(sample).unwrap()) {
        let row = |host: usize| {
            // Work that has arrived and is not yet served; arrivals and ends both ascend.
            let seen = arrivals[host].partition_point(|&(start, _)| start <= at);
            let ahead = arrivals[host][..seen].last().map_or(0, |&(_, done)| done);
            let queue = ahead.saturating_sub(at) / PS;
            sent[host] += if queue > 0 { sample / PS } else { 0 };
            let mut classes = ByClass::default();
            classes[Class::Scheduled] = sent[host];
            let link = u32::try_from(2 * host + 1).unwrap();
            PortSeriesRow {
                at: Time(at),
                link,
                queue,
                credits: 0,
                sent: classes,
                marked: seen as u64 / 3,
                dropped: ByClass::default(),
            }
        };
        run.port_series.push(Time(at), (0..hosts).map(row));
    }
}

/// 64 hosts send 64 KB each to one.
pub fn incast() -> RunRecord {
    let mut run = record(
        "incast",
        "64 -> 1, 64 KB each, 100 Gb/s, leaf-spine, 8 leaves x 16 hosts",
        65,
    );
    serve(
        &mut run,
        (1..=64).map(|src| (src, 0, 64_000, 0)).collect(),
        2_000_000,
    );
    run
}

/// `messages` of heavy-tailed sizes between 16 hosts at some load.
pub fn mixed(messages: u32) -> RunRecord {
    let mut run = record("web-search", "16 hosts, heavy-tailed sizes, load 0.5", 16);
    run.tags = vec!["background".into(), "incast, \"small\"".into()];
    let mut rng = Rng::stream(3, model::stream::TEST, 1);
    let mut at = 0;
    let flows = (0..messages)
        .map(|_| {
            at += rng.below(2_400_000);
            let src = u32::try_from(rng.below(16)).unwrap();
            let dst = (src + 1 + u32::try_from(rng.below(15)).unwrap()) % 16;
            let size = match rng.below(10) {
                0..5 => 1 + rng.below(10_000),
                5..8 => 10_001 + rng.below(90_000),
                8 => 100_001 + rng.below(900_000),
                _ => 1_000_001 + rng.below(300_000),
            };
            (src, dst, size / 2 + 1, at)
        })
        .collect();
    serve(&mut run, flows, 5_000_000);
    for flow in run.flows.iter_mut().step_by(5) {
        flow.tag = 1;
    }
    run
}

/// As [`mixed`], but cut off: some did not finish, and their hosts say why.
pub fn cut_off(messages: u32) -> RunRecord {
    let mut run = mixed(messages);
    let end = Time(run.end.0 / 2);
    run.flows
        .retain(|flow| flow.start.is_some_and(|start| start < end));
    for flow in &mut run.flows {
        if flow.end.is_some_and(|done| done > end) {
            flow.end = None;
            flow.received = flow.size / 2;
            run.stuck.push(StuckRow {
                host: flow.src,
                conn: flow.conn,
                state: "sender, credited".into(),
                waits_for: "a credit, or its request timer at 1.2ms".into(),
            });
        }
    }
    run.port_series.retain(|at| at <= end);
    for port in &mut run.ports {
        port.bytes = ByClass::from_fn(|class| port.bytes[class] / 2);
    }
    run.end = end;
    run.status = Status::Stuck;
    run.ports[1].lost[Class::Scheduled] = 12;
    run
}

/// Four flows with a set end that join one after the other and share a link evenly.
pub fn long_flows() -> RunRecord {
    let mut run = record("long-flows", "4 flows join, one bottleneck", 5);
    let (end, every) = (4_000_000_000u64, 50_000_000u64);
    let mut received = [0u64; 4];
    for at in (0..=end).step_by(usize::try_from(every).unwrap()) {
        let joined = (at / 1_000_000_000 + 1).min(4);
        for conn in 0..u32::try_from(joined).unwrap() {
            received[conn as usize] += every / PS / joined;
            let received = received[conn as usize];
            run.flow_series.push(FlowSeriesRow {
                at: Time(at),
                conn,
                received,
            });
        }
    }
    for message in 0..4u32 {
        run.flows.push(FlowRow {
            message,
            conn: message,
            src: message + 1,
            dst: 0,
            size: 1 << 40,
            start: Some(Time(u64::from(message) * 1_000_000_000)),
            end: None,
            stopped: None,
            ideal: ideal(1 << 40),
            received: received[message as usize],
            tag: 0,
            transport: 0,
            timed: true,
        });
    }
    run.ports[1].bytes[Class::Scheduled] = received.iter().sum();
    run.end = Time(end);
    run
}

/// A fresh directory that belongs to the named test.
pub fn directory(test: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

/// Runs of `transports` at `loads` with `seeds` seeds: every transport somewhat slower than the
/// one before, all slower under load, and every seed a little different.
pub fn family(transports: &[&str], loads: &[&str], seeds: u64) -> Vec<RunRecord> {
    let mut runs = Vec::new();
    for load in loads {
        for (slow, transport) in (1u64..).zip(transports) {
            for seed in 1..=seeds {
                let mut run = mixed(400);
                let tenths = u64::from(load.as_bytes()[2] - b'0');
                let mut rng = Rng::stream(seed, model::stream::TEST, slow);
                for flow in &mut run.flows {
                    let wait = rng.below(slow * tenths * tenths * 400_000 + 1);
                    flow.end = flow.end.map(|end| Time(end.0 + wait));
                    run.end = run.end.max(flow.end.unwrap());
                }
                run.transport = (*transport).into();
                run.seed = seed;
                run.fingerprint = seed + 1_000 * slow + 1_000_000 * tenths;
                run.settings = vec![
                    ("transport.kind".into(), (*transport).into()),
                    ("workload.load".into(), (*load).into()),
                ];
                if *transport == "dctcp" {
                    run.totals = Totals {
                        data_sent: run.totals.data_sent,
                        ..Totals::default()
                    };
                }
                runs.push(run);
            }
        }
    }
    runs
}
