//! The credit queue of a host's own line: the same discipline as that of a switch port.
//! [xpass s3.1]
//!
//! Credits of all receivers on the host wait in one short queue and leave at the rate at which
//! the data that they release fits the way back. The token bucket is kept as a moment, in exact
//! picoseconds of line time: the moment at which it was, or would have been, empty.
//!
//! A credit that had to wait for its token is held back for a part of a period more, which its size tells.
//! Hosts that send all they may would otherwise keep their credits in step with the shaper of a port
//! that they share, and the same ones would find its queue full for ever. The token is due when it
//! was: no more credits leave in the long run.

use super::packet_queue::PacketQueue;
use model::Packet;
use model::intent::{CreditCount, CreditSpec};
use units::{LineTime, Span, Time};

/// A short queue of credits behind a token bucket.
#[derive(Clone, Debug)]
pub struct CreditGate {
    queue: PacketQueue,
    /// Wire bytes that wait.
    bytes: u32,
    spec: CreditSpec,
    /// Line time that one credit of mean size stands for: [`CreditSpec::period`].
    period: Span,
    /// Line time that a full bucket stands for.
    full: Span,
    /// When the bucket was empty. Lies ahead of now where a credit was larger than the bucket.
    empty_at: Time,
    /// When the first credit may leave; [`Time::NEVER`] where none waits.
    ready_at: Time,
    /// How long the first credit is held back beyond its token.
    held: Span,
    /// Smallest credit, and how much longer each byte more is held.
    hold: (u16, Span),
    /// The sizes that were held so far, mixed: where within such a step.
    mixed: u64,
}

impl CreditGate {
    /// The gate of a line. Its bucket is empty at time 0. [xpass artefact, xpass-drop-tail.cc]
    #[inline] // once for every line
    pub fn new(spec: CreditSpec, line: LineTime) -> Self {
        let period = spec.period(line);
        Self {
            queue: PacketQueue::default(),
            bytes: 0,
            spec,
            period,
            full: period.times(u64::from(spec.bucket)),
            empty_at: Time::ZERO,
            ready_at: Time::NEVER,
            held: Span::ZERO,
            hold: (0, Span::ZERO),
            mixed: 0,
        }
    }

    /// The same that holds credits of `size_min` bytes and up to `sizes` more back for up to `share` of
    /// a period, where they had to wait for a token. [ours]
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a period"
    )]
    #[inline] // once for every line
    pub fn holding(mut self, size_min: u16, sizes: u16, share: f64) -> Self {
        let step = self.period.0 as f64 * share / f64::from(sizes.max(1));
        self.hold = (size_min, Span(step as u64));
        self
    }

    /// How long a credit of `size` bytes that had to wait is held back beyond its token.
    #[inline]
    fn hold(&mut self, size: u16) -> Span {
        let (size_min, step) = self.hold;
        // As many flows as there are sizes would be in step again.
        self.mixed = (self.mixed ^ u64::from(size)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        #[allow(clippy::cast_possible_truncation, reason = "a part of a step")]
        let within = ((u128::from(step.0) * u128::from(self.mixed >> 48)) >> 16) as u64;
        Span(step.0 * u64::from(size.saturating_sub(size_min)) + within)
    }

    /// What `size` bytes of credit cost, in line time.
    #[inline]
    fn cost(&self, size: u16) -> Span {
        match self.spec.count {
            CreditCount::Credits => self.period,
            CreditCount::Bytes => {
                Span((u64::from(size) * self.period.0).div_ceil(u64::from(self.spec.size_mean)))
            }
        }
    }

    /// Queues a credit at `now`; false where the queue is full and the credit is lost.
    #[inline]
    #[must_use]
    pub fn offer(&mut self, now: Time, credit: &Packet) -> bool {
        let limit = usize::from(self.spec.queue_limit);
        let room = match self.spec.count {
            CreditCount::Credits => self.queue.len() < limit,
            CreditCount::Bytes => {
                let limit = u32::from(self.spec.queue_limit) * u32::from(self.spec.size_mean);
                self.bytes + u32::from(credit.size) <= limit
            }
        };
        if room {
            if self.queue.is_empty() {
                self.ready_at = self.empty_at + self.cost(credit.size);
                self.held = if self.ready_at > now {
                    self.hold(credit.size)
                } else {
                    Span::ZERO
                };
                self.ready_at += self.held;
            }
            self.bytes += u32::from(credit.size);
            self.queue.push(*credit);
        }
        room
    }

    /// When the first credit may leave; [`Time::NEVER`] where none waits.
    #[inline]
    pub fn ready_at(&self) -> Time {
        self.ready_at
    }

    /// Moves the first credit, whose moment has come, to `out`.
    ///
    /// # Panics
    /// If none waits.
    #[inline]
    pub fn take(&mut self, now: Time, out: &mut Packet) {
        debug_assert!(self.ready_at() <= now);
        assert!(
            self.queue.pop(out),
            "ready_at is never where no credit waits"
        );
        self.bytes -= u32::from(out.size);
        // Time in which it was held back is not idle.
        let idle = self.full + self.held;
        let emptied = self.empty_at.max(Time(now.0.saturating_sub(idle.0)));
        self.empty_at = emptied + self.cost(out.size);
        self.ready_at = Time::NEVER;
        if let Some(next) = self.queue.front() {
            let size = next.size;
            self.held = self.hold(size);
            self.ready_at = self.empty_at + self.cost(size) + self.held;
        }
    }

    /// Credits that wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Panics where the queue is over its limit or its bytes are miscounted.
    pub fn check(&self) {
        let bytes: u32 = self.queue.iter().map(|credit| u32::from(credit.size)).sum();
        assert_eq!(self.bytes, bytes);
        let first = self.queue.front();
        let ready_at = first.map_or(Time::NEVER, |first| {
            self.empty_at + self.cost(first.size) + self.held
        });
        assert_eq!(self.ready_at, ready_at);
        match self.spec.count {
            CreditCount::Credits => assert!(self.len() <= usize::from(self.spec.queue_limit)),
            CreditCount::Bytes => {
                let limit = u32::from(self.spec.queue_limit) * u32::from(self.spec.size_mean);
                assert!(bytes <= limit, "{bytes} B of credits in {limit} B");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Class, ConnId, HostId, Rng, stream};
    use units::Rate;

    fn spec(count: CreditCount) -> CreditSpec {
        CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count,
            size_mean: 84,
            frame_max: 1538,
            share: CreditSpec::WHOLE,
        }
    }
    fn credit(size: u16) -> Packet {
        Packet::new(HostId(0), ConnId(0), Class::Credit, 0, size)
    }
    /// 84 + 1538 bytes at 10 Gb/s.
    const PERIOD: u64 = 1_297_600;

    #[test]
    fn two_credits_leave_at_once_and_the_rest_at_the_credit_rate() {
        let mut gate = CreditGate::new(spec(CreditCount::Credits), LineTime::new(Rate::gbps(10)));
        let mut now = Time(100 * PERIOD);
        let offered = (0..10).filter(|_| gate.offer(now, &credit(84))).count();
        assert_eq!(offered, 8, "the queue holds eight");
        let (mut left, mut out) = (Vec::new(), Packet::EMPTY);
        while !gate.is_empty() {
            now = now.max(gate.ready_at());
            gate.take(now, &mut out);
            left.push((now.0 - 100 * PERIOD) / PERIOD);
            gate.check();
        }
        assert_eq!(left, [0, 0, 1, 2, 3, 4, 5, 6]);
    }

    /// Offers random credits faster than they may leave and returns (credits, bytes) that left
    /// and the time it took, in periods.
    fn flood(count: CreditCount) -> (u64, u64, u64) {
        let mut gate = CreditGate::new(spec(count), LineTime::new(Rate::gbps(10)));
        let (mut rng, mut now) = (Rng::stream(1, stream::TEST, 2), Time::ZERO);
        let (mut credits, mut bytes, mut out) = (0, 0, Packet::EMPTY);
        while credits < 10_000 {
            let size = u16::try_from(rng.between(76, 92)).unwrap();
            let _ = gate.offer(now, &credit(size));
            now = Time(now.0 + PERIOD / 3);
            while gate.ready_at() <= now {
                gate.take(now, &mut out);
                bytes += u64::from(out.size);
                credits += 1;
            }
            gate.check();
        }
        (credits, bytes, now.0 / PERIOD)
    }

    #[test]
    fn counted_in_credits_a_credit_costs_one_period_whatever_its_size() {
        let (credits, _, periods) = flood(CreditCount::Credits);
        assert!(
            (periods..=periods + 2).contains(&credits),
            "{credits} in {periods}"
        );
    }

    #[test]
    fn what_is_held_back_leaves_at_any_part_of_a_period_and_no_rarer() {
        let line = LineTime::new(Rate::gbps(10));
        let mut gate = CreditGate::new(spec(CreditCount::Credits), line).holding(76, 17, 1.0);
        let (mut rng, mut now, mut out) =
            (Rng::stream(1, stream::TEST, 2), Time::ZERO, Packet::EMPTY);
        // By tenth of a period; the line is busy with a frame now and then.
        let mut parts = [0u32; 10];
        let (mut left, mut recent) = (0u64, std::collections::VecDeque::new());
        while left < 20_000 {
            let size = u16::try_from(rng.between(76, 92)).unwrap();
            let _ = gate.offer(now, &credit(size));
            now = Time(now.0 + PERIOD / 3);
            while gate.ready_at() <= now {
                let at = gate.ready_at();
                let busy = if rng.below(2) == 0 {
                    0
                } else {
                    rng.below(1_230_400)
                };
                let at = Time(at.0 + busy).max(recent.back().copied().unwrap_or(Time::ZERO));
                gate.take(at, &mut out);
                gate.check();
                if busy == 0 {
                    parts[usize::try_from(at.0 % PERIOD * 10 / PERIOD).unwrap()] += 1;
                }
                left += 1;
                // Never more than the bucket and one beyond the rate.
                recent.push_back(at);
                if recent.len() > 100 {
                    let first: Time = recent.pop_front().unwrap();
                    assert!(at.0 - first.0 >= 97 * PERIOD, "100 in {}", at.0 - first.0);
                }
            }
        }
        assert!(parts.iter().all(|&n| n > 500), "{parts:?}");
        let periods = now.0 / PERIOD;
        assert!(
            (periods - 3..=periods + 2).contains(&left),
            "{left} in {periods}"
        );
    }

    #[test]
    fn counted_in_bytes_small_credits_win_and_more_of_them_leave() {
        let (credits, bytes, periods) = flood(CreditCount::Bytes);
        assert!(bytes / 84 <= periods + 2, "{bytes} B in {periods} periods");
        assert!(
            credits > periods,
            "small credits pass a full queue: {credits} in {periods}"
        );
    }

    fn gate(count: CreditCount) -> CreditGate {
        CreditGate::new(spec(count), LineTime::new(Rate::gbps(10)))
    }

    /// The first credit leaves.
    fn gone(gate: &mut CreditGate, at: Time) {
        let mut out = Packet::EMPTY;
        gate.take(at, &mut out);
    }

    #[test]
    fn the_queue_takes_what_fits_to_the_credit_and_to_the_byte() {
        let late = Time(100 * PERIOD);
        let offers = |gate: &mut CreditGate, sizes: &[u16]| {
            let taken: Vec<_> = sizes
                .iter()
                .map(|&size| gate.offer(late, &credit(size)))
                .collect();
            gate.check();
            taken
        };
        let mut counted = gate(CreditCount::Credits);
        assert_eq!(
            offers(&mut counted, &[92; 8]),
            [true; 8],
            "whatever their size"
        );
        assert_eq!(
            (offers(&mut counted, &[64]), counted.len()),
            (vec![false], 8)
        );
        // By bytes there is room for eight of mean size: 672 B.
        let mut weighed = gate(CreditCount::Bytes);
        assert_eq!(offers(&mut weighed, &[92; 7]), [true; 7]);
        assert_eq!(offers(&mut weighed, &[29, 28, 1]), [false, true, false]);
        assert_eq!((weighed.len(), weighed.is_empty()), (8, false));
    }

    #[test]
    fn counted_in_bytes_a_credit_costs_its_size_rounded_up() {
        let mut gate = gate(CreditCount::Bytes);
        assert_eq!((gate.ready_at(), gate.is_empty()), (Time::NEVER, true));
        assert!(gate.offer(Time(5), &credit(77)) && gate.offer(Time(5), &credit(84)));
        let first = (PERIOD * 77).div_ceil(84);
        assert_eq!(gate.ready_at(), Time(first), "the bucket was empty at zero");
        let mut out = Packet::EMPTY;
        gate.take(Time(first), &mut out);
        assert_eq!((out.size, gate.ready_at()), (77, Time(first + PERIOD)));
        gate.take(Time(first + PERIOD), &mut out);
        assert_eq!((out.size, gate.ready_at()), (84, Time::NEVER));
        assert_eq!((gate.len(), gate.is_empty()), (0, true));
    }

    #[test]
    fn on_a_line_on_which_a_credit_takes_hours_one_is_held_back_all_the_same() {
        let spec = CreditSpec {
            bucket: 1,
            ..spec(CreditCount::Credits)
        };
        let mut gate = CreditGate::new(spec, LineTime::new(Rate(1))).holding(76, 16, 1.0);
        let mut out = Packet::EMPTY;
        assert!(gate.offer(Time::ZERO, &credit(84)) && gate.offer(Time::ZERO, &credit(84)));
        gate.take(gate.ready_at(), &mut out);
        // Tokens come by whole periods, and eight bytes more than the least hold it back for half of one and part of a step.
        let period = Rate(1).serialize(units::Bytes(84 + 1538)).0;
        let held = gate.ready_at().0 % period;
        let range = period / 2..period / 2 + period / 16;
        assert!(range.contains(&held), "{held} of {period}");
    }

    #[test]
    fn a_credit_that_waits_is_held_back_by_its_size() {
        let held = |size: u16| {
            let mut gate = gate(CreditCount::Credits).holding(76, 16, 0.5);
            assert!(gate.offer(Time::ZERO, &credit(size)));
            gate.check();
            gate.ready_at().0 - PERIOD
        };
        // A 32nd of a period for each byte more, and a part of that.
        let step = PERIOD / 32;
        for size in [60, 76, 77, 80, 91] {
            let bytes = u64::from(size).saturating_sub(76);
            let range = bytes * step..(bytes + 1) * step;
            assert!(range.contains(&held(size)), "{size} B: {}", held(size));
        }
        assert_ne!(
            held(60),
            0,
            "where within the step depends on the sizes so far"
        );
        // Whatever left before: no two sizes are held for one part of a step.
        let mut parts: Vec<u64> = (76..92)
            .map(|size| {
                let mut gate = gate(CreditCount::Credits).holding(76, 16, 0.5);
                gate.hold(84);
                gate.hold(size).0 % step
            })
            .collect();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), 16);
        // Two of one size in a row are not held alike.
        let mut gate = gate(CreditCount::Credits).holding(76, 16, 0.5);
        assert!((0..3).all(|_| gate.offer(Time::ZERO, &credit(80))));
        let first = gate.ready_at().0 - PERIOD;
        let at = gate.ready_at();
        gone(&mut gate, at);
        gate.check();
        assert_ne!(gate.ready_at().0 - 2 * PERIOD, first);
    }

    #[test]
    fn a_credit_whose_token_is_there_is_not_held_back() {
        let mut gate = gate(CreditCount::Credits).holding(76, 16, 1.0);
        let late = Time(50 * PERIOD);
        assert!(gate.offer(late, &credit(91)));
        assert_eq!(gate.ready_at(), Time(PERIOD), "its token came long ago");
        gone(&mut gate, late);
        // One more token is left in the bucket, and with it the next leaves at once; the third waits.
        assert!(gate.offer(late, &credit(91)) && gate.ready_at() == late);
        gone(&mut gate, late);
        assert!(gate.offer(late, &credit(91)) && gate.ready_at() > late + Span(PERIOD));
    }

    #[test]
    #[should_panic(expected = "ready_at is never")]
    fn nothing_is_taken_from_an_empty_gate() {
        let mut gate = gate(CreditCount::Credits);
        gate.ready_at = Time::ZERO;
        gone(&mut gate, Time(1));
    }

    #[test]
    fn broken_books_are_noticed() {
        let breaks: [fn(&mut CreditGate); 4] = [
            |gate| gate.bytes += 1,
            |gate| gate.ready_at = Time::ZERO,
            |gate| gate.held += Span(1),
            |gate| gate.spec.queue_limit = 2,
        ];
        for count in [CreditCount::Credits, CreditCount::Bytes] {
            for spoil in breaks {
                let mut gate = gate(count);
                assert!((0..3).all(|_| gate.offer(Time::ZERO, &credit(84))));
                gate.check();
                spoil(&mut gate);
                assert!(std::panic::catch_unwind(|| gate.check()).is_err());
            }
            let mut gate = gate(count);
            gate.check();
            gate.spec.queue_limit = 0;
            gate.check();
        }
    }
}
