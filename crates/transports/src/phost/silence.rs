//! Time passes: tokens go unused, what had tokens does not come, and nobody answers.

use super::host::{Host, URGENT};
use super::receiver::Waits;
use model::{Cx, Event};
use parts::announced::Silence;
use units::Time;

impl Host {
    /// The alarm of a connection rings, perhaps too early.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>, slot: u32) {
        if self.conns[slot].rx.due(&self.settings) <= cx.now && !self.on_nothing_came(cx, slot) {
            return;
        }
        if self.conns[slot].tx.due(&self.settings) <= cx.now && !self.on_silence(cx, slot) {
            return;
        }
        self.settle(slot);
    }

    /// Unused tokens, or what is missing, or the sender, is waited for no more. False where it was given up.
    fn on_nothing_came(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let (rx, row) = (&mut conn.rx, &mut conn.excused[0]);
        let gone = rx.message.heard().after(self.settings.timeout) <= cx.now;
        let wait = if gone {
            self.settings.timeout
        } else {
            self.settings.retry
        };
        if cx.gates.excuse_all(cx.now, URGENT, wait, row).is_some() {
            // Our tokens were held back.
            rx.message.excuse(cx.now, gone);
            return true;
        }
        if gone {
            self.give_up(cx, slot);
            return false;
        }
        let over = |at: Time| at <= cx.now;
        match rx.waits(&self.settings) {
            Waits::Window(at) if over(at) => {
                rx.message.forgive();
                self.counts.forgiven += 1;
            }
            Waits::Missing(at) if over(at) => {
                // Of what left unasked and has not come, others tell how long it may take.
                rx.message.expect(self.late.bound().unwrap_or_default());
                if matches!(rx.waits(&self.settings), Waits::Missing(at) if over(at)) {
                    rx.message.repeat();
                    cx.events.push(Event::Missing { conn: conn.id });
                }
            }
            Waits::Window(_) | Waits::Missing(_) | Waits::Turn | Waits::Announcement => {}
        }
        self.rank(cx.now, slot, false);
        self.give(cx.now);
        true
    }

    /// Nothing is heard of our message. False where the connection was given up.
    fn on_silence(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let wait = conn.tx.message.patience(self.settings.rto);
        let priority = conn.tx.priority(&self.settings);
        let row = &mut conn.excused[1];
        let announcement = cx.gates.excuse_all(cx.now, URGENT, wait, row);
        let data = cx.gates.excuse(cx.now, conn.id, priority, wait, row);
        if announcement.max(data).is_some() {
            conn.tx.message.excuse(cx.now);
            return true;
        }
        match conn.tx.message.on_silence(cx.now, self.settings.timeout) {
            // Announcements go first.
            Silence::Ask => self.stand_anew(slot),
            Silence::Repeat => {
                self.totals.timeouts += 1;
                self.stand_anew(slot);
            }
            Silence::GiveUp => {
                self.give_up(cx, slot);
                return false;
            }
        }
        true
    }
}
