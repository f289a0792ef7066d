//! What a run is made of, and everything that does not go together about it.

use super::{WHOLE, ends_early, is_timed, window};
use crate::counted;
use crate::diagnostic::{Diagnostic, Errors};
use crate::facts::Fabric;
use crate::memory::{self, Need};
use crate::network;
use crate::resolve::Scenario;
use crate::settings::Shape;
use crate::traffic;
use crate::warnings;
use crate::words;
use model::intent::PortSpec;
use sim::{Fault, Probes};
use std::ops::Range;
use std::sync::Arc;
use topology::{LinkId, NodeId, Routes, Spec, Topology};
use units::{Span, Time};
use workload::Traffic;

/// A network for which memory suffices.
pub(super) struct Network {
    pub(super) topology: Topology,
    pub(super) routes: Arc<Routes>,
    /// What is wrong with it, so far as it can be built.
    pub(super) errors: Vec<Diagnostic>,
}

/// What goes with a network.
pub(super) struct Parts {
    pub(super) traffic: Traffic,
    /// Connections of messages.
    pub(super) conns: usize,
    /// By connection: its transport.
    pub(super) lanes: Vec<u8>,
    /// What the reader of a trace warns of.
    pub(super) read: Vec<String>,
    pub(super) ports: Vec<Arc<PortSpec>>,
    pub(super) faults: Vec<Fault>,
    pub(super) probes: Probes,
}

impl Scenario {
    /// What the scenario needs as its sizes say it, once there is room for that: asked before anything is built.
    pub(super) fn need_within(&self, spec: &Spec) -> Result<Need, Errors> {
        let (said, size) = (&self.topology, spec.size());
        memory::routable(&said.section, size)?;
        network::countable(said, size, network::longest_delay(said))?;
        let (need, known) = self.counted(spec);
        self.has_room(need, known)?;
        Ok(need)
    }

    /// Builds the network.
    pub(super) fn network(&self, spec: &Spec) -> Result<Network, Errors> {
        let said = &self.topology;
        let wrong = |message: String| {
            // "k = 5; ..." is about k; what names no key is about the whole.
            let named = message.split_once(" = ").map(|(key, _)| key.to_owned());
            let mut given = said.section.given();
            let key = named.filter(|key| given.any(|own| own == key));
            said.section
                .problem(key.as_deref().unwrap_or("kind"), message)
        };
        let mut topology = spec.build().map_err(|e| wrong(e.0))?;
        let mut errors: Vec<_> = words::unreadable(&topology)
            .map(&wrong)
            .into_iter()
            .collect();
        network::uneven(said, self.run.seed, &mut topology)?;
        let longest = topology.links.iter().map(|link| link.delay).max();
        network::countable(said, spec.size(), longest.unwrap_or(Span::ZERO))?;
        let routes = Arc::new(Routes::new(&topology, &[]));
        errors.extend(self.cut_off(&topology, &routes));
        Ok(Network {
            topology,
            routes,
            errors,
        })
    }

    /// Two hosts between which no way leads.
    fn cut_off(&self, topology: &Topology, routes: &Routes) -> Option<Diagnostic> {
        let (a, b) = routes.cut_off()?;
        let name = |host: u32| &topology.node(NodeId(host)).name;
        let what = format!("no way leads from host {} to host {}", name(a), name(b));
        let key = match self.topology.kind {
            Shape::File(_) => "path",
            _ => "kind",
        };
        let problem = self.topology.section.problem(key, what);
        Some(problem.help("join the parts, or leave out what is cut off"))
    }

    /// Builds all that goes with the network, settles the transports and asks whether the ports suit them. `errors` have
    /// been found before: what is wrong is said at once.
    pub(super) fn parts(
        &mut self,
        spec: &Spec,
        fabric: Fabric<'_>,
        mut errors: Vec<Diagnostic>,
    ) -> Result<Parts, Errors> {
        let (topology, encap) = (fabric.topology, fabric.encap);
        let mut keep = |found: Vec<Diagnostic>| errors.extend(found);
        let mut traffic = traffic::build(self, spec, topology, encap)
            .map_err(&mut keep)
            .ok();
        let conns = traffic.as_ref().map_or(0, |(of, ..)| of.conns.len());
        if let Some((traffic, lanes, _)) = &mut traffic {
            let settled = self.settle(fabric, traffic, lanes);
            settled.unwrap_or_else(&mut keep);
        }
        let ports = network::ports(self, topology, encap).map_err(&mut keep);
        let faults = network::faults(&self.faults, topology).map_err(&mut keep);
        let links = self.probe_links(topology).map_err(&mut keep);
        let counted = counted::window(self).map_err(&mut keep);
        let thresholds = crate::thresholds::parse(self).map_err(&mut keep);
        if let Some((traffic, ..)) = &traffic {
            keep(crate::thresholds::tagged(self, &traffic.tags));
        }
        if let Ok(ports) = &ports {
            let suited = self.suit(topology, ports, &network::switch(&self.switch));
            suited.unwrap_or_else(&mut keep);
        }
        match (traffic, ports, faults, links, counted, thresholds) {
            (
                Some((traffic, lanes, read)),
                Ok(ports),
                Ok(faults),
                Ok(links),
                Ok(counted),
                Ok(_),
            ) if errors.is_empty() => Ok(Parts {
                probes: self.probes(&traffic, links, counted),
                traffic,
                conns,
                lanes,
                read,
                ports,
                faults,
            }),
            _ => Err(Errors(errors)),
        }
    }

    /// What is looked at while it runs.
    fn probes(
        &self,
        traffic: &Traffic,
        links: Vec<LinkId>,
        counted: Option<Range<Time>>,
    ) -> Probes {
        let received = window(&self.run);
        let received = (received != WHOLE).then_some(received);
        Probes {
            every: None, // once it is known what is sampled
            links,
            flows: self.output.flows,
            window: counted,
            data_queues: self.output.data_queues && warnings::data_queues(self).is_none(),
            memory: self.output.memory,
            accepted: received.is_some()
                || ends_early(&self.run)
                || traffic.messages.iter().any(is_timed),
            received,
        }
    }

    /// Links whose ports are sampled.
    fn probe_links(&self, topology: &Topology) -> Result<Vec<LinkId>, Vec<Diagnostic>> {
        let mut links = Vec::new();
        for pattern in self.output.ports.iter().flatten() {
            match network::links(topology, pattern) {
                Ok(found) => links.extend(found),
                Err(why) => {
                    let problem = self.output.section.problem("ports", why);
                    return Err(vec![problem.help("write it like \"tor0 -> h3\"")]);
                }
            }
        }
        links.sort_unstable();
        links.dedup();
        Ok(links)
    }
}
