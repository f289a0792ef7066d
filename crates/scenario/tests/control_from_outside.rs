//! A flow control that is no part of tidegate: a crate of one's own adds it to the registry.

use model::{EndpointConfig, Packet};
use scenario::load_text_with;
use switching::{FlowControl, Passage, Say};
use transports::{Control, ControlFactory, ParamError, Parameter, Place};
use units::{Bytes, Time};

/// It counts packets, and pauses nothing.
struct Counting;
static COUNTING: Counting = Counting;
struct Count(u64);

impl Control for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }
    fn summary(&self) -> &'static str {
        "counts"
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn configure(&self, _: &toml::Table) -> Result<Box<dyn ControlFactory>, ParamError> {
        Ok(Box::new(Self))
    }
}

impl ControlFactory for Counting {
    fn make(&self, _: &Place<'_>) -> Box<dyn FlowControl> {
        Box::new(Count(0))
    }
    fn memory(&self) -> Bytes {
        Bytes(1_000_000)
    }
    fn resolved(&self) -> toml::Table {
        toml::Table::new()
    }
}

impl FlowControl for Count {
    fn arrived(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {
        self.0 += 1;
    }
    fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
    fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
    fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        tell("packets", self.0);
    }
}

#[test]
fn a_flow_control_from_outside_takes_part() {
    let all = transports::registry().with_control(&COUNTING);
    let text =
        "[workload]\nkind = \"incast\"\nsenders = 4\n[switch]\nflow_control = \"counting\"\n";
    let scenario = load_text_with(&all, "t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let of = scenario.assemble().unwrap_or_else(|e| panic!("{e}"));
    let make = |config: &EndpointConfig| of.endpoint(config);
    let outcome = sim::run(&of.setup(&make, 1), &mut sim::Blind).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.conservation, Ok(()));
    assert_eq!(outcome.unfinished, 0);
    assert!(outcome.counts["packets"] > 100, "{:?}", outcome.counts);
}
