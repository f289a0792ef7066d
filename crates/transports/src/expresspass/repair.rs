//! What a receiver says of gaps in its stream, where data leaves before the first credit. [ours; aeolus
//! s3.3 tells of unscheduled packets alone, which their sender accounts for]
//!
//! Packets of a flow keep their order, and every report names the last credit that the receiver has heard
//! of. So a sender knows which of the missing frames can still be on their way, and a receiver may report
//! them as often as it likes. It does at a jump in what is sent for the first time, once per round trip
//! while frames come in behind a gap, and behind a STOP, which leaves after the last frame of all.

use super::Host;
use super::early::FirstRtt;
use super::header::{Ack, Data, Nack, ProbeAck, Request};
use super::receiver::{Flows, Receiver};
use model::{Cx, Packet};
use parts::reassembly::End;
use units::Time;

/// How far beyond a gap data is kept, in positions: a bandwidth-delay product of 800 Gb/s and
/// 160 us. A liar cannot make a receiver keep more. [ours]
const AHEAD_MAX: u64 = 1 << 24;
/// Gaps that are reported at once. [ours]
const NACKS_MAX: usize = 16;

impl Receiver {
    /// An unscheduled frame has come: it is acknowledged by itself. [aeolus s3.3]
    pub(super) fn on_unscheduled(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        flows: &mut Flows,
        data: Data,
    ) {
        let Some(position) = self.position_of(data) else {
            host.totals.nonsense += 1;
            return;
        };
        self.ask_in_its_stead(cx, host, flows, position);
        self.swept_at = Some(cx.now); // its acknowledgement tells as much
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
        let beyond = self.pieces.highest(self.next()) - self.next();
        let missing = beyond - self.pieces.total().min(beyond);
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
        self.swept_at = Some(cx.now);
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

    /// Keeps a frame behind a gap.
    pub(super) fn keep(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host,
        data: Data,
        start: u64,
        scheduled: bool,
    ) {
        let end = start + u64::from(data.length.max(1));
        let last = data.end.then_some(End {
            at: end,
            blank: data.length == 0,
        });
        if end - self.next() > AHEAD_MAX || !self.pieces.keep(start, end, last) {
            host.totals.duplicates += 1;
            return;
        }
        if data.length > 0 {
            cx.accept(self.conn, data.offset, data.length);
        }
        let rtt = self.rtt.unwrap_or(host.settings.base_rtt);
        if scheduled && self.swept_at.is_none_or(|at| cx.now.since(at) >= rtt) {
            // What the sender knew to be lost a round trip ago left before this frame.
            self.nack_all(cx.now, host, start);
        }
    }

    /// Asks again for what a jump in first transmissions shows to be lost. Unscheduled packets
    /// count under SSP alone: elsewhere the sender finds out about them by itself. [ours]
    pub(super) fn mind_the_gap(
        &mut self,
        host: &mut Host,
        data: Data,
        start: u64,
        scheduled: bool,
    ) {
        let ssp = host.settings.first_rtt == FirstRtt::Ssp;
        if data.again || !(scheduled || ssp) {
            return;
        }
        let end = start + u64::from(data.length.max(1));
        let in_run = std::mem::replace(&mut self.in_run, true) || ssp;
        if in_run && start > self.seen {
            let report = self.report(host, self.seen, start);
            host.nic.push(report);
        }
        self.seen = self.seen.max(end);
    }

    /// A NACK of one gap.
    fn report(&self, host: &Host, from: u64, until: u64) -> Packet {
        #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        let nack = Nack {
            next: from,
            heard: self.heard as u16,
            missing: u32::try_from(until - from).unwrap_or(u32::MAX),
        };
        nack.packet(self.peer, self.conn, host.settings.encap.frame_min)
    }

    /// Asks for every gap below `end`, the oldest ones where there are many.
    pub(super) fn nack_all(&mut self, now: Time, host: &mut Host, end: u64) {
        let gaps = self.pieces.gaps(self.next(), end).take(NACKS_MAX);
        for (from, until) in gaps {
            let report = self.report(host, from, until);
            host.nic.push(report);
        }
        self.swept_at = Some(now);
    }
}

fn answer(host: &mut Host, packet: Packet) {
    host.counts.acks += 1;
    host.nic.push(packet);
}
