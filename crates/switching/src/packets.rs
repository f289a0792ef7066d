//! Packets that wait, the oldest first.

use model::Packet;

/// A ring of packets that grows. A [`VecDeque`](std::collections::VecDeque) would do, and cost a third more per
/// packet: its capacity is any number, and what it takes and gives goes through the stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    /// A power of two of places, or none.
    places: Box<[Packet]>,
    first: usize,
    len: usize,
}

impl Packets {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Packet> {
        (self.len > 0).then(|| &self.places[self.first & (self.places.len() - 1)])
    }

    #[inline]
    pub(crate) fn push_back(&mut self, packet: &Packet) {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = (self.first + self.len) & (self.places.len() - 1);
        self.places[place] = *packet;
        self.len += 1;
    }

    /// Moves the oldest to `out`; false where none waits.
    #[inline]
    pub(crate) fn pop_front(&mut self, out: &mut Packet) -> bool {
        let Some((oldest, _)) = self.take_front() else {
            return false;
        };
        *out = *oldest;
        true
    }

    /// Takes out the oldest, where it lies, and says how many are left; none where none waits.
    #[inline]
    pub(crate) fn take_front(&mut self) -> Option<(&mut Packet, usize)> {
        if self.len == 0 {
            return None;
        }
        let place = self.first & (self.places.len() - 1);
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        Some((&mut self.places[place], self.len))
    }

    /// Takes out the youngest.
    pub(crate) fn pop_back(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        Some(self.places[self.place(self.len)])
    }

    /// Takes out the one before which `before` wait.
    pub(crate) fn remove(&mut self, before: usize) -> Option<Packet> {
        if before >= self.len {
            return None;
        }
        let packet = self.places[self.place(before)];
        for at in before + 1..self.len {
            self.places[self.place(at - 1)] = self.places[self.place(at)];
        }
        self.len -= 1;
        Some(packet)
    }

    fn place(&self, before: usize) -> usize {
        (self.first + before) & (self.places.len() - 1)
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len).map(|before| &self.places[self.place(before)])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut places = Vec::with_capacity((2 * self.len).max(8));
        places.extend(self.iter());
        places.resize((2 * self.len).max(8), Packet::EMPTY);
        (self.places, self.first) = (places.into(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ConnId;

    #[test]
    fn they_leave_in_the_order_in_which_they_came_while_the_ring_grows() {
        let (mut packets, mut next, mut due) = (Packets::default(), 0u32, 0u32);
        let mut out = Packet::EMPTY;
        for round in 0..200u32 {
            for _ in 0..round % 23 {
                let mut packet = Packet::EMPTY;
                packet.conn = ConnId(next);
                packets.push_back(&packet);
                next += 1;
            }
            assert!(packets.iter().map(|p| p.conn.0).eq(due..next));
            for _ in 0..round % 19 {
                assert_eq!(
                    packets.front().map(|p| p.conn.0),
                    (due < next).then_some(due)
                );
                let popped = packets.pop_front(&mut out);
                assert_eq!(popped, due < next);
                if popped {
                    assert_eq!(out.conn.0, due);
                    due += 1;
                }
            }
            assert_eq!(packets.len(), (next - due) as usize);
        }
        assert!(
            due > 1000 && packets.places.len() >= 64,
            "the ring grew and turned"
        );
    }
}
