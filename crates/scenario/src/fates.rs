//! What became of messages that did not finish: until when they count, and how much of them arrived.

use crate::assemble::{Assembled, Watch};
use crate::cut::CutOff;
use crate::diagnostic::Errors;
use crate::schema::parameter;
use crate::why::Eye;
use model::StuckFlow;
use results::{StuckRow, human};
use sim::{Completion, FaultKind, FlowSample, Observer, Outcome, PortSample, Probes, Setup};
use std::collections::{BTreeMap, BTreeSet};
use topology::LinkId;
use units::{Span, Time};
use workload::{Message, Start};

/// Bytes, by connection and receiving host.
type Accepted = BTreeMap<(u32, u32), u64>;

/// Where nothing went on after this part of a run, more time is no advice. [ours]
const STILL: u64 = 10;

/// Shows how far the second run is, and notes how much had been accepted at one moment.
struct Look<'a> {
    eye: Eye<'a>,
    at: Time,
    accepted: u64,
}

impl Observer for Look<'_> {
    fn progress(&mut self, now: Time, hops: u64, done: u64, active: u64) -> bool {
        self.eye.progress(now, hops, done, active)
    }
    fn completed(&mut self, _: &[Completion]) {}
    fn ports(&mut self, _: &[PortSample]) {}
    fn flows(&mut self, batch: &[FlowSample]) {
        let then = batch.iter().filter(|sample| sample.at == self.at);
        self.accepted += then.map(|sample| sample.received).sum::<u64>();
    }
}

/// What is named instead of a patience that outlasts the run. [homa linux, `timeout_ticks`]
const PATIENCE: Span = Span::ms(100);

impl Assembled {
    /// An outcome that knows what receivers accepted, and the moment after which nothing went on, where that is long ago:
    /// found by running it again, because counting them costs every packet something, and most runs finish.
    pub(crate) fn accepted(
        &self,
        mut setup: Setup<'_>,
        (outcome, ideal): (&Outcome, &[Span]),
        watch: &mut dyn Watch,
    ) -> Result<(Outcome, Option<Time>), Errors> {
        let early = Span(setup.until.0 / STILL);
        setup.probes = Probes {
            accepted: true,
            every: (early > Span::ZERO).then_some(early),
            links: vec![LinkId(0)],
            flows: true,
            ..Probes::default()
        };
        let mut look = Look {
            eye: Eye::new(self, setup.until, watch),
            at: Time(early.0),
            accepted: 0,
        };
        let again = sim::run(&setup, &mut look)
            .map_err(|e| self.scenario.topology.section.problem("kind", e.0))?;
        let still = !again.interrupted
            && look.accepted == again.accepted.values().sum::<u64>() + again.forgotten
            && self.waits_since(outcome, ideal, look.at);
        Ok((again, still.then_some(look.at)))
    }

    /// Whether nothing has begun or ended after `at`, no fault has either, and who waits would have arrived by then in an
    /// idle network, which takes `ideal`.
    fn waits_since(&self, outcome: &Outcome, ideal: &[Span], at: Time) -> bool {
        let late = |moment: Option<Time>| moment.is_some_and(|moment| moment > at);
        let messages = self.traffic.messages.iter().zip(&outcome.messages);
        let quiet = !messages.zip(ideal).any(|((message, fate), &ideal)| {
            let begins = matches!(message.start, Start::At(start) if start > at);
            let arrives = fate.start.filter(|_| fate.end.is_none());
            let arrives = arrives.map(|start| start.after(ideal));
            begins || late(fate.start) || late(fate.end) || late(arrives)
        });
        let ends = |fault: &sim::Fault| fault.until > at && fault.until != Time::NEVER;
        quiet && !self.faults.iter().any(ends)
    }

    /// What to say of messages that did not finish until the end of the run: what helps, or that nothing of them has moved
    /// since `still`.
    pub(crate) fn more_time(&self, outcome: &Outcome, cut: &CutOff, still: Option<Time>) -> String {
        let until = Span(self.until().0);
        let locked = !outcome.deadlock.is_empty();
        // Who waits for others to end, and then a while, may still begin.
        let waits = still.is_some() && outcome.messages.iter().any(|fate| fate.start.is_none());
        if locked || waits || self.lost_frames(outcome).is_some() {
            return String::new();
        }
        if still.is_none() && cut.is_all(outcome) {
            return String::new();
        }
        let arrived = outcome.forgotten > 0 || outcome.accepted.values().any(|&bytes| bytes > 0);
        let patience = self.patience();
        let longer = until.times(10);
        match still {
            Some(_) if self.mostly_lost() => format!(
                "; faults lose most frames for good, and those that pass need time, like --set run.until={longer}"
            ),
            Some(at) if arrived => format!(
                "; nothing has arrived since {}, so that more time would hardly help{patience}",
                Span(at.0)
            ),
            Some(_) => {
                format!("; nothing has ever arrived, so that more time would hardly help{patience}")
            }
            None => format!("; give them more time, like --set run.until={longer}"),
        }
    }

    /// Whether a fault that never ends loses every second frame or more of a link, and not all: what passes comes after any
    /// silence. [ours]
    fn mostly_lost(&self) -> bool {
        self.faults.iter().any(|fault| match fault.kind {
            FaultKind::Loss { ppb, .. } | FaultKind::Corrupt { ppb } => {
                fault.until == Time::NEVER && (500_000_000..1_000_000_000).contains(&ppb)
            }
            FaultKind::Down { .. } | FaultKind::Duplicate { .. } | FaultKind::Reorder { .. } => {
                false
            }
        })
    }

    /// That ends of the transport wait for a silent peer as long as the run lasts, where they do: nobody has given up then.
    fn patience(&self) -> String {
        let patience = self.scenario.factory.patience();
        let Some((key, patience)) = patience.filter(|(_, wait)| wait.0 >= self.until().0) else {
            return String::new();
        };
        let set = format!(
            "{}={PATIENCE}",
            parameter(self.scenario.protocol.name(), key)
        );
        // A shell would take the quotes of a name with a plus.
        let set = match set.contains('"') {
            true => format!("'{set}'"),
            false => set,
        };
        format!(
            ". Hosts give a silent peer up after {patience}, no sooner than the run ends: with --set {set} they would have"
        )
    }

    /// What keeps connections, as their hosts say: where others go on, of those alone that never finish.
    pub(crate) fn stuck_rows(&self, outcome: &Outcome, cut: &CutOff) -> Vec<StuckRow> {
        let never = cut.never.iter();
        let conns = never.map(|cut| self.traffic.messages[cut.message].conn);
        let never: BTreeSet<u32> = conns.collect();
        let others = nothing_happens(outcome) || never.is_empty();
        let listed = |conn: u32| conn < self.conns_of_messages && (others || never.contains(&conn));
        let stuck = outcome.stuck.iter();
        let stuck = stuck.filter(|(_, flow)| listed(flow.conn.0));
        let row = |(host, flow): &(u32, StuckFlow)| StuckRow {
            host: *host,
            conn: flow.conn.0,
            state: flow.state.clone(),
            waits_for: flow.waits_for.clone(),
        };
        stuck.map(row).collect()
    }

    /// How many messages of a run that is stuck can never finish.
    pub(crate) fn stuck_warning(&self, outcome: &Outcome, cut: &CutOff) -> String {
        let all = human::count(outcome.messages.len() as u64);
        if nothing_happens(outcome) {
            let open = outcome.messages.iter().filter(|fate| fate.end.is_none());
            let open = human::count(open.count() as u64);
            return format!(
                "{open} of {all} messages can never finish; flows.csv names them, summary.json what they wait for"
            );
        }
        if cut.never.is_empty() {
            let lines = self.wait_for_a_lost_frame(outcome, cut);
            return format!(
                "{} of {all} messages did not finish, and those behind {} never will; summary.json says what they wait for",
                human::count(outcome.unfinished),
                human::plural(lines, "line that stays paused", "lines that stay paused"),
            );
        }
        let never = human::count(cut.never.len() as u64);
        format!(
            "{never} of {all} messages can never finish, because no fault brings back the links that they need; summary.json says \
             what they wait for"
        )
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
        self.received_by(outcome, &outcome.accepted, Time::NEVER)
    }

    /// The same in the window that messages count in, where there is one.
    pub(crate) fn received_inside(&self, outcome: &Outcome) -> Option<Vec<u64>> {
        let (window, [before, until]) = (self.window(), outcome.edges.as_ref()?);
        let before = self.received_by(outcome, before, window.start);
        let until = self.received_by(outcome, until, window.end);
        let inside = until.into_iter().zip(before);
        Some(
            inside
                .map(|(until, before)| until.saturating_sub(before))
                .collect(),
        )
    }

    /// Bytes of each message that receivers had before `at`, when they had accepted so much.
    fn received_by(&self, outcome: &Outcome, accepted: &Accepted, at: Time) -> Vec<u64> {
        let mut left = accepted.clone();
        let mut received = vec![0; outcome.messages.len()];
        for finished in [true, false] {
            for (number, fate) in outcome.messages.iter().enumerate() {
                if fate.end.is_some_and(|end| end < at) != finished {
                    continue;
                }
                let message = &self.traffic.messages[number];
                let of = (message.conn, self.traffic.receiver(message));
                let mut none = 0;
                let left = left.get_mut(&of).unwrap_or(&mut none);
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

/// Whether no message of a run goes on any more.
fn nothing_happens(outcome: &Outcome) -> bool {
    outcome.idle || !outcome.deadlock.is_empty()
}
