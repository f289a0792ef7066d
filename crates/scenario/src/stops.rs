//! What pauses have done that no run should end with, in words.

use crate::assemble::{Assembled, HELD_NAMED};
use results::human;
use sim::{Locked, Outcome};
use std::fmt::Write as _;
use topology::LinkId;
use units::Span;

impl Assembled {
    fn line_name(&self, link: LinkId) -> String {
        let link = self.topology.link(link);
        let node = |id| self.topology.node(id).name.as_str();
        format!("{} -> {}", node(link.from), node(link.to))
    }

    /// A circle of ports that wait for each other, in words.
    pub(crate) fn deadlock(&self, locked: &Locked) -> String {
        let circle = locked.circle.iter().chain(locked.circle.first());
        let names: Vec<String> = circle.map(|&link| self.line_name(link)).collect();
        format!(
            "deadlock: {}: each of these ports waits for the next, and none may send since {}; found at {}",
            names.join(" waits for "),
            human::time(Span(locked.since.0)),
            human::time(Span(locked.found.0)),
        )
    }

    /// What pauses have done that no run should end with.
    pub(crate) fn pause_warnings(&self, outcome: &Outcome) -> Vec<String> {
        let name = |&link: &LinkId| self.line_name(link);
        let mut warnings = Vec::new();
        let mut trips = outcome.counts.get("watchdog").copied().unwrap_or(0);
        for locked in &outcome.locked {
            let mut said = self.deadlock(locked);
            if locked.circle != outcome.deadlock {
                said += ", and opened since";
            }
            if trips > 0 {
                let _ = write!(said, "; the watchdog let packets go {trips} times");
                trips = 0; // said once
            }
            warnings.push(said);
        }
        if outcome.idle && outcome.deadlock.is_empty() && !outcome.held.is_empty() {
            let names: Vec<String> = outcome.held.iter().take(HELD_NAMED).map(name).collect();
            warnings.push(format!(
                "{} ports still hold packets back that nobody will let go: {}",
                outcome.held.len(),
                names.join(", ")
            ));
        }
        if !outcome.idle && !outcome.held.is_empty() {
            let names: Vec<String> = outcome.held.iter().take(HELD_NAMED).map(name).collect();
            warnings.push(format!(
                "{} lines have long been paused, with messages that wait: {}",
                outcome.held.len(),
                names.join(", ")
            ));
        }
        if outcome.ignored > 0 {
            warnings.push(format!(
                "hosts have ignored {} pauses of flows because {} others were paused",
                outcome.ignored,
                model::PAUSED_MAX
            ));
        }
        warnings
    }
}
