//! Grants: who gets them, how many bytes, and at which priority.

use super::header::Grant;
use super::host::Host;
use super::params::Law;
use super::ranks::Rank;
use units::Time;

/// Bytes that are granted beyond a gap: less than an application's buffer. [ours]
const AHEAD_MAX: u64 = 800_000;

impl Host {
    /// The message's rank follows from what has arrived and what was granted.
    #[inline]
    pub(super) fn rank(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        let rx = &mut conn.rx;
        let on_the_way = rx.on_the_way();
        self.incoming = self.incoming + on_the_way - rx.pledged;
        rx.pledged = on_the_way;
        // One that is asked for in vain leaves its place to others until it is heard again. [ours]
        let wants = rx.active && !rx.is_granted() && rx.tries == 0;
        let new = wants.then(|| Rank {
            left: match self.settings.law {
                Law::Packet => rx.end - rx.granted,
                Law::Window => rx.end - rx.base - rx.got(),
            },
            order: conn.order,
            slot,
            peer: conn.place,
        });
        if new != rx.rank {
            self.ranks.change(rx.rank, new);
            rx.rank = new;
        }
    }

    /// A piece of a message that goes on has arrived, or its time for a grant has come.
    #[inline]
    pub(super) fn on_progress(&mut self, now: Time, slot: u32) {
        self.rank(slot);
        let window = self.settings.law == Law::Window;
        if self.conns[slot].rx.rank.is_some() {
            let active = self.ranks.active(self.settings.overcommitment, window);
            if let Some(rank) = active.rank(slot)
                && self.grant(now, slot, rank, active.len())
            {
                return self.grant_all(now);
            }
        }
        if window && self.needy {
            self.grant_all(now);
        }
        if self.fifo_at <= now {
            self.grant_oldest(now);
        }
    }

    /// Grants all that are active, and those that become active because one needs no more.
    pub(super) fn grant_all(&mut self, now: Time) {
        let fill = self.settings.law == Law::Window;
        self.needy = false;
        loop {
            let active = self.ranks.active(self.settings.overcommitment, fill);
            let mut one_left = false;
            for (rank, &slot) in active.slots().iter().enumerate() {
                one_left |= self.grant(now, slot, rank, active.len());
                self.arm(slot);
            }
            if !one_left {
                return;
            }
        }
    }

    /// Grants a message of this rank among `active` what it may have now. Whether it needs no more.
    #[inline]
    fn grant(&mut self, now: Time, slot: u32, rank: usize, active: usize) -> bool {
        let (settings, rx) = (&self.settings, &mut self.conns[slot].rx);
        if rx.is_granted() {
            return false;
        }
        let window = settings.window(active);
        let upto = match settings.law {
            Law::Packet => {
                let open = rx.on_the_way() < window;
                // DEVIATES(homa artefact): a better priority brings no grant forward.
                if !open || now < rx.grant_at {
                    rx.wants = open;
                    return false;
                }
                rx.grant_at = now.after(settings.frame_time);
                let upto = rx.end.min(rx.granted + u64::from(settings.payload_max));
                // Until as much is on the way as may be, a grant follows each packet time.
                rx.wants = rx.on_the_way() + (upto - rx.granted) < window && upto < rx.end;
                upto
            }
            Law::Window => {
                let target = rx.end.min(rx.base + rx.got() + window);
                let room = settings.max_incoming.saturating_sub(self.incoming);
                self.needy |= target > rx.granted && target - rx.granted > room;
                target.min(rx.granted + room)
            }
        };
        // A message with a gap falls silent before much waits behind it, and then the gap is asked for. [ours]
        let upto = match settings.recovery {
            true => upto.min(rx.complete_upto() + AHEAD_MAX.max(settings.unscheduled)),
            false => upto,
        };
        if upto <= rx.granted {
            return false;
        }
        let left = rx.end - rx.granted;
        let priority = settings.granted(rank, active, left, rx.end - rx.base);
        self.say_grant(slot, upto, priority);
        self.conns[slot].rx.rank.is_none()
    }

    fn say_grant(&mut self, slot: u32, upto: u64, priority: u8) {
        let conn = &mut self.conns[slot];
        let from = std::mem::replace(&mut conn.rx.granted, upto);
        let grant = Grant {
            from,
            upto,
            priority,
        };
        let packet = grant.packet(conn.peer, conn.id, self.settings.small());
        self.totals.credits_sent += 1;
        self.say(packet);
        self.rank(slot);
    }

    /// The oldest message gets a share of the line, so that it ends some day. [homa linux, `homa_grant.c`]
    #[cold]
    fn grant_oldest(&mut self, now: Time) {
        let Some(every) = self.settings.fifo_every else {
            return;
        };
        let wants = |host: &Self, slot: u32, order: u32| {
            let conn = host.conns.get(slot);
            conn.is_some_and(|conn| conn.order == order && conn.rx.rank.is_some())
        };
        while let Some(&(order, slot)) = self.oldest.front() {
            if wants(self, slot, order) {
                break;
            }
            self.oldest.pop_front();
        }
        let Some(&(_, slot)) = self.oldest.front() else {
            return;
        };
        self.fifo_at = now.after(every);
        let increment = self.settings.fifo_increment;
        let rx = &self.conns[slot].rx;
        let most = self.settings.window(1) + 2 * increment;
        if rx.on_the_way() >= most {
            return;
        }
        let upto = rx.end.min(rx.granted + increment);
        self.counts.oldest_grants += 1;
        self.say_grant(slot, upto, 0);
        self.arm(slot);
    }
}
