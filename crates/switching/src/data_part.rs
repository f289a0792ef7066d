//! All queues of a port but that for credits: the transport's data, legacy traffic beside it, and
//! what takes only the gaps.

use crate::data_queue::DataQueue;
use model::intent::{LegacySpec, PortSpec};
use model::{Backlog, Class, Dequeue, Packet, QueueDisc, Rng, Verdict};
use units::{Bytes, Time};

/// Bytes that a weight of one earns per turn: with a weight of 100 more than a jumbo frame, so that
/// every turn serves at least one. [Shreedhar and Varghese 1995 s3.2]
const QUANTUM: u64 = 100;
/// Weight of the transport's data.
const WEIGHT_DATA: u64 = 100;

/// Queues that share what the credits leave of a line.
#[derive(Debug)]
pub struct DataPart {
    data: DataQueue,
    legacy: Option<Box<Legacy>>,
    background: Option<Box<Background>>,
}

/// Deficit round robin between data and legacy traffic. [Shreedhar and Varghese 1995]
#[derive(Debug)]
struct Legacy {
    queue: DataQueue,
    weight: u64,
    /// What data and legacy traffic may still send in their turns, in bytes.
    deficit: [u64; 2],
    /// Whose turn it is: 0 data, 1 legacy.
    turn: usize,
}

#[derive(Debug)]
struct Background {
    class: Class,
    queue: DataQueue,
}

impl DataPart {
    /// The queues of `spec`.
    pub fn new(spec: &PortSpec, rng: Rng) -> Self {
        let background = spec.background.map(|class| {
            let unbounded = PortSpec::fifo(Bytes(u64::MAX));
            Box::new(Background {
                class,
                queue: DataQueue::new(&unbounded, rng.part(0)),
            })
        });
        let legacy = spec
            .legacy
            .map(|legacy| Box::new(Legacy::new(legacy, rng.part(1))));
        Self {
            data: DataQueue::new(spec, rng),
            legacy,
            background,
        }
    }

    fn queue_of(&mut self, packet: &Packet) -> &mut DataQueue {
        let class = packet.class();
        if let Some(background) = self.background.as_deref_mut().filter(|b| b.class == class) {
            return &mut background.queue;
        }
        match self.legacy.as_deref_mut() {
            Some(legacy) if class == Class::Plain => &mut legacy.queue,
            Some(_) | None => &mut self.data,
        }
    }

    /// Takes `packet` in, or says why not.
    #[inline]
    pub fn push(&mut self, packet: &mut Packet) -> Verdict {
        if self.legacy.is_none() && self.background.is_none() {
            self.data.push(0, packet)
        } else {
            self.push_beside(packet)
        }
    }

    fn push_beside(&mut self, packet: &mut Packet) -> Verdict {
        let legacy = self
            .legacy
            .as_ref()
            .map_or(0, |legacy| legacy.queue.bytes());
        let all = self.data.bytes() + legacy;
        let queue = self.queue_of(packet);
        queue.push(all.saturating_sub(queue.bytes()), packet)
    }

    /// What [`DataPart::push`] and [`DataPart::pop`] do to a packet that finds the port idle.
    #[inline]
    pub fn pass(&mut self, packet: &mut Packet) -> bool {
        if self.legacy.is_some() || self.background.is_some() {
            return self.pass_beside(packet);
        }
        QueueDisc::pass(&mut self.data, Time::ZERO, packet)
    }

    fn pass_beside(&mut self, packet: &mut Packet) -> bool {
        let passed = QueueDisc::pass(self.queue_of(packet), Time::ZERO, packet);
        let background = self.background.as_ref().map(|background| background.class);
        if let Some(legacy) = &mut self.legacy
            && passed
            && background != Some(packet.class())
        {
            // Alone it takes the turn, as in `Legacy::pop`.
            legacy.turn = usize::from(packet.class() == Class::Plain);
        }
        passed
    }

    /// The next packet leaves into `out`; false where none waits.
    #[inline]
    pub fn pop(&mut self, out: &mut Packet) -> bool {
        let popped = match &mut self.legacy {
            None => self.data.pop(out),
            Some(legacy) => legacy.pop(&mut self.data, out),
        };
        popped
            || self
                .background
                .as_mut()
                .is_some_and(|background| background.queue.pop(out))
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
            && self
                .legacy
                .as_ref()
                .is_none_or(|legacy| legacy.queue.is_empty())
            && self
                .background
                .as_ref()
                .is_none_or(|background| background.queue.is_empty())
    }

    fn queues(&self) -> impl Iterator<Item = &DataQueue> {
        let legacy = self.legacy.iter().map(|legacy| &legacy.queue);
        let background = self.background.iter().map(|background| &background.queue);
        std::iter::once(&self.data).chain(legacy).chain(background)
    }
}

impl Legacy {
    fn new(spec: LegacySpec, rng: Rng) -> Self {
        let port = PortSpec {
            mark: spec.mark,
            ..PortSpec::fifo(spec.buffer)
        };
        let queue = DataQueue::new(&port, rng);
        Self {
            queue,
            weight: u64::from(spec.weight.max(1)),
            deficit: [0; 2],
            turn: 0,
        }
    }

    fn pop(&mut self, data: &mut DataQueue, out: &mut Packet) -> bool {
        loop {
            let (head, other) = match self.turn {
                0 => (data.head_size(), self.queue.head_size()),
                _ => (self.queue.head_size(), data.head_size()),
            };
            match (head, other) {
                (None, None) => {
                    self.deficit = [0; 2];
                    return false;
                }
                (Some(size), Some(_)) if self.deficit[self.turn] >= size => {
                    self.deficit[self.turn] -= size;
                    return self.serve(data, out);
                }
                (Some(_), None) => {
                    // Alone it needs no share, and it saves nothing up.
                    self.deficit = [0; 2];
                    return self.serve(data, out);
                }
                (None | Some(_), Some(_)) => {
                    if head.is_none() {
                        self.deficit[self.turn] = 0;
                    }
                    self.turn = 1 - self.turn;
                    let weight = if self.turn == 0 {
                        WEIGHT_DATA
                    } else {
                        self.weight
                    };
                    self.deficit[self.turn] += weight * QUANTUM;
                }
            }
        }
    }

    fn serve(&mut self, data: &mut DataQueue, out: &mut Packet) -> bool {
        if self.turn == 0 {
            data.pop(out)
        } else {
            self.queue.pop(out)
        }
    }
}

impl QueueDisc for DataPart {
    fn enqueue(&mut self, _now: Time, packet: &mut Packet) -> Verdict {
        self.push(packet)
    }

    fn pass(&mut self, _now: Time, packet: &mut Packet) -> bool {
        Self::pass(self, packet)
    }

    fn dequeue(&mut self, _now: Time, out: &mut Packet) -> Dequeue {
        if !self.pop(out) {
            Dequeue::Empty
        } else if self.is_empty() {
            Dequeue::Last
        } else {
            Dequeue::Packet
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            data_bytes: self.queues().map(DataQueue::bytes).sum(),
            credits: 0,
        }
    }

    fn peak(&self) -> Backlog {
        // The transport's own queue: what the papers bound. The others have no bound to hold.
        Backlog {
            data_bytes: self.data.peak_bytes(),
            credits: 0,
        }
    }

    fn waiting(&self) -> [u64; 5] {
        let mut count = [0; 5];
        self.queues().for_each(|queue| queue.count_into(&mut count));
        count
    }

    fn marked(&self) -> u64 {
        self.queues().map(QueueDisc::marked).sum()
    }

    fn check(&self) {
        self.queues().for_each(QueueDisc::check);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnId, HostId};

    fn packet(class: Class, size: u16) -> Packet {
        Packet::new(HostId(1), ConnId(1), class, 0, size)
    }

    fn part(spec: &PortSpec) -> DataPart {
        DataPart::new(spec, Rng::stream(1, 2, 3))
    }

    #[test]
    fn the_background_takes_only_the_gaps_and_has_no_limit() {
        let spec = PortSpec {
            background: Some(Class::Unscheduled),
            ..PortSpec::fifo(Bytes(2_000))
        };
        let mut part = part(&spec);
        for _ in 0..100 {
            assert_eq!(
                part.push(&mut packet(Class::Unscheduled, 1538)),
                Verdict::Queued
            );
        }
        assert_eq!(
            part.push(&mut packet(Class::Scheduled, 1538)),
            Verdict::Queued
        );
        assert!(matches!(
            part.push(&mut packet(Class::Scheduled, 1538)),
            Verdict::Dropped(_)
        ));
        let mut out = Packet::EMPTY;
        assert!(part.pop(&mut out) && out.class() == Class::Scheduled);
        assert!(part.pop(&mut out) && out.class() == Class::Unscheduled);
        assert_eq!(part.waiting()[Class::Unscheduled as usize], 99);
        part.check();
    }

    #[test]
    fn legacy_traffic_gets_its_weight_and_all_of_an_idle_line() {
        let legacy = LegacySpec {
            weight: 50,
            buffer: Bytes(10_000_000),
            mark: None,
        };
        let spec = PortSpec {
            legacy: Some(legacy),
            ..PortSpec::fifo(Bytes(10_000_000))
        };
        let mut part = part(&spec);
        for _ in 0..3_000 {
            part.push(&mut packet(Class::Scheduled, 1538));
            part.push(&mut packet(Class::Plain, 600));
        }
        let (mut out, mut bytes) = (Packet::EMPTY, [0u64; 5]);
        for _ in 0..2_000 {
            assert!(part.pop(&mut out));
            bytes[out.class() as usize] += u64::from(out.size);
        }
        let share = bytes[Class::Plain as usize] as f64 / bytes[Class::Scheduled as usize] as f64;
        assert!((0.49..0.51).contains(&share), "{share}");
        while part.pop(&mut out) {}
        assert_eq!(part.waiting(), [0; 5]);
        part.check();
    }
}
