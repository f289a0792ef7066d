//! What the transports of a run are told before it begins, and what they say to that.

use crate::beside::Written;
use crate::diagnostic::Diagnostic;
use crate::network::round_trips;
use crate::resolve::Scenario;
use crate::schema::parameter;
use crate::section::Section;
use crate::settings::{Source, Workload};
use crate::traffic;
use crate::typed::Settings;
use model::intent::{PortSpec, SwitchSpec};
use model::{Encap, Facts, HostId, Net, SizeList, Sizes};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use topology::{NodeId, Routes, Topology};
use transports::Factory;
use units::{Bytes, Rate, Span};
use workload::{Conn, ENDLESS, SizeDist, Traffic};

/// A fabric as transports may know it.
#[derive(Clone, Copy)]
pub(crate) struct Fabric<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) routes: &'a Routes,
    pub(crate) encap: Encap,
    /// [`round_trips`] with these frames.
    pub(crate) round_trips: (Span, Span, Span),
}

impl<'a> Fabric<'a> {
    pub(crate) fn new(topology: &'a Topology, routes: &'a Routes, encap: Encap) -> Self {
        let round_trips = round_trips(topology, routes, encap);
        Self {
            topology,
            routes,
            encap,
            round_trips,
        }
    }
}

impl Net for Fabric<'_> {
    fn hosts(&self) -> u32 {
        self.topology.hosts
    }
    fn rate(&self, host: HostId) -> Rate {
        let ports = &self.topology.nodes[host.0 as usize].ports;
        ports
            .first()
            .map_or(Rate(0), |&link| self.topology.link(link).rate)
    }
    fn rack(&self, host: HostId) -> u32 {
        self.routes.edge_of(host.0)
    }
    fn ways(&self, a: HostId, b: HostId) -> u16 {
        self.topology.ways(self.routes, a.0, b.0)
    }
    fn base_rtt(&self, a: HostId, b: HostId) -> Option<Span> {
        let [full, small] =
            [self.encap.wire_max(), self.encap.frame_min].map(|size| Bytes(size.into()));
        self.topology.base_rtt(self.routes, a.0, b.0, full, small)
    }
    fn way(&self, a: HostId, b: HostId) -> Vec<(u16, Rate, u32)> {
        let (mut at, mut links) = (NodeId(a.0), Vec::new());
        while at.0 != b.0 {
            let next = self.routes.next_hops(at, b.0);
            let Some(&first) = next.first() else {
                return Vec::new();
            };
            let port = self.topology.node(at).ports[usize::from(first)];
            let link = self.topology.link(port);
            let choices = u16::try_from(next.len()).unwrap_or(u16::MAX);
            links.push((choices, link.rate, port.0));
            at = link.to;
        }
        links
    }
    fn longest_rtt(&self) -> Option<Span> {
        self.longest_rtt_with(self.encap)
    }
    fn longest_rtt_with(&self, encap: Encap) -> Option<Span> {
        let (_, longest, _) = if encap == self.encap {
            self.round_trips
        } else {
            round_trips(self.topology, self.routes, encap)
        };
        (longest > Span::ZERO).then_some(longest)
    }
}

/// The sizes of a transport's messages, listed when somebody asks.
struct Listed<'a> {
    traffic: &'a Traffic,
    lanes: &'a [u8],
    lane: u8,
    list: OnceCell<SizeList>,
}

impl Listed<'_> {
    /// Flows without an end have no size.
    fn list(&self) -> &SizeList {
        self.list.get_or_init(|| {
            let lane_of = |conn: u32| self.lanes.get(conn as usize).copied().unwrap_or(0);
            let messages = self.traffic.messages.iter();
            let own = messages.filter(|m| m.size < ENDLESS && lane_of(m.conn) == self.lane);
            own.map(|message| message.size).collect()
        })
    }
}

impl Sizes for Listed<'_> {
    fn messages_upto(&self, size: u64) -> f64 {
        self.list().messages_upto(size)
    }
    fn bytes_upto(&self, size: u64) -> f64 {
        self.list().bytes_upto(size)
    }
    fn mean(&self) -> f64 {
        self.list().mean()
    }
    fn largest(&self) -> u64 {
        self.list().largest()
    }
}

impl Scenario {
    /// Has every transport fill in what follows from network and messages, and adds the connections that it
    /// wants beside those of messages.
    pub(crate) fn settle(
        &mut self,
        fabric: Fabric<'_>,
        traffic: &mut Traffic,
        lanes: &mut Vec<u8>,
    ) -> Result<(), Vec<Diagnostic>> {
        let (mut errors, mut control) = (Vec::new(), Vec::new());
        for lane in 0..=u8::try_from(self.beside.len())
            .expect("a fabric has at most model::LANES transports")
        {
            let (drawn, listed) = (
                self.drawn_sizes(lane),
                Listed {
                    traffic,
                    lanes,
                    lane,
                    list: OnceCell::new(),
                },
            );
            let mut facts = Facts::of(fabric.encap);
            facts.net = Some(&fabric);
            facts.sizes = Some(drawn.as_ref().map_or(&listed, |drawn| drawn as &dyn Sizes));
            facts.load = self.load_of(lane);
            match self.factory_of(lane).settle(&facts) {
                Ok(None) => {}
                Ok(Some(settled)) => {
                    let asked = std::mem::replace(self.factory_mut(lane), settled);
                    self.asked.push((lane, asked));
                }
                Err(error) => {
                    let name = self.name_of(lane);
                    let what = if error.key.is_empty() {
                        format!("{name} cannot work in this network")
                    } else {
                        format!("{} cannot be used", parameter(name, &error.key))
                    };
                    let problem = match self.written_of(lane).at(&error.key) {
                        Some(at) => Diagnostic::at(at, what),
                        None => self.about(lane, what),
                    };
                    errors.push(problem.label(error.message));
                    continue;
                }
            }
            for (a, b) in self.factory_of(lane).control(&facts) {
                if a == b || a.0.max(b.0) >= fabric.topology.hosts {
                    let name = self.name_of(lane);
                    let what = format!("{name} joins host {} with host {}", a.0, b.0);
                    let most = fabric.topology.hosts - 1;
                    let problem = self.about(lane, what);
                    errors.push(problem.label(format!("there are hosts 0 to {most}")));
                    break;
                }
                control.push((a, b, lane));
            }
        }
        for (a, b, lane) in control {
            traffic.conns.push(Conn {
                a: a.0,
                b: b.0,
                one_shot: false,
            });
            if !self.beside.is_empty() {
                lanes.push(lane);
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// Asks every transport whether it can work with what the ports do.
    pub(crate) fn suit(
        &self,
        topology: &Topology,
        ports: &[Arc<PortSpec>],
        switch: &SwitchSpec,
    ) -> Result<(), Vec<Diagnostic>> {
        let by_rate: BTreeMap<Rate, &PortSpec> = topology
            .links
            .iter()
            .map(|link| link.rate)
            .zip(ports.iter().map(|port| &**port))
            .collect();
        let mut errors = Vec::new();
        for lane in 0..=u8::try_from(self.beside.len())
            .expect("a fabric has at most model::LANES transports")
        {
            let refused = by_rate.iter().find_map(|(&rate, &port)| {
                let mut own = PortSpec::clone(port);
                own.queues
                    .retain(|queue| queue.takes.lanes & 1 << lane != 0);
                let answer = self.factory_of(lane).suits(&own, switch);
                answer.err().map(|refusal| (rate, refusal))
            });
            if let Some((rate, refusal)) = refused {
                let name = self.name_of(lane);
                let (table, key) = refusal
                    .place
                    .rsplit_once('.')
                    .unwrap_or((refusal.place, ""));
                let what = format!("{name} does not work on this fabric");
                let written = self
                    .switch_section(table)
                    .filter(|table| table.is_given(key));
                let problem = match written {
                    Some(table) => table.problem(key, what),
                    None => self.about(lane, what),
                };
                let port = format!("at a port of {rate}, {name} {}", refusal.reason);
                errors.push(problem.label(port).help(refusal.instead));
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// The table of that name, of those that say what ports and switches do.
    fn switch_section(&self, name: &str) -> Option<&Section> {
        let all = [
            &self.switch.section,
            &self.credit.section,
            &self.mark.section,
            &self.drop.section,
            &self.legacy.section,
        ];
        all.into_iter().find(|section| section.name() == name)
    }

    pub(crate) fn factory_of(&self, lane: u8) -> &dyn Factory {
        match usize::from(lane).checked_sub(1) {
            None => &*self.factory,
            Some(place) => &*self.beside[place].factory,
        }
    }

    fn factory_mut(&mut self, lane: u8) -> &mut Box<dyn Factory> {
        match usize::from(lane).checked_sub(1) {
            None => &mut self.factory,
            Some(place) => &mut self.beside[place].factory,
        }
    }

    pub(crate) fn name_of(&self, lane: u8) -> &'static str {
        match usize::from(lane).checked_sub(1) {
            None => self.protocol.name(),
            Some(place) => self.beside[place].protocol.name(),
        }
    }

    fn written_of(&self, lane: u8) -> &Written {
        match usize::from(lane).checked_sub(1) {
            None => &self.written,
            Some(place) => &self.beside[place].written,
        }
    }

    /// Something wrong with the transport of `lane`, where it is named.
    pub(crate) fn about(&self, lane: u8, what: String) -> Diagnostic {
        match self.sources_of(lane).next() {
            Some(source) if lane > 0 => source.section.problem("transport", what),
            _ => self.transport.problem("kind", what),
        }
    }

    /// The sources of messages that the transport of `lane` sends.
    fn sources_of(&self, lane: u8) -> impl Iterator<Item = &Settings<Workload>> {
        self.workloads
            .iter()
            .filter(move |source| traffic::lane(self, source) == lane)
    }

    /// The only source of a lane, if it is.
    fn only_source(&self, lane: u8) -> Option<&Settings<Workload>> {
        let mut sources = self.sources_of(lane);
        sources.next().filter(|_| sources.next().is_none())
    }

    /// The distribution that all messages of the transport are drawn from, where there is one.
    fn drawn_sizes(&self, lane: u8) -> Option<SizeDist> {
        let source = self.only_source(lane)?;
        match &source.kind {
            Source::Random(of) => traffic::distribution(&source.section, of).ok(),
            _ => None,
        }
    }

    fn load_of(&self, lane: u8) -> Option<f64> {
        self.only_source(lane)?.kind.load()
    }
}
