//! The bursts of a host's new flows: which packet leaves first, who gets them at the other end, and what their receiver
//! answers.

use super::early::FirstRtt;
use super::header::{self, Ack, Data, Nack, Probe, ProbeAck, Request};
use super::nic::FIFO_MAX;
use super::receiver::{Flows, Receiver};
use super::{ExpressPassHost, Host, PRIORITY};
use model::{Class, ConnId, Cx, Ecn, Packet, Transmit};
use std::collections::VecDeque;
use units::Time;

/// Connections whose end a host remembers one by one. [ours: 2 KB]
const ENDED_MAX: usize = 512;

/// Connections whose receivers a host has forgotten: a late copy of a burst must not deliver anything again.
///
/// The last ones are kept by number. Of those before them the highest number is: whatever is not above it
/// counts as known, and needs a request to open. Who opens connections numbers them upwards, so a new one rarely
/// is. [ours; the idea of an anti-replay window, RFC 4303 s3.4.3]
#[derive(Default)]
pub(super) struct Ended {
    last: VecDeque<ConnId>,
    below: Option<ConnId>,
}

impl Ended {
    pub(super) fn note(&mut self, conn: ConnId) {
        if self.last.len() == ENDED_MAX {
            self.below = self.below.max(self.last.pop_front());
        }
        self.last.push_back(conn);
    }

    /// Whether `conn` has been here, for all that is remembered.
    fn may_know(&self, conn: ConnId) -> bool {
        self.below >= Some(conn) || self.last.contains(&conn)
    }
}

impl ExpressPassHost {
    pub(super) fn on_unscheduled(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if self.host.settings.first_rtt == FirstRtt::Silent {
            self.host.totals.nonsense += 1;
            return;
        }
        let data = Data::read(packet);
        let Some(slot) = self
            .receiver_of
            .get(packet.conn)
            .or_else(|| self.open_by_burst(cx, packet.conn, data))
        else {
            // It came after the end, or may have: nothing is promised for it.
            self.host.totals.duplicates += 1;
            return;
        };
        let (host, flows) = (&mut self.host, &mut self.flows);
        self.receivers[slot].on_unscheduled(cx, host, flows, data);
        self.arm_receiver(slot);
    }

    /// The receiver of a new flow whose request was lost or is late: the frame asks in its stead. None where the
    /// flow may have been here before, and this a copy. [ours]
    fn open_by_burst(&mut self, cx: &Cx<'_>, conn: ConnId, data: Data) -> Option<u32> {
        if self.ended.may_know(conn) {
            return None;
        }
        let slot = self.receiver_for(cx, conn, data.one_shot)?;
        if data.exchange {
            self.expect_answer(conn, slot);
        }
        Some(slot)
    }

    /// The end of a burst for which nobody here waits: nothing of it came, or all is over and forgotten.
    /// A sender that has asked and got no answer begins again. One small packet for one.
    pub(super) fn answer_probe(&mut self, cx: &Cx<'_>, packet: &Packet) {
        self.host.totals.duplicates += 1;
        if Probe::read(packet).last
            && let Some(peer) = cx.peers.peer(self.id, packet.conn)
        {
            let size = self.host.settings.encap.frame_min;
            let all = Nack {
                next: 0,
                heard: 0,
                missing: 0,
            };
            self.host.nic.push(all.packet(peer, packet.conn, size));
        }
    }

    /// A new flow's burst takes its turn: after the others, or where the fewest bytes are left.
    pub(super) fn enlist(&mut self, slot: u32) {
        // One that has closed its burst keeps its place until its turn comes: it gets no second one.
        self.bursting.retain(|&other| other != slot);
        let left = self.senders[slot].left();
        let shorter = |&other: &u32| {
            !self.host.settings.shortest_first
                || self
                    .senders
                    .get(other)
                    .is_none_or(|sender| sender.left() <= left)
        };
        let place = self
            .bursting
            .iter()
            .rposition(shorter)
            .map_or(0, |place| place + 1);
        self.bursting.insert(place, slot);
        self.unusual = true;
    }

    /// What leaves where new flows burst, where something is paused, or where packets are marked as
    /// ECN-capable.
    #[cold]
    pub(super) fn poll_unusual(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        let bursting = !self.bursting.is_empty();
        let mut said = Transmit::Nothing;
        if self.burst_goes_first(cx.now) {
            said = self.transmit_burst(cx, out);
        }
        if said == Transmit::Nothing {
            said = self.poll_line(cx, out);
            self.burst_waited |= said != Transmit::Nothing && out.class() == Class::Scheduled;
        }
        if bursting {
            said = match said {
                Transmit::Nothing => self.transmit_early(cx, out),
                Transmit::More | Transmit::Last => Transmit::More,
            };
            self.note_unusual();
        }
        if self.host.settings.ect && out.class() != Class::Unscheduled {
            out.set_ecn(Ecn::Capable0);
        }
        said
    }

    /// The line's next packet that may leave.
    fn poll_line(&mut self, cx: &Cx<'_>, out: &mut Packet) -> Transmit {
        if self.gated && !cx.gates.may_say(PRIORITY) {
            self.host.nic.sleep();
            return Transmit::Nothing;
        }
        if let Some(packet) = self.aside.take() {
            *out = packet;
            self.note_unusual();
            return Transmit::More;
        }
        // Each turn takes a packet out of a bounded queue.
        loop {
            let said = self.host.nic.poll(cx.now, out);
            if let Some(class) = self.host.settings.in_band
                && said != Transmit::Nothing
            {
                header::in_band(out, class);
            }
            if said == Transmit::Nothing || !self.gated || cx.gates.may_leave(out) {
                return said;
            }
            if self.aside.len() < FIFO_MAX {
                self.aside.put(out.conn, *out);
            } else {
                self.host.nic.lose();
            }
        }
    }

    /// Whether an unscheduled packet leaves before the data that waits in the line: in turns, or where its
    /// flow has fewer bytes left. [ours; aeolus s4.2 has turns among new flows; ssp abstract]
    fn burst_goes_first(&self, now: Time) -> bool {
        let Some(burst) = self
            .bursting
            .front()
            .and_then(|&slot| self.senders.get(slot))
        else {
            return false;
        };
        let settings = &self.host.settings;
        let Some(conn) = self.host.nic.data_next(now) else {
            return false;
        };
        if settings.shortest_first {
            let sender = self
                .sender_of
                .get(conn)
                .and_then(|slot| self.senders.get(slot));
            return sender.is_some_and(|other| burst.left() < other.left());
        }
        // Such a burst takes only gaps.
        settings.first_rtt != FirstRtt::Gaps && self.burst_waited
    }

    /// The next unscheduled packet leaves, where there is one, or what the line has.
    fn transmit_early(&mut self, cx: &mut Cx<'_>, out: &mut Packet) -> Transmit {
        match self.transmit_burst(cx, out) {
            // A burst that ended without a packet may have left its probe.
            Transmit::Nothing => self.poll_line(cx, out),
            said => said,
        }
    }

    fn transmit_burst(&mut self, cx: &Cx<'_>, out: &mut Packet) -> Transmit {
        self.burst_waited = false;
        for _ in 0..self.bursting.len() {
            let slot = self
                .bursting
                .pop_front()
                .expect("one for each turn of the loop");
            let Some(sender) = self.senders.get_mut(slot) else {
                continue;
            };
            if self.gated && !cx.gates.may_send(sender.conn, PRIORITY) {
                self.bursting.push_back(slot);
                continue;
            }
            let Some(packet) = sender.burst_packet(&mut self.host) else {
                continue;
            };
            *out = packet;
            if sender.is_bursting() {
                if self.host.settings.shortest_first {
                    self.bursting.push_front(slot);
                } else {
                    self.bursting.push_back(slot);
                }
            }
            return Transmit::More;
        }
        Transmit::Nothing
    }
}

/// What a receiver does about a burst.
impl Receiver {
    /// An unscheduled frame has come: it is acknowledged by itself. [aeolus s3.3]
    pub(super) fn on_unscheduled(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        data: Data,
    ) {
        let Some(position) = self.arrived.position_of(data) else {
            host.totals.nonsense += 1;
            return;
        };
        self.ask_in_its_stead(cx, host, flows, position);
        self.repair.tell(cx.now); // its acknowledgement tells as much
        self.take(cx, host, flows, data, false);
        self.expect_less(cx, host, flows);
        let ack = Ack {
            position,
            arrived: self.next(),
        };
        answer(
            host,
            ack.packet(self.peer, self.conn, host.settings.encap.frame_min),
        );
    }

    /// What belongs to a burst has come, up to `position`, and no request for it: that was lost, and is not needed.
    fn ask_in_its_stead(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        position: u64,
    ) {
        if !self.is_quiet() || position < self.stopped_at {
            return;
        }
        let burst = host.settings.burst_frames.max(1);
        let wanted = Request {
            next: self.next(),
            // Nobody has said how much there is; at its end credits stop.
            packets: u32::from(burst) + 1,
            nth: 0, // none of the sender's
            crowd: 0,
            unasked: burst,
            exchange: false,
            one_shot: self.one_shot,
            known: false,
        };
        self.on_request(cx, host, flows, wanted);
    }

    /// Credits are given for what is now known to be lost of the burst.
    fn expect_less(&mut self, cx: &mut Cx<'_>, host: &mut Host, flows: &mut Flows) {
        let given = self.given();
        let missing = self.repair.missing(self.next());
        let lost = missing.div_ceil(host.settings.encap.payload_max.into());
        if let Some(flow) = self.crediting()
            && flows[flow].on_unscheduled(cx.now, lost, given)
        {
            self.give_held(cx, host, flows);
        }
    }

    /// The probe behind the unscheduled frame at `position` has come, the `last` of its burst or not.
    pub(super) fn on_probe(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        position: u64,
        last: bool,
    ) {
        if last && self.next() <= position {
            self.ask_in_its_stead(cx, host, flows, position);
        }
        self.repair.tell(cx.now);
        let (whole, rtt) = (self.next() > position, host.settings.base_rtt);
        if let Some(flow) = self.crediting()
            && last
            && flows[flow].end_burst(cx.now, rtt, whole)
        {
            self.give_held(cx, host, flows);
        }
        let ack = ProbeAck {
            position,
            arrived: self.next(),
        };
        answer(
            host,
            ack.packet(self.peer, self.conn, host.settings.encap.frame_min),
        );
    }
}

fn answer(host: &mut Host, packet: Packet) {
    host.counts.acks += 1;
    host.nic.push(packet);
}
