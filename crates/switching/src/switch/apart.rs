//! The way through a switch whose ports have nothing to do with each other: each gets all that comes in a while at once.
//!
//! Then only the order of packets to the same port matters. The driver finds the way of each packet, in any order,
//! hands every port its own in the order of time, and asks for all choices at the end.

use super::{Outlet, Routing, Switch};
use crate::form::Apart;
use crate::port::{Fate, Port};
use model::{DropReason, Packet};
use units::Time;

impl Switch {
    /// Whether its ports have nothing to do with each other: no memory and no flow control, no way that is chosen by
    /// chance, time or load, and no packet that one sends back by another.
    #[inline] // once for every switch
    pub fn apart(&self) -> Apart {
        let common = &self.common;
        let alone = common.memory.is_none() && common.control.is_none();
        if !alone || self.ordered || self.chooses {
            return Apart::Never;
        }
        let ports = self.ports.iter().map(Port::apart);
        ports.min().unwrap_or(Apart::Always)
    }

    /// Whether all its ports are first in, first out: what comes is promised the line at once.
    pub fn is_fifo(&self) -> bool {
        self.ports.iter().all(Port::is_fifo)
    }

    /// Whether one of `more` packets that come to `port` may go back by another, of a switch whose ports are apart
    /// [unless they are full](Apart::UnlessFull). Where any may, all that come are to be told one by one, by
    /// [`Switch::arrive_at`].
    #[inline]
    pub fn may_bounce(&self, port: u16, more: usize) -> bool {
        self.ports[usize::from(port)].may_bounce(more)
    }

    /// Has the cache fetch `port`, to which packets will be handed over.
    #[inline(always)] // once per port and window
    pub fn fetch(&self, port: u16) {
        self.ports[usize::from(port)].fetch();
    }

    /// A packet has come for which [`Switch::lead`] has found `port`. `alone` says whether no other arrival of this
    /// switch has the same moment.
    pub fn arrive_at<R: Routing>(
        &mut self,
        port: u16,
        packet: &mut Packet,
        alone: bool,
        routing: &R,
        out: &mut impl Outlet,
    ) {
        self.come_to(packet.at, port.into(), packet, || alone, routing, out);
    }

    /// Takes a hop of a packet that has come to such a switch, and finds the port that leads on, or why there is none.
    ///
    /// # Errors
    /// Why it goes no further: then it is to be told of by [`Switch::lose_astray`].
    #[inline(always)] // once per packet-hop, from one loop
    pub fn lead<R: Routing>(&self, packet: &mut Packet, routing: &R) -> Result<u16, DropReason> {
        if !packet.hop() {
            return Err(DropReason::Ttl);
        }
        let to = packet.to().0;
        let choose = |ways: &[u16]| match packet.has_path() {
            false => self.way_of_flow::<R>(packet, ways),
            true => given_way(packet, ways),
        };
        routing.way(to, choose).ok_or(DropReason::Unreachable)
    }

    /// Hands a packet to a port that looks at no other, of a switch without a memory.
    #[inline(always)] // once per packet-hop
    pub(super) fn come_to<R: Routing>(
        &mut self,
        now: Time,
        index: usize,
        packet: &mut Packet,
        alone: impl FnOnce() -> bool,
        routing: &R,
        out: &mut impl Outlet,
    ) {
        let port = &mut self.ports[index];
        if port.is_fifo() {
            port.promise(now, packet, out);
            return;
        }
        let free = self.may_pass && alone();
        if free && port.is_idle(now) && port.pass(now, packet) {
            port.transmit(now, packet, out);
            return;
        }
        let (slot, waiting) = (&mut self.common.slot, &mut self.waiting);
        let fate = port.take(now, packet, free, slot, out, waiting);
        if fate != Fate::Kept {
            self.clear_up(now, index, packet, fate, routing, out);
        }
    }

    /// A packet that has come by port `ingress` goes no further, for which [`Switch::lead`] has said why.
    #[cold]
    pub fn lose_astray(
        &mut self,
        ingress: u16,
        packet: &Packet,
        why: DropReason,
        out: &mut impl Outlet,
    ) {
        self.lose(packet.at, ingress, packet, why, out);
    }

    /// Hands a port of such a switch all packets that come to it before `end`, in the order of time, each with whether
    /// no other comes to this port at its moment.
    #[inline(always)] // once per port and window, from one place
    pub fn hand_over<'p>(
        &mut self,
        port: u16,
        arrivals: impl Iterator<Item = (&'p mut Packet, bool)>,
        end: Time,
        out: &mut impl Outlet,
    ) {
        let (may_pass, slot) = (self.may_pass, &mut self.common.slot);
        if self.ports[usize::from(port)].hand_over(arrivals, may_pass, end, slot, out) {
            self.waiting.push(port);
        }
    }
}

/// The place in `ways` of the way that the path of `packet` takes.
#[inline(never)]
fn given_way(packet: &mut Packet, ways: &[u16]) -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "at most as many as ports")]
    let count = ways.len() as u32;
    packet.next_way(count).unwrap_or(0)
}
