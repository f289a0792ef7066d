//! Scenarios grown from seeds, and what must hold of every run.

use crate::assemble::Assembled;
use model::{Class, Rng, stream};
use results::{RunRecord, Status};
use std::fmt::Write as _;
use transports::Registry;
use units::Time;

/// A random scenario: small enough for a second, odd enough to be worth it.
pub fn text(transports: &Registry, seed: u64) -> String {
    let mut rng = Rng::stream(seed, stream::TEST, 1);
    let mut out = format!("name = \"fuzz-{seed}\"\n");
    let hosts = topology(&mut rng, &mut out);
    let sources = rng.between(1, 2);
    for _ in 0..sources {
        workload(&mut rng, &mut out, hosts, sources);
    }
    let _ = write!(
        out,
        "\n[transport]\nkind = \"{}\"\n",
        pick(&mut rng, &transports.names())
    );
    let _ = write!(
        out,
        "\n[run]\nseed = {seed}\nuntil = \"20s\"\nencap = \"{}\"\n",
        pick(&mut rng, &["paper", "udp"])
    );
    let _ = write!(
        out,
        "\n[switch]\nbuffer = \"{}KB\"\n",
        pick(&mut rng, &["100", "384.5", "1000"])
    );
    if rng.below(2) == 0 {
        fault(&mut rng, &mut out);
    }
    let _ = write!(
        out,
        "\n[output]\nevery = \"{}\"\n",
        pick(&mut rng, &["0s", "50us"])
    );
    out
}

fn pick<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    let n = rng.below(words.len() as u64);
    words[usize::try_from(n).expect("an index")]
}

/// Writes `[topology]` and returns the number of hosts.
fn topology(rng: &mut Rng, out: &mut String) -> u64 {
    let rate = pick(rng, &["10", "25", "40", "100"]);
    let delay = pick(rng, &["50ns", "200ns", "1us", "4us", "20us"]);
    let kind = pick(
        rng,
        &["star", "dumbbell", "parking-lot", "leaf-spine", "fat-tree"],
    );
    let _ = write!(
        out,
        "\n[topology]\nkind = \"{kind}\"\nhost_rate = \"{rate}Gbps\"\nhost_delay = \"{delay}\"\n"
    );
    match kind {
        "star" => {
            let hosts = rng.between(2, 12);
            let _ = writeln!(out, "hosts = {hosts}");
            hosts
        }
        "dumbbell" => {
            let pairs = rng.between(1, 6);
            let _ = writeln!(out, "pairs = {pairs}");
            2 * pairs
        }
        "parking-lot" => {
            let bottlenecks = rng.between(1, 5);
            let _ = writeln!(out, "bottlenecks = {bottlenecks}");
            2 + 2 * bottlenecks
        }
        "leaf-spine" => {
            let (leaves, spines, under) = (rng.between(1, 4), rng.between(1, 4), rng.between(2, 5));
            let _ = writeln!(
                out,
                "leaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {under}"
            );
            leaves * under
        }
        _ => {
            let _ = writeln!(out, "k = 4");
            16
        }
    }
}

/// Most of a host's line that all sources of random messages together ask for, in tenths.
const LOAD_MAX: u64 = 9;

fn workload(rng: &mut Rng, out: &mut String, hosts: u64, sources: u64) {
    let size = pick(rng, &["0B", "1B", "1460B", "5KB", "64KB", "300KB", "1MB"]);
    let kind = pick(
        rng,
        &["incast", "incast-rr", "permutation", "all-to-all", "random"],
    );
    let _ = write!(out, "\n[[workload]]\nkind = \"{kind}\"\n");
    let _ = match kind {
        "incast" => writeln!(
            out,
            "senders = {}\nreceiver = {}\nsize = \"{size}\"\njitter = \"{}us\"",
            rng.between(1, 24),
            rng.below(hosts),
            rng.below(20)
        ),
        "incast-rr" => writeln!(
            out,
            "senders = {}\nsize = \"{size}\"\nrounds = {}\npick = \"random\"",
            rng.between(1, 12),
            rng.between(1, 5)
        ),
        "random" => writeln!(
            out,
            "sizes = \"{}\"\nload = 0.{}\nmessages = {}",
            pick(rng, &["web-server", "homa-w2", "facebook-hadoop"]),
            // Any fabric above carries this much: the leanest has one uplink for five hosts.
            rng.between(1, LOAD_MAX)
                .min(if hosts > 2 { 1 } else { LOAD_MAX / sources }),
            rng.between(10, 120)
        ),
        _ => writeln!(out, "size = \"{size}\""),
    };
}

/// A fault that ends: everything must finish afterwards.
fn fault(rng: &mut Rng, out: &mut String) {
    let kind = pick(rng, &["loss", "corrupt", "duplicate", "reorder", "down"]);
    let (from, length) = (rng.below(200), rng.between(1, 2_000));
    let _ = write!(
        out,
        "\n[[faults]]\nkind = \"{kind}\"\nlink = \"h{} <-> *\"\nfrom = \"{from}us\"\nuntil = \"{}us\"\n",
        rng.below(2),
        from + length
    );
    let _ = match kind {
        "down" => writeln!(out, "detect = \"{}us\"", rng.below(500)),
        "reorder" => writeln!(out, "chance = 0.05\nby = \"{}us\"", rng.between(1, 50)),
        _ => writeln!(out, "chance = {}", pick(rng, &["0.001", "0.01", "0.2"])),
    };
}

/// What a run is judged by, known before it begins.
pub struct Promise {
    /// Most bytes of data that may wait in the port of each link. No data is lost then: nothing
    /// breaks, and there is room for as much.
    queues: Option<Vec<u64>>,
}

impl Promise {
    /// What `run` promises.
    pub fn of(run: &Assembled) -> Self {
        let plain = run.scenario.protocol.name() == "expresspass" && run.faults.is_empty();
        // Requests and stops of every message may meet on top of what credits released.
        let control = 2 * u64::from(run.encap.frame_min) * run.traffic.messages.len() as u64;
        let bounds = run.queue_bounds().filter(|_| plain);
        let queues: Option<Vec<_>> = bounds.map(|b| {
            b.iter()
                .map(|bytes| bytes.0.saturating_add(control))
                .collect()
        });
        let buffer = run.scenario.switch.bytes("buffer").0;
        Self {
            queues: queues.filter(|q| q.iter().all(|&bytes| bytes <= buffer)),
        }
    }

    /// What a run did not keep; nothing where all is well.
    pub fn broken(&self, record: &RunRecord) -> Vec<String> {
        let mut found = Vec::new();
        if let Err(why) = &record.conservation {
            found.push(why.clone());
        }
        if record.status != Status::Complete {
            let first = record.stuck.first().map_or(String::new(), |s| {
                format!(
                    ": host {} connection {}: {}, waits for {}",
                    s.host, s.conn, s.state, s.waits_for
                )
            });
            found.push(format!("the run is {}{first}", record.status.name()));
        }
        let late = record.flows.iter().filter(|f| f.end.is_none()).count();
        if late > 0 {
            found.push(format!("{late} messages did not finish"));
        }
        let early = |f: &&results::FlowRow| match (f.start, f.end) {
            (Some(start), Some(end)) => end.since(start) < f.ideal,
            _ => false,
        };
        if let Some(flow) = record.flows.iter().find(early) {
            found.push(format!(
                "message {} took {}, less than the {} of an idle network",
                flow.message,
                flow.end
                    .unwrap_or(Time::ZERO)
                    .since(flow.start.unwrap_or(Time::ZERO)),
                flow.ideal
            ));
        }
        for port in record.ports.iter().filter(|port| !port.of_host()) {
            let most = self
                .queues
                .as_ref()
                .map(|queues| queues[port.link as usize]);
            if most.is_some_and(|most| port.queue_max > most) {
                found.push(format!(
                    "{} B waited at {}, above the bound",
                    port.queue_max,
                    port.name()
                ));
            }
            let lost: u64 = port.dropped[Class::Scheduled];
            if most.is_some() && lost > 0 {
                found.push(format!(
                    "{lost} scheduled packets were dropped at {}",
                    port.name()
                ));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance of two such sources on two hosts is one in a thousand: it takes many seeds.
    #[test]
    fn no_seed_asks_for_more_than_a_line_carries() {
        let registry = transports::registry();
        let mut shared = 0;
        for seed in 1..=20_000 {
            let text = text(&registry, seed);
            let loads = text
                .lines()
                .filter_map(|line| line.strip_prefix("load = 0."));
            let loads: Vec<u64> = loads.map(|tenths| tenths.parse().unwrap()).collect();
            let sum: u64 = loads.iter().sum();
            assert!(sum <= LOAD_MAX, "seed {seed}:\n{text}");
            shared += usize::from(loads.len() > 1 && sum > 2);
        }
        assert!(
            shared > 10,
            "{shared} seeds with two sources that ask for much"
        );
    }

    #[test]
    fn every_seed_gives_a_scenario_that_can_be_assembled() {
        // The last ones once asked for more than their hosts' lines carry.
        for seed in (0..300).chain([1401, 2187, 10_186]) {
            let text = text(&transports::registry(), seed);
            let scenario =
                crate::load_text("fuzz", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
            scenario
                .assemble()
                .unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
}
