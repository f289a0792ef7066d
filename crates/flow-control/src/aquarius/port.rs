//! An egress port: its queues, its table of flows, whom it has paused and who has paused it.
//!
//! A packet that comes is assigned a queue and counted (`comes`, or `assign` and `arrived`), and may pause its flow; one that
//! leaves may have flows resumed (`left`). What the next switch says stops flows and lets them go (`stop`, `go`), and blocks
//! reserved queues (`block`).

use super::params::{Mapping, Params, Scope};
use super::queues::Queues;
use super::table::{Entry, Table};
use model::{ConnId, PAUSED_MAX, Rng};
use parts::{Neighbour, Place};
use units::Time;

#[derive(Debug)]
pub(super) struct Port {
    /// The number of the first normal queue among those of the port.
    first: u8,
    queues: Queues,
    entries: Table,
    size: u32,
    /// Thresholds and shares are counted over all queues.
    whole: bool,
    /// Reserved queues wait for older packets.
    keeps_order: bool,
    /// Flows leave their reserved queue for good when nothing of them waits.
    returns_empty: bool,
    /// By reserved queue.
    waits: Vec<Waits>,
    /// What they wait for has changed, and perhaps which of them are to be blocked.
    stirred: bool,
    /// Flows that the next switch has paused, and flows that we have.
    known: usize,
    told: usize,
    /// Queues to be looked at for whom to resume: empty but for a moment.
    looks: Vec<usize>,
}

/// What a reserved queue waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waits {
    /// Entries with paused flows, and entries that have older packets in a normal queue.
    stopped: u64,
    older: u64,
}

impl Port {
    pub(super) fn new(params: &Params, place: &Place<'_>, line: &Neighbour<'_>) -> Self {
        let first = line.port.queues.len().saturating_sub(1);
        Self {
            first: u8::try_from(first).expect("a port has at most 64 queues"),
            queues: Queues::new(params, place, line),
            entries: Table::new(),
            size: params.table,
            whole: params.scope == Scope::Port,
            keeps_order: params.order_marks,
            returns_empty: params.return_empty,
            waits: vec![Waits::default(); params.reserved.into()],
            stirred: false,
            known: 0,
            told: 0,
            looks: Vec::new(),
        }
    }

    /// Thresholds of a queue that sends alone.
    pub(super) fn alone(&self) -> (u64, u64) {
        self.queues.alone()
    }

    /// The number among the queues of the port of one of ours.
    fn number(&self, queue: usize) -> u8 {
        self.first + small(queue)
    }

    /// What says in a pause why it is asked for, beside the number of the port: nothing but that, or which of its reserved
    /// queues has too much.
    pub(super) fn point(&self, port: u16, slot: u32) -> u32 {
        let held = self.entries.get(slot).filter(|entry| entry.reserved > 0);
        let queue = held.map_or(0, |entry| {
            usize::from(entry.home) + 1 - self.queues.normal()
        });
        let few = |count: usize| u32::try_from(count).expect("at most 128");
        u32::from(port) * few(1 + self.waits.len()) + few(queue)
    }

    /// The entry of a flow: by the high half of a product, which depends on all bits. [Knuth, TAOCP 3, s6.4]
    fn slot(&self, conn: ConnId) -> u32 {
        let mixed = u64::from(conn.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let slot = (mixed * u64::from(self.size)) >> 32;
        u32::try_from(slot).expect("below the size")
    }

    /// Changes entry `slot`, and keeps the counts of entries true.
    #[inline(never)]
    fn change<T>(&mut self, slot: u32, change: impl FnOnce(&mut Entry) -> T) -> T {
        let entry = self.entries.at(slot);
        let look = |entry: &Entry| {
            let stopped = u64::from(!entry.stopped.is_empty());
            (stopped, u64::from(entry.has_older()))
        };
        let sizes = |entry: &Entry| (entry.stopped.len(), entry.paused.len());
        let (before, known) = (look(entry), sizes(entry));
        let result = change(entry);
        let waits = self.returns_empty && entry.normal + entry.reserved > 0;
        if entry.isolated && entry.stopped.is_empty() && !waits {
            entry.isolated = false;
        }
        // Its reserved queue is another one only where it was in none.
        let (after, knows) = (look(entry), sizes(entry));
        if before != after {
            let waits = &mut self.waits[usize::from(entry.home) - self.queues.normal()];
            waits.stopped = waits.stopped + after.0 - before.0;
            waits.older = waits.older + after.1 - before.1;
            self.stirred = true;
        }
        self.known = self.known + knows.0 - known.0;
        self.told = self.told + knows.1 - known.1;
        result
    }

    /// Whether [`Port::block`] may have something to say.
    #[inline]
    pub(super) fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// A reserved queue that is to be blocked from now on, or not any more, by its number among those of the port.
    pub(super) fn block(&mut self) -> Option<(u8, bool)> {
        if !self.stirred {
            return None;
        }
        let keeps_order = self.keeps_order;
        let blocked = |own: &Waits| own.stopped > 0 || keeps_order && own.older > 0;
        let mut changed = (self.queues.normal()..).zip(self.waits.iter().map(blocked));
        let differs = |&(queue, blocked): &(usize, bool)| self.queues.is_closed(queue) != blocked;
        let Some((queue, blocked)) = changed.find(differs) else {
            self.stirred = false;
            return None;
        };
        self.queues.close(queue, blocked);
        Some((self.number(queue), blocked))
    }

    /// The queue that a packet of `conn` joins.
    pub(super) fn assign(&mut self, conn: ConnId, rng: &mut Rng) -> u8 {
        let slot = self.slot(conn);
        let queue = match self.entries.get(slot) {
            Some(entry) if entry.isolated => entry.home.into(),
            Some(entry) if entry.normal > 0 => entry.queue.into(),
            _ => self.queues.pick(slot, rng),
        };
        self.number(queue)
    }

    /// The same where nothing waits and nobody is paused.
    #[inline(always)] // once per packet that passes, from one place
    pub(super) fn assign_alone(&self, conn: ConnId, rng: &mut Rng) -> u8 {
        self.number(match self.queues.mapping() {
            Mapping::Hash => self.slot(conn) as usize % self.queues.normal(),
            Mapping::Least => self.queues.any(rng),
        })
    }

    /// A packet joins the queue that [`Port::assign`] names, which this returns. Says also what [`Port::arrived`] does.
    #[inline] // once per packet that waits, from one place
    pub(super) fn comes(
        &mut self,
        conn: ConnId,
        ingress: u16,
        size: u64,
        rng: &mut Rng,
    ) -> (u8, Option<(u32, bool)>) {
        let slot = self.slot(conn);
        let (entry, queues) = (self.entries.at(slot), &mut self.queues);
        let (queue, held) = if entry.isolated {
            entry.reserved += size;
            (entry.home.into(), entry.reserved)
        } else {
            let queue = if entry.normal > 0 {
                entry.queue.into()
            } else {
                let queue = queues.pick(slot, rng);
                entry.queue = small(queue);
                queue
            };
            entry.normal += size;
            (queue, entry.normal)
        };
        queues.add(queue, size, held);
        let tells = queues.has_too_much(queue, held, entry) && !entry.pauses(conn, ingress);
        let told = tells.then(|| self.tell((slot, conn), ingress, queue));
        (self.number(queue), told.flatten())
    }

    /// A packet has joined `queue`. Says which entry's flow is to be paused for it, if it is, and whether that is to be
    /// repeated from now on.
    pub(super) fn arrived(
        &mut self,
        conn: ConnId,
        ingress: u16,
        queue: u8,
        size: u64,
    ) -> Option<(u32, bool)> {
        let slot = self.slot(conn);
        let queue = usize::from(queue - self.first);
        let entry = self.entries.at(slot);
        let held = if queue < self.queues.normal() {
            entry.queue = small(queue);
            entry.normal += size;
            entry.normal
        } else {
            entry.reserved += size;
            entry.reserved
        };
        self.queues.add(queue, size, held);
        let tells = self.queues.has_too_much(queue, held, entry) && !entry.pauses(conn, ingress);
        let told = tells.then(|| self.tell((slot, conn), ingress, queue));
        told.flatten()
    }

    /// A flow is to be paused that is not.
    #[inline(never)] // seldom
    fn tell(
        &mut self,
        (slot, conn): (u32, ConnId),
        ingress: u16,
        queue: usize,
    ) -> Option<(u32, bool)> {
        if self.told >= PAUSED_MAX {
            return None;
        }
        let entry = self.entries.at(slot);
        entry.paused.push((conn, ingress));
        let listed = !std::mem::replace(&mut entry.listed, true);
        let first = !std::mem::replace(&mut entry.repeats, true);
        self.told += 1;
        if listed {
            self.queues.enlist(queue, slot);
        }
        Some((slot, first))
    }

    /// Whether it has paused somebody.
    pub(super) fn has_paused(&self) -> bool {
        self.told > 0
    }

    /// Whether a packet of `size` bytes that passes while nothing waits changes nothing: no flow is isolated, and alone it
    /// is not too much.
    #[inline]
    pub(super) fn overlooks(&self, size: u64) -> bool {
        let flows = self.known | self.told;
        flows == 0 && self.queues.are_empty() && size <= self.queues.alone().1
    }

    /// A packet leaves `queue`. Says which flows are to be `resumed` at which ports.
    pub(super) fn left(
        &mut self,
        conn: ConnId,
        queue: u8,
        size: u64,
        resumed: &mut Vec<(ConnId, u16)>,
    ) {
        let slot = self.slot(conn);
        let queue = usize::from(queue - self.first);
        let entry = self.entries.known(slot);
        let normal = queue < self.queues.normal();
        let held = if normal {
            entry.normal -= size;
            entry.normal
        } else {
            entry.reserved -= size;
            entry.reserved
        };
        if entry.isolated {
            if normal && held == 0 {
                // What came later need not wait for it any more.
                self.waits[usize::from(entry.home) - self.queues.normal()].older -= 1;
                self.stirred = true;
            }
            entry.isolated = entry.normal + entry.reserved > 0 || !entry.stopped.is_empty();
        }
        self.queues.take(queue, size, held);
        if self.told > 0 {
            if !entry.paused.is_empty() && self.queues.has_little(queue, held, entry) {
                self.resume(slot, resumed);
            }
            if self.whole {
                // What is counted over all of them goes down for all of them.
                (0..self.queues.len()).for_each(|each| self.resume_listed(each, resumed));
            } else if !self.queues.list(queue).is_empty() {
                self.resume_listed(queue, resumed);
            }
        }
    }

    fn resume(&mut self, slot: u32, resumed: &mut Vec<(ConnId, u16)>) {
        self.change(slot, |entry| resumed.append(&mut entry.paused));
    }

    /// Resumes those in the list of `queue` for which there is room, in their order. An entry whose packets
    /// are in another queue by now goes to the list of that one.
    #[inline]
    fn resume_listed(&mut self, queue: usize, resumed: &mut Vec<(ConnId, u16)>) {
        let Some(&slot) = self.queues.list(queue).front() else {
            return;
        };
        let entry = self.entries.known(slot);
        if !entry.paused.is_empty() {
            let (home, held) = entry.place(queue);
            if home == queue && !self.queues.has_little(queue, held, entry) {
                return; // most often
            }
        }
        self.resume_some(queue, resumed);
    }

    /// The same where the first of them is to be resumed, or is in the wrong list.
    #[inline(never)] // seldom
    fn resume_some(&mut self, queue: usize, resumed: &mut Vec<(ConnId, u16)>) {
        // Who is handed on is looked at there, too: nothing may leave from there for long.
        let mut looks = std::mem::take(&mut self.looks);
        looks.push(queue);
        while let Some(queue) = looks.pop() {
            for _ in 0..self.queues.list(queue).len() {
                let Some(&slot) = self.queues.list(queue).front() else {
                    break;
                };
                let entry = self.entries.get(slot).expect("what is listed is kept");
                let (home, held) = entry.place(queue);
                if home != queue && !entry.paused.is_empty() {
                    self.queues.delist(queue);
                    self.queues.enlist(home, slot);
                    if !looks.contains(&home) && home > queue {
                        looks.push(home);
                    }
                    continue;
                }
                if !entry.paused.is_empty() && !self.queues.has_little(queue, held, entry) {
                    break;
                }
                self.queues.delist(queue);
                self.change(slot, |entry| entry.listed = false);
                self.resume(slot, resumed);
            }
        }
        self.looks = looks; // its room is used again
    }

    /// The next switch does not want `conn` before `until`, because of `point`. Says which entry that is, whether its packets are isolated
    /// from now on, and whether somebody must look at it at `until`.
    pub(super) fn stop(&mut self, conn: ConnId, point: u32, until: Time) -> (u32, bool, bool) {
        let slot = self.slot(conn);
        let home = self.queues.normal() + point as usize % self.waits.len();
        let home = u8::try_from(home).expect("at most 128");
        let room = self.known < PAUSED_MAX;
        let (isolated, watch) = self.change(slot, |entry| {
            match entry.stopped.iter_mut().find(|(known, _)| *known == conn) {
                Some((_, end)) => *end = until,
                None if room => entry.stopped.push((conn, until)),
                None => return (false, false),
            }
            let watch = until < Time::NEVER && !std::mem::replace(&mut entry.expires, true);
            if !entry.isolated && entry.reserved == 0 {
                entry.home = home;
            }
            (!std::mem::replace(&mut entry.isolated, true), watch)
        });
        (slot, isolated, watch && until < Time::NEVER)
    }

    /// The number of the reserved queue that is blocked while the next switch does not want `conn`; none where it does.
    pub(super) fn keeps(&self, slot: u32, conn: ConnId) -> Option<u8> {
        let entry = self.entries.get(slot)?;
        let stopped = entry.stopped.iter().any(|&(known, _)| known == conn);
        stopped.then(|| self.number(entry.home.into()))
    }

    /// It wants `conn` again.
    pub(super) fn go(&mut self, conn: ConnId) {
        let slot = self.slot(conn);
        self.change(slot, |entry| {
            entry.stopped.retain(|&(known, _)| known != conn);
        });
    }

    /// Pauses of an entry that are to be asked for again; none where it need not be looked at any more.
    pub(super) fn repeated(&mut self, slot: u32) -> &[(ConnId, u16)] {
        self.change(slot, |entry| entry.repeats = !entry.paused.is_empty());
        &self.entries.at(slot).paused
    }

    /// Ends what nobody asked for again. Says when to look next.
    pub(super) fn expire(&mut self, slot: u32, now: Time) -> Time {
        self.change(slot, |entry| {
            entry.stopped.retain(|&(_, until)| until > now);
            let ends = entry.stopped.iter().map(|&(_, until)| until);
            let next = ends.min().unwrap_or(Time::NEVER);
            entry.expires = next < Time::NEVER;
            next
        })
    }

    /// Pauses that it has asked for.
    pub(super) fn paused(&self) -> usize {
        self.told
    }

    pub(super) fn check(&self) {
        let mut held = vec![(0, 0); self.queues.len()];
        let (mut known, mut told, mut listed) = (0, 0, 0);
        let mut waits = vec![Waits::default(); self.waits.len()];
        for (slot, entry) in self.entries.iter() {
            for (queue, bytes) in [(entry.queue, entry.normal), (entry.home, entry.reserved)] {
                let own = &mut held[usize::from(queue)];
                own.0 += bytes;
                own.1 += u64::from(bytes > 0);
            }
            if entry.isolated {
                let own = &mut waits[usize::from(entry.home) - self.queues.normal()];
                own.stopped += u64::from(!entry.stopped.is_empty());
                own.older += u64::from(entry.has_older());
            }
            known += entry.stopped.len();
            told += entry.paused.len();
            listed += usize::from(entry.listed);
            assert!(
                entry.isolated || entry.reserved == 0 || !self.returns_empty,
                "{slot} has packets in the reserved queue and joins another: {entry:?}"
            );
            let waits = self.returns_empty && entry.normal + entry.reserved > 0;
            assert_eq!(
                entry.isolated,
                !entry.stopped.is_empty() || entry.isolated && waits,
                "{slot} is isolated: {entry:?}"
            );
            assert!(
                entry.listed || entry.paused.is_empty(),
                "{slot} waits for nobody"
            );
        }
        self.queues.check(&held);
        assert_eq!(waits, self.waits, "what queues wait for");
        assert_eq!((known, told), (self.known, self.told), "pauses");
        let lists = (0..self.queues.len()).map(|queue| self.queues.list(queue).len());
        assert_eq!(
            listed,
            lists.sum::<usize>(),
            "entries that wait to be resumed"
        );
        if self.queues.are_empty() {
            assert_eq!(told, 0, "nothing waits, and somebody is paused for it");
        }
    }
}

/// The number of a queue, as entries keep it.
#[allow(clippy::cast_possible_truncation, reason = "at most 128")]
fn small(queue: usize) -> u8 {
    queue as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{line, place};
    use model::intent::PortSpec;
    use units::Bytes;

    #[test]
    fn a_blocked_queue_has_no_part_in_the_thresholds() {
        let (spec, table) = (PortSpec::fifo(Bytes(1)), "queues = 3\nlow = 1\nhigh = 2");
        let params = Params::read(&table.parse().expect("TOML")).expect("parameters");
        let lines = [line(&spec); 2];
        let mut port = Port::new(&params, &place(&lines, 60_000), &lines[1]);
        let among = |port: &Port, queues| {
            port.check();
            port.queues.sharers() == queues
        };
        let (conn, other) = (ConnId(7), ConnId(8));
        assert_eq!(port.arrived(conn, 0, 0, 1000), None);
        port.stop(other, 0, Time::NEVER);
        let reserved = port.number(port.queues.normal());
        assert_eq!(port.arrived(other, 0, reserved, 1000), None);
        assert!(among(&port, 2), "both have packets");
        assert_eq!(port.block(), Some((reserved, true)));
        assert_eq!(port.block(), None);
        assert!(among(&port, 1), "of one of them nothing may leave");
        port.go(other);
        assert_eq!(port.block(), Some((reserved, false)));
        assert_eq!(port.block(), None);
        assert!(among(&port, 2), "it may leave again");
    }
}
