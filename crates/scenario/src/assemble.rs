//! A resolved scenario as the simulator wants it, and what came of it as the tables want it.
//!
//! `assemble` builds fabric, messages, ports, faults and probes and collects everything that does not go together (`parts`).
//! Whether memory suffices is asked first, from sizes alone. The transport is settled when the messages are known,
//! and asked whether the ports suit it when these are. `run` hands all of it to the simulator, and a `Collector`
//! turns what that tells into the rows of a `RunRecord`, beside the time of each message in an idle network (`ideal`).

mod parts;

use crate::choice::FctRule;
use crate::collector::Collector;
use crate::control::Controls;
use crate::counted;
use crate::cut::CutOff;
use crate::diagnostic::Errors;
use crate::facts::Fabric;
use crate::fates::is_endless;
use crate::ground;
use crate::ideal::Ideal;
use crate::load::Load;
use crate::memory::{self, Known};
use crate::network;
use crate::network::legacy::Legacy;
use crate::resolve::Scenario;
use crate::settings::{Run, Source};
use crate::traffic;
use crate::warnings;
use crate::why::Traced;
use crate::words;
use model::intent::{CreditSpec, PortSpec, SwitchSpec};
use model::{Encap, Endpoint, EndpointConfig};
use parts::Network;
use results::{
    Derived, FlowControl, FlowRow, MemoryPart, MemoryRow, Names, PortRow, RunRecord, Status,
};
use sim::{Fault, MakeControl, MakeEndpoint, Outcome, Probes, Setup, Tally};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use switching::{Holder, Peak};
use topology::{NodeId, Routes, Topology};
use units::{Bytes, Rate, Span, Time};
use workload::{Message, SizeDist, Start, Traffic};

/// A scenario with its network and its messages: ready to run.
pub struct Assembled {
    /// What was asked for.
    pub scenario: Scenario,
    /// Nodes and links.
    pub topology: Topology,
    /// Ways through the intact network.
    pub routes: Arc<Routes>,
    /// Connections and messages.
    pub traffic: Traffic,
    /// Connections of messages; those behind them are what transports keep for themselves.
    pub conns_of_messages: u32,
    /// The transport of each connection, by number: 0 the run's own, then those beside it. Empty where
    /// it is alone.
    pub lanes: Arc<[u8]>,
    /// How transports share lines, where there are several.
    legacy: Option<Legacy>,
    /// What each link's egress port does.
    pub ports: Vec<Arc<PortSpec>>,
    /// Makes what switches do about their neighbours.
    control: Option<Box<SharedControl>>,
    /// What follows from that, as names and values.
    pub(crate) control_figures: Vec<(String, String)>,
    /// Faults, by link.
    pub faults: Vec<Fault>,
    /// Frame sizes.
    pub encap: Encap,
    /// Rate of the fastest host link.
    fastest: Rate,
    /// Longest round trip of propagation and fixed latencies.
    pub propagation_rtt: Span,
    /// The same with a full frame there and a smallest frame back.
    pub base_rtt: Span,
    /// The same with the smallest frames both ways.
    pub control_rtt: Span,
    /// What to sample.
    pub probes: Probes,
    /// The scenario in a few words.
    pub title: String,
    /// What the user should know before trusting the numbers.
    pub warnings: Vec<String>,
    /// What its messages add up to: found when it is asked for, and once.
    pub(crate) load: OnceLock<Load>,
}

/// A [`sim::MakeControl`] that threads may share.
type SharedControl =
    dyn Fn(&Topology, NodeId) -> Option<Box<dyn switching::FlowControl>> + Send + Sync;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When the run ends at the latest.
    pub until: Time,
    /// Packets delivered over links so far.
    pub hops: u64,
    /// Messages that ended.
    pub done: u64,
    /// Messages that have started and not ended.
    pub active: u64,
    /// Messages of the run.
    pub total: u64,
}

/// Somebody who looks on while a run is under way.
pub trait Watch {
    /// How far the run is. Return false to end it here.
    fn progress(&mut self, progress: &Progress) -> bool {
        let _ = progress;
        true
    }
    /// Messages that ended since the last call.
    fn completed(&mut self, rows: &[FlowRow], names: Names<'_>) {
        let _ = (rows, names);
    }
    /// Something has happened that the warnings of the run will say, too.
    fn warned(&mut self, warning: &str) {
        let _ = warning;
    }
}

/// An observer that observes nothing.
pub struct Alone;
impl Watch for Alone {}

impl Scenario {
    /// Builds network and messages.
    ///
    /// # Errors
    /// What does not go together: an impossible topology, a load above capacity, a trace that
    /// cannot be read, a fault on a link that does not exist.
    pub fn assemble(self) -> Result<Assembled, Errors> {
        let mut run = self.put_together()?;
        if run.at_most() > run.scenario.memory_limit() {
            // It is refused where `check` says more; of itself a run says the same under every limit.
            let known = run.load.clone();
            run.look_ahead();
            let said = run.fits();
            run.load = known;
            said?;
        }
        Ok(run)
    }

    /// Memory that the run may take.
    pub(crate) fn memory_limit(&self) -> Bytes {
        self.memory_limit.unwrap_or_else(memory::of_machine)
    }

    /// The same, of which nothing more is asked than what its sizes say.
    pub(crate) fn put_together(mut self) -> Result<Assembled, Errors> {
        let encap = self.encap;
        let spec = network::spec(&self.topology)?;
        let mut need = self.need_within(&spec)?;
        let Network {
            topology,
            routes,
            errors,
        } = self.network(&spec)?;
        let fabric = Fabric::new(&topology, &routes, encap);
        let parts = self.parts(&spec, fabric, errors)?;
        need.messages = parts.traffic.messages.len() as u64;
        self.has_room(need, Known::Counted)?;
        let (propagation_rtt, base_rtt, control_rtt) = fabric.round_trips;
        let legacy = Legacy::of(&self).expect("asked for every port");
        let title = match &self.title {
            Some(title) => title.clone(),
            None => words::title(&self, &parts.traffic, &topology),
        };
        let controls = Controls::new(&self, encap, &parts.ports);
        if let Some(controls) = &controls {
            controls.suits(&self.switch, &topology)?;
        }
        let mut warnings = warnings::all(
            &self,
            fabric,
            (&parts.ports, &parts.traffic),
            legacy,
            controls.as_ref(),
        );
        warnings.extend(parts.read);
        let control_figures = controls.iter().flat_map(|c| c.figures(&topology)).collect();
        let mut assembled = Assembled {
            title,
            warnings,
            scenario: self,
            fastest: warnings::host_rates(&topology).max().unwrap_or_default(),
            topology,
            routes,
            traffic: parts.traffic,
            conns_of_messages: u32::try_from(parts.conns).expect("numbered by u32"),
            lanes: parts.lanes.into(),
            ports: parts.ports,
            control: controls.map(|controls| -> Box<SharedControl> {
                Box::new(move |topology, node| Some(controls.make(topology, node)))
            }),
            control_figures,
            faults: parts.faults,
            encap,
            legacy,
            propagation_rtt,
            base_rtt,
            control_rtt,
            probes: parts.probes,
            load: OnceLock::new(),
        };
        assembled.probes.every = assembled.sampled_at_first();
        assembled.warnings.extend(assembled.narrow_lines());
        Ok(assembled)
    }
}

impl Assembled {
    /// When the run ends at the latest.
    pub fn until(&self) -> Time {
        counted::latest(&self.scenario.run)
    }

    /// Messages that start in here count.
    pub fn window(&self) -> Range<Time> {
        window(&self.scenario.run)
    }

    /// Rate of the fastest host link.
    pub fn host_rate(&self) -> Rate {
        self.fastest
    }

    /// Bandwidth-delay product, in wire bytes: what the fastest host link carries from a request to its
    /// answer over the longest path.
    pub fn bdp(&self) -> Bytes {
        self.host_rate().bytes_in(self.control_rtt)
    }

    /// What the first workload draws its sizes from, if it does.
    pub fn sizes(&self) -> Option<SizeDist> {
        let source = self.scenario.workloads.first()?;
        match &source.kind {
            Source::Random(of) => traffic::distribution(&source.section, of).ok(),
            _ => None,
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub fn run(
        &self,
        threads: u16,
        command: &str,
        watch: &mut dyn Watch,
    ) -> Result<RunRecord, Errors> {
        Ok(self.simulate(threads, command, watch, None)?.0)
    }

    /// Runs it, with a trace of what is wanted unless that is too long.
    pub(crate) fn simulate(
        &self,
        threads: u16,
        command: &str,
        watch: &mut dyn Watch,
        wanted: Option<sim::Wanted>,
    ) -> Result<(RunRecord, Option<Traced>), Errors> {
        let mut alone = Ideal::new(self);
        let ideal: Vec<Span> = (0..self.traffic.messages.len())
            .map(|m| alone.of(m))
            .collect();
        let (until, derived) = (self.until(), self.derived());
        let make = |config: &EndpointConfig| self.endpoint(config);
        let setup = self.setup(&make, threads);
        let mut collector = Collector::new(self, until, &ideal, watch);
        let refused = |e: sim::SetupError| self.scenario.topology.section.problem("kind", e.0);
        let (mut outcome, trace) = match wanted {
            None => (sim::run(&setup, &mut collector).map_err(refused)?, None),
            Some(wanted) => {
                let ran = sim::trace(&setup, &mut collector, wanted).map_err(refused)?;
                (ran.0, ran.1.ok())
            }
        };
        let traced = trace.map(|trace| self.traced(trace, &outcome, until));
        let (port_series, flow_series) = collector.samples(self.end(&outcome));
        let cut = !outcome.interrupted && outcome.unfinished > 0;
        let mut still = None;
        if cut && !setup.probes.accepted {
            let (again, at) = self.accepted(setup, (&outcome, &ideal), watch)?;
            (outcome.accepted, outcome.forgotten, still) = (again.accepted, again.forgotten, at);
        }
        let mut record = self.record((outcome, still), &ideal, derived, command);
        (record.port_series, record.flow_series) = (port_series, flow_series);
        Ok((record, traced))
    }

    /// Names of the transports: the run's own, then those beside it.
    pub fn transports(&self) -> Vec<String> {
        let beside = self.scenario.beside.iter().map(|b| b.protocol);
        let all = std::iter::once(self.scenario.protocol).chain(beside);
        all.map(|protocol| protocol.name().to_owned()).collect()
    }

    /// The transport of a connection, as a place in [`Assembled::transports`].
    pub(crate) fn lane(&self, conn: u32) -> usize {
        self.lanes.get(conn as usize).copied().unwrap_or(0).into()
    }

    /// The part of a line that the transport of a connection is told to take: all of it where it is alone.
    pub(crate) fn part_of_line(&self, conn: u32) -> f64 {
        let share = match (self.legacy, self.lane(conn)) {
            (Some(legacy), 0) => legacy.left(),
            (Some(legacy), _) if legacy.own => legacy.share_of_each(self.scenario.beside.len()),
            _ => CreditSpec::WHOLE,
        };
        f64::from(share) / f64::from(CreditSpec::WHOLE)
    }

    /// What they call a credit, with a slash between where they differ; `credit` where none gives any.
    pub(crate) fn credit(&self) -> String {
        let beside = self.scenario.beside.iter().map(|b| b.protocol);
        let all = std::iter::once(self.scenario.protocol).chain(beside);
        let words = all.filter_map(|protocol| results::trace::credit_word(protocol.codec()));
        let mut known: Vec<String> = Vec::new();
        for word in words.map(|word| word.trim_end_matches('s').to_owned()) {
            if !known.contains(&word) {
                known.push(word);
            }
        }
        if known.is_empty() {
            return "credit".into();
        }
        known.join("/")
    }

    /// What one host runs: the transport, or all of them side by side.
    pub fn endpoint(&self, config: &EndpointConfig) -> Box<dyn Endpoint> {
        let own = &self.scenario.factory;
        let Some(legacy) = self.legacy else {
            return own.make(config);
        };
        let others = &self.scenario.beside;
        let with_share = |share| config.clone().with(|told| told.line_share = share);
        let narrowed = with_share(legacy.left());
        let each = with_share(if legacy.own {
            legacy.share_of_each(others.len())
        } else {
            config.line_share
        });
        let endpoints = std::iter::once(own.make(&narrowed))
            .chain(others.iter().map(|beside| beside.factory.make(&each)));
        let weights = legacy.weights(others.len());
        Box::new(transports::lanes::Lanes::new(
            endpoints.zip(weights).collect(),
            Arc::clone(&self.lanes),
        ))
    }

    /// What the simulator is told, for callers that drive it themselves.
    pub fn setup<'a>(&'a self, make: &'a MakeEndpoint<'a>, threads: u16) -> Setup<'a> {
        let (carries, telemetry) = network::records(&self.scenario, self.encap);
        Setup {
            topology: self.topology.clone(),
            traffic: self.traffic.clone(),
            ports: self.ports.clone(),
            routes: Arc::clone(&self.routes),
            host_queues: self.scenario.switch.host_queue,
            make,
            encap: self.encap,
            base_rtt: self.base_rtt,
            control_rtt: self.control_rtt,
            switch: SwitchSpec {
                telemetry,
                ..network::switch(&self.scenario.switch)
            },
            control: self
                .control
                .as_deref()
                .map(|control| -> &MakeControl<'_> { control }),
            carries,
            faults: self.faults.clone(),
            probes: self.probes.clone(),
            seed: self.scenario.run.seed,
            until: self.until(),
            threads,
            pass: true,
            ordered: false,
            digest: false,
        }
    }

    /// How long a message would take alone in the network.
    pub(crate) fn ideal(&self, message: usize) -> Span {
        Ideal::new(self).of(message)
    }

    /// `still` is the moment after which nothing went on, where that is long before the end.
    fn record(
        &self,
        (outcome, still): (Outcome, Option<Time>),
        ideal: &[Span],
        derived: Derived,
        command: &str,
    ) -> RunRecord {
        let flows = self.flow_rows(&outcome, ideal);
        let cut = self.cut_off(&outcome);
        let status = self.status(&outcome, &cut);
        let mut warnings = self.warnings.clone();
        match status {
            Status::Unfinished => warnings.push(self.unfinished_warning(&outcome, &cut, still)),
            Status::Stuck => warnings.push(self.stuck_warning(&outcome, &cut)),
            Status::Complete | Status::Interrupted => {}
        }
        warnings.extend(self.cut_warnings(&outcome, &cut));
        let (counted, warned) = self.counted(&outcome);
        warnings.extend(warned);
        warnings.extend(self.never_dropped(&outcome));
        warnings.extend(self.pause_warnings(&outcome, &cut));
        warnings.extend(self.unsampled(self.end(&outcome)));
        let control = self.scenario.control.as_ref();
        let stuck = self.stuck_rows(&outcome, &cut);
        RunRecord {
            flow_control: control.map(|control| FlowControl {
                name: control.kind.name().to_owned(),
                counts: outcome
                    .counts
                    .iter()
                    .map(|(&name, &n)| (name.to_owned(), n))
                    .collect(),
            }),
            scenario: self.scenario.name.clone(),
            title: self.title.clone(),
            transport: self.scenario.protocol.name().to_owned(),
            seed: self.scenario.run.seed,
            fingerprint: outcome.fingerprint,
            messages_hash: self.traffic.hash(),
            settings: Vec::new(),
            scenario_toml: self.scenario.resolved_toml(),
            command: command.to_owned(),
            status,
            warnings,
            window: self.window(),
            received_inside: self.received_inside(&outcome),
            end: self.end(&outcome),
            hops: outcome.hops,
            encap: self.encap,
            derived,
            tags: self.traffic.tags.clone(),
            transports: self.transports(),
            credit: self.credit(),
            hosts: self.host_names(),
            flows,
            ports: self.port_rows(&outcome.ports, &(Time::ZERO..self.end(&outcome))),
            counted,
            port_series: results::PortSeries::default(),
            flow_series: Vec::new(),
            memory: self.memory_rows(&outcome.memory),
            totals: outcome.totals,
            counts: outcome.hosts,
            stuck,
            conservation: outcome.conservation,
            ways: Vec::new(),
            why: Vec::new(),
            pauses: Vec::new(),
        }
    }

    /// A row per message, as it ended.
    fn flow_rows(&self, outcome: &Outcome, ideal: &[Span]) -> Vec<FlowRow> {
        let compat = self.scenario.run.fct == FctRule::XpassCompat;
        let received = self.received(outcome);
        let of = |(message, result): (u32, &sim::MessageResult)| {
            let base = row(self, message, ideal);
            // The authors' simulator starts its clock again with every request that follows a
            // stop, and reads it at the last stop.
            let compat_end = || {
                let from = result.asked_again.or(result.start)?;
                Some(result.start?.after(result.stopped?.since(from)))
            };
            let end = match result.end {
                Some(end) if compat => Some(compat_end().unwrap_or(end)),
                end => end,
            };
            FlowRow {
                size: result.size,
                start: result.start,
                end,
                stopped: result.stopped,
                received: received[message as usize],
                ..base
            }
        };
        (0u32..).zip(&outcome.messages).map(of).collect()
    }

    /// Why messages have not ended.
    fn unfinished_warning(&self, outcome: &Outcome, cut: &CutOff, still: Option<Time>) -> String {
        let all = outcome.messages.len();
        if outcome.refused > 0 {
            return format!(
                "{} of {all} messages were refused or given up by a host and can never finish; summary.json names them",
                outcome.refused,
            );
        }
        let until = Span(self.until().0);
        let more = self.more_time(outcome, cut, still);
        format!(
            "{} of {all} messages were not finished at {until}, where run.until ends the run{more}",
            outcome.unfinished,
        )
    }

    /// Names of the hosts, where they are other than h0, h1 and so on.
    pub(crate) fn host_names(&self) -> Vec<String> {
        let hosts = &self.topology.nodes[..self.topology.hosts as usize];
        let mut numbered = (0..).zip(hosts);
        if numbered.all(|(i, host): (u32, _)| *host.name == format!("h{i}")) {
            return Vec::new();
        }
        hosts.iter().map(|host| host.name.to_string()).collect()
    }

    /// A run that its scenario ends may leave messages unfinished; one that had all the time it could
    /// want may not, and where nothing can happen any more no time helps, nor to messages that have no way for good, or wait
    /// for a resume that was lost. A circle that stands at the end does not open by itself.
    fn status(&self, outcome: &Outcome, cut: &CutOff) -> Status {
        let mut fates = self.traffic.messages.iter().zip(&outcome.messages);
        let all_done = fates.all(|(message, fate)| fate.end.is_some() || is_endless(message));
        if outcome.interrupted {
            Status::Interrupted
        } else if !outcome.deadlock.is_empty() {
            Status::Stuck
        } else if all_done {
            Status::Complete
        } else if outcome.idle || !cut.never.is_empty() {
            Status::Stuck
        } else if ends_early(&self.scenario.run) && outcome.refused == 0 {
            match self.wait_for_a_lost_frame(outcome, cut) {
                0 => Status::Complete,
                _ => Status::Stuck,
            }
        } else {
            Status::Unfinished
        }
    }

    pub(crate) fn port_rows(&self, counters: &Tally, within: &Range<Time>) -> Vec<PortRow> {
        let node = |id| self.topology.node(id);
        (0u32..)
            .zip(self.topology.links.iter().zip(counters.iter()))
            .map(|(number, (link, count))| PortRow {
                link: number,
                from: node(link.from).name.to_string(),
                to: node(link.to).name.to_string(),
                from_tier: node(link.from).tier,
                to_tier: node(link.to).tier,
                rate: link.rate,
                packets: count.packets,
                bytes: count.bytes,
                ahead: count.busy_before.since(within.start),
                rest: count.busy_until.since(within.end),
                dropped: count.dropped,
                drop_reasons: count.drop_reasons,
                drop_priorities: count.drop_priorities,
                lost: count.lost,
                copied: count.copied,
                marked: count.marked,
                queue_max: count.queue_max,
                credits_max: count.credits_max,
                pauses: count.pauses,
                paused: count.paused,
                pause_longest: count.pause_longest,
                headroom_max: count.headroom_max,
                data_max: count.data_max,
            })
            .collect()
    }

    fn memory_rows(&self, peaks: &[(NodeId, Peak)]) -> Vec<MemoryRow> {
        let row = |&(node, peak): &(NodeId, Peak)| {
            let node = self.topology.node(node);
            let (part, port, number) = match peak.of {
                Holder::Switch => (MemoryPart::Switch, None, None),
                Holder::Ingress(port) => (MemoryPart::Came, Some(port), None),
                Holder::IngressPriority(port, n) => {
                    (MemoryPart::CameAtPriority, Some(port), Some(n))
                }
                Holder::Headroom(port, n) => (MemoryPart::Headroom, Some(port), Some(n)),
                Holder::Port(port) => (MemoryPart::Waits, Some(port), None),
                Holder::Priority(port, n) => (MemoryPart::WaitsAtPriority, Some(port), Some(n)),
                Holder::Queue(port, n) => (MemoryPart::Queue, Some(port), Some(n)),
            };
            let link = port.map(|port| node.ports[usize::from(port)]);
            let far = link.map(|link| self.topology.link(link).to);
            MemoryRow {
                node: node.name.to_string(),
                link: link.map(|link| link.0),
                neighbour: far
                    .map_or_else(String::new, |far| self.topology.node(far).name.to_string()),
                part,
                number,
                most: peak.bytes,
            }
        };
        peaks.iter().map(row).collect()
    }

    fn derived(&self) -> Derived {
        Derived {
            hosts: self.topology.hosts,
            switches: u32::try_from(self.topology.nodes.len()).expect("numbered by u32")
                - self.topology.hosts,
            host_rate: self.host_rate(),
            base_rtt: self.base_rtt,
            propagation_rtt: self.propagation_rtt,
            bdp: self.bdp(),
            more: self
                .figures()
                .into_iter()
                .map(|f| (f.name, f.value))
                .collect(),
            ground: ground::of(self),
        }
    }
}

/// The window in which messages count.
fn window(run: &Run) -> Range<Time> {
    let start = Time(run.warmup.0);
    start..run.window.map_or(Time::NEVER, |w| start.after(w))
}

/// The window of a run that has none.
const WHOLE: Range<Time> = Time::ZERO..Time::NEVER;

/// Whether the scenario says when its run ends.
fn ends_early(run: &Run) -> bool {
    !run.until.is_default || run.drain.is_some()
}

/// What has no end of its own ends with the run: how long that took says nothing.
pub(crate) fn is_timed(message: &Message) -> bool {
    message.stop.is_some() || message.size >= workload::ENDLESS
}

/// A message as far as it is known before it runs.
pub(crate) fn row(run: &Assembled, number: u32, ideal: &[Span]) -> FlowRow {
    let message = &run.traffic.messages[number as usize];
    let conn = &run.traffic.conns[message.conn as usize];
    let (src, dst) = if message.from_a {
        (conn.a, conn.b)
    } else {
        (conn.b, conn.a)
    };
    FlowRow {
        message: number,
        conn: message.conn,
        src,
        dst,
        size: message.size,
        start: if let Start::At(at) = message.start {
            Some(at)
        } else {
            None
        },
        end: None,
        stopped: None,
        ideal: ideal[number as usize],
        received: 0,
        tag: message.tag,
        transport: run.lanes.get(message.conn as usize).copied().unwrap_or(0),
        timed: is_timed(message),
    }
}
