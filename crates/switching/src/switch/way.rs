//! How a switch finds the way of a packet.

use super::{Routing, Switch};
use model::Packet;
use units::Time;

impl Switch {
    /// The port that leads `packet` on, or `None`.
    #[inline(always)]
    pub(super) fn way<R: Routing>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        routing: &R,
    ) -> Option<usize> {
        let to = packet.to().0;
        let choose = |ways: &[u16]| {
            let way = self.way_of_flow::<R>(packet, ways);
            if self.chooses || packet.has_path() {
                self.choose_way(now, packet, ways, way)
            } else {
                way
            }
        };
        routing.way(to, choose).map(usize::from)
    }

    /// The place in `ways` of the way that the connection of `packet` takes.
    #[inline(always)]
    pub(super) fn way_of_flow<R: Routing>(&self, packet: &Packet, ways: &[u16]) -> u32 {
        #[allow(clippy::cast_possible_truncation, reason = "at most as many as ports")]
        let count = ways.len() as u32;
        R::way_of_flow(packet.conn.0, self.salt, count)
    }

    /// The place in `ways` of the way that `packet` takes, whose connection takes `of_flow`.
    #[inline(never)]
    fn choose_way(&mut self, now: Time, packet: &mut Packet, ways: &[u16], of_flow: u32) -> u32 {
        let ports = &self.ports;
        let load = |way: u32| ports[usize::from(ways[way as usize])].idle_from(now);
        #[allow(clippy::cast_possible_truncation, reason = "at most as many as ports")]
        let count = ways.len() as u32;
        let flow = (of_flow, self.shapes_credits);
        self.balancer.choose(now, packet, count, flow, load)
    }
}
