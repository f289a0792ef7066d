//! The beginning of a run, run: what `check` says of packet-hops and of samples beyond the sum over messages.
//!
//! How much is lost and sent again, how fast flows that share a line become, and how many ports have anything to do follow
//! from all messages together. So `check` runs the scenario itself until it has had so many packet-hops. Most runs that
//! somebody tries are over by then, and what they take is known. Of a longer one the second half of that tells what a
//! byte and a moment take from then on: it goes on until every byte was there, or until its end, whichever is first.

use crate::assemble::{Assembled, is_timed};
use crate::check::Load;
use crate::collector::SAMPLES_MAX;
use model::EndpointConfig;
use sim::{Completion, FlowSample, Observer, PortSample, Probes};
use std::collections::BTreeMap;
use topology::LinkId;
use units::{Bytes, Span, Time};

/// Packet-hops that are run, a tenth of a second for most; and again for half of them, and with samples. [ours]
const HOPS: u64 = 1_000_000;
/// Networks and traffic that take longer to set up than that are not run. [ours]
const LINKS_MAX: usize = 20_000;
const MESSAGES_MAX: usize = 200_000;
/// A run that would take more memory is not begun. [ours]
const MEMORY_MAX: Bytes = Bytes(1 << 29);

/// How far a run came.
#[derive(Clone, Copy)]
struct Reached {
    at: Time,
    hops: u64,
    /// Bytes that receivers accepted.
    accepted: u64,
    /// Samples of ports that said something new.
    news: u64,
    over: bool,
}

/// Looks on until there were so many packet-hops.
struct Look {
    hops_max: u64,
    at: Time,
    last: BTreeMap<LinkId, PortSample>,
    news: u64,
}

impl Observer for Look {
    fn progress(&mut self, now: Time, hops: u64, _: u64, _: u64) -> bool {
        self.at = now;
        hops < self.hops_max
    }
    fn completed(&mut self, _: &[Completion]) {}
    fn ports(&mut self, batch: &[PortSample]) {
        for sample in batch {
            let before = self.last.insert(sample.link, *sample);
            let same = before.is_some_and(|before| {
                PortSample {
                    at: sample.at,
                    ..before
                } == *sample
            });
            self.news += u64::from(!same);
        }
    }
    fn flows(&mut self, _: &[FlowSample]) {}
}

impl Assembled {
    /// Runs the beginning of it, unless that takes long: what is said of packet-hops, memory and time rests on it from
    /// then on.
    pub fn look_ahead(&mut self) {
        let mut load = self.load.take().unwrap_or_else(|| Load::of(self));
        if self.topology.links.len() <= LINKS_MAX
            && self.traffic.messages.len() <= MESSAGES_MAX
            && self.memory(&load) <= MEMORY_MAX
        {
            self.correct(&mut load);
        }
        self.load = load.into();
    }

    fn correct(&self, load: &mut Load) -> Option<()> {
        let whole = self.begin(HOPS, None)?;
        let rest = if whole.over {
            Rest::default()
        } else {
            self.rest(self.begin(HOPS / 2, None)?, whole)?
        };
        load.hops = whole.hops.saturating_add(rest.hops);
        load.lasts = whole.at.since(Time::ZERO) + rest.time;
        let moments = self.moments(load);
        let every = Span(load.lasts.0.checked_div(moments)?.max(1));
        if self.probes.every.is_some() {
            let seen = self.begin(HOPS, Some(every))?;
            let share = load.lasts.0 as f64 / seen.at.0.max(1) as f64;
            load.news = Some(times(seen.news, share.max(1.0)));
        }
        Some(())
    }

    /// Moments at which samples of ports are kept, of a run that lasts so long.
    fn moments(&self, load: &Load) -> u64 {
        let sampled = self.sampled().len().max(1) as u64;
        let mut every = self.probes.every.unwrap_or(Span(1)).0.max(1);
        while load.lasts.0 / every * sampled > SAMPLES_MAX as u64 {
            every *= 2;
        }
        (load.lasts.0 / every).max(1)
    }

    /// What comes behind `whole`, whose first half is `half`; none where nothing tells.
    fn rest(&self, half: Reached, whole: Reached) -> Option<Rest> {
        let passed = whole.at.since(half.at);
        let (hops, bytes) = (whole.hops - half.hops, whole.accepted - half.accepted);
        let left = self.traffic.messages.iter();
        let left = left.map(|message| {
            if is_timed(message) {
                u64::MAX
            } else {
                message.size
            }
        });
        let left = left
            .fold(0, u64::saturating_add)
            .saturating_sub(whole.accepted);
        let stop = |message: &workload::Message| message.stop.unwrap_or(Time::NEVER);
        let stops = self.traffic.messages.iter().map(stop).max();
        let end = self.until().min(stops.unwrap_or(Time::NEVER));
        let until = end.since(whole.at).0 as f64 / passed.0.max(1) as f64;
        let share = if bytes > 0 {
            until.min(left as f64 / bytes as f64)
        } else {
            until
        };
        (passed > Span::ZERO).then(|| Rest {
            hops: times(hops, share),
            time: Span(times(passed.0, share)),
        })
    }

    /// Runs it until there were so many packet-hops, with samples of ports every so often.
    fn begin(&self, hops_max: u64, every: Option<Span>) -> Option<Reached> {
        let make = |config: &EndpointConfig| self.endpoint(config);
        let mut setup = self.setup(&make, 1);
        setup.probes = Probes {
            every,
            links: self.probes.links.clone(),
            accepted: true,
            ..Probes::default()
        };
        let mut look = Look {
            hops_max,
            at: Time::ZERO,
            last: BTreeMap::new(),
            news: 0,
        };
        let outcome = sim::run(&setup, &mut look).ok()?;
        let accepted = outcome.accepted.values();
        Some(Reached {
            at: if outcome.interrupted {
                look.at
            } else {
                outcome.end
            },
            hops: outcome.hops,
            accepted: accepted.fold(0, |sum, &bytes| sum.saturating_add(bytes)),
            news: look.news,
            over: !outcome.interrupted,
        })
    }
}

/// What a run goes on with.
#[derive(Default)]
struct Rest {
    hops: u64,
    time: Span,
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and the cast saturates"
)]
fn times(count: u64, share: f64) -> u64 {
    (count as f64 * share) as u64
}
