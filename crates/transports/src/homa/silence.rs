//! Time passes: what was granted does not come, nobody answers, and what is done is forgotten.

use super::header::{NeedAck, told};
use super::host::{Conn, Host, URGENT};
use super::sender::Silence;
use super::settings::Settings;
use model::{ConnId, Cx, HostId, Packet};
use parts::connections::Sending;
use units::Time;

/// Full frames that have room in what is no gap between arrivals. [ours: hosts vary by some microseconds]
const GAP: u64 = 8;
/// Gaps that are asked for at once. [ours]
const RESENDS_MAX: usize = 16;
/// Questions that are counted: the waits do not grow beyond. [ours]
const TRIES_MAX: u8 = 8;

/// What has come from the last port, which serves the most urgent first.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// When something came last, and when it did behind a gap.
    last: Time,
    gap: Time,
    /// When something of each priority came last.
    of: [Time; 8],
    /// Bytes of each priority that came.
    bytes: [u64; 8],
}

impl Incoming {
    /// A packet comes.
    #[inline]
    pub(super) fn note(&mut self, now: Time, packet: &Packet, settings: &Settings) {
        let begun = self.last.after(settings.line.of(packet.size.into()));
        // Hosts take their time: only a gap of some frames is one.
        if now > begun.after(settings.frame_time.times(GAP)) {
            self.gap = now;
        }
        self.last = now;
        let priority = usize::from(packet.priority() & 7);
        self.of[priority] = now;
        self.bytes[priority] += u64::from(packet.size);
    }

    /// When the port last had nothing to send that is as urgent as this.
    fn free_at(&self, now: Time, priority: u8, settings: &Settings) -> Time {
        if now > self.last.after(settings.frame_time.times(GAP + 1)) {
            return now;
        }
        let less = self.of.iter().skip(usize::from(priority) + 1);
        less.copied().fold(self.gap, Time::max)
    }
}

impl Host {
    /// The alarm of a connection rings.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let now = cx.now;
        let rx = &mut self.conns[slot].rx;
        if rx.wants && rx.grant_at <= now {
            rx.wants = false;
            self.on_progress(now, slot);
        }
        if self.conns[slot].rx.closes.is_some_and(|(at, _)| at <= now) {
            self.close_late(now, slot);
            self.on_progress(now, slot);
        }
        if self.conns[slot].rx.due(&self.settings) <= now && !self.ask_for_more(cx, slot) {
            return;
        }
        if self.conns[slot].tx.due(&self.settings) <= now && !self.ask_for_ack(cx, slot) {
            return;
        }
        self.settle(slot);
    }

    /// What was granted does not come. False where the connection was given up.
    fn ask_for_more(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let now = cx.now;
        let conn = &mut self.conns[slot];
        let wait = self.settings.patience(conn.rx.tries);
        let row = &mut conn.excused[0];
        if cx.gates.excuse_all(now, URGENT, wait, row).is_some() {
            // Our grants were held back.
            conn.rx.heard = now;
            return true;
        }
        // DEVIATES(homa linux): what waits behind more urgent packets is not lost, and is not asked for. After half
        // of `timeout` it is, as a living sender answers.
        let (since, timeout) = (conn.rx.since(), self.settings.timeout);
        let free = self.arrivals.free_at(now, conn.rx.priority, &self.settings);
        if free < since.after(wait) && now.since(since).times(2) < timeout {
            // Equals leave in the order of arrival: no more of them is ahead than was on the way.
            let (priority, came) = (conn.rx.priority, self.arrivals.bytes);
            let came = came[usize::from(priority & 7)];
            let first = conn.rx.asked <= since || conn.rx.behind.0 != priority;
            if first {
                conn.rx.behind = (priority, came + 2 * self.incoming);
            }
            if first || came < conn.rx.behind.1 {
                // What was silence before counts, and the rest of the wait begins now. [ours: a round trip at least]
                let rest = wait.0.saturating_sub(free.since(since).0);
                let rest = rest.max(self.settings.rtt.0);
                conn.rx.asked = Time((now.0 + rest).saturating_sub(wait.0));
                return true;
            }
        }
        if now >= since.after(timeout) {
            let peer = conn.peer;
            self.give_up(cx, slot);
            self.forget_silent(cx, peer);
            return false;
        }
        (conn.rx.asked, conn.rx.tries) = (now, (conn.rx.tries + 1).min(TRIES_MAX));
        let (id, peer, size) = (conn.id, conn.peer, self.settings.small());
        let length = conn.rx.end - conn.rx.base;
        let priority = self.settings.unasked(conn.rx.on_the_way(), length);
        let asks: Vec<_> = conn.rx.missing(priority, RESENDS_MAX).collect();
        for resend in asks {
            self.counts.resends += 1;
            self.say(resend.packet(peer, id, size));
        }
        let rx = &self.conns[slot].rx;
        if rx.rank.is_some() || rx.pledged > 0 {
            self.rank(slot);
            self.grant_all(now);
        }
        true
    }

    /// A peer has fallen silent: so have its messages that wait for their turn.
    fn forget_silent(&mut self, cx: &mut Cx<'_>, peer: HostId) {
        let (now, timeout) = (cx.now, self.settings.timeout);
        let silent = |conn: &&Conn| {
            conn.peer == peer
                && conn.rx.active
                && conn.tx.is_idle()
                && conn.rx.since().after(timeout) <= now
        };
        let ids: Vec<ConnId> = self
            .conns
            .iter()
            .filter(silent)
            .map(|conn| conn.id)
            .collect();
        for id in ids {
            let slot = self.conns.find(id).expect("it was there just now");
            self.give_up(cx, slot);
        }
    }

    /// Nothing is heard of our message. False where the connection was given up.
    fn ask_for_ack(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let wait = self.settings.patience(conn.tx.tries);
        let row = &mut conn.excused[1];
        if cx
            .gates
            .excuse(cx.now, conn.id, URGENT, wait, row)
            .is_some()
        {
            conn.tx.excuse(cx.now);
            return true;
        }
        match conn.tx.on_silence(cx.now, &self.settings) {
            Silence::GiveUp => {
                self.give_up(cx, slot);
                return false;
            }
            Silence::Repeat => {}
            Silence::Ask => {
                let ordinal = told(conn.tx.ordinal);
                let packet = NeedAck { ordinal }.packet(conn.peer, conn.id, self.settings.small());
                self.counts.need_acks += 1;
                self.say(packet);
            }
        }
        self.totals.timeouts += 1;
        true
    }
}
