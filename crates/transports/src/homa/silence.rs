//! Time passes: what was granted does not come, nobody answers, and what is done is forgotten.

use super::conn::Conn;
use super::header::{NeedAck, told};
use super::host::{Done, Host, URGENT};
use super::sender::Silence;
use model::{ConnId, ConnMap, Cx, Event, HostId};
use std::collections::VecDeque;
use units::Time;

/// Gaps that are asked for at once. [ours]
const RESENDS_MAX: usize = 16;
/// Questions that are counted: the waits do not grow beyond. [ours]
const TRIES_MAX: u8 = 8;
/// Connections that are done and remembered; the oldest is forgotten before its time. [ours]
const DONE_MAX: usize = 1 << 22;
/// So many are kept without a look at how many of them were told to be forgotten. [ours]
const DONE_MIN: usize = 64;

impl Host {
    /// The alarm of a connection rings.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let now = cx.now;
        let rx = &mut self.conns[slot].rx;
        if rx.wants && rx.grant_at <= now {
            rx.wants = false;
            self.on_progress(now, slot);
        }
        if self.conns[slot].rx_due(&self.settings) <= now && !self.ask_for_more(cx, slot) {
            return;
        }
        if self.tx_due(slot) <= now && !self.ask_for_ack(cx, slot) {
            return;
        }
        self.settle(slot);
    }

    fn tx_due(&self, slot: u32) -> Time {
        let conn = &self.conns[slot];
        conn.tx.due(&self.settings)
    }

    /// What was granted does not come. False where the connection was given up.
    fn ask_for_more(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let now = cx.now;
        let conn = &mut self.conns[slot];
        let wait = self.settings.patience(conn.rx.tries);
        if cx.gates.excuse_all(now, URGENT, wait).is_some() {
            // Our grants were held back.
            conn.rx.heard = now;
            return true;
        }
        if now >= conn.rx.since().after(self.settings.timeout) {
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
            let slot = self.conn_of.get(id).expect("it was there just now");
            self.give_up(cx, slot);
        }
    }

    /// Nothing is heard of our message. False where the connection was given up.
    fn ask_for_ack(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let wait = self.settings.patience(conn.tx.tries);
        if cx.gates.excuse(cx.now, conn.id, URGENT, wait).is_some() {
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

    /// What was remembered long enough is forgotten.
    pub(super) fn forget_done(&mut self, cx: &mut Cx<'_>) {
        while let Some(&done) = self.done.front().filter(|done| done.until <= cx.now) {
            self.done.pop_front();
            if self.done_of.get(done.conn) == Some(done.number) {
                self.done_of.remove(done.conn);
                cx.events.push(Event::Forgotten { conn: done.conn });
            }
        }
        if self.done.is_empty() {
            (self.done, self.done_of) = (VecDeque::new(), ConnMap::default());
        }
    }

    /// Remembers a connection that is done, and forgets the oldest where too many are remembered.
    pub(super) fn remember(&mut self, cx: &mut Cx<'_>, conn: &Conn) {
        let (id, number) = (conn.id, conn.order & (u32::MAX >> 1));
        let until = cx.now.after(self.settings.linger);
        self.done_of.insert(id, number);
        if self.done.len() >= DONE_MIN.max(2 * self.done_of.len()) {
            // Most were told to be forgotten.
            let done_of = &self.done_of;
            self.done
                .retain(|done| done_of.get(done.conn) == Some(done.number));
        }
        self.done.push_back(Done {
            until,
            conn: id,
            number,
        });
        while self.done_of.len() > DONE_MAX
            && let Some(first) = self.done.front_mut()
        {
            first.until = cx.now;
            self.forget_done(cx);
        }
    }
}
