//! Credit of one host: how much is out, who gets the next, and when. [sird s4; sird artefact `send_credit_policy_common`]

use super::host::Host;
use super::params::Choice;
use super::ranks::Ranks;
use units::{Span, Time};

/// Credits that a late driver makes good at once: one on a wire may look at its clock seldom. [ours]
const CATCH_UP: u64 = 64;

/// What a receiver has given, and the moment of the next.
#[derive(Debug)]
pub(super) struct Crediting {
    /// Messages that want credit.
    pub(super) wanting: Ranks,
    /// Wire bytes of it that are out.
    pub(super) used: u64,
    at: Time,
    /// Nobody can be given any.
    idle: bool,
}

impl Crediting {
    pub(super) fn new() -> Self {
        Self {
            wanting: Ranks::default(),
            used: 0,
            at: Time::ZERO,
            idle: true,
        }
    }

    /// When the next credit leaves.
    #[inline]
    pub(super) fn next(&self) -> Time {
        if self.idle { Time::NEVER } else { self.at }
    }

    /// When it may leave, seen from `now`.
    #[inline]
    fn earliest(&self, now: Time) -> Time {
        if self.idle { self.at.max(now) } else { self.at }
    }

    /// A credit has left: the next does a `gap` later.
    #[inline]
    fn given(&mut self, now: Time, gap: Span) {
        let late = Time(now.0.saturating_sub(gap.times(CATCH_UP).0));
        self.at = self.earliest(now).max(late).after(gap);
        self.idle = false;
    }
}

impl Host {
    /// Something changed at a receiver: what it has out, its place among those that want credit, whose turn may be
    /// `over`, and its alarm.
    #[inline]
    pub(super) fn settle_arriving(&mut self, slot: u32, over: bool) {
        let settings = &self.settings;
        let conn = &mut self.conns[slot];
        let peer = conn.own.peer;
        let (before, after) = (conn.rx.counted, conn.rx.charged);
        if before != after {
            conn.rx.counted = after;
            self.crediting.used = self.crediting.used - before + after;
            let of_peer = &mut self.peers[peer];
            of_peer.used = of_peer.used - before + after;
        }
        let old = conn.rx.rank;
        let wanting = &mut self.crediting.wanting;
        let key = conn
            .rx
            .wants(settings)
            .then(|| match (settings.receiver, old) {
                (Choice::Shortest, _) => conn.rx.to_come(),
                (Choice::Turns, Some((turn, ..))) if !over => turn,
                (Choice::Turns, _) => wanting.next_turn(),
            });
        let new = key.map(|key| (key, self.conns.age_arriving(slot), slot));
        if old != new {
            self.conns[slot].rx.rank = new;
            wanting.change(peer, old, new);
        }
        wanting.open(peer, self.peers[peer].is_open(settings));
        // Nothing of the other half has changed.
        let due = self.conns[slot].rx.due(settings);
        self.conns.arm_earlier(slot, due);
    }

    /// Gives the credit whose time has come, as far as enough of it is back.
    pub(super) fn give(&mut self, now: Time) {
        loop {
            let Some(slot) = self.crediting.wanting.first() else {
                self.crediting.idle = true;
                return;
            };
            if self.crediting.earliest(now) > now {
                self.crediting.at = self.crediting.earliest(now);
                self.crediting.idle = false;
                return;
            }
            let conn = &mut self.conns[slot];
            let piece = conn.rx.piece(&self.settings);
            let piece = piece.expect("who is in line wants credit");
            let wire = u64::from(self.settings.encap.wire(piece.length));
            // What had credit before is out already.
            if piece.first && self.crediting.used + wire > self.settings.budget {
                self.crediting.idle = true;
                return;
            }
            let credit = conn.rx.give(now, &piece, &self.settings);
            let packet = credit.packet(conn.peer, conn.id, self.settings.small());
            self.crediting.given(now, self.settings.line(wire));
            self.counts.credits_again += u64::from(!piece.first);
            self.say(packet);
            self.settle_arriving(slot, true);
        }
    }
}
