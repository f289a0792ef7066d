//! Ports of which a flow control says nothing to others: their choices are made late, and not in the order of time across
//! ports.
//!
//! Some flow controls act on what leaves a port by the state of that port alone, and only while they have paused somebody
//! because of it do they say anything to others. Such a port is *loud*, and its choices follow time: what it says may
//! become due at any other port. Of a *quiet* one nothing is ever said but gates of its own, so its choices are made when
//! something comes to it, when something is said to it, and at the end of the window. The memory of the switch seems
//! fuller by what has left quiet ports meanwhile: before it refuses a packet, all have made their choices.

use super::{Outlet, Switch};
use crate::common::choose_until;
use crate::due::{Due, Row};
use crate::flow_control::Passage;
use crate::port::Offered;
use model::Packet;
use units::Time;

impl Switch {
    /// Every port is quiet of which the flow control does not speak. A flow control that speaks of all of them now always will.
    pub(super) fn quieten_all(&mut self) {
        if self.may_be_quiet {
            (0..self.ports.len()).for_each(|index| self.quieten(index));
            self.may_be_quiet = self.ports.iter().any(|port| !port.loud);
            self.may_pass |= self.may_be_quiet;
        }
        if self.may_be_quiet {
            self.due = Due::Row(Row::default()); // few are loud at a time, and none yet
        }
    }

    /// Port `index` is quiet from now on, unless the flow control speaks of what leaves there.
    #[inline(never)]
    pub(super) fn quieten(&mut self, index: usize) {
        let port = &mut self.ports[index];
        if self.common.speaks(port.number()) {
            return;
        }
        port.loud = false;
        self.due.set(index, Time::NEVER);
        if port.choose_at() < Time::NEVER && port.enlist() {
            self.waiting.push(port.number());
        }
    }

    /// Something has been said of an arrival at port `index`: it may be loud from now on. Its choices before are made.
    #[inline(never)]
    pub(super) fn raise(&mut self, index: usize) {
        let port = &mut self.ports[index];
        if port.loud || !self.common.speaks(port.number()) {
            return;
        }
        port.loud = true;
        self.set_due(index);
    }

    /// Loud port `index` is to choose in the order of time from the moment on at which something may leave that the flow
    /// control minds: what it does not mind may leave late, as from a quiet port.
    #[inline]
    pub(super) fn set_due(&mut self, index: usize) {
        let at = self.due_of(index);
        self.due.set(index, at);
        self.quiet_until = self.quiet_until.min(at);
    }

    /// That moment; where every port is loud, that of its next choice.
    #[inline]
    pub(super) fn due_of(&self, index: usize) -> Time {
        let port = &self.ports[index];
        if self.may_be_quiet {
            port.minded_from(self.common.minded)
        } else {
            port.choose_at()
        }
    }

    /// The same, and does what has been said.
    #[inline(never)]
    fn raise_and_heed(&mut self, now: Time, index: usize, out: &mut impl Outlet) {
        self.raise(index);
        self.heed(now, out);
    }

    /// Makes all choices of port `index` before `end`. Where it is loud, these are of what the flow control does not mind: the
    /// others have been made.
    #[inline(never)]
    pub(super) fn drain_quiet(&mut self, index: usize, end: Time, out: &mut impl Outlet) {
        if !self.may_be_quiet {
            return;
        }
        while self.ports[index].choose_at() < end {
            let at = choose_until(&mut self.ports[index], &mut self.common, end, out);
            if !self.common.say.is_empty() {
                debug_assert!(self.common.say.frames.is_empty(), "a quiet port");
                self.obey(at, Some(index), out);
            }
        }
    }

    /// Does what has been said of a choice of quiet port `index` at `at`, and makes all others before `end`.
    #[inline(never)] // seldom
    fn drain_on(&mut self, at: Time, index: usize, end: Time, out: &mut impl Outlet) {
        debug_assert!(self.common.say.frames.is_empty(), "a quiet port");
        self.obey(at, Some(index), out);
        self.drain_quiet(index, end, out);
    }

    /// Makes all choices before `end` of quiet ports, and of loud ones what is left of them.
    pub(super) fn settle_quiet(&mut self, end: Time, out: &mut impl Outlet) {
        let mut place = 0;
        while let Some(index) = self.due.in_row(place) {
            self.drain_quiet(index, end, out);
            place += 1;
        }
        for place in 0..self.waiting.len() {
            self.drain_quiet(self.waiting[place].into(), end, out);
        }
    }

    /// Something is said to port `index` at `now`, of a choice of port `after` where there is one: makes the choices that
    /// come before.
    pub(super) fn catch_up(
        &mut self,
        index: usize,
        now: Time,
        after: Option<usize>,
        out: &mut impl Outlet,
    ) {
        let first = after.is_some_and(|after| index < after);
        self.drain_quiet(index, Time(now.0 + u64::from(first)), out);
    }

    /// Hands a packet to a port with numbered queues. `alone` says whether no other arrival has the same moment.
    #[inline(always)] // once per arrival, from one loop
    pub(super) fn offer_quietly<O: Outlet>(
        &mut self,
        now: Time,
        ingress: u16,
        index: usize,
        packet: &mut Packet,
        alone: impl FnOnce() -> bool,
        out: &mut O,
    ) {
        let (port, common) = (&mut self.ports[index], &mut self.common);
        if port.choose_at() < now {
            let at = port.drain_told(now, common, out);
            if !common.say.is_empty() {
                self.drain_on(at, index, now, out);
                self.offer_controlled(now, ingress, index, packet, false, out);
                return;
            }
        }
        let free = || self.may_pass && self.quiet_until > now && alone();
        match port.offer_told(now, ingress, packet, free, common, out) {
            Offered::Passed => {}
            Offered::Kept(chooses) => {
                if chooses {
                    self.list(index);
                }
                if !self.common.say.is_empty() {
                    self.raise_and_heed(now, index, out);
                }
            }
            Offered::Open => self.offer_controlled(now, ingress, index, packet, false, out),
        }
    }

    /// Notes that port `index` may have become earlier.
    #[inline(always)] // from one place
    fn list(&mut self, index: usize) {
        let port = &mut self.ports[index];
        if port.loud {
            self.set_due(index);
        } else if port.enlist() {
            self.waiting.push(port.number());
        }
    }

    /// Asks again for room for `passage`, which was refused, after quiet ports have made their choices.
    #[cold]
    #[inline(never)]
    pub(super) fn admits_quietly(
        &mut self,
        now: Time,
        index: usize,
        passage: &Passage<'_>,
        out: &mut impl Outlet,
    ) -> bool {
        self.settle_quiet(now, out);
        self.common.admits_by_control(&self.ports[index], passage)
    }

    /// Makes every choice before `end` that does not follow time, after those that do. Returns [`Switch::next`].
    #[inline(never)]
    pub(super) fn commit_quiet_before(&mut self, end: Time, out: &mut impl Outlet) -> Time {
        let (mut kept, mut next) = (0, self.common.deadline());
        let mut place = 0;
        while let Some(index) = self.due.in_row(place) {
            self.drain_quiet(index, end, out);
            next = next.min(self.ports[index].choose_at());
            place += 1;
        }
        for place in 0..self.waiting.len() {
            let index = self.waiting[place];
            self.drain_quiet(index.into(), end, out);
            let port = &mut self.ports[usize::from(index)];
            if port.loud || port.choose_at() == Time::NEVER {
                port.delist();
            } else {
                next = next.min(port.choose_at());
                self.waiting[kept] = index;
                kept += 1;
            }
        }
        self.waiting.truncate(kept);
        next
    }
}
