//! What a port with numbered queues does of whose every packet a flow control is told.

use super::Port;
use crate::common::{Common, carried};
use crate::discipline::Discipline;
use crate::flow_control::{Coming, Passage};
use crate::form::Form;
use crate::numbered::Leaving;
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

    /// From when on something of the `minded` classes may leave, if nothing more is said to the port. What they do not have
    /// goes before.
    #[inline]
    pub(crate) fn minded_from(&self, minded: u8) -> Time {
        let line = &self.egress;
        match &self.form {
            Form::Numbered(queues) if line.choose_at < Time::NEVER => {
                line.choose_at + line.line.of(queues.before(minded))
            }
            _ => line.choose_at,
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
        let Self {
            form: Form::Numbered(queues),
            egress: line,
            number: egress,
            ..
        } = self
        else {
            unreachable!("asked of ports with numbered queues")
        };
        let egress = *egress;
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
                line.say(now, packet, &**queues, out);
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
                if before == Time::NEVER && queues.is_gated() && queues.is_closed(number) {
                    line.held_back = true;
                    return Offered::Kept(false);
                }
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
        let (minded, say) = (common.minded, &mut common.say);
        let before = queues.held();
        let egress = &mut self.egress;
        let (mut at, mut last) = (egress.choose_at, egress.choose_at);
        while at < end {
            last = at;
            if let Some(frame) = self.frames.pop_front() {
                egress.transmit_checked(at, &frame, out);
                at = egress.free_at;
                self.own_until = at;
                continue;
            }
            let Some(Leaving {
                packet,
                queue,
                held,
            }) = queues.leave()
            else {
                egress.held_back = queues.held() > 0;
                at = Time::NEVER;
                break;
            };
            let class = packet.class_index();
            if minded >> class & 1 == 1 {
                let local = Local::of(packet);
                let passage = Passage {
                    packet,
                    ingress: local.ingress,
                    egress: self.number,
                    queue,
                    held,
                    tag: (O::CARRIES && packet.has_tag()).then_some(local.tag),
                };
                control.left(at, &passage, say);
                if O::CARRIES {
                    carried(control.as_mut(), at, &passage).put(packet, local);
                }
            } else if O::CARRIES {
                packet.set_tagged(false);
            }
            egress.say_with(at, packet, held, out);
            egress.transmit(at, packet, out);
            at = if held == 0 {
                Time::NEVER
            } else {
                egress.free_at
            };
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
