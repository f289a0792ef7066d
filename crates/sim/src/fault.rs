//! What breaks, applied by the node that receives: a frame's whole flight is known by then.
//!
//! The sender's port stays as it is, so a FIFO may promise departures even on a faulty link.

use crate::beside::{Companion, Due};
use crate::setup::{Fault, FaultKind};
use model::{ByClass, Packet, Rng, stream};
use std::collections::BTreeMap;
use std::sync::Arc;
use topology::{Link, Routes, Topology};
use units::{LineTime, Span, Time};

/// Faults of one link, at its receiving end.
struct LinkFaults {
    link: u32,
    line: LineTime,
    delay: Span,
    faults: Vec<Fault>,
    rng: Rng,
    lost: ByClass<u64>,
    copied: ByClass<u64>,
}

/// Arrival, port, and order of coming.
type Coming = (Time, u16, u64);

/// Faults of all links into one node, and the packets they hold back.
pub(crate) struct NodeFaults {
    /// By ingress port.
    links: Vec<Option<LinkFaults>>,
    /// Packets on their way in.
    pending: BTreeMap<Coming, (Packet, Option<Box<Companion>>)>,
    offered: u64,
}

impl LinkFaults {
    fn new(number: u32, link: &Link, faults: Vec<Fault>, seed: u64) -> Self {
        Self {
            link: number,
            line: LineTime::new(link.rate),
            delay: link.delay,
            faults,
            rng: Rng::stream(seed, stream::FAULT, u64::from(number)),
            lost: ByClass::default(),
            copied: ByClass::default(),
        }
    }

    /// What becomes of `packet`: its arrival, if it arrives, and that of its copy, if there is one.
    fn judge(&mut self, packet: &Packet) -> (Option<Time>, Option<Time>) {
        let on_line = self.delay + self.line.of(u64::from(packet.size));
        let left = Time(packet.at.0.saturating_sub(on_line.0));
        let (mut at, mut copy) = (packet.at, None);
        for fault in &mut self.faults {
            let touched = left < fault.until && packet.at > fault.from;
            let lost = touched
                && match &mut fault.kind {
                    FaultKind::Down { .. } => true,
                    FaultKind::Loss { ppb, only, most } => {
                        let hit = *most != Some(0)
                            && only.is_none_or(|class| class == packet.class())
                            && self.rng.chance_ppb(*ppb);
                        if let Some(left) = most {
                            *left -= u64::from(hit);
                        }
                        hit
                    }
                    FaultKind::Corrupt { ppb } => self.rng.chance_ppb(*ppb),
                    FaultKind::Duplicate { ppb } => {
                        if self.rng.chance_ppb(*ppb) {
                            copy = Some(at + Span(1));
                        }
                        false
                    }
                    FaultKind::Reorder { ppb, by } => {
                        if self.rng.chance_ppb(*ppb) {
                            at += Span(self.rng.below(by.0.max(1)));
                        }
                        false
                    }
                };
            if lost {
                self.lost[packet.class()] += 1;
                return (None, None);
            }
        }
        self.copied[packet.class()] += u64::from(copy.is_some());
        (Some(at), copy)
    }
}

impl NodeFaults {
    /// The faults of the links into the node whose egress links are `ports`, if there are any;
    /// `faults` are sorted by link.
    pub(crate) fn new(
        topology: &Topology,
        ports: &[topology::LinkId],
        faults: &[Fault],
        seed: u64,
    ) -> Option<Box<Self>> {
        let faulty = |port: &topology::LinkId| {
            let ingress = port.reverse();
            let first = faults.partition_point(|fault| fault.link < ingress);
            topology.link(ingress).loss_ppb > 0
                || faults.get(first).is_some_and(|fault| fault.link == ingress)
        };
        if !ports.iter().any(faulty) {
            return None;
        }
        let links = ports
            .iter()
            .map(|port| {
                let ingress = port.reverse();
                let link = topology.link(ingress);
                let first = faults.partition_point(|fault| fault.link < ingress);
                let after = faults[first..].partition_point(|fault| fault.link == ingress);
                let mut own = faults[first..first + after].to_vec();
                if link.loss_ppb > 0 {
                    let kind = FaultKind::Loss {
                        ppb: link.loss_ppb,
                        only: None,
                        most: None,
                    };
                    own.push(Fault {
                        link: ingress,
                        from: Time::ZERO,
                        until: Time::NEVER,
                        kind,
                    });
                }
                (!own.is_empty()).then(|| LinkFaults::new(ingress.0, link, own, seed))
            })
            .collect();
        Some(Box::new(Self {
            links,
            pending: BTreeMap::new(),
            offered: 0,
        }))
    }

    /// A packet is about to arrive. Returns whether it does; a copy takes along what is beside it.
    pub(crate) fn offer(&mut self, due: &Due) -> bool {
        let (port, packet) = (due.port, &due.packet);
        let (at, copy) = match &mut self.links[usize::from(port)] {
            Some(link) => link.judge(packet),
            None => (Some(packet.at), None),
        };
        for at in at.into_iter().chain(copy) {
            let mut packet = *packet;
            packet.at = at;
            let beside = due.beside.clone();
            self.pending
                .insert((at, port, self.offered), (packet, beside));
            self.offered += 1;
        }
        at.is_some()
    }

    /// Takes what arrives before `end`, in order, with its port.
    pub(crate) fn due(&mut self, end: Time, due: &mut Vec<Due>) {
        while let Some(entry) = self
            .pending
            .first_entry()
            .filter(|entry| entry.key().0 < end)
        {
            let port = entry.key().1;
            let (packet, beside) = entry.remove();
            due.push(Due {
                port,
                packet,
                beside,
            });
        }
    }

    /// When the next packet that was held back arrives.
    pub(crate) fn next(&self) -> Time {
        self.pending
            .first_key_value()
            .map_or(Time::NEVER, |(key, _)| key.0)
    }

    /// Lost and copied packets of each faulty link, by class.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, ByClass<u64>, ByClass<u64>)> {
        self.links
            .iter()
            .flatten()
            .map(|link| (link.link, link.lost, link.copied))
    }

    /// Packets held back, by class.
    pub(crate) fn held(&self) -> ByClass<u64> {
        let mut held = ByClass::default();
        for (packet, _) in self.pending.values() {
            held[packet.class()] += 1;
        }
        held
    }
}

/// The routing tables of a run: one from the start, one more whenever a link goes or comes back.
pub(crate) fn epochs(
    topology: &Topology,
    whole: &Arc<Routes>,
    faults: &[Fault],
) -> Vec<(Time, Arc<Routes>)> {
    let outages: Vec<_> = faults
        .iter()
        .filter_map(|fault| match fault.kind {
            FaultKind::Down { detect } => Some((
                fault.link,
                fault.from.after(detect),
                fault.until.after(detect),
            )),
            FaultKind::Loss { .. }
            | FaultKind::Corrupt { .. }
            | FaultKind::Duplicate { .. }
            | FaultKind::Reorder { .. } => None,
        })
        .collect();
    let mut moments: Vec<_> = outages
        .iter()
        .flat_map(|&(_, from, until)| [from, until])
        .collect();
    moments.push(Time::ZERO);
    moments.retain(|&at| at < Time::NEVER);
    moments.sort_unstable();
    moments.dedup();
    moments
        .into_iter()
        .map(|at| {
            let down: Vec<_> = outages
                .iter()
                .filter(|&&(_, from, until)| from <= at && at < until)
                .map(|&(link, ..)| link)
                .collect();
            let routes = if down.is_empty() {
                Arc::clone(whole)
            } else {
                Arc::new(Routes::new(topology, &down))
            };
            (at, routes)
        })
        .collect()
}
