//! A switch: packets in by one port, out by another, and what becomes of them in between.
//!
//! It does no input or output and reads no clock. Its driver hands in arrivals in the order of time and
//! tells it to make the choices that are due; an [`Outlet`] takes departing packets. A choice made at `s`
//! knows everything that arrived up to `s` and nothing later, so it may be made late:
//! before the next arrival at its port, and at the end of the driver's window at the latest.

mod apart;
mod back;
mod calm;
mod peaks;
mod quiet;
mod way;

use crate::accounts::Stay;
use crate::balance::Balancer;
use crate::common::{Common, choose_until};
use crate::discipline::{GateState, Verdict};
use crate::due::Due;
use crate::flow_control::{FlowControl, Passage, Say};
use crate::form::{Form, Wants, When};
use crate::port::Port;
use crate::watch::{Note, Noted, Watch};
use model::intent::{Balance, Memory, PortSpec, SwitchSpec};
use model::{ByClass, Class, DropReason, Hop, HostId, LinkCredits, Local, Packet, Rng};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use units::{LineTime, Span, Time};

/// Where packets go that a switch puts on a line, and who is told what became of others.
pub trait Outlet {
    /// Whether it keeps what travels beside packets ([`Packet::carries`]). Only then do packets that wait hold a
    /// [`Local`] of their node, and only then is [`Outlet::add`] called.
    const CARRIES: bool = false;

    /// Adds `hop` to the path beside `packet`, which leaves now.
    fn add(&mut self, packet: &Packet, hop: &Hop) {
        let _ = (packet, hop);
    }

    /// Hands over a packet whose last bit is at the far end of `link` at `at`. On one link, packets come
    /// in that order.
    fn send(&mut self, link: u32, packet: &Packet, at: Time);

    /// [`Outlet::send`] for several packets, until the first time that there is none.
    fn send_all<'p>(&mut self, link: u32, packets: impl Iterator<Item = (&'p Packet, Time)>) {
        packets.for_each(|(packet, at)| self.send(link, packet, at));
    }

    /// Learns that `packet` goes no further.
    fn lost(&mut self, at: Time, packet: &Packet, why: Loss) {
        let _ = (at, packet, why);
    }

    /// The host at the other end of the connection of `packet`, seen from where it goes; none where
    /// nobody knows.
    fn sender(&self, packet: &Packet) -> Option<HostId>;
}

/// Where and why a packet was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// At the port of this link.
    Port(u32, DropReason),
    /// Before a port was chosen.
    Switch(DropReason),
}

/// Which ports lead where.
pub trait Routing {
    /// The ports that lead to `host`; none where no way leads there.
    fn ways(&self, host: u32) -> &[u16];

    /// The port that leads to `host`; where there are several, that in the place that `choose` names.
    fn way(&self, host: u32, choose: impl FnOnce(&[u16]) -> u32) -> Option<u16> {
        let ways = self.ways(host);
        if ways.len() < 2 {
            return ways.first().copied();
        }
        Some(ways[choose(ways) as usize])
    }

    /// Which of `ways` equal ways a connection takes at a switch with this salt.
    fn way_of_flow(conn: u32, salt: u32, ways: u32) -> u32;
}

/// What one port of a switch is made from.
pub struct Line<'a> {
    /// What it must do.
    pub spec: &'a Arc<PortSpec>,
    /// The number of its link, as its [`Outlet`] knows it.
    pub link: u32,
    /// How long a byte takes on it.
    pub line: LineTime,
    /// How long the last bit travels.
    pub delay: Span,
    /// Its random stream.
    pub rng: Rng,
}

/// One switch. What each packet needs comes first, in one or two lines of the cache.
#[repr(C)]
pub struct Switch {
    /// Its ports, by number.
    pub ports: Vec<Port>,
    /// Ports where something waits, in no order. Of ports of which a flow control asks for the order of time, `due` keeps the
    /// moments instead; they may still be in the list.
    waiting: Vec<u16>,
    /// What its tier adds to the choice among equal ways.
    salt: u32,
    /// It has a flow control, and one that may assign queues.
    controlled: bool,
    assigns: bool,
    /// While its flow control is calm, choices need not follow time across ports: ports wait in the list as they do
    /// without one.
    may_be_calm: bool,
    calm: bool,
    /// The flow control may say that it does not speak of other ports when something leaves by one.
    may_be_quiet: bool,
    /// Packets do not all keep to the way of their connection; credits do, where a port shapes them.
    chooses: bool,
    shapes_credits: bool,
    /// Set where the ports of this switch look at each other: choices then follow time across them.
    ordered: bool,
    /// A packet that finds its port idle may pass without queueing.
    may_pass: bool,
    /// Its flow control had no deadline when it was asked last, and has not got one since: see [`FlowControl::speaks`].
    without_deadline: bool,
    /// Where ports look at each other: neither a choice nor a deadline is due before this moment.
    quiet_until: Time,
    common: Common,
    due: Due,
    balancer: Balancer,
    /// Packets that were lost before a port was chosen: by class,
    /// and reason, and the port by which they came.
    astray: BTreeMap<(u16, DropReason), ByClass<u64>>,
    /// Frames of neighbours' flow controls.
    heard: u64,
}

impl Switch {
    /// A switch of `spec` with these ports. `salt` is what its tier adds to hashes; `rng` is its own.
    ///
    /// # Panics
    /// If it has more than 65,535 ports.
    pub fn new<'a>(
        spec: &SwitchSpec,
        lines: impl Iterator<Item = Line<'a>>,
        salt: u32,
        rng: impl FnOnce() -> Rng,
        control: Option<Box<dyn FlowControl>>,
    ) -> Self {
        let balancer = Balancer::new(spec.balance, rng);
        let memory = match spec.memory {
            Memory::PerPort => None,
            Memory::Shared { size, alpha } => Some((size.get(), alpha, 0)),
        };
        let gates_alone = control.as_ref().is_some_and(|own| own.gates_alone());
        let wants = if gates_alone {
            Wants::Gates
        } else if control.is_some() {
            Wants::Queues
        } else if memory.is_some() || spec.telemetry {
            Wants::Late
        } else {
            Wants::Cheapest
        };
        let mut last: Option<(&Arc<PortSpec>, When)> = None; // most ports are of the specification of the one before
        let ports: Vec<Port> = (0..=u16::MAX)
            .zip(lines)
            .map(|(number, line)| {
                let buffer = memory.map_or(line.spec.buffer.get(), |(size, ..)| size);
                let known = last.filter(|(spec, _)| Arc::ptr_eq(spec, line.spec));
                let (_, when) = known.unwrap_or_else(|| (line.spec, When::of(line.spec, wants)));
                last = Some((line.spec, when));
                let rng = line.rng.clone();
                let form = Form::by(when, line.spec, buffer, line.line, rng, wants);
                Port::new(form, &line, number, spec.telemetry)
            })
            .collect();
        assert!(u16::try_from(ports.len()).is_ok(), "{} ports", ports.len());
        let may_be_calm =
            gates_alone && !balancer.looks_at_ports() && ports.iter().all(Port::has_gates_alone);
        let may_be_quiet = control.is_some() && !gates_alone && !balancer.looks_at_ports();
        let minds = |class: &Class| control.as_ref().is_some_and(|own| own.minds(*class));
        let minded = Class::ALL.into_iter().filter(minds);
        let minded = minded.fold(0, |bits, class| bits | 1 << class as u8);
        let mut switch = Self {
            salt,
            due: Due::new(if control.is_some() { ports.len() } else { 0 }),
            shapes_credits: ports.iter().any(Port::shapes_credits),
            ports,
            waiting: Vec::new(),
            controlled: control.is_some(),
            assigns: !gates_alone,
            may_be_calm,
            calm: false,
            may_be_quiet,
            ordered: control.is_some() || balancer.looks_at_ports(),
            quiet_until: Time::ZERO, // to be found out
            without_deadline: false,
            chooses: spec.balance != Balance::Flow,
            balancer,
            may_pass: control.is_none() || gates_alone,
            common: Common {
                slot: Packet::EMPTY,
                memory,
                minded,
                control,
                say: Say::default(),
                bounced: Vec::new(),
                watch: None,
                accounts: None,
            },
            astray: BTreeMap::new(),
            heard: 0,
        };
        switch.calm_down();
        switch.quieten_all();
        switch
    }

    /// Makes every choice in the order of time, or queues every packet, although nothing asks for it: to
    /// test that neither changes a result.
    pub fn slowly(&mut self, ordered: bool, queued: bool) {
        self.ordered |= ordered;
        if ordered {
            self.never_be_calm();
        }
        self.may_pass &= !queued;
    }

    /// The moment of the earliest choice that can be made, or of the flow control's deadline.
    #[inline]
    pub fn next(&self) -> Time {
        let mut next = Time::NEVER;
        if self.controlled && !self.calm {
            next = self.common.deadline();
            if !self.may_be_quiet {
                next = next.min(self.due.earliest());
            }
            let loud = (0..).map_while(|place| self.due.in_row(place));
            for index in loud {
                next = next.min(self.ports[index].choose_at());
            }
        }
        for &port in &self.waiting {
            next = next.min(self.ports[usize::from(port)].choose_at());
        }
        next
    }

    /// Packets, by class, to which no way led or that had no hop left, by the port by which they came, with why they were
    /// lost.
    pub fn astray(&self) -> impl Iterator<Item = (u16, DropReason, &ByClass<u64>)> {
        let all = self.astray.iter();
        all.map(|(&(ingress, why), lost)| (ingress, why, lost))
    }

    /// Frames of neighbours' flow controls that it has heard.
    pub fn heard(&self) -> u64 {
        self.heard
    }

    /// What the neighbour at `port` may send before it has heard anything; none where it may send on.
    pub fn grants(&self, port: u16) -> Option<LinkCredits> {
        let control = self.common.control.as_ref()?;
        control.grants(port)
    }

    /// Notes what its flow control does within `window`, and which queues packets of these connections join, or of all; so
    /// many notes at most.
    pub fn watch(&mut self, conns: Option<Vec<u32>>, most: usize, window: Range<Time>) {
        self.never_be_calm(); // notes are in the order of time
        self.keep_accounts();
        self.common.watch = Some(Box::new(Watch::new(conns, most, window)));
    }

    /// What it has noted, in the order of time, and how much there was no room for.
    pub fn notes(&self) -> (Vec<Note>, u64) {
        let watch = self.common.watch.as_deref();
        watch.map(Watch::all).unwrap_or_default()
    }

    /// Names what its flow control has counted.
    pub fn count(&self, tell: &mut dyn FnMut(&'static str, u64)) {
        if let Some(control) = &self.common.control {
            control.count(tell);
        }
    }

    /// A packet has come in by port `ingress`. `alone` says whether no other arrival of this switch has the same
    /// moment.
    pub fn arrive<R: Routing, O: Outlet>(
        &mut self,
        now: Time,
        ingress: u16,
        packet: &mut Packet,
        alone: impl FnOnce() -> bool,
        routing: &R,
        out: &mut O,
    ) {
        if O::CARRIES && self.common.control.is_none() {
            packet.set_tagged(false); // a tag is for the next node alone
        }
        if self.ordered {
            self.step::<true, R>(now, || ingress, packet, alone, routing, out);
        } else {
            self.step::<false, R>(now, || ingress, packet, alone, routing, out);
        }
    }

    /// Whether choices follow time across its ports.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// [`Switch::arrive`], for a driver that has asked [`Switch::is_ordered`] before many of them. `ingress` is
    /// asked where it matters.
    #[inline(always)] // once per packet-hop, from one loop: its invariants belong outside it
    pub fn step<const ORDERED: bool, R: Routing>(
        &mut self,
        now: Time,
        ingress: impl Fn() -> u16,
        packet: &mut Packet,
        alone: impl FnOnce() -> bool,
        routing: &R,
        out: &mut impl Outlet,
    ) {
        debug_assert_eq!(ORDERED, self.ordered);
        if ORDERED {
            if self.quiet_until < now {
                self.commit_ordered_before(now, out); // what does not know of this arrival
            }
            if packet.is_of_link() {
                self.hear(now, ingress(), packet, out);
                return;
            }
        }
        if !packet.hop() {
            self.lose(now, ingress(), packet, DropReason::Ttl, out);
            self.turn_away(now, ingress(), packet, out);
            return;
        }
        let Some(index) = self.way(now, packet, routing) else {
            self.lose(now, ingress(), packet, DropReason::Unreachable, out);
            self.turn_away(now, ingress(), packet, out);
            return;
        };
        if !ORDERED && self.common.memory.is_none() {
            self.come_to(now, index, packet, alone, routing, out);
            return;
        }
        let port = &mut self.ports[index];
        if ORDERED && self.may_be_quiet && port.is_numbered() {
            self.offer_quietly(now, ingress(), index, packet, alone, out);
            return;
        }
        if port.is_fifo() {
            port.promise(now, packet, out);
            return;
        }
        if ORDERED && self.controlled {
            let alone = alone();
            if self.calm && self.offer_calm(now, ingress(), index, packet, alone, out) {
                return;
            }
            let free = self.may_pass && self.quiet_until > now && alone;
            self.offer_controlled(now, ingress(), index, packet, free, out);
            if !self.common.bounced.is_empty() {
                self.bounce_back(now, routing, out);
            }
            return;
        }
        if !ORDERED && port.choose_at() < now {
            // Choices before this arrival do not know of it.
            self.common.drain(port, now, out);
        }
        if port.is_idle(now)
            && self.may_pass
            && self.common.has_room(packet)
            && alone()
            && port.pass(now, packet)
        {
            port.transmit(now, packet, out);
        } else {
            self.offer_coupled(now, ingress(), index, packet, out);
            if !self.common.bounced.is_empty() {
                self.bounce_back(now, routing, out);
            }
        }
    }

    /// Counts a packet that goes no further, before a port was chosen.
    #[cold]
    fn lose(
        &mut self,
        now: Time,
        ingress: u16,
        packet: &Packet,
        why: DropReason,
        out: &mut impl Outlet,
    ) {
        self.astray.entry((ingress, why)).or_default()[packet.class()] += 1;
        out.lost(now, packet, Loss::Switch(why));
    }

    /// Tells the flow control of a packet that goes no further.
    #[cold]
    fn turn_away(&mut self, now: Time, ingress: u16, packet: &Packet, out: &mut impl Outlet) {
        let tell = |control: &mut dyn FlowControl, say: &mut Say| {
            control.turned_away(ingress, packet, say);
        };
        self.tell(now, tell, out);
    }

    /// Tells the flow control, where there is one, of something on which it may act.
    fn tell(
        &mut self,
        now: Time,
        tell: impl FnOnce(&mut dyn FlowControl, &mut Say),
        out: &mut impl Outlet,
    ) {
        if self.calm {
            self.settle(now, out);
        }
        if let Some(control) = &mut self.common.control {
            tell(&mut **control, &mut self.common.say);
            if self.calm && !control.is_calm() {
                self.rouse();
            }
            self.heed(now, out);
        }
    }

    /// Hands a packet to a port that keeps it for later, of a switch whose ports may have something in common.
    #[inline(never)]
    fn offer_coupled(
        &mut self,
        now: Time,
        ingress: u16,
        index: usize,
        packet: &mut Packet,
        out: &mut impl Outlet,
    ) {
        if self.common.control.is_some() {
            self.offer_controlled(now, ingress, index, packet, false, out);
        } else if self.common.admits(&self.ports[index], packet)
            || self.admits_now(now, index, packet, out)
        {
            let held = self.ports[index].held();
            self.offer(now, index, packet, out);
            self.common.account(held, &self.ports[index]);
        } else {
            self.offer_cut(now, index, packet, out);
        }
    }

    /// The same where they have nothing in common, or none of it stands in the way.
    #[inline(never)]
    fn offer(&mut self, now: Time, index: usize, packet: &mut Packet, out: &mut impl Outlet) {
        let port = &mut self.ports[index];
        match port.enqueue(now, packet) {
            Verdict::Queued(_) => {}
            Verdict::Dropped(reason) => {
                let reason = self.common.why_dropped(now, port, packet, reason);
                port.drop(now, packet, reason, out);
            }
            Verdict::Bounced => self.common.bounce(index, packet),
        }
        if port.has_spilled() {
            self.common.clear_up(now, index, port, out);
        }
        self.enlist(now, index);
    }

    /// Whether the shared memory has room at `now`. What has left other ports since their last choice still
    /// counted, and memory only gets emptier by it: so they are asked where it seems full, and only there.
    #[cold]
    #[inline(never)]
    fn admits_now(
        &mut self,
        now: Time,
        index: usize,
        packet: &Packet,
        out: &mut impl Outlet,
    ) -> bool {
        self.commit_ordered_before(now, out);
        self.common.admits(&self.ports[index], packet)
    }

    /// Hands a packet to a port of a switch with a flow control. `free` says that nothing else of this switch is due now.
    #[inline(never)]
    #[allow(clippy::too_many_lines, reason = "one piece, for every packet")]
    fn offer_controlled<O: Outlet>(
        &mut self,
        now: Time,
        ingress: u16,
        index: usize,
        packet: &mut Packet,
        free: bool,
        out: &mut O,
    ) {
        if self.ports[index].choose_at() < now {
            self.drain_quiet(index, now, out);
        }
        let (port, common) = (&mut self.ports[index], &mut self.common);
        let Some(control) = &mut common.control else {
            unreachable!("asked of a switch that has one")
        };
        let mut local = Local::of(packet);
        let passage = Passage {
            packet: &Packet::EMPTY,
            ingress,
            egress: port.number(),
            queue: 0,
            held: port.held(),
            tag: packet.has_tag().then_some(local.tag),
        };
        let asked = Passage { packet, ..passage };
        let minds = common.minded >> packet.class_index() & 1 == 1;
        let assigned = if self.assigns && minds {
            control.assign(now, &asked)
        } else {
            None
        };
        if !common.admits_by_control(port, &asked) && !self.admits_quietly(now, index, &asked, out)
        {
            let why = self.common.why_refused(&asked);
            self.ports[index].drop(now, packet, why, out);
            return;
        }
        let (port, common) = (&mut self.ports[index], &mut self.common);
        let free = free && port.is_idle(now) && ingress != passage.egress;
        if free && !self.assigns && port.pass(now, packet) {
            common.passed(now, &Passage { packet, ..passage }, port.last_queue());
            if O::CARRIES {
                packet.set_tagged(false);
            }
            port.transmit(now, packet, out);
            self.heed(now, out);
            return;
        }
        // Where it came from is remembered in the place of a moment that is over.
        local.ingress = ingress;
        local.put(packet);
        match port.enqueue_in(now, assigned, packet) {
            Verdict::Dropped(reason) => {
                let reason = common.why_dropped(now, port, packet, reason);
                port.drop(now, packet, reason, out);
                if let Some(control) = &mut common.control {
                    control.turned_away(ingress, packet, &mut common.say);
                }
            }
            Verdict::Bounced => common.bounce(index, packet),
            Verdict::Queued(queue) => {
                let (before, held) = (passage.held, port.held());
                let passage = Passage {
                    packet,
                    queue,
                    held,
                    ..passage
                };
                if let Some(accounts) = &mut common.accounts {
                    let of = Stay {
                        ingress,
                        egress: passage.egress,
                        queue,
                        priority: packet.priority(),
                    };
                    accounts.add(of, held - before);
                }
                if let Some(control) = common.control.as_mut().filter(|_| minds) {
                    control.arrived(now, &passage, &mut common.say);
                }
                if let Some(watch) = &mut common.watch {
                    watch.note(now, passage.egress, Noted::Joined(queue, *packet));
                    watch.note_pauses(now, &common.say, &passage, common.accounts.as_deref());
                }
            }
        }
        if port.has_spilled() {
            common.clear_up(now, index, port, out);
        }
        common.account(passage.held, port);
        self.enlist(now, index);
        if !self.common.say.is_empty() {
            self.raise(index);
        }
        self.heed(now, out);
    }

    /// Notes that something may wait at port `index`.
    #[inline(always)] // once per queued packet
    fn enlist(&mut self, now: Time, index: usize) {
        let port = &mut self.ports[index];
        if self.controlled && !self.calm && port.loud {
            let before = port.choose_at();
            port.look_at(now);
            if port.choose_at() < before {
                self.set_due(index);
            }
            return;
        }
        port.look_at(now);
        if self.ordered && !self.controlled {
            self.quiet_until = self.quiet_until.min(port.choose_at());
        }
        if port.enlist() {
            #[allow(clippy::cast_possible_truncation, reason = "checked in `new`")]
            self.waiting.push(index as u16);
        }
    }

    /// The frame of a neighbour's flow control has come in.
    #[inline(never)]
    fn hear(&mut self, now: Time, ingress: u16, frame: &Packet, out: &mut impl Outlet) {
        self.heard += 1;
        self.drain_quiet(usize::from(ingress), now, out);
        let tell = |control: &mut dyn FlowControl, say: &mut Say| {
            control.heard(now, ingress, frame, say);
        };
        self.tell(now, tell, out);
    }

    /// Does what the flow control has said: gates first, then frames on their lines.
    fn heed(&mut self, now: Time, out: &mut impl Outlet) {
        if self.common.control.is_none() {
            return;
        }
        if !self.common.say.is_empty() {
            self.obey(now, None, out);
        }
        // What it was told of may have set its deadline.
        self.without_deadline = false;
        self.quiet_until = self.quiet_until.min(self.common.deadline());
    }

    /// The same, of something said; of a choice of port `after` where there is one: choices of earlier ports at this moment
    /// are made before.
    #[inline(never)]
    fn obey(&mut self, now: Time, after: Option<usize>, out: &mut impl Outlet) {
        self.without_deadline = false;
        let mut said = std::mem::take(&mut self.common.say);
        for (port, conn, queue) in said.kept.drain(..) {
            if let Some(watch) = &mut self.common.watch {
                watch.note(now, port, Noted::Kept(conn, queue));
            }
        }
        for (port, gate) in said.gates.drain(..) {
            if let Some(watch) = &mut self.common.watch {
                watch.note(now, port, Noted::Gate(gate));
            }
            self.catch_up(port.into(), now, after, out);
            self.ports[usize::from(port)].gate(now, gate);
            if gate.state != GateState::Closed {
                self.enlist(now, usize::from(port));
            }
        }
        for (port, frame) in said.frames.drain(..) {
            self.catch_up(port.into(), now, after, out);
            self.ports[usize::from(port)].say(frame);
            self.enlist(now, usize::from(port));
        }
        said.blamed.clear();
        said.any = false;
        for port in said.pauses.drain(..) {
            self.ports[usize::from(port)].count_pause();
        }
        self.common.say = said; // its room is used again
    }

    /// Makes every choice before `end` where ports look at each other. What a flow control says depends on
    /// the order of choices; what a memory holds and which ports are idle does not.
    fn commit_ordered_before(&mut self, end: Time, out: &mut impl Outlet) {
        if self.common.control.is_some() {
            self.commit_all_before(end, out);
            return;
        }
        self.quiet_until = Time::NEVER;
        for &index in &self.waiting {
            let port = &mut self.ports[usize::from(index)];
            if port.choose_at() < end {
                self.common.drain(port, end, out);
            }
            self.quiet_until = self.quiet_until.min(port.choose_at());
        }
    }

    /// Makes every choice before `end`, in time order across ports.
    fn commit_all_before(&mut self, end: Time, out: &mut impl Outlet) {
        let mut deadline = if self.without_deadline {
            Time::NEVER
        } else {
            self.common.deadline()
        };
        loop {
            let first = self.due.earliest();
            self.quiet_until = first.min(deadline);
            if self.quiet_until >= end {
                self.without_deadline = self.may_be_quiet && deadline == Time::NEVER;
                return;
            }
            if deadline <= first {
                self.settle_quiet(deadline, out);
                if let Some(control) = &mut self.common.control {
                    control.on_deadline(deadline, &mut self.common.say);
                    assert!(control.deadline() > deadline, "an instant without an end");
                }
                self.heed(deadline, out);
                deadline = self.common.deadline();
            } else {
                let index = self.due.port();
                // Of one alone nothing is in the order of time with that of others, until it is said.
                let alone = self.due.is_alone() && deadline == Time::NEVER;
                let until = if alone { end } else { Time(first.0 + 1) };
                let port = &mut self.ports[index];
                let at = choose_until(port, &mut self.common, until, out);
                self.due.set_first(self.due_of(index));
                let said = !self.common.say.is_empty();
                if said {
                    self.obey(at, Some(index), out);
                    if self.may_be_quiet {
                        self.quieten(index);
                    }
                }
                if said || deadline < Time::NEVER || !self.may_be_quiet {
                    deadline = self.common.deadline();
                }
            }
        }
    }

    /// Makes every choice before `end`. Returns [`Switch::next`].
    #[inline(always)] // once per node and window, from two places
    pub fn commit_before(&mut self, end: Time, out: &mut impl Outlet) -> Time {
        if self.controlled && !self.calm {
            self.commit_all_before(end, out);
            if self.may_be_quiet {
                return self.commit_quiet_before(end, out);
            }
            self.calm_down();
            return self.next();
        }
        if self.calm {
            self.settle(end, out);
        }
        let (mut kept, mut next) = (0, Time::NEVER);
        for place in 0..self.waiting.len() {
            let index = self.waiting[place];
            let port = &mut self.ports[usize::from(index)];
            if port.choose_at() < end {
                self.common.drain(port, end, out);
            }
            if port.choose_at() == Time::NEVER {
                port.delist();
            } else {
                next = next.min(port.choose_at());
                self.waiting[kept] = index;
                kept += 1;
            }
        }
        self.waiting.truncate(kept);
        next
    }

    /// Panics where an invariant of its ports or of its flow control is broken.
    pub fn check(&self) {
        self.ports.iter().for_each(Port::check);
        if let Some((size, _, used)) = self.common.memory {
            let held: u64 = self.ports.iter().map(Port::held).sum();
            assert_eq!(held, used, "bytes in the shared memory");
            assert!(used <= size, "{used} B in a memory of {size}");
            if let Some(accounts) = &self.common.accounts {
                accounts.check(used);
            }
        }
        if let Some(control) = &self.common.control {
            control.check();
            let loud = (0..self.ports.len()).filter(|&index| self.ports[index].loud);
            let earliest = loud.map(|index| self.due_of(index)).min();
            let earliest = earliest.unwrap_or(Time::NEVER);
            let known = self.due.earliest();
            // A packet that goes before what is minded may have come since.
            let knows = known == earliest || self.may_be_quiet && known < earliest;
            assert!(self.calm || knows, "whose turn it is");
        }
    }
}

#[cfg(test)]
mod tests;
