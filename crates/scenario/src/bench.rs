//! The workloads that `tidegate bench` measures: fixed, so that numbers can be compared over time. They are assembled
//! without a scenario: the first page of cases says what each is, then come their fabrics and traffic, and what runs one.

use model::intent::{Memory, PortSpec, SwitchSpec};
use model::{Encap, EndpointConfig, Rng, stream};
use sim::{Blind, MakeControl, Outcome, Probes, Setup};
use std::sync::Arc;
use topology::{FatTree, LeafSpine, NodeId, Routes, Spec, ThreeTier, Topology};
use transports::{ControlFactory, Neighbour, Place, Transport};
use units::{Bytes, Rate, Span, Time};
use workload::{
    self, Arrivals, Conn, Fabric, Gaps, IncastBursts, Load, Message, RandomFlows, Start, Traffic,
    Until, sizes,
};

/// Rate of every host's link.
const RATE: Rate = Rate::gbps(100);
/// Buffer of every port: 250 full frames. [xpass artefact, large-scale-fattree.tcl]
const BUFFER: Bytes = Bytes(250 * 1538);
/// Memory of a switch whose ports share one. [BCM56850]
const MEMORY: Bytes = Bytes(12_000_000);
const SEED: u64 = 1;

/// One workload.
#[derive(Debug)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    topology: fn(Span) -> Topology,
    traffic: fn(&Topology, u64) -> Traffic,
    /// Length of a run that is timed.
    full: Length,
    /// Links' delay.
    delay: Span,
    /// Samples every this often.
    probe: Option<Span>,
    /// What its cost is counted by.
    pub per: Per,
    ports: Ports,
}

/// What switches' ports are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ports {
    /// What the transport asks for, each with a buffer of its own.
    Own,
    /// The same with eight priorities, so that packets wait in queues.
    Queued,
    /// What the transport asks for, in 12 MB that a switch's ports share. [BCM56850]
    Shared,
    /// The same, with the flow control of this name by its defaults.
    Paused(&'static str),
    /// What the transport asks for, each with as large a buffer of its own.
    Deep,
}

/// What a workload is longer or shorter by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Length {
    /// Bytes of each message.
    Bytes(u64),
    /// Messages.
    Messages(u64),
    /// Microseconds in which messages come.
    Micros(u64),
}

/// The frames and messages of a workload, where they are others than its own.
#[derive(Clone, Copy, Debug)]
pub struct Sized {
    /// Heads and payload of frames.
    pub encap: Encap,
    /// Bytes of each message.
    pub message: Option<u64>,
}

/// What the cost of a workload is counted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Per {
    /// Packet-hops of a run, set-up left out.
    Hop,
    /// Hosts of a network that is built and routed, with nothing simulated.
    Host,
}

/// Every workload, in the order of the table.
pub const CASES: [Case; 16] = [
    Case {
        name: "permutation-128",
        what: "128 hosts, fat tree k=8, 1 us links",
        topology: fat_tree_8,
        traffic: permutation,
        full: Length::Bytes(1_000_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "permutation-432",
        what: "432 hosts, fat tree k=12",
        topology: fat_tree_12,
        traffic: permutation,
        full: Length::Bytes(500_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "permutation-1024",
        what: "1024 hosts, fat tree k=16",
        topology: fat_tree_16,
        traffic: permutation,
        full: Length::Bytes(300_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "incast-100",
        what: "100 to 1, fat tree k=8",
        topology: fat_tree_8,
        traffic: incast,
        full: Length::Bytes(200_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "web-server",
        what: "leaf-spine 8 x 16, Web Server at load 0.6 of the uplinks",
        topology: leaf_spine,
        traffic: web_server,
        full: Length::Messages(10_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "sparse",
        what: "1 % of 1024 hosts active, fat tree k=16",
        topology: fat_tree_16,
        traffic: sparse,
        full: Length::Bytes(1_000_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "long-link",
        what: "permutation-128 with cores 200 us away",
        topology: far_cores,
        traffic: permutation,
        full: Length::Bytes(4_000_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "short-links",
        what: "permutation-128 with 10 ns links",
        topology: fat_tree_8,
        traffic: permutation,
        full: Length::Bytes(1_000_000),
        delay: Span::ns(10),
        probe: None,
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "probed",
        what: "permutation-128 with every port sampled each 10 us",
        topology: fat_tree_8,
        traffic: permutation,
        full: Length::Bytes(1_000_000),
        delay: Span::us(1),
        probe: Some(Span::us(10)),
        per: Per::Hop,
        ports: Ports::Own,
    },
    Case {
        name: "queued",
        what: "64 hosts, leaf-spine 8 x 8 x 8, ports of eight priorities",
        topology: full_bisection,
        traffic: permutation,
        full: Length::Bytes(1_000_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Queued,
    },
    Case {
        name: "shared",
        what: "the same with a shared memory of 12 MB per switch",
        topology: full_bisection,
        traffic: permutation,
        full: Length::Bytes(1_000_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Shared,
    },
    Case {
        name: "pfc",
        what: "the same with priority flow control",
        topology: full_bisection,
        traffic: permutation,
        full: Length::Bytes(1_000_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Paused("pfc"),
    },
    Case {
        name: "aquarius-fct",
        what: "three tiers of 128 hosts, Web Server at 0.7 of the uplinks and incasts at 0.05, under Aquarius",
        topology: three_tiers,
        traffic: web_and_incasts,
        full: Length::Micros(600),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Paused("aquarius"),
    },
    Case {
        name: "aquarius-fifo",
        what: "the same without flow control, 12 MB for each port",
        topology: three_tiers,
        traffic: web_and_incasts,
        full: Length::Micros(600),
        delay: Span::us(1),
        probe: None,
        per: Per::Hop,
        ports: Ports::Deep,
    },
    Case {
        name: "set-up-1024",
        what: "per host: permutation-1024 up to its first packet",
        topology: fat_tree_16,
        traffic: permutation,
        full: Length::Bytes(30_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Host,
        ports: Ports::Own,
    },
    Case {
        name: "set-up-65536",
        what: "per host: a permutation of 65,536 hosts up to its first packet, fat tree k=64",
        topology: fat_tree_64,
        traffic: permutation,
        full: Length::Bytes(30_000),
        delay: Span::us(1),
        probe: None,
        per: Per::Host,
        ports: Ports::Own,
    },
];

fn fat_tree(k: u32, delay: Span) -> Topology {
    let spec = FatTree {
        k,
        hosts_per_edge: None,
        rate: RATE,
        delay,
        host_extra_delay: Span::ZERO,
    };
    Spec::FatTree(spec).build().expect("a fat tree of even k")
}
fn fat_tree_8(delay: Span) -> Topology {
    fat_tree(8, delay)
}
fn fat_tree_12(delay: Span) -> Topology {
    fat_tree(12, delay)
}
fn fat_tree_16(delay: Span) -> Topology {
    fat_tree(16, delay)
}
fn fat_tree_64(delay: Span) -> Topology {
    fat_tree(64, delay)
}
fn far_cores(delay: Span) -> Topology {
    let mut topology = fat_tree(8, delay);
    for link in 0..topology.links.len() {
        let ends = [topology.links[link].from, topology.links[link].to];
        if ends.iter().any(|&node| topology.node(node).tier == 3) {
            topology.links[link].delay = Span::us(200);
        }
    }
    topology
}
fn full_bisection(delay: Span) -> Topology {
    let spec = LeafSpine {
        leaves: 8,
        spines: 8,
        hosts_per_leaf: 8,
        host_rate: RATE,
        uplink_rate: RATE,
        host_delay: delay,
        uplink_delay: delay,
        host_extra_delay: Span::ZERO,
    };
    Spec::LeafSpine(spec).build().expect("as much up as down")
}
fn leaf_spine(delay: Span) -> Topology {
    let spec = LeafSpine {
        leaves: 8,
        spines: 4,
        hosts_per_leaf: 16,
        host_rate: RATE,
        uplink_rate: Rate::gbps(400),
        host_delay: delay,
        uplink_delay: delay,
        host_extra_delay: Span::ZERO,
    };
    Spec::LeafSpine(spec).build().expect("a leaf-spine fabric")
}

/// [aquarius slides: switches, hosts, rate and delay; the wiring is ours, as in `experiments/aquarius-fct`]
fn three_tiers(delay: Span) -> Topology {
    let spec = ThreeTier {
        pods: 4,
        tors: 16,
        aggs: 16,
        cores: 16,
        hosts_per_tor: 8,
        host_rate: RATE,
        tor_rate: RATE,
        agg_rate: RATE,
        host_delay: delay,
        tor_delay: delay,
        agg_delay: delay,
        host_extra_delay: Span::ZERO,
    };
    Spec::ThreeTier(spec).build().expect("a three-tier fabric")
}

fn pairs(pairs: impl Iterator<Item = (u32, u32)>, size: u64) -> Traffic {
    let mut traffic = Traffic {
        tags: vec!["bench".into()],
        ..Traffic::default()
    };
    traffic.conns.reserve(pairs.size_hint().0);
    traffic.messages.reserve(pairs.size_hint().0);
    for (conn, (a, b)) in (0..).zip(pairs) {
        traffic.conns.push(Conn {
            a,
            b,
            one_shot: true,
        });
        let start = Start::At(Time::ZERO);
        traffic.messages.push(Message {
            conn,
            from_a: true,
            size,
            start,
            stop: None,
            tag: 0,
        });
    }
    traffic
}
fn permutation(topology: &Topology, size: u64) -> Traffic {
    let hosts = topology.hosts;
    pairs((0..hosts).map(|a| (a, (a + hosts / 2 + 1) % hosts)), size)
}
fn incast(_: &Topology, size: u64) -> Traffic {
    pairs((1..=100).map(|a| (a, 0)), size)
}
fn sparse(topology: &Topology, size: u64) -> Traffic {
    let hosts = topology.hosts;
    pairs(
        (0..hosts / 100).map(|n| (n * 101, hosts - 1 - n * 97)),
        size,
    )
}
fn fabric(topology: &Topology) -> Fabric {
    Fabric {
        hosts: topology.hosts,
        host_rate: topology.host_rate(),
        uplink_rate: topology.uplink_rate(),
        crossing: topology.crossing().share(),
    }
}
fn web_server(topology: &Topology, messages: u64) -> Traffic {
    let arrivals = (Gaps::Poisson, Until::Count(messages));
    random(topology, "web-server", 0.6, arrivals, SEED)
}
fn random(
    topology: &Topology,
    sizes: &str,
    load: f64,
    (gaps, until): (Gaps, Until),
    seed: u64,
) -> Traffic {
    let flows = RandomFlows {
        fabric: fabric(topology),
        dist: sizes::builtin(sizes).expect("it is built in").dist(),
        load: Load::of_uplinks(load),
        encap: Encap::PAPER,
        arrivals: Arrivals {
            gaps,
            per: workload::Per::Run,
        },
        start: Time::ZERO,
        until,
        tag: "bench".into(),
    };
    flows
        .generate(seed)
        .expect("the load is below the capacity")
}
/// What comes within so many microseconds: the messages of `experiments/aquarius-fct`. [aquarius slides, realistic traffic;
/// bfc artefact, arrivals]
fn web_and_incasts(topology: &Topology, us: u64) -> Traffic {
    const SCENARIO_SEED: u64 = 2;
    let gaps = Gaps::LogNormal { sigma: 2.0 };
    let until = Until::Time(Time::ZERO + Span::us(us));
    let seed = |part| workload::part_seed(SCENARIO_SEED, part);
    let sizes = "web-server-intracluster";
    let web = random(topology, sizes, 0.7, (gaps, until), seed(0));
    let bursts = IncastBursts {
        fabric: fabric(topology),
        senders: 100,
        replacement: true,
        bytes: 200_000,
        load: Load::of_uplinks(0.05),
        encap: Encap::PAPER,
        gaps: Gaps::Poisson,
        start: Time::ZERO,
        until,
        tag: "bench".into(),
    };
    let bursts = bursts.generate(seed(1));
    let bursts = bursts.expect("the load is below the capacity");
    Traffic::merge([web, bursts]).expect("two short lists")
}

/// The flow control of that name, by its defaults.
fn control(name: &str) -> Box<dyn ControlFactory> {
    let control = transports::registry().control(name);
    let control = control.and_then(|control| control.configure(&toml::Table::new()).ok());
    control.expect("its defaults are legal")
}

/// The same at every switch of a fabric with these ports, of which no frame is larger than `frame`.
fn controlled(
    control: Box<dyn ControlFactory>,
    ports: Vec<Arc<PortSpec>>,
    frame: Bytes,
) -> Box<MakeControl<'static>> {
    Box::new(move |topology: &Topology, node: NodeId| {
        let line = |&number: &topology::LinkId| {
            let (there, back) = (topology.link(number), topology.link(number.reverse()));
            Neighbour {
                rate: there.rate,
                back: back.rate,
                round: there.delay + back.delay,
                is_host: topology.is_host(there.to),
                port: &ports[number.index()],
            }
        };
        let lines: Vec<_> = topology.node(node).ports.iter().map(line).collect();
        Some(control.make(&Place {
            lines: &lines,
            memory: MEMORY,
            frame: frame.get(),
            rng: Rng::stream(SEED, stream::PORT, u64::from(node.0)),
        }))
    })
}

/// The case of that name.
pub fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

impl Case {
    /// Whether all its messages are of one length.
    pub fn is_sized(&self) -> bool {
        matches!(self.full, Length::Bytes(_))
    }

    /// The length of a run that is timed.
    fn length(&self, sized: Sized) -> u64 {
        match self.full {
            Length::Bytes(own) => sized.message.unwrap_or(own),
            Length::Messages(own) | Length::Micros(own) => own,
        }
    }

    /// Runs it, `percent` of its full length, with every parameter of `transport` at its default.
    pub fn run(
        &self,
        transport: &dyn Transport,
        percent: u64,
        threads: u16,
        sized: Sized,
    ) -> (u32, Outcome) {
        let topology = (self.topology)(self.delay);
        let hosts = topology.hosts;
        let traffic = (self.traffic)(&topology, self.length(sized) * percent / 100);
        let encap = sized.encap;
        let factory = transport
            .configure(&toml::Table::new())
            .expect("the defaults are legal");
        let made = match self.ports {
            Ports::Paused(name) => Some(control(name)),
            _ => None,
        };
        let port = |rate| {
            let port = self.port(factory.fabric(rate, encap));
            Arc::new(match &made {
                Some(control) => control.port(port).expect("one queue of data"),
                None => port,
            })
        };
        let mut by_rate: Vec<(Rate, Arc<PortSpec>)> = Vec::new();
        let sizes = [encap.wire_max(), encap.frame_min];
        let [data, control] = sizes.map(|size| Bytes(size.into()));
        let routes = Routes::new(&topology, &[]);
        let [base_rtt, control_rtt] =
            topology.max_base_rtts(&routes, [(data, control), (control, control)]);
        let make = |config: &EndpointConfig| factory.make(config);
        let links = topology.links.iter();
        let ports: Vec<_> = links
            .map(|link| match by_rate.iter().find(|of| of.0 == link.rate) {
                Some((_, spec)) => spec.clone(),
                None => {
                    by_rate.push((link.rate, port(link.rate)));
                    by_rate[by_rate.len() - 1].1.clone()
                }
            })
            .collect();
        let control = made.map(|control| controlled(control, ports.clone(), data));
        let setup = Setup {
            ports,
            routes: Arc::new(routes),
            topology,
            traffic,
            host_queues: false,
            make: &make,
            encap,
            base_rtt,
            control_rtt,
            switch: SwitchSpec {
                memory: self.memory(),
                ..SwitchSpec::default()
            },
            control: control.as_deref(),
            carries: false,
            faults: Vec::new(),
            probes: Probes {
                every: self.probe,
                ..Probes::default()
            },
            seed: SEED,
            until: match self.per {
                Per::Hop => Time::NEVER,
                Per::Host => Time::ZERO,
            },
            threads,
            pass: true,
            ordered: false,
            digest: false,
        };
        let outcome = sim::run(&setup, &mut Blind).expect("the setup is complete");
        (hosts, outcome)
    }

    /// What a port does, of what the transport asks for.
    fn port(&self, mut fabric: transports::Fabric) -> PortSpec {
        if self.ports == Ports::Queued {
            fabric.priorities = 8;
        }
        let deep = self.ports == Ports::Deep;
        fabric.port(if deep { MEMORY } else { BUFFER })
    }

    fn memory(&self) -> Memory {
        match self.ports {
            Ports::Own | Ports::Queued | Ports::Deep => Memory::PerPort,
            Ports::Shared | Ports::Paused(_) => Memory::Shared {
                size: MEMORY,
                alpha: 1.0,
            },
        }
    }
}
