//! Fixed patterns: permutations, shuffles, and flows that join and leave.

use crate::flows::jittered;
use crate::traffic::{Draw, ENDLESS, MESSAGES_MAX, OneShots};
use crate::{Traffic, WorkloadError};
use model::Rng;
use units::{Span, Time};

/// To whom each host sends in a permutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partner {
    /// A random permutation in which no host sends to itself; all of these are equally likely.
    Random,
    /// The host this many places further on.
    Shift(u32),
}

/// Every host sends one message and receives one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permutation {
    /// Hosts in the network.
    pub hosts: u32,
    /// To whom.
    pub partner: Partner,
    /// Size of each message; [`ENDLESS`] for flows that last until `stop`.
    pub bytes: u64,
    /// When they start.
    pub start: Time,
    /// When their senders give up.
    pub stop: Option<Time>,
    /// Each starts up to this much later, uniformly.
    pub jitter: Span,
    /// The messages' tag.
    pub tag: String,
}

/// Refuses flows that all stop when the last of them, `last`, may not have started: it would never stop.
fn starts_before(stop: Time, last: Time, jitter: Span) -> Result<(), WorkloadError> {
    let latest = last.after(jitter);
    if latest < stop {
        return Ok(());
    }
    Err(WorkloadError(format!(
        "stop = {stop}: the last flow may start at {latest}, and would never stop; let all start before, or stop later"
    )))
}

/// Shuffles that are tried for one without a fixed point. One in e succeeds, so that this many
/// fail once in 10^199 seeds.
const SHUFFLES_MAX: u32 = 1000;

impl Permutation {
    /// The messages.
    ///
    /// # Errors
    /// If hosts would send to themselves.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        at_least("hosts", self.hosts, 2)?;
        if let Some(stop) = self.stop {
            starts_before(stop, self.start, self.jitter)?;
        }
        let to: Vec<u32> = match self.partner {
            Partner::Random => derangement(self.hosts, &mut Draw::Order.stream(seed, 0)),
            Partner::Shift(n) if n % self.hosts == 0 => {
                return Err(WorkloadError(format!(
                    "shift = {n}: {} hosts would send to themselves; use 1 to {}",
                    self.hosts,
                    self.hosts - 1
                )));
            }
            Partner::Shift(n) => {
                let n = n % self.hosts;
                (n..self.hosts).chain(0..n).collect()
            }
        };
        let mut flows = OneShots::default();
        for (src, &dst) in (0..).zip(&to) {
            let start = jittered(&mut Draw::Jitter.stream(seed, src), self.start, self.jitter);
            flows.push(src, dst, self.bytes, start, self.stop);
        }
        flows.finish(&self.tag)
    }
}

/// Every task of every host sends to every task of every other host. With one task per host it
/// is all-to-all. [xpass Fig. 17: 40 hosts, 8 tasks, 1 MB]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shuffle {
    /// Hosts in the network.
    pub hosts: u32,
    /// Tasks of each host.
    pub tasks: u32,
    /// Size of the message of each ordered pair of tasks on different hosts.
    pub bytes: u64,
    /// When they start.
    pub start: Time,
    /// Each starts up to this much later, uniformly.
    pub jitter: Span,
    /// The messages' tag.
    pub tag: String,
}

impl Shuffle {
    /// The messages. Hosts begin with different neighbours, not all with host 0.
    ///
    /// # Errors
    /// If there are too many messages.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        at_least("hosts", self.hosts, 2)?;
        at_least("tasks", self.tasks, 1)?;
        let (hosts, tasks) = (u128::from(self.hosts), u128::from(self.tasks));
        let count = hosts * (hosts - 1) * tasks * tasks;
        if count > MESSAGES_MAX as u128 {
            return Err(WorkloadError(format!(
                "{count} pairs of tasks; at most {MESSAGES_MAX} are possible: lower hosts or tasks"
            )));
        }
        let mut jitter: Vec<Rng> = (0..self.hosts)
            .map(|host| Draw::Jitter.stream(seed, host))
            .collect();
        let mut flows = OneShots::default();
        for step in 1..self.hosts {
            for _ in 0..self.tasks * self.tasks {
                for src in 0..self.hosts {
                    let dst = (src + step) % self.hosts;
                    let start = jittered(&mut jitter[src as usize], self.start, self.jitter);
                    flows.push(src, dst, self.bytes, start, None);
                }
            }
        }
        flows.finish(&self.tag)
    }
}

/// Long flows that join one by one and, if told, leave one by one. [xpass Figs. 2, 13]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Staircase {
    /// (source, destination) of each flow, in the order in which they join.
    pub pairs: Vec<(u32, u32)>,
    /// When the first one joins.
    pub start: Time,
    /// Time from one step to the next; zero for flows that all join at once.
    pub every: Span,
    /// Each joins up to this much later, uniformly.
    pub jitter: Span,
    /// How they leave.
    pub leave: Leave,
    /// The flows' tag.
    pub tag: String,
}

/// How the flows of a [`Staircase`] leave: from one step after the last one has joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// They stay to the end of the run.
    Never,
    /// The first to join is the first to leave.
    FirstIn,
    /// The last to join is the first to leave.
    LastIn,
    /// All at this time.
    At(Time),
}

impl Staircase {
    /// The flows.
    ///
    /// # Errors
    /// If a flow has one host at both ends, or might leave before it joins.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        if matches!(self.leave, Leave::FirstIn | Leave::LastIn) && self.jitter > self.every {
            return Err(WorkloadError(format!(
                "jitter = {}: a flow might leave before it joins; use at most every = {}",
                self.jitter, self.every
            )));
        }
        let mut flows = OneShots::default();
        let count = self.pairs.len() as u64;
        if let Leave::At(stop) = self.leave {
            let last = self.start.after(self.every.times(count.saturating_sub(1)));
            starts_before(stop, last, self.jitter)?;
        }
        for (i, (number, &(src, dst))) in (0..).zip((0..).zip(&self.pairs)) {
            if src == dst {
                return Err(WorkloadError(format!(
                    "flow {i} goes from host {src} to itself; give it two hosts"
                )));
            }
            let step = |n: u64| self.start.after(self.every.times(n));
            let stop = match self.leave {
                Leave::Never => None,
                Leave::FirstIn => Some(step(count + i)),
                Leave::LastIn => Some(step(2 * count - 1 - i)),
                Leave::At(time) => Some(time),
            };
            let start = jittered(&mut Draw::Jitter.stream(seed, number), step(i), self.jitter);
            flows.push(src, dst, ENDLESS, start, stop);
        }
        flows.finish(&self.tag)
    }
}

/// A random permutation of 0 to `n - 1` without a fixed point.
fn derangement(n: u32, rng: &mut Rng) -> Vec<u32> {
    for _ in 0..SHUFFLES_MAX {
        let mut to: Vec<u32> = (0..n).collect();
        shuffle(&mut to, rng);
        if (0..).zip(&to).all(|(from, &to): (u32, _)| from != to) {
            return to;
        }
    }
    unreachable!("one shuffle in e has no fixed point")
}

/// Puts a list into random order. [Fisher and Yates; Knuth 3.4.2]
pub(crate) fn shuffle(list: &mut [u32], rng: &mut Rng) {
    for i in (1..list.len()).rev() {
        let other = rng.below(i as u64 + 1);
        list.swap(i, usize::try_from(other).expect("an index of the list"));
    }
}

/// Refuses a number that is too small.
pub(crate) fn at_least(what: &str, n: u32, least: u32) -> Result<(), WorkloadError> {
    if n < least {
        return Err(WorkloadError(format!(
            "{what} = {n}; it must be at least {least}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Start};
    use std::collections::BTreeMap;

    fn permutation(hosts: u32, partner: Partner) -> Permutation {
        Permutation {
            hosts,
            partner,
            bytes: 1_000_000,
            start: Time::ZERO,
            stop: None,
            jitter: Span::ZERO,
            tag: "permutation".into(),
        }
    }

    fn ends(traffic: &Traffic) -> Vec<(u32, u32)> {
        traffic.conns.iter().map(|conn| (conn.a, conn.b)).collect()
    }

    #[test]
    fn everyone_sends_once_and_receives_once() {
        for hosts in [2, 3, 16, 128] {
            for seed in 0..20 {
                let traffic = permutation(hosts, Partner::Random).generate(seed).unwrap();
                let (mut from, mut to): (Vec<_>, Vec<_>) = ends(&traffic).into_iter().unzip();
                assert!(from.iter().zip(&to).all(|(a, b)| a != b));
                from.sort_unstable();
                to.sort_unstable();
                assert!(from == to && from == (0..hosts).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn all_derangements_are_equally_likely() {
        let mut count: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for seed in 0..9000 {
            let traffic = permutation(4, Partner::Random).generate(seed).unwrap();
            let to = ends(&traffic).into_iter().map(|(_, to)| to).collect();
            *count.entry(to).or_default() += 1;
        }
        // Four hosts have nine derangements.
        assert_eq!(count.len(), 9);
        assert!(count.values().all(|n| (870..1130).contains(n)), "{count:?}");
    }

    #[test]
    fn a_shift_sends_further_on() {
        let traffic = permutation(4, Partner::Shift(5)).generate(1).unwrap();
        assert_eq!(ends(&traffic), [(0, 1), (1, 2), (2, 3), (3, 0)]);
        let error = permutation(4, Partner::Shift(8))
            .generate(1)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "shift = 8: 4 hosts would send to themselves; use 1 to 3"
        );
    }

    fn shuffled(hosts: u32, tasks: u32) -> Result<Traffic, WorkloadError> {
        let (start, jitter) = (Time::ZERO, Span::ZERO);
        Shuffle {
            hosts,
            tasks,
            bytes: 1_000_000,
            start,
            jitter,
            tag: "shuffle".into(),
        }
        .generate(1)
    }

    #[test]
    fn a_shuffle_has_one_message_per_pair_of_tasks() {
        let traffic = shuffled(40, 8).unwrap();
        assert_eq!(traffic.messages.len(), 40 * 39 * 64);
        let mut count: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for pair in ends(&traffic) {
            *count.entry(pair).or_default() += 1;
        }
        assert_eq!(count.len(), 40 * 39);
        assert!(count.iter().all(|(pair, n)| pair.0 != pair.1 && *n == 64));
        assert_eq!(
            ends(&shuffled(3, 1).unwrap())[..3],
            [(0, 1), (1, 2), (2, 0)]
        );
        let error = shuffled(20_000, 8).unwrap_err().to_string();
        assert!(error.contains("lower hosts or tasks"), "{error}");
    }

    fn stairs(leave: Leave, jitter: Span) -> Staircase {
        Staircase {
            pairs: vec![(0, 3), (1, 4), (2, 5)],
            start: Time::ZERO,
            every: Span::us(10),
            jitter,
            leave,
            tag: "long".into(),
        }
    }

    #[test]
    fn flows_join_at_random_times_within_the_jitter() {
        let starts = |seed| -> Vec<u64> {
            let flows = stairs(Leave::Never, Span::us(10)).generate(seed).unwrap();
            let at = |m: &Message| match m.start {
                Start::At(at) => at.0,
                Start::After { .. } | Start::Fired { .. } => {
                    unreachable!("flows start by the clock")
                }
            };
            flows.messages.iter().map(at).collect()
        };
        let (one, two) = (starts(1), starts(2));
        assert_eq!(one, starts(1));
        assert_ne!(one, two);
        for (step, at) in (0..).zip(one).chain((0..).zip(two)) {
            let first = step * Span::us(10).0;
            assert!(
                (first..=first + Span::us(10).0).contains(&at),
                "{step} at {at}"
            );
        }
        let refused = stairs(Leave::LastIn, Span::us(11)).generate(1).unwrap_err();
        assert!(
            refused.to_string().starts_with("jitter = 11us"),
            "{refused}"
        );
    }

    #[test]
    fn flows_join_and_leave_step_by_step() {
        let story = |leave| {
            let spec = stairs(leave, Span::ZERO);
            let us = |time: Time| time.0 / 1_000_000;
            let times = |m: &Message| match m.start {
                Start::At(start) => format!("{}-{} ", us(start), m.stop.map_or(0, us)),
                Start::After { .. } | Start::Fired { .. } => String::new(),
            };
            spec.generate(1)
                .unwrap()
                .messages
                .iter()
                .map(times)
                .collect::<String>()
        };
        assert_eq!(story(Leave::Never), "0-0 10-0 20-0 ");
        assert_eq!(story(Leave::FirstIn), "0-30 10-40 20-50 ");
        assert_eq!(story(Leave::LastIn), "0-50 10-40 20-30 ");
        assert_eq!(
            story(Leave::At(Time::ZERO + Span::us(99))),
            "0-99 10-99 20-99 "
        );
    }

    #[test]
    fn a_flow_that_would_start_when_all_have_stopped_is_refused() {
        let stop_at = |us| stairs(Leave::At(Time::ZERO + Span::us(us)), Span::ZERO).generate(1);
        assert!(stop_at(21).is_ok());
        let refused = stop_at(20).unwrap_err().to_string();
        assert!(
            refused.starts_with("stop = 20us: the last flow may start at 20us"),
            "{refused}"
        );
        let late = stairs(Leave::At(Time::ZERO + Span::us(29)), Span::us(9));
        for seed in 0..20 {
            let refused = late.generate(seed).is_err();
            assert!(refused, "by the scenario, and not by chance");
        }
    }
}
