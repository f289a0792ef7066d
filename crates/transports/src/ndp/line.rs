//! What a host's line takes next: answers and pulls, then messages in turns, or packets as they were released.

use super::host::{Conn, Host, URGENT};
use super::params::Order;
use super::sender::Sender;
use model::{Cx, Packet, Transmit};
use parts::turns::Turns;
use std::collections::VecDeque;

/// Messages of which a packet may leave, with their age.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// One entry for each of them.
    turns: Turns,
    /// One for each packet that was released: those that leave again, and the others.
    again: VecDeque<(u32, u32)>,
    new: VecDeque<(u32, u32)>,
}

/// What a message has in the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listed {
    /// Packets, or 1 where messages take turns; those among them that leave again.
    all: u64,
    again: u64,
}

impl Listed {
    /// An entry leaves the line; those of packets that leave again do first.
    #[inline]
    fn leave(&mut self) {
        self.all -= 1;
        self.again = self.again.saturating_sub(1);
    }

    /// Whether the line knows of the message.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.all > 0
    }
}

impl Line {
    /// Lists a message, of which a packet may leave.
    #[inline]
    fn list(&mut self, entry: (u32, u32), tx: &mut Sender, order: Order) {
        match order {
            Order::Turns if tx.listed.any() => {}
            Order::Turns => {
                tx.listed.all = 1;
                self.turns.push(entry);
            }
            Order::Released => self.list_released(entry, tx),
        }
    }

    #[cold]
    fn list_released(&mut self, entry: (u32, u32), tx: &mut Sender) {
        let (released, again) = tx.released();
        while tx.listed.all < released.max(1) {
            tx.listed.all += 1;
            if tx.listed.again < again {
                tx.listed.again += 1;
                self.again.push_back(entry);
            } else {
                self.new.push_back(entry);
            }
        }
    }

    /// The first entry.
    #[inline]
    fn pop_first(&mut self) -> Option<(u32, u32)> {
        let first = self.turns.pop().or_else(|| self.again.pop_front());
        first.or_else(|| self.new.pop_front())
    }

    /// The first entry of which `may` is true.
    fn pop(&mut self, may: impl Fn(&(u32, u32)) -> bool) -> Option<(u32, u32)> {
        if let Some(entry) = self.turns.pop_first(&may) {
            return Some(entry);
        }
        [&mut self.again, &mut self.new]
            .into_iter()
            .find_map(|queue| {
                let place = queue.iter().position(&may)?;
                queue.remove(place)
            })
    }
}

impl Host {
    /// Something changed at the sender: the line knows of it, or its alarm is set.
    #[inline]
    pub(super) fn settle(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        if !conn.tx.is_ready() {
            return self.arm(slot);
        }
        let entry = (slot, conn.order);
        self.line.list(entry, &mut conn.tx, self.settings.order);
    }

    /// The message of which the line takes a packet.
    #[inline]
    fn choose(&mut self) -> Option<u32> {
        while let Some((slot, order)) = self.line.pop_first() {
            let Some(conn) = self.conns.get_mut(slot, order) else {
                continue;
            };
            conn.tx.listed.leave();
            if conn.tx.is_ready() {
                return Some(slot);
            }
            self.arm(slot);
        }
        None
    }

    /// The line's next packet, where nothing is paused.
    #[inline]
    pub(super) fn poll_line(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if self.control.pop(out) {
            return Transmit::More;
        }
        let Some(slot) = self.choose() else {
            return Transmit::Nothing;
        };
        self.transmit(cx, slot, out);
        self.settle(slot);
        Transmit::More
    }

    /// Something is paused: looks at every message.
    #[cold]
    pub(super) fn poll_gated(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        if cx.gates.may_say(URGENT) && self.control.pop(out) {
            return Transmit::More;
        }
        let open = |conn: &Conn| match conn.tx.owes_end() {
            true => cx.gates.may_say(URGENT),
            false => cx.gates.may_send(conn.id, URGENT),
        };
        let conns = &self.conns;
        let first = self.line.pop(|&(slot, order)| {
            let conn = conns.get(slot);
            conn.is_some_and(|conn| conn.order == order && conn.tx.is_ready() && open(conn))
        });
        let Some((slot, order)) = first else {
            return Transmit::Nothing;
        };
        self.conns[slot].tx.listed.leave();
        self.transmit(cx, slot, out);
        self.line
            .list((slot, order), &mut self.conns[slot].tx, self.settings.order);
        Transmit::More
    }
}
