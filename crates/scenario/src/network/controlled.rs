//! What a flow control makes of a port, or why it cannot.

use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use model::intent::PortSpec;
use transports::{ControlFactory, Transport};
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
        let beside = scenario.beside.iter().map(|beside| beside.protocol.name());
        let all: Vec<_> = std::iter::once(scenario.protocol.name())
            .chain(beside)
            .collect();
        let label = format!(
            "at a port of {rate} for {}, it {}",
            all.join(" and "),
            refusal.reason
        );
        let help = match relative(scenario, rate, &*control.factory) {
            Some(other) => {
                let works = format!("or set transport.kind = \"{other}\", which works with it");
                format!("{}; {works}", refusal.instead)
            }
            None => refusal.instead,
        };
        vec![wrong(what).label(label).help(help)]
    })
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
