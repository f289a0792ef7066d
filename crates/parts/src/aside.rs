//! What waits for a gate: set aside when its turn came and it might not leave, and given back in its
//! order when it may.

use model::{Changed, ConnId, Gates, Seen};
use std::collections::{BTreeMap, VecDeque};

/// Things of paused connections: packets, or turns. Their bound is the caller's.
#[derive(Clone, Debug)]
pub struct Aside<T> {
    /// What waits, by connection, each with its place among all: where one gate changes, one connection is looked at.
    held: BTreeMap<ConnId, VecDeque<(i64, T)>>,
    /// How much that is, and the places next in front of it and behind it.
    count: usize,
    front: i64,
    behind: i64,
    /// Connections of which something was set aside since the last look.
    fresh: Vec<ConnId>,
    /// Those that may leave by now.
    free: VecDeque<(ConnId, T)>,
    seen: Seen,
}

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Self {
            held: BTreeMap::new(),
            count: 0,
            front: -1,
            behind: 0,
            fresh: Vec::new(),
            free: VecDeque::new(),
            seen: Seen::default(),
        }
    }
}

impl<T> Aside<T> {
    /// Sets aside what belongs to `conn`.
    pub fn put(&mut self, conn: ConnId, thing: T) {
        let of = self.held.entry(conn).or_default();
        of.push_back((self.behind, thing));
        (self.behind, self.count) = (self.behind + 1, self.count + 1);
        if self.fresh.last() != Some(&conn) {
            self.fresh.push(conn);
        }
    }

    /// The gates have changed: whatever may leave now at this priority, which is the same each time, can be taken, and nothing
    /// else.
    pub fn look(&mut self, gates: &Gates, priority: u8) {
        let mut conns = std::mem::take(&mut self.fresh);
        match gates.changed(&mut self.seen) {
            Changed::Nothing => {}
            Changed::Flow(conn) => conns.push(conn),
            Changed::More => conns.extend(self.held.keys()),
        }
        conns.retain(|&conn| gates.may_send(conn, priority));
        conns.sort_unstable();
        conns.dedup();
        let mut freed = Vec::new();
        for conn in conns {
            let of = self.held.remove(&conn).unwrap_or_default();
            freed.extend(of.into_iter().map(|(place, thing)| (place, conn, thing)));
        }
        freed.sort_unstable_by_key(|&(place, ..)| place);
        self.count -= freed.len();
        self.hold_again(gates, priority);
        // What could have left, and did not in time, is older than the rest.
        let freed = freed.into_iter();
        self.free
            .extend(freed.map(|(_, conn, thing)| (conn, thing)));
    }

    /// Holds what has not left and may no longer, in front of all that is held.
    fn hold_again(&mut self, gates: &Gates, priority: u8) {
        let may_leave = |&(conn, _): &(ConnId, T)| gates.may_send(conn, priority);
        if self.free.iter().all(may_leave) {
            return;
        }
        let all = std::mem::take(&mut self.free);
        let (free, again): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(may_leave);
        self.free = free;
        for (conn, thing) in again.into_iter().rev() {
            let of = self.held.entry(conn).or_default();
            of.push_front((self.front, thing));
            (self.front, self.count) = (self.front - 1, self.count + 1);
        }
    }

    /// The first that may leave.
    pub fn take(&mut self) -> Option<T> {
        self.free.pop_front().map(|(_, thing)| thing)
    }

    /// Drops what `gone` says is not wanted any more.
    pub fn drop_if(&mut self, mut gone: impl FnMut(&T) -> bool) {
        self.held.retain(|_, of| {
            of.retain(|(_, thing)| !gone(thing));
            !of.is_empty()
        });
        self.count = self.held.values().map(VecDeque::len).sum();
        self.free.retain(|(_, thing)| !gone(thing));
    }

    /// What waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let held = self.held.values().flatten().map(|(_, thing)| thing);
        held.chain(self.free.iter().map(|(_, thing)| thing))
    }

    /// How much waits.
    pub fn len(&self) -> usize {
        self.count + self.free.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.free.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Signal;
    use units::Time;

    #[test]
    fn what_waits_for_a_gate_comes_back_in_its_order() {
        let (mut aside, mut gates) = (Aside::default(), Gates::default());
        for conn in [1, 2] {
            gates.heed(Time(1), Signal::PauseFlow(ConnId(conn)));
        }
        for (conn, thing) in [(1, 'a'), (2, 'b'), (1, 'c')] {
            aside.put(ConnId(conn), thing);
        }
        aside.look(&gates, 0);
        assert_eq!((aside.take(), aside.len()), (None, 3));
        gates.heed(Time(2), Signal::ResumeFlow(ConnId(1)));
        aside.look(&gates, 0);
        assert_eq!(aside.take(), Some('a'));
        // Paused again before its turn came.
        gates.heed(Time(3), Signal::PauseFlow(ConnId(1)));
        aside.look(&gates, 0);
        assert_eq!((aside.take(), aside.len()), (None, 2));
        gates.heed(Time(4), Signal::ResumeFlow(ConnId(1)));
        aside.put(ConnId(1), 'd');
        aside.look(&gates, 0);
        assert_eq!((aside.take(), aside.take()), (Some('c'), Some('d')));
        assert_eq!(aside.take(), None);
        aside.drop_if(|&thing| thing == 'b');
        assert!(aside.is_empty());
    }

    /// The same by looking at everything each time.
    #[derive(Default)]
    struct Plain {
        held: Vec<(ConnId, u32)>,
        free: Vec<(ConnId, u32)>,
    }

    impl Plain {
        fn look(&mut self, gates: &Gates) {
            let mut all = std::mem::take(&mut self.free);
            all.append(&mut self.held);
            for (conn, thing) in all {
                let to = match gates.may_send(conn, 0) {
                    true => &mut self.free,
                    false => &mut self.held,
                };
                to.push((conn, thing));
            }
        }
    }

    #[test]
    fn looking_at_what_changed_gives_what_looking_at_everything_does() {
        for seed in 0..300 {
            let mut rng = model::Rng::stream(seed, model::stream::TEST, 0);
            let (mut aside, mut plain) = (Aside::default(), Plain::default());
            let mut gates = Gates::default();
            for step in 0..400_u32 {
                let conn = ConnId(u32::try_from(rng.below(5)).unwrap());
                let signal = match rng.below(24) {
                    0 => Some(Signal::PausePriority(0)),
                    1 | 2 => Some(Signal::ResumePriority(0)),
                    3..8 => Some(Signal::PauseFlow(conn)),
                    8..13 => Some(Signal::ResumeFlow(conn)),
                    _ => None,
                };
                let changed = signal.is_some_and(|signal| gates.heed(Time(step.into()), signal));
                // Now and then several change between two looks.
                if changed && rng.below(8) > 0 {
                    aside.look(&gates, 0);
                    plain.look(&gates);
                }
                match rng.below(5) {
                    0 | 1 => {
                        aside.put(conn, step);
                        plain.held.push((conn, step));
                    }
                    2 if !plain.free.is_empty() => {
                        assert_eq!(aside.take(), Some(plain.free.remove(0).1), "{seed}, {step}");
                    }
                    2 => assert_eq!(aside.take(), None, "{seed}, {step}"),
                    3 if rng.below(20) == 0 => {
                        aside.drop_if(|thing| thing % 3 == 0);
                        plain.held.retain(|(_, thing)| thing % 3 != 0);
                        plain.free.retain(|(_, thing)| thing % 3 != 0);
                    }
                    _ => {}
                }
                let waits = plain.held.len() + plain.free.len();
                assert_eq!((aside.len(), aside.iter().count()), (waits, waits));
            }
        }
    }

    #[test]
    fn what_is_dropped_is_neither_held_nor_given_back() {
        let (mut aside, mut gates) = (Aside::default(), Gates::default());
        assert_eq!((aside.is_empty(), aside.len()), (true, 0));
        gates.heed(Time(1), Signal::PauseFlow(ConnId(2)));
        for (conn, thing) in [(1, 'a'), (2, 'b'), (1, 'c'), (2, 'd')] {
            aside.put(ConnId(conn), thing);
        }
        assert_eq!(aside.take(), None, "nobody has looked at the gates");
        aside.look(&gates, 0);
        assert!(!aside.is_empty() && aside.len() == 4);
        aside.drop_if(|&thing| thing == 'a' || thing == 'd');
        assert_eq!(
            (aside.len(), aside.take(), aside.take()),
            (2, Some('c'), None)
        );
        assert!(!aside.is_empty(), "one is held");
        gates.heed(Time(2), Signal::ResumeFlow(ConnId(2)));
        aside.look(&gates, 0);
        assert!(!aside.is_empty(), "one is free");
        assert_eq!((aside.take(), aside.is_empty()), (Some('b'), true));
    }
}
