//! What a port does that looks at no other and that no flow control minds: packets come one by one.

use super::{Egress, Fate, Port};
use crate::discipline::{Dequeue, Discipline, Verdict};
use crate::form::late;
use crate::switch::Outlet;
use model::Packet;
use units::Time;

impl Port {
    /// Makes every choice before `end`. The port says nothing to its neighbour, and no flow control wants
    /// to know what leaves.
    pub(crate) fn drain(&mut self, end: Time, slot: &mut Packet, out: &mut impl Outlet) {
        let egress = &mut self.egress;
        late!(&mut self.form, queues => drain(&mut **queues, egress, end, slot, out), else {});
    }

    /// A packet has come to a port that looks at no other: makes the choices before `now`, then queues it, or lets it
    /// pass if the line has become idle and `free` says that nothing else comes at this moment. Joins `waiting` where
    /// it is not among them.
    #[inline(always)] // once per queued packet
    pub(crate) fn take<O: Outlet>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        free: bool,
        slot: &mut Packet,
        out: &mut O,
        waiting: &mut Vec<u16>,
    ) -> Fate {
        debug_assert!(!self.egress.held_back, "no flow control, no gates");
        let egress = &mut self.egress;
        let fate = late!(
            &mut self.form,
            queues => take(&mut **queues, egress, now, packet, free, slot, out),
            else return self.take_first(now, packet, free, slot, out, waiting)
        );
        if !self.listed {
            self.listed = true;
            waiting.push(self.number);
        }
        fate
    }

    #[cold]
    #[inline(never)]
    fn take_first<O: Outlet>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        free: bool,
        slot: &mut Packet,
        out: &mut O,
        waiting: &mut Vec<u16>,
    ) -> Fate {
        self.form.make();
        self.take(now, packet, free, slot, out, waiting)
    }
}

/// Makes every choice of `queues` before `end`.
#[inline(never)] // once per form
fn drain<O: Outlet>(
    queues: &mut impl Discipline,
    egress: &mut Egress,
    end: Time,
    slot: &mut Packet,
    out: &mut O,
) {
    egress.choose_at = choose_before(queues, egress, end, slot, out);
}

/// See [`Port::take`]: one function per form, so that an arrival asks once which form it is.
#[inline(never)]
fn take<O: Outlet>(
    queues: &mut impl Discipline,
    egress: &mut Egress,
    now: Time,
    packet: &mut Packet,
    free: bool,
    slot: &mut Packet,
    out: &mut O,
) -> Fate {
    let mut at = egress.choose_at;
    if at < now {
        // Choices before this arrival do not know of it.
        at = choose_before(queues, egress, now, slot, out);
        if at == Time::NEVER && egress.free_at <= now && free && queues.pass(now, packet) {
            egress.choose_at = at;
            egress.say(now, packet, queues, out);
            egress.transmit(now, packet, out);
            return Fate::Kept;
        }
    }
    let verdict = queues.enqueue(now, egress.on_line(), packet);
    egress.choose_at = at.min(now.max(egress.free_at));
    match verdict {
        Verdict::Queued(_) if queues.has_spilled() => Fate::MadeRoom,
        Verdict::Queued(_) => Fate::Kept,
        Verdict::Dropped(reason) => Fate::Dropped(reason),
        Verdict::Bounced => Fate::Bounced,
    }
}

/// Makes every choice of `queues` before `end`; returns when the next is due.
#[inline(always)] // twice per form
pub(super) fn choose_before<O: Outlet>(
    queues: &mut impl Discipline,
    egress: &mut Egress,
    end: Time,
    slot: &mut Packet,
    out: &mut O,
) -> Time {
    let mut at = egress.choose_at;
    while at < end {
        let next = match queues.dequeue(at, slot) {
            Dequeue::Wait(until) => {
                debug_assert!(until > at, "a port that waits for the past waits for ever");
                at = until;
                continue;
            }
            Dequeue::Held => unreachable!("no flow control, no gates"),
            Dequeue::Empty => return Time::NEVER,
            Dequeue::Packet => Time::ZERO,
            Dequeue::Then(next) => next,
            Dequeue::Last => Time::NEVER,
        };
        egress.say(at, slot, queues, out);
        egress.transmit_checked(at, slot, out);
        at = next.max(egress.free_at);
    }
    at
}
