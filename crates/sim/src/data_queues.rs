//! The largest queue of data at each port of a switch, control packets and credits left out. Counted where
//! it is asked for; costs nothing otherwise.
//!
//! A frame that goes on a line carries both moments that matter: when it came to the port and when its last
//! bit leaves. So the frames that were there together follow from what is sent, whatever the port is made of.

use crate::setup::Setup;
use crate::tally::Tally;
use model::{Class, Packet};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use topology::NodeKind;
use units::{LineTime, Span, Time};

/// One port's.
struct Queue {
    line: LineTime,
    delay: Span,
    /// Frames that have not left, in the order of their departure: when the last bit does, and bytes.
    frames: VecDeque<(Time, u64)>,
    bytes: u64,
    most: u64,
}

impl Queue {
    /// A frame that came at `came` has left, or will, at `left`. Frames of one queue are told of in their order;
    /// where a port lets one overtake another, fewer are found together than were.
    fn note(&mut self, came: Time, left: Time, size: u64) {
        while let Some((_, gone)) = self.frames.pop_front_if(|&mut (left, _)| left <= came) {
            self.bytes -= gone;
        }
        self.frames.push_back((left, size));
        self.bytes += size;
        let (first, on_line) = self.frames[0];
        // Of the first, what has gone is not there any more.
        let rest = self.line.bytes(first.since(came)).min(on_line);
        self.most = self.most.max(self.bytes - on_line + rest);
    }
}

/// Those of all ports, by link; none where a host sends.
pub(crate) struct DataQueues(Vec<Option<UnsafeCell<Queue>>>);

impl DataQueues {
    pub(crate) fn new(setup: &Setup<'_>) -> Self {
        let queue = |link: &topology::Link| {
            let from = &setup.topology.nodes[link.from.index()];
            (from.kind == NodeKind::Switch).then(|| {
                UnsafeCell::new(Queue {
                    line: LineTime::new(link.rate),
                    delay: link.delay,
                    frames: VecDeque::new(),
                    bytes: 0,
                    most: 0,
                })
            })
        };
        Self(setup.topology.links.iter().map(queue).collect())
    }

    /// `packet`, whose `at` is when it came to the port, goes on the link and arrives at `at`.
    ///
    /// # Safety
    /// Only the thread that runs the node before the link may call it.
    pub(crate) unsafe fn note(&self, link: u32, packet: &Packet, at: Time) {
        let Some(queue) = &self.0[link as usize] else {
            return;
        };
        if matches!(packet.class(), Class::Control | Class::Credit | Class::Link) {
            return;
        }
        // SAFETY: by contract this thread alone touches it.
        let queue = unsafe { &mut *queue.get() };
        let left = Time(at.0 - queue.delay.0);
        queue.note(packet.at, left, packet.size.into());
    }

    /// Tells the largest of each.
    pub(crate) fn finish(self, ports: &mut Tally) {
        for (link, queue) in self.0.into_iter().enumerate() {
            if let Some(queue) = queue {
                ports.at(link).data_max = Some(queue.into_inner().most);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    #[test]
    fn frames_count_together_until_their_last_bit_has_left() {
        // 0.8 ns per byte: a frame of 1000 B takes 800 ns.
        let mut queue = Queue {
            line: LineTime::new(Rate::gbps(10)),
            delay: Span::ns(50),
            frames: VecDeque::new(),
            bytes: 0,
            most: 0,
        };
        let mut note = |came, left| {
            queue.note(
                Time::ZERO.after(Span::ns(came)),
                Time::ZERO.after(Span::ns(left)),
                1000,
            );
            queue.most
        };
        assert_eq!(note(0, 800), 1000);
        assert_eq!(note(400, 1600), 1500, "half of the first has gone");
        assert_eq!(note(1600, 2400), 1500, "alone");
        assert_eq!(note(1600, 3200), 2000);
        // A control packet went in between: the line was not theirs, and all of both was there.
        assert_eq!(note(1600, 4100), 3000);
    }
}
