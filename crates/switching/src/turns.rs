//! Whose turn it is among queues that share a line: by level, and within one by deficit round robin.

use model::intent::{PortSpec, Share};

/// Bytes that a weight of one earns per turn: with the usual weight of 100 more than a jumbo frame, so
/// that every turn serves at least one. [Shreedhar and Varghese 1995 s3.2]
const QUANTUM: u64 = 100;
/// Groups of one level. [ours]
pub(crate) const GROUPS_MAX: usize = 16;
/// Queues that are served before those of every later level.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) groups: Vec<Group>,
    /// Whose turn it is.
    pub(crate) turn: usize,
    /// Places of its queues, as bits.
    pub(crate) places: u64,
    /// A group may have saved something up.
    saved: bool,
}

/// Queues that share the line as one; the earlier goes first.
#[derive(Debug)]
pub(crate) struct Group {
    /// Places of its queues, as bits.
    pub(crate) places: u64,
    share: Share,
    /// What it may still send in its turn: bytes or packets.
    deficit: u64,
}

/// What the groups of a level would send.
#[derive(Clone, Copy, Default)]
pub(crate) struct First {
    /// Groups that would send something, as bits.
    ready: u32,
    /// By group: the place of a queue, and the size of its packet.
    queues: [u8; GROUPS_MAX],
    sizes: [u16; GROUPS_MAX],
}

impl Level {
    /// Nothing of what groups have saved up is left.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.saved {
            self.saved = false;
            self.groups.iter_mut().for_each(|group| group.deficit = 0);
        }
    }

    /// Whose turn it is among the groups, of which `first` says what each would send: deficit round
    /// robin. [Shreedhar and Varghese 1995]
    #[inline]
    pub(crate) fn choose(&mut self, first: &First) -> Option<usize> {
        if !first.ready.is_power_of_two() && first.ready > 0 {
            return Some(self.share_out(first));
        }
        self.forget(); // alone it needs no share, and it saves nothing up
        (first.ready > 0).then(|| {
            self.turn = first.ready.trailing_zeros() as usize;
            first.queues[self.turn].into()
        })
    }

    /// The same among several.
    fn share_out(&mut self, first: &First) -> usize {
        self.saved = true;
        loop {
            let turn = self.turn;
            let group = &mut self.groups[turn];
            if first.ready >> turn & 1 == 0 {
                group.deficit = 0;
            } else {
                let cost = group.cost(first.sizes[turn]);
                if group.deficit >= cost {
                    group.deficit -= cost;
                    return first.queues[turn].into();
                }
            }
            self.turn = if turn + 1 < self.groups.len() {
                turn + 1
            } else {
                0
            };
            let next = &mut self.groups[self.turn];
            next.deficit += match next.share {
                Share::Bytes(weight) => u64::from(weight.max(1)) * QUANTUM,
                Share::Packets(packets) => u64::from(packets.max(1)),
            };
        }
    }
}

impl First {
    /// Group number `group` would send this.
    #[inline]
    pub(crate) fn note(&mut self, group: usize, queue: usize, size: u16) {
        self.ready |= 1 << group;
        self.queues[group] = u8::try_from(queue).expect("at most 64 queues");
        self.sizes[group] = size;
    }
}

impl Group {
    fn cost(&self, size: u16) -> u64 {
        match self.share {
            Share::Bytes(_) => u64::from(size),
            Share::Packets(_) => 1,
        }
    }
}

/// The place of a queue's level, and of its group there.
pub(crate) fn seat(levels: &[Level], queue: usize) -> (usize, usize) {
    let holds = |places: u64| places >> queue & 1 == 1;
    let level = levels.iter().position(|level| holds(level.places));
    let level = level.expect("every queue has a level");
    let mut groups = levels[level].groups.iter();
    let group = groups.position(|group| holds(group.places));
    (level, group.expect("every queue of a level has a group"))
}

/// The queues of `spec`, by level and group.
pub(crate) fn levels(spec: &PortSpec) -> Vec<Level> {
    let mut numbers: Vec<u8> = spec.queues.iter().map(|queue| queue.level).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let share = |group: u8| spec.shares.get(usize::from(group)).copied();
    let of = |level: u8| {
        let mut groups: Vec<(u8, Group)> = Vec::new();
        for (place, queue) in spec
            .queues
            .iter()
            .enumerate()
            .filter(|q| q.1.level == level)
        {
            match groups.iter_mut().find(|(number, _)| *number == queue.group) {
                Some((_, group)) => group.places |= 1 << place,
                None => groups.push((
                    queue.group,
                    Group {
                        places: 1 << place,
                        share: share(queue.group).unwrap_or_default(),
                        deficit: 0,
                    },
                )),
            }
        }
        groups.sort_by_key(|(number, _)| *number);
        let groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
        Level {
            places: groups.iter().fold(0, |all, group| all | group.places),
            groups,
            turn: 0,
            saved: false,
        }
    };
    numbers.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::intent::QueueSpec;
    use units::Bytes;

    /// A port with a queue in each (level, group).
    fn port(queues: &[(u8, u8)], shares: &[Share]) -> PortSpec {
        let queue = |&(level, group): &(u8, u8)| QueueSpec {
            level,
            group,
            ..QueueSpec::DATA
        };
        PortSpec {
            buffer: Bytes(0),
            queues: queues.iter().map(queue).collect(),
            shares: shares.to_vec(),
        }
    }

    /// One level with a group for each share.
    fn level(shares: &[Share]) -> Level {
        let queues: Vec<(u8, u8)> = (0..).zip(shares).map(|(group, _)| (1, group)).collect();
        let [level] = levels(&port(&queues, shares)).try_into().unwrap();
        level
    }

    /// Who sends next where these groups would, each a packet of this size; group `n` by queue `10 + n`.
    fn next(level: &mut Level, ready: &[(usize, u16)]) -> Option<usize> {
        let mut first = First::default();
        for &(group, size) in ready {
            first.note(group, 10 + group, size);
        }
        level.choose(&first).map(|queue| queue - 10)
    }

    #[test]
    fn levels_and_groups_go_by_number_and_every_queue_has_its_seat() {
        let spec = port(
            &[(7, 3), (0, 0), (7, 1), (7, 3), (2, 5), (7, 1)],
            &[Share::Bytes(1), Share::Bytes(20), Share::Bytes(30)],
        );
        let levels = levels(&spec);
        let places: Vec<u64> = levels.iter().map(|level| level.places).collect();
        assert_eq!(places, [0b10, 0b1_0000, 0b10_1101]);
        let groups: Vec<Vec<(u64, Share)>> = levels
            .iter()
            .map(|level| level.groups.iter().map(|g| (g.places, g.share)).collect())
            .collect();
        // The weight of a group is that of its number, and 100 where nothing is said.
        assert_eq!(
            groups,
            [
                vec![(0b10, Share::Bytes(1))],
                vec![(0b1_0000, Share::Bytes(100))],
                vec![
                    (0b10_0100, Share::Bytes(20)),
                    (0b00_1001, Share::Bytes(100))
                ],
            ]
        );
        let seats = [0, 1, 2, 3, 4, 5].map(|queue| seat(&levels, queue));
        assert_eq!(seats, [(2, 1), (0, 0), (2, 0), (2, 1), (1, 0), (2, 0)]);
    }

    #[test]
    fn a_weight_earns_a_hundred_bytes_per_turn() {
        // 3000 and 6000 B a turn, frames of 2000 B: what is left of the 3000 counts in the next turn.
        let mut level = level(&[Share::Bytes(30), Share::Bytes(60)]);
        let both = [(0, 2_000), (1, 2_000)];
        let order = [(); 16].map(|()| next(&mut level, &both).unwrap());
        assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1]);
    }

    #[test]
    fn bytes_are_shared_whatever_the_sizes_of_frames() {
        let weights = [20, 30, 50];
        let mut level = level(&weights.map(Share::Bytes));
        let ready = [(0, 84), (1, 1538), (2, 9038)];
        let mut sent = [0u64; 3];
        for _ in 0..20_000 {
            let group = next(&mut level, &ready).unwrap();
            sent[group] += u64::from(ready[group].1);
        }
        let all: u64 = sent.iter().sum();
        for (bytes, weight) in sent.iter().zip(weights) {
            let share = bytes * 1_000 / all;
            assert!(share.abs_diff(u64::from(weight) * 10) <= 5, "{sent:?}");
        }
    }

    #[test]
    fn packets_are_counted_where_groups_share_by_packets() {
        let mut level = level(&[Share::Packets(1), Share::Packets(3)]);
        let both = [(0, 9_000), (1, 64)];
        let order = [(); 9].map(|()| next(&mut level, &both).unwrap());
        assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn a_group_with_nothing_to_send_saves_nothing_up() {
        let mut level = level(&[Share::Bytes(30); 3]);
        let all = [(0, 2_000), (1, 2_000), (2, 2_000)];
        let mut next = |ready: &[_]| next(&mut level, ready).unwrap();
        assert_eq!(next(&all), 1, "1000 B are left of its turn");
        assert_eq!(next(&[all[0], all[2]]), 2, "and now they are gone");
        assert_eq!((next(&all), next(&all)), (0, 1));
        assert_eq!(next(&all), 2, "no second one for number 1");
        assert_eq!(next(&all), 2, "what number 2 had left counts");
    }

    #[test]
    fn who_sends_alone_has_the_turn_and_all_savings_are_forgotten() {
        let mut level = level(&[Share::Bytes(30), Share::Bytes(30)]);
        let (one, both) = ([(0, 2_000)], [(0, 2_000), (1, 2_000)]);
        let mut order = Vec::new();
        for ready in [&both[..], &one, &both, &both] {
            order.push(next(&mut level, ready).unwrap());
        }
        assert_eq!(order, [1, 0, 1, 0]);
        assert_eq!((next(&mut level, &both[1..]), level.turn), (Some(1), 1));
        assert_eq!((next(&mut level, &[]), level.turn), (None, 1));
        assert!(level.groups.iter().all(|group| group.deficit == 0));
    }
}
