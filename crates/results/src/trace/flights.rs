//! The events of one packet, put together: its way from node to node.
//!
//! Packets carry no number of their own. Packets of a connection whose heads are equal are told apart
//! by order: the first that came into a node is the first that left it. Where a network reorders such
//! twins, their times may be exchanged; no reader can tell, because they are equal.

use super::{Event, Network, What};
use model::{DropReason, Packet};
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// One link of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: u32,
    /// When its first bit went on the line.
    pub start: Time,
    /// When its last bit came in at the far end.
    pub at: Time,
    /// Bytes on the wire, which trimming makes fewer.
    pub size: u16,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reached its host.
    Arrived,
    /// It was dropped where it should have waited for this link.
    Dropped(u32, DropReason, Time),
    /// A fault took it on its last link.
    Lost,
    /// It was dropped at this node before a port was chosen.
    Stopped(u32, DropReason, Time),
    /// It was still under way, or what became of it lies outside of the trace.
    UnderWay,
}

/// One packet from its first link to its end.
#[derive(Clone, Debug)]
pub struct Flight {
    /// The packet as it came off its first link.
    pub packet: Packet,
    /// Its links, in order; never none.
    pub hops: Vec<Hop>,
    /// What became of it.
    pub fate: Fate,
    /// Whether a port marked it.
    pub marked: bool,
    /// Before which of its links its payload was cut off.
    pub trimmed: Option<u32>,
    /// A switch sent it back: it arrived where it came from.
    pub returned: bool,
}

impl Flight {
    /// The node that sent it: its host, where the trace has its beginning.
    pub fn from(&self, network: &Network) -> u32 {
        network.links[self.hops[0].link as usize].from
    }

    /// The host that it reaches, if it reaches one.
    pub fn goes_to(&self, network: &Network) -> u32 {
        if self.returned {
            self.from(network)
        } else {
            self.packet.to().0
        }
    }

    /// When its first bit left.
    pub fn sent(&self) -> Time {
        self.hops[0].start
    }

    /// When its last bit reached its host, if it did.
    pub fn arrived(&self) -> Option<Time> {
        (self.fate == Fate::Arrived).then(|| self.hops[self.hops.len() - 1].at)
    }
}

/// What tells packets apart besides their order: everything that no switch changes.
type Identity = (u32, u8, [u32; 3]);

fn identity(packet: &Packet) -> Identity {
    let [first, second, third] = packet.head;
    // Switches use up the number of a path; what the sender said stays in its upper half.
    let third = packet.path().map_or(third, u32::from);
    (packet.conn.0, packet.kind(), [first, second, third])
}

/// Puts events, in the order of their moments, together by packet. Flights come in the order in which
/// they first arrived anywhere.
pub fn flights(network: &Network, events: &[Event]) -> Vec<Flight> {
    let mut all: Vec<Flight> = Vec::new();
    // By node and identity: flights that came in and have not left.
    let mut present: BTreeMap<(u32, Identity), VecDeque<usize>> = BTreeMap::new();
    for Event { packet, what } in events {
        let at = packet.at;
        let mut leave = |node: u32, all: &[Flight]| {
            let twins = present.get_mut(&(node, identity(packet)))?;
            let came = |flight: usize| all[flight].hops.last().map(|hop| hop.at);
            let place = match *what {
                // Who leaves came before. The copy that a fault of the link makes never was here.
                What::Arrived(link) | What::Lost(link) => {
                    let left = network.start(link, packet, at);
                    twins.iter().position(|&twin| came(twin) <= Some(left))?
                }
                // A drop happens the moment the packet comes in; who else was dropped had waited longest.
                What::Dropped(..) | What::Stopped(..) => {
                    let same = |&twin: &usize| came(twin) == Some(at);
                    twins.iter().position(same).unwrap_or(0)
                }
            };
            twins.remove(place)
        };
        match *what {
            What::Arrived(link) | What::Lost(link) => {
                let ends = network.links[link as usize];
                let hop = Hop {
                    link,
                    start: network.start(link, packet, at),
                    at,
                    size: packet.size,
                };
                let flight = leave(ends.from, &all).unwrap_or_else(|| {
                    // It comes from its host, or a fault copied it, or the trace begins here.
                    all.push(Flight {
                        packet: *packet,
                        hops: Vec::new(),
                        fate: Fate::UnderWay,
                        marked: false,
                        trimmed: None,
                        returned: false,
                    });
                    all.len() - 1
                });
                let marked = packet.ecn() == model::Ecn::Marked;
                all[flight].hops.push(hop);
                all[flight].marked |= marked;
                if packet.trimmed() && all[flight].trimmed.is_none() {
                    all[flight].trimmed = Some(link);
                }
                all[flight].returned |= packet.bounced();
                if matches!(what, What::Lost(_)) {
                    all[flight].fate = Fate::Lost;
                } else if ends.to < network.hosts {
                    all[flight].fate = Fate::Arrived;
                } else {
                    let key = (ends.to, identity(packet));
                    present.entry(key).or_default().push_back(flight);
                }
            }
            What::Dropped(link, reason) => {
                if let Some(flight) = leave(network.links[link as usize].from, &all) {
                    all[flight].fate = Fate::Dropped(link, reason, at);
                }
            }
            What::Stopped(node, reason) => {
                if let Some(flight) = leave(node, &all) {
                    all[flight].fate = Fate::Stopped(node, reason, at);
                }
            }
        }
    }
    all
}
