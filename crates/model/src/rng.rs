//! Random numbers that a frozen formula gives: one stream per entity, so that adding a host, or
//! running late or on another thread, shifts the draws of no other entity.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) started at a key mixed from seed,
//! kind and number of the entity. It is part of every published fingerprint: never change it.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Which kind of entity draws; keeps the streams of host 3 and port 3 apart.
pub mod stream {
    /// A host's endpoint.
    pub const HOST: u32 = 1;
    /// An egress port and its discipline.
    pub const PORT: u32 = 2;
    /// Faults of one link.
    pub const FAULT: u32 = 3;
    /// A generator of messages.
    pub const WORKLOAD: u32 = 4;
    /// A host's processing delay.
    pub const HOST_DELAY: u32 = 5;
    /// Tests and fuzzing.
    pub const TEST: u32 = 6;
    /// A driver on a real wire.
    pub const WIRE: u32 = 7;
    /// What a fabric leaves to chance: the length of a host's cable.
    pub const CABLE: u32 = 8;
    /// What the interval of a quantile draws again. It has the number of tests, by which the intervals on record were drawn.
    pub const BOOTSTRAP: u32 = 6;
}

/// One entity's random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

#[inline]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The random numbers of all entities of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    key: u64,
}

impl Streams {
    /// The streams of a kind of [`stream`] under `seed`.
    pub const fn new(seed: u64, kind: u32) -> Self {
        let seeded = mix(seed.wrapping_add(GOLDEN));
        Self {
            key: mix(seeded ^ (kind as u64).wrapping_mul(GOLDEN)),
        }
    }

    /// That of entity number `id`.
    pub const fn of(self, id: u64) -> Rng {
        Rng {
            state: mix(self.key.wrapping_add(id.wrapping_mul(GOLDEN))),
        }
    }
}

impl Rng {
    /// The stream of entity number `id` of a kind of [`stream`], under `seed`.
    pub const fn stream(seed: u64, kind: u32, id: u64) -> Self {
        Streams::new(seed, kind).of(id)
    }

    /// The stream of part number `n` of this entity, which draws as if the entity did not.
    #[must_use]
    pub const fn part(&self, n: u64) -> Self {
        Self {
            state: mix(self.state ^ mix(n.wrapping_add(1).wrapping_mul(GOLDEN))),
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A whole number below `n`, by multiplication; its bias is below n / 2^64.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below 0");
        let wide = u128::from(self.next_u64()) * u128::from(n);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the high half of a 128-bit product"
        )]
        let high = (wide >> 64) as u64;
        high
    }

    /// A whole number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high);
        match (high - low).checked_add(1) {
            Some(n) => low + self.below(n),
            // All 64-bit numbers.
            None => self.next_u64(),
        }
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True once in `one_in_billion` / 10^9 draws; draws even where the answer is certain.
    #[inline]
    pub fn chance_ppb(&mut self, ppb: u32) -> bool {
        self.below(1_000_000_000) < u64::from(ppb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_frozen() {
        let mut rng = Rng::stream(1, stream::HOST, 0);
        let drawn: Vec<_> = (0..4).map(|_| format!("{:016x}", rng.next_u64())).collect();
        assert_eq!(drawn, VECTOR);
    }
    const VECTOR: [&str; 4] = [
        "0b76709ead0826f0",
        "4f7fabd7ed2f82ad",
        "a93d834c69f40413",
        "b51e72aa166bd652",
    ];

    #[test]
    fn streams_of_neighbours_and_of_parts_differ() {
        let first = |kind, id| Rng::stream(7, kind, id).next_u64();
        let mut seen: Vec<_> = (0..1000).map(|id| first(stream::HOST, id)).collect();
        seen.extend((0..1000).map(|id| first(stream::PORT, id)));
        let entity = Rng::stream(7, stream::PORT, 0);
        seen.extend((0..1000).map(|n| entity.part(n).next_u64()));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 3000);
    }

    #[test]
    fn the_whole_range_can_be_drawn_from() {
        let (mut a, mut b) = (
            Rng::stream(3, stream::TEST, 0),
            Rng::stream(3, stream::TEST, 0),
        );
        for _ in 0..100 {
            assert_eq!(a.between(0, u64::MAX), b.next_u64());
        }
        assert!((0..100).all(|_| a.between(1, u64::MAX) > 0));
        assert_eq!(a.between(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn draws_fill_their_range_evenly() {
        let mut rng = Rng::stream(3, stream::TEST, 0);
        let mut count = [0u32; 17];
        for _ in 0..170_000 {
            count[usize::try_from(rng.between(76, 92) - 76).unwrap()] += 1;
        }
        assert!(
            count.iter().all(|&n| (9_500..10_500).contains(&n)),
            "{count:?}"
        );
        let mean: f64 = (0..100_000).map(|_| rng.unit()).sum::<f64>() / 100_000.0;
        assert!((0.497..0.503).contains(&mean), "{mean}");
    }
}
