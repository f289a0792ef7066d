//! Time passes: the arbiter does not answer, what had slots does not arrive, and nobody is there.

use super::host::Host;
use super::sender::Silence;
use super::settings::{DATA, URGENT};
use model::Cx;

impl Host {
    /// The alarm of a connection rings, perhaps too early.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>, slot: u32) {
        if self.conns[slot].rx.due(&self.settings) <= cx.now && !self.on_nothing_came(cx, slot) {
            return;
        }
        let tx = &self.conns[slot].tx;
        let due = tx
            .arbiter_due(&self.settings)
            .min(tx.receiver_due(&self.settings));
        if due <= cx.now && !self.on_silence(cx, slot) {
            return;
        }
        self.settle(cx, slot);
    }

    /// The sender is waited for no more. False where it was given up.
    fn on_nothing_came(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let wait = self.settings.timeout;
        let conn = &mut self.conns[slot];
        let row = &mut conn.excused[0];
        if cx.gates.excuse_all(cx.now, URGENT, wait, row).is_some() {
            // Our acknowledgements were held back.
            conn.rx.heard = cx.now;
            return true;
        }
        self.give_up(cx, slot);
        false
    }

    /// Nothing is heard of our message. False where the connection was given up.
    fn on_silence(&mut self, cx: &mut Cx<'_>, slot: u32) -> bool {
        let settings = &self.settings;
        let conn = &mut self.conns[slot];
        let wait = conn.tx.patience(settings);
        let row = &mut conn.excused[1];
        let said = cx.gates.excuse_all(cx.now, URGENT, wait, row);
        let data = cx.gates.excuse(cx.now, conn.id, DATA, wait, row);
        if said.max(data).is_some() {
            conn.tx.excuse(cx.now);
            return true;
        }
        let unheard = conn.tx.is_unheard();
        match conn.tx.on_arbiter_silence(cx.now, settings) {
            Silence::Wait => {}
            Silence::Ask => {
                // The first time it may only have many before this message.
                self.totals.timeouts += u64::from(unheard);
                self.ask(cx, slot, true);
            }
            Silence::GiveUp => {
                self.give_up(cx, slot);
                return false;
            }
        }
        match self.conns[slot]
            .tx
            .on_receiver_silence(cx.now, &self.settings)
        {
            Silence::Wait => {}
            Silence::Ask => self.say_end(cx.now, slot),
            Silence::GiveUp => {
                self.give_up(cx, slot);
                return false;
            }
        }
        true
    }
}
