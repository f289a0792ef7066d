//! What tests of the parts share: one step of an endpoint, and a transport and a flow control that do nothing.

use crate::forms::{Count, Takes};
use crate::keys::{self, Profiles};
use crate::{
    Control, ControlFactory, Described, Fabric, Factory, Neighbour, ParamError, Parameter, Place,
    Transport,
};
use model::wire::Codec;
use model::{
    ConnId, Counter, Cx, Encap, Endpoint, EndpointConfig, Event, Facts, Gates, HostId, Lifetime,
    Packet, Peers, Rng, StuckFlow, Totals, Transmit, stream,
};
use switching::FlowControl;
use toml::Table;
use units::{Bytes, Rate, Time};

/// One step after the other, at one moment.
pub(crate) struct Bench {
    pub(crate) now: Time,
    pub(crate) events: Vec<Event>,
    pub(crate) gates: Gates,
    rng: Rng,
}

struct Nobody;
impl Peers for Nobody {
    fn peer(&self, _: HostId, _: ConnId) -> Option<HostId> {
        None
    }
}

impl Bench {
    pub(crate) fn at(now: Time) -> Self {
        Self {
            now,
            events: Vec::new(),
            gates: Gates::default(),
            rng: Rng::stream(1, stream::TEST, 0),
        }
    }

    /// Hands in a step; accepted payload is told.
    pub(crate) fn cx(&mut self) -> Cx<'_> {
        Cx {
            now: self.now,
            rng: &mut self.rng,
            events: &mut self.events,
            peers: &Nobody,
            gates: &self.gates,
            wants_data: true,
        }
    }
}

pub(crate) fn facts() -> Facts<'static> {
    Facts::of(Encap::PAPER)
}

pub(crate) fn place<'a>(lines: &'a [Neighbour<'a>]) -> Place<'a> {
    Place {
        lines,
        memory: Bytes(0),
        frame: 1538,
        rng: Rng::stream(1, stream::TEST, 0),
    }
}

/// The flow control "gates", which says no more than it must.
#[derive(Debug)]
pub(crate) struct NoControl;

impl Control for NoControl {
    fn name(&self) -> &'static str {
        "gates"
    }
    fn summary(&self) -> &'static str {
        "does nothing"
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn configure(&self, _: &Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(Self))
    }
}

impl ControlFactory for NoControl {
    fn make(&self, _: &Place<'_>) -> Box<dyn FlowControl> {
        unreachable!("no test runs a switch with it")
    }
    fn memory(&self) -> Bytes {
        Bytes(0)
    }
    fn resolved(&self) -> Table {
        Table::new()
    }
}

mod header {
    model::header! {
        pub(super) static CODEC: "named" = 250;
        /// Says nothing.
        Empty = 1 "EMPTY" Control {}
    }
}

/// A transport of that name, which says no more than it must.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) &'static str);

impl Transport for Named {
    fn name(&self) -> &'static str {
        self.0
    }
    fn summary(&self) -> &'static str {
        "does nothing"
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn configure(&self, _: &Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(Odd::NONE))
    }
}

crate::params! {
    /// What can be set of [`Odd`].
    #[derive(Clone, Debug)]
    pub(crate) struct Params {
        odd: Odd = Odd::NONE;
    }
    pub(crate) static KEYS {
        /// packets on the way
        window: u16 = 10, Count(1, 1000), "[ours]";
        /// packets at once
        burst: u16 = 2, Count(1, 1000), "[ours]";
    }
}

pub(crate) const PROFILES: &Profiles<Params> = &[
    ("calm", || Params::DEFAULT),
    ("bold", || Params {
        window: 99,
        ..Params::DEFAULT
    }),
];

/// A transport with two parameters, and one thing about it that must not be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Odd {
    pub(crate) summary: &'static str,
    /// What it adds to a window that it reads.
    pub(crate) drift: u16,
    /// Whether it takes keys that it does not know.
    pub(crate) deaf: bool,
    /// Whether its errors name no key.
    pub(crate) mute: bool,
    pub(crate) change: fn(&mut Parameter),
    pub(crate) declared: &'static [Counter],
    pub(crate) reported: &'static [Counter],
}

impl Odd {
    pub(crate) const NONE: Self = Self {
        summary: "does nothing",
        drift: 0,
        deaf: false,
        mute: false,
        change: |_| {},
        declared: &[],
        reported: &[],
    };

    fn read(self, table: &Table) -> Result<Params, ParamError> {
        let (_, mut params) = keys::profile(table, PROFILES)?;
        params.odd = self;
        match keys::apply(KEYS, table, &mut params) {
            Err(_) if self.deaf => {}
            Err(error) if self.mute => {
                return Err(keys::error("", error.message.len().to_string()));
            }
            other => other?,
        }
        if table.contains_key("window") && table.contains_key("burst") {
            params.window += self.drift;
        }
        Ok(params)
    }
}

impl Transport for Odd {
    fn name(&self) -> &'static str {
        "odd"
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = keys::document(PROFILES, KEYS, &Params::DEFAULT);
        (self.change)(&mut parameters[1]);
        parameters
    }
    fn counters(&self) -> &'static [Counter] {
        self.declared
    }
    fn configure(&self, table: &Table) -> Result<Box<dyn Factory>, ParamError> {
        Ok(Box::new(self.read(table)?))
    }
}

impl Control for Odd {
    fn name(&self) -> &'static str {
        "odd"
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn parameters(&self) -> Vec<Parameter> {
        Transport::parameters(self)
    }
    fn configure(&self, table: &Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(self.read(table)?))
    }
}

impl ControlFactory for Params {
    fn make(&self, _: &Place<'_>) -> Box<dyn FlowControl> {
        unreachable!("no test runs a switch with it")
    }
    fn memory(&self) -> Bytes {
        Bytes(0)
    }
    fn resolved(&self) -> Table {
        keys::write(KEYS, "calm", self)
    }
}

impl Described for Params {
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn resolved(&self) -> Table {
        keys::write(KEYS, "calm", self)
    }
}

impl Factory for Params {
    fn make(&self, _: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Silent(self.odd.reported))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric::default()
    }
}

impl Described for Odd {
    fn codec(&self) -> &'static dyn Codec {
        &header::CODEC
    }
    fn resolved(&self) -> Table {
        Table::new()
    }
}

impl Factory for Odd {
    fn make(&self, _: &EndpointConfig) -> Box<dyn Endpoint> {
        Box::new(Silent(self.reported))
    }
    fn fabric(&self, _: Rate, _: Encap) -> Fabric {
        Fabric::default()
    }
}

/// An endpoint that counts and does nothing else.
struct Silent(&'static [Counter]);

impl Endpoint for Silent {
    fn connect(&mut self, _: &mut Cx<'_>, _: ConnId, _: HostId, _: Lifetime) {}
    fn send(&mut self, _: &mut Cx<'_>, _: ConnId, _: u64) {}
    fn cancel(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn forget(&mut self, _: &mut Cx<'_>, _: ConnId) {}
    fn on_packet(&mut self, _: &mut Cx<'_>, _: &Packet) {}
    fn on_deadline(&mut self, _: &mut Cx<'_>) {}
    fn poll_transmit(&mut self, _: &mut Cx<'_>, _: &mut Packet) -> Transmit {
        Transmit::Nothing
    }
    fn deadline(&self) -> Time {
        Time::NEVER
    }
    fn check(&self) {}
    fn stuck(&self, _: &mut dyn FnMut(StuckFlow)) {}
    fn totals(&self) -> Totals {
        Totals::default()
    }
    fn counters(&self, report: &mut model::Count<'_>) {
        self.0.iter().for_each(|counter| report(counter, 0));
    }
}

/// A parameter that takes nothing that can be said.
pub(crate) fn takes_nothing(parameter: &mut Parameter) {
    parameter.takes = Takes::Other("", &[]);
}
