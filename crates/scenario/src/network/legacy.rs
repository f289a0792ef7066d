//! `[switch.legacy]`: what ports and hosts do with transports beside the run's own.

use crate::choice::LegacyQueue;
use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use model::Encap;
use model::intent::{CreditSpec, MarkSpec, PortSpec, Share};
use units::Rate;

/// Share of its own queue where nothing is said. [ours]
const SHARE: f64 = 0.5;

/// How the transports of a run share its lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Legacy {
    /// Those beside have a queue of their own at every port.
    pub(crate) own: bool,
    /// Part of every line that is kept for them, in 1/10,000.
    pub(crate) share: u16,
}

impl Legacy {
    /// What the scenario says; `None` where its transport is alone.
    pub(crate) fn of(scenario: &Scenario) -> Result<Option<Self>, Diagnostic> {
        let legacy = &scenario.legacy;
        let section = &legacy.section;
        let Some(first) = scenario.beside.first() else {
            return match section.given().next() {
                None => Ok(None),
                Some(key) => Err(section
                    .problem(key, format!("{} is alone", scenario.protocol.name()))
                    .label("no source of messages names another transport")
                    .help(
                        "add transport = \"dctcp\" to a [[workload]], or remove [switch.legacy]",
                    )),
            };
        };
        let most = usize::from(model::LANES);
        if scenario.beside.len() >= most {
            let count = scenario.beside.len() + 1;
            return Err(scenario
                .about(model::LANES, format!("{count} transports on one fabric"))
                .label(format!("ports tell {most} apart"))
                .help(format!("name at most {} beside transport.kind", most - 1)));
        }
        let needs = scenario.factory.fabric(Rate::gbps(100), Encap::PAPER);
        let special = scenario.beside.iter().find(|beside| {
            let needs = beside.factory.fabric(Rate::gbps(100), Encap::PAPER);
            !needs.is_plain()
        });
        let own = match legacy.queue {
            Some(LegacyQueue::Own) => true,
            Some(LegacyQueue::Shared) => false,
            None => needs.credit.is_some() || special.is_some(),
        };
        let both = || format!("{} and {}", scenario.protocol.name(), first.protocol.name());
        if let Some(special) = special.filter(|_| !own) {
            let name = special.protocol.name();
            return Err(section
                .problem(
                    "queue",
                    format!(
                        "{name} cannot share the queues of {}",
                        scenario.protocol.name()
                    ),
                )
                .label("its packets need treatment of their own at every port")
                .help("write queue = \"own\""));
        }
        if !own && legacy.buffer.is_some() {
            return Err(section
                .problem("buffer", format!("{} share one buffer", both()))
                .help("set switch.buffer, or write queue = \"own\""));
        }
        if let (Some(_), Some(control)) = (legacy.buffer, &scenario.control) {
            let name = control.kind.name();
            let what =
                format!("a queue with a limit of its own drops what {name} is to lose nothing of");
            return Err(section
                .problem("buffer", what)
                .help("remove it: pauses bound what waits, in switch.shared_buffer"));
        }
        let share = legacy.share.unwrap_or(if own { SHARE } else { 0.0 });
        Ok(Some(Self {
            own,
            share: CreditSpec::part(share),
        }))
    }

    /// When packets of the transports beside are marked.
    #[allow(clippy::unused_self, reason = "without it there are no such packets")]
    pub(crate) fn mark(self, scenario: &Scenario, rate: Rate, encap: Encap) -> Option<MarkSpec> {
        let mut beside = scenario.beside.iter();
        let mark = beside.find_map(|b| b.factory.fabric(rate, encap).mark)?;
        Some(match scenario.legacy.mark {
            Some(room) => MarkSpec {
                min: room.at(rate),
                max: room.at(rate),
                ..mark
            },
            None => mark,
        })
    }

    /// `credit`, leaving free what is kept for others.
    pub(crate) fn narrowed(
        self,
        scenario: &Scenario,
        credit: CreditSpec,
    ) -> Result<CreditSpec, Diagnostic> {
        let left = credit.share.checked_sub(self.share);
        let share = left.filter(|&left| left > 0).ok_or_else(|| {
            scenario
                .legacy
                .section
                .problem("share", "nothing of the line is left for credits")
                .help("lower share, or the transport's control_share")
        })?;
        Ok(CreditSpec { share, ..credit })
    }

    /// `port` with the queues of the transports beside. Weights are those of the shares when all queues are
    /// full: credits take their part of the line first. Rounded down, so that data that credits released
    /// finds its part.
    pub(crate) fn beside(
        self,
        scenario: &Scenario,
        mut port: PortSpec,
        credit: Option<CreditSpec>,
        rate: Rate,
        encap: Encap,
    ) -> PortSpec {
        let left = u64::from(CreditSpec::WHOLE - self.share);
        let (size, frame) = credit.map_or((0, 1), |c| (c.size_mean.into(), c.frame_max.into()));
        let others = scenario.beside.len().max(1) as u64;
        let weight = 100 * u64::from(self.share) * (size + frame) / (left * frame * others);
        let weight = u16::try_from(weight.max(1)).expect("a share is at most 0.9");
        let own = scenario.legacy.buffer.map(|own| own.at(rate));
        // Beside pauses, which bound what waits, none is written.
        let buffer = own
            .or(*scenario.switch.shared_buffer)
            .unwrap_or_else(|| scenario.switch.buffer.at(rate));
        for (lane, beside) in (1..).zip(&scenario.beside) {
            let mut fabric = beside.factory.fabric(rate, encap);
            if let (Some(mark), Some(room)) = (&mut fabric.mark, scenario.legacy.mark) {
                (mark.min, mark.max) = (room.at(rate), room.at(rate));
            }
            if let Some(credit) = &mut fabric.credit {
                credit.share = self.share_of_each(scenario.beside.len());
            }
            port = port.beside(lane, &fabric.port(buffer), Share::Bytes(weight));
        }
        port
    }

    /// Part of every line that is each of `others`' transports', in 1/10,000.
    pub(crate) fn share_of_each(self, others: usize) -> u16 {
        self.share
            / u16::try_from(others.max(1)).expect("a fabric has at most model::LANES transports")
    }

    /// Weights of the transports of a host: the run's own, and each of `others`.
    pub(crate) fn weights(self, others: usize) -> Vec<u32> {
        let others = u32::try_from(others).expect("a fabric has at most model::LANES transports");
        let (own, beside) = match u32::from(self.share) {
            0 => (1, 1),
            share => ((u32::from(CreditSpec::WHOLE) - share) * others, share),
        };
        let mut weights = vec![own];
        weights.resize(1 + others as usize, beside);
        weights
    }

    /// Part of every line that is the run's own transport's, in 1/10,000.
    pub(crate) fn left(self) -> u16 {
        CreditSpec::WHOLE - self.share
    }
}
