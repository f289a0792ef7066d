//! What a port with numbered queues does of whose every packet a flow control is told.

use super::{Egress, Port};
use crate::discipline::{Dequeue, Discipline, Verdict};
use crate::flow_control::{FlowControl, Passage, Say};
use crate::form::Form;
use crate::numbered::NumberedPort;
use crate::switch::Outlet;
use model::{DropReason, Local, Packet};
use units::Time;

/// What has become of a packet that came.
pub(crate) enum Offered {
    /// It has left, by the idle line.
    Passed,
    /// It waits.
    Kept,
    /// Its queue has no room.
    Dropped(DropReason),
    /// The memory may have no room, or the flow control leaves that to its rule; it was assigned this queue.
    Refused(Option<u8>),
}

impl Port {
    /// Whether it is of the form that this is for.
    #[inline]
    pub(crate) fn is_numbered(&self) -> bool {
        matches!(self.form, Form::Numbered(_))
    }

    fn numbered(&mut self) -> (&mut NumberedPort, &mut Egress) {
        match &mut self.form {
            Form::Numbered(queues) => (queues, &mut self.egress),
            _ => unreachable!("asked of ports with numbered queues"),
        }
    }

    /// A packet has come by port `ingress`, for which the memory has `room`. `free` says that it may leave at once where the
    /// line is idle.
    #[inline(always)] // once per arrival, from one place
    pub(crate) fn offer_told<O: Outlet>(
        &mut self,
        now: Time,
        ingress: u16,
        packet: &mut Packet,
        (free, room): (bool, u64),
        (control, say): (&mut dyn FlowControl, &mut Say),
        out: &mut O,
    ) -> Offered {
        let egress = self.number;
        let idle = free && self.is_idle(now) && ingress != egress;
        let (queues, line) = self.numbered();
        let mut local = Local::of(packet);
        let passage = Passage {
            packet,
            ingress,
            egress,
            queue: 0,
            held: queues.held(),
            tag: packet.has_tag().then_some(local.tag),
        };
        let answer = control.ask(now, &passage, room, idle);
        let number = match answer.queue {
            Some(number) => number,
            None => queues.number_of(packet),
        };
        if answer.admitted != Some(true) {
            return Offered::Refused(answer.queue);
        }
        if answer.overlooked && queues.pass_in(number, packet) {
            if O::CARRIES {
                packet.set_tagged(false);
            }
            line.say(now, packet, queues, out);
            line.transmit(now, packet, out);
            return Offered::Passed;
        }
        // Where it came from is remembered in the place of a moment that is over.
        local.ingress = ingress;
        local.put(packet);
        if let Verdict::Dropped(reason) = queues.enqueue_in(number, now, line.on_line(), packet) {
            return Offered::Dropped(reason);
        }
        let passage = Passage {
            packet,
            ingress,
            egress,
            queue: number,
            held: queues.held(),
            tag: packet.has_tag().then_some(local.tag),
        };
        control.arrived(now, &passage, say);
        line.choose_at = line.choose_at.min(now.max(line.free_at));
        Offered::Kept
    }

    /// Makes choices before `end` until the flow control has something to say of one. Returns the moment of the last.
    #[inline(never)] // it needs the registers
    pub(crate) fn drain_told<O: Outlet>(
        &mut self,
        end: Time,
        slot: &mut Packet,
        (control, say): (&mut dyn FlowControl, &mut Say),
        out: &mut O,
    ) -> Time {
        let Form::Numbered(queues) = &mut self.form else {
            unreachable!("asked of ports with numbered queues")
        };
        let egress = &mut self.egress;
        let (mut at, mut last) = (egress.choose_at, egress.choose_at);
        while at < end {
            last = at;
            if let Some(frame) = self.frames.pop_front() {
                egress.transmit_checked(at, &frame, out);
                at = egress.free_at;
                continue;
            }
            let next = match queues.dequeue(at, slot) {
                Dequeue::Packet => Time::ZERO,
                Dequeue::Last => Time::NEVER,
                nothing => {
                    self.held_back = nothing == Dequeue::Held;
                    at = Time::NEVER;
                    break;
                }
            };
            let local = Local::of(slot);
            let passage = Passage {
                packet: slot,
                ingress: local.ingress,
                egress: self.number,
                queue: queues.last_queue(),
                held: queues.held(),
                tag: slot.has_tag().then_some(local.tag),
            };
            control.left(at, &passage, say);
            if O::CARRIES {
                let tag = control.tag(at, &passage);
                slot.set_tagged(tag.is_some());
                let tag = tag.unwrap_or(0);
                Local { tag, ..local }.put(slot);
            }
            egress.say(at, slot, &**queues, out);
            egress.transmit_checked(at, slot, out);
            at = next.max(egress.free_at);
            if !say.is_empty() {
                break;
            }
        }
        egress.choose_at = at;
        last
    }
}
