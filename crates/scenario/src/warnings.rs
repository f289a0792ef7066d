//! What a user should know before trusting the numbers of a run.
//!
//! `all` asks for them in the order in which they are said: of queues that transports share, priorities and paths (`odd`), of
//! keys that nothing reads, of buffers and crowds, and last of times and windows of transports.

use crate::ahead::times;
use crate::assemble::Assembled;
use crate::beside::Written;
use crate::choice::BalanceOf;
use crate::control::{Controlled, Controls};
use crate::facts::Fabric;
use crate::network::legacy::Legacy;
use crate::resolve::Scenario;
use crate::schema::parameter;
use crate::settings::{self, FaultKind, Shape};
use crate::tree;
use crate::typed::{Chosen, Settings};
use model::intent::{DropMeasure, Limit, PortSpec, QueueSpec};
use model::{Class, Encap, EndpointConfig, HostId, Net as _};
use results::human;
use std::collections::BTreeMap;
use std::sync::Arc;
use topology::{Link, NodeId, Routes, Topology};
use transports::{Crowd, Factory, Protected, Transport};
use units::{Bytes, Rate, Span, Time};
use workload::{Start, Traffic};

/// Pairs of hosts whose two directions are compared. [ours: each takes about a microsecond]
const SYMMETRY_SAMPLES: u32 = 10_000;

/// All that a user should know of a scenario before it runs, a sentence each.
pub(crate) fn all(
    scenario: &Scenario,
    fabric: Fabric<'_>,
    (ports, traffic): (&[Arc<PortSpec>], &Traffic),
    legacy: Option<Legacy>,
    controls: Option<&Controls>,
) -> Vec<String> {
    let (topology, routes, encap) = (fabric.topology, fabric.routes, fabric.encap);
    let (_, base_rtt, _) = fabric.round_trips;
    let slowest = host_rates(topology).min().unwrap_or_default();
    let fastest = host_rates(topology).max().unwrap_or_default();
    let priorities = scenario.factory.fabric(fastest, encap).priorities;
    let mut all = odd(scenario, legacy, topology, routes);
    all.extend(controls.and_then(|of| of.warns(topology, priorities)));
    all.extend(data_queues(scenario));
    all.extend(too_far(routes));
    all.extend(unread(scenario));
    all.extend(buffers(scenario, topology, ports, encap));
    all.extend(thresholds(scenario, topology, ports));
    all.extend(unrepaired(scenario, topology, ports, traffic, encap));
    all.extend(crowds(scenario, topology, ports, traffic, encap));
    all.extend(protected(scenario, fabric, ports, traffic, base_rtt));
    all.extend(waits(scenario, base_rtt));
    all.extend(impatience(scenario, slowest, base_rtt));
    all.extend(parameters(scenario));
    all.extend(windows(scenario, base_rtt, fastest, (traffic, encap)));
    all
}

/// Rates of the links of hosts.
pub(crate) fn host_rates(topology: &Topology) -> impl Iterator<Item = Rate> {
    let of_hosts = topology.links.iter().filter(|l| topology.is_host(l.from));
    of_hosts.map(|link| link.rate)
}

/// What is odd about a scenario itself.
fn odd(
    scenario: &Scenario,
    legacy: Option<Legacy>,
    topology: &Topology,
    routes: &Routes,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let fabric = scenario.factory.fabric(Rate::gbps(100), scenario.encap);
    let credits = fabric.credit.is_some();
    // Other fabrics are built so that ways mirror each other.
    if credits
        && matches!(scenario.topology.kind, Shape::File(_))
        && let Some(asymmetric) = topology::check_symmetry(topology, routes, SYMMETRY_SAMPLES)
    {
        warnings.push(format!(
            "credits and data take different ways ({asymmetric:?}): queues may grow beyond their \
             bound; set topology.order = \"neighbour\""
        ));
    }
    if let Some(beside) = scenario.beside.first()
        && credits
        // A flow control drops nothing, and may have no queue for each of several transports.
        && scenario.control.is_none()
        && !legacy.is_some_and(|legacy| legacy.own)
    {
        warnings.push(format!(
            "{} shares the queues of credited data, which may be lost then; set switch.legacy.queue = \
             \"own\"",
            beside.protocol.name()
        ));
    }
    warnings.extend(routes.has_choice().then(|| cables(scenario)).flatten());
    let spreads = scenario.switch.balance != BalanceOf::Flow && routes.has_choice();
    warnings.extend(scenario.factory.warns(spreads));
    warnings.extend(priorities(scenario));
    if credits && spreads {
        warnings.push(
            "packets are spread over all paths, and credits keep to one: data goes another way than its credits, where \
             queues may grow beyond their bound, and what is overtaken may count as lost and leave again; set \
             switch.balance = \"flow\""
                .to_owned(),
        );
    }
    warnings
}

/// The run's own transport, and those beside it.
pub(crate) fn transports(
    scenario: &Scenario,
) -> impl Iterator<Item = (&dyn Transport, &dyn Factory)> {
    let beside = scenario.beside.iter().map(|of| (of.protocol, &*of.factory));
    std::iter::once((scenario.protocol, &*scenario.factory)).chain(beside)
}

/// A cable fails that a transport counts on.
fn cables(scenario: &Scenario) -> Option<String> {
    let down = |fault: &Settings<settings::Fault>| matches!(fault.kind, FaultKind::Down { .. });
    let down = scenario.faults.iter().any(down);
    let (protocol, _) =
        transports(scenario).find(|(_, factory)| down && factory.counts_on_cables())?;
    Some(format!(
        "{} gives away the lines of all cables, also of those that [[faults]] takes down: what was to take them waits for \
         others, and may leave again; a topology file without the cable shows {0} without that",
        protocol.name()
    ))
}

/// `switch.priorities` is not what the run's own transport asks for; queues of those beside have what these ask for.
fn priorities(scenario: &Scenario) -> Option<String> {
    let given = scenario.switch.priorities?;
    let name = scenario.protocol.name();
    // No rate makes more of them.
    let fabric = scenario.factory.fabric(Rate::gbps(10), scenario.encap);
    let asks = fabric.priorities.max(1);
    if asks < given {
        let beside = match scenario.beside.is_empty() {
            true => "",
            false => ", and ports give those beside it what they ask for",
        };
        let sends = human::plural(asks.into(), "priority", "priorities");
        return Some(format!(
            "switch.priorities = {given} changes nothing: {name} sends at {sends}{beside}; leave it out"
        ));
    }
    let takes = |control: &Controlled| {
        let port = fabric.port(scenario.switch.buffer.at(Rate::gbps(10)));
        control.factory.port(port).is_ok()
    };
    let more = match scenario.control.as_ref().is_none_or(takes) {
        true => format!("; set switch.priorities = {asks}, or leave it out"),
        false => String::new(), // the flow control has one queue of data alone
    };
    (asks > given).then(|| {
        format!("switch.priorities = {given}, and {name} asks for {asks}: what is to go first waits behind the rest{more}")
    })
}

/// Transports that take a silence for a loss before an answer can be there.
fn waits(scenario: &Scenario, round_trip: Span) -> Vec<String> {
    let warning = |(protocol, factory): (&dyn Transport, &dyn Factory)| {
        let (key, wait) = factory
            .first_wait()
            .filter(|&(_, wait)| wait <= round_trip)?;
        Some(format!(
            "an idle round trip takes {round_trip}, and {} is {wait}: what is on its way counts as lost, and leaves again; \
             set it to \"{}\" or more",
            parameter(protocol.name(), key),
            round_trip.times(2)
        ))
    };
    transports(scenario).filter_map(warning).collect()
}

/// Transports that have fewer frames of a message under way than fit a host's line for a round trip, where some message has
/// more.
fn windows(
    scenario: &Scenario,
    round_trip: Span,
    fastest: Rate,
    (traffic, encap): (&Traffic, Encap),
) -> Vec<String> {
    let frame = u64::from(encap.wire_max());
    let longest = traffic.messages.iter().map(|message| message.size).max();
    let longest = longest
        .unwrap_or(0)
        .div_ceil(u64::from(encap.payload_max.max(1)));
    let line = fastest.bytes_in(round_trip).get() / frame;
    let warning = |(protocol, factory): (&dyn Transport, &dyn Factory)| {
        let (most, key) = factory
            .window_max(encap)
            .filter(|(most, _)| line.min(longest) > u64::from(*most))?;
        let name = protocol.name();
        let cure = key.map_or("run.mtu".to_owned(), |key| parameter(name, key));
        Some(format!(
            "a line of {fastest} holds {line} frames for an idle round trip of {round_trip}, and {name} has {most} of a message \
             under way at most: one message fills {}% of it; set a larger {cure}",
            100 * u64::from(most) / line
        ))
    };
    transports(scenario).filter_map(warning).collect()
}

/// Transports that give up sooner than full queues before the slowest host drain.
fn impatience(scenario: &Scenario, slowest: Rate, base_rtt: Span) -> Vec<String> {
    let config = EndpointConfig::new(HostId(0), slowest, scenario.encap)
        .with(|told| told.base_rtt = base_rtt);
    let warning = |(protocol, factory): (&dyn Transport, &dyn Factory)| {
        let of = factory.impatience(&config)?;
        Some(format!(
            "full ports of {slowest} take {} to drain, and {} is {}: who only waits there may count as lost, and be given \
             up; set it to \"{}s\" or more",
            human::time(of.drain),
            parameter(protocol.name(), of.key),
            of.wait,
            of.least.0.div_ceil(Span::ms(1000).0)
        ))
    };
    transports(scenario).filter_map(warning).collect()
}

/// Parameters that somebody chose, and that others of their transport leave without effect.
fn parameters(scenario: &Scenario) -> Vec<String> {
    let written = std::iter::once(&scenario.written);
    let written = written.chain(scenario.beside.iter().map(|of| &of.written));
    let warning = |((protocol, factory), written): ((&dyn Transport, &dyn Factory), &Written)| {
        let own = factory.resolved();
        let mut profile = own.clone();
        profile.retain(|key, _| key == "profile");
        let usual = protocol.configure(&profile).ok()?.resolved();
        let chosen = |key: &&&str| written.at(key).is_some() && own.get(**key) != usual.get(**key);
        let found = factory.unread().into_iter().filter_map(|(cause, keys)| {
            let keys: Vec<&str> = keys.iter().filter(chosen).copied().collect();
            (!keys.is_empty()).then(|| format!("{} with {cause}", keys.join(" and ")))
        });
        let found: Vec<String> = found.collect();
        let name = protocol.name();
        (!found.is_empty()).then(|| format!("transport.{name} does not read {}", found.join(", ")))
    };
    transports(scenario)
        .zip(written)
        .filter_map(warning)
        .collect()
}

/// Whether a queue of a switch has what the port's buffer has room for.
pub(crate) fn reads_buffer(topology: &Topology, ports: &[Arc<PortSpec>]) -> bool {
    let mut all = topology.links.iter().zip(ports);
    all.any(|(link, port)| !topology.is_host(link.from) && port.data().is_some())
}

/// Whether a value was chosen: a resolved scenario writes defaults, too.
fn chosen<T>(value: &Chosen<T>) -> bool {
    value.is_given && !value.is_default
}

/// What is odd about the memory of switches: a buffer that is not read, or a queue that no full frame fits into.
fn buffers(
    scenario: &Scenario,
    topology: &Topology,
    ports: &[Arc<PortSpec>],
    encap: Encap,
) -> Option<String> {
    let switch = &scenario.switch;
    let full = Bytes(encap.wire_max().into());
    if let Some(whole) = *switch.shared_buffer {
        let part = switch.shared_alpha.min(1.0);
        if part * (whole.get() as f64) < full.get() as f64 {
            return Some(format!(
                "no full frame of {full} fits into what a port may hold of the switch's memory, {part} times {whole}; set \
                 switch.shared_buffer, or a greater switch.shared_alpha"
            ));
        }
    }
    small(scenario, topology, ports, full).or_else(|| unread_buffer(scenario, topology, ports))
}

/// `switch.buffer` is set, and nothing has its room.
fn unread_buffer(
    scenario: &Scenario,
    topology: &Topology,
    ports: &[Arc<PortSpec>],
) -> Option<String> {
    let switch = &scenario.switch;
    let why = if switch.shared_buffer.is_some() {
        let why = "the ports of a switch share a memory, which switch.shared_buffer sets";
        (!switch.host_queue).then_some(why)
    } else {
        let legacy = Legacy::of(scenario).ok().flatten();
        let reads = legacy.is_some_and(|legacy| legacy.own) && scenario.legacy.buffer.is_none();
        let why = "every queue of these ports has a limit of its own, which the transport sets";
        (!reads && !reads_buffer(topology, ports)).then_some(why)
    };
    let why = why.filter(|_| chosen(&switch.buffer))?;
    Some(format!("switch.buffer is not read, because {why}"))
}

/// Bytes that may wait in a queue of `port`, where bytes are its limit and are its own or the port's.
fn room(scenario: &Scenario, port: &PortSpec, queue: &QueueSpec) -> Option<Bytes> {
    match queue.limit {
        Limit::Port => Some(port.buffer).filter(|_| scenario.switch.shared_buffer.is_none()),
        Limit::Bytes(room) => Some(room),
        Limit::Packets(_) | Limit::Credits | Limit::None => None,
    }
}

/// Whether frames with payload join the queue at `place` of a port.
fn takes_data(port: &PortSpec, place: usize) -> bool {
    let joins = |lane, class, priority| port.queue_of(lane, class, priority, false) == Some(place);
    let data = [Class::Scheduled, Class::Unscheduled, Class::Plain];
    (0..model::LANES).any(|lane| {
        data.into_iter()
            .any(|class| (0..8).any(|priority| joins(lane, class, priority)))
    })
}

/// Whose a queue is that has bytes of its own as its limit, and the key that sets them: by the lane that it takes.
fn own_limit(scenario: &Scenario, queue: &QueueSpec) -> (&'static str, String) {
    let lane = u8::try_from(queue.takes.lanes.trailing_zeros()).expect("a byte has eight bits");
    let name = scenario.name_of(lane);
    let key = if lane == 0 {
        format!("the limit that transport.{name} has")
    } else if scenario.legacy.buffer.is_some() {
        "switch.legacy.buffer".to_owned()
    } else if scenario.switch.shared_buffer.is_some() {
        "switch.shared_buffer".to_owned()
    } else {
        "switch.buffer".to_owned()
    };
    (name, key)
}

/// A queue of a switch that takes data, and that no full frame fits into: what is sent there never arrives.
fn small(
    scenario: &Scenario,
    topology: &Topology,
    ports: &[Arc<PortSpec>],
    full: Bytes,
) -> Option<String> {
    let links = topology.links.iter().zip(ports);
    let mut links = links.filter(|(link, _)| !topology.is_host(link.from));
    links.find_map(|(link, port)| {
        let tight = |queue: &QueueSpec| room(scenario, port, queue).filter(|&room| room < full);
        let queues = port.queues.iter().enumerate();
        let mut small = queues.filter(|&(place, of)| tight(of).is_some() && takes_data(port, place));
        let (_, first) = small.next()?;
        let room = tight(first)?;
        let at = between(topology, link);
        if first.limit == Limit::Port {
            return Some(format!(
                "no full frame of {full} fits into the buffer of {room} at {at}; set switch.buffer"
            ));
        }
        let (name, key) = own_limit(scenario, first);
        let mut names = vec![name];
        names.extend(small.map(|(_, queue)| own_limit(scenario, queue).0));
        names.dedup();
        Some(format!(
            "no full frame of {full} fits into the {room} that {} may have waiting at {at}, and what they send there never \
             arrives; set {key}",
            names.join(" and ")
        ))
    })
}

/// A link, by the names of its ends.
fn between(topology: &Topology, link: &Link) -> String {
    let name = |node| &topology.node(node).name;
    format!("{} -> {}", name(link.from), name(link.to))
}

/// Marks and drops of one class that begin where nothing waits any more: above what a queue of a switch holds.
fn thresholds(scenario: &Scenario, topology: &Topology, ports: &[Arc<PortSpec>]) -> Option<String> {
    let links = topology.links.iter().zip(ports);
    let mut links = links.filter(|(link, _)| !topology.is_host(link.from));
    links.find_map(|(link, port)| {
        port.queues.iter().find_map(|queue| {
            let room = room(scenario, port, queue)?;
            let own = queue.limit != Limit::Port;
            // What waits in all of the port may be more than one queue of it holds.
            let drop = queue.drop.filter(|drop| !own || drop.measure != DropMeasure::Port);
            let drop = drop.map(|drop| (format!("{} packets are dropped", drop.victim.name()), drop.threshold));
            let mark = queue.mark.map(|mark| ("packets are marked".to_owned(), mark.min));
            let (what, from) = [mark, drop].into_iter().flatten().find(|&(_, from)| from >= room)?;
            let (whose, key) = match own_limit(scenario, queue) {
                (name, key) if own => (format!(" of {name}"), key),
                _ => (String::new(), "switch.buffer".to_owned()),
            };
            Some(format!(
                "{what} from {from} on, and no more than {room}{whose} wait at {}: it never happens; set {key}, or the threshold",
                between(topology, link)
            ))
        })
    })
}

/// A transport that sends nothing again, where a port before a host may have to drop some of it.
fn unrepaired(
    scenario: &Scenario,
    topology: &Topology,
    ports: &[Arc<PortSpec>],
    traffic: &Traffic,
    encap: Encap,
) -> Option<String> {
    let lacks = |(protocol, factory): (&dyn Transport, &dyn Factory)| {
        let (key, value) = factory.repairs_by()?;
        Some((protocol.name(), key, value))
    };
    let mut all = transports(scenario).filter(|_| scenario.control.is_none());
    let (name, key, value) = all.find_map(lacks)?;
    let (host, waits) = most_waits(topology, traffic, encap)?;
    let link = topology.node(NodeId(host)).ports.first()?.reverse();
    let port = &ports[link.index()];
    let queues = port.queues.iter().enumerate();
    let queues = queues.filter(|&(place, _)| takes_data(port, place));
    let shared = scenario.switch.shared_buffer.is_some();
    let rooms = queues.filter_map(|(_, queue)| match *scenario.switch.shared_buffer {
        // What it holds alone: so many times what is free then.
        Some(whole) if queue.limit == Limit::Port => {
            let alpha = *scenario.switch.shared_alpha;
            Some(Bytes(times(whole.get(), alpha / (1.0 + alpha))))
        }
        _ => room(scenario, port, queue),
    });
    let room = rooms.min().filter(|&room| room < waits)?;
    let buffer = match shared {
        true => String::new(),
        false => format!(
            ", or switch.buffer = \"{}KB\" or more",
            waits.0.div_ceil(1000)
        ),
    };
    Some(format!(
        "{name} sends nothing again that was lost, and up to {} may wait at {}, which holds {}: a message of which a packet is \
         dropped never ends; set {} = {value}{buffer}",
        human::bytes(waits),
        between(topology, topology.link(link)),
        human::bytes(room),
        parameter(name, key)
    ))
}

/// The host before which most may wait, and how many wire bytes: all that is sent to it, but for what comes from the one who
/// sends it most, whose line is no faster than its own.
fn most_waits(topology: &Topology, traffic: &Traffic, encap: Encap) -> Option<(u32, Bytes)> {
    let mut sent: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for message in &traffic.messages {
        let conn = &traffic.conns[message.conn as usize];
        let pair = match message.from_a {
            true => (conn.b, conn.a),
            false => (conn.a, conn.b),
        };
        let sum = sent.entry(pair).or_default();
        *sum = sum.saturating_add(encap.wire_total(message.size));
    }
    let rate = |host: u32| {
        let link = topology.node(NodeId(host)).ports.first();
        link.map(|&link| topology.link(link).rate)
    };
    let mut waits: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (&(to, from), &bytes) in &sent {
        let (all, most) = waits.entry(to).or_default();
        *all = all.saturating_add(bytes);
        if rate(from) <= rate(to) {
            *most = bytes.max(*most);
        }
    }
    let waits = waits
        .into_iter()
        .map(|(to, (all, most))| (to, Bytes(all - most)));
    waits.max_by_key(|&(_, bytes)| bytes)
}

/// Keys that another key makes mean something, without it.
fn unread(scenario: &Scenario) -> Vec<String> {
    let switch = &scenario.switch;
    [
        (
            "shared_alpha",
            chosen(&switch.shared_alpha) && switch.shared_buffer.is_none(),
            "the ports of a switch share no memory; set switch.shared_buffer",
        ),
        (
            "flowlet_gap",
            chosen(&switch.flowlet_gap) && switch.balance != BalanceOf::Flowlet,
            "paths are not chosen by flowlets; set switch.balance = \"flowlet\"",
        ),
    ]
    .into_iter()
    .filter(|&(_, unread, _)| unread)
    .map(|(key, _, why)| format!("switch.{key} is not read, because {why}"))
    .chain(own_ways(scenario))
    .chain(own_marks(scenario))
    .collect()
}

/// Switches are to balance packets that know where they go.
fn own_ways(scenario: &Scenario) -> Option<String> {
    let names = |(_, factory): (&dyn Transport, &dyn Factory)| {
        factory.fabric(Rate::gbps(10), scenario.encap).own_ways
    };
    let spreads = scenario.switch.balance != BalanceOf::Flow;
    (spreads && transports(scenario).all(names)).then(|| {
        "switch.balance chooses the way of few packets, because data names its own; leave it out, or set the transport's own key \
         of ways"
            .to_owned()
    })
}

/// Marks that a queue has whose transport asks for none, while those beside have a queue and marks of their own.
fn own_marks(scenario: &Scenario) -> Option<String> {
    let legacy = Legacy::of(scenario).ok().flatten()?;
    let reads =
        marks(&*scenario.factory, scenario.encap) || scenario.mark.drop_others == Some(true);
    let section = &scenario.mark.section;
    let keys: Vec<String> = section.given().map(|key| section.dotted(key)).collect();
    let mut beside = scenario.beside.iter();
    let beside = beside.find(|beside| marks(&*beside.factory, scenario.encap))?;
    (legacy.own && !reads && !keys.is_empty()).then(|| {
        format!(
            "{} is not read, because {} asks for no marks, and {} has a queue of its own; set switch.legacy.mark",
            keys.join(" and "),
            scenario.protocol.name(),
            beside.protocol.name()
        )
    })
}

/// Whether a transport asks for marks: on lines of hosts, or on faster ones alone.
fn marks(factory: &dyn Factory, encap: Encap) -> bool {
    let asks = |rate| factory.fabric(rate, encap).mark.is_some();
    asks(Rate::gbps(1)) || asks(Rate::gbps(100_000))
}

impl Assembled {
    /// What `--set` says in vain: of a transport or a flow control that this run does not have, and of marks that nobody asks for. In a
    /// file it may stand there for a comparison.
    pub fn unread_sets(&self) -> Option<String> {
        let scenario = &self.scenario;
        let mark = &scenario.mark.section;
        let set = |key: &&'static str| mark.origin(key).source.name == tree::SET;
        let asked = |(_, factory): (&dyn Transport, &dyn Factory)| marks(factory, self.encap);
        let drops = scenario.mark.drop_others == Some(true);
        let in_vain = !drops && !transports(scenario).any(asked);
        let marks = mark.given().filter(set).filter(|_| in_vain);
        let marks = marks.map(|key| mark.dotted(key));
        let keys: Vec<String> = scenario.unread.iter().cloned().chain(marks).collect();
        let names: Vec<&str> = transports(scenario)
            .map(|(protocol, _)| protocol.name())
            .collect();
        (!keys.is_empty()).then(|| {
            format!(
                "--set {} changes nothing here, where the transport is {}",
                keys.join(" and "),
                names.join(" and ")
            )
        })
    }
}

/// The largest queue of data is asked for where it is not told: where switches note on a packet what is not its moment.
pub(crate) fn data_queues(scenario: &Scenario) -> Option<String> {
    let asked = scenario.output.data_queues;
    let control = scenario.control.as_ref().filter(|_| asked)?;
    Some(format!(
        "output.data_queues is not told under switch.flow_control = \"{}\"; set output.data_queues = false, and output.memory = \
         true for the most of every queue",
        control.kind.name()
    ))
}

/// A fabric with ways on which every packet is lost: through more switches than it may pass.
fn too_far(routes: &Routes) -> Option<String> {
    let (longest, most) = (routes.longest(), u32::from(model::TTL_START));
    (longest > most).then(|| {
        format!(
            "hosts are up to {longest} switches apart, and a packet is lost after {most} (\"no hops left\"): on longer ways nothing \
             arrives; make the fabric smaller"
        )
    })
}

/// Messages that start at one moment to one host, whose requests alone are more than the port before it holds: then the
/// promise that no credited data is lost does not hold.
fn crowds(
    scenario: &Scenario,
    topology: &Topology,
    ports: &[Arc<PortSpec>],
    traffic: &Traffic,
    encap: Encap,
) -> Option<String> {
    let credited = ports.iter().any(|port| port.credit().is_some());
    if !credited || scenario.switch.shared_buffer.is_some() {
        return None;
    }
    let starts = starts(traffic);
    let crowd = largest(&starts)?;
    let (host, requests) = (crowd[0].to, crowd.len() as u64);
    let node = topology.node(NodeId(host));
    let port = &ports[node.ports.first()?.reverse().index()];
    port.credit()?;
    let bytes = Bytes(requests * u64::from(encap.frame_min));
    (bytes > port.buffer).then(|| {
        format!(
            "{} messages to {} start at the same moment, and their requests, {}, are more than the {} of the port before it: \
             requests are dropped, and credited data may be; set switch.buffer = \"{}\" or more, or let starts differ",
            human::count(requests),
            node.name,
            human::bytes(bytes),
            human::bytes(port.buffer),
            human::bytes(Bytes(2 * bytes.0)).replace(' ', "")
        )
    })
}

/// A message that starts at a moment of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Starts {
    to: u32,
    at: Time,
    from: u32,
    size: u64,
}

/// All of them, those to one host at one moment together, by sender.
fn starts(traffic: &Traffic) -> Vec<Starts> {
    let starts = |message: &workload::Message| {
        let conn = &traffic.conns[message.conn as usize];
        let (from, to) = match message.from_a {
            true => (conn.a, conn.b),
            false => (conn.b, conn.a),
        };
        let Start::At(at) = message.start else {
            return None;
        };
        let size = message.size;
        Some(Starts { to, at, from, size })
    };
    let mut all: Vec<_> = traffic.messages.iter().filter_map(starts).collect();
    all.sort_unstable();
    all
}

/// The most that start at one moment to one host.
fn largest(starts: &[Starts]) -> Option<&[Starts]> {
    let together = starts.chunk_by(|one, other| (one.to, one.at) == (other.to, other.at));
    together.max_by_key(|crowd| crowd.len())
}

/// What a port before a host has to keep, where it drops other packets first.
pub(crate) struct Kept<'a> {
    /// What the transport counts on.
    pub(crate) protected: Protected,
    /// The port that holds least.
    pub(crate) port: &'a PortSpec,
    link: &'a Link,
}

/// What ports before hosts have to keep, under a transport that says so.
pub(crate) fn kept<'a>(
    scenario: &Scenario,
    fabric: Fabric<'a>,
    ports: &'a [Arc<PortSpec>],
    traffic: &Traffic,
    base_rtt: Span,
) -> Option<Kept<'a>> {
    let (topology, switch) = (fabric.topology, &scenario.switch);
    if switch.shared_buffer.is_some() || scenario.control.is_some() {
        return None;
    }
    let to_hosts = topology.links.iter().zip(ports);
    let to_hosts = to_hosts.filter(|(link, _)| topology.is_host(link.to));
    let (link, port) = to_hosts.min_by_key(|(_, port)| port.buffer)?;
    let config = EndpointConfig::new(HostId(0), link.rate, fabric.encap)
        .with(|told| told.base_rtt = base_rtt);
    scenario.factory.protects(&config, Crowd::default())?;
    let starts = starts(traffic);
    let crowd = largest(&starts).unwrap_or_default();
    let from_one = crowd.chunk_by(|one, other| one.from == other.from);
    let ways = |one: &Starts| fabric.ways(HostId(one.from), HostId(one.to));
    let told = Crowd {
        messages: crowd.len() as u64,
        of_one: from_one.map(<[_]>::len).max().unwrap_or(0) as u64,
        largest: crowd.iter().map(|one| one.size).max().unwrap_or(0),
        ways: crowd.iter().map(ways).max().unwrap_or(1),
    };
    let protected = scenario.factory.protects(&config, told)?;
    Some(Kept {
        protected,
        port,
        link,
    })
}

/// What ports before hosts have to keep and have no room for.
fn protected(
    scenario: &Scenario,
    fabric: Fabric<'_>,
    ports: &[Arc<PortSpec>],
    traffic: &Traffic,
    base_rtt: Span,
) -> Option<String> {
    let Kept {
        protected,
        port,
        link,
    } = kept(scenario, fabric, ports, traffic, base_rtt)?;
    (protected.bytes > port.buffer).then(|| {
        let name = |node| &fabric.topology.node(node).name;
        format!(
            "{} counts on {} of room at {} -> {}, which holds {}: what it protects may be lost there; {}, or set switch.buffer = \"{}\" \
             or more",
            scenario.protocol.name(),
            human::bytes(protected.bytes),
            name(link.from),
            name(link.to),
            human::bytes(port.buffer),
            protected.instead,
            format_args!("{}KB", protected.bytes.0.div_ceil(1000))
        )
    })
}
