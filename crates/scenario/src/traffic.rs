//! `[[workload]]` as a list of messages.

use crate::choice::{Choice, GapsOf, LeaveOf, PacingOf, TraceFormat};
use crate::diagnostic::Diagnostic;
use crate::network::{in_file, read};
use crate::resolve::Scenario;
use crate::section::Section;
use crate::settings::{
    self, Begun, Bursts, IncastRr, LongFlows, Offered, Random, Source, Trace, Workload,
};
use crate::typed::Settings;
use model::Encap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use topology::{Spec, Topology};
use units::text::is_unseen;
use units::{Bytes, Rate, Span, Time};
use workload::{
    Arrivals, CdfOptions, ENDLESS, Fabric, FlowFile, Gaps, Incast, IncastBursts, Leave, Load,
    LoadBasis, Pacing, Partner, Per, Permutation, RandomFlows, RecurringIncast, RequestResponse,
    Shuffle, SizeDist, Staircase, StartUnit, TextError, Traffic, Until, WorkloadError, sizes,
};

/// Tag of long flows that have no other.
pub(crate) const LONG: &str = "long";

/// Bytes of all messages, so that no sum of them wraps: 2^28 messages below 2^46 B would. [ours]
const BYTES_MAX: u128 = 1 << 62;

/// Incasts at a load, where their number is not said. [ours]
const ROUNDS_AT_LOAD: u32 = 10;

/// What every source needs to know.
struct Context<'a> {
    scenario: &'a Scenario,
    spec: &'a Spec,
    fabric: Fabric,
    encap: Encap,
    /// The hosts by name.
    names: BTreeMap<&'a str, u32>,
    /// What readers of files should know.
    warnings: RefCell<Vec<String>>,
}

/// The messages of all sources, side by side, the transport of each connection where there are several
/// (0 the run's own), and what their reader should know.
pub(crate) fn build(
    scenario: &Scenario,
    spec: &Spec,
    topology: &Topology,
    encap: Encap,
) -> Result<(Traffic, Vec<u8>, Vec<String>), Vec<Diagnostic>> {
    let fabric = Fabric {
        hosts: topology.hosts,
        host_rate: topology.host_rate(),
        uplink_rate: topology.uplink_rate(),
        crossing: topology.crossing().share(),
    };
    let context = Context {
        scenario,
        spec,
        fabric,
        encap,
        names: (0..)
            .zip(&topology.nodes[..topology.hosts as usize])
            .map(|(i, host): (u32, _)| (host.name.as_str(), i))
            .collect(),
        warnings: RefCell::default(),
    };
    let seed = scenario.run.seed;
    let (mut parts, mut lanes, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (number, source) in (0..).zip(&scenario.workloads) {
        let made = size_asked(source)
            .and_then(|()| context.source(source, workload::part_seed(seed, number)))
            .and_then(|traffic| sizes_made(source, &traffic).map(|()| traffic))
            .and_then(|traffic| readable_tags(source, &traffic).map(|()| traffic));
        match made {
            Ok(traffic) => {
                lanes.resize(lanes.len() + traffic.conns.len(), lane(scenario, source));
                parts.push(traffic);
            }
            Err(error) => errors.push(error),
        }
    }
    errors.extend(too_much(&scenario.workloads));
    if !errors.is_empty() {
        return Err(errors);
    }
    let first = &scenario.workloads[0];
    let at = &first.section;
    // Connections keep their order: messages alone are sorted.
    let traffic = Traffic::merge(parts).map_err(|e| vec![at.problem("kind", e.0)])?;
    let sizes = traffic.messages.iter().map(|message| message.size);
    if sizes
        .filter(|&size| size < ENDLESS)
        .map(u128::from)
        .sum::<u128>()
        >= BYTES_MAX
    {
        return Err(vec![
            at.problem("kind", "all messages together have more than 4 EB")
                .help("send fewer or shorter ones"),
        ]);
    }
    if scenario.beside.is_empty() {
        lanes.clear();
    }
    if traffic.messages.is_empty() {
        let (key, help) = if matches!(first.kind, Source::Trace(_)) {
            ("path", "the file holds no message")
        } else {
            let help = "let it run longer, raise the load, or give a number of messages";
            ("kind", help)
        };
        return Err(vec![at.problem(key, "nothing is sent").help(help)]);
    }
    Ok((traffic, lanes, context.warnings.into_inner()))
}

/// The transport that a source's messages take: 0 the run's own, then those beside it.
pub(crate) fn lane(scenario: &Scenario, source: &Workload) -> u8 {
    let name = source.transport.as_deref();
    let mut beside = (1u8..).zip(&scenario.beside);
    beside
        .find(|(_, beside)| Some(beside.protocol.name()) == name)
        .map_or(0, |(number, _)| number)
}

/// What a source asks for before its messages are made: a size that no transport can number the bytes of.
fn size_asked(source: &Settings<Workload>) -> Result<(), Diagnostic> {
    let size = match &source.kind {
        Source::Random(_) | Source::Trace(_) | Source::LongFlows(_) => return Ok(()),
        Source::IncastRr(of) => {
            fits(&source.section, "request", of.request.0)?;
            of.size
        }
        Source::Incast(of) => of.size,
        Source::Bursts(of) => of.size,
        Source::Permutation(of) => of.size,
        Source::Shuffle(of) => of.size,
        Source::AllToAll(of) => of.size,
    };
    fits(&source.section, "size", size.0)
}

/// The same of messages that a file or a distribution made.
fn sizes_made(source: &Settings<Workload>, traffic: &Traffic) -> Result<(), Diagnostic> {
    let key = match source.kind {
        Source::Trace(_) => "path",
        Source::Random(_) => "sizes",
        _ => return Ok(()),
    };
    let sizes = traffic.messages.iter().map(|message| message.size);
    fits(&source.section, key, sizes.max().unwrap_or(0))
}

/// Tags are printed: on terminals, too.
fn readable_tags(source: &Settings<Workload>, traffic: &Traffic) -> Result<(), Diagnostic> {
    let odd = |tag: &&String| tag.trim().is_empty() || tag.chars().any(is_unseen);
    let Some(tag) = traffic.tags.iter().find(odd) else {
        return Ok(());
    };
    let key = match source.kind {
        Source::Trace(_) => "path",
        _ => "tag",
    };
    Err(source
        .section
        .problem(key, format!("{tag:?} is no tag"))
        .label("nothing to read, or characters that control a terminal or turn a line")
        .help("write a word, like tag = \"checkpoint\""))
}

fn fits(section: &Section, key: &str, size: u64) -> Result<(), Diagnostic> {
    if size < ENDLESS {
        return Ok(());
    }
    Err(section
        .problem(key, format!("a message of {size} B"))
        .label("must be below 70 TB")
        .help("for a flow that lasts as long as the run, choose kind = \"long-flows\""))
}

/// Sources that are each possible may be too much together.
fn too_much(sources: &[Settings<Workload>]) -> Option<Diagnostic> {
    for (basis, own) in LoadBasis::all() {
        let of_basis = sources.iter().filter_map(|source| {
            let offered = source.kind.offered()?;
            (offered.load_of == own).then_some((source, offered.load))
        });
        let loads: Vec<_> = of_basis.collect();
        let sum: f64 = loads.iter().map(|(_, load)| load).sum();
        if loads.len() > 1 && sum > 1.0 + 1e-9 {
            let (last, _) = loads[loads.len() - 1];
            return Some(
                last.section
                    .problem("load", format!("loads of the {basis} add up to {sum:.3}"))
                    .label("together they may be at most 1"),
            );
        }
    }
    None
}

impl Context<'_> {
    fn source(&self, source: &Settings<Workload>, seed: u64) -> Result<Traffic, Diagnostic> {
        let (hosts, section) = (self.fabric.hosts, &source.section);
        if let Some(begun) = source.kind.begun()
            && begun.start.0.checked_add(begun.jitter.0).is_none()
        {
            let what = "start and jitter together are more than any time can be";
            return Err(section
                .problem("jitter", what)
                .help("write less, like 10us"));
        }
        let shuffle = |begun: &Begun, tasks: u32, size: Bytes| Shuffle {
            hosts,
            tasks,
            bytes: size.0,
            start: Time(begun.start.0),
            jitter: begun.jitter,
            tag: tag(section, begun),
        };
        let made = match &source.kind {
            Source::Random(of) => return self.random(section, of, seed),
            Source::Bursts(of) => return self.bursts(section, of, seed),
            Source::LongFlows(of) => return self.long_flows(section, of, seed),
            Source::Trace(of) => return self.trace(section, of),
            Source::Incast(of) => return self.incast(section, of, seed),
            Source::IncastRr(of) => request_response(of, hosts).generate(seed),
            Source::Permutation(of) => Permutation {
                hosts,
                partner: of.shift.map_or(Partner::Random, Partner::Shift),
                bytes: of.size.0,
                start: Time(of.begun.start.0),
                stop: None,
                jitter: of.begun.jitter,
                tag: tag(section, &of.begun),
            }
            .generate(seed),
            Source::Shuffle(of) => shuffle(&of.begun, of.tasks, of.size).generate(seed),
            Source::AllToAll(of) => shuffle(&of.begun, 1, of.size).generate(seed),
        };
        made.map_err(|e| blame(section, &e))
    }

    fn random(&self, section: &Section, of: &Random, seed: u64) -> Result<Traffic, Diagnostic> {
        let offered = &of.offered;
        let until = match of.messages {
            Some(count) if offered.stop.is_none() => Until::Count(count),
            Some(_) => {
                return Err(section
                    .problem("messages", "messages and stop contradict each other")
                    .help("give the number of messages, or the time until which they start"));
            }
            None => Until::Time(self.stop(section, offered, "messages")?),
        };
        let per = if of.per_host { Per::Host } else { Per::Run };
        let flows = RandomFlows {
            fabric: self.fabric,
            dist: distribution(section, of)?,
            load: load(offered, of.assumed_mean),
            encap: self.encap,
            arrivals: Arrivals {
                gaps: gaps(offered),
                per,
            },
            start: Time(offered.start.0),
            until,
            tag: offered.tag.as_ref().unwrap_or(&of.sizes.name).clone(),
        };
        flows.generate(seed).map_err(|e| blame(section, &e))
    }

    fn incast(
        &self,
        section: &Section,
        of: &settings::Incast,
        seed: u64,
    ) -> Result<Traffic, Diagnostic> {
        let first = Incast {
            hosts: self.fabric.hosts,
            receiver: Some(of.receiver),
            senders: of.senders,
            pick: of.pick,
            bytes: of.size.0,
            start: Time(of.begun.start.0),
            jitter: of.begun.jitter,
            tag: tag(section, &of.begun),
        };
        let made = match (of.load, of.rounds) {
            (Some(load), rounds) => RecurringIncast {
                first,
                rounds: rounds.unwrap_or(ROUNDS_AT_LOAD),
                load,
                link: Rate(self.fabric.host_rate.0 / u64::from(self.fabric.hosts.max(1))),
                encap: self.encap,
            }
            .generate(seed),
            (None, None) => first.generate(seed),
            (None, Some(_)) => {
                return Err(section
                    .problem("rounds", "nothing says how often the incast recurs")
                    .help("add load = ..., the share of the receiver's link that incasts fill"));
            }
        };
        made.map_err(|e| blame(section, &e))
    }

    fn bursts(&self, section: &Section, of: &Bursts, seed: u64) -> Result<Traffic, Diagnostic> {
        let offered = &of.offered;
        let until = match of.rounds {
            Some(count) if offered.stop.is_none() => Until::Count(count),
            Some(_) => {
                return Err(section
                    .problem("rounds", "rounds and stop contradict each other")
                    .help("give the number of bursts, or the time until which they start"));
            }
            None => Until::Time(self.stop(section, offered, "rounds")?),
        };
        let bursts = IncastBursts {
            fabric: self.fabric,
            senders: of.senders,
            replacement: of.replacement,
            bytes: of.size.0,
            load: load(offered, None),
            encap: self.encap,
            gaps: gaps(offered),
            start: Time(offered.start.0),
            until,
            tag: offered.tag.clone().unwrap_or_else(|| "bursts".to_owned()),
        };
        bursts.generate(seed).map_err(|e| blame(section, &e))
    }

    /// When arrivals stop: where nothing is said, with the measurement window.
    fn stop(&self, section: &Section, offered: &Offered, or: &str) -> Result<Time, Diagnostic> {
        if let Some(stop) = offered.stop {
            return Ok(Time(stop.0));
        }
        let run = &self.scenario.run;
        match run.window {
            Some(window) => Ok(Time::ZERO.after(run.warmup).after(window)),
            None => Err(section
                .problem("kind", "nothing says when these messages end")
                .help(format!(
                    "add {or} = ..., stop = \"...\", or run.window = \"...\""
                ))),
        }
    }

    fn long_flows(
        &self,
        section: &Section,
        of: &LongFlows,
        seed: u64,
    ) -> Result<Traffic, Diagnostic> {
        let pairs = match &of.pairs {
            Some(texts) => texts
                .iter()
                .map(|text| pair(text, self.fabric.hosts).map_err(|e| section.problem("pairs", e)))
                .collect::<Result<_, _>>()?,
            None => self.spec.flows(),
        };
        if pairs.is_empty() {
            return Err(section
                .problem("pairs", "this topology does not say who sends to whom")
                .help("add pairs = [\"0 -> 4\", ...]"));
        }
        let leave = match (of.leave, of.stop) {
            (LeaveOf::FirstIn, None) => Leave::FirstIn,
            (LeaveOf::LastIn, None) => Leave::LastIn,
            (LeaveOf::Together, None) => Leave::Never,
            (LeaveOf::Together, Some(stop)) => Leave::At(Time(stop.0)),
            (LeaveOf::FirstIn | LeaveOf::LastIn, Some(_)) => {
                let leave = of.leave.word();
                return Err(section
                    .problem("stop", format!("stop contradicts leave = \"{leave}\""))
                    .help("remove one of them"));
            }
        };
        let stairs = Staircase {
            pairs,
            start: Time(of.begun.start.0),
            every: of.every,
            jitter: of.begun.jitter,
            leave,
            tag: of.begun.tag.clone().unwrap_or_else(|| LONG.to_owned()),
        };
        if leave != Leave::Never && stairs.every == Span::ZERO && of.stop.is_none() {
            return Err(section
                .problem("every", "flows that leave one by one need every = \"...\"")
                .help("give the time from one to the next"));
        }
        stairs.generate(seed).map_err(|e| blame(section, &e))
    }

    fn trace(&self, section: &Section, of: &Trace) -> Result<Traffic, Diagnostic> {
        let text = read(section, &of.path)?;
        let path = &of.path.path;
        let hosts = self.fabric.hosts;
        let host_of = |id: u32| match self.spec {
            Spec::Graph(graph) => graph.host_index(id),
            _ => (id < hosts).then_some(id),
        };
        let format = of.format;
        let read = match format.unwrap_or_else(|| crate::format::of_trace(path, &text)) {
            TraceFormat::Hpcc => workload::parse_hpcc(&text, host_of),
            TraceFormat::Htsim => workload::parse_cm(&text, hosts, StartUnit::Picoseconds),
            TraceFormat::HtsimUs => workload::parse_cm(&text, hosts, StartUnit::Microseconds),
            TraceFormat::Csv => {
                workload::parse_csv(&text, hosts, &self.names).map(|traffic| FlowFile {
                    traffic,
                    warnings: Vec::new(),
                })
            }
        };
        let file = read.map_err(|e| misread(path, text, &e))?;
        let named = |warning| format!("{}: {warning}", path.display());
        let mut warnings = self.warnings.borrow_mut();
        warnings.extend(file.warnings.into_iter().map(named));
        Ok(file.traffic)
    }
}

/// The tag of messages that start together.
fn tag(section: &Section, begun: &Begun) -> String {
    let said = begun.tag.clone();
    said.unwrap_or_else(|| section.kind().to_owned())
}

fn request_response(of: &IncastRr, hosts: u32) -> RequestResponse {
    RequestResponse {
        hosts,
        master: of.receiver,
        workers: of.senders,
        pick: of.pick,
        request_bytes: of.request.0,
        response_bytes: of.size.0,
        work: of.work,
        rounds: of.rounds,
        pacing: match of.pacing {
            PacingOf::Every => Pacing::Every(of.gap),
            PacingOf::Closed => Pacing::Closed(of.gap),
        },
        start: Time(of.start.0),
    }
}

fn misread(path: &Path, text: String, error: &TextError) -> Diagnostic {
    in_file(path, text, error.line, error.column, &error.message)
}

/// A generator's complaint, at the key that it is about.
fn blame(section: &Section, error: &WorkloadError) -> Diagnostic {
    let about = [
        "load_of",
        "load",
        "assumed_mean",
        "senders",
        "receiver",
        "shift",
        "sigma",
        "jitter",
        "stop",
    ];
    let key = about
        .into_iter()
        .find(|key| error.0.starts_with(key) && section.get(key).is_some());
    section.problem(key.unwrap_or("kind"), error.0.clone())
}

fn load(offered: &Offered, assumed_mean: Option<Bytes>) -> Load {
    Load {
        fraction: offered.load,
        basis: offered.load_of,
        with_headers: offered.load_with_headers,
        all_cross: offered.all_cross,
        assumed_mean: assumed_mean.map(|mean| mean.0 as f64),
    }
}

fn gaps(offered: &Offered) -> Gaps {
    match offered.gaps {
        GapsOf::Poisson => Gaps::Poisson,
        GapsOf::LogNormal => Gaps::LogNormal {
            sigma: offered.sigma,
        },
        GapsOf::Even => Gaps::Even,
    }
}

/// The distribution that a source draws from, which `section` describes.
pub(crate) fn distribution(section: &Section, of: &Random) -> Result<SizeDist, Diagnostic> {
    let whole = uncut(section, of)?;
    Ok(match of.largest {
        Some(Bytes(0)) => {
            let zero = section.problem("largest", "workload.largest is 0 B");
            return Err(zero.help("every message has a byte at least; write a size, like \"30MB\""));
        }
        Some(largest) => whole.cut(largest.0),
        None => whole,
    })
}

/// The distribution before `largest` cuts it.
pub(crate) fn uncut(section: &Section, of: &Random) -> Result<SizeDist, Diagnostic> {
    let (name, interp) = (of.sizes.name.as_str(), of.interp);
    let named = |b: &&sizes::Builtin| b.name == name || b.alias == Some(name);
    if let Some(builtin) = sizes::BUILTINS.iter().find(named) {
        return match interp {
            None => Ok(builtin.dist()),
            Some(interp) => builtin
                .dist_as(interp)
                .map_err(|e| section.problem("interp", e.0)),
        };
    }
    let text = match of.sizes.read() {
        Ok(text) => text,
        // Something is there, and it is no list.
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => read(section, &of.sizes)?,
        Err(why) => {
            let names = sizes::BUILTINS.iter().map(|b| b.name);
            let problem = section
                .problem("sizes", format!("there is no distribution \"{name}\""))
                .label(format!("and no file: {why}"));
            return Err(match crate::diagnostic::nearest(name, names) {
                Some(near) => problem.help(format!("did you mean \"{near}\"?")),
                None => problem.help("`tidegate list workloads` names the built-in ones"),
            });
        }
    };
    let options = CdfOptions {
        interp,
        ..CdfOptions::default()
    };
    match workload::parse_cdf(name, &text, options) {
        Ok(cdf) => Ok(cdf.dist),
        Err(e) => Err(misread(&of.sizes.path, text, &e)),
    }
}

/// `0 -> 4`, as hosts.
fn pair(text: &str, hosts: u32) -> Result<(u32, u32), String> {
    let host = |part: &str| {
        let number = part.trim().trim_start_matches('h');
        number.parse::<u32>().ok().filter(|&h| h < hosts)
    };
    let ends = text
        .split_once("->")
        .and_then(|(a, b)| Some((host(a)?, host(b)?)));
    ends.ok_or_else(|| {
        format!("\"{text}\" is no pair of hosts below {hosts}; write it like \"0 -> 4\"")
    })
}
