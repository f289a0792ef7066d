//! A run with an eye on single packets. A run is a function of its scenario, so what was not recorded the first
//! time is found by running it a second time.

use crate::ahead::times;
use crate::assemble::{Assembled, Progress, Watch};
use crate::diagnostic::{Diagnostic, Errors};
use model::ConnId;
use results::human;
use results::trace::{
    self, Asked, Event, Flight, Held, Life, Link, Network, Pauses, Pausing, Sake, What, Why,
};
use results::{RunRecord, Status, Summary};
use sim::{
    Completion, FlowSample, MessageResult, Observer, Outcome, PortSample, Probes, TooMany,
    Traced as Sim,
};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use switching::GateOf;
use topology::NodeId;
use units::Time;

/// Events that a trace may have: 160 MB of them. [ours]
pub const EVENTS_MAX: u64 = 4_000_000;

/// Messages that a report explains. [ours: as many as one reads]
const EXPLAINED: usize = 5;
/// Longest run that is run a second time unasked: as long as its report takes to write. [ours:
/// decision 20]
pub const HOPS_AGAIN_MAX: u64 = 300_000;
/// Longest run that keeps what it sees of single packets: some 100 ms, and 25 MB. [ours]
pub const HOPS_KEPT_MAX: u64 = 400_000;
/// Bytes of the messages explained together: what a report can show of more says no more. [ours]
const BYTES_MAX: u64 = 20_000_000;

/// What a run with a trace gives.
pub struct Traced {
    /// The network.
    pub network: Network,
    /// What happened, by moment.
    pub events: Vec<Event>,
    /// What flow controls did.
    pub pauses: Pauses,
    /// When a host took what had not come of a connection for lost; by moment.
    missed: Vec<(Time, NodeId, ConnId)>,
    /// Hash over what happened: that of the run without a trace.
    pub fingerprint: u64,
    messages: Vec<MessageResult>,
    end: Time,
    /// Whether it is only of the time in which some messages were under way.
    pub is_part: bool,
}

/// Shows how far the second run is.
pub(crate) struct Eye<'a> {
    watch: &'a mut dyn Watch,
    until: Time,
    total: u64,
}

impl<'a> Eye<'a> {
    pub(crate) fn new(run: &Assembled, until: Time, watch: &'a mut dyn Watch) -> Self {
        Self {
            watch,
            until,
            total: run.traffic.messages.len() as u64,
        }
    }
}

impl Observer for Eye<'_> {
    fn progress(&mut self, now: Time, hops: u64, done: u64, active: u64) -> bool {
        let (until, total) = (self.until, self.total);
        self.watch.progress(&Progress {
            now,
            until,
            hops,
            done,
            active,
            total,
        })
    }
    fn completed(&mut self, _: &[Completion]) {}
    fn ports(&mut self, _: &[PortSample]) {}
    fn flows(&mut self, _: &[FlowSample]) {}
}

/// What flow controls did, in the words of results.
fn pauses(events: &[sim::PauseEvent]) -> Pauses {
    let held = |of| match of {
        GateOf::Queue(queue) => Held::Queue(queue),
        GateOf::Priority(priority) => Held::Priority(priority),
        GateOf::Flow(conn) => Held::Flow(conn.0),
    };
    let mut pauses = Pauses::default();
    for event in events {
        let what = match event.what {
            sim::Pausing::Gate(of, true) => Pausing::Opened(held(of)),
            sim::Pausing::Gate(of, false) => Pausing::Closed(held(of)),
            sim::Pausing::Asked(of, because, sake) => {
                let sake = Sake {
                    line: because.0,
                    queue: sake.queue,
                    priority: sake.priority,
                    conn: sake.conn.0,
                };
                Pausing::Asked(held(of), sake)
            }
            sim::Pausing::Kept(conn, queue) => Pausing::Kept(conn.0, queue),
            sim::Pausing::Joined(queue, packet) => Pausing::Joined(queue, packet),
        };
        pauses.note(event.at, event.link.0, what);
    }
    pauses
}

/// More events than are kept, and what became of messages.
struct Long {
    count: TooMany,
    messages: Vec<MessageResult>,
}

/// Says so.
fn too_long(what: &str, count: TooMany) -> Diagnostic {
    let controls = if count.controls > 0 {
        let did = human::count(count.controls);
        format!(" and {did} times that a gate or a pause of the flow control changed meanwhile")
    } else {
        String::new()
    };
    Diagnostic::new(format!(
        "{what} has {} events, packets that arrive or are lost{controls}, and {} are the most that are kept",
        human::count(count.packets),
        human::count(EVENTS_MAX)
    ))
}

impl Assembled {
    /// Runs it with a trace of some connections, or of all, within a window of time. Stops at `until`,
    /// where that is before the scenario's own end.
    ///
    /// # Errors
    /// What the simulator refuses, and a trace of more than [`EVENTS_MAX`] events.
    pub fn trace(
        &self,
        threads: u16,
        conns: Option<Vec<u32>>,
        window: Range<Time>,
        until: Time,
        watch: &mut dyn Watch,
    ) -> Result<Traced, Errors> {
        let wanted = sim::Wanted {
            conns,
            window,
            events_max: EVENTS_MAX,
        };
        let traced = self.trace_or_count(threads, wanted, until, watch)?;
        traced.map_err(|long| {
            too_long("a trace", long.count)
                .help("choose a shorter time with --window, or fewer messages with --flow")
                .into()
        })
    }

    /// The same; how many events there are and what became of messages, where they are too many.
    fn trace_or_count(
        &self,
        threads: u16,
        wanted: sim::Wanted,
        until: Time,
        watch: &mut dyn Watch,
    ) -> Result<Result<Traced, Long>, Errors> {
        let make = |config: &model::EndpointConfig| self.endpoint(config);
        let mut setup = self.setup(&make, threads);
        setup.probes = Probes::default();
        setup.until = setup.until.min(until);
        let mut eye = Eye::new(self, setup.until, watch);
        let (outcome, trace) = sim::trace(&setup, &mut eye, wanted)
            .map_err(|e| self.scenario.topology.section.problem("kind", e.0))?;
        let end = setup.until;
        Ok(match trace {
            Ok(trace) => Ok(self.traced(trace, &outcome, end)),
            Err(count) => Err(Long {
                count,
                messages: outcome.messages,
            }),
        })
    }

    /// What was seen of a run until then, in the words of results.
    pub(crate) fn traced(&self, trace: sim::Trace, outcome: &Outcome, until: Time) -> Traced {
        let events = trace.events.into_iter().map(|event| Event {
            packet: event.packet,
            what: match event.what {
                Sim::Arrived(link) => What::Arrived(link.0),
                Sim::Dropped(link, reason) => What::Dropped(link.0, reason),
                Sim::Lost(link) => What::Lost(link.0),
                Sim::Stopped(node, reason) => What::Stopped(node.0, reason),
            },
        });
        Traced {
            network: self.network(),
            events: events.collect(),
            pauses: pauses(&trace.pauses),
            missed: trace.missed,
            fingerprint: outcome.fingerprint,
            messages: outcome.messages.clone(),
            end: self.end(outcome).min(until),
            is_part: false,
        }
    }

    /// Whether a run of so many packet-hops keeps what it sees of single packets: one that is short, and where not every
    /// switch would note what every packet waits for.
    pub(crate) fn keeps_events(&self, hops: u64) -> bool {
        self.scenario.control.is_none() && hops <= HOPS_KEPT_MAX
    }

    /// Packet-hops of the messages that a run of so many explains, which it runs again for that under a flow control: those of
    /// the largest that it may explain, at most.
    pub(crate) fn explained_again(&self, hops: u64) -> u64 {
        if self.scenario.control.is_none() || hops > HOPS_AGAIN_MAX {
            return 0;
        }
        let sizes = self.traffic.messages.iter().map(|of| of.size);
        let mut sizes: Vec<u64> = sizes.filter(|&size| size < workload::ENDLESS).collect();
        let all: f64 = sizes.iter().map(|&size| size as f64).sum();
        sizes.retain(|&size| size <= BYTES_MAX);
        sizes.sort_unstable_by_key(|&size| Reverse(size));
        let largest = sizes.iter().take(EXPLAINED);
        let explained = largest.sum::<u64>().min(BYTES_MAX);
        times(hops, explained as f64 / all.max(1.0))
    }

    /// Runs it as [`Assembled::run`] does, and keeps what it sees of single packets where it is so short that
    /// [`Assembled::explain_slowest`] explains it: then that need not run it again.
    ///
    /// # Errors
    /// What the simulator refuses.
    pub fn run_traced(
        &self,
        threads: u16,
        command: &str,
        watch: &mut dyn Watch,
    ) -> Result<(RunRecord, Option<Traced>), Errors> {
        let short = self.keeps_events(self.hops());
        let wanted = short.then_some(sim::Wanted {
            conns: None,
            window: Time::ZERO..Time::NEVER,
            events_max: HOPS_KEPT_MAX,
        });
        self.simulate(threads, command, watch, wanted)
    }

    /// Runs it again and explains these messages. Stops at `until`; [`Time::NEVER`] for the whole run.
    ///
    /// # Errors
    /// As [`Assembled::trace`].
    pub fn explain(
        &self,
        threads: u16,
        messages: &[u32],
        from: Time,
        until: Time,
        watch: &mut dyn Watch,
    ) -> Result<(Vec<Why>, Traced), Errors> {
        self.explain_with(threads, messages, &(from..until), EVENTS_MAX, watch)
    }

    /// The same with at most so many events. Where the run has more, it runs once more and sees only the time in which the
    /// messages were under way.
    ///
    /// # Errors
    /// The same.
    pub fn explain_with(
        &self,
        threads: u16,
        messages: &[u32],
        time: &Range<Time>,
        events_max: u64,
        watch: &mut dyn Watch,
    ) -> Result<(Vec<Why>, Traced), Errors> {
        let (from, until) = (time.start, time.end);
        let conns = Some(self.conns_of(messages));
        let window = from..Time::NEVER;
        let wanted = |window| sim::Wanted {
            conns: conns.clone(),
            window,
            events_max,
        };
        let mut traced = self.trace_or_count(threads, wanted(window), until, watch)?;
        if let Err(long) = &traced {
            // Once more, when the messages were under way.
            let about = self.about(messages, &long.messages);
            let window = about.start.max(from)..about.end;
            traced = self.trace_or_count(threads, wanted(window), until, watch)?;
            if let Ok(traced) = &mut traced {
                traced.is_part = true;
            }
        }
        let traced = traced.map_err(|Long { count, .. }| {
            let longest = messages
                .iter()
                .max_by_key(|&&message| self.traffic.messages[message as usize].size);
            let what = longest.map_or_else(String::new, |message| format!("message {message}"));
            too_long(&what, count).help(
                "explain a shorter message, or this one in a run where it is shorter; \
                 tidegate trace shows the packets of a part of it (--flow and --window)",
            )
        })?;
        Ok((self.explained(&traced, messages), traced))
    }

    /// When these messages were under way, and those that they waited for on their connections, and as long before and
    /// afterwards: who had paused whom is followed back for as long, and what left at the end has to arrive.
    fn about(&self, messages: &[u32], fates: &[MessageResult]) -> Range<Time> {
        let (mut first, mut last) = (Time::NEVER, Time::ZERO);
        for &number in messages {
            let (own, fate) = (
                &self.traffic.messages[number as usize],
                &fates[number as usize],
            );
            let mut before = self.traffic.messages[..number as usize].iter().zip(fates);
            let ahead = before
                .rfind(|(m, _)| m.conn == own.conn && m.from_a == own.from_a)
                .filter(|(_, ahead)| ahead.done.is_none_or(|done| Some(done) > fate.start));
            let ahead = ahead.and_then(|(_, ahead)| ahead.start);
            let Some(start) = fate.start else { continue };
            first = first.min(ahead.unwrap_or(start).min(start));
            last = last.max(fate.end.unwrap_or(Time::NEVER));
        }
        let long = last.since(first);
        Time(first.0.saturating_sub(long.0))..last.after(long)
    }

    /// The connections that say why these messages took as long as they did, ascending.
    fn conns_of(&self, messages: &[u32]) -> Vec<u32> {
        let conn = |&message: &u32| self.traffic.messages[message as usize].conn;
        let mut conns: Vec<u32> = messages.iter().map(conn).collect();
        conns.extend(self.to_arbiters(messages));
        conns.sort_unstable();
        conns.dedup();
        conns
    }

    fn explained(&self, traced: &Traced, messages: &[u32]) -> Vec<Why> {
        let flights = trace::flights(&traced.network, &traced.events);
        let explained = messages.iter();
        explained
            .filter_map(|&message| self.why(traced, &flights, message))
            .collect()
    }

    /// The connections without messages that the senders of these messages have: there they ask an arbiter.
    fn to_arbiters(&self, messages: &[u32]) -> Vec<u32> {
        let mut has_some = vec![false; self.traffic.conns.len()];
        for message in &self.traffic.messages {
            has_some[message.conn as usize] = true;
        }
        let senders: BTreeSet<u32> = messages
            .iter()
            .map(|&message| {
                let message = &self.traffic.messages[message as usize];
                let ends = self.traffic.conns[message.conn as usize];
                if message.from_a { ends.a } else { ends.b }
            })
            .collect();
        let conns = (0u32..).zip(&self.traffic.conns).zip(has_some);
        let asked = conns.filter(|((_, ends), some)| {
            !some && (senders.contains(&ends.a) || senders.contains(&ends.b))
        });
        asked.map(|((conn, _), _)| conn).collect()
    }

    /// Says for a report which ways the longest messages took, and explains the slowest, where that is cheap: from what
    /// [`Assembled::run_traced`] has seen, or by running it again, up to [`HOPS_AGAIN_MAX`] packet-hops, or however many where
    /// `output.explain` asks for it. The report of a longer run names the command that explains them. Depends on the run
    /// alone, not on the machine, so that the report does not either. A trace that would be too long is left out; where it was
    /// asked for, a warning says so.
    pub fn explain_slowest(
        &self,
        record: &mut RunRecord,
        summary: &mut Summary,
        seen: Option<Traced>,
        threads: u16,
        watch: &mut dyn Watch,
    ) {
        record.ways = self.ways(record);
        let most = if seen.is_some() {
            HOPS_KEPT_MAX
        } else {
            HOPS_AGAIN_MAX
        };
        let asked = self.scenario.output.explain;
        if record.status == Status::Interrupted || (record.hops > most && !asked) {
            return;
        }
        let mut bytes = 0;
        let numbers: Vec<u32> = summary
            .slowest
            .iter()
            .take(EXPLAINED)
            .take_while(|slow| {
                bytes += slow.size;
                asked || bytes <= BYTES_MAX
            })
            .map(|slow| slow.message)
            .collect();
        if numbers.is_empty() && !asked {
            return;
        }
        let explained = match seen {
            Some(mut traced) => {
                let conns = self.conns_of(&numbers);
                let wanted = |event: &Event| conns.binary_search(&event.packet.conn.0).is_ok();
                traced.events.retain(wanted);
                Ok((self.explained(&traced, &numbers), traced))
            }
            None => self.explain(threads, &numbers, Time::ZERO, Time::NEVER, watch),
        };
        match explained {
            Ok((explained, traced)) => {
                record.why = explained;
                if !traced.is_part {
                    record.pauses = traced.pauses.tree(&traced.network, traced.end);
                }
            }
            Err(why) if asked => {
                let why = why
                    .0
                    .first()
                    .map_or_else(String::new, |why| format!(": {}", why.message));
                summary.warnings.push(format!(
                    "the slowest messages are not explained, as output.explain asks{why}"
                ));
            }
            Err(_) => {}
        }
    }

    /// The messages of a trace that began, with when they were under way.
    pub fn lives(&self, traced: &Traced) -> Vec<Life> {
        let all = (0..).zip(self.traffic.messages.iter().zip(&traced.messages));
        let lives = all.filter_map(|(number, (message, fate))| {
            let conn = self.traffic.conns[message.conn as usize];
            let (src, dst) = if message.from_a {
                (conn.a, conn.b)
            } else {
                (conn.b, conn.a)
            };
            Some(Life {
                message: number,
                conn: message.conn,
                src,
                dst,
                size: fate.size,
                from: fate.start?,
                until: fate.end,
            })
        });
        lives.collect()
    }

    /// Why a message took as long as it did; `None` where it never began.
    fn why(&self, traced: &Traced, flights: &[Flight], number: u32) -> Option<Why> {
        let (message, fate) = (
            &self.traffic.messages[number as usize],
            &traced.messages[number as usize],
        );
        let conn = self.traffic.conns[message.conn as usize];
        let (src, dst) = if message.from_a {
            (conn.a, conn.b)
        } else {
            (conn.b, conn.a)
        };
        // Messages of one direction follow each other in one stream, in the order of their numbers.
        let before = self.traffic.messages[..number as usize]
            .iter()
            .zip(&traced.messages)
            .filter(|(m, _)| m.conn == message.conn && m.from_a == message.from_a);
        let (start, last) = (fate.start?, before.clone().next_back());
        let ahead = last.and_then(|(_, fate)| {
            let done = fate.done.filter(|&done| done > start)?;
            Some(fate.start?..done)
        });
        let of = |&&(_, host, of): &&(Time, NodeId, ConnId)| (host.0, of.0) == (dst, message.conn);
        let asked = Asked {
            ahead,
            missed: traced
                .missed
                .iter()
                .filter(of)
                .map(|&(at, ..)| at)
                .collect(),
            message: number,
            conn: message.conn,
            src,
            dst,
            offset: before.map(|(_, fate)| fate.size).sum(),
            size: fate.size,
            start,
            end: fate.end,
            run_end: traced.end,
            ideal: self.ideal(number as usize),
        };
        Some(Why::of(&traced.network, flights, &traced.pauses, &asked))
    }

    fn network(&self) -> Network {
        let links = self.topology.links.iter().map(|link| Link {
            from: link.from.0,
            to: link.to.0,
            rate: link.rate,
            delay: link.delay,
        });
        let names = self.topology.nodes.iter().map(|node| node.name.to_string());
        Network {
            links: links.collect(),
            names: names.collect(),
            hosts: self.topology.hosts,
            conns: self.traffic.conns.iter().map(|c| (c.a, c.b)).collect(),
            encap: self.encap,
            codecs: std::iter::once(&self.scenario.factory)
                .chain(self.scenario.beside.iter().map(|beside| &beside.factory))
                .map(|factory| factory.codec())
                .collect(),
            codec_of: self.lanes.to_vec(),
        }
    }
}
