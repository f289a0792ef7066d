//! A run made of its parts: nodes, routing, the book of messages.

use crate::beside::Records;
use crate::book::Book;
use crate::fault::{self, NodeFaults};
use crate::host::Host;
use crate::node::{Digest, Kind, Left, Node, SwitchNode};
use crate::setup::{Fault, Setup};
use crate::sort::WINDOW_MAX;
use crate::ways::{Epoch, Ways};
use model::intent::{Balance, PortSpec};
use model::{Class, EndpointConfig, FRAME_SMALLEST, HostId, Streams, stream};
use std::sync::Arc;
use switching::{Apart, Line, Port, Switch};
use topology::{Link, LinkId, NodeId, NodeKind, tier_salt};
use units::{Bytes, LineTime, Rate, Span};

/// What every step of a run may read.
pub(crate) struct World<'a> {
    pub(crate) book: Book<'a>,
    pub(crate) ways: Ways,
}

/// Why a run cannot start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupError(pub String);

impl std::fmt::Display for SetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for SetupError {}

/// Builds world and nodes of `setup`.
pub(crate) fn build<'a>(setup: &'a Setup<'_>) -> Result<(World<'a>, Vec<Node>), SetupError> {
    let topology = &setup.topology;
    if setup.ports.len() != topology.links.len() {
        let (ports, links) = (setup.ports.len(), topology.links.len());
        return Err(SetupError(format!(
            "{ports} port intents for {links} links"
        )));
    }
    let mut known: Option<&Arc<PortSpec>> = None; // neighbouring ports are mostly one
    for (link, port) in (0u32..).zip(&setup.ports) {
        if !known.is_some_and(|known| Arc::ptr_eq(known, port)) {
            let checked = setup.switch.check(port);
            checked.map_err(|why| SetupError(format!("the port of link {link}: {why}")))?;
            known = Some(port);
        }
    }
    let single = |host: &topology::Node| host.ports.len() == 1;
    if let Some(host) = topology.nodes[..topology.hosts as usize]
        .iter()
        .find(|host| !single(host))
    {
        let ports = host.ports.len();
        return Err(SetupError(format!(
            "host {} has {ports} links; it needs exactly one",
            host.name
        )));
    }
    let of_hosts = topology.nodes[..topology.hosts as usize].iter();
    let streams = Streams::new(setup.seed, stream::PORT);
    let mut queues = of_hosts.map(|host| Port::alone(&line_of(setup, streams, host.ports[0])));
    if setup.host_queues && setup.control.is_some() {
        let why =
            "queues of hosts have promised their lines already; no gate holds back what is in them";
        return Err(SetupError(why.to_owned()));
    }
    if setup.host_queues && queues.any(|queue| queue.is_none()) {
        let why = "queues of hosts know at arrival when a packet leaves; their ports ask for more";
        return Err(SetupError(why.to_owned()));
    }
    let ways = Ways {
        epochs: fault::epochs(topology, &setup.routes, &setup.faults),
    };
    let book = Book::new(&setup.traffic, topology, &setup.routes).map_err(SetupError)?;
    let world = World { book, ways };
    let mut common = Common::of(setup, &world.ways);
    let mut nodes: Vec<Node> = (0..topology.nodes.len())
        .map(|node| make_node(setup, &mut common, &world, node))
        .collect();
    if setup.control.is_some() {
        grant(topology, &mut nodes);
    }
    Ok((world, nodes))
}

/// Tells hosts what their switches have room for, where those count it.
fn grant(topology: &topology::Topology, nodes: &mut [Node]) {
    for host in 0..topology.hosts as usize {
        let link = topology.link(topology.nodes[host].ports[0]);
        let Kind::Switch(next) = &nodes[link.to.index()].kind else {
            continue;
        };
        let granted = next.switch.grants(link.to_port);
        if let (Some(credits), Kind::Host(host)) = (granted, &mut nodes[host].kind) {
            host.begin_with(credits);
        }
    }
}

/// What every node is told alike: found once, so that setting up costs the same for every node.
struct Common {
    /// What each host is told, with the number and the rate of the last one.
    config: EndpointConfig,
    /// Faults by link, each link's in the order of the setup.
    faults: Vec<Fault>,
    /// Random streams of ports and switches, and those of hosts.
    of_ports: Streams,
    of_hosts: Streams,
    /// Whether a packet may come to a switch that has no way for it, or that no hop is left for.
    astray: bool,
}

impl Common {
    fn of(setup: &Setup<'_>, ways: &Ways) -> Self {
        let buffers = setup.ports.iter().map(|port| port.buffer);
        let tiers = setup.topology.nodes.iter().map(|node| node.tier);
        let mut faults = setup.faults.clone();
        faults.sort_by_key(|fault| fault.link); // stable
        Self {
            config: EndpointConfig::new(HostId(0), Rate(0), setup.encap).with(|told| {
                told.base_rtt = setup.base_rtt;
                told.control_rtt = setup.control_rtt;
                told.port_buffer = buffers.max().unwrap_or(Bytes(0));
                told.hops_max = 2 * tiers.max().unwrap_or(1).max(1);
                told.control_passes =
                    setup.control.is_some() && setup.ports.iter().any(|port| passes(port));
                told.overtakes = setup.switch.balance != Balance::Flow;
            }),
            faults,
            of_ports: Streams::new(setup.seed, stream::PORT),
            of_hosts: Streams::new(setup.seed, stream::HOST),
            // There and, bounced, back.
            astray: ways.epochs.len() > 1
                || 2 * ways.epochs[0].1.longest() > model::TTL_START.into(),
        }
    }
}

/// Whether control packets have another queue in this port than data does.
fn passes(port: &PortSpec) -> bool {
    let queue = |class| port.queue_of(0, class, 0, false);
    queue(Class::Control) != queue(Class::Scheduled)
}

fn make_node(setup: &Setup<'_>, common: &mut Common, world: &World<'_>, number: usize) -> Node {
    let node = &setup.topology.nodes[number];
    let id = u32::try_from(number).expect("fewer than 2^32 nodes");
    let kind = match node.kind {
        NodeKind::Host => Kind::Host(make_host(setup, common, world, id)),
        NodeKind::Switch => Kind::Switch(make_switch(setup, common, id)),
    };
    let faults = NodeFaults::new(&setup.topology, &node.ports, &common.faults, setup.seed);
    let apart = match &kind {
        Kind::Switch(at) if faults.is_none() && !setup.carries => at.switch.apart(),
        _ => Apart::Never,
    };
    let takes_few = match &kind {
        Kind::Switch(at) => apart != Apart::Never && node.ports.len() <= 64 && !at.switch.is_fifo(),
        Kind::Host(_) => false,
    };
    Node {
        apart,
        takes_few,
        looks_at: units::Time::ZERO,
        left: Left::of(node.ports.len()),
        faults,
        digest: Digest::default(),
        kind,
        records: Records::default(),
    }
}

fn make_host(setup: &Setup<'_>, common: &mut Common, world: &World<'_>, id: u32) -> Host {
    let link = setup.topology.nodes[id as usize].ports[0];
    common.config.host = HostId(id);
    common.config.rate = setup.topology.link(link).rate;
    let rng = common.of_hosts.of(id.into());
    let endpoint = (setup.make)(&common.config);
    let queue = setup
        .host_queues
        .then(|| Port::alone(&line_of(setup, common.of_ports, link)));
    let sampled = setup.probes.flows && setup.probes.every.is_some();
    Host::new(
        id,
        endpoint,
        rng,
        (link.0, setup.topology.link(link)),
        queue.map(|port| port.expect("checked in `build`")),
        &world.book,
        sampled || setup.probes.accepted,
    )
}

fn make_switch(setup: &Setup<'_>, common: &Common, id: u32) -> SwitchNode {
    let node = &setup.topology.nodes[id as usize];
    let line = |&number: &LinkId| line_of(setup, common.of_ports, number);
    let lines = node.ports.iter().map(line);
    // Beyond every link, so that a switch draws from a stream of its own.
    let own = u64::from(u32::MAX) + 1 + u64::from(id);
    let rng = || common.of_ports.of(own);
    let control = setup
        .control
        .and_then(|make| make(&setup.topology, NodeId(id)));
    let minds_ingress = control.is_some() || common.astray;
    let mut switch = Switch::new(&setup.switch, lines, tier_salt(node.tier), rng, control);
    switch.slowly(setup.ordered, !setup.pass);
    if setup.probes.memory {
        switch.keep_peaks();
    }
    SwitchNode {
        id: NodeId(id),
        switch,
        epoch: Epoch::default(),
        ingress: node.ports.iter().map(|link| link.reverse().0).collect(),
        minds_ingress,
    }
}

fn line_of<'a>(setup: &'a Setup<'_>, streams: Streams, number: LinkId) -> Line<'a> {
    let link = setup.topology.link(number);
    Line {
        spec: &setup.ports[number.index()],
        link: number.0,
        line: LineTime::new(link.rate),
        delay: link.delay,
        rng: streams.of(number.0.into()),
    }
}

/// How far ahead every node knows its arrivals: the shortest link, with the smallest frame on it, or as long as two of them fit
/// into a window.
pub(crate) fn lookahead(setup: &Setup<'_>) -> Span {
    let links = &setup.topology.links;
    let mut known = None; // neighbouring links are mostly alike
    let takes = |link: &Link| {
        let alike = known.filter(|&(rate, _)| rate == link.rate);
        let of = |rate| LineTime::new(rate).of(FRAME_SMALLEST.into());
        let (_, takes) = *known.insert(alike.unwrap_or_else(|| (link.rate, of(link.rate))));
        link.delay + takes
    };
    let least = links.iter().map(takes).min().unwrap_or(Span::us(1));
    least.min(Span(WINDOW_MAX / 2))
}
