//! What a switch does while its flow control is calm: choices are made port by port, and not in the order of time.
//!
//! A flow control that has nothing to say only adds up what comes and takes off what leaves, and a sum is the same in
//! any order. What has left some port, and is not told of yet, makes it see more than there is: where that is still
//! below every threshold, so is what there is. Where it is not, all choices up to now are made, and it is asked again;
//! from the first packet of which it may have something to say, choices follow time ([`super::Switch::rouse`]) until it is
//! calm again.

use super::{Outlet, Switch};
use crate::discipline::Verdict;
use crate::due::Due;
use crate::flow_control::Passage;
use crate::port::Port;
use model::{Local, Packet};
use units::Time;

impl Switch {
    /// Hands a packet to a port. `alone` says whether no other arrival of this switch has the same moment. False where the
    /// flow control may not stay calm: then choices follow time from here on, and the packet is as it was.
    #[inline(never)] // once per arrival: it needs registers of its own
    pub(super) fn offer_calm<O: Outlet>(
        &mut self,
        now: Time,
        ingress: u16,
        index: usize,
        packet: &mut Packet,
        alone: bool,
        out: &mut O,
    ) -> bool {
        let (port, common) = (&mut self.ports[index], &mut self.common);
        if port.choose_at() < now {
            common.drain_calm(port, now, out);
        }
        if !common.stays_calm(ingress, port, packet) {
            self.settle(now, out);
            if !self.common.stays_calm(ingress, &self.ports[index], packet) {
                self.rouse();
                return false;
            }
        }
        let (port, common) = (&mut self.ports[index], &mut self.common);
        let free = alone && self.may_pass && ingress != port.number();
        if free && port.is_idle(now) && port.pass(now, packet) {
            if O::CARRIES {
                packet.set_tagged(false);
            }
            port.transmit(now, packet, out);
            return true;
        }
        // Where it came from is remembered in the place of a moment that is over.
        let mut local = Local::of(packet);
        local.ingress = ingress;
        local.put(packet);
        let held = port.held();
        match port.enqueue(now, packet) {
            Verdict::Queued(queue) => {
                common.account(held, port);
                let passage = port.passage(ingress, packet);
                common.arrived_calmly(now, &Passage { queue, ..passage });
            }
            Verdict::Dropped(reason) => {
                let reason = common.why_dropped(now, port, packet, reason);
                port.drop(now, packet, reason, out);
                self.turn_away(now, ingress, packet, out);
            }
            Verdict::Bounced => unreachable!("ports with gates alone send nothing back"),
        }
        self.enlist(now, index);
        true
    }

    /// Makes all choices before `end`, port by port.
    pub(super) fn settle(&mut self, end: Time, out: &mut impl Outlet) {
        for &index in &self.waiting {
            let port = &mut self.ports[usize::from(index)];
            if port.choose_at() < end {
                self.common.drain_calm(port, end, out);
            }
        }
    }

    /// Choices follow time from now on. Those before this moment are made.
    pub(super) fn rouse(&mut self) {
        self.calm = false;
        for index in self.waiting.drain(..) {
            self.ports[usize::from(index)].delist();
        }
        for port in &mut self.ports {
            port.loud = true;
        }
        self.due.set_all(self.ports.iter().map(Port::choose_at));
        self.quiet_until = self.due.earliest().min(self.common.deadline());
    }

    /// Choices follow time whatever the flow control says.
    pub(super) fn never_be_calm(&mut self) {
        if self.may_be_quiet {
            self.due = Due::new(self.ports.len());
        }
        if self.calm || self.may_be_quiet {
            self.rouse();
        }
        (self.may_be_calm, self.may_be_quiet) = (false, false);
        self.without_deadline = false;
    }

    /// Choices no longer follow time where the flow control is calm.
    pub(super) fn calm_down(&mut self) {
        let control = self.common.control.as_ref();
        if !self.may_be_calm || !control.is_some_and(|control| control.is_calm()) {
            return;
        }
        (self.calm, self.quiet_until) = (true, Time::NEVER);
        for port in &mut self.ports {
            if port.choose_at() < Time::NEVER && port.enlist() {
                self.waiting.push(port.number());
            }
        }
    }
}
