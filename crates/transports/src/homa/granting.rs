//! Grants: who gets them, how many bytes, and at which priority.

use super::header::Grant;
use super::host::{Conn, Host};
use super::params::Law;
use super::ranks::{Active, Rank};
use units::Time;

/// Silent messages that one look for the oldest passes over. [ours]
const SILENT_MAX: usize = 64;
/// Messages by age that are kept without a look at how many of them are over. [ours]
const OLDEST_MIN: usize = 64;

impl Host {
    /// The message's rank follows from what has arrived and what was granted.
    #[inline]
    pub(super) fn rank(&mut self, slot: u32) {
        let conn = &mut self.conns[slot];
        let rx = &mut conn.rx;
        // One that is asked for in vain leaves its place and its room to others until it is heard again. [ours]
        let pledged = if rx.tries == 0 { rx.on_the_way() } else { 0 };
        self.incoming = self.incoming + pledged - rx.pledged;
        rx.pledged = pledged;
        if self.settings.max_granted < u64::MAX {
            let promised = if rx.tries == 0 { rx.owed() } else { 0 };
            self.promised = self.promised + promised - rx.promised;
            rx.promised = promised;
        }
        let (old, peer) = (rx.rank, conn.own.place);
        let wants = rx.active && !rx.is_granted() && rx.tries == 0;
        let left = wants.then(|| match self.settings.law {
            Law::Packet => rx.grants_end() - rx.granted,
            Law::Window => rx.end - rx.base - rx.got(),
        });
        let new = left.map(|left| Rank {
            left,
            order: self.conns.age_arriving(slot),
            slot,
            peer,
        });
        if new != old {
            // One that wants more than before may leave its place to one of which nothing is on the way.
            self.needy |= matches!((old, new), (Some(old), Some(new)) if new.left > old.left);
            self.ranks.change(old, new);
            self.conns[slot].rx.rank = new;
        }
    }

    /// A piece of a message that goes on has arrived, or its time for a grant has come.
    #[inline]
    pub(super) fn on_progress(&mut self, now: Time, slot: u32) {
        self.rank(slot);
        let ranked = self.conns[slot].rx.rank.is_some();
        if self.is_full() {
            // The common case under load: nobody gets anything, and who wants more is all there is to find out.
            self.needy = if self.needy {
                self.any_wants(|_| true)
            } else {
                ranked && self.any_wants(|other| other == slot)
            };
        } else if ranked || self.needy {
            let active = self.active();
            // Where there was no room the first by rank has it now.
            let first = self.needy && self.settings.law == Law::Packet;
            if !first
                && let Some(rank) = active.rank(slot)
                && self.grant(now, slot, rank, active.len())
            {
                return self.grant_all(now);
            }
            if self.needy {
                // A message that is not granted to its end keeps its rank, which bytes on the way do not change.
                self.grant_among(now, active);
            }
        }
        if self.fifo_at <= now {
            self.grant_oldest(now);
        }
    }

    /// Grants all that are active, and those that become active because one needs no more.
    pub(super) fn grant_all(&mut self, now: Time) {
        self.grant_among(now, self.active());
    }

    /// The messages that are granted now.
    #[inline]
    fn active(&self) -> Active {
        let fill = self.settings.law == Law::Window;
        self.ranks.active(self.settings.overcommitment, fill)
    }

    /// [`Host::grant_all`] where these are active.
    fn grant_among(&mut self, now: Time, mut active: Active) {
        self.needy = false;
        loop {
            if self.is_full() {
                self.needy |= self.any_wants(|_| true);
                return;
            }
            let mut one_left = false;
            for (rank, &slot) in active.slots().iter().enumerate() {
                one_left |= self.grant(now, slot, rank, active.len());
                self.arm(slot);
                if self.needy && self.is_full() {
                    break; // what follows would get nothing
                }
            }
            if !one_left {
                return;
            }
            active = self.active();
        }
    }

    /// Whether an active message, one of `these`, could be granted more if there were room.
    #[inline]
    fn any_wants(&self, these: impl Fn(u32) -> bool) -> bool {
        let most = self.settings.overcommitment;
        self.ranks.any_active(most, |slot, active| {
            let rx = &self.conns[slot].rx;
            these(slot) && rx.target(self.settings.window(active)) > rx.granted
        })
    }

    /// Whether as much is on the way as may be.
    #[inline]
    fn is_full(&self) -> bool {
        match self.settings.law {
            Law::Window => self.incoming >= self.settings.max_incoming,
            // What Aeolus' switches protect they have room for, also where messages are granted to their ends, and the
            // next ones are granted beside them. [ours: the artefact bounds each message]
            Law::Packet => {
                let full = u64::from(self.settings.payload_max);
                self.promised.saturating_add(full) > self.settings.max_granted
            }
        }
    }

    /// Grants a message of this rank among `active` what it may have now. Whether it needs no more.
    #[inline]
    fn grant(&mut self, now: Time, slot: u32, rank: usize, active: usize) -> bool {
        let full = self.is_full();
        let (settings, rx) = (&self.settings, &mut self.conns[slot].rx);
        if rx.is_granted() {
            return false;
        }
        let window = settings.window(active);
        let upto = match settings.law {
            Law::Packet => {
                let open = rx.on_the_way() < window;
                if open && full {
                    (rx.wants, self.needy) = (false, true);
                    return false;
                }
                // DEVIATES(homa artefact): a better priority brings no grant forward.
                if !open || now < rx.grant_at {
                    rx.wants = open;
                    return false;
                }
                rx.grant_at = now.after(settings.frame_time);
                let end = rx.grants_end();
                let upto = end.min(rx.granted + u64::from(settings.payload_max));
                // Until as much is on the way as may be, a grant follows each packet time.
                rx.wants = rx.on_the_way() + (upto - rx.granted) < window && upto < end;
                upto
            }
            Law::Window => {
                let target = rx.target(window);
                let room = settings.max_incoming.saturating_sub(self.incoming);
                self.needy |= target.saturating_sub(rx.granted) > room;
                target.min(rx.granted + room)
            }
        };
        // A message with a gap falls silent before much waits behind it, and then the gap is asked for. [ours]
        let upto = match settings.recovery {
            true => upto.min(rx.farthest(settings)),
            false => upto,
        };
        if upto <= rx.granted {
            return false;
        }
        let left = rx.grants_end() - rx.granted;
        let kept = self.ranks.kept(rank);
        let level = kept.unwrap_or_else(|| settings.lowest(rank, active));
        let priority = settings.granted(level, left, rx.end - rx.base);
        self.say_grant(now, slot, upto, priority);
        self.conns[slot].rx.rank.is_none()
    }

    fn say_grant(&mut self, now: Time, slot: u32, upto: u64, priority: u8) {
        let conn = &mut self.conns[slot];
        let least = if conn.rx.on_the_way() > 0 {
            conn.rx.priority
        } else {
            0
        };
        conn.rx.priority = priority.max(least);
        let from = conn.rx.grant(now, upto);
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
    pub(super) fn grant_oldest(&mut self, now: Time) {
        let Some(every) = self.settings.fifo_every else {
            return;
        };
        // What grants nothing now is tried again when something arrives.
        self.fifo_rests = true;
        let Some(slot) = self.find_oldest() else {
            return;
        };
        self.fifo_at = now.after(every);
        let increment = self.settings.fifo_increment;
        let rx = &self.conns[slot].rx;
        let most = self.settings.window(1) + 2 * increment;
        if rx.rank.is_none() || rx.on_the_way() >= most {
            return;
        }
        let mut upto = rx.grants_end().min(rx.granted + increment);
        if self.settings.recovery {
            // With shares a message with a gap would never fall silent, and the gap not be asked for. [ours]
            upto = upto.min(rx.farthest(&self.settings));
        }
        if upto <= rx.granted {
            return;
        }
        self.fifo_rests = false;
        self.counts.oldest_grants += 1;
        self.say_grant(now, slot, upto, 0);
        self.arm(slot);
    }

    /// The oldest message that wants grants. One that is asked for in vain goes behind the others; where all are
    /// such, as far as this looks, it is one of them.
    fn find_oldest(&mut self) -> Option<u32> {
        let mut silent = 0;
        while let Some(&first) = self.oldest.front() {
            let waits = self.conns.get(first.slot).filter(|conn| first.is_of(conn));
            match waits.map(|conn| conn.rx.tries > 0) {
                Some(true) if silent < SILENT_MAX.min(self.oldest.len()) => {
                    silent += 1;
                    self.oldest.rotate_left(1);
                }
                Some(_) => return Some(first.slot),
                None => {
                    self.oldest.pop_front();
                }
            }
        }
        None
    }

    /// An incoming message wants grants: it is the youngest now.
    pub(super) fn join_oldest(&mut self, slot: u32) {
        if self.settings.fifo_every.is_none() {
            return;
        }
        if self.oldest.len() >= OLDEST_MIN.max(2 * self.conns.len()) {
            // Most are over, behind one that is not.
            let conns = &self.conns;
            let waits = |first: &Waits| conns.get(first.slot).is_some_and(|conn| first.is_of(conn));
            self.oldest.retain(waits);
        }
        let conn = &self.conns[slot];
        self.oldest.push_back(Waits {
            order: conn.order,
            ordinal: conn.rx.ordinal,
            slot,
        });
        self.fifo_rests = false;
    }
}

/// An incoming message among those by age.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// Which connection, and which of its messages.
    order: u32,
    ordinal: u32,
    slot: u32,
}

impl Waits {
    /// Whether it is the message under way on `conn`, and wants grants.
    fn is_of(self, conn: &Conn) -> bool {
        let rx = &conn.rx;
        (conn.order, rx.ordinal) == (self.order, self.ordinal) && rx.active && !rx.is_granted()
    }
}
