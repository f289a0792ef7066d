//! Which of several equal-cost ways a packet takes.

use model::intent::Balance;
use model::{Class, Packet, Rng};
use units::{Span, Time};

/// Connections that a switch remembers for flowlets: as many as a small hardware table. [ours]
const FLOWLETS: usize = 4096;

/// One switch's choice.
#[derive(Debug)]
pub(crate) enum Balancer {
    Flow,
    Packet(Rng),
    Flowlet {
        gap: Span,
        /// By connection, modulo its size: when a packet last came, and its way.
        table: Box<[(Time, u32)]>,
    },
    Adaptive {
        last: u32,
    },
}

impl Balancer {
    pub(crate) fn new(balance: Balance, rng: impl FnOnce() -> Rng) -> Self {
        match balance {
            Balance::Flow => Self::Flow,
            Balance::Packet => Self::Packet(rng()),
            Balance::Flowlet { gap } => Self::Flowlet {
                gap,
                table: vec![(Time::ZERO, u32::MAX); FLOWLETS].into(),
            },
            Balance::Adaptive => Self::Adaptive { last: 0 },
        }
    }

    /// Whether it looks at what ports have to send.
    pub(crate) fn looks_at_ports(&self) -> bool {
        matches!(self, Self::Flowlet { .. } | Self::Adaptive { .. })
    }

    /// The index of the way that `packet` takes, of `ways`; its connection takes `of_flow`, and so do credits that ports
    /// shape, with `shaped`: data that they release comes by the same ports. `load` says when the port of each would be
    /// idle again.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        now: Time,
        packet: &mut Packet,
        ways: u32,
        (of_flow, shaped): (u32, bool),
        load: impl Fn(u32) -> Time,
    ) -> u32 {
        if let Some(way) = packet.next_way(ways) {
            return way;
        }
        match self {
            Self::Flow => of_flow,
            _ if shaped && packet.class() == Class::Credit => of_flow,
            #[allow(clippy::cast_possible_truncation, reason = "below the number of ways")]
            Self::Packet(rng) => rng.below(ways.into()) as u32,
            Self::Flowlet { gap, table } => {
                let (seen, way) = &mut table[packet.conn.0 as usize % FLOWLETS];
                if *way >= ways || now.since(*seen) >= *gap {
                    *way = least(ways, of_flow, load);
                }
                *seen = now;
                *way
            }
            Self::Adaptive { last } => {
                *last = least(ways, *last + 1, load);
                *last
            }
        }
    }
}

/// The way with the least to send, of several the first from `from` on.
fn least(ways: u32, from: u32, load: impl Fn(u32) -> Time) -> u32 {
    (0..ways)
        .map(|step| (from % ways + step) % ways)
        .min_by_key(|&way| load(way))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnId, HostId, stream};

    fn balancer(balance: Balance) -> Balancer {
        Balancer::new(balance, || Rng::stream(1, stream::TEST, 0))
    }

    fn packet(class: Class, conn: u32) -> Packet {
        Packet::new(HostId(0), ConnId(conn), class, 0, 84)
    }

    /// All ports are idle.
    fn idle(_: u32) -> Time {
        Time::ZERO
    }

    #[test]
    fn only_what_looks_at_ports_says_so() {
        let gap = Span::us(1);
        let looks = [
            Balance::Flow,
            Balance::Packet,
            Balance::Flowlet { gap },
            Balance::Adaptive,
        ]
        .map(|balance| balancer(balance).looks_at_ports());
        assert_eq!(looks, [false, false, true, true]);
    }

    #[test]
    fn shaped_credits_keep_to_the_way_of_their_connection_and_a_given_path_wins() {
        let gap = Span::us(1);
        for balance in [
            Balance::Flow,
            Balance::Packet,
            Balance::Flowlet { gap },
            Balance::Adaptive,
        ] {
            let mut balancer = balancer(balance);
            for _ in 0..20 {
                let mut credit = packet(Class::Credit, 1);
                assert_eq!(
                    balancer.choose(Time(1), &mut credit, 8, (3, true), idle),
                    3,
                    "{balance:?}"
                );
            }
            for path in 0..8 {
                let mut given = packet(Class::Plain, 1);
                given.set_path(path);
                assert_eq!(
                    balancer.choose(Time(1), &mut given, 8, (3, true), idle),
                    u32::from(path)
                );
            }
        }
    }

    #[test]
    fn packets_take_every_way_alike_and_so_do_credits_that_no_port_shapes() {
        for class in [Class::Plain, Class::Credit] {
            let mut balancer = balancer(Balance::Packet);
            let mut taken = [0u32; 5];
            for _ in 0..10_000 {
                let way = balancer.choose(Time(1), &mut packet(class, 1), 5, (3, false), idle);
                taken[way as usize] += 1;
            }
            assert!(taken.iter().all(|&n| n.abs_diff(2_000) < 200), "{taken:?}");
        }
    }

    #[test]
    fn a_flowlet_changes_its_way_after_a_gap_and_not_before() {
        let gap = Span(100);
        let mut balancer = balancer(Balance::Flowlet { gap });
        let mut choose = |now, conn, ways, idlest: u32| {
            let load = |way| Time(u64::from(way != idlest));
            balancer.choose(
                Time(now),
                &mut packet(Class::Plain, conn),
                ways,
                (3, true),
                load,
            )
        };
        assert_eq!(choose(1_000, 7, 8, 5), 5, "the least loaded");
        assert_eq!(choose(1_099, 7, 8, 2), 5, "no gap yet");
        assert_eq!(
            choose(1_198, 7, 8, 2),
            5,
            "the gap counts from the last packet"
        );
        assert_eq!(choose(1_298, 7, 8, 2), 2, "a gap");
        assert_eq!(choose(1_299, 8, 8, 6), 6, "each connection has its own");
        assert_eq!(
            choose(1_299, 7, 2, 1),
            1,
            "a way that is not there any more"
        );
        let other = 7 + u32::try_from(FLOWLETS).unwrap();
        assert_eq!(
            choose(1_300, other, 8, 4),
            1,
            "one place for two connections"
        );
    }

    #[test]
    fn of_several_idle_ways_the_next_one_is_taken() {
        let mut balancer = balancer(Balance::Adaptive);
        let mut choose = |busy: &[u32]| {
            let load = |way: u32| Time(u64::from(busy.contains(&way)));
            balancer.choose(Time(1), &mut packet(Class::Plain, 1), 4, (0, true), load)
        };
        assert_eq!([0; 5].map(|_| choose(&[])), [1, 2, 3, 0, 1]);
        assert_eq!(
            (choose(&[2, 3]), choose(&[1, 2, 3]), choose(&[0])),
            (0, 0, 1)
        );
        assert_eq!(choose(&[0, 1, 2, 3]), 2, "all alike");
        assert_eq!(
            least(0, 3, idle),
            0,
            "where there is none, nothing is looked at"
        );
    }
}
