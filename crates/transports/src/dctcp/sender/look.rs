//! What others want to know of a sender, and what must hold in it.

use super::{Phase, Sender};
use crate::dctcp::Rules;
use units::Time;

/// What others want to know.
impl Sender {
    /// Whether `offset` is among the bytes in flight: the only data that anyone can refuse.
    pub(in crate::dctcp) fn has_in_flight(&self, offset: u64) -> bool {
        // Offsets and numbers differ by at most the empty frames.
        offset <= self.next
            && offset + u64::from(self.outgoing.gaps()) >= self.una
            && self.una < self.next
    }

    /// State and what it waits for, in words; `None` with nothing to do.
    pub(in crate::dctcp) fn stuck(&self) -> Option<(String, String)> {
        if self.is_idle() {
            return None;
        }
        let phase = match self.phase {
            Phase::Open => "open",
            Phase::Reduced { .. } => "reduced by marks",
            Phase::Recovery { .. } => "repairing a loss",
            Phase::Loss { .. } => "repairing after a timeout",
        };
        let state = format!(
            "sender {phase}: {} of {} acknowledged, {} sent, window {} B",
            self.una,
            self.outgoing.end(),
            self.next,
            self.window.size()
        );
        let waits_for = if self.rto_at == Time::NEVER {
            "its turn on the line".to_owned()
        } else {
            format!("an acknowledgement, or its timeout at {}", self.rto_at)
        };
        Some((state, waits_for))
    }

    /// Panics where an invariant of our own state is broken.
    pub(in crate::dctcp) fn check(&self, rules: &Rules) {
        assert!(
            self.una <= self.next && self.next <= self.outgoing.end(),
            "{self:?}"
        );
        assert!(self.next - self.una <= rules.receive_window, "{self:?}");
        assert_eq!(
            self.rto_at == Time::NEVER,
            self.una == self.next,
            "the timer: {self:?}"
        );
        self.window.check(rules);
        self.alpha.check();
        self.blocks.check();
        if let (Some((start, _)), Some((_, end))) = (self.blocks.first(), self.blocks.last()) {
            assert!(
                self.una <= start && end <= self.next,
                "blocks outside of what is out"
            );
        }
        assert_eq!(self.calm, self.is_calm(), "{self:?}");
        assert!(
            !self.calm || self.lost_edge <= self.una,
            "a loss that nobody repairs: {self:?}"
        );
        assert!(
            self.lost_edge <= self.next,
            "what was never sent cannot be lost"
        );
        let repaired = self.repaired.max(self.una);
        let missing = repaired - self.una - self.blocks.bytes_below(repaired);
        assert_eq!(
            self.again, missing,
            "sent again and not acknowledged: {self:?}"
        );
        self.outgoing.check(self.una, self.next);
    }

    /// cwnd in bytes.
    #[cfg(test)]
    pub(in crate::dctcp) fn window(&self) -> u64 {
        self.window.size()
    }
    /// Whether duplicates began a recovery that is not over.
    #[cfg(test)]
    pub(in crate::dctcp) fn repairs_a_loss(&self) -> bool {
        matches!(self.phase, Phase::Recovery { .. })
    }
    /// SND.UNA.
    #[cfg(test)]
    pub(in crate::dctcp) fn acknowledged(&self) -> u64 {
        self.una
    }
}
