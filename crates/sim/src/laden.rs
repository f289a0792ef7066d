//! The slow way through a node: where its links are faulty, or something travels beside packets.

use crate::beside::{Carrying, Companion, Due, HostLine, Lines};
use crate::book::Book;
use crate::clock::Clock;
use crate::engine::{Net, Out};
use crate::host::{Arriving, Host};
use crate::node::{Kind, Log, Node};
use crate::ring::Pool;
use crate::trace::Traced;
use model::{HostId, Packet};
use std::collections::VecDeque;
use switching::{Loss, Outlet};
use units::Time;

/// Lines of a node whose packets may carry something beside them.
pub(crate) struct Laden<'n, 'a> {
    pub(crate) out: Out<'n, 'a>,
    pub(crate) pool: &'n mut Pool<Companion>,
}

impl Outlet for Laden<'_, '_> {
    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        self.out.send(link, packet, at);
    }

    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        self.out.lost(at, packet, why);
    }

    fn sender(&self, packet: &Packet) -> Option<HostId> {
        self.out.sender(packet)
    }
}

impl Lines for Laden<'_, '_> {
    fn send_beside(&mut self, link: u32, beside: &Companion, at: Time) {
        let ring = self.out.net.beside.get(link as usize);
        let ring = ring.expect("nothing is beside a packet where the setup does not say so");
        // SAFETY: a link is fed by one node, which this thread runs. Its receiver is told of the packet.
        unsafe { ring.push(self.pool, beside, at) };
    }
}

impl HostLine for Out<'_, '_> {}

impl Arriving for Due {
    fn plain(&self) -> Option<&Packet> {
        None
    }

    fn arrive(mut self, now: Time, host: &mut Host, book: &Book<'_>, log: &mut Log) {
        host.arrive_with(now, &mut self.packet, self.beside.as_deref(), book, log);
    }
}

impl Net<'_> {
    /// Runs one node to the end of the window; returns when it must be looked at next.
    #[inline(never)] // the fast way needs the registers
    pub(crate) fn run_laden(
        &self,
        node: &mut Node,
        clock: Clock,
        due: &mut Vec<Due>,
        log: &mut Log,
        out: &mut Laden<'_, '_>,
    ) -> Time {
        let mut next = self.gather_laden(node, clock, due, log, out);
        if let Some(faults) = &mut node.faults {
            faults.due(clock.end, due);
            next = next.min(faults.next());
        } else {
            due.sort_by_key(|due| (due.packet.at, due.port)); // stable
        }
        log.hops += due.len() as u64;
        if let Some(last) = due.last() {
            log.last_hop = log.last_hop.max(last.packet.at);
        }
        if self.noted() {
            for due in due.iter() {
                let from = node.kind.ingress(due.port.into());
                let came = (from, due.port);
                self.note(out.out.thread, &mut node.digest, came, &due.packet);
                if let (true, Some(beside)) = (self.digest, &due.beside) {
                    node.digest.note_beside(beside);
                }
            }
        }
        let Node { kind, records, .. } = node;
        let mut out = Carrying { out, records };
        match kind {
            Kind::Host(host) => {
                let timed = due.drain(..).map(|due| (due.packet.at, due));
                next.min(host.run(timed, clock.end, &self.world.book, log, &mut out))
            }
            Kind::Switch(at) => {
                for place in 0..due.len() {
                    let later = due.get(place + 1).map(|later| later.packet.at);
                    let one = &mut due[place];
                    let (ingress, now) = (one.port, one.packet.at);
                    let view = self.world.ways.of(at.id, &mut at.epoch, now);
                    out.records
                        .keep(&mut one.packet, ingress, one.beside.as_deref());
                    let alone = || later != Some(now);
                    at.switch
                        .arrive(now, ingress, &mut one.packet, alone, &view, &mut out);
                }
                next.min(at.switch.commit_before(clock.end, &mut out))
            }
        }
    }

    /// Collects what arrives at a node before the end of the window, with what is beside it, into `due`, or hands
    /// it to the node's faults. Returns the arrival of the first packet that stays.
    fn gather_laden(
        &self,
        node: &mut Node,
        clock: Clock,
        due: &mut Vec<Due>,
        log: &mut Log,
        out: &mut Laden<'_, '_>,
    ) -> Time {
        let mut next = Time::NEVER;
        let degree = match &node.kind {
            Kind::Host(_) => 1,
            Kind::Switch(at) => at.switch.ports.len(),
        };
        due.clear();
        let (mut laden, mut lost) = (VecDeque::new(), Vec::new());
        for port in 0..degree {
            let ingress = node.kind.ingress(port);
            let index = u16::try_from(port).expect("a switch has at most 65,535 ports");
            if let Some(ring) = self.beside.get(ingress.index()) {
                let mut keep = |beside: *mut Companion| {
                    // SAFETY: what is taken is copied at once, before the pool recycles.
                    laden.push_back(unsafe { *beside });
                };
                // SAFETY: this thread runs the receiving node.
                unsafe { ring.take_before(clock.end, out.pool, &mut keep) };
            }
            let faults = &mut node.faults;
            let mut take = |packet: *mut Packet| {
                // SAFETY: the same.
                let packet = unsafe { *packet };
                let beside = packet.carries().then(|| laden.pop_front()).flatten();
                let one = Due {
                    port: index,
                    packet,
                    beside: beside.map(Box::new),
                };
                match faults {
                    None => due.push(one),
                    Some(faults) => {
                        if !faults.offer(&one) {
                            lost.push(one.packet);
                        }
                    }
                }
            };
            let ring = &self.rings[ingress.index()];
            // SAFETY: the same.
            let stays = unsafe { ring.take_before(clock.end, out.out.pool, &mut take) };
            debug_assert!(laden.is_empty(), "each belongs to a packet");
            for packet in lost.drain(..) {
                log.last = log.last.max(packet.at);
                out.out.trace(packet.at, &packet, Traced::Lost(ingress));
            }
            next = next.min(stays.unwrap_or(Time::NEVER));
        }
        next
    }
}
