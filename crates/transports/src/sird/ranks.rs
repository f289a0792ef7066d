//! Messages by rank, in a group per peer: the first of all whose group is open, and the first of a group.

use std::collections::BTreeSet;

/// A message: bytes to go, or its turn; then its age and place.
pub(super) type Rank = (u64, u32, u32);

/// A set of which the first is at hand: most have one member, which changes with each packet.
#[derive(Debug)]
struct Ordered<T> {
    first: Option<T>,
    /// All behind it.
    rest: BTreeSet<T>,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self {
            first: None,
            rest: BTreeSet::new(),
        }
    }
}

impl<T: Ord + Copy> Ordered<T> {
    fn insert(&mut self, new: T) {
        match self.first {
            Some(first) if first <= new => {
                self.rest.insert(new);
            }
            first => {
                self.rest.extend(first);
                self.first = Some(new);
            }
        }
    }

    fn remove(&mut self, old: T) {
        if self.first == Some(old) {
            self.first = self.rest.pop_first();
        } else {
            self.rest.remove(&old);
        }
    }

    /// One goes and another comes.
    #[inline(always)] // once per packet
    fn replace(&mut self, old: T, new: T) {
        let alone = self.rest.is_empty() || self.rest.first().is_some_and(|next| new < *next);
        if alone && self.first == Some(old) {
            self.first = Some(new);
        } else {
            self.remove(old);
            self.insert(new);
        }
    }

    fn len(&self) -> usize {
        self.rest.len() + usize::from(self.first.is_some())
    }

    fn iter(&self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.rest.iter().copied())
    }
}

/// Those of one peer.
#[derive(Debug)]
struct Group {
    members: Ordered<Rank>,
    /// What of it stands among the first of all groups.
    listed: Option<Rank>,
    open: bool,
}

/// Messages of all peers.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    groups: Vec<Group>,
    /// The first of every open group that has one, and its group.
    firsts: Ordered<(Rank, u32)>,
    /// These groups again, where they have [turns](Ranks::turn).
    listed: Option<BTreeSet<u32>>,
    /// The group whose turn was last, and turns of messages so far.
    last: u32,
    turn: u64,
}

impl Ranks {
    /// Of groups that have turns.
    pub(super) fn in_turns() -> Self {
        Self {
            listed: Some(BTreeSet::new()),
            ..Self::default()
        }
    }

    /// A number for who stands behind all others.
    #[inline]
    pub(super) fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    fn group(&mut self, group: u32) -> &mut Group {
        let at = group as usize;
        while self.groups.len() <= at {
            self.groups.push(Group {
                members: Ordered::default(),
                listed: None,
                open: true,
            });
        }
        &mut self.groups[at]
    }

    /// A message of `group` changes its rank.
    #[inline]
    pub(super) fn change(&mut self, group: u32, old: Option<Rank>, new: Option<Rank>) {
        let of = self.group(group);
        match (old, new) {
            (Some(old), Some(new)) => {
                of.members.replace(old, new);
                if of.listed == Some(old) && of.members.first == Some(new) {
                    // The first of its group stays it.
                    of.listed = Some(new);
                    return self.firsts.replace((old, group), (new, group));
                }
            }
            (Some(old), None) => of.members.remove(old),
            (None, Some(new)) => of.members.insert(new),
            (None, None) => return,
        }
        self.list(group);
    }

    /// A group may be chosen from, or not.
    #[inline]
    pub(super) fn open(&mut self, group: u32, open: bool) {
        let of = self.group(group);
        if of.open != open {
            of.open = open;
            self.list(group);
        }
    }

    #[inline]
    fn list(&mut self, group: u32) {
        let of = &mut self.groups[group as usize];
        let first = of.members.first.filter(|_| of.open);
        let before = std::mem::replace(&mut of.listed, first);
        if before == first {
            return;
        }
        match (before, first) {
            (Some(before), Some(first)) => self.firsts.replace((before, group), (first, group)),
            (None, Some(first)) => {
                self.firsts.insert((first, group));
                self.listed.as_mut().map(|listed| listed.insert(group));
            }
            (Some(before), None) => {
                self.firsts.remove((before, group));
                self.listed.as_mut().map(|listed| listed.remove(&group));
            }
            (None, None) => {}
        }
    }

    /// The place of the first of all.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.firsts.first.map(|((.., slot), _)| slot)
    }

    /// The place of the first of the group behind the one whose turn was last, whose turn it is now.
    #[inline]
    pub(super) fn turn(&mut self) -> Option<u32> {
        let listed = self.listed.as_ref().expect("they have turns");
        let behind = listed.range(self.last.saturating_add(1)..).next();
        let &group = behind.or_else(|| listed.first())?;
        self.last = group;
        self.groups[group as usize].listed.map(|(.., slot)| slot)
    }

    /// Every message, by group.
    pub(super) fn iter(&self) -> impl Iterator<Item = Rank> {
        self.groups.iter().flat_map(|of| of.members.iter())
    }

    /// Nobody is left: what tables have grown to is given back.
    pub(super) fn clear(&mut self) {
        (self.groups, self.firsts) = Default::default();
        if let Some(listed) = &mut self.listed {
            listed.clear();
        }
    }

    /// Panics where an invariant is broken.
    pub(super) fn check(&self) {
        if let Some(listed) = &self.listed {
            assert_eq!(self.firsts.len(), listed.len());
        }
        let mut sets = self.groups.iter().map(|of| &of.members);
        let first = |set: &Ordered<Rank>| set.iter().is_sorted();
        assert!(sets.all(first) && self.firsts.iter().is_sorted(), "order");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_first_is_so_however_it_came_there() {
        let (mut ours, mut plain) = (Ordered::default(), BTreeSet::new());
        let mut seed = 1_u32;
        let mut draw = |most: u32| {
            seed = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (seed >> 16) % most
        };
        for _ in 0..20_000 {
            let (new, place) = (draw(40), draw(6) as usize);
            let old = plain.iter().nth(place).copied();
            match old {
                Some(old) if draw(3) == 0 => {
                    ours.remove(old);
                    plain.remove(&old);
                }
                Some(old) if !plain.contains(&new) => {
                    ours.replace(old, new);
                    plain.remove(&old);
                    plain.insert(new);
                }
                None if !plain.contains(&new) => {
                    ours.insert(new);
                    plain.insert(new);
                }
                _ => {}
            }
            assert!(ours.iter().eq(plain.iter().copied()));
            assert_eq!(
                (ours.first, ours.len()),
                (plain.first().copied(), plain.len())
            );
        }
    }

    #[test]
    fn the_first_is_the_least_of_the_open_groups_and_turns_go_round() {
        let mut ranks = Ranks::in_turns();
        let all = [
            (0, (30, 1, 10)),
            (0, (20, 2, 11)),
            (2, (10, 3, 12)),
            (5, (40, 4, 13)),
        ];
        for (group, rank) in all {
            ranks.change(group, None, Some(rank));
            ranks.check();
        }
        assert_eq!(ranks.first(), Some(12));
        ranks.open(2, false);
        assert_eq!(ranks.first(), Some(11));
        let turns: Vec<_> = (0..4).map(|_| ranks.turn().unwrap()).collect();
        assert_eq!(turns, [13, 11, 13, 11], "a closed group has no turn");
        ranks.open(2, true);
        let turns: Vec<_> = (0..4).map(|_| ranks.turn().unwrap()).collect();
        assert_eq!(turns, [12, 13, 11, 12]);
        ranks.change(0, Some((20, 2, 11)), Some((35, 2, 11)));
        ranks.change(2, Some((10, 3, 12)), None);
        assert_eq!(ranks.first(), Some(10), "the other of its group");
        assert_eq!(ranks.iter().count(), 3);
        ranks.change(0, Some((30, 1, 10)), None);
        ranks.change(0, Some((35, 2, 11)), None);
        assert_eq!((ranks.first(), ranks.turn()), (Some(13), Some(13)));
        ranks.change(5, Some((40, 4, 13)), None);
        assert_eq!((ranks.first(), ranks.turn()), (None, None));
        ranks.check();
    }
}
