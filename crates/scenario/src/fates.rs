//! What became of messages that did not finish: until when they count, and how much of them arrived.

use crate::assemble::{Assembled, Watch};
use crate::diagnostic::Errors;
use crate::why::Eye;
use sim::{Outcome, Probes, Setup};
use std::collections::BTreeMap;
use units::Time;
use workload::Message;

impl Assembled {
    /// Bytes that were accepted, by connection and receiving host: found by running it again, because counting them costs
    /// every packet something, and most runs finish.
    pub(crate) fn accepted(
        &self,
        mut setup: Setup<'_>,
        watch: &mut dyn Watch,
    ) -> Result<BTreeMap<(u32, u32), u64>, Errors> {
        setup.probes = Probes {
            accepted: true,
            ..Probes::default()
        };
        let mut eye = Eye::new(self, setup.until, watch);
        let again =
            sim::run(&setup, &mut eye).map_err(|e| self.scenario.topology.problem("kind", e.0))?;
        Ok(again.accepted)
    }

    /// Until when what happened counts. What did not finish has been waiting until the end that was asked for, whatever
    /// happened last.
    pub(crate) fn end(&self, outcome: &Outcome) -> Time {
        let mut fates = self.traffic.messages.iter().zip(&outcome.messages);
        let waits = fates.any(|(message, fate)| {
            fate.start.is_some() && fate.end.is_none() && !is_endless(message)
        });
        if waits && !outcome.interrupted {
            self.until()
        } else {
            outcome.end
        }
    }

    /// Bytes that receivers accepted of each message. Of those that did not finish: what came over
    /// their connection and belongs to none that did, in sending order.
    pub(crate) fn received(&self, outcome: &Outcome) -> Vec<u64> {
        let mut left = outcome.accepted.clone();
        let mut received = vec![0; outcome.messages.len()];
        for finished in [true, false] {
            for (number, fate) in outcome.messages.iter().enumerate() {
                if fate.end.is_some() != finished {
                    continue;
                }
                let message = &self.traffic.messages[number];
                let at = (message.conn, self.traffic.receiver(message));
                let mut none = 0;
                let left = left.get_mut(&at).unwrap_or(&mut none);
                received[number] = if finished {
                    fate.size
                } else {
                    fate.size.min(*left)
                };
                *left = left.saturating_sub(received[number]);
            }
        }
        received
    }
}

/// A flow without an end of its own lasts as long as the run.
pub(crate) fn is_endless(message: &Message) -> bool {
    message.stop.is_none() && message.size >= workload::ENDLESS
}
