//! The fast way through a switch whose ports have nothing to do with each other: its packets by the port that leads on.

use crate::arrivals::{FEW, is_many};
use crate::clock::Clock;
use crate::engine::{Net, Out};
use crate::node::{Kind, Node, SwitchNode};
use crate::sort::by_moment;
use crate::ways::View;
use crate::worker::Scratch;
use model::{DropReason, Packet};
use std::hint::cold_path;
use std::mem::MaybeUninit;
use switching::Apart;
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
    /// All of them in the order in which they were taken, where ports are apart [unless they are
    /// full](Apart::UnlessFull).
    all: Vec<*mut Packet>,
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
                    cold_path(); // once per port and window
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

    /// Whether a port may send one of these packets back by another.
    #[inline]
    fn may_bounce(&self, at: &SwitchNode) -> bool {
        let mut some = self.some.iter();
        some.any(|&port| {
            let more = self.lists[usize::from(port)].len();
            at.switch.may_bounce(port, more)
        })
    }

    /// Hands all packets to their ports one by one, in the order of time and, at one moment, that in which they were taken.
    /// Returns how many there were, and when the last of them came.
    #[cold]
    #[inline(never)]
    fn one_by_one(
        &mut self,
        at: &mut SwitchNode,
        view: &View<'_>,
        out: &mut Out<'_, '_>,
    ) -> (u64, Time) {
        let mut each = Vec::with_capacity(self.all.len());
        for port in self.some.drain(..) {
            // A list keeps the order of all.
            let mut list = self.lists[usize::from(port)].drain(..).peekable();
            for (place, packet) in self.all.iter().enumerate() {
                if list.next_if_eq(packet).is_some() {
                    // SAFETY: packets live until the pool recycles.
                    each.push((unsafe { (**packet).at }, place, port));
                }
            }
        }
        each.sort_unstable();
        for (n, &(moment, place, port)) in each.iter().enumerate() {
            let alone = each.get(n + 1).is_none_or(|next| next.0 != moment);
            // SAFETY: packets live until the pool recycles, and each is in the list once.
            let packet = unsafe { &mut *self.all[place] };
            at.switch.arrive_at(port, packet, alone, view, out);
        }
        let last = each.last().map_or(Time::ZERO, |last| last.0);
        (each.len() as u64, last)
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, ingress: u16, packet: *mut Packet, why: DropReason) {
        self.astray.push((ingress, packet, why));
    }
}

/// Packets that are few. [ours: 8, 12 and 16 tried]
const FEW_PACKETS: usize = 12;

/// A few packets with the ports by which they came, in the order of time and, at one moment, that in which they were taken.
struct Few {
    /// The first `count` are there.
    packets: [MaybeUninit<(*mut Packet, u16)>; FEW_PACKETS],
    count: usize,
}

impl Few {
    /// Adds one more; there is room.
    #[inline(always)]
    fn put(&mut self, ingress: u16, packet: *mut Packet) {
        let mut place = self.count;
        // SAFETY: packets live until the pool recycles.
        let moment = |packet: *mut Packet| unsafe { (*packet).at };
        while let Some(before) = place.checked_sub(1)
            // SAFETY: those before `count` are there.
            && moment(unsafe { self.packets[before].assume_init_ref() }.0) > moment(packet)
        {
            self.packets[place] = self.packets[place - 1];
            place -= 1;
        }
        self.packets[place].write((packet, ingress));
        self.count += 1;
    }

    /// All of them.
    #[inline(always)]
    fn all(&self) -> &[(*mut Packet, u16)] {
        // SAFETY: the first `count` were written.
        unsafe { self.packets[..self.count].assume_init_ref() }
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
    /// Runs a switch whose ports are `apart` by the way that is shortest for what comes, as [`Net::run_apart`] does.
    #[inline(always)] // once per node and window
    pub(crate) fn run_ports(
        &self,
        apart: Apart,
        node: &mut Node,
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Option<Time> {
        if node.takes_few
            && let Some(next) = self.run_few(node, clock, scratch, out)
        {
            return Some(next);
        }
        match apart {
            Apart::UnlessFull => self.run_apart::<true>(node, clock, scratch, out),
            _ => self.run_apart::<false>(node, clock, scratch, out),
        }
    }

    /// Runs a switch to which few links bring few packets: no list by port is needed for them. Returns when the switch must be
    /// looked at next; none where more or nothing waits, or a table of routes ends in the window. Then nothing has happened.
    #[inline(never)] // it needs few registers, and what comes after it many
    pub(crate) fn run_few(
        &self,
        node: &mut Node,
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Option<Time> {
        let Kind::Switch(at) = &mut node.kind else {
            unreachable!("hosts have no choice of ports")
        };
        let left = node.left.few();
        *left |= out.take_news(self.news_of[out.node as usize] as usize);
        let fresh = *left;
        if is_many(fresh) {
            return None;
        }
        let view = self.world.ways.of(at.id, &mut at.epoch, clock.start);
        if view.until < clock.end {
            cold_path();
            return None;
        }
        if fresh.is_power_of_two() && !clock.keep {
            let next = self.run_one(at, left, &view, clock.end, scratch, out);
            if next.is_some() {
                return next;
            }
        }
        let mut waiting = 0;
        let mut links = fresh;
        while links != 0 {
            let ring = &self.rings[at.ingress[links.trailing_zeros() as usize] as usize];
            // SAFETY: this thread runs the receiving node.
            waiting += unsafe { ring.waiting() };
            links &= links - 1;
        }
        if waiting == 0 || waiting > FEW_PACKETS {
            return None;
        }
        *left = if clock.keep { fresh } else { 0 };
        let mut few = Few {
            packets: [const { MaybeUninit::uninit() }; FEW_PACKETS],
            count: 0,
        };
        let mut next = Time::NEVER;
        let mut links = fresh;
        while links != 0 {
            let ingress = links.trailing_zeros() as usize;
            let ring = &self.rings[at.ingress[ingress] as usize];
            #[allow(clippy::cast_possible_truncation, reason = "below 64")]
            // SAFETY: this thread runs the receiving node, and packets live until the pool recycles.
            let stays = unsafe {
                ring.take_before(clock.end, out.pool, |packet| {
                    few.put(ingress as u16, packet);
                })
            };
            if let Some(at) = stays {
                *left |= links & links.wrapping_neg();
                next = next.min(at);
            }
            links &= links - 1;
        }
        let mut all = few.all().iter();
        while let Some(&(packet, ingress)) = all.next() {
            // SAFETY: packets live until the pool recycles, after this call, and each is there once.
            let packet = unsafe { &mut *packet };
            let later = all.as_slice().first();
            // SAFETY: the same.
            let alone = later.is_none_or(|&(later, _)| unsafe { (*later).at } != packet.at);
            scratch.log.last_hop = scratch.log.last_hop.max(packet.at);
            match at.switch.lead(packet, &view) {
                Ok(port) => at.switch.arrive_at(port, packet, alone, &view, out),
                Err(why) => at.switch.lose_astray(ingress, packet, why, out),
            }
        }
        scratch.log.hops += few.count as u64;
        Some(next.min(at.switch.commit_before(clock.end, out)))
    }

    /// The same for a switch to which the link in `left` alone brings one packet alone.
    #[inline(always)] // from one place
    fn run_one(
        &self,
        at: &mut SwitchNode,
        left: &mut u64,
        view: &View<'_>,
        end: Time,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Option<Time> {
        let ingress = left.trailing_zeros();
        let ring = &self.rings[at.ingress[ingress as usize] as usize];
        // SAFETY: this thread runs the receiving node, and packets live until the pool recycles, after this call.
        let packet = unsafe { &mut *ring.take_only(end, out.pool)? };
        *left = 0;
        scratch.log.hops += 1;
        scratch.log.last_hop = scratch.log.last_hop.max(packet.at);
        match at.switch.lead(packet, view) {
            Ok(port) => at.switch.arrive_at(port, packet, true, view, out),
            #[allow(clippy::cast_possible_truncation, reason = "below 64")]
            Err(why) => at.switch.lose_astray(ingress as u16, packet, why, out),
        }
        Some(at.switch.commit_before(end, out))
    }

    /// Runs a switch to the end of the window; returns when it must be looked at next. None where a table of routes
    /// ends in the window, or where so little has come that one by one is sooner: then nothing has happened.
    #[inline(never)] // it needs the registers
    pub(crate) fn run_apart<const MAY_BOUNCE: bool>(
        &self,
        node: &mut Node,
        clock: Clock,
        scratch: &mut Scratch,
        out: &mut Out<'_, '_>,
    ) -> Option<Time> {
        let Kind::Switch(at) = &mut node.kind else {
            unreachable!("hosts have no choice of ports")
        };
        if MAY_BOUNCE && !self.has_many(out.node, node.left.words()) {
            return None;
        }
        let view = self.world.ways.of(at.id, &mut at.epoch, clock.start);
        if view.until < clock.end {
            return None;
        }
        let by_port = &mut scratch.by_port;
        by_port.make_room(at);
        let left = self.each_fresh(
            out,
            clock.keep,
            node.left.words(),
            &at.ingress,
            |port, ring, out| {
                // SAFETY: this thread runs the receiving node, and packets live until the pool recycles.
                unsafe {
                    ring.take_before(clock.end, out.pool, |packet| {
                        if MAY_BOUNCE {
                            by_port.all.push(packet);
                        }
                        by_port.put(at, &view, || port, packet);
                    })
                }
            },
        );
        let (mut hops, mut last) = (0, scratch.log.last_hop);
        let mut room = scratch.inbox.room(self.bucket_shift);
        if by_port.some.len() > FEW {
            for &port in &by_port.some {
                at.switch.fetch(port);
            }
        }
        if MAY_BOUNCE && by_port.may_bounce(at) {
            let came = by_port.one_by_one(at, &view, out);
            (hops, last) = (came.0, last.max(came.1));
        }
        for &port in &by_port.some {
            let list = &mut by_port.lists[usize::from(port)];
            // SAFETY: packets live until the pool recycles, after this call, and each is in one list.
            last = last.max(unsafe { by_moment(list, clock.start, &mut room) });
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
        by_port.all.clear();
        Some(left.min(at.switch.commit_before(clock.end, out)))
    }

    /// The same for packets that were taken and are in order, with the ports by which they came.
    pub(crate) fn run_taken(
        &self,
        (at, apart): (&mut SwitchNode, Apart),
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
            by_port.all.push(packet);
            // SAFETY: packets live until the pool recycles.
            unsafe { by_port.put(at, &view, || port, packet) };
        }
        if apart == Apart::UnlessFull && by_port.may_bounce(at) {
            by_port.one_by_one(at, &view, out);
        }
        for port in by_port.some.drain(..) {
            let list = &mut by_port.lists[usize::from(port)];
            at.switch
                .hand_over(port, Arrivals(list.iter()), clock.end, out);
            list.clear();
        }
        by_port.all.clear();
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
