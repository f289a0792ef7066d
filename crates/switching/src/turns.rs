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
