//! All packets that come to a port in a while, at once: for ports that have nothing to do with others of their switch.

use super::alone::choose_before;
use super::{Egress, Port, Rare};
use crate::ahead::fetch;
use crate::discipline::{Discipline, Verdict};
use crate::form::{Apart, Form};
use crate::queues::Spilled;
use crate::switch::Outlet;
use model::{DropReason, Packet};
use units::{Span, Time};

const BOUNCES: &str = "a port that is apart sends nothing back";

impl Port {
    /// Whether anything that comes to it reaches another port of its switch: where it sends something back.
    pub(crate) fn apart(&self) -> Apart {
        match &self.form {
            Form::Unmade(form) => form.apart(),
            Form::Fifo(_) | Form::Data(_) | Form::Credit(_) | Form::Priority(_) => Apart::Always,
            Form::Trimming(form) => form.apart(),
            Form::Gated(_) | Form::Numbered(_) | Form::Queues(_) => Apart::Never,
        }
    }

    /// Whether it may send one of `more` packets back that come now, of a port that is apart unless it is full.
    #[inline]
    pub(crate) fn may_bounce(&self, more: usize) -> bool {
        match &self.form {
            Form::Unmade(form) => form.may_bounce(more),
            Form::Trimming(form) => form.may_bounce(more),
            _ => false,
        }
    }

    /// Has the cache fetch what the next packets need first.
    #[inline(always)] // once per port and window
    pub(crate) fn fetch(&self) {
        fetch(&raw const self.form);
        fetch(&raw const self.egress.free_at);
        fetch(&raw const self.egress.sent);
    }

    /// Takes in all packets that come before `end`, in the order of time, each with whether no other comes to this
    /// port at its moment, and makes the choices before `end`. Returns whether it must join the list of those that
    /// wait. `may_pass` says that packets may pass the idle port.
    #[inline(always)] // once per port and window, from one place
    pub(crate) fn hand_over<'p, O: Outlet>(
        &mut self,
        arrivals: impl Iterator<Item = (&'p mut Packet, bool)>,
        may_pass: bool,
        end: Time,
        slot: &mut Packet,
        out: &mut O,
    ) -> bool {
        if self.is_fifo() {
            if arrivals.size_hint() == (1, Some(1)) {
                // Of one alone nothing is worth keeping at hand.
                for (packet, _) in arrivals {
                    self.promise(packet.at, packet, out);
                }
                return false;
            }
            self.promise_all(arrivals.map(|(packet, _)| packet), out);
            return false;
        }
        let mut work = Work {
            egress: &mut self.egress,
            rare: &mut self.rare,
            may_pass,
            end,
            slot,
            out,
        };
        loop {
            match &mut self.form {
                Form::Data(queues) => work.take_all(&mut **queues, arrivals),
                Form::Credit(queues) => work.take_all(&mut **queues, arrivals),
                Form::Priority(queues) => work.take_all(&mut **queues, arrivals),
                Form::Trimming(queues) => work.take_all(queues, arrivals),
                form @ Form::Unmade(_) => {
                    form.make();
                    continue;
                }
                Form::Fifo(_) | Form::Gated(_) | Form::Numbered(_) | Form::Queues(_) => {
                    unreachable!("they keep nothing, or are not apart")
                }
            }
            break;
        }
        self.egress.choose_at < Time::NEVER && self.enlist()
    }

    /// [`Port::promise`] for several packets.
    #[inline(never)] // it needs the registers
    fn promise_all<'p>(
        &mut self,
        mut arrivals: impl Iterator<Item = &'p mut Packet>,
        out: &mut impl Outlet,
    ) {
        let (link, delay) = (self.egress.link, self.egress.delay);
        // On a line with an odd rate each packet is promised alone.
        let (per_byte, quiet_below) = match self.egress.line.per_byte() {
            Some(per_byte) => (per_byte, self.quiet_below),
            None => (0, Span::ZERO),
        };
        loop {
            // What follows calls nothing, so that all of it stays at hand.
            let (mut free_at, mut longest) = (self.egress.free_at, self.promised_max);
            let (sent, mut loud) = (&mut self.egress.sent, None);
            let quiet = std::iter::from_fn(|| {
                let packet = arrivals.next()?;
                let wait = free_at.since(packet.at);
                if wait >= quiet_below {
                    loud = Some(packet);
                    return None;
                }
                let promised = wait + Span(per_byte * u64::from(packet.size));
                longest = longest.max(promised);
                free_at = packet.at + promised;
                sent.add(packet);
                Some((&*packet, free_at + delay))
            });
            out.send_all(link, quiet);
            (self.egress.free_at, self.promised_max) = (free_at, longest);
            let Some(packet) = loud else {
                return;
            };
            self.promise(packet.at, packet, out);
        }
    }
}

/// What a port works with while packets come.
struct Work<'w, O> {
    egress: &'w mut Egress,
    rare: &'w mut Option<Box<Rare>>,
    may_pass: bool,
    end: Time,
    slot: &'w mut Packet,
    out: &'w mut O,
}

impl<O: Outlet> Work<'_, O> {
    /// See [`Port::hand_over`]: one function per form.
    #[inline(never)]
    fn take_all<'p>(
        &mut self,
        queues: &mut impl Discipline,
        arrivals: impl Iterator<Item = (&'p mut Packet, bool)>,
    ) {
        for (packet, alone) in arrivals {
            let now = packet.at;
            if self.egress.choose_at < now {
                // Choices before this arrival do not know of it.
                self.choose_before(queues, now);
            }
            let idle = self.egress.choose_at == Time::NEVER && self.egress.free_at <= now;
            if idle && alone && self.may_pass && queues.pass(now, packet) {
                self.egress.say(now, packet, queues, self.out);
                self.egress.transmit(now, packet, self.out);
                continue;
            }
            let verdict = queues.enqueue(now, self.egress.on_line(), packet);
            let choose_at = self.egress.choose_at.min(now.max(self.egress.free_at));
            self.egress.choose_at = choose_at;
            match verdict {
                Verdict::Queued(_) if queues.has_spilled() => self.clear_up(now, queues),
                Verdict::Queued(_) => {}
                Verdict::Dropped(reason) => self.drop(now, packet, reason),
                Verdict::Bounced => unreachable!("{BOUNCES}"),
            }
        }
        if self.egress.choose_at < self.end {
            self.choose_before(queues, self.end);
        }
    }

    #[inline(always)] // twice per form
    fn choose_before(&mut self, queues: &mut impl Discipline, end: Time) {
        self.egress.choose_at = choose_before(queues, self.egress, end, self.slot, self.out);
    }

    #[cold]
    #[inline(never)]
    fn clear_up(&mut self, now: Time, queues: &mut impl Discipline) {
        while let Some((other, fate)) = queues.spilled() {
            let Spilled::Dropped(reason) = fate else {
                unreachable!("{BOUNCES}")
            };
            self.drop(now, &other, reason);
        }
    }

    #[cold]
    #[inline(never)]
    fn drop(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        let rare = self.rare.get_or_insert_default();
        rare.count_drop(now, packet, reason, self.egress.link, self.out);
    }
}
