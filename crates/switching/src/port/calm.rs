//! What a port does while the flow control of its switch is calm: it chooses by itself, and says what has left.

use super::Port;
use crate::discipline::{Dequeue, Discipline};
use crate::flow_control::{FlowControl, Passage, Say};
use crate::form::Form;
use crate::switch::Outlet;
use model::{Local, Packet};
use units::Time;

impl Port {
    /// Whether it has gates and nothing else that only a general port has.
    pub(crate) fn has_gates_alone(&self) -> bool {
        matches!(self.form, Form::Gated(_))
    }

    /// What a flow control is told of `packet`, which has come in by `ingress` and has no queue yet.
    #[inline]
    pub(crate) fn passage<'a>(&self, ingress: u16, packet: &'a Packet) -> Passage<'a> {
        Passage {
            packet,
            ingress,
            egress: self.number,
            queue: 0,
            held: self.held(),
            tag: packet.has_tag().then(|| Local::of(packet).tag),
        }
    }

    /// Makes every choice before `end`, and tells `control`, which has nothing to say of what leaves.
    pub(crate) fn drain_calm<O: Outlet>(
        &mut self,
        end: Time,
        slot: &mut Packet,
        (control, say): (&mut dyn FlowControl, &mut Say),
        out: &mut O,
    ) {
        let Form::Gated(queues) = &mut self.form else {
            unreachable!("asked of ports with gates alone")
        };
        let egress = &mut self.egress;
        let mut at = egress.choose_at;
        while at < end {
            if let Some(frame) = self.frames.pop_front() {
                egress.transmit_checked(at, &frame, out);
                at = egress.free_at;
                self.own_until = at;
                continue;
            }
            let next = match queues.dequeue(at, slot) {
                Dequeue::Packet => Time::ZERO,
                Dequeue::Last => Time::NEVER,
                Dequeue::Empty => {
                    egress.held_back = false;
                    at = Time::NEVER;
                    break;
                }
                Dequeue::Held => {
                    egress.held_back = true;
                    at = Time::NEVER;
                    break;
                }
                Dequeue::Then(_) | Dequeue::Wait(_) => unreachable!("it shapes nothing"),
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
                slot.set_tagged(false);
            }
            egress.say(at, slot, &**queues, out);
            egress.transmit_checked(at, slot, out);
            at = next.max(egress.free_at);
        }
        egress.choose_at = at;
    }
}
