//! What a message takes by itself, found by running it: between two hosts of a star, as far apart as the hosts of the
//! run, under its transport, its ports and its flow control.
//!
//! Transports differ in what they say besides data: requests, grants or none, an acknowledgement for each frame or for
//! some. A few runs of a single message tell that without a word about any of them. What messages do to each other is
//! not in there.

use crate::assemble::{Assembled, is_timed};
use crate::resolve::load_text_with;
use model::EndpointConfig;
use sim::Blind;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use toml::Table;
use transports::Registry;
use units::{Bytes, Span};
use workload::Start;

/// Frames of the messages that are tried: each four times as many. What lies between is between; what is longer goes on
/// as from the last but one to the last. [ours]
const TRIED: [u64; 7] = [1, 4, 16, 64, 256, 1024, 4096];
/// A message that takes longer than this many round trips and lines for itself is not waited for. [ours]
const PATIENCE: u64 = 64;
/// Hosts with more frames on their line in a round trip are not tried: a receiver may ask for all of them in vain, and that
/// takes seconds. [ours]
const AWAY: u64 = 1 << 21;
/// A message that the end of the run cuts off: as long as nobody asks for more. [ours]
const CUT: u64 = 1 << 16;

/// Packets over each link of the way.
#[derive(Default)]
pub(crate) struct Lone {
    /// By frames: of messages that are sent whole, and of those that stop.
    whole: Vec<(u64, f64)>,
    timed: Vec<(u64, f64)>,
    /// By picoseconds since it began, of a message that is not over then; empty where no message is cut off.
    early: Vec<(u64, f64)>,
}

impl Lone {
    /// By transport of `run`, whose messages have so many frames.
    pub(crate) fn all(run: &Assembled, frames: &[u64]) -> Vec<Self> {
        let lanes = 1 + run.scenario.beside.len();
        let mut most = vec![([0; 2], Span::ZERO); lanes];
        for (message, &frames) in run.traffic.messages.iter().zip(frames) {
            let (most, longest) = &mut most[run.lane(message.conn)];
            let most = &mut most[usize::from(is_timed(message))];
            *most = frames.max(*most);
            let needs = Span(run.base_rtt.0 * 4 + line(run).times(frames).0);
            let left = left(run, message.start).filter(|&left| left < needs);
            *longest = left.unwrap_or_default().max(*longest);
        }
        let of = |(lane, ([whole, timed], longest)): (u8, ([u64; 2], Span))| Self {
            whole: measured(run, lane, whole, false),
            timed: measured(run, lane, timed, true),
            early: cut_off(run, lane, longest),
        };
        (0..).zip(most).map(of).collect()
    }

    /// Packets over each link, of a message of `frames`: so many that its line carries until it stops, where it is timed.
    pub(crate) fn packets(&self, frames: u64, timed: bool) -> f64 {
        let known = if timed { &self.timed } else { &self.whole };
        between(known, frames).unwrap_or(2.0 * frames as f64)
    }

    /// The most that a message can have had so long after it began, however large it is.
    pub(crate) fn within(&self, time: Span) -> f64 {
        between(&self.early, time.0).unwrap_or(f64::INFINITY)
    }
}

/// What is known at places, at another: what lies between is between, and behind the last it goes on as before it. None
/// where nothing is known.
fn between(known: &[(u64, f64)], at: u64) -> Option<f64> {
    let first = known.first()?;
    if at <= first.0 {
        return Some(first.1);
    }
    let (low, high) = match *known {
        [only] => ((0, 0.0), only),
        _ => {
            let place = known.partition_point(|&(tried, _)| tried < at);
            let place = place.clamp(1, known.len() - 1);
            (known[place - 1], known[place])
        }
    };
    let each = (high.1 - low.1) / (high.0 - low.0) as f64;
    Some((high.1 + each * (at as f64 - high.0 as f64)).max(0.0))
}

/// How long the run goes on after a message has begun; none where that depends on others.
pub(crate) fn left(run: &Assembled, start: Start) -> Option<Span> {
    match start {
        Start::At(at) => Some(run.until().since(at)),
        _ => None,
    }
}

/// What a full frame takes on a host's line.
fn line(run: &Assembled) -> Span {
    let full = Bytes(run.encap.wire_max().into());
    run.host_rate().serialize(full)
}

/// Whether hosts are too far apart to try it.
fn is_far(run: &Assembled) -> bool {
    run.base_rtt.0 / line(run).0.max(1) > AWAY
}

/// Packets over each link of a message that is cut off after up to `longest`, by the time that it had.
fn cut_off(run: &Assembled, lane: u8, longest: Span) -> Vec<(u64, f64)> {
    let mut known = vec![(0, 0.0)];
    let mut time = Span(run.base_rtt.0 / 4);
    while known[known.len() - 1].0 < longest.0 && time > Span::ZERO && !is_far(run) {
        let message = Single {
            frames: CUT,
            timed: false,
            until: time,
        };
        let Some(packets) = packets(run, lane, message) else {
            return Vec::new();
        };
        known.push((time.0, packets));
        if packets > TRIED[TRIED.len() - 1] as f64 {
            break;
        }
        time = time.times(2);
    }
    if known.len() > 1 { known } else { Vec::new() }
}

/// Packets over each link by frames, up to the first that has at least `most`; none where nothing is sent.
fn measured(run: &Assembled, lane: u8, most: u64, timed: bool) -> Vec<(u64, f64)> {
    let enough = TRIED.iter().position(|&tried| tried >= most);
    let tried = &TRIED[..enough.map_or(TRIED.len(), |last| last + 1)];
    if most == 0 || is_far(run) {
        return Vec::new();
    }
    let of = |&frames: &u64| {
        let until = Span((run.base_rtt.0 + line(run).times(frames).0).saturating_mul(PATIENCE));
        let message = Single {
            frames,
            timed,
            until,
        };
        Some((frames, packets(run, lane, message)?))
    };
    tried
        .iter()
        .map(of)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// A message that is run alone.
#[derive(Clone, Copy)]
struct Single {
    frames: u64,
    /// It stops when its line has carried its frames.
    timed: bool,
    until: Span,
}

/// Packets over each of the two links, of one message; none where such a run cannot be made.
fn packets(run: &Assembled, lane: u8, message: Single) -> Option<f64> {
    // What the scenario says of ports and parameters may mean nothing here: another transport's marks, a host that is not there.
    hops(run, lane, message, true)
        .or_else(|| hops(run, lane, message, false))
        .map(|hops| hops as f64 / 2.0)
}

/// Packet-hops of a run of it, `closely` with the ports and the flow control of `run`.
fn hops(run: &Assembled, lane: u8, message: Single, closely: bool) -> Option<u64> {
    let registry = [run.scenario.protocol]
        .into_iter()
        .chain(run.scenario.beside.iter().map(|beside| beside.protocol))
        .nth(lane.into())
        .map(|protocol| Registry::new(&[protocol]))?;
    let registry = match &run.scenario.control {
        Some(chosen) if closely => registry.with_control(chosen.kind),
        _ => registry,
    };
    let text = text(run, lane, message, closely);
    let lone = load_text_with(&registry, "lone", &text, &[]).ok()?;
    let lone = lone.put_together().ok()?;
    let make = |config: &EndpointConfig| lone.endpoint(config);
    let outcome = sim::run(&lone.setup(&make, 1), &mut Blind).ok()?;
    Some(outcome.hops)
}

/// The scenario of one message.
fn text(run: &Assembled, lane: u8, message: Single, closely: bool) -> String {
    let scenario = &run.scenario;
    let (frames, until) = (message.frames, message.until);
    let mut out = format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"{}bps\"\nhost_delay = \"{}ps\"\n",
        run.host_rate().0,
        run.propagation_rtt.0 / 4,
    );
    let _ = if message.timed {
        let stop = line(run).times(frames).0;
        writeln!(
            out,
            "[[workload]]\nkind = \"long-flows\"\npairs = [\"1 -> 0\"]\nstop = \"{stop}ps\""
        )
    } else {
        let size = frames * u64::from(run.encap.payload_max);
        writeln!(
            out,
            "[[workload]]\nkind = \"incast\"\nsenders = 1\nreceiver = 0\nsize = \"{size}B\""
        )
    };
    let mut write = |header: String, mut table: Table, without: &[&str]| {
        for key in without {
            table.remove(*key);
        }
        let _ = writeln!(out, "[{header}]\n{table}");
    };
    let name = scenario.name_of(lane);
    let kind = BTreeMap::from([("kind".to_owned(), toml::Value::String(name.to_owned()))]);
    write("transport".into(), kind.into_iter().collect(), &[]);
    if closely {
        let key = crate::schema::toml_key(name);
        let parameters = scenario.factory_of(lane).resolved();
        write(format!("transport.{key}"), parameters, &[]);
        write("switch".into(), scenario.switch.section.toml(), &[]);
        let (credit, mark, drop) = (&scenario.credit, &scenario.mark, &scenario.drop);
        for section in [&credit.section, &mark.section, &drop.section] {
            write(section.name().to_owned(), section.toml(), &[]);
        }
        if let Some(chosen) = &scenario.control {
            let key = crate::schema::toml_key(chosen.kind.name());
            write(format!("switch.{key}"), chosen.factory.resolved(), &[]);
        }
    }
    let mut table = scenario.run.section.toml();
    table.insert("until".into(), format!("{}ps", until.0).into());
    write(
        "run".into(),
        table,
        &["warmup", "window", "drain", "threads"],
    );
    let _ = writeln!(out, "[output]\nevery = \"0s\"");
    out
}
