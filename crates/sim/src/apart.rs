//! The fast way through a switch whose ports have nothing to do with each other: its packets by the port that leads on.

use crate::clock::Clock;
use crate::engine::{Net, Out};
use crate::node::{Kind, Node, SwitchNode};
use crate::sort::{SortScratch, by_moment};
use crate::ways::View;
use crate::worker::Scratch;
use model::{DropReason, Packet};
use units::Time;

/// Packets that come to one switch in one window, by the port that leads on.
#[derive(Default)]
pub(crate) struct ByPort {
    /// By port; empty but for those of `some`.
    lists: Vec<Vec<*mut Packet>>,
    /// Ports to which packets come.
    some: Vec<u16>,
    /// Packets that go no further: the port by which they came, and why.
    astray: Vec<(u16, *mut Packet, DropReason)>,
}

impl ByPort {
    /// Finds the way of a packet that has come by port `ingress`.
    ///
    /// # Safety
    /// The packet is live until the ports have run, and nothing else refers to it.
    #[inline(always)] // once per packet-hop, from two loops
    unsafe fn put(
        &mut self,
        at: &SwitchNode,
        view: &View<'_>,
        ingress: impl FnOnce() -> u16,
        packet: *mut Packet,
    ) {
        // SAFETY: by contract.
        match at.switch.lead(unsafe { &mut *packet }, view) {
            Ok(port) => {
                let list = &mut self.lists[usize::from(port)];
                if list.is_empty() {
                    self.some.push(port);
                }
                list.push(packet);
            }
            Err(why) => self.lose(ingress(), packet, why),
        }
    }

    /// Makes room for every port of a switch.
    #[inline]
    fn make_room(&mut self, at: &SwitchNode) {
        if self.lists.len() < at.switch.ports.len() {
            self.lists.resize_with(at.switch.ports.len(), Vec::new);
        }
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, ingress: u16, packet: *mut Packet, why: DropReason) {
        self.astray.push((ingress, packet, why));
    }
}

/// The packets of a port, each with whether none comes at the same moment behind it.
struct Arrivals<'l>(std::slice::Iter<'l, *mut Packet>);

impl<'l> Iterator for Arrivals<'l> {
    type Item = (&'l mut Packet, bool);

    #[inline(always)] // once per packet-hop
    fn next(&mut self) -> Option<Self::Item> {
        let &packet = self.0.next()?;
        let next = self.0.as_slice().first();
        // SAFETY: packets live until the pool recycles, and each is in one list, once.
        unsafe {
            Some((
                &mut *packet,
                next.is_none_or(|&next| (*next).at != (*packet).at),
            ))
        }
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl Net<'_> {
    /// Runs a switch to the end of the window; returns when it must be looked at next. None where a table of routes
    /// ends in the window: then nothing has happened.
    #[inline(never)] // it needs the registers
    pub(crate) fn run_apart(
        &self,
        node: &mut Node,
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Option<Time> {
        let Kind::Switch(at) = &mut node.kind else {
            unreachable!("hosts have no choice of ports")
        };
        let view = self.world.ways.of(at.id, &mut at.epoch, clock.start);
        if view.until < clock.end {
            return None;
        }
        let by_port = &mut scratch.by_port;
        by_port.make_room(at);
        let left = self.each_fresh(
            (out.node, clock.keep),
            &mut node.left,
            &at.ingress,
            |port, ring| {
                // SAFETY: this thread runs the receiving node, and packets live until the pool recycles.
                unsafe {
                    ring.take_before(clock.end, out.pool, |packet| {
                        by_port.put(at, &view, || port, packet);
                    })
                }
            },
        );
        let (mut hops, mut last) = (0, scratch.log.last_hop);
        let mut sort = SortScratch {
            keys: &mut scratch.keys,
            sorted: &mut scratch.sorted,
            packets: &mut scratch.packets,
            bucket_shift: self.bucket_shift,
        };
        for &port in &by_port.some {
            let list = &mut by_port.lists[usize::from(port)];
            // SAFETY: packets live until the pool recycles, after this call, and each is in one list.
            last = last.max(unsafe { by_moment(list, clock.start, &mut sort) });
            hops += list.len() as u64;
            at.switch
                .hand_over(port, Arrivals(list.iter()), clock.end, out);
            list.clear();
        }
        (scratch.log.hops, scratch.log.last_hop) = (scratch.log.hops + hops, last);
        if !by_port.astray.is_empty() {
            let lost = lose_astray(at, by_port, out);
            scratch.log.hops += lost.0;
            scratch.log.last_hop = last.max(lost.1);
        }
        by_port.some.clear();
        Some(left.min(at.switch.commit_before(clock.end, out)))
    }

    /// The same for packets that were taken and are in order, with the ports by which they came.
    pub(crate) fn run_taken(
        &self,
        at: &mut SwitchNode,
        clock: Clock,
        taken: impl Iterator<Item = (*mut Packet, u16)>,
        by_port: &mut ByPort,
        out: &mut Out<'_, '_>,
    ) -> Option<Time> {
        let view = self.world.ways.of(at.id, &mut at.epoch, clock.start);
        if view.until < clock.end {
            return None;
        }
        by_port.make_room(at);
        for (packet, port) in taken {
            // SAFETY: packets live until the pool recycles.
            unsafe { by_port.put(at, &view, || port, packet) };
        }
        for port in by_port.some.drain(..) {
            let list = &mut by_port.lists[usize::from(port)];
            at.switch
                .hand_over(port, Arrivals(list.iter()), clock.end, out);
            list.clear();
        }
        lose_astray(at, by_port, out);
        Some(at.switch.commit_before(clock.end, out))
    }
}

/// Counts the packets that went no further. Returns how many there were, and when the last of them came.
#[cold]
#[inline(never)]
fn lose_astray(at: &mut SwitchNode, by_port: &mut ByPort, out: &mut Out<'_, '_>) -> (u64, Time) {
    let (mut lost, mut last) = (0, Time::ZERO);
    for (ingress, packet, why) in by_port.astray.drain(..) {
        // SAFETY: packets live until the pool recycles.
        let packet = unsafe { &*packet };
        (lost, last) = (lost + 1, last.max(packet.at));
        at.switch.lose_astray(ingress, packet, why, out);
    }
    (lost, last)
}
