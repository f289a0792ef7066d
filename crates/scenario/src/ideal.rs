//! How long messages would take alone in the network: what slowdowns are measured against.
//!
//! The least time in which the shortest ways between two hosts, all of them taken together, can bring the frames of a
//! message, whose line is never idle. Where there is one way it is exact: frames follow each other, and a short last
//! one catches up and waits. Where ways of unequal rate or length lie side by side it is a bound: the nearest nodes and the
//! fastest lines count, also for a message that keeps to another way. Parallel links count with the sum of their rates, whichever transport runs, so that
//! slowdowns of transports that keep to one way and of those that do not are over the same network. What differs is
//! the order alone: where each packet may take another way, the last frame may overtake those before it.

use crate::assemble::Assembled;
use crate::choice::BalanceOf;
use crate::resolve::Scenario;
use model::Encap;
use topology::{ShortestWays, Stage};
use units::{Bytes, Span};
use workload::Message;

/// Answers that are remembered: messages of as many bytes often follow each other on a connection. [ours]
const REMEMBERED: usize = 4096;

/// How long messages would take alone in the network.
pub(crate) struct Ideal<'a> {
    run: &'a Assembled,
    /// By transport: whether its packets may overtake each other on other ways.
    spreads: Vec<bool>,
    ways: ShortestWays<'a>,
    /// Answers, by connection and direction, where connections carry several messages.
    remembered: Vec<Option<Remembered>>,
}

/// How long a message takes alone.
#[derive(Clone, Copy)]
struct Remembered {
    conn: u32,
    from_a: bool,
    size: u64,
    takes: Span,
}

/// No message takes longer on a line: several such times add up. [ours]
const LONGEST: Span = Span(u64::MAX / 8);

impl<'a> Ideal<'a> {
    pub(crate) fn new(run: &'a Assembled) -> Self {
        Self {
            run,
            spreads: run.scenario.spreads(),
            ways: ShortestWays::new(&run.topology, &run.routes),
            remembered: Vec::new(),
        }
    }

    /// From the first bit at the sender's line to the last bit at the receiver.
    pub(crate) fn of(&mut self, number: usize) -> Span {
        let message = &self.run.traffic.messages[number];
        let &Message {
            conn, from_a, size, ..
        } = message;
        if self.remembered.is_empty() {
            if self.run.traffic.messages.len() == self.run.traffic.conns.len() {
                return self.find(message);
            }
            self.remembered = vec![None; REMEMBERED];
        }
        let place = (2 * conn as usize + usize::from(from_a)) % REMEMBERED;
        let same = |of: &Remembered| (of.conn, of.from_a, of.size) == (conn, from_a, size);
        if let Some(known) = self.remembered[place].filter(same) {
            return known.takes;
        }
        let takes = self.find(message);
        self.remembered[place] = Some(Remembered {
            conn,
            from_a,
            size,
            takes,
        });
        takes
    }

    fn find(&mut self, message: &Message) -> Span {
        let run = self.run;
        let conn = &run.traffic.conns[message.conn as usize];
        let (src, dst) = if message.from_a {
            (conn.a, conn.b)
        } else {
            (conn.b, conn.a)
        };
        let lane = run.lanes.get(message.conn as usize).copied().unwrap_or(0);
        let ways = self.ways.between(src, dst);
        // A slow line would carry a flow without an end for longer than time can count.
        let carried = (ways.stages.iter()).map(|stage| stage.fastest.bytes_in(LONGEST).0);
        let size = message.size.min(carried.min().unwrap_or(u64::MAX));
        let frames = Frames::of(run.encap, size);
        let in_order = frames.in_order(&ways.stages);
        let least = if self.spreads[usize::from(lane)] && !ways.is_one() {
            in_order.min(frames.any_order(&ways.stages))
        } else {
            in_order
        };
        ways.delay + least
    }
}

impl Scenario {
    /// By transport, the run's own first: whether packets of one message may take several ways.
    pub(crate) fn spreads(&self) -> Vec<bool> {
        let balanced = self.switch.balance != BalanceOf::Flow;
        let beside = self.beside.iter().map(|beside| &beside.factory);
        let all = std::iter::once(&self.factory).chain(beside);
        all.map(|factory| balanced || factory.sprays()).collect()
    }
}

/// The frames of a message on the wire: full ones, and a last one that may be shorter.
#[derive(Clone, Copy)]
struct Frames {
    count: u64,
    full: Bytes,
    last: Bytes,
}

impl Frames {
    fn of(encap: Encap, size: u64) -> Self {
        let count = encap.frames(size);
        let full = Bytes(encap.wire_max().into());
        let last = Bytes(encap.wire_total(size) - (count - 1) * full.0);
        Self { count, full, last }
    }

    /// All of them, in bytes.
    fn total(self) -> Bytes {
        Bytes((self.count - 1) * self.full.0 + self.last.0)
    }

    /// Where they keep their order; all switches receive a frame whole before they send it on.
    fn in_order(self, stages: &[Stage]) -> Span {
        // When the first full frame has left each stage, how long those behind it keep the narrowest busy beyond
        // that, and when the message's last frame has left.
        let (mut head, mut behind, mut end) = (Span::ZERO, Span::ZERO, Span::ZERO);
        for stage in stages {
            let step = stage.fastest.serialize(self.full);
            head += step;
            let mut full_left = Span::ZERO;
            if self.count > 1 {
                behind = behind.max(of_frames(stage, self.full, self.count - 2));
                full_left = head + behind;
            }
            end = end.max(full_left) + stage.fastest.serialize(self.last);
        }
        end
    }

    /// A bound where frames may overtake each other: no order and no choice of ways takes less.
    fn any_order(self, stages: &[Stage]) -> Span {
        let long = self.count - u64::from(self.last < self.full);
        let fulls = if long > 0 {
            alone(stages, self.full) + beyond(stages, self.full, Bytes(long * self.full.0))
        } else {
            Span::ZERO
        };
        if long == self.count {
            return fulls;
        }
        let total = self.total();
        let all = alone(stages, self.last) + beyond(stages, self.last, total);
        fulls.max(all).max(self.crossing_both_lines(stages, long))
    }

    /// What follows where the hosts have one line each: on either some frame is the last.
    fn crossing_both_lines(self, stages: &[Stage], long: u64) -> Span {
        let (&[first, .., last], 1..) = (stages, long) else {
            return Span::ZERO;
        };
        if first.links > 1 || last.links > 1 {
            return Span::ZERO;
        }
        let on = |stage: Stage, bytes: Bytes| stage.together.serialize(bytes);
        let rest = |frame: Bytes, but: Stage| Span(alone(stages, frame).0 - on(but, frame).0);
        let total = self.total();
        let full_leaves_last = on(first, total) + rest(self.full, first);
        // The short frame leaves last and a full one comes last: it waits for the line behind the short one.
        let overtaken = on(first, total) + rest(self.last, first) + on(last, self.full);
        let short_comes_last = rest(self.full, last) + on(last, total);
        full_leaves_last.min(overtaken).min(short_comes_last)
    }
}

/// One frame, alone.
fn alone(stages: &[Stage], frame: Bytes) -> Span {
    let each = stages.iter().map(|stage| stage.fastest.serialize(frame));
    each.sum()
}

/// How much longer than a `frame` alone `total` bytes take at the narrowest stage.
fn beyond(stages: &[Stage], frame: Bytes, total: Bytes) -> Span {
    let each = stages.iter().map(|stage| {
        let all = stage.together.serialize(total);
        Span(all.0.saturating_sub(stage.fastest.serialize(frame).0))
    });
    each.max().unwrap_or(Span::ZERO)
}

/// Time in which `count` frames cross a stage whose lines are all busy.
fn of_frames(stage: &Stage, frame: Bytes, count: u64) -> Span {
    if stage.links == 1 {
        stage.fastest.serialize(frame).times(count)
    } else {
        stage
            .together
            .serialize(Bytes(frame.0.saturating_mul(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    fn lines(rates: &[u64]) -> Vec<Stage> {
        let all = rates.iter().map(|&rate| (1, rate));
        parallel(&all.collect::<Vec<_>>())
    }

    fn parallel(stages: &[(u32, u64)]) -> Vec<Stage> {
        let stage = |&(links, rate): &(u32, u64)| Stage {
            links,
            fastest: Rate::gbps(rate),
            together: Rate::gbps(rate * u64::from(links)),
        };
        stages.iter().map(stage).collect()
    }

    fn pipeline(size: u64, rates: &[u64]) -> Span {
        Frames::of(Encap::PAPER, size).in_order(&lines(rates))
    }

    fn bytes(gbps: u64, bytes: u64) -> Span {
        Rate::gbps(gbps).serialize(Bytes(bytes))
    }

    #[test]
    fn an_idle_pipeline_takes_the_first_frame_everywhere_and_the_rest_at_the_slowest_line() {
        let frame = |rate| bytes(rate, 1538);
        assert_eq!(pipeline(1460, &[10, 40]), frame(10) + frame(40));
        assert_eq!(
            pipeline(14_600, &[40, 10, 40]),
            frame(40).times(2) + frame(10).times(10)
        );
        // A short last frame catches up with the full one before it and waits.
        assert_eq!(
            pipeline(1461, &[10, 10]),
            frame(10).times(2) + bytes(10, 84)
        );
        assert_eq!(pipeline(0, &[10]), bytes(10, 84));
    }

    #[test]
    fn slow_ways_beside_each_other_are_one_fast_way() {
        let stages = parallel(&[(1, 100), (4, 25), (4, 25), (1, 100)]);
        let frames = Frames::of(Encap::PAPER, 1460 * 1000);
        let least = alone(&stages, Bytes(1538)) + bytes(100, 1538).times(999);
        assert_eq!(frames.any_order(&stages), least);
        assert!(frames.in_order(&stages) >= least);
        assert!(frames.in_order(&stages) < pipeline(1460 * 1000, &[100, 25, 25, 100]));
        // Where none is slower than the hosts, their order is that of one way.
        let alike = parallel(&[(1, 10), (2, 10), (2, 10), (1, 10)]);
        for size in [0, 1, 1460, 1461, 2919, 100_000] {
            let one = pipeline(size, &[10, 10, 10, 10]);
            assert_eq!(Frames::of(Encap::PAPER, size).in_order(&alike), one);
        }
        // Four slow ways are still slower than the hosts.
        let narrow = parallel(&[(1, 100), (4, 10), (4, 10), (1, 100)]);
        let least = alone(&narrow, Bytes(1538)) + bytes(40, 1538 * 1000);
        assert_eq!(frames.any_order(&narrow), Span(least.0 - bytes(10, 1538).0));
    }

    #[test]
    fn a_short_last_frame_on_another_way_hides_behind_the_full_one() {
        let stages = parallel(&[(1, 10), (2, 10), (2, 10), (1, 10)]);
        let full = bytes(10, 1538);
        let least = |size| Frames::of(Encap::PAPER, size).any_order(&stages);
        assert_eq!(least(1461), full.times(4));
        assert_eq!(least(1460), full.times(4));
        assert_eq!(least(2920), full.times(5));
        // One that is nearly full cannot overtake, and waits.
        assert_eq!(least(2919), full.times(4) + bytes(10, 1537));
        assert_eq!(least(0), bytes(10, 84).times(4));
    }
}
