//! What a host keeps of each other host: the credit it has of us, the credit we have of it.

use super::caps::Caps;
use super::settings::Settings;
use model::{ConnId, ConnMap, HostId};
use parts::slab::Slab;
use std::ops::{Index, IndexMut};

/// Another host. Sizes are wire bytes.
#[derive(Debug)]
pub(super) struct Peer {
    id: HostId,
    /// Connections with it.
    conns: u32,
    /// Credit of ours that it has, or of which data is on its way, and how much that may be.
    pub(super) used: u64,
    pub(super) caps: Caps,
    /// Credit of its that we have, what may leave unasked included.
    pub(super) unspent: u64,
}

impl Peer {
    /// Whether it may have credit for another frame.
    #[inline]
    pub(super) fn is_open(&self, settings: &Settings) -> bool {
        self.used + settings.frame <= settings.pair && self.used as f64 <= self.caps.bytes()
    }
}

/// All of them, by place.
#[derive(Debug, Default)]
pub(super) struct Peers {
    slots: Slab<Peer>,
    /// By number, which stands for that of a connection.
    slot_of: ConnMap,
}

impl Peers {
    /// One more connection with a host: its place.
    pub(super) fn join(&mut self, id: HostId, settings: &Settings) -> u32 {
        let slot = self.slot_of.get(ConnId(id.0)).unwrap_or_else(|| {
            let slot = self.slots.insert(Peer {
                id,
                conns: 0,
                used: 0,
                caps: Caps::new(&settings.law),
                unspent: 0,
            });
            self.slot_of.insert(ConnId(id.0), slot);
            slot
        });
        self.slots[slot].conns += 1;
        slot
    }

    /// One connection less: it is forgotten with the last, unless its shares are worth keeping.
    pub(super) fn leave(&mut self, slot: u32, settings: &Settings) {
        let peer = &mut self.slots[slot];
        peer.conns -= 1;
        if peer.conns == 0 && peer.caps.is_fresh(&settings.law) {
            self.slot_of.remove(ConnId(peer.id.0));
            self.slots.remove(slot);
        }
    }

    /// Panics where an invariant is broken.
    pub(super) fn check(&self, turn: u64, settings: &Settings) {
        for peer in self.slots.sample(turn, 8) {
            peer.caps.check(&settings.law);
            assert!(
                peer.conns > 0 || (peer.used, peer.unspent) == (0, 0),
                "{peer:?}"
            );
        }
    }
}

impl Index<u32> for Peers {
    type Output = Peer;
    #[inline]
    fn index(&self, slot: u32) -> &Peer {
        &self.slots[slot]
    }
}
impl IndexMut<u32> for Peers {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Peer {
        &mut self.slots[slot]
    }
}
