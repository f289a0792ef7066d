//! A FIFO of packets for the per-packet path: a ring whose length is a power of two.

use model::Packet;

/// Places of a queue that has held a packet. [ours]
const PLACES_MIN: usize = 16;

/// Packets, first in, first out. Its bound is the caller's.
#[derive(Clone, Debug, Default)]
pub struct PacketQueue {
    /// A power of two of places, or none.
    places: Vec<Packet>,
    /// Packets ever taken, and ever put in: positions in the ring, modulo its length.
    taken: usize,
    put: usize,
}

impl PacketQueue {
    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken)
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.put == self.taken
    }

    /// Adds a packet at the end.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let at = self.put & (self.places.len() - 1);
        self.places[at] = packet;
        self.put = self.put.wrapping_add(1);
    }

    /// Adds a packet at the end unless `most` wait there; false where it was dropped.
    #[inline]
    pub fn offer(&mut self, packet: Packet, most: usize) -> bool {
        let room = self.len() < most;
        if room {
            self.push(packet);
        }
        room
    }

    /// The first packet.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        if self.is_empty() {
            return None;
        }
        self.places
            .get(self.taken & self.places.len().wrapping_sub(1))
    }

    /// Moves the first packet to `out`; false where there is none.
    #[inline]
    pub fn pop(&mut self, out: &mut Packet) -> bool {
        let Some(first) = self.front() else {
            return false;
        };
        *out = *first;
        self.taken = self.taken.wrapping_add(1);
        true
    }

    /// Every packet, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len()).map(|n| &self.places[self.taken.wrapping_add(n) & (self.places.len() - 1)])
    }

    #[cold]
    fn grow(&mut self) {
        let mut places: Vec<_> = self.iter().copied().collect();
        (self.taken, self.put) = (0, places.len());
        places.resize((2 * places.len()).max(PLACES_MIN), Packet::EMPTY);
        self.places = places;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Class, ConnId, HostId, Rng, stream};
    use std::collections::VecDeque;

    #[test]
    fn it_agrees_with_a_deque() {
        let (mut ours, mut theirs) = (PacketQueue::default(), VecDeque::new());
        let mut rng = Rng::stream(1, stream::TEST, 5);
        for n in 0..20_000u32 {
            // First more go in, then more go out, three times.
            if rng.below(10) < if n / 3000 % 2 == 0 { 6 } else { 4 } {
                let packet = Packet::new(HostId(0), ConnId(n), Class::Control, 0, 84);
                ours.push(packet);
                theirs.push_back(packet);
            } else {
                let mut out = Packet::EMPTY;
                let expected = theirs.pop_front();
                assert_eq!(ours.pop(&mut out).then_some(out), expected);
            }
            assert_eq!((ours.len(), ours.front()), (theirs.len(), theirs.front()));
            assert_eq!(ours.is_empty(), theirs.is_empty());
        }
        assert!(ours.iter().eq(theirs.iter()));
    }

    #[test]
    fn what_is_offered_beyond_the_most_is_dropped() {
        let mut queue = PacketQueue::default();
        let offers = [(0, false), (2, true), (2, true), (2, false), (3, true)];
        for (most, taken) in offers {
            assert_eq!(queue.offer(Packet::EMPTY, most), taken, "{most}");
        }
        assert_eq!(queue.len(), 3);
    }

    #[test]
    fn an_empty_queue_gives_nothing_and_a_full_one_doubles() {
        let mut queue = PacketQueue::default();
        let mut out = Packet::new(HostId(0), ConnId(99), Class::Control, 0, 84);
        assert!(!queue.pop(&mut out) && queue.front().is_none());
        assert_eq!(out.conn, ConnId(99), "what is there is left alone");
        for (n, places) in [(16, 16), (17, 32), (32, 32), (33, 64)] {
            while queue.len() < n {
                queue.push(Packet::EMPTY);
            }
            assert_eq!(queue.places.len(), places, "{n} packets");
        }
    }
}
