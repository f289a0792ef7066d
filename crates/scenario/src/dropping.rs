//! What a scenario says of marking and of dropping one class first.

use crate::assemble::Assembled;
use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use crate::value::Room;
use model::Class;
use model::intent::{DropBy, DropMeasure, DropSpec, MarkAt, MarkSpec, PortSpec, QueueSpec};
use sim::{Outcome, PortCounters};
use units::{Bytes, Rate};

/// The marking of ports at `rate`: what the transport asked for, and what the scenario says on top.
pub(crate) fn mark_of(
    scenario: &Scenario,
    rate: Rate,
    asked: Option<MarkSpec>,
) -> Result<Option<MarkSpec>, Diagnostic> {
    let (said, section) = (&scenario.mark, &scenario.mark.section);
    let at = |room: Option<Room>| room.map(|room| room.at(rate));
    let (min, max) = (at(said.min), at(said.max));
    if asked.is_none() && min.is_none() && max.is_none() {
        let others = [
            ("at", said.at.is_some()),
            ("drop_others", said.drop_others.is_some()),
            ("chance", said.chance.is_some()),
        ];
        return match others.into_iter().find(|&(_, is_said)| is_said) {
            None => Ok(None),
            Some((key, _)) => Err(section
                .problem(
                    key,
                    format!("{} asks for no marking", scenario.protocol.name()),
                )
                .help("add min = \"...\", the queue from which on packets are marked")),
        };
    }
    let mut mark = asked.unwrap_or(MarkSpec {
        min: Bytes(0),
        max: Bytes(0),
        chance: 1.0,
        at: MarkAt::Enqueue,
        drop_others: false,
    });
    if min.is_some() || max.is_some() {
        mark.min = min.or(max).expect("one is set");
        mark.max = max.or(min).expect("one is set");
    }
    if mark.min > mark.max {
        return Err(section
            .problem(
                "max",
                format!("max = {} lies below min = {}", mark.max, mark.min),
            )
            .help("raise max, or leave it out for a step at min"));
    }
    mark.chance = said.chance.unwrap_or(mark.chance);
    mark.at = said.at.unwrap_or(mark.at);
    mark.drop_others = said.drop_others.unwrap_or(mark.drop_others);
    if mark.at == MarkAt::Dequeue && mark.drop_others {
        let key = if said.drop_others.is_some() {
            "drop_others"
        } else {
            "at"
        };
        return Err(section
            .problem(
                key,
                "a port that measures its queue when a packet leaves cannot drop it in place of a mark",
            )
            .help("write at = \"enqueue\", or drop_others = false"));
    }
    Ok(Some(mark))
}

/// The same of what ports drop first.
pub(crate) fn drop_of(
    scenario: &Scenario,
    rate: Rate,
    asked: Option<DropSpec>,
) -> Result<Option<DropSpec>, Diagnostic> {
    let (said, section) = (&scenario.drop, &scenario.drop.section);
    if asked.is_none() && !section.any_given() {
        return Ok(None);
    }
    let missing = |key: &str| {
        section
            .problem(key, format!("switch.drop.{key} is missing"))
            .label(format!(
                "{} asks for no selective dropping",
                scenario.protocol.name()
            ))
            .help("give both victim and threshold")
    };
    let victim = match said.victim {
        Some(class) => class,
        None => asked.map(|d| d.victim).ok_or_else(|| missing("victim"))?,
    };
    let threshold = match said.threshold {
        Some(room) => room.at(rate),
        None => asked
            .map(|d| d.threshold)
            .ok_or_else(|| missing("threshold"))?,
    };
    let hosts = asked.map(|d| d.by);
    let (measure, by) = asked.map_or((DropMeasure::Queue, DropBy::Class), |d| (d.measure, d.by));
    let measure = said.measure.unwrap_or(measure);
    let by = said.by.unwrap_or(by);
    if let Some(hosts) = hosts.filter(|&hosts| hosts != by) {
        let name = scenario.protocol.name();
        let [ports, hosts] = [by, hosts].map(|by| match by {
            DropBy::Class => "class",
            DropBy::Ecn => "ecn",
        });
        return Err(section
            .problem(
                "by",
                format!("ports tell packets apart by {ports}, and hosts of {name} are set for {hosts}"),
            )
            .help("leave switch.drop.by out, and set switch.selective_drop, which tells hosts and ports"));
    }
    Ok(Some(DropSpec {
        victim,
        threshold,
        measure,
        by,
    }))
}

/// Whether a queue drops one class first.
fn by_class(queue: &QueueSpec) -> bool {
    queue.drop.is_some_and(|drop| drop.by == DropBy::Class)
}

fn drops_by_class(port: &PortSpec) -> bool {
    port.queues.iter().any(by_class)
}

/// Where ports are to drop a class first that never joins the queue which drops.
pub(crate) fn spared(scenario: &Scenario, port: &PortSpec) -> Option<Diagnostic> {
    let section = &scenario.drop.section;
    let victim = scenario.drop.victim?;
    let joins = |trimmed| {
        let place = port.queue_of(0, victim, 0, trimmed);
        place.is_some_and(|place| by_class(&port.queues[place]))
    };
    // Frames of a link's own join no queue.
    let hit = victim != Class::Link && (joins(false) || joins(true));
    (drops_by_class(port) && !hit).then(|| {
        let name = victim.name();
        section
            .problem(
                "victim",
                format!("packets of class {name} wait apart from the queue that drops them first"),
            )
            .help("choose a class that waits with others, like \"unscheduled\" or \"plain\"")
    })
}

impl Assembled {
    /// Where ports drop a class first that nobody has sent.
    pub(crate) fn never_dropped(&self, outcome: &Outcome) -> Option<String> {
        let victim = self.scenario.drop.victim?;
        let drops = self.ports.iter().any(|port| drops_by_class(port));
        let sent = |port: &PortCounters| port.packets[victim] + port.dropped[victim] > 0;
        (drops && !outcome.ports.iter().any(sent)).then(|| {
            format!(
                "switch.drop.victim = \"{0}\", and nobody has sent a packet of class {0}",
                victim.name()
            )
        })
    }
}
