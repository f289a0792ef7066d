//! A host and its arbiter: requests and allocations, whoever that is. [fastpass s3, s6]
//!
//! Where a run has an arbiter, every host has a lasting connection with it. Elsewhere, on a wire and in conversations
//! of two, each receiver is the arbiter of its own line, and is asked on the connection of the message.

use super::arbiter::{Arbiter, Request, Word};
use super::header::{Alloc, HOSTS_MAX, Req, SLOTS_TOLD, Wait};
use super::host::Host;
use super::settings::URGENT;
use super::turns::Turns;
use model::{ConnId, Cx, HostId, Packet};
use parts::arriving::Came;
use parts::connections::told;
use units::{Span, Time};

/// Who is asked for slots.
enum Asked {
    /// This host.
    Me,
    /// The arbiter, on this connection.
    On(ConnId, HostId),
    /// The receiver, on that of the message.
    Receiver,
}

impl Host {
    fn asked(&self) -> Asked {
        match (self.settings.arbiter, self.to_arbiter) {
            (Some(host), _) if host == self.settings.me => Asked::Me,
            (Some(host), Some(id)) => Asked::On(id, host),
            _ => Asked::Receiver,
        }
    }

    /// Asks for the slots that a message wants.
    pub(super) fn ask(&mut self, cx: &Cx<'_>, slot: u32, again: bool) {
        self.counts.asked_again += u64::from(again);
        let asked = self.asked();
        let conn = &self.conns[slot];
        let to = match asked {
            Asked::Receiver => told(conn.tx.ordinal).into(),
            _ => conn.peer.0 % HOSTS_MAX,
        };
        let req = Req {
            flow: conn.id.0,
            to,
            round: conn.tx.round,
            frames: conn.tx.wanted,
            late: conn.tx.late,
            lifetime: conn.lifetime,
            answer: !conn.opener,
            again,
        };
        match asked {
            Asked::Me => {
                let (host, conn, to) = (self.settings.me, conn.id, conn.peer);
                self.arbiter()
                    .on_request(cx.now, request(req, host, conn, to));
                self.counts.requests += 1;
            }
            Asked::On(id, host) => {
                let packet = req.packet(host, id, self.settings.small());
                self.say(packet);
            }
            Asked::Receiver => {
                let packet = req.packet(conn.peer, conn.id, self.settings.small());
                self.say(packet);
            }
        }
    }

    /// A message takes back what it wanted and has not got.
    pub(super) fn take_back(&mut self, cx: &Cx<'_>, slot: u32) {
        if self.conns[slot].tx.wants_none() {
            self.ask(cx, slot, false);
        }
    }

    fn arbiter(&mut self) -> &mut Arbiter {
        let plan = &self.settings.plan;
        self.arbiter
            .get_or_insert_with(|| Box::new(Arbiter::new(plan.clone())))
    }

    /// Somebody wants slots of this host.
    pub(super) fn on_request(&mut self, cx: &mut Cx<'_>, id: ConnId, req: Req) {
        let Some(peer) = cx.peers.peer(self.settings.me, id) else {
            self.totals.nonsense += 1;
            return;
        };
        let to = match self.settings.arbiter {
            Some(host) if host == self.settings.me => HostId(req.to),
            _ => {
                // The connection has to be open, and the message the one that comes next.
                if req.frames > 0 && !self.is_of_next(cx, id, &req) {
                    return;
                }
                self.settings.me
            }
        };
        self.counts.requests += 1;
        let request = request(req, peer, id, to);
        self.arbiter().on_request(cx.now, request);
    }

    /// Whether a request for this host's line is about the message that comes next on its connection.
    fn is_of_next(&mut self, cx: &mut Cx<'_>, id: ConnId, req: &Req) -> bool {
        let Some(slot) = self.place(cx, id, (req.lifetime, req.answer), false) else {
            return false;
        };
        let rx = &mut self.conns[slot].rx;
        let ordinal = told(req.to);
        let next = rx.arriving.of(ordinal);
        if next == Came::New {
            rx.on_request(cx.now);
            self.arm(slot);
            return true;
        }
        self.totals.duplicates += u64::from(next == Came::Past);
        self.totals.nonsense += u64::from(next == Came::Nonsense);
        false
    }

    /// The arbiter of this host does what is due, and says what it has to say.
    pub(super) fn arbitrate(&mut self, cx: &mut Cx<'_>) {
        let said = self.control.len() as u64;
        let behind = self.settings.word.times(said);
        let held = said > 0 && !cx.gates.may_say(URGENT);
        let Some(arbiter) = &mut self.arbiter else {
            return;
        };
        arbiter.work(cx.now, behind, held);
        while let Some(answer) = self
            .arbiter
            .as_mut()
            .and_then(|arbiter| arbiter.pop(cx.now))
        {
            let (host, conn, size) = (answer.host, answer.conn, self.settings.small());
            if host == self.settings.me {
                match answer.word {
                    Word::Alloc(alloc) => self.on_slots(cx, alloc),
                    Word::Wait(flow) => self.on_word(cx, flow),
                }
                continue;
            }
            let packet: Packet = match answer.word {
                Word::Alloc(alloc) => alloc.packet(host, conn, size),
                Word::Wait(flow) => Wait { flow }.packet(host, conn, size),
            };
            self.say(packet);
        }
    }

    /// Whether word of slots may come on this connection, for the connection `flow`.
    fn may_say(&self, id: ConnId, flow: u32) -> bool {
        match self.to_arbiter {
            Some(own) => own == id,
            None => id.0 == flow,
        }
    }

    /// Slots for a message of this host.
    pub(super) fn on_alloc(&mut self, cx: &mut Cx<'_>, id: ConnId, alloc: Alloc) {
        self.totals.credits_received += 1;
        if !self.may_say(id, alloc.flow) {
            self.totals.nonsense += 1;
            return;
        }
        self.on_slots(cx, alloc);
    }

    /// Words of slots that came and were of no use: as many of them as of their slots, to the nearest.
    pub(super) fn wasted(&self) -> u64 {
        let (told, unused) = (self.counts.slots_told, self.counts.slots_unused);
        let words = u128::from(self.totals.credits_received) * u128::from(unused);
        let nearest = (words + u128::from(told / 2)) / u128::from(told.max(1));
        u64::try_from(nearest).unwrap_or(u64::MAX)
    }

    fn on_slots(&mut self, cx: &mut Cx<'_>, alloc: Alloc) {
        let slots = u64::from(alloc.mask.count_ones());
        self.counts.slots_told += slots;
        let Some(slot) = self.conns.find(ConnId(alloc.flow)) else {
            self.counts.slots_unused += slots;
            return;
        };
        let (first, conn) = (self.first_of(cx.now, alloc.slot), &mut self.conns[slot]);
        conn.tx
            .hear_arbiter(cx.now, self.settings.arbiter.is_none());
        conn.tx.late = self.settings.shared && cx.now > first.after(self.settings.late);
        let of = (slot, conn.order, conn.tx.ordinal);
        let mut unused = 0;
        for (nth, way) in alloc.each() {
            let at = first.after(self.settings.slot.times(nth.into()));
            let chosen = (way, alloc.bits > 0);
            let turn = Turns::turn(at, of, chosen, alloc.number);
            if !conn.tx.on_slot() {
                unused += 1;
            } else if !self.turns.push(turn) {
                conn.tx.granted -= 1;
                unused += 1;
            }
        }
        self.counts.slots_unused += unused;
        self.settle(cx, slot);
    }

    /// When a slot begins of which the number is told modulo 2^14.
    fn first_of(&self, now: Time, slot: u16) -> Time {
        if !self.settings.shared {
            return now;
        }
        let length = self.settings.slot.0;
        let here = now.0 / length;
        let ahead = (u64::from(slot) + SLOTS_TOLD - here % SLOTS_TOLD) % SLOTS_TOLD;
        // What is more than half of all ahead is behind.
        let number = if ahead < SLOTS_TOLD / 2 {
            here + ahead
        } else {
            (here + ahead).saturating_sub(SLOTS_TOLD)
        };
        Time::ZERO.after(Span(length.saturating_mul(number)))
    }

    /// The arbiter knows of a request.
    pub(super) fn on_wait(&mut self, cx: &mut Cx<'_>, id: ConnId, flow: u32) {
        if self.may_say(id, flow) {
            self.on_word(cx, flow);
        } else {
            self.totals.nonsense += 1;
        }
    }

    fn on_word(&mut self, cx: &mut Cx<'_>, flow: u32) {
        if let Some(slot) = self.conns.find(ConnId(flow)) {
            self.conns[slot].tx.on_wait(cx.now);
            self.settle(cx, slot);
        }
    }
}

fn request(req: Req, host: HostId, conn: ConnId, to: HostId) -> Request {
    Request {
        host,
        conn,
        to,
        flow: req.flow,
        round: req.round,
        frames: req.frames,
        late: req.late,
        again: req.again,
    }
}
