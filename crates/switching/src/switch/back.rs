//! What becomes of packets that found no room at a port: they are dropped, or go back to their senders.

use super::{Outlet, Routing, Switch};
use crate::port::Fate;
use model::{DropReason, Packet};
use units::Time;

impl Switch {
    /// Does what is done with a packet for which the memory has no room: what is done where its queue has none, but nobody
    /// throws a coin for another. [ours]
    #[cold]
    pub(super) fn offer_cut(
        &mut self,
        now: Time,
        index: usize,
        packet: &mut Packet,
        out: &mut impl Outlet,
    ) {
        let (to, bounces) = self.ports[index].cuts(packet);
        if let Some(to) = to {
            packet.trim(to);
            let port = &self.ports[index];
            let held = port.held();
            if self.common.admits(port, packet) {
                self.offer(now, index, packet, out);
                self.common.account(held, &self.ports[index]);
                return;
            }
        }
        if bounces && packet.trimmed() && !packet.bounced() {
            self.common.bounce(index, packet);
        } else {
            self.ports[index].drop(now, packet, DropReason::Memory, out);
        }
    }

    /// Drops and sends back what found no room, or had to make some.
    #[cold]
    #[inline(never)]
    pub(super) fn clear_up<R: Routing>(
        &mut self,
        now: Time,
        index: usize,
        packet: &Packet,
        fate: Fate,
        routing: &R,
        out: &mut impl Outlet,
    ) {
        let port = &mut self.ports[index];
        match fate {
            Fate::Kept | Fate::MadeRoom => {}
            Fate::Dropped(reason) => port.drop(now, packet, reason, out),
            Fate::Bounced => self.common.bounce(index, packet),
        }
        self.common.clear_up(now, index, port, out);
        if !self.common.bounced.is_empty() {
            self.bounce_back(now, routing, out);
        }
    }

    /// Sends back what the last offer bounced.
    #[inline(never)]
    pub(super) fn bounce_back<R: Routing>(
        &mut self,
        now: Time,
        routing: &R,
        out: &mut impl Outlet,
    ) {
        while let Some((egress, mut packet)) = self.common.bounced.pop() {
            let sender = out.sender(&packet).filter(|_| !packet.bounced());
            let Some(sender) = sender else {
                let port = &mut self.ports[usize::from(egress)];
                port.drop(now, &packet, DropReason::Full, out);
                continue;
            };
            packet.bounce(sender);
            let Some(index) = self.way(now, &mut packet, routing) else {
                // It leaves by no port: that which had no room lost it.
                let port = &mut self.ports[usize::from(egress)];
                port.drop(now, &packet, DropReason::Unreachable, out);
                continue;
            };
            let port = &mut self.ports[index];
            if port.is_fifo() {
                port.promise(now, &mut packet, out);
                continue;
            }
            if !self.ordered && port.choose_at() < now {
                self.common.drain(port, now, out);
            }
            self.offer_coupled(now, egress, index, &mut packet, out);
        }
    }
}
