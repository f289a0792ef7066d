//! What the memory of a switch with a flow control holds, by port, priority and queue. A
//! switch keeps it where it is watched, or asked for its peaks: [`Switch::keep_peaks`](crate::Switch::keep_peaks).

use std::collections::BTreeMap;

/// The most bytes of a switch's memory that something held at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peak {
    /// What held them.
    pub of: Holder,
    /// Bytes.
    pub bytes: u64,
}

/// What holds bytes of a switch's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holder {
    /// The whole switch.
    Switch,
    /// What came by this port.
    Ingress(u16),
    /// What came by this port at this priority.
    IngressPriority(u16, u8),
    /// Of that, what lies in headroom.
    Headroom(u16, u8),
    /// What waits for this port.
    Port(u16),
    /// What waits for this port at this priority.
    Priority(u16, u8),
    /// What waits in this queue of this port.
    Queue(u16, u8),
}

/// Bytes that are held, and the most that were.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    now: u64,
    most: u64,
}

impl Held {
    fn add(&mut self, bytes: u64) {
        self.now += bytes;
        self.most = self.most.max(self.now);
    }
}

/// One port.
#[derive(Clone, Debug, Default)]
struct Side {
    all: Held,
    priorities: [Held; 8],
}

impl Side {
    fn add(&mut self, priority: u8, bytes: u64) {
        self.all.add(bytes);
        self.priorities[usize::from(priority & 7)].add(bytes);
    }

    fn take(&mut self, priority: u8, bytes: u64) {
        self.all.now -= bytes;
        self.priorities[usize::from(priority & 7)].now -= bytes;
    }
}

/// Where a packet is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub(crate) ingress: u16,
    pub(crate) egress: u16,
    pub(crate) queue: u8,
    pub(crate) priority: u8,
}

/// The accounts of one switch.
#[derive(Debug)]
pub(crate) struct Accounts {
    all: Held,
    came: Vec<Side>,
    waits: Vec<Side>,
    /// By port and queue, as far as they were used.
    queues: Vec<Vec<Held>>,
    /// What came by a port at a priority: bytes that wait now, by port and queue.
    lies: BTreeMap<(u16, u8), BTreeMap<(u16, u8), u64>>,
    /// Somebody asks for the peaks.
    pub(crate) told: bool,
}

impl Accounts {
    pub(crate) fn new(ports: usize) -> Self {
        Self {
            all: Held::default(),
            came: vec![Side::default(); ports],
            waits: vec![Side::default(); ports],
            queues: vec![Vec::new(); ports],
            lies: BTreeMap::new(),
            told: false,
        }
    }

    /// The port and the queue where most of what came by `ingress` at these priorities, as bits, waits now.
    pub(crate) fn most_of(&self, ingress: u16, priorities: u8) -> Option<(u16, u8)> {
        let mut sums: BTreeMap<(u16, u8), u64> = BTreeMap::new();
        for (_, lies) in self
            .lies
            .range((ingress, 0)..=(ingress, 7))
            .filter(|((_, priority), _)| priorities >> priority & 1 == 1)
        {
            for (&place, &bytes) in lies {
                *sums.entry(place).or_default() += bytes;
            }
        }
        let most = sums
            .into_iter()
            .max_by_key(|&(place, bytes)| (bytes, std::cmp::Reverse(place)));
        most.map(|(place, _)| place)
    }

    /// A packet takes so many bytes.
    #[cold]
    pub(crate) fn add(&mut self, of: Stay, bytes: u64) {
        self.all.add(bytes);
        self.came[usize::from(of.ingress)].add(of.priority, bytes);
        self.waits[usize::from(of.egress)].add(of.priority, bytes);
        let (queues, queue) = (
            &mut self.queues[usize::from(of.egress)],
            usize::from(of.queue),
        );
        if queues.len() <= queue {
            queues.resize(queue + 1, Held::default());
        }
        queues[queue].add(bytes);
        let lies = self.lies.entry((of.ingress, of.priority & 7)).or_default();
        *lies.entry((of.egress, of.queue)).or_default() += bytes;
    }

    /// It gives them back.
    #[cold]
    pub(crate) fn take(&mut self, of: Stay, bytes: u64) {
        self.all.now -= bytes;
        self.came[usize::from(of.ingress)].take(of.priority, bytes);
        self.waits[usize::from(of.egress)].take(of.priority, bytes);
        self.queues[usize::from(of.egress)][usize::from(of.queue)].now -= bytes;
        let lies = self.lies.entry((of.ingress, of.priority & 7)).or_default();
        if let Some(left) = lies.get_mut(&(of.egress, of.queue)) {
            *left -= bytes;
            if *left == 0 {
                lies.remove(&(of.egress, of.queue));
            }
        }
    }

    /// Tells every peak above zero.
    pub(crate) fn peaks(&self, tell: &mut dyn FnMut(Peak)) {
        let mut say = |of, held: Held| {
            if held.most > 0 {
                tell(Peak {
                    of,
                    bytes: held.most,
                });
            }
        };
        say(Holder::Switch, self.all);
        for (port, ((came, waits), queues)) in
            (0u16..).zip(self.came.iter().zip(&self.waits).zip(&self.queues))
        {
            say(Holder::Ingress(port), came.all);
            say(Holder::Port(port), waits.all);
            for (priority, (came, waits)) in
                (0u8..).zip(came.priorities.iter().zip(&waits.priorities))
            {
                say(Holder::IngressPriority(port, priority), *came);
                say(Holder::Priority(port, priority), *waits);
            }
            for (queue, &held) in (0u8..).zip(queues) {
                say(Holder::Queue(port, queue), held);
            }
        }
    }

    /// Panics where they do not add up to the `used` bytes of the memory.
    pub(crate) fn check(&self, used: u64) {
        let sum = |sides: &[Side]| sides.iter().map(|side| side.all.now).sum::<u64>();
        let priorities = |side: &Side| side.priorities.iter().map(|held| held.now).sum::<u64>();
        let sides = self.came.iter().chain(&self.waits);
        assert!(sides.clone().all(|side| priorities(side) == side.all.now));
        let queues: u64 = self.queues.iter().flatten().map(|held| held.now).sum();
        let all = [self.all.now, sum(&self.came), sum(&self.waits), queues];
        assert_eq!(
            all, [used; 4],
            "bytes of the memory, by whatever holds them"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_kept_of_each_by_itself() {
        let mut accounts = Accounts::new(3);
        let of = |ingress, egress, queue, priority| Stay {
            ingress,
            egress,
            queue,
            priority,
        };
        let (one, two) = (of(0, 2, 5, 0), of(1, 2, 0, 7));
        accounts.add(one, 100);
        accounts.add(two, 40);
        accounts.take(one, 100);
        accounts.add(two, 30);
        accounts.check(70);
        let mut told = Vec::new();
        accounts.peaks(&mut |peak| told.push((peak.of, peak.bytes)));
        assert_eq!(
            told,
            [
                (Holder::Switch, 140),
                (Holder::Ingress(0), 100),
                (Holder::IngressPriority(0, 0), 100),
                (Holder::Ingress(1), 70),
                (Holder::IngressPriority(1, 7), 70),
                (Holder::Port(2), 140),
                (Holder::Priority(2, 0), 100),
                (Holder::Priority(2, 7), 70),
                (Holder::Queue(2, 0), 70),
                (Holder::Queue(2, 5), 100),
            ]
        );
    }
}
