//! The port of a credit-based fabric: a shaped credit queue beside the data queue. [xpass s3.1]

use crate::bucket::CreditBucket;
use crate::data_part::DataPart;
use model::intent::{CreditCount, CreditSpec};
use model::{Backlog, Class, Dequeue, DropReason, Packet, QueueDisc, Verdict};
use std::collections::VecDeque;
use units::{LineTime, Time};

/// Credits leave first whenever the bucket lets them, data otherwise; surplus credits are dropped,
/// and that is how receivers learn their share.
pub struct CreditPort {
    bucket: CreditBucket,
    credits: VecDeque<Packet>,
    credit_bytes: u64,
    /// Limit in credits, or in bytes where the shaper counts bytes.
    limit: u64,
    count: CreditCount,
    peak_credits: usize,
    data: DataPart,
}

impl CreditPort {
    /// A port on `line` with `data` as its other queues.
    pub fn new(spec: CreditSpec, line: LineTime, data: DataPart) -> Self {
        let limit = match spec.count {
            CreditCount::Credits => u64::from(spec.queue_limit),
            CreditCount::Bytes => u64::from(spec.queue_limit) * u64::from(spec.size_mean),
        };
        Self {
            bucket: CreditBucket::new(spec, line),
            credits: VecDeque::new(),
            credit_bytes: 0,
            limit,
            count: spec.count,
            peak_credits: 0,
            data,
        }
    }

    fn has_room_for(&self, size: u16) -> bool {
        match self.count {
            CreditCount::Credits => (self.credits.len() as u64) < self.limit,
            CreditCount::Bytes => self.credit_bytes + u64::from(size) <= self.limit,
        }
    }

    /// What is to be said of the port once a packet has left.
    #[inline]
    fn left(&self) -> Dequeue {
        match self.credits.front() {
            _ if !self.data.is_empty() => Dequeue::Packet,
            Some(credit) => Dequeue::Then(self.bucket.ready(credit.size)),
            None => Dequeue::Last,
        }
    }
}

impl QueueDisc for CreditPort {
    fn enqueue(&mut self, _now: Time, packet: &mut Packet) -> Verdict {
        if packet.class() != Class::Credit {
            return self.data.push(packet);
        }
        if !self.has_room_for(packet.size) {
            return Verdict::Dropped(DropReason::CreditFull);
        }
        self.credit_bytes += u64::from(packet.size);
        self.credits.push_back(*packet);
        self.peak_credits = self.peak_credits.max(self.credits.len());
        Verdict::Queued
    }

    #[inline]
    fn pass(&mut self, now: Time, packet: &mut Packet) -> bool {
        if packet.class() == Class::Credit {
            let passes =
                self.has_room_for(packet.size) && self.bucket.take(now, packet.size).is_ok();
            self.peak_credits = self.peak_credits.max(usize::from(passes));
            passes
        } else {
            self.data.pass(packet)
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Packet) -> Dequeue {
        let mut nothing = Dequeue::Empty;
        if let Some(credit) = self.credits.front() {
            match self.bucket.take(now, credit.size) {
                Ok(()) => {
                    *out = *credit;
                    self.credit_bytes -= u64::from(credit.size);
                    self.credits.pop_front();
                    return self.left();
                }
                Err(at) => nothing = Dequeue::Wait(at),
            }
        }
        if self.data.pop(out) {
            self.left()
        } else {
            nothing
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            data_bytes: self.data.backlog().data_bytes,
            credits: short(self.credits.len()),
        }
    }

    fn peak(&self) -> Backlog {
        Backlog {
            data_bytes: self.data.peak().data_bytes,
            credits: short(self.peak_credits),
        }
    }

    fn waiting(&self) -> [u64; 5] {
        let mut count = self.data.waiting();
        count[Class::Credit as usize] += self.credits.len() as u64;
        count
    }

    fn marked(&self) -> u64 {
        self.data.marked()
    }

    fn check(&self) {
        self.data.check();
        let bytes: u64 = self
            .credits
            .iter()
            .map(|credit| u64::from(credit.size))
            .sum();
        assert_eq!(bytes, self.credit_bytes, "credit bytes counted and waiting");
    }
}

fn short(credits: usize) -> u32 {
    u32::try_from(credits).expect("the credit queue is short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::intent::PortSpec;
    use model::{ConnId, HostId, Rng};
    use units::{Bytes, Rate};

    fn port(count: CreditCount) -> CreditPort {
        let credit = CreditSpec {
            queue_limit: 8,
            bucket: 2,
            count,
            size_mean: 84,
            frame_max: 1538,
            share: CreditSpec::WHOLE,
        };
        let spec = PortSpec {
            credit: Some(credit),
            ..PortSpec::fifo(Bytes(384_500))
        };
        let line = LineTime::new(Rate::gbps(10));
        CreditPort::new(credit, line, DataPart::new(&spec, Rng::stream(1, 2, 3)))
    }

    fn packet(class: Class, size: u16) -> Packet {
        Packet::new(HostId(1), ConnId(1), class, 0, size)
    }

    #[test]
    fn credits_win_while_tokens_last_and_data_fills_the_gaps() {
        let mut port = port(CreditCount::Credits);
        let late = Time(units::PS_PER_SEC);
        for _ in 0..3 {
            assert_eq!(
                port.enqueue(late, &mut packet(Class::Credit, 84)),
                Verdict::Queued
            );
            assert_eq!(
                port.enqueue(late, &mut packet(Class::Scheduled, 1538)),
                Verdict::Queued
            );
        }
        let mut out = Packet::EMPTY;
        let order: Vec<_> = (0..5)
            .map(|_| (port.dequeue(late, &mut out), out.class().name()))
            .collect();
        use Dequeue::Packet as P;
        assert_eq!(
            order,
            [
                (P, "credit"),
                (P, "credit"),
                (P, "scheduled"),
                (P, "scheduled"),
                (Dequeue::Then(Time(late.0 + 1_297_600)), "scheduled")
            ]
        );
        assert_eq!(
            port.dequeue(late, &mut out),
            Dequeue::Wait(Time(late.0 + 1_297_600))
        );
        assert_eq!(
            port.dequeue(Time(late.0 + 1_297_600), &mut out),
            Dequeue::Last
        );
        assert_eq!(
            port.dequeue(Time(late.0 + 9_000_000), &mut out),
            Dequeue::Empty
        );
        port.check();
    }

    #[test]
    fn the_ninth_credit_is_dropped() {
        for (count, size) in [(CreditCount::Credits, 92), (CreditCount::Bytes, 84)] {
            let mut port = port(count);
            let verdicts: Vec<_> = (0..9)
                .map(|_| port.enqueue(Time::ZERO, &mut packet(Class::Credit, size)))
                .collect();
            assert!(verdicts[..8].iter().all(|v| *v == Verdict::Queued));
            assert_eq!(verdicts[8], Verdict::Dropped(DropReason::CreditFull));
            assert_eq!(port.peak().credits, 8);
        }
    }

    #[test]
    fn counted_by_bytes_more_small_credits_fit() {
        let mut port = port(CreditCount::Bytes);
        let queued = (0..20)
            .filter(|_| port.enqueue(Time::ZERO, &mut packet(Class::Credit, 76)) == Verdict::Queued)
            .count();
        assert_eq!(queued, 8, "672 B hold eight credits of 76 B");
        assert_eq!(
            port.enqueue(Time::ZERO, &mut packet(Class::Credit, 64)),
            Verdict::Queued
        );
    }
}
