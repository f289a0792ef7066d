//! What pauses have done that no run should end with, in words.

use crate::assemble::Assembled;
use crate::cut::CutOff;
use crate::network;
use model::intent::Memory;
use model::{Class, DropReason};
use results::human;
use sim::{Fault, FaultKind, Locked, Outcome, PortCounters};
use std::fmt::Write as _;
use topology::LinkId;
use units::{Bytes, Span};

/// Lines that a warning names. [ours]
const NAMED: usize = 8;

const WATCHDOG: &str = "the watchdog let packets go";

/// The first of these lines, and how many there are beside.
pub(crate) fn first_of(lines: &[String]) -> String {
    let mut said = lines[..lines.len().min(NAMED)].join(", ");
    if lines.len() > NAMED {
        let _ = write!(said, " and {} more", lines.len() - NAMED);
    }
    said
}

impl Assembled {
    pub(crate) fn line_name(&self, link: LinkId) -> String {
        let link = self.topology.link(link);
        let node = |id| self.topology.node(id).name.as_str();
        format!("{} -> {}", node(link.from), node(link.to))
    }

    /// A circle of ports that wait for each other, in words.
    pub(crate) fn deadlock(&self, locked: &Locked) -> String {
        format!(
            "deadlock: {}: each of these ports waits for the next, and none may send since {}; found at {}",
            self.circle(locked),
            human::time(Span(locked.since.0)),
            human::time(Span(locked.found.0)),
        )
    }

    fn circle(&self, locked: &Locked) -> String {
        let circle = locked.circle.iter().chain(locked.circle.first());
        let names: Vec<String> = circle.map(|&link| self.line_name(link)).collect();
        names.join(" waits for ")
    }

    /// A circle that stood when a run was cut off, too short a time before to say more.
    fn suspected(&self, outcome: &Outcome) -> Option<String> {
        let locked = outcome
            .suspected
            .as_ref()
            .filter(|_| outcome.unfinished > 0)?;
        Some(format!(
            "when the run ended, {}, since {}: a deadlock, or one of a while; a longer run tells (run.until)",
            self.circle(locked),
            human::time(Span(locked.since.0)),
        ))
    }

    /// Faults that may lose frames of a flow control that nothing repeats, and what helps: said before a run.
    pub fn may_stop(&self) -> Option<String> {
        let control = self.scenario.control.as_ref()?;
        let loses = |fault: &Fault| match fault.kind {
            FaultKind::Loss { ppb, only, .. } => ppb > 0 && only.is_none_or(|of| of == Class::Link),
            FaultKind::Corrupt { ppb } => ppb > 0,
            FaultKind::Down { .. } => true,
            FaultKind::Duplicate { .. } | FaultKind::Reorder { .. } => false,
        };
        let how = if self.faults.iter().any(loses) {
            "faults may lose frames of"
        } else if self.reorders() {
            "by faults a resume may overtake the pause before it, as if it were lost, of"
        } else {
            return None;
        };
        let help = control.factory.lost_frames()?;
        let name = control.kind.name();
        Some(format!("{how} {name}: {help}"))
    }

    /// Whether faults let frames on a link overtake others.
    fn reorders(&self) -> bool {
        let reorders =
            |fault: &Fault| matches!(fault.kind, FaultKind::Reorder { ppb, .. } if ppb > 0);
        self.faults.iter().any(reorders)
    }

    /// What lost frames of the flow control have done to a run that did not finish, and what helps.
    pub(crate) fn lost_frames(&self, outcome: &Outcome) -> Option<String> {
        let control = self.scenario.control.as_ref()?;
        let lost: u64 = outcome
            .ports
            .iter()
            .map(|port| port.lost[Class::Link])
            .sum();
        if outcome.unfinished == 0 || lost == 0 && !self.reorders() {
            return None;
        }
        let help = control.factory.lost_frames()?;
        let name = control.kind.name();
        if lost == 0 {
            return Some(format!(
                "faults may have had a resume of {name} overtake the pause before it: {help}"
            ));
        }
        Some(format!(
            "faults lost {} of {name}: {help}",
            human::plural(lost, "frame", "frames")
        ))
    }

    /// Lines that pauses hold up for good, because frames that end them are said once and faults have lost some. None while a
    /// link is down, behind which others may wait for it.
    pub(crate) fn wait_for_a_lost_frame(&self, outcome: &Outcome, cut: &CutOff) -> u64 {
        if cut.is_any_down() || self.lost_frames(outcome).is_none() {
            return 0;
        }
        self.held(outcome, cut).len() as u64
    }

    /// Packets that found no room although a flow control is to lose nothing, and what helps.
    fn short_of_room(&self, outcome: &Outcome) -> Vec<String> {
        let Some(control) = &self.scenario.control else {
            return Vec::new();
        };
        let reasons = [DropReason::Memory, DropReason::Headroom].into_iter();
        let said = reasons.filter_map(|why| {
            let dropped = |port: &PortCounters| port.drop_reasons[why];
            let lost: u64 = outcome.ports.iter().map(dropped).sum();
            let mut help = control.factory.short_of_room(why).filter(|_| lost > 0)?;
            let trips = outcome.counts.get("watchdog").copied().unwrap_or(0);
            if trips > 0 && why == DropReason::Headroom {
                help =
                    format!("{WATCHDOG} {trips} times, which nobody expects who had them paused");
            }
            let least = match network::switch(&self.scenario.switch).memory {
                Memory::Shared { size, .. } if why == DropReason::Memory => {
                    let wanted = control.factory.memory().max(Bytes(2 * size.get()));
                    format!(" than {size}, like {wanted}")
                }
                Memory::Shared { .. } | Memory::PerPort => String::new(),
            };
            Some(format!(
                "{} dropped that {} is to lose none of, {}: {help}{least}",
                human::plural(lost, "packet was", "packets were"),
                control.kind.name(),
                why.name(),
            ))
        });
        said.collect()
    }

    /// Lines that pauses hold up at the end, those between switches first; none that is down, either way.
    fn held(&self, outcome: &Outcome, cut: &CutOff) -> Vec<String> {
        let held = outcome.held.iter().copied();
        let mut held: Vec<LinkId> = held.filter(|&link| !cut.is_down(link)).collect();
        held.sort_by_key(|&link| {
            let of = self.topology.link(link);
            of.from.0 < self.topology.hosts || of.to.0 < self.topology.hosts
        });
        held.into_iter().map(|link| self.line_name(link)).collect()
    }

    /// Timers that took a pause for a loss.
    fn outlasted(&self, outcome: &Outcome) -> Option<String> {
        self.scenario.control.as_ref()?;
        let totals = &outcome.totals;
        let ports = || outcome.ports.iter();
        let of_data =
            |(class, &count): (Class, &u64)| if class == Class::Credit { 0 } else { count };
        let gone = |port: &PortCounters| {
            let dropped: u64 = port.dropped.iter().map(of_data).sum();
            dropped + port.lost.sum()
        };
        let paused = ports().any(|port| port.paused > Span::ZERO);
        if !paused
            || totals.retransmitted == 0
            || ports().any(|port| gone(port) > 0)
            || self.overtakes()
        {
            return None;
        }
        let beside = self.scenario.beside.iter().map(|beside| beside.protocol);
        let all = std::iter::once(self.scenario.protocol).chain(beside);
        let names: Vec<String> = all.map(|of| format!("transport.{}", of.name())).collect();
        Some(format!(
            "{} sent again, and nothing was lost or overtaken: pauses can outlast what a transport waits for, unless it does so \
             without them, too: compare with switch.flow_control = \"none\", or set the times of {} higher, which tidegate explain names",
            human::plural(totals.retransmitted, "packet was", "packets were"),
            names.join(" and "),
        ))
    }

    /// Whether packets of one connection may overtake each other.
    fn overtakes(&self) -> bool {
        let control = self.scenario.control.as_ref();
        let told = control.is_some_and(|control| control.factory.overtakes());
        told || self.scenario.spreads().contains(&true) || self.reorders()
    }

    /// What pauses have done that no run should end with.
    pub(crate) fn pause_warnings(&self, outcome: &Outcome, cut: &CutOff) -> Vec<String> {
        let held = self.held(outcome, cut);
        let mut warnings = Vec::new();
        let mut trips = outcome.counts.get("watchdog").copied().unwrap_or(0);
        for locked in &outcome.locked {
            let mut said = self.deadlock(locked);
            if locked.circle != outcome.deadlock {
                said += ", and opened since";
            }
            if trips > 0 {
                let _ = write!(said, "; {WATCHDOG} {trips} times");
                trips = 0; // said once
            }
            warnings.push(said);
        }
        if outcome.idle && outcome.deadlock.is_empty() && !held.is_empty() {
            warnings.push(format!(
                "{} back that nobody will let go: {}",
                human::plural(
                    held.len() as u64,
                    "port still holds packets",
                    "ports still hold packets"
                ),
                first_of(&held)
            ));
        }
        if !outcome.idle && !held.is_empty() {
            warnings.push(format!(
                "{} long been paused, with messages that wait: {}",
                human::plural(held.len() as u64, "line has", "lines have"),
                first_of(&held)
            ));
        }
        warnings.extend(self.suspected(outcome));
        warnings.extend(self.outlasted(outcome));
        warnings.extend(self.lost_frames(outcome));
        warnings.extend(self.short_of_room(outcome));
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
