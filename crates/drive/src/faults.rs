//! A bad network in front of a good one: loses, repeats, reorders and trims what arrives, from a seed.

use model::{Rng, stream};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use units::{Span, Time};

/// Chances of what happens to an arriving datagram, in billionths.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FaultConfig {
    /// It vanishes.
    pub lose_ppb: u32,
    /// It arrives twice.
    pub duplicate_ppb: u32,
    /// Later ones overtake it.
    pub reorder_ppb: u32,
    /// Its payload is cut off, as a switch without room for it would; of data whose transport takes what is left.
    pub trim_ppb: u32,
}

/// What was done, in datagrams.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct FaultCounts {
    /// Vanished.
    pub lost: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Overtaken.
    pub reordered: u64,
    /// Cut to their heads.
    #[serde(default)]
    pub trimmed: u64,
}

/// A datagram is overtaken by at most so many others: more than three, so that transports that
/// wait for three take it for lost. [ours]
const OVERTAKEN_MAX: u64 = 8;
/// ... or for at most so long. [ours]
const HELD_MAX: Span = Span::ms(1);
/// Datagrams held back at once; beyond it they pass in order.
const HELD_COUNT_MAX: usize = 64;

/// The bad network.
pub(crate) struct Faults {
    config: FaultConfig,
    rng: Rng,
    held: VecDeque<Held>,
    counts: FaultCounts,
    /// Datagrams that came so far.
    arrived: u64,
}

struct Held {
    bytes: Vec<u8>,
    from: SocketAddrV4,
    tos: u8,
    /// It goes when so many have come, or at that time.
    until_arrived: u64,
    until: Time,
}

impl Faults {
    pub(crate) fn new(config: FaultConfig, seed: u64) -> Self {
        let (rng, held) = (Rng::stream(seed, stream::FAULT, 0), VecDeque::new());
        Self {
            config,
            rng,
            held,
            counts: FaultCounts::default(),
            arrived: 0,
        }
    }

    pub(crate) fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// How often a datagram that arrives at `now` is delivered at once.
    pub(crate) fn copies(&mut self, now: Time, bytes: &[u8], from: SocketAddrV4, tos: u8) -> u8 {
        if self.config == FaultConfig::default() {
            return 1;
        }
        self.arrived += 1;
        if self.rng.chance_ppb(self.config.lose_ppb) {
            self.counts.lost += 1;
            return 0;
        }
        if self.rng.chance_ppb(self.config.reorder_ppb) && self.held.len() < HELD_COUNT_MAX {
            self.counts.reordered += 1;
            let until_arrived = self.arrived + self.rng.between(1, OVERTAKEN_MAX);
            let (bytes, until) = (bytes.to_vec(), now.after(HELD_MAX));
            self.held.push_back(Held {
                bytes,
                from,
                tos,
                until_arrived,
                until,
            });
            return 0;
        }
        let twice = self.rng.chance_ppb(self.config.duplicate_ppb);
        self.counts.duplicated += u64::from(twice);
        1 + u8::from(twice)
    }

    /// Whether any data may be trimmed.
    pub(crate) fn may_trim(&self) -> bool {
        self.config.trim_ppb > 0
    }

    /// Whether data that could be trimmed is.
    pub(crate) fn trims(&mut self) -> bool {
        let trims = self.may_trim() && self.rng.chance_ppb(self.config.trim_ppb);
        self.counts.trimmed += u64::from(trims);
        trims
    }

    /// When [`Faults::release`] has something at the latest.
    pub(crate) fn release_at(&self) -> Time {
        self.held
            .iter()
            .map(|held| held.until)
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// A held datagram whose time has come.
    pub(crate) fn release(&mut self, now: Time) -> Option<(Vec<u8>, SocketAddrV4, u8)> {
        let due = |held: &Held| held.until <= now || held.until_arrived <= self.arrived;
        let at = self.held.iter().position(due)?;
        self.held
            .remove(at)
            .map(|held| (held.bytes, held.from, held.tos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const FROM: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);

    #[test]
    fn every_datagram_is_lost_repeated_or_late_as_often_as_asked_and_else_arrives_once() {
        let percent = 10_000_000;
        let config = FaultConfig {
            lose_ppb: 2 * percent,
            duplicate_ppb: 3 * percent,
            reorder_ppb: percent,
            trim_ppb: 4 * percent,
        };
        let mut faults = Faults::new(config, 1);
        let (mut order, now) = (Vec::new(), Time::ZERO);
        for n in 0..100_000u32 {
            let copies = faults.copies(now, &n.to_be_bytes(), FROM, 0);
            order.extend((0..copies).map(|_| n));
            while let Some((bytes, ..)) = faults.release(now) {
                order.push(u32::from_be_bytes(bytes.try_into().unwrap()));
            }
        }
        while let Some((bytes, ..)) = faults.release(now.after(HELD_MAX)) {
            order.push(u32::from_be_bytes(bytes.try_into().unwrap()));
        }
        let counts = faults.counts();
        assert!((1_800..2_200).contains(&counts.lost), "{counts:?}");
        assert!((2_700..3_100).contains(&counts.duplicated), "{counts:?}");
        assert!((850..1_150).contains(&counts.reordered), "{counts:?}");
        assert_eq!(
            order.len() as u64,
            100_000 - counts.lost + counts.duplicated
        );
        let late = order.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
        // Neighbours that were held together come back in order.
        assert!(
            late > counts.reordered * 9 / 10 && late <= counts.reordered,
            "{late}"
        );
        let trimmed = (0..100_000).filter(|_| faults.trims()).count();
        assert!((3_700..4_300).contains(&trimmed), "{trimmed}");
        assert_eq!(faults.counts().trimmed, trimmed as u64);
        let furthest = order.iter().scan(0, |top, &n| {
            *top = (*top).max(n);
            Some(*top - n)
        });
        assert!(u64::from(furthest.max().unwrap()) <= OVERTAKEN_MAX);
    }

    #[test]
    fn nothing_is_held_for_longer_than_its_time() {
        let mut faults = Faults::new(
            FaultConfig {
                reorder_ppb: 1_000_000_000,
                ..FaultConfig::default()
            },
            1,
        );
        assert_eq!(faults.release_at(), Time::NEVER);
        assert_eq!(faults.copies(Time(5), b"x", FROM, 9), 0);
        assert!(faults.release(Time(5)).is_none());
        assert_eq!(faults.release_at(), Time(5).after(HELD_MAX));
        assert_eq!(
            faults.release(faults.release_at()),
            Some((b"x".to_vec(), FROM, 9))
        );
    }
}
