//! `[switch.legacy]`: what ports and hosts do with transports beside the run's own.

use crate::diagnostic::Diagnostic;
use crate::resolve::Scenario;
use model::Encap;
use model::intent::{CreditSpec, LegacySpec, MarkSpec};
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
    pub(crate) fn of(scenario: &Scenario, priorities: u8) -> Result<Option<Self>, Diagnostic> {
        let section = &scenario.legacy;
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
        let needs = scenario.factory.fabric(Rate::gbps(100), Encap::PAPER);
        let known = needs.credit.is_some();
        let own = section
            .opt_text("queue")
            .map_or(known, |queue| queue == "own");
        let both = || format!("{} and {}", scenario.protocol.name(), first.protocol.name());
        if own && !known {
            return Err(section
                .problem("queue", format!("ports cannot tell {} apart", both()))
                .label("the data of both is of class plain")
                .help("write queue = \"shared\", or run a transport with credits"));
        }
        if own && priorities > 1 {
            return Err(section
                .problem(
                    "queue",
                    "a queue of its own and priorities do not go together",
                )
                .help("write switch.priorities = 1, or queue = \"shared\""));
        }
        if !own && section.is_given("buffer") {
            return Err(section
                .problem("buffer", format!("{} share one buffer", both()))
                .help("set switch.buffer, or write queue = \"own\""));
        }
        let share = section
            .opt_number("share")
            .unwrap_or(if own { SHARE } else { 0.0 });
        Ok(Some(Self {
            own,
            share: CreditSpec::part(share),
        }))
    }

    /// When packets of the transports beside are marked.
    pub(crate) fn mark(self, scenario: &Scenario, rate: Rate, encap: Encap) -> Option<MarkSpec> {
        let mut beside = scenario.beside.iter();
        let mark = beside.find_map(|b| b.factory.fabric(rate, encap).mark)?;
        Some(match scenario.legacy.opt_bytes("mark") {
            Some(at) => MarkSpec {
                min: at,
                max: at,
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
                .problem("share", "nothing of the line is left for credits")
                .help("lower share, or the transport's control_share")
        })?;
        Ok(CreditSpec { share, ..credit })
    }

    /// Its queue in a port. Weights are those of the shares when both queues are full: credits take
    /// their part of the line first. Rounded down, so that data that credits released finds its part.
    pub(crate) fn queue(
        self,
        scenario: &Scenario,
        credit: Option<CreditSpec>,
        mark: Option<MarkSpec>,
    ) -> LegacySpec {
        let left = u64::from(CreditSpec::WHOLE - self.share);
        let (size, frame) = credit.map_or((0, 1), |c| (c.size_mean.into(), c.frame_max.into()));
        let weight = 100 * u64::from(self.share) * (size + frame) / (left * frame);
        LegacySpec {
            weight: u16::try_from(weight.max(1)).expect("a share is at most 0.9"),
            buffer: scenario
                .legacy
                .opt_bytes("buffer")
                .unwrap_or_else(|| scenario.switch.bytes("buffer")),
            mark,
        }
    }

    /// Weights of the transports of a host: the run's own, and each of `others`.
    pub(crate) fn weights(self, others: usize) -> Vec<u32> {
        let others = u32::try_from(others).expect("few transports");
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
