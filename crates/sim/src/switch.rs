//! A switch: it finds the way, then lets the egress port decide.

use crate::node::{Log, Outlet, Sent};
use crate::setup::{PortCounters, SharedBuffer};
use crate::trace::Traced;
use model::{Class, Dequeue, DropReason, Packet, QueueDisc, Rng, Verdict};
use switching::Port as PortKind;
use topology::{LinkId, NodeId, Routes, Row, ecmp_index_salted, tier_salt};
use units::{LineTime, Span, Time};

/// The routing of a whole run: a new table whenever a link comes or goes.
pub(crate) struct Ways {
    /// From when each table holds, ascending; the first from the start.
    pub(crate) epochs: Vec<(Time, Routes)>,
}

impl Ways {
    /// When the table of `epoch` holds no more.
    fn ends(&self, epoch: usize) -> Time {
        self.epochs
            .get(epoch + 1)
            .map_or(Time::NEVER, |&(from, _)| from)
    }
}

/// What one switch looks up, and until when it holds.
pub(crate) struct Page<'a> {
    row: Row<'a>,
    pub(crate) until: Time,
}

/// One egress port.
pub(crate) struct Port {
    kind: PortKind,
    line: LineTime,
    delay: Span,
    link: u32,
    /// When the line is idle again.
    free_at: Time,
    /// When the next choice can be made; never, while nothing waits.
    choose_at: Time,
    /// Whether the port is in the switch's list of those that wait.
    listed: bool,
    /// For a first-in first-out port: below this wait, nobody is dropped or marked.
    quiet_below: Span,
    /// For a first-in first-out port: the longest time that the line was promised ahead.
    promised_max: Span,
    pub(crate) sent: Sent,
    pub(crate) counters: PortCounters,
}

/// What the late choices of a switch's ports have in common.
struct Late {
    /// Where disciplines write what leaves.
    slot: Packet,
    /// Bytes of the shared buffer in use, where there is one.
    shared_used: Option<u64>,
}

/// One switch.
pub(crate) struct Switch {
    node: NodeId,
    /// What its tier adds to the choice among equal ways.
    salt: u32,
    pub(crate) ports: Vec<Port>,
    /// Ports where something waits, in no order.
    waiting: Vec<u16>,
    epoch: usize,
    /// Set where packets choose their way one by one.
    spray: Option<Rng>,
    /// Set where the ports of this switch look at each other: choices then follow time across them.
    ordered: bool,
    shared: Option<SharedBuffer>,
    late: Late,
    /// A packet that finds its port idle may pass without queueing.
    may_pass: bool,
}

impl Late {
    #[inline]
    fn hold(&mut self, size: u64) {
        if let Some(used) = &mut self.shared_used {
            *used += size;
        }
    }

    #[inline]
    fn free(&mut self, size: u64) {
        if let Some(used) = &mut self.shared_used {
            *used -= size;
        }
    }
}

impl Port {
    pub(crate) fn new(kind: PortKind, link: u32, of: &topology::Link) -> Self {
        let line = LineTime::new(of.rate);
        let quiet_below = match &kind {
            PortKind::Fifo(fifo) => line.of(fifo.admission.quiet_below()),
            PortKind::Disc(_) => Span::ZERO,
        };
        Self {
            kind,
            line,
            delay: of.delay,
            link,
            free_at: Time::ZERO,
            choose_at: Time::NEVER,
            listed: false,
            quiet_below,
            promised_max: Span::ZERO,
            sent: Sent::default(),
            counters: PortCounters::default(),
        }
    }

    #[inline]
    fn disc(&mut self) -> &mut dyn QueueDisc {
        match &mut self.kind {
            PortKind::Disc(disc) => &mut **disc,
            PortKind::Fifo(_) => unreachable!("FIFO ports do not queue"),
        }
    }

    /// Puts a packet on the line at `start`.
    #[inline(always)]
    fn transmit(&mut self, start: Time, packet: &Packet, out: &mut impl Outlet) {
        self.sent.add(packet);
        self.free_at = start + self.line.of(u64::from(packet.size));
        out.send(self.link, packet, self.free_at + self.delay);
    }

    /// Promises the line of a FIFO to a packet that has come in at `now`, `wait` from then.
    #[inline(always)]
    fn promise(&mut self, now: Time, wait: Span, packet: &Packet, out: &mut impl Outlet) {
        self.transmit(now + wait, packet, out);
        let promised = self.free_at.since(now);
        // A branch, because it is rarely the longest.
        if promised > self.promised_max {
            self.promised_max = promised;
        }
    }

    /// Puts `packet` behind what a FIFO has promised, if it is admitted above its quiet part.
    #[inline(never)]
    fn squeeze_in(&mut self, now: Time, packet: &mut Packet, out: &mut impl Outlet) {
        let PortKind::Fifo(fifo) = &mut self.kind else {
            unreachable!("only FIFO ports promise")
        };
        let wait = self.free_at.since(now);
        match fifo.admission.judge(self.line.bytes(wait), 0, packet) {
            Ok(()) => self.promise(now, wait, packet, out),
            Err(reason) => self.drop(now, packet, reason, out),
        }
    }

    #[cold]
    fn drop(&mut self, now: Time, packet: &Packet, reason: DropReason, out: &mut impl Outlet) {
        self.counters.dropped[packet.class() as usize] += 1;
        self.counters.drop_reasons[reason as usize] += 1;
        out.lost(now, packet, Traced::Dropped(LinkId(self.link), reason));
    }

    /// What waits at `now`: bytes of data and credits, as the port's maxima count them. What is left
    /// of the frame on the line counts where the port is a plain FIFO, which knows nothing else.
    pub(crate) fn backlog(&self, now: Time) -> (u64, u32) {
        match &self.kind {
            PortKind::Fifo(_) => (self.line.bytes(self.free_at.since(now)), 0),
            PortKind::Disc(disc) => {
                let backlog = disc.backlog();
                (backlog.data_bytes, backlog.credits)
            }
        }
    }

    /// The link that it feeds.
    pub(crate) fn link(&self) -> u32 {
        self.link
    }

    /// Final counters, and the packets by class that still wait.
    pub(crate) fn finish(&mut self) -> [u64; 5] {
        (self.counters.packets, self.counters.bytes) = (self.sent.packets(), self.sent.bytes());
        match &self.kind {
            PortKind::Fifo(fifo) => {
                self.counters.queue_max = self.line.bytes(self.promised_max);
                self.counters.marked = fifo.admission.marked();
                [0; 5] // A FIFO hands packets to the link as they arrive.
            }
            PortKind::Disc(disc) => {
                disc.check();
                self.counters.queue_max = disc.peak().data_bytes;
                self.counters.credits_max = disc.peak().credits;
                self.counters.marked = disc.marked();
                disc.waiting()
            }
        }
    }
}

impl Switch {
    pub(crate) fn new(
        node: NodeId,
        tier: u8,
        ports: Vec<Port>,
        spray: Option<Rng>,
        ordered: bool,
        pass: bool,
        shared: Option<SharedBuffer>,
    ) -> Self {
        Self {
            node,
            salt: tier_salt(tier),
            ports,
            waiting: Vec::new(),
            epoch: 0,
            spray,
            ordered: ordered || shared.is_some(),
            may_pass: pass && shared.is_none(),
            shared,
            late: Late {
                slot: Packet::EMPTY,
                shared_used: shared.map(|_| 0),
            },
        }
    }

    /// The moment of the earliest choice that can be made.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        let mut next = Time::NEVER;
        for &port in &self.waiting {
            next = next.min(self.ports[usize::from(port)].choose_at);
        }
        next
    }

    /// The routing that holds at `now`, which is not before that of an earlier call.
    pub(crate) fn page<'a>(&mut self, now: Time, ways: &'a Ways) -> Page<'a> {
        while now >= ways.ends(self.epoch) {
            self.epoch += 1;
        }
        Page {
            row: ways.epochs[self.epoch].1.row_of(self.node),
            until: ways.ends(self.epoch),
        }
    }

    /// The port that leads `packet` on, or `None`.
    #[inline(always)]
    fn way(&mut self, packet: &Packet, page: &Page<'_>) -> Option<usize> {
        let (salt, spray) = (self.salt, &mut self.spray);
        let choose = |size: u32| match spray {
            #[allow(clippy::cast_possible_truncation, reason = "below the number of ports")]
            Some(rng) if packet.class() != Class::Credit => rng.below(size.into()) as u32,
            Some(_) | None => ecmp_index_salted(packet.conn.0 ^ packet.entropy() << 24, salt, size),
        };
        page.row.port(packet.to().0, choose).map(usize::from)
    }

    /// A packet has come in. `alone` says whether no other arrival of this node has the same moment.
    #[inline(always)] // once per packet-hop, from one loop: its invariants belong outside it
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        packet: &mut Packet,
        alone: impl FnOnce() -> bool,
        page: &Page<'_>,
        log: &mut Log,
        out: &mut impl Outlet,
    ) {
        if self.ordered {
            self.commit_all_before(now, out);
        }
        let Some(index) = self.way(packet, page) else {
            log.unreachable[packet.class() as usize] += 1;
            out.lost(now, packet, Traced::NoWay(self.node));
            return;
        };
        let port = &mut self.ports[index];
        match &mut port.kind {
            PortKind::Fifo(_) => {
                let wait = port.free_at.since(now);
                if wait < port.quiet_below {
                    port.promise(now, wait, packet, out);
                } else {
                    port.squeeze_in(now, packet, out);
                }
            }
            PortKind::Disc(_) => {
                // Choices before this arrival do not know of it.
                while port.choose_at < now {
                    choose(port, &mut self.late, out);
                }
                let idle = port.choose_at == Time::NEVER && port.free_at <= now;
                if idle && self.may_pass && alone() && port.disc().pass(now, packet) {
                    port.transmit(now, packet, out);
                } else {
                    self.offer(now, index, packet, out);
                }
            }
        }
    }

    /// Hands a packet to a discipline that keeps it for later.
    #[inline(never)]
    fn offer(&mut self, now: Time, index: usize, packet: &mut Packet, out: &mut impl Outlet) {
        let port = &mut self.ports[index];
        let size = u64::from(packet.size);
        if let (Some(shared), Some(used)) = (self.shared, self.late.shared_used) {
            let free = shared.size.get().saturating_sub(used) as f64;
            let held = port.disc().backlog().data_bytes as f64;
            if held + size as f64 > shared.alpha * free || used + size > shared.size.get() {
                port.drop(now, packet, DropReason::Full, out);
                return;
            }
        }
        match port.disc().enqueue(now, packet) {
            Verdict::Dropped(reason) => port.drop(now, packet, reason, out),
            Verdict::Queued => self.late.hold(size),
            Verdict::Evicted(other, reason) => {
                self.late.hold(size);
                self.late.free(u64::from(other.size));
                port.drop(now, &other, reason, out);
            }
        }
        port.choose_at = port.choose_at.min(now.max(port.free_at));
        if !port.listed {
            port.listed = true;
            self.waiting
                .push(u16::try_from(index).expect("a switch has at most 65,535 ports"));
        }
    }

    /// Makes every choice before `end`, in time order across ports: where ports are coupled.
    fn commit_all_before(&mut self, end: Time, out: &mut impl Outlet) {
        loop {
            let first = self
                .waiting
                .iter()
                .map(|&port| (self.ports[usize::from(port)].choose_at, port))
                .min()
                .filter(|&(at, _)| at < end);
            let Some((_, port)) = first else { return };
            choose(&mut self.ports[usize::from(port)], &mut self.late, out);
        }
    }

    /// Makes every choice before `end`.
    #[inline]
    pub(crate) fn commit_before(&mut self, end: Time, out: &mut impl Outlet) {
        if self.ordered {
            self.commit_all_before(end, out);
        }
        let mut kept = 0;
        for place in 0..self.waiting.len() {
            let index = self.waiting[place];
            let port = &mut self.ports[usize::from(index)];
            while port.choose_at < end {
                choose(port, &mut self.late, out);
            }
            if port.choose_at == Time::NEVER {
                port.listed = false;
            } else {
                self.waiting[kept] = index;
                kept += 1;
            }
        }
        self.waiting.truncate(kept);
    }

    /// Whether a choice before or at `now` is due.
    #[cfg(any(test, feature = "oracle"))]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next() <= now
    }

    /// Checks every discipline, and returns the packets that wait, by class.
    pub(crate) fn finish(&mut self) -> [u64; 5] {
        let mut waiting = [0; 5];
        for port in &mut self.ports {
            for (sum, count) in waiting.iter_mut().zip(port.finish()) {
                *sum += count;
            }
        }
        waiting
    }
}

/// Makes the choice that is due at `port.choose_at`.
#[inline(never)]
fn choose(port: &mut Port, late: &mut Late, out: &mut impl Outlet) {
    let at = port.choose_at;
    let next = match port.disc().dequeue(at, &mut late.slot) {
        Dequeue::Wait(until) => {
            debug_assert!(until > at, "a port that waits for the past waits for ever");
            port.choose_at = until;
            return;
        }
        Dequeue::Empty => {
            port.choose_at = Time::NEVER;
            return;
        }
        Dequeue::Packet => Time::ZERO,
        Dequeue::Then(next) => next,
        Dequeue::Last => Time::NEVER,
    };
    late.free(u64::from(late.slot.size));
    port.transmit(at, &late.slot, out);
    port.choose_at = next.max(port.free_at);
}
