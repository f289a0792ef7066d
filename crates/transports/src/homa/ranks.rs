//! Which incoming messages are granted: the one with the least to go of each peer, and of those the shortest.

use model::{ConnId, ConnMap, HostId};
use parts::slab::Slab;

/// Messages that are granted at once, at most. [homa linux, `max_overcommit`]
pub(super) const ACTIVE_MAX: usize = 8;

/// A message's place among those that want grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Bytes to go.
    pub(super) left: u64,
    /// Which came first, of two with as many.
    pub(super) order: u32,
    /// Its connection's place.
    pub(super) slot: u32,
    /// Its peer's place.
    pub(super) peer: u32,
}

/// A host that sends to this one.
#[derive(Debug)]
struct Peer {
    host: HostId,
    /// Its messages that want grants, by rank.
    ranked: Vec<Rank>,
    /// Its incoming connections.
    conns: u32,
}

/// Messages that want grants.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    peers: Slab<Peer>,
    peer_of: ConnMap,
    /// The first of each peer, by rank.
    best: Vec<Rank>,
    /// All that are ranked.
    count: usize,
    /// Where messages keep their levels.
    levels: Option<Levels>,
}

/// Levels of granted data that messages keep while others come and go: successive ones in the order of ranks, from that
/// of the first on. Whoever has no level left has the last. [homa artefact, `SchedSenders`]
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    /// All of them, and the messages that are granted at once.
    count: usize,
    granted: usize,
    /// That of the first by rank.
    first: usize,
}

impl Levels {
    /// Of `count` levels, with `granted` messages at once.
    pub(super) fn new(count: usize, granted: usize) -> Self {
        Self {
            count,
            granted: granted.min(count),
            first: count,
        }
    }

    /// Of `ranked` messages now, one went from a rank to another, or is new or gone.
    fn change(&mut self, from: Option<usize>, to: Option<usize>, ranked: usize) {
        if from == to {
            return;
        }
        let others = ranked - usize::from(to.is_some());
        // Behind the first the others keep theirs, but where more wait they move up.
        if from == Some(0) && self.first + others.min(self.granted) < self.count {
            self.first += 1;
        }
        if let Some(to) = to {
            if others == 0 {
                self.first = self.count;
            }
            // One that overtakes all takes a level above them, where there is one.
            if to == 0 {
                self.first = self.first.saturating_sub(1);
            }
            // One more needs a level at the end: all leave theirs to it.
            self.first = self.first.min(self.count - ranked.min(self.granted));
        }
    }

    /// That of a rank.
    fn of(self, rank: usize) -> usize {
        (self.first + rank).min(self.count - 1)
    }
}

/// The messages that are granted now, by rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    slots: [u32; ACTIVE_MAX],
    len: usize,
}

impl Active {
    pub(super) fn slots(&self) -> &[u32] {
        &self.slots[..self.len]
    }
    pub(super) fn len(&self) -> usize {
        self.len
    }
    /// The rank of a message.
    #[inline]
    pub(super) fn rank(&self, slot: u32) -> Option<usize> {
        self.slots().iter().position(|&other| other == slot)
    }
}

/// Replaces `old` by `new` in a list by rank: where the one was, and where the other is.
fn change(
    list: &mut Vec<Rank>,
    old: Option<Rank>,
    new: Option<Rank>,
) -> (Option<usize>, Option<usize>) {
    let place = |list: &Vec<Rank>, rank: Rank| list.partition_point(|other| *other < rank);
    match (old, new) {
        (None, None) => (None, None),
        (None, Some(new)) => {
            let to = place(list, new);
            list.insert(to, new);
            (None, Some(to))
        }
        (Some(old), None) => {
            let from = place(list, old);
            list.remove(from);
            (Some(from), None)
        }
        (Some(old), Some(new)) => {
            let from = place(list, old);
            let (before, after) = (&list[..from], &list[from + 1..]);
            // It nearly always stays where it is.
            let forward = match before.last() {
                Some(last) if new < *last => from - before.partition_point(|other| *other < new),
                _ => 0,
            };
            let back = match after.first() {
                Some(first) if *first < new => after.partition_point(|other| *other < new),
                _ => 0,
            };
            if forward > 0 {
                list[from - forward..=from].rotate_right(1);
            } else if back > 0 {
                list[from..=from + back].rotate_left(1);
            }
            list[from - forward + back] = new;
            (Some(from), Some(from - forward + back))
        }
    }
}

impl Ranks {
    /// Of messages that keep their `levels`, or do not.
    pub(super) fn new(levels: Option<Levels>) -> Self {
        Self {
            levels,
            ..Self::default()
        }
    }

    /// The level that the message of this rank keeps, where they do.
    #[inline]
    pub(super) fn kept(&self, rank: usize) -> Option<usize> {
        self.levels.map(|levels| levels.of(rank))
    }

    /// One more incoming connection of `host`: where its messages are ranked; `None` where it has `most`.
    pub(super) fn open(&mut self, host: HostId, most: u32) -> Option<u32> {
        let place = if let Some(place) = self.peer_of.get(ConnId(host.0)) {
            place
        } else {
            let place = self.peers.insert(Peer {
                host,
                ranked: Vec::new(),
                conns: 0,
            });
            self.peer_of.insert(ConnId(host.0), place);
            place
        };
        let peer = &mut self.peers[place];
        if peer.conns == most {
            return None;
        }
        peer.conns += 1;
        Some(place)
    }

    /// One less; none of its messages is ranked any more.
    pub(super) fn close(&mut self, place: u32) {
        let peer = &mut self.peers[place];
        peer.conns -= 1;
        if peer.conns == 0 {
            let peer = self.peers.remove(place);
            self.peer_of.remove(ConnId(peer.host.0));
        }
    }

    /// A message changes its rank.
    #[inline]
    pub(super) fn change(&mut self, old: Option<Rank>, new: Option<Rank>) {
        let Some(any) = new.or(old).filter(|_| old != new) else {
            return;
        };
        self.count = self.count + usize::from(new.is_some()) - usize::from(old.is_some());
        let ranked = &mut self.peers[any.peer].ranked;
        let before = ranked.first().copied();
        match (&mut ranked[..], old, new) {
            ([only], Some(_), Some(new)) => *only = new,
            _ => {
                change(ranked, old, new);
            }
        }
        let after = ranked.first().copied();
        if before != after {
            let (from, to) = change(&mut self.best, before, after);
            if let Some(levels) = &mut self.levels {
                levels.change(from, to, self.best.len());
            }
        }
    }

    /// Whether no message wants grants.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.best.is_empty()
    }

    /// The first `most` messages: one of each peer, and with `fill` further ones where peers are fewer.
    #[inline]
    pub(super) fn active(&self, most: usize, fill: bool) -> Active {
        let mut active = Active {
            slots: [0; ACTIVE_MAX],
            len: self.best.len().min(most),
        };
        for (slot, rank) in active.slots.iter_mut().zip(&self.best[..active.len]) {
            *slot = rank.slot;
        }
        if fill && active.len < most && self.count > active.len {
            self.fill(&mut active, most);
        }
        active
    }

    /// Whether any of the active messages is such, with `fill`: its connection's place, and how many are active.
    #[inline]
    pub(super) fn any_active(&self, most: usize, is: impl Fn(u32, usize) -> bool) -> bool {
        let len = self.best.len().min(most);
        if len < most && self.count > len {
            let active = self.active(most, true);
            return active.slots().iter().any(|&slot| is(slot, active.len));
        }
        self.best[..len].iter().any(|rank| is(rank.slot, len))
    }

    /// Every peer has one; the rest goes to second messages, then to third ones. [homa linux, `homa_grant.c`]
    fn fill(&self, active: &mut Active, most: usize) {
        let mut chosen: [Option<Rank>; ACTIVE_MAX] = [None; ACTIVE_MAX];
        for (place, rank) in chosen.iter_mut().zip(&self.best) {
            *place = Some(*rank);
        }
        for depth in 1..most {
            let mut last = None;
            while active.len < most {
                let at_depth = |rank: &Rank| self.peers[rank.peer].ranked.get(depth).copied();
                let next = self.best.iter().filter_map(at_depth);
                let next = next
                    .filter(|rank| last.is_none_or(|last| *rank > last))
                    .min();
                let Some(next) = next else { break };
                chosen[active.len] = Some(next);
                active.len += 1;
                last = Some(next);
            }
        }
        chosen[..active.len].sort_unstable();
        for (slot, rank) in active.slots.iter_mut().zip(chosen.iter().flatten()) {
            *slot = rank.slot;
        }
    }

    pub(super) fn check(&self) {
        assert!(self.best.is_sorted() && self.best.len() <= self.peers.len());
        let ranked = self
            .best
            .iter()
            .map(|best| self.peers[best.peer].ranked.len());
        assert_eq!(self.count, ranked.sum());
        assert_eq!(self.peers.len(), self.peer_of.len());
    }
}
