//! Messages between random pairs at a given load: the background of most evaluations.

use crate::arrivals::Process;
use crate::traffic::{Draw, MESSAGES_MAX, OneShots};
use crate::{Arrivals, Fabric, Load, Per, SizeDist, Traffic, WorkloadError};
use model::{Encap, Rng};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Span, Time};

/// When arrivals end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// After this many messages.
    Count(u64),
    /// Before this time.
    Time(Time),
}

/// Messages between uniformly random pairs of different hosts, each on a connection of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomFlows {
    /// Who can send how much.
    pub fabric: Fabric,
    /// How large messages are.
    pub dist: SizeDist,
    /// How much is sent.
    pub load: Load,
    /// What frames cost, for the load.
    pub encap: Encap,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// When arrivals begin; the first one comes a gap later.
    pub start: Time,
    /// When they end.
    pub until: Until,
    /// The messages' tag.
    pub tag: String,
}

impl RandomFlows {
    /// The messages.
    ///
    /// # Errors
    /// If the load is impossible or the messages are too many.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        self.arrivals.gaps.check()?;
        let rate = self
            .load
            .messages_per_second(self.fabric, &self.dist, self.encap)?;
        limit(rate, self.start, self.until)?;
        let hosts = self.fabric.hosts;
        let mut flows = OneShots::default();
        let add = |source: &mut Source, at, flows: &mut OneShots| {
            let src = source.host.unwrap_or_else(|| host(&mut source.peer, hosts));
            let dst = other_host(&mut source.peer, hosts, src);
            flows.push(src, dst, self.dist.draw(&mut source.size), at, None);
        };
        let mut sources: Vec<Source> = match self.arrivals.per {
            Per::Run => vec![Source::new(self.arrivals, rate, seed, None)],
            Per::Host => (0..hosts)
                .map(|src| Source::new(self.arrivals, rate / f64::from(hosts), seed, Some(src)))
                .collect(),
        };
        let first = |(i, source): (usize, &mut Source)| Reverse((source.next(self.start), i));
        let mut next: BinaryHeap<_> = sources.iter_mut().enumerate().map(first).collect();
        while let Some(Reverse((at, i))) = next.pop() {
            let over = match self.until {
                Until::Count(count) => flows.len() as u64 == count,
                Until::Time(end) => at >= end,
            };
            if over || at == Time::NEVER || flows.len() == MESSAGES_MAX {
                break;
            }
            add(&mut sources[i], at, &mut flows);
            next.push(Reverse((sources[i].next(at), i)));
        }
        flows.finish(&self.tag)
    }
}

/// Where arrivals come from: a host, or the run as a whole.
struct Source {
    host: Option<u32>,
    process: Process,
    size: Rng,
    peer: Rng,
}

impl Source {
    fn new(arrivals: Arrivals, rate: f64, seed: u64, host: Option<u32>) -> Self {
        // The run's own streams are apart from those of all hosts.
        let id = host.unwrap_or(u32::MAX);
        Self {
            host,
            process: Process::new(arrivals.gaps, rate, seed, id),
            size: Draw::Size.stream(seed, id),
            peer: Draw::Peer.stream(seed, id),
        }
    }

    fn next(&mut self, after: Time) -> Time {
        after.after(self.process.gap())
    }
}

/// Refuses what would fill the memory.
pub(crate) fn limit(rate: f64, start: Time, until: Until) -> Result<(), WorkloadError> {
    let expected = match until {
        Until::Count(count) => count as f64,
        Until::Time(end) => rate * end.since(start).as_secs(),
    };
    if expected > MESSAGES_MAX as f64 {
        return Err(WorkloadError(format!(
            "about {expected:.0} messages; at most {MESSAGES_MAX} are possible: end earlier or \
             lower the load"
        )));
    }
    Ok(())
}

/// A uniformly random host.
pub(crate) fn host(rng: &mut Rng, hosts: u32) -> u32 {
    u32::try_from(rng.below(hosts.into())).expect("below the number of hosts")
}

/// A uniformly random host other than `than`.
pub(crate) fn other_host(rng: &mut Rng, hosts: u32, than: u32) -> u32 {
    let other = host(rng, hosts - 1);
    if other < than { other } else { other + 1 }
}

/// A delay of at most `jitter`, the same for the same stream.
pub(crate) fn jittered(rng: &mut Rng, start: Time, jitter: Span) -> Time {
    if jitter == Span::ZERO {
        start
    } else {
        start.after(Span(rng.between(0, jitter.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gaps, LoadBasis, Start, sizes};
    use units::Rate;

    const FABRIC: Fabric = Fabric {
        hosts: 16,
        host_rate: Rate::gbps(160),
        uplink_rate: Rate::gbps(160),
        crossing: 12.0 / 15.0,
    };

    fn flows(per: Per, until: Until) -> RandomFlows {
        RandomFlows {
            fabric: FABRIC,
            dist: sizes::named("web-server").unwrap(),
            load: Load::of_hosts(0.6),
            encap: Encap::PAPER,
            arrivals: Arrivals {
                gaps: Gaps::Poisson,
                per,
            },
            start: Time::ZERO,
            until,
            tag: "background".into(),
        }
    }

    fn times(traffic: &Traffic) -> Vec<Time> {
        traffic
            .messages
            .iter()
            .map(|m| match m.start {
                Start::At(time) => time,
                Start::After { .. } | Start::Fired { .. } => unreachable!("open loop"),
            })
            .collect()
    }

    #[test]
    fn the_wire_sees_the_load_that_was_asked_for() {
        for per in [Per::Run, Per::Host] {
            for load in [
                Load::of_hosts(0.6),
                Load {
                    basis: LoadBasis::Uplinks,
                    all_cross: false,
                    ..Load::of_hosts(0.6)
                },
            ] {
                let spec = RandomFlows {
                    load,
                    ..flows(per, Until::Count(100_000))
                };
                let traffic = spec.generate(1).unwrap();
                let rack = |host: u32| host / 4;
                let counts = |m: &&crate::Message| {
                    let conn = traffic.conns[m.conn as usize];
                    load.basis == LoadBasis::Hosts || rack(conn.a) != rack(conn.b)
                };
                let wire: u64 = traffic
                    .messages
                    .iter()
                    .filter(counts)
                    .map(|m| Encap::PAPER.wire_total(m.size))
                    .sum();
                let seconds = times(&traffic).last().unwrap().since(Time::ZERO).as_secs();
                let offered = wire as f64 * 8.0 / seconds / 160e9;
                assert!((offered - 0.6).abs() < 0.012, "{per:?} {load:?}: {offered}");
            }
        }
    }

    #[test]
    fn sources_and_destinations_are_uniform_and_different() {
        for per in [Per::Run, Per::Host] {
            let traffic = flows(per, Until::Count(48_000)).generate(2).unwrap();
            let mut pairs = [[0u32; 16]; 16];
            for conn in &traffic.conns {
                assert!(conn.one_shot);
                pairs[conn.a as usize][conn.b as usize] += 1;
            }
            for (a, row) in pairs.iter().enumerate() {
                for (b, &n) in row.iter().enumerate() {
                    // 200 expected, standard deviation 14.
                    assert!(
                        if a == b {
                            n == 0
                        } else {
                            (130..270).contains(&n)
                        },
                        "{a} {b}: {n}"
                    );
                }
            }
        }
    }

    #[test]
    fn arrivals_end_when_told() {
        let end = Time::ZERO + Span::ms(2);
        let traffic = flows(Per::Host, Until::Time(end)).generate(3).unwrap();
        let times = times(&traffic);
        assert!(times.iter().all(|&t| t < end));
        // 0.6 * 160 Gb/s for 2 ms, in messages of 69,738 B on the wire: 344 expected.
        assert!((270..420).contains(&times.len()), "{}", times.len());
        assert_eq!(
            flows(Per::Run, Until::Count(17))
                .generate(3)
                .unwrap()
                .messages
                .len(),
            17
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_messages() {
        let spec = flows(Per::Host, Until::Count(500));
        assert_eq!(spec.generate(4).unwrap(), spec.generate(4).unwrap());
        assert_ne!(spec.generate(4).unwrap(), spec.generate(5).unwrap());
    }

    #[test]
    fn one_more_host_does_not_move_the_others_arrivals() {
        let starts = |hosts: u32| {
            let fabric = Fabric {
                hosts,
                host_rate: Rate::gbps(u64::from(hosts) * 10),
                uplink_rate: Rate(0),
                crossing: 0.0,
            };
            let until = Until::Time(Time::ZERO + Span::ms(20));
            let traffic = RandomFlows {
                fabric,
                ..flows(Per::Host, until)
            }
            .generate(1)
            .unwrap();
            let of_host_3 = traffic.messages.iter().filter(|m| traffic.sender(m) == 3);
            of_host_3.map(|m| (m.start, m.size)).collect::<Vec<_>>()
        };
        assert!(starts(8).len() > 50);
        assert_eq!(starts(8), starts(9));
    }

    #[test]
    fn more_messages_than_fit_are_refused() {
        let spec = flows(Per::Run, Until::Time(Time::ZERO + Span::ms(10_000_000)));
        let error = spec.generate(1).unwrap_err().to_string();
        assert!(error.contains("end earlier or lower the load"), "{error}");
    }
}
