//! What a flow control makes of a port, or why it cannot.

use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use crate::warnings;
use model::intent::PortSpec;
use transports::{ControlFactory, Factory, Refusal, Transport};
use units::Rate;

/// What the flow control of `scenario` makes of a port.
pub(super) fn controlled(
    scenario: &Scenario,
    rate: Rate,
    port: PortSpec,
) -> Result<PortSpec, Vec<Diagnostic>> {
    let Some(control) = &scenario.control else {
        return Ok(port);
    };
    let wrong = |what: String| scenario.switch.section.problem("flow_control", what);
    if scenario.switch.host_queue {
        let what = "queues of hosts cannot be paused: they have promised their lines".to_owned();
        let help = "remove switch.host_queue, or switch.flow_control";
        return Err(vec![wrong(what).help(help)]);
    }
    control.factory.port(port).map_err(|refusal| {
        let name = control.kind.name();
        let what = format!("{name} does not work with these ports");
        let blamed = blamed(scenario, rate, &*control.factory, &refusal);
        let names = blamed.join(" and ");
        let label = format!("at a port of {rate} for {names}, it {}", refusal.reason);
        let help = match relative(scenario, rate, &*control.factory) {
            Some(other) => {
                let works = format!("or set transport.kind = \"{other}\", which works with it");
                format!("{}; {works}", refusal.instead)
            }
            None if blamed.len() > scenario.beside.len() => refusal.instead,
            None => format!("{}; this is about {names} alone", refusal.instead),
        };
        vec![wrong(what).label(label).help(help)]
    })
}

/// The transports whose own ports a flow control refuses for the same reason; all of them, where it is the port of them
/// together.
fn blamed(
    scenario: &Scenario,
    rate: Rate,
    control: &dyn ControlFactory,
    why: &Refusal,
) -> Vec<&'static str> {
    let buffer = scenario.switch.buffer.at(rate);
    let refused = |factory: &dyn Factory| {
        let port = factory.fabric(rate, scenario.encap).port(buffer);
        control
            .port(port)
            .is_err_and(|own| own.reason == why.reason)
    };
    let all = warnings::transports(scenario).map(|(of, factory)| (of.name(), refused(factory)));
    let all: Vec<_> = all.collect();
    let none = !all.iter().any(|&(_, refused)| refused);
    let blamed = all.into_iter().filter(|&(_, refused)| none || refused);
    blamed.map(|(name, _)| name).collect()
}

/// A transport of the same family as the only one of `scenario`, whose ports a flow control takes.
fn relative(scenario: &Scenario, rate: Rate, control: &dyn ControlFactory) -> Option<&'static str> {
    let own = scenario.protocol.name();
    let family = own.split('+').next();
    let buffer = scenario.switch.buffer.at(rate);
    let works = |other: &&dyn Transport| {
        let factory = other.configure(&toml::Table::new()).ok();
        factory.is_some_and(|factory| {
            let port = factory.fabric(rate, scenario.encap).port(buffer);
            control.port(port).is_ok()
        })
    };
    let registry = transports::registry();
    let others = registry
        .iter()
        .filter(|other| other.name() != own && other.name().split('+').next() == family);
    let mut others = others.filter(|_| scenario.beside.is_empty());
    others.find(works).map(Transport::name)
}
