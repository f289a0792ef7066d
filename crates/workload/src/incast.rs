//! Many hosts that send to one.

use crate::arrivals::Process;
use crate::flows::{host, jittered, limit, other_host};
use crate::patterns::{at_least, shuffle};
use crate::traffic::{Draw, MESSAGES_MAX, OneShots, place32};
use crate::{Conn, Fabric, Gaps, Load, Message, SizeDist, Start, Traffic, Until, WorkloadError};
use model::Encap;
use units::{Rate, Span, Time};

/// Which hosts take part beside the one in the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The hosts after it, in their order.
    InOrder,
    /// Others, in random order.
    Random,
}

/// One message from each of many senders to one receiver, each on a connection of its own.
///
/// With more senders than other hosts, hosts take several in turn, as in `ExpressPass`'s and NDP's
/// large incasts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incast {
    /// Hosts in the network.
    pub hosts: u32,
    /// The receiver; random if none is named.
    pub receiver: Option<u32>,
    /// Number of messages.
    pub senders: u32,
    /// Which hosts send.
    pub pick: Pick,
    /// Size of each message.
    pub bytes: u64,
    /// When they start.
    pub start: Time,
    /// Each starts up to this much later, uniformly.
    pub jitter: Span,
    /// The messages' tag.
    pub tag: String,
}

impl Incast {
    /// The messages.
    ///
    /// # Errors
    /// If there is no such receiver or no sender.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        let mut flows = OneShots::default();
        self.push_to(&mut flows, &self.who(seed)?, self.start, 0, seed);
        flows.finish(&self.tag)
    }

    /// The receiver, and the hosts that send to it in turn.
    fn who(&self, seed: u64) -> Result<(u32, Vec<u32>), WorkloadError> {
        at_least("hosts", self.hosts, 2)?;
        at_least("senders", self.senders, 1)?;
        let mut order = Draw::Order.stream(seed, 0);
        let receiver = self
            .receiver
            .unwrap_or_else(|| host(&mut order, self.hosts));
        Ok((receiver, others(self.hosts, receiver, self.pick, seed)?))
    }

    /// Adds the messages of incast number `round`, which begins at `at`.
    fn push_to(
        &self,
        flows: &mut OneShots,
        (receiver, senders): &(u32, Vec<u32>),
        at: Time,
        round: u32,
        seed: u64,
    ) {
        for (i, &src) in (0..self.senders).zip(senders.iter().cycle()) {
            let number = round * self.senders + i;
            let start = jittered(&mut Draw::Jitter.stream(seed, number), at, self.jitter);
            flows.push(src, *receiver, self.bytes, start, None);
        }
    }
}

/// The same incast over and over, at random times: unlike [`IncastBursts`], all to one receiver,
/// whose link the load is a share of. [ours]
#[derive(Clone, PartialEq, Debug)]
pub struct RecurringIncast {
    /// The first of them.
    pub first: Incast,
    /// How many there are.
    pub rounds: u32,
    /// Share of the receiver's link that they fill on the average, wire bytes counted.
    pub load: f64,
    /// Rate of that link.
    pub link: Rate,
    /// What frames cost, for the load.
    pub encap: Encap,
}

impl RecurringIncast {
    /// The messages: incasts whose beginnings are a Poisson process.
    ///
    /// # Errors
    /// If there is no such receiver, no sender, an impossible load or too much to send.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        at_least("rounds", self.rounds, 1)?;
        if !(self.load > 0.0 && self.load <= 1.0) {
            return Err(WorkloadError(format!(
                "load = {}; it must be above 0 and at most 1",
                self.load
            )));
        }
        let count = u64::from(self.first.senders) * u64::from(self.rounds);
        if count > MESSAGES_MAX as u64 {
            return Err(WorkloadError(format!(
                "{count} messages; at most {MESSAGES_MAX} are possible: lower rounds"
            )));
        }
        let wire = self.encap.wire_total(self.first.bytes) as f64 * f64::from(self.first.senders);
        let incasts_per_second = self.load * self.link.0 as f64 / (8.0 * wire);
        let mut process = Process::new(Gaps::Poisson, incasts_per_second, seed, 0);
        let who = self.first.who(seed)?;
        let (mut flows, mut at) = (OneShots::default(), self.first.start);
        for round in 0..self.rounds {
            self.first.push_to(&mut flows, &who, at, round, seed);
            at = at.after(process.gap());
        }
        flows.finish(&self.first.tag)
    }
}

/// A master asks each of its workers over a standing connection, and each answers.
/// [xpass Fig. 1]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestResponse {
    /// Hosts in the network.
    pub hosts: u32,
    /// The host that asks.
    pub master: u32,
    /// Connections; with more of them than other hosts, hosts take several in turn.
    pub workers: u32,
    /// Which hosts answer.
    pub pick: Pick,
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
    /// Time from a request's last byte to its response.
    pub work: Span,
    /// How often each worker is asked.
    pub rounds: u32,
    /// When it is asked again.
    pub pacing: Pacing,
    /// When the first requests start.
    pub start: Time,
}

/// When the next request on a connection starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// At regular times, whether or not the last response is there.
    Every(Span),
    /// This long after the last response.
    Closed(Span),
}

impl RequestResponse {
    /// The messages; requests have the tag `request`, responses `response`.
    ///
    /// # Errors
    /// If there is no such master, no worker to answer, or too much to ask.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        at_least("hosts", self.hosts, 2)?;
        at_least("workers", self.workers, 1)?;
        at_least("rounds", self.rounds, 1)?;
        let count = u64::from(self.workers) * u64::from(self.rounds) * 2;
        if count > MESSAGES_MAX as u64 {
            return Err(WorkloadError(format!(
                "{count} requests and responses; at most {MESSAGES_MAX} are possible: lower rounds"
            )));
        }
        let workers = others(self.hosts, self.master, self.pick, seed)?;
        let (mut conns, mut messages) = (Vec::new(), Vec::new());
        for (conn, &worker) in (0..self.workers).zip(workers.iter().cycle()) {
            conns.push(Conn {
                a: self.master,
                b: worker,
                one_shot: false,
            });
            for round in 0..self.rounds {
                let last = place32(messages.len()).checked_sub(1);
                let start = match (self.pacing, last) {
                    (Pacing::Closed(delay), Some(message)) if round > 0 => {
                        Start::After { message, delay }
                    }
                    (Pacing::Every(span), _) => {
                        Start::At(self.start.after(span.times(round.into())))
                    }
                    (Pacing::Closed(_), _) => Start::At(self.start),
                };
                let request = place32(messages.len());
                let size = self.request_bytes;
                messages.push(Message {
                    conn,
                    from_a: true,
                    size,
                    start,
                    stop: None,
                    tag: 0,
                });
                let start = Start::After {
                    message: request,
                    delay: self.work,
                };
                let size = self.response_bytes;
                messages.push(Message {
                    conn,
                    from_a: false,
                    size,
                    start,
                    stop: None,
                    tag: 1,
                });
            }
        }
        Traffic::arrange(conns, &messages, vec!["request".into(), "response".into()])
    }
}

/// Incasts that recur, each to a random receiver: a share of the load beside a background.
///
/// BFC gives them 5 % of the load in bursts of 100 senders drawn with replacement, SIRD 7 % in
/// bursts of 30 messages of 500 KB. [bfc artefact; sird artefact]
#[derive(Clone, PartialEq, Debug)]
pub struct IncastBursts {
    /// Who can send how much.
    pub fabric: Fabric,
    /// Messages of a burst.
    pub senders: u32,
    /// Whether one host may send several messages of a burst even if there are hosts enough.
    pub replacement: bool,
    /// Size of each message.
    pub bytes: u64,
    /// How much all bursts together send.
    pub load: Load,
    /// What frames cost, for the load.
    pub encap: Encap,
    /// Time between bursts.
    pub gaps: Gaps,
    /// When bursts begin; the first one comes a gap later.
    pub start: Time,
    /// When they end, counted in bursts.
    pub until: Until,
    /// The messages' tag.
    pub tag: String,
}

impl IncastBursts {
    /// The messages.
    ///
    /// # Errors
    /// If the load is impossible or the messages are too many.
    pub fn generate(&self, seed: u64) -> Result<Traffic, WorkloadError> {
        at_least("senders", self.senders, 1)?;
        self.gaps.check()?;
        let dist = SizeDist::fixed(self.bytes);
        let messages = self
            .load
            .messages_per_second(self.fabric, &dist, self.encap)?;
        let until = match self.until {
            Until::Count(bursts) => Until::Count(bursts.saturating_mul(self.senders.into())),
            Until::Time(end) => Until::Time(end),
        };
        limit(messages, self.start, until)?;
        let hosts = self.fabric.hosts;
        let mut process = Process::new(self.gaps, messages / f64::from(self.senders), seed, 0);
        let mut flows = OneShots::default();
        let mut at = self.start;
        for burst in 0.. {
            at = at.after(process.gap());
            let over = match self.until {
                Until::Count(count) => u64::from(burst) == count,
                Until::Time(end) => at >= end,
            };
            if over || at == Time::NEVER || flows.len() >= MESSAGES_MAX {
                break;
            }
            // A burst's streams are its own: one more sender does not move the next burst.
            let mut peer = Draw::Peer.stream(seed, burst);
            let receiver = host(&mut peer, hosts);
            let mut senders: Vec<u32> = (0..hosts).filter(|&host| host != receiver).collect();
            if !self.replacement {
                shuffle(&mut senders, &mut peer);
            }
            for i in 0..self.senders as usize {
                let src = if self.replacement {
                    other_host(&mut peer, hosts, receiver)
                } else {
                    senders[i % senders.len()]
                };
                flows.push(src, receiver, self.bytes, at, None);
            }
        }
        flows.finish(&self.tag)
    }
}

/// All hosts but one.
fn others(hosts: u32, middle: u32, pick: Pick, seed: u64) -> Result<Vec<u32>, WorkloadError> {
    if middle >= hosts {
        return Err(WorkloadError(format!(
            "host {middle} of {hosts}; hosts are numbered from 0 to {}",
            hosts - 1
        )));
    }
    let mut others: Vec<u32> = (middle + 1..hosts).chain(0..middle).collect();
    if pick == Pick::Random {
        shuffle(&mut others, &mut Draw::Peer.stream(seed, middle));
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    fn incast() -> Incast {
        Incast {
            hosts: 8,
            receiver: Some(5),
            senders: 7,
            pick: Pick::InOrder,
            bytes: 30_000,
            start: Time::ZERO,
            jitter: Span::ZERO,
            tag: "incast".into(),
        }
    }

    #[test]
    fn incasts_that_recur_begin_with_the_single_one_and_fill_their_share_of_the_link() {
        let recurring = RecurringIncast {
            first: incast(),
            rounds: 20_000,
            load: 0.4,
            link: Rate::gbps(100),
            encap: Encap::PAPER,
        };
        let (once, all) = (
            incast().generate(7).unwrap(),
            recurring.generate(7).unwrap(),
        );
        let each = once.messages.len();
        assert_eq!(all.messages.len(), 20_000 * each);
        assert_eq!(all.messages[..each], once.messages[..]);

        let Start::At(last) = all.messages[all.messages.len() - 1].start else {
            panic!("nothing waits for another")
        };
        let bits = 8 * Encap::PAPER.wire_total(incast().bytes) * all.messages.len() as u64;
        let load = bits as f64 / (last.0 as f64 / units::PS_PER_SEC as f64) / 100e9;
        assert!((load - 0.4).abs() < 0.01, "{load}");

        let error = |wrong: RecurringIncast| wrong.generate(7).unwrap_err().0;
        let over = RecurringIncast {
            load: 1.5,
            ..recurring.clone()
        };
        assert!(error(over).contains("at most 1"));
        let many = RecurringIncast {
            rounds: u32::MAX,
            ..recurring
        };
        assert!(error(many).contains("lower rounds"));
    }

    fn senders(traffic: &Traffic) -> Vec<u32> {
        traffic.messages.iter().map(|m| traffic.sender(m)).collect()
    }

    #[test]
    fn everyone_else_sends_to_the_receiver() {
        let traffic = incast().generate(1).unwrap();
        assert_eq!(senders(&traffic), [6, 7, 0, 1, 2, 3, 4]);
        assert!(
            traffic
                .messages
                .iter()
                .all(|m| traffic.receiver(m) == 5 && m.size == 30_000)
        );
        let mut random = senders(
            &Incast {
                pick: Pick::Random,
                ..incast()
            }
            .generate(1)
            .unwrap(),
        );
        assert_ne!(random, [6, 7, 0, 1, 2, 3, 4]);
        random.sort_unstable();
        assert_eq!(random, [0, 1, 2, 3, 4, 6, 7]);
    }

    #[test]
    fn more_senders_than_hosts_share_hosts_evenly() {
        let traffic = Incast {
            senders: 70,
            ..incast()
        }
        .generate(1)
        .unwrap();
        for host in [0, 1, 2, 3, 4, 6, 7] {
            assert_eq!(
                senders(&traffic).iter().filter(|&&src| src == host).count(),
                10
            );
        }
    }

    #[test]
    fn jitter_spreads_the_starts() {
        let traffic = Incast {
            jitter: Span::us(1),
            ..incast()
        }
        .generate(1)
        .unwrap();
        let late = |m: &Message| match m.start {
            Start::At(time) => time.since(Time::ZERO),
            Start::After { .. } | Start::Fired { .. } => Span::ZERO,
        };
        assert!(traffic.messages.iter().all(|m| late(m) <= Span::us(1)));
        assert_ne!(late(&traffic.messages[0]), late(&traffic.messages[6]));
    }

    fn ask(pacing: Pacing) -> RequestResponse {
        RequestResponse {
            hosts: 4,
            master: 0,
            workers: 2,
            pick: Pick::InOrder,
            request_bytes: 200,
            response_bytes: 1000,
            work: Span::us(1),
            rounds: 2,
            pacing,
            start: Time::ZERO,
        }
    }

    /// One line per message: tag, sender > receiver, start.
    fn story(traffic: &Traffic) -> String {
        let line = |m: &Message| {
            let start = match m.start {
                Start::At(time) => format!("at {time}"),
                Start::After { message, delay } => format!("{delay} after {message}"),
                Start::Fired { .. } => unreachable!("no triggers here"),
            };
            let tag = &traffic.tags[usize::from(m.tag)];
            format!(
                "{tag} {}>{} {start}\n",
                traffic.sender(m),
                traffic.receiver(m)
            )
        };
        traffic.messages.iter().map(line).collect()
    }

    #[test]
    fn a_closed_master_asks_again_after_the_answer() {
        let traffic = ask(Pacing::Closed(Span::us(5))).generate(1).unwrap();
        assert!(traffic.conns.iter().all(|conn| !conn.one_shot));
        let expected = "\
request 0>1 at 0ps
request 0>2 at 0ps
response 1>0 1us after 0
response 2>0 1us after 1
request 0>1 5us after 2
request 0>2 5us after 3
response 1>0 1us after 4
response 2>0 1us after 5
";
        assert_eq!(story(&traffic), expected);
    }

    #[test]
    fn a_punctual_master_asks_by_the_clock() {
        let traffic = ask(Pacing::Every(Span::us(10))).generate(1).unwrap();
        let expected = "\
request 0>1 at 0ps
request 0>2 at 0ps
response 1>0 1us after 0
response 2>0 1us after 1
request 0>1 at 10us
request 0>2 at 10us
response 1>0 1us after 4
response 2>0 1us after 5
";
        assert_eq!(story(&traffic), expected);
    }

    #[test]
    fn bursts_take_their_share_of_the_load() {
        let fabric = Fabric {
            hosts: 128,
            host_rate: Rate::gbps(12_800),
            uplink_rate: Rate::gbps(6_400),
            crossing: 112.0 / 127.0,
        };
        for replacement in [true, false] {
            let spec = IncastBursts {
                fabric,
                senders: 100,
                replacement,
                bytes: 200_000,
                load: Load {
                    with_headers: false,
                    ..Load::of_uplinks(0.05)
                },
                encap: Encap::PAPER,
                gaps: Gaps::Even,
                start: Time::ZERO,
                until: Until::Time(Time::ZERO + Span::ms(50)),
                tag: "incast".into(),
            };
            let traffic = spec.generate(1).unwrap();
            // 0.05 * 6.4 Tb/s in bursts of 20 MB: one per 500 us. [bfc artefact]
            assert_eq!(traffic.messages.len(), 99 * 100);
            assert_eq!(
                traffic.messages[100].start,
                Start::At(Time::ZERO + Span::us(1000))
            );
            let mut first = senders(&traffic)[..100].to_vec();
            first.sort_unstable();
            first.dedup();
            assert_eq!(first.len() == 100, !replacement);
            let receivers: std::collections::BTreeSet<_> = traffic
                .messages
                .iter()
                .map(|m| traffic.receiver(m))
                .collect();
            assert!(
                receivers.len() > 50,
                "99 bursts to {} hosts",
                receivers.len()
            );
        }
    }

    #[test]
    fn impossible_incasts_are_refused_with_the_fix() {
        let error = |incast: Incast| incast.generate(1).unwrap_err().to_string();
        let missing = error(Incast {
            receiver: Some(8),
            ..incast()
        });
        assert_eq!(missing, "host 8 of 8; hosts are numbered from 0 to 7");
        assert_eq!(
            error(Incast {
                senders: 0,
                ..incast()
            }),
            "senders = 0; it must be at least 1"
        );
        assert_eq!(
            error(Incast {
                hosts: 1,
                ..incast()
            }),
            "hosts = 1; it must be at least 2"
        );
    }
}
