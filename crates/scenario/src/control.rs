//! The flow control of a scenario, at each of its switches.

use crate::diagnostic::{Diagnostic, nearest};
use crate::resolve::{Reader, Scenario, quoted};
use crate::section::Section;
use crate::settings::Switch;
use crate::tree::Table;
use crate::typed::Settings;
use crate::value::Value;
use model::intent::{Memory, PortSpec};
use model::{Encap, Rng, stream};
use std::fmt::Write as _;
use std::sync::Arc;
use switching::FlowControl;
use topology::{LinkId, NodeId, NodeKind, Topology};
use transports::{Caution, Control, ControlFactory, NO_CONTROL, Neighbour, Place, Refusal};
use units::Bytes;

/// The key of `[switch]` that names a flow control.
const CONTROL: &str = "flow_control";
/// The memory of a switch, where a refusal is about it.
const MEMORY: &str = "switch.shared_buffer";

/// With a flow control, a port may hold this many times what is free of its switch's memory where nothing else is
/// written: nearly all of it. Pauses are to bound what it holds, and not drops. [ours]
const WHOLE_MEMORY: f64 = 1024.0;

/// A flow control with its parameters.
#[derive(Clone)]
pub struct Controlled {
    /// The flow control itself.
    pub kind: &'static dyn Control,
    /// The flow control with its parameters.
    pub factory: Arc<dyn ControlFactory>,
}

impl Reader<'_> {
    /// The flow control that `[switch]` names, and what follows for the memory of switches; `None` where it cannot
    /// be used.
    #[allow(clippy::option_option, reason = "a switch may have none")]
    pub(crate) fn control(&mut self, switch: &mut Section) -> Option<Option<Controlled>> {
        let Some(name) = switch.value::<Option<String>>(CONTROL) else {
            return Some(None);
        };
        if name == NO_CONTROL {
            return Some(None);
        }
        let Some(kind) = self.transports.control(&name) else {
            let d = switch
                .problem(CONTROL, "switch.flow_control cannot be used")
                .label(format!("\"{name}\" is not known here"));
            let names = self.transports.control_names();
            self.errors
                .push(match nearest(&name, names.iter().copied()) {
                    Some(near) => d.help(format!("did you mean \"{near}\"?")),
                    None => d.help(format!("use one of {}", quoted(&names))),
                });
            return None;
        };
        let path = format!("switch.{name}");
        let written = self.written_of("switch", &name);
        let table = written.and_then(|(at, node)| Some((at, node.table()?.clone())));
        let (header, parameters) = table.unwrap_or_else(|| (switch.header().clone(), Table::new()));
        let known: Vec<_> = kind.parameters().iter().map(|p| p.key).collect();
        let known = (path.as_str(), known.as_slice());
        let factory =
            self.read_parameters(parameters, known, &header, |table| kind.configure(table))?;
        switch.assume_anew("shared_buffer", Value::Bytes(factory.memory()));
        switch.assume("shared_alpha", Value::Number(WHOLE_MEMORY));
        let factory = Arc::from(factory);
        Some(Some(Controlled { kind, factory }))
    }
}

/// Makes the flow control of every switch of a run.
pub(crate) struct Controls {
    of: Controlled,
    memory: Bytes,
    frame: u64,
    seed: u64,
    ports: Vec<Arc<PortSpec>>,
}

impl Controls {
    /// That of `scenario`, if it has one, where its links have these `ports`.
    pub(crate) fn new(scenario: &Scenario, encap: Encap, ports: &[Arc<PortSpec>]) -> Option<Self> {
        let memory = match crate::network::switch(&scenario.switch).memory {
            Memory::Shared { size, .. } => size,
            Memory::PerPort => Bytes(0),
        };
        scenario.control.clone().map(|of| Self {
            of,
            memory,
            frame: encap.wire_max().into(),
            seed: scenario.run.seed,
            ports: ports.to_vec(),
        })
    }

    /// Calls `then` with what the flow control is told of the switch `node`.
    fn with_place<T>(
        &self,
        topology: &Topology,
        node: NodeId,
        then: impl FnOnce(&Place<'_>) -> T,
    ) -> T {
        let neighbour = |&number: &LinkId| {
            let (there, back) = (topology.link(number), topology.link(number.reverse()));
            Neighbour {
                rate: there.rate,
                back: back.rate,
                round: there.delay + back.delay,
                is_host: topology.is_host(there.to),
                port: &self.ports[number.index()],
            }
        };
        let lines: Vec<_> = topology.node(node).ports.iter().map(neighbour).collect();
        // Beyond the streams of links and of switches' balance.
        let own = (1 << 33) + u64::from(node.0);
        then(&Place {
            lines: &lines,
            memory: self.memory,
            frame: self.frame,
            rng: Rng::stream(self.seed, stream::PORT, own),
        })
    }

    /// The flow control of the switch `node`.
    pub(crate) fn make(&self, topology: &Topology, node: NodeId) -> Box<dyn FlowControl> {
        self.with_place(topology, node, |place| self.of.factory.make(place))
    }

    /// Whether the flow control can do its work at every switch.
    ///
    /// # Errors
    /// The switch, what it lacks, and the nearest that works.
    pub(crate) fn suits(
        &self,
        switch: &Settings<Switch>,
        topology: &Topology,
    ) -> Result<(), Diagnostic> {
        let switches = (0..).map(NodeId).zip(&topology.nodes);
        let switches = switches.filter(|(_, node)| node.kind == NodeKind::Switch);
        let mut refused: Option<(Refusal, Bytes, &str)> = None;
        for (number, node) in switches {
            let suits = |place: &Place<'_>| {
                let refusal = self.of.factory.suits(place).err();
                refusal.map(|refusal| (refusal, self.of.factory.needs(place)))
            };
            // Of memory, the one that needs most: what helps there helps everywhere.
            if let Some((refusal, needs)) = self.with_place(topology, number, suits)
                && refused.as_ref().is_none_or(|(first, most, _)| {
                    [first.place, refusal.place] == [MEMORY; 2] && needs > *most
                })
            {
                refused = Some((refusal, needs, &node.name));
            }
        }
        let Some((refusal, _, node)) = refused else {
            return Ok(());
        };
        let name = self.of.kind.name();
        let key = match refusal.place {
            MEMORY if switch.shared_buffer.is_given => "shared_buffer",
            _ => CONTROL,
        };
        Err(switch
            .section
            .problem(key, format!("{name} cannot work at {node}"))
            .label(match refusal.place {
                "switch.flow_control" => format!("it {}", refusal.reason),
                place => format!("{place} {}", refusal.reason),
            })
            .help(refusal.instead))
    }

    /// What should be known of it under a transport of so many priorities: at the first of the switches that lack the most,
    /// with what helps at all of them.
    pub(crate) fn warns(&self, topology: &Topology, priorities: u8) -> Option<String> {
        let switches = || {
            let all = (0..).map(NodeId).zip(&topology.nodes);
            all.filter(|(_, node)| node.kind == NodeKind::Switch)
        };
        let mut worst: Option<(Caution, &str)> = None;
        for (number, node) in switches() {
            let warns = |place: &Place<'_>| self.of.factory.warns(place, priorities);
            if let Some(caution) = self.with_place(topology, number, warns)
                && worst
                    .as_ref()
                    .is_none_or(|(most, _)| caution.lacks > most.lacks)
            {
                worst = Some((caution, &node.name));
            }
        }
        let (caution, node) = worst?;
        let (mut keys, mut refused) = (caution.keys, None);
        if let Some(with) = &caution.with {
            let needs = |place: &Place<'_>| with.needs(place);
            let needs = switches().map(|(number, _)| self.with_place(topology, number, needs));
            let needs = needs.max().unwrap_or_default().get().next_multiple_of(1000);
            let memory = self.memory.max(Bytes(needs));
            if memory > self.memory {
                keys.push(format!("switch.shared_buffer = \"{}KB\"", needs / 1000));
            }
            let suits = |place: &Place<'_>| {
                let place = Place {
                    memory,
                    ..place.clone()
                };
                with.suits(&place).err()
            };
            refused = switches().find_map(|(number, _)| self.with_place(topology, number, suits));
        }
        let mut said = format!("{} at {node}: {}", self.of.kind.name(), caution.said);
        if !keys.is_empty() {
            let _ = write!(said, "; set {}", keys.join(" and "));
        }
        if let Some(Refusal {
            place,
            reason,
            instead,
        }) = refused
        {
            let _ = write!(said, "; then {place} {reason}: {instead}");
        }
        Some(said)
    }

    /// What follows for the first switch, as names and values.
    pub(crate) fn figures(&self, topology: &Topology) -> Vec<(String, String)> {
        let switches = (0..).zip(&topology.nodes);
        let mut switches = switches.filter(|(_, node)| node.kind == NodeKind::Switch);
        let Some((number, node)) = switches.next() else {
            return Vec::new();
        };
        let name = self.of.kind.name();
        let figures = self.with_place(topology, NodeId(number), |place| {
            self.of.factory.figures(place)
        });
        let said = |(what, value)| (format!("{name} {what} at {}", node.name), value);
        figures.into_iter().map(said).collect()
    }
}
