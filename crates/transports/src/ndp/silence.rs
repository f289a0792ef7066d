//! Time passes: packets are not heard of, pulls do not come, peers are gone, and what is done is forgotten.

use super::host::{Host, URGENT};
use super::sender::Silence;
use model::Cx;

impl Host {
    /// The alarm of a connection rings, perhaps too early.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>, slot: u32) {
        let conn = &mut self.conns[slot];
        if conn.rx.due(&self.settings) <= cx.now {
            let wait = self.settings.timeout;
            let row = &mut conn.excused[0];
            if cx.gates.excuse_all(cx.now, URGENT, wait, row).is_none() {
                return self.give_up(cx, slot);
            }
            // Our pulls were held back.
            conn.rx.heard = cx.now;
        }
        if conn.tx.due(&self.settings) <= cx.now && !self.on_silence(cx, slot) {
            return;
        }
        self.settle(slot);
        self.arm(slot);
    }

    /// Nothing is heard of what was sent. False where the connection was given up.
    fn on_silence(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let conn = &mut self.conns[slot];
        let wait = self.settings.rto(0);
        let row = &mut conn.excused[1];
        if let Some(later) = cx.gates.excuse(cx.now, conn.id, URGENT, wait, row) {
            conn.tx.excuse(cx.now, later);
            return true;
        }
        match conn.tx.on_silence(cx.now, &self.settings) {
            Silence::Wait => {}
            Silence::Repeat(frames) => {
                self.totals.timeouts += 1;
                self.counts.unheard += u64::from(frames);
                self.ask_again(slot);
            }
            Silence::Ask => self.counts.asks += 1,
            Silence::GiveUp => {
                self.give_up(cx, slot);
                return false;
            }
        }
        true
    }
}
