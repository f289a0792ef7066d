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

/// Frames of the messages that are tried: each four times as many. What lies between is between; what is longer goes on
/// as from the last but one to the last. [ours]
const TRIED: [u64; 7] = [1, 4, 16, 64, 256, 1024, 4096];
/// A message that takes longer than this many round trips and lines for itself is not waited for. [ours]
const PATIENCE: u64 = 64;
/// Hosts that are farther apart are not tried: windows of the simulator are as long as links. [ours]
const FAR: Span = Span::ms(1000);

/// Packets over each link of the way, by frames: of messages that are sent whole, and of those that stop.
#[derive(Default)]
pub(crate) struct Lone {
    whole: Vec<(u64, f64)>,
    timed: Vec<(u64, f64)>,
}

impl Lone {
    /// By transport of `run`, whose messages have so many frames.
    pub(crate) fn all(run: &Assembled, frames: &[u64]) -> Vec<Self> {
        let lanes = 1 + run.scenario.beside.len();
        let mut most = vec![[0; 2]; lanes];
        for (message, &frames) in run.traffic.messages.iter().zip(frames) {
            let most = &mut most[run.lane(message.conn)][usize::from(is_timed(message))];
            *most = frames.max(*most);
        }
        let of = |(lane, [whole, timed]): (u8, [u64; 2])| Self {
            whole: measured(run, lane, whole, false),
            timed: measured(run, lane, timed, true),
        };
        (0..).zip(most).map(of).collect()
    }

    /// Packets over each link, of a message of `frames`: so many that its line carries until it stops, where it is timed.
    pub(crate) fn packets(&self, frames: u64, timed: bool) -> f64 {
        let known = if timed { &self.timed } else { &self.whole };
        let at = known.partition_point(|&(tried, _)| tried < frames);
        let (low, high) = match known[..] {
            [] => return 2.0 * frames as f64,
            [only] => ((0, 0.0), only),
            _ => {
                let at = at.clamp(1, known.len() - 1);
                (known[at - 1], known[at])
            }
        };
        if frames <= known[0].0 {
            return known[0].1;
        }
        let each = (high.1 - low.1) / (high.0 - low.0) as f64;
        (high.1 + each * (frames as f64 - high.0 as f64)).max(0.0)
    }
}

/// Packets over each link by frames, up to the first that has at least `most`; none where nothing is sent.
fn measured(run: &Assembled, lane: u8, most: u64, timed: bool) -> Vec<(u64, f64)> {
    let enough = TRIED.iter().position(|&tried| tried >= most);
    let tried = &TRIED[..enough.map_or(TRIED.len(), |last| last + 1)];
    if most == 0 || run.base_rtt > FAR {
        return Vec::new();
    }
    // What the scenario says of ports and parameters may mean nothing here: another transport's marks, a host that is not there.
    let all = |closely| {
        let tried = tried.iter();
        tried
            .map(|&frames| Some((frames, packets(run, lane, frames, timed, closely)?)))
            .collect::<Option<_>>()
    };
    all(true).or_else(|| all(false)).unwrap_or_default()
}

/// Packets over each of the two links, of one message; none where such a run cannot be made.
fn packets(run: &Assembled, lane: u8, frames: u64, timed: bool, closely: bool) -> Option<f64> {
    let registry = [run.scenario.protocol]
        .into_iter()
        .chain(run.scenario.beside.iter().map(|beside| beside.protocol))
        .nth(lane.into())
        .map(|protocol| Registry::new(&[protocol]))?;
    let registry = match &run.scenario.control {
        Some(chosen) if closely => registry.with_control(chosen.kind),
        _ => registry,
    };
    let text = text(run, lane, frames, timed, closely);
    let lone = load_text_with(&registry, "lone", &text, &[]).ok()?;
    let lone = lone.assemble().ok()?;
    let make = |config: &EndpointConfig| lone.endpoint(config);
    let outcome = sim::run(&lone.setup(&make, 1), &mut Blind).ok()?;
    Some(outcome.hops as f64 / 2.0)
}

/// The scenario of one message.
fn text(run: &Assembled, lane: u8, frames: u64, timed: bool, closely: bool) -> String {
    let scenario = &run.scenario;
    let line = run
        .host_rate()
        .serialize(Bytes(run.encap.wire_max().into()));
    let lasts = line.times(frames);
    let mut out = format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nhost_rate = \"{}bps\"\nhost_delay = \"{}ps\"\n",
        run.host_rate().0,
        run.propagation_rtt.0 / 4,
    );
    let _ = if timed {
        let stop = lasts.0;
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
        write("switch".into(), scenario.switch.toml(), &[]);
        for section in [&scenario.credit, &scenario.mark, &scenario.drop] {
            write(section.name().to_owned(), section.toml(), &[]);
        }
        if let Some(chosen) = &scenario.control {
            let key = crate::schema::toml_key(chosen.kind.name());
            write(format!("switch.{key}"), chosen.factory.resolved(), &[]);
        }
    }
    let until = Span((run.base_rtt.0 + lasts.0).saturating_mul(PATIENCE));
    let mut table = scenario.run.toml();
    table.insert("until".into(), format!("{}ps", until.0).into());
    write(
        "run".into(),
        table,
        &["warmup", "window", "drain", "threads"],
    );
    let _ = writeln!(out, "[output]\nevery = \"0s\"");
    out
}
