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

    /// The index of the way that `packet` takes, of `ways`; its connection takes `of_flow`. `load` says
    /// when the port of each would be idle again.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        now: Time,
        packet: &mut Packet,
        ways: u32,
        of_flow: u32,
        load: impl Fn(u32) -> Time,
    ) -> u32 {
        if let Some(way) = packet.next_way(ways) {
            return way;
        }
        match self {
            Self::Flow => of_flow,
            _ if packet.class() == Class::Credit => of_flow,
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
