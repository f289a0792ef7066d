//! What travels beside packets, in runs that have any: records of their transports, tags of links.
//!
//! On a link it is in a ring of its own, in the order of the packets that carry something; in a node its record is
//! in a list of the node's, and the packet holds the place ([`Local`]).

use crate::ring::Slot;
use model::{Hop, HostId, Local, Packet, Record};
use switching::{Loss, Outlet};
use units::Time;

/// What travels beside one packet on one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Companion {
    at: Time,
    pub(crate) tag: u16,
    pub(crate) record: Record,
}

impl Slot for Companion {
    const EMPTY: Self = Self {
        at: Time::ZERO,
        tag: 0,
        record: Record::EMPTY,
    };
    fn at(&self) -> Time {
        self.at
    }
    fn set_at(&mut self, at: Time) {
        self.at = at;
    }
}

/// A packet that is about to arrive by a port, with what is beside it.
pub(crate) struct Due {
    pub(crate) port: u16,
    pub(crate) packet: Packet,
    pub(crate) beside: Option<Box<Companion>>,
}

/// Records of the packets that wait in one node: never more than there are packets.
#[derive(Default)]
pub(crate) struct Records {
    records: Vec<Record>,
    free: Vec<u32>,
}

impl Records {
    /// Notes in `packet`, which has come by port `ingress`, what a switch has to know of it here.
    pub(crate) fn keep(&mut self, packet: &mut Packet, ingress: u16, beside: Option<&Companion>) {
        let mut local = Local {
            ingress,
            tag: beside.map_or(0, |beside| beside.tag),
            record: 0,
        };
        if packet.has_record() {
            let record = beside.map_or(Record::EMPTY, |beside| beside.record);
            local.record = self.put(record);
        }
        local.put(packet);
    }

    /// Keeps the record of a packet of this node's own.
    fn keep_own(&mut self, packet: &mut Packet, record: Record) {
        let record = self.put(record);
        let local = Local {
            record,
            ..Local::default()
        };
        local.put(packet);
    }

    fn put(&mut self, record: Record) -> u32 {
        if let Some(place) = self.free.pop() {
            self.records[place as usize] = record;
            return place;
        }
        self.records.push(record);
        u32::try_from(self.records.len() - 1).expect("fewer packets than that are in memory")
    }

    /// What goes with `packet`, which leaves. A record that was cut off with the payload goes nowhere.
    fn take(&mut self, packet: &Packet) -> Companion {
        let local = Local::of(packet);
        let mut beside = Companion {
            tag: local.tag,
            ..Companion::EMPTY
        };
        if packet.had_record() {
            self.free.push(local.record);
            if packet.has_record() {
                beside.record = self.records[local.record as usize];
            }
        }
        beside
    }

    /// How many packets here have one.
    pub(crate) fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }
}

/// Lines that take what is beside packets, too.
pub(crate) trait Lines: Outlet {
    /// Hands over what is beside the next packet on `link`.
    fn send_beside(&mut self, link: u32, beside: &Companion, at: Time);
}

/// The line of a host.
pub(crate) trait HostLine: Outlet {
    /// Keeps the record of a packet of the host's own.
    fn keep_own(&mut self, packet: &mut Packet, record: Record) {
        let _ = (packet, record);
    }
}

impl<O: Lines> HostLine for Carrying<'_, O> {
    fn keep_own(&mut self, packet: &mut Packet, record: Record) {
        self.records.keep_own(packet, record);
    }
}

/// An outlet of a node that keeps records.
pub(crate) struct Carrying<'o, O> {
    pub(crate) out: &'o mut O,
    pub(crate) records: &'o mut Records,
}

impl<O: Lines> Outlet for Carrying<'_, O> {
    const CARRIES: bool = true;

    fn add(&mut self, packet: &Packet, hop: &Hop) {
        self.records.records[Local::of(packet).record as usize].add(hop);
    }

    fn send(&mut self, link: u32, packet: &Packet, at: Time) {
        if !packet.carries() {
            self.out.send(link, packet, at);
            return;
        }
        let beside = self.records.take(packet);
        let mut packet = *packet;
        packet.settle_record();
        if packet.carries() {
            self.out.send_beside(link, &beside, at);
        }
        self.out.send(link, &packet, at);
    }

    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        if packet.had_record() {
            self.records.take(packet);
        }
        self.out.lost(at, packet, why);
    }

    fn sender(&self, packet: &Packet) -> Option<HostId> {
        self.out.sender(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Class, ConnId};
    use units::Rate;

    /// Takes what comes.
    #[derive(Default)]
    struct Taken(Vec<(Packet, Option<Companion>)>, Option<Companion>);

    impl Outlet for Taken {
        fn send(&mut self, _: u32, packet: &Packet, _: Time) {
            self.0.push((*packet, self.1.take()));
        }
        fn sender(&self, _: &Packet) -> Option<HostId> {
            None
        }
    }
    impl Lines for Taken {
        fn send_beside(&mut self, _: u32, beside: &Companion, _: Time) {
            assert!(self.1.replace(*beside).is_none(), "one per packet");
        }
    }

    #[test]
    fn what_is_cut_loses_its_record_and_what_is_lost_leaves_none_behind() {
        let mut packet = Packet::new(HostId(1), ConnId(2), Class::Plain, 0, 1500);
        packet.set_record();
        packet.set_tagged(true);
        let came = Companion {
            tag: 7,
            record: Record::PATH,
            at: Time::ZERO,
        };
        let hop = Hop::new(Time(9_000), 640, 0, Rate::gbps(10));
        let (mut records, mut taken) = (Records::default(), Taken::default());
        let [mut whole, mut cut, mut lost] = [packet; 3];
        for packet in [&mut whole, &mut cut, &mut lost] {
            records.keep(packet, 5, Some(&came));
        }
        assert_eq!(
            (records.len(), Local::of(&cut).ingress, Local::of(&cut).tag),
            (3, 5, 7)
        );
        let mut out = Carrying {
            out: &mut taken,
            records: &mut records,
        };
        out.add(&whole, &hop);
        cut.trim(64);
        out.send(0, &cut, Time(1));
        cut.set_tagged(false);
        lost.trim(64);
        out.lost(Time(1), &lost, Loss::Switch(model::DropReason::Ttl));
        out.send(0, &whole, Time(2));
        assert_eq!(records.len(), 0);
        let [(cut, beside), (whole, path)] = &taken.0[..] else {
            panic!("{} packets", taken.0.len());
        };
        assert!(!cut.had_record() && cut.has_tag() && whole.has_record());
        assert_eq!(
            beside.map(|of| (of.tag, of.record)),
            Some((7, Record::EMPTY))
        );
        let hops: Vec<_> = path.iter().flat_map(|of| of.record.hops()).collect();
        assert_eq!(hops, [hop], "of its own and no other packet's");
    }
}
