//! What follows from a scenario before anything runs: figures of the network, of its ports and of its traffic.
//!
//! The last of them are estimates: packet-hops, from what every message takes alone and what lines have time for; seconds
//! of CPU; and memory ([`memory`]), from what is known of messages and lines by then.

use crate::assemble::Assembled;
use crate::diagnostic::Errors;
use crate::load::Load;
use crate::memory::{self, Known, Need};
use crate::resolve::Scenario;
use crate::settings::{Source, Workload};
use crate::traffic;
use crate::typed::Settings;
use crate::why::HOPS_KEPT_MAX;
use model::intent::{
    CreditCount, CreditSpec, DropBy, Limit, Memory, Over, PortSpec, QueueSpec, Share,
};
use results::human;
use std::collections::{BTreeMap, BTreeSet};
use topology::LinkId;
use transports::expresspass::bound;
use units::{Bytes, LineTime, Rate, Span};

/// Packet-hops per second of one thread on a machine like ours: the estimate of how long a run takes. [ours: `tidegate run
/// web-server`, `web-search`, `permutation`, `all-to-all` and `xpass-fat-tree` with `output.every=0s` under six transports,
/// release build, 2 vCPU AMD EPYC: hops of `summary.json` by seconds of CPU, 13 to 19 million]
const HOPS_PER_SECOND: f64 = 15e6;
/// Seconds for a look at one port, and for a sample that is kept and written; and for a moment of samples by itself. [ours:
/// the same runs with samples every 1 us and 20 us, and a star of 4 at 1 Kb/s with one every 5 us for 10 s: 0.12 s. Where hosts
/// are awake at each, a moment takes up to 2 us]
const PER_LOOK: f64 = 25e-9;
const PER_MOMENT: f64 = 0.1e-6;
const PER_SAMPLE: f64 = 500e-9;
/// Seconds to set up a link and to write what became of it, and the same of a message. [ours: `tidegate run` of two messages,
/// of a permutation of 3 KB and of Web Server, 50 us at load 0.5, over fat trees of k = 32, 48 and 74 under DCTCP and
/// ExpressPass, `output.every=0s`: 7 to 13 us for each link where nearly nothing is sent, and as much for each message]
const PER_LINK: f64 = 9e-6;
const PER_MESSAGE: f64 = 9e-6;
/// A network of so many links is in no cache, and a packet-hop takes three times as long there. [ours: the same runs]
const LINKS_AFAR: f64 = 50e3;
/// A credit that a host makes and drops takes as long as so many packet-hops. [ours: `tidegate fingerprint
/// xpass-fig17` with 3 tasks and 300 KB: 28 million of them and 24 million hops, 16 s of CPU]
pub(crate) const HOPS_PER_REFUSED: f64 = 4.0;
/// A packet-hop of switches with a flow control takes as long as so many without. [ours: `tidegate run
/// experiments/aquarius-fct/scenario.toml --set output.every=0s` under each, by CPU: 1.4 times under PFC, 1.6 under Aquarius,
/// 2.5 under ideal, 3.7 under CBFC and 4 under BFC]
const HOPS_PER_CONTROLLED: f64 = 2.5;

/// One derived value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value, with unit.
    pub value: String,
    /// It is something that ports of switches have to do, beyond a buffer.
    pub of_switch: bool,
}

fn figure(name: impl Into<String>, value: impl Into<String>) -> Figure {
    Figure {
        name: name.into(),
        value: value.into(),
        of_switch: false,
    }
}

/// The same of something that ports have to do.
fn duty(name: impl Into<String>, value: impl Into<String>) -> Figure {
    Figure {
        of_switch: true,
        ..figure(name, value)
    }
}

/// What the queues of the transports beside do at a port, each with the name of its transport.
fn legacy_queues(scenario: &Scenario, spec: &PortSpec) -> impl Iterator<Item = String> {
    let beside = spec.queues.iter().filter(|queue| queue.group > 0);
    beside.filter_map(|queue| {
        let Limit::Bytes(room) = queue.limit else {
            return None;
        };
        let mark = queue.mark.filter(|mark| mark.min < room);
        let mark = mark.map_or_else(String::new, |mark| {
            format!(", marked from {}", human::bytes(mark.min))
        });
        let (Share::Bytes(weight) | Share::Packets(weight)) = spec.shares[usize::from(queue.group)];
        Some(format!(
            "{}: weight {weight} against 100 of {}; {} may wait{mark}",
            scenario.name_of(queue.group), // a lane's queues are a group
            scenario.protocol.name(),
            human::bytes(room),
        ))
    })
}

/// What a port does that cuts the payload off what finds no room.
pub(crate) fn trimming(spec: &PortSpec) -> Option<String> {
    let cut = |queue: &QueueSpec| match queue.over {
        Over::Trim { to, bounce, .. } => Some((queue.limit, to, bounce)),
        Over::Drop | Over::PushOut => None,
    };
    let (limit, to, bounce) = spec.queues.iter().find_map(cut)?;
    let room = match limit {
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => human::bytes(bytes),
        Limit::Port | Limit::Credits | Limit::None => "the buffer".to_owned(),
    };
    let turns = spec.shares.iter().filter_map(|share| match share {
        Share::Packets(turns) => Some(*turns),
        Share::Bytes(_) => None,
    });
    let turns = turns.max().map_or_else(String::new, |turns| {
        format!("; {turns} heads go before one frame of data")
    });
    let back = if bounce {
        ", those without room back to their senders"
    } else {
        ""
    };
    Some(format!(
        "beyond {room} of data frames are cut to {to} B{turns}{back}"
    ))
}

impl Assembled {
    /// Every derived value, in the order of interest.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![
            figure("hosts", human::count(self.topology.hosts.into())),
            figure(
                "switches",
                human::count(self.topology.nodes.len() as u64 - u64::from(self.topology.hosts)),
            ),
            figure(
                "base RTT",
                format!(
                    "{} (propagation alone {})",
                    human::time(self.base_rtt),
                    human::time(self.propagation_rtt)
                ),
            ),
            figure(
                "BDP",
                format!(
                    "{} at {}",
                    human::bytes(self.bdp()),
                    human::rate(self.host_rate())
                ),
            ),
            figure(
                "frame",
                format!(
                    "{} B of payload in {} B on the wire",
                    self.encap.payload_max,
                    self.encap.wire_max()
                ),
            ),
        ];
        if let Some(names) = crate::words::numbering(&self.topology) {
            figures.insert(1, figure("host numbers", names));
        }
        figures.extend(self.port_figures());
        let said = self.control_figures.iter();
        figures.extend(said.map(|(name, value)| figure(name, value)));
        figures.extend(self.bound_figures());
        figures.extend(self.traffic_figures());
        figures
    }

    /// Packets over links that a run takes, about: what data and its answers cross, and credits in vain.
    pub fn hops(&self) -> u64 {
        self.load().hops
    }

    /// Seconds that a run takes on one thread of a machine like ours, about.
    pub fn seconds(&self) -> f64 {
        self.seconds_of(self.load())
    }

    /// Memory that a run takes, about.
    pub fn need(&self) -> Bytes {
        self.memory(self.load())
    }

    /// What its messages add up to.
    fn load(&self) -> &Load {
        self.load.get_or_init(|| Load::of(self))
    }

    /// What ports do, by rate: hosts' ports are the transport's own.
    fn port_figures(&self) -> Vec<Figure> {
        let mut by_rate: BTreeMap<Rate, &PortSpec> = BTreeMap::new();
        for (link, spec) in self.topology.links.iter().zip(&self.ports) {
            by_rate.insert(link.rate, spec);
        }
        let mut figures = Vec::new();
        for (rate, spec) in by_rate {
            let at = format!("at {}", human::rate(rate));
            let buffer = self.buffer(spec);
            figures.extend(buffer.map(|buffer| figure(format!("buffer {at}"), buffer)));
            figures.extend(trimming(spec).map(|said| duty(format!("trimming {at}"), said)));
            if let Some(credit) = spec.credit() {
                let (size, frame) = (u64::from(credit.size_mean), u64::from(credit.frame_max));
                let part = f64::from(credit.share) / f64::from(CreditSpec::WHOLE);
                let share = part * size as f64 / (size + frame) as f64;
                let gap = credit.period(LineTime::new(rate));
                figures.push(duty(
                    format!("credits {at}"),
                    format!(
                        "{} of the line, one per {}; {} may wait, {} leave back to back",
                        human::percent(share),
                        human::time(gap),
                        credit.queue_limit,
                        credit.bucket
                    ),
                ));
            }
            if let Some(mark) = spec.data().and_then(|data| data.mark) {
                let band = if mark.min == mark.max {
                    format!("from {}", human::bytes(mark.min))
                } else {
                    format!("{} to {}", human::bytes(mark.min), human::bytes(mark.max))
                };
                figures.push(duty(format!("marking {at}"), band));
            }
            if let Some(drop) = spec.data().and_then(|data| data.drop) {
                figures.push(duty(
                    format!("selective drop {at}"),
                    format!(
                        "{} from {}, by {}",
                        drop.victim.name(),
                        human::bytes(drop.threshold),
                        match drop.by {
                            DropBy::Class => "colour (WRED)",
                            DropBy::Ecn => "ECN bits (RED)",
                        }
                    ),
                ));
            }
            let mut queues: Vec<String> = legacy_queues(&self.scenario, spec).collect();
            queues.dedup(); // those of one transport's priorities
            let figure = |said| duty(format!("legacy queue {at}"), said);
            figures.extend(queues.into_iter().map(figure));
        }
        figures
    }

    /// What a port has room for, where it drops what finds none.
    pub(crate) fn buffer(&self, spec: &PortSpec) -> Option<String> {
        match crate::network::switch(&self.scenario.switch).memory {
            Memory::Shared { size, alpha } => Some(format!(
                "{} shared by a switch, alpha {alpha}",
                human::bytes(size)
            )),
            Memory::PerPort => spec
                .data()
                .map(|_| format!("{} per port", human::bytes(spec.buffer))),
        }
    }

    /// `switch.buffer`, where something in a port of a switch is limited by it, and every port has as much.
    pub fn buffer_read(&self) -> Option<Bytes> {
        let room = *self.scenario.switch.buffer;
        let reads = crate::warnings::reads_buffer(&self.topology, &self.ports);
        (reads && room.per.is_none()).then_some(room.bytes)
    }

    /// How much credited data can wait in each kind of port of a switch.
    fn bound_figures(&self) -> Vec<Figure> {
        let Some(bounds) = self.queue_bounds() else {
            return Vec::new();
        };
        let mut kinds = BTreeMap::new();
        for (link, &bytes) in self.topology.links.iter().zip(&bounds) {
            let tier = |id| usize::from(self.topology.node(id).tier).min(3);
            let (from, to) = (tier(link.from), tier(link.to));
            if from > 0 {
                let most = kinds.entry((to >= from, to, from)).or_insert(bytes);
                *most = bytes.max(*most);
            }
        }
        let names = ["host", "ToR", "aggregation", "core"];
        let figures = kinds.into_iter().map(|((_, to, from), bytes)| {
            let more = format!(
                "{} B per flow that opens or stops at once",
                self.encap.frame_min
            );
            figure(
                format!("queue bound {} -> {}", names[from], names[to]),
                format!("{} + {more}", human::bytes(bytes)),
            )
        });
        figures.collect()
    }

    /// The network-calculus bound of every link's port, where the transport paces with credits
    /// that count as one token each, is alone, and paths lead up, then down.
    pub fn queue_bounds(&self) -> Option<Vec<Bytes>> {
        if !self.scenario.beside.is_empty() || self.scenario.control.is_some() {
            return None; // others' frames come in between, and pauses keep what credits have released
        }
        let pacing = self.scenario.factory.pacing()?;
        let (host_delay_least, host_delay_most) = pacing.host_delay;
        let credit = *self.ports.first()?.credit()?;
        if credit.count != CreditCount::Credits {
            return None;
        }
        let rules = bound::Rules {
            host_delay_least,
            host_delay_most,
            credit_size_min: pacing.credit_size_min,
            credit_size_mean: credit.size_mean,
            frame_max: credit.frame_max,
            bucket: credit.bucket + pacing.held,
        };
        let lines: Option<Vec<_>> = (0..self.topology.links.len())
            .map(|link| self.line(link))
            .collect();
        let tiers: Vec<u8> = self.topology.nodes.iter().map(|node| node.tier).collect();
        let bounds = bound::port_bounds(&rules, &tiers, &lines?)?;
        Some(bounds.into_iter().map(|port| port.bytes).collect())
    }

    /// Where credited data may need more than a port's buffer holds.
    pub fn bound_warning(&self) -> Option<String> {
        if self.scenario.switch.shared_buffer.is_some() {
            return None;
        }
        let bounds = self.queue_bounds()?;
        let links = self.topology.links.iter().zip(&self.ports).zip(bounds);
        let beyond =
            |&((link, port), bound): &((&topology::Link, &std::sync::Arc<PortSpec>), Bytes)| {
                self.topology.node(link.from).tier > 0 && bound > port.buffer
            };
        let ((link, port), bound) = links.filter(beyond).max_by_key(|&(_, bound)| bound)?;
        let name = |id| &self.topology.node(id).name;
        Some(format!(
            "credited data may need {} at {} -> {}, whose buffer holds {}: it may be lost there; set switch.buffer = \"{}\" or more",
            human::bytes(bound),
            name(link.from),
            name(link.to),
            human::bytes(port.buffer),
            human::bytes(bound).replace(' ', ""),
        ))
    }

    /// The port of `link`.
    fn line(&self, link: usize) -> Option<bound::Line> {
        let (here, back) = (self.topology.links[link], self.topology.links[link ^ 1]);
        let credit_queue = self.ports[link].credit()?.queue_limit;
        Some(bound::Line {
            link: bound::Link {
                rate: here.rate,
                // The recursion takes both directions as equal; only their sum matters.
                propagation: Span((here.delay + back.delay).0.div_ceil(2)),
                credit_queue,
            },
            from: here.from.0,
            to: here.to.0,
        })
    }

    fn traffic_figures(&self) -> Vec<Figure> {
        let load = self.load();
        let mut figures = vec![
            figure("messages", human::count(self.traffic.messages.len() as u64)),
            figure("bytes", load.bytes()),
        ];
        let cuts = self.scenario.workloads.iter().filter_map(cut);
        figures.extend(cuts.map(|(name, told)| figure(format!("{name} cut"), told)));
        if load.span > Span::ZERO {
            let share = |wire: u64, capacity: Rate| {
                let could = capacity.bytes_in(load.span).0;
                if could == 0 {
                    0.0
                } else {
                    wire as f64 / could as f64
                }
            };
            figures.push(figure(
                "offered load",
                format!(
                    "{} of the hosts' links, {} of the uplinks, over {}",
                    human::percent(share(load.wire, self.topology.host_rate())),
                    human::percent(share(load.crossing, self.topology.uplink_rate())),
                    human::time(load.span)
                ),
            ));
        }
        figures.push(figure(
            "packet-hops",
            format!("about {}", human::count(load.hops)),
        ));
        let seconds = self.seconds_of(load);
        figures.push(figure(
            "time to run",
            if seconds < 0.01 {
                "below 0.01 s on one thread".to_owned()
            } else {
                format!("about {} s on one thread", human::ratio(seconds))
            },
        ));
        figures.push(figure(
            "memory",
            format!("about {}", human::bytes(self.memory(load))),
        ));
        figures
    }
}

/// What `largest` cuts off a distribution, where it is written: its name, and how much.
pub(crate) fn cut(source: &Settings<Workload>) -> Option<(String, String)> {
    let Source::Random(of) = &source.kind else {
        return None;
    };
    let largest = of.largest?;
    let (whole, cut) = (
        traffic::uncut(&source.section, of).ok()?,
        traffic::distribution(&source.section, of).ok()?,
    );
    let messages = 1.0 - whole.share_at_most(largest.0);
    let told = if messages > 0.0 {
        let bytes = 1.0 - cut.mean() / whole.mean();
        format!(
            "{} of the messages, to {}; their ends are {} of the bytes",
            human::percent(messages),
            human::bytes(largest),
            human::percent(bytes)
        )
    } else {
        format!("none, no message is above {}", human::bytes(largest))
    };
    Some((of.sizes.name.clone(), told))
}

impl Assembled {
    /// Moments of samples, looks at single ports, and samples of them that are kept.
    fn samples(&self, load: &Load) -> (u64, u64, u64) {
        let every = self.probes.every.unwrap_or_default();
        let sampled = self.sampled();
        let moments = load.lasts.0.checked_div(every.0).unwrap_or(0);
        let passed = sampled.iter().map(|link| load.seen[link.index()]);
        let most = self.moments_max(sampled.len() as u64, load.hops) * sampled.len() as u64;
        let kept = memory::samples(passed, load.lasts, every, most);
        let kept = load
            .news
            .unwrap_or(kept)
            .min(self.news_max(sampled.len() as u64, load.hops));
        // Where there are too many, every second moment is looked at no more, again and again.
        let mut looks = moments.saturating_mul(sampled.len() as u64);
        let mut thinned = 0;
        while looks > most {
            looks /= 2;
            thinned += most / 2;
        }
        (moments, looks + thinned, kept)
    }

    /// The links whose ports are sampled.
    pub(crate) fn sampled(&self) -> Vec<LinkId> {
        let of_switches =
            |link: &LinkId| self.topology.node(self.topology.link(*link).from).tier > 0;
        match &self.probes.links[..] {
            [] => (0..)
                .map(LinkId)
                .take(self.topology.links.len())
                .filter(of_switches)
                .collect(),
            chosen => chosen.to_vec(),
        }
    }

    /// Connections that hosts know at once for what comes late, each two thirds of one under way. [ours: 250,000 and 600,000
    /// of them under SSP and Aeolus]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a count"
    )]
    fn remembered(&self, load: &Load) -> u64 {
        let share = |lane: u8| {
            let known = self.scenario.factory_of(lane).remembers();
            (known.0 as f64 / load.lasts.0.max(1) as f64).min(1.0)
        };
        let shares: Vec<f64> = (0..=u8::MAX)
            .take(self.transports().len())
            .map(share)
            .collect();
        let conns = (0..).zip(&self.traffic.conns);
        let known = conns.filter(|(_, conn)| conn.one_shot);
        let places: f64 = known.map(|(number, _)| shares[self.lane(number)]).sum();
        (places * 2.0 / 3.0) as u64
    }

    /// Messages under way, those twice that both ends keep from their beginning on.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a count"
    )]
    fn both_ends(&self, open: u64) -> u64 {
        let twice = |lane: u8| self.scenario.factory_of(lane).announces();
        let lanes = 0..=u8::MAX;
        let lanes: Vec<bool> = lanes.take(self.transports().len()).map(twice).collect();
        let messages = self.traffic.messages.iter();
        let twice = messages.filter(|message| lanes[self.lane(message.conn)]);
        let share = twice.count() as f64 / self.traffic.messages.len().max(1) as f64;
        (open as f64 * (1.0 + share)) as u64
    }

    /// Seconds that the run takes, with its set-up and its tables.
    fn seconds_of(&self, load: &Load) -> f64 {
        let (moments, looks, kept) = self.samples(load);
        let each = match self.scenario.control {
            Some(_) => HOPS_PER_CONTROLLED,
            None => 1.0,
        };
        let hops = each * load.hops as f64 + HOPS_PER_REFUSED * load.refused as f64;
        let links = self.topology.links.len() as f64;
        let set_up = links * PER_LINK + self.traffic.messages.len() as f64 * PER_MESSAGE;
        let slower = 1.0 + 2.0 * (links / LINKS_AFAR).min(1.0);
        set_up
            + hops / HOPS_PER_SECOND * slower
            + moments as f64 * PER_MOMENT
            + looks as f64 * PER_LOOK
            + kept as f64 * PER_SAMPLE
    }

    /// Refuses a run that takes more memory than it may.
    ///
    /// # Errors
    /// How much it takes, and what most of it is for.
    pub(crate) fn fits(&self) -> Result<(), Errors> {
        Ok(self
            .scenario
            .has_room(self.holds(self.load()), Known::Whole)?)
    }

    /// The most that it may turn out to take.
    pub(crate) fn at_most(&self) -> Bytes {
        let need = Need {
            hosts: self.topology.hosts.into(),
            links: self.topology.links.len() as u64,
            routes: self.routes.entries(),
            messages: self.traffic.messages.len() as u64,
            tags: self.traffic.tags.len() as u64,
            ..Need::default()
        };
        need.at_most(&self.scenario).bytes()
    }

    /// Memory that the run takes.
    pub(crate) fn memory(&self, load: &Load) -> Bytes {
        self.holds(load).bytes()
    }

    /// What the run holds.
    fn holds(&self, load: &Load) -> Need {
        let ends = self.traffic.conns.iter().flat_map(|conn| [conn.a, conn.b]);
        // A run looks at no beginning of itself: it notes its packets where the sum over messages is short.
        let noted = if self.keeps_events(load.summed) {
            load.hops
        } else {
            0
        };
        Need {
            hosts: self.topology.hosts.into(),
            busy: ends.collect::<BTreeSet<u32>>().len() as u64,
            open: self.both_ends(load.open).max(self.remembered(load)),
            links: self.topology.links.len() as u64,
            ports: self.of_ports(load),
            routes: self.routes.entries(),
            messages: self.traffic.messages.len() as u64,
            tags: self.traffic.tags.len() as u64,
            rows: load
                .news_most
                .min(self.news_max(self.sampled().len() as u64, load.hops))
                .max(self.samples(load).2),
            samples: self.samples(load).2,
            events: if noted <= HOPS_KEPT_MAX { noted } else { 0 },
            explained: self.explained_again(load.hops),
            noted: if noted > HOPS_KEPT_MAX {
                HOPS_KEPT_MAX
            } else {
                0
            },
        }
    }

    /// Bytes of ports that see a packet, beyond what every one holds.
    fn of_ports(&self, load: &Load) -> u64 {
        let seen = self
            .ports
            .iter()
            .zip(&load.seen)
            .filter(|(_, seen)| **seen > 0);
        let controlled = self.scenario.control.is_some();
        let bytes = seen.map(|(port, _)| memory::of_port(port, controlled));
        bytes.fold(0, u64::saturating_add)
    }
}
