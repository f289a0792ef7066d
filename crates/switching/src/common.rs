//! What the ports of a switch have in common: its memory and its flow control.

use crate::discipline::Dequeue;
use crate::flow_control::{FlowControl, Passage, Say};
use crate::port::Port;
use crate::queues::Spilled;
use crate::switch::Outlet;
use model::{Class, Local, Packet};
use units::Time;

/// What the ports of a switch have in common.
pub(crate) struct Common {
    /// Where ports write what leaves.
    pub(crate) slot: Packet,
    /// The memory that all ports share, where they do: its size, alpha, and what is in use.
    pub(crate) memory: Option<(u64, f64, u64)>,
    pub(crate) control: Option<Box<dyn FlowControl>>,
    pub(crate) say: Say,
    /// Packets to be sent back, with the port that had no room.
    pub(crate) bounced: Vec<(u16, Packet)>,
}

impl Common {
    /// Has `packet`, for which port `index` had no room, sent back.
    #[cold]
    pub(crate) fn bounce(&mut self, index: usize, packet: &Packet) {
        let egress = u16::try_from(index).expect("checked in `new`");
        self.bounced.push((egress, *packet));
    }

    /// Drops or sends back what had to make room at port `index`.
    #[cold]
    pub(crate) fn clear_up(
        &mut self,
        now: Time,
        index: usize,
        port: &mut Port,
        out: &mut impl Outlet,
    ) {
        while let Some((other, fate)) = port.spilled() {
            match fate {
                Spilled::Dropped(reason) => port.drop(now, &other, reason, out),
                Spilled::Bounced => self.bounce(index, &other),
            }
        }
    }

    /// Makes every choice of `port` before `end`, where no flow control wants to know.
    #[inline]
    pub(crate) fn drain(&mut self, port: &mut Port, end: Time, out: &mut impl Outlet) {
        if self.memory.is_none() {
            port.drain(end, &mut self.slot, out);
        } else {
            self.drain_shared(port, end, out);
        }
    }

    #[inline(never)]
    pub(crate) fn drain_shared(&mut self, port: &mut Port, end: Time, out: &mut impl Outlet) {
        let held = port.held();
        port.drain(end, &mut self.slot, out);
        self.account(held, port);
    }

    /// Books what `port` holds of the shared memory, where there is one, instead of the `held` bytes before.
    #[inline]
    pub(crate) fn account(&mut self, held: u64, port: &Port) {
        if let Some((.., used)) = &mut self.memory {
            *used = *used + port.held() - held;
        }
    }

    /// Tells the flow control of a packet that comes and leaves at once, by an idle line: it has said that it
    /// closes no gate for it.
    pub(crate) fn passed(&mut self, now: Time, passage: &Passage<'_>, queue: u8) {
        let Some(control) = &mut self.control else {
            return;
        };
        let held = u64::from(passage.packet.size);
        let passage = Passage { queue, ..*passage };
        control.arrived(now, &Passage { held, ..passage }, &mut self.say);
        let own = |&port: &u16| port == passage.egress;
        let mut said = self.say.frames().iter().map(|(port, _)| port);
        debug_assert!(!said.any(own), "said to the port by which it leaves");
        let mut gates = self.say.gates().iter().map(|(port, _)| port);
        debug_assert!(!gates.any(own), "a gate before its own packet");
        control.left(now, &Passage { held: 0, ..passage }, &mut self.say);
    }

    pub(crate) fn deadline(&self) -> Time {
        self.control
            .as_ref()
            .map_or(Time::NEVER, |control| control.deadline())
    }

    /// Whether a packet that passes an empty port has room in the shared memory, where there is one.
    #[inline]
    pub(crate) fn has_room(&self, packet: &Packet) -> bool {
        self.memory
            .is_none_or(|memory| fits(memory, 0, packet.size))
    }

    /// Whether the shared memory, where there is one, has room for `packet` at `port`. Credits have a queue
    /// of their own.
    #[inline]
    pub(crate) fn admits(&self, port: &Port, packet: &Packet) -> bool {
        self.memory.is_none_or(|memory| {
            packet.class() == Class::Credit && port.shapes_credits()
                || fits(memory, port.held(), packet.size)
        })
    }

    /// The same where the flow control may have a rule of its own.
    pub(crate) fn admits_by_control(&mut self, port: &Port, passage: &Passage<'_>) -> bool {
        let (packet, Some((size, _, used))) = (passage.packet, self.memory) else {
            return true;
        };
        if packet.class() == Class::Credit && port.shapes_credits() {
            return true;
        }
        let free = size.saturating_sub(used);
        let control = self.control.as_mut();
        match control.and_then(|control| control.admits(passage, free)) {
            Some(may) => may && u64::from(packet.size) <= free,
            None => self.admits(port, packet),
        }
    }
}

/// Whether a port that holds `held` bytes of the memory may hold `size` more: below alpha times what is
/// free. [Choudhury and Hahne 1998]
fn fits((size, alpha, used): (u64, f64, u64), held: u64, packet: u16) -> bool {
    let more = u64::from(packet);
    let free = size.saturating_sub(used);
    more <= free && (held + more) as f64 <= alpha * free as f64
}

/// Makes the choice that is due at `port` of a switch with a flow control.
#[inline(never)]
pub(crate) fn choose<O: Outlet>(port: &mut Port, common: &mut Common, out: &mut O) {
    let at = port.choose_at();
    if port.say_next(at, out) {
        return;
    }
    let held = port.held();
    let next = match port.dequeue(at, &mut common.slot) {
        Dequeue::Wait(until) => {
            debug_assert!(until > at, "a port that waits for the past waits for ever");
            port.wait(until);
            return;
        }
        Dequeue::Empty => {
            port.rest(false);
            return;
        }
        Dequeue::Held => {
            port.rest(true);
            return;
        }
        Dequeue::Packet => Time::ZERO,
        Dequeue::Then(next) => next,
        Dequeue::Last => Time::NEVER,
    };
    common.account(held, port);
    let slot = &mut common.slot;
    if let Some(control) = &mut common.control {
        let local = Local::of(slot);
        let passage = Passage {
            packet: slot,
            ingress: local.ingress,
            egress: port.number(),
            queue: port.last_queue(),
            held: port.held(),
            tag: slot.has_tag().then_some(local.tag),
        };
        control.left(at, &passage, &mut common.say);
        if O::CARRIES {
            let tag = control.tag(at, &passage);
            slot.set_tagged(tag.is_some());
            let tag = tag.unwrap_or(0);
            Local { tag, ..local }.put(slot);
        }
    }
    port.transmit_checked(at, slot, out);
    port.wait_after(next);
}
