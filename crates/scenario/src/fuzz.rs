//! Scenarios grown from seeds, and what must hold of every run.

mod draw;
mod triggers;

pub use draw::text;

use crate::assemble::Assembled;
use model::{Class, EndpointConfig};
use results::{RunRecord, Status};
use sim::{Observer, Outcome, PortSample};
use std::collections::BTreeMap;
use transports::Transport;
use transports::expresspass::EXPRESSPASS;
use units::{Span, Time};

/// Has some messages of `run` wait for others, with some seeds.
pub fn entangle(run: &mut Assembled, seed: u64) {
    triggers::draw(&mut run.traffic, seed);
}

/// What a run is judged by, known before it begins.
pub struct Promise {
    /// Most bytes of data that may wait in the port of each link. No data is lost then: nothing
    /// breaks, and there is room for as much.
    queues: Option<Vec<u64>>,
    /// By message: whether it takes at least as long as in an idle network. One that is stopped may not.
    takes_all: Vec<bool>,
}

impl Promise {
    /// What `run` promises.
    pub fn of(run: &Assembled) -> Self {
        let asked = &run.scenario;
        let one_way = !asked.spreads().contains(&true);
        let plain = asked.protocol.name() == EXPRESSPASS.name()
            && has_default_parameters(run)
            && one_way
            && asked.switch.shared_buffer.is_none()
            && !asked.credit.section.any_given()
            && run.faults.is_empty();
        // Requests and stops of every message may meet on top of what credits released.
        let control = 2 * u64::from(run.encap.frame_min) * run.traffic.messages.len() as u64;
        let bounds = run.queue_bounds().filter(|_| plain);
        let queues: Option<Vec<_>> = bounds.map(|b| {
            b.iter()
                .map(|bytes| bytes.0.saturating_add(control))
                .collect()
        });
        let fit = |queues: &Vec<u64>| {
            let mut ports = queues.iter().zip(&run.ports);
            ports.all(|(&bytes, port)| bytes <= port.buffer.0)
        };
        Self {
            queues: queues.filter(fit),
            takes_all: run
                .traffic
                .messages
                .iter()
                .map(|message| message.stop.is_none())
                .collect(),
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
            (Some(start), Some(end)) if self.takes_all[f.message as usize] => {
                end.since(start) < f.ideal
            }
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

/// Moments of a run at which two runs of the same are compared. [ours]
const SAMPLES: u64 = 40;

/// What ports said during a run.
#[derive(Default)]
struct Samples(Vec<PortSample>);

impl Samples {
    /// The first of these that is otherwise in `other`.
    fn differ(&self, other: &Self) -> Option<String> {
        let mut pairs = self.0.iter().zip(&other.0);
        let found = pairs.find(|(one, other)| one != other);
        let found = found.map(|(one, other)| {
            format!("{one:?} by the slow ways of switches, {other:?} by the fast ones")
        });
        let (own, others) = (self.0.len(), other.0.len());
        found.or_else(|| (own != others).then(|| format!("{own} samples of ports, and {others}")))
    }
}

impl Observer for Samples {
    fn progress(&mut self, _: Time, _: u64, _: u64, _: u64) -> bool {
        true
    }
    fn completed(&mut self, _: &[sim::Completion]) {}
    fn ports(&mut self, batch: &[PortSample]) {
        self.0.extend_from_slice(batch);
    }
    fn flows(&mut self, _: &[sim::FlowSample]) {}
}

fn has_default_parameters(run: &Assembled) -> bool {
    let default = run.scenario.protocol.configure(&toml::Table::new());
    default.is_ok_and(|default| default.resolved() == run.scenario.factory.resolved())
}

/// Runs what `record` came from again, every packet noted, in windows on `threads` threads and by one
/// event queue, up to the end of that run. Returns what the two, and the record, do not agree on, and
/// where a receiver took more or fewer bytes than were sent to it.
pub fn disagreements(run: &Assembled, record: &RunRecord, threads: u16) -> Vec<String> {
    let make = |config: &EndpointConfig| run.endpoint(config);
    let mut setup = run.setup(&make, threads);
    setup.probes = sim::Probes {
        accepted: true,
        data_queues: true,
        memory: threads.is_multiple_of(2),
        every: Some(Span(record.end.0 / SAMPLES + 1)),
        ..sim::Probes::default()
    };
    setup.digest = true;
    setup.until = record.end.after(Span(1));
    // The slow ways of a switch, which must change nothing.
    (setup.ordered, setup.pass) = (threads.is_multiple_of(2), !threads.is_multiple_of(3));
    // A trace, too.
    let seed = run.scenario.run.seed;
    let wanted = triggers::traced(&run.traffic, seed, record.end);
    let whole = wanted.as_ref().is_some_and(|wanted| wanted.conns.is_none());
    let (mut slow, mut fast) = (Samples::default(), Samples::default());
    let windows = match wanted {
        None => sim::run(&setup, &mut slow).map(|outcome| (outcome, None)),
        Some(wanted) => sim::trace(&setup, &mut slow, wanted).map(|(ran, trace)| (ran, trace.ok())),
    };
    let queue = sim::oracle::run(&setup);
    let plain = sim::Setup {
        probes: sim::Probes {
            every: setup.probes.every,
            ..sim::Probes::default()
        },
        threads: 1,
        ordered: false,
        pass: true,
        ..setup
    };
    let again = sim::run(&plain, &mut fast);
    let ((windows, trace), queue) = match (windows, queue, again) {
        (Ok(windows), Ok(queue), Ok(_)) => (windows, queue),
        (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => return vec![why.to_string()],
    };
    let print = |of: &Outcome| {
        format!(
            "{:016x}, {} hops, {:016x}",
            of.fingerprint, of.hops, of.digest
        )
    };
    let mut found = Vec::new();
    if print(&windows) != print(&queue) {
        found.push(format!(
            "{} in windows on {threads} threads, {} by an event queue",
            print(&windows),
            print(&queue)
        ));
    }
    if let Some(trace) = trace.filter(|_| whole) {
        let arrived = |event: &&sim::TraceEvent| matches!(event.what, sim::Traced::Arrived(_));
        let arrived = trace.events.iter().filter(arrived).count() as u64;
        if arrived != windows.hops {
            let hops = windows.hops;
            found.push(format!(
                "{arrived} packets arrived in a trace of {hops} packet-hops"
            ));
        }
    }
    found.extend(slow.differ(&fast));
    if windows.fingerprint != record.fingerprint {
        found.push(format!(
            "fingerprint {:016x} with one thread, {:016x} with {threads}",
            record.fingerprint, windows.fingerprint
        ));
    }
    found.extend(queue.conservation.clone().err());
    found.extend(mistaken(run, &queue));
    found
}

/// Receivers that took more or fewer bytes than were sent to them, where all messages ended.
fn mistaken(run: &Assembled, queue: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    let mut sent: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (message, result) in run.traffic.messages.iter().zip(&queue.messages) {
        if result.end.is_none() {
            return found;
        }
        let conn = &run.traffic.conns[message.conn as usize];
        let receiver = if message.from_a { conn.b } else { conn.a };
        *sent.entry((message.conn, receiver)).or_default() += result.size;
    }
    sent.retain(|_, bytes| *bytes > 0);
    for (&(conn, host), &bytes) in &sent {
        let accepted = queue.accepted.get(&(conn, host)).copied().unwrap_or(0);
        if accepted != bytes {
            found.push(format!(
                "host {host} took {accepted} B of connection {conn}, and {bytes} B were sent"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use draw::LOAD_MAX;

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
        // These once asked for more than their hosts' lines carry, or promised more memory than they had.
        for seed in (0..300).chain([1401, 2187, 10_186, 11_182, 11_931]) {
            let text = text(&transports::registry(), seed);
            let scenario =
                crate::load_text("fuzz", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
            scenario
                .assemble()
                .unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
}
