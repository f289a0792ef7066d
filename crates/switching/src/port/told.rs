//! What a port with numbered queues does of whose every packet a flow control is told.

use super::{Egress, Port};
use crate::common::Common;
use crate::discipline::{Dequeue, Discipline};
use crate::flow_control::{Coming, Passage};
use crate::form::Form;
use crate::numbered::NumberedPort;
use crate::switch::Outlet;
use model::{Local, Packet};
use units::Time;

/// What has become of a packet that came.
pub(crate) enum Offered {
    /// It has left, by the idle line.
    Passed,
    /// It waits; whether the port now has something to choose that had not.
    Kept(bool),
    /// Nothing: whether it has room is to be found out.
    Open,
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

    /// A packet has come by port `ingress`. `free` says whether it may leave at once where the line is idle.
    #[inline(always)] // once per arrival, from one place
    pub(crate) fn offer_told<O: Outlet>(
        &mut self,
        now: Time,
        ingress: u16,
        packet: &mut Packet,
        free: impl FnOnce() -> bool,
        common: &mut Common,
        out: &mut O,
    ) -> Offered {
        let egress = self.number;
        let (queues, line) = self.numbered();
        let size = u64::from(packet.size);
        // All that waits at the port is among what waits in the memory.
        let sure = |&(.., used): &(u64, f64, u64)| used + size < queues.sure_below();
        if !common.memory.as_ref().is_some_and(sure)
            && (size > common.room() || !queues.keeps_all(now, line.on_line(), size))
        {
            return Offered::Open;
        }
        let idle = line.free_at <= now && line.choose_at == Time::NEVER;
        let idle = idle && queues.is_clear() && ingress != egress && free();
        let queue = queues.number_of(packet);
        let mut local = if O::CARRIES {
            Local::of(packet)
        } else {
            Local::default()
        };
        let coming = match &mut common.control {
            Some(control) if common.minded >> packet.class_index() & 1 == 1 => {
                let passage = Passage {
                    packet,
                    ingress,
                    egress,
                    queue,
                    held: queues.held() + size,
                    tag: (O::CARRIES && packet.has_tag()).then_some(local.tag),
                };
                control.comes(now, &passage, idle, &mut common.say)
            }
            _ if idle => Coming::Passes(queue),
            _ => Coming::Waits(queue),
        };
        match coming {
            Coming::Passes(number) => {
                queues.put_through(number, packet);
                if O::CARRIES {
                    packet.set_tagged(false);
                }
                line.say(now, packet, queues, out);
                line.transmit(now, packet, out);
                Offered::Passed
            }
            Coming::Waits(number) => {
                // Where it came from is remembered in the place of a moment that is over.
                local.ingress = ingress;
                local.put(packet);
                queues.keep(number, now, line.on_line(), packet);
                if let Some((.., used)) = &mut common.memory {
                    *used += size;
                }
                let before = line.choose_at;
                line.choose_at = before.min(now.max(line.free_at));
                Offered::Kept(line.choose_at < before)
            }
        }
    }

    /// Makes choices before `end` until the flow control has something to say of one. Returns the moment of the last.
    #[inline(never)] // it needs the registers
    pub(crate) fn drain_told<O: Outlet>(
        &mut self,
        end: Time,
        common: &mut Common,
        out: &mut O,
    ) -> Time {
        let Form::Numbered(queues) = &mut self.form else {
            unreachable!("asked of ports with numbered queues")
        };
        let Some(control) = &mut common.control else {
            unreachable!("asked of a switch that has one")
        };
        let (minded, slot, say) = (common.minded, &mut common.slot, &mut common.say);
        let before = queues.held();
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
            if minded >> slot.class_index() & 1 == 1 {
                let local = Local::of(slot);
                let passage = Passage {
                    packet: slot,
                    ingress: local.ingress,
                    egress: self.number,
                    queue: queues.last_queue(),
                    held: queues.held(),
                    tag: (O::CARRIES && slot.has_tag()).then_some(local.tag),
                };
                control.left(at, &passage, say);
                if O::CARRIES {
                    let tag = control.tag(at, &passage);
                    slot.set_tagged(tag.is_some());
                    let tag = tag.unwrap_or(0);
                    Local { tag, ..local }.put(slot);
                }
            } else if O::CARRIES {
                slot.set_tagged(false);
            }
            egress.say(at, slot, &**queues, out);
            egress.transmit(at, slot, out);
            at = next.max(egress.free_at);
            if !say.is_empty() {
                break;
            }
        }
        egress.choose_at = at;
        let left = before - queues.held();
        if let Some((.., used)) = &mut common.memory {
            *used -= left;
        }
        last
    }
}
