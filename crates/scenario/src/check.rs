//! What follows from a scenario before anything runs.

use crate::assemble::Assembled;
use model::intent::PortSpec;
use results::human;
use std::collections::BTreeMap;
use units::{Bytes, Rate, Span, Time};
use workload::Start;

/// Packet-hops per second of one thread on a machine like ours: the estimate of how long a run
/// takes. [ours: `tidegate bench`, ExpressPass on 128 hosts, 2 vCPU AMD EPYC, about 3.5 GHz]
pub const HOPS_PER_SECOND: f64 = 10e6;
/// Memory of one host with its share of the switches. [ours: `tidegate bench`, 1024 hosts]
const MEMORY_PER_HOST: u64 = 40 << 10;
/// Memory of one message: in the traffic, in the simulator's book and in the results.
const MEMORY_PER_MESSAGE: u64 = 400;

/// One derived value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value, with unit.
    pub value: String,
}

fn figure(name: impl Into<String>, value: impl Into<String>) -> Figure {
    Figure {
        name: name.into(),
        value: value.into(),
    }
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
        figures.extend(self.port_figures());
        figures.extend(self.traffic_figures());
        figures
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
            figures.push(figure(
                format!("buffer {at}"),
                match crate::network::shared_buffer(&self.scenario.switch) {
                    Some(shared) => format!(
                        "{} shared by a switch, alpha {}",
                        human::bytes(shared.size),
                        shared.alpha
                    ),
                    None => format!("{} per port", human::bytes(spec.buffer)),
                },
            ));
            if let Some(credit) = &spec.credit {
                let (size, frame) = (u64::from(credit.size_mean), u64::from(credit.frame_max));
                let share = size as f64 / (size + frame) as f64;
                let gap = rate.serialize(Bytes(size + frame));
                figures.push(figure(
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
            if let Some(mark) = &spec.mark {
                let band = if mark.min == mark.max {
                    format!("from {}", human::bytes(mark.min))
                } else {
                    format!("{} to {}", human::bytes(mark.min), human::bytes(mark.max))
                };
                figures.push(figure(format!("marking {at}"), band));
            }
            if let Some(drop) = &spec.drop {
                figures.push(figure(
                    format!("selective drop {at}"),
                    format!(
                        "{} from {}",
                        drop.victim.name(),
                        human::bytes(drop.threshold)
                    ),
                ));
            }
        }
        figures
    }

    fn traffic_figures(&self) -> Vec<Figure> {
        let load = Load::of(self);
        let mut figures = vec![
            figure("messages", human::count(self.traffic.messages.len() as u64)),
            figure(
                "bytes",
                format!(
                    "{} ({} on the wire)",
                    human::bytes(Bytes(load.payload)),
                    human::bytes(Bytes(load.wire))
                ),
            ),
        ];
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
        let seconds = load.hops as f64 / HOPS_PER_SECOND;
        figures.push(figure(
            "time to run",
            format!("about {} s on one thread", human::ratio(seconds)),
        ));
        let memory = u64::from(self.topology.hosts) * MEMORY_PER_HOST
            + self.traffic.messages.len() as u64 * MEMORY_PER_MESSAGE;
        figures.push(figure(
            "memory",
            format!("about {}", human::bytes(Bytes(memory))),
        ));
        figures
    }
}

/// What the messages add up to.
#[derive(Clone, Copy, Default)]
struct Load {
    payload: u64,
    wire: u64,
    /// Wire bytes that cross an uplink.
    crossing: u64,
    /// Data frames and as many packets the other way, times links.
    hops: u64,
    /// From the first start to the last.
    span: Span,
}

impl Load {
    fn of(run: &Assembled) -> Self {
        let mut load = Self::default();
        let (mut first, mut last) = (Time::NEVER, Time::ZERO);
        let until = run.until();
        for message in &run.traffic.messages {
            let conn = &run.traffic.conns[message.conn as usize];
            let path = topology::path(&run.topology, &run.routes, conn.a, conn.b, message.conn);
            let size = sendable(run, message, until);
            let (frames, wire) = (run.encap.frames(size), run.encap.wire_total(size));
            load.payload = load.payload.saturating_add(size);
            load.wire = load.wire.saturating_add(wire);
            if path.len() > 2 {
                load.crossing = load.crossing.saturating_add(wire);
            }
            load.hops = load
                .hops
                .saturating_add(2 * frames.saturating_mul(path.len() as u64));
            if let Start::At(at) = message.start {
                first = first.min(at);
                last = last.max(at);
            }
        }
        load.span = last.since(first);
        load
    }
}

/// Bytes of a message that its sender's line can carry before the message or the run stops.
fn sendable(run: &Assembled, message: &workload::Message, until: Time) -> u64 {
    let Start::At(start) = message.start else {
        return message.size;
    };
    let end = message.stop.unwrap_or(until).min(until);
    let line = run.host_rate().bytes_in(end.since(start)).0;
    let share =
        u128::from(run.encap.payload_max) * u128::from(line) / u128::from(run.encap.wire_max());
    message.size.min(u64::try_from(share).unwrap_or(u64::MAX))
}
