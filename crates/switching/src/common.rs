//! What the ports of a switch have in common: its memory and its flow control.

use crate::accounts::{Accounts, Stay};
use crate::discipline::Dequeue;
use crate::flow_control::{FlowControl, Passage, Say};
use crate::port::Port;
use crate::queues::Spilled;
use crate::switch::Outlet;
use crate::watch::Watch;
use model::{Class, DropReason, Local, Packet};
use units::Time;

/// What the ports of a switch have in common.
pub(crate) struct Common {
    /// Where ports write what leaves.
    pub(crate) slot: Packet,
    /// The memory that all ports share, where they do: its size, alpha, and what is in use.
    pub(crate) memory: Option<(u64, f64, u64)>,
    pub(crate) control: Option<Box<dyn FlowControl>>,
    /// Classes that it minds, as bits.
    pub(crate) minded: u8,
    pub(crate) say: Say,
    /// Packets to be sent back, with the port that had no room.
    pub(crate) bounced: Vec<(u16, Packet)>,
    /// Set where somebody wants to know what the flow control does.
    pub(crate) watch: Option<Box<Watch>>,
    /// Set where somebody wants to know what the memory holds, of a switch with a flow control.
    pub(crate) accounts: Option<Box<Accounts>>,
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
        let passage = Passage { queue, ..*passage };
        control.passed(now, &passage, &mut self.say);
        if let Some(watch) = &mut self.watch {
            watch.note_pauses(now, &self.say, &passage, self.accounts.as_deref());
        }
        let own = |&port: &u16| port == passage.egress;
        let mut said = self.say.frames().iter().map(|(port, _)| port);
        debug_assert!(!said.any(own), "said to the port by which it leaves");
        let mut gates = self.say.gates().iter().map(|(port, _)| port);
        debug_assert!(!gates.any(own), "a gate before its own packet");
    }

    /// Bytes of the shared memory that are free.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        let free = |(size, _, used): (u64, f64, u64)| size.saturating_sub(used);
        self.memory.map_or(u64::MAX, free)
    }

    /// Whether it may say something of other ports when something leaves by `port`.
    pub(crate) fn speaks(&self, port: u16) -> bool {
        let control = self.control.as_ref();
        control.is_some_and(|control| control.speaks(port))
    }

    /// Whether the flow control stays calm when `packet` comes to `port`.
    #[inline]
    pub(crate) fn stays_calm(&mut self, ingress: u16, port: &Port, packet: &Packet) -> bool {
        let free = self.memory.map_or(u64::MAX, |(size, _, used)| size - used);
        let control = self.control.as_mut();
        control.is_some_and(|control| control.stays_calm(&port.passage(ingress, packet), free))
    }

    /// Tells the flow control of a packet that waits now, of which it has nothing to say.
    #[inline]
    pub(crate) fn arrived_calmly(&mut self, now: Time, passage: &Passage<'_>) {
        if let Some(control) = &mut self.control {
            control.arrived(now, passage, &mut self.say);
            debug_assert!(control.is_calm() && self.say.is_empty(), "{passage:?}");
        }
    }

    /// Makes every choice of `port` before `end` while the flow control is calm.
    #[inline(never)]
    pub(crate) fn drain_calm(&mut self, port: &mut Port, end: Time, out: &mut impl Outlet) {
        let held = port.held();
        if let Some(control) = &mut self.control {
            port.drain_calm(end, &mut self.slot, (&mut **control, &mut self.say), out);
        }
        self.account(held, port);
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

    /// Why a packet was not admitted.
    #[cold]
    pub(crate) fn why_refused(&self, passage: &Passage<'_>) -> DropReason {
        let size = u64::from(passage.packet.size);
        let full = |(all, _, used): (u64, f64, u64)| size > all - used.min(all);
        match &self.control {
            Some(control) if !self.memory.is_some_and(full) => control.refused(passage),
            _ => DropReason::Memory,
        }
    }

    /// Why a packet was dropped at `port`, which says `why`: where the memory is shared it is the port's buffer.
    #[cold]
    pub(crate) fn why_dropped(
        &self,
        now: Time,
        port: &Port,
        packet: &Packet,
        why: DropReason,
    ) -> DropReason {
        let taken = || port.backlog(now).data_bytes + u64::from(packet.size);
        match self.memory {
            Some((size, ..)) if why == DropReason::Full && taken() > size => DropReason::Memory,
            _ => why,
        }
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

/// Makes choices of `port` of a switch with a flow control: that which is due, and perhaps more before `end` while there is
/// nothing to say of them. Returns the moment of the last.
#[inline(always)] // from two places
pub(crate) fn choose_until<O: Outlet>(
    port: &mut Port,
    common: &mut Common,
    end: Time,
    out: &mut O,
) -> Time {
    let at = port.choose_at();
    if !port.is_numbered() || common.accounts.is_some() {
        choose(port, common, out);
        return at;
    }
    port.drain_told(end, common, out)
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
    if let Some(accounts) = &mut common.accounts {
        let of = Stay {
            ingress: Local::of(slot).ingress,
            egress: port.number(),
            queue: port.last_queue(),
            priority: slot.priority(),
        };
        accounts.take(of, held - port.held());
    }
    let minds = common.minded >> slot.class_index() & 1 == 1;
    if let Some(control) = common.control.as_mut().filter(|_| minds) {
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
            carried(control.as_mut(), at, &passage).put(slot, local);
        }
    } else if O::CARRIES {
        slot.set_tagged(false);
    }
    port.transmit_checked(at, slot, out);
    port.wait_after(next);
}

/// What a flow control has a packet take along from a port.
pub(crate) struct Carried {
    tag: Option<u16>,
    word: Option<u32>,
}

/// Asks a flow control for it.
#[inline]
pub(crate) fn carried(control: &mut dyn FlowControl, at: Time, passage: &Passage<'_>) -> Carried {
    let shares = !passage.packet.has_path();
    Carried {
        tag: control.tag(at, passage),
        word: shares.then(|| control.word(at, passage)).flatten(),
    }
}

impl Carried {
    #[inline]
    pub(crate) fn put(self, packet: &mut Packet, local: Local) {
        if let Some(word) = self.word {
            packet.set_shared(word);
        }
        packet.set_tagged(self.tag.is_some());
        let tag = self.tag.unwrap_or(0);
        Local { tag, ..local }.put(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{Form, Wants};
    use crate::switch::Line;
    use model::intent::{CreditCount, CreditSpec, PortSpec, QueueSpec};
    use model::{ConnId, HostId, Rng};
    use std::sync::Arc;
    use units::{Bytes, LineTime, Rate, Span};

    #[test]
    fn a_port_may_hold_alpha_times_what_is_free() {
        // 1000 B in use of 10,000: 9000 are free.
        let memory = |alpha| (10_000, alpha, 1_000);
        for (alpha, held, packet, may) in [
            (1.0, 0, 9_000, true),
            (1.0, 0, 9_001, false),
            (1.0, 7_000, 2_000, true),
            (1.0, 7_001, 2_000, false),
            (0.5, 2_500, 2_000, true),
            (0.5, 2_501, 2_000, false),
            (8.0, 900, 9_000, true),
            (8.0, 900, 9_001, false), // more than there is
        ] {
            assert_eq!(
                fits(memory(alpha), held, packet),
                may,
                "{alpha}: {held} and {packet} B"
            );
        }
        assert!(!fits((10_000, 8.0, 10_001), 0, 1), "nothing is free");
    }

    /// Says that every packet may take room, or that none may, or nothing.
    struct Says(Option<bool>);
    impl FlowControl for Says {
        fn refused(&self, _: &Passage<'_>) -> DropReason {
            DropReason::Headroom
        }
        fn admits(&mut self, _: &Passage<'_>, _: u64) -> Option<bool> {
            self.0
        }
        fn arrived(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
        fn left(&mut self, _: Time, _: &Passage<'_>, _: &mut Say) {}
        fn heard(&mut self, _: Time, _: u16, _: &Packet, _: &mut Say) {}
        fn deadline(&self) -> Time {
            Time(77)
        }
    }

    fn common(memory: Option<(u64, f64, u64)>, says: Option<Says>) -> Common {
        Common {
            slot: Packet::EMPTY,
            memory,
            control: says.map(|says| Box::new(says) as Box<dyn FlowControl>),
            minded: u8::MAX,
            say: Say::default(),
            bounced: Vec::new(),
            watch: None,
            accounts: None,
        }
    }

    fn port(spec: &PortSpec) -> Port {
        let spec = &Arc::new(spec.clone());
        let line = Line {
            spec,
            link: 0,
            line: LineTime::new(Rate::gbps(10)),
            delay: Span::ZERO,
            rng: Rng::stream(1, 2, 3),
        };
        let form = Form::new(spec, 9_000, line.line, line.rng.clone(), Wants::Late);
        Port::new(form, &line, 0, false)
    }

    fn shaped() -> PortSpec {
        PortSpec::fifo(Bytes(9_000)).with(QueueSpec::credit(CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count: CreditCount::Credits,
            size_mean: 84,
            frame_max: 1538,
            share: CreditSpec::WHOLE,
        }))
    }

    fn packet(class: Class, size: u16) -> Packet {
        Packet::new(HostId(0), ConnId(0), class, 0, size)
    }

    fn passage(packet: &Packet) -> Passage<'_> {
        Passage {
            packet,
            ingress: 0,
            egress: 0,
            queue: 0,
            held: 0,
            tag: None,
        }
    }

    #[test]
    fn a_full_memory_takes_credits_where_they_have_places_of_their_own() {
        let full = common(Some((1_000, 1.0, 1_000)), None);
        let (plain, credits) = (port(&PortSpec::fifo(Bytes(9_000))), port(&shaped()));
        let (data, credit) = (packet(Class::Plain, 84), packet(Class::Credit, 84));
        assert!(full.admits(&credits, &credit) && !full.admits(&credits, &data));
        assert!(!full.admits(&plain, &credit) && !full.has_room(&data));
        let none = common(None, None);
        assert!(none.admits(&plain, &data) && none.has_room(&data));
        let room = common(Some((1_000, 1.0, 916)), None);
        assert!(room.has_room(&data) && !room.has_room(&packet(Class::Plain, 85)));
    }

    #[test]
    fn a_flow_controls_own_rule_goes_before_that_of_the_memory() {
        let plain = port(&PortSpec::fifo(Bytes(9_000)));
        let admits = |port: &Port, memory, says: Option<bool>, packet: &Packet| {
            common(memory, Some(Says(says))).admits_by_control(port, &passage(packet))
        };
        let data = packet(Class::Plain, 84);
        // 84 B are free, of which alpha leaves the port half.
        let tight = Some((1_000, 0.5, 916));
        assert!(!admits(&plain, tight, None, &data), "the memory's own rule");
        assert!(admits(&plain, tight, Some(true), &data));
        assert!(
            !admits(&plain, tight, Some(true), &packet(Class::Plain, 85)),
            "no such room"
        );
        assert!(!admits(&plain, Some((9_000, 8.0, 0)), Some(false), &data));
        assert!(
            admits(&plain, None, Some(false), &data),
            "ports of their own buffers ask nobody"
        );
        let credits = port(&shaped());
        assert!(admits(
            &credits,
            tight,
            Some(false),
            &packet(Class::Credit, 84)
        ));
        assert!(!admits(&credits, tight, Some(false), &data));
        assert!(!admits(
            &plain,
            tight,
            Some(false),
            &packet(Class::Credit, 84)
        ));
    }

    #[test]
    fn what_is_refused_is_refused_for_the_memory_unless_that_has_room() {
        let why = |used, says| {
            let packet = packet(Class::Plain, 84);
            common(Some((1_000, 1.0, used)), says).why_refused(&passage(&packet))
        };
        assert_eq!(why(916, Some(Says(Some(false)))), DropReason::Headroom);
        assert_eq!(why(917, Some(Says(Some(false)))), DropReason::Memory);
        assert_eq!(why(1_001, Some(Says(Some(true)))), DropReason::Memory);
        assert_eq!(why(0, None), DropReason::Memory, "alpha times what is free");
    }

    #[test]
    fn the_deadline_is_that_of_the_flow_control() {
        assert_eq!(common(None, None).deadline(), Time::NEVER);
        assert_eq!(common(None, Some(Says(None))).deadline(), Time(77));
    }
}
