//! A run in short: the same messages and faults in a share of the time.
//!
//! Flows that join and leave, messages that end beside them, links that fail and come back: what the beginning of such a run
//! shows does not go on. So all of it is run with times and sizes that are a share of what they are. Short messages
//! cannot be made shorter: where they are much of what a part of the traffic sends, its first messages stand for all, as
//! close to each other as they are. What takes its time whatever the share, like round trips and timers, is in a run of half the
//! share as well: the difference of the two tells what each further share takes.

use crate::ahead::times;
use crate::assemble::{Assembled, is_timed};
use crate::load::sendable;
use sim::{Fault, FaultKind, Setup};
use units::{Span, Time};
use workload::{ENDLESS, Message, Milestone, Start, Traffic, Trigger};

/// A message that would be left with fewer frames than these keeps its size. [ours]
const FRAMES_LEAST: f64 = 4.0;
/// All of these are sent where they are at most so much of what is sent in a share of the time; otherwise so many of a part of
/// the traffic at least stand for all of it, or of a connection where each waits for the last. [ours]
const KEPT_MOST: f64 = 0.02;
const FIRST_LEAST: f64 = 50.0;
const FIRST_LEAST_OF_CONN: f64 = 4.0;

/// Which messages of a tag are sent, of those that keep their size.
#[derive(Clone, Copy)]
enum Kept {
    All,
    /// So many, the first of which comes then.
    First(u64, Time),
    /// The first of each connection.
    OfConns,
}

/// The messages of a tag that keep their size.
#[derive(Clone, Copy)]
struct Small {
    count: u64,
    frames: f64,
    /// When the first comes, where all come at a time of their own.
    first: Option<Time>,
}

/// What is sent in a share of the time.
struct Shorter<'a> {
    run: &'a Assembled,
    share: f64,
    /// The least share of all runs that are compared.
    least: f64,
}

impl Assembled {
    /// Makes `setup` one of a `share` of its time; none where it cannot be. The least share of all runs that are compared, `least`,
    /// says which messages keep their size.
    pub(crate) fn shorten(&self, setup: &mut Setup<'_>, share: f64, least: f64) -> Option<()> {
        let run = self;
        setup.traffic = Shorter { run, share, least }.traffic()?;
        setup.until = time(setup.until, share);
        for fault in &mut setup.faults {
            *fault = shorter(fault, share);
        }
        Some(())
    }
}

impl Shorter<'_> {
    fn traffic(&self) -> Option<Traffic> {
        let all = &self.run.traffic;
        let kept = self.kept()?;
        let mut left: Vec<u64> = kept.iter().map(|kept| kept.left()).collect();
        let mut left_of_conns = self.of_conns(&kept)?;
        let mut places = Vec::with_capacity(all.messages.len());
        let mut messages = Vec::new();
        for message in &all.messages {
            let small = self.is_small(message);
            let tag = usize::from(message.tag);
            let left = match kept[tag] {
                Kept::OfConns => &mut left_of_conns[message.conn as usize],
                Kept::All | Kept::First(..) => &mut left[tag],
            };
            let sent = !small || *left > 0;
            places.push(sent.then_some(u32::try_from(messages.len()).ok()?));
            if sent {
                *left = left.saturating_sub(u64::from(small));
                messages.push(self.message(message, small, kept[tag], &places)?);
            }
        }
        let cause = |&(message, when): &(u32, Milestone)| Some((places[message as usize]?, when));
        let trigger = |of: &Trigger| {
            let causes = of.causes.iter().map(cause).collect::<Option<_>>()?;
            Some(Trigger { causes })
        };
        let traffic = Traffic {
            conns: all.conns.clone(),
            messages,
            tags: all.tags.clone(),
            triggers: all.triggers.iter().map(trigger).collect::<Option<_>>()?,
        };
        traffic.arranged().ok()
    }

    /// A message in a share of the time, where others are at these places now.
    fn message(
        &self,
        message: &Message,
        small: bool,
        kept: Kept,
        places: &[Option<u32>],
    ) -> Option<Message> {
        let mut message = *message;
        if !small && message.size < ENDLESS {
            message.size = times(message.size, self.share).max(1);
        }
        message.stop = message.stop.map(|stop| time(stop, self.share));
        let shorter = |delay: Span| match kept {
            Kept::OfConns => delay,
            Kept::All | Kept::First(..) => Span(times(delay.0, self.share)),
        };
        match &mut message.start {
            Start::At(at) => {
                *at = match kept {
                    Kept::First(_, first) if small => {
                        time(first, self.share).after(at.since(first))
                    }
                    _ => time(*at, self.share),
                }
            }
            Start::After { message, delay } => {
                *message = places[*message as usize]?;
                *delay = shorter(*delay);
            }
            Start::Fired { delay, .. } => *delay = shorter(*delay),
        }
        Some(message)
    }

    fn is_small(&self, message: &Message) -> bool {
        let frames = self.run.encap.frames(message.size) as f64;
        let trip = self.run.bdp().0 as f64 / f64::from(self.run.encap.wire_max());
        // What is sent unasked, in the first round trip, costs other packets than what comes behind it.
        let least = if frames > trip {
            FRAMES_LEAST.max(trip)
        } else {
            FRAMES_LEAST
        };
        !is_timed(message) && frames * self.least < least
    }

    /// By tag, which of its small messages are sent; none where neither all nor the first would be what they are.
    fn kept(&self) -> Option<Vec<Kept>> {
        let traffic = &self.run.traffic;
        let none = Small {
            count: 0,
            frames: 0.0,
            first: Some(Time::NEVER),
        };
        let mut small = vec![none; traffic.tags.len()];
        let (mut frames, until) = (0.0, self.run.until());
        for message in &traffic.messages {
            let size = sendable(self.run, message, until);
            let own = self.run.encap.frames(size) as f64 + 1.0;
            frames += own;
            if self.is_small(message) {
                let of = &mut small[usize::from(message.tag)];
                of.count += 1;
                of.frames += own;
                of.first = match message.start {
                    Start::At(at) => of.first.map(|first| first.min(at)),
                    Start::After { .. } | Start::Fired { .. } => None,
                };
            }
        }
        let kept = |small: &Small| {
            let all = small.frames <= KEPT_MOST * self.share * frames;
            let first = small
                .first
                .filter(|_| small.count as f64 * self.least >= FIRST_LEAST);
            match first {
                _ if all => Some(Kept::All),
                Some(first) => Some(Kept::First(times(small.count, self.share), first)),
                None if small.first.is_none() && traffic.triggers.is_empty() => Some(Kept::OfConns),
                None => None,
            }
        };
        small.iter().map(kept).collect()
    }

    /// By connection, how many of its small messages are sent, where their tag has the first of each; none where that would be
    /// too few.
    fn of_conns(&self, kept: &[Kept]) -> Option<Vec<u64>> {
        let mut counts = vec![0; self.run.traffic.conns.len()];
        for message in &self.run.traffic.messages {
            let some = matches!(kept[usize::from(message.tag)], Kept::OfConns);
            counts[message.conn as usize] += u64::from(some && self.is_small(message));
        }
        let few = |&count: &u64| count > 0 && count as f64 * self.least < FIRST_LEAST_OF_CONN;
        if counts.iter().any(few) {
            return None;
        }
        let counts = counts.into_iter();
        Some(counts.map(|count| times(count, self.share)).collect())
    }
}

impl Kept {
    /// How many small messages of the tag are sent.
    fn left(self) -> u64 {
        match self {
            Self::First(count, _) => count,
            Self::All | Self::OfConns => u64::MAX, // those of connections are counted by them
        }
    }
}

/// A fault in a share of the time.
fn shorter(fault: &Fault, share: f64) -> Fault {
    let kind = match fault.kind {
        FaultKind::Down { detect } => FaultKind::Down {
            detect: Span(times(detect.0, share)),
        },
        FaultKind::Loss { ppb, only, most } => FaultKind::Loss {
            ppb,
            only,
            most: most.map(|most| times(most, share)),
        },
        other => other,
    };
    Fault {
        link: fault.link,
        from: time(fault.from, share),
        until: time(fault.until, share),
        kind,
    }
}

/// A moment, in a share of the time.
fn time(at: Time, share: f64) -> Time {
    if at == Time::NEVER {
        return at;
    }
    Time(times(at.0, share))
}
