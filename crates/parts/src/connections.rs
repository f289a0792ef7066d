//! The connections of a host that open without a handshake and that carry messages in both directions: either end may
//! send first, and any packet tells the other end. Roles, packets and decisions are the transport's.
//!
//! [`host`](crate::host) is a whole host, with a handshake, and goes back to what is missing; here packets may come
//! in any order.

use crate::lingering::Lingering;
use crate::slab::Slab;
use crate::timers::{Alarm, Timers};
use model::{ConnId, ConnMap, Cx, Event, Excused, HostId, Lifetime, Packet, StuckFlow, Totals};
use std::ops::{Index, IndexMut};
use units::{Span, Time};

/// Connections that a host keeps state for: a liar can open many. [ours]
const CONNS_MAX: usize = 1 << 20;
/// Connections that one [`Connections::check`] looks at, for it runs after every step. [ours]
const CHECKED_PER_CALL: usize = 32;

/// The part of a number that travels.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "sixteen bits")]
pub const fn told(number: u32) -> u16 {
    number as u16
}

/// The direction that leaves.
pub trait Sending: Default {
    /// Messages that are done.
    fn done(&self) -> u32;
    /// Whether it has nothing to do.
    fn is_idle(&self) -> bool;
    /// Whether a message was ever sent on it.
    fn is_used(&self) -> bool {
        !self.is_idle() || self.done() > 0
    }
    /// Panics where an invariant is broken.
    fn check(&self);
}

/// The direction that arrives.
pub trait Receiving: Default {
    /// Messages that are complete.
    fn complete(&self) -> u32;
    /// Panics where an invariant is broken.
    fn check(&self);
}

/// One connection at one end: both of its directions, and what the transport keeps of it besides.
#[derive(Debug)]
pub struct Conn<S, R, X> {
    /// Its number.
    pub id: ConnId,
    /// The other end.
    pub peer: HostId,
    /// Which connection of this host it is: older ones have smaller numbers.
    pub order: u32,
    /// What it carries before it ends.
    pub lifetime: Lifetime,
    /// This end opened it.
    pub opener: bool,
    /// The direction that leaves.
    pub tx: S,
    /// The direction that arrives.
    pub rx: R,
    /// What the transport keeps besides.
    pub own: X,
    /// Excuses of the timers of either direction.
    pub excused: [Excused; 2],
    sending: Age,
    arriving: Age,
    alarm: Alarm,
}

/// Which message of a direction was asked about last, and its age.
#[derive(Clone, Copy, Debug)]
struct Age {
    ordinal: u32,
    age: u32,
}

impl Age {
    /// The age of message `ordinal`, which is `next` where nobody has asked about that one.
    #[inline]
    fn of(&mut self, ordinal: u32, next: &mut u32) -> u32 {
        if self.ordinal != ordinal {
            let age = *next;
            *next = next.wrapping_add(1);
            *self = Self { ordinal, age };
        }
        self.age
    }
}

impl<S: Sending, R: Receiving, X> Conn<S, R, X> {
    /// Whether it ends by itself.
    #[inline]
    pub fn one_shot(&self) -> bool {
        self.lifetime.is_one_shot()
    }

    /// Whether one more message may be sent on it: the opener's only one, or either end's.
    pub fn may_send(&self) -> bool {
        self.lifetime.allows_message(self.opener, self.tx.is_used())
    }

    /// Whether it is this one: of that lifetime, and opened by this end where a packet of the other is an answer.
    #[inline]
    pub fn fits(&self, lifetime: Lifetime, answer: bool) -> bool {
        self.lifetime == lifetime && self.opener == answer
    }

    /// Whether what comes on it is an answer, which says that the question has arrived.
    #[inline]
    pub fn is_answered(&self) -> bool {
        self.lifetime == Lifetime::Exchange && self.opener
    }

    /// Whether it has carried all that it is for.
    pub fn is_over(&self) -> bool {
        let sent = self.tx.is_used() && self.tx.is_idle();
        let got = self.rx.complete() > 0;
        self.lifetime.is_over(self.opener, sent, got)
    }

    /// The age that [`Connections::age_sending`] told last.
    #[inline]
    pub fn sending_age(&self) -> u32 {
        self.sending.age
    }

    /// When its alarm rings.
    pub fn due(&self) -> Time {
        self.alarm.due()
    }
}

/// What a packet finds that may open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its connection, at this place.
    Open(u32),
    /// The same, which it has opened.
    New(u32),
    /// It is done and remembered: the other end has not heard of that.
    Done,
    /// It was open once, and is forgotten here.
    Gone,
    /// It cannot be, or there is no room for it.
    Nothing,
}

/// The connections of one host, by place and by number, those that are done and remembered, and the alarm of each.
#[derive(Debug)]
pub struct Connections<S, R, X> {
    me: HostId,
    /// How long a connection that is done is remembered.
    linger: Span,
    slots: Slab<Conn<S, R, X>>,
    slot_of: ConnMap,
    /// Connections so far, and messages behind the first ones of theirs that were ranked.
    ages: u32,
    done: Lingering,
    timers: Timers,
}

impl<S: Sending, R: Receiving, X: Default> Connections<S, R, X> {
    /// None yet, at host `me`; each that is done is remembered for `linger`.
    pub fn new(me: HostId, linger: Span) -> Self {
        Self {
            me,
            linger,
            slots: Slab::default(),
            slot_of: ConnMap::default(),
            ages: 0,
            done: Lingering::default(),
            timers: Timers::default(),
        }
    }

    /// The place of connection `id`.
    #[inline]
    pub fn find(&self, id: ConnId) -> Option<u32> {
        self.slot_of.get(id)
    }

    /// Whether `id` is done and remembered.
    #[inline]
    pub fn remembers(&self, id: ConnId) -> bool {
        self.done.knows(id)
    }

    fn is_full(&self) -> bool {
        self.slots.len() == CONNS_MAX
    }

    /// Adds a connection that is not there.
    pub fn add(&mut self, id: ConnId, peer: HostId, opener: bool, lifetime: Lifetime) -> u32 {
        let order = self.ages;
        self.ages = order.wrapping_add(1);
        let first = Age {
            ordinal: 0,
            age: order,
        };
        let slot = self.slots.insert(Conn {
            id,
            peer,
            order,
            lifetime,
            opener,
            tx: S::default(),
            rx: R::default(),
            own: X::default(),
            excused: <[Excused; 2]>::default(),
            sending: first,
            arriving: first,
            alarm: Alarm::OFF,
        });
        self.slot_of.insert(id, slot);
        slot
    }

    /// [`Endpoint::connect`](model::Endpoint::connect): the place of a new connection. One that is open stays, and
    /// one too many is refused.
    pub fn connect(
        &mut self,
        cx: &mut Cx<'_>,
        id: ConnId,
        peer: HostId,
        lifetime: Lifetime,
    ) -> Option<u32> {
        if self.find(id).is_some() {
            return None;
        }
        if self.is_full() {
            cx.events.push(Event::Refused { conn: id });
            return None;
        }
        Some(self.add(id, peer, true, lifetime))
    }

    /// A lasting connection of which nothing has come yet, and on which this end sends first.
    fn before_the_opener(&mut self, cx: &Cx<'_>, id: ConnId) -> Option<u32> {
        let fits = !self.done.knows(id) && !self.is_full();
        let peer = cx.peers.peer(self.me, id).filter(|_| fits)?;
        Some(self.add(id, peer, false, Lifetime::Persistent))
    }

    /// [`Endpoint::send`](model::Endpoint::send): the place of the connection, which may be new; refused where there is
    /// none, or it carries no further message of this end.
    pub fn to_send(&mut self, cx: &mut Cx<'_>, id: ConnId) -> Option<u32> {
        let slot = self.find(id).or_else(|| self.before_the_opener(cx, id));
        let slot = slot.filter(|&slot| self.slots[slot].may_send());
        if slot.is_none() {
            cx.events.push(Event::Refused { conn: id });
        }
        slot
    }

    /// A connection is lost: says so where a message of this end is with it. [`Connections::remove`] follows.
    pub fn refuse(&self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &self.slots[slot];
        if conn.opener || !conn.tx.is_idle() {
            cx.events.push(Event::Refused { conn: conn.id });
        }
    }

    /// Whose connection `id` is that opens with the packet at hand; none where there is no room for it, or nobody
    /// could have opened it, which `totals` counts.
    pub fn opener(&self, cx: &Cx<'_>, id: ConnId, totals: &mut Totals) -> Option<HostId> {
        let peer = cx.peers.peer(self.me, id);
        totals.nonsense += u64::from(peer.is_none());
        peer.filter(|_| !self.is_full())
    }

    /// The connection of a packet that says its lifetime, whether it is an answer, and whether it is of the `first` message;
    /// opened where it is not there, unless the packet shows that it was `known` here before. What cannot be, `totals` counts.
    #[inline]
    pub fn seek(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        (lifetime, answer, first): (Lifetime, bool, bool),
        known: bool,
        totals: &mut Totals,
    ) -> Found {
        if first || !lifetime.is_one_shot() {
            let Some(slot) = self.find(id) else {
                return self.seek_stranger(cx, id, lifetime, known || answer || !first, totals);
            };
            if self.slots[slot].fits(lifetime, answer) {
                return Found::Open(slot);
            }
        }
        totals.nonsense += 1;
        Found::Nothing
    }

    #[cold]
    fn seek_stranger(
        &mut self,
        cx: &Cx<'_>,
        id: ConnId,
        lifetime: Lifetime,
        known: bool,
        totals: &mut Totals,
    ) -> Found {
        if self.remembers(id) {
            return Found::Done;
        }
        if known {
            return Found::Gone;
        }
        match self.opener(cx, id, totals) {
            Some(peer) => Found::New(self.add(id, peer, false, lifetime)),
            None => Found::Nothing,
        }
    }

    /// What `make` says to the other end of a connection that may be unknown here; nothing where nobody could be
    /// there, which `totals` counts.
    pub fn to_whoever(
        &self,
        cx: &Cx<'_>,
        id: ConnId,
        totals: &mut Totals,
        make: impl FnOnce(HostId) -> Packet,
    ) -> Option<Packet> {
        let peer = cx.peers.peer(self.me, id);
        totals.nonsense += u64::from(peer.is_none());
        peer.map(make)
    }

    /// Takes a connection out, and remembers it where it may linger and something was received on it.
    pub fn remove(&mut self, cx: &mut Cx<'_>, slot: u32, may_linger: bool) -> Conn<S, R, X> {
        let conn = self.slots.remove(slot);
        self.slot_of.remove(conn.id);
        if may_linger && conn.rx.complete() > 0 && self.linger > Span::ZERO {
            self.done.remember(cx, conn.id, self.linger);
        } else {
            cx.events.push(Event::Forgotten { conn: conn.id });
        }
        if self.slots.is_empty() {
            // What is left are timers of the dead.
            (self.timers, self.slot_of) = (Timers::default(), ConnMap::default());
        }
        conn
    }

    /// [`Endpoint::forget`](model::Endpoint::forget) of a connection that has no place.
    pub fn forget_done(&mut self, cx: &mut Cx<'_>, id: ConnId) {
        self.done.forget(cx, id);
    }

    /// Sets the alarm of a connection.
    #[inline]
    pub fn arm(&mut self, slot: u32, due: Time) {
        self.timers.set(&mut self.slots[slot].alarm, slot, due);
    }

    /// Sets it where that is earlier: one that rings too early is set anew then.
    #[inline]
    pub fn arm_earlier(&mut self, slot: u32, due: Time) {
        let alarm = &mut self.slots[slot].alarm;
        let due = due.min(alarm.due());
        self.timers.set(alarm, slot, due);
    }

    /// The next connection whose alarm rings. It rings no more until it is set again.
    #[inline]
    pub fn rings(&mut self, now: Time) -> Option<u32> {
        while let Some(slot) = self.timers.due(now) {
            let Some(conn) = self.slots.get_mut(slot) else {
                self.timers.gone();
                continue;
            };
            if self.timers.admit(&mut conn.alarm, now) {
                self.timers.rung(&mut conn.alarm, Time::NEVER);
                return Some(slot);
            }
        }
        None
    }

    /// Forgets those whose time is over.
    #[inline]
    pub fn expire(&mut self, cx: &mut Cx<'_>) {
        self.done.expire(cx);
    }

    /// When an alarm may ring or something is forgotten: never too late, sometimes too early.
    #[inline]
    pub fn next(&self) -> Time {
        self.timers.next().min(self.done.next())
    }

    /// The connection in `slot`, if it is the one that was the `order`-th of this host: its place may be another's.
    #[inline]
    pub fn get_mut(&mut self, slot: u32, order: u32) -> Option<&mut Conn<S, R, X>> {
        self.slots.get_mut(slot).filter(|conn| conn.order == order)
    }

    /// How old the message under way is that leaves on a connection: older ones have smaller numbers. The first is as old
    /// as its connection, and any other begins when this is asked first.
    #[inline]
    pub fn age_sending(&mut self, slot: u32) -> u32 {
        let Conn { tx, sending, .. } = &mut self.slots[slot];
        sending.of(tx.done(), &mut self.ages)
    }

    /// The same of the message that arrives on it.
    #[inline]
    pub fn age_arriving(&mut self, slot: u32) -> u32 {
        let Conn { rx, arriving, .. } = &mut self.slots[slot];
        arriving.of(rx.complete(), &mut self.ages)
    }

    /// The connection in `slot`, if the message that leaves on it has this age: its place may be another's.
    #[inline]
    pub fn sending(&self, slot: u32, age: u32) -> Option<&Conn<S, R, X>> {
        let conn = self.slots.get(slot);
        conn.filter(|conn| conn.sending_age() == age)
    }

    /// The same, to change it.
    #[inline]
    pub fn sending_mut(&mut self, slot: u32, age: u32) -> Option<&mut Conn<S, R, X>> {
        let conn = self.slots.get_mut(slot);
        conn.filter(|conn| conn.sending_age() == age)
    }

    /// The connection in `slot`, if there is one.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Conn<S, R, X>> {
        self.slots.get(slot)
    }

    /// Every connection, by place.
    pub fn iter(&self) -> impl Iterator<Item = &Conn<S, R, X>> {
        self.slots.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Places kept and connections remembered of those that are done: for tests of what a host costs.
    pub fn remembered(&self) -> (usize, usize) {
        self.done.sizes()
    }

    /// Panics where an invariant of theirs is broken, or `also` does of the connections that are looked at in turn
    /// number `turn`.
    pub fn check(&self, turn: u64, also: impl Fn(&Conn<S, R, X>)) {
        assert!(self.slots.len() <= CONNS_MAX);
        assert_eq!(self.slots.len(), self.slot_of.len());
        for conn in self.slots.sample(turn, CHECKED_PER_CALL) {
            conn.tx.check();
            conn.rx.check();
            conn.alarm.check();
            also(conn);
        }
    }

    /// Names what is unfinished: `roles` says what a connection does as sender and as receiver, and what it waits
    /// for.
    pub fn stuck(
        &self,
        report: &mut dyn FnMut(StuckFlow),
        roles: impl Fn(&Conn<S, R, X>) -> [Option<(String, String)>; 2],
    ) {
        for conn in self.slots.iter() {
            for (state, waits_for) in roles(conn).into_iter().flatten() {
                report(StuckFlow {
                    conn: conn.id,
                    state,
                    waits_for,
                });
            }
        }
    }
}

impl<S, R, X> Index<u32> for Connections<S, R, X> {
    type Output = Conn<S, R, X>;
    #[inline]
    fn index(&self, slot: u32) -> &Self::Output {
        &self.slots[slot]
    }
}
impl<S, R, X> IndexMut<u32> for Connections<S, R, X> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Self::Output {
        &mut self.slots[slot]
    }
}

#[cfg(test)]
mod tests;
