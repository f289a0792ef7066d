//! A queue and a pause for every flow.
#![doc = include_str!("README.md")]

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::ports::{holds_a_frame, hop_bytes, is_data, part, split};
use model::intent::{Order, PortSpec};
use model::{ConnId, PAUSED_MAX, Packet, Signal};
use parts::{Control, ControlFactory, ParamError, Parameter, Place, Refusal};
use std::collections::BTreeMap;
use switching::{FlowControl, GateOf, GateState, Passage, Say};
use units::{Bytes, Span, Time};

/// The flow control, for a registry.
pub static IDEAL: Kind = Kind;

/// A queue and a pause for every flow.
#[derive(Debug)]
pub struct Kind;

impl Control for Kind {
    fn name(&self) -> &'static str {
        "ideal"
    }
    fn summary(&self) -> &'static str {
        "a queue and a pause for every flow at every port: what schemes with few queues are measured by"
    }
    fn parameters(&self) -> Vec<Parameter> {
        params::parameters()
    }
    fn configure(&self, table: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(Params::read(table)?))
    }
}

impl ControlFactory for Params {
    fn make(&self, place: &Place<'_>) -> Box<dyn FlowControl> {
        Box::new(Ideal::new(self, place))
    }
    fn port(&self, port: PortSpec) -> Result<PortSpec, Refusal> {
        split("ideal", port, Order::PerFlow)
    }
    fn memory(&self) -> Bytes {
        Bytes(1_000_000_000)
    }
    fn suits(&self, place: &Place<'_>) -> Result<(), Refusal> {
        holds_a_frame(place)
    }
    fn lost_frames(&self) -> Option<String> {
        let help = "a pause whose resume is lost never ends, and nothing heals that: ideal is for links that lose none of \
                    its frames; choose another switch.flow_control";
        Some(help.to_owned())
    }
    fn figures(&self, place: &Place<'_>) -> Vec<(String, String)> {
        let ideal = Ideal::new(self, place);
        let first = ideal.ports.first().map_or(0, |port| port.threshold);
        let value = format!("{} by the number of flows that may send", Bytes(first));
        vec![("threshold of port 0".to_owned(), value)]
    }
    fn resolved(&self) -> toml::Table {
        Self::resolved(self)
    }
}

/// The flow control of one switch.
struct Ideal {
    xon: f64,
    ports: Vec<Port>,
}

/// What an egress port knows.
struct Port {
    /// Bytes that a flow may hold where it is alone.
    threshold: u64,
    flows: BTreeMap<ConnId, Flow>,
    /// Flows that have bytes here and may send them.
    active: u64,
    /// Flows that the next switch does not want.
    stopped: usize,
}

#[derive(Default)]
struct Flow {
    held: u64,
    /// The next switch does not want it.
    stopped: bool,
    /// Ports whose neighbours have been asked to pause it.
    paused: Vec<u16>,
}

impl Flow {
    fn is_active(&self) -> bool {
        self.held > 0 && !self.stopped
    }
}

impl Ideal {
    fn new(params: &Params, place: &Place<'_>) -> Self {
        let port = |line| Port {
            threshold: part(params.threshold, hop_bytes(place, line)),
            flows: BTreeMap::new(),
            active: 0,
            stopped: 0,
        };
        Self {
            xon: params.xon,
            ports: place.lines.iter().map(port).collect(),
        }
    }
}

impl Port {
    /// Changes what is known of a flow, and forgets it where nothing is left to know.
    fn change<T>(&mut self, conn: ConnId, change: impl FnOnce(&mut Flow) -> T) -> T {
        let flow = self.flows.entry(conn).or_default();
        let before = (flow.is_active(), flow.stopped);
        let result = change(flow);
        let after = (flow.is_active(), flow.stopped);
        if flow.held == 0 && !flow.stopped && flow.paused.is_empty() {
            self.flows.remove(&conn);
        }
        self.active = self.active + u64::from(after.0) - u64::from(before.0);
        self.stopped = self.stopped + usize::from(after.1) - usize::from(before.1);
        result
    }
}

impl FlowControl for Ideal {
    fn admits(&mut self, passage: &Passage<'_>, free: u64) -> Option<bool> {
        Some(u64::from(passage.packet.size) <= free)
    }

    fn arrived(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !is_data(passage.packet.class()) {
            return;
        }
        let port = &mut self.ports[usize::from(passage.egress)];
        let (conn, ingress) = (passage.packet.conn, passage.ingress);
        port.change(conn, |flow| flow.held += u64::from(passage.packet.size));
        let most = port.threshold / port.active.max(1);
        port.change(conn, |flow| {
            if flow.held > most && !flow.paused.contains(&ingress) {
                flow.paused.push(ingress);
                say.pause(ingress, Signal::PauseFlow(conn), Span::ZERO);
            }
        });
    }

    fn left(&mut self, _: Time, passage: &Passage<'_>, say: &mut Say) {
        if !is_data(passage.packet.class()) {
            return;
        }
        let port = &mut self.ports[usize::from(passage.egress)];
        let conn = passage.packet.conn;
        let least = part(self.xon, port.threshold / port.active.max(1));
        port.change(conn, |flow| {
            flow.held -= u64::from(passage.packet.size);
            if flow.held <= least {
                for ingress in flow.paused.drain(..) {
                    say.frame(ingress, Signal::ResumeFlow(conn).frame());
                }
            }
        });
    }

    fn heard(&mut self, _: Time, number: u16, frame: &Packet, say: &mut Say) {
        let port = &mut self.ports[usize::from(number)];
        let (conn, stop) = match Signal::of(frame) {
            Some(Signal::PauseFlow(conn)) if port.stopped < PAUSED_MAX => (conn, true),
            Some(Signal::ResumeFlow(conn)) => (conn, false),
            _ => return,
        };
        if port.change(conn, |flow| std::mem::replace(&mut flow.stopped, stop)) != stop {
            let state = if stop {
                GateState::Closed
            } else {
                GateState::Open
            };
            say.gate(number, GateOf::Flow(conn), state);
        }
    }

    fn check(&self) {
        for port in &self.ports {
            let count = |is: fn(&Flow) -> bool| port.flows.values().filter(|flow| is(flow)).count();
            assert_eq!(
                count(Flow::is_active) as u64,
                port.active,
                "flows that may send"
            );
            assert_eq!(
                count(|flow| flow.stopped),
                port.stopped,
                "flows that may not"
            );
            let waits = |flow: &Flow| flow.held == 0 && !flow.paused.is_empty();
            assert_eq!(count(waits), 0, "a pause that nothing ends");
        }
    }
}
