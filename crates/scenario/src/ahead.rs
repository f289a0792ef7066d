//! The beginning of a run, run: what `check` says of packet-hops and of samples beyond the sum over messages.
//!
//! How much is lost and sent again, how fast flows that share a line become, and how many ports have anything to do follow
//! from all messages together. So `check` runs the scenario itself until it has had so many packet-hops. Most runs that
//! somebody tries are over by then, and what they take is known. Of a longer one the second half of that tells what a
//! byte and a moment take from then on: it goes on until every byte was there, or until its end, whichever is first. Where
//! that would not be more of the same, since others join or leave later, all of it is run in short ([`shorter`](crate::shorter)).
//!
//! Many short messages that come one after the other are hardly served by then: packets of all are on the way, and few have
//! arrived. There a part is run to its end instead: the first messages, which come as densely as all, and half of them.
//! What they took is multiplied. Where the whole part took longer than its half by more than its messages came later, lines
//! have more to do than they can, and messages wait from the beginning to the end.

use crate::assemble::{Assembled, is_timed};
use crate::check::HOPS_PER_REFUSED;
use crate::load::Load;
use crate::memory;
use model::EndpointConfig;
use sim::{Completion, FlowSample, Observer, PortSample, Probes};
use std::collections::BTreeMap;
use topology::LinkId;
use units::{Bytes, Span, Time};
use workload::{Message, Start};

/// Packet-hops that are run, a tenth of a second for most; and again for half of them, and with samples. [ours]
const HOPS: u64 = 1_000_000;
/// Networks and traffic that take longer to set up than that are not run. [ours]
const LINKS_MAX: usize = 20_000;
const MESSAGES_MAX: usize = 200_000;
/// A run that would take more memory is not begun, nor one that the machine has no room for. [ours]
const MEMORY_MAX: Bytes = Bytes(1 << 29);

/// Credits that hosts make and drop cross no link and take time, too: as long as so many times the packet-hops at most. It is
/// looked at them after so many round trips. [ours]
const REFUSED_MOST: u64 = 4;
const LOOK_EVERY: u64 = 4;

/// A part of the messages has so many at least, and about so many packet-hops; who expected far too few gives it up. [ours]
const PART_LEAST: usize = 1_000;
const PART_HOPS: u64 = HOPS / 2;
const PART_HOPS_MAX: u64 = 4 * HOPS;
/// Messages of a part that ended tell how fast it is served; those behind them are the longest. [ours]
const PART_SERVED: f64 = 0.9;

/// A run in short is long enough to tell after so many round trips; it is tried so often to find its share; and of its ports
/// so many samples are taken. [ours]
const SETTLED: u64 = 10;
const TRIES: u32 = 3;
const MOMENTS_LEAST: u64 = 64;
/// Messages that come evenly gather, and later on have so many times the packet-hops in the same time, at most. [ours: of random
/// messages of Web Server and Web Search at load 0.25 that `run.until` cuts at 3 ms, five transports had 0.92 to 1.7 times]
const GATHERED: f64 = 1.25;
/// So many samples tell how many say something new. [ours]
const LEAST_TOLD: usize = 8;

/// What is run.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// So many of the messages.
    First(usize),
    /// In a share of the time; the least share that it is compared with says which messages keep their size.
    Short {
        share: f64,
        least: f64,
    },
}

/// How far a run came.
#[derive(Clone, Copy)]
struct Reached {
    at: Time,
    hops: u64,
    /// Credits that hosts made and dropped.
    refused: u64,
    /// Bytes that receivers accepted.
    accepted: u64,
    /// Messages that ended, those under way at the end, and most that were.
    done: u64,
    active: u64,
    active_most: u64,
    /// Samples of ports that said something new.
    news: u64,
    over: bool,
}

/// Looks on until there were so many packet-hops, or so much else to do.
struct Look {
    hops_max: u64,
    /// Samples of ports are counted.
    samples: bool,
    /// Credits that hosts made and dropped.
    refused: u64,
    at: Time,
    done: u64,
    active: u64,
    active_most: u64,
    ended: Vec<Completion>,
    last: BTreeMap<LinkId, PortSample>,
    news: u64,
    /// How many there were of them until each moment.
    news_until: Vec<(Time, u64)>,
}

impl Observer for Look {
    fn progress(&mut self, now: Time, hops: u64, done: u64, active: u64) -> bool {
        (self.at, self.done, self.active) = (now, done, active);
        self.active_most = self.active_most.max(active);
        let refused = times(self.refused, HOPS_PER_REFUSED);
        hops < self.hops_max && refused < self.hops_max.saturating_mul(REFUSED_MOST)
    }
    fn wants_refused(&self) -> bool {
        true
    }
    fn refused(&mut self, credits: u64) {
        self.refused = credits;
    }
    fn sampled_every(&self, every: Span) -> Option<Span> {
        self.samples.then_some(every)
    }
    fn completed(&mut self, batch: &[Completion]) {
        self.ended.extend_from_slice(batch);
    }
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
            match self.news_until.last_mut() {
                Some((at, news)) if *at == sample.at => *news = self.news,
                _ => self.news_until.push((sample.at, self.news)),
            }
        }
    }
    fn flows(&mut self, _: &[FlowSample]) {}
}

impl Assembled {
    /// Runs the beginning of it, unless that takes long: what is said of packet-hops, memory and time rests on it from
    /// then on.
    pub fn look_ahead(&mut self) {
        let mut load = self.load.take().unwrap_or_else(|| Load::of(self));
        if self.topology.links.len() <= LINKS_MAX {
            let few = self.traffic.messages.len() <= MESSAGES_MAX;
            let whole = (few && self.memory(&load) <= MEMORY_MAX.min(memory::of_machine()))
                .then(|| self.begin(enough(&load), None, Part::Whole))
                .flatten()
                .map(|(whole, _)| whole);
            let served = whole.is_some_and(|whole| whole.over || whole.done >= whole.active);
            let _ = (!served)
                .then(|| self.multiply(&mut load))
                .flatten()
                .or_else(|| self.in_short(&mut load, whole?))
                .or_else(|| self.correct(&mut load, whole?));
        }
        self.load = load.into();
    }

    /// Goes on from `whole`.
    fn correct(&self, load: &mut Load, whole: Reached) -> Option<()> {
        let rest = if whole.over {
            Rest::default()
        } else if self.is_mixed() {
            return None;
        } else {
            self.rest(
                load,
                self.begin(enough(load) / 2, None, Part::Whole)?.0,
                whole,
            )?
        };
        load.hops = whole.hops.saturating_add(rest.hops);
        load.refused = whole.refused.saturating_add(rest.refused);
        load.lasts = whole.at.since(Time::ZERO) + rest.time;
        load.open = if whole.over {
            // Looks are some windows apart, and short messages may be over between two.
            whole.active_most.max(load.together)
        } else {
            load.open.max(whole.active_most)
        };
        self.see(load, HOPS, Part::Whole)
    }

    /// Runs it in a share of its time, and in half of that, and goes on from there.
    fn in_short(&self, load: &mut Load, whole: Reached) -> Option<()> {
        if whole.over || self.is_steady(whole) || self.is_even() {
            return None;
        }
        let (share, run) = self.share(load.hops.max(whole.hops))?;
        let of = |share| Part::Short {
            share,
            least: share / 2.0,
        };
        let half = Part::Short {
            share: share / 2.0,
            least: share / 2.0,
        };
        let (half, _) = self.begin(PART_HOPS_MAX, None, half)?;
        if !half.over || half.at.0 < self.base_rtt.0.saturating_mul(SETTLED) {
            return None;
        }
        let more = 2.0 * (1.0 / share - 1.0);
        let on = |half: u64, run: u64| {
            let each = run.checked_sub(half)?;
            Some(run.saturating_add(times(each, more)))
        };
        load.hops = on(half.hops, run.hops)?.max(whole.hops);
        load.refused = on(half.refused, run.refused)
            .unwrap_or(run.refused)
            .max(whole.refused);
        let lasts = Time(on(half.at.0, run.at.0)?).max(whole.at);
        load.lasts = lasts.min(self.until()).since(Time::ZERO);
        let open = on(half.active_most, run.active_most).unwrap_or(run.active_most);
        load.open = open.min(self.traffic.messages.len() as u64);
        self.see(load, PART_HOPS_MAX, of(share))
    }

    /// Whether what comes behind `whole` is more of the same: everything has begun in it, and ends with its last byte or
    /// together with the run. Its second half tells better what that takes than a run in short: it is farther from the beginning.
    fn is_steady(&self, whole: Reached) -> bool {
        let early = Time(whole.at.0 / 2);
        let until = self.until();
        let mut messages = self.traffic.messages.iter();
        let begun = messages.all(|message| {
            let stop = message.stop.unwrap_or(Time::NEVER);
            matches!(message.start, Start::At(at) if at <= early) && stop >= until
        });
        let mut faults = self.faults.iter();
        let lasts = faults.all(|fault| fault.from <= early && fault.until >= until);
        begun && lasts && !self.is_mixed()
    }

    /// Whether one source sends all along, and nothing else changes what becomes of it: a byte of its beginning takes what one
    /// of its end takes, and how many come until when is known.
    fn is_even(&self) -> bool {
        let messages = &self.traffic.messages;
        let starts: Option<Vec<Time>> = messages.iter().map(comes).collect();
        let Some(starts) = starts.filter(|_| self.scenario.workloads.len() == 1) else {
            return false;
        };
        let middle = starts[starts.len() / 2].since(starts[0]).0 as f64;
        let last = starts[starts.len() - 1].since(starts[0]).0 as f64;
        self.faults.is_empty() && (0.25..=0.75).contains(&(middle / last.max(1.0)))
    }

    /// The share of its time in which it has about [`HOPS`], and what it does then.
    fn share(&self, hops: u64) -> Option<(f64, Reached)> {
        let mut share = HOPS as f64 / hops as f64;
        for _ in 0..TRIES {
            share = share.min(0.5);
            let part = Part::Short {
                share,
                least: share / 2.0,
            };
            let (run, _) = self.begin(PART_HOPS_MAX, None, part)?;
            let few = run.hops < HOPS / 4 && share < 0.5;
            if run.over && !few {
                return Some((share, run));
            }
            let wanted = HOPS as f64 / run.hops.max(HOPS / 64) as f64;
            share *= wanted;
        }
        None
    }

    /// Whether some messages end at a moment and some with their last byte: what comes behind a beginning is as those that
    /// are left, and a sum over them tells more.
    fn is_mixed(&self) -> bool {
        let mut timed = self.traffic.messages.iter().map(is_timed);
        let first = timed.next();
        timed.any(|next| Some(next) != first)
    }

    /// How many of the first messages have about [`PART_HOPS`] among them; none where messages do not come evenly over
    /// time, or where the run's end cuts them off.
    fn part(&self, load: &Load) -> Option<usize> {
        let messages = &self.traffic.messages;
        let starts: Vec<Time> = messages.iter().map(comes).collect::<Option<_>>()?;
        let share = PART_HOPS as f64 / load.hops.max(1) as f64;
        let part = usize::try_from(times(messages.len() as u64, share)).ok()?;
        let part = part.max(PART_LEAST);
        let (first, next) = (starts.first()?, starts.get(2 * part).map(|_| starts[part])?);
        let time = next.since(*first).0 as f64 / load.span.0.max(1) as f64;
        let even = time / (part as f64 / messages.len() as f64);
        let cut = load.lasts >= self.until().since(Time::ZERO);
        (!cut && (0.5..=2.0).contains(&even)).then_some(part)
    }

    /// Runs a part of the messages to its end, and has all of them take as much each.
    fn multiply(&self, load: &mut Load) -> Option<()> {
        let messages = &self.traffic.messages;
        let part = self.part(load)?;
        let (half, whole) = (self.served(part / 2)?, self.served(part)?);
        // One frame more stands for what a message takes besides.
        let weight = |messages: &[Message]| {
            let each = messages.iter().map(|of| self.encap.frames(of.size) + 1);
            each.fold(0, u64::saturating_add) as f64
        };
        let share = weight(messages) / weight(&messages[..part]).max(1.0);
        load.hops = times(whole.hops, share);
        load.refused = times(whole.refused, share);
        let start = |number: usize| comes(&messages[number]);
        let came = start(part)?.since(start(part / 2)?);
        let slower = whole.by.since(half.by).0 as f64 / came.0.max(1) as f64;
        let count = messages.len() as u64;
        let waits = whole.waits / load.span.0.max(1) as f64;
        let behind = 1.0 - 1.0 / slower.max(1.0);
        // Where all that wait are served at once, hardly any ends before the last has come.
        let more = whole.open.saturating_sub(half.open) as f64 / (part - part / 2) as f64;
        let grown = whole.open.saturating_add(times(count - part as u64, more));
        load.open = times(count, waits.max(behind)).max(grown).min(count);
        let rest = whole.at.since(start(part)?);
        let span = Span(times(load.span.0, slower.max(1.0)));
        let lasts = start(0)?.since(Time::ZERO) + span + rest;
        load.lasts = lasts.min(self.until().since(Time::ZERO));
        self.see(load, PART_HOPS_MAX, Part::First(part / 2))
    }

    /// Runs the first messages to their end.
    fn served(&self, part: usize) -> Option<Served> {
        let (reached, look) = self.begin(PART_HOPS_MAX, None, Part::First(part))?;
        let mut ended = look.ended;
        ended.sort_unstable_by_key(|done| done.end);
        let by = ended.get(part_of(ended.len(), PART_SERVED))?.end;
        let mut waits = 0.0;
        for done in &ended {
            let start = comes(&self.traffic.messages[done.message as usize])?;
            waits += done.end.since(start).0 as f64;
        }
        reached.over.then_some(Served {
            hops: reached.hops,
            refused: reached.refused,
            at: reached.at,
            by,
            open: reached.active_most,
            waits: waits / ended.len() as f64,
        })
    }

    /// Runs it with samples of ports, and counts those that say something new.
    fn see(&self, load: &mut Load, hops_max: u64, part: Part) -> Option<()> {
        if self.probes.every.is_none() {
            return Some(());
        }
        let moments = self.moments(load);
        let every = Span(load.lasts.0.checked_div(moments)?.max(1));
        let lasts = Time::ZERO.after(load.lasts);
        let (between, until) = match part {
            Part::Whole | Part::First(_) => (every, lasts),
            // No fewer samples than these: there is something new in the first and the last of what is seen.
            Part::Short { share, .. } => {
                let least = Span(times(load.lasts.0, share) / MOMENTS_LEAST);
                (every.min(least).max(Span(1)), Time::NEVER)
            }
        };
        let (seen, look) = self.begin(hops_max, Some((between, until)), part)?;
        let passed = (seen.at.0 / between.0).max(1);
        let mut share = moments as f64 / passed as f64;
        if let Part::First(part) = part {
            share = share.min(self.traffic.messages.len() as f64 / part as f64);
        }
        load.news = Some(times(seen.news, share.max(1.0)));
        load.news_most = match part {
            Part::First(_) => 0, // it goes on as it begins
            Part::Whole => {
                let last = self.before_thinned(load, between.0 / 2, 1.0, &look.news_until);
                last.max(self.before_first_thinned(load.lasts, hops_max))
            }
            Part::Short { share, .. } => self.before_thinned(load, 0, share, &look.news_until),
        };
        Some(())
    }

    /// Samples that say something new when every second moment is forgotten for the first time, where the run `lasts` until
    /// then. They are taken more often than any later ones: of ports that are busy now and then fewer say something new.
    fn before_first_thinned(&self, lasts: Span, hops_max: u64) -> u64 {
        let moments = self.moments_max(self.sampled().len() as u64, 0);
        let every = self.probes.every.unwrap_or(Span(1));
        let end = every.times(moments);
        if end >= lasts {
            return 0;
        }
        let until = Time::ZERO.after(end);
        let seen = self.begin(hops_max, Some((every, until)), Part::Whole);
        seen.map_or(0, |(seen, _)| {
            let passed = (seen.at.0 / every.0).clamp(1, moments);
            times(seen.news, moments as f64 / passed as f64)
        })
    }

    /// Most samples that say something new just before every second moment is forgotten: in a `share` of the time there were
    /// so many until which moment. Samples are taken every `least` or more seldom.
    fn before_thinned(&self, load: &Load, least: u64, share: f64, news: &[(Time, u64)]) -> u64 {
        let moments = self.moments_max(self.sampled().len() as u64, load.hops);
        let mut every = self.probes.every.unwrap_or(Span(1));
        let mut most = 0.0_f64;
        while every > Span::ZERO && every.times(moments) < load.lasts {
            let until = Time(times(every.times(moments).0, share));
            let passed = news.partition_point(|&(at, _)| at <= until);
            if passed >= LEAST_TOLD && every.0 >= least {
                most = most.max(news[passed - 1].1 as f64 / passed as f64);
            }
            every = every.times(2);
        }
        times(moments, most)
    }

    /// Moments at which samples of ports are kept, of a run that lasts so long.
    fn moments(&self, load: &Load) -> u64 {
        let most = self.moments_max(self.sampled().len() as u64, load.hops);
        let mut every = self.probes.every.unwrap_or(Span(1)).0.max(1);
        while load.lasts.0 / every > most {
            every *= 2;
        }
        (load.lasts.0 / every).max(1)
    }

    /// What comes behind `whole`, whose first half is `half`; none where nothing tells.
    fn rest(&self, load: &Load, half: Reached, whole: Reached) -> Option<Rest> {
        let passed = whole.at.since(half.at);
        let (hops, bytes) = (whole.hops - half.hops, whole.accepted - half.accepted);
        let mut messages = self.traffic.messages.iter();
        let timed = messages.any(is_timed);
        let mut messages = self.traffic.messages.iter();
        // What comes later is known, and a beginning of few messages says little about how often they come.
        let come = !timed && messages.any(|of| comes(of).is_some_and(|at| at > whole.at));
        let all = if timed {
            u64::MAX
        } else if come {
            load.served
        } else {
            let sizes = self.traffic.messages.iter().map(|message| message.size);
            sizes.fold(0, u64::saturating_add)
        };
        let left = all.saturating_sub(whole.accepted);
        let stop = |message: &Message| message.stop.unwrap_or(Time::NEVER);
        let stops = self.traffic.messages.iter().map(stop).max();
        let end = self.until().min(stops.unwrap_or(Time::NEVER));
        let until = end.since(whole.at).0 as f64 / passed.0.max(1) as f64;
        let of_bytes = left as f64 / bytes.max(1) as f64;
        let share = if come && bytes > 0 {
            // Not all of them are there when the run ends.
            let most = if self.is_even() {
                until * GATHERED
            } else {
                f64::INFINITY
            };
            of_bytes.min(most)
        } else if bytes > 0 {
            until.min(of_bytes)
        } else {
            until
        };
        let refused = whole.refused - half.refused;
        (passed > Span::ZERO).then(|| Rest {
            hops: times(hops, share),
            refused: times(refused, share),
            time: Span(times(passed.0, share.min(until))),
        })
    }

    /// Runs a part of it until there were so many packet-hops, with samples of ports every so often and until when; with what
    /// was seen.
    fn begin(
        &self,
        hops_max: u64,
        samples: Option<(Span, Time)>,
        part: Part,
    ) -> Option<(Reached, Look)> {
        let make = |config: &EndpointConfig| self.endpoint(config);
        let mut setup = self.setup(&make, 1);
        match part {
            Part::Whole => {}
            Part::First(part) => {
                setup.traffic.messages.truncate(part);
                setup.traffic.triggers.clear(); // nobody waits for any
            }
            Part::Short { share, least } => self.shorten(&mut setup, share, least)?,
        }
        if let Some((_, until)) = samples {
            setup.until = setup.until.min(until);
        }
        setup.probes = Probes {
            // Without samples it is a look at what happens meanwhile that crosses no link.
            every: Some(samples.map_or(self.base_rtt.times(LOOK_EVERY), |(every, _)| every)),
            links: self.probes.links.clone(),
            accepted: true,
            ..Probes::default()
        };
        let mut look = Look {
            hops_max,
            samples: samples.is_some(),
            refused: 0,
            at: Time::ZERO,
            done: 0,
            active: 0,
            active_most: 0,
            ended: Vec::new(),
            last: BTreeMap::new(),
            news: 0,
            news_until: Vec::new(),
        };
        let outcome = sim::run(&setup, &mut look).ok()?;
        let accepted = outcome.accepted.values();
        let reached = Reached {
            at: if outcome.interrupted {
                look.at
            } else {
                outcome.end
            },
            hops: outcome.hops,
            refused: outcome.totals.credits_dropped,
            accepted: accepted.fold(0, |sum, &bytes| sum.saturating_add(bytes)),
            done: look.done,
            active: look.active,
            active_most: look.active_most,
            news: look.news,
            over: !outcome.interrupted,
        };
        Some((reached, look))
    }
}

/// Packet-hops of a beginning; or of all of a run, where the sum says that it is not much longer: a crowd's beginning
/// shows little but its requests.
fn enough(load: &Load) -> u64 {
    let all = times(load.summed, 1.5);
    if all <= PART_HOPS_MAX {
        PART_HOPS_MAX
    } else {
        HOPS
    }
}

/// When a message starts that has an end of its own and waits for no other.
fn comes(message: &Message) -> Option<Time> {
    match message.start {
        Start::At(at) if !is_timed(message) => Some(at),
        _ => None,
    }
}

/// What became of a part that was run to its end.
struct Served {
    hops: u64,
    refused: u64,
    at: Time,
    /// When most of it had ended.
    by: Time,
    /// Most that were under way at once.
    open: u64,
    /// How long a message took, on average, in picoseconds.
    waits: f64,
}

/// What a run goes on with.
#[derive(Default)]
struct Rest {
    hops: u64,
    refused: u64,
    time: Span,
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and the cast saturates"
)]
pub(crate) fn times(count: u64, share: f64) -> u64 {
    (count as f64 * share) as u64
}

/// The place in a list that so much of it lies before.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below the length of a list"
)]
fn part_of(length: usize, share: f64) -> usize {
    (length as f64 * share) as usize
}
