//! Connections that are done and remembered for a while, so that late copies of their packets open nothing.

use model::{ConnId, ConnMap, Cx, Event};
use std::collections::VecDeque;
use units::{Span, Time};

/// Most connections that are remembered; the oldest is forgotten before its time. [ours]
const MOST: usize = 1 << 22;
/// So many places in the queue are not worth looking through. [ours]
const FEW: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    until: Time,
    conn: ConnId,
    number: u32,
}

/// The connections of one host that are done, until each is forgotten: [`Event::Forgotten`] says so.
#[derive(Debug, Default)]
pub struct Lingering {
    /// In the order in which they are forgotten; those that were told to be forgotten before may still stand here.
    queue: VecDeque<Entry>,
    /// The number of each that is remembered: a connection may come and go again.
    number_of: ConnMap,
    numbered: u32,
}

impl Lingering {
    /// Whether `conn` is remembered.
    #[inline]
    pub fn knows(&self, conn: ConnId) -> bool {
        self.number_of.get(conn).is_some()
    }

    /// Remembers `conn` for `linger`, the same for all connections of a host.
    pub fn remember(&mut self, cx: &mut Cx<'_>, conn: ConnId, linger: Span) {
        self.numbered = (self.numbered + 1) & (u32::MAX >> 1);
        self.number_of.insert(conn, self.numbered);
        if self.queue.len() >= FEW.max(2 * self.number_of.len()) {
            let number_of = &self.number_of;
            self.queue
                .retain(|entry| number_of.get(entry.conn) == Some(entry.number));
        }
        self.queue.push_back(Entry {
            until: cx.now.after(linger),
            conn,
            number: self.numbered,
        });
        self.keep_at_most(MOST, cx);
    }

    /// Forgets the oldest, before their time, where more are remembered.
    fn keep_at_most(&mut self, most: usize, cx: &mut Cx<'_>) {
        while self.number_of.len() > most
            && let Some(first) = self.queue.front_mut()
        {
            first.until = cx.now;
            self.expire(cx);
        }
    }

    /// Forgets `conn` now.
    pub fn forget(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        if self.number_of.remove(conn).is_some() {
            cx.events.push(Event::Forgotten { conn });
        }
    }

    /// Forgets those whose time is over.
    #[inline]
    pub fn expire(&mut self, cx: &mut Cx<'_>) {
        if self.next() <= cx.now {
            self.expire_due(cx);
        }
    }

    #[cold]
    fn expire_due(&mut self, cx: &mut Cx<'_>) {
        while let Some(&entry) = self.queue.front().filter(|entry| entry.until <= cx.now) {
            self.queue.pop_front();
            if self.number_of.get(entry.conn) == Some(entry.number) {
                self.number_of.remove(entry.conn);
                cx.events.push(Event::Forgotten { conn: entry.conn });
            }
        }
        if self.queue.is_empty() {
            (self.queue, self.number_of) = (VecDeque::new(), ConnMap::default());
        }
    }

    /// Places that are kept, and connections that are remembered: for tests of what a host costs.
    pub fn sizes(&self) -> (usize, usize) {
        (self.queue.len(), self.number_of.len())
    }

    /// When [`Lingering::expire`] has something to do, at the earliest; [`Time::NEVER`] if nothing is remembered.
    #[inline]
    pub fn next(&self) -> Time {
        self.queue.front().map_or(Time::NEVER, |entry| entry.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;

    const WHILE: Span = Span::us(5);

    /// Steps of `lingering` at `now`; returns whom it has forgotten.
    fn at(now: Time, step: impl FnOnce(&mut Cx<'_>)) -> Vec<u32> {
        let mut bench = Bench::at(now);
        step(&mut bench.cx());
        let forgotten = |event: &Event| match *event {
            Event::Forgotten { conn } => conn.0,
            other => panic!("{other:?}"),
        };
        bench.events.iter().map(forgotten).collect()
    }

    #[test]
    fn what_is_done_is_remembered_for_its_time_and_then_forgotten() {
        let mut done = Lingering::default();
        assert_eq!((done.next(), done.sizes()), (Time::NEVER, (0, 0)));
        assert_eq!(at(Time(10), |cx| done.remember(cx, ConnId(1), WHILE)), []);
        assert_eq!(at(Time(20), |cx| done.remember(cx, ConnId(2), WHILE)), []);
        assert!(done.knows(ConnId(1)) && done.knows(ConnId(2)) && !done.knows(ConnId(3)));
        let first = Time(10).after(WHILE);
        assert_eq!((done.next(), done.sizes()), (first, (2, 2)));
        assert_eq!(at(Time(first.0 - 1), |cx| done.expire(cx)), []);
        assert_eq!(at(first, |cx| done.expire(cx)), [1]);
        assert!(!done.knows(ConnId(1)) && done.knows(ConnId(2)));
        assert_eq!(at(Time(20).after(WHILE), |cx| done.expire(cx)), [2]);
        assert_eq!((done.next(), done.sizes()), (Time::NEVER, (0, 0)));
    }

    #[test]
    fn what_is_told_to_be_forgotten_is_forgotten_once() {
        let mut done = Lingering::default();
        at(Time(10), |cx| done.remember(cx, ConnId(1), WHILE));
        assert_eq!(at(Time(11), |cx| done.forget(cx, ConnId(1))), [1]);
        assert_eq!(at(Time(11), |cx| done.forget(cx, ConnId(1))), []);
        assert!(!done.knows(ConnId(1)));
        // It comes and goes again: its first place says nothing of its second life.
        at(Time(12), |cx| done.remember(cx, ConnId(1), WHILE));
        assert_eq!(at(Time(10).after(WHILE), |cx| done.expire(cx)), []);
        assert!(done.knows(ConnId(1)));
        assert_eq!(at(Time(12).after(WHILE), |cx| done.expire(cx)), [1]);
    }

    #[test]
    fn no_place_of_an_earlier_life_ends_a_later_one() {
        let mut done = Lingering::default();
        for now in 10..14 {
            at(Time(now), |cx| done.remember(cx, ConnId(1), WHILE));
            at(Time(now), |cx| done.forget(cx, ConnId(1)));
        }
        at(Time(20), |cx| done.remember(cx, ConnId(1), WHILE));
        assert_eq!(at(Time(19).after(WHILE), |cx| done.expire(cx)), []);
        assert_eq!(at(Time(20).after(WHILE), |cx| done.expire(cx)), [1]);
    }

    #[test]
    fn places_of_what_is_forgotten_are_given_back() {
        let mut done = Lingering::default();
        at(Time(1), |cx| {
            for conn in 0..1_000 {
                done.remember(cx, ConnId(conn), WHILE);
                done.forget(cx, ConnId(conn));
                assert!(done.sizes().0 <= FEW, "{:?}", done.sizes());
            }
        });
        at(Time(2), |cx| {
            for (conn, others) in (0..200).zip(0..) {
                done.remember(cx, ConnId(conn), WHILE);
                let (places, known) = done.sizes();
                assert!(places <= FEW.max(2 * known) && known == others + 1);
            }
        });
        assert_eq!(done.sizes().1, 200);
    }

    #[test]
    fn places_are_looked_through_where_half_of_them_say_nothing() {
        let mut done = Lingering::default();
        at(Time(1), |cx| {
            (0..200).for_each(|conn| done.remember(cx, ConnId(conn), WHILE));
            (0..50).for_each(|conn| done.forget(cx, ConnId(conn)));
            done.remember(cx, ConnId(200), WHILE);
            assert_eq!(done.sizes(), (201, 151), "a quarter is not worth it");
            (50..200).for_each(|conn| done.forget(cx, ConnId(conn)));
            done.remember(cx, ConnId(201), WHILE);
        });
        assert_eq!(done.sizes(), (2, 2));
    }

    #[test]
    fn of_too_many_the_oldest_is_forgotten_before_its_time() {
        let mut done = Lingering::default();
        let forgotten = at(Time(1), |cx| {
            (0..3).for_each(|conn| done.remember(cx, ConnId(conn), WHILE));
            done.forget(cx, ConnId(0));
            done.keep_at_most(2, cx);
            assert_eq!(done.sizes().1, 2);
            done.remember(cx, ConnId(3), WHILE);
            done.keep_at_most(2, cx);
        });
        assert_eq!(forgotten, [0, 1]);
        assert!(!done.knows(ConnId(1)) && done.knows(ConnId(2)) && done.knows(ConnId(3)));
    }
}
