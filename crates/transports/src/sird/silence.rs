//! Time passes: credit goes unused, what had some does not come, and nobody answers.

use super::host::{Host, URGENT};
use super::receiver::Overdue;
use model::{Cx, Event};
use parts::announced::Silence;

impl Host {
    /// The alarm of a connection rings, perhaps too early.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>, slot: u32) {
        if self.conns[slot].rx.due(&self.settings) <= cx.now && !self.on_nothing_came(cx, slot) {
            return;
        }
        if self.conns[slot].tx.due(&self.settings) <= cx.now && !self.on_silence(cx, slot) {
            return;
        }
        self.arm(slot);
    }

    /// A hole, or unused credit, or the sender, is waited for no more. False where it was given up.
    fn on_nothing_came(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let (rx, row) = (&mut conn.rx, &mut conn.excused[0]);
        let gone = rx.heard.after(self.settings.timeout) <= cx.now;
        let wait = if gone {
            self.settings.timeout
        } else {
            rx.patience(&self.settings)
        };
        if cx.gates.excuse_all(cx.now, URGENT, wait, row).is_some() {
            // Our credit was held back.
            rx.excuse(cx.now, gone);
            return true;
        }
        if gone {
            self.give_up(cx, slot);
            return false;
        }
        let overdue = rx.on_overdue(cx.now, &self.settings);
        match overdue {
            Overdue::No => {}
            Overdue::Again => self.counts.holes += 1,
            Overdue::Back => self.counts.taken_back += 1,
        }
        if overdue != Overdue::No {
            cx.events.push(Event::Missing { conn: conn.id });
        }
        self.settle_arriving(slot, false);
        true
    }

    /// Nothing is heard of our message. False where the connection was given up.
    fn on_silence(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let wait = conn.tx.message.patience(self.settings.rto);
        let priority = self.settings.priority(conn.tx.is_scheduled());
        let row = &mut conn.excused[1];
        let request = cx.gates.excuse_all(cx.now, URGENT, wait, row);
        let data = cx.gates.excuse(cx.now, conn.id, priority, wait, row);
        if request.max(data).is_some() {
            conn.tx.message.excuse(cx.now);
            return true;
        }
        match conn.tx.message.on_silence(cx.now, self.settings.timeout) {
            Silence::Ask => {}
            Silence::Repeat => self.totals.timeouts += 1,
            Silence::GiveUp => {
                self.give_up(cx, slot);
                return false;
            }
        }
        self.settle_leaving(slot);
        true
    }
}
