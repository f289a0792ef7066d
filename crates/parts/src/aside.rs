//! What waits for a gate: set aside when its turn came and it might not leave, and given back in its
//! order when it may.

use model::{ConnId, Gates};
use std::collections::VecDeque;

/// Things of paused connections: packets, or turns. Their bound is the caller's.
#[derive(Clone, Debug)]
pub struct Aside<T> {
    held: VecDeque<(ConnId, T)>,
    /// Those that may leave by now.
    free: VecDeque<(ConnId, T)>,
}

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Self {
            held: VecDeque::new(),
            free: VecDeque::new(),
        }
    }
}

impl<T> Aside<T> {
    /// Sets aside what belongs to `conn`.
    pub fn put(&mut self, conn: ConnId, thing: T) {
        self.held.push_back((conn, thing));
    }

    /// The gates have changed: whatever may leave now at this priority can be taken, and nothing else.
    pub fn look(&mut self, gates: &Gates, priority: u8) {
        // What could have left, and did not in time, is older than the rest.
        let mut all = std::mem::take(&mut self.free);
        all.append(&mut self.held);
        for (conn, thing) in all {
            if gates.may_send(conn, priority) {
                self.free.push_back((conn, thing));
            } else {
                self.held.push_back((conn, thing));
            }
        }
    }

    /// The first that may leave.
    pub fn take(&mut self) -> Option<T> {
        self.free.pop_front().map(|(_, thing)| thing)
    }

    /// Drops what `gone` says is not wanted any more.
    pub fn drop_if(&mut self, mut gone: impl FnMut(&T) -> bool) {
        self.held.retain(|(_, thing)| !gone(thing));
        self.free.retain(|(_, thing)| !gone(thing));
    }

    /// What waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.held.iter().chain(&self.free).map(|(_, thing)| thing)
    }

    /// How much waits.
    pub fn len(&self) -> usize {
        self.held.len() + self.free.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.free.is_empty()
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
